// Tests of writer.mjs against an API server of a few lines, which has one object.
import assert from "node:assert/strict"
import { EventEmitter, once } from "node:events"
import test from "node:test"
import { Writer } from "./writer.mjs"

class Refused extends Error {
	constructor(code) {
		super(`HTTP-Code: ${code}`)
		this.code = code
	}
}

// `calls` has what it was asked for. `hold` lets no write be answered before it resolves.
class Api extends EventEmitter {
	calls = []
	version = 0
	hold = Promise.resolve()

	#store(body) {
		this.object = { ...body, metadata: { ...body.metadata, resourceVersion: String(++this.version) } }
		this.emit("stored")
		return this.object
	}

	async getClusterCustomObject() {
		this.calls.push("get")
		if (!this.object)
			throw new Refused(404)
		return this.object
	}

	async createClusterCustomObject({ body }) {
		this.calls.push(`create ${body.zones}`)
		await this.hold
		if (this.object)
			throw new Refused(409)
		return this.#store(body)
	}

	async replaceClusterCustomObject({ body }) {
		this.calls.push(`replace ${body.zones}`)
		await this.hold
		if (body.metadata.resourceVersion !== this.object.metadata.resourceVersion)
			throw new Refused(409)
		return this.#store(body)
	}

	// Somebody else's write.
	meddle(fields) {
		this.#store({ ...this.object, ...fields })
	}
}

// A writer, and `set`, which says what the object should be.
function begin(api, logged = []) {
	let fields
	const writer = new Writer({ api, name: "n1", wanted: () => fields, delay: 0, log: (line) => logged.push(line) })
	return (zones) => {
		fields = zones && { zones }
		writer.poke()
	}
}

async function stored(api, zones) {
	while (api.object?.zones !== zones)
		await once(api, "stored")
}

test("an object that is missing is made, one that is right is left alone", async () => {
	const api = new Api(), set = begin(api)
	set("one")
	await stored(api, "one")
	set("one")
	set("two")
	await stored(api, "two")
	assert.deepEqual(api.calls, ["get", "create one", "replace two"])
	// Two others, started later.
	begin(api)("two")
	begin(api)("three")
	await stored(api, "three")
	assert.deepEqual(api.calls.slice(3), ["get", "get", "replace three"])
})

test("nothing is asked for while it is not known what should be", async () => {
	const api = new Api(), logged = []
	await new Promise((looked) => new Writer({ api, name: "n1", wanted: looked, delay: 0, log: (l) => logged.push(l) }).poke())
	await new Promise(setImmediate)
	assert.deepEqual([...api.calls, ...logged], [])
})

test("while a write is under way, changes are gathered, and the last one counts", async () => {
	const api = new Api(), set = begin(api)
	let release
	api.hold = new Promise((resolve) => (release = resolve))
	set("one")
	while (!api.calls.includes("create one"))
		await new Promise(setImmediate)
	for (const zones of ["two", "three", "four"])
		set(zones)
	release()
	await stored(api, "four")
	assert.deepEqual(api.calls, ["get", "create one", "replace four"])
})

test("a write that meets another one is made again on top of it, without a word", async () => {
	const logged = [], api = new Api(), set = begin(api, logged)
	set("one")
	await stored(api, "one")
	api.meddle({ zones: "theirs", attributes: "theirs" })
	set("two")
	await stored(api, "two")
	assert.equal(api.object.attributes, "theirs")
	assert.deepEqual(logged, ["made NodeResourceTopology n1"])
})

test("an object that was deleted is made again", async () => {
	const api = new Api(), set = begin(api)
	set("one")
	await stored(api, "one")
	api.replaceClusterCustomObject = () => Promise.reject(new Refused(404))
	api.object = undefined
	set("two")
	await stored(api, "two")
	assert.equal(api.calls.at(-1), "create two")
})

test("a server that is away is asked again, and logged once", async () => {
	const logged = [], api = new Api(), set = begin(api, logged)
	const get = api.getClusterCustomObject
	let tries = 0
	api.getClusterCustomObject = () => (++tries < 3 ? Promise.reject(new Error("refused")) : get.call(api))
	set("one")
	await stored(api, "one")
	await new Promise(setImmediate)
	assert.deepEqual(logged, ["cannot write: refused; trying again", "made NodeResourceTopology n1", "writes succeed again"])
})
