// A log over a WebSocket at the API server, by the client of "ws" and by hand. The kubelet is a stand-in, as in connect_test.mjs.
import assert from "node:assert/strict"
import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import * as https from "node:https"
import { WebSocket } from "ws" // comes with client-node
import { core, startServer } from "./api_lib.mjs"
import { startKubelet } from "./connect_kubelet.mjs"
import { assertGrowth, finish, peakMemory, scratch, test, until } from "./lib.mjs"

const tokens = `${scratch}/tokens.csv`
writeFileSync(tokens, 'nobody-token,nobody,1\nroot-token,root,2,"system:masters"\n')
const server = await startServer("lmdb", { flags: ["--token-auth-file", tokens] })
const { client } = server
const kubelet = await startKubelet(readFileSync(`${server.folder}/pki/ca.crt`))
const pods = `${core}/namespaces/default/pods`

async function made(answer) {
	const { code, text } = await answer
	assert.equal(code, 201, text)
}

await made(client.post(`${core}/nodes`, { metadata: { name: "node-1" } }))
const status = { addresses: [{ type: "InternalIP", address: "127.0.0.1" }], daemonEndpoints: { kubeletEndpoint: { Port: kubelet.port } } }
assert.equal((await client.patch(`${core}/nodes/node-1/status`, { status }, "merge")).code, 200)
for (const name of ["web", "waiting", "flood", "pending"])
	await made(client.post(pods, { metadata: { name }, spec: { nodeName: name === "pending" ? undefined : "node-1",
		automountServiceAccountToken: false, containers: [{ name: "main", image: "none" }] } }))

const address = (path) => new URL(path, server.url.replace(/^http/, "ws"))

// The messages that a client gets until the close: { protocol, messages, binary, code }.
async function hear(path, protocols) {
	const socket = new WebSocket(address(path), protocols, { ...server.credentials, agent: false })
	const messages = []
	let binary
	socket.on("message", (data, isBinary) => {
		messages.push(data.toString())
		binary = isBinary
	})
	const [code] = await once(socket, "close")
	return { protocol: socket.protocol, messages, binary, code }
}

// A follower of pod web's log: { socket, kubelet's response, got() }.
async function follow() {
	kubelet.followed = undefined
	const socket = new WebSocket(address(`${pods}/web/log?follow=true`), ["binary.k8s.io"], { ...server.credentials, agent: false })
	let got = ""
	socket.on("message", (data) => (got += data))
	await once(socket, "open")
	return { socket, response: await until("follower at the kubelet", () => kubelet.followed), got: () => got }
}

// A handshake by hand: { code, headers, text } or { code: 101, headers, socket, head }.
async function shake(path, headers = {}, credentials = server.credentials) {
	const all = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13",
		"sec-websocket-key": randomBytes(16).toString("base64"), ...headers }
	for (const name in all)
		if (all[name] === undefined)
			delete all[name]
	const request = https.request(new URL(path, server.url), { ...credentials, agent: false, headers: all }).end()
	return new Promise((resolve, reject) => {
		request.on("error", reject)
		request.on("upgrade", ({ headers }, socket, head) => resolve({ code: 101, headers, socket, head }))
		request.on("response", async (response) => {
			let text = ""
			for await (const data of response)
				text += data
			resolve({ code: response.statusCode, headers: response.headers, text })
		})
	})
}

await test("a log comes in messages, the first of them empty, and ends with a close", async () => {
	assert.deepEqual(await hear(`${pods}/web/log?container=main&tailLines=5`, ["binary.k8s.io"]),
		{ protocol: "binary.k8s.io", messages: ["", "log of web: ?tailLines=5\n"], binary: true, code: 1000 })
	assert.match(kubelet.asked.at(-1).target, /^\/containerLogs\/default\/web\/main\?/)
	assert.equal(kubelet.asked.at(-1).headers.upgrade, undefined)
})

await test("in base64, or in no protocol", async () => {
	const text = "log of web: \n"
	assert.deepEqual(await hear(`${pods}/web/log`, ["v4.channel.k8s.io", "base64.binary.k8s.io"]),
		{ protocol: "base64.binary.k8s.io", messages: ["", Buffer.from(text).toString("base64")], binary: false, code: 1000 })
	assert.deepEqual(await hear(`${pods}/web/log`, []), { protocol: "", messages: ["", text], binary: true, code: 1000 })
})

await test("a token in a subprotocol authenticates, and is not passed on", async () => {
	const anonymous = { ca: server.credentials.ca }
	const as = (token, ...others) => ({ "sec-websocket-protocol":
		[`base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString("base64url")}`, ...others].join(", ") })
	const { code, headers, socket } = await shake(`${pods}/web/log`, as("root-token", "binary.k8s.io"), anonymous)
	socket.destroy()
	assert.equal(code, 101)
	assert.equal(headers["sec-websocket-protocol"], "binary.k8s.io")
	assert.equal(kubelet.asked.at(-1).headers["sec-websocket-protocol"], undefined)
	assert.equal((await shake(`${pods}/web/log`, as("nobody-token", "binary.k8s.io"), anonymous)).code, 403)
	assert.equal((await shake(`${pods}/web/log`, as("wrong", "binary.k8s.io"), anonymous)).code, 401)
	assert.equal((await shake(`${pods}/web/log`, as("root-token"), anonymous)).code, 401)
})

await test("the handshake is RFC 6455's", async () => {
	const key = "dGhlIHNhbXBsZSBub25jZQ=="
	const { code, headers, socket } = await shake(`${pods}/web/log`, { "sec-websocket-key": key, "sec-websocket-protocol": "a, binary.k8s.io",
		connection: "keep-alive, Upgrade", upgrade: "WebSocket" })
	socket.destroy()
	assert.equal(code, 101)
	assert.equal(headers["sec-websocket-accept"], createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64"))
	assert.equal(headers["sec-websocket-protocol"], "binary.k8s.io")
	assert.equal(headers.upgrade, "websocket")
})

await test("a follower gets each line when it is written, pongs for its pings, and leaves with a close", async () => {
	const { socket, response, got } = await follow()
	for (const line of ["one\n", "two\n"]) {
		response.write(line)
		await until("line", () => got().endsWith(line))
	}
	socket.send("nobody reads this")
	socket.ping("are you there?")
	const [pong] = await once(socket, "pong")
	assert.equal(pong.toString(), "are you there?")
	assert.equal(got(), "one\ntwo\n")
	const over = Promise.all([once(socket, "close"), once(response, "close")])
	socket.close(1001)
	const [[code]] = await over
	assert.equal(code, 1000)
})

await test("a client that vanishes without a close ends the stream at the kubelet, too", async () => {
	const { socket, response } = await follow()
	socket.on("error", () => {})
	socket.terminate()
	await once(response, "close")
})

await test("a log that breaks off does not end as one that is complete", async () => {
	const { socket, response, got } = await follow()
	response.write("half a li")
	await until("half a line", () => got())
	response.destroy()
	const [code] = await once(socket, "close")
	assert.equal(code, 1011)
})

await test("a follower that does not read costs its window", async () => {
	const before = peakMemory(server.process.pid)
	const socket = new WebSocket(address(`${pods}/flood/log?follow=true`), ["base64.binary.k8s.io"], { ...server.credentials, agent: false })
	let got = 0, largest = 0
	socket.on("message", (data) => {
		const bytes = Buffer.from(data.toString(), "base64").length
		got += bytes
		largest = Math.max(largest, bytes)
	})
	await once(socket, "open")
	socket.pause()
	let still = 0, last = 0
	await until("held up kubelet", () => {
		still = kubelet.written === last ? still + 1 : 0
		last = kubelet.written
		return last > 0 && still > 50
	})
	assert.ok(last < 32 * 1024 * 1024, `${last} bytes went to somebody who reads none`)
	socket.resume()
	await until("the rest", () => got > 64 * 1024 * 1024)
	assert.equal(largest, 2048)
	assertGrowth(server.process.pid, before, 24)
	socket.terminate()
})

await test("a forbidden frame ends the connection", async () => {
	for (const [frame, code] of [["8100", 1002], ["c18000000000", 1002], ["82ff000000010000000000000000", 1009]]) {
		const { socket, head } = await shake(`${pods}/web/log?follow=true`)
		const chunks = [head]
		socket.on("data", (data) => chunks.push(data))
		socket.write(Buffer.from(frame, "hex"))
		await once(socket, "end")
		socket.end()
		assert.equal(Buffer.concat(chunks).toString("hex"), "82008802" + code.toString(16).padStart(4, "0"))
	}
})

await test("an error before the upgrade is a plain reply", async () => {
	const at = async (...given) => {
		const { code, text } = await shake(...given)
		return `${code} ${text.startsWith("{") ? JSON.parse(text).message : text}`
	}
	assert.equal(await at(`${pods}/none/log`), `404 pods "none" not found`)
	assert.equal(await at(`${pods}/waiting/log`), `400 container "main" in pod "waiting" is waiting to start: ContainerCreating`)
	assert.equal(await at(`${pods}/web/log?tailLines=x`), `400 strconv.ParseInt: parsing "x": invalid syntax`)
	assert.equal(await at(`${pods}/pending/log`), "204 ")
	assert.match(await at(`${pods}/web/log`, { authorization: "Bearer nobody-token" }, { ca: server.credentials.ca }),
		/^403 pods "web" is forbidden: User "nobody" cannot get resource "pods\/log"/)
	// The handshake is checked only if there is a log to send.
	const foreign = { "sec-websocket-protocol": "v4.channel.k8s.io" }
	assert.equal(await at(`${pods}/web/log`, foreign), "403 ")
	assert.equal(await at(`${pods}/none/log`, foreign), `404 pods "none" not found`)
	assert.equal(await at(`${pods}/web/log`, { "sec-websocket-key": undefined }), "400 mismatch challenge/response")
	const { code, text, headers } = await shake(`${pods}/web/log`, { "sec-websocket-version": "8" })
	assert.deepEqual([code, text, headers["sec-websocket-version"]], [400, "missing or bad WebSocket Version", "13"])
	// A client that asks for another protocol gets the log.
	assert.equal(await at(`${pods}/web/log`, { upgrade: "h2c" }), "200 log of web: \n")
})

await server.stop()
kubelet.close()
finish()
