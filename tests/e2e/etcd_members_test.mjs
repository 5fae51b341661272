// A server on three etcd members, one or all of which hang, die or come late.
import assert from "node:assert/strict"
import { configMap, expect, newNamespace, paths, startServer } from "./api_lib.mjs"
import { startMembers } from "./etcd_lib.mjs"
import { finish, scratch, start, test, until } from "./lib.mjs"

const etcd = await startMembers(3)

// Members with those first that the server shall use first.
const urls = (...first) => ({ url: [...first, ...etcd.members.filter((member) => !first.includes(member))].map(({ url }) => url).join() })

const followers = async () => {
	const leader = await etcd.leader()
	return etcd.members.filter((member) => member !== leader)
}

// Writers and readers of several keys until `over`. A write may end with an unknown outcome (504) while a member fails,
// everything else must succeed.
function work(client, configMaps) {
	let over = false
	const values = new Map()
	let unknown = 0
	const writer = async (name) => {
		for (let i = 0; !over; i++) {
			const answer = await client.patch(`${configMaps}/${name}`, { data: { value: `${i}` } }, "merge")
			if (answer.code === 504)
				unknown++
			else
				expect(answer, 200)
			values.set(name, i)
			const read = await client.get(`${configMaps}/${name}`)
			assert.ok(Number(expect(read, 200).data.value) >= (answer.code === 200 ? i : i - 1), `${name} went back`)
		}
	}
	const all = ["a", "b", "c", "d"].map((name) => client.post(configMaps, configMap(name)).then((answer) => {
		expect(answer, 201)
		return writer(name)
	}))
	const ended = Promise.all(all)
	let failure
	ended.catch((e) => (failure = e))
	return {
		values,
		// Until each writer has gone on from where it is now.
		async moved() {
			const before = new Map(values)
			await until("write by every writer", () => {
				if (failure)
					throw failure
				return ["a", "b", "c", "d"].every((name) => values.get(name) > (before.get(name) ?? -1) + 2)
			}, 60)
		},
		async end() {
			over = true
			await ended
			return unknown
		},
	}
}

await test("the server starts while the first member hangs", async () => {
	const [member] = await followers()
	await member.pause()
	const server = await startServer("etcd", { etcd: urls(member) })
	expect(await server.client.get("/api/v1/namespaces/default"), 200)
	member.resume()
	await server.stop()
})

await test("reads, writes and watches continue when the member in use hangs, and when it is back", async () => {
	const [member] = await followers()
	const server = await startServer("etcd", { etcd: urls(member) })
	const { configMaps } = paths(await newNamespace(server.client))
	const watch = await server.client.watch(`${configMaps}?watch=true`)
	const load = work(server.client2, configMaps)
	await load.moved()
	await member.pause()
	await load.moved()
	const seen = watch.events.length
	await watch.have(seen + 5)
	member.resume()
	await load.moved()
	console.log(`# ${await load.end()} writes of unknown outcome`)
	watch.close()
	await server.stop()
})

await test("reads and writes continue when the leader is killed", async () => {
	const leader = await etcd.leader()
	const [member] = await followers()
	const server = await startServer("etcd", { etcd: urls(member) })
	const { configMaps } = paths(await newNamespace(server.client))
	const load = work(server.client2, configMaps)
	await load.moved()
	await leader.kill()
	await load.moved()
	console.log(`# ${await load.end()} writes of unknown outcome`)
	etcd.begin([leader])
	await server.stop()
})

await test("reads and writes continue when the leader hangs", async () => {
	const leader = await etcd.leader()
	const [member] = await followers()
	const server = await startServer("etcd", { etcd: urls(member) })
	const { configMaps } = paths(await newNamespace(server.client))
	const load = work(server.client2, configMaps)
	await load.moved()
	await leader.pause()
	await load.moved()
	console.log(`# ${await load.end()} writes of unknown outcome`)
	leader.resume()
	await server.stop()
})

await test("a server waits for etcd, says so, and becomes ready", async () => {
	await etcd.kill()
	const server = start("server", "--data-dir", `${scratch}/patient`, "--secure-port", "0", "--log-format", "text",
		"--etcd-servers", etcd.url)
	let over
	server.ended.then((how) => (over = how))
	await until("line about the wait", () => {
		assert.ok(!over, `the server ended: ${JSON.stringify(over)} ${server.err}`)
		return /waiting for the store.*etcd/.test(server.err)
	}, 30)
	etcd.begin()
	await until("ready server", () => {
		assert.ok(!over, `the server ended: ${JSON.stringify(over)} ${server.err}`)
		return server.out.includes("is ready at")
	}, 60)
	server.child.kill("SIGTERM")
	assert.deepEqual(await server.ended, { code: 0, signal: null })
})

await test("a server that starts answers requests when it has loaded all objects, and probes before", async () => {
	await etcd.leader()
	const server = await startServer("etcd", { etcd })
	await server.stop()
	await etcd.kill()
	const again = start("server", "--data-dir", server.folder, "--secure-port", String(server.port), "--log-format", "text",
		"--etcd-servers", etcd.url, "--etcd-prefix", server.prefix)
	const probe = await until("answer of /readyz", () => server.client.get("/readyz").catch(() => undefined))
	assert.equal(probe.code, 500)
	expect(await server.client.get("/livez"), 200)
	const requests = [server.client.get("/api/v1/namespaces/default"), server.client2.get("/apis"),
		server.client2.post("/api/v1/namespaces", { metadata: { name: "early" } })]
	etcd.begin()
	const codes = (await Promise.all(requests)).map(({ code }) => code)
	assert.deepEqual(codes, [200, 200, 201])
	const late = await server.client.get("/api/v1/namespaces/early?timeout=30s")
	expect(late, 200)
	again.child.kill("SIGTERM")
	assert.deepEqual(await again.ended, { code: 0, signal: null })
})

await test("without a quorum clients get plain errors", async () => {
	const server = await startServer("etcd", { etcd })
	const { configMaps } = paths(await newNamespace(server.client))
	const [first, second] = etcd.members
	const { client2 } = server
	const requests = () => Array.from({ length: 8 }, (_, i) => [
		client2.get(configMaps), client2.get(`${configMaps}/none`), client2.post(configMaps, configMap(`m${i}`)),
		client2.patch("/api/v1/namespaces/default", { metadata: { labels: { a: `${i}` } } }, "merge"),
	]).flat()
	const early = requests()
	await Promise.all([first.kill(), second.kill()])
	const answers = await Promise.all([...early, ...requests()])
	for (const { code, text } of answers) {
		assert.doesNotMatch(text, /etcdserver|context deadline|HTTP\/2|transport|127\.0\.0\.1|Too large resource version/)
		assert.ok([200, 201, 404, 409, 503, 504].includes(code), `${code} ${text}`)
	}
	assert.ok(answers.some(({ code }) => code >= 500), "etcd had no quorum")
	console.log(`# ${[...new Set(answers.filter(({ code }) => code >= 500).map(({ code, body }) => `${code} ${body.message}`))].join("\n# ")}`)
	etcd.begin([first, second])
	await until("answer", async () => (await server.client.get(`${configMaps}/none`)).code === 404, 60)
	await server.stop()
})

await etcd.kill()
await test("a journal beside etcd is refused", async () => {
	const wrong = start("server", "--data-dir", `${scratch}/journal`, "--secure-port", "0", "--store-journal", "--etcd-servers", etcd.url)
	assert.notEqual((await wrong.ended).code, 0)
	assert.match(wrong.err, /leave out --store-journal or --etcd-servers/)
})

finish()
