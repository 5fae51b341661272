// Replica counts over /scale, and strategic merge patches, over plain HTTP; and with the client library.
import assert from "node:assert/strict"
import * as k8s from "@kubernetes/client-node"
import { backends, causes, configMap, expect, expectStatus, newNamespace, paths, pod, startServer } from "./api_lib.mjs"
import { finish, test } from "./lib.mjs"

const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image: "i" }] } }
const selector = { matchLabels: { app: "web" }, matchExpressions: [{ key: "tier", operator: "NotIn", values: ["z", "b"] }] }

const kinds = [
	{ kind: "Deployment", resource: "deployments", prefix: "/apis/apps/v1", selector, text: "app=web,tier notin (b,z)" },
	{ kind: "ReplicaSet", resource: "replicasets", prefix: "/apis/apps/v1", selector, text: "app=web,tier notin (b,z)" },
	{ kind: "StatefulSet", resource: "statefulsets", prefix: "/apis/apps/v1", selector, text: "app=web,tier notin (b,z)",
		more: { serviceName: "web" } },
	{ kind: "ReplicationController", resource: "replicationcontrollers", prefix: "/api/v1", selector: { app: "web" },
		text: "app=web" },
]

function scale(replicas, metadata = {}) {
	return { kind: "Scale", apiVersion: "autoscaling/v1", metadata: { name: "web", ...metadata }, spec: { replicas } }
}

async function counts(say, client, { kind, resource, prefix, selector, text, more }) {
	const ns = await newNamespace(client)
	const all = `${prefix}/namespaces/${ns}/${resource}`, web = `${all}/web`
	const object = { apiVersion: prefix.replace(/^\/apis?\//, ""), kind, metadata: { name: "web" },
		spec: { replicas: 2, selector, template, ...more } }

	await test(say(`${resource}/scale shows the count`), async () => {
		const { metadata } = expect(await client.post(all, object), 201)
		const { body, headers } = await client.get(`${web}/scale`)
		assert.match(headers["content-type"], /^application\/json/)
		assert.deepEqual(body, {
			kind: "Scale", apiVersion: "autoscaling/v1",
			metadata: { name: "web", namespace: ns, uid: metadata.uid, resourceVersion: metadata.resourceVersion,
				creationTimestamp: metadata.creationTimestamp },
			spec: { replicas: 2 }, status: { replicas: 0, selector: text },
		})
		expectStatus(await client.get(`${all}/none/scale`), 404, "NotFound", new RegExp(`^${resource}.* "none" not found$`))
	})

	await test(say(`${resource}/scale sets the count and nothing else`), async () => {
		const before = expect(await client.get(web), 200)
		const answer = expect(await client.put(`${web}/scale`, { ...scale(5, { labels: { x: "y" } }), status: { replicas: 9 } }), 200)
		assert.equal(answer.spec.replicas, 5)
		assert.equal(answer.status.replicas, 0)
		const after = expect(await client.get(web), 200)
		assert.equal(after.metadata.resourceVersion, answer.metadata.resourceVersion)
		assert.equal(after.metadata.generation, before.metadata.generation + 1)
		const entry = after.metadata.managedFields.find(({ subresource }) => subresource === "scale")
		assert.deepEqual(entry.fieldsV1, { "f:spec": { "f:replicas": {} } })
		assert.equal(entry.apiVersion, object.apiVersion)
		for (const part of [before, after]) {
			delete part.metadata
			delete part.spec.replicas
		}
		assert.deepEqual(after, before)
		const again = expect(await client.put(`${web}/scale`, scale(5)), 200)
		assert.equal(again.metadata.resourceVersion, answer.metadata.resourceVersion)
	})

	await test(say(`${resource}/scale can be patched`), async () => {
		assert.equal(expect(await client.patch(`${web}/scale`, { spec: { replicas: 6 } }, "merge"), 200).spec.replicas, 6)
		assert.equal(expect(await client.patch(`${web}/scale`, { spec: { replicas: 7 } }, "strategic"), 200).spec.replicas, 7)
		assert.equal(expect(await client.patch(`${web}/scale`,
			[{ op: "test", path: "/spec/replicas", value: 7 }, { op: "remove", path: "/spec/replicas" }], "patch"), 200)
			.spec.replicas, undefined)
		assert.equal(expect(await client.get(web), 200).spec.replicas, 0)
	})
}

async function refusals(say, client) {
	const ns = await newNamespace(client)
	const all = `/apis/apps/v1/namespaces/${ns}/deployments`, web = `${all}/web`
	expect(await client.post(all, { metadata: { name: "web" }, spec: { replicas: 2, selector, template } }), 201)

	await test(say("a count that cannot be is refused"), async () => {
		const status = expectStatus(await client.put(`${web}/scale`, scale(-1)), 422, "Invalid",
			/^Scale\.autoscaling "web" is invalid: spec\.replicas: Invalid value: -1: must be greater than or equal to 0$/)
		assert.deepEqual(causes(status), ["FieldValueInvalid spec.replicas"])
		expectStatus(await client.patch(`${web}/scale`, { spec: { replicas: -1 } }, "merge"), 422, "Invalid", /^Scale\.autoscaling/)
		expectStatus(await client.put(`${web}/scale`, scale("many")), 400, "BadRequest")
		expectStatus(await client.put(`${web}/scale`, { ...scale(1), kind: "Deployment", apiVersion: "apps/v1" }), 400, "BadRequest")
	})

	await test(say("names must be those of the path"), async () => {
		expectStatus(await client.put(`${web}/scale`, scale(1, { name: "other" })), 400, "BadRequest",
			/the name of the object \(other\) does not match the name on the URL \(web\)/)
		expectStatus(await client.put(`${web}/scale`, scale(1, { namespace: "other" })), 400, "BadRequest", /namespace/)
		expectStatus(await client.put(`${all}/none/scale`, scale(1, { name: "none" })), 404, "NotFound")
	})

	await test(say("uid and resourceVersion are preconditions"), async () => {
		const { metadata } = expect(await client.get(web), 200)
		expectStatus(await client.put(`${web}/scale`, scale(3, { resourceVersion: "1" })), 409, "Conflict",
			/^Operation cannot be fulfilled on deployments\.apps "web": the object has been modified/)
		expectStatus(await client.put(`${web}/scale`, scale(3, { uid: "other" })), 409, "Conflict", /UID in precondition: other/)
		const { uid, resourceVersion } = metadata
		assert.equal(expect(await client.put(`${web}/scale`, scale(3, { uid, resourceVersion })), 200).spec.replicas, 3)
		expectStatus(await client.put(`${web}/scale`, scale(4, { uid, resourceVersion })), 409, "Conflict")
	})

	await test(say("a dry run shows the scale and leaves the count"), async () => {
		assert.equal(expect(await client.put(`${web}/scale?dryRun=All`, scale(8)), 200).spec.replicas, 8)
		assert.equal(expect(await client.get(`${web}/scale`), 200).spec.replicas, 3)
	})

	await test(say("a scale as table and as protobuf"), async () => {
		const table = expect(await client.get(`${web}/scale`, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }), 200)
		assert.deepEqual(table.columnDefinitions.map(({ name }) => name), ["Name", "Desired", "Available", "Age"])
		assert.deepEqual(table.rows[0].cells.slice(0, 3), ["web", 3, 0])
		const message = await client.get(`${web}/scale`, { accept: "application/vnd.kubernetes.protobuf" })
		assert.equal(message.raw.subarray(0, 4).toString("latin1"), "k8s\0")
		assert.ok(message.raw.includes("autoscaling/v1") && message.raw.includes("app=web"))
		// Sends the message that it read with another count, which is field 1 of field 2.
		const sent = Buffer.from(message.raw)
		const at = sent.indexOf(Buffer.from([0x12, 0x02, 0x08, 0x03]))
		sent[at + 3] = 9
		expect(await client.put(`${web}/scale`, sent, { type: "application/vnd.kubernetes.protobuf" }), 200)
		assert.equal(expect(await client.get(web), 200).spec.replicas, 9)
	})

	await test(say("a scale is neither made nor deleted"), async () => {
		expect(await client.post(`${web}/scale`, scale(1)), 405)
		expect(await client.delete(`${web}/scale`), 405)
		expect(await client.get(`/apis/apps/v1/namespaces/${ns}/daemonsets/web/scale`), 404)
	})
}

async function strategic(say, client) {
	const ns = await newNamespace(client)
	const { configMaps, pods } = paths(ns)

	await test(say("a strategic merge patch tells what is wrong with it"), async () => {
		expect(await client.post(pods, pod("web")), 201)
		const patch = (body, query = "") => client.patch(`${pods}/web${query}`, body, "strategic")
		expectStatus(await patch({ spec: { containers: [{ image: "i" }] } }), 422, "Invalid",
			/map: map\[image:i\] does not contain declared merge key: name/)
		expectStatus(await patch({ metadata: { labels: { $patch: "x" } } , spec: { $retainKeys: 1 } }), 400, "BadRequest",
			/invalid patch format of retainKeys/)
		expectStatus(await patch([]), 400, "BadRequest",
			/json: cannot unmarshal array into Go value of type map\[string\]interface \{\}/)
		expectStatus(await patch({ spec: { colour: "red" } }, "?fieldValidation=Strict"), 422, "Invalid",
			/patch: Invalid value: "map\[spec:map\[colour:red\]\]": strict decoding error: unknown field "spec\.colour"/)
		expect(await patch("null"), 200)
	})

	await test(say("names that come twice in a patch are warned of or refused"), async () => {
		expect(await client.post(configMaps, configMap("box")), 201)
		for (const type of ["merge", "strategic"]) {
			const text = '{"data":{"q":"1","q":"2"}}'
			const warned = await client.patch(`${configMaps}/box`, text, type)
			assert.equal(expect(warned, 200).data.q, "2")
			assert.match(warned.headers.warning, /299 - "duplicate field \\"data\.q\\""/)
			expectStatus(await client.patch(`${configMaps}/box?fieldValidation=Strict`, text, type), 422, "Invalid",
				/strict decoding error: duplicate field "data\.q"/)
		}
		const warned = await client.patch(`${configMaps}/box`,
			'[{"op":"add","path":"/data/r","value":"1","value":"2"}]', "patch")
		assert.match(warned.headers.warning, /json patch duplicate field \\"\[0\]\.value\\"/)
	})

	await test(say("a reservation goes by its uid"), async () => {
		const claims = `/apis/resource.k8s.io/v1/namespaces/${ns}/resourceclaims`
		expect(await client.post(claims, { apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", metadata: { name: "c" },
			spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "d" } }] } } }), 201)
		const by = (n) => ({ resource: "pods", name: `p${n}`, uid: `uid-${n}` })
		const device = { request: "r", driver: "x.io", pool: "p", device: "d" }
		expect(await client.patch(`${claims}/c/status`, { status: { allocation: { devices: { results: [device] } },
			reservedFor: [by(1), by(2)] } }, "merge"), 200)
		const left = expect(await client.patch(`${claims}/c/status`,
			{ status: { reservedFor: [{ $patch: "delete", uid: "uid-1" }] } }, "strategic"), 200)
		assert.deepEqual(left.status.reservedFor, [by(2)])
	})
}

async function library(say, server) {
	await test(say("the client library scales"), async () => {
		const config = new k8s.KubeConfig()
		config.loadFromFile(server.kubeconfig)
		const api = config.makeApiClient(k8s.AppsV1Api)
		const name = "lib", namespace = await newNamespace(server.client)
		await api.createNamespacedDeployment({ namespace, body: { metadata: { name }, spec: { selector, template } } })
		const read = await api.readNamespacedDeploymentScale({ name, namespace })
		assert.equal(read.spec.replicas, 1)
		read.spec.replicas = 4
		const written = await api.replaceNamespacedDeploymentScale({ name, namespace, body: read })
		assert.equal(written.spec.replicas, 4)
		assert.equal((await api.readNamespacedDeployment({ name, namespace })).spec.replicas, 4)
	})
}

for (const backend of backends) {
	const say = (name) => `${backend}: ${name}`
	const server = await startServer(backend)
	for (const kind of kinds)
		await counts(say, server.client, kind)
	await refusals(say, server.client)
	await strategic(say, server.client)
	await library(say, server)
	await test(say("the server ends in order"), () => server.stop())
}
finish()
