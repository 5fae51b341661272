// The faults of the drill. Each fault does its harm, waits, and makes good again; it returns what it did.
import { pause } from "../e2e/api_ledger.mjs"
import { GPU, NIC } from "./place.mjs"

function signal(pid, name) {
	try {
		process.kill(pid, name)
	} catch {
		// Already gone, so it no longer hangs.
	}
}

// Stopped for a while, as a process whose disk or lock hangs.
async function hang(pid, ms) {
	signal(pid, "SIGSTOP")
	await pause(ms)
	signal(pid, "SIGCONT")
}

// A driver that is away does not hear; the device stays as it is.
const order = (place, ...args) => place.order(...args).catch(() => {})

const faults = {
	async "kill a role"(place, dice) {
		const role = dice.one(place.roles())
		signal(role.pid, "SIGKILL")
		return role.name
	},
	async "hang a role"(place, dice) {
		const role = dice.one(place.roles())
		await hang(role.pid, 500 + dice.below(4000))
		return role.name
	},
	async "hang a driver"(place, dice) {
		const pids = place.roles().filter((r) => r.name.startsWith("driver-")).map((r) => r.pid)
		await hang(dice.one([...pids, place.programs.get("far-driver").pid]), 2000 + dice.below(6000))
	},
	async "break a device"(place, dice) {
		const node = dice.one(place.nodes), device = `gpu-${dice.below(4)}`
		await order(place, node, GPU, "fail", device, "--message", "double-bit ECC error")
		await pause(dice.below(5000))
		await order(place, node, GPU, "heal", device)
		return `${node.name} ${device}`
	},
	async "silence a device"(place, dice) {
		const node = dice.one(place.nodes.slice(0, 2)), device = `nic-${dice.below(2)}`
		await order(place, node, NIC, "silence", device)
		await pause(dice.below(3000))
		await order(place, node, NIC, "restore", device)
		return `${node.name} ${device}`
	},
	async "fill the disk"(place, dice) {
		const free = place.fill()
		await pause(500 + dice.below(4000))
		free()
	},
	async "cut off a node"(place, dice) {
		const how = dice.one(["silent", "down"])
		place.far.cut(how)
		await pause(500 + dice.below(8000))
		place.far.mend()
		return how
	},
	async "kill a far agent or driver"(place, dice) {
		const name = dice.one(["far-node", "far-driver"]), program = place.programs.get(name)
		await program.kill()
		await pause(dice.below(2000))
		program.begin()
		return name
	},
	async "kill the supervisor"(place) {
		const up = place.programs.get("up")
		await up.kill()
		up.begin()
		await place.ready()
	},
}

const storeFaults = {
	async "kill etcd"(place, dice) {
		await place.etcd.kill()
		await pause(dice.below(3000))
		place.etcd.begin()
	},
	async "stop etcd"(place, dice) {
		await hang(place.etcd.pid, 500 + dice.below(6000))
	},
	async "cut off etcd"(place, dice) {
		const how = dice.one(["silent", "down"])
		place.depot.cut(how)
		await pause(500 + dice.below(6000))
		place.depot.mend()
		return how
	},
}

// A repeatable choice: xorshift on 32 bits.
export class Dice {
	constructor(seed) {
		this.x = (seed >>> 0) || 1
	}

	below(n) {
		this.x ^= this.x << 13
		this.x ^= this.x >>> 17
		this.x ^= this.x << 5
		return (this.x >>> 0) % n
	}

	one(list) {
		return list[this.below(list.length)]
	}
}

// Faults of one group are not done at the same time; a supervisor cannot be started on a full disk.
const groups = { "fill the disk": "disk", "kill the supervisor": "disk" }

// Two at a time, until `over` says so. Calls `tell` with each; returns how many of each kind there were.
export async function harm(place, dice, over, tell) {
	const all = place.etcd ? { ...faults, ...storeFaults } : faults
	const counts = {}, busy = new Set()
	const lane = async () => {
		while (!over()) {
			const name = dice.one(Object.keys(all).filter((n) => !busy.has(groups[n] ?? n)))
			const begun = Date.now()
			busy.add(groups[name] ?? name)
			const what = await all[name](place, dice)
			busy.delete(groups[name] ?? name)
			counts[name] = (counts[name] ?? 0) + 1
			tell(`${name}${what ? ` (${what})` : ""}, ${Date.now() - begun} ms`)
			await pause(200 + dice.below(1500))
		}
	}
	await Promise.all([lane(), lane()])
	return counts
}
