// `devplane up` where something is in the way, without root, on etcd, in the background, and after it was killed.
import assert from "node:assert/strict"
import { copyFileSync, chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import * as net from "node:net"
import { once } from "node:events"
import { spawn } from "node:child_process"
import { Client, core, freePort, startEtcd, unique } from "./api_lib.mjs"
import { devplane, finish, scratch, start, test, until } from "./lib.mjs"
import { alive, Cluster, command, run } from "./up_lib.mjs"

const root = process.getuid() === 0
const folder = () => `${scratch}/${unique("f")}`

async function refused(pattern, ...args) {
	const { code, out, err } = await run("up", "--secure-port", "0", "--runtime", "hollow", ...args)
	assert.equal(code, 1, out + err)
	assert.match(err, pattern)
	assert.equal(err.trim().split("\n").length, 1, err)
	assert.doesNotMatch(out, /is up/)
}

// --- sentences -----------------------------------------------------------------------------

await test("a port that is taken: by whom, and what to do", async () => {
	const listener = net.createServer().listen(0, "127.0.0.1")
	await once(listener, "listening")
	const { port } = listener.address()
	await refused(new RegExp(`port ${port} is in use by .*\\(pid ${process.pid}\\).*--secure-port`), "--data-dir", folder(), "--secure-port", String(port))
	listener.close()
})

await test("a folder that holds something else, or is none", async () => {
	const full = folder()
	mkdirSync(full)
	writeFileSync(`${full}/thesis.txt`, "x")
	await refused(/contains other files.*--data-dir/, "--data-dir", full)
	await refused(/is not a folder|cannot write/, "--data-dir", `${full}/thesis.txt`)
})

await test("a folder that is not the user's alone", async () => {
	const open = folder(), linked = folder(), foreign = folder()
	mkdirSync(open)
	chmodSync(open, 0o775)
	await refused(/can be written by others: .*chmod go-w/, "--data-dir", open)
	chmodSync(open, 0o755)
	mkdirSync(`${open}/pki`)
	chmodSync(`${open}/pki`, 0o777)
	await refused(/\/pki can be written by others/, "--data-dir", open)
	mkdirSync(linked)
	symlinkSync(open, `${linked}/store`)
	await refused(/\/store is not a folder/, "--data-dir", linked)
	if (!root)
		return
	mkdirSync(foreign)
	chownSync(foreign, 65534, 65534)
	await refused(/belongs to another user \(uid 65534\)/, "--data-dir", foreign)
})

await test("a log that is a link to somewhere else", async () => {
	const c = folder()
	mkdirSync(`${c}/log`, { recursive: true, mode: 0o700 })
	mkdirSync(`${c}/pki`, { mode: 0o700 })
	writeFileSync(`${c}/victim`, "")
	symlinkSync(`${c}/victim`, `${c}/log/server.log`)
	await refused(/cannot open .*server\.log/, "--data-dir", c)
	assert.equal(statSync(`${c}/victim`).size, 0)
})

await test("a folder of a newer devplane", async () => {
	const newer = folder()
	mkdirSync(newer)
	writeFileSync(`${newer}/up.json`, '{"format": 99}')
	await refused(/newer devplane \(format 99, this one knows 1\)/, "--data-dir", newer)
})

await test("a path that is too long for sockets", async () => {
	await refused(/path .* is too long: .*Choose a shorter one/, "--data-dir", `${scratch}/${"long".repeat(20)}`)
})

await test("a folder of a store that cannot be read is told by the server", async () => {
	const broken = folder()
	mkdirSync(`${broken}/store`, { recursive: true })
	writeFileSync(`${broken}/store/data.mdb`, "this is no store ".repeat(1000))
	await refused(/server cannot start: .*store/, "--data-dir", broken)
})

await test("an etcd that does not answer", async () => {
	await refused(/no etcd answers at http:\/\/127\.0\.0\.1:\d+: start it/, "--data-dir", folder(), "--etcd-servers", `http://127.0.0.1:${await freePort()}`)
})

await test("a container runtime that does not answer", async () => {
	if (root)
		await refused(/no container runtime is of use at unix:\/\/\/nowhere\.sock/, "--data-dir", folder(), "--runtime", "cri", "--container-runtime-endpoint", "/nowhere.sock")
})

await test("a gate that does not exist is bad usage", async () => {
	const { code, err } = await run("up", "--data-dir", folder(), "--feature-gates", "Nothing=true")
	assert.equal(code, 2)
	assert.match(err, /--feature-gates: .*Nothing/)
})

await test("a read-only disk", async () => {
	if (!root)
		return
	const mount = folder()
	mkdirSync(mount)
	const { code, err } = await command("unshare", ["-m", "sh", "-c",
		`mount -t tmpfs -o ro none ${mount} && exec ${devplane} up --data-dir ${mount}/d --secure-port 0`])
	if (/unshare|mount:/.test(err))
		return // mounting is not allowed here
	assert.equal(code, 1)
	assert.match(err, /read-only file system: choose another folder/)
})

// --- ends ----------------------------------------------------------------------------------

// The runtime is asked before anything is started, and this one never answers.
await test("down while it starts reaches the one that starts, not whoever had its number before", async () => {
	if (!root)
		return
	const c = new Cluster(), socket = `${scratch}/${unique("s")}`
	mkdirSync(c.folder, { mode: 0o700 })
	writeFileSync(`${c.folder}/up.lock`, `${process.pid}\n`)
	writeFileSync(`${c.folder}/up.json`, '{"format":1,"pid":1,"ready":true,"roles":[{"name":"server","state":"ready","pid":1}]}')
	const silent = net.createServer().listen(socket)
	const asked = once(silent, "connection")
	const up = start("up", "--data-dir", c.folder, "--secure-port", "0", "--container-runtime-endpoint", socket)
	const [connection] = await asked
	up.child.kill("SIGSTOP") // it would exit soon
	assert.equal(readFileSync(`${c.folder}/up.lock`, "utf8"), `${up.pid}\n`)
	const status = await c.run("status")
	assert.equal(status.code, 1)
	assert.equal(status.out, `devplane is starting in ${c.folder} (pid ${up.pid})\n`)
	const stopping = c.run("down")
	await until("a signal to stop", () => {
		const [, pending] = /^ShdPnd:\s+(\S+)/m.exec(readFileSync(`/proc/${up.pid}/status`, "utf8"))
		return BigInt(`0x${pending}`) & 0x4000n
	})
	up.child.kill("SIGCONT")
	const down = await stopping
	assert.equal(down.code, 0, down.err)
	assert.deepEqual(await up.ended, { code: null, signal: "SIGTERM" })
	connection.destroy()
	silent.close()
})

await test("down waits for one that has not said who it is, and then tells so", async () => {
	const c = new Cluster()
	mkdirSync(c.folder, { mode: 0o700 })
	const holder = spawn("flock", [`${c.folder}/up.lock`, "cat"], { stdio: ["pipe", "ignore", "ignore"] })
	const { code, out, err } = await until("a lock that is held", async () => {
		const down = await c.run("down")
		return down.code !== 0 && down
	})
	assert.equal(code, 1)
	assert.match(err, /devplane is starting in /)
	assert.equal(out, "")
	holder.stdin.end()
	await once(holder, "close")
})

await test("in the background a start that is interrupted stops all", async () => {
	const c = new Cluster()
	const up = start("up", "--detach", "--demo", "--data-dir", c.folder, "--secure-port", "0")
	await until("a server", () => /ready at/.test(c.log("server")))
	up.child.kill("SIGINT")
	assert.deepEqual(await up.ended, { code: 1, signal: null })
	assert.equal(up.out, "")
	assert.equal((await c.run("status")).code, 3)
	assert.ok(JSON.parse(readFileSync(`${c.folder}/up.json`, "utf8")).roles.every((role) => !role.pid))
})

await test("the end of a terminal ends it, unless nohup is said", async () => {
	const c = await new Cluster().begin("--runtime", "hollow")
	assert.equal(statSync(`${c.folder}/up.lock`).mode & 0o777, 0o600)
	assert.deepEqual(await c.stop("SIGHUP"), { code: 0, signal: null })
	assert.equal(readFileSync(`${c.folder}/up.lock`, "utf8"), "")
	const kept = spawn("nohup", [devplane, "up", "--data-dir", c.folder, "--secure-port", "0", "--runtime", "hollow"], { stdio: ["ignore", "pipe", "ignore"] })
	await once(kept.stdout, "data")
	kept.kill("SIGHUP")
	kept.kill("SIGTERM")
	await once(kept, "close")
	const signals = c.log("up").match(/"signal":\d+/g)
	assert.deepEqual(signals, ['"signal":1', '"signal":15'])
})

await test("killing the supervisor leaves nobody behind, and the next one goes on", async () => {
	const c = await new Cluster().begin("--demo")
	const { code, text } = await c.client.post(`${core}/namespaces/default/configmaps`, { metadata: { name: "kept" }, data: { a: "b" } })
	assert.equal(code, 201, text)
	const pids = await c.pids(), { url } = c
	c.up.child.kill("SIGKILL")
	await c.up.ended
	await until("end of all parts", () => !pids.some(alive))
	const status = await c.run("status")
	assert.equal(status.code, 3)
	assert.match(status.out, /its supervisor was killed/)
	await c.begin("--demo")
	assert.equal(c.url, url, "the port stays")
	assert.equal((await c.client.get(`${core}/namespaces/default/configmaps/kept`)).body.data.a, "b")
	await c.well()
	assert.deepEqual(await c.stop(), { code: 0, signal: null })
})

// A process that holds the port as the server of a killed supervisor does until it has ended. `since`: what the state file says of it.
async function holdsPort(c, since) {
	const port = await freePort()
	const program = `require("net").createServer().listen(${port}, "127.0.0.1", () => console.log("listens"))`
	const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] })
	await once(child.stdout, "data")
	mkdirSync(c.folder, { mode: 0o700 })
	writeFileSync(`${c.folder}/up.json`, JSON.stringify({ format: 1, pid: 1, startTime: new Date(Date.now() - 3600000).toISOString(), ready: true,
		server: `https://127.0.0.1:${port}`, roles: [{ name: "server", state: "ready", pid: child.pid, since: since() }] }))
	return { child, port }
}

await test("the next one waits for the server of a supervisor that was killed", async () => {
	const c = new Cluster()
	const { child, port } = await holdsPort(c, () => new Date().toISOString())
	const up = start("up", "--detach", "--data-dir", c.folder, "--secure-port", String(port), "--runtime", "hollow")
	await until("a message about it", () => {
		assert.equal(up.child.exitCode, null, up.err)
		return up.err.includes(`waiting for the end of server (pid ${child.pid}), whose supervisor was killed`)
	})
	child.kill("SIGKILL")
	assert.deepEqual(await up.ended, { code: 0, signal: null }, up.err)
	c.connect()
	assert.equal(new URL(c.url).port, String(port))
	assert.equal((await c.run("down")).code, 0)
})

await test("a process that has the number of an old server is not waited for", async () => {
	const c = new Cluster()
	const { child, port } = await holdsPort(c, () => new Date(Date.now() - 1800000).toISOString())
	await refused(new RegExp(`port ${port} is in use by .*\\(pid ${child.pid}\\).*--secure-port`), "--data-dir", c.folder, "--secure-port", String(port))
	child.kill("SIGKILL")
})

await test("in the background it returns when all is ready, and down ends it", async () => {
	const c = new Cluster()
	const { code, out, err } = await c.run("up", "--detach", "--secure-port", "0", "--runtime", "hollow", "--nodes", "3")
	try {
		assert.equal(code, 0, err)
		assert.match(out, /^ {2}runs {4}server, controller, scheduler, 4 nodes$/m)
		assert.match(out, new RegExp(`^ {2}stop {4}devplane down --data-dir ${c.folder}$`, "m"))
		const { out: nodes } = await c.kubectl("get", "nodes", "--no-headers")
		assert.equal(nodes.match(/^hollow-[012] +Ready/gm)?.length, 3, nodes)
		assert.equal(nodes.trim().split("\n").length, 4)
		const metrics = await c.kubectl("get", "--raw", "/metrics")
		assert.doesNotMatch(metrics.out, /^apiserver_request_total\{.*code="403"/m)
		const follower = spawn(devplane, ["logs", "scheduler", "-f", "--data-dir", c.folder])
		let said = ""
		follower.stdout.on("data", (data) => (said += data))
		await until("first lines", () => said.includes("devplane scheduler runs"))
		process.kill((await c.role("scheduler")).pid, "SIGKILL")
		await until("lines of the next one", () => said.match(/devplane scheduler runs/g)?.length === 2)
		follower.kill()
	} finally {
		const down = await c.run("down")
		assert.equal(down.out, `devplane is down; all objects stay in ${c.folder}\n`)
	}
	assert.equal((await c.run("status", "-o", "json")).out, `{\n    "running": false,\n    "dataDir": "${c.folder}"\n}\n`)
})

await test("on a terminal it says how to log in, and names of folders may be odd", async () => {
	const c = new Cluster(`${scratch}/a: 'b' #`)
	const words = [devplane, "up", "--detach", "--demo", "--secure-port", "0", "--data-dir", c.folder]
	const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`
	try {
		const { code, out } = await command("script", ["-qec", words.map(quote).join(" "), "/dev/null"], { env: { SHELL: "/bin/sh" } })
		assert.equal(code, 0, out)
		assert.match(out, /^ {2}page {4}https:\/\/127\.0\.0\.1:\d+\/ui\/#code=[\w-]{43}\r$/m)
		assert.ok(out.includes(`export KUBECONFIG=${quote(c.kubeconfig)}\r\n`), out)
		assert.ok(out.includes(`devplane down --data-dir ${quote(c.folder)}\r\n`), out)
		await c.well()
	} finally {
		assert.match((await c.run("down")).out, /^devplane is down/)
	}
})

await test("in the background a start that fails is told", async () => {
	const broken = folder()
	mkdirSync(`${broken}/store`, { recursive: true })
	writeFileSync(`${broken}/store/data.mdb`, "this is no store ".repeat(1000))
	await refused(/server cannot start: /, "--data-dir", broken, "--detach")
})

await test("a role that cannot start any more is told, and the rest goes on", async () => {
	const c = await new Cluster().begin("--demo")
	writeFileSync(`${c.folder}/scheduler.yaml`, "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\ndevplane: {plugins: [{path: /nowhere/disk_io.so}]}\n")
	process.kill((await c.role("scheduler")).pid, "SIGKILL")
	const { roles } = await until("failure of the scheduler", async () => {
		const now = await c.status()
		return now.roles.find((r) => r.name === "scheduler").lastFailure?.includes("/nowhere/disk_io.so") && now
	})
	assert.equal(roles.find((r) => r.name === "server").health, "ok")
	const { code, out } = await c.run("status")
	assert.equal(code, 1)
	assert.match(out, /^scheduler: .*\/nowhere\/disk_io\.so.*; see `devplane logs scheduler`$/m)
	const doctor = await c.run("doctor")
	assert.equal(doctor.code, 1)
	assert.match(doctor.out, /^fail +role scheduler .*disk_io\.so/m)
	await c.stop()
})

// A limit on the size of files does what a full disk does: nothing can be written.
await test("on a full disk a role comes back, and status tells what it cannot know", async () => {
	const c = new Cluster()
	const up = spawn("sh", ["-c", 'trap "" XFSZ; exec "$@"', "sh", devplane, "up", "--data-dir", c.folder, "--secure-port", "0", "--runtime", "hollow"], { stdio: ["ignore", "pipe", "ignore"] })
	try {
		await once(up.stdout, "data")
		const { pid } = await c.role("scheduler")
		const limit = await command("prlimit", ["--pid", String(up.pid), "--fsize=0:"])
		assert.equal(limit.code, 0, limit.err)
		process.kill(pid, "SIGKILL")
		const runs = (child) => /^devplane\0scheduler\0/.test(readFileSync(`/proc/${child}/cmdline`, "utf8"))
		await until("a scheduler again", () => {
			const children = readFileSync(`/proc/${up.pid}/task/${up.pid}/children`, "utf8").trim().split(" ")
			return children.some((child) => child !== String(pid) && alive(child) && runs(child))
		})
		const { code, out } = await c.run("status")
		assert.equal(code, 1)
		assert.match(out, /^scheduler +gone /m)
		assert.match(out, /^scheduler: its process \d+ is gone, .* is the disk full\?/m)
	} finally {
		up.kill()
		await once(up, "close")
	}
})

// --- logs ----------------------------------------------------------------------------------

await test("a follower of a log misses nothing when the file is replaced", async () => {
	const f = folder(), log = `${f}/log/x.log`
	const line = (text) => `{"ts":"2026-11-16T09:25:36.270191Z","level":"info","msg":"${text}"}\n`
	mkdirSync(`${f}/log`, { recursive: true })
	writeFileSync(log, line("first"))
	const follower = spawn(devplane, ["logs", "x", "-f", "--data-dir", f])
	let said = ""
	follower.stdout.on("data", (data) => (said += data))
	await until("the first line", () => said.includes("first"))
	writeFileSync(log, line("second"), { flag: "a" })
	renameSync(log, `${log}.1`)
	writeFileSync(log, line("third"))
	await until("the last line", () => said.includes("third"))
	follower.kill()
	assert.deepEqual(said.match(/first|second|third/g), ["first", "second", "third"])
})

await test("the supervisor's own log is bounded, too", async () => {
	const c = new Cluster()
	mkdirSync(`${c.folder}/log`, { recursive: true, mode: 0o700 })
	mkdirSync(`${c.folder}/pki`, { mode: 0o700 })
	writeFileSync(`${c.folder}/log/up.log`, "x".repeat(9 << 20))
	await c.begin("--runtime", "hollow")
	assert.equal(statSync(`${c.folder}/log/up.log.1`).size, 9 << 20)
	assert.match(c.log("up"), /^\{.*"starting"/)
	await c.stop()
})

// --- etcd, and no root ---------------------------------------------------------------------

await test("objects are kept in etcd when it is named", async () => {
	const etcd = await startEtcd()
	const c = await new Cluster().begin("--demo", "--etcd-servers", etcd.url)
	const { code } = await c.client.post(`${core}/namespaces/default/configmaps`, { metadata: { name: "there" } })
	assert.equal(code, 201)
	const base64 = (text) => Buffer.from(text).toString("base64")
	const { body } = await new Client(etcd.url).post("/v3/kv/range", { key: base64("/registry/"), range_end: base64("/registry0"), keys_only: true })
	assert.ok(body.kvs.some(({ key }) => /configmaps\/default.there$/.test(Buffer.from(key, "base64"))))
	assert.deepEqual(await c.stop(), { code: 0, signal: null })
	await etcd.kill()
})

await test("without root the node is hollow, and the folder is the user's own", async () => {
	if (!root)
		return
	// The folder of tests is root's alone, and so is perhaps the way to the program.
	const home = mkdtempSync("/tmp/up-")
	try {
		chmodSync(home, 0o755)
		chownSync(home, 65534, 65534)
		const own = `${home}/devplane`
		copyFileSync(devplane, own)
		const as = (...args) => command("setpriv", ["--reuid=65534", "--regid=65534", "--clear-groups", "env", "-u", "XDG_STATE_HOME", `HOME=${home}`, own, ...args])
		const { code, out, err } = await as("up", "--detach", "--secure-port", "0")
		assert.equal(code, 0, err)
		assert.match(out, new RegExp(`export KUBECONFIG=${home}/\\.local/state/devplane/admin\\.kubeconfig`))
		assert.match(out, /^ {2}note {4}you are not root/m)
		assert.match(out, /^ {2}stop {4}devplane down$/m)
		assert.equal((await as("status")).code, 0)
		assert.match((await as("down")).out, /^devplane is down/)
		const denied = await as("up", "--data-dir", "/root/devplane", "--secure-port", "0")
		assert.equal(denied.code, 1)
		assert.match(denied.err, /--data-dir/)
	} finally {
		rmSync(home, { recursive: true })
	}
})

await test("a server at all addresses is reached at this machine's own", async () => {
	for (const address of ["0.0.0.0", "::"]) {
		const c = await new Cluster(folder()).begin("--runtime", "hollow", "--bind-address", address)
		assert.match(readFileSync(`${c.folder}/kubeconfig/scheduler.kubeconfig`, "utf8"), /server"?: "?https:\/\/127\.0\.0\.1:\d+/)
		assert.deepEqual(await c.stop(), { code: 0, signal: null })
	}
})

// Users of roles cannot pass it, so that roles are root.
await test("root works in a folder behind one that is somebody else's", async () => {
	if (!root)
		return
	const home = mkdtempSync("/tmp/up-")
	try {
		chmodSync(home, 0o700)
		chownSync(home, 65534, 65534)
		const c = await new Cluster(`${home}/d`).begin("--runtime", "hollow")
		const { pid } = await c.role("server")
		const kept = BigInt("0x" + /^CapEff:\s+(\S+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1])
		assert.equal(kept & ~0x6n, 0n, "nothing but passing folders is kept")
		assert.deepEqual(await c.stop(), { code: 0, signal: null })
	} finally {
		rmSync(home, { recursive: true })
	}
})

finish()
