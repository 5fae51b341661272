// A machine that is made up of files, as in sysfs and procfs: two NUMA nodes of four CPUs and 8 GiB, of which CPU 0
// and 512 MiB of each node are kept from pods. Shared by the tests of NUMA.
import { mkdirSync, renameSync, writeFileSync } from "node:fs"
import { scratch } from "./lib.mjs"

const GIB = 1 << 20 // KiB

export const sys = `${scratch}/sys`
export const proc = `${scratch}/proc`

export function put(path, text) {
	mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true })
	writeFileSync(`${path}.new`, `${text}\n`)
	renameSync(`${path}.new`, path)
}

// A file is old or new, as the kernel's are; the agent may look between two of them. Those of CPUs and of all memory, which
// tests wait for, are the last.
export function putMachine({ online = "0-7", nodes = ["0-3", "4-7"], gib = [8, 8] } = {}) {
	for (const [id, cpulist] of nodes.entries()) {
		put(`${sys}/devices/system/node/node${id}/meminfo`, `Node ${id} MemTotal:       ${gib[id] * GIB} kB`)
		put(`${sys}/devices/system/node/node${id}/cpulist`, cpulist)
	}
	put(`${proc}/meminfo`, `MemTotal:       ${gib.reduce((a, b) => a + b) * GIB} kB\nSwapTotal:      0 kB`)
	put(`${sys}/devices/system/cpu/online`, online)
}

for (let cpu = 0; cpu < 8; cpu++) {
	put(`${sys}/devices/system/cpu/cpu${cpu}/topology/physical_package_id`, cpu >> 2)
	put(`${sys}/devices/system/cpu/cpu${cpu}/topology/core_id`, cpu & 3)
}
putMachine()

// Flags of an agent on it, with the static policies.
export const machineFlags = [
	"--sysfs-root", sys, "--procfs-root", proc, "--machine-check-period", "50ms",
	"--cpu-manager-policy", "static", "--reserved-cpus", "0",
	"--memory-manager-policy", "Static", "--kube-reserved", "memory=1Gi",
	"--reserved-memory", "0:memory=512Mi", "--reserved-memory", "1:memory=512Mi",
]
