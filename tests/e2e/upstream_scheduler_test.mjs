// Upstream's kube-scheduler on our server with the fence of devices on. UPSTREAM_BIN names the folder of the program; without it the test
// is skipped. A proxy between the two can hold back the scheduler's write of a claim's status until somebody else has taken the device.
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { existsSync, openSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { request } from "node:https"
import { causes, core, dra, expect, expectStatus } from "./api_lib.mjs"
import { DRIVER, claimsOf, device, share, shared, startDevices } from "./availability_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"

const program = `${process.env.UPSTREAM_BIN ?? ""}/kube-scheduler`
if (!existsSync(program)) {
	console.log("ok 1 - upstream's scheduler # SKIP UPSTREAM_BIN has no kube-scheduler")
	console.log("1..1")
	process.exit(0)
}

const cluster = await startDevices({ tokens: ["schedulers-own,system:kube-scheduler,2"] })
const { server, client } = cluster
const claims = claimsOf("default"), pods = `${core}/namespaces/default/pods`

// --- the proxy: it adds the token, since client-go sends none without TLS -----------------------------------------

const answers = [] // { claim, code } of the scheduler's writes of claims' status
let before // called with the name of a claim before the scheduler's first write of its status

const proxy = createServer(async (from, to) => {
	const [, claim] = /\/resourceclaims\/([^/?]+)\/status/.exec(from.url) ?? []
	const write = claim && from.method !== "GET"
	if (write && before) {
		const run = before
		before = undefined
		await run(claim)
	}
	const on = request(new URL(from.url, server.url), { method: from.method, headers: { ...from.headers, authorization: "Bearer schedulers-own" }, ca: server.credentials.ca }, (answer) => {
		if (write)
			answers.push({ claim, code: answer.statusCode })
		to.writeHead(answer.statusCode, answer.headers)
		to.flushHeaders()
		answer.pipe(to)
	})
	on.on("error", () => to.destroy())
	to.on("close", () => on.destroy())
	from.pipe(on)
})
await new Promise((done) => proxy.listen(0, "127.0.0.1", done))
const written = (claim, code) => answers.filter((a) => a.claim === claim && a.code === code).length

// --- the scheduler ---------------------------------------------------------------------------------------------

const config = `${scratch}/scheduler.kubeconfig`, log = `${scratch}/kube-scheduler.log`
writeFileSync(config, JSON.stringify({ apiVersion: "v1", kind: "Config", "current-context": "x",
	clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${proxy.address().port}` } }],
	users: [{ name: "u", user: {} }], contexts: [{ name: "x", context: { cluster: "c", user: "u" } }] }))
const scheduler = spawn(program, ["--kubeconfig", config, "--leader-elect=false", "--secure-port=0", "-v=3"],
	{ stdio: ["ignore", openSync(log, "a"), openSync(log, "a")] })
const scheduled = async (name, seconds = 30) => until(`node of ${name}`, async () => {
	assert.equal(scheduler.exitCode, null, readFileSync(log, "utf8").slice(-3000))
	return (await client.get(`${pods}/${name}`)).body.spec.nodeName
}, seconds)

async function startPod(name, claim = name) {
	expect(await client.post(pods, { metadata: { name }, spec: { automountServiceAccountToken: false, resourceClaims: [{ name: "gpu", resourceClaimName: claim }],
		containers: [{ name: "c", image: "i", resources: { claims: [{ name: "gpu" }] } }] } }), 201)
}
// No controller runs here, so the test frees the claim, and removes the finalizer that the scheduler set.
async function removePod(name) {
	expect(await client.delete(`${pods}/${name}?gracePeriodSeconds=0`), 200)
	expect(await client.patch(`${claims}/${name}/status`, { status: { allocation: null, reservedFor: null } }, "merge"), 200)
	expect(await client.patch(`${claims}/${name}`, { metadata: { finalizers: null } }, "merge"), 200)
	await cluster.release("default", name)
}
const allocationOf = async (name) => (await client.get(`${claims}/${name}`)).body.status?.allocation
const resultOf = async (name) => (await allocationOf(name))?.devices.results[0]
const selects = (pattern) => ({ selectors: [{ cel: { expression: `device.attributes["${DRIVER}"].model == "${pattern}"` } }] })
const model = (name) => ({ attributes: { model: { string: name } } })

expect(await client.post(`${core}/nodes`, { metadata: { name: "n1" } }), 201)
expect(await client.patch(`${core}/nodes/n1/status`, { status: { capacity: { cpu: "8", memory: "8Gi", pods: "20" }, allocatable: { cpu: "8", memory: "8Gi", pods: "20" },
	conditions: [{ type: "Ready", status: "True" }] } }, "merge"), 200)
expect(await client.patch(`${core}/nodes/n1`, { spec: { taints: null } }, "merge"), 200)
expect(await client.post(`${dra}/deviceclasses`, { metadata: { name: "gpu" }, spec: {} }), 201)
const part = (name) => device(name, { ...model("part"), consumesCounters: [{ counterSet: "gpu", counters: { slots: { value: "1" } } }] })
await cluster.slice("n1-whole", { node: "n1", pool: "whole", devices: [device("gpu-0", model("whole"))] })
await cluster.slice("n1-shared", { node: "n1", pool: "shared", devices: [shared("gpu-1")] })
await cluster.slice("n1-parts-0", { node: "n1", pool: "parts", count: 2, devices: undefined, sharedCounters: [{ name: "gpu", counters: { slots: { value: "1" } } }] })
await cluster.slice("n1-parts-1", { node: "n1", pool: "parts", count: 2, devices: [part("half-0"), part("half-1")] })

const whole = selects("whole"), parts = selects("part"), shares = { ...selects("a100"), capacity: { requests: { memory: "50Gi" } } }

await test("pods with claims for a device, a share and a partition are bound", async () => {
	for (const [name, what] of [["whole", whole], ["share", shares], ["part", parts]]) {
		await cluster.claim("default", name, undefined, what)
		await startPod(name)
	}
	for (const name of ["whole", "share", "part"])
		assert.equal(await scheduled(name), "n1")
	assert.equal((await resultOf("whole")).device, "gpu-0")
	assert.equal((await resultOf("share")).consumedCapacity.memory, "50Gi")
	assert.match((await resultOf("part")).device, /^half-/)
	assert.ok(answers.every((a) => a.code === 200), JSON.stringify(answers))
	for (const name of ["whole", "share", "part"])
		await removePod(name)
})

// The scheduler has decided; now a client without a scheduler takes what it wants to write.
async function loseRace(name, what, taken, reason) {
	await cluster.claim("default", `${name}-rival`)
	await cluster.claim("default", name, undefined, what)
	before = () => cluster.allocate("default", `${name}-rival`, [taken])
	await startPod(name)
	await until("409 to the scheduler", () => written(name, 409) > 0, 30)
	const refusal = await client.patch(`${claims}/${name}/status`, { status: { allocation: { devices: { results: [{ request: "gpu", driver: DRIVER, ...taken, ...taken.shareID && { shareID: share().shareID } }] } } } }, "merge")
	assert.deepEqual(causes(expectStatus(refusal, 409, "Conflict")), [`${reason} status.allocation.devices.results[0]`])
	await until("pod that is refused", async () => (await client.get(`${pods}/${name}`)).body.status.conditions?.some((c) => c.type === "PodScheduled" && c.status === "False"), 30)
	assert.equal(await allocationOf(name), undefined)
	await cluster.release("default", `${name}-rival`)
	assert.equal(await scheduled(name), "n1")
	await removePod(name)
}

await test("a device that somebody else took gives the scheduler a 409, and the pod the device when it is free", () =>
	loseRace("late", whole, { pool: "whole", device: "gpu-0" }, "DeviceHeld"))

await test("so does a share that no longer fits", () =>
	loseRace("late-share", shares, share("shared", "gpu-1", "50Gi"), "DeviceCapacityExceeded"))

await test("clients that write as an autoscaler does: dry run and whole status", async () => {
	await cluster.claim("default", "scaled", undefined, whole)
	await startPod("scaled")
	assert.equal(await scheduled("scaled"), "n1")
	const object = (await client.get(`${claims}/scaled`)).body
	// The status as it was read, once as a trial and once for good.
	expect(await client.put(`${claims}/scaled/status?dryRun=All`, object), 200)
	const stored = expect(await client.put(`${claims}/scaled/status`, object), 200)
	assert.deepEqual(stored.status, object.status)
	// A trial for another claim is judged as the write would be, and stores nothing.
	await cluster.claim("default", "tried", undefined, whole)
	const tried = (await client.get(`${claims}/tried`)).body
	tried.status = { allocation: object.status.allocation }
	expectStatus(await client.put(`${claims}/tried/status?dryRun=All`, tried), 409, "Conflict", /is held by claim default\/scaled/)
	await removePod("scaled")
	await until("device that is free", async () => (await client.put(`${claims}/tried/status?dryRun=All`, tried)).code === 200)
	assert.equal(await allocationOf("tried"), undefined)
	// Nothing of it keeps the scheduler from the device.
	await startPod("tried")
	assert.equal(await scheduled("tried"), "n1")
	await removePod("tried")
})

if (process.env.KEEP_LOG)
	console.log(readFileSync(log, "utf8").replace(/^/gm, "# "))
scheduler.kill()
proxy.closeAllConnections()
proxy.close()
await server.stop()
finish()
