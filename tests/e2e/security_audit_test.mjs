// An audit log that cannot be written: lines that are lost are counted, or nothing is done without its line.
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { core, startServer } from "./api_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"

const maps = `${core}/namespaces/default/configmaps`
const lines = (file) => readFileSync(file, "utf8").split("\n").filter(Boolean).map(JSON.parse)

await test("lines that a full disk takes are counted, and requests go on", async () => {
	const server = await startServer("lmdb", { flags: ["--audit-log-path", "/dev/full"] })
	const lost = async () => Number(/^apiserver_audit_error_total\{plugin="log"\} (\d+)/m.exec((await server.client.get("/metrics")).text)[1])
	const before = await lost()
	for (let i = 0; i < 10; i++)
		assert.equal((await server.client.post(maps, { metadata: { name: `m${i}` } })).code, 201)
	await until("ten more", async () => await lost() >= before + 10)
	assert.equal(server.process.err.match(/cannot write the audit log/g).length, 1)
	await server.stop()
})

await test("in strict mode what cannot be written is not done", async () => {
	const server = await startServer("lmdb", { flags: ["--audit-log-path", "/dev/full", "--audit-log-mode", "blocking-strict"] })
	const { code, body } = await server.client.post(maps, { metadata: { name: "m" } })
	assert.equal(code, 500)
	assert.match(body.message, /cannot write the audit log/)
	await server.stop()
	const file = `${scratch}/audit.log`
	const again = await startServer("lmdb", { folder: server.folder, flags: ["--audit-log-path", file, "--audit-log-mode", "blocking-strict"] })
	assert.equal((await again.client.get(`${maps}/m`)).code, 404)
	const { headers } = await again.client.post(maps, { metadata: { name: "n" } })
	const stages = () => lines(file).filter((l) => l.auditID === headers["audit-id"]).map((l) => `${l.stage} ${l.responseStatus?.code}`)
	await until("both lines", () => stages().length === 2)
	assert.deepEqual(stages(), ["RequestReceived undefined", "ResponseComplete 201"])
	await again.stop()
})

finish()
