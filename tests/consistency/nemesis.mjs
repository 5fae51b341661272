// The faults. Each does its harm to some machines, waits, and makes it good again.
import { now, pause } from "./connection.mjs"

// One occurrence: { name, hit, from, healed }. `hit` are servers that cannot serve while it lasts, `from` and `healed` are times.
class Harm {
	constructor(world, dice) {
		Object.assign(this, { world, dice, hit: [] })
	}

	server() {
		const server = this.dice.one(this.world.servers)
		this.hit = [server]
		return server
	}

	all() {
		this.hit = this.world.servers
		return this.hit
	}

	async leader() {
		return (await this.world.leader()) ?? this.dice.one(this.world.members)
	}

	async follower() {
		const leader = await this.leader()
		return this.dice.one(this.world.members.filter((member) => member !== leader))
	}

	async majority() {
		const leader = await this.leader()
		this.all()
		return [leader, this.dice.one(this.world.members.filter((member) => member !== leader))]
	}

	wait(least, most) {
		return pause(least + this.dice.below(most - least))
	}
}

async function kill(harm, machines) {
	await Promise.all(machines.map((machine) => machine.kill()))
	await harm.wait(100, 3000)
	return () => machines.forEach((machine) => machine.begin())
}

async function stop(harm, machines) {
	machines.forEach((machine) => machine.stop())
	await harm.wait(300, 7000)
	return () => machines.forEach((machine) => machine.resume())
}

async function cut(harm, machines, how = harm.dice.one(["silent", "down"])) {
	machines.forEach((machine) => machine.cut(how))
	harm.note = `${machines.map(({ name }) => name)} ${how}`
	await harm.wait(500, 7000)
	return () => machines.forEach((machine) => machine.mend())
}

// Cuts machines off some others only, both ways.
async function part(harm, ones, others) {
	const ip = (machines) => machines.map((machine) => machine.ip)
	ones.forEach((machine) => machine.cut("silent", ip(others)))
	others.forEach((machine) => machine.cut("silent", ip(ones)))
	await harm.wait(500, 7000)
	return () => [...ones, ...others].forEach((machine) => machine.mend())
}

async function fill(harm, machine) {
	machine.fill()
	await harm.wait(500, 5000)
	return () => machine.empty()
}

async function clock(harm, server) {
	const seconds = harm.dice.one([1, 10, 60, 200]) * harm.dice.one([1, -1])
	harm.note = `${seconds} s`
	server.clock(seconds)
	await harm.wait(2000, 8000)
	return () => server.clock(0)
}

// Kind: { name: what is done }. Each resolves to what heals it.
const faults = {
	kill: {
		"kill a server": (harm) => kill(harm, [harm.server()]),
		"kill all servers": (harm) => kill(harm, harm.all()),
		"kill an etcd follower": async (harm) => kill(harm, [await harm.follower()]),
		"kill the etcd leader": async (harm) => kill(harm, [await harm.leader()]),
		"kill most of etcd": async (harm) => kill(harm, await harm.majority()),
		"kill all of etcd": (harm) => harm.all() && kill(harm, harm.world.members),
	},
	pause: {
		"pause a server": (harm) => stop(harm, [harm.server()]),
		"pause an etcd follower": async (harm) => stop(harm, [await harm.follower()]),
		"pause the etcd leader": async (harm) => stop(harm, [await harm.leader()]),
		"pause most of etcd": async (harm) => stop(harm, await harm.majority()),
	},
	cut: {
		"cut off a server": (harm) => cut(harm, [harm.server()]),
		"cut a server off etcd": (harm) => part(harm, [harm.server()], harm.world.members),
		"cut off an etcd follower": async (harm) => cut(harm, [await harm.follower()]),
		"cut off the etcd leader": async (harm) => cut(harm, [await harm.leader()]),
		"cut the etcd leader off its peers": async (harm) => {
			const leader = await harm.leader()
			return part(harm, [leader], harm.world.members.filter((member) => member !== leader))
		},
	},
	disk: {
		"fill a server's disk": (harm) => fill(harm, harm.server()),
		"fill an etcd follower's disk": async (harm) => fill(harm, await harm.follower()),
		"fill the etcd leader's disk": async (harm) => fill(harm, await harm.leader()),
	},
	clock: {
		"set a server's clock": (harm) => clock(harm, harm.dice.one(harm.world.servers)),
	},
}

export const kindsOfFault = Object.keys(faults)
export const namesOfFaults = Object.values(faults).flatMap(Object.keys)

// The faults that this world can have, of those wanted by kind or name: [kind, name, what is done].
function possible(world, wanted) {
	return Object.entries(faults).flatMap(([kind, those]) => Object.entries(those).map(([name, how]) => [kind, name, how]))
		.filter(([kind, name]) => wanted.includes(kind) || wanted.includes(name))
		.filter(([kind]) => world.isolated || kind === "kill" || kind === "pause")
		.filter(([kind]) => world.clocks || kind !== "clock")
		.filter(([, name]) => world.members.length || !/etcd|all servers/.test(name))
		// With etcd a server keeps nothing on its disk that it needs while it runs.
		.filter(([, name]) => !world.members.length || name !== "fill a server's disk")
}

// Does faults until `over` says so, one at a time. `tell` gets each when it is healed.
export class Nemesis {
	constructor(world, dice, wanted) {
		Object.assign(this, { world, dice, done: [], choice: possible(world, wanted) })
	}

	async run(over, recovered, tell) {
		while (!over() && this.choice.length) {
			const kind = this.dice.one([...new Set(this.choice.map(([k]) => k))])
			const [, name, how] = this.dice.one(this.choice.filter(([k]) => k === kind))
			const harm = new Harm(this.world, this.dice)
			const fault = { kind, name, from: now() }
			const heal = await how(harm)
			fault.hit = harm.hit.map(({ name: server }) => this.world.servers.findIndex((s) => s.name === server))
			fault.healed = now()
			heal()
			await recovered(fault)
			tell(`${name}${harm.note ? ` (${harm.note})` : ""} for ${((fault.healed - fault.from) / 1e6).toFixed(1)} s; ${fault.cost.join(", ")}`)
			this.done.push(fault)
			await pause(500 + this.dice.below(2500))
		}
	}
}
