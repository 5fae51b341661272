// EndpointSlices from what drivers report in claims: the network-endpoints controller, through @kubernetes/client-node.
// The test plays scheduler, kubelet and driver: it writes the status of claims and pods.
import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import * as k8s from "@kubernetes/client-node"
import { core as corePath, dra, expect, startServer, unique } from "./api_lib.mjs"
import { finish, start, test, until } from "./lib.mjs"

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
const startController = () => start("controller", "--kubeconfig", kubeconfig, "--metrics-bind-address", "127.0.0.1:0",
	"--leader-elect=false", "--log-format", "text", "--namespace-deletion-delay", "0s",
	"--controllers", "*,network-endpoints-controller")
let controller = startController()

const kc = new k8s.KubeConfig()
kc.loadFromFile(server.kubeconfig)
const core = kc.makeApiClient(k8s.CoreV1Api), discovery = kc.makeApiClient(k8s.DiscoveryV1Api)

// --- the cluster's other parts ---------------------------------------------------------------

async function namespace() {
	const name = unique("ns")
	await core.createNamespace({ body: { metadata: { name } } })
	return name
}

function service(ns, { annotations = {}, selector = { app: "web" }, labels, ...spec } = {}) {
	return core.createNamespacedService({
		namespace: ns,
		body: {
			metadata: { name: "web", labels, annotations: { "devplane.dev/network": "blue", ...annotations } },
			spec: { clusterIP: "None", selector, ports: [{ name: "http", port: 80, targetPort: "web" }], ...spec },
		},
	})
}

const claims = (ns) => `${dra}/namespaces/${ns}/resourceclaims`
const pods = (ns) => `${corePath}/namespaces/${ns}/pods`

// A driver's report of the claim's one device.
async function report(ns, name, ips, ready = "True", data = { network: "blue" }) {
	const time = new Date().toISOString().replace(/\..*/, "Z")
	expect(await server.client2.patch(`${claims(ns)}/${name}/status`, {
		status: {
			devices: [{
				driver: "net.devplane.dev", pool: ns, device: name, data, networkData: { interfaceName: "net1", ips },
				conditions: [{ type: "Ready", status: ready, reason: "Attached", message: "", lastTransitionTime: time }],
			}],
		},
	}, "merge"), 200)
}

async function ready(ns, name, status = "True") {
	expect(await server.client2.patch(`${pods(ns)}/${name}/status`,
		{ status: { phase: "Running", conditions: [{ type: "Ready", status }] } }, "strategic"), 200)
}

// A pod that runs, with a claim that has been allocated and reported.
async function pod(ns, name, ips, { port = 8080, ...rest } = {}) {
	expect(await server.client2.post(claims(ns), {
		metadata: { name }, spec: { devices: { requests: [{ name: "nic", exactly: { deviceClassName: "nics" } }] } },
	}), 201)
	const made = expect(await server.client2.post(pods(ns), {
		metadata: { name, labels: { app: "web" } },
		spec: {
			nodeName: "n1", automountServiceAccountToken: false, resourceClaims: [{ name: "net", resourceClaimName: name }],
			containers: [{ name: "c", image: "x", ports: [{ name: "web", containerPort: port }], resources: { claims: [{ name: "net" }] } }],
			...rest,
		},
	}), 201)
	expect(await server.client2.patch(`${claims(ns)}/${name}/status`, {
		status: {
			allocation: { devices: { results: [{ request: "nic", driver: "net.devplane.dev", pool: ns, device: name }] } },
			reservedFor: [{ resource: "pods", name, uid: made.metadata.uid }],
		},
	}, "merge"), 200)
	await report(ns, name, ips)
	await ready(ns, name)
	return made
}

// --- what comes of it ------------------------------------------------------------------------

// Those of this controller: a Service with a selector also has slices of the cluster's network.
async function slices(ns) {
	const labelSelector = "endpointslice.kubernetes.io/managed-by=devplane-network-endpoints"
	return (await discovery.listNamespacedEndpointSlice({ namespace: ns, labelSelector })).items
}

// "10.9.0.1=a+ready+serving", sorted.
function brief(items) {
	return items.flatMap(({ endpoints }) => endpoints ?? []).map(({ addresses, conditions, targetRef }) =>
		[`${addresses.join()}=${targetRef.name}`, ...["ready", "serving", "terminating"].filter((c) => conditions[c])].join("+")).sort()
}

async function settles(ns, expected) {
	let last
	try {
		await until(`endpoints ${expected}`, async () => {
			last = brief(await slices(ns)).join()
			return last === expected.join()
		})
	} catch (e) {
		throw new Error(`${e.message}; the last seen were: ${last}; ${controller.err.slice(-500)}`)
	}
	return slices(ns)
}

await test("slices appear with the addresses that the claims' status shows", async () => {
	const ns = await namespace()
	const { metadata: { uid } } = await service(ns, { labels: { team: "x" } })
	const a = await pod(ns, "a", ["10.9.0.1/24", "fe80::1/64"])
	await pod(ns, "b", ["10.9.0.2/24"])
	const [slice, ...more] = await settles(ns, ["10.9.0.1=a+ready+serving", "10.9.0.2=b+ready+serving"])
	assert.equal(more.length, 0)
	assert.match(slice.metadata.name, /^web-.{5}$/)
	assert.deepEqual(slice.metadata.labels, {
		team: "x", "service.kubernetes.io/headless": "", "kubernetes.io/service-name": "web",
		"endpointslice.kubernetes.io/managed-by": "devplane-network-endpoints",
	})
	assert.deepEqual(slice.metadata.ownerReferences.map((o) => ({ ...o })), [{ apiVersion: "v1", kind: "Service", name: "web", uid, controller: true, blockOwnerDeletion: true }])
	assert.deepEqual(slice.ports.map((p) => ({ ...p })), [{ name: "http", port: 8080, protocol: "TCP" }])
	assert.equal(slice.addressType, "IPv4")
	const endpoint = slice.endpoints.find(({ targetRef }) => targetRef.name === "a")
	assert.deepEqual({ ...endpoint.targetRef }, { kind: "Pod", namespace: ns, name: "a", uid: a.metadata.uid })
	assert.equal(endpoint.nodeName, "n1")
})

await test("addresses, readiness and pods that change, change the slice", async () => {
	const ns = await namespace()
	await service(ns)
	await pod(ns, "a", ["10.9.0.1/24"])
	await pod(ns, "b", ["10.9.0.2/24"])
	const [before] = await settles(ns, ["10.9.0.1=a+ready+serving", "10.9.0.2=b+ready+serving"])
	await report(ns, "a", ["10.9.0.9/24"])
	await settles(ns, ["10.9.0.2=b+ready+serving", "10.9.0.9=a+ready+serving"])
	await ready(ns, "b", "False")
	await settles(ns, ["10.9.0.2=b", "10.9.0.9=a+ready+serving"])
	await ready(ns, "b")
	await report(ns, "b", ["10.9.0.2/24"], "False")
	await settles(ns, ["10.9.0.2=b", "10.9.0.9=a+ready+serving"])
	await report(ns, "b", ["10.9.0.2/24"], "True", { network: "red" })
	await settles(ns, ["10.9.0.9=a+ready+serving"])
	await core.deleteNamespacedPod({ namespace: ns, name: "a", gracePeriodSeconds: 30 })
	await settles(ns, ["10.9.0.9=a+serving+terminating"])
	await report(ns, "b", ["10.9.0.3/24"])
	const [after] = await settles(ns, ["10.9.0.3=b+ready+serving", "10.9.0.9=a+serving+terminating"])
	assert.equal(after.metadata.uid, before.metadata.uid)
	await core.deleteNamespacedPod({ namespace: ns, name: "a", gracePeriodSeconds: 0 })
	await settles(ns, ["10.9.0.3=b+ready+serving"])
})

await test("each family and each set of ports has slices of its own", async () => {
	const ns = await namespace()
	// kube-apiserver gives a Service that has a selector the families of the cluster, one without both.
	await service(ns, { selector: {}, annotations: { "devplane.dev/network-selector": "app=web" } })
	await pod(ns, "a", ["10.9.0.1/24", "fd00::1/64"])
	await pod(ns, "b", ["10.9.0.2/24", "fd00::2/64"], { port: 9090 })
	const items = await settles(ns, ["10.9.0.1=a+ready+serving", "10.9.0.2=b+ready+serving", "fd00::1=a+ready+serving", "fd00::2=b+ready+serving"])
	assert.deepEqual(items.map(({ addressType, ports }) => `${addressType} ${ports[0].port}`).sort(), ["IPv4 8080", "IPv4 9090", "IPv6 8080", "IPv6 9090"])
})

await test("a Service without a selector takes the annotation's; a bad one is told", async () => {
	const ns = await namespace()
	const change = (selector) => core.patchNamespacedService({
		namespace: ns, name: "web", body: { metadata: { annotations: { "devplane.dev/network-selector": selector } } },
	}, k8s.setHeaderOptions("Content-Type", k8s.PatchStrategy.MergePatch))
	await service(ns, { selector: {}, annotations: { "devplane.dev/network-selector": "app in (web,db)" } })
	await pod(ns, "a", ["10.9.0.1/24"])
	await settles(ns, ["10.9.0.1=a+ready+serving"])
	await change("app in (")
	await until("event", async () => (await core.listNamespacedEvent({ namespace: ns })).items.some(({ reason }) => reason === "InvalidNetworkAnnotation"))
	await settles(ns, ["10.9.0.1=a+ready+serving"])
	await change("app=db")
	await settles(ns, [])
})

await test("250 pods are three slices, also for a controller that comes later", async () => {
	const ns = await namespace()
	controller.child.kill("SIGTERM")
	await controller.ended
	await service(ns)
	const names = Array.from({ length: 250 }, (_, i) => `p${i}`)
	await Promise.all(names.map((name, i) => pod(ns, name, [`10.9.1.${i + 1}/16`])))
	controller = startController()
	const items = await settles(ns, names.map((name, i) => `10.9.1.${i + 1}=${name}+ready+serving`).sort())
	assert.deepEqual(items.map(({ endpoints }) => endpoints.length).sort((a, b) => a - b), [50, 100, 100])
	const kept = items.map(({ metadata }) => metadata.resourceVersion).sort()
	// One changes: the slice that has it is written, the others are not.
	await report(ns, "p7", ["10.9.2.1/16"])
	const changed = await settles(ns, names.map((name, i) => `${i === 7 ? "10.9.2.1" : `10.9.1.${i + 1}`}=${name}+ready+serving`).sort())
	assert.equal(changed.filter(({ metadata }) => kept.includes(metadata.resourceVersion)).length, 2)
})

await test("slices go with the annotation, and with the Service", async () => {
	const ns = await namespace()
	await service(ns)
	await pod(ns, "a", ["10.9.0.1/24"])
	await settles(ns, ["10.9.0.1=a+ready+serving"])
	const annotate = (network) => core.patchNamespacedService({
		namespace: ns, name: "web", body: { metadata: { annotations: { "devplane.dev/network": network } } },
	}, k8s.setHeaderOptions("Content-Type", k8s.PatchStrategy.MergePatch))
	await annotate(null)
	await until("no slices", async () => (await slices(ns)).length === 0)
	await annotate("blue")
	await settles(ns, ["10.9.0.1=a+ready+serving"])
	await core.deleteNamespacedService({ namespace: ns, name: "web" })
	await until("no slices", async () => (await slices(ns)).length === 0)
})

controller.child.kill("SIGTERM")
await test("the controller ends in order", async () => {
	assert.deepEqual(await controller.ended, { code: 0, signal: null })
})
await server.stop()
finish()
