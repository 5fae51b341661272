// export - devices as files: CSV for spreadsheets, JSON for programs. The browser makes them of what it has.
import { attributeText, capacityOf } from "./derive.js"
import { healthText, stateText } from "./words.js"

const users = (all) => all.map((h) => `${h.namespace}/${h.name}`)

// The capacity of a device in one line.
export const capacityText = (d) => capacityOf(d).map((c) => `${c.name} ${c.free === undefined ? c.total : `${c.free} free of ${c.total}`}`).join(", ")

const columns = {
	driver: (d) => d.driver, pool: (d) => d.pool, device: (d) => d.name, node: (d) => d.node, model: (d) => d.kind, state: (d) => stateText[d.state], reason: (d) => d.reason,
	health: (d) => healthText[d.health], message: (d) => d.message, since: (d) => (d.since ? new Date(d.since).toISOString() : ""),
	"held by": (d) => [...users(d.holders), ...d.omitted ? [`and ${d.omitted} more`] : []].join(", "), pods: (d) => d.pods.join(", "), capacity: capacityText,
}

// A spreadsheet computes a cell that begins like a formula: an apostrophe makes it text.
export function csvCell(text) {
	const safe = /^\s*[=+\-@]|^[\t\r\n]/.test(text) ? `'${text}` : text
	return `"${safe.replaceAll('"', '""')}"`
}

export function toCsv(devices) {
	const lines = [Object.keys(columns), ...devices.map((d) => Object.values(columns).map((of) => of(d)))]
	return lines.map((line) => `${line.map(csvCell).join(",")}\r\n`).join("")
}

const plain = (d) => ({
	driver: d.driver, pool: d.pool, device: d.name, node: d.node, model: d.kind, plugin: d.plugin, state: d.state, reason: d.reason, health: d.health, message: d.message,
	since: d.since ? new Date(d.since).toISOString() : null, source: d.healthFrom, holders: d.holders, omittedHolders: d.omitted, adminAccess: d.admins, pods: d.pods,
	capacity: Object.fromEntries(capacityOf(d).map(({ name, total, free }) => [name, { total, free }])), taints: d.taints,
	attributes: Object.fromEntries(Object.entries(d.attributes).map(([name, a]) => [name, attributeText(a)])),
})

export const toJson = (devices) => `${JSON.stringify(devices.map(plain), null, 2)}\n`

export function download(name, type, text) {
	const url = URL.createObjectURL(new Blob([text], { type })), a = document.createElement("a")
	a.href = url
	a.download = name
	a.click()
	setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
