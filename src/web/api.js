// api - the server as the page sees it: requests with the session's cookie, and lists that stay up to date.
//
// Every request carries X-Devplane-UI, without which the cookie does not count. A Follower lists a resource and watches it
// from there on: a watch that ends is continued where it was, one that is too old begins with a new list, and what
// cannot be reached is tried again, less and less often. Where connections are few, some lists share one: each is watched for a second in its turn.

const headers = { "X-Devplane-UI": "1", Accept: "application/json" }
const PAGE = 500
// How long a watch is. Where connections are few, another window may be waiting for one.
const WATCH_S = { usual: 290, few: 10 }
// Bookmarks come about every minute; silence for longer than this is a broken connection.
const SILENCE_MS = 110_000
const RETRY_MS = { first: 250, most: 10_000 }
const FORBIDDEN_MS = 60_000
const LOGOUT_MS = 10_000

export class Refusal extends Error {
	constructor(status, message) {
		super(message)
		this.status = status
	}
}

// The ways to log in besides a token, as the last 401 named them: "ui" if `devplane ui` serves the page, "oidc".
export let ways = []

async function refusal(response) {
	if (response.status === 401)
		ways = response.headers.get("X-Devplane-Login")?.split(" ") ?? ways
	let message = ""
	try {
		message = (await response.json()).message ?? ""
	} catch {
		// An answer from something else than our server.
	}
	return new Refusal(response.status, message || `The server answered ${response.status}.`)
}

export async function request(method, path, body, signal) {
	const options = { method, headers: { ...headers }, credentials: "same-origin", cache: "no-store", signal }
	if (body !== undefined) {
		options.headers["Content-Type"] = "application/json"
		options.body = JSON.stringify(body)
	}
	const response = await fetch(path, options)
	if (!response.ok)
		throw await refusal(response)
	return response
}

export const session = async () => (await request("GET", "/ui/session")).json()
// { clusters, explain }: the clusters that the page can show, if there are several, as [{ name, path }], where path goes before that of a
// request; and whether the server explains. `devplane ui` answers it; of an API server itself it is a file.
export const clusters = async () => (await request("GET", "/ui/clusters")).json()
// What explain-fit says: { namespace, pod, cluster }, where the server has explanations.
export const explain = async (what) => (await request("GET", `/ui/explain?${new URLSearchParams(what)}`)).json()
export const login = async (how) => (await request("POST", "/ui/login", how)).json()
export const logout = () => request("POST", "/ui/logout", undefined, AbortSignal.timeout(LOGOUT_MS))

// Calls `each` with every object of a stream of JSON lines, and `heard` for whatever arrives.
async function readLines(response, heard, each) {
	const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
	let rest = ""
	for (;;) {
		const { done, value } = await reader.read()
		if (done)
			return
		heard()
		const lines = (rest + value).split("\n")
		rest = lines.pop()
		for (const line of lines)
			if (line)
				each(JSON.parse(line))
	}
}

// A browser has six connections over HTTP/1.1, which it speaks over plain HTTP and with some proxies: not enough for a watch of everything.
// A page from the browser's cache does not know how it came, but its requests do.
export const fewConnections = () => globalThis.location?.protocol === "http:" ||
	["navigation", "resource"].some((type) => performance.getEntriesByType(type).some((e) => /^http\/1/.test(e.nextHopProtocol ?? "")))
// How long a turn is, and the silence after which its connection is broken.
const TURN_S = 1, TURN_SILENCE_MS = 30_000

// Lets one of many work at a time: slot after slot, and those of a slot one after the other. So a slot takes as long as any other, however many
// share it.
export class Turns {
	constructor() {
		this.slots = new Map() // name: those that wait
		this.busy = false
	}

	// What work() answers, when its turn has come.
	take(slot, work) {
		return new Promise((resolve, reject) => {
			const waiting = this.slots.get(slot) ?? []
			waiting.push(() => work().then(resolve, reject))
			this.slots.set(slot, waiting)
			this.go()
		})
	}

	async go() {
		if (this.busy)
			return
		this.busy = true
		while (this.slots.size) {
			const [slot, waiting] = this.slots.entries().next().value, next = waiting.shift()
			this.slots.delete(slot)
			if (waiting.length)
				this.slots.set(slot, waiting)
			await next()
		}
		this.busy = false
	}
}

// Options: path; turns and slot: it is watched in its turn where connections are few; selector (a field selector); replace(items), apply(object, gone); state("loading" | "ok" | "broken" |
// "forbidden" | "missing"); session(): whether there still is one, asked when something is refused.
export class Follower {
	constructor(options) {
		Object.assign(this, options)
		this.version = ""
		this.failures = 0
		this.stopped = this.paused = false
		this.wake = () => {}
	}

	start() {
		this.run()
		return this
	}

	stop() {
		this.stopped = true
		this.abort?.abort()
		this.wake()
	}

	// Uses no connection as long as it is paused, and goes on where it was.
	pause(paused) {
		if (this.paused === paused)
			return
		this.paused = paused
		if (paused)
			this.abort?.abort()
		else
			this.hurry()
	}

	// Tries at once what it would try later.
	hurry() {
		this.failures = 0
		this.wake()
	}

	async run() {
		this.state("loading")
		while (!this.stopped) {
			let pause = 0
			try {
				if (!this.version && !this.paused)
					await this.list()
				this.failures = 0
				const few = fewConnections()
				if (this.turns && few)
					await this.turns.take(this.slot, () => this.watch(TURN_S, TURN_SILENCE_MS))
				else
					await this.watch(few ? WATCH_S.few : WATCH_S.usual)
			} catch (error) {
				pause = this.stopped || this.paused ? 0 : await this.failed(error)
			}
			if ((pause || this.paused) && !this.stopped)
				await this.sleep(pause)
		}
	}

	// Until it is woken, or at most so long; while it is paused, until it is woken.
	sleep(ms) {
		return new Promise((resolve) => {
			const timer = this.paused ? 0 : setTimeout(resolve, ms)
			this.wake = () => {
				clearTimeout(timer)
				resolve()
			}
		})
	}

	// How long to wait before the next try.
	async failed(error) {
		// Without a session the user is anonymous and has few rights, so this is not a lack of rights.
		if ((error.status === 401 || error.status === 403) && !await this.session())
			return RETRY_MS.most
		if (error.status === 403 || error.status === 404) {
			this.version = ""
			this.state(error.status === 403 ? "forbidden" : "missing")
			return FORBIDDEN_MS
		}
		if (error.status === 410) {
			this.version = ""
			return this.failures++ ? RETRY_MS.first : 0
		}
		this.state("broken")
		const most = Math.min(RETRY_MS.most, RETRY_MS.first * 2 ** this.failures++)
		return most / 2 + Math.random() * most / 2
	}

	url(more) {
		// Servers print for people when a browser asks.
		const query = new URLSearchParams({ pretty: "false", ...more })
		if (this.selector)
			query.set("fieldSelector", this.selector)
		return `${this.path}?${query}`
	}

	async list() {
		const items = []
		let next = "", version = ""
		do {
			const response = await request("GET", this.url(next ? { limit: PAGE, continue: next } : { limit: PAGE }), undefined, this.fresh())
			const answer = await response.json()
			items.push(...answer.items ?? [])
			version = answer.metadata.resourceVersion
			next = answer.metadata.continue ?? ""
		} while (next)
		if (this.stopped)
			return
		this.replace(items)
		this.version = version
		this.state("ok")
	}

	fresh() {
		this.abort = new AbortController()
		return this.abort.signal
	}

	async watch(seconds, silence = SILENCE_MS) {
		if (this.stopped || this.paused || !this.version)
			return
		const signal = this.fresh(), { abort } = this
		const url = this.url({ watch: "true", allowWatchBookmarks: "true", timeoutSeconds: seconds, resourceVersion: this.version })
		let timer = setTimeout(() => abort.abort(), silence)
		const heard = () => {
			clearTimeout(timer)
			timer = setTimeout(() => abort.abort(), silence)
		}
		try {
			const response = await request("GET", url, undefined, signal)
			this.state("ok")
			await readLines(response, heard, (event) => this.take(event))
		} finally {
			clearTimeout(timer)
		}
		// A server that ends watches at once must not be asked all the time.
		await this.sleep(50)
	}

	take({ type, object }) {
		if (this.stopped)
			return
		if (type === "ERROR")
			throw new Refusal(object.code ?? 500, object.message ?? "")
		this.version = object.metadata.resourceVersion
		if (type !== "BOOKMARK")
			this.apply(object, type === "DELETED")
	}
}
