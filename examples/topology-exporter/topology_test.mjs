// Tests of topology.mjs: what is where, and how much of it is left.
import assert from "node:assert/strict"
import test from "node:test"
import { fieldsOf, zonesOf } from "./topology.mjs"

// Two nodes of four CPUs.
const machine = { nodes: [0, 1], nodeOf: (cpu) => (cpu < 8 ? cpu >> 2 : undefined) }
const GPU = "example.com/gpu"
const at = (...nodes) => ({ nodes: nodes.map((ID) => ({ ID: String(ID) })) })
const gpu = (id, ...nodes) => ({ resource_name: GPU, device_ids: [id], topology: nodes.length ? at(...nodes) : null })
const memory = (size, ...nodes) => ({ memory_type: "memory", size: String(size), topology: at(...nodes) })
const holder = (own) => ({ devices: [], cpu_ids: [], memory: [], ...own })
const pod = (own, ...containers) => ({ cpu_ids: [], memory: [], ...own, containers: containers.map(holder) })

// { "node-0": { resource: "available/allocatable/capacity" } }
function brief(pods, allocatable) {
	return Object.fromEntries(zonesOf(pods, holder(allocatable), machine).map(({ name, resources }) =>
		[name, Object.fromEntries(resources.map((r) => [r.name, `${r.available}/${r.allocatable}/${r.capacity}`]))]))
}

test("an idle node has a zone per NUMA node, in the form of the API", () => {
	const all = (name, n) => ({ name, capacity: n, allocatable: n, available: n })
	assert.deepEqual(zonesOf([], holder({ cpu_ids: ["1"], memory: [memory(4096, 1)] }), machine), [
		{ name: "node-0", type: "Node", resources: [all("cpu", "1")] },
		{ name: "node-1", type: "Node", resources: [all("memory", "4096")] },
	])
})

test("what pods hold is not available", () => {
	const offer = {
		devices: [gpu("a", 0), gpu("b", 0), gpu("c", 1)],
		cpu_ids: ["1", "2", "3", "4"],
		memory: [memory(100, 0), memory(100, 1)],
	}
	const pods = [
		pod({}, { devices: [gpu("a", 0)], cpu_ids: ["1"] }, { cpu_ids: ["2"] }),
		pod({}, { memory: [memory(30, 1)] }),
	]
	assert.deepEqual(brief(pods, offer), {
		"node-0": { [GPU]: "1/2/2", cpu: "1/3/3", memory: "100/100/100" },
		"node-1": { [GPU]: "1/1/1", cpu: "1/1/1", memory: "70/100/100" },
	})
})

test("a device near two nodes is in both zones, one without topology in none", () => {
	const offer = { devices: [gpu("a", 0), gpu("a", 1), gpu("b", 1), gpu("c")] }
	assert.deepEqual(brief([pod({}, { devices: [gpu("a", 1), gpu("a", 0)] })], offer), {
		"node-0": { [GPU]: "0/1/1" },
		"node-1": { [GPU]: "1/2/2" },
	})
})

test("what is held and no longer allocatable counts as capacity alone", () => {
	const pods = [pod({}, { devices: [gpu("sick", 0)], cpu_ids: ["3"], memory: [memory(50, 1)] })]
	assert.deepEqual(brief(pods, { devices: [gpu("a", 0)], cpu_ids: ["1"], memory: [memory(40, 1)] }), {
		"node-0": { [GPU]: "1/1/2", cpu: "1/1/2" },
		"node-1": { memory: "0/40/50" },
	})
})

test("a pod's own CPUs and memory are not added to its containers'", () => {
	const pods = [pod({ cpu_ids: ["1", "2"], memory: [memory(60, 0)] }, { cpu_ids: ["1"], memory: [memory(20, 0)] })]
	const { "node-0": zone } = brief(pods, { cpu_ids: ["1", "2", "3"], memory: [memory(100, 0)] })
	assert.deepEqual(zone, { cpu: "1/3/3", memory: "40/100/100" })
})

test("memory of several nodes is taken from them in order, whatever the order of pods", () => {
	const offer = { memory: [memory(100, 0), memory(100, 1)] }
	const pods = [pod({}, { memory: [memory(120, 1, 0)] }), pod({}, { memory: [memory(30, 0, 1)] })]
	for (const order of [pods, [...pods].reverse()])
		assert.deepEqual(brief(order, offer), { "node-0": { memory: "0/100/100" }, "node-1": { memory: "50/100/100" } })
})

test("huge pages are a resource of their own", () => {
	const huge = (size) => ({ ...memory(size, 0), memory_type: "hugepages-2Mi" })
	const pods = [pod({}, { memory: [memory(10, 0), huge(2)] })]
	const { "node-0": zone } = brief(pods, { memory: [memory(100, 0), huge(8)] })
	assert.deepEqual(zone, { "hugepages-2Mi": "6/8/8", memory: "90/100/100" })
})

test("a CPU whose node is not known is in no zone", () => {
	assert.deepEqual(brief([], { cpu_ids: ["1", "99"] }), { "node-0": { cpu: "1/1/1" }, "node-1": {} })
})

test("nothing is said while one of the views is not complete", () => {
	const pods = { complete: true, pods: [] }, offer = { complete: true, allocatable: holder({}) }
	assert.equal(fieldsOf({ ...pods, complete: false }, offer, machine, []), undefined)
	assert.equal(fieldsOf(pods, { ...offer, complete: false }, machine, []), undefined)
	assert.deepEqual(Object.keys(fieldsOf(pods, offer, machine, [])), ["zones"])
})

test("attributes are there when there are any, so that others' are left alone", () => {
	const pods = { complete: true, pods: [] }, offer = { complete: true, allocatable: holder({}) }
	const attributes = [{ name: "topologyManagerPolicy", value: "restricted" }]
	assert.deepEqual(fieldsOf(pods, offer, machine, attributes).attributes, attributes)
})
