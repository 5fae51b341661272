// What the tests of encryption at rest share: configurations, secrets, and what can be read of them in a store.
import assert from "node:assert/strict"
import { readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs"
import { Client, core, expect, unique } from "./api_lib.mjs"
import { scratch, until } from "./lib.mjs"
import { run } from "./up_lib.mjs"

export const keys = Object.fromEntries(["k1", "k2", "k3"].map((name, i) => [name, Buffer.alloc(32, `${i + 1}key`).toString("base64")]))
export const provider = (kind, ...names) => ({ [kind]: { keys: names.map((name) => ({ name, secret: keys[name] })) } })
export const gcm = (...names) => provider("aesgcm", ...names)
export const identity = { identity: {} }
export const secrets = `${core}/namespaces/default/secrets`

// JSON is YAML.
export function write(file, providers, resources = ["secrets"]) {
	const text = { apiVersion: "apiserver.config.k8s.io/v1", kind: "EncryptionConfiguration", resources: [{ resources, providers }] }
	writeFileSync(`${file}.new`, JSON.stringify(text), { mode: 0o600 })
	renameSync(`${file}.new`, file)
}

export function newConfig(...providers) {
	const file = `${scratch}/${unique("encryption")}.yaml`
	write(file, providers)
	return file
}

export const flagsFor = (file) => ["--encryption-provider-config", file, "--encryption-provider-config-automatic-reload"]

export const secret = (name, text) => ({ apiVersion: "v1", kind: "Secret", metadata: { name }, stringData: { text } })

export async function make(client, name, text) {
	return expect(await client.post(secrets, secret(name, text)), 201)
}

export async function textOf(client, name) {
	return Buffer.from(expect(await client.get(`${secrets}/${name}`), 200).data.text, "base64").toString()
}

// Whether a file below the folder has these bytes.
export function folderHas(folder, text) {
	return readdirSync(folder, { recursive: true, withFileTypes: true }).some((entry) =>
		entry.isFile() && readFileSync(`${entry.parentPath ?? entry.path}/${entry.name}`).includes(text))
}

// The keys of a server in etcd with their values, as [key, value] pairs.
export async function inEtcd(server) {
	const client = new Client(server.etcd.url)
	const range = { key: Buffer.from(server.prefix).toString("base64"), range_end: Buffer.from(`${server.prefix}~`).toString("base64") }
	const { kvs } = expect(await client.post("/v3/kv/range", range), 200)
	client.close()
	return kvs.map(({ key, value }) => [key, value].map((text) => Buffer.from(text ?? "", "base64").toString("latin1")))
}

// Whether the text of a secret can be read in what the server keeps.
export async function isReadable(server, text) {
	const stored = Buffer.from(text).toString("base64")
	if (server.backend !== "etcd")
		return folderHas(`${server.folder}/store`, stored)
	return (await inEtcd(server)).some(([, value]) => value.includes(stored))
}

// Waits until the server has reloaded its configuration once more.
export async function reload(server, file, ...providers) {
	const count = () => server.process.err.split("the encryption configuration was reloaded").length
	const before = count()
	write(file, providers)
	await until("reload", () => count() > before)
}

export async function reencrypt(server, ...resources) {
	const { code, out, err } = await run("store", "reencrypt", ...resources, "--kubeconfig", server.kubeconfig)
	assert.equal(code, 0, err)
	return out
}
