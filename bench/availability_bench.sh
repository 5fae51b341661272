# What is free: from the change of a claim to the status of its slice in a watch, writes and work for each change, and how
# long it takes from nothing, on clusters of several shapes.
#
# A shape is NAME:SLICES:DEVICES:CLAIMS, devices of each slice. "ga" is the KEP's scale, in slices of one node's devices and
# in large ones; "small" and "large" have two claims on each device, so that their costs compare. CHANGES of claims, RATE a second.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/node_lib.sh"

shapes=${SHAPES:-ga-125x8:125:8:10000 ga-8x125:8:125:10000 small:125:8:2000 large:12500:8:200000}
changes=${CHANGES:-3000}
rate=${RATE:-100}

# control: the controller, with this part alone.
control() {
	"$devplane" controller --kubeconfig "$admin" --leader-elect=false --metrics-bind-address 127.0.0.1:0 \
		--controllers resourceslice-status-controller >"$tmp/controller.out" 2>>"$tmp/controller.err" &
	agent=$!
}

declare -A cost
for shape in $shapes; do
	IFS=: read -r name slices devices claims <<<"$shape"
	serve "a$name"
	load availability_load
	ask slices "$slices" "$devices"
	ask claims "$claims"
	control
	ask converge
	converged=${answer[0]}
	work=$(cpu_ms $agent)
	settle
	idle=$(resident $agent)
	before=$(cpu_ms $agent) servers=$(cpu_ms "$server")
	ask churn "$changes" "$rate"
	cost[$name]=$(awk "BEGIN { printf \"%.3f\", ($(cpu_ms $agent) - $before) / $changes }")
	servers=$(awk "BEGIN { printf \"%.3f\", ($(cpu_ms "$server") - $servers) / $changes }")
	told "$name" "$slices slices of $devices devices, $claims claims: status seen after p50=${answer[0]} p95=${answer[1]} p99=${answer[2]} max=${answer[3]} ms"
	told "$name-change" "ours=$(awk "BEGIN { printf \"%.2f\", ${answer[4]} / $changes }") writes and ${cost[$name]} ms of CPU for a change of a claim, $servers ms of the server"
	told "$name-controller" "ours=$idle MiB, $(resident $agent) MiB after $changes changes; ${work%.*} ms of CPU for the beginning"
	if [[ $name == ga-* ]]; then
		at_most "$name-p99" ms "${answer[2]}" 50
		at_most "$name-converge" ms "$converged" 2000
	else
		told "$name-converge" "ours=$converged ms from nothing"
	fi
	finish
done
if [ -n "${cost[small]:-}" ] && [ -n "${cost[large]:-}" ]; then
	at_most growth "times as much CPU for a change in a hundred times the cluster" \
		"$(awk "BEGIN { print ${cost[large]} / ${cost[small]} }")" 1.5
fi
done_measuring
