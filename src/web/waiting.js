// waiting - pods that want devices and do not run yet, each with what it waits for and why: the scheduler's words, taken apart, what
// explain-fit says of devices and nodes, and the command for it. The page itself decides nothing about what would fit.
import { explain } from "./api.js"
import { command } from "./copy.js"
import { ago, count, el, keepFocus } from "./dom.js"
import { driversOf, kube, linked, splitMessage } from "./explain.js"
import { Explanations } from "./explanations.js"
import { exactly, termsOf } from "./filter.js"
import { FitView } from "./fit.js"

// More than this nobody reads.
const MOST = 200, DEVICES_MOST = 8
// So many are explained without being asked.
const EXPLAINED = 3

const link = (href, text, q, more) => el("a", { href: href(q, { view: "map", ...more }), text, "data-focus": `${text} ${q}` })

function resourceWant(w, href) {
	return el("li", {}, link(href, w.name, exactly("driver", w.name)), ` × ${w.amount}`)
}

function reason({ count: n, text }, words) {
	return el("li", {}, n !== undefined && el("span", { class: "reason-count", text: `${count(n, "node")}:` }), " ", words(text))
}

export class Waiting {
	// href(q, more) is the address of a search.
	constructor(root, href) {
		Object.assign(this, { root, href, model: undefined, terms: [], visible: false, stale: true, explains: undefined, shown: [], frame: 0 })
		this.explanations = new Explanations({
			ask: (what) => explain({ ...what, ...this.explains }), version: (w) => `${this.model.fitVersion} ${w.version}`,
			changed: () => {
				this.stale = true
				this.frame ||= requestAnimationFrame(() => {
					this.frame = 0
					this.setVisible(this.visible)
				})
			},
		})
	}

	// Another cluster, or another user. `explains` is what the server's explanations need beside the pod; undefined: it has none.
	begin(explains) {
		this.explains = explains
		this.explanations.forget()
		this.shown = []
	}

	setVisible(visible) {
		this.visible = visible
		if (visible && this.stale)
			this.render()
	}

	// A pod must have all words of the search, whatever their field.
	setFilter(q) {
		this.terms = termsOf(q)
		this.stale = true
		this.setVisible(this.visible)
	}

	update(changes) {
		this.stale ||= changes.waiting || changes.pools.size > 0 || this.shown.some(([w, outdated]) => outdated !== !!this.explanations.of(w)?.outdated)
		this.setVisible(this.visible)
	}

	matches(w) {
		const text = `${w.key} ${w.message} ${w.reason} ${w.wants.map((x) => `${x.name} ${x.claim ?? ""} ${x.text}`).join(" ")}`.toLowerCase()
		return this.terms.every(({ word }) => text.includes(word))
	}

	render() {
		this.stale = false
		const all = [...this.model.waiting.values()].filter((w) => this.matches(w)).sort((a, b) => a.since - b.since)
		this.explanations.keep(this.model.waiting)
		if (this.explains)
			all.filter((w) => this.explainable(w)).slice(0, EXPLAINED).filter((w) => !this.explanations.of(w)).forEach((w) => this.explanations.want(w))
		this.shown = all.filter((w) => this.explanations.of(w)).map((w) => [w, this.explanations.of(w).outdated])
		const nodes = all.slice(0, MOST).map((w) => this.card(w))
		if (all.length > MOST)
			nodes.push(el("p", { class: "quiet", text: `and ${all.length - MOST} more` }))
		if (!this.explains && all.some((w) => this.explainable(w)))
			nodes.push(el("p", { class: "quiet", text: "Which devices do not fit, and why, is what the commands say: this server has no explanations for the page. The page of devplane ui has them." }))
		if (!all.length)
			nodes.push(el("p", { class: "nothing", text: this.model.waiting.size ? "No waiting pod matches." : "No pod waits for a device." }))
		keepFocus(this.root, () => this.root.replaceChildren(...nodes))
	}

	// Its devices are what it waits for, and nothing else keeps a scheduler from looking.
	explainable({ node, wants }) {
		return !node && wants.some((w) => w.kind === "claim")
	}

	card(w) {
		return el("article", { class: "wait", "aria-label": `pod ${w.key}` },
			el("header", {}, el("h2", {}, el("span", { class: "quiet", text: `${w.namespace}/` }), w.name),
				w.reason && el("span", { class: "reason", text: w.reason }), el("span", { class: "quiet age" }, "for ", ago(w.since))),
			this.why(w), this.explains && this.explainable(w) && this.fit(w),
			el("ul", { class: "wants" }, w.wants.map((x) => (x.kind === "resource" ? resourceWant(x, this.href) : this.claimWant(x, w.namespace)))),
			el("div", { class: "commands" }, this.commands(w).map(command)))
	}

	fit(w) {
		const view = new FitView({ href: this.href, words: (text) => this.words(text, w.namespace), devices: () => this.model.devices })
		return view.part(this.explanations.of(w), () => this.explanations.want(w), w.key)
	}

	why(w) {
		const parts = w.node ? undefined : splitMessage(w.message), words = (text) => this.words(text, w.namespace)
		if (!parts)
			return el("p", { class: "why" }, words(w.message))
		return el("div", { class: "why" },
			el("p", { text: `The scheduler says that it fits on ${parts.fit} of ${count(parts.nodes, "node")}:` }),
			el("ul", { class: "reasons" }, parts.reasons.map((r) => reason(r, words))),
			parts.preemption && el("p", { class: "quiet" }, "Preemption: ", words(parts.preemption)))
	}

	// A text in which the names of nodes, pools, devices and claims lead to them.
	words(text, namespace) {
		const { objects, devices, poolNames } = this.model
		const known = (name) => {
			if (objects.nodes.has(name))
				return exactly("node", name)
			if (poolNames.has(name))
				return exactly("pool", name)
			if (devices.has(name))
				return name
			if (objects.claims.has(name) || objects.claims.has(`${namespace}/${name}`))
				return exactly("claim", name.slice(name.lastIndexOf("/") + 1))
			return undefined
		}
		return linked(text, known).map((part) => (part.q ? link(this.href, part.text, part.q, devices.has(part.text) ? { device: part.text } : {}) : part))
	}

	claimWant(w, namespace) {
		const held = w.state.startsWith("allocated"), name = w.claim ?? w.name
		return el("li", {},
			el("span", { class: "quiet", text: "claim " }),
			held ? link(this.href, name, `${exactly("ns", namespace)} ${exactly("claim", name)}`) : el("span", { class: "mono", text: name }),
			w.text && el("span", { text: ` ${w.text}` }),
			w.state && el("span", { class: `claim-state ${held ? "yes" : "no"}`, text: w.state }),
			this.devicesOf(w), !held && this.candidates(w))
	}

	// Devices that the claim has.
	devicesOf({ devices }) {
		if (!devices.length)
			return undefined
		const one = ({ driver, pool, device }) => [
			link(this.href, device, exactly("device", device), { device: `${driver}/${pool}/${device}` }), " in pool ", link(this.href, pool, exactly("pool", pool)),
		]
		const more = devices.length - DEVICES_MOST
		return el("ul", { class: "where" }, devices.slice(0, DEVICES_MOST).map((d) => el("li", {}, one(d))), more > 0 && el("li", { class: "quiet", text: `and ${more} more` }))
	}

	// Where a claim that has none may look: the drivers that its classes name, and those of their pools that are in trouble.
	candidates({ classes }) {
		const drivers = [...new Set(classes.flatMap((name) => driversOf(this.model.objects.classes.get(name))))]
		if (!drivers.length)
			return undefined
		const troubled = this.model.troubledPools().filter((p) => drivers.includes(p.driver))
		return el("ul", { class: "where" },
			drivers.map((driver) => el("li", {}, "devices of ", link(this.href, driver, exactly("driver", driver)))),
			troubled.map((p) => el("li", { class: "trouble" }, "pool ", link(this.href, p.name, exactly("pool", p.name)), `: ${p.trouble.join("; ")}`)))
	}

	commands({ namespace, name, node, wants }) {
		if (node)
			return [kube(this.model, "kubectl", "describe", "pod", name, "-n", namespace)]
		const all = wants.some((w) => w.kind === "claim") ? [kube(this.model, "devplane", "explain-fit", `pod/${name}`, "-n", namespace)] : [kube(this.model, "kubectl", "describe", "pod", name, "-n", namespace)]
		if (wants.some((w) => w.kind === "claim" && !w.claim))
			all.push(kube(this.model, "kubectl", "get", "events", "-n", namespace, "--field-selector", `involvedObject.name=${name}`))
		return all
	}
}
