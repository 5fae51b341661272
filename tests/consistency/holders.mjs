// Checks of what only one may hold: leases, node ports, addresses, devices, places in a quota.
import { replay } from "./streams.mjs"
import { RENEW_US } from "./workloads.mjs"

const parse = (v) => {
	const [holder, transitions] = v.split("|")
	return { holder, transitions: Number(transitions) }
}

// The lock's own history: each change of the holder is a transition, and each transition is one.
function transitions({ items, events }, report) {
	const last = new Map(items.map(([k, r, v]) => [k, { k, r, v }]))
	for (const event of events.filter(({ y, k }) => y !== "D" && k !== "fin")) {
		const old = last.get(event.k), next = parse(event.v)
		last.set(event.k, event)
		if (!old)
			continue
		const before = parse(old.v)
		const want = before.transitions + (next.holder && next.holder !== before.holder ? 1 : 0)
		if (next.transitions !== want)
			report("lease transitions", `${event.k}: ${old.v}, then ${event.v}`, [old, event])
	}
}

// A holder is sure of its lease from the answer that gave it until RENEW_US after it sent the last renewal that succeeded.
export function tenures(ops) {
	const found = []
	const writes = ops.filter((o) => (o.f === "cas" || o.f === "create") && o.o < 300)
	for (const op of writes.filter((o) => o.o >= 200 && parse(o.v).holder === o.p).sort((p, q) => p.b - q.b)) {
		const { transitions: number } = parse(op.v)
		const own = found.findLast((t) => t.k === op.k && t.holder === op.p)
		if (own && own.number === number)
			own.until = Math.max(own.until, op.a + RENEW_US)
		else
			found.push({ k: op.k, holder: op.p, number, from: op.b, until: op.a + RENEW_US, op })
	}
	// A holder that gives its lease back is no longer sure of it from the request on.
	for (const op of writes.filter((o) => !parse(o.v).holder)) {
		const own = found.findLast((t) => t.k === op.k && t.holder === op.p && t.from <= op.a)
		if (own)
			own.until = Math.min(own.until, op.a)
	}
	return found
}

function overlaps(ops, report) {
	const all = tenures(ops).sort((p, q) => p.from - q.from)
	const last = new Map()
	for (const tenure of all) {
		const old = last.get(tenure.k)
		if (old && old.holder !== tenure.holder && tenure.from < old.until)
			report("two lease holders", `${tenure.k}: ${old.holder} and ${tenure.holder} at once`, [old.op, tenure.op])
		if (!old || tenure.until > old.until)
			last.set(tenure.k, tenure)
	}
}

export function checkLeases(ops, seen, report) {
	overlaps(ops, report)
	seen.forEach((part) => transitions(part, report))
}

// At no version are there more objects than the quota allows.
export function checkQuota(collection, part, report) {
	let told = false
	replay(part, (there, event) => {
		const count = [...there.keys()].filter((k) => k !== "fin").length
		if (count > collection.limit && !told) {
			told = true
			report("quota exceeded", `${count} objects where ${collection.limit} are allowed`, [event])
		}
	})
}

// At no version do two objects hold the same thing; `held` says what an object holds.
export function checkExclusive(what, held, { items, events }, report) {
	const holders = new Map(), holds = new Map()
	for (const event of [...items.map(([k, r, v]) => ({ k, r, v })), ...events]) {
		const before = holds.get(event.k), after = event.y === "D" ? undefined : held(event) || undefined
		if (before !== after) {
			holders.get(before)?.delete(event.k)
			holds.set(event.k, after)
		}
		if (after === undefined || before === after)
			continue
		if (!holders.has(after))
			holders.set(after, new Map())
		const those = holders.get(after)
		those.set(event.k, event)
		if (those.size > 1)
			report(`${what} held twice`, `${after} is held by ${[...those.keys()].join(" and ")}`, [...those.values()])
	}
}
