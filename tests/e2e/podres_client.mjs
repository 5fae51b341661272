// A client of PodResources in a process of its own, as limits are per process. It prints one line of JSON when it is where it
// should be, and then stays until it is killed.
//
//	node podres_client.mjs SOCKET lists COUNT      so many Lists at once: { ok, refused, failed }
//	node podres_client.mjs SOCKET watches COUNT    so many watches on one connection: the same
//	node podres_client.mjs SOCKET greedy COUNT     the same without grpc-js, which takes seconds for ten thousand
//	node podres_client.mjs SOCKET stuck COUNT      the same, and reads none of them: { asked }
import * as http2 from "node:http2"
import * as net from "node:net"
import { codes, insecure } from "./plugin_services.mjs"
import { PodResourcesLister, Watch } from "./podres_lib.mjs"

const [socket, what, count] = process.argv.slice(2)
const channel = new PodResourcesLister(`unix:${socket}`, insecure)
const each = (one) => Promise.all(Array.from({ length: Number(count) }, one))

// The results of calls that gave these codes.
function tell(results) {
	const failed = results.filter((c) => c !== codes.OK && c !== codes.RESOURCE_EXHAUSTED)
	return { ok: results.filter((c) => c === codes.OK).length, refused: results.filter((c) => c === codes.RESOURCE_EXHAUSTED).length, failed }
}

const jobs = {
	lists: async () => tell(await each(() => new Promise((resolve) => channel.List({}, (e) => resolve(e?.code ?? codes.OK))))),
	watches: async () => tell(await each(() => {
		const w = new Watch(socket, { sendInitial: true }, { channel })
		return Promise.race([w.ended.then((s) => s.code), new Promise((resolve) => w.stream.once("data", () => resolve(codes.OK)))])
	})),
	greedy: async () => {
		const session = http2.connect("http://localhost", { createConnection: () => net.connect(socket), maxSessionMemory: 1000 })
		return tell(await each(() => new Promise((resolve) => {
			const stream = session.request({
				":method": "POST", ":path": "/v1.PodResourcesLister/ListAndWatch", "content-type": "application/grpc", te: "trailers",
			})
			stream.on("response", (headers) => resolve(Number(headers["grpc-status"] ?? codes.OK)))
			stream.on("error", (e) => resolve(e.code))
			stream.end(Buffer.alloc(5))
		})))
	},
	stuck: async () => {
		const all = Array.from({ length: Number(count) }, () => new Watch(socket, { sendInitial: true }, { channel, paused: true }))
		await Promise.all(all.map((w) => Promise.race([w.opened, w.ended])))
		return { asked: all.length }
	},
}

console.log(JSON.stringify(await jobs[what]()))
setInterval(() => {}, 1000)
