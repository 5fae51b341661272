// devplane node --attach and the health of devices: a kubelet that only answers PodResources, DRA drivers and device plugins on
// @grpc/grpc-js that are registered with it, and a server whose pods the test writes as that kubelet.
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdirSync, readdirSync } from "node:fs"
import { core, dra, unique } from "./api_lib.mjs"
import { fakeKubelet } from "./attach_lib.mjs"
import { devplane, finish, test, until } from "./lib.mjs"
import { podOn, pods, shortFolder, startCluster } from "./node_lib.mjs"
import { DevicePlugin, DraDriver } from "./plugin_lib.mjs"
import { client, metric } from "./podres_lib.mjs"

const GPU = "example.com/gpu", driverName = "gpu.example.com", annotation = "devplane.dev/device-health"
const root = shortFolder(), socket = `${root}/pod-resources/devplane.sock`
mkdirSync(`${root}/pod-resources`)
const kubelet = fakeKubelet(`${root}/pod-resources/kubelet.sock`, { gpus: ["0", "1"] })
await kubelet.begin()

// --- the cluster ----------------------------------------------------------------------------------

const cluster = await startCluster()
const made = await cluster.client.post(`${core}/nodes`, { metadata: { name: "n1" } })
assert.equal(made.code, 201, made.text)

// Drivers are the kubelet's: nobody here sends them a NotifyRegistrationStatus.
const startDriver = (options = {}) => DraDriver.start(root, driverName, { wait: false, ...options })
const watched = (driver) => until("open health stream", () => driver.watched())
const device = (name, health = "Healthy", more = {}) => ({ pool: "p", device: name, health, timeout: 3600, ...more })
const id = (name) => `${driverName}/p/${name}`

let driver = await startDriver()
driver.report([device("g0"), device("g1")])
const pluginSocket = `${root}/device-plugins/gpu.sock`
const plugin = await DevicePlugin.start(root, GPU, [{ ID: "0" }, { ID: "1" }], { socket: "gpu.sock", register: false })
const before = folders()

function folders() {
	return ["plugins_registry", "device-plugins", "plugins", `plugins/${driverName}`, ""].map((f) => [f, readdirSync(`${root}/${f}`).sort()])
}

const flags = ["--attach", "--attach-interval", "500ms", "--attach-health-grace", "1s", "--follow-device-plugin", `${GPU}=${pluginSocket}`]
const optIn = ["--attach-pod-condition", "--attach-node-annotation"]
const node = await cluster.node("n1", { root, hollow: false, wait: false, flags: [...flags, ...optIn] })
await until("readiness", async () => (await fetch(`${node.url}/readyz`)).status === 200)
const api = client(socket)

// --- pods -----------------------------------------------------------------------------------------

// What the kubelet writes. `reports`: its allocatedResourcesStatus of the container.
const status = async (pod, phase, { state = { running: {} }, reports, claim = pod.claim } = {}) => {
	const main = { name: "main", image: "busybox", imageID: "", ready: phase === "Running", restartCount: 0, containerID: `x://${pod.metadata.uid}`, state }
	const resourceClaimStatuses = claim ? [{ name: "gpu", resourceClaimName: claim }] : []
	const body = { status: { phase, startTime: "2024-01-01T00:00:00Z", resourceClaimStatuses, containerStatuses: [{ ...main, ...(reports && { allocatedResourcesStatus: reports }) }] } }
	const { code, text } = await cluster.client.patch(`${pods}/${pod.metadata.name}/status`, body, "merge")
	assert.equal(code, 200, text)
}

// Upstream's kubelet names a device by its first CDI id.
const cdi = (name) => `${driverName}/gpu=${name}`
const says = (name, health, message) => [{ name: "claim:gpu", resources: [{ resourceID: cdi(name), health, message }] }]

// A running pod whose claim has these devices of the driver; or one with `held` of the kubelet's.
async function run(names, { gpus = [], ...held } = {}) {
	const claim = unique("claim"), limits = gpus.length ? { limits: { [GPU]: gpus.length }, requests: { [GPU]: gpus.length } } : {}
	const spec = names.length ? { resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "any" }] } : {}
	const pod = await cluster.run(podOn("n1", { ...spec, main: { resources: { ...limits, ...(names.length && { claims: [{ name: "gpu" }] }) } } }))
	const claims = names.length ? { [claim]: names.map(id) } : {}
	pod.claim = names.length && claim
	await kubelet.set({ [pod.metadata.name]: { gpus, ...held, claims } })
	await status(pod, "Running")
	return pod
}

async function end(pod) {
	await kubelet.set({ [pod.metadata.name]: undefined })
	await cluster.delete(pod, 0)
}

const condition = (pod) => pod.status.conditions?.find((c) => c.type === "devplane.dev/DevicesHealthy")
const isCondition = (pod, status, text = /^/) => cluster.pod(pod, (p) => condition(p)?.status === status && text.test(condition(p).message ?? ""))
const value = (pod, name, health) =>
	metric(node, "devplane_attach_device_health", `namespace="default",pod="${pod.metadata.name}",driver="${driverName}",pool="p",device="${name}",health="${health}"`)
const isExported = (pod, name, health) => until(`series ${health}`, async () => await value(pod, name, health) === 1)

// Health in PodResources: { id: "UNHEALTHY hot" }.
async function healthIn(pod) {
	const { pod_resources } = await api.list()
	const { containers } = pod_resources.find((p) => p.name === pod.metadata.name)
	const of = (d) => `${d.health} ${d.health_message}`.trim()
	return Object.fromEntries(containers.flatMap((c) => [
		...c.devices.flatMap((d) => d.device_ids.map((i) => [i, of(d)])),
		...c.dynamic_resources.flatMap((d) => d.claim_resources.map((r) => [`${r.driver_name}/${r.pool_name}/${r.device_name}`, of(r)])),
	]))
}
const isHealth = (pod, wanted) => until(`health ${JSON.stringify(wanted)} in PodResources`, async () => JSON.stringify(await healthIn(pod)) === JSON.stringify(wanted))

// --- the story ------------------------------------------------------------------------------------

await test("a device that its driver reports unhealthy shows in an event, PodResources, metrics and the condition", async () => {
	const pod = await run(["g0", "g1"])
	await isCondition(pod, "True")
	await isHealth(pod, { [id("g0")]: "HEALTHY", [id("g1")]: "HEALTHY" })
	await isExported(pod, "g0", "Healthy")
	driver.report([device("g0", "Unhealthy", { message: "Xid 79" }), device("g1")])
	const event = await cluster.event(pod.metadata.name, "DeviceUnhealthy")
	assert.equal(event.message, `Device ${id("g0")} of claim:gpu: Healthy -> Unhealthy: Xid 79`)
	assert.deepEqual([event.type, event.source.component], ["Warning", "devplane-attach"])
	const now = await isCondition(pod, "False")
	assert.deepEqual([condition(now).reason, condition(now).message], ["DeviceUnhealthy", `${id("g0")}: Xid 79`])
	assert.equal(now.status.containerStatuses[0].allocatedResourcesStatus, undefined, "a field of the kubelet's was written")
	await isHealth(pod, { [id("g0")]: "UNHEALTHY Xid 79", [id("g1")]: "HEALTHY" })
	await isExported(pod, "g0", "Unhealthy")
	assert.ok(Number.isNaN(await value(pod, "g0", "Healthy")), "a device has two series")
	driver.report([device("g0"), device("g1")])
	await cluster.event(pod.metadata.name, "DeviceHealthy", /Unhealthy -> Healthy/)
	await isCondition(pod, "True")
	await end(pod)
	await until("the series' end", async () => Number.isNaN(await value(pod, "g0", "Healthy")))
})

await test("allocatable lists the devices of drivers with their health, and not those that are unhealthy", async () => {
	driver.report([device("g0", "Unhealthy"), device("g1")])
	await until("the healthy device", async () => {
		const { claim_resources } = await api.allocatable()
		return claim_resources.map((r) => `${r.device_name} ${r.health}`).join() === "g1 HEALTHY"
	})
	driver.report([device("g0"), device("g1")])
})

await test("a device that is not reported again in time is Unknown", async () => {
	const pod = await run(["g0"])
	await isCondition(pod, "True")
	driver.report([device("g0", "Healthy", { timeout: 1 }), device("g1")])
	await cluster.event(pod.metadata.name, "DeviceHealthUnknown", /Healthy -> Unknown/)
	await isCondition(pod, "Unknown")
	await isHealth(pod, { [id("g0")]: "UNKNOWN" })
	driver.report([device("g0"), device("g1")])
	await isCondition(pod, "True")
	await end(pod)
})

await test("a driver that is restarted is followed again", async () => {
	const pod = await run(["g0"])
	await isCondition(pod, "True")
	driver.stop()
	await isCondition(pod, "Unknown")
	driver = await startDriver()
	driver.report([device("g0", "Unhealthy", { message: "after the restart" }), device("g1")])
	await isCondition(pod, "False", /after the restart/)
	driver.report([device("g0"), device("g1")])
	await isCondition(pod, "True")
	await end(pod)
})

await test("of two instances the newest one is read, and the other one after its end", async () => {
	const pod = await run(["g0"])
	const second = await startDriver({ instance: "b" })
	second.report([device("g0", "Unhealthy", { message: "by the second" })])
	await isCondition(pod, "False", /by the second/)
	second.stop()
	await isCondition(pod, "True")
	await watched(driver)
	await end(pod)
})

for (const dialect of ["v1alpha1.DRAResourceHealth", "v1alpha1.NodeHealth"]) {
	await test(`a driver with ${dialect} alone is followed`, async () => {
		const pod = await run(["g0"])
		driver.stop()
		driver = await startDriver({ services: ["v1.DRAPlugin", dialect] })
		driver.report([device("g0", "Unhealthy", { message: dialect })])
		await isCondition(pod, "False", new RegExp(dialect))
		assert.ok(driver.watched(dialect))
		driver.stop()
		driver = await startDriver()
		driver.report([device("g0"), device("g1")])
		await isCondition(pod, "True")
		await end(pod)
	})
}

await test("a kubelet that restarts changes no health, and the stream stays open", async () => {
	const pod = await run(["g0"])
	await isCondition(pod, "True")
	driver.report([device("g0", "Unhealthy"), device("g1")])
	await isCondition(pod, "False")
	const streams = driver.count("NodeWatchResources")
	await kubelet.kill()
	await kubelet.begin({ lists: [{}, kubelet.holds] })
	const lists = await metric(node, "devplane_attach_calls_total", 'method="List",code="OK"')
	await until("three Lists", async () => await metric(node, "devplane_attach_calls_total", 'method="List",code="OK"') >= lists + 3)
	assert.equal(condition(await cluster.pod(pod)).status, "False")
	await isHealth(pod, { [id("g0")]: "UNHEALTHY" })
	assert.equal(driver.count("NodeWatchResources"), streams)
	driver.report([device("g0"), device("g1")])
	await isCondition(pod, "True")
	await end(pod)
})

await test("the condition keeps the health at the container's death, and learns of a fault that is found later", async () => {
	const [broken, late] = [await run(["g0"]), await run(["g1"])]
	await isCondition(broken, "True")
	await isCondition(late, "True")
	driver.report([device("g0", "Unhealthy", { message: "fell off the bus" }), device("g1")])
	await isCondition(broken, "False")
	for (const pod of [broken, late]) {
		await kubelet.set({ [pod.metadata.name]: undefined })
		// The controller replaces the claim of a template when the pod has ended.
		await status(pod, "Failed", { claim: unique("other"), state: { terminated: { exitCode: 1, containerID: `x://${pod.metadata.uid}` } } })
	}
	await until("the end in PodResources", async () => (await api.list()).pod_resources.length === 0)
	driver.report([device("g0"), device("g1", "Unhealthy", { message: "found later" })])
	await isCondition(late, "False", /found later/)
	assert.match(condition(await cluster.pod(broken)).message, /fell off the bus/)
	driver.report([device("g0"), device("g1")])
	await end(broken)
	await end(late)
})

await test("a kubelet's report that differs from the driver's is counted and logged once", async () => {
	const pod = await run(["g0"])
	const differs = () => metric(node, "devplane_attach_health_differs")
	const counted = () => metric(node, "devplane_attach_health_differences_total", 'kubelet="Healthy",driver="Unhealthy"')
	await isCondition(pod, "True")
	await status(pod, "Running", { reports: says("g0", "Healthy") })
	driver.report([device("g0", "Unhealthy"), device("g1")])
	await until("the difference", async () => await differs() === 1)
	assert.equal(await counted(), 1)
	const lines = () => node.process.err.split("\n").filter((l) => /device health differs/.test(l) && l.includes(pod.metadata.name))
	assert.equal(lines().length, 1)
	assert.match(lines()[0], /kubelet=Healthy driver=Unhealthy/)
	await status(pod, "Running", { reports: says("g0", "Unhealthy") })
	await until("the end of the difference", async () => await differs() === 0)
	assert.equal(await counted(), 1)
	await until("a line about the end", () => /as the driver's again/.test(node.process.err))
	driver.report([device("g0"), device("g1")])
	await end(pod)
})

await test("devices of a plugin that the user named are followed; pods keep their CPUs and memory", async () => {
	const pod = await run(["g1"], { gpus: ["0"], cpus: [1], memory: 1 << 20 })
	await isCondition(pod, "True")
	plugin.health("0", "Unhealthy", "fan stopped")
	const event = await cluster.event(pod.metadata.name, "DeviceUnhealthy")
	assert.equal(event.message, `Device 0 of ${GPU}: Healthy -> Unhealthy: fan stopped`)
	await isCondition(pod, "False", /^0: fan stopped$/)
	await isHealth(pod, { 0: "UNHEALTHY fan stopped", [id("g1")]: "HEALTHY" })
	const [{ containers: [main] }] = (await api.list()).pod_resources
	assert.deepEqual([main.cpu_ids, main.memory.map((m) => m.size)], [[1], [1 << 20]])
	plugin.health("0", "Healthy")
	await isCondition(pod, "True")
	await end(pod)
})

await test("the Node's annotation has the devices that nobody holds, and views show them", async () => {
	const slice = { driver: driverName, nodeName: "n1", pool: { name: "p", generation: 1, resourceSliceCount: 1 }, devices: [{ name: "g0" }, { name: "g1" }] }
	const { code, text } = await cluster.client.post(`${dra}/resourceslices`, { metadata: { name: "n1-gpus" }, spec: slice })
	assert.equal(code, 201, text)
	driver.report([device("g0", "Unhealthy", { message: "row remap" }), device("g1")])
	const node1 = await cluster.readNodeWhen("n1", (n) => /row remap/.test(n.metadata.annotations?.[annotation] ?? ""))
	const list = JSON.parse(node1.metadata.annotations[annotation])
	assert.deepEqual([list[0].id, list[0].health, list[1].devices], [id("g0"), "Unhealthy", ["g1"]])
	const { stdout, stderr } = spawnSync(devplane, ["get", "devices", "--kubeconfig", cluster.server.kubeconfig], { encoding: "utf8" })
	assert.match(stdout, /g0 .*Unhealthy/, stderr)
	driver.report([device("g0"), device("g1")])
	await cluster.readNodeWhen("n1", (n) => !/row remap/.test(n.metadata.annotations?.[annotation] ?? ""))
})

await test("neither the drivers nor the kubelet's folders notice more than a reader", async () => {
	assert.deepEqual(folders().map(([f, names]) => [f, names.filter((n) => !n.includes("devplane"))]), before)
	assert.equal(driver.notified.length, 0)
	assert.equal(driver.registration.count("NotifyRegistrationStatus"), 0)
	assert.deepEqual(Object.keys(driver.calls), ["NodeWatchResources"])
	assert.deepEqual(Object.keys(plugin.calls).sort(), ["GetDevicePluginOptions", "ListAndWatch"])
})

await test("a restart is not a change of health", async () => {
	const pod = await run(["g0", "g1"])
	driver.report([device("g0", "Unhealthy", { message: "hot" }), device("g1")])
	await isCondition(pod, "False")
	await cluster.event(pod.metadata.name, "DeviceUnhealthy")
	await status(pod, "Running", { reports: says("g0", "Unhealthy", "hot") })
	await node.stop()
	const old = condition(await cluster.pod(pod))
	await node.begin()
	await isHealth(pod, { [id("g0")]: "UNHEALTHY hot", [id("g1")]: "HEALTHY" })
	await isExported(pod, "g0", "Unhealthy")
	assert.deepEqual(condition(await cluster.pod(pod)), old)
	const events = await cluster.events(pod.metadata.name)
	assert.deepEqual(events.map((e) => [e.reason, e.count]), [["DeviceUnhealthy", 1]])
	driver.report([device("g0"), device("g1")])
	await end(pod)
	await node.stop()
})

await test("without the flags neither condition nor annotation is written, but events are", async () => {
	await cluster.client.patch(`${core}/nodes/n1`, { metadata: { annotations: { [annotation]: null } } }, "merge")
	const bare = await cluster.node("n1", { root, hollow: false, wait: false, flags: ["--attach", "--attach-interval", "500ms"] })
	const pod = await run(["g0"])
	await watched(driver)
	driver.report([device("g0", "Unhealthy"), device("g1")])
	await cluster.event(pod.metadata.name, "DeviceUnhealthy")
	assert.equal(condition(await cluster.pod(pod)), undefined)
	assert.equal((await cluster.readNode("n1")).metadata.annotations?.[annotation], undefined)
	driver.report([device("g0"), device("g1")])
	await end(pod)
	await bare.stop()
})

await test("with the gate ResourceHealthStatus off no stream is opened", async () => {
	driver.stop()
	driver = await startDriver()
	const off = await cluster.node("n1", { root, hollow: false, wait: false, flags: ["--attach", "--feature-gates", "ResourceHealthStatus=false"] })
	const pod = await run(["g0"])
	await until("the pod", async () => (await api.list()).pod_resources.some((p) => p.name === pod.metadata.name))
	assert.equal(driver.count("NodeWatchResources") + driver.registration.count("GetInfo"), 0)
	await off.stop()
})

await test("wrong flags are refused with a word about what is right", async () => {
	const tried = (...args) => spawnSync(devplane, ["node", "--kubeconfig", node.kubeconfig, "--root-dir", root, ...args], { encoding: "utf8" })
	assert.match(tried("--attach", "--follow-device-plugin", GPU).stderr, /is not RESOURCE=SOCKET such as/)
	assert.match(tried("--attach", "--follow-device-plugin", `${GPU}=/a`, "--follow-device-plugin", `${GPU}=/b`).stderr, /named twice/)
	assert.match(tried("--attach-pod-condition", "--runtime", "hollow").stderr, /need --attach/)
})

plugin.stop()
driver.stop()
api.close()
finish()
