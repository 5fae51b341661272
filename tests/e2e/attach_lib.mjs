// A kubelet that only answers on its PodResources socket, in a process of its own: what the tests of attach mode share. See
// attach_kubelet.mjs for the state.
//
//	const kubelet = fakeKubelet(socket, { gpus: ["0", "1"] })
//	await kubelet.begin()
//	await kubelet.set({ a: { gpus: ["0"] } })
import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"

const program = fileURLToPath(new URL("attach_kubelet.mjs", import.meta.url))

export function fakeKubelet(socket, first = {}) {
	const kubelet = { holds: {}, id: 0 }

	kubelet.begin = async (state = {}) => {
		kubelet.process = fork(program, [socket])
		await once(kubelet.process, "message")
		await kubelet.say({ lists: [kubelet.holds], ...first, ...state })
	}

	kubelet.kill = async () => {
		const ended = once(kubelet.process, "exit")
		kubelet.process.kill("SIGKILL")
		await ended
	}

	// Resolves to the calls so far, once the new state is in effect.
	kubelet.say = (state = {}) => new Promise((resolve) => {
		const id = ++kubelet.id
		const heard = (answer) => {
			if (answer.id !== id)
				return
			kubelet.process.off("message", heard)
			resolve(answer)
		}
		kubelet.process.on("message", heard)
		kubelet.process.send({ id, ...state })
	})

	// Sets what pods hold from now on: { a: { gpus, cpus } }; undefined: nothing, and the pod is not listed. The replies in
	// `before` are sent first.
	kubelet.set = (changes, ...before) => {
		for (const [name, held] of Object.entries(changes)) {
			if (held)
				kubelet.holds[name] = held
			else
				delete kubelet.holds[name]
		}
		return kubelet.say({ lists: [...before, kubelet.holds] })
	}

	process.on("exit", () => kubelet.process?.kill("SIGKILL"))
	return kubelet
}
