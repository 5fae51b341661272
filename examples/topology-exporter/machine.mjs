// machine - which NUMA nodes there are, and which CPUs belong to each: the one thing that zones need and the streams do
// not tell. From sysfs, read at start and again when a CPU is heard of that was not there then.
import { existsSync, readdirSync, readFileSync } from "node:fs"

// "0-2,5" as [0, 1, 2, 5].
function cpuList(text) {
	return text.trim().split(",").filter(Boolean).flatMap((range) => {
		const [from, to = from] = range.split("-").map(Number)
		return Array.from({ length: to - from + 1 }, (_, i) => from + i)
	})
}

export class Machine {
	#folder
	#nodeOf = new Map() // by CPU; one that goes off line keeps its place, as pods may still hold it
	#nodes = new Set()

	constructor(sysfs) {
		this.#folder = `${sysfs}/devices/system/node`
		this.#read()
	}

	get nodes() {
		return [...this.#nodes]
	}

	nodeOf(cpu) {
		if (!this.#nodeOf.has(cpu))
			this.#read()
		return this.#nodeOf.get(cpu) ?? this.#onlyNode()
	}

	// Some kernels know nothing of NUMA: then all CPUs are on node 0.
	#onlyNode() {
		return this.#nodeOf.size === 0 ? 0 : undefined
	}

	#read() {
		const names = existsSync(this.#folder) ? readdirSync(this.#folder) : []
		for (const [, id] of names.map((name) => /^node(\d+)$/.exec(name)).filter(Boolean)) {
			this.#nodes.add(Number(id))
			for (const cpu of cpuList(readFileSync(`${this.#folder}/node${id}/cpulist`, "utf8")))
				this.#nodeOf.set(cpu, Number(id))
		}
	}
}
