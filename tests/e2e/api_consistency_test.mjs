// One server, many writers and readers at once.
import assert from "node:assert/strict"
import { backends, configMap, expect, newNamespace, paths, rv, startServer } from "./api_lib.mjs"
import { count, expectAgreement, follow, scramble } from "./api_load.mjs"
import { finish, test } from "./lib.mjs"

async function consistency(say, server) {
	const { client, client2 } = server

	await test(say("each watcher's story ends in what the server has"), async () => {
		const { configMaps } = paths(await newNamespace(client))
		const followers = await follow(configMaps, [client, client, client2, client2])
		const done = await scramble(configMaps, {
			writers: 16, keys: 12, rounds: 60, clientOf: (i) => (i % 2 ? client : client2), readerOf: (i) => (i % 3 ? client : client2),
		})
		await expectAgreement(configMaps, client, followers)
		console.log(`# ${done} writes, ${followers[0].log.length} events`)
	})

	await test(say("no increment of a counter is lost"), async () => {
		const { configMaps } = paths(await newNamespace(client))
		const conflicts = await count(configMaps, [client, client2, client, client2, client, client2], 15)
		assert.ok(conflicts > 0, "they met")
	})

	await test(say("versions are given once and in order"), async () => {
		const { configMaps } = paths(await newNamespace(client))
		let told = 0n
		const all = new Set()
		await Promise.all(Array.from({ length: 12 }, async (_, i) => {
			for (let k = 0; k < 15; k++) {
				const before = told
				const made = expect(await (i % 2 ? client : client2).post(configMaps, configMap(`m${i}-${k}`)), 201)
				assert.ok(rv(made) > before)
				assert.ok(!all.has(rv(made)))
				all.add(rv(made))
				told = rv(made) > told ? rv(made) : told
			}
		}))
		const list = expect(await client.get(configMaps), 200)
		assert.equal(list.items.length, 180)
		assert.ok(rv(list) >= told)
	})

	await test(say("of many who create one name, one succeeds"), async () => {
		const { configMaps } = paths(await newNamespace(client))
		for (let round = 0; round < 5; round++) {
			const answers = await Promise.all(Array.from({ length: 20 }, (_, i) =>
				(i % 2 ? client : client2).post(configMaps, configMap(`one-${round}`, { i: String(i) }))))
			const winners = answers.filter(({ code }) => code === 201)
			assert.equal(winners.length, 1)
			assert.ok(answers.every(({ code, body }) => code === 201 || body.reason === "AlreadyExists"))
			assert.deepEqual(expect(await client.get(`${configMaps}/one-${round}`), 200), winners[0].body)
		}
	})
}

for (const backend of backends) {
	for (const threads of [1, 2]) {
		const say = (name) => `${backend}, ${threads} I/O thread${threads > 1 ? "s" : ""}: ${name}`
		const server = await startServer(backend, { flags: ["--io-threads", String(threads)] })
		await consistency(say, server)
		await test(say("the server ends in order"), () => server.stop())
	}
}
finish()
