// backoff - how long to wait before trying again: longer each time, never as long as the neighbours.
import { setTimeout as sleep } from "node:timers/promises"

const FIRST_MS = 100

export class Backoff {
	#most
	#next = FIRST_MS

	constructor(mostMs) {
		this.#most = mostMs
	}

	reset() {
		this.#next = FIRST_MS
	}

	async wait() {
		const ms = this.#next * (0.5 + Math.random() / 2)
		this.#next = Math.min(2 * this.#next, this.#most)
		await sleep(ms)
	}
}
