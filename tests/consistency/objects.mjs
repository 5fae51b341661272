// Checks of single objects: every answer is explained by one order of the operations on its object, and versions keep real time.
import { linearizable } from "./linear.mjs"

// A "set" is a put by the only writer of its object, which may change nothing.
const WRITES = new Set(["create", "put", "set", "cas", "jpatch", "apply", "delete"])
const isWrite = (op) => WRITES.has(op.f)
const acknowledged = (op) => op.o >= 200 && op.o < 300

// Refusals that say something about the object; others (a quota's, a taken port's) are left out.
const telling = { create: [409], put: [404], set: [404], cas: [404, 409], jpatch: [404, 422], apply: [], delete: [404, 409], get: [404] }

// Every version of an object that anybody saw: version -> { r, v, u, b }, b being when it was first seen.
function versionsOf(ops, events, items, report) {
	const found = new Map()
	const see = (source, { r, v, u, b }) => {
		const old = found.get(r)
		if (!old)
			found.set(r, { r, v, u, b })
		else if (old.v !== v || (u && old.u && old.u !== u))
			report("one version, two contents", `version ${r} is both ${old.v} and ${v}`, [source, old])
		else {
			old.b = Math.min(old.b, b)
			old.u ??= u
		}
	}
	for (const op of ops.filter((o) => o.f !== "delete" && o.r !== undefined && acknowledged(o)))
		see(op, { r: op.r, v: op.x, u: op.u, b: op.b })
	for (const event of events.filter(({ y }) => y === "A" || y === "M"))
		see(event, event)
	for (const { list, r, v } of items)
		see(list, { r, v, b: list.b })
	return found
}

// A write without an answer whose value was seen has happened, before it was seen. One that was refused must never be seen. One that
// nobody saw did not happen, where watchers saw everything (`whole`).
function resolve(ops, versions, whole, report) {
	const writers = new Map(), seen = new Map()
	for (const op of ops.filter((o) => isWrite(o) && o.f !== "delete"))
		writers.set(op.v, [...(writers.get(op.v) ?? []), op])
	for (const version of versions.values())
		seen.set(version.v, [...(seen.get(version.v) ?? []), version])
	for (const [v, those] of seen) {
		const [writer] = writers.get(v) ?? []
		if (!writer)
			report("value from nowhere", `nobody wrote ${v}`, those)
		else if (writers.get(v).length === 1 && writer.o >= 400)
			report("refused write happened", `${v} was refused with ${writer.o} and is there`, [writer, ...those])
		else if (writers.get(v).length === 1 && writer.b === Infinity && those.length === 1)
			writer.b = Math.max(writer.a, those[0].b)
	}
	for (const [v, [writer, other]] of writers)
		writer.never = whole && !other && writer.b === Infinity && !seen.has(v)
	return (v) => (seen.get(v)?.length === 1 ? seen.get(v)[0] : undefined)
}

// Later answers have later versions.
function inRealTime(ops, report) {
	const answered = ops.filter((o) => o.r !== undefined && acknowledged(o) && o.f !== "delete")
	const returns = [...answered].sort((p, q) => p.b - q.b)
	let newest, n = 0
	for (const op of answered.sort((p, q) => p.a - q.a)) {
		for (; n < returns.length && returns[n].b < op.a; n++)
			newest = !newest || returns[n].r > newest.r ? returns[n] : newest
		if (newest && op.r < newest.r)
			report(op.f === "get" ? "stale read" : "version went back", `version ${op.r} after ${newest.r} was answered`, [newest, op])
	}
}

// No version is the result of two writes, and no incarnation is deleted twice.
function doubles(ops, report) {
	const by = new Map()
	for (const op of ops.filter((o) => isWrite(o) && acknowledged(o))) {
		const name = op.f === "delete" ? `deletion of ${op.u}` : `version ${op.r}`
		if (op.f === "set" || (op.f === "delete" && !op.u))
			continue
		if (by.has(name))
			report("one write, two acknowledgements", `${name} was acknowledged to ${by.get(name).p} and ${op.p}`, [by.get(name), op])
		by.set(name, op)
	}
}

function answers(ops, report) {
	for (const op of ops.filter((o) => isWrite(o) && o.f !== "delete" && acknowledged(o) && o.x !== o.v))
		report("wrong answer", `wrote ${op.v}, was answered ${op.x}`, [op])
}

function order(ops, versionOf, report) {
	const modelled = ops.filter((o) => !o.never && (o.o < 300 || telling[o.f].includes(o.o)))
	const { ok, stuck } = linearizable(modelled, versionOf)
	if (ok)
		return true
	const from = Math.min(...stuck.open.map(({ a }) => a)), to = stuck.end
	const near = modelled.filter((o) => o.b >= from - 1000 && o.a <= to + 1000).slice(0, 40)
	const state = stuck.state ? `version ${stuck.state.r}, value ${stuck.state.v}` : "absent"
	if (ok === false)
		report("not linearizable", `no order explains these answers; the object was last ${state}`, near)
	return ok
}

// Checks one object. `events` and `items` are what watchers and lists saw of it. Returns whether the search came to an end.
export function checkObject(ops, events, items, whole, report) {
	doubles(ops, report)
	answers(ops, report)
	const versionOf = resolve(ops, versionsOf(ops, events, items, report), whole, report)
	inRealTime(ops, report)
	return order(ops, versionOf, report) !== undefined
}

// Over all objects: a write that begins after a version was answered has a later one.
export function checkVersions(ops, report) {
	const writes = ops.filter((o) => isWrite(o) && o.f !== "delete" && o.f !== "set" && acknowledged(o))
	const returns = ops.filter((o) => o.r !== undefined && o.b !== Infinity).sort((p, q) => p.b - q.b)
	const seen = new Map()
	for (const op of writes) {
		const other = seen.get(op.r)
		if (other && (other.c !== op.c || other.k !== op.k))
			report("one version, two objects", `version ${op.r} is of ${other.k} and of ${op.k}`, [other, op])
		seen.set(op.r, op)
	}
	let newest, n = 0
	for (const op of writes.sort((p, q) => p.a - q.a)) {
		for (; n < returns.length && returns[n].b < op.a; n++)
			newest = !newest || returns[n].r > newest.r ? returns[n] : newest
		if (newest && op.r <= newest.r)
			report("version went back", `a write got version ${op.r} after ${newest.r} was answered`, [newest, op])
	}
}

// Counters have counted every acknowledged step, and no more than were tried.
export function checkCounter(key, ops, final, report) {
	const steps = ops.filter((o) => isWrite(o) && o.f !== "create" && o.o < 300)
	const sure = steps.filter(acknowledged).length
	if (final < sure || final > steps.length)
		report("counter", `${key} is ${final} after ${sure} acknowledged steps and ${steps.length - sure} of unknown outcome`, [])
}
