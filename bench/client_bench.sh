# The client library: an informer that copies what a server has, and follows what is written.
. "$(dirname "$0")/lib.sh"

echo 'token,bench,1,"system:masters"' >"$tmp/tokens"
auth=(-H 'authorization: Bearer token' -H 'content-type: application/json')
path=/apis/resource.k8s.io/v1/namespaces/default/resourceclaims
printf '%s' '{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"generateName":"claim-"},"spec":{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu.example.com"}}]}}}' >"$tmp/claim"

server() { exec "$devplane" server --data-dir "$tmp/data" --secure-port 0 --token-auth-file "$tmp/tokens" 2>>"$tmp/server.err"; }
server >"$tmp/server.out" &
server=$!
wait_for grep -q ready "$tmp/server.out"
line=$(head -n 1 "$tmp/server.out")
url=${line##* }

# follow: an informer of all claims; $synced_ms is how long its first state took.
follow() {
	coproc COPY { exec "$BUILD/bench/informer_load" "$tmp/data/admin.kubeconfig" resourceclaims.v1.resource.k8s.io; }
	copy=$!
	read -r _ count synced_ms <&"${COPY[0]}"
}

rate -n 20000 -c 10 -m 32 "${auth[@]}" -d "$tmp/claim" "$url$path" >/dev/null
follow
figure informer-first-state objects/s "$((count * 1000 / (synced_ms + 1)))"
told informer-resident "$(resident $copy) MiB for $count claims"

# As they are made: it keeps up with what writes them.
echo "events 10000" >&"${COPY[1]}"
created=$(rate -n 10000 -c 10 -m 32 "${auth[@]}" -d "$tmp/claim" "$url$path")
read -r _ followed <&"${COPY[0]}"
figure informer-follows events/s "$followed" creates "$created"

# From the server's memory, as fast as both can.
echo pause >&"${COPY[1]}"
rate -n 10000 -c 10 -m 32 "${auth[@]}" -d "$tmp/claim" "$url$path" >/dev/null
echo "resume 10000" >&"${COPY[1]}"
read -r _ resumed <&"${COPY[0]}"
figure informer-events events/s "$resumed"
echo state >&"${COPY[1]}"
read -r state <&"${COPY[0]}"
told informer-state "$state"
kill $copy $server
wait $copy $server 2>/dev/null
