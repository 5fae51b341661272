// A process with some of the clients. It gets { servers, credentials, clients: [{ id, home, work, n, seed }] } and then a plan for
// each epoch, and answers { ended: epoch, remarks } when its clients have returned. Meanwhile it reports { counts } of operations.
import { createWriteStream } from "node:fs"
import { Dice } from "../drill/faults.mjs"
import { Connection, now, pause } from "./connection.mjs"
import { Actor, workloads } from "./workloads.mjs"

const COUNTS_MS = 2000

let setting
const stop = () => process.exit(0)

// One line for each operation, in a file of this process.
class Ledger {
	constructor(file) {
		this.out = createWriteStream(file)
		this.remarks = {}
		this.report()
		this.timer = setInterval(() => this.report(), COUNTS_MS)
	}

	report() {
		if (this.counts)
			process.send({ counts: this.counts })
		this.counts = { ok: 0, refused: 0, unknown: 0 }
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
		clearInterval(this.timer)
		this.report()
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
	process.send({ ended: plan.epoch, remarks: ledger.remarks })
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
