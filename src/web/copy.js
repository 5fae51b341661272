// copy - a command with a button that copies it. Without the right to use the clipboard the text is selected instead.
import { el } from "./dom.js"

const SAID_MS = 1500

export function command(text) {
	const code = el("code", { text })
	const button = el("button", { type: "button", class: "text-button copy", "aria-label": `Copy: ${text}`, "data-focus": `copy ${text}`, text: "Copy", onclick: () => copy(text, code, button) })
	return el("div", { class: "command" }, code, button)
}

async function copy(text, code, button) {
	try {
		await navigator.clipboard.writeText(text)
		button.textContent = "Copied"
	} catch {
		getSelection().selectAllChildren(code)
		button.textContent = "Selected"
	}
	setTimeout(() => (button.textContent = "Copy"), SAID_MS)
}
