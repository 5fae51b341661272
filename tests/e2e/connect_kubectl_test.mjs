// The whole way: kubectl and client-node, the API server, the node agent's kubelet API, containerd, a container.
import assert from "node:assert/strict"
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import * as net from "node:net"
import { dirname } from "node:path"
import { PassThrough } from "node:stream"
import * as k8s from "@kubernetes/client-node"
import { containersPossible, image, startContainerd } from "./containerd_lib.mjs"
import { devplane, finish, scratch, test, until } from "./lib.mjs"
import { podOn, startCluster } from "./node_lib.mjs"
import { startHooks, validating, withWebhooks } from "./webhook_lib.mjs"

if (!containersPossible()) {
	console.log("# containers: only root can run them")
	finish()
}

// The one of this Debian speaks SPDY, a current one WebSocket first; the latter may be out of reach.
const kubectls = ["kubectl"]
try {
	kubectls.push(execFileSync("../../scripts/kubectl", [`${dirname(devplane)}/kubectl`], { encoding: "utf8", stdio: "pipe" }).trim())
} catch (e) {
	console.log(`# a current kubectl: it cannot be fetched: ${String(e.stderr).trim()}`)
}

const cluster = await startCluster({ names: ["n1"], flags: ["--kubelet-preferred-address-types", "InternalIP"] })
const caFile = `${scratch}/ca.crt`
writeFileSync(caFile, cluster.server.credentials.ca)
let containerd, pod
await test("a container runs", async () => {
	containerd = startContainerd()
	await cluster.node("n1", { hollow: false, flags: ["--container-runtime-endpoint", containerd.socket, "--pod-logs-dir", `${scratch}/logs`,
		"--client-ca-file", caFile] })
	const script = "echo begun; httpd -f -p 127.0.0.1:8080 -h /tmp & echo page >/tmp/index.html; while read line; do echo heard $line; done"
	pod = await cluster.run(podOn("n1", { restartPolicy: "Never", containers: [
		{ name: "main", image, imagePullPolicy: "IfNotPresent", command: ["/bin/sh", "-c", script], stdin: true, stdinOnce: false }] }))
	await cluster.pod(pod, (p) => p.status.phase === "Running")
})
const name = pod?.metadata.name

// Runs kubectl, or `script` around it, to its end, with `input` and then the end of it.
async function run(program, args, input) {
	const child = spawn(program, program === "script" ? args : ["--kubeconfig", cluster.server.kubeconfig, ...args])
	const self = { out: "", err: "" }
	child.stdout.on("data", (data) => (self.out += data))
	child.stderr.on("data", (data) => (self.err += data))
	child.stdin.on("error", () => {})
	child.stdin.end(input)
	const [code] = await once(child, "close")
	return { code, ...self }
}

const hooks = await startHooks()
hooks.answer("/attach", (review) => ({ allowed: false, status: { message: `attaching to pod '${review.name}' is not allowed` } }))

for (const kubectl of kubectls) {
	const which = kubectl === "kubectl" ? "Debian's kubectl" : "a current kubectl"

	await test(`${which}: logs`, async () => {
		assert.match((await run(kubectl, ["logs", name])).out, /^begun\n/)
	})

	await test(`${which}: exec gives output, errors and exit codes`, async () => {
		const { code, out, err } = await run(kubectl, ["exec", name, "--", "sh", "-c", "echo out; echo err >&2; exit 7"])
		assert.deepEqual([code, out], [7, "out\n"], err)
		assert.match(err, /^err\n/)
		assert.equal((await run(kubectl, ["exec", name, "--", "true"])).code, 0)
	})

	await test(`${which}: exec -i reads to the end`, async () => {
		const { code, out, err } = await run(kubectl, ["exec", "-i", name, "--", "sh", "-c", "wc -c; echo done"], "x".repeat(1000000))
		assert.deepEqual([code, out.trim().replace(/\s+/g, " ")], [0, "1000000 done"], err)
	})

	await test(`${which}: exec -it has a terminal`, async () => {
		const { out, err } = await run("script", ["-qec", `${kubectl} --kubeconfig ${cluster.server.kubeconfig} exec -it ${name} -- tty`, "/dev/null"], "")
		assert.match(out, /\/dev\/pts\/0/, err)
	})

	await test(`${which}: cp goes both ways`, async () => {
		const file = `${scratch}/sent`
		writeFileSync(file, "0123456789".repeat(50000))
		const to = await run(kubectl, ["cp", file, `${name}:/tmp/there`])
		assert.equal(to.code, 0, to.err)
		const from = await run(kubectl, ["cp", `${name}:/tmp/there`, `${scratch}/back`])
		assert.equal(from.code, 0, from.err)
		assert.ok(readFileSync(`${scratch}/back`).equals(readFileSync(file)))
	})

	await test(`${which}: port-forward`, async () => {
		const child = spawn(kubectl, ["--kubeconfig", cluster.server.kubeconfig, "port-forward", name, ":8080"])
		let said = ""
		child.stdout.on("data", (data) => (said += data))
		child.stderr.on("data", (data) => (said += data))
		const [, port] = await until("forwarded port", () => /127\.0\.0\.1:(\d+) ->/.exec(said))
		for (let i = 0; i < 3; i++) {
			const socket = net.connect(Number(port), "127.0.0.1")
			let got = ""
			socket.on("data", (data) => (got += data))
			socket.write("GET /index.html HTTP/1.0\r\n\r\n")
			await once(socket, "close")
			assert.match(got, /page\n$/, said)
		}
		child.kill()
		await once(child, "close")
	})

	await test(`${which}: attach`, async () => {
		const child = spawn(kubectl, ["--kubeconfig", cluster.server.kubeconfig, "attach", "-i", name])
		let out = ""
		child.stdout.on("data", (data) => (out += data))
		child.stdin.write("you\n")
		await until("answer", () => out.includes("heard you\n"))
		child.kill()
		await once(child, "close")
	})

	await test(`${which}: attach tells why a webhook denies it`, async () => {
		const rules = [{ operations: ["CONNECT"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods/attach"] }]
		await withWebhooks(cluster.server.client, validating, [hooks.webhook("attach.example.com", "/attach", { rules })], async () => {
			const { code, err } = await run(kubectl, ["attach", "-i", "-c=main", name], "")
			assert.equal(code, 1)
			assert.match(err, /attaching to pod '\S+' is not allowed/)
		})
	})
}
hooks.close()

const kc = new k8s.KubeConfig()
kc.loadFromFile(cluster.server.kubeconfig)

await test("client-node: exec, and what it was told", async () => {
	const out = new PassThrough(), err = new PassThrough()
	let said = "", complained = ""
	out.on("data", (data) => (said += data))
	err.on("data", (data) => (complained += data))
	const status = await new Promise((resolve, reject) =>
		new k8s.Exec(kc).exec("default", name, "main", ["sh", "-c", "echo out; echo err >&2; exit 3"], out, err, null, false, resolve).catch(reject))
	assert.equal(said, "out\n")
	assert.equal(complained, "err\n")
	assert.equal(status.details.causes.find(({ reason }) => reason === "ExitCode").message, "3")
})

await test("client-node: attach and log", async () => {
	const out = new PassThrough(), input = new PassThrough()
	let said = "", logged = ""
	out.on("data", (data) => (said += data))
	const socket = await new k8s.Attach(kc).attach("default", name, "main", out, null, input, false)
	input.write("node\n")
	await until("answer", () => said.includes("heard node\n"))
	socket.close()
	const lines = new PassThrough()
	lines.on("data", (data) => (logged += data))
	const abort = await new k8s.Log(kc).log("default", name, "main", lines, { follow: true })
	await until("log", () => logged.includes("heard node\n"))
	abort.abort()
})

await test("client-node: port-forward", async () => {
	const out = new PassThrough(), err = new PassThrough(), input = new PassThrough()
	let got = ""
	out.on("data", (data) => (got += data))
	const socket = await new k8s.PortForward(kc).portForward("default", name, [8080], out, err, input)
	input.write("GET /index.html HTTP/1.0\r\n\r\n")
	await until("page", () => got.includes("page\n"))
	socket.close()
})

await test("kubectl: a page of the node's own", async () => {
	assert.equal((await run("kubectl", ["get", "--raw", "/api/v1/nodes/n1/proxy/healthz"])).out.trim(), "ok")
})

await test("kubectl: logs -f ends with the container", async () => {
	const child = spawn("kubectl", ["--kubeconfig", cluster.server.kubeconfig, "logs", "-f", name])
	let said = ""
	child.stdout.on("data", (data) => (said += data))
	child.stderr.on("data", (data) => (said += data))
	const closed = once(child, "close")
	await until("log", () => said.startsWith("begun\n"))
	await cluster.delete(pod, 0)
	assert.deepEqual(await closed, [0, null], said)
})

containerd?.stop()
await cluster.stop()
finish()
