// workloads.mjs URL TOKEN WORK COUNT: makes one kind of work for controllers and prints how long it took, as "NAME SECONDS" lines.
//
//	deployment COUNT   creates a Deployment of COUNT pods, rolls it, and deletes it
//	jobs COUNT         creates COUNT Jobs of 50 pods that end at once, and waits until all are complete
//	nodes COUNT        waits until COUNT nodes whose names begin with "die-" are tainted, and all pods there are deleted; they have
//	                   just been stopped, and the time counts from the last heartbeat that one of them sent
//
// The same program drives devplane's controllers and upstream's. It looks every 50 ms at one object, or at counts from a watch.
import https from "node:https"

const [url, token, work, count] = [process.argv[2], process.argv[3], process.argv[4], Number(process.argv[5])]
const agent = new https.Agent({ keepAlive: true, rejectUnauthorized: false, maxSockets: 16 })
const apps = "/apis/apps/v1/namespaces/default", batch = "/apis/batch/v1/namespaces/default/jobs", pods = "/api/v1/namespaces/default/pods"
const pod = { terminationGracePeriodSeconds: 0, automountServiceAccountToken: false, containers: [{ name: "main", image: "a" }] }

function request(method, path, body, type = "application/json") {
	const text = body ? JSON.stringify(body) : ""
	return new Promise((resolve, reject) => {
		// Without its length, Node sends the body of a DELETE as if it were the next request.
		const headers = { authorization: `Bearer ${token}`, "content-type": type, "content-length": Buffer.byteLength(text) }
		const r = https.request(new URL(path, url), { method, agent, headers }, (reply) => {
			const parts = []
			reply.on("data", (part) => parts.push(part))
			reply.on("end", () => {
				const answer = Buffer.concat(parts).toString()
				if (reply.statusCode >= 300)
					reject(new Error(`${method} ${path}: ${reply.statusCode} ${answer.slice(0, 300)}`))
				else
					resolve(JSON.parse(answer))
			})
		})
		r.on("error", reject)
		r.end(text)
	})
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function until(what, look) {
	const end = Date.now() + 600e3
	while (!(await look())) {
		if (Date.now() > end)
			throw new Error(`waited ten minutes for ${what}`)
		await sleep(50)
	}
}

async function timed(name, body) {
	const begun = process.hrtime.bigint()
	await body()
	console.log(`${name} ${(Number(process.hrtime.bigint() - begun) / 1e9).toFixed(3)}`)
}

const left = async (path) => (await request("GET", `${path}?limit=1`)).items.length

async function deployment() {
	const labels = { app: "web" }
	const template = (image) => ({ metadata: { labels }, spec: { ...pod, containers: [{ name: "main", image }] } })
	const stands = async () => {
		const { metadata, spec, status } = await request("GET", `${apps}/deployments/web`)
		return status.observedGeneration >= metadata.generation && status.updatedReplicas === spec.replicas && status.availableReplicas === spec.replicas &&
			status.replicas === spec.replicas
	}
	await timed("create", async () => {
		await request("POST", `${apps}/deployments`, { metadata: { name: "web" }, spec: { replicas: count, selector: { matchLabels: labels }, template: template("a") } })
		await until("the pods", stands)
	})
	await timed("roll", async () => {
		await request("PATCH", `${apps}/deployments/web`, { spec: { template: template("b") } }, "application/merge-patch+json")
		await until("the new pods", stands)
	})
	await timed("delete", async () => {
		await request("DELETE", `${apps}/deployments/web`, { propagationPolicy: "Background" })
		await until("the end of all pods", async () => (await left(pods)) === 0)
	})
}

async function jobs() {
	const template = { metadata: { annotations: { "devplane.dev/hollow-exit.main": "0" } }, spec: { ...pod, restartPolicy: "Never" } }
	await timed("jobs", async () => {
		for (let i = 0; i < count; i++)
			await request("POST", batch, { metadata: { name: `j${i}` }, spec: { parallelism: 50, completions: 50, template } })
		await until("all jobs", async () => (await request("GET", batch)).items.every((j) => j.status.succeeded === 50 && j.status.completionTime))
	})
	await request("DELETE", `${batch}?propagationPolicy=Background`)
	await until("the end of all pods", async () => (await left(pods)) === 0)
}

const dies = (name) => name?.startsWith("die-")
const lost = (node) => node.spec.taints?.some((t) => t.key === "node.kubernetes.io/unreachable" && t.effect === "NoExecute")

// Milliseconds since 1970. A heartbeat is a renewed lease or a condition Ready that was sent again. Nodes renew at different times, so the
// time since they were stopped would depend on when that was.
async function lastHeartbeat() {
	const leases = (await request("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")).items
	const all = (await request("GET", "/api/v1/nodes")).items
	const times = leases.filter((l) => dies(l.metadata.name)).map((l) => l.spec.renewTime)
	for (const node of all.filter((n) => dies(n.metadata.name)))
		times.push(...node.status.conditions.filter((c) => c.type === "Ready").map((c) => c.lastHeartbeatTime))
	return Math.max(...times.filter(Boolean).map(Date.parse))
}

async function nodes() {
	const begun = await lastHeartbeat()
	await until("taints", async () => (await request("GET", "/api/v1/nodes")).items.filter((n) => dies(n.metadata.name) && lost(n)).length >= count)
	await until("evictions", async () => !(await request("GET", pods)).items.some((p) => dies(p.spec.nodeName) && !p.metadata.deletionTimestamp))
	console.log(`nodes ${((Date.now() - begun) / 1e3).toFixed(3)}`)
}

await { deployment, jobs, nodes }[work]()
process.exit(0)
