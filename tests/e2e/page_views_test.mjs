// The device page's views in a browser: groups, names that lead somewhere, the list and its files, commands, the timeline, a narrow screen,
// and what axe-core says of each. Slices and claims are the test's own; nobody schedules.
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { DRIVER, device, share, shared, startDevices } from "./availability_lib.mjs"
import { core, dra, expect } from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { assertNoFaults, keepHistory, looks, makeUnschedulable, noViolations, openBrowser, shot, skipWithoutBrowser, square, violationsOfAll, visit } from "./page_lib.mjs"

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
await makeUnschedulable(client, "greedy", "0/2 nodes are available: 1 cannot allocate all claims, 1 node(s) had untolerated taint {a: b}. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.")

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

await test("without a history of devices History shows the figures of now, and says why", async () => {
	await page.locator('[data-view="history"]').click()
	await page.locator(".panels-head p", { hasText: "The controller keeps no history of devices in this cluster" }).waitFor()
	assert.equal(await page.locator(".panel").count(), 13)
	assert.equal(await page.locator(".plot").count(), 0)
	assert.equal(await page.locator('.panel[aria-label="Devices"] strong').textContent(), "6")
	await page.locator('[data-view="map"]').click()
})

await test("changes that the controller keeps are on the timeline, and it says since when", async () => {
	await keepHistory(client, DRIVER, "n2", [{ name: "gpu-1", omittedChanges: 3, changes: [
		[300, "state", "Available", "Allocated", { holder: "team-a/night" }], [120, "health", "Healthy", "Unhealthy", { message: "Xid 79", holder: "team-a/night" }],
		[60, "health", "Unhealthy", "Healthy"], [59, "state", "Allocated", "Available", { holder: "team-a/night" }],
	] }])
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
	const dashboard = JSON.parse(readFileSync(new URL("../../monitoring/dashboard.json", import.meta.url), "utf8")).panels.filter((p) => p.type !== "row").map((p) => p.title)
	// All panels of the dashboard in its order, but for those that docs/page.md names.
	const elsewhere = ["Age of these numbers", "Time to allocation", "Age of outdated statuses", "Time to publish a change", "Queues of the controller", "Memory by role"]
	assert.deepEqual(await page.locator(".panel h2").allTextContents(), dashboard.filter((title) => !elsewhere.includes(title)))
	const documented = readFileSync(new URL("../../docs/page.md", import.meta.url), "utf8")
	assert.deepEqual(dashboard.filter((title) => !documented.includes(`| ${title} |`)), [], "panels that the documentation does not name")
	assert.ok(await panel("Devices by state").locator(".chart .axis").count() >= 5, "axes")
	const lines = (title) => panel(title).locator(".panel-lines li").evaluateAll((all) => all.map((n) => `${n.querySelector("span").textContent} ${n.querySelector("strong").textContent}`))
	assert.deepEqual(await lines("Devices by state"), ["free 3", "partly used 1", "allocated 1", "unavailable 1", "not known 0"])
	assert.deepEqual(await lines("Changes of health"), ["to healthy 0", "to unhealthy 0"])
	assert.deepEqual(await lines("Free devices by pool"), [`${DRIVER} n1 1`, `${DRIVER} n2 2`, `${DRIVER} rack-7 1`])
	assert.deepEqual(await lines("Utilization by driver"), [`${DRIVER} 33.3 %`])
	assert.deepEqual(await lines("Device hours per hour by namespace"), ["team-a 2"])
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
	assert.deepEqual(await lines("Utilization by driver"), [`${DRIVER} 40 %`], "2 of the 5 devices that are known so early")
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

await test("the panels of now show what the controller's metrics say", async () => {
	const others = [["new", "", ""], ["gated", "Scheduling is blocked due to non-empty scheduling gates", "SchedulingGated"], ["claim", 'waiting for resource claim "missing"'], ["error", "oh", "SchedulerError"], ["other", "2 Insufficient cpu"]]
	for (const [name, ...why] of others)
		await makeUnschedulable(client, name, ...why)
	expect(await client.post(`${dra}/devicetaintrules`, { metadata: { name: "broken", labels: { "devplane.dev/managed-by": "device-health-taints" } }, spec: {
		deviceSelector: { driver: DRIVER, pool: "rack-7", device: "link-0" }, taint: { key: "devplane.dev/unhealthy", effect: "NoSchedule" } } }), 201)
	await page.locator('[data-view="history"]').click()
	const panel = (title) => page.locator(`.panel[aria-label="${title}"]`)
	const list = (title) => panel(title).locator("li").evaluateAll((all) => all.map((n) => `${n.querySelector("span").textContent} ${n.querySelector("strong, time").textContent}`))
	const wanted = { "Devices": "6", "Free": "3", "Allocated": "16.7 %", "Unhealthy": "0", "Pods that lack devices": "1" }
	let shown
	await until("the figures", async () => {
		shown = Object.fromEntries(await Promise.all(Object.keys(wanted).map(async (title) => [title, await panel(title).locator("strong").textContent()])))
		return JSON.stringify(shown) === JSON.stringify(wanted)
	}, 60).catch((e) => assert.deepEqual(shown, wanted, e.message))
	assert.deepEqual(await list("Free capacity of shared devices"), [`${DRIVER} memory 30Gi`])
	assert.deepEqual(await list("Utilization of shared devices"), [`${DRIVER} memory 62.5 %`])
	assert.deepEqual(await list("Shares by pool"), [`${DRIVER} n2 2`])
	assert.deepEqual(await list("Tainted because unhealthy"), ["tainted 1"])
	const reasons = ["not tried yet", "scheduling gates", "no device", "a claim is missing or in use", "the scheduler failed", "something else"]
	await until("all reasons", async () => (await list("Waiting pods by reason")).join() === reasons.map((name) => `${name} 1`).join(), 60)
	assert.deepEqual((await list("Longest wait by reason")).map((l) => l.replace(/ \d+ \w+$/, "")), reasons)
	for (const title of ["Faults of pools", "Oldest claim by state"])
		await panel(title).locator(".panel-none", { hasText: "None." }).waitFor()
	// The controller counts the same; its metrics are brought up to date now and then.
	const sum = (text, pattern) => [...text.matchAll(new RegExp(`^${pattern} (\\S+)$`, "gm"))].reduce((n, [, value]) => n + Number(value), 0)
	const metrics = { "devplane_devices\\{.*\\}": 6, 'devplane_devices\\{.*state="(?:Available|PartiallyAllocated)".*\\}': 3, 'devplane_devices\\{.*state="Allocated".*\\}': 1,
		'devplane_device_free_capacity\\{.*\\}': 30 * 2 ** 30, 'devplane_device_capacity\\{.*\\}': 80 * 2 ** 30, 'devplane_device_shares\\{.*pool="n2".*\\}': 2,
		...Object.fromEntries(["NotTried", "Gated", "NoDevice", "Claim", "SchedulerError", "Other"].map((reason) => [`devplane_waiting_pods\\{reason="${reason}"\\}`, 1])) }
	let said
	await until("the same metrics", async () => {
		const text = await controller.metrics()
		said = Object.fromEntries(Object.keys(metrics).map((pattern) => [pattern, sum(text, pattern)]))
		return JSON.stringify(said) === JSON.stringify(metrics)
	}, 60).catch((e) => assert.deepEqual(said, metrics, e.message))
	await page.locator("#search").fill("rack-7")
	await panel("Devices").locator("strong", { hasText: /^1$/ }).waitFor()
	await panel("Shares by pool").locator(".panel-none", { hasText: "No device can be shared." }).waitFor()
	await page.locator("#search").fill("")
	expect(await client.delete(`${dra}/devicetaintrules/broken`), 200)
	for (const [name] of others)
		expect(await client.delete(`${core}/namespaces/default/pods/${name}`), 200)
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
			assert.deepEqual(await violationsOfAll(other, key("n2", "gpu-1")), noViolations)
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
