// Explanations of the API server's own page: they run in a process that has the rights of the session's user, for reading, and nothing
// of the server's. A process is held by a queue of flow control while the test looks at it.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { claim, Client, Client2, core, dra, expect, expectStatus, startServer } from "./api_lib.mjs"
import { finish, scratch, start, test, until } from "./lib.mjs"
import { allow, Browser, explain, explainers, explainsWaitingPod, holdUser, loggedIn, page, refusesToExplain, waitingPod } from "./ui_lib.mjs"

const tokens = `${scratch}/tokens.csv`, audit = `${scratch}/audit.log`
writeFileSync(tokens, `token-alice,alice,u1,"team"\ntoken-carol,carol,u3\n`)

const server = await startServer("lmdb", { flags: ["--token-auth-file", tokens, "--audit-log-path", audit, "--io-threads", "3", "--max-requests-inflight", "10", "--max-mutating-requests-inflight", "10"] })
const { client } = server
const admin = await loggedIn(server, { code: expect(await client.post("/ui/link"), 201).code })
const running = () => explainers(server.process.pid)
const gone = (what) => until(what, () => running().length === 0)

await test("the page learns that the server explains", async () => {
	assert.deepEqual(expect(await new Browser(server).ask("GET", "/ui/clusters"), 200), { clusters: [], explain: true })
	expectStatus(await new Browser(server).ask("POST", "/ui/clusters"), 405, "MethodNotAllowed")
})

await test("a pod and a claim are explained as explain-fit does it, with the rights of the session's user", async () => {
	await waitingPod(client)
	await explainsWaitingPod(server, admin, await loggedIn(server, { token: "token-alice" }))
})

await test("what cannot be explained is said clearly", async () => {
	await refusesToExplain(server, admin)
	expectStatus(await admin.ask("GET", "/ui/explain?namespace=team-a&pod=train", { headers: { "x-devplane-ui": "1", "sec-fetch-site": "cross-site" } }), 403, "Forbidden")
})

await test("the audit log has the request and those of its process, as the user's", async () => {
	const lines = readFileSync(audit, "utf8").trim().split("\n").map((line) => JSON.parse(line)).filter(({ user }) => user.username === "alice")
	const own = lines.filter(({ requestURI }) => requestURI === "/ui/explain?namespace=team-a&pod=train")
	assert.ok(own.some(({ responseStatus }) => responseStatus.code === 200))
	assert.ok(lines.some(({ requestURI, responseStatus }) => requestURI.startsWith(`${dra}/resourceslices`) && responseStatus.code === 200))
	assert.ok(lines.every(({ impersonatedUser }) => !impersonatedUser))
})

// Carol may do everything in one namespace, so that only the pass can forbid it to her process.
await allow(client, "carol", "everything", [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }], "default")
await allow(client, "carol", "reading", [{ apiGroups: ["*"], resources: ["*"], verbs: ["get", "list", "watch", "impersonate"] }])
expect(await client.post(`${dra}/namespaces/default/resourceclaims`, claim("waits")), 201)
const subject = "namespace=default&claim=waits"
const held = await holdUser(server, "carol", "token-carol")

// A session of carol, with an explanation that waits: { browser, answer, process, token }.
async function begin() {
	const browser = await loggedIn(server, { token: "token-carol" }, Client2), before = new Set(running().map(({ pid }) => pid))
	const answer = explain(browser, subject)
	answer.catch(() => {}) // when the browser goes away
	const process = await until("its process", () => running().find(({ pid }) => !before.has(pid)))
	const config = await until("its credentials", () => process.read("fd/0"))
	return { browser, answer, process, token: JSON.parse(config).users[0].user.token }
}

const first = await begin()
const pass = new Client(server.url, { ca: server.credentials.ca, token: first.token })
const ask = (method, path, more = {}) => pass.request(method, path, more)

await test("the process yields to others, and its token is in neither its arguments nor its environment", async () => {
	const { process, token } = first
	await until("low priority", () => process.read("stat").split(") ")[1].split(" ")[16] === "10")
	assert.match(token, /^devplane-pass-[\w-]{43}$/)
	for (const file of ["cmdline", "environ"])
		assert.ok(!process.read(file).includes(token), file)
	assert.deepEqual(process.command.slice(1, 4), ["explain-fit", "claim/waits", "--namespace=default"])
})

await test("the token is good for reading with the user's rights, and for nothing else", async () => {
	// Carol's requests wait for the seat, so refusals would, too: they come before.
	const widgets = `${core}/namespaces/default/configmaps`
	for (const [method, path, more] of [
		["GET", `${widgets}?watch=true`], ["POST", widgets, { body: { metadata: { name: "x" } } }], ["DELETE", `${widgets}/${held.name}-0`],
		["GET", `${core}/namespaces/default/pods/x/log`], ["GET", `${core}/nodes/n1/proxy/`], ["POST", `${core}/namespaces/default/serviceaccounts/default/token`, { body: {} }],
		["GET", widgets, { headers: { "impersonate-user": "alice" } }]])
		expectStatus(await ask(method, path, more), 403, "Forbidden", /token (is for reading only|cannot impersonate)/)
	expectStatus(await ask("GET", `${core}/namespaces/team-a/secrets`, { headers: { authorization: `Bearer ${first.token}x` } }), 401, "Unauthorized")
})

await test("the token is no credential for a login, a link, a session or a review", async () => {
	expectStatus(await ask("POST", "/ui/link"), 401, "Unauthorized")
	expectStatus(await ask("GET", "/ui/session", { headers: page }), 401, "Unauthorized")
	expectStatus(await ask("GET", `/ui/explain?${subject}`, { headers: page }), 401, "Unauthorized")
	expectStatus(await new Browser(server).login({ token: first.token }), 401, "Unauthorized")
	expectStatus(await new Browser(server).login({ code: first.token.slice(-43) }), 401, "Unauthorized")
	const browser = new Browser(server)
	browser.id = first.token.slice(-43)
	expectStatus(await browser.ask("GET", "/ui/session"), 401, "Unauthorized")
	const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: first.token } }
	assert.equal(expect(await client.post("/apis/authentication.k8s.io/v1/tokenreviews", review), 201).status.authenticated ?? false, false)
	const protocol = `base64url.bearer.authorization.k8s.io.${Buffer.from(first.token).toString("base64url")}`
	const socket = { connection: "upgrade", upgrade: "websocket", "sec-websocket-version": "13", "sec-websocket-key": Buffer.alloc(16).toString("base64"), "sec-websocket-protocol": `${protocol}, v5.channel.k8s.io` }
	expectStatus(await new Client(server.url, { ca: server.credentials.ca }).request("GET", `${core}/namespaces/default/pods/x/exec?command=sh`, { headers: socket }), 401, "Unauthorized")
})

await test("a session has one explanation at a time, and there are four in all", async () => {
	const more = [await begin(), await begin(), await begin()]
	expectStatus(await explain(first.browser, subject), 429, "TooManyRequests", /under way/)
	const late = await explain(admin, "namespace=team-a&pod=train")
	expectStatus(late, 429, "TooManyRequests", /under way/)
	assert.equal(late.headers["retry-after"], "1")
	assert.equal(running().length, 4)
	// One that its browser no longer wants ends, and makes room.
	more[0].browser.close()
	await until("three", () => running().length === 3)
	expect(await explain(admin, "namespace=team-a&pod=train"), 200)
	for (const { browser } of more.slice(1))
		browser.close()
	await until("the first alone", () => running().length === 1)
})

await test("an explanation ends with its session, and its token with both", async () => {
	expect(await first.browser.ask("POST", "/ui/logout"), 204)
	expectStatus(await ask("GET", "/api"), 401, "Unauthorized")
	expectStatus(await first.answer, 401, "Unauthorized", /session is over/)
	await gone("the process")
	const second = await begin()
	held.release()
	expect(await second.answer, 200)
	await gone("the second process")
	expectStatus(await client.request("GET", "/api", { headers: { authorization: `Bearer ${second.token}` } }), 401, "Unauthorized")
})

await test("an account's token that is revoked takes its explanations along", async () => {
	const accounts = `${core}/namespaces/default/serviceaccounts`
	expect(await client.post(accounts, { metadata: { name: "robot" } }), 201)
	const { status: { token } } = expect(await client.post(`${accounts}/robot/token`, { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 600 } }), 201)
	const user = "system:serviceaccount:default:robot"
	await allow(client, user, "robot", [{ apiGroups: ["*"], resources: ["*"], verbs: ["get", "list"] }])
	const again = await holdUser(server, user, token)
	const answer = explain(await loggedIn(server, { token }), subject)
	const process = await until("its process", () => running()[0])
	const config = await until("its credentials", () => process.read("fd/0"))
	expect(await client.delete(`${accounts}/robot`), 200)
	expectStatus(await client.request("GET", "/api", { headers: { authorization: `Bearer ${JSON.parse(config).users[0].user.token}` } }), 401, "Unauthorized")
	expectStatus(await answer, 401, "Unauthorized", /session is over/)
	again.release()
})

await test("a server that stops leaves nothing behind", async () => {
	await server.stop()
	assert.deepEqual(running(), [])
})

// --- other servers -------------------------------------------------------------------------------

await test("a server without explanations says so", async () => {
	const none = await startServer("lmdb", { flags: ["--ui-explain", "none"] })
	const browser = await loggedIn(none, { code: expect(await none.client.post("/ui/link"), 201).code })
	assert.deepEqual(expect(await browser.ask("GET", "/ui/clusters"), 200), { clusters: [], explain: false })
	expectStatus(await explain(browser, subject), 404, "NotFound", /no explanations/)
	await none.stop()
	const pageless = await startServer("lmdb", { flags: ["--ui=false"] })
	for (const path of ["/ui/clusters", `/ui/explain?${subject}`])
		assert.equal((await pageless.client.get(path)).code, 404)
	await pageless.stop()
})

await test("a supervisor is asked only where there is one", async () => {
	const alone = start("server", "--data-dir", `${scratch}/alone`, "--secure-port", "0", "--ui-explain", "supervisor")
	assert.equal((await alone.ended).code, 2)
	assert.match(alone.err, /standard input is not a socket/)
})

await test("a server with a certificate for another name explains, too", async () => {
	const file = `${scratch}/named`
	execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj", "/CN=api",
		"-addext", "subjectAltName=DNS:api.example.com", "-keyout", `${file}.key`, "-out", `${file}.crt`], { stdio: "pipe" })
	const named = start("server", "--data-dir", `${scratch}/named-data`, "--secure-port", "0", "--token-auth-file", tokens, "--tls-cert-file", `${file}.crt`, "--tls-private-key-file", `${file}.key`)
	const url = (await until("ready server", () => /is ready at (\S+)/.exec(named.out)))[1]
	const curl = (path, ...more) => execFileSync("curl", ["-s", "--cacert", `${file}.crt`, "--resolve", `api.example.com:${new URL(url).port}:127.0.0.1`, "-H", "X-Devplane-UI: 1", ...more, `https://api.example.com:${new URL(url).port}${path}`], { encoding: "utf8" })
	const kubectl = (...args) => execFileSync("kubectl", ["--kubeconfig", `${scratch}/named-data/admin.kubeconfig`, "--tls-server-name", "api.example.com", ...args], { encoding: "utf8" })
	kubectl("create", "clusterrolebinding", "alice", "--clusterrole=cluster-admin", "--user=alice")
	kubectl("create", "-f", (writeFileSync(`${scratch}/claim.json`, JSON.stringify({ apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", ...claim("waits"), metadata: { name: "waits", namespace: "default" } })), `${scratch}/claim.json`))
	curl("/ui/login", "-c", `${scratch}/jar`, "-d", '{"token":"token-alice"}')
	assert.equal(JSON.parse(curl(`/ui/explain?${subject}`, "-b", `${scratch}/jar`)).claim, "default/waits")
	named.child.kill("SIGTERM")
	await named.ended
})

finish()
