// fit - an explanation of explain-fit, as elements: on which nodes a pod's claims would get their devices, and for each request what rules
// the others out. The reasons are those of docs/cli.md.
import { ago, count, el } from "./dom.js"
import { exactly } from "./filter.js"

const GROUPS_MOST = 8, NODES_MOST = 12, DEVICES_MOST = 12, FITS_MOST = 12

const reasons = {
	InUse: "in use", ClassSelector: "selector of the class is false", RequestSelector: "selector of the request is false", SelectorError: "selector fails",
	OtherNode: "for other nodes", NodeGone: "of a node that does not exist", NodeUnreachable: "of a node that is unreachable", TooSmall: "too small", CountersExhausted: "counters are used up", Tainted: "tainted",
	Constraint: "ruled out by a constraint", AdminAccess: "held by the same claim", PoolIncomplete: "incomplete: slices are missing", PoolInvalid: "invalid: slices contradict each other",
}

const ofPool = (reason) => reason === "PoolIncomplete" || reason === "PoolInvalid"

// The first of a list, with a comma between them, and how many there are beside.
function some(list, most, show) {
	const parts = list.slice(0, most).flatMap((x, i) => (i ? [", ", show(x)] : [show(x)]))
	return list.length > most ? [...parts, ` and ${list.length - most} more`] : parts
}

// Options: href(q, more), the address of a search; words(text), the text with its names as links; devices, the model's.
export class FitView {
	constructor({ href, words, devices }) {
		Object.assign(this, { href, words, devices })
	}

	link(text, q, more) {
		return el("a", { href: this.href(q, { view: "map", ...more }), text, "data-focus": `fit ${text} ${q}` })
	}

	node(name) {
		return this.link(name, exactly("node", name))
	}

	explanation(answer) {
		const { fits = [], groups = [], notes = [], notConsidered, uncertain } = answer
		const others = groups.filter((g) => !g.fits)
		return [
			el("p", { class: "fit-answer" }, this.words(answer.answer), uncertain && " (not certain: see the note)"),
			fits.length > 0 && el("p", {}, "It fits on ", some(fits, FITS_MOST, (n) => this.node(n)), "."),
			el("ul", { class: "fit-groups" }, others.slice(0, GROUPS_MOST).map((g) => this.group(g))),
			others.length > GROUPS_MOST && el("p", { class: "quiet", text: `and ${count(others.length - GROUPS_MOST, "other group of nodes", "other groups of nodes")}: the command shows all` }),
			notes.map((n) => el("p", { class: "quiet" }, `Note: ${n}.`)),
			groups.length > 0 && notConsidered && el("p", { class: "quiet", text: notConsidered }),
		]
	}

	group({ nodes, nodeReason, requests = [], between }) {
		return el("li", { class: "fit-group" },
			el("p", { class: "fit-nodes" }, nodes.length === 1 ? "node " : "nodes ", some(nodes, NODES_MOST, (n) => this.node(n))),
			nodeReason && el("p", { class: "fit-away", text: nodeReason }),
			requests.map((r) => this.request(r)),
			between && el("p", {}, this.words(between)))
	}

	request({ claim, request, deviceClass, wants, wantsAll, fits, fault, reasons: all = [] }) {
		const head = ["request ", el("strong", { text: request }), claim && [" of claim ", this.words(claim)], " wants ", wantsAll ? "all devices" : count(wants, "device"), deviceClass && ` of class ${deviceClass}`]
		if (fault)
			return [el("p", {}, head, ": ", fault)]
		return [el("p", {}, head, `, ${fits} ${fits === 1 ? "fits" : "fit"}`), all.length > 0 && el("ul", { class: "reasons" }, all.map((r) => this.reason(r)))]
	}

	reason({ reason, count: number, detail, devices = [] }) {
		const name = (d) => [ofPool(reason) ? this.link(d.pool, exactly("pool", d.pool)) : this.device(d), d.detail && [" (", this.words(d.detail), ")"]]
		return el("li", {},
			el("span", { class: "reason-count", text: `${count(number, ofPool(reason) ? "pool" : "device")}:` }), ` ${reasons[reason] ?? reason}`,
			detail && [": ", el("code", { text: detail })],
			devices.length > 0 && el("span", { class: "fit-devices" }, ": ", some(devices, DEVICES_MOST, name)))
	}

	device({ driver, pool, device }) {
		const key = `${driver}/${pool}/${device}`
		return this.devices().has(key) ? this.link(device, exactly("device", device), { device: key }) : device
	}

	// The part of the card of the pod `key`; `want()` asks for it.
	part(known, want, key) {
		const button = (text) => el("button", { type: "button", class: "text-button", "data-focus": `explain ${key}`, text, "aria-label": `${text}: ${key}`, onclick: want })
		const head = (more) => el("div", { class: "fit-head" }, el("h3", { text: "Which devices do not fit" }), more)
		if (!known)
			return el("section", { class: "fit" }, head(button("Explain")))
		if (known.state === "failed")
			return el("section", { class: "fit" }, head(button("Try again")), el("p", { class: "trouble", text: known.message }))
		const state = known.state === "asking" ? el("span", { class: "quiet", role: "status", text: "explain-fit looks at all nodes …" })
			: [el("span", { class: "quiet" }, known.outdated ? "out of date, " : "", ago(known.at), " old"), known.outdated && button("Explain again")]
		return el("section", { class: "fit", "aria-busy": String(known.state === "asking") }, head(state), known.answer && this.explanation(known.answer))
	}
}
