# Controllers of workloads: devplane's, and where UPSTREAM_BIN has it kube-controller-manager, on the same server, scheduler and hollow nodes
# of devplane. A Deployment of PODS pods is created, rolled and deleted; JOBS Jobs of 50 pods run; of WORKLOAD_NODES nodes DYING stop at once.
#
# Neither limits its requests. "create" counts pods of the first state, "roll" pods that were replaced. Figures of dying nodes begin
# when the nodes are killed and contain the grace period, which is 10 s for both; upstream looks each second, and evictions are not
# limited. CPU time and peak memory are the controllers' alone.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/node_lib.sh"
. "$(dirname "$0")/schedule_lib.sh"
. "$(dirname "$0")/upstream_lib.sh"
. "$(dirname "$0")/contest_lib.sh"

pods=${PODS:-1000} jobs=${JOBS:-100} nodes=${WORKLOAD_NODES:-1000} dying=${DYING:-100}
lifecycle=(--node-monitor-grace-period=10s --node-eviction-rate=10000 --secondary-node-eviction-rate=10000)
declare -A took=()

both=(ours)
upstream_has kube-controller-manager && both+=(upstream)

# control CONTESTANT FLAG ..: its controllers for the server; its process is $control.
control() {
	local who=$1
	shift
	if [ "$who" = ours ]; then
		"$devplane" controller --kubeconfig "$admin" --leader-elect=false --metrics-bind-address 0 "$@" >/dev/null 2>>"$tmp/controller.err" &
		control=$!
		return
	fi
	up_dir=$tmp up_admin=$admin up_pids=()
	[ -e "$tmp/sa.key" ] || upstream_certificates "$tmp" 2>/dev/null
	"$(upstream kube-controller-manager)" --kubeconfig "$admin" --leader-elect=false --kube-api-qps 5000 --kube-api-burst 10000 --bind-address 127.0.0.1 \
		--node-monitor-period=1s --secure-port "$(free_port)" "$@" >"$tmp/kcm.log" 2>&1 &
	control=$!
}

# work CONTESTANT WORD COUNT: times into $took.
work() {
	local name seconds
	kill -0 "$control" || {
		tail -n 3 "$tmp"/*.err "$tmp"/*.log >&2
		exit 1
	}
	while read -r name seconds; do
		took[$1-$name]=$seconds
	done < <(node "$(dirname "$0")/workloads.mjs" "$url" token "$2" "$3" || kill $$)
}

peak() {
	awk '/^VmHWM/ { printf "%.1f", $2 / 1024 }' "/proc/$1/status"
}

# workloads CONTESTANT ROUND
workloads() {
	local cpu
	serve "$1-$2"
	agent "n$1$2" "$admin" --nodes 20 --node-name w
	local hollow=$agent
	schedule
	control "$1" --controllers 'deployment-controller,replicaset-controller,job-controller,garbage-collector-controller,namespace-controller'
	settle
	lesser "best[$1-idle]" "$(resident $control)"
	work "$1" deployment "$pods"
	better "best[$1-create]" "$(quotient "$pods" "${took[$1-create]}" %.0f)"
	better "best[$1-roll]" "$(quotient "$pods" "${took[$1-roll]}" %.0f)"
	better "best[$1-delete]" "$(quotient "$pods" "${took[$1-delete]}" %.0f)"
	cpu=$(cpu_ms $control)
	lesser "best[$1-cpu-pod]" "$(quotient "$cpu" $((3 * pods)) %.3f)"
	work "$1" jobs "$jobs"
	better "best[$1-jobs]" "$(quotient $((jobs * 50)) "${took[$1-jobs]}" %.0f)"
	lesser "best[$1-peak]" "$(peak $control)"
	kill $control $agent $hollow $server
	wait $control $agent $hollow $server 2>/dev/null
	rm -rf "${tmp:?}/$1-$2"
}

# dying CONTESTANT: a pod on each node that will die.
dying() {
	local alive dead cpu
	serve "$1-nodes"
	agent "a$1" "$admin" --nodes $((nodes - dying)) --node-name live
	alive=$agent
	agent "d$1" "$admin" --nodes "$dying" --node-name die
	dead=$agent
	control "$1" --controllers 'node-lifecycle-controller,taint-eviction-controller' "${lifecycle[@]}"
	wait_for all_ready
	for ((i = 0; i < dying; i++)); do
		curl -sk -H 'authorization: Bearer token' -H 'content-type: application/json' "$url/api/v1/namespaces/default/pods" -d \
			'{"metadata":{"name":"p'$i'"},"spec":{"nodeName":"die-'$i'","terminationGracePeriodSeconds":0,"automountServiceAccountToken":false,"containers":[{"name":"m","image":"a"}],"tolerations":[{"key":"node.kubernetes.io/unreachable","effect":"NoExecute","operator":"Exists","tolerationSeconds":0}]}}'
	done >/dev/null
	cpu=$(cpu_ms $control)
	kill -9 $dead
	work "$1" nodes "$dying"
	best[$1-nodes]=${took[$1-nodes]}
	best[$1-nodes-cpu]=$(quotient $(($(printf %.0f "$(cpu_ms $control)") - ${cpu%.*})) 1 %.0f)
	best[$1-nodes-peak]=$(peak $control)
	kill $control $alive $server
	wait $control $alive $dead $server 2>/dev/null
	rm -rf "${tmp:?}/$1-nodes"
}

all_ready() {
	[ "$(curl -sk -H 'authorization: Bearer token' "$url/api/v1/nodes" | grep -oE '"reason": ?"KubeletReady"' | wc -l)" -ge "$nodes" ]
}

for ((round = 1; round <= rounds; round++)); do
	for who in "${both[@]}"; do workloads "$who" $round; done
done
beside create pods/s
beside roll pods/s
beside delete pods/s
beside cpu-pod ms
beside jobs pods/s
beside idle MiB
beside peak MiB
for who in "${both[@]}"; do dying "$who"; done
beside nodes s
beside nodes-cpu ms
beside nodes-peak MiB
