// Our gRPC client, `devplane probe call`, with a server that we did not write: @grpc/grpc-js.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import net from "node:net"
import * as grpc from "@grpc/grpc-js"
import { Health, Probe } from "./grpc_lib.mjs"
import { assertGrowth, finish, peakMemory, scratch, start, test, until } from "./lib.mjs"

const MiB = 1024 * 1024

// The latest call, as the server saw it.
let seen = {}

function fail(request) {
	const { code, message } = request.fail_with
	return { code, details: message }
}

const handlers = {
	Echo(call, done) {
		seen = { metadata: call.metadata, deadline: call.getDeadline(), host: call.getHost() }
		const trailers = new grpc.Metadata()
		call.on("cancelled", () => (seen.cancelled = true))
		if (call.request.echo_metadata) {
			const headers = new grpc.Metadata()
			for (const key of ["x-text", "x-raw-bin"])
				for (const value of call.metadata.get(key)) {
					headers.add(key, value)
					trailers.add(key, value)
				}
			call.sendMetadata(headers)
		}
		setTimeout(() => {
			if (call.request.fail_with)
				done(fail(call.request))
			else
				done(null, { payload: call.request.payload }, trailers)
		}, call.request.delay_ms)
	},

	async Download(call) {
		const { count, size, interval_ms } = call.request
		const data = Buffer.alloc(size)
		let wake = () => {}
		seen = { sent: 0 }
		call.on("drain", () => wake())
		call.on("cancelled", () => {
			seen.cancelled = true
			wake()
		})
		for (let sequence = 1; sequence <= count && !call.cancelled; sequence++) {
			seen.sent = sequence
			if (!call.write({ sequence, data }))
				await new Promise((resolve) => (wake = resolve))
			if (interval_ms)
				await new Promise((resolve) => setTimeout(resolve, interval_ms))
		}
		if (call.request.fail_with)
			call.emit("error", fail(call.request))
		else
			call.end()
	},

	Upload(call, done) {
		let count = 0
		let bytes = 0
		call.on("data", (chunk) => {
			count++
			bytes += chunk.data.length
			if (chunk.rest_ms) {
				call.pause()
				setTimeout(() => call.resume(), chunk.rest_ms)
			}
		})
		call.on("end", () => done(null, { count, bytes }))
	},

	Chat(call) {
		call.on("data", (chunk) => {
			if (!call.write(chunk)) {
				call.pause()
				call.once("drain", () => call.resume())
			}
		})
		call.on("end", () => call.end())
	},
}

const health = { Check: (call, done) => done(null, { status: "NOT_SERVING" }) }

async function listen(at, credentials, options = {}) {
	const server = new grpc.Server({ "grpc.max_receive_message_length": 64 * MiB, ...options })
	server.addService(Probe.service, handlers)
	server.addService(Health.service, health)
	const port = await new Promise((resolve, reject) =>
		server.bindAsync(at, credentials, (error, bound) => (error ? reject(error) : resolve(bound))))
	return { server, target: at.startsWith("unix:") ? at : `127.0.0.1:${port}` }
}

// Makes one call; resolves to the line that it prints, and how it ended.
async function call(...args) {
	const run = start("probe", "call", ...args)
	const { code } = await run.ended
	return { exit: code, err: run.err, ...JSON.parse(run.lines[0] ?? "{}") }
}

const clear = grpc.ServerCredentials.createInsecure()
const tcp = await listen("127.0.0.1:0", clear)
const unix = await listen(`unix:${scratch}/server.sock`, clear)

// --- unary ---------------------------------------------------------------------------

for (const [name, { target }] of Object.entries({ TCP: tcp, "a unix socket": unix })) {
	await test(`a unary call over ${name}`, async () => {
		const r = await call(target, "echo", "--size", "1000")
		assert.equal(r.code, "OK", r.err)
		assert.equal(r.bytes, 1000)
		assert.equal(r.exit, 0)
	})
}

await test("the authority of a unix socket is localhost", async () => {
	await call(unix.target, "echo")
	assert.equal(seen.host, "localhost")
	assert.match(seen.metadata.get("user-agent")[0], /^devplane\/\d/)
})

function makeCertificate() {
	const run = (...args) => execFileSync("openssl", args, { stdio: "pipe", cwd: scratch })
	run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
		"-keyout", "server.key", "-out", "server.crt", "-subj", "/CN=probe.test",
		"-addext", "subjectAltName=DNS:probe.test")
	return grpc.ServerCredentials.createSsl(null, [{
		private_key: readFileSync(`${scratch}/server.key`),
		cert_chain: readFileSync(`${scratch}/server.crt`),
	}])
}

await test("a unary call over TLS, with the name that the certificate bears", async () => {
	const tls = await listen("127.0.0.1:0", makeCertificate())
	const ca = ["--tls", "--certificate-authority", `${scratch}/server.crt`]
	const good = await call(tls.target, "echo", "--size", "10", ...ca, "--authority", "probe.test")
	assert.equal(good.code, "OK", good.err)
	const wrong = await call(tls.target, "echo", ...ca, "--authority", "other.test")
	assert.equal(wrong.code, "UNAVAILABLE")
	const stranger = await call(tls.target, "echo", "--tls", "--authority", "probe.test")
	assert.equal(stranger.code, "UNAVAILABLE")
	const careless = await call(tls.target, "echo", "--tls", "--insecure-skip-tls-verify")
	assert.equal(careless.code, "OK", careless.err)
	tls.server.forceShutdown()
})

await test("metadata goes there and comes back, text and bytes", async () => {
	const r = await call(tcp.target, "echo", "--echo-metadata", "-H", "x-text=hello", "-H", "x-raw-bin=AP+ALA==")
	assert.equal(r.code, "OK", r.err)
	assert.deepEqual(seen.metadata.get("x-raw-bin"), [Buffer.from([0, 255, 128, 44])])
	for (const back of [r.headers, r.trailers]) {
		assert.equal(back["x-text"], "hello")
		assert.equal(back["x-raw-bin"], "AP+ALA==")
	}
})

await test("every status arrives with its text, and fails the command", async () => {
	const text = "kaputt: 100% Gerät"
	for (const name of ["CANCELLED", "UNKNOWN", "NOT_FOUND", "DATA_LOSS", "UNAUTHENTICATED", "9"]) {
		const r = await call(tcp.target, "echo", "--fail", name, "--fail-message", text)
		assert.equal(r.code, name === "9" ? "FAILED_PRECONDITION" : name)
		assert.equal(r.message, text)
		assert.equal(r.exit, 1)
	}
})

await test("a deadline is told to the server and kept here", async () => {
	const r = await call(tcp.target, "echo", "--delay", "20s", "--deadline", "300ms")
	assert.equal(r.code, "DEADLINE_EXCEEDED")
	assert.ok(r.elapsedMs >= 300 && r.elapsedMs < 5000)
	assert.ok(seen.deadline instanceof Date || Number.isFinite(seen.deadline))
	await until("cancellation", () => seen.cancelled)
})

await test("a method that the server does not have is UNIMPLEMENTED", async () => {
	assert.equal((await call(tcp.target, "watch")).code, "UNIMPLEMENTED")
	assert.equal((await call(tcp.target, "health")).reply.status, "NOT_SERVING")
})

await test("a message of 32 MiB passes both ways", async () => {
	const r = await call(tcp.target, "echo", "--size", String(32 * MiB))
	assert.equal(r.code, "OK", r.err)
	assert.equal(r.bytes, 32 * MiB)
})

await test("a message above the limit is RESOURCE_EXHAUSTED", async () => {
	const r = await call(tcp.target, "download", "--size", "100000", "--max-message", "50000")
	assert.equal(r.code, "RESOURCE_EXHAUSTED")
	assert.match(r.message, /larger than max \(\d+ vs\. 50000\)/)
})

await test("compressed replies are understood", async () => {
	const zip = await listen("127.0.0.1:0", clear, { "grpc.default_compression_algorithm": 2 })
	const r = await call(zip.target, "echo", "--size", "100000")
	assert.equal(r.code, "OK", r.err)
	assert.equal(r.bytes, 100000)
	zip.server.forceShutdown()
})

// --- streams -------------------------------------------------------------------------

await test("100,000 messages down", async () => {
	const r = await call(tcp.target, "download", "--count", "100000", "--size", "100")
	assert.equal(r.code, "OK", r.err)
	assert.equal(r.received, 100000)
	assert.equal(r.reply.sequence, 100000)
})

await test("100,000 messages up, to a server that rests", async () => {
	const r = await call(unix.target, "upload", "--count", "100000", "--size", "100", "--rest", "300ms")
	assert.equal(r.code, "OK", r.err)
	assert.equal(r.reply.count, 100000)
	assert.equal(r.reply.bytes, 10000000)
})

await test("100,000 messages there and back", async () => {
	const r = await call(tcp.target, "chat", "--count", "100000", "--size", "10")
	assert.equal(r.code, "OK", r.err)
	assert.equal(r.received, 100000)
})

await test("a slow reader stays small and holds the server back", async () => {
	seen = {}
	const run = start("probe", "call", tcp.target, "download", "--count", "100000", "--size", "1000",
		"--slow", "2ms", "--cancel-after", "400")
	await until("a stream", () => seen.sent > 100)
	const before = peakMemory(run.pid)
	await until("the server held back", () => {
		const last = seen.sent
		return new Promise((resolve) => setTimeout(() => resolve(seen.sent === last), 20))
	})
	// Unread data waits in windows and in grpc-js itself, and is only a small part of it all.
	assert.ok(seen.sent < 20000, `the server sent ${seen.sent}`)
	assertGrowth(run.pid, before, 16)
	await run.ended
	const r = JSON.parse(run.lines[0])
	assert.equal(r.code, "CANCELLED")
	assert.equal(r.received, 400)
})

await test("cancelling is noticed by the server", async () => {
	const r = await call(tcp.target, "download", "--count", "1000000", "--interval", "1ms", "--cancel-after", "3")
	assert.equal(r.code, "CANCELLED")
	assert.equal(r.received, 3)
	await until("cancellation", () => seen.cancelled)
})

await test("a stream may fail after its messages", async () => {
	const r = await call(tcp.target, "download", "--count", "10", "--fail", "ABORTED")
	assert.equal(r.code, "ABORTED")
	assert.equal(r.received, 10)
})

// --- the server comes and goes -------------------------------------------------------

await test("a server that is shut down in mid-stream cancels it", async () => {
	const other = await listen("127.0.0.1:0", clear)
	seen = {}
	const run = call(other.target, "download", "--count", "1000000", "--interval", "1ms")
	await until("stream", () => seen.sent > 10)
	other.server.forceShutdown()
	const r = await run
	assert.ok(["UNAVAILABLE", "CANCELLED"].includes(r.code), `${r.code}: ${r.message}`)
	assert.ok(r.received > 0)
})

// A way to the server that breaks when so many bytes have come back.
async function breakingProxy(target, bytes, how) {
	const [host, port] = target.split(":")
	const proxy = net.createServer((client) => {
		const server = net.connect(Number(port), host)
		let passed = 0
		client.pipe(server)
		server.pipe(client)
		server.on("data", (data) => {
			passed += data.length
			if (passed > bytes)
				client[how]()
		})
		client.on("error", () => {})
		client.on("close", () => server.destroy())
	})
	await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve))
	return { proxy, target: `127.0.0.1:${proxy.address().port}` }
}

for (const how of ["destroy", "resetAndDestroy"]) {
	await test(`a connection that dies in mid-stream (${how}) is UNAVAILABLE`, async () => {
		const { proxy, target } = await breakingProxy(tcp.target, 20000, how)
		const r = await call(target, "download", "--count", "1000000", "--size", "100")
		assert.equal(r.code, "UNAVAILABLE", r.message)
		assert.ok(r.received > 0)
		proxy.close()
	})
}

await test("without a server a call fails at once, or waits for it", async () => {
	const at = `unix:${scratch}/later.sock`
	const hasty = await call(at, "echo")
	assert.equal(hasty.code, "UNAVAILABLE")
	assert.match(hasty.message, /No such file or directory/)
	const late = await call(at, "echo", "--wait-for-ready", "--deadline", "200ms")
	assert.equal(late.code, "DEADLINE_EXCEEDED")
	const patient = call(at, "echo", "--size", "5", "--wait-for-ready", "--deadline", "30s")
	const { server } = await listen(at, clear)
	assert.equal((await patient).code, "OK")
	server.forceShutdown()
})

finish()
