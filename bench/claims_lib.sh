# Sourced by what loads a server with claims from several processes at once, after contest_lib.sh.
#
# A load runs for LOAD_S seconds. One process of h2load uses one CPU at most, so there are GENERATORS of them, half as many as
# CPUs and at most 8. Each has 8 connections: they spread evenly over the 8 threads that serve connections on a server with 8.
# CLAIMS exist for gets and patches, WATCHERS in 4 processes get EVENTS each.
#
# CPU time is read from /proc before and after each load, so that it can be seen whether the server or the load was the limit.
claims=${CLAIMS:-5500} events=${EVENTS:-20000} watchers=${WATCHERS:-200}
load_s=${LOAD_S:-3}
cpus=$(nproc)
half=$((cpus / 2))
generators=${GENERATORS:-$((half > 8 ? 8 : half > 1 ? half : 1))}
connections=8
patchers=$((generators * connections > 8 ? generators * connections / 2 : 4)) # one connection each
watching=4
auth=(-H 'authorization: Bearer token')
json=(-H 'content-type: application/json')
path=/apis/resource.k8s.io/v1/namespaces/default/resourceclaims
printf '%s' '{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"generateName":"claim-"},"spec":{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu.example.com"}}]}}}' >"$tmp/claim"
# Two pods that change places: the same patch changes the claim each time.
held='{"status":{"allocation":{"devices":{"results":[{"request":"gpu","driver":"gpu.example.com","pool":"node","device":"gpu-@"}]}},"reservedFor":[{"resource":"pods","name":"web-0","uid":"8b9e7ee4-0000-4000-8000-000000000001"},{"resource":"pods","name":"web-1","uid":"8b9e7ee4-0000-4000-8000-000000000002"}]}}'
printf '%s' '[{"op":"move","from":"/status/reservedFor/1","path":"/status/reservedFor/0"}]' >"$tmp/patch"
server_pids='' etcd_pids='' # whose CPU time is looked at
busiest=0 limited=() # the most that a process of the load used, and figures at which the load was the limit

# --- CPU time -----------------------------------------------------------------------------------------------------------

# cpu_all PID ..: ms of CPU time of these processes so far.
cpu_all() {
	local pid
	for pid in "$@"; do cpu_ms "$pid"; done | awk '{ sum += $1 } END { print sum + 0 }'
}

# cpu_ended: ms of CPU time of all processes that this script started and that have ended.
cpu_ended() {
	awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($14 + $15) * 1000 / hz }' "/proc/$$/stat"
}

# cpu_idle: ms that the machine's CPUs had nothing to do, or waited for a disk.
cpu_idle() {
	awk -v hz="$(getconf CLK_TCK)" '/^cpu / { print ($5 + $6) * 1000 / hz }' /proc/stat
}

weigh() {
	echo "${EPOCHREALTIME/./}" "$(cpu_all $server_pids)" "$(cpu_all $etcd_pids)" "$(cpu_ended)" "$(cpu_idle)"
}

# weighed PROCESSES BEFORE: CPUs in use since `weigh` gave BEFORE: $cpu_server, $cpu_etcd, and $cpu_load by that many processes
# of the load. $cpu_unused is what nothing on this machine used, as all of /proc/stat has it.
weighed() {
	local used
	loaders=$1
	read -r -a used < <(echo "$2" "$(weigh)" | awk '{ for (i = 2; i <= 5; i++) printf "%.2f ", ($(i + 5) - $i) * 1000 / ($6 - $1) }')
	cpu_server=${used[0]} cpu_etcd=${used[1]} cpu_load=${used[2]} cpu_unused=${used[3]}
}

# --- loads, on the server at $url; the rate is $got, 0 if a request failed -----------------------------------------------

# volley N ARGS ..: N processes of h2load together; @ is the number of the process.
volley() {
	local n=$1 i all=()
	shift
	rm -f "$tmp"/rate-*
	for ((i = 1; i <= n; i++)); do
		rate "${@//@/$i}" >"$tmp/rate-$i" &
		all+=($!)
	done
	wait "${all[@]}"
	got=$(cat "$tmp"/rate-* | awk '{ sum += $1; bad += !$1 } END { print bad ? 0 : sum }')
}

creates() {
	local before
	before=$(weigh)
	volley "$generators" -D "$load_s" -c $connections -m 32 "${auth[@]}" "${json[@]}" -d "$tmp/claim" "$url$path"
	weighed "$generators" "$before"
}

gets() {
	local before
	before=$(weigh)
	volley "$generators" -D "$load_s" -c $connections -m 32 "${auth[@]}" "$(head -n 1 "$tmp/urls")"
	weighed "$generators" "$before"
}

# patches: each process has claims of its own, so no two patches of a claim are under way at once.
patches() {
	local before
	before=$(weigh)
	volley "$patchers" -D "$load_s" -c 1 -m 16 "${auth[@]}" -H ':method: PATCH' \
		-H 'content-type: application/json-patch+json' -d "$tmp/patch" -i "$tmp/part-@"
	weighed "$patchers" "$before"
}

# watch: creates before many watchers; begins when all watches are open.
watch() {
	local each=$(((events / share + generators - 1) / generators)) revision before i all=()
	[ $each -ge $connections ] || each=$connections
	revision=$(curl -sk "${auth[@]}" "$url$path?limit=1" | grep -oE '"resourceVersion": ?"[0-9]+"' | head -n 1 | tr -dc 0-9)
	for ((i = 1; i <= watching; i++)); do
		"$BUILD/bench/watch_load" "$url$path?watch=true&resourceVersion=$revision" token $((watchers / watching)) \
			$((each * generators)) >"$tmp/watch-$i" 2>&1 &
		all+=($!)
	done
	for ((i = 1; i <= watching; i++)); do wait_for grep -q ready "$tmp/watch-$i"; done
	before=$(weigh)
	volley "$generators" -n $each -c $connections -m 32 "${auth[@]}" "${json[@]}" -d "$tmp/claim" "$url$path"
	wait "${all[@]}"
	weighed $((generators + watching)) "$before"
	got=$(cat "$tmp"/watch-* | awk '/dropped/ { n++; sum += $1; dropped += $(NF - 1) }
		END { print n < '$watching' || dropped ? 0 : sum }')
}

# prepare: claims that are allocated and reserved; their URLs are in $tmp/urls, and shared out in $tmp/part-1 and so on.
prepare() {
	curl -sk "${auth[@]}" "${json[@]}" -d '{"metadata":{"name":"default"}}' "${url}/api/v1/namespaces" >/dev/null
	[ "$(rate -n "$claims" -c 10 -m 32 "${auth[@]}" "${json[@]}" -d "$tmp/claim" "$url$path")" != 0 ] || {
		echo "bench: claims cannot be created" >&2
		exit 1
	}
	curl -sk "${auth[@]}" -H 'user-agent: bench' "$url$path?limit=$claims" | grep -oE '"name": ?"claim-[^"]*"' |
		sed -E "s#.*\"(claim-[^\"]*)\"#$url$path/\1#" >"$tmp/urls"
	sed 's#$#/status#' "$tmp/urls" >"$tmp/status-urls"
	patch_each "$tmp/status-urls" "$held"
	rm -f "$tmp"/part-*
	awk -v n="$patchers" -v to="$tmp/part-" '{ print >(to NR % n + 1) }' "$tmp/status-urls"
}

# --- figures --------------------------------------------------------------------------------------------------------------

# keep NAME UNIT: the round's result, with the CPUs that it took, if it is the best so far of this name.
keep() {
	local text each
	text="$got $2; CPUs in use: server $cpu_server${etcd_pids:+, etcd $cpu_etcd}, load $cpu_load ($loaders processes), idle $cpu_unused, of $cpus"
	[ "$got" != 0 ] || text="a request failed, or a watcher was dropped"
	say "$1" "$text"
	better "best[$1]" "$got"
	[ "${best[$1]}" = "$got" ] || return 0
	best[$1-server-cpus]=$cpu_server best[$1-etcd-cpus]=$cpu_etcd best[$1-load-cpus]=$cpu_load
	each=$(quotient "$cpu_load" "$loaders" %.2f)
	better busiest "$each"
	if awk "BEGIN { exit !($each > 0.9 || $cpu_unused < 0.05 * $cpus) }"; then limited+=("$1"); fi
}

# told_load: whether the load was the limit somewhere.
told_load() {
	local text="the busiest load processes used $busiest CPUs each, and CPUs were idle: the load was never the limit"
	[ ${#limited[@]} = 0 ] || text="processes of the load, or all $cpus CPUs of the machine, were fully busy during: $(printf '%s\n' "${limited[@]}" | sort -u | paste -sd ' ')"
	told load "$text"
}
