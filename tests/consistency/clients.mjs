// A process with some of the clients. It gets { servers, credentials, clients: [{ id, home, work, n, seed }] } and then a plan for
// each epoch, and answers { ended: epoch, remarks, counts } when its clients have returned.
import { createWriteStream } from "node:fs"
import { Dice } from "../drill/faults.mjs"
import { Connection, now, pause } from "./connection.mjs"
import { Actor, workloads } from "./workloads.mjs"

let setting
const stop = () => process.exit(0)

// One line for each operation, in a file of this process.
class Ledger {
	constructor(file) {
		this.out = createWriteStream(file)
		this.counts = { ok: 0, refused: 0, unknown: 0 }
		this.remarks = {}
	}

	record = (line) => {
		this.counts[line.b === null ? "unknown" : line.f === "list" || line.o < 300 ? "ok" : "refused"]++
		this.out.write(`${JSON.stringify(line)}\n`)
		return line
	}

	// Answers other than success, counted by their text.
	remark = (f, code, text) => {
		const brief = text.replace(/"[^"]*"/g, "\"..\"").replace(/\d+/g, "N").slice(0, 200)
		const key = `${f} ${code} ${brief}`
		this.remarks[key] = (this.remarks[key] ?? 0) + 1
	}

	close() {
		return new Promise((resolve) => this.out.end(resolve))
	}
}

async function epoch(plan) {
	const ledger = new Ledger(`${plan.folder}/ops-${setting.name}.ndjson`)
	await pause(Math.max(0, (plan.start - now()) / 1000))
	const over = () => now() >= plan.start + plan.length
	await Promise.all(setting.clients.map(async ({ id, home, work, n, connection, dice }) => {
		connection.at = home % setting.servers.length
		const actor = new Actor(id, connection, dice, ledger.record, ledger.remark)
		await workloads[work][0](actor, plan, over, n)
	}))
	await ledger.close()
	process.send({ ended: plan.epoch, remarks: ledger.remarks, counts: ledger.counts })
}

let turn = Promise.resolve()
process.on("disconnect", stop)
process.on("message", (message) => {
	if (message.stop)
		stop()
	if (message.setting) {
		setting = message.setting
		for (const client of setting.clients) {
			client.connection = new Connection(setting.servers, client.home, setting.credentials)
			client.dice = new Dice(client.seed)
		}
	}
	if (message.plan)
		turn = turn.then(() => epoch(message.plan))
})
process.on("unhandledRejection", (error) => {
	process.send({ broken: String(error?.stack ?? error) })
})
