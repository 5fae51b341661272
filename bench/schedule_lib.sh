# Sourced by what measures the scheduler, after node_lib.sh: a scheduler on a cluster of some size.
devices=8 # on each node

# schedule: a scheduler for the server; its metrics at $metrics.
schedule() {
	"$devplane" scheduler --kubeconfig "$admin" --leader-elect=false --metrics-bind-address 127.0.0.1:0 \
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

# with_claims NODES PODS: sets $claimed (pods/s with a claim each) and $many, the pods that were made. As many at a time as there
# are devices for; the controller frees them in between, which is not measured.
with_claims() {
	local at_once=$(($2 < $1 * devices ? $2 : $1 * devices)) took=0
	many=0
	while [ $many -lt "$2" ]; do
		ask claims $at_once
		ask pods $at_once claim
		many=$((many + at_once)) took=$((took + answer[0]))
		ask delete
	done
	claimed=$((many * 1000 / (took > 0 ? took : 1)))
}

# scheduled NODES PODS: sets $idle and $after (MiB), $plain and $claimed (pods/s), $many, $decision and $snapshot (us).
scheduled() {
	serve "s$1"
	"$devplane" controller --kubeconfig "$admin" --leader-elect=false --metrics-bind-address 0 \
		--controllers resourceclaim-controller >/dev/null 2>>"$tmp/controller.err" &
	controller=$!
	schedule
	load schedule_load
	ask nodes "$1" $devices
	wait_for knows "$1"
	settle
	idle=$(resident $agent)
	ask pods "$2" plain
	plain=${answer[1]}
	decision=$(per_cycle scheduler_scheduling_algorithm_duration_seconds)
	snapshot=$(per_cycle scheduler_snapshot_duration_seconds)
	ask delete
	with_claims "$1" "$2"
	after=$(resident $agent)
	kill $controller
	finish
	rm -rf "${tmp:?}/s$1"
}
