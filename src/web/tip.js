// tip - what the square under the pointer is, in two lines.
import { el } from "./dom.js"
import { looksLike } from "./words.js"

export class Tip {
	constructor(root, map) {
		Object.assign(this, { root, model: undefined, key: "" })
		map.addEventListener("pointerover", (e) => e.pointerType !== "touch" && this.over(e.target.closest?.(".d")))
		map.addEventListener("pointerleave", () => this.hide())
		map.addEventListener("focusin", (e) => e.target.matches(":focus-visible") && this.over(e.target.closest(".d")))
		map.addEventListener("focusout", () => this.hide())
		addEventListener("scroll", () => this.hide(), { passive: true })
	}

	over(g) {
		if (!g) {
			this.hide()
			return
		}
		this.key = g.dataset.key
		this.write()
		this.root.hidden = false
		const at = g.getBoundingClientRect(), own = this.root.getBoundingClientRect()
		const left = Math.min(Math.max(8, at.left + at.width / 2 - own.width / 2), innerWidth - own.width - 8)
		const above = at.top - own.height - 8
		this.root.style.transform = `translate(${left}px, ${above > 8 ? above : at.bottom + 8}px)`
	}

	write() {
		const d = this.model.devices.get(this.key)
		if (!d)
			return
		const holders = [...d.holders, ...d.admins].map((h) => `${h.namespace}/${h.name}`)
		const held = [...holders.slice(0, 2), ...d.pods.slice(0, 2).map((p) => `pod ${p.slice(p.indexOf("/") + 1)}`)].join(", ")
		this.root.replaceChildren(
			el("div", {}, el("strong", { text: d.name }), el("span", { text: ` ${d.node || d.pool}` })),
			el("div", { text: looksLike(d) }),
			d.message ? el("div", { class: "tip-message", text: d.message }) : "",
			held ? el("div", { text: held }) : "")
	}

	update(changes) {
		if (!this.root.hidden && changes.devices.has(this.key))
			this.write()
	}

	hide() {
		this.root.hidden = true
	}
}
