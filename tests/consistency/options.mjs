// The command line.
import { parseArgs } from "node:util"

const HELP = `usage: tests/consistency/run BINARY [--setup etcd|lmdb|both] [--seconds N] [--epoch N] [--seed N] [--clients N]
                             [--faults KIND,..] [--workloads NAME,..] [--keep] [--verbose]

Runs servers, clients and faults, records every operation, and checks the history: objects are
linearizable, lists are snapshots, watches are complete and in order, and leases, quotas, node ports
and devices are held once. Prints a summary with times of unavailability; exits with 1 if it finds a
violation, and keeps the history of the epoch that has it.

  --setup      etcd: three servers on three members of etcd; lmdb: one server (default both)
  --seconds    of faults on each setup (default 60)
  --epoch      seconds after which clients begin anew with other objects, and the checker checks (default 60)
  --seed       of the faults and of what clients do (default: from the clock)
  --clients    (default 64)
  --faults     FAULTS, or single ones such as "pause a server" (default all; as
               another user than root only kills and pauses; clock needs libfaketime)
  --workloads  WORK (default all)
  --keep       keep histories and logs of runs without a finding, too
  --verbose    print each fault
`

export function options(argv, { faults, names, work }) {
	const one = { type: "string" }, flag = { type: "boolean" }
	const { values } = parseArgs({ args: argv, options: { setup: one, seconds: one, epoch: one, seed: one, clients: one, faults: one, workloads: one,
		keep: flag, verbose: flag, help: flag } })
	if (values.help) {
		console.log(HELP.replace("FAULTS", faults.join(",")).replace("WORK", work.join(",")))
		process.exit(0)
	}
	const chosen = (text, all, more = []) => {
		const list = text?.split(",").filter(Boolean) ?? all
		const odd = list.find((name) => !all.includes(name) && !more.includes(name))
		if (odd) {
			console.error(`there is no "${odd}"; there are ${[...all, ...more].join(", ")}`)
			process.exit(2)
		}
		return list
	}
	return {
		setups: values.setup && values.setup !== "both" ? chosen(values.setup, ["etcd", "lmdb"]) : ["etcd", "lmdb"],
		seconds: Number(values.seconds ?? 60),
		epoch: Number(values.epoch ?? 60),
		seed: Number(values.seed ?? Date.now() % 1000000),
		clients: Number(values.clients ?? 64),
		faults: chosen(values.faults, faults, names),
		work: chosen(values.workloads, work),
		keep: values.keep ?? false,
		verbose: values.verbose ?? false,
		folder: process.env.TMP,
		isolated: process.env.ISOLATED === "yes",
	}
}
