// Rights to write parts of a claim's status: the KEP's right on `drivers` and upstream's on resourceclaims/driver,
// by the node of the claim and of the caller; the binding right; and two drivers that write at once.
import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { backends, causes, claim, core, dra, expect, expectStatus, pod, startServer, unfenced, unique } from "./api_lib.mjs"
import { finish, scratch, test } from "./lib.mjs"

const backend = backends[0]
const rbac = "/apis/rbac.authorization.k8s.io/v1"
const gpu = "gpu.example.com", nic = "nic.example.com"
const namespace = "team", elsewhere = "other"
const nodeName = "authentication.kubernetes.io/node-name"
const results = [gpu, nic].map((driver) => ({ request: "gpu", driver, pool: "p", device: "d0" }))
const entry = (driver, more) => ({ driver, pool: "p", device: "d0", ...more })
const group = "rbac.authorization.k8s.io"

// --- what the matrix is made of ---------------------------------------------------------------

const selects = (...terms) => ({ nodeSelectorTerms: terms })
const byName = (name) => ({ matchFields: [{ key: "metadata.name", operator: "In", values: [name] }] })

// Allocations; `node` if the selector has the one form that names a node.
const claims = {
	"on-a": { selector: selects(byName("a")), node: "a" },
	"on-b": { selector: selects(byName("b")), node: "b" },
	"on-a-or-b": { selector: selects(byName("a"), byName("b")) },
	"by-label": { selector: selects({ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ["a"] }] }) },
	"by-both": { selector: selects({ ...byName("a"), matchExpressions: [{ key: "zone", operator: "Exists" }] }) },
	"not-on-b": { selector: selects({ matchFields: [{ key: "metadata.name", operator: "NotIn", values: ["b"] }] }) },
	anywhere: {},
}

// Rights on the entries of one driver, each in a role of its own.
const rule = (verbs, resources, resourceNames) => ({ verbs, apiGroups: ["resource.k8s.io"], resources, ...(resourceNames && { resourceNames }) })
const verbs = (prefix) => ["update", "patch"].map((verb) => `${prefix}-node:${verb}`)
const rights = {
	"kep-name": { kep: true, rules: [rule(["update-device-status"], ["drivers"], [gpu])] },
	"kep-star": { kep: true, rules: [rule(["update-device-status"], ["drivers"], ["*"])] },
	"kep-all": { kep: true, rules: [rule(["update-device-status"], ["drivers"])] },
	associated: { near: true, rules: [rule(verbs("associated"), ["resourceclaims/driver"], [gpu])] },
	arbitrary: { far: true, rules: [rule(verbs("arbitrary"), ["resourceclaims/driver"], [gpu])] },
	none: { rules: [] },
	"other-driver": { rules: [rule(["update-device-status"], ["drivers"], [nic]), rule(verbs("arbitrary"), ["resourceclaims/driver"], [nic])] },
}

// Callers, by headers of impersonation. `node`: that of a node component; `token`: it comes from a token.
const account = (right, node) => ({
	"impersonate-user": `system:serviceaccount:${namespace}:${right}`, "impersonate-group": ["system:serviceaccounts", "system:authenticated"],
	...(node && { [`impersonate-extra-${encodeURIComponent(nodeName)}`]: node }),
})
const callers = {
	"driver on a": { node: "a", token: true, headers: (right) => account(right, "a") },
	"driver on b": { node: "b", token: true, headers: (right) => account(right, "b") },
	"controller, a service account": { headers: (right) => account(right) },
	"controller, a user": { headers: (right) => ({ "impersonate-user": `user-${right}` }) },
	"node a": { node: "a", headers: (right) => ({ "impersonate-user": "system:node:a", "impersonate-group": ["system:nodes", `nodes-${right}`] }) },
}

// The rules anew, from the words.
function allowed(caller, right, { node }) {
	if (right.kep && !(caller.node && node && caller.node !== node))
		return true
	return Boolean(right.far || (right.near && caller.token && node && caller.node === node))
}

function roleObjects(name, rules, subjects) {
	return [
		[`${rbac}/clusterroles`, { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata: { name }, rules }],
		[`${rbac}/clusterrolebindings`, {
			apiVersion: `${group}/v1`, kind: "ClusterRoleBinding", metadata: { name }, roleRef: { apiGroup: group, kind: "ClusterRole", name }, subjects,
		}],
	]
}
const user = (name) => ({ kind: "User", name, apiGroup: group })
const statusRule = rule(["get", "update", "patch"], ["resourceclaims", "resourceclaims/status"])

async function begin() {
	const tokens = `${scratch}/${unique("tokens")}.csv`
	writeFileSync(tokens, `token-human,human,u1\ntoken-scheduler,system:kube-scheduler,u2\n`)
	const flags = ["--token-auth-file", tokens, ...unfenced]
	const server = await startServer(backend, { flags })
	const { client } = server
	server.flags = flags
	for (const name of [namespace, elsewhere])
		expect(await client.post(`${core}/namespaces`, { apiVersion: "v1", kind: "Namespace", metadata: { name } }), 201)
	for (const [right, { rules }] of Object.entries(rights)) {
		const subjects = [{ kind: "ServiceAccount", namespace, name: right }, user(`user-${right}`), { kind: "Group", name: `nodes-${right}`, apiGroup: group }]
		for (const [path, object] of roleObjects(right, [statusRule, ...rules], subjects))
			expect(await client.post(path, object), 201)
	}
	return server
}

async function allocate(client, name, selector) {
	const path = `${dra}/namespaces/${namespace}/resourceclaims`
	expect(await client.post(path, claim(name)), 201)
	const status = { allocation: { devices: { results }, nodeSelector: selector } }
	expect(await client.patch(`${path}/${name}/status`, { status }, "merge"), 200)
	return `${path}/${name}/status`
}

let counter = 0
const send = {
	PUT: async (client, path, devices, options) => {
		const current = expect(await client.get(path.replace(/\/status$/, "")), 200)
		return client.put(path, { ...current, status: { ...current.status, devices } }, options)
	},
	merge: (client, path, devices, options) => client.patch(path, { status: { devices } }, "merge", options),
	strategic: (client, path, devices, options) => client.patch(path, { status: { devices } }, "strategic", options),
	patch: (client, path, devices, options) => client.patch(path, [{ op: "add", path: "/status/devices", value: devices }], "patch", options),
}

// --- the matrix ---------------------------------------------------------------------------------

async function matrix(client) {
	for (const [name, { selector }] of Object.entries(claims))
		await allocate(client, name, selector)
	const at = (name) => `${dra}/namespaces/${namespace}/resourceclaims/${name}/status`

	await test("an administrator writes every claim's entries", async () => {
		for (const name of Object.keys(claims))
			for (const way of Object.values(send))
				expect(await way(client, at(name), [entry(gpu, { data: { n: ++counter } }), entry(nic)]), 200)
	})

	for (const [who, caller] of Object.entries(callers)) {
		await test(`${who}: by each right, on each claim, by each kind of write`, async () => {
			for (const [right, grant] of Object.entries(rights)) {
				for (const [name, where] of Object.entries(claims)) {
					const ways = name.startsWith("on-") ? Object.keys(send) : ["merge"]
					for (const way of ways) {
						const answer = await send[way](client, at(name), [entry(gpu, { data: { n: ++counter } }), entry(nic)], { headers: caller.headers(right) })
						const want = allowed(caller, grant, where)
						assert.equal(answer.code, want ? 200 : 422, `${who}, ${right}, ${name}, ${way}: ${answer.text.slice(0, 1000)}`)
						if (!want)
							assert.deepEqual(causes(answer.body), ["FieldValueForbidden status.devices"])
					}
				}
			}
		})
	}

	await test("a refusal names driver, verbs and nodes", async () => {
		const say = async (caller, right, name) => {
			const answer = await send.merge(client, at(name), [entry(gpu, { data: { n: ++counter } }), entry(nic)], { headers: callers[caller].headers(right) })
			return expectStatus(answer, 422, "Invalid").details.causes[0].message
		}
		const far = await say("driver on b", "associated", "on-a")
		assert.match(far, /^Forbidden: changing status\.devices requires resource="resourceclaims\/driver", verb="\[arbitrary-node:patch\]" permission: /)
		assert.match(far, /resourceclaims\.resource\.k8s\.io "gpu\.example\.com" is forbidden: User "system:serviceaccount:team:associated" cannot arbitrary-node:patch/)
		assert.match(far, /claim is on node "a", user is on node "b"$/)
		const near = await say("driver on a", "none", "on-a")
		assert.match(near, /verb="\[associated-node:patch arbitrary-node:patch\]" permission/)
		assert.match(near, /resource="drivers", verb="update-device-status".* User "system:serviceaccount:team:none" cannot update-device-status resource "drivers"/)
		assert.match(near, /claim is on node "a", user is on node "a"$/)
		assert.match(await say("driver on b", "kep-name", "on-a"), /driver "gpu\.example\.com" on the user's own node only; claim is on node "a", user is on node "b"$/)
		assert.match(await say("controller, a user", "none", "anywhere"), /claim is on no single node, user is on no node$/)
	})

	await test("each driver that is touched is asked for, in order, beside what else is wrong", async () => {
		const headers = callers["controller, a user"].headers("other-driver")
		const answer = await send.merge(client, at("on-a"), [entry(gpu, { data: 5 }), entry("zzz.example.com"), entry(nic, { data: { n: ++counter } })], { headers })
		const found = expectStatus(answer, 422, "Invalid").details.causes
		assert.deepEqual(found.map(({ reason, field }) => `${reason} ${field}`), ["FieldValueForbidden status.devices", "FieldValueForbidden status.devices",
			"FieldValueInvalid status.devices[0].data", "FieldValueInvalid status.devices[1]"])
		assert.match(found[0].message, /"gpu\.example\.com" is forbidden/)
		assert.match(found[1].message, /"zzz\.example\.com" is forbidden/)
		// An entry that is taken away is touched; one that is sent as it is, is not.
		const only = await send.merge(client, at("on-a"), [entry(nic, { data: { n: ++counter } })], { headers })
		assert.match(expectStatus(only, 422, "Invalid").message, /"gpu\.example\.com" is forbidden/)
		const { devices } = expect(await client.get(at("on-a")), 200).status
		const own = devices.map((d) => (d.driver === nic ? { ...d, data: { n: ++counter } } : d))
		expect(await send.merge(client, at("on-a"), own.reverse(), { headers }), 200)
	})

	await test("dry runs are judged, and change nothing", async () => {
		const path = `${at("on-a")}?dryRun=All`, before = expect(await client.get(at("on-a")), 200)
		expectStatus(await send.merge(client, path, [], { headers: account("none") }), 422, "Invalid")
		expect(await send.merge(client, path, [], { headers: account("kep-all", "a") }), 200)
		assert.deepEqual(expect(await client.get(at("on-a")), 200), before)
	})

	await test("without the right to write the status there is none to its parts", async () => {
		expectStatus(await send.merge(client, at("on-a"), [], { headers: { "impersonate-user": "nobody" } }), 403, "Forbidden")
	})
}

// --- reviews --------------------------------------------------------------------------------------

async function reviews(client) {
	const ask = async (name, resourceAttributes) => expect(await client.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
		apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview",
		spec: { user: `user-${name}`, resourceAttributes: { group: "resource.k8s.io", ...resourceAttributes } },
	}), 201).status.allowed
	await test("reviews tell of both rights", async () => {
		const kep = (name) => ({ resource: "drivers", verb: "update-device-status", name })
		assert.deepEqual([await ask("kep-name", kep(gpu)), await ask("kep-name", kep(nic)), await ask("kep-all", kep(nic)),
			await ask("kep-star", kep("*")), await ask("none", kep(gpu))], [true, false, true, true, false])
		const upstream = (verb, name) => ({ resource: "resourceclaims", subresource: "driver", namespace, verb, name })
		assert.deepEqual([await ask("associated", upstream("associated-node:update", gpu)), await ask("associated", upstream("arbitrary-node:update", gpu)),
			await ask("arbitrary", upstream("arbitrary-node:patch", gpu)), await ask("arbitrary", upstream("arbitrary-node:patch", nic))], [true, false, true, false])
	})

	await test("drivers are in discovery, for questions about them, and nowhere else", async () => {
		const { resources } = expect(await client.get(dra), 200)
		assert.deepEqual(resources.filter(({ name }) => name.startsWith("drivers")),
			[{ name: "drivers", singularName: "driver", namespaced: false, kind: "Driver", verbs: ["update-device-status"] }])
		const type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
		const groups = expect(await client.get("/apis", { accept: type }), 200).items
		const { versions } = groups.find(({ metadata }) => metadata.name === "resource.k8s.io")
		assert.deepEqual(versions.map(({ version, resources: all }) => [version, all.filter(({ resource }) => resource === "drivers").map((r) => r.verbs)]
			.flat(2).join(" ")), ["v1 update-device-status", ...versions.slice(1).map(({ version }) => version)])
		expect(await client.get(`${dra}/drivers`), 404)
		const { paths } = expect(await client.get("/openapi/v3/apis/resource.k8s.io/v1"), 200)
		assert.ok(!Object.keys(paths).some((path) => path.includes("drivers")))
	})
}

// --- tokens ---------------------------------------------------------------------------------------

// A token of a service account, bound to a pod that runs on `node`.
async function podToken(server, name, node) {
	const { client } = server
	const accounts = `${core}/namespaces/${namespace}/serviceaccounts`
	const made = await client.post(accounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } })
	assert.ok([201, 409].includes(made.code), made.text)
	const running = pod(unique("pod"))
	running.spec = { ...running.spec, serviceAccountName: name, nodeName: node }
	const { metadata } = expect(await client.post(`${core}/namespaces/${namespace}/pods`, running), 201)
	const request = {
		apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest",
		spec: { expirationSeconds: 600, boundObjectRef: { apiVersion: "v1", kind: "Pod", name: metadata.name, uid: metadata.uid } },
	}
	const { status } = expect(await client.post(`${accounts}/${name}/token`, request), 201)
	return server.as({ token: status.token })
}

async function tokens(server) {
	const { client } = server
	for (const name of ["a", "b"])
		expect(await client.post(`${core}/nodes`, { apiVersion: "v1", kind: "Node", metadata: { name } }), 201)

	await test("a pod's token is of its node: it writes there, and nowhere else", async () => {
		const status = await allocate(client, "tokens", selects(byName("a")))
		for (const right of ["kep-name", "associated"]) {
			const here = await podToken(server, right, "a"), there = await podToken(server, right, "b")
			expect(await send.merge(here, status, [entry(gpu, { data: { n: ++counter } })]), 200)
			const refused = expectStatus(await send.PUT(there, status, [entry(gpu, { data: { n: ++counter } })]), 422, "Invalid")
			assert.match(refused.message, /claim is on node \\?"a\\?", user is on node \\?"b\\?"/)
			here.close()
			there.close()
		}
	})
}

// --- allocation -------------------------------------------------------------------------------------

async function bindings(server) {
	const { client } = server
	const human = server.as({ token: "token-human" }), scheduler = server.as({ token: "token-scheduler" })
	const path = `${dra}/namespaces/${namespace}/resourceclaims`
	const reserve = (who, name, n) => who.patch(`${path}/${name}/status`, { status: { reservedFor: [{ resource: "pods", name: "p", uid: `u${n}` }] } }, "merge")
	for (const [at, object] of roleObjects("human", [statusRule], [user("human")]))
		expect(await client.post(at, object), 201)

	await test("allocation and reservedFor need the right to bind, for the whole cluster", async () => {
		const status = await allocate(client, "bound")
		const refusal = expectStatus(await reserve(human, "bound", 1), 422, "Invalid")
		assert.deepEqual(causes(refusal), ["FieldValueForbidden status.allocation"])
		assert.equal(refusal.details.causes[0].message, "Forbidden: changing status.allocation or status.reservedFor requires " +
			'resource="resourceclaims/binding", verb="patch" permission: resourceclaims.resource.k8s.io is forbidden: ' +
			'User "human" cannot patch resource "resourceclaims/binding" in API group "resource.k8s.io" at the cluster scope')
		expectStatus(await human.patch(status, { status: { allocation: null } }, "merge"), 422, "Invalid")
		expect(await human.patch(status, { status: { reservedFor: null } }, "merge"), 200) // as it is: nothing changes
		for (const [at, object] of [
			[`${rbac}/clusterroles`, { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata: { name: "bind" }, rules: [rule(["update", "patch"], ["resourceclaims/binding"])] }],
			[`${rbac}/namespaces/${namespace}/rolebindings`, { apiVersion: `${group}/v1`, kind: "RoleBinding", metadata: { name: "bind" },
				roleRef: { apiGroup: group, kind: "ClusterRole", name: "bind" }, subjects: [user("human")] }],
		])
			expect(await client.post(at, object), 201)
		expectStatus(await reserve(human, "bound", 2), 422, "Invalid")
		expect(await client.post(`${rbac}/clusterrolebindings`, { apiVersion: `${group}/v1`, kind: "ClusterRoleBinding", metadata: { name: "bind" },
			roleRef: { apiGroup: group, kind: "ClusterRole", name: "bind" }, subjects: [user("human")] }), 201)
		expect(await reserve(human, "bound", 3), 200)
	})

	await test("scheduler and claim controller have it; taking an allocation away takes the entries with it", async () => {
		const status = await allocate(client, "scheduled")
		expect(await send.merge(client, status, [entry(gpu), entry(nic)]), 200)
		expect(await reserve(scheduler, "scheduled", 1), 200)
		const controller = { headers: { "impersonate-user": "system:serviceaccount:kube-system:resource-claim-controller" } }
		const after = expect(await client.patch(status, { status: { reservedFor: null, allocation: null } }, "merge", controller), 200)
		assert.equal(after.status?.devices, undefined)
		expect(await scheduler.patch(status, { status: { allocation: { devices: { results } } } }, "merge"), 200)
		expectStatus(await send.merge(scheduler, status, [entry(gpu)]), 422, "Invalid", /arbitrary-node:patch/)
	})
	human.close()
	scheduler.close()
}

// --- two at once ------------------------------------------------------------------------------------

async function together(client) {
	await test("two drivers write their entries at once, with conflicts, and nothing is lost", async () => {
		const rounds = 40, status = await allocate(client, "shared", selects(byName("a")))
		let conflicts = 0
		const drive = async (driver, headers) => {
			for (let n = 1; n <= rounds;) {
				const current = expect(await client.get(status, { headers }), 200)
				const devices = (current.status.devices ?? []).filter((d) => d.driver !== driver)
				const { resourceVersion, uid } = current.metadata
				const body = { metadata: { resourceVersion, uid }, status: { devices: [...devices, entry(driver, { data: { n } })] } }
				const answer = await client.patch(status, body, "merge", { headers })
				if (answer.code === 409) {
					conflicts++
					continue
				}
				const kept = expect(answer, 200).status.devices.find((d) => d.driver !== driver)
				assert.deepEqual(kept, devices[0])
				n++
			}
		}
		await Promise.all([drive(gpu, account("kep-name", "a")), drive(nic, account("other-driver", "a"))])
		const { devices } = expect(await client.get(status), 200).status
		assert.deepEqual(devices.map(({ driver, data }) => [driver, data.n]).sort(), [[gpu, rounds], [nic, rounds]])
		assert.ok(conflicts > 0, "they never met")
	})
}

async function ungated(first) {
	await test("without the gate of these rights, who may write the status may write all of it", async () => {
		await first.stop()
		const { folder, etcd, prefix, flags } = first
		const server = await startServer(backend, { folder, etcd, prefix, flags: [...flags, "--feature-gates", "DRAResourceClaimGranularStatusAuthorization=false"] })
		const human = { headers: { "impersonate-user": "user-none" } }
		const status = `${dra}/namespaces/${namespace}/resourceclaims/on-a/status`
		expect(await send.merge(server.client, status, [entry(gpu, { data: { n: ++counter } })], human), 200)
		expect(await server.client.patch(status, { status: { allocation: null } }, "merge", human), 200)
		await server.stop()
	})
}

const server = await begin()
await matrix(server.client)
await reviews(server.client)
await tokens(server)
await bindings(server)
await together(server.client)
await ungated(server)
finish()
