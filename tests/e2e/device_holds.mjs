// Which claims hold which devices, after every event of a watch: an exclusive device must never have two holders.
//
//	const follower = await new ClaimFollower(() => server.client, claims).start()
//	await follower.settle(version)
//	assert.deepEqual(follower.holds.doubled, [])
import { Follower } from "./api_follow.mjs"

const name = ({ metadata }) => `${metadata.namespace}/${metadata.name}`

// Device -> whether the claim excludes others from it. Admin access excludes nobody and is not excluded.
export function devicesOf(claim) {
	const results = claim.status?.allocation?.devices?.results ?? []
	return new Map(results.filter((r) => !r.adminAccess).map((r) => [`${r.driver}/${r.pool}/${r.device}`, !r.shareID]))
}

export class DeviceHolds {
	constructor() {
		this.holders = new Map() // device -> claim -> whether it excludes others
		this.claims = new Map() // claim -> its devices
		this.doubled = [] // { version, device, holders }: at this version the device got one holder too many
	}

	take({ type, object }) {
		const claim = name(object), before = this.claims.get(claim) ?? new Map()
		const after = type === "DELETED" ? new Map() : devicesOf(object)
		for (const device of before.keys())
			this.holders.get(device).delete(claim)
		for (const [device, exclusive] of after) {
			const those = this.holders.get(device) ?? new Map()
			this.holders.set(device, those.set(claim, exclusive))
			if (before.get(device) !== exclusive && those.size > 1 && [...those.values()].includes(true))
				this.doubled.push({ version: object.metadata.resourceVersion, device, holders: [...those.keys()].sort() })
		}
		this.claims.set(claim, after)
		if (after.size === 0)
			this.claims.delete(claim)
	}
}

// Follows the claims of a namespace. A list that had to be made again is one of `gaps`: the events in between were not seen.
export class ClaimFollower extends Follower {
	async list() {
		await super.list()
		const doubled = this.holds?.doubled ?? []
		this.holds = new DeviceHolds()
		for (const object of this.state.values())
			this.holds.take({ type: "ADDED", object })
		this.holds.doubled.unshift(...doubled)
	}

	take(event) {
		super.take(event)
		if (event.type !== "BOOKMARK")
			this.holds.take(event)
	}
}
