// Admission webhooks: who is asked, what is sent, what answers do.
import assert from "node:assert/strict"
import { configMap, core, expect, expectStatus, newNamespace, paths, pod, startServer, unique } from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { applied } from "./ssa_lib.mjs"
import { configure, makeCertificate, mutating, startHooks, validating, withWebhooks } from "./webhook_lib.mjs"

const hooks = await startHooks({ certificate: makeCertificate("hook.default.svc") })

hooks.answer("/deny", () => ({ allowed: false, status: { message: "not today", reason: "Teapot", code: 418 } }))
hooks.answer("/silent", () => ({ allowed: false }))
hooks.answer("/allow", () => ({ allowed: true }))
hooks.answer("/warn", () => ({ warnings: ["mind the gap"] }))
hooks.answer("/never", () => undefined)
hooks.answer("/broken", (_, response) => {
	response.statusCode = 500
	response.end("it broke")
})
hooks.answer("/label", ({ object }) => ({
	patch: [object.metadata.labels ? { op: "add", path: "/metadata/labels/hooked", value: "yes" }
		: { op: "add", path: "/metadata/labels", value: { hooked: "yes" } }],
}))

async function refusing(server) {
	const { client } = server, { configMaps } = paths(await newNamespace(client))

	await test("a refusal is told with the webhook's own status", async () => {
		await withWebhooks(client, validating, [hooks.webhook("deny.example.com", "/deny")], async () => {
			const status = expectStatus(await client.post(configMaps, configMap("refused")), 418, "Teapot",
				/^admission webhook "deny.example.com" denied the request: not today$/)
			assert.equal(status.details, undefined)
			expectStatus(await client.get(`${configMaps}/refused`), 404, "NotFound")
		})
		expect(await client.post(configMaps, configMap("refused")), 201)
	})

	await test("a refusal without a word is a bad request without explanation", async () => {
		await withWebhooks(client, validating, [hooks.webhook("silent.example.com", "/silent")], async () => {
			const answer = await client.post(configMaps, configMap("silent"))
			assert.equal(expect(answer, 400).message, 'admission webhook "silent.example.com" denied the request without explanation')
		})
	})

	await test("the review says who does what to what", async () => {
		const before = hooks.asked("/allow").length
		await withWebhooks(client, validating, [hooks.webhook("allow.example.com", "/allow")], async () => {
			expect(await client.post(`${configMaps}?fieldManager=me`, configMap("seen")), 201)
			expect(await client.patch(`${configMaps}/seen`, { data: { a: "2" } }, "merge"), 200)
		})
		const [created, updated] = hooks.asked("/allow").slice(before)
		assert.equal(created.review.apiVersion, "admission.k8s.io/v1")
		assert.equal(created.url.searchParams.get("timeout"), "10s")
		assert.deepEqual(created.kind, { group: "", version: "v1", kind: "ConfigMap" })
		assert.deepEqual(created.requestResource, { group: "", version: "v1", resource: "configmaps" })
		assert.deepEqual([created.operation, created.name, created.dryRun, created.oldObject], ["CREATE", "seen", false, null])
		assert.deepEqual(created.options, { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1", fieldManager: "me" })
		assert.ok(created.userInfo.groups.includes("system:masters"))
		assert.equal(created.object.kind, "ConfigMap")
		assert.ok(created.object.metadata.uid)
		assert.deepEqual([updated.operation, updated.object.data, updated.oldObject.data], ["UPDATE", { a: "2" }, { a: "1" }])
		assert.equal(updated.options.kind, "UpdateOptions")
	})

	await test("deletions are seen, one by one and as a collection", async () => {
		const rules = [{ operations: ["DELETE"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] }]
		hooks.answer("/keep", ({ oldObject, object }) => ({
			allowed: !object && oldObject.metadata.name !== "kept", status: { message: "it stays", code: 403, reason: "Forbidden" },
		}))
		for (const name of ["kept", "one", "two"])
			expect(await client.post(configMaps, configMap(name, {}, { labels: { of: "deletions" } })), 201)
		for (const kind of [mutating, validating])
			await withWebhooks(client, kind, [hooks.webhook("keep.example.com", "/keep", { rules })], async () => {
				expectStatus(await client.delete(`${configMaps}/kept`), 403, "Forbidden", /it stays/)
				expectStatus(await client.delete(`${configMaps}?labelSelector=of%3Ddeletions`), 403, "Forbidden", /it stays/)
			})
		expect(await client.get(`${configMaps}/kept`), 200)
		assert.equal(hooks.asked("/keep")[0].options.kind, "DeleteOptions")
	})

	await test("connections are kept for the next question", async () => {
		let connections = 0
		const count = () => connections++
		hooks.server.on("secureConnection", count)
		await withWebhooks(client, validating, [hooks.webhook("allow.example.com", "/allow")], async () => {
			for (let i = 0; i < 5; i++)
				expect(await client.post(configMaps, configMap(unique("kept"))), 201)
			const [first] = hooks.asked("/allow").slice(-5)
			assert.equal(first.headers.authorization, undefined)
			// A webhook may close its connections between two calls.
			hooks.server.closeAllConnections()
			expect(await client.post(configMaps, configMap(unique("kept"))), 201)
		})
		hooks.server.off("secureConnection", count)
		assert.equal(connections, 2)
	})

	await test("warnings come along with the answer", async () => {
		await withWebhooks(client, validating, [hooks.webhook("warn.example.com", "/warn")], async () => {
			const answer = await client.post(configMaps, configMap("warned"))
			expect(answer, 201)
			assert.equal(answer.headers.warning, '299 - "mind the gap"')
		})
	})

	await test("bindings and evictions are seen as themselves", async () => {
		const { pods } = paths(await newNamespace(client)), ns = pods.split("/")[4]
		const rules = [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods/binding", "pods/eviction"] }]
		expect(await client.post(pods, { ...pod("bound"), spec: { ...pod("bound").spec, automountServiceAccountToken: false } }), 201)
		await withWebhooks(client, validating, [hooks.webhook("sub.example.com", "/sub", { rules })], async () => {
			hooks.answer("/sub", ({ object }) => ({ allowed: object.kind !== "Binding", status: { message: `no ${object.target?.name}` } }))
			const binding = { apiVersion: "v1", kind: "Binding", metadata: { name: "bound" }, target: { kind: "Node", name: "n1" } }
			assert.match(expect(await client.post(`${pods}/bound/binding`, binding), 400).message, /denied the request: no n1$/)
			const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "bound", namespace: ns } }
			expect(await client.post(`${pods}/bound/eviction`, eviction), 201)
			const [first, second] = hooks.asked("/sub")
			assert.deepEqual([first.kind.kind, first.subResource, second.kind.kind, second.subResource], ["Binding", "binding", "Eviction", "eviction"])
		})
	})
}

async function mutatingWebhooks(server) {
	const { client } = server, ns = await newNamespace(client), { configMaps } = paths(ns)
	const leases = `/apis/coordination.k8s.io/v1/namespaces/${ns}/leases`

	await test("a patch changes what is stored, and defaults follow", async () => {
		const { pods } = paths(await newNamespace(client))
		const rules = [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }]
		hooks.answer("/sidecar", () => ({ patch: [{ op: "add", path: "/spec/containers/-", value: { name: "side", image: "example.com/side:latest", bogus: 1 } }] }))
		await withWebhooks(client, mutating, [hooks.webhook("sidecar.example.com", "/sidecar", { rules })], async () => {
			const made = expect(await client.post(pods, { ...pod("main"), spec: { ...pod("main").spec, automountServiceAccountToken: false } }), 201)
			const side = made.spec.containers[1]
			assert.deepEqual([side.name, side.imagePullPolicy, side.terminationMessagePath, side.bogus], ["side", "Always", "/dev/termination-log", undefined])
			assert.equal(hooks.asked("/sidecar")[0].object.metadata.uid, undefined)
			assert.ok(made.metadata.uid)
		})
	})

	await test("webhooks see what those before them changed, in the order of names", async () => {
		hooks.answer("/append", ({ object }) => ({ patch: [{ op: "add", path: "/data/order", value: `${object.data.order ?? ""}1` }] }))
		hooks.answer("/append2", ({ object }) => ({ patch: [{ op: "add", path: "/data/order", value: `${object.data.order ?? ""}2` }] }))
		await withWebhooks(client, mutating, [hooks.webhook("b.example.com", "/append"), hooks.webhook("a.example.com", "/append2")], async () => {
			assert.equal(expect(await client.post(configMaps, configMap("ordered")), 201).data.order, "12")
			const patched = await client.patch(`${configMaps}/ordered`, { data: { b: "1" } }, "merge")
			assert.equal(expect(patched, 200).data.order, "1212")
		})
	})

	await test("a webhook with reinvocation is called again when a later one changed the object", async () => {
		hooks.answer("/first", ({ object }) => ({ patch: object.data.second ? [{ op: "add", path: "/data/saw", value: "it" }] : undefined }))
		hooks.answer("/second", ({ object }) => ({ patch: object.data.second ? undefined : [{ op: "add", path: "/data/second", value: "x" }] }))
		const both = (reinvocationPolicy) => [hooks.webhook("first.example.com", "/first", { reinvocationPolicy }), hooks.webhook("second.example.com", "/second")]
		await withWebhooks(client, mutating, both("Never"), async () =>
			assert.deepEqual(expect(await client.post(configMaps, configMap("never")), 201).data, { a: "1", second: "x" }))
		const before = hooks.asked("/first").length
		await withWebhooks(client, mutating, both("IfNeeded"), async () =>
			assert.deepEqual(expect(await client.post(configMaps, configMap("again")), 201).data, { a: "1", second: "x", saw: "it" }))
		assert.equal(hooks.asked("/first").length - before, 2)
	})

	await test("names that are made up stay what they were while webhooks are asked", async () => {
		const before = hooks.asked("/label").length
		await withWebhooks(client, mutating, [hooks.webhook("label.example.com", "/label")], async () => {
			const made = expect(await client.post(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "made-" } }), 201)
			assert.match(made.metadata.name, /^made-.{5}$/)
			assert.equal(made.metadata.labels.hooked, "yes")
		})
		assert.equal(hooks.asked("/label").length - before, 1)
		assert.equal(hooks.asked("/label").at(-1).name, undefined)
	})

	await test("a patch cannot rename what the request named, nor change what is the server's", async () => {
		const meta = { name: "other", namespace: "default", uid: "evil", resourceVersion: "77", selfLink: "/x" }
		hooks.answer("/rename", ({ operation }) => operation === "CREATE"
			? { patch: Object.entries(meta).map(([key, value]) => ({ op: "add", path: `/metadata/${key}`, value })) } : {})
		const rules = [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["configmaps", "leases"] }]
		await withWebhooks(client, mutating, [hooks.webhook("rename.example.com", "/rename", { rules })], async () => {
			const made = [
				await applied(client, `${configMaps}/applied`, configMap("applied"), "me", {}, 201),
				expect(await client.put(`${leases}/put`, { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "put" } }), 201),
				expect(await client.post(configMaps, configMap("posted")), 201),
			]
			assert.deepEqual(made.map((object) => object.metadata.name), ["applied", "put", "other"])
			for (const { metadata } of made) {
				assert.deepEqual([metadata.namespace, metadata.selfLink], [ns, undefined])
				assert.ok(metadata.uid !== "evil" && metadata.resourceVersion !== "77")
			}
		})
		for (const name of ["applied", "other"])
			assert.equal(expect(await client.get(`${configMaps}/${name}`), 200).metadata.name, name)
		expect(await client.delete(`${configMaps}/applied`), 200)
	})

	await test("a patch that does not apply names its webhook", async () => {
		const patches = [{ op: "remove", path: "/metadata" }, { op: "replace", path: "/metadata", value: "x" }, { op: "remove", path: "/nothing" }]
		for (const patch of patches) {
			hooks.answer("/unfit", () => ({ patch: [patch] }))
			await withWebhooks(client, mutating, [hooks.webhook("unfit.example.com", "/unfit")], async () =>
				expectStatus(await client.post(configMaps, configMap("unfit")), 500, "InternalError",
					/the patch of admission webhook "unfit.example.com" does not apply: ./))
		}
	})

	await test("a patch of a dry run changes what is shown", async () => {
		await withWebhooks(client, mutating, [hooks.webhook("label.example.com", "/label")], async () => {
			assert.equal(expect(await client.post(`${configMaps}?dryRun=All`, configMap("dry")), 201).metadata.labels.hooked, "yes")
			assert.equal(hooks.asked("/label").at(-1).dryRun, true)
			expect(await client.get(`${configMaps}/dry`), 404)
		})
	})

	await test("concurrent changes of an object are not lost", async () => {
		expect(await client.post(configMaps, configMap("busy", {})), 201)
		await withWebhooks(client, mutating, [hooks.webhook("label.example.com", "/label")], async () => {
			const keys = Array.from({ length: 6 }, (_, i) => `k${i}`)
			const answers = await Promise.all(keys.map((key) => client.patch(`${configMaps}/busy`, { data: { [key]: "1" } }, "merge")))
			const won = keys.filter((_, i) => answers[i].code === 200)
			assert.ok(answers.every(({ code }) => code === 200 || code === 409))
			assert.deepEqual(Object.keys(expect(await client.get(`${configMaps}/busy`), 200).data).sort(), won)
		})
	})
}

async function choosing(server) {
	const { client } = server, space = await newNamespace(client), { configMaps } = paths(space)
	const deny = (more) => [hooks.webhook("deny.example.com", "/deny", more)]

	await test("selectors of objects and namespaces choose", async () => {
		await withWebhooks(client, validating, deny({ objectSelector: { matchLabels: { guarded: "yes" } } }), async () => {
			expect(await client.post(configMaps, configMap("free")), 201)
			expect(await client.post(configMaps, configMap("guarded", {}, { labels: { guarded: "yes" } })), 418)
		})
		await withWebhooks(client, validating, deny({ namespaceSelector: { matchLabels: { guarded: "yes" } } }), async () => {
			expect(await client.post(configMaps, configMap("free-2")), 201)
			expect(await client.patch(`${core}/namespaces/${space}`, { metadata: { labels: { guarded: "yes" } } }, "merge"), 200)
			expect(await client.post(configMaps, configMap("guarded")), 418)
			expect(await client.patch(`${core}/namespaces/${space}`, { metadata: { labels: { guarded: null } } }, "merge"), 200)
		})
	})

	await test("conditions choose, and one that cannot be decided refuses", async () => {
		const when = (expression, more = {}) => deny({ matchConditions: [{ name: "when", expression }], ...more })
		await withWebhooks(client, validating, when('object.metadata.name.startsWith("a") && request.operation == "CREATE"'), async () => {
			expect(await client.post(configMaps, configMap("b")), 201)
			expect(await client.post(configMaps, configMap("a")), 418)
		})
		await withWebhooks(client, validating, when("object.data.missing == 'x'"), async () =>
			expectStatus(await client.post(configMaps, configMap("c")), 403, "Forbidden", /no such key: missing/))
		await withWebhooks(client, validating, when("object.data.missing == 'x'", { failurePolicy: "Ignore" }), async () =>
			expect(await client.post(configMaps, configMap("c")), 201))
	})

	await test("webhooks are not asked about configurations of webhooks", async () => {
		const rules = [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] }]
		await withWebhooks(client, validating, deny({ rules }), async () => {
			await withWebhooks(client, validating, deny({ rules }), async () => expect(await client.post(configMaps, configMap("all")), 418))
		})
	})

	await test("objects are sent in the version that a rule names", async () => {
		const slices = "/apis/resource.k8s.io/v1beta1/resourceslices"
		const rules = [{ operations: ["CREATE"], apiGroups: ["resource.k8s.io"], apiVersions: ["v1"], resources: ["resourceslices"] }]
		const slice = (name) => ({
			apiVersion: "resource.k8s.io/v1beta1", kind: "ResourceSlice", metadata: { name },
			spec: { driver: "d.example.com", nodeName: "n", pool: { name: "p", generation: 1, resourceSliceCount: 1 }, devices: [{ name: "a", basic: {} }] },
		})
		hooks.answer("/slice", ({ object }) => ({ patch: [{ op: "add", path: "/spec/devices/-", value: { name: `like-${object.spec.devices[0].name}` } }] }))
		await withWebhooks(client, mutating, [hooks.webhook("slice.example.com", "/slice", { rules })], async () => {
			const made = expect(await client.post(slices, slice("older")), 201)
			assert.deepEqual(made.spec.devices.map(({ name }) => name), ["a", "like-a"])
			const [asked] = hooks.asked("/slice")
			assert.deepEqual([asked.kind.version, asked.requestKind.version, asked.object.apiVersion], ["v1", "v1beta1", "resource.k8s.io/v1"])
		})
		const before = hooks.asked("/slice").length
		await withWebhooks(client, mutating, [hooks.webhook("slice.example.com", "/slice", { rules, matchPolicy: "Exact" })], async () =>
			expect(await client.post(slices, slice("exact")), 201))
		assert.equal(hooks.asked("/slice").length, before)
	})

	await test("custom resources are seen, and pruned after a patch", async () => {
		const group = "things.example.com"
		const schema = { type: "object", properties: { spec: { type: "object", properties: { size: { type: "integer" }, color: { type: "string", default: "red" } } } } }
		expect(await client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
			apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: `things.${group}` },
			spec: { group, scope: "Namespaced", names: { plural: "things", kind: "Thing" }, versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }] },
		}), 201)
		const rules = [{ operations: ["*"], apiGroups: [group], apiVersions: ["*"], resources: ["things"] }]
		hooks.answer("/thing", () => ({ patch: [{ op: "add", path: "/spec/size", value: 7 }, { op: "add", path: "/spec/bogus", value: 1 }] }))
		await withWebhooks(client, mutating, [hooks.webhook("thing.example.com", "/thing", { rules })], async () => {
			const path = `/apis/${group}/v1/namespaces/${space}/things`
			const made = expect(await client.post(path, { apiVersion: `${group}/v1`, kind: "Thing", metadata: { name: "t" }, spec: {} }), 201)
			assert.deepEqual(made.spec, { color: "red", size: 7 })
		})
	})
}

async function failing(server) {
	const { client } = server, { configMaps } = paths(await newNamespace(client))
	const failed = (why) => new RegExp(`^Internal error occurred: failed calling webhook "x.example.com": failed to call webhook: ${why}`)

	async function closedAndOpen(path, why, more = {}) {
		const x = (failurePolicy) => [hooks.webhook("x.example.com", path, { ...more, failurePolicy })]
		for (const kind of [mutating, validating]) {
			await withWebhooks(client, kind, x("Fail"), async () =>
				expectStatus(await client.post(configMaps, configMap(unique("failed"))), 500, "InternalError", failed(why)))
			await withWebhooks(client, kind, x("Ignore"), async () => expect(await client.post(configMaps, configMap(unique("open"))), 201))
		}
	}

	await test("a webhook that fails closes or opens, as its policy says", async () =>
		closedAndOpen("/broken", 'an error on the server \\("it broke"\\) has prevented the request from succeeding'))

	await test("a webhook that is not there, or is somebody else, fails", async () => {
		await closedAndOpen("/x", 'Post "https://127.0.0.1:1/x\\?timeout=10s": ', { clientConfig: { url: "https://127.0.0.1:1/x", caBundle: hooks.caBundle } })
		const other = makeCertificate().ca.toString("base64")
		await closedAndOpen("/x", "Post .*certificate", { clientConfig: { url: `https://127.0.0.1:${hooks.port}/x`, caBundle: other } })
	})

	await test("a webhook that does not answer in time fails, and delays no other request", async () => {
		await withWebhooks(client, validating, [hooks.webhook("x.example.com", "/never", { timeoutSeconds: 1, objectSelector: { matchLabels: { slow: "yes" } } })], async () => {
			let over = false
			const slow = client.post(configMaps, configMap("slow", {}, { labels: { slow: "yes" } })).finally(() => (over = true))
			await until("question", () => hooks.asked("/never").length)
			expect(await client.post(configMaps, configMap("quick")), 201)
			assert.equal(over, false)
			expectStatus(await slow, 500, "InternalError", failed('Post "https://127.0.0.1:\\d+/never\\?timeout=1s": context deadline exceeded'))
		})
	})

	await test("no webhook is waited for longer than the request may take", async () => {
		let closed = false
		hooks.answer("/late", (_, response) => void response.on("close", () => (closed = true)))
		await withWebhooks(client, validating, [hooks.webhook("late.example.com", "/late", { failurePolicy: "Ignore" })], async () => {
			expectStatus(await client.post(`${configMaps}?timeout=1s`, configMap("late")), 504, "Timeout")
			assert.equal(hooks.asked("/late")[0].url.searchParams.get("timeout"), "1s")
			await until("given up", () => closed)
		})
		expectStatus(await client.get(`${configMaps}/late`), 404, "NotFound")
	})

	await test("a service leads to its address", async () => {
		const service = `${core}/namespaces/default/services`
		const clientConfig = { service: { namespace: "default", name: "hook", path: "/deny", port: hooks.port }, caBundle: hooks.caBundle }
		await withWebhooks(client, validating, [hooks.webhook("x.example.com", "", { clientConfig })], async () => {
			expectStatus(await client.post(configMaps, configMap("s")), 500, "InternalError", failed('Post "https://hook.default.svc:\\d+/deny\\?timeout=10s": service "hook" not found'))
			expect(await client.post(service, { apiVersion: "v1", kind: "Service", metadata: { name: "hook" }, spec: { type: "ExternalName", externalName: "localhost" } }), 201)
			expect(await client.post(configMaps, configMap("s")), 418)
		})
	})

	await test("metrics count what webhooks did", async () => {
		const { text } = await client.get("/metrics")
		assert.match(text, /apiserver_admission_webhook_rejection_count\{name="deny.example.com",type="validating",operation="CREATE",error_type="no_error",rejection_code="418"\} \d+/)
		assert.match(text, /apiserver_admission_webhook_fail_open_count\{name="x.example.com",type="admit"\} \d+/)
		assert.match(text, /apiserver_admission_webhook_admission_duration_seconds_count\{name="label.example.com",type="admit",operation="CREATE",rejected="false"\} \d+/)
	})
}

// A server that goes away while a webhook is asked leaves nothing half done.
async function ending(server) {
	const { configMaps } = paths(await newNamespace(server.client))

	async function whileWaiting(name, end) {
		const before = hooks.asked("/never").length
		const lost = server.client.post(configMaps, configMap(name)).then(({ code }) => code, () => "cut")
		await until("question", () => hooks.asked("/never").length > before)
		await end()
		const answer = await lost
		await server.begin()
		expect(await server.client.get(`${configMaps}/${name}`), 404)
		return answer
	}

	await test("a server that ends while a webhook is asked has written nothing", async () => {
		const waiting = [hooks.webhook("never.example.com", "/never", { timeoutSeconds: 30, failurePolicy: "Ignore" })]
		await configure(server.client, validating, "waiting", waiting)
		assert.equal(await whileWaiting("killed", () => server.kill()), "cut")
		assert.ok([503, "cut"].includes(await whileWaiting("stopped", async () => {
			server.process.child.kill("SIGTERM")
			assert.deepEqual(await server.process.ended, { code: 0, signal: null })
		})))
	})
}

const server = await startServer("lmdb", { flags: ["--shutdown-grace", "200ms"] })
for (const part of [refusing, mutatingWebhooks, choosing, failing, ending])
	await part(server)
await server.stop()
hooks.close()
finish()
