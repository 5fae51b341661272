// src/client against our server: a live copy that follows writers through crashes and restarts.
import assert from "node:assert/strict"
import * as k8s from "@kubernetes/client-node"
import { backends, claim, configMap, core, dra, expect, newNamespace, paths, startServer } from "./api_lib.mjs"
import { compare, follow } from "./client_lib.mjs"
import { finish, test, until } from "./lib.mjs"

function api(server) {
	const kc = new k8s.KubeConfig()
	kc.loadFromFile(server.kubeconfig)
	return kc.makeApiClient(k8s.CoreV1Api)
}

async function fill(client, path, prefix, count) {
	for (let i = 0; i < count; i++)
		expect(await client.post(path, configMap(`${prefix}-${i}`)), 201)
}

async function following(say, server) {
	const ns = await newNamespace(server.client)
	const { configMaps } = paths(ns)
	const list = async () => expect(await server.client.get(configMaps), 200)
	const copy = follow(server.kubeconfig, "configmaps.v1", ns)

	await test(say("a copy begins empty and follows what client-node writes"), async () => {
		await copy.synced()
		const writer = api(server)
		for (let i = 0; i < 20; i++)
			await writer.createNamespacedConfigMap({ namespace: ns, body: configMap(`box-${i}`) })
		for (let i = 0; i < 20; i += 2) {
			const current = await writer.readNamespacedConfigMap({ namespace: ns, name: `box-${i}` })
			current.data = { b: "2" }
			await writer.replaceNamespacedConfigMap({ namespace: ns, name: `box-${i}`, body: current })
		}
		for (let i = 0; i < 5; i++)
			await writer.deleteNamespacedConfigMap({ namespace: ns, name: `box-${i}` })
		await copy.ask("wait 15")
		const { added, updated, deleted, watches, lists } = await compare(copy, list)
		assert.deepEqual({ added, updated, deleted, watches, lists }, { added: 20, updated: 10, deleted: 5, watches: 1, lists: 0 })
	})

	await test(say("a killed server that comes back is followed further"), async () => {
		for (let round = 0; round < 3; round++) {
			await fill(server.client, configMaps, `before-${round}`, 20)
			await server.kill()
			await server.begin()
			await fill(server.client, configMaps, `after-${round}`, 20)
			expect(await server.client.delete(`${configMaps}/before-${round}-3`), 200)
			await compare(copy, list)
		}
	})

	await test(say("writes while the server dies are in the copy if and only if they are in the server"), async () => {
		const writes = Array.from({ length: 50 }, (_, i) =>
			server.client2.post(configMaps, configMap(`torn-${i}`)).catch(() => undefined))
		await server.kill()
		await Promise.all(writes)
		await server.begin()
		await compare(copy, list)
		await copy.end()
	})
}

async function selecting(say, server) {
	await test(say("objects that stop matching a selector leave the copy"), async () => {
		const ns = await newNamespace(server.client)
		const { configMaps } = paths(ns)
		for (let i = 0; i < 6; i++)
			expect(await server.client.post(configMaps, configMap(`m-${i}`, {}, { labels: { even: String(i % 2 === 0) } })), 201)
		const copy = follow(server.kubeconfig, "configmaps.v1", ns, "even in (true)")
		await copy.synced()
		expect(await server.client.patch(`${configMaps}/m-0`, { metadata: { labels: { even: "false" } } }, "merge"), 200)
		expect(await server.client.patch(`${configMaps}/m-1`, { metadata: { labels: { even: "true" } } }, "merge"), 200)
		await compare(copy, async () => expect(await server.client.get(`${configMaps}?labelSelector=even%3Dtrue`), 200))
		assert.deepEqual(Object.keys(await copy.ask("objects")), ["m-1", "m-2", "m-4"].map((name) => `${ns}/${name}`))
		await copy.end()
	})

	await test(say("a copy of metadata alone"), async () => {
		const ns = await newNamespace(server.client)
		const { configMaps } = paths(ns)
		const list = async () => expect(await server.client.get(configMaps), 200)
		await fill(server.client, configMaps, "whole", 5)
		const copy = follow(server.kubeconfig, "configmaps.v1", ns, "", "metadata")
		await copy.synced()
		await fill(server.client, configMaps, "later", 5)
		expect(await server.client.delete(`${configMaps}/whole-1`), 200)
		await compare(copy, list)
		await copy.end()
	})

	await test(say("all namespaces, and a resource of another group"), async () => {
		const spaces = [await newNamespace(server.client), await newNamespace(server.client)]
		const copy = follow(server.kubeconfig, "resourceclaims.v1.resource.k8s.io")
		await copy.synced()
		for (const ns of spaces)
			expect(await server.client.post(paths(ns).claims, claim("gpu")), 201)
		await copy.ask("wait 2")
		await compare(copy, async () => expect(await server.client.get(`${dra}/resourceclaims`), 200))
		await copy.end()
	})
}

async function refusals(say, server) {
	await test(say("a server that is away at first is found when it comes"), async () => {
		await server.kill()
		const copy = follow(server.kubeconfig, "namespaces.v1")
		await until("attempt", async () => (await copy.ask("state")).watches > 0)
		await server.begin()
		await copy.synced()
		await compare(copy, async () => expect(await server.client.get(`${core}/namespaces`), 200))
		await copy.end()
	})
}

for (const backend of backends) {
	const say = (name) => `${backend}: ${name}`
	const server = await startServer(backend)
	await following(say, server)
	await selecting(say, server)
	await refusals(say, server)
	await server.stop()
}
finish()
