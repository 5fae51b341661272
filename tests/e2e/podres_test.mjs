// PodResources, called by @grpc/grpc-js: the KEP's test plan and more, each in List, in Get and in the watch. The node is a
// machine made up of files, two NUMA nodes of four CPUs.
import assert from "node:assert/strict"
import { readFileSync, statSync, writeFileSync } from "node:fs"
import { unique } from "./api_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"
import { machineFlags, putMachine } from "./machine_lib.mjs"
import { allocateClaim, podOn, shortFolder, startCluster } from "./node_lib.mjs"
import { DevicePlugin, DraDriver } from "./plugin_lib.mjs"
import { call, codes, insecure, load } from "./plugin_services.mjs"
import {
	assertSame, client, containersOf, contentOf, devicesOf, metric, openStreams, socketOf, watch, watchAllocatable,
} from "./podres_lib.mjs"

const GPU = "example.com/gpu", NIC = "example.com/nic"
const MIB = 1 << 20
const cluster = await startCluster()
const node = await cluster.node("n1", { flags: [...machineFlags, "--topology-manager-policy", "best-effort"] })
const gpus = await DevicePlugin.start(node.root, GPU, [0, 0, 1, 1].map((numa, i) => ({ ID: `gpu${i}`, numa: [numa] })))
const nics = await DevicePlugin.start(node.root, NIC, [{ ID: "near-both", numa: [0, 1] }, { ID: "anywhere" }])
await cluster.readNodeWhen("n1", (n) => n.status.allocatable[GPU] === "4" && n.status.allocatable[NIC] === "2")

const socket = socketOf(node)
const api = client(socket)
// All tests look into these two, so that events that nobody expects are noticed.
const seen = watch(socket, { sendInitial: true }, { capacity: { [GPU]: 4, [NIC]: 2, cpu: 7 } })
const offered = watchAllocatable(socket, { sendInitial: true })

const limits = (what) => ({ resources: { limits: what, requests: what } })
const running = (p) => p.status.phase === "Running"

async function runs(pod) {
	const made = await cluster.run(pod)
	return cluster.pod(made, running)
}

// The events of a pod.
const told = ({ metadata: { uid } }) => seen.events.filter((e) => e.uid === uid)

// The resources that the pod holds, after a check that all calls return the same.
async function everywhere({ metadata: { name } }) {
	const got = containersOf(await api.get("default", name))
	await assertSame(seen, api)
	const { pod_resources } = await api.list()
	const listed = pod_resources.filter((p) => p.namespace === "default" && p.name === name)
	assert.equal(listed.length, 1)
	assert.deepEqual(containersOf(listed[0]), got)
	assert.deepEqual(seen.view.containers(name), got)
	return got
}

async function end(pod) {
	await cluster.delete(pod, 0)
	await cluster.gone(pod)
	await seen.until(`end of ${pod.metadata.name}`, (view) => !view.find("default", pod.metadata.name))
	assert.equal(told(pod).at(-1).action, "DELETED")
}

const idsOf = (container, resource) => Object.keys(container.devices?.[resource] ?? {})

// --- pods -----------------------------------------------------------------------------------------

await test("a pod without devices is told with its containers, and of its end", async () => {
	const pod = await runs(podOn("n1", { containers: [{ name: "one", image: "x" }, { name: "two", image: "x" }] }))
	assert.deepEqual(await everywhere(pod), { one: {}, two: {} })
	await end(pod)
	assert.deepEqual(told(pod).map((e) => e.action), ["ADDED", "DELETED"])
	const { pod_resources: [last] } = told(pod).at(-1)
	assert.deepEqual([last.namespace, last.name], ["default", pod.metadata.name])
})

await test("devices of some containers only are with these", async () => {
	const pod = await runs(podOn("n1", {
		containers: [{ name: "with", image: "x", ...limits({ [GPU]: "2" }) }, { name: "without", image: "x" },
			{ name: "also", image: "x", ...limits({ [GPU]: "1" }) }],
	}))
	const got = await everywhere(pod)
	assert.deepEqual(Object.keys(got), ["with", "without", "also"])
	assert.deepEqual(got.without, {})
	const ids = [...idsOf(got.with, GPU), ...idsOf(got.also, GPU)]
	assert.deepEqual([idsOf(got.with, GPU).length, new Set(ids).size], [2, 3])
	await end(pod)
	assert.deepEqual(told(pod).map((e) => e.action), ["ADDED", "DELETED"])
})

await test("an init container has what no other has taken over, and is left out without", async () => {
	const exits = { "devplane.dev/hollow-exit.init": "0" }
	const pod = await runs(podOn("n1", {
		annotations: exits, initContainers: [{ name: "init", image: "x", ...limits({ [GPU]: "3" }) }], main: limits({ [GPU]: "1" }),
	}))
	const got = await everywhere(pod)
	assert.deepEqual([idsOf(got.init, GPU).length, idsOf(got.main, GPU).length], [2, 1])
	assert.ok(!idsOf(got.init, GPU).includes(idsOf(got.main, GPU)[0]))
	await end(pod)
	const reused = await runs(podOn("n1", {
		annotations: exits, initContainers: [{ name: "init", image: "x", ...limits({ [GPU]: "2" }) }], main: limits({ [GPU]: "2" }),
	}))
	const all = await everywhere(reused)
	assert.deepEqual(Object.keys(all), ["main"])
	assert.equal(idsOf(all.main, GPU).length, 2)
	await end(reused)
})

await test("a sidecar keeps its devices and is told before the containers", async () => {
	const pod = await runs(podOn("n1", {
		initContainers: [{ name: "side", image: "x", restartPolicy: "Always", ...limits({ [GPU]: "1" }) }], main: limits({ [GPU]: "1" }),
	}))
	const got = await everywhere(pod)
	assert.deepEqual(Object.keys(got), ["side", "main"])
	assert.equal(new Set([...idsOf(got.side, GPU), ...idsOf(got.main, GPU)]).size, 2)
	await end(pod)
})

await test("a device is told once per NUMA node, one without nodes once without a topology", async () => {
	const pod = await runs(podOn("n1", { main: limits({ [GPU]: "4", [NIC]: "2" }) }))
	const got = await everywhere(pod)
	assert.deepEqual(got.main.devices, {
		[GPU]: { gpu0: [0], gpu1: [0], gpu2: [1], gpu3: [1] },
		[NIC]: { "near-both": [0, 1], anywhere: [] },
	})
	const { containers: [{ devices }] } = await api.get("default", pod.metadata.name)
	assert.ok(devices.every((d) => d.device_ids.length === 1 && (d.topology?.nodes.length ?? 1) === 1))
	assert.equal(devices.filter((d) => d.device_ids[0] === "near-both").length, 2)
	assert.equal(devices.find((d) => d.device_ids[0] === "anywhere").topology, null)
	await end(pod)
})

await test("CPUs and memory that a container has for itself are told with their NUMA node", async () => {
	const pod = await runs(podOn("n1", {
		containers: [{ name: "own", image: "x", ...limits({ cpu: "2", memory: "1Gi", [GPU]: "1" }) },
			{ name: "shares", image: "x", ...limits({ cpu: "500m", memory: "64Mi" }) }],
	}))
	const got = await everywhere(pod)
	assert.equal(got.own.cpus.length, 2)
	assert.ok(!got.own.cpus.includes(0), "CPU 0 is reserved")
	const [near] = Object.values(got.own.devices[GPU])[0]
	assert.deepEqual([...new Set(got.own.cpus.map((c) => c >> 2))], [near])
	assert.deepEqual(got.own.memory, [`memory ${1024 * MIB} on ${near}`])
	assert.equal(got.shares.cpus, undefined)
	assert.deepEqual(got.shares.memory?.map((m) => m.replace(/ on .*/, "")), [`memory ${64 * MIB}`])
	await end(pod)
})

await test("claims are told with CDI ids, driver, pool, device and share, by the containers that use them", async () => {
	const driver = await DraDriver.start(node.root, "gpu.example.com", {
		prepare: () => ({
			devices: [
				{ request_names: ["big"], pool_name: "p1", device_name: "d1", cdi_device_ids: ["example.com/gpu=d1", "example.com/all=d1"] },
				{ request_names: ["small"], pool_name: "p2", device_name: "d2", cdi_device_ids: ["example.com/gpu=d2"], share_id: "a7c5" },
			],
		}),
	})
	const name = unique("claim")
	const pod = await cluster.run(podOn("n1", {
		resourceClaims: [{ name: "c", resourceClaimName: name }],
		containers: [
			{ name: "both", image: "x", resources: { claims: [{ name: "c" }] } },
			{ name: "small", image: "x", resources: { claims: [{ name: "c", request: "small" }] } },
			{ name: "none", image: "x" },
		],
	}))
	await allocateClaim(cluster.client, name, [
		{ request: "big", driver: driver.name, pool: "p1", device: "d1" }, { request: "small", driver: driver.name, pool: "p2", device: "d2" },
	], pod)
	await cluster.pod(pod, running)
	const small = `default/${name} gpu.example.com/p2/d2#a7c5 example.com/gpu=d2`
	const big = `default/${name} gpu.example.com/p1/d1 example.com/gpu=d1,example.com/all=d1`
	assert.deepEqual(await everywhere(pod), { both: { claims: [big, small] }, small: { claims: [small] }, none: {} })
	await end(pod)
	// Nothing before the driver has answered, then all of it; nothing again once it is given back.
	const states = told(pod).slice(0, -1).map((e) => containersOf(e.pod_resources[0]).both.claims?.length ?? 0)
	assert.match(states.join(), /^0,2(,0)?$/)
	driver.stop()
})

// The description without devplane's own fields: what a client of upstream has.
function upstreamLister() {
	const text = readFileSync(new URL("proto/podresources_v1.proto", import.meta.url), "utf8")
	const file = `${scratch}/upstream_podresources.proto`
	writeFileSync(file, text.split("\n").filter((line) => !/= 1\d\d;/.test(line)).join("\n"))
	return load(file, { longs: Number }).v1.PodResourcesLister
}

await test("claims that no container names, the health of devices, and devices of drivers in allocatable", async () => {
	const results = ["d1", "d2"].map((device) => ({ request: "r", driver: "own.example.com", pool: "p", device }))
	const driver = await DraDriver.start(node.root, "own.example.com", {
		prepare: () => ({ devices: results.map((r) => ({ request_names: ["r"], pool_name: "p", device_name: r.device, cdi_device_ids: [] })) }),
	})
	const report = (d2, message) => driver.report([{ pool: "p", device: "d1", health: "Healthy" }, { pool: "p", device: "d2", health: d2, message },
		{ pool: "p", device: "d3", health: "Healthy" }].map((d) => ({ ...d, timeout: 3600 })))
	report("Healthy")
	const name = unique("claim")
	const pod = await cluster.run(podOn("n1", {
		resourceClaims: [{ name: "c", resourceClaimName: name }], main: limits({ [GPU]: "1" }),
	}))
	await allocateClaim(cluster.client, name, results, pod)
	await cluster.pod(pod, running)
	const health = ({ dynamic_resources = [] }) => dynamic_resources.flatMap((c) =>
		c.claim_resources.map((r) => `${c.claim_name} ${r.driver_name}/${r.pool_name}/${r.device_name} ${r.health} ${r.health_message}`.trim()))
	const own = async () => health(await api.get("default", pod.metadata.name))
	await until("both healthy", async () => (await own()).join() === ["d1", "d2"].map((d) => `${name} own.example.com/p/${d} HEALTHY`).join())
	const offers = async () => (await api.allocatable()).claim_resources.map((r) => `${r.driver_name}/${r.pool_name}/${r.device_name} ${r.health}`)
	assert.deepEqual(await offers(), ["d1", "d2", "d3"].map((d) => `own.example.com/p/${d} HEALTHY`))
	await offered.until("the same in the watch", (view) => view.state?.claim_resources.length === 3)
	// A change of health is an event in which nothing is given back.
	const before = told(pod).length
	report("Unhealthy", "too hot")
	const sick = `${name} own.example.com/p/d2 UNHEALTHY too hot`
	await seen.until("the fault", () => told(pod).slice(before).some((e) => health(e.pod_resources[0]).includes(sick)))
	assert.ok(told(pod).slice(before).every((e) => e.action === "UPDATED" && health(e.pod_resources[0]).length === 2))
	assert.ok((await own()).includes(sick))
	await until("one offer less", async () => (await offers()).length === 2)
	// The same for a plugin's devices.
	const device = async () => (await api.get("default", pod.metadata.name)).containers[0].devices[0]
	const { device_ids: [id] } = await device()
	gpus.health(id, "Unhealthy", "dust")
	await until("dust", async () => (await device()).health_message === "dust" && (await device()).health === "UNHEALTHY")
	// Upstream's clients find what they know, and nothing else.
	const upstream = new (upstreamLister())(`unix:${socket}`, insecure)
	const { pod_resources } = await call(upstream, "List", {})
	const listed = pod_resources.find((p) => p.name === pod.metadata.name)
	assert.deepEqual(Object.keys(listed).sort(), ["containers", "cpu_ids", "memory", "name", "namespace"])
	assert.deepEqual(containersOf(listed), containersOf(await api.get("default", pod.metadata.name)))
	assert.deepEqual((await call(upstream, "GetAllocatableResources", {})).devices.map((d) => d.device_ids), (await api.allocatable()).devices.map((d) => d.device_ids))
	upstream.close()
	gpus.health(id, "Healthy", "")
	await end(pod)
	driver.stop()
	await until("no offers", async () => (await offers()).length === 0)
})

await test("a pod that has ended is gone although its object is there", async () => {
	const pod = await cluster.run(podOn("n1", {
		annotations: { "devplane.dev/hollow-exit.main": "0 after 50ms" }, restartPolicy: "Never", main: limits({ [GPU]: "1" }),
	}))
	await cluster.pod(pod, (p) => p.status.phase === "Succeeded")
	await seen.until("its end", () => told(pod).at(-1)?.action === "DELETED")
	assert.deepEqual(told(pod).map((e) => e.action), ["ADDED", "DELETED"])
	assert.equal((await api.list()).pod_resources.some((p) => p.name === pod.metadata.name), false)
	await assert.rejects(api.get("default", pod.metadata.name), { code: codes.UNKNOWN })
	await cluster.delete(pod, 0)
	await cluster.gone(pod)
	assert.equal(told(pod).length, 2)
})

await test("a pod of the same name is another one", async () => {
	const name = unique("same")
	const first = await runs(podOn("n1", { name, main: limits({ [GPU]: "4" }) }))
	await cluster.delete(first, 0)
	const second = await runs(podOn("n1", { name }))
	assert.deepEqual(await everywhere(second), { main: {} })
	const uids = [first.metadata.uid, second.metadata.uid]
	const story = seen.events.filter((e) => uids.includes(e.uid)).map((e) => `${e.action} ${uids.indexOf(e.uid)}`)
	assert.deepEqual([...story].sort(), ["ADDED 0", "ADDED 1", "DELETED 0"])
	assert.ok(story.indexOf("ADDED 0") < story.indexOf("DELETED 0"))
	await end(second)
})

await test("a pod that is refused is never told", async () => {
	const pod = await cluster.run(podOn("n1", { main: limits({ [GPU]: "5" }) }))
	await cluster.pod(pod, (p) => p.status.phase === "Failed")
	await end(await runs(podOn("n1")))
	assert.deepEqual(told(pod), [])
	await cluster.delete(pod, 0)
	await cluster.gone(pod)
})

await test("Get of a pod that is not there fails in upstream's words", async () => {
	await assert.rejects(api.get("default", "nobody"), { code: codes.UNKNOWN, details: "pod nobody in namespace default not found" })
	await assert.rejects(api.get("", ""), { code: codes.UNKNOWN, details: "pod  in namespace  not found" })
})

await test("v1alpha1 has the containers and their devices", async () => {
	const pod = await runs(podOn("n1", {
		initContainers: [{ name: "side", image: "x", restartPolicy: "Always", ...limits({ [GPU]: "1" }) }],
		main: limits({ [GPU]: "1", [NIC]: "2", cpu: "1", memory: "64Mi" }),
	}))
	const { main } = await everywhere(pod)
	const { pod_resources: [old, ...rest] } = await api.listAlpha()
	assert.deepEqual([old.namespace, old.name, rest], ["default", pod.metadata.name, []])
	assert.deepEqual(old.containers.map((c) => c.name), ["main"])
	const alpha = devicesOf(old.containers[0].devices)
	assert.deepEqual([Object.keys(alpha[GPU]), Object.keys(alpha[NIC]).sort()], [idsOf(main, GPU), ["anywhere", "near-both"]])
	await end(pod)
})

// --- allocatable ----------------------------------------------------------------------------------

const allNics = { "near-both": [0, 1], anywhere: [] }
const allGpus = { gpu0: [0], gpu1: [0], gpu2: [1], gpu3: [1] }
const memory = (...mib) => mib.map((m, i) => `memory ${m * MIB} on ${i}`).sort()

// Waits until the stream says this of what it names, and finds the same in an answer.
async function offers(what) {
	await offered.until(JSON.stringify(what), (view) => {
		try {
			return Object.keys(what).every((key) => assert.deepEqual(view.content?.[key], what[key]) ?? true)
		} catch {
			return false
		}
	})
	await assertSame(offered, api)
}

// The actions of the stream that `change` brings about.
async function actions(change) {
	const before = offered.events.length
	await change()
	return offered.events.slice(before).map((e) => e.action)
}

await test("allocatable is what could be handed out, whoever has it", async () => {
	const all = { devices: { [GPU]: allGpus, [NIC]: allNics }, cpus: [1, 2, 3, 4, 5, 6, 7], memory: memory(7680, 7680) }
	await offers(all)
	assert.deepEqual(contentOf(await api.allocatable()), all)
	const before = offered.events.length
	const pod = await runs(podOn("n1", { main: limits({ [GPU]: "4", cpu: "2", memory: "1Gi" }) }))
	assert.deepEqual(contentOf(await api.allocatable()), all)
	assert.equal(offered.events.length, before, "held or not is nothing new")
	await end(pod)
})

await test("a device that fails, heals, goes and comes is told each time, in order", async () => {
	const without = (...ids) => ({ devices: { [GPU]: Object.fromEntries(Object.entries(allGpus).filter(([id]) => !ids.includes(id))), [NIC]: allNics } })
	const [...all] = gpus.devices
	assert.deepEqual(await actions(async () => {
		gpus.health("gpu1", "Unhealthy", "hot")
		await offers(without("gpu1"))
		gpus.health("gpu1", "Healthy")
		await offers(without())
		gpus.set(all.slice(0, 3))
		await offers(without("gpu3"))
		gpus.set(all)
		await offers(without())
	}), ["DELETED", "ADDED", "DELETED", "ADDED"])
	// One fails as another comes back.
	gpus.health("gpu0", "Unhealthy")
	await offers(without("gpu0"))
	assert.deepEqual(await actions(async () => {
		gpus.set(all.map((d) => (d.ID === "gpu2" ? { ...d, health: "Unhealthy" } : d)))
		await offers(without("gpu2"))
	}), ["UPDATED"])
	gpus.set(all)
	await offers(without())
})

await test("a plugin that comes and goes is told", async () => {
	const more = "example.com/more", devices = { [GPU]: allGpus, [NIC]: allNics }
	const plugin = await DevicePlugin.start(node.root, more, [{ ID: "a" }])
	await offers({ devices: { ...devices, [more]: { a: [] } } })
	plugin.stop()
	await offers({ devices })
})

await test("CPUs that go off line and come back are told, and memory that is plugged", async () => {
	assert.deepEqual(await actions(async () => {
		putMachine({ online: "0-6", nodes: ["0-3", "4-6"] })
		await offers({ cpus: [1, 2, 3, 4, 5, 6] })
		putMachine()
		await offers({ cpus: [1, 2, 3, 4, 5, 6, 7] })
	}), ["DELETED", "ADDED"])
	putMachine({ gib: [8, 16] })
	await offers({ memory: memory(7680, 7680 + 8192) })
	putMachine()
	await offers({ memory: memory(7680, 7680) })
})

// --- the socket -----------------------------------------------------------------------------------

const mode = (path) => (statSync(path).mode & 0o7777).toString(8)

await test("the socket is its owner's alone, in a folder that others cannot enter", async () => {
	assert.equal(mode(socket), "600")
	assert.equal(statSync(socket).uid, process.getuid())
	assert.equal(statSync(`${node.root}/pod-resources`).mode & 0o027, 0)
})

await test("mode, group and path of the socket are the operator's; without the gate the watches are not there, all else is", async () => {
	const path = `${shortFolder()}/folder/pr.sock`
	const other = await cluster.node("n2", {
		flags: ["--pod-resources-socket", path, "--pod-resources-socket-mode", "0660", "--pod-resources-socket-group", "daemon",
			"--feature-gates", "KubeletPodResourcesWatch=false"],
	})
	assert.equal(mode(path), "660")
	assert.equal(statSync(path).gid, Number(/^daemon:[^:]*:(\d+)/m.exec(readFileSync("/etc/group"))[1]))
	const theirs = client(path)
	const pod = await runs(podOn("n2"))
	assert.deepEqual((await theirs.list()).pod_resources.map((p) => p.name), [pod.metadata.name])
	assert.equal((await theirs.get("default", pod.metadata.name)).name, pod.metadata.name)
	assert.equal((await theirs.listAlpha()).pod_resources.length, 1)
	assert.deepEqual(contentOf(await theirs.allocatable()), {})
	for (const refused of [watch(path), watch(path, { sendInitial: true }), watchAllocatable(path)])
		assert.equal((await refused.ended).code, codes.UNIMPLEMENTED)
	theirs.close()
	await other.stop()
	assert.throws(() => statSync(path), { code: "ENOENT" })
})

// --- metrics --------------------------------------------------------------------------------------

await test("calls, errors, streams and events are counted by the KEP's names", async () => {
	const v1 = 'server_api_version="v1"', alpha = 'server_api_version="v1alpha1"'
	const names = ["requests_total", "requests_list", "requests_get", "errors_get", "requests_get_allocatable", "requests_list_and_watch",
		"requests_list_and_watch_allocatable_resources"]
	// Under a kubelet's names and under the KEP's.
	const read = () => Promise.all(["", "kubelet_"].flatMap((prefix) => [...names.map((name) => [name, v1]), ["requests_total", alpha]]
		.map(([name, labels]) => metric(node, `${prefix}pod_resources_endpoint_${name}`, labels))))
	const before = await read(), streams = await openStreams(node), events = await metric(node, "devplane_pod_resources_events_total")
	await api.list()
	await api.listAlpha()
	await api.allocatable()
	await assert.rejects(api.get("default", "nobody"))
	const extra = [watch(socket, { sendInitial: true }), watchAllocatable(socket, { sendInitial: true })]
	for (const w of extra)
		await w.until("initial_end", (view) => view.initial)
	const grown = [5, 1, 1, 1, 1, 1, 1, 1]
	assert.deepEqual((await read()).map((n, i) => n - before[i]), [...grown, ...grown])
	for (const name of ["errors_list", "errors_get_allocatable", "errors_list_and_watch", "errors_list_and_watch_allocatable_resources"])
		assert.equal(await metric(node, `pod_resources_endpoint_${name}`, v1), 0, name)
	assert.equal(await openStreams(node), streams + 2)
	assert.equal(await metric(node, "devplane_pod_resources_events_total"), events + 3)
	assert.equal(await metric(node, "devplane_pod_resources_backlog"), 0)
	extra.forEach((w) => w.close())
	await until("the end of two streams", async () => await openStreams(node) === streams)
})

await test("no event was lost, none came twice, and none that nobody knows of", async () => {
	await assertSame(seen, api)
	await assertSame(offered, api)
	const revisions = [...seen.events, ...offered.events].filter((e) => !e.initial_end).map((e) => e.revision)
	assert.equal(new Set(revisions.slice(1)).size, revisions.length - 1, "a revision twice")
	assert.deepEqual(seen.view.normal(), [])
	assert.equal(seen.brief.filter((b) => b.startsWith("ADDED")).length, seen.brief.filter((b) => b.startsWith("DELETED")).length)
	assert.ok(seen.brief.includes("initial_end"))
	assert.equal(seen.view.resets, 0)
})

gpus.stop()
nics.stop()
await node.stop()
await until("the end of the watches", () => seen.status && offered.status)
assert.equal(seen.status.code, codes.UNAVAILABLE)
await cluster.stop()
finish()
