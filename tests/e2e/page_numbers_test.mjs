// The numbers of the device page are those that slices publish: a cluster with tainted, held, shared and unhealthy devices and
// with pools that are incomplete, in a browser. The controller computes the states; nobody schedules.
import assert from "node:assert/strict"
import { DRIVER, device, share, shared, slices, startDevices } from "./availability_lib.mjs"
import { dra, expect } from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { assertNoFaults, link, looks, openBrowser, shot, skipWithoutBrowser, square } from "./page_lib.mjs"

skipWithoutBrowser()

const cluster = await startDevices()
const { client, server } = cluster
const taint = (key) => ({ taints: [{ key, effect: "NoSchedule" }] })
await cluster.slice("a", { node: "n1", devices: [device("gpu-0"), device("gpu-1"), device("gpu-2", taint("example.com/maintenance")), device("gpu-3")] })
await cluster.slice("b", { node: "n2", devices: [shared("gpu-0"), shared("gpu-1")] })
await cluster.slice("c", { node: "n3", count: 2, devices: [device("gpu-0"), device("gpu-1")] })
await cluster.claim("default", "train", [{ pool: "n1", device: "gpu-0" }])
await cluster.claim("default", "part", [share("n2", "gpu-0", "30Gi")])
expect(await client.post(`${dra}/devicetaintrules`, {
	metadata: { name: "repair" }, spec: { deviceSelector: { driver: DRIVER, pool: "n1", device: "gpu-3" }, taint: { key: "example.com/repair", effect: "NoSchedule" } },
}), 201)

const browser = await openBrowser()
const page = await browser.page(server)
const key = (pool, name) => `${DRIVER}/${pool}/${name}`
const names = { Available: "free", PartiallyAllocated: "partial", Allocated: "allocated", Unavailable: "unavailable" }

// Counts from the slices' status now. A device is "unpublished" if its slice has no status, or one of an older generation.
async function published() {
	const sums = { devices: 0, free: 0, partial: 0, allocated: 0, unavailable: 0, unpublished: 0, unhealthy: 0 }
	for (const { metadata, spec, status } of (await client.get(slices)).body.items)
		for (const { name } of spec.devices) {
			const entry = status?.observedGeneration >= metadata.generation ? status.devices.find((d) => d.name === name) : undefined
			sums.devices++
			sums[names[entry?.state] ?? "unpublished"]++
			sums.unhealthy += entry?.health === "Unhealthy"
		}
	return sums
}

const figures = () => page.evaluate((all) => Object.fromEntries(all.map((n) => [n, Number(document.querySelector(`.stat-${n} strong`).textContent)])),
	["devices", "free", "partial", "allocated", "unavailable", "unpublished", "unhealthy"])

// The page says what slices say, in figures and in its list, and its numbers add up.
async function agree(expected) {
	let seen, said
	await until("the same numbers", async () => {
		[seen, said] = [await figures(), await published()]
		return JSON.stringify(seen) === JSON.stringify(said) && Object.entries(expected).every(([name, n]) => said[name] === n)
	}, 30).catch((e) => assert.deepEqual({ page: seen, slices: said }, { page: said, slices: { ...said, ...expected } }, e.message))
	assert.equal(seen.devices, seen.free + seen.partial + seen.allocated + seen.unavailable + seen.unpublished)
	const chips = await page.evaluate(() => [...document.querySelectorAll(".legend-group")].map((g) => [...g.querySelectorAll(".chip-count")].map((c) => Number(c.textContent))))
	const [states, healths] = chips.map((all) => all.reduce((a, b) => a + b))
	assert.deepEqual([states, healths], [seen.devices, seen.devices - seen.unpublished])
	assert.deepEqual(chips[0], [seen.free, seen.partial, seen.allocated, seen.unavailable, seen.unpublished])
	await page.locator('[data-view="list"]').click()
	const rows = await page.locator(".rows .row .c-state").allTextContents()
	const words = { free: "free", partial: "partly used", allocated: "allocated", unavailable: "unavailable", unpublished: "not known yet" }
	for (const [name, word] of Object.entries(words))
		assert.equal(rows.filter((r) => r.split(":")[0] === word).length, seen[name], rows.join())
	await page.locator('[data-view="map"]').click()
}

await test("without a controller no state is known, and the page says what to do", async () => {
	await page.goto(await link(server))
	await looks(page, key("n1", "gpu-0"), "s-unpublished h-unpublished")
	await agree({ devices: 8, unpublished: 8, free: 0, allocated: 0, unhealthy: 0 })
	await page.locator("#notes p", { hasText: "The state of 8 devices is not known: no controller publishes it. Start one (devplane controller)" }).waitFor()
	await square(page, key("n1", "gpu-0")).click()
	await page.locator("#detail", { hasText: "no controller has published the state of this device" }).waitFor()
	await shot(page, "not-known")
	await page.keyboard.press("Escape")
})

let controller
await test("the page's numbers are the sums of what slices publish", async () => {
	controller = await cluster.controller()
	await agree({ devices: 8, free: 2, partial: 1, allocated: 1, unavailable: 4, unpublished: 0 })
	assert.equal(await page.locator("#notes p").count(), 0)
	await page.locator(".stat-unpublished").waitFor({ state: "hidden" })
})

await test("a taint is a reason and not ill health, by the driver and by a rule", async () => {
	await looks(page, key("n1", "gpu-2"), "s-unavailable h-untold")
	await looks(page, key("n1", "gpu-3"), "s-unavailable h-untold")
	assert.equal((await figures()).unhealthy, 0)
	await square(page, key("n1", "gpu-3")).click()
	await page.locator("#detail .reason-line", { hasText: "Tainted: example.com/repair" }).waitFor()
	await page.locator("#detail .part li", { hasText: "example.com/repair:NoSchedule by rule repair" }).waitFor()
	await page.keyboard.press("Escape")
})

await test("no device of an incomplete pool is free, and the pool has trouble", async () => {
	await looks(page, key("n3", "gpu-0"), "s-unavailable")
	assert.equal(await page.locator(".stat-trouble strong").textContent(), "1")
	await square(page, key("n3", "gpu-0")).click()
	await page.locator("#detail .reason-line", { hasText: "PoolIncomplete (slices of its pool are missing)" }).waitFor()
	await page.keyboard.press("Escape")
	await cluster.slice("d", { node: "n3", count: 2, devices: [device("gpu-2")] })
	await agree({ devices: 9, free: 5, unavailable: 2 })
	assert.equal(await page.locator(".stat-trouble strong").textContent(), "0")
})

await test("numbers follow claims, and a shared device says what is left of it", async () => {
	await square(page, key("n2", "gpu-0")).click()
	await page.locator("#detail .capacity", { hasText: "50Gi free of 80Gi" }).waitFor()
	await cluster.claim("default", "rest", [share("n2", "gpu-0", "50Gi")])
	await page.locator("#detail .reason-line", { hasText: "CapacityExhausted" }).waitFor()
	await agree({ devices: 9, free: 5, partial: 0, allocated: 2, unavailable: 2 })
	await cluster.release("default", "train")
	await agree({ free: 6, allocated: 1 })
	await page.keyboard.press("Escape")
})

await test("claims beyond those that the status names are counted", async () => {
	await cluster.release("default", "part")
	await cluster.release("default", "rest")
	for (let i = 0; i < 35; i++)
		await cluster.claim("default", `share-${i}`, [share("n2", "gpu-1", "1Gi")])
	await cluster.status("b", (s) => s.devices[1].omittedAllocations === 3)
	await square(page, key("n2", "gpu-1")).click()
	await page.locator("#detail .holders li", { hasText: "and 3 more claims that the status does not name" }).waitFor()
	assert.equal(await page.locator("#detail .holders a").count(), 32)
	assert.match(await square(page, key("n2", "gpu-1")).getAttribute("aria-label"), /partly used, .*claim default\/share-0 and 34 more$/)
	await agree({ partial: 1 })
	await page.keyboard.press("Escape")
})

// The controller is away, so that what the test writes stays.
await test("a free device that is unhealthy is free and marked, with message, time and source", async () => {
	await controller.stop()
	const { status } = await cluster.read("a"), [first] = status.devices
	const health = { health: "Unhealthy", healthMessage: "Xid 79: fallen off the bus", healthSince: "2026-01-01T00:00:00Z", healthSource: "node n1" }
	status.devices[0] = { ...first, ...health }
	status.summary.unhealthyDevices = 1
	expect(await client.patch(`${slices}/a/status`, { status }, "merge"), 200)
	await agree({ free: 6, unhealthy: 1 })
	await looks(page, key("n1", "gpu-0"), "s-free h-unhealthy")
	assert.equal(await page.locator(".stat-free span").textContent(), "free, 1 unhealthy")
	assert.match(await page.locator(".block", { hasText: "n1" }).first().locator(".block-note").textContent(), /1 unhealthy \(1 free\)/)
	await square(page, key("n1", "gpu-0")).click()
	await page.locator("#detail .message", { hasText: "Xid 79" }).waitFor()
	assert.match(await page.locator("#detail").textContent(), /unhealthy for \d+ d, since .*; reported by node n1/)
	await shot(page, "free-unhealthy")
	await page.keyboard.press("Escape")
})

await test("a status that is behind its slice says nothing", async () => {
	await cluster.republish("a", (spec) => spec.devices.push(device("gpu-4")))
	await agree({ devices: 10, unpublished: 5, unhealthy: 0 })
	await page.locator("#notes p", { hasText: "The state of 5 devices is not known" }).waitFor()
	await controller.begin()
	await agree({ devices: 10, unpublished: 0 })
	await page.locator("#notes p").waitFor({ state: "detached" })
})

await test("slices of an older generation are not counted", async () => {
	await cluster.slice("a2", { node: "n1", generation: 2, devices: [device("gpu-0"), device("gpu-9")] })
	await looks(page, key("n1", "gpu-9"), "s-free")
	await until("the new generation alone", async () => (await figures()).devices === 7)
	await cluster.remove("a")
	await agree({ devices: 7, free: 6, partial: 1 })
})

await test("nothing was said to the console, forbidden or asked of others", () => assertNoFaults(browser))

await browser.close()
finish()
