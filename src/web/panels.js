// panels - the view History: the panels of monitoring/dashboard.py that the kept changes of devices can answer, for the last hours. Each has
// an axis, a cursor for mouse and keys that all of them share, and the same figures as a table.
import { clock, count, digits, el, keepFocus, svg } from "./dom.js"
import { Sums } from "./sums.js"
import { tickText, ticksOf } from "./timeline.js"
import { healthText, stateText } from "./words.js"

const H = 3600_000
export const RANGES = { "1h": [H, "1 hour"], "6h": [6 * H, "6 hours"], "24h": [24 * H, "24 hours"], "72h": [72 * H, "3 days"] }
// A sum is made anew after this time, and takes so much of a frame.
const REFRESH_MS = 5000, FRAME_MS = 6
const WIDTH = 560, HEIGHT = 150, LEFT = 34, BELOW = 18, ABOVE = 6

const unknown = { unpublished: "not known" }
const panels = [
	{ name: "state", title: "Devices by state", text: "Every device is in exactly one state.", words: { ...stateText, ...unknown } },
	{ name: "health", title: "Devices by health", text: "Not reported: no source reports health.", words: { ...healthText, unknown: "unknown", untold: "not reported", ...unknown } },
	{ name: "changes", title: "Changes of health", text: "Devices that changed to a health, in each step.", words: { healthy: "to healthy", unhealthy: "to unhealthy", unknown: "to unknown", untold: "to not reported" }, bars: true },
	{ name: "held", title: "Devices held by namespace", text: "A shared device counts once, for the first of its claims.", words: unknown, numbered: true },
]

// A round number that is not less, for the upper end of an axis.
export function roundUp(n) {
	const unit = 10 ** Math.floor(Math.log10(Math.max(1, n)))
	return Math.max(4, [1, 2, 4, 5, 10].map((x) => x * unit).find((x) => x >= n) ?? n)
}

export class Panels {
	constructor(root) {
		Object.assign(this, { root, model: undefined, range: "6h", match: undefined, visible: false, dirty: true, at: 0, sums: undefined, cursor: undefined, open: new Set() })
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
		this.dirty ||= changes.touched.size > 0
		if (this.visible && !this.at && !this.sums && this.model.access.histories === "ok")
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
		if (access.histories !== "ok") {
			this.showNone()
			this.later()
			return
		}
		this.stop()
		this.dirty = false
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
		this.render(this.sums, this.sums.lines())
		this.later()
	}

	// --- drawing ----------------------------------------------------------------------------------

	head(...more) {
		const choice = el("select", { id: "range", "data-focus": "range", onchange: (e) => this.choose(e.target.value) },
			Object.entries(RANGES).map(([value, [, text]]) => el("option", { value, text, selected: value === this.range })))
		return el("div", { class: "panels-head" }, el("label", { class: "grouping shown" }, "The last ", choice), more)
	}

	showNone() {
		const text = this.model.access.histories === "forbidden" ? "You may not list devicehistories, in which the controller keeps the changes of devices."
			: "The controller keeps no history of devices in this cluster. The part device-history of devplane controller does it."
		this.at = 0
		this.root.replaceChildren(el("p", { class: "nothing", text }))
	}

	render(sums, lines) {
		this.lines = lines
		const { known } = sums
		const note = `From the changes that the controller keeps of ${count(known.devices, "device")}${known.omitted ? `; ${count(known.omitted, "device has", "devices have")} lost older ones, and ${known.omitted === 1 ? "is" : "are"} not known before` : ""}. A device without a change counts as it is now.`
		const scrolled = new Map([...this.root.querySelectorAll(".panel-table")].map((n) => [n.getAttribute("aria-label"), n.scrollTop]))
		keepFocus(this.root, () => this.root.replaceChildren(this.head(el("p", { class: "quiet", text: note })), ...panels.map((p) => this.panel(p, sums, lines[p.name]))))
		for (const node of this.root.querySelectorAll(".panel-table"))
			node.scrollTop = scrolled.get(node.getAttribute("aria-label")) ?? 0
		this.point(this.cursor)
	}

	panel(p, sums, lines) {
		const most = roundUp(Math.max(0, ...lines.flatMap((l) => l.values)))
		const word = (name) => p.words[name] ?? name
		const kind = ({ name }, i) => (p.numbered ? `line n${i}` : `line of-${name}`)
		const read = el("ul", { class: "panel-lines" }, lines.map((l, i) => el("li", {}, svg("svg", { class: "key", viewBox: "0 0 22 8", "aria-hidden": "true" }, svg("path", { class: kind(l, i), d: "M1 4H21" })), el("span", { text: word(l.name) }), el("strong", { "data-line": `${p.name} ${l.name}` }))))
		const drawing = svg("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" },
			chartAxis(sums, most), lines.map((l, i) => svg("path", { class: kind(l, i), d: (p.bars ? barsOf : lineOf)(l.values, most, i, lines.length) })), svg("path", { class: "cursor", d: "" }))
		const slider = el("div", {
			class: "plot", tabindex: "0", role: "slider", "aria-label": `${p.title}: time`, "aria-valuemin": "1", "aria-valuemax": String(sums.steps), "data-panel": p.name, "data-focus": `panel ${p.name}`,
			onkeydown: (e) => this.onKey(e), onpointermove: (e) => this.onPointer(e), onpointerleave: () => this.point(undefined),
		}, drawing)
		return el("section", { class: "panel", "aria-label": p.title }, el("h2", { text: p.title }), el("p", { class: "quiet", text: p.text }),
			lines.length ? [slider, el("p", { class: "quiet panel-time" }), read, this.table(p, sums, lines, word)] : el("p", { class: "panel-none", text: p.name === "changes" ? "No health has changed." : "None." }))
	}

	// The same figures to read, made when they are wanted.
	table(p, sums, lines, word) {
		const fill = () => el("div", { class: "panel-table", tabindex: "0", role: "region", "aria-label": `${p.title}: table` }, el("table", {}, el("caption", { class: "unseen", text: p.title }),
			el("thead", {}, el("tr", {}, el("th", { scope: "col", text: "Until" }), lines.map((l) => el("th", { scope: "col", text: word(l.name) })))),
			el("tbody", {}, Array.from({ length: sums.steps }, (_, i) => el("tr", {}, el("th", { scope: "row", text: clock(sums.at(i)) }), lines.map((l) => el("td", { text: digits(l.values[i]) })))).reverse())))
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
		const box = e.currentTarget.getBoundingClientRect(), part = ((e.clientX - box.left) / box.width * WIDTH - LEFT) / (WIDTH - LEFT)
		this.point(Math.min(this.shown.steps - 1, Math.max(0, Math.floor(part * this.shown.steps))))
	}

	// Shows the figures of one step in all panels; undefined: of now.
	point(cursor) {
		const { shown, lines } = this, i = Math.min(cursor ?? shown.steps - 1, shown.steps - 1)
		this.cursor = cursor
		const when = i === shown.steps - 1 ? "now" : clock(shown.at(i))
		for (const node of this.root.querySelectorAll(".plot")) {
			const p = panels.find((x) => x.name === node.dataset.panel)
			const said = lines[p.name].map((l) => `${p.words[l.name] ?? l.name} ${digits(l.values[i])}`)
			node.setAttribute("aria-valuenow", String(i + 1))
			node.setAttribute("aria-valuetext", `${when}: ${said.join(", ")}`)
			node.querySelector(".cursor").setAttribute("d", cursor === undefined ? "" : `M${x(i + 1, shown.steps)} ${ABOVE}V${HEIGHT - BELOW}`)
			node.parentNode.querySelector(".panel-time").textContent = p.bars ? `in the ${Math.round(shown.step / 60_000)} min until ${when}` : when
			for (const l of lines[p.name])
				node.parentNode.querySelector(`[data-line="${CSS.escape(`${p.name} ${l.name}`)}"]`).textContent = digits(l.values[i])
		}
	}
}

const x = (i, steps) => LEFT + (WIDTH - LEFT) * i / steps
const y = (value, most) => HEIGHT - BELOW - (HEIGHT - BELOW - ABOVE) * value / most
const round = (n) => Math.round(n * 10) / 10

// Each value lasts for its step.
function lineOf(values, most) {
	return values.map((v, i) => `${i ? "L" : "M"}${round(x(i, values.length))} ${round(y(v, most))}H${round(x(i + 1, values.length))}`).join("")
}

// Bars side by side, one for each line.
function barsOf(values, most, line, lines) {
	return values.map((v, i) => (v ? `M${round(x(i, values.length) + (line + 0.5) * (WIDTH - LEFT) / values.length / lines)} ${HEIGHT - BELOW}V${round(y(v, most))}` : "")).join("")
}

function chartAxis(sums, most) {
	const lines = [0, most / 2, most].map((v) => [svg("path", { class: "tick", d: `M${LEFT} ${y(v, most)}H${WIDTH}` }), svg("text", { class: "axis end", x: LEFT - 5, y: y(v, most) + 3.5, text: digits(v) })])
	const ticks = ticksOf(sums.from, sums.now).map((t) => {
		const at = LEFT + (WIDTH - LEFT) * (t - sums.from) / sums.span
		return [svg("path", { class: "tick", d: `M${at} ${HEIGHT - BELOW}v4` }), at < WIDTH - 50 && svg("text", { class: at < LEFT + 20 ? "axis" : "axis middle", x: at, y: HEIGHT - 4, text: tickText(t, sums.span) })]
	})
	return [lines, ticks, svg("text", { class: "axis end", x: WIDTH, y: HEIGHT - 4, text: "now" })]
}
