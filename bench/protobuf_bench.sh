# Protobuf beside JSON: gets, lists and watches of the same objects by the same server.
. "$(dirname "$0")/lib.sh"

claims=${CLAIMS:-5500}
echo 'token,bench,1,"system:masters"' >"$tmp/tokens"
auth=(-H 'authorization: Bearer token')
protobuf=(-H 'accept: application/vnd.kubernetes.protobuf,application/json')
partial=(-H 'accept: application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1')
path=/apis/resource.k8s.io/v1/namespaces/default/resourceclaims
printf '%s' '{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"generateName":"claim-"},"spec":{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu.example.com","selectors":[{"cel":{"expression":"device.driver == \"gpu.example.com\""}}]}}]}}}' >"$tmp/claim"

coproc { exec "$devplane" server --data-dir "$tmp/data" --secure-port 0 --token-auth-file "$tmp/tokens" 2>>"$tmp/server.err"; }
pid=$!
read -r line <&"${COPROC[0]}"
url=${line##* }

create() {
	rate -n "$1" -c 10 -m 32 "${auth[@]}" -H 'content-type: application/json' -d "$tmp/claim" "$url$path"
}

# size ARGS ..: bytes of a list's answer, and seconds until it was there.
size() {
	curl -sk -o /dev/null -w '%{size_download} %{time_total}' -H 'user-agent: bench' "${auth[@]}" "$@" "$url$path"
}

create "$claims" >/dev/null
before=$(resident $pid)
read -r json_bytes _ <<<"$(size)"
read -r protobuf_bytes first <<<"$(size "${protobuf[@]}")"
read -r _ second <<<"$(size "${protobuf[@]}")"
told first-list "first=$first s again=$second s of $claims claims: json=$json_bytes protobuf=$protobuf_bytes bytes"
told resident "before=$before after=$(resident $pid) MiB"

one=$url$path/$(curl -sk "${auth[@]}" -H 'user-agent: bench' "$url$path?limit=1" | grep -oE '"name":"claim-[^"]*"' | head -n 1 | cut -d '"' -f 4)
load=(-n "$requests" -c 10 -m 32 "${auth[@]}")
duel ours json "${load[@]}" "${protobuf[@]}" "$one" -- "${load[@]}" "$one"
figure gets req/s "$ours" json "$json"
load=(-n 500 -c 4 -m 1 -w 24 -W 24 "${auth[@]}")
duel ours json "${load[@]}" "${protobuf[@]}" "$url$path" -- "${load[@]}" "$url$path"
figure lists req/s "$ours" json "$json"
told "partial-lists-$claims" "$(rate "${load[@]}" "${partial[@]}" "$url$path") req/s"

# watch ACCEPT: events per second to 200 watches while 10,000 claims are made.
watch() {
	local watch revision
	revision=$(curl -sk "${auth[@]}" "$url$path?limit=1" | sed -nE 's/.*"resourceVersion": "([0-9]+)",?$/\1/p' | head -n 1)
	"$BUILD/bench/watch_load" "$url$path?watch=true&resourceVersion=$revision" token 200 10000 "$1" >"$tmp/watch" 2>&1 &
	watch=$!
	wait_for grep -q ready "$tmp/watch"
	create 10000 >/dev/null
	wait $watch
	awk '/events/ { print $1 }' "$tmp/watch"
}

json=0 ours=0
for ((round = 0; round < rounds; round++)); do
	json=$(printf '%s\n' "$json" "$(watch application/json)" | sort -g | tail -1)
	ours=$(printf '%s\n' "$ours" "$(watch 'application/vnd.kubernetes.protobuf;stream=watch')" | sort -g | tail -1)
done
figure watch-events events/s "$ours" json "$json"
kill "$pid"
wait "$pid" 2>/dev/null
