// CPUs of real containers with the static policy: those that share leave the CPUs that a pod gets alone, while they
// run, and come back to them. The machine needs two CPUs and a runtime that can bind containers to them.
import assert from "node:assert/strict"
import { existsSync, readFileSync } from "node:fs"
import { containersPossible, image, startContainerd } from "./containerd_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"
import { podOn, startCluster } from "./node_lib.mjs"

function skip(why) {
	console.log(`ok 1 - CPUs of containers # SKIP ${why}`)
	console.log("1..1")
	process.exit(0)
}

// "0-2,5" as [0, 1, 2, 5].
function cpuList(text) {
	return text.trim().split(",").filter(Boolean).flatMap((range) => {
		const [from, to = from] = range.split("-").map(Number)
		return Array.from({ length: to - from + 1 }, (_, i) => from + i)
	})
}

function controllers() {
	const two = "/sys/fs/cgroup/cgroup.controllers"
	return existsSync(two) ? readFileSync(two, "utf8").split(/\s+/) : existsSync("/sys/fs/cgroup/cpuset") ? ["cpuset"] : []
}

const online = cpuList(readFileSync("/sys/devices/system/cpu/online", "utf8"))
const ours = cpuList(/Cpus_allowed_list:\s*(\S+)/.exec(readFileSync("/proc/self/status", "utf8"))[1])
if (!containersPossible())
	skip("only root can run containers")
if (online.length < 2 || ours.length < online.length)
	skip("not all CPUs, or only one, can be had")
if (!controllers().includes("cpuset"))
	skip("there is no cpuset controller")

const logs = `${scratch}/logs`
const [reserved] = online
let containerd, cluster

// Says the CPUs that it may run on, again and again.
function watcher(resources = {}) {
	const script = "while :; do grep Cpus_allowed_list /proc/self/status; sleep 0.1; done"
	return podOn("n1", { main: { image, imagePullPolicy: "IfNotPresent", command: ["/bin/sh", "-c", script], resources } })
}

// The last that a container said.
function cpusOf({ metadata: { name, uid } }, attempt = 0) {
	const file = `${logs}/default_${name}_${uid}/main/${attempt}.log`
	const said = existsSync(file) ? readFileSync(file, "utf8").match(/Cpus_allowed_list:\s*\S+(?=\n)/g) : undefined
	return said && cpuList(said.at(-1).split(/\s+/)[1])
}

function same(a, b) {
	return String(a) === String(b)
}

const mine = { cpu: "1", memory: "64Mi" }
const alone = () => watcher({ limits: mine, requests: mine })
const without = (list) => online.filter((c) => !list.includes(c))

await test("containerd and an agent that hands out CPUs", async () => {
	containerd = startContainerd()
	cluster = await startCluster({ names: ["n1"] })
	cluster.agent = await cluster.node("n1", {
		hollow: false,
		flags: ["--container-runtime-endpoint", containerd.socket, "--pod-logs-dir", logs,
			"--cpu-manager-policy", "static", "--reserved-cpus", String(reserved)],
	})
})
if (!cluster?.agent)
	finish()

await test("a container that runs leaves CPUs that a pod gets alone, and comes back", async () => {
	const shared = await cluster.run(watcher())
	await until("all CPUs", () => same(cpusOf(shared), online), 60)
	const own = await cluster.run(alone())
	const its = await until("a CPU of its own", () => cpusOf(own), 60)
	assert.equal(its.length, 1)
	assert.notEqual(its[0], reserved)
	await until("the others' leaving", () => same(cpusOf(shared), without(its)))
	const late = await cluster.run(watcher())
	await until("the rest", () => same(cpusOf(late), without(its)), 60)
	await cluster.delete(own, 0)
	await cluster.gone(own)
	await until("all CPUs again", () => same(cpusOf(shared), online) && same(cpusOf(late), online))
	for (const pod of [shared, late]) {
		assert.equal((await cluster.pod(pod)).status.containerStatuses[0].restartCount, 0)
		await cluster.delete(pod, 0)
		await cluster.gone(pod)
	}
})

await test("changes while no agent ran are caught up", async () => {
	const shared = await cluster.run(watcher())
	const own = await cluster.run(alone())
	const its = await until("a CPU of its own", () => cpusOf(own), 60)
	await until("the rest", () => same(cpusOf(shared), without(its)), 60)
	await cluster.agent.kill()
	await cluster.delete(own, 0)
	await cluster.agent.begin()
	await cluster.gone(own)
	await until("all CPUs again", () => same(cpusOf(shared), online))
	await cluster.delete(shared, 0)
	await cluster.gone(shared)
})

await cluster.agent.stop()
await cluster.stop()
finish()
