// Attacks by a node, or by a user who may write one, on the way from the server to kubelets. In a network namespace of its own, as
// the server must be reachable at an address that is not loopback.
import assert from "node:assert/strict"
import { execFileSync, spawnSync } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import * as https from "node:https"
import * as net from "node:net"
import * as tls from "node:tls"
import { fileURLToPath } from "node:url"
import { core, startServer } from "./api_lib.mjs"
import { finish, scratch, start, test } from "./lib.mjs"

const here = fileURLToPath(import.meta.url)
if (!process.env.OWN_NETWORK) {
	const inside = `ip link set lo up && ip addr add 198.51.100.1/32 dev lo && ip addr add 198.51.100.2/32 dev lo && exec node ${here}`
	const { status } = spawnSync("unshare", ["--net", "sh", "-c", inside], { stdio: "inherit", env: { ...process.env, OWN_NETWORK: "1" } })
	process.exit(status ?? 1)
}

const rbac = "/apis/rbac.authorization.k8s.io/v1"
const tokens = `${scratch}/tokens.csv`
writeFileSync(tokens, "reader-token,reader,1\n")
const flags = ["--token-auth-file", tokens, "--bind-address", "198.51.100.1", "--kubelet-preferred-address-types", "InternalIP,InternalDNS"]
const server = await startServer("lmdb", { flags })
const { client } = server

async function made(answer) {
	const { code, text } = await answer
	assert.equal(code, 201, text)
}
await made(client.post(`${core}/namespaces/default/secrets`, { metadata: { name: "jewel" }, stringData: { a: "the crown" } }))
await made(client.post(`${rbac}/clusterroles`, { metadata: { name: "pages" }, rules: [{ apiGroups: [""], resources: ["nodes/proxy"], verbs: ["*"] }] }))
await made(client.post(`${rbac}/clusterrolebindings`, { metadata: { name: "pages" }, subjects: [{ kind: "User", name: "reader" }],
	roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "pages" } }))
await made(client.post(`${core}/nodes`, { metadata: { name: "evil" } }))

// The node says of itself that its kubelet is there.
async function claimToBe(address, port, at = client, type = "InternalIP") {
	const headers = { "impersonate-user": "system:node:evil", "impersonate-group": "system:nodes" }
	const status = { addresses: [{ type, address }], daemonEndpoints: { kubeletEndpoint: { Port: port } } }
	const { code, text } = await at.patch(`${core}/nodes/evil/status`, { status }, "strategic", { headers })
	assert.equal(code, 200, text)
}

// The secrets that the reader gets through the node; `node` may have a scheme and a port.
async function steal(node = "evil", of = server) {
	const { code, text } = await of.as({ token: "reader-token" }).get(`${core}/nodes/${node}/proxy${core}/secrets`)
	assert.ok(!/the crown|dGhlIGNyb3du/.test(text), "the secret is out")
	return `${code} ${JSON.parse(text).message}`
}

// A listener that hands what it gets on to the server, and so hides where that is.
async function startForwarder(port) {
	const listener = net.createServer((from) => {
		const to = net.connect(port, "198.51.100.1")
		from.pipe(to).pipe(from)
		for (const end of [from, to])
			end.on("error", () => { from.destroy(); to.destroy() })
	})
	listener.listen(0, "198.51.100.2")
	await once(listener, "listening")
	return listener
}

await test("the server leads nobody to itself, by whatever address", async () => {
	for (const address of ["198.51.100.1", "198.51.100.2", "127.0.0.1"]) {
		await claimToBe(address, server.port)
		assert.equal(await steal(), "400 address not allowed", address)
	}
	await claimToBe("198.51.100.1", 10250)
	assert.equal(await steal(`https:evil:${server.port}`), "400 address not allowed")
	await claimToBe("0xc6336401", server.port, client, "InternalDNS")
	assert.match(await steal(), /address not allowed/)
})

await test("the certificate that kubelets see opens nothing at the server", async () => {
	const forwarder = await startForwarder(server.port)
	await claimToBe("198.51.100.2", forwarder.address().port)
	assert.equal(await steal(), "401 Unauthorized")
	forwarder.close()
})

await test("and it names no group", async () => {
	const { key, cert } = server.credentials
	const kubelet = tls.createServer({ key, cert, requestCert: true, rejectUnauthorized: false })
	kubelet.listen(0, "198.51.100.2")
	await once(kubelet, "listening")
	await claimToBe("198.51.100.2", kubelet.address().port)
	const asked = once(kubelet, "secureConnection")
	const answer = steal().catch(() => {})
	const [connection] = await asked
	const { subject } = connection.getPeerCertificate()
	assert.deepEqual({ ...subject }, { CN: "kube-apiserver-kubelet-client" })
	connection.destroy()
	kubelet.close()
	await answer
})

await test("nodes elsewhere than the allowed ranges are not asked", async () => {
	await server.stop()
	const strict = await startServer("lmdb", { folder: server.folder, flags: [...flags, "--node-address-ranges", "203.0.113.0/24,198.51.100.0/31"] })
	const forwarder = await startForwarder(strict.port)
	await claimToBe("198.51.100.2", forwarder.address().port, strict.client)
	assert.equal(await steal("evil", strict), "400 address not allowed")
	await claimToBe("198.51.100.1", 9, strict.client)
	assert.doesNotMatch(await steal("evil", strict), /address not allowed/)
	forwarder.close()
	await strict.stop()
	const wrong = start("server", "--data-dir", `${scratch}/wrong`, "--node-address-ranges", "198.51.100.1")
	assert.notEqual((await wrong.ended).code, 0)
	assert.match(wrong.err, /--node-address-ranges: "198.51.100.1" is not a range such as/)
})

// A serving certificate for a node's name and for the address where the listeners are, signed by the CA of `pki`, or by nobody.
function certificate(node, pki) {
	const file = `${scratch}/${node}-${pki ? "signed" : "own"}`
	const signed = pki ? ["-CA", `${pki}/ca.crt`, "-CAkey", `${pki}/ca.key`] : []
	const openssl = (...args) => execFileSync("openssl", args, { stdio: "ignore" })
	openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", `/CN=system:node:${node}`, "-keyout", `${file}.key`, "-out", `${file}.csr`)
	writeFileSync(`${file}.ext`, `subjectAltName=DNS:${node},IP:198.51.100.2\n`)
	openssl("x509", "-req", "-in", `${file}.csr`, "-days", "2", "-extfile", `${file}.ext`, "-out", `${file}.crt`, ...(pki ? [...signed, "-CAcreateserial"] : ["-signkey", `${file}.key`]))
	return { key: readFileSync(`${file}.key`), cert: readFileSync(`${file}.crt`) }
}

await test("an impostor at a node's address is refused, also with the certificate of another node", async () => {
	const pki = `${server.folder}/pki`
	const strict = await startServer("lmdb", { folder: server.folder,
		flags: [...flags, "--kubelet-certificate-authority", `${pki}/ca.crt`, "--kubelet-certificate-names"] })
	await made(strict.client.post(`${core}/namespaces/default/serviceaccounts`, { metadata: { name: "default" } }))
	await made(strict.client.post(`${core}/namespaces/default/pods`, { metadata: { name: "web" }, spec: { nodeName: "evil", automountServiceAccountToken: false,
		containers: [{ name: "main", image: "none" }] } }))
	const log = async (pair) => {
		const kubelet = https.createServer(pair, (request, response) => response.end("all is well\n"))
		kubelet.listen(0, "198.51.100.2")
		await once(kubelet, "listening")
		await claimToBe("198.51.100.2", kubelet.address().port, strict.client)
		const { code, text } = await strict.client.get(`${core}/namespaces/default/pods/web/log`)
		kubelet.close()
		kubelet.closeAllConnections()
		return `${code} ${code === 200 ? text : JSON.parse(text).message}`
	}
	assert.equal(await log(certificate("evil", pki)), "200 all is well\n")
	assert.match(await log(certificate("evil")), /^500 .*certificate/)
	assert.match(await log(certificate("other", pki)), /^500 .*certificate/)
	await strict.stop()
})

await test("names of kubelets' certificates are checked by a CA only", async () => {
	const wrong = start("server", "--data-dir", `${scratch}/wrong`, "--kubelet-certificate-names")
	assert.notEqual((await wrong.ended).code, 0)
	assert.match(wrong.err, /--kubelet-certificate-names needs --kubelet-certificate-authority/)
})

finish()
