# Sourced by what does the same work on a server of ours and on upstream's, after node_lib.sh and upstream_lib.sh.
#
# Contestants take turns, and while ours is measured theirs is stopped. The best result of each is kept until it is reported.

both=(ours)
upstream_has etcd kube-apiserver && both+=(upstream)
declare -A best=() # CONTESTANT-FIGURE: the best so far
declare -A at=() pids=() # CONTESTANT: the server's URL, and its processes
share=1 # of a number of requests: theirs are fewer

# beside NAME UNIT: the best of ours, beside upstream's where that was measured.
beside() {
	local theirs=${best[upstream-$1]:-}
	[ -n "${best[ours-$1]:-}" ] || return 0
	if [ -n "$theirs" ]; then
		figure "$1" "$2" "${best[ours-$1]}" upstream "$theirs"
	else
		figure "$1" "$2" "${best[ours-$1]}"
	fi
}

# start CONTESTANT ROUND: an empty server.
start() {
	if [ "$1" = ours ]; then
		serve "ours-$2"
		at[ours]=$url pids[ours]=$server
		lesser "best[ours-server-ready]" "$ready_s"
	else
		upstream_serve "$tmp/upstream"
		upstream_wait "$up_url/readyz"
		lesser "best[upstream-server-ready]" "$(quotient $((${EPOCHREALTIME/./} - up_begun)) 1000000)"
		at[upstream]=$up_url pids[upstream]="${up_pids[*]}"
	fi
}

# end CONTESTANT
end() {
	if [ "$1" = ours ]; then
		kill "$server"
		wait "$server" 2>/dev/null
	else
		upstream_end
	fi
}

# turn CONTESTANT COMMAND ..: theirs is stopped while ours has its turn; ours does nothing while theirs has.
turn() {
	local who=$1
	shift
	share=1
	if [ "$who" = upstream ]; then
		share=${UPSTREAM_SHARE:-20}
		kill -CONT ${pids[upstream]}
		upstream_wait "${at[upstream]}/readyz"
		sleep "${SETTLE_S:-1}" # it has noticed that time has passed
	elif [ -n "${pids[upstream]:-}" ]; then
		kill -STOP ${pids[upstream]}
	fi
	"$@" "$who"
}

# in_turn COMMAND ..: once for each contestant.
in_turn() {
	local who
	for who in "${both[@]}"; do turn "$who" "$@"; done
}

# memory FIGURE CONTESTANT: of its server, now.
memory() {
	best[$2-$1]=$(together ${pids[$2]})
}
