// Device health in Pod status, end to end (KEP-4680's list and what the issue trackers say about it): a server, hollow nodes,
// device plugins and DRA drivers on @grpc/grpc-js, and kubectl to look at it as people do.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { appendFileSync, existsSync, readFileSync, readdirSync, truncateSync } from "node:fs"
import { unique } from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { allocateClaim, healthOf, podOn, pods, startCluster } from "./node_lib.mjs"
import { DevicePlugin, DraDriver } from "./plugin_lib.mjs"

const cluster = await startCluster()
const { server } = cluster
const node = await cluster.node("n1")
const driverName = "gpu.example.com"

// The driver answers with the devices that were allocated, as drivers do.
const results = new Map()
const prepare = ({ name }) => ({
	devices: results.get(name).map((r) => ({ request_names: [r.request], pool_name: r.pool, device_name: r.device, cdi_device_ids: [`example.com/gpu=${r.device}`] })),
})
let driver = await DraDriver.start(node.root, driverName, { prepare })

const healthy = (...devices) => devices.map((device) => ({ pool: "p", device, health: "Healthy" }))
const broken = (device, message, more) => ({ pool: "p", device, health: "Unhealthy", message, ...more })
const id = (device) => `${driverName}/p/${device}`

// A pod with a claim of these devices (request r each); `claims` of the container's resources.
async function podWithClaim(devices, { claims = [{ name: "gpu" }], node: on = "n1", ...spec } = {}) {
	const name = unique("claim")
	results.set(name, devices.map((device) => ({ request: "r", driver: driverName, pool: "p", device })))
	const pod = await cluster.run(podOn(on, {
		...spec,
		resourceClaims: [{ name: "gpu", resourceClaimName: name }],
		main: { resources: { claims }, ...spec.main },
	}))
	await allocateClaim(server.client, name, results.get(name), pod)
	return pod
}

const shows = (pod, wanted, seconds) => cluster.pod(pod, (p) => JSON.stringify(healthOf(p)) === JSON.stringify(wanted), seconds)
const main = (state) => (p) => p.status.containerStatuses?.find((c) => c.name === "main")?.state[state]
const condition = (pod) => pod.status.conditions.find((c) => c.type === "devplane.dev/DevicesHealthy")

async function end(...all) {
	for (const pod of all)
		await cluster.delete(pod, 0)
	for (const pod of all)
		await cluster.gone(pod)
}

await test("a device that a DRA driver reports unhealthy shows in the pod, and again when it has recovered", async () => {
	driver.report(healthy("gpu0", "gpu1"))
	const pod = await podWithClaim(["gpu0", "gpu1"])
	let now = await shows(pod, { main: { "claim:gpu": { [id("gpu0")]: "Healthy", [id("gpu1")]: "Healthy" } } })
	assert.equal(condition(now).status, "True")
	driver.report([broken("gpu0", "Xid 79"), ...healthy("gpu1")])
	now = await shows(pod, { main: { "claim:gpu": { [id("gpu0")]: "Unhealthy Xid 79", [id("gpu1")]: "Healthy" } } })
	assert.equal(condition(now).status, "False")
	assert.equal(condition(now).reason, "DeviceUnhealthy")
	assert.match(condition(now).message, /gpu0/)
	await cluster.event(pod.metadata.name, "DeviceUnhealthy", new RegExp(`${id("gpu0")}.*claim:gpu.*Healthy -> Unhealthy.*Xid 79`))
	driver.report(healthy("gpu0", "gpu1"))
	now = await shows(pod, { main: { "claim:gpu": { [id("gpu0")]: "Healthy", [id("gpu1")]: "Healthy" } } })
	assert.equal(condition(now).status, "True")
	await cluster.event(pod.metadata.name, "DeviceHealthy", /Unhealthy -> Healthy/)
	await end(pod)
	await until("an unprepared claim", () => driver.prepared.size === 0)
})

await test("kubectl describe pod tells the story", async () => {
	driver.report(healthy("gpu0"))
	const pod = await podWithClaim(["gpu0"])
	await shows(pod, { main: { "claim:gpu": { [id("gpu0")]: "Healthy" } } })
	driver.report([broken("gpu0", "fallen off the bus")])
	await cluster.event(pod.metadata.name, "DeviceUnhealthy")
	const text = execFileSync("kubectl", ["--kubeconfig", server.kubeconfig, "describe", "pod", pod.metadata.name], { encoding: "utf8" })
	assert.match(text, /Warning +DeviceUnhealthy .*Device gpu\.example\.com\/p\/gpu0 of claim:gpu: Healthy -> Unhealthy: fallen off the bus/)
	assert.match(text, /devplane\.dev\/DevicesHealthy +False/)
	await end(pod)
})

await test("rapid changes end in the latest state, with few events", async () => {
	driver.report(healthy("gpu0"))
	const pod = await podWithClaim(["gpu0"])
	await shows(pod, { main: { "claim:gpu": { [id("gpu0")]: "Healthy" } } })
	for (let i = 0; i < 500; i++)
		driver.report(i % 2 ? healthy("gpu0") : [broken("gpu0", `flap ${i}`)])
	driver.report([broken("gpu0", "the last")])
	await shows(pod, { main: { "claim:gpu": { [id("gpu0")]: "Unhealthy the last" } } })
	const told = (await cluster.events(pod.metadata.name)).filter((e) => /^Device/.test(e.reason)).reduce((n, e) => n + e.count, 0)
	assert.ok(told <= 3, `${told} events`)
	await end(pod)
})

await test("a pod that failed before its device was found broken still gets to show it", async () => {
	driver.report(healthy("gpu0"))
	const pod = await podWithClaim(["gpu0"], { restartPolicy: "Never", annotations: { "devplane.dev/hollow-exit.main": "1" } })
	await cluster.pod(pod, (p) => p.status.phase === "Failed")
	await until("an unprepared claim", () => driver.prepared.size === 0)
	driver.report([broken("gpu0", "too late")])
	await shows(pod, { main: { "claim:gpu": { [id("gpu0")]: "Unhealthy too late" } } })
	await node.kill()
	await node.begin()
	await driver.registered()
	driver.report([broken("gpu0", "after a restart")])
	const other = await podWithClaim(["gpu0"])
	await shows(other, { main: { "claim:gpu": { [id("gpu0")]: "Unhealthy after a restart" } } })
	await shows(pod, { main: { "claim:gpu": { [id("gpu0")]: "Unhealthy too late" } } })
	assert.equal((await cluster.pod(pod)).status.phase, "Failed")
	await end(pod, other)
})

await test("a pod in a crash loop shows its unhealthy device", async () => {
	driver.report([broken("gpu0", "no memory")])
	const pod = await podWithClaim(["gpu0"], { annotations: { "devplane.dev/hollow-exit.main": "1" } })
	const now = await cluster.pod(pod, (p) => main("waiting")(p)?.reason === "CrashLoopBackOff")
	assert.deepEqual(healthOf(now), { main: { "claim:gpu": { [id("gpu0")]: "Unhealthy no memory" } } })
	await end(pod)
})

await test("requests, several containers, init containers, and claims that no container names", async () => {
	driver.report(healthy("gpu0", "gpu1", "gpu2"))
	const one = unique("claim"), two = unique("claim")
	results.set(one, [{ request: "a", driver: driverName, pool: "p", device: "gpu0" }, { request: "b", driver: driverName, pool: "p", device: "gpu1" }])
	results.set(two, [{ request: "a", driver: driverName, pool: "p", device: "gpu2" }])
	const pod = await cluster.run(podOn("n1", {
		annotations: { "devplane.dev/hollow-exit.init": "0" },
		resourceClaims: [{ name: "x", resourceClaimName: one }, { name: "y", resourceClaimName: two }],
		initContainers: [{ name: "init", image: "i", resources: { claims: [{ name: "x", request: "b" }] } }],
		containers: [{ name: "main", image: "i", resources: { claims: [{ name: "x", request: "a" }] } }, { name: "none", image: "i" }],
	}))
	await allocateClaim(server.client, one, results.get(one), pod)
	await allocateClaim(server.client, two, results.get(two), pod)
	await shows(pod, {
		init: { "claim:x/b": { [id("gpu1")]: "Healthy" } },
		main: { "claim:x/a": { [id("gpu0")]: "Healthy" } },
		pod: { "claim:y": { [id("gpu2")]: "Healthy" } },
	})
	driver.report([...healthy("gpu0"), broken("gpu1", "x".repeat(2000)), broken("gpu2", "x".repeat(2000))])
	const now = await cluster.pod(pod, (p) => /^Unhealthy/.test(healthOf(p).pod?.["claim:y"][id("gpu2")]))
	assert.equal(healthOf(now).pod["claim:y"][id("gpu2")], `Unhealthy ${"x".repeat(1021)}...`)
	assert.match(healthOf(now).init["claim:x/b"][id("gpu1")], /^Unhealthy xxx/)
	await end(pod)
})

await test("a device that falls silent is Unknown when its own time is over, one that is not reported at once", async () => {
	const timed = (device, timeout) => ({ pool: "p", device, health: "Healthy", timeout })
	driver.report([timed("gpu0", 1), timed("gpu1", 3600), timed("gpu2", 3600)])
	const pod = await podWithClaim(["gpu0", "gpu1", "gpu2"])
	await shows(pod, { main: { "claim:gpu": { [id("gpu0")]: "Unknown", [id("gpu1")]: "Healthy", [id("gpu2")]: "Healthy" } } })
	driver.report([timed("gpu0", 3600), timed("gpu1", 3600)])
	await shows(pod, { main: { "claim:gpu": { [id("gpu0")]: "Healthy", [id("gpu1")]: "Healthy", [id("gpu2")]: "Unknown" } } })
	assert.equal(condition(await cluster.pod(pod, (p) => condition(p).status === "Unknown")).reason, "DeviceHealthUnknown")
	await end(pod)
})

await test("a driver that goes leaves its devices Unknown, and tells them again when it is back", async () => {
	driver.report(healthy("gpu0"))
	const pod = await podWithClaim(["gpu0"])
	await shows(pod, { main: { "claim:gpu": { [id("gpu0")]: "Healthy" } } })
	driver.stop()
	await shows(pod, { main: { "claim:gpu": { [id("gpu0")]: "Unknown" } } })
	driver = await DraDriver.start(node.root, driverName, { prepare })
	driver.report([broken("gpu0", "back")])
	await shows(pod, { main: { "claim:gpu": { [id("gpu0")]: "Unhealthy back" } } })
	await end(pod)
})

await test("a device plugin's devices: Healthy, Unhealthy with a message, Unknown when it has gone", async () => {
	const resource = "example.com/fpga"
	let plugin = await DevicePlugin.start(node.root, resource, [{ ID: "f0" }, { ID: "f1" }])
	await cluster.readNodeWhen("n1", (n) => n.status.allocatable[resource] === "2")
	const pod = await cluster.run(podOn("n1", { main: { resources: { limits: { [resource]: "2" } } } }))
	await shows(pod, { main: { [resource]: { f0: "Healthy", f1: "Healthy" } } })
	plugin.set([{ ID: "f0", health: "Unhealthy", message: "too hot" }, { ID: "f1" }])
	await shows(pod, { main: { [resource]: { f0: "Unhealthy too hot", f1: "Healthy" } } })
	await cluster.readNodeWhen("n1", (n) => n.status.allocatable[resource] === "1" && n.status.capacity[resource] === "2")
	await cluster.event(pod.metadata.name, "DeviceUnhealthy", /f0 of example\.com\/fpga: Healthy -> Unhealthy: too hot/)
	plugin.set([{ ID: "f0" }])
	await shows(pod, { main: { [resource]: { f0: "Healthy", f1: "Unknown" } } })
	await plugin.stop()
	await shows(pod, { main: { [resource]: { f0: "Unknown", f1: "Unknown" } } })
	await cluster.readNodeWhen("n1", (n) => n.status.allocatable[resource] === "0")
	plugin = await DevicePlugin.start(node.root, resource, [{ ID: "f0" }, { ID: "f1" }])
	await shows(pod, { main: { [resource]: { f0: "Healthy", f1: "Healthy" } } })
	await end(pod)
	await plugin.stop()
})

await test("health is remembered by an agent that was killed, and a broken state file is set aside", async () => {
	driver.report([{ ...broken("gpu0", "remember"), timeout: 3600 }])
	const pod = await podWithClaim(["gpu0"])
	await shows(pod, { main: { "claim:gpu": { [id("gpu0")]: "Unhealthy remember" } } })
	const saved = `${node.root}/devplane_health_state`
	await until("state on the disk", () => existsSync(saved) && readFileSync(saved, "utf8").includes("remember"))
	await node.kill()
	driver.stop({ unregister: true })
	await node.begin()
	await new Promise((resolve) => setTimeout(resolve, 300))
	assert.deepEqual(healthOf(await cluster.pod(pod)), { main: { "claim:gpu": { [id("gpu0")]: "Unhealthy remember" } } })
	await node.kill()
	const state = `${node.root}/devplane_health_state`
	truncateSync(state, readFileSync(state).length - 3)
	appendFileSync(`${node.root}/devplane_assign_state`, "garbage")
	await node.begin()
	await until("the log has it", () => /has been moved away/.test(node.process.err))
	assert.ok(readdirSync(node.root).some((f) => /devplane_health_state\.broken/.test(f)))
	driver = await DraDriver.start(node.root, driverName, { prepare })
	driver.report([broken("gpu0", "anew")])
	await shows(pod, { main: { "claim:gpu": { [id("gpu0")]: "Unhealthy anew" } } })
	await end(pod)
})

await test("a failed pod keeps the health that its device had when it died, whatever the device does later", async () => {
	driver.report(healthy("gpu0"))
	const pod = await podWithClaim(["gpu0"], { restartPolicy: "Never", annotations: { "devplane.dev/hollow-exit.main": "1 after 3s" } })
	await shows(pod, { main: { "claim:gpu": { [id("gpu0")]: "Healthy" } } })
	const wanted = { main: { "claim:gpu": { [id("gpu0")]: "Unhealthy Xid 79" } } }
	driver.report([broken("gpu0", "Xid 79")])
	await shows(pod, wanted)
	// The driver resets the device as soon as it gets it back, which is before the pod is Failed.
	driver.options.unprepare = () => void driver.report(healthy("gpu0"))
	const watch = await server.client.watch(`${pods}?watch=true&fieldSelector=metadata.name%3D${pod.metadata.name}`)
	const failed = await cluster.pod(pod, (p) => p.status.phase === "Failed")
	delete driver.options.unprepare
	assert.deepEqual(healthOf(failed), wanted)
	assert.equal(condition(failed).status, "False")
	// Reports of other devices make the agent look at the pod again, and so does a restart.
	driver.report(healthy("gpu0", "gpu1"))
	driver.report([])
	await node.kill()
	await node.begin()
	await driver.registered()
	driver.report([broken("gpu0", "another fault")])
	const next = await podWithClaim(["gpu0"])
	await shows(next, { main: { "claim:gpu": { [id("gpu0")]: "Unhealthy another fault" } } })
	driver.report(healthy("gpu0"))
	await shows(next, { main: { "claim:gpu": { [id("gpu0")]: "Healthy" } } })
	for (const { object } of watch.events.filter((e) => e.object.status.phase === "Failed")) {
		assert.deepEqual(healthOf(object), wanted)
		assert.match(condition(object).message, /gpu0: Xid 79/)
	}
	watch.close()
	await end(pod, next)
})

await test("a Job's podFailurePolicy on the condition: nothing while the pod runs, and the Job fails with the pod", async () => {
	const jobs = "/apis/batch/v1/namespaces/default/jobs"
	const controller = await cluster.controller("job-controller")
	driver.report(healthy("gpu0"))
	const name = unique("claim")
	results.set(name, [{ request: "r", driver: driverName, pool: "p", device: "gpu0" }])
	const made = await server.client.post(jobs, {
		metadata: { name: unique("job") },
		spec: {
			backoffLimit: 6,
			podFailurePolicy: { rules: [{ action: "FailJob", onPodConditions: [{ type: "devplane.dev/DevicesHealthy", status: "False" }] }] },
			template: {
				metadata: { annotations: { "devplane.dev/hollow-exit.main": "1 after 3s" } },
				spec: {
					nodeName: "n1",
					restartPolicy: "Never",
					automountServiceAccountToken: false,
					resourceClaims: [{ name: "gpu", resourceClaimName: name }],
					containers: [{ name: "main", image: "busybox", resources: { claims: [{ name: "gpu" }] } }],
				},
			},
		},
	})
	assert.equal(made.code, 201, made.text)
	const job = made.body
	const now = async () => (await server.client.get(`${jobs}/${job.metadata.name}`)).body
	const failed = ({ status }) => status.conditions?.find((c) => c.type === "Failed" && c.status === "True")
	const [pod] = await until("pod of the Job", async () => {
		const { items } = (await server.client.get(`${pods}?labelSelector=job-name%3D${job.metadata.name}`)).body
		return items.length > 0 && items
	}, 60)
	await allocateClaim(server.client, name, results.get(name), pod)
	await shows(pod, { main: { "claim:gpu": { [id("gpu0")]: "Healthy" } } })
	driver.report([broken("gpu0")])
	const ill = await shows(pod, { main: { "claim:gpu": { [id("gpu0")]: "Unhealthy" } } })
	assert.equal(ill.status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].message, undefined)
	if (ill.status.phase === "Running")
		assert.equal(failed(await now()), undefined)
	driver.options.unprepare = () => void driver.report(healthy("gpu0"))
	const dead = await cluster.pod(pod, (p) => p.status.phase === "Failed")
	delete driver.options.unprepare
	const why = await until("end of the Job", async () => failed(await now()), 60)
	assert.equal(why.reason, "PodFailurePolicy")
	assert.match(why.message, new RegExp(`^Pod default/${dead.metadata.name} has condition devplane.dev/DevicesHealthy matching FailJob rule at index 0$`))
	assert.match(await node.metrics(), /devplane_node_pod_status_problems_total 0/)
	await end(pod)
	await server.client.delete(`${jobs}/${job.metadata.name}`, { propagationPolicy: "Background" })
	await controller.stop()
})

await test("the gate off in the agent: nothing is reported; off in the server: nothing is stored or served; on again: all is back", async () => {
	driver.report([broken("gpu0", "gated")])
	const pod = await podWithClaim(["gpu0"])
	const wanted = { main: { "claim:gpu": { [id("gpu0")]: "Unhealthy gated" } } }
	await shows(pod, wanted)
	await server.stop()
	cluster.serverFlags.push("--feature-gates", "ResourceHealthStatus=false")
	await server.begin()
	const field = (text) => /allocatedResourcesStatus/.test(text)
	assert.ok(!field((await server.client.get(`${pods}/${pod.metadata.name}`)).text), "get")
	assert.ok(!field((await server.client.get(pods)).text), "list")
	const watch = await server.client.watch(`${pods}?watch=true&resourceVersion=0`)
	assert.ok(!field(JSON.stringify(await watch.have(1))), "watch")
	watch.close()
	await server.stop()
	cluster.serverFlags.splice(-2)
	await server.begin()
	await until("health again", async () => JSON.stringify(healthOf((await server.client.get(`${pods}/${pod.metadata.name}`)).body)) === JSON.stringify(wanted), 60)
	await node.stop()
	const off = await cluster.node("n1", { root: node.root, flags: ["--feature-gates", "ResourceHealthStatus=false"] })
	await until("no health", async () => !field((await server.client.get(`${pods}/${pod.metadata.name}`)).text), 60)
	assert.ok(!driver.watched())
	await off.stop()
	await node.begin()
	await until("health once more", async () => JSON.stringify(healthOf((await server.client.get(`${pods}/${pod.metadata.name}`)).body)) === JSON.stringify(wanted), 60)
})

finish()
