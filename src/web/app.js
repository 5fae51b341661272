// app - puts the page together: one session, one cluster, one filter, three views and a detail panel.
//
// Events of the server change the model at once; what is seen changes once per frame, however many there were.
import * as api from "./api.js"
import { Cluster } from "./cluster.js"
import { Detail } from "./detail.js"
import { byId, clock, count, el, refreshAges, setText } from "./dom.js"
import { empty, formatFragment, matcher, parseFragment } from "./filter.js"
import { Login, takeCode } from "./login.js"
import { DeviceMap } from "./map.js"
import { HEALTHS, Model, STATES } from "./model.js"
import { Panels } from "./panels.js"
import { Overview } from "./overview.js"
import { DeviceTable } from "./table.js"
import { Tip } from "./tip.js"
import { Waiting } from "./waiting.js"

const SESSION_MS = 60_000
const STALE_MS = 4000

class App {
	constructor() {
		this.filter = this.readAddress()
		this.clusters = []
		this.explain = false
		this.login = new Login((session) => this.enter(session))
		this.overview = new Overview(byId("stats"), byId("legend"), { press: (name) => this.press(name), toggle: (kind, value) => this.toggle(kind, value) })
		const open = (key, focus) => this.open(key, focus), href = (q, more) => this.href(q, more)
		this.map = new DeviceMap(byId("map"), open, href)
		this.table = new DeviceTable(byId("list"), open)
		this.waiting = new Waiting(byId("waiting"), href)
		this.panels = new Panels(byId("history"))
		this.panels.choose = (range) => this.change({ range })
		this.detail = new Detail(byId("detail"), { close: () => this.shut(), href })
		this.tip = new Tip(byId("tip"), byId("map"))
		this.frame = 0
		this.listen()
	}

	async begin() {
		const code = takeCode()
		this.filter = this.readAddress()
		if (code && await this.login.withCode(code))
			return
		try {
			this.enter(await api.session())
			this.login.hide()
		} catch (error) {
			if (!code)
				this.login.show(error.status === 401 ? "" : "The server cannot be reached.")
		}
	}

	// --- session ----------------------------------------------------------------------------------

	enter(session) {
		this.session = session
		setText(byId("user"), session.user)
		byId("user").title = (session.groups ?? []).join(", ")
		byId("page").hidden = false
		byId("page").inert = false
		this.forget()
		this.findClusters(session)
	}

	async findClusters(session) {
		try {
			const { clusters, explain = false } = await api.clusters()
			Object.assign(this, { clusters, explain })
		} catch {
			this.clusters = []
		}
		if (this.session === session)
			this.follow()
	}

	// The cluster that is shown: the one that the address names, or the first; undefined if the server lists none.
	chosen() {
		const { clusters } = this
		return clusters.find((c) => c.name === this.filter.cluster) ?? clusters[0]
	}

	showClusters() {
		const { clusters } = this, chosen = this.chosen(), choice = byId("clusters")
		setText(byId("cluster"), chosen?.name ?? location.host)
		byId("cluster").hidden = clusters.length > 1
		choice.hidden = clusters.length < 2
		choice.replaceChildren(...clusters.map(({ name }) => el("option", { value: name, text: name, selected: name === chosen.name })))
	}

	// Nothing of what was seen before is left: it may have been another's.
	forget() {
		this.cluster?.stop()
		this.first = true
		this.waiting.begin()
		this.model = new Model()
		for (const view of [this.map, this.table, this.waiting, this.panels, this.detail, this.tip])
			view.model = this.model
		for (const id of ["map", "list", "waiting", "history", "detail", "nothing", "tip"])
			byId(id).hidden = true
		this.map.rebuild()
		this.overview.update(this.model)
		byId("loading").hidden = false
	}

	// A new picture from the start; the filter stays.
	follow() {
		this.forget()
		this.showClusters()
		const { path: base = "", name = "" } = this.chosen() ?? {}
		this.model.context = this.clusters.length > 1 ? name : ""
		this.waiting.begin(this.explain ? { cluster: base.slice(base.lastIndexOf("/") + 1) || 0 } : undefined)
		this.cluster = new Cluster(this.model, {
			base,
			namespace: this.filter.namespace, changed: () => this.soon(), state: () => this.showConnection(), session: () => this.checkSession(),
		})
	}

	sessionOver(message = "The session is over. Log in again; what you were looking at is kept.") {
		if (!this.session)
			return
		this.session = undefined
		this.cluster?.stop()
		byId("page").inert = true
		this.login.show(message)
	}

	// Nothing more is shown, whether the server ends the session or not; but only if it does it is over.
	async leave() {
		let left = true
		try {
			await api.logout()
		} catch (error) {
			left = error.status === 401
		}
		this.session = undefined
		byId("page").hidden = true
		byId("page").inert = true
		if (left)
			this.login.show("You are logged out.")
		else
			this.login.show("The server did not answer: this browser is still logged in.", () => this.leave())
		this.forget()
	}

	// Whether there is a session still; asks once for all who want to know.
	checkSession() {
		this.checking ??= this.askSession().finally(() => (this.checking = undefined))
		return this.checking
	}

	async askSession() {
		if (!this.session)
			return false
		try {
			await api.session()
		} catch (error) {
			if (error.status === 401)
				this.sessionOver()
		}
		return !!this.session
	}

	// --- drawing ----------------------------------------------------------------------------------

	soon() {
		this.frame ||= requestAnimationFrame(() => {
			this.frame = 0
			this.draw()
		})
	}

	draw() {
		if (!this.cluster.settled())
			return
		const changes = this.model.take()
		this.overview.update(this.model)
		if (this.first) {
			this.first = false
			this.model.goLive()
			byId("loading").hidden = true
			this.map.group = ""
			this.applyFilter(true)
		} else {
			this.map.update(changes)
			this.table.update(changes)
			this.waiting.update(changes)
			this.panels.update(changes)
			this.detail.update(changes)
			this.tip.update(changes)
			this.announce(changes)
			if ((changes.pools.size && this.filter.trouble) || (changes.labels.size && this.filter.q.includes("rack:")))
				this.applyFilter(true)
		}
		const waits = byId("waiting-count")
		waits.hidden = !this.model.waiting.size
		setText(waits, this.model.waiting.size)
		this.showNothing()
		this.showConnection()
	}

	// For those who do not see the map: what broke.
	announce({ devices }) {
		const broken = [...devices].map((k) => this.model.devices.get(k)).filter((d) => d && d.health === "unhealthy")
		if (broken.length === 1)
			setText(byId("said"), `${broken[0].name} ${broken[0].node ? `on ${broken[0].node} ` : ""}is unhealthy. ${broken[0].message}`)
		else if (broken.length)
			setText(byId("said"), `${count(broken.length, "device is", "devices are")} unhealthy.`)
	}

	showNothing() {
		const box = byId("nothing"), { size } = this.model.devices
		const shown = !size || [...this.map.blocks].some((b) => b.shown)
		box.hidden = this.first || this.filter.view === "waiting" || (size > 0 && (shown || this.filter.view !== "map"))
		if (box.hidden)
			return
		if (size)
			box.replaceChildren(el("p", { text: "No device matches." }), el("button", { type: "button", class: "text-button", text: "Show all", onclick: () => this.clear() }))
		else if (this.model.access.slices === "ok")
			box.replaceChildren(el("p", { text: "No devices yet." }), el("p", { class: "quiet", text: "Drivers publish them in ResourceSlices. To see some without hardware: devplane driver sim." }))
		else
			box.replaceChildren()
	}

	showConnection() {
		const live = byId("live"), since = this.cluster?.staleSince() ?? 0
		const state = since ? (Date.now() - since > STALE_MS ? "stale" : "retry") : this.first ? "retry" : "live"
		live.dataset.state = state
		const text = { live: "live", retry: since ? "reconnecting" : "connecting", stale: `not connected since ${clock(since)}` }[state]
		setText(byId("live-text"), text)
		const notes = this.cluster?.notes() ?? []
		const key = notes.map((n) => n.text).join("\n")
		if (byId("notes").dataset.key === key)
			return
		byId("notes").dataset.key = key
		byId("notes").replaceChildren(...notes.map((n) => el("p", { text: n.text })), ...this.namespaceForm(notes))
	}

	// A user who may not list all namespaces may be able to list one.
	namespaceForm(notes) {
		const { namespace } = this.filter
		if (!namespace && !notes.some((n) => n.resource === "claims" || n.resource === "pods"))
			return []
		const input = el("input", { type: "text", value: namespace, size: "16", "aria-label": "namespace", spellcheck: "false", autocomplete: "off" })
		return [el("form", { onsubmit: (e) => {
			e.preventDefault()
			this.change({ namespace: input.value.trim() })
			this.follow()
		} }, el("label", {}, "Look into one namespace ", input), el("button", { class: "text-button", text: "Look" }))]
	}

	// --- filter and views ---------------------------------------------------------------------

	readAddress() {
		return parseFragment(location.hash, { states: STATES, healths: HEALTHS })
	}

	// The address of a search, for links; what else there is to see stays.
	href(q, more = {}) {
		return formatFragment({ ...this.filter, q, state: [], health: [], trouble: false, plugins: false, ...more }) || "#"
	}

	matcher() {
		const rack = this.model.rackLabel(this.filter.label)
		return matcher(this.filter, (d) => (this.model.pools.get(`${d.driver}/${d.pool}`)?.trouble.length ?? 0) > 0, (d) => this.model.labelOf(d.node, rack))
	}

	change(part, { keep = true } = {}) {
		Object.assign(this.filter, part)
		if (keep)
			history.replaceState(null, "", `${location.pathname}${location.search}${formatFragment(this.filter)}`)
		if (this.model && !this.first)
			this.applyFilter()
	}

	// Applies the filter to all parts of the page. Computes the shown devices again if it has changed, or if `anew`.
	applyFilter(anew = false) {
		const { filter } = this
		if (byId("search").value !== filter.q)
			byId("search").value = filter.q
		byId("group").value = filter.group
		byId("grouping").hidden = filter.view !== "map"
		this.showRack()
		this.overview.setFilter(filter)
		for (const button of byId("views").children)
			button.setAttribute("aria-current", button.dataset.view === filter.view ? "page" : "false")
		byId("map").hidden = filter.view !== "map"
		byId("list").hidden = filter.view !== "list"
		byId("waiting").hidden = filter.view !== "waiting"
		byId("history").hidden = filter.view !== "history"
		byId("legend").hidden = byId("fold").hidden = filter.view === "waiting"
		const shown = JSON.stringify([filter.q, filter.state, filter.health, filter.trouble, filter.plugins, filter.label])
		const changed = anew || shown !== this.shown
		const match = changed ? this.matcher() : this.map.match
		this.shown = shown
		const rack = this.model.rackLabel(filter.label)
		if (this.map.group !== filter.group || (filter.group === "rack" && this.map.rackLabel !== rack))
			this.map.rebuild(filter.group, match, rack)
		else if (changed)
			this.map.setFilter(match)
		if (changed) {
			this.table.setFilter(match)
			this.waiting.setFilter(filter.q)
		}
		if (changed || this.panels.range !== filter.range)
			this.panels.setFilter(match, filter.range)
		this.panels.setVisible(filter.view === "history")
		this.table.setVisible(filter.view === "list")
		this.waiting.setVisible(filter.view === "waiting")
		if (anew || this.detail.key !== filter.device)
			this.showDevice(filter.device)
		this.showNothing()
	}

	// On narrow screens the legend is folded, until it is wanted.
	fold(open) {
		byId("legend").classList.toggle("open", open)
		byId("fold").setAttribute("aria-expanded", String(open))
	}

	// The label of nodes that is grouped by, with those to choose from.
	showRack() {
		const { group, view, label } = this.filter, input = byId("rack"), shown = group === "rack" && view === "map"
		byId("racking").hidden = !shown
		if (!shown)
			return
		if (document.activeElement !== input)
			input.value = this.model.rackLabel(label)
		byId("rack-labels").replaceChildren(...this.model.nodeLabels().map((value) => el("option", { value })))
	}

	showDevice(key, focus) {
		this.detail.show(key, focus)
		this.map.select(key)
		this.table.select(key)
		document.body.classList.toggle("with-detail", !!key)
	}

	press(name) {
		const one = { devices: {}, unhealthy: { health: ["unhealthy"] }, trouble: { trouble: true }, plugins: { plugins: true } }
		if (name === "waiting")
			this.change({ view: "waiting" })
		else
			this.change({ state: [], health: [], trouble: false, plugins: false, ...(name === "devices" ? { q: "" } : {}), ...one[name] ?? { state: [name] }, view: this.filter.view === "waiting" ? "map" : this.filter.view })
	}

	toggle(kind, value) {
		const now = this.filter[kind]
		this.change({ [kind]: now.includes(value) ? now.filter((v) => v !== value) : [...now, value] })
	}

	clear() {
		this.change({ q: "", state: [], health: [], trouble: false, plugins: false })
	}

	open(key, focus = false) {
		this.tip.hide()
		this.change({ device: key })
		if (focus)
			this.detail.show(key, true)
	}

	shut() {
		const { device } = this.filter
		this.change({ device: "" })
		if (this.filter.view === "map")
			this.map.focus(device)
		else if (this.filter.view === "list")
			this.table.focus(device)
	}

	// --- what the user does ---------------------------------------------------------------------

	listen() {
		byId("search").addEventListener("input", (e) => this.change({ q: e.target.value }))
		byId("group").addEventListener("change", (e) => this.change({ group: e.target.value }))
		byId("fold").addEventListener("click", () => this.fold(!byId("legend").classList.contains("open")))
		byId("clusters").addEventListener("change", (e) => {
			this.change({ cluster: e.target.value, device: "", namespace: "" })
			this.follow()
		})
		byId("rack").addEventListener("change", (e) => this.change({ label: e.target.value.trim() }))
		byId("views").addEventListener("click", (e) => {
			const view = e.target.closest("button")?.dataset.view
			if (view)
				this.change({ view })
		})
		byId("logout").addEventListener("click", () => this.leave())
		byId("skip").addEventListener("click", () => (this.filter.view === "map" && this.map.current ? this.map.focus(this.map.current) : byId("main").focus()))
		addEventListener("hashchange", () => this.onAddress())
		addEventListener("online", () => this.cluster?.hurry())
		document.addEventListener("visibilitychange", () => {
			this.cluster?.pause(document.hidden && api.fewConnections())
			if (document.hidden || !this.session)
				return
			this.cluster.hurry()
			this.checkSession()
		})
		document.addEventListener("keydown", (e) => this.onKey(e))
		setInterval(() => this.session && (refreshAges(), this.showConnection()), 1000)
		setInterval(() => !document.hidden && this.checkSession(), SESSION_MS)
	}

	async onAddress() {
		const code = takeCode()
		if (code && !this.session)
			await this.login.withCode(code)
		const { namespace, cluster } = this.filter
		this.change(this.readAddress(), { keep: false })
		if (this.session && (namespace !== this.filter.namespace || cluster !== this.filter.cluster))
			this.follow()
	}

	onKey(e) {
		const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)
		if (!this.session || e.ctrlKey || e.metaKey || e.altKey)
			return
		if (e.key === "/" && !typing) {
			e.preventDefault()
			byId("search").focus()
			byId("search").select()
		} else if (e.key === "Escape") {
			this.escape(typing)
		} else if (e.target === byId("search") && (e.key === "Enter" || e.key === "ArrowDown")) {
			e.preventDefault()
			if (this.filter.view === "map" && this.map.current)
				this.map.focus(this.map.current)
			else if (this.filter.view === "list")
				this.table.go(0)
		}
	}

	// The panel first, then the filter.
	escape(typing) {
		const { namespace, cluster, label, range } = this.filter
		if (this.filter.device && !typing)
			this.shut()
		else if (formatFragment({ ...this.filter, device: "", view: "map", group: "node" }) !== formatFragment({ ...empty(), namespace, cluster, label, range }))
			this.clear()
		else if (this.filter.device)
			this.shut()
	}
}

new App().begin()
