// The device page on a cluster whose slices have no status, as kube-apiserver's: there the controller's objects have it. A server with the
// gate off stands for one.
import assert from "node:assert/strict"
import { device, slices, startDevices } from "./availability_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { assertNoFaults, link, looks, openBrowser, skipWithoutBrowser, square } from "./page_lib.mjs"

skipWithoutBrowser()

const cluster = await startDevices({ flags: ["--feature-gates", "DRAResourceAvailabilityVisibility=false"] })
const { client, server } = cluster
await cluster.slice("a", { node: "n1", devices: [device("gpu-0"), device("gpu-1")] })
const browser = await openBrowser()
const page = await browser.page(server)
const key = (name) => `gpu.example.com/n1/${name}`
const stat = async (name) => Number(await page.locator(`.stat-${name} strong`).textContent())

await test("the page finds the objects that the controller makes, without a reload", async () => {
	await page.goto(await link(server))
	await looks(page, key("gpu-0"), "s-unpublished")
	await cluster.controller()
	await looks(page, key("gpu-0"), "s-free")
	assert.equal((await client.get(`${slices}/a`)).body.status, undefined, "the slice itself has no status")
	assert.deepEqual([await stat("devices"), await stat("free"), await stat("unpublished")], [2, 2, 0])
})

await test("it follows them", async () => {
	await cluster.claim("default", "train", [{ pool: "n1", device: "gpu-0" }])
	await looks(page, key("gpu-0"), "s-allocated")
	await square(page, key("gpu-0")).click()
	await page.locator("#detail .holders a", { hasText: "default/train" }).waitFor()
	await cluster.release("default", "train")
	await looks(page, key("gpu-0"), "s-free")
	await page.keyboard.press("Escape")
})

await test("a slice that is made again has no status until the controller looks at it", async () => {
	await cluster.remove("a")
	await until("no device", async () => (await stat("devices")) === 0)
	await cluster.slice("a", { node: "n1", devices: [device("gpu-0"), device("gpu-1"), device("gpu-2")] })
	await looks(page, key("gpu-2"), "s-free")
	await page.reload()
	await looks(page, key("gpu-2"), "s-free")
})

await test("nothing was said to the console, forbidden or asked of others", () => assertNoFaults(browser))

await browser.close()
finish()
