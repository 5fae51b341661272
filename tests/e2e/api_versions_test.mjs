// One object in all versions of its kind: served, warned of, stored once, and brought up to date when an older release
// stored it in another version.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import * as k8s from "@kubernetes/client-node"
import { expect, newNamespace, rv, startEtcd, startServer } from "./api_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"
import { apply } from "./ssa_lib.mjs"

const protobuf = "application/vnd.kubernetes.protobuf"
const versions = ["v1", "v1beta2", "v1beta1"]
const records = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions"
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
const group = (version) => `/apis/resource.k8s.io/${version}`

// --- one object as each version has it -------------------------------------------------------

const exact = {
	deviceClassName: "gpu", selectors: [{ cel: { expression: "true" } }], allocationMode: "ExactCount", count: 2,
	tolerations: [{ key: "k", operator: "Exists" }], capacity: { requests: { memory: "1Gi" } },
}
const first = { name: "either", firstAvailable: [{ name: "a", deviceClassName: "gpu", allocationMode: "All" }] }
const traits = { attributes: { model: { string: "a" } }, capacity: { memory: { value: "8Gi" } } }

const devices = {
	v1: { requests: [{ name: "one", exactly: exact }, first] },
	v1beta1: { requests: [{ name: "one", ...exact }, { deviceClassName: "", ...first }] },
}
devices.v1beta2 = devices.v1

const kinds = {
	resourceclaims: { kind: "ResourceClaim", namespaced: true, spec: (v) => ({ devices: devices[v] }) },
	resourceclaimtemplates: {
		kind: "ResourceClaimTemplate", namespaced: true,
		spec: (v) => ({ metadata: { labels: { a: "b" } }, spec: { devices: devices[v] } }),
	},
	resourceslices: {
		kind: "ResourceSlice",
		spec: (v, name) => ({
			driver: "gpu.example.com", nodeName: "n", pool: { name, generation: 1, resourceSliceCount: 1 },
			devices: [{ name: "gpu-0", ...(v === "v1beta1" ? { basic: traits } : traits) },
				{ name: "gpu-1", ...(v === "v1beta1" ? { basic: {} } : {}) }],
		}),
	},
	deviceclasses: {
		kind: "DeviceClass",
		spec: () => ({
			selectors: [{ cel: { expression: "true" } }],
			config: [{ opaque: { driver: "gpu.example.com", parameters: { a: 1 } } }],
		}),
	},
}

function object(plural, version, name) {
	const { kind, spec } = kinds[plural]
	return { apiVersion: `resource.k8s.io/${version}`, kind, metadata: { name }, spec: spec(version, name) }
}

function path(plural, version, ns) {
	return `${group(version)}/${kinds[plural].namespaced ? `namespaces/${ns}/` : ""}${plural}`
}

function kubectl(server, args, input) {
	return execFileSync("kubectl", ["--kubeconfig", server.kubeconfig, "--cache-dir", `${scratch}/kubectl-cache`, ...args],
		{ input, stdio: ["pipe", "pipe", "pipe"] }).toString()
}

// --- serving -------------------------------------------------------------------------------------

async function serving() {
	const flags = []
	const server = await startServer("lmdb", { flags })
	const { client } = server
	const ns = await newNamespace(client)

	for (const plural of Object.keys(kinds)) {
		await test(`${plural}: what one version made is the same object in all`, async () => {
			for (const made of versions) {
				const name = `${plural}-${made}`
				const before = expect(await client.post(path(plural, made, ns), object(plural, made, name)), 201)
				for (const shown of versions) {
					const body = expect(await client.get(`${path(plural, shown, ns)}/${name}`), 200)
					assert.equal(body.apiVersion, `resource.k8s.io/${shown}`)
					assert.deepEqual(body.spec, kinds[plural].spec(shown, name), `${made} shown as ${shown}`)
					assert.deepEqual(body.metadata, before.metadata)
				}
			}
		})

		await test(`${plural}: what a version shows can be sent back, and is no change`, async () => {
			for (const version of versions) {
				const at = `${path(plural, version, ns)}/${plural}-v1`
				const before = expect(await client.get(at), 200)
				const bytes = (await client.get(at, { accept: protobuf })).raw
				assert.equal(rv(expect(await client.put(at, before), 200)), rv(before))
				assert.equal(rv(expect(await client.put(at, bytes, { type: protobuf }), 200)), rv(before))
			}
		})
	}

	await test("lists and watches are of the version that was asked for", async () => {
		const at = path("resourceslices", "v1beta1")
		const list = expect(await client.get(at), 200)
		assert.equal(list.apiVersion, "resource.k8s.io/v1beta1")
		assert.ok(list.items.every(({ spec }) => spec.devices.every(({ basic }) => basic)))
		const watch = await client.watch(`${at}?watch=true&fieldSelector=spec.nodeName%3Dn`)
		const [{ object }] = await watch.have(1)
		assert.ok(object.spec.devices[0].basic)
		watch.close()
	})

	await test("deprecated versions warn, others do not", async () => {
		const said = async (version) => (await client.get(path("resourceclaims", version, ns))).headers.warning
		assert.equal(await said("v1"), undefined)
		assert.equal(await said("v1beta2"),
			'299 - "resource.k8s.io/v1beta2 ResourceClaim is deprecated in v1.36+, unavailable in v1.39+"')
		assert.equal(await said("v1beta1"),
			'299 - "resource.k8s.io/v1beta1 ResourceClaim is deprecated in v1.35+, unavailable in v1.38+"')
		for (const version of ["v1", "v1beta1"]) {
			const watch = await client.watch(`${path("resourceclaims", version, ns)}?watch=true`)
			assert.equal(watch.headers.warning, await said(version))
			watch.close()
		}
		const rules = await client.get(`${group("v1beta2")}/devicetaintrules`)
		assert.equal(rules.headers.warning, undefined)
	})

	await test("a StorageVersion of a server that does not exist is deleted soon", async () => {
		const name = "core.nothings"
		expect(await client.post(records, { metadata: { name }, spec: {} }), 201)
		expect(await client.patch(`${records}/${name}/status`, { status: {
			storageVersions: [{ apiServerID: "nobody", encodingVersion: "v1", decodableVersions: ["v1"], servedVersions: ["v1"] }],
			commonEncodingVersion: "v1",
		} }, "merge"), 200)
		await until("its deletion", async () => (await client.get(`${records}/${name}`)).code === 404)
	})

	await test("discovery: the preferred version, and one storage version for all", async () => {
		const found = expect(await client.get("/apis/resource.k8s.io"), 200)
		assert.equal(found.preferredVersion.version, "v1")
		assert.deepEqual(found.versions.map(({ version }) => version), ["v1", "v1beta2", "v1beta1", "v1alpha3"])
		const hashes = []
		for (const version of versions) {
			const { resources } = expect(await client.get(group(version)), 200)
			hashes.push(resources.find(({ name }) => name === "resourceclaims").storageVersionHash)
			assert.ok(resources.filter(({ name }) => name.includes("/")).every((r) => !r.storageVersionHash))
		}
		assert.deepEqual(new Set(hashes), new Set(["wgAZaHcZxUg="]))
	})

	await test("client-node: three APIs, one claim", async () => {
		const config = new k8s.KubeConfig()
		config.loadFromFile(server.kubeconfig)
		const [v1, v1beta2, v1beta1] = [k8s.ResourceV1Api, k8s.ResourceV1beta2Api, k8s.ResourceV1beta1Api]
			.map((api) => config.makeApiClient(api))
		await v1beta1.createNamespacedResourceClaim({ namespace: ns, body: object("resourceclaims", "v1beta1", "node") })
		const read = await v1.readNamespacedResourceClaim({ namespace: ns, name: "node" })
		assert.equal(read.spec.devices.requests[0].exactly.deviceClassName, "gpu")
		assert.equal((await v1beta2.readNamespacedResourceClaim({ namespace: ns, name: "node" })).metadata.uid, read.metadata.uid)
		read.metadata.labels = { changed: "yes" }
		await v1.replaceNamespacedResourceClaim({ namespace: ns, name: "node", body: read })
		const back = await v1beta1.readNamespacedResourceClaim({ namespace: ns, name: "node" })
		assert.equal(back.metadata.labels.changed, "yes")
		assert.equal(back.spec.devices.requests[0].count, 2)
	})

	await test("kubectl asks for a version by name", async () => {
		const text = kubectl(server, ["get", "resourceslices.v1beta1.resource.k8s.io", "resourceslices-v1", "-o", "yaml"])
		assert.match(text, /^apiVersion: resource.k8s.io\/v1beta1$/m)
		assert.match(text, /^ {2}- basic:$/m)
		assert.match(kubectl(server, ["get", "resourceslices", "resourceslices-v1", "-o", "yaml"]), /^apiVersion: resource.k8s.io\/v1$/m)
	})

	await test("a kind says in which version it is stored, and a restart writes nothing", async () => {
		const before = expect(await client.get(records), 200)
		const claims = before.items.find(({ metadata }) => metadata.name === "resource.k8s.io.resourceclaims")
		assert.equal(claims.status.commonEncodingVersion, "resource.k8s.io/v1")
		const [entry, ...others] = claims.status.storageVersions
		assert.deepEqual(others, [])
		assert.deepEqual(entry.decodableVersions, versions.map((v) => `resource.k8s.io/${v}`))
		assert.equal(claims.status.conditions[0].status, "True")
		assert.ok(before.items.some(({ metadata }) => metadata.name === "core.pods"))
		await server.stop()
		await server.begin()
		assert.deepEqual(expect(await server.client.get(records), 200), before)
	})

	await test("the record of a kind that is not served goes with its last entry", async () => {
		const at = `${records}/resource.k8s.io.devicetaintrules`
		expect(await server.client.get(at), 200)
		await server.stop()
		flags.push("--feature-gates", "DRADeviceTaintRules=false")
		await server.begin()
		expect(await server.client.get(at), 404)
		expect(await server.client.get(`${records}/core.pods`), 200)
	})
	await server.stop()
}

// --- a full disk -----------------------------------------------------------------------------

async function full() {
	const folder = `${scratch}/full`
	const flags = ["--feature-gates", "StorageVersionAPI=false"]
	mkdirSync(folder)
	execFileSync("mount", ["-t", "tmpfs", "-o", "size=8m", "tmpfs", folder])
	try {
		const server = await startServer("lmdb", { folder, flags })
		await server.stop()
		flags.length = 0
		// The kubeconfig is made anew at every start: only that has room.
		const [blocks, size] = execFileSync("stat", ["-f", "-c", "%a %S", folder]).toString().split(" ").map(Number)
		writeFileSync(`${folder}/fill`, Buffer.alloc((blocks - 2) * size))
		await test("a server whose disk is full starts, and says what it could not write", async () => {
			await server.begin()
			expect(await server.client.get("/api/v1/namespaces/default"), 200)
			assert.equal(server.process.err.match(/cannot update the StorageVersion objects/g)?.length, 1)
			assert.deepEqual(expect(await server.client.get(records), 200).items, [])
		})
		await test("and writes it when there is room again", async () => {
			rmSync(`${folder}/fill`)
			await server.stop()
			await server.begin()
			assert.ok(expect(await server.client.get(records), 200).items.length > 50)
		})
		await server.stop()
	} finally {
		execFileSync("umount", ["-l", folder])
	}
}

// --- several servers ---------------------------------------------------------------------------

async function several(etcd) {
	const prefix = "/several"
	const one = await startServer("etcd", { etcd, prefix, folder: `${scratch}/several-0` })
	cpSync(`${one.folder}/pki`, `${scratch}/several-1/pki`, { recursive: true })
	const two = await startServer("etcd", { etcd, prefix, folder: `${scratch}/several-1` })
	const at = `${records}/core.pods`
	const names = async (client) => expect(await client.get(at), 200).status.storageVersions.map((s) => s.apiServerID)

	await test("each server on an etcd has its entry, and a Lease of its name", async () => {
		const found = await names(two.client)
		assert.equal(new Set(found).size, 2)
		for (const name of found)
			expect(await two.client.get(`${leases}/${name}`), 200)
		assert.equal(expect(await two.client.get(at), 200).status.commonEncodingVersion, "v1")
	})

	await test("a server that stores another version shows; gone, it is dropped", async () => {
		const [gone] = (await names(two.client))
		await one.kill()
		const other = expect(await two.client.get(at), 200)
		const [entry] = other.status.storageVersions
		other.status.storageVersions[0] = { ...entry, encodingVersion: "v0", decodableVersions: ["v0"] }
		const { message } = expect(await two.client.put(`${at}/status`, other), 422)
		assert.match(message, /status.storageVersions\[0\].servedVersions\[0\]: Invalid value: "v1"/)
		assert.match(message, /status.commonEncodingVersion: Invalid value: "v1": should be nil/)
		other.status.storageVersions[0].servedVersions = ["v0"]
		delete other.status.commonEncodingVersion
		other.status.conditions.push({ type: "Mine", status: "True", reason: "R", message: "m" })
		expect(await two.client.put(`${at}/status`, other), 200)
		await two.stop()
		await two.begin()
		const { status } = expect(await two.client.get(at), 200)
		assert.equal(status.commonEncodingVersion, undefined)
		assert.deepEqual(status.conditions.map((c) => [c.type, c.status]), [["AllEncodingVersionsEqual", "False"], ["Mine", "True"]])
		expect(await two.client.delete(`${leases}/${gone}`), 200)
		await two.stop()
		await two.begin()
		assert.ok(!(await names(two.client)).includes(gone))
		const after = expect(await two.client.get(at), 200)
		assert.equal(after.status.commonEncodingVersion, "v1")
		assert.deepEqual(after.status.conditions.map((c) => [c.type, c.status]), [["AllEncodingVersionsEqual", "True"], ["Mine", "True"]])
	})

	await test("a server keeps its name, and takes its Lease along when it stops", async () => {
		const held = async () => expect(await two.client.get(leases), 200).items.map(({ metadata }) => metadata.name)
			.filter((name) => name.startsWith("apiserver-"))
		const before = await held()
		await one.begin()
		await until("its Lease", async () => (await held()).length > before.length)
		const [added, ...others] = (await held()).filter((name) => !before.includes(name))
		assert.deepEqual(others, [])
		await one.stop()
		assert.deepEqual(await held(), before)
		await one.begin()
		await until("the same Lease", async () => (await held()).includes(added))
		await one.stop()
	})
	await two.stop()
}

// --- what an older release stored -------------------------------------------------------------------

const coded = (text) => Buffer.from(text).toString("base64")

async function ask(etcd, what, body) {
	const answer = await fetch(`${etcd.url}/v3/kv/${what}`, { method: "POST", body: JSON.stringify(body) })
	assert.equal(answer.status, 200)
	return answer.json()
}

// The key and text of the object whose key ends so.
async function stored(etcd, prefix, end) {
	const { kvs = [] } = await ask(etcd, "range", { key: coded(`${prefix}/`), range_end: coded(`${prefix}0`) })
	const found = kvs.map(({ key, value }) => ({ key: Buffer.from(key, "base64").toString(), text: Buffer.from(value, "base64").toString() }))
		.filter(({ key }) => key.endsWith(end))
	assert.equal(found.length, 1, `${found.length} keys end with ${end}`)
	return found[0]
}

async function older(etcd) {
	const prefix = "/older"
	const server = await startServer("etcd", { etcd, prefix })
	const ns = await newNamespace(server.client)
	const text = async (name) => JSON.parse((await stored(etcd, prefix, name)).text)

	// Puts an object as v1beta1 into the store; its resourceVersion is not part of the text.
	async function age(plural, name) {
		expect(await server.client.post(path(plural, "v1", ns), object(plural, "v1", name)), 201)
		const { key } = await stored(etcd, prefix, name)
		const old = expect(await server.client.get(`${path(plural, "v1beta1", ns)}/${name}`), 200)
		const { resourceVersion, ...metadata } = old.metadata
		await ask(etcd, "put", { key: coded(key), value: coded(JSON.stringify({ ...old, metadata })) })
		await until("the aged object", async () =>
			rv(expect(await server.client.get(`${path(plural, "v1", ns)}/${name}`), 200)) > BigInt(resourceVersion))
	}

	await age("resourceclaims", "old-claim")
	await age("resourceslices", "old-slice")

	async function served() {
		for (const [plural, name] of [["resourceclaims", "old-claim"], ["resourceslices", "old-slice"]]) {
			assert.equal((await text(name)).apiVersion, "resource.k8s.io/v1beta1")
			for (const version of versions) {
				const body = expect(await server.client.get(`${path(plural, version, ns)}/${name}`), 200)
				assert.equal(body.apiVersion, `resource.k8s.io/${version}`)
				assert.deepEqual(body.spec, kinds[plural].spec(version, name))
				const list = expect(await server.client.get(path(plural, version, ns)), 200)
				assert.deepEqual(list.items.find(({ metadata }) => metadata.name === name).spec, body.spec)
			}
		}
		const found = expect(await server.client.get(`${path("resourceslices", "v1")}?fieldSelector=spec.nodeName%3Dn`), 200)
		assert.equal(found.items.length, 1)
	}

	await test("an object stored as v1beta1 is served in all versions", served)

	await test("also to who starts on it", async () => {
		await server.stop()
		await server.begin()
		await served()
	})

	await test("watches, tables and protobuf show it as well", async () => {
		const { client } = server
		for (const [plural, name] of [["resourceclaims", "old-claim"], ["resourceslices", "old-slice"]]) {
			for (const version of versions) {
				const all = path(plural, version, ns)
				const watch = await client.watch(`${all}?watch=true&fieldSelector=metadata.name%3D${name}`)
				const [{ type, object }] = await watch.have(1)
				watch.close()
				assert.equal(type, "ADDED")
				assert.equal(object.apiVersion, `resource.k8s.io/${version}`)
				assert.deepEqual(object.spec, kinds[plural].spec(version, name))
				const as = "application/json;as=Table;g=meta.k8s.io;v=v1"
				const table = expect(await client.get(`${all}/${name}?includeObject=Object`, { accept: as }), 200)
				assert.equal(table.rows[0].cells[0], name)
				assert.deepEqual(table.rows[0].object.spec, kinds[plural].spec(version, name))
				// As bytes that were made of the same object in v1: sent back below, they change nothing.
				const { raw } = await client.get(`${all}/${name}`, { accept: protobuf })
				assert.equal(raw.subarray(0, 4).toString("latin1"), "k8s\0")
				const dry = expect(await client.put(`${all}/${name}?dryRun=All`, raw, { type: protobuf }), 200)
				assert.deepEqual(dry.spec, kinds[plural].spec(version, name))
			}
		}
		assert.equal((await text("old-claim")).apiVersion, "resource.k8s.io/v1beta1")
	})

	await test("it is applied to, and stored as v1", async () => {
		const { client } = server
		await age("resourceclaims", "applied")
		for (const version of ["v1beta1", "v1"]) {
			const config = {
				apiVersion: `resource.k8s.io/${version}`, kind: "ResourceClaim",
				metadata: { name: "applied", labels: { [version]: "yes" } },
			}
			const body = expect(await apply(client, `${path("resourceclaims", version, ns)}/applied`, config, version), 200)
			assert.deepEqual(body.spec, kinds.resourceclaims.spec(version))
			assert.equal((await text("applied")).apiVersion, "resource.k8s.io/v1")
		}
		const { metadata } = expect(await client.get(`${path("resourceclaims", "v1", ns)}/applied`), 200)
		assert.deepEqual(metadata.labels, { v1: "yes", v1beta1: "yes" })
	})

	await test("it is deleted, and the watch says what it was", async () => {
		const { client } = server
		await age("resourceclaims", "deleted")
		const watch = await client.watch(`${path("resourceclaims", "v1", ns)}?watch=true&fieldSelector=metadata.name%3Ddeleted`)
		await watch.have(1)
		const body = expect(await client.delete(`${path("resourceclaims", "v1beta1", ns)}/deleted`), 200)
		assert.ok(body.kind === "Status" || body.apiVersion === "resource.k8s.io/v1beta1")
		const { type, object } = (await watch.have(2))[1]
		watch.close()
		assert.equal(type, "DELETED")
		assert.equal(object.apiVersion, "resource.k8s.io/v1")
		assert.deepEqual(object.spec, kinds.resourceclaims.spec("v1"))
	})

	await test("the next write stores v1, also one that changes nothing", async () => {
		const at = `${path("resourceclaims", "v1beta1", ns)}/old-claim`
		const before = expect(await server.client.get(at), 200)
		assert.ok(rv(expect(await server.client.put(at, before), 200)) > rv(before))
		const now = await text("old-claim")
		assert.equal(now.apiVersion, "resource.k8s.io/v1")
		assert.deepEqual(now.spec, kinds.resourceclaims.spec("v1"))
		const again = expect(await server.client.get(at), 200)
		assert.equal(rv(expect(await server.client.put(at, again), 200)), rv(again))
	})

	await test("kubectl get and replace migrate", async () => {
		kubectl(server, ["replace", "-f", "-"], kubectl(server, ["get", "resourceslices", "old-slice", "-o", "yaml"]))
		const now = await text("old-slice")
		assert.equal(now.apiVersion, "resource.k8s.io/v1")
		assert.deepEqual(now.spec, kinds.resourceslices.spec("v1", "old-slice"))
	})

	await test("objects of a custom kind move to the new storage version with a write that changes nothing", async () => {
		const { client } = server
		const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
		const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
		const version = (name, storage) => ({ name, served: true, storage, schema })
		expect(await client.post(crds, {
			apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: "boxes.example.com" },
			spec: {
				group: "example.com", scope: "Cluster", names: { plural: "boxes", kind: "Box" },
				versions: [version("v1", true), version("v2", false)],
			},
		}), 201)
		const at = "/apis/example.com/v2/boxes"
		await until("the kind", async () => (await client.get(at)).code === 200)
		expect(await client.post(at, { apiVersion: "example.com/v2", kind: "Box", metadata: { name: "old-box" }, a: 1 }), 201)
		assert.equal((await text("old-box")).apiVersion, "example.com/v1")
		expect(await client.patch(`${crds}/boxes.example.com`, { spec: { versions: [version("v1", false), version("v2", true)] } }, "merge"), 200)
		await until("both stored versions", async () => {
			const { status } = expect(await client.get(`${crds}/boxes.example.com`), 200)
			return status.storedVersions.join() === "v1,v2"
		})
		await until("the new version in the store", async () => {
			expect(await client.put(`${at}/old-box`, expect(await client.get(`${at}/old-box`), 200)), 200)
			return (await text("old-box")).apiVersion === "example.com/v2"
		})
	})
	await server.stop()
}

await serving()
await full()
const etcd = await startEtcd()
await several(etcd)
await older(etcd)
finish()
