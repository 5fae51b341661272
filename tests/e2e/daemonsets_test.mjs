// DaemonSets with kubectl: our server, controller and scheduler, and hollow nodes that run the pods.
import assert from "node:assert/strict"
import { execFile, execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { promisify } from "node:util"
import { core, unique } from "./api_lib.mjs"
import { devplane, finish, scratch, start, test, until } from "./lib.mjs"
import { kubeconfig, startCluster } from "./node_lib.mjs"
import { startScheduler } from "./scheduler_lib.mjs"

// The controller's own user: it has only the rights of its role.
const tokens = `${scratch}/controller.csv`
const names = ["n1", "n2", "n3"]
writeFileSync(tokens, ["controllers-own,system:devplane-controller,9", ...names.map((n, i) => `${n}-own,system:node:${n},${i},"system:nodes"`)].join("\n"),
	{ mode: 0o600 })
const cluster = await startCluster({ names, flags: ["--token-auth-file", tokens] })
const { client, server } = cluster
for (const name of names)
	await cluster.node(name, { flags: name === "n3" ? [] : ["--node-labels", "devplane.dev/nvidia=true"] })
await startScheduler(cluster)
const startController = () => start("controller", "--kubeconfig", kubeconfig(server, "controllers-own"), "--metrics-bind-address", "127.0.0.1:0",
	"--leader-elect=false", "--log-format", "text", "--namespace-deletion-delay", "0s")
let controller = startController()

const checkout = new URL("../..", import.meta.url).pathname
const program = execFileSync(`${checkout}/scripts/kubectl`, [`${dirname(devplane)}/kubectl`], { encoding: "utf8" }).trim()
const execute = promisify(execFile)
async function kubectl(...args) {
	const { stdout } = await execute(program, ["--kubeconfig", server.kubeconfig, "--cache-dir", `${scratch}/cache`, ...args])
	return stdout
}

async function apply(object) {
	const file = `${scratch}/${unique("object")}.json`
	writeFileSync(file, JSON.stringify(object))
	return kubectl("apply", "-f", file)
}

const daemonSets = "/apis/apps/v1/namespaces/default/daemonsets"
const read = async (name) => (await client.get(`${daemonSets}/${name}`)).body
const podsOf = async (name, ns = "default") =>
	(await client.get(`${core}/namespaces/${ns}/pods?labelSelector=app=${name}`)).body.items.filter((p) => !p.metadata.deletionTimestamp)

function daemonSet(name, { image = "img:1", strategy = { type: "RollingUpdate" }, spec = {}, ...rest } = {}) {
	return {
		apiVersion: "apps/v1", kind: "DaemonSet", metadata: { name },
		spec: {
			selector: { matchLabels: { app: name } }, updateStrategy: strategy,
			template: {
				metadata: { labels: { app: name } },
				spec: { automountServiceAccountToken: false, terminationGracePeriodSeconds: 0, containers: [{ name: "main", image }], ...spec },
			},
			...rest,
		},
	}
}

// Waits until each of these nodes has one ready pod of the image, and the status says so.
async function settles(name, nodes, image) {
	let last
	try {
		await until("pods", async () => {
			const { status = {}, metadata } = await read(name)
			last = (await podsOf(name)).map((p) => `${p.spec.nodeName ?? "?"}=${p.spec.containers[0].image}`).sort()
			return last.join() === nodes.map((n) => `${n}=${image}`).join() && status.numberAvailable === nodes.length &&
				status.updatedNumberScheduled === nodes.length && status.desiredNumberScheduled === nodes.length &&
				status.observedGeneration === metadata.generation
		}, 40)
	} catch (e) {
		throw new Error(`${e.message}; pods are ${last}, the status is ${JSON.stringify((await read(name)).status)}; ${controller.err.slice(-1000)}`)
	}
}

await test("each node gets a pod, with upstream's tolerations and affinity", async () => {
	await apply(daemonSet("every"))
	await settles("every", names, "img:1")
	assert.match(await kubectl("rollout", "status", "daemonset/every", "--timeout=20s"), /successfully rolled out/)
	const [pod] = await podsOf("every")
	const [term] = pod.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms
	assert.deepEqual(term.matchFields, [{ key: "metadata.name", operator: "In", values: [pod.spec.nodeName] }])
	const own = pod.spec.tolerations.map((t) => `${t.key.replace("node.kubernetes.io/", "")}:${t.effect}`)
	assert.deepEqual(own.sort(), ["disk-pressure:NoSchedule", "memory-pressure:NoSchedule", "not-ready:NoExecute", "pid-pressure:NoSchedule",
		"unreachable:NoExecute", "unschedulable:NoSchedule"])
	assert.ok(pod.spec.tolerations.every((t) => t.operator === "Exists" && t.tolerationSeconds === undefined))
	assert.match(pod.metadata.labels["controller-revision-hash"], /^[a-z0-9]+$/)
	assert.match(await kubectl("get", "daemonset", "every"), /every +3 +3 +3 +3 +3/)
})

await test("an update, its history, and the way back", async () => {
	await kubectl("annotate", "daemonset/every", "kubernetes.io/change-cause=first")
	await kubectl("set", "image", "daemonset/every", "main=img:2")
	assert.match(await kubectl("rollout", "status", "daemonset/every", "--timeout=60s"), /successfully rolled out/)
	await settles("every", names, "img:2")
	assert.match(await kubectl("rollout", "history", "daemonset/every"), /\n1 .*\n2 /)
	assert.match(await kubectl("rollout", "history", "daemonset/every", "--revision=1"), /img:1/)
	await kubectl("rollout", "undo", "daemonset/every")
	assert.match(await kubectl("rollout", "status", "daemonset/every", "--timeout=60s"), /successfully rolled out/)
	await settles("every", names, "img:1")
	assert.match(await kubectl("rollout", "history", "daemonset/every"), /\n2 .*\n3 /)
	await kubectl("rollout", "restart", "daemonset/every")
	assert.match(await kubectl("rollout", "status", "daemonset/every", "--timeout=60s"), /successfully rolled out/)
})

await test("a surge starts the new pod before the old one goes", async () => {
	await apply(daemonSet("surge", { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } }))
	await settles("surge", names, "img:1")
	await kubectl("set", "image", "daemonset/surge", "main=img:2")
	const ready = (p) => p.status.conditions?.some((c) => c.type === "Ready" && c.status === "True")
	await until("update", async () => {
		const pods = await podsOf("surge")
		assert.equal(new Set(pods.filter(ready).map((p) => p.spec.nodeName)).size, 3, "a node without a ready pod")
		return pods.length === 3 && pods.every((p) => p.spec.containers[0].image === "img:2")
	}, 60)
	await settles("surge", names, "img:2")
})

await test("OnDelete replaces the pods that the user deletes", async () => {
	await apply(daemonSet("manual", { strategy: { type: "OnDelete" } }))
	await settles("manual", names, "img:1")
	await kubectl("set", "image", "daemonset/manual", "main=img:2")
	await until("observed", async () => (await read("manual")).status.observedGeneration === 2)
	assert.ok((await podsOf("manual")).every((p) => p.spec.containers[0].image === "img:1"))
	await kubectl("delete", "pods", "-l", "app=manual")
	await settles("manual", names, "img:2")
})

await test("nodes that change, and a controller that was killed meanwhile", async () => {
	await kubectl("label", "nodes", "n1", "n2", "kind=gpu")
	await apply(daemonSet("some", { spec: { nodeSelector: { kind: "gpu" } } }))
	await settles("some", ["n1", "n2"], "img:1")
	controller.child.kill("SIGKILL")
	await controller.ended
	await kubectl("label", "node", "n3", "kind=gpu", "--overwrite")
	await kubectl("delete", "pods", "-l", "app=some")
	controller = startController()
	await settles("some", names, "img:1")
	await kubectl("taint", "node", "n2", "broken=yes:NoExecute")
	await settles("some", ["n1", "n3"], "img:1")
	await kubectl("cordon", "n1")
	await kubectl("taint", "node", "n2", "broken-")
	await settles("some", names, "img:1")
	await kubectl("uncordon", "n1")
	await kubectl("label", "node", "n3", "kind=cpu", "--overwrite")
	await settles("some", ["n1", "n2"], "img:1")
})

await test("failed pods are replaced, with an event", async () => {
	await apply(daemonSet("fails"))
	await settles("fails", names, "img:1")
	const [pod] = await podsOf("fails")
	// The node corrects the status again, so it may take several tries until the controller sees it.
	await until("event", async () => {
		await client.patch(`${core}/namespaces/default/pods/${pod.metadata.name}/status`, { status: { phase: "Failed", reason: "Evicted" } }, "merge")
		return /FailedDaemonPod.*Found failed daemon pod default\/fails-/.test(await kubectl("get", "events"))
	}, 40)
	await until("another pod", async () => (await podsOf("fails")).every((p) => p.metadata.uid !== pod.metadata.uid), 40)
})

await test("deleting takes the pods and revisions along", async () => {
	await kubectl("delete", "daemonset", "every", "surge", "manual", "some", "fails")
	await until("no pods", async () => (await client.get(`${core}/namespaces/default/pods`)).body.items.length === 0, 60)
	await until("no revisions", async () => (await client.get("/apis/apps/v1/namespaces/default/controllerrevisions")).body.items.length === 0, 60)
})

await test("the server rejects what upstream's rejects", async () => {
	const rolling = (r) => daemonSet("bad", { strategy: { type: "RollingUpdate", rollingUpdate: r } })
	const cases = [
		[rolling({ maxSurge: 1, maxUnavailable: 1 }), /spec.updateStrategy.rollingUpdate.maxSurge: Invalid value.*may not be set when maxUnavailable is non-zero/],
		[rolling({ maxSurge: 0, maxUnavailable: 0 }), /spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0/],
		[rolling({ maxUnavailable: "200%" }), /maxUnavailable: Invalid value.*must not be greater than 100%/],
		[rolling({ maxUnavailable: -1 }), /maxUnavailable: Invalid value.*must be greater than or equal to 0/],
		[rolling({ maxUnavailable: "many" }), /maxUnavailable: Invalid value.*a valid percent string must be/],
		[daemonSet("bad", { minReadySeconds: -1 }), /spec.minReadySeconds: Invalid value/],
		[daemonSet("bad", { revisionHistoryLimit: -1 }), /spec.revisionHistoryLimit: Invalid value/],
		[daemonSet("bad", { spec: { activeDeadlineSeconds: 5 } }), /activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is not Supported/],
	]
	for (const [body, message] of cases) {
		const { code, text } = await client.post(daemonSets, body)
		assert.equal(code, 422, text)
		assert.match(JSON.parse(text).message, message)
	}
	const revision = { metadata: { name: "r" }, data: { a: 1 }, revision: 1 }, revisions = "/apis/apps/v1/namespaces/default/controllerrevisions"
	assert.equal((await client.post(revisions, revision)).code, 201)
	assert.match((await client.patch(`${revisions}/r`, { data: { a: 2 } }, "merge")).text, /data: Invalid value.*field is immutable/)
	assert.equal((await client.patch(`${revisions}/r`, { revision: 7 }, "merge")).code, 200)
	assert.match((await client.patch(`${revisions}/r`, { revision: -7 }, "merge")).text, /revision: Invalid value/)
	assert.match((await client.post(revisions, { metadata: { name: "s" }, revision: 1 })).text, /data: Required value/)
})

await test("deploy/nvidia installs a driver on each node with a GPU", async () => {
	await kubectl("apply", "-k", new URL("../../deploy/nvidia", import.meta.url).pathname)
	const ns = "devplane-nvidia"
	const pods = async () => (await client.get(`${core}/namespaces/${ns}/pods`)).body.items
	await until("pods", async () => (await pods()).map((p) => p.spec.nodeName).sort().join() === "n1,n2", 60)
	for (const pod of await pods()) {
		assert.equal(pod.metadata.ownerReferences[0].kind, "DaemonSet")
		assert.equal(pod.spec.serviceAccountName, "devplane-nvidia")
	}
	await kubectl("label", "node", "n3", "feature.node.kubernetes.io/pci-10de.present=true")
	await until("a third", async () => (await pods()).map((p) => p.spec.nodeName).sort().join() === "n1,n2,n3", 60)
	await kubectl("delete", "-k", new URL("../../deploy/nvidia", import.meta.url).pathname, "--wait=false")
	await until("no pods", async () => (await pods()).length === 0, 60)
})

await test("deploy/sim installs a driver on each node", async () => {
	const folder = new URL("../../deploy/sim", import.meta.url).pathname
	await kubectl("apply", "-k", folder)
	const pods = async () => (await client.get(`${core}/namespaces/devplane-sim/pods`)).body.items
	await until("pods", async () => (await pods()).map((p) => p.spec.nodeName).sort().join() === "n1,n2,n3", 60)
	assert.ok((await pods()).every((p) => p.spec.serviceAccountName === "devplane-sim"))
	await kubectl("delete", "-k", folder, "--wait=false")
	await until("no pods", async () => (await pods()).length === 0, 60)
})

finish()
