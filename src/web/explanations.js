// explanations - what `devplane explain-fit` says about waiting pods: asked of the server one at a time, and kept while nothing changes that
// it depends on. Pure: `ask` is passed in.
const RETRY_MS = 1000, RETRIES = 5

export class Explanations {
	// ask({ namespace, pod }) answers with the object of explain-fit, or throws with a status; changed() is called when there is news;
	// version(w) differs when the answer for a waiting pod may.
	constructor({ ask, changed, version, pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms)), now = () => Date.now() }) {
		Object.assign(this, { ask, changed, version, pause, now })
		this.all = new Map() // name of the pod: { state: "asking" | "done" | "failed", answer, message, version, at }
		this.queue = []
		this.busy = false
	}

	// What is known about the pod; undefined if nothing was asked. `outdated` says that something has changed since.
	of(w) {
		const known = this.all.get(w.key)
		return known && { ...known, outdated: known.state !== "asking" && known.version !== this.version(w) }
	}

	// Asks for the pod, unless its answer is still true or comes already.
	want(w) {
		const known = this.of(w)
		if (known && known.state !== "failed" && !known.outdated)
			return
		this.all.set(w.key, { ...known, state: "asking" })
		this.queue.push(w)
		this.changed()
		this.work()
	}

	async work() {
		if (this.busy)
			return
		this.busy = true
		for (let w; (w = this.queue.shift());) {
			const version = this.version(w), told = await this.one(w)
			if (this.all.has(w.key))
				this.all.set(w.key, { ...told, version, at: this.now() })
			this.changed()
		}
		this.busy = false
	}

	// Another page of the same user may have the only turn.
	async one({ namespace, name }, tries = RETRIES) {
		try {
			return { state: "done", answer: await this.ask({ namespace, pod: name }) }
		} catch (error) {
			if (error.status !== 429 || !tries)
				return { state: "failed", message: error.message }
		}
		await this.pause(RETRY_MS)
		return this.one({ namespace, name }, tries - 1)
	}

	// Pods that wait no longer are forgotten.
	keep(names) {
		for (const key of this.all.keys())
			if (!names.has(key))
				this.all.delete(key)
	}

	forget() {
		this.all.clear()
		this.queue.length = 0
	}
}
