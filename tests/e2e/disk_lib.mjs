// A loop device of the test's own: what the disk_*_test.mjs share.
import { spawn, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs"
import { scratch } from "./lib.mjs"

export const mib = 1024 * 1024

// A loop device over a file, { path, name }, that goes with the test. A machine that cannot make one skips the test.
export function makeLoop() {
	const file = `${scratch}/disk.img`
	writeFileSync(file, "")
	truncateSync(file, 64 * mib)
	const made = spawnSync("losetup", ["-f", "--show", file], { encoding: "utf8" })
	const path = made.stdout?.trim()
	if (made.status === 0) {
		process.on("exit", () => spawnSync("losetup", ["-d", path]))
		if (spawnSync("dd", [`if=${path}`, "of=/dev/null", "bs=1M", "count=1", "iflag=direct"]).status === 0)
			return { path, name: path.slice("/dev/".length) }
	}
	console.log(`ok 1 - disks # SKIP no loop device: ${(made.stderr || String(made.error ?? "it cannot be read")).trim()}`)
	console.log("1..1")
	process.exit(0)
}

// Writes 4 MiB without the cache, then sleeps `rest` seconds, again and again until end(); in the control group `group` if it is set.
export function startWriter(loop, { rest = 0.1, group } = {}) {
	const enter = group ? `echo $$ >${group}/cgroup.procs; ` : ""
	const child = spawn("sh", ["-c", `${enter}while :; do dd if=/dev/zero of=${loop.path} bs=1M count=4 oflag=direct conv=notrunc status=none; sleep ${rest}; done`])
	process.on("exit", () => child.kill("SIGKILL"))
	return {
		end: () => new Promise((resolve) => {
			child.on("close", resolve)
			child.kill("SIGKILL")
		}),
	}
}

let ours = false // the folder of all pods

// Makes a control group with a kubelet's name, in which the kernel counts. If it cannot, the group is undefined, with the reason.
export function makeGroup(loop, uid) {
	const v1 = existsSync("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device")
	const v2 = existsSync("/sys/fs/cgroup/cgroup.procs") ? "/sys/fs/cgroup" : "/sys/fs/cgroup/unified"
	const top = v1 ? "/sys/fs/cgroup/blkio" : v2, all = `${top}/kubepods`, pod = `${all}/pod${uid}`
	ours ||= !existsSync(all)
	try {
		if (!v1 && ours)
			writeFileSync(`${top}/cgroup.subtree_control`, "+io")
		mkdirSync(pod, { recursive: true })
		process.on("exit", () => [pod, ...(ours ? [all] : [])].forEach((d) => spawnSync("rmdir", [d])))
		// Since Linux 6.10 version 1 counts on a device only when it has been given a limit there.
		if (v1)
			writeFileSync(`${pod}/blkio.throttle.write_bps_device`, `${readFileSync(`/sys/block/${loop.name}/dev`, "utf8").trim()} 1099511627776`)
		else
			writeFileSync(`${all}/cgroup.subtree_control`, "+io")
		return { path: pod }
	} catch (e) {
		return { why: String(e.message) }
	}
}
