// Parts of docs_test.mjs: pages and their blocks, what counts as the same output, and a terminal in a sandbox.
//
// How a page is written:
//
//	<!-- scene: NAME -->         at its top: what runs before its first command; see docs_scenes.mjs
//	<!-- not run: REASON -->     before a block: its commands are not run here, and why
//	<!-- another terminal -->    before a block: its command goes on while the rest of the page is run; what it
//	                             printed is looked at when the page has ended
//	<!-- in any order -->        before a block: the lines of an output may come in any order, with others between them
//	```console                   lines that begin with "$ " are commands, the others what they print. A command goes
//	                             on after "\", "|" or "&&" at the end of a line, and to the end of its here-documents
//	```yaml title=pod.yaml       (any language): the reader writes this file; it is there for the commands below
//	```c title=a.c more          the same, behind what the file has already
//
// The output of a command, on either stream, must be what the page shows, and nothing when it shows nothing. ".." alone stands for any
// number of lines, in a line for any text. A line "^C" at the end interrupts it. A command that shows nothing must succeed.
// Commands that only look (LOOKS) are repeated until they show it: a reader would look again, too. Commands that stay (STAYS,
// or "&" at the end) run to the end of the page, and are waited for until they have printed what is shown.
//
// Not compared, in either direction: how many spaces there are in a row, and their number at the end of a line (columns move
// with names), and the values of (see LOOSE) ages and durations, points in time, uids, generated suffixes of names, ports
// of 127.0.0.1 and 0.0.0.0, process ids, hardware addresses, addresses that the simulated NICs make up, hashes, whole numbers of ten digits or more, tokens. Empty lines are not compared.
//
// With DOCS_RECORD=1 a command that shows only "??" gets its real output written into the page: to be read before it is kept.
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, openSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { devplane, until } from "./lib.mjs"

export const checkout = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "")
export const recording = Boolean(process.env.DOCS_RECORD)

// --- pages -----------------------------------------------------------------------------------------------------

const FENCE = /^(\s*)```(\S*)\s*(.*)$/

// { file, name, text, scene, blocks: [{ line, language, title, lines, notRun, apart }] }
export function readPage(file) {
	const text = readFileSync(`${checkout}/${file}`, "utf8")
	const page = { file, name: file.replace(/^docs\/|\.md$/g, ""), text, lines: text.split("\n"), blocks: [] }
	page.scene = /^<!-- scene: (.*?) -->$/m.exec(text)?.[1]
	let block = null
	let notice = {}
	for (const [at, line] of page.lines.entries()) {
		const fence = FENCE.exec(line)
		if (block && fence && fence[2] === "") {
			page.blocks.push(block)
			block = null
		} else if (block) {
			block.lines.push(line.slice(block.indent))
		} else if (fence) {
			block = { line: at + 1, indent: fence[1].length, language: fence[2], title: /title=(\S+)/.exec(fence[3])?.[1], more: / more$/.test(fence[3]), lines: [], ...notice }
			notice = {}
		} else if (/^<!-- not run: /.test(line)) {
			notice = { notRun: /^<!-- not run: (.*?) -->$/.exec(line)?.[1] ?? "" }
		} else if (line === "<!-- another terminal -->") {
			notice.apart = true
		} else if (line === "<!-- in any order -->") {
			notice.anyOrder = true
		} else if (line.trim()) {
			notice = {}
		}
	}
	assert.equal(block, null, `${file}: a block is not closed`)
	return page
}

// Whether the command goes on in the next line.
function goesOn(lines) {
	const text = lines.join("\n")
	const documents = [...text.matchAll(/<<-?\s*['"]?(\w+)['"]?/g)].map(([, end]) => end)
	if (documents.some((end) => !lines.includes(end)))
		return true
	if (/\bdo$/m.test(text) && !/^\s*done$/m.test(text))
		return true
	return documents.length === 0 && /(\\|\||&&)$/.test(lines.at(-1))
}

// The commands of a console block: [{ command, expected: [..], line, from, to }]; from and to are where its output is in the page.
export function commandsOf(block) {
	const found = []
	for (let at = 0; at < block.lines.length;) {
		const line = block.lines[at]
		if (!line.startsWith("$ ")) {
			assert.ok(found.length > 0, `line ${block.line + at + 1}: output before the first command`)
			found.at(-1).expected.push(line)
			at++
			continue
		}
		const text = [line.slice(2)]
		const first = at++
		while (goesOn(text) && at < block.lines.length)
			text.push(block.lines[at++])
		found.push({ command: text.join("\n"), expected: [], line: block.line + first + 1, from: block.line + at })
	}
	for (const c of found) {
		c.anyOrder = block.anyOrder
		c.to = c.from + c.expected.length
		while (c.expected.at(-1)?.trim() === "")
			c.expected.pop()
		c.interrupted = c.expected.at(-1) === "^C"
		if (c.interrupted)
			c.expected.pop()
	}
	return found
}

// --- what counts as the same -------------------------------------------------------------------------------------

const LOOSE = [
	// A row of `devplane status`.
	[/^(\S+\s+\w+\s+\w+)\s+\d+\s+(\d+)\s+(\S+)\s+[\d.]+[KM]i$/, "$1 <pid> $2 $3 <memory>"],
	[/\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+/g, "<time>"],
	[/\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d \+0000/g, "<time>"],
	[/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "<time>"],
	[/\b\d\d:\d\d:\d\d\.\d+Z/g, "<time>"],
	[/(?<![0-9a-f-])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "<uid>"],
	[/\b([0-9a-f]{2}:){5}[0-9a-f]{2}\b/g, "<mac>"],
	[/\beyJ[\w.-]+/g, "<token>"],
	[/\b[0-9a-f]{64}\b/g, "<hash>"],
	[/\b\d{10,}\b/g, "<number>"],
	[/\b198\.1[89]\.\d+\.\d+\/15/g, "<ipv4>/15"],
	[/\b198\.1[89](\.\d+){2}(?=\s+<age>|$)/g, "<ipv4>"],
	[/\b2001:db8:[0-9a-f:]+/g, "<ipv6>"],
	[/\b(127\.0\.0\.1|0\.0\.0\.0):\d+/g, "$1:<port>"],
	[/\b(pid|process) \d+/gi, "$1 <pid>"],
	[/-[bcdfghjklmnpqrstvwxz2456789]{5}(?![\w.])/g, "-<suffix>"],
	[/\b(\d+(\.\d+)?(ms|us|s|m|h|d))+\b/g, "<age>"],
	[/\b\d+(\.\d+)? (ms|s)\b/g, "<age>"],
	[/("?(resourceVersion|revision)"?): ?"\d+"/g, "$1: <number>"],
	// As newer versions of kubectl put it.
	[/ from \S+ namespace$/, ""],
	[/\s+/g, " "],
]

function loose(line) {
	return LOOSE.reduce((text, [pattern, put]) => text.replace(pattern, put), line).trimEnd()
}

function lineMatches(expected, line) {
	const parts = loose(expected).split("..").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
	return new RegExp(`^${parts.join(".*")}$`).test(loose(line))
}

// Whether the lines are those expected, ".." standing for any number. With `more` further lines may follow.
export function matches(expected, lines, more = false, anyOrder = false) {
	const full = (line) => line.trim() !== ""
	if (anyOrder)
		return expected.filter(full).every((e) => lines.some((l) => lineMatches(e, l)))
	return matchesFrom(expected.filter(full), lines.filter(full), more)
}

function matchesFrom(expected, lines, more) {
	if (expected.length === 0)
		return more || lines.length === 0
	if (expected[0].trim() === "..")
		return matchesFrom(expected.slice(1), lines, more) || (lines.length > 0 && matchesFrom(expected, lines.slice(1), more))
	return lines.length > 0 && lineMatches(expected[0], lines[0]) && matchesFrom(expected.slice(1), lines.slice(1), more)
}

// --- a terminal -------------------------------------------------------------------------------------------------

const STAYS = /^(\w+=\S+ )*(devplane|\.\/\S+-driver|etcd) ?(server|controller|scheduler|node|up(?!.*--detach)|driver (sim|net|disk)(?= --|$)|--|\S*\/)/
const LOOKS = /^(kubectl|devplane)( devplane)? (-[-\w]+[= ]\S+ )*(get|describe|top|explain-fit|podresources (list|allocatable)|driver (sim|net) list|auth|status|doctor|cel --devices|logs|wait|rollout)\b|^curl (?![\s\S]*(--data|-X|-d ))|^(cat|ls|grep|jq|ip|ss|etcdctl \S* ?get|promtool) /

const stays = ({ command }) => /&$/.test(command) || (STAYS.test(command) && !/ (--help|-h)\b/.test(command))

// The initial content of every sandbox. The checkout and the build may lie anywhere, also below what is covered by empty folders here.
const SANDBOX = `
set -e
hostname n1
ip link set lo up
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/src /run/build /run/term /run/local /run/lock
mount --bind "$CHECKOUT" /run/src
mount --bind "$BUILD" /run/build
mount --bind "$TERM_FOLDER" /run/term
mount --bind "$LOCAL" /run/local
mkdir -p /run/groups /run/over/etc /run/over/lib /run/over/etc-work /run/over/lib-work
mount --rbind /sys/fs/cgroup /run/groups
mount -t sysfs sysfs /sys && mount --rbind /run/groups /sys/fs/cgroup
mount -t overlay -o lowerdir=/etc,upperdir=/run/over/etc,workdir=/run/over/etc-work overlay /etc
mount -t overlay -o lowerdir=/var/lib,upperdir=/run/over/lib,workdir=/run/over/lib-work overlay /var/lib
for folder in devplane kubelet; do mkdir -p "/var/lib/$folder" && mount -t tmpfs -o mode=755 tmpfs "/var/lib/$folder"; done
for folder in /root /opt /srv; do mount -t tmpfs -o mode=755 tmpfs "$folder"; done
mount --bind /run/local /usr/local
mkdir -p /root/devplane
cd /root/devplane
for entry in docs deploy examples include monitoring plugins schema scripts; do ln -s "/run/src/$entry" .; done
ln -s /run/build build
export HOME=/root PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 TERM=dumb
unset KUBECONFIG CHECKOUT BUILD TERM_FOLDER LOCAL TMP DEVPLANE
set +e -m
`

let terminals = 0

// A shell in namespaces of its own: network, processes, mounts, host name. It ends with everything that was started in it.
export class Terminal {
	constructor(scratch, local) {
		this.folder = `${scratch}/term-${terminals++}`
		mkdirSync(this.folder, { recursive: true })
		this.n = 0
		this.cut = 0
		const log = openSync(`${this.folder}/shell.log`, "a")
		this.shell = spawn("unshare", ["--fork", "--kill-child", "--pid", "--mount-proc", "--mount", "--net", "--uts", "bash", "--norc", "--noprofile"], {
			stdio: ["pipe", log, log],
			env: { ...process.env, CHECKOUT: checkout, BUILD: devplane.replace(/\/[^/]*$/, ""), TERM_FOLDER: this.folder, LOCAL: local },
		})
		this.ended = new Promise((resolve) => this.shell.on("close", resolve))
		this.shell.stdin.on("error", () => {})
		this.shell.stdin.write(SANDBOX)
		this.closing = []
	}

	// Begins a command; `file` is what it prints, `done` whether it has ended.
	begin(command, background) {
		const id = this.n++
		const run = { command, file: `${this.folder}/${id}.out`, rc: `${this.folder}/${id}.rc`, id }
		writeFileSync(run.file, "")
		if (background) {
			const plain = command.replace(/\s*&$/, "")
			this.shell.stdin.write(`${plain} >>/run/term/${id}.out 2>&1 </dev/null &\necho $! >/run/term/${id}.pid\n`)
		} else {
			this.shell.stdin.write(`{ ${command}\n} >/run/term/${id}.out 2>&1 </dev/null\necho $? >/run/term/${id}.rc\n`)
		}
		run.text = () => readFileSync(run.file, "utf8").replace(/\x1b\[[0-9;]*m/g, "")
		run.lines = () => {
			// A role's log lines, and the shell's messages about killed jobs, are not part of the page.
			const noise = background ? /^\{"ts":|^bash: line \d+: / : /^bash: line \d+: +\d+ (Killed|Terminated)/
			const lines = run.text().split("\n").filter((l) => !noise.test(l)).map((l) => l.trimEnd())
			while (lines.at(-1)?.trim() === "")
				lines.pop()
			return lines
		}
		run.status = () => existsSync(run.rc) && statSync(run.rc).size > 0 ? Number(readFileSync(run.rc, "utf8")) : null
		run.interrupt = () => this.shell.stdin.write(`kill -INT -- -$(cat /run/term/${id}.pid); wait $(cat /run/term/${id}.pid); echo $? >/run/term/${id}.rc\n`)
		return run
	}

	// Runs a foreground command to its end.
	async finish(command, seconds = 60) {
		const run = this.begin(command, false)
		await until(`end of: ${command}`, () => run.status() !== null || this.shell.exitCode !== null, seconds).catch((e) => {
			throw new Error(`${e.message}\n${run.text()}`)
		})
		assert.equal(this.shell.exitCode, null, `the shell has ended: ${readFileSync(`${this.folder}/shell.log`, "utf8")}`)
		return run
	}

	// Starts a command that stays, and waits until it has printed a line that matches.
	async start(command, line = /health and metrics at|is ready at/, seconds = 40) {
		const run = this.begin(command, true)
		await until(`${line} of: ${command}`, () => line.test(run.text()), seconds).catch((e) => {
			throw new Error(`${e.message}\n${run.text()}`)
		})
		return run
	}

	async close() {
		for (const command of this.closing)
			await this.finish(command, 30).catch(() => {})
		this.shell.kill("SIGKILL")
		await this.ended
	}
}

// --- running a page ----------------------------------------------------------------------------------------------

function differs(where, command, expected, run) {
	const shown = expected.map((l) => `  ${l}`).join("\n")
	const real = run.lines().map((l) => `  ${l}`).join("\n")
	return new Error(`${where}: $ ${command}\nthe page shows:\n${shown}\nit printed${run.status() ? `, status ${run.status()}` : ""}:\n${real}`)
}

async function runStaying(terminal, where, c) {
	const run = terminal.begin(c.command, true)
	if (recording && c.expected.join() === "??") {
		let last = ""
		await until("quiet", async () => {
			const before = last
			await new Promise((resolve) => setTimeout(resolve, 1500))
			last = run.text()
			return last === before
		}, 30)
		c.recorded = run.lines()
	} else {
		await until("output", () => matches(c.expected, run.lines(), true, c.anyOrder), 40).catch(() => {
			throw differs(where, c.command, c.expected, run)
		})
	}
	if (c.interrupted) {
		run.interrupt()
		await until("end after ^C", () => run.status() !== null)
	}
}

async function runToEnd(terminal, where, c) {
	const looks = LOOKS.test(c.command)
	const end = Date.now() + 30000
	let before = null
	for (;;) {
		const run = await terminal.finish(c.command)
		if (recording && c.expected.join() === "??") {
			c.recorded = run.lines()
			const now = run.lines().map(loose).join("\n")
			if (!looks || now === before || Date.now() > end - 24000)
				return
			before = now
			await new Promise((resolve) => setTimeout(resolve, 1000))
			continue
		}
		if (matches(c.expected, run.lines(), false, c.anyOrder) && (run.status() === 0 || c.expected.length > 0))
			return
		if (!looks || Date.now() > end)
			throw differs(where, c.command, c.expected, run)
		await new Promise((resolve) => setTimeout(resolve, 50))
	}
}

function writeFileIn(terminal, block) {
	const text = block.lines.join("\n")
	return terminal.finish(`mkdir -p "$(dirname ${block.title})"; cat ${block.more ? ">>" : ">"}${block.title} <<'END-OF-FILE'\n${text}\nEND-OF-FILE`)
}

// Runs the page's commands in the terminal. Returns how many were run.
export async function runPage(page, terminal) {
	const apart = []
	let count = 0
	for (const block of page.blocks) {
		if (block.notRun !== undefined)
			continue
		if (block.title)
			await writeFileIn(terminal, block)
		if (block.language !== "console")
			continue
		for (const c of commandsOf(block)) {
			const where = `${page.file}:${c.line}`
			count++
			page.done = page.done ?? []
			page.done.push(c)
			if (process.env.DOCS_TRACE)
				console.log(`# ${where} $ ${c.command}`)
			if (block.apart) {
				const run = terminal.begin(c.command, true)
				apart.push({ c, run, where })
				await until("first output", () => run.text() !== "", 20).catch(() => {})
			} else if (stays(c) || c.interrupted) {
				await runStaying(terminal, where, c)
			} else {
				await runToEnd(terminal, where, c)
			}
		}
	}
	for (const { c, run, where } of apart) {
		if (recording && c.expected.join() === "??") {
			await new Promise((resolve) => setTimeout(resolve, 1500))
			c.recorded = run.lines()
			continue
		}
		await until("output", () => matches(c.expected, run.lines(), true, c.anyOrder), 30).catch(() => {
			throw differs(where, c.command, c.expected, run)
		})
	}
	return count
}

// Puts what was recorded into the page.
export function writeRecorded(page) {
	const lines = readFileSync(`${checkout}/${page.file}`, "utf8").split("\n")
	for (const c of (page.done ?? []).filter((d) => d.recorded).reverse())
		lines.splice(c.from, c.to - c.from, ...c.recorded, ...(c.interrupted ? ["^C"] : []))
	writeFileSync(`${checkout}/${page.file}`, lines.join("\n"))
}
