// KEP-4187's end-to-end test: the example plugin's custom resource changes, the scheduler's cache follows, and pods that ask for the fake
// resource are admitted and refused accordingly. Plugins that cannot be used keep the scheduler from starting.
import assert from "node:assert/strict"
import { execFileSync, spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { core, expect, unique } from "./api_lib.mjs"
import { devplane, finish, scratch, test, until } from "./lib.mjs"
import { startCluster } from "./node_lib.mjs"
import { bareNode, onNode, pending, refused, startScheduler } from "./scheduler_lib.mjs"

const built = process.env.PLUGINS ?? dirname(devplane)
const examples = new URL("../../examples/scheduler/", import.meta.url).pathname
const statuses = "/apis/ioi.example.com/v1/nodefakeresourcestatuses"
const type = "ioi.example.com/fake-resource"
const config = (path = `${built}/plugins/node_fake_resource/node_fake_resource.so`, name = "NodeFakeResource") => `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
devplane:
  plugins:
  - path: ${path}
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled:
      - name: ${name}
`

const cluster = await startCluster()
const { client } = cluster
// It is started before there is such a kind: the watch begins when there is.
let scheduler = await startScheduler(cluster, { config: config() })
execFileSync("kubectl", ["--kubeconfig", cluster.server.kubeconfig, "apply", "-f", `${examples}node-fake-resource-status.yaml`])
await until("the kind", async () => (await client.get(statuses)).code === 200)
for (const name of ["n1", "n2"])
	await bareNode(cluster, name)

const put = async (node, fakeResource) => {
	const body = { apiVersion: "ioi.example.com/v1", kind: "NodeFakeResourceStatus", metadata: { name: node }, spec: { nodeName: node, fakeResource } }
	const made = await client.post(statuses, body)
	if (made.code !== 201)
		expect(await client.patch(`${statuses}/${node}`, { spec: { fakeResource } }, "merge"), 200)
}
const cached = async (node) => Object.values((await scheduler.json("/debug/cache")).nodes[node]?.extendedResources ?? {})[0]
const follows = (node, want) => until(`${node} to have ${JSON.stringify(want)}`, async () => {
	const now = await cached(node)
	return want ? now && Object.entries(want).every(([k, v]) => now[k] === v) : !now
}, 30)
const asks = (n, more = {}) => cluster.run(pending({ annotations: { [type]: String(n) }, ...more }))

await test("the cache follows the custom resource", async () => {
	await put("n1", 10)
	await follows("n1", { total: 10, requested: 0 })
	await put("n1", 6)
	await follows("n1", { total: 6, requested: 0 })
	await put("n2", 4)
	await follows("n2", { total: 4, requested: 0 })
	// A node that is not there yet is not lost.
	await put("n3", 1)
	await follows("n3", { total: 1, requested: 0 })
	assert.equal((await scheduler.json("/debug/cache")).nodes.n3.ghost, true)
	expect(await client.delete(`${statuses}/n3`), 200)
	await follows("n3", null)
})

await test("pods are admitted and refused by what is left", async () => {
	const first = await asks(5)
	await cluster.pod(first, onNode("n1"))
	await follows("n1", { total: 6, requested: 5 })
	const second = await asks(4)
	await cluster.pod(second, onNode("n2"))
	const third = await asks(3)
	await cluster.pod(third, refused(/^0\/2 nodes are available: 2 Insufficient fake resource/))
	// The resource grows, which wakes it.
	await put("n2", 7)
	await cluster.pod(third, onNode("n2"))
	await follows("n2", { total: 7, requested: 7 })
	// A pod that goes makes room for one that waits.
	const fourth = await asks(2)
	await cluster.pod(fourth, refused(/Insufficient fake resource/))
	await cluster.delete(first, 0)
	await cluster.pod(fourth, onNode("n1"))
	await follows("n1", { total: 6, requested: 2 })
	// One that asks for nothing does not care.
	await cluster.pod(await cluster.run(pending()), onNode())
})

await test("preemption counts the resource of those who would go", async () => {
	for (const [name, value] of [["low", 1], ["high", 100]])
		expect(await cluster.client.post("/apis/scheduling.k8s.io/v1/priorityclasses", { metadata: { name }, value }), 201)
	const low = await asks(4, { priorityClassName: "low" })
	await cluster.pod(low, onNode("n1"))
	const high = await asks(4, { priorityClassName: "high", nodeSelector: { "kubernetes.io/hostname": "n1" } })
	await cluster.pod(high, onNode("n1"))
	await cluster.gone(low)
	await follows("n1", { total: 6, requested: 6 })
})

await test("a scheduler that is killed counts the same again", async () => {
	const before = [await cached("n1"), await cached("n2")]
	await scheduler.kill()
	await scheduler.begin()
	await follows("n1", before[0])
	await follows("n2", before[1])
})

await test("a node that is deleted and created again keeps its resource", async () => {
	await put("n4", 50)
	await bareNode(cluster, "n4")
	await follows("n4", { total: 50, requested: 0 })
	expect(await client.delete(`${core}/nodes/n4`), 200)
	await until("the node to be gone", async () => (await scheduler.json("/debug/cache")).nodes.n4?.ghost === true)
	await bareNode(cluster, "n4")
	const pod = await asks(40)
	await cluster.pod(pod, onNode("n4"))
	await follows("n4", { total: 50, requested: 40 })
	await scheduler.stop()
})

await test("a plugin that cannot be used is refused with its name", async () => {
	const run = (text) => {
		const file = `${scratch}/${unique("bad")}.yaml`
		writeFileSync(file, text)
		const { status, stderr } = spawnSync(devplane, ["scheduler", "--kubeconfig", cluster.server.kubeconfig, "--metrics-bind-address", "0", "--config", file], { encoding: "utf8", timeout: 60000 })
		assert.ok(status > 0, `status ${status}`)
		return stderr
	}
	assert.match(run(config(`${scratch}/nowhere.so`)), /nowhere\.so/)
	writeFileSync(`${scratch}/text.so`, "no library")
	assert.match(run(config(`${scratch}/text.so`)), /text\.so/)
	assert.match(run(config(undefined, "NoSuchPlugin")), /NoSuchPlugin/)
})

await cluster.stop()
finish()
