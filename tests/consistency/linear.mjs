// Whether the operations on one object can be put in an order that explains every answer and keeps real time: the search of Wing and
// Gong with Lowe's memory of configurations. Resource versions are only names of versions here; their order is a hint for the search.
//
// An operation: { f, a, b, o, v, e, u, r, x }
//	f  get, create, put, set (a put that may change nothing), cas, jpatch, apply, delete
//	a, b  when it was called and when it returned; b is Infinity when nobody knows its outcome
//	o  the answer's code, 0 without one
//	v  value that it writes; e: what it expects (cas: the version, jpatch: the value, delete: the uid)
//	r, u, x  version, uid and value in the answer
// The object's state: null if it does not exist, else { u, r, v }; r and u are null while no reply has contained them.

function bound(state, op) {
	if (!state || state.v !== op.x || (state.r !== null && state.r !== op.r) || (state.u !== null && state.u !== op.u))
		return undefined
	return state.r !== null && state.u !== null ? state : { u: op.u, r: op.r, v: op.x }
}

// A rejection restricts the possible states and changes nothing.
const refusals = {
	404: (op, s) => s === null,
	409: (op, s) => s !== null && (op.f === "create" || (op.f === "delete" ? s.u === null || s.u !== op.e : s.r === null || s.r !== op.e)),
	422: (op, s) => s !== null && s.v !== op.e,
}

const accepts = {
	create: (op, s) => s === null,
	put: (op, s) => s !== null,
	set: (op, s) => s !== null,
	cas: (op, s) => s !== null && (s.r === null || s.r === op.e),
	jpatch: (op, s) => s !== null && s.v === op.e,
	delete: (op, s) => s !== null && (op.e === undefined || s.u === null || s.u === op.e) && (!op.u || s.u === null || s.u === op.u),
	apply: (op, s) => op.o === 0 || (op.o === 201) === (s === null),
}

// The state after an operation, or undefined where it cannot have happened. `versionOf` finds the version of a value that was
// written by an operation without an answer.
export function step(op, state, versionOf) {
	if (op.f === "get")
		return op.o === 404 ? (state === null ? state : undefined) : bound(state, op)
	if (op.o >= 400)
		return refusals[op.o](op, state) ? state : undefined
	if (!accepts[op.f](op, state))
		return undefined
	if (op.f === "delete")
		return null
	if (op.o === 0) {
		const found = versionOf(op.v)
		const uid = state?.u ?? found?.u ?? null
		if (found && state && state.u !== null && found.u !== state.u)
			return { u: uid, r: null, v: op.v }
		return { u: uid, r: found?.r ?? null, v: op.v }
	}
	if (op.f === "set" && state.v === op.v && (state.r === null || state.r === op.r))
		return state
	if (state && (state.r === op.r || (state.u !== null && state.u !== op.u)))
		return undefined
	return { u: op.u, r: op.r, v: op.v }
}

const nameOf = (s) => (s ? `${s.u} ${s.r} ${s.v}` : "-")

class Search {
	constructor(ops, versionOf, budget) {
		this.ops = ops.filter((op) => op.b !== Infinity).sort((p, q) => p.a - q.a)
		this.optional = ops.filter((op) => op.b === Infinity).sort((p, q) => p.a - q.a)
		this.done = new Uint8Array(this.ops.length)
		this.used = new Uint8Array(this.optional.length)
		Object.assign(this, { versionOf, budget, left: this.ops.length, seen: new Set(), deepest: { left: Infinity } })
	}

	// The operations that can be next: those called before any other of the rest has returned.
	open(first) {
		const found = []
		let end = Infinity
		for (let i = first; i < this.ops.length && this.ops[i].a <= end; i++) {
			if (!this.done[i]) {
				found.push(i)
				end = Math.min(end, this.ops[i].b)
			}
		}
		return { end, found: found.filter((i) => this.ops[i].a <= end) }
	}

	// An operation that changes nothing and fits the state now can be placed here without a search.
	absorb(first, state) {
		const taken = []
		for (let more = true; more;) {
			more = false
			for (const i of this.open(first).found) {
				if (step(this.ops[i], state, this.versionOf) === state) {
					this.done[i] = 1
					taken.push(i)
					more = true
				}
			}
		}
		this.left -= taken.length
		return taken
	}

	key(first, state) {
		let text = `${first}:`
		for (let i = first; i < this.ops.length && i < first + 4096; i++) {
			if (this.done[i])
				text += `${i - first},`
			else if (this.ops[i].a > this.horizon)
				break
		}
		return `${text}/${this.used.join("")}/${nameOf(state)}`
	}

	*choices(open) {
		const writes = open.found.map((i) => this.ops[i]).map((op, n) => ({ op, i: open.found[n] }))
		writes.sort((p, q) => (p.op.r ?? Infinity) - (q.op.r ?? Infinity))
		for (const { op, i } of writes)
			yield { op, mark: this.done, i, cost: 1 }
		for (const [i, op] of this.optional.entries()) {
			// Of equal ones the first called is as good as any.
			const twin = this.optional.findIndex((o, n) => n < i && !this.used[n] && o.f === op.f && o.v === op.v && o.e === op.e)
			if (!this.used[i] && op.a <= open.end && twin < 0)
				yield { op, mark: this.used, i, cost: 0 }
		}
	}

	run(first, state) {
		const taken = this.absorb(first, state)
		while (this.done[first])
			first++
		if (this.left === 0 || this.descend(first, state))
			return true
		for (const i of taken)
			this.done[i] = 0
		this.left += taken.length
		return false
	}

	descend(first, state) {
		const open = this.open(first)
		this.horizon = open.end
		const key = this.key(first, state)
		if (this.seen.has(key))
			return false
		this.seen.add(key)
		if (--this.budget < 0)
			throw new RangeError("budget")
		if (this.left < this.deepest.left)
			this.deepest = { left: this.left, state, open: open.found.map((i) => this.ops[i]), end: open.end }
		for (const { op, mark, i, cost } of this.choices(open)) {
			const next = step(op, state, this.versionOf)
			if (next === undefined || next === state)
				continue
			mark[i] = 1
			this.left -= cost
			if (this.run(first, next))
				return true
			mark[i] = 0
			this.left += cost
		}
		return false
	}
}

// Returns { ok } with true, false or, when the search took too long, undefined; and where it got stuck.
export function linearizable(ops, versionOf = () => undefined, budget = 200000) {
	const search = new Search(ops, versionOf, budget)
	try {
		const ok = search.run(0, null)
		return { ok, stuck: ok ? undefined : search.deepest }
	} catch (e) {
		if (!(e instanceof RangeError))
			throw e
		return { ok: undefined, stuck: search.deepest }
	}
}
