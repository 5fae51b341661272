// Clients that write as much as they can: the file stays within bounds, and a full store can be emptied.
import assert from "node:assert/strict"
import { statSync } from "node:fs"
import { core, startServer } from "./api_lib.mjs"
import { finish, test } from "./lib.mjs"

const maps = `${core}/namespaces/default/configmaps`
const mebibyte = 1024 * 1024
const large = (name, more = {}) => ({ metadata: { name }, data: { a: "x".repeat(1000000) }, ...more })
const fileSize = (server) => statSync(`${server.folder}/store/data.mdb`).size

async function metric(client, name) {
	const { text } = await client.get("/metrics")
	return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1])
}

await test("rewriting a large object does not grow the file beyond the history's bytes", async () => {
	const server = await startServer("lmdb", { flags: ["--history-bytes", String(8 * mebibyte)] })
	const { client } = server
	const first = await client.post(maps, large("a"))
	assert.equal(first.code, 201)
	for (let i = 0; i < 60; i++)
		assert.equal((await client.put(`${maps}/a`, large("a", { immutable: false, binaryData: { i: Buffer.from(String(i)).toString("base64") } }))).code, 200)
	const grown = fileSize(server) / mebibyte
	assert.ok(grown < 24, `the file has ${Math.round(grown)} MiB`)
	assert.ok(await metric(client, "devplane_store_history_bytes") <= 8 * mebibyte)
	// Versions that were forgotten early are gone as after a compaction.
	const past = await client.get(`${maps}?resourceVersion=${first.body.metadata.resourceVersion}&resourceVersionMatch=Exact`)
	assert.deepEqual([past.code, past.body.reason], [410, "Expired"])
	assert.equal((await client.get(`${maps}/a`)).code, 200)
	await server.stop()
})

await test("a full store refuses what grows, says what to do, and takes reads, deletions and renewals", async () => {
	const server = await startServer("lmdb", { flags: ["--store-quota-bytes", String(8 * mebibyte)] })
	const { client } = server
	const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	const lease = await client.post(leases, { metadata: { name: "node" }, spec: { holderIdentity: "a", renewTime: "2026-01-01T00:00:00.000000Z" } })
	assert.equal(lease.code, 201, lease.text)
	const held = await client.post(maps, { metadata: { name: "held", finalizers: ["example.com/wait"] } })
	assert.equal(held.code, 201)
	let refused
	for (let i = 0; i < 20 && !refused; i++) {
		const answer = await client.post(maps, large(`m${i}`))
		if (answer.code !== 201)
			refused = answer
	}
	assert.ok(refused, "nothing was refused")
	assert.equal(refused.code, 503, refused.text)
	assert.match(refused.body.message, /database space exceeded.*8388608 bytes.*delete.*--store-quota-bytes/)
	assert.ok(fileSize(server) < 32 * mebibyte)
	assert.equal(await metric(client, "devplane_store_quota_bytes"), 8 * mebibyte)
	assert.ok(await metric(client, 'devplane_store_writes_total{result="refused"}') > 0)
	// All that an operator needs.
	assert.equal((await client.get(maps)).code, 200)
	lease.body.spec.renewTime = "2026-01-01T00:00:10.000000Z"
	assert.equal((await client.put(`${leases}/node`, lease.body)).code, 200)
	assert.equal((await client.delete(`${maps}/held`)).code, 200)
	assert.equal((await client.patch(`${maps}/held`, { metadata: { finalizers: null } }, "merge")).code, 200)
	assert.equal((await client.delete(`${maps}/m0`)).code, 200)
	assert.equal((await client.post(maps, large("again"))).code, 201)
	// It is as full after a restart.
	await server.stop()
	await server.begin()
	assert.equal((await server.client.post(maps, large("more"))).code, 503)
	await server.stop()
})

finish()
