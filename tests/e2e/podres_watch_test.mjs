// The watches of PodResources, followed by @grpc/grpc-js while pods come and go: a device is reported as
// released before it is reported with a new holder, and nothing is lost or repeated, however slow the reader is and wherever it resumes.
import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { finish, test, until } from "./lib.mjs"
import { podOn, pods, startCluster } from "./node_lib.mjs"
import { DevicePlugin } from "./plugin_lib.mjs"
import { codes } from "./plugin_services.mjs"
import { another, assertSame, client, metric, normalList, socketOf, View, watch, watchAllocatable } from "./podres_lib.mjs"
import { RawWatch } from "./podres_raw.mjs"

const GPU = "example.com/gpu", BULK = "example.com/bulk"
const capacity = { [GPU]: 6, [BULK]: 1600 }
const cluster = await startCluster()
const node = await cluster.node("n1", { flags: ["--feature-gates", "ResourceHealthStatus=false"] })
// By way of plugins_registry, where sockets are left alone when an agent starts.
const gpus = await DevicePlugin.start(node.root, GPU, ["a", "b", "c", "d", "e", "f"].map((ID) => ({ ID })), { registry: true })
const bulk = await DevicePlugin.start(node.root, BULK, Array.from({ length: 1600 }, (_, i) =>
	({ ID: `a-device-with-a-long-name-${"x".repeat(70)}-${i}`, numa: [0] })), { registry: true })
const allocatable = () => cluster.readNodeWhen("n1", (n) => n.status.allocatable[GPU] === "6" && n.status.allocatable[BULK] === "1600")
await allocatable()

const socket = socketOf(node)
const api = client(socket)
const seed = Number(process.env.SEED ?? 1)
let state = seed
const random = (n) => (state = (state * 1103515245 + 12345) % 2147483648) % n

const wants = (resource, n) => podOn("n1", { main: { resources: { limits: { [resource]: String(n) } } } })
const running = (p) => p.status.phase === "Running"

async function end(pod) {
	await cluster.delete(pod, 0)
	await cluster.gone(pod)
}

// Pods that come and go until so many have run, by several users at once, who want more than there is. Each deletes its pod as
// soon as it runs, and has another before the last one's end; so all devices are always taken, or about to be.
async function churn(total, { users = 4, make = () => wants(GPU, 1 + random(3)) } = {}) {
	let ran = 0
	const user = async () => {
		while (ran < total) {
			const pod = await cluster.run(make())
			if (running(await cluster.pod(pod, (p) => running(p) || p.status.phase === "Failed")))
				ran++
			await cluster.delete(pod, 0)
		}
	}
	await Promise.all(Array.from({ length: users }, user))
}

// Left over from an earlier test.
async function clear() {
	for (const pod of (await cluster.client.get(pods)).body.items)
		await cluster.delete(pod, 0)
	await settled()
}

const settled = () => until("an idle node", async () => (await api.list()).pod_resources.length === 0)

// Checks the events of each pod: from ADDED to DELETED, with UPDATED between.
function lives(events) {
	const all = new Map()
	for (const { uid, action } of events)
		all.set(uid, [...(all.get(uid) ?? []), action])
	return [...all.values()]
}

// To compare the events of two readers; states may be large.
const plain = (events) => events.map(({ action, uid, pod_resources, revision }) =>
	[action, uid, revision, createHash("sha256").update(normalList({ pod_resources }).join()).digest("hex")].join(" "))

// --- order and completeness -----------------------------------------------------------------------

await test("a watch begins with nothing; one that asks for it with all there is, then initial_end", async () => {
	const both = await Promise.all([cluster.run(wants(GPU, 2)), cluster.run(podOn("n1"))])
	await Promise.all(both.map((p) => cluster.pod(p, running)))
	const bare = watch(socket), whole = watch(socket, { sendInitial: true }, { capacity })
	await bare.opened
	await whole.until("initial_end", (view) => view.initial)
	assert.deepEqual(whole.brief.slice(0, -1).sort(), both.map((p) => `ADDED default/${p.metadata.name}`).sort())
	assert.equal(whole.brief.at(-1), "initial_end")
	assert.equal(whole.events.at(-1).revision, (await api.list()).revision)
	await assertSame(whole, api)
	assert.deepEqual(bare.events, [])
	await end(both[0])
	await bare.until("the first change", () => bare.events.length)
	assert.deepEqual(bare.brief, [`DELETED default/${both[0].metadata.name}`])
	await whole.until("the same", () => whole.events.length === 4)
	assert.deepEqual(plain(whole.events.slice(-1)), plain(bare.events))
	await end(both[1])
	bare.close()
	whole.close()
})

await test("with all devices taken, what a pod gave back is told before another has it", async () => {
	const w = watch(socket, { sendInitial: true }, { capacity })
	await w.until("initial_end", (view) => view.initial)
	await churn(30)
	await settled()
	await assertSame(w, api)
	const events = w.events.slice(1), given = events.filter((e) => e.pod_resources[0].containers.some((c) => c.devices.length))
	assert.ok(given.length >= 30, `only ${given.length} pods had devices`)
	for (const life of lives(events)) {
		assert.deepEqual([life[0], life.at(-1)], ["ADDED", "DELETED"])
		assert.ok(life.slice(1, -1).every((a) => a === "UPDATED"), life.join())
	}
	for (const [i, e] of events.entries())
		assert.ok(i === 0 || e.revision > events[i - 1].revision, "revisions grow")
	w.close()
})

await test("a watch, then List: the events after the List's revision make it what the next List says", async () => {
	const watches = []
	const lister = async () => {
		for (let i = 0; i < 12; i++) {
			// Nobody's state: the events are only kept.
			const w = watch(socket, {}, { view: { apply() {} } })
			await w.opened
			watches.push({ w, list: await api.list() })
			await new Promise((resolve) => setTimeout(resolve, random(60)))
		}
	}
	await Promise.all([churn(16), lister()])
	await settled()
	const { revision } = await api.list()
	assert.ok(watches.some(({ list }) => list.pod_resources.length), "no List had a pod")
	for (const { w, list } of watches) {
		// One that came after the last change has it in its List.
		await until("last event", () => list.revision === revision || w.events.at(-1)?.revision === revision)
		const view = View.ofList(list, { capacity })
		for (const event of w.events.filter((e) => e.revision > list.revision))
			view.apply(event)
		assert.deepEqual(view.normal(), [])
		w.close()
	}
})

await test("a client that goes away and resumes gets each event once", async () => {
	const all = watch(socket, { sendInitial: true }, { capacity })
	await all.until("initial_end", (view) => view.initial)
	const view = new View({ capacity }), events = []
	const open = (request) => watch(socket, request, { view })
	const leave = (w) => {
		w.close()
		w.check()
		events.push(...w.events)
	}
	const first = open({ sendInitial: true })
	await first.until("initial_end", () => view.initial)
	leave(first)
	let over = false
	const hopper = async () => {
		while (!over) {
			const w = open({ afterRevision: view.revision, sendInitial: random(2) === 1 }), enough = 1 + random(6)
			await until("some events", () => w.events.length >= enough || over)
			leave(w)
		}
		const last = open({ afterRevision: view.revision })
		await last.until("the last event", () => view.revision === all.view.revision)
		leave(last)
	}
	const hop = hopper()
	await churn(20)
	await settled()
	await assertSame(all, api)
	over = true
	await hop
	assert.equal(view.resets, 0)
	assert.deepEqual(plain(events.filter((e) => !e.initial_end)), plain(all.events.filter((e) => !e.initial_end)))
	all.close()
})

await test("both streams count in one sequence", async () => {
	const held = watch(socket, { sendInitial: true }, { capacity }), devices = watchAllocatable(socket, { sendInitial: true })
	for (const w of [held, devices])
		await w.until("initial_end", (view) => view.initial)
	const before = gpus.devices
	for (const extra of ["x1", "x2", "x3"]) {
		gpus.set([{ ID: extra }])
		await until("it alone", async () => (await cluster.readNode("n1")).status.allocatable[GPU] === "1")
		const pod = await cluster.run(wants(GPU, 1))
		await cluster.pod(pod, running)
		await held.until("the pod", (view) => view.find("default", pod.metadata.name))
		const got = held.events.find((e) => e.uid === pod.metadata.uid)
		assert.deepEqual(got.pod_resources[0].containers[0].devices[0].device_ids, [extra])
		// A client that reads both in this order knows the device when a pod holds it.
		const known = devices.events.filter((e) => e.revision < got.revision).at(-1)
		assert.ok(known.devices.some((d) => d.device_ids.includes(extra)), "its device is not known yet")
		await end(pod)
		gpus.set(before)
		await allocatable()
	}
	await assertSame(devices, api)
	const revisions = [...held.events, ...devices.events].filter((e) => !e.initial_end).map((e) => e.revision)
	assert.equal(new Set(revisions).size, revisions.length)
	// Resuming the one stream from the other's revision.
	const from = devices.events.at(-1).revision
	const later = watch(socket, { afterRevision: from }, { capacity })
	const next = await cluster.run(podOn("n1"))
	await later.until("the next pod", (view) => view.find("default", next.metadata.name))
	assert.ok(later.events.every((e) => e.revision > from) && later.view.resets === 0)
	await end(next)
	for (const w of [held, devices, later])
		w.close()
})

// --- resuming from where nobody can ---------------------------------------------------------------

// Opens a watch after this revision; the server must ask it to drop its state and send everything.
async function startsOver(afterRevision) {
	const w = watch(socket, { afterRevision }, { capacity })
	await w.until(`initial_end after ${afterRevision}`, (view) => view.initial)
	// Behind it the health of devices may have changed already, when their plugin has come back.
	const told = w.brief.slice(0, w.brief.indexOf("initial_end"))
	assert.equal(told[0], "reset", `after ${afterRevision}: ${w.brief}`)
	assert.equal(w.view.resets, 1)
	assert.ok(told.slice(1).every((b) => b.startsWith("ADDED")), w.brief.join())
	await assertSame(w, api)
	w.close()
	return w
}

await test("a revision that cannot be resumed brings a reset, everything, and initial_end", async () => {
	const pod = await cluster.run(wants(GPU, 2))
	await cluster.pod(pod, running)
	const { revision } = await api.list()
	for (const odd of [revision - 1n, revision + 1n, revision + 1000n, 1n, 2n, -1n, -2n, 2n ** 62n, 2n ** 63n - 1n, -(2n ** 63n)])
		assert.equal((await startsOver(odd)).events.length, 3)
	// The present one can: nothing is new.
	const same = watch(socket, { afterRevision: revision }, { capacity })
	await same.opened
	await end(pod)
	await same.until("its end", () => same.events.length)
	assert.deepEqual(same.brief, [`DELETED default/${pod.metadata.name}`])
	same.close()
	const odd = watchAllocatable(socket, { afterRevision: 1n })
	await odd.until("initial_end", (view) => view.initial)
	await assertSame(odd, api)
	odd.close()
})

await test("after the agent's restart the full state replaces what a client believed", async () => {
	const pod = await cluster.run(wants(GPU, 2))
	await cluster.pod(pod, running)
	const before = watch(socket, { sendInitial: true }, { capacity })
	await assertSame(before, api)
	const { revision } = await api.list()
	await node.kill()
	await until("the end of the watch", () => before.status)
	assert.equal(before.status.code, codes.UNAVAILABLE)
	await node.begin()
	await allocatable()
	const w = await startsOver(revision)
	assert.deepEqual(w.view.containers(pod.metadata.name), before.view.containers(pod.metadata.name))
	assert.ok(w.view.revision > revision)
	await end(pod)
})

// --- slow readers ---------------------------------------------------------------------------------

// Each pod has a quarter of many devices, so that its event is large: together they are more than is kept for readers.
const large = () => churn(40, { users: 5, make: () => wants(BULK, 400) })

for (const [how, open] of [
	["does not read", () => watch(socket, { sendInitial: true }, { capacity, paused: true })],
	["reads a byte now and then", () => new RawWatch(socket, { sendInitial: true }, { capacity })],
]) {
	await test(`a client that ${how} is caught up, and holds up nobody`, async () => {
		await clear()
		const holders = await Promise.all(Array.from({ length: 4 }, () => cluster.run(wants(BULK, 400))))
		await Promise.all(holders.map((p) => cluster.pod(p, running)))
		const slow = open(), fast = watch(socket, { sendInitial: true }, { capacity })
		await fast.until("initial_end", (view) => view.initial)
		const drip = setInterval(() => slow.read?.(1), 20)
		await Promise.all(holders.map(end))
		await large()
		// At the end somebody has it all again.
		await settled()
		const last = await Promise.all(Array.from({ length: 3 }, () => cluster.run(wants(BULK, 400))))
		await Promise.all(last.map((p) => cluster.pod(p, running)))
		clearInterval(drip)
		await assertSame(fast, api)
		const told = fast.events.slice(5)
		assert.ok(told.every((e, i) => i === 0 || e.revision > told[i - 1].revision), "the fast one was caught up")
		for (const life of lives(fast.events.filter((e) => e.uid && !last.some((p) => p.metadata.uid === e.uid))))
			assert.deepEqual([life[0], life.at(-1)], ["ADDED", "DELETED"])
		assert.ok(slow.events.length < 10, `the slow one has ${slow.events.length} events already`)
		if (slow.readAll)
			slow.readAll()
		else
			slow.resume()
		await assertSame(slow, api)
		const later = slow.events.slice(slow.brief.indexOf("initial_end") + 1)
		assert.ok(later.some((e) => e.revision % 2n), "it was not behind enough")
		assert.ok(slow.events.length < fast.events.length, `${slow.events.length} of ${fast.events.length}`)
		assert.equal(slow.view.resets, 0)
		// From now on it is as fast as the other.
		await Promise.all(last.map(end))
		await settled()
		await assertSame(slow, api)
		await assertSame(fast, api)
		assert.deepEqual(plain(slow.events.slice(-3)), plain(fast.events.slice(-3)))
		slow.close()
		fast.close()
	})
}

// --- fairness -------------------------------------------------------------------------------------

await test("a poller at 100 Hz and a watcher live together", async () => {
	const w = watch(socket, { sendInitial: true }, { capacity })
	let polls = 0, over = false, refused
	const poller = async () => {
		for (; !over && !refused; polls++) {
			const calls = [api.list(), api.allocatable(), new Promise((resolve) => setTimeout(resolve, 10))]
			await Promise.all(calls).catch((e) => (refused = e))
		}
	}
	const polling = poller()
	await churn(20)
	over = true
	await polling
	assert.ifError(refused)
	assert.ok(polls > 10, `only ${polls} polls`)
	await settled()
	await assertSame(w, api)
	w.close()
})

await test("a client that floods is rejected, and others are not affected", async () => {
	let refused
	const calls = setInterval(() => api.list().catch((e) => (refused ??= e)), 10)
	const theirs = await another(socket, "lists", "1500")
	clearInterval(calls)
	await theirs.kill()
	assert.equal(refused, undefined)
	assert.deepEqual(theirs.failed, [])
	assert.ok(theirs.ok >= 100 && theirs.refused >= 100, `${theirs.ok} answered, ${theirs.refused} refused`)
	assert.equal(await metric(node, "devplane_pod_resources_refused_total", 'reason="rate"'), theirs.refused)
})

await test("watches are limited by client and in all; one that ends makes room", async () => {
	const other = await cluster.node("n2", { flags: ["--pod-resources-client-streams", "3", "--pod-resources-streams", "5"] })
	const path = socketOf(other)
	const own = [watch(path, { sendInitial: true }), watchAllocatable(path, { sendInitial: true }), watch(path, { sendInitial: true })]
	for (const w of own)
		await w.until("initial_end", (view) => view.initial)
	assert.equal((await watch(path).ended).code, codes.RESOURCE_EXHAUSTED)
	const theirs = await another(path, "watches", "4")
	assert.deepEqual([theirs.ok, theirs.refused, theirs.failed], [2, 2, []])
	own[1].close()
	let again
	await until("room", async () => {
		again = watch(path, { sendInitial: true })
		await Promise.race([again.ended, again.opened])
		await new Promise((resolve) => setImmediate(resolve))
		return !again.status && again.until("initial_end", (view) => view.initial).then(() => true, () => false)
	})
	await client(path).list()
	await theirs.kill()
	for (const w of [...own, again])
		w.close()
	await other.stop()
})

gpus.stop()
bulk.stop()
await node.stop()
await cluster.stop()
finish()
