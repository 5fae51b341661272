// `devplane driver nvidia` on a library that stands in for NVIDIA's, with two H200s: full GPUs, MIG partitions, Xids, and
// what a driver that was killed leaves.
import assert from "node:assert/strict"
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync, writeSync } from "node:fs"
import { dirname } from "node:path"
import { dra, unique } from "./api_lib.mjs"
import { devplane, finish, scratch, start, test, until } from "./lib.mjs"
import { claims, healthOf, startCluster } from "./node_lib.mjs"
import { pending, startController, startScheduler } from "./scheduler_lib.mjs"

const built = `${dirname(devplane)}/tests/fake_nvml`
const library = `${built}/libfake_nvml.so`
const root = `${scratch}/machine`, driver = "gpu.nvidia.com", version = "580.159.04"

process.env.FAKE_NVML_STATE = `${scratch}/gpus`
process.env.FAKE_NVML_ROOT = root

// Breaks and heals the GPUs; see tests/fake_nvml/control.h.
const gpus = (...words) => execFileSync(`${built}/fake_nvml_ctl`, words.map(String), { encoding: "utf8" })
const instances = () => JSON.parse(gpus("show")).gpus.flatMap((g) => g.instances)
const migOn = () => JSON.parse(gpus("show")).gpus.map((g) => g.mig)

// --- a machine with the driver's library ------------------------------------------------------

// The smallest shared library that has a SONAME: header, two segments, the dynamic section, names.
function writeLibrary(path, soname) {
	const names = Buffer.from(`\0${soname}\0`), head = 64, segment = 56, dynamic = 48, base = 0x10000
	const at = head + 2 * segment, b = Buffer.alloc(at + dynamic + names.length)
	const put = (offset, ...v) => v.forEach((n, i) => b.writeBigUInt64LE(BigInt(n), offset + 8 * i))
	b.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1])
	b.writeUInt16LE(3, 16)
	b.writeUInt16LE(process.arch === "x64" ? 62 : 183, 18)
	put(32, head)
	b.writeUInt16LE(segment, 54)
	b.writeUInt16LE(2, 56)
	b.writeUInt32LE(1, head)
	put(head + 16, base)
	put(head + 32, b.length)
	b.writeUInt32LE(2, head + segment)
	put(head + segment + 8, at)
	put(head + segment + 32, dynamic)
	put(at, 14, 1, 5, base + at + dynamic, 0, 0)
	names.copy(b, at + dynamic)
	mkdirSync(dirname(path), { recursive: true })
	writeFileSync(path, b)
}

// The kernel's log is a pipe.
mkdirSync(`${root}/dev`, { recursive: true })
execFileSync("mkfifo", [`${root}/dev/kmsg`])
const kmsg = openSync(`${root}/dev/kmsg`, "r+")

// CUDA's MPS control program: with -f it is the daemon, else it passes commands to it.
mkdirSync(`${scratch}/bin`)
process.env.PATH = `${scratch}/bin:${process.env.PATH}`
writeFileSync(`${scratch}/bin/nvidia-cuda-mps-control`, `#!/bin/sh
if [ "$1" = -f ]; then
	: >"$CUDA_MPS_PIPE_DIRECTORY/control"
	while [ ! -e "$CUDA_MPS_PIPE_DIRECTORY/quit" ]; do sleep 0.05; done
	rm "$CUDA_MPS_PIPE_DIRECTORY/quit"
	exit 0
fi
while read -r line; do
	echo "$line" >>${scratch}/mps-commands
	case $line in
	*thread_percentage*) echo 50.0 ;;
	quit) : >"$CUDA_MPS_PIPE_DIRECTORY/quit" ;;
	esac
done
`, { mode: 0o755 })

gpus("gpus", 2)
writeLibrary(`${root}/usr/lib64/libcuda.so.${version}`, "libcuda.so.1")

const cluster = await startCluster({ names: ["n1"] })
const node = await cluster.node("n1")
const scheduler = await startScheduler(cluster), controller = await startController(cluster)
const cdi = `${node.root}/cdi`

async function startDriver(...flags) {
	const process = start("driver", "nvidia", "--kubeconfig", cluster.server.kubeconfig, "--node-name", "n1", "--root-dir", node.root, "--cdi-dir", cdi,
		"--nvml-library", library, "--host-root", root, "--poll-interval", "100ms", "--log-format", "text", ...flags)
	const url = await until("running driver", () => {
		assert.equal(process.child.exitCode, null, process.err)
		return /health and metrics at (\S+)/.exec(process.out)?.[1]
	})
	await until("ready driver", async () => (await fetch(`${url}/readyz`)).status === 200)
	process.metrics = async () => (await fetch(`${url}/metrics`)).text()
	return process
}

let nvidia = await startDriver()

const slices = async () => (await cluster.client.get(`${dra}/resourceslices?fieldSelector=spec.driver=${driver}`)).body.items
const published = async () => (await slices()).flatMap((s) => s.spec.devices ?? [])
const device = async (name) => (await published()).find((d) => d.name === name)

function show(...args) {
	const { status, stdout, stderr } = spawnSync(devplane, ["driver", "nvidia", ...args, "--root-dir", node.root, "--nvml-library", library, "--host-root", root, "-o", "json"], { encoding: "utf8" })
	assert.equal(status, 0, stderr)
	return JSON.parse(stdout)
}

for (const type of ["gpu", "mig"]) {
	const name = type === "gpu" ? driver : "mig.nvidia.com"
	const { code, text } = await cluster.client.post(`${dra}/deviceclasses`, {
		metadata: { name },
		spec: { selectors: [{ cel: { expression: `device.driver == "${driver}" && device.attributes["${driver}"].type == "${type}"` } }] },
	})
	assert.equal(code, 201, text)
}

// A pod with a claim for a full GPU, or for a MIG partition of that profile. Options: parameters, amounts of a shared GPU.
async function runPod(profile, { parameters, amounts } = {}) {
	const name = unique("claim")
	const exactly = { deviceClassName: profile ? "mig.nvidia.com" : driver }
	if (profile)
		exactly.selectors = [{ cel: { expression: `device.attributes["${driver}"].profile == "${profile}"` } }]
	if (amounts)
		exactly.capacity = { requests: amounts }
	const devices = { requests: [{ name: "gpu", exactly }] }
	if (parameters)
		devices.config = [{ opaque: { driver, parameters: { apiVersion: "resource.nvidia.com/v1beta1", ...parameters } } }]
	const { code, text } = await cluster.client.post(claims, { metadata: { name }, spec: { devices } })
	assert.equal(code, 201, text)
	const pod = await cluster.run(pending({ resourceClaims: [{ name: "gpu", resourceClaimName: name }], main: { resources: { claims: [{ name: "gpu" }] } } }))
	pod.claim = name
	pod.device = async () => (await cluster.client.get(`${claims}/${name}`)).body.status?.allocation?.devices.results[0].device
	return pod
}

const running = (pod) => cluster.pod(pod, (p) => p.status.phase === "Running")
const readCdi = (uid) => JSON.parse(readFileSync(`${cdi}/${readdirSync(cdi).find((f) => f.includes(uid))}`)).devices[0].containerEdits
const claimOf = async (pod) => (await cluster.client.get(`${claims}/${pod.claim}`)).body

async function remove(pod) {
	await cluster.delete(pod)
	await cluster.gone(pod)
	await cluster.client.delete(`${claims}/${pod.claim}`)
}

// --- devices ------------------------------------------------------------------------------------

await test("GPUs and partitions are published with their counters", async () => {
	await until("52 devices", async () => (await published()).length === 52)
	const small = await device("gpu-0-mig-1g18gb-19-6"), full = await device("gpu-1")
	assert.equal(small.attributes.profile.string, "1g.18gb")
	assert.equal(small.consumesCounters[0].counterSet, "gpu-0-counter-set")
	assert.equal(small.consumesCounters[0].counters["memory-slice-6"].value, "1")
	assert.equal(full.attributes.driverVersion.version, "580.159.4")
	assert.equal(full.attributes.type.string, "gpu")
	const sets = (await slices()).flatMap((s) => s.spec.sharedCounters ?? [])
	assert.deepEqual(sets.map((s) => s.name).sort(), ["gpu-0-counter-set", "gpu-1-counter-set"])
	assert.equal(sets[0].counters["compute-slices"].value, "7")
	assert.equal(show("profiles").length, 14)
})

// --- claims -------------------------------------------------------------------------------------

let whole, large, middle, small

await test("a pod gets a full GPU with its nodes and libraries", async () => {
	whole = await runPod()
	await running(whole)
	assert.equal(await whole.device(), "gpu-0")
	const edits = readCdi((await claimOf(whole)).metadata.uid)
	assert.ok(edits.deviceNodes.some((n) => n.path === "/dev/nvidia0" && n.major === 195 && n.minor === 0), JSON.stringify(edits))
	assert.ok(!edits.deviceNodes.some((n) => n.path.includes("nvidia-cap")))
	assert.ok(edits.mounts.some((m) => m.containerPath.endsWith("/libcuda.so.1") && m.hostPath.endsWith(`libcuda.so.${version}`)))
	assert.deepEqual(instances(), [])
})

await test("pods get a mix of partitions on the other GPU", async () => {
	[large, middle, small] = await Promise.all(["4g.71gb", "2g.35gb", "1g.18gb"].map((p) => runPod(p)))
	for (const pod of [large, middle, small])
		await running(pod)
	const names = await Promise.all([large, middle, small].map((p) => p.device()))
	assert.deepEqual(names, ["gpu-1-mig-4g71gb-5-0", "gpu-1-mig-2g35gb-14-4", "gpu-1-mig-1g18gb-19-6"])
	assert.equal(instances().length, 3)
	assert.deepEqual(migOn(), [false, true])
	const edits = readCdi((await claimOf(small)).metadata.uid)
	assert.equal(edits.deviceNodes.filter((n) => n.path.startsWith("/dev/nvidia-caps/")).length, 2)
	const held = show("list").filter((d) => d.state === "held").map((d) => d.device)
	assert.deepEqual(held.sort(), ["gpu-0", ...names].sort())
	const [use] = show("explain", `default/${small.claim}`).devices
	assert.equal(use.device, names[2])
	assert.match(use.uuid, /^MIG-/)
	assert.equal(use.health, "Healthy")
})

await test("metrics name the GPUs and the claims that hold them", async () => {
	await until("measured GPU", async () => /^devplane_nvidia_memory_total_bytes\{gpu="1",uuid="GPU-/m.test(await nvidia.metrics()))
	const text = await nvidia.metrics()
	assert.match(text, new RegExp(`^devplane_nvidia_device_held\\{.*"${small.claim}".*\\} 1$`, "m"))
	assert.equal(text.match(/^devplane_nvidia_device_held\{/mg).length, 4)
})

await test("a profile without room waits", async () => {
	const pod = await runPod("3g.71gb")
	await until("unschedulable pod", async () => (await cluster.pod(pod)).status.conditions?.some((c) => c.reason === "Unschedulable"))
	await remove(pod)
})

// --- health -------------------------------------------------------------------------------------

const health = async (pod) => Object.values(healthOf(await cluster.pod(pod)).main ?? {}).flatMap(Object.values)[0]

await test("the fault of a program is a condition of its claim only", async () => {
	const [use] = show("explain", small.claim).devices
	const pci = (await device("gpu-1")).attributes["resource.kubernetes.io/pciBusID"].string.replace(/\.\d$/, "")
	writeSync(kmsg, `4,1,2,-;NVRM: Xid (PCI:${pci}): 31, pid=4711, name=train, Ch 00000008\n`)
	gpus("xid", 1, 31, use.gi, use.ci)
	const entry = await until("condition", async () => (await claimOf(small)).status.devices?.find((d) => d.conditions?.some((c) => c.reason === "Xid31")))
	assert.equal(entry.device, await small.device())
	assert.match(entry.conditions[0].message, /4711/)
	assert.equal((await claimOf(large)).status.devices, undefined)
	assert.equal(await health(small), "Healthy")
})

await test("a fatal Xid makes all partitions of its GPU unhealthy and tainted", async () => {
	gpus("recovery", 1, 1)
	gpus("xid", 1, 48)
	for (const pod of [large, middle, small])
		await until("unhealthy device", async () => /^Unhealthy .*Xid 48/s.test(await health(pod)))
	assert.equal(await health(whole), "Healthy")
	await until("taint", async () => (await device("gpu-1-mig-3g71gb-9-0")).taints?.some((t) => t.key === "gpu.nvidia.com/xid" && t.effect === "NoSchedule"))
	assert.equal((await device("gpu-0")).taints, undefined)
	assert.equal(show("explain", small.claim).devices[0].health, "Unhealthy")
})

await test("a restart of the driver forgets neither faults nor instances", async () => {
	nvidia.child.kill("SIGKILL")
	await nvidia.ended
	nvidia = await startDriver()
	await until("unhealthy device", async () => /^Unhealthy/.test(await health(large)))
	assert.ok((await device("gpu-1")).taints.some((t) => t.key === "gpu.nvidia.com/xid"))
	assert.equal(instances().length, 3)
})

await test("a GPU that works again is healthy again", async () => {
	gpus("heal")
	for (const pod of [large, middle, small])
		await until("healthy device", async () => (await health(pod)) === "Healthy")
	await until("no taint", async () => !(await device("gpu-1-mig-3g71gb-9-0")).taints)
})

// --- crashes --------------------------------------------------------------------------------------

await test("a driver that dies while it makes an instance leaves none behind", async () => {
	await remove(small)
	await until("two instances", () => instances().length === 2)
	for (const call of ["nvmlDeviceCreateGpuInstanceWithPlacement", "nvmlGpuInstanceCreateComputeInstance"]) {
		gpus("crash", call)
		const pod = await runPod("1g.18gb")
		await nvidia.ended
		nvidia = await startDriver()
		await running(pod)
		assert.equal(instances().length, 3)
		await remove(pod)
		await until("two instances", () => instances().length === 2)
	}
})

await test("while NVML hangs devices are unknown, and healthy afterwards", async () => {
	gpus("hang", "all")
	await until("unknown device", async () => /^Unknown/.test(await health(large)), 60)
	await until("taint", async () => (await device("gpu-1")).taints?.some((t) => t.key === "gpu.nvidia.com/unmonitored"))
	gpus("heal")
	await until("healthy device", async () => (await health(large)) === "Healthy")
})

await test("a driver can be stopped while NVML hangs", async () => {
	gpus("hang", "all")
	await until("unknown device", async () => /^Unknown/.test(await health(large)), 60)
	nvidia.child.kill("SIGTERM")
	assert.deepEqual(await nvidia.ended, { code: 0, signal: null })
	gpus("heal")
	nvidia = await startDriver()
	await until("healthy device", async () => (await health(large)) === "Healthy")
	assert.equal(instances().length, 2)
})

await test("a claim with MPS has a daemon while it is prepared", async () => {
	await remove(whole)
	const pod = await runPod(undefined, { parameters: { kind: "GpuConfig", sharing: { strategy: "MPS", mpsConfig: { defaultActiveThreadPercentage: 50, defaultPinnedDeviceMemoryLimit: "2Gi" } } } })
	await running(pod)
	const { uid } = (await claimOf(pod)).metadata, folder = `${node.root}/plugins/${driver}/mps/${uid}`
	assert.ok(existsSync(folder))
	const edits = readCdi(uid)
	assert.ok(edits.mounts.some((m) => m.containerPath === "/tmp/nvidia-mps" && m.hostPath.startsWith(folder)), JSON.stringify(edits.mounts))
	assert.ok(edits.env.some((e) => e.startsWith("CUDA_MPS_PIPE_DIRECTORY=")))
	assert.match(readFileSync(`${scratch}/mps-commands`, "utf8"), /2048M/)
	await remove(pod)
	await until("no daemon", () => !existsSync(folder))
})

await test("wrong parameters are an error that names the field", async () => {
	const pod = await runPod(undefined, { parameters: { kind: "GpuConfig", sharing: { strategie: "MPS" } } })
	await cluster.event(pod.metadata.name, "FailedPrepareDynamicResources", /strategie/)
	await remove(pod)
})

await test("without claims no instance is left, and MIG is off", async () => {
	for (const pod of [large, middle])
		await remove(pod)
	await until("no instance", () => instances().length === 0)
	await until("MIG off", () => migOn().every((on) => !on))
	assert.ok(show("list").every((d) => d.state === "free"))
	assert.ok(!existsSync(cdi) || readdirSync(cdi).length === 0)
})

await test("claims share a GPU by memory, each with its own limit", async () => {
	nvidia.child.kill("SIGTERM")
	await nvidia.ended
	nvidia = await startDriver("--shares", "memory", "--no-mig")
	await until("two devices", async () => (await published()).length === 2)
	const shared = await Promise.all([10, 20].map((n) => runPod(undefined, { amounts: { memory: `${n}Gi` } })))
	for (const pod of shared)
		await running(pod)
	assert.deepEqual(await Promise.all(shared.map((p) => p.device())), ["gpu-0", "gpu-0"])
	const commands = readFileSync(`${scratch}/mps-commands`, "utf8")
	assert.match(commands, /10240M/)
	assert.match(commands, /20480M/)
	for (const pod of shared)
		await remove(pod)
	await until("free GPUs", () => show("list").every((d) => d.state === "free"))
})

await test("SIGTERM ends it", async () => {
	nvidia.child.kill("SIGTERM")
	assert.deepEqual(await nvidia.ended, { code: 0, signal: null })
})

for (const role of [scheduler, controller])
	await role.stop()
await node.stop()
await cluster.stop()
finish()
