// explain - why a pod waits, in the scheduler's own words, taken apart so that each part can be read and followed. Pure. It decides
// nothing: which devices would do, and on which node, is what `devplane explain-fit` says.

const head = /^(\d+)\/(\d+) nodes are available:?\s*([\s\S]*)$/

// "2 cannot allocate all claims, 1 Insufficient cpu." as [{ count, text }]. A part without a number has no count.
function reasonsOf(text) {
	return text.trim().replace(/\.$/, "").split(/,\s+(?=\d+ )/).filter(Boolean).map((part) => {
		const [, count, rest] = /^(\d+) ([\s\S]*)$/.exec(part) ?? [undefined, undefined, part]
		return { count: count && Number(count), text: rest.replace(/^node\(s\) /, "") }
	})
}

// { fit, nodes, reasons, preemption } of a scheduler's message; undefined for any other.
export function splitMessage(message) {
	const [, fit, nodes, rest] = head.exec(message) ?? []
	if (nodes === undefined)
		return undefined
	const [why, after = ""] = rest.split(/\s*preemption: /)
	const preemption = head.exec(after)?.[3] ?? after
	return {
		fit: Number(fit), nodes: Number(nodes), reasons: reasonsOf(why).sort((a, b) => (b.count ?? 0) - (a.count ?? 0)),
		preemption: reasonsOf(preemption).map((r) => r.text).join("; "),
	}
}

// The drivers that a class names in its selectors.
export function driversOf(deviceClass) {
	const all = (deviceClass?.spec?.selectors ?? []).flatMap(({ cel }) => [...(cel?.expression ?? "").matchAll(/device\.driver\s*==\s*(["'])([^"']+)\1/g)].map((m) => m[2]))
	return [...new Set(all)]
}

// The classes that the requests of a claim name.
export function classesOf(claim) {
	const all = (claim?.spec?.devices?.requests ?? []).flatMap((r) => r.firstAvailable ?? [r.exactly ?? {}]).map((r) => r.deviceClassName)
	return [...new Set(all.filter(Boolean))]
}

const plainWord = /^[\w@%+=:,./-]+$/

// A command of words, for a shell to read.
export const shell = (...words) => words.map((w) => (plainWord.test(w) ? w : `'${w.replaceAll("'", "'\\''")}'`)).join(" ")

// The same for the cluster of that name in the kubeconfig, where there are several: a command must not reach another one.
export const kube = ({ context }, ...words) => shell(...words, ...context ? ["--context", context] : [])

// A text as parts: strings, and { text, q } for each name in it that `known(name)` has a search for.
export function linked(text, known) {
	const parts = []
	for (const piece of text.split(/([A-Za-z0-9][\w./-]*[A-Za-z0-9])/)) {
		const q = known(piece)
		if (q)
			parts.push({ text: piece, q })
		else if (typeof parts.at(-1) === "string")
			parts[parts.length - 1] += piece
		else if (piece)
			parts.push(piece)
	}
	return parts
}
