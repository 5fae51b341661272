// `devplane driver net` killed at each step of an interface's way, and started again: nothing is lost, nothing is left.
import assert from "node:assert/strict"
import { existsSync, rmSync, writeFileSync } from "node:fs"
import { containersPossible } from "./containerd_lib.mjs"
import { finish, scratch, test, until } from "./lib.mjs"
import { addLink, ip, links, ready, startNet, tag } from "./net_lib.mjs"

if (!containersPossible()) {
	console.log("ok 1 - network devices # SKIP only root can make network namespaces")
	console.log("1..1")
	process.exit(0)
}

const bridge = `dpb${tag}`, card = `dph${tag}`, far = `dpf${tag}`
const gate = `${scratch}/gate`, slow = `${scratch}/slow`, begun = `${scratch}/begun`
const rounds = Number(process.env.NET_FAULT_ROUNDS ?? 3)
let net, before

// In the chain before ours: lets nobody pass while the gate is shut.
const gatekeeper = `input=$(cat)
case $CNI_COMMAND in
ADD) until [ -e "${gate}" ]; do sleep 0.02; done
	printf %s "$input" | python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)["prevResult"]))' ;;
VERSION) echo '{"cniVersion": "1.0.0", "supportedVersions": ["0.3.1", "0.4.0", "1.0.0"]}' ;;
esac`

// Debian's bridge plugin, which takes its time.
const sluggish = `touch "${begun}"
[ "$CNI_COMMAND" != ADD ] || until [ -e "${slow}" ]; do sleep 0.02; done
exec "$(dirname "$0")/bridge"`

const open = (file) => writeFileSync(file, "")
const shut = (file) => rmSync(file, { force: true })
const state = () => links()[card] && ["address", "mtu", "operstate"].map((f) => links()[card][f]).join(" ")

async function endAndLook(pod) {
	await net.end(pod)
	await until("the card as it was", () => state() === before)
	await net.entry(pod, (e) => !e)
}

await test("the driver runs", async () => {
	addLink(bridge, "type", "bridge")
	addLink(card, "type", "veth", "peer", "name", far)
	ip("link", "set", far, "up")
	await until("carrier", () => links()[card].operstate === "UP")
	before = state()
	open(gate)
	net = await startNet({ creates: ["veth:2"], interfaces: [card], scripts: { gatekeeper, sluggish }, before: ["gatekeeper"], flags: ["--claim-cni", "sluggish"] })
	await until("devices", async () => (await net.devices())[card])
})
if (!net)
	finish()

await test("killed before it is asked to prepare", async () => {
	await net.kill()
	const pod = await net.run({ device: card, parameters: { addresses: ["192.0.2.9/24"] } })
	await net.cluster.event(pod.metadata.name, "FailedPrepareDynamicResources")
	await net.begin()
	await net.attached(pod)
	await endAndLook(pod)
})

await test("killed while a plugin makes one pod's interface and another pod has no namespace yet", async () => {
	const cni = { type: "sluggish", bridge, ipam: { type: "static", addresses: [{ address: "198.18.9.4/24" }] } }
	const halfway = await net.run({ device: "veth-0", parameters: { interfaceName: "slow0", cni } })
	await until("the plugin", () => existsSync(begun))
	shut(gate)
	const prepared = await net.run({ device: card, parameters: { addresses: ["192.0.2.9/24"] } })
	await net.entry(prepared, (e) => ready(e)?.reason === "Prepared")
	await net.kill()
	open(gate)
	open(slow)
	await net.cluster.event(prepared.metadata.name, "FailedCreatePodSandBox", /net driver is not running/)
	await net.begin()
	await net.attached(prepared)
	const entry = await net.attached(halfway)
	assert.deepEqual(entry.networkData.ips, ["198.18.9.4/24"])
	await net.end(halfway)
	await endAndLook(prepared)
})

await test("killed while the interface is in the pod, and the link pulled meanwhile", async () => {
	const pod = await net.run({ device: card, parameters: { addresses: ["192.0.2.9/24"] } })
	await net.attached(pod)
	await net.kill()
	ip("link", "set", far, "down")
	await net.begin()
	await net.entry(pod, (e) => ready(e)?.reason === "LinkDown")
	ip("link", "set", far, "up")
	await net.entry(pod, (e) => ready(e)?.status === "True")
	await endAndLook(pod)
})

await test("killed while the pod goes", async () => {
	const pod = await net.run({ device: card, parameters: { addresses: ["192.0.2.9/24"] } })
	await net.attached(pod)
	await net.kill()
	await net.cluster.delete(pod, 0)
	await net.begin()
	await net.cluster.gone(pod)
	await until("the card as it was", () => state() === before)
	await net.entry(pod, (e) => !e)
})

await test("the API server is away when the link changes: the claim is told when it is back", async () => {
	const pod = await net.run({ device: card, parameters: { addresses: ["192.0.2.9/24"] } })
	await net.attached(pod)
	await net.cluster.server.kill()
	ip("link", "set", far, "down")
	await net.cluster.server.begin()
	await net.entry(pod, (e) => ready(e)?.reason === "LinkDown")
	ip("link", "set", far, "up")
	await net.entry(pod, (e) => ready(e)?.status === "True")
	await endAndLook(pod)
})

await test(`killed at ${rounds} random moments`, async () => {
	const pause = (most) => new Promise((resolve) => setTimeout(resolve, Math.random() * most))
	for (let i = 0; i < rounds; i++) {
		const pod = await net.run({ device: card, parameters: { addresses: ["192.0.2.9/24"], mtu: 1300 } })
		await pause(250)
		await net.kill()
		await net.begin()
		await net.attached(pod)
		await net.cluster.delete(pod, 0)
		await pause(150)
		await net.kill()
		await net.begin()
		await net.cluster.gone(pod)
		await until("the card as it was", () => state() === before)
	}
}, 300)

finish()
