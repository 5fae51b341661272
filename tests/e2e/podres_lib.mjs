// A client of PodResources on @grpc/grpc-js: what the podres_*_test.mjs share. Revisions are BigInt, all other numbers Number.
//
//	const api = client(socket)
//	const { pod_resources, revision } = await api.list()
//	const w = watch(socket, { sendInitial: true })          // { w.events, w.status }; w.view has what the events say
//	await w.until("pod a", (view) => view.find("default", "a"))
//	await assertSame(w, api)
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { isDeepStrictEqual } from "node:util"
import { until } from "./lib.mjs"
import { call, insecure, load } from "./plugin_services.mjs"

// 64 bits do not fit a Number: revisions are made BigInt below, whatever else is written as text a Number.
export const PodResourcesLister = load("podresources_v1.proto", { longs: String }).v1.PodResourcesLister
export const AlphaLister = load("podresources_v1alpha1.proto").v1alpha1.PodResourcesLister

export const socketOf = (node) => `${node.root}/pod-resources/kubelet.sock`

function numbers(value, key) {
	if (Array.isArray(value))
		return value.map((v) => numbers(v, key))
	if (value && typeof value === "object")
		return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, numbers(v, k)]))
	if (key === "revision")
		return BigInt(value)
	return key === "cpu_ids" || key === "ID" || key === "size" ? Number(value) : value
}

// A connection of its own, not one that grpc-js shares with all channels to the same address.
const alone = { "grpc.use_local_subchannel_pool": 1, "grpc.max_receive_message_length": -1 }

// Calls resolve to the answer's message or throw grpc's error, with `code` and `details`.
export function client(socket, options = {}) {
	const v1 = new PodResourcesLister(`unix:${socket}`, insecure, { ...alone, ...options })
	const alpha = new AlphaLister(`unix:${socket}`, insecure, { ...alone, ...options })
	const ask = async (method, request = {}) => numbers(await call(v1, method, request))
	return {
		list: () => ask("List"),
		get: async (namespace, name) => (await ask("Get", { pod_namespace: namespace, pod_name: name })).pod_resources,
		allocatable: () => ask("GetAllocatableResources"),
		listAlpha: () => call(alpha, "List", {}),
		close: () => (v1.close(), alpha.close()),
	}
}

// Somebody who reads one of the streams: what was read goes to a view that checks it.
export class Reader {
	constructor({ allocatable = false, capacity, view }) {
		Object.assign(this, { allocatable, events: [], status: undefined, fault: undefined })
		this.view = view ?? (allocatable ? new AllocatableView() : new View({ capacity }))
	}

	take(message) {
		if (this.closed)
			return
		const event = numbers(message)
		this.events.push(event)
		try {
			this.view.apply(event)
		} catch (e) {
			this.fault ??= e
		}
	}

	// Fails when an event broke what the view guards.
	check() {
		if (this.fault)
			throw this.fault
	}

	get brief() {
		return this.events.map(briefEvent)
	}

	// Waits until the view is as `wanted` says; fails at once when an event was wrong or the stream has ended.
	until(what, wanted, seconds) {
		return until(`${what} in the watch (${this.brief.slice(-20).join(", ")})`, () => {
			this.check()
			const found = wanted(this.view, this)
			assert.ok(found || !this.status, `the watch ended: ${this.status?.code} ${this.status?.details}`)
			return found
		}, seconds)
	}
}

export const methodOf = (allocatable) => (allocatable ? "ListAndWatchAllocatableResources" : "ListAndWatch")

// One watch on a connection of its own, or on `channel`, a PodResourcesLister. `opened` resolves when the server has begun to
// answer.
export class Watch extends Reader {
	constructor(socket, { sendInitial = false, afterRevision = 0n, allocatable } = {}, { paused = false, channel, ...options } = {}) {
		super({ allocatable, ...options })
		this.own = channel ? undefined : new PodResourcesLister(`unix:${socket}`, insecure, alone)
		this.stream = (channel ?? this.own)[methodOf(allocatable)]({ send_initial: sendInitial, after_revision: String(afterRevision) })
		this.stream.on("data", (message) => this.take(message))
		// grpc-js reads everything into memory until it was asked for a first message; then it stops at sixteen.
		if (paused)
			this.stream.pause()
		this.stream.on("error", () => {})
		this.opened = new Promise((resolve) => this.stream.on("metadata", resolve))
		this.ended = new Promise((resolve) => this.stream.on("status", (status) => resolve(this.status = status)))
	}

	resume() {
		this.stream.resume()
	}

	// Messages that have arrived and were not read yet are dropped.
	close() {
		this.closed = true
		this.stream.cancel()
		this.own?.close()
	}
}

export const watch = (socket, request, options) => new Watch(socket, request, options)
export const watchAllocatable = (socket, request, options) => new Watch(socket, { ...request, allocatable: true }, options)

// "ADDED default/a", "initial_end", "reset"; of allocatable "UPDATED".
export function briefEvent({ action, uid, pod_resources, initial_end }) {
	if (initial_end)
		return "initial_end"
	if (pod_resources === undefined)
		return action
	return isReset({ action, uid, pod_resources }) ? "reset" : `${action} ${pod_resources.map((p) => `${p.namespace}/${p.name}`)}`
}

const isReset = ({ action, uid, pod_resources, initial_end }) => action === "DELETED" && !uid && !pod_resources?.length && !initial_end

// --- content --------------------------------------------------------------------------------------

const nodesOf = ({ topology }) => (topology?.nodes ?? []).map((n) => n.ID)
const sorted = (list) => [...list].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
const text = (value) => JSON.stringify(value)

// A device of a plugin may be listed once per NUMA node: { resource: { id: [node, ..] } }.
export function devicesOf(list) {
	const all = {}
	for (const entry of list) {
		for (const id of entry.device_ids)
			((all[entry.resource_name] ??= {})[id] ??= []).push(...nodesOf(entry))
	}
	for (const ids of Object.values(all)) {
		for (const nodes of Object.values(ids))
			nodes.sort()
	}
	return all
}

const memoryOf = (list) => sorted(list.map((m) => `${m.memory_type} ${m.size} on ${nodesOf(m)}`))

const claimsOf = (list) => list.flatMap((d) => d.claim_resources.map((r) =>
	`${d.claim_namespace}/${d.claim_name} ${r.driver_name}/${r.pool_name}/${r.device_name}` +
	`${r.share_id === undefined ? "" : `#${r.share_id}`} ${r.cdi_devices.map((c) => c.name)}`))

// The resources that a container holds, without empty ones: { devices, cpus, memory, claims }.
export function contentOf({ devices = [], cpu_ids = [], memory = [], dynamic_resources = [] }) {
	return {
		...(devices.length && { devices: devicesOf(devices) }),
		...(cpu_ids.length && { cpus: [...cpu_ids].sort((a, b) => a - b) }),
		...(memory.length && { memory: memoryOf(memory) }),
		...(dynamic_resources.length && { claims: sorted(claimsOf(dynamic_resources)) }),
	}
}

// The resources that a pod holds, by container: { main: { devices: { "example.com/gpu": { a: [0] } }, cpus: [1, 2] }, other: {} }.
export function containersOf(pod) {
	return Object.fromEntries(pod.containers.map((c) => [c.name, contentOf(c)]))
}

// Ordered, so that two of them can be compared.
function normalPod(pod) {
	const key = (v) => (v && typeof v === "object" && !Array.isArray(v) ? Object.fromEntries(sorted(Object.entries(v)).map(([k, x]) => [k, key(x)])) : v)
	return text([pod.namespace, pod.name, key(containersOf(pod)), key(contentOf(pod))])
}

export const normalPods = (list) => sorted(list.map(normalPod))
export const normalList = ({ pod_resources }) => normalPods(pod_resources)

// Everything that a pod has for itself: "example.com/gpu/a", "cpu/3".
function thingsOf(pod) {
	const things = [...pod.cpu_ids, ...pod.containers.flatMap((c) => c.cpu_ids)].map((id) => `cpu/${id}`)
	const ids = pod.containers.flatMap((c) => c.devices.flatMap((d) => d.device_ids.map((id) => `${d.resource_name}/${id}`)))
	return new Set([...things, ...ids])
}

// --- views ----------------------------------------------------------------------------------------

// The state of a client that reads only events, or a List and the events after it. `capacity` is how much of each there is:
// { "example.com/gpu": 8, cpu: 4, memory: bytes }; "cpu" counts CPUs that pods have for themselves.
export class View {
	constructor({ capacity = {} } = {}) {
		Object.assign(this, { capacity, pods: new Map(), revision: -1n, initial: false, resets: 0 })
	}

	// A List's pods have no uid: they are known by their names until an event tells.
	static ofList({ pod_resources, revision }, options) {
		const self = new View(options)
		pod_resources.forEach((pod, i) => self.pods.set(`list ${i}`, pod))
		self.revision = revision
		self.check("List")
		return self
	}

	#drop({ uid, pod_resources: [pod] }) {
		if (this.pods.delete(uid))
			return true
		for (const [key, { namespace, name }] of this.pods) {
			if (key.startsWith("list ") && namespace === pod?.namespace && name === pod?.name)
				return this.pods.delete(key)
		}
		return false
	}

	// Takes an event in; throws when it, or what is believed after it, cannot be.
	apply(event) {
		const { action, uid, pod_resources, revision, initial_end } = event
		assert.ok(revision >= this.revision, `revision ${revision} after ${this.revision}`)
		this.revision = revision
		if (initial_end) {
			assert.ok(!uid && !pod_resources.length, "initial_end with a pod")
			this.initial = true
		} else if (isReset(event)) {
			this.pods.clear()
			this.initial = false
			this.resets++
		} else {
			this.#change(event, action)
		}
	}

	#change(event, action) {
		assert.ok(event.uid, `${action} without uid`)
		assert.equal(event.pod_resources.length, 1)
		this.#drop(event)
		if (action === "DELETED") {
			const [{ containers, cpu_ids, memory }] = event.pod_resources
			assert.deepEqual([containers, cpu_ids, memory], [[], [], []], "DELETED with something held")
		} else {
			this.pods.set(event.uid, event.pod_resources[0])
		}
		this.check(`${briefEvent(event)} at ${event.revision}`)
	}

	// Nothing is with two pods, and no sum is above the capacity.
	check(after = "") {
		const holder = new Map(), sums = { cpu: 0, memory: 0 }, claimed = new Map()
		for (const pod of this.pods.values()) {
			const who = `${pod.namespace}/${pod.name}`
			for (const thing of thingsOf(pod)) {
				assert.ok(!holder.has(thing), `after ${after}: ${thing} is with ${holder.get(thing)} and ${who}`)
				holder.set(thing, who)
				const resource = thing.slice(0, thing.lastIndexOf("/"))
				sums[resource] = (sums[resource] ?? 0) + 1
			}
			for (const { size } of [pod, ...pod.containers].flatMap((c) => c.memory))
				sums.memory += size
			this.#checkClaims(pod, claimed, after)
		}
		for (const [resource, most] of Object.entries(this.capacity))
			assert.ok((sums[resource] ?? 0) <= most, `after ${after}: ${sums[resource]} of ${most} ${resource}`)
	}

	// A device of a driver may be with many pods, but only by one claim.
	#checkClaims(pod, claimed, after) {
		for (const d of pod.containers.flatMap((c) => c.dynamic_resources)) {
			const claim = `${d.claim_namespace}/${d.claim_name}`
			for (const r of d.claim_resources) {
				const key = [r.driver_name, r.pool_name, r.device_name, r.share_id].join("/")
				assert.equal(claimed.get(key) ?? claim, claim, `after ${after}: ${key} is with two claims`)
				claimed.set(key, claim)
			}
		}
	}

	find(namespace, name) {
		return [...this.pods.values()].find((p) => p.namespace === namespace && p.name === name)
	}

	// The resources of a pod's containers; see containersOf().
	containers(name, namespace = "default") {
		const pod = this.find(namespace, name)
		return pod && containersOf(pod)
	}

	normal() {
		return normalPods([...this.pods.values()])
	}
}

// The state of a client of the allocatable stream: the last message.
export class AllocatableView {
	constructor() {
		Object.assign(this, { state: undefined, revision: -1n, initial: false })
	}

	apply(event) {
		assert.ok(event.revision >= this.revision, `revision ${event.revision} after ${this.revision}`)
		this.revision = event.revision
		if (event.initial_end)
			this.initial = true
		else
			this.state = event
	}

	// { devices, cpus, memory }
	get content() {
		return this.state && contentOf(this.state)
	}
}

// One figure of the agent's /metrics: labels are text as they stand there, such as method="List"; NaN: it has none.
export async function metric(node, name, labels = "") {
	const line = (await node.metrics()).split("\n").find((l) => l.startsWith(`${name}${labels && `{${labels}}`} `))
	return Number(line?.slice(line.lastIndexOf(" ")) ?? NaN)
}

// Watches that the agent has open, of both kinds.
export const openStreams = async (node) =>
	await metric(node, "devplane_pod_resources_streams", 'method="ListAndWatch"') +
	await metric(node, "devplane_pod_resources_streams", 'method="ListAndWatchAllocatableResources"')

const program = fileURLToPath(new URL("podres_client.mjs", import.meta.url))
const others = new Set()
process.on("exit", () => others.forEach((child) => child.kill("SIGKILL")))

// Another process, which is another client; with what it said when it was ready (see podres_client.mjs). kill() ends it at once.
export async function another(...args) {
	const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] })
	const ended = once(child, "exit")
	others.add(child)
	const [line] = await Promise.race([once(child.stdout, "data"), ended.then(() => Promise.reject(new Error(`the client ${args} ended`)))])
	const kill = async () => {
		child.kill("SIGKILL")
		await ended
		others.delete(child)
	}
	return { pid: child.pid, kill, ...JSON.parse(line) }
}

// Fails unless the view becomes what List (or GetAllocatableResources) says. It does not compare revisions: the last
// change may be one that the stream does not report.
export async function assertSame(w, api, seconds = 20) {
	const end = Date.now() + seconds * 1000
	for (;;) {
		const now = w.allocatable ? contentOf(await api.allocatable()) : normalList(await api.list())
		w.check()
		const believed = w.allocatable ? w.view.content : w.view.normal()
		if (Date.now() > end || isDeepStrictEqual(believed, now))
			return assert.deepEqual(believed, now)
		await new Promise((resolve) => setTimeout(resolve, 5))
	}
}
