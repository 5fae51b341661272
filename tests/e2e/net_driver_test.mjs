// `devplane driver net` with real containers: interfaces go into pods' namespaces and come back, and the claims' status shows them.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { readdirSync } from "node:fs"
import { containersPossible } from "./containerd_lib.mjs"
import { devplane, finish, test, until } from "./lib.mjs"
import { addLink, driverName, ip, kernelHas, links, ready, startNet, tag } from "./net_lib.mjs"
import { healthOf } from "./node_lib.mjs"

if (!containersPossible()) {
	console.log("ok 1 - network devices # SKIP only root can make network namespaces")
	console.log("1..1")
	process.exit(0)
}

const bridge = `dpb${tag}`, parent = `dpp${tag}`, card = `dph${tag}`, far = `dpf${tag}`
const veth = (i) => `veth-${bridge}-${i}`, macvlan = (i) => `macvlan-${parent}-${i}`
let net, macvlans // the latter: the kernel has them

const pulled = (e) => ready(e)?.reason === "LinkDown"
const http = "echo hello from $(hostname) >/tmp/index.html; httpd -p 8080 -h /tmp; trap exit TERM; while :; do sleep 0.1; done"

await test("the driver offers what it was told to", async () => {
	addLink(bridge, "type", "bridge")
	addLink(parent, "type", "veth", "peer", "name", `${parent}x`)
	ip("link", "set", `${parent}x`, "up")
	addLink(card, "type", "veth", "peer", "name", far)
	ip("link", "set", far, "up")
	macvlans = kernelHas("macvlan", parent)
	net = await startNet({ creates: [`veth:4:${bridge}`, `macvlan:4:${parent}`, `vlan:100-101:${parent}`], interfaces: [card], flags: ["--claim-cni", "bridge,macvlan"] })
	const devices = await until("devices", async () => {
		const all = await net.devices()
		return all[card] && all[veth(3)] && (all[macvlan(3)] || !macvlans) && all
	})
	const { attributes } = devices[card]
	assert.equal(attributes.kind.string, "host")
	assert.equal(attributes.interface.string, card)
	assert.equal(attributes.mac.string, links()[card].address)
	assert.equal(attributes.mtu.int, 1500)
	assert.equal(attributes.up.bool, true)
	assert.equal(devices[macvlan(0)]?.attributes.parent.string, macvlans ? parent : undefined)
	if (kernelHas("vlan", parent))
		assert.equal(devices[`vlan-${parent}-100`].attributes.vlan.int, 100)
	else
		assert.match(net.driver.out + net.driver.err, /vlan.*(not|no|lacks)/i)
})
if (!net)
	finish()

// Two pods on one network; the second one fetches from the address that the first one's claim shows.
async function reachEachOther(kind, family, one, two, source) {
	const address = (n) => family === 4 ? `198.18.7.${n}/24` : `fd00:18:7::${n}/64`
	const a = await net.run({ device: kind(one), parameters: { network: "blue", interfaceName: "blue0", addresses: [address(1)] }, script: http })
	const entry = await net.attached(a)
	assert.deepEqual(entry.networkData.ips, [address(1)])
	assert.equal(entry.networkData.interfaceName, "blue0")
	assert.equal(entry.data.network, "blue")
	const seen = JSON.parse(net.inside(a, "ip", "-j", "addr", "show", "blue0"))[0]
	assert.equal(entry.networkData.hardwareAddress, seen.address)
	assert.deepEqual(entry.networkData.addresses, entry.networkData.ips, "the KEP's spelling is there, too")
	assert.equal(entry.networkData.hwAddress, seen.address)
	const target = entry.networkData.ips[0].split("/")[0]
	const url = family === 4 ? target : `[${target}]`
	const b = await net.run({
		device: kind(two),
		parameters: { network: "blue", addresses: [address(2)] },
		script: `for i in 1 2 3 4 5 6 7 8 9; do wget -qO- http://${url}:8080/index.html && break; sleep 0.2; done; ip -4 addr show ${source}; exit 0`,
	})
	await net.cluster.pod(b, (p) => p.status.phase === "Succeeded")
	assert.match(net.log(b), new RegExp(`hello from ${a.metadata.name}`))
	await net.end(a)
	await net.end(b)
}

await test("two pods on a bridge reach each other on the addresses of their claims", () => reachEachOther(veth, 4, 0, 1, "net1"))
const above = macvlans ? "IPv6 over macvlan" : "IPv6 # this kernel has no macvlan"
await test(`and with ${above}`, () => reachEachOther(macvlans ? macvlan : veth, 6, 0, 1, "net1"))

await test("after that nothing of them is left here", async () => {
	await until("links gone", () => !Object.values(links()).some((l) => l.master === bridge))
})

await test("a card is moved, named, addressed and routed, and comes back as it was", async () => {
	const state = () => links()[card] && ["address", "mtu", "operstate"].map((field) => links()[card]?.[field]).join(" ")
	const before = state()
	const pod = await net.run({
		device: card,
		parameters: { interfaceName: "card0", addresses: ["192.0.2.9/24"], routes: [{ to: "203.0.113.0/24", via: "192.0.2.1" }], mtu: 1400, hardwareAddress: "02:00:5e:10:00:01" },
	})
	const entry = await net.attached(pod)
	assert.deepEqual(entry.networkData.ips, ["192.0.2.9/24"])
	assert.equal(entry.networkData.hardwareAddress, "02:00:5e:10:00:01")
	const [link] = JSON.parse(net.inside(pod, "ip", "-j", "link", "show", "card0"))
	assert.equal(link.mtu, 1400)
	assert.match(net.inside(pod, "ip", "route"), /203\.0\.113\.0\/24 via 192\.0\.2\.1 dev card0/)
	assert.ok(!links()[card])
	assert.ok((await net.devices())[card], "it is still a device")
	await net.end(pod)
	await until("the card as it was", () => state() === before)
	await net.entry(pod, (e) => !e)
})

await test("a pulled link shows in the claim and in the pod's device health, and heals", async () => {
	const pod = await net.run({ device: card, parameters: { addresses: ["192.0.2.9/24"] } })
	await net.attached(pod)
	const id = `${driverName}/n1/${card}`
	const health = (p) => Object.values(healthOf(p).main ?? {}).map((r) => r[id]).find(Boolean)
	await net.cluster.pod(pod, (p) => health(p) === "Healthy")
	ip("link", "set", far, "down")
	const down = await net.entry(pod, pulled)
	assert.equal(ready(down).status, "False")
	assert.deepEqual(down.networkData.ips, ["192.0.2.9/24"])
	await net.cluster.pod(pod, (p) => /^Unhealthy .*net1/.test(health(p)))
	ip("link", "set", far, "up")
	const up = await net.entry(pod, (e) => ready(e)?.status === "True")
	assert.ok(ready(up).lastTransitionTime >= ready(down).lastTransitionTime)
	await net.cluster.pod(pod, (p) => health(p) === "Healthy")
	net.inside(pod, "ip", "addr", "add", "192.0.2.77/24", "dev", "net1")
	await net.entry(pod, (e) => e.networkData.ips.includes("192.0.2.77/24"))
	net.inside(pod, "ip", "addr", "flush", "dev", "net1")
	const bare = await net.entry(pod, (e) => ready(e)?.reason === "AddressMissing")
	assert.match(ready(bare).message, /192\.0\.2\.9\/24/)
	await net.end(pod)
})

await test("another CNI plugin makes the interface, and its result is in the data", async () => {
	const dataDir = `${net.containerd.folder}/ipam`
	const maker = macvlans ? { type: "macvlan", master: parent } : { type: "bridge", bridge }
	const cni = { ...maker, ipam: { type: "host-local", subnet: "198.18.9.0/24", dataDir } }
	const pod = await net.run({ device: veth(2), parameters: { network: "green", interfaceName: "green0", cni } })
	const entry = await net.attached(pod)
	assert.match(entry.networkData.ips[0], /^198\.18\.9\.\d+\/24$/)
	assert.equal(entry.data.cniResult.ips[0].address, entry.networkData.ips[0])
	const kept = () => readdirSync(`${dataDir}/green`).filter((name) => /^\d/.test(name))
	assert.equal(kept().length, 1)
	// If the pod renames the interface, the plugin is still asked to remove it by its first name.
	net.inside(pod, "ip", "link", "set", "green0", "name", "red0")
	await net.entry(pod, (e) => e.networkData?.interfaceName === "red0")
	await net.end(pod)
	await until("address given back", () => kept().length === 0)
})

await test("parameters that cannot be show as Ready=False, and the pod waits with the reason", async () => {
	const pod = await net.run({ device: veth(2), parameters: { adresses: ["192.0.2.1/24"] } })
	const entry = await net.entry(pod, (e) => ready(e)?.reason === "InvalidConfig")
	assert.equal(ready(entry).status, "False")
	assert.match(ready(entry).message, /adresses.*did you mean.*addresses/)
	await net.cluster.event(pod.metadata.name, "FailedPrepareDynamicResources", /adresses/)
	await net.end(pod)
})

await test("an error of the kernel fails the sandbox with the kernel's message", async () => {
	const pod = await net.run({ device: veth(3), parameters: { routes: [{ to: "203.0.113.0/24", via: "10.99.99.1" }] } })
	const entry = await net.entry(pod, (e) => ready(e)?.reason === "AttachFailed")
	assert.match(ready(entry).message, /203\.0\.113\.0.*(Network is unreachable|invalid gateway)/)
	await net.cluster.event(pod.metadata.name, "FailedCreatePodSandBox", /Network is unreachable|invalid gateway/)
	await net.end(pod)
	await net.entry(pod, (e) => !e)
})

await test("a claim that two pods share is refused, and the status says so", async () => {
	const pod = await net.run({ device: veth(3), users: [{ metadata: { name: "other", uid: "8b9e7ee4-0000-4000-8000-000000000001" } }] })
	const entry = await net.entry(pod, (e) => ready(e)?.reason === "ReservedForSeveralPods")
	assert.equal(ready(entry).status, "False")
	assert.match(ready(entry).message, /other/)
	await net.end(pod)
})

await test("a second pod on a claim in use is refused while the first one keeps its interface", async () => {
	const first = await net.run({ device: veth(3), parameters: { addresses: ["198.18.7.6/24"] } })
	await net.attached(first)
	const second = await net.share(first)
	const entry = await net.entry(first, (e) => ready(e)?.reason === "ReservedForSeveralPods")
	assert.match(ready(entry).message, new RegExp(second.metadata.name))
	assert.deepEqual(entry.networkData.ips, ["198.18.7.6/24"])
	assert.match(net.inside(first, "ip", "addr"), /198\.18\.7\.6\/24/)
	await until("the reason", async () => /several pods/.test(await net.cluster.eventsText(second.metadata.name)))
	await net.end(second)
	await net.end(first)
})

await test("the driver lists its devices and who holds them, and stops in order", async () => {
	const pod = await net.run({ device: veth(0), parameters: { addresses: ["198.18.7.5/24"] } })
	await net.attached(pod)
	const list = execFileSync(devplane, ["driver", "net", "list", "--root-dir", net.node.root], { encoding: "utf8" })
	assert.match(list, new RegExp(`${veth(0)} .*${pod.metadata.name}`))
	net.driver.child.kill("SIGTERM")
	assert.deepEqual(await net.driver.ended, { code: 0, signal: null })
	assert.match(net.inside(pod, "ip", "addr"), /198\.18\.7\.5\/24/, "the pod keeps it")
	await net.begin()
	await net.entry(pod, (e) => ready(e)?.status === "True")
	await net.end(pod)
})

finish()
