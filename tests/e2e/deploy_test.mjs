// deploy/: the manifests are accepted with strict validation, their roles are enough for the programs and nothing more, and
// `kubectl delete -k` leaves nothing. The server stands for an existing cluster, whose slices have no status. No kubelet makes
// the pods: each program runs here, with the arguments of its manifest and a token of its account.
import assert from "node:assert/strict"
import { execFile, execFileSync, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import https from "node:https"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { core, dra } from "./api_lib.mjs"
import { devplane, finish, scratch, start, test, until } from "./lib.mjs"
import { kubeconfig, shortFolder, startCluster } from "./node_lib.mjs"
import { DevicePlugin } from "./plugin_lib.mjs"
import { bareNode, pending, startController, startScheduler } from "./scheduler_lib.mjs"
import { selfSigned } from "./ui_lib.mjs"

const checkout = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "")
const folder = (part) => `${checkout}/deploy/${part}`
const parts = ["availability", "scheduler", "attach", "nvidia", "sim", "page"]
const program = execFileSync(`${checkout}/scripts/kubectl`, [`${dirname(devplane)}/kubectl`], { encoding: "utf8" }).trim()
const cluster = await startCluster({ flags: ["--feature-gates", "DRAResourceAvailabilityVisibility=false"] })

function kubectl(...args) {
	const { status, stdout, stderr } = spawnSync(program, ["--kubeconfig", cluster.server.kubeconfig, "--cache-dir", `${scratch}/cache`, ...args], { encoding: "utf8" })
	assert.equal(status, 0, `kubectl ${args.join(" ")}: ${stderr}`)
	return stdout
}

// The overlays of docs/install.md, beside the parts, as a reader writes them.
const doc = readFileSync(`${checkout}/docs/install.md`, "utf8")
const overlays = `${scratch}/overlays`
mkdirSync(overlays)
symlinkSync(`${checkout}/deploy`, `${overlays}/deploy`)
for (const [, file, text] of doc.matchAll(/^```yaml title=(\S+)\n([^]*?)^```$/gm)) {
	mkdirSync(dirname(`${overlays}/${file}`))
	writeFileSync(`${overlays}/${file}`, text)
}

// The objects of a part, as kustomize prints them.
const render = (where) => JSON.parse(kubectl("create", "-k", where, "--dry-run=client", "--validate=false", "-o", "json")
	.replace(/^}\n{/gm, "},\n{").replace(/^/, "[").replace(/$/, "]")).flatMap((o) => o.items ?? [o])
const all = Object.fromEntries(parts.map((part) => [part, render(folder(part))]))
const kinds = (part, ...wanted) => all[part].filter(({ kind }) => wanted.includes(kind))
const workload = (part) => kinds(part, "Deployment", "DaemonSet")[0]
const rules = (part) => kinds(part, "Role", "ClusterRole").flatMap(({ kind, rules }) => rules.map((rule) => ({ kind, resourceNames: [], ...rule })))

// --- the texts ----------------------------------------------------------------------------------------------------

await test("every part has the image of this version", async () => {
	const version = /\d+\.\d+\.\d+/.exec(execFileSync(devplane, ["version"], { encoding: "utf8" }))[0]
	for (const part of parts)
		assert.deepEqual(workload(part).spec.template.spec.containers.map((c) => c.image), [`docker.io/library/devplane:${version}`], part)
})

await test("roles have no wildcard, and write only what they must", async () => {
	for (const part of parts)
		for (const rule of rules(part)) {
			const text = `${part}: ${JSON.stringify(rule)}`
			assert.doesNotMatch(JSON.stringify({ ...rule, nonResourceURLs: [] }), /"\*"/, text)
			assert.ok(!rule.verbs.some((verb) => ["escalate", "bind", "impersonate", "deletecollection"].includes(verb)), text)
			assert.ok(!rule.resources?.some((r) => /^(secrets|configmaps|customresourcedefinitions|serviceaccounts)/.test(r)), text)
			if (!rule.resources?.includes("leases"))
				continue
			assert.equal(rule.kind, "Role", text)
			assert.deepEqual([rule.verbs, rule.resourceNames], rule.resourceNames.length ? [["get", "update"], [`devplane-${part}`]] : [["create"], []], text)
		}
})

await test("pods are restricted where they can be, and a comment names the reason where not", async () => {
	for (const part of parts) {
		const { template } = workload(part).spec, [c] = template.spec.containers
		const level = kinds(part, "Namespace")[0].metadata.labels["pod-security.kubernetes.io/enforce"]
		if (level === "restricted") {
			assert.equal(template.spec.securityContext.runAsNonRoot, true, part)
			assert.deepEqual(template.spec.volumes?.filter((v) => v.hostPath) ?? [], [], part)
		} else {
			assert.match(readFileSync(`${folder(part)}/namespace.yaml`, "utf8"), /^# Not restricted: .*because|^# Not restricted: .*which only this level allows/m, part)
		}
		assert.equal(template.spec.securityContext.seccompProfile.type, "RuntimeDefault", part)
		assert.equal(c.securityContext.readOnlyRootFilesystem, true, part)
		if (part !== "nvidia") {
			assert.equal(c.securityContext.allowPrivilegeEscalation, false, part)
			assert.deepEqual(c.securityContext.capabilities, { drop: ["ALL"] }, part)
		}
	}
})

await test("every part has probes, requests, a network policy and, if it has replicas, a budget and a spread", async () => {
	for (const part of parts) {
		const { kind, spec: { template, replicas } } = workload(part), [c] = template.spec.containers
		const chosen = (selector) => Object.entries(selector.matchLabels).every(([key, value]) => template.metadata.labels[key] === value)
		for (const probe of [c.livenessProbe, c.readinessProbe])
			assert.ok(c.ports.some(({ name }) => name === probe.httpGet.port) && probe.httpGet.scheme === "HTTPS", part)
		assert.ok(c.resources.requests.cpu && c.resources.requests.memory, part)
		const [policy] = kinds(part, "NetworkPolicy")
		assert.ok(chosen(policy.spec.podSelector), part)
		assert.deepEqual(policy.spec.ingress[0].ports.map(({ port }) => port), c.ports.map((p) => p.containerPort), part)
		if (kind === "DaemonSet") {
			assert.equal(template.spec.priorityClassName, "system-node-critical", part)
			continue
		}
		assert.equal(template.spec.priorityClassName, "system-cluster-critical", part)
		if (part === "page") {
			// Sessions are in memory: never two pods, and no budget that keeps the node of the one from being drained.
			assert.equal(replicas, 1)
			assert.deepEqual(workload(part).spec.strategy, { type: "Recreate" })
			assert.deepEqual([kinds(part, "PodDisruptionBudget"), template.spec.topologySpreadConstraints], [[], undefined])
			continue
		}
		assert.equal(replicas, 2, part)
		assert.ok(chosen(kinds(part, "PodDisruptionBudget")[0].spec.selector), part)
		assert.ok(chosen(template.spec.topologySpreadConstraints[0].labelSelector), part)
	}
})

// --- on a server --------------------------------------------------------------------------------------------------

// The controllers that such a cluster has: namespaces, garbage, claims. Nobody sends heartbeats for the nodes of this test.
const controller = await startController(cluster, "--controllers", "*,-resourceslice-status-controller,-node-lifecycle-controller")

await test("the server accepts every object with strict validation, and no object with a wrong field", async () => {
	for (const part of parts)
		kubectl("apply", "-k", folder(part), "--validate=strict")
	mkdirSync(`${scratch}/wrong`)
	writeFileSync(`${scratch}/wrong/kustomization.yaml`, `resources: [bad.yaml]\n`)
	writeFileSync(`${scratch}/wrong/bad.yaml`, JSON.stringify({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "x" }, automount: true }))
	assert.throws(() => kubectl("apply", "-k", `${scratch}/wrong`, "--validate=strict"), /unknown field "automount"/)
})

await test("the overlays of the docs are accepted with strict validation, and so are the parts without them", async () => {
	for (const [name, part] of Object.entries({ mine: "attach", "my-attach": "attach", "my-page": "page" })) {
		const applied = async () => (await cluster.client.get(`/apis/apps/v1/namespaces/devplane-${part}/${part === "page" ? "deployments" : "daemonsets"}/devplane-${part}`)).body.spec.template.spec.containers[0].args
		kubectl("apply", "-k", `${overlays}/${name}`, "--validate=strict")
		all[name] = render(`${overlays}/${name}`)
		assert.deepEqual(await applied(), workload(name).spec.template.spec.containers[0].args)
		// Each file of an argument is mounted, from the folder of its name or from a Secret.
		const { containers: [c], volumes } = workload(name).spec.template.spec
		for (const [, file] of c.args.map((arg) => /[=](\/[^=]+)$/.exec(arg)).filter((found) => found && !/--root-dir/.test(found.input))) {
			const mount = c.volumeMounts.find(({ mountPath }) => mountPath === dirname(file)), volume = volumes.find((v) => v.name === mount?.name)
			assert.ok(volume?.secret || volume?.hostPath.path === dirname(file), `${name}: ${file}`)
		}
		kubectl("apply", "-k", folder(part), "--validate=strict")
		assert.deepEqual(await applied(), workload(part).spec.template.spec.containers[0].args)
	}
	for (const { name } of workload("mine").spec.template.spec.volumes)
		assert.match(workload("mine").spec.template.spec.volumes.find((v) => v.name === name).hostPath.path, /^\/var\/lib\/k0s\/kubelet\//)
	assert.deepEqual(kinds("my-page", "Deployment")[0].spec.template.spec.volumes.map((v) => v.secret.secretName).sort(), ["devplane-page-certificate", "devplane-page-oidc"])
})

// A token as the kubelet gets it for a pod of the part on this node.
async function tokenOf(part, node) {
	const ns = `devplane-${part}`, pods = `${core}/namespaces/${ns}/pods`
	// The part's own pod: the server enforces the Pod Security Standard that the part's namespace names.
	const made = await cluster.client.post(pods, { metadata: { generateName: "p-" }, spec: { ...workload(part).spec.template.spec, nodeName: node } })
	assert.equal(made.code, 201, made.text)
	const { name, uid } = made.body.metadata
	const answer = await cluster.client.post(`${core}/namespaces/${ns}/serviceaccounts/${ns}/token`,
		{ apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid } } })
	assert.equal(answer.code, 201, answer.text)
	return answer.body.status.token
}

// Runs a part as its pod would, but for the replaced arguments (by their beginning), or with others.
async function runPart(part, { node = "n1", replaced = {}, args: given } = {}) {
	const [c] = workload(part).spec.template.spec.containers
	const values = { POD_NAMESPACE: `devplane-${part}`, NODE_NAME: node }
	const args = (given ?? c.args).map((arg) => arg.replace(/\$\((\w+)\)/g, (_, name) => values[name])).map((arg) => {
		const key = Object.keys(replaced).find((k) => arg.startsWith(`${k}=`))
		return key ? `${key}=${replaced[key]}` : arg.replace(/^(--metrics-bind-address)=.*/, "$1=0.0.0.0:0")
	})
	const token = await tokenOf(part, node)
	const self = start(...args, "--kubeconfig", kubeconfig(cluster.server, token), "--log-format", "text")
	self.client = cluster.server.as({ token })
	self.url = await until(`${part} running`, () => {
		assert.equal(self.child.exitCode, null, self.err)
		return /health and metrics at (\S+)/.exec(self.out)?.[1].replace("0.0.0.0", "127.0.0.1")
	})
	// curl, because the certificate is self-signed.
	self.get = (path, bearer) => execFileSync("curl", ["-sk", "-w", "\n%{http_code}", ...(bearer ? ["-H", `Authorization: Bearer ${bearer}`] : []), self.url + path], { encoding: "utf8" })
	self.ready = () => until(`${part} ready`, () => self.get("/readyz").endsWith("\n200"), 60)
	self.stop = async () => {
		self.child.kill("SIGTERM")
		assert.deepEqual(await self.ended, { code: 0, signal: null })
		assert.doesNotMatch(self.err, /forbidden|cannot (list|watch|get|create|update|patch|delete)/i)
	}
	return self
}

const statuses = async () => (await cluster.client.get("/apis/devplane.dev/v1alpha1/resourceslicestatuses")).body.items
const slice = (name, node) => ({
	metadata: { name },
	spec: { driver: "gpu.example.com", nodeName: node, pool: { name: node, generation: 1, resourceSliceCount: 1 }, devices: [{ name: "gpu-0" }, { name: "gpu-1" }] },
})

await test("availability: with its role the controller publishes what is free, for callers of metrics that may", async () => {
	await bareNode(cluster, "n1")
	await bareNode(cluster, "n2")
	assert.equal((await cluster.client.post(`${dra}/resourceslices`, slice("one", "n1"))).code, 201)
	const run = await runPart("availability")
	await run.ready()
	const [first] = await until("status", async () => (await statuses()).length && statuses())
	assert.equal(first.status.summary.availableDevices, 2)
	assert.equal((await cluster.client.get("/apis/coordination.k8s.io/v1/namespaces/devplane-availability/leases/devplane-availability")).code, 200)
	assert.equal((await run.client.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases")).code, 403)
	assert.match(run.get("/metrics"), /\n401$/)
	assert.match(run.get("/metrics", await tokenOf("availability", "n1")), /\n403$/)
	kubectl("create", "clusterrole", "metrics-reader", "--verb=get", "--non-resource-url=/metrics")
	kubectl("create", "clusterrolebinding", "metrics-reader", "--clusterrole=metrics-reader", "--serviceaccount=devplane-scheduler:devplane-scheduler")
	assert.match(run.get("/metrics", await tokenOf("scheduler", "n1")), /leader_election_master_status[\s\S]*\n200$/)
	// A change, and a slice that goes.
	const { body } = await cluster.client.get(`${dra}/resourceslices/one`)
	body.spec.devices.push({ name: "gpu-2" })
	body.spec.devices[0].taints = [{ key: "example.com/maintenance", effect: "NoSchedule" }]
	assert.equal((await cluster.client.put(`${dra}/resourceslices/one`, body)).code, 200)
	await until("new status", async () => (await statuses())[0]?.status.summary.totalDevices === 3)
	await until("history of the pool", async () => (await cluster.client.get("/apis/devplane.dev/v1alpha1/devicehistories")).body.items.length === 1)
	assert.equal((await cluster.client.post(`${dra}/resourceslices`, slice("two", "n2"))).code, 201)
	await until("second status", async () => (await statuses()).length === 2)
	assert.equal((await cluster.client.delete(`${dra}/resourceslices/two`)).code, 200)
	await until("one status", async () => (await statuses()).length === 1)
	await run.stop()
})

await test("availability-taints: with its role the controller taints a broken device, and takes the taint back", async () => {
	const rules = async () => (await cluster.client.get(`${dra}/devicetaintrules`)).body.items
	const report = (health) => cluster.client.patch(`${core}/nodes/n1`, { metadata: { annotations: {
		"devplane.dev/device-health": health && JSON.stringify([{ id: "gpu.example.com/n1/gpu-1", health }]) } } }, "merge")
	kubectl("apply", "-k", folder("availability-taints"), "--validate=strict")
	all["availability-taints"] = render(folder("availability-taints"))
	const added = (part) => kinds(part, "ClusterRole").flatMap((role) => role.rules).filter(({ resources }) => resources.includes("devicetaintrules")).map(({ verbs }) => verbs)
	assert.deepEqual([added("availability"), added("availability-taints")], [[["get", "list", "watch"]], [["get", "list", "watch"], ["create", "delete"]]])
	const { args } = workload("availability-taints").spec.template.spec.containers[0]
	const run = await runPart("availability", { args: [...args, "--device-health-taint-after=1ms", "--device-health-taint-clear-after=1ms"] })
	await run.ready()
	assert.equal((await report("Unhealthy")).code, 200)
	const [rule] = await until("a rule", async () => (await rules()).length && rules())
	assert.deepEqual(rule.spec.deviceSelector, { driver: "gpu.example.com", pool: "n1", device: "gpu-1" })
	assert.equal((await run.client.patch(`${dra}/devicetaintrules/${rule.metadata.name}`, { metadata: { labels: { a: "b" } } }, "merge")).code, 403)
	// The policy restricts the account to rules such as this one.
	const attempt = async (name, labels, change) => {
		const spec = { deviceSelector: rule.spec.deviceSelector, taint: { key: rule.spec.taint.key, effect: rule.spec.taint.effect } }
		return run.client.post(`${dra}/devicetaintrules`, { metadata: { name, labels }, spec: { ...spec, ...change(spec) } })
	}
	const own = /the controller may only write DeviceTaintRules of its own/, one = /the controller may only taint one device with devplane.dev\/unhealthy:NoSchedule/
	for (const [name, labels, change, why] of [
		["mine", rule.metadata.labels, () => ({}), own],
		["device-health-mine", {}, () => ({}), own],
		["device-health-mine", rule.metadata.labels, ({ taint }) => ({ taint: { ...taint, effect: "NoExecute" } }), one],
		["device-health-mine", rule.metadata.labels, ({ deviceSelector: { driver } }) => ({ deviceSelector: { driver } }), one],
	]) {
		const { code, text } = await attempt(name, labels, change)
		assert.equal(code, 422, text)
		assert.match(text, why)
	}
	const admins = { metadata: { name: "device-health-admins" }, spec: rule.spec }
	assert.equal((await cluster.client.post(`${dra}/devicetaintrules`, admins)).code, 201)
	assert.match((await run.client.delete(`${dra}/devicetaintrules/device-health-admins`)).text, own)
	assert.equal((await cluster.client.delete(`${dra}/devicetaintrules/device-health-admins`)).code, 200)
	assert.equal((await report("Healthy")).code, 200)
	await until("no rule", async () => (await rules()).length === 0)
	assert.equal((await report(null)).code, 200)
	await until("a status without health", async () => (await statuses())[0].status.devices.every(({ health }) => !health))
	await run.stop()
	kubectl("apply", "-k", folder("availability"), "--validate=strict")
	assert.equal((await run.client.post(`${dra}/devicetaintrules`, {})).code, 403)
})

await test("availability: with its role a second instance takes over from a leader that is killed", async () => {
	const args = [...workload("availability").spec.template.spec.containers[0].args, "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=200ms"]
	const reader = await tokenOf("scheduler", "n1")
	const leads = (run) => /^leader_election_master_status\{.*\} 1$/m.test(run.get("/metrics", reader))
	const leader = await runPart("availability", { args })
	await until("a leader", () => leads(leader))
	const standby = await runPart("availability", { args, node: "n2" })
	await standby.ready()
	assert.ok(leads(leader) && !leads(standby))
	leader.child.kill("SIGKILL")
	await until("a new leader", () => leads(standby), 30)
	// It works, too: it notices a new slice.
	assert.equal((await cluster.client.post(`${dra}/resourceslices`, slice("two", "n2"))).code, 201)
	await until("a status of it", async () => (await statuses()).length === 2)
	assert.equal((await cluster.client.delete(`${dra}/resourceslices/two`)).code, 200)
	await until("one status", async () => (await statuses()).length === 1)
	await standby.stop()
})

await test("availability: statuses are the same objects after an upgrade and a downgrade", async () => {
	const [before] = await statuses()
	for (const tag of ["0.9.0", undefined]) {
		mkdirSync(`${scratch}/other`, { recursive: true })
		const image = tag ? `images: [{name: docker.io/library/devplane, newName: registry.example/devplane, newTag: "${tag}"}]` : ""
		writeFileSync(`${scratch}/other/kustomization.yaml`, `resources: [${"../".repeat(scratch.split("/").length)}${folder("availability").slice(1)}]\n${image}\n`)
		kubectl("apply", "-k", `${scratch}/other`, "--validate=strict")
		const [{ image: set }] = JSON.parse(kubectl("get", "deployment", "-n", "devplane-availability", "-o", "json")).items[0].spec.template.spec.containers
		assert.equal(set, tag ? `registry.example/devplane:${tag}` : workload("availability").spec.template.spec.containers[0].image)
		const run = await runPart("availability")
		await run.ready()
		await until("leader", () => run.get("/metrics").length > 0)
		await run.stop()
		const [after] = await statuses()
		assert.deepEqual([after.metadata.uid, after.status], [before.metadata.uid, before.status])
	}
})

await test("scheduler: with its role it binds pods that name it, and with a claim", async () => {
	const config = `${scratch}/scheduler.yaml`
	writeFileSync(config, Object.values(kinds("scheduler", "ConfigMap")[0].data)[0])
	const run = await runPart("scheduler", { replaced: { "--config": config } })
	await run.ready()
	assert.equal((await cluster.client.post(`${dra}/deviceclasses`, { metadata: { name: "gpu" }, spec: { selectors: [{ cel: { expression: 'device.driver == "gpu.example.com"' } }] } })).code, 201)
	assert.equal((await cluster.client.post(`${dra}/namespaces/default/resourceclaims`, { metadata: { name: "c" }, spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "gpu" } }] } } })).code, 201)
	const pod = await cluster.run({ metadata: { name: "mine" }, spec: { schedulerName: "devplane-scheduler", resourceClaims: [{ name: "c", resourceClaimName: "c" }], containers: [{ name: "m", image: "i" }] } })
	const other = await cluster.run(pending({ name: "other" }))
	assert.equal((await cluster.pod(pod, (p) => p.spec.nodeName)).spec.nodeName, "n1")
	await cluster.event("mine", "Scheduled")
	assert.equal((await cluster.client.get(`${core}/namespaces/default/pods/other`)).body.spec.nodeName, undefined)
	// One that fits nowhere: its condition and its event are written.
	await cluster.run({ metadata: { name: "large" }, spec: { schedulerName: "devplane-scheduler", containers: [{ name: "m", image: "i", resources: { requests: { cpu: "999" } } }] } })
	await cluster.event("large", "FailedScheduling")
	await run.stop()
	for (const name of ["mine", "large", other.metadata.name])
		await cluster.client.delete(`${core}/namespaces/default/pods/${name}`, { gracePeriodSeconds: 0 })
})

await test("attach: with its role it serves the watch beside a kubelet", async () => {
	const root = shortFolder()
	const kubelet = await cluster.node("n3", { root })
	const run = await runPart("attach", { node: "n3", replaced: { "--root-dir": root } })
	await run.ready()
	const { stdout, stderr } = spawnSync(devplane, ["podresources", "list", "--all", "--socket", `${root}/pod-resources/devplane.sock`], { encoding: "utf8" })
	assert.match(stdout, /^NAMESPACE +POD/, stderr)
	// It reads only: neither a pod nor a node may be written.
	for (const [verb, path, body] of [["patch", `${core}/nodes/n3`, { metadata: { labels: { a: "b" } } }], ["patch", `${core}/nodes/n3/status`, {}], ["post", `${core}/namespaces/default/pods`, {}]])
		assert.equal((await run.client[verb](path, body, "merge")).code, 403, path)
	await run.stop()
	await kubelet.stop()
})

await test("attach-plugins: the agent reads the list of the plugin that the overlay of the docs names", async () => {
	const root = shortFolder(), socket = `${root}/device-plugins/vendor.sock`
	const kubelet = await cluster.node("n3", { root })
	// Not registered, so that no other reader is there.
	const plugin = await DevicePlugin.start(root, "vendor.example/gpu", [{ ID: "0" }], { socket: "vendor.sock", register: false })
	const run = await runPart("attach", { node: "n3", replaced: { "--root-dir": root, "--follow-device-plugin": `vendor.example/gpu=${socket}` }, args: workload("my-attach").spec.template.spec.containers[0].args })
	await run.ready()
	await until("its reader", () => plugin.calls.ListAndWatch)
	await run.stop()
	plugin.stop()
	await kubelet.stop()
})

await test("attach-status: the agent writes what it sees of its node, and nothing else", async () => {
	kubectl("apply", "-k", folder("attach-status"), "--validate=strict")
	all["attach-status"] = render(folder("attach-status"))
	assert.deepEqual(kinds("attach-status", "ValidatingAdmissionPolicyBinding").map((o) => o.metadata.name), ["devplane-attach-nodes", "devplane-attach-pods"])
	// Without the gate the kubelet does not write the annotation itself.
	const root = shortFolder(), kubelet = await cluster.node("n3", { root, flags: ["--feature-gates", "ResourceHealthStatus=false"] })
	const driver = start("driver", "sim", "--kubeconfig", cluster.server.kubeconfig, "--node-name", "n3", "--root-dir", root, "--cdi-dir", `${root}/cdi`, "--devices", "1", "--metrics-bind-address", "127.0.0.1:0")
	const { args } = workload("attach-status").spec.template.spec.containers[0]
	const run = await runPart("attach", { node: "n3", replaced: { "--root-dir": root }, args })
	await run.ready()
	await until("the annotation", async () => /gpu\.sim\.devplane\.dev/.test((await cluster.readNode("n3")).metadata.annotations?.["devplane.dev/device-health"]), 60)
	const node = (name, body, type = "merge") => run.client.patch(`${core}/nodes/${name}/status`, body, type)
	const noted = (text) => ({ metadata: { annotations: { "devplane.dev/device-health": text } } })
	assert.equal((await node("n3", noted("[]"))).code, 200)
	const refused = (answer, pattern) => {
		assert.equal(answer.code, 422, answer.text)
		assert.match(answer.text, pattern)
	}
	refused(await node("n1", noted("[]")), /attach mode on node 'n3' may only write the status of that node/)
	refused(await node("n3", { metadata: { annotations: { a: "b" } } }), /of a node's annotations, attach mode may only write devplane.dev\/device-health/)
	refused(await node("n3", { metadata: { labels: { a: "b" } } }), /of a node, attach mode may only write an annotation/)
	refused(await node("n3", { status: { capacity: { cpu: "99" } } }), /of a node, attach mode may only write an annotation/)
	assert.equal((await run.client.patch(`${core}/nodes/n3`, { metadata: { labels: { a: "b" } } }, "merge")).code, 403)
	// The request of the agent about a container's devices, and others.
	for (const name of ["n1", "n3"])
		await cluster.run({ metadata: { name: `on-${name}`, labels: { a: "b" } }, spec: { nodeName: name, containers: [{ name: "m", image: "i" }] } })
	const pod = (name, body) => run.client.patch(`${core}/namespaces/default/pods/${name}/status`, body, "strategic")
	const condition = (type) => ({ status: { conditions: [{ type, status: "False", reason: "DeviceUnhealthy", message: "gpu-0: broken" }] } })
	assert.equal((await pod("on-n3", condition("devplane.dev/DevicesHealthy"))).code, 200)
	refused(await pod("on-n1", condition("devplane.dev/DevicesHealthy")), /attach mode on node 'n3' may only write the status of pods of that node/)
	refused(await pod("on-n3", condition("Ready")), /of a pod's conditions, attach mode may only write devplane.dev\/DevicesHealthy/)
	refused(await pod("on-n3", { status: { phase: "Failed" } }), /of a pod's status, attach mode may only write conditions/)
	refused(await pod("on-n3", { metadata: { labels: { a: "c" } } }), /attach mode may not write the metadata of pods/)
	// The agent's own writes pass: a pod gets the device, and the device fails.
	const scheduler = await runPart("scheduler", { replaced: { "--config": `${scratch}/scheduler.yaml` } })
	await cluster.client.post(`${dra}/deviceclasses`, { metadata: { name: "sim" }, spec: { selectors: [{ cel: { expression: 'device.driver == "gpu.sim.devplane.dev"' } }] } })
	await cluster.client.post(`${dra}/namespaces/default/resourceclaims`, { metadata: { name: "sim" }, spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "sim" } }] } } })
	const holder = await cluster.run({ metadata: { name: "holder" }, spec: { schedulerName: "devplane-scheduler", resourceClaims: [{ name: "c", resourceClaimName: "sim" }], containers: [{ name: "m", image: "i", resources: { claims: [{ name: "c" }] } }] } })
	await cluster.pod(holder, (p) => p.status.phase === "Running")
	execFileSync(devplane, ["driver", "sim", "fail", "gpu-0", "--message", "broken", "--root-dir", root])
	await cluster.pod(holder, (p) => p.status.conditions.some((c) => c.type === "devplane.dev/DevicesHealthy" && c.status === "False"))
	await scheduler.stop()
	await cluster.delete(holder, 0)
	// Everybody else may still write, such as the kubelet.
	assert.equal((await cluster.client.patch(`${core}/nodes/n1/status`, { metadata: { labels: { a: "b" } } }, "merge")).code, 200)
	await run.stop()
	driver.child.kill("SIGTERM")
	await driver.ended
	for (const { metadata: { name } } of (await cluster.client.get(`${dra}/resourceslices?fieldSelector=spec.driver=gpu.sim.devplane.dev`)).body.items)
		assert.equal((await cluster.client.delete(`${dra}/resourceslices/${name}`)).code, 200)
	await kubelet.stop()
	for (const name of ["n1", "n3"])
		await cluster.client.delete(`${core}/namespaces/default/pods/on-${name}`, { gracePeriodSeconds: 0 })
})

await test("nvidia: with its role the driver publishes the slices of its node, and cannot write those of others", async () => {
	const built = `${dirname(devplane)}/tests/fake_nvml`, root = `${scratch}/machine`
	Object.assign(process.env, { FAKE_NVML_STATE: `${scratch}/gpus`, FAKE_NVML_ROOT: root })
	mkdirSync(`${root}/dev`, { recursive: true })
	execFileSync("mkfifo", [`${root}/dev/kmsg`])
	execFileSync(`${built}/fake_nvml_ctl`, ["gpus", "2"])
	const kubelet = shortFolder()
	const run = await runPart("nvidia", { replaced: { "--root-dir": kubelet, "--cdi-dir": `${kubelet}/cdi`, "--host-root": root, "--nvml-library": `${built}/libfake_nvml.so` } })
	const mine = async () => (await cluster.client.get(`${dra}/resourceslices?fieldSelector=spec.driver=gpu.nvidia.com`)).body.items
	await until("slices", async () => (await mine()).length > 0, 60)
	const { code, text } = await run.client.post(`${dra}/resourceslices`, slice("theirs", "n2"))
	assert.equal(code, 422, text)
	assert.match(text, /the driver on node 'n1' may only write the slices of that node/)
	assert.equal((await run.client.delete(`${dra}/resourceslices/one`)).code, 200) // of n1
	for (const { metadata: { name } } of await mine())
		assert.equal((await run.client.delete(`${dra}/resourceslices/${name}`)).code, 200)
	run.child.kill("SIGTERM")
	await run.ended
	assert.doesNotMatch(run.err, /forbidden/i)
})

await test("sim: with its role the driver publishes the slices of its node, prepares claims, and cannot write slices of others", async () => {
	const root = shortFolder()
	const node = await cluster.node("n3", { root })
	const run = await runPart("sim", { node: "n3", replaced: { "--root-dir": root, "--cdi-dir": `${root}/cdi` } })
	await run.ready() // the node agent has registered it
	const mine = async () => (await cluster.client.get(`${dra}/resourceslices?fieldSelector=spec.driver=gpu.sim.devplane.dev`)).body.items
	await until("slices", async () => (await mine()).length === 1, 60)
	const { code, text } = await run.client.post(`${dra}/resourceslices`, slice("theirs", "n2"))
	assert.equal(code, 422, text)
	assert.match(text, /the driver on node 'n3' may only write the slices of that node/)
	// A claim of the part's own class, which the driver prepares and reports in the claim's status.
	const scheduler = await startScheduler(cluster)
	assert.equal((await cluster.client.post(`${dra}/namespaces/default/resourceclaims`, { metadata: { name: "of-sim" }, spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "gpu.sim.devplane.dev" } }] } } })).code, 201)
	const pod = await cluster.run({ metadata: { name: "of-sim" }, spec: { terminationGracePeriodSeconds: 0, resourceClaims: [{ name: "c", resourceClaimName: "of-sim" }], containers: [{ name: "m", image: "i", resources: { claims: [{ name: "c" }] } }] } })
	assert.equal((await cluster.pod(pod, (p) => p.status.phase === "Running")).spec.nodeName, "n3")
	await until("its entry in the claim's status", async () => (await cluster.client.get(`${dra}/namespaces/default/resourceclaims/of-sim`)).body.status.devices?.[0]?.driver === "gpu.sim.devplane.dev")
	for (const path of [`${core}/namespaces/default/pods/of-sim`, `${dra}/namespaces/default/resourceclaims/of-sim`])
		await cluster.client.delete(path)
	await until("no claim", async () => (await cluster.client.get(`${dra}/namespaces/default/resourceclaims/of-sim`)).code === 404)
	await scheduler.stop()
	await run.stop()
	await node.stop()
	for (const { metadata: { name } } of await mine())
		assert.equal((await cluster.client.delete(`${dra}/resourceslices/${name}`)).code, 200)
})

await test("the demo's driver is the pod of deploy/sim, without an account", async () => {
	const demo = JSON.parse(kubectl("create", "-f", `${checkout}/examples/demo/driver.yaml`, "--dry-run=client", "--validate=false", "-o", "json")).spec
	const ours = structuredClone(workload("sim").spec)
	const [c] = ours.template.spec.containers, [theirs] = demo.template.spec.containers
	delete ours.template.spec.serviceAccountName
	delete ours.template.spec.priorityClassName
	delete c.livenessProbe
	delete c.readinessProbe
	c.args.push("--name=gpu.example.com")
	c.image = theirs.image
	assert.equal(demo.template.spec.automountServiceAccountToken, false)
	delete demo.template.spec.automountServiceAccountToken
	assert.deepEqual(demo.template.spec, ours.template.spec)
	assert.deepEqual(demo.updateStrategy, ours.updateStrategy)
})

if (/^ +ui /m.test(execFileSync(devplane, ["help"], { encoding: "utf8" })))
	await test("page: with an account that may read nothing it shows users what they may", async () => {
		const run = await runPart("page", { replaced: { "--bind-address": "0.0.0.0:0" } })
		await run.ready()
		const page = /page at (\S+?)\/ui\//.exec(run.out)[1].replace("0.0.0.0", "127.0.0.1")
		const get = (...args) => execFileSync("curl", ["-sk", "-o", "/dev/null", "-w", "%{http_code}", ...args], { encoding: "utf8" })
		assert.equal(get(`${page}/ui/`), "200")
		assert.equal(get(`${page}/api/v1/nodes`), "401")
		assert.equal((await run.client.get(`${core}/nodes`)).code, 403)
		assert.match(run.get("/metrics", await tokenOf("scheduler", "n1")), /devplane_ui_logins_total[\s\S]*\n200$/)
		await run.stop()
	})

await test("page-certificate, page-oidc: with the arguments of the docs' overlay the page has the certificate, and sends users to the provider", async () => {
	const { ca, flags: [, certFile, , keyFile] } = selfSigned()
	writeFileSync(`${scratch}/ca.crt`, ca)
	writeFileSync(`${scratch}/client-secret`, "secret")
	const provider = https.createServer({ cert: ca, key: readFileSync(keyFile) }, (request, answer) => {
		answer.writeHead(200, { "content-type": "application/json" })
		answer.end(JSON.stringify({ issuer: `https://127.0.0.1:${provider.address().port}`, authorization_endpoint: "https://login.example.com/authorize", token_endpoint: "https://login.example.com/token" }))
	}).listen(0, "127.0.0.1")
	await once(provider, "listening")
	const { args } = workload("my-page").spec.template.spec.containers[0]
	const run = await runPart("page", { args: [...args, `--oidc-ca-file=${certFile}`], replaced: { "--bind-address": "0.0.0.0:0", "--tls-cert-file": certFile, "--tls-private-key-file": keyFile,
		"--oidc-client-secret-file": `${scratch}/client-secret`, "--oidc-issuer-url": `https://127.0.0.1:${provider.address().port}` } })
	await run.ready()
	const page = /page at (\S+?)\/ui\//.exec(run.out)[1].replace("0.0.0.0", "127.0.0.1")
	const get = async (path) => promisify(execFile)("curl", ["-s", "--cacert", `${scratch}/ca.crt`, "-o", "/dev/null", "-w", "%{http_code} %{redirect_url}", page + path], { encoding: "utf8" })
	assert.match((await get("/ui/")).stdout, /^200 /)
	const [, url] = /^302 (\S+)$/.exec((await get("/ui/oidc")).stdout)
	const { origin, searchParams: query } = new URL(url)
	assert.deepEqual([origin, query.get("client_id"), query.get("redirect_uri"), query.get("scope")], ["https://login.example.com", "kubernetes", "https://devices.example.com/ui/oidc/callback", "openid email"])
	await run.stop()
	provider.close()
})

// --- uninstalling -------------------------------------------------------------------------------------------------

// The overlays that write most, in place of their bases.
const installed = ["availability-taints", "scheduler", "attach-status", "nvidia", "sim", "page"]
const commands = /<!-- not run: a test of the manifests runs these -->\n```console\n([^`]*)```/.exec(doc)[1].match(/(?<=^\$ ).*/gm)
const remaining = async () => ({
	annotations: (await cluster.client.get(`${core}/nodes`)).body.items.filter((n) => n.metadata.annotations?.["devplane.dev/device-health"]).length,
	rules: (await cluster.client.get(`${dra}/devicetaintrules`)).body.items.length,
	slices: (await cluster.client.get(`${dra}/resourceslices`)).body.items.length,
})

await test("what the parts write outside of their namespaces", async () => {
	for (const part of installed)
		kubectl("apply", "-k", folder(part), "--validate=strict")
	// As the driver of GPUs publishes it, and deploy/attach-status reports it.
	const health = JSON.stringify([{ id: "gpu.nvidia.com/left/gpu-1", health: "Unhealthy" }])
	const { spec } = slice("gpus", "n1")
	for (const driver of ["gpu.nvidia.com", "gpu.sim.devplane.dev"])
		assert.equal((await cluster.client.post(`${dra}/resourceslices`, { metadata: { name: driver }, spec: { ...spec, driver, pool: { ...spec.pool, name: "left" } } })).code, 201)
	assert.equal((await cluster.client.patch(`${core}/nodes/n1`, { metadata: { annotations: { "devplane.dev/device-health": health } } }, "merge")).code, 200)
	const { args } = workload("availability-taints").spec.template.spec.containers[0]
	const run = await runPart("availability", { args: [...args, "--device-health-taint-after=1ms"] })
	await until("a taint rule", async () => (await remaining()).rules === 1)
	await run.stop()
})

await test("kubectl delete -k leaves nothing, but for what the docs name", async () => {
	for (const part of parts) // no kubelet ends the pods of the tokens
		for (const { metadata: { name } } of (await cluster.client.get(`${core}/namespaces/devplane-${part}/pods`)).body.items)
			await cluster.client.delete(`${core}/namespaces/devplane-${part}/pods/${name}`, { gracePeriodSeconds: 0 })
	for (const part of installed)
		kubectl("delete", "-k", folder(part), "--ignore-not-found", "--wait=false")
	for (const part of parts)
		await until(`no namespace of ${part}`, async () => (await cluster.client.get(`${core}/namespaces/devplane-${part}`)).code === 404, 60)
	for (const kind of ["resourceslicestatuses", "devicehistories"])
		await until("no definition", async () => (await cluster.client.get(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${kind}.devplane.dev`)).code === 404)
	// These stay by design; the docs have a command for each.
	const { annotations, rules, slices } = await remaining()
	assert.deepEqual([annotations, rules, slices > 0], [1, 1, true])
	assert.equal(commands.length, 4)
	for (const command of commands)
		kubectl(...command.replace(/^kubectl /, "").split(" "))
	assert.deepEqual(await remaining(), { annotations: 0, rules: 0, slices: 0 })
	const resources = kubectl("api-resources", "--verbs=list", "-o", "name").trim().split("\n").filter((r) => !/^events/.test(r))
	const left = resources.flatMap((r) => kubectl("get", r, "-A", "--ignore-not-found", "-o", "name").trim().split("\n"))
		.filter((name) => /devplane/.test(name) && !/clusterrole.*\/system:/.test(name))
		.filter((name) => name !== "lease.coordination.k8s.io/devplane-controllers") // the cluster's own controller keeps it
	assert.deepEqual(left, [])
})
await controller.stop()
finish()
