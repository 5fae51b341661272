// The services of the node's sockets, as @grpc/grpc-js sees them: for tests that play the kubelet, and for
// those that play plugins and drivers. The descriptions in proto/ are the tests' own.
//
//	const info = await call(new Registration(`unix:${path}`, insecure), "GetInfo", {})
import * as grpc from "@grpc/grpc-js"
import * as loader from "@grpc/proto-loader"
import { fileURLToPath } from "node:url"

const folder = fileURLToPath(new URL("proto", import.meta.url))

// One file at a time: packages are named alike.
export function load(file, options = {}) {
	return grpc.loadPackageDefinition(loader.loadSync(file, {
		includeDirs: [folder], keepCase: true, longs: Number, enums: String, defaults: true, oneofs: false, ...options,
	}))
}

const dra = (version) => load(`dra_${version}.proto`).k8s.io.kubelet.pkg.apis.dra[version]

export const insecure = grpc.credentials.createInsecure()
export const codes = grpc.status
export const Registration = load("pluginregistration.proto").pluginregistration.Registration
export const DRAPlugin = { v1: dra("v1").DRAPlugin, v1beta1: dra("v1beta1").DRAPlugin }
export const DRAResourceHealth = {
	v1: load("drahealth_v1.proto").v1.DRAResourceHealth,
	v1alpha1: load("drahealth_v1alpha1.proto").v1alpha1.DRAResourceHealth,
}
export const NodeHealth = load("nodehealth.proto").v1alpha1.NodeHealth
export const { Registration: PluginRegistration, DevicePlugin } = load("deviceplugin.proto").v1beta1

// One unary call: its answer, or its error thrown.
export function call(client, method, request) {
	return new Promise((resolve, reject) => {
		const deadline = new Date(Date.now() + 30000)
		client[method](request, new grpc.Metadata(), { deadline }, (error, answer) => error ? reject(error) : resolve(answer))
	})
}

// A stream of messages: `messages` grows, `status` is set when it ends.
export class Stream {
	constructor(client, method) {
		this.messages = []
		this.stream = client[method]({})
		this.stream.on("data", (m) => this.messages.push(m))
		this.stream.on("error", () => {})
		this.stream.on("status", (status) => (this.status = status))
	}

	get last() {
		return this.messages.at(-1)
	}

	cancel() {
		this.stream.cancel()
	}
}

// Serves implementations ([Service, {Method: fn}] each) on a unix socket; resolves to the server.
export async function serve(path, ...services) {
	const server = new grpc.Server()
	for (const [Service, implementation] of services)
		server.addService(Service.service, implementation)
	await new Promise((resolve, reject) =>
		server.bindAsync(`unix:${path}`, grpc.ServerCredentials.createInsecure(), (error) => error ? reject(error) : resolve()))
	return server
}
