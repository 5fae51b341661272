// The machines of the test: three servers on three members of etcd, or one server on LMDB. As root each has a network namespace on a
// bridge, a small disk, and (servers) a wall clock of its own; otherwise all are on loopback, and can only be killed and stopped.
//
//	const world = new World("etcd", folder, { isolated: true, clocks: true })
//	await world.open()
//	world.servers[0].cut("silent"); world.servers[0].mend()
//	await world.close()
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs"
import { fill, Program } from "../drill/place.mjs"
import { Client, freePort, readKubeconfig } from "../e2e/api_lib.mjs"
import { devplane, sanitized, until } from "../e2e/lib.mjs"

const DISK = { server: "256m", member: "1g" }
const NOWHERE = "02:00:00:00:00:01"
const HISTORY = "90s"
const THREADS = "4" // connections of one client are on several loops, and most writes are drafted there

const run = (...argv) => execFileSync(argv[0], argv.slice(1), { stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" })

function quietly(...argv) {
	try {
		run(...argv)
	} catch {
		// It was so already.
	}
}

const FAKETIME = ["x86_64-linux-gnu", "aarch64-linux-gnu"].map((arch) => `/usr/lib/${arch}/faketime/libfaketimeMT.so.1`).find(existsSync)
export const hasClocks = Boolean(FAKETIME) && !sanitized

// One process with what is its own. It is started again when it ends by itself; `ends` has the reasons.
class Machine {
	constructor(world, name, number) {
		Object.assign(this, { world, name, role: name.replace(/\d/, ""), folder: `${world.folder}/${name}`, ends: [] })
		this.ip = world.isolated ? `10.77.0.${number}` : "127.0.0.1"
	}

	open() {
		mkdirSync(this.folder, { recursive: true })
		if (!this.world.isolated)
			return
		run("mount", "-t", "tmpfs", "-o", `size=${DISK[this.role]},mode=0700`, "consistency", this.folder)
		run("ip", "netns", "add", this.name)
		run("ip", "link", "add", this.name, "type", "veth", "peer", "name", "eth0", "netns", this.name)
		run("ip", "link", "set", this.name, "master", "hub", "up")
		run("ip", "-n", this.name, "addr", "add", `${this.ip}/24`, "dev", "eth0")
		run("ip", "-n", this.name, "link", "set", "lo", "up")
		run("ip", "-n", this.name, "link", "set", "eth0", "up")
	}

	inside(argv) {
		return this.world.isolated ? ["ip", "netns", "exec", this.name, ...argv] : argv
	}

	begin() {
		this.wanted = true
		if (this.program?.alive)
			return
		this.program = new Program(`${this.world.folder}/${this.name}.log`, this.inside(this.argv), this.env).begin()
		const { program } = this
		program.over.then((how) => this.restart(program, how))
	}

	async restart(program, how) {
		if (program !== this.program || !this.wanted || this.world.closed)
			return
		this.ends.push({ ...how, full: Boolean(this.free) })
		this.world.tell(`${this.name} ended by itself: ${JSON.stringify(how)}${this.free ? ", its disk being full" : ""}`)
		await new Promise((resolve) => setTimeout(resolve, 500))
		if (this.wanted && !this.world.closed)
			this.begin()
	}

	async kill() {
		this.wanted = false
		await this.program.kill()
	}

	stop() {
		this.program.signal("SIGSTOP")
	}

	resume() {
		this.program.signal("SIGCONT")
	}

	// "down": the link is down. "silent": what it sends to the others (all machines and clients by default) vanishes.
	cut(how, others = this.world.addresses().filter((ip) => ip !== this.ip)) {
		if (how === "down")
			run("ip", "-n", this.name, "link", "set", "eth0", "down")
		else
			others.forEach((ip) => run("ip", "-n", this.name, "neigh", "replace", ip, "lladdr", NOWHERE, "dev", "eth0", "nud", "permanent"))
	}

	mend() {
		run("ip", "-n", this.name, "link", "set", "eth0", "up")
		this.world.addresses().forEach((ip) => quietly("ip", "-n", this.name, "neigh", "del", ip, "dev", "eth0"))
	}

	fill() {
		this.free = fill(this.folder)
	}

	empty() {
		this.free?.()
		this.free = undefined
	}

	// Sets the wall clock so many seconds off.
	clock(seconds) {
		writeFileSync(`${this.world.folder}/${this.name}.clock`, `${seconds < 0 ? "-" : "+"}${Math.abs(seconds)}\n`)
	}

	async end() {
		this.wanted = false
		if (this.program?.alive) {
			this.resume()
			await this.program.kill()
		}
	}
}

export class World {
	constructor(setup, folder, { isolated, clocks, tell = () => {} }) {
		Object.assign(this, { setup, folder, isolated, clocks: clocks && hasClocks, tell })
		const many = (name, count, first) => Array.from({ length: count }, (_, i) => new Machine(this, `${name}${i}`, first + i))
		this.servers = many("server", setup === "etcd" ? 3 : 1, 11)
		this.members = many("member", setup === "etcd" ? 3 : 0, 21)
		this.machines = [...this.members, ...this.servers]
	}

	addresses() {
		return [...this.machines.map(({ ip }) => ip), "10.77.0.1"]
	}

	async open() {
		process.on("exit", () => this.machines.forEach(({ program }) => program?.alive && program.signal("SIGKILL")))
		if (this.isolated) {
			run("mount", "-t", "tmpfs", "none", "/run/netns")
			run("ip", "link", "set", "lo", "up")
			run("ip", "link", "add", "hub", "type", "bridge")
			run("ip", "addr", "add", "10.77.0.1/24", "dev", "hub")
			run("ip", "link", "set", "hub", "up")
		}
		this.machines.forEach((machine) => machine.open())
		await this.openMembers()
		await this.openServers()
	}

	async openMembers() {
		for (const member of this.members) {
			member.url = `http://${member.ip}:${this.isolated ? 2379 : await freePort()}`
			member.peer = `http://${member.ip}:${this.isolated ? 2380 : await freePort()}`
		}
		const cluster = this.members.map(({ name, peer }) => `${name}=${peer}`).join(",")
		for (const member of this.members) {
			member.env = { ETCD_UNSUPPORTED_ARCH: process.arch }
			member.argv = ["etcd", "--name", member.name, "--data-dir", `${member.folder}/data`, "--listen-client-urls", member.url,
				"--advertise-client-urls", member.url, "--listen-peer-urls", member.peer, "--initial-advertise-peer-urls", member.peer,
				"--initial-cluster", cluster, "--snapshot-count", "5000", "--max-wals", "1", "--max-snapshots", "1", "--log-level", "warn"]
			member.begin()
		}
		if (this.members.length)
			await until("leader of etcd", () => this.leader(), 60)
	}

	async openServers() {
		const storage = this.members.length ? ["--etcd-servers", this.members.map(({ url }) => url).join(",")] : []
		for (const [i, server] of this.servers.entries()) {
			if (i > 0)
				cpSync(`${this.servers[0].folder}/data/pki`, `${server.folder}/data/pki`, { recursive: true })
			server.port = this.isolated ? 6443 : await freePort()
			server.url = `https://${server.ip}:${server.port}`
			server.clock(0)
			server.argv = [devplane, "server", "--data-dir", `${server.folder}/data`, "--bind-address", server.ip, "--secure-port", String(server.port),
				"--io-threads", THREADS, "--log-format", "text", "--history", HISTORY, "--service-cluster-ip-range", "10.96.0.0/16", "--disable-admission-plugins", "TaintNodesByCondition", ...storage]
			if (this.clocks)
				server.argv.unshift("env", `LD_PRELOAD=${FAKETIME}`, `FAKETIME_TIMESTAMP_FILE=${this.folder}/${server.name}.clock`,
					"FAKETIME_CACHE_DURATION=1", "FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1")
			server.begin()
			await until(`${server.name}`, () => this.ready(server), 90)
		}
		const { ca, cert, key } = readKubeconfig(`${this.servers[0].folder}/data/admin.kubeconfig`)
		this.credentials = { ca: ca.toString(), cert: cert.toString(), key: key.toString() }
	}

	async ready(server) {
		try {
			const { ca } = readKubeconfig(`${server.folder}/data/admin.kubeconfig`)
			const client = new Client(server.url, { ca })
			const { code } = await client.get("/readyz", { seconds: 2 })
			client.close()
			return code === 200
		} catch {
			return false
		}
	}

	// The member that leads, or undefined.
	async leader() {
		const roles = await Promise.all(this.members.map(async (member) => {
			const client = new Client(member.url)
			try {
				return /^etcd_server_is_leader 1$/m.test((await client.get("/metrics", { seconds: 1 })).text)
			} catch {
				return false
			} finally {
				client.close()
			}
		}))
		return this.members[roles.indexOf(true)]
	}

	async close() {
		this.closed = true
		for (const machine of [...this.machines].reverse()) {
			await machine.end()
			machine.empty()
			if (this.isolated) {
				quietly("umount", "-l", machine.folder)
				quietly("ip", "netns", "del", machine.name)
			}
		}
		if (this.isolated)
			quietly("umount", "-l", "/run/netns")
	}
}
