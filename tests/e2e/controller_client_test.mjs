// The controller through @kubernetes/client-node, on both backends: what it makes and deletes, who leads when
// the leader is killed, and that nothing is missed while it is away.
import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import * as k8s from "@kubernetes/client-node"
import { backends, core as corePath, expect, startServer, unique } from "./api_lib.mjs"
import { bareNodesLive, finish, start, test, until } from "./lib.mjs"

// Short enough not to be waited for, long enough for a machine that is busy with other things.
const election = ["--leader-elect-lease-duration", "8s", "--leader-elect-renew-deadline", "7s", "--leader-elect-retry-period", "500ms"]

// The controller's own user: it has only the rights of its role.
const tokens = `${process.env.TMP}/tokens.csv`
writeFileSync(tokens, "controllers-own,system:devplane-controller,1\n", { mode: 0o600 })

function ownKubeconfig({ folder, url, credentials }) {
	const file = `${folder}/controller.kubeconfig`
	const cluster = { server: url, "certificate-authority-data": credentials.ca.toString("base64") }
	writeFileSync(file, JSON.stringify({
		apiVersion: "v1",
		kind: "Config",
		clusters: [{ name: "c", cluster }],
		users: [{ name: "u", user: { token: "controllers-own" } }],
		contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
		"current-context": "x",
	}))
	return file
}

// Starts `devplane controller` for a server.
function startController(server, ...flags) {
	return start("controller", "--kubeconfig", ownKubeconfig(server), "--metrics-bind-address", "127.0.0.1:0", ...bareNodesLive,
		"--namespace-deletion-delay", "0s", "--log-format", "text", ...flags)
}

async function stopController(controller) {
	controller.child.kill("SIGTERM")
	assert.deepEqual(await controller.ended, { code: 0, signal: null })
}

async function missing(promise) {
	try {
		await promise
		return false
	} catch (e) {
		if (e.code !== 404)
			throw e
		return true
	}
}

function owned(name, ...owners) {
	return {
		metadata: {
			name,
			ownerReferences: owners.map(({ metadata }) => ({ apiVersion: "v1", kind: "ConfigMap", name: metadata.name, uid: metadata.uid, blockOwnerDeletion: true })),
		},
	}
}

function use(server) {
	const kc = new k8s.KubeConfig()
	kc.loadFromFile(server.kubeconfig)
	const core = kc.makeApiClient(k8s.CoreV1Api)
	return {
		core,
		leases: kc.makeApiClient(k8s.CoordinationV1Api),
		map: (namespace, name, ...owners) => core.createNamespacedConfigMap({ namespace, body: owned(name, ...owners) }),
		// The client opens a connection for each request; ours keeps them.
		many: (namespace, count, ...owners) => Promise.all(Array.from({ length: count }, async (_, i) =>
			expect(await server.client.post(`${corePath}/namespaces/${namespace}/configmaps`, owned(`c${i}`, ...owners)), 201))),
		lacks: (namespace, name) => missing(core.readNamespacedConfigMap({ namespace, name })),
		async namespace() {
			const name = unique("ns")
			await core.createNamespace({ body: { metadata: { name } } })
			return name
		},
	}
}

async function making(say, { core, namespace }) {
	await test(say("a new namespace gets its service account and CA"), async () => {
		const name = await namespace()
		await until("service account", async () => !await missing(core.readNamespacedServiceAccount({ namespace: name, name: "default" })))
		await until("CA", async () => !await missing(core.readNamespacedConfigMap({ namespace: name, name: "kube-root-ca.crt" })))
	})
}

async function deleting(say, { core, map, many, lacks, namespace }) {
	await test(say("many dependents follow their owner"), async () => {
		const ns = await namespace()
		const owner = await map(ns, "owner")
		await many(ns, 500, owner)
		await core.deleteNamespacedConfigMap({ namespace: ns, name: "owner", propagationPolicy: "Background" })
		await until("an empty namespace", async () => {
			const { items } = await core.listNamespacedConfigMap({ namespace: ns })
			return items.every(({ metadata }) => metadata.name === "kube-root-ca.crt")
		}, 60)
	})
	await test(say("in the foreground the owner is the last to go"), async () => {
		const ns = await namespace()
		const owner = await map(ns, "owner")
		const child = await map(ns, "child", owner)
		await core.createNamespacedConfigMap({ namespace: ns, body: { ...owned("held", child), metadata: { ...owned("held", child).metadata, finalizers: ["example.com/hold"] } } })
		await core.deleteNamespacedConfigMap({ namespace: ns, name: "owner", propagationPolicy: "Foreground" })
		await until("a dependent on its way out", async () => (await core.readNamespacedConfigMap({ namespace: ns, name: "held" })).metadata.deletionTimestamp)
		assert.equal(await lacks(ns, "owner"), false)
		assert.equal(await lacks(ns, "child"), false)
		await core.patchNamespacedConfigMap({ namespace: ns, name: "held", body: { metadata: { finalizers: null } } },
			k8s.setHeaderOptions("Content-Type", k8s.PatchStrategy.MergePatch))
		await until("the end of the owner", () => lacks(ns, "owner"))
		assert.equal(await lacks(ns, "child"), true)
		assert.equal(await lacks(ns, "held"), true)
	})
	await test(say("an owner in another namespace is none, and an event says so"), async () => {
		const [there, here] = [await namespace(), await namespace()]
		const owner = await map(there, "owner")
		await map(here, "child", owner)
		await until("the end of the child", () => lacks(here, "child"))
		await until("event", async () => (await core.listNamespacedEvent({ namespace: here })).items.some(({ reason }) => reason === "OwnerRefInvalidNamespace"))
		assert.equal(await lacks(there, "owner"), false)
	})
	await test(say("a full namespace goes"), async () => {
		const ns = await namespace()
		await many(ns, 300)
		await core.deleteNamespace({ name: ns })
		await until("its end", () => missing(core.readNamespace({ name: ns })), 60)
	})
}

async function leading(say, server, api, first) {
	const lease = async () => (await api.leases.readNamespacedLease({ namespace: "kube-system", name: "devplane-controller" })).spec
	let second
	await test(say("another waits while one leads"), async () => {
		const { holderIdentity } = await lease()
		second = startController(server, ...election)
		await until("a look at the leader", () => second.err.includes(`another instance is the leader identity=${holderIdentity}`))
		assert.equal((await lease()).holderIdentity, holderIdentity)
	})
	await test(say("it takes over when the leader is killed"), async () => {
		const before = await lease()
		const ns = await api.namespace()
		const owner = await api.map(ns, "owner")
		await api.map(ns, "child", owner)
		first.child.kill("SIGKILL")
		await first.ended
		await api.core.deleteNamespacedConfigMap({ namespace: ns, name: "owner" })
		await until("the new leader's work", () => api.lacks(ns, "child"), 60)
		const after = await lease()
		assert.notEqual(after.holderIdentity, before.holderIdentity)
		assert.equal(after.leaseTransitions, before.leaseTransitions + 1)
	})
	await test(say("the server may restart under it"), async () => {
		const ns = await api.namespace()
		const owner = await api.map(ns, "owner")
		await api.map(ns, "child", owner)
		await server.kill()
		await server.begin()
		await api.core.deleteNamespacedConfigMap({ namespace: ns, name: "owner" })
		await until("the end of the child", () => api.lacks(ns, "child"), 60)
	})
	await test(say("it ends in order"), () => stopController(second))
}

for (const backend of backends) {
	const say = (text) => `${backend}: ${text}`
	const server = await startServer(backend, { flags: ["--token-auth-file", tokens] })
	const api = use(server)
	const controller = startController(server, ...election)
	await making(say, api)
	await deleting(say, api)
	await leading(say, server, api, controller)
	await server.stop()
}
finish()
