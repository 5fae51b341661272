// Endpoints that proxy to a node: pods/log, exec, attach, portforward and nodes/proxy at the API server, by client-node, kubectl
// and bare HTTP. The kubelet is a stand-in; connect_kubelet.mjs says why.
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import * as https from "node:https"
import { PassThrough } from "node:stream"
import { promisify } from "node:util"
import * as k8s from "@kubernetes/client-node"
import { core, freePort, startServer } from "./api_lib.mjs"
import { startKubelet } from "./connect_kubelet.mjs"
import { assertGrowth, finish, peakMemory, scratch, test, until } from "./lib.mjs"
import { mutating, startHooks, validating, withWebhooks } from "./webhook_lib.mjs"

const tokens = `${scratch}/tokens.csv`
writeFileSync(tokens, "reader-token,reader,1\n")
const server = await startServer("lmdb", { flags: ["--token-auth-file", tokens, "--shutdown-grace", "1s"] })
const { client } = server
const kubelet = await startKubelet(readFileSync(`${server.folder}/pki/ca.crt`))
const kc = new k8s.KubeConfig()
kc.loadFromFile(server.kubeconfig)
const pods = `${core}/namespaces/default/pods`

async function made(answer) {
	const { code, text } = await answer
	assert.equal(code, 201, text)
}

async function node(name, addresses, port) {
	await made(client.post(`${core}/nodes`, { metadata: { name } }))
	const status = { addresses, daemonEndpoints: { kubeletEndpoint: { Port: port } } }
	assert.equal((await client.patch(`${core}/nodes/${name}/status`, { status }, "merge")).code, 200)
}

// `on`: the node, "" for none.
async function pod(name, { on = "node-1", containers = ["main"] } = {}) {
	await made(client.post(pods, { metadata: { name }, spec: {
		nodeName: on || undefined, automountServiceAccountToken: false, containers: containers.map((name) => ({ name, image: "none" })) } }))
}

// The error of a rejected request, in short.
async function refusal(path, options) {
	const { code, body } = await client.get(path, options)
	return `${code} ${body.reason ?? ""}: ${body.message}`
}

await node("node-1", [{ type: "InternalIP", address: "127.0.0.1" }], kubelet.port)
await node("gone", [{ type: "InternalIP", address: "127.0.0.1" }], await freePort())
await node("unplaced", [], 1)
for (const name of ["web", "waiting", "broken", "unknown", "busy", "flood", "refused", "deaf"])
	await pod(name)
await pod("two", { containers: ["first", "second"] })
await pod("pending", { on: "" })
await pod("lost", { on: "gone" })
await pod("adrift", { on: "unplaced" })
await pod("orphan", { on: "nobody" })

await test("a log is the kubelet's, asked for with the server's certificate", async () => {
	const { code, text, headers } = await client.get(`${pods}/web/log?tailLines=5&timestamps=true&sinceTime=2024-01-02T03:04:05%2B01:00`)
	assert.equal(code, 200)
	assert.equal(text, "log of web: ?sinceTime=2024-01-02T02%3A04%3A05Z&tailLines=5&timestamps=true\n")
	assert.equal(headers["content-type"], "text/plain")
	assert.equal(headers["x-kubelet"], undefined)
	const { user, group, target, headers: sent } = kubelet.asked.at(-1)
	assert.deepEqual({ user, group }, { user: "kube-apiserver-kubelet-client", group: undefined })
	assert.match(target, /^\/containerLogs\/default\/web\/main\?/)
	assert.equal(sent.authorization, undefined)
})

await test("kubectl logs prints it", async () => {
	const { stdout } = await promisify(execFile)("kubectl", ["--kubeconfig", server.kubeconfig, "logs", "two", "-c", "second", "--since=5m"])
	assert.equal(stdout, "log of two: ?sinceSeconds=300\n")
})

await test("a follower gets each line when it is written", async () => {
	const out = new PassThrough()
	let got = ""
	out.on("data", (data) => (got += data))
	const abort = await new k8s.Log(kc).log("default", "web", "main", out, { follow: true })
	const response = await until("follower at the kubelet", () => kubelet.followed)
	for (const line of ["one\n", "two\n"]) {
		response.write(line)
		await until("line", () => got.endsWith(line))
	}
	assert.equal(got, "one\ntwo\n")
	abort.abort()
	await once(response, "close")
})

await test("a follower that does not read costs its window", async () => {
	const before = peakMemory(server.process.pid)
	const request = https.request(new URL(`${pods}/flood/log?follow=true`, server.url), { ...server.credentials, agent: false }).end()
	const [response] = await once(request, "response")
	let still = 0, last = 0, got = 0
	await until("held up kubelet", () => {
		still = kubelet.written === last ? still + 1 : 0
		last = kubelet.written
		return last > 0 && still > 50
	})
	assert.ok(last < 32 * 1024 * 1024, `${last} bytes went to somebody who reads none`)
	for await (const data of response) {
		got += data.length
		if (got > 64 * 1024 * 1024)
			break
	}
	assertGrowth(server.process.pid, before, 24)
	request.destroy()
})

await test("errors of a log request are upstream's", async () => {
	const at = (name, query = "") => refusal(`${pods}/${name}/log${query}`)
	assert.equal(await at("two"), "400 BadRequest: a container name must be specified for pod two, choose one of: [first second]")
	assert.equal(await at("two", "?container=third"), "400 BadRequest: container third is not valid for pod two")
	assert.equal(await at("waiting"), `400 BadRequest: container "main" in pod "waiting" is waiting to start: ContainerCreating`)
	assert.equal(await at("broken"), "500 InternalError: Internal error occurred: the disk is gone")
	assert.equal(await at("unknown"), "404 NotFound: the server could not find the requested resource ( pods/log unknown)")
	assert.equal(await at("busy"), "503 ServiceUnavailable: the server is currently unable to handle the request ( pods/log busy)")
	assert.equal(await at("none"), `404 NotFound: pods "none" not found`)
	assert.equal(await at("orphan"), `404 NotFound: nodes "nobody" not found`)
	assert.equal(await at("adrift"), "500 : no preferred addresses found; known addresses: []")
	assert.match(await at("lost"), /^500 : Get "https:\/\/127.0.0.1:\d+\/containerLogs\/default\/lost\/main": .*refused/i)
	assert.equal(await at("web", "?tailLines=x"), `400 BadRequest: strconv.ParseInt: parsing "x": invalid syntax`)
	assert.match(await at("web", "?tailLines=-1&limitBytes=0&sinceSeconds=1&sinceTime=2024-01-02T03:04:05Z"),
		/^422 Invalid: PodLogOptions "web" is invalid: \[tailLines: Invalid value: -1: must be greater than or equal to 0, limitBytes: Invalid value: 0: must be greater than 0, .*at most one of `sinceTime` or `sinceSeconds` may be specified\]$/)
	const { code, text } = await client.get(`${pods}/pending/log`)
	assert.deepEqual([code, text], [204, ""])
})

await test("client-node runs a command", async () => {
	const input = new PassThrough()
	input.write("hello\n")
	const out = new PassThrough(), err = new PassThrough()
	let said = "", complained = ""
	out.on("data", (data) => (said += data))
	err.on("data", (data) => (complained += data))
	const status = await new Promise((resolve, reject) =>
		new k8s.Exec(kc).exec("default", "web", "main", ["sh", "-c", "a b&c"], out, err, input, false, resolve).catch(reject))
	assert.equal(said, "ran sh|-c|a b&c in /exec/default/web/main\nheard hello\n")
	assert.equal(complained, "and complained\n")
	assert.equal(status.details.causes[0].message, "3")
	const { target, headers } = kubelet.asked.at(-1)
	assert.equal(target, "/exec/default/web/main?command=sh&command=-c&command=a+b%26c&error=1&input=1&output=1")
	assert.equal(headers["x-forwarded-for"], "127.0.0.1")
})

await test("client-node forwards a port", async () => {
	const out = new PassThrough(), input = new PassThrough()
	const err = new PassThrough()
	const socket = await new k8s.PortForward(kc).portForward("default", "web", [8080], out, err, input)
	input.write("ping")
	const [data] = await once(out, "data")
	assert.equal(data.toString(), "PING")
	assert.equal(kubelet.asked.at(-1).target, "/portForward/default/web?port=8080")
	socket.close()
})

// An upgrade by hand: { code, socket, head, headers, text }.
async function upgrade(path, { method = "POST", protocol = "SPDY/3.1", headers = {}, credentials = server.credentials } = {}) {
	const request = https.request(new URL(path, server.url), { ...credentials, method, agent: false,
		headers: { connection: "Upgrade", upgrade: protocol, ...headers } }).end()
	return new Promise((resolve, reject) => {
		request.on("error", reject)
		request.on("upgrade", (response, socket, head) => resolve({ code: 101, socket, head, headers: response.headers }))
		request.on("response", async (response) => {
			let text = ""
			for await (const data of response)
				text += data
			resolve({ code: response.statusCode, headers: response.headers, text })
		})
	})
}

await test("an upgraded connection is a tunnel, and its end is handed on", async () => {
	const { code, socket, head, headers } = await upgrade(`${pods}/web/attach?stdin=true&stdout=true`)
	assert.equal(code, 101)
	assert.equal(headers.upgrade, "SPDY/3.1")
	assert.equal(headers["x-stream-protocol-version"], "v4.channel.k8s.io")
	const sent = Buffer.alloc(3 * 1024 * 1024, "0123456789abc")
	const chunks = [head]
	socket.on("data", (data) => chunks.push(data))
	socket.end(sent)
	await once(socket, "end")
	assert.ok(Buffer.concat(chunks).equals(sent))
	assert.equal(kubelet.asked.at(-1).target, "/attach/default/web/main?input=1&output=1")
})

await test("a client that disconnects ends the stream at the kubelet, too", async () => {
	const { socket } = await upgrade(`${pods}/web/portforward`)
	socket.write("x")
	await once(socket, "data")
	socket.destroy()
})

await test("a refused upgrade comes back as it is", async () => {
	const { code, text, headers } = await upgrade(`${pods}/refused/exec?command=a`)
	assert.deepEqual([code, text, headers["x-why"]], [403, "not so", "because"])
	const deaf = await upgrade(`${pods}/deaf/exec?command=a`)
	assert.equal(deaf.code, 500)
	assert.equal(JSON.parse(deaf.text).message, "invalid upgrade response: status code 200")
})

await test("an unreachable target, or a reply without an upgrade, is reported", async () => {
	const { code, text } = await upgrade(`${pods}/lost/exec?command=a`)
	assert.equal(code, 500)
	assert.match(JSON.parse(text).message, /^error dialing backend: .*refused/i)
	assert.equal(JSON.parse((await upgrade(`${pods}/pending/exec?command=a`)).text).message, "pod pending does not have a host assigned")
	assert.equal(await refusal(`${pods}/web/exec?command=a`), "400 BadRequest: Upgrade request required")
	const { code: code2, body } = await server.client2.post(`${pods}/web/exec?command=a`)
	assert.deepEqual([code2, body.message], [400, "Upgrade request required"])
	assert.equal((await client.put(`${pods}/web/exec`, {})).code, 405)
})

await test("running a command takes the right to create, whatever the method", async () => {
	const rules = [{ apiGroups: [""], resources: ["pods/exec", "pods/log"], verbs: ["get"] }]
	await made(client.post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", { metadata: { name: "reader" }, rules }))
	await made(client.post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", { metadata: { name: "reader" },
		roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" }, subjects: [{ kind: "User", name: "reader" }] }))
	const headers = { authorization: "Bearer reader-token" }, credentials = { ca: server.credentials.ca }
	const { code, text } = await upgrade(`${pods}/web/exec?command=a`, { method: "GET", headers, credentials })
	assert.equal(code, 403)
	assert.match(JSON.parse(text).message, /^pods "web" is forbidden: User "reader" cannot create resource "pods\/exec"/)
	assert.equal((await server.as({ token: "reader-token" }).get(`${pods}/web/log`)).code, 200)
})

await test("reading a node's pages is no right to run commands there", async () => {
	const rbac = "/apis/rbac.authorization.k8s.io/v1", user = { kind: "User", name: "reader" }
	await made(client.post(`${rbac}/clusterroles`, { metadata: { name: "pages" }, rules: [{ apiGroups: [""], resources: ["nodes/proxy"], verbs: ["get"] }] }))
	await made(client.post(`${rbac}/clusterrolebindings`, { metadata: { name: "pages" }, subjects: [user],
		roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "pages" } }))
	const before = kubelet.asked.length
	for (const path of ["exec/default/web/main?command=id", "attach/default/web/main", "portForward/default/web", "%65xec/default/web/main?command=id"]) {
		const { code, text } = await upgrade(`${core}/nodes/node-1/proxy/${path}`,
			{ method: "GET", headers: { authorization: "Bearer reader-token" }, credentials: { ca: server.credentials.ca } })
		assert.equal(code, 403, path)
		assert.match(JSON.parse(text).message, /^nodes "node-1" is forbidden: User "reader" cannot create resource "nodes\/proxy"/)
	}
	assert.equal(kubelet.asked.length, before)
	assert.notEqual((await server.as({ token: "reader-token" }).get(`${core}/nodes/node-1/proxy/healthz`)).code, 403)
})

const hooks = await startHooks()
const connecting = (...resources) => ({ rules: [{ operations: ["CONNECT"], apiGroups: [""], apiVersions: ["v1"], resources }] })

await test("a webhook that denies attaching is obeyed: kubectl says why, and no kubelet is asked", async () => {
	hooks.answer("/attach", ({ name }) => ({ allowed: false, status: { message: `attaching to pod '${name}' is not allowed` } }))
	await withWebhooks(client, validating, [hooks.webhook("attach.example.com", "/attach", connecting("pods/attach"))], async () => {
		const before = kubelet.asked.length
		const attach = promisify(execFile)("kubectl", ["--kubeconfig", server.kubeconfig, "attach", "web", "-i", "-c=main"])
		await assert.rejects(attach, ({ stderr }) => /admission webhook "attach.example.com" denied the request: attaching to pod 'web' is not allowed/.test(stderr))
		const { code, text } = await upgrade(`${pods}/web/attach?stdin=true`, { method: "GET" })
		assert.equal(code, 400)
		assert.match(JSON.parse(text).message, /is not allowed$/)
		assert.equal(kubelet.asked.length, before)
		assert.equal((await upgrade(`${pods}/refused/exec?command=a`)).text, "not so")
	})
	const { code, socket } = await upgrade(`${pods}/web/attach`)
	assert.equal(code, 101)
	socket.destroy()
})

await test("a review has the options as its object", async () => {
	hooks.answer("/see", () => ({ warnings: ["you are seen"] }))
	await withWebhooks(client, validating, [hooks.webhook("see.example.com", "/see", connecting("*/*"))], async () => {
		const { socket, headers } = await upgrade(`${pods}/web/exec?command=ls&command=-l&stdin=1&stdout=false&container=main`)
		socket.destroy()
		assert.equal(headers.warning, '299 - "you are seen"')
		assert.equal(await refusal(`${core}/nodes/node-1/proxy/a%20b?c=d`), "400 BadRequest: address not allowed")
		await upgrade(`${pods}/none/portforward?ports=80`)
		assert.equal((await client.get(`${pods}/web/log`)).code, 200)
	})
	const [exec, proxy, forward, ...others] = hooks.asked("/see")
	assert.deepEqual(others, [])
	assert.deepEqual(exec.object, { kind: "PodExecOptions", apiVersion: "v1", stdin: true, container: "main", command: ["ls", "-l"] })
	assert.deepEqual(exec.kind, { group: "", version: "v1", kind: "PodExecOptions" })
	assert.deepEqual(exec.resource, { group: "", version: "v1", resource: "pods" })
	assert.deepEqual([exec.operation, exec.subResource, exec.namespace, exec.name, exec.oldObject, exec.options, exec.dryRun],
		["CONNECT", "exec", "default", "web", null, null, false])
	assert.deepEqual(proxy.object, { kind: "NodeProxyOptions", apiVersion: "v1", path: "/a b" })
	assert.deepEqual([proxy.resource.resource, proxy.subResource, proxy.namespace, proxy.name], ["nodes", "proxy", undefined, "node-1"])
	assert.deepEqual(forward.object, { kind: "PodPortForwardOptions", apiVersion: "v1", ports: [80] })
})

await test("a mutating webhook changes what is asked for, and those after it see that", async () => {
	const patch = [{ op: "replace", path: "/command", value: ["echo", "a&b"] }, { op: "remove", path: "/stdin" }, { op: "add", path: "/nonsense", value: 1 }]
	hooks.answer("/change", () => ({ patch }))
	hooks.answer("/changed", ({ object }) => ({ allowed: object.command[0] === "echo" && object.nonsense === undefined }))
	hooks.answer("/spoil", () => ({ patch: [{ op: "add", path: "/command", value: "echo" }] }))
	await withWebhooks(client, validating, [hooks.webhook("changed.example.com", "/changed", connecting("pods/exec"))], async () => {
		await withWebhooks(client, mutating, [hooks.webhook("change.example.com", "/change", connecting("pods/exec"))], async () => {
			const { code, socket } = await upgrade(`${pods}/web/exec?command=sh&stdin=true&stdout=true`)
			assert.equal(code, 101)
			socket.destroy()
			assert.equal(kubelet.asked.at(-1).target, "/exec/default/web/main?command=echo&command=a%26b&output=1")
		})
		assert.equal((await upgrade(`${pods}/web/exec?command=sh`)).code, 400)
	})
	await withWebhooks(client, mutating, [hooks.webhook("spoil.example.com", "/spoil", connecting("pods/exec"))], async () => {
		const { code, text } = await upgrade(`${pods}/web/exec?command=sh`)
		assert.equal(code, 500)
		assert.match(JSON.parse(text).message, /the patch of admission webhook "spoil.example.com" does not apply: PodExecOptions.command is of another type$/)
	})
})

await test("a webhook that cannot be reached refuses a connection, unless failures are ignored", async () => {
	const webhook = hooks.webhook("away.example.com", "/away", { ...connecting("pods/exec"), clientConfig: { url: `https://127.0.0.1:${await freePort()}/away` } })
	await withWebhooks(client, validating, [webhook], async () => {
		const { code, text } = await upgrade(`${pods}/refused/exec?command=a`)
		assert.equal(code, 500)
		assert.match(JSON.parse(text).message, /failed calling webhook "away.example.com"/)
	})
	await withWebhooks(client, validating, [{ ...webhook, failurePolicy: "Ignore" }], async () =>
		assert.equal((await upgrade(`${pods}/refused/exec?command=a`)).text, "not so"))
})

await test("proxies to addresses of the server's own machine are refused", async () => {
	assert.equal(await refusal(`${core}/nodes/node-1/proxy/healthz`), "400 BadRequest: address not allowed")
	assert.equal(await refusal(`${core}/nodes/ftp:node-1:21/proxy/`), `400 BadRequest: invalid node request "ftp:node-1:21"`)
	assert.equal(await refusal(`${pods}/web/proxy/`), "400 BadRequest: address not allowed")
})

await test("discovery names them", async () => {
	const { body } = await client.get(core)
	const found = body.resources.filter(({ name }) => /\/(log|exec|attach|portforward|proxy)$/.test(name))
		.map(({ name, kind, verbs }) => `${name} ${kind} ${verbs}`)
	for (const line of ["pods/attach PodAttachOptions create,get", "pods/exec PodExecOptions create,get", "pods/log Pod get",
		"pods/portforward PodPortForwardOptions create,get", "pods/proxy PodProxyOptions create,delete,get,patch,update",
		"nodes/proxy NodeProxyOptions create,delete,get,patch,update"])
		assert.ok(found.includes(line), `${line} is not in ${found}`)
})

await test("a kubelet's certificate is checked where there is a CA for it", async () => {
	const strict = await startServer("lmdb", { folder: server.folder + "-strict", flags: ["--kubelet-certificate-authority", `${server.folder}/pki/ca.crt`] })
	await made(strict.client.post(`${core}/nodes`, { metadata: { name: "node-1" } }))
	const status = { addresses: [{ type: "InternalIP", address: "127.0.0.1" }], daemonEndpoints: { kubeletEndpoint: { Port: kubelet.port } } }
	await strict.client.patch(`${core}/nodes/node-1/status`, { status }, "merge")
	await made(strict.client.post(pods, { metadata: { name: "web" }, spec: { nodeName: "node-1", automountServiceAccountToken: false,
		containers: [{ name: "main", image: "none" }] } }))
	const { code, body } = await strict.client.get(`${pods}/web/log`)
	assert.equal(code, 500)
	assert.match(body.message, /certificate/)
	await strict.stop()
})

await test("the server leaves in order with a tunnel open", async () => {
	const { socket } = await upgrade(`${pods}/web/attach`)
	socket.on("error", () => {})
	server.client.close()
	server.client2.close()
	server.process.child.kill("SIGTERM")
	await until("the server to leave", async () => {
		socket.write("still here?")
		return server.process.child.exitCode !== null
	}, 40)
	assert.equal((await server.process.ended).code, 0)
})

hooks.close()
kubelet.close()
finish()
