// The device page's views in a browser: groups, names that lead somewhere, the list and its files, commands, the timeline, a narrow screen,
// and what axe-core says of each. Slices and claims are the test's own; nobody schedules.
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { DRIVER, device, share, shared, startDevices } from "./availability_lib.mjs"
import { core, dra, expect } from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { assertNoFaults, looks, openBrowser, shot, skipWithoutBrowser, square, violations, visit } from "./page_lib.mjs"

skipWithoutBrowser()

const cluster = await startDevices()
const { client, server } = cluster
const rack = "topology.kubernetes.io/rack", zone = "topology.kubernetes.io/zone"
await cluster.slice("a", { node: "n1", devices: [device("gpu-0"), device("accelerator-with-a-name-0"), device("gpu-2", { taints: [{ key: "repair", effect: "NoSchedule" }] })] })
await cluster.slice("b", { node: "n2", devices: [shared("gpu-0"), device("gpu-1", { attributes: { model: { string: "Sim H100" }, formula: { string: '=HYPERLINK("x")' } } })] })
await cluster.slice("c", { pool: "rack-7", devices: [device("link-0")] })
for (const [node, labels] of [["n1", { [zone]: "z1" }], ["n2", { [zone]: "z2", "example.com/row": "r9" }]])
	expect(await client.patch(`${core}/nodes/${node}`, { metadata: { labels } }, "merge"), 200)
for (const name of ["team-a", "team-b"])
	expect(await client.post(`${core}/namespaces`, { metadata: { name } }), 201)
await cluster.claim("team-a", "train", [{ pool: "n1", device: "gpu-0" }])
await cluster.claim("team-a", "part", [share("n2", "gpu-0", "30Gi")])
await cluster.claim("team-b", "part", [share("n2", "gpu-0", "20Gi")])
const controller = await cluster.controller()
await cluster.status("b", (s) => s?.devices[0].allocations?.length === 2)
expect(await client.post(`${core}/namespaces/default/pods`, {
	metadata: { name: "greedy" },
	spec: { schedulerName: "nobody", resourceClaims: [{ name: "gpu", resourceClaimName: "missing" }], containers: [{ name: "main", image: "busybox", resources: { claims: [{ name: "gpu" }] } }] },
}), 201)
expect(await client.patch(`${core}/namespaces/default/pods/greedy/status`, { status: { conditions: [{
	type: "PodScheduled", status: "False", reason: "Unschedulable",
	message: "0/2 nodes are available: 1 cannot allocate all claims, 1 node(s) had untolerated taint {a: b}. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
}] } }, "merge"), 200)

const browser = await openBrowser()
const page = await visit(browser, server)
const key = (pool, name) => `${DRIVER}/${pool}/${name}`
const titles = () => page.locator(".block-name").allTextContents()
const group = (name) => page.locator("#group").selectOption(name)
await looks(page, key("n1", "gpu-0"), "s-allocated")

await test("devices are grouped by who has them, by model and by a label of their node", async () => {
	await group("namespace")
	assert.deepEqual(await titles(), ["team-a", "nobody", "several namespaces"])
	await group("holder")
	assert.deepEqual(await titles(), ["team-a/train", "nobody", "several holders"])
	await group("model")
	assert.deepEqual(await titles(), ["a100", "Sim H100"])
	await group("rack")
	assert.equal(await page.locator("#rack").inputValue(), zone, "no node has a rack")
	assert.deepEqual(await titles(), ["z1", "z2", "no rack"])
	await page.locator("#rack").fill("example.com/row")
	await page.locator("#rack").press("Enter")
	await until("rows", async () => (await titles()).join() === "r9,no rack")
	assert.match(await page.evaluate(() => location.hash), /group=rack&label=example.com/)
	expect(await client.patch(`${core}/nodes/n1`, { metadata: { labels: { "example.com/row": "r8" } } }, "merge"), 200)
	await until("a node in another rack", async () => (await titles()).join() === "r8,r9,no rack")
	expect(await client.patch(`${core}/nodes/n1`, { metadata: { labels: { [rack]: "k1" } } }, "merge"), 200)
	await group("node")
	assert.deepEqual(await titles(), ["n1", "n2", "rack-7"])
	await page.evaluate(() => (location.hash = ""))
})

await test("names lead to what has them, and to nothing whose name begins alike", async () => {
	const shown = () => page.locator("#map .block:visible .section:visible .d:not(.out)").evaluateAll((all) => all.map((g) => g.dataset.key).sort())
	await page.locator(".block-name a", { hasText: "n1" }).click()
	await until("n1", async () => (await shown()).join() === [key("n1", "accelerator-with-a-name-0"), key("n1", "gpu-0"), key("n1", "gpu-2")].join())
	assert.equal(await page.locator("#search").inputValue(), 'node:"n1"')
	await page.locator("#search").fill('node:"n"')
	await until("none", async () => (await shown()).length === 0)
	await page.locator("#search").fill("node:n")
	await until("all of nodes", async () => (await shown()).length === 5)
	await page.locator("#search").fill('rack:"k1"')
	await until("those of a rack", async () => (await shown()).length === 3)
	await page.locator("#search").fill("")
	await square(page, key("n2", "gpu-1")).click()
	await page.locator("#detail .pairs a", { hasText: "Sim H100" }).first().click()
	await until("a model", async () => (await shown()).join() === key("n2", "gpu-1"))
	await page.locator("#search").fill("")
	await page.keyboard.press("Escape")
})

await test("no name is cut where there is room", async () => {
	const cut = (selector) => page.locator(selector).evaluateAll((all) => all.filter((n) => n.offsetParent && n.scrollWidth > n.clientWidth + 1).map((n) => n.textContent))
	assert.deepEqual(await cut(".block-name, .block-note, .section-name"), [])
	assert.ok((await page.locator("#map .caption").allTextContents()).includes("accelerator-with-a-name-0"))
	await page.setViewportSize({ width: 1700, height: 860 })
	await page.locator('[data-view="list"]').click()
	await page.locator(".rows .row").first().waitFor()
	assert.deepEqual(await cut(".row:not(.head) .cell:not(.c-message):not(.c-holder)"), [])
})

await test("the list says model, capacity and message, and leaves out columns without anything", async () => {
	assert.deepEqual(await page.locator(".row.head .cell:visible").allTextContents(), ["Device", "Node", "Pool", "Driver", "Model", "State", "Health", "Capacity", "Held by"])
	const row = page.locator(".rows .row", { has: page.locator(".c-capacity", { hasText: "memory 30Gi free of 80Gi" }) })
	assert.equal(await row.locator(".c-holder").textContent(), "team-a/part, team-b/part")
	assert.equal(await row.locator(".c-model").textContent(), "a100")
})

const saved = async (button) => {
	const [file] = await Promise.all([page.waitForEvent("download"), page.locator(".list-head button", { hasText: button }).click()])
	return [file.suggestedFilename(), readFileSync(await file.path(), "utf8")]
}

await test("what is shown can be saved, as CSV and as JSON", async () => {
	await page.locator("#search").fill("n2")
	const [name, csv] = await saved("CSV")
	assert.equal(name, "devices.csv")
	const lines = csv.trimEnd().split("\r\n")
	assert.equal(lines.length, 3)
	assert.equal(lines[0], '"driver","pool","device","node","model","state","reason","health","message","since","held by","pods","capacity"')
	assert.equal(lines[1], `"${DRIVER}","n2","gpu-0","n2","a100","partly used","","health not reported","","","team-a/part, team-b/part","","memory 30Gi free of 80Gi"`)
	const [, json] = await saved("JSON")
	const all = JSON.parse(json)
	assert.deepEqual(all.map((d) => `${d.device} ${d.state} ${d.holders.length}`), ["gpu-0 partial 2", "gpu-1 free 0"])
	assert.equal(all[1].attributes.formula, '=HYPERLINK("x")')
	await page.locator("#search").fill("")
	await page.locator('[data-view="map"]').click()
})

await test("the detail has commands that work", async () => {
	await square(page, key("n1", "gpu-0")).click()
	const commands = await page.locator("#detail .command code").allTextContents()
	assert.deepEqual(commands.slice(0, 3), [`devplane describe device ${key("n1", "gpu-0")}`, "kubectl describe node n1", "kubectl drain n1 --ignore-daemonsets --delete-emptydir-data"])
	const [, rule] = /^echo '(.*)' \| kubectl create -f -$/.exec(commands[3])
	expect(await client.post(`${dra}/devicetaintrules`, JSON.parse(rule)), 201)
	await page.locator("#detail .part li", { hasText: "example.com/repair:NoSchedule by rule repair-" }).waitFor()
	await page.keyboard.press("Escape")
})

await test("changes that the controller keeps are on the timeline, and it says since when", async () => {
	expect(await client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
		metadata: { name: "devicehistories.devplane.dev" },
		spec: {
			group: "devplane.dev", scope: "Cluster", names: { kind: "DeviceHistory", plural: "devicehistories" },
			versions: [{ name: "v1alpha1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } } }],
		},
	}), 201)
	const change = (minutes, field, from, to, more) => ({ time: new Date(Date.now() - minutes * 60_000).toISOString(), field, from, to, ...more })
	await until("the definition", async () => (await client.post("/apis/devplane.dev/v1alpha1/devicehistories", {
		apiVersion: "devplane.dev/v1alpha1", kind: "DeviceHistory", metadata: { name: "pool-1" }, spec: { driver: DRIVER, pool: { name: "n2" } },
		status: { devices: [{ name: "gpu-1", omittedChanges: 3, changes: [
			change(300, "state", "Available", "Allocated", { holder: "team-a/night" }), change(120, "health", "Healthy", "Unhealthy", { message: "Xid 79", holder: "team-a/night" }),
			change(60, "health", "Unhealthy", "Healthy", {}), change(59, "state", "Allocated", "Available", { holder: "team-a/night" }),
		] }] },
	})).code === 201)
	// Discovery finds it, without a reload.
	await square(page, key("n2", "gpu-1")).click()
	await page.locator("#detail .story li", { hasText: "unhealthyXid 79" }).waitFor({ timeout: 60_000 })
	assert.deepEqual(await page.locator("#detail .lane-name").allTextContents(), ["health", "state"])
	assert.equal(await page.locator("#detail .timeline .span.unhealthy").count(), 1)
	await page.locator("#detail .timeline .span.of-allocated title", { hasText: "claim team-a/night" }).waitFor({ state: "attached" })
	assert.ok(await page.locator("#detail .timeline .axis").count() >= 3, "an axis")
	await page.locator("#detail p", { hasText: /^Known since .*: the controller keeps the last changes of this device\. 3 older changes were dropped\.$/ }).waitFor()
	await shot(page, "history")
	await page.keyboard.press("Escape")
})

await test("History has the dashboard's panels for the last hours, with an axis, a cursor for keys, and tables", async () => {
	await page.locator('[data-view="history"]').click()
	const panel = (title) => page.locator(".panel", { has: page.locator("h2", { hasText: title }) })
	await panel("Devices by state").locator(".plot").waitFor()
	const dashboard = JSON.parse(readFileSync(new URL("../../monitoring/dashboard.json", import.meta.url), "utf8")).panels.map((p) => p.title)
	const shown = await page.locator(".panel h2").allTextContents()
	assert.deepEqual(shown.filter((title) => !dashboard.includes(title)), [], "titles of other panels than the dashboard's")
	assert.equal(shown.length, 4)
	assert.ok(await panel("Devices by state").locator(".chart .axis").count() >= 5, "axes")
	const lines = (title) => panel(title).locator(".panel-lines li").evaluateAll((all) => all.map((n) => `${n.querySelector("span").textContent} ${n.querySelector("strong").textContent}`))
	assert.deepEqual(await lines("Devices by state"), ["free 3", "partly used 1", "allocated 1", "unavailable 1", "not known 0"])
	assert.deepEqual(await lines("Changes of health"), ["to healthy 0", "to unhealthy 0"])
	// Two hours ago the device of n2 had failed; an hour later it was healthy, and one minute later free.
	const plot = panel("Devices held by namespace").locator(".plot")
	await plot.focus()
	for (let i = 0; i < 15; i++)
		await page.keyboard.press("ArrowLeft")
	assert.match(await plot.getAttribute("aria-valuetext"), /^\d\d:\d\d:\d\d: team-a 3$/)
	assert.deepEqual(await lines("Devices by health"), ["healthy 0", "unhealthy 1", "not reported 5", "not known 0"])
	await page.keyboard.press("End")
	assert.match(await plot.getAttribute("aria-valuetext"), /^now: team-a 2$/)
	await page.keyboard.press("Home")
	assert.ok(await panel("Devices by state").locator(".cursor").getAttribute("d"))
	const table = panel("Changes of health").locator("table")
	await panel("Changes of health").locator("summary").click()
	// The page makes the table after the click, in an event of its own.
	await table.locator("tbody tr").first().waitFor()
	assert.equal(await table.locator("tbody tr").count(), 60)
	assert.deepEqual((await table.locator("tbody td").allTextContents()).filter((x) => x !== "0"), ["1", "1"])
	await page.locator("#range").selectOption("1h")
	await panel("Changes of health").locator(".panel-none", { hasText: "No health has changed." }).waitFor()
	assert.match(await page.evaluate(() => location.hash), /range=1h/)
	await page.locator("#search").fill("n1")
	await until("devices of a node", async () => (await lines("Devices by state")).join() === "free 1,allocated 1,unavailable 1")
	await page.locator("#search").fill("")
	await until("all devices", async () => (await lines("Devices by state")).length > 3)
	await shot(page, "panels")
	await page.locator('[data-view="map"]').click()
})

await test("Waiting takes the scheduler's message apart", async () => {
	await page.locator('[data-view="waiting"]').click()
	assert.deepEqual(await page.locator(".reasons li").allTextContents(), ["1 node: cannot allocate all claims", "1 node: had untolerated taint {a: b}"])
	assert.match(await page.locator(".why").textContent(), /it fits on 0 of 2 nodes:.*Preemption: Preemption is not helpful for scheduling$/)
	assert.deepEqual(await page.locator(".wait .command code").allTextContents(), ["devplane explain-fit pod/greedy -n default"])
	await page.locator(".fit .fit-answer", { hasText: "pod default/greedy waits: claim default/missing does not exist" }).waitFor()
	assert.equal(await page.locator("#waiting > p").count(), 0)
	await shot(page, "waiting-parts")
	await page.locator('[data-view="map"]').click()
})

for (const width of [1360, 360])
	for (const colorScheme of ["light", "dark"])
		await test(`axe-core finds nothing at ${width} px, ${colorScheme}`, async () => {
			const other = await visit(browser, server)
			await other.emulateMedia({ colorScheme })
			await other.setViewportSize({ width, height: 740 })
			const found = {}
			for (const view of ["map", "list", "waiting", "history"]) {
				await other.locator(`[data-view="${view}"]`).click()
				await other.locator({ map: "#map .d", list: ".rows .row", waiting: ".wait", history: ".panel .plot" }[view]).first().waitFor()
				if (view === "history")
					await other.locator(".panel summary").first().click()
				found[view] = await violations(other)
			}
			await other.locator('[data-view="map"]').click()
			if (width < 640)
				await other.locator("#fold").click()
			await square(other, key("n2", "gpu-1")).click()
			await other.locator("#detail .timeline").waitFor()
			found.detail = await violations(other)
			await other.keyboard.press("Escape")
			await other.locator("#logout").click()
			await other.locator("#login-go").waitFor()
			found.login = await violations(other)
			assert.deepEqual(found, { map: [], list: [], waiting: [], history: [], detail: [], login: [] })
			await other.context().close()
		})

await test("on a narrow screen the legend is folded, and devices have three quarters of the height", async () => {
	for (const height of [640, 740]) {
		await page.setViewportSize({ width: 360, height })
		await page.evaluate(() => scrollTo(0, 0))
		for (const view of ["map", "list", "waiting", "history"]) {
			await page.locator(`[data-view="${view}"]`).click()
			const top = await page.locator("main").evaluate((n) => n.getBoundingClientRect().top)
			assert.ok(top <= height / 4, `${view}: the top takes ${top} of ${height}`)
			assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), view)
		}
	}
	await page.locator('[data-view="map"]').click()
	assert.equal(await page.locator("#legend").isVisible(), false)
	await page.locator("#fold").click()
	assert.equal(await page.locator("#fold").getAttribute("aria-expanded"), "true")
	await page.locator('[data-filter="state-free"]').click()
	assert.equal(await page.locator("#map .d.s-allocated:not(.out)").count(), 0)
	await shot(page, "narrow")
	await page.keyboard.press("Escape")
})

await test("nothing was said to the console, forbidden or asked of others", () => assertNoFaults(browser))

await controller.stop()
await browser.close()
finish()
