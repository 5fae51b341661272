# The whole cluster: the work by which upstream's programs were measured, done by ours; and where UPSTREAM_BIN is a folder
# with kube-apiserver, etcd, kube-scheduler and kube-controller-manager, or some of them, by those in the same run.
#
# Both keep data with fsync on, speak TLS, and are driven by the same programs. Rounds alternate; while ours is measured
# theirs is stopped. Rates of theirs are taken from fewer requests, so that a run ends. Memory is resident memory of all
# processes together; what several have mapped of a file counts once. CLAIMS and OTHERS are made before memory is looked
# at, EVENTS are sent to each of WATCHERS, PODS scheduled, LISTS made.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/node_lib.sh"
. "$(dirname "$0")/schedule_lib.sh"
. "$(dirname "$0")/upstream_lib.sh"
. "$(dirname "$0")/contest_lib.sh"

claims=${CLAIMS:-5500} others=${OTHERS:-1000}
events=${EVENTS:-5000} watchers=${WATCHERS:-200}
pods=${PODS:-3000}
auth=(-H 'authorization: Bearer token')
json=(-H 'content-type: application/json')
path=/apis/resource.k8s.io/v1/namespaces
printf '%s' '{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"generateName":"claim-"},"spec":{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu.example.com"}}]}}}' >"$tmp/claim"

allocation='{"status":{"allocation":{"devices":{"results":[{"request":"gpu","driver":"gpu.example.com","pool":"node","device":"gpu-@"}]}}}}'
reservation='{"status":{"reservedFor":[{"resource":"pods","name":"web","uid":"8b9e7ee4-0000-4000-8000-000000000001"}]}}'

# --- work, each with the contestant as its last word --------------------------------------------------------------------

# create COUNT NAMESPACE URL: rate of creating so many claims.
create() {
	rate -n "$1" -c 10 -m 32 "${auth[@]}" "${json[@]}" -d "$tmp/claim" "$3$path/$2/resourceclaims"
}

namespaces() {
	local name
	for name in default others more watched; do
		curl -sk "${auth[@]}" "${json[@]}" -d "{\"metadata\":{\"name\":\"$name\"}}" "${at[$1]}/api/v1/namespaces"
	done >/dev/null
}

fill() {
	better "best[$1-creates]" "$(create "$claims" default "${at[$1]}")"
	create "$others" others "${at[$1]}" >/dev/null
}

creates() {
	better "best[$1-creates]" "$(create "$claims" more "${at[$1]}")"
}

gets() {
	better "best[$1-gets]" "$(rate -n $((requests / share)) -c 10 -m 32 "${auth[@]}" "$(head -n 1 "$tmp/urls-$1")")"
}

lists() {
	local n=${LISTS:-400}
	better "best[$1-lists-5500]" "$(rate -n $((n / share > 8 ? n / share : 8)) -c 4 -m 1 -w 24 -W 24 "${auth[@]}" \
		"${at[$1]}$path/default/resourceclaims")"
}

# allocate: all claims get a device.
allocate() {
	sed 's#$#/status#' "$tmp/urls-$1" >"$tmp/urls"
	patch_each "$tmp/urls" "$allocation"
}

# patches: reserves, or gives back, in turn, so that each changes its object. One connection: each of several would begin with the first.
patches() {
	local n
	n=$(wc -l <"$tmp/urls-$1")
	[ $share = 1 ] || n=$((n / 4))
	sed 's#$#/status#' "$tmp/urls-$1" >"$tmp/urls"
	better "best[$1-status-patches]" "$(rate -n "$n" -c 1 -m 100 "${auth[@]}" -H ':method: PATCH' \
		-H 'content-type: application/merge-patch+json' -d "$tmp/patch" -i "$tmp/urls")"
}

# watch: creates before many watchers.
watch() {
	local list=${at[$1]}$path/watched/resourceclaims revision load
	revision=$(curl -sk "${auth[@]}" "$list?limit=1" | grep -oE '"resourceVersion": ?"[0-9]+"' | head -n 1 | tr -dc 0-9)
	"$BUILD/bench/watch_load" "$list?watch=true&resourceVersion=$revision" token "$watchers" "$events" >"$tmp/watch" 2>&1 &
	load=$!
	wait_for grep -q ready "$tmp/watch"
	create "$events" watched "${at[$1]}" >/dev/null
	wait $load || cat "$tmp/watch" >&2
	better "best[$1-watch-events]" "$(awk '/dropped/ { print $1 }' "$tmp/watch")"
	better "best[$1-watch-dropped]" "$(awk '/dropped/ { print $(NF - 1) }' "$tmp/watch")"
}

urls() {
	curl -sk "${auth[@]}" -H 'user-agent: bench' "${at[$1]}$path/default/resourceclaims" | grep -oE '"name":"claim-[^"]*"' |
		sed -E "s#.*:\"([^\"]*)\"#${at[$1]}$path/default/resourceclaims/\1#" >"$tmp/urls-$1"
}

# --- the API server ---------------------------------------------------------------------------------------------------

for ((round = 1; round <= rounds; round++)); do
	for who in "${both[@]}"; do
		start "$who" $round
		[ $round = "$rounds" ] || end "$who"
	done
done
settle
for who in "${both[@]}"; do memory server-idle "$who"; done
in_turn namespaces
in_turn fill
kill -CONT ${pids[upstream]:-} 2>/dev/null
settle
for who in "${both[@]}"; do memory server-6500-claims "$who"; done
in_turn urls
in_turn allocate
for ((round = 1; round <= rounds; round++)); do
	body='{"status":{"reservedFor":null}}'
	[ $((round % 2)) = 0 ] || body=$reservation
	printf '%s' "$body" >"$tmp/patch"
	in_turn gets
	in_turn lists
	in_turn patches
	in_turn watch
	in_turn creates
done
kill -CONT ${pids[upstream]:-} 2>/dev/null
for who in "${both[@]}"; do end "$who"; done
pids[upstream]=
beside server-ready s
beside server-idle MiB
beside server-6500-claims MiB
beside creates req/s
beside gets req/s
beside lists-5500 req/s
beside status-patches req/s
beside watch-events events/s
beside watch-dropped watchers

# --- pods with a claim each on 100 nodes: one after the other, nobody runs on the nodes -------------------------------------

# scheduling CONTESTANT: nodes, a look at the scheduler's memory, pods.
scheduling() {
	load schedule_load
	ask nodes 100 $devices
	settle
	best[$1-scheduler-100-nodes]=$(resident "$2")
	with_claims 100 "$pods"
	best[$1-pods-claim-100]=$claimed
	kill $load
	wait $load 2>/dev/null
}

serve ours-pods
"$devplane" controller --kubeconfig "$admin" --leader-elect=false --metrics-bind-address 0 \
	--controllers resourceclaim-controller >/dev/null 2>>"$tmp/controller.err" &
controller=$!
schedule
scheduling ours $agent
kill $controller $agent $server
wait $controller $agent $server 2>/dev/null
if upstream_has etcd kube-apiserver kube-scheduler kube-controller-manager; then
	upstream_serve "$tmp/upstream"
	upstream_wait "$up_url/readyz"
	upstream_schedule
	upstream_control resourceclaim-controller
	upstream_wait "$up_scheduler_url/healthz"
	upstream_wait "$up_control_url/healthz"
	admin=$up_admin
	scheduling upstream "$up_scheduler"
	upstream_end
fi
beside pods-claim-100 pods/s
beside scheduler-100-nodes MiB

# --- all roles: one command, and upstream's four programs ---------------------------------------------------------------

# all_ours ROUND: ours have a node agent, too.
all_ours() {
	local begun=${EPOCHREALTIME/./} folder=$root/up-$1 all
	"$devplane" up --detach --data-dir "$folder" --secure-port 0 --runtime hollow >"$tmp/up.out" 2>&1 || {
		cat "$tmp/up.out" >&2
		exit 1
	}
	lesser "best[ours-up-ready]" "$(quotient $((${EPOCHREALTIME/./} - begun)) 1000000)"
	mapfile -t all < <(grep -oE '"pid": ?[0-9]+' "$folder/up.json" | grep -oE '[0-9]+')
	supervisor=${all[0]}
	settle
	lesser "best[ours-up-idle]" "$(together "${all[@]}")"
	kill "$supervisor"
	while kill -0 "$supervisor" 2>/dev/null; do sleep 0.05; done
	supervisor=
}

# all_upstream: the node controllers are off, as nothing keeps nodes alive.
all_upstream() {
	upstream_serve "$tmp/upstream"
	upstream_schedule
	upstream_control '*,-node-lifecycle-controller'
	upstream_wait "$up_url/readyz"
	upstream_wait "$up_scheduler_url/healthz"
	upstream_wait "$up_control_url/healthz"
	lesser "best[upstream-up-ready]" "$(quotient $((${EPOCHREALTIME/./} - up_begun)) 1000000)"
	settle
	lesser "best[upstream-up-idle]" "$(together "${up_pids[@]}")"
	upstream_end
}

if "$devplane" up --help >/dev/null 2>&1; then
	for ((round = 1; round <= rounds; round++)); do
		all_ours $round
		if upstream_has etcd kube-apiserver kube-scheduler kube-controller-manager; then all_upstream; fi
	done
	beside up-ready s
	beside up-idle MiB
else
	told up "this devplane has no command up"
fi
