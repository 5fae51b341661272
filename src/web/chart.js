// chart - the drawing of one panel over time: lines or bars over an axis, and a cursor.
import { svg } from "./dom.js"
import { tickText, ticksOf } from "./timeline.js"

const WIDTH = 560, HEIGHT = 150, LEFT = 40, BELOW = 18, ABOVE = 6

const x = (i, steps) => LEFT + (WIDTH - LEFT) * i / steps
const y = (value, most) => HEIGHT - BELOW - (HEIGHT - BELOW - ABOVE) * value / most
const round = (n) => Math.round(n * 10) / 10

// Each value lasts for its step. A step without a value is a gap in the line.
function lineOf(values, most) {
	const joined = (i) => i > 0 && !Number.isNaN(values[i - 1])
	return values.map((v, i) => (Number.isNaN(v) ? "" : `${joined(i) ? "L" : "M"}${round(x(i, values.length))} ${round(y(v, most))}H${round(x(i + 1, values.length))}`)).join("")
}

// Bars side by side, one for each line.
function barsOf(values, most, line, lines) {
	return values.map((v, i) => (v ? `M${round(x(i, values.length) + (line + 0.5) * (WIDTH - LEFT) / values.length / lines)} ${HEIGHT - BELOW}V${round(y(v, most))}` : "")).join("")
}

function chartAxis(sums, most, said) {
	const lines = [0, most / 2, most].map((v) => [svg("path", { class: "tick", d: `M${LEFT} ${y(v, most)}H${WIDTH}` }), svg("text", { class: "axis end", x: LEFT - 5, y: y(v, most) + 3.5, text: said(v) })])
	const ticks = ticksOf(sums.from, sums.now).map((t) => {
		const at = LEFT + (WIDTH - LEFT) * (t - sums.from) / sums.span
		return [svg("path", { class: "tick", d: `M${at} ${HEIGHT - BELOW}v4` }), at < WIDTH - 50 && svg("text", { class: at < LEFT + 20 ? "axis" : "axis middle", x: at, y: HEIGHT - 4, text: tickText(t, sums.span) })]
	})
	return [lines, ticks, svg("text", { class: "axis end", x: WIDTH, y: HEIGHT - 4, text: "now" })]
}

// A round number that is not less, for the upper end of an axis.
export function roundUp(n) {
	const unit = 10 ** Math.floor(Math.log10(Math.max(1, n)))
	return Math.max(4, [1, 2, 4, 5, 10].map((x) => x * unit).find((x) => x >= n) ?? n)
}

// `lines` of Sums up to the value `most`, as bars or lines; kind(line, i) is the class of one, said(value) the text of a value.
export function chartOf(sums, lines, { most, bars, kind, said }) {
	const drawn = lines.map((l, i) => svg("path", { class: kind(l, i), d: (bars ? barsOf : lineOf)(l.values, most, i, lines.length) }))
	return svg("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" }, chartAxis(sums, most, said), drawn, svg("path", { class: "cursor", d: "" }))
}

// The cursor after `i` of so many steps, as a path.
export const cursorAt = (i, steps) => `M${x(i, steps)} ${ABOVE}V${HEIGHT - BELOW}`

// The step at a part of the drawing's width, from 0 to 1.
export const stepAt = (part, steps) => Math.min(steps - 1, Math.max(0, Math.floor((part * WIDTH - LEFT) / (WIDTH - LEFT) * steps)))
