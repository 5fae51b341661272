// table - the same devices as rows, for those who prefer to read. Only the rows that can be seen exist.
import { count, el, setText } from "./dom.js"
import { capacityText, download, toCsv, toJson } from "./export.js"
import { sign } from "./glyph.js"
import { compare } from "./layout.js"
import { healthText, stateLine } from "./words.js"

const ROW = 36, MORE = 8
// While changes come in, rows are put in order this often at most.
const SORT_MS = 400
// Widths are measured on so many rows.
const MEASURED = 500
// The text with the most letters is not quite the widest.
const SPARE = 1.04
const ruler = document.createElement("canvas").getContext("2d")

function heldBy(d) {
	const all = d.holders.map((h) => `${h.namespace}/${h.name}`)
	return [...all, ...d.omitted ? [`and ${d.omitted} more`] : []].join(", ")
}

const columns = [
	["device", "Device", (d) => d.name], ["node", "Node", (d) => d.node || "network"], ["pool", "Pool", (d) => d.pool],
	["driver", "Driver", (d) => d.driver], ["model", "Model", (d) => (d.kind === d.driver ? "" : d.kind)], ["state", "State", stateLine],
	["health", "Health", (d) => healthText[d.health].replace("health ", "")], ["message", "Message", (d) => d.message], ["capacity", "Capacity", capacityText],
	["holder", "Held by", heldBy], ["pods", "Pods", (d) => d.pods.join(", ")],
]
// Columns on screens that are not wide; see style.css for how wide these are.
const screens = { wide: columns.map(([id]) => id), middle: ["device", "node", "state", "health", "message", "holder"], narrow: ["device", "node", "state", "health"] }

export class DeviceTable {
	constructor(root, open) {
		Object.assign(this, { root, open, model: undefined, match: undefined, keys: [], sort: "node", down: false, selected: "", current: 0, visible: false })
		this.heads = columns.map(([id, title]) => el("div", { role: "columnheader", class: `cell c-${id}`, "aria-sort": "none" },
			el("button", { type: "button", text: title, onclick: () => this.sortBy(id) })))
		this.space = el("div", { class: "rows", role: "rowgroup" })
		this.empty = el("p", { class: "nothing", text: "No device matches.", hidden: true })
		this.table = el("div", { class: "table", role: "table", "aria-label": "devices" },
			el("div", { role: "rowgroup", class: "table-head" }, el("div", { role: "row", class: "row head" }, this.heads)), this.space)
		this.sum = el("span", { class: "quiet" })
		const file = (text, name, type, make) => el("button", { type: "button", class: "text-button", text, onclick: () => download(name, type, make(this.keys.map((k) => this.model.devices.get(k)).filter(Boolean))) })
		root.append(el("div", { class: "list-head" }, this.sum, file("Export CSV", "devices.csv", "text/csv", toCsv), file("Export JSON", "devices.json", "application/json", toJson)), this.table, this.empty)
		this.rows = new Map()
		document.addEventListener("scroll", () => this.visible && this.draw(), { passive: true })
		addEventListener("resize", () => this.visible && this.draw())
		this.space.addEventListener("click", (e) => this.pick(e.target.closest(".row")))
		this.space.addEventListener("keydown", (e) => this.onKey(e))
	}

	setVisible(visible) {
		const arrange = visible && !this.visible
		this.visible = visible
		if (arrange)
			this.arrange()
	}

	setFilter(match) {
		this.match = match
		if (this.visible)
			this.arrange()
	}

	select(key) {
		this.selected = key
		if (this.visible)
			this.draw(true)
	}

	sortBy(id) {
		this.down = this.sort === id ? !this.down : false
		this.sort = id
		this.arrange()
	}

	arrange() {
		const of = columns.find(([id]) => id === this.sort)[2]
		const all = [...this.model.devices.values()].filter((d) => !this.match || this.match(d)).map((d) => [of(d), d])
		const sign_ = this.down ? -1 : 1
		all.sort(([a, x], [b, y]) => sign_ * compare(a, b) || compare(x.node, y.node) || compare(x.pool, y.pool) || compare(x.name, y.name))
		this.keys = all.map(([, d]) => d.key)
		this.heads.forEach((h, i) => h.setAttribute("aria-sort", columns[i][0] === this.sort ? (this.down ? "descending" : "ascending") : "none"))
		this.space.style.height = `${this.keys.length * ROW}px`
		this.table.setAttribute("aria-rowcount", this.keys.length + 1)
		setText(this.sum, count(this.keys.length, "device"))
		this.measure()
		this.empty.hidden = this.keys.length > 0
		this.current = Math.min(this.current, Math.max(0, this.keys.length - 1))
		this.draw(true)
	}

	// Columns are as wide as what is in them, while there is room; those without anything are not shown.
	measure() {
		const rows = [], every = Math.ceil(this.keys.length / MEASURED)
		for (let i = 0; i < this.keys.length; i += every)
			rows.push(this.model.devices.get(this.keys[i]))
		const longest = new Map(columns.map(([id, , of]) => [id, rows.map(of).reduce((a, t) => (t.length > a.length ? t : a), "")]))
		this.filled = new Set(columns.map(([id]) => id).filter((id) => longest.get(id) || screens.narrow.includes(id)))
		const { fontSize, fontFamily } = getComputedStyle(this.table)
		ruler.font = `${fontSize} ${fontFamily}`
		const width = (id) => {
			const text = ruler.measureText(longest.get(id)).width * SPARE + (id === "device" ? 26 : 2), head = ruler.measureText(`${columns.find((c) => c[0] === id)[1]} ↑`).width
			return `minmax(0, ${Math.ceil(Math.max(text, head))}px)`
		}
		for (const [screen, ids] of Object.entries(screens))
			this.table.style.setProperty(`--${screen}`, ids.filter((id) => this.filled.has(id)).map(width).join(" "))
		this.heads.forEach((h, i) => (h.hidden = !this.filled.has(columns[i][0])))
	}

	update(changes) {
		if (!this.visible || this.timer)
			return
		if (changes.devices.size + changes.added.size + changes.removed.size === 0)
			return
		this.draw(true)
		this.timer = setTimeout(() => {
			this.timer = undefined
			if (this.visible)
				this.arrange()
		}, SORT_MS)
	}

	// Rows for what can be seen; `all` also writes those again that are there already.
	draw(all = false) {
		const { top } = this.space.getBoundingClientRect()
		const first = Math.max(0, Math.floor(-top / ROW) - MORE)
		const last = Math.min(this.keys.length, Math.ceil((innerHeight - top) / ROW) + MORE)
		for (const [i, row] of this.rows)
			if (i < first || i >= last) {
				row.remove()
				this.rows.delete(i)
			}
		for (let i = first; i < last; i++) {
			const known = this.rows.get(i)
			if (!known || all)
				this.write(known ?? this.makeRow(i), i)
		}
	}

	makeRow(i) {
		const row = el("div", { role: "row", class: "row", "aria-rowindex": i + 2 }, columns.map(([id]) => el("div", { role: "cell", class: `cell c-${id}` })))
		row.style.transform = `translateY(${i * ROW}px)`
		const next = [...this.rows].filter(([k]) => k > i).sort(([a], [b]) => a - b)[0]
		this.space.insertBefore(row, next?.[1] ?? null)
		this.rows.set(i, row)
		return row
	}

	write(row, i) {
		const d = this.model.devices.get(this.keys[i])
		row.dataset.index = i
		row.setAttribute("tabindex", i === this.current ? "0" : "-1")
		if (!d) {
			row.classList.add("gone")
			return
		}
		row.dataset.key = d.key
		row.classList.remove("gone")
		row.classList.toggle("selected", d.key === this.selected)
		columns.forEach(([id, , of], c) => {
			const cell = row.children[c], text = of(d)
			if (id === "device") {
				if (cell.dataset.look !== `${d.key} ${d.state} ${d.health}`)
					cell.replaceChildren(sign(d.state, d.health, 16), el("span", { text }))
				cell.dataset.look = `${d.key} ${d.state} ${d.health}`
			} else {
				setText(cell, text)
			}
			cell.title = text
			cell.hidden = !this.filled.has(id)
			if (id === "health")
				cell.className = `cell c-health word h-${d.health}`
		})
	}

	pick(row, focus) {
		if (row?.dataset.key) {
			this.setCurrent(Number(row.dataset.index))
			this.open(row.dataset.key, focus)
		}
	}

	setCurrent(i) {
		this.rows.get(this.current)?.setAttribute("tabindex", "-1")
		this.current = i
		this.rows.get(i)?.setAttribute("tabindex", "0")
	}

	focus(key) {
		const i = this.keys.indexOf(key)
		if (i >= 0)
			this.go(i)
	}

	go(i) {
		const at = Math.min(Math.max(0, i), this.keys.length - 1)
		const top = this.space.getBoundingClientRect().top + at * ROW
		if (top < 160 || top > innerHeight - 2 * ROW)
			scrollBy({ top: top - innerHeight / 2, behavior: "instant" })
		this.draw()
		this.setCurrent(at)
		this.rows.get(at)?.focus({ preventScroll: true })
	}

	onKey(e) {
		const row = e.target.closest(".row")
		if (!row || e.ctrlKey || e.metaKey || e.altKey)
			return
		const i = Number(row.dataset.index), pageful = Math.max(1, Math.floor(innerHeight / ROW) - 6)
		const moves = { ArrowDown: i + 1, ArrowUp: i - 1, PageDown: i + pageful, PageUp: i - pageful, Home: 0, End: this.keys.length - 1 }
		if (e.key === "Enter" || e.key === " ")
			this.pick(row, true)
		else if (e.key in moves)
			this.go(moves[e.key])
		else
			return
		e.preventDefault()
	}
}
