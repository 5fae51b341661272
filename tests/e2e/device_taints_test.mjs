// Eviction from tainted devices, end to end: server, controller with the rights of its role, scheduler, a hollow node and the simulated
// vendor's driver. A rule says what it would do and does it, tolerations end in time whatever died meanwhile, a replacement waits
// until the rule is gone, and all views of devices show the taint.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { dra, expect, unique } from "./api_lib.mjs"
import { devplane, finish, scratch, start, test, until } from "./lib.mjs"
import { claims, kubeconfig, pods, startCluster } from "./node_lib.mjs"
import { pending, startController, startScheduler } from "./scheduler_lib.mjs"

const tokens = `${scratch}/tokens.csv`
writeFileSync(tokens, 'controllers-own,system:devplane-controller,1\nn1-own,system:node:n1,2,"system:nodes"\n', { mode: 0o600 })
const cluster = await startCluster({ names: [], flags: ["--token-auth-file", tokens] })
const { client } = cluster
const controller = await startController({ server: { kubeconfig: kubeconfig(cluster.server, "controllers-own") } })
await startScheduler(cluster)
const node = await cluster.node("n1")
start("driver", "sim", "--kubeconfig", node.kubeconfig, "--node-name", "n1", "--root-dir", node.root, "--cdi-dir", `${node.root}/cdi`,
	"--devices", "2", "--log-format", "text", "--metrics-bind-address", "127.0.0.1:0")
await until("a slice", async () => (await client.get(`${dra}/resourceslices`)).body.items.length === 1, 60)
const DRIVER = "gpu.sim.devplane.dev", KEY = "example.com/service"
expect(await client.post(`${dra}/deviceclasses`, { metadata: { name: "gpu" }, spec: { selectors: [{ cel: { expression: `device.driver == "${DRIVER}"` } }] } }), 201)

const run = (program, args) => execFileSync(program, args, { encoding: "utf8", env: { ...process.env, HOME: scratch, KUBECONFIG: cluster.server.kubeconfig } })
const kubectl = (...args) => run("kubectl", args)
const rules = `${dra}/devicetaintrules`
const running = (p) => p.status.phase === "Running"
const going = (p) => p.metadata.deletionTimestamp
const disruption = (p) => p.status.conditions?.find((c) => c.type === "DisruptionTarget")
const deviceOf = async (p) => (await client.get(`${claims}/${p.metadata.name}`)).body.status.allocation.devices.results[0].device

// A pod that stays to be looked at until letGo(), with a claim of its name.
async function withGpu(tolerations = []) {
	const name = unique("train")
	expect(await client.post(claims, { metadata: { name }, spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu", tolerations } }] } } }), 201)
	const pod = pending({ name, resourceClaims: [{ name: "gpu", resourceClaimName: name }], main: { image: "busybox", resources: { claims: [{ name: "gpu" }] } } })
	pod.metadata.finalizers = ["example.com/look"]
	return cluster.run(pod)
}

async function letGo(pod) {
	await cluster.delete(pod, 0)
	expect(await client.patch(`${pods}/${pod.metadata.name}`, { metadata: { finalizers: null } }, "merge"), 200)
	await cluster.gone(pod)
	expect(await client.delete(`${claims}/${pod.metadata.name}`), 200)
}

const condition = (name, wanted) => until(`condition of ${name}`, async () => {
	const c = (await client.get(`${rules}/${name}`)).body.status?.conditions?.find((x) => x.type === "EvictionInProgress")
	return c && wanted(c) && c
})

await test("a rule says what it would do, and does it when it may", async () => {
	const pod = await withGpu(), other = await withGpu()
	await cluster.pod(pod, running)
	await cluster.pod(other, running)
	writeFileSync(`${scratch}/rule.json`, JSON.stringify({
		apiVersion: "resource.k8s.io/v1", kind: "DeviceTaintRule", metadata: { name: "service" },
		spec: { deviceSelector: { driver: DRIVER, pool: "n1", device: await deviceOf(pod) }, taint: { key: KEY, effect: "None" } },
	}))
	kubectl("create", "-f", `${scratch}/rule.json`)
	const told = await condition("service", () => true)
	assert.match(told.message, /^1 published device selected\. 1 allocated device selected\. 1 pod would be evicted in 1 namespace if the effect was NoExecute\./)
	kubectl("patch", "devicetaintrule", "service", "--type", "merge", "-p", '{"spec":{"taint":{"effect":"NoExecute"}}}')
	const gone = await cluster.pod(pod, going)
	assert.equal(disruption(gone).reason, "DeletionByDeviceTaintManager")
	assert.equal(disruption(gone).status, "True")
	await cluster.event(pod.metadata.name, "DeviceTaintManagerEviction", /^Marking for deletion$/)
	const busy = await condition("service", (c) => c.observedGeneration === 2)
	assert.deepEqual([busy.status, busy.reason, busy.message], ["True", "PodsPendingEviction", "1 pod needs to be evicted in 1 namespace."])
	assert.equal(await controller.metric("device_taint_eviction_controller_pod_deletions_total"), 1)
	assert.ok(!going(await cluster.pod(other)))
	await letGo(pod)
	await letGo(other)
})

await test("nobody is put on the device before the rule is gone, and everybody tells why", async () => {
	const one = await withGpu()
	await cluster.pod(one, running)
	assert.notEqual(await deviceOf(one), JSON.parse(kubectl("get", "devicetaintrule", "service", "-o", "json")).spec.deviceSelector.device)
	const two = await withGpu()
	await cluster.event(two.metadata.name, "FailedScheduling")
	assert.match(run(devplane, ["explain-fit", two.metadata.name]), /1 device Tainted: gpu-\d \(example\.com\/service:NoExecute\)/)
	assert.match(run(devplane, ["describe", "pool", "n1"]), /example\.com\/service:NoExecute \(rule service\)/)
	kubectl("delete", "devicetaintrule", "service")
	await cluster.pod(two, running)
	await letGo(one)
	await letGo(two)
})

await test("a toleration ends in time, though the controller died, and one without an end does not", async () => {
	const tolerate = { key: KEY, operator: "Exists", effect: "NoExecute" }
	const short = await withGpu([{ ...tolerate, tolerationSeconds: 3 }]), long = await withGpu([tolerate])
	await cluster.pod(short, running)
	await cluster.pod(long, running)
	const { spec } = expect(await client.post(rules, { metadata: { name: "all" }, spec: { deviceSelector: { driver: DRIVER }, taint: { key: KEY, effect: "NoExecute" } } }), 201)
	await condition("all", (c) => c.reason === "PodsPendingEviction")
	await controller.kill()
	await controller.begin()
	const gone = await cluster.pod(short, going)
	assert.ok(Date.parse(disruption(gone).lastTransitionTime) >= Date.parse(spec.taint.timeAdded) + 3000)
	assert.ok(!going(await cluster.pod(long)))
	assert.equal(disruption(await cluster.pod(long)), undefined)
	expect(await client.delete(`${rules}/all`), 200)
	await letGo(short)
	await letGo(long)
})

await test("a taint that a slice has evicts as well", async () => {
	const pod = await withGpu()
	await cluster.pod(pod, running)
	// One that no driver of ours looks after, on top of the claim's own: the test writes the allocation itself.
	const name = unique("slice")
	const slice = { metadata: { name }, spec: { driver: "other.example.com", nodeName: "n1", pool: { name: "n1", generation: 1, resourceSliceCount: 1 }, devices: [{ name: "x" }] } }
	expect(await client.post(`${dra}/resourceslices`, slice), 201)
	const claim = unique("by-hand")
	expect(await client.post(claims, { metadata: { name: claim }, spec: { devices: { requests: [{ name: "x", exactly: { deviceClassName: "gpu" } }] } } }), 201)
	const bound = await cluster.run({ metadata: { name: unique("bound") }, spec: {
		nodeName: "nowhere", resourceClaims: [{ name: "x", resourceClaimName: claim }], containers: [{ name: "c", image: "x", resources: { claims: [{ name: "x" }] } }],
	} })
	expect(await client.patch(`${claims}/${claim}/status`, { status: {
		allocation: { devices: { results: [{ request: "x", driver: "other.example.com", pool: "n1", device: "x" }] } },
		reservedFor: [{ resource: "pods", name: bound.metadata.name, uid: bound.metadata.uid }],
	} }, "merge"), 200)
	expect(await client.patch(`${dra}/resourceslices/${name}`, { spec: { devices: [{ name: "x", taints: [{ key: KEY, effect: "NoExecute" }] }] } }, "merge"), 200)
	await cluster.pod(bound, going)
	assert.ok(!going(await cluster.pod(pod)))
	await letGo(pod)
})

finish()
