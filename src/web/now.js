// now - the figures of the dashboard that the page knows for this moment only: devices are counted one by one, and claims, pods, taint rules
// and pools when the figures are wanted. Pure. The metrics of the controller have the same figures (src/controller/devices).
import { capacityOf } from "./derive.js"
import { parseQuantity } from "./quantity.js"

// Namespaces, pools and drivers with lines of their own; the others are together.
export const LINES_MOST = 7
export const OTHERS = "others"
// The label of rules that the controller makes for unhealthy devices, and its value.
const MANAGED_BY = "devplane.dev/managed-by", HEALTH_TAINTS = "device-health-taints"

export const isFree = (state) => state === "free" || state === "partial"
export const poolName = ({ driver, pool }) => `${driver} ${pool}`

// Figures of the devices that were taken.
export class Figures {
	constructor() {
		Object.assign(this, { devices: 0, free: 0, allocated: 0, unhealthy: 0 })
		this.capacity = new Map() // "driver capacity": { total, left } of devices that claims share
		this.shares = new Map() // "driver pool": shares that claims hold, where devices can be shared
		this.pools = new Set() // "driver/pool"
	}

	take(d) {
		this.devices++
		this.free += isFree(d.state) ? 1 : 0
		this.allocated += d.state === "allocated" ? 1 : 0
		this.unhealthy += d.health === "unhealthy" ? 1 : 0
		this.pools.add(`${d.driver}/${d.pool}`)
		if (d.shareable)
			this.shares.set(poolName(d), (this.shares.get(poolName(d)) ?? 0) + d.holders.length + d.omitted)
		for (const { name, total, free } of capacityOf(d))
			if (free !== undefined)
				this.share(`${d.driver} ${name}`, parseQuantity(total), isFree(d.state) ? parseQuantity(free) : 0)
	}

	share(name, total, left) {
		const sum = this.capacity.get(name) ?? { total: 0, left: 0 }
		this.capacity.set(name, { total: sum.total + total, left: sum.left + left })
	}
}

// The entries with the largest values, and one for all others.
function largest(values) {
	const all = [...values].map(([name, value]) => ({ name, value })).sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1))
	const rest = all.slice(LINES_MOST)
	return rest.length ? [...all.slice(0, LINES_MOST), { name: OTHERS, value: rest.reduce((sum, { value }) => sum + value, 0) }] : all
}

const capacities = ({ capacity }) => [...capacity].map(([name, { left }]) => ({ name, value: left }))
const used = ({ capacity }) => [...capacity].filter(([, { total }]) => total > 0).map(([name, { total, left }]) => ({ name, value: 1 - left / total }))
const faults = ({ pools }, model) => largest([...model.pools.values()].filter((p) => p.errors && pools.has(p.key)).map((p) => [`${p.driver} ${p.name}`, p.errors]))

// Rules that the controller made because a device is unhealthy.
function taints(model, match) {
	const all = [...model.objects.rules.values()].filter(({ metadata, spec }) => {
		const { driver, pool, device } = spec.deviceSelector ?? {}
		const found = !match || model.devices.get(`${driver}/${pool}/${device}`)
		return metadata.labels?.[MANAGED_BY] === HEALTH_TAINTS && found && (!match || match(found))
	})
	return all.length ? [{ name: "tainted", value: all.length }] : []
}

// Since when the oldest claim of each state is in it: made for a pod and not allocated; being deleted.
function oldestClaims(model) {
	const since = new Map()
	for (const { metadata, status } of model.objects.claims.values()) {
		const pending = !status?.allocation && metadata.ownerReferences?.some((o) => o.kind === "Pod")
		const name = metadata.deletionTimestamp ? "deleting" : pending ? "pending" : ""
		if (name)
			since.set(name, Math.min(since.get(name) ?? Infinity, Date.parse(metadata.deletionTimestamp ?? metadata.creationTimestamp)))
	}
	return ["pending", "deleting"].filter((name) => since.has(name)).map((name) => ({ name, since: since.get(name) }))
}

// Pods with claims and without a node, by the controller's names of reasons: [{ name, value, since }], where since is of the oldest.
const causes = ["NotTried", "Gated", "NoDevice", "Claim", "SchedulerError", "Other"]
function waits(model) {
	const all = new Map()
	for (const { cause, since } of model.waiting.values())
		if (cause) {
			const sum = all.get(cause) ?? { name: cause, value: 0, since: Infinity }
			all.set(cause, { name: cause, value: sum.value + 1, since: Math.min(sum.since, since) })
		}
	return causes.filter((name) => all.has(name)).map((name) => all.get(name))
}

// Lists of { name, value } for each panel of this moment; ages have `since` instead of a value. match(device), or undefined if all count: pods and
// claims are not selected by it.
export function figuresNow(figures, model, match) {
	const waiting = waits(model)
	return {
		devices: figures.devices, free: figures.free, allocated: figures.devices ? figures.allocated / figures.devices : NaN, unhealthy: figures.unhealthy,
		lacking: model.reads("pods") ? waiting.find((w) => w.name === "NoDevice")?.value ?? 0 : NaN,
		capacity: capacities(figures), used: used(figures), shares: largest(figures.shares), faults: faults(figures, model), taints: taints(model, match),
		claims: oldestClaims(model), waiting: waiting.map(({ name, value }) => ({ name, value })), waits: waiting.map(({ name, since }) => ({ name, since })),
	}
}
