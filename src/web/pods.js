// pods - what a Pod says about devices: which it has, how they are, and what it waits for. Pure.

import { classesOf } from "./explain.js"
import { healths } from "./derive.js"

export const nameOf = (object) => (object.metadata.namespace ? `${object.metadata.namespace}/${object.metadata.name}` : object.metadata.name)
export const ended = (pod) => pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed"

// Resources of device plugins have a vendor's domain.
export const isDeviceResource = (name) => name.includes("/") && !/(^|\.)kubernetes\.io\//.test(name)

// A device of a plugin has no name in the cluster but this one.
export const pluginKey = (node, resource, id) => `${node}|${resource}|${id}`

// Keys of DRA devices are DRIVER/POOL/DEVICE, as in resourceID; pools may have slashes in them.
export function reportKey(resource, id, node) {
	return resource.startsWith("claim:") ? id : pluginKey(node, resource, id)
}

// Health of the pod's devices of device plugins: [{ key, resource, id, health, message, container }]. That of others is in slices.
export function reportsOf(pod) {
	const { status = {}, spec = {} } = pod
	const all = []
	const take = (container, list) => {
		for (const { name: resource, resources = [] } of list ?? [])
			for (const r of resource.startsWith("claim:") ? [] : resources)
				all.push({
					key: pluginKey(spec.nodeName ?? "", resource, r.resourceID), resource, id: r.resourceID, container,
					health: healths[r.health] ?? "unknown", message: r.message ?? "",
				})
	}
	for (const c of [...status.initContainerStatuses ?? [], ...status.containerStatuses ?? []])
		take(c.name, c.allocatedResourcesStatus)
	take("", status.allocatedResourcesStatus)
	return all
}

// The claims that a pod names: [{ name, claim, template }]; claim is undefined while it was not made.
export function claimsOf(pod) {
	const made = new Map((pod.status?.resourceClaimStatuses ?? []).map((s) => [s.name, s.resourceClaimName]))
	return (pod.spec?.resourceClaims ?? []).map(({ name, resourceClaimName, resourceClaimTemplateName }) =>
		({ name, claim: resourceClaimName ?? made.get(name), template: resourceClaimTemplateName }))
}

// Amounts of device resources that its containers ask for: [{ resource, amount }].
export function deviceRequests(pod) {
	const sums = new Map()
	for (const { resources = {} } of [...pod.spec?.initContainers ?? [], ...pod.spec?.containers ?? []])
		for (const [name, amount] of Object.entries({ ...resources.requests, ...resources.limits }))
			if (isDeviceResource(name))
				sums.set(name, (sums.get(name) ?? 0) + Number(amount))
	return [...sums].map(([resource, amount]) => ({ resource, amount }))
}

// "gpu: 2 of class big" of a claim's requests.
export function requestsText(claim) {
	const one = ({ deviceClassName, count = 1, allocationMode }) => `${allocationMode === "All" ? "all" : count} of class ${deviceClassName}`
	return (claim.spec?.devices?.requests ?? []).map((r) => (r.firstAvailable ? r.firstAvailable.map(one).join(" or ") : one(r.exactly ?? {}))).join(", ")
}

export function claimState(claim) {
	if (!claim)
		return "not made yet"
	if (!claim.status?.allocation)
		return "not allocated"
	return claim.status.reservedFor?.length ? "allocated" : "allocated, not reserved"
}

// Why a container does not run, if its node says so.
function containerTrouble(pod) {
	const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {}
	const waits = [...initContainerStatuses, ...containerStatuses].map((c) => c.state?.waiting).filter(Boolean)
	return waits.find((w) => w.message) ?? waits[0]
}

// The cause by which the controller counts a pod without a node (src/controller/devices/waiting_metrics.c), from its condition PodScheduled. The
// texts are the scheduler's.
export function causeOf({ reason = "", message = "" } = {}) {
	if (!reason && !message)
		return "NotTried"
	if (reason === "SchedulingGated")
		return "Gated"
	if (reason === "SchedulerError")
		return reason
	if (message.includes("cannot allocate all claims"))
		return "NoDevice"
	return /resourceclaim|ResourceClaim|resource claim/.test(message) ? "Claim" : "Other"
}

// A pod that wants devices and does not run yet, and why; undefined for others. `claim(ns, name)` finds claims, and answers
// null when claims cannot be read at all.
export function waitOf(pod, claim) {
	if (pod.status?.phase !== "Pending" || pod.metadata.deletionTimestamp)
		return undefined
	const claims = claimsOf(pod), resources = deviceRequests(pod)
	if (!claims.length && !resources.length)
		return undefined
	const wants = claims.map((c) => {
		const object = c.claim ? claim(pod.metadata.namespace, c.claim) : undefined
		const state = object === null ? "" : claimState(object)
		const devices = (object?.status?.allocation?.devices?.results ?? []).map(({ driver, pool, device }) => ({ driver, pool, device }))
		return { kind: "claim", name: c.name, claim: c.claim, state, text: object ? requestsText(object) : "", classes: classesOf(object), devices }
	})
	for (const { resource, amount } of resources)
		wants.push({ kind: "resource", name: resource, amount, state: "", text: "" })
	const scheduled = pod.status.conditions?.find((c) => c.type === "PodScheduled")
	const trouble = containerTrouble(pod)
	let reason = scheduled?.reason ?? "", message = scheduled?.message ?? ""
	if (pod.spec.nodeName) {
		reason = trouble?.reason ?? "Starting"
		message = trouble?.message ?? `It is on node ${pod.spec.nodeName}, which prepares it.`
	} else if (pod.spec.schedulingGates?.length) {
		message ||= `It has scheduling gates: ${pod.spec.schedulingGates.map((g) => g.name).join(", ")}.`
	} else if (!message) {
		message = "No scheduler has looked at it yet."
	}
	return {
		key: nameOf(pod), namespace: pod.metadata.namespace, name: pod.metadata.name, node: pod.spec.nodeName ?? "",
		since: Date.parse(pod.metadata.creationTimestamp), reason, message, wants,
		version: pod.metadata.resourceVersion, cause: claims.length && !pod.spec.nodeName ? causeOf(scheduled) : "",
	}
}
