# Sourced by what measures the availability of devices, after node_lib.sh: one cluster of some size.

# control: the controller, with this part alone.
control() {
	"$devplane" controller --kubeconfig "$admin" --leader-elect=false --metrics-bind-address 127.0.0.1:0 \
		--controllers resourceslice-status-controller >"$tmp/controller.out" 2>>"$tmp/controller.err" &
	agent=$!
}

# available NAME SLICES DEVICES CLAIMS CHANGES RATE: devices are of each slice. Sets $converged (ms from nothing) and $begun
# (ms of CPU for that), $idle and $after (MiB of the controller), and for a change of a claim: $seen (ms until a watch has the status: p50,
# p95, p99, max), $writes, $work and $servers (ms of CPU of the controller and of the server).
available() {
	local cpu server_cpu
	serve "a$1"
	load availability_load
	ask slices "$2" "$3"
	ask claims "$4"
	control
	ask converge
	converged=${answer[0]}
	begun=$(cpu_ms $agent)
	settle
	idle=$(resident $agent)
	cpu=$(cpu_us $agent) server_cpu=$(cpu_us "$server")
	ask churn "$5" "$6"
	work=$(awk "BEGIN { printf \"%.3f\", ($(cpu_us $agent) - $cpu) / $5 / 1000 }")
	servers=$(awk "BEGIN { printf \"%.3f\", ($(cpu_us "$server") - $server_cpu) / $5 / 1000 }")
	writes=$(quotient "${answer[4]}" "$5" %.2f)
	seen=("${answer[@]:0:4}")
	after=$(resident $agent)
	finish
	rm -rf "${tmp:?}/a$1"
}
