// examples/topology-exporter against a node of two NUMA nodes: after everything that happens to the node, the object becomes
// what List and GetAllocatableResources say, and no version of it ever promises what is not there.
import assert from "node:assert/strict"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { cpSync, readFileSync, symlinkSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { isDeepStrictEqual } from "node:util"
import * as k8s from "@kubernetes/client-node"
import { core } from "./api_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"
import { machineFlags, putMachine, sys } from "./machine_lib.mjs"
import { kubeconfig, podOn, startCluster } from "./node_lib.mjs"
import { DevicePlugin } from "./plugin_lib.mjs"
import { client, socketOf } from "./podres_lib.mjs"

const GPU = "example.com/gpu", NIC = "example.com/nic"
const MIB = 1 << 20
const topologies = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"
const source = fileURLToPath(new URL("../../examples/topology-exporter", import.meta.url))

// --- the program ----------------------------------------------------------------------------------

// Where `npm install` would have put the modules, it finds those of the tests.
const folder = `${scratch}/exporter`
cpSync(source, folder, { recursive: true, filter: (path) => !/\/node_modules$/.test(path) })
symlinkSync(fileURLToPath(new URL("node_modules", import.meta.url)), `${folder}/node_modules`)

function startExporter(...flags) {
	const child = spawn(process.execPath, [`${folder}/main.mjs`, "--node-name", "n1", ...flags], { stdio: ["ignore", "ignore", "pipe"] })
	const self = { err: "", async stop(signal = "SIGTERM") {
		child.kill(signal)
		const [code] = await once(child, "exit")
		return code
	} }
	child.stderr.on("data", (data) => (self.err += data))
	process.on("exit", () => child.kill("SIGKILL"))
	return self
}

// Makes what a file of the example's deploy/ describes.
async function apply(server, file) {
	const config = new k8s.KubeConfig()
	config.loadFromFile(server.kubeconfig)
	const api = k8s.KubernetesObjectApi.makeApiClient(config)
	for (const object of k8s.loadAllYaml(readFileSync(`${source}/deploy/${file}`, "utf8")))
		await api.create(object)
}

// With the rights of its account, and no others.
async function accountOf(server) {
	await server.client.post(`${core}/namespaces`, { metadata: { name: "kube-system" } })
	await apply(server, "rbac.yaml")
	const path = `${core}/namespaces/kube-system/serviceaccounts/topology-exporter/token`
	const { code, text, body } = await server.client.post(path, { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} })
	assert.equal(code, 201, text)
	return kubeconfig(server, body.status.token)
}

// --- what the object should say ---------------------------------------------------------------------

const near = (node, { topology }) => (topology?.nodes ?? []).some(({ ID }) => ID === node)

// The devices and CPUs of a node in some entries: [[resource, id], ..].
function thingsNear(node, entries) {
	const devices = entries.flatMap((e) => e.devices).filter((d) => near(node, d))
	const cpus = entries.flatMap((e) => e.cpu_ids).filter((id) => id >> 2 === node)
	return [...devices.flatMap((d) => d.device_ids.map((id) => `${d.resource_name} ${id}`)), ...cpus.map((id) => `cpu ${id}`)]
}

const bytesNear = (node, entries) => entries.flatMap((e) => e.memory).filter((m) => near(node, m)).reduce((sum, m) => sum + m.size, 0)

// { "node-0": { resource: "available/allocatable/capacity" } }; memory in MiB.
function expected({ pod_resources }, offer) {
	const containers = pod_resources.flatMap((p) => p.containers)
	return Object.fromEntries([0, 1].map((node) => {
		const offered = new Set(thingsNear(node, [offer])), held = new Set(thingsNear(node, containers))
		const all = [...new Set([...offered, ...held])]
		const counts = all.map((thing) => thing.split(" ")[0]).map((resource) => {
			const of = all.filter((thing) => thing.startsWith(`${resource} `))
			return [resource, `${of.filter((t) => offered.has(t) && !held.has(t)).length}/${of.filter((t) => offered.has(t)).length}/${of.length}`]
		})
		const size = bytesNear(node, [offer]), left = size - bytesNear(node, containers)
		return [`node-${node}`, { ...Object.fromEntries(counts), memory: [left, size, size].map((n) => n / MIB).join("/") }]
	}))
}

function brief({ zones }) {
	const mib = (resource, value) => (resource === "memory" ? Number(value) / MIB : value)
	return Object.fromEntries(zones.map(({ name, type, resources }) => {
		assert.equal(type, "Node")
		return [name, Object.fromEntries(resources.map((r) => [r.name, [r.available, r.allocatable, r.capacity].map((v) => mib(r.name, v)).join("/")]))]
	}))
}

// --- the node ---------------------------------------------------------------------------------------

const cluster = await startCluster({ names: ["n1"] })
const { server } = cluster
await apply(server, "crd.yaml")
await until("the kind", async () => (await server.client.get(topologies)).code === 200)

const node = await cluster.node("n1", { flags: [...machineFlags, "--topology-manager-policy", "single-numa-node"] })
const api = client(socketOf(node), { "grpc.max_reconnect_backoff_ms": 200 })
const flags = ["--socket", socketOf(node), "--kubeconfig", await accountOf(server), "--sysfs-root", sys,
	"--attribute", "topologyManagerPolicy=single-numa-node"]

// Two devices on each node, one near both, one near none.
const devices = [{ ID: "a", numa: [0] }, { ID: "b", numa: [0] }, { ID: "c", numa: [1] }, { ID: "d", numa: [1] }, { ID: "e", numa: [0, 1] }, { ID: "f" }]
const offerGpus = () => DevicePlugin.start(node.root, GPU, devices)
const offerNics = () => DevicePlugin.start(node.root, NIC, [{ ID: "eth0", numa: [1] }])
let gpus = await offerGpus(), nics = await offerNics()

// Without gathering: whatever it believes for a moment is to be seen.
let exporter = startExporter(...flags, "--delay", "0")

// Every version that the object had, in order; a watch ends with its server.
const versions = []
let watch
async function watchObject() {
	const since = versions.at(-1)?.metadata.resourceVersion
	watch = await server.client.watch(`${topologies}?watch=true${since ? `&resourceVersion=${since}` : ""}`)
}
function keepVersions() {
	assert.ok(watch.events.every(({ type }) => type !== "ERROR" && type !== "DELETED"), JSON.stringify(watch.events))
	versions.push(...watch.events.splice(0).map(({ object }) => object))
}
await watchObject()

// Waits until the object says this of some resources, and of all what the agent's answers say.
async function settled(wanted) {
	let now, should
	const matches = () => Object.entries(wanted).every(([zone, of]) => Object.entries(of).every(([r, text]) => now[zone]?.[r] === text))
	try {
		await until("the object", async () => {
			const { code, body } = await server.client.get(`${topologies}/n1`)
			if (code !== 200)
				return false
			now = brief(body)
			should = expected(await api.list(), await api.allocatable())
			return isDeepStrictEqual(now, should) && matches()
		})
	} catch (e) {
		throw new Error(`${e.message}\nit is ${JSON.stringify(now)}\nthe agent says ${JSON.stringify(should)}\nthe test wants ${JSON.stringify(wanted)}\n${exporter.err}`)
	}
}

async function runs(cpu, gpu, extra = {}) {
	const limits = { cpu: String(cpu), memory: "1Gi", ...(gpu && { [GPU]: String(gpu) }), ...extra }
	const pod = await cluster.run(podOn("n1", { main: { resources: { limits, requests: limits } } }))
	return cluster.pod(pod, (p) => p.status.phase === "Running")
}

async function end(...pods) {
	await Promise.all(pods.map(async (pod) => {
		await cluster.delete(pod, 0)
		await cluster.gone(pod)
	}))
}

const idle = {
	"node-0": { cpu: "3/3/3", [GPU]: "3/3/3", memory: "7680/7680/7680" },
	"node-1": { cpu: "4/4/4", [GPU]: "3/3/3", [NIC]: "1/1/1", memory: "7680/7680/7680" },
}
// The rest of a zone in which these are used.
const zone1 = (cpu, gpu, nic, gib) => ({ "node-1": { cpu: `${cpu}/4/4`, [GPU]: `${gpu}/3/3`, [NIC]: `${nic}/1/1`, memory: `${7680 - 1024 * gib}/7680/7680` } })

// --- tests ------------------------------------------------------------------------------------------

await test("the example's own tests pass", async () => {
	const { status, stdout, stderr } = spawnSync(process.execPath, ["--test"], { cwd: folder, encoding: "utf8" })
	assert.equal(status, 0, stdout + stderr)
})

await test("an idle node: a zone per NUMA node, with the attributes of the flags", async () => {
	await settled(idle)
	const { body } = await server.client.get(`${topologies}/n1`)
	assert.deepEqual(body.attributes, [{ name: "topologyManagerPolicy", value: "single-numa-node" }])
})

await test("pods come and go", async () => {
	const a = await runs(2, 1, { [NIC]: "1" })
	await settled(zone1(2, 2, 0, 1))
	const b = await runs(1, 1, {}), c = await runs(1, 0)
	await settled({})
	await end(a)
	await settled({ "node-1": { [NIC]: "1/1/1" } })
	await end(b, c)
	await settled(idle)
})

await test("many pods at once", async () => {
	const pods = await Promise.all([1, 1, 1, 1, 1].map((n) => runs(n, 1)))
	await settled({ "node-0": { [GPU]: "0/3/3" }, "node-1": { [GPU]: "0/3/3" } })
	await end(...pods)
	await settled(idle)
})

await test("a device falls ill in a pod's hands, and gets well", async () => {
	const pod = await runs(1, 2, { [NIC]: "1" })
	await settled({ "node-1": { [GPU]: "1/3/3" } })
	gpus.set(devices.map((d) => (d.numa?.includes(1) ? { ...d, health: "Unhealthy" } : d)))
	await settled({ "node-1": { [GPU]: "0/0/2" } })
	await end(pod)
	await settled({ "node-1": { [GPU]: undefined } })
	gpus.set(devices)
	await settled(idle)
})

await test("a CPU goes off line, and comes back", async () => {
	putMachine({ online: "0-6", nodes: ["0-3", "4-6"] })
	await settled({ "node-1": { cpu: "3/3/3" } })
	putMachine()
	await settled(idle)
})

await test("a plugin goes, with what it offered, and comes back", async () => {
	nics.stop()
	await settled({ "node-1": { [NIC]: undefined } })
	nics = await offerNics()
	await settled(idle)
})

await test("the agent is killed, a pod ends meanwhile, and the agent starts again", async () => {
	const [stays, goes] = [await runs(2, 1, { [NIC]: "1" }), await runs(1, 1)]
	await settled({ "node-1": { [NIC]: "0/1/1" } })
	keepVersions()
	const before = versions.length
	await node.kill()
	await cluster.delete(goes, 0)
	await node.begin()
	await cluster.gone(goes)
	gpus.stop()
	nics.stop();
	[gpus, nics] = await Promise.all([offerGpus(), offerNics()])
	await settled({ "node-0": { cpu: "3/3/3" }, ...zone1(2, 2, 0, 1) })
	assert.match(exporter.err, /ListAndWatch: .*trying again\n(.*\n)*.*ListAndWatch: back again/)
	keepVersions()
	for (const version of versions.slice(before))
		assert.match(brief(version)["node-1"][NIC], /^0/, "it is with a pod all the time")
	await end(stays)
	await settled(idle)
})

await test("the API server is killed, the node changes meanwhile, and the server starts again", async () => {
	keepVersions()
	await server.kill()
	gpus.set(devices.slice(1))
	await until("a word about it", () => /cannot write/.test(exporter.err))
	await server.begin()
	await watchObject()
	await settled({ "node-0": { [GPU]: "2/2/2" } })
	gpus.set(devices)
	await settled(idle)
	assert.match(exporter.err, /writes succeed again/)
})

await test("somebody else writes the object: what is theirs stays, what is not is put right", async () => {
	const theirs = { metadata: { labels: { rack: "7" } }, zones: [] }
	assert.equal((await server.client.patch(`${topologies}/n1`, theirs, "merge")).code, 200)
	const pod = await runs(1, 1)
	await settled({})
	assert.deepEqual((await server.client.get(`${topologies}/n1`)).body.metadata.labels, { rack: "7" })
	await end(pod)
	await settled(idle)
})

await test("it is started again: the object is taken over, and written when something changes", async () => {
	assert.equal(await exporter.stop(), 0)
	const { body } = await server.client.get(`${topologies}/n1`)
	exporter = startExporter(...flags)
	const pod = await runs(1, 1)
	await settled({})
	assert.equal((await server.client.get(`${topologies}/n1`)).body.metadata.uid, body.metadata.uid)
	await end(pod)
	await settled(idle)
	assert.doesNotMatch(exporter.err, /made|cannot/)
})

await test("no version promised what was not there, and none was written without a change", () => {
	keepVersions()
	assert.ok(versions.length > 15, `${versions.length} versions`)
	for (const { zones, metadata } of versions) {
		for (const { name, resources } of zones) {
			for (const r of resources) {
				const [available, allocatable, capacity] = [r.available, r.allocatable, r.capacity].map(Number)
				assert.ok(0 <= available && available <= allocatable && allocatable <= capacity, `${metadata.resourceVersion} ${name} ${JSON.stringify(r)}`)
			}
		}
	}
	for (const [i, { zones, metadata }] of versions.slice(1).entries())
		assert.notDeepEqual(zones, versions[i].zones, `${metadata.resourceVersion} is as the one before`)
})

await exporter.stop()
await node.stop()
await cluster.stop()
finish()
