// KEP-4680's story with real containers: a pod uses two devices, one fails, the pod crash-loops, and `describe pod` shows why; the
// device recovers; the pod is replaced; a pod that has ended still shows what becomes of its device. The simulated vendor's
// driver, once as a DRA driver and once as a device plugin, under the agent, containerd and runc.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { containersPossible, image, startContainerd } from "./containerd_lib.mjs"
import { devplane, finish, scratch, start, test, until } from "./lib.mjs"
import { allocateClaim, healthOf, podOn, startCluster } from "./node_lib.mjs"

if (!containersPossible()) {
	console.log("ok 1 - containers # SKIP only root can run them")
	console.log("1..1")
	process.exit(0)
}

const logs = `${scratch}/logs`, cdi = `${scratch}/cdi`, state = `${scratch}/state`
mkdirSync(state)
const containerd = startContainerd()
const cluster = await startCluster({ names: ["n1"] })
const node = await cluster.node("n1", {
	hollow: false,
	flags: ["--container-runtime-endpoint", containerd.socket, "--pod-logs-dir", logs, "--cdi-dir", cdi],
})

// A program that dies when its device is broken, as they do.
const script = "test -c /dev/simgpu0 || test -c /dev/simgpu1 || exit 3; while [ ! -e /state/broken ]; do sleep 0.1; done; exit 1"

function body(resources, more = {}) {
	return podOn("n1", {
		...more,
		volumes: [{ name: "state", hostPath: { path: state } }],
		main: {
			image, imagePullPolicy: "IfNotPresent", command: ["/bin/sh", "-c", script], resources,
			volumeMounts: [{ name: "state", mountPath: "/state", readOnly: true }],
		},
	})
}

const sim = (...args) => execFileSync(devplane, ["driver", "sim", ...args, "--root-dir", node.root], { encoding: "utf8" })
const vendor = (...flags) => start("driver", "sim", "--kubeconfig", node.kubeconfig, "--node-name", "n1", "--root-dir", node.root,
	"--cdi-dir", cdi, "--devices", "2", "--log-format", "text", "--metrics-bind-address", "127.0.0.1:0", ...flags)
const crashing = (p) => p.status.containerStatuses?.[0].state.waiting?.reason === "CrashLoopBackOff"
const running = (p) => p.status.phase === "Running" && p.status.containerStatuses[0].ready
const shows = (p, pattern) => Object.values(healthOf(p).main ?? {}).some((devices) => Object.values(devices).some((h) => pattern.test(h)))
const describe = (tool, name) => execFileSync(tool, [...(tool === devplane ? [] : []), "describe", "pod", name, "--kubeconfig", cluster.server.kubeconfig], { encoding: "utf8" })

async function stop(driver) {
	driver.child.kill("SIGTERM")
	assert.deepEqual(await driver.ended, { code: 0, signal: null })
}

async function end(pod) {
	await cluster.delete(pod, 0)
	await cluster.gone(pod)
}

// The device breaks under a running pod; then the story is in its status, its events and its condition.
async function breaks(pod, device) {
	sim("fail", device, "--message", "Xid 79: fallen off the bus")
	writeFileSync(`${state}/broken`, "")
	await cluster.pod(pod, (p) => crashing(p) && shows(p, /^Unhealthy Xid 79/))
	await cluster.event(pod.metadata.name, "DeviceUnhealthy", /Healthy -> Unhealthy: Xid 79/)
	await cluster.event(pod.metadata.name, "BackOff")
	const text = describe("kubectl", pod.metadata.name)
	assert.match(text, /CrashLoopBackOff/)
	assert.match(text, /Xid 79: fallen off the bus/)
	assert.match(describe(devplane, pod.metadata.name), /Unhealthy +Xid 79: fallen off the bus/)
}

async function recovers(pod, device) {
	rmSync(`${state}/broken`)
	sim("heal", device)
	await cluster.pod(pod, (p) => running(p) && !shows(p, /Unhealthy/), 90)
	await cluster.event(pod.metadata.name, "DeviceHealthy", /Unhealthy -> Healthy/)
}

await test("the story with a DRA driver", async () => {
	const driver = vendor()
	const slices = () => cluster.client.get("/apis/resource.k8s.io/v1/resourceslices").then(({ body: { items = [] } }) => items)
	await until("slices", async () => (await slices()).length > 0)
	const { driver: name, pool, devices } = (await slices())[0].spec
	const [first, second] = devices.map((d) => d.name)
	const claim = (device) => [{ request: "gpu", driver: name, pool: pool.name, device }]
	const pod = await cluster.run(body({ claims: [{ name: "gpu" }] }, { resourceClaims: [{ name: "gpu", resourceClaimName: "one" }] }))
	await allocateClaim(cluster.client, "one", [...claim(first), ...claim(second)], pod)
	await cluster.pod(pod, (p) => running(p) && shows(p, /^Healthy$/))
	await breaks(pod, first)
	const tainted = await until("a taint", async () => (await slices())[0].spec.devices.find((d) => d.name === first).taints?.length && slices())
	assert.equal(tainted[0].spec.devices.find((d) => d.name === first).taints[0].effect, "NoSchedule")
	await recovers(pod, first)
	await until("no taint", async () => !(await slices())[0].spec.devices.find((d) => d.name === first).taints?.length)
	await end(pod)
	// The pod's replacement gets a healthy device, and when that has ended a later change still shows.
	const next = await cluster.run(body({ claims: [{ name: "gpu" }] }, { restartPolicy: "Never", resourceClaims: [{ name: "gpu", resourceClaimName: "two" }] }))
	await allocateClaim(cluster.client, "two", claim(second), next)
	await cluster.pod(next, (p) => running(p) && shows(p, /^Healthy$/))
	writeFileSync(`${state}/broken`, "")
	await cluster.pod(next, (p) => p.status.phase === "Failed")
	sim("fail", second, "--message", "it was the device")
	await cluster.pod(next, (p) => p.status.phase === "Failed" && shows(p, /^Unhealthy it was the device/))
	rmSync(`${state}/broken`)
	await end(next)
	sim("heal", second)
	await stop(driver)
}, 180)

await test("the story with a device plugin", async () => {
	const driver = vendor("--mode", "plugin", "--resource", "sim.example.com/gpu")
	await cluster.readNodeWhen("n1", (n) => n.status.allocatable["sim.example.com/gpu"] === "2")
	const pod = await cluster.run(body({ limits: { "sim.example.com/gpu": "1" } }))
	const now = await cluster.pod(pod, (p) => running(p) && shows(p, /^Healthy$/))
	const [device] = Object.keys(healthOf(now).main["sim.example.com/gpu"])
	await breaks(pod, device)
	await cluster.readNodeWhen("n1", (n) => n.status.allocatable["sim.example.com/gpu"] === "1" && n.status.capacity["sim.example.com/gpu"] === "2")
	await recovers(pod, device)
	sim("silence", device)
	driver.child.kill("SIGKILL")
	await cluster.pod(pod, (p) => shows(p, /^Unknown$/))
	await end(pod)
}, 180)

finish()
