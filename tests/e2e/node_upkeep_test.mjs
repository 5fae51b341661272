// Upkeep of a machine: eviction by pressure, removal of images, and the machine's logs. Memory is that of a folder in the
// place of /proc; images and disks are those of a containerd, where containers can run.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs"
import { Client, core } from "./api_lib.mjs"
import { containersPossible, image, startContainerd } from "./containerd_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"
import { podOn, startCluster } from "./node_lib.mjs"

const cluster = await startCluster({ names: ["n1", "c1"] })
const { ca, cert, key } = cluster.server.credentials
writeFileSync(`${scratch}/ca.crt`, ca)
const proc = `${scratch}/proc`, logs = `${scratch}/log`
mkdirSync(proc)
mkdirSync(`${logs}/sub`, { recursive: true })

const MIB = 1024
function setMemory(availableMib) {
	writeFileSync(`${proc}/next`, `MemTotal:       ${8192 * MIB} kB\nMemFree: 1 kB\nMemAvailable:   ${availableMib * MIB} kB\nSwapTotal: 0 kB\n`)
	renameSync(`${proc}/next`, `${proc}/meminfo`)
}

const condition = (node, type) => node.status.conditions.find((c) => c.type === type)
const pressed = (type, status) => (node) => condition(node, type).status === status
const running = (p) => p.status.phase === "Running"

setMemory(4096)
const node = await cluster.node("n1", { flags: ["--procfs-root", proc, "--client-ca-file", `${scratch}/ca.crt`,
	"--eviction-hard", "memory.available<500Mi", "--eviction-pressure-transition-period", "5s", "--log-dir", logs] })

await test("wrong flags are usage errors", async () => {
	for (const flags of [["--eviction-hard", "memory.available<-1"], ["--eviction-soft", "memory.available<1Gi"], ["--eviction-hard", "nothing<1Gi"],
		["--image-gc-high-threshold", "50", "--image-gc-low-threshold", "60"]]) {
		assert.throws(() => execFileSync(process.env.DEVPLANE, ["node", "--runtime", "hollow", ...flags], { stdio: "pipe", timeout: 10000 }),
			(e) => e.status !== 0 && /eviction|threshold/.test(String(e.stderr)))
	}
})

await test("short memory evicts the pod of the least priority, and no others", async () => {
	const client = cluster.client
	for (const [name, value] of [["low", -10], ["high", 10]]) {
		const { code, text } = await client.post("/apis/scheduling.k8s.io/v1/priorityclasses", { metadata: { name }, value })
		assert.equal(code, 201, text)
	}
	const low = await cluster.run(podOn("n1", { priorityClassName: "low", terminationGracePeriodSeconds: 30 }))
	const high = await cluster.run(podOn("n1", { priorityClassName: "high" }))
	await cluster.pod(low, running)
	await cluster.pod(high, running)
	setMemory(400)
	const over = await cluster.pod(low, (p) => p.status.phase === "Failed")
	setMemory(4096)
	assert.equal(over.status.reason, "Evicted")
	assert.equal(over.status.message, "The node was low on resource: memory. Threshold quantity: 500Mi, available: 400Mi. ")
	const target = over.status.conditions.find((c) => c.type === "DisruptionTarget")
	assert.equal(target.status, "True")
	assert.equal(target.reason, "TerminationByKubelet")
	assert.equal(target.message, over.status.message)
	await cluster.event(low.metadata.name, "Evicted", /low on resource: memory/)
	await cluster.event("n1", "EvictionThresholdMet", /Attempting to reclaim memory/)
	assert.match(await node.metrics(), /kubelet_evictions\{eviction_signal="memory.available"\} 1\n/)
	assert.ok(running(await cluster.pod(high)))
	await cluster.delete(high)
	await cluster.gone(high)
	await cluster.delete(low)
	await cluster.gone(low)
})

await test("the condition shows pressure, and rejects pods without requests while it lasts", async () => {
	const system = await cluster.client.post(`${core}/namespaces/kube-system/pods`, podOn("n1", { name: "critical", priorityClassName: "system-node-critical" }))
	assert.equal(system.code, 201, system.text)
	await until("critical pod", async () => (await cluster.client.get(`${core}/namespaces/kube-system/pods/critical`)).body.status.phase === "Running", 60)
	setMemory(100)
	const n = await cluster.readNodeWhen("n1", pressed("MemoryPressure", "True"))
	assert.equal(condition(n, "MemoryPressure").reason, "KubeletHasInsufficientMemory")
	const refused = await cluster.pod(await cluster.run(podOn("n1")), (p) => p.status.phase === "Failed")
	assert.equal(refused.status.reason, "Evicted")
	assert.match(refused.status.message, /The node had condition: \[MemoryPressure\]/)
	// The critical pod stays, though it is the only one.
	await until("report", () => /no pod can be evicted/.test(node.process.err), 60)
	const { body } = await cluster.client.get(`${core}/namespaces/kube-system/pods/critical`)
	assert.equal(body.status.phase, "Running")
	setMemory(4096)
	await cluster.readNodeWhen("n1", pressed("MemoryPressure", "False"))
	await cluster.pod(await cluster.run(podOn("n1")), running)
})

// --- logs ------------------------------------------------------------------------------------

function clientOf(of, credentials = { cert, key }) {
	const client = new Client(of.api, credentials)
	client.agent.options.rejectUnauthorized = false
	return client
}

await test("the machine's logs are a list and files, and nothing outside", async () => {
	writeFileSync(`${logs}/syslog`, "line 1\nline 2\n")
	writeFileSync(`${logs}/empty`, "")
	writeFileSync(`${logs}/large`, Buffer.alloc(20 << 20, "0123456789abcde\n"))
	writeFileSync(`${logs}/sub/b <&> c.log`, "inner")
	writeFileSync(`${scratch}/secret`, "secret")
	symlinkSync("../secret", `${logs}/out`)
	symlinkSync("/etc/passwd", `${logs}/absolute`)
	execFileSync("mkfifo", [`${logs}/pipe`])
	const client = clientOf(node)
	const list = await client.get("/logs/")
	assert.equal(list.code, 200)
	assert.match(list.text, /<a href=".\/sub\/">sub\/<\/a>\n<a href=".\/syslog">syslog<\/a>/)
	assert.match((await client.get("/logs/sub/")).text, /<a href=".\/b%20%3C%26%3E%20c.log">b &lt;&amp;&gt; c.log<\/a>/)
	assert.equal((await client.get("/logs/sub")).code, 301)
	assert.equal((await client.get("/logs/syslog")).text, "line 1\nline 2\n")
	assert.equal((await client.get("/logs/empty")).text, "")
	assert.equal((await client.get("/logs/sub/b%20%3C%26%3E%20c.log")).text, "inner")
	assert.equal((await client.get("/logs/large")).text.length, 20 << 20)
	for (const path of ["out", "absolute", "../secret", "%2e%2e/secret", "sub/..%2f..%2fsecret", "none", "syslog%00", "/etc/passwd"])
		assert.equal((await client.get(`/logs/${path}`)).code, 404, path)
	assert.equal((await client.get("/logs/pipe")).code, 403)
	assert.equal((await client.post("/logs/syslog", {})).code, 405)
	client.close()
})

await test("logs need the right to nodes/log", async () => {
	const { client } = cluster
	const { token } = (await client.post(`${core}/namespaces/default/serviceaccounts/default/token`, { spec: {} })).body.status
	const own = clientOf(node, { token })
	const denied = await own.get("/logs/syslog")
	assert.equal(denied.code, 403)
	assert.match(denied.text, /resource=nodes, subresource\(s\)=\[log\]/)
	own.close()
})

await test("a hollow node without --log-dir serves none, nor one with the handler off", async () => {
	for (const flags of [["--client-ca-file", `${scratch}/ca.crt`], ["--client-ca-file", `${scratch}/ca.crt`, "--log-dir", logs, "--enable-system-log-handler=false"]]) {
		const other = await cluster.node("c1", { flags })
		const client = clientOf(other)
		assert.equal((await client.get("/logs/")).code, 405)
		client.close()
		await other.stop()
	}
})

await node.stop()

// --- containerd ------------------------------------------------------------------------------

if (!containersPossible()) {
	console.log("ok - images and disks of a containerd # SKIP only root can run containers")
	await cluster.stop()
	finish()
}

let containerd, real

await test("containerd runs here", async () => {
	containerd = startContainerd()
	containerd.image("devplane.test/unused:1", { user: "4321", entrypoint: ["/bin/id"] })
	const podLogs = `${scratch}/pods`
	// The disk counts as full at once, and images are old at once.
	real = await cluster.node("c1", { hollow: false, flags: ["--container-runtime-endpoint", containerd.socket, "--pod-logs-dir", podLogs, "--eviction-hard", "none",
		"--image-gc-high-threshold", "1", "--image-gc-low-threshold", "0", "--minimum-image-ttl-duration", "0s"] })
})

if (real) {
	const images = () => containerd.ctr("images", "ls", "-q")

	await test("an unused image goes, one in use and that of sandboxes stay", async () => {
		const p = await cluster.run(podOn("c1", { containers: [{ name: "main", image, imagePullPolicy: "Never", command: ["/bin/sleep", "1000"] }] }))
		await cluster.pod(p, running)
		await real.kill()
		await real.begin()
		await until("removal", () => !images().includes("devplane.test/unused:1"), 60)
		assert.ok(images().includes(image))
		await cluster.event("c1", "FreeDiskSpaceFailed", /Insufficient free disk space/)
		assert.match(await real.metrics(), /kubelet_image_garbage_collected_total\{reason="space"\} \d/)
		// Sandboxes can still be made.
		const q = await cluster.run(podOn("c1", { containers: [{ name: "main", image, imagePullPolicy: "Never", command: ["/bin/sleep", "1000"] }] }))
		await cluster.pod(q, running)
		for (const pod of [p, q]) {
			await cluster.delete(pod, 0)
			await cluster.gone(pod)
		}
		await real.stop()
	})

	await test("a full disk evicts the pod that fills it", async () => {
		// Nearly all of the disk must be free: that is never so.
		const full = await cluster.node("c1", { hollow: false, flags: ["--container-runtime-endpoint", containerd.socket, "--pod-logs-dir", `${scratch}/pods`,
			"--eviction-hard", "nodefs.available<99.99%", "--image-gc-high-threshold", "100"], wait: false })
		await cluster.readNodeWhen("c1", pressed("DiskPressure", "True"))
		const refused = await cluster.pod(await cluster.run(podOn("c1")), (p) => p.status.phase === "Failed")
		assert.match(refused.status.message, /The node had condition: \[DiskPressure\]/)
		await full.stop()
	})

	await test("of two pods, the one with the larger files is evicted", async () => {
		const sh = (name, script) => podOn("c1", { name, containers: [{ name: "main", image, imagePullPolicy: "Never", command: ["/bin/sh", "-c", script] }] })
		const calm = await cluster.node("c1", { hollow: false, flags: ["--container-runtime-endpoint", containerd.socket, "--pod-logs-dir", `${scratch}/pods`,
			"--eviction-hard", "none", "--image-gc-high-threshold", "100"] })
		const small = await cluster.run(sh("small", "sleep 1000"))
		const large = await cluster.run(sh("large", "dd if=/dev/zero of=/big bs=1M count=50; sleep 1000"))
		await cluster.pod(small, running)
		await cluster.pod(large, running)
		// The runtime counts the files of containers every ten seconds.
		await new Promise((resolve) => setTimeout(resolve, 15000))
		await calm.stop()
		const full = await cluster.node("c1", { root: calm.root, hollow: false, flags: ["--container-runtime-endpoint", containerd.socket, "--pod-logs-dir", `${scratch}/pods`,
			"--eviction-hard", "nodefs.available<99.99%", "--image-gc-high-threshold", "100", "--minimum-image-ttl-duration", "1h"], wait: false })
		const over = await cluster.pod(large, (p) => p.status.phase === "Failed")
		assert.equal(over.status.reason, "Evicted")
		assert.match(over.status.message, /low on resource: ephemeral-storage.*Container main was using/)
		await full.kill()
	})
	containerd.stop()
}

await cluster.stop()
finish()
