// detail - all about one device, in a panel beside the map, kept up to date.
import { command } from "./copy.js"
import { ago, clock, count, el, keepFocus } from "./dom.js"
import { attributeText, capacityOf } from "./derive.js"
import { kube, shell } from "./explain.js"
import { exactly } from "./filter.js"
import { sign } from "./glyph.js"
import { timeline } from "./timeline.js"
import { healthText, stateText } from "./words.js"

// Explanations of the API's reasons.
const reasons = {
	PoolIncomplete: "slices of its pool are missing", PoolInvalid: "slices of its pool contradict each other", NoNode: "no node can reach it", NodeGone: "its node does not exist", NodeUnreachable: "its node is unreachable",
	UnsupportedFeature: "it needs a feature that is off", CapacityExhausted: "less is left than a claim must take",
	CountersExhausted: "counters that it shares with others are used up",
}

// Keeps new claims off the device, until the rule is deleted.
function taintCommand(model, { driver, pool, name }) {
	const rule = {
		apiVersion: "resource.k8s.io/v1", kind: "DeviceTaintRule", metadata: { generateName: "repair-" },
		spec: { deviceSelector: { driver, pool, device: name }, taint: { key: "example.com/repair", effect: "NoSchedule" } },
	}
	return `echo ${shell(JSON.stringify(rule))} | ${kube(model, "kubectl", "create", "-f", "-")}`
}

function section(title, ...content) {
	return el("section", { class: "part" }, el("h3", { text: title }), ...content)
}

function pairs(rows) {
	return el("dl", { class: "pairs" }, rows.map(([name, value]) => [el("dt", { text: name }), el("dd", {}, value)]))
}

function badge(kind, state, health, text) {
	return el("span", { class: `badge ${kind}` }, sign(state, health, 15), text)
}

export class Detail {
	// close() is called when the user has seen enough; href(q) is the address of a search.
	constructor(root, { close, href }) {
		Object.assign(this, { root, href, model: undefined, key: "" })
		this.body = el("div", { class: "detail-body" })
		this.button = el("button", { class: "icon-button close", type: "button", "aria-label": "Close", title: "Close (Esc)", text: "×", onclick: () => close() })
		this.title = el("h2", { tabindex: "-1", id: "detail-title" })
		root.append(el("header", { class: "detail-head" }, this.title, this.button), this.body)
	}

	link(text, q, focus) {
		return el("a", { href: this.href(q), text, "data-focus": focus })
	}

	show(key, focus) {
		const other = key !== this.key
		this.key = key
		this.root.hidden = !key
		if (!key)
			return
		this.render()
		if (other)
			this.root.scrollTop = 0
		if (focus)
			this.title.focus()
	}

	update(changes) {
		if (!this.key)
			return
		const d = this.model.devices.get(this.key)
		const concerned = changes.touched.has(this.key) || changes.removed.has(this.key) || changes.added.has(this.key) ||
			(d && (changes.rules || changes.nodes.has(d.node) || d.pods.some((p) => changes.pods.has(p)) || [...d.holders, ...d.admins].some((h) => changes.claims.has(`${h.namespace}/${h.name}`))))
		if (concerned)
			this.render()
	}

	render() {
		const d = this.model.devices.get(this.key)
		this.title.textContent = d ? d.name : this.key
		keepFocus(this.body, () => this.body.replaceChildren(...(d ? this.parts(d) : [el("p", { text: "This device is not there any more, or not yet." })]).flat(2).filter(Boolean)))
	}

	parts(d) {
		const entries = this.entries(d)
		const conditions = entries.flatMap((e) => e.conditions ?? [])
		return [
			this.identity(d), this.health(d, conditions), this.holders(d), this.network(entries), this.conditions(conditions),
			this.taints(d), this.capacity(d), this.attributes(d), this.data(entries), this.commands(d),
		]
	}

	// The status that drivers report for the device in its claims. A claim may have several shares of it.
	entries(d) {
		const claims = new Set([...d.holders, ...d.admins].map((h) => this.model.claimOf(h)).filter(Boolean))
		return [...claims].flatMap((c) => c.status?.devices ?? []).filter((e) => e.driver === d.driver && e.pool === d.pool && e.device === d.name)
	}

	identity(d) {
		const ready = d.node && this.model.nodeReady(d.node)
		const rows = [
			["driver", this.link(d.driver, exactly("driver", d.driver), "driver")],
			["pool", this.link(d.pool, exactly("pool", d.pool), "pool")],
			["node", d.node ? [this.link(d.node, exactly("node", d.node), "node"), ready && ready !== "True" ? " (not ready)" : ""] : "none: it is reached over the network"],
		]
		if (d.kind !== d.driver)
			rows.push(["model", this.link(d.kind, exactly("model", d.kind), "model")])
		if (d.slice)
			rows.push(["slice", d.slice])
		const trouble = this.model.pools.get(`${d.driver}/${d.pool}`)?.trouble ?? []
		return [
			el("p", { class: "badges" },
				badge(`s-${d.state}`, d.state, "untold", stateText[d.state]),
				d.state !== "unpublished" && badge(`h-${d.health}`, "free", d.health, healthText[d.health])),
			d.reason && el("p", { class: "quiet reason-line" }, d.reason, reasons[d.reason] ? ` (${reasons[d.reason]})` : ""),
			d.state === "unpublished" && el("p", { class: "quiet", text: "The status of its slice is missing or out of date: no controller has published the state of this device." }),
			d.unnamed && el("p", { class: "quiet", text: "A device plugin says how many devices it has; their names are known when a pod has them." }),
			pairs(rows),
			trouble.length > 0 && el("ul", { class: "trouble" }, trouble.map((t) => el("li", { text: `Pool: ${t}` }))),
		]
	}

	health(d, conditions) {
		const { model } = this, since = model.since(d), records = model.history(d.key), kept = model.kept.get(d.key)
		if (d.health === "unpublished" && !records.length && !kept)
			return undefined
		const past = timeline({ records, kept, conditions, current: d.health, state: d.state, since: d.since, opened: model.opened, now: model.now() })
		if (d.health === "untold" || d.health === "unpublished")
			return section("Health", past)
		return section("Health",
			d.message && el("p", { class: `message h-${d.health}`, text: d.message }),
			el("p", { class: "quiet" }, `${healthText[d.health]} `, since ? ["for ", ago(since), `, since ${clock(since)}`] : `since before this page was opened at ${clock(model.opened)}`,
				d.healthFrom ? `; reported by ${d.healthFrom}` : ""), past)
	}

	holders(d) {
		const content = d.holders.map((h) => this.holder(h))
		if (d.omitted)
			content.push(el("li", { class: "quiet", text: `and ${count(d.omitted, "more claim")} that the status does not name` }))
		if (d.plugin)
			content.push(...d.pods.map((p) => el("li", {}, this.pod(p))))
		if (!content.length && d.state !== "unpublished")
			content.push(el("li", { class: "quiet", text: "Nobody." }))
		return [
			content.length > 0 && section("Held by", el("ul", { class: "holders" }, content)),
			d.admins.length > 0 && section("Admin access", el("ul", { class: "holders" }, d.admins.map((h) => this.holder(h)))),
		]
	}

	holder(h) {
		const name = `${h.namespace}/${h.name}`, users = this.model.claimOf(h)?.status?.reservedFor ?? []
		return el("li", {},
			el("div", {}, "claim ", this.link(name, `${exactly("ns", h.namespace)} ${exactly("claim", h.name)}`, `claim ${name} ${h.request}`),
				h.request ? el("span", { class: "quiet", text: ` request ${h.request}` }) : ""),
			h.consumed && Object.keys(h.consumed).length > 0 && el("div", { class: "quiet", text: Object.entries(h.consumed).map(([k, v]) => `${k} ${v}`).join(", ") }),
			users.map((u) => this.pod(u.resource === "pods" ? `${h.namespace}/${u.name}` : "", u)))
	}

	pod(name, user) {
		if (!name)
			return el("div", { text: `${user.resource} ${user.name}` })
		const phase = this.model.objects.pods.get(name)?.status?.phase
		return el("div", {}, "pod ", this.link(name, exactly("pod", name), `pod ${name}`), phase ? el("span", { class: "quiet", text: ` ${phase}` }) : "")
	}

	network(entries) {
		const all = entries.map((e) => e.networkData).filter(Boolean)
		if (!all.length)
			return undefined
		return section("Network", all.map((n) => pairs([
			["interface", n.interfaceName ?? "none"], ["MAC", n.hardwareAddress ?? "none"],
			["addresses", (n.ips ?? []).map((ip) => el("div", { class: "mono", text: ip }))],
		])))
	}

	conditions(all) {
		if (!all.length)
			return undefined
		return section("Conditions", el("ul", { class: "conditions" }, all.map((c) => el("li", {},
			el("span", { class: `cond c-${c.status}`, text: `${c.type} ${c.status}` }), " ",
			c.reason ? el("span", { text: c.reason }) : "", " ",
			el("span", { class: "quiet" }, "for ", ago(Date.parse(c.lastTransitionTime))),
			c.message && el("div", { class: "quiet", text: c.message })))))
	}

	taints(d) {
		const all = [...d.taints, ...d.plugin ? [] : this.model.ruleTaints(d.key)]
		if (!all.length)
			return undefined
		return section("Taints", el("ul", { class: "plain" }, all.map((t) => el("li", {},
			el("span", { class: "mono", text: `${t.key}${t.value ? `=${t.value}` : ""}:${t.effect}` }),
			el("span", { class: "quiet", text: t.rule ? ` by rule ${t.rule}` : " by driver" }), t.timeAdded ? [el("span", { class: "quiet" }, ", ", ago(Date.parse(t.timeAdded)))] : ""))))
	}

	capacity(d) {
		const all = capacityOf(d)
		if (!all.length)
			return undefined
		return section("Capacity", all.map((c) => {
			if (c.free === undefined)
				return pairs([[c.name, c.total]])
			const bar = el("span", { class: "bar-fill" })
			bar.style.width = `${Math.min(100, Math.round(c.part * 100))}%`
			return el("div", { class: "capacity" }, el("div", {}, el("span", { text: c.name }), el("span", { class: "quiet", text: `${c.free} free of ${c.total}` })),
				el("div", { class: "bar-track", "aria-hidden": "true" }, bar))
		}))
	}

	attributes(d) {
		const all = Object.entries(d.attributes)
		return all.length ? section("Attributes", pairs(all.map(([name, a]) => [name, this.attribute(name, attributeText(a))]))) : undefined
	}

	// Words that are long enough to find something lead to the devices that have them, too.
	attribute(name, text) {
		return /^[^"]{2,}$/.test(text) ? this.link(text, `"${text}"`, `attribute ${name}`) : text
	}

	// Commands for a terminal: the page itself changes nothing.
	commands(d) {
		const own = d.plugin ? [] : [kube(this.model, "devplane", "describe", "device", d.key)]
		if (this.model.kept.has(d.key))
			own.push(kube(this.model, "devplane", "history", "device", `${d.pool}/${d.name}`, "--driver", d.driver))
		const node = d.node ? [kube(this.model, "kubectl", "describe", "node", d.node), kube(this.model, "kubectl", "drain", d.node, "--ignore-daemonsets", "--delete-emptydir-data")] : []
		return section("Commands", [...own, ...node, ...d.plugin ? [] : [taintCommand(this.model, d)]].map(command))
	}

	data(entries) {
		const all = entries.map((e) => e.data).filter((x) => x && Object.keys(x).length)
		return all.length ? section("Driver's data", all.map((x) => el("pre", { text: JSON.stringify(x, null, 2), tabindex: "0" }))) : undefined
	}
}
