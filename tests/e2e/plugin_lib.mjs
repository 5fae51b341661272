// Device plugins and DRA drivers on @grpc/grpc-js, with knobs: what the node_*_test.mjs run the agent against.
//
//	const plugin = await DevicePlugin.start(root, "example.com/gpu", [{ ID: "gpu0" }, { ID: "gpu1" }])
//	plugin.set([{ ID: "gpu0", health: "Unhealthy", message: "too hot" }, { ID: "gpu1" }])
//	await plugin.stop()
//
//	const driver = await DraDriver.start(root, "gpu.example.com")
//	driver.report([{ pool: "p", device: "gpu0", health: "Unhealthy", message: "too hot", timeout: 5 }])
//
// Knobs of both, by the method's name: hang (a Set: not answered), fail ({ method: code or { code, details } }),
// delay ({ method: ms }). `calls` has every request: { method: [request, ..] }. A Buffer instead of an object is sent
// as it is: garbage.
import * as grpc from "@grpc/grpc-js"
import { mkdirSync, rmSync } from "node:fs"
import { until } from "./lib.mjs"
import {
	codes, DevicePlugin as DevicePluginService, DRAPlugin, DRAResourceHealth, insecure, NodeHealth, PluginRegistration, Registration,
} from "./plugin_services.mjs"

const draServices = { "v1.DRAPlugin": DRAPlugin.v1, "v1beta1.DRAPlugin": DRAPlugin.v1beta1 }
const healthServices = {
	"v1.DRAResourceHealth": DRAResourceHealth.v1,
	"v1alpha1.DRAResourceHealth": DRAResourceHealth.v1alpha1,
	"v1alpha1.NodeHealth": NodeHealth,
}

// The service, except that a Buffer goes out unchanged.
function lenient(service) {
	return Object.fromEntries(Object.entries(service).map(([name, method]) => [name, {
		...method,
		responseSerialize: (value) => (Buffer.isBuffer(value) ? value : method.responseSerialize(value)),
	}]))
}

function failure(spec) {
	return typeof spec === "number" ? { code: spec, details: "as the test wants it" } : spec
}

// One socket with services. Streams stay in `streams[method]` until they end.
export class Plugin {
	constructor(path) {
		Object.assign(this, { path, hang: new Set(), fail: {}, delay: {}, calls: {}, streams: {} })
		this.server = new grpc.Server({ "grpc.max_send_message_length": -1, "grpc.max_receive_message_length": -1 })
	}

	// `answers` has a function per method: of the request, giving the reply or a promise of it, and for streams of
	// (stream, request).
	add(service, answers) {
		const handlers = Object.fromEntries(Object.entries(service.service).map(([method, { responseStream }]) =>
			[method, responseStream ? (call) => this.#stream(method, call, answers[method]) :
				(call, reply) => this.#unary(method, call, reply, answers[method])]))
		this.server.addService(lenient(service.service), handlers)
	}

	#note(method, request) {
		(this.calls[method] ??= []).push(request)
	}

	count(method) {
		return this.calls[method]?.length ?? 0
	}

	async #unary(method, call, reply, answer) {
		this.#note(method, call.request)
		if (this.delay[method])
			await new Promise((resolve) => setTimeout(resolve, this.delay[method]))
		if (this.hang.has(method))
			return
		if (this.fail[method] !== undefined)
			return reply(failure(this.fail[method]))
		try {
			reply(null, await answer(call.request))
		} catch (e) {
			reply({ code: codes.UNKNOWN, details: e.message })
		}
	}

	#stream(method, call, answer) {
		this.#note(method, call.request)
		if (this.fail[method] !== undefined)
			return call.emit("error", failure(this.fail[method]))
		const open = (this.streams[method] ??= new Set())
		open.add(call)
		call.on("error", () => {})
		for (const end of ["cancelled", "close", "finish"])
			call.on(end, () => open.delete(call))
		if (!this.hang.has(method))
			answer(call, call.request)
	}

	send(method, message) {
		for (const stream of this.streams[method] ?? [])
			stream.write(message)
	}

	// Ends the streams of the method: in order, or with a failure.
	end(method, spec) {
		for (const stream of this.streams[method] ?? []) {
			if (spec === undefined)
				stream.end()
			else
				stream.emit("error", failure(spec))
		}
	}

	listen() {
		rmSync(this.path, { force: true })
		return new Promise((resolve, reject) =>
			this.server.bindAsync(`unix:${this.path}`, grpc.ServerCredentials.createInsecure(), (e) => (e ? reject(e) : resolve(this))))
	}

	// Cuts all connections; the socket's file goes with it.
	close() {
		this.server.forceShutdown()
		rmSync(this.path, { force: true })
	}
}

let sockets = 0

// A device plugin. Devices are { ID, health = "Healthy", message, numa: [0, ..] }.
// Options: socket (a file's name), preferred, prestart (options of the plugin), registry (come by plugins_registry),
// allocate (of a list of ids: a ContainerAllocateResponse).
export class DevicePlugin extends Plugin {
	static async start(root, resource, devices, options = {}) {
		const self = new DevicePlugin(root, resource, devices, options)
		await self.listen()
		if (options.register !== false)
			await self.register()
		return self
	}

	constructor(root, resource, devices = [], options = {}) {
		const folder = options.registry ? "plugins_registry" : "device-plugins"
		const socket = options.socket ?? `plugin-${process.pid}-${++sockets}.sock`
		mkdirSync(`${root}/${folder}`, { recursive: true })
		super(`${root}/${folder}/${socket}`)
		Object.assign(this, { root, resource, devices, options, socket })
		this.notified = []
		this.add(DevicePluginService, {
			GetDevicePluginOptions: () => ({
				pre_start_required: Boolean(options.prestart),
				get_preferred_allocation_available: Boolean(options.preferred),
			}),
			ListAndWatch: (stream) => stream.write(this.list()),
			GetPreferredAllocation: ({ container_requests }) => ({
				container_responses: container_requests.map((r) => ({
					deviceIDs: (options.prefer ?? ((ids, size) => ids.slice(-size)))(r.available_deviceIDs, r.allocation_size, r.must_include_deviceIDs),
				})),
			}),
			Allocate: ({ container_requests }) => ({
				container_responses: container_requests.map((r) => (options.allocate ?? ((ids) => ({ envs: { DEVICES: ids.join(",") } })))(r.devices_ids)),
			}),
			PreStartContainer: () => ({}),
		})
		if (options.registry) {
			this.add(Registration, {
				GetInfo: () => ({ type: "DevicePlugin", name: resource, endpoint: "", supported_versions: options.versions ?? ["v1beta1"] }),
				NotifyRegistrationStatus: (status) => (this.notified.push(status), {}),
			})
		}
	}

	list() {
		return {
			devices: this.devices.map(({ ID, health = "Healthy", message = "", numa }) =>
				({ ID, health, message, ...(numa && { topology: { nodes: numa.map((n) => ({ ID: n })) } }) })),
		}
	}

	// Sends a new list to whoever listens.
	set(devices) {
		this.devices = devices
		this.send("ListAndWatch", this.list())
	}

	health(ID, health, message) {
		this.set(this.devices.map((d) => (d.ID === ID ? { ...d, health, message } : d)))
	}

	// Calls Register; throws grpc's error when it is refused. `channel`: options of the client's channel.
	register({ version = "v1beta1", resource = this.resource, endpoint = this.socket, channel = {}, seconds = 60 } = {}) {
		if (this.options.registry)
			return until("registration", () => this.notified.some((n) => n.plugin_registered))
		const client = new PluginRegistration(`unix:${this.root}/device-plugins/kubelet.sock`, insecure, channel)
		return new Promise((resolve, reject) =>
			client.Register({ version, endpoint, resource_name: resource }, { deadline: Date.now() + seconds * 1000 }, (e, reply) => {
				client.close()
				if (e)
					reject(e)
				else
					resolve(reply)
			}))
	}

	// A list of about so many bytes.
	sendHuge(bytes) {
		const message = "x".repeat(1000)
		this.send("ListAndWatch", {
			devices: Array.from({ length: Math.ceil(bytes / 1020) }, (_, i) => ({ ID: `d${i}`, health: "Healthy", message })),
		})
	}

	sendGarbage() {
		this.send("ListAndWatch", Buffer.from([0x0a, 0x7f, 0x01]))
	}

	stop() {
		this.close()
	}
}

const words = { Healthy: "HEALTHY", Unhealthy: "UNHEALTHY", Unknown: "UNKNOWN" }

// A report in the words of a dialect; entries are { pool, device, health, message, updated, timeout }.
function reportIn(dialect, devices) {
	if (dialect === "v1alpha1.NodeHealth") {
		return {
			devices: devices.map((d) => ({
				pool_name: d.pool, device_name: d.device, health_status: d.health, message: d.message ?? "",
				last_updated_timestamp: d.updated ?? 0, health_check_timeout_seconds: d.timeout ?? 0,
			})),
		}
	}
	return {
		devices: devices.map((d) => ({
			device: { pool_name: d.pool, device_name: d.device }, health: words[d.health], message: d.message ?? "",
			last_updated_time: d.updated ?? 0, health_check_timeout_seconds: d.timeout ?? 0,
		})),
	}
}

const watchOf = (dialect) => (dialect === "v1alpha1.NodeHealth" ? "WatchResources" : "NodeWatchResources")

// One instance of a DRA driver: its registration socket and its own, which may be one.
// Options: instance (part of the files' names), services (that it has), versions (that it advertises; those it has),
// oneSocket, prepare (of a claim: { devices: [..] } or { error }).
export class DraDriver extends Plugin {
	static async start(root, name, options = {}) {
		const self = new DraDriver(root, name, options)
		await self.begin()
		if (options.wait !== false)
			await self.registered()
		return self
	}

	constructor(root, name, options = {}) {
		const suffix = options.instance ? `-${options.instance}` : ""
		const endpoint = options.oneSocket ? `${root}/plugins_registry/${name}${suffix}-reg.sock` : `${root}/plugins/${name}/dra${suffix}.sock`
		mkdirSync(`${root}/plugins/${name}`, { recursive: true })
		mkdirSync(`${root}/plugins_registry`, { recursive: true })
		super(endpoint)
		const services = options.services ?? ["v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"]
		Object.assign(this, { root, name, options, services, versions: options.versions ?? services, devices: [], notified: [], prepared: new Map() })
		this.registration = options.oneSocket ? this : new Plugin(`${root}/plugins_registry/${name}${suffix}-reg.sock`)
		this.registration.add(Registration, {
			GetInfo: () => ({ type: options.type ?? "DRAPlugin", name, endpoint: options.oneSocket ? "" : this.path, supported_versions: this.versions }),
			NotifyRegistrationStatus: (status) => (this.notified.push(status), {}),
		})
		for (const service of services.filter((s) => draServices[s]))
			this.add(draServices[service], this.#claims(service))
		// The messages for streams by dialect, as two of them share a method's name.
		this.watchers = new Map()
		for (const dialect of services.filter((s) => healthServices[s]))
			this.add(healthServices[dialect], { [watchOf(dialect)]: (stream) => this.#watch(dialect, stream) })
	}

	#claims(service) {
		const each = (claims, answer) => Object.fromEntries(claims.map((c) => [c.uid, answer(c)]))
		return {
			NodePrepareResources: ({ claims }) => ({
				claims: (this.options.answers ?? ((c) => c))(each(claims, (c) => {
					const answer = this.options.prepare?.(c, service) ?? { devices: [{ request_names: [], pool_name: "p", device_name: "gpu0", cdi_device_ids: [] }] }
					if (!answer.error)
						this.prepared.set(c.uid, c)
					return answer
				})),
			}),
			NodeUnprepareResources: ({ claims }) => ({
				claims: (this.options.answers ?? ((c) => c))(each(claims, (c) => {
					const answer = this.options.unprepare?.(c, service) ?? {}
					if (!answer.error)
						this.prepared.delete(c.uid)
					return answer
				})),
			}),
		}
	}

	#watch(dialect, stream) {
		const open = this.watchers.get(dialect) ?? new Set()
		this.watchers.set(dialect, open.add(stream))
		for (const end of ["cancelled", "close", "finish", "error"])
			stream.on(end, () => open.delete(stream))
		if (this.devices.length)
			stream.write(reportIn(dialect, this.devices))
	}

	// Whether anybody listens to health; by dialect if one is named.
	watched(dialect) {
		return [...this.watchers].some(([d, open]) => (!dialect || d === dialect) && open.size)
	}

	// Sends a complete report to whoever listens, and to who comes later.
	report(devices) {
		this.devices = devices
		for (const [dialect, open] of this.watchers) {
			for (const stream of open)
				stream.write(reportIn(dialect, devices))
		}
	}

	// The same once for all streams, as bytes.
	reportGarbage(bytes = Buffer.from([0x0a, 0x7f, 0x01])) {
		for (const open of this.watchers.values()) {
			for (const stream of open)
				stream.write(bytes)
		}
	}

	// Ends the streams of health: in order, or with a failure.
	endHealth(spec) {
		this.end("NodeWatchResources", spec)
		this.end("WatchResources", spec)
	}

	async begin() {
		await this.listen()
		if (this.registration !== this)
			await this.registration.listen()
	}

	registered(seconds) {
		return until(`registration of ${this.name}`, () => this.notified.at(-1)?.plugin_registered, seconds)
	}

	// Goes; with { unregister: false } as a crash that leaves its registration socket behind.
	stop({ unregister = true } = {}) {
		this.close()
		if (unregister && this.registration !== this)
			this.registration.close()
	}
}
