// CPUs, memory and devices on a machine that is made up of files: two NUMA nodes of four CPUs and 8 GiB. Pods get what
// belongs together, or are refused; CPUs and memory that come and go are seen by the Node.
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { finish, test, until } from "./lib.mjs"
import { machineFlags, put, putMachine, sys } from "./machine_lib.mjs"
import { podOn, startCluster } from "./node_lib.mjs"
import { DevicePlugin } from "./plugin_lib.mjs"

const GPU = "example.com/gpu"

const cluster = await startCluster({ names: ["n1"] })
const node = await cluster.node("n1", { flags: [...machineFlags, "--topology-manager-policy", "single-numa-node"] })
// Two devices on each node. An agent that starts removes the sockets of plugins, which come again.
const offer = () => DevicePlugin.start(node.root, GPU, [0, 0, 1, 1].map((numa, i) => ({ ID: `gpu${i}`, numa: [numa] })))
let plugin = await offer()

function wants({ cpu = "2", memory = "1Gi", gpus = 1 }) {
	const limits = { cpu, memory, ...(gpus && { [GPU]: String(gpus) }) }
	return podOn("n1", { main: { resources: { limits, requests: limits } } })
}

// "0-2,5" as [0, 1, 2, 5].
function cpuList(text) {
	return text.split(",").filter(Boolean).flatMap((range) => {
		const [from, to = from] = range.split("-").map(Number)
		return Array.from({ length: to - from + 1 }, (_, i) => from + i)
	})
}

// The resources that the pod holds, from the agent's state on the disk: CPUs, and the NUMA nodes of each kind.
function held({ metadata: { uid } }) {
	const text = readFileSync(`${node.root}/devplane_assign_state`, "utf8")
	const pod = JSON.parse(text.slice(text.indexOf("\n") + 1)).pods.find((p) => p.uid === uid)
	if (!pod || pod.ended)
		return undefined
	const [main] = pod.containers
	const cpus = cpuList(main.cpus ?? "")
	const only = (list) => [...new Set(list)].sort()
	return {
		cpus,
		cpuNodes: only(cpus.map((c) => c >> 2)),
		memoryNodes: only(main.memory.flatMap((m) => m.nodes)),
		deviceNodes: only(main.devices.flatMap((d) => d.ids.flatMap((i) => i.numa))),
		devices: main.devices.flatMap((d) => d.ids.map((i) => i.id)),
	}
}

async function runs(spec) {
	const pod = await cluster.run(wants(spec))
	await cluster.pod(pod, (p) => p.status.phase === "Running")
	return pod
}

async function refused(spec, reason) {
	const pod = await cluster.run(wants(spec))
	const { status } = await cluster.pod(pod, (p) => p.status.phase === "Failed")
	assert.equal(status.reason, reason)
	await end(pod)
	return status
}

async function end(pod) {
	await cluster.delete(pod, 0)
	await cluster.gone(pod)
}

await test("the node is the machine of the files", async () => {
	const { status } = await cluster.readNodeWhen("n1", (n) => n.status.capacity[GPU] === "4")
	assert.equal(status.capacity.cpu, "8")
	assert.equal(status.capacity.memory, "16Gi")
	assert.equal(status.allocatable.memory, "15Gi")
})

await test("devices, CPUs and memory of a pod are on one node, and the next pod's on the other", async () => {
	const [a, b] = [await runs({ gpus: 2 }), await runs({ gpus: 2 })]
	for (const pod of [a, b]) {
		const has = held(pod)
		assert.equal(has.cpus.length, 2)
		assert.equal(has.devices.length, 2)
		assert.equal(has.cpuNodes.length, 1, JSON.stringify(has))
		assert.deepEqual(has.deviceNodes, has.cpuNodes)
		assert.deepEqual(has.memoryNodes, has.cpuNodes)
		assert.ok(!has.cpus.includes(0), "CPU 0 is reserved")
	}
	assert.notDeepEqual(held(a).cpuNodes, held(b).cpuNodes)
	await Promise.all([end(a), end(b)])
})

await test("a request that no single NUMA node can serve is rejected, for any resource", async () => {
	for (const spec of [{ gpus: 3 }, { cpu: "5", gpus: 1 }, { memory: "8Gi", gpus: 1 }]) {
		const { message } = await refused(spec, "TopologyAffinityError")
		assert.match(message, /Resources cannot be allocated with Topology locality/)
	}
})

await test("a node whose CPUs are taken cannot lend its devices", async () => {
	const whole = await runs({ cpu: "4", gpus: 1 })
	assert.deepEqual(held(whole).cpus, [4, 5, 6, 7])
	const other = await runs({ cpu: "1", gpus: 2 })
	assert.deepEqual(held(other).deviceNodes, [0])
	await refused({ cpu: "1", gpus: 1 }, "TopologyAffinityError")
	await end(whole)
	const now = await runs({ cpu: "1", gpus: 1 })
	assert.deepEqual(held(now).deviceNodes, [1])
	await Promise.all([end(other), end(now)])
})

await test("an agent that was killed finds what pods hold, and gives it to nobody else", async () => {
	const pod = await runs({ cpu: "3", gpus: 2 })
	const before = held(pod)
	await node.kill()
	await node.begin()
	plugin.stop()
	plugin = await offer()
	await cluster.readNodeWhen("n1", (n) => n.status.allocatable[GPU] === "4")
	await cluster.pod(pod, (p) => p.status.phase === "Running" && p.status.containerStatuses[0].ready)
	assert.deepEqual(held(pod), before)
	const other = await runs({ cpu: "3", gpus: 2 })
	assert.ok(!held(other).cpus.some((c) => before.cpus.includes(c)))
	assert.ok(!held(other).devices.some((d) => before.devices.includes(d)))
	await Promise.all([end(pod), end(other)])
})

await test("a CPU goes off line: the Node has one less, and no pod gets it", async () => {
	putMachine({ online: "0-6", nodes: ["0-3", "4-6"] })
	await cluster.readNodeWhen("n1", (n) => n.status.capacity.cpu === "7" && n.status.allocatable.cpu === "7")
	const [a, b] = [await runs({ cpu: "3", gpus: 1 }), await runs({ cpu: "3", gpus: 1 })]
	assert.deepEqual([...held(a).cpus, ...held(b).cpus].sort(), [1, 2, 3, 4, 5, 6])
	await refused({ cpu: "1", gpus: 1 }, "TopologyAffinityError")
	putMachine()
	await cluster.readNodeWhen("n1", (n) => n.status.capacity.cpu === "8")
	const late = await runs({ cpu: "1", gpus: 1 })
	assert.deepEqual(held(late).cpus, [7])
	await Promise.all([a, b, late].map(end))
})

await test("memory is plugged: the Node has it, and pods get it", async () => {
	await refused({ cpu: "1", memory: "10Gi" }, "TopologyAffinityError")
	putMachine({ gib: [8, 16] })
	const { status } = await cluster.readNodeWhen("n1", (n) => n.status.capacity.memory === "24Gi")
	assert.equal(status.allocatable.memory, "23Gi")
	const pod = await runs({ cpu: "1", memory: "10Gi" })
	assert.deepEqual(held(pod).memoryNodes, [1])
	assert.deepEqual(held(pod).cpuNodes, [1])
	await end(pod)
})

await test("a machine that cannot be read for a moment changes nothing", async () => {
	put(`${sys}/devices/system/cpu/online`, "")
	await until("a word about it", () => /cannot read CPUs and memory of the machine again/.test(node.process.err))
	assert.equal((await cluster.readNode("n1")).status.capacity.cpu, "8")
	putMachine({ gib: [8, 16] })
	await end(await runs({ cpu: "1" }))
})

await node.stop()
await cluster.stop()
finish()
