// The controller of pods' claims, through @kubernetes/client-node: claims from templates, who uses a claim, what is freed and
// what goes, and that a claim is made once however often the controller dies. The test plays scheduler and kubelet.
import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import * as k8s from "@kubernetes/client-node"
import { Client, core as corePath, dra, expect, startServer, unique } from "./api_lib.mjs"
import { bareNodesLive, finish, start, test, until } from "./lib.mjs"

const FINALIZER = "resource.kubernetes.io/delete-protection"

// The controller's own user: it has only the rights of its role.
const tokens = `${process.env.TMP}/tokens.csv`
writeFileSync(tokens, "controllers-own,system:devplane-controller,1\n", { mode: 0o600 })
const server = await startServer("lmdb", { flags: ["--token-auth-file", tokens] })
const kubeconfig = `${server.folder}/controller.kubeconfig`
writeFileSync(kubeconfig, JSON.stringify({
	apiVersion: "v1",
	kind: "Config",
	clusters: [{ name: "c", cluster: { server: server.url, "certificate-authority-data": server.credentials.ca.toString("base64") } }],
	users: [{ name: "u", user: { token: "controllers-own" } }],
	contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
	"current-context": "x",
}))
const startController = () => start("controller", "--kubeconfig", kubeconfig, "--metrics-bind-address", "127.0.0.1:0", ...bareNodesLive,
	"--leader-elect=false", "--log-format", "text", "--namespace-deletion-delay", "0s")
let controller = startController()

const kc = new k8s.KubeConfig()
kc.loadFromFile(server.kubeconfig)
const core = kc.makeApiClient(k8s.CoreV1Api), resource = kc.makeApiClient(k8s.ResourceV1Api)

// --- the cluster's other parts ---------------------------------------------------------------

const claimsPath = (ns) => `${dra}/namespaces/${ns}/resourceclaims`
const podsPath = (ns) => `${corePath}/namespaces/${ns}/pods`
const spec = { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpus" } }] } }

async function namespace() {
	const name = unique("ns")
	await core.createNamespace({ body: { metadata: { name } } })
	return name
}

function template(ns, name = "gpu-template") {
	return resource.createNamespacedResourceClaimTemplate({
		namespace: ns,
		body: { metadata: { name }, spec: { metadata: { labels: { team: "x" }, annotations: { note: "y" } }, spec } },
	})
}

// A pod with one claim: from the template unless it names one.
async function pod(ns, name, { claim, nodeName } = {}) {
	return expect(await server.client2.post(podsPath(ns), {
		metadata: { name },
		spec: {
			nodeName, automountServiceAccountToken: false,
			resourceClaims: [{ name: "gpu", ...claim ? { resourceClaimName: claim } : { resourceClaimTemplateName: "gpu-template" } }],
			containers: [{ name: "c", image: "x", resources: { claims: [{ name: "gpu" }] } }],
		},
	}), 201)
}

async function userClaim(ns, name) {
	return expect(await server.client2.post(claimsPath(ns), { metadata: { name }, spec }), 201)
}

// The status that the scheduler writes.
async function allocate(ns, name, ...pods) {
	expect(await server.client2.patch(`${claimsPath(ns)}/${name}`, { metadata: { finalizers: [FINALIZER] } }, "merge"), 200)
	expect(await server.client2.patch(`${claimsPath(ns)}/${name}/status`, {
		status: {
			allocation: { devices: { results: [{ request: "gpu", driver: "gpu.example.com", pool: "n1", device: `${ns}-${name}` }] } },
			reservedFor: pods.map(({ metadata }) => ({ resource: "pods", name: metadata.name, uid: metadata.uid })),
		},
	}, "merge"), 200)
}

async function phase(ns, name, value) {
	expect(await server.client2.patch(`${podsPath(ns)}/${name}/status`, { status: { phase: value } }, "merge"), 200)
}

const remove = (ns, name) => core.deleteNamespacedPod({ namespace: ns, name, gracePeriodSeconds: 0 })

// --- what comes of it ------------------------------------------------------------------------

async function list(ns) {
	return (await resource.listNamespacedResourceClaim({ namespace: ns })).items
}

// The claim in the pod's status.
async function told(ns, name, entry = "gpu") {
	const { status } = await core.readNamespacedPod({ namespace: ns, name })
	return status?.resourceClaimStatuses?.find((s) => s.name === entry)?.resourceClaimName
}

const untilTold = (ns, name) => until(`claim in the status of ${name}`, () => told(ns, name))

// { users, allocated, finalizers } of a claim; undefined if it does not exist.
async function look(ns, name) {
	const { code, body } = await server.client2.get(`${claimsPath(ns)}/${name}`)
	return code === 404 ? undefined : {
		users: (body.status?.reservedFor ?? []).map((r) => r.name).join(),
		allocated: body.status?.allocation !== undefined,
		finalizers: (body.metadata.finalizers ?? []).join(),
	}
}

async function settles(ns, name, expected) {
	let last
	try {
		await until(`claim ${name} as it should be`, async () => {
			last = JSON.stringify(await look(ns, name))
			return last === JSON.stringify(expected)
		})
	} catch (e) {
		throw new Error(`${e.message}; the last seen was: ${last}; ${controller.err.slice(-500)}`)
	}
}

const free = { users: "", allocated: false, finalizers: "" }

await test("a pod gets its claim from the template, and is told its name", async () => {
	const ns = await namespace()
	await template(ns)
	const { metadata: { uid } } = await pod(ns, "web")
	const name = await untilTold(ns, "web")
	assert.match(name, /^web-gpu-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
	const [claim, ...more] = await list(ns)
	assert.equal(more.length, 0)
	assert.equal(claim.metadata.name, name)
	assert.equal(claim.metadata.generateName, "web-gpu-")
	assert.deepEqual({ ...claim.metadata.labels }, { team: "x" })
	assert.deepEqual({ ...claim.metadata.annotations }, { note: "y", "resource.kubernetes.io/pod-claim-name": "gpu" })
	assert.deepEqual(claim.metadata.ownerReferences.map((o) => ({ ...o })), [{ apiVersion: "v1", kind: "Pod", name: "web", uid, controller: true, blockOwnerDeletion: true }])
	assert.equal(claim.spec.devices.requests[0].exactly.deviceClassName, "gpus")
})

await test("a name of full length keeps both parts", async () => {
	const ns = await namespace()
	await template(ns)
	const long = "a".repeat(60)
	await pod(ns, long)
	assert.match(await untilTold(ns, long), /^a{52}-gp.{5}$/)
})

await test("a missing template is told by an event, and waited for", async () => {
	const ns = await namespace()
	await pod(ns, "web")
	const event = await until("event", async () => (await core.listNamespacedEvent({ namespace: ns })).items.find(({ reason }) => reason === "FailedResourceClaimCreation"))
	assert.equal(event.type, "Warning")
	assert.equal(event.involvedObject.name, "web")
	assert.equal(event.message, 'PodResourceClaim gpu: resource claim template "gpu-template": resourceclaimtemplate.resource.k8s.io "gpu-template" not found')
	await template(ns)
	await untilTold(ns, "web")
})

await test("a claim that is refused is told by an event, and tried again", async () => {
	const ns = await namespace()
	const allow = async (value) => expect(await server.client2.patch(`${corePath}/namespaces/${ns}`, { metadata: { labels: { "resource.kubernetes.io/admin-access": value } } }, "merge"), 200)
	await allow("true")
	await resource.createNamespacedResourceClaimTemplate({
		namespace: ns,
		body: { metadata: { name: "gpu-template" }, spec: { spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpus", adminAccess: true } }] } } } },
	})
	await allow(null)
	await pod(ns, "web")
	const event = await until("event", async () => (await core.listNamespacedEvent({ namespace: ns })).items.find(({ reason }) => reason === "FailedResourceClaimCreation"))
	assert.match(event.message, /^PodResourceClaim gpu: create ResourceClaim : .*admin/)
	await allow("true")
	await untilTold(ns, "web")
})

await test("deleting the pod frees the claim, and the collector takes it", async () => {
	const ns = await namespace()
	await template(ns)
	const made = await pod(ns, "web")
	const name = await untilTold(ns, "web")
	await allocate(ns, name, made)
	await remove(ns, "web")
	await until("the end of the claim", async () => !await look(ns, name))
})

await test("users that go are taken out, and the last frees the claim", async () => {
	const ns = await namespace()
	await userClaim(ns, "shared")
	const a = await pod(ns, "a", { claim: "shared" }), b = await pod(ns, "b", { claim: "shared" })
	await allocate(ns, "shared", a, b)
	// As a driver reports it: it goes with the allocation.
	expect(await server.client2.patch(`${claimsPath(ns)}/shared/status`, { status: { devices: [{ driver: "gpu.example.com", pool: "n1", device: `${ns}-shared` }] } }, "merge"), 200)
	await settles(ns, "shared", { users: "a,b", allocated: true, finalizers: FINALIZER })
	await remove(ns, "a")
	await settles(ns, "shared", { users: "b", allocated: true, finalizers: FINALIZER })
	await phase(ns, "b", "Succeeded")
	await settles(ns, "shared", free)
	// It can be used again.
	const c = await pod(ns, "c", { claim: "shared" })
	await allocate(ns, "shared", c)
	await settles(ns, "shared", { users: "c", allocated: true, finalizers: FINALIZER })
})

await test("a user that never was, and one of another time, are found out", async () => {
	const ns = await namespace()
	await userClaim(ns, "shared")
	await pod(ns, "a", { claim: "shared" })
	await allocate(ns, "shared", { metadata: { name: "none", uid: "11111111-1111-1111-1111-111111111111" } }, { metadata: { name: "a", uid: "22222222-2222-2222-2222-222222222222" } })
	await settles(ns, "shared", free)
})

await test("an allocated claim that nobody used stays as it is, until it is deleted", async () => {
	const ns = await namespace()
	await userClaim(ns, "early")
	await allocate(ns, "early")
	// Something that happens after it was looked at.
	await userClaim(ns, "other")
	const a = await pod(ns, "a", { claim: "other" })
	await allocate(ns, "other", a)
	await remove(ns, "a")
	await settles(ns, "other", free)
	await settles(ns, "early", { users: "", allocated: true, finalizers: FINALIZER })
	await resource.deleteNamespacedResourceClaim({ namespace: ns, name: "early" })
	await until("its end", async () => !await look(ns, "early"))
})

await test("a claim under deletion waits for who uses it", async () => {
	const ns = await namespace()
	await userClaim(ns, "shared")
	const a = await pod(ns, "a", { claim: "shared" })
	await allocate(ns, "shared", a)
	await resource.deleteNamespacedResourceClaim({ namespace: ns, name: "shared" })
	await settles(ns, "shared", { users: "a", allocated: true, finalizers: FINALIZER })
	await remove(ns, "a")
	await until("its end", async () => !await look(ns, "shared"))
})

await test("a pod that came to a node by itself gets its claim reserved", async () => {
	const ns = await namespace()
	await userClaim(ns, "shared")
	await allocate(ns, "shared")
	await pod(ns, "a", { claim: "shared", nodeName: "n1" })
	await settles(ns, "shared", { users: "a", allocated: true, finalizers: FINALIZER })
})

await test("a finished pod loses its claim for good", async () => {
	const ns = await namespace()
	await template(ns)
	const made = await pod(ns, "job", { nodeName: "n1" })
	const name = await untilTold(ns, "job")
	await allocate(ns, name, made)
	await phase(ns, "job", "Failed")
	await until("the end of the claim", async () => (await list(ns)).length === 0)
	// Other changes of the pod cause no new claim.
	expect(await server.client2.patch(`${podsPath(ns)}/job`, { metadata: { labels: { x: "y" } } }, "merge"), 200)
	await pod(ns, "later")
	await untilTold(ns, "later")
	assert.deepEqual((await list(ns)).map(({ metadata }) => metadata.annotations["resource.kubernetes.io/pod-claim-name"] + metadata.ownerReferences[0].name), ["gpulater"])
})

await test("metrics tell what there is", async () => {
	const address = /health and metrics at (\S+)/.exec(controller.out)[1]
	const { text } = await new Client(address).get("/metrics")
	assert.match(text, /^dynamic_resource_allocation_resource_claims\{allocated="false",admin_access="false",source="resource_claim_template"\} [1-9]/m)
	assert.match(text, /^dynamic_resource_allocation_resourceclaim_creates_total\{status="success",admin_access="false",owner_api_group="",owner_api_kind="Pod"\} [1-9]/m)
	assert.match(text, /^workqueue_adds_total\{name="resource_claim"\} [1-9]/m)
})

await test("a controller that is killed again and again makes each claim once", async () => {
	const ns = await namespace()
	await template(ns)
	const watch = await server.client.watch(`${claimsPath(ns)}?watch=true`)
	const names = Array.from({ length: 150 }, (_, i) => `p${i}`)
	const making = Promise.all(names.map((name) => pod(ns, name)))
	// Each dies in the midst of its work.
	for (const some of [1, 20, 50, 90]) {
		await until(`${some} claims`, async () => (await list(ns)).length >= some)
		controller.child.kill("SIGKILL")
		await controller.ended
		controller = startController()
	}
	await making
	const seen = await Promise.all(names.map((name) => untilTold(ns, name)))
	const claims = await list(ns)
	assert.equal(claims.length, names.length)
	assert.deepEqual(claims.map(({ metadata }) => metadata.name).sort(), seen.sort())
	await watch.have(names.length)
	assert.deepEqual(watch.brief.sort(), seen.map((name) => `ADDED ${name}`))
	watch.close()
})

controller.child.kill("SIGTERM")
await test("the controller ends in order", async () => {
	assert.deepEqual(await controller.ended, { code: 0, signal: null })
})
await server.stop()
finish()
