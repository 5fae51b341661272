// Availability on the command line: three users who may know of different claims, clusters with and without somebody who publishes it,
// and the KEP's end-to-end story with a driver, a scheduler and a node, through kubectl and `kubectl devplane`.
import assert from "node:assert/strict"
import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, symlinkSync } from "node:fs"
import { core, dra, expect } from "./api_lib.mjs"
import { DRIVER, device, share, shared, startDevices } from "./availability_lib.mjs"
import { devplane, finish, scratch, start, test, until } from "./lib.mjs"
import { claims, kubeconfig, startCluster } from "./node_lib.mjs"
import { pending, startController, startScheduler } from "./scheduler_lib.mjs"

const bin = `${scratch}/bin`
mkdirSync(bin)
symlinkSync(devplane, `${bin}/kubectl-devplane`)
const env = { ...process.env, HOME: scratch, PATH: `${bin}:${process.env.PATH}` }

// The program with somebody's kubeconfig, as the plugin of kubectl or by itself: { out, err, code }.
function say(command, config, args) {
	const { stdout, stderr, status } = spawnSync(command, args, { encoding: "utf8", env: { ...env, KUBECONFIG: config } })
	return { out: stdout, err: stderr, code: status }
}
const run = (config, ...args) => {
	const { out, err, code } = say(devplane, config, args)
	assert.equal(code, 0, `devplane ${args.join(" ")}: ${out}${err}`)
	return out
}
const plugin = (config, ...args) => {
	const { out, err, code } = say("kubectl", config, ["devplane", ...args])
	assert.equal(code, 0, `kubectl devplane ${args.join(" ")}: ${out}${err}`)
	return out
}

// --- three users -----------------------------------------------------------------------------

const cluster = await startDevices({ tokens: ["alices-own,alice,2", "bobs-own,bob,3"] })
const { server, client } = cluster
const admin = server.kubeconfig, alice = kubeconfig(server, "alices-own"), bob = kubeconfig(server, "bobs-own")
const rbac = "/apis/rbac.authorization.k8s.io/v1"
expect(await client.post(`${rbac}/clusterroles`, {
	metadata: { name: "look" },
	rules: [{ apiGroups: ["resource.k8s.io"], resources: ["resourceslices", "deviceclasses"], verbs: ["get", "list", "watch"] },
		{ apiGroups: [""], resources: ["nodes"], verbs: ["get", "list"] }],
}), 201)
expect(await client.post(`${rbac}/clusterrolebindings`, {
	metadata: { name: "look" }, roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "look" },
	subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "alice" }, { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "bob" }],
}), 201)
for (const ns of ["team-a", "team-b"])
	await cluster.namespace(ns)
expect(await client.post(`${rbac}/namespaces/team-a/roles`, { metadata: { name: "claims" }, rules: [{ apiGroups: ["resource.k8s.io"], resources: ["resourceclaims"], verbs: ["get", "list"] }] }), 201)
expect(await client.post(`${rbac}/namespaces/team-a/rolebindings`, {
	metadata: { name: "claims" }, roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "claims" },
	subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "alice" }],
}), 201)
expect(await client.post(`${core}/nodes`, { metadata: { name: "node-1" } }), 201)
await cluster.slice("node-1-gpu", { node: "node-1", devices: [device("gpu-0"), device("gpu-1"), device("gpu-2")] })
await cluster.slice("fabric-nic", { pool: "fabric", devices: [shared("port-0", "100G")] })
await cluster.claim("team-a", "mine", [{ pool: "node-1", device: "gpu-0" }])
await cluster.claim("team-b", "theirs", [{ pool: "node-1", device: "gpu-1" }])
await cluster.claim("team-a", "part", [share("fabric", "port-0", "10G")])
await cluster.claim("team-b", "part", [share("fabric", "port-0", "20G")])

const section = (text, title) => text.slice(text.indexOf(title)).split(/\n(?=\S)/)[0]
const everything = [["describe", "resourceslice", "node-1-gpu"], ["describe", "node", "node-1"], ["describe", "resourcepool", "node-1"]]

await test("before anybody publishes a status it is computed, and that is said", async () => {
	assert.equal((await cluster.read("node-1-gpu")).status, undefined)
	const text = run(admin, "describe", "resourceslice", "node-1-gpu")
	assert.match(text, /Available Devices: +1$/m)
	assert.match(text, /Claim Name: +mine$/m)
	assert.match(text, /computed/)
	// A user who cannot list all claims cannot compute it, and gets a note.
	const { out, err } = say(devplane, bob, ["describe", "resourceslice", "node-1-gpu"])
	assert.doesNotMatch(out, /State: +Available/)
	assert.match(out + err, /resourceclaims/)
})

const controller = await cluster.controller("--leader-elect=false")
await cluster.status("node-1-gpu", (s) => s?.summary.allocatedDevices === 2)
await cluster.status("fabric-nic", (s) => s?.summary.partiallyAllocatedDevices === 1)

await test("describe node has the KEP's section", async () => {
	const text = section(run(admin, "describe", "node", "node-1"), "DRA Resources:")
	assert.equal(text.replace(/ +$/gm, ""), `DRA Resources:
  Driver:  gpu.example.com
  Pool:    node-1
  Summary:
    Total Devices:      3
    Allocated Devices:  2
    Available Devices:  1
  Devices:
    gpu-0:
      Status:        Allocated
      Allocated To:  team-a/mine
      Attributes:
        Model:  a100
    gpu-1:
      Status:        Allocated
      Allocated To:  team-b/theirs
      Attributes:
        Model:  a100
    gpu-2:
      Status:  Available
      Attributes:
        Model:  a100`)
})

await test("an administrator sees all claims, others only those of namespaces that they may read", async () => {
	for (const args of everything) {
		const [all, some, none] = [admin, alice, bob].map((who) => run(who, ...args))
		for (const name of ["mine", "theirs"])
			assert.ok(all.includes(name), `${args.join(" ")}\n${all}`)
		assert.ok(some.includes("mine") && !some.includes("theirs"), some)
		assert.ok(!none.includes("mine") && !none.includes("theirs") && !none.includes("team-"), none)
		assert.match(some, /Allocated \(1 claim\)/)
		assert.equal(none.match(/Allocated \(1 claim\)/g).length, 2, none)
		for (const text of [all, some, none])
			assert.match(text, /Available/)
	}
	const shares = run(bob, "describe", "resourceslice", "fabric-nic")
	assert.match(shares, /PartiallyAllocated \(2 claims\)/)
	assert.match(shares, /70G/)
	assert.match(run(admin, "describe", "resourceslice", "fabric-nic", "--as", "bob"), /PartiallyAllocated \(2 claims\)/)
})

await test("few questions about rights are asked", async () => {
	const asked = async () => [...(await client.get("/metrics")).text.matchAll(/^apiserver_request_total\{[^}]*resource="selfsubjectaccessreviews"[^}]*\} (\d+)$/gm)].reduce((sum, m) => sum + Number(m[1]), 0)
	let before = await asked()
	const questions = async (who, ...args) => {
		run(who, ...args)
		const now = await asked(), n = now - before
		before = now
		return n
	}
	// One about all namespaces, then one for each that is shown.
	assert.equal(await questions(admin, "describe", "resourceslices"), 1)
	assert.equal(await questions(bob, "describe", "resourceslices"), 3)
	assert.equal(await questions(bob, "get", "resourceslices"), 0)
})

await test("tables of slices and pools", async () => {
	assert.match(run(bob, "get", "resourceslices"), /^NAME +NODE +DRIVER +POOL +DEVICES +FREE +PARTIAL +ALLOCATED +UNAVAILABLE +UNHEALTHY +AGE\nfabric-nic +gpu\.example\.com +fabric +1 +0 +1 +0 +0 +0 +\S+\nnode-1-gpu +node-1 +gpu\.example\.com +node-1 +3 +1 +0 +2 +0 +0 +\S+\n$/)
	const pools = JSON.parse(run(bob, "get", "resourcepools", "-o", "json"))
	assert.equal(pools.items.length, 2)
	assert.match(run(bob, "get", "resourcepools"), /^NAME +DRIVER +NODE .*\nfabric .*\nnode-1 /)
	assert.match(run(admin, "top", "devices", "--once"), /node-1/)
})

await test("the gate hides it, and a server that does not serve it is read by other ways", async () => {
	const hidden = ["--feature-gates", "DRAResourceAvailabilityVisibility=false"]
	assert.doesNotMatch(run(admin, "describe", "resourceslice", "node-1-gpu", ...hidden), /Available|Allocated|mine/)
	assert.doesNotMatch(run(admin, "describe", "node", "node-1", ...hidden), /Available|Allocated To|mine/)
	const other = await startDevices({ flags: ["--feature-gates", "DRAResourceAvailabilityVisibility=false"] })
	await other.slice("foreign", { node: "n1", devices: [device("gpu-0")] })
	await other.claim("default", "c", [{ pool: "n1", device: "gpu-0" }])
	const before = run(other.server.kubeconfig, "describe", "resourceslice", "foreign")
	assert.match(before, /Allocated Devices: +1$/m)
	assert.match(before, /computed/)
	const own = await other.controller("--leader-elect=false")
	await until("object", async () => (await other.client.get("/apis/devplane.dev/v1alpha1/resourceslicestatuses/foreign")).body?.status?.summary?.allocatedDevices === 1)
	const after = run(other.server.kubeconfig, "describe", "resourceslice", "foreign")
	assert.match(after, /Claim Name: +c$/m)
	assert.doesNotMatch(after, /computed/)
	await own.stop()
	await other.server.stop()
})

await controller.stop()
await server.stop()

// --- the KEP's end-to-end story --------------------------------------------------------------

await test("a driver publishes, a claim takes, kubectl shows it, and shows it free again", async () => {
	const whole = await startCluster({ names: ["n1"] })
	const role = await startController(whole)
	const scheduler = await startScheduler(whole)
	const node = await whole.node("n1")
	start("driver", "sim", "--kubeconfig", node.kubeconfig, "--node-name", "n1", "--root-dir", node.root, "--cdi-dir", `${node.root}/cdi`, "--devices", "2", "--log-format", "text", "--metrics-bind-address", "127.0.0.1:0")
	const config = whole.server.kubeconfig
	const kubectl = (...args) => execFileSync("kubectl", ["--kubeconfig", config, ...args], { encoding: "utf8", env })
	const columns = () => kubectl("get", "resourceslices", "--no-headers", "-o", "custom-columns=T:.status.summary.totalDevices,A:.status.summary.allocatedDevices,F:.status.summary.availableDevices").trim().split(/ +/).join()
	await until("free devices", () => columns() === "2,0,2", 60)
	const [{ spec: { driver } }] = (await whole.client.get(`${dra}/resourceslices`)).body.items
	expect(await whole.client.post(`${dra}/deviceclasses`, { metadata: { name: "gpu" }, spec: { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] } }), 201)
	expect(await whole.client.post(claims, { metadata: { name: "train" }, spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] } } }), 201)
	const body = pending({ resourceClaims: [{ name: "gpu", resourceClaimName: "train" }], main: { resources: { claims: [{ name: "gpu" }] } } })
	const pod = await whole.run(body)
	await whole.pod(pod, (p) => p.status.phase === "Running")
	await until("a device that is taken", () => columns() === "2,1,1")
	assert.match(kubectl("describe", "resourceslices"), /Claim Name: +train$/m)
	const text = section(plugin(config, "describe", "node", "n1"), "DRA Resources:")
	assert.match(text, /Total Devices: +2\n +Allocated Devices: +1\n +Available Devices: +1\n/)
	assert.match(text, /Allocated To: +default\/train\n/)
	await whole.delete(pod, 0)
	await whole.gone(pod)
	expect(await whole.client.delete(`${claims}/train`), 200)
	await until("free again", () => columns() === "2,0,2")
	assert.match(section(plugin(config, "describe", "node", "n1"), "DRA Resources:"), /Available Devices: +2\n/)
	await scheduler.stop()
	await role.stop()
})

finish()
