// Flow control: requests are sorted, have seats, wait their turn and are refused; what runs long holds no seat; the
// objects that say so are kept.
//
// A client that requests a list of many megabytes and does not read it holds a seat for as long as the test likes.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import * as https from "node:https"
import { core, expect, startServer } from "./api_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"

const flow = "/apis/flowcontrol.apiserver.k8s.io/v1"
const rbac = "/apis/rbac.authorization.k8s.io/v1"
const big = `${core}/namespaces/default/configmaps`
const small = `${core}/namespaces/default`
const people = ["flood", "other", "quiet"]
writeFileSync(`${scratch}/tokens.csv`, people.map((name, i) => `${name},${name},${i},\n`).join(""))

const level = (name, limited) => ({
	apiVersion: "flowcontrol.apiserver.k8s.io/v1", kind: "PriorityLevelConfiguration", metadata: { name },
	spec: { type: "Limited", limited: { nominalConcurrencyShares: 1, borrowingLimitPercent: 0, ...limited } },
})
const schema = (name, levelName, user) => ({
	apiVersion: "flowcontrol.apiserver.k8s.io/v1", kind: "FlowSchema", metadata: { name },
	spec: {
		priorityLevelConfiguration: { name: levelName }, matchingPrecedence: 200, distinguisherMethod: { type: "ByUser" },
		rules: [{
			subjects: [{ kind: "User", user: { name: user } }],
			resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true }],
		}],
	},
})

async function begin(...flags) {
	const server = await startServer("lmdb", { flags: ["--token-auth-file", `${scratch}/tokens.csv`, ...flags] })
	expect(await server.client.post(`${rbac}/clusterrolebindings`, {
		metadata: { name: "people" }, roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
		subjects: people.map((name) => ({ kind: "User", apiGroup: "rbac.authorization.k8s.io", name })),
	}), 201)
	const text = "x".repeat(900_000)
	for (let i = 0; i < 20; i++)
		expect(await server.client.post(big, { metadata: { name: `big-${i}` }, data: { text } }), 201)
	return server
}

// Asks on a connection of its own. The answer's head is there when it resolves; nothing is read before end().
function ask(server, user, path) {
	return new Promise((resolve, reject) => {
		const request = https.get(server.url + path, {
			ca: server.credentials.ca, agent: false, headers: { authorization: `Bearer ${user}`, "accept-encoding": "identity" },
		}, (answer) => {
			answer.pause()
			answer.on("error", () => {})
			resolve({ answer, code: answer.statusCode, headers: answer.headers, end: () => request.destroy() })
		})
		request.on("error", reject)
	})
}

async function read(asked) {
	let text = ""
	for await (const piece of asked.answer)
		text += piece
	return text
}

async function metric(server, pattern) {
	const { text } = await server.client.get("/metrics")
	return Number(pattern.exec(text)?.[1] ?? 0)
}

async function holds(server, name, count) {
	const pattern = new RegExp(`current_executing_requests{priority_level="${name}"} (\\d+)`)
	await until(`${count} under way in ${name}`, async () => await metric(server, pattern) === count)
}

const server = await begin("--max-requests-inflight", "10", "--max-mutating-requests-inflight", "10", "--request-timeout", "8s")
const { client } = server
const kubectl = (...args) => execFileSync("kubectl", ["--kubeconfig", server.kubeconfig, ...args], { encoding: "utf8" })

await test("answers name the schema and the level that requests were sorted into", async () => {
	const uid = async (path) => (await client.get(flow + path)).body.metadata.uid
	const quiet = await ask(server, "quiet", small)
	assert.equal(quiet.headers["x-kubernetes-pf-flowschema-uid"], await uid("/flowschemas/global-default"))
	assert.equal(quiet.headers["x-kubernetes-pf-prioritylevel-uid"], await uid("/prioritylevelconfigurations/global-default"))
	quiet.end()
	const admin = await client.get(small)
	assert.equal(admin.headers["x-kubernetes-pf-flowschema-uid"], await uid("/flowschemas/exempt"))
})

await test("an impersonated request is classified as the impersonated user's", async () => {
	const { metadata: { uid } } = (await client.get(`${flow}/flowschemas/global-default`)).body
	for (const path of [small, "/version"]) {
		const answer = await client.request("GET", path, { headers: { "impersonate-user": "quiet" } })
		expect(answer, 200)
		assert.equal(answer.headers["x-kubernetes-pf-flowschema-uid"], uid)
	}
})

await test("kubectl shows the defaults", async () => {
	const names = kubectl("get", "flowschemas", "-o", "name").trim().split("\n")
	assert.equal(names.length, 11)
	assert.match(kubectl("get", "prioritylevelconfigurations", "workload-low", "-o", "jsonpath={.spec.limited.limitResponse.queuing}"), /"queues":128/)
})

await test("a request without a seat at a level without a queue is rejected, with Retry-After", async () => {
	expect(await client.post(`${flow}/prioritylevelconfigurations`, level("strict", { limitResponse: { type: "Reject" } })), 201)
	expect(await client.post(`${flow}/flowschemas`, schema("strict", "strict", "flood")), 201)
	let first
	await until("a request in the new level", async () => {
		first = await ask(server, "flood", big)
		const { body } = await client.get(`${flow}/flowschemas/strict`)
		if (first.headers["x-kubernetes-pf-flowschema-uid"] === body.metadata.uid)
			return true
		first.end()
	})
	assert.equal(first.code, 200)
	await holds(server, "strict", 1)
	const second = await ask(server, "flood", small)
	assert.equal(second.code, 429)
	assert.equal(second.headers["retry-after"], "1")
	assert.equal(await read(second), "Too many requests, please try again later.\n")
	const other = await ask(server, "quiet", small)
	assert.equal(other.code, 200)
	other.end()
	first.end()
	await holds(server, "strict", 0)
	const third = await ask(server, "flood", small)
	assert.equal(third.code, 200)
	third.end()
	assert.equal(await metric(server, /rejected_requests_total{priority_level="strict",flow_schema="strict",reason="concurrency-limit"} (\d+)/), 1)
})

await test("where requests wait, one that gets a seat is answered, and one too many is refused", async () => {
	const queuing = { queues: 1, handSize: 1, queueLengthLimit: 1 }
	expect(await client.post(`${flow}/prioritylevelconfigurations`, level("patient", { limitResponse: { type: "Queue", queuing } })), 201)
	expect(await client.post(`${flow}/flowschemas`, schema("patient", "patient", "other")), 201)
	const { body } = await client.get(`${flow}/flowschemas/patient`)
	let first
	await until("a request in the new level", async () => {
		first = await ask(server, "other", big)
		return first.headers["x-kubernetes-pf-flowschema-uid"] === body.metadata.uid || first.end()
	})
	await holds(server, "patient", 1)
	const waiting = ask(server, "other", small)
	await until("one waits", async () => await metric(server, /current_inqueue_requests{priority_level="patient"} (\d+)/) === 1)
	const third = await ask(server, "other", small)
	assert.equal(third.code, 429)
	first.end()
	const second = await waiting
	assert.equal(second.code, 200)
	assert.match(await read(second), /"name":\s*"default"/)
})

await test("a request that waits too long is rejected", async () => {
	const first = await ask(server, "other", big)
	await holds(server, "patient", 1)
	const second = await ask(server, "other", small)
	assert.equal(second.code, 429)
	assert.equal(await metric(server, /rejected_requests_total{priority_level="patient",flow_schema="patient",reason="time-out"} (\d+)/), 1)
	first.end()
	await holds(server, "patient", 0)
})

await test("a client that leaves while waiting is forgotten", async () => {
	const inqueue = /current_inqueue_requests{priority_level="patient"} (\d+)/
	const first = await ask(server, "other", big)
	await holds(server, "patient", 1)
	const request = https.get(server.url + small, { ca: server.credentials.ca, agent: false, headers: { authorization: "Bearer other" } })
	request.on("error", () => {})
	await until("one waits", async () => await metric(server, inqueue) === 1)
	request.destroy()
	await until("none waits", async () => await metric(server, inqueue) === 0)
	first.end()
	await holds(server, "patient", 0)
})

await test("watches hold no seat", async () => {
	const watches = []
	for (let i = 0; i < 5; i++)
		watches.push(await ask(server, "flood", `${core}/namespaces?watch=true`))
	for (const { code } of watches)
		assert.equal(code, 200)
	await holds(server, "strict", 0)
	for (const watch of watches)
		watch.end()
})

await test("a schema says whether its level is there", async () => {
	const condition = async () => (await client.get(`${flow}/flowschemas/lost`)).body.status?.conditions?.[0]
	expect(await client.post(`${flow}/flowschemas`, schema("lost", "nowhere", "nobody")), 201)
	await until("a condition", async () => (await condition())?.status === "True")
	assert.equal((await condition()).reason, "NotFound")
	assert.equal((await condition()).message,
		'This FlowSchema references the PriorityLevelConfiguration object named "nowhere" but there is no such object')
	expect(await client.post(`${flow}/prioritylevelconfigurations`, level("nowhere", { limitResponse: { type: "Reject" } })), 201)
	await until("it is found", async () => (await condition()).status === "False")
})

await test("mandatory objects are restored, and manual changes stay", async () => {
	kubectl("delete", "flowschema", "exempt", "probes")
	kubectl("delete", "prioritylevelconfiguration", "catch-all")
	for (const path of ["/flowschemas/exempt", "/flowschemas/probes", "/prioritylevelconfigurations/catch-all"])
		await until(path, async () => (await client.get(flow + path)).code === 200)
	kubectl("annotate", "--overwrite", "flowschema", "global-default", "apf.kubernetes.io/autoupdate-spec=false")
	kubectl("patch", "flowschema", "global-default", "--type=merge", "-p", '{"spec":{"matchingPrecedence":9800}}')
	kubectl("patch", "prioritylevelconfiguration", "exempt", "--type=merge", "-p", '{"spec":{"exempt":{"lendablePercent":7}}}')
	assert.throws(() => kubectl("patch", "flowschema", "exempt", "--type=merge", "-p", '{"spec":{"matchingPrecedence":3}}'),
		/spec of 'exempt' must equal the fixed value/)
	kubectl("patch", "flowschema", "service-accounts", "--type=merge", "-p", '{"spec":{"matchingPrecedence":8800}}')
	const precedence = async (name) => (await client.get(`${flow}/flowschemas/${name}`)).body.spec.matchingPrecedence
	await until("the suggestion is put back", async () => await precedence("service-accounts") === 9000)
	assert.equal(await precedence("global-default"), 9800)
	assert.equal((await client.get(`${flow}/prioritylevelconfigurations/exempt`)).body.spec.exempt.lendablePercent, 7)
})

await server.stop()

await test("without fairness there are two limits", async () => {
	const plain = await begin("--enable-priority-and-fairness=false", "--max-requests-inflight", "1", "--max-mutating-requests-inflight", "1")
	const first = await ask(plain, "flood", big)
	await until("the limit is reached", async () => {
		const second = await ask(plain, "quiet", small)
		second.end()
		return second.code === 429
	})
	const admin = await plain.client.get(small)
	assert.equal(admin.code, 200)
	assert.equal(admin.headers["x-kubernetes-pf-flowschema-uid"], undefined)
	first.end()
	await until("it is free", async () => {
		const second = await ask(plain, "quiet", small)
		second.end()
		return second.code === 200
	})
	await plain.stop()
})

finish()
