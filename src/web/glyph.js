// glyph - the sign of a device: its form says the state, colour and mark say the health. One drawing for map, legend, list
// and detail.
//
//	free: an empty square      partly used: half full      allocated: full      unavailable: dashed, struck through
//	not known yet: dotted, no mark
//	healthy: a dot      unhealthy: red, a cross      unknown: amber, a question mark      not reported: nothing
import { svg } from "./dom.js"

export const UNIT = 20

const marks = {
	unhealthy: "M6.6 6.6l6.8 6.8M13.4 6.6l-6.8 6.8",
	unknown: "M7.7 8.1a2.3 2.3 0 1 1 3.5 2c-.8.5-1.2.9-1.2 1.8M10 14.3v.1",
	healthy: "M10 10v.01",
	unavailable: "M5.6 14.4l8.8-8.8",
}

const template = svg("g", { class: "d", role: "button", tabindex: "-1" }, svg("rect", { class: "b", x: 2, y: 2, width: 16, height: 16, rx: 4 }))

export function makeGlyph() {
	return template.cloneNode(true)
}

function part(g, name, d) {
	let node = g.querySelector(`.${name}`)
	if (!d) {
		node?.remove()
		return
	}
	if (!node)
		g.append((node = svg("path", { class: name })))
	if (node.getAttribute("d") !== d)
		node.setAttribute("d", d)
}

// Makes the sign that of a state and a health.
export function drawGlyph(g, state, health) {
	const kind = `d s-${state} h-${health}`
	if (g.dataset.kind === kind)
		return
	g.dataset.kind = kind
	for (const name of [...g.classList])
		if (/^[sh]-/.test(name))
			g.classList.remove(name)
	g.classList.add("d", `s-${state}`, `h-${health}`)
	part(g, "f", state === "partial" ? "M3 10h14v4a3 3 0 0 1-3 3h-8a3 3 0 0 1-3-3z" : "")
	part(g, "m", marks[health] && !(state === "unavailable" && health === "healthy") ? marks[health] : marks[state] ?? "")
}

// One sign by itself, for texts beside it.
export function sign(state, health, size = 16) {
	const g = svg("g", {}, svg("rect", { class: "b", x: 2, y: 2, width: 16, height: 16, rx: 4 }))
	drawGlyph(g, state, health)
	return svg("svg", { class: "sign", viewBox: `0 0 ${UNIT} ${UNIT}`, width: size, height: size, "aria-hidden": "true", focusable: "false" }, g)
}
