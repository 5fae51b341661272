// The parts of deploy/ are upgraded from one version to another, and back: controller, attach and two drivers. What they wrote stays:
// statuses and histories of slices, conditions of pods, the lease, allocations, and claims that the other version prepared.
//
//	DEVPLANE_OLD=/old/build/devplane tests/e2e/run build/devplane upgrade
//
// DEVPLANE_OLD is the program of the older version. Without it the same program is both. Flags and controllers that the older version does
// not know are left out for it.
import assert from "node:assert/strict"
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { core, dra } from "./api_lib.mjs"
import { devplane, finish, scratch, startProgram, test, until } from "./lib.mjs"
import { allocateClaim, claims, podOn, pods, startCluster } from "./node_lib.mjs"

const checkout = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "")
const SIM = "gpu.sim.devplane.dev", NVIDIA = "gpu.nvidia.com"
const versionOf = (program) => /\(commit ([^,)]+)/.exec(execFileSync(program, ["version"], { encoding: "utf8" }))?.[1] ?? "of an unknown commit"
const today = devplane, older = resolve(process.env.DEVPLANE_OLD ?? devplane)
console.log(process.env.DEVPLANE_OLD ? `# from ${versionOf(older)} to ${versionOf(today)} and back` : "# the same program is both versions: DEVPLANE_OLD names no older one")

// --- what a version knows -------------------------------------------------------------------------

const says = (program, ...args) => {
	const { stdout, stderr } = spawnSync(program, args, { encoding: "utf8" })
	return stdout + stderr
}
const knownFlags = (program, role, flags) => flags.filter((flag) => says(program, role, "--help").includes(flag.split("=")[0]))
const knownControllers = (program, names) => names.filter((name) => !/is not one of them/.test(says(program, "controller", "--controllers", name, "--kubeconfig", "/nowhere")))

// --- a cluster with machines ----------------------------------------------------------------------

const cluster = await startCluster({ names: ["n1"], flags: ["--feature-gates", "DRAResourceAvailabilityVisibility=false"] })
const { client } = cluster
const program = execFileSync(`${checkout}/scripts/kubectl`, [`${dirname(devplane)}/kubectl`], { encoding: "utf8" }).trim()
execFileSync(program, ["--kubeconfig", cluster.server.kubeconfig, "--cache-dir", `${scratch}/cache`, "apply", "-k", `${checkout}/deploy/availability`])
const node = await cluster.node("n1"), cdi = `${node.root}/cdi`
const built = `${dirname(devplane)}/tests/fake_nvml`, gpus = existsSync(`${built}/libfake_nvml.so`), machine = `${scratch}/machine`
if (gpus) {
	Object.assign(process.env, { FAKE_NVML_STATE: `${scratch}/gpus`, FAKE_NVML_ROOT: machine })
	mkdirSync(`${machine}/dev`, { recursive: true })
	execFileSync("mkfifo", [`${machine}/dev/kmsg`])
	execFileSync(`${built}/fake_nvml_ctl`, ["gpus", "2"])
} else {
	console.log("# without the driver of NVIDIA GPUs: no stand-in for NVIDIA's library was built")
}

// --- the parts ------------------------------------------------------------------------------------

const rolesOf = (program) => ({
	controller: ["controller", "--controllers", knownControllers(program, ["resourceslice-status-controller", "device-history"]).join(","),
		"--leader-elect-resource-name=devplane-availability", "--leader-elect-resource-namespace=devplane-availability"],
	attach: ["node", "--attach", "--node-name=n1", `--root-dir=${node.root}`, "--attach-interval=500ms", ...knownFlags(program, "node", ["--attach-pod-condition", "--attach-node-annotation"])],
	sim: ["driver", "sim", "--node-name=n1", `--root-dir=${node.root}`, `--cdi-dir=${cdi}`, "--devices=4"],
	...gpus && { nvidia: ["driver", "nvidia", "--node-name=n1", `--root-dir=${node.root}`, `--cdi-dir=${cdi}`, `--nvml-library=${built}/libfake_nvml.so`, `--host-root=${machine}`] },
})

async function startPart(program, name, args) {
	const self = startProgram(program, ...args, "--kubeconfig", cluster.server.kubeconfig, "--metrics-bind-address", "127.0.0.1:0", "--log-format", "text")
	const url = await until(`${name} running`, () => {
		assert.equal(self.child.exitCode, null, self.err)
		return /health and metrics at (\S+)/.exec(self.out)?.[1]
	})
	await until(`${name} ready`, async () => (await fetch(`${url}/readyz`)).status === 200, 60)
	if (args[0] === "driver")
		await until(`${name} registered`, () => /registered as/.test(self.err))
	self.stop = async () => {
		self.child.kill("SIGTERM")
		assert.deepEqual(await self.ended, { code: 0, signal: null }, self.err)
		assert.doesNotMatch(self.err, /unknown field|cannot (read|decode|parse)|invalid/i)
	}
	return self
}

const list = async (path) => (await client.get(path)).body.items
let running = {}, markers = 0

// Ends the parts of one version and starts those of another, and waits until each has looked at the cluster.
async function change(program) {
	for (const part of Object.values(running))
		await part.stop()
	running = {}
	for (const [name, args] of Object.entries(rolesOf(program)))
		running[name] = await startPart(program, name, args)
	// A slice that is new gets a status after all that were there before.
	const name = `marker-${markers++}`
	assert.equal((await client.post(`${dra}/resourceslices`, { metadata: { name }, spec: { driver: "marker.example.com", nodeName: "n1", pool: { name, generation: 1, resourceSliceCount: 1 }, devices: [{ name: "d" }] } })).code, 201)
	await until("a status of the marker", async () => (await statuses()).some((s) => s.metadata.name === name), 60)
	await client.delete(`${dra}/resourceslices/${name}`)
	await until("no status of the marker", async () => !(await statuses()).some((s) => s.metadata.name === name), 60)
}

// --- what they wrote ------------------------------------------------------------------------------

const statuses = () => list("/apis/devplane.dev/v1alpha1/resourceslicestatuses")
const ours = (name) => name.startsWith("devplane.dev/")
const byName = (items, of) => Object.fromEntries(items.filter(({ spec }) => spec?.driver !== "marker.example.com").map((o) => [o.metadata.name, { uid: o.metadata.uid, ...of(o) }]))

async function written() {
	return {
		slices: byName(await list(`${dra}/resourceslices`), ({ spec }) => ({ spec })),
		statuses: byName(await statuses(), ({ status }) => ({ status })),
		claims: byName(await list(claims), ({ status }) => ({ status })),
		pods: byName(await list(pods), ({ status }) => ({ phase: status.phase, started: status.containerStatuses?.map((c) => c.state.running?.startedAt), conditions: status.conditions.filter(({ type }) => ours(type)).map(({ type, status, message }) => ({ type, status, message })) })),
		nodes: byName(await list(`${core}/nodes`), ({ metadata }) => ({ annotations: Object.fromEntries(Object.entries(metadata.annotations).filter(([name]) => ours(name))) })),
		leases: byName(await list("/apis/coordination.k8s.io/v1/namespaces/devplane-availability/leases"), () => ({})),
		cdi: Object.fromEntries(readdirSync(cdi).filter((f) => f.includes("claim")).map((f) => [f, readFileSync(`${cdi}/${f}`, "utf8")])),
	}
}

// The changes of each device, by history: lines of text.
const histories = async () => byName(await list("/apis/devplane.dev/v1alpha1/devicehistories"), ({ status }) =>
	({ changes: status.devices.flatMap(({ name, changes }) => changes.map((c) => `${name} ${JSON.stringify(c)}`)).sort() }))

// A history may have grown: a driver that restarts is Unknown for a moment.
function assertKept(before, after) {
	for (const [name, { uid, changes }] of Object.entries(before)) {
		assert.equal(after[name]?.uid, uid, name)
		assert.deepEqual(changes.filter((line) => !after[name].changes.includes(line)), [], name)
	}
}

// As above, when the controller has seen the newest slices.
async function settled() {
	await until("statuses of the newest slices", async () => {
		const seen = new Map((await statuses()).map((s) => [s.metadata.name, s.status.observedGeneration]))
		return (await list(`${dra}/resourceslices`)).every(({ metadata, spec }) => seen.get(metadata.name) === metadata.generation && !spec.devices?.some((d) => d.taints))
	}, 60)
	return written()
}

// The same as before, once all parts have looked.
async function assertSame(kinds, before) {
	let after
	const same = () => kinds.every((kind) => JSON.stringify(after[kind]) === JSON.stringify(before[kind]))
	await until("what was written before", async () => {
		after = await written()
		return same()
	}, 30).catch(() => kinds.forEach((kind) => assert.deepEqual(after[kind], before[kind], kind)))
}

const sim = (...args) => execFileSync(devplane, ["driver", "sim", ...args, "--root-dir", node.root, "--name", SIM])
const healthOf = async (name) => (await statuses()).flatMap(({ spec, status }) => (spec.driver === SIM ? status.devices : [])).find((d) => d.name === name)?.health
const isHealth = (name, health) => until(`${name} ${health}`, async () => await healthOf(name) === health, 60)

// A running pod with a claim for the device.
async function holder(name, driver, device) {
	const pool = (await list(`${dra}/resourceslices?fieldSelector=spec.driver=${driver}`))[0].spec.pool.name
	const pod = await cluster.run(podOn("n1", { name, resourceClaims: [{ name: "gpu", resourceClaimName: name }], main: { resources: { claims: [{ name: "gpu" }] } } }))
	await allocateClaim(client, name, [{ request: "r", driver, pool, device }], pod)
	await cluster.pod(pod, (p) => p.status.phase === "Running")
	await until("its CDI file", () => readdirSync(cdi).some((f) => f.includes("claim") && readFileSync(`${cdi}/${f}`, "utf8").includes(device)))
	return pod
}

const hasCondition = (wanted) => (p) => p.status.conditions.some(({ type, status }) => type === "devplane.dev/DevicesHealthy" && status === wanted)

const claimFiles = () => readdirSync(cdi).filter((f) => f.includes("claim")).length
async function end(pod) {
	const before = claimFiles()
	await cluster.delete(pod)
	await cluster.gone(pod)
	await until("its claim unprepared", () => claimFiles() === before - 1)
}

// --- the story ------------------------------------------------------------------------------------

const held = {}
const deviceOf = async (driver) => (await list(`${dra}/resourceslices?fieldSelector=spec.driver=${driver}`)).flatMap((s) => s.spec.devices ?? []).map((d) => d.name).sort()

await test("the older version publishes, prepares and reports", async () => {
	await change(older)
	await until("slices", async () => (await deviceOf(SIM)).length === 4)
	held.sim = await holder("sim-by-older", SIM, "gpu-0")
	held.more = await holder("sim-for-older", SIM, "gpu-1")
	if (gpus)
		held.nvidia = await holder("gpu-by-older", NVIDIA, (await deviceOf(NVIDIA)).find((name) => /^gpu-\d+$/.test(name)))
	await until("two held devices", async () => (await statuses()).some(({ status }) => status.summary.allocatedDevices === 2), 60)
	if (knownFlags(older, "node", ["--attach-pod-condition"]).length)
		await cluster.pod(held.more, hasCondition("True"))
})

const kinds = ["slices", "claims", "cdi", "leases", "statuses"]
// Health is published by the kubelet for versions of attach that do not write it.
const alike = older === today

await test("an upgrade leaves all of it as it was", async () => {
	const before = await settled(), records = await histories()
	await change(today)
	await assertSame(kinds.concat(alike ? ["pods", "nodes"] : []), before)
	assertKept(records, await histories())
	for (const [name, { uid, phase, started }] of Object.entries((await written()).pods))
		assert.deepEqual({ uid, phase, started }, { uid: before.pods[name].uid, phase: before.pods[name].phase, started: before.pods[name].started })
})

await test("the newer version goes on: health, conditions, histories, and claims that the older one prepared", async () => {
	sim("fail", "gpu-0", "--message", "double-bit ECC error")
	await isHealth("gpu-0", "Unhealthy")
	await cluster.pod(held.sim, hasCondition("False"))
	await until("a history", async () => (await list("/apis/devplane.dev/v1alpha1/devicehistories")).some(({ status }) => JSON.stringify(status).includes("double-bit ECC error")), 60)
	// A simulated device forgets its failure when its driver ends.
	sim("heal", "gpu-0")
	await isHealth("gpu-0", "Healthy")
	await end(held.sim)
	held.today = await holder("sim-by-newer", SIM, "gpu-2")
	if (gpus)
		held.again = await holder("gpu-by-newer", NVIDIA, (await deviceOf(NVIDIA)).filter((name) => /^gpu-\d+$/.test(name))[1])
	await until("its status", async () => (await statuses()).some(({ spec, status }) => spec.driver === SIM && status.devices.some((d) => d.name === "gpu-2" && d.state === "Allocated")), 60)
})

await test("the way back leaves all of it as it was", async () => {
	await cluster.pod(held.today, hasCondition("True"))
	const before = await settled(), records = await histories()
	await change(older)
	await assertSame([...kinds, "pods", "nodes"], before)
	assertKept(records, await histories())
})

await test("the older version goes on with what the newer one prepared, and ends it", async () => {
	for (const pod of Object.values(held).filter((pod) => pod !== held.sim))
		await end(pod)
	for (const { metadata } of await list(claims))
		await client.delete(`${claims}/${metadata.name}`)
	await until("end of holding", async () => (await statuses()).every(({ status }) => status.summary.allocatedDevices === 0), 60)
	for (const part of Object.values(running))
		await part.stop()
})

await node.stop()
finish()
