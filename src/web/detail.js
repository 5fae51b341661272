// detail - all about one device, in a panel beside the map, kept up to date.
import { ago, clock, el } from "./dom.js"
import { attributeText, capacityOf } from "./derive.js"
import { healthText, sign, stateText } from "./glyph.js"
import { timeline } from "./timeline.js"

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
			(d && (changes.nodes.has(d.node) || d.pods.some((p) => changes.pods.has(p)) || d.holders.some((h) => changes.claims.has(`${h.namespace}/${h.name}`))))
		if (concerned)
			this.render()
	}

	// Whatever had the focus has it again.
	render() {
		const focused = this.body.contains(document.activeElement) ? document.activeElement.dataset.focus : undefined
		const d = this.model.devices.get(this.key)
		this.title.textContent = d ? d.name : this.key
		this.body.replaceChildren(...(d ? this.parts(d) : [el("p", { text: "This device is not there any more, or not yet." })]).flat().filter(Boolean))
		if (focused)
			[...this.body.querySelectorAll("[data-focus]")].find((n) => n.dataset.focus === focused)?.focus()
	}

	parts(d) {
		const entries = this.entries(d)
		const conditions = entries.flatMap((e) => e.conditions ?? [])
		return [
			this.identity(d), this.health(d, conditions), this.holders(d), this.network(entries), this.conditions(conditions),
			this.taints(d), this.capacity(d), this.attributes(d), this.data(entries),
		]
	}

	// What drivers say of the device in its claims.
	entries(d) {
		return d.holders.flatMap((h) => (this.model.objects.claims.get(`${h.namespace}/${h.name}`)?.status?.devices ?? [])
			.filter((e) => e.driver === d.driver && e.pool === d.pool && e.device === d.name && (e.shareID ?? "") === h.share))
	}

	identity(d) {
		const ready = d.node && this.model.nodeReady(d.node)
		const rows = [
			["driver", this.link(d.driver, `driver:${d.driver}`, "driver")],
			["pool", this.link(d.pool, `pool:${d.pool}`, "pool")],
			["node", d.node ? [this.link(d.node, `node:${d.node}`, "node"), ready && ready !== "True" ? " (not ready)" : ""] : "none: it is reached over the network"],
		]
		if (d.slice)
			rows.push(["slice", d.slice])
		const trouble = this.model.pools.get(`${d.driver}/${d.pool}`)?.trouble ?? []
		return [
			el("p", { class: "badges" },
				badge(`s-${d.state}`, d.state, "untold", stateText[d.state]),
				badge(`h-${d.health}`, "free", d.health, healthText[d.health])),
			d.reason && el("p", { class: "quiet", text: d.reason }),
			d.unnamed && el("p", { class: "quiet", text: "A device plugin says how many devices it has; their names are known when a pod has them." }),
			pairs(rows),
			trouble.length > 0 && el("ul", { class: "trouble" }, trouble.map((t) => el("li", { text: `Pool: ${t}` }))),
		]
	}

	health(d, conditions) {
		const { model } = this, since = model.since(d)
		const past = timeline({ records: model.history(d.key), conditions, current: d.health, opened: model.opened, now: model.now() })
		if (d.health === "untold")
			return section("Health", past)
		return section("Health",
			d.message && el("p", { class: `message h-${d.health}`, text: d.message }),
			el("p", { class: "quiet" }, `${healthText[d.health]} `, since ? ["for ", ago(since), `, since ${clock(since)}`] : `since before this page was opened at ${clock(model.opened)}`,
				d.healthFrom ? `; told by ${d.healthFrom}` : ""), past)
	}

	holders(d) {
		const content = d.holders.map((h) => {
			const name = `${h.namespace}/${h.name}`
			const users = this.model.objects.claims.get(name)?.status?.reservedFor ?? []
			return el("li", {},
				el("div", {}, "claim ", this.link(name, `ns:${h.namespace} claim:${h.name}`, `claim ${name} ${h.share}`),
					h.request ? el("span", { class: "quiet", text: ` request ${h.request}` }) : "", h.admin ? el("span", { class: "quiet", text: " admin access" }) : ""),
				h.consumed && Object.keys(h.consumed).length > 0 && el("div", { class: "quiet", text: Object.entries(h.consumed).map(([k, v]) => `${k} ${v}`).join(", ") }),
				users.map((u) => this.pod(u.resource === "pods" ? `${h.namespace}/${u.name}` : "", u)))
		})
		if (d.plugin)
			content.push(...d.pods.map((p) => el("li", {}, this.pod(p))))
		if (content.length)
			return section("Held by", el("ul", { class: "holders" }, content))
		const silent = !this.model.readsAllClaims() ? "Nobody that you may see." : "Nobody."
		return section("Held by", el("p", { class: "quiet", text: silent }))
	}

	pod(name, user) {
		if (!name)
			return el("div", { text: `${user.resource} ${user.name}` })
		const phase = this.model.objects.pods.get(name)?.status?.phase
		return el("div", {}, "pod ", this.link(name, `pod:${name}`, `pod ${name}`), phase ? el("span", { class: "quiet", text: ` ${phase}` }) : "")
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
		if (!d.taints.length)
			return undefined
		return section("Taints", el("ul", { class: "plain" }, d.taints.map((t) => el("li", {},
			el("span", { class: "mono", text: `${t.key}${t.value ? `=${t.value}` : ""}:${t.effect}` }),
			el("span", { class: "quiet", text: ` by ${t.by}` }), t.timeAdded ? [el("span", { class: "quiet" }, ", ", ago(Date.parse(t.timeAdded)))] : ""))))
	}

	capacity(d) {
		const all = capacityOf(d)
		if (!all.length)
			return undefined
		return section("Capacity", all.map((c) => {
			if (c.used === undefined)
				return pairs([[c.name, c.total]])
			const bar = el("span", { class: "bar-fill" })
			bar.style.width = `${Math.min(100, Math.round(c.part * 100))}%`
			return el("div", { class: "capacity" }, el("div", {}, el("span", { text: c.name }), el("span", { class: "quiet", text: `${c.used} used, ${c.free} free of ${c.total}` })),
				el("div", { class: "bar-track", "aria-hidden": "true" }, bar))
		}))
	}

	attributes(d) {
		const all = Object.entries(d.attributes)
		return all.length ? section("Attributes", pairs(all.map(([name, a]) => [name, attributeText(a)]))) : undefined
	}

	data(entries) {
		const all = entries.map((e) => e.data).filter((x) => x && Object.keys(x).length)
		return all.length ? section("Driver's data", all.map((x) => el("pre", { text: JSON.stringify(x, null, 2), tabindex: "0" }))) : undefined
	}
}
