// `devplane driver disk --enforce`: two writers on a loop device, of which one requested bandwidth, in control groups as a kubelet makes them.
import assert from "node:assert/strict"
import { existsSync, readFileSync } from "node:fs"
import { startServer, unique } from "./api_lib.mjs"
import { makeGroup, makeLoop, mib, startWriter } from "./disk_lib.mjs"
import { finish, scratch, start, test, until } from "./lib.mjs"

const pods = "/api/v1/namespaces/default/pods"
const type = "diskio.devplane.dev"
const loop = makeLoop()
const number = readFileSync(`/sys/block/${loop.name}/dev`, "utf8").trim()
const server = await startServer("lmdb")
const { client } = server

async function ok(answer, code = 201) {
	const { code: got, text, body } = await answer
	assert.equal(got, code, text)
	return body
}

await ok(client.post("/api/v1/nodes", { metadata: { name: "n1" } }))
const addPod = (annotations) => ok(client.post(pods, {
	metadata: { name: unique("pod"), annotations },
	spec: { nodeName: "n1", automountServiceAccountToken: false, terminationGracePeriodSeconds: 0, containers: [{ name: "main", image: "busybox" }] },
}))
// `asks` requested bandwidth, `other` did not.
const asks = await addPod({ [`${type}/write-bps`]: "15Mi" }), other = await addPod({})
for (const pod of [asks, other])
	pod.group = makeGroup(loop, pod.metadata.uid)
if (asks.group.why) {
	console.log(`ok 1 - requests are enforced # SKIP no control group: ${asks.group.why}`)
	console.log("1..1")
	process.exit(0)
}

const v2 = existsSync(`${asks.group.path}/io.max`)
const lineOf = (pod, file) => readFileSync(`${pod.group.path}/${file}`, "utf8").split("\n").filter((l) => l.startsWith(`${number} `)).join(" ")
// MiB/s that the pod may write; undefined: there is no limit.
function limit(pod) {
	const found = v2 ? /wbps=(\d+)/.exec(lineOf(pod, "io.max")) : / (\d+)$/.exec(lineOf(pod, "blkio.throttle.write_bps_device"))
	return found ? Number(found[1]) / mib : undefined
}
const written = (pod) => Number((v2 ? /wbytes=(\d+)/.exec(lineOf(pod, "io.stat")) : /Write (\d+)/.exec(lineOf(pod, "blkio.throttle.io_service_bytes")))?.[1] ?? 0)
const limits = async (a, b) => until(`limits of ${a} and ${b} MiB/s`, () => limit(asks) === a && limit(other) === b, 30).catch((e) => {
	throw new Error(`${e.message}: ${limit(asks)} and ${limit(other)}; ${driver?.err}`)
})
const annotate = (pod, annotations) => ok(client.patch(`${pods}/${pod.metadata.name}`, { metadata: { annotations } }, "merge"), 200)

const driver = start("driver", "disk", "--kubeconfig", server.kubeconfig, "--node-name", "n1", "--root-dir", scratch, "--device", loop.name,
	"--capacity", `${loop.name}=write:20Mi`, "--enforce", "--interval", "200ms", "--smoothing", "1s", "--report-interval", "1s", "--log-format", "text")
const writers = [asks, other].map((pod) => startWriter(loop, { rest: 0, group: pod.group.path }))

await test("limits give each pod its request and an even part of the rest", () => limits(17.5, 2.5))

const weighs = existsSync(`${asks.group.path}/io.weight`)
await test(weighs ? "weights have the proportion of the limits" : "without io.weight the driver says that it sets limits only", async () => {
	if (weighs)
		await until("weights", () => lineOf(asks, "io.weight") === `${number} 8750` && lineOf(other, "io.weight") === `${number} 1250`)
	else
		assert.match(driver.err, /the kernel has no io\.weight here/)
})

await test("of two writers, the one with the request gets its share", async () => {
	const before = [written(asks), written(other)]
	await until("30 MiB", () => written(asks) - before[0] >= 30 * mib, 60)
	const [a, b] = [written(asks) - before[0], written(other) - before[1]]
	// 7 to 1 by the limits; a block of 4 MiB may be on either side of the measurement.
	assert.ok(b <= a / 3, `${a / mib} and ${b / mib} MiB`)
	assert.ok(b > 0, "the other one starves")
})

await test("a pod whose author asks for more later gets only what is left", async () => {
	await annotate(other, { [`${type}/write-bps`]: "1000Mi" })
	await limits(15, 5)
})

await test("a pod that goes leaves its share", async () => {
	await writers[0].end()
	await ok(client.delete(`${pods}/${asks.metadata.name}`), 200)
	await until("the other's limit", () => limit(other) === 20, 30)
})

await test("a driver that ends takes its limits away", async () => {
	driver.child.kill("SIGTERM")
	await driver.ended
	assert.equal(limit(other), undefined)
})

await writers[1].end()
finish()
