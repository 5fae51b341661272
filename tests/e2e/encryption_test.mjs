// Encryption at rest: nothing readable in the data folder, the journal, backups and etcd; keys that come and go;
// several servers.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { core, expect, startEtcd, startServer, unique } from "./api_lib.mjs"
import {
	flagsFor, folderHas, gcm, identity, inEtcd, isReadable, keys, make, newConfig, provider, reencrypt, reload, secrets, textOf, write,
} from "./encryption_lib.mjs"
import { devplane, finish, scratch, start, test, until } from "./lib.mjs"
import { run } from "./up_lib.mjs"

// Starts a server that must not become ready; returns what it printed.
async function startRefused(...args) {
	const p = start("server", "--secure-port", "0", "--log-format", "text", ...args)
	const { code } = await p.ended
	assert.notEqual(code, 0)
	return p.err
}

// --- keys in the file ----------------------------------------------------------------------

const places = [["lmdb", []], ["lmdb", ["--store-journal"]], ["etcd", []]]

for (const [backend, more] of places) {
	const where = [backend, ...more].join(" ")

	await test(`${where}: values are stored encrypted, and old ones by reencrypt`, async () => {
		const file = newConfig(gcm("k1"), identity)
		const server = await startServer(backend, { flags: more })
		await make(server.client, "before", "written in clear")
		await until("clear value on disk", () => isReadable(server, "written in clear"))
		await server.stop()
		const flags = [...more, ...flagsFor(file)]
		const sealed = await startServer(backend, { ...server, port: undefined, flags })
		assert.equal(await textOf(sealed.client, "before"), "written in clear")
		await make(sealed.client, "after", "written encrypted")
		assert.equal(await textOf(sealed.client, "after"), "written encrypted")
		assert.equal(await isReadable(sealed, "written encrypted"), false)
		assert.match(await reencrypt(sealed, "secrets"), /^secrets: wrote 1 of 2 objects$/m)
		assert.match(await reencrypt(sealed, "secrets"), /^secrets: wrote 0 of 2 objects$/m)
		if (backend === "etcd")
			for (const [key, value] of (await inEtcd(sealed)).filter(([key]) => key.includes("/core/secrets/")))
				assert.ok(value.startsWith("k8s:enc:aesgcm:v1:k1:"), key)
		await sealed.stop()
		if (backend === "etcd")
			return
		assert.equal((await run("store", "compact", "-d", sealed.folder)).code, 0)
		assert.equal(await isReadable(sealed, "written in clear"), false)
	})

	await test(`${where}: nothing of a secret is in the files of a new cluster`, async () => {
		const etcd = backend === "etcd" ? await startEtcd() : undefined
		const file = newConfig(provider("secretbox", "k1"))
		const server = await startServer(backend, { etcd, flags: [...more, ...flagsFor(file)] })
		const marker = "a marker of this test"
		await make(server.client, "a", marker)
		expect(await server.client.patch(`${secrets}/a`, { stringData: { text: `${marker}, changed` } }, "merge"), 200)
		await server.stop()
		await etcd?.kill("SIGTERM")
		const stored = Buffer.from(marker).toString("base64").slice(0, 24)
		assert.equal(folderHas(scratch, stored), false)
		assert.equal(folderHas(scratch, marker), false)
	})

	await test(`${where}: keys rotate without a restart, and old ones can go`, async () => {
		const file = newConfig(gcm("k1"))
		const server = await startServer(backend, { flags: [...more, ...flagsFor(file)] })
		for (let i = 0; i < 5; i++)
			await make(server.client, `s${i}`, `text ${i}`)
		const { metadata } = expect(await server.client.get(`${secrets}/s0`), 200)
		await reload(server, file, gcm("k1", "k2"))
		assert.match(await reencrypt(server, "secrets"), /wrote 0 of 5/)
		await reload(server, file, gcm("k2", "k1"))
		assert.match(await reencrypt(server), /^secrets: wrote 5 of 5 objects$/m)
		const now = expect(await server.client.get(`${secrets}/s0`), 200)
		assert.deepEqual(now.metadata.managedFields, metadata.managedFields)
		await reload(server, file, gcm("k2"))
		for (let i = 0; i < 5; i++)
			assert.equal(await textOf(server.client, `s${i}`), `text ${i}`)
		await server.kill()
		await server.begin()
		for (let i = 0; i < 5; i++)
			assert.equal(await textOf(server.client, `s${i}`), `text ${i}`)
		await server.stop()
	})

	await test(`${where}: a server without the key does not start, and nothing is lost`, async () => {
		const file = newConfig(gcm("k1"))
		const server = await startServer(backend, { flags: [...more, ...flagsFor(file)] })
		await make(server.client, "a", "kept")
		await server.stop()
		const args = ["--data-dir", server.folder, ...more, ...(backend === "etcd" ? ["--etcd-servers", server.etcd.url, "--etcd-prefix", server.prefix] : [])]
		write(file, [gcm("k2")])
		assert.match(await startRefused(...args, ...flagsFor(file)), /core\/secrets default\/a: it is sealed with aesgcm key "k1", which is not in/)
		write(file, [{ aesgcm: { keys: [{ name: "k1", secret: keys.k2 }] } }])
		assert.match(await startRefused(...args, ...flagsFor(file)), /another aesgcm key named "k1"/)
		assert.match(await startRefused(...args), /core\/secrets default\/a: it is encrypted: start the server with the --encryption-provider-config/)
		write(file, [gcm("k1")])
		await server.begin()
		assert.equal(await textOf(server.client, "a"), "kept")
		await server.stop()
	})
}

await test("a wrong file is refused at the start, and ignored later", async () => {
	const file = newConfig({ aescbc: { keys: [{ name: "k1", secret: keys.k1 }] } })
	const folder = `${scratch}/${unique("wrong")}`
	assert.match(await startRefused("--data-dir", folder, ...flagsFor(file)), /aescbc is not supported.*use aesgcm, secretbox or kms/)
	assert.equal(existsSync(`${folder}/store`), false)
	write(file, [gcm("k1")])
	chmodSync(file, 0o644)
	const server = await startServer("lmdb", { flags: flagsFor(file) })
	assert.match(server.process.err, /other users can read the file/)
	writeFileSync(file, "kind: Nonsense\n")
	await until("warning", () => server.process.err.includes("the old one stays"))
	await make(server.client, "a", "still encrypted")
	assert.equal(await isReadable(server, "still encrypted"), false)
	const { text } = await server.client.get("/metrics")
	assert.match(text, /automatic_reloads_total\{status="failure"\} 1/)
	assert.doesNotMatch(server.process.err, new RegExp(keys.k1.slice(0, 16)))
	await server.stop()
})

await test("backups stay encrypted, and are checked without keys", async () => {
	const file = newConfig(gcm("k1"))
	const server = await startServer("lmdb", { flags: flagsFor(file) })
	await make(server.client, "a", "in the backup")
	const copy = `${scratch}/${unique("copy")}`, restored = `${scratch}/${unique("restored")}`
	assert.equal((await run("store", "backup", copy, "-d", server.folder)).code, 0)
	assert.equal(readFileSync(copy).includes(Buffer.from("in the backup").toString("base64")), false)
	assert.equal((await run("store", "check", "-d", server.folder)).code, 0)
	assert.equal((await run("store", "restore", copy, "-d", restored)).code, 0)
	await server.stop()
	const other = await startServer("lmdb", { folder: restored, flags: flagsFor(file) })
	assert.equal(await textOf(other.client, "a"), "in the backup")
	await other.stop()
})

await test("kubectl get | kubectl replace encrypts again, as upstream documents", async () => {
	let kubectl
	try {
		kubectl = execFileSync("../../scripts/kubectl", [`${dirname(devplane)}/kubectl`], { stdio: ["ignore", "pipe", "pipe"] }).toString().trim()
	} catch {
		console.log("# no current kubectl can be fetched")
		return
	}
	const file = newConfig(gcm("k1"))
	const server = await startServer("lmdb", { flags: flagsFor(file) })
	await make(server.client, "a", "one")
	await reload(server, file, gcm("k2", "k1"))
	const k = (input, ...args) => execFileSync(kubectl, ["--kubeconfig", server.kubeconfig, ...args], { input, env: { ...process.env, HOME: scratch } }).toString()
	k(k(undefined, "get", "secrets", "--all-namespaces", "-o", "json"), "replace", "-f", "-")
	await reload(server, file, gcm("k2"))
	await server.kill()
	await server.begin()
	assert.equal(await textOf(server.client, "a"), "one")
	await server.stop()
})

await test("custom resources and wildcards", async () => {
	const file = `${scratch}/${unique("encryption")}.yaml`
	write(file, [gcm("k1")], ["*.example.com", "configmaps"])
	const server = await startServer("etcd", { flags: flagsFor(file) })
	const definition = {
		apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: "pandas.example.com" },
		spec: {
			group: "example.com", scope: "Namespaced", names: { plural: "pandas", kind: "Panda" },
			versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } } }],
		},
	}
	expect(await server.client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition), 201)
	const pandas = "/apis/example.com/v1/namespaces/default/pandas"
	const panda = { apiVersion: "example.com/v1", kind: "Panda", metadata: { name: "a" }, spec: { bamboo: "eaten in secret" } }
	await until("custom kind", async () => (await server.client.post(pandas, panda)).code === 201)
	assert.equal(expect(await server.client.get(`${pandas}/a`), 200).spec.bamboo, "eaten in secret")
	await make(server.client, "clear", "not configured")
	for (const [key, value] of await inEtcd(server)) {
		assert.equal(value.startsWith("k8s:enc:"), /\/(example.com\/pandas|core\/configmaps)\//.test(key), key)
		assert.ok(!value.includes("eaten in secret"))
	}
	await reload(server, file, gcm("k2", "k1"))
	await server.stop()
})

await test("several servers: one that lacks a key waits for it, and misses nothing", async () => {
	const first = newConfig(gcm("k1")), second = newConfig(gcm("k1"))
	const a = await startServer("etcd", { flags: flagsFor(first) })
	const folder = `${scratch}/${unique("second")}`
	execFileSync("cp", ["-r", a.folder, folder])
	const b = await startServer("etcd", { etcd: a.etcd, prefix: a.prefix, folder, flags: flagsFor(second) })
	await make(a.client, "one", "first")
	assert.equal(await textOf(b.client, "one"), "first")
	await reload(a, first, gcm("k2", "k1"))
	await make(a.client, "two", "second")
	const readyz = async () => (await b.client.get("/readyz")).code
	await until("server that is not ready", async () => await readyz() !== 200)
	await reload(b, second, gcm("k1", "k2"))
	await until("ready server", async () => await readyz() === 200)
	assert.equal(await textOf(b.client, "two"), "second")
	await b.stop()
	await a.stop()
})

finish()
