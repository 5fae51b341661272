// The device page's view of the cluster's objects, without a browser: the pure modules of src/web.
import assert from "node:assert/strict"
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs"
import { finish, scratch, test } from "./lib.mjs"

// The page's files are modules by the way that they are served; Node needs a hint.
const web = new URL("../../src/web/", import.meta.url)
mkdirSync(`${scratch}/web`)
writeFileSync(`${scratch}/web/package.json`, '{"type":"module"}')
for (const file of readdirSync(web).filter((f) => f.endsWith(".js")))
	writeFileSync(`${scratch}/web/${file}`, readFileSync(new URL(file, web)))
const load = (name) => import(`${scratch}/web/${name}.js`)
const { Model } = await load("model")
const { History, stretches } = await load("history")
const { formatQuantity, parseQuantity } = await load("quantity")
const { empty, formatFragment, matcher, parseFragment } = await load("filter")
const { capacityOf } = await load("derive")
const { densityFor, placeOf, spacing } = await load("layout")
const { driversOf, kube, linked, shell, splitMessage } = await load("explain")
const { Explanations } = await load("explanations")
const { keptChanges } = await load("history")
const { Sums } = await load("sums")
const { roundUp } = await load("chart")
const { figuresNow } = await load("now")
const { Turns } = await load("api")
const { csvCell } = await load("export")
const { ticksOf } = await load("timeline")

const DRIVER = "gpu.example.com"
let version = 0
const meta = (name, more = {}) => ({ name, uid: `uid-${name}`, resourceVersion: String(++version), creationTimestamp: "2026-01-01T00:00:00Z", ...more })
// A slice whose status says that all devices are available, but for what `states` says of some.
const slice = (name, { pool = "n1", node = "n1", generation = 1, count = 1, devices = ["gpu-0", "gpu-1"], states = {}, observed = 1, poolStatus, status } = {}) => {
	const all = devices.map((d) => (typeof d === "string" ? { name: d } : d))
	const own = { observedGeneration: observed, poolStatus, devices: all.map((d) => ({ name: d.name, state: "Available", ...states[d.name] })) }
	return {
		metadata: meta(name, { generation: 1 }),
		spec: { driver: DRIVER, pool: { name: pool, generation, resourceSliceCount: count }, ...node ? { nodeName: node } : { allNodes: true }, devices: all },
		status: status === undefined ? own : status ?? undefined,
	}
}
const held = (...claims) => ({ state: "Allocated", allocations: claims.map((c) => ({ claimNamespace: "default", claimName: c, claimUID: `uid-${c}`, request: "gpu" })) })
const claim = (name, devices = [], { pods = [], entries, ...more } = {}) => ({
	metadata: meta(name, { namespace: "default" }), spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] } },
	status: {
		allocation: devices.length ? { devices: { results: devices.map((d) => ({ request: "gpu", driver: DRIVER, pool: "n1", device: d, ...more })) } } : undefined,
		reservedFor: pods.map((p) => ({ resource: "pods", name: p, uid: p })), devices: entries,
	},
})
const pod = (name, { node = "n1", phase = "Running", health = {}, resource = "claim:gpu", ...more } = {}) => ({
	metadata: meta(name, { namespace: "default" }), spec: { nodeName: node, containers: [{ name: "main" }], ...more.spec },
	status: {
		phase, conditions: more.conditions, resourceClaimStatuses: more.claims,
		containerStatuses: [{ name: "main", allocatedResourcesStatus: [{ name: resource, resources: Object.entries(health).map(([id, [h, message]]) => ({ resourceID: id, health: h, message })) }] }],
	},
})
const key = (device, pool = "n1") => `${DRIVER}/${pool}/${device}`

function model(objects = {}) {
	const clock = { time: Date.parse("2026-01-01T10:00:00Z") }
	const m = Object.defineProperty(new Model({ now: () => clock.time }), "time", { get: () => clock.time, set: (t) => (clock.time = t) })
	for (const name of ["slices", "statuses", "claims", "pods", "nodes", "rules", "classes", "events", "histories"]) {
		m.setAccess(name, "ok")
		m.replace(name, objects[name] ?? [])
	}
	m.take()
	m.goLive()
	return m
}
const state = (m, device, pool) => {
	const d = m.devices.get(key(device, pool))
	return d && `${d.state} ${d.health}`
}

await test("a device is what its slice publishes, whatever claims, taints and pods say", () => {
	const m = model({ slices: [slice("s")] })
	assert.equal(state(m, "gpu-0"), "free untold")
	m.apply("claims", claim("c", ["gpu-0"], { pods: ["p"] }))
	m.apply("rules", { metadata: meta("r"), spec: { deviceSelector: { driver: DRIVER, device: "gpu-0" }, taint: { key: "repair", effect: "NoExecute" } } })
	m.apply("pods", pod("p", { health: { [key("gpu-0")]: ["Unhealthy", "Xid 79"] } }))
	m.take()
	assert.equal(state(m, "gpu-0"), "free untold")
	m.apply("slices", slice("s", { states: { "gpu-0": held("c") } }))
	assert.deepEqual([...m.take().devices], [key("gpu-0")])
	assert.equal(state(m, "gpu-0"), "allocated untold")
	assert.deepEqual(m.devices.get(key("gpu-0")).pods, ["default/p"])
	assert.deepEqual(m.counts.state, { free: 1, partial: 0, allocated: 1, unavailable: 0, unpublished: 0 })
	m.apply("slices", slice("s"))
	m.take()
	assert.equal(state(m, "gpu-0"), "free untold")
	assert.equal(m.counts.state.free, 2)
})

await test("every device is in one state, and the states add up to the devices", () => {
	const taint = [{ key: "example.com/maintenance", effect: "NoSchedule" }]
	const m = model({ slices: [
		slice("s", {
			devices: ["free", "broken", "shared", "held", { name: "repair", taints: taint }, "out"],
			states: {
				broken: { health: "Unhealthy" }, shared: { ...held("a"), state: "PartiallyAllocated" }, held: held("b"),
				repair: { state: "Unavailable", stateReason: "Tainted: example.com/maintenance" }, out: { state: "Unavailable", stateReason: "CountersExhausted" },
			},
		}),
		slice("half", { pool: "n2", count: 2, devices: ["x", "y"], states: { x: { state: "Unavailable", stateReason: "PoolIncomplete" }, y: { state: "Unavailable", stateReason: "PoolIncomplete" } } }),
		slice("new", { pool: "n3", devices: ["z"], status: null }),
	] })
	const { counts } = m
	assert.deepEqual(counts.state, { free: 2, partial: 1, allocated: 1, unavailable: 4, unpublished: 1 })
	assert.equal(Object.values(counts.state).reduce((a, b) => a + b), counts.devices)
	assert.deepEqual(counts.health, { healthy: 0, unhealthy: 1, unknown: 0, untold: 7 })
	assert.equal(counts.freeUnhealthy, 1)
	m.replace("slices", [])
	m.take()
	assert.deepEqual(counts, m.noCounts())
})

await test("a taint for maintenance is a reason, and not ill health", () => {
	const taints = [{ key: "example.com/unhealthy", effect: "NoSchedule" }]
	const m = model({ slices: [slice("s", { devices: [{ name: "gpu-0", taints }, "gpu-1"], states: { "gpu-0": { state: "Unavailable", stateReason: "Tainted: example.com/unhealthy" } } })] })
	assert.equal(state(m, "gpu-0"), "unavailable untold")
	assert.equal(m.devices.get(key("gpu-0")).reason, "Tainted: example.com/unhealthy")
	assert.equal(m.counts.health.unhealthy, 0)
	m.apply("rules", { metadata: meta("r"), spec: { deviceSelector: { driver: DRIVER, device: "gpu-1" }, taint: { key: "repair", effect: "NoExecute" } } })
	assert.ok(m.take().rules)
	assert.deepEqual(m.ruleTaints(key("gpu-1")), [{ key: "repair", effect: "NoExecute", rule: "r" }])
	assert.deepEqual(m.ruleTaints(key("gpu-0")), [])
})

await test("an unhealthy device that nobody holds is free, and marked", () => {
	const broken = { health: "Unhealthy", healthMessage: "Xid 79", healthSince: "2026-01-01T09:00:00Z", healthSource: "node n1" }
	const m = model({ slices: [slice("s", { states: { "gpu-0": broken, "gpu-1": { health: "Unknown" } } })] })
	const d = m.devices.get(key("gpu-0"))
	assert.deepEqual([state(m, "gpu-0"), state(m, "gpu-1"), d.message, d.healthFrom], ["free unhealthy", "free unknown", "Xid 79", "node n1"])
	assert.equal(m.since(d), Date.parse("2026-01-01T09:00:00Z"))
	assert.equal(m.counts.freeUnhealthy, 1)
	m.apply("slices", slice("s", { states: { "gpu-0": broken, "gpu-1": broken } }))
	m.take()
	assert.deepEqual(m.history(key("gpu-1")).map((r) => r.at), [d.since], "what is seen late began when it was published to begin")
	m.apply("slices", slice("s", { states: { "gpu-0": { health: "Healthy" } } }))
	m.time += 1000
	m.take()
	assert.equal(state(m, "gpu-0"), "free healthy")
	assert.equal(m.since(m.devices.get(key("gpu-0"))), m.time, "nobody published since when: the page saw it")
	assert.equal(m.counts.freeUnhealthy, 0)
})

await test("many events of one device between two pictures are one change", () => {
	const m = model({ slices: [slice("s")] })
	for (let i = 0; i < 100; i++)
		m.apply("slices", slice("s", { states: i % 2 ? {} : { "gpu-0": held("c") } }))
	m.apply("slices", slice("s", { states: { "gpu-1": held("c") } }))
	const changes = m.take()
	assert.deepEqual([...changes.devices], [key("gpu-1")])
	assert.equal(m.take().touched.size, 0)
})

await test("a shared device says what is left, and how many claims are not named", () => {
	const device = { name: "gpu-0", allowMultipleAllocations: true, capacity: { memory: { value: "80Gi" }, slots: { value: "64" } } }
	const left = { ...held("a", "b"), state: "PartiallyAllocated", omittedAllocations: 5, capacity: { memory: "80Gi", slots: "64" }, availableCapacity: { memory: "20Gi", slots: "57" } }
	const m = model({ slices: [slice("s", { devices: [device], states: { "gpu-0": left } })] })
	const d = m.devices.get(key("gpu-0"))
	assert.equal(state(m, "gpu-0"), "partial untold")
	assert.deepEqual([d.holders.map((h) => h.name), d.omitted], [["a", "b"], 5])
	assert.deepEqual(capacityOf(d)[0], { name: "memory", total: "80Gi", free: "20Gi", part: 0.75 })
	m.apply("slices", slice("s", { devices: [device], states: { "gpu-0": { ...left, state: "Allocated", stateReason: "CapacityExhausted", omittedAllocations: 6 } } }))
	m.take()
	assert.deepEqual([state(m, "gpu-0"), d.reason, d.omitted], ["allocated untold", "CapacityExhausted", 6])
})

await test("access for administrators holds nothing and is shown", () => {
	const m = model({ slices: [slice("s")], claims: [claim("admin", ["gpu-0"], { adminAccess: true, pods: ["p"] })] })
	const d = m.devices.get(key("gpu-0"))
	assert.deepEqual([state(m, "gpu-0"), d.holders.length, d.admins.map((h) => h.name), d.pods], ["free untold", 0, ["admin"], ["default/p"]])
	m.replace("claims", [])
	m.take()
	assert.deepEqual([d.admins, d.pods, m.admins.size], [[], [], 0])
})

await test("a status that is missing, behind its slice or without the device says nothing", () => {
	const m = model({ slices: [slice("s")] })
	const counted = (number) => {
		m.take()
		assert.deepEqual([m.counts.devices, m.counts.state.unpublished, m.counts.state.free], [2, number, 2 - number])
		assert.equal(Object.values(m.counts.health).reduce((a, b) => a + b), 2 - number, "no health either")
	}
	assert.equal(m.unpublishedSince, 0)
	m.apply("slices", slice("s", { status: null }))
	counted(2)
	assert.equal(state(m, "gpu-0"), "unpublished unpublished")
	assert.equal(m.unpublishedSince, m.time)
	m.apply("slices", slice("s", { observed: 0 }))
	counted(2)
	m.apply("slices", slice("s", { status: { observedGeneration: 1, devices: [{ name: "gpu-1", state: "Available" }] } }))
	counted(1)
	m.apply("slices", slice("s", { observed: 2 }))
	counted(0)
	assert.equal(m.unpublishedSince, 0)
	assert.deepEqual(m.history(key("gpu-0")), [], "a state that is not known is no change of health")
})

await test("where slices have no status, the object counts that the slice owns", () => {
	const bare = slice("s", { status: null }), { status } = slice("s", { states: { "gpu-0": held("c") } })
	const object = (uid, more) => ({ metadata: { name: "s", uid: "o", ownerReferences: [{ kind: "ResourceSlice", name: "s", uid }] }, spec: {}, status: { ...status, ...more } })
	const m = model({ slices: [bare], statuses: [object("uid-s")] })
	assert.deepEqual([state(m, "gpu-0"), state(m, "gpu-1")], ["allocated untold", "free untold"])
	m.apply("statuses", object("uid-s", { observedGeneration: 0 }))
	m.take()
	assert.equal(state(m, "gpu-0"), "unpublished unpublished", "it is of an older version of the slice")
	m.apply("statuses", object("another"))
	m.take()
	assert.equal(state(m, "gpu-0"), "unpublished unpublished", "it is of another slice of that name")
	m.apply("statuses", object("uid-s", { poolStatus: { validationErrors: ["twice"] } }))
	assert.ok(m.take().pools.has(`${DRIVER}/n1`))
	assert.deepEqual(m.troubledPools().map((p) => p.trouble), [["twice"]])
	m.apply("slices", slice("s"))
	m.take()
	assert.equal(state(m, "gpu-0"), "free untold", "the slice's own status counts more")
})

await test("kept changes come before what events say and the page saw", () => {
	const change = (time, field, from, to, more) => ({ time: `2026-01-01T${time}Z`, field, from, to, ...more })
	const kept = (omittedChanges, ...changes) => ({
		metadata: meta("pool-1", { creationTimestamp: "2026-01-01T01:00:00Z" }), spec: { driver: DRIVER, pool: { name: "n1" } },
		status: { devices: [{ name: "gpu-0", omittedChanges, changes }] },
	})
	const past = [
		change("02:00:00", "state", "Available", "Allocated", { holder: "default/c" }), change("03:00:00", "health", "Healthy", "Unhealthy", { message: "Xid 79" }),
		change("03:00:02", "state", "Allocated", "Unavailable", { reason: "Tainted: x" }),
	]
	const m = model({ slices: [slice("s")], histories: [kept(0, ...past)] })
	assert.deepEqual(m.history(key("gpu-0")).map((r) => `${r.before} ${r.health} ${r.message} ${r.source}`), ["healthy unhealthy Xid 79 kept"])
	const { state: states, from } = m.kept.get(key("gpu-0"))
	assert.deepEqual(states.map((r) => `${r.health} ${r.holder}${r.message}`), ["allocated default/c", "unavailable Tainted: x"])
	assert.equal(new Date(from).toISOString(), "2026-01-01T01:00:00.000Z", "nothing is missing since the object was made")
	m.apply("events", {
		metadata: meta("e", { namespace: "default" }), reason: "DeviceUnhealthy", lastTimestamp: "2026-01-01T03:00:05Z", involvedObject: { namespace: "default", name: "p" },
		message: `Device ${key("gpu-0")} of claim:gpu: Healthy -> Unhealthy: Xid 79`,
	})
	assert.equal(m.history(key("gpu-0")).length, 1, "an event about the same change")
	m.apply("histories", kept(7, ...past))
	assert.ok(m.take().touched.has(key("gpu-0")))
	assert.equal(new Date(m.kept.get(key("gpu-0")).from).toISOString(), "2026-01-01T02:00:00.000Z", "older changes were dropped")
	m.replace("histories", [])
	assert.equal(m.kept.size, 0)
})

await test("without the right to read claims, holders are those that the slice's status names", () => {
	const m = model({ slices: [slice("s", { states: { "gpu-0": held("c") } })] })
	m.setAccess("claims", "forbidden") // as a watch does
	m.take()
	assert.equal(state(m, "gpu-0"), "allocated untold")
	assert.equal(m.devices.get(key("gpu-0")).holders[0].name, "c")
})

await test("pods are those of the claim that holds the device, not of another with its name", () => {
	const other = claim("c", [], { pods: ["p"] })
	other.metadata.uid = "another"
	const m = model({ slices: [slice("s", { states: { "gpu-0": held("c") } })], claims: [other] })
	assert.deepEqual(m.devices.get(key("gpu-0")).pods, [])
	m.apply("claims", claim("c", ["gpu-0"], { pods: ["p"] }))
	m.take()
	assert.deepEqual(m.devices.get(key("gpu-0")).pods, ["default/p"])
})

await test("a pool's newest generation counts alone, and its trouble is what is published", () => {
	const m = model({ slices: [slice("old", { devices: ["gpu-0", "gpu-1"] })] })
	const poolStatus = {
		conditions: [{ type: "Complete", status: "False", reason: "MissingSlices", message: "1 of 2 slices are there" }], observedSliceCount: 1, expectedSliceCount: 2,
	}
	const missing = { state: "Unavailable", stateReason: "PoolIncomplete" }
	const half = (more) => slice("new-1", { generation: 2, count: 2, devices: ["gpu-1"], states: { "gpu-1": missing }, ...more })
	m.apply("slices", half({ poolStatus }))
	let changes = m.take()
	assert.deepEqual([...m.devices.keys()], [key("gpu-1")])
	assert.deepEqual([...changes.removed], [key("gpu-0")])
	assert.deepEqual([state(m, "gpu-1"), m.devices.get(key("gpu-1")).reason], ["unavailable untold", "PoolIncomplete"])
	assert.deepEqual(m.troubledPools().map((p) => p.trouble), [["1 of 2 slices are there"]])
	assert.ok(changes.pools.has(`${DRIVER}/n1`))
	m.apply("slices", half({ poolStatus, observed: 0 }))
	m.take()
	assert.equal(m.troubledPools().length, 0, "a status of another version of the slice says nothing")
	m.apply("slices", half({ states: {} }))
	m.apply("slices", slice("new-2", { generation: 2, count: 2, devices: ["gpu-2"] }))
	changes = m.take()
	assert.deepEqual([...m.devices.keys()].sort(), [key("gpu-1"), key("gpu-2")])
	assert.equal(state(m, "gpu-1"), "free untold")
	assert.equal(m.troubledPools().length, 0)
	m.apply("slices", slice("old"), true)
	m.take()
	assert.equal(m.devices.size, 2)
	m.replace("slices", [])
	m.take()
	assert.equal(m.devices.size + m.pools.size + m.offers.size, 0)
	assert.equal(m.counts.devices, 0)
})

await test("objects that a new list lacks are removed", () => {
	const m = model({ slices: [slice("a"), slice("b", { pool: "n2", node: "n2" })], claims: [claim("c", ["gpu-0"])] })
	m.replace("slices", [slice("b", { pool: "n2", node: "n2" })])
	m.replace("claims", [])
	const changes = m.take()
	assert.deepEqual([...m.devices.keys()], [key("gpu-0", "n2"), key("gpu-1", "n2")])
	assert.equal(changes.removed.size, 2)
	assert.ok(changes.claims.has("default/c"))
})

await test("devices of plugins: those of pods by name, the rest by number", () => {
	const node = (allocatable) => ({ metadata: meta("n1"), status: { capacity: { cpu: "8", "example.com/fpga": "3" }, allocatable: { cpu: "8", "example.com/fpga": allocatable } } })
	const m = model({ nodes: [node("3")], pods: [pod("p", { resource: "example.com/fpga", health: { f7: ["Healthy"] } })] })
	const all = () => [...m.devices.values()].map((d) => `${d.name} ${d.state} ${d.health}`).sort()
	assert.deepEqual(all(), ["#1 free untold", "#2 free untold", "f7 allocated healthy"])
	m.apply("nodes", node("2"))
	m.take()
	assert.deepEqual(all(), ["#1 free untold", "#2 unavailable unhealthy", "f7 allocated healthy"])
	assert.deepEqual([m.counts.devices, m.counts.plugins, m.counts.pluginsUnhealthy], [0, 3, 1], "they are counted apart")
	m.apply("pods", pod("p", { resource: "example.com/fpga", health: { f7: ["Unhealthy", "hot"] } }))
	m.take()
	assert.deepEqual(all(), ["#1 free untold", "#2 free untold", "f7 allocated unhealthy"])
	m.apply("pods", pod("p", { phase: "Failed", resource: "example.com/fpga", health: { f7: ["Unhealthy", "hot"] } }))
	m.take()
	assert.deepEqual(all(), ["#1 free untold", "#2 free untold", "#3 unavailable unhealthy"], "a pod that has ended has no device")
	m.replace("pods", [])
	m.apply("nodes", { metadata: meta("n1"), status: {} })
	m.take()
	assert.deepEqual(all(), [])
})

await test("waiting pods say why, and what of theirs is missing", () => {
	const spec = { nodeName: undefined, resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "t" }] }
	const waits = pod("w", { phase: "Pending", spec, conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/2 nodes are available" }], claims: [{ name: "gpu", resourceClaimName: "w-gpu" }] })
	const m = model({ pods: [waits, pod("plain", { phase: "Pending" })], claims: [claim("w-gpu")] })
	assert.deepEqual([...m.waiting.keys()], ["default/w"])
	let w = m.waiting.get("default/w")
	assert.equal(`${w.reason}: ${w.message}`, "Unschedulable: 0/2 nodes are available")
	assert.deepEqual(w.wants.map((x) => `${x.claim} ${x.text} ${x.state}`), ["w-gpu 1 of class gpu not allocated"])
	m.apply("claims", claim("w-gpu", ["gpu-0"], { pods: ["w"] }))
	assert.ok(m.take().waiting)
	assert.equal(m.waiting.get("default/w").wants[0].state, "allocated")
	m.apply("pods", { ...waits, status: { ...waits.status, phase: "Running" } })
	m.take()
	assert.equal(m.waiting.size, 0)
	m.apply("pods", pod("x", { phase: "Pending", spec: { containers: [{ name: "main", resources: { limits: { "example.com/fpga": "2", cpu: "1" } } }] } }))
	m.take()
	w = m.waiting.get("default/x")
	assert.deepEqual(w.wants.map((x) => `${x.name} ${x.amount}`), ["example.com/fpga 2"])
	assert.match(w.message, /on node n1/)
})

await test("what explain-fit looks at has a version, which nothing else changes", () => {
	const node = (more) => ({ metadata: meta("n1", { labels: { a: "b" }, ...more }), status: { conditions: [] } })
	const m = model({ slices: [slice("s")], claims: [claim("c")], nodes: [node()] })
	const changes = (change) => {
		const before = m.fitVersion
		change()
		return m.fitVersion !== before
	}
	assert.ok(!changes(() => m.apply("slices", slice("s", { states: { "gpu-0": { health: "Unhealthy" } } }))), "a status")
	assert.ok(!changes(() => m.apply("nodes", node())), "a heartbeat")
	assert.ok(!changes(() => m.apply("pods", pod("p"))), "another pod")
	assert.ok(!changes(() => m.replace("claims", [claim("c")])), "a list of the same")
	assert.ok(changes(() => m.apply("claims", claim("c", ["gpu-0"]))))
	assert.ok(changes(() => m.apply("nodes", node({ labels: {} }))))
	assert.ok(changes(() => m.apply("classes", { metadata: meta("gpu"), spec: {} })))
	assert.ok(changes(() => m.apply("slices", slice("s"), true)))
})

await test("explanations are asked for one at a time, and again only when their version changes", async () => {
	const asked = [], pauses = [], waiting = []
	let version = 1
	const e = new Explanations({
		ask: (what) => new Promise((resolve, reject) => waiting.push({ resolve, reject }) && asked.push(`${what.namespace}/${what.pod}`)),
		changed: () => {}, version: () => version, pause: async (ms) => pauses.push(ms), now: () => 7,
	})
	const turn = () => new Promise((resolve) => setImmediate(resolve))
	const w = (name) => ({ key: `default/${name}`, namespace: "default", name })
	for (const name of ["a", "b", "a"])
		e.want(w(name))
	assert.deepEqual([asked, e.of(w("a")).state, e.of(w("b")).state, e.of(w("c"))], [["default/a"], "asking", "asking", undefined])
	waiting.shift().resolve({ answer: "yes" })
	await turn()
	assert.deepEqual([asked.at(-1), e.of(w("a")).answer, e.of(w("a")).at, e.of(w("a")).outdated], ["default/b", { answer: "yes" }, 7, false])
	waiting.shift().reject(Object.assign(new Error("busy"), { status: 429 }))
	await turn()
	assert.deepEqual([asked.length, pauses], [3, [1000]])
	waiting.shift().reject(new Error("forbidden"))
	await turn()
	assert.deepEqual([e.of(w("b")).state, e.of(w("b")).message], ["failed", "forbidden"])
	e.want(w("a"))
	assert.equal(asked.length, 3, "it is still true")
	version++
	assert.ok(e.of(w("a")).outdated)
	e.want(w("a"))
	assert.deepEqual([asked.length, e.of(w("a")).state, e.of(w("a")).answer], [4, "asking", { answer: "yes" }])
	e.keep(new Map([["default/b", 1]]))
	waiting.shift().resolve({})
	await turn()
	assert.equal(e.of(w("a")), undefined, "a pod that waits no longer")
})

await test("slots take turns, and those that share a slot take turns in it", async () => {
	const turns = new Turns(), order = []
	let running = 0
	const follow = async (slot, name, times) => {
		for (let i = 0; i < times; i++)
			await turns.take(slot, async () => {
				assert.equal(++running, 1, "one at a time")
				await new Promise((resolve) => setImmediate(resolve))
				order.push(name)
				running--
			})
	}
	await Promise.all([follow("nodes", "n", 4), follow("events", "e1", 2), follow("events", "e2", 2), follow("rules", "r", 4)])
	assert.equal(order.join(" "), "n e1 r n e2 r n e1 r n e2 r")
	await assert.rejects(turns.take("nodes", async () => { throw new Error("broken") }), /broken/)
	assert.equal(await turns.take("nodes", async () => 7), 7)
})

// An hour until the time of model(), in steps of ten minutes; `changes` of devices are [minutes before, field, from, to, holder].
const minute = 60_000
function summed(objects, changes, { omitted = {}, ...more } = {}) {
	const m = model(objects)
	const entry = ([name, all]) => ({ name, omittedChanges: omitted[name], changes: all.map(([ago, field, from, to, holder]) => ({ time: new Date(m.time - ago * minute).toISOString(), field, from, to, holder })) })
	m.apply("histories", { metadata: meta("pool"), spec: { driver: DRIVER, pool: { name: "n1" } }, status: { devices: Object.entries(changes).map(entry) } })
	m.take()
	const sums = new Sums({ devices: m.devices, kept: m.kept, now: m.time, span: 60 * minute, steps: 6, ...more })
	assert.ok(sums.run())
	return { sums, ...Object.fromEntries(Object.entries(sums.lines()).map(([name, lines]) => [name, Object.fromEntries(lines.map((l) => [l.name, l.values.join(" ")]))])) }
}

await test("kept changes are summed per step: states, healths, changes of health, and namespaces that held devices", () => {
	const s = slice("s", { devices: ["gpu-0", "gpu-1", "gpu-2"], states: { "gpu-0": { health: "Healthy" }, "gpu-1": { ...held("now"), health: "Unhealthy" } } })
	const { state: states, health, changes, held: holders, free, hours, sums } = summed({ slices: [s] }, {
		"gpu-0": [[45, "state", "Available", "Allocated", "team-a/train"], [25, "state", "Allocated", "Available", "team-a/train"]],
		"gpu-1": [[35, "health", "Healthy", "Unhealthy"], [34, "health", "Unhealthy", "Healthy"], [5, "health", "Healthy", "Unhealthy"], [5, "state", "Available", "Allocated", "default/now"]],
		"gpu-9": [[15, "state", "Allocated", "Gone", "team-b/old"]],
	})
	assert.deepEqual(states, { free: "3 2 2 3 3 2", allocated: "1 2 2 1 0 1" }, "a device that is gone is not counted")
	assert.deepEqual(health, { healthy: "2 2 2 2 2 1", unhealthy: "0 0 0 0 0 1", untold: "1 1 1 1 1 1", unpublished: "1 1 1 1 0 0" })
	assert.deepEqual(changes, { healthy: "0 0 1 0 0 0", unhealthy: "0 0 1 0 0 1" })
	assert.deepEqual(holders, { "team-a": "0 1 1 0 0 0", "team-b": "1 1 1 1 0 0", default: "0 0 0 0 0 1" })
	assert.deepEqual(sums.known, { devices: 3, changes: 3, omitted: 0 })
	assert.deepEqual(free, { [`${DRIVER} n1`]: "3 2 2 3 3 2" })
	assert.deepEqual(hours, { "team-a": "0 0.5 1 0.5 0 0", "team-b": "1 1 1 1 0.5 0", default: "0 0 0 0 0 0.5" }, "a part of a step counts as that part")
	const [{ name, values }] = sums.lines().utilization
	assert.deepEqual([name, ...values.map((v) => v.toFixed(3))], [DRIVER, "0.250", "0.375", "0.500", "0.375", "0.143", "0.167"], "a device that is gone has no time")
})

await test("the third failure within half an hour is a flap, as the controller's metric counts it", () => {
	const s = slice("s", { states: { "gpu-0": { health: "Unhealthy" } } })
	const fails = (...all) => all.flatMap((ago) => [[ago, "health", "Healthy", "Unhealthy"], [ago - 1, "health", "Unhealthy", "Healthy"]])
	// The third is 31 minutes after the first, the fourth 30 minutes after the second.
	const { changes, sums } = summed({ slices: [s] }, { "gpu-0": fails(55, 44, 24, 14) })
	assert.deepEqual(changes, { healthy: "1 1 0 1 1 0", unhealthy: "1 1 0 1 1 0", flaps: "0 0 0 0 1 0" })
	assert.equal(sums.known.changes, 8)
	const worse = [[25, "health", "Healthy", "Unhealthy"], [20, "health", "Unhealthy", "Unknown"], [15, "health", "Unknown", "Unhealthy"]]
	assert.equal(summed({ slices: [s] }, { "gpu-0": worse }).changes.flaps, undefined, "it fails once")
})

await test("of many pools those with the fewest free devices have lines, and where nothing is known there is no utilization", () => {
	const slices = Array.from({ length: 9 }, (_, i) => slice(`s${i}`, { pool: `n${i}`, node: `n${i}`, devices: ["gpu-0", "gpu-1"], states: i < 3 ? { "gpu-0": held("c") } : {} }))
	const { free } = summed({ slices }, {})
	assert.deepEqual(Object.keys(free), [0, 1, 2, 3, 4, 5, 6].map((i) => `${DRIVER} n${i}`))
	assert.deepEqual([free[`${DRIVER} n2`], free[`${DRIVER} n3`]], ["1 1 1 1 1 1", "2 2 2 2 2 2"])
	const full = summed({ slices: [slice("s", { devices: ["gpu-0"], states: { "gpu-0": held("c") } })] }, {})
	assert.deepEqual(full.free, { [`${DRIVER} n1`]: "0 0 0 0 0 0" }, "a pool without a free device has a line")
	const late = summed({ slices: [slice("s", { devices: ["gpu-0"] })] }, { "gpu-0": [[30, "state", "Allocated", "Available", "a/b"]] }, { omitted: { "gpu-0": 1 } })
	assert.deepEqual(late.utilization, { [DRIVER]: "NaN NaN NaN 0 0 0" })
})

await test("the figures of now are those of the dashboard", () => {
	const memory = { capacity: { memory: { value: "80Gi" } }, allowMultipleAllocations: true }
	const part = (left, claims, more) => ({ state: "PartiallyAllocated", availableCapacity: { memory: left }, allocations: held(...claims).allocations, ...more })
	const slices = [
		slice("a", { devices: ["gpu-0", "gpu-1"], states: { "gpu-0": { ...held("c"), health: "Unhealthy" } } }),
		slice("b", { pool: "n2", node: "n2", devices: [{ name: "s-0", ...memory }, { name: "s-1", ...memory }], states: {
			"s-0": part("30Gi", ["x", "y"], { omittedAllocations: 1 }), "s-1": { state: "Unavailable", availableCapacity: { memory: "80Gi" } } } }),
		slice("c", { pool: "n3", node: "n3", devices: [], poolStatus: { validationErrors: ["twice", "thrice"] } }),
		slice("d", { pool: "n3", node: "n3", devices: ["gpu-0"], poolStatus: { validationErrors: ["twice", "thrice"] }, states: { "gpu-0": { state: "Unavailable" } } }),
	]
	const waiting = (name, reason, message, more) => pod(name, { node: "", phase: "Pending", conditions: reason === undefined ? [] : [{ type: "PodScheduled", status: "False", reason, message }], spec: { resourceClaims: [{ name: "gpu", resourceClaimName: "c" }] }, ...more })
	const rule = (name, device, labels) => ({ metadata: meta(name, { labels }), spec: { deviceSelector: { driver: DRIVER, pool: "n1", device }, taint: { key: "a", effect: "NoSchedule" } } })
	const m = model({
		slices, rules: [rule("one", "gpu-0", { "devplane.dev/managed-by": "device-health-taints" }), rule("other", "gpu-1")],
		claims: [
			{ ...claim("p"), metadata: meta("p", { namespace: "default", ownerReferences: [{ kind: "Pod", name: "w" }] }) }, claim("mine"),
			{ ...claim("d", ["gpu-0"]), metadata: meta("d", { namespace: "default", deletionTimestamp: "2026-01-01T09:00:00Z" }) },
		],
		pods: [
			waiting("a"), waiting("b", "SchedulingGated", "gates"), waiting("c", "Unschedulable", "0/1 nodes: 1 cannot allocate all claims"), waiting("d", "Unschedulable", "0/1 nodes: 1 cannot allocate all claims"),
			waiting("e", "Unschedulable", 'waiting for resource claim "x"'), waiting("f", "SchedulerError", "oh"), waiting("g", "Unschedulable", "Insufficient cpu"),
			pod("placed", { phase: "Pending", spec: { resourceClaims: [{ name: "gpu", resourceClaimName: "c" }] } }),
		],
	})
	m.take()
	const now = (match) => {
		const sums = new Sums({ devices: m.devices, kept: m.kept, now: m.time, span: 60 * minute, steps: 6, match })
		sums.run()
		return figuresNow(sums.figures, m, match)
	}
	const all = now()
	assert.deepEqual([all.devices, all.free, all.allocated, all.unhealthy, all.lacking], [5, 2, 0.2, 1, 2])
	assert.deepEqual(all.capacity, [{ name: `${DRIVER} memory`, value: 30 * 2 ** 30 }], "nothing of a device that is unavailable is free")
	assert.deepEqual(all.used, [{ name: `${DRIVER} memory`, value: 1 - 30 / 160 }])
	assert.deepEqual(all.shares, [{ name: `${DRIVER} n2`, value: 3 }])
	assert.deepEqual(all.faults, [{ name: `${DRIVER} n3`, value: 2 }])
	assert.deepEqual(all.taints, [{ name: "tainted", value: 1 }])
	assert.deepEqual(all.claims.map((c) => `${c.name} ${new Date(c.since).toISOString()}`), ["pending 2026-01-01T00:00:00.000Z", "deleting 2026-01-01T09:00:00.000Z"])
	assert.deepEqual(all.waiting.map((w) => `${w.name} ${w.value}`), ["NotTried 1", "Gated 1", "NoDevice 2", "Claim 1", "SchedulerError 1", "Other 1"])
	const one = now((d) => d.pool === "n2")
	assert.deepEqual([one.devices, one.faults, one.taints, one.lacking], [2, [], [], 2])
	m.setAccess("pods", "forbidden")
	assert.ok(Number.isNaN(now().lacking))
	assert.deepEqual([0, 1023, 80 * 2 ** 30, 139.5 * 2 ** 30, 1e6].map(formatQuantity), ["0", "1,023", "80Gi", "139.5Gi", "1,000,000"])
})

await test("what is not known is said, and a device without changes is as it is now", () => {
	const s = slice("s", { devices: ["gpu-0", "gpu-1"], states: { "gpu-1": held("long") } })
	const { state: states, held: holders, sums } = summed({ slices: [s] }, { "gpu-0": [[25, "state", "Unavailable", "Available"]] }, { omitted: { "gpu-0": 7 } })
	assert.deepEqual(states, { free: "0 0 0 1 1 1", allocated: "1 1 1 1 1 1", unpublished: "1 1 1 0 0 0" })
	assert.deepEqual(holders, { default: "1 1 1 1 1 1" })
	assert.equal(sums.known.omitted, 1)
	const only = summed({ slices: [s] }, { "gpu-9": [[25, "state", "Available", "Gone"]] }, { match: (d) => d.name === "gpu-1" })
	assert.deepEqual(only.state, { allocated: "1 1 1 1 1 1" })
	assert.deepEqual(summed({ slices: [] }, {}).state, {})
})

await test("many namespaces are a few lines, and an axis ends at a round number", () => {
	const devices = Array.from({ length: 12 }, (_, i) => `gpu-${i}`)
	const changes = Object.fromEntries(devices.map((name, i) => [name, [[50 - i, "state", "Available", "Allocated", `ns-${i}/c`], [1, "state", "Allocated", "Available", `ns-${i}/c`]]]))
	const { held: holders } = summed({ slices: [slice("s", { devices })] }, changes)
	assert.deepEqual([Object.keys(holders).length, Object.keys(holders).at(-1)], [8, "others"])
	assert.equal(holders.others.split(" ")[4], "5")
	assert.deepEqual([0, 3, 5, 7, 11, 41, 100, 640].map(roundUp), [4, 4, 5, 10, 20, 50, 100, 1000])
})

await test("a sum is made in parts, and its work is that of the changes, whatever the number of steps", () => {
	const kept = new Map(), devices = new Map()
	for (let i = 0; i < 10_000; i++) {
		const device = { key: `d${i}`, driver: "a", pool: "b", plugin: false, state: "free", health: "healthy", holders: [], capacity: {} }
		devices.set(device.key, device)
		kept.set(device.key, keptChanges({ metadata: {} }, { changes: [{ time: "2026-01-01T00:00:00Z", field: "state", from: "Allocated", to: "Available", holder: "a/b" }] }))
	}
	const sums = (count, steps) => new Sums({ devices: new Map([...devices].slice(0, count)), kept: new Map([...kept].slice(0, count)), now: Date.parse("2026-01-01T01:00:00Z"), span: 120 * minute, steps })
	const whole = sums(10_000, 60)
	let parts = 1
	while (!whole.run(() => true))
		parts++
	assert.equal(parts, Math.ceil(10_000 / 64), "the page gets its turn after each part")
	assert.equal(whole.lines().state.find((l) => l.name === "free").values.at(-1), 10_000)
	for (const [count, steps] of [[10_000, 600], [1000, 60]]) {
		const other = sums(count, steps)
		other.run()
		assert.equal(other.work, whole.work * count / 10_000)
	}
})

await test("the past of a device comes from events and from what was seen, once each", () => {
	const m = model({ slices: [slice("s", { states: { "gpu-0": { health: "Healthy" } } })] })
	const event = (at, before, after, message = "") => ({
		metadata: meta(`e-${at}`, { namespace: "default" }), reason: `Device${after}`, lastTimestamp: `2026-01-01T${at}Z`, involvedObject: { namespace: "default", name: "p" },
		message: `Device ${key("gpu-0")} of claim:gpu: ${before} -> ${after}${message ? `: ${message}` : ""}`,
	})
	m.apply("events", event("09:00:00", "Unhealthy", "Healthy"))
	m.apply("slices", slice("s", { states: { "gpu-0": { health: "Unhealthy", healthMessage: "Xid 79: hot" } } }))
	m.take()
	m.apply("events", event("10:00:01", "Healthy", "Unhealthy", "Xid 79: hot"))
	m.take()
	const records = m.history(key("gpu-0"))
	assert.deepEqual(records.map((r) => `${r.health} ${r.source}`), ["healthy event", "unhealthy event"])
	assert.equal(records[1].message, "Xid 79: hot")
	m.apply("events", event("10:00:05", "Unhealthy", "Healthy"))
	m.apply("slices", slice("s", { observed: 0 }))
	m.take()
	m.apply("slices", slice("s", { states: { "gpu-0": { health: "Unhealthy", healthMessage: "Xid 79: hot" } } }))
	m.take()
	assert.equal(records.length, 3, "a status that comes back with the same health is no change")
	records.pop()
	const parts = stretches(records, { current: "unhealthy", opened: m.opened, now: m.time + 5000 })
	assert.deepEqual(parts.map((s) => `${s.from ? "" : "? "}${s.health} ${s.sure}`), ["? unhealthy true", "healthy true", "unhealthy true"])
	assert.deepEqual(stretches([], { current: "healthy", opened: 5, now: 9 }), [{ from: 5, to: 9, health: "healthy", message: "", sure: true }])
	assert.deepEqual(stretches([], { current: "healthy", since: 3, opened: 5, now: 9 })[0].from, 3)
	assert.deepEqual(stretches([], { current: undefined, opened: 5, now: 9 }), [])
	const gap = stretches([{ at: 1, health: "unhealthy", before: "healthy", message: "" }], { current: "healthy", opened: 5, now: 9 })
	assert.deepEqual(gap.map((s) => `${s.health} ${s.sure}`), ["healthy true", "unhealthy false", "healthy true"])
	// Seen late, and reported with a time in whole seconds.
	const late = new History()
	late.add({ at: 11_400, health: "healthy", source: "seen", message: "" })
	late.add({ at: 11_900, health: "unhealthy", before: "healthy", source: "seen", message: "" })
	late.add({ at: 11_000, health: "unhealthy", before: "healthy", source: "event", message: "hot" })
	assert.deepEqual(late.records.map((r) => `${r.at} ${r.health} ${r.message}`), ["11400 healthy ", "11400 unhealthy hot"])
	const later = new History()
	later.add({ at: 11_400, health: "healthy", source: "seen", message: "" })
	later.add({ at: 11_000, health: "unhealthy", before: "healthy", source: "event", message: "hot" })
	later.add({ at: 11_900, health: "unhealthy", before: "healthy", source: "seen", message: "" })
	assert.deepEqual(later.records.map((r) => `${r.at} ${r.health} ${r.source}`), ["11400 healthy seen", "11400 unhealthy event"])
	const flaps = new History()
	for (const [i, health] of ["unhealthy", "healthy", "unhealthy", "healthy"].entries())
		flaps.add({ at: 1000 * i, health, source: "seen", message: "" })
	assert.equal(flaps.records.length, 4)
})

await test("words, fields, states and healths find devices, and an address keeps them", () => {
	const m = model({
		slices: [slice("s", { devices: [{ name: "gpu-0", attributes: { productName: { string: "Sim A100 <b>" }, index: { int: 0 } } }, "gpu-1"], states: { "gpu-1": held("train") } })],
		claims: [claim("train", ["gpu-1"], { pods: ["web-1"] })],
		nodes: [{ metadata: meta("n1"), status: { capacity: { "example.com/fpga": "1" }, allocatable: { "example.com/fpga": "1" } } }],
	})
	const found = (filter) => [...m.devices.values()].filter(matcher({ ...empty(), ...filter }) ?? (() => true)).map((d) => d.name).join()
	assert.equal(found({}), "#1,gpu-0,gpu-1")
	assert.equal(found({ plugins: true }), "#1")
	assert.equal(matcher(empty()), undefined)
	assert.equal(found({ q: "a100" }), "gpu-0")
	assert.equal(found({ q: "SIM <B>" }), "gpu-0")
	assert.equal(found({ q: "claim:train n1" }), "gpu-1")
	assert.equal(found({ q: "pod:web" }), "gpu-1")
	assert.equal(found({ q: "node:train" }), "")
	assert.equal(found({ state: ["free"] }), "gpu-0")
	assert.equal(found({ health: ["unhealthy"] }), "")
	m.apply("claims", claim("train"))
	m.take()
	assert.equal(found({ q: "web-1" }), "", "what was found before is not found any more")
	const filter = { ...empty(), q: "a b&c=d", state: ["free", "partial"], group: "driver", device: key("gpu-0"), trouble: true, plugins: true }
	const known = { states: ["free", "partial"], healths: [] }
	assert.deepEqual(parseFragment(formatFragment(filter), known), filter)
	assert.deepEqual(parseFragment("#state=evil,free&group=x&view=%3Cimg%3E", known), { ...empty(), state: ["free"] })
	assert.equal(formatFragment(empty()), "")
})

// A server that answers as the test says; what a browser and a real server do is in page_test.mjs.
async function following(answers, { selector, session = () => true } = {}) {
	const { Follower } = await load("api")
	const told = [], asked = []
	const real = globalThis.fetch
	let ready
	const enough = new Promise((resolve) => {
		ready = resolve
		globalThis.fetch = async (url, { headers, signal }) => {
			assert.equal(headers["X-Devplane-UI"], "1")
			asked.push(url.replace(/^.*\?pretty=false&/, "").replace(/&(allow|timeout)\w+=\w+/g, ""))
			const next = answers.shift()
			if (next === undefined) {
				resolve()
				return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(new Error("aborted"))))
			}
			if (next instanceof Error)
				throw next
			const [status, ...lines] = next
			return new Response(lines.map((l) => `${JSON.stringify(l)}\n`).join(""), { status })
		}
	})
	const follower = new Follower({
		path: "/x", selector,
		session: async () => {
			setImmediate(ready)
			return session()
		},
		state: (s) => {
			if (told.at(-1) !== s)
				told.push(s)
			if (s === "missing")
				ready()
		},
		replace: (items) => told.push(`= ${items.map((i) => i.metadata.name).join()}`),
		apply: (o, gone) => told.push(`${gone ? "-" : "+"} ${o.metadata.name}`),
	}).start()
	await enough
	follower.stop()
	globalThis.fetch = real
	return { told, asked }
}
const thing = (name, resourceVersion) => ({ metadata: { name, resourceVersion } })
const listed = (resourceVersion, items = [], more) => [200, { metadata: { resourceVersion, continue: more }, items }]

await test("a list comes in pages, a watch goes on from there, and again where it ended", async () => {
	const { told, asked } = await following([
		listed("5", [thing("a", "1")], "next"), listed("5", [thing("b", "2")]),
		[200, { type: "ADDED", object: thing("c", "6") }, { type: "DELETED", object: thing("a", "7") }, { type: "BOOKMARK", object: thing(undefined, "9") }],
	], { selector: "reason=X" })
	assert.deepEqual(told, ["loading", "= a,b", "ok", "+ c", "- a"])
	assert.deepEqual(asked.map((a) => a.replace("&fieldSelector=reason%3DX", "!")), ["limit=500!", "limit=500&continue=next!", "watch=true&resourceVersion=5!", "watch=true&resourceVersion=9!"])
})

await test("an expired watch lists again, an unreachable server is retried", async () => {
	const { told, asked } = await following([
		listed("5"), [200, { type: "ERROR", object: { code: 410, message: "too old" } }],
		listed("8", [thing("a", "8")]), new TypeError("Failed to fetch"), [503], [410, { message: "Expired" }], listed("12"),
	])
	assert.deepEqual(told, ["loading", "= ", "ok", "= a", "ok", "broken", "= ", "ok"])
	assert.deepEqual(asked, ["limit=500", "watch=true&resourceVersion=5", "limit=500", "watch=true&resourceVersion=8", "watch=true&resourceVersion=8", "watch=true&resourceVersion=8", "limit=500", "watch=true&resourceVersion=12"])
})

await test("a refusal is a lack of rights only while there is a session", async () => {
	assert.deepEqual((await following([[403, { message: "no" }]], { session: () => true })).told, ["loading", "forbidden"])
	assert.deepEqual((await following([[403, { message: "no" }]], { session: () => false })).told, ["loading"])
	assert.deepEqual((await following([[401, { message: "no" }]], { session: () => false })).told, ["loading"])
	assert.deepEqual((await following([[404, { message: "no" }]])).told, ["loading", "missing"])
})

await test("quantities are read as Kubernetes does", () => {
	assert.deepEqual(["80Gi", "500m", "1e3", "2k", "", "x", "1Zi"].map(parseQuantity), [80 * 2 ** 30, 0.5, 1000, 2000, NaN, NaN, NaN])
})

await test("blocks are nodes, and pools that belong to none", () => {
	const m = model({ slices: [slice("a"), slice("b", { pool: "rack", node: "", devices: ["link-0"] })] })
	const places = [...m.devices.values()].map((d) => placeOf(d, "node"))
	assert.deepEqual(places.map((p) => `${p.kind} ${p.title}`), ["node n1", "node n1", "network rack"])
	const large = densityFor(10)
	assert.equal(densityFor(100, large).name, "large", "a few more change nothing")
	assert.equal(densityFor(10_000, large).name, "dense")
	assert.equal(densityFor(10, densityFor(10_000)).name, "large")
})

await test("a device is in the group of those who have it, and shared ones are together", () => {
	const m = model({ slices: [slice("s", { devices: ["free", "one", "two"], states: { one: held("a"), two: held("a", "b") } })] })
	const places = (group) => [...m.devices.values()].map((d) => placeOf(d, group)).map((p) => `${p.title}|${p.q}`)
	assert.deepEqual(places("holder"), ["nobody|", 'default/a|ns:"default" claim:"a"', "several holders|"])
	assert.deepEqual(places("namespace"), ["nobody|", 'default|ns:"default"', 'default|ns:"default"'])
	const [d] = m.devices.values()
	assert.deepEqual([placeOf(d, "rack", "r1").title, placeOf(d, "rack").title], ["r1", "no rack"])
	const large = densityFor(10)
	assert.deepEqual([spacing(large, 5).columns, spacing(large, 63).columns], [large.columns, 1], "names are not cut")
})

await test("the rack of a device is a label of its node, and a change of labels is noticed", () => {
	const node = (labels) => ({ metadata: meta("n1", { labels }) }), zone = "topology.kubernetes.io/zone"
	const m = model({ slices: [slice("s")], nodes: [node({ [zone]: "z1" })] })
	assert.deepEqual([m.rackLabel(""), m.rackLabel("own"), m.labelOf("n1", zone)], [zone, "own", "z1"])
	m.apply("nodes", node({ [zone]: "z1" }))
	assert.equal(m.take().labels.size, 0)
	m.apply("nodes", node({ "topology.kubernetes.io/rack": "r1" }))
	assert.deepEqual([...m.take().labels], ["n1"])
	assert.deepEqual([m.rackLabel(""), m.nodeLabels()], ["topology.kubernetes.io/rack", ["topology.kubernetes.io/rack"]])
	const [d] = m.devices.values(), of = (q) => matcher({ ...empty(), q }, undefined, () => "R 1")(d)
	assert.deepEqual([of('rack:"r 1"'), of('rack:"r"'), of("rack:r")], [true, false, true])
})

await test("a word in quotation marks is all of a field", () => {
	const m = model({ slices: [slice("s", { devices: [{ name: "gpu-1", attributes: { model: { string: "Sim A100" } } }, "gpu-10"] })] })
	const found = (q) => [...m.devices.values()].filter(matcher({ ...empty(), q })).map((d) => d.name).join()
	assert.equal(found("device:gpu-1"), "gpu-1,gpu-10")
	assert.equal(found('device:"gpu-1"'), "gpu-1")
	assert.equal(found('model:"sim a100"'), "gpu-1")
	assert.equal(found('"sim a"'), "gpu-1")
	assert.equal(found('model:"sim a"'), "")
})

await test("a scheduler's message is split into its reasons, and any other is left as it is", () => {
	const message = "0/6 nodes are available: 1 node(s) had untolerated taint {a: b, c}, 2 Insufficient cpu, 3 cannot allocate all claims. preemption: 0/6 nodes are available: 6 No preemption victims found for incoming pod."
	const { fit, nodes, reasons, preemption } = splitMessage(message)
	assert.deepEqual([fit, nodes, preemption], [0, 6, "No preemption victims found for incoming pod"])
	assert.deepEqual(reasons.map((r) => `${r.count} ${r.text}`), ["3 cannot allocate all claims", "2 Insufficient cpu", "1 had untolerated taint {a: b, c}"])
	assert.deepEqual(splitMessage('0/1 nodes are available: persistentvolumeclaim "c" not found.').reasons, [{ count: undefined, text: 'persistentvolumeclaim "c" not found' }])
	assert.equal(splitMessage("running Reserve plugin: conflict"), undefined)
	const known = (name) => ({ n1: "node", "default/c": "claim" })[name]
	assert.deepEqual(linked("claim default/c, of node n1.", known), ["claim ", { text: "default/c", q: "claim" }, ", of node ", { text: "n1", q: "node" }, "."])
	assert.deepEqual(driversOf({ spec: { selectors: [{ cel: { expression: `device.driver == "a.b" || device.driver=='c'` } }, {}] } }), ["a.b", "c"])
})

await test("commands are quoted for a shell, and name the cluster where there are several", () => {
	assert.equal(shell("echo", "a b", "it's", "$(x)", ""), `echo 'a b' 'it'\\''s' '$(x)' ''`)
	assert.equal(kube({ context: "" }, "kubectl", "get", "pods"), "kubectl get pods")
	assert.equal(kube({ context: "my lab" }, "kubectl", "get", "pods"), "kubectl get pods --context 'my lab'")
})

await test("no cell of a CSV file is a formula", () => {
	for (const text of ["=1+1", "+1", "-1", "@x", " =1", "\t=1", "\r=1", "\n"])
		assert.ok(csvCell(text).startsWith(`"'`), text)
	assert.equal(csvCell('a "b", c'), '"a ""b"", c"')
	assert.equal(csvCell("gpu-0"), '"gpu-0"')
})

await test("an axis has few ticks, at round times", () => {
	const at = (text) => Date.parse(`2026-01-01T${text}Z`)
	const ticks = (from, to) => ticksOf(at(from), at(to), 0).map((t) => new Date(t).toISOString().slice(11, 19)).join()
	assert.equal(ticks("10:00:07", "10:00:27"), "10:00:10,10:00:15,10:00:20,10:00:25")
	assert.equal(ticks("03:12:00", "09:00:00"), "04:00:00,06:00:00,08:00:00")
	for (const length of [1e3, 6e4, 36e5, 864e5, 864e6, 864e7, 864e8])
		assert.ok(ticksOf(0, length, 0).length <= 5, `${length}`)
})

finish()
