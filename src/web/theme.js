// theme - light or dark before the first paint. Not a module: those run too late.
(() => {
	const names = ["auto", "light", "dark"]
	const root = document.documentElement
	let theme = "auto"
	try {
		theme = localStorage.getItem("devplane-theme") ?? "auto"
	} catch {
		// No storage: the choice lasts as long as the page.
	}
	const set = (name) => {
		root.dataset.theme = theme = names.includes(name) ? name : "auto"
		const button = document.getElementById("theme")
		if (button) {
			button.textContent = { auto: "◐", light: "☀", dark: "☾" }[theme]
			button.title = `Theme: ${theme}`
			button.setAttribute("aria-label", `Theme: ${theme}`)
		}
	}
	set(theme)
	addEventListener("DOMContentLoaded", () => {
		set(theme)
		document.getElementById("theme").addEventListener("click", () => {
			set(names[(names.indexOf(theme) + 1) % names.length])
			try {
				localStorage.setItem("devplane-theme", theme)
			} catch {
				// As above.
			}
		})
	})
})()
