// The scheduler's plugin for disk bandwidth, with a loop device, its driver and a real writer.
import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { startServer, unique } from "./api_lib.mjs"
import { makeLoop, mib, startWriter } from "./disk_lib.mjs"
import { devplane, finish, scratch, start, test, until } from "./lib.mjs"

const plugin = process.env.DISK_IO ?? `${dirname(devplane)}/plugins/disk_io/disk_io.so`
const statuses = "/apis/diskio.devplane.dev/v1alpha1/nodediskiostatuses"
const pods = "/api/v1/namespaces/default/pods"
const type = "diskio.devplane.dev"

const loop = makeLoop()
const server = await startServer("lmdb")
const { client } = server

async function ok(answer, code = 201) {
	const { code: got, text, body } = await answer
	assert.equal(got, code, text)
	return body
}

async function addNode(name) {
	const amounts = { cpu: "8", memory: "16Gi", pods: "110" }
	await ok(client.post("/api/v1/nodes", { metadata: { name } }))
	await ok(client.patch(`/api/v1/nodes/${name}/status`, {
		status: { capacity: amounts, allocatable: amounts, conditions: [{ type: "Ready", status: "True" }] },
	}, "merge"), 200)
}

// The status that a driver would publish for a node.
async function publish(node, write, used = 0) {
	const devices = [{ name: "sda", primary: true, attributed: false, capacity: { writeBytesPerSecond: write * mib }, used: { writeBytesPerSecond: used * mib } }]
	const { code } = await client.post(statuses, { apiVersion: `${type}/v1alpha1`, kind: "NodeDiskIOStatus", metadata: { name: node }, spec: { nodeName: node } })
	assert.ok([201, 409].includes(code))
	await ok(client.patch(`${statuses}/${node}/status`, { status: { devices } }, "merge"), 200)
}

async function addPod(write, { name = unique("pod"), ...spec } = {}) {
	return ok(client.post(pods, {
		metadata: { name, annotations: write ? { [`${type}/write-bps`]: write } : {} },
		spec: { automountServiceAccountToken: false, terminationGracePeriodSeconds: 0, containers: [{ name: "main", image: "busybox" }], ...spec },
	}))
}

const read = async ({ metadata: { name } }) => (await client.get(`${pods}/${name}`)).body
const placed = (pod, seconds) => until(`node of ${pod.metadata.name}`, async () => (await read(pod)).spec?.nodeName, seconds)
const refused = (pod, text) => until(`refusal of ${pod.metadata.name}`, async () => {
	const { status, spec } = await read(pod)
	assert.equal(spec.nodeName, undefined, "it was placed")
	const condition = status.conditions?.find((c) => c.type === "PodScheduled")
	return condition?.reason === "Unschedulable" && text.test(condition.message) && condition.message
})
const remove = (pod) => ok(client.delete(`${pods}/${pod.metadata.name}`), 200)

let scheduler, driver

// The plugin's view of a node's first device.
async function view(node) {
	const text = await (await fetch(`${scheduler.url}/debug/cache`)).text()
	const found = []
	JSON.parse(text, (key, value) => {
		if (key === type)
			found.push(value)
		return value
	})
	return { text, found, device: found.find((v) => v?.devices?.[0]?.name === node)?.devices[0] }
}

await test("the scheduler loads the plugin", async () => {
	for (const name of ["n1", "n2"])
		await addNode(name)
	driver = start("driver", "disk", "--kubeconfig", server.kubeconfig, "--node-name", "n1", "--root-dir", scratch, "--device", loop.name,
		"--capacity", `${loop.name}=write:100Mi`, "--interval", "200ms", "--smoothing", "1s", "--report-interval", "1s", "--log-format", "text")
	await until("status", async () => (await client.get(`${statuses}/n1`)).body?.status?.devices)
	await publish("n2", 50)
	const config = `${scratch}/scheduler.yaml`
	writeFileSync(config, JSON.stringify({
		apiVersion: "kubescheduler.config.k8s.io/v1",
		kind: "KubeSchedulerConfiguration",
		devplane: { plugins: [{ path: plugin }] },
		profiles: [{ schedulerName: "default-scheduler", plugins: { multiPoint: { enabled: [{ name: "DiskIO", weight: 2 }] } } }],
	}))
	scheduler = start("scheduler", "--kubeconfig", server.kubeconfig, "--config", config, "--leader-elect=false", "--metrics-bind-address", "127.0.0.1:0", "--log-format", "text")
	await until("scheduler", () => /(http:\/\/\S+)/.test(scheduler.out) || scheduler.child.exitCode !== null)
	assert.equal(scheduler.child.exitCode, null, scheduler.err)
	scheduler.url = /(http:\/\/[^\s/]+)/.exec(scheduler.out)[1]
})
if (!scheduler?.url)
	finish()

let large, small, waiting

await test("pods go where enough is left, and wait where not", async () => {
	large = await addPod("80Mi")
	assert.equal(await placed(large), "n1")
	small = await addPod("40Mi")
	assert.equal(await placed(small), "n2")
	waiting = await addPod("30Mi")
	assert.match(await refused(waiting, /./), /^0\/2 nodes are available: 2 Insufficient disk write bandwidth\./)
	assert.ok(await placed(await addPod()), "one that asks for nothing is placed")
})

await test("/debug/cache shows what is committed", async () => {
	const { device, text } = await view(loop.name)
	assert.ok(device, text)
	assert.equal(device.write.capacity, 100 * mib)
	assert.ok(device.write.committed >= 80 * mib && device.write.committed < 85 * mib, JSON.stringify(device))
})

await test("the end of a pod wakes the one that waits", async () => {
	await remove(large)
	assert.equal(await placed(waiting), "n1")
})

await test("a change of the object wakes pods, too", async () => {
	const pod = await addPod("150Mi")
	await refused(pod, /2 Insufficient disk write bandwidth/)
	await publish("n2", 500)
	assert.equal(await placed(pod), "n2")
	await remove(pod)
	await publish("n2", 50)
})

await test("a disk that is busy with others has less to promise", async () => {
	await remove(waiting)
	const writer = startWriter(loop, { rest: 0.05 })
	await until("use", async () => (await view(loop.name)).device?.write.used > 30 * mib)
	const pod = await addPod("95Mi")
	await refused(pod, /Insufficient disk write bandwidth/)
	await writer.end()
	assert.equal(await placed(pod, 30), "n1")
	await remove(pod)
})

await test("a pod that matters more takes the place of one that does not", async () => {
	await ok(client.post("/apis/scheduling.k8s.io/v1/priorityclasses", { metadata: { name: "critical" }, value: 1000 }))
	const victim = await addPod("70Mi", { priority: 0 })
	assert.equal(await placed(victim), "n1")
	const critical = await addPod("90Mi", { priorityClassName: "critical" })
	assert.equal(await placed(critical, 30), "n1")
	const { code, body } = await client.get(`${pods}/${victim.metadata.name}`)
	assert.ok(code === 404 || body.metadata.deletionTimestamp, "the victim is there still")
})

await test("a pod's request must be a quantity, and a node must publish its disks", async () => {
	await refused(await addPod("fast"), /annotation diskio\.devplane\.dev\/write-bps: "fast" is not a quantity of bytes per second/)
	await addNode("n3")
	await refused(await addPod("1000Gi"), /1 Disk bandwidth not published/)
})

await test("SIGTERM ends both in order", async () => {
	for (const { child, ended } of [scheduler, driver]) {
		child.kill("SIGTERM")
		assert.deepEqual(await ended, { code: 0, signal: null })
	}
})

finish()
