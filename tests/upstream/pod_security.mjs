// DEVPLANE=BINARY TMP=EMPTY tests/upstream/pod_security.mjs FOLDER   upstream's fixtures for Pod Security Standards, judged by our server.
//
// FOLDER is test/testdata of upstream's pod-security-admission: LEVEL/VERSION/pass and fail, a pod in each file. Each pod is created
// (dry run) in a namespace that enforces its level and version, and as the template of a Deployment in a namespace that warns about
// them. Not part of make test, because upstream's files are not part of this project. Says the number that is judged alike, and
// which are not.
import { readdirSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { startServer } from "../e2e/api_lib.mjs"

const yaml = createRequire(new URL("../e2e/package.json", import.meta.url))("js-yaml")
const folder = process.argv[2]
const server = await startServer("lmdb")
const counts = { pod: 0, template: 0 }, wrong = []

const refused = /violates PodSecurity "/
const warned = /would violate PodSecurity/

async function judge(where, namespace, pass, pod) {
	const metadata = { ...pod.metadata, name: "test" }
	const made = await server.client.post(`/api/v1/namespaces/${namespace}/pods?dryRun=All`, { ...pod, metadata })
	const fine = made.code === 201
	counts.pod++
	if (fine !== pass || (!fine && !refused.test(made.body.message) && made.code !== 422))
		wrong.push(`${where}: ${made.code} ${made.text.slice(0, 300)}`)
	const labels = { ...metadata.labels, test: "true" }
	const deployment = await server.client.post(`/apis/apps/v1/namespaces/${namespace}-warn/deployments?dryRun=All`, {
		metadata: { name: "test" },
		spec: { selector: { matchLabels: { test: "true" } }, template: { metadata: { ...metadata, name: undefined, labels }, spec: pod.spec } },
	})
	if (deployment.code === 422)
		return // the pod is invalid by itself, so nobody asks whether it is secure
	counts.template++
	if (deployment.code !== 201 || warned.test(deployment.headers.warning ?? "") === pass)
		wrong.push(`${where} as a template: ${deployment.code} ${deployment.headers.warning}`)
}

for (const level of ["baseline", "restricted"]) {
	for (const version of readdirSync(`${folder}/${level}`)) {
		const namespace = `${level}-${version.replace(".", "-")}`
		const labels = (mode) => ({ [`pod-security.kubernetes.io/${mode}`]: level, [`pod-security.kubernetes.io/${mode}-version`]: version })
		for (const [name, mode] of [[namespace, "enforce"], [`${namespace}-warn`, "warn"]]) {
			await server.client.post("/api/v1/namespaces", { metadata: { name, labels: labels(mode) } })
			await server.client.post(`/api/v1/namespaces/${name}/serviceaccounts`, { metadata: { name: "default" } })
		}
		for (const verdict of ["pass", "fail"])
			for (const file of readdirSync(`${folder}/${level}/${version}/${verdict}`))
				await judge(`${level}/${version}/${verdict}/${file}`, namespace, verdict === "pass",
					yaml.load(readFileSync(`${folder}/${level}/${version}/${verdict}/${file}`, "utf8")))
	}
}
await server.stop()
for (const line of wrong)
	console.log(`not alike: ${line}`)
console.log(`${counts.pod} pods and ${counts.template} templates, ${wrong.length} not judged alike`)
process.exit(wrong.length ? 1 : 0)
