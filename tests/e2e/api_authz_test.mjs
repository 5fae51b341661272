// Authorization: every verb on every resource and subresource for every sort of user, held against an evaluator
// of roles that is written here anew; and what is beyond roles: nodes, escalation, aggregation, reviews.
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { backends, core, dra, expect, expectStatus, startServer, unique } from "./api_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"

const rbac = "/apis/rbac.authorization.k8s.io/v1"
const authorization = "/apis/authorization.k8s.io/v1"
const node = "n1"
const driverName = "gpu.example.com"
const sliceStatus = "resourceslices/status"

// Tokens of the file are as good as any: who somebody is was settled before.
const people = {
	node: { user: `system:node:${node}`, groups: ["system:nodes"] },
	otherNode: { user: "system:node:n2", groups: ["system:nodes"] },
	driver: { user: "system:serviceaccount:kube-system:driver", groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system"] },
	greedyDriver: { user: "system:serviceaccount:kube-system:greedy", groups: ["system:serviceaccounts"] },
	editor: { user: "erin", groups: ["team"] },
	owner: { user: "olga", groups: [] },
	controller: { user: "system:devplane-controller", groups: [] },
	scheduler: { user: "system:kube-scheduler", groups: [] },
	lost: { user: "lost", groups: [] },
	nobody: { user: "nina", groups: [] },
}

const role = (kind, name, namespace, rules, metadata) => ({
	apiVersion: "rbac.authorization.k8s.io/v1", kind, metadata: { name, namespace, ...metadata }, rules,
})
const binding = (kind, name, namespace, roleKind, roleName, ...subjects) => ({
	apiVersion: "rbac.authorization.k8s.io/v1", kind, metadata: { name, namespace },
	roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: roleKind, name: roleName },
	subjects: subjects.map((s) => s.includes("/")
		? { kind: "ServiceAccount", namespace: s.split("/")[0], name: s.split("/")[1] }
		: { kind: s.startsWith("group:") ? "Group" : "User", name: s.replace("group:", ""), apiGroup: "rbac.authorization.k8s.io" }),
})
const rule = (verbs, apiGroups, resources, resourceNames) => ({ verbs, apiGroups, resources, ...(resourceNames && { resourceNames }) })

// As the example driver's chart has it, and one whose author was generous to himself.
const driverRules = [
	rule(["get", "list", "watch"], ["resource.k8s.io"], ["resourceclaims"]),
	rule(["get"], [""], ["nodes"]),
	rule(["get", "list", "watch", "create", "update", "patch", "delete"], ["resource.k8s.io"], ["resourceslices"]),
	rule(["update"], ["resource.k8s.io"], ["resourceclaims/status"]),
	rule(["associated-node:update", "associated-node:patch"], ["resource.k8s.io"], ["resourceclaims/driver"], [driverName]),
]

async function begin(backend) {
	const tokens = `${scratch}/${unique("tokens")}.csv`
	writeFileSync(tokens, Object.entries(people).map(([name, p], i) => `token-${name},${p.user},u${i},"${p.groups.join(",")}"\n`).join(""))
	const server = await startServer(backend, { flags: ["--token-auth-file", tokens] })
	const { client } = server
	for (const name of ["team", "other"])
		expect(await client.post(`${core}/namespaces`, { apiVersion: "v1", kind: "Namespace", metadata: { name } }), 201)
	const clusterroles = `${rbac}/clusterroles`, bindings = `${rbac}/clusterrolebindings`
	for (const [path, object] of [
		[clusterroles, role("ClusterRole", "driver", undefined, driverRules)],
		[clusterroles, role("ClusterRole", "greedy", undefined, [rule(["*"], ["resource.k8s.io"], ["*"]), rule(["update", "patch"], ["*"], ["*/status"])])],
		[bindings, binding("ClusterRoleBinding", "driver", undefined, "ClusterRole", "driver", "kube-system/driver")],
		[bindings, binding("ClusterRoleBinding", "greedy", undefined, "ClusterRole", "greedy", "kube-system/greedy", "group:system:nodes")],
		[`${rbac}/namespaces/team/rolebindings`, binding("RoleBinding", "editors", "team", "ClusterRole", "edit", "group:team")],
		[`${rbac}/namespaces/team/rolebindings`, binding("RoleBinding", "owners", "team", "ClusterRole", "admin", "olga")],
		[bindings, binding("ClusterRoleBinding", "lost", undefined, "ClusterRole", "nosuch", "lost")],
		[`${rbac}/namespaces/team/rolebindings`, binding("RoleBinding", "lost", "team", "Role", "nowhere", "lost")],
	])
		expect(await client.post(path, object), 201)
	server.people = Object.fromEntries(Object.keys(people).map((name) => [name, server.as({ token: `token-${name}` })]))
	server.people.anonymous = server.as({})
	server.people.admin = client
	return server
}

// --- an evaluator of its own -----------------------------------------------------------------

function identity(name) {
	if (name === "admin")
		return { user: "admin", groups: ["system:masters", "system:authenticated"] }
	if (name === "anonymous")
		return { user: "system:anonymous", groups: ["system:unauthenticated"] }
	return { user: people[name].user, groups: [...people[name].groups, "system:authenticated"] }
}

async function readPolicy(client) {
	const items = async (resource) => expect(await client.get(`${rbac}/${resource}`), 200).items
	return {
		clusterRoles: new Map((await items("clusterroles")).map((r) => [r.metadata.name, r.rules ?? []])),
		roles: new Map((await items("roles")).map((r) => [`${r.metadata.namespace}/${r.metadata.name}`, r.rules ?? []])),
		clusterBindings: await items("clusterrolebindings"),
		bindings: await items("rolebindings"),
	}
}

function subjectIs({ user, groups }, s, namespace) {
	switch (s.kind) {
	case "User": return s.name === user
	case "Group": return groups.includes(s.name)
	default: return user === `system:serviceaccount:${s.namespace ?? namespace}:${s.name}`
	}
}

const covers = (list, value) => (list ?? []).some((x) => x === "*" || x === value)

function ruleAllows(r, q) {
	const full = q.subresource ? `${q.resource}/${q.subresource}` : q.resource
	const resource = (r.resources ?? []).some((x) => x === "*" || x === full || (q.subresource && x === `*/${q.subresource}`))
	const everything = [r.verbs, r.apiGroups, r.resources].every((list) => list?.includes("*"))
	const guarded = full === sliceStatus && q.group === "resource.k8s.io" && !["get", "list", "watch"].includes(q.verb)
	return covers(r.verbs, q.verb) && covers(r.apiGroups, q.group) && resource &&
		(!r.resourceNames?.length || r.resourceNames.includes(q.name ?? "")) &&
		(!guarded || everything || r.resources.includes(sliceStatus))
}

function rolesAllow(policy, who, q) {
	const rulesOf = ({ roleRef }, namespace) => (roleRef.kind === "Role"
		? policy.roles.get(`${namespace}/${roleRef.name}`) : policy.clusterRoles.get(roleRef.name)) ?? []
	const allows = (b, namespace) => (b.subjects ?? []).some((s) => subjectIs(who, s, namespace)) &&
		rulesOf(b, namespace).some((r) => ruleAllows(r, q))
	return policy.clusterBindings.some((b) => allows(b)) ||
		policy.bindings.some((b) => q.namespace && b.metadata.namespace === q.namespace && allows(b, q.namespace))
}

// Whether a node may access objects that do not belong to it; `undefined`: the role decides.
const nodeRules = {
	"/secrets": () => false,
	"/configmaps": () => false,
	"/persistentvolumeclaims": () => false,
	"/persistentvolumes": () => false,
	"/serviceaccounts": () => false,
	"resource.k8s.io/resourceclaims": () => false,
	"storage.k8s.io/volumeattachments": () => false,
	"coordination.k8s.io/leases": (q) => q.namespace === "kube-node-lease" && q.verb === "create",
	"storage.k8s.io/csinodes": (q) => !q.subresource && q.verb === "create",
	"resource.k8s.io/resourceslices": (q) => !q.subresource && q.verb === "create",
	"certificates.k8s.io/podcertificaterequests": (q) => !q.subresource && q.verb === "create",
	"/nodes": (q) => (!q.subresource && ["create", "update", "patch"].includes(q.verb)) ||
		(q.subresource === "status" && ["update", "patch"].includes(q.verb)),
	"/pods": (q) => (!q.subresource && ["create", "delete"].includes(q.verb)) ||
		(q.subresource === "status" && ["update", "patch"].includes(q.verb)) || (q.subresource === "eviction" && q.verb === "create"),
}

function expected(policy, name, q) {
	const who = identity(name)
	if (who.groups.includes("system:masters"))
		return true
	if (who.groups.includes("system:nodes")) {
		const special = nodeRules[`${q.group}/${q.resource}`]
		if (special ? special(q) : policy.clusterRoles.get("system:node").some((r) => ruleAllows(r, q)))
			return true
		if (q.resource === "resourceslices" && q.subresource === "status" && q.verb !== "get")
			return false
	}
	// To run something in a pod is to create, whatever the method.
	if (q.verb === "get" && q.resource === "pods" && ["attach", "exec", "portforward"].includes(q.subresource) && !rolesAllow(policy, who, { ...q, verb: "create" }))
		return false
	return rolesAllow(policy, who, q)
}

// --- the matrix ------------------------------------------------------------------------------

const methods = {
	get: "GET", list: "GET", watch: "GET", create: "POST", update: "PUT", patch: "PATCH", delete: "DELETE", deletecollection: "DELETE",
}

async function discover(client) {
	const groups = expect(await client.get("/apis"), 200).groups
	const versions = groups.flatMap(({ versions: v }) => v.map(({ groupVersion }) => groupVersion))
	const all = []
	for (const [path, group, version] of [["/api/v1", "", "v1"], ...versions.map((gv) => [`/apis/${gv}`, ...gv.split("/")])])
		for (const { name, namespaced } of expect(await client.get(path), 200).resources) {
			const [resource, subresource = ""] = name.split("/")
			all.push({ path, group, version, resource, subresource, namespaced })
		}
	return all
}

// All questions about one resource: in a namespace that some have rights in, in another, and across all.
function* questions({ path, group, resource, subresource, namespaced }) {
	const object = unique("x")
	for (const namespace of namespaced ? ["team", "other", undefined] : [undefined]) {
		for (const verb of Object.keys(methods)) {
			const collection = ["list", "watch", "create", "deletecollection"].includes(verb) && !(subresource && verb === "create")
			// A subresource has no collection; a name without its namespace is another thing's path.
			if ((subresource && collection) || (namespaced && !namespace && !["list", "watch", "deletecollection"].includes(verb)))
				continue
			const name = collection ? undefined : resource === "namespaces" && group === "" ? "team" : object
			const parts = [path, ...(namespace ? ["namespaces", namespace] : []), resource, ...(name ? [name] : []), ...(subresource ? [subresource] : [])]
			yield {
				verb, group, resource, subresource, name,
				namespace: namespace ?? (group === "" && resource === "namespaces" ? name : undefined),
				url: parts.join("/") + (verb === "watch" ? "?watch=true" : methods[verb] === "GET" ? "" : "?dryRun=All"),
			}
		}
	}
}

// Whether it was refused for lack of rights, whatever else came of it.
async function refused(client, { verb, url }) {
	const method = methods[verb]
	const body = method === "GET" ? undefined : "{}"
	const type = verb === "patch" ? "application/merge-patch+json" : "application/json"
	const { request, stream, code } = await client.begin(method, url,
		body ? { "content-type": type, "content-length": 2 } : {}, body)
	if (verb === "watch" && code === 200) {
		request.destroy()
		return { code, denied: false }
	}
	let text = ""
	for await (const chunk of stream)
		text += chunk
	return { code, text, denied: code === 401 || (code === 403 && /User \\"[^"]*\\" cannot /.test(text)) }
}

async function inParallel(items, width, body) {
	const queue = items[Symbol.iterator]()
	await Promise.all(Array.from({ length: width }, async () => {
		for (const item of queue)
			await body(item)
	}))
}

async function matrix(say, server) {
	const { client } = server
	const policy = await readPolicy(client)
	const resources = await discover(client)
	assert.ok(resources.length > 80, `${resources.length} resources`)
	for (const name of ["admin", "node", "driver", "greedyDriver", "editor", "owner", "controller", "scheduler", "nobody", "anonymous"]) {
		await test(say(`${name}: every verb on every resource is allowed or refused as the rules say`), async () => {
			const wrong = []
			let allowed = 0, count = 0
			await inParallel(resources.flatMap((r) => [...questions(r)]), 16, async (q) => {
				const want = expected(policy, name, q)
				const { denied, code, text } = await refused(server.people[name], q)
				count++
				allowed += want ? 1 : 0
				if (denied === want)
					wrong.push(`${methods[q.verb]} ${q.url}: ${want ? "should be allowed" : "should be refused"}, was ${code} ${(text ?? "").slice(0, 300)}`)
			})
			assert.equal(wrong.length, 0, `${wrong.length} of ${count}:\n${wrong.slice(0, 20).join("\n")}`)
			assert.ok(count > 500 && (name === "nobody" || name === "anonymous" || allowed > 0))
			if (name !== "admin")
				assert.ok(allowed < count, "something must be refused")
		}, 300)
	}
}

// --- texts and reviews -------------------------------------------------------------------------

const review = (attributes, user, groups) => ({
	apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec: { user, groups, resourceAttributes: attributes },
})

async function texts(say, { client, people: as }) {
	await test(say("a refusal says who cannot do what, in upstream's words"), async () => {
		const message = async (answer) => expectStatus(await answer, 403, "Forbidden").message
		assert.equal(await message(as.nobody.get(`${core}/namespaces/team/pods`)),
			'pods is forbidden: User "nina" cannot list resource "pods" in API group "" in the namespace "team"')
		assert.equal(await message(as.nobody.get(`${core}/nodes/n1`)),
			'nodes "n1" is forbidden: User "nina" cannot get resource "nodes" in API group "" at the cluster scope')
		assert.equal(await message(as.nobody.get(`${dra}/resourceslices`)),
			'resourceslices.resource.k8s.io is forbidden: User "nina" cannot list resource "resourceslices" in API group "resource.k8s.io" at the cluster scope')
		assert.equal(await message(as.nobody.get("/metrics")), 'forbidden: User "nina" cannot get path "/metrics"')
		assert.equal(await message(as.anonymous.get("/apis")), 'forbidden: User "system:anonymous" cannot get path "/apis"')
		expect(await as.nobody.get("/apis"), 200)
		expect(await as.anonymous.get("/version"), 200)
		assert.equal(await message(as.lost.get(`${core}/namespaces/team/pods`)),
			'pods is forbidden: User "lost" cannot list resource "pods" in API group "" in the namespace "team": rbac: RBAC: ' +
			'[clusterrole.rbac.authorization.k8s.io "nosuch" not found, role.rbac.authorization.k8s.io "nowhere" not found]')
		assert.equal(await message(as.node.get(`${core}/nodes`)),
			`nodes is forbidden: User "system:node:n1" cannot list resource "nodes" in API group "" at the cluster scope: node: node 'n1' cannot read all nodes, only its own Node object`)
	})

	await test(say("a review tells the decision and its reason"), async () => {
		const ask = async (body, path = "subjectaccessreviews") => expect(await client.post(`${authorization}/${path}`, body), 201).status
		const pods = { verb: "get", resource: "pods", namespace: "team" }
		assert.deepEqual(await ask(review(pods, "system:kube-scheduler")), {
			allowed: true,
			reason: 'RBAC: allowed by ClusterRoleBinding "system:kube-scheduler" of ClusterRole "system:kube-scheduler" to User "system:kube-scheduler"',
		})
		assert.deepEqual(await ask(review(pods, "somebody", ["team"])), {
			allowed: true, reason: 'RBAC: allowed by RoleBinding "editors/team" of ClusterRole "edit" to Group "team"',
		})
		assert.deepEqual(await ask(review({ ...pods, namespace: "other" }, "somebody", ["team"])), { allowed: false })
		assert.deepEqual(await ask(review(pods, "x", ["system:masters"])), { allowed: true })
		const local = { ...review(pods, "", ["team"]), kind: "LocalSubjectAccessReview", metadata: { namespace: "team" } }
		assert.equal((await ask(local, "namespaces/team/localsubjectaccessreviews")).allowed, true)
		const self = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes: pods } }
		assert.equal(expect(await as.editor.post(`${authorization}/selfsubjectaccessreviews`, self), 201).status.allowed, true)
		assert.equal(expect(await as.nobody.post(`${authorization}/selfsubjectaccessreviews`, self), 201).status.allowed, false)
		const url = { ...self, spec: { nonResourceAttributes: { path: "/healthz", verb: "get" } } }
		assert.equal(expect(await as.nobody.post(`${authorization}/selfsubjectaccessreviews`, url), 201).status.allowed, true)
	})

	await test(say("a review that asks nothing, or of nobody, is refused"), async () => {
		const bad = async (body, ...fields) => {
			const status = expectStatus(await client.post(`${authorization}/subjectaccessreviews`, body), 422, "Invalid")
			assert.deepEqual(status.details.causes.map(({ field }) => field), fields)
		}
		await bad({ ...review(undefined, "bob") }, "spec")
		await bad(review({ verb: "get", resource: "pods" }), "spec.user")
		await bad({ ...review({ verb: "get" }, "bob"), metadata: { name: "x" } }, "metadata")
		await bad(review({ verb: "list", fieldSelector: {} }, "bob"), "spec.resourceAttributes.fieldSelector.requirements")
	})

	await test(say("selectors of a review count for nodes"), async () => {
		const slices = (fieldSelector) => review({ verb: "list", group: "resource.k8s.io", resource: "resourceslices", fieldSelector }, "system:node:n9", ["system:nodes"])
		const ask = async (selector) => expect(await client.post(`${authorization}/subjectaccessreviews`, slices(selector)), 201).status
		assert.equal((await ask({ rawSelector: "spec.nodeName=n9" })).allowed, true)
		assert.equal((await ask({ requirements: [{ key: "spec.nodeName", operator: "In", values: ["n9"] }] })).allowed, true)
		// The greedy role of this test gives nodes all of resource.k8s.io, so the answer is RBAC's here.
		const bad = await ask({ rawSelector: "spec.nodeName~n9" })
		assert.equal(bad.evaluationError, "spec.resourceAttributes.fieldSelector ignored due to parse error")
	})

	await test(say("a user may list what he may"), async () => {
		const ask = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: { namespace: "team" } }
		const { status } = expect(await as.owner.post(`${authorization}/selfsubjectrulesreviews`, ask), 201)
		assert.equal(status.incomplete, false)
		assert.ok(status.resourceRules.some((r) => r.resources.includes("rolebindings") && r.verbs.includes("create")))
		assert.ok(status.nonResourceRules.some((r) => r.nonResourceURLs.includes("/healthz")))
		const lost = expect(await as.lost.post(`${authorization}/selfsubjectrulesreviews`, ask), 201).status
		assert.match(lost.evaluationError, /clusterrole.rbac.authorization.k8s.io "nosuch" not found/)
		expectStatus(await as.owner.post(`${authorization}/selfsubjectrulesreviews`, { ...ask, spec: {} }), 400, "BadRequest")
	})
}

// --- roles of roles ------------------------------------------------------------------------------

async function escalation(say, { client, people: as }) {
	const roles = `${rbac}/namespaces/team/roles`, bindings = `${rbac}/namespaces/team/rolebindings`

	await test(say("nobody makes a role that has more than himself"), async () => {
		expect(await as.owner.post(roles, role("Role", "fine", "team", [rule(["get", "list"], [""], ["pods"])])), 201)
		const status = expectStatus(await as.owner.post(roles, role("Role", "more", "team",
			[rule(["get", "list"], [""], ["nodes"]), rule(["get"], [""], ["pods"])])), 403, "Forbidden")
		assert.equal(status.message, 'roles.rbac.authorization.k8s.io "more" is forbidden: user "olga" (groups=["system:authenticated"]) ' +
			'is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["nodes"], Verbs:["get" "list"]}')
		// The same by every way of writing.
		const wider = [rule(["*"], ["*"], ["*"])]
		expectStatus(await as.owner.put(`${roles}/fine`, role("Role", "fine", "team", wider)), 403, "Forbidden")
		expectStatus(await as.owner.patch(`${roles}/fine`, { rules: wider }, "merge"), 403, "Forbidden")
		expectStatus(await as.owner.put(`${roles}/new`, role("Role", "new", "team", wider)), 403, "Forbidden")
		expectStatus(await as.owner.post(`${roles}?dryRun=All`, role("Role", "dry", "team", wider)), 403, "Forbidden")
		// Labels of a role that has more than its writer: not without holding it.
		expect(await client.post(roles, role("Role", "wide", "team", wider)), 201)
		expectStatus(await as.owner.patch(`${roles}/wide`, { metadata: { labels: { a: "b" } } }, "merge"), 403, "Forbidden")
		// Finalizers and owners are the garbage collector's business.
		expect(await as.owner.patch(`${roles}/wide`, { metadata: { finalizers: ["example.com/x"] } }, "merge"), 200)
		expect(await as.owner.patch(`${roles}/wide`, { metadata: { finalizers: [] } }, "merge"), 200)
		expect(await as.owner.delete(`${roles}/wide`), 200)
	})

	await test(say("nobody gives away a role that has more than himself"), async () => {
		expect(await as.owner.post(bindings, binding("RoleBinding", "fine", "team", "ClusterRole", "view", "victor")), 201)
		const status = expectStatus(await as.owner.post(bindings,
			binding("RoleBinding", "more", "team", "ClusterRole", "cluster-admin", "victor")), 403, "Forbidden")
		assert.match(status.message, /^rolebindings.rbac.authorization.k8s.io "more" is forbidden: user "olga" .* not currently held:\n\{APIGroups:\["\*"\], Resources:\["\*"\], Verbs:\["\*"\]\}/)
		expectStatus(await as.owner.post(bindings, binding("RoleBinding", "none", "team", "Role", "nosuch", "victor")), 404, "NotFound")
		expectStatus(await as.editor.post(bindings, binding("RoleBinding", "x", "team", "ClusterRole", "view", "victor")), 403, "Forbidden")
	})

	await test(say("escalate and bind allow it"), async () => {
		expect(await client.post(`${rbac}/namespaces/team/roles`, role("Role", "trusted", "team", [
			rule(["escalate", "create", "update", "get"], ["rbac.authorization.k8s.io"], ["roles"]),
			rule(["create"], ["rbac.authorization.k8s.io"], ["rolebindings"]),
			rule(["bind"], ["rbac.authorization.k8s.io"], ["clusterroles"], ["cluster-admin"]),
		])), 201)
		expect(await client.post(bindings, binding("RoleBinding", "trusted", "team", "Role", "trusted", "nina")), 201)
		expect(await as.nobody.post(roles, role("Role", "by-nina", "team", [rule(["*"], ["*"], ["*"])])), 201)
		expect(await as.nobody.post(bindings, binding("RoleBinding", "by-nina", "team", "ClusterRole", "cluster-admin", "victor")), 201)
		expectStatus(await as.nobody.post(bindings, binding("RoleBinding", "by-nina2", "team", "ClusterRole", "admin", "victor")), 403, "Forbidden")
		for (const name of ["trusted", "by-nina"])
			expect(await client.delete(`${bindings}/${name}`), 200)
	})

	await test(say("rights change with the next request after a binding"), async () => {
		const pods = `${core}/namespaces/team/pods`, one = binding("RoleBinding", "nina", "team", "ClusterRole", "view", "nina")
		for (let i = 0; i < 20; i++) {
			expectStatus(await as.nobody.get(pods), 403, "Forbidden")
			expect(await client.post(bindings, one), 201)
			expect(await as.nobody.get(pods), 200)
			expect(await client.delete(`${bindings}/nina`), 200)
		}
		expectStatus(await as.nobody.get(pods), 403, "Forbidden")
	})

	await test(say("a role gathers the rules of the roles that its selectors match"), async () => {
		const clusterroles = `${rbac}/clusterroles`
		const get = async (name) => expect(await client.get(`${clusterroles}/${name}`), 200)
		const gpus = [rule(["get"], ["example.com"], ["gpus"])], nics = [rule(["list"], ["example.com"], ["nics"])]
		const gatherer = { ...role("ClusterRole", "gatherer", undefined, []), aggregationRule: { clusterRoleSelectors: [{ matchLabels: { gather: "yes" } }] } }
		expect(await client.post(clusterroles, role("ClusterRole", "z-part", undefined, [...gpus, ...nics], { labels: { gather: "yes" } })), 201)
		expect(await client.post(clusterroles, gatherer), 201)
		await until("the rules of one", async () => (await get("gatherer")).rules.length === 2)
		expect(await client.post(clusterroles, role("ClusterRole", "a-part", undefined, nics, { labels: { gather: "yes" } })), 201)
		await until("those of two, by name and each once", async () => JSON.stringify((await get("gatherer")).rules.map((r) => r.resources[0])) === '["nics","gpus"]')
		const { metadata } = await get("gatherer")
		assert.ok(metadata.managedFields.some(({ manager }) => manager === "clusterrole-aggregation-controller"))
		expect(await client.patch(`${clusterroles}/z-part`, { metadata: { labels: { gather: null } } }, "merge"), 200)
		await until("those that are left", async () => (await get("gatherer")).rules.length === 1)
		// A user's write there does not stay.
		expect(await client.patch(`${clusterroles}/gatherer`, { rules: gpus }, "merge"), 200)
		await until("its own again", async () => (await get("gatherer")).rules[0].resources[0] === "nics")
		expect(await client.delete(`${clusterroles}/a-part`), 200)
		await until("none", async () => (await get("gatherer")).rules.length === 0)
		// Those of the policy, three deep: view, edit, admin.
		expect(await client.post(clusterroles, role("ClusterRole", "more-view", undefined, gpus,
			{ labels: { "rbac.authorization.k8s.io/aggregate-to-view": "true" } })), 201)
		await until("admin has it", async () => (await get("admin")).rules.some((r) => r.resources.includes("gpus")))
		expect(await client.delete(`${clusterroles}/more-view`), 200)
		await until("admin has it no more", async () => !(await get("admin")).rules.some((r) => r.resources.includes("gpus")))
	})
}

// --- nodes -----------------------------------------------------------------------------------

const nodeObject = (name, labels = {}) => ({ apiVersion: "v1", kind: "Node", metadata: { name, labels } })

async function nodes(say, { client, people: as }) {
	const pods = `${core}/namespaces/team/pods`
	const container = { name: "c", image: "i" }
	const forbidden = async (answer, pattern) => assert.match(expectStatus(await answer, 403, "Forbidden").message, pattern)
	expect(await as.node.post(`${core}/nodes`, nodeObject(node, { "kubernetes.io/hostname": node })), 201)
	expect(await as.otherNode.post(`${core}/nodes`, nodeObject("n2")), 201)
	const accounts = `${core}/namespaces/team/serviceaccounts`
	for (const name of ["robot", "idle"])
		expect(await client.post(accounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } }), 201)
	for (const [name, spec] of [
		["mine", { nodeName: node, serviceAccountName: "robot", imagePullSecrets: [{ name: "pull" }],
			containers: [{ ...container, envFrom: [{ configMapRef: { name: "settings" } }] }],
			volumes: [{ name: "v", secret: { secretName: "key" } }, { name: "data", persistentVolumeClaim: { claimName: "disk" } },
				{ name: "token", projected: { sources: [{ serviceAccountToken: { path: "token" } }, { serviceAccountToken: { path: "vault", audience: "vault" } }] } }],
			resourceClaims: [{ name: "gpu", resourceClaimName: "gpu" }] }],
		["theirs", { nodeName: "n2", containers: [container], volumes: [{ name: "v", secret: { secretName: "other-key" } }] }],
	])
		expect(await client.post(pods, { apiVersion: "v1", kind: "Pod", metadata: { name }, spec }), 201)
	expect(await client.post(`${core}/persistentvolumes`, { apiVersion: "v1", kind: "PersistentVolume", metadata: { name: "vol" }, spec: {
		capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], claimRef: { namespace: "team", name: "disk" },
		csi: { driver: "d.example.com", volumeHandle: "h", nodePublishSecretRef: { name: "mount", namespace: "other" },
			controllerPublishSecretRef: { name: "attach", namespace: "other" } } } }), 201)
	expect(await client.post(`${core}/namespaces/team/persistentvolumeclaims`, { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: "disk" },
		spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, volumeName: "vol" } }), 201)

	await test(say("a node reads what its pods refer to, and nothing else"), async () => {
		// A missing object is 404 for callers with the right to read it.
		const open = async (path) => assert.notEqual((await as.node.get(path)).code, 403, path)
		const team = `${core}/namespaces/team`
		for (const path of [`${team}/secrets/pull`, `${team}/secrets/key`, `${team}/configmaps/settings`, `${team}/persistentvolumeclaims/disk`,
			`${core}/persistentvolumes/vol`, `${core}/namespaces/other/secrets/mount`, `${team}/serviceaccounts/robot`, `${pods}/mine`,
			`${dra}/namespaces/team/resourceclaims/gpu`, `${team}/secrets?fieldSelector=metadata.name%3Dkey`,
			`${team}/configmaps?fieldSelector=metadata.name%3Dsettings`, `${core}/pods?fieldSelector=spec.nodeName%3Dn1`, `${core}/nodes/n1`])
			await open(path)
		for (const path of [`${team}/secrets/other-key`, `${team}/secrets`, `${team}/configmaps`, `${team}/secrets/settings`, `${team}/configmaps/key`,
			`${core}/namespaces/other/secrets/key`, `${core}/namespaces/other/secrets/attach`, `${team}/secrets/mount`,
			`${core}/persistentvolumes`, `${core}/persistentvolumes/other`, `${team}/serviceaccounts/default`, `${pods}/theirs`, pods,
			`${core}/pods`, `${core}/pods?fieldSelector=spec.nodeName%3Dn2`, `${core}/pods?fieldSelector=spec.nodeName!%3Dn1`,
			`${team}/secrets?fieldSelector=metadata.name%3Dother-key`, `${core}/nodes`, `${core}/nodes/n2`])
			expectStatus(await as.node.get(path), 403, "Forbidden")
	})

	await test(say("a node loses access to a pod's references when the pod is gone"), async () => {
		const spec = { nodeName: node, containers: [container], volumes: [{ name: "v", secret: { secretName: "brief" } }] }
		const secret = `${core}/namespaces/team/secrets/brief`
		expectStatus(await as.node.get(secret), 403, "Forbidden")
		expect(await client.post(pods, { apiVersion: "v1", kind: "Pod", metadata: { name: "brief" }, spec }), 201)
		assert.equal((await as.node.get(secret)).code, 404)
		expect(await client.delete(`${pods}/brief?gracePeriodSeconds=0`), 200)
		expectStatus(await as.node.get(secret), 403, "Forbidden")
	})

	await test(say("a node writes its own node, with the labels it may"), async () => {
		const patch = (name, body) => as.node.patch(`${core}/nodes/${name}`, body, "merge")
		expect(await patch(node, { metadata: { labels: { "example.com/a": "b", "kubelet.kubernetes.io/x": "y" } } }), 200)
		await forbidden(patch("n2", { metadata: { labels: { a: "b" } } }), /nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"/)
		await forbidden(patch(node, { metadata: { labels: { "node-restriction.kubernetes.io/a": "b", "kubernetes.io/zzz": "1" } } }),
			/is not allowed to modify labels: kubernetes.io\/zzz, node-restriction.kubernetes.io\/a/)
		await forbidden(patch(node, { spec: { taints: [{ key: "a", effect: "NoSchedule" }] } }), /node "n1" is not allowed to modify taints/)
		await forbidden(as.node.post(`${core}/nodes`, nodeObject("n3")), /node "n1" is not allowed to modify node "n3"/)
		expect(await as.node.patch(`${core}/nodes/${node}/status`, { status: { phase: "Running" } }, "merge"), 200)
		await forbidden(as.node.patch(`${core}/nodes/n2/status`, { status: { phase: "Running" } }, "merge"), /is not allowed to modify node "n2"/)
		expectStatus(await as.node.delete(`${core}/nodes/${node}`), 403, "Forbidden")
	})

	await test(say("a node writes the status of its own pods, and deletes those"), async () => {
		const status = (name) => as.node.patch(`${pods}/${name}/status`, { status: { phase: "Running" } }, "merge")
		expect(await status("mine"), 200)
		await forbidden(status("theirs"), /pods "theirs" is forbidden: node "n1" can only update pod status for pods with spec.nodeName set to itself/)
		await forbidden(as.node.patch(`${pods}/mine/status`, { metadata: { labels: { a: "b" } }, status: { phase: "Running" } }, "merge"),
			/node "n1" cannot update labels through pod status/)
		await forbidden(as.node.patch(`${pods}/mine/status`, { status: { resourceClaimStatuses: [{ name: "gpu", resourceClaimName: "x" }] } }, "merge"),
			/node "n1" cannot update resource claim statues/)
		await forbidden(as.node.delete(`${pods}/theirs`), /node "n1" can only delete pods with spec.nodeName set to itself/)
		await forbidden(as.node.post(`${pods}/theirs/eviction`, { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "theirs" } }),
			/node n1 can only evict pods with spec.nodeName set to itself/)
		assert.ok([200, 202].includes((await as.node.delete(`${pods}/mine?dryRun=All`)).code))
	})

	await test(say("a node makes mirror pods only"), async () => {
		const uid = expect(await client.get(`${core}/nodes/${node}`), 200).metadata.uid
		const owner = { apiVersion: "v1", kind: "Node", name: node, uid, controller: true }
		const mirror = (metadata, spec) => ({ apiVersion: "v1", kind: "Pod", metadata: { name: unique("mirror"),
			annotations: { "kubernetes.io/config.mirror": "x" }, ownerReferences: [owner], ...metadata }, spec: { nodeName: node, containers: [container], ...spec } })
		expect(await as.node.post(pods, mirror()), 201)
		await forbidden(as.node.post(pods, mirror({ annotations: {} })), /pod does not have "kubernetes.io\/config.mirror" annotation, node "n1" can only create mirror pods/)
		await forbidden(as.node.post(pods, mirror({}, { nodeName: "n2" })), /can only create pods with spec.nodeName set to itself/)
		await forbidden(as.node.post(pods, mirror({ ownerReferences: [] })), /can only create pods with an owner reference set to itself/)
		await forbidden(as.node.post(pods, mirror({ ownerReferences: [{ ...owner, uid: "x" }] })), /UID mismatch/)
		await forbidden(as.node.post(pods, mirror({}, { volumes: [{ name: "v", secret: { secretName: "key" } }] })), /a mirror pod may not reference secrets/)
	})

	await test(say("a node keeps its own lease and slices"), async () => {
		const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
		const lease = (name) => ({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name }, spec: { holderIdentity: node } })
		expect(await as.node.post(leases, lease(node)), 201)
		await forbidden(as.node.post(leases, lease("n2")), /can only access node lease with the same name as the requesting node/)
		expectStatus(await as.node.get(`${leases}/n2`), 403, "Forbidden")
		const slice = (name, nodeName) => ({ apiVersion: "resource.k8s.io/v1", kind: "ResourceSlice", metadata: { name },
			spec: { driver: driverName, nodeName, pool: { name: nodeName, generation: 1, resourceSliceCount: 1 } } })
		expect(await as.node.post(`${dra}/resourceslices`, slice("s1", node)), 201)
		await forbidden(as.node.post(`${dra}/resourceslices`, slice("s2", "n2")), /can only create ResourceSlice with the same NodeName as the requesting node/)
		expect(await as.otherNode.post(`${dra}/resourceslices`, slice("s2", "n2")), 201)
		await forbidden(as.node.delete(`${dra}/resourceslices/s2`), /can only delete ResourceSlice with the same NodeName as the requesting node/)
		expect(await as.node.delete(`${dra}/resourceslices/s1`), 200)
	})

	await test(say("a node gets tokens for its own pods only"), async () => {
		const refOf = async (name) => ({ apiVersion: "v1", kind: "Pod", name, uid: expect(await client.get(`${pods}/${name}`), 200).metadata.uid })
		const ask = (boundObjectRef, audiences, account = "robot") => as.node.post(`${accounts}/${account}/token`,
			{ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { audiences, boundObjectRef } })
		const mine = await refOf("mine"), theirs = await refOf("theirs")
		assert.ok(expect(await ask(mine), 201).status.token)
		assert.ok(expect(await ask(mine, ["vault"]), 201).status.token)
		await forbidden(ask(mine, ["bank"]), /system:node:n1 is not authorized to request tokens for audience "bank"/)
		await forbidden(ask(mine, ["vault", "bank"]), /node may only request 0 or 1 audiences/)
		await forbidden(ask(undefined), /node requested token not bound to a pod/)
		await forbidden(ask({ ...mine, uid: undefined }), /node requested token with a pod binding without a uid/)
		await forbidden(ask({ ...mine, uid: "other" }), /does not match the UID in record/)
		await forbidden(ask(theirs), /node requested token bound to a pod scheduled on a different node/)
		await forbidden(ask(mine, undefined, "idle"), /no relationship found between node 'n1' and this object/)
	})

	await test(say("a node asks for certificates in its own name"), async () => {
		const certificates = "/apis/certificates.k8s.io/v1"
		const request = (cn) => {
			const { status, stdout, stderr } = spawnSync("openssl", ["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
				"-keyout", "/dev/null", "-subj", `/O=system:nodes/CN=${cn}`], { encoding: "utf8" })
			assert.equal(status, 0, stderr)
			return Buffer.from(stdout).toString("base64")
		}
		const csr = (pem, signerName = "kubernetes.io/kube-apiserver-client-kubelet") => as.node.post(`${certificates}/certificatesigningrequests`, {
			apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest", metadata: { name: unique("csr") },
			spec: { request: pem, signerName, usages: ["client auth"] } })
		expect(await csr(request("system:node:n1")), 201)
		await forbidden(csr(request("system:node:n2")), /can only create a node CSR with CN=system:node:n1/)
		await forbidden(csr(request("system:node:n2"), "kubernetes.io/kubelet-serving"), /can only create a node CSR with CN=system:node:n1/)
		expect(await csr(request("anything"), "example.com/signer"), 201)
	})

	await test(say("the status of slices is the controller's alone"), async () => {
		const slice = { apiVersion: "resource.k8s.io/v1", kind: "ResourceSlice", metadata: { name: "shared" },
			spec: { driver: driverName, nodeName: node, pool: { name: node, generation: 1, resourceSliceCount: 1 } } }
		expect(await client.post(`${dra}/resourceslices`, slice), 201)
		const write = (who) => as[who].patch(`${dra}/resourceslices/shared/status`, { status: {} }, "merge")
		for (const who of ["node", "driver", "greedyDriver", "scheduler", "editor", "nobody"])
			expectStatus(await write(who), 403, "Forbidden")
		for (const who of ["controller", "admin"])
			expect(await write(who), 200)
		expect(await as.greedyDriver.delete(`${dra}/resourceslices/shared`), 200)
	})
}

// --- kubectl ---------------------------------------------------------------------------------

async function kubectl(say, server) {
	const run = (token, ...args) => spawnSync("kubectl", ["--kubeconfig", "/dev/null", "--server", server.url,
		"--certificate-authority", `${scratch}/ca.pem`, "--token", token, ...args], { encoding: "utf8", env: { ...process.env, HOME: scratch } })
	writeFileSync(`${scratch}/ca.pem`, server.credentials.ca)
	await test(say("kubectl auth can-i, and makes roles"), async () => {
		assert.equal(run("token-editor", "auth", "can-i", "create", "pods", "-n", "team").stdout.trim(), "yes")
		assert.equal(run("token-editor", "auth", "can-i", "create", "pods", "-n", "other").stdout.trim(), "no")
		assert.match(run("token-owner", "auth", "can-i", "--list", "-n", "team").stdout, /rolebindings.rbac.authorization.k8s.io/)
		assert.match(run("token-owner", "create", "role", "reader", "--verb=get", "--resource=pods", "-n", "team").stdout, /role.rbac.authorization.k8s.io\/reader created/)
		assert.match(run("token-owner", "create", "rolebinding", "readers", "--role=reader", "--user=nina", "-n", "team").stdout, /readers created/)
		assert.equal(run("token-nobody", "auth", "can-i", "get", "pods", "-n", "team").stdout.trim(), "yes")
		const admin = (...args) => spawnSync("kubectl", ["--kubeconfig", server.kubeconfig, ...args], { encoding: "utf8", env: { ...process.env, HOME: scratch } })
		assert.equal(admin("auth", "can-i", "list", "pods", "-n", "team", "--as", "anybody", "--as-group", "team").stdout.trim(), "yes")
		assert.equal(admin("auth", "can-i", "list", "nodes", "--as", "anybody", "--as-group", "team").stdout.trim(), "no")
		assert.equal(admin("auth", "can-i", "list", "pods", "-n", "team", "--as", "system:serviceaccount:kube-system:driver").stdout.trim(), "no")
		assert.match(run("token-owner", "create", "rolebinding", "bad", "--clusterrole=cluster-admin", "--user=nina", "-n", "team").stderr, /not currently held/)
	})
}

// --- the policy ------------------------------------------------------------------------------

async function policy(say, server) {
	const { client } = server
	await test(say("a start restores what a role of the policy lost, and leaves what says so"), async () => {
		const path = (name) => `${rbac}/clusterroles/${name}`
		const rulesOf = async (name) => expect(await client.get(path(name)), 200).rules
		const dns = await rulesOf("system:kube-dns")
		expect(await client.patch(path("system:kube-dns"), { rules: [rule(["get"], ["x"], ["y"])] }, "merge"), 200)
		expect(await client.patch(path("system:heapster"), { rules: [], metadata: { annotations: { "rbac.authorization.kubernetes.io/autoupdate": "false" } } }, "merge"), 200)
		expect(await client.delete(path("system:node-proxier")), 200)
		expect(await client.patch(`${rbac}/clusterrolebindings/system:basic-user`, { subjects: [] }, "merge"), 200)
		await server.stop()
		await server.begin()
		const again = server.client
		const after = expect(await again.get(path("system:kube-dns")), 200)
		assert.deepEqual(after.rules[0], rule(["get"], ["x"], ["y"]))
		assert.deepEqual(new Set(after.rules.slice(1).flatMap((r) => r.resources)), new Set(dns.flatMap((r) => r.resources)))
		assert.deepEqual(expect(await again.get(path("system:heapster")), 200).rules ?? [], [])
		expect(await again.get(path("system:node-proxier")), 200)
		assert.equal(expect(await again.get(`${rbac}/clusterrolebindings/system:basic-user`), 200).subjects[0].name, "system:authenticated")
		// The next start finds all in place.
		const revision = async (c) => expect(await c.get(`${rbac}/clusterroles`), 200).metadata.resourceVersion
		const versions = async (c) => (await Promise.all(["clusterroles", "clusterrolebindings", "roles", "rolebindings"].map(async (r) =>
			expect(await c.get(`${rbac}/${r}`), 200).items.map(({ metadata: m }) => `${m.name}@${m.resourceVersion}`)))).flat()
		const before = await versions(again)
		assert.ok(Number(await revision(again)) > 0)
		await server.stop()
		await server.begin()
		assert.deepEqual(await versions(server.client), before)
	})
}

// Two servers of one cluster compute the same; neither undoes nor repeats what the other wrote.
async function together(say, server) {
	if (server.backend !== "etcd")
		return
	await test(say("two servers on one store gather the rules once"), async () => {
		const second = await startServer("etcd", { etcd: server.etcd, prefix: server.prefix })
		const { client } = server, clusterroles = `${rbac}/clusterroles`
		expect(await client.post(clusterroles, { ...role("ClusterRole", "both", undefined, []),
			aggregationRule: { clusterRoleSelectors: [{ matchLabels: { both: "yes" } }] } }), 201)
		const watch = await second.client.watch(`${clusterroles}?watch=true&fieldSelector=metadata.name%3Dboth`)
		await watch.have(1)
		for (let i = 0; i < 10; i++) {
			const part = role("ClusterRole", `both-${i}`, undefined, [rule(["get"], ["example.com"], [`r${i}`])], { labels: { both: "yes" } })
			expect(await (i % 2 ? client : second.client).post(clusterroles, part), 201)
			for (const { client: each } of [server, second])
				await until("the rules of all", async () => expect(await each.get(`${clusterroles}/both`), 200).rules.length === i + 1)
		}
		for (let i = 0; i < 50; i++)
			expect(await client.get(`${core}/namespaces`), 200)
		assert.deepEqual(watch.events.map(({ object }) => (object.rules ?? []).length), [...Array(11).keys()])
		watch.close()
		await second.stop()
	})
}

for (const backend of backends) {
	const say = (name) => `${backend}: ${name}`
	const server = await begin(backend)
	await texts(say, server)
	await matrix(say, server)
	await escalation(say, server)
	await nodes(say, server)
	await kubectl(say, server)
	await together(say, server)
	await policy(say, server)
	await server.stop()
}
finish()
