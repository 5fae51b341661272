// Many clients at once, each with a model of what it did: what the tests of one and of several servers share.
import assert from "node:assert/strict"
import { expectSame, Follower } from "./api_follow.mjs"
import { configMap, expect, expectStatus, rv } from "./api_lib.mjs"

// `writers` clients of `clientOf(i)` create, update, patch and delete the same `keys` objects, `rounds` times each. After each
// acknowledged write the writer reads it back, by `readerOf(i)`: it must be there, or something newer.
export async function scramble(path, { writers, keys, rounds, clientOf, readerOf }) {
	let done = 0
	const newer = async (i, name, version) => {
		const { code, body, text } = await readerOf(i).get(`${path}/${name}`)
		assert.ok(code === 404 || (code === 200 && rv(body) >= version), `a read of ${name} after ${version} was told: ${text}`)
	}
	const write = async (i, round) => {
		const client = clientOf(i), name = `k${Math.floor(Math.random() * keys)}`, at = `${path}/${name}`
		const value = `${i}.${round}`
		const labels = { half: Math.random() < 0.5 ? "left" : "right" }
		const { code, body: current } = await client.get(at)
		// Replies that another writer can cause: a conflict needs a version in the request, or a creation.
		let answer, late = [404]
		if (code === 404)
			[answer, late] = [await client.post(path, configMap(name, { value }, { labels })), [409]]
		else if (Math.random() < 0.2)
			answer = await client.delete(at)
		else if (Math.random() < 0.5)
			answer = await client.patch(at, { metadata: { labels }, data: { value } }, "merge")
		else
			[answer, late] = [await client.put(at, { ...current, data: { value }, metadata: { ...current.metadata, labels } }), [404, 409]]
		if (late.includes(answer.code))
			return
		assert.ok([200, 201].includes(answer.code), answer.text)
		done++
		if (answer.body.kind === "ConfigMap")
			await newer(i, name, rv(answer.body))
	}
	await Promise.all(Array.from({ length: writers }, async (_, i) => {
		for (let round = 0; round < rounds; round++)
			await write(i, round)
	}))
	return done
}

// Starts readers of the whole collection and of the half that a label selects; one of each for each of `clients`.
export async function follow(path, clients) {
	const started = []
	for (const client of clients) {
		started.push(await new Follower(() => client, path).start())
		started.push(await new Follower(() => client, `${path}?labelSelector=half%3Dleft`).start())
	}
	return started
}

// All followers have the picture that the server has now, and those of the whole the same story of how it came to be.
export async function expectAgreement(path, client, followers) {
	const last = expect(await client.post(path, configMap("last", {}, { labels: { half: "left" } })), 201)
	for (const follower of followers) {
		await follower.settle(last.metadata.resourceVersion)
		expectSame(follower, expect(await client.get(follower.path), 200))
		assert.deepEqual(follower.gaps, [])
	}
	const story = ({ log }) => log.map(({ type, name, version, object }) => `${type} ${name} ${version} ${object.data?.value}`)
	const whole = followers.filter((follower) => follower.path === path)
	for (const follower of whole.slice(1))
		assert.deepEqual(story(follower), story(whole[0]))
}

// `clients` add 1 so many times each to one counter, each reading it and writing it back, until that is accepted. Returns how
// often somebody else had been faster.
export async function count(path, clients, times) {
	const at = `${path}/counter`
	let conflicts = 0
	expect(await clients[0].post(path, configMap("counter", { n: "0" })), 201)
	const increment = async (client, way) => {
		for (;;) {
			const current = expect(await client.get(at), 200)
			const n = String(Number(current.data.n) + 1)
			let answer
			if (way % 2)
				answer = await client.put(at, { ...current, data: { n } })
			else
				answer = await client.patch(at, { metadata: { resourceVersion: current.metadata.resourceVersion }, data: { n } }, "merge")
			if (answer.code === 200)
				return assert.equal(answer.body.data.n, n)
			expectStatus(answer, 409, "Conflict")
			conflicts++
		}
	}
	await Promise.all(clients.map(async (client, i) => {
		for (let k = 0; k < times; k++)
			await increment(client, i + k)
	}))
	for (const client of clients)
		assert.equal(expect(await client.get(at), 200).data.n, String(clients.length * times))
	return conflicts
}
