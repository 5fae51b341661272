// Where the soak takes place: a server, a controller and a scheduler as processes, with the identities that `devplane up` gives them;
// a node with devices for the friendly tenant, and for each tenant a user, a namespace and the rights of its editor.
import { readdirSync, statSync, writeFileSync } from "node:fs"
import { core, dra, expect, startServer } from "../e2e/api_lib.mjs"
import { scratch, start, until } from "../e2e/lib.mjs"
import { kubeconfig } from "../e2e/node_lib.mjs"
import { bareNode } from "../e2e/scheduler_lib.mjs"

const rbac = "/apis/rbac.authorization.k8s.io/v1"
const mebibyte = 1024 * 1024
export const historyBytes = 64 * mebibyte
const many = (n, make) => Array.from({ length: n }, (_, i) => make(i))

const bounded = ["--history-bytes", String(historyBytes), "--watch-cache-bytes", String(8 * mebibyte)]
// Without its budgets the server is as fair as the order in which requests come.
const unbounded = ["--history-bytes", "0", "--watch-cache-bytes", String(1024 * mebibyte), "--request-timeout", "1h",
	"--enable-priority-and-fairness=false", "--max-requests-inflight", "0", "--max-mutating-requests-inflight", "0"]

function writeTokens(tenants) {
	const file = `${scratch}/tokens.csv`
	const users = [...tenants.map((t) => `${t}-token,${t},${t}`), "controller-token,system:devplane-controller,c", "scheduler-token,system:kube-scheduler,s"]
	writeFileSync(file, `${users.join("\n")}\n`, { mode: 0o600 })
	return file
}

async function makeTenant(client, name) {
	expect(await client.post(`${core}/namespaces`, { metadata: { name } }), 201)
	expect(await client.post(`${rbac}/namespaces/${name}/rolebindings`, { metadata: { name: "tenant" },
		roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "tenant" }, subjects: [{ kind: "User", name }] }), 201)
	const made = await client.post(`${core}/namespaces/${name}/serviceaccounts`, { metadata: { name: "default" } })
	if (made.code !== 409) // the controller may be faster
		expect(made, 201)
}

async function offer(client, name, devices) {
	const driver = `${name}.example.com`
	expect(await client.post(`${dra}/resourceslices`, { metadata: { name }, spec: { driver, nodeName: "n1",
		pool: { name, generation: 1, resourceSliceCount: 1 }, devices } }), 201)
	expect(await client.post(`${dra}/deviceclasses`, { metadata: { name }, spec: { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] } }), 201)
}

async function prepare(server, tenants) {
	const { client } = server
	expect(await client.post(`${rbac}/clusterroles`, { metadata: { name: "tenant" }, rules: [
		{ apiGroups: [""], resources: ["configmaps", "secrets", "pods"], verbs: ["*"] },
		{ apiGroups: ["resource.k8s.io"], resources: ["resourceclaims"], verbs: ["*"] }] }), 201)
	for (const name of tenants)
		await makeTenant(client, name)
	await bareNode({ client }, "n1", { cpu: "1000", memory: "1000Gi", pods: "10000" })
	await offer(client, "friendly", many(128, (i) => ({ name: `d${i}` })))
	const attributes = Object.fromEntries(many(32, (i) => [`d${i}.example.com/a`, { string: "v".repeat(40) }]))
	await offer(client, "costly", many(32, (i) => ({ name: `c${i}`, attributes })))
}

async function startRole(server, role) {
	const process = start(role, "--kubeconfig", kubeconfig(server, `${role}-token`), "--metrics-bind-address", "127.0.0.1:0",
		"--leader-elect=false", "--log-format", "text")
	await until(role, () => /health and metrics at \S+/.test(process.out) || process.child.exitCode !== null)
	return process
}

function folderSize(folder) {
	return readdirSync(folder, { withFileTypes: true }).reduce((sum, e) =>
		sum + (e.isDirectory() ? folderSize(`${folder}/${e.name}`) : statSync(`${folder}/${e.name}`).size), 0)
}

export async function openPlace({ setup, attacks, control }) {
	const tenants = ["friendly", ...attacks]
	const server = await startServer(setup, { flags: ["--token-auth-file", writeTokens(tenants), ...(control ? unbounded : bounded)] })
	const controller = await startRole(server, "controller")
	await prepare(server, tenants)
	const scheduler = await startRole(server, "scheduler")
	const roles = { server: server.process, controller, scheduler }
	process.on("exit", () => Object.values(roles).forEach(({ child }) => child.kill("SIGKILL")))
	return {
		roles,
		// All that a tenant needs to know; it goes to another process.
		tenant: (name) => ({ name, url: server.url, ca: server.credentials.ca.toString(), token: `${name}-token` }),
		// The store's size in MiB; on etcd the server has none.
		store: () => (setup === "lmdb" ? folderSize(`${server.folder}/store`) / mebibyte : 0),
		metrics: async () => (await server.client.get("/metrics")).text,
		alive: () => Object.fromEntries(Object.entries(roles).map(([name, p]) => [name, p.child.exitCode === null && p.child.signalCode === null])),
		// How often the scheduler tried, by result.
		attempts: async () => {
			const text = await (await fetch(`${/health and metrics at (\S+)/.exec(scheduler.out)[1]}/metrics`)).text()
			return Object.fromEntries([...text.matchAll(/^scheduler_schedule_attempts_total\{result="(\w+)".*\} (\d+)$/mg)].map(([, result, n]) => [result, Number(n)]))
		},
		// Log lines of the scheduler about pods of the friendly tenant.
		troubles: () => `${scheduler.out}${scheduler.err}`.split("\n").filter((line) => /friendly\//.test(line)),
		logs: () => Object.entries(roles).map(([name, p]) => `${name}:\n${p.err.slice(-4000)}`).join("\n"),
		async close() {
			for (const role of [scheduler, controller, server.process])
				role.child.kill("SIGTERM")
			await Promise.all([scheduler, controller, server.process].map((p) => p.ended))
		},
	}
}
