// A webhook server of node's own, and configurations for it: what the webhook tests share.
//
//	const hooks = await startHooks()
//	hooks.answer("/deny", () => ({ allowed: false, status: { message: "no" } }))
//	await configure(server.client, validating, "deny", [hooks.webhook("deny.example.com", "/deny")])
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import * as https from "node:https"
import { expect, unique } from "./api_lib.mjs"
import { scratch } from "./lib.mjs"

const registration = "/apis/admissionregistration.k8s.io/v1"
export const mutating = "MutatingWebhookConfiguration"
export const validating = "ValidatingWebhookConfiguration"

function openssl(...args) {
	return execFileSync("openssl", args, { stdio: ["ignore", "pipe", "pipe"] })
}

// A CA and a certificate for the loopback address and these names: { ca, cert, key }.
export function makeCertificate(...names) {
	const base = `${scratch}/${unique("hook")}`
	const alternatives = ["IP:127.0.0.1", "DNS:localhost", ...names.map((name) => `DNS:${name}`)].join(",")
	mkdirSync(base)
	openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=hook-ca",
		"-days", "1", "-keyout", `${base}/ca.key`, "-out", `${base}/ca.crt`)
	openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=hook",
		"-keyout", `${base}/tls.key`, "-out", `${base}/tls.csr`)
	writeFileSync(`${base}/ext`, `subjectAltName=${alternatives}\nextendedKeyUsage=serverAuth\n`)
	openssl("x509", "-req", "-in", `${base}/tls.csr`, "-CA", `${base}/ca.crt`, "-CAkey", `${base}/ca.key`, "-set_serial", "7",
		"-days", "1", "-extfile", `${base}/ext`, "-out", `${base}/tls.crt`)
	return { ca: readFileSync(`${base}/ca.crt`), cert: readFileSync(`${base}/tls.crt`), key: readFileSync(`${base}/tls.key`) }
}

async function bodyOf(request) {
	const chunks = []
	for await (const chunk of request)
		chunks.push(chunk)
	return Buffer.concat(chunks).toString()
}

// A server of webhooks. answer(path, fn) sets what a path says: fn gets the request of the review and
// gives the members of the response; or it gets the node response, too, and sends by itself (returns nothing).
// A patch is given as a list. asked(path) are the requests that came.
export async function startHooks({ certificate = makeCertificate() } = {}) {
	const answers = new Map(), asked = new Map()
	const server = https.createServer({ cert: certificate.cert, key: certificate.key }, async (request, response) => {
		const url = new URL(request.url, "https://localhost")
		const review = JSON.parse(await bodyOf(request))
		asked.set(url.pathname, [...asked.get(url.pathname) ?? [], { ...review.request, review, url, headers: request.headers }])
		const given = await answers.get(url.pathname)?.(review.request, response)
		if (given === undefined)
			return
		const { patch, ...rest } = given
		const said = { uid: review.request.uid, allowed: true, ...rest }
		if (patch)
			Object.assign(said, { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") })
		response.setHeader("content-type", "application/json")
		response.end(JSON.stringify({ apiVersion: review.apiVersion, kind: "AdmissionReview", response: said }))
	})
	server.listen(0, "127.0.0.1")
	await once(server, "listening")
	const { port } = server.address()
	return {
		port,
		server,
		caBundle: certificate.ca.toString("base64"),
		answer: (path, fn) => answers.set(path, fn),
		asked: (path) => asked.get(path) ?? [],
		// A webhook of a configuration that is served at `path`; for config maps unless `more` says otherwise.
		webhook(name, path, more = {}) {
			return {
				name,
				clientConfig: { url: `https://127.0.0.1:${port}${path}`, caBundle: certificate.ca.toString("base64") },
				rules: [{ operations: ["CREATE", "UPDATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
				sideEffects: "None",
				admissionReviewVersions: ["v1"],
				...more,
			}
		},
		close: () => {
			server.closeAllConnections()
			server.close()
		},
	}
}

function collection(kind) {
	return `${registration}/${kind.toLowerCase()}s`
}

// Makes a configuration; resolves to a function that takes it away again.
export async function configure(client, kind, name, webhooks) {
	const path = collection(kind)
	expect(await client.post(path, { apiVersion: "admissionregistration.k8s.io/v1", kind, metadata: { name }, webhooks }), 201)
	return async () => expect(await client.delete(`${path}/${name}`), 200)
}

// Runs `body` while a configuration of these webhooks is there.
export async function withWebhooks(client, kind, webhooks, body) {
	const remove = await configure(client, kind, unique("config"), webhooks)
	try {
		return await body()
	} finally {
		await remove()
	}
}
