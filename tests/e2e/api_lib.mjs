// An API server on either backend, and a bare client for it: what the api_*_test.mjs share.
//
//	for (const backend of backends) {
//		const server = await startServer(backend)
//		const { code, body } = await server.client.get("/api/v1/namespaces/default")
//	}
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createWriteStream, readFileSync } from "node:fs"
import * as http from "node:http"
import * as http2 from "node:http2"
import * as https from "node:https"
import * as net from "node:net"
import { scratch, start, until } from "./lib.mjs"

export const backends = (process.env.BACKENDS ?? "lmdb,etcd").split(",")

export const core = "/api/v1"
export const dra = "/apis/resource.k8s.io/v1"

// Flags of a server for tests in which many claims have the same devices.
export const unfenced = ["--disable-admission-plugins", "DeviceAllocationFence"]

let counter = 0

// A name that nothing else in this run has.
export function unique(prefix) {
	return `${prefix}-${++counter}`
}

// --- processes -----------------------------------------------------------------------------

// A TCP port that was free just now.
export async function freePort() {
	const listener = net.createServer().listen(0, "127.0.0.1")
	await once(listener, "listening")
	const { port } = listener.address()
	listener.close()
	await once(listener, "close")
	return port
}

const children = new Set()
process.on("exit", () => children.forEach((child) => child.kill("SIGKILL")))

async function healthy(url) {
	try {
		return /true/.test((await new Client(url).get("/health", { seconds: 2 })).text)
	} catch {
		return false
	}
}

// Debian's etcd on loopback with a folder of its own. kill() ends it as a crash would; begin() starts it
// again on its folder and ports.
export async function startEtcd(...flags) {
	const folder = `${scratch}/${unique("etcd")}`
	const log = createWriteStream(`${folder}.log`)
	const url = `http://127.0.0.1:${await freePort()}`
	const peer = `http://127.0.0.1:${await freePort()}`
	let child
	const self = {
		url,
		async begin() {
			// etcd refuses to run on arm64 unless a variable allows it. The short election saves a second.
			child = spawn("etcd", ["--name", "test", "--data-dir", folder, "--listen-client-urls", url,
				"--advertise-client-urls", url, "--listen-peer-urls", peer,
				"--initial-advertise-peer-urls", peer, "--initial-cluster", `test=${peer}`,
				"--heartbeat-interval", "20", "--election-timeout", "200", ...flags], {
				stdio: ["ignore", "pipe", "pipe"],
				env: { ...process.env, ETCD_UNSUPPORTED_ARCH: process.arch },
			})
			children.add(child)
			child.stdout.pipe(log, { end: false })
			child.stderr.pipe(log, { end: false })
			await until("etcd", () => healthy(url))
		},
		async kill(signal = "SIGKILL") {
			const over = once(child, "exit")
			child.kill(signal)
			await over
			children.delete(child)
		},
	}
	await self.begin()
	return self
}

let shared

// The etcd of a test file, made when it is first wanted; each server has its own prefix in it.
async function sharedEtcd() {
	shared ??= startEtcd()
	return shared
}

// The content of a kubeconfig file of ours: { url, ca, cert, key }.
export function readKubeconfig(file) {
	const text = readFileSync(file, "utf8")
	const field = (name) => new RegExp(`\\b${name}: *"?([^\\s"]+)`).exec(text)?.[1]
	const pem = (name) => Buffer.from(field(name), "base64")
	return {
		url: field("server"),
		ca: pem("certificate-authority-data"),
		cert: pem("client-certificate-data"),
		key: pem("client-key-data"),
	}
}

// Starts `devplane server` and waits until it is ready. Options: etcd (one of startEtcd), prefix, folder, port,
// flags, and taintNodes: new nodes are tainted until a node lifecycle controller has seen them ready, as by default.
// Most tests run no controller, so here that is off. The result's kill() ends it as a crash would, stop() in order, and begin() starts it again on its folder
// and port. `client` is the administrator's, `client2` the same over HTTP/2.
export async function startServer(backend, { etcd, prefix, folder, port, flags = [], taintNodes = false } = {}) {
	const name = unique(backend)
	const self = { backend, folder: folder ?? `${scratch}/${name}`, port: port ?? 0 }
	const storage = []
	if (backend === "etcd") {
		self.etcd = etcd ?? await sharedEtcd()
		self.prefix = prefix ?? `/${name}`
		storage.push("--etcd-servers", self.etcd.url, "--etcd-prefix", self.prefix)
	}
	const launch = () => start("server", "--data-dir", self.folder, "--secure-port", String(self.port),
		"--log-format", "text", ...storage, ...(taintNodes ? [] : ["--disable-admission-plugins", "TaintNodesByCondition"]), ...flags)
	self.begin = async () => {
		let own, over
		await until("ready server", () => {
			// While it was away, a client's connection may have got its port, to itself even: that goes again.
			if (!own || (over && own.err.includes("Address already in use"))) {
				over = undefined
				own = self.process = launch()
				const mine = own
				mine.ended.then((how) => own === mine && (over = how))
			}
			assert.ok(!over, `the server ended: ${JSON.stringify(over)} ${own.err}`)
			return own.out.includes("is ready at")
		}, 60)
		self.url = /is ready at (\S+)/.exec(own.out)[1]
		self.port = Number(new URL(self.url).port)
		self.kubeconfig = `${self.folder}/admin.kubeconfig`
		self.credentials = readKubeconfig(self.kubeconfig)
		self.client?.close()
		self.client2?.close()
		self.client = new Client(self.url, self.credentials)
		self.client2 = new Client2(self.url, self.credentials)
	}
	self.kill = async () => {
		self.process.child.kill("SIGKILL")
		await self.process.ended
	}
	self.stop = async () => {
		self.client.close()
		self.client2.close()
		self.process.child.kill("SIGTERM")
		assert.deepEqual(await self.process.ended, { code: 0, signal: null })
	}
	// A client with other credentials than the administrator's.
	self.as = (credentials) => new Client(self.url, { ca: self.credentials.ca, ...credentials })
	await self.begin()
	return self
}

// --- client --------------------------------------------------------------------------------

const types = {
	json: "application/json",
	merge: "application/merge-patch+json",
	patch: "application/json-patch+json",
	strategic: "application/strategic-merge-patch+json",
	yaml: "application/yaml",
}

// The result of `body`, unless that takes too long.
async function within(seconds, what, body) {
	let timer
	const late = new Promise((_, reject) => {
		timer = setTimeout(() => reject(new Error(`no answer to ${what} within ${seconds} s`)), seconds * 1000)
	})
	try {
		return await Promise.race([body(), late])
	} finally {
		clearTimeout(timer)
	}
}

function encode(body) {
	return typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body)
}

// One client of one server over HTTP/1.1: credentials are { ca, cert, key } or { ca, token }. Answers are
// { code, headers, raw, text, body }; body is the parsed JSON when it is JSON.
export class Client {
	constructor(url, { ca, cert, key, token } = {}) {
		this.url = new URL(url)
		this.library = this.url.protocol === "https:" ? https : http
		this.agent = new this.library.Agent({ keepAlive: true, ca, cert, key, maxSockets: 64 })
		this.headers = { "user-agent": "e2e/1.0" }
		if (token)
			this.headers.authorization = `Bearer ${token}`
	}

	close() {
		this.agent.destroy()
	}

	// Sends a request; resolves when it was answered.
	async begin(method, path, headers, bytes, agent = this.agent) {
		const request = this.library.request(new URL(path, this.url), { method, agent, headers: { ...this.headers, ...headers } })
		request.end(bytes)
		const [stream] = await once(request, "response")
		return { request, stream, code: stream.statusCode, headers: stream.headers }
	}

	// Options: body (an object, or text as it is), type (a name of `types` or a media type), accept, headers.
	async request(method, path, { body, type = "json", accept, headers, seconds = 60 } = {}) {
		const all = { ...headers }
		const bytes = body === undefined ? undefined : encode(body)
		if (bytes !== undefined) {
			all["content-type"] = types[type] ?? type
			// Node frames the body of a DELETE only if the length is given.
			all["content-length"] = Buffer.byteLength(bytes)
		}
		if (accept)
			all.accept = types[accept] ?? accept
		return within(seconds, `${method} ${path}`, async () => {
			const answer = await this.begin(method, path, all, bytes)
			const chunks = []
			for await (const chunk of answer.stream)
				chunks.push(chunk)
			const raw = Buffer.concat(chunks), text = raw.toString()
			const plain = /json/.test(answer.headers["content-type"]) && !answer.headers["content-encoding"]
			return { code: answer.code, headers: answer.headers, raw, text, body: plain && raw.length ? JSON.parse(text) : undefined }
		})
	}

	get(path, options) {
		return this.request("GET", path, options)
	}

	post(path, body, options) {
		return this.request("POST", path, { body, ...options })
	}

	put(path, body, options) {
		return this.request("PUT", path, { body, ...options })
	}

	patch(path, body, type, options) {
		return this.request("PATCH", path, { body, type, ...options })
	}

	delete(path, body, options) {
		return this.request("DELETE", path, { body, ...options })
	}

	// Opens a watch; resolves when it was answered.
	async watch(path, { headers } = {}) {
		return new Watch(await this.begin("GET", path, headers, undefined, new this.library.Agent(this.agent.options)))
	}
}

// The same with all requests on one HTTP/2 connection, which is made when it is first needed.
export class Client2 extends Client {
	constructor(url, credentials) {
		super(url, credentials)
		this.credentials = credentials
	}

	connect() {
		if (!this.session || this.session.destroyed || this.session.closed) {
			this.session = http2.connect(this.url, this.credentials)
			this.session.on("error", () => {})
		}
		return this.session
	}

	close() {
		this.session?.destroy()
		super.close()
	}

	async begin(method, path, headers, bytes) {
		const stream = this.connect().request({ ":method": method, ":path": path, ...this.headers, ...headers })
		stream.end(bytes)
		const [response] = await once(stream, "response")
		return { request: stream, stream, code: response[":status"], headers: response }
	}
}

// A stream of one JSON document per line. `events` grows; `ended` resolves to an error or undefined.
export class Watch {
	constructor({ request, stream, code, headers }) {
		Object.assign(this, { request, stream, code, headers, events: [] })
		let rest = ""
		stream.setEncoding("utf8")
		stream.on("data", (data) => {
			const lines = (rest + data).split("\n")
			rest = lines.pop()
			for (const line of lines)
				this.events.push(JSON.parse(line))
		})
		this.ended = new Promise((resolve) => {
			stream.on("end", () => {
				// A refusal is one document without a newline; a watch that ends amid an event has none either.
				if (rest && code !== 200)
					this.events.push(JSON.parse(rest))
				resolve(code === 200 && rest ? new Error(`torn: ${rest}`) : undefined)
			})
			stream.on("error", resolve)
			request.on("error", resolve)
			stream.on("close", () => resolve(new Error("closed")))
		})
		this.ended.then(() => (this.over = true))
	}

	// Waits for so many events, and fails when the stream ends before.
	async have(count, seconds = 20) {
		await until(`${count} events of a watch that has ${this.events.length}`, () => {
			assert.ok(!this.over || this.events.length >= count, `the watch ended with ${this.events.length} events`)
			return this.events.length >= count
		}, seconds)
		return this.events
	}

	// The events so far, briefly: "ADDED name".
	get brief() {
		return this.events.map(({ type, object }) => `${type} ${object.metadata?.name ?? ""}`.trim())
	}

	close() {
		this.request.destroy()
	}
}

// --- objects -------------------------------------------------------------------------------

export function configMap(name, data = { a: "1" }, metadata = {}) {
	return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, data }
}

export function claim(name, metadata = {}) {
	return {
		apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", metadata: { name, ...metadata },
		spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu.example.com" } }] } },
	}
}

export function slice(name, node = "node-1", metadata = {}) {
	return {
		apiVersion: "resource.k8s.io/v1", kind: "ResourceSlice", metadata: { name, ...metadata },
		spec: {
			driver: "gpu.example.com", nodeName: node, pool: { name: node, generation: 1, resourceSliceCount: 1 },
			devices: [{ name: "gpu-0", attributes: { model: { string: "a" } }, capacity: { memory: { value: "8Gi" } } }],
		},
	}
}

export function pod(name, metadata = {}) {
	return {
		apiVersion: "v1", kind: "Pod", metadata: { name, ...metadata },
		spec: { containers: [{ name: "main", image: "example.com/app:1" }] },
	}
}

export function namespace(name, metadata = {}) {
	return { apiVersion: "v1", kind: "Namespace", metadata: { name, ...metadata } }
}

// Makes a namespace that nothing else uses; resolves to its name.
export async function newNamespace(client) {
	const name = unique("space")
	expect(await client.post(`${core}/namespaces`, namespace(name)), 201)
	return name
}

// Paths of what is in a namespace.
export function paths(ns) {
	return {
		configMaps: `${core}/namespaces/${ns}/configmaps`,
		pods: `${core}/namespaces/${ns}/pods`,
		events: `${core}/namespaces/${ns}/events`,
		claims: `${dra}/namespaces/${ns}/resourceclaims`,
	}
}

// --- judging -------------------------------------------------------------------------------

// Fails unless an answer has this code; returns its body.
export function expect(answer, code) {
	assert.equal(answer.code, code, `${answer.code}: ${answer.text.slice(0, 2000)}`)
	return answer.body
}

// Fails unless an answer is a Status with this code and reason; returns it.
export function expectStatus(answer, code, reason, message) {
	const status = expect(answer, code)
	assert.equal(status.kind, "Status")
	assert.equal(status.apiVersion, "v1")
	assert.equal(status.status, "Failure")
	assert.equal(status.code, code)
	assert.equal(status.reason, reason, status.message)
	if (message)
		assert.match(status.message, message)
	return status
}

// The causes of a Status: "reason field".
export function causes(status) {
	return (status.details?.causes ?? []).map(({ reason, field }) => `${reason} ${field}`)
}

export function rv(object) {
	return BigInt(object.metadata.resourceVersion)
}

// Fails unless the objects' versions only grow.
export function expectAscending(objects) {
	objects.map(rv).forEach((version, i, all) => assert.ok(i === 0 || version > all[i - 1], `${version} after ${all[i - 1]}`))
}
