// Expressions that cost much to compile: the server refuses them early, and has time for others.
import assert from "node:assert/strict"
import { core, dra, startServer } from "./api_lib.mjs"
import { finish, test } from "./lib.mjs"

const claims = `${dra}/namespaces/default/resourceclaims`
const dry = `${claims}?dryRun=All`
const mostSteps = 4_000_000 // CEL_COMPILE_MAX
const excess = /too complex, compiling the CEL expressions of the object exceeds cost limit/

const server = await startServer("lmdb")
const { client } = server

async function steps() {
	const { text } = await client.get("/metrics")
	return Number(/^devplane_cel_compile_steps_total (\S+)$/m.exec(text)?.[1])
}

// The answer, and the work that the server did for it.
async function worked(answer) {
	const before = await steps()
	const { code, text } = await answer()
	return { code, text, work: (await steps()) - before }
}

// A claim with these selectors, 32 in each request.
function claim(expressions) {
	const requests = []
	for (let i = 0; i < expressions.length; i += 32) {
		const selectors = expressions.slice(i, i + 32).map((expression) => ({ cel: { expression } }))
		requests.push({ name: `r${i}`, exactly: { deviceClassName: "gpu", selectors } })
	}
	return { apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", metadata: { name: "heavy" }, spec: { devices: { requests } } }
}

const many = (n, make) => Array.from({ length: n }, (_, i) => make(i))
const long = (part) => Array(Math.floor(10_000 / (part.length + 2))).fill(part).join("||")

const attacks = {
	"patterns that repeat much": (i) => long(`"a".matches("(ab|cd|ef|gh|ij|kl|mn|op|qr|st|uv|wx|y${i}){1000}N")`),
	"patterns with large tables": (i) => long(`device.driver.matches("(a|b)*a(a|b){7}c${i}")`),
	"patterns with large classes": (i) => long(`device.driver.matches("(?i)\\\\pL\\\\pN${i}")`),
	"long plain expressions": (i) => long(`device.driver=='${i}'`),
	"faults that are shown with much text": (i) => Array(4000).fill(`a${i % 10}`).join("+").slice(0, 10_000),
}

for (const [what, make] of Object.entries(attacks)) {
	await test(`a claim with 250 selectors, ${what}, is refused within a budget`, async () => {
		const { code, text, work } = await worked(() => client.post(dry, claim(many(250, make))))
		assert.equal(code, 422, text.slice(0, 500))
		assert.match(text, excess)
		assert.ok(work <= mostSteps, `${work} steps`)
	})
}

await test("the work on one claim is done in parts, and others are served in between", async () => {
	const pauses = async () => Number(/^devplane_cel_compile_pauses_total (\S+)$/m.exec((await client.get("/metrics")).text)?.[1])
	const heavy = (i) => Array(9).fill(`"a".matches("(ab|cd|ef|gh|ij|kl|mn|op|qr|st|uv|wx|y${i}){999}N")`).join("||")
	const before = await pauses()
	const { code, text } = await client.post(dry, claim(many(32, heavy)))
	assert.equal(code, 422, text.slice(0, 500))
	assert.match(text, excess)
	assert.ok(await pauses() - before >= mostSteps / 200_000, `${await pauses() - before} pauses`)
	// Those that everybody has take one part.
	const quick = await pauses()
	assert.equal((await client.post(dry, claim(many(10, (i) => `device.driver == "${i}.example.com"`)))).code, 201)
	assert.equal(await pauses(), quick)
})

await test("one selector that is too complex is refused, and named", async () => {
	const { code, text, work } = await worked(() => client.post(dry, claim(["true", attacks["patterns that repeat much"](0), "false"])))
	assert.equal(code, 422, text.slice(0, 500))
	assert.match(text, /selectors\[1\].cel.expression: Forbidden: too complex, compiling the CEL expression exceeds cost limit/)
	assert.ok(work < 200_000, `${work} steps`)
})

await test("others are served between five such claims", async () => {
	const body = claim(many(250, attacks["patterns that repeat much"]))
	const before = await steps()
	const codes = await Promise.all(many(5, async () => {
		const { code } = await client.post(dry, body)
		return [code, (await client.get("/readyz")).code]
	}))
	assert.deepEqual(codes, Array(5).fill([422, 200]))
	assert.ok((await steps()) - before <= 5 * mostSteps)
})

await test("as many selectors as a claim may have are accepted, if they are usual ones", async () => {
	const usual = (i) => `has(device.attributes["gpu.example.com"].model) && device.attributes["gpu.example.com"].model == "H${i}"`
	const { code, text, work } = await worked(() => client.post(dry, claim(many(1024, usual))))
	assert.equal(code, 201, text.slice(0, 500))
	assert.ok(work > 0 && work < mostSteps / 2, `${work} steps`)
})

await test("a text that is repeated is compiled once, however long it is", async () => {
	const text = attacks["long plain expressions"](7)
	const once = await worked(() => client.post(dry, claim([`${text} || true`])))
	const often = await worked(() => client.post(dry, claim(Array(280).fill(`${text} || false`))))
	assert.equal(once.code, 201, once.text.slice(0, 500))
	assert.equal(often.code, 201, often.text.slice(0, 500))
	assert.ok(often.work < 2 * once.work, `${often.work} steps instead of ${once.work}`)
})

await test("admission policies and rules of definitions have such a budget, too", async () => {
	const heavy = attacks["patterns that repeat much"]
	const admission = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies?dryRun=All"
	const policy = { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingAdmissionPolicy", metadata: { name: "heavy" }, spec: {
		matchConstraints: { resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }] },
		validations: many(200, (i) => ({ expression: heavy(i).replaceAll("device.driver", "request.name") })) } }
	const refused = await worked(() => client.post(admission, policy))
	assert.equal(refused.code, 422, refused.text.slice(0, 500))
	assert.match(refused.text, excess)
	assert.ok(refused.work <= mostSteps)

	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All"
	const names = { plural: "heavies", singular: "heavy", kind: "Heavy", listKind: "HeavyList" }
	const rules = many(200, (i) => ({ rule: heavy(i) }))
	const definition = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: "heavies.example.com" }, spec: {
		group: "example.com", scope: "Namespaced", names,
		versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", "x-kubernetes-validations": rules } } }] } }
	const { code, text } = await client.post(definitions, definition)
	assert.equal(code, 422, text.slice(0, 500))
	assert.match(text, /compiling the CEL expressions of the object exceeds cost limit/)
	assert.equal((await client.get(`${core}/namespaces/default`)).code, 200)
})

await server.stop()
finish()
