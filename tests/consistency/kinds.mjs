// The kinds of object that the test writes: how each carries a value, and how the value is read back.
import { claim, configMap } from "../e2e/api_lib.mjs"

export const DRIVER = "consistency.example.com"

// A lease's value is "holder|transitions|nonce".
function lease(key, v, metadata) {
	const [holder, transitions, nonce] = v.split("|")
	return {
		apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: key, ...metadata, annotations: { nonce } },
		spec: { holderIdentity: holder, leaseDurationSeconds: 2, leaseTransitions: Number(transitions), renewTime: new Date().toISOString().replace("Z", "000Z") },
	}
}

// A service's value is its node port.
function service(key, v, metadata) {
	return {
		apiVersion: "v1", kind: "Service", metadata: { name: key, ...metadata },
		spec: { ...(v ? { type: "NodePort" } : {}), ports: [{ port: 80, ...(v ? { nodePort: Number(v) } : {}) }] },
	}
}

// A claim's value is the device that it holds, "pool/device", or "".
export function allocation(v) {
	const [pool, device] = v.split("/")
	const results = [{ request: "gpu", driver: DRIVER, pool, device }]
	return { status: { allocation: v ? { devices: { results } } : null } }
}

function deviceOf(object) {
	const [result] = object.status?.allocation?.devices?.results ?? []
	return result ? `${result.pool}/${result.device}` : ""
}

export const kinds = {
	configmaps: {
		path: (ns) => `/api/v1/namespaces/${ns}/configmaps`,
		make: (key, v, metadata = {}) => configMap(key, { v }, metadata),
		value: (object) => object.data?.v ?? "",
	},
	leases: {
		path: (ns) => `/apis/coordination.k8s.io/v1/namespaces/${ns}/leases`,
		make: lease,
		value: ({ spec, metadata }) => `${spec.holderIdentity ?? ""}|${spec.leaseTransitions ?? 0}|${metadata.annotations?.nonce ?? ""}`,
	},
	services: {
		path: (ns) => `/api/v1/namespaces/${ns}/services`,
		make: service,
		value: ({ spec }) => String(spec.ports[0].nodePort ?? ""),
		address: ({ spec }) => spec.clusterIP,
	},
	resourceclaims: {
		path: (ns) => `/apis/resource.k8s.io/v1/namespaces/${ns}/resourceclaims`,
		make: (key, v, metadata = {}) => claim(key, metadata),
		value: deviceOf,
	},
}

// An object as the history has it: key, version, uid, value, and a service's address.
export function brief(kind, object) {
	const { metadata } = object
	const found = { k: metadata.name, r: Number(metadata.resourceVersion), u: metadata.uid, v: kinds[kind].value(object) }
	if (kinds[kind].address)
		found.i = kinds[kind].address(object)
	return found
}
