// The sandbox of each role of `devplane up`: its user, files and system calls, seen from outside and by a scheduler plugin that attacks.
import assert from "node:assert/strict"
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { Client, claim, core, dra, expect, readKubeconfig } from "./api_lib.mjs"
import { devplane, finish, scratch, test, until } from "./lib.mjs"
import { explain, explainers, holdUser, loggedIn } from "./ui_lib.mjs"
import { Cluster, command } from "./up_lib.mjs"

if (process.getuid() !== 0) {
	console.log("ok 1 - users of roles # SKIP only root can give a role another user")
	console.log("1..1")
	process.exit(0)
}

// `up --demo` loads the plugin that lies beside the program: here it is the hostile one.
const hostile = `${scratch}/bin/devplane`
mkdirSync(`${dirname(hostile)}/plugins/disk_io`, { recursive: true })
copyFileSync(devplane, hostile)
chmodSync(hostile, 0o755)
copyFileSync(`${dirname(devplane)}/tests/abi/plugin_hostile.so`, `${dirname(hostile)}/plugins/disk_io/disk_io.so`)

// Anybody may write here, so that file modes do not stop the plugin.
mkdirSync(`${scratch}/open`)
chmodSync(`${scratch}/open`, 0o777)

const BASE = 77000
const users = {
	server: BASE + 1, controller: BASE + 2, scheduler: BASE + 3, "node-demo-0": 0, "node-demo-1": 0,
	"driver-gpu-demo-0": BASE + 16, "driver-nic-demo-0": BASE + 17, "driver-gpu-demo-1": BASE + 18, "driver-nic-demo-1": BASE + 19,
}
const groups = {
	server: [BASE], controller: [BASE], scheduler: [BASE], "node-demo-0": [BASE + 8], "node-demo-1": [BASE + 10],
	"driver-gpu-demo-0": [BASE, BASE + 4, BASE + 9], "driver-nic-demo-0": [BASE, BASE + 4, BASE + 9],
	"driver-gpu-demo-1": [BASE, BASE + 4, BASE + 11], "driver-nic-demo-1": [BASE, BASE + 4, BASE + 11],
}

// Starts a cluster with the hostile plugin; `as` are words before the command.
async function begin(folder, flags = [], as = []) {
	const words = [...as, hostile, "up", "--demo", "--demo-devices", "plain", "--detach", "--data-dir", folder, "--secure-port", "0", ...flags]
	const { code, err } = await command(words[0], words.slice(1))
	assert.equal(code, 0, err)
	const c = new Cluster(folder)
	c.connect()
	return c
}

async function end(c) {
	c.client.close()
	const { code, err } = await c.run("down")
	assert.equal(code, 0, err)
}

function statusOf(pid) {
	const text = readFileSync(`/proc/${pid}/status`, "utf8")
	return (name) => new RegExp(`^${name}:[ \\t]*(.*?)[ \\t]*$`, "m").exec(text)[1]
}

// The fields of /proc/PID/stat after the name.
const statOf = (pid) => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ")

// The plugin's findings at its last start: { "read-ca-key": "refused 13", .. }.
function attempts(c) {
	const found = {}
	for (const [, name, verdict] of c.log("scheduler").matchAll(/hostile (\S+) (allowed|refused \d+)/g))
		found[name] = verdict
	return found
}

const EPERM = "refused 1", EACCES = "refused 13"
const secrets = ["read-ca-key", "read-sa-key", "read-admin", "read-controller", "read-store"]
const all = (names, verdict) => Object.fromEntries(names.map((name) => [name, verdict]))

const c = await begin(`${scratch}/d`)
// Builds with sanitizers have no list of system calls; old kernels have no Landlock.
const filtered = statusOf((await c.role("scheduler")).pid)("Seccomp") === "2"
const landlock = !c.log("scheduler").includes("no Landlock")

await test("every role has a user of its own, and no powers", async () => {
	const { roles } = await c.status()
	assert.deepEqual(roles.map((role) => role.name).sort(), Object.keys(users).sort())
	for (const { name, pid } of roles) {
		const field = statusOf(pid)
		assert.equal(field("Uid"), Array(4).fill(users[name]).join("\t"), name)
		assert.equal(field("Gid"), Array(4).fill(users[name]).join("\t"), name)
		assert.deepEqual(field("Groups").split(" ").map(Number), groups[name], name)
		for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
			assert.match(field(set), /^0+$/, `${name} ${set}`)
		assert.equal(field("NoNewPrivs"), "1", name)
		assert.equal(field("Seccomp"), filtered ? "2" : "0", name)
	}
})

// Runs a command as a role's user, without its other limits.
const as = (role, ...words) => command("setpriv", ["--reuid", String(users[role]), "--regid", String(users[role]),
	"--groups", groups[role].join(","), "--inh-caps=-all", "--bounding-set=-all", ...words])

await test("a role's files are closed to all other roles by their modes alone", async () => {
	const files = {
		"pki/ca.key": "server", "pki/sa.key": "server", "store/data.mdb": "server", "admin.kubeconfig": null, "up.json": null, "log/server.log": null,
		...Object.fromEntries(Object.keys(users).filter((role) => users[role] && role !== "server").map((role) => [`kubeconfig/${role}.kubeconfig`, role])),
		"kubeconfig/driver-gpu-demo-0.token": "driver-gpu-demo-0",
	}
	const wrong = []
	for (const [file, owner] of Object.entries(files)) {
		const { mode, uid } = statSync(`${c.folder}/${file}`)
		if ((mode & 0o777) !== 0o600 || uid !== (owner ? users[owner] : 0))
			wrong.push(`${file}: ${(mode & 0o777).toString(8)} of ${uid}`)
		for (const role of Object.keys(users).filter((name) => users[name])) {
			const { code } = await as(role, "head", "-c", "1", `${c.folder}/${file}`)
			if ((code === 0) !== (role === owner))
				wrong.push(`${role} ${code === 0 ? "reads" : "cannot read"} ${file}`)
		}
	}
	assert.deepEqual(wrong, [])
	for (const role of ["controller", "driver-nic-demo-1"])
		assert.equal((await as(role, "head", "-c", "1", `${c.folder}/pki/ca.crt`)).code, 0, role)
	const anybody = await command("setpriv", ["--reuid", "65534", "--regid", "65534", "--clear-groups", "cat", `${c.folder}/pki/ca.crt`])
	assert.notEqual(anybody.code, 0)
})

await test("sockets of a driver are open to the agent of its node, and not to other drivers", async () => {
	const connect = (role, path) => as(role, process.execPath, "-e",
		`require("net").connect(${JSON.stringify(path)}).on("connect", () => process.exit(0)).on("error", () => process.exit(1))`)
	const wrong = []
	for (const path of ["plugins/gpu.sim.devplane.dev/dra.sock", "plugins_registry/gpu.sim.devplane.dev-reg.sock"])
		for (const role of Object.keys(users)) {
			const { code } = await connect(role, `${c.folder}/nodes/demo-0/${path}`)
			if ((code === 0) !== ["node-demo-0", "driver-gpu-demo-0"].includes(role))
				wrong.push(`${role} ${code === 0 ? "connects to" : "is refused by"} ${path}`)
		}
	assert.deepEqual(wrong, [])
})

await test("a hostile scheduler plugin reads no secret, writes no file, and touches no other process", async () => {
	const open = landlock ? EACCES : "allowed"
	assert.deepEqual(attempts(c), {
		...all(secrets, EACCES),
		"read-machine": open,
		"write-folder": EACCES,
		"write-open-folder": open,
		"read-own": "allowed",
		trace: EPERM,
		signal: EPERM,
		memory: filtered ? EPERM : "allowed",
		process: filtered ? EPERM : "allowed",
		shell: filtered ? EPERM : landlock ? EACCES : "allowed",
	})
	assert.ok(!existsSync(`${c.folder}/hostile`))
})

// A pod with a claim: scheduled by the scheduler, prepared by the driver, run by the agent.
async function runPod(at, name) {
	const template = { metadata: { name }, spec: { spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] } } } }
	const pod = {
		metadata: { name },
		spec: {
			containers: [{ name: "main", image: "busybox", resources: { claims: [{ name: "gpu" }] } }],
			resourceClaims: [{ name: "gpu", resourceClaimTemplateName: name }],
		},
	}
	for (const answer of [at.client.post(`${dra}/namespaces/default/resourceclaimtemplates`, template), at.client.post(`${core}/namespaces/default/pods`, pod)]) {
		const { code, text } = await answer
		assert.equal(code, 201, text)
	}
	await until(`running pod ${name}`, async () => (await at.client.get(`${core}/namespaces/default/pods/${name}`)).body.status.phase === "Running", 60)
}

await test("pods with claims run, and go", async () => {
	await runPod(c, "first")
	const { code, text } = await c.client.delete(`${core}/namespaces/default/pods/first`)
	assert.equal(code, 200, text)
	await until("released claim", async () => (await c.client.get(`${dra}/namespaces/default/resourceclaims`)).body.items.length === 0, 60)
})

await test("roles that are killed come back in the same sandbox", async () => {
	const before = await c.status()
	for (const role of before.roles)
		process.kill(role.pid, "SIGKILL")
	const after = await until("all roles again", async () => {
		const now = await c.well()
		return now.roles.every((role, i) => role.pid !== before.roles[i].pid) && now
	}, 60)
	for (const { name, pid } of after.roles) {
		assert.equal(statusOf(pid)("Uid").split("\t")[0], String(users[name]), name)
		assert.equal(statusOf(pid)("Seccomp"), filtered ? "2" : "0", name)
	}
	await runPod(c, "second")
})

// The server may not start processes, so the supervisor runs the page's explanations. One is held by a queue of the server while
// its process is looked at.
async function explains(at, uid) {
	const { server } = await at.status(), { ca } = readKubeconfig(`${at.folder}/admin.kubeconfig`)
	const accounts = `${core}/namespaces/default/serviceaccounts`, name = `page-${uid}`, account = `system:serviceaccount:default:${name}`
	expect(await at.client.post(accounts, { metadata: { name } }), 201)
	const { status: { token } } = expect(await at.client.post(`${accounts}/${name}/token`, { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 600 } }), 201)
	expect(await at.client.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", { metadata: { name }, roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" }, subjects: [{ kind: "ServiceAccount", name, namespace: "default" }] }), 201)
	expect(await at.client.post(`${dra}/namespaces/default/resourceclaims`, claim(name)), 201)
	const site = { url: server, credentials: { ca }, client: at.client }, query = `namespace=default&claim=${name}`
	const browser = await loggedIn(site, { token })
	assert.equal(expect(await explain(browser, query), 200).claim, `default/${name}`)
	const held = await holdUser(site, account, token), { pid } = await at.status()
	const answer = explain(browser, query), process = await until("its process", () => explainers(pid)[0])
	await until("its limits", () => statusOf(process.pid)("Seccomp") === (filtered ? "2" : "0"))
	const field = statusOf(process.pid)
	assert.equal(field("Uid"), Array(4).fill(uid).join("\t"))
	assert.equal(field("Groups"), "")
	for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
		assert.match(field(set), uid === 65534 && set === "CapBnd" ? /./ : /^0+$/, set)
	assert.equal(field("NoNewPrivs"), "1")
	await until("low priority", () => statOf(process.pid)[16] === "10")
	held.release()
	expect(await answer, 200)
	await until("its end", () => explainers(pid).length === 0)
	browser.close()
}

await test("an explanation of the page is a process of the supervisor, with a user of its own and no powers", async () => {
	await explains(c, BASE + 6)
})

await test("no role was refused anything that it needs", async () => {
	for (const name of Object.keys(users))
		assert.doesNotMatch(c.log(name).replace(/.*hostile .*\n/g, ""), /not permitted|permission denied/i, name)
})
await end(c)

// The negative control: each attempt works where nothing forbids it.
await test("without the sandbox the same plugin gets all of it", async () => {
	const open = await begin(`${scratch}/off`, ["--sandbox=false"])
	const { trace, ...found } = attempts(open)
	assert.deepEqual(found, all([...secrets, "read-machine", "write-folder", "write-open-folder", "read-own", "signal", "memory", "process", "shell"], "allowed"))
	// Some systems forbid tracing by a setting of their own.
	const strict = existsSync("/proc/sys/kernel/yama/ptrace_scope") && readFileSync("/proc/sys/kernel/yama/ptrace_scope", "utf8").trim() !== "0"
	assert.equal(trace, strict ? EPERM : "allowed")
	assert.equal(statSync(`${open.folder}/pki/ca.key`).uid, 0)
	await runPod(open, "old")
	await end(open)
})

await test("a folder of before is taken over, with other numbers, and given back", async () => {
	rmSync(`${scratch}/off/hostile`)
	for (const [flags, base] of [[[], BASE], [["--uid-base", "88000"], 88000], [["--uid-base", "0"], -1]]) {
		const again = await begin(`${scratch}/off`, flags)
		const owner = (file) => statSync(`${again.folder}/${file}`).uid
		assert.equal(owner("pki/ca.key"), base + 1)
		assert.equal(owner("store/data.mdb"), base + 1)
		assert.equal(owner("kubeconfig/scheduler.kubeconfig"), base < 0 ? 0 : base + 3)
		const { body } = await again.client.get(`${core}/namespaces/default/pods/old`)
		assert.equal(body.status.phase, "Running")
		const name = `by-${base + 1}`
		await runPod(again, name)
		await end(again)
	}
})

await test("a user who is not root has the limits of files and system calls", async () => {
	const home = `${scratch}/home`
	mkdirSync(home)
	chownSync(home, 65534, 65534)
	const mine = await begin(`${home}/d`, [], ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"])
	const { roles } = await mine.status()
	for (const { name, pid } of roles) {
		assert.equal(statusOf(pid)("Uid").split("\t")[0], "65534", name)
		assert.equal(statusOf(pid)("NoNewPrivs"), "1", name)
		assert.equal(statusOf(pid)("Seccomp"), filtered ? "2" : "0", name)
	}
	if (landlock) {
		const found = attempts(mine)
		for (const name of [...secrets, "write-folder"])
			assert.equal(found[name], EACCES, name)
		assert.equal(found.trace, EPERM)
	}
	await runPod(mine, "mine")
	await explains(mine, 65534)
	await end(mine)
})

await test("in a folder that the roles' users cannot reach all roles are root, and that is said", async () => {
	mkdirSync(`${scratch}/x`, { mode: 0o700 })
	const folder = `${scratch}/x/d`
	const { code, out, err } = await command(devplane, ["up", "--demo", "--detach", "--data-dir", folder, "--secure-port", "0"])
	assert.equal(code, 0, err)
	assert.match(out + err, /all roles run as root, because other users may not pass .*\/x: .*\(chmod o\+x\)/)
	const walled = new Cluster(folder)
	walled.connect()
	assert.equal(statusOf((await walled.role("scheduler")).pid)("Uid"), "0\t0\t0\t0")
	assert.equal(statSync(folder).mode & 0o777, 0o700)
	await end(walled)
})

await test("a plugin in a closed folder is copied to where its scheduler can read it", async () => {
	const closed = `${scratch}/closed`
	mkdirSync(`${closed}/plugins/disk_io`, { recursive: true, mode: 0o700 })
	copyFileSync(devplane, `${closed}/devplane`)
	chmodSync(`${closed}/devplane`, 0o755)
	copyFileSync(`${dirname(devplane)}/plugins/disk_io/disk_io.so`, `${closed}/plugins/disk_io/disk_io.so`)
	chmodSync(closed, 0o700)
	const folder = `${scratch}/copied`
	const { code, err } = await command(`${closed}/devplane`, ["up", "--demo", "--detach", "--data-dir", folder, "--secure-port", "0"])
	assert.equal(code, 0, err)
	const copied = new Cluster(folder)
	copied.connect()
	assert.equal(statusOf((await copied.role("scheduler")).pid)("Uid"), Array(4).fill(users.scheduler).join("\t"))
	assert.match(copied.log("scheduler"), /loaded a plugin/)
	await end(copied)
})

finish()
