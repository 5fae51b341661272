// Availability of devices that are more than one for one: shared, network-attached and divided ones. Real drivers publish and prepare
// them, the real scheduler gives them out, node agents run the pods. Where a driver cannot say it, the slices come from the test, as
// from a vendor's own controller.
import assert from "node:assert/strict"
import { dra, expect, unique } from "./api_lib.mjs"
import { finish, start, test, until } from "./lib.mjs"
import { startCluster } from "./node_lib.mjs"
import { pending, refused, startController, startScheduler } from "./scheduler_lib.mjs"

const DRIVER = "gpu.sim.devplane.dev"
const cluster = await startCluster({ names: ["n1", "n2"] })
const { client } = cluster
await startScheduler(cluster)
await startController(cluster)

const nodes = {}
// A driver with 4 GPUs in the pool "fabric", whose slices come from the test; or with other flags.
async function startDriver(name, ...flags) {
	const node = (nodes[name] ??= await cluster.node(name))
	const driver = start("driver", "sim", "--kubeconfig", cluster.server.kubeconfig, "--node-name", name, "--root-dir", node.root, "--cdi-dir", `${node.root}/cdi`,
		"--log-format", "text", "--metrics-bind-address", "127.0.0.1:0", ...(flags.length ? flags : ["--devices", "4", "--pool", "fabric", "--no-slices"]))
	await until("driver", () => driver.out.includes("health and metrics at") || driver.child.exitCode !== null)
	assert.equal(driver.child.exitCode, null, driver.err)
	return driver
}
const drivers = [await startDriver("n1"), await startDriver("n2")]

// Replaces the drivers of both nodes, and deletes their slices.
async function restartDrivers(flags) {
	for (const driver of drivers.splice(0)) {
		driver.child.kill("SIGTERM")
		await driver.ended
	}
	for (const s of (await client.get(`${dra}/resourceslices`)).body.items)
		expect(await client.delete(`${dra}/resourceslices/${s.metadata.name}`), 200)
	for (const [name, more] of Object.entries(flags))
		drivers.push(await startDriver(name, ...more))
}
// The slice of a pool with this device, as the driver published it.
const sliceWith = (pool, device) => until(`slice of ${pool} with ${device}`, async () =>
	(await client.get(`${dra}/resourceslices`)).body.items.find((s) => s.spec.pool.name === pool && s.spec.devices?.some((d) => d.name === device))?.metadata.name)

expect(await client.post(`${dra}/deviceclasses`, { metadata: { name: "gpu" }, spec: { selectors: [{ cel: { expression: `device.driver == "${DRIVER}"` } }] } }), 201)

// Replaces the pool "fabric": `reach` says who reaches it.
let generation = 0
async function publish(reach, devices) {
	const { body } = await client.get(`${dra}/resourceslices`)
	for (const s of body.items)
		expect(await client.delete(`${dra}/resourceslices/${s.metadata.name}`), 200)
	const metadata = { name: unique("fabric") }
	const pool = { name: "fabric", generation: ++generation, resourceSliceCount: 1 }
	expect(await client.post(`${dra}/resourceslices`, { metadata, spec: { driver: DRIVER, pool, ...reach, devices } }), 201)
	return metadata.name
}
const status = (slice, wanted) => until(`status of ${slice}`, async () => {
	const { body } = await client.get(`${dra}/resourceslices/${slice}`)
	return body.status?.observedGeneration === body.metadata.generation && wanted(body.status) && body.status
}, 60)
const states = (s) => s.devices.map((d) => `${d.name}=${d.state}${d.stateReason ? ` (${d.stateReason})` : ""}`).join(" ")
const show = (slice, wanted) => status(slice, (s) => states(s) === wanted).catch(async (e) => {
	throw new Error(`${e.message}: ${states((await client.get(`${dra}/resourceslices/${slice}`)).body.status)} is not ${wanted}`)
})

// A pod with a claim of its own for one device; `more` is part of the request.
async function run(more = {}, spec = {}) {
	const name = unique("pod")
	expect(await client.post(`${dra}/namespaces/default/resourceclaims`, { metadata: { name }, spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu", ...more } }] } } }), 201)
	return cluster.run(pending({ name, main: { resources: { claims: [{ name: "gpu" }] } }, resourceClaims: [{ name: "gpu", resourceClaimName: name }], ...spec }))
}
const running = (pod) => cluster.pod(pod, (p) => p.status.phase === "Running")
async function remove(...pods) {
	for (const pod of pods) {
		await cluster.delete(pod, 0)
		await cluster.gone(pod)
		expect(await client.delete(`${dra}/namespaces/default/resourceclaims/${pod.metadata.name}`), 200)
	}
}
const capacity = (memory) => ({ capacity: { requests: { memory } } })

await test("a shared device is given out in parts, until what is left is too little", async () => {
	const policy = { default: "10Gi", validRange: { min: "10Gi", step: "10Gi" } }
	const slice = await publish({ nodeName: "n1" }, [{ name: "gpu-0", allowMultipleAllocations: true, capacity: { memory: { value: "80Gi", requestPolicy: policy } } }])
	await show(slice, "gpu-0=Available")
	const first = await running(await run(capacity("50Gi")))
	const half = await status(slice, (s) => s.devices[0].allocations?.length === 1)
	assert.equal(states(half), "gpu-0=PartiallyAllocated")
	assert.equal(half.devices[0].availableCapacity.memory, "30Gi")
	const waits = await run(capacity("40Gi"))
	await cluster.pod(waits, refused(/cannot allocate|no node|0\/2 nodes/i))
	const second = await running(await run(capacity("30Gi")))
	const full = await status(slice, (s) => s.devices[0].allocations?.length === 2)
	assert.equal(states(full), "gpu-0=Allocated (CapacityExhausted)")
	assert.equal(full.devices[0].availableCapacity.memory, "0")
	assert.deepEqual(full.devices[0].allocations.map((a) => a.claimName).sort(), [first, second].map((p) => p.metadata.name).sort())
	await remove(first)
	await running(waits)
	await status(slice, (s) => states(s) === "gpu-0=PartiallyAllocated" && s.devices[0].availableCapacity.memory === "10Gi")
	await remove(second, waits)
	await show(slice, "gpu-0=Available")
})

await test("a pool that all nodes reach is given out on any of them", async () => {
	const slice = await publish({ allNodes: true }, [{ name: "gpu-0" }, { name: "gpu-1" }, { name: "gpu-2", taints: [{ key: "example.com/maintenance", effect: "NoSchedule" }] }])
	await show(slice, "gpu-0=Available gpu-1=Available gpu-2=Unavailable (Tainted: example.com/maintenance)")
	const held = []
	for (const nodeName of ["n1", "n2"])
		held.push(await running(await run({}, { nodeSelector: { "kubernetes.io/hostname": nodeName } })))
	assert.deepEqual(held.map((p) => p.spec.nodeName), ["n1", "n2"])
	await show(slice, "gpu-0=Allocated gpu-1=Allocated gpu-2=Unavailable (Tainted: example.com/maintenance)")
	const waits = await run()
	await cluster.pod(waits, refused(/./))
	const tolerant = await running(await run({ tolerations: [{ key: "example.com/maintenance", operator: "Exists" }] }))
	await show(slice, "gpu-0=Allocated gpu-1=Allocated gpu-2=Allocated")
	await remove(held[0])
	await running(waits)
	await remove(held[1], tolerant, waits)
	await show(slice, "gpu-0=Available gpu-1=Available gpu-2=Unavailable (Tainted: example.com/maintenance)")
})

await test("a pool that some nodes reach is free for those alone", async () => {
	const reach = (name) => ({ nodeSelector: { nodeSelectorTerms: [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [name] }] }] } })
	const slice = await publish(reach("n2"), [{ name: "gpu-0" }, { name: "gpu-1" }])
	await show(slice, "gpu-0=Available gpu-1=Available")
	const elsewhere = await run({}, { nodeSelector: { "kubernetes.io/hostname": "n1" } })
	await cluster.pod(elsewhere, refused(/./))
	const pod = await running(await run())
	assert.equal(pod.spec.nodeName, "n2")
	await status(slice, (s) => s.summary.allocatedDevices === 1 && s.summary.availableDevices === 1)
	await remove(pod, elsewhere)
})

await test("a driver publishes shared devices, and claims get parts of them", async () => {
	await restartDrivers({ n1: ["--devices", "1", "--shares"] })
	const slice = await sliceWith("n1", "gpu-0")
	await show(slice, "gpu-0=Available")
	const first = await running(await run(capacity("50Gi")))
	await status(slice, (s) => states(s) === "gpu-0=PartiallyAllocated" && s.devices[0].availableCapacity.memory === "30Gi")
	const waits = await run(capacity("40Gi"))
	await cluster.pod(waits, refused(/./))
	const least = await running(await run())
	await status(slice, (s) => s.devices[0].availableCapacity.memory === "29Gi")
	await remove(first)
	await running(waits)
	await remove(least, waits)
	await show(slice, "gpu-0=Available")
})

const profile = (name) => ({ selectors: [{ cel: { expression: `device.attributes["${DRIVER}"].type == "partition" && device.attributes["${DRIVER}"].profile == "${name}"` } }] })
const whole = { selectors: [{ cel: { expression: `device.attributes["${DRIVER}"].type == "gpu"` } }] }

await test("a GPU is given out in parts or as a whole, and each takes from the same counters", async () => {
	await restartDrivers({ n1: ["--devices", "1", "--partitions"] })
	const slice = await sliceWith("n1", "gpu-0")
	const state = (name) => async (wanted) => status(slice, (s) => wanted.test(states({ devices: s.devices.filter((d) => d.name === name) })))
	await state("gpu-0")(/=Available$/)
	const half = await running(await run(profile("3g.40gb")))
	await state("gpu-0")(/Unavailable/)
	const refusedWhole = await run(whole)
	await cluster.pod(refusedWhole, refused(/./))
	const small = []
	for (let i = 0; i < 3; i++)
		small.push(await running(await run(profile("1g.10gb"))))
	const last = await run(profile("1g.10gb"))
	await cluster.pod(last, refused(/./))
	await remove(half)
	await running(last)
	await remove(last, ...small)
	await running(refusedWhole)
	await state("gpu-0-1g10gb-0")(/Unavailable/)
	await remove(refusedWhole)
	await state("gpu-0-1g10gb-0")(/=Available$/)
})

await test("one driver publishes a fabric, and those of other nodes prepare its devices", async () => {
	const fabric = (...more) => ["--devices", "1", "--fabric", "2", "--fabric-publisher", "n1", ...more]
	await restartDrivers({ n1: fabric(), n2: fabric() })
	const slice = await sliceWith("fabric", "fabric-0")
	await show(slice, "fabric-0=Available fabric-1=Available")
	const attached = { selectors: [{ cel: { expression: `device.attributes["${DRIVER}"].type == "fabric"` } }] }
	const held = []
	for (const nodeName of ["n1", "n2"])
		held.push(await running(await run(attached, { nodeSelector: { "kubernetes.io/hostname": nodeName } })))
	assert.deepEqual(held.map((p) => p.spec.nodeName), ["n1", "n2"])
	await show(slice, "fabric-0=Allocated fabric-1=Allocated")
	const { body } = await client.get(`${dra}/resourceslices`)
	assert.equal(body.items.filter((s) => s.spec.pool.name === "fabric").length, 1)
	await remove(...held)
	// Now only n2 reaches it.
	await restartDrivers({ n1: fabric("--fabric-nodes", "kubernetes.io/hostname=n2"), n2: fabric("--fabric-nodes", "kubernetes.io/hostname=n2") })
	await show(await sliceWith("fabric", "fabric-0"), "fabric-0=Available fabric-1=Available")
	const elsewhere = await run(attached, { nodeSelector: { "kubernetes.io/hostname": "n1" } })
	await cluster.pod(elsewhere, refused(/./))
	const pod = await running(await run(attached))
	assert.equal(pod.spec.nodeName, "n2")
	await remove(pod, elsewhere)
})

finish()
