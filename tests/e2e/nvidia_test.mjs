// `devplane driver nvidia` on a library that stands in for NVIDIA's, with two H200s: full GPUs, MIG partitions, Xids, and
// what a driver that was killed leaves.
import assert from "node:assert/strict"
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync, writeSync } from "node:fs"
import { dirname } from "node:path"
import { dra, unique } from "./api_lib.mjs"
import { devplane, finish, sanitized, scratch, start, test, until } from "./lib.mjs"
import { claims, healthOf, startCluster } from "./node_lib.mjs"
import { client } from "./podres_lib.mjs"
import { pending, startController, startScheduler } from "./scheduler_lib.mjs"

const built = `${dirname(devplane)}/tests/fake_nvml`
const library = `${built}/libfake_nvml.so`
const root = `${scratch}/machine`, driver = "gpu.nvidia.com", version = "580.159.04"

process.env.FAKE_NVML_STATE = `${scratch}/gpus`
process.env.FAKE_NVML_ROOT = root

// Breaks and heals the GPUs; see tests/fake_nvml/control.h.
const gpus = (...words) => execFileSync(`${built}/fake_nvml_ctl`, words.map(String), { encoding: "utf8" })
const instances = () => JSON.parse(gpus("show")).gpus.flatMap((g) => g.instances)
const computeModes = () => JSON.parse(gpus("show")).gpus.map((g) => g.computeMode)
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

// NVIDIA's programs are below the machine's root. nvidia-smi writes its arguments to a file. CUDA's MPS control program: with -f it is the daemon, else it passes commands to it.
// The stand-in for the driver's library is in the folder of the architecture, if it was built.
const architecture = `${root}/usr/lib/${process.arch === "x64" ? "x86_64" : "aarch64"}-linux-gnu`
const libraries = existsSync(`${built}/libfake_cuda.so`) ? architecture : `${root}/usr/lib64`
const bin = `${root}/usr/bin`, smiLog = `${scratch}/smi`
mkdirSync(bin, { recursive: true })
writeFileSync(`${bin}/nvidia-smi`, `#!/bin/sh
echo "$* $LD_LIBRARY_PATH" >>${smiLog}
`, { mode: 0o755 })
writeFileSync(`${bin}/nvidia-cuda-mps-control`, `#!/bin/sh
[ "$LD_LIBRARY_PATH" = ${libraries} ] || exit 9
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
	get_server_list) echo 77 ;;
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

// Memory in files: code, most of which only the start needs.
const residentKiB = (process) => Number(/RssFile:\s+(\d+)/.exec(readFileSync(`/proc/${process.child.pid}/status`, "utf8"))[1])

async function startDriver(...flags) {
	const process = start("driver", "nvidia", "--kubeconfig", cluster.server.kubeconfig, "--node-name", "n1", "--root-dir", node.root, "--cdi-dir", cdi,
		"--nvml-library", library, "--host-root", root, "--poll-interval", "100ms", "--nvml-timeout", "2s", "--log-format", "text", ...flags)
	process.startKiB = 0
	const url = await until("running driver", () => {
		assert.equal(process.child.exitCode, null, process.err)
		process.startKiB = Math.max(process.startKiB, residentKiB(process))
		return /health and metrics at (\S+)/.exec(process.out)?.[1]
	})
	await until("ready driver", async () => {
		process.startKiB = Math.max(process.startKiB, residentKiB(process))
		return (await fetch(`${url}/readyz`)).status === 200
	})
	process.readyKiB = residentKiB(process)
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

execFileSync(devplane, ["apply", "-f", `${import.meta.dirname}/../../deploy/nvidia/classes.yaml`, "--kubeconfig", cluster.server.kubeconfig])

// A pod with a claim for a full GPU, or for a MIG partition of that profile. Options: parameters, amounts of a shared GPU.
async function runPod(profile, { parameters, amounts, requests, more = [] } = {}) {
	const name = unique("claim")
	const exactly = { deviceClassName: profile ? "mig.nvidia.com" : driver }
	if (profile)
		exactly.selectors = [{ cel: { expression: `device.attributes["${driver}"].profile == "${profile}"` } }]
	if (amounts)
		exactly.capacity = { requests: amounts }
	const devices = { requests: [{ name: "gpu", exactly }, ...more] }
	if (parameters)
		devices.config = [{ requests, opaque: { driver, parameters: { apiVersion: "resource.nvidia.com/v1beta1", ...parameters } } }]
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
	const list = show("list"), row = (name) => list.find((d) => d.device === name)
	const held = list.filter((d) => d.state === "held").map((d) => d.device)
	assert.deepEqual([row("gpu-1").state, row("gpu-1").message], ["unavailable", "partitions held"])
	assert.deepEqual([row("gpu-1-mig-3g71gb-9-0").state, row("gpu-1-mig-3g71gb-9-0").message], ["unavailable", "gpu-1-mig-4g71gb-5-0 overlaps it and is held"])
	assert.deepEqual([row("gpu-0-mig-1g18gb-19-0").state, row("gpu-0-mig-1g18gb-19-0").message], ["unavailable", "gpu-0 is held"])
	assert.ok(list.every((d) => d.state === "held" || d.state === "unavailable"))
	assert.deepEqual(held.sort(), ["gpu-0", ...names].sort())
	const [use] = show("explain", `default/${small.claim}`).devices
	assert.equal(use.device, names[2])
	assert.match(use.uuid, /^MIG-/)
	assert.equal(use.health, "Healthy")
})

await test("metrics name the GPUs and the claims that hold them", async () => {
	gpus("clocks", 1, 0x44)
	const slow = async () => [...(await nvidia.metrics()).matchAll(/^devplane_nvidia_slowdown\{gpu="1",.*reason="(\S+)"\} 1$/mg)].map((m) => m[1]).sort()
	await until("reasons", async () => (await slow()).join() === "hardware-thermal,power-cap")
	gpus("clocks", 1, 0)
	await until("measured GPU", async () => /^devplane_nvidia_memory_total_bytes\{gpu="1",uuid="GPU-/m.test(await nvidia.metrics()))
	const text = await nvidia.metrics()
	// One series for each GPU: the claim that has all of gpu-0, and none of those that have parts of gpu-1.
	assert.deepEqual([...text.matchAll(/^devplane_nvidia_memory_used_bytes\{gpu="(\d)",uuid="[^"]+",(.*)\}/mg)].map((m) => m.slice(1)), [
		["0", `namespace="default",claim="${whole.claim}",pod="${whole.metadata.name}"`],
		["1", 'namespace="",claim="",pod=""'],
	])
	assert.match(text, new RegExp(`^devplane_nvidia_slowdown\\{gpu="0",.*claim="${whole.claim}",pod="${whole.metadata.name}",reason="power-cap"\\} 0$`, "m"))
	assert.match(text, new RegExp(`^devplane_nvidia_device_held\\{.*"${small.claim}".*\\} 1$`, "m"))
	assert.match(text, new RegExp(`^devplane_nvidia_device_held\\{.*claim="${small.claim}",pod="${small.metadata.name}"\\} 1$`, "m"))
	assert.equal(text.match(/^devplane_nvidia_device_held\{/mg).length, 4)
})

await test("metrics name the first pod of a claim that several use", async () => {
	const more = await cluster.run(pending({ resourceClaims: [{ name: "gpu", resourceClaimName: whole.claim }], main: { resources: { claims: [{ name: "gpu" }] } } }))
	await running(more)
	const named = async () => [...(await nvidia.metrics()).matchAll(/^devplane_nvidia_(memory_used_bytes|device_held)\{.*claim="([^"]+)",pod="([^"]*)"\}/mg)].filter((m) => m[2] === whole.claim).map((m) => m[3])
	assert.deepEqual(await named(), [whole.metadata.name, whole.metadata.name])
	await cluster.delete(more)
	await cluster.gone(more)
	assert.deepEqual(await named(), [whole.metadata.name, whole.metadata.name])
})

await test("the memory of programs on a partition is measured", async () => {
	const [use] = show("explain", small.claim).devices
	const line = new RegExp(`^devplane_nvidia_partition_memory_used_bytes\\{device="${use.device}",uuid="${use.gpuUUID}",namespace="default",claim="${small.claim}",pod="${small.metadata.name}"\\} (\\S+)$`, "m")
	const used = async () => Number(line.exec(await nvidia.metrics())?.[1])
	await until("unused partition", async () => (await used()) === 0)
	gpus("busy", 1, use.gi, use.ci, 4242)
	await until("used partition", async () => (await used()) === 256 << 20)
	gpus("idle", 1)
	await until("unused partition", async () => (await used()) === 0)
})

await test("the driver gives back memory that it used to start", async () => {
	let most = 0
	await until("smaller driver", () => {
		most = Math.max(most, residentKiB(nvidia))
		return residentKiB(nvidia) < most * 0.7
	})
})

await test("the driver has given back the memory of its start when it says that it is ready", async () => {
	nvidia.child.kill("SIGTERM")
	await nvidia.ended
	nvidia = await startDriver()
	assert.ok(nvidia.readyKiB < nvidia.startKiB * (sanitized ? 0.7 : 0.35), `${nvidia.readyKiB} KiB when it was ready, ${nvidia.startKiB} KiB before`)
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
	const xids = (await nvidia.metrics()).match(/^devplane_nvidia_claim_xids_total\{.*/mg)
	assert.equal(xids.length, 1)
	assert.match(xids[0], new RegExp(`claim="${small.claim}",pod="${small.metadata.name}",xid="31"\\} 1$`))
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

await test("no claim is blamed for an Xid of the GPU, nor for one of an unknown partition", async () => {
	const [use] = show("explain", small.claim).devices
	// 48 came before; 154 reports a recovery action, 94 is contained, 31 names no partition.
	for (const xid of [94, 154, 31])
		gpus("xid", 1, xid)
	// Events keep their order, so this one is the last.
	gpus("xid", 1, 43, use.gi, use.ci)
	const counted = async (pod) => [...(await nvidia.metrics()).matchAll(new RegExp(`^devplane_nvidia_claim_xids_total\\{.*claim="${pod.claim}",.*xid="(\\d+)"\\} 1$`, "mg"))].map((m) => m[1])
	await until("condition", async () => (await claimOf(small)).status.devices[0].conditions.some((c) => c.type === "ProgramFailed" && c.reason === "Xid43"))
	for (const pod of [large, middle])
		assert.equal((await claimOf(pod)).status.devices, undefined)
	assert.equal((await claimOf(small)).status.devices[0].conditions.length, 1)
	assert.deepEqual((await counted(large)).sort(), ["154", "31", "48", "94"])
	assert.deepEqual((await counted(middle)).sort(), ["154", "31", "48", "94"])
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

await test("attach mode beside the agent follows the driver's health", async () => {
	const attached = await cluster.node("n1", { root: node.root, hollow: false, wait: false, flags: ["--attach", "--attach-interval", "500ms"] })
	await until("readiness", async () => (await fetch(`${attached.url}/readyz`)).status === 200)
	const api = client(`${node.root}/pod-resources/devplane.sock`), { name } = large.metadata
	const shown = async () => (await api.list()).pod_resources.find((p) => p.name === name)?.containers[0].dynamic_resources[0]?.claim_resources[0].health
	await until("healthy partition", async () => await shown() === "HEALTHY")
	gpus("recovery", 1, 1)
	gpus("xid", 1, 48)
	await until("unhealthy partition", async () => await shown() === "UNHEALTHY")
	await until("event", async () => (await cluster.events(name)).some((e) => e.source.component === "devplane-attach" && e.reason === "DeviceUnhealthy"))
	gpus("heal")
	await until("healthy partition", async () => await shown() === "HEALTHY" && await health(large) === "Healthy")
	api.close()
	await attached.stop()
})

// --- crashes --------------------------------------------------------------------------------------

await test("a driver that dies while it makes an instance leaves none behind", async () => {
	await remove(small)
	await until("two instances", () => instances().length === 2)
	const calls = ["nvmlDeviceCreateGpuInstanceWithPlacement", "nvmlGpuInstanceCreateComputeInstance", "nvmlDeviceGetHandleByUUID"]
	for (const [verb, call] of calls.flatMap((c) => [["crash", c], ["crash-before", c]])) {
		gpus(verb, call)
		const pod = await runPod("1g.18gb")
		await nvidia.ended
		nvidia = await startDriver()
		await running(pod)
		assert.equal(instances().length, 3)
		await remove(pod)
		await until("two instances", () => instances().length === 2)
	}
	for (const [verb, call] of ["nvmlComputeInstanceDestroy", "nvmlGpuInstanceDestroy"].flatMap((c) => [["crash", c], ["crash-before", c]])) {
		const pod = await runPod("1g.18gb")
		await running(pod)
		gpus(verb, call)
		await cluster.delete(pod)
		await nvidia.ended
		nvidia = await startDriver()
		await cluster.gone(pod)
		await cluster.client.delete(`${claims}/${pod.claim}`)
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

await test("while NVML hangs claims and commands fail in time, and leave nothing", async () => {
	gpus("hang", "all")
	const pod = await runPod("1g.18gb")
	await cluster.event(pod.metadata.name, "FailedPrepareDynamicResources", /NVML/)
	for (const words of [["list"], ["profiles"], ["explain", large.claim]]) {
		const { status, stderr } = spawnSync(devplane, ["driver", "nvidia", ...words, "--root-dir", node.root, "--nvml-library", library, "--nvml-timeout", "200ms"], { encoding: "utf8" })
		assert.equal(status, 1)
		assert.match(stderr, /NVML (does not return|is busy)/)
	}
	gpus("heal")
	await running(pod)
	assert.equal(instances().length, 3)
	await remove(pod)
	await until("two instances", () => instances().length === 2)
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
	assert.match(readFileSync(`${scratch}/mps-commands`, "utf8"), /2048M\nstart_server -uid 0/)
	// Programs cannot avoid MPS: the GPU takes one process, and that is the server.
	assert.deepEqual(computeModes(), [3, 0])

	// The next run of the driver takes the daemon over, and watches it.
	const daemon = () => existsSync(`${folder}/daemon.json`) && JSON.parse(readFileSync(`${folder}/daemon.json`, "utf8")).pid
	const first = daemon()
	nvidia.child.kill("SIGKILL")
	await nvidia.ended
	nvidia = await startDriver()
	await until("daemon that was taken over", () => nvidia.err.includes("MPS daemon was taken over"))
	assert.equal(daemon(), first)
	process.kill(first, "SIGKILL")
	await until("another daemon", () => daemon() && daemon() !== first)
	assert.deepEqual(computeModes(), [3, 0])
	await remove(pod)
	await until("no daemon", () => !existsSync(folder))
	await until("default compute mode", () => computeModes().every((m) => m === 0))
})

await test("a partition with MPS keeps its daemon through a fault of its GPU", async () => {
	const pod = await runPod("1g.18gb", { parameters: { kind: "MigDeviceConfig", sharing: { strategy: "MPS", mpsConfig: { defaultActiveThreadPercentage: 50, defaultPinnedDeviceMemoryLimit: "3Gi" } } } })
	await running(pod)
	const { uid } = (await claimOf(pod)).metadata, folder = `${node.root}/plugins/${driver}/mps/${uid}`
	const [use] = show("explain", pod.claim).devices
	const edits = readCdi(uid)
	assert.ok(edits.mounts.some((m) => m.containerPath === "/tmp/nvidia-mps" && m.hostPath.startsWith(folder)), JSON.stringify(edits.mounts))
	assert.equal(edits.deviceNodes.filter((n) => n.path.startsWith("/dev/nvidia-caps/")).length, 2)
	assert.match(readFileSync(`${scratch}/mps-commands`, "utf8"), /3072M/)
	// Partitions have no compute mode of their own.
	assert.deepEqual(computeModes(), [0, 0])
	const daemon = () => JSON.parse(readFileSync(`${folder}/daemon.json`, "utf8")).pid
	const first = daemon(), index = /^gpu-(\d)/.exec(use.device)[1]

	// A fault of the program is a condition of the claim. A fault of the GPU only makes the device unhealthy.
	gpus("xid", index, 31, use.gi, use.ci)
	const failed = async () => (await claimOf(pod)).status.devices?.find((d) => d.device === use.device)?.conditions.map((c) => `${c.type} ${c.reason}`)
	await until("condition", async () => (await failed())?.join() === "ProgramFailed Xid31")
	assert.equal(await health(pod), "Healthy")
	gpus("recovery", index, 1)
	gpus("xid", index, 48)
	await until("unhealthy device", async () => /^Unhealthy .*Xid 48/s.test(await health(pod)))
	assert.deepEqual(await failed(), ["ProgramFailed Xid31"])

	// The next run of the driver knows both.
	nvidia.child.kill("SIGKILL")
	await nvidia.ended
	nvidia = await startDriver()
	await until("daemon that was taken over", () => nvidia.err.includes("MPS daemon was taken over"))
	await until("unhealthy device", async () => /^Unhealthy/.test(await health(pod)))
	assert.equal(daemon(), first)
	gpus("heal")
	await until("healthy device", async () => (await health(pod)) === "Healthy")
	assert.equal(daemon(), first)
	await remove(pod)
	await until("no daemon", () => !existsSync(folder))
	await until("two instances", () => instances().length === 2)
})

await test("a time slice ends with its claim, also if the driver has died meanwhile", async () => {
	const pod = await runPod(undefined, { parameters: { kind: "GpuConfig", sharing: { strategy: "TimeSlicing", timeSlicingConfig: { interval: "Long" } } } })
	await running(pod)
	const uuid = (await device(await pod.device())).attributes.uuid.string
	const set = (n) => `compute-policy --set-timeslice=${n} -i ${uuid} ${libraries}\n`
	assert.equal(readFileSync(smiLog, "utf8"), set(3))
	nvidia.child.kill("SIGKILL")
	await nvidia.ended
	nvidia = await startDriver()
	await remove(pod)
	await until("default time slice", () => readFileSync(smiLog, "utf8") === set(3) + set(0))
	await until("no record", () => readdirSync(`${node.root}/plugins/${driver}/mps`).length === 0)
})

await test("a pod gets a full GPU as an extended resource", async () => {
	const pod = await cluster.run(pending({ main: { resources: { limits: { "nvidia.com/gpu": "1" } } } }))
	await running(pod)
	const { resourceClaimName } = (await cluster.pod(pod)).status.extendedResourceClaimStatus
	const { metadata, status } = (await cluster.client.get(`${claims}/${resourceClaimName}`)).body
	assert.equal(status.allocation.devices.results[0].device, "gpu-0")
	assert.ok(readCdi(metadata.uid).deviceNodes.some((n) => n.path === "/dev/nvidia0"))
	await cluster.delete(pod)
	await cluster.gone(pod)
	await until("free GPU", () => show("list").find((d) => d.device === "gpu-0").state === "free")
})

await test("wrong parameters are an error that names the field", async () => {
	const pod = await runPod(undefined, { parameters: { kind: "GpuConfig", sharing: { strategie: "MPS" } } })
	await cluster.event(pod.metadata.name, "FailedPrepareDynamicResources", /strategie/)
	await remove(pod)
})

await test("parameters of the wrong kind are an error if they name the request", async () => {
	const parameters = { kind: "MigDeviceConfig" }
	// The scheduler leaves the names out if a config names all requests.
	const more = [{ name: "part", exactly: { deviceClassName: "mig.nvidia.com", selectors: [{ cel: { expression: `device.attributes["${driver}"].profile == "1g.18gb"` } }] } }]
	const named = await runPod(undefined, { parameters, requests: ["gpu"], more })
	await cluster.event(named.metadata.name, "FailedPrepareDynamicResources", /MigDeviceConfig/)
	await remove(named)
	const all = await runPod(undefined, { parameters })
	await running(all)
	await remove(all)
})

await test("the devices of a GPU that is lost stay, also after a restart, and can be evicted", async () => {
	const taints = async () => (await device("gpu-1"))?.taints?.map((t) => `${t.key}:${t.effect}`)
	gpus("lost", 1)
	await until("unhealthy device", async () => /^Unhealthy/.test(await health(large)))
	await until("scan", () => nvidia.err.includes("GPUs cannot be read"))
	await until("taint", async () => assert.deepEqual(await taints(), ["gpu.nvidia.com/gpu-lost:NoSchedule"]) ?? true)
	assert.match(await health(large), /^Unhealthy/)
	assert.equal((await device("gpu-1-mig-4g71gb-5-0")).attributes.profile.string, "4g.71gb")
	assert.match(show("explain", large.claim).devices[0].health, /^Unhealthy/)
	nvidia.child.kill("SIGKILL")
	await nvidia.ended
	nvidia = await startDriver("--evict-lost")
	await until("evicting taint", async () => assert.deepEqual(await taints(), ["gpu.nvidia.com/gpu-lost:NoExecute"]) ?? true)
	for (const pod of [large, middle])
		await cluster.gone(pod)
	gpus("heal")
	await until("no taint", async () => (await device("gpu-1")) && !(await taints()))
	await until("no instance", () => instances().length === 0)
})

await test("a GPU with a row that waits for a reset is healthy, and degraded", async () => {
	const pod = await runPod()
	await running(pod)
	gpus("remap", 0, 1, 0)
	gpus("remap", 1, 1, 0)
	await until("message", async () => /^Healthy .*memory row/.test(await health(pod)))
	await until("taint", async () => (await device("gpu-1")).taints?.some((t) => t.key === "gpu.nvidia.com/degraded" && t.effect === "None"))
	gpus("heal")
	await until("no taint", async () => !(await device("gpu-1")).taints)
	await remove(pod)
})

await test("without claims no instance is left, and MIG is off", async () => {
	for (const pod of [large, middle])
		await cluster.client.delete(`${claims}/${pod.claim}`)
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
	assert.deepEqual(computeModes(), [0, 0])
	// Both are named as holders, and neither as that of the whole GPU.
	const text = await until("measured GPU", async () => (await nvidia.metrics().then((t) => /^devplane_nvidia_memory_used_bytes\{gpu="0"/m.test(t) && t)))
	assert.match(text, /^devplane_nvidia_memory_used_bytes\{gpu="0",uuid="[^"]+",namespace="",claim="",pod=""\}/m)
	assert.deepEqual([...text.matchAll(/^devplane_nvidia_device_held\{device="gpu-0",.*claim="([^"]+)"/mg)].map((m) => m[1]).sort(), shared.map((p) => p.claim).sort())
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
