// cluster - keeps the model up to date with the server: which resources are followed, how well that goes, and what the
// user may not see.
import { Follower, Turns, request } from "./api.js"
import { count } from "./dom.js"

const dra = "/apis/resource.k8s.io/v1", own = "/apis/devplane.dev/v1alpha1"
// A status may be behind its slice for a moment; after this time somebody should do something.
const PUBLISHED_MS = 2000
const events = (reason) => ({ resource: "events", id: `events ${reason}`, path: "/api/v1", plural: "events", namespaced: true, selector: `reason=${reason}`, turn: true })

// Discovery again after this time: sooner if slices have no status and no objects have it either.
const DISCOVER_MS = { usual: 30_000, lacking: 3000 }

// `turn`: it changes rarely, or is of the past, so that it can wait for its turn where connections are few.
const followed = [
	{ resource: "slices", path: dra, plural: "resourceslices" },
	{ resource: "claims", path: dra, plural: "resourceclaims", namespaced: true },
	{ resource: "pods", path: "/api/v1", plural: "pods", namespaced: true },
	{ resource: "nodes", path: "/api/v1", plural: "nodes", turn: true },
	{ resource: "rules", path: dra, plural: "devicetaintrules", turn: true },
	{ resource: "classes", path: dra, plural: "deviceclasses", turn: true },
	events("DeviceUnhealthy"), events("DeviceHealthUnknown"), events("DeviceHealthy"),
]

// Objects that devplane's controller makes, if it does.
const statuses = { resource: "statuses", path: own, plural: "resourceslicestatuses" }
const histories = { resource: "histories", path: own, plural: "devicehistories", turn: true }

// The names of the resources that a version of a group has.
async function served(path) {
	return new Set((await (await request("GET", path)).json()).resources?.map((r) => r.name))
}

// The parts that the page lacks if it may not list a resource.
const lacking = {
	slices: ["resourceslices", "devices cannot be shown"],
	statuses: ["resourceslicestatuses", "states and health of devices are not known"],
	claims: ["resourceclaims", "pods of holders, network data and conditions are not shown"],
	pods: ["pods", "waiting pods and devices of device plugins are not shown"],
	nodes: ["nodes", "whether nodes are ready is not shown, nor free devices of device plugins"],
	rules: ["devicetaintrules", "taints by rule are not listed"],
	classes: ["deviceclasses", "waiting claims do not lead to the devices of their class"],
	histories: ["devicehistories", "the changes that the controller keeps of devices are not shown"],
	events: ["events", "the past of a device's health is not shown"],
}

export class Cluster {
	// `base` goes before the path of each request; changed() is called when the model has news, state() when the connection has; session() says whether it goes on.
	constructor(model, { base = "", namespace, changed, state, session }) {
		Object.assign(this, { model, base, namespace, changed, state, session })
		this.states = new Map()
		this.turns = new Turns()
		this.paused = false
		this.broken = 0
		this.followers = followed.map((f) => this.follow(f))
		this.discovered = false
		this.discover()
	}

	// Follows what there is only on some clusters. A server that cannot be asked is asked again.
	async discover() {
		let wait = DISCOVER_MS.lacking
		try {
			const [slices, all] = [await served(this.base + dra), await this.ownResources()]
			const lacking = !slices.has("resourceslices/status")
			for (const f of [...lacking ? [statuses] : [], histories])
				if (all.has(f.plural) && !this.states.has(f.resource) && !this.stopped) {
					this.states.set(f.resource, "loading")
					this.followers.push(this.follow(f))
					this.pause(this.paused)
				}
			wait = lacking && !this.states.has("statuses") ? DISCOVER_MS.lacking : DISCOVER_MS.usual
			this.discovered = true
		} catch (error) {
			this.discovered ||= error.status !== undefined
		}
		if (this.stopped)
			return
		this.changed()
		this.timer = setTimeout(() => this.discover(), wait)
	}

	// A group that is not served is not asked for.
	async ownResources() {
		const { groups = [] } = await (await request("GET", `${this.base}/apis`)).json()
		return groups.some((g) => g.name === "devplane.dev" && g.versions.some((v) => v.version === "v1alpha1")) ? served(this.base + own) : new Set()
	}

	follow({ resource, id = resource, path, plural, namespaced, selector, turn }) {
		const { model } = this
		const scope = namespaced && this.namespace ? `/namespaces/${encodeURIComponent(this.namespace)}` : ""
		return new Follower({
			path: `${this.base}${path}${scope}/${plural}`, selector, slot: resource, turns: turn && this.turns,
			replace: (items) => {
				// Events come by several watches; those of the past stay true.
				if (resource === "events")
					items.forEach((e) => model.apply(resource, e))
				else
					model.replace(resource, items)
				this.changed()
			},
			apply: (object, gone) => {
				model.apply(resource, object, gone)
				this.changed()
			},
			state: (now) => this.note(resource, id, now),
			session: () => this.session(),
		}).start()
	}

	note(resource, id, now) {
		if (this.states.get(id) === now)
			return
		this.states.set(id, now)
		if (now !== "broken" && now !== "loading")
			this.model.setAccess(resource, now)
		const broken = [...this.states.values()].includes("broken")
		if (broken !== !!this.broken)
			this.broken = broken ? this.model.now() : 0
		this.changed()
		this.state()
	}

	// Whether the resources that the first picture needs are loaded.
	settled() {
		const needed = ["slices", "claims", "pods", ...this.states.has("statuses") ? ["statuses"] : []]
		return this.discovered && needed.every((r) => ["ok", "forbidden", "missing"].includes(this.states.get(r)))
	}

	// Since when something is not up to date; 0 when all is.
	staleSince() {
		return this.broken
	}

	// Sentences, and whether a namespace would help.
	notes() {
		const all = this.unpublished()
		for (const [resource, [plural, text]] of Object.entries(lacking)) {
			const access = this.model.access[resource]
			const where = this.namespace && followed.find((f) => f.resource === resource)?.namespaced ? ` in namespace ${this.namespace}` : ""
			if (access === "forbidden")
				all.push({ resource, plural, text: `You may not list ${plural}${where}: ${text}.` })
			else if (access === "missing" && !["rules", "statuses", "histories"].includes(resource))
				all.push({ resource, plural, text: `This server has no ${plural}: ${text}.` })
		}
		return all
	}

	unpublished() {
		const { counts, unpublishedSince } = this.model, number = counts.state.unpublished
		if (!number || this.model.now() - unpublishedSince < PUBLISHED_MS)
			return []
		const text = `The state of ${count(number, "device")} is not known: no controller publishes it. Start one (devplane controller), or look into its log.`
		return [{ resource: "slices", plural: "resourceslices", text }]
	}

	// A page that nobody sees needs no connection.
	pause(paused) {
		this.paused = paused
		this.followers.forEach((f) => f.pause(paused))
	}

	hurry() {
		this.followers.forEach((f) => f.hurry())
	}

	stop() {
		this.stopped = true
		clearTimeout(this.timer)
		this.followers.forEach((f) => f.stop())
	}
}
