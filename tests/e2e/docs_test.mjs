// The documentation: every command of every page is run, and its output compared with what the page shows; what pages say of flags,
// commands, files, metrics and each other is checked. docs_lib.mjs says how pages are written.
//
//	ONLY=availability tests/e2e/run build/devplane docs      one page
//	DOCS_RECORD=1 ..                                         writes real output in place of "??"
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, rmSync, symlinkSync } from "node:fs"
import { checkout, readPage, recording, runPage, writeRecorded } from "./docs_lib.mjs"
import { open, scenes } from "./docs_scenes.mjs"
import { devplane, finish, scratch, test } from "./lib.mjs"

const files = ["README.md", "SECURITY.md", ...readdirSync(`${checkout}/docs`).filter((f) => f.endsWith(".md")).map((f) => `docs/${f}`)]
const pages = files.map(readPage)
const blocks = pages.flatMap((page) => page.blocks.map((block) => ({ page, block, where: `${page.file}:${block.line}` })))

// An installation, as `make install` makes it, with the program under test.
const build = devplane.replace(/\/[^/]*$/, "")
const local = `${scratch}/local`
execFileSync(`${checkout}/scripts/install`, [local, "/usr/local"], { env: { ...process.env, BUILD: build } })
rmSync(`${local}/bin/devplane`)
symlinkSync(`/run/build/${devplane.split("/").at(-1)}`, `${local}/bin/devplane`)

// Why commands cannot be run here, if they cannot: the pages show what a current kubectl prints.
let impossible = process.getuid() === 0 ? "" : "only root can make the sandbox"
try {
	const kubectl = execFileSync(`${checkout}/scripts/kubectl`, [`${build}/kubectl`], { encoding: "utf8", stdio: "pipe" }).trim()
	symlinkSync(kubectl.replace(build, "/run/build"), `${local}/bin/kubectl`)
} catch (e) {
	impossible ||= `a current kubectl cannot be fetched: ${e.stderr}`
}
if (impossible) {
	console.log(`ok 1 - what the documentation's commands print # SKIP ${impossible.replace(/\s+/g, " ")}`)
	console.log("1..1")
	process.exit(0)
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

// Those that take longest first: the others fill the gaps.
const slow = ["network-driver", "attach", "etcd"]
const queue = pages.filter((p) => p.scene).sort((a, b) => slow.includes(b.name) - slow.includes(a.name))

async function runWhole(page) {
	const begin = Date.now()
	const terminal = await open(scratch, local, page.scene)
	try {
		const n = await runPage(page, terminal)
		console.log(`# ${page.file}: ${n} commands in ${Date.now() - begin} ms`)
		return n
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

// --- what pages say -------------------------------------------------------------------------------------------------

const withoutBlocks = (page) => page.text.replace(/^```[^`]*?^```$/gms, "")

// Every command with the text of its help: [{ words: ["driver", "sim"], help }].
function commandsOfProgram(words = []) {
	const help = execFileSync(devplane, words.length ? [...words, "--help"] : ["help"], { encoding: "utf8" })
	const below = words.length < 3 && (words.length === 0 || /^Commands:$/m.test(help))
		? [...help.matchAll(/^ {2}([a-z][a-z-]+) {2,}\S/gm)].map(([, name]) => name) : []
	return [{ words, help }, ...below.flatMap((name) => commandsOfProgram([...words, name]))]
}
const program = commandsOfProgram()

await test("every command is documented", async () => {
	const text = pages.map((p) => p.text).join("\n")
	const names = program.filter(({ words }) => words.length > 0 && words[0] !== "help").map(({ words }) => words)
	// "`devplane get`, `describe`" and "devplane store check|backup" name their commands, too.
	const told = (words) => text.includes(`devplane ${words.join(" ")}`) || new RegExp(`devplane ${words.slice(0, -1).join(" ")}[^\n]*\\b${words.at(-1)}\\b`).test(text)
	assert.deepEqual(names.filter((words) => !told(words)).map((w) => w.join(" ")), [])
})

// Flags of other programs that prose speaks of.
const FOREIGN = /^--(admission-control-config-file|cluster-signing-cert-file|cluster-signing-key-file|manifest-url|service-account-private-key-file|all-containers|authentication-kubeconfig|authorization-kubeconfig|previous|quota-backend-bytes|requestheader-client-ca-file|chunk-size|use-service-account-credentials|cascade|dry-run|server-side|subresource|type|all|no-install-recommends|cflags|libs|static|variable|as-user-extra|watch-cache)$/

await test("every flag that pages name exists", async () => {
	const known = new Set(program.flatMap(({ help }) => help.match(/--[a-z][a-z0-9-]*/g) ?? []))
	const named = pages.flatMap((page) => [...withoutBlocks(page).matchAll(/`([^`\n]*--[^`\n]*)`/g)]
		.filter(([, code]) => !/^(kubectl|curl|etcdctl|cc|apt|promtool|make|e2e\.test|scripts\/[a-z]+|tests\/drill\/soak) /.test(code))
		.flatMap(([, code]) => (code.match(/(?<![\w-])--[a-z][a-z0-9-]*/g) ?? []).map((flag) => ({ file: page.file, flag }))))
	const synopses = blocks.filter(({ block }) => block.language === "text")
		.flatMap(({ page, block }) => (block.lines.join("\n").match(/(?<![\w-])--[a-z][a-z0-9-]*/g) ?? []).map((flag) => ({ file: page.file, flag })))
	assert.ok(named.length > 100 && synopses.length > 10)
	const missing = [...named, ...synopses].filter(({ flag }) => !known.has(flag) && !FOREIGN.test(flag))
	assert.deepEqual(missing.map(({ file, flag }) => `${file}: ${flag}`), [])
})

// GitHub's anchors of headings.
const anchors = (page) => page.text.replace(/^```[^`]*?^```$/gms, "").split("\n").filter((l) => /^#+ /.test(l))
	.map((l) => l.replace(/^#+ /, "").toLowerCase().replace(/`/g, "").replace(/[^\p{L}\p{N} _-]/gu, "").trim().replace(/ /g, "-"))

await test("links lead somewhere", async () => {
	const broken = []
	for (const page of pages) {
		const folder = page.file.includes("/") ? "docs/" : ""
		for (const [, target] of withoutBlocks(page).matchAll(/\]\(([^)\s]+)\)/g)) {
			if (/^https?:/.test(target))
				continue
			const [path, anchor] = target.split("#")
			const file = path ? new URL(path, `file:///${folder}`).pathname.slice(1) : page.file
			if (!existsSync(`${checkout}/${file}`))
				broken.push(`${page.file}: ${target}`)
			else if (anchor && file.endsWith(".md") && !anchors(pages.find((p) => p.file === file) ?? readPage(file)).includes(anchor))
				broken.push(`${page.file}: ${target}`)
		}
	}
	assert.deepEqual(broken, [])
})

await test("every page is in the index", async () => {
	const index = pages.find((p) => p.file === "docs/README.md").text
	assert.deepEqual(pages.filter((p) => p.file.startsWith("docs/") && p.file !== "docs/README.md" && !index.includes(`(${p.name}.md)`)).map((p) => p.file), [])
})

// Metrics that pages write as `.._requests_list` begin as the one before.
const metricsOf = (text) => {
	const names = []
	for (const [, name] of text.matchAll(/`([a-z.][a-z_.]+)`/g))
		names.push(name.startsWith("..") ? names.findLast((n) => n.includes("endpoint")).replace(/_(requests|errors)_.*/, "") + name.slice(2) : name)
	return new Set(names)
}

await test("operations.md names every metric", async () => {
	const section = /^## Metrics$([\s\S]*?)^## Alerts$/m.exec(pages.find((p) => p.name === "operations").text)[1]
	const told = metricsOf(section)
	const terminal = await open(scratch, local, "demo")
	const missing = new Set()
	try {
		await terminal.start("devplane driver disk --node-name demo-0 --metrics-bind-address 127.0.0.1:9911")
		await terminal.start("devplane driver net --node-name demo-0 --interface none --metrics-bind-address 127.0.0.1:9912")
		await terminal.start("devplane node --attach --node-name demo-0 --root-dir /var/lib/devplane/nodes/demo-0 --metrics-bind-address 127.0.0.1:9913")
		const run = await terminal.finish(`kubectl get --raw /metrics; for address in $(devplane status -o json | grep -o '"metrics": "[^"]*' | cut -d'"' -f4) 127.0.0.1:991{1,2,3}; do curl -s http://$address/metrics; done`)
		const families = new Set([...run.text().matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name))
		assert.ok(families.size > 80, `${families.size} families`)
		for (const name of families)
			if (!told.has(name) && !told.has(`kubelet_${name}`))
				missing.add(name)
	} finally {
		await terminal.close()
	}
	assert.deepEqual([...missing], [])
})

await test("manifests in pages and examples are taken by the server", async () => {
	const apart = /apiVersion: (kubescheduler|client\.authentication|audit|ioi\.example|topology\.node|diskio\.|example\.com)/
	const documents = blocks.filter(({ block }) => block.language === "yaml" && !block.title)
		.flatMap(({ where, block }) => block.lines.join("\n").split(/^---$/m).map((text) => ({ where, text })))
		.filter(({ text }) => /^apiVersion:/m.test(text) && /^kind:/m.test(text) && !apart.test(text))
	assert.ok(documents.length > 5)
	const terminal = await open(scratch, local, "server")
	try {
		for (const { where, text } of documents) {
			const run = await terminal.finish(`kubectl create --dry-run=server -f - <<'END-OF-FILE'\n${text}\nEND-OF-FILE`)
			assert.equal(run.status(), 0, `${where}: ${run.text()}`)
		}
		for (const file of ["train.yaml", "gpu.yaml", "gpu-pod.yaml", "network/class.yaml", "network/pods.yaml", "network/rbac.yaml", "network/template.yaml", "disk/crd.yaml", "disk/rbac.yaml", "disk/pods.yaml"]) {
			const run = await terminal.finish(`kubectl create --dry-run=server -f examples/${file}`)
			assert.equal(run.status(), 0, `examples/${file}: ${run.text()}`)
		}
	} finally {
		await terminal.close()
	}
})

await test("few commands are not run, and each says why", async () => {
	const apart = blocks.filter(({ block }) => block.notRun !== undefined)
	for (const { block, where } of apart)
		console.log(`# SKIP ${where}: ${block.notRun}`)
	assert.ok(apart.every(({ block }) => block.notRun.length > 10), "a reason is missing")
	// The page about kube-apiserver, kubelet and containerd shows what was seen there; tests/upstream/cluster starts them.
	const upstream = apart.filter(({ page }) => page.file === "docs/install.md")
	assert.ok(upstream.length <= 7, `${upstream.length} blocks of docs/install.md are not run`)
	assert.ok(apart.length - upstream.length <= 12, `${apart.length - upstream.length} blocks are not run`)
})

finish()
