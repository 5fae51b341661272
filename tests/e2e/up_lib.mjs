// Shared by the up_*_test.mjs: a cluster by `devplane up`, and commands about it.
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { Client, readKubeconfig, unique } from "./api_lib.mjs"
import { devplane, scratch, start, until } from "./lib.mjs"

// Runs a program to its end: { code, out, err }.
export async function command(program, args, { env, input } = {}) {
	const child = spawn(program, args, { stdio: [input ? "pipe" : "ignore", "pipe", "pipe"], env: { ...process.env, ...env } })
	let out = "", err = ""
	child.stdout.on("data", (data) => (out += data))
	child.stderr.on("data", (data) => (err += data))
	if (input)
		child.stdin.end(input)
	const code = await new Promise((resolve, reject) => {
		child.on("error", reject)
		child.on("close", resolve)
	})
	return { code, out, err }
}

export const run = (...args) => command(devplane, args)

export function alive(pid) {
	try {
		process.kill(pid, 0)
		// One that has ended and is not collected yet does not run.
		return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))
	} catch {
		return false
	}
}

// A cluster in a folder of its own, on a port that is picked. begin() starts `up` in the foreground.
export class Cluster {
	constructor(folder = `${scratch}/${unique("d")}`) {
		this.folder = folder
		this.kubeconfig = `${folder}/admin.kubeconfig`
	}

	async begin(...args) {
		this.up = start("up", "--data-dir", this.folder, "--secure-port", "0", ...args)
		let over
		this.up.ended.then((how) => (over = how))
		await until("a cluster that is up", () => {
			assert.ok(!over, `up ended: ${JSON.stringify(over)} ${this.up.err}`)
			return /\n {2}stop /.test(this.up.out)
		}, 60)
		this.connect()
		return this
	}

	connect() {
		const credentials = readKubeconfig(this.kubeconfig)
		this.client?.close()
		this.url = credentials.url
		this.client = new Client(credentials.url, credentials)
	}

	// `devplane COMMAND --data-dir` of this cluster.
	run(name, ...args) {
		return run(name, "--data-dir", this.folder, ...args)
	}

	async status() {
		const { out } = await this.run("status", "-o", "json")
		return JSON.parse(out)
	}

	async role(name) {
		return (await this.status()).roles.find((role) => role.name === name)
	}

	// Waits until all roles are ready and say that they are well.
	async well(seconds = 30) {
		let last
		return until("cluster in which all is well", async () => {
			last = await this.status()
			return last.running && last.ready && last.roles.every((r) => r.state === "ready" && r.health === "ok") && last
		}, seconds)
	}

	kubectl(...args) {
		return command("kubectl", ["--kubeconfig", this.kubeconfig, "--cache-dir", `${scratch}/cache`, ...args])
	}

	async pids() {
		return (await this.status()).roles.map((role) => role.pid)
	}

	// Ends it in order.
	async stop(signal = "SIGTERM") {
		this.client?.close()
		this.up.child.kill(signal)
		return this.up.ended
	}

	log(role) {
		const file = `${this.folder}/log/${role}.log`
		return existsSync(file) ? readFileSync(file, "utf8") : ""
	}
}
