// dom - making elements, and telling time. Text from the server becomes text and attributes, never markup.

const SVG = "http://www.w3.org/2000/svg"

function fill(node, properties, children) {
	for (const [name, value] of Object.entries(properties ?? {})) {
		if (value === undefined || value === null || value === false)
			continue
		if (name === "text")
			node.textContent = value
		else if (name.startsWith("on"))
			node.addEventListener(name.slice(2), value)
		else
			node.setAttribute(name, value === true ? "" : value)
	}
	node.append(...children.flat(3).filter((c) => c !== undefined && c !== null && c !== false))
	return node
}

export const el = (tag, properties, ...children) => fill(document.createElement(tag), properties, children)
export const svg = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children)
export const byId = (id) => document.getElementById(id)

export function setText(node, text) {
	const wanted = String(text)
	if (node.textContent !== wanted)
		node.textContent = wanted
}

// replace() puts new content into `root`; the focus stays on the element with the same data-focus.
export function keepFocus(root, replace) {
	const focused = root.contains(document.activeElement) ? document.activeElement.dataset.focus : undefined
	replace()
	if (focused)
		[...root.querySelectorAll("[data-focus]")].find((n) => n.dataset.focus === focused)?.focus()
}

const number = new Intl.NumberFormat("en")
export const count = (n, one, many = `${one}s`) => `${number.format(n)} ${n === 1 ? one : many}`
export const digits = (n) => number.format(n)

// "12 s", "3 min", "2 h", "5 d".
export function span(ms) {
	const s = Math.max(0, Math.round(ms / 1000))
	if (s < 60)
		return `${s} s`
	if (s < 3600)
		return `${Math.floor(s / 60)} min`
	if (s < 172800)
		return `${Math.floor(s / 3600)} h`
	return `${Math.floor(s / 86400)} d`
}

const today = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" })
const otherDay = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" })

export function clock(at, now = Date.now()) {
	return (Math.abs(now - at) < 43_200_000 ? today : otherDay).format(at)
}

// An element that says how long ago something was; refreshAges() keeps it true.
export function ago(at) {
	const node = el("time", { class: "ago", datetime: new Date(at).toISOString(), title: new Date(at).toLocaleString(), "data-at": at })
	node.textContent = span(Date.now() - at)
	return node
}

export function refreshAges(root = document) {
	const now = Date.now()
	for (const node of root.querySelectorAll("time.ago"))
		setText(node, span(now - Number(node.dataset.at)))
}
