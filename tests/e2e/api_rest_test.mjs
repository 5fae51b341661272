// Writing objects over plain HTTP: every verb, what it changes, and how it refuses.
import assert from "node:assert/strict"
import {
	backends, causes, claim, configMap, core, dra, expect, expectStatus, namespace, newNamespace, paths, pod, rv, slice,
	startServer, unique,
} from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/
const uid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

async function creating(say, client) {
	const ns = await newNamespace(client)
	const { configMaps, claims } = paths(ns)

	await test(say("create answers 201 with what the server adds"), async () => {
		const box = expect(await client.post(configMaps, configMap("box")), 201)
		assert.equal(box.kind, "ConfigMap")
		assert.equal(box.apiVersion, "v1")
		assert.equal(box.metadata.namespace, ns)
		assert.match(box.metadata.uid, uid)
		assert.match(box.metadata.creationTimestamp, time)
		assert.match(box.metadata.resourceVersion, /^[1-9]\d*$/)
		assert.deepEqual(expect(await client.get(`${configMaps}/box`), 200), box)
	})

	await test(say("a second one of the name is AlreadyExists"), async () => {
		const status = expectStatus(await client.post(configMaps, configMap("box")), 409, "AlreadyExists",
			/^configmaps "box" already exists$/)
		assert.deepEqual(status.details, { name: "box", kind: "configmaps" })
		const other = expectStatus(await client.post(claims, claim("Bad_Name")), 422, "Invalid",
			/^ResourceClaim\.resource\.k8s\.io "Bad_Name" is invalid: metadata\.name: Invalid value: "Bad_Name": /)
		assert.equal(other.details.group, "resource.k8s.io")
		assert.equal(other.details.kind, "ResourceClaim")
		assert.deepEqual(causes(other), ["FieldValueInvalid metadata.name"])
	})

	await test(say("generateName makes names"), async () => {
		const { metadata: { name, generateName } } = expect(await client.post(configMaps,
			{ ...configMap(), metadata: { generateName: "made-" } }), 201)
		assert.match(name, /^made-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
		assert.equal(generateName, "made-")
		const long = expect(await client.post(configMaps,
			{ ...configMap(), metadata: { generateName: "x".repeat(80) } }), 201)
		assert.match(long.metadata.name, /^x{58}[bcdfghjklmnpqrstvwxz2456789]{5}$/)
		expectStatus(await client.post(configMaps, { ...configMap(), metadata: {} }), 422, "Invalid",
			/name or generateName is required/)
	})

	await test(say("fields that only the server may set are rejected or replaced"), async () => {
		const refused = expectStatus(await client.post(configMaps, configMap("rv", {}, { resourceVersion: "7" })), 400,
			"BadRequest")
		assert.match(refused.message, /resourceVersion should not be set on objects to be created/)
		const made = expect(await client.post(configMaps, configMap("set", {}, {
			uid: "00000000-0000-0000-0000-000000000000", creationTimestamp: "2001-01-01T00:00:00Z",
			deletionTimestamp: "2001-01-01T00:00:00Z", selfLink: "/x",
		})), 201)
		assert.notEqual(made.metadata.uid, "00000000-0000-0000-0000-000000000000")
		assert.ok(made.metadata.creationTimestamp > "2002")
		assert.equal(made.metadata.deletionTimestamp, undefined)
		assert.equal(made.metadata.selfLink, undefined)
	})

	await test(say("a namespace, kind or version that does not fit the path is refused"), async () => {
		expectStatus(await client.post(configMaps, configMap("a", {}, { namespace: "default" })), 400, "BadRequest",
			/the namespace of the provided object does not match the namespace sent on the request/)
		expectStatus(await client.post(configMaps, { ...configMap("a"), kind: "Secret" }), 400, "BadRequest")
		expectStatus(await client.post(configMaps, { ...configMap("a"), apiVersion: "v2" }), 400, "BadRequest")
		const plain = configMap("kindless")
		delete plain.kind
		delete plain.apiVersion
		expect(await client.post(configMaps, plain), 201)
	})

	await test(say("an unreadable body is a bad request"), async () => {
		expectStatus(await client.post(configMaps, "{"), 400, "BadRequest")
		expectStatus(await client.post(configMaps, ""), 400, "BadRequest")
		expectStatus(await client.post(configMaps, "[]"), 400, "BadRequest")
		expectStatus(await client.post(configMaps, { ...configMap("a"), data: 7 }), 400, "BadRequest")
		expectStatus(await client.post(`${configMaps}/box`, configMap("box")), 405, "MethodNotAllowed")
	})

	await test(say("every fault is a cause with its field"), async () => {
		const bad = claim("bad")
		bad.spec.devices.requests = [{ name: "Not_A_Label", exactly: { deviceClassName: "x", count: -1 } }, { name: "b" }]
		const status = expectStatus(await client.post(claims, bad), 422, "Invalid")
		const found = causes(status)
		assert.ok(found.includes("FieldValueInvalid spec.devices.requests[0].name"), found)
		assert.ok(found.includes("FieldValueInvalid spec.devices.requests[0].exactly.count"), found)
		assert.ok(found.some((cause) => cause.startsWith("FieldValueRequired spec.devices.requests[1]")), found)
	})

	await test(say("an object that does not exist is NotFound"), async () => {
		const status = expectStatus(await client.get(`${claims}/none`), 404, "NotFound",
			/^resourceclaims\.resource\.k8s\.io "none" not found$/)
		assert.deepEqual(status.details, { name: "none", group: "resource.k8s.io", kind: "resourceclaims" })
		expectStatus(await client.put(`${configMaps}/none`, configMap("none")), 404, "NotFound")
		expectStatus(await client.patch(`${configMaps}/none`, {}, "merge"), 404, "NotFound")
		expectStatus(await client.delete(`${configMaps}/none`), 404, "NotFound")
		expect(await client.get("/apis/nobody.example.com/v1/things"), 404)
		expect(await client.get(`${core}/nonsense`), 404)
	})
}

async function updating(say, client) {
	const ns = await newNamespace(client)
	const { configMaps, claims, pods } = paths(ns)
	const taints = `${dra}/devicetaintrules`

	await test(say("PUT replaces, and a stale resourceVersion is a Conflict"), async () => {
		const first = expect(await client.post(configMaps, configMap("box")), 201)
		const second = expect(await client.put(`${configMaps}/box`, { ...first, data: { b: "2" } }), 200)
		assert.deepEqual(second.data, { b: "2" })
		assert.ok(rv(second) > rv(first))
		assert.equal(second.metadata.uid, first.metadata.uid)
		assert.equal(second.metadata.creationTimestamp, first.metadata.creationTimestamp)
		const status = expectStatus(await client.put(`${configMaps}/box`, { ...first, data: { c: "3" } }), 409, "Conflict",
			/^Operation cannot be fulfilled on configmaps "box": the object has been modified; please apply your changes /)
		assert.deepEqual(status.details, { name: "box", kind: "configmaps" })
		assert.deepEqual(expect(await client.get(`${configMaps}/box`), 200), second)
	})

	await test(say("PUT without a resourceVersion overwrites where that is allowed"), async () => {
		const after = expect(await client.put(`${configMaps}/box`, configMap("box", { d: "4" })), 200)
		assert.deepEqual(after.data, { d: "4" })
		const rule = {
			apiVersion: "resource.k8s.io/v1", kind: "DeviceTaintRule", metadata: { name: unique("rule") },
			spec: { taint: { key: "example.com/broken", effect: "NoSchedule" } },
		}
		const made = expect(await client.post(taints, rule), 201)
		const status = expectStatus(await client.put(`${taints}/${rule.metadata.name}`, rule), 422, "Invalid")
		assert.deepEqual(causes(status), ["FieldValueInvalid metadata.resourceVersion"])
		assert.equal(expect(await client.put(`${taints}/${rule.metadata.name}`, made), 200).metadata.resourceVersion,
			made.metadata.resourceVersion)
	})

	await test(say("a PUT that changes nothing keeps the resourceVersion"), async () => {
		const before = expect(await client.get(`${configMaps}/box`), 200)
		assert.deepEqual(expect(await client.put(`${configMaps}/box`, before), 200), before)
		assert.deepEqual(expect(await client.put(`${configMaps}/box`, configMap("box", { d: "4" })), 200), before)
		assert.deepEqual(expect(await client.patch(`${configMaps}/box`, { data: { d: "4" } }, "merge"), 200), before)
	})

	await test(say("another uid is a Conflict; another name or namespace a bad request"), async () => {
		const wrong = configMap("box", {}, { uid: "11111111-1111-1111-1111-111111111111" })
		expectStatus(await client.put(`${configMaps}/box`, wrong), 409, "Conflict",
			/Precondition failed: UID in precondition: 11111111-1111-1111-1111-111111111111, UID in object meta: /)
		expectStatus(await client.put(`${configMaps}/box`, configMap("other")), 400, "BadRequest",
			/the name of the object \(other\) does not match the name on the URL \(box\)/)
		expectStatus(await client.put(`${configMaps}/box`, configMap("box", {}, { namespace: "default" })), 400, "BadRequest")
	})

	await test(say("spec and status have writers of their own, and generation counts specs"), async () => {
		const name = unique("slice")
		const made = expect(await client.post(`${dra}/resourceslices`, slice(name)), 201)
		assert.equal(made.metadata.generation, 1)
		made.spec.devices[0].attributes.model.string = "b"
		const changed = expect(await client.put(`${dra}/resourceslices/${name}`, made), 200)
		assert.equal(changed.metadata.generation, 2)
		const labelled = expect(await client.patch(`${dra}/resourceslices/${name}`, { metadata: { labels: { a: "b" } } },
			"merge"), 200)
		assert.equal(labelled.metadata.generation, 2)

		const before = expect(await client.post(pods, { ...pod("web"), status: { phase: "Running" } }), 201)
		assert.equal(before.status.phase, "Pending")
		const main = expect(await client.patch(`${pods}/web`, { metadata: { labels: { a: "b" } }, status: { phase: "Failed" } },
			"merge"), 200)
		assert.equal(main.status.phase, "Pending")
		assert.equal(main.metadata.labels.a, "b")
		const status = expect(await client.patch(`${pods}/web/status`,
			{ status: { phase: "Running" }, spec: { nodeName: "elsewhere" } }, "merge"), 200)
		assert.equal(status.status.phase, "Running")
		assert.equal(status.spec.nodeName, undefined)
		assert.deepEqual(expect(await client.get(`${pods}/web/status`), 200), status)
	})

	await test(say("a claim's spec is immutable, its status is its subresource's"), async () => {
		const made = expect(await client.post(claims, { ...claim("c"), status: { reservedFor: [] } }), 201)
		assert.deepEqual(made.status ?? {}, {})
		made.spec.devices.requests[0].exactly.deviceClassName = "other.example.com"
		assert.deepEqual(causes(expectStatus(await client.put(`${claims}/c`, made), 422, "Invalid",
			/field is immutable/)), ["FieldValueInvalid spec"])
		const allocation = {
			devices: { results: [{ request: "gpu", driver: "gpu.example.com", pool: "node-1", device: "gpu-0" }] },
		}
		const status = expect(await client.patch(`${claims}/c/status`,
			{ metadata: { labels: { not: "taken" } }, spec: made.spec, status: { allocation } }, "merge"), 200)
		assert.equal(status.metadata.labels, undefined)
		assert.equal(status.spec.devices.requests[0].exactly.deviceClassName, "gpu.example.com")
		assert.equal(status.status.allocation.devices.results[0].device, "gpu-0")
		const kept = expect(await client.patch(`${claims}/c`, { status: null, metadata: { labels: { a: "b" } } }, "merge"), 200)
		assert.equal(kept.status.allocation.devices.results[0].device, "gpu-0")
	})
}

// The entry of a manager in managedFields.
function managed(object, manager, subresource) {
	return object.metadata.managedFields.find((entry) => entry.manager === manager && entry.subresource === subresource)
}

async function managers(say, client) {
	const ns = await newNamespace(client)
	const { configMaps, pods } = paths(ns)

	await test(say("managedFields record who set what"), async () => {
		const made = expect(await client.post(configMaps, configMap("box", { a: "1" }, { labels: { l: "v" } })), 201)
		assert.equal(made.metadata.managedFields.length, 1)
		const { time: when, ...entry } = made.metadata.managedFields[0]
		assert.match(when, time)
		assert.deepEqual(entry, {
			manager: "e2e", operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1",
			fieldsV1: { "f:data": { ".": {}, "f:a": {} }, "f:metadata": { "f:labels": { ".": {}, "f:l": {} } } },
		})
		const both = expect(await client.patch(`${configMaps}/box?fieldManager=other`, { data: { a: "2", b: "3" } }, "merge"), 200)
		assert.deepEqual(managed(both, "other").fieldsV1, { "f:data": { "f:a": {}, "f:b": {} } })
		assert.deepEqual(managed(both, "e2e").fieldsV1,
			{ "f:data": {}, "f:metadata": { "f:labels": { ".": {}, "f:l": {} } } })
	})

	await test(say("managedFields name the subresource"), async () => {
		expect(await client.post(pods, pod("web")), 201)
		const after = expect(await client.patch(`${pods}/web/status?fieldManager=kubelet`,
			{ status: { phase: "Running" } }, "merge"), 200)
		assert.deepEqual(managed(after, "kubelet", "status").fieldsV1, { "f:status": { "f:phase": {} } })
	})

	await test(say("a field manager that cannot be is refused"), async () => {
		const status = expectStatus(await client.post(`${configMaps}?fieldManager=${"x".repeat(129)}`, configMap("long")),
			422, "Invalid")
		assert.ok(causes(status).some((cause) => cause.includes("fieldManager")), causes(status))
	})
}

async function deleting(say, client) {
	const ns = await newNamespace(client)
	const { configMaps, claims, pods } = paths(ns)

	await test(say("delete answers with a Status or the object, as upstream"), async () => {
		const box = expect(await client.post(configMaps, configMap("box")), 201)
		const status = expect(await client.delete(`${configMaps}/box`), 200)
		assert.equal(status.kind, "Status")
		assert.equal(status.status, "Success")
		assert.deepEqual(status.details, { name: "box", kind: "configmaps", uid: box.metadata.uid })
		expect(await client.get(`${configMaps}/box`), 404)
		const made = expect(await client.post(claims, claim("c")), 201)
		const gone = expect(await client.delete(`${claims}/c`), 200)
		assert.equal(gone.kind, "ResourceClaim")
		assert.equal(gone.metadata.uid, made.metadata.uid)
	})

	await test(say("finalizers hold an object until the last is gone"), async () => {
		const made = expect(await client.post(configMaps, configMap("held", {}, {
			finalizers: ["example.com/one", "example.com/two"],
		})), 201)
		const dying = expect(await client.delete(`${configMaps}/held`), 200)
		assert.equal(dying.kind, "ConfigMap")
		assert.match(dying.metadata.deletionTimestamp, time)
		assert.equal(dying.metadata.deletionGracePeriodSeconds, 0)
		assert.ok(rv(dying) > rv(made))
		const again = expect(await client.delete(`${configMaps}/held`), 200)
		assert.equal(again.metadata.deletionTimestamp, dying.metadata.deletionTimestamp)
		const status = expectStatus(await client.patch(`${configMaps}/held`,
			{ metadata: { finalizers: ["example.com/one", "example.com/new"] } }, "merge"), 422, "Invalid")
		assert.deepEqual(causes(status), ["FieldValueForbidden metadata.finalizers"])
		expect(await client.patch(`${configMaps}/held`, { metadata: { finalizers: ["example.com/two"] } }, "merge"), 200)
		expect(await client.get(`${configMaps}/held`), 200)
		expect(await client.patch(`${configMaps}/held`, { metadata: { finalizers: null } }, "merge"), 200)
		expect(await client.get(`${configMaps}/held`), 404)
		expect(await client.post(configMaps, configMap("held")), 201)
	})

	await test(say("propagationPolicy leaves its finalizer"), async () => {
		for (const [policy, finalizer] of [["Foreground", "foregroundDeletion"], ["Orphan", "orphan"]]) {
			const name = policy.toLowerCase()
			expect(await client.post(configMaps, configMap(name)), 201)
			expect(await client.delete(`${configMaps}/${name}`, { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: policy }), 200)
			const dying = expect(await client.get(`${configMaps}/${name}`), 200)
			assert.deepEqual(dying.metadata.finalizers, [finalizer])
			assert.match(dying.metadata.deletionTimestamp, time)
			expect(await client.post(configMaps, configMap(`${name}-query`)), 201)
			expect(await client.delete(`${configMaps}/${name}-query?propagationPolicy=${policy}`), 200)
			assert.deepEqual(expect(await client.get(`${configMaps}/${name}-query`), 200).metadata.finalizers, [finalizer])
		}
		expect(await client.post(configMaps, configMap("background")), 201)
		expect(await client.delete(`${configMaps}/background?propagationPolicy=Background`), 200)
		expect(await client.get(`${configMaps}/background`), 404)
		expect(await client.post(configMaps, configMap("odd")), 201)
		expectStatus(await client.delete(`${configMaps}/odd?propagationPolicy=Sideways`), 422, "Invalid")
	})

	await test(say("preconditions that do not hold are a Conflict"), async () => {
		const made = expect(await client.post(configMaps, configMap("exact")), 201)
		const options = (preconditions) => ({ kind: "DeleteOptions", apiVersion: "v1", preconditions })
		expectStatus(await client.delete(`${configMaps}/exact`, options({ uid: "22222222-2222-2222-2222-222222222222" })), 409,
			"Conflict")
		expectStatus(await client.delete(`${configMaps}/exact`, options({ resourceVersion: "1" })), 409, "Conflict")
		expect(await client.delete(`${configMaps}/exact`, options({
			uid: made.metadata.uid, resourceVersion: made.metadata.resourceVersion,
		})), 200)
	})

	await test(say("a pod on a node stays for its grace period, one on none goes at once"), async () => {
		expect(await client.post(pods, pod("loose")), 201)
		expect(await client.delete(`${pods}/loose`), 200)
		expect(await client.get(`${pods}/loose`), 404)
		const bound = pod("bound")
		bound.spec.nodeName = "node-1"
		expect(await client.post(pods, bound), 201)
		const dying = expect(await client.delete(`${pods}/bound`), 200)
		assert.equal(dying.metadata.deletionGracePeriodSeconds, 30)
		assert.match(dying.metadata.deletionTimestamp, time)
		expect(await client.delete(`${pods}/bound?gracePeriodSeconds=0`), 200)
		expect(await client.get(`${pods}/bound`), 404)
	})

	await test(say("deletecollection takes what the selectors match"), async () => {
		for (const [name, tier] of [["m1", "front"], ["m2", "front"], ["m3", "back"]])
			expect(await client.post(configMaps, configMap(name, {}, { labels: { tier } })), 201)
		const gone = expect(await client.delete(`${configMaps}?labelSelector=tier%3Dfront`), 200)
		assert.equal(gone.kind, "ConfigMapList")
		assert.deepEqual(gone.items.map(({ metadata }) => metadata.name), ["m1", "m2"])
		expect(await client.get(`${configMaps}/m3`), 200)
		expect(await client.delete(`${configMaps}?fieldSelector=metadata.name%3Dm3`), 200)
		expect(await client.get(`${configMaps}/m3`), 404)
	})
}

async function dryRunning(say, client) {
	const { configMaps } = paths(await newNamespace(client))

	await test(say("dryRun=All stores nothing"), async () => {
		const made = expect(await client.post(`${configMaps}?dryRun=All`, configMap("dry")), 201)
		assert.match(made.metadata.uid, uid)
		assert.equal(made.metadata.resourceVersion, undefined)
		expect(await client.get(`${configMaps}/dry`), 404)
		const box = expect(await client.post(configMaps, configMap("box")), 201)
		assert.deepEqual(expect(await client.put(`${configMaps}/box?dryRun=All`, configMap("box", { b: "2" })), 200).data, { b: "2" })
		assert.equal(expect(await client.patch(`${configMaps}/box?dryRun=All`, { data: { a: "9" } }, "merge"), 200).data.a, "9")
		expect(await client.delete(`${configMaps}/box?dryRun=All`), 200)
		expect(await client.delete(`${configMaps}/box`, { kind: "DeleteOptions", apiVersion: "v1", dryRun: ["All"] }), 200)
		expect(await client.delete(`${configMaps}?dryRun=All`), 200)
		assert.deepEqual(expect(await client.get(`${configMaps}/box`), 200), box)
		expectStatus(await client.post(`${configMaps}?dryRun=All`, configMap("box")), 409, "AlreadyExists")
		expectStatus(await client.post(`${configMaps}?dryRun=All`, configMap("Bad_Name")), 422, "Invalid")
	})

	await test(say("another value of dryRun is refused"), async () => {
		const status = expectStatus(await client.post(`${configMaps}?dryRun=Some`, configMap("dry")), 422, "Invalid")
		assert.deepEqual(causes(status), ["FieldValueNotSupported dryRun"])
		expectStatus(await client.put(`${configMaps}/box?dryRun=`, configMap("box")), 422, "Invalid")
		expect(await client.get(`${configMaps}/dry`), 404)
	})
}

// The texts of an answer's Warning headers, which come joined.
function warningsOf(answer) {
	return [...(answer.headers.warning ?? "").matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map((m) => m[1].replaceAll(/\\(.)/g, "$1"))
}

async function fieldValidation(say, client) {
	const { configMaps } = paths(await newNamespace(client))
	const unknown = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"NAME","colour":"red"},"data":{"a":"1","a":"2"}}'
	const body = (name) => unknown.replace("NAME", name)

	await test(say("unknown and repeated fields: Strict refuses"), async () => {
		const status = expectStatus(await client.post(`${configMaps}?fieldValidation=Strict`, body("strict")), 400, "BadRequest",
			/strict decoding error: .*unknown field "metadata\.colour"/)
		assert.match(status.message, /duplicate field "data\.a"|duplicate field/)
		expect(await client.get(`${configMaps}/strict`), 404)
		expectStatus(await client.patch(`${configMaps}/none?fieldValidation=Loud`, {}, "merge"), 422, "Invalid")
	})

	await test(say("unknown and repeated fields: Warn, the default, warns"), async () => {
		for (const query of ["", "?fieldValidation=Warn"]) {
			const answer = await client.post(`${configMaps}${query}`, body(`warn${query.length}`))
			assert.equal(expect(answer, 201).metadata.colour, undefined)
			assert.match(answer.headers.warning, /299 - "unknown field \\"metadata\.colour\\""/)
			assert.match(answer.headers.warning, /299 - "duplicate field/)
		}
		const patched = await client.patch(`${configMaps}/warn0`, { size: 1 }, "merge")
		expect(patched, 200)
		assert.match(patched.headers.warning, /299 - "unknown field \\"size\\""/)
		expectStatus(await client.patch(`${configMaps}/warn0?fieldValidation=Strict`, { size: 1 }, "merge"), 422, "Invalid")
	})

	// The replies of kube-apiserver 1.38 to the same bodies.
	await test(say("several faults are told in the order of the text, by which upstream meets them"), async () => {
		const deployments = configMaps.replace("/api/v1/", "/apis/apps/v1/").replace(/configmaps$/, "deployments")
		const deployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","labels":{"app":"n"}},"spec":{
			"unknownField":"foo","replicas":2,"replicas":3,"selector":{"matchLabels":{"app":"n"}},"template":{"metadata":
			{"labels":{"app":"n"}},"spec":{"containers":[{"name":"n","image":"i","imagePullPolicy":"Always","zz":1,"imagePullPolicy":"Never"}]}}}}`
		const told = ['unknown field "spec.unknownField"', 'duplicate field "spec.replicas"',
			'unknown field "spec.template.spec.containers[0].zz"', 'duplicate field "spec.template.spec.containers[0].imagePullPolicy"']
		const refused = expectStatus(await client.post(`${deployments}?fieldValidation=Strict`, deployment), 400, "BadRequest")
		assert.equal(refused.message, `Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: ${told.join(", ")}`)
		const warned = await client.post(`${deployments}?dryRun=All`, deployment)
		expect(warned, 201)
		assert.deepEqual(warningsOf(warned).filter((w) => !w.startsWith("nothing acts on ")), told)
	})

	await test(say("of YAML repeated names are told by line, and unknown ones in the order of names"), async () => {
		const yaml = "zz: 1\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: why\n  colour: red\ndata:\n  a: '1'\n  b: '2'\n  a: '3'\n  b:\n    '4'\naa: 1\n"
		const lines = ['line 10: key "a" already set in map', 'line 12: key "b" already set in map']
		const unknown = ['unknown field "aa"', 'unknown field "metadata.colour"', 'unknown field "zz"']
		const refused = expectStatus(await client.post(`${configMaps}?fieldValidation=Strict`, yaml, { type: "yaml" }), 400, "BadRequest")
		assert.equal(refused.message, 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: ' +
			`yaml: unmarshal errors:\n  ${lines.join("\n  ")}, ${unknown.join(", ")}`)
		const warned = await client.post(configMaps, yaml, { type: "yaml" })
		assert.deepEqual(expect(warned, 201).data, { a: "3", b: "4" })
		assert.deepEqual(warningsOf(warned), [...lines, ...unknown])
		const applied = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: z\ndata:\n  a: '1'\n  a: '2'\n"
		const strict = expectStatus(await client.patch(`${configMaps}/z?fieldManager=m&fieldValidation=Strict`, applied, "application/apply-patch+yaml"), 400, "BadRequest")
		assert.equal(strict.message,
			'error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:\n  line 7: key "a" already set in map')
		const warm = await client.patch(`${configMaps}/z?fieldManager=m`, applied, "application/apply-patch+yaml")
		assert.equal(expect(warm, 201).data.a, "2")
		assert.deepEqual(warningsOf(warm), ['line 7: key "a" already set in map'])
	})

	await test(say("of a patch its own faults are told, then those of what it makes"), async () => {
		expect(await client.post(configMaps, configMap("patched")), 201)
		const patch = '{"zz":1,"data":{"q":"1","q":"2"},"metadata":{"b":1,"a":1}}'
		const told = ['duplicate field "data.q"', 'unknown field "metadata.a"', 'unknown field "metadata.b"', 'unknown field "zz"']
		for (const type of ["merge", "strategic"]) {
			const warned = await client.patch(`${configMaps}/patched`, patch, type)
			expect(warned, 200)
			assert.deepEqual(warningsOf(warned), told)
			const refused = expectStatus(await client.patch(`${configMaps}/patched?fieldValidation=Strict`, patch, type), 422, "Invalid")
			assert.ok(refused.message.endsWith(`: strict decoding error: ${told.join(", ")}`), refused.message)
		}
		const operations = '[{"op":"add","path":"/zz","value":1,"foo":2},{"op":"add","path":"/aa","path":"/bb","value":{"x":1,"x":2}}]'
		const warned = await client.patch(`${configMaps}/patched`, operations, "patch")
		expect(warned, 200)
		assert.deepEqual(warningsOf(warned), ['json patch unknown field "[0].foo"', 'json patch duplicate field "[1].path"',
			'json patch duplicate field "[1].value.x"', 'unknown field "bb"', 'unknown field "zz"'])
	})

	await test(say("many faults are told in full, up to a hundred"), async () => {
		const names = Array.from({ length: 120 }, (_, i) => `z${200 - i}`)
		const text = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},${names.map((n) => `"${n}":1`).join(",")}}`
		const refused = expectStatus(await client.post(`${configMaps}?fieldValidation=Strict`, text), 400, "BadRequest")
		assert.deepEqual(refused.message.match(/unknown field "z\d+"/g), names.slice(0, 100).map((n) => `unknown field "${n}"`))
	})

	await test(say("unknown and repeated fields: Ignore is silent"), async () => {
		const answer = await client.post(`${configMaps}?fieldValidation=Ignore`, body("ignore"))
		expect(answer, 201)
		assert.equal(answer.headers.warning, undefined)
	})
}

async function patching(say, client) {
	const { configMaps } = paths(await newNamespace(client))
	const box = `${configMaps}/box`
	await client.post(configMaps, configMap("box", { a: "1", b: "2" }))

	await test(say("a merge patch sets, and null removes"), async () => {
		assert.deepEqual(expect(await client.patch(box, { data: { a: null, c: "3" } }, "merge"), 200).data, { b: "2", c: "3" })
	})

	await test(say("a JSON patch runs its operations in order, all or none"), async () => {
		const ops = [
			{ op: "test", path: "/data/b", value: "2" },
			{ op: "add", path: "/data/d.e", value: "4" },
			{ op: "copy", from: "/data/c", path: "/data/f" },
			{ op: "move", from: "/data/b", path: "/data/g" },
			{ op: "replace", path: "/data/c", value: "33" },
			{ op: "remove", path: "/data/f" },
		]
		assert.deepEqual(expect(await client.patch(box, ops, "patch"), 200).data, { c: "33", "d.e": "4", g: "2" })
		const before = expect(await client.get(box), 200)
		expectStatus(await client.patch(box, [{ op: "add", path: "/data/h", value: "5" }, { op: "test", path: "/data/c", value: "no" }],
			"patch"), 422, "Invalid")
		expectStatus(await client.patch(box, [{ op: "remove", path: "/data/none" }], "patch"), 422, "Invalid")
		assert.deepEqual(expect(await client.get(box), 200), before)
	})

	await test(say("patches that cannot be read are bad requests"), async () => {
		expectStatus(await client.patch(box, "{", "merge"), 400, "BadRequest")
		expectStatus(await client.patch(box, "{}", "patch"), 400, "BadRequest")
		expectStatus(await client.patch(box, "[1]", "patch"), 400, "BadRequest")
		expectStatus(await client.patch(box, [{ op: "test", path: "/kind", value: "Secret" }], "patch"), 422, "Invalid")
		expectStatus(await client.patch(box, { data: { Bad: 7 } }, "merge"), 422, "Invalid", /patch: Invalid value/)
		const many = Array.from({ length: 10001 }, () => ({ op: "test", path: "/kind", value: "ConfigMap" }))
		expectStatus(await client.patch(box, many, "patch"), 413, "RequestEntityTooLarge")
	})

	await test(say("a patch with a stale resourceVersion is a Conflict"), async () => {
		expectStatus(await client.patch(box, { metadata: { resourceVersion: "1" }, data: { z: "1" } }, "merge"), 409, "Conflict")
		expectStatus(await client.patch(box, { metadata: { uid: "33333333-3333-3333-3333-333333333333" } }, "merge"), 422,
			"Invalid", /metadata\.uid: .*field is immutable/)
	})

	await test(say("a patch cannot rename"), async () => {
		expectStatus(await client.patch(box, { metadata: { name: "other" } }, "merge"), 400, "BadRequest")
	})

	await test(say("other types of patch are unsupported"), async () => {
		const status = expectStatus(await client.patch(box, {}, "application/unknown-patch"), 415, "UnsupportedMediaType")
		assert.match(status.message, /application\/json-patch\+json/)
		expectStatus(await client.patch(box, {}, "json"), 415, "UnsupportedMediaType")
	})
}

// A protobuf field of wire type 2, as long as 127 bytes.
function field(number, ...content) {
	const bytes = Buffer.concat(content.map((piece) => Buffer.from(piece)))
	return Buffer.concat([Buffer.from([number << 3 | 2, bytes.length]), bytes])
}

// An object in the envelope that Kubernetes sends protobuf in.
function envelope(apiVersion, kind, ...raw) {
	return Buffer.concat([Buffer.from("k8s\0"), field(1, field(1, apiVersion), field(2, kind)), field(2, ...raw)])
}

async function bodies(say, client) {
	const { configMaps } = paths(await newNamespace(client))

	await test(say("protobuf bodies, answered in JSON"), async () => {
		const options = { type: "application/vnd.kubernetes.protobuf", accept: "json" }
		const object = envelope("v1", "ConfigMap", field(1, field(1, "proto")), field(2, field(1, "a"), field(2, "1")))
		const made = expect(await client.post(configMaps, object, options), 201)
		assert.deepEqual(made.data, { a: "1" })
		const preconditions = envelope("v1", "DeleteOptions", field(2, field(1, "none such")))
		expectStatus(await client.delete(`${configMaps}/proto`, preconditions, options), 409, "Conflict")
		expect(await client.delete(`${configMaps}/proto`, envelope("v1", "DeleteOptions", field(2, field(1, made.metadata.uid))), options), 200)
		expectStatus(await client.post(configMaps, object.subarray(0, -3), options), 400, "BadRequest")
	})

	await test(say("YAML bodies and answers"), async () => {
		const text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  truth: \"yes\"\n"
		const made = await client.post(configMaps, text, { type: "yaml", accept: "yaml" })
		expect(made, 201)
		assert.match(made.headers["content-type"], /^application\/yaml/)
		assert.match(made.text, /^kind: ConfigMap$/m)
		assert.deepEqual(expect(await client.get(`${configMaps}/yaml`), 200).data, { truth: "yes" })
		const list = await client.get(configMaps, { accept: "yaml" })
		assert.match(list.text, /^kind: ConfigMapList$/m)
	})

	await test(say("unsupported media types are rejected"), async () => {
		expectStatus(await client.get(configMaps, { accept: "image/png" }), 406, "NotAcceptable")
		expectStatus(await client.post(configMaps, "x", { type: "text/csv" }), 415, "UnsupportedMediaType")
		expect(await client.get(configMaps, { accept: "image/png, */*" }), 200)
	})

	await test(say("too much is refused: 3 MiB of body, 1.5 MiB of object"), async () => {
		const name = unique("big")
		const data = (mib) => ({ a: "x".repeat(mib * 1024 * 1024 / 4), b: "x".repeat(mib * 1024 * 1024 / 4),
			c: "x".repeat(mib * 1024 * 1024 / 4), d: "x".repeat(mib * 1024 * 1024 / 4) })
		expectStatus(await client.post(configMaps, configMap(name, data(3.1))), 413, "RequestEntityTooLarge")
		expectStatus(await client.post(`${dra}/resourceslices`, { ...slice(name), metadata: {
			name, managedFields: [], annotations: { a: "x".repeat(300 * 1024) } } }), 422, "Invalid", /annotations/)
		// A ConfigMap ends at 1 MiB; a pod's status may be large.
		expectStatus(await client.post(configMaps, configMap(name, data(1.2))), 422, "Invalid")
		expect(await client.post(configMaps, configMap(name, data(0.9))), 201)
	})
}

async function tooLarge(say, client) {
	const ns = await newNamespace(client)
	const { pods } = paths(ns)

	await test(say("an object above 1.5 MiB is refused with 413"), async () => {
		const large = pod("large")
		large.spec.containers[0].env = Array.from({ length: 1600 }, (_, i) => ({ name: `V${i}`, value: "x".repeat(1024) }))
		expectStatus(await client.post(pods, large), 413, "RequestEntityTooLarge")
		expect(await client.get(`${pods}/large`), 404)
		large.spec.containers[0].env.length = 1000
		expect(await client.post(pods, large), 201)
	})
}

async function namespaces(say, client) {
	await test(say("nothing can be created in a namespace that is not there"), async () => {
		const status = expectStatus(await client.post(`${core}/namespaces/nowhere/configmaps`, configMap("a")), 404, "NotFound",
			/^namespaces "nowhere" not found$/)
		assert.equal(status.details.kind, "namespaces")
		const list = expect(await client.get(`${core}/namespaces/nowhere/configmaps`), 200)
		assert.deepEqual(list.items, [])
	})

	await test(say("a namespace waits in Terminating for its finalizer"), async () => {
		const name = unique("ending")
		const made = expect(await client.post(`${core}/namespaces`, namespace(name)), 201)
		assert.deepEqual(made.spec.finalizers, ["kubernetes"])
		assert.equal(made.status.phase, "Active")
		assert.equal(made.metadata.labels["kubernetes.io/metadata.name"], name)
		const dying = expect(await client.delete(`${core}/namespaces/${name}`), 200)
		assert.equal(dying.status.phase, "Terminating")
		assert.match(dying.metadata.deletionTimestamp, time)
		const status = expectStatus(await client.post(`${core}/namespaces/${name}/configmaps`, configMap("late")), 403, "Forbidden",
			/^configmaps "late" is forbidden: unable to create new content in namespace \S+ because it is being terminated$/)
		assert.deepEqual(causes(status), ["NamespaceTerminating metadata.namespace"])
		const current = expect(await client.get(`${core}/namespaces/${name}`), 200)
		expect(await client.put(`${core}/namespaces/${name}/finalize`, { ...current, spec: { finalizers: [] } }), 200)
		expect(await client.get(`${core}/namespaces/${name}`), 404)
	})

	await test(say("a namespace's own finalizer holds it beside the kubernetes one"), async () => {
		const name = unique("ending")
		const made = expect(await client.post(`${core}/namespaces`, namespace(name, { finalizers: ["example.com/hold"] })), 201)
		expect(await client.delete(`${core}/namespaces/${name}`), 200)
		const current = expect(await client.get(`${core}/namespaces/${name}`), 200)
		expect(await client.put(`${core}/namespaces/${name}/finalize`, { ...current, spec: { finalizers: [] } }), 200)
		assert.equal(expect(await client.get(`${core}/namespaces/${name}`), 200).metadata.uid, made.metadata.uid)
		expect(await client.patch(`${core}/namespaces/${name}`, { metadata: { finalizers: null } }, "merge"), 200)
		expect(await client.get(`${core}/namespaces/${name}`), 404)
	})

	await test(say("namespaces that every cluster has cannot be deleted"), async () => {
		expectStatus(await client.delete(`${core}/namespaces/default`), 403, "Forbidden", /this namespace may not be deleted/)
	})
}

async function podSubresources(say, client) {
	const ns = await newNamespace(client)
	const { pods } = paths(ns)

	await test(say("pods/binding puts a pod on a node, once"), async () => {
		expect(await client.post(pods, pod("web")), 201)
		const binding = { apiVersion: "v1", kind: "Binding", metadata: { name: "web" }, target: { kind: "Node", name: "node-1" } }
		const answer = expect(await client.post(`${pods}/web/binding`, binding), 201)
		assert.equal(answer.status, "Success")
		const bound = expect(await client.get(`${pods}/web`), 200)
		assert.equal(bound.spec.nodeName, "node-1")
		const scheduled = bound.status.conditions.find(({ type }) => type === "PodScheduled")
		assert.equal(scheduled.status, "True")
		expectStatus(await client.post(`${pods}/web/binding`, binding), 409, "Conflict")
		expectStatus(await client.post(`${pods}/none/binding`, { ...binding, metadata: { name: "none" } }), 404, "NotFound")
	})

	await test(say("pods/eviction deletes a pod"), async () => {
		expect(await client.post(pods, pod("out")), 201)
		const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "out", namespace: ns } }
		const answer = expect(await client.post(`${pods}/out/eviction`, eviction), 201)
		assert.equal(answer.status, "Success")
		expect(await client.get(`${pods}/out`), 404)
		expectStatus(await client.post(`${pods}/out/eviction`, eviction), 404, "NotFound")
		expect(await client.post(pods, pod("old")), 201)
		expect(await client.post(`${pods}/old/eviction`, { ...eviction, apiVersion: "policy/v1beta1", metadata: { name: "old" } }), 201)
	})

	await test(say("evictions share what a disruption budget allows"), async () => {
		const names = ["kept-0", "kept-1", "kept-2", "kept-3"]
		const budgets = `/apis/policy/v1/namespaces/${ns}/poddisruptionbudgets`
		const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] }
		for (const name of names) {
			const body = pod(name)
			body.metadata.labels = { app: "kept" }
			body.spec.nodeName = "far"
			expect(await client.post(pods, body), 201)
			expect(await client.patch(`${pods}/${name}/status`, { status }, "merge"), 200)
		}
		expect(await client.post(budgets, { metadata: { name: "half" }, spec: { minAvailable: 2, selector: { matchLabels: { app: "kept" } } } }), 201)
		const evict = (name, more = {}) =>
			client.post(`${pods}/${name}/eviction`, { apiVersion: "policy/v1", kind: "Eviction", metadata: { name }, ...more })
		// Nobody counts for it yet.
		expectStatus(await evict(names[0]), 429, "TooManyRequests", /disruption budget/)
		expect(await client.patch(`${budgets}/half/status`, { status: { observedGeneration: 1, disruptionsAllowed: 2,
			currentHealthy: 4, desiredHealthy: 2, expectedPods: 4 } }, "merge"), 200)
		expect(await evict(names[0], { deleteOptions: { dryRun: ["All"] } }), 201)
		const answers = await Promise.all(names.map((name) => evict(name)))
		assert.deepEqual(answers.map((a) => a.code).sort(), [201, 201, 429, 429], answers.map((a) => a.text).join("\n"))
		const after = expect(await client.get(`${budgets}/half`), 200).status
		assert.equal(after.disruptionsAllowed, 0)
		const gone = names.filter((name, i) => answers[i].code === 201)
		assert.deepEqual(Object.keys(after.disruptedPods).sort(), gone)
		for (const name of gone) {
			const left = expect(await client.get(`${pods}/${name}`), 200)
			assert.ok(left.metadata.deletionTimestamp)
			assert.equal(left.status.conditions.find((c) => c.type === "DisruptionTarget")?.reason, "EvictionByEvictionAPI")
		}
		const refused = answers.find((a) => a.code === 429)
		assert.equal(refused.body.details.causes[0].reason, "DisruptionBudget")
	})
}

async function expiry(say, client) {
	const ns = await newNamespace(client)

	await test(say("events expire"), async () => {
		const { events } = paths(ns)
		expect(await client.post(events, {
			apiVersion: "v1", kind: "Event", metadata: { name: "happened" }, reason: "Test", type: "Normal",
			involvedObject: { kind: "Pod", namespace: ns, name: "web" },
		}), 201)
		const same = expect(await client.get(`/apis/events.k8s.io/v1/namespaces/${ns}/events/happened`), 200)
		assert.equal(same.regarding.name, "web")
		await until("expiry of an event", async () => (await client.get(`${events}/happened`)).code === 404, 30)
	})
}

for (const backend of backends) {
	const say = (name) => `${backend}: ${name}`
	const server = await startServer(backend, { flags: ["--event-ttl", "2s"] })
	for (const part of [creating, updating, managers, deleting, dryRunning, fieldValidation, patching, bodies, tooLarge,
		namespaces, podSubresources, expiry])
		await part(say, server.client)
	await test(say("the server ends in order"), () => server.stop())
}
finish()
