// Browsers without a screen, for the page of our own API server and for that of `devplane ui`.
//
// A site is what serves the page: { url, credentials: { ca }, cookie, foreign, client, as }. `client` and `as` talk to the
// API server itself; `foreign` says that this is another server than the site.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import * as https from "node:https"
import { Client, core, dra, expect, expectStatus, unique } from "./api_lib.mjs"
import { devplane, scratch, start, until } from "./lib.mjs"

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

// --- explanations ------------------------------------------------------------------------------

export const explain = (browser, query, method = "GET") => browser.ask(method, `/ui/explain?${query}`)

const rbac = "/apis/rbac.authorization.k8s.io/v1"

// Rules for a user, in one namespace or in all.
export async function allow(client, user, name, rules, ns) {
	const [role, binding, kind] = ns ? [`namespaces/${ns}/roles`, `namespaces/${ns}/rolebindings`, "Role"] : ["clusterroles", "clusterrolebindings", "ClusterRole"]
	expect(await client.post(`${rbac}/${role}`, { metadata: { name }, rules }), 201)
	expect(await client.post(`${rbac}/${binding}`, { metadata: { name }, roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name }, subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: user }] }), 201)
}

// A pod team-a/train that waits for a device of n1, which a claim of another team has.
export async function waitingPod(client) {
	const own = { metadata: { name: "gpu" }, spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu", count: 1 } }] } } }
	for (const name of ["team-a", "secret-project"])
		expect(await client.post(`${core}/namespaces`, { metadata: { name } }), 201)
	expect(await client.post(`${core}/nodes`, { metadata: { name: "n1" } }), 201)
	expect(await client.post(`${dra}/deviceclasses`, { metadata: { name: "gpu" }, spec: { selectors: [{ cel: { expression: 'device.driver == "gpu.example.com"' } }] } }), 201)
	for (const driver of ["gpu.example.com", "nic.example.com"])
		expect(await client.post(`${dra}/resourceslices`, { metadata: { name: driver }, spec: { driver, nodeName: "n1", pool: { name: "n1", generation: 1, resourceSliceCount: 1 }, devices: [{ name: "dev-0" }] } }), 201)
	for (const [ns, name] of [["team-a", "gpu"], ["secret-project", "hidden"]])
		expect(await client.post(`${dra}/namespaces/${ns}/resourceclaims`, { ...own, metadata: { name } }), 201)
	const results = [{ request: "gpu", driver: "gpu.example.com", pool: "n1", device: "dev-0" }]
	expect(await client.patch(`${dra}/namespaces/secret-project/resourceclaims/hidden/status`, { status: { allocation: { devices: { results } } } }, "merge"), 200)
	expect(await client.post(`${core}/namespaces/team-a/pods`, { metadata: { name: "train" }, spec: {
		schedulerName: "nobody", resourceClaims: [{ name: "gpu", resourceClaimName: "gpu" }], containers: [{ name: "main", image: "busybox", resources: { claims: [{ name: "gpu" }] } }] } }), 201)
}

// What explain-fit says of that pod: to everybody, and to a user with few rights.
export async function explainsWaitingPod(site, admin, alice) {
	const { client } = site
	const reasons = ({ groups }) => groups.flatMap((g) => g.requests.flatMap((r) => r.reasons.map((x) => [r.claim, g.nodes.join(), x.reason, x.detail ?? x.devices[0].detail])))
	const all = expect(await explain(admin, "namespace=team-a&pod=train"), 200)
	assert.equal(all.pod, "team-a/train")
	assert.deepEqual([all.nodes, all.fits], [1, []])
	assert.deepEqual(reasons(all), [["team-a/gpu", "n1", "InUse", "claim secret-project/hidden"], ["team-a/gpu", "n1", "ClassSelector", 'device.driver == "gpu.example.com"']])
	assert.deepEqual(JSON.parse(execFileSync(devplane, ["explain-fit", "pod/train", "-n", "team-a", "-o", "json", "--kubeconfig", site.kubeconfig], { encoding: "utf8" })), all)
	assert.equal(expect(await explain(admin, "namespace=team-a&claim=gpu&cluster=0&node=n1"), 200).claim, "team-a/gpu")
	expectStatus(await explain(alice, "namespace=team-a&pod=train"), 403, "Forbidden", /alice.*pods/)
	await allow(client, "alice", "own", [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }, { apiGroups: ["resource.k8s.io"], resources: ["resourceclaims"], verbs: ["get", "list"] }], "team-a")
	expectStatus(await explain(alice, "namespace=team-a&pod=train"), 403, "Forbidden", /alice.*resourceslices/)
	await allow(client, "alice", "devices", [{ apiGroups: ["resource.k8s.io"], resources: ["resourceslices", "deviceclasses"], verbs: ["list"] }])
	const seen = await explain(alice, "namespace=team-a&pod=train")
	expect(seen, 200)
	assert.ok(!seen.text.includes("hidden") && !seen.text.includes("secret-project"), seen.text)
	assert.match(seen.body.notes.join(), /cannot read claims of other namespaces/)
	expectStatus(await explain(alice, "namespace=secret-project&claim=hidden"), 403, "Forbidden")
}

// What cannot be explained.
export async function refusesToExplain(site, admin) {
	expectStatus(await explain(new Browser(site), "namespace=team-a&pod=train"), 401, "Unauthorized")
	expectStatus(await explain(admin, "namespace=team-a&pod=nobody"), 404, "NotFound", /nobody/)
	expectStatus(await explain(admin, "namespace=team-a&claim=nobody"), 404, "NotFound", /nobody/)
	expectStatus(await explain(admin, "namespace=team-a&pod=train&cluster=7"), 404, "NotFound", /cluster/)
	expectStatus(await explain(admin, "namespace=team-a&pod=train", "POST"), 405, "MethodNotAllowed")
	for (const [query, text] of [["", /a pod or a claim/], ["pod=x", /a pod or a claim/], ["namespace=team-a&pod=x&claim=y", /a pod or a claim/], ["namespace=team-a&pod=-A", /pod: "-A" is not a valid name/],
		["namespace=team-a&pod=x/log", /not a valid name/], ["namespace=..&pod=x", /not a valid name/], ["namespace=team-a&pod=x&server=https:", /unknown parameter/], ["namespace=team-a&pod=x&cluster=lab", /cluster/]])
		expectStatus(await explain(admin, query), 400, "BadRequest", text)
}

const flow = "/apis/flowcontrol.apiserver.k8s.io/v1"

// Requests of the user wait in the server's queue from now on, until release() is called: one of them, for a list that is not
// read, holds the only seat. `token` is the user's, who may list config maps.
export async function holdUser(server, user, token) {
	const { client } = server, name = unique("held"), text = "x".repeat(900_000)
	expect(await client.post(`${flow}/prioritylevelconfigurations`, {
		apiVersion: "flowcontrol.apiserver.k8s.io/v1", kind: "PriorityLevelConfiguration", metadata: { name },
		spec: { type: "Limited", limited: { nominalConcurrencyShares: 1, borrowingLimitPercent: 0, limitResponse: { type: "Queue", queuing: { queues: 1, handSize: 1, queueLengthLimit: 100 } } } },
	}), 201)
	const schema = expect(await client.post(`${flow}/flowschemas`, {
		apiVersion: "flowcontrol.apiserver.k8s.io/v1", kind: "FlowSchema", metadata: { name },
		spec: {
			priorityLevelConfiguration: { name }, matchingPrecedence: 200, distinguisherMethod: { type: "ByUser" },
			rules: [{
				subjects: [{ kind: "User", user: { name: user } }],
				resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true }],
				nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
			}],
		},
	}), 201)
	for (let i = 0; i < 20; i++)
		expect(await client.post(`${core}/namespaces/default/configmaps`, { metadata: { name: `${name}-${i}` }, data: { text } }), 201)
	const ask = () => new Promise((resolve, reject) => {
		const request = https.get(`${server.url}${core}/namespaces/default/configmaps`, { ca: server.credentials.ca, agent: false, headers: { authorization: `Bearer ${token}`, "accept-encoding": "identity" } }, (answer) => {
			answer.pause()
			answer.on("error", () => {})
			resolve({ answer, request })
		})
		request.on("error", reject)
	})
	const held = await until("a request in the new level", async () => {
		const { answer, request } = await ask()
		assert.equal(answer.statusCode, 200)
		if (answer.headers["x-kubernetes-pf-flowschema-uid"] === schema.metadata.uid)
			return request
		request.destroy()
	})
	return { name, release: () => held.destroy() }
}

// The processes of explanations: { pid, command, status(field) } of each child of that process.
export function explainers(parent) {
	const read = (pid, file) => {
		try {
			return readFileSync(`/proc/${pid}/${file}`, "utf8")
		} catch {
			return ""
		}
	}
	return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid)).map((pid) => ({ pid: Number(pid), command: read(pid, "cmdline").split("\0"), read: (file) => read(pid, file) }))
		.filter(({ pid, command }) => command.includes("explain-fit") && !command.includes("confine") && new RegExp(`^PPid:\t${parent}$`, "m").test(read(pid, "status")))
}
