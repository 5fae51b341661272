// Rules in CEL of custom resources: refused and obeyed over HTTP, by client-node and by kubectl.
import assert from "node:assert/strict"
import { execFileSync, spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { dirname } from "node:path"
import * as k8s from "@kubernetes/client-node"
import { backends, expect, expectStatus, newNamespace, startServer, unique } from "./api_lib.mjs"
import { devplane, finish, scratch, test } from "./lib.mjs"

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

function rules(...list) {
	return { "x-kubernetes-validations": list.map((rule) => (typeof rule === "string" ? { rule } : rule)) }
}

const schema = {
	type: "object",
	...rules({ rule: "!has(self.status) || self.status.ready <= self.spec.max", reason: "FieldValueForbidden", fieldPath: ".status.ready", messageExpression: "self.metadata.name + ' has not so many'" }),
	properties: {
		spec: {
			type: "object", required: ["min", "max"],
			...rules("self.min <= self.max"),
			properties: {
				min: { type: "integer" },
				max: { type: "integer" },
				zone: { type: "string", maxLength: 20, ...rules({ rule: "self == oldSelf", message: "zone is immutable" }) },
			},
		},
		status: { type: "object", properties: { ready: { type: "integer" } } },
	},
}

function define(openAPIV3Schema) {
	const group = `${unique("r")}.example.com`
	return {
		apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: `pools.${group}` },
		spec: {
			group, scope: "Namespaced", names: { plural: "pools", singular: "pool", kind: "Pool" },
			versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema }, subresources: { status: {} } }],
		},
	}
}

function pool(definition, name, spec) {
	return { apiVersion: `${definition.spec.group}/v1`, kind: "Pool", metadata: { name }, spec }
}

async function begin(client) {
	const definition = define(schema)
	expect(await client.post(definitions, definition), 201)
	const ns = await newNamespace(client)
	return { definition, ns, path: `/apis/${definition.spec.group}/v1/namespaces/${ns}/pools` }
}

async function objects(say, { client }) {
	await test(say("a definition whose rule does not compile is refused"), async () => {
		const wrong = structuredClone(schema)
		wrong.properties.spec["x-kubernetes-validations"][0].rule = "self.min <= self.most"
		expectStatus(await client.post(definitions, define(wrong)), 422, "Invalid", /undefined field 'most'/)
		wrong.properties.spec["x-kubernetes-validations"][0].rule = "self.l.all(x, self.l.all(y, x == y))"
		wrong.properties.spec.properties.l = { type: "array", items: { type: "string" } }
		expectStatus(await client.post(definitions, define(wrong)), 422, "Invalid", /estimated rule cost exceeds budget by factor of more than 100x/)
	})

	await test(say("objects obey the rules, on create, update and patch"), async () => {
		const { definition, path } = await begin(client)
		expectStatus(await client.post(path, pool(definition, "a", { min: 3, max: 2 })), 422, "Invalid", /spec: Invalid value: failed rule: self.min <= self.max$/)
		const made = expect(await client.post(path, pool(definition, "a", { min: 1, max: 2, zone: "x" })), 201)
		expectStatus(await client.put(`${path}/a`, { ...made, spec: { ...made.spec, zone: "y" } }), 422, "Invalid", /spec.zone: Invalid value: "y": zone is immutable/)
		expectStatus(await client.patch(`${path}/a`, { spec: { min: 5 } }, "merge"), 422, "Invalid", /failed rule/)
		expect(await client.patch(`${path}/a`, { spec: { max: 9 } }, "merge"), 200)
	})

	await test(say("writes of the status obey them, too"), async () => {
		const { definition, path } = await begin(client)
		const made = expect(await client.post(path, pool(definition, "a", { min: 1, max: 2 })), 201)
		const status = expectStatus(await client.put(`${path}/a/status`, { ...made, status: { ready: 3 } }), 422, "Invalid")
		assert.deepEqual(status.details.causes, [{ reason: "FieldValueForbidden", message: "Forbidden: a has not so many", field: "status.ready" }])
		expect(await client.put(`${path}/a/status`, { ...made, status: { ready: 2 } }), 200)
	})

	await test(say("a value that was invalid before a rule came may stay, with a warning"), async () => {
		const { definition, path } = await begin(client)
		const made = expect(await client.post(path, pool(definition, "a", { min: 1, max: 2 })), 201)
		const before = expect(await client.get(`${definitions}/${definition.metadata.name}`), 200)
		before.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.min["x-kubernetes-validations"] = [{ rule: "self > 10" }]
		expect(await client.put(`${definitions}/${definition.metadata.name}`, before), 200)
		const answer = await client.patch(`${path}/a`, { spec: { max: 3 } }, "merge")
		expect(answer, 200)
		assert.match(answer.headers.warning, /spec.min: Invalid value: 1: failed rule: self > 10/)
		expectStatus(await client.patch(`${path}/a`, { spec: { min: 2 } }, "merge"), 422, "Invalid", /spec.min: Invalid value: 2/)
		assert.equal(made.spec.min, 1)
	})
}

async function library(say, server) {
	await test(say("client-node is told which rule failed"), async () => {
		const kc = new k8s.KubeConfig()
		kc.loadFromFile(server.kubeconfig)
		const api = kc.makeApiClient(k8s.CustomObjectsApi)
		const { definition, ns } = await begin(server.client)
		const at = { group: definition.spec.group, version: "v1", namespace: ns, plural: "pools" }
		await assert.rejects(api.createNamespacedCustomObject({ ...at, body: pool(definition, "a", { min: 2, max: 1 }) }),
			(error) => error.code === 422 && /failed rule: self.min <= self.max/.test(JSON.stringify(error.body)))
		await api.createNamespacedCustomObject({ ...at, body: pool(definition, "a", { min: 1, max: 1 }) })
	})
}

function findKubectl() {
	try {
		return execFileSync("../../scripts/kubectl", [`${dirname(devplane)}/kubectl`], { stdio: ["ignore", "pipe", "pipe"] }).toString().trim()
	} catch {
		return null
	}
}

async function commands(say, server) {
	const kubectl = findKubectl()
	if (!kubectl) {
		await test(say("kubectl shows the message # SKIP no current kubectl can be fetched"), () => {})
		return
	}
	await test(say("kubectl shows the message"), async () => {
		const { definition, ns } = await begin(server.client)
		const file = `${scratch}/pool.json`
		writeFileSync(file, JSON.stringify(pool(definition, "a", { min: 2, max: 1 })))
		const { status, stderr } = spawnSync(kubectl, ["--kubeconfig", server.kubeconfig, "-n", ns, "apply", "-f", file], { env: { ...process.env, HOME: scratch } })
		assert.equal(status, 1)
		assert.match(stderr.toString(), /The Pool "a" is invalid: spec: Invalid value: failed rule: self.min <= self.max/)
	})
}

const server = await startServer(backends[0])
const say = (name) => `${backends[0]}: ${name}`
await objects(say, server)
await library(say, server)
await commands(say, server)
finish()
