// Firefox by WebDriver BiDi: Debian's firefox-esr speaks it on a port of its own. Only what page_firefox_test.mjs needs.
//
//	const firefox = await openFirefox()
//	await firefox.goto(address)
//	await firefox.run("document.title")
import { spawn } from "node:child_process"
import { existsSync, mkdirSync } from "node:fs"
import { WebSocket } from "ws" // comes with client-node
import { scratch, until } from "./lib.mjs"

const executable = "/usr/bin/firefox-esr"

export const hasFirefox = existsSync(executable)

// Commands and their answers; events go to `heard`.
function speak(socket, heard) {
	const waiting = new Map()
	let last = 0
	socket.on("message", (data) => {
		const message = JSON.parse(data)
		if (message.type === "event")
			return heard(message)
		const [resolve, reject] = waiting.get(message.id)
		waiting.delete(message.id)
		return message.type === "error" ? reject(new Error(`${message.error}: ${message.message}`)) : resolve(message.result)
	})
	return (method, params = {}) => new Promise((resolve, reject) => {
		waiting.set(++last, [resolve, reject])
		socket.send(JSON.stringify({ id: last, method, params }))
	})
}

export async function openFirefox() {
	const profile = `${scratch}/firefox`
	mkdirSync(profile)
	const child = spawn(executable, ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"], { env: { ...process.env, HOME: profile, MOZ_DISABLE_CONTENT_SANDBOX: "1" } })
	let said = ""
	child.stderr.on("data", (d) => (said += d))
	const address = () => /WebDriver BiDi listening on (ws:\S+)/.exec(said)?.[1]
	await until("Firefox", () => address() || child.exitCode !== null, 120)
	const socket = new WebSocket(`${address()}/session`)
	await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject))
	const faults = []
	const send = speak(socket, ({ method, params }) => method === "log.entryAdded" && /^(error|warn)$/.test(params.level) && faults.push(params.text))
	await send("session.new", { capabilities: { alwaysMatch: { acceptInsecureCerts: true } } })
	await send("session.subscribe", { events: ["log.entryAdded"] })
	const { contexts: [{ context }] } = await send("browsingContext.getTree")
	await send("browsingContext.setViewport", { context, viewport: { width: 1360, height: 860 } })

	const self = { faults }
	self.goto = (url) => send("browsingContext.navigate", { context, url, wait: "complete" })
	// The value of an expression in the page: text, a number or a truth value.
	self.run = async (expression) => {
		const { result, exceptionDetails } = await send("script.evaluate", { expression, target: { context }, awaitPromise: true, userActivation: true })
		if (exceptionDetails)
			throw new Error(exceptionDetails.text)
		return result.value
	}
	self.seen = (selector, text = "") => until(`${selector} ${text}`, () => self.run(`[...document.querySelectorAll(${JSON.stringify(selector)})].some((n) => n.getClientRects().length && n.textContent.includes(${JSON.stringify(text)}))`), 60)
	// Presses the mouse where the element is, as a hand does.
	self.click = async (selector) => {
		const place = JSON.parse(await self.run(`(() => {
			const n = document.querySelector(${JSON.stringify(selector)})
			n.scrollIntoView({ block: "center" })
			const { x, y, width, height } = n.getBoundingClientRect()
			return JSON.stringify({ x: Math.round(x + width / 2), y: Math.round(y + height / 2) })
		})()`))
		await send("input.performActions", { context, actions: [{ type: "pointer", id: "mouse", actions: [{ type: "pointerMove", ...place }, { type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 }] }] })
	}
	// Keys that are no characters: "{Enter}", as in type("abc{Enter}").
	const keys = { Home: "\uE011", End: "\uE010", Left: "\uE012", Up: "\uE013", Right: "\uE014", Down: "\uE015", Enter: "\uE007", Escape: "\uE00C", Tab: "\uE004" }
	self.type = (text) => send("input.performActions", { context, actions: [{ type: "key", id: "keys", actions: [...text.replace(/\{(\w+)\}/g, (_, name) => keys[name])].flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]) }] })
	self.close = async () => {
		socket.close()
		child.kill("SIGTERM")
		await new Promise((resolve) => child.once("exit", resolve))
	}
	return self
}
