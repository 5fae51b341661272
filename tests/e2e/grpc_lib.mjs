// The probe's services, as @grpc/grpc-js sees them.
import * as grpc from "@grpc/grpc-js"
import * as loader from "@grpc/proto-loader"
import { fileURLToPath } from "node:url"

const folder = fileURLToPath(new URL("../../proto", import.meta.url))
const definition = loader.loadSync(["probe.proto", "health.proto"], {
	includeDirs: [folder],
	keepCase: true,
	longs: Number,
	enums: String,
	defaults: true,
})
const packages = grpc.loadPackageDefinition(definition)

export const Probe = packages.devplane.probe.v1.Probe
export const Health = packages.grpc.health.v1.Health
export const codes = grpc.status

// One unary call: resolves to { error, reply, headers, trailers }.
export function unary(client, method, request, metadata = new grpc.Metadata(), options = {}) {
	return new Promise((resolve) => {
		const result = {}
		const call = client[method](request, metadata, options, (error, reply) =>
			Object.assign(result, { error, reply }))
		call.on("metadata", (headers) => (result.headers = headers))
		call.on("status", (status) => {
			result.status = status
			result.trailers = status.metadata
			setImmediate(() => resolve(result))
		})
	})
}

// How a stream ended: resolves to its status.
export function ended(call) {
	return new Promise((resolve) => {
		call.on("error", () => {})
		call.on("status", resolve)
	})
}
