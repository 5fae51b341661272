// sums - the changes that the controller keeps of devices, summed per step of time into panels: how many devices were in each state and
// health, how many changed their health, and in which namespaces they were held. Pure.
//
// Each device adds to a panel where a stretch begins and takes away where it ends; at the end these differences are added up. So a device
// costs its changes, whatever the number of steps, and the sum can be made a part at a time.
import { HEALTHS, STATES } from "./model.js"

export const STEPS = 60
// Namespaces with lines of their own; the others are together.
export const NAMESPACES_MOST = 7
const OTHERS = "others", UNKNOWN = "unpublished"
// Between two looks at the clock.
const PART = 64

const isHeld = (state) => state === "allocated" || state === "partial"
const namespaceOf = (holder) => holder.slice(0, holder.indexOf("/")) || UNKNOWN

class Panel {
	constructor(names, steps) {
		this.steps = steps
		this.series = new Map(names.map((name) => [name, this.none()]))
	}

	none() {
		return new Float64Array(this.steps + 1)
	}

	// The samples from i until before j have one more of it.
	add(name, i, j) {
		let all = this.series.get(name)
		if (!all)
			this.series.set(name, (all = this.none()))
		all[i]++
		all[j]--
	}

	// [{ name, values }] of the differences; lines without anything are left out.
	lines() {
		const all = [...this.series].map(([name, steps]) => {
			let sum = 0
			return { name, values: Array.from(steps.subarray(0, this.steps), (x) => (sum += x)) }
		})
		return all.filter(({ values }) => values.some(Boolean))
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
	// Of `span` ms until `now`. devices(): the devices that there are; kept: Map(key: keptChanges() of history.js); match(device), or
	// undefined if all count.
	constructor({ devices, kept, now, span, steps = STEPS, match }) {
		Object.assign(this, { devices, kept, now, span, steps, match, from: now - span, step: span / steps })
		this.panels = {
			state: new Panel([...STATES], steps), health: new Panel([...HEALTHS, UNKNOWN], steps),
			changes: new Panel(HEALTHS, steps), held: new Panel([], steps),
		}
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
				yield this.take(d, this.kept.get(d.key))
		for (const [key, kept] of this.kept)
			if (!this.match && !this.devices.has(key))
				yield this.take(undefined, kept)
	}

	take(device, kept) {
		const now = device && { state: device.state, health: device.health in this.isHealth ? device.health : UNKNOWN, holder: device.holders[0]?.namespace }
		this.known.devices += device ? 1 : 0
		this.known.omitted += kept?.omitted ? 1 : 0
		const states = levels(kept?.state ?? [], kept?.omitted), healths = levels(kept?.health ?? [], kept?.omitted)
		// A device without a change has been as it is now.
		this.stretch(states.length ? states : now ? [[-Infinity, now.state, ""]] : [], (value, i, j, holder) => {
			this.state(value, i, j)
			if (isHeld(value))
				this.panels.held.add(states.length ? namespaceOf(holder) : now.holder ?? UNKNOWN, i, j)
		})
		this.healths(healths.length ? healths : [[-Infinity, now?.health ?? UNKNOWN, ""]], states)
		if (now)
			this.present(now)
		for (const r of kept?.health ?? [])
			this.change(r)
	}

	isHealth = Object.fromEntries(HEALTHS.map((h) => [h, true]))

	state(value, i, j) {
		if (value !== "gone")
			this.panels.state.add(STATES.includes(value) ? value : UNKNOWN, i, j)
	}

	// A device has a health while it is there.
	healths(all, states) {
		const gone = states.filter(([, value]) => value === "gone")
		const there = gone.length ? states.map(([from, value], k) => [from, states[k + 1]?.[0] ?? Infinity, value !== "gone"]).filter(([, , yes]) => yes) : [[-Infinity, Infinity]]
		for (const [from, to] of there)
			this.stretch(all, (value, i, j) => this.panels.health.add(value in this.isHealth ? value : UNKNOWN, i, j), from, to)
	}

	stretch(all, each, from = -Infinity, to = Infinity) {
		for (const [k, [begin, value, holder]] of all.entries()) {
			const i = this.index(Math.max(begin, from)), j = this.index(Math.min(all[k + 1]?.[0] ?? Infinity, to))
			this.work++
			if (i < j)
				each(value, i, j, holder)
		}
	}

	present({ state, health, holder }) {
		const last = this.steps - 1
		this.panels.state.add(state, last, last + 1)
		this.panels.health.add(health, last, last + 1)
		if (isHeld(state))
			this.panels.held.add(holder ?? UNKNOWN, last, last + 1)
	}

	change({ at, health }) {
		const i = Math.floor((at - this.from) / this.step)
		this.work++
		if (i < 0 || i >= this.steps)
			return
		this.known.changes++
		this.panels.changes.add(health in this.isHealth ? health : "unknown", i, i + 1)
	}

	// { state, health, changes, held }: lists of { name, values }, one value for each step.
	lines() {
		const { state, health, changes, held } = this.panels
		return { state: state.lines(), health: health.lines(), changes: changes.lines(), held: together(held.lines()) }
	}
}

// The lines with most, and one for all others.
function together(lines) {
	const total = ({ values }) => values.reduce((a, b) => a + b, 0)
	const sorted = lines.sort((a, b) => total(b) - total(a) || (a.name < b.name ? -1 : 1))
	if (sorted.length <= NAMESPACES_MOST)
		return sorted
	const rest = sorted.slice(NAMESPACES_MOST)
	return [...sorted.slice(0, NAMESPACES_MOST), { name: OTHERS, values: rest[0].values.map((_, i) => rest.reduce((sum, l) => sum + l.values[i], 0)) }]
}
