# Controllers of workloads: a Deployment of PODS pods is created, rolled and deleted; JOBS Jobs of 50 pods run; of WORKLOAD_NODES nodes
# DYING stop at once. devplane does it, and where UPSTREAM_BIN has them etcd and kube-apiserver, kube-scheduler and kube-controller-manager.
# "swapped" is kube-controller-manager on devplane's server and scheduler. The hollow nodes are devplane's in all cases.
#
# Nobody limits requests. "create" counts pods of the first state, "roll" pods that were replaced. CPU time and peak memory are the
# controllers' alone.
#
# The time of dying nodes counts from the last heartbeat of any of them, as the grace period does, which it contains: 25 s for both. Nodes
# send a heartbeat every 10 s, so those that live are never lost. Upstream looks each second, and evictions are not limited. CPU time is
# that of the first $window seconds after the nodes are killed, so it does not depend on when that was between two heartbeats.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/node_lib.sh"
. "$(dirname "$0")/schedule_lib.sh"
. "$(dirname "$0")/upstream_lib.sh"
. "$(dirname "$0")/contest_lib.sh"

pods=${PODS:-1000} jobs=${JOBS:-100} nodes=${WORKLOAD_NODES:-1000} dying=${DYING:-100}
window=${NODES_WINDOW_S:-45}
lifecycle=(--node-monitor-grace-period=25s --node-eviction-rate=10000 --secondary-node-eviction-rate=10000)
declare -A took=()

contestants=(ours)
upstream_has etcd kube-apiserver kube-scheduler kube-controller-manager && contestants+=(upstream)
upstream_has kube-controller-manager && contestants+=(swapped)

# cluster CONTESTANT ROUND: a server and a scheduler; sets $url, $admin and $serving, their processes.
cluster() {
	if [ "$1" = upstream ]; then
		upstream_serve "$tmp/upstream"
		upstream_schedule
		upstream_wait "$up_url/readyz"
		upstream_wait "$up_scheduler_url/healthz"
		url=$up_url admin=$up_admin serving="${up_pids[*]}"
		return
	fi
	serve "$1-$2"
	schedule
	serving="$agent $server"
}

# end_cluster CONTESTANT ROUND
end_cluster() {
	if [ "$1" = upstream ]; then
		upstream_end
	else
		kill $serving
		wait $serving 2>/dev/null
		rm -rf "${tmp:?}/$1-$2"
	fi
}

# control CONTESTANT FLAG ..: its controllers for the server; its process is $control.
control() {
	local who=$1
	shift
	if [ "$who" = ours ]; then
		"$devplane" controller --kubeconfig "$admin" --leader-elect=false --metrics-bind-address 0 "$@" >/dev/null 2>>"$tmp/controller.err" &
	else
		"$(upstream kube-controller-manager)" --kubeconfig "$admin" --leader-elect=false --kube-api-qps 5000 --kube-api-burst 10000 \
			--bind-address 127.0.0.1 --secure-port "$(free_port)" --node-monitor-period=1s "$@" >"$tmp/kcm.log" 2>&1 &
	fi
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
	local cpu hollow
	cluster "$1" "$2"
	agent "n$1$2" "$admin" --nodes 20 --node-name w
	hollow=$agent
	control "$1" --controllers 'deployment-controller,replicaset-controller,job-controller,garbage-collector-controller,namespace-controller'
	settle
	lesser "best[$1-idle]" "$(resident $control)"
	cpu=$(cpu_ms $control)
	work "$1" deployment "$pods"
	better "best[$1-create]" "$(quotient "$pods" "${took[$1-create]}" %.0f)"
	better "best[$1-roll]" "$(quotient "$pods" "${took[$1-roll]}" %.0f)"
	better "best[$1-delete]" "$(quotient "$pods" "${took[$1-delete]}" %.0f)"
	lesser "best[$1-cpu-pod]" "$(quotient $(($(cpu_ms $control) - cpu)) $((3 * pods)) %.3f)"
	work "$1" jobs "$jobs"
	better "best[$1-jobs]" "$(quotient $((jobs * 50)) "${took[$1-jobs]}" %.0f)"
	lesser "best[$1-peak]" "$(peak $control)"
	kill $control $hollow
	wait $control $hollow 2>/dev/null
	end_cluster "$1" "$2"
}

# dying CONTESTANT: a pod on each node that will die.
dying() {
	local alive dead cpu begun
	cluster "$1" nodes
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
	cpu=$(cpu_ms $control) begun=$SECONDS
	kill -9 $dead
	work "$1" nodes "$dying"
	best[$1-nodes]=${took[$1-nodes]}
	while ((SECONDS - begun < window)); do sleep 0.1; done
	best[$1-nodes-cpu]=$(($(cpu_ms $control) - cpu))
	best[$1-nodes-peak]=$(peak $control)
	kill $control $alive
	wait $control $alive $dead 2>/dev/null
	end_cluster "$1" nodes
}

all_ready() {
	[ "$(curl -sk -H 'authorization: Bearer token' "$url/api/v1/nodes" | grep -oE '"reason": ?"KubeletReady"' | wc -l)" -ge "$nodes" ]
}

# idle_added: what the controllers of workloads and of lost nodes add to an idle `devplane controller`.
idle_added() {
	local new=job-controller,ttl-after-finished-controller,replicaset-controller,deployment-controller,daemonset-controller,endpointslice-controller
	new+=,node-lifecycle-controller,taint-eviction-controller,pod-garbage-collector-controller
	serve idle
	control ours --controllers '*'
	local all=$control
	control ours --controllers "*,-${new//,/,-}"
	settle
	figure idle-added MiB "$(quotient "$(($(resident_kib $all) - $(resident_kib $control)))" 1024 %.1f)"
	kill $all $control $server
	wait $all $control $server 2>/dev/null
}

# swapped_beside NAME UNIT: kube-controller-manager's on the same server.
swapped_beside() {
	[ -z "${best[swapped-$1]:-}" ] || figure "swapped-$1" "$2" "${best[ours-$1]}" upstream "${best[swapped-$1]}"
}

for ((round = 1; round <= rounds; round++)); do
	for who in "${contestants[@]}"; do workloads "$who" $round; done
done
for name in create roll delete jobs; do
	beside $name pods/s
	swapped_beside $name pods/s
done
beside cpu-pod ms
swapped_beside cpu-pod ms
beside idle MiB
beside peak MiB
for who in "${contestants[@]}"; do
	[ "$who" = swapped ] || dying "$who"
done
beside nodes s
beside nodes-cpu ms
beside nodes-peak MiB
idle_added
