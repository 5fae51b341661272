// Deployments and ReplicaSets, end to end with kubectl: server, controller with the rights of its role, scheduler, hollow nodes and the
// simulated vendor's driver. Rollouts, undo, pause, scaling on the way, deletion, a controller that dies, and a device that breaks.
import assert from "node:assert/strict"
import { execFile, execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { promisify } from "node:util"
import { core, dra, expect } from "./api_lib.mjs"
import { devplane, finish, scratch, start, test, until } from "./lib.mjs"
import { claims, kubeconfig, pods, startCluster } from "./node_lib.mjs"
import { startController, startScheduler } from "./scheduler_lib.mjs"

const tokens = `${scratch}/tokens.csv`
writeFileSync(tokens, ["controllers-own,system:devplane-controller,1", 'n1-own,system:node:n1,2,"system:nodes"', 'n2-own,system:node:n2,3,"system:nodes"', ""].join("\n"), { mode: 0o600 })
const cluster = await startCluster({ names: [], flags: ["--token-auth-file", tokens] })
const { client } = cluster
let controller = await startController({ server: { kubeconfig: kubeconfig(cluster.server, "controllers-own") } })
await startScheduler(cluster)
const node = await cluster.node("n1")
await cluster.node("n2")

let program = "kubectl"
try {
	program = execFileSync("../../scripts/kubectl", [`${dirname(devplane)}/kubectl`], { encoding: "utf8", stdio: "pipe" }).trim()
} catch (e) {
	console.log(`# a current kubectl cannot be fetched, Debian's is used: ${String(e.stderr).trim()}`)
}
const env = { ...process.env, HOME: scratch, KUBECONFIG: cluster.server.kubeconfig }
const exec = promisify(execFile)
const kubectl = async (...args) => (await exec(program, args, { env, encoding: "utf8" })).stdout
const status = (name) => kubectl("rollout", "status", `deployment/${name}`, "--timeout=100s")

const deployments = "/apis/apps/v1/namespaces/default/deployments", replicaSets = "/apis/apps/v1/namespaces/default/replicasets"
const deployment = async (name) => (await client.get(`${deployments}/${name}`)).body
const list = async (path, name) => (await client.get(`${path}?labelSelector=app%3D${name}`)).body.items
const setsOf = (name) => list(replicaSets, name)
const podsOf = (name) => list(pods, name)
const active = (p) => !p.metadata.deletionTimestamp && !["Succeeded", "Failed"].includes(p.status.phase)
const condition = (d, type) => d.status.conditions?.find((c) => c.type === type)
const imagesOf = async (name) => [...new Set((await podsOf(name)).filter(active).map((p) => p.spec.containers[0].image))]
const changed = (d) => JSON.stringify(d.status)

// Looks at the ReplicaSets all the time: their replicas together must never exceed `most`, nor the available pods fall below `least`.
function observe(name, { most, least }) {
	let over = false
	const wrong = []
	const done = (async () => {
		while (!over) {
			const sets = await setsOf(name)
			const wanted = sets.reduce((sum, s) => sum + s.spec.replicas, 0)
			const ready = (await podsOf(name)).filter((p) => active(p) && p.status.conditions?.some((c) => c.type === "Ready" && c.status === "True")).length
			if (wanted > most || ready < least)
				wrong.push(`${wanted} wanted, ${ready} ready`)
			await new Promise((resolve) => setTimeout(resolve, 20))
		}
	})()
	return async () => {
		over = true
		await done
		assert.deepEqual(wrong, [])
	}
}

await test("kubectl creates a deployment and waits for it", async () => {
	await kubectl("create", "deployment", "web", "--image", "web:1", "--replicas", "4")
	assert.match(await status("web"), /successfully rolled out/)
	const d = await deployment("web"), sets = await setsOf("web"), all = await podsOf("web")
	assert.equal(sets.length, 1)
	assert.equal(all.length, 4)
	const hash = sets[0].metadata.labels["pod-template-hash"]
	assert.equal(sets[0].metadata.name, `web-${hash}`)
	assert.ok(all.every((p) => p.metadata.labels["pod-template-hash"] === hash && p.metadata.name.startsWith(`web-${hash}-`)))
	const { replicas, updatedReplicas, readyReplicas, availableReplicas, observedGeneration } = d.status
	assert.deepEqual({ replicas, updatedReplicas, readyReplicas, availableReplicas }, { replicas: 4, updatedReplicas: 4, readyReplicas: 4, availableReplicas: 4 })
	assert.equal(observedGeneration, d.metadata.generation)
	assert.equal(condition(d, "Progressing").reason, "NewReplicaSetAvailable")
	assert.equal(condition(d, "Available").reason, "MinimumReplicasAvailable")
	assert.equal(d.metadata.annotations["deployment.kubernetes.io/revision"], "1")
	assert.deepEqual({ ...sets[0].metadata.annotations }, { "deployment.kubernetes.io/desired-replicas": "4", "deployment.kubernetes.io/max-replicas": "5", "deployment.kubernetes.io/revision": "1" })
	await cluster.event("web", "ScalingReplicaSet", new RegExp(`^Scaled up replica set web-${hash} from 0 to 4$`))
	assert.match(await kubectl("get", "deployment", "web"), /web +4\/4 +4 +4/)
})

await test("a new image rolls out within its limits, and undo rolls back", async () => {
	const stop = observe("web", { most: 5, least: 3 })
	await kubectl("set", "image", "deployment/web", "web=web:2")
	await status("web")
	assert.deepEqual(await until("only new pods", async () => (await podsOf("web")).every(active) && imagesOf("web")), ["web:2"])
	assert.match(await kubectl("rollout", "history", "deployment/web"), /^1 .*\n2 /m)
	await kubectl("rollout", "undo", "deployment/web")
	await status("web")
	assert.deepEqual(await imagesOf("web"), ["web:1"])
	const history = await kubectl("rollout", "history", "deployment/web")
	assert.match(history, /^2 .*\n3 /m)
	assert.doesNotMatch(history, /^1 /m)
	const first = (await setsOf("web")).find((s) => s.spec.replicas > 0)
	assert.equal(first.metadata.annotations["deployment.kubernetes.io/revision"], "3")
	assert.equal(first.metadata.annotations["deployment.kubernetes.io/revision-history"], "1")
	await stop()
})

await test("restart replaces every pod", async () => {
	const before = new Set((await podsOf("web")).map((p) => p.metadata.uid))
	await kubectl("rollout", "restart", "deployment/web")
	await status("web")
	await until("other pods", async () => (await podsOf("web")).filter(active).every((p) => !before.has(p.metadata.uid)))
})

await test("a paused deployment scales but does not roll out", async () => {
	await kubectl("rollout", "pause", "deployment/web")
	await kubectl("set", "image", "deployment/web", "web=web:3")
	await kubectl("scale", "deployment/web", "--replicas", "6")
	const d = await until("6 replicas", async () => {
		const v = await deployment("web")
		return v.status.readyReplicas === 6 && v
	})
	assert.equal(condition(d, "Progressing").reason, "DeploymentPaused")
	assert.deepEqual(await imagesOf("web"), ["web:1"])
	await kubectl("rollout", "resume", "deployment/web")
	await status("web")
	assert.deepEqual(await until("only new pods", async () => (await podsOf("web")).every(active) && imagesOf("web")), ["web:3"])
})

await test("scaling during a stuck rollout spreads over both replica sets", async () => {
	await kubectl("patch", "deployment", "web", "--type", "merge", "-p", JSON.stringify({ spec: { template: {
		metadata: { annotations: { "devplane.dev/hollow-pull-error": "web:4 no such image" } }, spec: { containers: [{ name: "web", image: "web:4" }] } } } }))
	// 6 with 25 %: at most 8, and at least 5 of them available.
	await until("a stuck rollout", async () => {
		const sizes = (await setsOf("web")).map((s) => s.spec.replicas).filter((n) => n > 0).sort()
		return sizes.join() === "3,5"
	})
	await kubectl("scale", "deployment/web", "--replicas", "12")
	await until("proportions", async () => {
		const sizes = (await setsOf("web")).map((s) => s.spec.replicas).filter((n) => n > 0).sort()
		// At most 15: 5 of 8 become 9, 3 of 8 become 6.
		return sizes.join() === "6,9"
	})
	const d = await deployment("web")
	assert.ok(d.status.unavailableReplicas > 0, changed(d))
	await kubectl("rollout", "undo", "deployment/web")
	await status("web")
	assert.deepEqual(await until("only good pods", async () => (await podsOf("web")).every(active) && imagesOf("web")), ["web:3"])
})

await test("a deadline that passes is reported, and rollout status fails", async () => {
	expect(await client.post(deployments, { metadata: { name: "late" }, spec: {
		progressDeadlineSeconds: 2, selector: { matchLabels: { app: "late" } },
		template: { metadata: { labels: { app: "late" }, annotations: { "devplane.dev/hollow-pull-error": "late:1 no such image" } }, spec: { containers: [{ name: "c", image: "late:1" }] } } } }), 201)
	await assert.rejects(status("late"), /exceeded its progress deadline/)
	const d = await deployment("late")
	assert.deepEqual([condition(d, "Progressing").status, condition(d, "Progressing").reason], ["False", "ProgressDeadlineExceeded"])
	await kubectl("delete", "deployment", "late")
})

await test("Recreate stops all old pods first", async () => {
	expect(await client.post(deployments, { metadata: { name: "single" }, spec: {
		replicas: 2, strategy: { type: "Recreate" }, selector: { matchLabels: { app: "single" } },
		template: { metadata: { labels: { app: "single" } }, spec: { terminationGracePeriodSeconds: 1, containers: [{ name: "c", image: "s:1" }] } } } }), 201)
	await status("single")
	let mixed = false, over = false
	const watcher = (async () => {
		while (!over)
			mixed ||= new Set((await podsOf("single")).map((p) => p.spec.containers[0].image)).size > 1
	})()
	await kubectl("set", "image", "deployment/single", "c=s:2")
	await status("single")
	over = true
	await watcher
	assert.equal(mixed, false)
	assert.deepEqual(await imagesOf("single"), ["s:2"])
})

await test("old replica sets beyond the limit are deleted", async () => {
	await kubectl("patch", "deployment", "web", "--type", "merge", "-p", '{"spec":{"revisionHistoryLimit":1}}')
	await until("one old replica set", async () => (await setsOf("web")).length === 2)
})

await test("a controller that is killed during a rollout goes on after it", async () => {
	const stop = observe("web", { most: 15, least: 9 })
	for (const image of ["web:5", "web:6"]) {
		await kubectl("set", "image", "deployment/web", `web=${image}`)
		for (let i = 0; i < 3; i++) {
			await new Promise((resolve) => setTimeout(resolve, 40 + 60 * i))
			await controller.kill()
			await controller.begin()
		}
		await status("web")
	}
	await stop()
	assert.deepEqual(await until("only new pods", async () => (await podsOf("web")).every(active) && imagesOf("web")), ["web:6"])
	assert.equal((await podsOf("web")).length, 12)
})

await test("deleting a deployment deletes all that is below it, and orphans stay", async () => {
	await kubectl("delete", "deployment", "single", "--cascade=orphan")
	assert.equal((await setsOf("single")).filter((s) => s.spec.replicas === 2 && !s.metadata.ownerReferences).length, 1)
	assert.equal((await podsOf("single")).filter(active).length, 2)
	await kubectl("delete", "replicaset", "-l", "app=single")
	await kubectl("delete", "deployment", "web")
	await until("nothing left", async () => (await setsOf("web")).length + (await podsOf("web")).length + (await podsOf("single")).length === 0, 60)
})

await test("a pod is deleted and replaced by one replica set, and adopted by another", async () => {
	const spec = (app) => ({ containers: [{ name: "c", image: `${app}:1` }] })
	await cluster.run({ metadata: { name: "orphan", labels: { app: "plain" } }, spec: spec("plain") })
	expect(await client.post(replicaSets, { metadata: { name: "plain" }, spec: { replicas: 2, selector: { matchLabels: { app: "plain" } },
		template: { metadata: { labels: { app: "plain" } }, spec: spec("plain") } } }), 201)
	await until("two pods", async () => (await podsOf("plain")).filter((p) => p.metadata.ownerReferences?.[0].name === "plain").length === 2)
	await kubectl("delete", "pod", "orphan", "--now")
	await until("two pods again", async () => (await podsOf("plain")).filter(active).length === 2)
	await kubectl("delete", "replicaset", "plain")
})

await test("the server rejects a deployment that no rollout could satisfy", async () => {
	const object = (change) => ({ metadata: { name: "wrong" }, spec: { selector: { matchLabels: { app: "wrong" } },
		template: { metadata: { labels: { app: "wrong" } }, spec: { containers: [{ name: "c", image: "x" }] } }, ...change } })
	const rolling = (maxSurge, maxUnavailable) => ({ strategy: { rollingUpdate: { maxSurge, maxUnavailable } } })
	for (const [change, text] of [
		[rolling(0, "0%"), /may not be 0 when `maxSurge` is 0/],
		[rolling(1, "101%"), /must not be greater than 100%/],
		[{ selector: { matchLabels: { app: "other" } } }, /`selector` does not match template `labels`/],
		[{ minReadySeconds: 700 }, /must be greater than minReadySeconds/],
		[{ replicas: -1 }, /must be greater than or equal to 0/],
	])
		assert.match(expect(await client.post(deployments, object(change)), 422).message, text)
	expect(await client.post(deployments, object({ replicas: 0 })), 201)
	const moved = { spec: { selector: { matchLabels: { app: "b" } }, template: { metadata: { labels: { app: "b" } } } } }
	assert.match(expect(await client.patch(`${deployments}/wrong`, moved, "merge"), 422).message, /field is immutable/)
	expect(await client.delete(`${deployments}/wrong`), 200)
})

// --- devices ---------------------------------------------------------------------------------

const DRIVER = "gpu.sim.devplane.dev"

await test("a deployment's pod leaves a device that breaks", async () => {
	start("driver", "sim", "--kubeconfig", node.kubeconfig, "--node-name", "n1", "--root-dir", node.root, "--cdi-dir", `${node.root}/cdi`,
		"--devices", "2", "--log-format", "text", "--metrics-bind-address", "127.0.0.1:0")
	await until("a slice", async () => (await client.get(`${dra}/resourceslices`)).body.items.length === 1, 60)
	expect(await client.post(`${dra}/deviceclasses`, { metadata: { name: "gpu" }, spec: { selectors: [{ cel: { expression: `device.driver == "${DRIVER}"` } }] } }), 201)
	expect(await client.post(`${dra}/namespaces/default/resourceclaimtemplates`, { metadata: { name: "gpu" }, spec: { spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] } } } }), 201)
	expect(await client.post(deployments, { metadata: { name: "infer" }, spec: {
		selector: { matchLabels: { app: "infer" } },
		template: { metadata: { labels: { app: "infer" } }, spec: {
			terminationGracePeriodSeconds: 0, resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "gpu" }],
			containers: [{ name: "c", image: "infer:1", resources: { claims: [{ name: "gpu" }] } }] } } } }), 201)
	await status("infer")
	const deviceOf = async (p) => {
		const name = p.status.resourceClaimStatuses?.[0].resourceClaimName
		return (await client.get(`${claims}/${name}`)).body.status?.allocation?.devices.results[0].device
	}
	const [first] = await podsOf("infer")
	const broken = await deviceOf(first)
	expect(await client.post(`${dra}/devicetaintrules`, { metadata: { name: "broken" }, spec: {
		deviceSelector: { driver: DRIVER, pool: "n1", device: broken }, taint: { key: "example.com/unhealthy", effect: "NoExecute" } } }), 201)
	const second = await until("another pod on the other device", async () => {
		const p = (await podsOf("infer")).find((x) => active(x) && x.metadata.uid !== first.metadata.uid && x.status.phase === "Running")
		return p && p
	}, 60)
	assert.notEqual(await deviceOf(second), broken)
	await status("infer")
	assert.equal((await podsOf("infer")).filter(active).length, 1)
})

await cluster.stop()
finish()
