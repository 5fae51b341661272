// A KMS plugin (version 2) as a process of its own: node kms_plugin.mjs SOCKET STATE
//
// It encrypts with AES-256-GCM of Node. STATE is a file whose JSON says how it behaves, read at each call:
// { "key": "k1", "healthz": "ok", "hangs": false }. Its keys are made from their ids. STATE.calls has a line for each call.
import * as grpc from "@grpc/grpc-js"
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto"
import { appendFileSync, readFileSync, rmSync } from "node:fs"
import { load } from "./plugin_services.mjs"

const [socket, file] = process.argv.slice(2)
const state = () => JSON.parse(readFileSync(file, "utf8"))
const secret = (id) => createHash("sha256").update(`test key ${id}`).digest()
const { KeyManagementService } = load("kms_v2.proto").v2

const answers = {
	Status: (request, { key, healthz }) => ({ version: "v2", healthz, key_id: key }),
	Encrypt({ plaintext }, { key }) {
		const nonce = randomBytes(12)
		const cipher = createCipheriv("aes-256-gcm", secret(key), nonce)
		const text = Buffer.concat([cipher.update(plaintext), cipher.final()])
		return { ciphertext: Buffer.concat([text, cipher.getAuthTag()]), key_id: key, annotations: { "nonce.example.com": nonce } }
	},
	Decrypt({ ciphertext, key_id, annotations }) {
		const decipher = createDecipheriv("aes-256-gcm", secret(key_id), annotations["nonce.example.com"])
		decipher.setAuthTag(ciphertext.subarray(-16))
		return { plaintext: Buffer.concat([decipher.update(ciphertext.subarray(0, -16)), decipher.final()]) }
	},
}

const server = new grpc.Server()
server.addService(KeyManagementService.service, Object.fromEntries(Object.entries(answers).map(([name, answer]) => [name, (call, done) => {
	const now = state()
	appendFileSync(`${file}.calls`, `${name} ${call.request.key_id ?? ""}\n`)
	if (!now.hangs)
		done(null, answer(call.request, now))
}])))
rmSync(socket, { force: true })
server.bindAsync(`unix:${socket}`, grpc.ServerCredentials.createInsecure(), (error) => {
	if (error)
		throw error
	console.log("ready")
})
