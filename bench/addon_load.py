#!/usr/bin/env python3
"""bench/addon_load.py URL COMMAND ..   what bench/addon_bench.sh does to a cluster, and asks of it. The token is "token".

    make FIRST NODES DEVICES CLAIMS PODS
                                     slices of so many devices for the nodes from h-FIRST on, claims with a device each, pods on each node
    hold NODES PODS                  pods on the nodes before, each with a claim for a simulated device of the node
    running                          succeeds when all pods of that kind run
    published SLICES                 succeeds when so many slices have a status
    churn SECONDS RATE FIRST NODES CLAIMS DEVPLANE ROOT
                                     takes the devices of RATE claims a second away and gives them back. Each second one node reports
                                     another health of a device, a simulated device fails or heals on one of the nodes before, and the
                                     second scheduler gets a pod, which is deleted a second later; prints how many claims changed
    polled                           bytes of slices, claims, pods and nodes, listed as JSON
    requests METRICS-URL             requests that a part has sent: its verbs and how often
    received PID                     bytes that the process has received by its TCP connections
"""
import collections, http.client, json, re, ssl, subprocess, sys, time, urllib.request

SIM = "gpu.sim.devplane.dev"
GROUP, PODS = "/apis/resource.k8s.io/v1", "/api/v1/namespaces/default/pods"
CLAIMS, DRIVER = f"{GROUP}/namespaces/default/resourceclaims", "gpu.example.com"
STATUSES = "/apis/devplane.dev/v1alpha1/resourceslicestatuses"
connection = None


def call(method, path, body=None, kind="application/json", ok=(200, 201, 202)):
    global connection
    host = sys.argv[1].removeprefix("https://")
    connection = connection or http.client.HTTPSConnection(host, context=ssl._create_unverified_context())
    connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": kind, "Authorization": "Bearer token"})
    reply = connection.getresponse()
    text = reply.read()
    if reply.status not in ok:
        sys.exit(f"addon_load: {method} {path}: {reply.status}: {text[:300]!r}")
    return text


def allocate(i, first, nodes, given):
    at = i % (nodes - first)
    result = {"request": "gpu", "driver": DRIVER, "pool": f"h-{first + at}", "device": f"gpu-{i // (nodes - first)}"}
    call("PATCH", f"{CLAIMS}/c{i}/status", {"status": {"allocation": {"devices": {"results": [result]}} if given else None}}, "application/merge-patch+json")


def pod(name, resources=None, **spec):
    return json.loads(call("POST", PODS, {"metadata": {"name": name}, "spec": {**spec, "terminationGracePeriodSeconds": 0, "automountServiceAccountToken": False,
         "containers": [{"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "100m"}, **(resources or {})}}]}}))


def claim(name):
    call("POST", CLAIMS, {"metadata": {"name": name}, "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}})


def hold(nodes, pods):
    for i in range(nodes):
        for p in range(pods):
            name = f"held-{i}-{p}"
            claim(name)
            uid = pod(name, {"claims": [{"name": "gpu"}]}, nodeName=f"h-{i}", resourceClaims=[{"name": "gpu", "resourceClaimName": name}])["metadata"]["uid"]
            result = {"request": "gpu", "driver": SIM, "pool": f"h-{i}", "device": f"gpu-{p}"}
            call("PATCH", f"{CLAIMS}/{name}/status", {"status": {"allocation": {"devices": {"results": [result]}},
                 "reservedFor": [{"resource": "pods", "name": name, "uid": uid}]}}, "application/merge-patch+json")


def running():
    pods = [p for p in json.loads(call("GET", PODS))["items"] if p["metadata"]["name"].startswith("held-")]
    sys.exit(0 if all(p["status"].get("phase") == "Running" for p in pods) else 1)


def make(first, nodes, devices, claims, pods):
    for i in range(first, nodes):
        of = [{"name": f"gpu-{d}", "attributes": {"model": {"string": "H200"}, "index": {"int": d}}, "capacity": {"memory": {"value": "141Gi"}}} for d in range(devices)]
        call("POST", f"{GROUP}/resourceslices", {"metadata": {"name": f"h-{i}"}, "spec": {
            "driver": DRIVER, "nodeName": f"h-{i}", "pool": {"name": f"h-{i}", "generation": 1, "resourceSliceCount": 1}, "devices": of}})
        for p in range(pods):
            pod(f"h-{i}-{p}", nodeName=f"h-{i}")
    for i in range(claims):
        claim(f"c{i}")
        allocate(i, first, nodes, True)


def published(slices):
    items = json.loads(call("GET", STATUSES))["items"]
    sys.exit(0 if len(items) == slices else 1)


def report(n, first, nodes):
    health, node = "Unhealthy" if n // (nodes - first) % 2 == 0 else "Healthy", f"h-{first + n % (nodes - first)}"
    text = json.dumps([{"id": f"{DRIVER}/{node}/gpu-7", "health": health}])
    call("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"annotations": {"devplane.dev/device-health": text}}}, "application/merge-patch+json")


def simulate(n, nodes, devplane, root):
    verb = "fail" if n // nodes % 2 == 0 else "heal"
    subprocess.run([devplane, "driver", "sim", verb, "gpu-0", "--root-dir", f"{root}/{n % nodes}", "--name", SIM], check=True, stdout=subprocess.DEVNULL)


def churn(seconds, rate, first, nodes, claims, devplane, root):
    begun, i = time.time(), 0
    for second in range(seconds):
        pod(f"new-{second}", schedulerName="devplane-scheduler")
        report(second, first, nodes)
        simulate(second, first, devplane, root)
        for k in range(rate):
            allocate(i % claims, first, nodes, False)
            allocate(i % claims, first, nodes, True)
            i += 1
            time.sleep(max(0, begun + second + (k + 1) / rate - time.time()))
        call("DELETE", f"{PODS}/new-{second}")
    print(i)


def polled():
    print(sum(len(call("GET", path)) for path in (f"{GROUP}/resourceslices", f"{GROUP}/resourceclaims", "/api/v1/pods", "/api/v1/nodes")))


def requests(url):
    verbs = collections.Counter()
    for method, value in re.findall(r'^rest_client_requests_total\{[^}]*method="(\w+)"[^}]*\} (\S+)$', urllib.request.urlopen(f"{url}/metrics").read().decode(), re.M):
        verbs[method] += int(float(value))
    print(*(f"{verb}={n}" for verb, n in sorted(verbs.items())))


def received(pid):
    sockets = subprocess.run(["ss", "-tinpO"], capture_output=True, text=True, check=True).stdout
    print(sum(int(n) for n in re.findall(rf"pid={pid},.*bytes_received:(\d+)", sockets)))


words = sys.argv[3:]
{"make": make, "hold": hold, "running": running, "published": published, "churn": churn, "polled": polled, "requests": requests, "received": received}[sys.argv[2]](
    *(int(w) if w.isdigit() else w for w in words))
