// The audit policy, what events have, rotation, and the webhook: one that is slow, hangs, dies and comes back.
import assert from "node:assert/strict"
import { once } from "node:events"
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import * as https from "node:https"
import { gunzipSync } from "node:zlib"
import { core, startServer, unique } from "./api_lib.mjs"
import { finish, scratch, start, test, until } from "./lib.mjs"
import { goAccept, media, pack } from "./proto_lib.mjs"
import { makeCertificate } from "./webhook_lib.mjs"

const maps = `${core}/namespaces/default/configmaps`
const head = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"
const read = (file) => readFileSync(file, "utf8").split("\n").filter(Boolean).map(JSON.parse)

function policy(text) {
	const file = `${scratch}/${unique("policy")}.yaml`
	writeFileSync(file, head + text)
	return file
}

// A file is replaced as a whole, as by an editor.
function replace(file, text) {
	writeFileSync(`${file}.new`, text)
	renameSync(`${file}.new`, file)
}

async function metric(server, name) {
	const { text } = await server.client.get("/metrics")
	return Number(new RegExp(`^${name.replace(/[{}]/g, "\\$&")} (\\d+)`, "m").exec(text)?.[1] ?? NaN)
}

// The events of a request, once it has as many.
async function eventsOf(file, { headers }, count = 1) {
	const mine = () => read(file).filter((e) => e.auditID === headers["audit-id"])
	await until(`${count} events of ${headers["audit-id"]}`, () => mine().length >= count)
	return mine()
}

const quick = ["--audit-webhook-batch-max-wait", "100ms", "--audit-webhook-initial-backoff", "100ms"]
const all = ["--audit-policy-file", policy("omitStages: [RequestReceived]\nrules: [{level: RequestResponse, resources: [{resources: [configmaps]}]}]\n")]
const lost = (server, plugin) => metric(server, `apiserver_audit_error_total{plugin="${plugin}"}`)
const create = async (server, n, prefix = unique("b")) => {
	for (let i = 0; i < n; i++)
		assert.equal((await server.client.post(maps, { metadata: { name: `${prefix}-${i}` } })).code, 201)
}

// --- policy --------------------------------------------------------------------------------

const rules = `omitStages: [RequestReceived]
rules:
- {level: None, users: [nobody], resources: [{resources: [configmaps]}]}
- {level: Metadata, resources: [{resources: [secrets, serviceaccounts/token]}]}
- {level: RequestResponse, resources: [{resources: [configmaps]}], verbs: [create, update, get, list, watch, delete], omitManagedFields: true}
- {level: Request, resources: [{resources: [configmaps]}]}
- {level: Metadata, nonResourceURLs: ['/version*'], omitStages: [ResponseComplete]}
- {level: Metadata, nonResourceURLs: ['/api*'], omitStages: []}
`

await test("the policy decides what is recorded of a request", async () => {
	const file = `${scratch}/${unique("audit")}.log`
	const server = await startServer("lmdb", { flags: ["--audit-policy-file", policy(rules), "--audit-log-path", file] })
	const { client } = server

	const made = await client.post(maps, { metadata: { name: "m" }, data: { a: "1\n2" } })
	let [event] = await eventsOf(file, made)
	assert.equal(event.level, "RequestResponse")
	assert.equal(event.stage, "ResponseComplete")
	assert.deepEqual(event.requestObject, { metadata: { name: "m" }, data: { a: "1\n2" } })
	assert.equal(event.responseObject.metadata.uid, made.body.metadata.uid)
	assert.equal(event.responseObject.metadata.managedFields, undefined)
	assert.ok(made.body.metadata.managedFields)
	assert.equal(event.responseStatus.code, 201)
	assert.equal(event.annotations["authorization.k8s.io/decision"], "allow")
	assert.equal(event.annotations["authorization.k8s.io/reason"], "")
	assert.deepEqual(event.user.groups, ["system:masters", "system:authenticated"])

	// A YAML body, and the reply in another form.
	const text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: \"2\"}\n"
	const put = await client.put(`${maps}/m`, text, { type: "yaml", accept: "yaml" });
	[event] = await eventsOf(file, put)
	assert.equal(event.requestObject.data.a, "2")
	assert.equal(event.responseObject.data.a, "2")

	// A list has its objects, a Table or not; a watch has none, and two stages.
	const table = await client.get(maps, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" });
	[event] = await eventsOf(file, table)
	assert.equal(event.responseObject.kind, "ConfigMapList")
	assert.ok(event.responseObject.items.some((it) => it.metadata.name === "m" && !it.metadata.managedFields))
	const watch = await client.watch(`${maps}?watch=1&timeoutSeconds=1`)
	assert.deepEqual((await eventsOf(file, watch, 2)).map((e) => [e.stage, e.responseObject]),
		[["ResponseStarted", undefined], ["ResponseComplete", undefined]])

	// Protobuf, as Go's clients send it, and the options of a deletion.
	const packed = await client.post(maps, pack("v1", "ConfigMap", { metadata: { name: "p" }, data: { a: "1" } }), { type: media, accept: goAccept })
	assert.equal(packed.code, 201);
	[event] = await eventsOf(file, packed)
	assert.deepEqual([event.requestObject.metadata.name, event.requestObject.data, event.responseObject.data], ["p", { a: "1" }, { a: "1" }])
	const { uid, resourceVersion } = event.responseObject.metadata
	const gone = await client.delete(`${maps}/p`, { kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid } });
	[event] = await eventsOf(file, gone)
	assert.equal(event.requestObject.preconditions.uid, uid)
	assert.equal(event.responseObject.status, "Success")
	const stale = await client.put(`${maps}/m`, { metadata: { name: "m", resourceVersion, uid } });
	[event] = await eventsOf(file, stale)
	assert.equal(stale.code, 409)
	assert.deepEqual([event.objectRef.uid, event.objectRef.resourceVersion, event.responseStatus.reason], [uid, resourceVersion, "Conflict"])

	// Level Request.
	const patched = await client.patch(`${maps}/m`, { data: { b: "3" } }, "merge");
	[event] = await eventsOf(file, patched)
	assert.deepEqual(event.requestObject, { data: { b: "3" } })
	assert.equal(event.responseObject, undefined)

	// Level Metadata: a Secret's content is nowhere in the file.
	const secret = await client.post(`${core}/namespaces/default/secrets`, { metadata: { name: "s" }, stringData: { a: "cGVh-hidden" } });
	[event] = await eventsOf(file, secret)
	assert.equal(event.level, "Metadata")
	assert.equal(event.requestObject, undefined)
	assert.equal((await client.post(`${core}/namespaces/default/serviceaccounts`, { metadata: { name: "a" } })).code, 201)
	const token = await client.post(`${core}/namespaces/default/serviceaccounts/a/token`, { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} })
	await eventsOf(file, token)
	assert.ok(!readFileSync(file, "utf8").includes(token.body.status.token))
	assert.ok(!readFileSync(file, "utf8").includes("cGVh-hidden"))

	// A failure has the reason; stages that are omitted are not there; a request without a rule is not there.
	const missing = await client.get(`${maps}/none`);
	[event] = await eventsOf(file, missing)
	assert.equal(event.responseStatus.reason, "NotFound")
	assert.equal(event.responseStatus.status, "Failure")
	assert.equal(event.responseStatus.kind, undefined)
	assert.equal(event.responseObject.kind, "Status")
	const silent = [await client.get("/version"), await client.get("/healthz")]
	await eventsOf(file, await client.get("/api"))
	for (const { headers } of silent)
		assert.ok(!read(file).some((e) => e.auditID === headers["audit-id"]))
	assert.ok(await metric(server, "apiserver_audit_level_total{level=\"RequestResponse\"}") >= 4)
	assert.equal(await metric(server, "apiserver_audit_error_total{plugin=\"log\"}"), 0)
	await server.stop()
})

await test("events say who acted for whom, and why that was allowed", async () => {
	const file = `${scratch}/${unique("audit")}.log`
	const tokens = `${scratch}/${unique("tokens")}`
	writeFileSync(tokens, "secret-token,alice,1,\"devs\"\n")
	const server = await startServer("lmdb", { flags: ["--audit-policy-file", policy("rules: [{level: None, users: [nobody]}, {level: Metadata}]\n"),
		"--audit-log-path", file, "--audit-log-mode", "batch", "--token-auth-file", tokens] })
	const alice = server.as({ token: "secret-token" })
	let events = await eventsOf(file, await alice.get(maps), 2)
	assert.deepEqual(events.map((e) => [e.stage, e.user.username]), [["RequestReceived", "alice"], ["ResponseComplete", "alice"]])
	assert.equal(events[1].annotations["authorization.k8s.io/decision"], "forbid")
	assert.equal(events[1].responseStatus.reason, "Forbidden")

	const rbac = "/apis/rbac.authorization.k8s.io/v1"
	const grant = await server.client.post(`${rbac}/clusterrolebindings`, { metadata: { name: "devs" },
		roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
		subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "devs" }] })
	assert.equal(grant.code, 201)
	for (let i = 0; i < 3; i++) {
		const got = await alice.get(maps)
		assert.equal(got.code, 200);
		[, events] = await eventsOf(file, got, 2)
		assert.equal(events.annotations["authorization.k8s.io/reason"], "RBAC: allowed by ClusterRoleBinding \"devs\" of ClusterRole \"view\" to Group \"devs\"")
	}
	const acting = await server.client.get(maps, { headers: { "impersonate-user": "bob", "impersonate-group": "devs", "impersonate-extra-scopes": "a" } })
	assert.equal(acting.code, 200);
	[, events] = await eventsOf(file, acting, 2)
	assert.deepEqual(events.impersonatedUser, { username: "bob", groups: ["devs", "system:authenticated"], extra: { scopes: ["a"] } })
	assert.ok(events.user.groups.includes("system:masters"))

	// A stranger has no user that a rule could name, and is recorded by the rule for all.
	const refused = await server.as({ token: "wrong" }).get(maps)
	assert.equal(refused.code, 401)
	const [stranger] = await eventsOf(file, refused)
	assert.equal(stranger.objectRef.resource, "configmaps")
	assert.equal(stranger.responseStatus.code, 401)
	await server.stop()
})

await test("the policy is read again when it changes, and a faulty one is not taken", async () => {
	const file = `${scratch}/${unique("audit")}.log`, rule = policy("rules: [{level: None}]\n")
	const server = await startServer("lmdb", { flags: ["--audit-policy-file", rule, "--audit-log-path", file, "--io-threads", "3"] })
	const level = async () => {
		const { headers } = await server.client.get("/version")
		return read(file).find((e) => e.auditID === headers["audit-id"])?.level
	}
	assert.equal(await level(), undefined)
	replace(rule, `${head}rules: [{level: Metadata, omitStages: [ResponseComplete]}]\n`)
	await until("level Metadata", async () => await level() === "Metadata")
	replace(rule, `${head}rules: [{level: Metdata}]\n`)
	await until("a complaint", () => /the new audit policy is faulty.*rules\[0\]\.level: Unsupported value/.test(server.process.err))
	assert.equal(await level(), "Metadata")
	replace(rule, `${head}rules: [{level: Request, omitStages: [ResponseComplete]}]\n`)
	await until("level Request", async () => await level() === "Request")
	await server.stop()

	// At the start a faulty policy is an error that names the file and the field.
	replace(rule, `${head}rules: [{level: None, verb: [get]}]\n`)
	const failed = start("server", "--data-dir", `${scratch}/${unique("bad")}`, "--secure-port", "0", "--audit-policy-file", rule, "--audit-log-path", file)
	assert.equal((await failed.ended).code, 1)
	assert.match(failed.err, new RegExp(`${rule}: rules\\[0\\]\\.verb: Forbidden: unknown field`))
	const alone = start("server", "--audit-policy-file", rule)
	assert.notEqual((await alone.ended).code, 0)
	assert.match(alone.err, /--audit-policy-file needs --audit-log-path/)
})

// --- file ----------------------------------------------------------------------------------

await test("the file is rotated, and older ones are compressed and removed", async () => {
	const folder = `${scratch}/${unique("logs")}`
	mkdirSync(folder)
	writeFileSync(`${folder}/audit-notes.log`, "not ours")
	const server = await startServer("lmdb", { flags: ["--audit-policy-file", policy("rules: [{level: Request, resources: [{resources: [configmaps]}]}]\n"),
		"--audit-log-path", `${folder}/audit.log`, "--audit-log-maxsize", "1", "--audit-log-maxbackup", "2", "--audit-log-compress"] })
	for (let i = 0; i < 12; i++)
		await Promise.all([0, 1, 2].map((k) => server.client.post(maps, { metadata: { name: `m${i}-${k}` }, data: { a: "x".repeat(200000) } })))
	const older = () => readdirSync(folder).filter((name) => name !== "audit.log" && name !== "audit-notes.log")
	await until("two compressed files", () => older().length === 2 && older().every((name) => name.endsWith(".gz")))
	for (const name of older()) {
		assert.match(name, /^audit-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}\.log\.gz$/)
		const lines = gunzipSync(readFileSync(`${folder}/${name}`)).toString().split("\n").filter(Boolean).map(JSON.parse)
		assert.ok(lines.length >= 2 && lines.every((e) => e.kind === "Event"))
	}
	assert.equal(readFileSync(`${folder}/audit-notes.log`, "utf8"), "not ours")
	assert.equal(await metric(server, "apiserver_audit_error_total{plugin=\"log\"}"), 0)
	await server.stop()
})

await test("objects that are too large are left out, and the event says so", async () => {
	const file = `${scratch}/${unique("audit")}.log`
	const hook = await startReceiver()
	const server = await startServer("lmdb", { flags: [...all, ...quick, "--audit-log-path", file, "--audit-webhook-config-file", hook.kubeconfig(),
		"--audit-log-truncate-enabled", "--audit-log-truncate-max-event-size", "5000"] })
	const made = await server.client.post(maps, { metadata: { name: "large" }, data: { a: "x".repeat(5000) } })
	const [event] = await eventsOf(file, made)
	assert.deepEqual([event.requestObject, event.responseObject, event.annotations["audit.k8s.io/truncated"]], [undefined, undefined, "true"])
	await until("the whole event", () => hook.events.some((e) => e.requestObject?.data.a.length === 5000))

	// A list of more than 4 MiB.
	for (let i = 0; i < 5; i++)
		assert.equal((await server.client.post(maps, { metadata: { name: `l${i}` }, data: { a: "x".repeat(1000000) } })).code, 201)
	const list = await server.client.get(maps)
	assert.ok(list.raw.length > 5000000)
	await until("the list's event", () => hook.events.some((e) => e.verb === "list" && e.auditID === list.headers["audit-id"]))
	const listed = hook.events.find((e) => e.auditID === list.headers["audit-id"])
	assert.deepEqual([listed.responseObject, listed.annotations["audit.k8s.io/truncated"]], [undefined, "true"])
	await server.stop()
	await hook.close()
})

await test("a full disk costs lines in batch mode, and never a request", async () => {
	const server = await startServer("lmdb", { flags: ["--audit-log-path", "/dev/full", "--audit-log-mode", "batch"] })
	for (let i = 0; i < 10; i++)
		assert.equal((await server.client.post(maps, { metadata: { name: `m${i}` } })).code, 201)
	await until("lost lines", async () => await metric(server, "apiserver_audit_error_total{plugin=\"log\"}") >= 10)
	await server.stop()
})

// --- webhook -------------------------------------------------------------------------------

// A receiver of events. `state.mode`: answers, fails, or hangs.
async function startReceiver(options = {}) {
	const certificate = options.certificate ?? makeCertificate()
	const self = { lists: [], events: [], headers: [], mode: "answers", open: 0 }
	self.server = https.createServer({ cert: certificate.cert, key: certificate.key, ...options.tls }, async (request, response) => {
		const chunks = []
		for await (const chunk of request)
			chunks.push(chunk)
		if (self.mode === "hangs")
			return
		self.headers.push({ ...request.headers, method: request.method, url: request.url, peer: request.socket.getPeerCertificate?.()?.subject?.CN })
		if (self.mode === "fails") {
			response.statusCode = 500
			response.end("no")
			return
		}
		const list = JSON.parse(Buffer.concat(chunks).toString())
		self.lists.push(list)
		self.events.push(...list.items)
		response.end()
	})
	self.listen = async (port = 0) => {
		self.server.listen(port, "127.0.0.1")
		await once(self.server, "listening")
		self.port = self.server.address().port
	}
	self.close = async () => {
		self.server.closeAllConnections()
		const closed = once(self.server, "close")
		self.server.close()
		await closed
	}
	await self.listen()
	self.kubeconfig = (user = {}, path = "/events") => {
		const file = `${scratch}/${unique("hook")}.json`
		writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "Config", "current-context": "c",
			contexts: [{ name: "c", context: { cluster: "c", user: "u" } }], users: [{ name: "u", user }],
			clusters: [{ name: "c", cluster: { server: `https://127.0.0.1:${self.port}${path}`, "certificate-authority-data": certificate.ca.toString("base64") } }] }))
		return file
	}
	return self
}

await test("the webhook gets batches of events, with the credentials of the kubeconfig", async () => {
	const first = await startServer("lmdb")
	await first.stop()
	const hook = await startReceiver({ tls: { requestCert: true, rejectUnauthorized: true, ca: first.credentials.ca } })
	const user = { token: "hook-token", "client-certificate-data": first.credentials.cert.toString("base64"), "client-key-data": first.credentials.key.toString("base64") }
	const server = await startServer("lmdb", { folder: first.folder, flags: [...all, ...quick, "--audit-webhook-config-file", hook.kubeconfig(user), "--audit-webhook-batch-max-size", "5"] })
	await create(server, 12)
	await until("all events", () => hook.events.length === 12)
	assert.ok(hook.lists.every((list) => list.kind === "EventList" && list.apiVersion === "audit.k8s.io/v1" && list.items.length <= 5))
	assert.ok(hook.lists.length < 12)
	assert.ok(hook.events.every((e) => !e.kind && e.requestObject && e.responseObject && e.stage === "ResponseComplete"))
	assert.ok(hook.headers.every((h) => h.method === "POST" && h.url === "/events" && h.authorization === "Bearer hook-token" && h.peer))
	// Events that wait when the server stops are sent.
	const before = hook.events.length
	await create(server, 3)
	await server.stop()
	assert.equal(hook.events.length, before + 3)
	await hook.close()
})

await test("events wait while the webhook is away, and are sent again", async () => {
	const hook = await startReceiver()
	const server = await startServer("lmdb", { flags: [...all, ...quick, "--audit-webhook-config-file", hook.kubeconfig({}, ""), "--audit-webhook-initial-backoff", "500ms"] })
	await create(server, 2)
	await until("two events", () => hook.events.length === 2)
	assert.equal(hook.headers[0].url, "/")
	const { port } = hook
	await hook.close()
	await create(server, 5)
	await hook.listen(port)
	await until("the others", () => hook.events.length === 7)
	hook.mode = "fails"
	await create(server, 1)
	await until("a failure", () => hook.headers.length > hook.lists.length)
	hook.mode = "answers"
	await until("the last", () => hook.events.length === 8)
	assert.equal(await lost(server, "webhook"), 0)
	await server.stop()
	await hook.close()
})

await test("events that a dead webhook does not take are counted, and no request waits", async () => {
	const hook = await startReceiver()
	hook.mode = "fails"
	const server = await startServer("lmdb", { flags: [...all, "--audit-webhook-config-file", hook.kubeconfig(), "--audit-webhook-mode", "blocking", "--audit-webhook-initial-backoff", "10ms"] })
	await create(server, 4)
	await until("four lost events", async () => await lost(server, "webhook") === 4)
	assert.equal(hook.headers.length, 4 * 5)
	assert.match(server.process.err, /cannot send events to the audit webhook/)
	await server.stop()
	await hook.close()
})

await test("a webhook that hangs fills a bounded buffer", async () => {
	const hook = await startReceiver()
	hook.mode = "hangs"
	const server = await startServer("lmdb", { flags: [...all, ...quick, "--audit-webhook-config-file", hook.kubeconfig(), "--audit-webhook-batch-buffer-size", "10"] })
	const begun = Date.now()
	await create(server, 30)
	assert.ok(Date.now() - begun < 15000)
	await until("lost events", async () => await lost(server, "buffered") >= 20)
	assert.equal(await lost(server, "buffered"), 20)
	assert.equal(server.process.err.match(/an audit buffer is full/g).length, 1)
	hook.mode = "answers"
	await server.stop() // waits 5 s for the hanging deliveries
	await hook.close()
})

finish()
