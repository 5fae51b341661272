#!/usr/bin/env node
// topology-exporter - keeps the NodeResourceTopology object of this node true, from the two watches of PodResources
// alone: no List, no polling.
//
//	ListAndWatch ---------------------> PodsView ---------+
//	                                                      +--> fieldsOf() --> Writer --> API server
//	ListAndWatchAllocatableResources -> AllocatableView --+
//
// Here is what does I/O; view.mjs and topology.mjs decide and do none. The object is not deleted at exit: the node's
// resources are still there, and the next start goes on from it.
import { CustomObjectsApi, KubeConfig } from "@kubernetes/client-node"
import { parseArgs } from "node:util"
import { Machine } from "./machine.mjs"
import { connect, follow } from "./streams.mjs"
import { fieldsOf } from "./topology.mjs"
import { AllocatableView, PodsView } from "./view.mjs"
import { Writer } from "./writer.mjs"

const USAGE = `usage: topology-exporter [flags]
  --node-name NAME         name of this node, and of the object; default: $NODE_NAME
  --socket PATH            of PodResources with watch; default: /var/lib/kubelet/pod-resources/kubelet.sock
  --kubeconfig FILE        how to reach the API server; default: as a pod of the cluster
  --attribute NAME=VALUE   an attribute of the object, such as topologyManagerPolicy=single-numa-node; may be repeated
  --delay MS               how long changes are gathered before they are written; default: 50
  --sysfs-root PATH        where the machine says which CPUs are on which NUMA node; default: /sys
`

function readFlags() {
	const text = (value) => ({ type: "string", default: value })
	const { values } = parseArgs({
		options: {
			"node-name": text(process.env.NODE_NAME),
			socket: text("/var/lib/kubelet/pod-resources/kubelet.sock"),
			kubeconfig: text(undefined),
			attribute: { type: "string", multiple: true, default: [] },
			delay: text("50"),
			"sysfs-root": text("/sys"),
			help: { type: "boolean" },
		},
	})
	if (values.help) {
		process.stdout.write(USAGE)
		process.exit(0)
	}
	if (!values["node-name"])
		throw new Error("no --node-name, and no NODE_NAME in the environment")
	if (!/^\d{1,6}$/.test(values.delay))
		throw new Error(`--delay ${values.delay} is no number of milliseconds`)
	return values
}

// "a=b" as { name, value }.
function attribute(text) {
	const at = text.indexOf("=")
	if (at < 1)
		throw new Error(`--attribute ${text} is not NAME=VALUE`)
	return { name: text.slice(0, at), value: text.slice(at + 1) }
}

function apiClient(kubeconfig) {
	const config = new KubeConfig()
	if (kubeconfig)
		config.loadFromFile(kubeconfig)
	else if (process.env.KUBERNETES_SERVICE_HOST)
		config.loadFromCluster()
	else
		throw new Error("no --kubeconfig, and this is no pod of a cluster")
	return config.makeApiClient(CustomObjectsApi)
}

function log(message) {
	process.stderr.write(`${new Date().toISOString()} ${message}\n`)
}

function run(flags) {
	const machine = new Machine(flags["sysfs-root"])
	const pods = new PodsView(), offer = new AllocatableView()
	const attributes = flags.attribute.map(attribute)
	const writer = new Writer({
		api: apiClient(flags.kubeconfig),
		name: flags["node-name"],
		wanted: () => fieldsOf(pods, offer, machine, attributes),
		delay: Number(flags.delay),
		log,
	})
	const client = connect(flags.socket)
	const hooks = { changed: () => writer.poke(), log }
	log(`following ${flags.socket}`)
	follow(client, "ListAndWatch", pods, hooks)
	follow(client, "ListAndWatchAllocatableResources", offer, hooks)
}

// A write that is under way reaches the server or does not; both are states that were true.
for (const signal of ["SIGINT", "SIGTERM"])
	process.once(signal, () => process.exit(0))

try {
	run(readFlags())
} catch (e) {
	process.stderr.write(`topology-exporter: ${e.message}; see --help\n`)
	process.exit(2)
}
