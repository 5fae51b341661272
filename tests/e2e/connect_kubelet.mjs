// The HTTPS side of a kubelet, as far as the API server can tell: for what a real one cannot be made to say on demand
// (each failure, a log without end, a client that reads slowly). With containers it is tested elsewhere.
//
// It takes clients of the cluster's CA alone, writes down what it is asked, and answers by the name of the pod.
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import * as https from "node:https"
import { WebSocketServer } from "ws" // comes with client-node
import { scratch } from "./lib.mjs"

// A certificate that nobody vouches for, as a kubelet makes it for itself.
function selfSigned() {
	const file = `${scratch}/kubelet`
	execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
		"-subj", "/CN=node-1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", `${file}.key`, "-out", `${file}.crt`],
	{ stdio: "ignore" })
	return { key: readFileSync(`${file}.key`), cert: readFileSync(`${file}.crt`), file: `${file}.crt` }
}

const failures = {
	waiting: [400, "container \"main\" in pod \"waiting\" is waiting to start: ContainerCreating"],
	broken: [500, "the disk is gone"],
	unknown: [404, "pod \"unknown\" does not exist\n"],
	busy: [503, "later"],
}

// Writes until the reader is gone, as fast as it reads; `written` counts.
function flood(self, response) {
	const piece = Buffer.alloc(64 * 1024, "x")
	const more = () => {
		for (let room = true; room && !response.destroyed; self.written += piece.length)
			room = response.write(piece)
	}
	response.on("drain", more)
	more()
}

function answerLog(self, pod, url, response) {
	const [code, text] = failures[pod] ?? [200, `log of ${pod}: ${url.search}\n`]
	response.writeHead(code, { "content-type": "text/html", "x-kubelet": "yes" })
	response.flushHeaders()
	if (pod === "flood")
		flood(self, response)
	else if (url.searchParams.get("follow"))
		self.followed = response
	else
		response.end(text)
}

// Channels of bytes on a WebSocket: each message begins with its channel's number.
const say = (socket, channel, text) => socket.send(Buffer.concat([Buffer.from([channel]), Buffer.from(text)]))

function run(socket, url) {
	const command = url.searchParams.getAll("command")
	say(socket, 1, `ran ${command.join("|")} in ${url.pathname}\n`)
	say(socket, 2, "and complained\n")
	socket.on("message", (data) => {
		if (data[0] !== 0)
			return
		say(socket, 1, `heard ${data.subarray(1)}`)
		const failed = { status: "Failure", reason: "NonZeroExitCode", details: { causes: [{ reason: "ExitCode", message: "3" }] } }
		say(socket, 3, JSON.stringify(failed))
		socket.close()
	})
}

// Two channels for each port, which first name it.
function forward(socket, url) {
	const port = Buffer.alloc(2)
	port.writeUInt16LE(Number(url.searchParams.get("port")))
	say(socket, 0, port)
	say(socket, 1, port)
	socket.on("message", (data) => data[0] === 0 && say(socket, 0, data.subarray(1).toString().toUpperCase()))
}

export async function startKubelet(clusterCa) {
	const { key, cert, file } = selfSigned()
	const sockets = new WebSocketServer({ noServer: true, handleProtocols: (offered) => offered.has("v4.channel.k8s.io") && "v4.channel.k8s.io" })
	const server = https.createServer({ key, cert, ca: clusterCa, requestCert: true, rejectUnauthorized: true }, (request, response) => {
		const url = new URL(request.url, "https://kubelet")
		note(request)
		if (url.pathname.startsWith("/containerLogs/"))
			answerLog(self, url.pathname.split("/")[3], url, response)
		else
			response.writeHead(404).end("404 page not found\n")
	})
	const self = { asked: [], written: 0, certificate: file }
	function note(request) {
		const { CN, O } = request.socket.getPeerCertificate().subject
		self.asked.push({ method: request.method, target: request.url, user: CN, group: O, headers: request.headers })
	}
	server.on("upgrade", (request, socket, head) => {
		const url = new URL(request.url, "https://kubelet")
		note(request)
		socket.on("error", () => {})
		if (request.headers.upgrade === "websocket") {
			sockets.handleUpgrade(request, socket, head, (open) => (url.pathname.startsWith("/portForward/") ? forward : run)(open, url))
		} else if (url.pathname.endsWith("/refused/main")) {
			socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\nX-Why: because\r\n\r\nnot so")
		} else if (url.pathname.endsWith("/deaf/main")) {
			socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		} else {
			// After the upgrade, echoes all bytes and the end of the stream.
			socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n")
			socket.write(head)
			socket.pipe(socket)
		}
	})
	server.listen(0, "127.0.0.1")
	await once(server, "listening")
	self.port = server.address().port
	self.close = () => {
		server.closeAllConnections?.()
		server.close()
	}
	return self
}
