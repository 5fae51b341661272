// EventRateLimit, switched on by flags and configured by upstream's file.
import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { core, expect, expectStatus, startServer } from "./api_lib.mjs"
import { finish, scratch, start, test } from "./lib.mjs"

const file = `${scratch}/admission.yaml`
const configure = (limits) => writeFileSync(file, JSON.stringify({
	apiVersion: "apiserver.config.k8s.io/v1", kind: "AdmissionConfiguration",
	plugins: [{ name: "EventRateLimit", configuration: { apiVersion: "eventratelimit.admission.k8s.io/v1alpha1", kind: "Configuration", limits } }],
}))
const enabled = ["--enable-admission-plugins", "EventRateLimit"], configured = ["--admission-control-config-file", file]
const events = `${core}/namespaces/default/events`
const event = (name, pod) => ({
	metadata: { name }, reason: "R", source: { component: "c" },
	involvedObject: { apiVersion: "v1", kind: "Pod", namespace: "default", name: pod },
})

configure([{ type: "SourceAndObject", qps: 1, burst: 3 }])
const server = await startServer("lmdb", { flags: [...enabled, ...configured] })
await test("more events of one source about one object than its bucket holds are refused", async () => {
	for (let i = 0; i < 3; i++)
		expect(await server.client.post(events, event(`p${i}`, "p")), 201)
	const codes = []
	for (let i = 0; i < 5; i++)
		codes.push((await server.client.post(events, event(`late${i}`, "p"))).code)
	assert.ok(codes.filter((code) => code === 429).length >= 2, codes.join())
	expect(await server.client.post(events, event("q", "q")), 201)
})
await test("the refusal names the limit", async () => {
	let answer
	for (let i = 0; i < 20 && answer?.code !== 429; i++)
		answer = await server.client.post(events, event(`more${i}`, "p"))
	expectStatus(answer, 429, "TooManyRequests", /^Too many requests: limit reached on type SourceAndObject for key cPoddefaultpv1$/)
})
await server.stop()

async function refusal(flags) {
	const one = start("server", "--data-dir", `${scratch}/refused`, "--secure-port", "0", ...flags)
	assert.notEqual((await one.ended).code, 0)
	return one.err
}
await test("a server without limits, or with wrong ones, does not start", async () => {
	assert.match(await refusal(enabled), /EventRateLimit needs a configuration/)
	configure([{ type: "User", qps: 0, burst: 1 }])
	assert.match(await refusal([...enabled, ...configured]), /limits\[0\]\.qps: Invalid value: 0: must be positive/)
})
finish()
