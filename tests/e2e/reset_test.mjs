// `devplane reset`: removes what `devplane up` left in its folder, and nothing else.
import assert from "node:assert/strict"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs"
import { finish, test } from "./lib.mjs"
import { Cluster, run } from "./up_lib.mjs"

const c = await new Cluster().begin("--demo")
const reset = (...args) => run("reset", "--data-dir", c.folder, ...args)

await test("a cluster that runs is not reset", async () => {
	const { code, err } = await reset("--yes")
	assert.deepEqual([code, /devplane runs in .*: stop it with `devplane down` first/.test(err)], [1, true], err)
	await c.stop()
})

await test("a dry run lists everything and removes nothing", async () => {
	const before = readdirSync(c.folder)
	const { code, out } = await reset("--dry-run")
	assert.equal(code, 0)
	for (const name of ["nodes", "store", "pki", "log", "admin.kubeconfig", "up.lock"])
		assert.ok(out.includes(`data    ${c.folder}/${name}\n`), out)
	assert.deepEqual(readdirSync(c.folder), before)
})

await test("without a terminal it needs --yes", async () => {
	const { code, err } = await reset()
	assert.deepEqual([code, /write --yes/.test(err)], [2, true], err)
	assert.ok(existsSync(`${c.folder}/store`))
})

await test("files that are not devplane's are kept", async () => {
	writeFileSync(`${c.folder}/mine`, "x")
	const { code, out } = await reset("--yes")
	assert.deepEqual([code, /^\(kept\) +mine$/m.test(out)], [0, true], out)
	assert.deepEqual(readdirSync(c.folder), ["mine"])
})

await test("another folder is refused, and a missing one is nothing to do", async () => {
	const folder = mkdtempSync(`${process.env.TMP}/other-`)
	mkdirSync(`${folder}/log`)
	const other = await run("reset", "--data-dir", folder, "--yes")
	assert.deepEqual([other.code, /is not a folder of `devplane up`/.test(other.err)], [1, true], other.err)
	assert.deepEqual(readdirSync(folder), ["log"])
	const none = await run("reset", "--data-dir", `${folder}/none`)
	assert.deepEqual([none.code, none.out], [0, `there is nothing in ${folder}/none\n`])
})

finish()
