// Kubernetes' protobuf by protobufjs over our own descriptions in proto/: what tests of it share.
import assert from "node:assert/strict"
import { fileURLToPath } from "node:url"
import protobuf from "protobufjs"
import { until } from "./lib.mjs"

export const media = "application/vnd.kubernetes.protobuf"
export const goAccept = `${media},application/json` // what Go's typed clients send

const root = new protobuf.Root()
root.resolvePath = (_, target) => fileURLToPath(new URL(`proto/${target}`, import.meta.url))
await root.load(["runtime.proto", "meta.proto", "core.proto", "coordination.proto", "resource.proto"], { keepCase: true })

const packages = { "v1": "core", "meta.k8s.io/v1": "meta", "coordination.k8s.io/v1": "coordination", "resource.k8s.io/v1": "resource" }
const shared = new Set(["Status", "DeleteOptions"])
const magic = Buffer.from("k8s\0")

function typeOf(apiVersion, kind) {
	return root.lookupType(`${shared.has(kind) ? "meta" : packages[apiVersion]}.${kind}`)
}

function plain(type, bytes) {
	return type.toObject(type.decode(bytes), { longs: Number, bytes: Buffer, arrays: false, objects: false })
}

// An object as a request's body.
export function pack(apiVersion, kind, object) {
	const type = typeOf(apiVersion, kind)
	const fault = type.verify(object)
	assert.ok(!fault, fault)
	return packRaw(apiVersion, kind, type.encode(type.create(object)).finish())
}

export function packRaw(apiVersion, kind, raw) {
	const unknown = root.lookupType("runtime.Unknown")
	return Buffer.concat([magic, unknown.encode({ typeMeta: { apiVersion, kind }, raw }).finish()])
}

// An answer: { apiVersion, kind, object }. Fields that the answer does not have are absent.
export function unpack(bytes) {
	assert.deepEqual(bytes.subarray(0, 4), magic, "no magic")
	const { typeMeta: { apiVersion, kind }, raw, ...rest } = plain(root.lookupType("runtime.Unknown"), bytes.subarray(4))
	// As upstream writes them.
	assert.deepEqual(rest, { contentEncoding: "", contentType: "" })
	return { apiVersion, kind, object: plain(typeOf(apiVersion, kind), raw) }
}

// Fails unless an answer is protobuf of this code and kind; returns its object.
export function expectPacked(answer, code, kind) {
	assert.equal(answer.code, code, answer.text?.slice(0, 1000))
	assert.equal(answer.headers["content-type"], media)
	const got = unpack(answer.raw)
	assert.equal(got.kind, kind)
	return got.object
}

// The rest of a stream's bytes after its whole frames were handed over.
function takeFrames(bytes, each) {
	while (bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE(0)) {
		const end = 4 + bytes.readUInt32BE(0)
		each(bytes.subarray(4, end))
		bytes = bytes.subarray(end)
	}
	return bytes
}

// A watch in protobuf: `events` grows with { type, apiVersion, kind, object }.
export class PackedWatch {
	constructor({ request, stream, code, headers }) {
		Object.assign(this, { request, stream, code, headers, events: [] })
		let rest = Buffer.alloc(0)
		stream.on("data", (data) => {
			rest = takeFrames(Buffer.concat([rest, data]), (frame) => {
				const { type, object } = plain(root.lookupType("runtime.WatchEvent"), frame)
				this.events.push({ type, ...unpack(object.raw) })
			})
		})
		this.ended = new Promise((resolve) => {
			stream.on("end", () => resolve(rest.length ? new Error(`torn: ${rest.length} bytes`) : undefined))
			stream.on("close", () => resolve(new Error("closed")))
			request.on("error", resolve)
		})
	}

	static async open(client, path, accept = goAccept) {
		return new PackedWatch(await client.begin("GET", path, { accept }))
	}

	async have(count) {
		await until(`${count} events of a watch that has ${this.events.length}`, () => this.events.length >= count)
		return this.events
	}

	get brief() {
		return this.events.map(({ type, object }) => `${type} ${object.metadata?.name ?? ""}`.trim())
	}

	close() {
		this.request.destroy()
	}
}
