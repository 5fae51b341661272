// Scenes: what runs before a page's first command. Each is a function of the page's terminal; docs_lib.mjs has the sandbox, in which
// every page has the whole machine for itself: default ports and folders are free, the host is called n1, and devplane is
// installed in /usr/local.
import assert from "node:assert/strict"
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

async function deviceClass(terminal, kind) {
	const text = `{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: ${kind}}, spec: {selectors: [{cel: {expression: device.driver == "${kind}.sim.devplane.dev"}}]}}`
	await terminal.finish(`kubectl create -f - <<END\n${text}\nEND`)
}

const machineFiles = `
m=/run/machine; sys=$m/sys/devices/system; mkdir -p $sys/node/node0 $sys/node/node1 $sys/cpu $m/proc
for id in 0 1; do echo "Node $id MemTotal:       8388608 kB" >$sys/node/node$id/meminfo; done
echo 0-3 >$sys/node/node0/cpulist; echo 4-7 >$sys/node/node1/cpulist; echo 0-7 >$sys/cpu/online
printf 'MemTotal:       16777216 kB\nSwapTotal:      0 kB\n' >$m/proc/meminfo
for cpu in 0 1 2 3 4 5 6 7; do
	mkdir -p $sys/cpu/cpu$cpu/topology
	echo $((cpu / 4)) >$sys/cpu/cpu$cpu/topology/physical_package_id
	echo $((cpu % 4)) >$sys/cpu/cpu$cpu/topology/core_id
done`

const machineFlags = "--runtime hollow --sysfs-root /run/machine/sys --procfs-root /run/machine/proc --cpu-manager-policy static"
	+ " --reserved-cpus 0 --memory-manager-policy Static --kube-reserved memory=1Gi --reserved-memory 0:memory=512Mi --reserved-memory 1:memory=512Mi"

// `devplane up --demo`: two hollow nodes with simulated devices in 9 slices, and classes of them.
async function demo(terminal) {
	const run = await terminal.finish("devplane up --demo --detach")
	assert.equal(run.status(), 0, run.text())
	await terminal.finish("export KUBECONFIG=/var/lib/devplane/admin.kubeconfig")
	terminal.closing.push("devplane down")
	await when(terminal, "[ $(devplane get resourceslices -o name | wc -l) = 9 ]")
}

// containerd where a machine has it: its socket in /run/containerd, CNI plugins in /opt/cni/bin, and no network yet: what
// /etc/cni/net.d gets later counts. It knows the image busybox:1.
const containerdFiles = `
. /run/src/tests/e2e/containerd_lib.sh
eval "$(declare -f containerd_config | sed '1s/containerd_config/containerd_config_of_lib/')"
containerd_config() {
	containerd_config_of_lib "$@" && sed -i 's,bin_dir = .*,bin_dir = "/opt/cni/bin",; s,conf_dir = .*,conf_dir = "/etc/cni/net.d",' "$1/config.toml"
}
mkdir -p /opt/cni/bin /etc/cni/net.d /run/containerd
ln -s /usr/lib/cni/* /opt/cni/bin/
set +m # as in a script: setsid is no leader of a group then
start_containerd /run/ctd && ln -s /run/ctd/containerd.sock /run/containerd/containerd.sock &&
	import_busybox_image /run/ctd docker.io/library/busybox:1
ended=$?; set -m; (exit $ended)`

async function containerd(terminal) {
	const run = await terminal.finish(containerdFiles, 90)
	assert.equal(run.status(), 0, run.text())
	terminal.closing.push("stop_containerd /run/ctd")
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
	// Server, controller, scheduler, containerd without a network, and a card eth1.
	network: async (terminal) => {
		await scenes.server(terminal)
		await terminal.start("devplane scheduler")
		await containerd(terminal)
		await terminal.finish("ip link add eth1 type veth peer name far && ip link set far up && ip link set eth1 up")
	},
	// A cluster that stands for an existing one: slices have no status there, as kube-apiserver's have none, a node n1 whose agent
	// stands for a kubelet, some devices of a node without one, which is not lost for that; cluster.kubeconfig is its administrator.
	foreign: async (terminal) => {
		await terminal.start("devplane server --data-dir /run/cluster --feature-gates DRAResourceAvailabilityVisibility=false")
		await terminal.finish("cp /run/cluster/admin.kubeconfig cluster.kubeconfig; export KUBECONFIG=cluster.kubeconfig")
		await terminal.start("devplane controller --controllers '*,-resourceslice-status-controller' --metrics-bind-address 127.0.0.1:0 --leader-elect-resource-name upstream --node-monitor-grace-period 1h --node-startup-grace-period 1h")
		await when(terminal, "devplane get serviceaccount default -n kube-system && devplane get serviceaccount default")
		await node(terminal, "n1", "/var/lib/kubelet")
		await terminal.finish(`echo '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}' | kubectl create -f - -f examples/gpu.yaml; unset KUBECONFIG`)
	},
	// The command that README.md has its readers start: `make run` in another terminal.
	readme: async (terminal) => {
		const run = await terminal.finish("mkdir -p out && devplane up --demo --data-dir out/data --detach")
		assert.equal(run.status(), 0, run.text())
		terminal.closing.push("devplane down --data-dir out/data")
		await when(terminal, "[ $(devplane get resourceslices --kubeconfig out/data/admin.kubeconfig -o name | wc -l) = 9 ]")
	},
	// The scene `node` on a machine with one disk, sda, that is made up of files and rests.
	disk: async (terminal) => {
		await terminal.finish(`mkdir -p /run/block/sda/device; echo 2097152 >/run/block/sda/size; echo 8:0 >/run/block/sda/dev; mount --bind /run/block /sys/block
			echo '   8       0 sda 100 0 2000 10 50 0 1000 5 0 10 15 0 0 0 0 0 0' >/run/diskstats; mount --bind /run/diskstats /proc/diskstats`)
		await scenes.server(terminal)
		await node(terminal, "n1", "/var/lib/kubelet", "--runtime hollow")
	},
	// The scene `node` on a machine that is made up of files, the same everywhere: two NUMA nodes of four CPUs and 8 GiB, with
	// CPU 0 and 512 MiB of each kept from pods; CPUs and memory are given out by the static policies. And a class of GPUs.
	machine: async (terminal) => {
		await scenes.server(terminal)
		await terminal.start("devplane scheduler")
		await terminal.finish(machineFiles)
		await node(terminal, "n1", "/var/lib/kubelet", machineFlags)
		await deviceClass(terminal, "gpu")
	},
}

export async function open(scratch, local, scene) {
	const terminal = new Terminal(scratch, local)
	await terminal.finish(":")
	await scenes[scene](terminal)
	return terminal
}
