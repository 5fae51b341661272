// Server-side apply by bare requests: answers, ownership, conflicts, refusals, subresources, rights.
import assert from "node:assert/strict"
import { backends, configMap, core, expect, expectStatus, newNamespace, paths, pod, rv, startServer } from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { applied, apply, expectConflict, expectRefusal, managers, times } from "./ssa_lib.mjs"

const data = (...names) => ({ "f:data": Object.fromEntries(names.map((name) => [`f:${name}`, {}])) })
const deployments = (ns) => `/apis/apps/v1/namespaces/${ns}/deployments`

function deployment(name, spec) {
	const labels = { app: name }
	return {
		apiVersion: "apps/v1", kind: "Deployment", metadata: { name },
		spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "example.com/app:1" }] } }, ...spec },
	}
}

async function ownership(client) {
	const ns = await newNamespace(client)
	const { configMaps, pods } = paths(ns)
	const box = `${configMaps}/box`

	await test("apply makes what is not there", async () => {
		const made = await applied(client, box, configMap("box", { a: "1", b: "1" }), "one", {}, 201)
		assert.deepEqual(made.data, { a: "1", b: "1" })
		assert.deepEqual(managers(made), { "one Apply v1": data("a", "b") })
		assert.equal(times(made)["one Apply v1"], made.metadata.creationTimestamp)
	})

	await test("apply of the same changes nothing and nobody hears of it", async () => {
		const before = expect(await client.get(box), 200)
		const watch = await client.watch(`${configMaps}?watch=true&resourceVersion=${before.metadata.resourceVersion}`)
		assert.deepEqual(await applied(client, box, configMap("box", { a: "1", b: "1" })), before)
		assert.deepEqual(await applied(client, box, configMap("box", { b: "1", a: "1" }), "one", { force: true }), before)
		expect(await client.post(configMaps, configMap("after")), 201)
		assert.deepEqual((await watch.have(1)).map(({ type, object }) => [type, object.metadata.name]), [["ADDED", "after"]])
		watch.close()
	})

	await test("a manager that applies an existing value shares it, and its entry has no time", async () => {
		const before = expect(await client.get(box), 200)
		const joined = await applied(client, box, configMap("box", { a: "1" }), "two")
		assert.deepEqual(managers(joined), { "two Apply v1": data("a"), "one Apply v1": data("a", "b") })
		assert.deepEqual(times(joined), { "two Apply v1": undefined, ...times(before) })
		assert.ok(rv(joined) > rv(before))
	})

	await test("another value is a conflict with all who own the field", async () => {
		expectConflict(await apply(client, box, configMap("box", { a: "2", b: "3", c: "1" }), "three"),
			'Apply failed with 3 conflicts: conflicts with "one":\n- .data.a\n- .data.b\nconflicts with "two":\n- .data.a',
			[".data.a", 'conflict with "one"'], [".data.b", 'conflict with "one"'], [".data.a", 'conflict with "two"'])
		expectConflict(await apply(client, box, configMap("box", { b: "3", c: "1" }), "three"),
			'Apply failed with 1 conflict: conflict with "one": .data.b', [".data.b", 'conflict with "one"'])
		expect(await client.patch(`${box}?fieldManager=editor`, { data: { z: "1" } }, "merge"), 200)
		expectConflict(await apply(client, box, configMap("box", { z: "2" }), "three"),
			'Apply failed with 1 conflict: conflict with "editor" using v1: .data.z', [".data.z", 'conflict with "editor" using v1'])
	})

	await test("force takes fields from their owners", async () => {
		const taken = await applied(client, box, configMap("box", { a: "4", z: "4" }), "three", { force: true })
		assert.deepEqual(taken.data, { a: "4", b: "1", z: "4" })
		assert.deepEqual(managers(taken), { "one Apply v1": data("b"), "three Apply v1": data("a", "z") })
	})

	await test("a field that its only owner drops is removed, a shared field stays", async () => {
		const joined = await applied(client, box, configMap("box", { a: "4" }), "four")
		assert.deepEqual(managers(joined)["four Apply v1"], data("a"))
		const dropped = await applied(client, box, configMap("box", { c: "1" }), "three")
		assert.deepEqual(dropped.data, { a: "4", b: "1", c: "1" })
		assert.deepEqual(managers(dropped), { "four Apply v1": data("a"), "one Apply v1": data("b"), "three Apply v1": data("c") })
		// A whole configuration that is empty leaves no entry.
		const { metadata } = await applied(client, box, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "box" } }, "three")
		assert.deepEqual(metadata.managedFields.map(({ manager }) => manager), ["four", "one"])
	})

	await test("updates take ownership, and apply does not give it back", async () => {
		const current = expect(await client.get(box), 200)
		current.data.b = "9"
		const put = expect(await client.put(`${box}?fieldManager=editor`, current), 200)
		assert.deepEqual(managers(put), { "four Apply v1": data("a"), "editor Update v1": data("b") })
		// A manager that no longer owns a field does not remove it by leaving it out.
		const left = await applied(client, box, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "box" } }, "one")
		assert.equal(left.data.b, "9")
		const gone = expect(await client.patch(`${box}?fieldManager=editor`, [{ op: "remove", path: "/data/b" }], "patch"), 200)
		assert.deepEqual(managers(gone), { "four Apply v1": data("a") })
	})

	await test("lists by key are merged, and keep their order", async () => {
		const containers = (...list) => ({ apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: { containers: list } })
		const first = { name: "b", image: "example.com/b:1", env: [{ name: "X", value: "1" }], ports: [{ containerPort: 80 }] }
		const made = await applied(client, `${pods}/p`, containers(first, { name: "a", image: "example.com/a:1" }), "one", { dryRun: "All" }, 201)
		assert.deepEqual(managers(made)["one Apply v1"], {
			"f:spec": {
				"f:containers": {
					'k:{"name":"a"}': { ".": {}, "f:image": {}, "f:name": {} },
					'k:{"name":"b"}': {
						".": {}, "f:image": {}, "f:name": {}, "f:env": { 'k:{"name":"X"}': { ".": {}, "f:name": {}, "f:value": {} } },
						"f:ports": { 'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:containerPort": {} } },
					},
				},
			},
		})
		const web = `${deployments(ns)}/web`
		const spec = (list) => {
			const object = deployment("web")
			object.spec.template.spec.containers = list.map((name) => ({ name, image: `example.com/${name}:1` }))
			return object
		}
		const names = (object) => object.spec.template.spec.containers.map(({ name }) => name).join("")
		assert.equal(names(await applied(client, web, spec(["c", "a"]), "one", {}, 201)), "ca")
		assert.equal(names(await applied(client, web, spec(["x", "a", "d"]), "two")), "cxad")
		assert.equal(names(await applied(client, web, spec(["a", "c"]), "one")), "xadc")
		assert.equal(names(await applied(client, web, spec(["d"]), "two")), "adc")
		expectConflict(await apply(client, web, deployment("web", { replicas: 1, strategy: { type: "Recreate" }, selector: { matchLabels: { app: "other" } } }), "three"),
			'Apply failed with 2 conflicts: conflicts with "one":\n- .spec.selector\nconflicts with "two":\n- .spec.selector',
			[".spec.selector", 'conflict with "one"'], [".spec.selector", 'conflict with "two"'])
	})

	await test("sets are merged by value", async () => {
		const held = (...finalizers) => configMap("held", { a: "1" }, { finalizers })
		await applied(client, `${configMaps}/held`, held("example.com/b", "example.com/a"), "one", {}, 201)
		const joined = await applied(client, `${configMaps}/held`, held("example.com/c", "example.com/a"), "two")
		assert.deepEqual([...joined.metadata.finalizers].sort(), ["example.com/a", "example.com/b", "example.com/c"])
		const left = await applied(client, `${configMaps}/held`, held(), "one")
		assert.deepEqual(left.metadata.finalizers, ["example.com/c", "example.com/a"])
		assert.deepEqual(managers(left)["two Apply v1"]["f:metadata"], { "f:finalizers": { 'v:"example.com/a"': {}, 'v:"example.com/c"': {} } })
	})
}

async function migration(client) {
	const { configMaps } = paths(await newNamespace(client))
	const annotation = "kubectl.kubernetes.io/last-applied-configuration"
	const withLast = (object) => ({ ...object, metadata: { ...object.metadata, annotations: { [annotation]: JSON.stringify(object) } } })

	await test("kubectl takes over from its client-side apply, others do not", async () => {
		expect(await client.post(`${configMaps}?fieldManager=kubectl-client-side-apply`, withLast(configMap("csa", { a: "1", b: "2" }))), 201)
		expectConflict(await apply(client, `${configMaps}/csa`, configMap("csa", { a: "2" }), "other"),
			'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .data.a',
			[".data.a", 'conflict with "kubectl-client-side-apply" using v1'])
		const taken = await applied(client, `${configMaps}/csa`, configMap("csa", { a: "2" }), "kubectl")
		assert.deepEqual(managers(taken), {
			"kubectl Apply v1": data("a"),
			"kubectl-client-side-apply Update v1": { "f:data": { ".": {}, "f:b": {} }, "f:metadata": { "f:annotations": { ".": {}, [`f:${annotation}`]: {} } } },
		})
		assert.deepEqual(JSON.parse(taken.metadata.annotations[annotation]).data, { a: "2" })
	})

	await test("an object that nobody manages was changed before its first apply", async () => {
		expect(await client.post(configMaps, configMap("old", { a: "1", b: "1" })), 201)
		const reset = expect(await client.patch(`${configMaps}/old`, [{ op: "replace", path: "/metadata/managedFields", value: [{}] }], "patch"), 200)
		assert.equal(reset.metadata.managedFields, undefined)
		expectConflict(await apply(client, `${configMaps}/old`, configMap("old", { a: "2" })),
			'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.a',
			[".data.a", 'conflict with "before-first-apply" using v1'])
		const taken = await applied(client, `${configMaps}/old`, configMap("old", { a: "2" }), "one", { force: true })
		assert.deepEqual(managers(taken), { "one Apply v1": data("a"), "before-first-apply Update v1": { "f:data": { ".": {}, "f:b": {} } } })
	})

	await test("of more than ten managers that update, the oldest are folded into one", async () => {
		for (let i = 0; i < 12; i++)
			expect(await client.patch(`${configMaps}/old?fieldManager=m${i}`, { data: { [`k${i}`]: "1" } }, "merge"), 200)
		const entries = expect(await client.get(`${configMaps}/old`), 200).metadata.managedFields
		const updates = entries.filter(({ operation }) => operation === "Update")
		assert.equal(updates.length, 10)
		assert.ok(updates.some(({ manager }) => manager === "ancient-changes"))
		assert.ok(entries.some(({ manager, operation }) => manager === "one" && operation === "Apply"))
	})
}

async function parameters(client) {
	const { configMaps } = paths(await newNamespace(client))
	const box = `${configMaps}/box`, object = configMap("box")
	const options = 'PatchOptions.meta.k8s.io "" is invalid: '
	const invalid = (answer, reason, field, message) => expectRefusal(answer, 422, "Invalid", `${options}${field}: ${message}`, [[reason, field, message]])
	await applied(client, box, object, "one", {}, 201)

	await test("apply needs a manager, of printable characters and not too many", async () => {
		invalid(await apply(client, box, object, null), "FieldValueRequired", "fieldManager", "Required value: is required for apply patch")
		invalid(await apply(client, box, object, ""), "FieldValueRequired", "fieldManager", "Required value: is required for apply patch")
		invalid(await apply(client, `${configMaps}/none`, configMap("none"), null), "FieldValueRequired", "fieldManager", "Required value: is required for apply patch")
		invalid(await apply(client, box, object, "x".repeat(129)), "FieldValueTooLong", "fieldManager", "Too long: may not be more than 128 bytes")
		invalid(await apply(client, box, object, "a\x01b"), "FieldValueInvalid", "fieldManager", 'Invalid value: "a\\x01b": invalid character U+0001 (at position 1)')
		await applied(client, box, object, "x".repeat(128), { dryRun: "All" })
	})

	await test("force is for apply alone", async () => {
		for (const type of ["merge", "strategic"])
			for (const force of [true, false])
				invalid(await client.patch(`${box}?force=${force}`, { data: { q: "1" } }, type), "FieldValueForbidden", "force", "Forbidden: may not be specified for non-apply patch")
		invalid(await client.patch(`${box}?force=true`, [], "patch"), "FieldValueForbidden", "force", "Forbidden: may not be specified for non-apply patch")
	})

	await test("a dry run tells what would be, and leaves what is", async () => {
		const fresh = await applied(client, `${configMaps}/dry`, configMap("dry"), "one", { dryRun: "All" }, 201)
		assert.equal(fresh.metadata.resourceVersion, undefined)
		assert.deepEqual(managers(fresh), { "one Apply v1": data("a") })
		expectStatus(await client.get(`${configMaps}/dry`), 404, "NotFound")
		const before = expect(await client.get(box), 200)
		const shown = await applied(client, box, configMap("box", { n: "1" }), "one", { dryRun: "All" })
		assert.deepEqual(shown.data, { n: "1" })
		expectConflict(await apply(client, box, configMap("box", { a: "2" }), "two", { dryRun: "All" }),
			'Apply failed with 1 conflict: conflict with "one": .data.a', [".data.a", 'conflict with "one"'])
		assert.deepEqual(expect(await client.get(box), 200), before)
		invalid(await apply(client, box, object, "one", { dryRun: "Some" }), "FieldValueNotSupported", "dryRun", 'Unsupported value: ["Some"]: supported values: "All"')
	})

	await test("names that come twice are refused, warned of or ignored", async () => {
		const text = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"box"},"data":{"q":"1","q":"2"}}'
		const lines = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: box}\ndata: {q: "1"}\ndata: {q: "2"}\n'
		for (const [body, name] of [[text, "q"], [lines, "data"]]) {
			const said = new RegExp(`^error strict decoding patch: (.|\n)*${name}\\b`)
			expectStatus(await apply(client, box, body, "twice", { fieldValidation: "Strict" }), 400, "BadRequest", said)
			const warned = await apply(client, box, body, "twice", { fieldValidation: "Warn" })
			assert.equal(expect(warned, 200).data.q, "2")
			assert.match(warned.headers.warning, new RegExp(`^299 - ".*${name}\\b`))
			const ignored = await apply(client, box, body, "twice", { fieldValidation: "Ignore" })
			assert.equal(expect(ignored, 200).data.q, "2")
			assert.equal(ignored.headers.warning, undefined)
		}
		invalid(await apply(client, box, object, "one", { fieldValidation: "Foo" }), "FieldValueNotSupported", "fieldValidation",
			'Unsupported value: "Foo": supported values: "", "Ignore", "Strict", "Warn"')
	})
}

async function bodies(client) {
	const ns = await newNamespace(client)
	const { configMaps, pods } = paths(ns)
	const box = `${configMaps}/box`
	await applied(client, box, configMap("box"), "one", {}, 201)
	const bad = async (body, message, path = box) => expectRefusal(await apply(client, path, body), 400, "BadRequest", message)

	await test("a body is YAML or JSON", async () => {
		const document = (n) => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: box\ndata:\n  # a comment\n  doc: "${n}"\n`
		assert.equal((await applied(client, box, document(1), "doc")).data.doc, "1")
		assert.equal((await applied(client, box, `---\n${document(2)}`, "doc")).data.doc, "2")
		const anchored = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: box}\ndata: {k: &v "1", m: *v}\n'
		assert.deepEqual((await applied(client, box, anchored, "doc")).data, { a: "1", k: "1", m: "1" })
	})

	await test("a body that is not an object is rejected", async () => {
		expectStatus(await apply(client, `${configMaps}/none`, "a: ["), 400, "BadRequest", /did not find expected node content/)
		for (const [body, type] of [["hello", "string"], ["[]", "array"], ["- a", "array"], ["3", "number"], ["1.5", "number"], ["true", "bool"]])
			await bad(body, `error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${type} into Go value of type map[string]interface {}`)
		for (const body of ["", "null", "{}"])
			await bad(body, "invalid object type: /, Kind=")
		await bad("", "invalid object type: /, Kind=", `${configMaps}/none`)
	})

	await test("kind and version are those of the path", async () => {
		const metadata = { name: "box" }
		await bad({ ...configMap("box"), kind: "Secret" }, "invalid object type: /v1, Kind=Secret")
		await bad({ ...configMap("none"), kind: "Secret" }, "invalid object type: /v1, Kind=Secret", `${configMaps}/none`)
		await bad({ ...configMap("box"), apiVersion: "v2" }, "invalid object type: /v2, Kind=ConfigMap")
		await bad({ ...configMap("box"), apiVersion: "apps/v1" }, "invalid object type: apps/v1, Kind=ConfigMap")
		await bad({ apiVersion: "v1", metadata }, "invalid object type: /v1, Kind=")
		await bad({ kind: "ConfigMap", metadata }, "invalid object type: /, Kind=ConfigMap")
	})

	await test("so are name and namespace", async () => {
		const undeterminable = "the name of the object (none based on URL) was undeterminable: name must be provided"
		const nameless = { apiVersion: "v1", kind: "ConfigMap", data: { n: "1" } }
		assert.equal((await applied(client, box, nameless, "doc")).metadata.name, "box")
		await bad(nameless, undeterminable, `${configMaps}/none`)
		await bad({ ...nameless, metadata: { generateName: "none" } }, undeterminable, `${configMaps}/none`)
		await bad(configMap("two", {}), "the name of the object (two) does not match the name on the URL (box)")
		await bad(configMap("two"), "the name of the object (two) does not match the name on the URL (none)", `${configMaps}/none`)
		for (const name of ["box", "none"])
			await bad(configMap(name, {}, { namespace: "default" }),
				"the namespace of the provided object does not match the namespace sent on the request", `${configMaps}/${name}`)
		const { metadata } = await applied(client, `${configMaps}/both`, configMap("both", {}, { generateName: "b" }), "one", {}, 201)
		assert.deepEqual([metadata.name, metadata.generateName], ["both", "b"])
		expectStatus(await apply(client, `${configMaps}/Bad_Name`, configMap("Bad_Name")), 422, "Invalid", /metadata\.name: Invalid value: "Bad_Name"/)
		expectRefusal(await apply(client, `${core}/namespaces/nowhere/configmaps/x`, configMap("x")), 404, "NotFound", 'namespaces "nowhere" not found')
	})

	await test("uid and resourceVersion are preconditions", async () => {
		const { uid, resourceVersion } = expect(await client.get(box), 200).metadata
		const wrong = "11111111-1111-1111-1111-111111111111"
		await applied(client, box, configMap("box", { u: "1" }, { uid, resourceVersion }), "pre")
		expectRefusal(await apply(client, box, configMap("box", { u: "2" }, { resourceVersion }), "pre"), 409, "Conflict",
			'Operation cannot be fulfilled on configmaps "box": the object has been modified; please apply your changes to the latest version and try again')
		// A conflict of managers comes first.
		expectConflict(await apply(client, box, configMap("box", { a: "2" }, { resourceVersion }), "pre"),
			'Apply failed with 1 conflict: conflict with "one": .data.a', [".data.a", 'conflict with "one"'])
		expectStatus(await apply(client, box, configMap("box", {}, { uid: wrong }), "pre"), 422, "Invalid", /metadata\.uid: Invalid value: "1+-[-1]+": field is immutable/)
		expectRefusal(await apply(client, `${configMaps}/uid`, configMap("uid", {}, { uid: wrong })), 409, "Conflict",
			`Operation cannot be fulfilled on configmaps "uid": uid mismatch: the provided object specified uid ${wrong}, and no existing object was found`)
		await applied(client, `${configMaps}/rv`, configMap("rv", {}, { resourceVersion: "1" }), "one", {}, 201)
		const entry = managers(expect(await client.get(box), 200))["pre Apply v1"]
		assert.deepEqual(entry, data("u"))
	})

	await test("managedFields are not for who applies", async () => {
		const { managedFields } = expect(await client.get(box), 200).metadata
		for (const value of [managedFields, []])
			await bad(configMap("box", {}, { managedFields: value }), "metadata.managedFields must be nil")
		await bad(configMap("none", {}, { managedFields }), "metadata.managedFields must be nil", `${configMaps}/none`)
		await applied(client, box, configMap("box", {}, { managedFields: null }), "doc")
	})

	await test("unknown fields are rejected", async () => {
		const typed = async (path, body, message) => expectRefusal(await apply(client, path, body), 500, undefined, `failed to create typed patch object (${message}`)
		for (const fieldValidation of ["Strict", "Warn", "Ignore"])
			expectRefusal(await apply(client, box, { ...configMap("box", {}), colour: "red" }, "one", { fieldValidation }), 500, undefined,
				"failed to create typed patch object (/box; /v1, Kind=ConfigMap): .colour: field not declared in schema")
		await typed(box, configMap("box", { a: 1 }), "/box; /v1, Kind=ConfigMap): .data.a: expected string, got &value.valueUnstructured{Value:1}")
		const spec = (value, metadata = { namespace: ns }) => ({ ...pod("p", metadata), spec: value })
		await typed(`${pods}/p`, spec({ containers: [{ name: "a", image: "i", foo: 1 }] }), `${ns}/p; /v1, Kind=Pod): .spec.containers[name="a"].foo: field not declared in schema`)
		await typed(`${pods}/p`, spec({ containers: "x" }, {}), "/p; /v1, Kind=Pod): .spec.containers: expected list, got &{x}")
		await typed(`${pods}/p`, spec({ containers: [{ name: "a" }, { name: "a" }] }, {}), '/p; /v1, Kind=Pod): .spec.containers: duplicate entries for key [name="a"]')
		expectStatus(await apply(client, `${pods}/p`, spec({ containers: [{ image: "i" }] })), 422, "Invalid", /spec\.containers\[0\]\.name: Required value/)
	})

	await test("an object that its managers make too large is refused, and nothing is lost", async () => {
		const path = `${configMaps}/large`
		// 2500 names of 250 bytes: 0.6 MiB of them, and as much again for each who owns them, of 1.5 MiB.
		const names = Array.from({ length: 2500 }, (_, i) => `${i}`.padStart(250, "k"))
		const large = (list) => configMap("large", Object.fromEntries(list.map((name) => [name, ""])))
		await applied(client, path, large(names), "one", {}, 201)
		const before = expect(await client.get(path), 200)
		for (const force of [false, true])
			expectStatus(await apply(client, path, large(names), "two", { force }), 413, "RequestEntityTooLarge")
		assert.deepEqual(expect(await client.get(path), 200), before)
		const joined = await applied(client, path, large(names.slice(0, 10)), "two")
		assert.deepEqual(Object.keys(managers(joined)).sort(), ["one Apply v1", "two Apply v1"])
		const less = await applied(client, path, large(names.slice(10)), "one")
		assert.deepEqual(less.data, before.data)
	})

	await test("a body above 3 MiB is refused", async () => {
		const body = configMap("huge", { a: "x".repeat(3.1 * 1024 * 1024) })
		expectStatus(await apply(client, `${configMaps}/huge`, body), 413, "RequestEntityTooLarge", /limit is 3145728/)
		expectStatus(await apply(client, box, { ...body, metadata: { name: "box" } }), 413, "RequestEntityTooLarge")
		expectStatus(await client.get(`${configMaps}/huge`), 404, "NotFound")
	})

	await test("apply is a patch of one object, by its own media type", async () => {
		expectStatus(await apply(client, configMaps, configMap("x")), 405, "MethodNotAllowed")
		expectStatus(await client.post(`${configMaps}?fieldManager=a`, configMap("x"), { type: "application/apply-patch+yaml" }), 415, "UnsupportedMediaType")
		expectStatus(await client.put(`${box}?fieldManager=a`, configMap("x"), { type: "application/apply-patch+yaml" }), 415, "UnsupportedMediaType")
		for (const type of ["application/apply-patch+cbor", "application/apply-patch+json", "application/json"])
			expectStatus(await client.patch(`${box}?fieldManager=a`, configMap("box"), type), 415, "UnsupportedMediaType")
	})
}

async function subresources(client) {
	const ns = await newNamespace(client)
	const { pods, claims } = paths(ns)
	const web = `${deployments(ns)}/web`
	const scale = (replicas, name = "web") => ({ apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name }, spec: { replicas } })
	const status = (name, value, metadata) => ({ apiVersion: "v1", kind: "Pod", metadata: { name, ...metadata }, status: value })

	await test("a status is not made by apply", async () => {
		expectRefusal(await apply(client, `${pods}/none/status`, status("none", { phase: "Running" })), 404, "NotFound", 'pods "none" not found')
		const claim = { apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", metadata: { name: "none" }, status: {} }
		expectRefusal(await apply(client, `${claims}/none/status`, claim), 404, "NotFound", 'resourceclaims.resource.k8s.io "none" not found')
		expectRefusal(await apply(client, `${deployments(ns)}/none/scale`, scale(1, "none")), 404, "NotFound", 'deployments.apps "none" not found')
	})

	await test("a status is applied beside the rest, under its own entry", async () => {
		await applied(client, `${pods}/p`, pod("p"), "one", {}, 201)
		const ready = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] }
		const body = { ...status("p", ready, { labels: { x: "1" } }), spec: { nodeName: "other" } }
		const after = await applied(client, `${pods}/p/status`, body, "one")
		assert.equal(after.status.phase, "Running")
		assert.equal(after.spec.nodeName, undefined)
		assert.deepEqual(managers(after)["one Apply v1 status"]["f:status"],
			{ "f:conditions": { 'k:{"type":"Ready"}': { ".": {}, "f:status": {}, "f:type": {} } }, "f:phase": {} })
		assert.deepEqual(Object.keys(managers(after)), ["one Apply v1", "one Apply v1 status"])
		const main = await applied(client, `${pods}/p`, { ...pod("p"), status: { phase: "Failed" } }, "one")
		assert.equal(main.status.phase, "Running")
		assert.equal(managers(main)["one Apply v1"]["f:status"], undefined)
		expectConflict(await apply(client, `${pods}/p/status`, status("p", { phase: "Failed" }), "two"),
			'Apply failed with 1 conflict: conflict with "one" with subresource "status": .status.phase', [".status.phase", 'conflict with "one" with subresource "status"'])
	})

	await test("two managers apply their own conditions", async () => {
		const condition = (type) => status("p", { conditions: [{ type, status: "True" }] })
		await applied(client, `${pods}/p/status`, condition("a.example.com/x"), "a")
		const both = await applied(client, `${pods}/p/status`, condition("b.example.com/y"), "b")
		assert.deepEqual(both.status.conditions.map(({ type }) => type), ["Ready", "a.example.com/x", "b.example.com/y"])
		const one = await applied(client, `${pods}/p/status`, status("p", {}), "a")
		assert.deepEqual(one.status.conditions.map(({ type }) => type), ["Ready", "b.example.com/y"])
	})

	await test("a scale is applied to its owner's count", async () => {
		await applied(client, web, deployment("web", { replicas: 2 }), "owner", {}, 201)
		expectConflict(await apply(client, `${web}/scale`, scale(5), "hpa"), 'Apply failed with 1 conflict: conflict with "owner": .spec.replicas',
			[".spec.replicas", 'conflict with "owner"'])
		const scaled = await applied(client, `${web}/scale`, scale(5), "hpa", { force: true })
		assert.deepEqual([scaled.kind, scaled.spec, scaled.metadata.managedFields], ["Scale", { replicas: 5 }, undefined])
		const after = expect(await client.get(web), 200)
		assert.equal(after.spec.replicas, 5)
		assert.deepEqual(managers(after)["hpa Apply apps/v1 scale"], { "f:spec": { "f:replicas": {} } })
		assert.equal(managers(after)["owner Apply apps/v1"]["f:spec"]["f:replicas"], undefined)
		assert.equal((await applied(client, `${web}/scale`, scale(5), "hpa")).metadata.resourceVersion, after.metadata.resourceVersion)
		assert.equal((await applied(client, web, deployment("web"), "owner")).spec.replicas, 5)
		expectConflict(await apply(client, web, deployment("web", { replicas: 3 }), "owner"),
			'Apply failed with 1 conflict: conflict with "hpa" with subresource "scale": .spec.replicas',
			[".spec.replicas", 'conflict with "hpa" with subresource "scale"'])
		expectRefusal(await apply(client, `${web}/scale`, scale(5, "other"), "hpa"), 400, "BadRequest", "the name of the object (other) does not match the name on the URL (web)")
		expectRefusal(await apply(client, `${web}/scale`, deployment("web", { replicas: 5 }), "hpa"), 400, "BadRequest", "invalid object type: apps/v1, Kind=Deployment")
	})

	await test("subresources that are not patched are not applied", async () => {
		expectStatus(await apply(client, `${pods}/p/eviction`, { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" } }), 405, "MethodNotAllowed")
		expectStatus(await apply(client, `${pods}/p/binding`, { apiVersion: "v1", kind: "Binding", metadata: { name: "p" } }), 405, "MethodNotAllowed")
		expectStatus(await apply(client, `${paths(ns).configMaps}/box/status`, configMap("box")), 404, "NotFound")
	})
}

async function ends(client) {
	const { configMaps } = paths(await newNamespace(client))
	const path = `${configMaps}/held`
	const held = (value, ...finalizers) => configMap("held", { a: value }, { finalizers })

	await test("an object that is being deleted can be applied, and released", async () => {
		await applied(client, path, held("1", "example.com/x"), "one", {}, 201)
		expect(await client.delete(path), 200)
		const changed = await applied(client, path, held("2", "example.com/x"))
		assert.ok(changed.metadata.deletionTimestamp)
		assert.equal(changed.data.a, "2")
		expectStatus(await apply(client, path, held("2", "example.com/x", "example.com/y")), 422, "Invalid", /metadata\.finalizers: Forbidden: no new finalizers can be added/)
		await applied(client, path, configMap("held", { a: "2" }))
		expectStatus(await client.get(path), 404, "NotFound")
		const { metadata } = await applied(client, path, configMap("held", { a: "3" }), "one", {}, 201)
		assert.notEqual(metadata.uid, changed.metadata.uid)
	})
}

async function rights(client) {
	const ns = await newNamespace(client)
	const { configMaps } = paths(ns)
	const group = "rbac.authorization.k8s.io", rbac = `/apis/${group}/v1/namespaces/${ns}`
	const grant = async (name, verbs) => {
		const object = (kind, more) => ({ apiVersion: `${group}/v1`, kind, metadata: { name }, ...more })
		expect(await client.post(`${rbac}/roles`, object("Role", { rules: [{ apiGroups: [""], resources: ["configmaps"], verbs }] })), 201)
		expect(await client.post(`${rbac}/rolebindings`, object("RoleBinding", {
			roleRef: { apiGroup: group, kind: "Role", name }, subjects: [{ kind: "User", name, apiGroup: group }],
		})), 201)
		const headers = { "impersonate-user": name }
		const spec = { resourceAttributes: { namespace: ns, verb: verbs[0], resource: "configmaps" } }
		const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec }
		await until("the right", async () => (await client.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review, { headers })).body.status.allowed)
		return { headers }
	}

	await test("to apply is to patch, and to create what is not there", async () => {
		await applied(client, `${configMaps}/there`, configMap("there"), "admin", {}, 201)
		const patcher = await grant("patcher", ["patch"]), both = await grant("both", ["patch", "create"]), creator = await grant("creator", ["create", "update"])
		const cannot = (who, verb) => `User "${who}" cannot ${verb} resource "configmaps" in API group "" in the namespace "${ns}"`
		const refuse = async (name, who, verb, options) => expectRefusal(await apply(client, `${configMaps}/${name}`, configMap(name), "one", {}, options), 403, "Forbidden",
			`configmaps "${name}" is forbidden: ${cannot(who, verb)}`)
		await refuse("a", "patcher", "create", patcher)
		await refuse("a", "creator", "patch", creator)
		await refuse("there", "creator", "patch", creator)
		expect(await apply(client, `${configMaps}/there`, configMap("there"), "one", {}, patcher), 200)
		expect(await apply(client, `${configMaps}/a`, configMap("a"), "one", {}, both), 201)
	})
}

const server = await startServer(backends[0])
for (const part of [ownership, migration, parameters, bodies, subresources, ends, rights])
	await part(server.client)
await test("the server ends in order", () => server.stop())
finish()
