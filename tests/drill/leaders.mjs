// Leaders that come late: three schedulers stand for one election while pods compete for four devices. Again and again the leader is
// paused in the middle of allocations for longer than its lease, and continued when another one leads and has allocated, with its
// writes still under way. A watch of the claims shows every version: no device may have two holders in any of them.
import assert from "node:assert/strict"
import { dra, expect, unique } from "../e2e/api_lib.mjs"
import { pause, random } from "../e2e/api_ledger.mjs"
import { ClaimFollower, devicesOf } from "../e2e/device_holds.mjs"
import { deviceHeld, startSchedulers } from "../e2e/late_leader_lib.mjs"
import { until } from "../e2e/lib.mjs"
import { claims, pods, startCluster } from "../e2e/node_lib.mjs"
import { bareNode, onNode, pending, startController } from "../e2e/scheduler_lib.mjs"

const NODES = 2, DEVICES = 2 // of each node
const SLOTS = 12 // each with at most one pod

async function prepare(cluster) {
	const { client } = cluster
	expect(await client.post(`${dra}/deviceclasses`, { metadata: { name: "gpu" }, spec: {} }), 201)
	for (let i = 0; i < NODES; i++) {
		const name = `n${i}`, devices = Array.from({ length: DEVICES }, (_, n) => ({ name: `gpu-${n}` }))
		await bareNode(cluster, name)
		expect(await client.post(`${dra}/resourceslices`, {
			metadata: { name }, spec: { driver: "gpu.example.com", nodeName: name, pool: { name, generation: 1, resourceSliceCount: 1 }, devices },
		}), 201)
	}
}

const claimObject = (name, count) => ({ metadata: { name }, spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu", count } }] } } })

async function podWithClaim(cluster, name, count) {
	expect(await cluster.client.post(claims, claimObject(name, count)), 201)
	return cluster.run(pending({ name, resourceClaims: [{ name: "gpu", resourceClaimName: name }], main: { resources: { claims: [{ name: "gpu" }] } } }))
}

// Pods that come and go, each with a claim of its own, which outlives it. Nobody runs them, so a deletion is immediate.
class Rivals {
	constructor(cluster) {
		Object.assign(this, { cluster, made: 0, ended: false })
		this.abandoned = new Set() // names: the pod goes at once, its claim is kept
	}

	async one() {
		const name = unique("rival")
		const pod = await podWithClaim(this.cluster, name, 1 + random(2))
		this.made++
		for (let ms = 500 + random(8000); ms > 0 && !this.ended && !this.abandoned.has(name); ms -= 100)
			await pause(100)
		await this.cluster.delete(pod, 0)
		while (this.abandoned.has(name) && !this.ended)
			await pause(100)
		expect(await this.cluster.client.delete(`${claims}/${name}`), 200)
	}

	start() {
		this.work = Promise.all(Array.from({ length: SLOTS }, async () => {
			while (!this.ended)
				await this.one()
		})).catch((error) => (this.fault = error))
	}

	async stop() {
		this.ended = true
		await this.work
		if (this.fault)
			throw this.fault
	}
}

// The server's replies to allocations: `late` of leaders that were paused, `own` of all others.
class Counts {
	constructor(schedulers) {
		Object.assign(this, { takeovers: 0, kinds: {}, late: { written: 0, held: 0, other: 0 }, own: { written: 0, held: 0, other: 0 }, metric: 0 })
		for (const candidate of schedulers.all)
			candidate.proxy.onAnswer = (answer) => this.take(candidate, answer)
	}

	take(candidate, answer) {
		const outcome = answer.code === 200 ? "written" : deviceHeld(answer) ? "held" : "other"
		this[candidate.late ? "late" : "own"][outcome]++
	}

	// A scheduler's own count ends with its process, so it is read before one is paused. One that ended by itself has none.
	async read(candidate) {
		this.metric += await candidate.conflicts().catch(() => 0)
	}

	toString() {
		const show = ({ written, held, other }) => `${written} written, ${held} rejected for a held device, ${other} rejected otherwise`
		return `${this.takeovers} take-overs (${JSON.stringify(this.kinds)}); late writes: ${show(this.late)}; ` +
			`other writes: ${show(this.own)}; conflicts that living schedulers counted: ${this.metric}`
	}
}

// In either order: a process may go on before or after its writes arrive.
async function releaseAndResume(late, dice) {
	if (dice.below(2))
		late.resume()
	const answers = await late.proxy.release()
	late.resume()
	return answers
}

// Each returns when another one leads and the late leader's writes have been answered.
const rounds = {
	// The pods are deleted, so the new leader leaves their claims alone, and gives the devices to others.
	async "abandoned"({ schedulers, follower, rivals }, late, dice) {
		late.proxy.hold()
		await until("allocation under way", () => late.proxy.held.length || !late.alive, 60)
		late.pause()
		const names = late.proxy.held.map(({ claim }) => claim.metadata.name)
		const devices = late.proxy.held.flatMap(({ claim }) => [...devicesOf(claim).keys()])
		names.forEach((name) => rivals.abandoned.add(name))
		await schedulers.leader(late)
		await until("other holders of the devices", () => !devices.length || devices.some((d) => follower.holds.holders.get(d)?.size), 60)
		const answers = await releaseAndResume(late, dice)
		names.forEach((name) => rivals.abandoned.delete(name))
		return answers.length
	},
	// The new leader has given devices away before the writes arrive.
	async "held back"({ schedulers, counts }, late, dice) {
		late.proxy.hold()
		await until("allocation under way", () => late.proxy.held.length || !late.alive, 60)
		await pause(dice.below(300)) // more of them
		late.pause()
		await schedulers.leader(late)
		const before = counts.own.written, enough = 1 + dice.below(3)
		await until("allocation of the new leader", () => counts.own.written >= before + enough, 60)
		return (await releaseAndResume(late, dice)).length
	},
	// The writes of both arrive together.
	async "race"({ schedulers }, late, dice) {
		schedulers.all.forEach(({ proxy }) => proxy.hold())
		await until("allocation under way", () => late.proxy.held.length || !late.alive, 60)
		late.pause()
		const next = await schedulers.leader(late)
		await until("allocation of the new leader", () => next.proxy.held.length || !next.alive, 60)
		const order = dice.below(2) ? [late, next] : [next, late]
		const answers = await Promise.all(order.map(({ proxy }) => proxy.release()))
		late.resume()
		schedulers.all.forEach(({ proxy }) => proxy.release())
		return answers.flat().length
	},
	// Nothing is held back: the leader goes on where it was.
	async "paused"({ schedulers, counts }, late, dice) {
		const before = counts.own.written
		await until("allocation", () => counts.own.written > before || !late.alive, 60)
		await pause(dice.below(5))
		late.pause()
		await schedulers.leader(late)
		await until("allocation of the new leader", () => counts.own.written > before + 1, 60)
		late.resume()
	},
}

async function round(scene, dice, tell) {
	const { schedulers, counts } = scene
	// The first is of the kind that nearly always ends in a rejected write.
	const kind = counts.takeovers ? dice.one(Object.keys(rounds)) : "abandoned"
	const late = await schedulers.leader(), begun = Date.now()
	await counts.read(late)
	const writes = await rounds[kind](scene, late, dice)
	// It ends by itself: it has lost its lease.
	await late.scheduler.process.ended
	await late.revive()
	counts.takeovers++
	counts.kinds[kind] = (counts.kinds[kind] ?? 0) + 1
	tell(`${kind}${writes === undefined ? "" : `, ${writes} writes`}, ${Date.now() - begun} ms`)
}

// Pods that are made now get all devices, and nothing is left of them when they are deleted.
async function expectWork({ cluster, client }) {
	const gone = () => until("no claims", async () => (await client.get(claims)).body.items.length === 0, 60)
	await gone()
	const all = []
	for (let i = 0; i < NODES * DEVICES; i++)
		all.push(await podWithClaim(cluster, `end-${i}`, 1))
	for (const pod of all)
		await cluster.pod(pod, onNode())
	for (const path of [pods, claims])
		expect(await client.delete(path, { gracePeriodSeconds: 0 }), 200)
	await gone()
}

async function openScene(backend, fence) {
	const cluster = await startCluster({ names: [], backend, flags: ["--feature-gates", `DeviceAllocationFence=${fence}`] })
	const { client } = cluster
	await prepare(cluster)
	const controller = await startController(cluster)
	const schedulers = await startSchedulers(cluster, 3)
	const follower = await new ClaimFollower(() => client, claims).start()
	const close = async () => {
		await schedulers.stop()
		await controller.stop()
		await cluster.stop()
	}
	return { cluster, client, schedulers, follower, counts: new Counts(schedulers), rivals: new Rivals(cluster), close }
}

// Rounds until the time is over or something is wrong.
async function play(scene, seconds, dice, tell) {
	const { schedulers, follower, counts, rivals } = scene
	rivals.start()
	try {
		for (const end = Date.now() + seconds * 1000; Date.now() < end && !follower.holds.doubled.length && !follower.fault && !rivals.fault;)
			await round(scene, dice, tell)
	} finally {
		await rivals.stop()
	}
	for (const candidate of schedulers.all)
		await counts.read(candidate)
}

// Ends at the first device with two holders. Returns { counts, doubled }.
export async function lateLeaders(backend, { seconds, dice, tell, fence = true }) {
	const scene = await openScene(backend, fence)
	const { client, follower, counts, rivals } = scene
	tell(`${backend}: ${seconds} s of late leaders${fence ? "" : " without the fence"}`)
	await play(scene, seconds, dice, tell)
	const { doubled } = follower.holds
	if (!doubled.length)
		await expectWork(scene)
	const last = expect(await client.post(claims, claimObject("last", 1)), 201)
	await follower.settle(last.metadata.resourceVersion, 60)
	assert.deepEqual(follower.gaps, [], "every version was seen")
	tell(`${counts}; ${rivals.made} pods, ${follower.log.length} versions of claims, ${doubled.length} devices with two holders`)
	await scene.close()
	return { counts, doubled }
}
