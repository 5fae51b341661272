// ResourceClaim.status.devices (KEP-4817): when there may be entries, both spellings of network data by update and by
// every type of patch, what readers are shown, and the feature gate, off and on.
import assert from "node:assert/strict"
import * as k8s from "@kubernetes/client-node"
import { backends, causes, claim, dra, expect, expectStatus, newNamespace, paths, startServer, unfenced } from "./api_lib.mjs"
import { finish, test } from "./lib.mjs"

// Objects are stored in the same way on every backend (api_schema_gates_test.mjs).
const backend = backends[0]
const share = "123e4567-e89b-12d3-a456-426614174000"
const results = [
	{ request: "gpu", driver: "gpu.example.com", pool: "node-1", device: "gpu-0" },
	{ request: "gpu", driver: "nic.example.com", pool: "node-1/a", device: "nic-0", shareID: share },
]
const gpu = { driver: "gpu.example.com", pool: "node-1", device: "gpu-0" }
const nic = { driver: "nic.example.com", pool: "node-1/a", device: "nic-0", shareID: share }
const ready = { type: "Ready", status: "True", reason: "Attached", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" }

// A new claim that is allocated; resolves to the path of its status.
let made = 0
async function allocated(client, claims, name = `c${++made}`) {
	expect(await client.post(claims, claim(name)), 201)
	expect(await client.patch(`${claims}/${name}/status`, { status: { allocation: { devices: { results } } } }, "merge"), 200)
	return `${claims}/${name}/status`
}

const main = (status) => status.replace(/\/status$/, "")

async function rules(client) {
	const { claims } = paths(await newNamespace(client))

	await test("entries cannot be created, only written to the status", async () => {
		const body = { ...claim("early"), status: { allocation: { devices: { results } }, devices: [gpu] } }
		assert.equal(expect(await client.post(claims, body), 201).status?.devices, undefined)
		const status = await allocated(client, claims)
		const stored = expect(await client.patch(status, { status: { devices: [{ ...gpu, data: { a: 1 } }] } }, "merge"), 200)
		stored.status.devices = [nic]
		stored.metadata.labels = { a: "b" }
		const kept = expect(await client.put(main(status), stored), 200)
		assert.deepEqual(kept.status.devices, [{ ...gpu, data: { a: 1 } }])
		assert.deepEqual(kept.metadata.labels, { a: "b" })
		kept.spec.devices.requests[0].name = "other"
		kept.metadata.labels = { c: "d" }
		kept.status.devices = [gpu, { ...nic, conditions: [ready] }]
		const written = expect(await client.put(status, kept), 200)
		assert.deepEqual(written.status.devices, [gpu, { ...nic, conditions: [ready] }])
		assert.deepEqual([written.metadata.labels, written.spec.devices.requests[0].name], [{ a: "b" }, "gpu"])
	})

	await test("only devices that are allocated have entries, each one", async () => {
		expect(await client.post(claims, claim("pending")), 201)
		const early = await client.patch(`${claims}/pending/status`, { status: { devices: [gpu] } }, "merge")
		assert.deepEqual(causes(expectStatus(early, 422, "Invalid")), ["FieldValueInvalid status.devices[0]"])
		const status = await allocated(client, claims)
		const refusals = [
			[[{ ...gpu, device: "gpu-1" }], ["FieldValueInvalid status.devices[0]"]],
			[[{ ...nic, shareID: undefined }], ["FieldValueInvalid status.devices[0]"]],
			[[gpu, nic, gpu], ["FieldValueDuplicate status.devices[2]"]],
			[[{ ...gpu, conditions: [ready, ready] }], ["FieldValueDuplicate status.devices[0].conditions[1]"]],
			[[{ ...gpu, data: "text" }], ["FieldValueInvalid status.devices[0].data"]],
			[[{ ...gpu, data: { a: "x".repeat(10233) } }], ["FieldValueTooLong status.devices[0].data"]],
			[[gpu, { ...nic, networkData: { ips: ["10.0.0.1"], interfaceName: "a".repeat(257), hardwareAddress: "a".repeat(129) } }], [
				"FieldValueInvalid status.devices[1].networkData.ips[0]", "FieldValueTooLong status.devices[1].networkData.hardwareAddress",
				"FieldValueTooLong status.devices[1].networkData.interfaceName"]],
		]
		for (const [devices, want] of refusals)
			for (const type of ["merge", "strategic"])
				assert.deepEqual(causes(expectStatus(await client.patch(status, { status: { devices } }, type), 422, "Invalid")).sort(), want)
		expect(await client.patch(status, { status: { devices: [{ ...gpu, data: { a: "x".repeat(10232) } }] } }, "merge"), 200)
	})

	await test("unknown fields are refused, warned of or ignored, as it is asked for", async () => {
		const status = await allocated(client, claims)
		const body = { status: { devices: [{ ...gpu, networkData: { addresses: ["10.0.0.1/24"], speed: 5 } }] } }
		const send = (how) => client.patch(`${status}?fieldValidation=${how}`, body, "merge")
		expectStatus(await send("Strict"), 422, "Invalid", /unknown field "status\.devices\[0\]\.networkData\.speed"/)
		const warned = await send("Warn")
		assert.match(warned.headers.warning, /unknown field \\"status\.devices\[0\]\.networkData\.speed\\"/)
		assert.deepEqual(expect(warned, 200).status.devices[0].networkData, { ips: ["10.0.0.1/24"], addresses: ["10.0.0.1/24"] })
		assert.equal((await send("Ignore")).headers.warning, undefined)
	})

	await test("entries go with the allocation, silently", async () => {
		for (const status of [{ allocation: null }, { allocation: null, devices: [{ ...gpu, data: { b: 2 } }] }]) {
			const path = await allocated(client, claims)
			expect(await client.patch(path, { status: { devices: [gpu, nic] } }, "merge"), 200)
			const after = expect(await client.patch(path, { status }, "merge"), 200)
			assert.deepEqual([after.status?.allocation, after.status?.devices], [undefined, undefined])
			const again = { allocation: { devices: { results: [{ ...results[0], device: "gpu-9" }] } }, devices: [{ ...gpu, device: "gpu-9" }] }
			assert.equal(expect(await client.patch(path, { status: again }, "merge"), 200).status.devices[0].device, "gpu-9")
		}
	})
}

// --- both spellings ----------------------------------------------------------------------------

const both = (ips, mac) => ({ interfaceName: "net1", ips, addresses: ips, hardwareAddress: mac, hwAddress: mac })
const spelled = {
	upstream: (ips, mac) => ({ interfaceName: "net1", ips, hardwareAddress: mac }),
	KEP: (ips, mac) => ({ interfaceName: "net1", addresses: ips, hwAddress: mac }),
}

function yaml(object) {
	return JSON.stringify(object) // JSON is YAML; flow style throughout
}

async function spellings(server) {
	const { client } = server
	const namespace = await newNamespace(client)
	const { claims } = paths(namespace)
	const status = await allocated(client, claims, "net")
	const kc = new k8s.KubeConfig()
	kc.loadFromFile(server.kubeconfig)
	const api = kc.makeApiClient(k8s.ResourceV1Api)
	let n = 0
	const fresh = () => [[`10.0.${++n >> 8}.${n & 255}/24`], `00:00:00:00:00:${(n & 255).toString(16).padStart(2, "0")}`]
	const check = async (answer, ips, mac) => {
		assert.deepEqual(answer.status.devices[0].networkData, both(ips, mac))
		assert.deepEqual(expect(await client.get(main(status)), 200).status.devices[0].networkData, both(ips, mac))
	}

	for (const [name, spell] of Object.entries(spelled)) {
		await test(`${name}: by update, JSON and YAML`, async () => {
			for (const [type, encode] of [["json", JSON.stringify], ["yaml", yaml]]) {
				const current = expect(await client.get(main(status)), 200), [ips, mac] = fresh()
				current.status.devices = [{ ...gpu, networkData: spell(ips, mac) }]
				await check(expect(await client.put(status, encode(current), { type }), 200), ips, mac)
			}
		})

		await test(`${name}: by every type of patch through client-node`, async () => {
			const patches = {
				MergePatch: (networkData) => ({ status: { devices: [{ ...gpu, networkData }] } }),
				StrategicMergePatch: (networkData) => ({ status: { devices: [{ ...gpu, networkData }] } }),
				JsonPatch: (value) => [{ op: "replace", path: "/status/devices/0/networkData", value }],
			}
			for (const [strategy, patch] of Object.entries(patches)) {
				const [ips, mac] = fresh()
				const options = k8s.setHeaderOptions("Content-Type", k8s.PatchStrategy[strategy])
				const answer = await api.patchNamespacedResourceClaimStatus({ namespace, name: "net", body: patch(spell(ips, mac)) }, options)
				const { networkData } = answer.status.devices[0]
				assert.deepEqual([networkData.ips, networkData.hardwareAddress], [ips, mac])
				await check(expect(await client.get(main(status)), 200), ips, mac)
			}
		})
	}

	await test("client-node knows one spelling: it reads, changes and replaces", async () => {
		const current = await api.readNamespacedResourceClaimStatus({ namespace, name: "net" }), [ips, mac] = fresh()
		current.status.devices[0].networkData.ips = ips
		current.status.devices[0].networkData.hardwareAddress = mac
		await api.replaceNamespacedResourceClaimStatus({ namespace, name: "net", body: current })
		await check(expect(await client.get(main(status)), 200), ips, mac)
		const listed = await api.listNamespacedResourceClaim({ namespace })
		assert.deepEqual(listed.items[0].status.devices[0].networkData.ips, ips)
	})

	await test("single members by JSON patch, under either name", async () => {
		const at = "/status/devices/0/networkData"
		const send = async (...operations) => expect(await client.patch(status, operations, "patch"), 200)
		expect(await client.patch(status, { status: { devices: [{ ...gpu, networkData: spelled.upstream(["10.1.0.1/24"], "aa") }] } }, "merge"), 200)
		await check(await send({ op: "test", path: `${at}/addresses/0`, value: "10.1.0.1/24" },
			{ op: "replace", path: `${at}/addresses/0`, value: "10.1.0.2/24" }), ["10.1.0.2/24"], "aa")
		await check(await send({ op: "add", path: `${at}/addresses/-`, value: "10.1.0.3/24" }), ["10.1.0.2/24", "10.1.0.3/24"], "aa")
		await check(await send({ op: "remove", path: `${at}/ips/0` }, { op: "remove", path: `${at}/addresses/0` }), ["10.1.0.3/24"], "aa")
		await check(await send({ op: "move", from: `${at}/hwAddress`, path: `${at}/hardwareAddress` }), ["10.1.0.3/24"], "aa")
		const read = expect(await client.get(main(status)), 200).status.devices[0].networkData
		await check(await send({ op: "test", path: at, value: read }, { op: "test", path: at, value: spelled.KEP(["10.1.0.3/24"], "aa") },
			{ op: "test", path: at, value: spelled.upstream(["10.1.0.3/24"], "aa") }, { op: "replace", path: `${at}/hwAddress`, value: "bb" }),
		["10.1.0.3/24"], "bb")
		await send({ op: "add", path: "/status/devices/-", value: { ...nic, networkData: { addresses: ["10.1.0.9/24"] } } })
		await send({ op: "copy", from: "/status/devices/1/networkData/addresses", path: `${at}/addresses` })
		const removed = await send({ op: "remove", path: `${at}/addresses` }, { op: "remove", path: "/status/devices/1" })
		assert.deepEqual(removed.status.devices, [{ ...gpu, networkData: { interfaceName: "net1", hardwareAddress: "bb", hwAddress: "bb" } }])
		expectStatus(await client.patch(status, [{ op: "test", path: `${at}/addresses/0`, value: "10.1.0.3/24" }], "patch"), 422, "Invalid")
	})

	await test("of both names the one that is new wins; two that are new are refused", async () => {
		const set = (networkData) => client.patch(status, { status: { devices: [{ ...gpu, networkData }] } }, "merge")
		const old = spelled.upstream(["10.2.0.1/24"], "aa"), mac = { hardwareAddress: "aa", hwAddress: "aa" }
		for (const [ips, addresses, want] of [["2", "1", "2"], ["1", "2", "2"], ["2", "2", "2"]]) {
			expect(await set(old), 200)
			const answer = expect(await set({ interfaceName: "net1", ...mac, ips: [`10.2.0.${ips}/24`], addresses: [`10.2.0.${addresses}/24`] }), 200)
			assert.deepEqual(answer.status.devices[0].networkData, both([`10.2.0.${want}/24`], "aa"))
		}
		expect(await set(old), 200)
		const refused = expectStatus(await set({ ips: ["10.2.0.2/24"], addresses: ["10.2.0.3/24"] }), 422, "Invalid")
		assert.deepEqual(causes(refused), ["FieldValueInvalid status.devices[0].networkData.addresses"])
	})

	await test("every answer carries both names; protobuf has one field for them", async () => {
		const watch = await client.watch(`${claims}?watch=true`)
		const [{ object: seen }] = await watch.have(1)
		const want = seen.status.devices[0].networkData
		assert.deepEqual(want, both(["10.2.0.1/24"], "aa"))
		assert.deepEqual(expect(await client.get(claims), 200).items[0].status.devices[0].networkData, want)
		assert.deepEqual(expect(await client.get(`${dra.replace("v1", "v1beta2")}${claims.slice(dra.length)}/net`), 200).status.devices[0].networkData, want)
		assert.match((await client.get(main(status), { accept: "yaml" })).text, /addresses:\n +- 10\.2\.0\.1\/24/)
		const dry = expect(await client.patch(`${status}?dryRun=All`, { status: { devices: [{ ...gpu, networkData: { hwAddress: "cc" } }] } }, "merge"), 200)
		assert.deepEqual(dry.status.devices[0].networkData, { hardwareAddress: "cc", hwAddress: "cc" })
		const message = (await client.get(main(status), { accept: "application/vnd.kubernetes.protobuf" })).raw
		assert.equal(message.toString("latin1").split("10.2.0.1/24").length, 2)
		expect(await client.patch(status, { status: { devices: [{ ...gpu, networkData: spelled.KEP(["10.2.0.7/24"], "dd") }] } }, "merge"), 200)
		const changed = (await watch.have(2))[1].object
		assert.deepEqual(changed.status.devices[0].networkData, both(["10.2.0.7/24"], "dd"))
		assert.doesNotMatch(JSON.stringify(changed.metadata.managedFields), /f:addresses|f:hwAddress/)
		watch.close()
	})
}

// --- the gate ------------------------------------------------------------------------------------

async function gate(first) {
	let server = first
	const { folder } = first
	const again = async (on) => {
		await server.stop()
		server = await startServer(backend, { folder, etcd: first.etcd, prefix: first.prefix,
			flags: [...unfenced, "--feature-gates", `DRAResourceClaimDeviceStatus=${on}`] })
		return server.client
	}
	const { claims } = paths(await newNamespace(server.client))
	const kept = await allocated(server.client, claims, "kept"), gone = await allocated(server.client, claims, "gone")
	const entry = { ...gpu, conditions: [ready], networkData: both(["10.3.0.1/24"], "aa") }
	for (const status of [kept, gone])
		expect(await server.client.patch(status, { status: { devices: [{ ...gpu, conditions: [ready], networkData: spelled.KEP(["10.3.0.1/24"], "aa") }] } }, "merge"), 200)

	await test("with the gate off, nobody reads it", async () => {
		const client = await again(false)
		assert.equal(expect(await client.get(main(kept)), 200).status.devices, undefined)
		assert.deepEqual(expect(await client.get(claims), 200).items.map(({ status }) => status.devices), [undefined, undefined])
		const watch = await client.watch(`${claims}?watch=true`)
		assert.equal((await watch.have(2))[0].object.status.devices, undefined)
		watch.close()
		const message = (await client.get(main(kept), { accept: "application/vnd.kubernetes.protobuf" })).raw
		assert.ok(!message.includes("10.3.0.1/24"))
		const { resources } = expect(await client.get(dra), 200)
		assert.ok(!resources.some(({ name }) => name === "drivers"))
	})

	await test("with the gate off, what is written is dropped, and nothing of it is judged", async () => {
		const { client } = server
		const status = await allocated(client, claims, "new")
		for (const type of ["merge", "strategic"])
			assert.equal(expect(await client.patch(status, { status: { devices: [{ ...gpu, device: "nowhere" }] } }, type), 200).status.devices, undefined)
		assert.equal(expect(await client.patch(status, [{ op: "add", path: "/status/devices", value: [gpu] }], "patch"), 200).status.devices, undefined)
	})

	await test("with the gate off, other writes of the status leave alone what they were not shown", async () => {
		const { client } = server
		const current = expect(await client.get(main(kept)), 200)
		current.status.reservedFor = [{ resource: "pods", name: "p", uid: "u" }]
		expect(await client.put(kept, current), 200)
		expect(await client.patch(kept, { status: { devices: [{ ...gpu, data: { x: 1 } }] } }, "merge"), 200)
		expect(await client.patch(gone, { status: { allocation: null } }, "merge"), 200)
	})

	await test("on again, what was there before is there, and can be written", async () => {
		const client = await again(true)
		const read = expect(await client.get(main(kept)), 200).status
		assert.deepEqual([read.devices, read.reservedFor?.length], [[entry], 1])
		assert.equal(expect(await client.get(`${claims}/new`), 200).status.devices, undefined)
		assert.equal(expect(await client.get(`${claims}/gone`), 200).status?.devices, undefined)
		expect(await client.patch(`${claims}/new/status`, { status: { devices: [gpu] } }, "merge"), 200)
	})
	await test("the server ends in order", () => server.stop())
}

const server = await startServer(backend, { flags: unfenced })
await rules(server.client)
await spellings(server)
await gate(server)
finish()
