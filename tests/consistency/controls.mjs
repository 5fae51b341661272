// Negative controls: histories with one violation each. The checker must find it, by its name. Positive ones: the checker finds nothing
// in right histories, however odd.
//
//	for (const [name, story, wanted] of controls()) { .. }    wanted: names of violations, empty for right histories
import { Dice } from "../drill/faults.mjs"
import { goodStory } from "./story.mjs"

const find = (s, f, v) => s.records.find((record) => record.f === f && record.v === v)

// Name: [which violations must be found, what spoils a right history].
const spoilt = {
	"a step that two clients are told they made": [["one write, two acknowledgements", "counter"], (s) => {
		const step = find(s, "cas", "2")
		s.records.push({ ...step, p: "p9", s: 1 })
		s.records.push({ ...step, p: "p8", s: 2 })
	}],
	"a deletion that two clients are told they made": [["one write, two acknowledgements", "not linearizable"], (s) => {
		const gone = s.records.find(({ f }) => f === "delete")
		s.records.push({ ...gone, p: "p9" })
	}],
	"an update lost: two compare-and-sets from one version": [["not linearizable"], (s) => {
		find(s, "cas", "3").e = find(s, "cas", "2").e
	}],
	"a counter below its acknowledged steps": [["counter"], (s) => {
		s.records.findLast(({ f, c }) => f === "list" && c === "main").items.find(([k]) => k === "n0-0")[2] = "2"
	}],
	"a counter above all its steps": [["counter"], (s) => {
		s.remove([find(s, "cas", "2")])
	}],
	"a read of an old version": [["stale read", "not linearizable"], (s) => {
		Object.assign(s.records.findLast(({ f, o }) => f === "get" && o === 200), { r: 102, x: "v2" })
	}],
	"a read of nothing where there is an object": [["not linearizable"], (s) => {
		s.records.findLast(({ f, o }) => f === "get" && o === 200).o = 404
	}],
	"a create that is refused though the object is not there": [["not linearizable"], (s) => {
		const op = find(s, "create", "x1"), first = s.records[0]
		s.records.push({ ...op, v: "x9", a: first.a, b: first.b })
	}],
	"a compare-and-set that is refused though it names the version": [["not linearizable"], (s) => {
		find(s, "cas", "x2").e = 102
	}],
	"a patch that is refused though its test holds": [["not linearizable"], (s) => {
		find(s, "jpatch", "x3").e = "v3"
	}],
	"a refusal because of a write that never happened": [["not linearizable"], (s) => {
		const seen = s.get("main", "a")
		s.enter({ c: "main", f: "cas", k: "a", v: "lost", e: seen.r, o: 0, b: null })
		s.enter({ c: "main", f: "cas", k: "a", v: "x7", e: seen.r, o: 409 })
		s.get("main", "a")
	}],
	"a deletion that is refused though the object is there": [["not linearizable"], (s) => {
		s.enter({ c: "main", f: "delete", k: "a", o: 404 })
	}],
	"a refused write that happened": [["refused write happened"], (s) => {
		s.write("main", "put", "a", "v7").o = 404
	}],
	"an answer that shows another value": [["wrong answer"], (s) => {
		find(s, "put", "v5").x = "v4"
	}],
	"a value that nobody wrote": [["value from nowhere"], (s) => {
		s.remove([s.write("main", "put", "a", "v7")])
	}],
	"one version with two values": [["one version, two contents"], (s) => {
		s.records.find(({ f, o }) => f === "get" && o === 200).x = "v5"
	}],
	"a later write with an earlier version": [["version went back"], (s) => {
		find(s, "apply", "v4").r = 99
	}],
	"one version for two objects": [["one version, two objects"], (s) => {
		find(s, "create", "0").r = find(s, "apply", "v4").r
	}],
	"a list that mixes two versions": [["list is no snapshot"], (s) => {
		const item = s.records.find(({ mode }) => mode === "exact").items.find(([k]) => k === "a")
		item[1] = 104
		item[2] = "v4"
	}],
	"a list without an object": [["list is no snapshot"], (s) => {
		s.records.find(({ mode }) => mode === "exact").items.pop()
	}],
	"a list with a deleted object": [["list is no snapshot"], (s) => {
		s.records.findLast(({ f, c }) => f === "list" && c === "port").items.push(["s0", s.version, "30000"])
	}],
	"a list that shows an object twice": [["list is no snapshot"], (s) => {
		const { items } = s.records.find(({ mode }) => mode === "exact")
		items.push(items[0])
	}],
	"pages of two versions": [["pages of different versions"], (s) => {
		s.list("main", "page", { other: 103 })
	}],
	"a list of another version than was asked for": [["list of a wrong version"], (s) => {
		s.list("main", "exact", { e: s.version - 1 })
	}],
	"a list older than was asked for": [["list of a wrong version"], (s) => {
		s.list("main", "newer", { e: s.version + 1 })
	}],
	"a list from the past": [["stale list"], (s) => {
		s.records.find(({ mode }) => mode === "exact").mode = "latest"
		s.records.find(({ mode }) => mode === "latest").mode = "exact"
		const [first, second] = s.records.filter(({ f }) => f === "list")
		Object.assign(second, { r: first.r, items: first.items })
		first.e = first.r
	}],
	"a watcher that misses an event": [["watch event missing"], (s) => {
		s.remove(s.events(103, "main/1"))
	}],
	"an event that no watcher sees": [["acknowledged write not watched"], (s) => {
		s.remove(s.events(103))
	}],
	"a deletion that no watcher sees": [["acknowledged write not watched"], (s) => {
		s.remove(s.records.filter(({ y, c }) => y === "D" && c === "port"))
	}],
	"an event that comes twice": [["watch out of order"], (s) => {
		const [event] = s.events(103, "main/1")
		s.records.splice(s.records.indexOf(event), 0, { ...event })
	}],
	"two events in the wrong order": [["watch out of order"], (s) => {
		const [first] = s.events(103, "main/1"), [second] = s.events(104, "main/1")
		const at = s.records.indexOf(second)
		s.records[s.records.indexOf(first)] = second
		s.records[at] = first
	}],
	"an event after a bookmark that had passed it": [["watch out of order"], (s) => {
		const [event] = s.events(103, "main/1")
		s.records.splice(s.records.indexOf(event), 0, { w: "main/1", c: "main", y: "B", r: 103, b: 0 })
	}],
	"a resumed watch with a gap": [["watch event missing"], (s) => {
		const [event] = s.events(103, "main/1")
		s.records.splice(s.records.indexOf(event), 1, { w: "main/1", c: "main", y: "open", r: 102, s: 1, b: 0 })
	}],
	"two watchers with different contents": [["watchers differ"], (s) => {
		s.events(103, "main/1")[0].v = "other"
	}],
	"a change of an object that is not there": [["watch event of a wrong type"], (s) => {
		s.events(101).forEach((event) => (event.y = "M"))
	}],
	"a second creation of an object that is there": [["watch event of a wrong type"], (s) => {
		s.events(102).forEach((event) => (event.y = "A"))
	}],
	"a watch that never ends where the others do": [["watch stalled"], (s) => {
		s.plan.late = ["main/1 at version 110 of 120"]
	}],
	"two holders of a lease at once": [["two lease holders"], (s) => {
		const taken = find(s, "cas", "p1|1|3"), renewed = find(s, "cas", "p0|0|2")
		Object.assign(taken, { a: renewed.b + 1, b: renewed.b + 5 })
	}],
	"a lease that changes hands without a transition": [["lease transitions"], (s) => {
		for (const record of s.records.filter(({ v }) => v === "p1|1|3"))
			record.v = "p1|0|3"
	}],
	"more objects than the quota": [["quota exceeded"], (s) => {
		s.write("quota0", "create", "q3", "q")
	}],
	"a node port of two services": [["node port held twice"], (s) => {
		s.write("port", "create", "s2", "30000", { i: "10.96.0.2" })
	}],
	"an address of two services": [["cluster address held twice"], (s) => {
		s.write("port", "create", "s2", "30001", { i: "10.96.0.1" })
	}],
	"a device of two claims": [["device held twice"], (s) => {
		s.write("claim", "set", "c0", "e1/gpu-0")
	}],
}

const right = {
	"nothing odd": () => {},
	"a write without an answer that happened": (s) => {
		Object.assign(s.write("main", "put", "a", "v7"), { o: 0, b: null, r: undefined, x: undefined, u: undefined })
		s.get("main", "a")
	},
	"a write without an answer that did not happen": (s) => {
		s.enter({ c: "main", f: "put", k: "a", v: "v7", o: 0, b: null })
		s.get("main", "a")
	},
	"one of three equal steps without an answer happened": (s) => {
		const { r } = s.states.main.get("n0-0")
		Object.assign(s.write("main", "cas", "n0-0", "4"), { o: 0, b: null, r: undefined, x: undefined, u: undefined })
		for (const p of ["p8", "p9"])
			s.enter({ c: "main", f: "cas", k: "n0-0", v: "4", e: r, o: 0, b: null, p })
		s.get("main", "n0-0")
		s.write("main", "cas", "n0-0", "5")
		s.list("main", "latest", { final: true })
	},
	"a deletion without an answer that happened": (s) => {
		Object.assign(s.delete("main", "a"), { o: 0, b: null, u: undefined })
		s.get("main", "a")
		s.write("main", "create", "a", "v8")
	},
	"a watcher that had to list anew": (s) => {
		const lost = s.events(103, "main/1")[0]
		s.remove(s.events(102, "main/1"))
		s.records.splice(s.records.indexOf(lost), 1, { w: "main/1", c: "main", y: "gap", r: 103, items: [["a", 103, "v3"]], b: 0 })
	},
	"a gap that all watchers have": (s) => {
		for (const w of ["main/0", "main/1"]) {
			const lost = s.events(103, w)[0]
			s.remove(s.events(102, w))
			s.records.splice(s.records.indexOf(lost), 1, { w, c: "main", y: "gap", r: 103, items: [["a", 103, "v3"]], b: 0 })
		}
	},
}

// Clients at the same time: each operation takes effect at a random moment between its call and its return.
export function concurrent(seed) {
	const dice = new Dice(seed), s = goodStory()
	const from = s.records.length
	for (let n = 0; n < 120; n++) {
		const there = s.states.main.get("z"), roll = dice.below(10)
		if (!there && roll < 5)
			s.write("main", "create", "z", `z${n}`)
		else if (there && roll < 3)
			s.write("main", dice.one(["put", "cas", "jpatch", "apply"]), "z", `z${n}`)
		else if (there && roll === 3)
			s.delete("main", "z")
		else if (there && roll === 4)
			s.enter({ c: "main", f: "cas", k: "z", v: `z${n}`, e: there.r - 1, o: 409 })
		else
			s.get("main", "z")
	}
	for (const record of s.records.slice(from).filter(({ f }) => f)) {
		record.a -= dice.below(150)
		record.b += dice.below(150)
		// Some answers are lost.
		if (record.f !== "get" && record.o < 300 && dice.below(12) === 0)
			Object.assign(record, { o: 0, b: null, r: undefined, x: undefined, u: undefined })
	}
	return s
}

export function* controls() {
	for (const [name, [wanted, spoil]] of Object.entries(spoilt)) {
		const story = goodStory()
		spoil(story)
		yield [name, story, wanted]
	}
	for (const [name, change] of Object.entries(right)) {
		const story = goodStory()
		change(story)
		yield [name, story, []]
	}
}
