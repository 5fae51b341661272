// The kubelet's API of the node agent: who may ask, logs, exec, attach and ports of real containers.
import assert from "node:assert/strict"
import { once } from "node:events"
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs"
import WebSocket from "ws"
import { Client, core } from "./api_lib.mjs"
import { containersPossible, image, startContainerd } from "./containerd_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"
import { podOn, startCluster } from "./node_lib.mjs"

const logs = `${scratch}/logs`
const cluster = await startCluster({ names: ["n1", "h1"] })
const { ca, cert, key } = cluster.server.credentials
const caFile = `${scratch}/ca.crt`
writeFileSync(caFile, ca)

// A client of a node's API; the node's certificate is its own.
function clientOf(node, credentials = { cert, key }) {
	const client = new Client(node.api, credentials)
	client.agent.options.rejectUnauthorized = false
	return client
}

await test("a hollow node serves its pods and says that it has no logs", async () => {
	const node = await cluster.node("h1", { flags: ["--client-ca-file", caFile] })
	const client = clientOf(node)
	const { status } = await cluster.readNode("h1")
	assert.equal(status.daemonEndpoints.kubeletEndpoint.Port, Number(new URL(node.api).port))
	const pod = await cluster.run(podOn("h1"))
	await cluster.pod(pod, (p) => p.status.phase === "Running")
	assert.equal((await client.get("/healthz")).text, "ok")
	const { body } = await client.get("/pods")
	assert.equal(body.kind, "PodList")
	assert.deepEqual(body.items.map((p) => p.metadata.name), [pod.metadata.name])
	assert.deepEqual((await client.get("/runningpods/")).body.items.map((p) => p.spec.containers[0].name), ["main"])
	assert.match((await client.get("/metrics")).text, /^# HELP /m)
	const log = await client.get(`/containerLogs/default/${pod.metadata.name}/main`)
	assert.equal(log.code, 501)
	assert.match(log.text, /the node h1 is hollow/)
	await node.stop()
})

await test("callers must be authenticated and authorized", async () => {
	const node = await cluster.node("h1", { flags: ["--client-ca-file", caFile] })
	const ask = async (credentials, path = "/pods", method = "GET") => {
		const { code, text } = await clientOf(node, credentials).request(method, path)
		return `${code} ${text}`.trim()
	}
	assert.equal(await ask({}), "401 Unauthorized")
	assert.equal(await ask({ token: "nobody's" }), "401 Unauthorized")
	const { client } = cluster
	const account = `${core}/namespaces/default/serviceaccounts/default/token`
	const { token } = (await client.post(account, { spec: {} })).body.status
	const user = "system:serviceaccount:default:default"
	assert.equal(await ask({ token }), `403 Forbidden (user=${user}, verb=get, resource=nodes, subresource(s)=[pods proxy])`)
	assert.equal(await ask({ token }, "/containerLogs/a/b/c"), `403 Forbidden (user=${user}, verb=get, resource=nodes, subresource(s)=[proxy])`)
	assert.equal(await ask({ token }, "/exec/a/b/c", "POST"), `403 Forbidden (user=${user}, verb=create, resource=nodes, subresource(s)=[proxy])`)
	const rbac = "/apis/rbac.authorization.k8s.io/v1"
	await client.post(`${rbac}/clusterroles`, { metadata: { name: "metrics" }, rules: [{ apiGroups: [""], resources: ["nodes/metrics"], verbs: ["get"] }] })
	await client.post(`${rbac}/clusterrolebindings`, {
		metadata: { name: "metrics" },
		roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "metrics" },
		subjects: [{ kind: "ServiceAccount", name: "default", namespace: "default" }],
	})
	assert.match(await ask({ token }, "/metrics"), /^200 /)
	assert.equal(await ask({ cert, key }, "/nowhere"), "404 404 page not found")
	assert.equal(await ask({ cert, key }, "/pods", "POST"), "405 Method Not Allowed")
	assert.equal(await ask({ cert, key }, "/containerLogs/default/none/main"), '404 pod "none" does not exist')
	await node.stop()
})

await test("its own certificate stays, and given ones are used", async () => {
	const node = await cluster.node("h1")
	const own = readFileSync(`${node.root}/pki/kubelet.crt`, "utf8")
	await node.stop()
	await node.begin()
	assert.equal(readFileSync(`${node.root}/pki/kubelet.crt`, "utf8"), own)
	await node.stop()
	const files = ["--tls-cert-file", `${node.root}/pki/kubelet.crt`, "--tls-private-key-file", `${node.root}/pki/kubelet.key`]
	const other = await cluster.node("h1", { flags: files })
	const client = new Client(other.api, { ca: own, token: "h1-own" })
	client.agent.options.checkServerIdentity = (name, { subject }) => (subject.CN === "h1" ? undefined : new Error(subject.CN))
	assert.equal((await client.get("/healthz")).code, 403)
	await other.stop()
})

if (!containersPossible()) {
	console.log("# containers: only root can run them")
	finish()
}

let containerd, node, client
await test("containerd runs here", async () => {
	containerd = startContainerd()
	node = await cluster.node("n1", {
		hollow: false,
		flags: ["--container-runtime-endpoint", containerd.socket, "--pod-logs-dir", logs, "--client-ca-file", caFile,
			"--container-log-max-size", "256Ki", "--container-log-monitor-interval", "100ms"],
	})
	client = clientOf(node)
})
if (!client)
	finish()

function pod(script, rest = {}, spec = {}) {
	const main = { name: "main", image, imagePullPolicy: "IfNotPresent", command: ["/bin/sh", "-c", script], ...rest }
	return podOn("n1", { restartPolicy: "Never", ...spec, containers: [main] })
}

const path = (p, query = "") => `/containerLogs/default/${p.metadata.name}/main${query && `?${query}`}`

await test("a log as its reader wants it", async () => {
	const p = await cluster.run(pod("echo one; sleep 1.1; echo two >&2; head -c 20000 /dev/zero | tr '\\0' x; echo; echo end"))
	await cluster.pod(p, (q) => q.status.phase === "Succeeded")
	const long = "x".repeat(20000)
	const read = async (query) => {
		const { code, text, headers } = await client.get(path(p, query))
		assert.equal(code, 200, text)
		assert.equal(headers["content-type"], "text/plain")
		return text
	}
	const sorted = (text) => text.split("\n").sort().join("\n")
	assert.equal(sorted(await read()), sorted(`one\ntwo\n${long}\nend\n`))
	assert.equal(await read("stream=Stderr"), "two\n")
	assert.equal(await read("stream=Stdout"), `one\n${long}\nend\n`)
	assert.equal(await read("tailLines=1"), "end\n")
	assert.equal(await read("tailLines=0"), "")
	assert.equal(await read("limitBytes=5"), (await read()).slice(0, 5))
	assert.match(await read("timestamps=true&limitBytes=40"), /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}(Z|[+-]\d\d:\d\d) one\n/)
	const second = /^(\S+) (two|x+)$/m.exec(await read("timestamps=true"))[1]
	assert.ok(!(await read(`sinceTime=${encodeURIComponent(second)}`)).includes("one"))
	assert.match(await read("sinceSeconds=3600"), /^one\n/)
	assert.equal(await read("follow=true"), await read())
	for (const [query, code] of [["tailLines=-1", 422], ["limitBytes=0", 422], ["sinceSeconds=0", 422], ["tailLines=x", 400], ["sinceTime=x", 400], ["stream=x", 422]])
		assert.equal((await client.get(path(p, query))).code, code, query)
	assert.equal((await client.get(path(p, "previous=true"))).text, `previous terminated container "main" in pod "${p.metadata.name}" not found`)
	assert.equal((await client.get(path(p).replace(/main$/, "other"))).code, 404)
	await cluster.delete(p)
})

await test("a log is followed through a rotation to the container's end", async () => {
	const p = await cluster.run(pod("until [ -e /tmp/go ]; do sleep 0.1; done; seq 1 20000; until [ -e /tmp/end ]; do sleep 0.1; done; echo last"))
	await cluster.pod(p, (q) => q.status.phase === "Running")
	const touch = async (file) => assert.equal((await client.post(`/run/default/${p.metadata.name}/main?cmd=touch%20${file}`)).code, 200)
	const folder = `${logs}/default_${p.metadata.name}_${p.metadata.uid}`
	const { stream } = await client.begin("GET", path(p, "follow=true"))
	let text = ""
	stream.on("data", (piece) => { text += piece })
	const over = once(stream, "end")
	await touch("/tmp/go")
	await until("a rotation", () => readdirSync(`${folder}/main`).some((name) => /^0\.log\.\d{8}-\d{6}$/.test(name)))
	await touch("/tmp/end")
	await over
	assert.equal(text, [...Array(20000).keys()].map((n) => `${n + 1}\n`).join("") + "last\n")
	await cluster.delete(p)
	await cluster.gone(p)
	await until("no logs", () => !existsSync(folder))
})

await test("the log before the restart", async () => {
	const p = await cluster.run(pod("echo run; [ -e /data/x ] && sleep 1000; touch /data/x", { volumeMounts: [{ name: "data", mountPath: "/data" }] },
		{ restartPolicy: "Always", volumes: [{ name: "data", emptyDir: {} }] }))
	const [status] = (await cluster.pod(p, (q) => q.status.containerStatuses?.[0].restartCount === 1 && q.status.phase === "Running" && q.status.containerStatuses[0].state.running)).status.containerStatuses
	assert.ok(status.lastState.terminated)
	assert.equal((await client.get(path(p, "previous=true"))).text, "run\n")
	await until("log", async () => (await client.get(path(p))).text === "run\n")
	await cluster.delete(p)
})

await test("a container that does not start says why it has no log", async () => {
	const p = await cluster.run(pod("true", { image: "devplane.test/none:1", imagePullPolicy: "Never" }))
	await cluster.pod(p, (q) => q.status.containerStatuses?.[0].state.waiting?.reason === "ErrImageNeverPull")
	const { code, text } = await client.get(path(p))
	assert.equal(`${code} ${text}`, `400 container "main" in pod "${p.metadata.name}" is waiting to start: ErrImageNeverPull`)
	await cluster.delete(p)
})

// The output of a container over a WebSocket: a byte for the channel, then its bytes.
async function converse(at, { send = [], until: enough = () => false } = {}) {
	const socket = new WebSocket(node.api.replace("https", "wss") + at, "v4.channel.k8s.io", { cert, key, rejectUnauthorized: false })
	const said = { 1: "", 2: "", 3: "" }
	socket.on("message", (data) => {
		said[data[0]] += data.subarray(1)
		if (enough(said))
			socket.close()
	})
	await once(socket, "open")
	for (const text of send)
		socket.send(Buffer.concat([Buffer.from([0]), Buffer.from(text)]))
	await once(socket, "close")
	return said
}

await test("exec, attach and run", async () => {
	const p = await cluster.run(pod("while read line; do echo heard $line; done", { stdin: true, stdinOnce: false }))
	await cluster.pod(p, (q) => q.status.phase === "Running")
	const at = (what, query) => `/${what}/default/${p.metadata.name}/main?${query}`
	const words = (...all) => all.map((w) => `command=${encodeURIComponent(w)}`).join("&")
	const out = await converse(at("exec", `${words("sh", "-c", "echo out; echo err >&2; exit 3")}&output=1&error=1`))
	assert.equal(out[1], "out\n")
	assert.equal(out[2], "err\n")
	assert.match(out[3], /"exitCode"|"ExitCode","message":"3"/i)
	const cat = await converse(at("exec", `${words("head", "-n", "2")}&input=1&output=1`), { send: ["a\n", "b\n"] })
	assert.equal(cat[1], "a\nb\n")
	const heard = await converse(at("attach", "input=1&output=1"), { send: ["you\n"], until: (s) => s[1].includes("heard you\n") })
	assert.match(heard[1], /heard you\n/)
	assert.equal((await client.post(at("run", "cmd=echo%20hello"))).text, "hello\n")
	const failed = await client.post(at("run", "cmd=false"))
	assert.equal(failed.code, 500)
	assert.match(failed.text, /exit code 1/)
	assert.equal((await client.post(at("exec", `${words("true")}&output=1`))).code, 400)
	assert.match((await client.get(`/exec/default/none/main?${words("true")}&output=1`, { headers: { connection: "upgrade", upgrade: "SPDY/3.1" } })).text, /does not exist/)
	await cluster.delete(p, 0)
})

await test("ports of a pod", async () => {
	const p = await cluster.run(pod("while true; do printf 'HTTP/1.0 200 OK\\r\\n\\r\\nhello' | nc -l -p 8080; done"))
	await cluster.pod(p, (q) => q.status.phase === "Running")
	const answer = await until("answer", async () => {
		const socket = new WebSocket(`${node.api.replace("https", "wss")}/portForward/default/${p.metadata.name}?port=8080`, "v4.channel.k8s.io", { cert, key, rejectUnauthorized: false })
		let text = ""
		socket.on("message", (data) => {
			// Each channel begins with its port.
			if (data[0] === 0 && data.length > 3)
				text += data.subarray(1)
		})
		await once(socket, "open")
		socket.send(Buffer.concat([Buffer.from([0]), Buffer.from("GET / HTTP/1.0\r\n\r\n")]))
		await Promise.race([once(socket, "close"), until("text", () => text.includes("hello"))]).catch(() => {})
		socket.terminate()
		return text.includes("hello") && text
	})
	assert.match(answer, /200 OK/)
	await cluster.delete(p, 0)
})

await test("it stops while somebody reads", async () => {
	const p = await cluster.run(pod("echo here; sleep 1000"))
	await cluster.pod(p, (q) => q.status.phase === "Running")
	const { stream } = await client.begin("GET", path(p, "follow=true"))
	stream.on("error", () => {})
	let text = ""
	stream.on("data", (piece) => { text += piece })
	await until("the line", () => text === "here\n")
	await node.stop()
	await until("the end", () => stream.destroyed || stream.readableEnded)
})

containerd.stop()
await cluster.stop()
finish()
