// The checker as a process: gets { plan }, reads the history in the plan's folder, and answers { checked: epoch, violations, stats }.
import { readdirSync, readFileSync } from "node:fs"
import { check } from "./check.mjs"

function* lines(folder) {
	for (const file of readdirSync(folder).filter((name) => name.endsWith(".ndjson"))) {
		for (const line of readFileSync(`${folder}/${file}`, "utf8").split("\n")) {
			if (line)
				yield JSON.parse(line)
		}
	}
}

process.on("disconnect", () => process.exit(0))
process.on("message", ({ plan }) => {
	try {
		process.send({ checked: plan.epoch, ...check(plan, lines(plan.folder)) })
	} catch (error) {
		process.send({ checked: plan.epoch, broken: String(error?.stack ?? error) })
	}
})
