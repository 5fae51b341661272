// Fields behind feature gates, fields with two names, and kinds with several versions.
import assert from "node:assert/strict"
import {
	backends, causes, claim, core, dra, expect, expectStatus, newNamespace, paths, pod, slice, startServer, unique,
} from "./api_lib.mjs"
import { finish, test } from "./lib.mjs"

const result = { request: "gpu", driver: "gpu.example.com", pool: "node-1", device: "gpu-0" }
const device = { driver: "gpu.example.com", pool: "node-1", device: "gpu-0" }
const allocation = { devices: { results: [result] } }

// Sets a claim's status.devices[0].networkData; an update of the whole status.
async function setNetwork(client, path, networkData) {
	const current = expect(await client.get(path), 200)
	current.status = { ...current.status, allocation: current.status?.allocation ?? allocation, devices: [{ ...device, networkData }] }
	return client.put(`${path}/status`, current)
}

async function aliases(say, client) {
	const { claims } = paths(await newNamespace(client))
	const path = `${claims}/net`
	expect(await client.post(claims, claim("net")), 201)
	expect(await client.patch(`${path}/status`, { status: { allocation } }, "merge"), 200)
	const both = (ips, mac) => ({ ips, addresses: ips, hardwareAddress: mac, hwAddress: mac })

	await test(say("network data by the KEP's names is stored by upstream's, and read by both"), async () => {
		const kep = expect(await setNetwork(client, path, { addresses: ["10.0.0.1/24"], hwAddress: "aa:bb:cc:dd:ee:ff" }), 200)
		assert.deepEqual(kep.status.devices[0].networkData, both(["10.0.0.1/24"], "aa:bb:cc:dd:ee:ff"))
		const upstream = expect(await setNetwork(client, path, { ips: ["10.0.0.2/24"], hardwareAddress: "aa:bb:cc:dd:ee:00" }), 200)
		assert.deepEqual(upstream.status.devices[0].networkData, both(["10.0.0.2/24"], "aa:bb:cc:dd:ee:00"))
		const read = expect(await client.get(path), 200)
		assert.deepEqual(read, upstream)
		const fields = JSON.stringify(read.metadata.managedFields)
		assert.match(fields, /f:ips/)
		assert.doesNotMatch(fields, /f:addresses|f:hwAddress/)
	})

	await test(say("a client that knows one name changes that, and sends both back"), async () => {
		const old = expect(await client.get(path), 200)
		old.status.devices[0].networkData.addresses = ["10.0.0.3/24"]
		const kep = expect(await client.put(`${path}/status`, old), 200)
		assert.deepEqual(kep.status.devices[0].networkData.ips, ["10.0.0.3/24"])
		kep.status.devices[0].networkData.ips = ["10.0.0.4/24"]
		const upstream = expect(await client.put(`${path}/status`, kep), 200)
		assert.deepEqual(upstream.status.devices[0].networkData.addresses, ["10.0.0.4/24"])
		upstream.status.devices[0].networkData.ips = ["10.0.0.5/24"]
		upstream.status.devices[0].networkData.addresses = ["10.0.0.6/24"]
		expectStatus(await client.put(`${path}/status`, upstream), 422, "Invalid")
	})

	await test(say("patches may use either name"), async () => {
		const at = "/status/devices/0/networkData"
		const json = expect(await client.patch(`${path}/status`, [{ op: "replace", path: `${at}/addresses/0`, value: "10.0.1.1/24" }],
			"patch"), 200)
		assert.deepEqual(json.status.devices[0].networkData.ips, ["10.0.1.1/24"])
		const add = expect(await client.patch(`${path}/status`, [{ op: "add", path: `${at}/hwAddress`, value: "00:00:00:00:00:01" }],
			"patch"), 200)
		assert.equal(add.status.devices[0].networkData.hardwareAddress, "00:00:00:00:00:01")
		const merge = expect(await client.patch(`${path}/status`,
			{ status: { devices: [{ ...device, networkData: { addresses: ["10.0.2.1/24"] } }] } }, "merge"), 200)
		assert.deepEqual(merge.status.devices[0].networkData.ips, ["10.0.2.1/24"])
		const strategic = expect(await client.patch(`${path}/status`,
			{ status: { devices: [{ ...device, networkData: { hwAddress: "00:00:00:00:00:02" } }] } }, "strategic"), 200)
		assert.equal(strategic.status.devices[0].networkData.hardwareAddress, "00:00:00:00:00:02")
	})

	await test(say("fields are validated under both names"), async () => {
		expectStatus(await setNetwork(client, path, { addresses: ["not an address"] }), 422, "Invalid")
		const status = expectStatus(await setNetwork(client, path, { ips: ["10.0.0.1"] }), 422, "Invalid")
		assert.ok(causes(status).some((cause) => /networkData\.ips\[0\]/.test(cause)), causes(status))
	})
}

async function conversions(say, client) {
	const ns = await newNamespace(client)
	const at = (version) => `/apis/resource.k8s.io/${version}/namespaces/${ns}/resourceclaims`

	await test(say("claims round trip through v1beta1, v1beta2 and v1"), async () => {
		const flat = {
			apiVersion: "resource.k8s.io/v1beta1", kind: "ResourceClaim", metadata: { name: "old" },
			spec: { devices: { requests: [{ name: "gpu", deviceClassName: "gpu.example.com", allocationMode: "ExactCount", count: 2 }] } },
		}
		const made = expect(await client.post(at("v1beta1"), flat), 201)
		assert.equal(made.apiVersion, "resource.k8s.io/v1beta1")
		assert.deepEqual(made.spec, flat.spec)
		const { deviceClassName, allocationMode, count } = flat.spec.devices.requests[0]
		for (const version of ["v1", "v1beta2"]) {
			const read = expect(await client.get(`${at(version)}/old`), 200)
			assert.equal(read.apiVersion, `resource.k8s.io/${version}`)
			assert.deepEqual(read.spec.devices.requests, [{ name: "gpu", exactly: { deviceClassName, allocationMode, count } }])
			assert.equal(read.metadata.uid, made.metadata.uid)
			assert.equal(read.metadata.resourceVersion, made.metadata.resourceVersion)
			assert.deepEqual(expect(await client.put(`${at(version)}/old`, read), 200), read)
		}
		assert.deepEqual(expect(await client.get(`${at("v1beta1")}/old`), 200), made)
		assert.deepEqual(expect(await client.put(`${at("v1beta1")}/old`, made), 200), made)
		const list = expect(await client.get(at("v1beta1")), 200)
		assert.equal(list.apiVersion, "resource.k8s.io/v1beta1")
		assert.deepEqual(list.items.map(({ spec }) => spec), [made.spec])
	})

	await test(say("slices round trip, with devices in `basic` in v1beta1"), async () => {
		const name = unique("slice")
		const made = expect(await client.post(`${dra}/resourceslices`, slice(name)), 201)
		const old = expect(await client.get(`/apis/resource.k8s.io/v1beta1/resourceslices/${name}`), 200)
		assert.equal(old.spec.devices[0].name, "gpu-0")
		assert.equal(old.spec.devices[0].basic.attributes.model.string, "a")
		assert.equal(old.spec.devices[0].basic.capacity.memory.value, "8Gi")
		assert.equal(old.spec.devices[0].attributes, undefined)
		assert.deepEqual(expect(await client.put(`/apis/resource.k8s.io/v1beta1/resourceslices/${name}`, old), 200), old)
		assert.deepEqual(expect(await client.get(`${dra}/resourceslices/${name}`), 200), made)
	})

	await test(say("a watch speaks its version"), async () => {
		const watch = await client.watch(`${at("v1beta1")}?watch=true`)
		const [{ object }] = await watch.have(1)
		assert.equal(object.apiVersion, "resource.k8s.io/v1beta1")
		assert.equal(object.spec.devices.requests[0].deviceClassName, "gpu.example.com")
		watch.close()
	})
}

const gates = ["DRAResourceClaimDeviceStatus", "ResourceHealthStatus", "DRAResourceAvailabilityVisibility"]
const health = [{ name: "claim:gpu", resources: [{ resourceID: "gpu-0", health: "Healthy" }] }]
const container = {
	name: "main", image: "x", imageID: "", ready: true, restartCount: 0, state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
}
const sliceStatus = { devices: [{ name: "gpu-0", state: "Available" }], summary: { totalDevices: 1, availableDevices: 1 } }

// Writes each gated field and returns what the server then says of them.
async function writeGated(client, { claims, pods }, sliceName) {
	const claimed = expect(await client.patch(`${claims}/c/status`,
		{ status: { allocation, devices: [{ ...device, data: { a: 1 } }] } }, "merge"), 200)
	const running = expect(await client.patch(`${pods}/p/status`,
		{ status: { containerStatuses: [{ ...container, allocatedResourcesStatus: health }] } }, "merge"), 200)
	const published = await client.patch(`${dra}/resourceslices/${sliceName}/status`, { status: sliceStatus }, "merge")
	return { claimed, running, published }
}

async function readGated(client, { claims, pods }, sliceName) {
	return [
		expect(await client.get(`${claims}/c`), 200).status.devices,
		expect(await client.get(`${pods}/p`), 200).status.containerStatuses[0].allocatedResourcesStatus,
		expect(await client.get(`${dra}/resourceslices/${sliceName}`), 200).status,
	]
}

async function gating(backend, say) {
	let server = await startServer(backend)
	const { folder, etcd, prefix } = server
	const again = async (flags) => {
		await server.stop()
		server = await startServer(backend, { folder, etcd, prefix, flags })
		return server.client
	}
	const where = paths(await newNamespace(server.client))
	const name = unique("slice")
	expect(await server.client.post(where.claims, claim("c")), 201)
	const gated = pod("p")
	gated.spec.resourceClaims = [{ name: "gpu", resourceClaimName: "c" }]
	gated.spec.containers[0].resources = { claims: [{ name: "gpu" }] }
	expect(await server.client.post(where.pods, gated), 201)
	expect(await server.client.post(`${dra}/resourceslices`, slice(name)), 201)

	await test(say("with the gates on, the fields are there"), async () => {
		const { claimed, running, published } = await writeGated(server.client, where, name)
		assert.deepEqual(claimed.status.devices, [{ ...device, data: { a: 1 } }])
		assert.deepEqual(running.status.containerStatuses[0].allocatedResourcesStatus, health)
		assert.deepEqual(expect(published, 200).status, sliceStatus)
	})

	await test(say("with the gates off, what was stored is not served"), async () => {
		const client = await again(["--feature-gates", gates.map((gate) => `${gate}=false`).join(",")])
		assert.deepEqual(await readGated(client, where, name), [undefined, undefined, undefined])
		const listed = expect(await client.get(where.claims), 200)
		assert.equal(listed.items[0].status.devices, undefined)
		const watch = await client.watch(`${where.claims}?watch=true`)
		assert.equal((await watch.have(1))[0].object.status.devices, undefined)
		watch.close()
		const { features } = expect(await client.get(core), 200)
		assert.deepEqual(gates.map((gate) => features[gate]), [false, false, false])
	})

	await test(say("with the gates off, the fields are dropped on write"), async () => {
		const { client } = server
		expect(await client.post(where.claims, claim("d")), 201)
		const other = { devices: { results: [{ ...result, device: "gpu-1" }] } }
		const made = expect(await client.patch(`${where.claims}/d/status`,
			{ status: { allocation: other, devices: [{ ...device, device: "gpu-1" }] } }, "merge"), 200)
		assert.equal(made.status.devices, undefined)
		assert.equal(made.status.allocation.devices.results[0].device, "gpu-1")
		expect(await client.post(where.pods, pod("q")), 201)
		const running = expect(await client.patch(`${where.pods}/q/status`,
			{ status: { containerStatuses: [{ ...container, allocatedResourcesStatus: health }] } }, "merge"), 200)
		assert.equal(running.status.containerStatuses[0].allocatedResourcesStatus, undefined)
		expect(await client.patch(`${dra}/resourceslices/${name}/status`, { status: sliceStatus }, "merge"), 404)
		const client2 = await again([])
		assert.equal(expect(await client2.get(`${where.claims}/d`), 200).status.devices, undefined)
		assert.equal(expect(await client2.get(`${where.pods}/q`), 200).status.containerStatuses[0].allocatedResourcesStatus, undefined)
	})
	await test(say("a server that was restarted with other gates ends in order"), () => server.stop())
}

for (const backend of backends) {
	const say = (name) => `${backend}: ${name}`
	const server = await startServer(backend)
	await aliases(say, server.client)
	await conversions(say, server.client)
	await test(say("the server ends in order"), () => server.stop())
	await gating(backend, say)
}
finish()
