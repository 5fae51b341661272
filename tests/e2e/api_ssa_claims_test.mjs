// Server-side apply of claims: drivers that apply their own entries of one status, across versions, for readers of protobuf, and over a crash.
import assert from "node:assert/strict"
import { backends, claim, expect, expectAscending, expectStatus, newNamespace, startServer, unfenced } from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { expectPacked, goAccept } from "./proto_lib.mjs"
import { applied, apply, expectConflict, managers } from "./ssa_lib.mjs"

const gpu = "gpu.example.com", nic = "nic.example.com"
const devices = ["d0", "d1", "d2", "d3"]
const rbacGroup = "rbac.authorization.k8s.io"

const claims = (ns, version = "v1") => `/apis/resource.k8s.io/${version}/namespaces/${ns}/resourceclaims`
const header = (name, version = "v1") => ({ apiVersion: `resource.k8s.io/${version}`, kind: "ResourceClaim", metadata: { name } })
const entry = (driver, device, more) => ({ driver, pool: "p", device, ...more })
const keyOf = (driver, device) => `k:{"device":"${device}","driver":"${driver}","pool":"p"}`

// The entries that a driver applies to a status.
function status(name, entries, version) {
	return { ...header(name, version), status: { devices: entries } }
}

// The content of a claim's status, briefly: driver/device=n
function brief({ status: { devices: entries = [] } }) {
	return entries.map(({ driver, device, data }) => `${driver}/${device}=${data?.n ?? ""}`)
}

// Makes a claim with all devices of both drivers.
async function allocate(client, ns, name) {
	expect(await client.post(claims(ns), claim(name)), 201)
	const results = [gpu, nic].flatMap((driver) => devices.map((device) => ({ request: "gpu", driver, pool: "p", device })))
	expect(await client.patch(`${claims(ns)}/${name}/status?fieldManager=scheduler`, { status: { allocation: { devices: { results } } } }, "merge"), 200)
	return `${claims(ns)}/${name}/status`
}

// A user who may write entries of one driver; resolves to options of requests in its name.
async function grant(client, name, driver) {
	const rule = (verbs, resources, more) => ({ apiGroups: ["resource.k8s.io"], verbs, resources, ...more })
	const object = (kind, more) => ({ apiVersion: `${rbacGroup}/v1`, kind, metadata: { name }, ...more })
	expect(await client.post(`/apis/${rbacGroup}/v1/clusterroles`, object("ClusterRole", { rules: [
		rule(["get", "patch"], ["resourceclaims", "resourceclaims/status"]),
		rule(["arbitrary-node:update", "arbitrary-node:patch"], ["resourceclaims/driver"], { resourceNames: [driver] }),
	] })), 201)
	expect(await client.post(`/apis/${rbacGroup}/v1/clusterrolebindings`, object("ClusterRoleBinding", {
		roleRef: { apiGroup: rbacGroup, kind: "ClusterRole", name }, subjects: [{ kind: "User", name, apiGroup: rbacGroup }],
	})), 201)
	const headers = { "impersonate-user": name }
	const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes: {
		group: "resource.k8s.io", resource: "resourceclaims", subresource: "driver", verb: "arbitrary-node:patch", name: driver } } }
	await until("the right", async () => (await client.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review, { headers })).body.status.allowed)
	return { headers }
}

async function drivers(client) {
	const ns = await newNamespace(client)
	const rights = { [gpu]: await grant(client, "gpu-driver", gpu), [nic]: await grant(client, "nic-driver", nic) }

	await test("two drivers apply their entries at once, hundreds of times, and none is lost", async () => {
		const path = await allocate(client, ns, "shared"), rounds = 150
		const begin = expect(await client.get(path), 200)
		const watch = await client.watch(`${claims(ns)}?watch=true&resourceVersion=${begin.metadata.resourceVersion}`)
		const drive = async (driver) => {
			for (let n = 1; n <= rounds; n++) {
				const own = devices.slice(0, 1 + n % 2).map((device) => entry(driver, device, { data: { n } }))
				const after = expect(await apply(client, path, status("shared", own), driver, {}, rights[driver]), 200)
				assert.deepEqual(brief(after).filter((text) => text.startsWith(driver)), own.map(({ device }) => `${driver}/${device}=${n}`))
			}
		}
		await Promise.all([drive(gpu), drive(nic)])
		const after = expect(await client.get(path), 200)
		assert.deepEqual(brief(after).sort(), [`${gpu}/d0=${rounds}`, `${nic}/d0=${rounds}`])
		// Each write is one event, in order; what a driver wrote it wrote once, and the other's entries are in all that follow.
		const events = await watch.have(2 * rounds)
		expectAscending(events.map(({ object }) => object))
		assert.equal(events.length, 2 * rounds)
		for (const driver of [gpu, nic]) {
			const seen = events.map(({ object }) => Number(brief(object).find((text) => text.startsWith(driver))?.split("=")[1] ?? 0))
			assert.ok(seen.every((n, i) => i === 0 ? n <= 1 : n === seen[i - 1] || n === seen[i - 1] + 1), seen.join(" "))
			assert.equal(seen.at(-1), rounds)
		}
		watch.close()
	})

	await test("a driver applies for itself only", async () => {
		const path = await allocate(client, ns, "guarded")
		expectStatus(await apply(client, path, status("guarded", [entry(nic, "d0")]), gpu, {}, rights[gpu]), 422, "Invalid", /status\.devices: Forbidden.*nic\.example\.com/)
		expect(await apply(client, path, status("guarded", [entry(nic, "d0", { data: { n: 1 } })]), nic, {}, rights[nic]), 200)
		// Taking an entry of another is changing it; so is dropping one that was applied by the same manager for another driver.
		expectStatus(await apply(client, path, status("guarded", [entry(nic, "d0", { data: { n: 2 } })]), gpu, { force: true }, rights[gpu]), 422, "Invalid", /nic\.example\.com/)
		expectStatus(await apply(client, path, status("guarded", []), nic, {}, rights[gpu]), 422, "Invalid", /nic\.example\.com/)
		assert.deepEqual(brief(expect(await client.get(path), 200)), [`${nic}/d0=1`])
	})

	await test("one driver applies entry by entry, each under its own manager", async () => {
		const path = await allocate(client, ns, "single")
		await Promise.all(devices.map((device) => applied(client, path, status("single", [entry(gpu, device, { data: { n: 1 } })]), `${gpu}/${device}`)))
		const made = expect(await client.get(path), 200)
		assert.deepEqual(brief(made).sort(), devices.map((device) => `${gpu}/${device}=1`))
		for (const device of devices)
			assert.deepEqual(managers(made)[`${gpu}/${device} Apply resource.k8s.io/v1 status`],
				{ "f:status": { "f:devices": { [keyOf(gpu, device)]: { ".": {}, "f:data": {}, "f:device": {}, "f:driver": {}, "f:pool": {} } } } })
		const place = brief(made).indexOf(`${gpu}/d2=1`)
		const changed = await applied(client, path, status("single", [entry(gpu, "d2", { data: { n: 2 } })]), `${gpu}/d2`)
		assert.equal(brief(changed).indexOf(`${gpu}/d2=2`), place)
		const left = await applied(client, path, status("single", []), `${gpu}/d1`)
		assert.deepEqual(brief(left).sort(), [`${gpu}/d0=1`, `${gpu}/d2=2`, `${gpu}/d3=1`])
	})

	await test("parts of one entry have managers of their own, data and addresses are wholes", async () => {
		const path = await allocate(client, ns, "parts")
		const where = `.status.devices[device="d0",driver="${gpu}",pool="p"]`
		const ready = { type: "Ready", status: "True", reason: "R", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" }
		const parts = (more) => status("parts", [entry(gpu, "d0", more)])
		await applied(client, path, parts({ data: { n: 1 }, networkData: { interfaceName: "eth1", ips: ["10.0.0.1/24"] } }), "driver")
		const both = await applied(client, path, parts({ conditions: [ready] }), "health")
		assert.deepEqual(both.status.devices.length, 1)
		assert.deepEqual(both.status.devices[0].conditions, [ready])
		const owner = 'conflict with "driver" with subresource "status"'
		for (const [more, field] of [[{ data: { other: 1 } }, "data"], [{ networkData: { ips: ["10.0.0.2/24"] } }, "networkData.ips"]])
			expectConflict(await apply(client, path, parts(more), "health"), `Apply failed with 1 conflict: ${owner}: ${where}.${field}`, [`${where}.${field}`, owner])
		// The entry lives as long as one of its managers.
		const kept = await applied(client, path, status("parts", []), "driver")
		assert.deepEqual([kept.status.devices[0].conditions, kept.status.devices[0].data, kept.status.devices[0].networkData], [[ready], undefined, undefined])
		const gone = await applied(client, path, status("parts", []), "health")
		assert.equal(gone.status.devices, undefined)
	})

	await test("an entry comes once", async () => {
		const path = await allocate(client, ns, "twice")
		const answer = expect(await apply(client, path, status("twice", [entry(gpu, "d0"), entry(gpu, "d0")]), gpu), 500)
		assert.equal(answer.message, "failed to create typed patch object (/twice; resource.k8s.io/v1, Kind=ResourceClaim): " +
			`.status.devices: duplicate entries for key [device="d0",driver="${gpu}",pool="p"]`)
	})
}

async function versions(client) {
	const ns = await newNamespace(client)
	const flat = (count) => [{ name: "gpu", deviceClassName: gpu, allocationMode: "ExactCount", count }]
	const nested = (count) => [{ name: "gpu", exactly: { deviceClassName: gpu, allocationMode: "ExactCount", count } }]
	const requests = { v1: nested, v1beta2: nested, v1beta1: flat }
	const all = Object.keys(requests)
	const body = (version, count, labels) => ({
		...header("c", version), metadata: { name: "c", ...(labels && { labels }) },
		...(count && { spec: { devices: { requests: requests[version](count) } } }),
	})
	const at = (version) => `${claims(ns, version)}/c`
	const whole = { "f:spec": { "f:devices": { "f:requests": {} } } }

	await test("an apply in one version is the same in another", async () => {
		const made = await applied(client, at("v1beta1"), body("v1beta1", 2), "one", {}, 201)
		assert.equal(made.apiVersion, "resource.k8s.io/v1beta1")
		assert.deepEqual(managers(made), { "one Apply resource.k8s.io/v1beta1": whole })
		for (const version of ["v1beta2", "v1"]) {
			const joined = await applied(client, at(version), body(version, 2), `by-${version}`)
			assert.deepEqual(joined.spec.devices.requests, requests[version](2))
			assert.deepEqual(managers(joined)[`by-${version} Apply resource.k8s.io/${version}`], whole)
		}
		for (const version of all)
			assert.deepEqual(Object.keys(managers(expect(await client.get(at(version)), 200))).sort(),
				["by-v1 Apply resource.k8s.io/v1", "by-v1beta2 Apply resource.k8s.io/v1beta2", "one Apply resource.k8s.io/v1beta1"])
	})

	await test("a manager that changes its version has one entry", async () => {
		for (const version of ["v1", "v1beta2", "v1beta1", "v1"]) {
			const moved = await applied(client, at(version), body(version, 2), "one")
			assert.deepEqual(moved.metadata.managedFields.filter(({ manager }) => manager === "one").map(({ apiVersion }) => apiVersion), [`resource.k8s.io/${version}`])
		}
	})

	await test("conflicts are found across versions", async () => {
		await applied(client, at("v1beta1"), body("v1beta1", undefined, { tier: "front" }), "labels")
		for (const version of all) {
			expectConflict(await apply(client, at(version), body(version, undefined, { tier: "back" }), "other"),
				'Apply failed with 1 conflict: conflict with "labels": .metadata.labels.tier', [".metadata.labels.tier", 'conflict with "labels"'])
			const answer = expectStatus(await apply(client, at(version), body(version, 3), "other"), 409, "Conflict")
			assert.deepEqual([...new Set(answer.details.causes.map(({ field }) => field))], [".spec.devices.requests"])
			assert.equal(answer.details.causes.length, 3)
		}
	})

	await test("a field applied in one version can be dropped in another", async () => {
		const after = await applied(client, at("v1beta2"), body("v1beta2"), "labels")
		assert.equal(after.metadata.labels, undefined)
		assert.ok(!after.metadata.managedFields.some(({ manager }) => manager === "labels"))
	})

	await test("a value that a version would not print is absent in another", async () => {
		const classes = (version) => `/apis/resource.k8s.io/${version}/deviceclasses/versions.example.com`
		const device = (version, spec) => ({ apiVersion: `resource.k8s.io/${version}`, kind: "DeviceClass", metadata: { name: "versions.example.com" }, spec })
		const selectors = [{ cel: { expression: "true" } }]
		await applied(client, classes("v1"), device("v1", { selectors }), "one", {}, 201)
		expectConflict(await apply(client, classes("v1"), device("v1", { selectors: [] }), "two"),
			'Apply failed with 1 conflict: conflict with "one": .spec.selectors', [".spec.selectors", 'conflict with "one"'])
		const after = await applied(client, classes("v1beta2"), device("v1beta2", { selectors: [] }), "two")
		assert.equal(after.spec.selectors, undefined)
		assert.deepEqual(Object.keys(managers(after)), ["two Apply resource.k8s.io/v1beta2"])
	})

	await test("updates have an entry for each version", async () => {
		expect(await client.patch(`${at("v1beta1")}?fieldManager=editor`, { metadata: { labels: { x: "1", z: "1" } } }, "merge"), 200)
		const after = expect(await client.patch(`${at("v1")}?fieldManager=editor`, { metadata: { labels: { x: "2" } } }, "merge"), 200)
		assert.deepEqual(managers(after)["editor Update resource.k8s.io/v1"], { "f:metadata": { "f:labels": { "f:x": {} } } })
		assert.deepEqual(managers(after)["editor Update resource.k8s.io/v1beta1"]["f:metadata"]["f:labels"]["f:z"], {})
		expectConflict(await apply(client, at("v1"), body("v1", undefined, { z: "2" }), "other"),
			'Apply failed with 1 conflict: conflict with "editor" using resource.k8s.io/v1beta1: .metadata.labels.z',
			[".metadata.labels.z", 'conflict with "editor" using resource.k8s.io/v1beta1'])
	})

	await test("drivers of different versions share a status", async () => {
		await allocate(client, ns, "mixed")
		const path = (version) => `${claims(ns, version)}/mixed/status`
		for (const [i, version] of all.entries())
			await applied(client, path(version), status("mixed", [entry(gpu, `d${i}`, { data: { n: i } })], version), version)
		for (const version of all)
			assert.deepEqual(brief(expect(await client.get(path(version)), 200)), [`${gpu}/d0=0`, `${gpu}/d1=1`, `${gpu}/d2=2`])
		const field = `.status.devices[device="d2",driver="${gpu}",pool="p"].data`
		expectConflict(await apply(client, path("v1"), status("mixed", [entry(gpu, "d2", { data: { n: 9 } })]), "other"),
			`Apply failed with 1 conflict: conflict with "v1beta1" with subresource "status": ${field}`, [field, 'conflict with "v1beta1" with subresource "status"'])
		const left = await applied(client, path("v1"), status("mixed", []), "v1beta1")
		assert.deepEqual(brief(left), [`${gpu}/d0=0`, `${gpu}/d1=1`])
	})
}

async function readers(client) {
	const ns = await newNamespace(client)

	await test("readers of protobuf see who manages what", async () => {
		const path = await allocate(client, ns, "packed")
		const object = await applied(client, path, status("packed", [entry(gpu, "d0", { data: { n: 1 } })]), gpu)
		const packed = expectPacked(await client.get(`${claims(ns)}/packed`, { accept: goAccept }), 200, "ResourceClaim")
		assert.deepEqual(packed.metadata.managedFields.map(({ manager, operation, apiVersion, fieldsType, fieldsV1, subresource = "" }) =>
			({ manager, operation, apiVersion, fieldsType, fieldsV1: JSON.parse(fieldsV1.raw), subresource })),
		object.metadata.managedFields.map(({ time, ...rest }) => ({ subresource: "", ...rest })))
		assert.deepEqual(packed.metadata.managedFields.map(({ time }) => time.seconds), object.metadata.managedFields.map(({ time }) => Date.parse(time) / 1000))
		// An answer to an apply, too.
		const again = await apply(client, path, status("packed", [entry(gpu, "d0", { data: { n: 2 } })]), gpu, {}, { accept: goAccept })
		assert.equal(expectPacked(again, 200, "ResourceClaim").metadata.managedFields.length, object.metadata.managedFields.length)
	})
}

async function crash(server) {
	await test("an acknowledged apply survives a crash, with its managers", async () => {
		const ns = await newNamespace(server.client)
		const path = await allocate(server.client, ns, "kept")
		const acknowledged = {}
		const drive = async (driver) => {
			for (let n = 1; ; n++) {
				const answer = await apply(server.client, path, status("kept", [entry(driver, "d0", { data: { n } })]), driver).catch(() => undefined)
				if (!answer)
					return
				expect(answer, 200)
				acknowledged[driver] = n
			}
		}
		const driving = Promise.all([drive(gpu), drive(nic)])
		await until("applies", () => acknowledged[gpu] > 20 && acknowledged[nic] > 20)
		await server.kill()
		await driving
		await server.begin()
		const after = expect(await server.client.get(path), 200)
		for (const driver of [gpu, nic]) {
			const n = Number(brief(after).find((text) => text.startsWith(driver)).split("=")[1])
			assert.ok(n === acknowledged[driver] || n === acknowledged[driver] + 1, `${driver}: ${n} after ${acknowledged[driver]}`)
			assert.deepEqual(Object.keys(managers(after)[`${driver} Apply resource.k8s.io/v1 status`]["f:status"]["f:devices"]), [keyOf(driver, "d0")])
		}
		const field = `.status.devices[device="d0",driver="${gpu}",pool="p"].data`
		expectConflict(await apply(server.client, path, status("kept", [entry(gpu, "d0", { data: { n: 0 } })]), nic),
			`Apply failed with 1 conflict: conflict with "${gpu}" with subresource "status": ${field}`, [field, `conflict with "${gpu}" with subresource "status"`])
		assert.deepEqual(brief(await applied(server.client, path, status("kept", []), gpu)).map((text) => text.split("=")[0]), [`${nic}/d0`])
	})
}

const server = await startServer(backends[0], { flags: unfenced })
for (const part of [drivers, versions, readers])
	await part(server.client)
await crash(server)
await test("the server ends in order", () => server.stop())
finish()
