// A scheduler that is paused in the middle of an allocation, replaced, and continued while its write is still under way gives no
// device to a second claim: the server rejects the write. Without the fence it does, so this test can see it.
import assert from "node:assert/strict"
import { backends, dra, expect } from "./api_lib.mjs"
import { ClaimFollower, DeviceHolds } from "./device_holds.mjs"
import { deviceHeld, startSchedulers } from "./late_leader_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { claims, startCluster } from "./node_lib.mjs"
import { bareNode, onNode, pending, startController } from "./scheduler_lib.mjs"

// --- the checker, on made-up histories -----------------------------------------------------

const results = (...devices) => devices.map((d) => ({ driver: "d", pool: "p", ...(typeof d === "string" ? { device: d } : d) }))
const event = (type, name, version, ...devices) => ({
	type, object: { metadata: { namespace: "ns", name, resourceVersion: String(version) }, status: devices.length ? { allocation: { devices: { results: results(...devices) } } } : {} },
})

function doubledIn(...events) {
	const holds = new DeviceHolds()
	events.forEach((e) => holds.take(e))
	return holds.doubled.map(({ version, device, holders }) => `${version} ${device} ${holders.join(" ")}`)
}

await test("the checker sees a device with two holders, also if it is over at the next event", async () => {
	assert.deepEqual(doubledIn(event("ADDED", "a", 1), event("ADDED", "b", 2), event("MODIFIED", "a", 3, "x"), event("MODIFIED", "b", 4, "y", "x"),
		event("MODIFIED", "b", 5)), ["4 d/p/x ns/a ns/b"])
	assert.deepEqual(doubledIn(event("ADDED", "a", 1, "x"), event("ADDED", "b", 2, { device: "x", shareID: "1" })), ["2 d/p/x ns/a ns/b"])
})

await test("the checker accepts devices that change hands, shares, and admin access", async () => {
	assert.deepEqual(doubledIn(event("ADDED", "a", 1, "x"), event("MODIFIED", "a", 2), event("ADDED", "b", 3, "x"), event("DELETED", "b", 4, "x"),
		event("MODIFIED", "a", 5, "x"), event("MODIFIED", "a", 6, "x")), [])
	assert.deepEqual(doubledIn(event("ADDED", "a", 1, { device: "x", shareID: "1" }), event("ADDED", "b", 2, { device: "x", shareID: "2" })), [])
	assert.deepEqual(doubledIn(event("ADDED", "a", 1, "x"), event("ADDED", "b", 2, { device: "x", adminAccess: true })), [])
})

// --- real schedulers -----------------------------------------------------------------------

const unfenced = ["--feature-gates", "DeviceAllocationFence=false"]

const claimObject = (name) => ({ metadata: { name }, spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] } } })

// A server with one device, and two schedulers that stand for election.
async function openScene(backend, flags) {
	const cluster = await startCluster({ names: [], backend, flags })
	const { client } = cluster
	await bareNode(cluster, "n1")
	expect(await client.post(`${dra}/deviceclasses`, { metadata: { name: "gpu" }, spec: {} }), 201)
	expect(await client.post(`${dra}/resourceslices`, {
		metadata: { name: "n1" },
		spec: { driver: "gpu.example.com", nodeName: "n1", pool: { name: "n1", generation: 1, resourceSliceCount: 1 }, devices: [{ name: "gpu-0" }] },
	}), 201)
	const follower = await new ClaimFollower(() => cluster.client, claims).start()
	const schedulers = await startSchedulers(cluster, 2)
	// A claim of its own outlives its pod.
	const podWithClaim = async (name) => {
		expect(await client.post(claims, claimObject(name)), 201)
		return cluster.run(pending({ name, resourceClaims: [{ name: "gpu", resourceClaimName: name }], main: { resources: { claims: [{ name: "gpu" }] } } }))
	}
	const close = async () => {
		await schedulers.stop()
		await cluster.stop()
	}
	return { cluster, client, schedulers, follower, podWithClaim, close }
}

// Pauses the leader with an allocation of claim "late" under way, and deletes the pod that wanted it; returns the leader.
async function pauseAmidAllocation({ cluster, schedulers, podWithClaim }) {
	await schedulers.leader()
	schedulers.all.forEach(({ proxy }) => proxy.hold())
	const pod = await podWithClaim("late")
	const late = await until("allocation under way", () => schedulers.all.find(({ proxy }) => proxy.held.length), 60)
	late.pause()
	await cluster.delete(pod, 0)
	return late
}

// Devices with a holder too many at any version so far.
async function settled({ client, follower }) {
	const last = expect(await client.post(claims, claimObject("last")), 201)
	await follower.settle(last.metadata.resourceVersion)
	assert.deepEqual(follower.gaps, [])
	return follower.holds.doubled
}

// The other one gives the device away before the late write arrives; returns the server's answer to that.
async function lateWrite(scene) {
	const { cluster, schedulers, podWithClaim } = scene
	const late = await pauseAmidAllocation(scene)
	const rival = await podWithClaim("rival")
	const next = await schedulers.leader(late)
	await next.proxy.release()
	await cluster.pod(rival, onNode("n1"))
	late.resume()
	const [answer] = await late.proxy.release()
	const { code } = await late.scheduler.process.ended
	assert.equal(code, 1, "it lost the lease")
	return answer
}

for (const backend of backends) {
	const say = (text) => `${backend}: ${text}`

	await test(say("without the fence a late leader gives a device away twice, and the checker sees it"), async () => {
		const scene = await openScene(backend, unfenced)
		assert.equal((await lateWrite(scene)).code, 200)
		const doubled = await settled(scene)
		assert.deepEqual(doubled.map(({ device, holders }) => [device, ...holders]), [["gpu.example.com/n1/gpu-0", "default/late", "default/rival"]])
		await scene.close()
	})

	await test(say("with the fence its write is rejected, and the device has one holder at every version"), async () => {
		const scene = await openScene(backend, [])
		const answer = await lateWrite(scene)
		assert.ok(deviceHeld(answer), JSON.stringify(answer))
		assert.equal(answer.body.details.causes[0].message, "default/rival")
		assert.deepEqual(await settled(scene), [])
		await scene.close()
	})

	await test(say("if the late write arrives first, the new leader's is rejected, counted, and made again when the device is free"), async () => {
		const scene = await openScene(backend, [])
		const { cluster, schedulers, podWithClaim } = scene
		const late = await pauseAmidAllocation(scene)
		const next = schedulers.all.find((c) => c !== late)
		const rival = await podWithClaim("rival")
		await until("allocation of the new leader", () => next.proxy.held.length, 60)
		assert.deepEqual((await late.proxy.release()).map(({ code }) => code), [200])
		late.resume()
		assert.deepEqual((await next.proxy.release()).map(deviceHeld), [true])
		await until("count of the rejected write", async () => await next.conflicts() === 1)
		const controller = await startController(cluster)
		await cluster.pod(rival, onNode("n1"))
		assert.deepEqual(await settled(scene), [])
		await controller.stop()
		await scene.close()
	})
}
finish()
