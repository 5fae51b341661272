// Availability in the status of ResourceSlices (KEP-5677): a server, the controller with the rights of its own role, and kubectl. The
// KEP's integration list, its consistency scenarios, its stories, ResourcePoolStatusRequests, and what its gate switches.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { expect, rv, unique } from "./api_lib.mjs"
import { DRIVER, device, share, shared, slices, startDevices } from "./availability_lib.mjs"
import { devplane, finish, scratch, test, until } from "./lib.mjs"

const cluster = await startDevices()
const { server } = cluster
let controller = await cluster.controller("--leader-elect=false")
const kubectl = (...args) => execFileSync("kubectl", ["--kubeconfig", server.kubeconfig, ...args], { encoding: "utf8", env: { ...process.env, HOME: scratch } })
const stateOf = (status, name) => status.devices.find((d) => d.name === name)
const condition = (status, type) => status.poolStatus.conditions.find((c) => c.type === type)

await test("a new slice is told to be free, and its spec does not move", async () => {
	await cluster.slice("fresh", { node: "fresh", devices: [device("gpu-0"), device("gpu-1")] })
	const status = await cluster.status("fresh")
	assert.deepEqual(status.devices, [{ name: "gpu-0", state: "Available" }, { name: "gpu-1", state: "Available" }])
	assert.deepEqual(status.summary, { totalDevices: 2, allocatedDevices: 0, availableDevices: 2, partiallyAllocatedDevices: 0, unhealthyDevices: 0 })
	assert.equal(status.observedGeneration, 1)
	assert.deepEqual(status.poolStatus.conditions.map(({ lastTransitionTime, ...c }) => c), [
		{ type: "Complete", status: "True", reason: "SliceCountMatch" }, { type: "Valid", status: "True", reason: "ValidationPassed" }])
	assert.equal(status.poolStatus.observedSliceCount, 1)
	assert.equal(status.poolStatus.expectedSliceCount, 1)
	assert.equal((await cluster.read("fresh")).metadata.generation, 1)
	await cluster.slice("empty", { node: "empty", devices: [] })
	assert.equal((await cluster.status("empty")).summary.totalDevices, 0)
	await cluster.remove("fresh")
	await cluster.remove("empty")
})

await test("a claim's device is allocated, and free again when the claim goes", async () => {
	await cluster.slice("plain", { node: "plain", devices: [device("gpu-0"), device("gpu-1")] })
	await cluster.claim("default", "one", [{ pool: "plain", device: "gpu-1" }])
	const status = await cluster.status("plain", (s) => s?.summary.allocatedDevices === 1)
	const { uid } = (await cluster.client.get("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/one")).body.metadata
	assert.deepEqual(stateOf(status, "gpu-1"), {
		name: "gpu-1", state: "Allocated", allocations: [{ claimNamespace: "default", claimName: "one", claimUID: uid, request: "gpu" }],
	})
	assert.equal(status.summary.availableDevices, 1)
	await cluster.allocate("default", "one", null)
	await cluster.allocate("default", "one", [{ pool: "plain", device: "gpu-0" }])
	await cluster.status("plain", (s) => stateOf(s, "gpu-0").state === "Allocated" && stateOf(s, "gpu-1").state === "Available")
	await cluster.release("default", "one")
	const last = await cluster.status("plain", (s) => s.summary.allocatedDevices === 0)
	assert.deepEqual(last.devices.map((d) => d.state), ["Available", "Available"])
	assert.equal((await cluster.read("plain")).metadata.generation, 1)
	await cluster.remove("plain")
})

await test("capacities of a device that is shared", async () => {
	await cluster.slice("shares", { node: "shares", devices: [shared("gpu-0", "80Gi"), shared("gpu-1", "40Gi")] })
	await cluster.claim("default", "s1", [share("shares", "gpu-0", "30Gi")])
	await cluster.claim("default", "s2", [share("shares", "gpu-0", "10Gi")])
	const status = await cluster.status("shares", (s) => stateOf(s ?? { devices: [{ name: "gpu-0" }] }, "gpu-0").allocations?.length === 2)
	const { allocations, ...rest } = stateOf(status, "gpu-0")
	assert.deepEqual(rest, { name: "gpu-0", state: "PartiallyAllocated", capacity: { memory: "80Gi" }, availableCapacity: { memory: "40Gi" }, largestShare: { memory: "40Gi" } })
	assert.deepEqual(allocations.map((a) => [a.claimName, a.capacity]), [["s1", { memory: "30Gi" }], ["s2", { memory: "10Gi" }]])
	assert.deepEqual(status.summary, {
		totalDevices: 2, allocatedDevices: 1, availableDevices: 1, partiallyAllocatedDevices: 1, unhealthyDevices: 0,
		totalCapacity: { memory: "120Gi" }, allocatedCapacity: { memory: "40Gi" }, availableCapacity: { memory: "80Gi" },
	})
	await cluster.claim("default", "s3", [share("shares", "gpu-0", "40Gi")])
	await cluster.status("shares", (s) => stateOf(s, "gpu-0").state === "Allocated" && stateOf(s, "gpu-0").availableCapacity.memory === "0")
	for (const name of ["s1", "s2", "s3"])
		await cluster.release("default", name)
	await cluster.status("shares", (s) => s.summary.availableDevices === 2)
	await cluster.remove("shares")
})

await test("many claims on one device: some are named, all are counted", async () => {
	await cluster.slice("crowd", { node: "crowd", devices: [shared("gpu-0", "80Gi")] })
	for (let i = 0; i < 40; i++)
		await cluster.claim("default", `crowd-${String(i).padStart(2, "0")}`, [share("crowd", "gpu-0", "1Gi")])
	const status = await cluster.status("crowd", (s) => s?.devices[0].availableCapacity.memory === "40Gi")
	assert.equal(status.devices[0].allocations.length, 32)
	assert.equal(status.devices[0].allocations[31].claimName, "crowd-31")
	assert.equal(status.devices[0].omittedAllocations, 8)
	assert.deepEqual(status.summary.allocatedCapacity, { memory: "40Gi" })
	const described = execFileSync(devplane, ["describe", "resourceslice", "crowd", "--kubeconfig", server.kubeconfig], { encoding: "utf8" })
	assert.ok(described.includes("(8 more allocations that the status leaves out)"), described)
	for (let i = 0; i < 40; i++)
		await cluster.release("default", `crowd-${String(i).padStart(2, "0")}`)
	await cluster.status("crowd", (s) => !s.devices[0].allocations)
	await cluster.remove("crowd")
})

await test("partitions of which the shared counters are used up are unavailable", async () => {
	const part = (name, amount, profile) => ({
		name, attributes: { profile: { string: profile } }, consumesCounters: [{ counterSet: "gpu-0", counters: { memory: { value: amount } } }],
	})
	await cluster.slice("parts-counters", { node: "parts", count: 2, sharedCounters: [{ name: "gpu-0", counters: { memory: { value: "40Gi" } } }] })
	await cluster.slice("parts-devices", { node: "parts", count: 2, devices: [part("whole", "40Gi", "full"), part("half-0", "20Gi", "half"), part("half-1", "20Gi", "half")] })
	await cluster.status("parts-devices", (s) => s?.summary.availableDevices === 3)
	await cluster.claim("default", "half", [{ pool: "parts", device: "half-0" }])
	const status = await cluster.status("parts-devices", (s) => s.summary.allocatedDevices === 1)
	assert.deepEqual(status.devices.map((d) => [d.name, d.state, d.stateReason]), [
		["whole", "Unavailable", "CountersExhausted"], ["half-0", "Allocated", undefined], ["half-1", "Available", undefined]])
	assert.equal(status.summary.availableDevices, 1)
	await cluster.release("default", "half")
	await cluster.status("parts-devices", (s) => s.summary.availableDevices === 3)
	await cluster.remove("parts-counters")
	await cluster.remove("parts-devices")
})

await test("a pool of several slices on the network is judged once, on its first slice", async () => {
	const pool = "fabric/east"
	await cluster.slice("net-b", { pool, count: 3, devices: [device("d2")] })
	await cluster.slice("net-c", { pool, count: 3, devices: [device("d3"), device("d2")] })
	let status = await cluster.status("net-b", (s) => s?.poolStatus?.validationErrors?.length === 2)
	assert.deepEqual([condition(status, "Complete").status, condition(status, "Complete").reason], ["False", "SliceCountMismatch"])
	assert.deepEqual([condition(status, "Valid").status, condition(status, "Valid").reason], ["False", "ValidationFailed"])
	assert.equal(status.poolStatus.observedSliceCount, 2)
	assert.equal(status.poolStatus.expectedSliceCount, 3)
	assert.ok(status.poolStatus.validationErrors.includes("device d2 appears in both net-b and net-c"), status.poolStatus.validationErrors.join())
	assert.equal((await cluster.status("net-c")).poolStatus, undefined)
	// The first is another one now, and all is well.
	await cluster.republish("net-c", (spec) => spec.devices.pop())
	await cluster.slice("net-a", { pool, count: 3, devices: [device("d1")] })
	status = await cluster.status("net-a", (s) => s?.poolStatus && condition(s, "Valid").status === "True")
	assert.equal(condition(status, "Complete").reason, "SliceCountMatch")
	assert.equal(status.poolStatus.validationErrors, undefined)
	await cluster.status("net-b", (s) => !s.poolStatus)
	const since = condition(status, "Valid").lastTransitionTime
	await cluster.claim("default", "net", [{ pool, device: "d1" }])
	status = await cluster.status("net-a", (s) => s.summary.allocatedDevices === 1)
	assert.equal(condition(status, "Valid").lastTransitionTime, since)
	await cluster.remove("net-a")
	await cluster.status("net-b", (s) => s.poolStatus && condition(s, "Complete").status === "False")
	await cluster.release("default", "net")
	await cluster.remove("net-b")
	await cluster.remove("net-c")
})

await test("a device that goes while a claim holds it, a new one, and new attributes", async () => {
	await cluster.slice("moving", { node: "moving", devices: [device("gpu-0"), device("gpu-1")] })
	await cluster.claim("default", "left", [{ pool: "moving", device: "gpu-1" }])
	await cluster.status("moving", (s) => s?.summary.allocatedDevices === 1)
	await cluster.republish("moving", (spec) => spec.devices.pop())
	let status = await cluster.status("moving", (s) => s.observedGeneration === 2)
	assert.deepEqual(status.devices, [{ name: "gpu-0", state: "Available" }])
	assert.deepEqual(status.poolStatus.validationErrors, ["ResourceClaim default/left references non-existent device 'gpu-1' in pool 'moving'"])
	await cluster.republish("moving", (spec) => spec.devices.push(device("gpu-1"), device("gpu-2")))
	status = await cluster.status("moving", (s) => s.observedGeneration === 3)
	assert.deepEqual(status.devices.map((d) => d.state), ["Available", "Allocated", "Available"])
	assert.equal(status.poolStatus.validationErrors, undefined)
	await cluster.republish("moving", (spec) => (spec.devices[0].attributes.model.string = "h100"))
	await cluster.status("moving", (s) => s.observedGeneration === 4)
	await cluster.release("default", "left")
	await cluster.remove("moving")
})

await test("slices of an older generation lose their status and are named until they are gone", async () => {
	await cluster.slice("gen-1", { node: "gen", devices: [device("gpu-0")] })
	await cluster.status("gen-1")
	await cluster.slice("gen-2", { node: "gen", generation: 2, devices: [device("gpu-0"), device("gpu-1")] })
	const status = await cluster.status("gen-2", (s) => s?.poolStatus?.validationErrors)
	assert.deepEqual(status.poolStatus.validationErrors, ["ResourceSlice gen-1 has generation 1, the pool has 2"])
	assert.equal(status.poolStatus.observedSliceCount, 1)
	await cluster.status("gen-1", (s) => s === undefined)
	await cluster.republish("gen-1", (spec) => Object.assign(spec.pool, { generation: 2, resourceSliceCount: 2 }) && (spec.devices[0].name = "gpu-2"))
	await cluster.republish("gen-2", (spec) => (spec.pool.resourceSliceCount = 2))
	await cluster.status("gen-1", (s) => s?.poolStatus && !s.poolStatus.validationErrors)
	await cluster.remove("gen-1")
	await cluster.remove("gen-2")
})

await test("an administrator who looks on holds nothing", async () => {
	await cluster.namespace("admins")
	expect(await cluster.client.patch("/api/v1/namespaces/admins", { metadata: { labels: { "resource.kubernetes.io/admin-access": "true" } } }, "merge"), 200)
	await cluster.slice("watched", { node: "watched", devices: [device("gpu-0")] })
	await cluster.claim("admins", "look", [{ pool: "watched", device: "gpu-0", adminAccess: true }], { adminAccess: true })
	await cluster.claim("default", "real", [{ pool: "watched", device: "gpu-0" }])
	const status = await cluster.status("watched", (s) => s?.summary.allocatedDevices === 1)
	assert.deepEqual(status.devices[0].allocations.map((a) => a.claimName), ["real"])
	await cluster.release("default", "real")
	await cluster.status("watched", (s) => s.summary.availableDevices === 1 && !s.devices[0].allocations)
	await cluster.release("admins", "look")
	await cluster.remove("watched")
})

await test("a burst of changes becomes few writes, and nothing new is not written", async () => {
	await cluster.slice("burst", { node: "burst", devices: Array.from({ length: 50 }, (_, i) => device(`gpu-${i}`)) })
	await cluster.status("burst")
	for (let i = 0; i < 50; i++)
		await cluster.claim("default", `burst-${i}`)
	const { body: before } = await cluster.client.get(`${slices}/burst`)
	const watch = await cluster.client.watch(`${slices}?watch=true&fieldSelector=metadata.name%3Dburst&resourceVersion=${before.metadata.resourceVersion}`)
	const begun = Date.now()
	await Promise.all(Array.from({ length: 50 }, (_, i) => cluster.allocate("default", `burst-${i}`, [{ pool: "burst", device: `gpu-${i}` }])))
	await cluster.status("burst", (s) => s.summary.allocatedDevices === 50)
	const most = 2 + (Date.now() - begun) / 20
	await until("last event", () => watch.events.at(-1)?.object.status.summary.allocatedDevices === 50)
	assert.ok(watch.events.length <= most, `${watch.events.length} writes in ${Date.now() - begun} ms`)
	// Labels of the slice and users of a claim are no matter of availability.
	const version = rv(await cluster.read("burst"))
	expect(await cluster.client.patch("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/burst-0/status",
		{ status: { reservedFor: [{ resource: "pods", name: "p", uid: "u" }] } }, "merge"), 200)
	// A later event on the same watch has been seen.
	await cluster.slice("after", { node: "after", devices: [device("gpu-0")] })
	await cluster.claim("default", "after", [{ pool: "after", device: "gpu-0" }])
	await cluster.status("after", (s) => s?.summary.allocatedDevices === 1)
	assert.equal(rv(await cluster.read("burst")), version)
	watch.close()
	for (let i = 0; i < 50; i++)
		await cluster.release("default", `burst-${i}`)
	await cluster.release("default", "after")
	await cluster.remove("burst")
	await cluster.remove("after")
})

await test("the KEP's stories with kubectl: custom-columns and describe", async () => {
	await cluster.namespace("team-a")
	for (const [i, held] of [[1, 3], [2, 1], [3, 4]]) {
		await cluster.slice(`node-${i}-gpu-slice-1`, { node: `node-${i}`, devices: [0, 1, 2, 3].map((d) => device(`gpu-${d}`)), labels: { story: "yes" } })
		for (let d = 0; d < held; d++)
			await cluster.claim("team-a", `story-${i}-${d}`, [{ pool: `node-${i}`, device: `gpu-${d}` }])
		await cluster.status(`node-${i}-gpu-slice-1`, (s) => s?.summary.allocatedDevices === held)
	}
	assert.equal(kubectl("get", "resourceslices", "-l", "story=yes", "-o", "custom-columns=NAME:.metadata.name,POOL:.spec.pool.name,TOTAL:.status.summary.totalDevices,ALLOCATED:.status.summary.allocatedDevices,AVAILABLE:.status.summary.availableDevices"),
		"NAME                 POOL     TOTAL   ALLOCATED   AVAILABLE\n" +
		"node-1-gpu-slice-1   node-1   4       3           1\n" +
		"node-2-gpu-slice-1   node-2   4       1           3\n" +
		"node-3-gpu-slice-1   node-3   4       4           0\n")
	const text = kubectl("describe", "resourceslice", "node-1-gpu-slice-1")
	for (const line of [/^Status:$/m, /Available Devices: +1$/m, /Allocated Devices: +3$/m, /Total Devices: +4$/m, /State: +Available$/m, /Claim Name: +story-1-0$/m, /Claim Namespace: +team-a$/m])
		assert.match(text, line)
	assert.match(kubectl("get", "resourceslice", "node-3-gpu-slice-1", "-o", "jsonpath={.status.summary.availableDevices}"), /^0$/)
	assert.match(kubectl("get", "resourceslices"), /^NAME +NODE +DRIVER +POOL +AGE$/m)
	for (const [i, held] of [[1, 3], [2, 1], [3, 4]]) {
		for (let d = 0; d < held; d++)
			await cluster.release("team-a", `story-${i}-${d}`)
		await cluster.remove(`node-${i}-gpu-slice-1`)
	}
})

await test("metrics have the KEP's names, and every alert asks for one that there is", async () => {
	await cluster.slice("bad", { node: "bad", count: 2, devices: [device("gpu-0")] })
	await cluster.status("bad")
	await until("metric", async () => (await controller.metric(`dra_pool_validation_errors_total{driver="${DRIVER}",pool="bad"}`)) === 1)
	const text = await controller.metrics()
	for (const name of ["dra_resourceslice_status_update_duration_seconds_bucket", "dra_resourceslice_status_update_errors_total", "dra_resourceslice_status_controller_sync_total",
		"dra_resourceslice_status_staleness_seconds", "dra_resourceslice_claims_tracked_total", "workqueue_depth{name=\"resourceslice_status\"}"])
		assert.ok(text.includes(name), name)
	const all = text + (await server.client.get("/metrics")).text
	const rules = readFileSync("../../monitoring/availability.rules.yaml", "utf8")
	const asked = new Set([...rules.matchAll(/\b((?:dra|workqueue|apiserver)_[a-z_]+)/g)].map((m) => m[1]))
	assert.ok(asked.size >= 4)
	for (const name of asked)
		assert.match(all, new RegExp(`^# TYPE ${name.replace(/_(bucket|sum|count)$/, "(_(bucket|sum|count))?")} `, "m"), name)
	await cluster.remove("bad")
	await until("no metric", async () => !(await controller.metric(`dra_pool_validation_errors_total{driver="${DRIVER}",pool="bad"}`) > 0))
})

await test("ResourcePoolStatusRequests are answered from the same counts", async () => {
	const requests = "/apis/resource.k8s.io/v1alpha3/resourcepoolstatusrequests"
	await cluster.slice("asked", { node: "asked", devices: [device("gpu-0"), device("gpu-1"), device("gpu-2", { taints: [{ key: "broken", effect: "NoSchedule" }] })] })
	await cluster.claim("default", "asked", [{ pool: "asked", device: "gpu-0" }])
	await cluster.status("asked", (s) => s?.summary.allocatedDevices === 1)
	const name = unique("ask")
	expect(await cluster.client.post(requests, { metadata: { name }, spec: { driver: DRIVER, poolName: "asked" } }), 201)
	const { status } = await until("answer", async () => {
		const { body } = await cluster.client.get(`${requests}/${name}`)
		return body.status && body
	})
	assert.deepEqual(status.conditions.map((c) => [c.type, c.status, c.reason]), [["Complete", "True", "CalculationComplete"]])
	assert.equal(status.poolCount, 1)
	const { poolName, nodeName, totalDevices, allocatedDevices, availableDevices, unavailableDevices } = status.pools[0]
	assert.deepEqual({ poolName, nodeName, totalDevices, allocatedDevices, availableDevices, unavailableDevices },
		{ poolName: "asked", nodeName: "asked", totalDevices: 3, allocatedDevices: 1, availableDevices: 1, unavailableDevices: 1 })
	await cluster.release("default", "asked")
	await cluster.remove("asked")
})

await test("with the gate off nothing is written; on again, all is repopulated", async () => {
	await cluster.slice("gated", { node: "gated", devices: [device("gpu-0")] })
	await cluster.status("gated")
	await controller.stop()
	controller = await cluster.controller("--leader-elect=false", "--feature-gates", "DRAResourceAvailabilityVisibility=false")
	await cluster.claim("default", "gated", [{ pool: "gated", device: "gpu-0" }])
	// It is at work: it answers a request, and leaves the slice alone.
	const requests = "/apis/resource.k8s.io/v1alpha3/resourcepoolstatusrequests", name = unique("ask")
	expect(await cluster.client.post(requests, { metadata: { name }, spec: { driver: DRIVER } }), 201)
	await until("answer", async () => (await cluster.client.get(`${requests}/${name}`)).body.status)
	assert.equal((await cluster.read("gated")).status.devices[0].state, "Available")
	assert.ok(Number.isNaN(await controller.metric("dra_resourceslice_status_controller_sync_total")))
	await controller.stop()
	controller = await cluster.controller("--leader-elect=false")
	await cluster.status("gated", (s) => s.devices[0].state === "Allocated")
	await cluster.release("default", "gated")
	await cluster.remove("gated")
})

await test("a server without the status of slices gets objects of their own", async () => {
	const objects = "/apis/devplane.dev/v1alpha1/resourceslicestatuses"
	const other = await startDevices({ flags: ["--feature-gates", "DRAResourceAvailabilityVisibility=false"] })
	await other.slice("foreign", { node: "n1", devices: [device("gpu-0"), device("gpu-1"), shared("gpu-2", "80Gi"), device("gpu-3", { taints: [{ key: "k", effect: "NoSchedule" }] })] })
	const own = await other.controller("--leader-elect=false")
	const read = async () => (await other.client.get(`${objects}/foreign`)).body
	await until("object", async () => (await read())?.status?.summary?.availableDevices === 3)
	await other.claim("default", "part", [share("n1", "gpu-2", "10Gi")])
	await other.claim("default", "one", [{ pool: "n1", device: "gpu-1" }])
	const object = await until("allocated", async () => {
		const o = await read()
		return o.status.summary.allocatedDevices === 2 && o
	})
	assert.deepEqual(object.status.devices.map((d) => d.state), ["Available", "Allocated", "PartiallyAllocated", "Unavailable"])
	assert.deepEqual(object.metadata.ownerReferences.map((o) => [o.kind, o.name]), [["ResourceSlice", "foreign"]])
	assert.equal((await other.read("foreign")).status, undefined)
	const columns = execFileSync("kubectl", ["--kubeconfig", other.server.kubeconfig, "get", "resourceslicestatuses"], { encoding: "utf8", env: { ...process.env, HOME: scratch } })
	assert.match(columns, /^NAME +DRIVER +POOL +DEVICES +AVAILABLE +PARTIAL +ALLOCATED +UNAVAILABLE +UNHEALTHY +AGE\nforeign +gpu\.example\.com +n1 +4 +1 +1 +1 +1 +0 /)
	await own.kill()
	await other.release("default", "one")
	await other.release("default", "part")
	await own.begin()
	await until("free again", async () => (await read()).status.summary.allocatedDevices === 0)
	await other.remove("foreign")
	await until("gone", async () => (await other.client.get(`${objects}/foreign`)).code === 404)
	await own.stop()
	await other.server.stop()
})

finish()
