// `devplane driver sim` and the example driver, seen by a kubelet of the test's own and on a real `devplane server`.
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { core, dra, startServer, unique } from "./api_lib.mjs"
import { devplane, finish, scratch, start, test, until } from "./lib.mjs"
import { kubeconfig } from "./node_lib.mjs"
import {
	call, codes, DevicePlugin, DRAPlugin, DRAResourceHealth, insecure, NodeHealth, PluginRegistration, Registration, serve, Stream,
} from "./plugin_services.mjs"

const server = await startServer("lmdb")
const { client } = server
const driver = "gpu.sim.devplane.dev"

// --- a driver on a node of its own ------------------------------------------------------------

async function makeNode(name) {
	assert.equal((await client.post(`${core}/nodes`, { apiVersion: "v1", kind: "Node", metadata: { name } })).code, 201)
}

async function startSim(flags = [], {
	node = unique("n"), root = `${scratch}/${unique("r")}`, withNode = true, kubeconfig: file = server.kubeconfig,
} = {}) {
	const self = { node, root, cdi: `${root}/cdi` }
	if (withNode)
		await makeNode(node)
	self.process = start("driver", "sim", "--kubeconfig", file, "--node-name", node, "--root-dir", root,
		"--cdi-dir", self.cdi, "--log-format", "text", ...flags)
	let over
	self.process.ended.then((how) => (over = how))
	await until("running driver", () => {
		assert.ok(!over, `it ended: ${self.process.err}`)
		return self.process.out.includes("health and metrics at")
	})
	self.socket = `${root}/plugins/${driver}/dra.sock`
	self.dra = (version = "v1") => new DRAPlugin[version](`unix:${self.socket}`, insecure)
	self.tell = (...args) => tell(...args, "--root-dir", root)
	self.stop = async () => {
		self.process.child.kill("SIGTERM")
		assert.deepEqual(await self.process.ended, { code: 0, signal: null })
	}
	return self
}

// Runs a subcommand to its end.
function tell(...args) {
	return new Promise((resolve) =>
		execFile(devplane, ["driver", "sim", ...args], (error, out, err) => resolve({ code: error?.code ?? 0, out, err })))
}

async function slices(node, name = driver) {
	const { body } = await client.get(`${dra}/resourceslices?fieldSelector=spec.nodeName=${node},spec.driver=${name}`)
	return body.items
}

const published = (node, count, name) => until(`${count} slices of ${node}`, async () => {
	const list = await slices(node, name)
	return list.length === count && list
})

// A claim that was allocated these devices: [request, device] or whole results.
async function allocatedClaim(node, results, config) {
	const name = unique("claim")
	const requests = [...new Set(results.map((r) => r.request.split("/")[0]))]
	const { code, body } = await client.post(`${dra}/namespaces/default/resourceclaims`, {
		apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", metadata: { name },
		spec: { devices: { requests: requests.map((r) => results.some((x) => x.request.startsWith(`${r}/`))
			? { name: r, firstAvailable: [{ name: "big", deviceClassName: "gpu" }] }
			: { name: r, exactly: { deviceClassName: "gpu" } }) } },
	})
	assert.equal(code, 201, JSON.stringify(body))
	body.status = { allocation: { devices: {
		results: results.map((r) => ({ driver, pool: node, ...r })), config,
	} } }
	const answer = await client.put(`${dra}/namespaces/default/resourceclaims/${name}/status`, body)
	assert.equal(answer.code, 200, answer.text)
	return { namespace: "default", name, uid: body.metadata.uid }
}

const cdiFiles = (sim) => existsSync(sim.cdi) ? readdirSync(sim.cdi) : []

// --- registration ---------------------------------------------------------------------------------

await test("the driver is found in plugins_registry and says what it can", async () => {
	const sim = await startSim()
	const registration = new Registration(`unix:${sim.root}/plugins_registry/${driver}-reg.sock`, insecure)
	const info = await call(registration, "GetInfo", {})
	assert.deepEqual(info, { type: "DRAPlugin", name: driver, endpoint: sim.socket, supported_versions: ["v1.DRAPlugin",
		"v1beta1.DRAPlugin", "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth", "v1alpha1.NodeHealth"] })
	await call(registration, "NotifyRegistrationStatus", { plugin_registered: true })
	await call(registration, "NotifyRegistrationStatus", { plugin_registered: false, error: "not you" })
	await until("words about it", () => /registered as/.test(sim.process.err) && /rejected: not you/.test(sim.process.err))
	await sim.stop()
	assert.deepEqual(readdirSync(`${sim.root}/plugins_registry`), [])
	assert.ok(!existsSync(sim.socket), "the sockets are gone")
})

await test("an instance of a rolling update has sockets of its own, however long its name", async () => {
	const short = await startSim(["--instance", "7f3a"])
	assert.ok(existsSync(`${short.root}/plugins_registry/${driver}-7f3a-reg.sock`))
	assert.ok(existsSync(`${short.root}/plugins/${driver}/dra-7f3a.sock`))
	// 107 bytes are the most that a socket's path may have.
	const room = 107 - `${scratch}/x/plugins_registry/${driver}--reg.sock`.length
	const uid = "a".repeat(Math.max(room + 1, 12))
	const long = await startSim(["--instance", uid], { root: `${scratch}/x` })
	const [name] = readdirSync(`${long.root}/plugins_registry`)
	assert.match(name, new RegExp(`^${driver}-[A-Za-z0-9_-]{11}-reg.sock$`))
	const info = await call(new Registration(`unix:${long.root}/plugins_registry/${name}`, insecure), "GetInfo", {})
	assert.equal(info.endpoint, `${long.root}/plugins/${driver}/dra-${uid}.sock`)
	await Promise.all([short.stop(), long.stop()])
})

// --- claims ------------------------------------------------------------------------------------

await test("a claim is prepared with its devices, CDI names and file, and unprepared again", async () => {
	const sim = await startSim()
	const claim = await allocatedClaim(sim.node, [
		{ request: "a", device: "gpu-0" }, { request: "b/big", device: "gpu-2" },
		{ request: "a", driver: "other.example.com", pool: "p", device: "x" },
	], [
		{ source: "FromClaim", requests: ["b"], opaque: { driver, parameters: { mode: "mine" } } },
		{ source: "FromClass", opaque: { driver, parameters: { mode: "class" } } },
		{ source: "FromClass", opaque: { driver: "other.example.com", parameters: { mode: "other" } } },
	])
	for (const version of ["v1", "v1beta1"]) {
		const { claims } = await call(sim.dra(version), "NodePrepareResources", { claims: [claim] })
		const { devices, error } = claims[claim.uid]
		assert.equal(error, "")
		assert.deepEqual(devices.map((d) => [d.request_names, d.pool_name, d.device_name, d.cdi_device_ids]), [
			[["a"], sim.node, "gpu-0", [`k8s.${driver}/claim=${claim.uid}-gpu-0`]],
			[["b"], sim.node, "gpu-2", [`k8s.${driver}/claim=${claim.uid}-gpu-2`]],
		], version)
	}
	const file = `${sim.cdi}/k8s.${driver}-claim-${claim.uid}.json`
	const spec = JSON.parse(readFileSync(file))
	assert.deepEqual([spec.cdiVersion, spec.kind, spec.devices.length], ["0.5.0", `k8s.${driver}/claim`, 2])
	const edits = spec.devices.map((d) => d.containerEdits)
	assert.deepEqual(edits[0].deviceNodes, [{ path: "/dev/simgpu0", hostPath: "/dev/null", permissions: "rw" }])
	assert.ok(edits[0].env.includes("DEVPLANE_SIM_DEVICE_0=gpu-0"))
	assert.ok(edits[0].env.includes('DEVPLANE_SIM_CONFIG_0={"mode":"class"}'), `${edits[0].env}`)
	assert.ok(edits[1].env.includes('DEVPLANE_SIM_CONFIG_2={"mode":"mine"}'), "what the user wrote counts more")
	for (let i = 0; i < 2; i++) {
		const { claims } = await call(sim.dra(), "NodeUnprepareResources", { claims: [claim] })
		assert.deepEqual(claims, { [claim.uid]: { error: "" } }, "also when it is done already")
	}
	assert.deepEqual(cdiFiles(sim), [])
	await sim.stop()
})

await test("share ids are told in v1, and not in v1beta1, which has no such field", async () => {
	const sim = await startSim()
	const shareID = "1c8e4b1e-3a5f-4b0c-9f5e-0a7d3f1b2c3d"
	const claim = await allocatedClaim(sim.node, [{ request: "a", device: "gpu-0", shareID }])
	assert.equal((await call(sim.dra(), "NodePrepareResources", { claims: [claim] })).claims[claim.uid].devices[0].share_id, shareID)
	// Read as a message of v1, an answer of v1beta1 would show one.
	const { requestSerialize, responseDeserialize } = DRAPlugin.v1.service.NodePrepareResources
	const { claims } = await new Promise((resolve, reject) => sim.dra().makeUnaryRequest(
		DRAPlugin.v1beta1.service.NodePrepareResources.path, requestSerialize, responseDeserialize, { claims: [claim] },
		(error, answer) => error ? reject(error) : resolve(answer)))
	assert.equal(claims[claim.uid].devices[0].device_name, "gpu-0")
	assert.ok(!claims[claim.uid].devices[0].share_id)
	await sim.stop()
})

await test("claims of one call are answered one by one, and what cannot be is said", async () => {
	const sim = await startSim()
	const good = await allocatedClaim(sim.node, [{ request: "a", device: "gpu-1" }])
	const unplugged = await allocatedClaim(sim.node, [{ request: "a", device: "gpu-9" }])
	const refused = await allocatedClaim(sim.node, [{ request: "a", device: "gpu-0" }],
		[{ source: "FromClaim", opaque: { driver, parameters: { failPrepare: "no firmware" } } }])
	const plain = (await client.post(`${dra}/namespaces/default/resourceclaims`, { apiVersion: "resource.k8s.io/v1",
		kind: "ResourceClaim", metadata: { name: unique("plain") }, spec: { devices: {} } })).body.metadata
	const { claims } = await call(sim.dra(), "NodePrepareResources", { claims: [good, unplugged, refused, { ...good, uid: "other" },
		{ namespace: "default", name: plain.name, uid: plain.uid }, { namespace: "default", name: "nowhere", uid: "u1" },
		{ namespace: "default", name: "x", uid: "../../evil" }] })
	const error = (uid) => claims[uid].error
	assert.equal(error(good.uid), "")
	assert.match(error(unplugged.uid), /no device gpu-9 in pool/)
	assert.equal(error(refused.uid), "no firmware")
	assert.match(error("other"), /got replaced/)
	assert.match(error(plain.uid), /not allocated/)
	assert.match(error("u1"), /retrieve claim default\/nowhere: .*not found/)
	assert.match(error("../../evil"), /uid/)
	assert.deepEqual(cdiFiles(sim), [`k8s.${driver}-claim-${good.uid}.json`])
	await sim.stop()
})

await test("prepared claims are remembered over a crash, and need neither API server nor claim", async () => {
	const sim = await startSim()
	const claim = await allocatedClaim(sim.node, [{ request: "a", device: "gpu-0" }])
	const first = await call(sim.dra(), "NodePrepareResources", { claims: [claim] })
	sim.process.child.kill("SIGKILL")
	await sim.process.ended
	const again = await startSim([], { ...sim, withNode: false })
	await client.delete(`${dra}/namespaces/default/resourceclaims/${claim.name}`)
	assert.deepEqual(await call(again.dra(), "NodePrepareResources", { claims: [claim] }), first)
	// Without its CDI file it is of no use: it must be prepared anew, and cannot.
	unlinkSync(`${sim.cdi}/k8s.${driver}-claim-${claim.uid}.json`)
	const { claims } = await call(again.dra(), "NodePrepareResources", { claims: [claim] })
	assert.match(claims[claim.uid].error, /not found/)
	await call(again.dra(), "NodeUnprepareResources", { claims: [claim] })
	assert.equal(JSON.parse(readFileSync(`${sim.root}/plugins/${driver}/prepared.json`)).claims.length, 0)
	await again.stop()
})

await test("a checkpoint that cannot be read is set aside", async () => {
	const root = `${scratch}/${unique("r")}`
	mkdirSync(`${root}/plugins/${driver}`, { recursive: true })
	writeFileSync(`${root}/plugins/${driver}/prepared.json`, '{"version":1,"cla')
	const sim = await startSim([], { root })
	assert.ok(existsSync(`${root}/plugins/${driver}/prepared.json.bad`))
	await until("the log has it", () => /cannot read .*prepared\.json/.test(sim.process.err))
	await sim.stop()
})

await test("a claim that one instance prepared can be unprepared by another", async () => {
	const old = await startSim(["--instance", "old"])
	const claim = await allocatedClaim(old.node, [{ request: "a", device: "gpu-0" }])
	const at = (uid) => new DRAPlugin.v1(`unix:${old.root}/plugins/${driver}/dra-${uid}.sock`, insecure)
	const first = await call(at("old"), "NodePrepareResources", { claims: [claim] })
	const next = await startSim(["--instance", "new"], { ...old, withNode: false })
	assert.deepEqual(await call(at("new"), "NodePrepareResources", { claims: [claim] }), first)
	await call(at("new"), "NodeUnprepareResources", { claims: [claim] })
	assert.deepEqual(cdiFiles(old), [])
	assert.deepEqual(JSON.parse(readFileSync(`${old.root}/plugins/${driver}/prepared.json`)).claims, [])
	await until("the log has it", () => /claim unprepared/.test(next.process.err))
	await Promise.all([old.stop(), next.stop()])
})

// --- the status of claims ------------------------------------------------------------------------

const claimPath = (claim) => `${dra}/namespaces/default/resourceclaims/${claim.name}`
const entries = async (claim) => (await client.get(claimPath(claim))).body.status.devices ?? []

// The Ready condition of each entry as [status, reason, message], when `holds` says so of them.
const ready = (what, claim, holds) => until(what, async () => {
	const list = (await entries(claim)).filter((e) => e.driver !== "other.example.com")
	const all = Object.fromEntries(list.map((e) => [e.device, e.conditions.find((c) => c.type === "Ready")]))
	return holds(all) && all
})

await test("a prepared claim's status says how each device is, with data of the size that was asked for", async () => {
	const sim = await startSim(["--status-data", "10240"])
	const claim = await allocatedClaim(sim.node, [{ request: "a", device: "gpu-0" }, { request: "b", device: "gpu-1" },
		{ request: "b", driver: "other.example.com", pool: "p", device: "y" }])
	const foreign = { driver: "other.example.com", pool: "p", device: "y", data: { speed: 1.5 } }
	assert.equal((await client.patch(`${claimPath(claim)}/status`, { status: { devices: [foreign] } }, "merge")).code, 200)
	const theirs = (await entries(claim))[0]
	await call(sim.dra(), "NodePrepareResources", { claims: [claim] })
	const first = await ready("two entries", claim, (r) => r["gpu-0"] && r["gpu-1"])
	assert.deepEqual([first["gpu-0"].status, first["gpu-0"].reason], ["True", "Prepared"])
	const list = await entries(claim)
	assert.deepEqual(list[0], theirs, "another driver's entry is as it was")
	for (const e of list.slice(1)) {
		assert.equal(JSON.stringify(e.data).length, 10240)
		assert.match(e.data.uuid, /^GPU-[0-9a-f-]{36}$/)
		assert.ok(!e.networkData)
	}
	await sim.tell("fail", "gpu-1", "--message", "double-bit ECC error")
	const failed = await ready("failure", claim, (r) => r["gpu-1"].status === "False")
	assert.deepEqual([failed["gpu-1"].reason, failed["gpu-1"].message], ["Unhealthy", "double-bit ECC error"])
	assert.deepEqual(failed["gpu-0"], first["gpu-0"], "the other one has not changed")
	await sim.tell("heal", "all")
	await ready("recovery", claim, (r) => r["gpu-1"].status === "True" && r["gpu-1"].message === "")
	await call(sim.dra(), "NodeUnprepareResources", { claims: [claim] })
	await until("entries to go", async () => (await entries(claim)).length === 1)
	assert.deepEqual(await entries(claim), [theirs])
	await sim.stop()
})

await test("a NIC's status has its addresses, and a driver that was killed follows its claims again", async () => {
	const nic = "nic.sim.devplane.dev"
	const sim = await startSim(["--kind", "nic"])
	const claim = await allocatedClaim(sim.node, [{ request: "a", driver: nic, device: "nic-3" }])
	const plugin = () => new DRAPlugin.v1(`unix:${sim.root}/plugins/${nic}/dra.sock`, insecure)
	await call(plugin(), "NodePrepareResources", { claims: [claim] })
	await ready("an entry", claim, (r) => r["nic-3"])
	const [{ data, networkData }] = await entries(claim)
	assert.deepEqual(Object.keys(data), ["uuid"])
	assert.equal(networkData.interfaceName, "sim3")
	assert.match(networkData.hardwareAddress, /^02(:[0-9a-f]{2}){5}$/)
	assert.match(networkData.ips.join(), /^198\.1[89]\.\d+\.\d+\/15,2001:db8::[0-9a-f:]+\/32$/)
	await sim.tell("fail", "nic-3")
	await ready("failure", claim, (r) => r["nic-3"].status === "False")
	sim.process.child.kill("SIGKILL")
	await sim.process.ended
	const next = await startSim(["--kind", "nic"], { ...sim, withNode: false })
	await ready("the devices of the new process", claim, (r) => r["nic-3"].status === "True")
	const { metadata: { resourceVersion } } = (await client.get(claimPath(claim))).body
	await next.stop()
	const last = await startSim(["--kind", "nic"], { ...sim, withNode: false })
	await last.tell("fail", "nic-0")
	await last.tell("silence", "nic-3")
	await ready("silence", claim, (r) => r["nic-3"].status === "Unknown" && r["nic-3"].reason === "Silent")
	const endpoint = /http:\/\/\S+/.exec(last.process.out)[0]
	assert.match(await (await fetch(`${endpoint}/metrics`)).text(), /devplane_driver_status_writes_total\{result="success"\} 1\n/,
		`what is there already (version ${resourceVersion}) is not written`)
	// The claim's end is no reason to complain, nor one to wait at the driver's own end.
	await client.delete(claimPath(claim))
	await last.tell("heal", "all")
	await last.stop()
	assert.doesNotMatch(last.process.err, /cannot write the status/)
})

// The rights that docs/driver-sdk.md lists, without those that this test is about.
async function account(name) {
	const rbac = "/apis/rbac.authorization.k8s.io/v1"
	const rule = (apiGroups, resources, verbs, more) => ({ apiGroups, resources, verbs, ...more })
	const group = ["resource.k8s.io"]
	const rules = [rule([""], ["nodes"], ["get"]), rule(group, ["resourceslices"], ["*"]),
		rule(group, ["resourceclaims"], ["get"]), rule(group, ["resourceclaims/status"], ["patch"])]
	const post = async (path, body) => {
		const answer = await client.post(path, body)
		assert.equal(answer.code, 201, answer.text)
		return answer.body
	}
	await post(`${core}/namespaces/default/serviceaccounts`, { metadata: { name } })
	const role = await post(`${rbac}/clusterroles`, { metadata: { name }, rules })
	await post(`${rbac}/clusterrolebindings`, { metadata: { name }, roleRef: { apiGroup: "rbac.authorization.k8s.io",
		kind: "ClusterRole", name }, subjects: [{ kind: "ServiceAccount", name, namespace: "default" }] })
	const { status } = await post(`${core}/namespaces/default/serviceaccounts/${name}/token`, { spec: {} })
	return { kubeconfig: kubeconfig(server, status.token), grant: async (...more) => {
		const answer = await client.put(`${rbac}/clusterroles/${name}`, { ...role, rules: [...rules, rule(group, ...more)] })
		assert.equal(answer.code, 200, answer.text)
	} }
}

await test("a driver that may not write a claim's status says so once and goes on, until it may", async () => {
	const { kubeconfig: file, grant } = await account(unique("driver"))
	const sim = await startSim([], { kubeconfig: file })
	const claim = await allocatedClaim(sim.node, [{ request: "a", device: "gpu-0" }])
	assert.equal((await call(sim.dra(), "NodePrepareResources", { claims: [claim] })).claims[claim.uid].error, "")
	await until("a word about it", () => /cannot write the status of claim/.test(sim.process.err))
	assert.deepEqual(await entries(claim), [])
	await grant(["drivers"], ["update-device-status"], { resourceNames: [driver] })
	await ready("permission", claim, (r) => r["gpu-0"]?.status === "True")
	assert.equal(sim.process.err.match(/cannot write the status of claim/g).length, 1)
	await sim.stop()
	const silent = await startSim(["--no-status"])
	const other = await allocatedClaim(silent.node, [{ request: "a", device: "gpu-0" }])
	await call(silent.dra(), "NodePrepareResources", { claims: [other] })
	await silent.stop()
	assert.deepEqual(await entries(other), [])
})

// --- health ------------------------------------------------------------------------------------

// The last report of a stream in any dialect, as {device: [health, message]}.
function health(stream) {
	return Object.fromEntries((stream.last?.devices ?? []).map((d) => d.device
		? [d.device.device_name, [d.health, d.message]]
		: [d.device_name, [d.health_status.toUpperCase(), d.message]]))
}

const streams = (sim) => ({
	v1: new Stream(new DRAResourceHealth.v1(`unix:${sim.socket}`, insecure), "NodeWatchResources"),
	v1alpha1: new Stream(new DRAResourceHealth.v1alpha1(`unix:${sim.socket}`, insecure), "NodeWatchResources"),
	nodehealth: new Stream(new NodeHealth(`unix:${sim.socket}`, insecure), "WatchResources"),
})

await test("of several drivers the one that has the device is told", async () => {
	const gpus = await startSim()
	const nics = await startSim(["--kind", "nic"], { ...gpus, withNode: false })
	const one = await gpus.tell("fail", "nic-1")
	assert.deepEqual([one.code, one.out], [0, "nic-1: Healthy -> Unhealthy: failed on command\n"], one.err)
	for (const device of ["all", "gpu-9"]) {
		const { code, err } = await gpus.tell("fail", device)
		assert.equal(code, 2)
		assert.match(err, /--name: gpu\.sim\.devplane\.dev, nic\.sim\.devplane\.dev/)
	}
	assert.equal((await gpus.tell("list")).code, 2)
	await nics.stop()
	await gpus.stop()
})

await test("health is told at once in all dialects, complete, with message and time-out", async () => {
	const sim = await startSim(["--devices", "2", "--health-timeout", "7s"])
	const all = streams(sim)
	for (const [dialect, s] of Object.entries(all)) {
		await until(`first report by ${dialect}`, () => s.last)
		assert.deepEqual(health(s), { "gpu-0": ["HEALTHY", ""], "gpu-1": ["HEALTHY", ""] }, dialect)
		const [first] = s.last.devices
		assert.equal(first.health_check_timeout_seconds, 7)
		assert.equal(first.device?.pool_name ?? first.pool_name, sim.node)
		const when = first.last_updated_time ?? first.last_updated_timestamp
		assert.ok(Math.abs(when - Date.now() / 1000) < 60, `time ${when}`)
	}
	const answer = await sim.tell("fail", "gpu-1", "--message", "ECC, doppelt: ü")
	assert.equal(answer.out, "gpu-1: Healthy -> Unhealthy: ECC, doppelt: ü\n")
	for (const [dialect, s] of Object.entries(all))
		await until(`failure by ${dialect}`, () => health(s)["gpu-1"][0] === "UNHEALTHY")
	assert.deepEqual(health(all.v1), { "gpu-0": ["HEALTHY", ""], "gpu-1": ["UNHEALTHY", "ECC, doppelt: ü"] })
	await sim.tell("heal", "all")
	for (const s of Object.values(all))
		await until("recovery", () => health(s)["gpu-1"][0] === "HEALTHY" && health(s)["gpu-1"][1] === "")
	await sim.stop()
	assert.equal(all.v1.status.code, codes.UNAVAILABLE)
})

await test("a device may be healthy with a message, in all dialects", async () => {
	const sim = await startSim(["--devices", "1"])
	const all = streams(sim)
	const answer = await sim.tell("heal", "gpu-0", "--message", "one link is down")
	assert.equal(answer.out, "gpu-0: Healthy -> Healthy: one link is down\n")
	for (const [dialect, s] of Object.entries(all))
		await until(`message by ${dialect}`, () => s.last && health(s)["gpu-0"][1] === "one link is down" && health(s)["gpu-0"][0] === "HEALTHY")
	const [slice] = await published(sim.node, 1)
	assert.equal(slice.spec.devices[0].taints, undefined)
	await sim.stop()
})

await test("reports are repeated before the time-out, unless all devices are silent", async () => {
	const sim = await startSim(["--devices", "2", "--health-heartbeat", "50ms"])
	const s = streams(sim).v1
	await until("heartbeats", () => s.messages.length > 4)
	await sim.tell("silence", "gpu-0")
	await until("a report without it", () => !("gpu-0" in health(s)))
	assert.deepEqual(Object.keys(health(s)), ["gpu-1"])
	await sim.tell("silence", "gpu-1")
	// A report that crossed the command may still come; then none does, however many heartbeats pass.
	const pulse = new Stream(new DRAResourceHealth.v1(`unix:${sim.socket}`, insecure), "NodeWatchResources")
	const count = s.messages.length
	assert.equal((await tell("list", "-o", "json", "--root-dir", sim.root)).out.match(/Silent/g).length, 2)
	await new Promise((resolve) => setTimeout(resolve, 300))
	assert.ok(s.messages.length <= count + 1, `${s.messages.length - count} reports of silent devices`)
	assert.equal(pulse.messages.length, 0)
	await sim.tell("heal", "gpu-0")
	await until("life", () => "gpu-0" in health(s) && "gpu-0" in health(pulse))
	await sim.stop()
})

await test("a dialect that is not offered is neither advertised nor there", async () => {
	const versions = async (sim) => (await call(
		new Registration(`unix:${sim.root}/plugins_registry/${driver}-reg.sock`, insecure), "GetInfo", {})).supported_versions
	const service = { v1: "v1.DRAResourceHealth", v1alpha1: "v1alpha1.DRAResourceHealth", nodehealth: "v1alpha1.NodeHealth" }
	for (const dialect of ["v1", "v1alpha1", "nodehealth", "none"]) {
		const sim = await startSim(dialect === "none" ? ["--no-health"] : ["--dialect", dialect])
		assert.deepEqual((await versions(sim)).slice(2), dialect === "none" ? [] : [service[dialect]])
		for (const [name, s] of Object.entries(streams(sim)))
			await until(`an answer by ${name}`, () => name === dialect ? s.last : s.status?.code === codes.UNIMPLEMENTED)
		await sim.stop()
	}
})

await test("a thousand devices that fail at once are one report", async () => {
	const sim = await startSim(["--devices", "1000"])
	const s = streams(sim).v1
	await until("first report", () => s.last?.devices.length === 1000)
	const before = s.messages.length
	await sim.tell("fail", "all", "--message", "power")
	await until("failure of all", () => s.last.devices.every((d) => d.health === "UNHEALTHY" && d.message === "power"))
	assert.ok(s.messages.length - before <= 2, `${s.messages.length - before} reports`)
	await sim.stop()
})

// --- slices ------------------------------------------------------------------------------------

await test("slices are published when there is a Node, which owns them", async () => {
	const sim = await startSim(["--kind", "gpu", "--devices", "3"], { withNode: false })
	await until("a word about the Node", () => /cannot find the Node/.test(sim.process.err))
	await makeNode(sim.node)
	const [slice] = await published(sim.node, 1)
	const node = (await client.get(`${core}/nodes/${sim.node}`)).body
	assert.deepEqual(slice.metadata.ownerReferences, [{ apiVersion: "v1", kind: "Node", name: sim.node, uid: node.metadata.uid, controller: true }])
	assert.deepEqual(slice.spec.pool, { name: sim.node, generation: 1, resourceSliceCount: 1 })
	assert.deepEqual([slice.spec.nodeName, slice.spec.devices.length], [sim.node, 3])
	const [device] = slice.spec.devices
	assert.match(device.attributes.uuid.string, /^GPU-[0-9a-f-]{36}$/)
	assert.deepEqual([device.attributes.index.int, device.attributes.driverVersion.version, device.capacity.memory.value], [0, "1.0.0", "80Gi"])
	// When the Node goes and another comes, so do the slices.
	await client.delete(`${core}/nodes/${sim.node}`)
	await client.delete(`${dra}/resourceslices/${slice.metadata.name}`)
	await makeNode(sim.node)
	const uid = (await client.get(`${core}/nodes/${sim.node}`)).body.metadata.uid
	await until("slices of the new Node", async () => (await slices(sim.node))[0]?.metadata.ownerReferences[0].uid === uid)
	await sim.stop()
	assert.equal((await slices(sim.node)).length, 1, "they stay when the driver stops")
})

await test("a failed device is tainted, a healed one is not; the taint keeps its time; --no-taint leaves it", async () => {
	const sim = await startSim()
	const [{ metadata }] = await published(sim.node, 1)
	const taints = async () => (await slices(sim.node))[0].spec.devices.map((d) => d.taints)
	await sim.tell("fail", "gpu-1")
	await until("taint", async () => (await taints())[1])
	const [, [taint]] = await taints()
	assert.deepEqual([taint.key, taint.effect], [`${driver}/unhealthy`, "NoSchedule"])
	await sim.tell("fail", "gpu-2")
	await until("second taint", async () => (await taints())[2])
	assert.deepEqual((await taints())[1], [taint])
	await sim.tell("heal", "all")
	await until("no taints", async () => (await taints()).every((t) => !t))
	const [slice] = await slices(sim.node)
	assert.deepEqual([slice.metadata.name, slice.spec.pool.generation], [metadata.name, 1], "changed in place")
	await sim.stop()
	const bare = await startSim(["--no-taint"])
	const stream = streams(bare).v1
	await published(bare.node, 1)
	await bare.tell("fail", "gpu-0")
	await until("report", () => health(stream)["gpu-0"]?.[0] === "UNHEALTHY")
	await bare.tell("remove", "gpu-3")
	await until("the later change", async () => (await slices(bare.node))[0].spec.devices.length === 3)
	assert.ok(!(await slices(bare.node))[0].spec.devices[0].taints)
	await bare.stop()
})

await test("a removed device vanishes from slices and reports, and comes back with its health", async () => {
	const sim = await startSim(["--devices", "2"])
	const s = streams(sim).v1
	await published(sim.node, 1)
	await sim.tell("fail", "gpu-1", "-m", "hot")
	assert.equal((await sim.tell("remove", "gpu-1")).out, "gpu-1: Unhealthy -> Removed: hot\n")
	const names = async () => (await slices(sim.node))[0].spec.devices.map((d) => d.name).join()
	await until("slice without it", async () => await names() === "gpu-0")
	await until("report without it", () => !("gpu-1" in health(s)))
	const claim = await allocatedClaim(sim.node, [{ request: "a", device: "gpu-1" }])
	assert.match((await call(sim.dra(), "NodePrepareResources", { claims: [claim] })).claims[claim.uid].error, /no device gpu-1/)
	await sim.tell("restore", "gpu-1")
	await until("slice with it", async () => await names() === "gpu-0,gpu-1")
	await until("report with it", () => health(s)["gpu-1"]?.[1] === "hot")
	await sim.stop()
})

await test("many devices are several slices of one generation", async () => {
	const sim = await startSim(["--devices", "150"])
	const list = await published(sim.node, 3)
	assert.deepEqual(list.map((s) => s.spec.devices.length).sort(), [22, 64, 64])
	assert.deepEqual(list.map((s) => [s.spec.pool.generation, s.spec.pool.resourceSliceCount]), [[1, 3], [1, 3], [1, 3]])
	assert.equal(new Set(list.flatMap((s) => s.spec.devices.map((d) => d.name))).size, 150)
	await sim.tell("remove", "gpu-0")
	await until("all slices of the next generation", async () => {
		const now = await slices(sim.node)
		return now.length === 3 && now.every((s) => s.spec.pool.generation === 2) &&
			now.reduce((n, s) => n + s.spec.devices.length, 0) === 149
	})
	await sim.stop()
	const bare = await startSim(["--devices", "150", "--no-taint"])
	assert.deepEqual((await published(bare.node, 2)).map((s) => s.spec.devices.length).sort((a, b) => a - b), [22, 128])
	await bare.stop()
})

await test("slices that somebody deletes, changes or adds are put right, and a restart writes nothing", async () => {
	const sim = await startSim()
	const [slice] = await published(sim.node, 1)
	await client.delete(`${dra}/resourceslices/${slice.metadata.name}`)
	const [again] = await until("a new slice", async () => {
		const list = await slices(sim.node)
		return list.length === 1 && list[0].metadata.uid !== slice.metadata.uid && list
	})
	again.spec.devices.pop()
	again.spec.devices[0].attributes.index = { int: 77 }
	assert.equal((await client.put(`${dra}/resourceslices/${again.metadata.name}`, again)).code, 200)
	await until("its devices as they were", async () => {
		const [now] = await slices(sim.node)
		return now?.spec.devices.length === 4 && now.spec.devices[0].attributes.index.int === 0
	})
	const extra = { ...again, metadata: { name: unique("extra") }, spec: { ...again.spec, devices: [{ name: "ghost" }] } }
	assert.equal((await client.post(`${dra}/resourceslices`, extra)).code, 201)
	const [right] = await until("one slice", async () => {
		const list = await slices(sim.node)
		return list.length === 1 && list
	})
	await sim.stop()
	const next = await startSim([], { ...sim, withNode: false })
	const endpoint = /http:\/\/\S+/.exec(next.process.out)[0]
	await until("readiness", async () => (await fetch(`${endpoint}/readyz/resourceslices`)).status === 200)
	assert.match(await (await fetch(`${endpoint}/metrics`)).text(), /devplane_driver_slice_writes_total\{result="success"\} 0/)
	assert.equal((await slices(sim.node))[0].metadata.resourceVersion, right.metadata.resourceVersion)
	await next.stop()
})

await test("of two instances the newer one's slices stand, and they do not fight", async () => {
	const old = await startSim(["--instance", "old", "--devices", "2"])
	await published(old.node, 1)
	const next = await startSim(["--instance", "new", "--devices", "3"], { ...old, withNode: false })
	const three = async () => {
		const list = await slices(old.node)
		return list.length === 1 && list[0].spec.devices.length === 3 && list
	}
	const [slice] = await until("the newer one's devices", three)
	await tell("fail", "gpu-0", "--root-dir", old.root, "--name", driver, "--instance", "old")
	await tell("fail", "gpu-1", "--root-dir", old.root, "--name", driver, "--instance", "new")
	const [now] = await until("the newer one's taint", async () => {
		const [s] = await slices(old.node)
		return s?.spec.devices[1].taints && [s]
	})
	assert.ok(!now.spec.devices[0].taints)
	assert.equal(slice.metadata.annotations["devplane.dev/instance"], "new")
	assert.ok(await three())
	await Promise.all([old.stop(), next.stop()])
})

// --- device plugins ------------------------------------------------------------------------------

// A kubelet that only takes registrations.
async function kubelet(root) {
	const requests = []
	mkdirSync(`${root}/device-plugins`, { recursive: true })
	const server = await serve(`${root}/device-plugins/kubelet.sock`, [PluginRegistration, { Register(c, done) {
		requests.push(c.request)
		done(null, {})
	} }])
	return { requests, stop: () => server.forceShutdown() }
}

await test("a device plugin registers whenever there is another kubelet.sock", async () => {
	const root = `${scratch}/${unique("p")}`
	const sim = await startSim(["--mode", "plugin", "--devices", "2", "--numa-nodes", "2"], { root })
	const first = await kubelet(root)
	await until("registration", () => first.requests.length)
	assert.deepEqual(first.requests[0], { version: "v1beta1", endpoint: `${driver}.sock`, resource_name: "sim.devplane.dev/gpu",
		options: { pre_start_required: false, get_preferred_allocation_available: false } })
	const plugin = new DevicePlugin(`unix:${root}/device-plugins/${driver}.sock`, insecure)
	assert.deepEqual(await call(plugin, "GetDevicePluginOptions", {}),
		{ pre_start_required: false, get_preferred_allocation_available: false })
	const list = new Stream(plugin, "ListAndWatch")
	await until("devices", () => list.last)
	assert.deepEqual(list.last.devices, [
		{ ID: "gpu-0", health: "Healthy", topology: { nodes: [{ ID: 0 }] }, message: "" },
		{ ID: "gpu-1", health: "Healthy", topology: { nodes: [{ ID: 1 }] }, message: "" }])
	await sim.tell("fail", "gpu-1", "-m", "broken wire")
	await until("failure", () => list.last.devices[1].health === "Unhealthy" && list.last.devices[1].message === "broken wire")
	const { container_responses: [one] } = await call(plugin, "Allocate", { container_requests: [{ devices_ids: ["gpu-0", "gpu-1"] }] })
	assert.deepEqual([one.envs.DEVPLANE_SIM_DEVICE_0, one.envs.DEVPLANE_SIM_DEVICE_1], ["gpu-0", "gpu-1"])
	assert.deepEqual(one.devices[1], { container_path: "/dev/simgpu1", host_path: "/dev/null", permissions: "rw" })
	await assert.rejects(call(plugin, "Allocate", { container_requests: [{ devices_ids: ["gpu-9"] }] }), /unknown device gpu-9/)
	// A kubelet that starts removes every socket.
	first.stop()
	for (const name of readdirSync(`${root}/device-plugins`))
		rmSync(`${root}/device-plugins/${name}`, { force: true })
	const second = await kubelet(root)
	await until("second registration", () => second.requests.length)
	const anew = new Stream(new DevicePlugin(`unix:${root}/device-plugins/${driver}.sock`, insecure), "ListAndWatch")
	await until("devices at the new socket", () => anew.last?.devices.length === 2)
	await sim.stop()
	assert.deepEqual(readdirSync(`${root}/device-plugins`), ["kubelet.sock"])
	second.stop()
})

await test("a kubelet that refuses is asked again", async () => {
	const root = `${scratch}/${unique("p")}`
	mkdirSync(`${root}/device-plugins`, { recursive: true })
	let times = 0
	const server = await serve(`${root}/device-plugins/kubelet.sock`, [PluginRegistration, { Register(c, done) {
		done(++times < 3 ? { code: codes.UNKNOWN, details: "not yet" } : null, {})
	} }])
	const sim = await startSim(["--mode", "plugin", "--kind", "nic", "--resource", "example.com/port", "--name", "ports"], { root })
	await until("third try", () => times >= 3)
	await until("registration", () => /registered as device plugin of example.com\/port/.test(sim.process.err))
	await until("the log has it", () => /cannot register the device plugin: .*not yet/.test(sim.process.err))
	await sim.stop()
	server.forceShutdown()
})

// --- the command line ------------------------------------------------------------------------------

await test("wrong commands and flags say what to do", async () => {
	const sim = await startSim(["--devices", "2"])
	const wrong = async (args, code, pattern) => {
		const answer = await tell(...args)
		assert.match(answer.err, pattern)
		assert.equal(answer.code, code, answer.err)
	}
	await wrong(["fail", "gpu-7", "--root-dir", sim.root], 1, /has no device "gpu-7"; it has gpu-0 to gpu-1/)
	await wrong(["fail", "--root-dir", sim.root], 2, /too few arguments/)
	await wrong(["fail", "gpu-0", "--root-dir", `${scratch}/nowhere`], 1, /no `devplane driver sim` runs .*start one/s)
	await wrong(["brake", "gpu-0"], 2, /unknown command/)
	await wrong(["--mode", "dra", "--root-dir", sim.root], 2, /needs --node-name/)
	await wrong(["--node-name", "n", "--name", "No Good", "--root-dir", sim.root], 2, /driver name "No Good"/)
	await wrong(["--mode", "plugin", "--partitions", "--root-dir", sim.root], 2, /use --mode dra/)
	await wrong(["--node-name", "n", "--kind", "nic", "--partitions", "--root-dir", sim.root], 2, /--partitions is for --kind gpu, not nic/)
	await wrong(["--node-name", "n", "--fabric", "1", "--fabric-nodes", "rack", "--root-dir", sim.root], 2, /"rack" is not a label NAME=VALUE/)
	await wrong(["--node-name", "n", "--partitions", "--devices", "2000", "--root-dir", sim.root], 2, /more than 16384 devices and partitions/)
	await wrong(["--mode", "plugin", "--resource", "cpu", "--root-dir", sim.root], 2, /"cpu" is not an extended resource/)
	await wrong(["--node-name", "n", "--kubeconfig", "/nowhere", "--root-dir", `${scratch}/${unique("r")}`], 1, /\/nowhere/)
	await wrong(["--node-name", sim.node, "--kubeconfig", server.kubeconfig, "--root-dir", sim.root], 1, /in use by another process/)
	await wrong(["--node-name", "n", "--kubeconfig", server.kubeconfig, "--root-dir", `${scratch}/${"x".repeat(90)}`], 1, /shorter/)
	const other = await startSim(["--kind", "nic"], { ...sim, withNode: false })
	await wrong(["list", "--root-dir", sim.root], 2, /choose one with --name: gpu.sim.devplane.dev, nic.sim.devplane.dev/)
	assert.match((await tell("list", "--root-dir", sim.root, "--name", "nic.sim.devplane.dev")).out, /nic-0 +Healthy/)
	await Promise.all([sim.stop(), other.stop()])
})

// --- partitions -------------------------------------------------------------------------------

await test("parts of GPUs and their counters keep the limits of slices", async () => {
	const sim = await startSim(["--devices", "10", "--partitions"])
	const found = (await published(sim.node, 5)).sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
	// 8 and 2 counter sets, then 10 GPUs with 12 parts each.
	assert.deepEqual(found.map((s) => s.spec.sharedCounters?.length ?? 0), [8, 2, 0, 0, 0])
	assert.deepEqual(found.map((s) => s.spec.devices?.length ?? 0), [0, 0, 64, 64, 2])
	assert.deepEqual(found.map((s) => [s.spec.pool.generation, s.spec.pool.resourceSliceCount]), Array(5).fill([1, 5]))
	const part = found[2].spec.devices.find((d) => d.name === "gpu-0-2g20gb-2")
	assert.deepEqual(part.consumesCounters, [{ counterSet: "gpu-0", counters: {
		memory: { value: "20Gi" }, multiprocessors: { value: "28" }, "memory-slice-2": { value: "1" }, "memory-slice-3": { value: "1" } } }])
	assert.equal(part.attributes.profile.string, "2g.20gb")
	// A GPU fails with its parts; the others stay.
	await sim.tell("fail", "gpu-9", "--message", "fell off the bus")
	const tainted = async () => (await slices(sim.node)).flatMap((s) => s.spec.devices ?? []).filter((d) => d.taints).map((d) => d.name)
	await until("13 taints", async () => (await tainted()).length === 13)
	assert.ok((await tainted()).every((name) => name.startsWith("gpu-9")))
	await sim.tell("heal", "gpu-9")
	await until("no taints", async () => (await tainted()).length === 0)
	await sim.stop()
})

await test("a driver that nobody registers says so", async () => {
	const sim = await startSim(["--devices", "1"])
	await until("a warning", () => /WARN.*after 10 s: not registered, and .* had no kubelet/.test(sim.process.err), 60)
	await sim.stop()
})

// --- the example --------------------------------------------------------------------------------

await test("the example driver publishes, reports, prepares and stops", async () => {
	const program = `${dirname(devplane)}/examples/driver/folder-driver`
	const root = `${scratch}/${unique("e")}`, folder = `${root}/devices`, node = unique("n"), name = "folder.example.com"
	mkdirSync(folder, { recursive: true })
	writeFileSync(`${folder}/one`, "ok\n")
	writeFileSync(`${folder}/two`, "ok\n")
	await makeNode(node)
	let err = ""
	const child = execFile(program, [folder, node, server.kubeconfig, root, `${root}/cdi`])
	child.stderr.on("data", (data) => (err += data))
	const ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve({ code, signal })))
	const [slice] = await published(node, 1, name)
	assert.deepEqual(slice.spec.devices.map((d) => d.name).sort(), ["one", "two"])
	const socket = `unix:${root}/plugins/${name}/dra.sock`
	const stream = new Stream(new DRAResourceHealth.v1(socket, insecure), "NodeWatchResources")
	writeFileSync(`${folder}/two`, "on fire\n")
	await until("failure", () => health(stream).two?.[1] === "on fire")
	const claim = await allocatedClaim(node, [{ request: "a", driver: name, device: "one" }])
	const { claims } = await call(new DRAPlugin.v1(socket, insecure), "NodePrepareResources", { claims: [claim] })
	assert.equal(claims[claim.uid].error, "")
	const spec = JSON.parse(readFileSync(`${root}/cdi/k8s.${name}-claim-${claim.uid}.json`))
	assert.deepEqual(spec.devices[0].containerEdits, { env: ["FOLDER_DEVICE=one"],
		mounts: [{ hostPath: `${folder}/one`, containerPath: "/devices/one", options: ["ro", "nosuid", "nodev", "bind"] }] })
	await until("its status", async () => (await entries(claim))[0]?.conditions[0].reason === "Mounted")
	rmSync(`${folder}/one`)
	await until("slice without it", async () => (await slices(node, name))[0].spec.devices.length === 1)
	child.kill("SIGTERM")
	assert.deepEqual(await ended, { code: 0, signal: null }, err)
	assert.ok(!existsSync(`${root}/plugins/${name}/dra.sock`))
})

await server.stop()
finish()
