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

// As `devplane up --demo` has it: two hollow nodes with four simulated GPUs and two NICs each, and classes of them.
async function demo(terminal) {
	await server(terminal)
	await controller(terminal)
	await terminal.start("devplane scheduler")
	await terminal.finish("mkdir -p /var/lib/devplane/nodes")
	for (const name of ["demo-0", "demo-1"]) {
		const folders = `--root-dir /var/lib/devplane/nodes/${name} --cdi-dir /var/lib/devplane/cdi`
		await node(terminal, name, `/var/lib/devplane/nodes/${name}`, "--runtime hollow --cdi-dir /var/lib/devplane/cdi --metrics-bind-address 127.0.0.1:0")
		await terminal.start(`devplane driver sim --node-name ${name} ${folders}`)
		await terminal.start(`devplane driver sim --node-name ${name} ${folders} --kind nic --devices 2`)
	}
	for (const kind of ["gpu", "nic"])
		await terminal.finish(`kubectl create -f - <<END\n{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: ${kind}}, spec: {selectors: [{cel: {expression: device.driver == "${kind}.sim.devplane.dev"}}]}}\nEND`)
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
