// services/proxy: bare HTTP, kubectl and a WebSocket through the API server to what listens behind a service. The pods are
// objects alone; their address is the machine's, as none that only the server has is gone to.
import assert from "node:assert/strict"
import { execFile, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import * as http from "node:http"
import * as https from "node:https"
import { networkInterfaces } from "node:os"
import { promisify } from "node:util"
import { WebSocket, WebSocketServer } from "ws" // comes with client-node
import { core, freePort, startServer } from "./api_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"
import { mutating, startHooks, validating, withWebhooks } from "./webhook_lib.mjs"

const address = Object.values(networkInterfaces()).flat()
	.find(({ internal, family, address }) => !internal && family === "IPv4" && !address.startsWith("169.254."))?.address
if (!address) {
	console.log("# proxies: this machine has no address but its own")
	finish()
}

const tokens = `${scratch}/tokens.csv`
writeFileSync(tokens, "reader-token,reader,1\n")
const server = await startServer("lmdb", { flags: ["--token-auth-file", tokens] })
const { client } = server
const ns = `${core}/namespaces/default`
const services = `${ns}/services`
const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"

// --- what is behind ------------------------------------------------------------------------

const asked = []

function answer(name, request, response) {
	const url = new URL(request.url, "http://backend")
	let body = ""
	request.on("data", (data) => (body += data))
	request.on("end", () => {
		asked.push({ name, target: request.url, headers: request.headers })
		if (url.searchParams.has("to"))
			response.writeHead(302, { location: url.searchParams.get("to") })
		else
			response.writeHead(url.pathname === "/teapot" ? 418 : 200, { "content-type": "text/plain", "x-by": name })
		response.end(`${name}: ${request.method} ${request.url} [${body}]`)
	})
}

async function backend(name, library = http, options = {}) {
	const self = library.createServer(options, (request, response) => answer(name, request, response)).listen(0, address)
	const sockets = new WebSocketServer({ server: self })
	sockets.on("connection", (socket, request) => socket.on("message", (data) => socket.send(`${name} ${request.url} heard ${data}`)))
	await once(self, "listening")
	return self
}

const file = `${scratch}/backend`
execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
	"-subj", "/CN=nobody", "-keyout", `${file}.key`, "-out", `${file}.crt`], { stdio: "ignore" })
const plain = await backend("plain")
const second = await backend("second")
const secret = await backend("secret", https, { key: readFileSync(`${file}.key`), cert: readFileSync(`${file}.crt`) })
const port = (listener) => listener.address().port

// --- objects -------------------------------------------------------------------------------

async function made(path, object) {
	const { code, text } = await client.post(path, object)
	assert.equal(code, 201, text)
}

async function slice(service, ports, endpoint = {}) {
	await made(slices, { metadata: { generateName: `${service}-`, labels: { "kubernetes.io/service-name": service } }, addressType: "IPv4", ports,
		endpoints: [{ addresses: [address], targetRef: { kind: "Pod", namespace: "default", name: "pod" }, ...endpoint }] })
}

async function pod(name, ip) {
	await made(`${ns}/pods`, { metadata: { name }, spec: { automountServiceAccountToken: false, containers: [{ name: "main", image: "none" }] } })
	assert.equal((await client.patch(`${ns}/pods/${name}/status`, { status: { podIPs: [{ ip }] } }, "merge")).code, 200)
}

await pod("pod", address)
await made(services, { metadata: { name: "web" }, spec: { ports: [{ name: "http", port: 80 }, { name: "tls", port: 443 }, { name: "gone", port: 81 }] } })
await slice("web", [{ name: "http", port: port(plain) }, { name: "tls", port: port(secret) }, { name: "gone", port: await freePort() }])
await made(services, { metadata: { name: "one" }, spec: { ports: [{ port: 80 }] } })
await slice("one", [{ port: port(plain) }])
await slice("one", [{ port: port(second) }])
await slice("one", [{ port: await freePort() }], { conditions: { ready: false } })

// The error of a rejected request, in short.
async function refusal(path, from = client) {
	const { code, headers, body } = await from.get(path)
	assert.equal(headers["retry-after"], undefined)
	return `${code} ${body.reason ?? ""}: ${body.message}`
}

await test("a request goes on with its method, path, query and body, and the answer comes back", async () => {
	const got = await client.get(`${services}/web:80/proxy/a%20b/c?x=y`)
	assert.deepEqual([got.code, got.text, got.headers["x-by"]], [200, "plain: GET /a%20b/c?x=y []", "plain"])
	const { headers } = asked.at(-1)
	assert.equal(headers["x-forwarded-for"], "127.0.0.1")
	assert.equal(headers["x-forwarded-uri"], `${services}/web:80/proxy/a%20b/c`)
	assert.equal(headers.authorization, undefined)
	for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
		const { code, text } = await client.request(method, `${services}/web:http/proxy/in`, { body: "some text" })
		assert.deepEqual([code, text], [200, `plain: ${method} /in [some text]`])
	}
	assert.equal((await client.request("HEAD", `${services}/web:80/proxy/teapot`)).code, 418)
	assert.equal((await server.client2.get(`${services}/web:80/proxy/`)).text, "plain: GET / []")
})

await test("with https the pod is spoken to by TLS, whoever vouches for it", async () => {
	assert.equal((await client.get(`${services}/https:web:443/proxy/x`)).text, "secret: GET /x []")
	assert.equal((await client.get(`${services}/https:web:tls/proxy/x`)).text, "secret: GET /x []")
})

await test("a port without a name needs none, and each that is ready has its turn", async () => {
	const seen = new Set()
	await until("both", async () => {
		const { code, headers } = await client.get(`${services}/one/proxy/`)
		assert.equal(code, 200)
		seen.add(headers["x-by"])
		return seen.size === 2
	})
	assert.equal((await client.get(`${services}/http:one:80/proxy/`)).code, 200)
})

await test("a proxy without a path is a folder, and redirections lead through it", async () => {
	const location = async (path) => {
		const { code, headers } = await client.get(path)
		return `${code} ${headers.location}`
	}
	const proxy = `${services}/web:80/proxy`
	assert.equal(await location(`${proxy}?a=b`), `301 ${proxy}/?a=b`)
	assert.equal(await location(`${proxy}/?to=/there`), `302 ${proxy}/there`)
	assert.equal(await location(`${proxy}/?to=http://${address}:${port(plain)}/there`), `302 ${proxy}/there`)
	assert.equal(await location(`${proxy}/?to=${server.url}/there`), `302 ${server.url}${proxy}/there`)
	assert.equal(await location(`${proxy}/?to=//else.example/there`), "302 //else.example/there")
})

await test("an unreachable target has upstream's error", async () => {
	const at = (id) => refusal(`${services}/${id}/proxy/x`)
	assert.equal(await at("web:99"), `503 ServiceUnavailable: no service port 99 found for service "web"`)
	assert.equal(await at("web"), `503 ServiceUnavailable: no endpoints available for service "web"`)
	assert.equal(await at("none"), `503 ServiceUnavailable: no endpoints available for service "none"`)
	assert.equal(await at("none:80"), `404 NotFound: services "none" not found`)
	assert.equal(await at("ftp:web:80"), `400 BadRequest: invalid service request "ftp:web:80"`)
	assert.equal(await at("kubernetes:443"), `503 ServiceUnavailable: no endpoints available for service "kubernetes"`)
	assert.match(await at("web:gone"), /^503 ServiceUnavailable: error trying to reach service: .*refused/i)
})

await test("addresses that are no pod's, or only the server's, are not gone to", async () => {
	await pod("sly", "127.0.0.1")
	await slice("sly", [{ port: port(plain) }], { addresses: ["127.0.0.1"], targetRef: { kind: "Pod", namespace: "default", name: "sly" } })
	await slice("wrong", [{ port: port(plain) }], { targetRef: { kind: "Pod", namespace: "default", name: "sly" } })
	await slice("stray", [{ port: port(plain) }], { targetRef: undefined })
	await slice("foreign", [{ port: port(plain) }], { targetRef: { kind: "Pod", namespace: "kube-system", name: "pod" } })
	for (const name of ["sly", "wrong", "stray", "foreign"])
		assert.equal(await refusal(`${services}/${name}/proxy/x`), `503 ServiceUnavailable: no endpoints available for service "${name}"`)
})

await test("a WebSocket goes through", async () => {
	for (const [id, name] of [["web:80", "plain"], ["https:web:443", "secret"]]) {
		const socket = new WebSocket(`${server.url.replace("https", "wss")}${services}/${id}/proxy/socket`, server.credentials)
		await once(socket, "open")
		socket.send("hello")
		const [data] = await once(socket, "message")
		assert.equal(data.toString(), `${name} /socket heard hello`)
		socket.close()
		await once(socket, "close")
	}
})

await test("it takes the right to services/proxy, with the verb of the method, for the name as it is asked", async () => {
	const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
	const rules = [{ apiGroups: [""], resources: ["services/proxy"], resourceNames: ["web:80"], verbs: ["get"] }, { apiGroups: [""], resources: ["services"], verbs: ["*"] }]
	await made(`${rbac}/roles`, { metadata: { name: "reader" }, rules })
	await made(`${rbac}/rolebindings`, { metadata: { name: "reader" },
		roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" }, subjects: [{ kind: "User", name: "reader" }] })
	const reader = server.as({ token: "reader-token" })
	assert.equal((await reader.get(`${services}/web:80/proxy/x`)).code, 200)
	assert.equal((await reader.request("HEAD", `${services}/web:80/proxy/x`)).code, 200)
	const { code, body } = await reader.post(`${services}/web:80/proxy/x`, "text")
	assert.equal(code, 403)
	assert.equal(body.message, `services "web:80" is forbidden: User "reader" cannot create resource "services/proxy" in API group "" in the namespace "default"`)
	assert.equal((await reader.request("OPTIONS", `${services}/web:80/proxy/x`)).code, 403)
	assert.match(await refusal(`${services}/web:http/proxy/x`, reader), /^403 Forbidden: services "web:http" is forbidden/)
	reader.close()
})

await test("webhooks are asked, and may change the path", async () => {
	const hooks = await startHooks()
	const rules = [{ operations: ["CONNECT"], apiGroups: [""], apiVersions: ["v1"], resources: ["services/proxy"] }]
	hooks.answer("/change", () => ({ patch: [{ op: "replace", path: "/path", value: "/other place" }] }))
	hooks.answer("/see", () => ({}))
	await withWebhooks(client, mutating, [hooks.webhook("change.example.com", "/change", { rules })], () =>
		withWebhooks(client, validating, [hooks.webhook("see.example.com", "/see", { rules })], async () =>
			assert.equal((await client.post(`${services}/web:80/proxy/here?a=b`, "text")).text, "plain: POST /other%20place?a=b [text]")))
	const [review] = hooks.asked("/see")
	assert.deepEqual(review.object, { kind: "ServiceProxyOptions", apiVersion: "v1", path: "/other place" })
	assert.deepEqual([review.operation, review.resource.resource, review.subResource, review.namespace, review.name],
		["CONNECT", "services", "proxy", "default", "web:80"])
	hooks.close()
})

await test("discovery names it", async () => {
	const { body } = await client.get(core)
	const { kind, verbs, namespaced } = body.resources.find(({ name }) => name === "services/proxy")
	assert.deepEqual([kind, verbs, namespaced], ["ServiceProxyOptions", ["create", "delete", "get", "patch", "update"], true])
})

const kubectl = async (...args) => (await promisify(execFile)("kubectl", ["--kubeconfig", server.kubeconfig, ...args])).stdout

await test("kubectl get --raw and kubectl proxy", async () => {
	assert.equal(await kubectl("get", "--raw", `${services}/web:80/proxy/page?a=b`), "plain: GET /page?a=b []")
	const child = spawn("kubectl", ["--kubeconfig", server.kubeconfig, "proxy", "--port", "0"])
	let said = ""
	child.stdout.on("data", (data) => (said += data))
	const [, at] = await until("proxy", () => /127\.0\.0\.1:(\d+)/.exec(said))
	const response = await fetch(`http://127.0.0.1:${at}${services}/web:http/proxy/page`)
	assert.equal(await response.text(), "plain: GET /page []")
	child.kill()
	await once(child, "close")
})

await test("kubectl cluster-info tells paths that lead there", async () => {
	const system = `${core}/namespaces/kube-system/services`
	await made(system, { metadata: { name: "metrics", labels: { "kubernetes.io/cluster-service": "true" } }, spec: { ports: [{ name: "http", port: 80 }] } })
	const told = (await kubectl("cluster-info")).replace(/\x1b\[[\d;]*m/g, "")
	const [, path] = /metrics is running at https:\/\/[^/]+(\S+)/.exec(told)
	assert.equal(path, `${system}/metrics:http/proxy`)
	assert.equal(await refusal(path), `503 ServiceUnavailable: no endpoints available for service "metrics"`)
})

for (const listener of [plain, second, secret])
	listener.close()
await server.stop()
finish()
