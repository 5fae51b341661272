// overview - the figures at the top and the legend; both filter when they are pressed.
import { digits, el, setText } from "./dom.js"
import { sign } from "./glyph.js"

const stats = [
	["devices", "devices", "Show all devices"],
	["free", "free", "Show free devices"],
	["allocated", "in use", "Show devices that are held, wholly or in part"],
	["unhealthy", "unhealthy", "Show unhealthy devices"],
	["trouble", "pools with trouble", "Show devices of pools that are not complete or not valid"],
	["waiting", "pods waiting", "Show pods that wait for devices"],
]

const legend = [
	["state", "free", "free", ["free", "untold"]],
	["state", "partial", "partly used", ["partial", "untold"]],
	["state", "allocated", "allocated", ["allocated", "untold"]],
	["state", "unavailable", "unavailable", ["unavailable", "untold"]],
	["health", "healthy", "healthy", ["allocated", "healthy"]],
	["health", "unhealthy", "unhealthy", ["allocated", "unhealthy"]],
	["health", "unknown", "unknown", ["allocated", "unknown"]],
	["health", "untold", "not reported", ["free", "untold"]],
]

export class Overview {
	// press(name) of a figure, toggle(kind, value) of the legend.
	constructor(statsRoot, legendRoot, { press, toggle }) {
		this.figures = new Map(stats.map(([name, text, title]) => {
			const value = el("strong", { text: "–" })
			const node = el("button", { type: "button", class: `stat stat-${name}`, title, onclick: () => press(name) }, value, el("span", { text }))
			statsRoot.append(node)
			return [name, { node, value }]
		}))
		this.chips = legend.map(([kind, value, text, [state, health]]) => {
			const sum = el("span", { class: "chip-count" })
			const node = el("button", { type: "button", class: "chip", "data-filter": `${kind}-${value}`, "aria-pressed": "false", onclick: () => toggle(kind, value) },
				sign(state, health, 18), el("span", { text }), sum)
			return { kind, value, node, sum }
		})
		for (const kind of ["state", "health"])
			legendRoot.append(el("div", { class: "legend-group", role: "group", "aria-label": kind }, el("span", { class: "legend-name", text: kind }), this.chips.filter((c) => c.kind === kind).map((c) => c.node)))
	}

	update(model) {
		const { counts } = model
		const values = {
			devices: counts.devices, free: counts.state.free, allocated: counts.state.allocated + counts.state.partial,
			unhealthy: counts.health.unhealthy, trouble: model.troubledPools().length, waiting: model.reads("pods") ? model.waiting.size : undefined,
		}
		for (const [name, { node, value }] of this.figures) {
			setText(value, values[name] === undefined ? "–" : digits(values[name]))
			node.classList.toggle("some", values[name] > 0)
		}
		for (const { kind, value, sum } of this.chips)
			setText(sum, digits(counts[kind][value]))
	}

	setFilter(filter) {
		for (const { kind, value, node } of this.chips)
			node.setAttribute("aria-pressed", String(filter[kind].includes(value)))
	}
}
