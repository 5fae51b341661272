// The workloads: what a client does to the cluster in one epoch. Every request with an outcome, or with an unknown one, is recorded.
import { now, pause } from "./connection.mjs"
import { allocation, brief, kinds } from "./kinds.mjs"

const MANAGER = "consistency"
const REGISTER_US = 6e6 // life of a register or counter
const NAME_US = 3e6 // and of a name that is created and deleted
const LEASE_US = 2e6
export const RENEW_US = 1.2e6 // a holder that could not renew for this long stops being the holder

// Requests of each operation: [method, path after the collection, body, content type].
const requests = {
	get: (kind, { k }) => ["GET", `/${k}`],
	create: (kind, { k, v }) => ["POST", "", kinds[kind].make(k, v)],
	put: (kind, { k, v }) => ["PUT", `/${k}`, kinds[kind].make(k, v)],
	cas: (kind, { k, v, e }) => ["PUT", `/${k}`, kinds[kind].make(k, v, { resourceVersion: String(e) })],
	jpatch: (kind, { k, v, e }) => ["PATCH", `/${k}`, [
		{ op: "test", path: "/data/v", value: e }, { op: "replace", path: "/data/v", value: v }], "patch"],
	apply: (kind, { k, v }) => ["PATCH", `/${k}?fieldManager=${MANAGER}&force=true`, kinds[kind].make(k, v), "apply"],
	"apply-cas": (kind, { k, v, e }) => ["PATCH", `/${k}?fieldManager=${MANAGER}&force=true`,
		kinds[kind].make(k, v, { resourceVersion: String(e) }), "apply"],
	allocate: (kind, { k, v }) => ["PATCH", `/${k}/status`, allocation(v), "merge"],
	delete: (kind, { k, e }) => ["DELETE", `/${k}`, e && { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid: e } }],
}

// Operations that the model treats as another one.
const modelled = { "apply-cas": "cas", allocate: "set" }

// One client: a connection, a place to record to, and a source of chance.
export class Actor {
	constructor(id, connection, dice, record, remark) {
		Object.assign(this, { id, connection, dice, record, remark, made: 0 })
	}

	// A value that nobody else writes.
	fresh() {
		return `${this.id}.${++this.made}`
	}

	// Does one operation on an object; resolves to what the history has of it.
	async act(collection, f, op) {
		const [method, path, body, type] = requests[f](collection.kind, op)
		const answer = await this.connection.request(method, collection.path + path, { body, type })
		return this.enter(collection, f, op, answer)
	}

	enter(collection, f, op, answer) {
		const { a, b, s, code, body, sent } = answer
		const line = { c: collection.id, p: this.id, s, f: modelled[f] ?? f, ...op, a, b, o: code }
		if (code !== 200 && code !== 201)
			this.remark(f, code, body?.message ?? answer.error ?? "")
		if (!sent || code === 429)
			return { ...line, o: -1 } // it never came to be
		if (code === 0 || code >= 500)
			return f === "get" ? { ...line, o: 0 } : this.record({ ...line, o: 0, b: null })
		if (code === 200 || code === 201)
			this.read(collection, line, body)
		return this.record(line)
	}

	read(collection, line, body) {
		if (line.f === "delete") {
			line.u = body.metadata?.uid ?? body.details?.uid
			return
		}
		const { r, u, v, i } = brief(collection.kind, body)
		Object.assign(line, { r, u, x: v })
		if (i)
			line.i = i
	}

	// Lists in one of the ways there are, and records what was seen.
	async list(collection, mode, version) {
		const query = {
			latest: "", page: "?limit=7", cached: "?resourceVersion=0", exact: `?resourceVersion=${version}&resourceVersionMatch=Exact`,
			newer: `?resourceVersion=${version}&resourceVersionMatch=NotOlderThan`,
		}[mode]
		const line = { c: collection.id, p: this.id, f: "list", mode, e: version, items: [] }
		for (let page = query; page !== undefined;) {
			const answer = await this.connection.request("GET", collection.path + page)
			line.a ??= answer.a
			line.b = answer.b
			if (answer.code !== 200) {
				this.remark(`list ${mode}`, answer.code, answer.body?.message ?? answer.error ?? "")
				return undefined
			}
			const { metadata, items } = answer.body
			line.r ??= Number(metadata.resourceVersion)
			if (line.r !== Number(metadata.resourceVersion))
				line.other = Number(metadata.resourceVersion)
			line.items.push(...items.map((item) => brief(collection.kind, item)).map(({ k, r, v }) => [k, r, v]))
			page = metadata.continue ? `?limit=7&continue=${encodeURIComponent(metadata.continue)}` : undefined
			if (page && this.dice.below(2) === 0)
				this.connection.move()
		}
		return this.record(line)
	}
}

// When nothing was reached there is no point in hurry.
async function breath(op, ms = 0) {
	await pause(op === undefined || op.o === -1 ? 50 : op.o === 0 ? 20 : ms)
}

const round = (plan, life) => Math.floor((now() - plan.start) / life)

// Reads, writes and compare-and-sets in every way the API has, on few objects.
async function registers(actor, plan, over) {
	const collection = plan.collections.main, known = new Map()
	const way = { get: 35, cas: 20, put: 10, jpatch: 12, apply: 12, create: 6, delete: 5 }
	const all = Object.entries(way).flatMap(([f, weight]) => Array(weight).fill(f))
	while (!over()) {
		const k = `r${actor.dice.below(4)}-${round(plan, REGISTER_US)}`
		let f = actor.dice.one(all)
		const last = known.get(k)
		if (!last || last.o === 404)
			f = actor.dice.one(["get", "create", "apply", "get"])
		const op = { k }
		if (f !== "get" && f !== "delete")
			op.v = actor.fresh()
		if (f === "cas" || f === "jpatch")
			op.e = f === "cas" ? last.r : last.x
		if (f === "delete" && actor.dice.below(2))
			op.e = last.u
		const done = await actor.act(collection, f, op)
		if (done.x !== undefined || (done.o === 404 && f === "get"))
			known.set(k, done)
		else if (f === "delete")
			known.delete(k)
		await breath(done, actor.dice.below(12))
	}
}

// Counters: every client writes the same bytes for the same step.
async function counters(actor, plan, over, n) {
	const collection = plan.collections.main, which = n % 4
	const ways = ["cas", "jpatch", "apply-cas", "cas"]
	while (!over()) {
		const k = `n${which}-${round(plan, REGISTER_US)}`
		let seen = await actor.act(collection, "get", { k })
		if (seen.o === 404)
			seen = await actor.act(collection, "create", { k, v: "0" })
		while (seen.x !== undefined && !over() && k === `n${which}-${round(plan, REGISTER_US)}`) {
			const op = { k, v: String(Number(seen.x) + 1), e: ways[which] === "jpatch" ? seen.x : seen.r }
			const done = await actor.act(collection, ways[which], op)
			seen = done.x !== undefined ? done : await actor.act(collection, "get", { k })
		}
		await breath(seen, 1)
	}
}

// Names that everybody creates and deletes.
async function names(actor, plan, over) {
	const collection = plan.collections.main
	let uid
	while (!over()) {
		const k = `x${actor.dice.below(2)}-${round(plan, NAME_US)}`
		const f = actor.dice.one(["create", "create", "create", "delete", "delete", "delete", "get"])
		const op = f === "create" ? { k, v: actor.fresh() } : { k }
		if (f === "delete" && uid && actor.dice.below(4) === 0)
			op.e = uid
		const done = await actor.act(collection, f, op)
		uid = done.u ?? uid
		await breath(done, actor.dice.below(8))
	}
}

async function lists(actor, plan, over) {
	const collection = plan.collections.main
	let last
	while (!over()) {
		const mode = last ? actor.dice.one(["latest", "latest", "page", "page", "exact", "exact", "newer", "cached"]) : "latest"
		const version = last && (mode === "exact" ? last - actor.dice.below(Math.min(200, last - plan.version + 1)) : last)
		const done = await actor.list(collection, mode, version)
		last = done && (mode === "latest" || mode === "page") ? done.r : last
		await breath(done ?? { o: -1 }, 50 + actor.dice.below(100))
		if (actor.dice.below(4) === 0)
			actor.connection.move()
	}
}

// Leader election as client-go does it. Now and then a holder stops renewing, or gives the lease back.
async function leases(actor, plan, over, n) {
	const collection = plan.collections.lease, k = `l${n % 2}`, me = actor.id
	let observed = { r: 0, at: 0 }, silent = 0
	while (!over()) {
		await pause(150 + actor.dice.below(200))
		if (now() < silent)
			continue
		const seen = await actor.act(collection, "get", { k })
		if (seen.o === 404)
			await actor.act(collection, "create", { k, v: `${me}|0|${actor.fresh()}` })
		if (seen.x === undefined)
			continue
		if (seen.r !== observed.r)
			observed = { r: seen.r, at: now() }
		const [holder, transitions] = seen.x.split("|")
		if (holder && holder !== me && now() < observed.at + LEASE_US)
			continue
		const next = Number(transitions) + (holder === me ? 0 : 1)
		const leave = holder === me && actor.dice.below(20) === 0
		await actor.act(collection, "cas", { k, v: `${leave ? "" : me}|${next}|${actor.fresh()}`, e: seen.r })
		if (leave || actor.dice.below(15) === 0)
			silent = now() + LEASE_US * 1.5
	}
}

// More creates than a quota allows.
async function quota(actor, plan, over) {
	const spaces = Object.values(plan.collections).filter(({ limit }) => limit)
	while (!over()) {
		const collection = spaces[Math.min(spaces.length - 1, Math.floor((now() - plan.start) / plan.length * spaces.length))]
		const done = await actor.act(collection, "create", { k: `q${actor.id}-${++actor.made}`, v: "q" })
		await breath(done, done.o === 403 ? 500 : 50 + actor.dice.below(150))
	}
}

// Services that all want the same few node ports.
async function ports(actor, plan, over) {
	const collection = plan.collections.port
	while (!over()) {
		const k = `s${actor.id}-${++actor.made}`, v = String(actor.dice.one(plan.ports))
		const done = await actor.act(collection, "create", { k, v })
		await breath(done, 5 + actor.dice.below(40))
		if (done.o === 201 || done.o === 0)
			await breath(await actor.act(collection, "delete", { k }))
	}
}

// Claims that all want the same few devices: each client has its own claim, gets the device, and lets it go.
async function devices(actor, plan, over) {
	const collection = plan.collections.claim
	for (let there = false; !over();) {
		const k = `c${actor.id}`
		if (!there) {
			const made = await actor.act(collection, "create", { k, v: "" })
			there = made.o === 201 || made.o === 409
			await breath(made)
			continue
		}
		const device = actor.dice.one(plan.devices)
		const done = await actor.act(collection, "allocate", { k, v: device })
		await breath(done, done.o === 200 ? actor.dice.below(20) : 30 + actor.dice.below(60))
		if (done.o === 200 || done.o === 0)
			await breath(await actor.act(collection, "allocate", { k, v: "" }), actor.dice.below(20))
	}
}

// Name: [what a client does, how many of 64 clients do it].
export const workloads = {
	registers: [registers, 10],
	counters: [counters, 12],
	names: [names, 9],
	lists: [lists, 3],
	leases: [leases, 6],
	quota: [quota, 4],
	ports: [ports, 4],
	devices: [devices, 16],
}
