// login - the view before there is a session: a code from a link is posted at once, a token can be pasted.
import * as api from "./api.js"
import { byId, setText } from "./dom.js"

// Takes the code out of the address, so that neither a bookmark nor a glance at the screen has it. The rest
// of the fragment stays.
export function takeCode() {
	const given = new URLSearchParams(location.hash.replace(/^#/, ""))
	const code = given.get("code")
	if (code === null)
		return ""
	given.delete("code")
	const rest = given.toString()
	history.replaceState(null, "", `${location.pathname}${location.search}${rest ? `#${rest}` : ""}`)
	return code
}

export class Login {
	// `entered(session)` is called when somebody has logged in.
	constructor(entered) {
		this.entered = entered
		this.view = byId("login")
		this.token = byId("token")
		this.again = byId("logout-again")
		this.again.addEventListener("click", () => this.leave())
		byId("login-form").addEventListener("submit", (e) => {
			e.preventDefault()
			this.withToken()
		})
	}

	// `message` says why, which is no error; `leave` tries again to log out, where that failed.
	show(message = "", leave) {
		this.view.hidden = false
		this.offer()
		this.say(message, true)
		this.leave = leave
		this.again.hidden = !leave
		;(leave ? this.again : this.token).focus()
	}

	// `devplane ui` prints other links, and may know a provider to log in at.
	offer() {
		byId("login-oidc").hidden = !api.ways.includes("oidc")
		byId("login-oidc").href = "oidc"
		this.command = api.ways.includes("ui") ? "devplane ui" : "devplane page"
		setText(byId("login-command"), this.command)
	}

	hide() {
		this.view.hidden = true
		this.token.value = ""
		this.say("")
	}

	say(message, notice = false) {
		setText(byId("login-error"), message)
		byId("login-error").classList.toggle("notice", notice)
	}

	async withToken() {
		const token = this.token.value.trim()
		if (token)
			await this.attempt({ token }, () => "The server does not know this token, or it has expired.")
		else
			this.say("Paste a token first.")
	}

	// Whether it worked.
	async attempt(how, refused) {
		byId("login-go").disabled = true
		try {
			const session = await api.login(how)
			this.hide()
			this.entered(session)
			return true
		} catch (error) {
			this.offer()
			this.say(error.status === 401 || error.status === 403 ? refused() : error.status ? error.message : "The server cannot be reached.")
			return false
		} finally {
			byId("login-go").disabled = false
		}
	}

	async withCode(code) {
		this.show("")
		return this.attempt({ code }, () => `This link has been used or has expired. Links work once; get a new one with: ${this.command}`)
	}
}
