// A cluster of a server and node agents: what the node_*_test.mjs share. The agents have the identity of their node, so
// that a right that a kubelet does not have is noticed.
//
//	const cluster = await startCluster()
//	const node = await cluster.node("n1")               // hollow by default
//	const pod = await cluster.run(podOn("n1", { containers: [..] }))
//	await cluster.pod(pod, (p) => p.status.phase === "Running")
import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { core, dra, startServer, unique } from "./api_lib.mjs"
import { scratch, start, until } from "./lib.mjs"

export const pods = `${core}/namespaces/default/pods`
export const claims = `${dra}/namespaces/default/resourceclaims`

function tokenFile(names) {
	const file = `${scratch}/${unique("tokens")}.csv`
	const nodes = names.map((n, i) => `${n}-own,system:node:${n},${i},"system:nodes"\n`)
	writeFileSync(file, `${nodes.join("")}controllers-own,system:devplane-controller,${names.length}\n`, { mode: 0o600 })
	return file
}

// A file with which a token's owner reaches the server.
export function kubeconfig(server, token) {
	const file = `${scratch}/${unique("kubeconfig")}`
	const cluster = { server: server.url, "certificate-authority-data": server.credentials.ca.toString("base64") }
	writeFileSync(file, JSON.stringify({
		apiVersion: "v1",
		kind: "Config",
		clusters: [{ name: "c", cluster }],
		users: [{ name: "u", user: { token } }],
		contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
		"current-context": "x",
	}))
	return file
}

const folders = []
process.on("exit", () => folders.forEach((f) => rmSync(f, { recursive: true, force: true })))

// Sockets' paths must be short, and a folder of a test is not always.
export function shortFolder() {
	folders.push(mkdtempSync("/tmp/dp-"))
	return folders.at(-1)
}

// Options: names of the nodes there may be, backend, flags of the server.
export async function startCluster({ names = ["n1", "n2", "n3"], backend = "lmdb", flags = [], server: opts = {} } = {}) {
	// The server reads this list each time that it is started.
	const serverFlags = ["--token-auth-file", tokenFile(names), ...flags]
	const server = await startServer(backend, { ...opts, flags: serverFlags })
	const made = await server.client.post(`${core}/namespaces/default/serviceaccounts`, { metadata: { name: "default" } })
	assert.ok([201, 409].includes(made.code), made.text)
	const self = { server, serverFlags, get client() { return server.client } }
	// Starts an agent. Options: root (a folder), flags, hollow. kill() ends it as a crash would; begin() starts it again.
	self.node = async (name, { root = shortFolder(), flags: own = [], hollow = true, wait = true } = {}) => {
		const node = { name, root, kubeconfig: kubeconfig(server, `${name}-own`), client: server.as({ token: `${name}-own` }) }
		node.begin = async () => {
			node.process = start("node", "--kubeconfig", node.kubeconfig, "--node-name", name, "--root-dir", root,
				"--metrics-bind-address", "127.0.0.1:0", "--port", "0", "--log-format", "text", ...(hollow ? ["--runtime", "hollow"] : []), ...own)
			await until("agent", () => /health and metrics at (\S+)/.test(node.process.out) || node.process.child.exitCode !== null || node.process.child.signalCode)
			node.url = /health and metrics at (\S+)/.exec(node.process.out)?.[1]
			node.api = /kubelet API at (\S+)/.exec(node.process.out)?.[1]?.replace("0.0.0.0", "127.0.0.1")
			assert.ok(node.url, `the agent ended: ${node.process.err}`)
			if (wait)
				await until("ready node", async () => (await self.readNode(name))?.status?.conditions?.some((c) => c.type === "Ready" && c.status === "True"), 60)
		}
		node.kill = async () => {
			node.process.child.kill("SIGKILL")
			await node.process.ended
		}
		node.stop = async () => {
			node.process.child.kill("SIGTERM")
			assert.deepEqual(await node.process.ended, { code: 0, signal: null })
		}
		node.metrics = async () => (await fetch(`${node.url}/metrics`)).text()
		await node.begin()
		return node
	}
	// Starts `devplane controller` with the rights of its own role. kill() ends it as a crash would.
	self.controller = async (...controllers) => {
		const c = start("controller", "--kubeconfig", kubeconfig(server, "controllers-own"), "--controllers", controllers.join(","),
			"--metrics-bind-address", "127.0.0.1:0", "--leader-elect=false", "--log-format", "text")
		c.kill = async () => {
			c.child.kill("SIGKILL")
			await c.ended
		}
		c.stop = async () => {
			c.child.kill("SIGTERM")
			assert.deepEqual(await c.ended, { code: 0, signal: null })
		}
		c.url = await until("controller", () => /health and metrics at (\S+)/.exec(c.out)?.[1])
		return c
	}
	self.readNode = async (name) => (await server.client.get(`${core}/nodes/${name}`)).body
	self.run = async (body) => {
		const { code, text, body: pod } = await server.client.post(pods, body)
		assert.equal(code, 201, text)
		return pod
	}
	// The pod, when it is as `wanted` says.
	self.pod = async ({ metadata: { name } }, wanted = () => true, seconds = 60) => {
		let last
		try {
			return await until(`pod ${name}`, async () => {
				const { code, body } = await server.client.get(`${pods}/${name}`)
				last = body
				return code === 200 && wanted(body) && body
			}, seconds)
		} catch (e) {
			throw new Error(`${e.message}\n${JSON.stringify(last?.status, null, 1)}\n${await self.eventsText(name)}`)
		}
	}
	self.gone = ({ metadata: { name, uid } }, seconds = 60) =>
		until(`pod ${name} gone`, async () => {
			const { code, body } = await server.client.get(`${pods}/${name}`)
			return code === 404 || body.metadata.uid !== uid
		}, seconds)
	self.delete = async (pod, grace) => {
		const { code, text } = await server.client.delete(`${pods}/${pod.metadata.name}`, grace === undefined ? {} : { gracePeriodSeconds: grace })
		assert.ok([200, 202].includes(code), text)
	}
	self.events = async (name) => (await server.client.get(`${core}/namespaces/default/events?fieldSelector=involvedObject.name%3D${name}`)).body.items
	self.eventsText = async (name) => (await self.events(name)).map((e) => `${e.type} ${e.reason} ${e.message} x${e.count}`).join("\n")
	self.event = (name, reason, text = /./, seconds = 60) => until(`event ${reason} of ${name}`, async () =>
		(await self.events(name)).find((e) => e.reason === reason && text.test(e.message)), seconds)
	self.readNodeWhen = (name, wanted, seconds = 60) => until(`node ${name}`, async () => {
		const node = await self.readNode(name)
		return node && wanted(node) && node
	}, seconds)
	self.stop = () => server.stop()
	return self
}

// A pod bound to a node by its spec; `spec` overrides.
export function podOn(node, { name = unique("pod"), annotations, ...spec } = {}) {
	return {
		metadata: { name, annotations },
		spec: {
			nodeName: node,
			automountServiceAccountToken: false,
			terminationGracePeriodSeconds: 1,
			containers: [{ name: "main", image: "busybox", ...spec.main }],
			...Object.fromEntries(Object.entries(spec).filter(([key]) => key !== "main")),
		},
	}
}

// Makes a ResourceClaim that is allocated and reserved for the pod, as a scheduler would: results are
// { request, driver, pool, device }. Options: opaque parameters for a driver, the node's name, others who use it.
export async function allocateClaim(client, name, results, pod, { parameters, driver, node, users = [] } = {}) {
	const requests = [...new Set(results.map((r) => r.request.split("/")[0]))]
	const made = await client.post(claims, {
		metadata: { name },
		spec: { devices: { requests: requests.map((r) => ({ name: r, exactly: { deviceClassName: "any", count: results.filter((x) => x.request === r).length } })) } },
	})
	assert.equal(made.code, 201, made.text)
	const config = parameters && [{ source: "FromClaim", opaque: { driver, parameters } }]
	const nodeSelector = node && { nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] }] }
	return setAllocation(client, made.body, { devices: { results, config }, nodeSelector }, [pod, ...users])
}

export function reserveClaim(client, claim, results, ...users) {
	return setAllocation(client, claim, { devices: { results } }, users)
}

// Ends the allocations of claims that hold one of the devices for pods that are gone or over, as the claim
// controller would: these clusters have none, and the server gives a device to one claim only.
async function freeDevices(client, results) {
	const wanted = new Set(results.map(({ driver, pool, device }) => `${driver}/${pool}/${device}`))
	const { items } = (await client.get(claims)).body
	for (const { metadata, status } of items) {
		const held = status?.allocation?.devices.results.some((r) => wanted.has(`${r.driver}/${r.pool}/${r.device}`))
		if (!held || (await Promise.all((status.reservedFor ?? []).map((user) => stillRuns(client, user)))).includes(true))
			continue
		const done = await client.patch(`${claims}/${metadata.name}/status`, { status: { allocation: null, reservedFor: null } }, "merge")
		assert.equal(done.code, 200, done.text)
	}
}

async function stillRuns(client, { name, uid }) {
	const { code, body } = await client.get(`${pods}/${name}`)
	return code === 200 && body.metadata.uid === uid && !["Succeeded", "Failed"].includes(body.status.phase)
}

async function setAllocation(client, claim, allocation, users) {
	await freeDevices(client, allocation.devices.results)
	const status = {
		allocation,
		reservedFor: users.map((p) => ({ resource: "pods", name: p.metadata.name, uid: p.metadata.uid })),
	}
	const done = await client.patch(`${claims}/${claim.metadata.name}/status`, { status }, "merge")
	assert.equal(done.code, 200, done.text)
	return done.body
}

// Health of the devices in a pod's status: { "container or pod": { resource: { id: "Healthy message" } } }.
export function healthOf(pod) {
	const of = (list) => Object.fromEntries((list ?? []).map(({ name, resources = [] }) =>
		[name, Object.fromEntries(resources.map((r) => [r.resourceID, r.message ? `${r.health} ${r.message}` : r.health]))]))
	const all = {}
	for (const c of [...(pod.status.initContainerStatuses ?? []), ...(pod.status.containerStatuses ?? [])]) {
		if (c.allocatedResourcesStatus)
			all[c.name] = of(c.allocatedResourcesStatus)
	}
	if (pod.status.allocatedResourcesStatus)
		all.pod = of(pod.status.allocatedResourcesStatus)
	return all
}
