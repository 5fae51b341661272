// Clients race for devices. The server gives a device to one claim at a time, and gives out its capacity and counters once. The tests run on LMDB, and
// with three servers on one etcd.
import assert from "node:assert/strict"
import { cpSync, writeFileSync } from "node:fs"
import { backends, causes, claim, core, dra, expect, expectStatus, newNamespace, paths, startEtcd, startServer, unique } from "./api_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"

const RACERS = 16, ROUNDS = 12
const gpu = (device, rest) => ({ request: "gpu", driver: "gpu.example.com", pool: "node-1", device, ...rest })
const allocated = (...results) => ({ status: { allocation: { devices: { results } } } })
const freed = { status: { allocation: null } }
const share = (n) => `123e4567-e89b-12d3-a456-42661417400${n}`
const tokens = `${scratch}/tokens.csv`
const flags = ["--token-auth-file", tokens]
writeFileSync(tokens, "token-blind,blind,u1\n")

// One server on LMDB, or three on one etcd.
async function startServers(backend) {
	if (backend === "lmdb")
		return [await startServer(backend, { flags })]
	const etcd = await startEtcd(), prefix = "/fence"
	const servers = [await startServer("etcd", { etcd, prefix, folder: `${scratch}/fence-0`, flags })]
	for (let i = 1; i < 3; i++) {
		cpSync(`${servers[0].folder}/pki`, `${scratch}/fence-${i}/pki`, { recursive: true })
		servers.push(await startServer("etcd", { etcd, prefix, folder: `${scratch}/fence-${i}`, flags }))
	}
	return servers
}

async function makeClaims(client, claims, names) {
	await Promise.all(names.map(async (name) => expect(await client.post(claims, claim(name)), 201)))
}

const holders = async (client, claims, device) => expect(await client.get(claims), 200).items
	.filter(({ status }) => status?.allocation?.devices.results.some((r) => r.device === device && !r.adminAccess))
	.map(({ metadata }) => metadata.name)

async function races(say, servers) {
	const at = (i) => servers[i % servers.length].client
	const { claims } = paths(await newNamespace(at(0)))
	const names = Array.from({ length: RACERS }, (_, i) => `c${i}`)
	const status = (name) => `${claims}/${name}/status`
	await makeClaims(at(0), claims, names)

	await test(say(`of ${RACERS} clients that race for a device one gets it`), async () => {
		for (let round = 0; round < ROUNDS; round++) {
			const answers = await Promise.all(names.map((name, i) => at(i + round).patch(status(name), allocated(gpu("gpu-0")), "merge")))
			const winners = names.filter((_, i) => answers[i].code === 200)
			assert.equal(winners.length, 1, answers.map(({ code }) => code).join())
			const refused = answers.filter(({ code }) => code !== 200)
			for (const answer of refused) {
				const refusal = expectStatus(answer, 409, "Conflict", /device gpu\.example\.com\/node-1\/gpu-0 is held by claim /)
				assert.deepEqual(causes(refusal), ["DeviceHeld status.allocation.devices.results[0]"])
				assert.equal(refusal.details.causes[0].message, `${claims.split("/").at(-2)}/${winners[0]}`)
			}
			for (let i = 0; i < servers.length; i++)
				assert.deepEqual(await holders(at(i), claims, "gpu-0"), winners)
			// A write after the acknowledged release may take it, through any server.
			expect(await at(round).patch(status(winners[0]), freed, "merge"), 200)
			const next = names[round % RACERS]
			expect(await at(round + 1).patch(status(next), allocated(gpu("gpu-0")), "merge"), 200)
			expect(await at(round + 2).patch(status(next), freed, "merge"), 200)
		}
	}, 300)

	await test(say("the devices of a claim are taken all or not at all"), async () => {
		// Each wants two of three devices: at most one claim can have its two.
		for (let round = 0; round < ROUNDS; round++) {
			const wanted = names.map((_, i) => [`gpu-${i % 3}`, `gpu-${(i + 1) % 3}`])
			const answers = await Promise.all(names.map((name, i) => at(i).patch(status(name), allocated(...wanted[i].map((d) => gpu(d))), "merge")))
			const winners = names.filter((_, i) => answers[i].code === 200)
			assert.equal(winners.length, 1, answers.map(({ code }) => code).join())
			assert.ok(answers.every(({ code }) => code === 200 || code === 409))
			expect(await at(round).patch(status(winners[0]), freed, "merge"), 200)
		}
	}, 300)

	await test(say("clients that race, release and delete never hold a device together"), async () => {
		const devices = ["gpu-0", "gpu-1"]
		const held = new Map() // device -> who was acknowledged to have it, and has not begun to release it
		let taken = 0
		await Promise.all(names.map(async (name, i) => {
			for (let turn = 0; turn < 30; turn++) {
				const device = devices[(i + turn) % 2]
				const answer = await at(i + turn).patch(status(name), allocated(gpu(device)), "merge")
				if (answer.code === 409)
					continue
				expect(answer, 200)
				taken++
				assert.equal(held.get(device), undefined, `${device} was given to ${name}`)
				held.set(device, name)
				await new Promise(setImmediate)
				held.delete(device)
				if (turn % 3) {
					expect(await at(i).patch(status(name), freed, "merge"), 200)
				} else {
					expect(await at(i).delete(`${claims}/${name}`), 200)
					expect(await at(i).post(claims, claim(name)), 201)
				}
			}
		}))
		assert.ok(taken > 10, `${taken} allocations`)
		for (const device of devices)
			assert.deepEqual(await holders(at(0), claims, device), [])
	}, 300)
}

const FIT = 4 // shares or partitions of 10Gi in 45Gi
const memory = (value) => ({ memory: { value } })
const slicesOf = (pool, contents) => contents.map((content, i) => ({
	apiVersion: "resource.k8s.io/v1", kind: "ResourceSlice", metadata: { name: `${pool}-${i}` },
	spec: { driver: "gpu.example.com", nodeName: "node-1", pool: { name: pool, generation: 1, resourceSliceCount: contents.length }, ...content },
}))
const shared = { name: "gpu-0", allowMultipleAllocations: true, capacity: memory("45Gi") }
const partition = (i) => ({ name: `part-${i}`, consumesCounters: [{ counterSet: "card", counters: memory("10Gi") }] })
const kinds = [{
	kind: "shares", pool: "shares-1", contents: [{ devices: [shared] }], reason: "DeviceCapacityExceeded", left: /^memory: (0|5Gi) left of 45Gi$/,
	message: /device gpu\.example\.com\/shares-1\/gpu-0 has 5Gi left of 45Gi of the capacity memory, and the claim would consume 10Gi$/,
	result: (i) => gpu("gpu-0", { pool: "shares-1", shareID: `123e4567-e89b-12d3-a456-4266141741${String(i).padStart(2, "0")}`, consumedCapacity: { memory: "10Gi" } }),
}, {
	kind: "partitions", pool: "cards-1", reason: "DeviceCountersExceeded", left: /^card\/memory: (0|5Gi) left of 45Gi$/,
	contents: [{ sharedCounters: [{ name: "card", counters: memory("45Gi") }] }, { devices: Array.from({ length: RACERS }, (_, i) => partition(i)) }],
	message: /pool gpu\.example\.com\/cards-1 has 5Gi left of 45Gi of the counter card\/memory, and the claim would consume 10Gi$/,
	result: (i) => gpu(`part-${i}`, { pool: "cards-1" }),
}]

async function offers(say, servers, { kind, pool, contents, reason, left, message, result }) {
	const at = (i) => servers[i % servers.length].client
	const { claims } = paths(await newNamespace(at(0)))
	const names = Array.from({ length: RACERS }, (_, i) => `c${i}`)
	const status = (name) => `${claims}/${name}/status`
	const slices = slicesOf(pool, contents)
	await makeClaims(at(0), claims, names)
	for (const slice of slices)
		expect(await at(0).post(`${dra}/resourceslices`, slice), 201)
	for (const server of servers)
		for (const { metadata } of slices)
			expect(await server.client.get(`${dra}/resourceslices/${metadata.name}`), 200)

	await test(say(`of ${RACERS} clients that race for ${kind} as many get one as fit`), async () => {
		for (let round = 0; round < ROUNDS; round++) {
			const answers = await Promise.all(names.map((name, i) => at(i + round).patch(status(name), allocated(result(i)), "merge")))
			const winners = names.filter((_, i) => answers[i].code === 200)
			assert.equal(winners.length, FIT, answers.map(({ code }) => code).join())
			for (const answer of answers.filter(({ code }) => code !== 200)) {
				const refusal = expectStatus(answer, 409, "Conflict", message)
				assert.deepEqual(causes(refusal), [`${reason} status.allocation.devices.results[0]`])
				assert.match(refusal.details.causes[0].message, left)
			}
			// A write after the acknowledged release may take it, through any server.
			const next = names.findIndex((name) => !winners.includes(name))
			expectStatus(await at(round).patch(status(names[next]), allocated(result(next)), "merge"), 409, "Conflict")
			expect(await at(round).patch(status(winners[0]), freed, "merge"), 200)
			expect(await at(round + 1).patch(status(names[next]), allocated(result(next)), "merge"), 200)
			for (const name of [...winners.slice(1), names[next]])
				expect(await at(round + 2).patch(status(name), freed, "merge"), 200)
		}
	}, 300)

	await test(say(`clients that race for ${kind}, release and delete never have more than is offered`), async () => {
		let held = 0, taken = 0 // acknowledged, and no release has begun
		await Promise.all(names.map(async (name, i) => {
			for (let turn = 0; turn < 20; turn++) {
				const answer = await at(i + turn).patch(status(name), allocated(result(i)), "merge")
				if (answer.code === 409)
					continue
				expect(answer, 200)
				taken++
				held++
				assert.ok(held <= FIT, `${held} are held`)
				await new Promise(setImmediate)
				held--
				if (turn % 3) {
					expect(await at(i).patch(status(name), freed, "merge"), 200)
				} else {
					expect(await at(i).delete(`${claims}/${name}`), 200)
					expect(await at(i).post(claims, claim(name)), 201)
				}
			}
		}))
		assert.ok(taken > 10, `${taken} allocations`)
	}, 300)
	for (const { metadata } of slices)
		expect(await at(0).delete(`${dra}/resourceslices/${metadata.name}`), 200)
}

async function rules(say, servers) {
	const at = (i) => servers[i % servers.length].client
	const ns = await newNamespace(at(0))
	const { claims } = paths(ns)
	const status = (name) => `${claims}/${name}/status`
	const names = ["a", "b", "c", "d", "e"]
	expect(await at(0).patch(`${core}/namespaces/${ns}`, { metadata: { labels: { "resource.kubernetes.io/admin-access": "true" } } }, "merge"), 200)
	await makeClaims(at(0), claims, names)

	await test(say("shares exclude exclusive holders only, and admin access nobody"), async () => {
		for (const [i, name] of ["a", "b"].entries())
			expect(await at(i).patch(status(name), allocated(gpu("gpu-0", { shareID: share(i) })), "merge"), 200)
		expectStatus(await at(2).patch(status("c"), allocated(gpu("gpu-0")), "merge"), 409, "Conflict")
		expect(await at(1).patch(status("c"), allocated(gpu("gpu-0", { adminAccess: true })), "merge"), 200)
		expect(await at(1).patch(status("a"), freed, "merge"), 200)
		expectStatus(await at(2).patch(status("d"), allocated(gpu("gpu-0")), "merge"), 409, "Conflict", /held by claim .*\/b$/)
		expect(await at(1).patch(status("b"), freed, "merge"), 200)
		expect(await at(2).patch(status("d"), allocated(gpu("gpu-0")), "merge"), 200)
		expectStatus(await at(0).patch(status("a"), allocated(gpu("gpu-0", { shareID: share(0) })), "merge"), 409, "Conflict")
		expect(await at(0).patch(status("a"), allocated(gpu("gpu-0", { adminAccess: true })), "merge"), 200)
		for (const name of ["a", "c", "d"])
			expect(await at(0).patch(status(name), freed, "merge"), 200)
	})

	await test(say("shares that are taken at once are all given, of a device that no slice has"), async () => {
		const answers = await Promise.all(names.map((name, i) => at(i).patch(status(name), allocated(gpu("gpu-0", { shareID: share(i) })), "merge")))
		assert.deepEqual(answers.map(({ code }) => code), names.map(() => 200))
		for (const name of names)
			expect(await at(0).patch(status(name), freed, "merge"), 200)
	})

	await test(say("a holder writes its whole status again, and its devices' conditions"), async () => {
		const stored = expect(await at(0).patch(status("a"), allocated(gpu("gpu-0")), "merge"), 200)
		const reserved = expect(await at(1).put(status("a"), { ...stored, status: { ...stored.status, reservedFor: [{ resource: "pods", name: "p", uid: "u" }] } }), 200)
		const devices = [{ driver: "gpu.example.com", pool: "node-1", device: "gpu-0", data: { a: 1 } }]
		expect(await at(2).put(status("a"), { ...reserved, status: { ...reserved.status, devices } }), 200)
		expect(await at(0).patch(`${claims}/a`, { metadata: { labels: { a: "b" } } }, "merge"), 200)
		expect(await at(1).patch(`${status("a")}?dryRun=All`, { status: { allocation: null, reservedFor: null } }, "merge"), 200)
		expectStatus(await at(2).patch(`${status("b")}?dryRun=All`, allocated(gpu("gpu-0")), "merge"), 409, "Conflict")
		expect(await at(1).patch(`${status("b")}?dryRun=All`, allocated(gpu("gpu-1")), "merge"), 200)
		expect(await at(2).patch(status("c"), allocated(gpu("gpu-1")), "merge"), 200)
	})

	await test(say("a claim that is being deleted holds its devices until they are released"), async () => {
		expect(await at(0).patch(`${claims}/c`, { metadata: { finalizers: ["example.com/keep"] } }, "merge"), 200)
		expect(await at(1).delete(`${claims}/c`), 200)
		expectStatus(await at(2).patch(status("d"), allocated(gpu("gpu-1")), "merge"), 409, "Conflict")
		expect(await at(0).patch(`${claims}/c`, { metadata: { finalizers: null } }, "merge"), 200)
		expect(await at(1).patch(status("d"), allocated(gpu("gpu-1")), "merge"), 200)
	})

	await test(say("the holder is named to those only who may read it"), async () => {
		const group = "rbac.authorization.k8s.io", rbac = `/apis/${group}/v1`, elsewhere = await newNamespace(at(0))
		const subjects = [{ kind: "User", name: "blind", apiGroup: group }]
		const rights = [[`clusterrole`, "", [{ apiGroups: ["resource.k8s.io"], resources: ["resourceclaims/binding"], verbs: ["patch"] }]],
			["role", `/namespaces/${elsewhere}`, [{ apiGroups: ["resource.k8s.io"], resources: ["resourceclaims", "resourceclaims/status"], verbs: ["get", "patch"] }]]]
		for (const [kind, where, rules] of rights) {
			const Kind = kind === "role" ? "Role" : "ClusterRole"
			expect(await at(0).post(`${rbac}${where}/${kind}s`, { apiVersion: `${group}/v1`, kind: Kind, metadata: { name: "blind" }, rules }), 201)
			expect(await at(0).post(`${rbac}${where}/${kind}bindings`, {
				apiVersion: `${group}/v1`, kind: `${Kind}Binding`, metadata: { name: "blind" }, roleRef: { apiGroup: group, kind: Kind, name: "blind" }, subjects,
			}), 201)
		}
		const there = paths(elsewhere).claims
		await makeClaims(at(0), there, ["x", "y"])
		for (const server of servers) {
			const blind = server.as({ token: "token-blind" })
			await until("its rights", async () => (await blind.get(`${there}/x`)).code === 200)
			const refusal = expectStatus(await blind.patch(`${there}/x/status`, allocated(gpu("gpu-0")), "merge"), 409, "Conflict",
				/^Operation cannot be fulfilled on resourceclaims\.resource\.k8s\.io "x": device gpu\.example\.com\/node-1\/gpu-0 is held by another claim$/)
			assert.deepEqual(refusal.details.causes, [{ reason: "DeviceHeld", field: "status.allocation.devices.results[0]" }])
			blind.close()
		}
		const blind = servers[0].as({ token: "token-blind" })
		expect(await at(1).patch(`${there}/y/status`, allocated(gpu("gpu-2")), "merge"), 200)
		const named = expectStatus(await blind.patch(`${there}/x/status`, allocated(gpu("gpu-3"), gpu("gpu-2")), "merge"), 409, "Conflict")
		assert.deepEqual(named.details.causes, [{ reason: "DeviceHeld", message: `${elsewhere}/y`, field: "status.allocation.devices.results[1]" }])
		blind.close()
	})
}

// Servers are killed while clients race; what is there afterwards is right, and so is what follows.
async function crashes(say, servers) {
	const { claims } = paths(await newNamespace(servers[0].client))
	const names = Array.from({ length: RACERS }, (_, i) => `c${i}`)
	const status = (name) => `${claims}/${name}/status`
	await makeClaims(servers[0].client, claims, names)

	await test(say("a server that is killed amid a race leaves no second holder"), async () => {
		for (let round = 0; round < 4; round++) {
			const device = `gpu-${round}`
			const victim = servers[round % servers.length]
			let answered
			const first = new Promise((resolve) => { answered = resolve })
			const racing = names.map(async (name, i) => {
				try {
					const answer = await servers[(i + round) % servers.length].client.patch(status(name), allocated(gpu(device)), "merge")
					return answer.code
				} catch {
					return undefined // lost with the server
				} finally {
					answered()
				}
			})
			await first
			await victim.kill()
			const codes = await Promise.all(racing)
			await victim.begin()
			assert.ok(codes.filter((code) => code === 200).length <= 1, codes.join())
			const now = await holders(servers[0].client, claims, device)
			assert.ok(now.length <= 1, now.join())
			for (const [i, code] of codes.entries())
				assert.ok(code !== 200 || now[0] === names[i], `${names[i]} was acknowledged, ${now} has it`)
			const [holder] = now
			for (const server of servers) {
				const other = names.find((name) => name !== holder)
				const answer = await server.client.patch(status(other), allocated(gpu(device)), "merge")
				if (holder)
					expectStatus(answer, 409, "Conflict", /is held by claim/)
				else
					expect(await server.client.patch(status(other), freed, "merge"), 200)
			}
			if (holder)
				expect(await victim.client.patch(status(holder), freed, "merge"), 200)
		}
	}, 300)
}

async function switches(say, backend, flag) {
	const server = await startServer(backend, { folder: `${scratch}/${unique("off")}`, flags: flag })
	const { claims } = paths(await newNamespace(server.client))
	const status = (name) => `${claims}/${name}/status`
	await makeClaims(server.client, claims, ["a", "b", "c"])

	await test(say(`${flag.join(" ")}: as upstream, a device may be given twice`), async () => {
		for (const name of ["a", "b"])
			expect(await server.client.patch(status(name), allocated(gpu("gpu-0")), "merge"), 200)
	})

	await test(say(`${flag.join(" ")}: as upstream, capacity and counters may be given twice`), async () => {
		for (const { pool, contents, result } of kinds) {
			const names = Array.from({ length: RACERS }, (_, i) => `${pool}-${i}`)
			await makeClaims(server.client, claims, names)
			for (const slice of slicesOf(pool, contents))
				expect(await server.client.post(`${dra}/resourceslices`, slice), 201)
			for (const [i, name] of names.entries())
				expect(await server.client.patch(status(name), allocated(result(i)), "merge"), 200)
		}
	})
	await server.stop()
	const again = await startServer(backend, { folder: server.folder, etcd: server.etcd, prefix: server.prefix })

	await test(say(`after ${flag.join(" ")}: holders stay, and a third is refused until both are gone`), async () => {
		expect(await again.client.patch(status("a"), { status: { reservedFor: [{ resource: "pods", name: "p", uid: "u" }] } }, "merge"), 200)
		for (const name of ["a", "b"]) {
			expectStatus(await again.client.patch(status("c"), allocated(gpu("gpu-0")), "merge"), 409, "Conflict")
			expect(await again.client.patch(status(name), { status: { allocation: null, reservedFor: null } }, "merge"), 200)
		}
		expect(await again.client.patch(status("c"), allocated(gpu("gpu-0")), "merge"), 200)
	})

	await test(say(`after ${flag.join(" ")}: what was given stays, and more is refused until it fits`), async () => {
		for (const { pool, reason, result } of kinds) {
			const name = (i) => `${pool}-${i}`
			expect(await again.client.patch(status(name(1)), { status: { reservedFor: [{ resource: "pods", name: "p", uid: "u" }] } }, "merge"), 200)
			for (let i = RACERS - 1; i >= FIT; i--) {
				expect(await again.client.patch(status(name(i)), freed, "merge"), 200)
				const refusal = expectStatus(await again.client.patch(status(name(i)), allocated(result(i)), "merge"), 409, "Conflict")
				assert.deepEqual(causes(refusal), [`${reason} status.allocation.devices.results[0]`])
			}
			expect(await again.client.patch(status(name(0)), freed, "merge"), 200)
			expect(await again.client.patch(status(name(RACERS - 1)), allocated(result(RACERS - 1)), "merge"), 200)
		}
	})
	await again.stop()
}

for (const backend of backends) {
	const say = (name) => `${backend}: ${name}`
	const servers = await startServers(backend)
	await races(say, servers)
	for (const kind of kinds)
		await offers(say, servers, kind)
	await rules(say, servers)
	await crashes(say, servers)
	for (const server of servers)
		await server.stop()
	await switches(say, backend, ["--feature-gates", "DeviceAllocationFence=false"])
	await switches(say, backend, ["--disable-admission-plugins", "DeviceAllocationFence"])
}
finish()
