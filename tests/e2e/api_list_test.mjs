// Reading collections: pages, resource versions, selectors, tables, compression.
import assert from "node:assert/strict"
import { gunzipSync } from "node:zlib"
import {
	backends, causes, claim, configMap, core, dra, expect, expectStatus, newNamespace, paths, pod, rv, slice, startEtcd,
	startServer, unique,
} from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"

const table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
const partial = (kind) => `application/json;as=${kind};v=v1;g=meta.k8s.io,application/json`

function names(list) {
	return list.items.map(({ metadata }) => metadata.name)
}

// Creates so many ConfigMaps m000, m001, ...
async function fill(client, configMaps, count) {
	await Promise.all(Array.from({ length: count }, (_, i) =>
		client.post(configMaps, configMap(`m${String(i).padStart(3, "0")}`)).then((answer) => expect(answer, 201))))
}

// All pages of a list, with `between` called after each.
async function pages(client, path, limit, between = async () => {}) {
	const all = []
	let token = ""
	do {
		const page = expect(await client.get(`${path}?limit=${limit}&continue=${encodeURIComponent(token)}`), 200)
		all.push(page)
		token = page.metadata.continue ?? ""
		await between()
	} while (token)
	return all
}

async function paging(say, client) {
	const { configMaps } = paths(await newNamespace(client))
	await fill(client, configMaps, 23)

	await test(say("a list is complete and in order"), async () => {
		const list = expect(await client.get(configMaps), 200)
		assert.equal(list.kind, "ConfigMapList")
		assert.equal(list.apiVersion, "v1")
		assert.equal(list.items.length, 23)
		assert.deepEqual(names(list), names(list).sort())
		assert.match(list.metadata.resourceVersion, /^\d+$/)
		assert.equal(list.metadata.continue, undefined)
		const newest = list.items.map(rv).reduce((a, b) => (a > b ? a : b))
		assert.ok(rv(list) >= newest)
	})

	await test(say("pages show one moment, whatever is written between them"), async () => {
		let writes = 0
		const got = await pages(client, configMaps, 5, async () => {
			writes++
			expect(await client.post(configMaps, configMap(`m${String(writes).padStart(3, "0")}x`)), 201)
			expect(await client.patch(`${configMaps}/m022`, { data: { a: `changed ${writes}` } }, "merge"), 200)
			if (writes === 1)
				expect(await client.delete(`${configMaps}/m020`), 200)
		})
		assert.deepEqual(got.map(({ items }) => items.length), [5, 5, 5, 5, 3])
		assert.deepEqual(got.map(({ metadata }) => metadata.remainingItemCount), [18, 13, 8, 3, undefined])
		assert.deepEqual([...new Set(got.map(({ metadata }) => metadata.resourceVersion))], [got[0].metadata.resourceVersion])
		const all = got.flatMap(names)
		assert.deepEqual(all, Array.from({ length: 23 }, (_, i) => `m${String(i).padStart(3, "0")}`))
		assert.deepEqual(got.at(-1).items.at(-1).data, { a: "1" })
		expect(await client.delete(`${configMaps}`), 200)
		await fill(client, configMaps, 23)
	})

	await test(say("with a selector the rest is not counted"), async () => {
		const page = expect(await client.get(`${configMaps}?limit=5&labelSelector=!none`), 200)
		assert.equal(page.items.length, 5)
		assert.ok(page.metadata.continue)
		assert.equal(page.metadata.remainingItemCount, undefined)
	})

	await test(say("a token that is none, and a limit that is none"), async () => {
		expectStatus(await client.get(`${configMaps}?limit=5&continue=nonsense`), 400, "BadRequest", /continue key is not valid/)
		expectStatus(await client.get(`${configMaps}?limit=many`), 400, "BadRequest")
		assert.equal(expect(await client.get(`${configMaps}?limit=0`), 200).items.length, 23)
	})
}

async function versions(say, client) {
	const { configMaps } = paths(await newNamespace(client))
	const first = expect(await client.post(configMaps, configMap("one")), 201).metadata.resourceVersion
	expect(await client.post(configMaps, configMap("two")), 201)
	const exact = (query) => client.get(`${configMaps}?resourceVersion=${query}`)

	await test(say("resourceVersion and resourceVersionMatch"), async () => {
		assert.deepEqual(names(expect(await exact(`${first}&resourceVersionMatch=Exact`), 200)), ["one"])
		assert.deepEqual(names(expect(await exact(`${first}&limit=10`), 200)), ["one"])
		assert.deepEqual(names(expect(await exact(first), 200)), ["one", "two"])
		assert.deepEqual(names(expect(await exact(`${first}&resourceVersionMatch=NotOlderThan`), 200)), ["one", "two"])
		assert.deepEqual(names(expect(await exact("0"), 200)), ["one", "two"])
		assert.deepEqual(names(expect(await exact("0&resourceVersionMatch=NotOlderThan"), 200)), ["one", "two"])
		expect(await client.get(`${configMaps}/one?resourceVersion=0`), 200)
		expect(await client.get(`${configMaps}/one?resourceVersion=${first}`), 200)
	})

	await test(say("combinations that mean nothing are refused"), async () => {
		for (const [query, cause] of [
			["resourceVersionMatch=Exact", "FieldValueForbidden resourceVersionMatch"],
			["resourceVersion=0&resourceVersionMatch=Exact", "FieldValueForbidden resourceVersionMatch"],
			["resourceVersion=5&resourceVersionMatch=Sideways", "FieldValueNotSupported resourceVersionMatch"],
			["resourceVersion=5&resourceVersionMatch=Exact&continue=abc", "FieldValueForbidden resourceVersionMatch"],
			["sendInitialEvents=true", "FieldValueForbidden sendInitialEvents"],
			["watch=true&resourceVersion=5&resourceVersionMatch=NotOlderThan", "FieldValueForbidden resourceVersionMatch"],
			["watch=true&sendInitialEvents=true", "FieldValueForbidden resourceVersionMatch"],
		]) {
			const status = expectStatus(await client.get(`${configMaps}?${query}`), 422, "Invalid", /^ListOptions\.meta\.k8s\.io "" is invalid/)
			assert.ok(causes(status).includes(cause), `${query}: ${causes(status)}`)
		}
		expectStatus(await exact("nonsense"), 400, "BadRequest")
	})

	await test(say("a version from the future is not there yet"), async () => {
		// The server waits a while for it.
		const [list, one] = await Promise.all([configMaps, `${configMaps}/one`].map((path) =>
			client.get(`${path}?resourceVersion=1000000000`)))
		const status = expectStatus(list, 504, "Timeout", /Too large resource version/)
		assert.equal(status.details.causes[0].reason, "ResourceVersionTooLarge")
		assert.equal(status.details.retryAfterSeconds, 1)
		expectStatus(one, 504, "Timeout", /Too large resource version/)
	})
}

async function selecting(say, client) {
	const ns = await newNamespace(client)
	const { configMaps, claims, pods } = paths(ns)
	for (const [name, labels] of [["a", { tier: "front", zone: "x" }], ["b", { tier: "back" }], ["c", {}]])
		expect(await client.post(configMaps, configMap(name, {}, { labels })), 201)

	await test(say("label selectors"), async () => {
		for (const [selector, want] of [
			["tier=front", ["a"]], ["tier==front", ["a"]], ["tier!=front", ["b", "c"]], ["tier", ["a", "b"]], ["!tier", ["c"]],
			["tier in (front,back)", ["a", "b"]], ["tier notin (front)", ["b", "c"]], ["tier,zone=x", ["a"]],
		]) {
			const list = expect(await client.get(`${configMaps}?labelSelector=${encodeURIComponent(selector)}`), 200)
			assert.deepEqual(names(list), want, selector)
		}
		expectStatus(await client.get(`${configMaps}?labelSelector=${encodeURIComponent("a in (")}`), 400, "BadRequest")
	})

	await test(say("field selectors, and fields that have none"), async () => {
		const bound = pod("bound")
		bound.spec.nodeName = "node-7"
		expect(await client.post(pods, bound), 201)
		expect(await client.post(pods, pod("loose")), 201)
		const by = async (path, selector) =>
			names(expect(await client.get(`${path}?fieldSelector=${encodeURIComponent(selector)}`), 200))
		assert.deepEqual(await by(pods, "spec.nodeName=node-7"), ["bound"])
		assert.deepEqual(await by(pods, "spec.nodeName!=node-7"), ["loose"])
		assert.deepEqual(await by(pods, "status.phase=Pending,metadata.name=loose"), ["loose"])
		assert.deepEqual(await by(configMaps, "metadata.name=b"), ["b"])
		assert.deepEqual(await by(configMaps, `metadata.namespace=${ns},metadata.name!=b`), ["a", "c"])
		const first = unique("slice"), second = unique("slice")
		expect(await client.post(`${dra}/resourceslices`, slice(first, "node-8")), 201)
		expect(await client.post(`${dra}/resourceslices`, slice(second, "node-9")), 201)
		assert.deepEqual(await by(`${dra}/resourceslices`, "spec.nodeName=node-8"), [first])
		assert.deepEqual(await by(`${dra}/resourceslices`, "spec.driver=gpu.example.com,spec.pool.name=node-9"), [second])
		expectStatus(await client.get(`${claims}?fieldSelector=spec.none%3D1`), 400, "BadRequest",
			/"spec\.none" is not a known field selector: only "metadata\.name", "metadata\.namespace"/)
		expectStatus(await client.get(`${pods}?fieldSelector=spec.none%3D1`), 400, "BadRequest",
			/field label not supported: spec\.none/)
		expectStatus(await client.get(`${configMaps}?fieldSelector=metadata.name`), 400, "BadRequest")
	})

	await test(say("a list over all namespaces"), async () => {
		const list = expect(await client.get(`${core}/configmaps?labelSelector=zone%3Dx`), 200)
		assert.deepEqual(names(list), ["a"])
		assert.equal(list.items[0].metadata.namespace, ns)
		expectStatus(await client.post(`${core}/configmaps`, configMap("x")), 405, "MethodNotAllowed")
	})
}

async function forms(say, client) {
	const ns = await newNamespace(client)
	const { configMaps, claims, pods } = paths(ns)
	const columns = async (path) => {
		const answer = await client.get(path, { accept: table })
		const got = expect(answer, 200)
		assert.match(answer.headers["content-type"], /^application\/json/)
		assert.equal(got.kind, "Table")
		assert.equal(got.apiVersion, "meta.k8s.io/v1")
		return got
	}

	await test(say("tables have upstream's columns"), async () => {
		expect(await client.post(pods, pod("web")), 201)
		expect(await client.post(claims, claim("gpu")), 201)
		const name = unique("slice")
		expect(await client.post(`${dra}/resourceslices`, slice(name, "node-3")), 201)

		const podTable = await columns(pods)
		assert.deepEqual(podTable.columnDefinitions.map((c) => c.name),
			["Name", "Ready", "Status", "Restarts", "Age", "IP", "Node", "Nominated Node", "Readiness Gates"])
		assert.deepEqual(podTable.columnDefinitions.map((c) => c.priority), [0, 0, 0, 0, 0, 1, 1, 1, 1])
		assert.deepEqual(podTable.rows[0].cells.slice(0, 4), ["web", "0/1", "Pending", "0"])
		assert.equal(podTable.rows[0].object.kind, "PartialObjectMetadata")
		assert.equal(podTable.rows[0].object.metadata.name, "web")
		assert.equal(podTable.rows[0].object.spec, undefined)
		assert.match(podTable.metadata.resourceVersion, /^\d+$/)

		const claimTable = await columns(claims)
		assert.deepEqual(claimTable.columnDefinitions.map((c) => c.name), ["Name", "State", "Age", "Devices", "Addresses"])
		assert.deepEqual(claimTable.columnDefinitions.map((c) => c.priority), [0, 0, 0, 1, 1])
		assert.deepEqual(claimTable.rows[0].cells.slice(0, 2), ["gpu", "pending"])

		const sliceTable = await columns(`${dra}/resourceslices/${name}`)
		assert.deepEqual(sliceTable.columnDefinitions.map((c) => c.name), ["Name", "Node", "Driver", "Pool", "Age"])
		assert.deepEqual(sliceTable.rows[0].cells.slice(0, 4), [name, "node-3", "gpu.example.com", "node-3"])
	})

	await test(say("includeObject of a table"), async () => {
		const whole = await columns(`${pods}?includeObject=Object`)
		assert.equal(whole.rows[0].object.kind, "Pod")
		assert.equal(whole.rows[0].object.spec.containers.length, 1)
		const none = await columns(`${pods}?includeObject=None`)
		assert.equal(none.rows[0].object ?? null, null)
	})

	await test(say("only metadata"), async () => {
		expect(await client.post(configMaps, configMap("box", { a: "1" }, { labels: { l: "v" } })), 201)
		const one = expect(await client.get(`${configMaps}/box`, { accept: partial("PartialObjectMetadata") }), 200)
		assert.equal(one.kind, "PartialObjectMetadata")
		assert.equal(one.apiVersion, "meta.k8s.io/v1")
		assert.deepEqual(one.metadata.labels, { l: "v" })
		assert.equal(one.data, undefined)
		const all = expect(await client.get(configMaps, { accept: partial("PartialObjectMetadataList") }), 200)
		assert.equal(all.kind, "PartialObjectMetadataList")
		assert.deepEqual(names(all), ["box"])
		assert.equal(all.items[0].data, undefined)
	})

	await test(say("the items of a list leave it to the list to say what they are"), async () => {
		const members = (text) => JSON.parse(text).items.map((item) => Object.keys(item)[0])
		const whole = await client.get(configMaps)
		assert.deepEqual(members(whole.text), ["metadata"])
		assert.equal(Buffer.byteLength(whole.text), Number(whole.headers["content-length"]))
		assert.deepEqual(members((await client.get(`${configMaps}?pretty=true`)).text), ["metadata"])
		assert.doesNotMatch((await client.get(configMaps, { accept: "application/yaml" })).text, /^. kind:/m)
		assert.deepEqual(members((await client.delete(`${configMaps}?dryRun=All`)).text), ["metadata"])
		const watch = await client.watch(`${configMaps}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`)
		for (const { object } of await watch.have(2))
			assert.deepEqual([object.apiVersion, object.kind], ["v1", "ConfigMap"])
		watch.close()
	})

	await test(say("pretty=true is for people"), async () => {
		const answer = await client.get(`${configMaps}/box?pretty=true`)
		assert.match(answer.text, /^\{\n +"apiVersion": "v1",\n +"kind": "ConfigMap",\n/)
		assert.doesNotMatch((await client.get(`${configMaps}/box`)).text, /\n./)
	})
}

async function compression(say, client) {
	const { configMaps } = paths(await newNamespace(client))
	const gzip = { headers: { "accept-encoding": "gzip" } }

	await test(say("lists above 128 KiB are compressed for those who want it"), async () => {
		expect(await client.post(configMaps, configMap("small", { a: "x" })), 201)
		assert.equal((await client.get(configMaps, gzip)).headers["content-encoding"], undefined)
		for (const name of ["one", "two"])
			expect(await client.post(configMaps, configMap(name, { a: `${name} `.repeat(20 * 1024) })), 201)
		const plain = await client.get(configMaps)
		assert.equal(plain.headers["content-encoding"], undefined)
		const packed = await client.get(configMaps, gzip)
		assert.equal(packed.headers["content-encoding"], "gzip")
		assert.match(packed.headers.vary, /Accept-Encoding/i)
		assert.ok(packed.raw.length < plain.raw.length / 4)
		assert.deepEqual(JSON.parse(gunzipSync(packed.raw)), plain.body)
	})

	await test(say("watches never are"), async () => {
		const watch = await client.watch(`${configMaps}?watch=true`, gzip)
		assert.equal(watch.code, 200)
		assert.equal(watch.headers["content-encoding"], undefined)
		await watch.have(3)
		watch.close()
	})
}

async function forgetting(backend, say) {
	// The store forgets by time, the ring of recent events by size. Compaction is of the whole etcd, so this one is
	// nobody else's.
	const server = await startServer(backend, {
		flags: ["--history", "1s", "--watch-cache-bytes", "65536"], etcd: backend === "etcd" ? await startEtcd() : undefined,
	})
	const { client } = server
	const { configMaps } = paths(await newNamespace(client))

	await test(say("a token and a version that are too old are gone"), async () => {
		await fill(client, configMaps, 9)
		const page = expect(await client.get(`${configMaps}?limit=3`), 200)
		const old = page.metadata.resourceVersion
		const next = `${configMaps}?limit=3&continue=${encodeURIComponent(page.metadata.continue)}`
		expect(await client.get(next), 200)
		await until("a forgotten version", async () => {
			expect(await client.patch(`${configMaps}/m000`, { data: { a: String(Math.random()), b: "b".repeat(8192) } }, "merge"), 200)
			return (await client.get(next)).code === 410
		}, 30)
		expectStatus(await client.get(next), 410, "Expired", /The provided continue parameter is too old/)
		await until("a forgotten version", async () =>
			(await client.get(`${configMaps}?resourceVersion=${old}&resourceVersionMatch=Exact`)).code === 410, 30)
		expectStatus(await client.get(`${configMaps}?resourceVersion=${old}&resourceVersionMatch=Exact`), 410, "Expired")
		assert.equal(expect(await client.get(configMaps), 200).items.length, 9)
	})
	await test(say("a token expires whoever has written, and its successor shows the rest as it is"), async () => {
		const { configMaps: own } = paths(await newNamespace(client))
		await fill(client, own, 9)
		const page = expect(await client.get(`${own}?limit=3`), 200)
		const next = (token) => client.get(`${own}?limit=3&continue=${encodeURIComponent(token)}`)
		await until("an expired token", async () => {
			expect(await client.patch(`${configMaps}/m000`, { data: { a: String(Math.random()) } }, "merge"), 200)
			return (await next(page.metadata.continue)).code === 410
		}, 30)
		const status = expectStatus(await next(page.metadata.continue), 410, "Expired", /use the continue token in this response/)
		const rest = expect(await next(status.metadata.continue), 200)
		assert.deepEqual(names(rest), ["m003", "m004", "m005"])
		assert.equal(rest.metadata.remainingItemCount, 3)
		assert.ok(rv(rest) > rv(page))
		assert.deepEqual(names(expect(await next(rest.metadata.continue), 200)), ["m006", "m007", "m008"])
	})
	await test(say("a server with a short memory ends in order"), () => server.stop())
	await server.etcd?.kill()
}

for (const backend of backends) {
	const say = (name) => `${backend}: ${name}`
	const server = await startServer(backend)
	for (const part of [paging, versions, selecting, forms, compression])
		await part(say, server.client)
	await test(say("the server ends in order"), () => server.stop())
	await forgetting(backend, say)
}
finish()
