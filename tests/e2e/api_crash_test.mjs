// Servers and etcd killed amid writes, again and again for CRASH_SECONDS on each backend: what was acknowledged is there,
// once, as it was answered; versions only grow; and a watcher sees each change once, or is asked to list again.
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { expectSame, Follower } from "./api_follow.mjs"
import { backends, configMap, expect, newNamespace, paths, startEtcd, startServer } from "./api_lib.mjs"
import { expectLog, Ledger, pause, random } from "./api_ledger.mjs"
import { devplane, finish, test } from "./lib.mjs"

const seconds = Number(process.env.CRASH_SECONDS ?? 10)

// One crash, in one of the ways that the backend knows.
async function crash(server, ledger) {
	const kind = server.etcd ? ["server", "etcd", "both"][random(3)] : "server"
	ledger.count.rounds++
	if (kind === "etcd") {
		await server.etcd.kill()
		await pause(random(100))
		await server.etcd.begin()
		return
	}
	ledger.close()
	await Promise.all([server.kill(), kind === "both" ? server.etcd.kill() : undefined])
	if (kind === "both")
		await server.etcd.begin()
	await server.begin()
	await ledger.verify()
	ledger.check()
	ledger.open()
}

async function run(backend) {
	const etcd = backend === "etcd" ? await startEtcd() : undefined
	const server = await startServer(backend, { etcd })
	const { configMaps } = paths(await newNamespace(server.client))
	const ledger = new Ledger(() => server.client, configMaps)
	const follower = await new Follower(() => server.client, configMaps).start()
	const end = Date.now() + seconds * 1000
	ledger.start()
	while (Date.now() < end) {
		await pause(50 + random(400))
		ledger.check()
		await crash(server, ledger)
	}
	await ledger.end()
	const last = expect(await server.client.post(configMaps, configMap("last", { value: "last" })), 201)
	ledger.asked.set("last", "last")
	await follower.settle(last.metadata.resourceVersion)
	expectSame(follower, expect(await server.client.get(configMaps), 200))
	expectLog(ledger, follower)
	const { rounds, asked, acknowledged, unanswered } = ledger.count
	console.log(`# ${backend}: ${rounds} crashes; ${asked} writes, ${acknowledged} acknowledged, ${unanswered} without an answer; ` +
		`${follower.log.length} events in ${follower.watches} watches, ${follower.gaps.length} lists`)
	if (backend === "lmdb")
		assert.deepEqual(follower.gaps, [], "the history survives")
	assert.ok(acknowledged > 100 && rounds > 2, "it did work")
	await server.stop()
	if (backend === "lmdb") {
		const checked = spawnSync(devplane, ["store", "check", "--data-dir", server.folder])
		assert.equal(checked.status, 0, String(checked.stdout) + checked.stderr)
	}
	await etcd?.kill()
}

for (const backend of backends)
	await test(`${backend}: nothing acknowledged is lost in crashes`, () => run(backend), seconds + 120)
finish()
