// Our gRPC server with a client that we did not write: @grpc/grpc-js.
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import * as grpc from "@grpc/grpc-js"
import { codes, ended, Health, Probe, unary } from "./grpc_lib.mjs"
import { assertGrowth, finish, peakMemory, scratch, start, test, until } from "./lib.mjs"

const MiB = 1024 * 1024
const big = { "grpc.max_receive_message_length": 64 * MiB, "grpc.max_send_message_length": 64 * MiB }
const clear = grpc.credentials.createInsecure()

async function serve(...args) {
	const server = start("probe", "serve", ...args)
	const sockets = args.filter((a) => a.startsWith("--listen")).length
	await until("listening server", () => server.lines.length >= sockets)
	return server
}

const socket = `${scratch}/probe.sock`
const server = await serve("--listen", "127.0.0.1:0", "--listen", `unix:${socket}`,
	"--listen-tls", "127.0.0.1:0", "--ca-out", `${scratch}/ca.crt`, "--io-threads", "2")
const where = server.lines.map((line) => line.replace(/^listening on (https?:\/\/)?/, ""))
const tcp = where[0]
const targets = {
	TCP: [tcp, clear, {}],
	"a unix socket": [`unix:${socket}`, clear, {}],
	TLS: [where[2].replace(/^127.0.0.1/, "localhost"),
		grpc.credentials.createSsl(readFileSync(`${scratch}/ca.crt`)), {}],
}
const client = new Probe(tcp, clear, big)

// --- unary ---------------------------------------------------------------------------

for (const [name, [target, credentials, options]] of Object.entries(targets)) {
	await test(`a unary call over ${name}`, async () => {
		const c = new Probe(target, credentials, options)
		const { error, reply } = await unary(c, "Echo", { payload: Buffer.from("hello") })
		assert.equal(error, null)
		assert.equal(reply.payload.toString(), "hello")
		assert.equal(reply.tls, name === "TLS")
		c.close()
	})
}

await test("500 unary calls at once", async () => {
	const all = await Promise.all(Array.from({ length: 500 }, (_, i) =>
		unary(client, "Echo", { payload: Buffer.from(String(i)), delay_ms: i % 7 })))
	all.forEach(({ error, reply }, i) => {
		assert.equal(error, null)
		assert.equal(reply.payload.toString(), String(i))
	})
})

await test("metadata comes back as headers and as trailers, text and bytes", async () => {
	const metadata = new grpc.Metadata()
	metadata.add("x-text", "one")
	metadata.add("x-text", "two, three")
	metadata.add("x-raw-bin", Buffer.from([0, 255, 128, 44]))
	const { error, headers, trailers } = await unary(client, "Echo", { echo_metadata: true }, metadata)
	assert.equal(error, null)
	for (const back of [headers, trailers]) {
		assert.equal(back.get("x-text").join(", "), "one, two, three")
		assert.deepEqual(back.get("x-raw-bin"), [Buffer.from([0, 255, 128, 44])])
	}
})

await test("every status arrives with its text", async () => {
	const message = 'kaputt: 100% Gerät\n"x"'
	for (let code = 1; code <= 16; code++) {
		const { error } = await unary(client, "Echo", { fail_with: { code, message } })
		assert.equal(error.code, code)
		assert.equal(error.details, message)
	}
})

await test("a deadline is kept", async () => {
	const began = Date.now()
	const { error } = await unary(client, "Echo", { delay_ms: 20000 }, undefined,
		{ deadline: Date.now() + 200 })
	assert.equal(error.code, codes.DEADLINE_EXCEEDED)
	assert.ok(Date.now() - began < 5000)
})

await test("a message of 32 MiB passes where it is allowed", async () => {
	const payload = Buffer.alloc(32 * MiB, 7)
	const { error, reply } = await unary(client, "Echo", { payload })
	assert.equal(error, null)
	assert.equal(Buffer.compare(reply.payload, payload), 0)
})

await test("compressed requests are understood", async () => {
	const c = new Probe(tcp, clear, { "grpc.default_compression_algorithm": 2 })
	const payload = Buffer.alloc(100000, "squeeze")
	const { error, reply } = await unary(c, "Echo", { payload })
	assert.equal(error, null)
	assert.equal(Buffer.compare(reply.payload, payload), 0)
	c.close()
})

await test("unknown methods and services are told apart", async () => {
	const ask = (path) => new Promise((resolve) =>
		client.makeUnaryRequest(path, (x) => x, (x) => x, Buffer.alloc(0), resolve))
	const method = await ask("/devplane.probe.v1.Probe/Nothing")
	assert.equal(method.code, codes.UNIMPLEMENTED)
	assert.equal(method.details, "unknown method Nothing for service devplane.probe.v1.Probe")
	const service = await ask("/no.Such/Thing")
	assert.equal(service.code, codes.UNIMPLEMENTED)
	assert.equal(service.details, "unknown service no.Such")
})

await test("bytes that are no message are INTERNAL", async () => {
	const error = await new Promise((resolve) =>
		client.makeUnaryRequest("/devplane.probe.v1.Probe/Echo", (x) => x, (x) => x,
			Buffer.from([0x0a, 0xff]), resolve))
	assert.equal(error.code, codes.INTERNAL)
})

// --- streams -------------------------------------------------------------------------

async function readAll(call) {
	const status = ended(call)
	let count = 0
	call.on("data", (chunk) => {
		count++
		if (chunk.sequence !== count)
			call.destroy(new Error(`chunk ${chunk.sequence} came as number ${count}`))
	})
	return { status: await status, total: count }
}

await test("100,000 messages down, in order", async () => {
	const result = await readAll(client.Download({ count: 100000, size: 100 }))
	assert.equal(result.status.code, codes.OK)
	assert.equal(result.total, 100000)
})

await test("100,000 messages down to a slow reader leave the server small", async () => {
	const before = peakMemory(server.pid)
	const call = client.Download({ count: 100000, size: 1000 })
	const status = ended(call)
	let count = 0
	call.on("data", () => {
		count++
		// A rest every thousand messages: the server could send all of them meanwhile.
		if (count % 1000 === 0 && count <= 20000) {
			call.pause()
			setTimeout(() => call.resume(), 50)
		}
	})
	assert.equal((await status).code, codes.OK)
	assert.equal(count, 100000)
	assertGrowth(server.pid, before, 16)
})

// Writes chunks with backpressure; resolves when all are written.
async function writeAll(call, count, size) {
	const data = Buffer.alloc(size)
	for (let sequence = 1; sequence <= count; sequence++) {
		const rest_ms = sequence === 1 ? 300 : 0
		if (!call.write({ sequence, data, rest_ms }))
			await new Promise((resolve) => call.once("drain", resolve))
	}
	call.end()
}

await test("100,000 messages up to a slow server leave it small", async () => {
	const before = peakMemory(server.pid)
	const summary = await new Promise((resolve, reject) => {
		const call = client.Upload((error, reply) => (error ? reject(error) : resolve(reply)))
		writeAll(call, 100000, 1000)
	})
	assert.equal(summary.count, 100000)
	assert.equal(summary.bytes, 100000000)
	assertGrowth(server.pid, before, 16)
})

await test("100,000 messages there and back", async () => {
	const call = client.Chat()
	writeAll(call, 100000, 10)
	const result = await readAll(call)
	assert.equal(result.status.code, codes.OK)
	assert.equal(result.total, 100000)
})

await test("a writer who does not read is held back, and the server stays small", async () => {
	const before = peakMemory(server.pid)
	const call = client.Chat()
	const status = ended(call)
	let blocked = false
	call.pause()
	for (let i = 0; i < 200 && !blocked; i++)
		blocked = !call.write({ sequence: i, data: Buffer.alloc(100000) })
	call.cancel()
	assert.equal((await status).code, codes.CANCELLED)
	assertGrowth(server.pid, before, 16)
})

await test("32 MiB are RESOURCE_EXHAUSTED where they are not allowed", async () => {
	const call = client.Chat()
	const status = ended(call)
	call.on("data", () => {})
	call.write({ data: Buffer.alloc(32 * MiB) })
	const { code, details } = await status
	assert.equal(code, codes.RESOURCE_EXHAUSTED)
	assert.match(details, /^grpc: received message larger than max \(\d+ vs\. 4194304\)$/)
})

await test("a stream may end with a failure after its messages", async () => {
	const result = await readAll(client.Download({ count: 10, size: 1, fail_with: { code: 10, message: "enough" } }))
	assert.equal(result.total, 10)
	assert.equal(result.status.code, codes.ABORTED)
	assert.equal(result.status.details, "enough")
})

await test("a deadline ends a stream", async () => {
	const call = client.Download({ count: 1000000, size: 1, interval_ms: 10 }, { deadline: Date.now() + 300 })
	const result = await readAll(call)
	assert.equal(result.status.code, codes.DEADLINE_EXCEEDED)
	assert.ok(result.total > 0)
})

await test("a cancelled stream stops", async () => {
	const call = client.Download({ count: 1000000, size: 1000 })
	const status = ended(call)
	call.once("data", () => call.cancel())
	call.on("data", () => {})
	assert.equal((await status).code, codes.CANCELLED)
	const { error } = await unary(client, "Echo", {})
	assert.equal(error, null)
})

// --- health --------------------------------------------------------------------------

await test("the health service answers", async () => {
	const health = new Health(tcp, clear)
	assert.equal((await unary(health, "Check", {})).reply.status, "SERVING")
	assert.equal((await unary(health, "Check", { service: "devplane.probe.v1.Probe" })).reply.status, "SERVING")
	assert.equal((await unary(health, "Check", { service: "other" })).error.code, codes.NOT_FOUND)
	const call = health.Watch({ service: "other" })
	const status = ended(call)
	const first = await new Promise((resolve) => call.once("data", resolve))
	assert.equal(first.status, "SERVICE_UNKNOWN")
	call.cancel()
	assert.equal((await status).code, codes.CANCELLED)
	health.close()
})

// --- the server goes -----------------------------------------------------------------

await test("pings of a nervous client are answered", async () => {
	const c = new Probe(tcp, clear, { "grpc.keepalive_time_ms": 10, "grpc.keepalive_timeout_ms": 2000 })
	const { error } = await unary(c, "Echo", { delay_ms: 600 })
	assert.equal(error, null)
	c.close()
})

await test("a server that is asked to stop lets calls end and takes no new ones", async () => {
	const other = await serve("--listen", `unix:${scratch}/other.sock`)
	const c = new Probe(`unix:${scratch}/other.sock`, clear)
	const call = unary(c, "Echo", { payload: Buffer.from("late"), delay_ms: 700 })
	const probe = unary(c, "Echo", {})
	assert.equal((await probe).error, null)
	other.child.kill("SIGTERM")
	assert.equal((await call).reply?.payload.toString(), "late")
	assert.deepEqual(await other.ended, { code: 0, signal: null })
	assert.equal((await unary(c, "Echo", {})).error.code, codes.UNAVAILABLE)
	c.close()
})

await test("a server that dies in mid-stream is UNAVAILABLE", async () => {
	const other = await serve("--listen", "127.0.0.1:0")
	const c = new Probe(other.lines[0].replace("listening on http://", ""), clear)
	const call = c.Download({ count: 1000000, size: 10, interval_ms: 1 })
	const status = ended(call)
	call.once("data", () => other.child.kill("SIGKILL"))
	call.on("data", () => {})
	assert.equal((await status).code, codes.UNAVAILABLE)
	c.close()
})

await test("after all this the server stops in order", async () => {
	client.close()
	server.child.kill("SIGTERM")
	assert.deepEqual(await server.ended, { code: 0, signal: null })
})

finish()
