/*
 * managed_universes - objects with every field that managers of managed/property_test.c may set.
 */
#ifndef API_MANAGED_UNIVERSES_H
#define API_MANAGED_UNIVERSES_H

/* All fields that managers may set of a kind; they set parts of it, and other values. */
struct universe {
	const char *api_version, *kind, *text;
};

#define META                                                                  \
	"metadata: {name: x, namespace: default, labels: {a: '1', b: '1'}, "  \
	"annotations: {c: '1'}, finalizers: [example.com/f, example.com/g], " \
	"ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u1}, "   \
	"{apiVersion: v1, kind: Pod, name: q, uid: u2}]}"

static const struct universe universes[] = {
	{ "v1", "ConfigMap",
	  "{" META ", data: {a: '1', b: '1', c: '1', d: '1'}, binaryData: {e: 'AA=='}, "
	  "immutable: true}" },
	{ "v1", "Pod",
	  "{" META ", spec: {containers: [{name: c1, image: i, command: [a, b, c], env: [{name: A, "
	  "value: '1'}, "
	  "{name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: C, value: '1'}], "
	  "ports: [{containerPort: 80, protocol: TCP, name: p}, {containerPort: 80, protocol: UDP, "
	  "hostPort: 1}], resources: {limits: {cpu: '1', memory: '2'}, claims: [{name: g}]}, "
	  "volumeMounts: [{name: v, mountPath: /v}]}, {name: c2, image: i, stdin: true}], "
	  "nodeSelector: {a: b, c: d}, tolerations: [{key: k}, {key: l}], volumes: [{name: v, "
	  "emptyDir: {medium: Memory}}, {name: w, secret: {secretName: s}}], securityContext: "
	  "{runAsUser: 1, runAsNonRoot: true}, topologySpreadConstraints: [{maxSkew: 1, "
	  "topologyKey: z, "
	  "whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {a: b}}}], hostAliases: "
	  "[{ip: 1.1.1.1, hostnames: [a, b]}], resourceClaims: [{name: g, resourceClaimName: c}], "
	  "imagePullSecrets: [{name: s}]}, "
	  "status: {phase: Running, message: m, conditions: [{type: A, status: 'True', message: "
	  "m}, "
	  "{type: B, status: 'True'}], podIPs: [{ip: 1.1.1.1}, {ip: 1.1.1.2}], "
	  "resourceClaimStatuses: "
	  "[{name: g, resourceClaimName: c}]}}" },
	{ "v1", "Service",
	  "{" META
	  ", spec: {type: NodePort, ports: [{name: a, port: 1, protocol: TCP, targetPort: 5}, "
	  "{name: b, port: 1, protocol: UDP}, {name: c, port: 2, protocol: TCP, appProtocol: h}], "
	  "selector: {a: b}, externalIPs: [1.1.1.1, 1.1.1.2], sessionAffinityConfig: {clientIP: "
	  "{timeoutSeconds: 5}}}, status: {conditions: [{type: A, status: 'True', reason: r}], "
	  "loadBalancer: {ingress: [{ip: 1.1.1.1}]}}}" },
	{ "resource.k8s.io/v1", "ResourceClaim",
	  "{" META ", spec: {devices: {requests: [{name: r, exactly: {deviceClassName: c}}], "
	  "config: [{requests: [r], opaque: {driver: d, parameters: {a: 1}}}]}}, "
	  "status: {allocation: {devices: {results: [{request: r, driver: d, pool: p, device: "
	  "d0}]}}, "
	  "reservedFor: [{resource: pods, name: p, uid: u1}, {resource: pods, name: q, uid: u2}], "
	  "devices: [{driver: d, pool: p, device: d0, data: {a: 1}, conditions: [{type: A, status: "
	  "'True', reason: r, message: m}, {type: B, status: 'True'}], networkData: "
	  "{interfaceName: i, "
	  "ips: [1.1.1.1/8, 1.1.1.2/8]}}, {driver: e, pool: p, device: d0, conditions: [{type: A, "
	  "status: 'True'}]}, {driver: d, pool: p, device: d0, shareID: s, networkData: "
	  "{hardwareAddress: h}}]}}" },
	{ "example.com/v1", "Widget",
	  "{" META ", spec: {text: t, number: 1.5, count: 1, port: http, tags: [a, b, c], sizes: "
	  "[1, 2, 10], steps: [a, b], plain: [{a: x}], parts: [{name: p, value: v, inner: [{id: 1, "
	  "v: x, "
	  "tags: [t, u]}, {id: 2, v: z}]}, {name: q, inner: [{id: 1, v: w}]}, {name: r}], doors: "
	  "[{port: 1, protocol: TCP, name: d}, {port: 1, protocol: UDP}], labels: {a: '1', b: "
	  "'1'}, "
	  "whole: {a: '1', b: '1'}, thing: {a: x, b: z}, nested: {k: {a: x, b: z}, l: {a: x}}, "
	  "lists: "
	  "{k: [x, z], l: [x]}, open: {a: 1, deep: {b: [1, 2], c: {d: e}}, f: {}}, half: {known: "
	  "k, "
	  "other: {a: 1}}, any: {a: {b: 1}, c: text}, maybe: m}, status: {phase: p, ready: [{type: "
	  "A, "
	  "status: 'True'}, {type: B, status: 'True'}]}}" },
};

#undef META

#endif
