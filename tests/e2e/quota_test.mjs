// ResourceQuotas and LimitRanges: two servers on one etcd that charge, the controller that counts, kubectl that shows.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { cpSync, writeFileSync } from "node:fs"
import { configMap, core, dra, expect, expectStatus, newNamespace, paths, startEtcd, startServer } from "./api_lib.mjs"
import { finish, scratch, start, test, until } from "./lib.mjs"

// The controller's own user: it has only the rights of its role.
const tokens = `${scratch}/tokens.csv`
writeFileSync(tokens, "controllers-own,system:devplane-controller,1\n", { mode: 0o600 })
const etcd = await startEtcd()
const one = await startServer("etcd", { etcd, prefix: "/q", folder: `${scratch}/one`, flags: ["--token-auth-file", tokens] })
cpSync(`${one.folder}/pki`, `${scratch}/two/pki`, { recursive: true })
const two = await startServer("etcd", { etcd, prefix: "/q", folder: `${scratch}/two` })
const kubeconfig = `${scratch}/controller.kubeconfig`
writeFileSync(kubeconfig, JSON.stringify({
	apiVersion: "v1",
	kind: "Config",
	clusters: [{ name: "c", cluster: { server: one.url, "certificate-authority-data": one.credentials.ca.toString("base64") } }],
	users: [{ name: "u", user: { token: "controllers-own" } }],
	contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
	"current-context": "x",
}))
start("controller", "--kubeconfig", kubeconfig, "--metrics-bind-address", "127.0.0.1:0", "--leader-elect=false",
	"--log-format", "text", "--controllers", "resourcequota-controller")

const client = one.client, other = two.client
const quotasOf = (ns) => `${core}/namespaces/${ns}/resourcequotas`
const podsOf = (ns) => `${core}/namespaces/${ns}/pods`
const pod = (name, resources = {}) => ({ metadata: { name }, spec: { containers: [{ name: "c", image: "i", resources }] } })

async function used(ns, name) {
	return expect(await client.get(`${quotasOf(ns)}/${name}`), 200).status
}

// Makes a quota and waits until the controller has counted, at both servers.
async function quota(ns, name, hard, spec = {}) {
	expect(await client.post(quotasOf(ns), { metadata: { name }, spec: { hard, ...spec } }), 201)
	for (const server of [client, other]) {
		await until("counted quota", async () => {
			const { status } = expect(await server.get(`${quotasOf(ns)}/${name}`), 200)
			return status.hard && Object.keys(hard).every((key) => status.used?.[key])
		})
	}
}

async function usedUntil(ns, name, want) {
	let last
	await until(`use of ${JSON.stringify(want)}`, async () => {
		last = (await used(ns, name)).used
		return Object.entries(want).every(([key, value]) => last[key] === value)
	})
	assert.deepEqual({ ...last, ...want }, last)
}

await test("existing objects are counted, and the status repeats the spec", async () => {
	const ns = await newNamespace(client)
	expect(await client.post(paths(ns).configMaps, configMap("a")), 201)
	await quota(ns, "q", { "count/configmaps": "5", configmaps: "9", "count/deployments.apps": "1", pods: "2", "requests.cpu": "1" })
	const { hard, used: now } = await used(ns, "q")
	assert.deepEqual(hard, { "count/configmaps": "5", configmaps: "9", "count/deployments.apps": "1", pods: "2", "requests.cpu": "1" })
	assert.deepEqual(now, { "count/configmaps": "1", configmaps: "1", "count/deployments.apps": "0", pods: "0", "requests.cpu": "0" })
})

await test("a namespace fills up, refuses, and takes again what was given back", async () => {
	const ns = await newNamespace(client)
	const small = { requests: { cpu: "400m" } }
	await quota(ns, "q", { pods: "2", "requests.cpu": "1" })
	expect(await client.post(podsOf(ns), pod("a", small)), 201)
	expect(await other.post(podsOf(ns), pod("b", small)), 201)
	const refusal = "pods \"c\" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=400m, used: pods=2,requests.cpu=800m, limited: pods=2,requests.cpu=1"
	assert.equal(expectStatus(await client.post(podsOf(ns), pod("c", small)), 403, "Forbidden").message, refusal)
	assert.equal(expectStatus(await other.post(podsOf(ns), pod("c", small)), 403, "Forbidden").message, refusal)
	assert.equal(expectStatus(await other.post(podsOf(ns), pod("c")), 403, "Forbidden").message,
		"pods \"c\" is forbidden: failed quota: q: must specify requests.cpu for: c")
	expect(await client.delete(`${podsOf(ns)}/a?gracePeriodSeconds=0`), 200)
	await usedUntil(ns, "q", { pods: "1", "requests.cpu": "400m" })
	expect(await other.post(podsOf(ns), pod("c", small)), 201)
	// One that is over is an object, and uses nothing.
	expect(await client.patch(`${podsOf(ns)}/b/status`, { status: { phase: "Succeeded" } }, "merge"), 200)
	await usedUntil(ns, "q", { pods: "1", "requests.cpu": "400m" })
})

await test("a quota that waits for its finalizer is counted like any other", async () => {
	const ns = await newNamespace(client)
	await quota(ns, "q", { "count/configmaps": "2" })
	expect(await client.patch(`${quotasOf(ns)}/q`, { metadata: { finalizers: ["e2e.example.com/wait"] } }, "merge"), 200)
	expect(await client.delete(`${quotasOf(ns)}/q`), 200)
	expect(await client.post(paths(ns).configMaps, configMap("a")), 201)
	await usedUntil(ns, "q", { "count/configmaps": "1" })
	expect(await client.delete(`${paths(ns).configMaps}/a`), 200)
	await usedUntil(ns, "q", { "count/configmaps": "0" })
	expect(await client.patch(`${quotasOf(ns)}/q`, { metadata: { finalizers: null } }, "merge"), 200)
})

await test("of fifty at once, over two servers, twenty are made", async () => {
	const ns = await newNamespace(client)
	await quota(ns, "q", { "count/configmaps": "20" })
	const before = Number((await used(ns, "q")).used["count/configmaps"])
	assert.equal(before, 0)
	const answers = await Promise.all(Array.from({ length: 50 }, (_, i) =>
		(i % 2 ? client : other).post(paths(ns).configMaps, configMap(`m${i}`))))
	const made = answers.filter(({ code }) => code === 201)
	answers.filter(({ code }) => code !== 201).forEach((answer) => expectStatus(answer, 403, "Forbidden", /exceeded quota: q/))
	assert.equal(made.length, 20)
	assert.equal(expect(await client.get(paths(ns).configMaps), 200).items.length, 20)
	await usedUntil(ns, "q", { "count/configmaps": "20" })
})

await test("devices that claims ask for, and custom kinds, are counted", async () => {
	const ns = await newNamespace(client)
	const claims = `${dra}/namespaces/${ns}/resourceclaims`
	const claim = (name, count) => ({
		metadata: { name }, spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "gpu", count } }] } },
	})
	const widget = (name) => ({ apiVersion: "e2e.example.com/v1", kind: "Widget", metadata: { name } })
	expect(await client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
		metadata: { name: "widgets.e2e.example.com" },
		spec: {
			group: "e2e.example.com", scope: "Namespaced", names: { plural: "widgets", kind: "Widget" },
			versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
		},
	}), 201)
	const widgets = `/apis/e2e.example.com/v1/namespaces/${ns}/widgets`
	await until("widgets", async () => (await client.get(widgets)).code === 200)
	await quota(ns, "q", { "gpu.deviceclass.resource.k8s.io/devices": "3", "count/widgets.e2e.example.com": "1" })
	expect(await client.post(claims, claim("a", 2)), 201)
	expectStatus(await client.post(claims, claim("b", 2)), 403, "Forbidden",
		/requested: gpu.deviceclass.resource.k8s.io\/devices=2, used: gpu.deviceclass.resource.k8s.io\/devices=2/)
	expect(await client.post(widgets, widget("a")), 201)
	expectStatus(await client.post(widgets, widget("b")), 403, "Forbidden", /count\/widgets.e2e.example.com=1/)
	expect(await client.delete(`${widgets}/a`), 200)
	expect(await client.delete(`${claims}/a`), 200)
	await usedUntil(ns, "q", { "gpu.deviceclass.resource.k8s.io/devices": "0", "count/widgets.e2e.example.com": "0" })
})

await test("of many creations of one name, over two servers, one is charged", async () => {
	const ns = await newNamespace(client)
	await quota(ns, "q", { "count/configmaps": "30" })
	const answers = await Promise.all(Array.from({ length: 20 }, (_, i) =>
		(i % 2 ? client : other).post(paths(ns).configMaps, configMap("same"))))
	assert.equal(answers.filter(({ code }) => code === 201).length, 1)
	answers.filter(({ code }) => code !== 201).forEach((answer) => expectStatus(answer, 409, "AlreadyExists"))
	await usedUntil(ns, "q", { "count/configmaps": "1" })
})

await test("kubectl shows quotas and limit ranges, and is told why not", async () => {
	const ns = await newNamespace(client)
	const env = { ...process.env, HOME: scratch }
	const k = (...args) => execFileSync("kubectl", ["--kubeconfig", one.kubeconfig, "-n", ns, ...args],
		{ stdio: ["ignore", "pipe", "pipe"], env }).toString()
	k("create", "quota", "q", "--hard", "pods=1,limits.cpu=2")
	await until("count", async () => (await used(ns, "q")).used)
	expect(await client.post(`${core}/namespaces/${ns}/limitranges`, {
		metadata: { name: "l" }, spec: { limits: [{ type: "Container", default: { cpu: "500m" }, max: { cpu: "1" } }] },
	}), 201)
	const made = expect(await client.post(podsOf(ns), pod("a")), 201)
	assert.deepEqual(made.spec.containers[0].resources, { limits: { cpu: "500m" }, requests: { cpu: "500m" } })
	assert.deepEqual(made.metadata.annotations,
		{ "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu request for container c; cpu limit for container c" })
	expectStatus(await client.post(podsOf(ns), pod("b", { limits: { cpu: "3" } })), 403, "Forbidden",
		/pods "b" is forbidden: maximum cpu usage per Container is 1, but limit is 3/)
	assert.match(k("get", "quota"), /NAME +REQUEST +LIMIT +AGE\nq +pods: 1\/1 +limits.cpu: 500m\/2 +\d+s/)
	assert.match(k("describe", "quota", "q"), /limits.cpu +500m +2\npods +1 +1\n/)
	assert.match(k("get", "limits"), /NAME +CREATED AT\nl +\d{4}-/)
	let refusal = ""
	try {
		k("run", "b", "--image", "i")
	} catch ({ stderr }) {
		refusal = String(stderr)
	}
	assert.match(refusal, /Error from server \(Forbidden\): pods "b" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1/)
})

finish()
