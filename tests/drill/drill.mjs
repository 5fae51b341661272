// The fault drill: the whole of `devplane up` under load for $DRILL_SECONDS on each backend, while roles are killed and stopped, the disk
// is full, etcd is away, a node is cut off and drivers hang. At the end nothing acknowledged is lost, no device was held twice,
// everything has settled, and nothing has grown. $DRILL_SEED repeats the choice of faults. Needs root: namespaces, a disk of its own.
// Then schedulers that lead are paused and replaced for $DRILL_LEADER_SECONDS; see leaders.mjs.
import assert from "node:assert/strict"
import { expectSame, Follower } from "../e2e/api_follow.mjs"
import { configMap, core, expect } from "../e2e/api_lib.mjs"
import { expectLog, Ledger, pause } from "../e2e/api_ledger.mjs"
import { finish, sanitized, test } from "../e2e/lib.mjs"
import { healthTrue, heldOnce, heldOnceOnNodes, memory, nodesAgree, nodesReady, nothingLeft, podsPlaced, settles, statusesTrue } from "./checks.mjs"
import { Dice, harm } from "./faults.mjs"
import { lateLeaders } from "./leaders.mjs"
import { Pods, podsPath, space } from "./load.mjs"
import { Place } from "./place.mjs"

const seconds = Number(process.env.DRILL_SECONDS ?? 180)
const leaderSeconds = Number(process.env.DRILL_LEADER_SECONDS ?? 120)
const seed = Number(process.env.DRILL_SEED ?? Date.now() % 1000000)
const QUIET_SECONDS = Number(process.env.DRILL_QUIET_SECONDS ?? 20)
const began = Date.now()

function tell(text) {
	console.log(`# ${((Date.now() - began) / 1000).toFixed(1).padStart(6)} s  ${text}`)
}

// Looks all the time; whatever it finds ends the drill.
class Watchman {
	constructor(place) {
		Object.assign(this, { place, looks: 0 })
	}

	start() {
		this.work = this.look().catch((error) => (this.fault = error))
	}

	async look() {
		while (!this.over) {
			this.looks += await heldOnce(this.place)
			this.looks += await heldOnceOnNodes(this.place)
			await pause(200)
		}
	}

	async stop() {
		this.over = true
		await this.work
		if (this.fault)
			throw this.fault
	}
}

async function settled(place, ledger, follower) {
	await place.ready()
	await settles("ready nodes", () => nodesReady(place))
	await settles("pods in their places", () => podsPlaced(place))
	await settles("true slice statuses", () => statusesTrue(place))
	await settles("true health in pods", () => healthTrue(place))
	await settles("nodes that agree with the server", () => nodesAgree(place))
	await ledger.end()
	const last = expect(await place.client.post(ledger.path, configMap("last", { value: "last" })), 201)
	ledger.asked.set("last", "last")
	await follower.settle(last.metadata.resourceVersion, 60)
	expectSame(follower, expect(await place.client.get(ledger.list), 200))
	expectLog(ledger, follower)
}

// Without faults no process may grow under load. Memory that sanitizers keep is not counted.
async function expectNoGrowth(place, pods) {
	pods.start()
	await pause(QUIET_SECONDS * 500)
	const before = await memory(place)
	await pause(QUIET_SECONDS * 1000)
	const after = await memory(place)
	await pods.stop()
	for (const [name, kib] of Object.entries(after)) {
		tell(`${name}: ${(before[name] / 1024).toFixed(1)} MiB, then ${(kib / 1024).toFixed(1)} MiB`)
		assert.ok(sanitized || kib <= before[name] * 1.1 + 4096, `${name} grew from ${before[name]} to ${kib} KiB`)
	}
}

async function drill(place) {
	const ledger = new Ledger(() => place.client, `${core}/namespaces/${space}/configmaps`, { pace: 20, others: "kube-root-ca.crt" })
	const pods = new Pods(place.client, 14)
	await pods.prepare()
	const follower = await new Follower(() => place.client, ledger.list).start()
	const watchman = new Watchman(place)
	const end = Date.now() + seconds * 1000
	ledger.start()
	pods.start()
	watchman.start()
	const counts = await harm(place, new Dice(seed), () => Date.now() > end || watchman.fault || ledger.fault || pods.fault, tell)
	for (const { fault } of [watchman, ledger, pods]) {
		if (fault)
			throw fault
	}
	await pods.stop()
	tell("all is mended")
	await settled(place, ledger, follower)
	const lost = (await place.client.get(podsPath)).body.items.map((p) => p.metadata.name)
	assert.deepEqual([...pods.live.keys()].filter((name) => !lost.includes(name)), [], "pods that were made and are not there")
	assert.deepEqual(pods.lost, [])
	await expectNoGrowth(place, pods)
	await watchman.stop()
	await place.client.delete(podsPath)
	await settles("nothing left of the pods", () => nothingLeft(place))
	await settles("true slice statuses", () => statusesTrue(place))
	tell(`${JSON.stringify(counts)}`)
	tell(`writes: ${JSON.stringify(ledger.count)}; pods: ${pods.created} made, ${pods.deleted} deleted; ${watchman.looks} looks; ` +
		`${follower.log.length} events in ${follower.watches} watches; restarts: ${place.roles().reduce((n, r) => n + r.restarts, 0)}`)
	assert.ok(ledger.count.acknowledged > 100 && pods.deleted > 10, "there was work")
}

if (process.getuid() !== 0) {
	console.log("ok 1 - drill # SKIP only root can make network namespaces and disks")
	console.log("1..1")
	process.exit(0)
}
for (const backend of (process.env.BACKENDS ?? "lmdb,etcd").split(",")) {
	const place = new Place(backend)
	tell(`${backend}: ${seconds} s of faults with DRILL_SEED=${seed}`)
	let good = false
	await test(`${backend}: nothing is lost, nothing is held twice, everything settles`, async () => {
		await place.open()
		await drill(place)
		good = true
	}, seconds + QUIET_SECONDS * 2 + 600)
	if (place.data && !good)
		console.log(`# logs are kept in ${place.logs}`)
	if (place.data)
		await place.close(!good)

	const dice = new Dice(seed)
	await test(`${backend}: writes of leaders that were replaced give no device to a second claim`, async () => {
		const { counts, doubled } = await lateLeaders(backend, { seconds: leaderSeconds, dice, tell })
		assert.deepEqual(doubled, [])
		assert.ok(counts.takeovers > 0 && counts.late.held > 0, "late writes were rejected")
	}, leaderSeconds + 300)
	await test(`${backend}: without the fence the same drill finds a device with two holders`, async () => {
		const { doubled } = await lateLeaders(backend, { seconds: leaderSeconds, dice, tell, fence: false })
		assert.ok(doubled.length > 0)
	}, leaderSeconds + 300)
}
finish()
