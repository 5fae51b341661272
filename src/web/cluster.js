// cluster - keeps the model up to date with the server: which resources are followed, how well that goes, and what the
// user may not see.
import { Follower } from "./api.js"
import { count } from "./dom.js"

const dra = "/apis/resource.k8s.io/v1"
// A status may be behind its slice for a moment; after this time somebody should do something.
const PUBLISHED_MS = 2000
const events = (reason) => ({ resource: "events", id: `events ${reason}`, path: "/api/v1", plural: "events", namespaced: true, selector: `reason=${reason}`, polled: true })

const followed = [
	{ resource: "slices", path: dra, plural: "resourceslices" },
	{ resource: "claims", path: dra, plural: "resourceclaims", namespaced: true },
	{ resource: "pods", path: "/api/v1", plural: "pods", namespaced: true },
	{ resource: "nodes", path: "/api/v1", plural: "nodes", polled: true },
	{ resource: "rules", path: dra, plural: "devicetaintrules", polled: true },
	events("DeviceUnhealthy"), events("DeviceHealthUnknown"), events("DeviceHealthy"),
]

// The parts that the page lacks if it may not list a resource.
const lacking = {
	slices: ["resourceslices", "devices cannot be shown"],
	claims: ["resourceclaims", "pods of holders, network data and conditions are not shown"],
	pods: ["pods", "waiting pods and devices of device plugins are not shown"],
	nodes: ["nodes", "whether nodes are ready is not shown, nor free devices of device plugins"],
	rules: ["devicetaintrules", "taints by rule are not listed"],
	events: ["events", "the past of a device's health is not shown"],
}

export class Cluster {
	// changed() is called when the model has news, state() when the connection has; session() says whether it goes on.
	constructor(model, { namespace, changed, state, session }) {
		Object.assign(this, { model, namespace, changed, state, session })
		this.states = new Map()
		this.broken = 0
		this.followers = followed.map((f) => this.follow(f))
	}

	follow({ resource, id = resource, path, plural, namespaced, selector, polled }) {
		const { model } = this
		const scope = namespaced && this.namespace ? `/namespaces/${encodeURIComponent(this.namespace)}` : ""
		return new Follower({
			path: `${path}${scope}/${plural}`, selector, polled,
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
		return ["slices", "claims", "pods"].every((r) => ["ok", "forbidden", "missing"].includes(this.states.get(r)))
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
			const where = this.namespace && followed.find((f) => f.resource === resource).namespaced ? ` in namespace ${this.namespace}` : ""
			if (access === "forbidden")
				all.push({ resource, plural, text: `You may not list ${plural}${where}: ${text}.` })
			else if (access === "missing" && resource !== "rules")
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

	hurry() {
		this.followers.forEach((f) => f.hurry())
	}

	stop() {
		this.followers.forEach((f) => f.stop())
	}
}
