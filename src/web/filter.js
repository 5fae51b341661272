// filter - which devices are shown: words, states and healths; and how that is kept in the address, so that a link shows
// the same. The first part is pure.
//
// Words must all be found, anywhere in what is known of a device, or in one field: node:, pool:, driver:, device:, claim:,
// pod:, ns:, model:, rack:. In quotation marks a word may have spaces, and a field must be all of it.
import { attributeText } from "./derive.js"

export const empty = () => ({ q: "", state: [], health: [], trouble: false, plugins: false, group: "node", view: "map", device: "", namespace: "", label: "", cluster: "", range: "6h" })

const lower = (text) => text.toLowerCase()

// All that is searched of a device, kept until it changes.
function textOf(d) {
	d.text ??= {
		node: [lower(d.node)], pool: [lower(d.pool)], driver: [lower(d.driver)], device: [lower(d.name)], model: [lower(d.kind)],
		claim: [...d.holders, ...d.admins].map((h) => lower(h.name)), pod: d.pods.map(lower),
		ns: [...[...d.holders, ...d.admins].map((h) => h.namespace), ...d.pods.map((p) => p.slice(0, p.indexOf("/")))].map(lower),
		all: [lower([
			d.key, d.node, d.slice ?? "", ...Object.values(d.attributes).map(attributeText), ...[...d.holders, ...d.admins].map((h) => `${h.namespace}/${h.name}`),
			...d.pods, d.message, d.reason, ...d.taints.map((t) => `${t.key}=${t.value ?? ""}`),
		].join("\n"))],
	}
	return d.text
}

// A word in quotation marks that is all of a field; names have no such marks, other texts lose them.
export const exactly = (field, text) => `${field}:"${text.replaceAll('"', "")}"`

// The words of a search: [{ field, word, whole }].
export function termsOf(q) {
	return [...lower(q).matchAll(/(?:(node|pool|driver|device|claim|pod|ns|model|rack):)?(?:"([^"]*)"|(\S+))/g)]
		.map(([, field = "all", whole, word = whole]) => ({ field, word, whole: whole !== undefined && field !== "all" }))
		.filter(({ word, whole }) => word || whole)
}

// A function that says whether a device is shown; undefined when all are. `troubled(device)` is of its pool, rackOf(device)
// the value of the label of its node that stands for a rack. States and
// healths find what the figures count: devices of slices.
export function matcher(filter, troubled = () => false, rackOf = () => "") {
	const terms = termsOf(filter.q)
	const states = new Set(filter.state), healths = new Set(filter.health)
	if (!terms.length && !states.size && !healths.size && !filter.trouble && !filter.plugins)
		return undefined
	return (d) => (!states.size || (!d.plugin && states.has(d.state))) && (!healths.size || (!d.plugin && healths.has(d.health))) &&
		(!filter.trouble || troubled(d)) && (!filter.plugins || d.plugin) && (!terms.length || found(textOf(d), terms, () => [lower(rackOf(d))]))
}

function found(text, terms, rack) {
	return terms.every(({ field, word, whole }) => (field === "rack" ? rack() : text[field]).some((t) => (whole ? t.replaceAll('"', "") === word : t.includes(word))))
}

const lists = ["state", "health"], flags = ["trouble", "plugins"]
const words = { group: ["node", "pool", "driver", "model", "namespace", "holder", "rack"], view: ["map", "list", "waiting", "history"], range: ["1h", "6h", "24h", "72h"] }

// Reads the address's fragment; what it does not know stays as it is by default.
export function parseFragment(fragment, { states, healths }) {
	const given = new URLSearchParams(fragment.replace(/^#/, "")), filter = empty()
	const known = { state: states, health: healths }
	filter.q = given.get("q") ?? ""
	filter.device = given.get("device") ?? ""
	filter.namespace = given.get("namespace") ?? ""
	filter.cluster = given.get("cluster") ?? ""
	filter.label = given.get("label") ?? ""
	for (const name of flags)
		filter[name] = given.get(name) === "1"
	for (const name of lists)
		filter[name] = (given.get(name) ?? "").split(",").filter((v) => known[name].includes(v))
	for (const [name, values] of Object.entries(words))
		if (values.includes(given.get(name)))
			filter[name] = given.get(name)
	return filter
}

export function formatFragment(filter) {
	const out = new URLSearchParams(), none = empty()
	for (const name of ["view", "group", "q", "device", "namespace", "label", "cluster", "range"])
		if (filter[name] !== none[name])
			out.set(name, filter[name])
	for (const name of lists)
		if (filter[name].length)
			out.set(name, filter[name].join(","))
	for (const name of flags)
		if (filter[name])
			out.set(name, "1")
	const text = out.toString().replaceAll("%2F", "/").replaceAll("%2C", ",").replaceAll("%3A", ":")
	return text ? `#${text}` : ""
}
