// derive - one device as the page shows it: what its slice publishes of it. Pure; used by model.js.
//
// The page computes no state and no health: the controller does, with the allocator's own rules, and publishes both in the
// slice's status, or in the object that stands for it. As long as that says nothing of a device, its state and health are "unpublished".
//
// A device is { key, driver, pool, name, node, kind, shareable, state, reason, health, message, since, healthFrom, holders, omitted,
// admins, pods, taints, attributes, capacity, available, look }. `look` is equal for devices that look the same on the map.
// holders and admins are { namespace, name, uid, request, consumed }; `omitted` counts holders that the status does not name;
// pods are names of those that use it; `taints` are the driver's own.
import { parseQuantity } from "./quantity.js"

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

// The slices of a pool that count: those of its newest generation. Others have no status.
export function newestSlices(pool) {
	const all = [...pool.slices.values()]
	const generation = Math.max(...all.map((s) => s.spec.pool.generation ?? 0))
	return { generation, slices: all.filter((s) => (s.spec.pool.generation ?? 0) === generation) }
}

// The object that has the status of a slice: the slice itself, or the object of its name that it owns.
function publisherOf({ objects }, slice) {
	if (slice.status)
		return slice
	const object = objects.statuses.get(slice.metadata.name)
	return object?.metadata.ownerReferences?.some((o) => o.uid === slice.metadata.uid) ? object : undefined
}

// The status of a slice, if it is about this version of the slice.
function statusOf(model, slice) {
	const status = publisherOf(model, slice)?.status
	return status && status.observedGeneration >= slice.metadata.generation ? status : undefined
}

// { trouble, errors }: the problems of a pool, one sentence each; and how many validation errors its status names.
export function poolTrouble(model, pool) {
	const all = new Set(), errors = new Set()
	for (const slice of pool.newest.slices) {
		const { conditions = [], validationErrors = [] } = statusOf(model, slice)?.poolStatus ?? {}
		for (const text of validationErrors) {
			all.add(text)
			errors.add(text)
		}
		for (const c of conditions)
			if (c.status === "False" && !validationErrors.length)
				all.add(c.message || `It is not ${c.type}: ${c.reason || "no reason given"}.`)
	}
	return { trouble: [...all], errors: errors.size }
}

// The slice that offers the device, and its entry there: { slice, device }.
function offerOf(model, key) {
	for (const [name, device] of model.offers.get(key) ?? []) {
		const slice = model.objects.slices.get(name)
		const pool = slice && model.pools.get(`${slice.spec.driver}/${slice.spec.pool.name}`)
		if (pool && (slice.spec.pool.generation ?? 0) === pool.newest.generation)
			return { slice, device }
	}
	return undefined
}

// One value of an attribute, of whatever type.
export function attributeText(attribute) {
	const [value] = Object.values(attribute ?? {})
	return Array.isArray(value) ? value.join(", ") : String(value ?? "")
}

// The sort of device, from the attributes that drivers use for it.
function kindOf(attributes, driver) {
	for (const wanted of ["productName", "model", "product", "type", "kind"])
		for (const [name, attribute] of Object.entries(attributes))
			if (name.slice(name.lastIndexOf("/") + 1) === wanted && attributeText(attribute))
				return attributeText(attribute)
	return driver
}

const entries = new WeakMap() // status: Map(device name: its entry there)

// The device's entry in the slice's status.
function entryOf(model, slice, name) {
	const status = statusOf(model, slice)
	if (!status)
		return undefined
	if (!entries.has(status))
		entries.set(status, new Map(status.devices?.map((d) => [d.name, d])))
	return entries.get(status).get(name)
}

export const states = { Available: "free", PartiallyAllocated: "partial", Allocated: "allocated", Unavailable: "unavailable" }
export const healths = { Healthy: "healthy", Unhealthy: "unhealthy", Unknown: "unknown" }

function published(entry) {
	const state = states[entry?.state]
	if (!state)
		return { state: "unpublished", reason: "", health: "unpublished", message: "", since: undefined, healthFrom: "", holders: [], omitted: 0, available: {} }
	const since = Date.parse(entry.healthSince)
	return {
		state, reason: entry.stateReason ?? "", health: entry.health ? healths[entry.health] ?? "unknown" : "untold", message: entry.healthMessage ?? "",
		since: Number.isNaN(since) ? undefined : since, healthFrom: entry.healthSource ?? "", available: entry.availableCapacity ?? {}, omitted: entry.omittedAllocations ?? 0,
		holders: (entry.allocations ?? []).map((a) => ({ namespace: a.claimNamespace, name: a.claimName, uid: a.claimUID, request: a.request ?? "", consumed: a.capacity })),
	}
}

// Claims with access for administrators: they use the device and hold nothing.
function adminsOf(model, key) {
	return [...model.admins.get(key) ?? []].flatMap(([claim, results]) => {
		const { metadata: { namespace, name, uid } } = model.objects.claims.get(claim)
		return results.map((r) => ({ namespace, name, uid, request: r.request, consumed: undefined }))
	})
}

// Of each capacity: its total and, where the device may be shared, what is free of it, as text, with the used part from 0 to 1.
export function capacityOf({ capacity, available }) {
	return Object.entries(capacity).map(([name, { value: total }]) => {
		const free = available[name]
		if (free === undefined)
			return { name, total }
		const all = parseQuantity(total)
		return { name, total, free, part: all ? 1 - parseQuantity(free) / all : 0 }
	})
}

function podsOf(model, users) {
	const pods = new Set()
	for (const h of users)
		for (const user of model.claimOf(h)?.status?.reservedFor ?? [])
			if (user.resource === "pods")
				pods.add(`${h.namespace}/${user.name}`)
	return [...pods]
}

const names = (users) => users.map((h) => `${h.namespace}/${h.name}`).join()

function lookOf(d) {
	return [d.state, d.health, d.message, d.reason, d.node, names(d.holders), d.omitted, names(d.admins), d.pods.join(), d.taints.length].join(" ")
}

const worst = ["unhealthy", "unknown", "healthy"]

// A device that a device plugin gave to a pod. No slice has it: the status of the pod is where its health is published.
function describePlugin(model, key) {
	const reports = [...model.reports.get(key) ?? []].flatMap(([pod, all]) => all.map((r) => ({ ...r, pod })))
	if (!reports.length)
		return undefined
	const { resource, id } = reports[0]
	const { health, message, pod } = reports.sort((a, b) => worst.indexOf(a.health) - worst.indexOf(b.health))[0]
	const d = {
		key, driver: resource, pool: resource, name: id, node: key.slice(0, key.indexOf("|")), plugin: true, unnamed: false, kind: resource,
		attributes: {}, capacity: {}, available: {}, taints: [], holders: [], omitted: 0, admins: [], pods: [...new Set(reports.map((r) => r.pod))],
		reason: "", state: "allocated", health, message, since: undefined, healthFrom: `pod ${pod}`,
	}
	d.look = lookOf(d)
	return d
}

// The device, or undefined if it does not exist.
export function describeDevice(model, key) {
	if (key.includes("|"))
		return describePlugin(model, key)
	const offer = offerOf(model, key)
	if (!offer)
		return undefined
	const { slice, device } = offer
	const d = {
		key, driver: slice.spec.driver, pool: slice.spec.pool.name, name: device.name,
		node: device.nodeName ?? slice.spec.nodeName ?? "", slice: slice.metadata.name, plugin: false, unnamed: false,
		attributes: device.attributes ?? {}, capacity: device.capacity ?? {}, taints: device.taints ?? [], kind: "",
		shareable: device.allowMultipleAllocations === true,
		...published(entryOf(model, slice, device.name)), admins: adminsOf(model, key),
	}
	d.kind = kindOf(d.attributes, d.driver)
	d.pods = podsOf(model, [...d.holders, ...d.admins])
	d.look = lookOf(d)
	return d
}
