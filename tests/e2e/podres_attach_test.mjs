// devplane node --attach beside a kubelet that only answers List, Get and GetAllocatableResources and refuses who asks too often:
// watchers on devplane's socket hear of every change, in an order in which sums hold.
import assert from "node:assert/strict"
import { mkdirSync } from "node:fs"
import { core, unique } from "./api_lib.mjs"
import { fakeKubelet } from "./attach_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { podOn, pods, shortFolder, startCluster } from "./node_lib.mjs"
import { codes } from "./plugin_services.mjs"
import { assertSame, client, metric, normalList, watch, watchAllocatable } from "./podres_lib.mjs"

const GPU = "example.com/gpu"
const all = ["0", "1", "2", "3"]
const capacity = { [GPU]: all.length, cpu: 4 }
const root = shortFolder()
const kubeletSocket = `${root}/pod-resources/kubelet.sock`, socket = `${root}/pod-resources/devplane.sock`
for (const folder of ["pod-resources", "plugins_registry"])
	mkdirSync(`${root}/${folder}`)

// --- the kubelet ----------------------------------------------------------------------------------

const kubelet = fakeKubelet(kubeletSocket, { gpus: all })

// --- pods -----------------------------------------------------------------------------------------

const status = async (pod, phase) => {
	const body = { status: { phase, startTime: "2024-01-01T00:00:00Z" } }
	const { code, text } = await cluster.client.patch(`${pods}/${pod.metadata.name}/status`, body, "merge")
	assert.equal(code, 200, text)
}

// A pod that runs and holds what it should.
async function run(held, name = unique("pod")) {
	const pod = await cluster.run(podOn("n1", { name }))
	await kubelet.set({ [name]: held })
	await status(pod, "Running")
	return pod
}

async function end(pod) {
	await kubelet.set({ [pod.metadata.name]: undefined })
	await cluster.delete(pod, 0)
}

const nameOf = (pod) => pod.metadata.name
const gpusOf = (view, pod) => Object.keys(view.containers(nameOf(pod))?.main.devices?.[GPU] ?? {}).join()
const shows = (pod, gpus) => (view) => view.find("default", nameOf(pod)) && gpusOf(view, pod) === gpus
const lacks = (pod) => (view) => !view.find("default", nameOf(pod))
const of = (w, pod) => w.events.filter((e) => e.uid === pod.metadata.uid).map((e) => e.action)

const attached = (name, labels) => metric(node, `devplane_attach_${name}`, labels)
const calls = (method, code) => attached("calls_total", `method="${method}",code="${code}"`)

async function readyz() {
	const answer = await fetch(`${node.url}/readyz?verbose`)
	return { code: answer.status, text: await answer.text() }
}
const ready = () => until("readiness", async () => (await readyz()).code === 200)

// --- the story ------------------------------------------------------------------------------------

const cluster = await startCluster()
const made = await cluster.client.post(`${core}/nodes`, { metadata: { name: "n1" } })
assert.equal(made.code, 201, made.text)
await kubelet.begin()
const first = await run({ gpus: ["0"], cpus: [1] }), bare = await run({})
const node = await cluster.node("n1", { root, hollow: false, wait: false, flags: ["--attach", "--attach-interval", "500ms"] })
await ready()
const own = client(socket)
let theirs = client(kubeletSocket)
const w = watch(socket, { sendInitial: true }, { capacity })

// The kubelet may have been asked too often by others: what it says when it does answer.
const truth = () => until("answer of the kubelet", async () => {
	const list = await theirs.list().catch((e) => {
		if (e.code !== codes.RESOURCE_EXHAUSTED && e.code !== codes.UNAVAILABLE)
			throw e
	})
	return list && normalList(list)
})

async function same() {
	await until("the kubelet's List", async () => JSON.stringify(normalList(await own.list())) === JSON.stringify(await truth()))
	await assertSame(w, own)
}

await test("a watcher gets what the kubelet lists, with uids, and what is allocatable", async () => {
	await w.until("initial_end", (view) => view.initial)
	assert.deepEqual([...w.view.pods.keys()].sort(), [first, bare].map((p) => p.metadata.uid).sort())
	assert.deepEqual(w.view.containers(nameOf(first)), { main: { devices: { [GPU]: { 0: [0, 1] } }, cpus: [1] } })
	assert.deepEqual(w.view.containers(nameOf(bare)), { main: {} })
	const a = watchAllocatable(socket, { sendInitial: true })
	await a.until("allocatable", (view) => view.initial)
	assert.deepEqual(Object.keys(a.view.content.devices[GPU]), all)
	a.close()
	await same()
})

await test("a pod is told when it comes, when it is admitted, and when it goes", async () => {
	const pod = await cluster.run(podOn("n1"))
	await kubelet.set({ [nameOf(pod)]: {} })
	await w.until("the pod", shows(pod, ""))
	await kubelet.set({ [nameOf(pod)]: { gpus: ["1", "2"], cpus: [2] } })
	await status(pod, "Running")
	await w.until("its devices", shows(pod, "1,2"))
	await kubelet.set({ [nameOf(pod)]: undefined })
	await status(pod, "Succeeded")
	await w.until("its end", lacks(pod))
	assert.deepEqual(of(w, pod), ["ADDED", "UPDATED", "DELETED"])
	await cluster.delete(pod, 0)
	await same()
})

await test("a release is reported before the next use", async () => {
	let before = await run({ gpus: ["1", "2", "3"], cpus: [0, 2, 3] })
	await w.until("the first pod", shows(before, "1,2,3"))
	for (let i = 0; i < 15; i++) {
		// The next one has it at once, and the API shows it before the other's end.
		const next = await cluster.run(podOn("n1"))
		await kubelet.set({ [nameOf(before)]: undefined, [nameOf(next)]: { gpus: ["1", "2", "3"], cpus: [0, 2, 3] } })
		await status(next, "Running")
		await cluster.delete(before, 0)
		await w.until("the next pod", shows(next, "1,2,3"))
		before = next
	}
	await end(before)
	await w.until("the last one's end", lacks(before))
	await same()
})

await test("a name that is used again is another pod, told after the end of the first", async () => {
	const one = await run({ gpus: ["1"] }, "again")
	await w.until("the first", shows(one, "1"))
	await cluster.delete(one, 0)
	const two = await cluster.run(podOn("n1", { name: "again" }))
	// The kubelet does not know of it yet: what it lists is the first one's.
	const looks = async () => ((c) => c.List + c.Get)(await kubelet.say()), before = await looks()
	await until("other looks", async () => await looks() > before + 2)
	assert.deepEqual([of(w, one), of(w, two)], [["ADDED"], []])
	await status(two, "Running")
	await w.until("the second", (view) => view.pods.has(two.metadata.uid))
	assert.deepEqual(w.events.slice(-2).map((e) => [e.action, e.uid]), [["DELETED", one.metadata.uid], ["ADDED", two.metadata.uid]])
	await end(two)
	await w.until("the second's end", lacks(two))
})

await test("a List that shows a device with two pods is not believed", async () => {
	const from = await run({ gpus: ["1"] }), to = await run({})
	await w.until("both", (view) => shows(from, "1")(view) && shows(to, "")(view))
	const before = await attached("torn_answers_total")
	const torn = { ...kubelet.holds, [nameOf(to)]: { gpus: ["1"] } }
	await kubelet.set({ [nameOf(from)]: undefined, [nameOf(to)]: { gpus: ["1"] } }, torn, torn)
	await cluster.delete(from, 0)
	await w.until("the device's way", (view) => lacks(from)(view) && shows(to, "1")(view))
	assert.equal(await attached("torn_answers_total") - before, 2)
	await end(to)
	await w.until("the end", lacks(to))
	await same()
})

await test("a neighbour who uses up the kubelet's calls delays events and loses none", async () => {
	let noisy = true
	const refused = () => calls("List", "RESOURCE_EXHAUSTED").then(async (n) => (n || 0) + (await calls("Get", "RESOURCE_EXHAUSTED") || 0))
	const noise = Array.from({ length: 30 }, async () => {
		while (noisy)
			await theirs.list().catch((e) => assert.equal(e.code, codes.RESOURCE_EXHAUSTED))
	})
	const made = []
	await until("refusals", async () => {
		made.push(await run({ gpus: ["1"] }))
		await end(made.at(-1))
		return await refused() > 0
	})
	const last = await run({ gpus: ["1"] })
	noisy = false
	await Promise.all(noise)
	await w.until("the last pod", shows(last, "1"))
	for (const pod of made)
		await w.until("the end of the others", lacks(pod))
	await end(last)
	await w.until("the end", lacks(last))
	await same()
	await ready()
})

await test("it says when it is behind, and when it is not any more", async () => {
	await kubelet.say({ refuse: true })
	const pod = await run({ gpus: ["1"] })
	const { text } = await until("word of being behind", async () => {
		const answer = await readyz()
		return answer.code !== 200 && answer
	})
	assert.match(text, /^\[\+\]ping ok\n\[\+\]kubelet-socket ok: connected to .*\/pod-resources\/kubelet\.sock\n\[\+\]plugin-registry ok: 0 DRA drivers in .*\/plugins_registry\n/)
	assert.match(text, /\[-\]node-ready failed: behind for .*rejected by rate limit/)
	await until("the metric", async () => await attached("behind") === 1)
	await until("a warning", () => /behind the kubelet/.test(node.process.err))
	await kubelet.say({ refuse: false })
	await w.until("the pod", shows(pod, "1"))
	await ready()
	await until("the metric", async () => await attached("behind") === 0)
	await end(pod)
	await w.until("the end", lacks(pod))
})

await test("a kubelet that restarts, and shows nothing at first, takes nothing from anybody", async () => {
	const pod = await run({ gpus: ["2"] })
	await w.until("the pod", shows(pod, "2"))
	const before = w.events.length, lists = await calls("List", "OK")
	await kubelet.kill()
	await kubelet.begin({ lists: [{}, {}, { [nameOf(bare)]: {} }, kubelet.holds] })
	theirs.close()
	theirs = client(kubeletSocket)
	await until("four Lists", async () => await calls("List", "OK") >= lists + 4)
	await same()
	assert.deepEqual(w.brief.slice(before), [])
	assert.equal(w.view.resets, 0)
	await ready()
	await end(pod)
	await w.until("the end", lacks(pod))
})

await test("a kubelet without Get is asked by List", async () => {
	await kubelet.kill()
	await kubelet.begin({ noGet: true })
	theirs.close()
	theirs = client(kubeletSocket)
	const made = []
	const another = async () => {
		made.push(await run({ gpus: ["1"] }))
		await w.until("the pod", shows(made.at(-1), "1"))
		await end(made.at(-1))
		await w.until("its end", lacks(made.at(-1)))
		return (await kubelet.say()).Get
	}
	const tried = await until("a try of Get", another)
	assert.equal(await another(), tried)
	assert.equal(tried, 1)
	await same()
})

await test("while nothing happens the kubelet is asked once in each interval", async () => {
	await status(bare, "Running")
	const before = await until("silence", async () => {
		const now = await kubelet.say(), next = now.List + 1
		const later = await until("a List", async () => {
			const c = await kubelet.say()
			return c.List >= next && c
		})
		return later.List === next && later.Get === now.Get && later
	})
	const began = Date.now()
	const after = await until("three Lists", async () => {
		const c = await kubelet.say()
		return c.List >= before.List + 3 && c
	})
	const ms = Date.now() - began
	assert.equal(after.Get, before.Get)
	assert.ok(ms > 1000, `three Lists in ${ms} ms`)
	assert.ok(after.GetAllocatableResources - before.GetAllocatableResources <= 4)
})

await test("a new attach tells everything again; it ends in order", async () => {
	await node.stop()
	await w.ended
	assert.equal(w.status.code, codes.UNAVAILABLE)
	await node.begin()
	// At once: until the kubelet has answered, calls wait.
	const again = watch(socket, { sendInitial: true, afterRevision: w.view.revision }, { capacity })
	await again.until("the whole state", (view) => view.initial)
	assert.deepEqual(again.view.normal(), w.view.normal())
	again.close()
	await node.stop()
})

w.close()
finish()
