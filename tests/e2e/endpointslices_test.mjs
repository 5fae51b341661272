// EndpointSlices of Services: our server, controller and scheduler, hollow nodes, and kubectl.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { core, unique } from "./api_lib.mjs"
import { devplane, finish, scratch, start, test, until } from "./lib.mjs"
import { kubeconfig, podOn, startCluster } from "./node_lib.mjs"

// The controller's own user: it has only the rights of its role.
const tokens = `${scratch}/controller.csv`
const names = ["n1", "n2"]
writeFileSync(tokens, ["controllers-own,system:devplane-controller,9", ...names.map((n, i) => `${n}-own,system:node:${n},${i},"system:nodes"`)].join("\n"),
	{ mode: 0o600 })
const cluster = await startCluster({ names, flags: ["--token-auth-file", tokens] })
const { client, server } = cluster
for (const name of names)
	await cluster.node(name, { flags: ["--node-labels", `topology.kubernetes.io/zone=zone-${name}`] })
const startController = () => start("controller", "--kubeconfig", kubeconfig(server, "controllers-own"), "--metrics-bind-address", "127.0.0.1:0",
	"--leader-elect=false", "--log-format", "text", "--namespace-deletion-delay", "0s")
let controller = startController()

const checkout = new URL("../..", import.meta.url).pathname
const program = execFileSync(`${checkout}/scripts/kubectl`, [`${dirname(devplane)}/kubectl`], { encoding: "utf8" }).trim()
const kubectl = (...args) => execFileSync(program, ["--kubeconfig", server.kubeconfig, "--cache-dir", `${scratch}/cache`, ...args], { encoding: "utf8" })

const services = `${core}/namespaces/default/services`
const slicesOf = async (name) => (await client.get(
	`/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3D${name}`)).body.items
const endpoints = (slices) => slices.flatMap((s) => s.endpoints ?? [])

async function service(spec, more = {}) {
	const { code, body, text } = await client.post(services, {
		metadata: { name: unique("web"), ...more },
		spec: { ports: [{ name: "http", port: 80, targetPort: "http" }], ...spec },
	})
	assert.equal(code, 201, text)
	return body
}

async function run(app, node, { ready = true, ...spec } = {}) {
	const body = podOn(node, { containers: [{ name: "main", image: "x", ports: [{ name: "http", containerPort: 8080 }] }], ...spec })
	body.metadata.labels = { app }
	const pod = await cluster.run(body)
	return cluster.pod(pod, (p) => p.status.podIP && (!ready || p.status.conditions?.some((c) => c.type === "Ready" && c.status === "True")))
}

async function settles(name, pods) {
	let last
	const wanted = pods.map((p) => `${p.metadata.name}=${p.status.podIP}`).sort().join()
	try {
		return await until("endpoints", async () => {
			const slices = await slicesOf(name)
			last = endpoints(slices).filter((e) => e.conditions.ready).map((e) => `${e.targetRef.name}=${e.addresses.join()}`).sort().join()
			return slices.length > 0 && last === wanted && slices
		})
	} catch (e) {
		throw new Error(`${e.message}: "${last}" and not "${wanted}"; ${controller.err.slice(-1000)}`)
	}
}

await test("a Service without pods has an empty slice", async () => {
	const { metadata: { name, uid } } = await service({ selector: { app: "nobody" } }, { labels: { team: "x" } })
	const [slice] = await settles(name, [])
	assert.equal(slice.addressType, "IPv4")
	assert.deepEqual(slice.metadata.labels, {
		team: "x", "kubernetes.io/service-name": name, "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
	})
	assert.deepEqual(slice.metadata.ownerReferences, [{ apiVersion: "v1", kind: "Service", name, uid, controller: true, blockOwnerDeletion: true }])
	assert.match(slice.metadata.name, new RegExp(`^${name}-[a-z0-9]{5}$`))
	kubectl("delete", "service", name)
	await until("no slices", async () => (await slicesOf(name)).length === 0)
})

await test("pods come, become unready, and go", async () => {
	const { metadata: { name } } = await service({ selector: { app: "a" }, trafficDistribution: "PreferClose" })
	const one = await run("a", "n1"), two = await run("a", "n2")
	const [slice] = await settles(name, [one, two])
	assert.deepEqual(slice.ports.map(({ name: n, port, protocol }) => [n, port, protocol]), [["http", 8080, "TCP"]])
	const first = endpoints([slice]).find((e) => e.nodeName === "n1")
	assert.equal(first.zone, "zone-n1")
	assert.deepEqual(first.hints, { forZones: [{ name: "zone-n1" }] })
	assert.deepEqual(first.targetRef, { kind: "Pod", namespace: "default", name: one.metadata.name, uid: one.metadata.uid })
	assert.match(kubectl("get", "endpointslices", "-l", `kubernetes.io/service-name=${name}`), new RegExp(`IPv4 +8080 +${one.status.podIP}`))
	assert.match(kubectl("describe", "service", name), new RegExp(`Endpoints: .*${two.status.podIP}:8080`))
	kubectl("label", "pod", one.metadata.name, "app=other", "--overwrite")
	await settles(name, [two])
	await cluster.delete(two, 0)
	await settles(name, [])
})

await test("a headless Service has hostnames, and pods that are not ready when it wants them", async () => {
	const { metadata: { name } } = await service({ selector: { app: "h" }, clusterIP: "None", publishNotReadyAddresses: true })
	const pod = await run("h", "n1", { ready: false, hostname: "first", subdomain: name })
	const [slice] = await settles(name, [pod])
	assert.equal(slice.metadata.labels["service.kubernetes.io/headless"], "")
	assert.equal(slice.endpoints[0].hostname, "first")
})

await test("a Service with another selector, other ports, and a controller that was killed", async () => {
	const { metadata: { name } } = await service({ selector: { app: "k" } })
	const k = await run("k", "n1"), l = await run("l", "n2")
	await settles(name, [k])
	controller.child.kill("SIGKILL")
	await controller.ended
	kubectl("patch", "service", name, "--type=merge", "-p", JSON.stringify({ spec: { selector: { app: "l" }, ports: [{ name: "x", port: 81, targetPort: 9090 }] } }))
	controller = startController()
	await settles(name, [l])
	await until("new port", async () => (await slicesOf(name)).every((s) => s.ports?.[0]?.port === 9090))
	assert.equal((await slicesOf(name)).length, 1)
})

await test("slices by hand for a Service without a selector stay", async () => {
	const { metadata: { name } } = await service({ ports: [{ port: 80 }] })
	const { code, text } = await client.post("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
		metadata: { name: `${name}-mine`, labels: { "kubernetes.io/service-name": name } },
		addressType: "IPv4", endpoints: [{ addresses: ["192.0.2.7"] }], ports: [{ port: 80 }],
	})
	assert.equal(code, 201, text)
	const { metadata: { name: other } } = await service({ selector: { app: "sync" } })
	await settles(other, [])
	assert.deepEqual((await slicesOf(name)).map((s) => s.metadata.name), [`${name}-mine`])
})

await test("a hundred endpoints fill a slice", async () => {
	const { metadata: { name } } = await service({ selector: { app: "many" } })
	const pods = await Promise.all(Array.from({ length: 105 }, (_, i) => run("many", names[i % 2])))
	const slices = await settles(name, pods)
	assert.ok(slices.every((s) => s.endpoints.length <= 100))
	assert.equal(endpoints(slices).length, 105)
}, 180)

finish()
