# The parts of deploy/ on a cluster of NODES hollow nodes with DEVICES devices each: memory, requests to the API server and bytes that
# they receive, while claims and health change. Beside it, a poller that lists the same objects every ten seconds, and one
# on each node that calls the kubelet's List. Only memory, requests and bytes count here: the times of a machine do not matter.
#
# The parts run with the arguments of their manifests, and with their replicas. The server stands for a kube-apiserver: its slices have no
# status. `devplane node --attach` runs on ATTACHED nodes, beside their agents and a driver with simulated devices; its figures are those
# of one node. The slices of the other nodes are written by the load.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/node_lib.sh"

nodes=${HOLLOW:-100}
devices=8 pods=3
attached=${ATTACHED:-3}
claims=$((4 * (nodes - attached)))
seconds=${CHURN_S:-60}
rate=5 poll_s=10
deploy=$(dirname "$0")/../deploy
here=$(dirname "$0")

addon() {
	python3 "$here/addon_load.py" "$url" "$@"
}

# arguments FILE NAMESPACE: of the container in a manifest.
arguments() {
	sed -nE '/^ +args:/,/^ +(env|ports):/s/^ +- (-*[a-z].*)$/\1/p' "$1" |
		sed -E "s|\\$\\(POD_NAMESPACE\\)|$2|; s|^--config=.*|--config=$deploy/scheduler/scheduler.yaml|
			s|^--(metrics-)?bind-address=.*|--\1bind-address=127.0.0.1:0|"
}

declare -A pid
# run_part NAME ARGUMENT ..
run_part() {
	"$devplane" "${@:2}" --kubeconfig "$admin" >"$tmp/$1.out" 2>>"$tmp/$1.err" &
	pid[$1]=$!
	wait_for grep -q 'health and metrics at' "$tmp/$1.out"
}

metrics_of() {
	sed -nE 's/.*health and metrics at (\S+).*/\1/p' "$tmp/$1.out"
}

# sent NAME: requests so far, in all; their verbs are in $verbs.
sent() {
	verbs=$(addon requests "$(metrics_of "$1")")
	awk -v RS='[ \n]' -F= '{ n += $2 } END { print n + 0 }' <<<"$verbs"
}

server_flags=(--feature-gates DRAResourceAvailabilityVisibility=false)
serve addon
"$devplane" apply --kubeconfig "$admin" -f "$deploy/availability/namespace.yaml" -f "$deploy/scheduler/namespace.yaml" \
	-f "$deploy/availability/definition.yaml" -f "$deploy/availability/history.yaml" >/dev/null 2>&1 || exit 1
agent h "$admin" --node-name h --nodes "$nodes"
for ((i = 0; i < attached; i++)); do
	run_part "driver-$i" driver sim "--node-name=h-$i" "--root-dir=$root/h/$i" "--cdi-dir=$root/h/$i/cdi" --devices=$devices
done
addon make "$attached" "$nodes" $devices $claims $pods
addon hold "$attached" $pods

for name in availability scheduler page; do
	mapfile -t words < <(arguments "$deploy/$name/deployment.yaml" "devplane-$name")
	run_part $name "${words[@]}"
	[ $name = page ] && continue
	wait_for grep -q leading "$tmp/$name.err"
	run_part $name-standby "${words[@]}"
done
for ((i = 0; i < attached; i++)); do
	run_part "attach-$i" node --attach "--node-name=h-$i" "--root-dir=$root/h/$i" --metrics-bind-address=127.0.0.1:0 --attach-pod-condition --attach-node-annotation
done
wait_for addon published "$nodes"
wait_for addon running
settle

mapfile -t names < <(printf '%s\n' "${!pid[@]}" | sort | grep -v '^driver-')
declare -A sent received memory
for name in "${names[@]}"; do
	sent[$name]=$(sent "$name")
	received[$name]=$(addon received "${pid[$name]}")
done
changes=$(addon churn "$seconds" $rate "$attached" "$nodes" $claims "$devplane" "$root/h")
for name in "${names[@]}"; do
	sent[$name]=$(quotient $(($(sent "$name") - ${sent[$name]})) "$seconds" %.2f)
	received[$name]=$(quotient $(($(addon received "${pid[$name]}") - ${received[$name]})) $((seconds * 1024)) %.1f)
	memory[$name]=$(resident "${pid[$name]}")
	told "$name" "${memory[$name]} MiB; ${sent[$name]} requests/s, ${received[$name]} KiB/s received; since the start: $(addon requests "$(metrics_of "$name")")"
done

# total ARRAY NAME ..
total() {
	local -n of=$1
	local sum=0 name
	for name in "${@:2}"; do sum=$(awk "BEGIN { print $sum + ${of[$name]} }"); done
	printf %.1f "$sum"
}
central=(availability availability-standby scheduler scheduler-standby page)
attach=()
for ((i = 0; i < attached; i++)); do attach+=("attach-$i"); done
per_node=$(quotient "$(total memory "${attach[@]}")" "$attached" %.1f)

# A poller of the cluster, and one of each node.
polled=$(quotient "$(addon polled)" $((poll_s * 1024)) %.1f)
coproc LOAD { exec "$BUILD/bench/podres_load" "$admin"; }
load=$!
ask list "$root/h/0/pod-resources/kubelet.sock" 10 1 1
kubelet=$(quotient "${answer[4]}" $((poll_s * 1024)) %.3f)
calls=$(quotient "$(curl -s "$(metrics_of attach-0)/metrics" | awk '/^devplane_attach_calls_total/ { n += $2 } END { print n + 0 }')" 1 %d)

told load "$nodes nodes, $((nodes * devices)) devices, $((nodes * pods)) pods; $changes claims lost and got a device, $((2 * seconds)) changes of health, and $seconds pods for the second scheduler, in $seconds s"
told polling "lists slices, claims, pods and nodes every $poll_s s: 0.4 requests/s, $polled KiB/s, up to $poll_s s late; on each node List of the kubelet: 0.1 calls/s, $kubelet KiB/s"
told attach-calls "$calls calls to the kubelet since the start; its socket pushes changes to any number of watchers"
told cluster "$(awk "BEGIN { printf \"%.0f\", $(total memory "${central[@]}") + $nodes * $per_node }") MiB on $nodes nodes: $(total memory "${central[@]}") MiB of five central processes, $per_node MiB on each node"
figure central-memory MiB "$(total memory "${central[@]}")"
figure node-memory MiB "$per_node"
figure availability-received KiB/s "${received[availability]}" polling "$polled"
figure scheduler-received KiB/s "${received[scheduler]}" polling "$polled"
figure availability-requests req/change "$(quotient "${sent[availability]}" $((2 * rate + 2)) %.2f)"
# One change of health in each second, on one of these nodes.
figure node-received KiB/change "$(total received "${attach[@]}")"
figure node-requests req/change "$(total sent "${attach[@]}")"
for name in "${!pid[@]}"; do kill "${pid[$name]}"; done
finish
