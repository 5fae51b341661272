// sums - the changes that the controller keeps of devices, summed per step of time into panels: how many devices were in each state and
// health, free in each pool, and held by each namespace; for which share of the time those of a driver were held; and how many changed their
// health. Pure.
//
// Each device adds to a panel where a stretch begins and takes away where it ends; at the end these differences are added up. So a device
// costs its changes, whatever the number of steps, and the sum can be made a part at a time.
import { splitKey } from "./derive.js"
import { HEALTHS, STATES } from "./model.js"
import { Figures, LINES_MOST, OTHERS, isFree, poolName } from "./now.js"

export const STEPS = 60
const UNKNOWN = "unpublished", FLAPS = "flaps"
// Between two looks at the clock.
const PART = 64
// A failure is a flap if the device had failed so often in this time before it, as in src/controller/devices/device_marks.h.
const FLAP_AFTER = 2, FLAP_MS = 30 * 60_000

const isHeld = (state) => state === "allocated" || state === "partial"
const isFailure = (health) => health === "unhealthy" || health === "unknown"
const namespaceOf = (holder) => holder.slice(0, holder.indexOf("/")) || UNKNOWN
const total = ({ values }) => values.reduce((a, b) => a + b, 0)
const byName = (a, b) => (a.name < b.name ? -1 : 1)

// Names that have a list of numbers each.
class Series {
	constructor(length, names = []) {
		this.length = length
		this.all = new Map(names.map((name) => [name, this.none()]))
	}

	none() {
		return new Float64Array(this.length)
	}

	of(name) {
		let found = this.all.get(name)
		if (!found)
			this.all.set(name, (found = this.none()))
		return found
	}
}

// How many there are of each name at the end of each step.
class Levels extends Series {
	constructor(names, steps) {
		super(steps + 1, names)
	}

	// The samples from i until before j have one more of it.
	add(name, i, j) {
		const all = this.of(name)
		all[i]++
		all[j]--
	}

	// [{ name, values }] of the differences.
	sums() {
		return [...this.all].map(([name, steps]) => {
			let sum = 0
			return { name, values: Array.from(steps.subarray(0, -1), (x) => (sum += x)) }
		})
	}

	// Those with anything.
	lines() {
		return this.sums().filter(({ values }) => values.some(Boolean))
	}
}

// How many there were of each name in each step on average: a stretch counts in a step for its share of it.
class Averages extends Levels {
	constructor(steps) {
		super([], steps)
		this.parts = new Series(steps + 1)
	}

	// From a until b, in steps.
	add(name, a, b) {
		const i = Math.floor(a), j = Math.floor(b), parts = this.parts.of(name)
		super.add(name, i, j)
		parts[i] -= a - i
		parts[j] += b - j
	}

	sums() {
		return super.sums().map(({ name, values }) => ({ name, values: values.map((v, i) => Math.round((v + this.parts.of(name)[i]) * 1e6) / 1e6) }))
	}
}

// The levels over time: [from, value, holder], oldest first. The first is from the beginning of time.
function levels(records, omitted) {
	const [first] = records
	if (!first)
		return []
	const before = omitted ? UNKNOWN : first.before
	// A change that ends a hold names the claim that held the device until then.
	const holder = isHeld(first.before) && !isHeld(first.health) ? first.holder : ""
	return [[-Infinity, before, holder], ...records.map((r) => [r.at, r.health, r.holder])]
}

export class Sums {
	// Of `span` ms until `now`. devices: the devices that there are; kept: Map(key: keptChanges() of history.js); match(device), or
	// undefined if all count.
	constructor({ devices, kept, now, span, steps = STEPS, match }) {
		Object.assign(this, { devices, kept, now, span, steps, match, from: now - span, step: span / steps })
		this.panels = {
			state: new Levels(STATES, steps), health: new Levels([...HEALTHS, UNKNOWN], steps), changes: new Levels(HEALTHS, steps),
			free: new Levels([], steps), held: new Levels([], steps), hours: new Averages(steps), used: new Averages(steps), known: new Averages(steps),
		}
		this.figures = new Figures()
		this.pools = new Set() // with a device now
		this.known = { devices: 0, changes: 0, omitted: 0 }
		this.work = 0 // stretches that were added
		this.rest = this.each()
	}

	// When the sample of a step was taken: at its end.
	at(i) {
		return this.from + (i + 1) * this.step
	}

	// The first sample that is not before the time; the last one is of now, and not of the history.
	index(t) {
		return Math.min(this.steps - 1, Math.max(0, Math.ceil((t - this.from) / this.step) - 1))
	}

	// The time in steps.
	place(t) {
		return Math.min(this.steps, Math.max(0, (t - this.from) / this.step))
	}

	// Goes on while until() is false. Returns whether all is summed.
	run(until = () => false) {
		for (let n = 0; ; n++) {
			if (n % PART === 0 && n && until())
				return false
			if (this.rest.next().done)
				return true
		}
	}

	*each() {
		for (const d of this.devices.values())
			if (!d.plugin && (!this.match || this.match(d)))
				yield this.take(d.key, d, this.kept.get(d.key))
		for (const [key, kept] of this.kept)
			if (!this.match && !this.devices.has(key))
				yield this.take(key, undefined, kept)
	}

	take(key, device, kept) {
		const now = device && { state: device.state, health: device.health in this.isHealth ? device.health : UNKNOWN, holder: device.holders[0]?.namespace }
		const place = device ?? splitKey(key)
		this.known.devices += device ? 1 : 0
		this.known.omitted += kept?.omitted ? 1 : 0
		const states = levels(kept?.state ?? [], kept?.omitted), healths = levels(kept?.health ?? [], kept?.omitted)
		// A device without a change has been as it is now.
		this.stretch(states.length ? states : now ? [[-Infinity, now.state, ""]] : [], (value, from, to, holder) =>
			this.state(place, value, states.length ? namespaceOf(holder) : now.holder ?? UNKNOWN, from, to))
		this.healths(healths.length ? healths : [[-Infinity, now?.health ?? UNKNOWN, ""]], states)
		if (device)
			this.present(device, now)
		this.changes(kept?.health ?? [])
	}

	isHealth = Object.fromEntries(HEALTHS.map((h) => [h, true]))

	state(place, value, namespace, from, to) {
		const { panels } = this, known = value !== UNKNOWN && STATES.includes(value), i = this.index(from), j = this.index(to), a = this.place(from), b = this.place(to)
		if (value !== "gone")
			panels.state.add(known ? value : UNKNOWN, i, j)
		if (known)
			panels.known.add(place.driver, a, b)
		if (isFree(value))
			panels.free.add(poolName(place), i, j)
		if (!isHeld(value))
			return
		panels.held.add(namespace, i, j)
		panels.hours.add(namespace, a, b)
		panels.used.add(place.driver, a, b)
	}

	// A device has a health while it is there.
	healths(all, states) {
		const gone = states.filter(([, value]) => value === "gone")
		const there = gone.length ? states.map(([from, value], k) => [from, states[k + 1]?.[0] ?? Infinity, value !== "gone"]).filter(([, , yes]) => yes) : [[-Infinity, Infinity]]
		for (const [from, to] of there)
			this.stretch(all, (value, a, b) => this.panels.health.add(value in this.isHealth ? value : UNKNOWN, this.index(a), this.index(b)), from, to)
	}

	// Calls each(value, from, to, holder) for what is between two times.
	stretch(all, each, after = -Infinity, before = Infinity) {
		for (const [k, [begin, value, holder]] of all.entries()) {
			const from = Math.max(begin, after), to = Math.min(all[k + 1]?.[0] ?? Infinity, before)
			this.work++
			if (from < to)
				each(value, from, to, holder)
		}
	}

	present(device, { state, health, holder }) {
		const last = this.steps - 1, { panels } = this, pool = poolName(device)
		this.figures.take(device)
		this.pools.add(pool)
		panels.state.add(state, last, last + 1)
		panels.health.add(health, last, last + 1)
		panels.free.of(pool)
		if (isFree(state))
			panels.free.add(pool, last, last + 1)
		if (isHeld(state))
			panels.held.add(holder ?? UNKNOWN, last, last + 1)
	}

	changes(records) {
		const failed = []
		for (const { at, health, before } of records) {
			this.change(at, health in this.isHealth ? health : "unknown")
			if (!isFailure(health) || isFailure(before))
				continue
			if (at - (failed.at(-FLAP_AFTER) ?? -Infinity) <= FLAP_MS)
				this.change(at, FLAPS)
			failed.push(at)
		}
	}

	change(at, name) {
		const i = Math.floor((at - this.from) / this.step)
		this.work++
		if (i < 0 || i >= this.steps)
			return
		this.known.changes += name === FLAPS ? 0 : 1
		this.panels.changes.add(name, i, i + 1)
	}

	// { state, health, changes, free, held, hours, utilization }: lists of { name, values }, one value for each step.
	lines() {
		const { state, health, changes, held, hours } = this.panels
		return {
			state: state.lines(), health: health.lines(), changes: changes.lines(), free: this.freeLines(),
			held: together(held.lines()), hours: together(hours.lines()), utilization: this.utilization(),
		}
	}

	// Of many pools those with the fewest free devices: who lacks devices looks for these. Pools that are gone come last.
	freeLines() {
		const all = this.panels.free.sums().map((line) => ({ ...line, sum: total(line), gone: !this.pools.has(line.name) }))
		const sorted = all.sort((a, b) => a.gone - b.gone || a.sum - b.sum || byName(a, b))
		return sorted.slice(0, LINES_MOST).map(({ name, values }) => ({ name, values })).sort(byName)
	}

	// The share of the time for which devices of a driver were held; NaN where nothing is known. Of many drivers those with most devices.
	utilization() {
		const used = new Map(this.panels.used.sums().map(({ name, values }) => [name, values]))
		const all = this.panels.known.lines().sort((a, b) => total(b) - total(a) || byName(a, b)).slice(0, LINES_MOST)
		return all.map(({ name, values }) => ({ name, values: values.map((v, i) => (v > 0 ? Math.min(1, (used.get(name)?.[i] ?? 0) / v) : NaN)) })).sort(byName)
	}
}

// The lines with most, and one for all others.
function together(lines) {
	const sorted = lines.sort((a, b) => total(b) - total(a) || byName(a, b))
	if (sorted.length <= LINES_MOST)
		return sorted
	const rest = sorted.slice(LINES_MOST)
	return [...sorted.slice(0, LINES_MOST), { name: OTHERS, values: rest[0].values.map((_, i) => rest.reduce((sum, l) => sum + l.values[i], 0)) }]
}
