// A node whose pods get network interfaces: a server, containerd, the node agent and `devplane driver net`, with bridges and
// links of the test's own. Shared by the net_*_test.mjs.
//
//	const net = await startNet({ creates: ["veth:4:BRIDGE"] })
//	const pod = await net.run({ device: "veth-..-0", parameters: { addresses: ["192.0.2.1/24"] } })
//	await net.entry(pod, (e) => ready(e)?.status === "True")
import assert from "node:assert/strict"
import { execFileSync, spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { unique } from "./api_lib.mjs"
import { image, startContainerd } from "./containerd_lib.mjs"
import { scratch, start, until } from "./lib.mjs"
import { allocateClaim, claims, kubeconfig, podOn, shortFolder, startCluster } from "./node_lib.mjs"

export const driverName = "net.devplane.dev"

// Part of the names of all links that a test makes; it is short, as they are.
export const tag = (process.pid % 46656).toString(36).padStart(3, "0")

export function ip(...args) {
	return execFileSync("ip", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })
}

// Links of the machine by name, as `ip -j` has them.
export function links() {
	return Object.fromEntries(JSON.parse(ip("-j", "-d", "link")).map((l) => [l.ifname, l]))
}

// Whether the kernel can make links of this type on another one, or at all.
export function kernelHas(type, parent) {
	const name = `dpk${tag}`
	const made = spawnSync("ip", ["link", "add", name, ...(parent ? ["link", parent] : []), "type", type, ...(type === "vlan" ? ["id", "7"] : [])])
	if (made.status === 0)
		ip("link", "del", name)
	return made.status === 0
}

const made = []
process.on("exit", () => made.reverse().forEach((name) => spawnSync("ip", ["link", "del", name])))

// A link that goes when the test ends.
export function addLink(name, ...how) {
	ip("link", "add", name, ...how)
	made.push(name)
	ip("link", "set", name, "up")
	return name
}

// Shell scripts of the test as plugins beside Debian's and ours; those in `before` come before ours in the chain.
function addPlugins(containerd, scripts, before) {
	const file = `${containerd.folder}/cni/10-test.conflist`
	const list = JSON.parse(readFileSync(file))
	for (const [name, text] of Object.entries(scripts))
		writeFileSync(`${containerd.folder}/cni-bin/${name}`, `#!/bin/sh\n${text}\n`, { mode: 0o755 })
	list.plugins.splice(-1, 0, ...before.map((type) => ({ type })))
	if (before.length > 0)
		writeFileSync(file, JSON.stringify(list))
}

// A kubeconfig of the driver's own account, whose token is bound to the node, with exactly the rights that it needs.
async function driverAccount(cluster) {
	const rbac = "/apis/rbac.authorization.k8s.io/v1", accounts = "/api/v1/namespaces/default/serviceaccounts"
	const rule = (apiGroups, resources, verbs, rest = {}) => ({ apiGroups, resources, verbs, ...rest })
	const post = async (path, body) => {
		const { code, text, body: made } = await cluster.client.post(path, body)
		assert.equal(code, 201, text)
		return made
	}
	await post(accounts, { metadata: { name: "net-driver" } })
	await post(`${rbac}/clusterroles`, {
		metadata: { name: "net-driver" },
		rules: [
			rule([""], ["nodes", "pods"], ["get"]),
			rule(["resource.k8s.io"], ["resourceslices"], ["get", "list", "watch", "create", "update", "patch", "delete"]),
			rule(["resource.k8s.io"], ["resourceclaims"], ["get"]),
			rule(["resource.k8s.io"], ["resourceclaims/status"], ["patch"]),
			rule(["resource.k8s.io"], ["resourceclaims/driver"], ["associated-node:patch"], { resourceNames: [driverName] }),
		],
	})
	await post(`${rbac}/clusterrolebindings`, {
		metadata: { name: "net-driver" },
		roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "net-driver" },
		subjects: [{ kind: "ServiceAccount", namespace: "default", name: "net-driver" }],
	})
	const { metadata: { uid } } = await cluster.readNode("n1")
	const { status: { token } } = await post(`${accounts}/net-driver/token`, { spec: { boundObjectRef: { apiVersion: "v1", kind: "Node", name: "n1", uid } } })
	return kubeconfig(cluster.server, token)
}

export const ready = (entry) => entry?.conditions?.find((c) => c.type === "Ready")

export async function startNet({ creates = [], interfaces = [], scripts = {}, before = [], flags = [] } = {}) {
	const root = shortFolder()
	const containerd = startContainerd({ pluginRoot: root })
	const bin = `${containerd.folder}/cni-bin`
	const cluster = await startCluster({ names: ["n1"] })
	const logs = `${scratch}/logs`, cdi = `${scratch}/cdi`
	addPlugins(containerd, scripts, before)
	const node = await cluster.node("n1", {
		root,
		hollow: false,
		flags: ["--container-runtime-endpoint", containerd.socket, "--pod-logs-dir", logs, "--cdi-dir", cdi],
	})
	const account = await driverAccount(cluster)
	const self = { cluster, get client() { return cluster.client }, containerd, node, bin }
	self.begin = async () => {
		self.driver = start("driver", "net", "--kubeconfig", account, "--node-name", "n1", "--root-dir", node.root, "--cdi-dir", cdi,
			"--interface", interfaces.length ? interfaces.join(",") : "none", "--cni-path", bin, "--log-format", "text", ...creates.flatMap((c) => ["--create", c]), ...flags)
		await until("driver", () => /health and metrics at/.test(self.driver.out) || self.driver.child.exitCode !== null)
		assert.equal(self.driver.child.exitCode, null, self.driver.err)
	}
	self.kill = async () => {
		self.driver.child.kill("SIGKILL")
		await self.driver.ended
	}
	// All devices of the driver, by name.
	self.devices = async () => {
		const { items = [] } = (await self.client.get("/apis/resource.k8s.io/v1/resourceslices")).body
		return Object.fromEntries(items.filter((s) => s.spec.driver === driverName).flatMap((s) => s.spec.devices ?? []).map((d) => [d.name, d]))
	}
	// A pod with a claim for one device, or `devices`, allocated as a scheduler would.
	self.run = async ({ device, devices = [device], parameters, script = "trap exit TERM; while :; do sleep 0.1; done", claim = unique("claim"), users = [] }) => {
		const body = podOn("n1", {
			restartPolicy: "Never",
			resourceClaims: [{ name: "net", resourceClaimName: claim }],
			containers: [{ name: "main", image, imagePullPolicy: "IfNotPresent", command: ["/bin/sh", "-c", script], resources: { claims: [{ name: "net" }] } }],
		})
		const pod = await cluster.run(body)
		const results = devices.map((d) => ({ request: "net", driver: driverName, pool: "n1", device: d }))
		await allocateClaim(self.client, claim, results, pod, { parameters, driver: driverName, users, node: "n1" })
		return { ...pod, claim }
	}
	// Another pod that names the same claim and is let onto it.
	self.share = async (first) => {
		const pod = await cluster.run(podOn("n1", {
			restartPolicy: "Never",
			resourceClaims: first.spec.resourceClaims,
			containers: [{ name: "main", image, imagePullPolicy: "IfNotPresent", command: ["/bin/sleep", "60"], resources: { claims: [{ name: "net" }] } }],
		}))
		const { status } = await self.claim(first)
		const reservedFor = [...status.reservedFor, { resource: "pods", name: pod.metadata.name, uid: pod.metadata.uid }]
		const { code, text } = await self.client.patch(`${claims}/${first.claim}/status`, { status: { reservedFor } }, "merge")
		assert.equal(code, 200, text)
		return { ...pod, claim: first.claim }
	}
	self.claim = async (pod) => (await self.client.get(`${claims}/${pod.claim}`)).body
	// The claim's entry of a device (the first one), when it is as `wanted` says.
	self.entry = async (pod, wanted = () => true, device = undefined) => {
		let last
		const look = async () => {
			const { status } = await self.claim(pod)
			last = (status?.devices ?? []).find((e) => device === undefined || e.device === device)
			return wanted(last) && (last ?? true)
		}
		return until("entry", look, 30).catch((e) => {
			throw new Error(`${e.message}: ${JSON.stringify(last)}`)
		})
	}
	self.attached = async (pod) => {
		await cluster.pod(pod, (p) => p.status.phase === "Running")
		return self.entry(pod, (e) => ready(e)?.status === "True")
	}
	self.end = async (pod, grace = 0) => {
		await cluster.delete(pod, grace)
		await cluster.gone(pod)
	}
	self.log = (pod) => {
		const file = `${logs}/default_${pod.metadata.name}_${pod.metadata.uid}/main/0.log`
		return readFileSync(file, "utf8").split("\n").filter(Boolean).map((l) => /^\S+ \S+ [PF] (.*)$/.exec(l)[1]).join("\n")
	}
	// Runs a command in the pod's network namespace.
	self.inside = (pod, ...command) => {
		const [sandbox] = self.containerd.ctr("containers", "ls", `labels."io.kubernetes.pod.uid"==${pod.metadata.uid}`, "-q").trim().split("\n")
		const tasks = self.containerd.ctr("tasks", "ls").split("\n").map((l) => l.trim().split(/\s+/))
		const pid = tasks.find(([id, , state]) => id === sandbox && state === "RUNNING")[1]
		return execFileSync("nsenter", ["-t", pid, "-n", ...command], { encoding: "utf8" })
	}
	await self.begin()
	return self
}
