// `devplane cni` as container runtimes run it. The net driver is a stand-in of this file on the driver's socket:
// what the real one does with interfaces is the business of other tests.
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { existsSync, linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { containersPossible, startContainerd } from "./containerd_lib.mjs"
import { devplane, finish, scratch, test } from "./lib.mjs"
import { call, insecure, load } from "./plugin_services.mjs"

const root = `${scratch}/root`, folder = `${root}/plugins/net.devplane.dev`, socket = `${folder}/cni.sock`
const plugin = `${scratch}/devplane-cni`
const versions = ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"]
mkdirSync(`${folder}/pods`, { recursive: true })
mkdirSync(`${folder}/namespaces`)
symlinkSync(devplane, plugin)

// --- the stand-in

let asked = [], answer

const driver = createServer((request, response) => {
	let body = ""
	request.on("data", (piece) => (body += piece))
	request.on("end", () => {
		asked.push({ what: `${request.method} ${request.url}`, ...(body && { body: JSON.parse(body) }) })
		answer(response)
	})
})

const agree = (response) => response.end('{"interfaces":[{"name":"net1","mac":"02:00:00:00:00:01","ips":["192.0.2.5/24"]}]}\n')
const refuse = (status, code, message) => (response) => {
	response.statusCode = status
	response.end(JSON.stringify({ code, message }))
}

function listen(path) {
	return new Promise((resolve) => driver.listen(path, resolve))
}

function close() {
	return new Promise((resolve) => driver.close(resolve))
}

async function withDriver(how, body) {
	asked = []
	answer = how
	await listen(socket)
	try {
		await body()
	} finally {
		await close()
	}
}

// --- the runtime

const uid = "6f1f2c1e-0000-4000-8000-000000000001"
const attachment = {
	CNI_CONTAINERID: "c0ffee", CNI_NETNS: "/var/run/netns/blue", CNI_IFNAME: "eth0", CNI_PATH: "/usr/lib/cni",
	CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=ns;K8S_POD_NAME=p;K8S_POD_INFRA_CONTAINER_ID=c0ffee;K8S_POD_UID=${uid}`,
}
const question = { network: "pods", containerID: "c0ffee", netns: "/var/run/netns/blue", ifname: "eth0", path: "/usr/lib/cni", podUID: uid, podName: "p", podNamespace: "ns" }

function config(rest = {}, version = "1.1.0") {
	return JSON.stringify({ cniVersion: version, name: "pods", type: "devplane-cni", rootDir: root, ...rest })
}

function run(args, env, input) {
	const [file, ...rest] = args
	const child = spawn(file, rest, { env: { PATH: process.env.PATH, ASAN_OPTIONS: process.env.ASAN_OPTIONS ?? "", ...env } })
	let out = "", err = ""
	child.stdout.on("data", (data) => (out += data))
	child.stderr.on("data", (data) => (err += data))
	child.stdin.on("error", () => {})
	child.stdin.end(input)
	return new Promise((resolve) => child.on("close", (code) => resolve({ code, out, err })))
}

const cni = (command, input = config(), env = attachment) => run([plugin], { ...env, CNI_COMMAND: command }, input)

async function succeeds(command, ...rest) {
	const { code, out, err } = await cni(command, ...rest)
	assert.equal(code, 0, err)
	assert.equal(err, "")
	return out
}

async function fails(wanted, message, command, ...rest) {
	const { code, out } = await cni(command, ...rest)
	assert.equal(code, 1)
	const error = JSON.parse(out)
	assert.deepEqual({ code: error.code, version: versions.includes(error.cniVersion) }, { code: wanted, version: true }, out)
	assert.match(error.msg, message)
}

// --- the protocol

await test("VERSION tells the versions, as devplane-cni and as devplane cni", async () => {
	assert.deepEqual(JSON.parse(await succeeds("VERSION", '{"cniVersion":"0.4.0"}', {})), { cniVersion: "0.4.0", supportedVersions: versions })
	const { code, out } = await run([devplane, "cni"], { CNI_COMMAND: "VERSION" }, "")
	assert.equal(code, 0)
	assert.deepEqual(JSON.parse(out), { cniVersion: "1.1.0", supportedVersions: versions })
	// Not even a standard input is needed; all else has something to read.
	const closed = (command) => run(["/bin/sh", "-c", 'exec "$0" <&-', plugin], { ...attachment, CNI_COMMAND: command }, "")
	const version = await closed("VERSION")
	assert.equal(version.code, 0, version.err)
	assert.deepEqual(JSON.parse(version.out), { cniVersion: "1.1.0", supportedVersions: versions })
	const add = await closed("ADD")
	assert.deepEqual([add.code, JSON.parse(add.out).code], [1, 5])
})

await test("without CNI_COMMAND it says what it is", async () => {
	const { code, out, err } = await run([plugin], {}, "")
	assert.deepEqual({ code, out }, { code: 2, out: "" })
	assert.match(err, /CNI_COMMAND is not set/)
	assert.match(err, /devplane cni --help/)
})

await test("ADD asks the driver and returns the result before it, to the byte", async () => {
	const result = '{ "cniVersion": "1.0.0", "ips": [{"address":"10.1.0.5/16","interface":0}], "big": 12345678901234567890123, "f": 1.50 }'
	const input = `{"cniVersion":"1.0.0","name":"pods","type":"devplane-cni","rootDir":"${root}","prevResult":${result}}`
	await withDriver(agree, async () => {
		assert.equal(await succeeds("ADD", input), `${result}\n`)
		assert.deepEqual(asked, [{ what: "POST /add", body: question }])
	})
})

await test("DEL, CHECK, GC and STATUS ask, too, and print nothing", async () => {
	const { CNI_NETNS, ...gone } = attachment
	const valid = [{ containerID: "c0ffee", ifname: "eth0" }]
	await withDriver(agree, async () => {
		assert.equal(await succeeds("DEL", config({ prevResult: {} }), gone), "")
		assert.equal(await succeeds("CHECK"), "")
		assert.equal(await succeeds("GC", config({ "cni.dev/valid-attachments": valid }), { CNI_PATH: "/usr/lib/cni" }), "")
		assert.equal(await succeeds("STATUS", config(), {}), "")
		assert.deepEqual(asked, [
			{ what: "POST /del", body: { ...question, netns: "" } },
			{ what: "POST /check", body: question },
			{ what: "POST /gc", body: { network: "pods", valid } },
			{ what: "GET /status" },
		])
	})
})

await test("GC without a list asks nobody: nothing would be kept", async () => {
	await withDriver(agree, async () => {
		await fails(7, /^cni.dev\/valid-attachments: is missing/, "GC", config(), {})
		await fails(7, /^cni.dev\/valid-attachments: must be a list/, "GC", config({ "cni.dev/valid-attachments": {} }), {})
		assert.deepEqual(asked, [])
		// Go writes an empty list so.
		assert.equal(await succeeds("GC", config({ "cni.dev/valid-attachments": null }), {}), "")
		assert.deepEqual(asked, [{ what: "POST /gc", body: { network: "pods", valid: [] } }])
	})
})

await test("an ADD that the driver rejects fails with its code and message", async () => {
	await withDriver(refuse(422, 100, "net1: cannot move eth7: Device or resource busy"), async () => {
		await fails(100, /^net1: cannot move eth7: Device or resource busy$/, "ADD")
	})
	await withDriver(refuse(503, 50, "it starts"), () => fails(50, /^it starts$/, "STATUS", config(), {}))
	await withDriver((response) => (response.statusCode = 500) && response.end("oops"), () =>
		fails(100, /HTTP status 500/, "ADD"))
})

await test("bad environments and configurations have the specification's codes, and nobody is asked", async () => {
	await withDriver(agree, async () => {
		await fails(4, /^CNI_NETNS: must be set for ADD$/, "ADD", config(), { ...attachment, CNI_NETNS: "" })
		await fails(4, /^CNI_COMMAND: .*"REMOVE"/, "REMOVE")
		await fails(4, /K8S_POD_UID/, "ADD", config(), { ...attachment, CNI_ARGS: "K8S_POD_UID=../../x" })
		await fails(1, /^cniVersion: "3.0.0"/, "ADD", config({}, "3.0.0"))
		await fails(1, /does not support STATUS/, "STATUS", config({}, "1.0.0"), {})
		await fails(6, /cannot be read/, "ADD", "{")
		await fails(7, /^rootDir: /, "ADD", config({ rootDir: "relative" }))
		await fails(7, /longer|more bytes/, "ADD", config({ rootDir: `/${"r".repeat(200)}` }))
		assert.deepEqual(asked, [])
	})
})

// --- the driver is away

await test("without a driver pods without claims come and go, the others are to be tried again", async () => {
	const prevResult = { cniVersion: "1.1.0", ips: [] }, mark = `${folder}/pods/${uid}`
	const again = (command, env) => fails(11, /^the net driver is not running \(socket .*cni\.sock\)$/, command, config(), env)
	const { CNI_ARGS, ...unnamed } = attachment

	assert.ok(!existsSync(socket))
	assert.deepEqual(JSON.parse(await succeeds("ADD", config({ prevResult }))), prevResult)
	assert.equal(await succeeds("DEL"), "")
	assert.equal(await succeeds("DEL", config(), unnamed), "")
	await fails(50, /not running/, "STATUS", config(), {})
	writeFileSync(mark, "")
	for (const command of ["ADD", "CHECK", "DEL"])
		await again(command)
	// A caller that does not name its pod may be any.
	await again("ADD", unnamed)
	assert.deepEqual(JSON.parse(await succeeds("ADD", config({ prevResult }),
		{ ...attachment, CNI_ARGS: "K8S_POD_UID=another" })), prevResult)
	rmSync(mark)
	// A second pod may want a claim that is prepared in its namespace. It has nothing to give back.
	const inNamespace = (ns) => ({ ...attachment, CNI_ARGS: `K8S_POD_NAMESPACE=${ns};K8S_POD_UID=another` })
	writeFileSync(`${folder}/namespaces/ns`, "")
	await again("ADD", inNamespace("ns"))
	await again("ADD", inNamespace("../namespaces/other"))
	await again("ADD", { ...attachment, CNI_ARGS: "K8S_POD_UID=another" })
	assert.equal(await succeeds("DEL", config(), inNamespace("ns")), "")
	assert.deepEqual(JSON.parse(await succeeds("ADD", config({ prevResult }), inNamespace("other"))), prevResult)
	rmSync(`${folder}/namespaces/ns`)
	// A folder that is not there has no marks.
	assert.equal(await succeeds("DEL", config({ rootDir: "/nowhere" })), "")
})

await test("a driver that dies while it is asked may have known better, one that nobody reaches is away", async () => {
	const mark = `${folder}/pods/${uid}`
	await withDriver((response) => response.destroy(), async () => {
		await fails(11, /^the net driver: /, "ADD")
		await fails(11, /^the net driver: /, "DEL")
		await fails(50, /^the net driver: /, "STATUS", config(), {})
		assert.equal(asked.length, 3)
	})
	await withDriver((response) => response.socket.end("what?\r\n\r\n"), () => fails(11, /^the net driver: /, "ADD"))
	writeFileSync(mark, "")
	// A socket's file that nobody listens on any more: a second name outlives the closing.
	await listen(`${folder}/first`)
	linkSync(`${folder}/first`, socket)
	await close()
	assert.ok(existsSync(socket))
	await fails(11, /not running/, "DEL")
	rmSync(mark)
	assert.equal(await succeeds("DEL"), "")
	rmSync(socket)
})

// --- a real runtime

if (!containersPossible()) {
	console.log("# not run with a container runtime: only root can run containers")
	finish()
}

let containerd, runtime

function sandbox(name) {
	return {
		metadata: { name, uid: `uid-of-${name}`, namespace: "default", attempt: 0 }, hostname: name,
		log_directory: `${scratch}/logs`, linux: { cgroup_parent: `/dp-cni-${process.pid}` },
	}
}

await test("containerd runs pods with the plugin in their network while the driver is away", async () => {
	containerd = startContainerd({ pluginRoot: root })
	runtime = new (load("cri.proto").runtime.v1.RuntimeService)(containerd.socket, insecure)
	const { pod_sandbox_id } = await call(runtime, "RunPodSandbox", { config: sandbox("plain") })
	const { status } = await call(runtime, "PodSandboxStatus", { pod_sandbox_id })
	assert.match(status.network.ip, /^10\.\d+\.77\.\d+$/)
	await call(runtime, "StopPodSandbox", { pod_sandbox_id })
	await call(runtime, "RemovePodSandbox", { pod_sandbox_id })
})

await test("containerd tells the driver which pod it is, and its namespace", async () => {
	let seen
	const look = (response) => {
		seen ??= existsSync(asked[0].body.netns)
		agree(response)
	}
	await withDriver(look, async () => {
		const { pod_sandbox_id } = await call(runtime, "RunPodSandbox", { config: sandbox("asking") })
		await call(runtime, "StopPodSandbox", { pod_sandbox_id })
		await call(runtime, "RemovePodSandbox", { pod_sandbox_id })
		const pod = { network: asked[0].body.network, podUID: "uid-of-asking", podName: "asking", podNamespace: "default", containerID: pod_sandbox_id, ifname: "eth0" }
		assert.ok(seen)
		assert.ok(pod.network)
		assert.deepEqual([...new Set(asked.map(({ what }) => what))], ["POST /add", "POST /del"])
		for (const { body: { netns, path, ...rest } } of asked) {
			assert.deepEqual(rest, pod)
			assert.equal(path, `${containerd.folder}/cni-bin`)
		}
	})
})

await test("a rejection of the driver is the reason why the pod's sandbox fails", async () => {
	const words = "net1: cannot move eth7: Device or resource busy"
	const how = (response) => (asked.at(-1).what === "POST /add" ? refuse(422, 100, words) : agree)(response)
	await withDriver(how, async () => {
		await assert.rejects(call(runtime, "RunPodSandbox", { config: sandbox("refused") }), (e) => e.message.includes(words))
		// The runtime cleans up after it.
		assert.ok(asked.some(({ what }) => what === "POST /del"))
	})
})

containerd?.stop()
finish()
