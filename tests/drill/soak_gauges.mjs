// Samples of the processes, once a second: memory in MiB, descriptors, size of the store. Anonymous memory is what a process
// has asked for; pages of the store's file, which the kernel takes back when it likes, are counted apart.
import { readFileSync, readdirSync } from "node:fs"

const field = (status, name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0) / 1024

function look(pid) {
	const status = readFileSync(`/proc/${pid}/status`, "utf8")
	return { anon: field(status, "RssAnon"), file: field(status, "RssFile") }
}

const mean = (values) => values.reduce((a, b) => a + b, 0) / Math.max(1, values.length)

// Growth of a straight line through the samples, from the first to the last.
function growth(samples, name) {
	const xs = samples.map((s) => s.at), ys = samples.map((s) => s[name]), x = mean(xs), y = mean(ys)
	const slope = xs.reduce((sum, v, i) => sum + (v - x) * (ys[i] - y), 0) / (xs.reduce((sum, v) => sum + (v - x) ** 2, 0) || 1)
	return slope * ((xs.at(-1) ?? 0) - (xs[0] ?? 0))
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

export class Gauges {
	constructor(place) {
		Object.assign(this, { place, samples: [], phase: "begin", began: Date.now() })
		this.timer = setInterval(() => this.sample(), 1000)
	}

	sample() {
		const { server, controller, scheduler } = this.place.roles
		try {
			const own = look(server.pid)
			this.last = { phase: this.phase, at: (Date.now() - this.began) / 1000, ...own, fds: readdirSync(`/proc/${server.pid}/fd`).length,
				store: this.place.store(), scheduler: look(scheduler.pid).anon, controller: look(controller.pid).anon }
			this.samples.push(this.last)
		} catch {
			// A process is gone: `alive` says so.
		}
	}

	of(phase) {
		return this.samples.filter((s) => s.phase === phase)
	}

	// Each gauge: alone, at most, how it grew in the last half of the time together, after the hostile tenants left, and when idle.
	summary() {
		const together = this.of("together"), half = together.slice(Math.floor(together.length / 2))
		return Object.fromEntries(["anon", "file", "fds", "store", "scheduler", "controller"].map((name) => [name, {
			alone: median(this.of("alone").map((s) => s[name])),
			max: Math.max(0, ...this.samples.map((s) => s[name])),
			mean: mean(half.map((s) => s[name])),
			growth: growth(half, name),
			after: this.of("after").at(-1)?.[name] ?? 0,
			idle: this.of("idle").at(-1)?.[name] ?? 0,
		}]))
	}

	end() {
		clearInterval(this.timer)
	}
}
