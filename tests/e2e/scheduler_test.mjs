// `devplane scheduler` with bare nodes: pods land where they fit, others show why they wait and are retried when it helps; gates,
// priorities with preemption, profiles, volumes; crashes, elections, bad configuration.
import assert from "node:assert/strict"
import { execFileSync, spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { core, expect, unique } from "./api_lib.mjs"
import { devplane, finish, scratch, test, until } from "./lib.mjs"
import { pods, startCluster } from "./node_lib.mjs"
import { bareNode, onNode, pending, refused, scheduledCondition, startScheduler } from "./scheduler_lib.mjs"

const cluster = await startCluster()
let scheduler = await startScheduler(cluster)
const kubectl = (...args) => execFileSync("kubectl", ["--kubeconfig", cluster.server.kubeconfig, ...args], { encoding: "utf8" })

// Each begins with a cluster that is empty.
function scenario(name, body, seconds) {
	return test(name, async () => {
		const all = (await cluster.client.get(`${core}/nodes`)).body.items
		expect(await cluster.client.delete(`${pods}?gracePeriodSeconds=0`), 200)
		await until("no pods", async () => (await cluster.client.get(pods)).body.items.length === 0)
		for (const n of all)
			expect(await cluster.client.delete(`${core}/nodes/${n.metadata.name}`), 200)
		await body()
	}, seconds)
}

await scenario("a pod without any node is told so", async () => {
	const pod = await cluster.run(pending())
	await cluster.pod(pod, refused("no nodes available to schedule pods"))
	const event = await cluster.event(pod.metadata.name, "FailedScheduling", /^no nodes available to schedule pods$/)
	assert.equal(event.type, "Warning")
	assert.equal(event.action, "Scheduling")
	assert.equal(event.reportingComponent, "default-scheduler")
	await bareNode(cluster, "n1")
	await cluster.pod(pod, onNode("n1"))
	const bound = await cluster.event(pod.metadata.name, "Scheduled", /./)
	assert.equal(bound.message, `Successfully assigned default/${pod.metadata.name} to n1`)
	assert.equal(bound.type, "Normal")
	assert.equal(bound.action, "Binding")
	assert.equal(scheduledCondition(await cluster.pod(pod)).status, "True")
	assert.match(kubectl("describe", "pod", pod.metadata.name), /Successfully assigned/)
})

await scenario("a full cluster explains itself, and a deleted pod makes room", async () => {
	await bareNode(cluster, "n1", { cpu: "1" })
	await bareNode(cluster, "n2", { cpu: "1", taints: [{ key: "reserved", value: "x", effect: "NoSchedule" }] })
	await bareNode(cluster, "n3", { unschedulable: true })
	const first = await cluster.run(pending({ requests: { cpu: "800m" } }))
	await cluster.pod(first, onNode("n1"))
	const second = await cluster.run(pending({ requests: { cpu: "500m" } }))
	const message = "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable. no new claims to deallocate, preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."
	const now = await cluster.pod(second, (p) => scheduledCondition(p)?.status === "False")
	assert.equal(scheduledCondition(now).message.replace("no new claims to deallocate, ", ""), message.replace("no new claims to deallocate, ", ""))
	assert.equal((await cluster.event(second.metadata.name, "FailedScheduling")).message, scheduledCondition(now).message)
	const { nodes } = await scheduler.json("/debug/cache")
	assert.equal(Object.keys(nodes).length, 3)
	await cluster.delete(first, 0)
	await cluster.pod(second, onNode("n1"))
	// A toleration opens the second node, at once.
	const third = await cluster.run(pending({ requests: { cpu: "700m" }, tolerations: [{ key: "reserved", operator: "Exists" }] }))
	await cluster.pod(third, onNode("n2"))
})

await scenario("labels, affinity, ports and gates decide", async () => {
	await bareNode(cluster, "n1", { labels: { disk: "ssd" } })
	await bareNode(cluster, "n2", { labels: { disk: "hdd" } })
	const at = async (spec, node) => cluster.pod(await cluster.run(pending(spec)), onNode(node))
	await at({ nodeSelector: { disk: "hdd" } }, "n2")
	await at({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key: "disk", operator: "NotIn", values: ["hdd"] }] }] } } } }, "n1")
	await at({ labels: { app: "db" }, nodeSelector: { disk: "ssd" } }, "n1")
	const byApp = (topologyKey) => [{ labelSelector: { matchLabels: { app: "db" } }, topologyKey }]
	await at({ affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: byApp("kubernetes.io/hostname") } } }, "n1")
	await at({ affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: byApp("kubernetes.io/hostname") } } }, "n2")
	const port = { main: { image: "busybox", ports: [{ containerPort: 80, hostPort: 8080 }] } }
	const nodes = new Set()
	for (let i = 0; i < 2; i++)
		nodes.add((await cluster.pod(await cluster.run(pending(port)), onNode())).spec.nodeName)
	assert.equal(nodes.size, 2)
	const third = await cluster.run(pending(port))
	await cluster.pod(third, refused(/^0\/2 nodes are available: 2 node\(s\) didn't have free ports for the requested pod ports/))
	const gated = await cluster.run(pending({ schedulingGates: [{ name: "example.com/wait" }] }))
	await until("gated pod", async () => (await scheduler.metric('scheduler_pending_pods{queue="gated"}')) === 1)
	expect(await cluster.client.patch(`${pods}/${gated.metadata.name}`, [{ op: "remove", path: "/spec/schedulingGates" }], "patch"), 200)
	await cluster.pod(gated, onNode())
})

await scenario("pods spread over zones", async () => {
	for (const [name, zone] of [["n1", "a"], ["n2", "a"], ["n3", "b"]])
		await bareNode(cluster, name, { labels: { "topology.kubernetes.io/zone": zone } })
	const spec = { labels: { app: "web" }, topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "DoNotSchedule", labelSelector: { matchLabels: { app: "web" } } }] }
	const zones = { a: 0, b: 0 }
	for (let i = 0; i < 6; i++) {
		const { spec: { nodeName } } = await cluster.pod(await cluster.run(pending(spec)), onNode())
		zones[nodeName === "n3" ? "b" : "a"]++
		assert.ok(Math.abs(zones.a - zones.b) <= 1, JSON.stringify(zones))
	}
})

await scenario("a pod of higher priority takes the place of lower ones", async () => {
	await bareNode(cluster, "n1", { cpu: "2" })
	for (const [name, value, preemptionPolicy] of [["low", 1], ["high", 100], ["polite", 100, "Never"]])
		expect(await cluster.client.post("/apis/scheduling.k8s.io/v1/priorityclasses", { metadata: { name }, value, preemptionPolicy }), 201)
	const low = []
	for (let i = 0; i < 2; i++)
		low.push(await cluster.run(pending({ priorityClassName: "low", requests: { cpu: "900m" } })))
	for (const p of low)
		await cluster.pod(p, onNode("n1"))
	const high = await cluster.run(pending({ priorityClassName: "high", requests: { cpu: "900m" } }))
	await cluster.pod(high, onNode("n1"))
	const left = await Promise.all(low.map(async (p) => (await cluster.client.get(`${pods}/${p.metadata.name}`)).code))
	assert.deepEqual(left.sort(), [200, 404])
	const events = (await Promise.all(low.map((p) => cluster.events(p.metadata.name)))).flat()
	assert.match(events.find((e) => e.reason === "Preempted").message, new RegExp(`^Preempted by pod ${high.metadata.uid} on node n1$`))
	// One that never preempts waits.
	const polite = await cluster.run(pending({ priorityClassName: "polite", requests: { cpu: "1900m" } }))
	await cluster.pod(polite, refused(/preemption: not eligible due to preemptionPolicy=Never\.?$/))
})

await scenario("volumes that are not bound keep a pod pending, bound ones say where", async () => {
	await bareNode(cluster, "n1")
	await bareNode(cluster, "n2")
	const claimed = (name) => pending({ volumes: [{ name: "data", persistentVolumeClaim: { claimName: name } }] })
	const missing = await cluster.run(claimed("nowhere"))
	await cluster.pod(missing, refused(/^0\/2 nodes are available: persistentvolumeclaim "nowhere" not found/))
	const size = { requests: { storage: "1Gi" } }
	const pvc = (name, spec = {}) => cluster.client.post(`${core}/namespaces/default/persistentvolumeclaims`, { metadata: { name }, spec: { accessModes: ["ReadWriteOnce"], resources: size, storageClassName: "", ...spec } })
	expect(await pvc("unbound"), 201)
	const waiting = await cluster.run(claimed("unbound"))
	await cluster.pod(waiting, refused(/pod has unbound immediate PersistentVolumeClaims/))
	expect(await cluster.client.post(`${core}/persistentvolumes`, {
		metadata: { name: "pv1" },
		spec: {
			capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], local: { path: "/mnt" }, claimRef: { namespace: "default", name: "bound" },
			nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ["n2"] }] }] } },
		},
	}), 201)
	expect(await pvc("bound", { volumeName: "pv1" }), 201)
	expect(await cluster.client.patch(`${core}/namespaces/default/persistentvolumeclaims/bound`, { metadata: { annotations: { "pv.kubernetes.io/bind-completed": "yes" } } }, "merge"), 200)
	expect(await cluster.client.patch(`${core}/namespaces/default/persistentvolumeclaims/bound/status`, { status: { phase: "Bound" } }, "merge"), 200)
	await cluster.pod(await cluster.run(claimed("bound")), onNode("n2"))
})

await scenario("a scheduler that is killed goes on where it was; what it had bound stays", async () => {
	for (const name of ["n1", "n2", "n3"])
		await bareNode(cluster, name, { cpu: "8" })
	const all = []
	for (let i = 0; i < 60; i++) {
		all.push(await cluster.run(pending({ requests: { cpu: "300m" } })))
		if (i === 30)
			await scheduler.kill()
	}
	await scheduler.begin()
	for (const p of all)
		await cluster.pod(p, onNode())
	const cache = await until("the cache's view", async () => {
		const { nodes } = await scheduler.json("/debug/cache")
		const known = Object.values(nodes).flatMap((n) => n.pods)
		return known.length === 60 && known.every((p) => !p.assumed) && nodes
	})
	for (const n of Object.values(cache))
		assert.ok(n.pods.length <= 26)
})

await scenario("a server that goes away and comes back loses no pod", async () => {
	await bareNode(cluster, "n1", { cpu: "64" })
	const all = []
	for (let i = 0; i < 20; i++)
		all.push(await cluster.run(pending({ requests: { cpu: "1" } })))
	await cluster.server.kill()
	await cluster.server.begin()
	for (let i = 0; i < 20; i++)
		all.push(await cluster.run(pending({ requests: { cpu: "1" } })))
	for (const p of all)
		await cluster.pod(p, onNode("n1"), 90)
})

await scenario("profiles serve their own pods by their own rules", async () => {
	await scheduler.stop()
	scheduler = await startScheduler(cluster, { config: `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: packer
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
        resources: [{name: cpu, weight: 1}]
  plugins:
    score:
      disabled: [{name: NodeResourcesBalancedAllocation}, {name: PodTopologySpread}]
` })
	for (const name of ["n1", "n2", "n3"])
		await bareNode(cluster, name, { cpu: "8" })
	const at = async (schedulerName) => (await cluster.pod(await cluster.run(pending({ schedulerName, requests: { cpu: "1" } })), onNode())).spec.nodeName
	const packed = new Set(), spread = new Set()
	for (let i = 0; i < 4; i++)
		packed.add(await at("packer"))
	assert.equal(packed.size, 1)
	for (let i = 0; i < 4; i++)
		spread.add(await at("default-scheduler"))
	assert.ok(spread.size >= 2)
	const foreign = await cluster.run(pending({ schedulerName: "somebody-else" }))
	await cluster.pod(await cluster.run(pending()), onNode())
	assert.equal(scheduledCondition(await cluster.pod(foreign)), undefined)
})

await scenario("of two that stand for election one decides, and the other takes over", async () => {
	await scheduler.stop()
	const quick = ["--leader-elect-lease-duration", "2s", "--leader-elect-renew-deadline", "1s", "--leader-elect-retry-period", "200ms"]
	await bareNode(cluster, "n1")
	const first = await startScheduler(cluster, { elect: true, flags: quick })
	await cluster.pod(await cluster.run(pending()), onNode())
	const second = await startScheduler(cluster, { elect: true, flags: quick })
	const lease = async () => (await cluster.client.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler")).body
	const holder = (await lease()).spec.holderIdentity
	await first.kill()
	await cluster.pod(await cluster.run(pending()), onNode(), 60)
	assert.notEqual((await lease()).spec.holderIdentity, holder)
	await second.stop()
	assert.equal((await lease()).spec.holderIdentity || "", "")
})

await scenario("bad configuration is refused with a sentence", async () => {
	const run = (text, ...flags) => {
		const file = `${scratch}/${unique("bad")}.yaml`
		writeFileSync(file, text)
		const { status, stderr } = spawnSync(devplane, ["scheduler", "--kubeconfig", cluster.server.kubeconfig, "--metrics-bind-address", "0", "--config", file, ...flags], { encoding: "utf8", timeout: 30000 })
		assert.notEqual(status, 0)
		assert.notEqual(status, null)
		return stderr
	}
	const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
	assert.match(run("kind: Nothing\n"), /apiVersion/)
	assert.match(run("apiVersion: v1\nkind: Pod\n"), /KubeSchedulerConfiguration/)
	assert.match(run(`${head}profiles:\n- schedulerName: a\n- schedulerName: a\n`), /profiles\[1\]\.schedulerName.*[Dd]uplicate/)
	assert.match(run(`${head}profiles:\n- plugins:\n    filter:\n      enabled: [{name: NoSuchPlugin}]\n`), /NoSuchPlugin/)
	assert.match(run(`${head}nonsense: 1\n`), /nonsense/)
	assert.match(run(`${head}devplane:\n  plugins:\n  - path: /no/such/plugin.so\n`), /\/no\/such\/plugin\.so/)
	const { stderr } = spawnSync(devplane, ["scheduler", "--kubeconfg", "x"], { encoding: "utf8" })
	assert.match(stderr, /--kubeconfig/)
})

await cluster.stop()
finish()
