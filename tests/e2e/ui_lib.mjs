// Browsers without a screen, for the page of our own API server and for that of `devplane ui`.
//
// A site is what serves the page: { url, credentials: { ca }, cookie, foreign, client, as }. `client` and `as` talk to the
// API server itself; `foreign` says that this is another server than the site.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { Client, expect, unique } from "./api_lib.mjs"
import { scratch, start, until } from "./lib.mjs"

export const page = { "x-devplane-ui": "1" }
export const host = "__Host-devplane"
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Fails unless an answer of the page's server has what every one must have; returns the answer.
export function checked(answer) {
	const { headers } = answer
	assert.equal(headers["content-security-policy"], policy)
	assert.equal(headers["x-content-type-options"], "nosniff")
	assert.equal(headers["referrer-policy"], "no-referrer")
	assert.equal(headers["cross-origin-opener-policy"], "same-origin")
	assert.equal(headers["cross-origin-resource-policy"], "same-origin")
	assert.match(headers["cache-control"], /^no-(cache|store)$/)
	return answer
}

// Somebody without credentials, but with a jar for one cookie.
export class Browser {
	constructor(site, Kind = Client) {
		this.site = site
		this.name = site.cookie ?? host
		this.client = new Kind(site.url, { ca: site.credentials.ca })
	}

	close() {
		this.client.close()
	}

	get cookie() {
		return this.id === undefined ? {} : { cookie: `${this.name}=${this.id}` }
	}

	async ask(method, path, { headers = page, body, ...rest } = {}) {
		const answer = await this.client.request(method, path, { body, headers: { ...this.cookie, ...headers }, ...rest })
		return path.startsWith("/ui") || this.site.foreign ? checked(answer) : answer
	}

	async login(secret) {
		const answer = await this.ask("POST", "/ui/login", { body: secret })
		if (answer.code === 200)
			this.id = new RegExp(`^${this.name}=([\\w-]{43});`).exec(answer.headers["set-cookie"])[1]
		return answer
	}

	async watch(path) {
		return this.client.watch(path, { headers: { ...this.cookie, ...page } })
	}
}

export async function loggedIn(site, secret, Kind) {
	const browser = new Browser(site, Kind)
	expect(await browser.login(secret), 200)
	return browser
}

// A certificate for loopback that signed itself: { ca, flags }.
export function selfSigned() {
	const file = `${scratch}/ui-${unique("cert")}`
	execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj", "/CN=ui",
		"-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", `${file}.key`, "-out", `${file}.crt`], { stdio: "pipe" })
	return { ca: readFileSync(`${file}.crt`), flags: ["--tls-cert-file", `${file}.crt`, "--tls-private-key-file", `${file}.key`] }
}

// `devplane ui` for the API server `server`, on a port of loopback; with `tls` over HTTPS.
export async function startUi(server, { flags = [], tls = false, kubeconfig = server.kubeconfig } = {}) {
	const cert = tls ? selfSigned() : { flags: [] }
	const own = start("ui", "--kubeconfig", kubeconfig, "--bind-address", "127.0.0.1:0", "--no-browser", "--log-format", "text",
		...cert.flags, ...flags)
	let over
	own.ended.then((how) => (over = how))
	await until("page", () => {
		assert.ok(!over, `devplane ui ended: ${JSON.stringify(over)} ${own.err}`)
		return /page at \S+\/ui\/\n/.test(own.out) && (own.out.includes("#code=") || flags.includes("--login-link=false"))
	})
	const url = /page at (\S+)\/ui\//.exec(own.out)[1]
	const self = {
		foreign: true, process: own, url, folder: server.folder, kubeconfig, credentials: { ca: cert.ca },
		link: /\S+#code=\S+/.exec(own.out)?.[0], code: /#code=(\S+)/.exec(own.out)?.[1],
		cookie: tls ? host : `devplane-${new URL(url).port}`,
		get client() {
			return server.client
		},
		as: server.as,
	}
	self.stop = async () => {
		own.child.kill("SIGTERM")
		assert.deepEqual(await own.ended, { code: 0, signal: null })
	}
	return self
}
