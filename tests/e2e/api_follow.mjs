// A reader that follows a collection through everything: list once, then one watch after another from the last version
// that it knows, listing again only when the server says that the version is too old.
import assert from "node:assert/strict"
import { expect, rv } from "./api_lib.mjs"
import { until } from "./lib.mjs"

// `client` returns the client to use now. The log is of { type, name, version, object }; each event is checked against what
// was known before it, and a fault ends the following: settle() throws it.
export class Follower {
	constructor(client, path) {
		Object.assign(this, { client, path, log: [], state: new Map(), gaps: [], watches: 0, version: undefined })
	}

	async start() {
		await this.list()
		this.running = this.follow().catch((error) => (this.fault = error))
		return this
	}

	async list() {
		const answer = await this.client().get(this.path)
		if (answer.code >= 500)
			throw new Error(answer.text)
		const list = expect(answer, 200)
		if (this.version !== undefined) {
			assert.ok(rv(list) >= this.version, `a list at ${rv(list)} after ${this.version}`)
			this.gaps.push({ from: this.version, to: rv(list) })
		}
		this.state = new Map(list.items.map((object) => [object.metadata.name, object]))
		this.version = rv(list)
	}

	take({ type, object }) {
		const version = rv(object), { name } = object.metadata
		assert.ok(version > this.version || (type === "BOOKMARK" && version === this.version),
			`${type} ${name} at ${version} after ${this.version}`)
		this.version = version
		if (type === "BOOKMARK")
			return
		assert.equal(type === "ADDED", !this.state.has(name), `${type} ${name} at ${version}`)
		if (type === "DELETED")
			this.state.delete(name)
		else
			this.state.set(name, object)
		this.log.push({ type, name, version, object })
	}

	// One watch, until it ends. False when the version is too old.
	async once() {
		const separator = this.path.includes("?") ? "&" : "?"
		const watch = this.watch = await this.client().watch(
			`${this.path}${separator}watch=true&allowWatchBookmarks=true&resourceVersion=${this.version}`)
		let taken = 0
		const drain = () => {
			while (taken < watch.events.length) {
				const event = watch.events[taken++]
				if (event.type === "ERROR" || event.kind === "Status") {
					const { code } = event.type ? event.object : event
					return code !== 410
				}
				this.take(event)
			}
			return true
		}
		this.watches++
		if (this.stopped)
			watch.close()
		let fresh = true
		watch.stream.on("data", () => {
			try {
				fresh = drain() && fresh
			} catch (error) {
				this.fault ??= error
				watch.close()
			}
		})
		await watch.ended
		return drain() && fresh
	}

	async follow() {
		let fresh = true
		while (!this.stopped && !this.fault) {
			try {
				if (!fresh)
					await this.list()
				fresh = await this.once()
			} catch (error) {
				// A server that is being restarted refuses connections, or cuts them.
				if (error instanceof assert.AssertionError)
					throw error
				await new Promise((resolve) => setTimeout(resolve, 5))
			}
		}
	}

	// Waits until it has seen this version (a string or a number), and stops.
	async settle(version, seconds = 30) {
		await until(`event ${version} of ${this.path}, seen up to ${this.version}`, () => {
			if (this.fault)
				throw this.fault
			return this.version >= BigInt(version)
		}, seconds)
		this.stopped = true
		this.watch?.close()
		await this.running
		if (this.fault)
			throw this.fault
	}
}

// One line for each object: its name, its version, and what `show` says of it.
function lines(objects, show) {
	return [...objects].map((object) => `${object.metadata.name} ${rv(object)} ${show(object)}`).sort()
}

// Fails unless the follower's picture is what the list has.
export function expectSame(follower, list, show = ({ data }) => JSON.stringify(data)) {
	assert.deepEqual(lines(follower.state.values(), show), lines(list.items, show))
}
