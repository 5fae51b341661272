// Invariants: at every moment, and when all is repaired and quiet.
import assert from "node:assert/strict"
import { existsSync, readFileSync } from "node:fs"
import { core, dra, expect, rv } from "../e2e/api_lib.mjs"
import { DeviceHolds } from "../e2e/device_holds.mjs"
import { until } from "../e2e/lib.mjs"
import { claimsPath, podsPath, wants } from "./load.mjs"

const list = async (place, path) => expect(await place.client.get(path, { seconds: 20 }), 200)

const key = (r) => `${r.driver}/${r.pool}/${r.device}`

// --- at every moment -----------------------------------------------------------------------

// One list is one moment of the server: no device may be in two claims.
export async function heldOnce(place) {
	const answer = await place.client.get(`${dra}/resourceclaims`, { seconds: 20 }).catch(() => undefined)
	if (answer?.code !== 200)
		return 0
	const holds = new DeviceHolds()
	for (const object of answer.body.items)
		holds.take({ type: "ADDED", object })
	assert.deepEqual(holds.doubled, [], `at ${rv(answer.body)}`)
	return 1
}

// The same by what each node reports to monitoring agents.
export async function heldOnceOnNodes(place) {
	let asked = 0
	for (const node of place.nodes) {
		const holders = new Map()
		for (const [device, pod] of await heldOn(place, node) ?? []) {
			assert.ok(!holders.has(device) || holders.get(device) === pod, `on ${node.name} ${device} is held by ${holders.get(device)} and by ${pod}`)
			holders.set(device, pod)
		}
		asked++
	}
	return asked
}

// Pairs of device and pod; undefined while the agent is away.
async function heldOn(place, node) {
	const pods = await place.held(node).catch(() => undefined)
	return pods?.flatMap((pod) => (pod.containers ?? []).flatMap((c) => c.dynamicResources ?? []).flatMap((d) => d.claimResources ?? [])
		.map((r) => [`${r.driverName}/${r.poolName}/${r.deviceName}`, `${pod.namespace}/${pod.name}`]))
}

// --- at the end ----------------------------------------------------------------------------

// Waits until `look` finds nothing wrong; otherwise says what is.
export async function settles(what, look, seconds = 90) {
	let wrong = []
	await until(what, async () => (wrong = await look().catch((e) => [String(e)])).length === 0, seconds)
		.catch((e) => { throw new Error(`${e.message}:\n  ${wrong.slice(0, 20).join("\n  ")}`) })
}

async function scene(place) {
	const [slices, claims, pods, nodes] = await Promise.all([list(place, `${dra}/resourceslices`), list(place, `${dra}/resourceclaims`),
		list(place, podsPath), list(place, `${core}/nodes`)])
	const held = new Map()
	for (const claim of claims.items)
		for (const r of claim.status?.allocation?.devices?.results ?? [])
			held.set(key(r), `${claim.metadata.namespace}/${claim.metadata.name}`)
	return { slices: slices.items, claims: claims.items, pods: pods.items, nodes: nodes.items, held }
}

export const nodesReady = async (place) => (await scene(place)).nodes
	.filter((n) => !n.status?.conditions?.some((c) => c.type === "Ready" && c.status === "True"))
	.map((n) => `node ${n.metadata.name} is not ready`)

// Every slice says of its devices what the claims say.
export async function statusesTrue(place) {
	const { slices, held } = await scene(place)
	const wrong = []
	for (const { metadata, spec, status } of slices) {
		if (status?.observedGeneration !== metadata.generation)
			wrong.push(`the status of slice ${metadata.name} is of generation ${status?.observedGeneration}, not ${metadata.generation}`)
		for (const { name } of spec.devices) {
			const said = status?.devices?.find((d) => d.name === name)?.allocations?.map((a) => `${a.claimNamespace}/${a.claimName}`).join() ?? ""
			const really = held.get(`${spec.driver}/${spec.pool.name}/${name}`) ?? ""
			if (said !== really)
				wrong.push(`${metadata.name} says that ${name} is held by "${said}", which is "${really}"`)
		}
	}
	return wrong
}

// A pod runs, or there is no node on which as many devices are free as it wants.
export async function podsPlaced(place) {
	const { slices, pods, held } = await scene(place)
	const free = {} // by node and class
	for (const { spec } of slices) {
		const name = `${spec.nodeName} ${spec.driver.split(".")[0]}`
		free[name] = (free[name] ?? 0) + spec.devices.filter((d) => !d.taints?.length && !held.has(`${spec.driver}/${spec.pool.name}/${d.name}`)).length
	}
	const wrong = []
	for (const pod of pods) {
		const { deviceClass, count } = wants(pod)
		const room = Object.entries(free).filter(([name, n]) => name.endsWith(` ${deviceClass}`) && n >= count)
		if (pod.metadata.deletionTimestamp)
			wrong.push(`pod ${pod.metadata.name} is still being deleted`)
		else if (pod.spec.nodeName ? pod.status.phase !== "Running" : room.length > 0)
			wrong.push(`pod ${pod.metadata.name} is ${pod.status.phase} on ${pod.spec.nodeName ?? "no node"}, room on ${room.map(([n]) => n)}: ` +
				JSON.stringify(pod.status.conditions?.find((c) => c.status === "False")?.message))
	}
	return wrong
}

// The health in pods' status is what the drivers know.
export async function healthTrue(place) {
	const { pods, claims } = await scene(place)
	const wrong = [], truth = new Map()
	for (const node of place.nodes) {
		for (const driver of node.drivers) {
			for (const [device, { state }] of Object.entries(await place.devices(node, driver)))
				truth.set(`${driver}/${node.name}/${device}`, state)
		}
	}
	for (const pod of pods.filter((p) => p.status.phase === "Running" && !p.metadata.deletionTimestamp)) {
		const said = new Map((pod.status.containerStatuses ?? []).flatMap((c) => (c.allocatedResourcesStatus ?? []).flatMap((s) => s.resources ?? []))
			.map((r) => [r.resourceID, r.health]))
		for (const claim of claims.filter((c) => c.status?.reservedFor?.some((r) => r.uid === pod.metadata.uid))) {
			for (const r of claim.status.allocation.devices.results) {
				if (said.get(key(r)) !== truth.get(key(r)))
					wrong.push(`pod ${pod.metadata.name} says ${said.get(key(r))} of ${key(r)}, which is ${truth.get(key(r))}`)
			}
		}
	}
	return wrong
}

// Nodes report to monitoring agents the devices of exactly the pods that run there.
export async function nodesAgree(place) {
	const { pods, claims } = await scene(place)
	const wrong = []
	for (const node of place.nodes) {
		const wanted = claims.filter((c) => c.metadata.namespace === "drill").flatMap((c) => {
			const users = pods.filter((p) => p.spec.nodeName === node.name && c.status?.reservedFor?.some((r) => r.uid === p.metadata.uid))
			return users.flatMap((p) => c.status.allocation.devices.results.map((r) => `${key(r)} ${p.metadata.namespace}/${p.metadata.name}`))
		}).sort()
		const said = (await heldOn(place, node) ?? []).map((pair) => pair.join(" ")).sort()
		if (said.join() !== wanted.join())
			wrong.push(`${node.name} tells "${said.join(", ")}", not "${wanted.join(", ")}"`)
	}
	return wrong
}

// After all pods were deleted nothing is left of them.
export async function nothingLeft(place) {
	const { pods, held } = await scene(place)
	const claims = (await list(place, claimsPath)).items
	const wrong = [...pods.map((p) => `pod ${p.metadata.name} (${p.metadata.finalizers ?? "no finalizers"}, ${p.spec.nodeName})`),
		...claims.map((c) => `claim ${c.metadata.name} (${c.metadata.finalizers ?? "no finalizers"})`), ...[...held.keys()].map((d) => `${d} is held`)]
	for (const node of place.nodes) {
		for (const [device, pod] of await heldOn(place, node) ?? [["?", "an agent that does not answer"]])
			wrong.push(`${node.name}: ${device} is held by ${pod}`)
		for (const driver of node.drivers) {
			const file = `${node.root}/plugins/${driver}/prepared.json`
			const { claims: prepared } = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : { claims: [] }
			if (prepared.length)
				wrong.push(`${file} still has ${prepared.length} claims`)
		}
	}
	return wrong
}

// Resident memory of a process in KiB; undefined if it is gone, or ended and was not collected yet.
function resident(pid) {
	try {
		const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))
		return Number(kib)
	} catch {
		return undefined
	}
}

// Resident memory by role, in KiB. The state file may still name a process that was restarted: then it is read again.
export async function memory(place) {
	let sizes
	await until("a process of each role", () => {
		const pids = [["supervisor", place.up().pid], ...place.roles().map(({ name, pid }) => [name, pid]),
			...["far-node", "far-driver"].map((name) => [name, place.programs.get(name).pid])]
		sizes = pids.map(([name, pid]) => [name, resident(pid)])
		return sizes.every(([, kib]) => kib !== undefined)
	})
	return Object.fromEntries(sizes)
}
