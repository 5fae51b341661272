// A real Prometheus reads a cluster of `devplane up` by its prometheus.json: every query of the dashboard returns data, every
// rule can be evaluated, and an alert fires when a device fails.
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { core, dra, expect } from "./api_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"
import { Cluster, run } from "./up_lib.mjs"

const monitoring = new URL("../../monitoring/", import.meta.url).pathname
const dashboard = JSON.parse(readFileSync(`${monitoring}dashboard.json`))
const panels = dashboard.panels.filter((p) => p.type !== "row")
const c = await new Cluster().begin("--demo")
const work = `${scratch}/prometheus`
mkdirSync(work)

async function freePort() {
	const server = createServer().listen(0, "127.0.0.1")
	await new Promise((resolve) => server.on("listening", resolve))
	const { port } = server.address()
	await new Promise((resolve) => server.close(resolve))
	return port
}

async function serverToken() {
	await c.kubectl("-n", "kube-system", "create", "serviceaccount", "prometheus")
	await c.kubectl("create", "clusterrolebinding", "prometheus", "--clusterrole", "system:monitoring", "--serviceaccount", "kube-system:prometheus")
	const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} } // Debian's kubectl has no `create token`
	return expect(await c.client.post(`${core}/namespaces/kube-system/serviceaccounts/prometheus/token`, request), 201).status.token
}

// Alerts fire at once: what is tested here is that they fire at all.
for (const name of ["availability", "devices"]) {
	const rules = readFileSync(`${monitoring}${name}.rules.yaml`, "utf8")
	writeFileSync(`${work}/${name}.rules.yaml`, rules.replace(/^( +for:) .*$/gm, "$1 0s"))
}
const alerts = readFileSync(`${monitoring}devices.rules.yaml`, "utf8").match(/(?<=- alert: )\w+/g)

writeFileSync(`${work}/token`, await serverToken())
writeFileSync(`${work}/prometheus.yml`, `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: ['${work}/*.rules.yaml']
scrape_configs:
- job_name: devplane
  file_sd_configs: [{files: ['${c.folder}/prometheus.json']}]
  relabel_configs: [{source_labels: [role], regex: server, action: drop}]
- job_name: devplane-server
  scheme: https
  tls_config: {ca_file: '${c.folder}/pki/ca.crt'}
  authorization: {credentials_file: '${work}/token'}
  file_sd_configs: [{files: ['${c.folder}/prometheus.json']}]
  relabel_configs: [{source_labels: [role], regex: server, action: keep}]
`)
const port = await freePort()
const prometheus = spawn("prometheus", [`--config.file=${work}/prometheus.yml`, `--storage.tsdb.path=${work}/data`, `--web.listen-address=127.0.0.1:${port}`], { stdio: ["ignore", "ignore", "pipe"] })
let log = ""
prometheus.stderr.on("data", (data) => (log += data))
prometheus.on("error", (e) => (log += e))

async function ask(path) {
	const reply = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`).catch(() => undefined)
	return reply && (await reply.json().catch(() => undefined))
}

async function query(expr) {
	const answer = await ask(`query?query=${encodeURIComponent(expr)}`)
	assert.equal(answer?.status, "success", `${expr}: ${answer?.error ?? log.slice(-2000)}`)
	return answer.data.result
}

const firing = async (name) => (await ask("alerts"))?.data?.alerts.find((a) => a.labels.alertname === name && a.state === "firing")

await test("Prometheus reads every role of the cluster by its file", async () => {
	const roles = (await c.status()).roles.map((r) => r.name).sort()
	let up
	await until("targets that are up", async () => {
		const targets = (await ask("targets?state=active"))?.data?.activeTargets ?? []
		up = targets.filter((t) => t.health === "up").map((t) => t.labels.instance).sort()
		return up.join() === roles.join()
	}, 60).catch((e) => assert.deepEqual(up, roles, `${e.message} ${log.slice(-2000)}`))
})

await test("a pod with a claim, and one that waits", async () => {
	const claim = (name, count) => ({ metadata: { name }, spec: { spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu", count } }] } } } })
	const pod = (name) => ({
		metadata: { name },
		spec: { containers: [{ name: "c", image: "busybox", resources: { claims: [{ name: "gpu" }] } }], resourceClaims: [{ name: "gpu", resourceClaimTemplateName: name }] },
	})
	for (const [name, count] of [["train", 1], ["greedy", 30]]) {
		expect(await c.client.post(`${dra}/namespaces/default/resourceclaimtemplates`, claim(name, count)), 201)
		expect(await c.client.post(`${core}/namespaces/default/pods`, pod(name)), 201)
	}
	await until("a pod that runs", async () => (await c.client.get(`${core}/namespaces/default/pods/train`)).body.status?.phase === "Running")
	await until("a pod that lacks devices", async () => (await query('devplane_waiting_pods{reason="NoDevice"} == 1')).length > 0)
})

// Rates need two scrapes with a change in between.
const filled = (expr) => expr.replaceAll(/\$(driver|node)\b/g, ".*").replaceAll("$__rate_interval", "5m")

for (const panel of panels)
	await test(`panel "${panel.title}" has data`, async () => {
		for (const { expr } of panel.targets)
			await until(`data for ${expr}`, async () => (await query(filled(expr))).length > 0)
	})

await test("every variable of the dashboard has values", async () => {
	for (const { name, query: { query: text } } of dashboard.templating.list.filter((v) => v.type === "query")) {
		const metric = /^label_values\((\w+), (\w+)\)$/.exec(text)
		assert.ok((await query(`count by (${metric[2]}) (${metric[1]}{${metric[2]}!=""})`)).length > 0, name)
	}
})

await test("every rule can be evaluated", async () => {
	let rules
	await until("rules that are well", async () => {
		rules = (await ask("rules"))?.data?.groups.flatMap((g) => g.rules) ?? []
		return rules.length > alerts.length && rules.every((r) => r.health === "ok")
	}).catch(() => assert.deepEqual(rules.filter((r) => r.health !== "ok").map((r) => `${r.name}: ${r.health} ${r.lastError}`), []))
	assert.deepEqual(rules.filter((r) => r.type === "alerting" && alerts.includes(r.name)).map((r) => r.name).sort(), [...alerts].sort())
})

await test("nothing fires on a cluster that is well", async () => {
	for (const name of ["DevplaneDeviceUnhealthy", "DevplaneDeviceFlapping", "DevplaneDriverDown", "DevplaneControllerStale", "DevplanePoolInvalid"])
		assert.ok(!await firing(name), name)
})

await test("an alert fires when a device fails", async () => {
	const { code, err } = await run("driver", "sim", "fail", "gpu-3", "--root-dir", `${c.folder}/nodes/demo-0`, "--name", "gpu.sim.devplane.dev", "--message", "fallen off the bus")
	assert.equal(code, 0, err)
	const { labels, annotations } = await until("an alert", () => firing("DevplaneDeviceUnhealthy"), 60)
	assert.deepEqual(labels, { alertname: "DevplaneDeviceUnhealthy", severity: "warning", driver: "gpu.sim.devplane.dev", pool: "demo-0", node: "demo-0" })
	assert.equal(annotations.summary, "1 devices of pool demo-0 (gpu.sim.devplane.dev) are unhealthy")
})

// `or vector(0)` is data for every query, so those parts are also queried without it once the cluster has something for each:
// a held device and free ones, the one that failed, and a pool of which a slice is missing.
await test("no panel shows a default in place of its data", async () => {
	const pool = { name: "broken", generation: 1, resourceSliceCount: 2 }
	const slice = { metadata: { name: "broken" }, spec: { driver: "gpu.sim.devplane.dev", pool, allNodes: true, devices: [{ name: "gpu-0" }] } }
	expect(await c.client.post(`${dra}/resourceslices`, slice), 201)
	const targets = panels.flatMap((p) => p.targets).filter(({ expr }) => expr.includes(" or vector("))
	assert.ok(targets.length >= 6, `${targets.length} queries have a default`)
	for (const { expr } of targets) {
		const bare = filled(expr).replaceAll(" or vector(0)", "")
		assert.ok(!bare.includes("vector("), expr)
		await until(`value above 0 for ${bare}`, async () => (await query(bare)).some(({ value }) => Number(value[1]) > 0), 30)
	}
})

prometheus.kill()
await c.stop()
finish()
