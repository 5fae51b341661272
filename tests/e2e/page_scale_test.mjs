// The device page with 10,000 devices in a browser: all of them are counted and shown, it stays usable while claims change all
// the time, and no change is lost. How long it takes is printed, not judged: that is a matter of the machine.
import assert from "node:assert/strict"
import { core, dra, expect, startServer } from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { assertNoFaults, link, openBrowser, shot, skipWithoutBrowser } from "./page_lib.mjs"
import { startController } from "./scheduler_lib.mjs"

skipWithoutBrowser()

const NODES = Number(process.env.PAGE_NODES ?? 625), EACH = 16, CLAIMS = 300
const driver = "gpu.example.com"
const server = await startServer("lmdb")
const { client } = server
const claims = `${dra}/namespaces/default/resourceclaims`

// Many at a time, as the server likes it.
async function forEach(count, body, width = 32) {
	let next = 0
	await Promise.all(Array.from({ length: width }, async () => {
		while (next < count)
			await body(next++)
	}))
}

const slice = (i) => ({
	metadata: { name: `slice-${i}` },
	spec: {
		driver, nodeName: `node-${i}`, pool: { name: `node-${i}`, generation: 1, resourceSliceCount: 1 },
		devices: Array.from({ length: EACH }, (_, d) => ({
			name: `gpu-${d}`, attributes: { productName: { string: "Sim A100" }, index: { int: d } }, capacity: { memory: { value: "80Gi" } },
			...i % 50 === 7 && d === 3 ? { taints: [{ key: `${driver}/unhealthy`, effect: "NoSchedule" }] } : {},
		})),
	},
})
const allocation = (node, device) => ({ devices: { results: [{ request: "gpu", driver, pool: `node-${node}`, device: `gpu-${device}` }] } })
const allocate = async (i, node, device) => expect(await client.patch(`${claims}/c${i}/status`, { status: { allocation: node === undefined ? null : allocation(node, device) } }, "merge"), 200)

await forEach(NODES, async (i) => expect(await client.post(`${dra}/resourceslices`, slice(i)), 201))
await forEach(CLAIMS, async (i) => {
	expect(await client.post(claims, { metadata: { name: `c${i}` }, spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] } } }), 201)
	await allocate(i, i, 0)
})
await startController({ server }, "--controllers", "resourceslice-status-controller")
await until("states of all devices", async () => (await client.get(`${dra}/resourceslices`)).body.items.every((s) => s.status?.observedGeneration === s.metadata.generation), 120)

const browser = await openBrowser()
const page = await browser.page(server)
await page.addInitScript(() => {
	window.seen = { tasks: [], gaps: [], firstMap: 0 }
	new PerformanceObserver((list) => window.seen.tasks.push(...list.getEntries().map((e) => e.duration))).observe({ type: "longtask", buffered: true })
	new MutationObserver((_, self) => {
		if (document.querySelector("#map .d")) {
			window.seen.firstMap = performance.now()
			self.disconnect()
		}
	}).observe(document, { childList: true, subtree: true })
	let last = performance.now()
	requestAnimationFrame(function frame(now) {
		window.seen.gaps.push(now - last)
		last = now
		requestAnimationFrame(frame)
	})
})
// CPU time of the page's main thread so far, in ms. Unlike the clock's time it does not depend on other processes.
const cdp = await page.context().newCDPSession(page)
await cdp.send("Performance.enable", { timeDomain: "threadTicks" })
async function work() {
	const all = Object.fromEntries((await cdp.send("Performance.getMetrics")).metrics.map((m) => [m.name, m.value * 1000]))
	return [all.ScriptDuration, all.RecalcStyleDuration + all.LayoutDuration, all.TaskDuration]
}
async function worked(before = [0, 0, 0]) {
	const [script, layout, task] = (await work()).map((ms, i) => Math.round(ms - before[i]))
	return `work of the page's thread: ${script} ms in scripts, ${layout} ms in style and layout, ${task} ms in all`
}
const stat = async (name) => Number((await page.locator(`.stat-${name} strong`).textContent()).replace(/\D/g, ""))
const summary = (all) => {
	const sorted = [...all].sort((a, b) => a - b), at = (part) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0)
	return `median ${at(0.5)} ms, 99% ${at(0.99)} ms, most ${at(1)} ms`
}

await test("10,000 devices are shown", async () => {
	await page.goto(await link(server))
	await page.locator("#map .d").first().waitFor()
	assert.equal(await stat("devices"), NODES * EACH)
	assert.equal(await stat("allocated"), CLAIMS)
	assert.equal(await page.locator("#map .block").count(), NODES)
	const times = await page.evaluate(() => {
		const lists = performance.getEntriesByType("resource").filter((e) => /limit=/.test(e.name))
		return { data: Math.max(...lists.map((e) => e.responseEnd)), map: window.seen.firstMap, built: document.querySelectorAll("#map .d").length, tasks: window.seen.tasks }
	})
	console.log(`# ${NODES * EACH} devices: data after ${Math.round(times.data)} ms, map ${Math.round(times.map - times.data)} ms later; ${times.built} squares were drawn; long tasks: ${times.tasks.map(Math.round).join(", ") || "none"} ms; ${await worked()}`)
	await shot(page, "scale-light")
})

await test("a far device is found, by keys and by words", async () => {
	await page.locator("#map .d").first().focus()
	await page.keyboard.press("End")
	assert.equal(await page.evaluate(() => document.activeElement.dataset.key), `${driver}/node-${NODES - 1}/gpu-${EACH - 1}`)
	await page.keyboard.press("/")
	await page.keyboard.type("node:node-333 gpu-7")
	await until("one device", async () => (await page.locator("#map .block:visible .d:not(.out)").count()) === 1)
	await page.keyboard.press("Escape")
	await until("all blocks", async () => (await page.locator("#map .block:visible").count()) === NODES)
	await page.locator('[data-view="list"]').click()
	assert.ok(await page.locator(".rows .row").count() < 100, "only rows that can be seen exist")
	assert.equal(await page.locator(".table").getAttribute("aria-rowcount"), String(NODES * EACH + 1))
	await page.locator('[data-view="map"]').click()
})

await test("while 200 claims a second change, it answers and loses none", async () => {
	await page.evaluate(() => {
		scrollTo(0, 0)
		window.seen.tasks.length = window.seen.gaps.length = 0
	})
	const rounds = 1000, before = await work(), began = Date.now()
	let done = 0, over = false
	const storm = forEach(rounds, async (n) => {
		const wait = began + n * 5 - Date.now()
		if (wait > 0)
			await new Promise((resolve) => setTimeout(resolve, wait))
		const i = n % CLAIMS, round = Math.floor(n / CLAIMS)
		await allocate(i, round % 2 ? i : undefined, 0)
		done++
	}, 16).then(() => (over = true))
	let clicks = 0
	while (!over) {
		const n = clicks % 12
		await page.locator(`#map .d[data-key="${driver}/node-${n}/gpu-1"]`).click()
		await page.locator("#detail-title", { hasText: "gpu-1" }).waitFor()
		await until("an answer", async () => (await page.locator("#detail .pairs dd").nth(1).textContent()) === `node-${n}`)
		clicks++
	}
	await storm
	const took = (Date.now() - began) / 1000
	// The page must show the last change of each claim: one that changed an odd number of times holds nothing.
	const held = new Set((await client.get(claims)).body.items.filter((c) => c.status?.allocation).map((c) => c.metadata.name)).size
	await until("the right number", async () => (await stat("allocated")) === held)
	const seen = await page.evaluate(() => window.seen)
	console.log(`# ${done} changes in ${took.toFixed(1)} s (${Math.round(done / took)}/s), ${clicks} clicks answered; frames: ${summary(seen.gaps)}; long tasks: ${seen.tasks.length}, ${summary(seen.tasks)}; ${await worked(before)}`)
	const drawn = await page.evaluate(() => [...document.querySelectorAll("#map .d.s-allocated")].map((g) => g.dataset.key))
	const truth = new Set((await client.get(claims)).body.items.flatMap((c) => c.status?.allocation?.devices.results.map((r) => `${r.driver}/${r.pool}/${r.device}`) ?? []))
	assert.ok(clicks > 0)
	assert.deepEqual(drawn.filter((k) => !truth.has(k)), [])
})

await test("in groups of holders devices move while claims change, and none is lost", async () => {
	const group = async (name, blocks) => {
		const before = await work()
		await page.locator("#group").selectOption(name)
		await until(`groups of ${name}`, async () => blocks(await page.locator("#map .block").count()))
		console.log(`# grouped by ${name}: ${await worked(before)}`)
	}
	await group("rack", (n) => n === 1)
	await group("model", (n) => n === 1)
	await group("holder", (n) => n > 1)
	const before = await work()
	await forEach(CLAIMS, (n) => allocate(n, n % 3 ? n : undefined, 0), 8)
	const held = CLAIMS - CLAIMS / 3
	await until("a block for each claim that holds a device, and one for the others", async () => (await page.locator("#map .block").count()) === held + 1, 60)
	assert.equal(await stat("allocated"), held)
	console.log(`# ${CLAIMS} changes in groups of holders; ${await worked(before)}`)
	assert.deepEqual((await page.locator(".block-name").allTextContents()).sort(), ["nobody", ...Array.from({ length: CLAIMS }, (_, i) => i).filter((i) => i % 3).map((i) => `default/c${i}`)].sort())
	await group("node", (n) => n === NODES)
})

await test("nothing was said to the console, forbidden or asked of others", () => assertNoFaults(browser))

await browser.close()
await server.kill()
finish()
