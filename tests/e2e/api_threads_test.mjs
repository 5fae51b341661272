// A server with several I/O threads: whatever connection a request is on, and so whichever thread decides about it,
// it sees every write that was acknowledged before, and has the rights that hold then.
import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { backends, configMap, core, dra, expect, expectStatus, newNamespace, paths, pod, rv, startServer, unique } from "./api_lib.mjs"
import { finish, scratch, test } from "./lib.mjs"

const rbac = "/apis/rbac.authorization.k8s.io/v1"
const apiGroup = "rbac.authorization.k8s.io"
const threads = 4

// The server gives connections to its threads in turn: twice as many are some on each.
const connections = 2 * threads

async function connect(server, credentials) {
	const all = Array.from({ length: connections }, () => server.as(credentials))
	await Promise.all(all.map((client) => client.get("/version")))
	return all
}

// Sends the same request on all connections at once; resolves to the codes, each once.
async function codes(clients, path, options) {
	const answers = await Promise.all(clients.map((client) => client.get(path, options)))
	return [...new Set(answers.map(({ code }) => code))].join(" ")
}

// The message of a rejection, which is the same on all connections, however often it is sent.
async function rejection(clients, path, code, reason, options) {
	const messages = new Set()
	for (let i = 0; i < 2; i++)
		for (const answer of await Promise.all(clients.map((client) => client.get(path, options))))
			messages.add(expectStatus(answer, code, reason).message)
	assert.equal(messages.size, 1, [...messages].join("\n"))
	return [...messages][0]
}

const rules = (verbs, resources, names) => [{ apiGroups: [""], verbs, resources, ...(names && { resourceNames: names }) }]
const binding = (name, kind, role, subjects) => ({ metadata: { name }, roleRef: { apiGroup, kind, name: role }, subjects })
const user = (name) => ({ apiGroup, kind: "User", name })

async function begin(backend) {
	const tokens = `${scratch}/${unique("tokens")}.csv`
	writeFileSync(tokens, "token-ann,ann,u1,\"team\"\ntoken-bob,bob,u2,\"team\"\n")
	const server = await startServer(backend, { flags: ["--token-auth-file", tokens, "--io-threads", String(threads)] })
	server.ann = await connect(server, { token: "token-ann" })
	server.bob = await connect(server, { token: "token-bob" })
	server.admins = await connect(server, { cert: server.credentials.cert, key: server.credentials.key })
	return server
}

// --- reads -----------------------------------------------------------------------------------

async function reads(say, { admins, client2, ann, client }) {
	const clients = [...admins, client2]

	await test(say("a read sees every write that was acknowledged on another connection"), async () => {
		const { configMaps } = paths(await newNamespace(client))
		for (let i = 0; i < 60; i++) {
			const writer = clients[i % clients.length], path = `${configMaps}/m${i % 7}`
			const made = expect(await writer.post(configMaps, configMap(`m${i % 7}`, { i: String(i) })), 201)
			const see = async (object) => {
				for (const answer of await Promise.all(clients.map((reader) => reader.get(path))))
					assert.deepEqual(expect(answer, 200), object)
			}
			await see(made)
			await see(expect(await writer.put(path, { ...made, data: { i: `${i} again` } }), 200))
			expect(await writer.delete(path), 200)
			assert.equal(await codes(clients, path), "404")
		}
	})

	await test(say("readers never see an object grow younger"), async () => {
		const { configMaps } = paths(await newNamespace(client))
		const path = `${configMaps}/one`
		let object = expect(await client.post(configMaps, configMap("one")), 201), acknowledged = rv(object), over = false
		const reading = clients.map(async (reader) => {
			let last = 0n, n = 0
			while (!over) {
				const least = acknowledged, seen = rv(expect(await reader.get(path), 200))
				assert.ok(seen >= least && seen >= last, `${seen} after ${least} was acknowledged and ${last} was seen`)
				last = seen
				n++
			}
			return n
		})
		for (let i = 0; i < 200; i++) {
			object = expect(await clients[i % clients.length].put(path, { ...object, data: { i: String(i) } }), 200)
			acknowledged = rv(object)
		}
		over = true
		console.log(`# ${(await Promise.all(reading)).reduce((a, b) => a + b)} reads of 200 versions`)
	})

	await test(say("a read may name a resourceVersion"), async () => {
		const { configMaps } = paths(await newNamespace(client))
		const made = expect(await client.post(configMaps, configMap("one")), 201)
		for (const version of ["", "0", made.metadata.resourceVersion])
			assert.equal(await codes(clients, `${configMaps}/one?resourceVersion=${version}`), "200")
		const { message, details } = expectStatus(await admins[0].get(`${configMaps}/one?resourceVersion=${rv(made) + 100000n}`), 504, "Timeout")
		assert.match(message, /^Timeout: Too large resource version/)
		assert.equal(details.causes[0].reason, "ResourceVersionTooLarge")
		assert.equal(await codes(clients, `${configMaps}/one?resourceVersion=x`), "400")
	})

	await test(say("an object that is not there is not found"), async () => {
		const ns = await newNamespace(client), { configMaps } = paths(ns)
		assert.equal(await rejection(clients, `${configMaps}/none`, 404, "NotFound"), 'configmaps "none" not found')
		assert.equal(await rejection(clients, `${configMaps}/${"x".repeat(600)}`, 404, "NotFound"), `configmaps "${"x".repeat(600)}" not found`)
		assert.equal(await rejection(clients, `${core}/namespaces/${ns}/nosuch/none`, 404, "NotFound"), "the server could not find the requested resource")
		assert.equal(await rejection(ann, `${configMaps}/none`, 403, "Forbidden"),
			`configmaps "none" is forbidden: User "ann" cannot get resource "configmaps" in API group "" in the namespace "${ns}"`)
	})

	await test(say("a read has the form that the client asks for"), async () => {
		const ns = await newNamespace(client), { configMaps } = paths(ns)
		expect(await client.post(configMaps, configMap("one")), 201)
		for (const reader of clients) {
			const table = expect(await reader.get(`${configMaps}/one`, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" }), 200)
			assert.equal(table.rows[0].cells[0], "one")
			const yaml = await reader.get(`${configMaps}/one`, { accept: "yaml" })
			assert.match(yaml.text, /^apiVersion: v1$/m)
			const binary = await reader.get(`${configMaps}/one`, { accept: "application/vnd.kubernetes.protobuf" })
			assert.equal(binary.raw.subarray(0, 4).toString("latin1"), "k8s\0")
			assert.match(binary.headers["audit-id"], /^[0-9a-f-]{36}$/)
			assert.equal(expect(await reader.get(`${core}/namespaces/${ns}`), 200).metadata.name, ns)
		}
	})
}

// --- rights ----------------------------------------------------------------------------------

// Gives and takes a right, and looks on all connections after each acknowledgement.
async function seenAtOnce(clients, path, give, take, rounds) {
	for (let i = 0; i < rounds; i++) {
		await give()
		assert.equal(await codes(clients, path), "200", `round ${i}, given`)
		assert.equal(await codes(clients, path), "200", `round ${i}, given`)
		await take()
		assert.equal(await codes(clients, path), "403", `round ${i}, taken`)
	}
}

async function rights(say, { client, ann, bob }) {
	await test(say("a right is given and taken on all connections with the acknowledgement"), async () => {
		const ns = await newNamespace(client), { configMaps } = paths(ns), path = `${configMaps}/one`
		const roles = `${rbac}/namespaces/${ns}/roles`, bindings = `${rbac}/namespaces/${ns}/rolebindings`
		const name = unique("reader"), wide = `${rbac}/clusterrolebindings`, wideRoles = `${rbac}/clusterroles`
		expect(await client.post(configMaps, configMap("one")), 201)
		expect(await client.post(roles, { metadata: { name: "reader" }, rules: rules(["get"], ["configmaps"]) }), 201)
		expect(await client.post(wideRoles, { metadata: { name }, rules: rules(["get"], ["configmaps"]) }), 201)
		assert.equal(await codes(ann, path), "403")

		await seenAtOnce(ann, path,
			async () => expect(await client.post(bindings, binding("ann", "Role", "reader", [user("ann")])), 201),
			async () => expect(await client.delete(`${bindings}/ann`), 200), 15)
		await seenAtOnce(ann, path,
			async () => expect(await client.post(wide, binding(name, "ClusterRole", name, [user("ann")])), 201),
			async () => expect(await client.delete(`${wide}/${name}`), 200), 15)

		expect(await client.post(bindings, binding("ann", "Role", "reader", [user("ann")])), 201)
		const setRules = async (list) => expect(await client.patch(`${roles}/reader`, { rules: list }, "merge"), 200)
		await seenAtOnce(ann, path, () => setRules(rules(["get"], ["configmaps"])), () => setRules(rules(["list"], ["configmaps"])), 10)
		await seenAtOnce(ann, path, () => setRules(rules(["get"], ["configmaps"])), () => setRules(rules(["get"], ["configmaps"], ["two"])), 10)
		const setSubjects = async (...subjects) => expect(await client.patch(`${bindings}/ann`, { subjects }, "merge"), 200)
		await setRules(rules(["get"], ["configmaps"]))
		await seenAtOnce(ann, path, () => setSubjects({ apiGroup, kind: "Group", name: "team" }), () => setSubjects(user("carl")), 10)
		await seenAtOnce(ann, path, () => setSubjects(user("ann"), user("bob")), () => setSubjects(user("bob")), 10)
		assert.equal(await codes(bob, path), "200")
		expect(await client.delete(`${roles}/reader`), 200)
		assert.equal(await codes(bob, path), "403")
	})

	await test(say("no request that begins after the acknowledgement has a right that was taken away"), async () => {
		const ns = await newNamespace(client), { configMaps } = paths(ns)
		const roles = `${rbac}/namespaces/${ns}/roles`, bindings = `${rbac}/namespaces/${ns}/rolebindings`
		expect(await client.post(configMaps, configMap("one")), 201)
		expect(await client.post(roles, { metadata: { name: "reader" }, rules: rules(["get"], ["configmaps"]) }), 201)
		// 200 or 403 while no write of the binding is under way; else 0.
		let expected = 403, version = 0, over = false
		const counts = { 200: 0, 403: 0 }
		const reading = ann.map(async (reader) => {
			while (!over) {
				const [code, since] = [expected, version]
				const answer = await reader.get(`${configMaps}/one`)
				assert.ok(answer.code === 200 || answer.code === 403, answer.text)
				if (code && version === since)
					assert.equal(answer.code, code)
				counts[answer.code]++
			}
		})
		const change = async (code, write) => {
			expected = 0
			version++
			await write()
			expected = code
			await Promise.all(Array.from({ length: 3 }, () => bob[0].get("/version")))
		}
		for (let i = 0; i < 100; i++) {
			await change(200, async () => expect(await client.post(bindings, binding("ann", "Role", "reader", [user("ann")])), 201))
			await change(403, async () => expect(await client.delete(`${bindings}/ann`), 200))
		}
		over = true
		await Promise.all(reading)
		assert.ok(counts[200] > 100 && counts[403] > 100, JSON.stringify(counts))
		console.log(`# ${counts[200]} allowed, ${counts[403]} forbidden`)
	})

	await test(say("a right is for its user, verb, resource, names and namespace only"), async () => {
		const ns = await newNamespace(client), other = await newNamespace(client), { configMaps } = paths(ns)
		const roles = `${rbac}/namespaces/${ns}/roles`, bindings = `${rbac}/namespaces/${ns}/rolebindings`
		for (const name of ["one", "two"])
			for (const where of [ns, other])
				expect(await client.post(paths(where).configMaps, configMap(name)), 201)
		expect(await client.post(roles, { metadata: { name: "reader" }, rules: rules(["get"], ["configmaps"], ["one"]) }), 201)
		expect(await client.post(bindings, binding("ann", "Role", "reader", [user("ann")])), 201)
		for (let i = 0; i < 3; i++) {
			assert.equal(await codes(ann, `${configMaps}/one`), "200")
			assert.equal(await codes(ann, `${configMaps}/two`), "403")
			assert.equal(await codes(ann, configMaps), "403")
			assert.equal(await codes(ann, `${configMaps}?fieldSelector=metadata.name%3Done`), "403")
			assert.equal(await codes(ann, `${configMaps}?watch=true&fieldSelector=metadata.name%3Done`), "403")
			assert.equal(await codes(ann, `${paths(other).configMaps}/one`), "403")
			assert.equal(await codes(ann, `${core}/namespaces/${ns}/secrets/one`), "403")
			assert.equal(await codes(ann, `${dra}/namespaces/${ns}/resourceclaims/one`), "403")
			assert.equal(await codes(bob, `${configMaps}/one`), "403")
			for (const writer of ann)
				expectStatus(await writer.delete(`${configMaps}/one`), 403, "Forbidden")
		}
	})

	await test(say("lists, watches and writes have the same rights"), async () => {
		const ns = await newNamespace(client), { configMaps } = paths(ns)
		const roles = `${rbac}/namespaces/${ns}/roles`, bindings = `${rbac}/namespaces/${ns}/rolebindings`
		expect(await client.post(roles, { metadata: { name: "all" }, rules: rules(["list", "watch", "create", "delete"], ["configmaps"]) }), 201)
		const refused = new Set()
		for (let i = 0; i < 10; i++) {
			expect(await client.post(bindings, binding("ann", "Role", "all", [user("ann")])), 201)
			await Promise.all(ann.map(async (writer, k) => {
				expect(await writer.post(configMaps, configMap(`m${k}`)), 201)
				expect(await writer.get(configMaps), 200)
				const watch = await writer.watch(`${configMaps}?watch=true`)
				assert.equal(watch.code, 200)
				watch.close()
				expect(await writer.delete(`${configMaps}/m${k}`), 200)
			}))
			expect(await client.delete(`${bindings}/ann`), 200)
			const answers = await Promise.all(ann.flatMap((writer) => [writer.post(configMaps, configMap("late")), writer.get(configMaps),
				writer.get(`${configMaps}?watch=true`), writer.delete(`${configMaps}/m0`)]))
			answers.forEach((answer) => refused.add(expectStatus(answer, 403, "Forbidden").message))
		}
		const text = (what, verb) => `configmaps ${what}is forbidden: User "ann" cannot ${verb} resource "configmaps" in API group "" in the namespace "${ns}"`
		assert.deepEqual([...refused].sort(), [text("", "create"), text("", "list"), text("", "watch"), text('"m0" ', "delete")].sort())
	})
}

// --- users -----------------------------------------------------------------------------------

async function users(say, server) {
	const { client, ann, bob, admins } = server

	await test(say("users without credentials, and with wrong ones, get what they always get"), async () => {
		const { configMaps } = paths(await newNamespace(client))
		expect(await client.post(configMaps, configMap("one")), 201)
		const nobody = await connect(server, {}), liar = await connect(server, { token: "nonsense" })
		assert.match(await rejection(nobody, `${configMaps}/one`, 403, "Forbidden"), /User "system:anonymous" cannot get resource "configmaps"/)
		assert.equal(await rejection(nobody, "/metrics", 403, "Forbidden"), 'forbidden: User "system:anonymous" cannot get path "/metrics"')
		assert.equal(await rejection(nobody, "/apis", 403, "Forbidden"), 'forbidden: User "system:anonymous" cannot get path "/apis"')
		assert.equal(await rejection(liar, `${configMaps}/one`, 401, "Unauthorized"), "Unauthorized")
		for (let i = 0; i < 3; i++) {
			assert.equal(await codes(nobody, "/version"), "200")
			assert.equal(await codes(ann, "/apis"), "200")
			assert.equal(await codes(ann, "/api/v1"), "200")
			assert.equal(await codes(ann, "/metrics"), "403")
			assert.equal(await codes(admins, "/metrics"), "200")
		}
	})

	await test(say("an impersonated user has no right of the user behind"), async () => {
		const ns = await newNamespace(client), { configMaps } = paths(ns), path = `${configMaps}/one`
		const roles = `${rbac}/namespaces/${ns}/roles`, bindings = `${rbac}/namespaces/${ns}/rolebindings`
		expect(await client.post(configMaps, configMap("one")), 201)
		expect(await client.post(roles, { metadata: { name: "reader" }, rules: rules(["get"], ["configmaps"]) }), 201)
		expect(await client.post(bindings, binding("bob", "Role", "reader", [user("bob")])), 201)
		const asAnn = { headers: { "impersonate-user": "ann" } }, asBob = { headers: { "impersonate-user": "bob" } }
		for (let i = 0; i < 3; i++) {
			assert.equal(await codes(admins, path), "200")
			assert.equal(await codes(bob, path), "200")
			assert.match(await rejection(admins, path, 403, "Forbidden", asAnn), /User "ann" cannot get/)
			assert.equal(await codes(admins, path, asBob), "200")
			assert.equal(await rejection(bob, path, 403, "Forbidden", asAnn),
				'users "ann" is forbidden: User "bob" cannot impersonate resource "users" in API group "" at the cluster scope')
			assert.match(await rejection(ann, path, 403, "Forbidden", asBob), /User "ann" cannot impersonate/)
			assert.match(await rejection(ann, path, 403, "Forbidden"), /User "ann" cannot get/)
		}
	})

	await test(say("a token ends on all connections with what it is bound to"), async () => {
		const ns = await newNamespace(client), { configMaps, pods } = paths(ns), path = `${configMaps}/one`
		const accounts = `${core}/namespaces/${ns}/serviceaccounts`
		const subject = { kind: "ServiceAccount", name: "robot", namespace: ns }
		expect(await client.post(configMaps, configMap("one")), 201)
		expect(await client.post(`${rbac}/namespaces/${ns}/roles`, { metadata: { name: "reader" }, rules: rules(["get"], ["configmaps"]) }), 201)
		expect(await client.post(`${rbac}/namespaces/${ns}/rolebindings`, binding("robot", "Role", "reader", [subject])), 201)
		const tokenOf = async (boundObjectRef) => {
			const { status } = expect(await client.post(`${accounts}/robot/token`, { spec: { boundObjectRef } }), 201)
			return status.token
		}
		for (let i = 0; i < 8; i++) {
			expect(await client.post(accounts, { metadata: { name: "robot" } }), 201)
			const made = expect(await client.post(pods, { ...pod("p"), spec: { ...pod("p").spec, serviceAccountName: "robot" } }), 201)
			const secret = expect(await client.post(`${core}/namespaces/${ns}/secrets`, { metadata: { name: "s" } }), 201)
			const ofAccount = await connect(server, { token: await tokenOf() })
			const ofPod = await connect(server, { token: await tokenOf({ apiVersion: "v1", kind: "Pod", name: "p", uid: made.metadata.uid }) })
			const ofSecret = await connect(server, { token: await tokenOf({ apiVersion: "v1", kind: "Secret", name: "s", uid: secret.metadata.uid }) })
			for (const clients of [ofAccount, ofPod, ofSecret, ofAccount, ofPod, ofSecret])
				assert.equal(await codes(clients, path), "200")
			expect(await client.delete(`${pods}/p?gracePeriodSeconds=0`), 200)
			assert.equal(await rejection(ofPod, path, 401, "Unauthorized"), "Unauthorized")
			assert.equal(await codes(ofSecret, path), "200")
			expect(await client.delete(`${core}/namespaces/${ns}/secrets/s`), 200)
			assert.equal(await codes(ofSecret, path), "401")
			assert.equal(await codes(ofAccount, path), "200")
			expect(await client.delete(`${accounts}/robot`), 200)
			assert.equal(await codes(ofAccount, path), "401")
			expect(await client.post(accounts, { metadata: { name: "robot" } }), 201)
			assert.equal(await codes(ofAccount, path), "401", "another account of that name")
			expect(await client.delete(`${accounts}/robot`), 200)
			for (const one of [...ofAccount, ...ofPod, ...ofSecret])
				one.close()
		}
	})
}

for (const backend of backends) {
	const say = (name) => `${backend}: ${name}`
	const server = await begin(backend)
	await reads(say, server)
	await rights(say, server)
	await users(say, server)
	await test(say("the server ends in order"), () => server.stop())
}
finish()
