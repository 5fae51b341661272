// Scenes: what runs before a page's first command. Each is a function of the page's terminal; docs_lib.mjs has the sandbox, in which
// every page has the whole machine for itself: default ports and folders are free, the host is called n1, and devplane is
// installed in /usr/local.
import { Terminal } from "./docs_lib.mjs"
import { until } from "./lib.mjs"

// Waits until the shell command succeeds.
export async function when(terminal, command, seconds = 40) {
	let last
	await until(command, async () => {
		last = await terminal.finish(command)
		return last.status() === 0
	}, seconds).catch((e) => {
		throw new Error(`${e.message}\n${last?.text()}`)
	})
}

async function server(terminal, folder = "/var/lib/devplane") {
	await terminal.start(`devplane server --data-dir ${folder}`)
	await terminal.finish(`export KUBECONFIG=${folder}/admin.kubeconfig`)
}

async function controller(terminal) {
	await terminal.start("devplane controller --namespace-deletion-delay 0s")
	await when(terminal, "devplane get serviceaccount default")
}

async function node(terminal, name, root, flags = "--runtime hollow --metrics-bind-address 127.0.0.1:0") {
	await terminal.start(`devplane node --node-name ${name} --root-dir ${root} ${flags}`)
	await when(terminal, `devplane get node ${name} | grep -q ' Ready'`)
}

// As `devplane up --demo` has it: two hollow nodes with four simulated GPUs and two NICs each.
async function demo(terminal) {
	await terminal.finish("devplane up --demo --detach", 60)
	await terminal.finish("export KUBECONFIG=/var/lib/devplane/admin.kubeconfig")
	await when(terminal, "[ $(devplane get resourceslices -o name | wc -l) = 4 ]")
}

export const scenes = {
	// Nothing runs.
	nothing: async () => {},
	// An API server on /var/lib/devplane, and a controller; $KUBECONFIG is its administrator.
	server: async (terminal) => {
		await server(terminal)
		await controller(terminal)
	},
	// The same with a scheduler and the hollow node n1, whose folder is /var/lib/kubelet.
	node: async (terminal) => {
		await scenes.server(terminal)
		await terminal.start("devplane scheduler")
		await node(terminal, "n1", "/var/lib/kubelet", "--runtime hollow")
	},
	demo,
}

export async function open(scratch, local, scene) {
	const terminal = new Terminal(scratch, local)
	await terminal.finish(":")
	await scenes[scene](terminal)
	return terminal
}
