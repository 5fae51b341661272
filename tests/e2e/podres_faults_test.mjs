// Faults around PodResources: clients that die, do not read, read a byte a second, open ten thousand streams or talk nonsense; an
// agent that is killed under its watchers, a socket that is removed, a server that is away. The agent serves everybody else, and its
// memory comes back.
import assert from "node:assert/strict"
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import * as http from "node:http"
import * as net from "node:net"
import { unique } from "./api_lib.mjs"
import { assertGrowth, finish, peakMemory, sanitized, test, until } from "./lib.mjs"
import { allocateClaim, podOn, startCluster } from "./node_lib.mjs"
import { DevicePlugin, DraDriver } from "./plugin_lib.mjs"
import { another, assertSame, client, metric, openStreams, socketOf, View, watch, watchAllocatable } from "./podres_lib.mjs"
import { RawWatch } from "./podres_raw.mjs"

const GPU = "example.com/gpu"
const capacity = { [GPU]: 1200 }
const cluster = await startCluster()
const { server } = cluster
const node = await cluster.node("n1", { flags: ["--feature-gates", "ResourceHealthStatus=false"], wait: false })
// By way of plugins_registry, where sockets are left alone when an agent starts.
const gpus = await DevicePlugin.start(node.root, GPU, Array.from({ length: 1200 }, (_, i) => ({ ID: `device-${i}`, numa: [0] })), { registry: true })
const allocatable = () => cluster.readNodeWhen("n1", (n) => n.status?.allocatable?.[GPU] === "1200")
await allocatable()

const socket = socketOf(node)
const api = client(socket)
const running = (p) => p.status.phase === "Running"
const wants = (n) => podOn("n1", { main: { resources: { limits: { [GPU]: String(n) } } } })

async function runs(pod) {
	const made = await cluster.run(pod)
	return cluster.pod(made, running)
}

async function end(pod) {
	await cluster.delete(pod, 0)
	await cluster.gone(pod)
}

// Changes that are large events: the pod has all devices. Its object may be gone before it has given them back.
async function changes(count) {
	for (let i = 0; i < count; i++) {
		await end(await runs(wants(1200)))
		await until("free devices", async () => (await api.list()).pod_resources.length === 0)
	}
}

// The agent serves: calls, a new watch, and a change that is seen.
async function serves(on = node) {
	const theirs = client(socketOf(on)), w = watch(socketOf(on), { sendInitial: true }, { capacity })
	const pod = await runs(podOn(on.name))
	await w.until("a pod", (view) => view.find("default", pod.metadata.name))
	await assertSame(w, theirs)
	await end(pod)
	await w.until("its end", (view) => !view.find("default", pod.metadata.name))
	w.close()
	theirs.close()
}

const resident = (of) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${of.process.pid}/status`))[1])
const descriptors = () => readdirSync(`/proc/${node.process.pid}/fd`).length
const streamsAre = (n, on = node) => until(`${n} streams`, async () => await openStreams(on) === n)

// --- clients --------------------------------------------------------------------------------------

await test("a client that is killed in mid-stream leaves nothing behind", async () => {
	await streamsAre(0)
	const files = descriptors()
	const reader = await another(socket, "watches", "50"), stuck = await another(socket, "stuck", "50")
	assert.deepEqual([reader.ok, reader.failed], [50, []])
	await streamsAre(100)
	const pod = await runs(wants(500))
	await Promise.all([reader.kill(), stuck.kill()])
	await streamsAre(0)
	await until("its connections' end", () => descriptors() <= files)
	await until("no backlog", async () => await metric(node, "devplane_pod_resources_backlog") === 0)
	await end(pod)
	await serves()
})

await test("clients that never read, and one that reads a byte a second, cost little and hold up nobody", async () => {
	await serves()
	const before = peakMemory(node.process.pid)
	const stuck = await another(socket, "stuck", "40")
	const slow = new RawWatch(socket, { sendInitial: true }, { capacity })
	const drip = setInterval(() => slow.read(1), 1000)
	const fast = watch(socket, { sendInitial: true }, { capacity })
	await streamsAre(42)
	await changes(15)
	await assertSame(fast, api)
	// Each event is some 40 kB: kept for each of them it would be 25 MB.
	assertGrowth(node.process.pid, before, 12)
	// It is counted once a second.
	await until("backlog", async () => await metric(node, "devplane_pod_resources_backlog") > 0)
	clearInterval(drip)
	slow.close()
	fast.close()
	await stuck.kill()
	await streamsAre(0)
	await serves()
})

await test("ten thousand streams of one client are refused beyond the limit, others are served, and memory comes back", async () => {
	// Without a limit of calls per second, which would be the first to refuse.
	const other = await cluster.node("n2", { flags: ["--pod-resources-qps", "0"] })
	await serves(other)
	const before = resident(other)
	const greedy = await another(socketOf(other), "greedy", "10000")
	assert.deepEqual([greedy.ok, greedy.refused, greedy.failed], [2048, 7952, []])
	await streamsAre(2048, other)
	await serves(other)
	await greedy.kill()
	await streamsAre(0, other)
	await serves(other)
	await until("its memory", () => resident(other) < before + 24 * 1024 || sanitized, 60)
	await other.stop()
})

await test("garbage, HTTP/1.1 and half a request are refused, nobody else notices", async () => {
	const w = watch(socket, { sendInitial: true }, { capacity })
	await w.until("initial_end", (view) => view.initial)
	const talk = (bytes) => new Promise((resolve) => {
		const s = net.connect(socket, () => s.write(bytes))
		let got = ""
		s.on("data", (d) => (got += d.toString("latin1")))
		s.on("error", () => {})
		s.on("close", () => resolve(got))
	})
	await talk(Buffer.alloc(4096, 0xff))
	await talk(Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Buffer.alloc(1000, 0x7f)]))
	const answer = await new Promise((resolve, reject) => http.get({ socketPath: socket, path: "/" }, resolve).on("error", reject))
	assert.ok(answer.statusCode >= 400, String(answer.statusCode))
	answer.destroy()
	const half = net.connect(socket)
	half.write("PRI * HTTP/2.0\r\n\r\nSM")
	await serves()
	half.destroy()
	await assertSame(w, api)
	assert.equal(w.status, undefined)
	w.close()
	assert.equal(node.process.child.exitCode, null)
})

// --- the agent ------------------------------------------------------------------------------------

await test("a socket that is removed, or replaced by a file, is made again; watches go on", async () => {
	const w = watch(socket, { sendInitial: true }, { capacity })
	await w.until("initial_end", (view) => view.initial)
	const { ino } = statSync(socket)
	rmSync(socket)
	const is = () => {
		try {
			return statSync(socket)
		} catch {
			return undefined
		}
	}
	await until("another socket", () => is()?.isSocket() && is().ino !== ino)
	assert.equal(is().mode & 0o777, 0o600)
	await serves()
	writeFileSync(`${socket}.mine`, "mine")
	renameSync(`${socket}.mine`, socket)
	await until("another socket", () => is()?.isSocket())
	await serves()
	await assertSame(w, api)
	w.close()
})

// A client as it should be: it comes back when its stream has ended, with what it knows.
class Follower {
	constructor() {
		this.view = new View({ capacity })
		this.over = false
		this.done = this.#follow()
	}

	async #follow() {
		for (let request = { sendInitial: true }; !this.over; request = { afterRevision: this.view.revision }) {
			this.watch = watch(socket, request, { view: this.view })
			await this.watch.ended
			this.watch.check()
			this.watch.own.close()
			await new Promise((resolve) => setTimeout(resolve, 10))
		}
	}

	check() {
		this.watch.check()
	}

	stop() {
		this.over = true
		this.watch.close()
		return this.done
	}
}

await test("an agent that is killed again and again: clients come back, and what pods have is never shown free", async () => {
	const follower = new Follower()
	const kept = await runs(wants(300))
	const has = (view) => view.containers(kept.metadata.name)?.main?.devices[GPU]
	const ids = await until("its devices", () => has(follower.view))
	let over = false
	const user = async () => {
		while (!over) {
			const pod = await cluster.run(wants(350))
			await new Promise((resolve) => setTimeout(resolve, 200 * Math.random()))
			await cluster.delete(pod, 0)
		}
	}
	const users = [user(), user()]
	for (let i = 0; i < 4; i++) {
		const { resets } = follower.view
		await node.kill()
		await node.begin()
		// The first state that it sends has the pod as it was.
		await until("the new state", () => follower.view.resets > resets && follower.view.initial)
		follower.check()
		assert.deepEqual(has(follower.view), ids, `after restart ${i}`)
	}
	over = true
	await Promise.all(users)
	await allocatable()
	await until("only the pod that stays", async () => (await api.list()).pod_resources.length === 1, 60)
	await assertSame(follower.watch, api)
	assert.deepEqual(has(follower.view), ids)
	await end(kept)
	await follower.stop()
})

await test("a server that is away: pods are told as before, after a restart too", async () => {
	const driver = await DraDriver.start(node.root, "dra.example.com", {
		prepare: () => ({ devices: [{ request_names: ["r"], pool_name: "p", device_name: "d", cdi_device_ids: ["example.com/dra=d"] }] }),
	})
	const claim = unique("claim")
	const made = await cluster.run(podOn("n1", {
		resourceClaims: [{ name: "c", resourceClaimName: claim }],
		main: { resources: { limits: { [GPU]: "3" }, claims: [{ name: "c" }] } },
	}))
	await allocateClaim(server.client, claim, [{ request: "r", driver: driver.name, pool: "p", device: "d" }], made)
	const pod = await cluster.pod(made, running)
	const w = watch(socket, { sendInitial: true }, { capacity }), offered = watchAllocatable(socket, { sendInitial: true })
	await w.until("initial_end", (view) => view.initial)
	const devices = w.view.containers(pod.metadata.name)
	assert.equal(devices.main.claims.length, 1)
	await server.kill()
	gpus.health("device-7", "Unhealthy")
	await offered.until("one device less", (view) => Object.keys(view.content.devices[GPU]).length === 1199)
	await assertSame(w, api)
	assert.deepEqual(w.view.containers(pod.metadata.name), devices)
	await node.kill()
	const beginning = node.begin()
	const again = await until("the agent's answer", () => api.list().catch(() => undefined), 60)
	assert.deepEqual(View.ofList(again, { capacity }).containers(pod.metadata.name), devices)
	await server.begin()
	await beginning
	await cluster.pod(pod, running)
	assert.deepEqual(View.ofList(await api.list(), { capacity }).containers(pod.metadata.name), devices)
	gpus.health("device-7", "Healthy")
	await end(pod)
	driver.stop()
	offered.close()
	w.close()
})

gpus.stop()
await node.stop()
await cluster.stop()
finish()
