// layout - how devices are put into blocks and sections of the map, and how dense it is. Pure.

const order = new Intl.Collator("en", { numeric: true, sensitivity: "base" })
export const compare = (a, b) => order.compare(a, b)

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

// The block and the section of a device: { block, title, kind, section, label }.
export function placeOf(d, group) {
	const pool = `${d.driver}/${d.pool}`
	const own = d.pool === d.node || d.pool === d.driver ? "" : d.pool
	const where = d.node || "network"
	if (group === "pool")
		return { block: `${d.plugin ? d.node : ""}|${pool}`, title: d.plugin ? `${d.node} ${d.pool}` : d.pool, kind: "pool", section: where, label: d.driver }
	if (group === "driver")
		return { block: d.driver, title: d.driver, kind: "driver", section: `${where}|${pool}`, label: own && own !== where ? `${where} · ${own}` : where }
	if (group === "model")
		return { block: d.kind, title: d.kind, kind: "model", section: `${where}|${pool}`, label: where }
	if (d.node)
		return { block: d.node, title: d.node, kind: "node", section: pool, label: own ? `${d.driver} · ${own}` : d.driver }
	return { block: `|${pool}`, title: d.pool, kind: "network", section: pool, label: `${d.driver} · over the network` }
}

// Network-attached pools come after nodes.
export function compareBlocks(a, b) {
	return (a.kind === "network") - (b.kind === "network") || compare(a.title, b.title) || compare(a.key, b.key)
}

// A name that fits under a square. Devices differ in the end of their names.
export function shortName(name, most = 8) {
	return name.length <= most ? name : `…${name.slice(1 - most)}`
}
