// filter - which devices are shown: words, states and healths; and how that is kept in the address, so that a link shows
// the same. The first part is pure.
//
// Words must all be found, anywhere in what is known of a device, or in one field: node:, pool:, driver:, device:, claim:,
// pod:, ns:, model:.
import { attributeText } from "./derive.js"

export const empty = () => ({ q: "", state: [], health: [], trouble: false, plugins: false, group: "node", view: "map", device: "", namespace: "" })

const lower = (text) => text.toLowerCase()

// All that is searched of a device, kept until it changes.
function textOf(d) {
	d.text ??= {
		node: lower(d.node), pool: lower(d.pool), driver: lower(d.driver), device: lower(d.name), model: lower(d.kind),
		claim: lower([...d.holders, ...d.admins].map((h) => h.name).join(" ")), pod: lower(d.pods.join(" ")),
		ns: lower([...[...d.holders, ...d.admins].map((h) => h.namespace), ...d.pods.map((p) => p.slice(0, p.indexOf("/")))].join(" ")),
		all: lower([
			d.key, d.node, d.slice ?? "", ...Object.values(d.attributes).map(attributeText), ...[...d.holders, ...d.admins].map((h) => `${h.namespace}/${h.name}`),
			...d.pods, d.message, d.reason, ...d.taints.map((t) => `${t.key}=${t.value ?? ""}`),
		].join("\n")),
	}
	return d.text
}

function term(word) {
	const parts = /^(node|pool|driver|device|claim|pod|ns|model):(.+)$/.exec(word)
	return parts ? [parts[1], parts[2]] : ["all", word]
}

// A function that says whether a device is shown; undefined when all are. `troubled(device)` is of its pool. States and
// healths find what the figures count: devices of slices.
export function matcher(filter, troubled = () => false) {
	const terms = lower(filter.q).split(/\s+/).filter(Boolean).map(term)
	const states = new Set(filter.state), healths = new Set(filter.health)
	if (!terms.length && !states.size && !healths.size && !filter.trouble && !filter.plugins)
		return undefined
	return (d) => (!states.size || (!d.plugin && states.has(d.state))) && (!healths.size || (!d.plugin && healths.has(d.health))) &&
		(!filter.trouble || troubled(d)) && (!filter.plugins || d.plugin) && (!terms.length || found(textOf(d), terms))
}

function found(text, terms) {
	return terms.every(([field, word]) => text[field].includes(word))
}

const lists = ["state", "health"], flags = ["trouble", "plugins"]
const words = { group: ["node", "pool", "driver", "model"], view: ["map", "list", "waiting"] }

// Reads the address's fragment; what it does not know stays as it is by default.
export function parseFragment(fragment, { states, healths }) {
	const given = new URLSearchParams(fragment.replace(/^#/, "")), filter = empty()
	const known = { state: states, health: healths }
	filter.q = given.get("q") ?? ""
	filter.device = given.get("device") ?? ""
	filter.namespace = given.get("namespace") ?? ""
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
	for (const name of ["view", "group", "q", "device", "namespace"])
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
