// The documentation: every command of every page is run, and its output compared with what the page shows; what pages say of flags,
// commands, files, metrics and each other is checked. docs_lib.mjs says how pages are written.
//
//	ONLY=availability tests/e2e/run build/devplane docs      one page
//	DOCS_RECORD=1 ..                                         writes real output in place of "??"
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, symlinkSync, rmSync } from "node:fs"
import { checkout, commandsOf, readPage, recording, runPage, writeRecorded } from "./docs_lib.mjs"
import { open, scenes } from "./docs_scenes.mjs"
import { devplane, finish, scratch, test } from "./lib.mjs"

const files = ["README.md", ...readdirSync(`${checkout}/docs`).filter((f) => f.endsWith(".md")).map((f) => `docs/${f}`)]
const pages = files.map(readPage)
const blocks = pages.flatMap((page) => page.blocks.map((block) => ({ page, block, where: `${page.file}:${block.line}` })))

// An installation, as `make install` makes it, with the program under test.
const local = `${scratch}/local`
execFileSync(`${checkout}/scripts/install`, [local, "/usr/local"])
for (const name of ["devplane"]) {
	rmSync(`${local}/bin/${name}`)
	symlinkSync(`/run/build/${devplane.split("/").at(-1)}`, `${local}/bin/${name}`)
}
try {
	const kubectl = execFileSync(`${checkout}/scripts/kubectl`, [`${devplane.replace(/\/[^/]*$/, "")}/kubectl`], { encoding: "utf8" }).trim()
	symlinkSync(kubectl.replace(devplane.replace(/\/[^/]*$/, ""), "/run/build"), `${local}/bin/kubectl`)
} catch (e) {
	console.log(`# no current kubectl: ${e.message}`)
}

// --- how pages are written -----------------------------------------------------------------------------------------

await test("commands stand in console blocks", async () => {
	const wrong = blocks.filter(({ block }) => block.language !== "console" && !block.title && (block.lines.some((l) => l.startsWith("$ "))
		|| (block.language === "" && block.lines.some((l) => /^(devplane|kubectl|make|cc|curl|openssl) /.test(l)))))
	assert.deepEqual(wrong.map(({ where }) => where), [])
	const indented = pages.flatMap((page) => page.text.replace(/```[\s\S]*?```/g, "").split("\n").filter((l) => /^ {4}(\$ )?(devplane|kubectl|curl) /.test(l)).map((l) => `${page.file}: ${l}`))
	assert.deepEqual(indented, [])
})

await test("each page with commands has a scene", async () => {
	const without = pages.filter((p) => p.blocks.some((b) => b.language === "console" && b.notRun === undefined) && !Object.hasOwn(scenes, p.scene ?? ""))
	assert.deepEqual(without.map((p) => `${p.file}: ${p.scene}`), [])
})

// --- the commands ---------------------------------------------------------------------------------------------------

const queue = pages.filter((p) => p.scene)

async function runWhole(page) {
	const terminal = await open(scratch, local, page.scene)
	try {
		return await runPage(page, terminal)
	} finally {
		await terminal.close()
		if (recording)
			writeRecorded(page)
	}
}

// Two pages at a time: most of the time they wait.
const results = new Map()
const running = new Set()
const only = new RegExp(process.env.ONLY ?? "")
const title = (page) => `${page.file}: what its commands print is what it shows`
for (const page of queue.filter((p) => only.test(title(p)))) {
	const one = runWhole(page).then((n) => ({ n }), (error) => ({ error }))
	results.set(page, one)
	const tracked = one.then(() => running.delete(tracked))
	running.add(tracked)
	if (running.size >= Number(process.env.DOCS_JOBS ?? 3))
		await Promise.race(running)
}
let count = 0
for (const page of queue)
	await test(title(page), async () => {
		const { n, error } = await results.get(page)
		if (error)
			throw error
		count += n
	}, 300)
console.log(`# ${count} commands were run`)

for (const { block, where } of blocks.filter(({ block }) => block.notRun !== undefined))
	console.log(`# not run: ${where}: ${block.notRun}`)

finish()
