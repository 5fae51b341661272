// writer - keeps a NodeResourceTopology object as it should be, with as few writes as that takes.
//
// Changes are gathered for a moment, and one write is under way at a time, with what is true when it begins: a slow API
// server costs freshness but no memory. No state is ever replaced by an older one: each write names the version that it
// replaces, and when it is refused, or its answer is lost, the object is read again first.
import { setTimeout as sleep } from "node:timers/promises"
import { isDeepStrictEqual } from "node:util"
import { Backoff } from "./backoff.mjs"

const KIND = { group: "topology.node.k8s.io", version: "v1alpha2", plural: "noderesourcetopologies" }
const BY = { fieldManager: "topology-exporter" }
const TIMEOUT_MS = 10_000
const RETRY_MS = 5000

// The client has no time-outs of its own.
async function within(ms, promise) {
	let timer
	const late = new Promise((_, reject) => {
		timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms)
	})
	try {
		return await Promise.race([promise, late])
	} finally {
		clearTimeout(timer)
	}
}

// One line: the server's own words if there are any, otherwise the client's, which go on for many lines.
function reason({ code, body, message }) {
	try {
		return `${code} ${JSON.parse(body).message}`
	} catch {
		return message.split("\n", 2).join(", ")
	}
}

export class Writer {
	#api
	#name
	#wanted
	#delay
	#log
	#backoff = new Backoff(RETRY_MS)
	#object // as the server has it, as far as we know; undefined: not known
	#dirty = false
	#busy = false
	#failing = false

	// `api` is client-node's CustomObjectsApi. `wanted` gives the fields that the object should have now, or undefined
	// while that is not known. `delay`: ms for which changes are gathered.
	constructor({ api, name, wanted, delay, log }) {
		this.#api = api
		this.#name = name
		this.#wanted = wanted
		this.#delay = delay
		this.#log = log
	}

	// To be called when `wanted` may have changed. Returns at once.
	poke() {
		this.#dirty = true
		if (!this.#busy)
			this.#run()
	}

	async #run() {
		this.#busy = true
		while (this.#dirty) {
			await sleep(this.#delay)
			this.#dirty = false
			await this.#try()
		}
		this.#busy = false
	}

	async #try() {
		try {
			const fields = this.#wanted()
			if (!fields)
				return
			await this.#write(fields)
			this.#backoff.reset()
			if (this.#failing)
				this.#log("writes succeed again")
			this.#failing = false
		} catch (e) {
			this.#object = undefined
			this.#dirty = true
			// Somebody else wrote: that is no failure.
			if (e.code !== 409 && !this.#failing) {
				this.#log(`cannot write: ${reason(e)}; trying again`)
				this.#failing = true
			}
			await this.#backoff.wait()
		}
	}

	async #write(fields) {
		this.#object ??= await this.#read()
		if (!this.#object)
			this.#object = await this.#create(fields)
		else if (Object.entries(fields).some(([key, value]) => !isDeepStrictEqual(value, this.#object[key])))
			this.#object = await this.#replace(fields)
	}

	async #create(fields) {
		const body = {
			apiVersion: `${KIND.group}/${KIND.version}`,
			kind: "NodeResourceTopology",
			metadata: { name: this.#name },
			...fields,
		}
		const made = await within(TIMEOUT_MS, this.#api.createClusterCustomObject({ ...KIND, ...BY, body }))
		this.#log(`made NodeResourceTopology ${this.#name}`)
		return made
	}

	// Keeps fields of others and the resourceVersion, so that the server rejects the write if the object has changed.
	#replace(fields) {
		const body = { ...this.#object, ...fields }
		return within(TIMEOUT_MS, this.#api.replaceClusterCustomObject({ ...KIND, ...BY, name: this.#name, body }))
	}

	// The object, or undefined if it does not exist.
	async #read() {
		try {
			return await within(TIMEOUT_MS, this.#api.getClusterCustomObject({ ...KIND, name: this.#name }))
		} catch (e) {
			if (e.code === 404)
				return undefined
			throw e
		}
	}
}
