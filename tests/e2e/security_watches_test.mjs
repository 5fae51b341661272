// Watches by users who lose their access: the watch ends and delivers no later event.
import assert from "node:assert/strict"
import { core, startServer } from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"

const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
const secrets = `${core}/namespaces/default/secrets`
const accounts = `${core}/namespaces/default/serviceaccounts`
const eternal = `${secrets}?watch=true&timeoutSeconds=9999999999`

async function made(answer) {
	const { code, text, body } = await answer
	assert.equal(code, 201, text)
	return body
}

for (const backend of ["lmdb", "etcd"]) {
	const server = await startServer(backend)
	const { client } = server
	await made(client.post(`${rbac}/roles`, { metadata: { name: "reader" }, rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["watch"] }] }))

	// An account that may watch secrets, and its watch.
	const watcher = async (name) => {
		await made(client.post(accounts, { metadata: { name } }))
		await made(client.post(`${rbac}/rolebindings`, { metadata: { name }, subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
			roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" } }))
		const { status } = await made(client.post(`${accounts}/${name}/token`, { spec: {} }))
		const user = server.as({ token: status.token })
		const watch = await user.watch(eternal)
		assert.equal(watch.code, 200)
		return { user, watch }
	}
	await test(`${backend}: watches end whose RoleBinding or ServiceAccount is gone, and others go on`, async () => {
		const [unbound, gone, kept] = [await watcher("unbound"), await watcher("gone"), await watcher("kept")]
		assert.equal((await client.delete(`${rbac}/rolebindings/unbound`)).code, 200)
		assert.equal((await client.delete(`${accounts}/gone`)).code, 200)
		await until("the watches' end", () => unbound.watch.over && gone.watch.over, 60)
		await made(client.post(secrets, { metadata: { name: "late" } }))
		await until("an event", () => kept.watch.brief.includes("ADDED late"))
		for (const [{ user, watch }, code] of [[unbound, 403], [gone, 401]]) {
			assert.ok(!watch.brief.includes("ADDED late"))
			assert.equal((await user.get(eternal)).code, code)
		}
		kept.watch.close()
	})
	await server.stop()
}

await test("nobody watches for longer than the server lets those watch who name no time", async () => {
	const server = await startServer("lmdb", { flags: ["--min-request-timeout", "1"] })
	const watch = await server.client.watch(eternal)
	await until("the watch's end", () => watch.over, 60)
	await server.stop()
})

finish()
