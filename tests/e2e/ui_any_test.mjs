// `devplane ui`: the device page for any API server. Tests what a browser gets, what the API server sees of it, and whose rights count.
// Our own API server stands for any; where the requests that arrive are looked at, it is one that this file plays.
import assert from "node:assert/strict"
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import http from "node:http"
import net from "node:net"
import { claim, Client, core, dra, expect, expectStatus, slice, startServer, unique } from "./api_lib.mjs"
import { assertGrowth, devplane, finish, residentMemory, scratch, start, test, until } from "./lib.mjs"
import { Browser, checked, explain, explainsWaitingPod, loggedIn, page, refusesToExplain, startUi, waitingPod } from "./ui_lib.mjs"

const reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }
const slices = `${dra}/resourceslices`
const tokens = `${scratch}/tokens.csv`
writeFileSync(tokens, `token-alice,alice,u1,"team"\ntoken-bob,bob,u2\n`)

// A kubeconfig with a context for each entry: { name, url, ca, user }.
function kubeconfig(...entries) {
	const file = `${scratch}/${unique("kubeconfig")}`
	writeFileSync(file, JSON.stringify({
		apiVersion: "v1", kind: "Config", "current-context": entries[0].name,
		clusters: entries.map(({ name, url, ca }) => ({ name, cluster: { server: url, ...ca ? { "certificate-authority-data": ca.toString("base64") } : {} } })),
		users: entries.map(({ name, user }) => ({ name: `user-${name}`, user })),
		contexts: entries.map(({ name }) => ({ name, context: { cluster: name, user: `user-${name}` } })),
	}))
	return file
}

const entry = (server, user, name = "lab") => ({ name, url: server.url, ca: server.credentials.ca, user })

async function run(args, env = {}) {
	const child = spawn(devplane, args, { env: { ...process.env, KUBECONFIG: "/nowhere", ...env } })
	let out = "", err = ""
	child.stdout.on("data", (data) => (out += data))
	child.stderr.on("data", (data) => (err += data))
	const [status] = await once(child, "close")
	return { status, out, err }
}

const server = await startServer("lmdb", { flags: ["--token-auth-file", tokens] })
const who = async (browser) => expect(await browser.ask("POST", reviews, { body: review }), 201).status.userInfo.username

// --- logging in --------------------------------------------------------------------------------

const site = await startUi(server, { flags: ["--metrics-bind-address", "127.0.0.1:0"] })

await test("the link logs in once, as the user of the kubeconfig's certificate", async () => {
	const browser = new Browser(site)
	const answer = await browser.login({ code: site.code })
	assert.equal(expect(answer, 200).user, "kubernetes-admin")
	assert.deepEqual(String(answer.headers["set-cookie"]).split("; ").slice(1), ["Path=/", "HttpOnly", "SameSite=Strict"])
	assert.equal(await who(browser), "kubernetes-admin")
	expectStatus(await new Browser(site).login({ code: site.code }), 401, "Unauthorized", /devplane ui/)
	assert.deepEqual(expect(await browser.ask("GET", "/ui/clusters"), 200), { clusters: [{ name: "devplane", path: "/clusters/0" }], explain: true })
	site.admin = browser
})

await test("a token of the kubeconfig logs in its user", async () => {
	const other = await startUi(server, { kubeconfig: kubeconfig(entry(server, { token: "token-bob" })) })
	assert.match(other.process.out, /logs in bob once, until \S+Z: http:/)
	assert.equal(await who(await loggedIn(other, { code: other.code })), "bob")
	await other.stop()
})

await test("an exec plugin gives the credentials, and new ones when they have expired", async () => {
	const runs = `${scratch}/plugin-runs`, plugin = `${scratch}/plugin`
	writeFileSync(plugin, `#!/bin/sh
echo run >>${runs}
end=$(date -u -d "$(cat ${scratch}/life)" +%Y-%m-%dT%H:%M:%SZ)
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"'$(cat ${scratch}/plugin-token)'","expirationTimestamp":"'$end'"}}'
`)
	chmodSync(plugin, 0o755)
	const count = () => readFileSync(runs, "utf8").split("\n").length - 1
	writeFileSync(`${scratch}/life`, "+1 hour")
	writeFileSync(`${scratch}/plugin-token`, "token-alice")
	const exec = { apiVersion: "client.authentication.k8s.io/v1", command: plugin, interactiveMode: "Never" }
	const other = await startUi(server, { kubeconfig: kubeconfig(entry(server, { exec })) })
	const browser = await loggedIn(other, { code: other.code })
	assert.equal(await who(browser), "alice")
	assert.equal(await who(browser), "alice")
	assert.equal(count(), 1)
	await other.stop()
	// Credentials that have expired when they come count for what waits for them.
	writeFileSync(`${scratch}/life`, "-1 minute")
	const next = await startUi(server, { kubeconfig: kubeconfig(entry(server, { exec })) })
	const again = await loggedIn(next, { code: next.code })
	const before = count()
	writeFileSync(`${scratch}/life`, "+1 hour")
	writeFileSync(`${scratch}/plugin-token`, "token-bob")
	assert.equal(await who(again), "bob")
	assert.equal(count(), before + 1)
	await next.stop()
})

await test("a kubeconfig that cannot log in is one message", async () => {
	const wrong = await run(["ui", "--no-browser", "--bind-address", "127.0.0.1:0", "--kubeconfig", kubeconfig(entry(server, { token: "wrong" }))])
	assert.equal(wrong.status, 1)
	assert.match(wrong.err, /Unauthorized/)
	const gone = await run(["ui", "--no-browser", "--bind-address", "127.0.0.1:0", "--kubeconfig", kubeconfig({ name: "x", url: "https://127.0.0.1:1", user: { token: "t" } })])
	assert.equal(gone.status, 1)
	assert.match(gone.err, /127\.0\.0\.1:1/)
	for (const { err } of [wrong, gone])
		assert.equal(err.trim().split("\n").filter((line) => line.startsWith("error") || line.startsWith("devplane")).length, 1, err)
	for (const flags of [["--bind-address", "nowhere"], ["--tls-cert-file", "x"], ["--bind-address", "unix:/tmp/x"]])
		assert.equal((await run(["ui", "--no-browser", "--kubeconfig", server.kubeconfig, ...flags])).status, 2, flags.join(" "))
})

// No browser is opened here: a script stands in for the desktop's way to do it.
await test("the link is opened in the browser", async () => {
	const bin = `${scratch}/bin`
	mkdirSync(bin)
	writeFileSync(`${bin}/xdg-open`, `#!/bin/sh\necho "$1" >${bin}/opened.new\nmv ${bin}/opened.new ${bin}/opened\nexit "\${FAIL:-0}"\n`)
	chmodSync(`${bin}/xdg-open`, 0o755)
	const own = spawn(devplane, ["ui", "--kubeconfig", server.kubeconfig, "--bind-address", "127.0.0.1:0"], { env: { ...process.env, PATH: `${bin}:${process.env.PATH}`, FAIL: "3" } })
	let out = "", err = ""
	own.stdout.on("data", (data) => (out += data))
	own.stderr.on("data", (data) => (err += data))
	await until("opened", () => existsSync(`${bin}/opened`))
	assert.ok(out.includes(readFileSync(`${bin}/opened`, "utf8").trim()))
	await until("warning", () => err.includes("by hand"))
	own.kill("SIGTERM")
	assert.deepEqual(await once(own, "exit"), [0, null])
})

await test("beyond loopback it speaks HTTPS, and prints no link", async () => {
	const own = start("ui", "--kubeconfig", server.kubeconfig, "--bind-address", "0.0.0.0:0", "--log-format", "text")
	await until("page", () => own.out.includes("page at"))
	const [, port] = /page at https:\/\/0\.0\.0\.0:(\d+)\/ui\//.exec(own.out)
	assert.ok(!own.out.includes("#code="))
	const answer = execFileSync("curl", ["-sk", "-o", "/dev/null", "-w", "%{http_code} %{http_version}", `https://127.0.0.1:${port}/ui/`], { encoding: "utf8" })
	assert.equal(answer, "200 2")
	own.child.kill("SIGTERM")
	assert.deepEqual(await own.ended, { code: 0, signal: null })
})

// --- whose rights ------------------------------------------------------------------------------

await test("a session has its user's rights and not the page's", async () => {
	const alice = await loggedIn(site, { token: "token-alice" })
	assert.equal(await who(alice), "alice")
	expectStatus(await alice.ask("GET", slices), 403, "Forbidden", /alice/)
	expectStatus({ ...await alice.watch(`${slices}?watch=true`).then(async (w) => (await w.ended, { code: w.code, body: w.events[0], text: "" })) }, 403, "Forbidden")
	expect(await site.admin.ask("GET", slices), 200)
	// A user who impersonates would have other rights: the header is not forwarded.
	assert.equal(await who({ ask: (method, path, more) => site.admin.ask(method, path, { ...more, headers: { ...page, "impersonate-user": "bob" } }) }), "kubernetes-admin")
})

await test("only what the page needs is forwarded", async () => {
	for (const path of ["/version", "/api", "/apis", "/apis/resource.k8s.io/v1", slices, `${core}/pods`, `${core}/nodes`, `${core}/events?fieldSelector=reason%3DFailed`])
		expect(await site.admin.ask("GET", path), 200)
	for (const path of ["/metrics", "/logs", `${core}/secrets`, `${core}/namespaces/default/secrets`, `${core}/nodes/n1/proxy/metrics`, "/apis/apps/v1/deployments"])
		expectStatus(await site.admin.ask("GET", path), 404, "NotFound", /does not forward/)
	for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
		expectStatus(await site.admin.ask(method, slices, { body: method === "OPTIONS" ? undefined : slice("x") }), 405, "MethodNotAllowed")
	for (const path of [`${core}/pods%2f..%2fsecrets`, `${core}//pods`, `${slices}/`])
		expectStatus(await site.admin.ask("GET", path), 400, "BadRequest")
})

// --- why a pod waits ------------------------------------------------------------------------------

await test("a pod and a claim are explained as explain-fit does it, with the rights of the session's user", async () => {
	await waitingPod(server.client)
	await explainsWaitingPod(site, site.admin, await loggedIn(site, { token: "token-alice" }))
})

await test("what cannot be explained is said clearly", async () => {
	await refusesToExplain(site, site.admin)
	for (const path of ["resourceslices/nic.example.com", "resourceslices/gpu.example.com"])
		expect(await server.client.delete(`${dra}/${path}`), 200)
})

await test("a name of another site that leads here gets nothing", async () => {
	const { port } = new URL(site.url)
	for (const [name, code] of [[`evil.example:${port}`, 403], ["evil.example", 403], ["127.0.0.1", 403], [`localhost:${port}`, 200], [`127.0.0.1:${port}`, 200]]) {
		const request = http.get({ port, host: "127.0.0.1", path: "/ui/", headers: { host: name } })
		const [answer] = await once(request, "response")
		answer.resume()
		assert.equal(checked({ headers: answer.headers }) && answer.statusCode, code, name)
	}
})

await test("health and metrics are served beside the page", async () => {
	const beside = new Client(/metrics at (\S+)/.exec(site.process.out)[1])
	for (const path of ["/healthz", "/readyz", "/livez"])
		assert.equal((await beside.get(path)).text, "ok")
	const { text } = await beside.get("/metrics")
	assert.match(text, /^devplane_ui_logins_total\{result="accepted"\} \d/m)
	assert.match(text, /^devplane_ui_forwarded_requests_total\{code="200"\} \d/m)
	beside.close()
})

// --- what the API server sees --------------------------------------------------------------------

// An API server that notes what it gets, and knows every token as a user of that name.
async function fakeServer() {
	const self = { seen: [], bytes: 0 }
	const own = http.createServer((request, answer) => {
		self.seen.push({ method: request.method, path: request.url, headers: request.headers })
		answer.setHeader("set-cookie", "theirs=1; Path=/")
		answer.setHeader("x-secret", "theirs")
		answer.setHeader("access-control-allow-origin", "*")
		answer.setHeader("content-security-policy", "default-src *")
		const token = /^Bearer (.+)$/.exec(request.headers.authorization)?.[1]
		const json = (code, body) => {
			answer.writeHead(code, { "content-type": "application/json" })
			answer.end(JSON.stringify(body))
		}
		if (!token || token === self.rejected)
			json(401, { kind: "Status", apiVersion: "v1", status: "Failure", reason: "Unauthorized", message: "Unauthorized", code: 401 })
		else if (request.url.endsWith(reviews))
			json(201, { status: { userInfo: { username: token, groups: ["all"] } } })
		else if (request.url.includes("flood"))
			self.flood(answer)
		else if (request.url.includes("/pods/held"))
			self.held = answer.on("close", () => self.closed++)
		else
			json(200, { items: [] })
	})
	// As fast as it is read, without an end.
	self.flood = (answer) => {
		answer.writeHead(200, { "content-type": "application/json" })
		const piece = Buffer.from(`{"type":"ADDED","object":{"x":"${"x".repeat(65536)}"}}\n`)
		const more = () => {
			while (!answer.destroyed && answer.write(piece))
				self.bytes += piece.length
			self.bytes += piece.length
		}
		answer.on("drain", more)
		answer.on("close", () => self.closed++)
		more()
	}
	own.listen(0, "127.0.0.1")
	await once(own, "listening")
	self.url = `http://127.0.0.1:${own.address().port}`
	self.close = () => {
		own.closeAllConnections()
		own.close()
	}
	return self
}

const fake = await fakeServer()
const before = await startUi({ credentials: {} }, { kubeconfig: kubeconfig({ name: "fake", url: `${fake.url}/prefix`, user: { token: "owner" } }) })

await test("the API server sees the user's credentials, and nothing of the browser's", async () => {
	const mallory = new Browser(before)
	fake.seen.length = 0
	expectStatus(await mallory.ask("GET", slices), 401, "Unauthorized")
	expectStatus(await mallory.ask("GET", slices, { headers: { ...page, authorization: "Bearer owner" } }), 401, "Unauthorized")
	expectStatus(await mallory.ask("POST", reviews, { body: review }), 401, "Unauthorized")
	assert.deepEqual(fake.seen, [])
	const carol = await loggedIn(before, { token: "carol" })
	fake.seen.length = 0
	const answer = await carol.ask("GET", `${slices}?limit=5&fieldSelector=spec.driver%3Dx`, { headers: {
		...page, "x-evil": "1", te: "trailers", connection: "keep-alive, x-hop", "x-hop": "1", "proxy-authorization": "Basic x", "impersonate-user": "owner",
		"impersonate-group": "system:masters", "x-remote-user": "owner", "x-forwarded-for": "10.0.0.1", "x-forwarded-host": "evil.example", forwarded: "for=10.0.0.1", range: "bytes=0-1", accept: "application/json" } })
	expect(answer, 200)
	const [{ method, path, headers }] = fake.seen
	assert.deepEqual([method, path], ["GET", `/prefix${slices}?limit=5&fieldSelector=spec.driver%3Dx`])
	const { "user-agent": agent, ...rest } = headers
	assert.match(agent, /^devplane-ui\//)
	assert.deepEqual(rest, { host: new URL(fake.url).host, accept: "application/json", authorization: "Bearer carol", "x-forwarded-for": "127.0.0.1" })
	for (const name of ["set-cookie", "x-secret", "access-control-allow-origin"])
		assert.equal(answer.headers[name], undefined, name)
})

await test("the kubeconfig's credentials are the link's only", async () => {
	const [owner, carol] = [await loggedIn(before, { code: before.code }), await loggedIn(before, { token: "carol" })]
	fake.seen.length = 0
	for (const browser of [owner, carol, owner])
		expect(await browser.ask("GET", slices), 200)
	assert.deepEqual(fake.seen.map(({ headers }) => headers.authorization), ["Bearer owner", "Bearer carol", "Bearer owner"])
})

await test("no upgrade is forwarded", async () => {
	const carol = await loggedIn(before, { token: "carol" })
	fake.seen.length = 0
	const { port } = new URL(before.url)
	const socket = net.connect(port, "127.0.0.1")
	socket.write(`GET ${core}/pods?watch=true HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-Devplane-UI: 1\r\nCookie: ${carol.cookie.cookie}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`)
	const [data] = await once(socket, "data")
	assert.match(String(data), /^HTTP\/1\.1 400 /)
	socket.destroy()
	assert.deepEqual(fake.seen, [])
})

await test("a token that the API server rejects ends its session", async () => {
	const [dave, carol] = [await loggedIn(before, { token: "dave" }), await loggedIn(before, { token: "carol" })]
	fake.rejected = "dave"
	expectStatus(await dave.ask("GET", slices), 401, "Unauthorized")
	expectStatus(await dave.ask("GET", "/ui/session"), 401, "Unauthorized")
	expect(await carol.ask("GET", slices), 200)
})

await test("a browser that does not read stops the API server, not the page", async () => {
	const carol = await loggedIn(before, { token: "carol" })
	const { pid } = before.process.child
	const memory = residentMemory(pid)
	const idle = []
	for (let i = 0; i < 8; i++) {
		const request = http.get(`${before.url}${slices}/flood?watch=true`, { agent: false, headers: { ...page, ...carol.cookie } })
		const [answer] = await once(request, "response")
		answer.pause()
		idle.push(request)
	}
	// Until nothing moves any more: buffers of sockets on both sides are full.
	let last = -1
	await until("standstill", async () => {
		const same = fake.bytes === last
		last = fake.bytes
		await new Promise((resolve) => setTimeout(resolve, 300))
		return same && fake.bytes === last
	}, 60)
	assertGrowth(pid, memory, 16)
	expect(await carol.ask("GET", slices), 200)
	fake.closed = 0
	idle.pop().destroy()
	await until("closed upstream", () => fake.closed === 1)
	// The others do not read the end of their session, either.
	idle.forEach((request) => request.on("error", () => {}))
	expect(await carol.ask("POST", "/ui/logout"), 204)
	await until("closed upstream", () => fake.closed === 8)
})

await test("a session has one explanation at a time, which ends with it", async () => {
	const [carol, erin] = [await loggedIn(before, { token: "carol" }), await loggedIn(before, { token: "erin" })]
	fake.seen.length = fake.closed = 0
	const first = explain(carol, "namespace=default&pod=held")
	await until("the first", () => fake.held)
	assert.equal(fake.seen[0].headers.authorization, "Bearer carol")
	expectStatus(await explain(carol, "namespace=default&pod=other"), 429, "TooManyRequests", /under way/)
	expectStatus(await explain(erin, "namespace=default&pod=other"), 503, "ServiceUnavailable")
	assert.ok(fake.seen.every(({ path, headers }) => headers.authorization === (path.endsWith("/pods/held") ? "Bearer carol" : "Bearer erin")), "the command, too, has erin's token only")
	expect(await carol.ask("POST", "/ui/logout"), 204)
	expectStatus(await first, 401, "Unauthorized", /session is over/)
	await until("closed upstream", () => fake.closed === 1)
	// The next one is not kept waiting by one that nobody reads.
	expectStatus(await explain(erin, "namespace=default&pod=other"), 503, "ServiceUnavailable")
})

await test("the page ends while watches are under way", async () => {
	const carol = await loggedIn(before, { token: "carol" })
	const request = http.get(`${before.url}${slices}/flood?watch=true`, { agent: false, headers: { ...page, ...carol.cookie } })
	const [answer] = await once(request, "response")
	answer.pause()
	answer.on("error", () => {})
	request.on("error", () => {})
	await before.stop()
	fake.close()
})

// --- the API server goes and comes ----------------------------------------------------------------

await test("a big watch arrives whole", async () => {
	const { body: { metadata } } = await site.admin.ask("GET", slices)
	const watch = await site.admin.watch(`${slices}?watch=true&resourceVersion=${metadata.resourceVersion}`)
	const names = Array.from({ length: 300 }, () => unique("slice"))
	for (const name of names)
		expect(await server.client.post(slices, slice(name)), 201)
	await watch.have(names.length, 60)
	assert.deepEqual(watch.brief, names.map((name) => `ADDED ${name}`))
	watch.close()
	assert.equal(expect(await site.admin.ask("GET", slices), 200).items.length, names.length)
})

await test("while the API server is away requests say so, and sessions last", async () => {
	const watch = await site.admin.watch(`${slices}?watch=true`)
	assert.equal(watch.code, 200)
	await server.kill()
	assert.ok(await watch.ended instanceof Error)
	expectStatus(await site.admin.ask("GET", slices), 503, "ServiceUnavailable", /cannot reach the API server at 127/)
	expectStatus(await new Browser(site).login({ token: "token-alice" }), 503, "ServiceUnavailable")
	expect(await site.admin.ask("GET", "/ui/session"), 200)
	await server.begin()
	await until("back", async () => (await site.admin.ask("GET", slices)).code === 200)
	await loggedIn(site, { token: "token-alice" })
})

// --- several clusters -------------------------------------------------------------------------------

await test("several clusters: each by its own path, and a token for one only", async () => {
	const second = await startServer("lmdb", { flags: ["--token-auth-file", tokens] })
	expect(await second.client.post(`${dra}/namespaces/default/resourceclaims`, claim("here")), 201)
	const file = kubeconfig(entry(server, { token: "token-alice" }, "lab"), { ...entry(second, {}, "prod"), user: {
		"client-certificate-data": second.credentials.cert.toString("base64"), "client-key-data": second.credentials.key.toString("base64") } })
	const many = await startUi(server, { kubeconfig: file, flags: ["--context", "lab", "--context", "prod"] })
	const own = await loggedIn(many, { code: many.code })
	const { clusters } = expect(await own.ask("GET", "/ui/clusters"), 200)
	assert.deepEqual(clusters, [{ name: "lab", path: "/clusters/0" }, { name: "prod", path: "/clusters/1" }])
	const at = async (browser, path) => browser.ask("POST", `${path}${reviews}`, { body: review })
	assert.equal(expect(await at(own, clusters[0].path), 201).status.userInfo.username, "alice")
	assert.equal(expect(await at(own, clusters[1].path), 201).status.userInfo.username, "kubernetes-admin")
	assert.equal(expect(await at(own, ""), 201).status.userInfo.username, "alice")
	assert.equal(expect(await own.ask("GET", `${clusters[1].path}${dra}/resourceclaims`), 200).items[0].metadata.name, "here")
	const bob = await loggedIn(many, { token: "token-bob", cluster: "prod" })
	assert.deepEqual(expect(await bob.ask("GET", "/ui/clusters"), 200).clusters, [clusters[1]])
	assert.equal(expect(await at(bob, clusters[1].path), 201).status.userInfo.username, "bob")
	expectStatus(await at(bob, clusters[0].path), 403, "Forbidden", /another cluster/)
	expectStatus(await new Browser(many).login({ token: "token-bob", cluster: "nowhere" }), 400, "BadRequest", /ui\/clusters/)
	for (const path of ["/clusters/2", "/clusters/x", "/clusters/-1", "/clusters/"])
		expectStatus(await own.ask("GET", `${path}${slices}`), 404, "NotFound")
	await many.stop()
	await second.stop()
})

await test("everything ends in order", async () => {
	await site.stop()
	await server.stop()
})
finish()
