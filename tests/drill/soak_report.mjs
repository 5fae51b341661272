// Figures, bounds and tables of the soak.
import { historyBytes } from "./soak_place.mjs"

export function percentile(values, p) {
	const sorted = [...values].sort((a, b) => a - b)
	return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p / 100))] ?? 0
}

const mib = (bytes) => bytes / 1024 / 1024
const OWN_DELAY = "timer of client"

// Memory that may remain after the attackers have gone: recent events of the kinds that they wrote, and fragments.
const LEFT_MIB = 64
const GROWTH_MIB = 32
// A connection may hold so much, which an attack fills in a minute: only a long run shows that it ends there.
const HELD_MIB = 256
const LONG_S = 600

function latencies({ measured: { results }, options: { times, floor } }) {
	return Object.keys(results.together ?? {}).sort().map((kind) => {
		const [alone, together] = ["alone", "together"].map((phase) => results[phase]?.[kind] ?? [])
		const [before, now] = [percentile(alone, 99), percentile(together, 99)]
		return { kind, alone, together, before, now, ratio: now / Math.max(before, floor), kept: now <= times * Math.max(before, floor) }
	})
}

const figures = (values) => ({ count: values.length, p50: percentile(values, 50), p99: percentile(values, 99), max: Math.max(0, ...values.slice(-100000)) })

// The result as a file keeps it: figures of latencies by phase and kind instead of every one.
export function condense(result, bounds, samples) {
	const { results, ...measured } = result.measured
	const latency = Object.fromEntries(Object.entries(results).map(([phase, kinds]) =>
		[phase, Object.fromEntries(Object.entries(kinds).map(([kind, values]) => [kind, figures(values)]))]))
	return { kept: bounds.every((b) => b.kept), bounds, ...result, measured: { latency, ...measured }, samples }
}

// [{ bound, value, limit, kept }]
export function judge(result) {
	const { measured, gauges, alive, options } = result
	const failed = Object.entries(measured.failures).filter(([phase]) => phase !== "begin").flatMap(([, f]) => Object.values(f)).reduce((a, b) => a + b, 0)
	const bounds = latencies(result).filter(({ kind }) => kind !== OWN_DELAY)
		.map(({ kind, now, before, kept }) => ({ bound: `p99 of ${kind}, ms`, value: now, limit: options.times * Math.max(before, options.floor), kept }))
	const most = (bound, value, limit) => bounds.push({ bound, value, limit, kept: value <= limit })
	most("friendly requests that failed", failed, 0)
	most("events that the friendly tenant missed", measured.lost.events, 0)
	most("friendly pods that were not scheduled", measured.lost.pods, 0)
	for (const [gauge, name] of [["anon", "server"], ["scheduler", "scheduler"], ["controller", "controller"]]) {
		const g = gauges[gauge]
		most(`memory of ${name}: growth in the last half, MiB`, g.growth, Math.max(GROWTH_MIB, g.mean / 10) + (result.plan.together < LONG_S ? HELD_MIB : 0))
		most(`memory of ${name}: idle, MiB`, g.idle, g.alone + LEFT_MIB)
	}
	most("descriptors: idle", gauges.fds.idle, gauges.fds.alone + 8)
	if (options.setup === "lmdb")
		most("store: at most, MiB", gauges.store.max, gauges.store.alone + 4 * mib(historyBytes))
	most("processes that ended", Object.values(alive).filter((a) => !a).length, 0)
	most("attacks that got no answer", Object.values(measured.attacks).filter((a) => !a.answers).length, 0)
	most("attacks that should be refused and were not", Object.values(measured.attacks).filter((a) => a.bites && a.bites < result.plan.together && !a.refused).length, 0)
	return bounds
}

// Columns as wide as they need to be; the first to the left, the others to the right.
function printTable(title, rows) {
	const text = rows.map((row) => row.map((v) => (typeof v === "number" ? (Number.isInteger(v) ? String(v) : v.toFixed(1)) : String(v))))
	const widths = text[0].map((_, i) => Math.max(...text.map((row) => row[i].length)))
	console.log(`\n${title}`)
	for (const row of text)
		console.log(`  ${row.map((v, i) => (i ? v.padStart(widths[i]) : v.padEnd(widths[i]))).join("  ")}`.trimEnd())
}

export function printReport(result, bounds) {
	const { measured, gauges } = result
	printTable("latency of the friendly tenant, ms", [["", "alone", "p50", "p99", "together", "p50", "p99", "ratio"], ...latencies(result).map((l) =>
		[l.kind, l.alone.length, percentile(l.alone, 50), l.before, l.together.length, percentile(l.together, 50), l.now, l.ratio.toFixed(2)])])
	printTable("server, MiB", [["", "alone", "max", "growth", "after", "idle"], ...Object.entries(gauges).map(([name, g]) =>
		[{ anon: "memory", file: "pages of files", fds: "descriptors", scheduler: "scheduler's memory", controller: "controller's memory" }[name] ?? name,
			g.alone, g.max, g.growth, g.after, g.idle])])
	printTable("attempts of the scheduler", Object.entries(result.attempts))
	printTable("attacks", [["", "answers", "refused", "by"], ...Object.entries(measured.attacks).map(([name, a]) =>
		[name, a.answers, a.refused, Object.entries(a.by).map(([what, n]) => `${what}: ${n}`).join(", ")])])
	const failures = Object.entries(measured.failures).flatMap(([phase, all]) => Object.entries(all).map(([what, n]) => [`${phase}: ${what}`, n]))
	if (result.troubles.length)
		console.log(`\n${result.troubles.length} lines of the scheduler about friendly pods, such as\n  ${result.troubles.slice(-5).join("\n  ")}`)
	if (failures.length)
		printTable("failures of the friendly tenant", failures.slice(0, 20))
	printTable("bounds", [["", "value", "limit", ""], ...bounds.map((b) => [b.bound, b.value, b.limit, b.kept ? "kept" : "BROKEN"])])
}
