// `devplane up --demo`: all parts run, with exactly the rights and capabilities that they need, and are restarted if killed.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { readFileSync, readdirSync, statSync } from "node:fs"
import * as https from "node:https"
import { Client, core, dra, readKubeconfig } from "./api_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { alive, Cluster, command, run } from "./up_lib.mjs"

const names = ["server", "controller", "scheduler", "node-demo-0", "node-demo-1",
	"driver-gpu-demo-0", "driver-nic-demo-0", "driver-gpu-demo-1", "driver-nic-demo-1",
	"driver-fpga-demo-0", "driver-fpga-demo-1", "driver-mig-demo-1"]
const c = new Cluster()

// Each has its own port, so there is nothing to wait for but the word of `up`.
await test("one command starts a cluster, and says what to do next", async () => {
	await c.begin("--demo")
	// Without the plugin the scheduler ignores disks, and pods land anywhere.
	assert.doesNotMatch(c.up.out, /disk_io\.so was not found/, "the build lacks plugins/disk_io/disk_io.so: build it, too")
	assert.match(c.up.out, /^devplane is up after \d+\.\d\d s: https:\/\/127\.0\.0\.1:\d+$/m)
	assert.match(c.up.out, /^ {2}export KUBECONFIG=\S+\/admin\.kubeconfig$/m)
	assert.match(c.up.out, /^ {2}runs {4}server, controller, scheduler, 2 nodes, 7 drivers$/m)
	assert.match(c.up.out, /^ {2}page {4}https:\/\/127\.0\.0\.1:\d+\/ui\/ \(log in with the link that "devplane page --data-dir \S+" prints\)$/m)
	assert.doesNotMatch(c.up.out, /code=/)
	assert.match(c.up.out, /^ {2}stop {4}Ctrl-C$/m)
	assert.equal(c.up.err, "")
})

await test("kubectl works with the administrator's kubeconfig", async () => {
	const { code, out, err } = await c.kubectl("get", "nodes", "--no-headers")
	assert.equal(code, 0, err)
	assert.match(out, /^demo-0 +Ready/m)
	assert.match(out, /^demo-1 +Ready/m)
})

await test("status tells that all is well", async () => {
	const { code, out } = await c.run("status")
	assert.equal(code, 0, out)
	assert.match(out, /^NAME +STATE +HEALTH +PID +RESTARTS +AGE +MEMORY$/m)
	const status = await c.status()
	assert.deepEqual(status.roles.map((r) => r.name), names)
	assert.ok(status.roles.every((r) => r.state === "ready" && r.health === "ok" && r.restarts === 0 && r.memoryBytes > 0))
	assert.equal(status.server, c.url)
	assert.equal(status.pid, c.up.pid)
})

await test("the folder and what is secret in it is the owner's alone", async () => {
	// Of root's the roles' users may pass it, by its group.
	assert.equal(statSync(c.folder).mode & 0o777, process.getuid() === 0 ? 0o710 : 0o700)
	for (const file of [c.kubeconfig, ...readdirSync(`${c.folder}/kubeconfig`).map((f) => `${c.folder}/kubeconfig/${f}`)])
		assert.equal(statSync(file).mode & 0o777, 0o600, file)
})

// A listener that answers to everything, with a certificate that it signed itself.
async function startImpostor() {
	const file = `${c.folder}-impostor`
	execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=ghost",
		"-addext", "subjectAltName=DNS:ghost,IP:127.0.0.1", "-keyout", `${file}.key`, "-out", `${file}.crt`], { stdio: "ignore" })
	const impostor = https.createServer({ key: readFileSync(`${file}.key`), cert: readFileSync(`${file}.crt`) }, (request, response) => response.end("trust me"))
	impostor.listen(0, "127.0.0.1")
	await once(impostor, "listening")
	return impostor
}

await test("the server reaches its nodes by certificates of the cluster, and refuses an impostor", async () => {
	// The answer is a kubelet's: a hollow node runs nothing that could write a log.
	const log = async (nodeName) => {
		const pod = { metadata: { name: `on-${nodeName}` }, spec: { nodeName, automountServiceAccountToken: false, containers: [{ name: "main", image: "none" }] } }
		await until("the pod", async () => [201, 409].includes((await c.client.post(`${core}/namespaces/default/pods`, pod)).code))
		const { code, text } = await c.client.get(`${core}/namespaces/default/pods/on-${nodeName}/log`)
		await c.client.delete(`${core}/namespaces/default/pods/on-${nodeName}`, { gracePeriodSeconds: 0 })
		return `${code} ${text}`
	}
	for (const node of ["demo-0", "demo-1"])
		await until("the answer of the node", async () => (await log(node)).includes(`the node ${node} is hollow`))
	const impostor = await startImpostor()
	const { code, text } = await c.client.post(`${core}/nodes`, { metadata: { name: "ghost" }, status: { addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
		daemonEndpoints: { kubeletEndpoint: { Port: impostor.address().port } } } })
	assert.equal(code, 201, text)
	assert.match(await log("ghost"), /^500 .*certificate verify failed: self-signed certificate .*asked for as ghost/)
	assert.equal((await c.client.delete(`${core}/nodes/ghost`)).code, 200)
	impostor.close()
})

await test("every part has given its powers away", async () => {
	for (const role of (await c.status()).roles) {
		const text = readFileSync(`/proc/${role.pid}/status`, "utf8")
		const field = (name) => new RegExp(`^${name}:\\s+(\\S+)`, "m").exec(text)[1]
		for (const set of ["CapInh", "CapPrm", "CapEff", "CapAmb", ...(process.getuid() === 0 ? ["CapBnd"] : [])])
			assert.match(field(set), /^0+$/, `${role.name} ${set}`)
		assert.equal(field("NoNewPrivs"), "1", role.name)
		assert.match(readFileSync(`/proc/${role.pid}/limits`, "utf8"), /Max core file size +[01] +[01] /, role.name)
		assert.match(readFileSync(`/proc/${role.pid}/cmdline`, "utf8"), /^devplane\0/, role.name)
	}
})

// The rights of each: [kubeconfig, allowed, words of `kubectl auth can-i`].
const rights = [
	["controller", true, "patch resourceslices --subresource=status"],
	["controller", true, "create pods"],
	["controller", true, "create controllerrevisions"],
	["controller", false, "create nodes"],
	["controller", false, "create clusterrolebindings"],
	["scheduler", true, "create pods --subresource=binding"],
	["scheduler", true, "watch nodediskiostatuses.diskio.devplane.dev"],
	["scheduler", false, "get secrets"],
	["scheduler", false, "create nodes"],
	["node-demo-0", true, "patch nodes/demo-0 --subresource=status"],
	["node-demo-0", false, "get nodes/demo-1"],
	["node-demo-0", false, "list secrets -A"],
	["driver-gpu-demo-0", true, "create resourceslices"],
	["driver-gpu-demo-0", true, "associated-node:patch resourceclaims/gpu.sim.devplane.dev --subresource=driver"],
	["driver-gpu-demo-0", false, "associated-node:patch resourceclaims/nic.sim.devplane.dev --subresource=driver"],
	["driver-gpu-demo-0", false, "arbitrary-node:patch resourceclaims/gpu.sim.devplane.dev --subresource=driver"],
	["driver-gpu-demo-0", false, "list pods -A"],
	["driver-gpu-demo-0", false, "update nodes"],
	["driver-gpu-demo-0", false, "create serviceaccounts --subresource=token -n kube-system"],
]

await test("every kubeconfig has the rights that its role needs, and no others", async () => {
	const wrong = []
	for (const [role, allowed, words] of rights) {
		const { out } = await command("kubectl", ["--kubeconfig", `${c.folder}/kubeconfig/${role}.kubeconfig`,
			"auth", "can-i", ...words.split(" ")])
		if (out.trim().startsWith("yes") !== allowed)
			wrong.push(`${role} ${words}: ${out.trim()}`)
	}
	assert.deepEqual(wrong, [])
})

// --- the story -----------------------------------------------------------------------------

const claim = (device) => ({ devices: { requests: [{ name: device, exactly: { deviceClassName: device } }] } })

function pod(name, device, more = {}) {
	return {
		metadata: { name, ...more },
		spec: {
			containers: [{ name: "main", image: "busybox", ...(device && { resources: { claims: [{ name: device }] } }) }],
			...(device && { resourceClaims: [{ name: device, resourceClaimTemplateName: device }] }),
		},
	}
}

async function made(promise) {
	const { code, text } = await promise
	assert.ok(code < 300, text)
}

const pods = `${core}/namespaces/default/pods`

async function running(name) {
	return until(`running pod ${name}`, async () => {
		const { body } = await c.client.get(`${pods}/${name}`)
		return body.status.phase === "Running" && body
	}, 30)
}

await test("pods get devices, and claims tell how those are", async () => {
	for (const device of ["gpu", "nic"]) {
		await made(c.client.post(`${dra}/namespaces/default/resourceclaimtemplates`, { metadata: { name: device }, spec: { spec: claim(device) } }))
		await made(c.client.post(pods, pod(device, device)))
	}
	for (const device of ["gpu", "nic"]) {
		const { status } = await running(device)
		const { resourceClaimName } = status.resourceClaimStatuses[0]
		await until(`status of the ${device}`, async () => {
			const { body } = await c.client.get(`${dra}/namespaces/default/resourceclaims/${resourceClaimName}`)
			const entry = body.status.devices?.[0]
			return entry?.driver === `${device}.sim.devplane.dev` && entry.conditions.some((x) => x.type === "Ready" && x.status === "True")
		})
	}
})

await test("a broken device is told, and a disk that is idle is found", async () => {
	const { body } = await c.client.get(`${pods}/gpu`)
	const { nodeName } = body.spec
	const broken = await run("driver", "sim", "fail", "all", "--message", "ECC", "--name", "gpu.sim.devplane.dev", "--root-dir", `${c.folder}/nodes/${nodeName}`)
	assert.equal(broken.code, 0, broken.err)
	await until("health in the pod's status", async () => {
		const { text } = await c.client.get(`${pods}/gpu`)
		return text.includes("Unhealthy")
	})
	const disks = "/apis/diskio.devplane.dev/v1alpha1/nodediskiostatuses"
	for (const [node, used] of [["demo-0", 95], ["demo-1", 5]]) {
		await made(c.client.post(disks, { apiVersion: "diskio.devplane.dev/v1alpha1", kind: "NodeDiskIOStatus", metadata: { name: node }, spec: { nodeName: node } }))
		const rate = { readBytesPerSecond: used << 20, writeBytesPerSecond: used << 20 }
		const full = { readBytesPerSecond: 100 << 20, writeBytesPerSecond: 100 << 20 }
		await made(c.client.patch(`${disks}/${node}/status`, { status: { observedTime: new Date().toISOString().replace(/\.\d+/, ""), deviceCount: 1, devices: [{ name: "sda", primary: true, attributed: true, capacity: full, used: rate, pods: [] }] } }, "merge"))
	}
	await made(c.client.post(pods, pod("disk", undefined, { annotations: { "diskio.devplane.dev/write-bps": "50Mi" } })))
	assert.equal((await running("disk")).spec.nodeName, "demo-1")
	await made(c.client.delete(`${pods}/gpu`))
	await until("freed claim", async () => {
		const claims = await c.client.get(`${dra}/namespaces/default/resourceclaims`)
		return claims.body.items.length === 1
	}, 30)
})

await test("nobody was refused anything on the way", async () => {
	const { text } = await c.client.get("/metrics")
	const refused = text.split("\n").filter((line) => /^apiserver_request_total\{.*code="40[13]"/.test(line))
	assert.deepEqual(refused, [])
	for (const name of names)
		assert.doesNotMatch(c.log(name), /forbidden|unauthorized/i, name)
})

await test("a node cannot write what is another's, nor a driver", async () => {
	const patch = (role, body, path) => command("kubectl", ["--kubeconfig", `${c.folder}/kubeconfig/${role}.kubeconfig`, "patch", ...path, "--type=merge", "-p", body])
	const node = await patch("node-demo-0", '{"metadata":{"labels":{"a":"b"}}}', ["node", "demo-1"])
	assert.match(node.err, /Forbidden|forbidden/)
	const { body } = await c.client.get(`${dra}/namespaces/default/resourceclaims`)
	const claim = body.items[0], holder = claim.status.allocation.devices.results[0].pool
	const other = holder === "demo-0" ? "demo-1" : "demo-0"
	const { code, text } = await new Client(c.url, {
		ca: readKubeconfig(c.kubeconfig).ca,
		token: readFileSync(`${c.folder}/kubeconfig/driver-nic-${other}.token`, "utf8"),
	}).patch(`${dra}/namespaces/default/resourceclaims/${claim.metadata.name}/status`, { status: { devices: [] } }, "merge")
	assert.equal(code, 422, text)
	assert.ok(text.includes(`claim is on node \\"${holder}\\", user is on node \\"${other}\\"`), text)
})

// --- logs ----------------------------------------------------------------------------------

await test("logs are readable, of one part and of all by time", async () => {
	const one = await c.run("logs", "scheduler", "--tail", "2")
	assert.equal(one.code, 0, one.err)
	assert.equal(one.out.trim().split("\n").length, 2)
	assert.match(one.out, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} INFO {2}/)
	const all = (await c.run("logs")).out.trim().split("\n")
	for (const name of ["server", "node-demo-1", "up"])
		assert.ok(all.some((line) => line.split(" ")[2] === name), name)
	const times = all.map((line) => line.slice(0, 23))
	assert.deepEqual(times, [...times].sort())
	assert.equal((await c.run("logs", "--since", "1ns")).out, "")
	for (const line of (await c.run("logs", "-o", "json")).out.trim().split("\n"))
		assert.ok(JSON.parse(line).ts)
	const wrong = await c.run("logs", "nobody")
	assert.equal(wrong.code, 1)
	assert.match(wrong.err, /unknown role nobody; roles: controller, driver-fpga-demo-0,/)
})

await test("doctor finds nothing that fails", async () => {
	const { code, out } = await c.run("doctor")
	assert.equal(code, 0, out)
	for (const line of [/^ok +role scheduler +ready$/m, /^ok +nodes +2, all Ready$/m, /^ok +pools +8 with 29 devices, all valid$/m, /^ok +clock +agrees/m])
		assert.match(out, line)
	const other = await run("doctor", "--kubeconfig", c.kubeconfig, "-o", "json")
	assert.equal(other.code, 0, other.err)
	assert.ok(JSON.parse(other.out).findings.some((f) => f.subject === "server" && f.verdict === "ok"))
})

// --- faults --------------------------------------------------------------------------------

await test("parts that are killed come back, and status tells", async () => {
	const before = await c.well()
	for (const role of before.roles)
		process.kill(role.pid, "SIGKILL")
	const after = await until("all parts again", async () => {
		const now = await c.well()
		return now.roles.every((r, i) => r.pid !== before.roles[i].pid) && now
	}, 60)
	for (const role of after.roles) {
		assert.ok(role.restarts >= 1, role.name)
		assert.match(role.lastFailure, /signal 9/, role.name)
	}
	assert.equal(after.server, before.server)
	assert.match(c.up.err, /^devplane: scheduler ended: killed by signal 9 \(KILL\); starting it again$/m)
	await made(c.client.post(pods, pod("again", "nic")))
	await running("again")
})

await test("a second one in the same folder is refused", async () => {
	const { code, err } = await c.run("up", "--demo")
	assert.equal(code, 1)
	assert.ok(err.includes(`already up in ${c.folder} (pid ${c.up.pid})`), err)
	assert.match(err, /devplane down/)
})

await test("Ctrl-C stops all parts in order", async () => {
	const pids = await c.pids()
	assert.deepEqual(await c.stop("SIGINT"), { code: 0, signal: null })
	assert.deepEqual(pids.filter(alive), [])
	const state = JSON.parse(readFileSync(`${c.folder}/up.json`, "utf8"))
	assert.ok(state.roles.every((role) => role.state === "stopped" && !role.pid))
	// Each part's last line is about its end; times show the order.
	const ended = (name) => c.log(name).trim().split("\n").filter((line) => line.includes('"stopping"')).at(-1).slice(7, 34)
	const order = ["driver-gpu-demo-0", "node-demo-0", "scheduler", "controller", "server"].map(ended)
	assert.deepEqual(order, [...order].sort())
	assert.equal((await c.run("status")).code, 3)
	assert.equal((await c.run("down")).out, `devplane is not running in ${c.folder}; use --data-dir to name another folder\n`)
})

await test("a demo with plain devices has GPUs and NICs only", async () => {
	const wrong = await c.run("up", "--demo-devices", "plain")
	assert.deepEqual([wrong.code, /--demo-devices needs --demo/.test(wrong.err)], [2, true], wrong.err)
	const plain = await new Cluster().begin("--demo", "--demo-devices", "plain")
	assert.ok(await until("12 devices", async () => (await plain.run("doctor")).out.match(/^ok +pools +4 with 12 devices, all valid$/m), 60))
	assert.equal((await run("get", "deviceclasses", "--no-headers", "-o", "name", "--kubeconfig", plain.kubeconfig)).out, "deviceclass.resource.k8s.io/gpu\ndeviceclass.resource.k8s.io/nic\n")
	await plain.stop()
	// Without --demo its nodes do not run, although they are in the store.
	const other = await new Cluster(plain.folder).begin("--runtime", "hollow")
	await until("a note", () => /note +this folder has nodes that are not started: demo-\d, demo-\d; add --demo\n/.test(other.up.out))
	await other.stop()
})

await test("the demo has divided, shared and network-attached devices", async () => {
	const all = await new Cluster().begin("--demo")
	const valid = await until("29 devices", async () => (await all.run("doctor")).out.match(/^ok +pools +8 with 29 devices, all valid$/m), 60)
	assert.ok(valid)
	// A part of a GPU, a share of an FPGA, and one that both nodes reach, in one pod.
	const typed = (driver, type) => ({ selectors: [{ cel: { expression: `device.attributes["${driver}.sim.devplane.dev"].type == "${type}"` } }] })
	const requests = [
		{ name: "part", exactly: { deviceClassName: "mig", ...typed("mig", "partition") } },
		{ name: "share", exactly: { deviceClassName: "fpga", ...typed("fpga", "fpga"), capacity: { requests: { memory: "4Gi" } } } },
		{ name: "fabric", exactly: { deviceClassName: "fpga", ...typed("fpga", "fabric") } },
	]
	await made(all.client.post("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", { metadata: { name: "mixed" }, spec: { devices: { requests } } }))
	await made(all.client.post("/api/v1/namespaces/default/pods", { metadata: { name: "mixed" }, spec: {
		containers: [{ name: "main", image: "busybox", resources: { claims: [{ name: "all" }] } }],
		resourceClaims: [{ name: "all", resourceClaimName: "mixed" }] } }))
	await until("a pod that runs", async () => (await all.client.get("/api/v1/namespaces/default/pods/mixed")).body.status.phase === "Running", 60)
	const { body } = await all.client.get("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/mixed")
	assert.deepEqual(body.status.allocation.devices.results.map((r) => `${r.pool}/${r.device} ${r.consumedCapacity?.memory ?? ""}`),
		["demo-1/gpu-0-1g10gb-0 ", "demo-1/fpga-0 4Gi", "fabric/fabric-0 1Gi"])
	await all.stop()
})

finish()
