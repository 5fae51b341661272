// Where the drill takes place: `devplane up --demo --demo-devices plain` with its folder on a small disk of its own, two hollow nodes with drivers in
// another network namespace, and, when asked for, etcd in a third. Everything that a fault needs to take hold of is here.
//
//	const place = new Place("etcd")
//	await place.open()
//	place.far.cut("silent"); place.far.mend()
//	await place.close()
import assert from "node:assert/strict"
import { execFile, execFileSync, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, statfsSync, unlinkSync, writeFileSync, writeSync, closeSync } from "node:fs"
import { Client, freePort, readKubeconfig } from "../e2e/api_lib.mjs"
import { devplane, until } from "../e2e/lib.mjs"

export const GPU = "gpu.sim.devplane.dev"
export const NIC = "nic.sim.devplane.dev"

const DISK = "192m" // of everything that `up` keeps

const run = (...argv) => execFileSync(argv[0], argv.slice(1), { stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" })

// Runs a devplane command in the background. If the server hangs, the command fails after ten seconds.
const ask = (...argv) => new Promise((resolve, reject) =>
	execFile(devplane, argv, { timeout: 10000, killSignal: "SIGKILL" }, (error, out) => (error ? reject(error) : resolve(out))))

// Writes a file that takes all the space left on the disk of a folder; returns a function that removes it.
export function fill(folder) {
	const file = `${folder}/filler`, fd = openSync(file, "w")
	for (const piece of [Buffer.alloc(1 << 20, 1), Buffer.alloc(4096, 1)]) {
		try {
			for (;;)
				writeSync(fd, piece)
		} catch (e) {
			assert.equal(e.code, "ENOSPC")
		}
	}
	closeSync(fd)
	return () => unlinkSync(file)
}

// A process that is begun again after it was killed; what it prints goes to a file.
export class Program {
	constructor(log, argv, env = {}) {
		Object.assign(this, { log, argv, env })
	}

	begin() {
		const fd = openSync(this.log, "a")
		const child = this.child = spawn(this.argv[0], this.argv.slice(1), { stdio: ["ignore", fd, fd], env: { ...process.env, ...this.env } })
		closeSync(fd)
		this.over = new Promise((resolve) => child.on("exit", (code, signal) => resolve({ code, signal })))
		return this
	}

	get pid() {
		return this.child.pid
	}

	get alive() {
		return this.child.exitCode === null && this.child.signalCode === null
	}

	signal(name) {
		this.child.kill(name)
	}

	async kill(name = "SIGKILL") {
		this.child.kill(name)
		return this.over
	}
}

// A network namespace joined to ours by one cable. Our end keeps its address when the cable is cut.
class Island {
	constructor(name, subnet) {
		Object.assign(this, { name, here: `10.213.${subnet}.1`, there: `10.213.${subnet}.2` })
	}

	open() {
		run("ip", "netns", "add", this.name)
		run("ip", "link", "add", `${this.name}h`, "type", "veth", "peer", "name", "eth0", "netns", this.name)
		run("ip", "addr", "add", `${this.here}/30`, "dev", `${this.name}h`)
		run("ip", "link", "set", `${this.name}h`, "up")
		run("ip", "-n", this.name, "addr", "add", `${this.there}/30`, "dev", "eth0")
		this.mend()
	}

	inside(...argv) {
		return ["ip", "netns", "exec", this.name, ...argv]
	}

	// "silent": packets vanish, as behind a broken switch; otherwise the link is down, and both sides notice.
	cut(how) {
		if (how === "silent")
			run("ip", "-n", this.name, "neigh", "replace", this.here, "lladdr", "02:00:00:00:00:01", "dev", "eth0", "nud", "permanent")
		else
			run("ip", "-n", this.name, "link", "set", "eth0", "down")
	}

	mend() {
		try {
			run("ip", "-n", this.name, "neigh", "del", this.here, "dev", "eth0")
		} catch {
			// It was not cut so.
		}
		run("ip", "-n", this.name, "link", "set", "eth0", "up")
		run("ip", "-n", this.name, "link", "set", "lo", "up")
	}

	close() {
		run("ip", "netns", "del", this.name)
	}
}

// A node's certificate, signed by the cluster's CA, as `up` makes those of its own nodes.
function nodeKubeconfig(data, node, server) {
	const key = `${data}/far/${node}.key`, request = `${data}/far/${node}.csr`, cert = `${data}/far/${node}.crt`
	run("openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
		"-out", request, "-subj", `/O=system:nodes/CN=system:node:${node}`)
	run("openssl", "x509", "-req", "-in", request, "-CA", `${data}/pki/ca.crt`, "-CAkey", `${data}/pki/ca.key`, "-CAcreateserial",
		"-out", cert, "-days", "2")
	const file = `${data}/far/${node}.kubeconfig`
	writeFileSync(file, JSON.stringify({
		apiVersion: "v1", kind: "Config",
		clusters: [{ name: "c", cluster: { server, "certificate-authority": `${data}/pki/ca.crt` } }],
		users: [{ name: "u", user: { "client-certificate": cert, "client-key": key } }],
		contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
		"current-context": "x",
	}), { mode: 0o600 })
	return file
}

export class Place {
	constructor(backend) {
		const tag = process.pid % 10000, subnet = process.pid % 120
		this.backend = backend
		this.far = new Island(`dpf${tag}`, subnet * 2)
		this.depot = new Island(`dpe${tag}`, subnet * 2 + 1)
		this.programs = new Map() // of ours: name -> Program
	}

	async open() {
		this.data = mkdtempSync("/tmp/dpd-")
		run("mount", "-t", "tmpfs", "-o", `size=${DISK},mode=0700`, "devplane-drill", this.data)
		this.logs = mkdtempSync("/tmp/dpl-")
		this.far.open()
		const storage = this.backend === "etcd" ? ["--etcd-servers", await this.openEtcd()] : []
		this.port = await freePort()
		this.program("up", [devplane, "up", "--demo", "--demo-devices", "plain", "--data-dir", this.data, "--bind-address", this.far.here,
			"--secure-port", String(this.port), ...storage])
		await this.ready()
		this.credentials = readKubeconfig(`${this.data}/admin.kubeconfig`)
		this.client = new Client(this.credentials.url, this.credentials)
		this.nodes = ["demo-0", "demo-1"].map((name) => ({ name, root: `${this.data}/nodes/${name}`, drivers: [GPU, NIC] }))
		this.nodes.push({ name: "far", root: `${this.data}/far/root`, drivers: [GPU] })
		this.openFar()
	}

	program(name, argv, env) {
		const p = new Program(`${this.logs}/${name}.log`, argv, env).begin()
		this.programs.set(name, p)
		return p
	}

	// Memory is where etcd keeps its files: its own fsync is not what is drilled here.
	async openEtcd() {
		this.depot.open()
		const url = `http://${this.depot.there}:2379`, peer = "http://127.0.0.1:2380"
		this.etcd = this.program("etcd", this.depot.inside("etcd", "--name", "drill", "--data-dir", `${this.logs}/etcd`,
			"--listen-client-urls", url, "--advertise-client-urls", url, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", `drill=${peer}`, "--heartbeat-interval", "20", "--election-timeout", "200", "--unsafe-no-fsync"),
		{ ETCD_UNSUPPORTED_ARCH: process.arch })
		await until("etcd", () => new Client(url).get("/health", { seconds: 2 }).then(({ text }) => /true/.test(text), () => false))
		return url
	}

	openFar() {
		mkdirSync(`${this.data}/far`)
		const inside = (...argv) => this.far.inside(devplane, ...argv)
		const root = `${this.data}/far/root`, cdi = `${this.data}/far/cdi`
		this.program("far-node", inside("node", "--kubeconfig", nodeKubeconfig(this.data, "far", this.credentials.url), "--node-name", "far",
			"--root-dir", root, "--runtime", "hollow", "--cdi-dir", cdi, "--metrics-bind-address", "0"))
		this.program("far-driver", inside("driver", "sim", "--kubeconfig", `${this.data}/admin.kubeconfig`, "--node-name", "far",
			"--root-dir", root, "--cdi-dir", cdi, "--metrics-bind-address", "0"))
	}

	// The supervisor's own state file.
	up() {
		return JSON.parse(readFileSync(`${this.data}/up.json`, "utf8"))
	}

	roles() {
		return this.up().roles
	}

	async ready(seconds = 60) {
		await until("everything of devplane up", () => {
			const { up } = Object.fromEntries(this.programs)
			assert.ok(up.alive, `devplane up ended: ${readFileSync(up.log, "utf8").slice(-4000)}`)
			try {
				const { pid, roles } = this.up()
				return pid === up.pid && roles.length > 0 && roles.every((r) => r.state === "ready")
			} catch {
				return false
			}
		}, seconds)
	}

	fill() {
		const free = fill(this.data)
		assert.equal(statfsSync(this.data).bavail, 0)
		return free
	}

	// The devices of a driver as it sees them itself: { name: { state, message } }.
	async devices(node, driver) {
		const devices = JSON.parse(await ask("driver", "sim", "list", "--root-dir", node.root, "--name", driver, "-o", "json"))
		return Object.fromEntries(devices.map((d) => [d.name, d]))
	}

	order(node, driver, what, device, ...more) {
		return ask("driver", "sim", what, device, "--root-dir", node.root, "--name", driver, ...more)
	}

	// The devices of a node's pods, as PodResources lists them to monitoring agents.
	async held(node) {
		return JSON.parse(await ask("podresources", "list", "--root-dir", node.root, "-o", "json")).podResources ?? []
	}

	async close(keep) {
		this.client?.close()
		for (const p of [...this.programs.values()].reverse()) {
			if (p.alive) {
				p.signal("SIGCONT")
				await Promise.race([p.kill("SIGTERM"), new Promise((resolve) => setTimeout(resolve, 20000))])
				if (p.alive)
					await p.kill()
			}
		}
		if (keep)
			execFileSync("cp", ["-r", `${this.data}/log`, `${this.logs}/roles`])
		for (const island of [this.far, this.depot]) {
			try {
				island.close()
			} catch {
				// It was never opened.
			}
		}
		run("umount", this.data)
		rmSync(this.data, { recursive: true })
		if (!keep)
			rmSync(this.logs, { recursive: true })
	}
}
