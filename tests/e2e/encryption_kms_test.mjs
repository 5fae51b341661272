// Encryption at rest with a KMS plugin that is a process of its own: it dies, hangs and rotates its key, and several
// servers share it.
import assert from "node:assert/strict"
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { core, expect, startServer, unique } from "./api_lib.mjs"
import { flagsFor, identity, isReadable, make, newConfig, reencrypt, secret, secrets, textOf } from "./encryption_lib.mjs"
import { finish, scratch, start, test, until } from "./lib.mjs"

const program = fileURLToPath(new URL("kms_plugin.mjs", import.meta.url))
const plugins = new Set()
process.on("exit", () => plugins.forEach((child) => child.kill("SIGKILL")))

class Plugin {
	constructor() {
		this.name = unique("kms")
		this.socket = `${scratch}/${this.name}.sock`
		this.file = `${scratch}/${this.name}.json`
		this.provider = { kms: { apiVersion: "v2", name: this.name, endpoint: `unix://${this.socket}`, timeout: "1s" } }
		this.set({})
	}

	set(state) {
		writeFileSync(`${this.file}.new`, JSON.stringify({ key: "key-1", healthz: "ok", hangs: false, ...state }))
		renameSync(`${this.file}.new`, this.file)
	}

	async begin() {
		this.child = spawn(process.execPath, [program, this.socket, this.file], { stdio: ["ignore", "pipe", "inherit"] })
		plugins.add(this.child)
		const [first] = await Promise.race([once(this.child.stdout, "data"), once(this.child, "exit")])
		assert.match(String(first), /ready/)
	}

	async kill() {
		const over = once(this.child, "exit")
		this.child.kill("SIGKILL")
		await over
		plugins.delete(this.child)
	}

	calls(name) {
		return existsSync(`${this.file}.calls`) ? readFileSync(`${this.file}.calls`, "utf8").split("\n").filter((line) => line.startsWith(name)) : []
	}
}

async function refusal(server, name) {
	const { code, body } = await server.client.post(secrets, secret(name, "text"))
	return code === 503 && /KMS plugin "/.test(body.message) && body.message
}

for (const backend of ["lmdb", "etcd"])
	await test(`${backend}: a KMS plugin that dies, hangs and rotates`, async () => {
		const plugin = new Plugin()
		await plugin.begin()
		const file = newConfig(plugin.provider, identity)
		const server = await startServer(backend, { flags: flagsFor(file) })
		await make(server.client, "a", "wrapped")
		assert.equal(await isReadable(server, "wrapped"), false)
		assert.equal(plugin.calls("Encrypt").length, 1)

		// Dead: writes go on for a while, then fail clearly; everything else works.
		await plugin.kill()
		await until("refused write", () => refusal(server, unique("late")), 60)
		assert.match(await refusal(server, unique("late")), /core\/secrets default\/late-\d+: KMS plugin "kms-\d+": Status/)
		assert.equal(await textOf(server.client, "a"), "wrapped")
		expect(await server.client.post(`${core}/namespaces/default/configmaps`, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "b" } }), 201)
		assert.equal((await server.client.get("/readyz")).code, 200)
		assert.match((await server.client.get("/metrics")).text, new RegExp(`devplane_store_kms_healthy{provider="${plugin.name}"} 0`))
		await plugin.begin()
		await until("write", async () => (await server.client.post(secrets, secret("b", "again"))).code === 201)

		// Rotated: objects are written again, and the old data key is still known to the plugin.
		plugin.set({ key: "key-2" })
		await until("new data key", () => plugin.calls("Encrypt").length === 2, 30)
		await until("new seal", async () => / wrote [1-9]\d* of /.test(await reencrypt(server, "secrets")))
		await server.stop()

		// Hanging at the start: the server waits, and starts when the plugin answers.
		plugin.set({ key: "key-2", hangs: true })
		const p = start("server", "--data-dir", server.folder, "--secure-port", "0", "--log-format", "text", ...flagsFor(file),
			...(backend === "etcd" ? ["--etcd-servers", server.etcd.url, "--etcd-prefix", server.prefix] : []))
		await until("server that waits", () => /KMS plugin .*Decrypt.*deadline/i.test(p.err))
		assert.doesNotMatch(p.out, /is ready at/)
		plugin.set({ key: "key-2" })
		await until("ready server", () => p.out.includes("is ready at"), 30)
		p.child.kill("SIGTERM")
		await p.ended
		await server.begin()
		assert.equal(await textOf(server.client, "a"), "wrapped")
		assert.equal(await textOf(server.client, "b"), "again")
		await server.stop()
		await plugin.kill()
	}, 240)

await test("several servers share values through their KMS plugin", async () => {
	const plugin = new Plugin()
	await plugin.begin()
	const file = newConfig(plugin.provider)
	const a = await startServer("etcd", { flags: flagsFor(file) })
	const folder = `${scratch}/${unique("second")}`
	execFileSync("cp", ["-r", a.folder, folder])
	const b = await startServer("etcd", { etcd: a.etcd, prefix: a.prefix, folder, flags: flagsFor(file) })
	for (let i = 0; i < 10; i++) {
		await make(i % 2 ? a.client : b.client, `s${i}`, `text ${i}`)
		assert.equal(await textOf(i % 2 ? b.client : a.client, `s${i}`), `text ${i}`)
	}
	assert.equal(plugin.calls("Encrypt").length, 2)
	assert.equal(plugin.calls("Decrypt").length, 2)
	await b.stop()
	await a.stop()
	await plugin.kill()
})

finish()
