// Pods and their service accounts: what a pod gets when it is made, with and without a controller that makes the
// accounts, and on several servers.
import assert from "node:assert/strict"
import { cpSync } from "node:fs"
import { backends, core, expect, expectStatus, newNamespace, paths, startServer, unique } from "./api_lib.mjs"
import { finish, scratch, start, test, until } from "./lib.mjs"

const mountPath = "/var/run/secrets/kubernetes.io/serviceaccount"

function pathsOf(namespace) {
	return { ...paths(namespace), accounts: `${core}/namespaces/${namespace}/serviceaccounts` }
}

function pod(name, spec = {}) {
	return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec: { containers: [{ name: "main", image: "example.com/app:1" }], ...spec } }
}

function account(name, fields = {}, metadata = {}) {
	return { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, ...metadata }, ...fields }
}

// The fields that kube-apiserver 1.37 adds to a pod of that account.
function expectAccount({ spec }, name) {
	assert.equal(spec.serviceAccountName, name)
	assert.equal(spec.serviceAccount, name)
	const volume = spec.volumes.at(-1)
	assert.match(volume.name, /^kube-api-access-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
	assert.deepEqual(volume, {
		name: volume.name,
		projected: {
			sources: [
				{ serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
				{ configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
				{ downwardAPI: { items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }] } },
			],
			defaultMode: 420,
		},
	})
	for (const { volumeMounts } of [...spec.initContainers ?? [], ...spec.containers])
		assert.deepEqual(volumeMounts.at(-1), { name: volume.name, readOnly: true, mountPath })
}

function expectNone({ spec }) {
	assert.ok(!("serviceAccountName" in spec) && !("serviceAccount" in spec))
	assert.ok(!("volumes" in spec) && !("imagePullSecrets" in spec))
	for (const container of spec.containers)
		assert.ok(!("volumeMounts" in container))
}

async function withoutController(say, { client, client2 }) {
	await test(say("without a controller a pod is taken without an account"), async () => {
		const { pods } = pathsOf(await newNamespace(client))
		expectNone(expect(await client.post(pods, pod("a")), 201))
		expectNone(expect(await client2.get(`${pods}/a`), 200))
	})
	await test(say("an account that is named must be there"), async () => {
		const namespace = await newNamespace(client)
		const { pods, accounts } = pathsOf(namespace)
		const named = pod("a", { serviceAccountName: "builder" })
		const { message } = expectStatus(await client.post(pods, named), 403, "Forbidden")
		assert.equal(message, `pods "a" is forbidden: error looking up service account ${namespace}/builder: serviceaccount "builder" not found`)
		expect(await client.post(accounts, account("builder", { imagePullSecrets: [{ name: "registry" }] })), 201)
		const made = expect(await client.post(pods, named), 201)
		expectAccount(made, "builder")
		assert.deepEqual(made.spec.imagePullSecrets, [{ name: "registry" }])
	})
	await test(say("a token of the pod's account speaks for it while the pod is there"), async () => {
		const { pods, accounts } = pathsOf(await newNamespace(client))
		expect(await client.post(accounts, account("default")), 201)
		const made = expect(await client.post(pods, pod("a")), 201)
		const { expirationSeconds } = made.spec.volumes.at(-1).projected.sources[0].serviceAccountToken
		const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: "a", uid: made.metadata.uid }
		const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds, boundObjectRef } }
		const { status } = expect(await client.post(`${accounts}/${made.spec.serviceAccountName}/token`, request), 201)
		const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: status.token } }
		const reviewed = expect(await client.post("/apis/authentication.k8s.io/v1/tokenreviews", review), 201)
		assert.equal(reviewed.status.authenticated, true)
		assert.deepEqual(reviewed.status.user.extra["authentication.kubernetes.io/pod-name"], ["a"])
	})
	await test(say("only the secrets of an account that says so"), async () => {
		const { pods, accounts } = pathsOf(await newNamespace(client))
		const annotations = { "kubernetes.io/enforce-mountable-secrets": "true" }
		const mounts = (secretName) => pod("a", { volumes: [{ name: "v", secret: { secretName } }] })
		expect(await client.post(accounts, account("default", { secrets: [{ name: "mine" }] }, { annotations })), 201)
		const { message } = expectStatus(await client.post(pods, mounts("theirs")), 403, "Forbidden")
		assert.equal(message, 'pods "a" is forbidden: volume with secret.secretName="theirs" is not allowed because service account default does not reference that secret')
		expectAccount(expect(await client.post(pods, mounts("mine")), 201), "default")
		const debug = (name) => ({ spec: { ephemeralContainers: [{ name: "debug", image: "i", envFrom: [{ secretRef: { name } }] }] } })
		expectStatus(await client.patch(`${pods}/a/ephemeralcontainers`, debug("theirs"), "strategic"), 403, "Forbidden")
		expect(await client.patch(`${pods}/a/ephemeralcontainers`, debug("mine"), "strategic"), 200)
	})
	await test(say("fields that admission added have no manager, and stay when the pod is written back"), async () => {
		const { pods, accounts } = pathsOf(await newNamespace(client))
		expect(await client.post(accounts, account("default")), 201)
		const made = expect(await client.post(pods, pod("a")), 201)
		const owned = JSON.stringify(made.metadata.managedFields)
		assert.ok(!/kube-api-access|serviceAccount|volumeMounts/.test(owned), owned)
		assert.deepEqual(expect(await client.put(`${pods}/a`, made), 200), made)
	})
}

async function withController(say, server) {
	const { client } = server
	await test(say("with a controller every pod has its account"), async () => {
		const controller = start("controller", "--kubeconfig", server.kubeconfig, "--metrics-bind-address", "127.0.0.1:0", "--log-format", "text")
		const namespace = await newNamespace(client)
		const { pods, accounts, configMaps } = pathsOf(namespace)
		await until("account", async () => (await client.get(`${accounts}/default`)).code === 200)
		expectAccount(expect(await client.post(pods, pod("a")), 201), "default")
		const refused = expect(await client.post(pods, pod("b", { automountServiceAccountToken: false })), 201)
		assert.equal(refused.spec.serviceAccountName, "default")
		assert.ok(!("volumes" in refused.spec))
		await until("what the volume needs", async () => (await client.get(`${configMaps}/kube-root-ca.crt`)).code === 200)
		controller.child.kill("SIGTERM")
		assert.deepEqual(await controller.ended, { code: 0, signal: null })
	})
}

async function onSeveralServers(say, first) {
	const folder = `${scratch}/${unique("second")}`
	cpSync(`${first.folder}/pki`, `${folder}/pki`, { recursive: true })
	const second = await startServer("etcd", { etcd: first.etcd, prefix: first.prefix, folder })
	await test(say("an account that another server made is there at once"), async () => {
		for (let i = 0; i < 30; i++) {
			const [one, other] = i % 2 ? [first.client, second.client] : [second.client, first.client]
			const { pods, accounts } = pathsOf(await newNamespace(one))
			expect(await one.post(accounts, account("default")), 201)
			expectAccount(expect(await other.post(pods, pod("a")), 201), "default")
			expect(await other.post(accounts, account("builder")), 201)
			expectAccount(expect(await one.post(pods, pod("b", { serviceAccountName: "builder" })), 201), "builder")
		}
	})
	await second.stop()
}

for (const backend of backends) {
	const say = (text) => `${backend}: ${text}`
	const server = await startServer(backend)
	await withoutController(say, server)
	if (backend === "etcd")
		await onSeveralServers(say, server)
	await withController(say, server)
	await server.stop()
}
finish()
