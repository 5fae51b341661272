// Plugins and drivers that we did not write: device plugins, registration, DRA and the three dialects of health, all of
// them on @grpc/grpc-js, against the agent.
import assert from "node:assert/strict"
import { appendFileSync, existsSync, rmSync } from "node:fs"
import { unique } from "./api_lib.mjs"
import { assertGrowth, finish, peakMemory, test, until } from "./lib.mjs"
import { allocateClaim, healthOf, podOn, pods, startCluster } from "./node_lib.mjs"
import { DevicePlugin, DraDriver } from "./plugin_lib.mjs"
import { codes } from "./plugin_services.mjs"

const cluster = await startCluster()
const node = await cluster.node("n1")
const { root } = node

let resources = 0
const newResource = () => `example.com/dev${++resources}`

// The node's capacity and allocatable of a resource, when they are this.
const offers = (resource, capacity, allocatable) => cluster.readNodeWhen("n1", ({ status }) =>
	status.capacity[resource] === capacity && status.allocatable[resource] === allocatable)

const wantsDevices = (resource, count = 1) => podOn("n1", { main: { resources: { limits: { [resource]: String(count) } } } })
const running = (p) => p.status.phase === "Running"

async function refused(promise) {
	try {
		await promise
	} catch (e) {
		return e
	}
	assert.fail("it was not refused")
}

// --- device plugins ------------------------------------------------------------------------------

await test("a plugin registers, its devices are the node's, and what is broken is not allocatable", async () => {
	const resource = newResource()
	const plugin = await DevicePlugin.start(root, resource, [{ ID: "a" }, { ID: "b" }, { ID: "c", health: "Odd" }])
	await offers(resource, "3", "2")
	plugin.set([{ ID: "a" }, { ID: "b", health: "Unhealthy" }])
	await offers(resource, "2", "1")
	plugin.stop()
	await offers(resource, "2", "0")
	const again = await DevicePlugin.start(root, resource, [{ ID: "a" }])
	await offers(resource, "1", "1")
	again.stop()
})

await test("Register refuses in upstream's words", async () => {
	const resource = newResource()
	const plugin = await DevicePlugin.start(root, resource, [{ ID: "a" }])
	let e = await refused(plugin.register({ version: "v1alpha" }))
	assert.equal(e.code, codes.UNKNOWN)
	assert.equal(e.details, `requested API version "v1alpha" is not supported by kubelet. Supported version is ["v1beta1"]`)
	e = await refused(plugin.register({ resource: "cpu" }))
	assert.equal(e.details, `the ResourceName "cpu" is invalid`)
	e = await refused(plugin.register())
	assert.equal(e.details, `device plugin already connected: ${plugin.path}`)
	await offers(resource, "1", "1")
	plugin.stop()
})

await test("a client that sends its socket's path as authority is served", async () => {
	const resource = newResource()
	const plugin = await DevicePlugin.start(root, resource, [{ ID: "a" }], { register: false })
	await plugin.register({ channel: { "grpc.default_authority": `${root}/device-plugins/kubelet.sock` } })
	await offers(resource, "1", "1")
	plugin.stop()
})

await test("the agent's socket comes back when somebody deletes it", async () => {
	const resource = newResource()
	const socket = `${root}/device-plugins/kubelet.sock`
	rmSync(socket)
	await until("socket", () => existsSync(socket))
	const plugin = await DevicePlugin.start(root, resource, [{ ID: "a" }])
	await offers(resource, "1", "1")
	plugin.stop()
})

await test("a plugin may come by plugins_registry", async () => {
	const resource = newResource()
	const plugin = await DevicePlugin.start(root, resource, [{ ID: "a" }], { registry: true })
	await offers(resource, "1", "1")
	assert.deepEqual(plugin.notified, [{ plugin_registered: true, error: "" }])
	plugin.stop()
	await offers(resource, "1", "0")
})

await test("a pod gets the devices that the plugin prefers, and the plugin is asked once", async () => {
	const resource = newResource()
	const plugin = await DevicePlugin.start(root, resource, [{ ID: "a" }, { ID: "b" }, { ID: "c" }], { preferred: true, prestart: true })
	await offers(resource, "3", "3")
	const pod = await cluster.pod(await cluster.run(wantsDevices(resource, 2)), running)
	assert.deepEqual(plugin.calls.Allocate.map((r) => r.container_requests.map((c) => [...c.devices_ids].sort())), [[["b", "c"]]])
	assert.equal(plugin.calls.GetPreferredAllocation[0].container_requests[0].allocation_size, 2)
	assert.deepEqual(plugin.calls.PreStartContainer.map((r) => [...r.devices_ids].sort()), [["b", "c"]])
	assert.deepEqual(healthOf(pod), { main: { [resource]: { b: "Healthy", c: "Healthy" } } })
	plugin.health("c", "Unhealthy", "too hot")
	await cluster.pod(pod, (p) => healthOf(p).main?.[resource].c === "Unhealthy too hot")
	// The plugin goes: nobody knows any more. It comes back, and tells.
	plugin.stop()
	await cluster.pod(pod, (p) => healthOf(p).main?.[resource].c === "Unknown" && healthOf(p).main[resource].b === "Unknown")
	const again = await DevicePlugin.start(root, resource, [{ ID: "a" }, { ID: "b" }, { ID: "c" }])
	await cluster.pod(pod, (p) => healthOf(p).main?.[resource].c === "Healthy")
	await cluster.delete(pod)
	await cluster.gone(pod)
	again.stop()
})

await test("a plugin that fails Allocate fails the pod, and its devices are free again", async () => {
	const resource = newResource()
	const plugin = await DevicePlugin.start(root, resource, [{ ID: "a" }])
	await offers(resource, "1", "1")
	plugin.fail.Allocate = { code: codes.INTERNAL, details: "no power" }
	const pod = await cluster.pod(await cluster.run(wantsDevices(resource)), (p) => p.status.phase === "Failed")
	assert.equal(pod.status.reason, "UnexpectedAdmissionError")
	assert.match(pod.status.message, /no power/)
	delete plugin.fail.Allocate
	await cluster.pod(await cluster.run(wantsDevices(resource)), running)
	plugin.stop()
})

await test("a list may be larger than 4 MiB", async () => {
	const resource = newResource()
	const plugin = await DevicePlugin.start(root, resource, [{ ID: "a" }])
	await offers(resource, "1", "1")
	plugin.sendHuge(6 * 1024 * 1024)
	const count = String(Math.ceil(6 * 1024 * 1024 / 1020))
	await offers(resource, count, count)
	plugin.set([{ ID: "a" }])
	await offers(resource, "1", "1")
	plugin.stop()
})

await test("garbage and a list of 100 MB drop the plugin that sent it, nobody else, and cost no memory", async () => {
	const [good, bad, huge] = [newResource(), newResource(), newResource()]
	const plugin = await DevicePlugin.start(root, good, [{ ID: "a" }])
	const garbage = await DevicePlugin.start(root, bad, [{ ID: "a" }])
	const giant = await DevicePlugin.start(root, huge, [{ ID: "a" }])
	await offers(huge, "1", "1")
	await offers(bad, "1", "1")
	const before = peakMemory(node.process.pid)
	garbage.sendGarbage()
	giant.sendHuge(100 * 1000 * 1000)
	await offers(bad, "1", "0")
	await offers(huge, "1", "0")
	plugin.set([{ ID: "a" }, { ID: "b" }])
	await offers(good, "2", "2")
	assertGrowth(node.process.pid, before, 16)
	// They may come back.
	await garbage.register()
	await offers(bad, "1", "1")
	for (const p of [plugin, garbage, giant])
		p.stop()
})

await test("a plugin that hangs holds up nobody else", async () => {
	const [hung, good] = [newResource(), newResource()]
	const stuck = await DevicePlugin.start(root, hung, [{ ID: "a" }], { register: false })
	stuck.hang.add("GetDevicePluginOptions")
	const late = refused(stuck.register())
	await until("question", () => stuck.count("GetDevicePluginOptions"))
	const plugin = await DevicePlugin.start(root, good, [{ ID: "a" }])
	await offers(good, "1", "1")
	await cluster.pod(await cluster.run(wantsDevices(good)), running)
	assert.match((await late).details, /^failed to get device plugin options: rpc error: code = DeadlineExceeded/)
	stuck.stop()
	plugin.stop()
})

// --- DRA drivers ----------------------------------------------------------------------------------

let drivers = 0
const newDriver = () => `dra${++drivers}.example.com`

// A pod with a claim on one device of the driver, as a scheduler would leave it.
async function runWithClaim(driver, device = "gpu0") {
	const name = unique("claim")
	const pod = await cluster.run(podOn("n1", {
		resourceClaims: [{ name: "c", resourceClaimName: name }],
		main: { resources: { claims: [{ name: "c" }] } },
	}))
	await allocateClaim(cluster.client, name, [{ request: "r", driver, pool: "p", device }], pod)
	return pod
}

const healthOfClaim = (p) => Object.values(healthOf(p).main?.["claim:c"] ?? {})[0]
const isHealth = (text) => (p) => healthOfClaim(p) === text

for (const version of ["v1.DRAPlugin", "v1beta1.DRAPlugin"]) {
	await test(`a driver of ${version} prepares and unprepares`, async () => {
		const driver = await DraDriver.start(root, newDriver(), { services: [version] })
		const pod = await runWithClaim(driver.name)
		await cluster.pod(pod, running)
		assert.equal(driver.count("NodePrepareResources"), 1)
		assert.equal(driver.prepared.size, 1)
		const [claim] = driver.prepared.values()
		assert.deepEqual(claim, { namespace: "default", uid: claim.uid, name: claim.name })
		await cluster.delete(pod)
		await cluster.gone(pod)
		assert.equal(driver.prepared.size, 0)
		driver.stop()
	})
}

for (const dialect of ["v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth", "v1alpha1.NodeHealth"]) {
	for (const advertised of [true, false]) {
		await test(`health in ${dialect}, ${advertised ? "advertised" : "not advertised"}`, async () => {
			const services = ["v1.DRAPlugin", dialect]
			const driver = await DraDriver.start(root, newDriver(), { services, versions: advertised ? services : ["v1.DRAPlugin"] })
			driver.report([{ pool: "p", device: "gpu0", health: "Healthy" }])
			const pod = await runWithClaim(driver.name)
			await cluster.pod(pod, (p) => running(p) && isHealth("Healthy")(p))
			driver.report([{ pool: "p", device: "gpu0", health: "Unhealthy", message: "too hot" }])
			await cluster.pod(pod, isHealth("Unhealthy too hot"))
			driver.report([])
			driver.devices = [{ pool: "p", device: "other", health: "Healthy" }]
			driver.report(driver.devices)
			await cluster.pod(pod, isHealth("Unknown"))
			driver.stop()
		})
	}
}

await test("a driver without health is asked once, and its devices are Unknown", async () => {
	const driver = await DraDriver.start(root, newDriver(), {
		services: ["v1.DRAPlugin", "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"], wait: false,
	})
	driver.fail.NodeWatchResources = codes.UNIMPLEMENTED
	await driver.registered()
	const pod = await runWithClaim(driver.name)
	await cluster.pod(pod, (p) => running(p) && isHealth("Unknown")(p))
	const asked = driver.count("NodeWatchResources")
	assert.ok(asked >= 1 && asked <= 2, `${asked} times`)
	// As long as the first three tries would take.
	await new Promise((resolve) => setTimeout(resolve, 4000))
	assert.equal(driver.count("NodeWatchResources"), asked)
	driver.stop()
})

await test("a stream that breaks is opened again, and nothing is forgotten meanwhile", async () => {
	const driver = await DraDriver.start(root, newDriver())
	driver.report([{ pool: "p", device: "gpu0", health: "Healthy" }])
	const pod = await runWithClaim(driver.name)
	await cluster.pod(pod, isHealth("Healthy"))
	driver.devices = []
	driver.endHealth(codes.INTERNAL)
	await until("stream", () => driver.watched() && driver.count("NodeWatchResources") === 2)
	assert.equal(healthOfClaim(await cluster.pod(pod)), "Healthy")
	driver.report([{ pool: "p", device: "gpu0", health: "Unhealthy" }])
	await cluster.pod(pod, isHealth("Unhealthy"))
	driver.stop()
	await cluster.pod(pod, isHealth("Unknown"))
})

await test("of two instances the newest is watched, and the old one's end changes nothing", async () => {
	const name = newDriver()
	const old = await DraDriver.start(root, name, { instance: "old" })
	old.report([{ pool: "p", device: "gpu0", health: "Healthy" }])
	const pod = await runWithClaim(name)
	await cluster.pod(pod, isHealth("Healthy"))
	const young = await DraDriver.start(root, name, { instance: "new" })
	await until("watch", () => young.watched() && !old.watched())
	young.report([{ pool: "p", device: "gpu0", health: "Unhealthy", message: "seen by the new one" }])
	await cluster.pod(pod, isHealth("Unhealthy seen by the new one"))
	old.stop()
	const other = await runWithClaim(name, "gpu1")
	await cluster.pod(other, running)
	assert.equal(young.count("NodePrepareResources"), 1)
	assert.equal(healthOfClaim(await cluster.pod(pod)), "Unhealthy seen by the new one")
	assert.equal(young.count("NodeWatchResources"), 1)
	young.stop()
	await cluster.pod(pod, isHealth("Unknown"))
})

await test("a driver that comes late, fails or answers for others is asked again", async () => {
	const name = newDriver()
	const pod = await runWithClaim(name)
	const driver = await DraDriver.start(root, name, { wait: false, answers: (claims) => ({ ...claims, nobody: {} }) })
	await driver.registered()
	// Asked again after each answer that cannot be used; the pod waits.
	const again = async () => {
		const before = driver.count("NodePrepareResources")
		await until("question", () => driver.count("NodePrepareResources") > before + 1, 60)
		assert.equal((await cluster.pod(pod)).status.phase, "Pending")
	}
	await again()
	driver.options.answers = () => ({})
	await again()
	driver.options.answers = undefined
	driver.fail.NodePrepareResources = { code: codes.UNAVAILABLE, details: "starting" }
	await again()
	delete driver.fail.NodePrepareResources
	await cluster.pod(pod, running)
	const text = await node.metrics()
	assert.match(text, new RegExp(`driver_name="${name}",method_name="[^"]*",grpc_status_code="Unavailable"`))
	driver.stop()
})

await test("a plugin of an unknown type gets an error", async () => {
	const driver = await DraDriver.start(root, newDriver(), { type: "CSIPlugin", wait: false })
	const told = await until("refusal", () => driver.notified[0])
	assert.equal(told.plugin_registered, false)
	assert.equal(told.error, `RegisterPlugin error -- no handler registered for plugin type: CSIPlugin at socket ${driver.registration.path}`)
	driver.stop()
})

await test("calls are counted as upstream counts them", async () => {
	const text = await node.metrics()
	assert.match(text, /kubelet_device_plugin_registration_total\{resource_name="example.com\/dev1"\} 2/)
	assert.match(text, /kubelet_device_plugin_alloc_duration_seconds_count\{resource_name="example.com\/dev6"\} 1/)
	assert.match(text, /dra_grpc_operations_duration_seconds_count\{driver_name="dra1.example.com",method_name="\/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin\/NodePrepareResources",grpc_status_code="OK"\} 1/)
})

// --- unhealthy devices -----------------------------------------------------------------------------

const policy = (action, more) => ({ "devplane.dev/on-unhealthy-device": action, "devplane.dev/on-unhealthy-device-grace": "100ms", ...more })

// A pod with one device of a plugin of its own, which then breaks.
async function breaks(annotations, spec = {}) {
	const resource = newResource()
	const plugin = await DevicePlugin.start(root, resource, [{ ID: "a" }])
	await offers(resource, "1", "1")
	const pod = await cluster.pod(await cluster.run(podOn("n1", { annotations, main: { resources: { limits: { [resource]: "1" } } }, ...spec })), running)
	plugin.health("a", "Unhealthy", "too hot")
	await cluster.pod(pod, (p) => healthOf(p).main?.[resource]?.a === "Unhealthy too hot" || p.status.containerStatuses[0].restartCount > 0)
	const end = async () => {
		await cluster.client.delete(`${pods}/${pod.metadata.name}`, { gracePeriodSeconds: 0 })
		await cluster.gone(pod)
		plugin.stop()
	}
	return { resource, plugin, pod, end }
}

await test("on-unhealthy-device: fail", async () => {
	const { pod, resource, end } = await breaks(policy("fail"))
	const { status } = await cluster.pod(pod, (p) => p.status.phase === "Failed")
	assert.equal(status.reason, "UnhealthyDevice")
	assert.equal(status.message, `Device a of ${resource} in container main is unhealthy: too hot`)
	assert.equal(healthOf({ status }).main[resource].a, "Unhealthy too hot")
	await cluster.event(pod.metadata.name, "UnhealthyDevice", /too hot/)
	await end()
})

await test("on-unhealthy-device: restart, by the container's restart policy", async () => {
	const { pod, plugin, end } = await breaks(policy("restart"))
	await cluster.pod(pod, (p) => p.status.containerStatuses[0].restartCount > 0)
	await cluster.event(pod.metadata.name, "Killing", /main has an unhealthy device/)
	plugin.health("a", "Healthy", "")
	await cluster.pod(pod, running)
	await end()
	const never = await breaks(policy("restart"), { restartPolicy: "Never" })
	await cluster.pod(never.pod, (p) => p.status.phase === "Failed")
	await never.end()
})

await test("on-unhealthy-device: evict, with the condition DisruptionTarget", async () => {
	const watch = await cluster.client.watch(`${pods}?watch=true`)
	const { pod, end } = await breaks(policy("evict"))
	await cluster.gone(pod)
	assert.ok(watch.events.some(({ object: { metadata, status } }) => metadata.uid === pod.metadata.uid &&
		status.conditions?.some((c) => c.type === "DisruptionTarget" && c.status === "True")))
	watch.close()
	await end()
})

await test("on-unhealthy-device: without it, and with a value that is none, the pod runs on; the latter is told", async () => {
	const plain = await breaks(), wrong = await breaks(policy("explode"))
	await cluster.event(wrong.pod.metadata.name, "InvalidDevicePolicy", /"explode" is not none, fail, restart or evict/)
	for (const { pod, end } of [plain, wrong]) {
		const { status } = await cluster.pod(pod, running)
		assert.equal(status.containerStatuses[0].restartCount, 0)
		await end()
	}
})

await test("--on-unhealthy-device is for pods that say nothing", async () => {
	await node.stop()
	const strict = await cluster.node("n1", { root, flags: ["--on-unhealthy-device", "fail", "--on-unhealthy-device-grace", "100ms"] })
	const own = await breaks(policy("none")), none = await breaks()
	await cluster.pod(none.pod, (p) => p.status.phase === "Failed" && p.status.reason === "UnhealthyDevice")
	await cluster.pod(own.pod, running)
	await own.end()
	await none.end()
	await strict.stop()
	await node.begin()
})

// --- a log of assignments that is lost -----------------------------------------------------------

const idsOf = (pod, resource) => Object.keys(healthOf(pod).main?.[resource] ?? {})

for (const [how, lose] of [["corrupt", (file) => appendFileSync(file, "garbage")], ["missing", (file) => rmSync(file)]]) {
	await test(`a ${how} log of assignments: pods keep the devices that their status names, and others do not get them`, async () => {
		const resource = newResource()
		const devices = ["a", "b", "c"].map((ID) => ({ ID }))
		let plugin = await DevicePlugin.start(root, resource, devices, { preferred: true, prefer: (ids, size) => ids.slice(-size) })
		await offers(resource, "3", "3")
		const first = await cluster.pod(await cluster.run(wantsDevices(resource, 2)), (p) => running(p) && idsOf(p, resource).length === 2)
		assert.deepEqual(idsOf(first, resource), ["b", "c"])
		await node.kill()
		plugin.stop()
		lose(`${root}/devplane_assign_state`)
		const second = await cluster.run(wantsDevices(resource))
		const third = await cluster.run(wantsDevices(resource))
		await node.begin()
		// Without the wish of before: nothing but the status leads to these devices.
		plugin = await DevicePlugin.start(root, resource, devices)
		await until("Allocate again", () => plugin.calls.Allocate?.some(({ container_requests: [r] }) => r.devices_ids.join() === "b,c"))
		await cluster.event(first.metadata.name, "DeviceAssignmentLost", new RegExp(`${resource}: b, c`))
		const now = await cluster.pod(first, (p) => running(p) && idsOf(p, resource).length === 2)
		assert.deepEqual(idsOf(now, resource), ["b", "c"])
		// The new ones came before the plugin was back: they run without, or have what is free.
		const got = await Promise.all([second, third].map((p) => cluster.pod(p, ({ status }) => ["Running", "Failed"].includes(status.phase))))
		for (const pod of got)
			assert.ok(idsOf(pod, resource).every((id) => id === "a"), JSON.stringify(healthOf(pod)))
		const fourth = await cluster.run(wantsDevices(resource, 2))
		await cluster.pod(fourth, (p) => p.status.phase === "Failed" && /unavailable for|may be in use/.test(p.status.message))
		for (const pod of [first, second, third, fourth]) {
			await cluster.delete(pod, 0)
			await cluster.gone(pod)
		}
		plugin.stop()
	})
}

await node.stop()
finish()
