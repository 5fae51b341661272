// An etcd cluster of several members, each of which can be killed, stopped and continued.
//
//	const etcd = await startMembers(3)
//	const server = await startServer("etcd", { etcd })
//	await etcd.members[0].pause()
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createWriteStream, readFileSync } from "node:fs"
import { Client, freePort, unique } from "./api_lib.mjs"
import { scratch, until } from "./lib.mjs"

const children = new Set()
process.on("exit", () => children.forEach((child) => child.kill("SIGKILL")))

async function ask(url, path, body) {
	const client = new Client(url)
	try {
		return (await client.post(path, body, { seconds: 2 })).body
	} catch {
		return undefined
	} finally {
		client.close()
	}
}

// "t" when a process is stopped: the third field, behind the name in brackets.
function stateOf(pid) {
	return /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, "latin1"))[1]
}

class Member {
	constructor(folder, url, peer) {
		Object.assign(this, { folder, url, peer, name: folder.split("/").pop() })
		this.log = createWriteStream(`${folder}.log`)
	}

	begin(cluster, flags) {
		this.child = spawn("etcd", ["--name", this.name, "--data-dir", this.folder, "--listen-client-urls", this.url,
			"--advertise-client-urls", this.url, "--listen-peer-urls", this.peer, "--initial-advertise-peer-urls", this.peer,
			"--initial-cluster", cluster, ...flags], {
			stdio: ["ignore", "pipe", "pipe"],
			env: { ...process.env, ETCD_UNSUPPORTED_ARCH: process.arch },
		})
		children.add(this.child)
		this.child.stdout.pipe(this.log, { end: false })
		this.child.stderr.pipe(this.log, { end: false })
	}

	async kill() {
		const over = once(this.child, "exit")
		this.child.kill("SIGKILL")
		await over
		children.delete(this.child)
	}

	// The process is stopped when this returns: connections to it stay open, nothing answers.
	async pause() {
		this.child.kill("SIGSTOP")
		await until("stopped member", () => stateOf(this.child.pid) === "T")
	}

	resume() {
		this.child.kill("SIGCONT")
	}

	status() {
		return ask(this.url, "/v3/maintenance/status", {})
	}
}

// Starts so many members, and waits until they have a leader. The flags are etcd's: its defaults elect a leader in 1 s to 2 s.
export async function startMembers(number, ...flags) {
	const members = []
	for (let i = 0; i < number; i++) {
		const ports = [await freePort(), await freePort()]
		members.push(new Member(`${scratch}/${unique("etcd")}`, ...ports.map((port) => `http://127.0.0.1:${port}`)))
	}
	const cluster = members.map(({ name, peer }) => `${name}=${peer}`).join()
	const self = {
		members,
		url: members.map(({ url }) => url).join(),
		begin: (some = members) => some.forEach((member) => member.begin(cluster, flags)),
		kill: () => Promise.all(members.map((member) => member.kill())),
		// The member that leads, as a majority of those that answer sees it.
		leader: () => until("leader of etcd", async () => {
			for (const member of members) {
				const status = member.child?.exitCode === null && stateOf(member.child.pid) !== "T" && await member.status()
				if (status && status.leader && status.leader === status.header.member_id)
					return member
			}
			return undefined
		}),
	}
	self.begin()
	await self.leader()
	return self
}
