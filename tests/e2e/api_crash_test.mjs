// Servers and etcd killed amid writes, again and again for CRASH_SECONDS on each backend: what was acknowledged is there,
// once, as it was answered; versions only grow; and whoever watches sees each change once or is told to list again.
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { expectSame, Follower } from "./api_follow.mjs"
import { backends, configMap, expect, newNamespace, paths, rv, startEtcd, startServer } from "./api_lib.mjs"
import { devplane, finish, test } from "./lib.mjs"

const seconds = Number(process.env.CRASH_SECONDS ?? 10)
const WRITERS = 12
const KEYS = 8 // of each writer

const absent = { value: undefined }

function random(limit) {
	return Math.floor(Math.random() * limit)
}

function pause(ms) {
	return new Promise((resolve) => setTimeout(resolve, ms))
}

// One object's life. `known` is what was last acknowledged; `perhaps` what was asked for since without an answer.
class Key {
	constructor(world, name) {
		Object.assign(this, { world, name, path: `${world.path}/${name}`, known: absent, perhaps: [], uncertain: false })
	}

	// What to do next: [method, path, body, type, the value that the object then has].
	plan() {
		const value = `${this.name}.${this.world.serial++}`
		const body = configMap(this.name, { value, fill: "x".repeat(random(2000)) })
		if (this.known === absent)
			return ["POST", this.world.path, body, "json", value]
		switch (random(4)) {
		case 0:
			return ["DELETE", this.path, { kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid: this.known.uid } }, "json", undefined]
		case 1:
			return ["PATCH", this.path, { data: { value } }, "merge", value]
		default:
			body.metadata.resourceVersion = String(this.known.version)
			return ["PUT", this.path, body, "json", value]
		}
	}

	// `object` is what the server has now: undefined for nothing. It must be what was acknowledged or what may have happened.
	settle(object) {
		this.uncertain = false
		const value = object?.data.value
		if (value === this.known.value) {
			if (object) {
				assert.equal(rv(object), this.known.version, `version of ${this.name}`)
				assert.equal(object.metadata.uid, this.known.uid)
			}
			return
		}
		assert.ok(this.perhaps.includes(value), `${this.name} is ${value}, not ${this.known.value} nor one of ${this.perhaps}`)
		this.perhaps = this.perhaps.filter((other) => other !== value)
		this.know(object)
	}

	know(object) {
		this.known = object ? { value: object.data.value, version: rv(object), uid: object.metadata.uid } : absent
	}

	// One write.
	async write() {
		const [method, path, body, type, value] = this.plan()
		const { world } = this
		const before = world.newest
		if (value)
			world.asked.set(value, this.name)
		world.count.asked++
		const answer = await world.client().request(method, path, { body, type, seconds: 20 }).catch(() => undefined)
		if (!answer || answer.code >= 500) {
			world.count.unanswered++
			this.perhaps.push(value)
			this.uncertain = true
			return
		}
		// Something that got no answer has happened later than we looked: only then may an object of ours have moved.
		if ([404, 409].includes(answer.code) && this.perhaps.length) {
			this.uncertain = true
			return
		}
		const object = expect(answer, method === "POST" ? 201 : 200)
		world.count.acknowledged++
		if (method === "DELETE")
			return this.know(undefined)
		assert.equal(object.data.value, value)
		assert.ok(rv(object) > before, `${this.name} got version ${rv(object)} after ${before} had been told`)
		assert.ok(!world.versions.has(rv(object)), `version ${rv(object)} twice`)
		world.versions.set(rv(object), value)
		if (rv(object) > world.newest)
			world.newest = rv(object)
		this.know(object)
	}

	// Finds out what became of a write without an answer.
	async ask() {
		const answer = await this.world.client().get(this.path, { seconds: 20 }).catch(() => undefined)
		if (answer?.code === 200 || answer?.code === 404)
			this.settle(answer.code === 200 ? answer.body : undefined)
		else
			await pause(2)
	}
}

class World {
	constructor(server, path) {
		Object.assign(this, { server, path, serial: 1, newest: 0n, versions: new Map(), asked: new Map() })
		this.count = { asked: 0, acknowledged: 0, unanswered: 0, rounds: 0 }
		this.keys = Array.from({ length: WRITERS * KEYS }, (_, i) => new Key(this, `w${Math.floor(i / KEYS)}-${i % KEYS}`))
		this.open()
	}

	client() {
		return this.server.client
	}

	// Writers work while the gate is open.
	open() {
		this.gate = undefined
		this.opened?.()
	}

	close() {
		this.gate = new Promise((resolve) => (this.opened = resolve))
	}

	async writer(index) {
		const own = this.keys.slice(index * KEYS, (index + 1) * KEYS)
		while (!this.ended) {
			await this.gate
			if (this.ended)
				break
			const key = own[random(KEYS)]
			await (key.uncertain ? key.ask() : key.write())
		}
	}

	start() {
		this.work = Promise.all(Array.from({ length: WRITERS }, (_, i) => this.writer(i).catch((error) => (this.fault ??= error))))
	}

	check() {
		if (this.fault)
			throw this.fault
	}

	// Nobody writes now: the whole must be what the writers know.
	async verify() {
		const list = expect(await this.client().get(this.path), 200)
		assert.ok(rv(list) >= this.newest, `the list is at ${rv(list)}, ${this.newest} had been told`)
		const objects = new Map(list.items.map((object) => [object.metadata.name, object]))
		assert.equal(objects.size, list.items.length, "an object is there twice")
		for (const key of this.keys) {
			key.settle(objects.get(key.name))
			objects.delete(key.name)
		}
		assert.deepEqual([...objects.keys()], [], "objects that nobody made")
		return list
	}
}

// One crash, in one of the ways that the backend knows.
async function crash(world) {
	const { server } = world
	const kind = server.etcd ? ["server", "etcd", "both"][random(3)] : "server"
	world.count.rounds++
	if (kind === "etcd") {
		await server.etcd.kill()
		await pause(random(100))
		await server.etcd.begin()
		return
	}
	world.close()
	await Promise.all([server.kill(), kind === "both" ? server.etcd.kill() : undefined])
	if (kind === "both")
		await server.etcd.begin()
	await server.begin()
	await world.verify()
	world.check()
	world.open()
}

// Every acknowledged write is in the log exactly once, unless the follower was told of a gap; and nothing else is.
function expectLog(world, follower) {
	const logged = new Map()
	for (const { type, name, version, object } of follower.log.filter((event) => event.type !== "DELETED")) {
		const { value } = object.data
		assert.equal(world.asked.get(value), name, `${type} of ${value}`)
		assert.ok(!logged.has(value), `${value} was seen twice`)
		logged.set(value, version)
	}
	for (const [version, value] of world.versions) {
		if (!follower.gaps.some(({ from, to }) => version > from && version <= to))
			assert.equal(logged.get(value), version, `the watch of ${value}`)
	}
}

async function run(backend) {
	const etcd = backend === "etcd" ? await startEtcd() : undefined
	const server = await startServer(backend, { etcd })
	const { configMaps } = paths(await newNamespace(server.client))
	const world = new World(server, configMaps)
	const follower = await new Follower(() => server.client, configMaps).start()
	const end = Date.now() + seconds * 1000
	world.start()
	while (Date.now() < end) {
		await pause(50 + random(400))
		world.check()
		await crash(world)
	}
	world.ended = true
	world.open()
	await world.work
	world.check()
	await world.verify()
	const last = expect(await server.client.post(configMaps, configMap("last", { value: "last" })), 201)
	world.asked.set("last", "last")
	await follower.settle(last.metadata.resourceVersion)
	expectSame(follower, expect(await server.client.get(configMaps), 200))
	expectLog(world, follower)
	const { rounds, asked, acknowledged, unanswered } = world.count
	console.log(`# ${backend}: ${rounds} crashes; ${asked} writes, ${acknowledged} acknowledged, ${unanswered} without an answer; ` +
		`${follower.log.length} events in ${follower.watches} watches, ${follower.gaps.length} lists`)
	if (backend === "lmdb")
		assert.deepEqual(follower.gaps, [], "the history survives")
	assert.ok(acknowledged > 100 && rounds > 2, "it did work")
	await server.stop()
	if (backend === "lmdb") {
		const checked = spawnSync(devplane, ["store", "check", "--data-dir", server.folder])
		assert.equal(checked.status, 0, String(checked.stdout) + checked.stderr)
	}
	await etcd?.kill()
}

for (const backend of backends)
	await test(`${backend}: nothing acknowledged is lost in crashes`, () => run(backend), seconds + 120)
finish()
