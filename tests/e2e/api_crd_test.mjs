// CustomResourceDefinitions: kinds that are made while the server runs, on both backends.
import assert from "node:assert/strict"
import { cpSync } from "node:fs"
import * as k8s from "@kubernetes/client-node"
import { backends, causes, expect, expectStatus, newNamespace, startEtcd, startServer, unique } from "./api_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
const table = "application/json;as=Table;v=v1;g=meta.k8s.io"

const schema = {
	type: "object", required: ["spec"],
	properties: {
		spec: {
			type: "object", required: ["color"],
			properties: {
				color: { type: "string", enum: ["red", "green", "blue"], description: "What it looks like." },
				size: { type: "integer", minimum: 1, maximum: 10, default: 3 },
				replicas: { type: "integer" },
				port: { "x-kubernetes-int-or-string": true },
				maybe: { type: "string", nullable: true },
				anything: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
				parts: {
					type: "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
					items: { type: "object", required: ["name"], properties: { name: { type: "string", maxLength: 8 }, weight: { type: "number", default: 1.5 } } },
				},
				tags: { type: "object", additionalProperties: { type: "string" } },
			},
		},
		status: { type: "object", properties: { phase: { type: "string" }, replicas: { type: "integer" }, selector: { type: "string" } } },
	},
}

const version = {
	name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema },
	subresources: {
		status: {},
		scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas", labelSelectorPath: ".status.selector" },
	},
	additionalPrinterColumns: [
		{ name: "Color", type: "string", jsonPath: ".spec.color" },
		{ name: "Size", type: "integer", jsonPath: ".spec.size", priority: 1 },
	],
	selectableFields: [{ jsonPath: ".spec.color" }],
}

const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
const older = { name: "v1beta1", served: true, storage: false, deprecated: true, schema: { openAPIV3Schema: open } }

// A definition of widgets in a group that nothing else uses.
function define({ group = `${unique("g")}.example.com`, kind = "Widget", versions = [version], names = {}, scope = "Namespaced" } = {}) {
	const plural = `${kind.toLowerCase()}s`
	return {
		apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: `${plural}.${group}` },
		spec: { group, scope, names: { plural, singular: kind.toLowerCase(), kind, ...names }, versions },
	}
}

function widget(definition, name, spec, metadata = {}) {
	const { group, names } = definition.spec
	return { apiVersion: `${group}/v1`, kind: names.kind, metadata: { name, ...metadata }, spec }
}

function pathOf(definition, ns, which = "v1") {
	const { group, names } = definition.spec
	return `/apis/${group}/${which}/namespaces/${ns}/${names.plural}`
}

function condition(object, type) {
	return object.status?.conditions?.find((c) => c.type === type)?.status
}

// Makes a definition and a namespace; resolves to [definition, path of its objects].
async function begin(client, options) {
	const definition = define(options)
	const made = expect(await client.post(definitions, definition), 201)
	assert.equal(condition(made, "Established"), "True")
	return [definition, pathOf(definition, await newNamespace(client))]
}

async function gone(client, definition) {
	await until("the definition's end", async () => (await client.get(`${definitions}/${definition.metadata.name}`)).code === 404)
}

async function objects(say, { client }) {
	await test(say("a definition is served as soon as it is acknowledged"), async () => {
		for (let i = 0; i < 10; i++) {
			const [definition, path] = await begin(client)
			expect(await client.post(path, widget(definition, "a", { color: "red" })), 201)
			assert.equal(expect(await client.get(path), 200).kind, "WidgetList")
		}
	})

	await test(say("faults are told with the paths of their fields"), async () => {
		const [definition, path] = await begin(client)
		const refuse = async (spec, ...want) => {
			const status = expectStatus(await client.post(path, widget(definition, "bad", spec)), 422, "Invalid")
			assert.deepEqual(causes(status).sort(), want.sort())
		}
		await refuse({}, "FieldValueRequired spec.color")
		await refuse({ color: "pink" }, "FieldValueNotSupported spec.color")
		await refuse({ color: "red", size: 11 }, "FieldValueInvalid spec.size")
		await refuse({ color: "red", size: "x" }, "FieldValueTypeInvalid spec.size")
		await refuse({ color: "red", parts: [{ name: "a" }, { name: "a" }] }, "FieldValueDuplicate spec.parts[1]")
		await refuse({ color: "red", parts: [{ name: "123456789" }] }, "FieldValueTooLong spec.parts[0].name")
		expectStatus(await client.get(`${path}/bad`), 404, "NotFound")
	})

	await test(say("defaults come, unknown fields go, and nulls stay only where they may"), async () => {
		const [definition, path] = await begin(client)
		const spec = { color: "red", extra: 1, maybe: null, size: null, port: "http", anything: { deep: { x: null } }, parts: [{ name: "p", more: 2 }], tags: { a: "b" } }
		const answer = await client.post(path, widget(definition, "a", spec))
		const made = expect(answer, 201)
		assert.deepEqual(made.spec, { color: "red", maybe: null, size: 3, port: "http", anything: { deep: { x: null } }, parts: [{ name: "p", weight: 1.5 }], tags: { a: "b" } })
		assert.match(answer.headers.warning, /unknown field \\"spec.extra\\"/)
		assert.equal(made.metadata.generation, 1)
		assert.equal(made.metadata.managedFields[0].fieldsV1["f:spec"]["f:parts"]["k:{\"name\":\"p\"}"]["f:name"] !== undefined, true)
		expectStatus(await client.post(`${path}?fieldValidation=Strict`, widget(definition, "b", { color: "red", extra: 1 })), 400, "BadRequest", /unknown field "spec.extra"/)
		assert.equal(expect(await client.post(`${path}?dryRun=All`, widget(definition, "b", { color: "red" })), 201).spec.size, 3)
		expectStatus(await client.get(`${path}/b`), 404, "NotFound")
	})

	await test(say("names that come twice are told before unknown ones, of YAML by line, where fields are kept, too"), async () => {
		const [definition, path] = await begin(client)
		const { group } = definition.spec
		const yaml = `\napiVersion: ${group}/v1\nkind: Widget\nmetadata:\n  name: why\nspec:\n  color: red\n  color: red\n  anything:\n    unknown: 1\n    foo: 1\n    foo: 2\n`
		expectStatus(await client.patch(`${path}/why?fieldManager=m&fieldValidation=Strict`, yaml, "application/apply-patch+yaml"), 400, "BadRequest",
			/^error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:\n {2}line 8: key "color" already set in map\n {2}line 12: key "foo" already set in map$/)
		expectStatus(await client.post(`${path}?fieldValidation=Strict`, `${yaml}  zz: 1\n`, { type: "yaml" }), 400, "BadRequest",
			/^Widget in version "v1" cannot be handled as a Widget: strict decoding error: yaml: unmarshal errors:\n {2}line 8: .*\n {2}line 12: key "foo" already set in map, unknown field "spec\.zz"$/)
		const json = `{"apiVersion":"${group}/v1","kind":"Widget","metadata":{"name":"x","name":"y","zz":1,"aa":1},"b":1,
			"spec":{"zz":1,"color":"red","color":"red","anything":{"foo":1,"foo":2},"aa":1}}`
		const refused = expectStatus(await client.post(`${path}?fieldValidation=Strict`, json), 400, "BadRequest")
		assert.equal(refused.message, 'Widget in version "v1" cannot be handled as a Widget: strict decoding error: ' +
			'duplicate field "metadata.name", duplicate field "spec.color", duplicate field "spec.anything.foo", unknown field "metadata.aa", ' +
			'unknown field "metadata.zz", unknown field "b", unknown field "spec.aa", unknown field "spec.zz"')
		expect(await client.post(`${path}?fieldValidation=Ignore`, json), 201)
	})

	await test(say("status is apart from spec, and generation counts spec"), async () => {
		const [definition, path] = await begin(client)
		const made = expect(await client.post(path, { ...widget(definition, "a", { color: "red" }), status: { phase: "x" } }), 201)
		assert.equal(made.status, undefined)
		const told = expect(await client.put(`${path}/a/status`, { ...made, spec: { color: "blue" }, status: { phase: "Done" } }), 200)
		assert.deepEqual([told.spec.color, told.status.phase, told.metadata.generation], ["red", "Done", 1])
		const changed = expect(await client.patch(`${path}/a`, { spec: { size: 5 }, status: { phase: "y" } }, "merge"), 200)
		assert.deepEqual([changed.spec.size, changed.status.phase, changed.metadata.generation], [5, "Done", 2])
		const same = expect(await client.patch(`${path}/a`, [{ op: "replace", path: "/spec/size", value: 5 }], "patch"), 200)
		assert.equal(same.metadata.resourceVersion, changed.metadata.resourceVersion)
		expectStatus(await client.patch(`${path}/a`, { spec: {} }, "strategic"), 415, "UnsupportedMediaType", /application\/merge-patch\+json/)
		expectStatus(await client.put(`${path}/a`, made), 409, "Conflict")
		expectStatus(await client.get(`${path}/a/nothing`), 404, "NotFound")
	})

	await test(say("scale"), async () => {
		const [definition, path] = await begin(client)
		expect(await client.post(path, widget(definition, "a", { color: "red", replicas: 2 })), 201)
		expect(await client.patch(`${path}/a/status`, { status: { replicas: 1, selector: "app=a" } }, "merge"), 200)
		const scale = expect(await client.get(`${path}/a/scale`), 200)
		assert.deepEqual([scale.kind, scale.spec, scale.status], ["Scale", { replicas: 2 }, { replicas: 1, selector: "app=a" }])
		expect(await client.put(`${path}/a/scale`, { ...scale, spec: { replicas: 4 } }), 200)
		expect(await client.patch(`${path}/a/scale`, { spec: { replicas: 5 } }, "merge"), 200)
		assert.equal(expect(await client.get(`${path}/a`), 200).spec.replicas, 5)
	})

	await test(say("tables and field selectors are as the definition has them"), async () => {
		const [definition, path] = await begin(client)
		for (const [name, color] of [["a", "red"], ["b", "blue"], ["c", "red"]])
			expect(await client.post(path, widget(definition, name, { color })), 201)
		const shown = expect(await client.get(path, { accept: table }), 200)
		assert.deepEqual(shown.columnDefinitions.map(({ name, priority }) => `${name} ${priority}`), ["Name 0", "Color 0", "Size 1"])
		assert.deepEqual(shown.rows.map(({ cells }) => cells), [["a", "red", 3], ["b", "blue", 3], ["c", "red", 3]])
		const names = async (query) => expect(await client.get(`${path}?${query}`), 200).items.map(({ metadata }) => metadata.name)
		assert.deepEqual(await names("fieldSelector=spec.color%3Dred"), ["a", "c"])
		assert.deepEqual(await names("fieldSelector=spec.color!%3Dred"), ["b"])
		expectStatus(await client.get(`${path}?fieldSelector=spec.size%3D3`), 400, "BadRequest")
		const watch = await client.watch(`${path}?watch=true&fieldSelector=spec.color%3Dred`)
		await watch.have(2)
		expect(await client.patch(`${path}/b`, { spec: { color: "red" } }, "merge"), 200)
		expect(await client.patch(`${path}/b`, { spec: { color: "green" } }, "merge"), 200)
		await watch.have(4)
		assert.deepEqual(watch.brief.slice(2), ["ADDED b", "DELETED b"])
		watch.close()
	})

	await test(say("versions are views of one object"), async () => {
		const [definition, path] = await begin(client, { versions: [version, older, { ...older, name: "v1alpha1", served: false }] })
		const beta = path.replace("/v1/", "/v1beta1/")
		expect(await client.post(path, widget(definition, "a", { color: "red" })), 201)
		const answer = await client.get(`${beta}/a`)
		assert.equal(expect(answer, 200).apiVersion, `${definition.spec.group}/v1beta1`)
		assert.match(answer.headers.warning, /v1beta1 Widget is deprecated; use .*\/v1 Widget/)
		expect(await client.post(beta, { ...widget(definition, "b", { color: "blue", odd: 1 }), apiVersion: `${definition.spec.group}/v1beta1` }), 201)
		assert.deepEqual(expect(await client.get(`${path}/b`), 200).spec, { color: "blue", size: 3 })
		for (const [place, name] of [[path, "v1"], [beta, "v1beta1"]]) {
			for (const item of expect(await client.get(place), 200).items)
				assert.deepEqual([item.apiVersion, item.kind], [`${definition.spec.group}/${name}`, "Widget"])
		}
		assert.equal((await client.get(path.replace("/v1/", "/v1alpha1/"))).code, 404)
	})
}

async function life(say, server) {
	const { client } = server

	await test(say("names that are taken are refused, and given when they become free"), async () => {
		const [first] = await begin(client)
		const second = define({ group: first.spec.group, kind: "Gadget", names: { shortNames: ["widget"] } })
		const made = expect(await client.post(definitions, second), 201)
		assert.deepEqual([condition(made, "NamesAccepted"), condition(made, "Established")], ["False", "False"])
		assert.equal((await client.get(pathOf(second, "default"))).code, 404)
		expect(await client.delete(`${definitions}/${first.metadata.name}`), 200)
		await until("the names", async () => condition((await client.get(`${definitions}/${second.metadata.name}`)).body, "Established") === "True")
		expect(await client.get(pathOf(second, "default")), 200)
	})

	await test(say("a changed definition ends watches, and its objects follow it"), async () => {
		const [definition, path] = await begin(client)
		expect(await client.post(path, widget(definition, "a", { color: "red", tags: { x: "y" } })), 201)
		const watch = await client.watch(`${path}?watch=true`)
		await watch.have(1)
		const spec = structuredClone(version)
		delete spec.schema.openAPIV3Schema.properties.spec.properties.tags
		spec.schema.openAPIV3Schema.properties.spec.properties.fresh = { type: "boolean", default: true }
		expect(await client.patch(`${definitions}/${definition.metadata.name}`, { spec: { versions: [spec] } }, "merge"), 200)
		await watch.ended
		assert.deepEqual(expect(await client.get(`${path}/a`), 200).spec, { color: "red", size: 3, fresh: true })
	})

	await test(say("deletion takes the objects along, and waits for their finalizers"), async () => {
		const [definition, path] = await begin(client)
		await Promise.all(Array.from({ length: 200 }, (_, i) => client.post(path, widget(definition, `w${i}`, { color: "red" }))))
		expect(await client.post(path, widget(definition, "held", { color: "red" }, { finalizers: ["example.com/hold"] })), 201)
		const deleted = expect(await client.delete(`${definitions}/${definition.metadata.name}`), 200)
		assert.equal(condition(deleted, "Terminating"), "True")
		await until("the objects' end", async () => expect(await client.get(path), 200).items.length === 1)
		expectStatus(await client.post(path, widget(definition, "late", { color: "red" })), 403, "Forbidden", /create not allowed while custom resource definition is terminating/)
		const held = expect(await client.get(`${path}/held`), 200)
		assert.ok(held.metadata.deletionTimestamp)
		expect(await client.patch(`${path}/held`, { metadata: { finalizers: null } }, "merge"), 200)
		await gone(client, definition)
		assert.equal((await client.get(path)).code, 404)
		expect(await client.post(definitions, definition), 201)
		assert.deepEqual(expect(await client.get(path), 200).items, [])
	})

	await test(say("all of it survives kill -9"), async () => {
		const [definition, path] = await begin(client)
		const [doomed, doomedPath] = await begin(client)
		expect(await client.post(path, widget(definition, "a", { color: "red" })), 201)
		expect(await client.post(doomedPath, widget(doomed, "held", { color: "red" }, { finalizers: ["example.com/hold"] })), 201)
		expect(await client.delete(`${definitions}/${doomed.metadata.name}`), 200)
		await server.kill()
		await server.begin()
		const again = server.client
		assert.equal(expect(await again.get(`${path}/a`), 200).spec.size, 3)
		await until("the mark", async () => (await again.get(`${doomedPath}/held`)).body?.metadata?.deletionTimestamp)
		expect(await again.patch(`${doomedPath}/held`, { metadata: { finalizers: null } }, "merge"), 200)
		await gone(again, doomed)
	})
}

async function documents(say, { client }) {
	await test(say("discovery has what is defined"), async () => {
		const [definition] = await begin(client, { versions: [older, version, { ...older, name: "v2" }], names: { shortNames: ["wd"], categories: ["all"] } })
		const { group } = definition.spec
		const found = expect(await client.get(`/apis/${group}`), 200)
		assert.deepEqual(found.versions.map((v) => v.version), ["v2", "v1", "v1beta1"])
		const list = expect(await client.get(`/apis/${group}/v1`), 200).resources
		assert.deepEqual(list.map(({ name }) => name), ["widgets", "widgets/status", "widgets/scale"])
		assert.deepEqual([list[0].shortNames, list[0].categories, list[0].singularName], [["wd"], ["all"], "widget"])
		const all = expect(await client.get("/apis", { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" }), 200)
		assert.deepEqual(all.items.find(({ metadata }) => metadata.name === group).versions.map((v) => v.version), ["v2", "v1", "v1beta1"])
		expect(await client.delete(`${definitions}/${definition.metadata.name}`), 200)
		await gone(client, definition)
		assert.equal((await client.get(`/apis/${group}`)).code, 404)
	})

	await test(say("OpenAPI has the schema, and only what changed has another hash"), async () => {
		const before = expect(await client.get("/openapi/v3"), 200).paths
		const [definition] = await begin(client)
		const { group } = definition.spec
		const after = expect(await client.get("/openapi/v3"), 200).paths
		assert.deepEqual(Object.keys(after).filter((key) => before[key]?.serverRelativeURL !== after[key].serverRelativeURL), [`apis/${group}/v1`])
		const spec = expect(await client.get(after[`apis/${group}/v1`].serverRelativeURL), 200)
		const type = spec.components.schemas[`${group.split(".").reverse().join(".")}.v1.Widget`]
		assert.equal(type.properties.spec.properties.color.description, "What it looks like.")
		assert.deepEqual(type["x-kubernetes-group-version-kind"], [{ group, version: "v1", kind: "Widget" }])
		const { patch } = spec.paths[`/apis/${group}/v1/namespaces/{namespace}/widgets/{name}`]
		assert.ok(patch.parameters.some(({ name }) => name === "fieldValidation"))
		assert.ok(!patch.requestBody.content["application/strategic-merge-patch+json"])
		const old = expect(await client.get("/openapi/v2"), 200)
		assert.equal(old.definitions[`${group.split(".").reverse().join(".")}.v1.Widget`].properties.spec.properties.maybe.type, undefined)
	})
}

async function library(say, server) {
	const kc = new k8s.KubeConfig()
	kc.loadFromFile(server.kubeconfig)

	await test(say("CustomObjectsApi and an informer of it"), async () => {
		const api = kc.makeApiClient(k8s.CustomObjectsApi)
		const [definition, path] = await begin(server.client)
		const { group } = definition.spec, namespace = path.split("/")[5]
		const at = { group, version: "v1", namespace, plural: "widgets" }
		const informer = k8s.makeInformer(kc, path, () => api.listNamespacedCustomObject(at))
		const seen = []
		for (const event of ["add", "update", "delete"])
			informer.on(event, (object) => seen.push(`${event} ${object.metadata.name}`))
		informer.on("error", (error) => seen.push(`error ${error}`))
		await informer.start()
		await api.createNamespacedCustomObject({ ...at, body: widget(definition, "a", { color: "red" }) })
		assert.equal((await api.getNamespacedCustomObject({ ...at, name: "a" })).spec.size, 3)
		await until("add", () => seen.length === 1)
		await api.patchNamespacedCustomObject({ ...at, name: "a", body: [{ op: "replace", path: "/spec/size", value: 4 }] }, k8s.setHeaderOptions("Content-Type", k8s.PatchStrategy.JsonPatch))
		await until("update", () => seen.length === 2)
		await api.deleteNamespacedCustomObject({ ...at, name: "a" })
		await until("delete", () => seen.length === 3)
		assert.deepEqual(seen, ["add a", "update a", "delete a"])
		await informer.stop()
	})
}

async function cluster() {
	const etcd = await startEtcd()
	const prefix = "/crds"
	const first = await startServer("etcd", { etcd, prefix, folder: `${scratch}/crds-0` })
	cpSync(`${first.folder}/pki`, `${scratch}/crds-1/pki`, { recursive: true })
	const second = await startServer("etcd", { etcd, prefix, folder: `${scratch}/crds-1` })
	const [a, b] = [first.client, second.client]

	await test("2 servers: what one defines the other serves at once", async () => {
		for (let i = 0; i < 10; i++) {
			const [definition, path] = await begin(a)
			expect(await b.post(path, widget(definition, "x", { color: "red" })), 201)
			expect(await a.get(`${path}/x`), 200)
		}
	})

	await test("2 servers: a deletion removes what either made", async () => {
		const [definition, path] = await begin(a)
		for (let i = 0; i < 40; i++)
			expect(await [a, b][i % 2].post(path, widget(definition, `w${i}`, { color: "red" })), 201)
		expect(await b.delete(`${definitions}/${definition.metadata.name}`), 200)
		await gone(a, definition)
		await gone(b, definition)
		expect(await a.post(definitions, definition), 201)
		assert.deepEqual(expect(await b.get(path), 200).items, [])
	})
}

for (const backend of backends) {
	const server = await startServer(backend)
	const say = (name) => `${backend}: ${name}`
	await objects(say, server)
	await documents(say, server)
	await library(say, server)
	await life(say, server)
}
await cluster()
finish()
