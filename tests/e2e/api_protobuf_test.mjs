// Answers, lists and watches in Kubernetes' protobuf, read with protobufjs over our own descriptions; `devplane codec`.
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { gunzipSync } from "node:zlib"
import { backends, claim, configMap, core, dra, expect, expectStatus, newNamespace, paths, pod, slice, startServer, unique } from "./api_lib.mjs"
import { devplane, finish, test, until } from "./lib.mjs"
import { expectPacked, goAccept, media, pack, packRaw, PackedWatch, unpack } from "./proto_lib.mjs"

const partial = (kind, version = "v1") => `${media};as=${kind};g=meta.k8s.io;v=${version}`
const partialList = `${partial("PartialObjectMetadataList")},application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json`

// A client that sends and wants protobuf.
function packed(client) {
	const ask = (method, path, body, options) => client.request(method, path, { body, type: media, accept: goAccept, ...options })
	return {
		get: (path, options) => ask("GET", path, undefined, options),
		post: (path, body, options) => ask("POST", path, body, options),
		put: (path, body, options) => ask("PUT", path, body, options),
		delete: (path, body, options) => ask("DELETE", path, body, options),
	}
}

const bigPod = {
	metadata: { name: "big", labels: { app: "x" }, annotations: { note: "ä€" }, finalizers: ["example.com/hold"] },
	spec: {
		containers: [{
			name: "main", image: "example.com/app:1", args: ["-v", ""],
			ports: [{ name: "http", containerPort: 80 }], env: [{ name: "A", value: "1" }],
			resources: { limits: { cpu: { string: "1500m" }, memory: { string: "1Gi" } } },
			livenessProbe: { handler: { httpGet: { path: "/h", port: { type: 1, strVal: "http" } } }, periodSeconds: 5 },
		}],
		volumes: [
			{ name: "tmp", volumeSource: { emptyDir: { sizeLimit: { string: "1Mi" } } } },
			{ name: "map", volumeSource: { configMap: { localObjectReference: { name: "m" } } } },
		],
		tolerations: [{ key: "k", operator: "Exists", effect: "NoExecute", tolerationSeconds: 0 }],
		terminationGracePeriodSeconds: 0,
	},
}

async function objects(say, client) {
	const ns = await newNamespace(client)
	const { configMaps, pods, claims } = paths(ns)
	const api = packed(client)

	await test(say("a pod that came as protobuf is what its JSON says, and comes back as protobuf"), async () => {
		const made = expectPacked(await api.post(pods, pack("v1", "Pod", bigPod)), 201, "Pod")
		const json = expect(await client.get(`${pods}/big`), 200)
		assert.equal(json.metadata.annotations.note, "ä€")
		const [main] = json.spec.containers
		assert.deepEqual(main.args, ["-v", ""])
		assert.deepEqual(main.resources, { limits: { cpu: "1500m", memory: "1Gi" }, requests: { cpu: "1500m", memory: "1Gi" } })
		assert.equal(main.livenessProbe.httpGet.port, "http")
		assert.equal(main.livenessProbe.periodSeconds, 5)
		assert.deepEqual(json.spec.volumes[0], { name: "tmp", emptyDir: { sizeLimit: "1Mi" } })
		assert.equal(json.spec.volumes[1].configMap.name, "m")
		assert.equal(json.spec.tolerations.find(({ key }) => key === "k").tolerationSeconds, 0)
		assert.equal(json.spec.terminationGracePeriodSeconds, 0)

		const got = expectPacked(await api.get(`${pods}/big`), 200, "Pod")
		assert.deepEqual(got, made)
		assert.equal(got.metadata.uid, json.metadata.uid)
		assert.equal(got.metadata.resourceVersion, json.metadata.resourceVersion)
		assert.equal(got.metadata.creationTimestamp.seconds, Date.parse(json.metadata.creationTimestamp) / 1000)
		assert.deepEqual(got.spec.containers[0].resources.limits, bigPod.spec.containers[0].resources.limits)
		assert.deepEqual(got.spec.containers[0].livenessProbe.handler.httpGet.port, { type: 1, intVal: 0, strVal: "http" })
		assert.deepEqual(got.spec.volumes[0].volumeSource.emptyDir, { sizeLimit: { string: "1Mi" } })
		assert.equal(got.spec.volumes[1].volumeSource.configMap.localObjectReference.name, "m")
		assert.equal(got.spec.terminationGracePeriodSeconds, 0)
		assert.equal(got.status.phase, "Pending")
		const { managedFields: [entry] } = got.metadata
		assert.deepEqual(JSON.parse(entry.fieldsV1.raw), json.metadata.managedFields[0].fieldsV1)
	})

	await test(say("bytes, numbers or text, and times keep their values"), async () => {
		const data = { a: Buffer.from([0, 255, 10]), none: Buffer.alloc(0) }
		const secret = expectPacked(await api.post(`${core}/namespaces/${ns}/secrets`,
			pack("v1", "Secret", { metadata: { name: "s" }, data, stringData: { t: "text" } })), 201, "Secret")
		assert.deepEqual(secret.data, { ...data, t: Buffer.from("text") })
		assert.equal(secret.stringData, undefined)

		const service = expectPacked(await api.post(`${core}/namespaces/${ns}/services`, pack("v1", "Service", {
			metadata: { name: "svc" }, spec: {
				ports: [{ name: "a", port: 80, targetPort: { type: 0, intVal: 8080 } }, { name: "b", port: 81, targetPort: { type: 1, strVal: "web" } }],
				clusterIP: "None",
			},
		})), 201, "Service")
		assert.deepEqual(service.spec.ports.map(({ targetPort }) => targetPort),
			[{ type: 0, intVal: 8080, strVal: "" }, { type: 1, intVal: 0, strVal: "web" }])

		const renewTime = { seconds: 1700000000, nanos: 123456000 }
		const lease = expectPacked(await api.post(`/apis/coordination.k8s.io/v1/namespaces/${ns}/leases`,
			pack("coordination.k8s.io/v1", "Lease", { metadata: { name: "l" }, spec: { holderIdentity: "me", leaseDurationSeconds: 40, renewTime } })),
		201, "Lease")
		assert.deepEqual(lease.spec.renewTime, renewTime)
		assert.equal(expect(await client.get(`/apis/coordination.k8s.io/v1/namespaces/${ns}/leases/l`), 200).spec.renewTime,
			"2023-11-14T22:13:20.123456Z")
	})

	await test(say("claims and slices"), async () => {
		const parameters = { raw: Buffer.from('{"apiVersion":"x/v1","kind":"Y","deep":{"list":[1,2.5,null],"z":"ä"}}') }
		const made = expectPacked(await api.post(claims, pack("resource.k8s.io/v1", "ResourceClaim", {
			metadata: { name: "c" }, spec: {
				devices: {
					requests: [{ name: "r", exactly: { deviceClassName: "gpu.example.com", selectors: [{ cel: { expression: "true" } }] } }],
					config: [{ requests: ["r"], deviceConfiguration: { opaque: { driver: "gpu.example.com", parameters } } }],
				},
			},
		})), 201, "ResourceClaim")
		assert.deepEqual(JSON.parse(made.spec.devices.config[0].deviceConfiguration.opaque.parameters.raw), JSON.parse(parameters.raw))
		assert.equal(made.spec.devices.requests[0].exactly.allocationMode, "ExactCount")
		assert.equal(made.spec.devices.requests[0].exactly.count, 1)

		const name = unique("slice")
		expect(await client.post(`${dra}/resourceslices`, slice(name)), 201)
		const got = expectPacked(await api.get(`${dra}/resourceslices/${name}`), 200, "ResourceSlice")
		assert.deepEqual(got.spec.devices[0].attributes, { model: { string: "a" } })
		assert.deepEqual(got.spec.devices[0].capacity, { memory: { value: { string: "8Gi" } } })
		assert.deepEqual(got.spec.pool, { name: "node-1", generation: 1, resourceSliceCount: 1 })
	})

	await test(say("network data has one number under either name"), async () => {
		const allocation = { devices: { results: [{ request: "r", driver: "gpu.example.com", pool: "p", device: "d" }] } }
		const devices = [{ driver: "gpu.example.com", pool: "p", device: "d", networkData: { interfaceName: "eth1", addresses: ["10.0.0.1/24"], hwAddress: "aa:bb" } }]
		expect(await client.patch(`${claims}/c/status`, { status: { allocation, devices } }, "merge"), 200)
		const got = expectPacked(await api.get(`${claims}/c`), 200, "ResourceClaim")
		assert.deepEqual(got.status.devices[0].networkData, { interfaceName: "eth1", ips: ["10.0.0.1/24"], hardwareAddress: "aa:bb" })
	})

	await test(say("update, patch, dry run, status, binding and delete answer in protobuf"), async () => {
		const made = expectPacked(await api.post(configMaps, pack("v1", "ConfigMap", { metadata: { name: "m" }, data: { a: "1" } })), 201, "ConfigMap")
		const put = expectPacked(await api.put(`${configMaps}/m`, pack("v1", "ConfigMap", { ...made, data: { a: "2" } })), 200, "ConfigMap")
		assert.equal(put.data.a, "2")
		assert.ok(Number(put.metadata.resourceVersion) > Number(made.metadata.resourceVersion))
		const patched = expectPacked(await client.patch(`${configMaps}/m`, { data: { b: "3" } }, "merge", { accept: goAccept }), 200, "ConfigMap")
		assert.deepEqual(patched.data, { a: "2", b: "3" })
		const dry = expectPacked(await api.post(`${configMaps}?dryRun=All`, pack("v1", "ConfigMap", { metadata: { name: "n" } })), 201, "ConfigMap")
		assert.equal(dry.metadata.name, "n")
		expectPacked(await api.get(`${configMaps}/n`), 404, "Status")
		expect(await client.post(pods, pod("bound")), 201)
		const status = expectPacked(await api.post(`${pods}/bound/binding`,
			pack("v1", "Binding", { metadata: { name: "bound" }, target: { kind: "Node", name: "n1" } })), 201, "Status")
		assert.equal(status.status, "Success")
		const ready = expectPacked(await client.patch(`${pods}/bound/status`, {
			status: { allocatedResourcesStatus: undefined, message: "ready" },
		}, "merge", { accept: goAccept }), 200, "Pod")
		assert.equal(ready.spec.nodeName, "n1")
		assert.equal(ready.status.message, "ready")
		const gone = expectPacked(await api.delete(`${configMaps}/m`, pack("v1", "DeleteOptions", { preconditions: { uid: made.metadata.uid } })), 200, "Status")
		assert.equal(gone.status, "Success")
		assert.equal(gone.details.uid, made.metadata.uid)
		const kept = expectPacked(await api.delete(`${pods}/big`, pack("v1", "DeleteOptions", { gracePeriodSeconds: 0 })), 200, "Pod")
		assert.ok(kept.metadata.deletionTimestamp.seconds > 1.7e9)
	})

	await test(say("fields that nobody knows are skipped, as upstream does"), async () => {
		// ConfigMap{metadata{name "u", 100: "x"}, 99: 7}
		const raw = Buffer.from([0x0a, 0x07, 0x0a, 0x01, 0x75, 0xa2, 0x06, 0x01, 0x78, 0x98, 0x06, 0x07])
		assert.equal(expectPacked(await api.post(configMaps, packRaw("v1", "ConfigMap", raw)), 201, "ConfigMap").metadata.name, "u")
	})

	await test(say("every version"), async () => {
		for (const version of ["v1beta1", "v1beta2"]) {
			const path = claims.replace("/v1/", `/${version}/`)
			for (const target of [`${path}/c`, path]) {
				const answer = await client.get(target, { accept: goAccept })
				assert.equal(answer.code, 200)
				assert.equal(answer.headers["content-type"], media)
				// Those versions are not described here: codec reads them.
				assert.deepEqual(withoutItemTypes(codec("protobuf", "json", answer.raw)),
					withoutItemTypes(codec("json", "json", (await client.get(target)).text)))
			}
		}
	})
}

// Typed lists in protobuf do not say of each item what it is.
function withoutItemTypes(text) {
	const tree = JSON.parse(text)
	for (const item of tree.items ?? [])
		["apiVersion", "kind"].forEach((name) => delete item[name])
	return tree
}

async function failures(say, client, server) {
	const ns = await newNamespace(client)
	const { configMaps } = paths(ns)
	const api = packed(client)

	await test(say("failures are Statuses in protobuf"), async () => {
		const missing = expectPacked(await api.get(`${configMaps}/x`), 404, "Status")
		assert.deepEqual({ ...missing, metadata: {} }, {
			metadata: {}, status: "Failure", message: 'configmaps "x" not found', reason: "NotFound",
			details: { name: "x", kind: "configmaps" }, code: 404,
		})
		const invalid = expectPacked(await api.post(configMaps, pack("v1", "ConfigMap", { metadata: { name: "A_" } })), 422, "Status")
		assert.equal(invalid.details.causes[0].field, "metadata.name")
		const body = pack("v1", "ConfigMap", { metadata: { name: "twice" } })
		expectPacked(await api.post(configMaps, body), 201, "ConfigMap")
		assert.equal(expectPacked(await api.post(configMaps, body), 409, "Status").reason, "AlreadyExists")
		assert.match(expectPacked(await api.post(configMaps, "k8s\0nonsense"), 400, "Status").message, /ConfigMap/)
		assert.equal(expectPacked(await api.get("/api/v1/nothing"), 404, "Status").reason, "NotFound")
		const late = expectPacked(await api.get(`${configMaps}?watch=1&resourceVersion=99999999`), 504, "Status")
		assert.equal(late.details.causes[0].reason, "ResourceVersionTooLarge")
		assert.equal(late.details.retryAfterSeconds, 1)
	})

	await test(say("an unknown caller gets its error in protobuf"), async () => {
		const stranger = server.as({ token: "wrong" })
		const status = expectPacked(await stranger.get(configMaps, { accept: goAccept }), 401, "Status")
		assert.equal(status.reason, "Unauthorized")
		stranger.close()
	})

	await test(say("kinds without protobuf are skipped or 406"), async () => {
		const all = /^only the following media types are accepted: application\/json, application\/yaml, application\/vnd\.kubernetes\.protobuf$/
		const table = (type) => `${type};as=Table;g=meta.k8s.io;v=v1`
		expectStatus(await client.get(configMaps, { accept: table(media) }), 406, "NotAcceptable", all)
		expectStatus(await client.get(configMaps, { accept: "application/cbor" }), 406, "NotAcceptable", all)
		const next = await client.get(configMaps, { accept: `${table(media)},${table("application/json")}` })
		assert.equal(expect(next, 200).kind, "Table")
		expectStatus(await client.get(configMaps, { accept: partial("PartialObjectMetadata") }), 406, "NotAcceptable")
		const yaml = await client.get(`${configMaps}?watch=1`, { accept: "application/yaml" })
		assert.equal(yaml.code, 406)
		assert.match(yaml.text, /application\/json;stream=watch, application\/vnd\.kubernetes\.protobuf;stream=watch/)
		assert.equal((await client.get("/api", { accept: goAccept })).body.kind, "APIVersions")
	})
}

async function customs(say, client) {
	const ns = await newNamespace(client)
	const group = `${unique("g")}.example.com`
	const things = `/apis/${group}/v1/namespaces/${ns}/things`

	await test(say("a custom resource is JSON, its metadata and its failures are protobuf"), async () => {
		const made = await client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
			apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: `things.${group}` }, spec: {
				group, names: { plural: "things", kind: "Thing" }, scope: "Namespaced",
				versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", properties: { size: { type: "integer" } } } } }],
			},
		}, { accept: goAccept })
		// The definition itself is a built-in kind.
		assert.equal(made.code, 201)
		assert.equal(JSON.parse(codec("protobuf", "json", made.raw)).spec.names.kind, "Thing")
		await until("custom resource", async () => (await client.get(things)).code === 200)

		const thing = { apiVersion: `${group}/v1`, kind: "Thing", metadata: { name: "t", labels: { a: "b" } }, size: 3 }
		assert.equal(expect(await client.post(things, thing, { accept: goAccept }), 201).size, 3)
		for (const accept of [goAccept, `${media}, */*`])
			assert.equal(expect(await client.get(things, { accept }), 200).items[0].size, 3)
		assert.match(expectPacked(await client.get(things, { accept: media }), 406, "Status").message,
			/^only the following media types are accepted: /)
		assert.equal(expectPacked(await client.get(`${things}/x`, { accept: goAccept }), 404, "Status").details.group, group)

		const list = expectPacked(await client.get(things, { accept: partialList }), 200, "PartialObjectMetadataList")
		assert.deepEqual(list.items[0].metadata.labels, { a: "b" })
		const watch = await PackedWatch.open(client, `${things}?watch=1`, partial("PartialObjectMetadata"))
		expect(await client.patch(`${things}/t`, { size: 4 }, "merge"), 200)
		await watch.have(2)
		assert.deepEqual(watch.brief, ["ADDED t", "MODIFIED t"])
		watch.close()
	})
}

async function lists(say, client) {
	const ns = await newNamespace(client)
	const { configMaps, claims } = paths(ns)
	const api = packed(client)

	await test(say("a list has the items of its JSON"), async () => {
		assert.equal(expectPacked(await api.get(configMaps), 200, "ConfigMapList").items, undefined)
		for (let i = 0; i < 25; i++)
			expect(await client.post(configMaps, configMap(`m${String(i).padStart(2, "0")}`, { k: "v".repeat(i * 20) }, { labels: { odd: String(i % 2) } })), 201)
		const json = expect(await client.get(configMaps), 200)
		const list = expectPacked(await api.get(configMaps), 200, "ConfigMapList")
		assert.equal(list.metadata.resourceVersion, json.metadata.resourceVersion)
		assert.deepEqual(list.items.map(({ metadata: { name, uid, resourceVersion } }) => [name, uid, resourceVersion]),
			json.items.map(({ metadata: { name, uid, resourceVersion } }) => [name, uid, resourceVersion]))
		assert.deepEqual(list.items.map(({ data }) => data?.k), json.items.map(({ data }) => data?.k))
		assert.equal(expectPacked(await api.get(`${configMaps}?labelSelector=odd%3D1`), 200, "ConfigMapList").items.length, 12)
	})

	await test(say("pages follow each other"), async () => {
		const names = []
		let token = "", remaining
		do {
			const page = expectPacked(await api.get(`${configMaps}?limit=10&continue=${token}`), 200, "ConfigMapList")
			names.push(...page.items.map(({ metadata }) => metadata.name))
			token = page.metadata.continue ?? ""
			remaining = page.metadata.remainingItemCount
			assert.equal(remaining, token ? 25 - names.length : undefined)
		} while (token)
		assert.equal(new Set(names).size, 25)
	})

	await test(say("metadata alone"), async () => {
		const answer = await client.get(configMaps, { accept: partialList })
		const list = expectPacked(answer, 200, "PartialObjectMetadataList")
		assert.equal(unpack(answer.raw).apiVersion, "meta.k8s.io/v1")
		assert.equal(list.items.length, 25)
		assert.equal(list.items[3].metadata.labels.odd, "1")
		assert.ok(answer.raw.length < (await api.get(configMaps)).raw.length)
		const one = expectPacked(await client.get(`${configMaps}/m03`, { accept: partial("PartialObjectMetadata") }), 200, "PartialObjectMetadata")
		assert.deepEqual(one.metadata, list.items[3].metadata)
		// A failure is JSON: nothing else was asked for that it could be.
		expectStatus(await client.get(`${configMaps}/zz`, { accept: partialList }), 404, "NotFound")
	})

	await test(say("large lists are whole, compressed or not"), async () => {
		await Promise.all(Array.from({ length: 300 }, (_, i) => client.post(claims, claim(`c${i}`, { annotations: { pad: "x".repeat(2000) } }))))
		const list = expectPacked(await api.get(claims), 200, "ResourceClaimList")
		assert.equal(list.items.length, 300)
		const zipped = await client.get(claims, { accept: goAccept, headers: { "accept-encoding": "gzip" } })
		assert.equal(zipped.headers["content-encoding"], "gzip")
		assert.deepEqual(unpack(gunzipSync(zipped.raw)).object, list)
	})
}

async function watches(say, client) {
	const ns = await newNamespace(client)
	const { configMaps } = paths(ns)
	const path = `${configMaps}?watch=1&allowWatchBookmarks=true`

	await test(say("a watch sends every kind of event"), async () => {
		expect(await client.post(configMaps, configMap("first")), 201)
		const watch = await PackedWatch.open(client, `${path}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=4`)
		assert.equal(watch.code, 200)
		assert.equal(watch.headers["content-type"], `${media};stream=watch`)
		await watch.have(2)
		assert.equal(watch.events[1].type, "BOOKMARK")
		assert.equal(watch.events[1].kind, "ConfigMap")
		assert.equal(watch.events[1].object.metadata.annotations["k8s.io/initial-events-end"], "true")
		expect(await client.post(configMaps, configMap("second")), 201)
		expect(await client.patch(`${configMaps}/second`, { data: { a: "2" } }, "merge"), 200)
		expect(await client.delete(`${configMaps}/second`), 200)
		await watch.have(5)
		assert.deepEqual(watch.brief.slice(0, 5), ["ADDED first", "BOOKMARK", "ADDED second", "MODIFIED second", "DELETED second"])
		assert.equal(watch.events[3].object.data.a, "2")
		const versions = watch.events.slice(2, 5).map(({ object }) => Number(object.metadata.resourceVersion))
		assert.ok(versions[0] < versions[1] && versions[1] < versions[2])
		// Shortly before its end it says how far it is.
		assert.equal(await watch.ended, undefined)
		assert.equal(watch.events.at(-1).type, "BOOKMARK")
		assert.ok(Number(watch.events.at(-1).object.metadata.resourceVersion) >= versions[2])
	})

	await test(say("all forms of a watch tell the same"), async () => {
		const now = expect(await client.get(configMaps), 200).metadata.resourceVersion
		const from = `${configMaps}?watch=1&resourceVersion=${now}`
		const everywhere = `${core}/configmaps?watch=1&resourceVersion=${now}`
		const json = await client.watch(from)
		const all = [
			await PackedWatch.open(client, from),
			await PackedWatch.open(client, from, media),
			await PackedWatch.open(client, everywhere),
			await PackedWatch.open(client, from, partial("PartialObjectMetadata")),
			await PackedWatch.open(client, `${from}&labelSelector=w%3D1`),
			await PackedWatch.open(client, `${from}&fieldSelector=metadata.name%3Dw3`),
		]
		for (let i = 0; i < 10; i++)
			expect(await client.post(configMaps, configMap(`w${i}`, {}, { labels: { w: "1" } })), 201)
		expect(await client.patch(`${configMaps}/w3`, { metadata: { labels: { w: null } } }, "merge"), 200)
		await json.have(11)
		const label = all[4], field = all[5]
		for (const watch of all.slice(0, 4)) {
			await watch.have(11)
			assert.deepEqual(watch.brief, json.brief)
		}
		await label.have(11)
		assert.equal(label.brief.at(-1), "DELETED w3")
		assert.equal(label.events[10].object.metadata.resourceVersion, json.events[10].object.metadata.resourceVersion)
		assert.deepEqual(label.events[10].object.metadata.labels, { w: "1" })
		await field.have(2)
		assert.deepEqual(field.brief, ["ADDED w3", "MODIFIED w3"])
		assert.deepEqual([all[3].events[0].apiVersion, all[3].events[0].kind], ["meta.k8s.io/v1", "PartialObjectMetadata"])
		for (const watch of [json, ...all])
			watch.close()
	})

	await test(say("a watch of another version is of that version"), async () => {
		const { claims } = paths(ns)
		const answer = client.get(`${claims.replace("/v1/", "/v1beta1/")}?watch=1&timeoutSeconds=1`, { accept: goAccept })
		expect(await client.post(claims, claim("c")), 201)
		const { raw } = await answer
		assert.ok(raw.includes("resource.k8s.io/v1beta1"))
		assert.equal(raw.readUInt32BE(0) + 4, raw.length)
	})
}

// --- devplane codec ------------------------------------------------------------------------

function run(from, to, input, ...more) {
	return spawnSync(devplane, ["codec", "--from", from, "--to", to, ...more], { input, maxBuffer: 1 << 28 })
}

function codec(from, to, input, ...more) {
	const { status, stdout, stderr } = run(from, to, input, ...more)
	assert.equal(status, 0, stderr.toString())
	return stdout
}

const meta = (name) => ({ metadata: { name, labels: { a: "b" }, ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n", uid: "1", controller: true }] } })
const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i", envFrom: [{ configMapRef: { name: "m" } }] }] } }
const kinds = [
	pod("p"), configMap("m"), claim("c"), slice("s"),
	{ apiVersion: "v1", kind: "Secret", ...meta("s"), data: { a: "AP8=" }, type: "Opaque" },
	{ apiVersion: "v1", kind: "Node", ...meta("n"), spec: { taints: [{ key: "k", effect: "NoSchedule", timeAdded: "2024-01-02T03:04:05Z" }] }, status: { capacity: { cpu: "4" }, addresses: [{ type: "Hostname", address: "n" }] } },
	{ apiVersion: "v1", kind: "Event", ...meta("e"), involvedObject: { kind: "Pod", name: "p" }, eventTime: "2024-01-02T03:04:05.000006Z", count: 3 },
	{ apiVersion: "v1", kind: "PersistentVolume", ...meta("v"), spec: { capacity: { storage: "1Gi" }, hostPath: { path: "/x" }, accessModes: ["ReadWriteOnce"] } },
	{ apiVersion: "v1", kind: "ResourceQuota", ...meta("q"), spec: { hard: { pods: "10" } } },
	{ apiVersion: "apps/v1", kind: "Deployment", ...meta("d"), spec: { replicas: 0, selector: { matchLabels: { a: "b" } }, template, strategy: { rollingUpdate: { maxSurge: "25%", maxUnavailable: 1 } } } },
	{ apiVersion: "apps/v1", kind: "StatefulSet", ...meta("s"), spec: { selector: { matchExpressions: [{ key: "a", operator: "Exists" }] }, template, serviceName: "x", updateStrategy: {} } },
	{ apiVersion: "batch/v1", kind: "CronJob", ...meta("j"), spec: { schedule: "* * * * *", jobTemplate: { spec: { template } } } },
	{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", ...meta("r"), rules: [{ verbs: ["*"], apiGroups: [""], resources: ["pods"] }], aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] } },
	{ apiVersion: "coordination.k8s.io/v1", kind: "Lease", ...meta("l"), spec: { holderIdentity: "", renewTime: "2024-01-02T03:04:05.000006Z" } },
	{ apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", ...meta("n"), spec: { podSelector: {}, ingress: [{ ports: [{ port: 80 }, { port: "web" }] }] } },
	{ apiVersion: "storage.k8s.io/v1", kind: "StorageClass", ...meta("s"), provisioner: "p", parameters: { a: "b" }, allowVolumeExpansion: false },
	{ apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", ...meta("e"), addressType: "IPv4", endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: false } }], ports: [{ port: 80 }] },
	{ apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration", ...meta("w"), webhooks: [{ name: "x.y.z", clientConfig: { caBundle: "AA==", url: "https://x" }, rules: [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] }], sideEffects: "None", admissionReviewVersions: ["v1"] }] },
	{ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", ...meta("x.y.z"), spec: { group: "y.z", names: { plural: "x", kind: "X" }, scope: "Namespaced", versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", properties: { a: { type: "array", items: { type: "string", default: "p", enum: ["p", 1, { q: [] }] } } }, additionalProperties: false } } }] } },
	{ apiVersion: "resource.k8s.io/v1beta1", kind: "ResourceClaim", ...meta("c"), spec: { devices: { requests: [{ name: "r", deviceClassName: "d", allocationMode: "All" }] } } },
	{ apiVersion: "v1", kind: "PodList", metadata: { resourceVersion: "7", remainingItemCount: 0 }, items: [{ metadata: { name: "p" }, spec: template.spec }] },
	{ apiVersion: "v1", kind: "Status", status: "Failure", code: 404, reason: "NotFound", details: { causes: [{ field: "f", message: "m" }] } },
	{ apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 0, propagationPolicy: "Orphan", preconditions: { uid: "x" } },
	{ apiVersion: "policy/v1", kind: "Eviction", ...meta("p"), deleteOptions: { dryRun: ["All"] } },
	{ apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec: { user: "u", extra: { a: ["x", "y"] }, resourceAttributes: { verb: "get" } } },
]

async function codecs() {
	await test("codec: what goes from JSON to protobuf or YAML and back is what it was", async () => {
		for (const object of kinds) {
			const json = codec("json", "json", JSON.stringify(object))
			// Nothing was lost, and what was added is empty.
			contains(JSON.parse(json), object, object.kind)
			assert.deepEqual(JSON.parse(codec("protobuf", "json", codec("json", "protobuf", json))), JSON.parse(json), object.kind)
			assert.deepEqual(JSON.parse(codec("yaml", "json", codec("json", "yaml", json))), JSON.parse(json), object.kind)
			assert.deepEqual(codec("yaml", "protobuf", codec("protobuf", "yaml", codec("json", "protobuf", json))), codec("json", "protobuf", json))
		}
	})

	await test("codec: its protobuf is what protobufjs writes and reads", async () => {
		const { apiVersion, kind, object } = unpack(codec("json", "protobuf", JSON.stringify(configMap("m", { k: "v" }))))
		assert.deepEqual([apiVersion, kind, object], ["v1", "ConfigMap", { metadata: { name: "m" }, data: { k: "v" } }])
		const back = JSON.parse(codec("protobuf", "json", pack("v1", "Pod", bigPod)))
		assert.equal(back.spec.containers[0].livenessProbe.httpGet.port, "http")
		assert.equal(back.spec.containers[0].resources.limits.cpu, "1500m")
	})

	await test("codec: JSON is indented by two and ends with a line", async () => {
		assert.equal(codec("yaml", "json", "apiVersion: v1\nkind: Status\ncode: 404\n").toString(),
			'{\n  "apiVersion": "v1",\n  "kind": "Status",\n  "code": 404,\n  "metadata": {}\n}\n')
		assert.equal(JSON.parse(codec("protobuf", "json", pack("v1", "ConfigMapList", {}))).items.length, 0)
	})

	await test("codec: what it cannot do it says, with what to do next", async () => {
		const refuses = (from, input, message, ...more) => {
			const { status, stdout, stderr } = run(from, "json", input, ...more)
			assert.equal(status, 1)
			assert.equal(stdout.length, 0)
			assert.match(stderr.toString(), message)
		}
		const odd = JSON.stringify({ ...configMap("m"), extra: 1, metadata: { name: "m", nam: "x" } })
		refuses("json", odd, /strict decoding error: unknown field "metadata\.nam", unknown field "extra"; .*--ignore-unknown/)
		assert.equal(JSON.parse(codec("json", "json", odd, "--ignore-unknown")).extra, undefined)
		refuses("json", '{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1"},"data":{"a":"2"}}', /duplicate field "data"/)
		const raw = packRaw("v1", "ConfigMap", Buffer.from([0x98, 0x06, 0x07]))
		refuses("protobuf", raw, /1 field.* that ConfigMap does not have.*--ignore-unknown/)
		assert.equal(JSON.parse(codec("protobuf", "json", raw, "--ignore-unknown")).kind, "ConfigMap")
		refuses("json", "", /standard input is empty/)
		refuses("json", "{}", /add apiVersion and kind/)
		refuses("json", "[]", /not an object/)
		refuses("yaml", "apiVersion: v1\nkind: Nothing\n", /no built-in kind Nothing in v1/)
		refuses("json", '{"apiVersion":"v1","kind":"ConfigMap","data":7}', /ConfigMap\.data/)
		refuses("protobuf", "{}", /not protobuf with Kubernetes' envelope/)
		refuses("protobuf", packRaw("v1", "ConfigMap", Buffer.from([0x0a, 0x05])), /unexpected EOF/)
	})
}

// Fails unless `whole` has everything that `part` has.
function contains(whole, part, path) {
	if (part === null || typeof part !== "object")
		return assert.deepEqual(whole, part, path)
	if (Array.isArray(part))
		assert.equal(whole?.length, part.length, path)
	for (const [name, value] of Object.entries(part))
		if (!(value === "" || value === 0 && !whole?.[name]))
			contains(whole?.[name], value, `${path}.${name}`)
}

await codecs()
for (const backend of backends) {
	const server = await startServer(backend)
	const say = (what) => `${backend}: ${what}`
	await objects(say, server.client)
	await failures(say, server.client, server)
	await customs(say, server.client)
	await lists(say, server.client2)
	await watches(say, server.client)
	await server.stop()
}
finish()
