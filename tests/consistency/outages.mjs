// How long the cluster did not serve: from probes that succeeded, and faults.
import { now, pause } from "./connection.mjs"

const RECOVERY_S = 120 // a server that does not serve for so long after a fault has hung

function quantile(sorted, q) {
	return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))]
}

function seconds(list) {
	if (list.length === 0)
		return ""
	const sorted = [...list].sort((p, q) => p - q)
	return `${(quantile(sorted, 0.5) / 1e6).toFixed(1)} / ${(sorted.at(-1) / 1e6).toFixed(1)}`
}

export class Outages {
	constructor(servers) {
		this.probes = Array.from({ length: servers }, () => ({ read: [], write: [] }))
		this.found = new Map() // by name of a fault: { count, during: { read, write }, after: { read, write } }
		this.hung = []
	}

	add({ probe, write, a, b }) {
		const list = this.probes[probe][write ? "write" : "read"]
		list.push({ a, b })
		// Answers come almost in order; of old ones nobody asks.
		if (list.length > 6000)
			list.splice(0, 3000)
	}

	// When a request sent at `time` or later was first answered.
	first(server, way, time) {
		return this.probes[server][way].reduce((best, { a, b }) => (a >= time && b < best ? b : best), Infinity)
	}

	// Waits until probes of all servers succeed.
	async begun() {
		while (this.probes.some(({ read, write }) => !read.length || !write.length))
			await pause(20)
	}

	// The longest time within [from, to] in which no request was answered.
	longest(server, way, from, to) {
		const times = this.probes[server][way].map(({ b }) => b).filter((b) => b >= from && b <= to).sort((p, q) => p - q)
		let last = from, longest = 0
		for (const time of [...times, to]) {
			longest = Math.max(longest, time - last)
			last = time
		}
		return longest
	}

	// Waits until every server serves again, and enters what the fault cost.
	async recovered(fault) {
		const all = this.probes.map((_, server) => server)
		const pending = () => all.flatMap((server) => ["read", "write"].map((way) => ({ server, way })))
			.filter(({ server, way }) => this.first(server, way, fault.healed) === Infinity)
		while (pending().length && now() < fault.healed + RECOVERY_S * 1e6)
			await pause(20)
		for (const { server, way } of pending())
			this.hung.push(`server ${server} did not ${way} for ${RECOVERY_S} s after "${fault.name}" was healed`)
		this.enter(fault, all)
	}

	enter(fault, all) {
		if (!this.found.has(fault.name))
			this.found.set(fault.name, { count: 0, during: { read: [], write: [] }, after: { read: [], write: [] } })
		const entry = this.found.get(fault.name)
		entry.count++
		fault.cost = []
		for (const way of ["read", "write"]) {
			for (const server of all.filter((s) => !fault.hit.includes(s))) {
				const longest = this.longest(server, way, fault.from, fault.healed)
				entry.during[way].push(longest)
				fault.cost.push(`server ${server} did not ${way} for ${(longest / 1e6).toFixed(1)} s`)
			}
			for (const server of all) {
				const first = this.first(server, way, fault.healed)
				if (first !== Infinity)
					entry.after[way].push(first - fault.healed)
			}
		}
	}

	table() {
		const rows = [...this.found].sort().map(([name, { count, during, after }]) =>
			`| ${name} | ${count} | ${seconds(during.read)} | ${seconds(during.write)} | ${seconds(after.read)} | ${seconds(after.write)} |`)
		return ["| fault | times | longest without a read at servers not hit, p50 / max, s | without a write | until a read after it is healed | until a write |",
			"|---|---|---|---|---|---|", ...rows].join("\n")
	}
}
