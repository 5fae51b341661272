// One client's connection to one server of the cluster, and the clock that all processes of the test share.
import * as https from "node:https"

export { pause } from "../e2e/api_ledger.mjs"

// Microseconds of CLOCK_MONOTONIC: the same for every process on this machine, and never set back.
export function now() {
	return Number(process.hrtime.bigint() / 1000n)
}

export const types = {
	json: "application/json",
	merge: "application/merge-patch+json",
	patch: "application/json-patch+json",
	apply: "application/apply-patch+yaml",
}

// All clients name themselves alike, so that equal writes of several clients are stored as equal bytes.
const HEADERS = { "user-agent": "consistency/1.0" }

function parse(text) {
	try {
		return JSON.parse(text)
	} catch {
		return undefined
	}
}

// A client that keeps one connection. When its server cannot be reached it moves on to another one.
export class Connection {
	constructor(servers, home, credentials) {
		Object.assign(this, { servers, at: home % servers.length })
		this.agent = new https.Agent({ keepAlive: true, maxSockets: 1, ...credentials })
	}

	move() {
		this.at = (this.at + 1) % this.servers.length
	}

	close() {
		this.agent.destroy()
	}

	// Resolves, never rejects, to { a, b, s, code, body, sent }: times before and after, the server, the answer. Without an
	// answer the code is 0; `sent` says whether the server can have got the request.
	request(method, path, { body, type = "json", seconds = 6 } = {}) {
		const answer = { s: this.at, code: 0, sent: false, a: now(), b: 0 }
		const bytes = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body)
		const headers = bytes === undefined ? HEADERS : { ...HEADERS, "content-type": types[type], "content-length": Buffer.byteLength(bytes) }
		return new Promise((resolve) => {
			const request = https.request(this.servers[this.at] + path, { method, headers, agent: this.agent })
			const timer = setTimeout(() => request.destroy(new Error("timeout")), seconds * 1000)
			const done = (error) => {
				if (answer.b)
					return
				clearTimeout(timer)
				answer.b = now()
				answer.error = error?.code ?? error?.message
				if (error)
					answer.code = 0
				if (!answer.sent)
					this.move()
				resolve(answer)
			}
			request.on("socket", (socket) => {
				if (socket.secureConnecting)
					socket.once("secureConnect", () => (answer.sent = true))
				else
					answer.sent = true
			})
			request.on("error", done)
			request.on("response", (response) => {
				const chunks = []
				answer.sent = true
				answer.code = response.statusCode
				response.on("data", (chunk) => chunks.push(chunk))
				response.on("error", done)
				response.on("close", () => done(response.complete ? undefined : new Error("torn answer")))
				response.on("end", () => {
					answer.body = parse(Buffer.concat(chunks).toString())
					done()
				})
			})
			request.end(bytes)
		})
	}
}
