// quantity - amounts as Kubernetes writes them ("80Gi", "500m", "1e3"), as numbers to compare. Pure.

const number = new Intl.NumberFormat("en", { maximumFractionDigits: 2 })
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

const units = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]

// A sum of amounts for people: "139.5Gi" if it is a number of KiB, else its digits.
export function formatQuantity(n) {
	if (n < 1024 || n % 1024)
		return number.format(n)
	const i = Math.min(units.length, Math.floor(Math.log2(n) / 10))
	return `${number.format(n / 1024 ** i)}${units[i - 1]}`
}
