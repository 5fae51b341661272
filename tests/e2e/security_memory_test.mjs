// Clients that take no answers: they decide how long an answer waits, not how much memory it keeps.
import assert from "node:assert/strict"
import * as http2 from "node:http2"
import { once } from "node:events"
import { core, startServer } from "./api_lib.mjs"
import { finish, residentMemory, sanitized, test, until } from "./lib.mjs"

const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

// A connection whose streams have no window: heads of answers arrive, bodies do not.
async function connectClosed(server) {
	const session = http2.connect(server.url, { ...server.credentials, settings: { initialWindowSize: 0 } })
	session.on("error", () => {})
	await once(session, "remoteSettings")
	return session
}

// Sends a request; resolves to the stream and the status of its answer.
async function ask(session, method, path, body, headers = {}) {
	const stream = session.request({ ":method": method, ":path": path, "content-type": "application/json", ...headers })
	stream.on("error", () => {})
	stream.end(body)
	const [head] = await once(stream, "response")
	return { stream, code: head[":status"] }
}

const mebibyte = 1024

await test("answers that nobody takes keep no memory of their requests", async () => {
	const server = await startServer("lmdb")
	const pid = server.process.child.pid
	const body = Buffer.from(`{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"nonResourceAttributes":{"path":"/","verb":"get"}},` +
		`"x":[${"{},".repeat(980000)}{}]}`)
	const session = await connectClosed(server)
	await ask(session, "POST", reviews, body)
	const before = residentMemory(pid)
	for (let i = 0; i < 20; i++)
		assert.equal((await ask(session, "POST", reviews, body)).code, 201)
	const grown = Math.round((residentMemory(pid) - before) / mebibyte)
	assert.ok(sanitized || grown < 64, `it grew by ${grown} MiB`)
	// The connection is of use as before.
	session.settings({ initialWindowSize: 65535 })
	const { stream, code } = await ask(session, "GET", `${core}/namespaces/default`)
	assert.equal(code, 200)
	assert.match((await stream.toArray()).join(""), /"name":"default"/)
	session.destroy()
	await server.stop()
})

const metric = async (client, name) =>
	Number(new RegExp(`^${name} (\\S+)$`, "m").exec((await client.get("/metrics")).text)?.[1])

await test("streams of which nobody takes anything are reset, watches with events too, and quiet watches go on", async () => {
	const server = await startServer("lmdb", { flags: ["--request-timeout", "2s"] })
	const { client } = server
	const quiet = await server.client2.watch(`${core}/namespaces/default/secrets?watch=true`)
	const session = await connectClosed(server)
	const path = `${core}/namespaces`
	const held = [await ask(session, "GET", path), await ask(session, "GET", `${path}?watch=true`)]
	for (const { stream, code } of held) {
		assert.equal(code, 200)
		await until("the stream's end", () => stream.closed, 60)
		assert.equal(stream.rstCode, http2.constants.NGHTTP2_CANCEL)
	}
	assert.equal(await metric(client, "devplane_http_stalled_streams_total"), 2)
	await client.post(`${core}/namespaces/default/secrets`, { metadata: { name: "a" } })
	await until("an event", () => quiet.brief.includes("ADDED a"))
	quiet.close()
	session.destroy()
	await server.stop()
})

await test("requests that do not arrive, or a byte at a time, are ended, whatever their method", async () => {
	const server = await startServer("lmdb", { flags: ["--request-timeout", "2s"] })
	const session = http2.connect(server.url, server.credentials)
	session.on("error", () => {})
	const open = ["GET", "POST"].map((method) => {
		const stream = session.request({ ":method": method, ":path": `${core}/namespaces/default/configmaps`, "content-type": "application/json" },
			{ endStream: false })
		stream.on("error", () => {})
		stream.on("response", (head) => (stream.code = head[":status"]))
		stream.resume()
		return stream
	})
	// No pause is as long as the time-out: only the rate tells.
	const trickle = setInterval(() => open.forEach((stream) => stream.closed || stream.write(" ")), 200)
	for (const stream of open) {
		await until("the stream's end", () => stream.closed, 60)
		assert.equal(stream.code, 408)
	}
	clearInterval(trickle)
	session.destroy()
	await server.stop()
})

await test("strangers' heads take little memory, and their streams beyond it are reset", async () => {
	const server = await startServer("lmdb")
	const { ca } = server.credentials
	const session = http2.connect(server.url, { ca, settings: { initialWindowSize: 0 }, maxSendHeaderBlockLength: 131072 })
	session.on("error", () => {})
	await once(session, "remoteSettings")
	const open = Array.from({ length: 200 }, () => {
		const stream = session.request({ ":path": core, "x-filler": "x".repeat(60000) })
		stream.on("error", () => {})
		stream.on("response", (head) => (stream.code = head[":status"]))
		return stream
	})
	await until("answers and resets", () => open.every((stream) => stream.code || stream.closed), 60)
	const refused = open.filter((stream) => stream.rstCode === http2.constants.NGHTTP2_ENHANCE_YOUR_CALM)
	assert.ok(refused.length > 180, `${refused.length} streams were reset`)
	assert.equal(await metric(server.client, 'devplane_request_memory_refused_total{limit="unauthenticated"}'), refused.length)
	assert.ok(await metric(server.client, "devplane_request_memory_bytes") <= 1024 * 1024)
	session.destroy()
	await server.stop()
})

await test("a user's unread answers have a limit, and other users go on", async () => {
	const server = await startServer("lmdb")
	const pid = server.process.child.pid
	const session = await connectClosed(server)
	const body = Buffer.from(JSON.stringify({ apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview",
		spec: { nonResourceAttributes: { path: `/${"x".repeat(2900000)}`, verb: "get" } } }))
	const before = residentMemory(pid)
	const open = []
	const over = (stream) => stream.closed && stream.rstCode === http2.constants.NGHTTP2_ENHANCE_YOUR_CALM
	while (open.length < 150 && !open.some(over)) {
		const stream = session.request({ ":method": "POST", ":path": reviews, "content-type": "application/json" })
		stream.on("error", () => {})
		stream.on("response", (head) => (stream.code = head[":status"]))
		stream.end(body)
		open.push(stream)
		await until("an answer or a reset", () => stream.code || stream.closed, 60)
	}
	assert.ok(open.some(over), `${open.length} answers are held`)
	assert.ok(await metric(server.client, 'devplane_request_memory_refused_total{limit="connection"}') > 0)
	const grown = Math.round((residentMemory(pid) - before) / mebibyte)
	assert.ok(sanitized || grown < 400, `it grew by ${grown} MiB`)
	assert.equal((await server.client.get(`${core}/namespaces/default`)).code, 200)
	session.destroy()
	await until("the memory", async () => await metric(server.client, "devplane_request_memory_bytes") === 0)
	await server.stop()
})

finish()
