// overview - the figures at the top and the legend; both filter when they are pressed.
import { digits, el, setText } from "./dom.js"
import { sign } from "./glyph.js"

// Devices are the sum of the next five; unhealthy ones are counted over the same devices. Some figures are shown only when
// they are not 0.
const stats = [
	["devices", "devices", "Show all devices"],
	["free", "free", "Show devices that a claim without tolerations gets"],
	["partial", "partly used", "Show devices of which something is held and something is left"],
	["allocated", "allocated", "Show devices of which nothing is left"],
	["unavailable", "unavailable", "Show devices that nobody holds and nobody gets"],
	["unpublished", "not known yet", "Show devices whose state is not published"],
	["unhealthy", "unhealthy", "Show unhealthy devices"],
	["plugins", "of device plugins", "Show devices of device plugins, which are not in ResourceSlices"],
	["trouble", "pools with trouble", "Show devices of pools that are not complete or not valid"],
	["waiting", "pods waiting", "Show pods that wait for devices"],
]

const legend = [
	["state", "free", "free", ["free", "untold"]],
	["state", "partial", "partly used", ["partial", "untold"]],
	["state", "allocated", "allocated", ["allocated", "untold"]],
	["state", "unavailable", "unavailable", ["unavailable", "untold"]],
	["state", "unpublished", "not known yet", ["unpublished", "unpublished"]],
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
			return [name, { node, value, text }]
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
			devices: counts.devices, ...counts.state, unhealthy: counts.health.unhealthy, plugins: counts.plugins,
			trouble: model.troubledPools().length, waiting: model.reads("pods") ? model.waiting.size : undefined,
		}
		const unhealthy = { free: counts.freeUnhealthy, plugins: counts.pluginsUnhealthy }
		for (const [name, { node, value, text }] of this.figures) {
			setText(value, values[name] === undefined ? "–" : digits(values[name]))
			setText(node.lastChild, unhealthy[name] ? `${text}, ${digits(unhealthy[name])} unhealthy` : text)
			node.classList.toggle("some", values[name] > 0)
		}
		for (const name of ["unpublished", "plugins"])
			this.figures.get(name).node.hidden = !values[name]
		for (const { kind, value, node, sum } of this.chips) {
			setText(sum, digits(counts[kind][value]))
			node.hidden = value === "unpublished" && !counts.state.unpublished && node.getAttribute("aria-pressed") !== "true"
		}
	}

	setFilter(filter) {
		for (const { kind, value, node } of this.chips)
			node.setAttribute("aria-pressed", String(filter[kind].includes(value)))
	}
}
