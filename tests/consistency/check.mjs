// The checker: reads the history of one epoch and returns the violations it finds.
//
//	const { violations, stats } = check(plan, records)
//
// `plan` is { epoch, collections: { id: { id, kind, version, items, limit } } }, with the version and the items that each begins with; records are the lines of the history.
import { checkCollection } from "./streams.mjs"
import { checkCounter, checkObject, checkVersions } from "./objects.mjs"
import { checkExclusive, checkLeases, checkQuota } from "./holders.mjs"

const isCounter = (k) => /^n\d+-/.test(k)

function group(list, name) {
	const groups = new Map()
	for (const item of list) {
		const key = name(item)
		if (!groups.has(key))
			groups.set(key, [])
		groups.get(key).push(item)
	}
	return groups
}

// Sorts the lines of a history by what they are of.
function sort(records) {
	const ops = [], lists = [], events = []
	for (const record of records) {
		if (record.w !== undefined)
			events.push(record)
		else if (record.f === "list")
			lists.push(record)
		else
			ops.push({ ...record, b: record.b ?? Infinity })
	}
	return { ops, lists, events }
}

const specials = {
	lease: (collection, ops, seen, report) => checkLeases(ops, seen, report),
	port(collection, ops, seen, report) {
		for (const part of seen) {
			checkExclusive("node port", ({ v }) => v, part, report)
			checkExclusive("cluster address", ({ i }) => i, part, report)
		}
	},
	claim: (collection, ops, seen, report) => seen.forEach((part) => checkExclusive("device", ({ v }) => v, part, report)),
	quota: (collection, ops, seen, report) => seen.forEach((part) => checkQuota(collection, part, report)),
}

function checkObjects(ops, lists, events, whole, report) {
	const stats = { objects: 0, undecided: 0 }
	const seen = group(events.filter(({ k }) => k), ({ k }) => k)
	const items = group(lists.flatMap((list) => list.items.map(([k, r, v]) => ({ k, r, v, list: { ...list, items: undefined } }))), ({ k }) => k)
	const final = lists.filter(({ final: last }) => last).at(-1)
	for (const [k, own] of group(ops, (op) => op.k)) {
		const tell = (kind, text, lines) => report(kind, `${k}: ${text}`, lines)
		stats.objects++
		stats.undecided += checkObject(own, seen.get(k) ?? [], items.get(k) ?? [], whole, tell) ? 0 : 1
		const item = final?.items.find(([name]) => name === k)
		if (isCounter(k) && item)
			checkCounter(k, own, Number(item[2]), tell)
	}
	return stats
}

export function check(plan, records) {
	const violations = []
	const stats = { ops: 0, lists: 0, events: 0, objects: 0, undecided: 0, gaps: 0 }
	const { ops, lists, events } = sort(records)
	const reporter = (id) => (kind, text, lines = []) => violations.push({ kind, text: `${id}: ${text}`, lines: lines.filter(Boolean) })
	checkVersions(ops, reporter("all"))
	for (const collection of Object.values(plan.collections)) {
		const { id } = collection, report = reporter(id)
		const of = (list) => list.filter(({ c }) => c === id)
		const own = { ops: of(ops), lists: of(lists), events: of(events) }
		const seen = checkCollection(collection, own.ops, own.lists, own.events, report)
		const { objects, undecided } = checkObjects(own.ops, own.lists, own.events, seen.length === 1, report)
		specials[id.replace(/\d+$/, "")]?.(collection, own.ops, seen, report)
		stats.objects += objects
		stats.undecided += undecided
		stats.gaps += seen.length - 1
	}
	for (const late of plan.late ?? [])
		violations.push({ kind: "watch stalled", text: late, lines: [] })
	Object.assign(stats, { ops: ops.length, lists: lists.length, events: events.length })
	return { violations, stats }
}
