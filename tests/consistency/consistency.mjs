// The consistency test: clients, faults and a checker, for so many seconds on each setup. See --help.
import { fork } from "node:child_process"
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { Dice } from "../drill/faults.mjs"
import { now, pause } from "./connection.mjs"
import { clear, conclude, prepare, Steward } from "./epochs.mjs"
import { kindsOfFault, namesOfFaults, Nemesis } from "./nemesis.mjs"
import { options } from "./options.mjs"
import { Outages } from "./outages.mjs"
import { workloads } from "./workloads.mjs"
import { hasClocks, World } from "./world.mjs"

const PROCESSES = 3
const SHOWN = 3 // violations of one kind that are shown in full
const KEPT = 5 // epochs with violations whose history is kept

const here = new URL(".", import.meta.url).pathname
const began = Date.now()

function tell(text) {
	console.log(`# ${((Date.now() - began) / 1000).toFixed(1).padStart(7)} s  ${text}`)
}

// A process of the test that answers messages. Waits for an answer by its name: await worker.answer("settled", 3).
class Worker {
	constructor(script, onMessage = () => {}) {
		this.waiting = new Map()
		this.child = fork(`${here}${script}`, { execArgv: ["--max-old-space-size=1500", "--stack-size=4000"] })
		this.child.on("message", (message) => {
			for (const name of ["ended", "settled", "checked"]) {
				const key = `${name} ${message[name]}`
				this.waiting.get(key)?.(message)
				this.waiting.delete(key)
			}
			onMessage(message)
		})
		this.child.on("exit", (code, signal) => onMessage({ broken: `${script} ended: ${code ?? signal}` }))
	}

	send(message) {
		this.child.send(message)
	}

	answer(name, epoch) {
		return new Promise((resolve) => this.waiting.set(`${name} ${epoch}`, resolve))
	}

	end() {
		this.child.removeAllListeners("exit")
		this.child.kill("SIGKILL")
	}
}

// One run on one setup.
class Run {
	constructor(setup, { seconds, epoch, seed, faults, work, clients, folder, isolated }) {
		Object.assign(this, { setup, seconds, seed, work, folder: `${folder}/${setup}`, epochUs: Math.min(epoch, seconds) * 1e6 })
		Object.assign(this, { violations: [], remarks: {}, counts: { ok: 0, refused: 0, unknown: 0 }, stats: {}, kept: [], checks: Promise.resolve() })
		mkdirSync(this.folder, { recursive: true })
		this.world = new World(setup, this.folder, { isolated, clocks: faults.includes("clock"), tell })
		this.dice = new Dice(seed)
		this.clientCount = clients
		this.kinds = faults
	}

	async open() {
		await this.world.open()
		const servers = this.world.servers.map(({ url }) => url)
		const setting = { servers, credentials: this.world.credentials }
		this.steward = new Steward(servers, setting.credentials)
		this.outages = new Outages(servers.length)
		for (const [n] of servers.entries())
			await this.steward.insist("POST", "/api/v1/namespaces/default/configmaps", { metadata: { name: `probe-${n}` }, data: { v: "0" } })
		const hear = (message) => {
			if (message.broken)
				this.broken ??= message.broken
			if (message.probe !== undefined)
				this.outages.add(message)
			for (const [key, n] of Object.entries(message.counts ?? {}))
				this.counts[key] += n
		}
		this.observer = new Worker("observer.mjs", hear)
		this.observer.send({ setting })
		this.checker = new Worker("checker.mjs", hear)
		this.workers = this.crew(setting).map((part) => {
			const worker = new Worker("clients.mjs", hear)
			worker.send({ setting: part })
			return worker
		})
	}

	// Deals the clients to workloads, servers and processes.
	crew(setting) {
		const total = this.work.reduce((sum, name) => sum + workloads[name][1], 0)
		const parts = Array.from({ length: PROCESSES }, (_, i) => ({ ...setting, name: String(i), clients: [] }))
		let id = 0
		for (const name of this.work) {
			const many = Math.max(2, Math.round(workloads[name][1] * this.clientCount / total))
			// Clients of one object are at different servers: neighbours share it.
			for (let n = 0; n < many; n++, id++)
				parts[id % PROCESSES].clients.push({ id: `p${id}`, home: Math.floor(n / 4) + n, work: name, n, seed: this.seed * 1000 + id + 1 })
		}
		return parts
	}

	async epochs(end) {
		let plan = await this.plan(1)
		const closing = []
		for (let epoch = 1; plan; epoch++) {
			plan.start = Math.max(now() + 100000, plan.after ?? 0)
			plan.length = Math.max(5e6, Math.min(this.epochUs, end - plan.start))
			const over = plan.start + plan.length
			const returned = this.workers.map((worker) => worker.answer("ended", epoch))
			for (const worker of [this.observer, ...this.workers])
				worker.send({ plan })
			closing.push(this.close(plan, returned).catch((error) => (this.broken ??= String(error?.stack ?? error))))
			const next = over < end - 5e6 && !this.broken ? await this.plan(epoch + 1) : undefined
			if (next)
				next.after = over
			while (now() < over - 200000 && !this.broken)
				await pause(50)
			plan = this.broken ? undefined : next
		}
		await Promise.race([Promise.all(closing), this.failure()])
		await this.checks
	}

	// Resolves when a process of the test itself has failed.
	async failure() {
		while (!this.broken)
			await pause(200)
	}

	plan(epoch) {
		return prepare(this.steward, epoch, this.folder, this.world.servers.length, this.work)
	}

	// The end of an epoch: when its clients have returned, the last writes; when watchers have seen them, the check.
	async close(plan, returned) {
		for (const { remarks } of await Promise.all(returned)) {
			for (const [key, n] of Object.entries(remarks))
				this.remarks[key] = (this.remarks[key] ?? 0) + n
		}
		const versions = await conclude(new Steward(this.steward.connection.servers, this.world.credentials), plan, this.world.servers.length)
		const settled = this.observer.answer("settled", plan.epoch)
		this.observer.send({ final: plan.epoch, versions })
		plan.late = (await settled).late
		this.checks = this.checks.then(() => this.check(plan))
		await this.checks
		await clear(this.steward, plan)
	}

	async check(plan) {
		const checked = this.checker.answer("checked", plan.epoch)
		this.checker.send({ plan })
		const { violations, stats, broken } = await checked
		if (broken)
			throw new Error(broken)
		for (const [key, n] of Object.entries(stats))
			this.stats[key] = (this.stats[key] ?? 0) + n
		if (violations.length) {
			this.report(plan, violations)
			writeFileSync(`${plan.folder}/plan.json`, JSON.stringify(plan))
		}
		if (violations.length && this.kept.length < KEPT)
			this.kept.push(plan.folder)
		else if (!this.keep)
			rmSync(plan.folder, { recursive: true })
	}

	// Shows the first violations of each kind; all are in a file.
	report(plan, violations) {
		for (const violation of violations) {
			const text = [`epoch ${plan.epoch}: ${violation.kind}: ${violation.text}`, ...violation.lines.map((line) => `    ${JSON.stringify(line)}`)]
			const known = this.violations.filter(({ kind }) => kind === violation.kind).length
			if (known < SHOWN)
				text.forEach((line) => tell(`VIOLATION ${line}`))
			appendFileSync(`${this.folder}/violations.txt`, `${text.join("\n")}\n`)
			this.violations.push({ kind: violation.kind, at: Date.now() - this.began })
		}
	}

	progress() {
		const { ok, refused, unknown } = this.counts
		tell(`${this.setup}: ${ok} operations succeeded, ${refused} refused, ${unknown} unknown; ${this.nemesis.done.length} faults; ` +
			`${this.stats.objects ?? 0} objects checked; ${this.violations.length} violations; ${Math.round(process.memoryUsage().rss / 1048576)} MiB`)
	}

	async go() {
		await this.outages.begun()
		this.began = Date.now()
		const end = now() + this.seconds * 1e6
		this.nemesis = new Nemesis(this.world, this.dice, this.kinds)
		const timer = setInterval(() => this.progress(), 30000)
		const faults = this.nemesis.run(() => now() > end - 2e6 || this.broken, (fault) => this.outages.recovered(fault), (text) => this.verbose && tell(text))
		await this.epochs(end)
		await faults
		clearInterval(timer)
		this.progress()
	}

	summary() {
		const faults = {}, kinds = {}
		for (const { name } of this.nemesis?.done ?? [])
			faults[name] = (faults[name] ?? 0) + 1
		for (const { kind } of this.violations)
			kinds[kind] = (kinds[kind] ?? 0) + 1
		const first = this.violations.length ? Math.round(Math.min(...this.violations.map(({ at }) => at)) / 1000) : undefined
		const ends = this.world.machines.flatMap(({ name, ends: those }) => those.map(({ code, signal, full }) => `${name} ${code ?? signal}${full ? " (disk full)" : ""}`))
		return { setup: this.setup, seed: this.seed, seconds: this.seconds, operations: this.counts, checked: this.stats, faults, violations: kinds,
			"first violation after, s": first, hung: this.outages?.hung ?? [], "ended by themselves": ends, broken: this.broken }
	}

	async end() {
		for (const worker of [this.observer, this.checker, ...(this.workers ?? [])])
			worker?.end()
		await this.world.close()
	}
}

function show(run) {
	const summary = run.summary()
	console.log(`\n${run.setup}: ${JSON.stringify(summary, null, 2)}`)
	const remarks = Object.entries(run.remarks).sort(([, p], [, q]) => q - p)
	console.log(`\nanswers other than success:\n${remarks.map(([text, n]) => `  ${String(n).padStart(7)}  ${text}`).join("\n")}`)
	console.log(`\nunavailability:\n${run.outages?.table() ?? ""}\n`)
	writeFileSync(`${run.folder}/summary.json`, JSON.stringify({ ...summary, remarks: run.remarks }, null, 2))
	writeFileSync(`${run.folder}/unavailability.md`, `${run.outages?.table() ?? ""}\n`)
}

async function main() {
	const settings = options(process.argv.slice(2), { faults: kindsOfFault, names: namesOfFaults, work: Object.keys(workloads) })
	let bad = false
	for (const setup of settings.setups) {
		const run = new Run(setup, settings)
		Object.assign(run, { keep: settings.keep, verbose: settings.verbose })
		tell(`${setup}: ${settings.seconds} s, --seed ${settings.seed}, faults ${settings.faults.join(",")}${settings.isolated ? "" : " (kill and pause only: not root)"}` +
			`${settings.faults.includes("clock") && !hasClocks ? ", no clocks without libfaketime" : ""}; ${settings.work.join(",")}`)
		try {
			await run.open()
			await run.go()
		} catch (error) {
			run.broken ??= String(error?.stack ?? error)
		}
		show(run)
		await run.end()
		const ill = run.violations.length || run.broken || run.outages?.hung.length
		bad ||= Boolean(ill)
		if (ill || settings.keep)
			console.log(`logs, violations and histories are kept in ${run.folder}`)
		else
			rmSync(run.folder, { recursive: true })
	}
	process.exit(bad ? 1 : 0)
}

for (const signal of ["SIGTERM", "SIGINT"])
	process.on(signal, () => process.exit(130))
main()
