// Jobs with our own controller, which has only the rights of its role, on hollow nodes: completion, indexes, suspension, TTL,
// deletion, what the server refuses, a device that fails, and a controller that is killed while it counts.
import assert from "node:assert/strict"
import { unique } from "./api_lib.mjs"
import { deviceStory } from "./job_story.mjs"
import { finish, test, until } from "./lib.mjs"
import { startCluster } from "./node_lib.mjs"

const jobs = "/apis/batch/v1/namespaces/default/jobs", pods = "/api/v1/namespaces/default/pods"
const cluster = await startCluster()
const { server } = cluster
const node = await cluster.node("n1")
const names = ["job-controller", "ttl-after-finished-controller", "garbage-collector-controller"]
let controller = await cluster.controller(...names)

// `exit` is what the hollow node does with the container: "0 after 1s"; without it the pod runs on.
const jobOf = (exit, spec, more = {}) => ({
	metadata: { name: unique("job") },
	spec: {
		...spec,
		template: {
			metadata: { annotations: exit ? { "devplane.dev/hollow-exit.main": exit } : {} },
			spec: {
				nodeName: "n1", restartPolicy: "Never", automountServiceAccountToken: false, terminationGracePeriodSeconds: 1,
				containers: [{ name: "main", image: "busybox" }],
				...more,
			},
		},
	},
})

async function create(exit, spec, more) {
	const { code, body, text } = await server.client.post(jobs, jobOf(exit, spec, more))
	assert.equal(code, 201, text)
	return body
}

const read = async (job) => (await server.client.get(`${jobs}/${job.metadata.name}`)).body
const own = async (job) => (await server.client.get(`${pods}?labelSelector=batch.kubernetes.io/job-name=${job.metadata.name}`)).body.items
const condition = (job, type) => job.status.conditions?.find((c) => c.type === type && c.status === "True")

async function when(job, what, wanted, seconds = 60) {
	let last
	try {
		return await until(what, async () => wanted(last = await read(job)) && last, seconds)
	} catch (e) {
		throw new Error(`${e.message}\n${JSON.stringify(last.status, null, 1)}\n${await cluster.eventsText(job.metadata.name)}\n${controller.err.slice(-2000)}`)
	}
}

const ended = (job, type, seconds) => when(job, `${type} of the Job`, (j) => condition(j, type), seconds)

await test("a Job runs its pods and completes", async () => {
	const job = await create("0 after 1s", { completions: 6, parallelism: 3 })
	const { status } = await ended(job, "Complete")
	assert.equal(status.succeeded, 6)
	assert.equal(status.failed, undefined)
	assert.equal(status.active, undefined)
	assert.deepEqual([status.ready, status.terminating], [0, 0])
	assert.deepEqual(status.uncountedTerminatedPods, {})
	assert.equal(condition({ status }, "SuccessCriteriaMet").reason, "CompletionsReached")
	assert.ok(status.startTime <= status.completionTime)
	const list = await own(job)
	assert.equal(list.length, 6)
	for (const { metadata } of list) {
		assert.equal(metadata.finalizers, undefined)
		assert.equal(metadata.labels["batch.kubernetes.io/controller-uid"], job.metadata.uid)
		assert.equal(metadata.ownerReferences[0].uid, job.metadata.uid)
	}
	await cluster.event(job.metadata.name, "SuccessfulCreate")
	await cluster.event(job.metadata.name, "Completed", /Job completed/)
})

await test("an indexed Job gives each pod its index", async () => {
	const job = await create("0 after 1s", { completions: 4, parallelism: 2, completionMode: "Indexed" })
	const { status } = await ended(job, "Complete")
	assert.equal(status.completedIndexes, "0-3")
	const list = (await own(job)).sort((a, b) => a.metadata.name.localeCompare(b.metadata.name))
	assert.deepEqual(list.map((p) => p.metadata.annotations["batch.kubernetes.io/job-completion-index"]), ["0", "1", "2", "3"])
	assert.deepEqual(list.map((p) => p.spec.hostname), [0, 1, 2, 3].map((i) => `${job.metadata.name}-${i}`))
	for (const p of list)
		assert.equal(p.spec.containers[0].env.find((e) => e.name === "JOB_COMPLETION_INDEX").valueFrom.fieldRef.fieldPath,
			"metadata.labels['batch.kubernetes.io/job-completion-index']")
})

await test("a Job gives up at its back-off limit, and says why", async () => {
	const job = await create("3 after 1s", { completions: 1, backoffLimit: 1 })
	const { status } = await ended(job, "Failed")
	assert.equal(condition({ status }, "Failed").reason, "BackoffLimitExceeded")
	assert.equal(condition({ status }, "FailureTarget").reason, "BackoffLimitExceeded")
	assert.equal(status.failed, 2)
	await cluster.event(job.metadata.name, "BackoffLimitExceeded")
})

await test("an exit code ends the Job by its policy", async () => {
	const job = await create("42 after 1s", {
		completions: 1,
		podFailurePolicy: { rules: [{ action: "FailJob", onExitCodes: { containerName: "main", operator: "In", values: [42] } }] },
	})
	assert.equal(job.spec.podReplacementPolicy, "Failed")
	const { status } = await ended(job, "Failed")
	assert.match(condition({ status }, "Failed").message, /^Container main for pod default\/\S+ failed with exit code 42 matching FailJob rule at index 0$/)
})

await test("a suspended Job has no pods, and starts anew", async () => {
	const job = await create(undefined, { completions: 2, parallelism: 2 })
	await when(job, "two ready pods", (j) => j.status.ready === 2)
	await server.client.patch(`${jobs}/${job.metadata.name}`, { spec: { suspend: true } }, "merge")
	const suspended = await when(job, "no pods", (j) => condition(j, "Suspended") && !j.status.active && j.status.terminating === 0)
	assert.equal(suspended.status.startTime, undefined)
	await until("no pods", async () => (await own(job)).length === 0)
	await cluster.event(job.metadata.name, "Suspended", /Job suspended/)
	await server.client.patch(`${jobs}/${job.metadata.name}`, { spec: { suspend: false } }, "merge")
	const resumed = await when(job, "two pods again", (j) => j.status.ready === 2)
	assert.ok(resumed.status.startTime)
	assert.equal(resumed.status.failed, undefined)
	await cluster.event(job.metadata.name, "Resumed", /Job resumed/)
	await server.client.delete(`${jobs}/${job.metadata.name}`, { propagationPolicy: "Foreground" })
	await until("end of the Job", async () => (await server.client.get(`${jobs}/${job.metadata.name}`)).code === 404, 60)
	assert.deepEqual(await own(job), [])
})

await test("a Job with a deadline ends at it", async () => {
	const job = await create(undefined, { completions: 1, activeDeadlineSeconds: 3 })
	const { status } = await ended(job, "Failed")
	assert.equal(condition({ status }, "Failed").reason, "DeadlineExceeded")
})

await test("a finished Job is deleted with its pods after its TTL", async () => {
	const job = await create("0 after 1s", { completions: 2, parallelism: 2, ttlSecondsAfterFinished: 2 })
	await until("end of the Job", async () => (await server.client.get(`${jobs}/${job.metadata.name}`)).code === 404, 60)
	assert.deepEqual(await own(job), [])
})

await test("a Job that somebody else manages is left alone", async () => {
	const foreign = await create("0", { completions: 1, managedBy: "example.com/other" })
	const other = await create("0 after 1s", { completions: 1 })
	await ended(other, "Complete")
	assert.deepEqual(await own(foreign), [])
	assert.deepEqual((await read(foreign)).status, {})
})

await test("pods lose the finalizer with their Job", async () => {
	const job = await create(undefined, { completions: 1 })
	await when(job, "ready pod", (j) => j.status.ready === 1)
	await server.client.delete(`${jobs}/${job.metadata.name}`, { propagationPolicy: "Orphan" })
	const [pod] = await until("pod without finalizer", async () => {
		const list = await own(job)
		return list.every((p) => !p.metadata.finalizers && !p.metadata.ownerReferences) && list
	}, 60)
	await cluster.delete(pod, 0)
	await cluster.gone(pod)
})

// A watch sees each pod and how it ended; the Job's counters must say the same.
await test("a controller that is killed while it counts counts each pod once", async () => {
	const watch = await server.client.watch(`${pods}?watch=true&labelSelector=story%3Dkilled`)
	const body = jobOf("0 after 1s", { completions: 40, parallelism: 10 })
	body.spec.template.metadata.labels = { story: "killed" }
	const { code, body: job, text } = await server.client.post(jobs, body)
	assert.equal(code, 201, text)
	let kills = 0
	for (; kills < 12 && !condition(await read(job), "Complete"); kills++) {
		await new Promise((resolve) => setTimeout(resolve, 300 + 170 * (kills % 7)))
		await controller.kill()
		controller = await cluster.controller(...names)
	}
	assert.ok(kills > 3, `only ${kills} kills`)
	const { status } = await ended(job, "Complete", 90)
	const made = new Set(watch.events.filter((e) => e.type === "ADDED").map((e) => e.object.metadata.uid))
	const over = new Set(watch.events.filter((e) => e.object.status.phase === "Succeeded").map((e) => e.object.metadata.uid))
	watch.close()
	// A creation that was under way at a kill may come after the new controller's list: such a surplus pod is deleted.
	const deleted = new Set(watch.events.filter((e) => e.object.metadata.deletionTimestamp && !over.has(e.object.metadata.uid)).map((e) => e.object.metadata.uid))
	assert.equal(status.succeeded, over.size)
	assert.equal(status.failed, undefined)
	assert.ok(over.size >= 40, `${over.size} pods succeeded`)
	assert.equal(made.size, over.size + deleted.size)
	assert.deepEqual(status.uncountedTerminatedPods, {})
	for (const { metadata } of await own(job))
		assert.equal(metadata.finalizers, undefined)
}, 200)

await deviceStory(cluster, node, () => assert.equal(controller.child.exitCode, null, controller.err.slice(-2000)))

await test("checks and ends are counted in metrics", async () => {
	const text = await (await fetch(`${controller.url}/metrics`)).text()
	assert.match(text, /job_controller_job_syncs_total\{completion_mode="NonIndexed",result="success",action="[a-z_]+"\} \d+/)
	assert.match(text, /job_controller_jobs_finished_total\{completion_mode="NonIndexed",result="failed",reason="PodFailurePolicy"\} 1/)
})

await controller.stop()
await node.stop()
await cluster.stop()
finish()
