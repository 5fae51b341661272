// Ways around the gate: paths that look like others, writes that read, writes that are other writes, names that
// others borrow, questions that are too large. Each case was open once, or is where a server like this is open.
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import https from "node:https"
import { core, dra, expect, expectStatus, pod, slice, startServer, unique } from "./api_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"

const rbac = "/apis/rbac.authorization.k8s.io/v1"
const certificates = "/apis/certificates.k8s.io/v1"
const csrs = `${certificates}/certificatesigningrequests`
const leases = "/apis/coordination.k8s.io/v1/namespaces/team/leases"

const people = {
	node: ["system:node:n1", "system:nodes"],
	reader: ["rita"],
	writer: ["wanda"],
	granter: ["greta"],
	asker: ["adam"],
	approver: ["amy"],
	signer: ["sam"],
	mimic: ["mia"],
	nobody: ["nina"],
}

const rule = (verbs, apiGroups, resources, resourceNames) => ({ verbs, apiGroups, resources, ...(resourceNames && { resourceNames }) })
const role = (kind, name, namespace, rules, rest) => ({
	apiVersion: "rbac.authorization.k8s.io/v1", kind, metadata: { name, namespace }, rules, ...rest,
})
const binding = (kind, name, namespace, roleKind, roleName, ...subjects) => ({
	apiVersion: "rbac.authorization.k8s.io/v1", kind, metadata: { name, namespace },
	roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: roleKind, name: roleName },
	subjects: subjects.map((name) => ({ kind: "User", name, apiGroup: "rbac.authorization.k8s.io" })),
})

// Rules for one user; in the namespace, or everywhere.
async function grant(client, user, namespace, ...rules) {
	const name = unique("grant"), kind = namespace ? "Role" : "ClusterRole"
	const where = namespace ? `${rbac}/namespaces/${namespace}/` : `${rbac}/cluster`
	expect(await client.post(`${where}roles`, role(kind, name, namespace, rules)), 201)
	expect(await client.post(`${where}rolebindings`, binding(`${kind}Binding`, name, namespace, kind, name, user)), 201)
}

const lease = (name) => ({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name, namespace: "team" }, spec: {} })
const secret = (name) => ({ apiVersion: "v1", kind: "Secret", metadata: { name }, stringData: { a: "hunter2" } })

async function begin() {
	const tokens = `${scratch}/${unique("tokens")}.csv`, audit = `${scratch}/${unique("audit")}.log`
	writeFileSync(tokens, Object.entries(people).map(([name, [user, ...groups]], i) => `token-${name},${user},u${i},"${groups.join(",")}"\n`).join(""))
	const server = await startServer("lmdb", { flags: ["--token-auth-file", tokens, "--audit-log-path", audit, "--io-threads", "3"] })
	const { client } = server
	server.audit = audit
	for (const name of ["team", "other"])
		expect(await client.post(`${core}/namespaces`, { apiVersion: "v1", kind: "Namespace", metadata: { name } }), 201)
	for (const name of ["n1", "n2"])
		expect(await client.post(`${core}/nodes`, { apiVersion: "v1", kind: "Node", metadata: { name } }), 201)
	for (const ns of ["team", "other"]) {
		expect(await client.post(`${core}/namespaces/${ns}/secrets`, secret("s1")), 201)
		expect(await client.post(`${core}/namespaces/${ns}/serviceaccounts`, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } }), 201)
	}
	server.people = Object.fromEntries(Object.keys(people).map((name) => [name, server.as({ token: `token-${name}` })]))
	return server
}

// The path as it is: URLs would be tidied up on the way.
async function raw(server, method, path, headers = {}) {
	const { hostname, port } = new URL(server.url)
	const request = https.request({ method, hostname, port, path, headers, ca: server.credentials.ca })
	request.end()
	const [answer] = await once(request, "response")
	let text = ""
	for await (const chunk of answer)
		text += chunk
	return { code: answer.statusCode, text }
}

// --- paths -----------------------------------------------------------------------------------

async function paths(server) {
	const { client } = server
	await grant(client, "rita", "team", rule(["get", "list", "watch"], [""], ["pods", "configmaps"]))
	const authorization = { authorization: "Bearer token-reader" }

	await test("no spelling of a path reads what may not be read", async () => {
		for (const path of [
			"/api/v1/namespaces/team/secrets/s1", "/api/v1/namespaces/team/%73ecrets/s1", "/api/v1/namespaces/team%2Fsecrets%2Fs1",
			"//api/v1/namespaces/team/secrets/s1", "/api//v1/namespaces/team/secrets/s1", "/api/v1/namespaces/team/secrets/s1/",
			"/api/v1/namespaces/team/secrets//s1", "/api/v1//secrets", "/api/v1/secrets/", "/api/v1/namespaces//secrets",
			"/api/v1/namespaces/team/pods/../secrets/s1", "/api/v1/namespaces/team/pods/%2e%2e/secrets/s1", "/api/v1/./secrets",
			"/API/v1/namespaces/team/secrets/s1", "/api/v1/namespaces/team/Secrets/s1", "/api/V1/namespaces/team/secrets/s1",
			"/apis/v1/namespaces/team/secrets/s1", "/apis//v1/namespaces/team/secrets/s1", "/apis/core/v1/namespaces/team/secrets/s1",
			"/api/v1/watch/namespaces/team/secrets?timeoutSeconds=1", "/api/v1/watch/namespaces/team/secrets/s1?timeoutSeconds=1",
			"/api/v1/namespaces/team/secrets?watch=true&timeoutSeconds=1", "/api/v1/namespaces/team/secrets?fieldSelector=metadata.name%3Ds1",
			"/api/v1/namespaces/team/secrets/s1/status", "/api/v1/namespaces/team/secrets/s1/x/y", "/api/v1/namespaces/team/pods/s1/secrets",
			"/api/v1/namespaces/other/pods", "/api/v1/pods", "/api/v1/watch/pods?timeoutSeconds=1", "/api/v1/namespaces/team/pods/x/log",
			"/api/v1/namespaces/team/status/pods", "/api/v1/namespaces/team;/pods", "/api/v1/namespaces/team%00/pods", "/api/v1/namespaces/%zz/pods",
		]) {
			const { code, text } = await raw(server, "GET", path, authorization)
			assert.ok([400, 403, 404].includes(code), `${path}: ${code} ${text.slice(0, 300)}`)
			assert.doesNotMatch(text, /aHVudGVyMg/, path)
		}
	})

	await test("forbidden requests are rejected whether or not the object exists", async () => {
		for (const path of ["secrets/s1", "nosuch/s1", "pods/p/nosuch"]) {
			const there = await raw(server, "GET", `/api/v1/namespaces/team/${path}`, authorization)
			const absent = await raw(server, "GET", `/api/v1/namespaces/nowhere/${path}`, authorization)
			assert.deepEqual([there.code, there.text.replaceAll("team", "?")], [403, absent.text.replaceAll("nowhere", "?")])
		}
	})

	await test("methods that nobody knows are nobody's right", async () => {
		for (const method of ["HEAD", "OPTIONS", "TRACE", "PROPFIND"])
			assert.ok([403, 405].includes((await raw(server, method, "/api/v1/namespaces/team/secrets/s1", authorization)).code), method)
	})

	await test("a name in the query is no name of what is made", async () => {
		await grant(client, "wanda", "team", rule(["create"], [""], ["configmaps"], ["only"]))
		const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "another" } }
		const maps = `${core}/namespaces/team/configmaps`
		for (const path of [maps, `${maps}?fieldSelector=metadata.name%3Donly`])
			expectStatus(await server.people.writer.post(path, body), 403, "Forbidden")
		expect(await server.people.writer.post(`${maps}/only`, body), 405)
	})
}

// --- writes ----------------------------------------------------------------------------------

async function writes(server) {
	const { client, people: as } = server

	await test("a PUT that makes something needs the right to make it", async () => {
		await grant(client, "wanda", "team", rule(["get", "update", "patch"], ["coordination.k8s.io"], ["leases"]))
		const status = expectStatus(await as.writer.put(`${leases}/new`, lease("new")), 403, "Forbidden",
			/leases.coordination.k8s.io "new" is forbidden: User "wanda" cannot create resource "leases" in API group "coordination.k8s.io" in the namespace "team"/)
		assert.deepEqual(status.details, { name: "new", group: "coordination.k8s.io", kind: "leases" })
		expectStatus(await as.writer.put(`${leases}/new?dryRun=All`, lease("new")), 403, "Forbidden")
		expectStatus(await client.get(`${leases}/new`), 404, "NotFound")
		await grant(client, "wanda", "team", rule(["create"], ["coordination.k8s.io"], ["leases"], ["new"]))
		const made = expect(await as.writer.put(`${leases}/new`, lease("new")), 201)
		expect(await as.writer.put(`${leases}/new`, made), 200)
		expectStatus(await as.writer.put(`${leases}/newer`, lease("newer")), 403, "Forbidden")
	})

	await test("a write that changes nothing shows nothing to whom it is not allowed", async () => {
		for (const [name, node] of [["mine", "n1"], ["theirs", "n2"]]) {
			const made = pod(name)
			made.spec.nodeName = node
			expect(await client.post(`${core}/namespaces/team/pods`, made), 201)
		}
		const pods = `${core}/namespaces/team/pods`
		for (const path of [`${core}/nodes/n2`, `${core}/nodes/n2/status`, `${pods}/theirs/status`]) {
			expectStatus(await as.node.patch(path, {}, "merge"), 403, "Forbidden")
			expectStatus(await as.node.patch(`${path}?dryRun=All`, {}, "strategic"), 403, "Forbidden")
			expectStatus(await as.node.patch(path, [], "patch"), 403, "Forbidden")
		}
		expectStatus(await as.node.put(`${core}/nodes/n2`, expect(await client.get(`${core}/nodes/n2`), 200)), 403, "Forbidden")
		expect(await as.node.patch(`${core}/nodes/n1`, {}, "merge"), 200)
		expect(await as.node.patch(`${pods}/mine/status`, {}, "merge"), 200)
	})

	await test("nor does a deletion that was begun before", async () => {
		const pods = `${core}/namespaces/team/pods`
		expect(await client.delete(`${pods}/theirs`), 200)
		expectStatus(await as.node.delete(`${pods}/theirs`), 403, "Forbidden")
		expectStatus(await as.node.post(`${pods}/theirs/eviction`, { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "theirs" } }), 403, "Forbidden")
	})

	await test("a collection goes only as its objects may", async () => {
		await grant(client, "system:node:n1", undefined, rule(["deletecollection"], [""], ["pods"]))
		expectStatus(await as.node.delete(`${core}/namespaces/team/pods?fieldSelector=metadata.name%3Dtheirs`), 403, "Forbidden")
		expect(await client.get(`${core}/namespaces/team/pods/theirs`), 200)
		expect(await as.node.delete(`${core}/namespaces/team/pods?fieldSelector=spec.nodeName%3Dn1`), 200)
	})

	await test("a node cannot give its slice to another, nor take another's", async () => {
		expect(await as.node.post(`${dra}/resourceslices`, slice("own", "n1")), 201)
		expect(await client.post(`${dra}/resourceslices`, slice("foreign", "n2")), 201)
		expectStatus(await as.node.patch(`${dra}/resourceslices/own`, { spec: { nodeName: "n2" } }, "merge"), 422, "Invalid")
		expectStatus(await as.node.patch(`${dra}/resourceslices/foreign`, { spec: { nodeName: "n1" } }, "merge"), 403, "Forbidden")
		expectStatus(await as.node.post(`${dra}/resourceslices`, slice("third", "n2")), 403, "Forbidden")
		expectStatus(await as.node.delete(`${dra}/resourceslices?fieldSelector=spec.nodeName%3Dn2`), 403, "Forbidden")
		expectStatus(await as.node.delete(`${dra}/resourceslices`), 403, "Forbidden")
	})

	await test("a node with more rights than nodes have is bound by the rules of what it writes", async () => {
		await grant(client, "system:node:n1", undefined, rule(["create"], ["apiextensions.k8s.io"], ["customresourcedefinitions"]),
			rule(["create"], ["rbac.authorization.k8s.io"], ["clusterroles"]))
		const schema = { openAPIV3Schema: { type: "object" } }
		expect(await as.node.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
			apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: "things.example.com" },
			spec: { group: "example.com", scope: "Cluster", names: { plural: "things", kind: "Thing" }, versions: [{ name: "v1", served: true, storage: true, schema }] },
		}), 201)
		await until("served", async () => (await client.get("/apis/example.com/v1/things")).code === 200)
		expectStatus(await as.node.post(`${rbac}/clusterroles`, role("ClusterRole", "all", undefined, [rule(["*"], ["*"], ["*"])])), 403, "Forbidden")
	})
}

// --- granting --------------------------------------------------------------------------------

async function granting(server) {
	const { client, people: as } = server

	await test("all rights on a group do not include granting the status of slices", async () => {
		await grant(client, "greta", undefined, rule(["*"], ["resource.k8s.io"], ["*"]),
			rule(["create", "update", "patch"], ["rbac.authorization.k8s.io"], ["clusterroles", "clusterrolebindings"]))
		expect(await client.post(`${dra}/resourceslices`, slice("s", "n1")), 201)
		expectStatus(await as.granter.patch(`${dra}/resourceslices/s/status`, {}, "merge"), 403, "Forbidden")
		for (const resource of ["resourceslices/status"]) {
			const path = `${rbac}/clusterroles/${unique("made")}`, name = path.split("/").pop()
			const wanted = role("ClusterRole", name, undefined, [rule(["get", "update"], ["resource.k8s.io"], [resource])])
			expectStatus(await as.granter.post(`${rbac}/clusterroles`, wanted), 403, "Forbidden", /not currently held/)
			expectStatus(await as.granter.put(path, wanted), 403, "Forbidden", /not currently held/)
			expectStatus(await as.granter.post(`${rbac}/clusterroles?dryRun=All`, wanted), 403, "Forbidden", /not currently held/)
		}
		expectStatus(await as.granter.post(`${rbac}/clusterrolebindings`, binding("ClusterRoleBinding", "x", undefined, "ClusterRole", "system:devplane:controller", "greta")), 403, "Forbidden", /not currently held/)
		expect(await as.granter.post(`${rbac}/clusterroles`, role("ClusterRole", unique("made"), undefined, [rule(["get"], ["resource.k8s.io"], ["resourceslices/status"])])), 201)
	})

	await test("a role cannot be grown by any way of writing it", async () => {
		const roles = `${rbac}/clusterroles`
		const small = role("ClusterRole", "small", undefined, [rule(["get"], ["resource.k8s.io"], ["resourceclaims"])])
		expect(await as.granter.put(`${roles}/small`, small), 201)
		const rules = [rule(["get"], [""], ["secrets"])]
		expectStatus(await as.granter.patch(`${roles}/small`, { rules }, "merge"), 403, "Forbidden")
		expectStatus(await as.granter.patch(`${roles}/small`, [{ op: "replace", path: "/rules", value: rules }], "patch"), 403, "Forbidden")
		expectStatus(await as.granter.patch(`${roles}/small?dryRun=All`, { rules }, "strategic"), 403, "Forbidden")
		expectStatus(await as.granter.patch(`${roles}/small`, { aggregationRule: { clusterRoleSelectors: [{}] } }, "merge"), 403, "Forbidden", /aggregationRule/)
		expect(await as.granter.patch(`${roles}/small`, { metadata: { labels: { a: "b" } } }, "merge"), 200)
		// A user who aggregates cluster-admin's rules by a label must have them.
		expectStatus(await as.granter.patch(`${roles}/cluster-admin`, { metadata: { labels: { "rbac.authorization.k8s.io/aggregate-to-view": "true" } } }, "merge"), 403, "Forbidden")
	})

	await test("a binding with the same subject ten thousand times is one", async () => {
		const name = unique("many"), path = `${rbac}/namespaces/team/rolebindings`
		for (let i = 0; i < 10; i++)
			expect(await client.post(path, binding("RoleBinding", `${name}-${i}`, "team", "ClusterRole", "view", ...Array(10000).fill("many"))), 201)
		for (let i = 0; i < 10; i++)
			expect(await client.patch(`${path}/${name}-${i}`, { subjects: null }, "merge", { seconds: 30 }), 200)
	})
}

// --- certificates ----------------------------------------------------------------------------

function signingRequest(subject) {
	const key = `${scratch}/${unique("key")}.pem`
	const made = spawnSync("openssl", ["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-subj", subject])
	assert.equal(made.status, 0, String(made.stderr))
	return made.stdout.toString("base64")
}

const csr = (name, subject, spec = {}) => ({
	apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest", metadata: { name },
	spec: { request: signingRequest(subject), signerName: "example.com/client", usages: ["client auth"], ...spec },
})

async function signing(server) {
	const { client, people: as } = server
	await grant(client, "adam", undefined, rule(["create", "get", "update", "patch"], ["certificates.k8s.io"], ["certificatesigningrequests"]))
	for (const [user, sub] of [["amy", "approval"], ["sam", "status"]])
		await grant(client, user, undefined, rule(["update", "patch"], ["certificates.k8s.io"], [`certificatesigningrequests/${sub}`]))
	const approved = { status: { conditions: [{ type: "Approved", status: "True", reason: "test" }] } }

	await test("a signing request says who asked, not what he says of himself", async () => {
		const lies = { username: "system:node:n1", uid: "0", groups: ["system:nodes", "system:masters"], extra: { a: ["b"] } }
		const truth = { username: "adam", uid: `u${Object.keys(people).indexOf("asker")}`, groups: ["system:authenticated"] }
		const told = ({ username, uid, groups, extra }) => ({ username, uid, groups, ...(extra && { extra }) })
		const made = expect(await as.asker.post(csrs, csr("mine", "/CN=adam", lies)), 201)
		assert.deepEqual(told(made.spec), truth)
		for (const body of [{ spec: lies }, { spec: { signerName: "kubernetes.io/kube-apiserver-client" } }, approved])
			expect(await as.asker.patch(`${csrs}/mine`, body, "merge"), 200)
		const stored = expect(await client.get(`${csrs}/mine`), 200)
		assert.deepEqual(told(stored.spec), truth)
		assert.deepEqual([stored.spec, stored.status], [made.spec, made.status])
	})

	await test("a signing request is approved and signed by who may for that signer", async () => {
		expectStatus(await as.approver.patch(`${csrs}/mine/approval`, approved, "merge"), 403, "Forbidden", /user not permitted to approve requests with signerName "example.com\/client"/)
		await grant(client, "amy", undefined, rule(["approve"], ["certificates.k8s.io"], ["signers"], ["example.com/*"]))
		const lies = { spec: { username: "x", signerName: "example.com/other" } }
		const now = expect(await as.approver.patch(`${csrs}/mine/approval`, { ...approved, ...lies }, "merge"), 200)
		assert.equal(now.spec.username, "adam")
		assert.equal(now.spec.signerName, "example.com/client")
		assert.equal(now.status.conditions[0].type, "Approved")
		const signed = { status: { certificate: Buffer.from("no certificate").toString("base64") } }
		expectStatus(await as.signer.patch(`${csrs}/mine/status`, signed, "merge"), 403, "Forbidden", /user not permitted to sign requests with signerName "example.com\/client"/)
		const other = expect(await as.approver.patch(`${csrs}/mine/approval`, { ...signed, metadata: { labels: { a: "b" } } }, "merge"), 200)
		assert.equal(other.status.certificate, undefined)
	})

	await test("nobody asks for a certificate of the masters", async () => {
		for (const [subject, code] of [["/O=system:masters/CN=adam", 403], ["/O=team/O=system:masters/CN=adam", 403], ["/O=team/CN=adam", 201]])
			expect(await as.asker.post(csrs, csr(unique("client"), subject, { signerName: "kubernetes.io/kube-apiserver-client" })), code)
	})
}

// --- names -----------------------------------------------------------------------------------

async function names(server) {
	const { client, people: as } = server
	await grant(client, "mia", undefined, rule(["impersonate"], [""], ["serviceaccounts"]), rule(["impersonate"], [""], ["users"], ["rita"]))
	const who = async (headers) => as.mimic.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }, { headers })

	await test("the right to impersonate any account does not cover users with similar names", async () => {
		expect(await who({ "impersonate-user": "system:serviceaccount:team:default" }), 201)
		expect(await who({ "impersonate-user": "rita" }), 201)
		for (const name of ["system:serviceaccount:Team:default", "system:serviceaccount:team:a_b", "system:serviceaccount:team", "system:serviceaccount:team:",
			"system:serviceaccount::default", "system:serviceaccount:team:a:b", "system:serviceaccount: :x", "Rita"])
			expectStatus(await who({ "impersonate-user": name }), 403, "Forbidden", /cannot impersonate resource "users"/)
	})

	await test("groups, extras and uids are asked for one by one", async () => {
		for (const more of [{ "impersonate-group": "system:masters" }, { "impersonate-group": ["team", "system:masters"] }, { "impersonate-extra-scopes": "x" },
			{ "impersonate-uid": "0" }, { "impersonate-group": "" }])
			expectStatus(await who({ "impersonate-user": "rita", ...more }), 403, "Forbidden")
		expectStatus(await who({ "impersonate-group": "system:masters" }), 400, "BadRequest")
		expectStatus(await who({ "impersonate-user": "", "impersonate-group": "system:masters" }), 400, "BadRequest")
	})

	await test("an unknown header of impersonation makes nobody somebody", async () => {
		const { status } = expect(await who({ "impersonate-users": "rita" }), 201)
		assert.equal(status.userInfo.username, "mia")
	})
}

// --- sizes -----------------------------------------------------------------------------------

async function sizes(server) {
	const { client, people: as } = server

	await test("a review of a token for very many audiences is refused", async () => {
		const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { audiences: ["a"] } }
		expect(await client.post(`${core}/namespaces/team/serviceaccounts`, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "sa" } }), 201)
		const { status: { token } } = expect(await client.post(`${core}/namespaces/team/serviceaccounts/sa/token`, request), 201)
		const review = (audiences) => client.post("/apis/authentication.k8s.io/v1/tokenreviews", { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token, audiences } })
		expectStatus(await review(Array(20000).fill("b")), 400, "BadRequest", /audiences/)
		assert.equal(expect(await review(["b", "a"]), 201).status.authenticated, true)
	})

	await test("a refusal says why, however long the faults are, and is not longer than they", async () => {
		for (const [containers, length] of [[1, 2900000], [20, 100000], [1000, 2500]]) {
			const spec = { containers: Array.from({ length: containers }, (_, i) => ({ name: `X${i}${"y".repeat(length)}`, image: "i" })) }
			const { code, body, text } = await client.post(`${core}/namespaces/team/pods`, { metadata: { name: "p" }, spec })
			assert.equal(code, 422)
			assert.match(body.message, /^Pod "p" is invalid: .*spec.containers\[0\].name: Invalid value: "X0yyy/)
			assert.ok(text.length < 2 * 1024 * 1024, `${text.length} bytes`)
		}
	})

	await test("pods are as secure as the labels of their namespace ask", async () => {
		const labels = { "pod-security.kubernetes.io/enforce": "baseline" }, pods = `${core}/namespaces/strict/pods`
		expect(await client.post(`${core}/namespaces`, { metadata: { name: "strict", labels } }), 201)
		const pod = (name, more) => ({ metadata: { name }, spec: { containers: [{ name: "c", image: "i" }], automountServiceAccountToken: false, ...more } })
		await until("service account", async () => (await client.get(`${core}/namespaces/strict/serviceaccounts/default`)).code === 200 ||
			(await client.post(`${core}/namespaces/strict/serviceaccounts`, { metadata: { name: "default" } })).code === 201)
		for (const [i, c] of [client, server.client2].entries()) {
			expectStatus(await c.post(pods, pod("host", { hostNetwork: true })), 403, "Forbidden", /violates PodSecurity "baseline:latest": host namespaces \(hostNetwork=true\)/)
			expect(await c.post(pods, pod("ab"[i])), 201)
		}
		expectStatus(await client.patch(`${core}/namespaces/strict`, { metadata: { labels: { "pod-security.kubernetes.io/warn": "much" } } }, "merge"), 422, "Invalid", /must be one of/)
		const line = await until("audit line", () => readFileSync(server.audit, "utf8").split("\n").filter(Boolean).map(JSON.parse)
			.find(({ objectRef, responseStatus }) => objectRef?.namespace === "strict" && objectRef.name === "a" && responseStatus?.code === 201))
		assert.equal(line.annotations["pod-security.kubernetes.io/enforce-policy"], "baseline:latest")
		const stricter = await client.patch(`${core}/namespaces/strict`, { metadata: { labels: { "pod-security.kubernetes.io/enforce": "restricted" } } }, "merge")
		assert.match(stricter.headers.warning, /existing pods in namespace \\"strict\\" violate .*a \(and 1 other pod\): allowPrivilegeEscalation != false/)
	})

	await test("no user makes a pod a mirror pod, and no node takes that off", async () => {
		const mirror = { "kubernetes.io/config.mirror": "x" }, pods = `${core}/namespaces/team/pods`
		const pod = (name, annotations) => ({ metadata: { name, annotations }, spec: { containers: [{ name: "c", image: "i" }], nodeName: "n1", automountServiceAccountToken: false } })
		expect(await client.post(pods, pod("plain")), 201)
		expect(await client.post(pods, pod("mirror", mirror)), 201)
		const refused = (answer) => expectStatus(answer, 422, "Invalid", /mirror pod annotation/)
		for (const sub of ["", "/status"]) {
			refused(await client.patch(`${pods}/plain${sub}`, { metadata: { annotations: mirror } }, "merge"))
			refused(await client.patch(`${pods}/mirror${sub}`, { metadata: { annotations: null } }, "merge"))
			refused(await client.patch(`${pods}/mirror${sub}`, { metadata: { annotations: { "kubernetes.io/config.mirror": "y" } } }, "merge"))
		}
	})

	await test("a line of the audit log is one, whatever a client says of itself", async () => {
		const agent = `"\\`.repeat(10000)
		const { headers } = await as.nobody.get(`${core}/namespaces/team/secrets/s1?${"%22".repeat(4000)}`, { headers: { "user-agent": agent } })
		const line = await until("audit line", () => readFileSync(server.audit, "utf8").split("\n").filter(Boolean).map(JSON.parse)
			.find(({ auditID, stage }) => auditID === headers["audit-id"] && stage === "ResponseComplete"))
		assert.equal(line.user.username, "nina")
		assert.equal(line.responseStatus.code, 403)
	})

	await test("the audit log has no tokens", () => {
		assert.doesNotMatch(readFileSync(server.audit, "utf8"), /token-|hunter2|eyJ/)
		assert.doesNotMatch(server.process.err + server.process.out, /token-[a-z]|hunter2|eyJ/)
	})
}

// Plugins that are off unless a flag names them.
async function optional() {
	const tokens = `${scratch}/${unique("tokens")}.csv`, pods = `${core}/namespaces/team/pods`
	writeFileSync(tokens, "token-wanda,wanda,u1\n")
	const server = await startServer("lmdb", { flags: ["--token-auth-file", tokens, "--enable-admission-plugins", "AlwaysPullImages,OwnerReferencesPermissionEnforcement"] })
	const { client } = server, wanda = server.as({ token: "token-wanda" })
	expect(await client.post(`${core}/namespaces`, { metadata: { name: "team" } }), 201)
	expect(await client.post(`${core}/namespaces/team/serviceaccounts`, { metadata: { name: "default" } }), 201)
	await grant(client, "wanda", "team", rule(["create", "get", "patch"], [""], ["configmaps"]))

	await test("AlwaysPullImages: images are pulled anew", async () => {
		const made = expect(await client.post(pods, { metadata: { name: "p" }, spec: {
			containers: [{ name: "c", image: "i:1", imagePullPolicy: "Never" }], initContainers: [{ name: "d", image: "j:1" }],
			volumes: [{ name: "v", image: { reference: "k:1", pullPolicy: "IfNotPresent" } }] } }), 201)
		assert.deepEqual([...made.spec.containers, ...made.spec.initContainers].map((c) => c.imagePullPolicy), ["Always", "Always"])
		assert.equal(made.spec.volumes.find(({ name }) => name === "v").image.pullPolicy, "Always")
		expect(await client.patch(`${pods}/p`, { metadata: { labels: { a: "b" } } }, "merge"), 200)
	})

	await test("OwnerReferencesPermissionEnforcement: owners are set by those who may delete or finalize", async () => {
		const maps = `${core}/namespaces/team/configmaps`
		const uid = expect(await client.post(maps, { metadata: { name: "owner" } }), 201).metadata.uid
		const owned = (name, blocks) => ({ metadata: { name, ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid, blockOwnerDeletion: blocks }] } })
		expect(await wanda.post(maps, owned("a", false)), 201)
		expectStatus(await wanda.post(maps, owned("b", true)), 403, "Forbidden", /cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on/)
		expectStatus(await wanda.patch(`${maps}/a`, owned("a", true), "merge"), 403, "Forbidden", /cannot set an ownerRef on a resource you can't delete/)
		expect(await wanda.patch(`${maps}/a`, { data: { a: "b" } }, "merge"), 200)
		await grant(client, "wanda", "team", rule(["update"], [""], ["configmaps/finalizers"]))
		expect(await wanda.post(maps, owned("b", true)), 201)
		expectStatus(await wanda.post(maps, { metadata: { name: "c", ownerReferences: [{ apiVersion: "x/v1", kind: "X", name: "x", uid, blockOwnerDeletion: true }] } }), 403, "Forbidden", /cannot find RESTMapping for APIVersion x\/v1 Kind X/)
	})
	await server.stop()
}

const server = await begin()
await paths(server)
await writes(server)
await granting(server)
await signing(server)
await names(server)
await optional()
await sizes(server)
await test("the server ends in order", () => server.stop())
finish()
