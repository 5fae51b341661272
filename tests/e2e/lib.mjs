// Shared by all *_test.mjs: results as TAP, processes, and waiting without fixed sleeps.
//
//	await test("the server answers", async () => { assert.equal(await ask(), 42) })
//	finish()
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"

export const devplane = process.env.DEVPLANE
export const scratch = process.env.TMP

// For `devplane controller` in tests whose nodes send no heartbeats, or do not exist: neither they nor their pods are harmed.
export const bareNodesLive = ["--controllers", "*,-node-lifecycle-controller,-taint-eviction-controller,-pod-garbage-collector-controller"]

// For looking into one test: those whose name does not match are left out.
const only = new RegExp(process.env.ONLY ?? "")

let cases = 0
let failed = 0
const running = new Set()
const started = []

// A test that hangs is a failed test, not a hanging suite.
export async function test(name, body, seconds = 120) {
	if (!only.test(name))
		return
	let timer
	const late = new Promise((_, reject) => {
		timer = setTimeout(() => reject(new Error(`took longer than ${seconds} s`)), seconds * 1000)
	})
	cases++
	try {
		await Promise.race([body(), late])
		console.log(`ok ${cases} - ${name}`)
	} catch (e) {
		failed++
		console.log(`not ok ${cases} - ${name}`)
		console.log(String(e?.stack ?? e).replace(/^/gm, "#   "))
		for (const { pid, err } of started.filter(({ err }) => err))
			console.log(`process ${pid} said:\n${err.slice(-8000)}`.replace(/^/gm, "#   "))
	} finally {
		clearTimeout(timer)
	}
}

// Prints the plan and ends everything.
export function finish() {
	console.log(`1..${cases}`)
	for (const child of running)
		child.kill("SIGKILL")
	process.exit(failed ? 1 : 0)
}

// Starts devplane. `lines` grows with its standard output; `ended` is its exit.
export const start = (...args) => startProgram(devplane, ...args)

// Another build of devplane.
export function startProgram(program, ...args) {
	const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] })
	const self = { child, pid: child.pid, lines: [], err: "", out: "" }
	running.add(child)
	started.push(self)
	child.stdout.on("data", (data) => {
		self.out += data
		self.lines = self.out.split("\n").slice(0, -1)
	})
	child.stderr.on("data", (data) => (self.err += data))
	self.ended = new Promise((resolve) =>
		child.on("close", (code, signal) => {
			running.delete(child)
			resolve({ code, signal })
		}))
	return self
}

// Calls `look` until it returns something true, and returns that.
export async function until(what, look, seconds = 20) {
	const end = Date.now() + seconds * 1000
	for (;;) {
		const found = await look()
		if (found)
			return found
		assert.ok(Date.now() < end, `no ${what} within ${seconds} s`)
		await new Promise((resolve) => setTimeout(resolve, 5))
	}
}

// Sanitizers keep freed memory for a while, so figures of it mean nothing under them.
export const sanitized = /__[at]san_init/.test(readFileSync(devplane, "latin1"))

// Fails when the process has used more than so many MiB more than `before` (peakMemory's).
export function assertGrowth(pid, before, mib) {
	const grown = Math.round((peakMemory(pid) - before) / 1024)
	assert.ok(sanitized || grown < mib, `it grew by ${grown} MiB`)
}

// The most memory that the process has used so far, in KiB.
export function peakMemory(pid) {
	return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`))[1])
}

// The memory that the process uses now, in KiB.
export function residentMemory(pid) {
	return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`))[1])
}
