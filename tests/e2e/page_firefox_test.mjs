// The device page in Firefox: it logs in, sees the devices and their changes, finds one and shows its detail.
import assert from "node:assert/strict"
import { DRIVER, device, startDevices } from "./availability_lib.mjs"
import { hasFirefox, openFirefox } from "./firefox_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { link } from "./page_lib.mjs"

if (!hasFirefox) {
	console.log("ok 1 - Firefox # SKIP there is no firefox-esr here")
	console.log("1..1")
	process.exit(0)
}

const cluster = await startDevices()
await cluster.slice("a", { node: "n1", devices: [device("gpu-0"), device("gpu-1")] })
await cluster.controller()
await cluster.status("a")
const firefox = await openFirefox()
const square = (name) => `#map .d[data-key="${DRIVER}/n1/${name}"]`

await test("a link logs in, and the devices are there", async () => {
	await firefox.goto(await link(cluster.server))
	await firefox.seen('#live[data-state="live"]')
	await firefox.seen(`${square("gpu-0")}.s-free`)
	assert.equal(await firefox.run("location.hash"), "")
	assert.equal(await firefox.run("document.querySelector('.stat-devices strong').textContent"), "2")
})

await test("a change is shown without a reload", async () => {
	await firefox.run("void (window.here = true)")
	await cluster.claim("default", "train", [{ pool: "n1", device: "gpu-0" }])
	await firefox.seen(`${square("gpu-0")}.s-allocated`)
	assert.equal(await firefox.run("window.here"), true)
})

await test("words find a device, and its detail says who holds it", async () => {
	await firefox.click("#search")
	await firefox.type("claim:train")
	await until("one device", () => firefox.run("document.querySelectorAll('#map .d:not(.out)').length === 1"))
	await firefox.click(square("gpu-0"))
	await firefox.seen("#detail-title", "gpu-0")
	await firefox.seen("#detail .holders a", "default/train")
	await firefox.seen("#detail .command code", "devplane describe device")
	await firefox.click('[data-view="list"]')
	await firefox.seen(".rows .row .c-device", "gpu-0")
})

await test("nothing was said to the console", () => assert.deepEqual(firefox.faults, []))

await firefox.close()
finish()
