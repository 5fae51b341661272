// `devplane podresources`: against servers of @grpc/grpc-js, one with upstream's calls alone and one with the KEP's fields alone,
// and against a hollow node with the simulated vendor as plugin and as DRA driver.
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { devplane, finish, start, test, until } from "./lib.mjs"
import { machineFlags } from "./machine_lib.mjs"
import { allocateClaim, podOn, shortFolder, startCluster } from "./node_lib.mjs"
import { Plugin } from "./plugin_lib.mjs"
import { codes } from "./plugin_services.mjs"
import { PodResourcesLister } from "./podres_lib.mjs"

// Runs a subcommand to its end.
function ask(...args) {
	return new Promise((resolve) =>
		execFile(devplane, ["podresources", ...args], (error, out, err) => resolve({ code: error?.code ?? 0, out, err })))
}

// The same as somebody without rights; nothing where the program itself is out of their reach.
function askAsStranger(...args) {
	const user = process.getuid() === 0 ? { uid: 65534, gid: 65534 } : {}
	return new Promise((resolve) => execFile(devplane, ["podresources", ...args], user, (error, out, err) =>
		resolve(error?.code === "EACCES" || error?.code === 127 ? undefined : { out, err })))
}

// Its output, when nothing went wrong.
async function told(...args) {
	const { code, out, err } = await ask(...args)
	assert.equal(code, 0, err)
	return out
}

const json = async (...args) => JSON.parse(await told(...args, "-o", "json"))

// Rows of a table, by cells.
const cells = (text) => text.trimEnd().split("\n").map((line) => line.split(/ {2,}/))

async function wrong(args, code, text) {
	const answer = await ask(...args)
	assert.match(answer.err, text)
	assert.equal(answer.code, code, answer.err)
	assert.equal(answer.out, "")
}

// A watch of the command's. `rows` are its lines' cells, without the head and the time.
function follow(...args) {
	const self = start("podresources", "watch", ...args)
	Object.defineProperty(self, "rows", { get: () => self.lines.slice(1).map((line) => line.split(/ {2,}/).slice(1)) })
	self.brief = () => self.rows.map(([action, , ...rest]) => [action, ...rest].join(" "))
	self.row = async (text) => {
		try {
			return await until(`line ${text}`, () => self.brief().find((line) => line.includes(text)))
		} catch (e) {
			throw new Error(`${e.message}:\n${self.brief().join("\n")}\n${self.err}`)
		}
	}
	// Ctrl-C is no failure.
	self.stop = async () => {
		self.child.kill("SIGINT")
		assert.deepEqual(await self.ended, { code: 0, signal: null }, self.err)
	}
	return self
}

// --- a kubelet ------------------------------------------------------------------------------------

const on = (...nodes) => ({ topology: { nodes: nodes.map((ID) => ({ ID })) } })
const GPU = "example.com/gpu"
const train = {
	name: "train", namespace: "ml",
	containers: [
		{
			name: "main", cpu_ids: [8, 0, 1, 2, 3], memory: [{ memory_type: "memory", size: 4 * 2 ** 30, ...on(0) }],
			devices: [{ resource_name: GPU, device_ids: ["gpu-10", "gpu-2"], ...on(0) }, { resource_name: GPU, device_ids: ["gpu-2"], ...on(1) }],
			dynamic_resources: [{ claim_name: "nic", claim_namespace: "ml", claim_resources: [
				{ cdi_devices: [{ name: "v.com/nic=n0" }], driver_name: "nic.example.com", pool_name: "n1", device_name: "n0", share_id: "s" },
			] }],
		},
		{ name: "side" },
	],
}
const idle = { name: "idle", namespace: "default", containers: [{ name: "main" }] }
const allocatable = {
	devices: [{ resource_name: GPU, device_ids: ["gpu-0", "gpu-1"], ...on(0) }, { resource_name: "example.com/fpga", device_ids: ["f0"] }],
	cpu_ids: [1, 2, 3], memory: [{ memory_type: "memory", size: 2 ** 31, ...on(1) }],
}

// A service without the methods that `left` names.
const without = (...left) => ({ service: Object.fromEntries(Object.entries(PodResourcesLister.service).filter(([name]) => !left.includes(name))) })
const calls = {
	List: () => ({ pod_resources: [train, idle] }),
	GetAllocatableResources: () => allocatable,
	Get: ({ pod_name, pod_namespace }) => {
		const pod = [train, idle].find((p) => p.name === pod_name && p.namespace === pod_namespace)
		if (!pod)
			throw new Error(`pod ${pod_name} in namespace ${pod_namespace} not found`)
		return { pod_resources: pod }
	},
}

async function startKubelet(service, answers) {
	const root = shortFolder()
	mkdirSync(`${root}/pod-resources`)
	const self = new Plugin(`${root}/pod-resources/kubelet.sock`)
	self.add(service, answers)
	await self.listen()
	return Object.assign(self, { root, at: ["--root-dir", root] })
}

const kubelet = await startKubelet(without("ListAndWatch", "ListAndWatchAllocatableResources"), calls)

await test("list of a kubelet is a table of what containers hold", async () => {
	const text = await told("list", ...kubelet.at)
	assert.equal(text,
		"NAMESPACE   POD     CONTAINER   RESOURCES                                                                                            HEALTH\n" +
		"ml          train   main        example.com/gpu: gpu-2,gpu-10; claim/nic: nic.example.com/n1/n0(share s); cpus: 0-3,8; memory: 4Gi   NotReported\n")
	const wide = cells(await told("list", ...kubelet.at, "-o", "wide"))
	assert.deepEqual([wide[0].slice(-2), wide[1].slice(-2)], [["NUMA", "CDI"], ["0-1", "v.com/nic=n0"]])
	assert.deepEqual(cells(await told("list", "--all", "--no-headers", ...kubelet.at)).map((row) => row.slice(0, 3).join("/")),
		["default/idle/main", "ml/train/main", "ml/train/side"])
})

await test("pods are chosen by namespace and by name", async () => {
	assert.equal((await ask("list", "-n", "default", ...kubelet.at)).err, "1 pod, but no container holds anything; --all shows them.\n")
	assert.equal((await ask("list", "-n", "none", ...kubelet.at)).err, "No pods in namespace none.\n")
	assert.deepEqual((await json("list", "-n", "default", ...kubelet.at)).podResources.map((p) => p.name), ["idle"])
	assert.deepEqual(cells(await told("list", "train", "-n", "ml", ...kubelet.at)).slice(1).map((row) => row[2]), ["main", "side"])
	assert.deepEqual(cells(await told("list", "idle", ...kubelet.at))[1], ["default", "idle", "main", "<none>", "<none>"])
	assert.deepEqual(await json("list", "idle", ...kubelet.at), { podResources: { name: "idle", namespace: "default", containers: [{ name: "main" }] } })
	await wrong(["list", "train", ...kubelet.at], 1, /this node has no pod "train" in namespace "default"; use -n NAME/)
	await wrong(["list", "train", "-A", ...kubelet.at], 2, /leave out -A/)
	await wrong(["list", "-A", "-n", "ml", ...kubelet.at], 2, /-n and -A exclude each other/)
	await wrong(["list", "a", "b", ...kubelet.at], 2, /unexpected argument "b"/)
})

await test("json is protobuf's: 64 bits are text, defaults are absent; yaml is the same", async () => {
	const { podResources: [{ containers: [main, side], ...pod }], revision } = await json("list", ...kubelet.at)
	assert.deepEqual([pod, side, revision], [{ name: "train", namespace: "ml" }, { name: "side" }, undefined])
	assert.deepEqual(main.cpuIds, ["8", "0", "1", "2", "3"])
	assert.deepEqual(main.memory, [{ memoryType: "memory", size: "4294967296", topology: { nodes: [{ ID: "0" }] } }])
	assert.deepEqual(main.dynamicResources, [{ claimName: "nic", claimNamespace: "ml", claimResources: [
		{ cdiDevices: [{ name: "v.com/nic=n0" }], driverName: "nic.example.com", poolName: "n1", deviceName: "n0", shareId: "s" },
	] }])
	assert.ok((await told("list", ...kubelet.at, "-o", "yaml")).startsWith("podResources:\n- name: train\n  namespace: ml\n  containers:\n  - name: main\n"))
})

await test("allocatable is a table by resource and place", async () => {
	assert.equal(await told("allocatable", ...kubelet.at),
		"RESOURCE           COUNT   NUMA     HEALTH        DEVICES\n" +
		"example.com/fpga   1       <none>   NotReported   f0\n" +
		"example.com/gpu    2       0        NotReported   gpu-0,gpu-1\n" +
		"cpus               3       <none>   <none>        1-3\n" +
		"memory             2Gi     1        <none>        <none>\n")
	assert.deepEqual((await json("allocatable", ...kubelet.at)).cpuIds, ["1", "2", "3"])
	await wrong(["allocatable", "x", ...kubelet.at], 2, /unexpected argument/)
})

await test("a kubelet's refusals are explained", async () => {
	await wrong(["watch", ...kubelet.at], 1, /does not offer the watch.*devplane node --attach.*devplane\.sock/s)
	await wrong(["watch", "--allocatable", ...kubelet.at], 1, /devplane node --attach/)
	kubelet.fail.List = { code: codes.RESOURCE_EXHAUSTED, details: "rejected by rate limit" }
	await wrong(["list", ...kubelet.at], 1, /rejected by rate limit: there were too many calls; try again in a moment/)
	kubelet.fail.List = codes.INTERNAL
	await wrong(["list", ...kubelet.at], 1, /kubelet\.sock: .*as the test wants it/)
	delete kubelet.fail.List
	kubelet.fail.Get = codes.UNIMPLEMENTED
	await wrong(["list", "idle", ...kubelet.at], 1, /does not offer \/v1\.PodResourcesLister\/Get/)
	delete kubelet.fail.Get
})

await test("a socket that is not there, not ours or nobody's is explained", async () => {
	const root = shortFolder()
	for (const command of ["list", "allocatable", "watch"])
		await wrong([command, "--root-dir", root], 1, /no socket \/tmp\/dp-\w+\/pod-resources\/kubelet\.sock: is devplane node or .*--root-dir.*--socket/)
	writeFileSync(`${root}/file`, "")
	await wrong(["list", "--socket", `${root}/file`], 1, /nothing listens on/)
	await wrong(["list", "--socket", `${root}/${"x".repeat(120)}`], 2, /is too long for a socket's path: use a shorter/)
	chmodSync(kubelet.path, 0)
	const stranger = await askAsStranger("list", ...kubelet.at)
	chmodSync(kubelet.path, 0o600)
	if (stranger)
		assert.match(stranger.err, /may not be opened: it is root's, or of the group .*--pod-resources-socket-group/)
	assert.match(await told("list", "--socket", `unix:${kubelet.path}`), /train/)
})

await test("wrong flags are refused, right ones are completed", async () => {
	await wrong(["list", "-o", "xml", ...kubelet.at], 2, /"xml" is not one of table\|wide\|json\|yaml/)
	await wrong(["watch", "-o", "yaml", ...kubelet.at], 2, /"yaml" is not one of table\|wide\|json/)
	await wrong(["watch", "--after-revision", "0", ...kubelet.at], 2, /0 is not between 1 and/)
	await wrong(["watch", "--after-revision", "4", "--no-initial", ...kubelet.at], 2, /exclude each other/)
	await wrong(["wach"], 2, /did you mean "watch"/)
	const script = await new Promise((resolve) => execFile(devplane, ["completion", "bash"], (_, out) => resolve(out)))
	assert.match(script, /devplane podresources watch/)
	assert.match(script, /--after-revision/)
})

// --- a server that knows the KEP alone ------------------------------------------------------------

await test("a server without revisions is watched too, and again when it ends", async () => {
	const event = (action, ids) => ({ action, uid: "u1", pod_resources: [{ name: "a", namespace: "ml",
		containers: ids ? [{ name: "main", devices: [{ resource_name: GPU, device_ids: ids }] }] : [] }] })
	const kep = await startKubelet(without(), { ...calls, ListAndWatch: () => {}, ListAndWatchAllocatableResources: () => {} })
	const w = follow(...kep.at)
	await until("watch", () => kep.streams.ListAndWatch?.size)
	assert.deepEqual(kep.calls.ListAndWatch[0], { send_initial: true, after_revision: "0" })
	kep.send("ListAndWatch", event("UPDATED", ["gpu-0"]))
	await w.row("UPDATED ml/a example.com/gpu: gpu-0")
	assert.equal(w.rows[0][1], "-")
	kep.send("ListAndWatch", event("UPDATED", ["gpu-1", "gpu-0"]))
	await w.row("UPDATED ml/a example.com/gpu: gpu-0 +gpu-1")
	kep.end("ListAndWatch")
	await until("second watch", () => kep.count("ListAndWatch") === 2 && kep.streams.ListAndWatch.size)
	assert.match(w.err, /kubelet\.sock: the watch has ended \(the server ended it\); trying again/)
	kep.send("ListAndWatch", event("DELETED"))
	await w.row("DELETED ml/a example.com/gpu: -gpu-0,gpu-1")
	await w.stop()
	// For an event that it cannot parse, the command prints an error and nothing else.
	const broken = follow(...kep.at)
	await until("watch", () => kep.count("ListAndWatch") === 3 && kep.streams.ListAndWatch.size)
	kep.end("ListAndWatch", { code: codes.PERMISSION_DENIED, details: "not for you" })
	assert.equal((await broken.ended).code, 1)
	assert.match(broken.err, /not for you/)
	kep.close()
})

await test("the socket of attach mode is watched where there is one, and lists ask the kubelet", async () => {
	const seen = await startKubelet(without(), { ...calls, ListAndWatch: (stream) => stream.write({ initial_end: true, revision: 8 }) })
	symlinkSync(seen.path, `${kubelet.root}/pod-resources/devplane.sock`)
	const w = follow(...kubelet.at, "-o", "json")
	await until("initial_end", () => w.lines.length === 1)
	assert.deepEqual(JSON.parse(w.lines[0]), { action: "ADDED", revision: "8", initialEnd: true })
	await told("list", ...kubelet.at)
	assert.equal(seen.count("List"), 0)
	await w.stop()
	seen.close()
})

kubelet.close()

// --- devplane node --------------------------------------------------------------------------------

const NIC = "sim.devplane.dev/nic", driver = "gpu.sim.devplane.dev"
const cluster = await startCluster()
const node = await cluster.node("n1", { flags: machineFlags })
const at = ["--root-dir", node.root]
const running = (p) => p.status.phase === "Running"

async function runs(pod) {
	return cluster.pod(await cluster.run(pod), running)
}

async function ends(pod) {
	await cluster.delete(pod, 0)
	await cluster.gone(pod)
}

async function startSim(...flags) {
	const sim = start("driver", "sim", "--cdi-dir", `${node.root}/cdi`, "--metrics-bind-address", "0", ...at, ...flags)
	await until("driver", () => sim.out.includes("runs as"))
	return sim
}

const pods = follow(...at), wide = follow(...at, "-o", "wide"), plain = follow(...at, "-o", "json"), offered = follow(...at, "--allocatable")
await startSim("--mode", "plugin", "--kind", "nic", "--devices", "4", "--numa-nodes", "2")
await startSim("--node-name", "n1", "--kubeconfig", cluster.server.kubeconfig)
await cluster.readNodeWhen("n1", (n) => n.status.allocatable[NIC] === "4")
const nics = (count) => ({ resources: { limits: { [NIC]: count } } })

await test("nothing is held at first, and what there is to hand out is told", async () => {
	assert.deepEqual(await ask("list", ...at), { code: 0, out: "", err: "No pods.\n" })
	const table = cells(await told("allocatable", ...at)).map((row) => row.join(" "))
	assert.deepEqual(table.slice(0, 3), ["RESOURCE COUNT NUMA HEALTH DEVICES", `${NIC} 2 0 Healthy nic-0,nic-2`, `${NIC} 2 1 Healthy nic-1,nic-3`])
	assert.ok(table.some((row) => /^memory \S+ 1 <none> <none>$/.test(row)), table.join("\n"))
	await offered.row(`${NIC}: 4`)
	await until("devices of the driver", async () => new RegExp(`^${driver} +4 +<none> +Healthy +n1/gpu-0,n1/gpu-1,`, "m").test(await told("allocatable", ...at)))
})

let one, two
await test("devices of a plugin and of a driver are told, in tables and as they come", async () => {
	one = await runs(podOn("n1", { name: "train", main: nics(2) }))
	two = await cluster.run(podOn("n1", {
		name: "infer", resourceClaims: [{ name: "gpu", resourceClaimName: "gpu" }], main: { resources: { claims: [{ name: "gpu" }] } },
	}))
	await allocateClaim(cluster.client, "gpu", [{ request: "one", driver, pool: "n1", device: "gpu-0" }], two)
	await cluster.pod(two, running)
	const held = `claim/gpu: ${driver}/n1/gpu-0`
	const [, first, second] = await until("health", async () => {
		const rows = cells(await told("list", ...at))
		return rows[1].at(-1) === "Healthy" && rows
	})
	assert.deepEqual(first, ["default", "infer", "main", held, "Healthy"])
	assert.match(second.join(" "), new RegExp(`^default train main ${NIC}: nic-\\d,nic-\\d Healthy$`))
	assert.match((await told("list", "infer", "-o", "wide", ...at)), /k8s\.gpu\.sim\.devplane\.dev\/claim=[0-9a-f-]+-gpu-0\n$/)
	await pods.row(`ADDED default/train ${second[3].replace(": ", ": +")}`)
	await pods.row(`UPDATED default/infer claim/gpu: +${driver}/n1/gpu-0`)
	await wide.row(`UPDATED default/infer (main) claim/gpu: +${driver}/n1/gpu-0`)
	const { podResources, revision } = await json("list", ...at)
	assert.deepEqual(podResources.map((p) => p.name).sort(), ["infer", "train"])
	// The list's revision is that of the last event, or of a change of what there is to hand out.
	const events = () => plain.lines.map((line) => JSON.parse(line))
	await until("event", () => events().some((e) => e.action === "UPDATED" && e.podResources[0].name === "infer"))
	assert.ok(BigInt(revision) >= BigInt(events().at(-1).revision))
	assert.ok(events().some((e) => e.initialEnd && e.action === "ADDED" && !e.podResources))
	assert.equal(events().find((e) => e.podResources?.[0].name === "train").uid, one.metadata.uid)
})

await test("a watch goes on after a revision, and begins with the next change when told so", async () => {
	const { revision } = await json("list", ...at)
	const later = follow(...at, "--after-revision", revision), next = follow(...at, "--no-initial")
	// Streams that are open are known to be only by what they tell: wait in the metrics.
	await until("five watches", async () => /devplane_pod_resources_streams\{method="ListAndWatch"\} 5\n/.test(await node.metrics()))
	const web = await runs(podOn("n1", { name: "web" }))
	await later.row("ADDED default/web <none>")
	await next.row("ADDED default/web <none>")
	await ends(web)
	await later.row("DELETED default/web <none>")
	assert.deepEqual(later.brief(), ["ADDED default/web <none>", "DELETED default/web <none>"])
	await next.row("DELETED default/web <none>")
	assert.deepEqual(next.brief(), later.brief())
	await Promise.all([later.stop(), next.stop()])
})

const sim = (...args) => new Promise((resolve, reject) => execFile(devplane, ["driver", "sim", ...args, ...at], (error) => (error ? reject(error) : resolve())))

await test("a device that fails is not handed out", async () => {
	await sim("fail", "nic-3", "--name", "nic.sim.devplane.dev")
	await offered.row(`DELETED ${NIC}: 3 -nic-3`)
	assert.doesNotMatch(await told("allocatable", ...at), /nic-3/)
})

await test("a device that fails with its pod is marked, with its message", async () => {
	await sim("fail", "gpu-0", "--name", driver, "--message", "Xid 79")
	await pods.row(`UPDATED default/infer claim/gpu: ${driver}/n1/gpu-0(Unhealthy)`)
	await wide.row(`UPDATED default/infer (main) claim/gpu: ${driver}/n1/gpu-0(Unhealthy: Xid 79)`)
	await offered.row(`${driver}: 3 -n1/gpu-0`)
	assert.deepEqual(cells(await told("list", "infer", ...at))[1].slice(3), [`claim/gpu: ${driver}/n1/gpu-0(Unhealthy)`, "Unhealthy"])
	assert.match(await told("list", "infer", "-o", "wide", ...at), /gpu-0\(Unhealthy: Xid 79\) +Unhealthy /)
})

await test("an agent that is restarted is found again, and nothing is missed", async () => {
	await node.stop()
	await until("loss", () => [pods, plain, offered].every((w) => w.err.includes("the watch has ended")))
	await wrong(["list", ...at], 1, /no socket .*kubelet\.sock/)
	await node.begin()
	await until("return", () => [pods, wide, plain, offered].every((w) => /connected again; going on after revision \d+/.test(w.err)))
	await pods.row("DELETED <all> forget what came before")
	await ends(one)
	await pods.row(`DELETED default/train ${NIC}: -nic`)
	await ends(two)
	// A claim is given back before its pod.
	await pods.row(`UPDATED default/infer claim/gpu: -${driver}/n1/gpu-0`)
	await pods.row("DELETED default/infer <none>")
	await Promise.all([pods, wide, plain, offered].map((w) => w.stop()))
})

await test("a watch whose reader has gone ends, and so does one whose gate is off", async () => {
	const reader = execFile("bash", ["-c", '"$0" podresources watch "$@" | head -n 1', devplane, ...at], (error, out) => (reader.answer = { error, out }))
	// It is noticed by the next line after that.
	while (!reader.answer)
		await ends(await runs(podOn("n1", { name: "a" })))
	assert.match(reader.answer.out, /^TIME +ACTION +REVISION +POD +RESOURCES\n$/)
	await node.stop()
	const off = await cluster.node("n1", { root: node.root, flags: [...machineFlags, "--feature-gates", "KubeletPodResourcesWatch=false"] })
	await wrong(["watch", ...at], 1, /KubeletPodResourcesWatch=true/)
	assert.equal((await ask("list", ...at)).code, 0)
	await off.stop()
})

await cluster.stop()
finish()
