// Pods as real containers: Debian's containerd and runc below the node agent.
import assert from "node:assert/strict"
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs"
import { containersPossible, image, startContainerd } from "./containerd_lib.mjs"
import { finish, scratch, start, test, until } from "./lib.mjs"
import { allocateClaim, healthOf, podOn, pods, startCluster } from "./node_lib.mjs"
import { DevicePlugin } from "./plugin_lib.mjs"

if (!containersPossible()) {
	console.log("ok 1 - containers # SKIP only root can run them")
	console.log("1..1")
	process.exit(0)
}

const logs = `${scratch}/logs`, cdi = `${scratch}/cdi`
let containerd, cluster, node

// A container that runs a shell script.
function sh(script, rest = {}) {
	return { name: "main", image, imagePullPolicy: "IfNotPresent", command: ["/bin/sh", "-c", script], ...rest }
}

function pod(main, rest = {}) {
	return podOn("n1", { restartPolicy: "Never", ...rest, containers: [main] })
}

function state(p, name = "main") {
	return [...(p.status.containerStatuses ?? []), ...(p.status.initContainerStatuses ?? [])].find((c) => c.name === name)
}

// The log of a container, from where CRI puts it.
function logOf(p, container = "main", attempt = 0) {
	const file = `${logs}/default_${p.metadata.name}_${p.metadata.uid}/${container}/${attempt}.log`
	return readFileSync(file, "utf8").split("\n").filter(Boolean)
		.map((line) => /^\S+T\S+ (stdout|stderr) ([PF]) (.*)$/.exec(line)[3]).join("\n")
}

async function ran(body) {
	const made = await cluster.run(body)
	const over = await cluster.pod(made, (p) => /Succeeded|Failed/.test(p.status.phase))
	return { pod: over, log: logOf(made), main: state(over).state.terminated }
}

async function end(p, grace) {
	await cluster.delete(p, grace)
	await cluster.gone(p)
}

await test("containerd runs here", async () => {
	containerd = startContainerd()
})
if (!containerd)
	finish()

await test("the agent finds it and the node is ready", async () => {
	cluster = await startCluster({ names: ["n1"] })
	node = await cluster.node("n1", {
		hollow: false,
		flags: ["--container-runtime-endpoint", containerd.socket, "--pod-logs-dir", logs, "--cdi-dir", cdi],
	})
	assert.match((await cluster.readNode("n1")).status.nodeInfo.containerRuntimeVersion, /^containerd:\/\/\d/)
})
if (!node)
	finish()

await test("a pod runs its command with its environment, and its exit code, log and status are as upstream's", async () => {
	const { pod: p, log, main } = await ran(pod(sh('echo "$GREETING, $(id -u)"; echo oops >&2; exit 3', {
		env: [{ name: "WHO", value: "you" }, { name: "GREETING", value: "hello $(WHO)" }],
	})))
	/* Two streams: the runtime may read either one first. */
	assert.deepEqual(log.split("\n").sort(), ["hello you, 0", "oops"])
	assert.equal(p.status.phase, "Failed")
	assert.equal(main.exitCode, 3)
	assert.equal(main.reason, "Error")
	assert.match(main.containerID, /^containerd:\/\/[0-9a-f]{64}$/)
	assert.ok(main.startedAt <= main.finishedAt)
	assert.equal(state(p).image, image)
	assert.match(state(p).imageID, /sha256:/)
	const events = await cluster.eventsText(p.metadata.name)
	for (const reason of ["Pulled", "Created", "Started"])
		assert.match(events, new RegExp(` ${reason} `))
	await end(p)
})

await test("a pod has an address of its own, and the machine reaches it", async () => {
	const p = await cluster.run(pod(sh("echo hi >/tmp/index.html; httpd -f -p 8080 -h /tmp", {
		readinessProbe: { httpGet: { path: "/index.html", port: 8080 }, periodSeconds: 1 },
	})))
	const ready = await cluster.pod(p, (q) => state(q)?.ready)
	assert.match(ready.status.podIP, /^10\.\d+\.77\.\d+$/)
	assert.equal(await (await fetch(`http://${ready.status.podIP}:8080/index.html`)).text(), "hi\n")
	await end(p, 0)
})

await test("with the host's network it has the node's address", async () => {
	const { pod: p, log } = await ran(pod(sh("hostname"), { hostNetwork: true }))
	assert.equal(p.status.podIP, p.status.hostIP)
	assert.equal(log, readFileSync("/proc/sys/kernel/hostname", "utf8").trim())
	await end(p)
})

await test("init containers run one after the other, a sidecar beside, all on one volume", async () => {
	const mounts = { volumeMounts: [{ name: "v", mountPath: "/v" }] }
	const p = await cluster.run(pod(sh("until [ -s /v/side ]; do sleep 0.1; done; echo main >>/v/log; cat /v/log", mounts), {
		volumes: [{ name: "v", emptyDir: {} }],
		initContainers: [
			{ ...sh("echo one >>/v/log", mounts), name: "one" },
			{ ...sh("trap exit TERM; while :; do date >/v/side; sleep 0.1; done", mounts), name: "side", restartPolicy: "Always" },
			{ ...sh("echo two >>/v/log", mounts), name: "two" },
		],
	}))
	const over = await cluster.pod(p, (q) => q.status.phase === "Succeeded")
	assert.equal(logOf(p), "one\ntwo\nmain")
	assert.ok(state(over, "one").state.terminated.finishedAt <= state(over, "two").state.terminated.startedAt)
	await end(p)
})

await test("a container that crashes is restarted with back-off, and the last state is kept", async () => {
	const p = await cluster.run(pod(sh("echo try; exit 5"), { restartPolicy: "Always" }))
	const looping = await cluster.pod(p, (q) => state(q)?.restartCount >= 1 && state(q).state.waiting?.reason === "CrashLoopBackOff")
	assert.equal(state(looping).lastState.terminated.exitCode, 5)
	assert.equal(logOf(p, "main", 1), "try")
	await cluster.event(p.metadata.name, "BackOff", /Back-off restarting failed container/)
	await end(p)
})

await test("a failing liveness probe restarts the container", async () => {
	const p = await cluster.run(pod(sh("trap exit TERM; touch /tmp/alive; sleep 1; rm /tmp/alive; while :; do sleep 0.1; done", {
		livenessProbe: { exec: { command: ["cat", "/tmp/alive"] }, periodSeconds: 1, failureThreshold: 1 },
	}), { restartPolicy: "Always" }))
	await cluster.pod(p, (q) => state(q)?.restartCount >= 1)
	await cluster.event(p.metadata.name, "Unhealthy", /Liveness probe failed: cat/)
	await end(p, 0)
})

await test("users, groups, capabilities and a read-only root are as the pod says", async () => {
	const { pod: p, log } = await ran(pod(sh("id; grep -E 'CapEff|NoNewPrivs' /proc/self/status; touch /x 2>&1", {
		securityContext: { runAsUser: 1234, readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
	}), { securityContext: { runAsUser: 1, runAsGroup: 2345, supplementalGroups: [777] } }))
	assert.match(log, /uid=1234 gid=2345 groups=777,2345/)
	assert.match(log, /CapEff:\t0000000000000000/)
	assert.match(log, /NoNewPrivs:\t1/)
	assert.match(log, /Read-only file system/)
	await end(p)
})

await test("an image that runs as root does not start where that is forbidden", async () => {
	const p = await cluster.run(pod(sh("id"), { securityContext: { runAsNonRoot: true } }))
	const waiting = await cluster.pod(p, (q) => state(q)?.state.waiting?.reason === "CreateContainerConfigError")
	assert.match(state(waiting).state.waiting.message, /container has runAsNonRoot and image will run as root/)
	await end(p)
})

await test("the user of the image counts, and an image that is not there says so", async () => {
	containerd.image("devplane.test/user:1", { user: "4321", entrypoint: ["/bin/id"] })
	const own = await ran(podOn("n1", { restartPolicy: "Never", containers: [{ name: "main", image: "devplane.test/user:1", imagePullPolicy: "Never" }] }))
	assert.match(own.log, /uid=4321/)
	const p = await cluster.run(podOn("n1", { containers: [{ name: "main", image: "devplane.test/none:1", imagePullPolicy: "Never" }] }))
	await cluster.pod(p, (q) => state(q)?.state.waiting?.reason === "ErrImageNeverPull")
	const far = await cluster.run(podOn("n1", { containers: [{ name: "main", image: "127.0.0.1:1/none:1" }] }))
	await cluster.pod(far, (q) => /ErrImagePull|ImagePullBackOff/.test(state(q)?.state.waiting?.reason))
	await cluster.event(far.metadata.name, "Failed", /Failed to pull image "127.0.0.1:1\/none:1"/)
	for (const each of [own.pod, p, far])
		await end(each)
})

await test("the termination message is read, or the log's end stands in", async () => {
	const message = await ran(pod(sh("echo -n bad luck >/dev/termination-log; exit 1")))
	assert.equal(message.main.message, "bad luck")
	const fallback = await ran(pod(sh("echo last words; exit 1", { terminationMessagePolicy: "FallbackToLogsOnError" })))
	assert.equal(fallback.main.message, "last words\n")
	await end(message.pod)
	await end(fallback.pod)
})

await test("a pod that is deleted gets its grace, then it is killed", async () => {
	const polite = await cluster.run(pod(sh("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.1; done"), { terminationGracePeriodSeconds: 30 }))
	const deaf = await cluster.run(pod(sh("trap '' TERM; echo up; while :; do sleep 0.1; done"), { terminationGracePeriodSeconds: 2 }))
	for (const p of [polite, deaf])
		await cluster.pod(p, (q) => q.status.phase === "Running" && /up/.test(logOf(q)))
	const began = Date.now()
	await cluster.delete(polite)
	await cluster.gone(polite)
	const politely = Date.now() - began
	await cluster.delete(deaf)
	await cluster.gone(deaf)
	assert.ok(politely < 25000, `${politely} ms`)
	assert.ok(Date.now() - began - politely >= 1900)
	await cluster.event(polite.metadata.name, "Killing", /Stopping container main/)
})

await test("a claim's devices are in the container: variables and a device node", async () => {
	const driver = start("driver", "sim", "--kubeconfig", node.kubeconfig, "--node-name", "n1", "--root-dir", node.root,
		"--cdi-dir", cdi, "--devices", "2", "--log-format", "text")
	const slices = await until("slices", async () => {
		const { items = [] } = (await cluster.client.get("/apis/resource.k8s.io/v1/resourceslices")).body
		return items.length > 0 && items
	})
	const { driver: name, pool, devices } = slices[0].spec
	const body = pod(sh("env | grep DEVPLANE_SIM | sort; ls -l /dev | grep sim; trap exit TERM; while :; do sleep 0.1; done", {
		resources: { claims: [{ name: "gpus" }] },
	}), { resourceClaims: [{ name: "gpus", resourceClaimName: "two" }] })
	const p = await cluster.run(body)
	await allocateClaim(cluster.client, "two", devices.map((d) => ({ request: "gpu", driver: name, pool: pool.name, device: d.name })), p)
	await cluster.pod(p, (q) => q.status.phase === "Running")
	const log = await until("its words", () => (existsSync(`${logs}/default_${p.metadata.name}_${p.metadata.uid}/main/0.log`) && /sim.*\n.*sim/.test(logOf(p)) && logOf(p)))
	assert.match(log, /DEVPLANE_SIM_DEVICE_0=/)
	assert.match(log, /DEVPLANE_SIM_DEVICE_1=/)
	assert.match(log, /^crw.* 1, +3 .* sim\S*0$/m)
	assert.match(log, /^crw.* 1, +3 .* sim\S*1$/m)
	await end(p, 0)
	driver.child.kill("SIGTERM")
	await driver.ended
})

await test("unsupported settings are reported by name", async () => {
	const p = await cluster.run(pod(sh("true"), { hostUsers: false }))
	const text = await until("event", async () => {
		const all = await cluster.eventsText(p.metadata.name)
		return /hostUsers/.test(all) && all
	})
	assert.match(text, /spec\.hostUsers false is not supported/)
	await end(p)
})

await test("an agent that was killed finds its containers again", async () => {
	const p = await cluster.run(pod(sh("trap exit TERM; echo up; while :; do sleep 0.1; done"), { restartPolicy: "Always" }))
	const before = await cluster.pod(p, (q) => state(q)?.ready)
	await node.kill()
	await node.begin()
	const more = await ran(pod(sh("true")))
	const after = await cluster.pod(p, (q) => state(q)?.ready)
	assert.equal(state(after).containerID, state(before).containerID)
	assert.equal(state(after).restartCount, 0)
	await end(more.pod)
	await end(p)
})

await test("a runtime that was away for a while loses nothing", async () => {
	const p = await cluster.run(pod(sh("trap exit TERM; while :; do sleep 0.1; done"), { restartPolicy: "Always" }))
	const before = await cluster.pod(p, (q) => state(q)?.ready)
	containerd.halt()
	await cluster.readNodeWhen("n1", (n) => n.status.conditions.some((c) => c.type === "Ready" && c.status !== "True"))
	containerd.begin()
	await cluster.readNodeWhen("n1", (n) => n.status.conditions.some((c) => c.type === "Ready" && c.status === "True"))
	const after = await cluster.pod(p, (q) => state(q)?.ready)
	assert.equal(state(after).containerID, state(before).containerID)
	await end(p)
})

// The devices of a running container are known by its status or, if that does not name them or was never written, by the runtime.
for (const status of ["names them", "does not", "was never written"]) {
	await test(`a lost record of devices: a running container runs on with its devices, its status ${status}`, async () => {
		const resource = `example.com/lost-${status.replaceAll(" ", "-")}`
		let plugin = await DevicePlugin.start(node.root, resource, [{ ID: "a" }, { ID: "b" }])
		await cluster.readNodeWhen("n1", (n) => n.status.allocatable[resource] === "2")
		const main = () => sh("trap exit TERM; while :; do sleep 0.1; done", { resources: { limits: { [resource]: "1" } } })
		const p = await cluster.run(pod(main(), { restartPolicy: "Always" }))
		const before = await cluster.pod(p, (q) => state(q)?.ready && healthOf(q).main?.[resource])
		const [id] = Object.keys(healthOf(before).main[resource])
		await node.kill()
		plugin.stop()
		const patches = {
			"does not": { containerStatuses: before.status.containerStatuses.map(({ allocatedResourcesStatus, ...rest }) => rest) },
			"was never written": { phase: "Pending", startTime: null, containerStatuses: null, conditions: null, podIP: null, podIPs: null, hostIP: null, hostIPs: null },
		}
		if (patches[status]) {
			const { code, text } = await cluster.client.patch(`${pods}/${p.metadata.name}/status`, { status: patches[status] }, "merge")
			assert.equal(code, 200, text)
		}
		writeFileSync(`${node.root}/devplane_assign_state`, "garbage")
		// A pod that is new to the agent waits until the devices of the others are known.
		const other = await cluster.run(pod(main(), { restartPolicy: "Always" }))
		await node.begin()
		const by = patches[status] ? "running containers have" : "status names"
		await cluster.event(p.metadata.name, "DeviceAssignmentLost", new RegExp(`The pod keeps the devices that its ${by}: ${resource}: ${id}`))
		plugin = await DevicePlugin.start(node.root, resource, [{ ID: "a" }, { ID: "b" }])
		await cluster.readNodeWhen("n1", (n) => n.status.allocatable[resource] === "2")
		const after = await cluster.pod(p, (q) => state(q)?.ready && healthOf(q).main?.[resource])
		assert.deepEqual(Object.keys(healthOf(after).main[resource]), [id])
		const more = await cluster.run(pod(main()))
		const got = await Promise.all([other, more].map((q) => cluster.pod(q, (r) => r.status.phase === "Failed" || (state(r)?.ready && healthOf(r).main?.[resource]))))
		for (const q of got)
			assert.ok(!Object.keys(healthOf(q).main?.[resource] ?? {}).includes(id), JSON.stringify(q.status))
		assert.ok(got.some((q) => q.status.phase !== "Failed"), "the other device is free")
		assert.equal(state(after).containerID, state(before).containerID)
		assert.equal(state(after).restartCount, 0)
		for (const q of [p, other, more])
			await end(q)
		plugin.stop()
	})
}

await test("nothing is left behind", async () => {
	await until("an empty runtime", () => containerd.ctr("containers", "ls", "-q").trim() === "")
	assert.deepEqual(readdirSync(`${node.root}/pods`), [])
})

await node?.stop()
containerd.stop()
finish()
