// Clients that take no answers: they decide how long an answer waits, not how much memory it keeps.
import assert from "node:assert/strict"
import * as http2 from "node:http2"
import { once } from "node:events"
import { core, startServer } from "./api_lib.mjs"
import { finish, residentMemory, sanitized, test } from "./lib.mjs"

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

finish()
