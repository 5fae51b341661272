# The scheduler: pods per second without claims and with one claim each, counted by watch, on clusters of several sizes.
#
# PODS of each kind (at least 3,000 for a figure that counts) on NODES nodes with 8 devices each; server and scheduler share
# the machine with the program that makes the pods.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/node_lib.sh"

pods=${PODS:-3000}
sizes=${NODES:-100 500 5000}
devices=8

# schedule FLAG ..: a scheduler for the server; its metrics at $metrics.
schedule() {
	"$devplane" scheduler --kubeconfig "$admin" --leader-elect=false --metrics-bind-address 127.0.0.1:0 "$@" \
		>"$tmp/scheduler.out" 2>>"$tmp/scheduler.err" &
	agent=$!
	wait_for grep -q metrics "$tmp/scheduler.out"
	metrics=$(sed -nE 's/.*(http:.*)/\1/p' "$tmp/scheduler.out")
}

knows() {
	[ "$(curl -s "$metrics/metrics" | awk '$1 == "scheduler_cache_size{type=\"nodes\"}" { print $2 }')" = "$1" ]
}

# per_cycle METRIC: mean of a histogram, in microseconds.
per_cycle() {
	curl -s "$metrics/metrics" | awk -v name="$1" '$1 == name "_sum" { sum = $2 } $1 == name "_count" { n = $2 }
		END { printf "%.1f", n ? sum * 1e6 / n : 0 }'
}

declare -A plain claimed idle
for nodes in $sizes; do
	serve "s$nodes"
	"$devplane" controller --kubeconfig "$admin" --leader-elect=false --metrics-bind-address 0 \
		--controllers resourceclaim-controller >/dev/null 2>>"$tmp/controller.err" &
	controller=$!
	schedule
	load schedule_load
	ask nodes "$nodes" $devices
	wait_for knows "$nodes"
	settle
	idle[$nodes]=$(resident $agent)
	told "scheduler-$nodes-idle" "ours=${idle[$nodes]} MiB with $devices devices on each node"
	ask pods "$pods" plain
	plain[$nodes]=${answer[1]}
	told "decide-$nodes" "ours=$(per_cycle scheduler_scheduling_algorithm_duration_seconds) us for a decision, of it snapshot $(per_cycle scheduler_snapshot_duration_seconds) us"
	# As many at a time as there are devices for; the controller frees them in between, which is not measured.
	ask delete
	at_once=$((pods < nodes * devices ? pods : nodes * devices))
	many=0 took=0
	while [ $many -lt "$pods" ]; do
		ask claims $at_once
		ask pods $at_once claim
		many=$((many + at_once)) took=$((took + answer[0]))
		ask delete
	done
	claimed[$nodes]=$((many * 1000 / took))
	told "pods-plain-$nodes" "ours=${plain[$nodes]} pods/s"
	told "pods-claim-$nodes" "ours=${claimed[$nodes]} pods/s ($many pods)"
	told "scheduler-$nodes-after" "ours=$(resident $agent) MiB after that"
	kill $controller
	finish
done
if [ -n "${plain[100]:-}" ]; then
	at_least pods-plain-100 pods/s "${plain[100]}" 1500
	at_least pods-claim-100 pods/s "${claimed[100]}" 750
	if [ -n "${plain[5000]:-}" ]; then
		told per-1000-nodes "ours=$(awk "BEGIN { printf \"%.1f\", (${idle[5000]} - ${idle[100]}) / 4.9 }") MiB of the scheduler"
		figure pods-plain-5000 pods/s "${plain[5000]}" at-100 "${plain[100]}" 0.5
		figure pods-claim-5000 pods/s "${claimed[5000]}" at-100 "${claimed[100]}" 0.5
	fi
fi
done_measuring
