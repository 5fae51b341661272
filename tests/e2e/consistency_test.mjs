// The short form of tests/consistency: its checker finds every kind of violation, and finds none in half a minute of faults on each setup.
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { check } from "../consistency/check.mjs"
import { concurrent, controls } from "../consistency/controls.mjs"
import { devplane, finish, scratch, test } from "./lib.mjs"

const seconds = Number(process.env.CONSISTENCY_SECONDS ?? 25)
const violations = ({ plan, records }) => check(plan, records).violations.map(({ kind, text }) => ({ kind, text }))

for (const [name, story, wanted] of controls()) {
	await test(`${wanted.length ? "found" : "not objected to"}: ${name}`, async () => {
		const found = violations(story), kinds = found.map(({ kind }) => kind)
		if (wanted.length === 0)
			assert.deepEqual(found, [])
		for (const kind of wanted)
			assert.ok(kinds.includes(kind), `"${kind}" is not among ${JSON.stringify(found)}`)
	})
}

await test("not objected to: clients at the same time, whose answers are lost now and then", async () => {
	for (let seed = 1; seed <= 100; seed++)
		assert.deepEqual(violations(concurrent(seed)), [], `seed ${seed}`)
})

await test("found: a read of an old value among clients at the same time", async () => {
	for (let seed = 1; seed <= 50; seed++) {
		const story = concurrent(seed)
		const reads = story.records.filter(({ f, k, o }) => f === "get" && k === "z" && o === 200)
		const old = reads[0], last = reads.at(-1)
		assert.ok(last.r > old.r)
		Object.assign(last, { r: old.r, u: old.u, x: old.x })
		assert.ok(violations(story).some(({ kind }) => kind === "not linearizable"), `seed ${seed}`)
	}
})

// Runs the whole test in processes of its own; resolves to its exit status and what it said.
function consistency(...args) {
	const child = spawn(new URL("../consistency/run", import.meta.url).pathname, [devplane, ...args], {
		stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, TMPDIR: scratch },
	})
	let text = ""
	child.stdout.on("data", (data) => (text += data))
	child.stderr.on("data", (data) => (text += data))
	return new Promise((resolve) => child.on("close", (code) => resolve({ code, text })))
}

for (const setup of (process.env.BACKENDS ?? "lmdb,etcd").split(",")) {
	await test(`${setup}: no violation in ${seconds} s of kills, pauses and cuts`, async () => {
		const { code, text } = await consistency("--setup", setup, "--seconds", String(seconds), "--clients", "40", "--faults", "kill,pause,cut", "--verbose")
		assert.equal(code, 0, text)
		console.log(text.replace(/^(# )?/gm, "# "))
	}, 280)
}
finish()
