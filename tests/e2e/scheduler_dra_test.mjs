// Pods with device claims, end to end: server, controller, scheduler, hollow nodes and the simulated vendor's driver. Pods get devices
// and run; a full cluster says why; a deleted pod frees its device and wakes the next; and KEP-4680's story to its last step:
// a GPU fails, the pod shows why, its replacement lands on a healthy one.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { dra, expect, unique } from "./api_lib.mjs"
import { devplane, finish, start, test, until } from "./lib.mjs"
import { claims, healthOf, startCluster } from "./node_lib.mjs"
import { onNode, pending, refused, startController, startScheduler } from "./scheduler_lib.mjs"

const cluster = await startCluster()
const { client } = cluster
const controller = await startController(cluster)
let scheduler = await startScheduler(cluster)
const nodes = {}, vendors = {}
for (const name of ["n1", "n2"]) {
	nodes[name] = await cluster.node(name)
	vendors[name] = start("driver", "sim", "--kubeconfig", nodes[name].kubeconfig, "--node-name", name, "--root-dir", nodes[name].root, "--cdi-dir", `${nodes[name].root}/cdi`,
		"--devices", "2", "--log-format", "text", "--metrics-bind-address", "127.0.0.1:0")
}
const slices = async () => (await client.get(`${dra}/resourceslices`)).body.items
await until("slices", async () => (await slices()).length === 2, 60)
const { spec: { driver: name } } = (await slices())[0]
expect(await client.post(`${dra}/deviceclasses`, { metadata: { name: "gpu" }, spec: { selectors: [{ cel: { expression: `device.driver == "${name}"` } }] } }), 201)
expect(await client.post(`${dra}/namespaces/default/resourceclaimtemplates`, {
	metadata: { name: "one-gpu" },
	spec: { spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] } } },
}), 201)

const kubectl = (...args) => execFileSync("kubectl", ["--kubeconfig", cluster.server.kubeconfig, ...args], { encoding: "utf8" })
const sim = (node, ...args) => execFileSync(devplane, ["driver", "sim", ...args, "--root-dir", nodes[node].root], { encoding: "utf8" })
const withGpu = (more = {}) => pending({ resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "one-gpu" }], main: { image: "busybox", resources: { claims: [{ name: "gpu" }] } }, ...more })
const running = (p) => p.status.phase === "Running"
const claimOf = async (p) => (await client.get(`${claims}/${p.status.resourceClaimStatuses[0].resourceClaimName}`)).body
const deviceOf = async (p) => (await claimOf(p)).status.allocation.devices.results[0]

async function end(...list) {
	for (const p of list)
		await cluster.delete(p, 0)
	for (const p of list)
		await cluster.gone(p)
}

// No device is held twice, whatever happened.
async function assertNoneTwice() {
	const held = (await client.get(claims)).body.items.flatMap((c) => c.status?.allocation?.devices.results.map((r) => `${r.driver}/${r.pool}/${r.device}`) ?? [])
	assert.equal(new Set(held).size, held.length, held.join(" "))
	return held.length
}

await test("a pod with a claim gets a device and runs", async () => {
	const pod = await cluster.run(withGpu())
	const now = await cluster.pod(pod, running)
	const claim = await claimOf(now)
	assert.deepEqual(claim.status.reservedFor, [{ resource: "pods", name: pod.metadata.name, uid: pod.metadata.uid }])
	assert.ok(claim.metadata.finalizers.includes("resource.kubernetes.io/delete-protection"))
	assert.ok(claim.status.allocation.allocationTimestamp)
	assert.deepEqual(claim.status.allocation.nodeSelector.nodeSelectorTerms, [{ matchFields: [{ key: "metadata.name", operator: "In", values: [now.spec.nodeName] }] }])
	assert.equal(claim.status.allocation.devices.results[0].driver, name)
	assert.match(kubectl("get", "resourceclaims"), /allocated,reserved/)
	await end(pod)
	await until("freed claim", async () => (await client.get(claims)).body.items.length === 0)
})

await test("a full cluster explains itself, and a deleted pod wakes the next", async () => {
	const all = []
	for (let i = 0; i < 4; i++)
		all.push(await cluster.run(withGpu()))
	for (const p of all)
		await cluster.pod(p, running)
	assert.equal(await assertNoneTwice(), 4)
	const waits = await cluster.run(withGpu())
	await cluster.pod(waits, refused(/^0\/2 nodes are available: 2 cannot allocate all claims\./))
	const event = await cluster.event(waits.metadata.name, "FailedScheduling")
	assert.match(event.message, /^0\/2 nodes are available: 2 cannot allocate all claims\./)
	assert.match(kubectl("describe", "pod", waits.metadata.name), /cannot allocate all claims/)
	await end(all[0])
	await cluster.pod(waits, running)
	assert.equal(await assertNoneTwice(), 4)
	await end(waits, ...all.slice(1))
	await until("freed claims", async () => (await client.get(claims)).body.items.length === 0)
})

await test("a claim that several pods share keeps them on its node", async () => {
	const shared = unique("shared")
	expect(await client.post(claims, { metadata: { name: shared }, spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] } } }), 201)
	const use = () => cluster.run(pending({ resourceClaims: [{ name: "gpu", resourceClaimName: shared }], main: { image: "busybox", resources: { claims: [{ name: "gpu" }] } } }))
	const users = [await use(), await use(), await use()]
	const at = await Promise.all(users.map(async (p) => (await cluster.pod(p, running)).spec.nodeName))
	assert.equal(new Set(at).size, 1)
	const uids = async () => ((await client.get(`${claims}/${shared}`)).body.status.reservedFor ?? []).map((r) => r.uid).sort()
	assert.deepEqual(await uids(), users.map((p) => p.metadata.uid).sort())
	await end(users[0])
	await until("one consumer less", async () => (await uids()).length === 2)
	await end(...users.slice(1))
	await until("deallocated", async () => !(await client.get(`${claims}/${shared}`)).body.status?.allocation)
	expect(await client.delete(`${claims}/${shared}`), 200)
})

await test("many pods at once, with a scheduler that is killed: every device once", async () => {
	const all = []
	for (let i = 0; i < 12; i++) {
		all.push(await cluster.run(withGpu()))
		if (i === 5) {
			await scheduler.kill()
			await scheduler.begin()
		}
	}
	for (let round = 0; round < 3; round++) {
		const now = await until("four running", async () => {
			const list = (await Promise.all(all.map(async (p) => (await client.get(`/api/v1/namespaces/default/pods/${p.metadata.name}`)).body))).filter((p) => p.status?.phase === "Running")
			return list.length === 4 && list
		}, 90)
		assert.equal(await assertNoneTwice(), 4)
		await end(...now)
		for (const p of now)
			all.splice(all.findIndex((x) => x.metadata.name === p.metadata.name), 1)
	}
	await until("freed claims", async () => (await client.get(claims)).body.items.length === 0, 60)
}, 240)

await test("a GPU fails, the pod shows why, and its replacement lands on a healthy one", async () => {
	const pod = await cluster.run(withGpu())
	const now = await cluster.pod(pod, running)
	const { device, pool } = await deviceOf(now)
	const node = now.spec.nodeName
	sim(node, "fail", device, "--message", "Xid 79: fallen off the bus")
	await cluster.pod(pod, (p) => JSON.stringify(healthOf(p)).includes("Unhealthy Xid 79: fallen off the bus"))
	assert.match(kubectl("describe", "pod", pod.metadata.name), /Xid 79: fallen off the bus/)
	await until("a taint", async () => (await slices()).find((s) => s.spec.nodeName === node).spec.devices.find((d) => d.name === device).taints?.length)
	await end(pod)
	// Its replacements take all devices but the broken one, and a fourth waits for it.
	const next = []
	for (let i = 0; i < 4; i++)
		next.push(await cluster.run(withGpu()))
	const ran = await until("three that run", async () => {
		const list = (await Promise.all(next.map((p) => cluster.pod(p)))).filter(running)
		return list.length === 3 && list
	}, 60)
	for (const p of ran) {
		const got = await deviceOf(p)
		assert.ok(got.device !== device || got.pool !== pool, "a broken device was given away")
	}
	const left = next.find((p) => !ran.some((r) => r.metadata.name === p.metadata.name))
	await cluster.pod(left, refused(/cannot allocate all claims/))
	sim(node, "heal", device)
	assert.deepEqual((await deviceOf(await cluster.pod(left, running))).device, device)
	await end(...next)
}, 180)

for (const v of Object.values(vendors))
	v.child.kill("SIGTERM")
await scheduler.stop()
await controller.stop()
await cluster.stop()
finish()
