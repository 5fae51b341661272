// A containerd of the test's own, as containerd_lib.sh has it.
//
//	const containerd = startContainerd()                  // throws, with the reason, where containers cannot run
//	const containerd = startContainerd({ pluginRoot })    // with `devplane cni` in each pod's network
//	.. "--container-runtime-endpoint", containerd.socket ..
//	containerd.stop()                                     // or at the end of the process
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { devplane } from "./lib.mjs"

const library = fileURLToPath(new URL("containerd_lib.sh", import.meta.url))

// One function of the shell library; what it prints.
function call(name, ...args) {
	return callWith({}, name, ...args)
}

function callWith(env, name, ...args) {
	const { status, stdout, stderr } = spawnSync("bash", ["-c", '. "$0"; "$@"', library, name, ...args],
		{ encoding: "utf8", maxBuffer: 1 << 26, env: { ...process.env, ...env } })
	if (status !== 0)
		throw new Error(`${name} ${args.join(" ")}: ${stderr || stdout || `status ${status}`}`)
	return stdout.trim()
}

// Nobody but root can run containers: the only reason to skip.
export function containersPossible() {
	return process.getuid() === 0
}

export const image = "devplane.test/busybox:1"

const running = new Set()
process.on("exit", () => running.forEach((self) => self.stop()))
for (const signal of ["SIGINT", "SIGTERM"])
	process.on(signal, () => process.exit(130))

export function startContainerd({ pluginRoot } = {}) {
	const env = pluginRoot ? { CONTAINERD_PLUGIN: devplane, CONTAINERD_PLUGIN_ROOT: pluginRoot } : {}
	const folder = mkdtempSync("/tmp/dp-ctd-")
	const self = { folder, socket: `unix://${folder}/containerd.sock` }
	running.add(self)
	// Another image of busybox: its user, and its default command.
	self.image = (name, { entrypoint = [], user = "" } = {}) =>
		call("import_busybox_image", folder, name, JSON.stringify(entrypoint), user)
	// The daemon alone; containers go on.
	self.halt = () => call("containerd_halt", folder)
	self.begin = () => callWith(env, "start_containerd", folder)
	self.ctr = (...args) => execFileSync("ctr", ["-a", `${folder}/containerd.sock`, "-n", "k8s.io", ...args], { encoding: "utf8" })
	self.stop = () => {
		running.delete(self)
		call("stop_containerd", folder)
	}
	self.begin()
	return self
}
