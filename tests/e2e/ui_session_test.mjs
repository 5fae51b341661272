// The server's side of the device page: its files, logging in and out, and what a session may and may not do. Most of it is
// tried twice: on our own API server, and on `devplane ui` before it.
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { sign, X509Certificate } from "node:crypto"
import { once } from "node:events"
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import https from "node:https"
import { gunzipSync } from "node:zlib"
import { backends, claim, Client, Client2, core, dra, expect, expectStatus, startServer, unique } from "./api_lib.mjs"
import { devplane, finish, scratch, test as testOne, until } from "./lib.mjs"
import { Browser, checked, host as name, loggedIn, page, startUi } from "./ui_lib.mjs"

const rbac = "/apis/rbac.authorization.k8s.io/v1"
const claims = `${dra}/namespaces/default/resourceclaims`
const secrets = `${core}/namespaces/default/secrets`
const reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }

const tokens = `${scratch}/tokens.csv`
writeFileSync(tokens, `token-alice,alice,u1,"team"\ntoken-bob,bob,u2\n`)

// Who is tried says each name.
let subject = ""
const test = (what, body) => testOne(`${what}${subject}`, body)

// A request without valid credentials: our server takes it for an anonymous one.
function expectStranger(server, answer) {
	if (server.foreign)
		expectStatus(answer, 401, "Unauthorized")
	else
		expectStatus(answer, 403, "Forbidden", /system:anonymous/)
}

async function code(client, query = "") {
	return expect(checked(await client.post(`/ui/link${query}`)), 201).code
}

// The path as it is: URLs would be tidied up on the way.
async function raw(server, path, method = "GET") {
	const { hostname, port } = new URL(server.url)
	const request = https.request({ method, hostname, port, path, ca: server.credentials.ca })
	request.end()
	const [answer] = await once(request, "response")
	answer.resume()
	await once(answer, "end")
	return { code: answer.statusCode, headers: answer.headers }
}

async function grant(client, user, ...rules) {
	const roleName = unique("grant"), where = `${rbac}/namespaces/default`
	const metadata = { name: roleName, namespace: "default" }
	expect(await client.post(`${where}/roles`, { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata, rules }), 201)
	expect(await client.post(`${where}/rolebindings`, {
		apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", metadata,
		roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: roleName },
		subjects: [{ kind: "User", name: user, apiGroup: "rbac.authorization.k8s.io" }],
	}), 201)
}

// A service account and a token of it: { path, token, expires }.
async function account(client) {
	const accounts = `${core}/namespaces/default/serviceaccounts`, path = `${accounts}/${unique("account")}`
	expect(await client.post(accounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: path.split("/").at(-1) } }), 201)
	const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 600 } }
	const { status } = expect(await client.post(`${path}/token`, request), 201)
	return { path, token: status.token, expires: status.expirationTimestamp }
}

// --- files -----------------------------------------------------------------------------------

async function files(server) {
	await test("the page and all that it names are served to anybody", async () => {
		const browser = new Browser(server)
		const index = expect2(await browser.ask("GET", "/ui/", { headers: {} }), 200)
		assert.match(index.headers["content-type"], /^text\/html/)
		const named = [...index.text.matchAll(/(?:src|href)="([^":#]+)"/g)].map(([, file]) => file)
		assert.ok(named.length >= 3, named.join())
		for (const file of named) {
			const { headers, raw: bytes } = expect2(await browser.ask("GET", `/ui/${file}`, { headers: {} }), 200)
			const types = { css: "text/css", js: "text/javascript", svg: "image/svg+xml" }
			assert.equal(headers["content-type"].split(";")[0], types[file.split(".").at(-1)])
			assert.match(headers.etag, /^"[0-9a-f]{32}"$/)
			const zipped = await browser.ask("GET", `/ui/${file}`, { headers: { "accept-encoding": "br, gzip" } })
			if (zipped.headers["content-encoding"] === "gzip")
				assert.deepEqual(gunzipSync(zipped.raw), bytes)
			const again = expect2(await browser.ask("GET", `/ui/${file}`, { headers: { "if-none-match": headers.etag } }), 304)
			assert.equal(again.raw.length, 0)
		}
		assert.equal((await browser.ask("GET", "/ui/", { headers: { "accept-encoding": "gzip" } })).headers["content-encoding"], "gzip")
		assert.equal((await browser.ask("HEAD", "/ui/", { headers: {} })).raw.length, 0)
		browser.close()
	})

	await test("the short address leads to the page, and the server names it", async () => {
		const answer = checked(await raw(server, "/ui"))
		assert.deepEqual([answer.code, answer.headers.location], [308, "/ui/"])
		const root = await new Browser(server).ask("GET", "/", { headers: { accept: "text/html,*/*;q=0.8" } })
		assert.deepEqual([root.code, root.headers.location], [308, "/ui/"])
		if (!server.foreign)
			assert.ok(expect(await server.client.get("/"), 200).paths.includes("/ui/"))
	})

	await test("no path leads out of the page", async () => {
		for (const path of ["/ui/nothing", "/ui//", "/ui/./index.html", "/ui/../api/v1/secrets", "/ui/..%2f..%2fetc%2fpasswd", "/ui/%2e%2e/api",
			"/ui/index.html%00", "/ui/Index.html", "/ui/index.html/", "/ui/%69ndex.html", "/ui/web.h", "/ui/..", "/ui/\\..\\x", "/ui/login/"])
			assert.equal(checked(await raw(server, path)).code, 404, path)
		for (const path of ["/uix", "/UI/", "//ui/", "/x/../ui/"])
			assert.notEqual((await raw(server, path)).code, 200, path)
		assert.equal(checked(await raw(server, "/ui/", "POST")).code, 405)
		assert.equal(checked(await raw(server, "/ui/login")).code, 405)
	})
}

// A code, for answers whose headers are looked at, too.
function expect2(answer, status) {
	expect(answer, status)
	return answer
}

// --- logging in ------------------------------------------------------------------------------

async function logins(server, Kind) {
	const way = Kind === Client2 ? "HTTP/2" : "HTTP/1.1"

	await test(`a token becomes a session over ${way}`, async () => {
		const browser = new Browser(server, Kind)
		const before = Date.now()
		const answer = await browser.login({ token: " token-alice\n" })
		const { user, groups, expires } = expect(answer, 200)
		assert.deepEqual([user, groups], ["alice", ["team", "system:authenticated"]])
		const hours = (Date.parse(expires) - before) / 3600e3
		assert.ok(hours > 11.9 && hours < 12.1, expires)
		const cookie = String(answer.headers["set-cookie"])
		assert.deepEqual(cookie.split("; ").slice(1), ["Path=/", "Secure", "HttpOnly", "SameSite=Strict"])
		assert.deepEqual(expect(await browser.ask("GET", "/ui/session"), 200), { user, groups, expires })
		assert.equal(expect(await browser.ask("POST", reviews, { body: review }), 201).status.userInfo.username, "alice")
		browser.close()
	})

	if (!server.foreign) await test(`a code works once over ${way}`, async () => {
		const first = new Browser(server, Kind), second = new Browser(server, Kind)
		const once = await code(server.as({ token: "token-bob" }))
		assert.equal(expect(await first.login({ code: once }), 200).user, "bob")
		expectStatus(await second.login({ code: once }), 401, "Unauthorized", /devplane page/)
		expectStatus(await second.ask("GET", "/ui/session"), 401, "Unauthorized")
		first.close()
		second.close()
	})

	await test(`a logout ends the session and its watches over ${way}`, async () => {
		const browser = await loggedIn(server, { token: "token-alice" }, Kind)
		const other = await loggedIn(server, { token: "token-alice" }, Kind)
		const [watch, going] = [await browser.watch(`${claims}?watch=true`), await other.watch(`${claims}?watch=true`)]
		assert.equal(watch.code, 200)
		const made = unique("seen")
		expect(await server.client.post(claims, claim(made)), 201)
		await until("event", () => watch.brief.includes(`ADDED ${made}`) && going.brief.includes(`ADDED ${made}`))
		const answer = await browser.ask("POST", "/ui/logout")
		expect(answer, 204)
		assert.match(String(answer.headers["set-cookie"]), new RegExp(`^${name}=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Strict$`))
		assert.equal(await watch.ended, undefined)
		expectStatus(await browser.ask("GET", "/ui/session"), 401, "Unauthorized")
		expectStatus(await browser.ask("GET", claims), 401, "Unauthorized")
		expectStatus({ ...await browser.watch(`${claims}?watch=true`).then(async (w) => (await w.ended, { code: w.code, body: w.events[0], text: "" })) }, 401, "Unauthorized")
		expect(await other.ask("GET", claims), 200)
		const later = unique("seen")
		expect(await server.client.post(claims, claim(later)), 201)
		await until("event", () => going.brief.includes(`ADDED ${later}`))
		going.close()
		browser.close()
		other.close()
	})
}

async function logins2(server) {
	await test("a new login ends the previous session and its watches", async () => {
		const browser = await loggedIn(server, { token: "token-alice" }), { cookie } = browser
		const watch = await browser.watch(`${claims}?watch=true`)
		assert.equal(watch.code, 200)
		expectStatus(await browser.login({ token: "guess" }), 401, "Unauthorized")
		expect(await browser.ask("GET", "/ui/session"), 200)
		expect(await browser.login({ token: "token-bob" }), 200)
		assert.equal(await watch.ended, undefined)
		expectStatus(await browser.ask("GET", "/ui/session", { headers: { ...page, ...cookie } }), 401, "Unauthorized")
		assert.equal(expect(await browser.ask("GET", "/ui/session"), 200).user, "bob")
	})

	await test("a browser is told not to guess what an answer is", async () => {
		const browser = await loggedIn(server, { token: "token-alice" })
		const watch = await browser.watch(`${claims}?watch=true`)
		for (const headers of [(await browser.ask("GET", claims)).headers, (await browser.ask("GET", secrets)).headers, watch.headers])
			assert.equal(headers["x-content-type-options"], "nosniff")
		assert.equal((await server.client.get(claims)).headers["x-content-type-options"], undefined)
		watch.close()
	})
}

async function links(server) {
	await test("a link needs a token or a certificate", async () => {
		const browser = await loggedIn(server, { token: "token-alice" })
		expectStatus(await new Browser(server).ask("POST", "/ui/link"), 401, "Unauthorized")
		expectStatus(await browser.ask("POST", "/ui/link"), 401, "Unauthorized")
		expectStatus(await server.as({ token: "wrong" }).post("/ui/link"), 401, "Unauthorized")
		expectStatus(await server.client.post("/ui/link", undefined, { headers: { "impersonate-user": "alice" } }), 403, "Forbidden", /with impersonation/)
		const admin = new Browser(server)
		const { user, groups } = expect(await admin.login({ code: await code(server.client) }), 200)
		assert.ok(groups.includes("system:masters"), `${user} ${groups}`)
		expect(await admin.ask("GET", secrets), 200)
	})

	await test("a link says how long it is good", async () => {
		const life = async (query) => {
			const before = Date.now(), { expires } = expect(await server.client.post(`/ui/link${query}`), 201)
			return Math.round((Date.parse(expires) - before) / 60e3)
		}
		assert.deepEqual([await life(""), await life("?seconds=3600"), await life("?seconds=60")], [10, 60, 1])
		for (const seconds of ["0", "-1", "3601", "1e3", "x", ""])
			expectStatus(await server.client.post(`/ui/link?seconds=${seconds}`), 400, "BadRequest", /seconds/)
	})

}

async function badLogins(server) {
	await test("an invalid login is rejected", async () => {
		const browser = new Browser(server)
		for (const [body, status] of [["{}", 400], ["", 400], ["[]", 400], ["{", 400], ['{"token":1}', 400], ['{"token":"a","code":"b"}', 400],
			['{"token":""}', 401], [`{"code":"${"A".repeat(43)}"}`, 401], [`{"token":"${"x".repeat(40000)}"}`, 413]])
			assert.equal(expect(await browser.ask("POST", "/ui/login", { body }), status).kind, "Status", body.slice(0, 50))
		expectStatus(await browser.ask("POST", "/ui/login", { headers: {}, body: { token: "token-alice" } }), 403, "Forbidden", /X-Devplane-UI/)
		expectStatus(await browser.ask("POST", "/ui/logout", { headers: {} }), 403, "Forbidden", /X-Devplane-UI/)
		expectStatus(await browser.ask("POST", "/ui/login", { headers: { ...page, origin: "https://evil.example" }, body: { token: "token-alice" } }), 403, "Forbidden")
	})
}

// --- what a session may ----------------------------------------------------------------------

async function rights(server) {
	await grant(server.client, "alice", { verbs: ["*"], apiGroups: ["resource.k8s.io"], resources: ["resourceclaims"] })

	await test("a session has its user's rights, no more and no less", async () => {
		const browser = await loggedIn(server, { token: "token-alice" })
		const bearer = server.as({ token: "token-alice" })
		for (const [method, path, body] of [["GET", claims], ["GET", secrets], ["GET", `${core}/nodes`], ["DELETE", `${core}/namespaces/default`],
			["POST", claims, claim(unique("map"))], ["POST", secrets, { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } }], ["GET", "/metrics"]]) {
			const [one, two] = [await browser.ask(method, path, { body }), await bearer.request(method, `${path}${method === "POST" ? "?dryRun=All" : ""}`, { body })]
			if (one.code >= 400)
				assert.deepEqual(one.body, two.body)
			assert.ok(one.code === two.code || one.code === 201 && two.code === 409, `${method} ${path}: ${one.code} ${two.code}`)
		}
		// Rights that are granted later count at once.
		expectStatus(await browser.ask("GET", `${core}/namespaces/default/pods`), 403, "Forbidden")
		await grant(server.client, "alice", { verbs: ["list"], apiGroups: [""], resources: ["pods"] })
		expect(await browser.ask("GET", `${core}/namespaces/default/pods`), 200)
	})

	await test("impersonation in a session needs the right to impersonate", async () => {
		const as = { ...page, "impersonate-user": "alice" }
		const admin = await loggedIn(server, { code: await code(server.client) })
		const bob = await loggedIn(server, { token: "token-bob" })
		assert.equal(expect(await admin.ask("POST", reviews, { headers: as, body: review }), 201).status.userInfo.username, "alice")
		expectStatus(await admin.ask("GET", secrets, { headers: as }), 403, "Forbidden", /alice/)
		expectStatus(await bob.ask("GET", claims, { headers: as }), 403, "Forbidden", /"bob" cannot impersonate/)
	})

	await test("a session ends with its service account, and no later than its token", async () => {
		const { path, token, expires } = await account(server.client)
		const [one, two] = [await loggedIn(server, { token }), new Browser(server)]
		assert.equal(expect(await one.ask("GET", "/ui/session"), 200).expires, expires)
		assert.equal(expect(await two.login({ code: await code(server.as({ token })) }), 200).expires, expires)
		const pending = await code(server.as({ token }))
		await grant(server.client, `system:serviceaccount:default:${path.split("/").at(-1)}`, { verbs: ["watch"], apiGroups: ["resource.k8s.io"], resources: ["resourceclaims"] })
		const watch = await one.watch(`${claims}?watch=true`)
		assert.equal(watch.code, 200)
		expect(await one.ask("POST", reviews, { body: review }), 201)
		expect(await server.client.delete(path), 200)
		// Without another request.
		assert.equal(await watch.ended, undefined)
		for (const browser of [one, two]) {
			expectStatus(await browser.ask("GET", "/ui/session"), 401, "Unauthorized")
			expectStatus(await browser.ask("POST", reviews, { body: review }), 401, "Unauthorized")
		}
		expectStatus(await new Browser(server).login({ code: pending }), 401, "Unauthorized")
		expectStatus(await new Browser(server).login({ token }), 401, "Unauthorized")
	})
}

// The token with another end, signed with the server's own key.
function ending(server, token, seconds) {
	const [head, payload] = token.split(".")
	const claims = { ...JSON.parse(Buffer.from(payload, "base64url")), exp: Math.floor(Date.now() / 1000) + seconds }
	const text = `${head}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}`
	const key = { key: readFileSync(`${server.folder}/pki/sa.key`), dsaEncoding: "ieee-p1363" }
	return `${text}.${sign("sha256", Buffer.from(text), key).toString("base64url")}`
}

async function ends(server) {
	await test("a session and its watches end with the token", async () => {
		const { path, token } = await account(server.client)
		await grant(server.client, `system:serviceaccount:default:${path.split("/").at(-1)}`, { verbs: ["watch"], apiGroups: ["resource.k8s.io"], resources: ["resourceclaims"] })
		let browser, watch
		// As short as the machine is fast enough for.
		for (const seconds of [2, 10, 60]) {
			browser = await loggedIn(server, { token: ending(server, token, seconds) })
			watch = await browser.watch(`${claims}?watch=true`)
			if (watch.code === 200)
				break
		}
		assert.equal(watch.code, 200)
		assert.equal(await watch.ended, undefined)
		await until("end", async () => (await browser.ask("GET", "/ui/session")).code === 401)
		expectStatus(await browser.ask("GET", `${claims}?watch=true`), 401, "Unauthorized")
	})
}

// --- the cookie ------------------------------------------------------------------------------

async function cookies(server) {
	await test("the cookie alone does not count", async () => {
		const browser = await loggedIn(server, { token: "token-alice" })
		expectStranger(server, await browser.ask("GET", claims, { headers: {} }))
		for (const [method, path, body] of [["POST", claims, claim("x")], ["DELETE", `${claims}/x`], ["PUT", `${claims}/x`, claim("x")], ["POST", reviews, review]])
			expectStatus(await browser.ask(method, path, { headers: {}, body }), 403, "Forbidden", /X-Devplane-UI/)
		expectStatus(await browser.ask("GET", "/ui/session", { headers: {} }), 401, "Unauthorized")
		expect(await browser.ask("GET", claims), 200)
	})

	await test("no other site can use the cookie", async () => {
		const browser = await loggedIn(server, { token: "token-alice" })
		const { host } = new URL(server.url)
		for (const headers of [{ "sec-fetch-site": "cross-site" }, { "sec-fetch-site": "same-site" }, { origin: "https://evil.example" }, { origin: "null" }, { origin: `http://${host}` }]) {
			expectStatus(await browser.ask("GET", claims, { headers: { ...page, ...headers } }), 403, "Forbidden", /another site/)
			expectStatus(await browser.ask("GET", "/ui/session", { headers: { ...page, ...headers } }), 403, "Forbidden", /another site/)
			expectStatus(await browser.ask("POST", "/ui/logout", { headers: { ...page, ...headers } }), 403, "Forbidden", /another site/)
		}
		for (const headers of [{ "sec-fetch-site": "same-origin" }, { origin: `https://${host}` }])
			expect(await browser.ask("GET", claims, { headers: { ...page, ...headers } }), 200)
	})

	await test("a cookie that is not exactly ours is nobody's", async () => {
		const { id } = await loggedIn(server, { token: "token-alice" })
		const browser = new Browser(server)
		const ours = `${name}=${id}`
		for (const cookie of [`${ours}; ${ours}`, `${ours}; ${name}=x`, `${name}=`, `${name}=x`, `${ours}x`, `${name}="${id}"`, `${name}=${"A".repeat(43)}`,
			`${name}=${"y".repeat(8000)}`, `${name}=${id.slice(0, -1)}`, `${name}=%00`])
			for (const path of [claims, "/ui/session"])
				expectStatus(await browser.ask("GET", path, { headers: { ...page, cookie } }), 401, "Unauthorized")
		for (const cookie of ["", ";;;=", `x${ours}`, `${name}`, `devplane=${id}`])
			expectStranger(server, await browser.ask("GET", claims, { headers: { ...page, cookie } }))
		expect(await browser.ask("GET", claims, { headers: { ...page, cookie: `a=b; ${ours}; c` } }), 200)
	})

	if (server.foreign) await test("an Authorization header is no login", async () => {
		const browser = await loggedIn(server, { token: "token-alice" })
		expectStatus(await browser.ask("GET", claims, { headers: { ...page, authorization: "Bearer token-bob" } }), 401, "Unauthorized")
	})
	else await test("an Authorization header wins over the cookie", async () => {
		const browser = await loggedIn(server, { token: "token-alice" })
		const who = async (headers) => browser.ask("POST", reviews, { headers, body: review })
		for (const headers of [page, {}])
			assert.equal(expect(await who({ ...headers, authorization: "Bearer token-bob" }), 201).status.userInfo.username, "bob")
		expectStatus(await who({ ...page, authorization: "Bearer wrong" }), 401, "Unauthorized")
	})
}

// --- bounds ----------------------------------------------------------------------------------

async function bounds(server) {
	await test("sessions are bounded, and the idlest goes with its watches", async () => {
		const first = await loggedIn(server, { token: "token-alice" })
		const bob = await loggedIn(server, { token: "token-bob" })
		const watch = await first.watch(`${claims}?watch=true`)
		let last
		for (let i = 0; i < 64; i++) {
			last?.close()
			last = await loggedIn(server, { token: "token-alice" })
		}
		expectStatus(await first.ask("GET", "/ui/session"), 401, "Unauthorized")
		await watch.ended
		expect(await last.ask("GET", "/ui/session"), 200)
		expect(await bob.ask("GET", "/ui/session"), 200)
	})

	await test("many wrong logins make all wait for a moment", async () => {
		const browsers = Array.from({ length: 16 }, () => new Browser(server))
		const slow = await until("429", async () => {
			const answers = await Promise.all(browsers.map((browser) => browser.login({ token: "guess" })))
			for (const answer of answers)
				assert.ok([401, 429].includes(answer.code), answer.code)
			return answers.find((answer) => answer.code === 429)
		})
		expectStatus(slow, 429, "TooManyRequests")
		assert.equal(slow.headers["retry-after"], "1")
		// A link and a token that are good are let in meanwhile.
		if (!server.foreign) {
			const linked = await code(server.client)
			await until("429", async () => (await browsers[0].login({ token: "guess" })).code === 429)
			expect(await browsers[1].login({ code: linked }), 200)
		}
		await until("429", async () => (await browsers[0].login({ token: "guess" })).code === 429)
		expect(await browsers[2].login({ token: "token-alice" }), 200)
		browsers.forEach((browser) => browser.close())
	})

	if (!server.foreign) await test("neither log has a secret, and the audit log has who it was", async () => {
		const browser = await loggedIn(server, { token: "token-alice" })
		const audit = readFileSync(server.audit, "utf8")
		for (const text of [audit, server.process.err, server.process.out]) {
			assert.ok(!text.includes(browser.id))
			assert.doesNotMatch(text, /token-alice|token-bob|eyJ|code=|__Host-/)
		}
		const lines = audit.trim().split("\n").map(JSON.parse).filter(({ stage }) => stage === "ResponseComplete")
		const users = (uri, status) => new Set(lines.filter(({ requestURI, responseStatus }) => requestURI === uri && responseStatus.code === status).map(({ user }) => user.username))
		assert.ok(users("/ui/login", 200).has("alice") && users("/ui/login", 200).has("bob"))
		assert.deepEqual([...users("/ui/login", 401)], ["system:anonymous"])
		assert.ok(users("/ui/logout", 204).has("alice"))
		assert.ok(users(claims, 200).has("alice"))
		const { text } = await server.client.get("/metrics")
		assert.match(text, /apiserver_request_total\{verb="POST",[^}]*code="401"\} \d/)
	})
}

// --- the command -----------------------------------------------------------------------------

async function run(args, env = {}) {
	const child = spawn(devplane, args, { env: { ...process.env, KUBECONFIG: "/nowhere", ...env } })
	let out = "", err = ""
	child.stdout.on("data", (data) => (out += data))
	child.stderr.on("data", (data) => (err += data))
	const [status] = await once(child, "close")
	return { status, out, err }
}

async function command(server) {
	await test("devplane page prints a link, and what to know of the certificate", async () => {
		for (const flags of [["--data-dir", server.folder], ["--kubeconfig", server.kubeconfig]]) {
			const { status, out, err } = await run(["page", ...flags])
			assert.equal(status, 0, err)
			const [, url, secret] = /^(\S+)\/ui\/#code=([\w-]{43})\n$/.exec(out)
			assert.equal(url, server.url)
			assert.ok(err.includes(new X509Certificate(server.credentials.ca).fingerprint256), err)
			assert.equal(err.includes(`${server.folder}/pki/ca.crt`), flags[0] === "--data-dir", err)
			expect(await new Browser(server).login({ code: secret }), 200)
		}
		assert.equal((await run(["page", "--data-dir", "x", "--kubeconfig", "y"])).status, 2)
		assert.equal((await run(["page", "--data-dir", `${scratch}/nowhere`])).status, 1)
	})

	// No browser is opened here: a script stands in for the desktop's way to do it.
	await test("devplane page --open hands the link to the desktop", async () => {
		const bin = `${scratch}/bin`, PATH = `${bin}:${process.env.PATH}`
		mkdirSync(bin)
		writeFileSync(`${bin}/xdg-open`, `#!/bin/sh\necho "$1" >${bin}/opened\nexit "\${FAIL:-0}"\n`)
		chmodSync(`${bin}/xdg-open`, 0o755)
		const { status, out } = await run(["page", "--open", "--data-dir", server.folder], { PATH })
		assert.deepEqual([status, readFileSync(`${bin}/opened`, "utf8")], [0, out])
		const failed = await run(["page", "--open", "--data-dir", server.folder], { PATH, FAIL: "3" })
		assert.equal(failed.status, 1)
		assert.match(failed.out + failed.err, /#code=.*by hand/s)
	})
}

// --- other servers ---------------------------------------------------------------------------

async function others() {
	await test("a restart forgets sessions and codes", async () => {
		const server = await startServer("lmdb", { flags: ["--token-auth-file", tokens, "--anonymous-auth=false"] })
		const browser = await loggedIn(server, { token: "token-alice" })
		const unused = await code(server.client)
		expect(await browser.ask("POST", reviews, { body: review }), 201)
		await server.kill()
		await server.begin()
		expectStatus(await browser.ask("GET", "/ui/session"), 401, "Unauthorized")
		expectStatus(await browser.ask("POST", reviews, { body: review }), 401, "Unauthorized")
		expectStatus(await browser.login({ code: unused }), 401, "Unauthorized")
		await server.stop()
	})

	await test("a server without anonymous requests still serves the page", async () => {
		const server = await startServer("lmdb", { flags: ["--token-auth-file", tokens, "--anonymous-auth=false"] })
		const browser = new Browser(server)
		expect(await browser.ask("GET", "/ui/", { headers: {} }), 200)
		for (const headers of [{}, page, { ...page, cookie: `${name}=` }, { ...page, cookie: `${name}=x` }, { cookie: `${name}=x` }])
			expectStatus(await browser.ask("GET", "/version", { headers }), 401, "Unauthorized")
		expectStatus(await browser.ask("GET", "/ui/session"), 401, "Unauthorized")
		expect(await browser.login({ token: "token-alice" }), 200)
		expect(await browser.ask("GET", "/version"), 200)
		expectStatus(await browser.ask("GET", "/version", { headers: {} }), 401, "Unauthorized")
		await server.stop()
	})

	await test("without the page there is nothing of it", async () => {
		const server = await startServer("lmdb", { flags: ["--token-auth-file", tokens, "--ui=false"] })
		for (const path of ["/ui", "/ui/", "/ui/app.js", "/ui/session"])
			assert.equal((await raw(server, path)).code, 404)
		for (const path of ["/ui/link", "/ui/login", "/ui/logout"])
			expect(await server.client.post(path, {}, { headers: page }), 404)
		assert.ok(!expect(await server.client.get("/"), 200).paths.includes("/ui/"))
		const { status, err } = await run(["page", "--data-dir", server.folder])
		assert.equal(status, 1)
		assert.match(err, /no device page.*--ui=false/)
		// A cookie means nothing to it, not even that something is wrong.
		const stranger = server.as({ token: "token-alice" })
		expect(await stranger.get("/version", { headers: { cookie: `${name}=x` } }), 200)
		expect(await new Client(server.url, { ca: server.credentials.ca }).get("/version", { headers: { ...page, cookie: `${name}=x` } }), 200)
		await server.stop()
	})

	if (backends.includes("etcd"))
		await test("sessions work where the objects are in etcd", async () => {
			const server = await startServer("etcd", { flags: ["--io-threads", "2"] })
			const { path, token } = await account(server.client)
			const browser = await loggedIn(server, { token })
			for (let i = 0; i < 4; i++)
				expect(await browser.ask("POST", reviews, { body: review }), 201)
			expect(await server.client.delete(path), 200)
			for (let i = 0; i < 4; i++)
				expectStatus(await browser.ask("POST", reviews, { body: review }), 401, "Unauthorized")
			expectStatus(await browser.ask("GET", claims, { headers: { ...page, cookie: `${name}=x` } }), 401, "Unauthorized")
			await server.stop()
		})
}

const audit = `${scratch}/audit.log`
const server = await startServer("lmdb", { flags: ["--token-auth-file", tokens, "--audit-log-path", audit, "--io-threads", "3"] })
server.audit = audit
await files(server)
await rights(server)
await ends(server)
await logins(server, Client)
await logins(server, Client2)
await logins2(server)
await links(server)
await badLogins(server)
await cookies(server)
await bounds(server)
await command(server)
await others()

subject = ", by devplane ui"
const site = await startUi(server, { tls: true })
await files(site)
await ends(site)
await logins(site, Client)
await logins(site, Client2)
await logins2(site)
await badLogins(site)
await cookies(site)
await bounds(site)
await test("the page ends in order", () => site.stop())
subject = ""
await test("the server ends in order", () => server.stop())
finish()
