// devplane node --attach beside devplane's own agent, which stands for a kubelet that reports as much as it can.
import assert from "node:assert/strict"
import { finish, test, until } from "./lib.mjs"
import { allocateClaim, podOn, startCluster } from "./node_lib.mjs"
import { DraDriver } from "./plugin_lib.mjs"
import { client } from "./podres_lib.mjs"

const driverName = "gpu.example.com"
const cluster = await startCluster({ names: ["n1"] })
const agent = await cluster.node("n1")
const driver = await DraDriver.start(agent.root, driverName)
const report = (health, message) => driver.report(["gpu0", "gpu1"].map((device, i) => ({ pool: "p", device, health: i ? "Healthy" : health, message: i ? "" : message, timeout: 3600 })))
report("Healthy")

const pod = await cluster.run(podOn("n1", { resourceClaims: [{ name: "gpu", resourceClaimName: "c" }], main: { resources: { claims: [{ name: "gpu" }] } } }))
await allocateClaim(cluster.client, "c", [{ request: "r", driver: driverName, pool: "p", device: "gpu0" }], pod)
await cluster.pod(pod, (p) => p.status.phase === "Running")

const attached = await cluster.node("n1", { root: agent.root, hollow: false, wait: false, flags: ["--attach", "--attach-interval", "500ms"] })
await until("readiness", async () => (await fetch(`${attached.url}/readyz`)).status === 200)
const api = client(`${agent.root}/pod-resources/devplane.sock`)
const health = async () => (await api.list()).pod_resources[0]?.containers[0].dynamic_resources[0]?.claim_resources[0].health
const offers = async () => (await api.allocatable()).claim_resources.map((r) => r.device_name).join()

await test("both report a device that breaks, with the same text", async () => {
	await until("health", async () => await health() === "HEALTHY")
	await until("both devices", async () => await offers() === "gpu0,gpu1")
	report("Unhealthy", "Xid 48")
	await until("health", async () => await health() === "UNHEALTHY")
	await until("the other device", async () => await offers() === "gpu1")
	const events = await until("two events", async () => {
		const all = (await cluster.events(pod.metadata.name)).filter((e) => e.reason === "DeviceUnhealthy")
		return all.length === 2 && all
	})
	assert.deepEqual(events.map((e) => e.source.component).sort(), ["devplane-attach", "kubelet"])
	assert.equal(events[0].message, events[1].message)
})

await test("the driver is registered once", () => {
	assert.deepEqual(driver.notified.map((n) => n.plugin_registered), [true])
	assert.equal(driver.watchers.get("v1.DRAResourceHealth").size, 2)
})

api.close()
await attached.stop()
await agent.stop()
driver.stop()
await cluster.stop()
finish()
