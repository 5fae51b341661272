// The device page in a browser by `devplane ui`: over plain HTTP, as on a laptop, it shows the same devices, what the controller has
// recorded of them, why pods wait, and several clusters.
import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { core, dra, expect, startServer } from "./api_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"
import { startCluster } from "./node_lib.mjs"
import { assertNoFaults, looks, makeClasses, openBrowser, noViolations, shot, skipWithoutBrowser, square, startVendor, tokenWith, violations, violationsOfAll } from "./page_lib.mjs"
import { startController } from "./scheduler_lib.mjs"
import { startUi } from "./ui_lib.mjs"

skipWithoutBrowser()

const cluster = await startCluster()
const { client, server } = cluster
const browserStarts = openBrowser()
const controller = await startController(cluster, "--controllers", "*,device-history")
const gpus = await startVendor(server, await cluster.node("n1"), "gpu", 2)
await until("all slices", async () => (await client.get(`${dra}/resourceslices`)).body.items.length === 1, 60)
// Only changes after this are recorded.
await until("a controller that records", async () => await controller.metric('reflector_last_resource_version{name="devicehistories.devplane.dev"}') > 0, 90)
const site = await startUi(server)
// Each start has a link that works once.
let again
const startedAgain = async () => (again = await startUi(server))
const browser = await browserStarts
const refusals = /the server responded with a status of 40[13]/
const live = (page) => page.locator('#live[data-state="live"]').waitFor()

await test("the link logs in, and devices change without a reload", async () => {
	const page = await browser.page(site)
	await page.goto(site.link)
	await live(page)
	assert.match(await page.locator("#user").textContent(), /kubernetes-admin/)
	await looks(page, gpus.key("gpu-0"), "s-free")
	await looks(page, gpus.key("gpu-1"), "s-free")
	gpus.sim("fail", "gpu-1", "--message", "Xid 79: fallen off the bus")
	await looks(page, gpus.key("gpu-1"), "h-unhealthy")
	await square(page, gpus.key("gpu-1")).click()
	await page.locator("#detail .message", { hasText: "Xid 79" }).waitFor()
	await page.locator("#detail .story li", { hasText: "Xid 79: fallen off the bus kept by the controller" }).waitFor({ timeout: 60_000 })
	await page.locator("#detail p", { hasText: /^Known since .*: the controller keeps the last changes of this device\.$/ }).waitFor()
	assert.deepEqual(await page.locator("#detail .lane-name").allTextContents(), ["health", "state"])
	await page.keyboard.press("Escape")
	await page.locator('[data-view="history"]').click()
	await page.locator(".panel", { hasText: "Changes of health" }).locator("li", { hasText: "to unhealthy" }).locator("strong", { hasText: /^1$/ }).waitFor()
	await shot(page, "any-cluster")
	await page.locator("#logout").click()
	await page.locator("#login-error", { hasText: "logged out" }).waitFor()
	await page.context().close()
})

// The requests of a page that are under way, and how many it made, by their URLs.
function follow(page, pattern) {
	const self = { open: new Set(), made: [] }
	page.on("request", (r) => pattern.test(r.url()) && self.open.add(r) && self.made.push(r.url()))
	for (const end of ["requestfinished", "requestfailed"])
		page.on(end, (r) => self.open.delete(r))
	return self
}

await test("over HTTP/1.1 what changes rarely shares one connection, is listed once, and its changes are seen", async () => {
	const rare = ["nodes", "devicetaintrules", "deviceclasses", "devicehistories", "events"]
	const page = await browser.page(await startedAgain(), {}), all = follow(page, new RegExp(`/(${rare.join("|")})\\?`))
	const isWatch = (url) => new URL(url).searchParams.get("watch") === "true", plural = (url) => new URL(url).pathname.split("/").at(-1)
	await page.goto(again.link)
	await live(page)
	const turns = (name) => all.made.filter((url) => isWatch(url) && plural(url) === name).length
	await until("turns of each", () => rare.every((name) => turns(name) >= 2), 90)
	assert.deepEqual(all.made.filter((url) => !isWatch(url)).map(plural).sort(), [...rare, "events", "events"].sort(), "nothing was listed again")
	// When each watch began and ended, as the browser has it.
	const times = await page.evaluate((names) => performance.getEntriesByType("resource").filter((e) => e.name.includes("watch=true") && names.some((n) => new URL(e.name).pathname.endsWith(`/${n}`)))
		.map((e) => [e.startTime, e.responseEnd]).sort(([a], [b]) => a - b), rare)
	assert.ok(times.length >= rare.length && times.every(([from], i) => i === 0 || from >= times[i - 1][1]), `one at a time: ${JSON.stringify(times)}`)
	await square(page, gpus.key("gpu-0")).click()
	expect(await client.post(`${dra}/devicetaintrules`, { metadata: { name: "later" }, spec: { deviceSelector: { driver: gpus.name, pool: "n1", device: "gpu-0" }, taint: { key: "example.com/repair", effect: "NoSchedule" } } }), 201)
	await page.locator("#detail .part li", { hasText: "example.com/repair:NoSchedule by rule later" }).waitFor()
	expect(await client.delete(`${dra}/devicetaintrules/later`), 200)
	await page.locator("#detail .part li", { hasText: "by rule later" }).waitFor({ state: "detached" })
	await page.context().close()
	await again.stop()
})

await test("over HTTP/1.1 a page that nobody sees has no connection, and is up to date when it is seen again", async () => {
	const page = await browser.page(await startedAgain(), {}), watches = follow(page, /watch=true/)
	await page.goto(again.link)
	await live(page)
	await until("watches", () => ["resourceslices", "resourceclaims", "pods"].every((name) => [...watches.open].some((r) => r.url().includes(`/${name}?`))), 60)
	const show = (shown) => page.evaluate((hidden) => {
		Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden })
		document.dispatchEvent(new Event("visibilitychange"))
	}, !shown)
	await show(false)
	await until("no watch", () => watches.open.size === 0)
	const { length } = watches.made
	gpus.sim("fail", "gpu-0", "--message", "Xid 48: double bit")
	await until("a status that says so", async () => (await client.get(`${dra}/resourceslices`)).body.items[0].status?.devices.find((d) => d.name === "gpu-0")?.health === "Unhealthy", 60)
	assert.equal(watches.made.length, length, "no watch was begun meanwhile")
	assert.equal(await square(page, gpus.key("gpu-0")).and(page.locator(".h-unhealthy")).count(), 0)
	await show(true)
	await looks(page, gpus.key("gpu-0"), "h-unhealthy")
	gpus.sim("heal", "gpu-0")
	await looks(page, gpus.key("gpu-0"), "h-healthy")
	await page.context().close()
	await again.stop()
})

await test("two windows of a page share the browser's six connections, and both are up to date", async () => {
	const page = await browser.page(await startedAgain(), { expected: refusals })
	await page.goto(again.link)
	await live(page)
	const other = await page.context().newPage()
	await other.goto(`${again.url}/ui/`)
	await other.locator('#live[data-state="live"]').waitFor({ timeout: 90_000 })
	for (const [verb, health] of [["fail", "unhealthy"], ["heal", "healthy"]]) {
		gpus.sim(verb, "gpu-0")
		for (const window of [page, other])
			await looks(window, gpus.key("gpu-0"), `h-${health}`)
	}
	await other.locator("#logout").click()
	await other.locator("#login-error", { hasText: "logged out" }).waitFor()
	await page.locator("#login-error", { hasText: "The session is over" }).waitFor({ timeout: 60_000 })
	await page.context().close()
	await again.stop()
}, 240)

// A pod that nobody schedules, whose claim fits on no node.
async function makeGreedy(client) {
	await makeClasses(client, "gpu")
	expect(await client.post(`${dra}/namespaces/default/resourceclaims`, { metadata: { name: "odd" }, spec: { devices: { requests: [{
		name: "big", exactly: { deviceClassName: "gpu", count: 2, selectors: [{ cel: { expression: 'device.attributes["gpu.sim.devplane.dev"].index == 1' } }] } }] } } }), 201)
	expect(await client.post(`${core}/namespaces/default/pods`, { metadata: { name: "greedy" }, spec: {
		schedulerName: "nobody", resourceClaims: [{ name: "gpu", resourceClaimName: "odd" }], containers: [{ name: "main", image: "busybox", resources: { claims: [{ name: "gpu" }] } }] } }), 201)
}

await test("Waiting says which devices do not fit, on which nodes and why, and asks again only when something has changed", async () => {
	await makeGreedy(client)
	const page = await browser.page(await startedAgain(), {}), asked = []
	page.on("request", (r) => new URL(r.url()).pathname === "/ui/explain" && asked.push(new URL(r.url()).search))
	await page.goto(again.link)
	await live(page)
	await page.locator('[data-view="waiting"]').click()
	const fit = page.locator(".wait .fit")
	await fit.locator(".fit-answer", { hasText: "claims fit on 0 of 1 node" }).waitFor()
	assert.equal(await fit.locator(".fit-nodes a").textContent(), "n1")
	assert.match(await fit.locator(".fit-group").textContent(), /^node n1request big of claim default\/odd wants 2 devices of class gpu, \d fits?/)
	const reasons = await fit.locator(".reasons li").allTextContents()
	assert.ok(reasons.includes('1 device: selector of the request is false: device.attributes["gpu.sim.devplane.dev"].index == 1: gpu-0'), reasons.join("\n"))
	assert.deepEqual(asked, ["?namespace=default&pod=greedy&cluster=0"])
	await page.locator('[data-view="map"]').click()
	await page.locator('[data-view="waiting"]').click()
	assert.deepEqual(await violations(page), [])
	await shot(page, "waiting-fit")
	assert.equal(asked.length, 1, "nothing has changed")
	expect(await client.post(`${dra}/deviceclasses`, { metadata: { name: "another" }, spec: {} }), 201)
	await fit.locator("button", { hasText: "Explain again" }).click()
	await fit.locator("button").waitFor({ state: "detached" })
	assert.equal(asked.length, 2)
	await page.setViewportSize({ width: 360, height: 740 })
	assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth))
	await fit.locator(".reasons a", { hasText: "gpu-0" }).click()
	await page.locator("#detail-title", { hasText: "gpu-0" }).waitFor()
	await page.context().close()
	await again.stop()
})

for (const [width, colorScheme] of [[1360, "light"], [360, "dark"]])
	await test(`axe-core finds nothing on a page of devplane ui at ${width} px, ${colorScheme}`, async () => {
		const page = await browser.page(await startedAgain(), { viewport: { width, height: 740 }, colorScheme, expected: refusals })
		await page.goto(again.link)
		await live(page)
		assert.deepEqual(await violationsOfAll(page, gpus.key("gpu-1")), noViolations)
		await page.context().close()
		await again.stop()
	})

await test("of two clusters of a kubeconfig the browser shows one, and changes to the other", async () => {
	const second = await startServer("lmdb"), driver = "gpu.sim.devplane.dev"
	const slice = (name) => ({ metadata: { name }, spec: { driver, nodeName: "far", pool: { name, generation: 1, resourceSliceCount: 1 }, devices: [{ name: "gpu-0", attributes: { index: { int: 0 } } }] } })
	expect(await second.client.post(`${core}/nodes`, { metadata: { name: "far" } }), 201)
	expect(await second.client.post(`${dra}/resourceslices`, slice("near")), 201)
	await makeGreedy(second.client)
	const file = `${scratch}/two.kubeconfig`, both = [["a", server], ["b", second]], base64 = (data) => data.toString("base64")
	writeFileSync(file, JSON.stringify({
		apiVersion: "v1", kind: "Config", "current-context": "a",
		clusters: both.map(([name, s]) => ({ name, cluster: { server: s.url, "certificate-authority-data": base64(s.credentials.ca) } })),
		users: both.map(([name, s]) => ({ name, user: { "client-certificate-data": base64(s.credentials.cert), "client-key-data": base64(s.credentials.key) } })),
		contexts: both.map(([name]) => ({ name, context: { cluster: name, user: name } })),
	}))
	const many = await startUi(server, { kubeconfig: file, flags: ["--context", "a", "--context", "b"] })
	const page = await browser.page(many), paths = new Set()
	page.on("request", (r) => paths.add(/^(\/clusters\/\d+)?\/api/.exec(new URL(r.url()).pathname)?.[1] ?? (/^\/ui\//.test(new URL(r.url()).pathname) ? "ui" : r.url())))
	await page.goto(many.link)
	await looks(page, gpus.key("gpu-0"), "s-free")
	assert.deepEqual(await page.locator("#clusters option").allTextContents(), ["a", "b"])
	await page.locator("#clusters").selectOption("b")
	await looks(page, `${driver}/near/gpu-0`, "s-unpublished")
	assert.deepEqual([...paths].sort(), ["/clusters/0", "/clusters/1", "ui"])
	assert.equal(await page.evaluate(() => location.hash), "#cluster=b")
	await square(page, `${driver}/near/gpu-0`).click()
	await page.locator("#detail .command code", { hasText: "kubectl drain far --ignore-daemonsets --delete-emptydir-data --context b" }).waitFor()
	assert.deepEqual(await violations(page), [])
	await page.keyboard.press("Escape")
	assert.equal(await square(page, gpus.key("gpu-0")).count(), 0, "nothing of the first cluster is left")
	expect(await second.client.post(`${dra}/resourceslices`, slice("later")), 201)
	await looks(page, `${driver}/later/gpu-0`, "s-unpublished")
	await page.locator('[data-view="waiting"]').click()
	await page.locator(".fit-nodes a", { hasText: "far" }).waitFor()
	await page.locator(".wait .command code", { hasText: "devplane explain-fit pod/greedy -n default --context b" }).waitFor()
	await page.reload()
	await page.locator(".fit-nodes a", { hasText: "far" }).waitFor()
	await page.locator("#clusters").selectOption("a")
	await page.locator(".fit-nodes a", { hasText: "n1" }).waitFor()
	assert.equal(await page.locator(".fit-nodes a", { hasText: "far" }).count(), 0)
	await page.context().close()
	await many.stop()
	await second.stop()
})

await test("a pasted token logs in its user, with that user's rights", async () => {
	const token = await tokenWith(client, "viewer", [{ apiGroups: ["resource.k8s.io"], resources: ["resourceslices"], verbs: ["list", "watch"] }])
	const page = await browser.page(site, { expected: refusals })
	await page.goto(`${site.url}/`)
	await page.locator("#token").fill("wrong")
	await page.locator("#login-go").click()
	await page.locator("#login-error", { hasText: "does not know this token" }).waitFor()
	await page.locator("#token").fill(token)
	await page.locator("#login-go").click()
	await looks(page, gpus.key("gpu-0"), "s-free")
	assert.match(await page.locator("#user").textContent(), /serviceaccount:default:viewer/)
	await page.locator("#notes", { hasText: "pods" }).waitFor()
	await page.context().close()
})

await test("a page that knows a provider offers it, and others do not", async () => {
	const cluster = await startUi(server, { flags: ["--login-link=false", "--oidc-issuer-url", "https://127.0.0.1:1", "--oidc-client-id", "page", "--oidc-redirect-url", "https://page.example/ui/oidc/callback"] })
	for (const [where, there, command] of [[cluster, true, "devplane ui"], [site, false, "devplane ui"], [server, false, "devplane page"]]) {
		const page = await browser.page(where, { expected: refusals })
		await page.goto(`${where.url}/ui/#code=wrong`)
		await page.locator("#login-error", { hasText: `get a new one with: ${command}` }).waitFor()
		assert.equal(await page.locator("#login-oidc").isVisible(), there)
		assert.equal(await page.locator("#login-oidc").evaluate((a) => a.pathname), "/ui/oidc")
		assert.equal(await page.locator("#login-command").textContent(), command)
		assert.deepEqual(await violations(page), [])
		await page.context().close()
	}
	await cluster.stop()
})

await test("neither page nor browser complained", () => assertNoFaults(browser))
await browser.close()
await site.stop()
finish()
