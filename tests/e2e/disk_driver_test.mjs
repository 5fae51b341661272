// `devplane driver disk` on a loop device with a real writer: capacity, use, probes, crashes, rights.
import assert from "node:assert/strict"
import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs"
import * as k8s from "@kubernetes/client-node"
import { startServer, unique } from "./api_lib.mjs"
import { makeGroup, makeLoop, mib, startWriter } from "./disk_lib.mjs"
import { devplane, finish, scratch, start, test, until } from "./lib.mjs"
import { kubeconfig } from "./node_lib.mjs"

const statuses = "/apis/diskio.devplane.dev/v1alpha1/nodediskiostatuses"
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
const examples = new URL("../../examples/disk/", import.meta.url)

const loop = makeLoop()
const server = await startServer("lmdb")
const root = `${scratch}/root`
mkdirSync(root)

// An account with the rights of examples/disk/rbac.yaml, less those that `keep` does not want.
async function account(on, keep = () => true) {
	const paths = {
		ServiceAccount: "/api/v1/namespaces/kube-system/serviceaccounts",
		ClusterRole: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
		ClusterRoleBinding: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
	}
	for (const object of k8s.loadAllYaml(readFileSync(new URL("rbac.yaml", examples), "utf8"))) {
		if (object.kind === "ClusterRole")
			object.rules = object.rules.filter(keep)
		const { code, text } = await on.client.post(paths[object.kind], object)
		assert.equal(code, 201, text)
	}
	const { body, text } = await on.client.post(`${paths.ServiceAccount}/disk-driver/token`, { spec: {} })
	assert.ok(body?.status?.token, text)
	return kubeconfig(on, body.status.token)
}

async function startDriver(config, ...flags) {
	const driver = start("driver", "disk", "--kubeconfig", config, "--node-name", "n1", "--root-dir", root, "--device", loop.name,
		"--interval", "200ms", "--smoothing", "1s", "--report-interval", "1s", "--probe-time", "400ms", "--log-format", "text", ...flags)
	await until("driver", () => /health and metrics at (\S+)/.test(driver.out) || driver.child.exitCode !== null)
	assert.equal(driver.child.exitCode, null, driver.err)
	driver.url = /health and metrics at (\S+)/.exec(driver.out)[1]
	return driver
}

// The object when it is as `wanted` says; `device` is the loop device's entry.
async function object(wanted = () => true, on = server) {
	let last
	return until("disk status", async () => {
		const { code, body } = await on.client.get(`${statuses}/n1`)
		last = code === 200 ? { ...body, device: body.status?.devices?.[0] } : undefined
		return last?.device && wanted(last) && last
	}, 30).catch((e) => {
		throw new Error(`${e.message}: ${JSON.stringify(last)}`)
	})
}

const written = () => Number(readFileSync(`/sys/block/${loop.name}/stat`, "utf8").trim().split(/\s+/)[6]) * 512

// A writer that knows how much the kernel has counted since it began, per second.
function writer(group) {
	const self = { since: Date.now(), before: written(), ...startWriter(loop, { group }) }
	self.rate = () => (written() - self.before) / ((Date.now() - self.since) / 1000)
	return self
}

let driver, config

await test("the driver defines its resource and publishes the node's disks", async () => {
	const { code, text } = await server.client.post("/api/v1/nodes", { metadata: { name: "n1" } })
	assert.equal(code, 201, text)
	config = await account(server)
	driver = await startDriver(config, "--capacity", `${loop.name}=write:100Mi`)
	const { spec, metadata, device, status } = await object()
	assert.deepEqual(spec, { nodeName: "n1" })
	assert.deepEqual(metadata.ownerReferences?.map((o) => [o.kind, o.name]), [["Node", "n1"]])
	assert.equal(status.deviceCount, 1)
	assert.deepEqual(device.capacity, { writeBytesPerSecond: 100 * mib })
	assert.equal(device.name, loop.name)
	assert.equal(device.primary, true)
	assert.match(status.observedTime, /^\d{4}-\d\d-\d\dT[\d:]+Z$/)
	const stored = (await server.client.get(`${definitions}/nodediskiostatuses.diskio.devplane.dev`)).body
	const example = await server.client.post(`${definitions}?dryRun=All`, readFileSync(new URL("crd.yaml", examples), "utf8").replace(/diskio\.devplane/g, "other.devplane"), { type: "yaml" })
	assert.deepEqual(stored.spec.versions, JSON.parse(example.text.replace(/other\.devplane/g, "diskio.devplane")).spec.versions)
	await until("readiness", async () => (await fetch(`${driver.url}/readyz`)).status === 200)
})

await test("people see it as a table", async () => {
	const { body } = await server.client.get(statuses, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" })
	const names = body.columnDefinitions.map((c) => c.name)
	assert.deepEqual(names, ["Name", "Node", "Devices", "Primary", "Read capacity", "Read used", "Write capacity", "Write used", "Age"])
	assert.deepEqual(body.rows[0].cells.slice(1, 4), ["n1", 1, loop.name])
	assert.equal(body.rows[0].cells[6], "100Mi")
})

await test("a writer's rate shows, and its end", async () => {
	const w = writer()
	const close = (o) => Math.abs(o.device.used.writeBytesPerSecond - w.rate()) < 0.3 * w.rate()
	const busy = await object((o) => Date.now() - w.since > 3000 && close(o))
	assert.ok(busy.device.used.writeOperationsPerSecond > 0)
	const metrics = await (await fetch(`${driver.url}/metrics`)).text()
	assert.match(metrics, new RegExp(`devplane_disk_bytes_per_second{device="${loop.name}",direction="write"} [1-9]`))
	await w.end()
	await object((o) => o.device.used.writeBytesPerSecond < mib / 4)
})

await test("it is published when it is news, and at the report interval", async () => {
	const version = async () => Number((await object()).metadata.resourceVersion)
	const first = await version(), at = Date.now()
	await until("three reports", async () => (await version()) >= first + 3)
	assert.ok(Date.now() - at > 1500, "three reports without news take three intervals")
})

const uid = "0d15c000-1111-4222-8333-444455556666"
const group = makeGroup(loop, uid)
await test(`a pod's share is told${group.why ? ` # SKIP no control group: ${group.why}` : ""}`, async () => {
	if (group.why)
		return
	const w = writer(group.path)
	const { device } = await object((o) => o.device.pods?.some((p) => p.uid === uid && p.writeBytesPerSecond > mib))
	const [pod] = device.pods
	assert.ok(pod.writeBytesPerSecond <= device.used.writeBytesPerSecond * 1.5, JSON.stringify(device))
	await w.end()
	await until("empty group", () => {
		try {
			rmdirSync(group.path)
			return true
		} catch {
			return false
		}
	})
	await object((o) => !o.device.pods)
})

const annotate = async (value) => {
	const { code, text } = await server.client.patch(`${statuses}/n1`, { metadata: { annotations: { "diskio.devplane.dev/probe": value } } }, "merge")
	assert.equal(code, 200, text)
}
const asked = (o) => o.metadata.annotations?.["diskio.devplane.dev/probe"]

await test("the object asks for a probe and gets its result", async () => {
	await annotate(loop.name)
	const { device, status } = await object((o) => o.status.probe?.state === "Succeeded" && !asked(o))
	assert.equal(status.probe.device, loop.name)
	assert.ok(status.probe.readBytesPerSecond > mib, JSON.stringify(status.probe))
	assert.equal(device.capacity.readBytesPerSecond, status.probe.readBytesPerSecond)
	assert.equal(device.capacity.writeBytesPerSecond, 100 * mib, "what the user said stays")
	assert.ok(status.probe.startTime <= status.probe.completionTime)
	const kept = JSON.parse(readFileSync(`${root}/plugins/diskio.devplane.dev/probes.json`))
	assert.deepEqual(kept.devices.map((d) => [d.name, d.read]), [[loop.name, status.probe.readBytesPerSecond]])
})

await test("a probe of what is not there fails and says what is", async () => {
	await annotate("../../etc/passwd")
	const { status } = await object((o) => o.status.probe?.state === "Failed" && !asked(o))
	assert.match(status.probe.message, new RegExp(`"../../etc/passwd" is not a measured device: ${loop.name}`))
	assert.equal(status.probe.readBytesPerSecond, undefined)
})

await test("a driver that was killed knows what its probe found", async () => {
	const before = await object()
	driver.child.kill("SIGKILL")
	await driver.ended
	driver = await startDriver(config)
	assert.match(driver.out, new RegExp(`${loop.name} +read [0-9]`))
	const after = await object((o) => o.status.observedTime > before.status.observedTime && !o.device.capacity.writeBytesPerSecond)
	assert.equal(after.device.capacity.readBytesPerSecond, before.device.capacity.readBytesPerSecond)
	assert.equal(after.metadata.uid, before.metadata.uid)
	assert.equal(after.status.summary.writeCapacity, undefined)
})

await test("an object that is deleted comes back", async () => {
	const { metadata } = await object()
	await server.client.delete(`${statuses}/n1`)
	await object((o) => o.metadata.uid !== metadata.uid)
})

await test("a probe by hand is taken over by the running driver", async () => {
	const out = execFileSync(devplane, ["driver", "disk", "probe", loop.path, "--seconds", "1", "--root-dir", root, "-o", "json"], { encoding: "utf8" })
	const found = JSON.parse(out)
	assert.equal(found.device, loop.name)
	await object((o) => o.device.capacity.readBytesPerSecond === found.readBytesPerSecond)
})

await test("SIGTERM ends it in order, also amid a probe", async () => {
	driver.child.kill("SIGTERM")
	assert.deepEqual(await driver.ended, { code: 0, signal: null })
	driver = await startDriver(config, "--probe-time", "60s")
	await annotate(loop.name)
	await object((o) => o.status.probe?.state === "Running")
	driver.child.kill("SIGTERM")
	assert.deepEqual(await driver.ended, { code: 0, signal: null })
	assert.equal(asked(await object()), loop.name, "whoever starts next answers it")
})

await test("without the right to define the resource it says what to apply, and goes on when that is done", async () => {
	const other = await startServer("lmdb")
	const own = await account(other, (rule) => !rule.apiGroups.includes("apiextensions.k8s.io"))
	const refused = await startDriver(own)
	await until("words", () => /may not define it; apply it: devplane driver disk crd \| kubectl apply -f -/.test(refused.err))
	const ready = await fetch(`${refused.url}/readyz`)
	assert.equal(ready.status, 500)
	assert.match(await ready.text(), /diskstatus failed/)
	assert.equal((await fetch(`${refused.url}/healthz`)).status, 200)
	const told = await startDriver(own, "--install-crd=false")
	await until("words", () => /nodediskiostatuses\.diskio\.devplane\.dev is not defined; apply it/.test(told.err))
	told.child.kill("SIGTERM")
	assert.equal((await told.ended).code, 0)
	const crd = execFileSync(devplane, ["driver", "disk", "crd"], { encoding: "utf8" })
	const { code, text } = await other.client.post(definitions, crd, { type: "yaml" })
	assert.equal(code, 201, text)
	await object(() => true, other)
	refused.child.kill("SIGTERM")
	assert.equal((await refused.ended).code, 0)
	await other.stop()
})

await test("invalid arguments are rejected with a message", async () => {
	const run = (...args) => spawnSync(devplane, ["driver", "disk", ...args], { encoding: "utf8" })
	const mistakes = [
		[[], 2, /flag --node-name is required/],
		[["--node-name", "n1", "--capacity", "sda=fast"], 2, /--capacity sda=fast: "fast" is neither read:QUANTITY nor write:QUANTITY/],
		[["--node-name", "n1", "--capacity", "a=read:1", "--capacity", "a=read:1"], 2, /--capacity: a is there twice/],
		[["--node-name", "N_1", "--kubeconfig", config], 2, /node name "N_1"/],
		[["--node-name", "n1", "--kubeconfig", config, "--proc-root", scratch], 1, /cannot read .*diskstats/],
		[["--node-name", "n1", "--interval", "1ms"], 2, /--interval/],
		[["probe"], 2, /probe/],
		[["probe", "no-such-disk", "--forget"], 1, /\/dev\/no-such-disk does not exist; name a device such as sda/],
		[["probe", scratch, "--forget"], 1, /is neither a block device nor a file/],
	]
	for (const [args, code, text] of mistakes) {
		const { status, stderr } = run(...args)
		assert.equal(status, code, `${args}: ${stderr}`)
		assert.match(stderr, text)
	}
	const there = `${scratch}/${unique("there")}`
	writeFileSync(there, "precious")
	assert.match(run("probe", loop.path, "--seconds", "1", "--forget", "--write", there).stderr, /already exists; name a new file/)
	assert.equal(readFileSync(there, "utf8"), "precious")
})

finish()
