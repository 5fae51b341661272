// timeline - a device's recent health, and its conditions, as stretches of time. Says what is not known.
import { clock, el, span, svg } from "./dom.js"
import { stretches } from "./history.js"
import { healthText } from "./glyph.js"

const WIDTH = 340, LANE = 22, GAP = 8, BEFORE = 26
const LEAST_MS = 20_000

function lane(y, label, parts, scale) {
	const out = [
		svg("text", { class: "lane-name", x: 0, y: y + 9, text: label }),
		svg("rect", { class: "track", x: 0, y: y + 13, width: WIDTH - 1, height: LANE - 10, rx: 2 }, svg("title", { text: "not known" })),
	]
	for (const p of parts) {
		const x0 = p.from === undefined ? 0 : scale(p.from)
		const x1 = Math.max(scale(p.to), x0 + 3)
		const rect = svg("rect", { class: `span ${p.kind}${p.from === undefined || p.sure === false ? " vague" : ""}`, x: x0, y: y + 13, width: Math.max(1, x1 - x0 - 1), height: LANE - 10, rx: 2 },
			svg("title", { text: p.title }))
		out.push(rect)
		if (p.kind === "unhealthy" && x1 - x0 > 14)
			out.push(svg("path", { class: "span-mark", d: `M${(x0 + x1) / 2 - 3} ${y + 16}l6 6m0 -6l-6 6` }))
	}
	return out
}

function spanTitle(s) {
	const from = s.from === undefined ? "before that" : `from ${clock(s.from)}`
	return `${healthText[s.health]} ${from} until ${clock(s.to)}${s.message ? `: ${s.message}` : ""}${s.sure ? "" : " (what came after is not known in full)"}`
}

const conditionKind = { True: "true", False: "false", Unknown: "unknown" }

// `records` and `conditions` are of the device; current is its health now, since when that is published, opened when the page
// first saw it.
export function timeline({ records, conditions, current, since, opened, now }) {
	const health = stretches(records, { current: /^un(told|published)$/.test(current) ? undefined : current, since, opened, now })
	const starts = [...health.map((s) => s.from ?? s.to), ...conditions.map((c) => Date.parse(c.lastTransitionTime))].filter((t) => !Number.isNaN(t))
	if (!starts.length)
		return el("p", { class: "quiet", text: "Nobody has reported the health of this device." })
	const known = Math.min(...starts), from = Math.min(known, now - LEAST_MS)
	const scale = (t) => BEFORE + (WIDTH - BEFORE) * Math.min(1, Math.max(0, (t - from) / (now - from)))
	const lanes = []
	if (health.length)
		lanes.push(["health", health.map((s) => ({ ...s, kind: s.health, title: spanTitle(s) }))])
	for (const c of conditions) {
		const at = Date.parse(c.lastTransitionTime)
		lanes.push([`${c.type} = ${c.status}`, [{ from: at, to: now, kind: conditionKind[c.status] ?? "unknown", title: `${c.type} is ${c.status} since ${clock(at)}${c.reason ? ` (${c.reason})` : ""}` }]])
	}
	const height = lanes.length * (LANE + GAP) + 16
	const drawing = svg("svg", { class: "timeline", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": `health over the last ${span(now - from)}` },
		lanes.map(([name, parts], i) => lane(i * (LANE + GAP), name, parts, scale)),
		svg("text", { class: "axis", x: BEFORE, y: height - 3, text: clock(from) }),
		svg("text", { class: "axis end", x: WIDTH, y: height - 3, text: "now" }))
	return [drawing, story(records), el("p", { class: "quiet", text: knownText(records, known, opened) })]
}

function story(records) {
	return el("ol", { class: "story" }, records.slice(-6).reverse().map((r) => el("li", {},
		el("time", { datetime: new Date(r.at).toISOString(), text: clock(r.at) }),
		el("span", { class: `word h-${r.health}`, text: healthText[r.health] }),
		el("span", { text: `${r.message ? `${r.message} ` : ""}` }),
		el("span", { class: "quiet", text: r.source === "event" ? `event of pod ${r.pod ?? ""}` : "seen by this page" }))))
}

function knownText(records, known, opened) {
	const events = records.some((r) => r.source === "event")
	return events ? `Known since ${clock(known)}, from events and what this page saw. Events are kept for a while only, and tell of a flapping device at most once a minute.`
		: `Known since ${clock(Math.min(known, opened))}: no event tells of its past, and the page was opened at ${clock(opened)}.`
}
