// A process that watches and probes. It gets { setting }, a plan for each epoch, and { final: epoch, versions } when the last write of
// the epoch is known; it answers { settled: epoch, late } when all watchers have seen that. Probes are reported as they succeed.
import { createWriteStream } from "node:fs"
import * as https from "node:https"
import { Connection, now, pause } from "./connection.mjs"
import { brief } from "./kinds.mjs"

const LETTER = { ADDED: "A", MODIFIED: "M", DELETED: "D" }
const LATE_MS = 150000 // a watcher that has not seen the last write by then never will

let setting
const epochs = new Map()

// Follows one collection from the plan's version on, over broken watches and from server to server.
class Watcher {
	// If a server replies that the version is too old, the watcher asks the other servers in turn, `patience` times, before it lists
	// again: a server on etcd has no events from before its own start, but others may.
	constructor(id, collection, home, patience, out) {
		Object.assign(this, { id, collection, at: home, patience, out, last: collection.version, goal: Infinity, refusals: 0 })
		this.ended = this.follow()
	}

	write(line) {
		this.out.write(`${JSON.stringify({ w: this.id, c: this.collection.id, ...line, b: now() })}\n`)
	}

	get over() {
		return this.last >= this.goal || this.late
	}

	async follow() {
		while (!this.over) {
			await this.watch()
			if (this.over)
				break
			await pause(50)
			this.at = (this.at + 1) % setting.servers.length
			if (this.gone && this.refusals >= this.patience)
				await this.relist()
		}
	}

	// Resolves when the watch has ended, whatever the reason.
	watch() {
		const seconds = 4 + Math.floor(Math.random() * 12)
		const url = `${setting.servers[this.at]}${this.collection.path}?watch=true&allowWatchBookmarks=true&resourceVersion=${this.last}&timeoutSeconds=${seconds}`
		return new Promise((resolve) => {
			const request = https.request(url, { agent: setting.agent, headers: { "user-agent": "consistency/1.0" } })
			const timer = setTimeout(() => request.destroy(), (seconds + 6) * 1000)
			this.close = () => request.destroy()
			const done = () => {
				clearTimeout(timer)
				resolve()
			}
			request.on("error", done)
			request.on("close", done)
			request.on("response", (response) => this.receive(response, request))
			request.end()
		})
	}

	receive(response, request) {
		let rest = ""
		if (response.statusCode !== 200) {
			this.refused(response)
			return
		}
		this.write({ y: "open", s: this.at, r: this.last })
		this.gone = undefined
		this.refusals = 0
		response.setEncoding("utf8")
		response.on("error", () => {})
		response.on("data", (data) => {
			const lines = (rest + data).split("\n")
			rest = lines.pop()
			for (const line of lines)
				this.event(JSON.parse(line))
			if (this.over)
				request.destroy()
		})
	}

	refused(response) {
		let text = ""
		response.on("error", () => {})
		response.on("data", (data) => (text += data))
		response.on("end", () => this.expire(JSON.parse(text)))
	}

	expire({ code, message }) {
		if (code === 410) {
			this.gone = message
			this.refusals++
		}
	}

	event({ type, object }) {
		if (type === "ERROR") {
			this.expire(object)
			return
		}
		if (type === "BOOKMARK") {
			this.last = Number(object.metadata.resourceVersion)
			this.write({ y: "B", r: this.last })
			return
		}
		const { k, r, u, v, i } = brief(this.collection.kind, object)
		this.write({ y: LETTER[type], k, r, u, v, i })
		this.last = r
	}

	// The history of what was missed is gone: go on from a list.
	async relist() {
		const connection = new Connection(setting.servers, this.at, setting.credentials)
		const answer = await connection.request("GET", this.collection.path)
		connection.close()
		if (answer.code !== 200)
			return
		this.last = Number(answer.body.metadata.resourceVersion)
		this.write({ y: "gap", s: answer.s, e: this.gone, r: this.last, items: answer.body.items.map((o) => brief(this.collection.kind, o)).map(({ k, r, v }) => [k, r, v]) })
		this.gone = undefined
		this.refusals = 0
	}
}

function begin(plan) {
	const out = createWriteStream(`${plan.folder}/watches.ndjson`)
	const watchers = []
	for (const collection of Object.values(plan.collections)) {
		for (let n = 0; n < (collection.id === "main" ? 3 : 2); n++)
			watchers.push(new Watcher(`${collection.id}/${n}`, collection, n % setting.servers.length, n === 0 ? 8 : 1, out))
	}
	epochs.set(plan.epoch, { plan, out, watchers })
}

async function settle(epoch, versions) {
	const { out, watchers } = epochs.get(epoch)
	epochs.delete(epoch)
	const late = []
	const timer = setTimeout(() => {
		for (const watcher of watchers.filter((w) => !w.over)) {
			late.push(`${watcher.id} at version ${watcher.last} of ${watcher.goal}`)
			watcher.late = true
			watcher.close?.()
		}
	}, LATE_MS)
	for (const watcher of watchers) {
		watcher.goal = versions[watcher.collection.id]
		if (watcher.over)
			watcher.close?.()
	}
	await Promise.all(watchers.map((watcher) => watcher.ended))
	clearTimeout(timer)
	await new Promise((resolve) => out.end(resolve))
	process.send({ settled: epoch, late })
}

// --- probes --------------------------------------------------------------------------------

const PROBE_MS = 100
const PROBES_MAX = 40 // under way at each server

// Asks one server again and again, without waiting for answers: when it can serve again, this sees it at once.
function probe(server) {
	const path = `/api/v1/namespaces/default/configmaps/probe-${server}`
	let n = 0, under = 0
	const idle = []
	setInterval(async () => {
		if (under >= PROBES_MAX)
			return
		const write = ++n % 2 === 0
		const connection = idle.pop() ?? new Connection([setting.servers[server]], 0, setting.credentials)
		under++
		const answer = write
			? await connection.request("PATCH", path, { body: { data: { v: String(n) } }, type: "merge", seconds: 20 })
			: await connection.request("GET", path, { seconds: 20 })
		under--
		if (answer.code === 0)
			connection.close()
		else
			idle.push(connection)
		if (answer.code === 200)
			process.send({ probe: server, write, a: answer.a, b: answer.b })
	}, PROBE_MS)
}

process.on("disconnect", () => process.exit(0))
process.on("message", (message) => {
	if (message.stop)
		process.exit(0)
	if (message.setting) {
		setting = message.setting
		setting.agent = new https.Agent({ keepAlive: false, ...setting.credentials })
		setting.servers.forEach((_, server) => probe(server))
	}
	if (message.plan)
		begin(message.plan)
	if (message.final)
		settle(message.final, message.versions)
})
process.on("unhandledRejection", (error) => {
	process.send({ broken: String(error?.stack ?? error) })
})
