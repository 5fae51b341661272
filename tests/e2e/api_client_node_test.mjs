// The Kubernetes project's own client for JavaScript, @kubernetes/client-node, against our server.
import assert from "node:assert/strict"
import * as k8s from "@kubernetes/client-node"
import { backends, claim, configMap, expect, newNamespace, paths, startServer } from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"

function config(server) {
	const kc = new k8s.KubeConfig()
	kc.loadFromFile(server.kubeconfig)
	return kc
}

// Fails unless the call is refused with this code; returns the Status.
async function refused(promise, code) {
	const error = await promise.then(() => assert.fail("it was not refused"), (e) => e)
	assert.equal(error.code, code, String(error))
	return JSON.parse(error.body)
}

const merge = k8s.setHeaderOptions("Content-Type", k8s.PatchStrategy.MergePatch)
const json = k8s.setHeaderOptions("Content-Type", k8s.PatchStrategy.JsonPatch)

async function typed(say, server) {
	const kc = config(server)
	const api = kc.makeApiClient(k8s.CoreV1Api)
	const resource = kc.makeApiClient(k8s.ResourceV1Api)
	const namespace = await newNamespace(server.client)

	await test(say("typed: create, read, list, patch, replace, delete"), async () => {
		const made = await api.createNamespacedConfigMap({ namespace, body: configMap("box") })
		assert.ok(made.metadata.creationTimestamp instanceof Date)
		assert.deepEqual((await api.readNamespacedConfigMap({ namespace, name: "box" })).data, { a: "1" })
		assert.equal((await refused(api.createNamespacedConfigMap({ namespace, body: configMap("box") }), 409)).reason, "AlreadyExists")
		const patched = await api.patchNamespacedConfigMap({ namespace, name: "box", body: { data: { b: "2" } } }, merge)
		assert.deepEqual(patched.data, { a: "1", b: "2" })
		const operations = [{ op: "remove", path: "/data/a" }]
		assert.deepEqual((await api.patchNamespacedConfigMap({ namespace, name: "box", body: operations }, json)).data, { b: "2" })
		const current = await api.readNamespacedConfigMap({ namespace, name: "box" })
		current.data = { c: "3" }
		const replaced = await api.replaceNamespacedConfigMap({ namespace, name: "box", body: current })
		assert.deepEqual(replaced.data, { c: "3" })
		assert.equal((await refused(api.replaceNamespacedConfigMap({ namespace, name: "box", body: current }), 409)).reason, "Conflict")
		const { items } = await api.listNamespacedConfigMap({ namespace, labelSelector: "!none" })
		assert.deepEqual(items.map(({ metadata }) => metadata.name), ["box"])
		assert.equal((await api.deleteNamespacedConfigMap({ namespace, name: "box" })).status, "Success")
		assert.equal((await refused(api.readNamespacedConfigMap({ namespace, name: "box" }), 404)).reason, "NotFound")
	})

	await test(say("typed: claims and their status"), async () => {
		await resource.createNamespacedResourceClaim({ namespace, body: claim("gpu") })
		const body = { status: { allocation: { devices: { results: [
			{ request: "gpu", driver: "gpu.example.com", pool: "node-1", device: "gpu-0" },
		] } } } }
		const status = await resource.patchNamespacedResourceClaimStatus({ namespace, name: "gpu", body }, merge)
		assert.equal(status.status.allocation.devices.results[0].device, "gpu-0")
		assert.equal((await resource.listResourceClaimForAllNamespaces()).items.length, 1)
		await resource.deleteNamespacedResourceClaim({ namespace, name: "gpu" })
		assert.equal((await resource.listNamespacedResourceClaim({ namespace })).items.length, 0)
	})

	await test(say("typed: pages"), async () => {
		for (let i = 0; i < 7; i++)
			await api.createNamespacedConfigMap({ namespace, body: configMap(`page${i}`) })
		const names = []
		let _continue
		do {
			const page = await api.listNamespacedConfigMap({ namespace, limit: 3, _continue })
			names.push(...page.items.map(({ metadata }) => metadata.name));
			({ _continue } = page.metadata)
		} while (_continue)
		assert.deepEqual(names, Array.from({ length: 7 }, (_, i) => `page${i}`))
		await api.deleteCollectionNamespacedConfigMap({ namespace })
	})
}

async function untyped(say, server) {
	await test(say("any object: discovery, create, patch, read, list, delete"), async () => {
		const client = k8s.KubernetesObjectApi.makeApiClient(config(server))
		const namespace = await newNamespace(server.client)
		const header = { apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", metadata: { name: "any", namespace } }
		await client.create({ ...claim("any"), metadata: header.metadata })
		const patch = { ...header, metadata: { ...header.metadata, labels: { a: "b" } } }
		const patched = await client.patch(patch, undefined, undefined, undefined, undefined, k8s.PatchStrategy.StrategicMergePatch)
		assert.equal(patched.metadata.labels.a, "b")
		assert.equal((await client.read(header)).spec.devices.requests[0].name, "gpu")
		assert.equal((await client.list("resource.k8s.io/v1", "ResourceClaim", namespace)).items.length, 1)
		await client.delete(header)
		await refused(client.read(header), 404)
	})
}

async function watching(say, server) {
	await test(say("watch"), async () => {
		const { configMaps } = paths(await newNamespace(server.client))
		const seen = []
		let over
		const request = await new k8s.Watch(config(server)).watch(configMaps, { timeoutSeconds: 30 },
			(type, object) => seen.push(`${type} ${object.metadata.name}`), (error) => (over = error ?? "ended"))
		expect(await server.client.post(configMaps, configMap("box")), 201)
		expect(await server.client.patch(`${configMaps}/box`, { data: { a: "2" } }, "merge"), 200)
		expect(await server.client.delete(`${configMaps}/box`), 200)
		await until("three events", () => seen.length === 3)
		assert.deepEqual(seen, ["ADDED box", "MODIFIED box", "DELETED box"])
		request.abort()
		await until("end of the watch", () => over)
	})
}

async function informing(say, server) {
	await test(say("an informer follows through a crash and a restart"), async () => {
		const kc = config(server)
		const api = kc.makeApiClient(k8s.CoreV1Api)
		const namespace = await newNamespace(server.client)
		const { configMaps } = paths(namespace)
		expect(await server.client.post(configMaps, configMap("first")), 201)
		expect(await server.client.post(configMaps, configMap("second")), 201)

		const informer = k8s.makeInformer(kc, configMaps, () => api.listNamespacedConfigMap({ namespace }))
		const log = []
		let stopped = false
		for (const event of ["add", "update", "delete"])
			informer.on(event, ({ metadata }) => log.push(`${event} ${metadata.name}`))
		// As its documentation has it: begin again after an error.
		informer.on("error", () => stopped || setTimeout(() => informer.start(), 20))
		await informer.start()
		await until("both objects", () => informer.list(namespace).length === 2)

		expect(await server.client.delete(`${configMaps}/first`), 200)
		await until("deletion", () => log.includes("delete first"))
		await server.kill()
		await server.begin()
		expect(await server.client.post(configMaps, configMap("third")), 201)
		expect(await server.client.patch(`${configMaps}/second`, { data: { a: "2" } }, "merge"), 200)
		await until("what was written after the restart", () => log.includes("add third") && log.includes("update second"))
		await server.kill()
		await server.begin()
		expect(await server.client.delete(`${configMaps}/third`), 200)
		await until("what was deleted after the second restart", () => log.includes("delete third"))
		stopped = true
		await informer.stop()
		assert.deepEqual(log.sort(), ["add first", "add second", "add third", "delete first", "delete third", "update second"])
		assert.equal(informer.get("second", namespace).data.a, "2")
	})
}

for (const backend of backends) {
	const say = (name) => `${backend}: ${name}`
	const server = await startServer(backend)
	for (const part of [typed, untyped, watching, informing])
		await part(say, server)
	await test(say("the server ends in order"), () => server.stop())
}
finish()
