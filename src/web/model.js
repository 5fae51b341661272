// model - what the page knows about devices, put together from ResourceSlices, ResourceClaims, Pods, Nodes, taint rules
// and Events. States and health are those that slices publish: see derive.js. Pure: no DOM, no network, the clock is passed in.
//
//	model.replace("slices", items)           what a list answered
//	model.apply("claims", claim, gone)       one event of a watch
//	const changes = model.take()             what differs since the last take()
//
// An event costs what it is about: apply() notes which devices it may concern, take() looks at each of those once,
// however many events there were.
import { History, keptChanges, merge } from "./history.js"
import { describeDevice, newestSlices, poolTrouble, taintedBy } from "./derive.js"
import { claimsOf, ended, isDeviceResource, nameOf, pluginKey, reportKey, reportsOf, waitOf } from "./pods.js"

// "unpublished" is a device whose slice has no status, or one of an older version of the slice.
export const STATES = ["free", "partial", "allocated", "unavailable", "unpublished"]
export const HEALTHS = ["healthy", "unhealthy", "unknown", "untold"]
const HEALTHS_TOLD = ["healthy", "unhealthy", "unknown"]
export const RESOURCES = ["slices", "statuses", "claims", "pods", "nodes", "rules", "classes", "events", "histories"]

// If a plugin's resource has more units than this, only those in use are shown: they are not single devices.
const UNNAMED_MAX = 256

const RACK_LABELS = ["topology.kubernetes.io/rack", "topology.kubernetes.io/zone"]

const eventText = /^Device (\S+) of (\S+): (\w+) -> (\w+)(?:: ([\s\S]*))?$/
const lower = (text) => String(text).toLowerCase()

function group(map, key, make) {
	let found = map.get(key)
	if (!found)
		map.set(key, (found = make()))
	return found
}

// What explain-fit looks at of an object, as text.
const fitParts = {
	slices: ({ metadata }) => [metadata.uid, metadata.generation],
	claims: ({ metadata, status }) => [metadata.uid, metadata.generation, status?.allocation],
	classes: ({ metadata }) => [metadata.uid, metadata.resourceVersion],
	rules: ({ metadata }) => [metadata.uid, metadata.resourceVersion],
	nodes: ({ metadata, spec }) => [metadata.uid, metadata.labels, spec?.taints, spec?.unschedulable],
}
const fitOf = (resource, object) => (object && fitParts[resource] ? JSON.stringify(fitParts[resource](object)) : "")

export class Model {
	constructor({ now = () => Date.now() } = {}) {
		this.now = now
		this.opened = now()
		this.context = "" // the name of the cluster, where there are several
		this.access = Object.fromEntries(RESOURCES.map((r) => [r, "loading"]))
		this.objects = Object.fromEntries(RESOURCES.map((r) => [r, new Map()]))
		this.devices = new Map() // key: device, see derive.js
		this.pools = new Map() // "driver/pool": { driver, name, slices, trouble, errors }
		this.poolNames = new Map() // name: how many pools have it
		this.offers = new Map() // device key: Map(slice name: device of its spec)
		this.admins = new Map() // device key: Map(claim name: results with access for administrators)
		this.reports = new Map() // key of a plugin's device: Map(pod name: reports)
		this.users = new Map() // claim name: Set(pod name)
		this.plugins = new Map() // "node|resource": { node, resource, capacity, allocatable, unnamed }
		this.histories = new Map() // device key: History of what events said and the page saw
		this.kept = new Map() // device key: see keptChanges() in history.js
		this.waiting = new Map() // pod name: see pods.js
		this.counts = this.noCounts()
		this.fitVersion = 0 // another one when something has changed that explain-fit looks at
		this.unpublishedSince = 0 // when counts.state.unpublished became other than 0
		this.stale = { devices: new Set(), pools: new Set(), plugins: new Set(), pods: new Set() }
		this.touched = { nodes: new Set(), labels: new Set(), claims: new Set(), rules: false }
		this.live = false
	}

	// Of devices that slices publish: devices is the sum of all states. Each of them has a health, unless its state is
	// unpublished. freeUnhealthy is in both. Devices of plugins are counted apart.
	noCounts() {
		const zero = (names) => Object.fromEntries(names.map((n) => [n, 0]))
		return { devices: 0, state: zero(STATES), health: zero(HEALTHS), freeUnhealthy: 0, plugins: 0, pluginsUnhealthy: 0 }
	}

	// From now on a change of health is something that was seen.
	goLive() {
		this.live = true
		this.opened = this.now()
	}

	// "loading", "ok", "forbidden" or "missing". If a resource can no longer be read, its objects are dropped.
	setAccess(resource, access) {
		if (this.access[resource] === access)
			return
		this.access[resource] = access
		if (access === "forbidden" || access === "missing")
			this.replace(resource, [])
		if (resource === "claims")
			this.objects.pods.forEach((_, key) => this.stale.pods.add(key))
	}

	replace(resource, items) {
		const names = new Set(items.map(nameOf))
		for (const [name, object] of this.objects[resource])
			if (!names.has(name))
				this.apply(resource, object, true)
		for (const item of items)
			this.apply(resource, item)
	}

	apply(resource, object, gone = false) {
		const all = this.objects[resource], name = nameOf(object), old = all.get(name)
		if (gone)
			all.delete(name)
		else
			all.set(name, object)
		if (fitOf(resource, old) !== fitOf(resource, gone ? undefined : object))
			this.fitVersion++
		this[`on_${resource}`](name, old, gone ? undefined : object)
	}

	// --- what each kind of object concerns ---------------------------------------------------

	on_slices(name, old, now) {
		for (const object of [old, now]) {
			if (!object)
				continue
			const { driver, pool, devices = [] } = object.spec
			const poolKey = `${driver}/${pool.name}`
			const known = group(this.pools, poolKey, () => ({ key: poolKey, driver, name: pool.name, slices: new Map(), newest: undefined, trouble: [], errors: 0 }))
			if (object === now)
				known.slices.set(name, object)
			else
				known.slices.delete(name)
			for (const device of devices) {
				const key = `${poolKey}/${device.name}`
				const offers = group(this.offers, key, () => new Map())
				if (object === now)
					offers.set(name, device)
				else
					offers.delete(name)
				this.stale.devices.add(key)
			}
			// Another generation changes which of the other slices count.
			if (!old || !now || old.spec.pool.generation !== now.spec.pool.generation)
				for (const slice of known.slices.values())
					for (const device of slice.spec.devices ?? [])
						this.stale.devices.add(`${poolKey}/${device.name}`)
			this.stale.pools.add(poolKey)
		}
	}

	// Where slices have no status, these objects have it.
	on_statuses(name) {
		const slice = this.objects.slices.get(name)
		if (!slice)
			return
		const pool = `${slice.spec.driver}/${slice.spec.pool.name}`
		for (const device of slice.spec.devices ?? [])
			this.stale.devices.add(`${pool}/${device.name}`)
		this.stale.pools.add(pool)
	}

	// The changes that the controller keeps of a pool's devices.
	on_histories(name, old, now) {
		for (const object of [old, now])
			for (const device of object?.status?.devices ?? []) {
				const key = `${object.spec.driver}/${object.spec.pool.name}/${device.name}`
				if (object === now)
					this.kept.set(key, keptChanges(object, device))
				else
					this.kept.delete(key)
				this.stale.devices.add(key)
			}
	}

	on_classes() {
		this.objects.pods.forEach((_, name) => this.stale.pods.add(name))
	}

	on_claims(name, old, now) {
		for (const object of [old, now])
			for (const result of object?.status?.allocation?.devices?.results ?? []) {
				const key = `${result.driver}/${result.pool}/${result.device}`
				if (result.adminAccess && object === old)
					this.admins.get(key)?.delete(name)
				else if (result.adminAccess)
					group(group(this.admins, key, () => new Map()), name, () => []).push(result)
				if (!this.admins.get(key)?.size)
					this.admins.delete(key)
				this.stale.devices.add(key)
			}
		for (const pod of this.users.get(name) ?? [])
			this.stale.pods.add(pod)
		this.touched.claims.add(name)
	}

	on_pods(name, old, now) {
		for (const pod of [old, now]) {
			if (!pod)
				continue
			for (const { claim } of claimsOf(pod))
				if (claim) {
					const users = group(this.users, `${pod.metadata.namespace}/${claim}`, () => new Set())
					users[pod === now ? "add" : "delete"](name)
				}
			for (const report of ended(pod) ? [] : reportsOf(pod)) {
				const of = group(this.reports, report.key, () => new Map())
				if (pod === now)
					group(of, name, () => []).push(report)
				else
					of.delete(name)
				this.stale.devices.add(report.key)
				this.pluginOf(pod.spec.nodeName ?? "", report.resource).named.add(report.key)
			}
		}
		this.stale.pods.add(name)
	}

	on_nodes(name, old, now) {
		const resources = new Set([...Object.keys(old?.status?.capacity ?? {}), ...Object.keys(now?.status?.capacity ?? {})])
		for (const resource of resources) {
			if (!isDeviceResource(resource))
				continue
			const plugin = this.pluginOf(name, resource)
			plugin.capacity = Number(now?.status?.capacity?.[resource] ?? 0)
			plugin.allocatable = Number(now?.status?.allocatable?.[resource] ?? 0)
		}
		this.touched.nodes.add(name)
		if (JSON.stringify(old?.metadata.labels) !== JSON.stringify(now?.metadata.labels))
			this.touched.labels.add(name)
	}

	on_rules() {
		this.touched.rules = true
	}

	on_events(name, old, now) {
		const parts = eventText.exec(now?.message ?? "")
		if (!parts || !/^Device(Unhealthy|Healthy|HealthUnknown)$/.test(now.reason))
			return
		const [, id, resource, before, after, message = ""] = parts
		const pod = this.objects.pods.get(`${now.involvedObject?.namespace}/${now.involvedObject?.name}`)
		const node = now.source?.host || now.reportingInstance || pod?.spec?.nodeName || ""
		const key = reportKey(resource, id, node)
		const at = Date.parse(now.series?.lastObservedTime ?? now.lastTimestamp ?? now.eventTime ?? now.metadata.creationTimestamp)
		const history = group(this.histories, key, () => new History())
		history.add({ at, health: lower(after), before: lower(before), message, source: "event", pod: now.involvedObject?.name })
		this.stale.devices.add(key)
	}

	pluginOf(node, resource) {
		const key = `${node}|${resource}`
		this.stale.plugins.add(key)
		return group(this.plugins, key, () => ({ node, resource, capacity: 0, allocatable: 0, unnamed: 0, named: new Set() }))
	}

	// --- what became of it --------------------------------------------------------------------

	// { devices, added, removed, touched: sets of keys; pools, nodes, labels (of nodes), claims, pods: sets of names; waiting, rules: bool }. `devices`
	// look different; `touched` were looked at, and may differ in what only a close look shows.
	take() {
		const { stale } = this
		const changes = {
			devices: new Set(), added: new Set(), removed: new Set(), touched: new Set(), pools: new Set(),
			...this.touched, pods: stale.pods, waiting: false,
		}
		this.stale = { devices: new Set(), pools: new Set(), plugins: new Set(), pods: new Set() }
		this.touched = { nodes: new Set(), labels: new Set(), claims: new Set(), rules: false }
		stale.plugins.forEach((key) => this.refreshUnnamed(key, changes))
		stale.pools.forEach((key) => this.refreshPool(key, changes))
		stale.devices.forEach((key) => this.refreshDevice(key, changes))
		stale.pods.forEach((name) => this.refreshWait(name, changes))
		return changes
	}

	refreshPool(key, changes) {
		const pool = this.pools.get(key)
		if (!pool)
			return
		if (!pool.newest)
			this.poolNames.set(pool.name, (this.poolNames.get(pool.name) ?? 0) + 1)
		const before = pool.trouble.join("\n")
		pool.newest = newestSlices(pool)
		Object.assign(pool, poolTrouble(this, pool))
		if (!pool.slices.size) {
			const others = this.poolNames.get(pool.name) - 1
			others ? this.poolNames.set(pool.name, others) : this.poolNames.delete(pool.name)
			this.pools.delete(key)
		}
		if (before !== pool.trouble.join("\n") || !pool.slices.size)
			changes.pools.add(key)
	}

	refreshDevice(key, changes) {
		const old = this.devices.get(key), now = describeDevice(this, key)
		changes.touched.add(key)
		if (!now) {
			if (old)
				this.drop(key, old, changes)
			this.forget(key)
			return
		}
		this.put(old, now, changes)
	}

	put(old, now, changes) {
		const { key } = now
		// While nothing is published, the last health that was counts.
		now.told = now.health === "unpublished" ? old?.told : now.health
		if (!old) {
			this.count(now, 1)
			this.devices.set(key, now)
			changes[changes.removed.delete(key) ? "devices" : "added"].add(key)
			return
		}
		const seen = old.look
		if (seen === now.look) {
			Object.assign(old, now, { text: undefined })
			return
		}
		if (this.live && old.told !== now.told)
			this.saw(old, now)
		this.count(old, -1)
		this.count(now, 1)
		// Others hold on to the object.
		Object.assign(old, now, { text: undefined })
		changes.devices.add(key)
	}

	// A device that nobody says anything about any more did not change its health.
	saw(old, now) {
		if (!HEALTHS_TOLD.includes(now.health))
			return
		const before = HEALTHS_TOLD.includes(old.told) ? old.told : undefined
		group(this.histories, now.key, () => new History()).add({ at: now.since ?? this.now(), health: now.health, before, message: now.message, source: "seen" })
	}

	drop(key, old, changes) {
		this.count(old, -1)
		this.devices.delete(key)
		if (!changes.added.delete(key))
			changes.removed.add(key)
	}

	forget(key) {
		for (const map of [this.offers, this.reports])
			if (map.get(key)?.size === 0)
				map.delete(key)
	}

	count({ plugin, state, health }, by) {
		const { counts } = this
		if (plugin) {
			counts.plugins += by
			counts.pluginsUnhealthy += health === "unhealthy" ? by : 0
			return
		}
		counts.devices += by
		counts.state[state] += by
		if (health in counts.health)
			counts.health[health] += by
		counts.freeUnhealthy += state === "free" && health === "unhealthy" ? by : 0
		if (!counts.state.unpublished)
			this.unpublishedSince = 0
		else
			this.unpublishedSince ||= this.now()
	}

	// Devices of plugins that no pod has: how many there are is known, their names are not.
	refreshUnnamed(key, changes) {
		const plugin = this.plugins.get(key)
		for (const k of plugin.named)
			if (!this.reports.get(k)?.size)
				plugin.named.delete(k)
		const named = [...plugin.named]
		const broken = named.filter((k) => [...this.reports.get(k).values()].some((r) => r.some((x) => x.health !== "healthy"))).length
		const count = plugin.capacity > UNNAMED_MAX ? 0 : Math.max(0, plugin.capacity - named.length)
		const unusable = Math.max(0, plugin.capacity - plugin.allocatable - broken)
		for (let i = 0; i < Math.max(count, plugin.unnamed); i++) {
			const own = pluginKey(plugin.node, plugin.resource, `#${i + 1}`)
			const old = this.devices.get(own)
			if (i >= count && old)
				this.drop(own, old, changes)
			else if (i < count)
				this.put(old, this.unnamed(own, plugin, i, i >= count - unusable), changes)
		}
		plugin.unnamed = count
		if (!count && !named.length && !plugin.capacity)
			this.plugins.delete(key)
	}

	unnamed(key, { node, resource }, i, broken) {
		const state = broken ? "unavailable" : "free", health = broken ? "unhealthy" : "untold"
		const reason = broken ? "its plugin does not offer it" : ""
		return {
			key, driver: resource, pool: resource, name: `#${i + 1}`, node, plugin: true, unnamed: true, kind: resource,
			state, health, reason, message: reason, since: undefined, healthFrom: broken ? "node" : "", holders: [], omitted: 0, admins: [], taints: [], pods: [],
			attributes: {}, capacity: {}, available: {}, look: `${state} ${health}`,
		}
	}

	refreshWait(name, changes) {
		const pod = this.objects.pods.get(name), old = this.waiting.get(name)
		const now = pod && waitOf(pod, (ns, claim) => (this.reads("claims") ? this.objects.claims.get(`${ns}/${claim}`) : null))
		if (now)
			this.waiting.set(name, now)
		else
			this.waiting.delete(name)
		if (old || now)
			changes.waiting = true
	}

	reads(resource) {
		return this.access[resource] !== "forbidden" && this.access[resource] !== "missing"
	}

	// --- questions ------------------------------------------------------------------------------

	// Changes of the device's health, oldest first.
	history(key) {
		return merge(this.kept.get(key)?.health ?? [], this.histories.get(key)?.records ?? [])
	}

	// Since when the device's health has been what it is, or undefined if nobody said.
	since(device) {
		return device.since ?? this.histories.get(device.key)?.since(device.health)
	}

	// The claim of a holder, if it can be read and is still the same.
	claimOf({ namespace, name, uid }) {
		const claim = this.objects.claims.get(`${namespace}/${name}`)
		return claim?.metadata.uid === uid ? claim : undefined
	}

	// The taints that rules put on a device, with the names of the rules.
	ruleTaints(key) {
		return [...this.objects.rules].filter(([, rule]) => rule.spec?.deviceSelector && taintedBy(rule.spec.deviceSelector, key))
			.map(([name, rule]) => ({ ...rule.spec.taint, rule: name }))
	}

	// The label of nodes that stands for a rack: the one that the user chose, or else a usual one that some node has.
	rackLabel(chosen) {
		const has = (label) => [...this.objects.nodes.values()].some((n) => n.metadata.labels?.[label] !== undefined)
		return chosen || RACK_LABELS.find(has) || RACK_LABELS[0]
	}

	labelOf(node, label) {
		return this.objects.nodes.get(node)?.metadata.labels?.[label] ?? ""
	}

	// The labels that nodes have.
	nodeLabels() {
		return [...new Set([...this.objects.nodes.values()].flatMap((n) => Object.keys(n.metadata.labels ?? {})))].sort()
	}

	nodeReady(name) {
		const node = this.objects.nodes.get(name)
		return node && (node.status?.conditions?.find((c) => c.type === "Ready")?.status ?? "Unknown")
	}

	troubledPools() {
		return [...this.pools.values()].filter((p) => p.trouble.length)
	}
}
