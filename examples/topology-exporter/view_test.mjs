// Tests of view.mjs: what a reader believes after the messages of streams that break and come back.
import assert from "node:assert/strict"
import test from "node:test"
import { AllocatableView, PodsView } from "./view.mjs"

let revision = 0

// Messages as proto-loader gives them: each with the next revision.
const event = (action, fields) => ({ action, revision: String(revision += 2), initial_end: false, ...fields })
const nothing = { uid: "", pod_resources: [], devices: [], cpu_ids: [], memory: [] }
const pod = (action, uid, name = uid) => event(action, { uid, pod_resources: [{ name }] })
const offer = (action, ...cpu_ids) => event(action, { devices: [], cpu_ids, memory: [] })
const end = () => event("ADDED", { ...nothing, initial_end: true })
const reset = () => event("DELETED", nothing)
const names = (view) => view.pods.map(({ name }) => name)

function following(...events) {
	const view = new PodsView()
	view.request()
	events.forEach((e) => view.apply(e))
	return view
}

test("a view asks for everything, and is complete when it has been sent", () => {
	const view = new PodsView()
	assert.deepEqual(view.request(), { send_initial: true })
	view.apply(pod("ADDED", "a"))
	assert.equal(view.complete, false)
	view.apply(end())
	assert.equal(view.complete, true)
	assert.deepEqual(names(view), ["a"])
})

test("an event has the pod's whole state", () => {
	const view = following(end(), pod("ADDED", "a", "before"), pod("ADDED", "b"))
	view.apply(pod("UPDATED", "a", "after"))
	view.apply(pod("DELETED", "b"))
	assert.deepEqual(names(view), ["after"])
})

test("a pod that is made again under its name is another", () => {
	const view = following(end(), pod("ADDED", "a", "web"), pod("ADDED", "b", "web"), pod("DELETED", "a", "web"))
	assert.deepEqual(names(view), ["web"])
})

test("a stream that broke is resumed after the last message, with what is known", () => {
	const last = pod("ADDED", "b")
	const view = following(pod("ADDED", "a"), end(), last)
	assert.deepEqual(view.request(), { after_revision: last.revision })
	assert.equal(view.complete, true)
	view.apply(pod("DELETED", "a"))
	assert.deepEqual(names(view), ["b"])
})

test("a stream that broke before the state's end begins anew", () => {
	const view = following(pod("ADDED", "gone"))
	assert.deepEqual(view.request(), { send_initial: true })
	view.apply(pod("ADDED", "a"))
	view.apply(end())
	assert.deepEqual(names(view), ["a"])
})

test("a reset makes it forget, and it is not complete until the state's end", () => {
	const view = following(pod("ADDED", "gone"), end())
	view.request()
	view.apply(reset())
	assert.equal(view.complete, false)
	view.apply(pod("ADDED", "a"))
	assert.equal(view.complete, false)
	view.apply(end())
	assert.equal(view.complete, true)
	assert.deepEqual(names(view), ["a"])
})

test("a stream that breaks after a reset begins anew", () => {
	const view = following(pod("ADDED", "gone"), end(), reset(), pod("ADDED", "a"))
	assert.deepEqual(view.request(), { send_initial: true })
})

test("a server that does not number its events is refused", () => {
	assert.throws(() => following({ ...pod("ADDED", "a"), revision: "0" }), /send_initial/)
})

test("the last event is what is allocatable, whatever it was called", () => {
	const view = new AllocatableView()
	view.request()
	view.apply(offer("ADDED", "1", "2"))
	view.apply(end())
	assert.equal(view.complete, true)
	assert.deepEqual(view.allocatable.cpu_ids, ["1", "2"])
	view.apply(offer("DELETED", "2"))
	assert.deepEqual(view.allocatable.cpu_ids, ["2"])
})
