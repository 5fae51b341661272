// Static pods and their mirror pods on a hollow node: files that come, change, break and go; an agent that is killed; no
// API server; deleted mirror pods.
import assert from "node:assert/strict"
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { Client } from "./api_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"
import { pods, podOn, shortFolder, startCluster } from "./node_lib.mjs"

const cluster = await startCluster({ names: ["n1"] })
const folder = `${shortFolder()}/manifests`
mkdirSync(folder)
const { ca, cert, key } = cluster.server.credentials
writeFileSync(`${scratch}/ca.crt`, ca)
const flags = ["--client-ca-file", `${scratch}/ca.crt`, "--pod-manifest-path", folder, "--file-check-frequency", "1s"]
const node = await cluster.node("n1", { flags })

const mirrorKey = "kubernetes.io/config.mirror"

function manifest(name, { image = "busybox", ...more } = {}) {
	return JSON.stringify({
		apiVersion: "v1", kind: "Pod", metadata: { name, labels: { app: name } },
		spec: { terminationGracePeriodSeconds: 1, containers: [{ name: "main", image }], ...more },
	})
}

// Atomically, as a careful tool does.
function put(file, text) {
	writeFileSync(`${folder}/.${file}`, text)
	renameSync(`${folder}/.${file}`, `${folder}/${file}`)
}

const remove = (file) => rmSync(`${folder}/${file}`)
const mirror = (name, wanted = () => true) => cluster.pod({ metadata: { name: `${name}-n1` } }, wanted)
const running = (p) => p.status.phase === "Running"
const gone = (name) => until(`${name} gone`, async () => (await cluster.client.get(`${pods}/${name}-n1`)).code === 404, 60)
// The kubelet's own API, with an administrator's certificate.
async function kubelet(path) {
	const client = new Client(node.api, { cert, key })
	client.agent.options.rejectUnauthorized = false
	const { body } = await client.get(path)
	client.close()
	return body
}

const startedAt = (p) => p.status.containerStatuses[0].state.running.startedAt

await test("a file becomes a pod, and a mirror pod shows it", async () => {
	put("web.yaml", `# YAML\napiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: main, image: busybox}]\n`)
	const p = await mirror("web", running)
	const n = await cluster.readNode("n1")
	assert.deepEqual(p.metadata.ownerReferences, [{ apiVersion: "v1", kind: "Node", name: "n1", uid: n.metadata.uid, controller: true }])
	const { annotations } = p.metadata
	assert.equal(annotations["kubernetes.io/config.source"], "file")
	assert.match(annotations["kubernetes.io/config.hash"], /^[0-9a-f]{32}$/)
	assert.equal(annotations[mirrorKey], annotations["kubernetes.io/config.hash"])
	assert.notEqual(p.metadata.uid, annotations[mirrorKey])
	assert.equal(p.spec.nodeName, "n1")
	assert.ok(p.spec.tolerations.some((t) => t.operator === "Exists" && t.effect === "NoExecute" && !t.key))
	assert.equal(p.status.containerStatuses[0].ready, true)
	// The kubelet's own list has the static pod once.
	const items = (await kubelet("/pods")).items.filter((i) => i.metadata.name === "web-n1")
	assert.deepEqual(items.map((i) => i.metadata.uid), [annotations[mirrorKey]])
})

await test("deleting the mirror pod does not end the pod", async () => {
	const before = await mirror("web", running)
	await cluster.delete(before, 0)
	const after = await mirror("web", (p) => p.metadata.uid !== before.metadata.uid && running(p))
	assert.equal(after.status.containerStatuses[0].containerID, before.status.containerStatuses[0].containerID)
	assert.equal(startedAt(after), startedAt(before))
	// With grace, too: the agent ends the deletion.
	await cluster.delete(after, 30)
	const last = await mirror("web", (p) => p.metadata.uid !== after.metadata.uid && running(p))
	assert.equal(last.status.containerStatuses[0].containerID, before.status.containerStatuses[0].containerID)
})

await test("a changed file replaces the pod", async () => {
	put("web2.json", manifest("web2"))
	const before = await mirror("web2", running)
	put("web2.json", manifest("web2", { image: "nginx" }))
	const after = await mirror("web2", (p) => p.spec.containers[0].image === "nginx" && running(p))
	assert.notEqual(after.metadata.annotations[mirrorKey], before.metadata.annotations[mirrorKey])
	assert.notEqual(after.status.containerStatuses[0].containerID, before.status.containerStatuses[0].containerID)
})

await test("the same content in other words changes nothing", async () => {
	const before = await mirror("web2", running)
	put("web2.json", "\n" + JSON.stringify(JSON.parse(manifest("web2", { image: "nginx" })), null, 4))
	put("other.json", manifest("other"))
	await mirror("other", running)
	assert.equal((await mirror("web2")).metadata.uid, before.metadata.uid)
	remove("other.json")
	await gone("other")
})

await test("bad files are reported, and stop nothing", async () => {
	const before = await mirror("web2", running)
	put("web2.json", '{"apiVersion": "v1", "kind": "Po')
	put("aaa.yaml", "this is: [no pod")
	put("secret.yaml", manifest("secret", { volumes: [{ name: "v", secret: { secretName: "s" } }] }))
	put("node.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: x}\n")
	put("typo.yaml", manifest("typo", { hostNetwrk: true }))
	await mirror("typo", running)
	for (const words of [/aaa\.yaml/, /secret\.yaml.*static pods may not reference secrets/, /node\.yaml/, /web2\.json.*/, /typo\.yaml.*spec\.hostNetwrk/])
		await until(`${words} in the log`, () => words.test(node.process.err))
	const after = await mirror("web2")
	assert.equal(after.metadata.uid, before.metadata.uid)
	assert.ok(running(after))
	for (const file of ["aaa.yaml", "secret.yaml", "node.yaml", "typo.yaml"])
		remove(file)
	await gone("typo")
	put("web2.json", manifest("web2", { image: "nginx" }))
	// One report per fault, though the folder is looked at every second.
	assert.equal(node.process.err.split("secret.yaml").length, 2)
})

await test("of two files with one name, the first counts, then the second", async () => {
	put("one.json", manifest("twin", { image: "first" }))
	put("two.json", manifest("twin", { image: "second" }))
	await mirror("twin", (p) => running(p) && p.spec.containers[0].image === "first")
	await until("report", () => /two\.json.*one\.json/.test(node.process.err))
	remove("one.json")
	await mirror("twin", (p) => running(p) && p.spec.containers[0].image === "second")
	remove("two.json")
	await gone("twin")
})

await test("a pod of the API that claims to be a mirror pod is deleted", async () => {
	const { code, text } = await cluster.client.post(pods, podOn("n1", { name: "fake", annotations: { [mirrorKey]: "x" } }))
	assert.equal(code, 201, text)
	await until("fake gone", async () => (await cluster.client.get(`${pods}/fake`)).code === 404, 60)
})

await test("a pod of the API that claims to come from a file is a plain pod", async () => {
	const p = await cluster.run(podOn("n1", { name: "liar", annotations: { "kubernetes.io/config.source": "file", "kubernetes.io/config.hash": "x" } }))
	await cluster.pod(p, running)
	await cluster.delete(p)
	await cluster.gone(p)
})

await test("kill -9 of the agent: the mirror pods stay, and each pod runs once", async () => {
	const before = await mirror("web", running)
	for (let i = 0; i < 3; i++) {
		await node.kill()
		if (i === 1)
			put("while.json", manifest("while"))
		if (i === 2)
			remove("while.json")
		await node.begin()
		if (i === 1)
			await mirror("while", running)
	}
	await gone("while")
	const after = await mirror("web", running)
	assert.equal(after.metadata.uid, before.metadata.uid)
	assert.equal((await cluster.client.get(pods)).body.items.filter((p) => p.metadata.name.startsWith("web-")).length, 1)
})

await test("pods run without an API server, and mirror pods follow", async () => {
	await node.kill()
	await cluster.server.stop()
	put("early.json", manifest("early"))
	const begun = node.begin().catch(() => {}) // its wait for the Node fails
	await until("start without a server", () => /starting a static pod.*early/.test(node.process.err), 60)
	await cluster.server.begin()
	await begun
	await mirror("early", running)
	remove("early.json")
	await gone("early")
})

await test("without the folder, static pods and mirror pods end", async () => {
	rmSync(folder, { recursive: true })
	await gone("web")
	await gone("web2")
	assert.deepEqual((await cluster.client.get(pods)).body.items, [])
	await node.stop()
})

await cluster.stop()
finish()
