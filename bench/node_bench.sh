# The node agent: how soon what a driver says about its devices is there for everybody, and what the agent needs.
#
# A health report is seen when it is in a watch of all pods, so it has been written durably by the server: what a
# durable write costs this disk comes first, TMPDIR chooses another. SAMPLES reports for each of the latencies, FULL_S
# seconds of reports that change everything, ROUNDS_EXPIRE time-outs, HOLLOW nodes.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/node_lib.sh"

samples=${SAMPLES:-2000}
full_s=${FULL_S:-10}
expire=${ROUNDS_EXPIRE:-20}
nodes=${HOLLOW:-1000}
devices=1000 pods=110 per_pod=9
# latency NAME WORD ..: reports p50; p99 has a goal.
latency() {
	ask "${@:2}"
	told "${1%-p99}-p50" "${answer[0]} ms max=${answer[2]} ms"
	figure "$1" ms "${answer[1]}"
}

written=$(LC_ALL=C dd if=/dev/zero of="$tmp/disk" bs=4k count=500 oflag=dsync 2>&1 | awk '/copied/ { printf "%.2f", $(NF - 3) * 2 }')
told disk "a durable write of 4 KiB takes $written ms"
serve one
agent 1 "$tmp/one/n1.kubeconfig" --node-name n1
load node_load
settle
figure agent-idle MiB "$(resident $agent)"
ask driver "$root/1/plugins_registry/bench-reg.sock" $devices $per_pod
ask pods $pods n1
told agent-pods "${answer[0]} ms until $pods pods with $per_pod devices each run"
settle
figure agent-110-pods MiB "$(resident $agent)"
latency health-visible-p99 report "$samples" 0 1
latency health-close-1-p99 report "$samples" 2 1
latency health-close-4-p99 report "$samples" 2 4

# All devices in every report; the first second is for what is allocated once.
ask report 10 100 $devices
before=$(resident $agent)
ask report $((full_s * 10)) 100 $devices
told health-full "${answer[3]} ms until the last is seen, p50=${answer[0]} p99=${answer[1]} max=${answer[2]} ms"
after=$(resident $agent)
figure health-full-growth MiB "$(awk "BEGIN { print $after - $before }")"
ask expire "$expire" 5
told unknown-late-p50 "${answer[0]} ms p99=${answer[1]} ms"
figure unknown-late-max ms "${answer[2]}"
settle
told agent-after "$(resident $agent) MiB after all that"
finish

# Many nodes in one process.
serve many
load node_load
echo "ready $nodes" >&"${LOAD[1]}"
agent 2 "$admin" --node-name hollow --nodes "$nodes"
read -r _ ready_ms <&"${LOAD[0]}"
told hollow-ready "$ready_ms ms until $nodes nodes are ready"
settle
all=$(resident $agent)
told hollow-resident "$all MiB, $(awk "BEGIN { printf \"%.0f\", $all * 1024 / $nodes }") KiB per node"
ask pods "$nodes" hollow-
told hollow-pods "$(awk "BEGIN { printf \"%.0f\", $nodes * 1000 / ${answer[0]} }") pods/s until all run"
all=$(resident $agent)
told hollow-resident-pods "$all MiB, $(awk "BEGIN { printf \"%.0f\", $all * 1024 / $nodes }") KiB per node with a pod"
finish
