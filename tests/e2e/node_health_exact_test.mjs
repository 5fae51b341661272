// Device health in Pod status where it used to be wrong: long messages of device plugins, an agent that is killed while
// reports come in, the gate switched off, two instances of one device plugin, the counter of changes, and drivers' time stamps. And
// the annotation of the Node, which has the health of devices that nobody holds.
import assert from "node:assert/strict"
import { existsSync, readFileSync } from "node:fs"
import { unique } from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { allocateClaim, healthOf, podOn, pods, startCluster } from "./node_lib.mjs"
import { DevicePlugin, DraDriver } from "./plugin_lib.mjs"

const cluster = await startCluster()
const { server } = cluster
const node = await cluster.node("n1")
const driverName = "gpu.example.com"
const id = (device) => `${driverName}/p/${device}`

const results = new Map()
const prepare = ({ name }) => ({
	devices: results.get(name).map((r) => ({ request_names: [r.request], pool_name: r.pool, device_name: r.device, cdi_device_ids: [`example.com/gpu=${r.device}`] })),
})
const driver = await DraDriver.start(node.root, driverName, { prepare })

async function podWithClaim(devices) {
	const name = unique("claim")
	results.set(name, devices.map((device) => ({ request: "r", driver: driverName, pool: "p", device })))
	const pod = await cluster.run(podOn("n1", {
		resourceClaims: [{ name: "gpu", resourceClaimName: name }],
		main: { resources: { claims: [{ name: "gpu" }] } },
	}))
	await allocateClaim(server.client, name, results.get(name), pod)
	return pod
}

const shows = (pod, wanted) => cluster.pod(pod, (p) => JSON.stringify(healthOf(p)) === JSON.stringify(wanted))
const condition = (pod) => pod.status.conditions.find((c) => c.type === "devplane.dev/DevicesHealthy")
const annotation = (n) => n.metadata.annotations?.["devplane.dev/device-health"]
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function end(...all) {
	for (const pod of all)
		await cluster.delete(pod, 0)
	for (const pod of all)
		await cluster.gone(pod)
}

await test("a device plugin's long message with control characters is cleaned and cut, and the status is written", async () => {
	const resource = "example.com/fpga"
	const plugin = await DevicePlugin.start(node.root, resource, [{ ID: "f0" }])
	await cluster.readNodeWhen("n1", (n) => n.status.allocatable[resource] === "1")
	const pod = await cluster.run(podOn("n1", { main: { resources: { limits: { [resource]: "1" } } } }))
	await shows(pod, { main: { [resource]: { f0: "Healthy" } } })
	plugin.set([{ ID: "f0", health: "Unhealthy", message: `\x1bhot\n${"\u20ac".repeat(1000)}` }])
	await shows(pod, { main: { [resource]: { f0: `Unhealthy hot ${"\u20ac".repeat(339)}...` } } })
	await cluster.event(pod.metadata.name, "DeviceUnhealthy", /f0 of example\.com\/fpga: Healthy -> Unhealthy: hot /)
	assert.match(await node.metrics(), /devplane_node_pod_status_problems_total 0/)
	await end(pod)
	plugin.stop()
})

await test("an agent that is killed under steady reports comes back with the same health", async () => {
	const report = () => driver.report([
		{ pool: "p", device: "gpu0", health: "Healthy", timeout: 10 },
		{ pool: "p", device: "gpu1", health: "Unhealthy", message: "Xid 79", timeout: 10 },
	])
	report()
	const pod = await podWithClaim(["gpu0", "gpu1"])
	const wanted = { main: { "claim:gpu": { [id("gpu0")]: "Healthy", [id("gpu1")]: "Unhealthy Xid 79" } } }
	await shows(pod, wanted)
	const saved = `${node.root}/devplane_health_state`
	await until("state on the disk", () => existsSync(saved) && readFileSync(saved, "utf8").includes("Xid 79"))
	const { body: { metadata: { resourceVersion } } } = await server.client.get(pods)
	const watch = await server.client.watch(`${pods}?watch=true&resourceVersion=${resourceVersion}`)
	// Longer than the time-out, so that what was saved at the last change would have expired.
	for (let i = 0; i < 55; i++) {
		report()
		await sleep(200)
	}
	await node.kill()
	driver.notified.length = 0
	// The driver does not answer at first: what is shown then is what the agent remembers.
	driver.fail.NodeWatchResources = 14
	await node.begin()
	await driver.registered()
	delete driver.fail.NodeWatchResources
	await until("watched again", () => driver.watched())
	report()
	await shows(pod, wanted)
	await sleep(500)
	const seen = watch.events.filter(({ object }) => object.metadata.name === pod.metadata.name).map(({ object }) => healthOf(object))
	for (const health of seen)
		assert.deepEqual(health, wanted)
	watch.close()
	assert.doesNotMatch(await cluster.eventsText(pod.metadata.name), /DeviceHealthUnknown/)
	await end(pod)
})

await test("with the gate off in the agent the condition goes, as the fields do", async () => {
	driver.report([{ pool: "p", device: "gpu0", health: "Unhealthy", message: "gated", timeout: 3600 }])
	const pod = await podWithClaim(["gpu0"])
	await cluster.pod(pod, (p) => condition(p)?.status === "False")
	await cluster.readNodeWhen("n1", (n) => annotation(n) !== undefined)
	await node.stop()
	const off = await cluster.node("n1", { root: node.root, flags: ["--feature-gates", "ResourceHealthStatus=false"] })
	await cluster.pod(pod, (p) => !condition(p) && JSON.stringify(healthOf(p)) === "{}")
	await cluster.readNodeWhen("n1", (n) => annotation(n) === undefined)
	await off.stop()
	driver.notified.length = 0
	await node.begin()
	await driver.registered()
	await cluster.pod(pod, (p) => condition(p)?.status === "False")
	await end(pod)
})

await test("of two instances of a device plugin the newest counts, and the older one when it has gone", async () => {
	const resource = "example.com/two"
	const old = await DevicePlugin.start(node.root, resource, [{ ID: "d0" }])
	await cluster.readNodeWhen("n1", (n) => n.status.allocatable[resource] === "1")
	const pod = await cluster.run(podOn("n1", { main: { resources: { limits: { [resource]: "1" } } } }))
	await shows(pod, { main: { [resource]: { d0: "Healthy" } } })
	const young = await DevicePlugin.start(node.root, resource, [{ ID: "d0", health: "Unhealthy", message: "by the new one" }, { ID: "d1" }])
	await shows(pod, { main: { [resource]: { d0: "Unhealthy by the new one" } } })
	old.set([{ ID: "d0" }])
	young.set([{ ID: "d0", health: "Unhealthy", message: "again" }, { ID: "d1" }])
	await shows(pod, { main: { [resource]: { d0: "Unhealthy again" } } })
	old.set([{ ID: "d0", health: "Unhealthy", message: "by the old one" }])
	await sleep(300)
	assert.deepEqual(healthOf(await cluster.pod(pod)), { main: { [resource]: { d0: "Unhealthy again" } } })
	young.stop()
	await shows(pod, { main: { [resource]: { d0: "Unhealthy by the old one" } } })
	await cluster.readNodeWhen("n1", (n) => n.status.capacity[resource] === "1" && n.status.allocatable[resource] === "0")
	assert.doesNotMatch(await cluster.eventsText(pod.metadata.name), /DeviceHealthUnknown/)
	old.stop()
	await shows(pod, { main: { [resource]: { d0: "Unknown" } } })
	await end(pod)
})

await test("changes of device plugins are counted as those of drivers are, each once", async () => {
	const resource = "example.com/counted"
	const changes = async () => Number(/^devplane_node_device_health_changes_total (\d+)/m.exec(await node.metrics())[1])
	const plugin = await DevicePlugin.start(node.root, resource, [{ ID: "d0" }, { ID: "d1" }])
	await cluster.readNodeWhen("n1", (n) => n.status.allocatable[resource] === "2")
	const pod = await cluster.run(podOn("n1", { main: { resources: { limits: { [resource]: "1" } } } }))
	await cluster.pod(pod, (p) => healthOf(p).main?.[resource])
	const before = await changes()
	plugin.set([{ ID: "d0", health: "Unhealthy", message: "hot" }, { ID: "d1", health: "Unhealthy" }])
	await cluster.readNodeWhen("n1", (n) => n.status.allocatable[resource] === "0")
	assert.equal(await changes(), before + 2)
	plugin.set([{ ID: "d0", health: "Unhealthy", message: "hot" }, { ID: "d1" }])
	await cluster.readNodeWhen("n1", (n) => n.status.allocatable[resource] === "1")
	assert.equal(await changes(), before + 3)
	await end(pod)
	plugin.stop()
})

await test("an event says when the driver determined the health, if that was long ago", async () => {
	const now = Math.floor(Date.now() / 1000)
	const at = (device, health, updated, message) => ({ pool: "p", device, health, updated, message, timeout: 3600 })
	driver.report([at("gpu0", "Healthy", now), at("gpu1", "Healthy", now)])
	const pod = await podWithClaim(["gpu0", "gpu1"])
	await cluster.pod(pod, (p) => condition(p)?.status === "True")
	driver.report([at("gpu0", "Unhealthy", 1700000000, "old news"), at("gpu1", "Unhealthy", now, "fresh")])
	await cluster.event(pod.metadata.name, "DeviceUnhealthy", /p\/gpu0 of claim:gpu: Healthy -> Unhealthy, determined 2023-11-14T22:13:20Z: old news$/)
	await cluster.event(pod.metadata.name, "DeviceUnhealthy", /p\/gpu1 of claim:gpu: Healthy -> Unhealthy: fresh$/)
	await end(pod)
})

await test("the node names its healthy devices, and reports that repeat themselves write nothing", async () => {
	const report = (...broken) => driver.report(["gpu0", "gpu1", "gpu2"].map((device) => ({ pool: "p", device, timeout: 3600,
		...broken.includes(device) ? { health: "Unhealthy", message: "Xid 79" } : { health: "Healthy", message: `fine at ${Date.now()}` } })))
	const says = (n, broken, healthy) => {
		const all = JSON.parse(annotation(n) ?? "[]")
		return JSON.stringify(all.map(({ since, ...rest }) => rest)) === JSON.stringify([...broken.map((device) => ({ id: id(device), health: "Unhealthy", message: "Xid 79" })),
			{ driver: driverName, pool: "p", health: "Healthy", devices: healthy }])
	}
	report("gpu1")
	const { metadata: { resourceVersion } } = await cluster.readNodeWhen("n1", (n) => says(n, ["gpu1"], ["gpu0", "gpu2"]))
	const watch = await server.client.watch(`/api/v1/nodes?watch=true&resourceVersion=${resourceVersion}`)
	// Longer than the agent waits between writes.
	for (let i = 0; i < 15; i++) {
		report("gpu1")
		await sleep(200)
	}
	report()
	await until("a node whose devices are healthy", () => watch.events.some(({ object }) => says(object, [], ["gpu0", "gpu1", "gpu2"])))
	const beats = ({ object }) => object.status.conditions.map((c) => c.lastHeartbeatTime).join()
	const writes = watch.events.filter((e, i) => i === 0 || beats(e) === beats(watch.events[i - 1]))
	assert.deepEqual(writes.map(({ object }) => annotation(object)).filter((text, i, all) => text === all[i - 1]), [])
	assert.ok(says(watch.events[0].object, [], ["gpu0", "gpu1", "gpu2"]), annotation(watch.events[0].object))
	watch.close()
})

finish()
