// The history of devices on a cluster of `devplane up`: what the controller records, and what `devplane history device` shows.
import assert from "node:assert/strict"
import { device, startDevices } from "./availability_lib.mjs"
import { core, dra, expect } from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { Cluster, command, run } from "./up_lib.mjs"

const c = await new Cluster().begin("--demo")
const DRIVER = "gpu.sim.devplane.dev"
const records = "/apis/devplane.dev/v1alpha1/devicehistories"
const sim = (verb, device, ...args) => run("driver", "sim", verb, device, "--root-dir", `${c.folder}/nodes/demo-0`, "--name", DRIVER, ...args)
const history = (...args) => run("history", "device", ...args, "--kubeconfig", c.kubeconfig)

async function changes(device, pool = "demo-0") {
	const { code, out, err } = await history(`${pool}/${device}`, "--driver", DRIVER, "-o", "json")
	assert.equal(code, 0, err)
	return JSON.parse(out).devices.flatMap((d) => d.changes)
}
const brief = ({ field, from, to }) => `${field} ${from} ${to}`
const has = (device, text) => until(`"${text}" of ${device}`, async () => (await changes(device)).some((x) => brief(x) === text), 60)

await until("devices with health", async () => {
	const { body } = await c.client.get(`${dra}/resourceslices?fieldSelector=spec.driver=${DRIVER}`)
	return body.items.length === 2 && body.items.every((s) => s.status?.devices?.every((d) => d.health === "Healthy"))
})

await test("a device that has not changed has no history", async () => {
	await until("the kind", async () => (await c.client.get(records)).code === 200)
	const { code, out, err } = await history("demo-0/gpu-2")
	assert.deepEqual([code, out, err], [0, "", "No change of gpu-2 is recorded.\n"])
})

await test("a device that is allocated has its holder in the history", async () => {
	const spec = { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu", selectors: [{ cel: { expression: `device.attributes["${DRIVER}"].index == 1` } }] } }] } }
	expect(await c.client.post(`${dra}/namespaces/default/resourceclaims`, { metadata: { name: "train" }, spec }), 201)
	expect(await c.client.post(`${core}/namespaces/default/pods`, {
		metadata: { name: "train" },
		spec: { nodeSelector: { "kubernetes.io/hostname": "demo-0" }, containers: [{ name: "c", image: "busybox", resources: { claims: [{ name: "gpu" }] } }], resourceClaims: [{ name: "gpu", resourceClaimName: "train" }] },
	}), 201)
	const device = await until("an allocation", async () => (await c.client.get(`${dra}/namespaces/default/resourceclaims/train`)).body.status?.allocation?.devices.results[0])
	await has(device.device, "state Available Allocated")
	const [change] = await changes(device.device)
	assert.equal(change.holder, "default/train")
})

await test("a device that fails, is tainted and recovers", async () => {
	const { code, err } = await sim("fail", "gpu-3", "--message", "fallen off the bus")
	assert.equal(code, 0, err)
	await has("gpu-3", "health Healthy Unhealthy")
	await has("gpu-3", "state Available Unavailable")
	const all = await changes("gpu-3")
	const ill = all.find((x) => x.field === "health")
	assert.equal(ill.message, "fallen off the bus")
	assert.ok(Math.abs(Date.parse(ill.time) - Date.now()) < 600 * 1000, ill.time)
	assert.match(all.find((x) => x.to === "Unavailable").reason, /^Tainted: \S+\/unhealthy$/)
	assert.equal((await sim("heal", "gpu-3")).code, 0)
	await has("gpu-3", "health Unhealthy Healthy")
	const { out } = await history("demo-0/gpu-3")
	assert.equal((await history("gpu.sim.devplane.dev/demo-0/gpu-3")).out, out)
	assert.match((await history("gpu.sim.devplane.dev/demo-9/gpu-3")).err, /no device "gpu-3" of pool gpu.sim.devplane.dev\/demo-9/)
	assert.match(out, /^TIME +DEVICE +FIELD +CHANGE +HOLDER +MESSAGE\n/)
	assert.match(out, /^20\S+Z +demo-0\/gpu-3 +health +Healthy -> Unhealthy +<none> +fallen off the bus$/m)
})

await test("the history survives the controller, and each change is there once", async () => {
	const before = await changes("gpu-3")
	const { pid, restarts } = await c.role("controller")
	process.kill(pid, "SIGKILL")
	await until("another controller", async () => (await c.role("controller")).restarts > restarts)
	await c.well(60)
	assert.equal((await sim("fail", "gpu-0", "--message", "after the restart")).code, 0)
	await has("gpu-0", "health Healthy Unhealthy")
	const now = await changes("gpu-3")
	assert.deepEqual(now.slice(0, before.length), before)
	assert.equal(now.filter((x) => brief(x) === "health Healthy Unhealthy").length, 1)
	assert.equal((await changes("gpu-0")).filter((x) => brief(x) === "health Healthy Unhealthy").length, 1)
})

await test("kubectl shows and selects the records", async () => {
	const { out, err } = await c.kubectl("get", "devicehistories", "--field-selector", `spec.driver=${DRIVER},spec.pool.name=demo-0`)
	assert.match(out, /^NAME +DRIVER +POOL +NODE +LAST-CHANGE\npool-[0-9a-f]{32} +gpu\.sim\.devplane\.dev +demo-0 +demo-0 +\S+\n$/, err)
	const { body } = await c.client.get(`${records}?fieldSelector=spec.driver=${DRIVER},spec.pool.name=demo-0`)
	assert.deepEqual(body.items[0].spec, { driver: DRIVER, nodeName: "demo-0", pool: { name: "demo-0" } })
	assert.deepEqual(body.items[0].status.lastChangeTime, body.items[0].status.devices.flatMap((d) => d.changes.map((x) => x.time)).sort().pop())
})

await test("a user who may not read claims sees no holder", async () => {
	await c.kubectl("create", "clusterrole", "history", "--verb=get,list", "--resource=devicehistories.devplane.dev")
	await c.kubectl("create", "clusterrolebinding", "history", "--clusterrole=history", "--user=eve")
	const { out, err } = await history("gpu-1", "--driver", DRIVER, "--as", "eve")
	assert.match(out, /Available -> Allocated +1 claim +<none>/, err)
	assert.doesNotMatch(out, /train/)
})

await test("wrong names are explained", async () => {
	const cases = [
		[["demo-0/gpu-9"], 1, /no device "gpu-9" of pool demo-0 exists or has a history: `devplane get devices` shows all devices/],
		[["demo-0/"], 2, /"demo-0\/" is not of the form \[\[DRIVER\/\]POOL\/\]DEVICE/],
		[[], 2, /DEVICE|operand|argument/i],
	]
	for (const [args, code, text] of cases) {
		const result = await history(...args)
		assert.equal(result.code, code, result.err)
		assert.match(result.err, text)
	}
})

await test("a cluster without history says how to get one", async () => {
	const bare = await new Cluster().begin("--runtime", "hollow")
	try {
		const controller = await bare.role("controller")
		assert.ok(controller)
		await until("the kind", async () => (await bare.client.get(records)).code === 200)
		process.kill(controller.pid, "SIGSTOP")
		expect(await bare.client.delete("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/devicehistories.devplane.dev"), 200)
		await until("a kind that is gone", async () => (await bare.client.get(records)).code === 404)
		const { code, err } = await command(process.env.DEVPLANE, ["history", "device", "gpu-0", "--kubeconfig", bare.kubeconfig])
		assert.equal(code, 1)
		assert.match(err, /keeps no history of devices: apply deploy\/availability, or run `devplane controller` with device-history among its --controllers/)
		process.kill(controller.pid, "SIGCONT")
		await until("the kind again", async () => (await bare.client.get(records)).code === 200, 90)
	} finally {
		await bare.stop()
	}
})

await c.stop()

await test("on a server without the status of slices, the history is that of our own objects", async () => {
	const other = await startDevices({ flags: ["--feature-gates", "DRAResourceAvailabilityVisibility=false"] })
	await other.slice("foreign", { node: "n1", devices: [device("gpu-0"), device("gpu-1")] })
	const controller = await other.controller("--leader-elect=false", "--controllers", "resourceslice-status-controller,device-history")
	await until("a controller that follows its records", async () => await controller.metric('reflector_last_resource_version{name="devicehistories.devplane.dev"}') > 0, 90)
	await other.claim("default", "one", [{ pool: "n1", device: "gpu-1" }])
	const [record] = await until("a record", async () => {
		const { items } = (await other.client.get(records)).body
		return items.length > 0 && items
	})
	assert.deepEqual(record.status.devices.map(({ name, changes: [{ field, from, to, holder }] }) => ({ name, field, from, to, holder })),
		[{ name: "gpu-1", field: "state", from: "Available", to: "Allocated", holder: "default/one" }])
	await controller.stop()
	await other.server.stop()
}, 180)

finish()
