// Server-side apply of custom resources, whose lists and maps are what their schema says, and by @kubernetes/client-node.
import assert from "node:assert/strict"
import * as k8s from "@kubernetes/client-node"
import { backends, claim, configMap, expect, expectStatus, newNamespace, startServer, unique } from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { applied, apply, expectConflict, managers } from "./ssa_lib.mjs"

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
const text = { type: "string" }, number = { type: "integer" }
const preserve = { "x-kubernetes-preserve-unknown-fields": true }
const object = (properties, more) => ({ type: "object", properties, ...more })
const list = (items, kind, more) => ({ type: "array", items, ...(kind && { "x-kubernetes-list-type": kind }), ...more })

const spec = object({
	color: text,
	replicas: number,
	size: { type: "integer", default: 3 },
	either: { "x-kubernetes-int-or-string": true },
	parts: list(object({ name: text, port: { type: "integer", default: 80 }, weight: number, tags: list(text, "set") }, { required: ["name"] }),
		"map", { "x-kubernetes-list-map-keys": ["name", "port"] }),
	tags: list(text, "set"),
	steps: list(object({ do: text })),
	whole: object({ a: text, b: text }, { "x-kubernetes-map-type": "atomic" }),
	map: { type: "object", additionalProperties: object({ a: text, b: text }) },
	open: { type: "object", ...preserve },
})
const conditions = list(object({ type: text, status: text }, { required: ["type"] }), "map", { "x-kubernetes-list-map-keys": ["type"] })
const schema = object({ spec, status: object({ phase: text, replicas: number, conditions }) })
const subresources = { status: {}, scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" } }

// Makes a definition of widgets; resolves to { path(version), body(name, spec, version), group }.
async function define(client) {
	const group = `${unique("g")}.example.com`
	const version = (name, storage) => ({ name, served: true, storage, schema: { openAPIV3Schema: schema }, subresources })
	expect(await client.post(definitions, {
		apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: `widgets.${group}` },
		spec: { group, scope: "Namespaced", names: { plural: "widgets", singular: "widget", kind: "Widget" }, versions: [version("v1", true), version("v2", false)] },
	}), 201)
	const ns = await newNamespace(client)
	const path = (which = "v1") => `/apis/${group}/${which}/namespaces/${ns}/widgets`
	for (const which of ["v1", "v2"])
		await until("the resource", async () => (await client.get(path(which))).code === 200)
	const body = (name, value, which = "v1") => ({ apiVersion: `${group}/${which}`, kind: "Widget", metadata: { name }, ...(value && { spec: value }) })
	return { group, path, body }
}

async function custom(client) {
	const { group, path, body } = await define(client)
	const at = (name, which) => `${path(which)}/${name}`
	const conflict = async (name, value, manager, ...fields) => expectConflict(await apply(client, at(name), body(name, value), "other"),
		fields.length === 1 ? `Apply failed with 1 conflict: conflict with "${manager}": ${fields[0]}`
			: `Apply failed with ${fields.length} conflicts: conflicts with "${manager}":${fields.map((field) => `\n- ${field}`).join("")}`,
		...fields.map((field) => [field, `conflict with "${manager}"`]))

	await test("lists by keys are merged; a key that is left out is its default", async () => {
		const made = await applied(client, at("keys"), body("keys", { parts: [{ name: "a", weight: 1 }, { name: "a", port: 81 }] }), "one", {}, 201)
		assert.deepEqual(managers(made)[`one Apply ${group}/v1`], { "f:spec": { "f:parts": {
			'k:{"name":"a","port":80}': { ".": {}, "f:name": {}, "f:weight": {} }, 'k:{"name":"a","port":81}': { ".": {}, "f:name": {}, "f:port": {} },
		} } })
		const both = await applied(client, at("keys"), body("keys", { parts: [{ name: "b", port: 80, tags: ["x"] }, { name: "a", port: 81, weight: 2 }] }), "two")
		assert.deepEqual(both.spec.parts.map(({ name, port, weight }) => [name, port, weight]), [["a", 80, 1], ["b", 80, undefined], ["a", 81, 2]])
		await conflict("keys", { parts: [{ name: "a", port: 81, weight: 3 }] }, "two", '.spec.parts[name="a",port=81].weight')
		const left = await applied(client, at("keys"), body("keys", { parts: [{ name: "b" }] }), "two")
		assert.deepEqual(left.spec.parts, [{ name: "a", port: 80, weight: 1 }, { name: "b", port: 80 }, { name: "a", port: 81 }])
	})

	await test("an element without its key, and one that comes twice, are refused", async () => {
		const answer = expect(await apply(client, at("keys"), body("keys", { parts: [{ name: "a" }, { name: "a", port: 80 }] })), 500)
		assert.equal(answer.message, `failed to create typed patch object (/keys; ${group}/v1, Kind=Widget): .spec.parts: duplicate entries for key [name="a",port=80]`)
		expectStatus(await apply(client, at("keys"), body("keys", { parts: [{ weight: 1 }] }), "three"), 422, "Invalid", /spec\.parts\[3\]\.name: Required value/)
	})

	await test("sets are merged by value, nested ones too", async () => {
		await applied(client, at("sets"), body("sets", { tags: ["b", "a"], parts: [{ name: "p", tags: ["x"] }] }), "one", {}, 201)
		const both = await applied(client, at("sets"), body("sets", { tags: ["c", "a"], parts: [{ name: "p", tags: ["z"] }] }), "two")
		assert.deepEqual([both.spec.tags.sort(), both.spec.parts[0].tags], [["a", "b", "c"], ["x", "z"]])
		assert.deepEqual(managers(both)[`two Apply ${group}/v1`]["f:spec"]["f:tags"], { 'v:"a"': {}, 'v:"c"': {} })
		const left = await applied(client, at("sets"), body("sets", { tags: ["b"] }), "one")
		assert.deepEqual([left.spec.tags.sort(), left.spec.parts[0].tags], [["a", "b", "c"], ["z"]])
		const answer = expect(await apply(client, at("sets"), body("sets", { tags: ["a", "a"] })), 500)
		assert.match(answer.message, /\.spec\.tags: duplicate entries for key \[="a"\]$/)
	})

	await test("atomic lists and maps are one field", async () => {
		const made = await applied(client, at("whole"), body("whole", { steps: [{ do: "x" }], whole: { a: "1", b: "1" } }), "one", {}, 201)
		assert.deepEqual(managers(made)[`one Apply ${group}/v1`], { "f:spec": { "f:steps": {}, "f:whole": {} } })
		await conflict("whole", { steps: [{ do: "x" }, { do: "y" }], whole: { a: "1" } }, "one", ".spec.steps", ".spec.whole")
		const taken = await applied(client, at("whole"), body("whole", { steps: [{ do: "z" }], whole: { a: "2" } }), "two", { force: true })
		assert.deepEqual([taken.spec.steps, taken.spec.whole], [[{ do: "z" }], { a: "2" }])
		assert.deepEqual(Object.keys(managers(taken)), [`two Apply ${group}/v1`])
	})

	await test("maps are merged by name, and fields that the schema leaves open by theirs", async () => {
		await applied(client, at("open"), body("open", { map: { x: { a: "1" } }, open: { deep: { a: 1, list: [1, 2] } }, either: "50%" }), "one", {}, 201)
		const both = await applied(client, at("open"), body("open", { map: { x: { b: "2" }, z: {} }, open: { deep: { b: null }, more: true } }), "two")
		assert.deepEqual(both.spec.map, { x: { a: "1", b: "2" }, z: {} })
		assert.deepEqual(both.spec.open, { deep: { a: 1, b: null, list: [1, 2] }, more: true })
		await conflict("open", { map: { x: { a: "9" } }, open: { deep: { list: [1] } }, either: 5 }, "one", ".spec.either", ".spec.map.x.a", ".spec.open.deep.list")
		const left = await applied(client, at("open"), body("open", { either: "50%" }), "one")
		assert.deepEqual([left.spec.map, left.spec.open], [{ x: { b: "2" }, z: {} }, { deep: { b: null }, more: true }])
	})

	await test("defaults belong to nobody until they are applied", async () => {
		const made = await applied(client, at("defaults"), body("defaults", { color: "red" }), "one", {}, 201)
		assert.equal(made.spec.size, 3)
		assert.deepEqual(managers(made)[`one Apply ${group}/v1`], { "f:spec": { "f:color": {} } })
		assert.equal((await applied(client, at("defaults"), body("defaults", { size: 4 }), "two")).spec.size, 4)
		assert.equal((await applied(client, at("defaults"), body("defaults", {}), "two")).spec.size, 3)
	})

	await test("status and scale have entries of their own", async () => {
		await applied(client, at("sub"), body("sub", { color: "red", replicas: 1 }), "one", {}, 201)
		const holds = (...types) => ({ ...body("sub"), status: { conditions: types.map((type) => ({ type, status: "True" })) } })
		await applied(client, `${at("sub")}/status`, holds("a"), "one")
		const both = await applied(client, `${at("sub")}/status`, holds("b"), "two")
		assert.deepEqual(both.status.conditions.map(({ type }) => type), ["a", "b"])
		const scale = { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "sub" }, spec: { replicas: 5 } }
		expectConflict(await apply(client, `${at("sub")}/scale`, scale, "hpa"),
			'Apply failed with 1 conflict: conflict with "one": .spec.replicas', [".spec.replicas", 'conflict with "one"'])
		assert.deepEqual((await applied(client, `${at("sub")}/scale`, { ...scale, spec: { replicas: 1 } }, "hpa")).spec, { replicas: 1 })
		const after = expect(await client.get(at("sub")), 200)
		assert.deepEqual(managers(after)[`hpa Apply ${group}/v1 scale`], { "f:spec": { "f:replicas": {} } })
		assert.equal((await applied(client, at("sub"), body("sub", { color: "red" }), "one")).spec.replicas, 1)
		expect(await client.patch(`${at("sub")}/scale?fieldManager=person`, { spec: { replicas: 7 } }, "merge"), 200)
		const owner = `conflict with "person" with subresource "scale" using ${group}/v1`
		expectConflict(await apply(client, at("sub"), body("sub", { replicas: 2 }), "one"),
			`Apply failed with 1 conflict: ${owner}: .spec.replicas`, [".spec.replicas", owner])
	})

	await test("versions of a custom resource share their managers", async () => {
		await applied(client, at("both"), body("both", { color: "red", tags: ["a"] }), "one", {}, 201)
		expectConflict(await apply(client, at("both", "v2"), body("both", { color: "blue" }, "v2"), "two"),
			'Apply failed with 1 conflict: conflict with "one": .spec.color', [".spec.color", 'conflict with "one"'])
		const joined = await applied(client, at("both", "v2"), body("both", { color: "red", tags: ["b"] }, "v2"), "two")
		assert.deepEqual(Object.keys(managers(joined)).sort(), [`one Apply ${group}/v1`, `two Apply ${group}/v2`])
		const moved = await applied(client, at("both", "v2"), body("both", { tags: ["c"] }, "v2"), "one")
		assert.deepEqual([moved.spec.color, [...moved.spec.tags].sort()], ["red", ["b", "c"]])
		assert.deepEqual(Object.keys(managers(moved)).sort(), [`one Apply ${group}/v2`, `two Apply ${group}/v2`])
	})

	await test("a field that a manager drops with a new version is removed, and gets its default", async () => {
		await applied(client, at("moved"), body("moved", { color: "red", size: 4 }), "one", {}, 201)
		const after = await applied(client, at("moved", "v2"), body("moved", { replicas: 1 }, "v2"), "one")
		assert.deepEqual(after.spec, { replicas: 1, size: 3 })
		assert.deepEqual(managers(after), { [`one Apply ${group}/v2`]: { "f:spec": { "f:replicas": {} } } })
	})

	await test("in what the schema leaves open an object takes the place of a value, and back", async () => {
		const entry = (object, manager) => managers(object)[`${manager} Apply ${group}/v1`]?.["f:spec"]["f:open"]
		await applied(client, at("turns"), body("turns", { open: { x: { a: 1 } } }), "one", {}, 201)
		await conflict("turns", { open: { x: true } }, "one", ".spec.open.x")
		const value = await applied(client, at("turns"), body("turns", { open: { x: true } }), "two", { force: true })
		assert.deepEqual([value.spec.open, entry(value, "one"), entry(value, "two")], [{ x: true }, undefined, { "f:x": {} }])
		const back = await applied(client, at("turns"), body("turns", { open: { x: { b: 2 } } }), "three", { force: true })
		assert.deepEqual([back.spec.open, entry(back, "two"), entry(back, "three")], [{ x: { b: 2 } }, undefined, { "f:x": { ".": {}, "f:b": {} } }])
	})
}

async function library(server) {
	const kc = new k8s.KubeConfig()
	kc.loadFromFile(server.kubeconfig)
	const byApply = k8s.setHeaderOptions("Content-Type", k8s.PatchStrategy.ServerSideApply)
	const namespace = await newNamespace(server.client)

	await test("the client library applies, typed: creates, joins, conflicts, forces", async () => {
		const api = kc.makeApiClient(k8s.CoreV1Api), name = "box"
		const send = (data, fieldManager, force) => api.patchNamespacedConfigMap({ namespace, name, body: configMap(name, data), fieldManager, force }, byApply)
		assert.deepEqual((await send({ a: "1" }, "one")).data, { a: "1" })
		const joined = await send({ a: "1", b: "2" }, "two")
		assert.deepEqual(joined.metadata.managedFields.map(({ manager, operation }) => `${manager} ${operation}`).sort(), ["one Apply", "two Apply"])
		const error = await send({ a: "3" }, "three").then(() => assert.fail("it was not refused"), (e) => e)
		assert.equal(error.code, 409)
		assert.deepEqual(JSON.parse(error.body).details.causes.map(({ reason, message, field }) => `${reason} ${field} ${message}`).sort(),
			['FieldManagerConflict .data.a conflict with "one"', 'FieldManagerConflict .data.a conflict with "two"'])
		assert.deepEqual((await send({ a: "3" }, "three", true)).data, { a: "3", b: "2" })
	})

	await test("the client library applies a claim's status", async () => {
		const api = kc.makeApiClient(k8s.ResourceV1Api), name = "gpu"
		await api.createNamespacedResourceClaim({ namespace, body: claim(name) })
		const results = ["d0", "d1"].map((device) => ({ request: "gpu", driver: "gpu.example.com", pool: "p", device }))
		const merge = k8s.setHeaderOptions("Content-Type", k8s.PatchStrategy.MergePatch)
		await api.patchNamespacedResourceClaimStatus({ namespace, name, body: { status: { allocation: { devices: { results } } } } }, merge)
		const send = (device) => api.patchNamespacedResourceClaimStatus({
			namespace, name, fieldManager: device,
			body: { apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", metadata: { name }, status: { devices: [{ driver: "gpu.example.com", pool: "p", device }] } },
		}, byApply)
		await send("d0")
		assert.deepEqual((await send("d1")).status.devices.map(({ device }) => device), ["d0", "d1"])
	})

	await test("the client library applies any object", async () => {
		const api = k8s.KubernetesObjectApi.makeApiClient(kc)
		const any = (data) => ({ ...configMap("any", data), metadata: { name: "any", namespace } })
		const send = (data, manager, force) => api.patch(any(data), undefined, undefined, manager, force, k8s.PatchStrategy.ServerSideApply)
		assert.deepEqual((await send({ a: "1" }, "one")).data, { a: "1" })
		await assert.rejects(send({ a: "2" }, "two"), (e) => e.code === 409)
		assert.deepEqual((await send({ a: "2" }, "two", true)).data, { a: "2" })
	})
}

const server = await startServer(backends[0])
await custom(server.client)
await library(server)
await test("the server ends in order", () => server.stop())
finish()
