// Schedulers that stand for one election, each behind a proxy that can hold its allocations back: a leader is paused, another one
// takes over, and then the first one's writes arrive.
//
//	const schedulers = await startSchedulers(cluster, 2)
//	const late = await schedulers.leader()
//	late.proxy.hold()
//	..                                        // until late.proxy.held has a write
//	late.pause()
//	await schedulers.leader(late)          // another one
//	late.resume()
//	const [{ code }] = await late.proxy.release()
import { once } from "node:events"
import { writeFileSync } from "node:fs"
import * as http from "node:http"
import * as https from "node:https"
import { buffer } from "node:stream/consumers"
import { unique } from "./api_lib.mjs"
import { scratch, until } from "./lib.mjs"
import { startScheduler } from "./scheduler_lib.mjs"

const leasePath = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
// Long enough for a leader on a busy machine, and short enough for many terms.
const terms = ["--leader-elect-lease-duration", "3s", "--leader-elect-renew-deadline", "2s", "--leader-elect-retry-period", "200ms"]

// The claim that a request allocates, as it is written.
function allocatedClaim(method, path, body) {
	const claim = method === "PUT" && /\/resourceclaims\/[^/?]+\/status/.test(path) ? JSON.parse(body) : undefined
	return claim?.status?.allocation ? claim : undefined
}

export const deviceHeld = ({ code, body }) => code === 409 && body.details?.causes?.some(({ reason }) => reason === "DeviceHeld")

// Stands in front of a server, without TLS, with the administrator's rights. Allocations can be held back; a held one is sent
// to the server when it is released, even if its client has gone, as from a network that was slow.
export class HoldingProxy {
	constructor(server) {
		const { ca, cert, key } = server.credentials
		Object.assign(this, { server, held: [], holding: false, identity: undefined, onAnswer: () => {} }) // held: { claim, send, answered }
		this.agent = new https.Agent({ keepAlive: true, ca, cert, key })
	}

	async open() {
		this.listener = http.createServer((request, response) => this.serve(request, response).catch(() => response.destroy()))
		this.listener.listen(0, "127.0.0.1")
		await once(this.listener, "listening")
		this.kubeconfig = `${scratch}/${unique("proxy")}.kubeconfig`
		writeFileSync(this.kubeconfig, JSON.stringify({
			apiVersion: "v1", kind: "Config",
			clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${this.listener.address().port}` } }],
			users: [{ name: "u", user: {} }],
			contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
			"current-context": "x",
		}))
		return this
	}

	close() {
		this.listener.close()
		this.listener.closeAllConnections()
		this.agent.destroy()
	}

	hold() {
		this.holding = true
	}

	// Lets allocations through again, those that were held first; resolves to the server's answers to these.
	release() {
		this.holding = false
		return Promise.all(this.held.splice(0).map(({ send, answered }) => {
			send()
			return answered
		}))
	}

	async serve(request, response) {
		const body = await buffer(request)
		const claim = allocatedClaim(request.method, request.url, body)
		if (request.url.startsWith(leasePath) && request.method !== "GET")
			this.identity = JSON.parse(body).spec.holderIdentity || this.identity
		if (claim)
			await this.allocate(claim, request, body, response)
		else
			await this.pass(request, body, response)
	}

	async allocate(claim, request, body, response) {
		let send = () => {}
		const sent = this.holding ? new Promise((resolve) => (send = resolve)) : undefined
		const answered = this.write(request, body, response, sent)
		if (sent)
			this.held.push({ claim, send, answered })
		await answered
	}

	// Resolves to { code, body }, when the server answered.
	async write(request, body, response, sent) {
		await sent
		const stream = await this.ask(request, body)
		const raw = await buffer(stream)
		const answer = { code: stream.statusCode, body: JSON.parse(raw) }
		this.onAnswer(answer)
		response.writeHead(stream.statusCode, stream.headers).end(raw)
		return answer
	}

	async pass(request, body, response) {
		const stream = await this.ask(request, body, response)
		response.writeHead(stream.statusCode, stream.headers)
		stream.on("error", () => response.destroy())
		stream.pipe(response)
	}

	// `response`: where the answer goes; when it is closed, nobody waits for the answer any more.
	async ask({ method, url, headers }, body, response) {
		const { "accept-encoding": _, host, ...rest } = headers
		const request = https.request(new URL(url, this.server.url), { method, agent: this.agent, headers: rest })
		response?.on("close", () => request.destroy())
		request.on("error", () => response?.destroy())
		request.end(body)
		const [stream] = await once(request, "response")
		return stream
	}
}

// A scheduler behind its proxy. One that ends, since it lost its lease, is started again when revive() is called.
class Candidate {
	async start(server) {
		this.proxy = await new HoldingProxy(server).open()
		this.scheduler = await startScheduler({ server: { kubeconfig: this.proxy.kubeconfig } }, { elect: true, flags: terms })
		return this
	}

	get alive() {
		const { exitCode, signalCode } = this.scheduler.process.child
		return exitCode === null && signalCode === null
	}

	// From now on it is late: what it does, and has under way, was decided on a state that is old.
	pause() {
		this.late = true
		this.scheduler.process.child.kill("SIGSTOP")
	}

	resume() {
		this.scheduler.process.child.kill("SIGCONT")
	}

	// Allocations that the server rejected because of a device that is held, as this process counts them.
	conflicts() {
		return this.scheduler.metric("devplane_scheduler_device_conflicts_total")
	}

	async revive() {
		if (this.alive)
			return
		await this.scheduler.begin()
		this.late = false
	}
}

export class Schedulers {
	constructor(server, all) {
		Object.assign(this, { server, all })
	}

	async holder() {
		return (await this.server.client.get(leasePath)).body.spec?.holderIdentity
	}

	// The candidate that holds the lease, when one does that is not `except`.
	async leader(except) {
		return until("leader", async () => {
			const holder = await this.holder()
			await Promise.all(this.all.filter((c) => c !== except).map((c) => c.revive()))
			return holder && this.all.find((c) => c !== except && c.alive && c.proxy.identity === holder)
		}, 60)
	}

	async stop() {
		for (const candidate of this.all) {
			candidate.resume()
			if (candidate.alive)
				await candidate.scheduler.kill()
			candidate.proxy.close()
		}
	}
}

export async function startSchedulers(cluster, count) {
	const all = []
	for (let i = 0; i < count; i++)
		all.push(await new Candidate().start(cluster.server))
	return new Schedulers(cluster.server, all)
}
