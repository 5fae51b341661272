// Faults of the node agent: killed at every step, a server that is away, a full disk. No device is given twice, nothing leaks.
// CRASH_SECONDS is how long it is killed again and again.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { rmSync, writeFileSync } from "node:fs"
import { unique } from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { allocateClaim, healthOf, podOn, pods, shortFolder, startCluster } from "./node_lib.mjs"
import { DevicePlugin, DraDriver } from "./plugin_lib.mjs"
import { client as podResources, socketOf, watch } from "./podres_lib.mjs"

const seconds = Number(process.env.CRASH_SECONDS ?? 10)
const cluster = await startCluster()
const { server } = cluster
const node = await cluster.node("n1")
const driverName = "gpu.example.com"
const driver = await DraDriver.start(node.root, driverName, {
	prepare: ({ name }) => ({ devices: [{ request_names: ["r"], pool_name: "p", device_name: name, cdi_device_ids: [] }] }),
})

const reader = podResources(socketOf(node))
const held = async (resource) => (await reader.list()).pod_resources.some((p) => p.containers.some((c) => c.devices.some((d) => d.resource_name === resource)))
const running = (p) => p.status.phase === "Running" && p.status.containerStatuses?.every((c) => c.ready)
const wants = (resource, n, more = {}) => podOn("n1", { ...more, main: { resources: { limits: { [resource]: String(n) } } } })
const idsOf = (pod, resource) => Object.keys(healthOf(pod).main?.[resource] ?? {})

async function podWithClaim(more = {}) {
	const name = unique("claim")
	const pod = await cluster.run(podOn("n1", { ...more, resourceClaims: [{ name: "gpu", resourceClaimName: name }], main: { resources: { claims: [{ name: "gpu" }] } } }))
	await allocateClaim(server.client, name, [{ request: "r", driver: driverName, pool: "p", device: name }], pod)
	return pod
}

// By way of plugins_registry, where sockets are left alone when an agent starts.
let counter = 0
async function plugin(ids, options = {}) {
	const resource = `example.com/r${++counter}`
	const self = await DevicePlugin.start(node.root, resource, ids.map((ID) => ({ ID })), { registry: true, ...options })
	await cluster.readNodeWhen("n1", (n) => n.status.allocatable[resource] === String(ids.length))
	return self
}

// Runs a pod soon after a restart of the agent. As in kubelet, the pod is rejected until the plugin has listed its devices.
async function runs(make) {
	for (;;) {
		const pod = await cluster.run(make())
		const now = await cluster.pod(pod, (p) => running(p) || p.status.phase === "Failed")
		if (running(now))
			return now
		assert.match(now.status.message, /no healthy devices/)
		await cluster.delete(pod, 0)
		await cluster.gone(pod)
	}
}

// Kills the agent when the plugin has been asked and has not answered, and lets it answer the next one.
async function killDuring(self, method) {
	await until(`${method} under way`, () => self.count(method) > 0)
	await node.kill()
	self.hang.delete(method)
	await node.begin()
}

for (const method of ["GetPreferredAllocation", "Allocate", "PreStartContainer"]) {
	await test(`killed during ${method}: the pod starts with the devices that were chosen, and nobody else has them`, async () => {
		const self = await plugin(["a", "b", "c", "d"], { preferred: true, prestart: true })
		self.hang.add(method)
		const pod = await cluster.run(wants(self.resource, 2))
		await killDuring(self, method)
		const now = await cluster.pod(pod, (p) => running(p) && idsOf(p, self.resource).length === 2)
		const asked = self.calls.Allocate.map((r) => [...r.container_requests[0].devices_ids].sort().join())
		assert.equal(new Set(asked).size, 1, `asked for ${asked}`)
		assert.deepEqual(idsOf(now, self.resource).sort().join(), asked[0])
		const other = await cluster.pod(await runs(() => wants(self.resource, 2)), (p) => idsOf(p, self.resource).length === 2)
		assert.deepEqual([...idsOf(now, self.resource), ...idsOf(other, self.resource)].sort(), ["a", "b", "c", "d"])
		for (const p of [now, other]) {
			await cluster.delete(p, 0)
			await cluster.gone(p)
		}
		// A pod that is deleted without grace is gone from the server before the agent has ended it.
		await until("free devices", async () => !(await held(self.resource)))
		const all = await cluster.run(wants(self.resource, 4))
		await cluster.pod(all, running)
		await cluster.delete(all, 0)
		await cluster.gone(all)
		self.stop()
	})
}

await test("stopped during Allocate while a client watches PodResources: an answer that comes too late is nobody's", async () => {
	const self = await plugin(["a"])
	const client = watch(`${node.root}/pod-resources/kubelet.sock`, { sendInitial: true }, { paused: true })
	await client.opened
	self.delay.Allocate = 200
	const pod = await cluster.run(wants(self.resource, 1))
	await until("Allocate under way", () => self.count("Allocate") > 0)
	await node.stop()
	client.close()
	self.delay.Allocate = 0
	await node.begin()
	await cluster.pod(pod, running)
	await cluster.delete(pod, 0)
	await cluster.gone(pod)
	self.stop()
})

await test("killed while a claim is prepared: it is prepared again, then the pod starts", async () => {
	driver.hang.add("NodePrepareResources")
	const pod = await podWithClaim()
	await killDuring(driver, "NodePrepareResources")
	await cluster.pod(pod, running)
	assert.equal(driver.prepared.size, 1)
	driver.hang.add("NodeUnprepareResources")
	await cluster.delete(pod, 0)
	await killDuring(driver, "NodeUnprepareResources")
	await until("an unprepared claim", () => driver.prepared.size === 0)
	await cluster.gone(pod)
})

await test("a pod deleted while the agent was away is unprepared and its devices are free", async () => {
	const self = await plugin(["a"])
	const pod = await podWithClaim(), holder = await cluster.run(wants(self.resource, 1))
	await cluster.pod(pod, running)
	await cluster.pod(holder, running)
	await node.kill()
	for (const p of [pod, holder]) {
		const { code } = await server.client.delete(`${pods}/${p.metadata.name}`, { gracePeriodSeconds: 0 })
		assert.equal(code, 200)
	}
	await node.begin()
	await until("an unprepared claim", () => driver.prepared.size === 0, 90)
	const next = await runs(() => wants(self.resource, 1))
	await cluster.delete(next, 0)
	await cluster.gone(next)
	self.stop()
})

await test("killed again and again while pods come and go: no device twice, nothing leaks", async () => {
	const ids = ["a", "b", "c", "d", "e", "f"]
	const self = await plugin(ids)
	let over = false, made = 0
	const holders = async () => {
		const { items } = (await server.client.get(pods)).body
		const live = items.filter((p) => !["Failed", "Succeeded"].includes(p.status.phase))
		const held = live.flatMap((p) => idsOf(p, self.resource))
		assert.equal(new Set(held).size, held.length, `given twice: ${JSON.stringify(live.map((p) => [p.metadata.name, p.status.phase, idsOf(p, self.resource)]))}`)
	}
	const user = async () => {
		while (!over) {
			const pod = await cluster.run(Math.random() < 0.5 ? wants(self.resource, 1) : (await podWithClaim(), wants(self.resource, 2)))
			made++
			await new Promise((resolve) => setTimeout(resolve, 400 * Math.random()))
			await cluster.delete(pod, 0)
		}
	}
	const users = [user(), user()]
	const deadline = Date.now() + seconds * 1000
	while (Date.now() < deadline) {
		await new Promise((resolve) => setTimeout(resolve, 50 + 500 * Math.random()))
		await holders()
		await node.kill()
		await holders()
		await node.begin()
	}
	over = true
	await Promise.all(users)
	assert.ok(made > 0)
	const { items } = (await server.client.get(pods)).body
	for (const p of items)
		await server.client.delete(`${pods}/${p.metadata.name}`, { gracePeriodSeconds: 0 })
	await until("no pods", async () => (await server.client.get(pods)).body.items.length === 0, 90)
	await until("no claim prepared", () => driver.prepared.size === 0, 90)
	const all = await runs(() => wants(self.resource, ids.length))
	assert.equal(idsOf(await cluster.pod(all, (p) => idsOf(p, self.resource).length), self.resource).length, ids.length)
	await cluster.delete(all, 0)
	await cluster.gone(all)
	self.stop()
}, 120 + 4 * seconds)

await test("a restart of the agent alone makes no device Unknown", async () => {
	const self = await plugin(["a"])
	const pod = await cluster.run(wants(self.resource, 1))
	await cluster.pod(pod, (p) => running(p) && healthOf(p).main[self.resource].a === "Healthy")
	await node.kill()
	await node.begin()
	await until("the plugin's return", async () => (await cluster.readNode("n1")).status.allocatable[self.resource] === "1")
	await cluster.pod(pod, running)
	assert.deepEqual((await cluster.events(pod.metadata.name)).filter((e) => /^Device/.test(e.reason)), [])
	// One that does not come back is reported after all.
	await node.kill()
	self.stop()
	await node.begin()
	await cluster.pod(pod, (p) => healthOf(p).main[self.resource].a === "Unknown")
	await cluster.delete(pod, 0)
	await cluster.gone(pod)
})

await test("a server that is away: pods go on, and what changed meanwhile is written when it is back", async () => {
	const self = await plugin(["a"])
	const pod = await cluster.run(wants(self.resource, 1))
	const before = await cluster.pod(pod, running)
	await server.kill()
	self.health("a", "Unhealthy", "while you were away")
	await new Promise((resolve) => setTimeout(resolve, Math.min(seconds, 60) * 100))
	assert.equal(node.process.child.exitCode, null)
	await server.begin()
	const after = await cluster.pod(pod, (p) => healthOf(p).main?.[self.resource].a === "Unhealthy while you were away")
	assert.equal(after.status.containerStatuses[0].containerID, before.status.containerStatuses[0].containerID)
	assert.equal(after.status.containerStatuses[0].restartCount, 0)
	await cluster.delete(pod, 0)
	await cluster.gone(pod)
	self.stop()
})

await test("a full disk: nothing is handed out that could not be written down, and all goes on when there is room", async () => {
	const root = shortFolder()
	execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", root])
	try {
		const small = await cluster.node("n2", { root })
		const self = await DevicePlugin.start(root, "example.com/full", [{ ID: "a" }], { registry: true })
		await cluster.readNodeWhen("n2", (n) => n.status.allocatable["example.com/full"] === "1")
		try {
			writeFileSync(`${root}/fill`, Buffer.alloc(1024 * 1024))
		} catch (e) {
			assert.equal(e.code, "ENOSPC")
		}
		const pod = await cluster.run({ ...wants("example.com/full", 1), spec: { ...wants("example.com/full", 1).spec, nodeName: "n2" } })
		await cluster.event(pod.metadata.name, "FailedSaveState", /No space left/)
		assert.equal(self.count("Allocate"), 0)
		rmSync(`${root}/fill`)
		await cluster.pod(pod, running)
		assert.equal(self.count("Allocate"), 1)
		await small.stop()
		self.stop()
	} finally {
		execFileSync("umount", ["-l", root])
	}
})

reader.close()
finish()
