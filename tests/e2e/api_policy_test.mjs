// Validating admission policies: obeyed over HTTP, by client-node and by kubectl, recorded in the audit log, kept over a restart.
import assert from "node:assert/strict"
import { execFileSync, spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import * as k8s from "@kubernetes/client-node"
import { configMap, expect, expectStatus, newNamespace, startServer, unique } from "./api_lib.mjs"
import { devplane, finish, scratch, test, until } from "./lib.mjs"

const registration = "/apis/admissionregistration.k8s.io/v1"
const rule = (apiGroups, resources, operations = ["CREATE", "UPDATE"]) => ({ apiGroups: [apiGroups], apiVersions: ["v1"], operations, resources: [resources] })

// Makes a policy of config maps in one namespace, and a binding of the same name.
async function bind(client, ns, spec, binding = {}) {
	const name = unique("policy")
	expect(await client.post(`${registration}/validatingadmissionpolicies`, {
		metadata: { name },
		spec: { matchConstraints: { resourceRules: [rule("", "configmaps")] }, ...spec },
	}), 201)
	expect(await client.post(`${registration}/validatingadmissionpolicybindings`, {
		metadata: { name },
		spec: {
			policyName: name, validationActions: ["Deny"],
			matchResources: { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": ns } } }, ...binding,
		},
	}), 201)
	return name
}

async function requests(client) {
	await test("a write that a policy denies is refused with its message, elsewhere it is taken", async () => {
		const ns = await newNamespace(client), other = await newNamespace(client)
		const name = await bind(client, ns, { validations: [{ expression: "object.data.a != 'bad'", messageExpression: "object.metadata.name + ' is ' + object.data.a" }] })
		const status = expectStatus(await client.post(`/api/v1/namespaces/${ns}/configmaps`, configMap("m", { a: "bad" })), 422, "Invalid")
		const message = `ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: m is bad`
		assert.equal(status.message, `configmaps "m" is forbidden: ${message}`)
		assert.deepEqual(status.details, { name: "m", kind: "configmaps", causes: [{ message }] })
		expect(await client.post(`/api/v1/namespaces/${ns}/configmaps`, configMap("m", { a: "good" })), 201)
		expectStatus(await client.patch(`/api/v1/namespaces/${ns}/configmaps/m`, { data: { a: "bad" } }, "merge"), 422, "Invalid")
		expect(await client.post(`/api/v1/namespaces/${other}/configmaps`, configMap("m", { a: "bad" })), 201)
	})

	await test("parameters are objects of custom kinds", async () => {
		const ns = await newNamespace(client), group = `${unique("g")}.example.com`
		expect(await client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
			metadata: { name: `limits.${group}` },
			spec: {
				group, scope: "Namespaced", names: { plural: "limits", kind: "Limit" },
				versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", properties: { max: { type: "integer" } } } } }],
			},
		}), 201)
		await bind(client, ns, {
			paramKind: { apiVersion: `${group}/v1`, kind: "Limit" },
			validations: [{ expression: "object.data.size() <= params.max", messageExpression: "'at most ' + string(params.max)" }],
		}, { paramRef: { name: "here", parameterNotFoundAction: "Deny" } })
		const path = `/api/v1/namespaces/${ns}/configmaps`
		expectStatus(await client.post(path, configMap("m", { a: "1" })), 422, "Invalid", /no params found for policy binding with `Deny` parameterNotFoundAction/)
		const limit = { apiVersion: `${group}/v1`, kind: "Limit", metadata: { name: "here" }, max: 1 }
		expect(await client.post(`/apis/${group}/v1/namespaces/${ns}/limits`, limit), 201)
		expectStatus(await client.post(path, configMap("m", { a: "1", b: "2" })), 422, "Invalid", /denied request: at most 1$/)
		expect(await client.patch(`/apis/${group}/v1/namespaces/${ns}/limits/here`, { max: 2 }, "merge"), 200)
		expect(await client.post(path, configMap("m", { a: "1", b: "2" })), 201)
	})

	await test("rights are asked for by expressions", async () => {
		const ns = await newNamespace(client), path = `/api/v1/namespaces/${ns}/configmaps`
		await bind(client, ns, { validations: [{ expression: `authorizer.serviceAccount('${ns}', 'robot').group('').resource('secrets').namespace('${ns}').check('get').allowed()` }] })
		expectStatus(await client.post(path, configMap("m")), 422, "Invalid", /denied request: failed expression: authorizer.serviceAccount/)
		const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${ns}`
		expect(await client.post(`${rbac}/roles`, { metadata: { name: "r" }, rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }] }), 201)
		expect(await client.post(`${rbac}/rolebindings`, {
			metadata: { name: "r" }, roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" },
			subjects: [{ kind: "ServiceAccount", name: "robot", namespace: ns }],
		}), 201)
		expect(await client.post(path, configMap("m")), 201)
	})
}

async function audit(client, log) {
	await test("warnings of a policy are in the reply and in the audit log", async () => {
		const ns = await newNamespace(client)
		const name = await bind(client, ns, {
			validations: [{ expression: "false", message: "think again" }],
			auditAnnotations: [{ key: "who", valueExpression: "'by ' + request.userInfo.username" }],
		}, { validationActions: ["Warn", "Audit"] })
		const answer = await client.post(`/api/v1/namespaces/${ns}/configmaps`, configMap("warned"))
		expect(answer, 201)
		assert.equal(answer.headers.warning, `299 - "Validation failed for ValidatingAdmissionPolicy '${name}' with binding '${name}': think again"`)
		const event = await until("line of the audit log", () =>
			readFileSync(log, "utf8").split("\n").filter((line) => line.includes('"warned"')).map((line) => JSON.parse(line))[0])
		assert.match(event.annotations[`${name}/who`], /^by \S+$/)
		assert.deepEqual(JSON.parse(event.annotations["validation.policy.admission.k8s.io/validation_failure"]),
			[{ message: "think again", policy: name, binding: name, expressionIndex: 0, validationActions: ["Warn", "Audit"] }])
	})
}

async function library(server) {
	await test("client-node makes policies, and is told what they deny", async () => {
		const kc = new k8s.KubeConfig()
		kc.loadFromFile(server.kubeconfig)
		const api = kc.makeApiClient(k8s.AdmissionregistrationV1Api), name = unique("node")
		const body = (expression) => ({ metadata: { name }, spec: { matchConstraints: { resourceRules: [rule("apps", "deployments")] }, validations: [{ expression, reason: "Forbidden" }] } })
		await assert.rejects(api.createValidatingAdmissionPolicy({ body: body("object.spec.replicas") }),
			(error) => error.code === 422 && /must evaluate to bool but got dyn/.test(JSON.stringify(error.body)))
		const made = await api.createValidatingAdmissionPolicy({ body: body("object.spec.replicas <= 3") })
		assert.equal(made.spec.failurePolicy, "Fail")
		assert.equal(made.spec.matchConstraints.matchPolicy, "Equivalent")
		await api.createValidatingAdmissionPolicyBinding({ body: { metadata: { name }, spec: { policyName: name, validationActions: ["Deny"] } } })
		const apps = kc.makeApiClient(k8s.AppsV1Api), labels = { a: "b" }
		const deployment = (replicas) => ({ metadata: { name: "d" }, spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } } } })
		await assert.rejects(apps.createNamespacedDeployment({ namespace: "default", body: deployment(4) }),
			(error) => error.code === 403 && /denied request: failed expression: object.spec.replicas <= 3/.test(JSON.stringify(error.body)))
		await apps.createNamespacedDeployment({ namespace: "default", body: deployment(3) })
		await api.deleteValidatingAdmissionPolicy({ name })
		await apps.patchNamespacedDeployment({ namespace: "default", name: "d", body: [{ op: "replace", path: "/spec/replicas", value: 9 }] })
	})
}

function findKubectl() {
	try {
		return execFileSync("../../scripts/kubectl", [`${dirname(devplane)}/kubectl`], { stdio: ["ignore", "pipe", "pipe"] }).toString().trim()
	} catch {
		return null
	}
}

async function commands(server) {
	const kubectl = findKubectl()
	if (!kubectl) {
		await test("kubectl shows what a policy says # SKIP no current kubectl can be fetched", () => {})
		return
	}
	await test("kubectl shows what a policy says", async () => {
		const ns = await newNamespace(server.client), file = `${scratch}/map.json`
		const name = await bind(server.client, ns, { validations: [{ expression: "has(object.metadata.labels)", message: "a label, please" }] })
		writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m" } }))
		const { status, stderr } = spawnSync(kubectl, ["--kubeconfig", server.kubeconfig, "-n", ns, "apply", "-f", file], { env: { ...process.env, HOME: scratch } })
		assert.equal(status, 1)
		assert.match(stderr.toString(), new RegExp(`configmaps "m" is invalid: : ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: a label, please`))
	})
}

const folder = `${scratch}/data`, log = `${scratch}/audit.log`
const server = await startServer("lmdb", { folder, flags: ["--audit-log-path", log] })
await requests(server.client)
await audit(server.client, log)
await library(server)
await commands(server)
await test("policies hold after a restart", async () => {
	const ns = await newNamespace(server.client)
	await bind(server.client, ns, { validations: [{ expression: "false", message: "never" }] })
	await server.stop()
	const { client } = await startServer("lmdb", { folder })
	expectStatus(await client.post(`/api/v1/namespaces/${ns}/configmaps`, configMap("m")), 422, "Invalid", /never$/)
})
finish()
