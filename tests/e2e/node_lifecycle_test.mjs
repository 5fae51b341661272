// Nodes that die: hollow nodes whose agents are killed, a real server, scheduler and controller with short times. Taints come
// and go, pods leave after their tolerations, devices become Unavailable, and pods of a Node that is gone are collected.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { core, dra, expect } from "./api_lib.mjs"
import { devplane, finish, test, until } from "./lib.mjs"
import { podOn, startCluster } from "./node_lib.mjs"
import { onNode, pending, startController, startScheduler } from "./scheduler_lib.mjs"

const cluster = await startCluster({ names: ["n1", "n2", "n3"], server: { taintNodes: true } })
const { client } = cluster
const scheduler = await startScheduler(cluster)
const beginController = () => startController(cluster, "--controllers", "*", "--node-monitor-grace-period", "15s", "--node-eviction-rate", "10",
	"--orphaned-pod-quarantine", "3s", "--terminated-pod-gc-threshold", "5")
let controller = await beginController()
const nodes = {}
for (const name of ["n1", "n2", "n3"])
	nodes[name] = await cluster.node(name)

const taintsOf = (node) => (node.spec.taints ?? []).map((t) => `${t.key.replace("node.kubernetes.io/", "")}:${t.effect}`).sort()
const tainted = (name, ...wanted) => cluster.readNodeWhen(name, (n) => taintsOf(n).join() === wanted.join(), 90)
const condition = (object, type) => object.status.conditions?.find((c) => c.type === type)
const tolerating = (seconds) => ({ tolerations: [{ key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: seconds }] })

function devices(...more) {
	return execFileSync(devplane, ["get", "devices", "--kubeconfig", cluster.server.kubeconfig, ...more], { encoding: "utf8" })
}

await test("a new node is tainted until it is ready", async () => {
	for (const name of Object.keys(nodes))
		await tainted(name)
	expect(await client.post(`${core}/nodes`, { metadata: { name: "silent" } }), 201)
	// It has never posted a status, so upstream's rules remove the taint: conditions decide alone.
	await tainted("silent")
	expect(await client.delete(`${core}/nodes/silent`, {}), 200)
})

let early, late, other

await test("a node that is killed is tainted, and its pods leave after their tolerations", async () => {
	early = await cluster.run(podOn("n2", { name: "early", ...tolerating(3) }))
	late = await cluster.run(podOn("n2", { name: "late", ...tolerating(100000) }))
	other = await cluster.run(podOn("n1", { name: "other" }))
	for (const pod of [early, late, other])
		await cluster.pod(pod, (p) => condition(p, "Ready")?.status === "True")
	await nodes.n2.kill()
	await tainted("n2", "unreachable:NoExecute", "unreachable:NoSchedule")
	const node = await cluster.readNode("n2")
	assert.equal(condition(node, "Ready").status, "Unknown")
	assert.equal(condition(node, "Ready").reason, "NodeStatusUnknown")
	assert.equal(condition(node, "MemoryPressure").status, "Unknown")
	await cluster.event("n2", "NodeNotReady", /^Node n2 status is now: NodeNotReady$/)
	const gone = await cluster.pod(early, (p) => p.metadata.deletionTimestamp)
	assert.equal(condition(gone, "DisruptionTarget").reason, "DeletionByTaintManager")
	await cluster.event("early", "TaintManagerEviction", /^Marking for deletion Pod default\/early$/)
	assert.equal(condition(await cluster.pod(late, (p) => condition(p, "Ready")?.status === "False"), "Ready").status, "False")
	assert.equal((await cluster.pod(late)).metadata.deletionTimestamp, undefined)
	assert.equal(condition(await cluster.pod(other), "Ready").status, "True")
})

await test("devices of the node are unavailable", async () => {
	// An agent would remove the slices of a driver that does not register with it.
	const slice = (name, nodes) => ({
		metadata: { name },
		spec: { driver: "gpu.example.com", ...nodes, pool: { name, generation: 1, resourceSliceCount: 1 }, devices: [{ name: `gpu-${name}` }] },
	})
	expect(await client.post(`${dra}/resourceslices`, slice("local", { nodeName: "n2" })), 201)
	expect(await client.post(`${dra}/resourceslices`, slice("network", { allNodes: true })), 201)
	await until("a reason", () => /gpu-local .* Unavailable +NodeUnreachable/.test(devices()))
	assert.match(devices(), /gpu-network .* Available/)
	await until("a published reason", async () =>
		(await client.get(`${dra}/resourceslices/local`)).body.status?.devices[0].stateReason === "NodeUnreachable")
})

await test("nothing is scheduled there", async () => {
	const pods = []
	for (let i = 0; i < 6; i++)
		pods.push(await cluster.run(pending({ requests: { cpu: "10m" } })))
	for (const pod of pods)
		assert.notEqual((await cluster.pod(pod, onNode())).spec.nodeName, "n2")
})

await test("another controller changes nothing", async () => {
	const before = await cluster.readNode("n2")
	await controller.kill()
	controller = await beginController()
	await until("a controller", async () => (await fetch(`${controller.url}/readyz`)).status === 200)
	await new Promise((wake) => setTimeout(wake, 3000))
	assert.deepEqual((await cluster.readNode("n2")).spec.taints, before.spec.taints)
	assert.equal((await cluster.pod(late)).metadata.deletionTimestamp, undefined)
})

await test("a node that comes back is as before", async () => {
	await nodes.n2.begin()
	await tainted("n2")
	await cluster.pod(late, (p) => condition(p, "Ready")?.status === "True")
	await cluster.gone(early)
	await cluster.event("late", "TaintManagerEviction", /^Cancelling deletion of Pod default\/late$/)
	await until("no reason", () => !/NodeUnreachable/.test(devices()))
})

await test("a taint is cancelled, and tolerated by its value", async () => {
	const patch = (taints) => client.patch(`${core}/nodes/n1`, { spec: { taints } }, "merge")
	const stays = await cluster.run(podOn("n1", { name: "stays", tolerations: [{ key: "k", operator: "Equal", value: "v", effect: "NoExecute" }] }))
	expect(await patch([{ key: "k", value: "v", effect: "NoExecute" }]), 200)
	await cluster.gone(other)
	assert.equal((await cluster.pod(stays)).metadata.deletionTimestamp, undefined)
	expect(await patch([]), 200)
	await cluster.delete(stays)
})

await test("unschedulable is a taint", async () => {
	expect(await client.patch(`${core}/nodes/n1`, { spec: { unschedulable: true } }, "merge"), 200)
	await tainted("n1", "unschedulable:NoSchedule")
	expect(await client.patch(`${core}/nodes/n1`, { spec: { unschedulable: null } }, "merge"), 200)
	await tainted("n1")
})

await test("pods of a Node that is gone are collected", async () => {
	const pod = await cluster.run(podOn("n3", { name: "orphan" }))
	await cluster.pod(pod, (p) => condition(p, "Ready")?.status === "True")
	await nodes.n3.kill()
	expect(await client.delete(`${core}/nodes/n3`, {}), 200)
	await cluster.gone(pod)
})

await test("a node that is out of service lets its pods go", async () => {
	const pod = await cluster.run(podOn("n2", { name: "stuck", ...tolerating(100000) }))
	await cluster.pod(pod, (p) => condition(p, "Ready")?.status === "True")
	await nodes.n2.kill()
	await tainted("n2", "unreachable:NoExecute", "unreachable:NoSchedule")
	await cluster.delete(pod)
	await cluster.pod(pod, (p) => p.metadata.deletionTimestamp)
	const { spec: { taints } } = await cluster.readNode("n2")
	expect(await client.patch(`${core}/nodes/n2`, { spec: { taints: [...taints, { key: "node.kubernetes.io/out-of-service", effect: "NoSchedule" }] } }, "merge"), 200)
	await cluster.gone(pod)
})

await test("when no node is ready, nothing is evicted", async () => {
	const pod = await cluster.run(podOn("n1", { name: "left", ...tolerating(1) }))
	await cluster.pod(pod, (p) => condition(p, "Ready")?.status === "True")
	await nodes.n1.kill()
	await tainted("n1", "unreachable:NoSchedule")
	await tainted("n2", "out-of-service:NoSchedule", "unreachable:NoSchedule")
	assert.equal((await cluster.pod(pod)).metadata.deletionTimestamp, undefined)
})

await test("the oldest finished pods go", async () => {
	for (let i = 0; i < 8; i++) {
		const pod = await cluster.run(podOn("n1", { name: `done-${i}` }))
		expect(await client.patch(`${core}/namespaces/default/pods/${pod.metadata.name}/status`, { status: { phase: "Succeeded" } }, "merge"), 200)
	}
	await until("five finished pods", async () => (await client.get(`${core}/namespaces/default/pods`)).body.items
		.filter((p) => p.status.phase === "Succeeded").length === 5, 60)
})

await controller.stop()
await scheduler.stop()
await cluster.stop()
finish()
