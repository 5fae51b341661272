// Several servers on one etcd are one cluster.
import assert from "node:assert/strict"
import { cpSync } from "node:fs"
import { configMap, expect, expectStatus, newNamespace, paths, rv, startEtcd, startServer } from "./api_lib.mjs"
import { count, expectAgreement, follow, scramble } from "./api_load.mjs"
import { finish, scratch, test } from "./lib.mjs"

// Starts so many servers on one etcd and one prefix, with the CA of the first.
async function startServers(number) {
	const etcd = await startEtcd()
	const prefix = "/cluster"
	const servers = [await startServer("etcd", { etcd, prefix, folder: `${scratch}/${number}-0` })]
	for (let i = 1; i < number; i++) {
		const folder = `${scratch}/${number}-${i}`
		cpSync(`${servers[0].folder}/pki`, `${folder}/pki`, { recursive: true })
		servers.push(await startServer("etcd", { etcd, prefix, folder }))
	}
	return servers
}

async function cluster(number) {
	const say = (name) => `${number} servers: ${name}`
	const servers = await startServers(number)
	const clients = servers.map(({ client }) => client)
	const [first, second] = clients

	await test(say("one CA for all"), async () => {
		for (const server of servers) {
			const visitor = server.as(servers[0].credentials)
			expect(await visitor.get("/api/v1/namespaces/default"), 200)
			visitor.close()
		}
	})

	await test(say("a write through one server is visible at once through the others"), async () => {
		const { configMaps } = paths(await newNamespace(first))
		for (let i = 0; i < 30; i++) {
			const writer = clients[i % number], reader = clients[(i + 1) % number]
			const made = expect(await writer.post(configMaps, configMap(`m${i}`)), 201)
			assert.deepEqual(expect(await reader.get(`${configMaps}/m${i}`), 200), made)
			const changed = expect(await reader.put(`${configMaps}/m${i}`, { ...made, data: { b: "2" } }), 200)
			const list = expect(await writer.get(configMaps), 200)
			assert.deepEqual(list.items.find(({ metadata }) => metadata.name === `m${i}`).data, { b: "2" })
			assert.ok(rv(list) >= rv(changed))
			expect(await reader.delete(`${configMaps}/m${i}`), 200)
			expect(await writer.get(`${configMaps}/m${i}`), 404)
		}
	})

	await test(say("a write needs no read before it to be decided on what the others did"), async () => {
		const { configMaps } = paths(await newNamespace(first))
		const at = (i) => clients[i % number]
		for (let i = 0; i < 30; i++) {
			const path = `${configMaps}/m${i}`
			const made = expect(await at(i).post(configMaps, configMap(`m${i}`, { a: "1" })), 201)
			expectStatus(await at(i + 1).post(configMaps, configMap(`m${i}`)), 409, "AlreadyExists")
			const patched = expect(await at(i + 2).patch(path, { data: { a: "2" } }, "merge"), 200)
			expectStatus(await at(i + 1).put(path, { ...made, data: {} }), 409, "Conflict")
			const back = expect(await at(i).patch(path, { data: { a: "1" } }, "merge"), 200)
			assert.ok(rv(back) > rv(patched), "what the other did was undone")
			const put = expect(await at(i + 1).put(path, { ...back, data: { a: "3" } }), 200)
			expect(await at(i + 2).delete(path, { kind: "DeleteOptions", apiVersion: "v1",
				preconditions: { resourceVersion: put.metadata.resourceVersion } }), 200)
			expectStatus(await at(i + 1).patch(path, { data: { a: "4" } }, "merge"), 404, "NotFound")
			expect(await at(i).post(configMaps, configMap(`m${i}`)), 201)
			expect(await at(i + 1).delete(path), 200)
		}
	})

	await test(say("a namespace made on one can be used on the others at once"), async () => {
		for (let i = 0; i < 10; i++) {
			const { configMaps } = paths(await newNamespace(clients[i % number]))
			expect(await clients[(i + 1) % number].post(configMaps, configMap("box")), 201)
		}
	})

	await test(say("a watch on one sees the writes of the others"), async () => {
		const { configMaps } = paths(await newNamespace(first))
		const watch = await second.watch(`${configMaps}?watch=true`)
		const made = expect(await first.post(configMaps, configMap("box")), 201)
		const changed = expect(await first.patch(`${configMaps}/box`, { data: { a: "2" } }, "merge"), 200)
		expect(await first.delete(`${configMaps}/box`), 200)
		await watch.have(3)
		assert.deepEqual(watch.brief, ["ADDED box", "MODIFIED box", "DELETED box"])
		assert.deepEqual(watch.events[0].object, made)
		assert.deepEqual(watch.events[1].object, changed)
		watch.close()
	})

	await test(say("pages of a list may come from different servers"), async () => {
		const { configMaps } = paths(await newNamespace(first))
		for (let i = 0; i < 9; i++)
			expect(await first.post(configMaps, configMap(`m${i}`)), 201)
		const page = expect(await first.get(`${configMaps}?limit=4`), 200)
		expect(await second.delete(`${configMaps}/m8`), 200)
		const rest = expect(await second.get(`${configMaps}?continue=${encodeURIComponent(page.metadata.continue)}`), 200)
		assert.deepEqual(rest.items.map(({ metadata }) => metadata.name), ["m4", "m5", "m6", "m7", "m8"])
		assert.equal(rest.metadata.resourceVersion, page.metadata.resourceVersion)
	})

	await test(say("writers and readers of all servers agree"), async () => {
		const { configMaps } = paths(await newNamespace(first))
		const followers = await follow(configMaps, clients)
		const done = await scramble(configMaps, {
			writers: 9, keys: 6, rounds: 40, clientOf: (i) => clients[i % number], readerOf: (i) => clients[(i + 1) % number],
		})
		await expectAgreement(configMaps, first, followers)
		console.log(`# ${done} writes, ${followers[0].log.length} events`)
	})

	await test(say("no increment of a counter is lost"), async () => {
		const { configMaps } = paths(await newNamespace(first))
		const conflicts = await count(configMaps, [...clients, ...clients], 15)
		assert.ok(conflicts > 0, "they met")
	})

	await test(say("when one is killed the others go on"), async () => {
		const { configMaps } = paths(await newNamespace(first))
		const [follower] = await follow(configMaps, [first])
		expect(await second.post(configMaps, configMap("before")), 201)
		await servers[1].kill()
		expect(await first.patch(`${configMaps}/before`, { data: { a: "2" } }, "merge"), 200)
		await servers[1].begin()
		const { client } = servers[1]
		assert.equal(expect(await client.get(`${configMaps}/before`), 200).data.a, "2")
		const last = expect(await client.post(configMaps, configMap("after")), 201)
		await follower.settle(last.metadata.resourceVersion)
		assert.deepEqual(follower.log.map(({ type, name }) => `${type} ${name}`), ["ADDED before", "MODIFIED before", "ADDED after"])
	})

	for (const [i, server] of servers.entries())
		await test(say(`server ${i + 1} ends in order`), () => server.stop())
	await servers[0].etcd.kill()
}

for (const number of [2, 3])
	await cluster(number)
finish()
