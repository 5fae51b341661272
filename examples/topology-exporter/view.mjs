// view - the state that the two streams have reported so far. Pure: requests out, events in; no I/O.
//
// A view lives as long as the program, streams come and go. To open a stream, ask the view for the request, and
// pass it every message:
//
//	for await (const event of client.ListAndWatch(view.request()))
//		view.apply(event)
//
// The first stream brings the present state (send_initial), ended by a message with initial_end. From then on the view
// is complete, and stays so while streams break and are resumed (after_revision): it is a little old then, never mixed
// up. When the server cannot resume, it says so first (a reset: DELETED of nobody) and sends the present state again;
// until the end of that the view is not complete, and must not be shown to anybody.

// The common part of both views: when they are complete, and from where a stream is resumed.
class View {
	complete = false
	#revision

	request() {
		if (this.complete)
			return { after_revision: this.#revision }
		// A state that was cut off is not usable: no event would report what was removed meanwhile.
		this.#restart()
		return { send_initial: true }
	}

	apply(event) {
		if (event.revision === "0")
			throw new Error("events have no revision: this server knows neither send_initial nor after_revision")
		if (event.initial_end)
			this.complete = true
		else if (this.isReset(event))
			this.#restart()
		else
			this.take(event)
		this.#revision = event.revision
	}

	#restart() {
		this.complete = false
		this.forget()
	}
}

// The pods of the node and what they hold, by uid: a pod that is made again under its name is another.
export class PodsView extends View {
	#pods = new Map()

	get pods() {
		return [...this.#pods.values()]
	}

	isReset({ action, uid }) {
		return action === "DELETED" && !uid
	}

	forget() {
		this.#pods.clear()
	}

	take({ action, uid, pod_resources: [pod] }) {
		if (action === "DELETED")
			this.#pods.delete(uid)
		else
			this.#pods.set(uid, pod)
	}
}

// The node's allocatable resources. Each event contains all of them, so only the last one counts.
export class AllocatableView extends View {
	allocatable = { devices: [], cpu_ids: [], memory: [] }

	isReset() {
		return false
	}

	forget() {}

	take({ devices, cpu_ids, memory }) {
		this.allocatable = { devices, cpu_ids, memory }
	}
}
