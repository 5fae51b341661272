// The soak: a friendly tenant at a fixed, modest rate, first alone and then together with hostile tenants, on real processes. At the
// end the friendly one's 99th percentiles are compared, and the memory, descriptors and store of the server must be flat and go back.
//
// The hostile clients run with nice and send at bounded rates, so that they do not take the processors by themselves: the question
// is what the server does with what they send.
import { fork } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { constants, setPriority } from "node:os"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { until } from "../e2e/lib.mjs"
import { names } from "./soak_attacks.mjs"
import { Gauges } from "./soak_gauges.mjs"
import { openPlace } from "./soak_place.mjs"
import { condense, judge, percentile, printReport } from "./soak_report.mjs"

const usage = `usage: tests/drill/soak SECONDS [OPTION ..]

Measures a friendly tenant alone for a tenth of the time, then together with hostile tenants, then without them and idle.
Exits with 1 if a bound is broken.

  --setup lmdb|etcd   where the server keeps its objects (default lmdb)
  --attacks A,B       only these attacks (default all): ${names.join(", ")}
  --times N           most that a p99 may grow by, as a factor (default 3)
  --floor MS          p99s below this count as this much (default 5): less is the scheduling of processes, not the server
  --output FILE       the result as JSON (default out/soak-SETUP.json)
  --control           negative control: the server runs without flow control, limits on requests, history and time; bounds break
  --help              this text
`

function readOptions(argv) {
	const o = { setup: "lmdb", attacks: names, times: 3, floor: 5, control: false }
	const values = { setup: String, times: Number, floor: Number, output: String, attacks: (text) => text.split(",") }
	for (let i = 0; i < argv.length; i++) {
		const [, name, inline] = /^--([a-z]+)(?:=(.*))?$/.exec(argv[i]) ?? []
		if (name === "help") {
			console.log(usage)
			process.exit(0)
		} else if (name === "control") {
			o.control = true
		} else if (values[name]) {
			o[name] = values[name](inline ?? argv[++i] ?? "")
		} else {
			o.seconds = Number(argv[i])
		}
	}
	const unknown = o.attacks.filter((a) => !names.includes(a))
	if (!(o.seconds >= 20) || !(o.times > 0) || !(o.floor >= 0) || !["lmdb", "etcd"].includes(o.setup) || unknown.length) {
		console.error(`${unknown.length ? `unknown attacks: ${unknown}` : "SECONDS is a number from 20"}\n\n${usage}`)
		process.exit(2)
	}
	o.output ??= `out/soak-${o.setup}.json`
	return o
}

// How long each part takes. Memory is given back by a timer of the server, so being idle has a minimum.
function plan(seconds) {
	const alone = Math.max(5, seconds / 10), after = Math.max(5, seconds / 20), idle = Math.max(15, seconds / 20)
	return { alone, together: Math.max(5, seconds - alone - after - idle), after, idle }
}

// A process of ours that is asked by messages: ask("begin", ..) resolves to its answer.
class Part {
	constructor(file, nice) {
		this.child = fork(fileURLToPath(new URL(file, import.meta.url)))
		setPriority(this.child.pid, nice)
		this.child.on("exit", (code) => {
			this.ended = `${file} ended with ${code}`
			this.onAnswer?.({ error: this.ended })
		})
		this.child.on("message", (message) => this.onAnswer(message))
	}

	async ask(action, value) {
		const answered = new Promise((resolve) => (this.onAnswer = resolve))
		if (this.ended)
			throw new Error(this.ended)
		this.child.send({ action, value })
		const answer = await answered
		if (answer.error)
			throw new Error(answer.error)
		return answer.value
	}

	// With it go all its connections.
	end() {
		this.left = true
		this.child.kill("SIGKILL")
	}
}

const began = Date.now()
const tell = (text) => console.log(`${((Date.now() - began) / 1000).toFixed(0).padStart(6)} s  ${text}`)

async function progress(phase, friendly, hostile, gauges) {
	const { all } = await friendly.ask("look")
	if (!hostile.left)
		hostile.counts = await hostile.ask("counts")
	const refused = Object.values(hostile.counts).reduce((sum, c) => sum + c.refused, 0)
	const { anon, fds, store } = gauges.last
	tell(`${phase.padEnd(9)} ${String(all.length).padStart(6)} requests, p99 ${percentile(all, 99).toFixed(1).padStart(7)} ms; ` +
		`memory ${anon.toFixed(0).padStart(5)} MiB, ${String(fds).padStart(5)} fds, store ${store.toFixed(0).padStart(5)} MiB; ${refused} refused`)
}

// Lasts for so long, with a line every 10 s.
async function last(phase, seconds, friendly, hostile, gauges) {
	const end = Date.now() + seconds * 1000
	gauges.phase = phase
	await friendly.ask("phase", phase)
	while (Date.now() < end) {
		await new Promise((resolve) => setTimeout(resolve, Math.min(10000, end - Date.now())))
		await progress(phase, friendly, hostile, gauges)
	}
}

async function soak(o, place, gauges) {
	const friendly = new Part("soak_friendly.mjs", constants.priority.PRIORITY_NORMAL)
	const hostile = new Part("soak_hostile.mjs", constants.priority.PRIORITY_LOW)
	const times = plan(o.seconds)
	try {
		await friendly.ask("begin", place.tenant("friendly"))
		await hostile.ask("prepare", { attacks: o.attacks, tenants: Object.fromEntries(o.attacks.map((a) => [a, place.tenant(a)])) })
		await last("warm-up", 5, friendly, hostile, gauges)
		await last("alone", times.alone, friendly, hostile, gauges)
		await hostile.ask("begin")
		await last("together", times.together, friendly, hostile, gauges)
		hostile.end()
		await last("after", times.after, friendly, hostile, gauges)
		await friendly.ask("pause")
		await last("idle", times.idle, friendly, hostile, gauges)
		return { attacks: hostile.counts, ...(await friendly.ask("results")) }
	} finally {
		friendly.end()
		hostile.end()
	}
}

for (const signal of ["SIGINT", "SIGTERM"])
	process.on(signal, () => process.exit(1))
const options = readOptions(process.argv.slice(2))
const place = await openPlace(options)
tell(`${options.setup}: ${options.seconds} s; attacks: ${options.attacks.join(", ")}${options.control ? "; control: budgets are off" : ""}`)
const gauges = new Gauges(place)
await until("the first sample", () => gauges.last)
let code = 1
try {
	const measured = await soak(options, place, gauges)
	const result = { options, plan: plan(options.seconds), measured, gauges: gauges.summary(), attempts: await place.attempts(), troubles: place.troubles(), alive: place.alive() }
	const bounds = judge(result)
	printReport(result, bounds)
	mkdirSync(dirname(options.output), { recursive: true })
	writeFileSync(options.output, `${JSON.stringify(condense(result, bounds, gauges.samples), null, 1)}\n`)
	console.log(`\nresult in ${options.output}`)
	code = bounds.every((b) => b.kept) ? 0 : 1
} catch (error) {
	console.error(error)
	console.error(place.logs())
} finally {
	gauges.end()
	await place.close()
}
process.exit(code)
