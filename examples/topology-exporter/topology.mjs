// topology - the fields of a NodeResourceTopology, from what the node can give and what its pods hold. Pure.
//
// One zone per NUMA node. For each resource of it,
//
//	allocatable	what the node can give, held or not
//	available	what of that no pod holds
//	capacity	what is allocatable, and what pods hold although it no longer is: an unhealthy device, a CPU that
//			went off line
//
// so that 0 <= available <= allocatable <= capacity always, also while one stream is ahead of the other: devices and
// CPUs are identified by their ids, and subtracted as sets.
//
// A device that is near several nodes is in each of their zones, because a pod may get it with CPUs of either: zones
// cannot be added up. A device without topology is in no zone: it restricts no placement, and schedulers find how many
// there are in the Node's status.

// Counts things that have an id.
class Things {
	#offered = new Set()
	#held = new Set()

	offer(id) {
		this.#offered.add(id)
	}

	hold(id) {
		this.#held.add(id)
	}

	get amounts() {
		const capacity = new Set([...this.#offered, ...this.#held]).size
		return { capacity, allocatable: this.#offered.size, available: capacity - this.#held.size }
	}
}

// Counts bytes.
class Bytes {
	#offered = 0
	#held = 0

	offer(size) {
		this.#offered += size
	}

	hold(size) {
		this.#held += size
	}

	get amounts() {
		const capacity = Math.max(this.#offered, this.#held)
		return { capacity, allocatable: this.#offered, available: capacity - this.#held }
	}
}

// The accounts of all nodes, made when they are first asked for: node -> resource -> Things or Bytes.
class Ledger {
	#nodes = new Map()

	node(id) {
		if (!this.#nodes.has(id))
			this.#nodes.set(id, new Map())
		return this.#nodes.get(id)
	}

	account(id, resource, Kind) {
		const node = this.node(id)
		if (!node.has(resource))
			node.set(resource, new Kind())
		return node.get(resource)
	}

	zones() {
		const byId = ([a], [b]) => a - b
		const byName = ([a], [b]) => (a < b ? -1 : 1)
		return [...this.#nodes].sort(byId).map(([id, resources]) => ({
			name: `node-${id}`,
			type: "Node",
			resources: [...resources].sort(byName).map(([name, { amounts }]) => ({ name, ...quantities(amounts) })),
		}))
	}
}

function quantities(amounts) {
	return Object.fromEntries(Object.entries(amounts).map(([key, amount]) => [key, String(amount)]))
}

function nodesOf({ topology }) {
	return (topology?.nodes ?? []).map(({ ID }) => Number(ID)).sort((a, b) => a - b)
}

// The devices and CPUs of a container, of a pod, or of all that is allocatable, as [account, id].
function* thingsOf({ devices = [], cpu_ids = [] }, ledger, machine) {
	for (const entry of devices) {
		for (const node of nodesOf(entry)) {
			for (const id of entry.device_ids)
				yield [ledger.account(node, entry.resource_name, Things), id]
		}
	}
	for (const cpu of cpu_ids) {
		const node = machine.nodeOf(Number(cpu))
		if (node !== undefined)
			yield [ledger.account(node, "cpu", Things), cpu]
	}
}

// Memory of a pod, each byte once: its containers' is a part of its own, if it has any.
function memoryOf({ memory, containers }) {
	return memory.length > 0 ? memory : containers.flatMap((c) => c.memory)
}

// A block of several nodes does not say how much is on which: they are filled in their order, as kubelet does it. Those
// of one node go first, so that the result does not depend on the order of pods.
function holdMemory(blocks, ledger) {
	const entries = blocks.map((b) => ({ type: b.memory_type, size: Number(b.size), nodes: nodesOf(b) }))
	for (const { type, size, nodes } of entries.sort((a, b) => a.nodes.length - b.nodes.length)) {
		const accounts = nodes.map((node) => ledger.account(node, type, Bytes))
		let left = size
		for (const account of accounts) {
			const part = Math.min(left, account.amounts.available)
			account.hold(part)
			left -= part
		}
		// More is held than there is, for a moment or because memory was taken out of the machine.
		accounts[0]?.hold(left)
	}
}

// `pods` and `allocatable` as the views have them. The machine has `nodes` (ids of its NUMA nodes) and `nodeOf` (of a
// CPU; undefined: not known), which the streams do not tell.
export function zonesOf(pods, allocatable, machine) {
	const ledger = new Ledger()
	for (const id of machine.nodes)
		ledger.node(id)
	for (const [account, id] of thingsOf(allocatable, ledger, machine))
		account.offer(id)
	for (const holder of pods.flatMap((pod) => [pod, ...pod.containers])) {
		for (const [account, id] of thingsOf(holder, ledger, machine))
			account.hold(id)
	}
	for (const { memory_type, size, topology } of allocatable.memory) {
		for (const node of nodesOf({ topology }))
			ledger.account(node, memory_type, Bytes).offer(Number(size))
	}
	holdMemory(pods.flatMap(memoryOf), ledger)
	return ledger.zones()
}

// The fields of the object; undefined while a view is not complete: half a truth would promise what is not there.
export function fieldsOf(podsView, allocatableView, machine, attributes) {
	if (!podsView.complete || !allocatableView.complete)
		return undefined
	const zones = zonesOf(podsView.pods, allocatableView.allocatable, machine)
	return attributes.length > 0 ? { zones, attributes } : { zones }
}
