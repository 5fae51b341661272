// Hollow nodes: registration, leases, the life of pods as bookkeeping, restarts and deletions, many nodes in one process.
import assert from "node:assert/strict"
import { core } from "./api_lib.mjs"
import { finish, start, test, until } from "./lib.mjs"
import { podOn, pods, shortFolder, startCluster } from "./node_lib.mjs"

const cluster = await startCluster()
const { client } = cluster
const node = await cluster.node("n1", { flags: ["--node-labels", "zone=a", "--hollow-cpus", "4", "--hollow-memory", "8Gi"] })

function state(pod, name = "main") {
	return pod.status.containerStatuses?.find((c) => c.name === name)
}

await test("the node registers, says that it is hollow, and renews its lease", async () => {
	const { metadata, status } = await cluster.readNode("n1")
	assert.equal(metadata.labels["kubernetes.io/hostname"], "n1")
	assert.equal(metadata.labels.zone, "a")
	assert.equal(status.capacity.cpu, "4")
	assert.equal(status.capacity.memory, "8Gi")
	assert.equal(status.capacity.pods, "110")
	assert.deepEqual(status.conditions.map((c) => c.type).sort(), ["DiskPressure", "MemoryPressure", "PIDPressure", "Ready"])
	assert.match(status.nodeInfo.containerRuntimeVersion, /hollow/)
	assert.match(node.process.out, /hollow: runs no containers/)
	const lease = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1`
	const first = await until("lease", async () => (await client.get(lease)).body?.spec?.renewTime && (await client.get(lease)).body)
	assert.equal(first.spec.holderIdentity, "n1")
	assert.equal(first.metadata.ownerReferences[0].kind, "Node")
	await until("renewal", async () => (await client.get(lease)).body.spec.renewTime !== first.spec.renewTime, 30)
})

await test("a pod runs, is deleted and goes", async () => {
	const pod = await cluster.run(podOn("n1"))
	const running = await cluster.pod(pod, (p) => p.status.phase === "Running" && state(p).ready)
	assert.deepEqual(running.status.conditions.filter((c) => c.status === "True").map((c) => c.type).sort(),
		["ContainersReady", "Initialized", "PodReadyToStartContainers", "PodScheduled", "Ready"].filter((t) =>
			t !== "PodScheduled" || running.status.conditions.some((c) => c.type === t)))
	assert.match(running.status.podIP, /^10\./)
	assert.ok(running.status.startTime)
	assert.match(state(running).containerID, /^hollow:\/\//)
	await cluster.event(pod.metadata.name, "Started")
	await cluster.delete(pod)
	await cluster.gone(pod)
})

await test("restart policies and exit codes", async () => {
	const exits = (code) => ({ "devplane.dev/hollow-exit.main": code })
	const good = await cluster.run(podOn("n1", { restartPolicy: "Never", annotations: exits("0") }))
	const bad = await cluster.run(podOn("n1", { restartPolicy: "Never", annotations: exits("3") }))
	const loop = await cluster.run(podOn("n1", { restartPolicy: "OnFailure", annotations: exits("1") }))
	assert.equal(state(await cluster.pod(good, (p) => p.status.phase === "Succeeded")).state.terminated.reason, "Completed")
	const failed = await cluster.pod(bad, (p) => p.status.phase === "Failed")
	assert.equal(state(failed).state.terminated.exitCode, 3)
	assert.equal(state(failed).state.terminated.reason, "Error")
	const looping = await cluster.pod(loop, (p) => state(p)?.state.waiting?.reason === "CrashLoopBackOff" && state(p).restartCount >= 1)
	assert.match(state(looping).state.waiting.message, /^back-off 10s restarting failed container=main pod=/)
	assert.equal(state(looping).lastState.terminated.exitCode, 1)
	await cluster.event(loop.metadata.name, "BackOff", /Back-off restarting failed container/)
	for (const pod of [good, bad, loop]) {
		await cluster.delete(pod)
		await cluster.gone(pod)
	}
})

await test("init containers run to their end, one after the other; sidecars stay", async () => {
	const pod = await cluster.run(podOn("n1", {
		annotations: { "devplane.dev/hollow-exit.one": "0", "devplane.dev/hollow-exit.two": "0 after 300ms" },
		initContainers: [
			{ name: "one", image: "x" },
			{ name: "side", image: "x", restartPolicy: "Always" },
			{ name: "two", image: "x" },
		],
	}))
	const running = await cluster.pod(pod, (p) => p.status.phase === "Running" && state(p).ready)
	const [one, side, two] = running.status.initContainerStatuses
	assert.equal(one.state.terminated.reason, "Completed")
	assert.ok(side.state.running && side.started)
	assert.ok(two.state.terminated.startedAt >= one.state.terminated.finishedAt)
	assert.ok(state(running).state.running.startedAt >= two.state.terminated.finishedAt)
	await cluster.delete(pod)
	await cluster.gone(pod)
})

await test("a pod that does not fit is rejected", async () => {
	const pod = await cluster.run(podOn("n1", { main: { resources: { requests: { cpu: "5" } } } }))
	const refused = await cluster.pod(pod, (p) => p.status.phase === "Failed")
	assert.equal(refused.status.reason, "OutOfcpu")
	assert.match(refused.status.message, /Node didn't have enough resource: cpu, requested: 5000, used: \d+, capacity: 4000/)
})

await test("a pod that fails to pull its image says so and backs off", async () => {
	const pod = await cluster.run(podOn("n1", { annotations: { "devplane.dev/hollow-pull-error": "busybox no such image" } }))
	const waiting = await cluster.pod(pod, (p) => /ImagePull/.test(state(p)?.state.waiting?.reason))
	assert.equal(waiting.status.phase, "Pending")
	await cluster.event(pod.metadata.name, "Failed", /no such image/)
	await cluster.delete(pod)
	await cluster.gone(pod)
})

await test("an agent that was killed takes up its pods again, and ends what was deleted meanwhile", async () => {
	const stays = await cluster.run(podOn("n1")), goes = await cluster.run(podOn("n1"))
	await cluster.pod(stays, (p) => p.status.phase === "Running")
	await cluster.pod(goes, (p) => p.status.phase === "Running")
	await node.kill()
	await cluster.delete(goes)
	await node.begin()
	await cluster.gone(goes)
	await cluster.pod(stays, (p) => p.status.phase === "Running" && state(p).ready)
	await cluster.delete(stays, 0)
	await cluster.gone(stays)
})

await test("a full node has room for the next pod as soon as the API server has deleted one", async () => {
	const full = await cluster.node("n3", { flags: ["--max-pods", "5"] })
	// With a grace period of 0 the object goes at once, while the agent is still ending the containers.
	const next = () => cluster.run(podOn("n3", { terminationGracePeriodSeconds: 0 }))
	const here = await Promise.all(Array.from({ length: 5 }, next))
	for (let i = 0; i < 60; i++) {
		await cluster.delete(here.shift())
		here.push(await next())
	}
	// The same while the agent is away.
	await full.kill()
	await cluster.delete(here.shift())
	here.push(await next())
	await full.begin()
	for (const pod of here)
		await cluster.pod(pod, (p) => p.status.phase === "Running")
	const events = (await client.get(`${core}/namespaces/default/events?fieldSelector=reason%3DOutOfpods`)).body.items
	assert.deepEqual(events.map((e) => e.message), [])
	await Promise.all(here.map((pod) => cluster.delete(pod)))
	await full.stop()
})

await test("two hundred pods at once come and go", async () => {
	await node.stop()
	const big = await cluster.node("n2", { flags: ["--max-pods", "300"] })
	const all = await Promise.all(Array.from({ length: 200 }, () => cluster.run(podOn("n2"))))
	await Promise.all(all.map((pod) => cluster.pod(pod, (p) => p.status.phase === "Running" && state(p).ready)))
	await Promise.all(all.map((pod) => cluster.delete(pod)))
	await until("an empty node", async () => (await client.get(`${pods}?fieldSelector=spec.nodeName%3Dn2`)).body.items.length === 0, 60)
	await big.stop()
})

await test("one process is fifty nodes", async () => {
	const process = start("node", "--kubeconfig", cluster.server.kubeconfig, "--node-name", "many", "--root-dir", shortFolder(),
		"--runtime", "hollow", "--nodes", "50", "--metrics-bind-address", "127.0.0.1:0", "--log-format", "text")
	const ready = (n) => n.status?.conditions?.some((c) => c.type === "Ready" && c.status === "True")
	await until("fifty nodes", async () => (await client.get(`${core}/nodes`)).body.items.filter((n) => /^many-/.test(n.metadata.name) && ready(n)).length === 50, 60)
	assert.match(process.out, /is 50 hollow nodes, many-0 and on/)
	const all = await Promise.all(Array.from({ length: 50 }, (_, i) => cluster.run(podOn(`many-${i}`))))
	await Promise.all(all.map((pod) => cluster.pod(pod, (p) => p.status.phase === "Running")))
	process.child.kill("SIGTERM")
	assert.deepEqual(await process.ended, { code: 0, signal: null })
})

await test("wrong flags are refused with a word on what to do", async () => {
	for (const [flags, text] of [
		[["--nodes", "3"], /--nodes above 1 needs --runtime hollow/],
		[["--runtime", "hollow", "--container-runtime-endpoint", "unix:///x"], /exclude each other/],
		[["--runtime", "hollow", "--feature-gates", "Nope=true"], /--feature-gates/],
		[["--runtime", "hollow", "--kube-reserved", "cpu"], /NAME=AMOUNT/],
		[["--runtime", "hollow", "--reserved-memory", "x"], /NODE:memory=SIZE/],
	]) {
		const p = start("node", "--kubeconfig", cluster.server.kubeconfig, "--root-dir", shortFolder(), ...flags)
		assert.equal((await p.ended).code, 2, p.err)
		assert.match(p.err, text)
	}
})

finish()
