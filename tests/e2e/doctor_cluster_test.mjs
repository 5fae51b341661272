// `devplane doctor --cluster`: what it finds in an installation of deploy/. No kubelet and no Deployment controller is there, so the
// test writes the statuses that they would.
import assert from "node:assert/strict"
import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { networkInterfaces } from "node:os"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { core } from "./api_lib.mjs"
import { fakeKubelet } from "./attach_lib.mjs"
import { devplane, finish, scratch, start, test, until } from "./lib.mjs"
import { kubeconfig, shortFolder, startCluster } from "./node_lib.mjs"

const checkout = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "")
const parts = ["availability", "scheduler", "attach", "nvidia", "sim", "page"]
const daemons = ["attach", "nvidia", "sim"]
const program = execFileSync(`${checkout}/scripts/kubectl`, [`${dirname(devplane)}/kubectl`], { encoding: "utf8" }).trim()
const cluster = await startCluster({ flags: ["--feature-gates", "DRAResourceAvailabilityVisibility=false", "--kubelet-preferred-address-types", "InternalIP"] })

function kubectl(...args) {
	const { status, stdout, stderr } = spawnSync(program, ["--kubeconfig", cluster.server.kubeconfig, "--cache-dir", `${scratch}/cache`, ...args], { encoding: "utf8" })
	assert.equal(status, 0, `kubectl ${args.join(" ")}: ${stderr}`)
	return stdout
}

// The findings by subject, and the exit status.
function doctor(file = cluster.server.kubeconfig) {
	const { status, stdout, stderr } = spawnSync(devplane, ["doctor", "--cluster", "-o", "json", "--kubeconfig", file], { encoding: "utf8" })
	assert.ok(stdout, stderr)
	const { findings } = JSON.parse(stdout)
	return { status, findings, of: (subject) => findings.filter((f) => f.subject === subject) }
}

const path = (part, name = `devplane-${part}`) => `/apis/apps/v1/namespaces/devplane-${part}/${daemons.includes(part) ? "daemonsets" : "deployments"}/${name}`

// Writes the status that the controller of the workload would.
async function setReady(part, ready, wanted) {
	const status = path(part).includes("daemonsets")
		? { currentNumberScheduled: wanted, desiredNumberScheduled: wanted, numberMisscheduled: 0, numberReady: ready }
		: { replicas: wanted, readyReplicas: ready }
	const { code, text } = await cluster.client.patch(`${path(part)}/status`, { status }, "merge")
	assert.equal(code, 200, text)
}

async function lease(part, age) {
	const base = `/apis/coordination.k8s.io/v1/namespaces/devplane-${part}/leases`
	const spec = { holderIdentity: "one", leaseDurationSeconds: 15, renewTime: new Date(Date.now() - age * 1000).toISOString().replace("Z", "000Z") }
	await cluster.client.delete(`${base}/devplane-${part}`)
	const { code, text } = await cluster.client.post(base, { metadata: { name: `devplane-${part}` }, spec })
	assert.equal(code, 201, text)
}

await test("a cluster without an installation: it says how to install a part", async () => {
	const { of, status } = doctor()
	assert.equal(status, 0)
	assert.match(of("installation")[0].hint, /kubectl apply -k deploy\/availability/)
	assert.match(of("version")[0].text, /^the server is v1\..*, this program \d/)
	assert.equal(of("device API")[0].verdict, "ok")
	assert.equal(of("gates")[0].verdict, "ok")
})

await test("an installation that works has no finding", async () => {
	for (const part of parts) {
		kubectl("apply", "-k", `${checkout}/deploy/${part}`)
		const replicas = { page: 1, attach: 3 }[part] ?? 2
		await setReady(part, replicas, replicas)
	}
	for (const part of ["availability", "scheduler"])
		await lease(part, 1)
	const { findings, status, of } = doctor()
	const bad = findings.filter((f) => f.verdict !== "ok" && !["nodes", "statuses"].includes(f.subject))
	assert.deepEqual(bad, [])
	assert.equal(status, 0)
	assert.equal(of("attach")[0].text, "3 of 3 pods are ready")
	assert.equal(of("scheduler leader")[0].text, "one")
})

// The account's rules of a part, in whichever role.
const rulesOf = (part) => ["role", "clusterrole"].flatMap((kind) => JSON.parse(kubectl("get", kind, "-n", `devplane-${part}`, "-o", "json")).items)
	.filter(({ metadata }) => metadata.name === `devplane-${part}`).flatMap((role) => role.rules)
const nRights = (part) => rulesOf(part).reduce((sum, rule) => sum + rule.apiGroups.length * rule.resources.length * rule.verbs.length, 0)
const variants = { "attach-status": "attach", "availability-taints": "availability" }

await test("the rights that it asks for are those of the manifests", async () => {
	for (const folder of [...parts, ...Object.keys(variants)]) {
		const part = variants[folder] ?? folder
		kubectl("apply", "-k", `${checkout}/deploy/${folder}`)
		assert.equal(doctor().of(`${part} rights`)[0].text, `devplane-${part}/devplane-${part} has all ${nRights(part)}`, folder)
	}
})

await test("a right that a variant needs is missed where its flag is set, and nowhere else", async () => {
	for (const [folder, first] of Object.entries({ "attach-status": "patch pods/status", "availability-taints": "create devicetaintrules.resource.k8s.io" })) {
		const part = variants[folder]
		kubectl("apply", "-k", `${checkout}/deploy/${folder}`)
		const all = nRights(part)
		const last = JSON.parse(kubectl("get", "clusterrole", `devplane-${part}`, "-o", "json")).rules.length - 1
		kubectl("patch", "clusterrole", `devplane-${part}`, "--type=json", "-p", `[{"op":"remove","path":"/rules/${last}"}]`)
		const [found] = doctor().of(`${part} rights`)
		assert.equal(found.text, `devplane-${part}/devplane-${part} lacks 2 of ${all}, such as: ${first}`)
		assert.equal(found.hint, `apply deploy/${folder} again`)
		kubectl("apply", "-k", `${checkout}/deploy/${part}`)
		assert.equal(doctor().of(`${part} rights`)[0].text, `devplane-${part}/devplane-${part} has all ${all - 2}`)
	}
	// A flag that an overlay switches off again needs no right.
	const path = "/spec/template/spec/containers/0/args/-"
	const add = (value) => kubectl("patch", "-n", "devplane-attach", "daemonset", "devplane-attach", "--type=json", "-p", JSON.stringify([{ op: "add", path, value }]))
	add("--attach-pod-condition=false")
	assert.equal(doctor().of("attach rights")[0].verdict, "ok")
	add("--attach-node-annotation=true")
	assert.match(doctor().of("attach rights")[0].text, /lacks 1 of \d+, such as: patch nodes\/status$/)
	kubectl("apply", "-k", `${checkout}/deploy/attach`)
})

await test("a policy that is missing, or has no binding, is named with what the account may write then", async () => {
	assert.deepEqual([doctor().of("attach policy"), doctor().of("availability policy"), doctor().of("nvidia policy").map((f) => f.verdict)], [[], [], ["ok"]])
	for (const folder of Object.keys(variants))
		kubectl("apply", "-k", `${checkout}/deploy/${folder}`)
	assert.deepEqual(["attach", "availability"].map((part) => doctor().of(`${part} policy`).map((f) => f.text)), [["2 restrict what its account writes"], ["1 restrict what its account writes"]])
	for (const [kind, name, part, folder, what] of [
		["validatingadmissionpolicy", "devplane-attach-pods", "attach", "attach-status", "the status of every pod"],
		["validatingadmissionpolicybinding", "devplane-attach-nodes", "attach", "attach-status", "the status of every node"],
		["validatingadmissionpolicy", "devplane-availability-taints", "availability", "availability-taints", "every DeviceTaintRule"],
		["validatingadmissionpolicybinding", "devplane-nvidia", "nvidia", "nvidia", "slices of every node"],
	]) {
		kubectl("delete", kind, name)
		const { of, status } = doctor(), [found] = of(`${part} policy`)
		assert.equal(status, 1)
		assert.deepEqual([found.verdict, found.hint], ["fail", `apply deploy/${folder} again`])
		assert.match(found.text, new RegExp(`^${kind.replace(/y$/, "ies").replace(/g$/, "gs")}\\.admissionregistration\\.k8s\\.io "${name}" not found: its account may write ${what}$`))
		kubectl("apply", "-k", `${checkout}/deploy/${folder}`)
	}
	for (const folder of Object.values(variants))
		kubectl("apply", "-k", `${checkout}/deploy/${folder}`)
})

await test("a missing right is named", async () => {
	for (const part of parts) {
		kubectl("patch", "clusterrole", `devplane-${part}`, "--type=json", "-p", '[{"op":"remove","path":"/rules/0"}]')
		const { of, status } = doctor()
		assert.equal(status, 1)
		assert.match(of(`${part} rights`)[0].text, new RegExp(`^devplane-${part}/devplane-${part} lacks \\d+ of \\d+, such as: \\w+ [a-z/]+`))
		assert.equal(of(`${part} rights`)[0].hint, `apply deploy/${part} again`)
		kubectl("apply", "-k", `${checkout}/deploy/${part}`)
	}
	kubectl("delete", "role", "-n", "devplane-availability", "devplane-availability")
	assert.match(doctor().of("availability rights")[0].text, /lacks 3 of 30, such as: create leases\.coordination\.k8s\.io$/)
	kubectl("apply", "-k", `${checkout}/deploy/availability`)
})

// A pod of the part, not ready.
async function brokenPod(part, status, labels = { "app.kubernetes.io/part-of": "devplane", "app.kubernetes.io/component": part }) {
	const pods = `${core}/namespaces/devplane-${part}/pods`
	const made = await cluster.client.post(pods, { metadata: { name: "broken", labels }, spec: { nodeName: "n1", containers: [{ name: "c", image: "x" }] } })
	assert.equal(made.code, 201, made.text)
	assert.equal((await cluster.client.patch(`${pods}/broken/status`, { status }, "merge")).code, 200)
	return made.body
}

await test("pods that are not ready: their image, or the newest warning about them", async () => {
	await setReady("attach", 2, 3)
	assert.match(doctor().of("attach")[0].text, /^2 of 3 pods are ready, and none of the others exists$/)
	const waiting = { name: "c", image: "x", imageID: "", ready: false, restartCount: 0, state: { waiting: { reason: "ImagePullBackOff" } } }
	const pod = await brokenPod("attach", { phase: "Pending", containerStatuses: [waiting] })
	const [image] = doctor().of("attach")
	assert.equal(image.text, "pod broken: ImagePullBackOff of x")
	assert.match(image.hint, /import the image on the nodes, or name your registry/)
	waiting.state.waiting.reason = "ContainerCreating"
	await cluster.client.patch(`${core}/namespaces/devplane-attach/pods/broken/status`, { status: { containerStatuses: [waiting] } }, "merge")
	const involvedObject = { kind: "Pod", namespace: "devplane-attach", name: "broken", uid: pod.metadata.uid }
	for (const [name, time, message] of [["b", "02", "hostPath type check failed: /var/lib/kubelet/pod-resources is not a directory"], ["a", "01", "older"]]) {
		const { code, text } = await cluster.client.post(`${core}/namespaces/devplane-attach/events`, { metadata: { name }, involvedObject, type: "Warning", reason: "FailedMount", message, lastTimestamp: `2026-01-01T00:00:${time}Z` })
		assert.equal(code, 201, text)
	}
	assert.match(doctor().of("attach")[0].text, /^2 of 3 pods are ready; broken is not: hostPath type check failed: \/var/)
	await setReady("attach", 0, 0)
	assert.match(doctor().of("attach")[0].hint, /labels of your nodes/)
})

// --- sockets: real programs, behind pods that have this machine's address ------------------------------------------

const address = Object.values(networkInterfaces()).flat()
	.find(({ internal, family, address }) => !internal && family === "IPv4" && !address.startsWith("169.254."))?.address

// A pod of the part whose program listens at this port.
async function runningPod(part, name, port, ready) {
	const pods = `${core}/namespaces/devplane-${part}/pods`
	const labels = { "app.kubernetes.io/part-of": "devplane", "app.kubernetes.io/component": part }
	await cluster.client.delete(`${pods}/${name}`, { gracePeriodSeconds: 0 })
	const made = await cluster.client.post(pods, { metadata: { name, labels }, spec: { nodeName: `node-of-${name}`, containers: [{ name: "c", image: "x", ports: [{ name: "metrics", containerPort: port }] }] } })
	assert.equal(made.code, 201, made.text)
	const status = { phase: "Running", podIPs: [{ ip: address }], conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
		containerStatuses: [{ name: "c", image: "x", imageID: "", ready, restartCount: 0, state: { running: {} } }] }
	assert.equal((await cluster.client.patch(`${pods}/${name}/status`, { status }, "merge")).code, 200)
}

const portOf = (url) => Number(new URL(url).port)
// The programs look at their sockets on their own time.
const says = (subject, pattern) => until(`${subject}: ${pattern}`, () => {
	const found = doctor().of(subject)
	return found.length === 1 && pattern.test(found[0].text) && found[0]
}, 60)

if (!address)
	console.log("# sockets: not tested, because the server does not go to pods at a machine's loopback address")
else {
	await test("gates: those of each kubelet, by its own metrics", async () => {
		const caFile = `${scratch}/ca.crt`
		writeFileSync(caFile, cluster.server.credentials.ca)
		const flags = ["--client-ca-file", caFile]
		assert.deepEqual(doctor().of("kubelet gates"), [])
		const nodes = [await cluster.node("n2", { flags }), await cluster.node("n3", { flags: [...flags, "--feature-gates", "ResourceHealthStatus=false"] })]
		assert.match(await nodes[1].metrics(), /^kubernetes_feature_enabled\{name="ResourceHealthStatus",stage="BETA"\} 0$/m)
		const [off] = doctor().of("kubelet gates")
		assert.deepEqual([off.verdict, off.text], ["warn", "ResourceHealthStatus is off on n3: the kubelet does not write the health of devices into pods"])
		assert.equal(off.hint, "set ResourceHealthStatus to true in the featureGates of the kubelet's configuration")
		await nodes[1].stop()
		assert.match(doctor().of("kubelet gates")[0].text, /^1 of 2 kubelets did not answer, such as that of n3: /)
		await cluster.client.delete(`${core}/nodes/n3`)
		const [on] = doctor().of("kubelet gates")
		assert.deepEqual([on.verdict, on.text], ["ok", "none that matters is off on 1 of 1 kubelets"])
		// A user who may list nodes, but not ask them.
		kubectl("create", "serviceaccount", "lists")
		kubectl("create", "clusterrole", "lists", "--verb=list", "--resource=nodes")
		kubectl("create", "clusterrolebinding", "lists", "--clusterrole=lists", "--serviceaccount=default:lists")
		const { of } = doctor(kubeconfig(cluster.server, kubectl("create", "token", "lists").trim()))
		assert.deepEqual(of("kubelet gates").map((f) => [f.verdict, f.hint]), [["warn", "run it as a user who may get nodes/proxy"]])
		await nodes[0].stop()
		await cluster.client.delete(`${core}/nodes/n2`)
	})

	await test("sockets: the kubelet's, the folder of drivers, a registration; one finding for a fault on several nodes", async () => {
		await cluster.client.delete(`${core}/namespaces/devplane-attach/pods/broken`, { gracePeriodSeconds: 0 })
		const root = shortFolder()
		for (const folder of ["pod-resources", "plugins_registry"])
			mkdirSync(`${root}/${folder}`)
		const kubelet = fakeKubelet(`${root}/pod-resources/kubelet.sock`)
		await kubelet.begin()
		await cluster.client.post(`${core}/nodes`, { metadata: { name: "n1" } })
		const node = await cluster.node("n1", { root, hollow: false, wait: false, flags: ["--attach", "--metrics-bind-address", "0.0.0.0:0"] })
		await setReady("attach", 2, 2)
		for (const name of ["a", "b"])
			await runningPod("attach", name, portOf(node.url), true)
		assert.equal((await says("attach sockets", /^2 of 2 pods reach those of their node$/)).verdict, "ok")
		// The folder is gone: health of devices is not seen.
		rmSync(`${root}/plugins_registry`, { recursive: true })
		const gone = await says("attach sockets", /^a on node-of-a and 1 more: plugin-registry: the folder .*\/plugins_registry does not exist; check that/)
		assert.equal(gone.verdict, "fail")
		mkdirSync(`${root}/plugins_registry`)
		await says("attach sockets", /^2 of 2/)
		await kubelet.kill()
		await says("attach sockets", /^a on node-of-a and 1 more: kubelet-socket: not connected to .*kubelet\.sock: .*; check that the kubelet runs/)
		// The kubelet has seen one of the pods fail by now.
		await runningPod("attach", "b", portOf(node.url), false)
		await setReady("attach", 1, 2)
		assert.match((await says("attach", /kubelet-socket/)).text, /^1 of 2 pods are ready; b on node-of-b is not: kubelet-socket: not connected/)
		// A pod that nothing answers for.
		await runningPod("attach", "b", 1, true)
		await setReady("attach", 2, 2)
		await kubelet.begin()
		assert.equal((await says("attach sockets", /^1 of 2 pods did not answer, such as b: error trying to reach service/)).verdict, "warn")
		for (let i = 0; i < 23; i++)
			await runningPod("attach", `b${i ? i : ""}`, portOf(node.url), true)
		await says("attach sockets", /^20 of 20 pods reach those of their node; 4 were not asked$/)
		// A driver that no kubelet has registered.
		const driver = start("driver", "sim", "--kubeconfig", cluster.server.kubeconfig, "--node-name", "n1", "--root-dir", shortFolder(), "--metrics-bind-address", "0.0.0.0:0")
		const port = await until("the driver", () => /health and metrics at (\S+)/.exec(driver.out)?.[1])
		await runningPod("nvidia", "gpus", portOf(port), false)
		await setReady("nvidia", 0, 1)
		assert.match((await says("nvidia", /kubelet-registration/)).text, /^0 of 1 pods are ready; gpus on node-of-gpus is not: kubelet-registration: not registered, and .* had no kubelet: give the root folder/)
		// A user who may do all but that.
		kubectl("create", "serviceaccount", "looks")
		kubectl("create", "clusterrole", "looks", "--verb=get,list", "--resource=nodes,pods,deployments.apps,daemonsets.apps")
		kubectl("create", "clusterrolebinding", "looks", "--clusterrole=looks", "--serviceaccount=default:looks")
		const { of } = doctor(kubeconfig(cluster.server, kubectl("create", "token", "looks").trim()))
		assert.equal(of("sockets").length, 1)
		assert.equal(of("sockets")[0].verdict, "warn")
		assert.equal(of("sockets")[0].hint, "run it as a user who may get pods/proxy")
		assert.deepEqual(of("attach sockets"), [])
		driver.child.kill("SIGTERM")
		await driver.ended
		await node.stop()
		await kubelet.kill()
	})
}

await test("another version, a leader that is gone, a definition that is missing", async () => {
	kubectl("set", "image", "-n", "devplane-scheduler", "deployment/devplane-scheduler", "scheduler=registry:5000/devplane:9.9.9")
	await lease("availability", 100)
	kubectl("delete", "crd", "resourceslicestatuses.devplane.dev")
	const { of, status } = doctor()
	assert.equal(status, 1)
	assert.match(of("scheduler image")[0].text, /^registry:5000\/devplane:9\.9\.9, but this program is \d/)
	assert.match(of("availability leader")[0].text, /^nobody leads: one renewed the lease 10\d s ago$/)
	assert.ok(of("statuses").some((f) => f.verdict === "fail" && f.hint === "apply deploy/availability again"))
	for (const [image, verdict] of [["registry:5000/devplane", "warn"], ["devplane@sha256:" + "0".repeat(64), "ok"], [`devplane:${of("version")[0].text.split(" ").at(-1)}-7-gabc`, "ok"]]) {
		kubectl("set", "image", "-n", "devplane-scheduler", "deployment/devplane-scheduler", `scheduler=${image}`)
		assert.equal(doctor().of("scheduler image")[0].verdict, verdict, image)
	}
})

await test("a user without rights sees once what was not checked", async () => {
	kubectl("create", "serviceaccount", "nobody")
	const file = kubeconfig(cluster.server, kubectl("create", "token", "nobody").trim())
	const { of } = doctor(file)
	assert.match(of("gates")[0].text, /^not checked: /)
	assert.equal(of("deployments").length + of("daemonsets").length, 2)
	kubectl("create", "clusterrole", "looker", "--verb=list", "--resource=deployments.apps,daemonsets.apps")
	kubectl("create", "clusterrolebinding", "looker", "--clusterrole=looker", "--serviceaccount=default:nobody")
	assert.deepEqual(doctor(file).of("rights").map((f) => f.hint), ["run it as a user who may create subjectaccessreviews"])
})
finish()
