// panels - the view History: the panels of monitoring/dashboard.py that the page can answer, in the dashboard's order. Those over time are made
// from the kept changes of devices: each has an axis, a cursor for mouse and keys that all of them share, and the same figures as a table.
// The history has no past of the others, which show figures of now.
import { chartOf, cursorAt, roundUp, stepAt } from "./chart.js"
import { ago, clock, count, digits, el, keepFocus, svg } from "./dom.js"
import { figuresNow } from "./now.js"
import { formatQuantity } from "./quantity.js"
import { Sums } from "./sums.js"
import { healthText, stateText } from "./words.js"

const H = 3600_000
export const RANGES = { "1h": [H, "1 hour"], "6h": [6 * H, "6 hours"], "24h": [24 * H, "24 hours"], "72h": [72 * H, "3 days"] }
// A sum is made anew after this time, and takes so much of a frame.
const REFRESH_MS = 5000, FRAME_MS = 6

const said = (said) => (n) => (Number.isNaN(n) ? "–" : said(n))
const number = said(digits), percent = said((n) => `${digits(Math.round(n * 1000) / 10)} %`), hours = said((n) => digits(Math.round(n * 100) / 100))
const unknown = { unpublished: "not known" }
const causes = { NotTried: "not tried yet", Gated: "scheduling gates", NoDevice: "no device", Claim: "a claim is missing or in use", SchedulerError: "the scheduler failed", Other: "something else" }

// Kinds: "stat" is a figure, "time" lines over time, "now" a list of figures. said(n) is the text of a value; `percent` is for values from 0 to 1;
// needs: the resources without which there is nothing to show.
const panels = [
	{ kind: "stat", name: "devices", title: "Devices", text: "Devices of all published slices.", said: number },
	{ kind: "stat", name: "free", title: "Free", text: "Devices that a claim can get, as a whole or in part.", said: number },
	{ kind: "stat", name: "allocated", title: "Allocated", text: "Share of devices that are held as a whole.", said: percent },
	{ kind: "stat", name: "unhealthy", title: "Unhealthy", text: "Devices that their driver reports as unhealthy.", said: number },
	{ kind: "stat", name: "lacking", title: "Pods that lack devices", text: "Pods with claims that no node can satisfy now.", said: number },
	{ kind: "time", name: "state", title: "Devices by state", text: "Every device is in exactly one state.", words: { ...stateText, ...unknown } },
	{ kind: "time", name: "health", title: "Devices by health", text: "Not reported: no source reports health.", words: { ...healthText, unknown: "unknown", untold: "not reported", ...unknown } },
	{ kind: "time", name: "free", title: "Free devices by pool", text: "Devices that a claim can get. Of more than seven pools, those with the fewest.", numbered: true },
	{ kind: "now", name: "capacity", title: "Free capacity of shared devices", text: "Now: what is left in devices that claims can share.", said: said(formatQuantity), none: "No device is shared by capacity." },
	{ kind: "now", name: "used", title: "Utilization of shared devices", text: "Now: share of the capacity of shareable devices that claims use, or that no claim can get.", said: percent, percent: true, none: "No device is shared by capacity." },
	{ kind: "now", name: "shares", title: "Shares by pool", text: "Now: shares of devices that claims hold.", said: number, none: "No device can be shared." },
	{ kind: "time", name: "utilization", title: "Utilization by driver", text: "Share of the time for which devices were held, as a whole or in part, in each step.", said: percent, percent: true, numbered: true },
	{ kind: "time", name: "changes", title: "Changes of health", text: "Devices that changed to a health, and failures that repeat, in each step.", words: { healthy: "to healthy", unhealthy: "to unhealthy", unknown: "to unknown", untold: "to not reported" }, bars: true, none: "No health has changed." },
	{ kind: "now", name: "faults", title: "Faults of pools", text: "Now: validation errors. The pool is incomplete or invalid.", said: number },
	{ kind: "now", name: "taints", title: "Tainted because unhealthy", text: "Now: devices that the controller's part device-health-taints has tainted. It alone knows which it withholds.", said: number, needs: ["rules"] },
	{ kind: "time", name: "held", title: "Devices held by namespace", text: "A shared device counts once, for the first of its claims.", words: unknown, numbered: true },
	{ kind: "time", name: "hours", title: "Device hours per hour by namespace", text: "For how long devices were held, summed over the devices. A shared device counts once, for the first of its claims.", words: unknown, said: hours, numbered: true },
	{ kind: "now", name: "claims", title: "Oldest claim by state", text: "Now. Pending: made for a pod and not allocated.", needs: ["claims"] },
	{ kind: "now", name: "waiting", title: "Waiting pods by reason", text: "Now: pods with claims that wait for a node.", said: number, words: causes, needs: ["pods"] },
	{ kind: "now", name: "waits", title: "Longest wait by reason", text: "Now: age of the oldest waiting pod.", words: causes, needs: ["pods"] },
].map((p) => ({ words: {}, said: number, none: "None.", needs: [], ...p }))
const overTime = panels.filter((p) => p.kind === "time")
const words = (p) => ({ name }) => p.words[name] ?? name

export class Panels {
	constructor(root) {
		Object.assign(this, { root, model: undefined, range: "6h", match: undefined, visible: false, dirty: true, at: 0, sums: undefined, cursor: undefined, told: "", open: new Set() })
		this.choose = () => {}
	}

	setVisible(visible) {
		const came = visible && !this.visible
		this.visible = visible
		clearTimeout(this.timer)
		if (!visible)
			this.stop()
		else if (came || this.dirty)
			this.refresh(came)
		else
			this.later()
	}

	setFilter(match, range) {
		if (range !== this.range)
			this.cursor = undefined
		Object.assign(this, { match, range, dirty: true })
		this.stop()
		this.at = 0
	}

	update(changes) {
		this.dirty ||= changes.touched.size + changes.pools.size + changes.claims.size > 0 || changes.waiting || changes.rules
		if (this.visible && !this.sums && this.told !== this.model.access.histories)
			this.refresh()
	}

	stop() {
		cancelAnimationFrame(this.frame)
		this.frame = 0
		this.sums = undefined
	}

	later() {
		clearTimeout(this.timer)
		this.timer = setTimeout(() => this.again(), REFRESH_MS)
	}

	// Time passes, too: the last step begins anew.
	again() {
		if (this.dirty || !this.at || this.model.now() - this.at > this.shown.step / 10)
			this.refresh()
		else
			this.later()
	}

	refresh() {
		const { devices, kept, access } = this.model
		this.stop()
		this.dirty = false
		this.told = access.histories
		this.sums = new Sums({ devices, kept, now: this.model.now(), span: RANGES[this.range][0], match: this.match })
		this.part()
	}

	// So much as fits into a frame; then the next.
	part() {
		const until = performance.now() + FRAME_MS
		if (!this.sums.run(() => performance.now() >= until)) {
			this.frame = requestAnimationFrame(() => this.part())
			return
		}
		this.at = this.sums.now
		this.shown = this.sums
		this.sums = undefined
		this.render(this.shown)
		this.later()
	}

	// --- drawing ----------------------------------------------------------------------------------

	head(...more) {
		const choice = el("select", { id: "range", "data-focus": "range", onchange: (e) => this.choose(e.target.value) },
			Object.entries(RANGES).map(([value, [, text]]) => el("option", { value, text, selected: value === this.range })))
		return el("div", { class: "panels-head" }, el("label", { class: "grouping shown" }, "The last ", choice), more)
	}

	note({ known }) {
		const { access } = this.model
		if (access.histories === "forbidden")
			return "You may not list devicehistories, in which the controller keeps the changes of devices. So these are the figures of now."
		if (access.histories !== "ok")
			return "The controller keeps no history of devices in this cluster: the part device-history of devplane controller does it. So these are the figures of now."
		return `From the changes that the controller keeps of ${count(known.devices, "device")}${known.omitted ? `; ${count(known.omitted, "device has", "devices have")} lost older ones, and ${known.omitted === 1 ? "is" : "are"} not known before` : ""}. A device without a change counts as it is now. Panels that say so are of now.`
	}

	render(sums) {
		this.lines = this.model.access.histories === "ok" ? sums.lines() : undefined
		const now = figuresNow(sums.figures, this.model, this.match)
		const scrolled = new Map([...this.root.querySelectorAll(".panel-table")].map((n) => [n.getAttribute("aria-label"), n.scrollTop]))
		const draw = { stat: (p) => this.figure(p, now[p.name]), now: (p) => this.list(p, now[p.name]), time: (p) => this.lines && this.panel(p, sums, this.lines[p.name]) }
		const [figures, others] = [panels.filter((p) => p.kind === "stat"), panels.filter((p) => p.kind !== "stat")].map((all) => all.map((p) => draw[p.kind](p)).filter(Boolean))
		keepFocus(this.root, () => this.root.replaceChildren(this.head(el("p", { class: "quiet", text: this.note(sums) })), el("div", { class: "figures" }, figures), ...others))
		for (const node of this.root.querySelectorAll(".panel-table"))
			node.scrollTop = scrolled.get(node.getAttribute("aria-label")) ?? 0
		this.point(this.cursor)
	}

	figure(p, value) {
		return el("section", { class: "panel", "aria-label": p.title }, el("h2", { text: p.title }), el("strong", { text: p.said(value) }), el("p", { class: "quiet", text: p.text }))
	}

	// Figures of now, with a bar for each, or ages.
	list(p, lines) {
		const lacking = p.needs.find((r) => !this.model.reads(r))
		const most = p.percent ? 1 : Math.max(...lines.map((l) => l.value))
		const bar = ({ value }) => svg("svg", { class: "bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { class: "track", width: 100, height: 8 }), svg("rect", { width: most > 0 ? 100 * value / most : 0, height: 8 }))
		const all = lines.map((l) => el("li", {}, el("span", { text: words(p)(l) }), l.since ? ago(l.since) : [bar(l), el("strong", { text: p.said(l.value) })]))
		const none = lacking ? "You may not list these objects, or this server has none." : p.none
		return el("section", { class: "panel", "aria-label": p.title }, el("h2", { text: p.title }), el("p", { class: "quiet", text: p.text }),
			!lacking && all.length ? el("ul", { class: "panel-list" }, all) : el("p", { class: "panel-none", text: none }))
	}

	panel(p, sums, lines) {
		const word = words(p)
		const most = p.percent ? 1 : roundUp(Math.max(0, ...lines.flatMap((l) => l.values)))
		const kind = ({ name }, i) => (p.numbered ? `line n${i}` : `line of-${name}`)
		const read = el("ul", { class: "panel-lines" }, lines.map((l, i) => el("li", {}, svg("svg", { class: "key", viewBox: "0 0 22 8", "aria-hidden": "true" }, svg("path", { class: kind(l, i), d: "M1 4H21" })), el("span", { text: word(l) }), el("strong", { "data-line": `${p.name} ${l.name}` }))))
		const slider = el("div", {
			class: "plot", tabindex: "0", role: "slider", "aria-label": `${p.title}: time`, "aria-valuemin": "1", "aria-valuemax": String(sums.steps), "data-panel": p.name, "data-focus": `panel ${p.name}`,
			onkeydown: (e) => this.onKey(e), onpointermove: (e) => this.onPointer(e), onpointerleave: () => this.point(undefined),
		}, chartOf(sums, lines, { most, bars: p.bars, kind, said: p.said }))
		return el("section", { class: "panel", "aria-label": p.title }, el("h2", { text: p.title }), el("p", { class: "quiet", text: p.text }),
			lines.length ? [slider, el("p", { class: "quiet panel-time" }), read, this.table(p, sums, lines)] : el("p", { class: "panel-none", text: p.none }))
	}

	// The same figures to read, made when they are wanted.
	table(p, sums, lines) {
		const fill = () => el("div", { class: "panel-table", tabindex: "0", role: "region", "aria-label": `${p.title}: table` }, el("table", {}, el("caption", { class: "unseen", text: p.title }),
			el("thead", {}, el("tr", {}, el("th", { scope: "col", text: "Until" }), lines.map((l) => el("th", { scope: "col", text: words(p)(l) })))),
			el("tbody", {}, Array.from({ length: sums.steps }, (_, i) => el("tr", {}, el("th", { scope: "row", text: clock(sums.at(i)) }), lines.map((l) => el("td", { text: p.said(l.values[i]) })))).reverse())))
		const open = this.open.has(p.name)
		const box = el("details", { open, ontoggle: () => {
			this.open[box.open ? "add" : "delete"](p.name)
			if (box.open && !box.querySelector("table"))
				box.append(fill())
		} }, el("summary", { text: "Table", "data-focus": `table ${p.name}` }), open && fill())
		return box
	}

	// --- the cursor -------------------------------------------------------------------------------

	onKey(e) {
		const last = this.shown.steps - 1, i = this.cursor ?? last
		const to = { ArrowLeft: i - 1, ArrowDown: i - 1, ArrowRight: i + 1, ArrowUp: i + 1, PageDown: i - 10, PageUp: i + 10, Home: 0, End: last }[e.key]
		if (to === undefined || e.ctrlKey || e.metaKey || e.altKey)
			return
		e.preventDefault()
		this.point(Math.min(last, Math.max(0, to)))
	}

	onPointer(e) {
		const box = e.currentTarget.getBoundingClientRect()
		this.point(stepAt((e.clientX - box.left) / box.width, this.shown.steps))
	}

	// Shows the figures of one step in all panels; undefined: of now.
	point(cursor) {
		const { shown, lines } = this, i = Math.min(cursor ?? shown.steps - 1, shown.steps - 1)
		this.cursor = cursor
		const when = i === shown.steps - 1 ? "now" : clock(shown.at(i))
		for (const node of this.root.querySelectorAll(".plot")) {
			const p = overTime.find((x) => x.name === node.dataset.panel)
			const said = lines[p.name].map((l) => `${words(p)(l)} ${p.said(l.values[i])}`)
			node.setAttribute("aria-valuenow", String(i + 1))
			node.setAttribute("aria-valuetext", `${when}: ${said.join(", ")}`)
			node.querySelector(".cursor").setAttribute("d", cursor === undefined ? "" : cursorAt(i + 1, shown.steps))
			node.parentNode.querySelector(".panel-time").textContent = p.bars ? `in the ${Math.round(shown.step / 60_000)} min until ${when}` : when
			for (const l of lines[p.name])
				node.parentNode.querySelector(`[data-line="${CSS.escape(`${p.name} ${l.name}`)}"]`).textContent = p.said(l.values[i])
		}
	}
}
