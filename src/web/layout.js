// layout - how devices are put into blocks and sections of the map, and how dense it is. Pure.

import { exactly } from "./filter.js"

const order = new Intl.Collator("en", { numeric: true, sensitivity: "base" })
export const compare = (a, b) => order.compare(a, b)

// Units of a square, and of one letter of a name below it.
const UNIT = 20, LETTER = 3.1

// Sizes by the number of devices: columns of a section and height of a row in units (20 is a square). Sizes in pixels
// are in style.css, by the same names.
const densities = [
	{ name: "large", most: 96, columns: 6, row: 28, labels: true },
	{ name: "normal", most: 2500, columns: 14, row: 20, labels: false },
	{ name: "dense", most: Infinity, columns: 20, row: 20, labels: false },
]

// The density for so many devices; the one that there is stays until it clearly does not fit.
export function densityFor(count, current) {
	if (current && count <= current.most * 1.15 && !densities.some((d) => d.most < current.most && count <= d.most * 0.85))
		return current
	return densities.find((d) => count <= d.most)
}

function holdersOf(d, group) {
	const users = [...d.holders, ...d.admins]
	if (group === "holder")
		return users.length ? users.map((h) => `${h.namespace}/${h.name}`) : d.pods
	return [...users.map((h) => h.namespace), ...d.pods.map((p) => p.slice(0, p.indexOf("/")))]
}

// A block for the one who has the device; shared ones are together.
function heldPlace(d, group) {
	const names = [...new Set(holdersOf(d, group))]
	if (!names.length)
		return { block: "|", title: "nobody", kind: "none", q: "" }
	if (names.length > 1 || d.omitted)
		return { block: "+", title: `several ${group}s`, kind: "none", q: "" }
	const [name] = names, slash = name.indexOf("/")
	const claim = d.holders.length + d.admins.length > 0
	const q = group === "namespace" ? exactly("ns", name) : claim ? `${exactly("ns", name.slice(0, slash))} ${exactly("claim", name.slice(slash + 1))}` : exactly("pod", name)
	return { block: `=${name}`, title: name, kind: group, q }
}

// The block and the section of a device: { block, title, kind, q, section, label, labelQ }; q and labelQ are searches that find what title and
// label name, or "". `rack` is that of its node.
export function placeOf(d, group, rack = "") {
	const pool = `${d.driver}/${d.pool}`
	const own = d.pool === d.node || d.pool === d.driver ? "" : d.pool
	const where = d.node || "network", whereQ = d.node ? exactly("node", d.node) : exactly("pool", d.pool)
	const driverQ = [exactly("driver", d.driver), ...own ? [exactly("pool", d.pool)] : []].join(" ")
	const there = { section: `${where}|${pool}`, label: own && own !== where ? `${where} · ${own}` : where, labelQ: whereQ }
	if (group === "pool")
		return { block: `${d.plugin ? d.node : ""}|${pool}`, title: d.plugin ? `${d.node} ${d.pool}` : d.pool, kind: "pool", q: exactly("pool", d.pool), section: where, label: d.driver, labelQ: exactly("driver", d.driver) }
	if (group === "driver")
		return { block: d.driver, title: d.driver, kind: "driver", q: exactly("driver", d.driver), ...there }
	if (group === "model")
		return { block: d.kind, title: d.kind, kind: "model", q: exactly("model", d.kind), ...there, label: where }
	if (group === "rack")
		return { block: `=${rack}`, title: rack || "no rack", kind: rack ? "rack" : "none", q: rack && exactly("rack", rack), ...there }
	if (group === "namespace" || group === "holder")
		return { ...heldPlace(d, group), ...there }
	if (d.node)
		return { block: d.node, title: d.node, kind: "node", q: exactly("node", d.node), section: pool, label: own ? `${d.driver} · ${own}` : d.driver, labelQ: driverQ }
	return { block: `|${pool}`, title: d.pool, kind: "network", q: exactly("pool", d.pool), section: pool, label: `${d.driver} · over the network`, labelQ: exactly("driver", d.driver) }
}

// Groups whose blocks have a section for each node and pool.
export const isWide = (group) => !["node", "pool"].includes(group)

// Network-attached pools come after nodes, and devices that are of nothing after all.
export function compareBlocks(a, b) {
	const last = (x) => x.kind === "network" || x.kind === "none"
	return last(a) - last(b) || compare(a.title, b.title) || compare(a.key, b.key)
}

// How wide a square with its name is, in units, and how many stand in a row: fewer, and further apart, where names are long.
export function spacing(density, longest) {
	const step = density.labels ? Math.max(UNIT, Math.ceil(longest * LETTER) + 2) : UNIT
	return { step, columns: Math.max(1, Math.floor(density.columns * UNIT / step)) }
}
