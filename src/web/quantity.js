// quantity - amounts as Kubernetes writes them ("80Gi", "500m", "1e3"), as numbers to compare. Pure.

const factors = {
	"": 1, n: 1e-9, u: 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
	Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60,
}

// NaN if the text is not a quantity.
export function parseQuantity(text) {
	const parts = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([numkMGTPE]?i?)$/.exec(String(text ?? "").trim())
	const factor = parts ? factors[parts[2]] : undefined
	return factor === undefined ? NaN : Number(parts[1]) * factor
}
