// `devplane up` as root beside a container runtime: this machine is a node that runs containers, and they outlive it.
import assert from "node:assert/strict"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { hostname } from "node:os"
import { core } from "./api_lib.mjs"
import { containersPossible, image, startContainerd } from "./containerd_lib.mjs"
import { finish, test, until } from "./lib.mjs"
import { Cluster, run } from "./up_lib.mjs"

if (!containersPossible()) {
	console.log("ok 1 - containers # SKIP only root can run them")
	console.log("1..1")
	process.exit(0)
}

const node = hostname().toLowerCase()
const containerd = startContainerd()
const c = new Cluster()
const pods = `${core}/namespaces/default/pods`

await test("a runtime that is named is used, and told of", async () => {
	await c.begin("--container-runtime-endpoint", containerd.socket)
	assert.ok(c.up.out.includes(`1 node; containers by ${containerd.socket}`), c.up.out)
})

await test("the node keeps its powers, the others have none", async () => {
	for (const { name, pid } of (await c.status()).roles) {
		const [, powers] = /^CapEff:\s+(\S+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))
		assert.equal(/^0+$/.test(powers), name !== "node", `${name} ${powers}`)
	}
})

await test("a pod runs in a container", async () => {
	const { code, text } = await c.client.post(pods, {
		metadata: { name: "real" },
		spec: { containers: [{ name: "main", image, command: ["sh", "-c", "echo begun; exec sleep 600"] }], terminationGracePeriodSeconds: 0 },
	})
	assert.equal(code, 201, text)
	await until("running pod", async () => (await c.client.get(`${pods}/real`)).body.status.phase === "Running", 60)
	assert.equal((await c.client.get(`${pods}/real`)).body.spec.nodeName, node)
	assert.match(containerd.ctr("tasks", "list"), /RUNNING/)
})

await test("kubectl reads its log and runs a command in it", async () => {
	await until("log", async () => (await c.kubectl("logs", "real")).out === "begun\n")
	const { code, out, err } = await c.kubectl("exec", "real", "--", "sh", "-c", "echo out; exit 7")
	assert.deepEqual([code, out], [7, "out\n"], err)
})

await test("doctor shows the runtime's version, cgroup driver and CDI", async () => {
	const { out } = await run("doctor", "--data-dir", c.folder, "--container-runtime-endpoint", containerd.socket)
	const line = out.split("\n").find((l) => l.includes("  containers  ")) ?? out
	assert.match(line, /^ok +containers +containerd \S+ \(cgroup driver (cgroupfs|systemd), (no )?CDI\) at unix:/)
	const gone = await run("doctor", "--data-dir", c.folder, "--container-runtime-endpoint", "/nowhere.sock")
	assert.match(gone.out, /^warn +containers +no container runtime is of use at unix:\/\/\/nowhere.sock: /m)
})

await test("containers go on while it is down", async () => {
	const { body } = await c.client.get(`${pods}/real`)
	const id = body.status.containerStatuses[0].containerID
	assert.deepEqual(await c.stop(), { code: 0, signal: null })
	assert.match(containerd.ctr("tasks", "list"), /RUNNING/)
	await c.begin("--container-runtime-endpoint", containerd.socket)
	const again = await c.client.get(`${pods}/real`)
	assert.equal(again.body.status.containerStatuses[0].containerID, id)
	await c.client.delete(`${pods}/real`)
	await until("end of the pod", async () => (await c.client.get(`${pods}/real`)).code === 404, 60)
	await until("end of its volumes", () => readdirSync(`${c.folder}/nodes/${node}/pods`).length === 0, 60)
	assert.deepEqual(await c.stop(), { code: 0, signal: null })
})

await test("reset removes the containers that it left, and only asks for its own", async () => {
	const left = await new Cluster().begin("--container-runtime-endpoint", containerd.socket)
	const { code, text } = await left.client.post(pods, {
		metadata: { name: "left" },
		spec: { containers: [{ name: "main", image, command: ["sleep", "600"] }], terminationGracePeriodSeconds: 0 },
	})
	assert.equal(code, 201, text)
	await until("running pod", async () => (await left.client.get(`${pods}/left`)).body.status.phase === "Running", 60)
	await left.stop()
	const where = ["--data-dir", left.folder, "--container-runtime-endpoint", containerd.socket]
	// Another folder's reset sees the same runtime, and none of its pods is its own.
	const other = await run("reset", "--data-dir", c.folder, "--container-runtime-endpoint", containerd.socket, "--yes")
	assert.equal(other.code, 0, other.err)
	assert.doesNotMatch(other.out, /^pod /m)
	assert.equal(existsSync(c.folder), false)
	assert.match(containerd.ctr("tasks", "list"), /RUNNING/)
	const dry = await run("reset", ...where, "--dry-run")
	assert.match(dry.out, /^pod +default\/left$/m)
	assert.match(dry.out, /^mount +.*\/nodes\/.*kube-api-access/m)
	assert.match(containerd.ctr("tasks", "list"), /RUNNING/)
	const done = await run("reset", ...where, "--yes")
	assert.equal(done.code, 0, done.err)
	assert.doesNotMatch(containerd.ctr("tasks", "list"), /RUNNING/)
	assert.equal(existsSync(left.folder), false)
	assert.equal(readFileSync("/proc/self/mountinfo", "utf8").includes(left.folder), false)
})

containerd.stop()
finish()
