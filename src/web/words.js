// words - what states and healths are called. Pure.
export const stateText = { free: "free", partial: "partly used", allocated: "allocated", unavailable: "unavailable", unpublished: "not known yet", gone: "gone" }
export const healthText = { healthy: "healthy", unhealthy: "unhealthy", unknown: "health unknown", untold: "health not reported", unpublished: "health not known yet" }

// "unavailable: Tainted: KEY".
export const stateLine = (d) => `${stateText[d.state]}${d.reason ? `: ${d.reason}` : ""}`

// The state and the health of a device, in words.
export const looksLike = (d) => (d.state === "unpublished" ? stateText[d.state] : `${stateLine(d)}, ${healthText[d.health]}`)
