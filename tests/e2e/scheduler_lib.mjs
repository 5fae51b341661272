// A scheduler and a controller for a cluster, and bare nodes without an agent: what the scheduler_*_test.mjs share.
//
//	const cluster = await startCluster()
//	const scheduler = await startScheduler(cluster)      // kill() as a crash would, stop() in order
//	await bareNode(cluster, "n1", { cpu: "2" })
//	await cluster.run(pending({ requests: { cpu: "1" } }))
import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { core, unique } from "./api_lib.mjs"
import { bareNodesLive, scratch, start, until } from "./lib.mjs"

async function startRole(cluster, role, flags) {
	const self = {}
	self.begin = async () => {
		self.process = start(role, "--kubeconfig", cluster.server.kubeconfig, "--metrics-bind-address", "127.0.0.1:0", "--log-format", "text", ...flags)
		await until(role, () => /health and metrics at (\S+)/.test(self.process.out) || self.process.child.exitCode !== null)
		self.url = /health and metrics at (\S+)/.exec(self.process.out)?.[1]
		assert.ok(self.url, `${role} ended: ${self.process.err}`)
	}
	self.kill = async () => {
		self.process.child.kill("SIGKILL")
		await self.process.ended
	}
	self.stop = async () => {
		self.process.child.kill("SIGTERM")
		assert.deepEqual(await self.process.ended, { code: 0, signal: null })
	}
	self.get = async (path) => (await fetch(`${self.url}${path}`)).text()
	self.json = async (path) => JSON.parse(await self.get(path))
	self.metric = async (name) => Number(new RegExp(`^${name.replace(/[{}]/g, "\\$&")} (\\S+)$`, "m").exec(await self.get("/metrics"))?.[1] ?? 0)
	await self.begin()
	return self
}

// Options: config (text of a KubeSchedulerConfiguration), flags; elect: stand for election.
export async function startScheduler(cluster, { config, flags = [], elect = false } = {}) {
	const own = [...flags]
	if (config) {
		const file = `${scratch}/${unique("scheduler")}.yaml`
		writeFileSync(file, config)
		own.push("--config", file)
	}
	if (!elect)
		own.push("--leader-elect=false")
	const self = await startRole(cluster, "scheduler", own)
	await until("ready scheduler", async () => (await fetch(`${self.url}/readyz`)).status === 200)
	return self
}

// Without flags that name controllers: all but those for nodes that die (lib.mjs).
export function startController(cluster, ...flags) {
	const own = flags.includes("--controllers") ? [] : bareNodesLive
	return startRole(cluster, "controller", ["--leader-elect=false", "--namespace-deletion-delay", "0s", ...own, ...flags])
}

// A Node object that nobody is behind. Options: labels, taints, allocatable beside cpu, memory and pods.
export async function bareNode(cluster, name, { labels, taints, unschedulable, ...allocatable } = {}) {
	const amounts = { cpu: "4", memory: "8Gi", pods: "110", ...allocatable }
	const { code, text } = await cluster.client.post(`${core}/nodes`, {
		metadata: { name, labels: { "kubernetes.io/hostname": name, ...labels } },
		spec: { taints, unschedulable },
		status: { allocatable: amounts, capacity: amounts, conditions: [{ type: "Ready", status: "True" }] },
	})
	assert.equal(code, 201, text)
}

// A pod that waits for a node; `spec` overrides.
export function pending({ name = unique("pod"), labels, annotations, requests, main, ...spec } = {}) {
	return {
		metadata: { name, labels, annotations },
		spec: {
			automountServiceAccountToken: false,
			terminationGracePeriodSeconds: 0,
			containers: [{ name: "main", image: "busybox", resources: { requests }, ...main }],
			...spec,
		},
	}
}

export const onNode = (name) => (p) => (name ? p.spec.nodeName === name : !!p.spec.nodeName)
export const scheduledCondition = (p) => p.status.conditions?.find((c) => c.type === "PodScheduled")
// The pod's status says that it does not fit, and why.
export const refused = (message) => (p) => {
	const c = scheduledCondition(p)
	return !p.spec.nodeName && c?.status === "False" && c.reason === "Unschedulable" && (message instanceof RegExp ? message.test(c.message) : c.message === message)
}
