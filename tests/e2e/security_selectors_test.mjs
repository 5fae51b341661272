// A claim whose selectors cost much: the scheduler gives each attempt a budget, reports if it was too small, and schedules others meanwhile.
import assert from "node:assert/strict"
import { dra, expect } from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { claims, startCluster } from "./node_lib.mjs"
import { bareNode, pending, scheduledCondition, startScheduler } from "./scheduler_lib.mjs"

const cheapPods = 20
const mostCost = 30_000_000 // ALLOCATE_ATTEMPT_COST_MAX
const parts = 60 // ATTEMPT_PARTS
const oneMost = 1_000_000 // CEL_DEVICE_COST_MAX: the evaluation that crosses the line of a part

const cluster = await startCluster()
const { client } = cluster
const scheduler = await startScheduler(cluster)
await bareNode(cluster, "n1", { cpu: "100" })

const many = (n, make) => Array.from({ length: n }, (_, i) => make(i))
async function offer(driver, devices) {
	const name = driver.split(".")[0]
	expect(await client.post(`${dra}/resourceslices`, { metadata: { name }, spec: { driver, nodeName: "n1", pool: { name, generation: 1, resourceSliceCount: 1 }, devices } }), 201)
	expect(await client.post(`${dra}/deviceclasses`, { metadata: { name }, spec: { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] } }), 201)
}
const attributes = Object.fromEntries(many(32, (i) => [`d${i}.example.com/a`, { string: "v".repeat(40) }]))
await offer("costly.example.com", many(32, (i) => ({ name: `c${i}`, attributes })))
await offer("cheap.example.com", many(cheapPods, (i) => ({ name: `d${i}` })))

async function podWith(name, requests) {
	expect(await client.post(claims, { metadata: { name }, spec: { devices: { requests } } }), 201)
	return cluster.run(pending({ name, resourceClaims: [{ name: "c", resourceClaimName: name }], main: { image: "busybox", resources: { claims: [{ name: "c" }] } } }))
}

// 32 requests with 32 selectors each, of which every one costs 200,000 units on a device. Only the very last is false: the search for
// devices that fit together comes upon every request with every device.
const selector = (r, i) => `device.attributes.all(a,device.attributes.all(b,device.attributes.all(c,a!=b||c!="${r}-${i}")))${r === 31 && i === 31 ? "&&false" : ""}`
const heavy = many(32, (r) => ({ name: `r${r}`, exactly: { deviceClassName: "costly", selectors: many(32, (i) => ({ cel: { expression: selector(r, i) } })) } }))

const metric = (name) => scheduler.metric(name)
const failures = () => metric('scheduler_schedule_attempts_total{result="error",profile="default-scheduler"}')

await test("the scheduler serves other pods while one has too costly selectors, and that pod's event says why", async () => {
	const costly = await podWith("costly", heavy)
	const cheap = []
	for (let i = 0; i < cheapPods; i++)
		cheap.push(await podWith(`cheap-${i}`, [{ name: "r", exactly: { deviceClassName: "cheap" } }]))
	for (const pod of cheap)
		await cluster.pod(pod, (p) => p.spec.nodeName === "n1")

	const told = /selectors of the pod's claims cost more than 30000000 units in one attempt, up to claim default\/costly: selector #\d+/
	const { reason, message } = scheduledCondition(await cluster.pod(costly, (p) => told.test(scheduledCondition(p)?.message)))
	assert.equal(reason, "SchedulerError")
	const event = await cluster.event("costly", "FailedScheduling")
	assert.match(event.message ?? event.note, told, message)
})

await test("an attempt is made in parts, between which others have their turn", async () => {
	const unfinished = await metric('scheduler_queue_incoming_pods_total{queue="active",event="ScheduleAttemptUnfinished"}')
	assert.ok(unfinished >= parts - 1, `${unfinished} parts`)
})

await test("it is tried again, with back-off, and each attempt does so much and no more", async () => {
	await until("a second attempt", async () => (await failures()) >= 2)
	const [cost, evaluations, attempts] = [await metric("devplane_scheduler_selector_cost_total"), await metric("devplane_scheduler_selector_evaluations_total"), await failures()]
	assert.ok(cost > mostCost, `${cost} units`)
	assert.ok(cost <= (attempts + 1) * (mostCost + parts * oneMost) + cheapPods * 100_000, `${cost} units in ${attempts} attempts`)
	assert.ok(evaluations <= (attempts + 1) * 1000 + cheapPods * 100, `${evaluations} evaluations in ${attempts} attempts`)
})

await scheduler.stop()
await cluster.stop()
finish()
