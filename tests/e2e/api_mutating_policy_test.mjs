// Mutating admission policies: over HTTP, by client-node, beside webhooks, recorded in managedFields, kept over a restart.
import assert from "node:assert/strict"
import * as k8s from "@kubernetes/client-node"
import { configMap, expect, expectStatus, newNamespace, startServer, unique } from "./api_lib.mjs"
import { finish, scratch, test } from "./lib.mjs"
import { mutating, startHooks, withWebhooks } from "./webhook_lib.mjs"

const registration = "/apis/admissionregistration.k8s.io/v1"
const rule = (apiGroups, resources, operations = ["CREATE", "UPDATE"]) => ({ apiGroups: [apiGroups], apiVersions: ["v1"], operations, resources })
const apply = (expression) => ({ patchType: "ApplyConfiguration", applyConfiguration: { expression } })
const patch = (expression) => ({ patchType: "JSONPatch", jsonPatch: { expression } })
const set = (value) => apply(`Object{data: {"by": ${value}}}`)
const labels = { a: "b" }
const deployment = (name, replicas = 1) => ({
	metadata: { name }, spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } } },
})

// Makes a policy in one namespace, of config maps unless the spec says otherwise, and a binding of the same name.
async function bind(client, ns, spec, { name = unique("policy"), ...binding } = {}) {
	expect(await client.post(`${registration}/mutatingadmissionpolicies`, {
		metadata: { name },
		spec: { reinvocationPolicy: "Never", matchConstraints: { resourceRules: [rule("", ["configmaps"])] }, ...spec },
	}), 201)
	expect(await client.post(`${registration}/mutatingadmissionpolicybindings`, {
		metadata: { name },
		spec: { policyName: name, matchResources: { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": ns } } }, ...binding },
	}), 201)
	return name
}

async function mutations({ client }) {
	await test("an apply configuration and a JSON patch change a Deployment", async () => {
		const ns = await newNamespace(client), path = `/apis/apps/v1/namespaces/${ns}/deployments`
		await bind(client, ns, {
			matchConstraints: { resourceRules: [rule("apps", ["deployments"])] },
			mutations: [
				apply(`Object{metadata: Object.metadata{annotations: {"mutated-by": "admission-policy"}}, spec: Object.spec{replicas: object.spec.replicas + 1336}}`),
				patch(`[JSONPatch{op: "add", path: "/spec/template/spec/containers/-", value: Object.spec.template.spec.containers{name: "side", image: "j"}},
					JSONPatch{op: "add", path: "/metadata/labels", value: {"example.com/env": "test"}},
					JSONPatch{op: "replace", path: "/metadata/labels/" + jsonpatch.escapeKey("example.com/env"), value: "prod"}]`),
			],
		})
		const made = expect(await client.post(`${path}?fieldManager=me`, deployment("d")), 201)
		assert.equal(made.metadata.annotations["mutated-by"], "admission-policy")
		assert.equal(made.spec.replicas, 1337)
		assert.deepEqual(made.metadata.labels, { "example.com/env": "prod" })
		assert.deepEqual(made.spec.template.spec.containers.map(({ name }) => name), ["c", "side"])
		assert.equal(made.spec.template.spec.containers[1].terminationMessagePath, "/dev/termination-log")
		const [entry] = made.metadata.managedFields
		assert.equal(entry.manager, "me")
		assert.equal(entry.fieldsV1["f:metadata"]?.["f:annotations"], undefined) // as upstream, nobody owns what a policy adds
		assert.deepEqual(expect(await client.get(`${path}/d`), 200).spec, made.spec)
		// Written again as it is, it gets the second container once more, which validation refuses.
		expectStatus(await client.put(`${path}/d`, made), 422, "Invalid", /spec\.template\.spec\.containers\[2\]\.name: Duplicate value: "side"/)
	})

	await test("conditions, variables and parameters decide what is changed", async () => {
		const ns = await newNamespace(client), path = `/api/v1/namespaces/${ns}/configmaps`
		expect(await client.post(path, configMap("params", { value: "p" })), 201)
		await bind(client, ns, {
			paramKind: { apiVersion: "v1", kind: "ConfigMap" },
			matchConditions: [{ name: "marked", expression: "has(object.metadata.labels) && 'mark' in object.metadata.labels" }],
			variables: [{ name: "who", expression: "request.userInfo.groups.exists(g, g == 'system:masters') ? 'admin' : 'user'" }],
			mutations: [set("variables.who + params.data.value + namespaceObject.metadata.name")],
		}, { paramRef: { name: "params", parameterNotFoundAction: "Deny" } })
		assert.equal(expect(await client.post(path, configMap("plain")), 201).data.by, undefined)
		assert.equal(expect(await client.post(path, configMap("marked", {}, { labels: { mark: "" } })), 201).data.by, `adminp${ns}`)
		expect(await client.delete(`${path}/params`), 200)
		expectStatus(await client.post(path, configMap("late", {}, { labels: { mark: "" } })), 403, "Forbidden", /no params found for policy binding with `Deny` parameterNotFoundAction/)
	})

	await test("failurePolicy says whether a failed mutation refuses the write", async () => {
		const ns = await newNamespace(client), path = `/api/v1/namespaces/${ns}/configmaps`
		const name = await bind(client, ns, { failurePolicy: "Ignore", mutations: [set("object.data.none"), set("'second'")] })
		assert.equal(expect(await client.post(path, configMap("ignored")), 201).data.by, "second")
		expect(await client.patch(`${registration}/mutatingadmissionpolicies/${name}`, { spec: { failurePolicy: "Fail" } }, "merge"), 200)
		const status = expectStatus(await client.post(path, configMap("failed")), 403, "Invalid")
		assert.equal(status.message, `policy '${name}' with binding '${name}' denied request: expression 'Object{data: {"by": object.data.none}}' resulted in error: no such key: none`)
		assert.deepEqual(status.details, { name: "failed", kind: "configmaps", causes: [{ message: status.message }] })
	})

	await test("an expression that costs too much is stopped", async () => {
		const ns = await newNamespace(client), path = `/api/v1/namespaces/${ns}/configmaps`
		const ten = "[0,1,2,3,4,5,6,7,8,9]"
		const all = ["a", "b", "c", "d", "e", "f"].reduceRight((body, v) => `${ten}.all(${v}, ${body})`, "object.data.a == '1'")
		await bind(client, ns, { mutations: [set(`string(${all})`)] })
		expectStatus(await client.post(path, configMap("m")), 403, "Invalid", /actual cost limit exceeded$/)
	})

	await test("an invalid expression is refused when the policy is written", async () => {
		const body = (mutation) => ({ metadata: { name: unique("bad") }, spec: { reinvocationPolicy: "Never", matchConstraints: { resourceRules: [rule("", ["pods"])] }, mutations: [mutation] } })
		const path = `${registration}/mutatingadmissionpolicies`
		expectStatus(await client.post(path, body(apply("Object{"))), 422, "Invalid", /spec\.mutations\[0\]\.applyConfiguration\.expression: Invalid value: .*compilation failed/)
		expectStatus(await client.post(path, body(apply("object"))), 422, "Invalid", /must evaluate to Object but got dyn/)
		expectStatus(await client.post(path, body(patch("[JSONPatch{op: 1}]"))), 422, "Invalid", /expected type of field 'op' is 'string' but provided type is 'int'/)
	})

	await test("a list that is owned as a whole is not set by an apply configuration", async () => {
		const ns = await newNamespace(client), path = `/apis/apps/v1/namespaces/${ns}/deployments`
		await bind(client, ns, {
			matchConstraints: { resourceRules: [rule("apps", ["deployments"])] },
			mutations: [apply(`Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [
				Object.spec.template.spec.containers{name: "c", command: ["x"]}]}}}}`)],
		})
		expectStatus(await client.post(path, deployment("d")), 403, "Invalid",
			/error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: \.spec\.template\.spec\.containers\[0\]\.command$/)
	})

	await test("custom resources are changed by their schema", async () => {
		const ns = await newNamespace(client), group = `${unique("g")}.example.com`
		expect(await client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
			metadata: { name: `jobs.${group}` },
			spec: {
				group, scope: "Namespaced", names: { plural: "jobs", kind: "Job" },
				versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties: { n: { type: "integer", maximum: 9 } } } } } } }],
			},
		}), 201)
		await bind(client, ns, { matchConstraints: { resourceRules: [rule(group, ["jobs"])] }, mutations: [apply("Object{spec: Object.spec{n: object.spec.n + 1}}")] })
		const path = `/apis/${group}/v1/namespaces/${ns}/jobs`, job = (n) => ({ apiVersion: `${group}/v1`, kind: "Job", metadata: { name: "j" }, spec: { n } })
		expectStatus(await client.post(path, job(9)), 422, "Invalid", /spec\.n/)
		assert.equal(expect(await client.post(path, job(1)), 201).spec.n, 2)
	})
}

async function rounds({ client }) {
	const hooks = await startHooks()
	hooks.answer("/mark", ({ object }) => (object.data.hooked ? {} : { patch: [{ op: "add", path: "/data/hooked", value: "yes" }] }))

	await test("a policy runs once more after a webhook, if it wants", async () => {
		const ns = await newNamespace(client), path = `/api/v1/namespaces/${ns}/configmaps`
		const seen = (field) => apply(`Object{data: {"${field}": object.data.?${field}.orValue("") + (has(object.data.hooked) ? "hooked" : "plain") + " "}}`)
		await bind(client, ns, { reinvocationPolicy: "IfNeeded", mutations: [seen("eager")] })
		await bind(client, ns, { reinvocationPolicy: "Never", mutations: [seen("once")] })
		const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": ns } }
		await withWebhooks(client, mutating, [hooks.webhook("mark.example.com", "/mark", { namespaceSelector })], async () => {
			const { data } = expect(await client.post(path, configMap("m")), 201)
			assert.deepEqual(data, { a: "1", eager: "plain hooked ", once: "plain ", hooked: "yes" })
		})
	})

	await test("policies that undo each other end with the last one", async () => {
		const ns = await newNamespace(client), path = `/api/v1/namespaces/${ns}/configmaps`, first = unique("a"), second = unique("b")
		await bind(client, ns, { reinvocationPolicy: "IfNeeded", mutations: [set("'second'")] }, { name: second })
		await bind(client, ns, { reinvocationPolicy: "IfNeeded", mutations: [set("'first'")] }, { name: first })
		assert.equal(expect(await client.post(path, configMap("m")), 201).data.by, "second")
	})
	hooks.close()
}

async function library({ kubeconfig }) {
	await test("client-node makes policies that change what it writes", async () => {
		const kc = new k8s.KubeConfig()
		kc.loadFromFile(kubeconfig)
		const core = kc.makeApiClient(k8s.CoreV1Api), objects = k8s.KubernetesObjectApi.makeApiClient(kc), name = unique("node")
		const apiVersion = "admissionregistration.k8s.io/v1"
		const made = await objects.create({
			apiVersion, kind: "MutatingAdmissionPolicy", metadata: { name },
			spec: { reinvocationPolicy: "Never", matchConstraints: { resourceRules: [rule("", ["configmaps"])] }, mutations: [patch(`[JSONPatch{op: "add", path: "/data/by", value: "node"}]`)] },
		})
		assert.equal(made.spec.failurePolicy, "Fail")
		await objects.create({ apiVersion, kind: "MutatingAdmissionPolicyBinding", metadata: { name }, spec: { policyName: name } })
		const map = await core.createNamespacedConfigMap({ namespace: "default", body: { metadata: { name }, data: { a: "1" } } })
		assert.equal(map.data.by, "node")
		await objects.delete({ apiVersion, kind: "MutatingAdmissionPolicy", metadata: { name } })
		const other = await core.createNamespacedConfigMap({ namespace: "default", body: { metadata: { name: `${name}-2` }, data: { a: "1" } } })
		assert.equal(other.data.by, undefined)
	})
}

const folder = `${scratch}/data`
const server = await startServer("lmdb", { folder })
await mutations(server)
await rounds(server)
await library(server)
await test("policies hold after a restart, and not where the plugin is off", async () => {
	const ns = await newNamespace(server.client), path = `/api/v1/namespaces/${ns}/configmaps`
	await bind(server.client, ns, { mutations: [set("'kept'")] })
	await server.stop()
	const again = await startServer("lmdb", { folder })
	assert.equal(expect(await again.client.post(path, configMap("m")), 201).data.by, "kept")
	await again.stop()
	const off = await startServer("lmdb", { folder, flags: ["--disable-admission-plugins", "MutatingAdmissionPolicy"] })
	assert.equal(expect(await off.client.post(path, configMap("n")), 201).data.by, undefined)
})
finish()
