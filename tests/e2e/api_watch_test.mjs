// Watching: what comes, in which order, from when on, and until when.
import assert from "node:assert/strict"
import {
	backends, claim, configMap, core, dra, expect, expectAscending, newNamespace, paths, pod, rv, slice, startEtcd, startServer, unique,
} from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"

const MiB = 1024 * 1024

const transports = [
	["HTTP/1.1", (server, path) => server.client.watch(path)],
	["HTTP/2", (server, path) => server.client2.watch(path)],
]

async function changes(say, server) {
	const { client } = server

	for (const [transport, open] of transports) {
		await test(say(`changes come as they were made, over ${transport}`), async () => {
			const { configMaps } = paths(await newNamespace(client))
			const before = expect(await client.post(configMaps, configMap("before")), 201)
			const watch = await open(server, `${configMaps}?watch=true&resourceVersion=${before.metadata.resourceVersion}`)
			assert.equal(watch.code, 200)
			assert.match(watch.headers["content-type"], /^application\/json/)
			const made = expect(await client.post(configMaps, configMap("box")), 201)
			const changed = expect(await client.patch(`${configMaps}/box`, { data: { a: "2" } }, "merge"), 200)
			expect(await client.patch(`${configMaps}/box`, { data: { a: "2" } }, "merge"), 200)
			expect(await client.delete(`${configMaps}/box`), 200)
			const last = expect(await client.post(configMaps, configMap("last")), 201)
			await watch.have(4)
			assert.deepEqual(watch.brief, ["ADDED box", "MODIFIED box", "DELETED box", "ADDED last"])
			assert.deepEqual(watch.events[0].object, made)
			assert.deepEqual(watch.events[1].object, changed)
			const { object: gone } = watch.events[2]
			assert.deepEqual(gone.data, changed.data)
			assert.ok(rv(gone) > rv(changed), "the deletion has a version of its own")
			assert.ok(rv(gone) < rv(last))
			watch.close()
		})
	}

	await test(say("a watch from before sees what was since, and from nothing what is"), async () => {
		const { configMaps } = paths(await newNamespace(client))
		const first = expect(await client.post(configMaps, configMap("one")), 201)
		expect(await client.post(configMaps, configMap("two")), 201)
		expect(await client.delete(`${configMaps}/two`), 200)
		expect(await client.post(configMaps, configMap("three")), 201)
		const since = await client.watch(`${configMaps}?watch=1&resourceVersion=${first.metadata.resourceVersion}`)
		await since.have(3)
		assert.deepEqual(since.brief, ["ADDED two", "DELETED two", "ADDED three"])
		since.close()
		for (const query of ["", "&resourceVersion=0"]) {
			const now = await client.watch(`${configMaps}?watch=true${query}`)
			await now.have(2)
			assert.deepEqual(now.brief.sort(), ["ADDED one", "ADDED three"])
			expect(await client.patch(`${configMaps}/one`, { data: { q: query } }, "merge"), 200)
			await now.have(3)
			assert.equal(now.brief[2], "MODIFIED one")
			now.close()
		}
		const old = await client.watch(`${configMaps.replace(core, `${core}/watch`)}?resourceVersion=${first.metadata.resourceVersion}`)
		await old.have(3)
		old.close()
	})

	await test(say("finalizers: one MODIFIED when deletion begins, one DELETED when it ends"), async () => {
		const { configMaps } = paths(await newNamespace(client))
		const watch = await client.watch(`${configMaps}?watch=true`)
		expect(await client.post(configMaps, configMap("held", {}, { finalizers: ["example.com/hold"] })), 201)
		expect(await client.delete(`${configMaps}/held`), 200)
		expect(await client.patch(`${configMaps}/held`, { metadata: { finalizers: null } }, "merge"), 200)
		await watch.have(3)
		assert.deepEqual(watch.brief, ["ADDED held", "MODIFIED held", "DELETED held"])
		assert.ok(watch.events[1].object.metadata.deletionTimestamp)
		expectAscending(watch.events.map(({ object }) => object))
		watch.close()
	})
}

async function selectors(say, server) {
	const { client } = server

	await test(say("an object that starts to match is ADDED, one that stops is DELETED"), async () => {
		const { configMaps } = paths(await newNamespace(client))
		const label = (tier) => client.patch(`${configMaps}/box`, { metadata: { labels: { tier } } }, "merge").then((a) => expect(a, 200))
		const watch = await client.watch(`${configMaps}?watch=true&labelSelector=tier%3Dfront`)
		expect(await client.post(configMaps, configMap("box")), 201)
		await label("front")
		expect(await client.patch(`${configMaps}/box`, { data: { a: "2" } }, "merge"), 200)
		const left = await label("back")
		await label("none")
		await label("front")
		expect(await client.delete(`${configMaps}/box`), 200)
		await watch.have(5)
		assert.deepEqual(watch.brief, ["ADDED box", "MODIFIED box", "DELETED box", "ADDED box", "DELETED box"])
		assert.equal(watch.events[2].object.metadata.resourceVersion, left.metadata.resourceVersion)
		assert.equal(watch.events[2].object.metadata.labels.tier, "front")
		watch.close()
	})

	await test(say("watches by an indexed field"), async () => {
		const { pods } = paths(await newNamespace(client))
		const onNode = await client.watch(`${core}/pods?watch=true&fieldSelector=spec.nodeName%3Dnode-w`)
		const loose = await client.watch(`${pods}?watch=true&fieldSelector=spec.nodeName%3D`)
		const named = await client.watch(`${pods}?watch=true&fieldSelector=metadata.name%3Dweb`)
		expect(await client.post(pods, pod("web")), 201)
		expect(await client.post(pods, pod("other")), 201)
		const binding = { apiVersion: "v1", kind: "Binding", metadata: { name: "web" }, target: { kind: "Node", name: "node-w" } }
		expect(await client.post(`${pods}/web/binding`, binding), 201)
		expect(await client.delete(`${pods}/web?gracePeriodSeconds=0`), 200)
		await onNode.have(2)
		await loose.have(3)
		await until("end of a pod", () => named.brief.includes("DELETED web"))
		assert.deepEqual(onNode.brief.filter((event) => !event.startsWith("MODIFIED")), ["ADDED web", "DELETED web"])
		assert.deepEqual(loose.brief, ["ADDED web", "ADDED other", "DELETED web"])
		assert.deepEqual([named.brief[0], named.brief.at(-1)], ["ADDED web", "DELETED web"])
		for (const watch of [onNode, loose, named])
			watch.close()
		const name = unique("slice"), driver = unique("driver") + ".example.com"
		const made = slice(name)
		made.spec.driver = driver
		const slices = await client.watch(`${dra}/resourceslices?watch=true&fieldSelector=spec.driver%3D${driver}`)
		expect(await client.post(`${dra}/resourceslices`, slice(unique("slice"))), 201)
		expect(await client.post(`${dra}/resourceslices`, made), 201)
		await slices.have(1)
		assert.deepEqual(slices.brief, [`ADDED ${name}`])
		slices.close()
	})
}

async function lists(say, server) {
	const { client } = server
	const initial = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

	await test(say("sendInitialEvents: the state, then a bookmark that says so"), async () => {
		const { claims } = paths(await newNamespace(client))
		expect(await client.post(claims, claim("one")), 201)
		const newest = expect(await client.post(claims, claim("two")), 201)
		for (const version of ["", "&resourceVersion=0", `&resourceVersion=${newest.metadata.resourceVersion}`]) {
			const watch = await client.watch(`${claims}?${initial}${version}`)
			await watch.have(3)
			assert.deepEqual(watch.brief, ["ADDED one", "ADDED two", "BOOKMARK"])
			const { object } = watch.events[2]
			assert.equal(object.kind, "ResourceClaim")
			assert.equal(object.apiVersion, "resource.k8s.io/v1")
			assert.equal(object.metadata.annotations["k8s.io/initial-events-end"], "true")
			assert.ok(rv(object) >= rv(newest))
			watch.close()
		}
		const empty = await client.watch(`${paths(await newNamespace(client)).claims}?${initial}`)
		await empty.have(1)
		assert.deepEqual(empty.brief, ["BOOKMARK"])
		empty.close()
	})

	await test(say("sendInitialEvents=false begins with what changes"), async () => {
		const { claims } = paths(await newNamespace(client))
		expect(await client.post(claims, claim("one")), 201)
		const watch = await client.watch(`${claims}?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan`)
		expect(await client.post(claims, claim("two")), 201)
		await watch.have(1)
		assert.deepEqual(watch.brief, ["ADDED two"])
		watch.close()
	})
}

async function ends(say, server) {
	const { client } = server

	for (const [transport, open] of transports) {
		await test(say(`timeoutSeconds ends a watch in order, over ${transport}`), async () => {
			const { configMaps } = paths(await newNamespace(client))
			expect(await client.post(configMaps, configMap("box")), 201)
			const began = Date.now()
			const watch = await open(server, `${configMaps}?watch=true&timeoutSeconds=1`)
			await watch.have(1)
			assert.equal(await watch.ended, undefined)
			const took = Date.now() - began
			assert.ok(took > 900 && took < 5000, `${took} ms`)
			assert.deepEqual(watch.brief, ["ADDED box"])
		})
	}

	await test(say("bookmarks tell the version before a watch ends"), async () => {
		const { configMaps } = paths(await newNamespace(client))
		const elsewhere = paths(await newNamespace(client))
		expect(await client.post(configMaps, configMap("box")), 201)
		const watch = await client.watch(`${configMaps}?watch=true&allowWatchBookmarks=true&timeoutSeconds=3`)
		await watch.have(1)
		const other = expect(await client.post(elsewhere.configMaps, configMap("other")), 201)
		assert.equal(await watch.ended, undefined)
		assert.equal(watch.brief[0], "ADDED box")
		assert.ok(watch.brief.slice(1).length > 0 && watch.brief.slice(1).every((event) => event === "BOOKMARK"), watch.brief)
		const { object } = watch.events.at(-1)
		assert.equal(object.kind, "ConfigMap")
		assert.ok(rv(object) >= rv(other))
		assert.deepEqual(Object.keys(object.metadata).filter((key) => key !== "creationTimestamp"), ["resourceVersion"])
	})

	await test(say("a version from the future"), async () => {
		const { configMaps } = paths(await newNamespace(client))
		const watch = await client.watch(`${configMaps}?watch=true&resourceVersion=1000000000`)
		if (watch.code === 200) {
			const [{ type, object }] = await watch.have(1)
			assert.equal(type, "ERROR")
			assert.equal(object.code, 504)
			assert.equal(object.details.causes[0].reason, "ResourceVersionTooLarge")
		} else {
			assert.equal(watch.code, 504)
		}
		watch.close()
	})
}

async function tables(say, server) {
	const { client } = server

	await test(say("a watch of tables sends the columns once"), async () => {
		const { claims } = paths(await newNamespace(client))
		const watch = await client.watch(`${claims}?watch=true`,
			{ headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" } })
		expect(await client.post(claims, claim("one")), 201)
		expect(await client.post(claims, claim("two")), 201)
		expect(await client.delete(`${claims}/one`), 200)
		await watch.have(3)
		assert.deepEqual(watch.events.map(({ type }) => type), ["ADDED", "ADDED", "DELETED"])
		assert.ok(watch.events.every(({ object }) => object.kind === "Table"))
		assert.deepEqual(watch.events[0].object.columnDefinitions.map(({ name }) => name), ["Name", "State", "Age", "Devices", "Addresses"])
		assert.deepEqual(watch.events[1].object.columnDefinitions ?? [], [])
		assert.deepEqual(watch.events.map(({ object }) => object.rows[0].cells[0]), ["one", "two", "one"])
		watch.close()
	})

	await test(say("a watch of metadata only"), async () => {
		const { configMaps } = paths(await newNamespace(client))
		const watch = await client.watch(`${configMaps}?watch=true`,
			{ headers: { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json" } })
		expect(await client.post(configMaps, configMap("one")), 201)
		const [{ object }] = await watch.have(1)
		assert.equal(object.kind, "PartialObjectMetadata")
		assert.equal(object.metadata.name, "one")
		assert.equal(object.data, undefined)
		watch.close()
	})
}

async function slow(say, server) {
	const { client } = server

	for (const [transport, open] of transports) {
		await test(say(`a slow reader over ${transport} loses nothing`), async () => {
			const { configMaps } = paths(await newNamespace(client))
			expect(await client.post(configMaps, configMap("box", { i: "0" })), 201)
			const watch = await open(server, `${configMaps}?watch=true`)
			await watch.have(1)
			watch.stream.pause()
			const count = 200
			for (let i = 1; i <= count; i++)
				expect(await client.put(`${configMaps}/box`, configMap("box", { i: String(i), fill: "x".repeat(MiB / 16) })), 200)
			assert.ok(watch.events.length < count, "the reader was slow")
			watch.stream.resume()
			await watch.have(count + 1)
			assert.deepEqual(watch.events.map(({ object }) => Number(object.data.i)), Array.from({ length: count + 1 }, (_, i) => i))
			watch.close()
		})
	}
}

async function restarts(say, server) {
	await test(say("after a restart a watch goes on from its version, or is told to list again"), async () => {
		const { configMaps } = paths(await newNamespace(server.client))
		const first = expect(await server.client.post(configMaps, configMap("one")), 201)
		const open = await server.client.watch(`${configMaps}?watch=true`)
		await open.have(1)
		expect(await server.client.post(configMaps, configMap("two")), 201)
		expect(await server.client.delete(`${configMaps}/one`), 200)
		await server.stop()
		await open.ended
		await server.begin()
		expect(await server.client.post(configMaps, configMap("three")), 201)
		const watch = await server.client.watch(`${configMaps}?watch=true&resourceVersion=${first.metadata.resourceVersion}`)
		const expired = watch.code === 410 || (await watch.have(1))[0].type === "ERROR"
		if (expired && server.backend === "etcd") {
			assert.ok(watch.code === 410 || watch.events[0].object.code === 410)
		} else {
			await watch.have(3)
			assert.deepEqual(watch.brief, ["ADDED two", "DELETED one", "ADDED three"])
			assert.deepEqual(watch.events[1].object.data, { a: "1" })
		}
		watch.close()
	})
}

async function forgetting(backend, say) {
	const server = await startServer(backend, {
		flags: ["--history", "1s", "--watch-cache-bytes", "65536"], etcd: backend === "etcd" ? await startEtcd() : undefined,
	})
	const { client } = server

	await test(say("a version that is too old is 410, and a reader that is too slow is told so"), async () => {
		const { configMaps } = paths(await newNamespace(client))
		const old = expect(await client.post(configMaps, configMap("box")), 201).metadata.resourceVersion
		const sleeper = await client.watch(`${configMaps}?watch=true`)
		await sleeper.have(1)
		sleeper.stream.pause()
		let status
		await until("410", async () => {
			expect(await client.put(`${configMaps}/box`, configMap("box", { r: String(Math.random()), fill: "x".repeat(MiB / 2) })), 200)
			const watch = await client.watch(`${configMaps}?watch=true&resourceVersion=${old}&timeoutSeconds=1`)
			await Promise.race([watch.ended, watch.have(1)])
			status = watch.events[0]?.type === "ERROR" ? watch.events[0].object : watch.events[0]
			watch.close()
			return status?.code === 410
		}, 60)
		assert.equal(status.kind, "Status")
		assert.equal(status.reason, "Expired")
		assert.match(status.message, /too old resource version/)
		for (let i = 0; i < 40; i++)
			expect(await client.put(`${configMaps}/box`, configMap("box", { i: String(i), fill: "x".repeat(MiB / 2) })), 200)
		sleeper.stream.resume()
		await sleeper.ended
		expectAscending(sleeper.events.filter(({ type }) => type !== "ERROR").map(({ object }) => object))
		const end = sleeper.events.at(-1)
		assert.equal(end.type, "ERROR")
		assert.equal(end.object.code, 410)
	})
	await test(say("a server with a short memory ends in order"), () => server.stop())
	await server.etcd?.kill()
}

for (const backend of backends) {
	const say = (name) => `${backend}: ${name}`
	const server = await startServer(backend)
	for (const part of [changes, selectors, lists, ends, tables, slow, restarts])
		await part(say, server)
	await test(say("the server ends in order"), () => server.stop())
	await forgetting(backend, say)
}
finish()
