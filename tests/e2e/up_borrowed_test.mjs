// `devplane up --controller-manager PATH --kube-proxy PATH`: programs of upstream as parts of the cluster. UPSTREAM_BIN names their
// folder. Without it a stand-in answers for kube-controller-manager: it serves /healthz and does nothing else, so the case about its work
// does not run.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { existsSync, writeFileSync } from "node:fs"
import { core } from "./api_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"
import { Cluster, run } from "./up_lib.mjs"

const upstream = `${process.env.UPSTREAM_BIN ?? ""}/kube-controller-manager`
const real = existsSync(upstream)
const apps = "/apis/apps/v1/namespaces/default"

function standIn() {
	const file = `${scratch}/kube-controller-manager`
	execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=stand-in",
		"-keyout", `${file}.key`, "-out", `${file}.crt`], { stdio: "ignore" })
	writeFileSync(file, `#!${process.execPath}
const { readFileSync } = require("node:fs")
const flag = (name) => process.argv.find((a) => a.startsWith("--" + name + "="))?.split("=")[1]
console.log("I1119 flags " + process.argv.slice(2).join(" "))
require("node:https").createServer({ key: readFileSync(${JSON.stringify(file)} + ".key"), cert: readFileSync(${JSON.stringify(file)} + ".crt") },
	(request, response) => response.writeHead(request.url === "/healthz" ? 200 : 404).end("ok")).listen(Number(flag("secure-port")), flag("bind-address"))
`, { mode: 0o755 })
	return file
}

const program = real ? upstream : standIn()
const sandbox = real ? [] : ["--sandbox=false"] // the stand-in is a script, whose interpreter is elsewhere
const c = new Cluster()

await test("a program that cannot be run is an error that says what to do", async () => {
	for (const [args, message] of [
		[["--controller-manager", "/nonexistent"], /--controller-manager: cannot find \/nonexistent/],
		[["--controller-manager", "/etc/passwd"], /\/etc\/passwd is not a program: name the file itself, and make it executable/],
		[["--controller-manager", "/etc"], /\/etc is not a program/],
		[["--prefer-upstream"], /--prefer-upstream needs --controller-manager PATH/],
		[["--demo", "--kube-proxy", "/bin/true"], /--kube-proxy (is for this machine's node|changes the machine's packet filter)/],
	]) {
		const { code, err } = await run("up", "--data-dir", `${scratch}/bad`, "--secure-port", "0", ...args)
		assert.notEqual(code, 0)
		assert.match(err, message)
	}
})

await test("kube-controller-manager is a part that status, logs and doctor show", async () => {
	await c.begin("--demo", "--controller-manager", program, ...sandbox)
	assert.match(c.up.out, /^ {2}runs {4}server, controller, scheduler, kube-controller-manager, 2 nodes/m)
	await c.well()
	const role = await c.role("controller-manager")
	assert.equal(role.health, "ok")
	assert.ok(role.memoryBytes > 0)
	const logs = await c.run("logs", "controller-manager")
	assert.equal(logs.code, 0, logs.err)
	assert.match(logs.out, /controller-manager|controllermanager|flags/)
	const doctor = await c.run("doctor")
	assert.match(doctor.out, /role controller-manager +ready/, doctor.out + doctor.err)
})

// The command lines of both: what one leaves out the other runs.
const controllers = async (name) => {
	const { pid } = await c.role(name)
	const words = execFileSync("tr", ["\\0", "\\n"], { input: execFileSync("cat", [`/proc/${pid}/cmdline`]) }).toString().split("\n")
	return words.find((w) => w.startsWith("--controllers=")).slice("--controllers=".length).split(",")
}

await test("it leaves out the controllers that devplane runs", async () => {
	const theirs = await controllers("controller-manager"), ours = await controllers("controller")
	assert.deepEqual(ours, ["*", "device-health-taints", "device-history"])
	for (const name of ["namespace-controller", "garbage-collector-controller", "resourceclaim-controller", "device-taint-eviction-controller"])
		assert.ok(theirs.includes(`-${name}`), name)
	assert.ok(!theirs.some((name) => name.includes("slice-status")), "it does not know this one")
})

await test("it is restarted when it is killed", async () => {
	const { pid } = await c.role("controller-manager")
	process.kill(pid, "SIGKILL")
	const again = await until("another process", async () => {
		const role = await c.role("controller-manager")
		return role.pid && role.pid !== pid && role.state === "ready" && role
	}, 60)
	assert.equal(again.restarts, 1)
	assert.match(again.lastFailure ?? "", /signal 9|KILL/)
})

await test("--prefer-upstream leaves the controllers of both to it", async () => {
	await c.run("down")
	await c.up.ended
	await c.begin("--demo", "--controller-manager", program, "--prefer-upstream", ...sandbox)
	await c.well()
	assert.deepEqual(await controllers("controller-manager"), ["*"])
	const ours = await controllers("controller")
	assert.ok(ours.includes("-resourceclaim-controller"))
	assert.ok(ours.includes("device-health-taints"))
	assert.ok(!ours.includes("-resourceslice-status-controller"), "only devplane has this one")
})

if (real)
	await test("its controllers work: a StatefulSet gets its pods", async () => {
		const labels = { app: "db" }
		const { code, text, headers } = await c.client.post(`${apps}/statefulsets`, {
			metadata: { name: "db" },
			spec: { replicas: 2, serviceName: "db", selector: { matchLabels: labels }, podManagementPolicy: "Parallel",
				template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "busybox" }] } } },
		})
		assert.equal(code, 201, text)
		assert.equal(headers.warning, undefined, "its lease says that it runs")
		await until("two ready pods", async () => {
			const set = (await c.client.get(`${apps}/statefulsets/db`)).body
			return set.status.readyReplicas === 2
		}, 60)
		assert.equal((await c.client.get(`${core}/namespaces/default/pods/db-1`)).code, 200)
	})

await c.run("down")
await c.up.ended
finish()
