// What the device page makes of the cluster's objects, without a browser: the pure modules of src/web.
import assert from "node:assert/strict"
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs"
import { finish, scratch, test } from "./lib.mjs"

// The page's files are modules by the way that they are served; Node wants to be told.
const web = new URL("../../src/web/", import.meta.url)
mkdirSync(`${scratch}/web`)
writeFileSync(`${scratch}/web/package.json`, '{"type":"module"}')
for (const file of readdirSync(web).filter((f) => f.endsWith(".js")))
	writeFileSync(`${scratch}/web/${file}`, readFileSync(new URL(file, web)))
const load = (name) => import(`${scratch}/web/${name}.js`)
const { Model } = await load("model")
const { History, stretches } = await load("history")
const { parseQuantity, formatQuantity } = await load("quantity")
const { empty, formatFragment, matcher, parseFragment } = await load("filter")
const { capacityOf } = await load("derive")
const { densityFor, placeOf } = await load("layout")

const DRIVER = "gpu.example.com"
let version = 0
const meta = (name, more = {}) => ({ name, uid: `uid-${name}`, resourceVersion: String(++version), creationTimestamp: "2026-01-01T00:00:00Z", ...more })
const slice = (name, { pool = "n1", node = "n1", generation = 1, count = 1, devices = ["gpu-0", "gpu-1"], status } = {}) => ({
	metadata: meta(name, { generation: 1 }),
	spec: {
		driver: DRIVER, pool: { name: pool, generation, resourceSliceCount: count }, ...node ? { nodeName: node } : { allNodes: true },
		devices: devices.map((d) => (typeof d === "string" ? { name: d } : d)),
	},
	status,
})
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
	for (const name of ["slices", "claims", "pods", "nodes", "rules", "events"]) {
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

await test("a claim's device is allocated, and free again when the claim is gone", () => {
	const m = model({ slices: [slice("s")] })
	assert.equal(state(m, "gpu-0"), "free untold")
	const c = claim("c", ["gpu-0"], { pods: ["p"] })
	m.apply("claims", c)
	assert.deepEqual([...m.take().devices], [key("gpu-0")])
	assert.equal(state(m, "gpu-0"), "allocated untold")
	assert.deepEqual(m.devices.get(key("gpu-0")).pods, ["default/p"])
	assert.deepEqual(m.counts.state, { free: 1, partial: 0, allocated: 1, unavailable: 0 })
	m.apply("claims", c, true)
	m.take()
	assert.equal(state(m, "gpu-0"), "free untold")
	assert.equal(m.counts.state.free, 2)
})

await test("many events of one device between two pictures are one change", () => {
	const m = model({ slices: [slice("s")] })
	for (let i = 0; i < 100; i++)
		m.apply("claims", claim("c", i % 2 ? [] : ["gpu-0"]))
	m.apply("claims", claim("c", ["gpu-1"]))
	const changes = m.take()
	assert.deepEqual([...changes.devices], [key("gpu-1")])
	assert.equal(m.take().touched.size, 0)
})

await test("a pod's report is a device's health, the worst of several counts, and ended pods come last", () => {
	const m = model({ slices: [slice("s")], pods: [pod("p", { health: { [key("gpu-0")]: ["Healthy"] } })] })
	assert.equal(state(m, "gpu-0"), "free healthy")
	m.apply("pods", pod("q", { health: { [key("gpu-0")]: ["Unhealthy", "Xid 79"] } }))
	m.time += 1000
	m.take()
	assert.equal(state(m, "gpu-0"), "free unhealthy")
	assert.equal(m.devices.get(key("gpu-0")).message, "Xid 79")
	assert.equal(m.since(m.devices.get(key("gpu-0"))), m.time)
	m.apply("pods", pod("q", { phase: "Failed", health: { [key("gpu-0")]: ["Unhealthy", "Xid 79"] } }))
	m.take()
	assert.equal(state(m, "gpu-0"), "free healthy")
})

await test("a tainted device that nobody has is unavailable, by its driver or by a rule", () => {
	const m = model({ slices: [slice("s", { devices: [{ name: "gpu-0", taints: [{ key: "example.com/unhealthy", effect: "NoSchedule" }] }, "gpu-1", { name: "gpu-2", taints: [{ key: "note", effect: "None" }] }] })] })
	assert.equal(state(m, "gpu-0"), "unavailable unhealthy")
	assert.equal(state(m, "gpu-2"), "free untold")
	const rule = { metadata: meta("r"), spec: { deviceSelector: { driver: DRIVER, device: "gpu-1" }, taint: { key: "repair", effect: "NoExecute" } } }
	m.apply("rules", rule)
	assert.deepEqual([...m.take().devices], [key("gpu-1")])
	assert.equal(m.devices.get(key("gpu-1")).reason, "taint repair:NoExecute")
	m.apply("rules", rule, true)
	m.take()
	assert.equal(state(m, "gpu-1"), "free untold")
})

await test("a shared device is partly used until a capacity is used up, and says what is left", () => {
	const m = model({ slices: [slice("s", { devices: [{ name: "gpu-0", allowMultipleAllocations: true, capacity: { memory: { value: "80Gi" } } }] })] })
	m.apply("claims", claim("a", ["gpu-0"], { consumedCapacity: { memory: "30Gi" }, shareID: "1" }))
	m.take()
	assert.equal(state(m, "gpu-0"), "partial untold")
	const [memory] = capacityOf(m.devices.get(key("gpu-0")))
	assert.equal(`${memory.used} ${memory.free}`, "30Gi 50Gi")
	m.apply("claims", claim("b", ["gpu-0"], { consumedCapacity: { memory: "50Gi" }, shareID: "2" }))
	m.take()
	assert.equal(state(m, "gpu-0"), "allocated untold")
	m.apply("claims", claim("admin", ["gpu-0"], { adminAccess: true }))
	m.take()
	assert.equal(m.devices.get(key("gpu-0")).holders.length, 3)
})

await test("counters that are used up make a device unavailable, as the slice's status says", () => {
	const status = { observedGeneration: 1, devices: [{ name: "gpu-0", state: "Unavailable", stateReason: "InsufficientSharedCapacity" }, { name: "gpu-1", state: "Available" }] }
	const m = model({ slices: [slice("s", { status })] })
	assert.equal(state(m, "gpu-0"), "unavailable untold")
	m.apply("slices", slice("s", { status: { ...status, observedGeneration: 0 } }))
	m.take()
	assert.equal(state(m, "gpu-0"), "free untold", "a status of another generation means nothing")
})

await test("without the right to read claims, holders are those that the slice's status names", () => {
	const status = { observedGeneration: 1, devices: [{ name: "gpu-0", state: "Allocated", allocations: [{ claimNamespace: "team", claimName: "c", claimUID: "u" }] }] }
	const m = model({ slices: [slice("s", { status })] })
	assert.equal(state(m, "gpu-0"), "free untold", "who may read claims believes them")
	m.setAccess("claims", "forbidden") // as a watch does
	m.take()
	assert.equal(state(m, "gpu-0"), "allocated untold")
	assert.equal(m.devices.get(key("gpu-0")).holders[0].name, "c")
})

await test("a pool's newest generation counts when it is complete; until then the pool has trouble", () => {
	const m = model({ slices: [slice("old", { devices: ["gpu-0", "gpu-1"] })] })
	m.apply("slices", slice("new-1", { generation: 2, count: 2, devices: ["gpu-1"] }))
	let changes = m.take()
	assert.ok(m.devices.has(key("gpu-0")))
	assert.deepEqual(m.troubledPools().map((p) => p.trouble), [["1 of 2 slices are there."]])
	assert.ok(changes.pools.has(`${DRIVER}/n1`))
	m.apply("slices", slice("new-2", { generation: 2, count: 2, devices: ["gpu-2"] }))
	changes = m.take()
	assert.deepEqual([...m.devices.keys()].sort(), [key("gpu-1"), key("gpu-2")])
	assert.deepEqual([...changes.removed], [key("gpu-0")])
	assert.equal(m.troubledPools().length, 0)
	m.apply("slices", slice("old"), true)
	m.take()
	assert.equal(m.devices.size, 2)
	m.replace("slices", [])
	m.take()
	assert.equal(m.devices.size + m.pools.size + m.offers.size, 0)
	assert.equal(m.counts.devices, 0)
})

await test("what a list does not have any more is gone", () => {
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
	m.apply("pods", pod("p", { resource: "example.com/fpga", health: { f7: ["Unhealthy", "hot"] } }))
	m.take()
	assert.deepEqual(all(), ["#1 free untold", "#2 free untold", "f7 allocated unhealthy"])
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

await test("the past of a device comes from events and from what was seen, once each", () => {
	const m = model({ slices: [slice("s")], pods: [pod("p", { health: { [key("gpu-0")]: ["Healthy"] } })] })
	const event = (at, before, after, message = "") => ({
		metadata: meta(`e-${at}`, { namespace: "default" }), reason: `Device${after}`, lastTimestamp: `2026-01-01T${at}Z`, involvedObject: { namespace: "default", name: "p" },
		message: `Device ${key("gpu-0")} of claim:gpu: ${before} -> ${after}${message ? `: ${message}` : ""}`,
	})
	m.apply("events", event("09:00:00", "Unhealthy", "Healthy"))
	m.apply("pods", pod("p", { health: { [key("gpu-0")]: ["Unhealthy", "Xid 79: hot"] } }))
	m.take()
	m.apply("events", event("10:00:01", "Healthy", "Unhealthy", "Xid 79: hot"))
	m.take()
	const records = m.history(key("gpu-0"))
	assert.deepEqual(records.map((r) => `${r.health} ${r.source}`), ["healthy event", "unhealthy event"])
	assert.equal(records[1].message, "Xid 79: hot")
	const parts = stretches(records, { current: "unhealthy", opened: m.opened, now: m.time + 5000 })
	assert.deepEqual(parts.map((s) => `${s.from ? "" : "? "}${s.health} ${s.sure}`), ["? unhealthy true", "healthy true", "unhealthy true"])
	assert.deepEqual(stretches([], { current: "healthy", opened: 5, now: 9 }), [{ from: 5, to: 9, health: "healthy", message: "", sure: true }])
	assert.deepEqual(stretches([], { current: undefined, opened: 5, now: 9 }), [])
	const gap = stretches([{ at: 1, health: "unhealthy", before: "healthy", message: "" }], { current: "healthy", opened: 5, now: 9 })
	assert.deepEqual(gap.map((s) => `${s.health} ${s.sure}`), ["healthy true", "unhealthy false", "healthy true"])
	// Seen late, and told with a time in whole seconds.
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
		slices: [slice("s", { devices: [{ name: "gpu-0", attributes: { productName: { string: "Sim A100 <b>" }, index: { int: 0 } } }, "gpu-1"] })],
		claims: [claim("train", ["gpu-1"], { pods: ["web-1"] })],
	})
	const found = (filter) => [...m.devices.values()].filter(matcher({ ...empty(), ...filter }) ?? (() => true)).map((d) => d.name).join()
	assert.equal(found({}), "gpu-0,gpu-1")
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
	const filter = { ...empty(), q: "a b&c=d", state: ["free", "partial"], group: "driver", device: key("gpu-0"), trouble: true }
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

await test("what is too old is listed anew, what cannot be reached is tried again", async () => {
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

await test("quantities are read and written as Kubernetes does", () => {
	assert.deepEqual(["80Gi", "500m", "1e3", "2k", "", "x", "1Zi"].map(parseQuantity), [80 * 2 ** 30, 0.5, 1000, 2000, NaN, NaN, NaN])
	assert.deepEqual([formatQuantity(1.5 * 2 ** 30, "80Gi"), formatQuantity(25e9, "100G"), formatQuantity(3, "8")], ["1.5Gi", "25G", "3"])
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

finish()
