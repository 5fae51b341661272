# Sourced by what measures a node agent, after lib.sh: a server, an agent, and a program that makes load.
root=$(mktemp -d /tmp/dp-XXXXXX) # paths of sockets must be short
ulimit -n "$(ulimit -Hn)"
agent= # where there is none
server_flags=() # more of them

# kubeconfig TOKEN: of the server.
kubeconfig() {
	printf '{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"%s","insecure-skip-tls-verify":true}}],"users":[{"name":"u","user":{"token":"%s"}}],"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],"current-context":"x"}' "$url" "$1"
}

# serve NAME: a server of its own, which taints no new nodes, with data in $tmp/NAME, which may be there; sets $url, $ready_s, and the kubeconfigs admin and n1 in that folder.
serve() {
	local said begun line
	printf '%s\n' 'token,bench,1,"system:masters"' 'n1-own,system:node:n1,2,"system:nodes"' >"$tmp/tokens"
	rm -f "$tmp/said"
	mkfifo "$tmp/said"
	exec {said}<>"$tmp/said"
	begun=${EPOCHREALTIME/./}
	"$devplane" server --data-dir "$tmp/$1" --secure-port 0 --token-auth-file "$tmp/tokens" --disable-admission-plugins TaintNodesByCondition "${server_flags[@]}" 1>&"$said" 2>>"$tmp/server.err" &
	server=$!
	read -r -t 60 line <&"$said" || {
		tail -n 5 "$tmp/server.err" >&2
		exit 1
	}
	ready_s=$(quotient $((${EPOCHREALTIME/./} - begun)) 1000000)
	url=${line##* }
	admin=$tmp/$1/admin.kubeconfig
	curl -sk -H 'authorization: Bearer token' -H 'content-type: application/json' -d '{"metadata":{"name":"default"}}' \
		"$url/api/v1/namespaces/default/serviceaccounts" >/dev/null
	kubeconfig n1-own >"$tmp/$1/n1.kubeconfig"
}

# agent FOLDER KUBECONFIG FLAG ..
agent() {
	"$devplane" node --kubeconfig "$2" --root-dir "$root/$1" --runtime hollow --metrics-bind-address 0 "${@:3}" \
		>"$tmp/agent.out" 2>>"$tmp/agent.err" &
	agent=$!
	wait_for grep -q below "$tmp/agent.out"
}

# load PROGRAM: of bench, with the administrator's kubeconfig.
load() {
	coproc LOAD { exec "$BUILD/bench/$1" "$admin"; }
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
