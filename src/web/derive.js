// derive - one device as the page shows it, computed from all that is known of it. Pure; used by model.js.
//
// A device is { key, driver, pool, name, node, kind, state, reason, health, message, healthFrom, holders, pods, taints,
// attributes, capacity, look }. `look` is equal for devices that look the same on the map. holders are
// { namespace, name, request, consumed, admin, share }; pods are names of those that use it.
import { formatQuantity, parseQuantity } from "./quantity.js"
import { ended } from "./pods.js"

// DRIVER/POOL/DEVICE: a pool's name may have slashes, the others have none.
export function splitKey(key) {
	const first = key.indexOf("/"), last = key.lastIndexOf("/")
	return { driver: key.slice(0, first), pool: key.slice(first + 1, last), name: key.slice(last + 1) }
}

// Whether a rule with this selector is about the device.
export function taintedBy(selector, key) {
	const { driver, pool, name } = splitKey(key)
	return (selector.driver ?? driver) === driver && (selector.pool ?? pool) === pool && (selector.device ?? name) === name
}

// The slices of a pool that count: those of its newest generation; older ones too until the newest is complete.
export function newestSlices(pool) {
	const all = [...pool.slices.values()]
	const generation = Math.max(...all.map((s) => s.spec.pool.generation ?? 0))
	const newest = all.filter((s) => (s.spec.pool.generation ?? 0) === generation)
	const expected = newest[0]?.spec.pool.resourceSliceCount ?? 0
	return { generation, observed: newest.length, expected, complete: newest.length >= expected, slices: newest }
}

// What is wrong with a pool, one sentence each.
export function poolTrouble(pool) {
	const { observed, expected, complete, slices } = pool.newest
	const all = new Set()
	if (pool.slices.size && !complete)
		all.add(`${observed} of ${expected} slices are there.`)
	for (const { status } of slices) {
		for (const text of status?.poolStatus?.validationErrors ?? [])
			all.add(text)
		for (const c of status?.poolStatus?.conditions ?? [])
			if (c.status === "False" && !(c.type === "Complete" && !complete) && !status.poolStatus.validationErrors?.length)
				all.add(c.message || `It is not ${c.type}: ${c.reason || "no reason given"}.`)
	}
	return [...all]
}

// Who offers the device: { slice, device }, of the newest generation that has it.
export function offerOf(model, key) {
	let best
	for (const [name, device] of model.offers.get(key) ?? []) {
		const slice = model.objects.slices.get(name)
		const generation = slice?.spec.pool.generation ?? 0
		if (slice && (!best || generation > best.generation))
			best = { slice, device, generation }
	}
	const pool = best && model.pools.get(`${best.slice.spec.driver}/${best.slice.spec.pool.name}`)
	if (pool) {
		const newest = pool.newest ?? newestSlices(pool)
		if (best.generation < newest.generation && newest.complete)
			return undefined
	}
	return best
}

// One value of an attribute, of whatever type.
export function attributeText(attribute) {
	const [value] = Object.values(attribute ?? {})
	return Array.isArray(value) ? value.join(", ") : String(value ?? "")
}

// What sort of device it is, by the attributes that drivers use for that.
function kindOf(attributes, driver) {
	for (const wanted of ["productName", "model", "product", "type", "kind"])
		for (const [name, attribute] of Object.entries(attributes))
			if (name.slice(name.lastIndexOf("/") + 1) === wanted && attributeText(attribute))
				return attributeText(attribute)
	return driver
}

const statuses = new WeakMap() // slice: Map(device name: its entry in the status)

// What the slice's status says of a device, if it is about this version of the slice.
function statusOf(slice, name) {
	let known = statuses.get(slice)
	if (!known) {
		const fresh = (slice.status?.observedGeneration ?? slice.metadata.generation) === slice.metadata.generation
		known = new Map(fresh ? slice.status?.devices?.map((d) => [d.name, d]) : [])
		statuses.set(slice, known)
	}
	return known.get(name)
}

// The claims that hold it. Those that cannot be read are named by the slice's status.
function holdersOf(model, key, status) {
	const all = [], claims = model.held.get(key)
	for (const [claim, results] of claims ?? [])
		for (const r of results) {
			const slash = claim.indexOf("/")
			all.push({
				namespace: claim.slice(0, slash), name: claim.slice(slash + 1), request: r.request, consumed: r.consumedCapacity,
				admin: !!r.adminAccess, share: r.shareID ?? "",
			})
		}
	if (!model.readsAllClaims())
		for (const a of status?.allocations ?? [])
			if (a.claimNamespace !== model.namespace && !claims?.has(`${a.claimNamespace}/${a.claimName}`))
				all.push({ namespace: a.claimNamespace, name: a.claimName, request: a.request ?? "", consumed: a.capacity, admin: false, share: "" })
	return all
}

// Of each capacity: { total, used, free } as text, and how much is used, from 0 to 1; used is undefined where the device is
// not shared, so that it is all or nothing.
export function capacityOf(device) {
	const holders = device.holders.filter((h) => !h.admin)
	return Object.entries(device.capacity).map(([name, { value }]) => {
		const short = name.slice(name.lastIndexOf("/") + 1)
		if (!device.shared)
			return { name, total: value }
		const sum = holders.reduce((n, h) => n + (parseQuantity(h.consumed?.[name] ?? h.consumed?.[short]) || 0), 0)
		const total = parseQuantity(value)
		return { name, total: value, used: formatQuantity(sum, value), free: formatQuantity(total - sum, value), part: total ? sum / total : 0 }
	})
}

function stateOf(device, status) {
	const held = device.holders.filter((h) => !h.admin)
	if (held.length) {
		const full = !device.shared || capacityOf(device).some((c) => c.part >= 1)
		// The status knows rules of rounding that the page does not; it may be a moment behind the claims.
		const told = status && (status.allocations?.length ?? 0) === held.length && status.state
		if (device.shared && told === "PartiallyAllocated")
			return ["partial", ""]
		if (device.shared && told === "Allocated")
			return ["allocated", ""]
		return [full ? "allocated" : "partial", ""]
	}
	if (status?.state === "Unavailable")
		return ["unavailable", status.stateReason || "it cannot be had"]
	const taint = device.taints.find((t) => t.effect !== "None")
	if (taint)
		return ["unavailable", `taint ${taint.key}${taint.value ? `=${taint.value}` : ""}:${taint.effect}`]
	return ["free", ""]
}

const worst = ["unhealthy", "unknown", "healthy"]

// What pods say of it; those that have ended count when no other says anything.
function healthOf(model, key, taints) {
	const reports = [...model.reports.get(key) ?? []]
	const running = reports.filter(([pod]) => !model.podEnded(pod))
	for (const list of [running, reports])
		for (const health of worst)
			for (const [pod, said] of list) {
				const found = said.find((r) => r.health === health)
				if (found)
					return { health, message: found.message, healthFrom: `pod ${pod}` }
			}
	const taint = taints.find((t) => /(^|\/)unhealthy$/.test(t.key))
	if (taint)
		return { health: "unhealthy", message: "", healthFrom: `taint ${taint.key}` }
	return { health: "untold", message: "", healthFrom: "" }
}

function taintsOf(model, key, own = []) {
	const all = own.map((t) => ({ ...t, by: "driver" }))
	for (const [name, rule] of model.objects.rules)
		if (rule.spec?.deviceSelector && taintedBy(rule.spec.deviceSelector, key))
			all.push({ ...rule.spec.taint, by: `rule ${name}` })
	return all
}

function podsOf(model, holders, key) {
	const pods = new Set()
	for (const h of holders)
		for (const user of model.objects.claims.get(`${h.namespace}/${h.name}`)?.status?.reservedFor ?? [])
			if (user.resource === "pods")
				pods.add(`${h.namespace}/${user.name}`)
	for (const pod of model.reports.get(key)?.keys() ?? [])
		if (!model.podEnded(pod))
			pods.add(pod)
	return [...pods]
}

function lookOf(d) {
	return [d.state, d.health, d.message, d.reason, d.node, d.holders.map((h) => `${h.namespace}/${h.name}`).join(), d.pods.join(), d.taints.length].join(" ")
}

// A device that a plugin gave to a pod. The pod's report is all that there is of it.
function describePlugin(model, key) {
	const reports = [...model.reports.get(key) ?? []]
	if (!reports.length)
		return undefined
	const { resource, id } = reports[0][1][0]
	const node = key.slice(0, key.indexOf("|"))
	const pods = reports.map(([pod]) => pod).filter((pod) => !ended(model.objects.pods.get(pod) ?? {}))
	const d = {
		key, driver: resource, pool: resource, name: id, node, plugin: true, unnamed: false, kind: resource, order: 0, shared: false,
		attributes: {}, capacity: {}, taints: [], holders: [], pods, reason: "", state: pods.length ? "allocated" : "free",
		...healthOf(model, key, []),
	}
	d.look = lookOf(d)
	return d
}

// The device, or undefined if there is none.
export function describeDevice(model, key) {
	if (key.includes("|"))
		return describePlugin(model, key)
	const offer = offerOf(model, key)
	if (!offer)
		return undefined
	const { slice, device } = offer
	const status = statusOf(slice, device.name)
	const d = {
		key, driver: slice.spec.driver, pool: slice.spec.pool.name, name: device.name,
		node: device.nodeName ?? slice.spec.nodeName ?? "", slice: slice.metadata.name, plugin: false, unnamed: false,
		attributes: device.attributes ?? {}, capacity: device.capacity ?? {}, shared: !!device.allowMultipleAllocations,
		taints: taintsOf(model, key, device.taints), kind: "", order: 0,
	}
	d.kind = kindOf(d.attributes, d.driver)
	d.holders = holdersOf(model, key, status)
	d.pods = podsOf(model, d.holders, key)
	const [state, reason] = stateOf(d, status)
	Object.assign(d, { state, reason }, healthOf(model, key, d.taints))
	d.look = lookOf(d)
	return d
}
