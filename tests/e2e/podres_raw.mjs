// A client of PodResources that is made of bytes, to read as slowly as a test wants: its HTTP/2 windows are as large as can
// be, so only the socket holds the server back.
//
//	const slow = new RawWatch(socket, { sendInitial: true })
//	slow.read(1)        // one byte
//	slow.readAll()      // from now on at once
import * as net from "node:net"
import { methodOf, PodResourcesLister, Reader } from "./podres_lib.mjs"

const DATA = 0, HEADERS = 1, SETTINGS = 4, PING = 6, GOAWAY = 7, WINDOW_UPDATE = 8
const END_STREAM = 1, ACK = 1, END_HEADERS = 4

function frame(type, flags, stream, payload = Buffer.alloc(0)) {
	const head = Buffer.alloc(9)
	head.writeUIntBE(payload.length, 0, 3)
	head[3] = type
	head[4] = flags
	head.writeUInt32BE(stream, 5)
	return Buffer.concat([head, payload])
}

// HPACK without tables and Huffman's code.
function headers(fields) {
	const text = (s) => Buffer.concat([Buffer.from([s.length]), Buffer.from(s)])
	return Buffer.concat(Object.entries(fields).flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]))
}

const uint32 = (n) => {
	const bytes = Buffer.alloc(4)
	bytes.writeUInt32BE(n)
	return bytes
}

// The preface, and one call with its whole request.
function opening(method, message) {
	const { path, requestSerialize } = method
	const body = requestSerialize(message)
	return Buffer.concat([
		Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
		frame(SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, 4]), uint32(0x7fffffff)])),
		frame(WINDOW_UPDATE, 0, 0, uint32(0x7fff0000)),
		frame(HEADERS, END_HEADERS, 1, headers({
			":method": "POST", ":scheme": "http", ":path": path, ":authority": "localhost", "content-type": "application/grpc", te: "trailers",
		})),
		frame(DATA, END_STREAM, 1, Buffer.concat([Buffer.from([0]), uint32(body.length), body])),
	])
}

export class RawWatch extends Reader {
	#want = 0
	#bytes = Buffer.alloc(0)
	#body = Buffer.alloc(0)
	#one = Buffer.alloc(1)
	#many = Buffer.alloc(65536)

	constructor(path, { sendInitial = false, afterRevision = 0n, allocatable } = {}, options = {}) {
		super({ allocatable, ...options })
		this.method = PodResourcesLister.service[methodOf(allocatable)]
		this.got = 0
		this.socket = net.connect({
			path,
			onread: {
				buffer: () => (this.#want === Infinity ? this.#many : this.#one),
				callback: (n, buffer) => this.#read(Buffer.from(buffer.subarray(0, n))),
			},
		})
		this.socket.on("error", () => {})
		this.socket.on("close", () => (this.status ??= { code: -1, details: "closed" }))
		this.socket.pause()
		this.socket.write(opening(this.method, { send_initial: sendInitial, after_revision: String(afterRevision) }))
	}

	// So many bytes more, as they come.
	read(n) {
		this.#want += n
		this.socket.resume()
	}

	readAll() {
		this.read(Infinity)
	}

	#read(bytes) {
		this.got += bytes.length
		this.#want -= bytes.length
		this.#bytes = Buffer.concat([this.#bytes, bytes])
		while (this.#bytes.length >= 9 && this.#bytes.length >= 9 + this.#bytes.readUIntBE(0, 3)) {
			const end = 9 + this.#bytes.readUIntBE(0, 3)
			this.#frame(this.#bytes[3], this.#bytes[4], this.#bytes.subarray(9, end))
			this.#bytes = this.#bytes.subarray(end)
		}
		// False: nothing more is read from the socket until it is resumed.
		return this.#want > 0
	}

	#frame(type, flags, payload) {
		if (type === DATA)
			this.#messages(payload)
		else if (type === SETTINGS && !(flags & ACK))
			this.socket.write(frame(SETTINGS, ACK, 0))
		else if (type === PING && !(flags & ACK))
			this.socket.write(frame(PING, ACK, 0, payload))
		else if (type === GOAWAY || (type === HEADERS && flags & END_STREAM))
			this.status ??= { code: -1, details: `ended by frame ${type}` }
	}

	#messages(payload) {
		this.#body = Buffer.concat([this.#body, payload])
		while (this.#body.length >= 5 && this.#body.length >= 5 + this.#body.readUInt32BE(1)) {
			const end = 5 + this.#body.readUInt32BE(1)
			this.take(this.method.responseDeserialize(this.#body.subarray(5, end)))
			this.#body = this.#body.subarray(end)
		}
	}

	close() {
		this.socket.destroy()
	}
}
