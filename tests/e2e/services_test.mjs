// Services, their addresses and node ports: with one server, and with several on one etcd that race for them.
import assert from "node:assert/strict"
import { cpSync } from "node:fs"
import { expect, expectStatus, freePort, startEtcd, startServer } from "./api_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"
import { startHooks, validating, withWebhooks } from "./webhook_lib.mjs"

const services = "/api/v1/namespaces/default/services"
const addresses = "/apis/networking.k8s.io/v1/ipaddresses"
const service = (name, spec = {}) => ({ metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } })
const ips = async (client) => expect(await client.get(addresses), 200).items.map(({ metadata }) => metadata.name)

await test("a new cluster has service kubernetes, with its address, range and endpoints", async () => {
	const { client } = await startServer("lmdb", { folder: `${scratch}/one` })
	const own = expect(await client.get(`${services}/kubernetes`), 200)
	assert.equal(own.spec.clusterIP, "10.0.0.1")
	assert.deepEqual(await ips(client), ["10.0.0.1"])
	const range = expect(await client.get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes"), 200)
	assert.deepEqual(range.spec.cidrs, ["10.0.0.0/24"])
	assert.equal(range.status.conditions[0].status, "True")
	const slice = expect(await client.get("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"), 200)
	assert.deepEqual(slice.endpoints.map(({ addresses }) => addresses), [["127.0.0.1"]])
	assert.equal(slice.ports[0].port, own.spec.ports[0].targetPort)
	const classes = expect(await client.get("/apis/scheduling.k8s.io/v1/priorityclasses"), 200).items
	assert.deepEqual(classes.map(({ metadata, value }) => [metadata.name, value]),
		[["system-cluster-critical", 2000000000], ["system-node-critical", 2000001000]])
	expectStatus(await client.delete("/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical"), 403, "Forbidden")
})

await test("the range comes back at once when somebody deletes it", async () => {
	const { client } = await startServer("lmdb", { folder: `${scratch}/range` })
	const path = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"
	const before = expect(await client.get(path), 200).metadata.uid
	expect(await client.delete(path), 200)
	await until("another range", async () => {
		const { code, body } = await client.get(path)
		return code === 200 && body.metadata.uid !== before
	})
	expect(await client.post(services, service("after")), 201)
})

await test("a server that comes back at another port is found there", async () => {
	const server = await startServer("lmdb", { folder: `${scratch}/moved` }), before = server.port
	await server.stop()
	server.port = await freePort()
	await server.begin()
	assert.notEqual(server.port, before)
	const { client } = server
	const slice = expect(await client.get("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"), 200)
	assert.deepEqual(slice.ports.map(({ port }) => port), [server.port])
	const endpoints = expect(await client.get("/api/v1/namespaces/default/endpoints/kubernetes"), 200)
	assert.deepEqual(endpoints.subsets.map(({ ports }) => ports[0].port), [server.port])
	const own = expect(await client.get(`${services}/kubernetes`), 200)
	assert.deepEqual(own.spec.ports.map(({ port, targetPort }) => [port, targetPort]), [[443, server.port]])
	await server.stop()
})

await test("a webhook is asked once about a node port that is chosen, and the service gets just that", async () => {
	const { client } = await startServer("lmdb", { folder: `${scratch}/hooked` })
	const hooks = await startHooks()
	const rules = [{ operations: ["CREATE", "UPDATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["services"] }]
	hooks.answer("/allow", () => ({ allowed: true }))
	expect(await client.post(services, service("hooked")), 201)
	await withWebhooks(client, validating, [hooks.webhook("allow.example.com", "/allow", { rules })], async () => {
		const changed = expect(await client.patch(`${services}/hooked`, { spec: { type: "NodePort" } }, "merge"), 200)
		const [asked, ...more] = hooks.asked("/allow")
		assert.equal(more.length, 0)
		assert.ok(changed.spec.ports[0].nodePort >= 30000)
		assert.equal(asked.object.spec.ports[0].nodePort, changed.spec.ports[0].nodePort)
	})
	hooks.close()
})

const etcd = await startEtcd()
const first = await startServer("etcd", { etcd, prefix: "/services", folder: `${scratch}/a` })
cpSync(`${first.folder}/pki`, `${scratch}/b/pki`, { recursive: true })
const second = await startServer("etcd", { etcd, prefix: "/services", folder: `${scratch}/b` })
const clients = [first.client, second.client]

await test("two servers that are asked for one address give it once", async () => {
	for (let i = 0; i < 20; i++) {
		const spec = { clusterIP: `10.0.0.${10 + i}` }
		const got = await Promise.all(clients.map((client, k) => client.post(services, service(`s${i}-${k}`, spec))))
		assert.deepEqual(got.map(({ code }) => code).sort(), [201, 422])
		const refused = got.find(({ code }) => code === 422)
		assert.match(refused.body.message, /provided IP is already allocated/)
	}
})

await test("and of those that they choose, none twice", async () => {
	const made = await Promise.all(Array.from({ length: 60 }, (_, i) => clients[i % 2].post(services, service(`d${i}`))))
	const given = made.map((answer) => expect(answer, 201).spec.clusterIP)
	assert.equal(new Set(given).size, 60)
	const all = new Set(await ips(first.client))
	assert.ok(given.every((ip) => all.has(ip)))
})

await test("a service takes its address along when it goes", async () => {
	const list = expect(await first.client.get(services), 200).items.filter(({ metadata }) => metadata.name !== "kubernetes")
	await Promise.all(list.map(({ metadata }, i) => clients[i % 2].delete(`${services}/${metadata.name}`)))
	await until("the addresses to go", async () => (await ips(second.client)).join() === "10.0.0.1")
	expect(await first.client.post(services, service("again", { clusterIP: "10.0.0.10" })), 201)
})

const ports = { first: 30000, last: 30049, count: 50 }
const flags = ["--service-node-port-range", `${ports.first}-${ports.last}`]
const crowd = []
for (const name of ["p0", "p1", "p2"]) {
	cpSync(`${first.folder}/pki`, `${scratch}/${name}/pki`, { recursive: true })
	crowd.push(await startServer("etcd", { etcd, prefix: "/ports", folder: `${scratch}/${name}`, flags }))
}
const at = (i) => crowd[i % crowd.length].client
const record = "/api/v1/namespaces/kube-system/configmaps/devplane-node-ports"
const nodePort = (name, nodePort) => service(name, { type: "NodePort", ports: [{ port: 80, nodePort }] })
const portsOf = ({ spec }) => spec.ports.flatMap(({ nodePort }) => nodePort ?? [])
const given = async () => expect(await at(0).get(services), 200).items.flatMap(portsOf).sort((a, b) => a - b)
const range = ([from, to = from]) => Array.from({ length: to - from + 1 }, (_, i) => from + i)
const recorded = async () => {
	const { taken } = expect(await at(1).get(record), 200).data
	return taken ? taken.split(",").flatMap((piece) => range(piece.split("-").map(Number))) : []
}
const expectRecord = async () => until("the record to have what services have", async () =>
	(await recorded()).join() === (await given()).join())
const removeAll = async () => {
	const list = expect(await at(0).get(services), 200).items.filter(({ metadata }) => metadata.name !== "kubernetes")
	await Promise.all(list.map(({ metadata }, i) => at(i).delete(`${services}/${metadata.name}`)))
	return list
}

await test("three servers give each node port once, and all of them", async () => {
	for (let round = 0; round < 3; round++) {
		const made = await Promise.all(Array.from({ length: 90 }, (_, i) => at(i).post(services, nodePort(`n${i}`))))
		const full = made.filter(({ code }) => code !== 201)
		for (const answer of full)
			assert.match(expectStatus(answer, 500, "InternalError").message, /failed to allocate a nodePort: range is full/)
		assert.equal(full.length, 90 - ports.count)
		assert.deepEqual(await given(), range([ports.first, ports.last]))
		await expectRecord()
		// Those that are let go are free at once, anywhere.
		const gone = await removeAll()
		assert.equal(gone.length, ports.count)
		const [again] = portsOf(gone[round])
		expect(await at(round).post(services, nodePort("again", again)), 201)
		await removeAll()
	}
	await until("all ports to be free", async () => (await recorded()).length === 0)
})

await test("of three servers that are asked for one node port one gives it", async () => {
	for (let i = 0; i < 50; i++) {
		const port = ports.first + i % 7
		const got = await Promise.all(crowd.map(({ client }, k) => client.post(services, nodePort(`f${i}-${k}`, port))))
		assert.deepEqual(got.map(({ code }) => code).sort(), [201, 422, 422])
		for (const { body } of got.filter(({ code }) => code === 422))
			assert.match(body.message, /provided port is already allocated/)
		// The next round requests it again as soon as another server has the request to delete it.
		const winner = got.findIndex(({ code }) => code === 201)
		if (i % 2)
			expect(await at(winner + 1).delete(`${services}/f${i}-${winner}`), 200)
		else
			expect(await at(winner + 2).patch(`${services}/f${i}-${winner}`, { spec: { type: "ClusterIP" } }, "merge"), 200)
		expect(await at(winner + i).post(services, nodePort(`g${i}`, port)), 201)
		expect(await at(i).delete(`${services}/g${i}`), 200)
	}
	await removeAll()
	await expectRecord()
})

await test("updates of services get node ports of their own, too", async () => {
	await Promise.all(Array.from({ length: 30 }, async (_, i) => expect(await at(i).post(services, service(`u${i}`)), 201)))
	const changed = await Promise.all(Array.from({ length: 30 }, (_, i) =>
		at(i + 1).patch(`${services}/u${i}`, { spec: { type: "NodePort" } }, "merge")))
	assert.equal(new Set(changed.flatMap((answer) => portsOf(expect(answer, 200)))).size, 30)
	await expectRecord()
})

await test("the record of node ports comes back when somebody deletes or spoils it", async () => {
	const before = await given()
	assert.equal(before.length, 30)
	expect(await at(2).delete(record), 200)
	await until("another record", async () => (await at(0).get(record)).code === 200)
	await expectRecord()
	expect(await at(0).patch(record, { data: { taken: "none" } }, "merge"), 200)
	await until("a sound record", async () => expect(await at(0).get(record), 200).data.taken !== "none")
	await expectRecord()
	await removeAll()
	await expectRecord()
})

await test("node ports are given once also while a server is killed", async () => {
	const asked = Array.from({ length: 45 }, (_, i) => at(i).post(services, nodePort(`k${i}`)).catch(() => ({ code: 0 })))
	await Promise.race(asked)
	await crowd[2].kill()
	const made = (await Promise.all(asked)).filter(({ code }) => code === 201)
	assert.ok(made.length >= 30)
	const all = await given(), known = new Set(await recorded())
	assert.equal(new Set(all).size, all.length)
	assert.ok(all.every((port) => known.has(port)))
	await crowd[2].begin()
	await removeAll()
	expect(await at(2).post(services, nodePort("after", portsOf(made[0].body)[0])), 201)
})

finish()
