// The offers of `devplane driver net`, and how they follow the kernel: links of the test's own, and a real `devplane server`.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { core, dra, startServer } from "./api_lib.mjs"
import { devplane, finish, scratch, start, test, until } from "./lib.mjs"
import { addLink, driverName, ip, kernelHas, links, tag } from "./net_lib.mjs"
import { shortFolder } from "./node_lib.mjs"

if (process.getuid() !== 0) {
	console.log("ok 1 - network devices # SKIP only root can make network interfaces")
	console.log("1..1")
	process.exit(0)
}

const parent = `dpq${tag}`, card = `dpc${tag}`, renamed = `dpc${tag}.x`, late = `dpc${tag}l`
const server = await startServer("lmdb")
const { client } = server
const root = shortFolder()
const list = (...flags) => execFileSync(devplane, ["driver", "net", "list", "--root-dir", root, ...flags], { encoding: "utf8", stdio: "pipe" })
let driver

async function devices() {
	const { items } = (await client.get(`${dra}/resourceslices`)).body
	return Object.fromEntries(items.flatMap((s) => s.spec.devices ?? []).map((d) => [d.name, d]))
}

// All devices, once they are as `wanted` says.
const offered = (what, wanted) => until(what, async () => {
	const all = await devices()
	return wanted(all) && all
})

await test("offers are published at once, and link types that the kernel lacks are skipped with the reason", async () => {
	addLink(parent, "type", "veth", "peer", "name", `${parent}x`)
	ip("link", "set", `${parent}x`, "up")
	addLink(card, "type", "veth", "peer", "name", `${card}x`)
	ip("link", "set", `${card}x`, "up")
	await client.post(`${core}/nodes`, { metadata: { name: "n1" } })
	driver = start("driver", "net", "--kubeconfig", server.kubeconfig, "--node-name", "n1", "--root-dir", root, "--cdi-dir", `${scratch}/cdi`,
		"--interface", `${card}*`, "--exclude", `${card}x`, "--create", "veth:6", "--create", `macvlan:2:${parent}`, "--create", `vlan:100-101:${parent}`)
	await until("driver", () => /health and metrics at/.test(driver.out) || driver.child.exitCode !== null)
	assert.match(driver.out, /^devplane driver net runs as net\.devplane\.dev on node n1 in /)
	assert.match(driver.out, new RegExp(`^  host +1 +${card}$`, "m"))
	assert.match(driver.out, /^  veth +6 +veth-0, veth-1, veth-2, veth-3 and 2 more$/m)
	assert.match(driver.out, new RegExp(`^  macvlan +2 +macvlan-${parent}-0, macvlan-${parent}-1$`, "m"))
	if (kernelHas("vlan", parent))
		assert.match(driver.out, new RegExp(`^  vlan +2 +vlan-${parent}-100, vlan-${parent}-101$`, "m"))
	else
		assert.match(driver.out, new RegExp(`^  vlan +skipped +on ${parent}: .*vlan`, "m"))
})

await test("devices have the attributes that the kernel tells", async () => {
	const all = await offered("devices", (a) => a[card] && a["veth-5"])
	const { kind, interface: name, mac, mtu, up } = all[card].attributes
	assert.deepEqual([kind, name, mac, mtu, up], [{ string: "host" }, { string: card }, { string: links()[card].address }, { int: 1500 }, { bool: true }])
	assert.deepEqual(all["veth-0"].attributes, { kind: { string: "veth" }, up: { bool: true } })
	assert.deepEqual(all[`macvlan-${parent}-1`].attributes,
		{ kind: { string: "macvlan" }, parent: { string: parent }, mode: { string: "bridge" }, up: { bool: true } })
	ip("link", "set", card, "mtu", "1400")
	await offered("another MTU", (a) => a[card].attributes.mtu.int === 1400)
})

await test("a link that is pulled taints the device; a parent's, what would be made on it", async () => {
	const tainted = (d) => d.taints?.some((t) => t.key === `${driverName}/unhealthy` && t.effect === "NoSchedule")
	ip("link", "set", `${card}x`, "down")
	await offered("taint", (a) => tainted(a[card]) && !a[card].attributes.up.bool)
	ip("link", "set", parent, "down")
	const all = await offered("taint of both", (a) => tainted(a[`macvlan-${parent}-0`]) && tainted(a[`macvlan-${parent}-1`]))
	assert.ok(!tainted(all["veth-0"]))
	const said = JSON.parse(list("-o", "json")).find((d) => d.device === `macvlan-${parent}-0`)
	assert.equal(said.message, `parent ${parent} is down`)
	ip("link", "set", `${card}x`, "up")
	ip("link", "set", parent, "up")
	await offered("no taints", (a) => !Object.values(a).some(tainted))
})

await test("a device is as long as its interface has that name", async () => {
	ip("link", "set", card, "down")
	ip("link", "set", card, "name", renamed)
	const label = renamed.replace(".", "-")
	await offered("the other name", (a) => a[label]?.attributes.interface.string === renamed && !a[card])
	addLink(late, "type", "veth", "peer", "name", `${parent}l`)
	await offered("a new one", (a) => a[late])
	ip("link", "del", renamed)
	await offered("none of that name", (a) => !a[label] && a[late])
	assert.match(list(), new RegExp(`^DEVICE +KIND +STATE +INTERFACE +POD +CLAIM +MESSAGE\\n(.*\\n)*${late} +host +free +${late} +- +- +no carrier\\n`))
})

await test("SIGTERM ends it in order: the socket goes, slices stay", async () => {
	driver.child.kill("SIGTERM")
	assert.deepEqual(await driver.ended, { code: 0, signal: null })
	assert.throws(() => list(), /no `devplane driver net` runs as net\.devplane\.dev with --root-dir/)
	assert.ok((await devices())[late])
})

await test("the examples are objects that the server takes", async () => {
	const folder = fileURLToPath(new URL("../../examples/network", import.meta.url))
	const paths = {
		ServiceAccount: `${core}/namespaces/kube-system/serviceaccounts`,
		ClusterRole: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
		ClusterRoleBinding: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
		DeviceClass: `${dra}/deviceclasses`,
		ResourceClaim: `${dra}/namespaces/default/resourceclaims`,
		ResourceClaimTemplate: `${dra}/namespaces/default/resourceclaimtemplates`,
		Pod: `${core}/namespaces/default/pods`,
	}
	const made = []
	for (const file of ["rbac", "class", "pods", "template"]) {
		for (const text of readFileSync(`${folder}/${file}.yaml`, "utf8").split(/^---$/m)) {
			const object = JSON.parse(execFileSync(devplane, ["codec", "--from", "yaml", "--to", "json"], { input: text, encoding: "utf8" }))
			if (!paths[object.kind])
				continue // no API of ours
			const { code, text: answer } = await client.post(`${paths[object.kind]}?fieldValidation=Strict`, object)
			assert.equal(code, 201, `${file} ${object.kind}: ${answer}`)
			made.push(object.kind)
		}
	}
	assert.equal(made.length, 10)
})

finish()
