# Flow control: what a quiet user notices of one who floods the server, over TLS, fsync on.
#
# Those who flood run at the lowest priority of the machine, so that what is measured is the server's queue and not
# a fight of clients for processors.
. "$(dirname "$0")/lib.sh"

quiet_requests=${QUIET_REQUESTS:-3000}
printf '%s\n' 'root,root,1,"system:masters"' 'flood,flood,2,' 'quiet,quiet,3,' >"$tmp/tokens"
json=(-H 'content-type: application/json')
path=/apis/resource.k8s.io/v1/namespaces/default/resourceclaims
printf '%s' '{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"generateName":"claim-"},"spec":{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu.example.com"}}]}}}' >"$tmp/claim"

server() { exec "$devplane" server --data-dir "$tmp/data" --secure-port 0 --token-auth-file "$tmp/tokens" 2>>"$tmp/server.err"; }
server >"$tmp/server.out" &
server=$!
wait_for grep -q ready "$tmp/server.out"
line=$(head -n 1 "$tmp/server.out")
url=${line##* }

# ask METHOD PATH BODY: as the administrator.
ask() {
	curl -skf -o /dev/null -X "$1" -H 'authorization: Bearer root' "${json[@]}" "$url$2" -d "$3"
}
ask POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings '{"metadata":{"name":"bench"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"flood"},{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"quiet"}]}'
rate -n 5000 -c 10 -m 32 -H 'authorization: Bearer root' "${json[@]}" -d "$tmp/claim" "$url$path" >/dev/null
ask POST $path '{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"one"},"spec":{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu.example.com"}}]}}}'

sed -E 's/^( *)client-(certificate|key)-data: .*/\1token: quiet/' "$tmp/data/admin.kubeconfig" | awk '!/token: quiet/ || !n++' >"$tmp/quiet.kubeconfig"
coproc QUIET { exec "$BUILD/bench/flow_load" "$tmp/quiet.kubeconfig"; }

# quiet WORD ..: a command; sets $p50, $p99, $longest and $refused.
quiet() {
	echo "$*" >&"${QUIET[1]}"
	read -r _ p50 p99 longest refused <&"${QUIET[0]}"
}

# flood ARGS ..: an h2load that runs until it is stopped.
flood() {
	nice -n 19 h2load -D 600 "$@" -H 'authorization: Bearer flood' >"$tmp/flood" 2>&1 &
	flood=$!
	sleep 1
}

end_flood() {
	kill $flood
	wait $flood 2>/dev/null
}

# best NAME COMMAND ..: the quiet user's 99th percentile, the best of the rounds; sets $best and prints it.
best() {
	local name=$1 round
	shift
	best=
	for ((round = 0; round < rounds; round++)); do
		quiet "$@"
		[ -z "$best" ] || [ "$(printf '%s\n' "$best" "$p99" | sort -g | head -n 1)" = "$p99" ] || continue
		best=$p99
		line="median $p50, p99 $p99, longest $longest ms, $refused refused"
	done
	told "$name" "$line"
}

get=(get "$path/one" "$quiet_requests")
post=(post "$path" "$tmp/claim" "$quiet_requests")
best get-alone "${get[@]}"
get_alone=$best
best create-alone "${post[@]}"
create_alone=$best

# While a flood goes on: both, beside what they are alone.
flood -c 50 -m 10 "$url$path/one"
best get-among-gets "${get[@]}"
figure get-p99-gets ms "$best" alone "$get_alone"
best create-among-gets "${post[@]}"
figure create-p99-gets ms "$best" alone "$create_alone"
end_flood

flood -c 20 -m 1 "$url$path?limit=5000"
best get-among-lists "${get[@]}"
figure get-p99-lists ms "$best" alone "$get_alone"
best create-among-lists "${post[@]}"
figure create-p99-lists ms "$best" alone "$create_alone"
end_flood

flood -c 50 -m 10 "${json[@]}" -d "$tmp/claim" "$url$path"
best get-among-creates "${get[@]}"
figure get-p99-creates ms "$best" alone "$get_alone"
best create-among-creates "${post[@]}"
figure create-p99-creates ms "$best" alone "$create_alone"
end_flood
kill $server
wait $server 2>/dev/null
