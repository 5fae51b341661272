// streams - keeps a view fed: opens its stream, and opens it again whenever it ends, for whatever reason.
import * as grpc from "@grpc/grpc-js"
import * as loader from "@grpc/proto-loader"
import { fileURLToPath } from "node:url"
import { Backoff } from "./backoff.mjs"

// Numbers of 64 bits come as text: revisions are more than a double holds exactly.
const definition = loader.loadSync(fileURLToPath(new URL("podresources.proto", import.meta.url)), {
	keepCase: true, longs: String, enums: String, defaults: true,
})
const { PodResourcesLister } = grpc.loadPackageDefinition(definition).v1

// The agent may be restarted at any time, so it is looked for often: that is cheap on a socket of the same machine.
const RETRY_MS = 1000

export function connect(socket) {
	return new PodResourcesLister(`unix:${socket}`, grpc.credentials.createInsecure(), {
		"grpc.initial_reconnect_backoff_ms": 100,
		"grpc.max_reconnect_backoff_ms": RETRY_MS,
		"grpc.max_receive_message_length": 16 << 20,
	})
}

function reason({ code, details, message }) {
	if (code === grpc.status.UNIMPLEMENTED)
		return "it does not offer this watch (feature gate KubeletPodResourcesWatch)"
	return details || message
}

// Never returns. `changed` is called after each message; an outage is logged when it begins and when it is over.
export async function follow(client, method, view, { changed, log }) {
	const backoff = new Backoff(RETRY_MS)
	let lost = false
	for (;;) {
		const stream = client[method](view.request())
		// Errors that are not thrown into the loop below, such as our own cancel(), are ignored.
		stream.on("error", () => {})
		stream.once("metadata", () => {
			backoff.reset()
			if (lost)
				log(`${method}: back again`)
			lost = false
		})
		try {
			for await (const event of stream) {
				view.apply(event)
				changed()
			}
			throw new Error("the server ended it")
		} catch (e) {
			stream.cancel()
			if (!lost)
				log(`${method}: ${reason(e)}; trying again`)
			lost = true
		}
		await backoff.wait()
	}
}
