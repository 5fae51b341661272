// Writers that record the replies, and check that the server keeps them: what was acknowledged is there, once, as it was answered;
// what got no answer happened or did not; versions only grow.
//
//	const ledger = new Ledger(() => server.client, path)    // a collection of ConfigMaps that nobody else writes
//	ledger.start()
//	.. faults ..
//	ledger.close(); await ledger.verify(); ledger.open()    // amid the work, when the server answers
//	await ledger.end()                                      // and at its end
import assert from "node:assert/strict"
import { configMap, expect, rv } from "./api_lib.mjs"

const WRITERS = 12
const KEYS = 8 // of each writer

const absent = { value: undefined }

export function random(limit) {
	return Math.floor(Math.random() * limit)
}

export function pause(ms) {
	return new Promise((resolve) => setTimeout(resolve, ms))
}

// One object's life. `known` is what was last acknowledged; `perhaps` what was asked for since without an answer.
class Key {
	constructor(ledger, name) {
		Object.assign(this, { ledger, name, path: `${ledger.path}/${name}`, known: absent, perhaps: [], uncertain: false })
	}

	// The next request: [method, path, body, type, the value that the object then has].
	plan() {
		const value = `${this.name}.${this.ledger.serial++}`
		const body = configMap(this.name, { value, fill: "x".repeat(random(2000)) })
		if (this.known === absent)
			return ["POST", this.ledger.path, body, "json", value]
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
		const { ledger } = this
		const before = ledger.newest
		if (value)
			ledger.asked.set(value, this.name)
		ledger.count.asked++
		const answer = await ledger.client().request(method, path, { body, type, seconds: 20 }).catch(() => undefined)
		if (!answer || answer.code >= 500) {
			ledger.count.unanswered++
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
		ledger.count.acknowledged++
		if (method === "DELETE")
			return this.know(undefined)
		assert.equal(object.data.value, value)
		assert.ok(rv(object) > before, `${this.name} got version ${rv(object)} after ${before} had been told`)
		assert.ok(!ledger.versions.has(rv(object)), `version ${rv(object)} twice`)
		ledger.versions.set(rv(object), value)
		if (rv(object) > ledger.newest)
			ledger.newest = rv(object)
		this.know(object)
	}

	// Finds out what became of a write without an answer.
	async ask() {
		const answer = await this.ledger.client().get(this.path, { seconds: 20 }).catch(() => undefined)
		if (answer?.code === 200 || answer?.code === 404)
			this.settle(answer.code === 200 ? answer.body : undefined)
		else
			await pause(2)
	}
}

export class Ledger {
	// pace: milliseconds that a writer rests after each write. others: the name of an object that somebody else makes there.
	constructor(client, path, { pace = 0, others } = {}) {
		Object.assign(this, { client, path, pace, list: others ? `${path}?fieldSelector=metadata.name!%3D${others}` : path, serial: 1, newest: 0n, versions: new Map(), asked: new Map() })
		this.count = { asked: 0, acknowledged: 0, unanswered: 0, rounds: 0 }
		this.keys = Array.from({ length: WRITERS * KEYS }, (_, i) => new Key(this, `w${Math.floor(i / KEYS)}-${i % KEYS}`))
		this.open()
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
			if (this.pace)
				await pause(this.pace)
		}
	}

	start() {
		this.work = Promise.all(Array.from({ length: WRITERS }, (_, i) => this.writer(i).catch((error) => (this.fault ??= error))))
	}

	check() {
		if (this.fault)
			throw this.fault
	}

	// The writers stop; what they know is compared.
	async end() {
		this.ended = true
		this.open()
		await this.work
		this.check()
		return this.verify()
	}

	// Nobody writes now: the whole must be what the writers know.
	async verify() {
		const list = expect(await this.client().get(this.list), 200)
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

// Every acknowledged write is in the log exactly once, unless the server reported a gap to the follower; and nothing else is.
export function expectLog(ledger, follower) {
	const logged = new Map()
	for (const { type, name, version, object } of follower.log.filter((event) => event.type !== "DELETED")) {
		const { value } = object.data
		assert.equal(ledger.asked.get(value), name, `${type} of ${value}`)
		assert.ok(!logged.has(value), `${value} was seen twice`)
		logged.set(value, version)
	}
	for (const [version, value] of ledger.versions) {
		if (!follower.gaps.some(({ from, to }) => version > from && version <= to))
			assert.equal(logged.get(value), version, `the watch of ${value}`)
	}
}
