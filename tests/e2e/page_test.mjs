// The device page in a browser, against a whole cluster: server, controller, scheduler, hollow nodes and the simulated vendor.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { dra, expect } from "./api_lib.mjs"
import { devplane, finish, test, until } from "./lib.mjs"
import { startCluster } from "./node_lib.mjs"
import { assertNoFaults, claimsOf, link, looks, makeClasses, openBrowser, shot, skipWithoutBrowser, square, startVendor, tokenWith } from "./page_lib.mjs"
import { pending, startController, startScheduler } from "./scheduler_lib.mjs"

skipWithoutBrowser()

const cluster = await startCluster()
const { client, server } = cluster
const browserStarts = openBrowser()
await Promise.all([startController(cluster), startScheduler(cluster)])
const gpus = {}, nics = {}
await Promise.all(["n1", "n2"].map(async (name) => {
	const node = await cluster.node(name)
	gpus[name] = await startVendor(server, node, "gpu", 2)
	nics[name] = await startVendor(server, node, "nic", 1)
}))
await makeClasses(client, "gpu", "nic")
const evil = '<img src=x onerror="window.hacked=1">'
expect(await client.post(`${dra}/resourceslices`, {
	metadata: { name: "fabric" },
	spec: {
		driver: "fabric.example.com", pool: { name: "rack-7", generation: 1, resourceSliceCount: 1 }, allNodes: true,
		devices: [{ name: "link-0", attributes: { productName: { string: evil }, note: { string: "</p><script>hacked=1" } }, allowMultipleAllocations: true, capacity: { bandwidth: { value: "400G" } } }],
	},
}), 201)
await until("all slices", async () => (await client.get(`${dra}/resourceslices`)).body.items.length === 5, 60)

const browser = await browserStarts
const page = await browser.page(server)
const text = (selector, of = page) => of.locator(selector).textContent()
const stat = async (name, of = page) => Number(await text(`.stat-${name} strong`, of))
const live = (of = page) => of.locator('#live[data-state="live"]').waitFor()
const fragment = async (of = page) => decodeURIComponent(await of.evaluate(() => location.hash))
const running = (p) => p.status.phase === "Running"
const wide = (of) => of.evaluate(() => document.documentElement.scrollWidth - innerWidth)
// A browser logs every reply above 399 to its console, whatever the page makes of it.
const refusals = /the server responded with a status of 40[13]/

await test("a link logs in, once, and its code leaves the address", async () => {
	const address = await link(server)
	await page.goto(address)
	await live()
	assert.equal(new URL(page.url()).hash, "")
	assert.match(await text("#user"), /admin/)
	const other = await browser.page(server, { expected: refusals })
	await other.goto(address)
	await other.locator("#login-error", { hasText: "has been used or has expired" }).waitFor()
	assert.equal(new URL(other.url()).hash, "")
	await other.goto("about:blank")
	await other.goto(`${server.url}/ui/#code=wrong&q=gpu-1`)
	await other.locator("#login-error", { hasText: "devplane page" }).waitFor()
	assert.equal(await fragment(other), "#q=gpu-1")
	await shot(other, "login-refused")
	await other.context().close()
})

await test("every device is on the map, and the figures say so", async () => {
	for (const n of ["n1", "n2"]) {
		await looks(page, gpus[n].key("gpu-0"), "s-free")
		await looks(page, nics[n].key("nic-0"), "s-free")
	}
	await looks(page, "fabric.example.com/rack-7/link-0", "s-free")
	assert.deepEqual(await page.locator(".block-name").allTextContents(), ["n1", "n2", "rack-7"])
	assert.deepEqual([await stat("devices"), await stat("free"), await stat("unavailable"), await stat("unhealthy")], [7, 7, 0, 0])
})

let pod, key, vendor
await test("a pod gets a GPU and a NIC: their squares change without a reload", async () => {
	await page.evaluate(() => (window.here = true))
	pod = await cluster.run(pending({ name: "train", ...claimsOf("gpu", "nic") }))
	pod = await cluster.pod(pod, running)
	vendor = gpus[pod.spec.nodeName]
	await until("two allocated", async () => (await stat("allocated")) === 2)
	await page.locator("#map .d.s-allocated.h-healthy").first().waitFor()
	const keys = await page.locator("#map .d.s-allocated").evaluateAll((all) => all.map((g) => g.dataset.key))
	key = keys.find((k) => k.startsWith("gpu."))
	assert.ok(keys.includes(nics[pod.spec.nodeName].key("nic-0")), keys.join())
	assert.match(await square(page, key).getAttribute("aria-label"), /^gpu-\d, on n\d, allocated, (healthy|health not reported), claim default\/train-gpu-\w+, pod default\/train$/)
	assert.equal(await page.evaluate(() => window.here), true)
})

await test("its detail says who holds it, and a NIC's how it is reached", async () => {
	await square(page, key).click()
	await page.locator("#detail .holders a", { hasText: "default/train" }).first().waitFor()
	assert.match(await text("#detail"), /80Gi/)
	await square(page, nics[pod.spec.nodeName].key("nic-0")).click()
	const network = page.locator("#detail .part", { hasText: "Network" })
	await network.waitFor()
	assert.match(await network.textContent(), /interfacesim0.*MAC([0-9a-f]{2}:){5}[0-9a-f]{2}.*198\.1[89]\.\d+\.\d+\/\d+.*2001:db8:/)
	assert.match(await text("#detail .conditions"), /Ready True/)
	await shot(page, "detail-nic")
})

await test("a GPU breaks: square, message, figures and timeline show it, and again when it is well", async () => {
	const device = key.slice(key.lastIndexOf("/") + 1)
	await square(page, key).click()
	vendor.sim("fail", device, "--message", "Xid 79: fallen off the bus")
	await page.locator("#detail", { hasText: "unhealthy:NoSchedule" }).waitFor()
	await looks(page, key, "s-allocated h-unhealthy")
	assert.equal(await stat("unhealthy"), 1)
	assert.equal(await text("#detail .message"), "Xid 79: fallen off the bus")
	await until("one stretch", async () => (await page.locator("#detail .timeline .span.unhealthy").count()) === 1)
	await page.locator("#detail .story li", { hasText: "event of pod train" }).first().waitFor()
	assert.match(await text("#said"), /gpu-\d on n\d is unhealthy\. Xid 79/)
	await shot(page, "detail-unhealthy")
	vendor.sim("heal", device)
	await looks(page, key, "s-allocated h-healthy")
	await until("two stretches", async () => (await page.locator("#detail .timeline .span").count()) >= 3)
	vendor.sim("fail", device, "--message", "Xid 79: fallen off the bus")
	await looks(page, key, "h-unhealthy")
	await page.keyboard.press("Escape")
	assert.ok(await page.locator("#detail").isHidden())
})

await test("a pod that waits says why", async () => {
	for (let i = 0; i < 4; i++)
		await cluster.run(pending({ name: `more-${i}`, ...claimsOf("gpu") }))
	await page.locator('[data-view="waiting"]').click()
	const card = page.locator(".wait").first()
	await card.locator(".why", { hasText: "The scheduler says that it fits on 0 of 2 nodes:" }).waitFor()
	assert.deepEqual(await card.locator(".why .reasons li").allTextContents(), ["2 nodes: cannot allocate all claims"])
	await card.locator(".fit-answer", { hasText: /claims fit on 0 of 2 nodes/ }).waitFor()
	assert.match(await card.locator(".fit-group .reasons").first().textContent(), /in use/i)
	await card.locator(".where a", { hasText: "gpu.sim.devplane.dev" }).waitFor()
	const explain = /^devplane explain-fit pod\/more-\d -n default$/, name = (await card.locator("h2").textContent()).split("/")[1]
	assert.match(await card.locator(".command code").textContent(), explain)
	assert.match(execFileSync(devplane, ["explain-fit", `pod/${name}`, "-n", "default", "--kubeconfig", server.kubeconfig], { encoding: "utf8" }), /fit on 0 of 2 nodes/)
	await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
	await card.locator(".copy").click()
	await card.locator(".copy", { hasText: "Copied" }).waitFor()
	assert.match(await page.evaluate(() => navigator.clipboard.readText()), explain)
	await card.locator(".claim-state", { hasText: "not allocated" }).waitFor()
	await until("one waiting", async () => (await stat("waiting")) === 1 && (await page.locator(".wait").count()) === 1)
	assert.equal(await fragment(), "#view=waiting")
	await shot(page, "waiting")
	await page.locator('[data-view="map"]').click()
})

await test("words, legend and figures filter, and the address shares it", async () => {
	const shown = async (of = page) => (await of.locator("#map .block:visible .section:visible .d:not(.out)").evaluateAll((all) => all.map((g) => g.dataset.key))).sort()
	await page.locator("#search").fill("pod:train driver:gpu")
	await until("one", async () => (await shown()).join() === key)
	await page.locator("#search").fill("")
	await page.locator('[data-filter="state-free"]').click()
	assert.equal(await page.locator('[data-filter="state-free"]').getAttribute("aria-pressed"), "true")
	const free = await shown()
	assert.ok(free.includes("fabric.example.com/rack-7/link-0") && !free.includes(key), free.join())
	await page.locator("#search").fill("rack-7")
	assert.equal(await fragment(), "#q=rack-7&state=free")
	const other = await page.context().newPage()
	await other.goto(await page.evaluate(() => location.href))
	await live(other)
	assert.deepEqual(await shown(other), ["fabric.example.com/rack-7/link-0"])
	await other.close()
	await page.locator(".stat-unhealthy").click()
	await page.locator("#search").fill("")
	assert.deepEqual(await shown(), [key])
	await page.locator("#search").fill("no such thing")
	await page.locator("#nothing", { hasText: "No device matches" }).waitFor()
	await page.keyboard.press("Escape")
	await until("all", async () => (await shown()).length === 7)
	await page.locator("#group").selectOption("driver")
	assert.deepEqual(await page.locator(".block-name").allTextContents(), ["fabric.example.com", "gpu.sim.devplane.dev", "nic.sim.devplane.dev"])
	await page.locator("#group").selectOption("node")
	assert.equal(await fragment(), "")
})

await test("everything can be done with the keyboard", async () => {
	const focused = () => page.evaluate(() => document.activeElement.dataset.key ?? document.activeElement.id)
	// The squares of a map that was just put in another order are drawn when the browser has seen where they are.
	await until("one square in the order of tabs", async () => (await page.locator('#map .d[tabindex="0"]').count()) === 1)
	await page.locator("main").focus()
	await page.keyboard.press("/")
	assert.equal(await focused(), "search")
	await page.keyboard.type("n1")
	await page.keyboard.press("Escape")
	assert.equal(await page.locator("#search").inputValue(), "")
	await page.keyboard.press("Enter")
	await page.keyboard.press("Home")
	assert.equal(await focused(), gpus.n1.key("gpu-0"))
	await page.keyboard.press("ArrowRight")
	assert.equal(await focused(), gpus.n1.key("gpu-1"))
	await page.keyboard.press("ArrowLeft")
	await page.keyboard.press("ArrowDown")
	assert.equal(await focused(), nics.n1.key("nic-0"))
	await page.keyboard.press("ArrowUp")
	assert.equal(await focused(), gpus.n1.key("gpu-0"))
	await page.keyboard.press("End")
	assert.equal(await focused(), "fabric.example.com/rack-7/link-0")
	await page.keyboard.press("Enter")
	assert.equal(await focused(), "detail-title")
	assert.match(await fragment(), /device=fabric/)
	await page.keyboard.press("Escape")
	assert.equal(await focused(), "fabric.example.com/rack-7/link-0")
	assert.equal(await page.locator('#map .d[tabindex="0"]').count(), 1)
	await page.locator('[data-view="list"]').click()
	await page.locator('.rows .row[tabindex="0"]').focus()
	await page.keyboard.press("ArrowDown")
	assert.equal(await focused(), gpus.n1.key("gpu-1"))
	await page.keyboard.press("Enter")
	assert.equal(await focused(), "detail-title")
	await page.keyboard.press("Escape")
	await page.locator(".row.head button", { hasText: "State" }).click()
	assert.equal(await page.locator(".row.head .c-state").getAttribute("aria-sort"), "ascending")
	await shot(page, "list")
	await page.locator('[data-view="map"]').click()
})

await test("names that are markup stay names", async () => {
	await page.locator("#search").fill("<img")
	await square(page, "fabric.example.com/rack-7/link-0").click()
	await page.locator("#detail dd", { hasText: evil }).first().waitFor()
	await page.locator("#group").selectOption("model")
	await page.locator(".block-name", { hasText: evil }).waitFor()
	assert.equal(await page.locator("#detail img, #map img, #detail script").count(), 0)
	assert.equal(await page.evaluate(() => window.hacked), undefined)
	await page.locator("#group").selectOption("node")
	await page.locator("main").focus()
	await page.keyboard.press("Escape")
	await page.keyboard.press("Escape")
	assert.equal(await fragment(), "")
})

await test("light and dark follow the system, and the button has the last word", async () => {
	const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
	const light = await ground()
	await page.emulateMedia({ colorScheme: "dark" })
	const dark = await ground()
	assert.notEqual(dark, light)
	await shot(page, "map-dark")
	await page.locator("#theme").click()
	assert.equal(await ground(), light)
	await page.reload()
	await live()
	assert.equal(await ground(), light)
	await page.emulateMedia({ colorScheme: "light" })
	await page.locator("#theme").click()
	assert.equal(await ground(), dark)
	await page.locator("#theme").click()
	await shot(page, "map-light")
})

await test("on a phone nothing is wider than the screen", async () => {
	await page.setViewportSize({ width: 360, height: 740 })
	for (const view of ["map", "list", "waiting"]) {
		await page.locator(`[data-view="${view}"]`).click()
		assert.ok(await wide(page) <= 0, view)
		await shot(page, `phone-${view}`)
	}
	await page.locator('[data-view="map"]').click()
	await square(page, key).click()
	assert.ok(await wide(page) <= 0)
	await shot(page, "phone-detail")
	await page.keyboard.press("Escape")
	await page.setViewportSize({ width: 1360, height: 860 })
})

const read = ["get", "list", "watch"]
await test("a user who can only read slices sees devices, and a note about the missing rights", async () => {
	const token = await tokenWith(client, "viewer", [{ apiGroups: ["resource.k8s.io"], resources: ["resourceslices"], verbs: read }])
	const other = await browser.page(server, { expected: refusals })
	await other.goto(`${server.url}/ui/`)
	await other.locator("#token").fill("nonsense")
	await other.locator("#login-go").click()
	await other.locator("#login-error", { hasText: "does not know this token" }).waitFor()
	await other.locator("#token").fill(token)
	await other.keyboard.press("Enter")
	await live(other)
	assert.match(await text("#user", other), /viewer/)
	await until("notes", async () => (await other.locator("#notes p").count()) === 6)
	assert.match(await text("#notes", other), /You may not list resourceclaims: pods of holders, network data and conditions are not shown/)
	await until("allocated by the slice's status", async () => (await stat("allocated", other)) >= 4)
	assert.equal(await text(".stat-waiting strong", other), "–")
	await shot(other, "no-rights")
	await other.context().close()
	const none = await tokenWith(client, "nobody", [])
	const last = await browser.page(server, { expected: refusals })
	await last.goto(`${server.url}/ui/`)
	await last.locator("#token").fill(none)
	await last.keyboard.press("Enter")
	await until("notes", async () => (await last.locator("#notes p").count()) === 7)
	await last.context().close()
})

await test("six connections are enough", async () => {
	const old = await openBrowser("--disable-http2")
	const other = await old.page(server)
	await other.goto(await link(server))
	await live(other)
	assert.ok(await other.evaluate(() => performance.getEntriesByType("resource").every((e) => e.nextHopProtocol === "http/1.1")))
	await looks(other, key, "h-unhealthy")
	// The way to the server is cut for the logout alone.
	other.expected = /ERR_FAILED/
	await other.route("**/ui/logout", (route) => route.abort())
	await other.locator("#logout").click()
	await other.locator("#login-error", { hasText: "still logged in" }).waitFor()
	await other.unroute("**/ui/logout")
	await other.locator("#logout-again").click()
	await other.locator("#login-error", { hasText: "You are logged out" }).waitFor()
	assert.equal(await other.locator("#logout-again").isVisible(), false)
	assert.equal(await other.locator("#map .d").count(), 0, "what was seen is gone")
	assertNoFaults(old)
	await old.close()
})

await test("a session that ends asks for another, and keeps what was looked at", async () => {
	page.expected = refusals
	await page.locator("#search").fill("train")
	await page.evaluate(() => fetch("/ui/logout", { method: "POST", headers: { "X-Devplane-UI": "1" } }))
	await page.locator("#login-error", { hasText: "session is over" }).waitFor()
	await shot(page, "session-over")
	await page.locator("#token").fill(await tokenWith(client, "reader", [{ apiGroups: ["*"], resources: ["*"], verbs: read }]))
	await page.locator("#login-go").click()
	await live()
	assert.equal(await page.locator("#search").inputValue(), "train")
	await until("the device", async () => (await page.locator("#map .d:not(.out)").count()) === 2)
	await page.locator("#search").fill("")
})

await test("a server that comes back is followed again", async () => {
	page.expected = /ERR_|the server responded/
	await server.stop()
	await page.locator('#live:not([data-state="live"])').waitFor()
	await server.begin()
	// Sessions live in the server's memory.
	await page.locator("#login-error", { hasText: "session is over" }).waitFor()
	await page.goto("about:blank")
	await page.goto(await link(server))
	await live()
	await looks(page, key, "h-unhealthy")
	await cluster.delete(pod, 0)
	await until("the pod's device is not held", async () => (await page.locator(`#map .d[data-key="${key}"].s-allocated`).count()) === 0)
})

await test("nothing was said to the console, forbidden or asked of others", () => assertNoFaults(browser))

await browser.close()
finish()
