// The friendly tenant: 40 requests a second on claims and pods. It is an open loop: a request is due at its time, whether or not those
// before it were answered, and its latency counts from when it was due. Asked by soak.mjs through messages.
import { Client, core, dra } from "../e2e/api_lib.mjs"

const INTERVAL_MS = 25
const KEPT = 40 // claims without a pod, and pods, that are there at a time
const cycle = ["get claim", "patch claim", "list claims", "get pod", "create claim", "get claim", "patch claim", "delete claim", "create pod", "get claim",
	"list pods", "patch claim", "create claim", "get claim", "get pod", "delete claim", "patch claim", "get claim", "delete pod", "get claim"]

const now = () => performance.now()
const results = {} // phase -> kind -> latencies in ms
const failures = {} // phase -> text -> count
const written = new Map() // annotation -> when the write was due
const placed = new Map() // pod -> when it was due
const claims = [], pods = [] // names; those of pods have a claim of the same name
let phase = "warm-up", serial = 0, underway = 0, client, name, paths, timer

const count = (text) => ((failures[phase] ??= {})[text] = (failures[phase][text] ?? 0) + 1)

function record(kind, ms, of = phase) {
	((results[of] ??= {})[kind] ??= []).push(ms)
}

// An annotation by which the watch knows the write again.
function marked(due) {
	const mark = `w${serial++}`
	written.set(mark, { due, phase })
	return { soak: mark }
}

const claimBody = (claim, due) => ({ metadata: { name: claim, annotations: marked(due) },
	spec: { devices: { requests: [{ name: "d", exactly: { deviceClassName: "friendly" } }] } } })

const podBody = (pod) => ({ metadata: { name: pod }, spec: { automountServiceAccountToken: false, terminationGracePeriodSeconds: 0,
	resourceClaims: [{ name: "c", resourceClaimName: pod }], containers: [{ name: "main", image: "none", resources: { claims: [{ name: "c" }] } }] } })

// One of those that are not deleted next.
const some = (list) => list[10 + Math.floor(Math.random() * (list.length - 10))]

// Each resolves to the answer, or to undefined if there is nothing to do it with.
const requests = {
	"get claim": () => client.get(`${paths.claims}/${some(claims)}`),
	"list claims": () => client.get(paths.claims),
	"patch claim": (due) => client.patch(`${paths.claims}/${some(claims)}`, { metadata: { annotations: marked(due) } }, "merge"),
	"get pod": () => client.get(`${paths.pods}/${some(pods)}`),
	"list pods": () => client.get(paths.pods),
	async "create claim"(due) {
		const claim = `c${serial++}`
		const answer = await client.post(paths.claims, claimBody(claim, due))
		if (answer.code === 201)
			claims.push(claim)
		return answer
	},
	async "delete claim"() {
		return claims.length > KEPT ? client.delete(`${paths.claims}/${claims.shift()}`) : undefined
	},
	async "create pod"(due) {
		if (claims.length < KEPT)
			return undefined
		const pod = claims.pop()
		placed.set(pod, { due, phase })
		const answer = await client.post(paths.pods, podBody(pod))
		if (answer.code === 201)
			pods.push(pod)
		return answer
	},
	async "delete pod"() {
		if (pods.length <= KEPT)
			return undefined
		const pod = pods.shift()
		const answer = await client.delete(`${paths.pods}/${pod}`)
		await client.delete(`${paths.claims}/${pod}`)
		return answer
	},
}

async function one(kind, due) {
	const of = phase
	underway++
	try {
		const answer = await requests[kind](due)
		if (!answer)
			return
		record(kind, now() - due, of)
		if (answer.code >= 300)
			count(`${kind}: ${answer.code} ${answer.text.slice(0, 200)}`)
	} catch (error) {
		count(`${kind}: ${error.message}`)
	} finally {
		underway--
	}
}

function onEvent({ type, object }) {
	const mark = written.get(object.metadata?.annotations?.soak)
	const pod = object.spec?.nodeName && placed.get(object.metadata.name)
	if (type === "ERROR")
		return count(`watch: ${object.message}`)
	if (mark) {
		written.delete(object.metadata.annotations.soak)
		record("watch delay", now() - mark.due, mark.phase)
	}
	if (pod) {
		placed.delete(object.metadata.name)
		record("scheduling", now() - pod.due, pod.phase)
	}
}

// Follows a collection for good: from where the last watch ended.
async function follow(path) {
	for (let version = ""; ;) {
		try {
			const { stream } = await client.begin("GET", `${path}?watch=true&allowWatchBookmarks=true${version}`, {}, undefined, new client.library.Agent(client.agent.options))
			let rest = ""
			for await (const data of stream.setEncoding("utf8")) {
				const lines = (rest + data).split("\n")
				rest = lines.pop()
				for (const line of lines) {
					const event = JSON.parse(line)
					version = `&resourceVersion=${event.object.metadata?.resourceVersion ?? ""}`
					onEvent(event)
				}
			}
		} catch (error) {
			count(`watch: ${error.message}`)
			await new Promise((resolve) => setTimeout(resolve, 100))
		}
	}
}

// Measures how late a timer is: the delay of this process, which all other figures include.
function beat(due) {
	setTimeout(() => {
		record("timer of client", Math.max(0, now() - due))
		beat(now() + 100)
	}, due - now())
}

// As many objects as there will be, so that lists are of the same length from the beginning.
async function prefill() {
	for (let i = 0; i < 2 * KEPT; i++)
		await one("create claim", now())
	for (let i = 0; i < KEPT; i++)
		await one("create pod", now())
}

async function begin(tenant) {
	client = new Client(tenant.url, tenant)
	name = tenant.name
	paths = { claims: `${dra}/namespaces/${name}/resourceclaims`, pods: `${core}/namespaces/${name}/pods` }
	follow(paths.claims)
	follow(paths.pods)
	await prefill()
	const began = now()
	let next = 0
	beat(now() + 100)
	timer = setInterval(() => {
		for (; began + next * INTERVAL_MS <= now(); next++)
			one(cycle[next % cycle.length], began + next * INTERVAL_MS)
	}, 5)
}

// Sends nothing more, waits for what is under way, and closes the connections that are not watches.
async function leave() {
	clearInterval(timer)
	for (const end = now() + 60000; underway && now() < end;)
		await new Promise((resolve) => setTimeout(resolve, 50))
	client.close()
}

const delays = ["watch delay", "scheduling", "timer of client"]
const actions = {
	begin,
	phase: (value) => { phase = value },
	pause: leave,
	look: () => ({ all: Object.entries(results[phase] ?? {}).filter(([kind]) => !delays.includes(kind)).flatMap(([, ms]) => ms) }),
	results: () => ({ results, failures, lost: { events: written.size, pods: placed.size } }),
}
const answer = async ({ action, value }) => ({ value: await actions[action](value) })
process.on("message", async (message) => process.send(await answer(message).catch((error) => ({ error: error.stack }))))
process.on("disconnect", () => process.exit())
