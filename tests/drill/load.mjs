// The load: pods that come and go, each with a claim made from a template, in a namespace of their own.
import assert from "node:assert/strict"
import { core, dra, expect } from "../e2e/api_lib.mjs"
import { pause, random } from "../e2e/api_ledger.mjs"

export const space = "drill"
export const podsPath = `${core}/namespaces/${space}/pods`
export const claimsPath = `${dra}/namespaces/${space}/resourceclaims`

// The requests that a pod may have.
const templates = { one: ["gpu", 1], two: ["gpu", 2], nic: ["nic", 1] }

export function wants(pod) {
	const [deviceClass, count] = templates[pod.spec.resourceClaims[0].resourceClaimTemplateName]
	return { deviceClass, count }
}

const podObject = (name, template) => ({
	metadata: { name },
	spec: {
		terminationGracePeriodSeconds: 1,
		resourceClaims: [{ name: "device", resourceClaimTemplateName: template }],
		containers: [{ name: "main", image: "busybox", resources: { claims: [{ name: "device" }] } }],
	},
})

// Each slot has at most one pod, and makes the next when the last was deleted. Acknowledged writes are recorded.
export class Pods {
	constructor(client, slots) {
		Object.assign(this, { client, slots, serial: 0, created: 0, deleted: 0, lost: [] })
		this.live = new Map() // name -> uid, of those whose creation was acknowledged and whose deletion was not asked for
	}

	async prepare() {
		expect(await this.client.post(`${core}/namespaces`, { metadata: { name: space } }), 201)
		for (const [name, [deviceClassName, count]] of Object.entries(templates)) {
			expect(await this.client.post(`${dra}/namespaces/${space}/resourceclaimtemplates`, {
				metadata: { name }, spec: { spec: { devices: { requests: [{ name: "d", exactly: { deviceClassName, count } }] } } },
			}), 201)
		}
	}

	// Until the server says yes or no. Undefined: the load is over.
	async insist(ask) {
		for (let unsure = false; !this.ended; unsure = true) {
			const answer = await ask().catch(() => undefined)
			// The account of a new namespace may not be there yet.
			if (answer && answer.code < 500 && answer.code !== 429 && answer.code !== 403)
				return { ...answer, unsure }
			await pause(50)
		}
	}

	async one(slot) {
		const name = `p${slot}-${this.serial++}`
		const template = Object.keys(templates)[random(3)]
		const made = await this.insist(() => this.client.post(podsPath, podObject(name, template), { seconds: 20 }))
		if (!made)
			return
		// An attempt without an answer may have worked.
		assert.ok(made.code === 201 || (made.code === 409 && made.unsure), made.text)
		const there = made.code === 201 ? made : await this.insist(() => this.client.get(`${podsPath}/${name}`))
		if (!there)
			return
		this.live.set(name, expect(there, there === made ? 201 : 200).metadata.uid)
		this.created++
		await pause(500 + random(4000))
		if (this.ended)
			return
		this.live.delete(name)
		const gone = await this.insist(() => this.client.delete(`${podsPath}/${name}`, {}, { seconds: 20 }))
		if (gone && ![200, 202].includes(gone.code) && !gone.unsure)
			this.lost.push(`${name}: ${gone.text}`)
		this.deleted++
	}

	start() {
		this.ended = false
		this.work = Promise.all(Array.from({ length: this.slots }, async (_, slot) => {
			while (!this.ended)
				await this.one(slot).catch((error) => (this.fault ??= error))
		}))
	}

	// Stops; the pods that are there stay.
	async stop() {
		this.ended = true
		await this.work
		if (this.fault)
			throw this.fault
	}
}
