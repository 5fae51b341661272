// timeline - a device's recent health, states and conditions as stretches of time, over an axis. Says what is not known.
import { clock, count, el, span, svg } from "./dom.js"
import { stretches } from "./history.js"
import { healthText, stateText } from "./words.js"

const WIDTH = 340, LANE = 22, GAP = 8, BEFORE = 26, AXIS = 22
const LEAST_MS = 20_000
const STORY_MOST = 12

const S = 1000, MIN = 60 * S, H = 60 * MIN, D = 24 * H
const STEPS = [5 * S, 10 * S, 30 * S, MIN, 2 * MIN, 5 * MIN, 10 * MIN, 30 * MIN, H, 2 * H, 6 * H, 12 * H, D, 2 * D, 7 * D, 14 * D, 30 * D, 90 * D, 365 * D]
const TICKS_MOST = 4

// Round times between two others, in the clock's own zone: at most TICKS_MOST.
export function ticksOf(from, to, offset = new Date(to).getTimezoneOffset() * MIN) {
	const step = STEPS.find((s) => (to - from) / s <= TICKS_MOST) ?? (to - from)
	const all = []
	for (let t = Math.ceil((from - offset) / step) * step + offset; t <= to; t += step)
		all.push(t)
	return all
}

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

function axis(from, now, height, scale) {
	const y = height - AXIS + 2
	const ticks = ticksOf(from, now).map((t) => {
		const x = scale(t), at = x < BEFORE + 24 ? "start" : x > WIDTH - 52 ? "" : "middle"
		return [svg("path", { class: "tick", d: `M${x} 13V${y + 3}` }), at && svg("text", { class: `axis ${at}`, x, y: height - 4, text: tickText(t, now - from) })]
	})
	return [ticks, svg("text", { class: "axis end", x: WIDTH, y: height - 4, text: "now" })]
}

const days = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" })
const minutes = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" })
const seconds = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" })

export function tickText(t, length) {
	if (length <= 4 * MIN)
		return seconds.format(t)
	return length > TICKS_MOST * 12 * H || new Date(t).getHours() + new Date(t).getMinutes() === 0 ? days.format(t) : minutes.format(t)
}

function spanTitle(s, text) {
	const from = s.from === undefined ? "before that" : `from ${clock(s.from)}`
	return `${text} ${from} until ${clock(s.to)}${s.holder ? `, claim ${s.holder}` : ""}${s.message ? `: ${s.message}` : ""}${s.sure ? "" : " (what came after is not known in full)"}`
}

const conditionKind = { True: "true", False: "false", Unknown: "unknown" }

// `records` of health and `kept` (see keptChanges() in history.js) and `conditions` are of the device; current is its health now, since
// when that is published, state its state, opened when the page first saw it.
export function timeline({ records, kept, conditions, current, state, since, opened, now }) {
	const known = (word) => (/^un(told|published)$/.test(word) ? undefined : word)
	const health = stretches(records, { current: known(current), since, opened, now })
	const states = kept?.state.length ? stretches(kept.state, { current: known(state), opened, now }) : []
	const starts = [...[...health, ...states].map((s) => s.from ?? s.to), ...conditions.map((c) => Date.parse(c.lastTransitionTime))].filter((t) => !Number.isNaN(t))
	if (!starts.length)
		return el("p", { class: "quiet", text: "Nobody has reported the health of this device." })
	const first = Math.min(...starts), from = Math.min(first, now - LEAST_MS)
	const scale = (t) => BEFORE + (WIDTH - BEFORE) * Math.min(1, Math.max(0, (t - from) / (now - from)))
	const lanes = []
	if (health.length)
		lanes.push(["health", health.map((s) => ({ ...s, kind: s.health, title: spanTitle(s, healthText[s.health]) }))])
	if (states.length)
		lanes.push(["state", states.map((s) => ({ ...s, kind: `of-${s.health}`, title: spanTitle(s, stateText[s.health] ?? s.health) }))])
	for (const c of conditions) {
		const at = Date.parse(c.lastTransitionTime)
		lanes.push([`${c.type} = ${c.status}`, [{ from: at, to: now, kind: conditionKind[c.status] ?? "unknown", title: `${c.type} is ${c.status} since ${clock(at)}${c.reason ? ` (${c.reason})` : ""}` }]])
	}
	const height = lanes.length * (LANE + GAP) + AXIS
	const drawing = svg("svg", { class: "timeline", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": `${states.length ? "health and states" : "health"} over the last ${span(now - from)}` },
		axis(from, now, height, scale), lanes.map(([name, parts], i) => lane(i * (LANE + GAP), name, parts, scale)))
	return [drawing, story(records, kept), el("p", { class: "quiet", text: knownText(records, kept, first, opened) })]
}

const sources = { event: (r) => `event of pod ${r.pod ?? ""}`, seen: () => "seen by this page", kept: (r) => (r.holder ? `kept by the controller; claim ${r.holder}` : "kept by the controller") }

function told(r, isState) {
	return el("li", {},
		el("time", { datetime: new Date(r.at).toISOString(), text: clock(r.at) }),
		el("span", { class: isState ? "word" : `word h-${r.health}`, text: (isState ? stateText[r.health] : healthText[r.health]) ?? r.health }),
		el("span", { text: `${r.message ? `${r.message} ` : ""}` }),
		el("span", { class: "quiet", text: sources[r.source](r) }))
}

function story(records, kept) {
	const all = [...records.map((r) => [r, false]), ...(kept?.state ?? []).map((r) => [r, true])].sort(([a], [b]) => b.at - a.at)
	return el("ol", { class: "story" }, all.slice(0, STORY_MOST).map(([r, isState]) => told(r, isState)))
}

function knownText(records, kept, first, opened) {
	if (kept)
		return `Known since ${clock(kept.from)}: the controller keeps the last changes of this device.${kept.omitted ? ` ${count(kept.omitted, "older change was", "older changes were")} dropped.` : ""}`
	const events = records.some((r) => r.source === "event")
	return events ? `Known since ${clock(first)}, from events and what this page saw. Events are kept for a while only, and tell of a flapping device at most once a minute.`
		: `Known since ${clock(Math.min(first, opened))}: no event tells of its past, and the page was opened at ${clock(opened)}.`
}
