// The controller device-health-taints is off unless it is named: on a cluster where nobody asked for it, a broken device gets no taint rule.
import assert from "node:assert/strict"
import { core, dra, expect } from "./api_lib.mjs"
import { DRIVER, device, startDevices } from "./availability_lib.mjs"
import { finish, start, test, until } from "./lib.mjs"
import { kubeconfig } from "./node_lib.mjs"

const cluster = await startDevices()
const { server, client } = cluster
const rules = async () => expect(await client.get(`${dra}/devicetaintrules`), 200).items

// A controller that would taint a broken device at once, with its address for metrics.
async function startController(...flags) {
	const process = start("controller", "--kubeconfig", kubeconfig(server, "controllers-own"), "--metrics-bind-address", "127.0.0.1:0",
		"--device-health-taint-after", "1ms", ...flags)
	const [, url] = await until("controller", () => /metrics at (\S+)/.exec(process.out))
	return {
		metrics: async () => (await fetch(`${url}/metrics`)).text(),
		async stop() {
			process.child.kill("SIGTERM")
			assert.deepEqual(await process.ended, { code: 0, signal: null })
		},
	}
}

expect(await client.post(`${core}/nodes`, { metadata: { name: "n1", annotations: {
	"devplane.dev/device-health": JSON.stringify([{ id: `${DRIVER}/n1/gpu-0`, health: "Unhealthy", message: "Xid 48" }]) } } }), 201)
await cluster.slice("s", { node: "n1", devices: [device("gpu-0"), device("gpu-1")] })

await test("a controller without flags reports a broken device, and makes no rule", async () => {
	const controller = await startController()
	await cluster.status("s", (s) => s?.devices[0].health === "Unhealthy")
	assert.doesNotMatch(await controller.metrics(), /device_health_taints/)
	await controller.stop()
	assert.deepEqual(await rules(), [])
})

await test("a controller that is asked for it makes one", async () => {
	const controller = await startController("--controllers", "*,device-health-taints")
	const [rule] = await until("a rule", async () => {
		const all = await rules()
		return all.length > 0 && all
	})
	assert.equal(rule.spec.deviceSelector.device, "gpu-0")
	assert.match(await controller.metrics(), /device_health_taints/)
	await controller.stop()
})

await server.stop()
finish()
