// The hostile tenants' attacks. Each has a user and a namespace of its own, and a pace: `every` is the time between two steps in ms.
// A step sends what the server should refuse, bound or bear; it counts by what came back. `bites` is after how many seconds refusals
// are expected.
import { once } from "node:events"
import * as http2 from "node:http2"
import * as tls from "node:tls"
import { core, dra } from "../e2e/api_lib.mjs"

const many = (n, make) => Array.from({ length: n }, (_, i) => make(i))
const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
const claims = (t) => `${dra}/namespaces/${t.name}/resourceclaims`
const pods = (t) => `${core}/namespaces/${t.name}/pods`
const maps = (t) => `${core}/namespaces/${t.name}/configmaps`
const large = (name, size = 1000000) => ({ metadata: { name }, data: { a: "x".repeat(size) } })

// --- bodies ---------------------------------------------------------------------------------

const long = (part) => Array(Math.floor(10_000 / (part.length + 2))).fill(part).join("||")

// A claim with 250 selectors, 32 in each request, that cost more to compile than an object may.
function heavyClaim() {
	const patterns = many(250, (i) => long(`"a".matches("(ab|cd|ef|gh|ij|kl|mn|op|qr|st|uv|wx|y${i}){1000}N")`))
	const requests = many(8, (r) => ({ name: `r${r}`, exactly: { deviceClassName: "gpu",
		selectors: patterns.slice(32 * r, 32 * r + 32).map((expression) => ({ cel: { expression } })) } }))
	return JSON.stringify({ metadata: { name: "heavy" }, spec: { devices: { requests } } })
}

// Selectors of which each costs 200,000 units on a device; only the very last is false.
const costly = (r, i) => `device.attributes.all(a,device.attributes.all(b,device.attributes.all(c,a!=b||c!="${r}-${i}")))${r === 31 && i === 31 ? "&&false" : ""}`
const costlyRequests = () => many(32, (r) => ({ name: `r${r}`, exactly: { deviceClassName: "costly",
	selectors: many(32, (i) => ({ cel: { expression: costly(r, i) } })) } }))

// Many small values, which take much more memory as a tree than as text.
const bushy = () => `{"metadata":{"name":"a"},"data":{},"x":[${"{},".repeat(980000)}{}]}`
const deep = () => `{"metadata":{"name":"a"},"x":${"[".repeat(500000)}${"]".repeat(500000)}}`

// --- connections ----------------------------------------------------------------------------

async function connect(t, settings = {}, more = {}) {
	const session = http2.connect(t.url, { ca: t.ca, settings, ...more })
	session.on("error", () => {})
	session.on("close", () => (t.session = undefined))
	await once(session, "remoteSettings")
	return session
}

// Sends a request and does not read the reply. `counts` gets its status, or the reset.
function open(t, session, head, body) {
	const stream = session.request({ ...(t.token && { authorization: `Bearer ${t.token}` }), ...head }, { endStream: body === undefined })
	stream.on("error", () => {})
	stream.on("response", (answer) => t.count(answer[":status"]))
	stream.on("close", () => stream.rstCode && t.count(`reset ${stream.rstCode}`))
	if (body !== null && body !== undefined)
		stream.end(body)
	return stream
}

// --- the table ------------------------------------------------------------------------------

export const attacks = {
	// Small reads as fast as the pace allows, many at a time.
	flood: { every: 50, async step(t) {
		await Promise.all(many(20, async () => t.answer(await t.client.get(maps(t)))))
	} },
	expressions: { every: 1500, bites: 10, async step(t) {
		t.body ??= heavyClaim()
		t.answer(await t.client.post(`${claims(t)}?dryRun=All`, t.body))
	} },
	// Pods that the scheduler cannot place without much work; two at a time.
	selectors: { every: 5000, async step(t, i) {
		const name = `costly-${i}`
		t.answer(await t.client.post(claims(t), { metadata: { name }, spec: { devices: { requests: costlyRequests() } } }))
		t.answer(await t.client.post(pods(t), { metadata: { name }, spec: { automountServiceAccountToken: false,
			resourceClaims: [{ name: "c", resourceClaimName: name }], containers: [{ name: "main", image: "none" }] } }))
		await t.client.delete(`${pods(t)}/costly-${i - 2}`, { gracePeriodSeconds: 0 })
		await t.client.delete(`${claims(t)}/costly-${i - 2}`)
	} },
	// Large answers on streams without a window, until the connection is refused; then a new one.
	unread: { every: 700, bites: 90, async step(t) {
		t.body ??= JSON.stringify({ spec: { nonResourceAttributes: { path: `/${"x".repeat(2900000)}`, verb: "get" } } })
		t.session ??= await connect(t, { initialWindowSize: 0 })
		open(t, t.session, { ":method": "POST", ":path": reviews, "content-type": "application/json" }, t.body)
	} },
	// Bodies that come a byte at a time.
	slow: { every: 500, bites: 90, async step(t) {
		t.session ??= await connect(t)
		t.open = (t.open ?? []).filter((stream) => !stream.closed && !stream.destroyed)
		if (t.open.length < 50)
			t.open.push(open(t, t.session, { ":method": "POST", ":path": maps(t), "content-type": "application/json" }, null))
		t.open.forEach((stream) => stream.write(" "))
	} },
	// Up to 500 watches that nobody reads, on objects that change.
	watches: { every: 100, async step(t, i) {
		t.sessions ??= []
		if (t.sessions.length < 4 && i % 125 === 0)
			t.sessions.push(await connect(t, { initialWindowSize: 0 }))
		const session = t.sessions.at(-1)
		if (!session.closed && i < 500)
			open(t, session, { ":path": `${maps(t)}?watch=true` })
		const name = `m${i % 10}`, answer = await t.client.put(`${maps(t)}/${name}`, large(name, 1000 + i % 7))
		t.answer(answer.code === 404 ? await t.client.post(maps(t), large(name, 1000)) : answer)
	} },
	lists: { every: 1000, async prepare(t) {
		for (let i = 0; i < 100; i++)
			await t.client.post(maps(t), large(`m${i}`, 100000))
	}, async step(t) {
		t.answer(await t.client.get(maps(t)))
		const terms = many(4000, (i) => `v${i}`).join(",")
		t.answer(await t.client.get(`${maps(t)}?labelSelector=${encodeURIComponent(`a notin (${terms})`)}&limit=1`))
	} },
	rewrites: { every: 500, async prepare(t) {
		await t.client.post(maps(t), large("a"))
	}, async step(t, i) {
		t.answer(await t.client.put(`${maps(t)}/a`, large("a", 1000000 + i % 100)))
	} },
	bodies: { every: 1000, bites: 10, async step(t, i) {
		t.bodies ??= [bushy(), deep(), `{"metadata":{"name":"${"x".repeat(3200000)}"}}`, `{"metadata":{"name":"A b"},"data":{"a":"${"x".repeat(1100000)}"}}`]
		t.answer(await t.client.post(maps(t), t.bodies[i % t.bodies.length]))
	} },
	patches: { every: 1000, async prepare(t) {
		await t.client.post(maps(t), { metadata: { name: "p" }, data: Object.fromEntries(many(5000, (i) => [`k${i}`, "v"])) })
	}, async step(t) {
		const operations = many(10000, (i) => ({ op: "test", path: `/data/k${i % 5000}`, value: "v" }))
		t.answer(await t.client.patch(`${maps(t)}/p`, operations, "patch"))
	} },
	// Connections without a credential: some are kept, some come and go, and some have large heads.
	strangers: { every: 200, bites: 10, async step(t, i) {
		const { hostname, port } = new URL(t.url)
		const socket = tls.connect({ host: hostname, port: Number(port), ca: t.ca })
		socket.on("error", () => t.count("closed"))
		t.sockets = [...(t.sockets ?? []), socket].filter((s) => !s.destroyed)
		if (t.sockets.length > 200)
			t.sockets.shift().destroy()
		if (i % 10)
			return
		const stranger = { ...t, token: undefined }
		t.heads ??= await connect(stranger, { initialWindowSize: 0 }, { maxSendHeaderBlockLength: 131072 })
		if (t.heads.closed || t.heads.destroyed)
			t.heads = undefined
		else
			many(20, () => open(stranger, t.heads, { ":path": core, "x-filler": "x".repeat(60000) }))
	} },
}

export const names = Object.keys(attacks)
