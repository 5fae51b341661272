// Hand-made histories: a server without faults, whose clients' operations, lists and watches are written down as the real ones are.
const KINDS = { main: "configmaps", lease: "leases", port: "services", claim: "resourceclaims", quota0: "configmaps" }

export class Story {
	constructor() {
		Object.assign(this, { time: 1000, version: 100, incarnation: 0, records: [], states: {} })
		this.plan = { epoch: 1, collections: {} }
		for (const [id, kind] of Object.entries(KINDS)) {
			this.states[id] = new Map()
			this.plan.collections[id] = { id, kind, version: this.version, items: [], ...(id === "quota0" ? { limit: 2 } : {}) }
		}
	}

	// An operation takes ten microseconds, and none is at the same time unless a control makes it so.
	enter(line) {
		const record = { p: "p0", s: 0, a: this.time, b: this.time + 10, ...line }
		this.time += 20
		this.records.push(record)
		return record
	}

	event(c, y, k, state) {
		for (const w of [`${c}/0`, `${c}/1`])
			this.records.push({ w, c, y, k, ...state, b: this.time })
	}

	// A write that succeeds. f: create, put, cas, jpatch, apply, set.
	write(c, f, k, v, more = {}) {
		const old = this.states[c].get(k)
		const state = { r: ++this.version, u: old?.u ?? `u${++this.incarnation}`, v, ...(more.i ? { i: more.i } : {}) }
		const e = f === "cas" ? old?.r : f === "jpatch" ? old?.v : undefined
		this.states[c].set(k, state)
		const record = this.enter({ c, f, k, v, e, o: old ? 200 : 201, r: state.r, u: state.u, x: v, ...more })
		this.event(c, old ? "M" : "A", k, state)
		return record
	}

	delete(c, k) {
		const old = this.states[c].get(k)
		this.states[c].delete(k)
		const record = this.enter({ c, f: "delete", k, o: 200, u: old.u })
		this.event(c, "D", k, { ...old, r: ++this.version })
		return record
	}

	get(c, k) {
		const state = this.states[c].get(k)
		return this.enter(state ? { c, f: "get", k, o: 200, r: state.r, u: state.u, x: state.v } : { c, f: "get", k, o: 404 })
	}

	list(c, mode = "latest", more = {}) {
		const items = [...this.states[c]].map(([k, { r, v }]) => [k, r, v])
		return this.enter({ c, f: "list", mode, r: this.version, items, ...more })
	}

	// The write after everything else, which is nobody's operation.
	last(c) {
		const state = { r: ++this.version, u: "fin", v: "" }
		this.states[c].set("fin", state)
		this.event(c, "A", "fin", state)
	}

	// The events that one watcher or all have of a version.
	events(version, w) {
		return this.records.filter((record) => record.w && record.r === version && (!w || record.w === w))
	}

	remove(records) {
		this.records = this.records.filter((record) => !records.includes(record))
	}
}

// A bit of everything, all of it right.
export function goodStory() {
	const s = new Story()
	s.get("main", "a")
	s.write("main", "create", "a", "v1")
	s.enter({ c: "main", f: "create", k: "a", v: "x1", o: 409 })
	s.write("main", "cas", "a", "v2")
	s.enter({ c: "main", f: "cas", k: "a", v: "x2", e: 101, o: 409 })
	s.write("main", "jpatch", "a", "v3")
	s.enter({ c: "main", f: "jpatch", k: "a", v: "x3", e: "v2", o: 422 })
	s.write("main", "apply", "a", "v4")
	s.get("main", "a")
	s.list("main")
	s.write("main", "create", "n0-0", "0")
	for (let n = 1; n <= 3; n++)
		s.write("main", "cas", "n0-0", String(n))
	s.write("main", "put", "a", "v5")
	s.list("main", "exact", { e: s.version })
	s.delete("main", "a")
	s.enter({ c: "main", f: "delete", k: "a", o: 404 })
	s.get("main", "a")
	s.write("main", "create", "a", "v6")
	s.write("lease", "create", "l0", "p0|0|1")
	s.write("lease", "cas", "l0", "p0|0|2")
	s.time += 3e6
	s.write("lease", "cas", "l0", "p1|1|3", { p: "p1" })
	s.write("port", "create", "s0", "30000", { i: "10.96.0.1" })
	s.delete("port", "s0")
	s.write("port", "create", "s1", "30000", { i: "10.96.0.1" })
	s.write("claim", "create", "c0", "")
	s.write("claim", "create", "c1", "")
	s.write("claim", "set", "c0", "e1/gpu-0")
	s.write("claim", "set", "c0", "")
	s.write("claim", "set", "c1", "e1/gpu-0")
	s.write("quota0", "create", "q0", "q")
	s.write("quota0", "create", "q1", "q")
	s.enter({ c: "quota0", f: "create", k: "q2", v: "q", o: 403 })
	for (const c of Object.keys(s.states))
		s.list(c, "latest", { final: true })
	for (const c of Object.keys(s.states))
		s.last(c)
	return s
}
