# `devplane up --kube-proxy PATH` with upstream's program: a request to a cluster IP reaches the service's endpoint, and a killed kube-proxy
# is started again. UPSTREAM_BIN names its folder. All of it runs in a network namespace, so the machine's packet filter stays as it is.
. ./lib.sh
proxy=${UPSTREAM_BIN:-}/kube-proxy
export D=$TMP/data KUBECONFIG=$TMP/data/admin.kubeconfig

if [ ! -x "$proxy" ]; then
	skip "upstream's kube-proxy" "UPSTREAM_BIN has no kube-proxy"
	done_testing
fi
if [ -z "${INSIDE:-}" ]; then
	unshare -n true 2>/dev/null || {
		skip "upstream's kube-proxy" "no network namespace may be made here"
		done_testing
	}
	INSIDE=1 exec unshare -n bash "$0"
fi

ip link set lo up
ip link add veth0 type veth peer name veth1
ip addr add 10.77.0.1/24 dev veth0
ip link set veth0 up && ip link set veth1 up
ip route add default via 10.77.0.254

role() {
	"$DEVPLANE" status --data-dir "$D" | awk -v column="$1" '/^kube-proxy/ { print $column }'
}
runs_again() { [ "$(role 2)" = ready ] && [ "$(role 4)" != "$pid" ]; }
gets() { [ "$(curl -s --max-time 2 "$1")" = served ]; }

background up "$DEVPLANE" up --data-dir "$D" --secure-port 0 --runtime hollow --kube-proxy "$proxy"
wait_line "$TMP/up.log" 'devplane is up'
matches "up names it" 'runs +server, controller, scheduler, kube-proxy, 1 node' "$(cat "$TMP/up.log")"

background files node -e 'require("node:http").createServer((_, reply) => reply.end("served")).listen(8080, "10.77.0.1")'
"$DEVPLANE" apply -f - >/dev/null <<'END'
apiVersion: v1
kind: Service
metadata: {name: files}
spec: {ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: files-1, labels: {kubernetes.io/service-name: files}}
addressType: IPv4
ports: [{port: 8080, name: ""}]
endpoints: [{addresses: [10.77.0.1], conditions: {ready: true}}]
END
address=$("$DEVPLANE" get service files -o 'jsonpath={.spec.clusterIP}')
check "the cluster IP of a service leads to its endpoint" until_true 60 gets "http://$address/"
check "the cluster IP of the API server leads to it" until_true 60 curl -skf --max-time 2 -o /dev/null https://10.0.0.1/readyz

pid=$(role 4)
kill -9 "$pid"
check "it is started again" until_true 60 runs_again
matches "doctor says that it was" 'role kube-proxy +ready, but restarted 1 times: killed by signal 9' "$("$DEVPLANE" doctor --data-dir "$D" 2>&1)"
check "the cluster ends" "$DEVPLANE" down --data-dir "$D"
done_testing
