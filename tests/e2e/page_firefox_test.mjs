// The device page in Firefox: it logs in, sees the devices and their changes, finds one and shows its detail, says why a pod waits, and shows
// the history; by mouse, and by keys alone.
import assert from "node:assert/strict"
import { DRIVER, device, startDevices } from "./availability_lib.mjs"
import { hasFirefox, openFirefox } from "./firefox_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { keepHistory, link, makeUnschedulable } from "./page_lib.mjs"

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

await test("Waiting says why a pod waits, with the server's explanation", async () => {
	await firefox.click("#search")
	await firefox.type("{Escape}")
	await until("no search", () => firefox.run("document.querySelector('#search').value === ''"))
	await makeUnschedulable(cluster.client, "greedy", "0/1 nodes are available: 1 cannot allocate all claims.")
	await firefox.click('[data-view="waiting"]')
	await firefox.seen(".wait .reasons li", "1 node: cannot allocate all claims")
	await firefox.seen(".wait .fit .fit-answer", "pod default/greedy waits: claim default/missing does not exist")
	await firefox.seen(".wait .command code", "devplane explain-fit pod/greedy -n default")
})

await test("History shows the kept changes, and keys move through their time", async () => {
	await keepHistory(cluster.client, DRIVER, "n1", [{ name: "gpu-1", changes: [[120, "health", "Healthy", "Unhealthy", { message: "Xid 79" }], [60, "health", "Unhealthy", "Healthy"]] }])
	await firefox.click('[data-view="history"]')
	const plot = '.panel[aria-label="Devices by health"] .plot', value = () => firefox.run(`document.querySelector('${plot}').getAttribute("aria-valuetext")`)
	await firefox.seen(plot)
	await firefox.seen('.panel[aria-label="Devices by health"] .panel-lines li', "unhealthy")
	await firefox.seen('.panel[aria-label="Waiting pods by reason"] li', "no device")
	await firefox.run(`document.querySelector('${plot}').focus()`)
	await firefox.type("{Home}")
	await until("the first step", async () => /: healthy 1, unhealthy 0/.test(await value()))
	await firefox.type("{End}" + "{Left}".repeat(15))
	await until("a step at which it was broken", async () => /: healthy 0, unhealthy 1/.test(await value()))
	await firefox.type("{End}")
	await until("now", async () => /^now: /.test(await value()))
	await firefox.click('.panel[aria-label="Changes of health"] summary')
	await firefox.seen('.panel[aria-label="Changes of health"] table tbody td', "1")
})

await test("keys alone find a device, show it and lead back", async () => {
	const focused = () => firefox.run("document.activeElement.dataset.key ?? document.activeElement.id")
	const on = (what) => until(`the focus on ${what}`, async () => (await focused()) === what)
	await firefox.click('[data-view="map"]')
	await firefox.seen(square("gpu-0"))
	await firefox.type("/")
	await on("search")
	await firefox.type("gpu{Enter}")
	await on(`${DRIVER}/n1/gpu-0`)
	await firefox.type("{Right}")
	await on(`${DRIVER}/n1/gpu-1`)
	await firefox.type("{Enter}")
	await firefox.seen("#detail-title", "gpu-1")
	assert.equal(await firefox.run("document.querySelector('#detail').contains(document.activeElement)"), true, "the focus is in the detail")
	await firefox.type("{Escape}")
	await until("the detail is closed", () => firefox.run("document.querySelector('#detail').hidden"))
	await on(`${DRIVER}/n1/gpu-1`)
	await firefox.type("{Escape}")
	await until("no search", () => firefox.run("document.querySelector('#search').value === ''"))
})

await test("nothing was said to the console", () => assert.deepEqual(firefox.faults, []))

await firefox.close()
finish()
