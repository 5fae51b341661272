// waiting - pods that want devices and do not run yet, each with what it waits for and why.
import { ago, el } from "./dom.js"

// More than this nobody reads.
const MOST = 200

function want(w, namespace, href) {
	if (w.kind === "resource")
		return el("li", {}, el("span", { class: "mono", text: w.name }), ` × ${w.amount}`)
	const held = w.state.startsWith("allocated")
	const name = w.claim ?? w.name
	return el("li", {},
		el("span", { class: "quiet", text: "claim " }),
		held ? el("a", { href: href(`ns:${namespace} claim:${name}`, { view: "map" }), text: name }) : el("span", { class: "mono", text: name }),
		w.text && el("span", { text: ` ${w.text}` }),
		w.state && el("span", { class: `claim-state ${held ? "yes" : "no"}`, text: w.state }))
}

function card(w, href) {
	return el("article", { class: "wait", "aria-label": `pod ${w.key}` },
		el("header", {}, el("h3", {}, el("span", { class: "quiet", text: `${w.namespace}/` }), w.name),
			w.reason && el("span", { class: "reason", text: w.reason }), el("span", { class: "quiet age" }, "for ", ago(w.since))),
		el("p", { class: "why", text: w.message }),
		el("ul", { class: "wants" }, w.wants.map((x) => want(x, w.namespace, href))))
}

export class Waiting {
	// href(q, more) is the address of a search.
	constructor(root, href) {
		Object.assign(this, { root, href, model: undefined, words: [], visible: false, stale: true })
	}

	setVisible(visible) {
		this.visible = visible
		if (visible && this.stale)
			this.render()
	}

	// Only the plain words of the search apply here.
	setFilter(q) {
		this.words = q.toLowerCase().split(/\s+/).filter(Boolean).map((w) => w.replace(/^(ns|pod|claim):/, ""))
		this.stale = true
		this.setVisible(this.visible)
	}

	update(changes) {
		this.stale ||= changes.waiting
		this.setVisible(this.visible)
	}

	render() {
		this.stale = false
		const text = (w) => `${w.key} ${w.message} ${w.reason} ${w.wants.map((x) => `${x.name} ${x.claim ?? ""} ${x.text}`).join(" ")}`.toLowerCase()
		const all = [...this.model.waiting.values()].filter((w) => this.words.every((x) => text(w).includes(x))).sort((a, b) => a.since - b.since)
		const nodes = all.slice(0, MOST).map((w) => card(w, this.href))
		if (all.length > MOST)
			nodes.push(el("p", { class: "quiet", text: `and ${all.length - MOST} more` }))
		if (!all.length)
			nodes.push(el("p", { class: "nothing", text: this.model.waiting.size ? "No waiting pod matches." : "No pod waits for a device." }))
		this.root.replaceChildren(...nodes)
	}
}
