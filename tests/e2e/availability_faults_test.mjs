// Availability stays correct under faults: controllers that are killed and elected, servers that go and come back, drivers that write
// the same slices all the time, and a status that somebody else wrote.
import assert from "node:assert/strict"
import { expect } from "./api_lib.mjs"
import { converged, device, differences, slices, startDevices } from "./availability_lib.mjs"
import { finish, test, until } from "./lib.mjs"

const NODES = 6, DEVICES = 4, CLAIMS = 16
const claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
const left = Array.from({ length: CLAIMS }, () => new Set())
const cluster = await startDevices()
const names = Array.from({ length: NODES }, (_, i) => `n${i}`)
for (const name of names)
	await cluster.slice(name, { node: name, devices: Array.from({ length: DEVICES }, (_, d) => device(`gpu-${d}`)) })

// Claims change all the time: each gets a device, loses it, goes and comes again. `i` names the device; `left` are
// the claims that may still hold it, which go first.
let stop, changes, made = 0
async function change(i, left) {
	const name = `c${made++}`
	try {
		for (const old of left) {
			const { code } = await cluster.client.delete(`${claims}/${old}`)
			assert.ok([200, 404].includes(code))
			left.delete(old)
		}
		left.add(name)
		await cluster.claim("default", name, [{ pool: names[i % NODES], device: `gpu-${Math.floor(i / NODES)}` }])
		changes++
		if (Math.random() < 0.5)
			await cluster.allocate("default", name, null)
	} catch {
		// The server may be away.
	}
}
function churn() {
	stop = false
	changes = 0
	const all = Array.from({ length: CLAIMS }, async (_, i) => {
		while (!stop)
			await change(i, left[i])
	})
	return async () => {
		stop = true
		await Promise.all(all)
		assert.ok(changes > 0, "nothing changed")
	}
}
// So many more changes have been made.
const work = (n = 10, from = changes) => until("changes", () => changes >= from + n)
const some = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
async function clear() {
	const { items } = (await cluster.client.get("/apis/resource.k8s.io/v1/resourceclaims")).body
	for (const c of items)
		await cluster.client.delete(`${claims}/${c.metadata.name}`)
}

await test("a controller that is killed again and again", async () => {
	const controller = await cluster.controller("--leader-elect=false")
	const end = churn()
	for (let i = 0; i < 6; i++) {
		await work()
		await controller.kill()
		await controller.begin()
	}
	await end()
	await converged(cluster)
	await clear()
	await converged(cluster)
	await controller.stop()
})

await test("two controllers: one works, and when it is killed the other goes on", async () => {
	const election = ["--leader-elect-lease-duration", "4s", "--leader-elect-renew-deadline", "3s", "--leader-elect-retry-period", "200ms"]
	const both = [await cluster.controller(...election), await cluster.controller(...election)]
	const leads = (c) => /leading/.test(c.process.err)
	const first = await until("leader", () => both.find(leads))
	const second = both.find((c) => c !== first)
	const end = churn()
	await work()
	await until("work", async () => await first.metric("dra_resourceslice_status_controller_sync_total") > 0)
	assert.ok(!leads(second))
	assert.ok(Number.isNaN(await second.metric("dra_resourceslice_status_controller_sync_total")))
	await first.kill()
	await until("the other leads", () => leads(second))
	await end()
	await converged(cluster)
	await second.stop()
	await clear()
})

await test("a server that is killed and comes back", async () => {
	const controller = await cluster.controller("--leader-elect=false")
	await converged(cluster)
	for (let i = 0; i < 3; i++) {
		const end = churn()
		await work()
		await cluster.server.kill()
		await end()
		await cluster.server.begin()
	}
	await converged(cluster)
	await clear()
	await converged(cluster)
	await controller.stop()
})

await test("drivers that rewrite the same slices meanwhile lose nothing", async () => {
	const controller = await cluster.controller("--leader-elect=false")
	const end = churn()
	let driving = true
	await work()
	const drivers = names.map(async (name) => {
		for (let i = 1; driving; i++)
			await cluster.republish(name, (spec) => (spec.devices[0].attributes.round = { int: i }))
	})
	await some(1000)
	driving = false
	await Promise.all(drivers)
	await end()
	await converged(cluster)
	for (const name of names) {
		const { spec } = await cluster.read(name)
		assert.equal(spec.devices.length, DEVICES)
		assert.ok(spec.devices[0].attributes.round.int >= 1)
	}
	await controller.stop()
})

await test("a driver that takes a pool to its next generation, slice by slice, meets no conflict", async () => {
	const controller = await cluster.controller("--leader-elect=false")
	const own = ["pool-a", "pool-b", "pool-c"]
	for (const name of own)
		await cluster.slice(name, { pool: "shared", count: 3, devices: [device(`${name}-gpu`)] })
	for (let generation = 2; generation <= 12; generation++) {
		const known = []
		// A slice is written again when the last one has come: its devices are available then.
		for (const name of own)
			await cluster.status(name, (s, o) => s?.observedGeneration === o.metadata.generation && s.devices.every((d) => d.state === "Available"))
		await cluster.status("pool-a", (s) => s.poolStatus?.conditions.every((c) => c.status === "True"))
		for (const name of own)
			known.push(await cluster.read(name))
		for (const { status, ...object } of known) {
			object.spec.pool.generation = generation
			expect(await cluster.client.put(`${slices}/${object.metadata.name}`, object), 200)
			await some(5)
		}
	}
	for (const name of own)
		await cluster.remove(name)
	await controller.stop()
})

await test("a server that comes back without the status of slices, and with it again", async () => {
	const objects = "/apis/devplane.dev/v1alpha1/resourceslicestatuses"
	await clear()
	const controller = await cluster.controller("--leader-elect=false")
	await converged(cluster)
	await cluster.server.stop()
	const { serverFlags } = cluster
	serverFlags.push("--feature-gates", "DRAResourceAvailabilityVisibility=false")
	await cluster.server.begin()
	await cluster.claim("default", "late", [{ pool: "n0", device: "gpu-0" }])
	await until("objects", async () => (await cluster.client.get(`${objects}/n0`)).body?.status?.summary?.allocatedDevices === 1, 60)
	await cluster.server.stop()
	serverFlags.splice(-2)
	await cluster.server.begin()
	await controller.kill()
	await controller.begin()
	await cluster.status("n0", (s) => s?.summary.allocatedDevices === 1)
	await until("no leftovers", async () => (await cluster.client.get(objects)).body.items.length === 0)
	await cluster.release("default", "late")
	await converged(cluster)
	await controller.stop()
})

await test("a status that somebody else wrote is put right, and one that was there stays as it is", async () => {
	assert.deepEqual(await differences(cluster), [])
	const versions = async () => (await cluster.client.get(slices)).body.items.map((s) => s.metadata.resourceVersion).join()
	const before = await versions()
	const controller = await cluster.controller("--leader-elect=false")
	await until("looks at all", async () => await controller.metric("dra_resourceslice_status_controller_sync_total") >= NODES)
	assert.equal(await controller.metric("dra_resourceslice_status_update_duration_seconds_count"), 0)
	assert.equal(await versions(), before, "it wrote what was there already")
	expect(await cluster.client.patch(`${slices}/n0/status`, { status: { summary: { totalDevices: 99 } } }, "merge"), 422)
	expect(await cluster.client.patch(`${slices}/n0/status`, { status: { observedGeneration: 0 } }, "merge"), 200)
	await cluster.status("n0", (s) => s.observedGeneration > 0)
	expect(await cluster.client.patch(`${slices}/n0/status`, { status: null }, "merge"), 200)
	await cluster.status("n0", (s) => s?.summary.totalDevices === DEVICES)
	await controller.stop()
})

await test("a controller keeps to its budget of requests, and logs what it does", async () => {
	const QPS = 5, BURST = 3
	const begun = performance.now()
	const controller = await cluster.controller("--leader-elect=false", "--kube-api-qps", `${QPS}`, "--kube-api-burst", `${BURST}`, "--v", "2")
	for (const name of names)
		await cluster.claim("default", `budget-${name}`, [{ pool: name, device: "gpu-0" }])
	for (const name of names)
		await cluster.status(name, (s) => s?.summary.allocatedDevices === 1)
	const sent = [...(await controller.metrics()).matchAll(/^rest_client_requests_total\{[^}]*\} (\d+)/gm)].reduce((sum, m) => sum + Number(m[1]), 0)
	const seconds = (performance.now() - begun) / 1000
	assert.ok(sent >= NODES, `${sent} requests`)
	assert.ok(sent <= BURST + 1 + QPS * seconds, `${sent} requests in ${seconds} s`)
	for (const line of [/checked slice.*slice=n0.*is written/, /status of slice written.*slice=n0/])
		assert.match(controller.process.err, line)
	await controller.stop()
})

finish()
