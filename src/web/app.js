// The device page. A session begins with a one-time code from the address, or a pasted token.
const header = { "x-devplane-ui": "1" }

async function ask(method, path, body) {
	const answer = await fetch(path, { method, headers: { ...header, "content-type": "application/json" }, body: body && JSON.stringify(body) })
	return { code: answer.status, body: answer.status === 204 ? undefined : await answer.json() }
}

function show({ code, body }) {
	document.querySelector("#who").textContent = code === 200 ? `Logged in as ${body.user}.` : "Not logged in."
	document.querySelector("#login").hidden = code === 200
}

const given = /[#&]code=([\w-]+)/.exec(location.hash)
if (given) {
	history.replaceState(null, "", location.pathname)
	show(await ask("POST", "login", { code: given[1] }))
} else {
	show(await ask("GET", "session"))
}

document.querySelector("#login").addEventListener("submit", async (event) => {
	event.preventDefault()
	show(await ask("POST", "login", { token: event.target.elements.token.value.trim() }))
})
