// A live copy of a resource, kept by src/client in the program that the benchmark uses too.
//
//	const copy = follow(server.kubeconfig, "configmaps.v1", namespace)
//	await copy.synced()
//	const { count, resourceVersion } = await copy.ask("wait 10")
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { dirname } from "node:path"
import { createInterface } from "node:readline"
import { devplane } from "./lib.mjs"

const program = process.env.INFORMER_LOAD ?? `${dirname(devplane)}/bench/informer_load`

const children = new Set()
process.on("exit", () => children.forEach((child) => child.kill("SIGKILL")))

// Starts it; commands are those of bench/informer_load.c.
export function follow(kubeconfig, resource, ...rest) {
	const child = spawn(program, [kubeconfig, resource, ...rest], { stdio: ["pipe", "pipe", "inherit"] })
	const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
	children.add(child)
	const line = async () => {
		const { value, done } = await answers.next()
		assert.ok(!done, "the informer ended")
		return value
	}
	return {
		async synced() {
			assert.match(await line(), /^synced \d+ \d+$/)
		},
		async ask(command) {
			child.stdin.write(`${command}\n`)
			const answer = await line()
			return answer[0] === "{" ? JSON.parse(answer) : answer
		},
		async end() {
			child.stdin.end()
			const [code] = await once(child, "exit")
			children.delete(child)
			assert.equal(code, 0)
		},
	}
}

// Fails unless the copy equals a list, and the events that its handler got add up to it.
export async function compare(copy, list) {
	const { items } = await list()
	const expected = Object.fromEntries(items.map(({ metadata: m }) =>
		[m.namespace ? `${m.namespace}/${m.name}` : m.name, m.resourceVersion]))
	const newest = items.reduce((most, { metadata: m }) => Math.max(most, Number(m.resourceVersion)), 0)
	await copy.ask(`until ${newest}`)
	const state = await copy.ask(`wait ${items.length}`) // deletions have no version in a list
	assert.deepEqual(await copy.ask("objects"), expected)
	assert.equal(state.count, items.length)
	assert.equal(state.handlerCount, state.count)
	assert.equal(state.handlerIdentities, state.identities)
	// A bookmark may include later writes of others, also of the server itself.
	const { metadata } = await list()
	assert.ok(Number(state.resourceVersion) <= Number(metadata.resourceVersion))
	return state
}
