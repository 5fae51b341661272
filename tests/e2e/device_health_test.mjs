// Health of devices in the status of slices: reported by pods that hold them, and by nodes for those that nobody holds.
import assert from "node:assert/strict"
import { core, dra } from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { Cluster, run } from "./up_lib.mjs"

const c = await new Cluster().begin("--demo")

async function slice(driver, node) {
	const { body } = await c.client.get(`${dra}/resourceslices?fieldSelector=spec.driver=${driver}`)
	return body.items.find((s) => s.spec.nodeName === node)
}
const gpu = async (name, node = "demo-0") => (await slice("gpu.sim.devplane.dev", node))?.status?.devices?.find((d) => d.name === name)
const sim = (verb, device, ...args) => run("driver", "sim", verb, device, "--root-dir", `${c.folder}/nodes/demo-0`, "--name", "gpu.sim.devplane.dev", ...args)
const annotation = async (node) => (await c.client.get(`${core}/nodes/${node}`)).body.metadata.annotations?.["devplane.dev/device-health"]

async function fail(device, message) {
	const { code, err } = await sim("fail", device, "--message", message)
	assert.equal(code, 0, err)
}

const healthy = (pool) => ({ driver: "gpu.sim.devplane.dev", pool, health: "Healthy", devices: ["gpu-0", "gpu-1", "gpu-2", "gpu-3"] })

await test("devices that nobody holds are healthy if their driver says so", async () => {
	for (const node of ["demo-0", "demo-1"]) {
		for (const name of healthy(node).devices)
			await until(`${name} is healthy`, async () => (await gpu(name, node))?.health === "Healthy")
		assert.deepEqual(JSON.parse(await annotation(node)).filter((e) => e.driver === "gpu.sim.devplane.dev"), [healthy(node)])
	}
	const { out } = await run("get", "devices", "demo-0", "--kubeconfig", c.kubeconfig)
	assert.match(out, /^gpu-1 .* Available +<none> +Healthy /m)
})

await test("a device that nobody holds is reported by its node", async () => {
	await fail("gpu-3", "fallen off the bus")
	const now = await until("an unhealthy device", async () => {
		const d = await gpu("gpu-3")
		return d?.health === "Unhealthy" && d
	})
	assert.equal(now.healthMessage, "fallen off the bus")
	assert.equal(now.healthSource, "node demo-0")
	assert.ok(Math.abs(Date.now() - Date.parse(now.healthSince)) < 600 * 1000, now.healthSince)
	assert.equal((await slice("gpu.sim.devplane.dev", "demo-0")).status.summary.unhealthyDevices, 1)
	assert.match(await annotation("demo-0"), /gpu\.sim\.devplane\.dev\/demo-0\/gpu-3/)
})

const rules = async () => (await c.client.get(`${dra}/devicetaintrules`)).body.items
	.filter((r) => r.metadata.labels?.["devplane.dev/managed-by"] === "device-health-taints")

await test("a device that stays unhealthy is tainted by a rule", async () => {
	const [rule, ...more] = await until("a rule", async () => {
		const all = await rules()
		return all.length > 0 && all
	}, 60)
	assert.deepEqual(more, [])
	assert.deepEqual(rule.spec.deviceSelector, { driver: "gpu.sim.devplane.dev", pool: "demo-0", device: "gpu-3" })
	assert.equal(rule.spec.taint.key, "devplane.dev/unhealthy")
	assert.equal(rule.spec.taint.effect, "NoSchedule")
	assert.equal(rule.metadata.annotations["devplane.dev/health-message"], "fallen off the bus")
})

await test("it recovers, and is healthy again", async () => {
	const { code, err } = await sim("heal", "gpu-3")
	assert.equal(code, 0, err)
	await until("a healthy device", async () => (await gpu("gpu-3"))?.health === "Healthy")
	assert.doesNotMatch(await annotation("demo-0"), /Unhealthy/)
	assert.equal((await slice("gpu.sim.devplane.dev", "demo-0")).status.summary.unhealthyDevices, 0)
})

await test("a device that a pod holds is reported by the pod, too", async () => {
	const { code, err } = await c.kubectl("create", "-f", new URL("../../examples/train.yaml", import.meta.url).pathname)
	assert.equal(code, 0, err)
	const held = await until("a healthy device that is held", async () => {
		for (const node of ["demo-0", "demo-1"]) {
			const d = (await slice("gpu.sim.devplane.dev", node))?.status?.devices?.find((one) => one.state === "Allocated" && one.health === "Healthy")
			if (d)
				return { node, ...d }
		}
	}, 60)
	assert.equal(held.healthSource, undefined)
	assert.equal(held.healthSince, undefined)
})

await test("the rule goes after the device has been well for a minute", async () => {
	await until("no rule", async () => (await rules()).length === 0, 110)
	await until("a device that is free again", async () => (await gpu("gpu-3")).state !== "Unavailable")
})

await c.stop()
finish()
