// history - what is known of a device's health over time, and how much of that is known. Pure.
//
// A record is { at, health, before, message, source }: at is in milliseconds; before is the health that it changed from,
// if known; source is "event" (an Event of the pod that had the device), "seen" (the page saw it change) or "kept" (the controller
// keeps it in a DeviceHistory). Records of states look the same, with the state as health.
import { healths, states } from "./derive.js"

const LIMIT = 200
// A change that the page saw and an event about the same change are at most this far apart.
const SAME_MS = 10_000

export class History {
	constructor() {
		this.records = []
	}

	add(record) {
		if (record.source === "seen")
			this.see(record)
		else
			this.hear(record)
		if (this.records.length > LIMIT)
			this.records.splice(0, this.records.length - LIMIT)
	}

	// Adds the health that the page sees now, unless an event has already reported the same health.
	see(record) {
		const last = this.records.at(-1)
		if (last?.health !== record.health)
			this.records.push({ ...record, at: Math.max(record.at, last?.at ?? 0) })
	}

	// An event is of some time ago, in whole seconds, and may have been seen already: then it knows better when and why.
	hear(record) {
		const { records } = this, far = (r) => Math.abs(r.at - record.at)
		if (records.some((r) => r.source === "event" && r.at === record.at && r.health === record.health))
			return
		const same = records.filter((r) => r.source === "seen" && r.health === record.health && far(r) <= SAME_MS).sort((a, b) => far(a) - far(b))[0]
		if (same) {
			const i = records.indexOf(same)
			records[i] = { ...record, at: this.between(i, record.at), message: record.message || same.message }
			return
		}
		// It is news, and yet older than what was seen late: what it changed from was before it.
		const last = records.at(-1)
		const late = last?.source === "seen" && last.health === record.before && last.at > record.at && far(last) <= SAME_MS
		records.push(late ? { ...record, at: last.at } : record)
		records.sort((a, b) => a.at - b.at)
	}

	between(i, at) {
		const after = this.records[i - 1]?.at ?? -Infinity, before = this.records[i + 1]?.at ?? Infinity
		return Math.min(Math.max(at, after), before)
	}

	// Since when the device has been in this health, or undefined if nobody said.
	since(health) {
		let at
		for (let i = this.records.length - 1; i >= 0 && this.records[i].health === health; i--)
			at = this.records[i].at
		return at
	}
}

const names = { ...states, ...healths, NotReported: "untold", Gone: "gone" }

// A device's entry in a DeviceHistory, as { health, state, omitted, from }: lists of records; how many older ones were dropped; and since
// when nothing is missing.
export function keptChanges({ metadata }, { changes = [], omittedChanges: omitted = 0 }) {
	const all = changes.map((c) => ({
		field: c.field, at: Date.parse(c.time), health: names[c.to] ?? "unknown", before: names[c.from] ?? "unknown", message: c.message ?? c.reason ?? "",
		holder: c.holder ?? "", source: "kept",
	})).filter((r) => !Number.isNaN(r.at))
	const first = Math.min(...all.map((r) => r.at)), made = Date.parse(metadata.creationTimestamp)
	const of = (field) => all.filter((r) => r.field === field)
	return { health: of("health"), state: of("state"), omitted, from: omitted || Number.isNaN(made) ? first : Math.min(first, made) }
}

// Kept records, and those of the others that are about no kept change.
export function merge(kept, others) {
	if (!kept.length)
		return others
	const same = (a, b) => a.health === b.health && Math.abs(a.at - b.at) <= SAME_MS
	return [...kept, ...others.filter((o) => !kept.some((k) => same(k, o)))].sort((a, b) => a.at - b.at)
}

// Stretches of one health each, oldest first: { from, to, health, message, sure }. from is undefined for the first one: it
// began at a time that nobody knows. `sure` is false where the end of a stretch and the next record do not fit together,
// that is, where something was missed. `current` is the health now, published as being so since `since`, or else seen since the
// page looked first, at `opened`.
export function stretches(records, { current, since, opened, now }) {
	const all = []
	let last
	for (const r of records) {
		if (last)
			all.push({ ...last, to: r.at, sure: !r.before || r.before === last.health })
		else if (r.before)
			all.push({ from: undefined, to: r.at, health: r.before, message: "", sure: true })
		last = { from: r.at, health: r.health, message: r.message, holder: r.holder }
	}
	if (last && (!current || last.health === current))
		return [...all, { ...last, to: now, sure: true }]
	// No event reported the current state: it began some time before the page was opened.
	const from = Math.max(since ?? opened, last?.from ?? 0)
	if (last)
		all.push({ ...last, to: from, sure: false })
	if (current)
		all.push({ from, to: now, health: current, message: "", sure: true })
	return all
}
