// The story of a Job whose device fails (KEP-4680): podFailurePolicy on the condition devplane.dev/DevicesHealthy. It runs
// with our own Job controller (jobs_test.mjs) and with upstream's (upstream_job_test.mjs).
import assert from "node:assert/strict"
import { unique } from "./api_lib.mjs"
import { test, until } from "./lib.mjs"
import { allocateClaim, healthOf } from "./node_lib.mjs"
import { DraDriver } from "./plugin_lib.mjs"

const jobs = "/apis/batch/v1/namespaces/default/jobs", pods = "/api/v1/namespaces/default/pods"
const driverName = "gpu.example.com"

// `alive` fails if the controller has ended.
export async function deviceStory(cluster, node, alive) {
	const { server } = cluster
	const prepare = () => ({ devices: [{ request_names: ["r"], pool_name: "p", device_name: "gpu0", cdi_device_ids: ["example.com/gpu=gpu0"] }] })
	const driver = await DraDriver.start(node.root, driverName, { prepare })
	const health = (state) => driver.report([{ pool: "p", device: "gpu0", health: state, message: state === "Healthy" ? undefined : "Xid 79" }])

	async function startJob(exit) {
		const claim = unique("claim")
		const { code, body, text } = await server.client.post(jobs, {
			metadata: { name: unique("job") },
			spec: {
				backoffLimit: 6,
				podFailurePolicy: { rules: [{ action: "FailJob", onPodConditions: [{ type: "devplane.dev/DevicesHealthy", status: "False" }] }] },
				template: {
					metadata: { annotations: { "devplane.dev/hollow-exit.main": exit } },
					spec: {
						nodeName: "n1",
						restartPolicy: "Never",
						automountServiceAccountToken: false,
						resourceClaims: [{ name: "gpu", resourceClaimName: claim }],
						containers: [{ name: "main", image: "busybox", resources: { claims: [{ name: "gpu" }] } }],
					},
				},
			},
		})
		assert.equal(code, 201, text)
		const own = () => server.client.get(`${pods}?labelSelector=job-name=${body.metadata.name}`).then((r) => r.body.items)
		const [pod] = await until("pod of the Job", async () => {
			alive()
			const list = await own()
			return list.length > 0 && list
		}, 60)
		await allocateClaim(server.client, claim, [{ request: "r", driver: driverName, pool: "p", device: "gpu0" }], pod)
		return { name: body.metadata.name, pod, own, now: () => server.client.get(`${jobs}/${body.metadata.name}`).then((r) => r.body) }
	}

	const shows = (job, wanted) => until(`a device that is ${wanted}`, async () =>
		JSON.stringify(healthOf((await server.client.get(`${pods}/${job.pod.metadata.name}`)).body) ?? {}).includes(wanted), 60)
	const failed = (job) => job.status.conditions?.find((c) => c.type === "Failed" && c.status === "True")

	await test("a Job whose device fails goes on while its pod runs, and fails with the pod, although the device is healthy again by then", async () => {
		health("Healthy")
		const job = await startJob("1 after 10s")
		const at = `${pods}/${job.pod.metadata.name}`
		await shows(job, "Healthy")
		health("Unhealthy")
		await shows(job, "Unhealthy")
		// The Job is read before the pod: the pod runs with an unhealthy device then, and the Job has not failed.
		const meanwhile = await job.now()
		assert.equal((await server.client.get(at)).body.status.phase, "Running")
		assert.equal(failed(meanwhile), undefined)
		// The device recovers as soon as the pod has failed. What the Job's controller judges is the evidence that the pod keeps.
		let recovered = false
		driver.options.unprepare = () => {
			recovered = true
			health("Healthy")
		}
		const why = await until("end of the Job", async () => failed(await job.now()), 60)
		assert.equal(why.reason, "PodFailurePolicy")
		assert.match(why.message, /DevicesHealthy/)
		assert.equal((await job.own()).length, 1, "no second pod was made")
		await until("device that recovers", () => recovered)
		const kept = await until("health of the node's device", async () => {
			const { body: { metadata } } = await server.client.get("/api/v1/nodes/n1")
			return (metadata.annotations?.["devplane.dev/device-health"] ?? "").includes('"Healthy"') && (await server.client.get(at)).body
		})
		assert.match(JSON.stringify(healthOf(kept)), /Unhealthy Xid 79/)
		assert.equal(kept.status.conditions.find((c) => c.type === "devplane.dev/DevicesHealthy").status, "False")
		delete driver.options.unprepare
		await server.client.delete(`${jobs}/${job.name}`, { propagationPolicy: "Foreground" })
	})

	await test("a Job whose pod fails with a healthy device gets another pod", async () => {
		health("Healthy")
		const job = await startJob("1 after 2s")
		await shows(job, "Healthy")
		await until("second pod", async () => (await job.own()).length > 1, 60)
		assert.equal(failed(await job.now()), undefined)
		await server.client.delete(`${jobs}/${job.name}`, { propagationPolicy: "Foreground" })
	})
	await driver.stop()
}
