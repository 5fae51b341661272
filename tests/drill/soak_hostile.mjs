// The hostile tenants, all in one process with a low priority; asked by soak.mjs through messages. A step that has not ended when the
// next is due makes that one wait: the rate is bounded.
import { Client } from "../e2e/api_lib.mjs"
import { attacks } from "./soak_attacks.mjs"

const tenants = {}

const refusal = (what) => /^reset|^closed/.test(what) || (what >= 400 && what !== 404 && what !== 409)

function makeTenant(base) {
	const t = { ...base, client: new Client(base.url, base), counts: {} }
	t.count = (what) => (t.counts[what] = (t.counts[what] ?? 0) + 1)
	t.answer = ({ code }) => t.count(code)
	return t
}

async function prepare({ attacks: chosen, tenants: bases }) {
	for (const name of chosen) {
		tenants[name] = makeTenant(bases[name])
		await attacks[name].prepare?.(tenants[name])
	}
}

async function attack(name, t) {
	const { every, step } = attacks[name]
	for (let i = 0; ; i++) {
		const next = performance.now() + every
		await step(t, i).catch((error) => t.count(`closed: ${error.code ?? error.message}`))
		await new Promise((resolve) => setTimeout(resolve, Math.max(1, next - performance.now())))
	}
}

function begin() {
	for (const [name, t] of Object.entries(tenants))
		attack(name, t)
}

const counts = () => Object.fromEntries(Object.entries(tenants).map(([name, { counts }]) => {
	const sum = (wanted) => Object.entries(counts).filter(([what]) => wanted(what)).reduce((n, [, c]) => n + c, 0)
	return [name, { answers: sum(() => true), refused: sum((what) => refusal(what)), by: counts, bites: attacks[name].bites ?? null }]
}))

const actions = { prepare, begin, counts }
const answer = async ({ action, value }) => ({ value: await actions[action](value) })
process.on("message", async (message) => process.send(await answer(message).catch((error) => ({ error: error.stack }))))
process.on("disconnect", () => process.exit())
