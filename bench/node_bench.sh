# The node agent: how soon what a driver says about its devices is there for everybody, and what the agent needs.
#
# A health report is seen when it is in a watch of all pods, so it has been written durably by the server: what a
# durable write costs this disk comes first, TMPDIR chooses another. SAMPLES reports for each of the latencies, FULL_S
# seconds of reports that change everything, ROUNDS_EXPIRE time-outs, NODES hollow nodes.
. "$(dirname "$0")/lib.sh"

samples=${SAMPLES:-2000}
full_s=${FULL_S:-10}
expire=${ROUNDS_EXPIRE:-20}
nodes=${NODES:-1000}
devices=1000 pods=110 per_pod=9
root=$(mktemp -d /tmp/dp-XXXXXX) # paths of sockets must be short
trap 'kill $(jobs -p) 2>/dev/null; wait 2>/dev/null; rm -rf "$tmp" "$root"' EXIT
ulimit -n "$(ulimit -Hn)"

# serve NAME: a server of its own with data in $tmp/NAME; $url, and the kubeconfigs admin and n1 in that folder.
serve() {
	printf '%s\n' 'token,bench,1,"system:masters"' 'n1-own,system:node:n1,2,"system:nodes"' >"$tmp/tokens"
	"$devplane" server --data-dir "$tmp/$1" --secure-port 0 --token-auth-file "$tmp/tokens" >"$tmp/$1.out" 2>>"$tmp/server.err" &
	server=$!
	wait_for grep -q ready "$tmp/$1.out"
	line=$(head -n 1 "$tmp/$1.out")
	url=${line##* }
	admin=$tmp/$1/admin.kubeconfig
	curl -sk -H 'authorization: Bearer token' -H 'content-type: application/json' -d '{"metadata":{"name":"default"}}' \
		"$url/api/v1/namespaces/default/serviceaccounts" >/dev/null
	printf '{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"%s","insecure-skip-tls-verify":true}}],"users":[{"name":"u","user":{"token":"n1-own"}}],"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],"current-context":"x"}' "$url" >"$tmp/$1/n1.kubeconfig"
}

# agent FOLDER KUBECONFIG FLAG ..
agent() {
	"$devplane" node --kubeconfig "$2" --root-dir "$root/$1" --runtime hollow --metrics-bind-address 0 "${@:3}" \
		>"$tmp/agent.out" 2>>"$tmp/agent.err" &
	agent=$!
	wait_for grep -q below "$tmp/agent.out"
}

load() {
	coproc LOAD { exec "$BUILD/bench/node_load" "$admin"; }
	load=$!
}

# ask WORD ..: a command to the load; its answer is in $answer.
ask() {
	echo "$*" >&"${LOAD[1]}"
	read -r -a answer <&"${LOAD[0]}" || {
		echo "bench: the load ended at: $*" >&2
		tail -n 20 "$tmp/agent.err" >&2
		exit 1
	}
	answer=("${answer[@]:1}")
}

# settle: as long as an agent may take to give back what a burst of work needed.
settle() {
	sleep "${SETTLE_S:-12}"
}

# finish: the load goes first, because it complains about a watch that ends.
finish() {
	local p
	for p in $load $agent $server; do
		kill "$p"
		wait "$p" 2>/dev/null
	done
}

# latency NAME WORD ..: p50 is told, p99 has a goal.
latency() {
	ask "${@:2}"
	told "$1-p50" "ours=${answer[0]} ms max=${answer[2]} ms"
	at_most "$1-p99" ms "${answer[1]}" 5
}

written=$(LC_ALL=C dd if=/dev/zero of="$tmp/disk" bs=4k count=500 oflag=dsync 2>&1 | awk '/copied/ { printf "%.2f", $(NF - 3) * 2 }')
told disk "a durable write of 4 KiB takes $written ms"
serve one
agent 1 "$tmp/one/n1.kubeconfig" --node-name n1
load
settle
at_most agent-idle MiB "$(resident $agent)" 10
ask driver "$root/1/plugins_registry/bench-reg.sock" $devices $per_pod
ask pods $pods n1
told agent-pods "ours=${answer[0]} ms until $pods pods with $per_pod devices each run"
settle
at_most "agent-$pods-pods" MiB "$(resident $agent)" 10
latency health-visible report "$samples" 0 1
latency health-close-1 report "$samples" 2 1
latency health-close-4 report "$samples" 2 4

# All devices in every report; the first second is for what is allocated once.
ask report 10 100 $devices
before=$(resident $agent)
ask report $((full_s * 10)) 100 $devices
told health-full "ours=${answer[3]} ms until the last is seen, p50=${answer[0]} p99=${answer[1]} max=${answer[2]} ms"
after=$(resident $agent)
at_most health-full-growth MiB "$(awk "BEGIN { print $after - $before }")" 0.5
ask expire "$expire" 5
told unknown-late-p50 "ours=${answer[0]} ms p99=${answer[1]} ms"
at_most unknown-late-max ms "${answer[2]}" 50
settle
told agent-after "ours=$(resident $agent) MiB after all that"
finish

# Many nodes in one process.
serve many
load
echo "ready $nodes" >&"${LOAD[1]}"
agent 2 "$admin" --node-name hollow --nodes "$nodes"
read -r _ ready_ms <&"${LOAD[0]}"
told hollow-ready "ours=$ready_ms ms until $nodes nodes are ready"
settle
all=$(resident $agent)
told hollow-resident "ours=$all MiB, $(awk "BEGIN { printf \"%.0f\", $all * 1024 / $nodes }") KiB per node"
ask pods "$nodes" hollow-
told hollow-pods "ours=$(awk "BEGIN { printf \"%.0f\", $nodes * 1000 / ${answer[0]} }") pods/s until all run"
all=$(resident $agent)
told hollow-resident-pods "ours=$all MiB, $(awk "BEGIN { printf \"%.0f\", $all * 1024 / $nodes }") KiB per node with a pod"
finish
done_measuring
