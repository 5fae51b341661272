// One cluster with devices in every state, and all views of it: each shows the same counts, and its columns add up to its devices. Statuses
// are first computed by each view, then published by the controller, on the page and in metrics, too.
import assert from "node:assert/strict"
import { spawn, spawnSync } from "node:child_process"
import { core, dra, expect } from "./api_lib.mjs"
import { DRIVER, claimsOf, device, share, shared, slices, startDevices } from "./availability_lib.mjs"
import { devplane, finish, test, until } from "./lib.mjs"
import { kubeconfig } from "./node_lib.mjs"
import { assertNoFaults, hasBrowser, openBrowser, tokenWith, visit } from "./page_lib.mjs"

const cluster = await startDevices()
const { server, client } = cluster
const env = { ...process.env, KUBECONFIG: server.kubeconfig }
const run = (...args) => {
	const { stdout, stderr } = spawnSync(devplane, args, { encoding: "utf8", env })
	assert.ok(stdout, `devplane ${args.join(" ")}: ${stderr}`)
	return stdout
}
const json = (...args) => JSON.parse(run(...args, "-o", "json"))

// --- the cluster -----------------------------------------------------------------------------------------------

const POOLS = ["fabric", "gone", "half", "n1", "parts", "wrong"]
const id = (name) => `${DRIVER}/n1/${name}`

// On node n1: free, and reported as healthy; under maintenance, by its slice and by a rule; held; held and broken; free and broken.
async function makeGPUs() {
	expect(await client.post(`${core}/nodes`, { metadata: { name: "n1", annotations: {
		"devplane.dev/device-health": JSON.stringify([{ id: id("free-broken"), health: "Unhealthy", message: "Xid 48", since: "2026-01-01T00:00:00Z" },
			{ driver: DRIVER, pool: "n1", health: "Healthy", devices: ["free", "ruled"] }]) } } }), 201)
	await cluster.slice("n1-gpu", { node: "n1", devices: [device("free"),
		device("maintained", { taints: [{ key: "maintenance", effect: "NoSchedule" }] }),
		device("ruled"), device("held"), device("held-broken"), device("free-broken")] })
	expect(await client.post(`${dra}/devicetaintrules`, { metadata: { name: "rule" }, spec: {
		deviceSelector: { driver: DRIVER, pool: "n1", device: "ruled" }, taint: { key: "soon", effect: "NoSchedule" } } }), 201)
	await cluster.claim("default", "held", [{ pool: "n1", device: "held" }])
	await cluster.claim("default", "broken", [{ pool: "n1", device: "held-broken" }])
}

// A pod reports the health of its claim's device, as a node agent writes it.
async function makePod() {
	const pods = `${core}/namespaces/default/pods`
	const { metadata: { uid } } = expect(await client.post(pods, { metadata: { name: "train" }, spec: { nodeName: "n1",
		containers: [{ name: "c", image: "i", resources: { claims: [{ name: "gpu" }] } }], resourceClaims: [{ name: "gpu", resourceClaimName: "broken" }] } }), 201)
	expect(await client.patch(`${claimsOf("default")}/broken/status`, { status: { reservedFor: [{ resource: "pods", name: "train", uid }] } }, "merge"), 200)
	expect(await client.patch(`${pods}/train/status`, { status: { phase: "Running", containerStatuses: [{ name: "c", image: "i", imageID: "", ready: true, restartCount: 0,
		allocatedResourcesStatus: [{ name: "claim:gpu", resources: [{ resourceID: id("held-broken"), health: "Unhealthy", message: "Xid 79" }] }] }] } }, "merge"), 200)
}

// Shared: partly and wholly given out, and untouched. Partitions: one is held, another fits beside it, the whole does not. A pool of which
// a slice is missing, and one whose devices consume counters that no slice has. And one of a node that does not exist.
async function makePools() {
	await cluster.slice("fabric", { pool: "fabric", devices: [shared("some"), shared("none"), shared("all")] })
	await cluster.claim("default", "some", [share("fabric", "some", "20Gi")])
	await cluster.claim("default", "none", [share("fabric", "none", "80Gi")])
	const part = (name, slots) => device(name, { capacity: { memory: { value: `${40 * slots}Gi` } }, consumesCounters: [{ counterSet: "gpu", counters: { slots: { value: String(slots) } } }] })
	await cluster.slice("parts-0", { pool: "parts", node: "n1", count: 2, devices: undefined, sharedCounters: [{ name: "gpu", counters: { slots: { value: "2" } } }] })
	await cluster.slice("parts-1", { pool: "parts", node: "n1", count: 2, devices: [part("half-0", 1), part("half-1", 1), part("whole", 2)] })
	await cluster.claim("default", "part", [{ pool: "parts", device: "half-0" }])
	await cluster.slice("half-0", { pool: "half", node: "n1", count: 2, devices: [device("a"), device("b")] })
	const lost = { consumesCounters: [{ counterSet: "nowhere", counters: { slots: { value: "1" } } }] }
	await cluster.slice("wrong-0", { pool: "wrong", node: "n1", devices: [device("a", lost), device("b", lost)] })
	expect(await client.post(slices, cluster.sliceObject("gone-0", { node: "gone", devices: [device("a")] })), 201)
}

const WANT = {
	fabric: { devices: 3, free: 1, partial: 1, allocated: 1, unavailable: 0, unhealthy: 0 },
	gone: { devices: 1, free: 0, partial: 0, allocated: 0, unavailable: 1, unhealthy: 0 },
	half: { devices: 2, free: 0, partial: 0, allocated: 0, unavailable: 2, unhealthy: 0 },
	n1: { devices: 6, free: 2, partial: 0, allocated: 2, unavailable: 2, unhealthy: 2 },
	parts: { devices: 3, free: 1, partial: 0, allocated: 1, unavailable: 1, unhealthy: 0 },
	wrong: { devices: 2, free: 0, partial: 0, allocated: 0, unavailable: 2, unhealthy: 0 },
}
const TOTAL = Object.values(WANT).reduce((n, row) => n + row.devices, 0)
const none = () => ({ devices: 0, free: 0, partial: 0, allocated: 0, unavailable: 0, unhealthy: 0 })
const STATES = { Available: "free", PartiallyAllocated: "partial", Allocated: "allocated", Unavailable: "unavailable" }

function sum(rows) {
	const all = none()
	for (const row of rows)
		for (const key of Object.keys(all))
			all[key] += row[key]
	return all
}

function count(list) {
	const row = none()
	for (const { state, health } of list) {
		row.devices++
		row[STATES[state.split(",")[0]] ?? assert.fail(state)]++
		row.unhealthy += health === "Unhealthy"
	}
	return row
}

const pick = (o) => Object.fromEntries(Object.keys(none()).map((key) => [key, o[key]]))
const groupBy = (list, key) => Object.fromEntries(POOLS.map((p) => [p, list.filter((x) => key(x) === p)]))
const each = (o, f) => Object.fromEntries(Object.entries(o).map(([k, v]) => [k, f(v)]))

// --- the views -------------------------------------------------------------------------------------------------

// Rows of a table as objects by lower-case title. A title may have a space, so columns are at least two apart.
function table(text) {
	const [head, ...lines] = text.trimEnd().split("\n").map((l) => l.trim().split(/ {2,}/))
	return lines.map((cells) => Object.fromEntries(head.map((h, i) => [h.toLowerCase(), /^\d+$/.test(cells[i]) ? Number(cells[i]) : cells[i]])))
}

// The summary of a description.
function summary(text) {
	const of = (title) => Number(new RegExp(`^ *${title} Devices: +(\\d+)$`, "m").exec(text)?.[1] ?? 0)
	return { devices: of("Total"), free: of("Available"), partial: of("Partially Allocated"), allocated: of("Allocated"), unavailable: of("Unavailable"), unhealthy: of("Unhealthy") }
}

async function statuses() {
	const { items } = (await client.get(slices)).body
	return each(groupBy(items, (s) => s.spec.pool.name), (list) => count(list.flatMap((s) => s.status?.devices ?? [])))
}

// The first lines of a watch, until it has shown all devices and both broken ones.
async function watched(...flags) {
	const child = spawn(devplane, ["watch", "devices", "--initial", "-o", "json", ...flags], { env })
	let out = ""
	child.stdout.on("data", (d) => out += d)
	const lines = () => out.split("\n").slice(0, -1).map((l) => JSON.parse(l))
	await until("devices of the watch", () => lines().filter((l) => l.change === "added").length === TOTAL && lines().filter((l) => l.change === "health").length === 2)
	child.kill()
	const found = {}
	for (const l of lines().filter((l) => l.device)) {
		const d = found[`${l.pool}/${l.device}`] ??= { pool: l.pool }
		if (l.change === "added")
			d.state = l.to
		if (l.change === "health")
			d.health = l.to
	}
	return each(groupBy(Object.values(found), (d) => d.pool), count)
}

// The lines of describe node about each pool of the node.
function describedNode() {
	const text = run("describe", "node", "n1")
	const blocks = text.slice(text.indexOf("DRA Resources:")).split(/^ {2}Driver:/m).slice(1)
	return Object.fromEntries(blocks.map((b) => [/Pool: +(\S+)/.exec(b)[1], summary(b)]))
}

function doctored() {
	const [, ...n] = /devices +(\d+): (\d+) free, (\d+) partial, (\d+) allocated, (\d+) unavailable; (\d+) unhealthy/.exec(run("doctor", "--kubeconfig", server.kubeconfig)).map(Number)
	return { devices: n[0], free: n[1], partial: n[2], allocated: n[3], unavailable: n[4], unhealthy: n[5] }
}

// The series of the controller, summed up by pool.
async function measured() {
	const series = [...(await controller.metrics()).matchAll(/^devplane_devices\{(.*)\} (\d+)$/mg)]
	const list = series.flatMap(([, labels, n]) => Array(Number(n)).fill(Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, k, v]) => [k, v]))))
	return each(groupBy(list, (d) => d.pool), count)
}

// The page: its figures, the squares of its map and the rows of its list.
async function paged(browser) {
	const page = await visit(browser, server)
	const figure = async (name) => Number(await page.locator(`.stat-${name} strong`).textContent())
	await until("all devices on the page", async () => await figure("devices") === TOTAL && await figure("unpublished") === 0)
	const figures = none()
	for (const name of Object.keys(figures))
		figures[name] = await figure(name)

	const by = (list) => each(groupBy(list, (d) => d.key.split("/")[1]), (devices) => count(devices.map(({ state, health }) => ({
		state: Object.keys(STATES).find((k) => STATES[k] === state) ?? assert.fail(state), health: health === "unhealthy" ? "Unhealthy" : health }))))
	const squares = await page.locator("#map .d").evaluateAll((all) => all.map(({ dataset, classList }) => {
		const of = (prefix) => [...classList].find((c) => c.startsWith(prefix)).slice(prefix.length)
		return { key: dataset.key, state: of("s-"), health: of("h-") }
	}))
	await page.locator('[data-view="list"]').click()
	const rows = await page.locator(".rows .row").evaluateAll((all) => all.map((r) => ({ key: r.dataset.key,
		state: r.querySelector(".c-state").textContent.split(":")[0].replace("partly used", "partial"), health: r.querySelector(".c-health").textContent })))
	await page.context().close()
	return { "page's figures": { all: figures }, "page's map": by(squares), "page's list": by(rows) }
}

// Views of what the controller publishes; of a user who sees no reports of health, its health.
async function published() {
	const top = json("top", "devices", ...narrow)
	return { statuses: await statuses(), metrics: await measured(), "watch without reports": await watched(...narrow),
		"top without reports": { ...each(groupBy(top.pools, (p) => p.pool), ([p]) => pick(p)), all: pick(top.totals) } }
}

// Devices that node n1 reaches, from the reasons of explain-fit for a claim that wants more than there are. It asks for whole devices, so
// shared devices that are used are too small for it. A pool with a fault is one reason for all of its devices.
function explained() {
	const [head, ...lines] = json("explain-fit", "many", "--node", "n1").groups[0].explanation
	const counts = Object.fromEntries(lines.map((l) => /^ +(\d+) (?:devices?|pools?) ([^:]+): (.*)$/.exec(l).slice(1)).map(([n, reason, names]) => [reason, [Number(n), names]]))
	const [, fit] = /wants 32 devices of class gpu, (\d+) fit/.exec(head)
	for (const [reason, pool] of [["PoolIncomplete", "half"], ["PoolInvalid", "wrong"]]) {
		const [n, names] = counts[reason]
		assert.deepEqual([n, names.split(" ")[0]], [1, `${DRIVER}/${pool}`])
	}
	const faulty = WANT.half.devices + WANT.wrong.devices
	return { free: Number(fit), shared: counts["too small"][0], held: counts["in use"][0], unavailable: counts.Tainted[0] + counts.CountersExhausted[0] + faulty }
}

// The answers to requests for the status of each pool. Their fields have upstream's meaning: devices that are held by a share are
// allocated, and neither counters nor nodes that do not exist are looked at. A pool that is incomplete is not answered for.
async function requested() {
	const requests = "/apis/resource.k8s.io/v1alpha3/resourcepoolstatusrequests", answers = {}
	for (const pool of POOLS)
		expect(await client.post(requests, { metadata: { name: `ask-${pool}` }, spec: { driver: DRIVER, poolName: pool } }), 201)
	for (const pool of POOLS.filter((p) => p !== "half"))
		answers[pool] = (await until(`answer for ${pool}`, async () => (await client.get(`${requests}/ask-${pool}`)).body.status)).pools[0]
	assert.equal((await client.get(`${requests}/ask-half`)).body.status, undefined)
	return answers
}

// Counts of each view: { VIEW: { POOL: row } }, with the pool "all" where a view has totals alone. Add a view here and it is compared.
async function views() {
	const top = json("top", "devices")
	return {
		"get pools": each(groupBy(table(run("get", "pools")), (r) => r.name), (rows) => pick(rows[0])),
		"get pools -o json": each(groupBy(json("get", "pools").items, (p) => p.metadata.name), ([p]) => pick(p.status.counts)),
		"get resourceslices": each(groupBy(run("get", "resourceslices", "--no-headers").trim().split("\n").map((l) => l.trim().split(/ +/)), (c) => c.at(-8)),
			(rows) => sum(rows.map((c) => ({ devices: Number(c.at(-7)), free: Number(c.at(-6)), partial: Number(c.at(-5)), allocated: Number(c.at(-4)), unavailable: Number(c.at(-3)), unhealthy: Number(c.at(-2)) })))),
		"get devices": each(groupBy(table(run("get", "devices")), (r) => r.pool), count),
		"get devices -o json": each(groupBy(json("get", "devices").items, (d) => d.spec.pool), (list) => count(list.map((d) => d.status))),
		"describe pool": Object.fromEntries(POOLS.map((p) => [p, summary(run("describe", "pool", p))])),
		"describe node": describedNode(),
		"top -o json": { ...each(groupBy(top.pools, (p) => p.pool), ([p]) => pick(p)), all: pick(top.totals) },
		"top": each(groupBy(table(run("top", "devices", "--once").split("\n").slice(2).join("\n")), (r) => r.pool.split(" ")[0]), (rows) => pick(rows[0])),
		"watch": await watched(),
		"doctor": { all: doctored() },
	}
}

async function compare(more = {}) {
	const want = { ...WANT, all: sum(Object.values(WANT)) }
	for (const [view, pools] of Object.entries({ ...await views(), ...more })) {
		assert.ok(Object.keys(pools).length > 0, view)
		for (const [pool, row] of Object.entries(pools)) {
			assert.equal(row.devices, row.free + row.partial + row.allocated + row.unavailable, `${view} of ${pool} does not add up: ${JSON.stringify(row)}`)
			assert.deepEqual(row, want[pool], `${view} of ${pool}`)
		}
	}
}

await makeGPUs()
await makePod()
await makePools()

// A user who may list claims, but neither pods nor nodes.
const narrow = ["--kubeconfig", kubeconfig(server, await tokenWith(client, "narrow", [{ apiGroups: ["resource.k8s.io"], resources: ["*"], verbs: ["get", "list", "watch"] }]))]

// A user who may list all but nodes.
const nodeless = ["--kubeconfig", kubeconfig(server, await tokenWith(client, "nodeless", [{ apiGroups: ["resource.k8s.io"], resources: ["*"], verbs: ["get", "list", "watch"] },
	{ apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"] }]))]

expect(await client.post(`${dra}/deviceclasses`, { metadata: { name: "gpu" }, spec: {} }), 201)
await cluster.claim("default", "many", undefined, { allocationMode: "ExactCount", count: 32 })
await test("views that compute show the same", () => compare())

await test("so does explain-fit", () => {
	const { free, unavailable } = sum(POOLS.filter((p) => p !== "gone").map((p) => WANT[p]))
	assert.deepEqual(explained(), { free, shared: 2, held: 3, unavailable })
	const reasons = {}
	for (const { status } of json("get", "devices").items) {
		const word = status.stateReason?.split(":")[0] ?? ""
		reasons[word] = (reasons[word] ?? 0) + 1
	}
	assert.deepEqual(reasons, { "": 8, CapacityExhausted: 1, CountersExhausted: 1, NodeGone: 1, PoolIncomplete: 2, PoolInvalid: 2, Tainted: 2 })
})

await test("without reports of health nothing is made up", async () => {
	const { totals } = json("top", "devices", ...narrow)
	assert.deepEqual([totals.devices, totals.unhealthy, totals.healthUnknown], [TOTAL, 0, TOTAL])
	assert.match(run("top", "devices", "--once", ...narrow), /with health only as published: you may not list pods and nodes/)
})

// How often each command says that it does not know which nodes exist.
const NODES_UNKNOWN = /^Note: nodes cannot be listed: devices of nodes that do not exist count as available$/mg
async function notes(...flags) {
	const commands = ["get pools", "get devices", "get resourceslices", "describe pool gone", "describe resourceslice gone-0", "top devices --once", "top devices -o json", "doctor"]
	const said = Object.fromEntries(commands.map((c) => {
		const { stdout, stderr } = spawnSync(devplane, [...c.split(" "), ...flags], { encoding: "utf8", env })
		assert.ok(stdout, `devplane ${c}: ${stderr}`)
		return [c, stderr.match(NODES_UNKNOWN)?.length ?? 0]
	}))
	const watch = spawn(devplane, ["watch", "devices", "--initial", "-o", "json", ...flags], { env })
	let out = "", err = ""
	watch.stdout.on("data", (d) => out += d)
	watch.stderr.on("data", (d) => err += d)
	const ended = new Promise((done) => watch.on("close", done))
	await until("devices of the watch", () => out.match(/"change":"added"/g)?.length === TOTAL)
	watch.kill()
	await ended
	return { ...said, watch: err.match(NODES_UNKNOWN)?.length ?? 0 }
}
const told = (n) => ({ "get pools": n, "get devices": n, "get resourceslices": n, "describe pool gone": n, "describe resourceslice gone-0": n,
	"top devices --once": n, "top devices -o json": n, doctor: n, watch: n })
const admin = ["--kubeconfig", server.kubeconfig]

await test("a user who may not list nodes is told what follows from that, once", async () => {
	assert.match(run("get", "devices", "gone", ...nodeless), /^a .* Available /m)
	assert.deepEqual(await notes(...nodeless), told(1))
	assert.deepEqual(await notes(...admin), told(0))
})

const controller = await cluster.controller("--leader-elect=false")
await until("statuses", async () => JSON.stringify(await statuses()) === JSON.stringify(WANT))

await test("so do views of what is published", async () => compare(await published()))

await test(`so does the page${hasBrowser ? "" : " # SKIP there is no chromium here"}`, async () => {
	if (!hasBrowser)
		return
	const browser = await openBrowser()
	await compare(await paged(browser))
	assertNoFaults(browser)
	await browser.close()
})

await test("so do answers to ResourcePoolStatusRequests, in upstream's meaning", async () => {
	// Devices that cannot be had for reasons that upstream does not look at.
	const unseen = { gone: 1, parts: 1, wrong: 2 }
	for (const [pool, a] of Object.entries(await requested())) {
		const { devices, free, partial, allocated, unavailable } = WANT[pool], more = unseen[pool] ?? 0
		assert.deepEqual([a.totalDevices, a.availableDevices, a.allocatedDevices, a.unavailableDevices], [devices, free + more, allocated + partial, unavailable - more], pool)
	}
})

await test("a user who sees no reports gets the health that is published", async () => {
	assert.equal(json("top", "devices", ...narrow).totals.healthUnknown, undefined)
	assert.match(run("top", "devices", "-o", "wide", ...narrow), /held-broken +Allocated +Unhealthy: Xid 79/)
})

await test("and whose node is gone, as that is published, too", async () => {
	assert.match(run("get", "devices", "gone", ...nodeless), /^a .* Unavailable +NodeGone /m)
	assert.deepEqual(await notes(...nodeless), told(0))
})

await test("one device has the same health everywhere", async () => {
	assert.match(run("describe", "pod", "train"), /held-broken +Unhealthy +Xid 79/)
	assert.match(run("describe", "device", "held-broken"), /^Status: +Allocated$[^]*^Health: +Unhealthy \(Xid 79\)/m)
	assert.match(run("describe", "node", "n1"), /held-broken:\n +Status: +Allocated\n +Health: +Unhealthy \(Xid 79\)/)
	assert.match(run("describe", "resourceclaim", "broken"), /held-broken +Unhealthy +Xid 79/)
	assert.match(run("top", "devices", "-o", "wide"), /held-broken +Allocated +Unhealthy: Xid 79/)
	assert.match(run("get", "devices", "--unhealthy", "-o", "wide"), /held-broken .* Allocated +<none> +Unhealthy +default\/broken +\S+ +Xid 79/)
})

await test("a free device that its driver reports as healthy is Healthy in every view, and one that nobody reports is NotReported", async () => {
	const rows = Object.fromEntries(table(run("get", "devices", "n1")).map((r) => [r.device, r]))
	assert.deepEqual([rows.free.state, rows.free.health, rows.held.health], ["Available", "Healthy", "NotReported"])
	const items = json("get", "devices", "n1").items
	assert.equal(items.find((d) => d.metadata.name === "free").status.health, "Healthy")
	assert.match(run("describe", "node", "n1"), /free:\n +Status: +Available\n +Health: +Healthy\n/)
	assert.match(run("top", "devices", "-o", "wide"), /free +Available +Healthy/)
	assert.match(run("top", "devices", "-o", "wide", ...narrow), /free +Available +Healthy/)
	const { status } = (await client.get(`${slices}/n1-gpu`)).body
	assert.deepEqual(status.devices.filter((d) => ["free", "held"].includes(d.name)).map((d) => [d.name, d.health]), [["free", "Healthy"], ["held", undefined]])
	assert.match(await controller.metrics(), /^devplane_devices\{[^}]*pool="n1"[^}]*state="Available",health="Healthy"\} 1$/m)
})

await test("a maintenance taint is not ill health, and a broken device that is free is marked", async () => {
	const rows = Object.fromEntries(table(run("get", "devices", "n1")).map((r) => [r.device, r]))
	assert.deepEqual([rows.maintained.state, rows.maintained.reason, rows.maintained.health], ["Unavailable", "Tainted: maintenance", "NotReported"])
	assert.deepEqual([rows.ruled.state, rows.ruled.reason], ["Unavailable", "Tainted: soon"])
	assert.deepEqual([rows["free-broken"].state, rows["free-broken"].health], ["Available, unhealthy", "Unhealthy"])
	assert.match(run("describe", "node", "n1"), /free-broken:\n +Status: +Available, unhealthy\n +Health: +Unhealthy \(Xid 48\)/)
	assert.match(run("top", "devices", "-o", "wide"), /free-broken +Available, unhealthy +Unhealthy: Xid 48/)
})

await test("devices of a node that does not exist are unavailable until it comes", async () => {
	assert.match(run("get", "devices", "gone"), /^a .* Unavailable +NodeGone /m)
	assert.match(run("doctor", "--kubeconfig", server.kubeconfig), /^warn +unavailable .*1 NodeGone/m)
	await cluster.node("gone")
	await cluster.status("gone-0", (s) => s.summary.availableDevices === 1)
	expect(await client.delete(`${core}/nodes/gone`), 200)
	await cluster.status("gone-0", (s) => s.devices[0].stateReason === "NodeGone")
})

await test("doctor names what is wrong", async () => {
	const { stdout, status } = spawnSync(devplane, ["doctor", "--kubeconfig", server.kubeconfig], { encoding: "utf8", env })
	assert.equal(status, 1)
	assert.doesNotMatch(stdout, /all valid/)
	assert.match(stdout, /^fail +pools +2 of 6 cannot be allocated from: 1 incomplete, 1 invalid; gpu\.example\.com\/half is incomplete/m)
	assert.match(stdout, /^fail +unhealthy, free +1: gpu\.example\.com\/n1\/free-broken \(Xid 48\)/m)
	assert.match(stdout, /^warn +unhealthy +1: gpu\.example\.com\/n1\/held-broken \(Xid 79\)/m)
	assert.match(stdout, /^warn +unavailable +1 NodeGone .*2 PoolIncomplete .*1 Tainted: maintenance/m)
})

await test("get devices chooses, and counts what may still be had", async () => {
	assert.equal(run("get", "devices", "--state", "Available", "-o", "name"), ["fabric/all", "n1/free", "n1/free-broken", "parts/half-1"].map((d) => `device/${DRIVER}/${d}\n`).join(""))
	assert.equal(run("get", "devices", "half", `${DRIVER}/parts`, "--no-headers").trim().split("\n").length, 5)
	const some = json("get", "devices", "fabric").items.find((d) => d.metadata.name === "some").status
	assert.deepEqual(some.largestShare, { memory: "60Gi" })
	assert.match(run("get", "devices", "fabric", "-o", "wide"), /^some .* memory=60Gi$/m)
	// No claim gets the whole device, but one gets half of it. Nobody gets more of a half that is held.
	assert.deepEqual((await cluster.status("parts-1")).devices.map((d) => [d.name, d.largestShare]), [["half-0", undefined], ["half-1", { memory: "40Gi" }], ["whole", { memory: "40Gi" }]])
	assert.deepEqual(json("get", "devices", "parts").items.map((d) => d.status.largestShare?.memory), [undefined, "40Gi", "40Gi"])
	assert.match(run("get", "devices", "parts", "-o", "wide"), /^whole .* memory=40Gi$/m)
	assert.match(run("describe", "resourceslice", "parts-1"), /Name: +whole\n(?: .*\n)*? +Largest Share:\n +Memory: +40Gi/)
	assert.match(run("describe", "node", "n1"), / whole:\n(?: .*\n)*? +Largest Share:\n +Memory: +40Gi/)
	const wrong = spawnSync(devplane, ["get", "pods", "--unhealthy"], { encoding: "utf8", env })
	assert.match(wrong.stderr, /choose devices/)
})

await controller.stop()
await server.stop()
finish()
