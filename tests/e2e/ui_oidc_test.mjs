// Logging in to `devplane ui` with OpenID Connect. The provider is played here, and so is the API server, which takes its ID tokens.
import assert from "node:assert/strict"
import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import http from "node:http"
import https from "node:https"
import { Client, dra, expect, expectStatus } from "./api_lib.mjs"
import { finish, scratch, test } from "./lib.mjs"
import { Browser, checked, page, selfSigned, startUi } from "./ui_lib.mjs"

const slices = `${dra}/resourceslices`
const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url")

// A provider that logs everybody in as `user`. `claims` changes the ID token, and `refuse` is an error to send back.
async function startProvider(secret) {
	const cert = selfSigned(), [, certFile, , keyFile] = cert.flags
	const self = { ca: certFile, user: "erin", claims: {}, codes: new Map(), asked: [] }
	const body = async (request) => {
		let text = ""
		for await (const chunk of request)
			text += chunk
		return new URLSearchParams(text)
	}
	const reply = (answer, code, value) => {
		answer.writeHead(code, { "content-type": "application/json" })
		answer.end(JSON.stringify(value))
	}
	const own = https.createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, async (request, answer) => {
		const url = new URL(request.url, self.url)
		self.asked.push(url.pathname)
		if (url.pathname === "/realm/.well-known/openid-configuration")
			return reply(answer, 200, { issuer: self.says ?? self.url, authorization_endpoint: `${self.url}/authorize?tenant=1`, token_endpoint: `${self.url}/token` })
		if (url.pathname === "/realm/authorize") {
			const q = url.searchParams, back = new URL(q.get("redirect_uri"))
			assert.deepEqual([q.get("response_type"), q.get("client_id"), q.get("scope"), q.get("code_challenge_method"), q.get("tenant")], ["code", "the page", "openid email", "S256", "1"])
			back.searchParams.set("state", q.get("state"))
			if (self.refuse)
				back.searchParams.set("error", self.refuse)
			else {
				const code = randomBytes(9).toString("base64")
				self.codes.set(code, { challenge: q.get("code_challenge"), nonce: q.get("nonce"), redirect: q.get("redirect_uri") })
				back.searchParams.set("code", code)
			}
			answer.writeHead(302, { location: back.href })
			return answer.end()
		}
		const form = await body(request), known = self.codes.get(form.get("code"))
		self.codes.delete(form.get("code"))
		const client = request.headers.authorization === `Basic ${Buffer.from(`the page:${secret}`).toString("base64")}`
		const challenge = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url")
		if (!known || !client || form.get("grant_type") !== "authorization_code" || challenge !== known.challenge || form.get("redirect_uri") !== known.redirect)
			return reply(answer, 400, { error: "invalid_grant" })
		const claims = { iss: self.url, aud: "the page", sub: self.user, nonce: known.nonce, exp: Math.floor(Date.now() / 1000) + 600, ...self.claims }
		reply(answer, 200, { access_token: "opaque", token_type: "Bearer", id_token: `${part({ alg: "RS256" })}.${part(claims)}.c2ln` })
	})
	own.listen(0, "127.0.0.1")
	await once(own, "listening")
	self.url = `https://127.0.0.1:${own.address().port}/realm`
	self.close = () => {
		own.closeAllConnections()
		own.close()
	}
	return self
}

// An API server that takes tokens of `sub` erin, and says who it is.
async function startApi() {
	const self = { tokens: [] }
	const own = http.createServer((request, answer) => {
		const token = request.headers.authorization?.replace("Bearer ", "")
		self.tokens.push(token)
		const name = token?.includes(".") && JSON.parse(Buffer.from(token.split(".")[1], "base64url")).sub
		answer.writeHead(name === "erin" ? 200 : 401, { "content-type": "application/json" })
		answer.end(JSON.stringify(name === "erin" ? { items: [], status: { userInfo: { username: "oidc:erin", groups: ["staff"] } } } : { kind: "Status", reason: "Unauthorized", code: 401 }))
	})
	own.listen(0, "127.0.0.1")
	await once(own, "listening")
	self.url = `http://127.0.0.1:${own.address().port}`
	self.close = () => {
		own.closeAllConnections()
		own.close()
	}
	return self
}

const secret = "s&cret"
const [provider, api] = await Promise.all([startProvider(secret), startApi()])
writeFileSync(`${scratch}/secret`, `${secret}\n`)
writeFileSync(`${scratch}/kubeconfig`, JSON.stringify({
	apiVersion: "v1", kind: "Config", "current-context": "x", clusters: [{ name: "x", cluster: { server: api.url } }], users: [{ name: "x", user: {} }],
	contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
}))
const redirect = "https://page.example/ui/oidc/callback"
const site = await startUi({ credentials: {} }, { tls: true, kubeconfig: `${scratch}/kubeconfig`, flags: ["--login-link=false", "--oidc-issuer-url", provider.url, "--oidc-client-id", "the page",
	"--oidc-client-secret-file", `${scratch}/secret`, "--oidc-ca-file", provider.ca, "--oidc-redirect-url", redirect, "--oidc-scope", "email"] })
const provides = new Client(provider.url, { ca: readFileSync(provider.ca) })

// A browser that navigates: it keeps the cookie of a login under way.
class Visitor extends Browser {
	async go(path) {
		const answer = await this.ask("GET", path, { headers: this.jar ? { cookie: this.jar } : {} })
		for (const cookie of answer.headers["set-cookie"] ?? []) {
			const [, name, value] = /^([^=]+)=([^;]*);/.exec(cookie)
			if (name.endsWith("-login")) {
				assert.deepEqual(cookie.split("; ").slice(1), ["Path=/", value ? "Max-Age=600" : "Max-Age=0", "HttpOnly", "SameSite=Lax", "Secure"])
				this.jar = value && `${name}=${value}`
			} else {
				assert.deepEqual(cookie.split("; ").slice(1), ["Path=/", "Secure", "HttpOnly", "SameSite=Strict"])
				this.id = value
			}
		}
		return answer
	}

	// To the provider, and back with its answer: the path to come back to.
	async start() {
		const started = await this.go("/ui/oidc")
		assert.equal(started.code, 302, started.text)
		const { headers: { location } } = await provides.get(started.headers.location)
		assert.ok(location.startsWith(`${redirect}?`), location)
		return location.replace("https://page.example", "")
	}
}

await test("a login at the provider becomes a session of that user", async () => {
	const erin = new Visitor(site)
	const lost = await erin.ask("GET", "/ui/session")
	assert.deepEqual([lost.code, lost.headers["x-devplane-login"]], [401, "ui oidc"])
	const answer = await erin.go(await erin.start())
	assert.deepEqual([answer.code, answer.headers.location, erin.jar], [303, "/ui/", ""])
	const { user, groups, expires } = expect(await erin.ask("GET", "/ui/session"), 200)
	assert.deepEqual([user, groups], ["oidc:erin", ["staff"]])
	assert.ok(Math.abs(Date.parse(expires) - Date.now() - 600e3) < 60e3, expires)
	api.tokens.length = 0
	expect(await erin.ask("GET", slices), 200)
	assert.equal(JSON.parse(Buffer.from(api.tokens[0].split(".")[1], "base64url")).sub, "erin")
})

async function fails(visitor, path, code, why) {
	const answer = checked(await visitor.go(path))
	assert.equal(answer.code, code, answer.text)
	assert.match(answer.text, why)
	assert.equal(visitor.id, undefined)
	expectStatus(await visitor.ask("GET", "/ui/session"), 401, "Unauthorized")
}

await test("a code counts for the browser that started the login only, and once", async () => {
	const [one, two] = [new Visitor(site), new Visitor(site)]
	const path = await one.start()
	await fails(two, path, 401, /not started by this browser/)
	await two.start()
	await fails(two, path, 401, /not started by this browser/)
	assert.equal((await one.go(path)).code, 303)
	one.id = undefined
	await fails(one, path, 401, /not started by this browser/)
	const three = new Visitor(site)
	await three.start()
	for (const query of ["", "?state=x&code=y", `?${path.split("?")[1].replace(/state=[^&]*/, "state=")}`])
		await fails(three, `/ui/oidc/callback${query}`, 401, /not started by this browser/)
})

await test("a code that the provider does not know, and a refusal of the provider, are no login", async () => {
	const visitor = new Visitor(site)
	await fails(visitor, (await visitor.start()).replace(/code=[^&]*/, "code=guess"), 401, /does not accept the code/)
	provider.refuse = "access_denied"
	await fails(visitor, await visitor.start(), 401, /access_denied/)
	provider.refuse = undefined
})

await test("an ID token of another login is rejected", async () => {
	const cases = [[{ nonce: "other" }, /another login/], [{ aud: "x" }, /another client/], [{ iss: "https://evil.example" }, /another issuer/], [{ exp: 1 }, /expired/],
		[{ sub: "mallory" }, /does not accept the provider's ID token/]]
	for (const [claims, why] of cases) {
		const visitor = new Visitor(site)
		provider.claims = claims
		await fails(visitor, await visitor.start(), 401, why)
	}
	provider.claims = {}
})

await test("another site cannot start a login, and a provider with another name is not used", async () => {
	const visitor = new Visitor(site)
	provider.asked.length = 0
	expectStatus(await visitor.ask("GET", "/ui/oidc", { headers: { "sec-fetch-site": "cross-site" } }), 403, "Forbidden")
	assert.equal((await visitor.ask("POST", "/ui/oidc", { headers: page })).code, 405)
	assert.deepEqual(provider.asked, [])
	provider.says = "https://evil.example"
	await fails(visitor, "/ui/oidc", 500, /calls itself/)
	provider.says = undefined
	provider.close()
	await fails(visitor, "/ui/oidc", 503, /did not answer/)
})

await test("everything ends in order", async () => {
	await site.stop()
	api.close()
})
finish()
