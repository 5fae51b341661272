// Slices, claims that hold their devices, and the controller that says what is free: what the availability_*_test.mjs share. Nobody
// schedules: a test writes the allocations itself.
//
//	const cluster = await startDevices()
//	await cluster.slice("s1", { node: "n1", devices: [device("gpu-0")] })
//	await cluster.claim("default", "c1", [{ pool: "n1", device: "gpu-0" }])
//	await cluster.status("s1", (s) => s?.summary.allocatedDevices === 1)
import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { core, dra, expect, startServer, unique } from "./api_lib.mjs"
import { scratch, start, until } from "./lib.mjs"
import { kubeconfig } from "./node_lib.mjs"

export const DRIVER = "gpu.example.com"
export const slices = `${dra}/resourceslices`
export const claimsOf = (ns) => `${dra}/namespaces/${ns}/resourceclaims`

export const device = (name, more = {}) => ({ name, attributes: { model: { string: "a100" } }, ...more })
export const shared = (name, memory = "80Gi") => device(name, { allowMultipleAllocations: true, capacity: { memory: { value: memory } } })

let shares = 0
// A share of a device that has one capacity, for results of claim().
export const share = (pool, name, memory) => ({
	pool, device: name, consumedCapacity: { memory }, shareID: `00000000-0000-4000-8000-${String(++shares).padStart(12, "0")}`,
})

// Options: flags of the server; tokens: lines of a token file for users of a test.
export async function startDevices({ flags = [], tokens = [], backend = "lmdb" } = {}) {
	const file = `${scratch}/${unique("tokens")}.csv`
	writeFileSync(file, ["controllers-own,system:devplane-controller,1", ...tokens, ""].join("\n"), { mode: 0o600 })
	// The server reads this list each time that it is started.
	const serverFlags = ["--token-auth-file", file, ...flags]
	const server = await startServer(backend, { flags: serverFlags })
	const self = { server, serverFlags, get client() { return server.client } }

	// The controller with the rights of its role. kill() ends it as a crash would, stop() in order; begin() starts it again.
	self.controller = async (...more) => {
		const c = {}
		c.begin = async () => {
			c.process = start("controller", "--kubeconfig", kubeconfig(server, "controllers-own"), "--metrics-bind-address", "127.0.0.1:0",
				"--log-format", "text", "--controllers", "resourceslice-status-controller,resourcepoolstatusrequest-controller,garbage-collector-controller", ...more)
			await until("controller", () => /metrics at (\S+)/.test(c.process.out) || c.process.child.exitCode !== null)
			c.url = /metrics at (\S+)/.exec(c.process.out)?.[1]
			assert.ok(c.url, `the controller ended: ${c.process.err}`)
		}
		c.kill = async () => {
			c.process.child.kill("SIGKILL")
			await c.process.ended
		}
		c.stop = async () => {
			c.process.child.kill("SIGTERM")
			assert.deepEqual(await c.process.ended, { code: 0, signal: null })
		}
		c.metrics = async () => (await fetch(`${c.url}/metrics`)).text()
		c.metric = async (name) => Number(new RegExp(`^${name.replace(/[{}]/g, "\\$&")} (\\S+)$`, "m").exec(await c.metrics())?.[1] ?? NaN)
		await c.begin()
		return c
	}

	// A slice; without a node every node reaches it. `spec` adds to it.
	self.sliceObject = (name, { driver = DRIVER, pool, node, generation = 1, count = 1, devices, labels, ...spec }) => ({
		apiVersion: "resource.k8s.io/v1", kind: "ResourceSlice", metadata: { name, labels },
		spec: { driver, pool: { name: pool ?? node, generation, resourceSliceCount: count }, ...node ? { nodeName: node } : { allNodes: true }, devices, ...spec },
	})
	// Devices of a node that does not exist are unavailable: a slice's node is made with it.
	self.node = async (name) => {
		const { code, text } = await self.client.post(`${core}/nodes`, { metadata: { name } })
		assert.ok([201, 409].includes(code), text)
	}
	self.slice = async (name, what) => {
		if (what.node)
			await self.node(what.node)
		return expect(await self.client.post(slices, self.sliceObject(name, what)), 201)
	}
	self.read = async (name) => (await self.client.get(`${slices}/${name}`)).body
	// As a driver does it: the whole object, without what it does not know.
	self.republish = async (name, change) => {
		for (;;) {
			const { status, ...object } = await self.read(name)
			change(object.spec)
			const answer = await self.client.put(`${slices}/${name}`, object)
			if (answer.code !== 409)
				return expect(answer, 200)
		}
	}
	self.remove = async (name) => expect(await self.client.delete(`${slices}/${name}`), 200)

	self.namespace = async (name) => {
		const { code, text } = await self.client.post(`${core}/namespaces`, { metadata: { name } })
		assert.ok([201, 409].includes(code), text)
	}
	const allocation = (results) => ({ devices: { results: results.map((r) => ({ request: "gpu", driver: DRIVER, ...r })) } })
	self.allocate = async (ns, name, results) => expect(await self.client.patch(`${claimsOf(ns)}/${name}/status`, {
		status: { allocation: results ? allocation(results) : null },
	}, "merge"), 200)
	// A claim that holds what `results` say. Options: request (of its one request).
	self.claim = async (ns, name, results, request = {}) => {
		expect(await self.client.post(claimsOf(ns), {
			metadata: { name }, spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu", ...request } }] } },
		}), 201)
		return results ? self.allocate(ns, name, results) : undefined
	}
	self.release = async (ns, name) => expect(await self.client.delete(`${claimsOf(ns)}/${name}`), 200)

	// The status of a slice, when it is as `wanted` says.
	self.status = async (name, wanted = (s) => s, seconds = 30) => {
		let last
		try {
			return await until(`status of ${name}`, async () => {
				const object = await self.read(name)
				last = object.status
				return wanted(object.status, object) && (object.status ?? true)
			}, seconds)
		} catch (e) {
			throw new Error(`${e.message}\n${JSON.stringify(last, null, 1)}`)
		}
	}
	return self
}

// The state of whole devices of plain slices, computed from scratch: { slice: { device: [claims] } }.
export async function heldByClaims(cluster) {
	const held = {}
	const { items } = (await cluster.client.get(`${dra}/resourceclaims`)).body
	for (const c of items)
		for (const r of c.status?.allocation?.devices.results ?? [])
			(held[`${r.driver}/${r.pool}/${r.device}`] ??= []).push(`${c.metadata.namespace}/${c.metadata.name}`)
	return held
}

// Every slice says of each device just what the claims say.
export async function differences(cluster) {
	const held = await heldByClaims(cluster)
	const wrong = []
	for (const { metadata, spec, status } of (await cluster.client.get(slices)).body.items) {
		if (status?.observedGeneration !== metadata.generation || status.devices?.length !== spec.devices.length)
			wrong.push(`${metadata.name} is of generation ${metadata.generation}, its status of ${status?.observedGeneration}`)
		for (const { name, state, allocations = [] } of status?.devices ?? []) {
			const said = allocations.map((a) => `${a.claimNamespace}/${a.claimName}`).sort().join()
			// If there are many, only the first are named.
			const true_ = (held[`${spec.driver}/${spec.pool.name}/${name}`] ?? []).sort().slice(0, 32).join()
			if (said !== true_ || state !== (true_ ? "Allocated" : "Available"))
				wrong.push(`${metadata.name}/${name} is ${state} by "${said}", not "${true_}"`)
		}
	}
	return wrong
}

export const converged = (cluster, seconds = 60) => until("statuses that are true", async () => (await differences(cluster)).length === 0, seconds)
	.catch(async (e) => { throw new Error(`${e.message}\n${(await differences(cluster)).join("\n")}`) })
