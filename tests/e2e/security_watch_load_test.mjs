// Clients that open watches and connections to make the server work and hold for them: counted are evaluations, refusals and files, not time.
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { readdirSync, writeFileSync } from "node:fs"
import * as tls from "node:tls"
import { Client2, configMap, core, expect, expectStatus, startServer } from "./api_lib.mjs"
import { devplane, finish, scratch, test, until } from "./lib.mjs"

const maps = `${core}/namespaces/default/configmaps`
const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
const watching = (labels, fields = "") => `${maps}?watch=true&resourceVersion=0&labelSelector=${encodeURIComponent(labels)}&fieldSelector=${encodeURIComponent(fields)}`
const many = (n, make) => Array.from({ length: n }, (_, i) => make(i))
const tokens = `${scratch}/tokens.csv`
writeFileSync(tokens, "bob-token,bob,1\neve-token,eve,2\n")

// A server on which bob and eve may watch ConfigMaps.
async function guarded(...flags) {
	const server = await startServer("lmdb", { flags: ["--token-auth-file", tokens, "--io-threads", "3", ...flags] })
	expect(await server.client.post(`${rbac}/roles`, { metadata: { name: "watcher" }, rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] }] }), 201)
	server.bind = async (user) => expect(await server.client.post(`${rbac}/rolebindings`, { metadata: { name: user }, subjects: [{ kind: "User", name: user, apiGroup: "rbac.authorization.k8s.io" }],
		roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "watcher" } }), 201)
	await server.bind("bob")
	await server.bind("eve")
	// A connection of its own.
	server.connect = (user) => new Client2(server.url, { ca: server.credentials.ca, token: `${user}-token` })
	return server
}

const metric = async ({ client2 }, name) =>
	Number(new RegExp(`^${name.replace(/[{}]/g, "\\$&")} (\\S+)$`, "m").exec((await client2.get("/metrics")).text)?.[1])

const openWatches = 'apiserver_longrunning_requests{verb="WATCH",group="",version="v1",resource="configmaps",subresource="",scope="namespace",component="apiserver"}'

// The watch is closed again if it was opened.
async function codeOfWatch(client, path) {
	const watch = await client.watch(path)
	watch.close()
	return watch.code
}

await test("selectors of thousands of requirements are refused, wherever they come", async () => {
	const server = await startServer("lmdb")
	const { client } = server
	const long = encodeURIComponent(many(9000, (i) => `a${i.toString(36)}`).join(","))
	for (let i = 0; i < 720; i++)
		assert.equal(await codeOfWatch(server.client2, `${maps}?watch=true&labelSelector=!x,${long}`), 400)
	const labels = `${maps}?labelSelector=${long}`
	const fields = `${maps}?fieldSelector=${encodeURIComponent(many(257, () => "metadata.name!=a").join(","))}`
	const values = `${maps}?labelSelector=${encodeURIComponent(`a in (${many(513, (i) => i)})`)}`
	for (const [path, limit] of [[labels, 256], [fields, 256], [values, 512]]) {
		for (const suffix of ["", "&watch=true"])
			expectStatus(await client.get(path + suffix), 400, "BadRequest", new RegExp(`at most ${limit} `))
		expectStatus(await client.get(path, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }), 400, "BadRequest", new RegExp(`at most ${limit} `))
		expectStatus(await client.delete(path), 400, "BadRequest", new RegExp(`at most ${limit} `))
	}
	// Our own command line sends selectors as they are, and shows what is wrong.
	const cli = spawnSync(devplane, ["get", "configmaps", "--kubeconfig", server.kubeconfig, "-l", many(257, (i) => `!a${i}`).join(",")], { encoding: "utf8" })
	assert.notEqual(cli.status, 0)
	assert.match(cli.stderr, /at most 256 requirements/)
	const most = encodeURIComponent(many(256, (i) => `!a${i}`).join(","))
	expect(await client.get(`${maps}?labelSelector=${most}`), 200)
	await server.stop()
})

await test("watches that cannot match cost no evaluation, and equal ones are evaluated together", async () => {
	const server = await guarded()
	const connections = [server.connect("bob"), server.connect("bob")]
	const unmatched = (i) => [
		watching(`app=a${i}`), watching(`tier in (a${i},b${i})`), watching(`k${i}`), watching(`n${i}>5,!x`),
		watching(`x!=1,app=a${i}`), watching("", `metadata.name=n${i}`),
	][i % 6]
	const watches = []
	for (let i = 0; i < 300; i++)
		watches.push(await connections[i % 2].watch(unmatched(i)))
	assert.ok(watches.every(({ code }) => code === 200))
	const name = "devplane_watch_evaluations_total"
	const seen = await connections[0].watch(watching("", ""))
	const write = async (n) => {
		const had = seen.events.length
		for (let i = 0; i < n; i++)
			expect(await server.client.post(maps, configMap(`m${had}-${i}`, {}, { labels: { app: "web" } })), 201)
		await seen.have(had + n)
	}
	const before = await metric(server, name)
	await write(20)
	assert.equal(await metric(server, name) - before, 0)
	// These have to be asked, once for all of a loop: they require no label.
	const equal = await Promise.all(many(50, () => connections[0].watch(watching("app!=db"))))
	const other = await metric(server, name)
	await write(20)
	assert.equal(await metric(server, name) - other, 20)
	for (const watch of equal)
		await watch.have(40)
	assert.ok(watches.every(({ events, over }) => !over && events.length === 0))
	connections.forEach((client) => client.close())
	await server.stop()
})

// 256 requirements and 512 values: it counts as 1 + 768 / 16 watches.
const heavy = watching([...many(255, (i) => `k${i}!=v`), `l notin (${many(257, (i) => i)})`].join(","))
const heavyOnes = { connection: Math.floor(1000 / 49), user: Math.floor(10000 / 49) }

await test("a connection and a user have so many watches, and no more; other users go on", async () => {
	const server = await guarded()
	const connections = []
	let open = 0
	while (open < heavyOnes.user) {
		const client = server.connect("bob")
		connections.push(client)
		const watches = await Promise.all(many(Math.min(heavyOnes.connection, heavyOnes.user - open), () => client.watch(heavy)))
		assert.ok(watches.every(({ code }) => code === 200))
		open += watches.length
	}
	const { headers } = expectRefused(await connections[0].get(heavy), /this connection has too many open watches: the limit is 1000/)
	assert.ok(Number(headers["retry-after"]) > 0)
	expectRefused(await connections.at(-1).get(heavy), /this user has too many open watches: the limit is 10000/)
	expect(await connections[0].get(maps), 200)
	const eve = server.connect("eve")
	assert.equal(await codeOfWatch(eve, heavy), 200)
	assert.equal(await metric(server, 'devplane_watches_refused_total{limit="connection"}'), 1)
	assert.equal(await metric(server, 'devplane_watches_refused_total{limit="user"}'), 1)
	// All of them go with their connections.
	connections.forEach((client) => client.close())
	const again = server.connect("bob")
	await until("room", async () => await codeOfWatch(again, heavy) === 200)
	again.close()
	eve.close()
	await server.stop()
})

function expectRefused(answer, message) {
	expectStatus(answer, 429, "TooManyRequests", message)
	return answer
}

await test("an ended watch makes room for another, however it ended", async () => {
	const server = await guarded("--max-watches-per-user", "2")
	const plain = watching("")
	const [first, second] = [server.connect("bob"), server.connect("bob")]
	// One of both watches ends in some way.
	const ways = {
		reset: async (watch) => watch.close(),
		timeout: async (watch) => until("the watch's end", () => watch.over, 60),
		connection: async () => second.close(),
	}
	const kept = await first.watch(plain)
	for (const [way, end] of Object.entries(ways)) {
		const watch = await second.watch(plain + (way === "timeout" ? "&timeoutSeconds=1" : ""))
		assert.equal(watch.code, 200)
		expectRefused(await first.get(plain), /this user has too many open watches: the limit is 2/)
		await end(watch)
		await until(`room after ${way}`, async () => await codeOfWatch(first, plain) === 200)
		await until("the room's return", async () => await metric(server, openWatches) === 1)
	}
	expect(await server.client.delete(`${rbac}/rolebindings/bob`), 200)
	await until("the lost watch's end", () => kept.over, 60)
	await server.bind("bob")
	const back = await Promise.all([first.watch(plain), second.watch(plain)])
	assert.deepEqual(back.map(({ code }) => code), [200, 200])
	expectRefused(await first.get(plain))
	// The administrator has no limit.
	assert.deepEqual((await Promise.all(many(5, () => server.client2.watch(plain)))).map(({ code }) => code), many(5, () => 200))
	first.close()
	second.close()
	await server.stop()
})

await test("connections of one address without a credential leave files to others", async () => {
	const server = await startServer("lmdb", { flags: ["--max-unauthenticated-connections", "20"] })
	const { port, client2, credentials: { ca } } = server
	expect(await client2.get(`${core}/namespaces/default`), 200)
	const files = () => readdirSync(`/proc/${server.process.child.pid}/fd`).length
	const before = files()
	const sockets = many(200, () => {
		const socket = tls.connect({ port, host: "127.0.0.1", ca, ALPNProtocols: ["h2"] })
		socket.on("error", () => {})
		return socket
	})
	await until("the refusals", async () => await metric(server, 'devplane_http_connections_refused_total{limit="unauthenticated"}') === 180)
	assert.ok(files() <= before + 20, `${files() - before} files`)
	sockets.forEach((socket) => socket.destroy())
	await until("the files", () => files() <= before)
	expect(await server.client.get(`${core}/namespaces/default`), 200)
	await server.stop()
})

finish()
