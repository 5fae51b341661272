// A browser for the device page, and a cluster with something to see: what the page_*_test.mjs share. Debian's chromium by
// playwright-core; whatever the page says to the console, whatever its policy forbids and whatever it asks of others is kept,
// and is a fault.
//
//	const browser = await openBrowser()
//	const page = await browser.page(server)
//	await page.goto(await link(server))
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { chromium } from "playwright-core"
import { dra, expect } from "./api_lib.mjs"
import { devplane, start, until } from "./lib.mjs"

const executablePath = "/usr/bin/chromium"
const shots = process.env.PAGE_SHOTS

export const hasBrowser = existsSync(executablePath)

export function skipWithoutBrowser() {
	if (hasBrowser)
		return
	console.log("ok 1 - a browser # SKIP there is no chromium here")
	console.log("1..1")
	process.exit(0)
}

export async function openBrowser(...flags) {
	const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", ...flags] })
	const self = { faults: [] }
	// Options: those of a context (viewport, colorScheme, reducedMotion); expected: a pattern of console messages that are no fault.
	self.page = async (server, { expected, ...options } = {}) => {
		const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1360, height: 860 }, locale: "en-GB", ...options })
		const page = await context.newPage()
		const { origin } = new URL(server.url)
		page.expected = expected
		page.on("console", (m) => {
			// An interface of the machine came or went: the browser drops its connections, and the page makes new ones.
			if (!page.expected?.test(m.text()) && !/ERR_NETWORK_CHANGED/.test(m.text()))
				self.faults.push(`console ${m.type()}: ${m.text()}`)
		})
		page.on("pageerror", (e) => self.faults.push(`error: ${e.stack}`))
		page.on("request", (r) => {
			if (!/^(data|blob):/.test(r.url()) && new URL(r.url()).origin !== origin)
				self.faults.push(`request to ${r.url()}`)
		})
		page.on("requestfailed", (r) => (page.disturbed ||= /ERR_NETWORK_CHANGED/.test(r.failure()?.errorText)))
		await page.addInitScript(() => {
			document.addEventListener("securitypolicyviolation", (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`))
		})
		return page
	}
	self.close = () => browser.close()
	return self
}

// A link that works once, for whoever asks.
export async function link(server, client = server.client) {
	const { code } = expect(await client.post("/ui/link", {}), 201)
	return `${server.url}/ui/#code=${code}`
}

// The page with all its data, by a link. An interface of the machine that comes or goes meanwhile breaks requests: then it is opened again.
export async function visit(browser, server) {
	for (let tries = 10; ; tries--) {
		const page = await browser.page(server)
		try {
			await page.goto(await link(server))
			await page.locator('#live[data-state="live"]').waitFor()
			return page
		} catch (e) {
			if (!page.disturbed || tries === 0)
				throw e
			await page.context().close()
		}
	}
}

// A picture for people, when somebody wants to look.
export async function shot(page, name, options = {}) {
	if (!shots)
		return
	mkdirSync(shots, { recursive: true })
	await page.screenshot({ path: `${shots}/${name}.png`, animations: "disabled", ...options })
}

export const square = (page, key) => page.locator(`#map .d[data-key="${key}"]`)

// The square is there and looks so: "s-allocated h-healthy".
export async function looks(page, key, classes) {
	await square(page, key).and(page.locator(classes.split(" ").map((c) => `.${c}`).join(""))).waitFor({ state: "attached", timeout: 60_000 })
}

// The simulated vendor on a node, with the right to write into claims; sim("fail", "gpu-0") and so on.
export async function startVendor(server, node, kind, devices) {
	const own = start("driver", "sim", "--kubeconfig", server.kubeconfig, "--node-name", node.name, "--root-dir", node.root, "--cdi-dir", `${node.root}/cdi`,
		"--kind", kind, "--devices", String(devices), "--log-format", "text", "--metrics-bind-address", "127.0.0.1:0")
	await until(`${kind} driver`, () => own.out.includes("health and metrics at"))
	const name = `${kind}.sim.devplane.dev`
	const sim = (...args) => execFileSync(devplane, ["driver", "sim", ...args, "--root-dir", node.root, "--name", name], { encoding: "utf8" })
	return { name, sim, process: own, key: (device) => `${name}/${node.name}/${device}` }
}

// A class for each kind, and a template for one of it.
export async function makeClasses(client, ...kinds) {
	for (const kind of kinds) {
		const selectors = [{ cel: { expression: `device.driver == "${kind}.sim.devplane.dev"` } }]
		expect(await client.post(`${dra}/deviceclasses`, { metadata: { name: kind }, spec: { selectors } }), 201)
		expect(await client.post(`${dra}/namespaces/default/resourceclaimtemplates`, {
			metadata: { name: `one-${kind}` },
			spec: { spec: { devices: { requests: [{ name: kind, exactly: { deviceClassName: kind } }] } } },
		}), 201)
	}
}

export const claimsOf = (...kinds) => ({
	resourceClaims: kinds.map((kind) => ({ name: kind, resourceClaimTemplateName: `one-${kind}` })),
	main: { image: "busybox", resources: { claims: kinds.map((name) => ({ name })) } },
})

// The token of a service account with these rules everywhere, and no other rights.
export async function tokenWith(client, name, rules) {
	const accounts = "/api/v1/namespaces/default/serviceaccounts", rbac = "/apis/rbac.authorization.k8s.io/v1"
	expect(await client.post(accounts, { metadata: { name } }), 201)
	expect(await client.post(`${rbac}/clusterroles`, { metadata: { name }, rules }), 201)
	expect(await client.post(`${rbac}/clusterrolebindings`, {
		metadata: { name }, roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name }, subjects: [{ kind: "ServiceAccount", namespace: "default", name }],
	}), 201)
	return expect(await client.post(`${accounts}/${name}/token`, { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} }), 201).status.token
}

// The violations that axe-core finds, in few words. The driver runs it, as the page's policy admits no script of a test.
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")
export async function violations(of) {
	await of.evaluate(`window.axe ?? (() => { ${axe} })()`)
	const { violations: all } = await of.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }))
	return all.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target} ${n.any[0]?.message ?? n.all[0]?.message ?? n.none[0]?.message ?? ""}`))
}

// What axe-core finds in each view, in the detail of a device, and in the login form after that. Some pod must wait.
export async function violationsOfAll(page, key) {
	const found = {}
	for (const [view, there] of Object.entries({ map: "#map .d", list: ".rows .row", waiting: ".wait", history: ".panel .plot" })) {
		await page.locator(`[data-view="${view}"]`).click()
		await page.locator(there).first().waitFor()
		if (view === "history")
			await page.locator(".panel summary").first().click()
		found[view] = await violations(page)
	}
	await page.locator('[data-view="map"]').click()
	if (await page.locator("#fold").isVisible())
		await page.locator("#fold").click()
	await square(page, key).click()
	await page.locator("#detail .timeline").waitFor()
	found.detail = await violations(page)
	await page.keyboard.press("Escape")
	await page.locator("#logout").click()
	await page.locator("#login-go").waitFor()
	found.login = await violations(page)
	return found
}
export const noViolations = { map: [], list: [], waiting: [], history: [], detail: [], login: [] }

// A pod that a scheduler could not place, as it says itself; its claim does not exist. Without a reason no scheduler has looked at it.
export async function makeUnschedulable(client, name, message, reason = "Unschedulable") {
	const pods = "/api/v1/namespaces/default/pods"
	expect(await client.post(pods, { metadata: { name }, spec: {
		schedulerName: "nobody", resourceClaims: [{ name: "gpu", resourceClaimName: "missing" }], containers: [{ name: "main", image: "busybox", resources: { claims: [{ name: "gpu" }] } }],
	} }), 201)
	if (reason)
		expect(await client.patch(`${pods}/${name}/status`, { status: { conditions: [{ type: "PodScheduled", status: "False", reason, message }] } }, "merge"), 200)
}

// Keeps changes of a pool's devices as the controller does. `changes` of a device are [minutes ago, field, from, to, more].
export async function keepHistory(client, driver, pool, devices) {
	const { code, text } = await client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
		metadata: { name: "devicehistories.devplane.dev" },
		spec: {
			group: "devplane.dev", scope: "Cluster", names: { kind: "DeviceHistory", plural: "devicehistories" },
			versions: [{ name: "v1alpha1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } } }],
		},
	})
	assert.equal(code, 201, text)
	const change = ([minutes, field, from, to, more]) => ({ time: new Date(Date.now() - minutes * 60_000).toISOString(), field, from, to, ...more })
	const entry = ({ name, omittedChanges, changes }) => ({ name, omittedChanges, changes: changes.map(change) })
	await until("the definition", async () => (await client.post("/apis/devplane.dev/v1alpha1/devicehistories", {
		apiVersion: "devplane.dev/v1alpha1", kind: "DeviceHistory", metadata: { name: "pool-1" }, spec: { driver, pool: { name: pool } }, status: { devices: devices.map(entry) },
	})).code === 201)
}

export function assertNoFaults(browser) {
	assert.deepEqual(browser.faults, [])
}
