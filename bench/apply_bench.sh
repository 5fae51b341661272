# Server-side apply: drivers that apply their entries of claims' status.devices, pods that are applied whole, and what
# the record of who set what (managedFields) takes; by ours and, where UPSTREAM_BIN has kube-apiserver and etcd, by those in the same run.
#
# Each of CLAIMS is a claim of its own with a device of either of two drivers; upstream has fewer of them, so that a run ends. Several
# clients are several processes, each with its own part of the claims. In every round drivers begin with nothing and end by giving up.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/node_lib.sh"
. "$(dirname "$0")/upstream_lib.sh"
. "$(dirname "$0")/contest_lib.sh"

auth=(-H 'authorization: Bearer token')
json=(-H 'content-type: application/json')
UPSTREAM_SHARE=${UPSTREAM_SHARE:-8}
server_flags=(--disable-admission-plugins DeviceAllocationFence) # one body for all claims: they have the same devices
declare -A api=([claims]=/apis/resource.k8s.io/v1/namespaces/default/resourceclaims [pods]=/api/v1/namespaces/default/pods)
declare -A objects=([claims]=${CLAIMS:-8000} [pods]=${PODS:-4000}) # how many of ours

# --- what is sent ---------------------------------------------------------------------------------------------------------

printf '%s' '{"metadata":{"generateName":"claim-"},"spec":{"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"net"}},{"name":"b","exactly":{"deviceClassName":"net"}}]}}}' >"$tmp/claims"
printf '%s' '{"status":{"allocation":{"devices":{"results":[{"request":"a","driver":"a.example.com","pool":"n1","device":"nic-0"},{"request":"b","driver":"b.example.com","pool":"n1","device":"nic-0"}]},"nodeSelector":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]}},"reservedFor":[{"resource":"pods","name":"web","uid":"8b9e7ee4-0000-4000-8000-000000000001"}]}}' >"$tmp/allocation"

# entry DRIVER MESSAGE: what a driver applies to say how its device is.
entry() {
	printf '{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","status":{"devices":[{"driver":"%s","pool":"n1","device":"nic-0","conditions":[{"type":"Ready","status":"True","reason":"Attached","message":"%s","lastTransitionTime":"2026-01-01T00:00:00Z"}],"data":{"network":"blue","device":"veth-0","kind":"veth","mtu":1500},"networkData":{"interfaceName":"net1","ips":["192.0.2.5/24","2001:db8::5/64"],"hardwareAddress":"02:00:00:00:00:05"}}]}}' "$1" "$2"
}
printf '%s' '{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim"}' >"$tmp/nothing"

# container NAME PORT: about a kilobyte of one.
container() {
	local name=$1 port=$2 i
	printf '{"name":"%s","image":"registry.example.com/team/%s:1.2.3","command":["/bin/server"],"args":["--port=%s","--verbose"],"env":[' "$name" "$name" "$port"
	for ((i = 0; i < 8; i++)); do printf '%s{"name":"SETTING_%s","value":"value-%s"}' "$([ $i = 0 ] || echo ,)" $i $i; done
	printf '],"ports":[{"name":"%s","containerPort":%s,"protocol":"TCP"}],"resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"memory":"128Mi"}},"volumeMounts":[{"name":"data","mountPath":"/data"},{"name":"tmp","mountPath":"/tmp"}],"readinessProbe":{"httpGet":{"path":"/ready","port":%s},"periodSeconds":5},"securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}' "$name" "$port" "$port"
}

# pod METADATA: three kilobytes of a pod.
pod() {
	printf '{"apiVersion":"v1","kind":"Pod","metadata":{%s,"labels":{"app":"web","tier":"front"}},"spec":{"automountServiceAccountToken":false,"containers":[%s,%s,%s],"volumes":[{"name":"data","emptyDir":{}},{"name":"tmp","emptyDir":{}}]}}' \
		"$1" "$(container web 8080)" "$(container log 8081)" "$(container proxy 8082)"
}
pod '"generateName":"pod-"' >"$tmp/pods"

# --- work, each with the contestant as its last word ------------------------------------------------------------------------

# of KIND: how many the contestant has whose turn it is.
of() {
	echo $((objects[$1] / share))
}

# sound WHAT RATE: ends the run when a request was refused. One round is enough: what others measured is no figure, either.
sound() {
	[ "$(awk -v rate="${2:-0}" 'BEGIN { print (rate > 0) }')" = 1 ] && return
	echo "bench: $1: requests were refused or lost" >&2
	exit 1
}

# keep FIGURE CONTESTANT RATE: the best of the rounds, each of which must be sound.
keep() {
	sound "$2, $1" "$3"
	better "best[$2-$1]" "$3"
}

# fill KIND: creates them, and remembers where they are.
fill() {
	sound "$2, create $1" "$(rate -n "$(of "$1")" -c 10 -m 32 "${auth[@]}" "${json[@]}" -d "$tmp/$1" "${at[$2]}${api[$1]}?fieldManager=maker")"
	curl -sk "${auth[@]}" -H 'user-agent: bench' "${at[$2]}${api[$1]}" | grep -oE '"name":"(claim|pod)-[^"]*"' |
		sed -E "s#.*:\"([^\"]*)\"#${at[$2]}${api[$1]}/\1#" >"$tmp/$1-$2"
	[ "$(wc -l <"$tmp/$1-$2")" = "$(of "$1")" ] || sound "$2, list $1" 0
}

# allocate: all claims get their devices.
allocate() {
	sed 's#$#/status?fieldManager=scheduler#' "$tmp/claims-$1" >"$tmp/urls"
	sound "$1, allocate" "$(rate -n "$(of claims)" -c 1 -m 100 "${auth[@]}" -H ':method: PATCH' -H 'content-type: application/merge-patch+json' \
		-d "$tmp/allocation" -i "$tmp/urls")"
}

# applied BODY FLIGHT URLS: applies the body to each; 0 when one was refused.
applied() {
	rate -n "$(wc -l <"$3")" -c 1 -m "$2" "${auth[@]}" -H ':method: PATCH' -H 'content-type: application/apply-patch+yaml' -d "$1" -i "$3"
}

# together_applied FLIGHT BODY URLS [BODY URLS ..]: by one process for each two words; the rate of all of them.
together_applied() {
	local flight=$1 begun waited=() rates=() i n=0
	shift
	begun=${EPOCHREALTIME/./}
	for ((i = 1; i < $#; i += 2)); do
		applied "${!i}" "$flight" "${@:i+1:1}" >"$tmp/rate-$i" &
		waited+=($!) rates+=("$tmp/rate-$i")
		n=$((n + $(wc -l <"${@:i+1:1}")))
	done
	wait "${waited[@]}"
	awk -v n=$n -v us=$((${EPOCHREALTIME/./} - begun)) '$1 == 0 { bad = 1 } END { print bad ? 0 : n * 1000000 / us }' "${rates[@]}"
}

# targets KIND QUERY CONTESTANT PARTS: URLs in as many files $tmp/part-0, ..
targets() {
	sed "s#\$#$2#" "$tmp/$1-$3" | awk -v parts="$4" -v to="$tmp/part-" '{ print > (to NR % parts) }'
}

# apply FIGURE KIND QUERY BODY CONTESTANT: four clients, 25 at a time each.
apply() {
	targets "$2" "$3" "$5" 4
	keep "$1" "$5" "$(together_applied 25 "$4" "$tmp/part-0" "$4" "$tmp/part-1" "$4" "$tmp/part-2" "$4" "$tmp/part-3")"
}

# apply_alone FIGURE KIND QUERY BODY CONTESTANT: one client, one at a time, a quarter of them.
apply_alone() {
	targets "$2" "$3" "$5" 4
	keep "$1" "$5" "$(applied "$4" 1 "$tmp/part-0")"
}

# apply_both FIGURE BODY-A BODY-B CONTESTANT: two drivers at the same claims.
apply_both() {
	sed 's#$#/status?fieldManager=driver-a#' "$tmp/claims-$4" >"$tmp/urls-a"
	sed 's#$#/status?fieldManager=driver-b#' "$tmp/claims-$4" >"$tmp/urls-b"
	keep "$1" "$4" "$(together_applied 25 "$2" "$tmp/urls-a" "$3" "$tmp/urls-b")"
}

# managed KIND CONTESTANT: bytes of an object's managedFields, as text without spaces, and of the object.
managed() {
	curl -sk "${auth[@]}" -H 'user-agent: bench' "$(head -n 1 "$tmp/$1-$2")" | python3 -c '
import json, sys
size = lambda v: len(json.dumps(v, separators=(",", ":"), ensure_ascii=False).encode())
v = json.load(sys.stdin)
print(size(v["metadata"]["managedFields"]), size(v), len(v["metadata"]["managedFields"]))' >"$tmp/managed"
	read -r bytes all entries <"$tmp/managed"
	best[$2-managed-$1]=$bytes
	[ "$2" != ours ] ||
		told "managed-$1" "$bytes of $all bytes ($(quotient "$((bytes * 100))" "$all" %.0f) %) of an object with $entries entries"
}

# --- rounds -----------------------------------------------------------------------------------------------------------------

for who in "${both[@]}"; do start "$who" 1; done
settle
idle=$(resident $server)
in_turn fill claims
in_turn allocate
in_turn fill pods
a='/status?fieldManager=driver-a'
for message in one two three four; do entry a.example.com $message >"$tmp/a-$message"; done
entry b.example.com one >"$tmp/b-one"
for ((round = 1; round <= rounds; round++)); do
	pod "\"annotations\":{\"round\":\"$round\"}" >"$tmp/pod"
	in_turn apply first-applies claims "$a" "$tmp/a-one"
	in_turn apply applies claims "$a" "$tmp/a-two"
	in_turn apply no-op-applies claims "$a" "$tmp/a-two"
	in_turn apply_alone applies-one-client claims "$a" "$tmp/a-three"
	in_turn apply_both applies-two-drivers "$tmp/a-four" "$tmp/b-one"
	in_turn apply pod-applies pods '?fieldManager=applier' "$tmp/pod"
	[ $round != "$rounds" ] || break
	in_turn apply give-up claims "$a" "$tmp/nothing"
	in_turn apply give-up claims "${a/-a/-b}" "$tmp/nothing"
done
kill -CONT ${pids[upstream]:-} 2>/dev/null
for who in "${both[@]}"; do
	managed claims "$who"
	managed pods "$who"
done
beside first-applies req/s
beside applies req/s
beside no-op-applies req/s
beside applies-one-client req/s
beside applies-two-drivers req/s
beside pod-applies req/s
beside managed-claims bytes
beside managed-pods bytes

# Memory of the applied objects, measured on a server that loads them from its disk.
for who in "${both[@]}"; do end "$who"; done
pids[upstream]=
serve ours-1
settle
told memory "$(resident $server) MiB with ${objects[claims]} claims and ${objects[pods]} pods, $idle MiB without: $(quotient "$(awk "BEGIN { print ($(resident $server) - $idle) * 1024 }")" $((objects[claims] + objects[pods])) %.1f) KiB each"
end ours
