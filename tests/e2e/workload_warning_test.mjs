// Objects that no running controller acts on: the server warns when they are created, and names what to run.
import assert from "node:assert/strict"
import { startServer, unique } from "./api_lib.mjs"
import { finish, start, test, until } from "./lib.mjs"

const server = await startServer()
const labels = { app: "a" }
const template = { metadata: { labels }, spec: { restartPolicy: "Never", containers: [{ name: "main", image: "busybox" }] } }
const selector = { matchLabels: labels }
const always = { ...template, spec: { ...template.spec, restartPolicy: "Always" } }
const objects = {
	"/apis/batch/v1/namespaces/default/jobs": { template },
	"/apis/apps/v1/namespaces/default/deployments": { selector, template: always },
	"/apis/apps/v1/namespaces/default/daemonsets": { selector, template: always },
	"/apis/apps/v1/namespaces/default/statefulsets": { selector, template: always, serviceName: "a" },
}
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"

async function warningOf(path, spec = objects[path]) {
	const { code, headers, text } = await server.client.post(path, { metadata: { name: unique("o") }, spec })
	assert.equal(code, 201, text)
	return headers.warning ?? ""
}

await test("without a controller each kind is warned about", async () => {
	for (const path of Object.keys(objects)) {
		const resource = path.split("/").at(-1)
		assert.match(await warningOf(path), new RegExp(`nothing acts on ${resource}: no .*-controller runs`))
	}
	assert.match(await warningOf("/apis/batch/v1/namespaces/default/jobs"), /start `devplane controller`, or kube-controller-manager/)
	assert.match(await warningOf("/apis/apps/v1/namespaces/default/statefulsets"), /devplane has none; start kube-controller-manager/)
	assert.equal(await warningOf("/api/v1/namespaces/default/services", { ports: [{ port: 80 }] }), "", "a service without a selector")
})

await test("an update is not warned about", async () => {
	const path = "/apis/batch/v1/namespaces/default/jobs", name = unique("o")
	await server.client.post(path, { metadata: { name }, spec: { template, suspend: true } })
	const { code, headers } = await server.client.patch(`${path}/${name}`, { spec: { suspend: false } }, "merge")
	assert.equal(code, 200)
	assert.equal(headers.warning, undefined)
})

const controller = start("controller", "--kubeconfig", server.kubeconfig, "--leader-elect=false", "--metrics-bind-address", "127.0.0.1:0")

await test("a running controller ends the warnings about what it does", async () => {
	await until("a job without a warning", async () => (await warningOf("/apis/batch/v1/namespaces/default/jobs")) === "")
	assert.equal(await warningOf("/apis/apps/v1/namespaces/default/deployments"), "")
	assert.match(await warningOf("/apis/apps/v1/namespaces/default/statefulsets"), /devplane has none/)
})

await test("a controller that has not renewed its announcement does not count", async () => {
	controller.child.kill("SIGKILL")
	await controller.ended
	const { body } = await server.client.get(`${leases}/devplane-controllers`)
	const [key, value] = Object.entries(body.metadata.annotations).find(([name]) => name.startsWith("controllers.devplane.dev/"))
	assert.match(value, /^\S+Z .*job-controller/)
	const old = value.replace(/^\S+/, new Date(Date.now() - 120e3).toISOString().replace(/\.\d+Z/, "Z"))
	await server.client.patch(`${leases}/devplane-controllers`, { metadata: { annotations: { [key]: old } } }, "merge")
	assert.match(await warningOf("/apis/batch/v1/namespaces/default/jobs"), /nothing acts on jobs/)
})

await test("a lease of kube-controller-manager counts for all kinds", async () => {
	const { code, text } = await server.client.post(leases, {
		metadata: { name: "kube-controller-manager" },
		spec: { holderIdentity: "m", leaseDurationSeconds: 15, renewTime: new Date().toISOString().replace("Z", "000Z") },
	})
	assert.equal(code, 201, text)
	for (const path of Object.keys(objects))
		assert.equal(await warningOf(path), "")
})

await server.stop()
finish()
