// The epochs of a run: each has namespaces of its own, so that its history can be checked and forgotten while the next one is under way.
import { mkdirSync, writeFileSync } from "node:fs"
import { namespace } from "../e2e/api_lib.mjs"
import { Connection, pause } from "./connection.mjs"
import { brief, DRIVER, kinds } from "./kinds.mjs"

const QUOTAS = 6
const LIMIT = 60 // objects that each quota allows
const PORTS = 3
const DEVICES = 2
const PATIENCE_MS = 60000

// Sends a request until one of the servers has done it.
export class Steward {
	constructor(servers, credentials) {
		this.connection = new Connection(servers, 0, credentials)
	}

	async insist(method, path, body, type) {
		const patience = Date.now() + PATIENCE_MS
		for (let answer; ; await pause(100)) {
			answer = await this.connection.request(method, path, { body, type })
			if ((answer.code >= 200 && answer.code < 300) || (method === "POST" && answer.code === 409))
				return answer
			// A refusal may come of a clock that is off; one that lasts is a mistake of this test.
			if (answer.code >= 400 && answer.code < 500 && Date.now() > patience)
				throw new Error(`${method} ${path}: ${answer.code} ${answer.body?.message}`)
			this.connection.move()
		}
	}
}

async function collection(steward, id, kind, ns) {
	const path = kinds[kind].path(ns)
	await steward.insist("POST", "/api/v1/namespaces", namespace(ns))
	await steward.insist("POST", path, kinds[kind].make("fin", kind === "leases" ? "|0|fin" : ""))
	return { id, kind, path, ns }
}

// A quota that counts: no controller runs, so its first status is ours. Every server must know it before the first create.
async function limit(steward, ns, servers) {
	const path = `/api/v1/namespaces/${ns}/resourcequotas`, hard = { "count/configmaps": String(LIMIT + 1) }
	await steward.insist("POST", path, { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "q" }, spec: { hard } })
	await steward.insist("PATCH", `${path}/q/status`, { status: { hard, used: { "count/configmaps": "1" } } }, "merge")
	for (let n = 0; n < servers; n++) {
		steward.connection.at = n
		await steward.insist("GET", `${path}/q`)
	}
}

async function slice(steward, epoch) {
	const devices = Array.from({ length: DEVICES }, (_, i) => ({ name: `gpu-${i}` }))
	await steward.insist("POST", "/apis/resource.k8s.io/v1/resourceslices", {
		apiVersion: "resource.k8s.io/v1", kind: "ResourceSlice", metadata: { name: `e${epoch}` },
		spec: { driver: DRIVER, nodeName: `e${epoch}`, pool: { name: `e${epoch}`, generation: 1, resourceSliceCount: 1 }, devices },
	})
	return devices.map(({ name }) => `e${epoch}/${name}`)
}

// Makes what the clients of an epoch need; resolves to its plan, which has no times yet.
export async function prepare(steward, epoch, folder, servers, wanted) {
	const plan = { epoch, folder: `${folder}/history/${epoch}`, collections: {} }
	const add = async (id, kind, ns, more = {}) => {
		plan.collections[id] = { ...await collection(steward, id, kind, ns), ...more }
	}
	mkdirSync(plan.folder, { recursive: true })
	await add("main", "configmaps", `e${epoch}-main`)
	if (wanted.includes("leases"))
		await add("lease", "leases", `e${epoch}-lease`)
	if (wanted.includes("ports"))
		await add("port", "services", `e${epoch}-port`)
	if (wanted.includes("devices")) {
		await add("claim", "resourceclaims", `e${epoch}-claim`)
		plan.devices = await slice(steward, epoch)
	}
	for (let i = 0; wanted.includes("quota") && i < QUOTAS; i++) {
		await add(`quota${i}`, "configmaps", `e${epoch}-quota${i}`, { limit: LIMIT })
		await limit(steward, `e${epoch}-quota${i}`, servers)
	}
	plan.ports = Array.from({ length: PORTS }, (_, i) => 30000 + (epoch * PORTS + i) % 2700)
	for (const { id, kind, path } of Object.values(plan.collections)) {
		const { body } = await steward.insist("GET", path)
		const items = body.items.map((item) => brief(kind, item)).map(({ k, r, v }) => [k, r, v])
		Object.assign(plan.collections[id], { version: Number(body.metadata.resourceVersion), items })
	}
	plan.version = plan.collections.main.version
	return plan
}

// The last lists of each collection, one from each server, and then its last write, so that watchers who have seen that can judge the
// lists. Resolves to the versions of the last writes.
export async function conclude(steward, plan, servers) {
	const versions = {}, lines = []
	for (const { id, kind, path } of Object.values(plan.collections)) {
		for (let n = 0; n < servers; n++) {
			steward.connection.at = n
			const { a, b, body: list } = await steward.insist("GET", path)
			const items = list.items.map((item) => brief(kind, item)).map(({ k, r, v }) => [k, r, v])
			lines.push({ c: id, p: "steward", f: "list", mode: "latest", a, b, r: Number(list.metadata.resourceVersion), items, final: true })
		}
		const { body } = await steward.insist("PATCH", `${path}/fin`, { metadata: { annotations: { fin: "1" } } }, "merge")
		versions[id] = Number(body.metadata.resourceVersion)
	}
	writeFileSync(`${plan.folder}/final.ndjson`, lines.map((line) => `${JSON.stringify(line)}\n`).join(""))
	return versions
}

// Deletes the objects of an epoch, so that later epochs neither reach a limit nor slow down.
export async function clear(steward, plan) {
	for (const { path } of Object.values(plan.collections))
		await steward.insist("DELETE", path)
}
