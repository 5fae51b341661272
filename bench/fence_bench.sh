# Allocations with the fence of devices and without it, in alternation: exclusive devices, shares, and partitions that
# all take from one counter set. Each of CLAIMS claims gets a device of its own. The figure is what the server computes for
# one allocation, since the client that writes them is slower than the server.
. "$(dirname "$0")/lib.sh"

claims=${CLAIMS:-1000}
echo 'token,bench,1,"system:masters"' >"$tmp/tokens"
auth=(-H 'authorization: Bearer token')
json=(-H 'content-type: application/json')
group=/apis/resource.k8s.io/v1
path=$group/namespaces/default/resourceclaims
driver='"driver":"gpu.example.com"'
echo '{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"generateName":"claim-"},"spec":{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu.example.com"}}]}}}' >"$tmp/claim"

# start NAME ENABLED: a server; sets $pid and $url.
start() {
	local line
	coproc { exec "$devplane" server --data-dir "$tmp/$1" --secure-port 0 --token-auth-file "$tmp/tokens" --feature-gates "DeviceAllocationFence=$2" 2>>"$tmp/server.err"; }
	pid=$!
	read -r line <&"${COPROC[0]}"
	url=${line##* }
}

# slice NAME POOL COUNT REST
slice() {
	printf '{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"%s"},"spec":{%s,"pool":{"name":"%s","generation":1,"resourceSliceCount":%s},"allNodes":true,%s}}' "$1" "$driver" "$2" "$3" "$4" |
		curl -skf "${auth[@]}" "${json[@]}" -o "$tmp/answer" -d @- "$url$group/resourceslices" || {
		echo "bench: a slice was refused" >&2
		exit 1
	}
}

# slices POOL REST: 64 devices gpu-N in each, with REST.
slices() {
	local first n=$(((claims + 63) / 64)) count
	count=$n
	[ "$1" != parts ] || {
		count=$((n + 1))
		slice parts-counters parts $count "\"sharedCounters\":[{\"name\":\"card\",\"counters\":{\"slots\":{\"value\":\"$((64 * n))\"}}}]"
	}
	for ((first = 1; first <= claims; first += 64)); do
		slice "$1-$first" "$1" $count "\"devices\":[$(for ((i = first; i < first + 64; i++)); do
			printf '%s{"name":"gpu-%d"%s}' "$([ $i = $first ] || echo ,)" $i "$2"
		done)]"
	done
}

# allocate KIND RESULT: sets $cost, microseconds of the server for each allocation.
allocate() {
	local before
	h2load -n "$claims" -c 4 -m 8 "${auth[@]}" "${json[@]}" -d "$tmp/claim" "$url$path" >"$tmp/answer"
	curl -sk "${auth[@]}" -H 'user-agent: bench' "$url$path?limit=$claims" | grep -oE '"name":"claim-[^"]*"' |
		sed -E "s#.*:\"([^\"]*)\"#$url$path/\1/status#" >"$tmp/urls"
	before=$(cpu_us $pid)
	patch_each "$tmp/urls" "{\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"request\":\"gpu\",$driver,\"pool\":\"$1\",\"device\":\"gpu-@\"$2}]}}}}"
	cost=$(quotient $(($(cpu_us $pid) - before)) "$(wc -l <"$tmp/urls")" %.1f)
}

# measure KIND DEVICE RESULT
measure() {
	local round enabled
	fenced='' unfenced=''
	for ((round = 0; round < rounds; round++)); do
		for enabled in true false; do
			start "$1-$round-$enabled" $enabled
			slices "$1" "$2"
			allocate "$1" "$3"
			if [ $enabled = true ]; then lesser fenced "$cost"; else lesser unfenced "$cost"; fi
			kill "$pid"
			wait "$pid" 2>/dev/null
		done
	done
}

measure whole '' ''
figure exclusive us "$fenced" unfenced "$unfenced"
measure shared ',"allowMultipleAllocations":true,"capacity":{"memory":{"value":"80Gi"}}' ',"shareID":"123e4567-e89b-12d3-a456-426614174000","consumedCapacity":{"memory":"10Gi"}'
figure shares us "$fenced" unfenced "$unfenced"
measure parts ',"consumesCounters":[{"counterSet":"card","counters":{"slots":{"value":"1"}}}]' ''
figure partitions us "$fenced" unfenced "$unfenced"
