// Claims that the scheduler makes itself, for extended resources that are devices, and claims whose devices have to become ready before
// a pod is bound: server, controller, scheduler, and nodes that nobody is behind.
import assert from "node:assert/strict"
import { dra, expect, unique } from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { claims, startCluster } from "./node_lib.mjs"
import { bareNode, pending, refused, startController, startScheduler } from "./scheduler_lib.mjs"

const cluster = await startCluster()
const { client } = cluster
const controller = await startController(cluster)
const scheduler = await startScheduler(cluster)
await bareNode(cluster, "n1")
await bareNode(cluster, "n2")
const driver = "x.example.com"
const devices = { n1: [{ name: "fast" }], n2: [{ name: "slow", attributes: { slow: { bool: true } }, bindingConditions: ["Ready"], bindingFailureConditions: ["Broken"] }] }
for (const [name, list] of Object.entries(devices))
	expect(await client.post(`${dra}/resourceslices`, { metadata: { name }, spec: { driver, nodeName: name, pool: { name, generation: 1, resourceSliceCount: 1 }, devices: list } }), 201)
const isSlow = `"slow" in device.attributes["${driver}"]`
expect(await client.post(`${dra}/deviceclasses`, { metadata: { name: "fast" }, spec: { extendedResourceName: `${driver}/gpu`, selectors: [{ cel: { expression: `!(${isSlow})` } }] } }), 201)
expect(await client.post(`${dra}/deviceclasses`, { metadata: { name: "slow" }, spec: { selectors: [{ cel: { expression: isSlow } }] } }), 201)

await test("an extended resource is served by a device, with a claim that the scheduler makes", async () => {
	const resources = { requests: { [`${driver}/gpu`]: "1" }, limits: { [`${driver}/gpu`]: "1" } }
	const withGpu = () => cluster.run(pending({ main: { image: "busybox", resources } }))
	const pod = await withGpu()
	const { spec, status } = await cluster.pod(pod, (p) => p.spec.nodeName)
	assert.equal(spec.nodeName, "n1")
	const { resourceClaimName, requestMappings } = status.extendedResourceClaimStatus
	assert.deepEqual(requestMappings, [{ containerName: "main", resourceName: `${driver}/gpu`, requestName: "container-0-request-0" }])
	const claim = (await client.get(`${claims}/${resourceClaimName}`)).body
	assert.equal(claim.metadata.annotations["resource.kubernetes.io/extended-resource-claim"], "true")
	assert.equal(claim.metadata.ownerReferences[0].uid, pod.metadata.uid)
	assert.deepEqual(claim.status.allocation.devices.results.map((r) => [r.request, r.device]), [["container-0-request-0", "fast"]])
	assert.deepEqual(claim.status.reservedFor.map((r) => r.uid), [pod.metadata.uid])
	const next = await withGpu()
	await cluster.pod(next, refused(/^0\/2 nodes are available: 2 cannot allocate all claims\./))
	await cluster.delete(pod, 0)
	await cluster.pod(next, (p) => p.spec.nodeName === "n1")
	await cluster.delete(next, 0)
	await until("no claims", async () => (await client.get(claims)).body.items.length === 0)
})

await test("a pod waits for its device; one that fails is given back and had again", async () => {
	const name = unique("slow")
	expect(await client.post(claims, { metadata: { name }, spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "slow" } }] } } }), 201)
	const pod = await cluster.run(pending({ resourceClaims: [{ name: "gpu", resourceClaimName: name }], main: { image: "busybox", resources: { claims: [{ name: "gpu" }] } } }))
	const claim = async () => (await client.get(`${claims}/${name}`)).body
	const say = async (type) => {
		const c = await claim()
		c.status.devices = [{ driver, pool: "n2", device: "slow", conditions: [{ type, status: "True", reason: "Told", message: "by the test", lastTransitionTime: "2026-01-01T00:00:00Z" }] }]
		expect(await client.put(`${claims}/${name}/status`, c), 200)
	}
	const { message, note } = await cluster.event(pod.metadata.name, "BindingConditionsPending")
	assert.equal(message ?? note, "waiting for binding conditions for device on node n2")
	await until("an allocation", async () => (await claim()).status?.allocation)
	await say("Broken")
	await until("another allocation", async () => {
		const { status } = await claim()
		return status?.allocation && !status.devices
	}, 60)
	const failed = await cluster.event(pod.metadata.name, "FailedScheduling")
	assert.equal(failed.message ?? failed.note, `running PreBind plugin "DynamicResources": device binding failed: claim=${name}, reason=Told, message="by the test"`)
	assert.ok(!(await cluster.pod(pod)).spec.nodeName)
	await say("Ready")
	await cluster.pod(pod, (p) => p.spec.nodeName === "n2")
	await cluster.delete(pod, 0)
	await until("deallocated", async () => !(await claim()).status?.allocation)
}, 120)

await scheduler.stop()
await controller.stop()
await cluster.stop()
finish()
