# PodResources: List, and how soon watchers have a change, at a node with 110 pods that hold 8 devices each.
#
# The pods are real ones of a hollow node, their devices those of a plugin. An allocation begins, for what is
# measured, when a watch of the API server shows the pod, so the agent has just heard of it, too; a change of what is
# allocatable, when the plugin's message about a device is ready. Callers and watchers are one process beside the
# agent's: what they need is part of the figures. CALLS of List in each round, SAMPLES changes one by one,
# CHURN_S seconds of 100 changes each, WATCHERS at once.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/node_lib.sh"
here=$(dirname "$0")

calls=${CALLS:-40000}
samples=${SAMPLES:-500}
churn_s=${CHURN_S:-10}
watchers=${WATCHERS:-1000}
pods=110 per_pod=8
devices=$(((pods + 50) * per_pod))
socket=$root/1/pod-resources/kubelet.sock

# list_rate VAR SOCKET CALLS CONNECTIONS FLIGHT: the better of calls/s so far and now; the answer stays in $answer.
list_rate() {
	local -n best_rate=$1
	ask list "${@:2}"
	best_rate=$(printf '%s\n' "$best_rate" "${answer[0]}" | sort -g | tail -1)
}

# begin: the agent, with what it had before.
begin() {
	agent 1 "$tmp/one/n1.kubeconfig" --node-name n1 --max-pods 200 \
		--pod-resources-qps 0 --pod-resources-client-streams 0
	settle
}

# watcher_memory COUNT CONNECTIONS: what watches cost an agent that has done nothing else; it is begun anew.
watcher_memory() {
	local before after
	before=$(resident_kib $agent)
	ask watch pods "$socket" "$1" "$2"
	after=$(resident_kib $agent)
	told watcher-memory "$(awk "BEGIN { printf \"%.1f\", ($after - $before) / $1 }") KiB of the agent for each of $1 watchers on $2 connections"
	ask close
	kill $agent
	wait $agent 2>/dev/null
	begin
}

# churning COUNT CONNECTIONS: 100 changes/s before so many watchers, each of which must get every event.
churning() {
	local before
	ask watch pods "$socket" "$@"
	before=$(cpu_ms $agent)
	ask churn $((churn_s * 50)) 10
	told watch-events "${answer[4]} events to $1 watchers on $2 connections in ${answer[5]} s, all delivered; agent $(awk "BEGIN { printf \"%.0f\", ($(cpu_ms $agent) - $before) / ${answer[5]} / 10 }")% of a CPU"
	told watch-event-times "p50 ${answer[0]} p99 ${answer[1]} max ${answer[2]} ms, last watcher after first p99 ${answer[3]} ms"
	ask close
}

serve one
begin
load podres_load
figure agent-idle MiB "$(resident $agent)"
watcher_memory "$watchers" 1
watcher_memory "$watchers" "$watchers"
ask plugin "$root/1" $devices
ask pods $pods n1 $per_pod
settle
figure agent-110-pods MiB "$(resident $agent)"

# --- List, beside @grpc/grpc-js with the same answer ------------------------------------------------------------

node "$here/podres_server.mjs" "$socket" "$tmp/js.sock" >"$tmp/js.log" 2>&1 &
js=$!
wait_for grep -q listening "$tmp/js.log"
ours=0 other=0 p99=
for ((round = 0; round < rounds; round++)); do
	list_rate ours "$socket" "$calls" 1 4
	p99=$(printf '%s\n' ${p99:-} "${answer[2]}" | sort -g | head -1)
	list_rate other "$tmp/js.sock" $((calls / 50)) 1 4
done
kill $js
wait $js 2>/dev/null
told list-answer "answers of ${answer[4]} bytes: ${answer[5]} pods, ${answer[6]} devices; 4 calls at a time"
figure list calls/s "$ours" grpc-js "$other"
figure list-p99 ms "$p99"
ask list "$socket" "$calls" 1 1
told list-one "${answer[0]} calls/s one at a time, p50=${answer[1]} p99=${answer[2]} ms"
ask list "$socket" "$calls" 8 4
told list-8 "${answer[0]} calls/s of 8 clients with 4 at a time, p50=${answer[1]} p99=${answer[2]} ms"

# --- one change, 100 watchers -----------------------------------------------------------------------------------

ask watch pods "$socket" 100 1
ask churn "$samples" 0
told allocation-event-one "p50 ${answer[0]} p99 ${answer[1]} max ${answer[2]} ms where all watchers share a connection"
ask close
ask watch pods "$socket" 100 100
ask churn "$samples" 0
told allocation-event-p50 "${answer[0]} ms max=${answer[2]} ms, last watcher after first p99=${answer[3]} ms"
figure allocation-event-p99 ms "${answer[1]}"
ask close
ask watch allocatable "$socket" 100 100
ask health "$samples"
told allocatable-event "p50 ${answer[0]} p99 ${answer[1]} max ${answer[2]} ms with $devices devices in each event"
ask close

# --- many watchers ----------------------------------------------------------------------------------------------

churning "$watchers" 1
churning "$watchers" "$watchers"
settle
told after "$(resident $agent) MiB after all that"
finish
