// map - devices as squares, in a block for each node (or pool, driver, model) with a section for each pool.
//
// A change of a device changes its own square. Sections that are far from what can be seen are empty boxes of the right
// size until they come near. One listener for all; one square at a time is in the order of tabs, arrows move it.
import { count, el, setText, svg } from "./dom.js"
import { UNIT, drawGlyph, makeGlyph } from "./glyph.js"
import { compare, compareBlocks, densityFor, isWide, placeOf, spacing } from "./layout.js"
import { STATES } from "./model.js"
import { looksLike, stateText } from "./words.js"

// How many flash at a time: more help nobody, and each costs something in every frame.
const FLASH_MOST = 24

// Copies are made faster than elements one by one.
const blockForm = el("section", {}, el("header", { class: "block-head" }, el("h2", { class: "block-name" }, el("a", { tabindex: "-1" })), el("span", { class: "block-note" }), el("span", { class: "block-sum" })))
const sectionForm = el("div", { class: "section" }, el("p", { class: "section-name" }, el("a", { tabindex: "-1" })), svg("svg", { class: "grid", role: "group", focusable: "false" }))

function inOrder(keys, before) {
	return keys.every((key, i) => i === 0 || before(keys[i - 1], key) <= 0)
}

export function deviceLabel(d) {
	const parts = [d.unnamed ? `unnamed device of ${d.driver}` : d.name, d.node ? `on ${d.node}` : `in pool ${d.pool}`, looksLike(d)]
	if (d.message)
		parts.push(d.message)
	const more = d.holders.length - 1 + d.omitted
	if (d.holders.length)
		parts.push(`claim ${d.holders[0].namespace}/${d.holders[0].name}${more ? ` and ${more} more` : ""}`)
	if (d.pods.length)
		parts.push(`pod ${d.pods[0]}${d.pods.length > 1 ? ` and ${d.pods.length - 1} more` : ""}`)
	return parts.join(", ")
}

export class DeviceMap {
	// `open(key)` is called for the device that the user wants to see; href(q) is the address of a search.
	constructor(root, open, href) {
		Object.assign(this, { root, open, href, rackLabel: "", model: undefined, group: "node", match: undefined, current: "", selected: "" })
		this.blocks = []
		this.byKey = new Map()
		this.where = new Map() // device key: section
		this.flashing = root.getElementsByClassName("flash")
		this.near = new IntersectionObserver((all) => this.approach(all), { rootMargin: "600px 0px" })
		root.addEventListener("click", (e) => this.onClick(e))
		root.addEventListener("keydown", (e) => this.onKey(e))
		root.addEventListener("focusin", (e) => this.onFocus(e))
		root.addEventListener("animationend", (e) => e.target.closest?.(".d")?.classList.remove("flash"))
	}

	// --- building -------------------------------------------------------------------------------

	rebuild(group = this.group, match = this.match, rackLabel = this.rackLabel) {
		Object.assign(this, { group, match, rackLabel })
		this.near.disconnect()
		this.blocks = []
		this.byKey.clear()
		this.where.clear()
		this.density = densityFor(this.model.devices.size)
		this.space = this.spacing()
		this.root.dataset.density = this.density.name
		this.root.dataset.group = group
		this.root.classList.toggle("wide", isWide(group))
		this.root.style.setProperty("--stretch", this.space.step / UNIT)
		for (const d of this.model.devices.values())
			this.place(d)
		this.blocks.sort(compareBlocks)
		for (const block of this.blocks)
			for (const section of block.sections.values())
				this.arrange(section)
		this.root.replaceChildren(...this.blocks.map((b) => b.node))
		this.widen()
		this.blocks.forEach((b) => this.head(b))
		this.ensureCurrent()
	}

	spacing() {
		let longest = 0
		for (const d of this.density.labels ? this.model.devices.values() : [])
			longest = Math.max(longest, d.name.length)
		return spacing(this.density, longest)
	}

	placeOf(d) {
		return placeOf(d, this.group, this.group === "rack" ? this.model.labelOf(d.node, this.rackLabel) : "")
	}

	// Blocks are as wide as their longest row. Where all sections are called the same, that need not be said in each.
	widen() {
		const labels = new Set()
		let most = 1
		for (const block of this.blocks)
			for (const { columns, label } of block.sections.values()) {
				most = Math.max(most, columns)
				labels.add(label)
			}
		this.root.style.setProperty("--columns", most)
		this.root.classList.toggle("uniform", labels.size === 1)
	}

	place(d) {
		const at = this.placeOf(d)
		let block = this.byKey.get(at.block)
		if (!block) {
			block = this.makeBlock(at)
			this.byKey.set(at.block, block)
			this.blocks.push(block)
		}
		let section = block.sections.get(at.section)
		if (!section) {
			section = this.makeSection(block, at)
			block.sections.set(at.section, section)
		}
		section.keys.push(d.key)
		this.where.set(d.key, section)
		return section
	}

	makeBlock({ block: key, title, kind, q }) {
		const node = blockForm.cloneNode(true)
		const [name, note, sum] = node.firstChild.children
		node.className = `block kind-${kind}`
		node.setAttribute("aria-label", `${kind === "network" ? "network-attached pool" : kind} ${title}`)
		this.label(name.firstChild, title, q)
		const self = { key, title, kind, node, note, sum, sections: new Map(), shown: true }
		return self
	}

	// A name that leads to what has it. Its address is made when it is wanted, as it depends on all that is filtered. Keys reach the
	// same searches in the detail of a device, so that Tab does not stop at each.
	label(a, text, q) {
		a.textContent = text
		if (!q)
			return
		a.setAttribute("href", "#")
		a.dataset.q = q
	}

	makeSection(block, { section: key, label, labelQ }) {
		const node = sectionForm.cloneNode(true)
		const [title, grid] = node.children
		this.label(title.firstChild, label, labelQ)
		const self = { key, block, label, node, grid, keys: [], squares: new Map(), columns: 1, built: false }
		node.section = self
		this.near.observe(node)
		const after = [...block.sections.values()].find((s) => compare(s.label, label) > 0)
		block.node.insertBefore(node, after?.node ?? null)
		return self
	}

	// Puts the devices of a section in order and makes room for them; squares only if it can be seen.
	arrange(section) {
		const { devices } = this.model
		section.keys = section.keys.filter((key) => devices.has(key))
		const before = (a, b) => {
			const x = devices.get(a), y = devices.get(b)
			return x.unnamed - y.unnamed || compare(x.name, y.name)
		}
		if (!inOrder(section.keys, before))
			section.keys.sort(before)
		section.columns = Math.min(section.keys.length, this.space.columns) || 1
		const rows = Math.ceil(section.keys.length / section.columns)
		section.grid.setAttribute("viewBox", `0 0 ${section.columns * this.space.step} ${rows * this.density.row}`)
		section.grid.style.setProperty("--c", section.columns)
		section.grid.setAttribute("aria-label", `${section.label}, ${count(section.keys.length, "device")}`)
		if (section.built)
			this.fill(section)
	}

	fill(section) {
		const squares = new Map(), { devices } = this.model
		section.keys.forEach((key, i) => {
			const g = section.squares.get(key) ?? makeGlyph()
			g.setAttribute("transform", `translate(${(i % section.columns) * this.space.step} ${Math.floor(i / section.columns) * this.density.row})`)
			g.caption?.setAttribute("transform", g.getAttribute("transform"))
			g.dataset.key = key
			squares.set(key, g)
			this.draw(g, devices.get(key))
		})
		section.squares = squares
		section.grid.replaceChildren(...[...squares.values()].flatMap((g) => (g.caption ? [g, g.caption] : [g])))
	}

	draw(g, d) {
		drawGlyph(g, d.state, d.health)
		g.setAttribute("aria-label", deviceLabel(d))
		g.classList.toggle("out", !!this.match && !this.match(d))
		g.classList.toggle("selected", d.key === this.selected)
		g.setAttribute("tabindex", d.key === this.current ? "0" : "-1")
		if (this.density.labels && !g.caption)
			g.caption = svg("text", { class: "caption", x: 2, y: 25.4, transform: g.getAttribute("transform"), text: d.name, "aria-hidden": "true" })
	}

	approach(all) {
		for (const { isIntersecting, target } of all)
			if (isIntersecting)
				this.build(target.section)
	}

	build(section) {
		if (section.built)
			return
		section.built = true
		this.fill(section)
	}

	// --- changes --------------------------------------------------------------------------------

	update(changes) {
		const { added, removed, devices } = changes
		const density = densityFor(this.model.devices.size, this.density)
		if (density !== this.density || (!this.blocks.length && added.size) || (added.size && this.spacing().step > this.space.step)) {
			this.rebuild()
			return
		}
		const sections = new Set(), blocks = new Set()
		for (const key of removed)
			this.displace(key, sections)
		for (const key of added)
			sections.add(this.place(this.model.devices.get(key)))
		let flashes = FLASH_MOST - this.flashing.length
		for (const d of this.group === "rack" && changes.labels.size ? this.model.devices.values() : [])
			if (changes.labels.has(d.node) && !devices.has(d.key) && !added.has(d.key))
				this.change(d.key, false, sections, blocks)
		for (const key of devices)
			flashes -= this.change(key, flashes > 0, sections, blocks)
		if (sections.size) {
			sections.forEach((s) => this.settle(s))
			this.order()
			this.widen()
		}
		for (const { block } of sections)
			blocks.add(block)
		blocks.forEach((b) => this.byKey.has(b.key) && this.head(b))
		this.headsOf(changes)
		this.ensureCurrent()
	}

	displace(key, sections) {
		const section = this.where.get(key)
		if (!section)
			return
		this.where.delete(key)
		section.keys = section.keys.filter((k) => k !== key)
		sections.add(section)
	}

	// Whether it flashes.
	change(key, flash, sections, blocks) {
		const d = this.model.devices.get(key), section = this.where.get(key), at = this.placeOf(d)
		if (section && (section.block.key !== at.block || section.key !== at.section)) {
			this.displace(key, sections)
			sections.add(this.place(d))
			return false
		}
		if (!section)
			return false
		blocks.add(section.block)
		const g = section.squares.get(key)
		if (!g)
			return false
		this.draw(g, d)
		g.classList.toggle("flash", flash)
		return flash
	}

	// A section whose devices have changed; one without any goes.
	settle(section) {
		const { block } = section
		if (section.keys.length) {
			this.arrange(section)
			return
		}
		this.near.unobserve(section.node)
		section.node.remove()
		block.sections.delete(section.key)
		if (block.sections.size)
			return
		block.node.remove()
		this.byKey.delete(block.key)
		this.blocks = this.blocks.filter((b) => b !== block)
	}

	// New blocks into their places.
	order() {
		this.blocks.sort(compareBlocks)
		let next = this.root.firstElementChild
		for (const { node } of this.blocks) {
			if (node === next)
				next = next.nextElementSibling
			else
				this.root.insertBefore(node, next)
		}
	}

	headsOf({ nodes, pools }) {
		for (const name of this.group === "node" ? nodes : [])
			if (this.byKey.has(name))
				this.head(this.byKey.get(name))
		if (pools.size)
			for (const block of this.blocks)
				if ([...block.sections.values()].some((s) => pools.has(this.poolOf(s))))
					this.head(block)
	}

	poolOf(section) {
		const d = this.model.devices.get(section.keys[0])
		return d && `${d.driver}/${d.pool}`
	}

	// The line above a block: its name, what is wrong with it, how much is free.
	head(block) {
		let total = 0, broken = 0, brokenFree = 0, shown = 0
		const trouble = [], by = Object.fromEntries(STATES.map((s) => [s, 0]))
		for (const section of block.sections.values()) {
			let here = 0
			trouble.push(...this.model.pools.get(this.poolOf(section))?.trouble ?? [])
			for (const key of section.keys) {
				const d = this.model.devices.get(key)
				total++
				by[d.state]++
				broken += d.health === "unhealthy"
				brokenFree += d.health === "unhealthy" && d.state === "free"
				here += !this.match || this.match(d)
			}
			section.node.hidden = !here
			shown += here
		}
		const ready = block.kind === "node" ? this.model.nodeReady(block.title) : undefined
		const notes = []
		if (ready && ready !== "True")
			notes.push("not ready")
		if (broken)
			notes.push(`${broken} unhealthy${brokenFree ? ` (${brokenFree} free)` : ""}`)
		if (by.unpublished)
			notes.push(`${by.unpublished} ${stateText.unpublished}`)
		if (trouble.length)
			notes.push("pool trouble")
		setText(block.note, notes.join(" · "))
		block.note.title = [...notes, ...trouble].join("\n")
		const free = by.unpublished === total ? count(total, "device") : `${by.free} of ${total} free`
		setText(block.sum, this.match && shown !== total ? `${shown} of ${total} shown` : free)
		block.sum.title = Object.entries(by).filter(([s, n]) => n || s !== "unpublished").map(([s, n]) => `${n} ${stateText[s]}`).join(", ")
		block.shown = shown > 0
		block.node.hidden = !block.shown
	}

	// --- filter ---------------------------------------------------------------------------------

	setFilter(match) {
		this.match = match
		this.applyFilter()
	}

	applyFilter() {
		const { devices } = this.model
		for (const block of this.blocks) {
			this.head(block)
			for (const section of block.sections.values())
				for (const [key, g] of section.squares)
					g.classList.toggle("out", !!this.match && !this.match(devices.get(key)))
		}
		this.ensureCurrent()
	}

	// --- selection and keys -------------------------------------------------------------------

	square(key) {
		const section = this.where.get(key)
		if (section)
			this.build(section)
		return section?.squares.get(key)
	}

	select(key) {
		this.square(this.selected)?.classList.remove("selected")
		this.selected = key
		if (!key)
			return
		this.square(key)?.classList.add("selected")
		this.setCurrent(key)
	}

	setCurrent(key) {
		if (key === this.current)
			return
		this.where.get(this.current)?.squares.get(this.current)?.setAttribute("tabindex", "-1")
		this.current = key
		this.square(key)?.setAttribute("tabindex", "0")
	}

	// Some square must be reachable by Tab.
	ensureCurrent() {
		const d = this.model.devices.get(this.current)
		if (d && (!this.match || this.match(d)))
			return
		for (const block of this.blocks)
			for (const key of block.shown ? this.shownIn(block) : []) {
				this.setCurrent(key)
				return
			}
	}

	shownIn(block) {
		return [...block.sections.values()].sort((a, b) => compare(a.label, b.label))
			.flatMap((s) => s.keys).filter((k) => !this.match || this.match(this.model.devices.get(k)))
	}

	focus(key) {
		this.setCurrent(key)
		const g = this.square(key)
		g?.focus({ preventScroll: true })
		g?.scrollIntoView({ block: "nearest" })
	}

	onClick(e) {
		const a = e.target.closest?.("a[data-q]")
		if (a)
			a.setAttribute("href", this.href(a.dataset.q))
		const g = e.target.closest?.(".d")
		if (g) {
			this.setCurrent(g.dataset.key)
			this.open(g.dataset.key)
		}
	}

	onFocus(e) {
		const g = e.target.closest?.(".d")
		if (g)
			this.setCurrent(g.dataset.key)
	}

	onKey(e) {
		const g = e.target.closest?.(".d")
		if (!g || e.ctrlKey || e.metaKey || e.altKey)
			return
		const { key } = g.dataset
		const moves = {
			ArrowRight: () => this.step(key, 1), ArrowLeft: () => this.step(key, -1),
			ArrowDown: () => this.below(key, 1), ArrowUp: () => this.below(key, -1),
			Home: () => this.edge(0), End: () => this.edge(-1),
		}
		if (e.key === "Enter" || e.key === " ") {
			this.open(key, true)
		} else if (moves[e.key]) {
			const next = moves[e.key]()
			if (next)
				this.focus(next)
		} else {
			return
		}
		e.preventDefault()
	}

	edge(at) {
		const shown = this.blocks.filter((b) => b.shown).at(at)
		return shown && this.shownIn(shown).at(at)
	}

	// The next or the one before, in the order of reading.
	step(key, by) {
		const { block } = this.where.get(key), shown = this.shownIn(block)
		const next = shown[shown.indexOf(key) + by]
		if (next)
			return next
		const blocks = this.blocks.filter((b) => b.shown)
		const other = blocks[blocks.indexOf(block) + by]
		return other && this.shownIn(other).at(by > 0 ? 0 : -1)
	}

	// The nearest square of those that lie below (or above): in its block, else in the next block there.
	below(key, by) {
		const section = this.where.get(key), at = this.square(key).getBoundingClientRect()
		const near = this.nearest(this.shownIn(section.block), at, by)
		if (near)
			return near
		const rect = section.block.node.getBoundingClientRect()
		let best, distance = Infinity
		for (const block of this.blocks) {
			const r = block.shown ? block.node.getBoundingClientRect() : rect
			const gap = by > 0 ? r.top - rect.bottom : rect.top - r.bottom
			if (gap < 0 || r === rect)
				continue
			const far = gap * 4 + Math.abs(r.left - rect.left)
			if (far < distance)
				[best, distance] = [block, far]
		}
		if (!best)
			return undefined
		return this.nearest(this.shownIn(best), at, by)
	}

	nearest(keys, at, by) {
		let best, distance = Infinity
		for (const key of keys) {
			const r = this.square(key).getBoundingClientRect()
			const gap = by * (r.top - at.top)
			if (gap < at.height / 2)
				continue
			const far = gap * 3 + Math.abs(r.left - at.left)
			if (far < distance)
				[best, distance] = [key, far]
		}
		return best
	}
}
