// Endpoints that a client reads before it knows any object: discovery, OpenAPI, health, metrics; and who may.
import assert from "node:assert/strict"
import { readFileSync, statSync, writeFileSync } from "node:fs"
import { backends, Client, configMap, core, dra, expect, expectStatus, newNamespace, paths, startServer } from "./api_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

async function discovery(say, client) {
	await test(say("aggregated discovery"), async () => {
		const answer = await client.get("/apis", { accept: `${aggregated},application/json` })
		const list = expect(answer, 200)
		assert.equal(answer.headers["content-type"], aggregated)
		assert.equal(list.kind, "APIGroupDiscoveryList")
		assert.equal(list.apiVersion, "apidiscovery.k8s.io/v2")
		const group = list.items.find(({ metadata }) => metadata.name === "resource.k8s.io")
		assert.equal(group.versions[0].version, "v1")
		assert.equal(group.versions[0].freshness, "Current")
		const claims = group.versions[0].resources.find(({ resource }) => resource === "resourceclaims")
		assert.equal(claims.scope, "Namespaced")
		assert.equal(claims.responseKind.kind, "ResourceClaim")
		assert.deepEqual([...claims.verbs].sort(),
			["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"])
		assert.deepEqual(claims.subresources.map(({ subresource }) => subresource), ["status"])
		const legacy = expect(await client.get("/api", { accept: aggregated }), 200)
		assert.equal(legacy.items[0].metadata.name ?? "", "")
		assert.ok(legacy.items[0].versions[0].resources.some(({ resource }) => resource === "pods"))
	})

	await test(say("legacy discovery"), async () => {
		assert.deepEqual(expect(await client.get("/api"), 200).versions, ["v1"])
		const groups = expect(await client.get("/apis"), 200)
		assert.equal(groups.kind, "APIGroupList")
		const group = groups.groups.find(({ name }) => name === "resource.k8s.io")
		assert.equal(group.preferredVersion.groupVersion, "resource.k8s.io/v1")
		assert.deepEqual(expect(await client.get("/apis/resource.k8s.io"), 200).versions, group.versions)
		const list = expect(await client.get(dra), 200)
		assert.equal(list.kind, "APIResourceList")
		assert.equal(list.groupVersion, "resource.k8s.io/v1")
		const names = list.resources.map(({ name }) => name)
		for (const name of ["deviceclasses", "devicetaintrules", "devicetaintrules/status", "resourceclaims", "resourceclaims/status",
			"resourceclaimtemplates", "resourceslices"])
			assert.ok(names.includes(name), name)
		expect(await client.get("/apis/none.example.com"), 404)
	})

	await test(say("discovery is not sent twice"), async () => {
		for (const accept of ["json", aggregated]) {
			const first = await client.get("/apis", { accept })
			assert.ok(first.headers.etag)
			assert.match(first.headers.vary, /Accept/)
			const second = await client.get("/apis", { accept, headers: { "if-none-match": first.headers.etag } })
			assert.equal(second.code, 304)
			assert.equal(second.raw.length, 0)
		}
	})

	await test(say("/api/v1 tells the features"), async () => {
		const { features } = expect(await client.get(core), 200)
		assert.equal(features.ResourceHealthStatus, true)
		assert.equal(features.DRAResourceAvailabilityVisibility, true)
	})
}

async function openapi(say, client) {
	await test(say("OpenAPI v3: documents by hash"), async () => {
		const { paths: documents } = expect(await client.get("/openapi/v3"), 200)
		const url = documents["apis/resource.k8s.io/v1"].serverRelativeURL
		assert.match(url, /^\/openapi\/v3\/apis\/resource\.k8s\.io\/v1\?hash=[0-9A-Fa-f]+$/)
		const answer = await client.get(url)
		const document = expect(answer, 200)
		assert.match(document.openapi, /^3\.0/)
		assert.match(answer.headers["cache-control"], /immutable/)
		const item = document.paths[`${dra}/namespaces/{namespace}/resourceclaims/{name}`]
		assert.deepEqual(item.patch["x-kubernetes-group-version-kind"], { group: "resource.k8s.io", version: "v1", kind: "ResourceClaim" })
		assert.ok(item.patch.parameters.some(({ name }) => name === "fieldValidation"))
		assert.ok(document.components.schemas["io.k8s.api.resource.v1.ResourceClaim"].properties.spec)
		const wrong = await client.get(url.replace(/hash=.*/, "hash=ABC"))
		assert.equal(wrong.code, 301)
		assert.ok(wrong.headers.location.endsWith(url))
		expect(await client.get(url.replace(/\?.*/, "")), 200)
		expect(await client.get("/openapi/v3/apis/none.example.com/v1"), 404)
	})

	await test(say("OpenAPI v2 as JSON"), async () => {
		const document = expect(await client.get("/openapi/v2", { accept: "json" }), 200)
		assert.equal(document.swagger, "2.0")
		assert.ok(document.definitions["io.k8s.api.core.v1.Pod"].properties.spec)
	})
}

async function health(say, server) {
	const { client } = server
	const stranger = server.as({})

	await test(say("health and version are public"), async () => {
		for (const path of ["/healthz", "/livez", "/readyz"]) {
			const answer = await stranger.get(path)
			assert.equal(answer.code, 200, path)
			assert.equal(answer.text, "ok", path)
		}
		for (const path of ["/readyz/ping", "/livez/ping"]) {
			assert.equal((await client.get(path)).text, "ok", path)
			expectStatus(await stranger.get(path), 403, "Forbidden")
		}
		const version = expect(await stranger.get("/version"), 200)
		assert.equal(version.major, "1")
		assert.match(version.gitVersion, /^v1\.\d+\.\d+/)
		assert.ok(version.platform)
	})

	await test(say("health in detail, and without some checks"), async () => {
		const verbose = await client.get("/readyz?verbose")
		assert.match(verbose.text, /^\[\+\]ping ok\n/)
		assert.match(verbose.text, /^\[\+\]etcd ok$/m)
		assert.match(verbose.text, /readyz check passed\n?$/)
		assert.match((await client.get("/readyz?verbose&exclude=etcd")).text, /\[\+\]etcd excluded: ok/)
		assert.equal((await client.get("/readyz?exclude=etcd")).text, "ok")
		expect(await client.get("/readyz/none"), 404)
	})

	await test(say("metrics"), async () => {
		expect(await client.get(`${core}/namespaces`), 200)
		const answer = await client.get("/metrics")
		assert.match(answer.headers["content-type"], /^text\/plain/)
		assert.match(answer.text, /^apiserver_request_total\{.*verb="LIST".*resource="namespaces".*code="200".*\} [1-9]/m)
		assert.match(answer.text, /^kubernetes_feature_enabled\{name="ResourceHealthStatus",stage="[A-Z]*"\} 1$/m)
	})

	await test(say("counts of health checks"), async () => {
		expect(await client.get("/livez"), 200)
		const answer = await client.get("/metrics/slis")
		assert.match(answer.headers["content-type"], /^text\/plain/)
		assert.match(answer.text, /^kubernetes_healthcheck\{name="ping",type="livez"\} 1$/m)
		assert.match(answer.text, /^kubernetes_healthchecks_total\{name="ping",type="livez",status="success"\} [1-9]/m)
		assert.doesNotMatch((await client.get("/metrics")).text, /^kubernetes_healthcheck/m)
	})
	stranger.close()
}

async function identities(say, server) {
	await test(say("without credentials there is nothing to see"), async () => {
		const stranger = server.as({})
		for (const path of ["/api", "/apis", core, `${core}/namespaces`, "/openapi/v3", "/metrics"])
			expectStatus(await stranger.get(path), 403, "Forbidden", /User "system:anonymous" cannot (get|list) /)
		const wrong = server.as({ token: "nonsense" })
		expectStatus(await wrong.get("/api"), 401, "Unauthorized")
		expectStatus(await wrong.get(`${core}/namespaces`), 401, "Unauthorized")
		stranger.close()
		wrong.close()
	})

	await test(say("users of the token file"), async () => {
		const ann = server.as({ token: "sesame" })
		expectStatus(await ann.get(`${core}/namespaces`), 403, "Forbidden", /User "ann" cannot list /)
		expect(
			await server.client.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
				metadata: { name: "devs" },
				subjects: [{ kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "devs" }],
				roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" }
			}),
			201
		)
		expect(await ann.get(`${core}/namespaces`), 200)
		const { configMaps } = paths(await newNamespace(ann))
		expect(await ann.post(configMaps, configMap("box")), 201)
		ann.close()
	})

	await test(say("a certificate of another CA is nobody's"), async () => {
		const other = await startServer("lmdb")
		const { cert, key } = other.credentials
		const forged = server.as({ cert, key })
		const answer = await forged.get("/api").catch((error) => ({ code: 401, error }))
		assert.equal(answer.code, 401)
		forged.close()
		await other.stop()
	})

	await test(say("only TLS is spoken"), async () => {
		const plain = new Client(server.url.replace("https", "http"))
		const answer = await plain.get("/healthz").catch(() => ({ code: 400 }))
		assert.equal(answer.code, 400)
		plain.close()
	})
}

async function http2(say, server) {
	await test(say("many requests at once over one HTTP/2 connection"), async () => {
		const path = `${core}/namespaces/default`
		const answers = await Promise.all(Array.from({ length: 200 }, () => server.client2.get(path)))
		for (const { code, body } of answers) {
			assert.equal(code, 200)
			assert.equal(body.metadata.name, "default")
		}
	})
}

async function auditing(say, server, file) {
	await test(say("the audit log has a line per request"), async () => {
		const ann = server.as({ token: "sesame" })
		const { configMaps } = paths(await newNamespace(ann))
		const answer = await ann.post(configMaps, configMap("secret-value", { a: "hunter2" }))
		expect(answer, 201)
		ann.close()
		assert.ok(answer.headers["audit-id"])
		const line = await until("audit line", () => readFileSync(file, "utf8").split("\n").filter(Boolean).map(JSON.parse)
			.find(({ auditID, stage }) => auditID === answer.headers["audit-id"] && stage === "ResponseComplete"))
		assert.equal(line.kind, "Event")
		assert.equal(line.apiVersion, "audit.k8s.io/v1")
		assert.equal(line.level, "Metadata")
		assert.equal(line.verb, "create")
		assert.equal(line.requestURI, configMaps)
		assert.equal(line.user.username, "ann")
		assert.deepEqual(line.user.groups, ["devs", "ops", "system:authenticated"])
		assert.equal(line.userAgent, "e2e/1.0")
		assert.equal(line.objectRef.resource, "configmaps")
		assert.equal(line.objectRef.name, "secret-value")
		assert.equal(line.responseStatus.code, 201)
		assert.doesNotMatch(readFileSync(file, "utf8"), /hunter2/)
		assert.equal(statSync(file).mode & 0o777, 0o600)
	})
}

const tokens = `${scratch}/tokens.csv`
writeFileSync(tokens, 'sesame,ann,42,"devs,ops"\n', { mode: 0o600 })

for (const backend of backends) {
	const say = (name) => `${backend}: ${name}`
	const audit = `${scratch}/audit-${backend}.log`
	const server = await startServer(backend, { flags: ["--token-auth-file", tokens, "--audit-log-path", audit] })
	await discovery(say, server.client)
	await openapi(say, server.client)
	await health(say, server)
	await identities(say, server)
	await http2(say, server)
	await auditing(say, server, audit)
	await test(say("the server ends in order"), () => server.stop())
}
finish()
