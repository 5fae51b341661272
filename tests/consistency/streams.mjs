// Checks of collections: watches deliver every change once and in order, and a list equals what watches delivered up to its version.

const objects = (items) => new Map(items.map(([k, r, v]) => [k, { k, r, v }]))

// Each watcher's events in order, by watcher.
function byWatcher(events) {
	const found = new Map()
	for (const event of events) {
		if (!found.has(event.w))
			found.set(event.w, [])
		found.get(event.w).push(event)
	}
	return found
}

// The events of one watcher as stretches without a gap, each { from, to, items, events } with the items there at `from`. Reports what one stream alone shows to be wrong.
function follow(events, collection, report) {
	const start = collection.version
	const stretches = [{ from: start, to: start, items: collection.items, events: [] }]
	let there = objects(collection.items), last = start
	for (const event of events) {
		const stretch = stretches.at(-1)
		if (event.y === "open")
			continue
		if (event.y === "gap") {
			there = objects(event.items)
			last = event.r
			stretches.push({ from: last, to: last, items: event.items, events: [] })
			continue
		}
		if (event.y === "B" ? event.r < last : event.r <= last)
			report("watch out of order", `${event.w}: version ${event.r} after ${last}`, [stretch.events.at(-1), event])
		if (event.y !== "B") {
			if ((event.y === "A") === there.has(event.k))
				report("watch event of a wrong type", `${event.w}: ${event.y} of ${event.k}, which is ${there.has(event.k) ? "" : "not "}there`, [there.get(event.k), event])
			if (event.y === "D")
				there.delete(event.k)
			else
				there.set(event.k, event)
			stretch.events.push(event)
		}
		last = stretch.to = Math.max(last, event.r)
	}
	return stretches
}

// All events of all watchers by version; two watchers must not differ.
function union(watchers, report) {
	const all = new Map()
	for (const stretches of watchers.values()) {
		for (const event of stretches.flatMap((s) => s.events)) {
			const old = all.get(event.r)
			if (!old)
				all.set(event.r, event)
			else if (old.k !== event.k || old.y !== event.y || old.v !== event.v || old.u !== event.u)
				report("watchers differ", `at version ${event.r}: ${old.w} and ${event.w}`, [old, event])
		}
	}
	return [...all.values()].sort((p, q) => p.r - q.r)
}

function complete(watchers, all, report) {
	for (const [w, stretches] of watchers) {
		for (const { from, to, events } of stretches) {
			const seen = new Set(events.map(({ r }) => r))
			for (const event of all.filter(({ r }) => r > from && r <= to && !seen.has(r)))
				report("watch event missing", `${w} did not see version ${event.r} of ${event.k}`, [event])
		}
	}
}

// The stretches of all watchers merged into parts without a gap.
function parts(watchers, all) {
	const found = []
	for (const stretch of [...watchers.values()].flat().sort((p, q) => p.from - q.from)) {
		const last = found.at(-1)
		if (last && stretch.from <= last.to)
			last.to = Math.max(last.to, stretch.to)
		else
			found.push({ ...stretch })
	}
	for (const part of found)
		part.events = all.filter(({ r }) => r > part.from && r <= part.to)
	return found
}

// Every acknowledged write is an event.
function acknowledgedSeen(ops, seen, report) {
	const versions = new Map(seen.flatMap(({ events }) => events).map((event) => [event.r, event]))
	const gone = new Set([...versions.values()].filter(({ y }) => y === "D").map(({ u }) => u))
	for (const op of ops.filter((o) => o.f !== "get" && o.f !== "set" && o.o >= 200 && o.o < 300)) {
		if (op.f === "delete" && op.u && seen.length === 1 && !gone.has(op.u))
			report("acknowledged write not watched", `no watcher saw the deletion of ${op.k} (${op.u})`, [op])
		const event = versions.get(op.r)
		const due = seen.some(({ from, to }) => op.r > from && op.r <= to)
		if (op.f !== "delete" && due && (!event || event.k !== op.k || event.v !== op.v || event.y === "D"))
			report("acknowledged write not watched", `no watcher saw ${op.k} = ${op.v} at version ${op.r}`, [op, event])
	}
}

// Replays the events of a part; calls `look` after each with the objects that are there.
export function replay({ items, events }, look) {
	const there = objects(items)
	for (const event of events) {
		if (event.y === "D")
			there.delete(event.k)
		else
			there.set(event.k, event)
		look(there, event)
	}
}

function sameAsList(there, list) {
	const wrong = []
	const listed = new Map(list.items.map(([k, r, v]) => [k, { r, v }]))
	if (listed.size !== list.items.length)
		wrong.push("an object is listed twice")
	for (const [k, { r, v }] of listed) {
		const want = there.get(k)
		if (!want || want.r !== r || want.v !== v)
			wrong.push(`${k} is ${v} (${r}) in the list and ${want ? `${want.v} (${want.r})` : "absent"} by the watches`)
	}
	for (const [k, { r, v }] of there) {
		if (!listed.has(k))
			wrong.push(`${k} is absent in the list and ${v} (${r}) by the watches`)
	}
	return wrong
}

// A list shows the state at its version, if the watchers have seen in full how that came to be.
function snapshots({ from, to, items, events }, lists, report) {
	const due = lists.filter(({ r }) => r >= from && r <= to).sort((p, q) => p.r - q.r)
	const there = objects(items)
	let n = 0
	for (const list of due) {
		for (; n < events.length && events[n].r <= list.r; n++) {
			if (events[n].y === "D")
				there.delete(events[n].k)
			else
				there.set(events[n].k, events[n])
		}
		const wrong = sameAsList(there, list)
		if (wrong.length)
			report("list is no snapshot", `${list.mode} at version ${list.r}: ${wrong.slice(0, 3).join("; ")}`, [{ ...list, items: undefined }])
	}
}

function listVersions(lists, ops, report) {
	const returns = [...ops, ...lists].filter((o) => o.r !== undefined && o.b !== Infinity).sort((p, q) => p.b - q.b)
	let newest, n = 0
	for (const list of [...lists].sort((p, q) => p.a - q.a)) {
		for (; n < returns.length && returns[n].b < list.a; n++)
			newest = !newest || returns[n].r > newest.r ? returns[n] : newest
		const brief = { ...list, items: undefined }
		if (list.other !== undefined)
			report("pages of different versions", `${list.r} and ${list.other}`, [brief])
		if (list.mode === "exact" && list.r !== list.e)
			report("list of a wrong version", `wanted exactly ${list.e}, got ${list.r}`, [brief])
		if (list.mode === "newer" && list.r < list.e)
			report("list of a wrong version", `wanted ${list.e} or newer, got ${list.r}`, [brief])
		if ((list.mode === "latest" || list.mode === "page") && newest && list.r < newest.r)
			report("stale list", `version ${list.r} after ${newest.r} was answered`, [{ ...newest, items: undefined }, brief])
	}
}

// Checks one collection; returns what its watchers saw, in parts without a gap.
export function checkCollection(collection, ops, lists, events, report) {
	const watchers = new Map([...byWatcher(events)].map(([w, those]) => [w, follow(those, collection, report)]))
	const all = union(watchers, report)
	complete(watchers, all, report)
	listVersions(lists, ops, report)
	const seen = parts(watchers, all)
	acknowledgedSeen(ops, seen, report)
	for (const part of seen)
		snapshots(part, lists, report)
	return seen
}
