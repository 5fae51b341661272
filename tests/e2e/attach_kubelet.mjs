// A kubelet's PodResources socket in a process of its own, as upstream serves it: List, Get and GetAllocatableResources of v1,
// and one bucket of 100 calls/s with a burst of 10 for all clients. Forked by podres_attach_test.mjs, which sends what to say.
//
//	{ lists: [{ a: { gpus: ["0"], cpus: [1] } }, ..] }    each List takes one until one is left, which is what Get knows too;
//	                                                     also memory: bytes, claims: { name: ["driver/pool/device", ..] }
//	{ gpus: ["0", ..] }                                  allocatable
//	{ refuse, noGet }                                    refuses all calls; has no Get
//	{ }                                                  answered, as all are, with the calls there were: { List, Get, .. }
import { rmSync } from "node:fs"
import { codes, serve } from "./plugin_services.mjs"
import { PodResourcesLister } from "./podres_lib.mjs"

const [socket] = process.argv.slice(2)
const GPU = "example.com/gpu", QPS = 100, BURST = 10
const state = { lists: [{}], gpus: [], refuse: false, noGet: false }
const calls = { List: 0, Get: 0, GetAllocatableResources: 0, refused: 0 }
let tokens = BURST, at = Date.now()

function allow() {
	const now = Date.now()
	tokens = Math.min(BURST, tokens + (now - at) * QPS / 1000)
	at = now
	if (state.refuse || tokens < 1)
		return false
	tokens--
	return true
}

// A device on two NUMA nodes is listed twice, as kubelets do.
const device = (id) => [0, 1].map((ID) => ({ resource_name: GPU, device_ids: [id], topology: { nodes: [{ ID }] } }))

function claimOf([claim_name, devices]) {
	const claim_resources = devices.map((d) => d.split("/")).map(([driver_name, pool_name, device_name]) =>
		({ driver_name, pool_name, device_name, cdi_devices: [{ name: `${driver_name}/gpu=${device_name}` }] }))
	return { claim_name, claim_namespace: "default", claim_resources }
}

const podOf = ([name, { gpus = [], cpus = [], memory, claims = {} }]) => ({
	namespace: "default",
	name,
	containers: [{
		name: "main", devices: gpus.flatMap(device), cpu_ids: cpus,
		memory: memory ? [{ memory_type: "memory", size: memory, topology: { nodes: [{ ID: 0 }] } }] : [],
		dynamic_resources: Object.entries(claims).map(claimOf),
	}],
})

const unary = (method, answer) => (call, done) => {
	calls[method]++
	if (!allow()) {
		calls.refused++
		return done({ code: codes.RESOURCE_EXHAUSTED, details: "rejected by rate limit" })
	}
	try {
		done(null, answer(call.request))
	} catch (e) {
		done({ code: codes.UNKNOWN, details: e.message })
	}
}

function get({ pod_name, pod_namespace }) {
	if (state.noGet)
		throw new Error("PodResources API Get method disabled")
	const found = Object.entries(state.lists.at(-1)).find(([name]) => name === pod_name)
	if (!found)
		throw new Error(`pod ${pod_name} in namespace ${pod_namespace} not found`)
	return { pod_resources: podOf(found) }
}

const list = () => ({ pod_resources: Object.entries(state.lists.length > 1 ? state.lists.shift() : state.lists[0]).map(podOf) })

process.on("message", ({ id, ...wanted }) => {
	Object.assign(state, wanted)
	process.send({ id, ...calls })
})
process.on("disconnect", () => process.exit(0))
rmSync(socket, { force: true })
await serve(socket, [PodResourcesLister, {
	List: unary("List", list),
	Get: unary("Get", get),
	GetAllocatableResources: unary("GetAllocatableResources", () => ({ devices: state.gpus.flatMap(device), cpu_ids: [0, 1, 2, 3] })),
}])
process.send({ id: 0 })
