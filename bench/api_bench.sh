# The API server over TLS with fsync on, beside nghttpd where that can do the same work.
. "$(dirname "$0")/lib.sh"

echo 'token,bench,1,"system:masters"' >"$tmp/tokens"
auth=(-H 'authorization: Bearer token')
json=(-H 'content-type: application/json')
path=/apis/resource.k8s.io/v1/namespaces/default/resourceclaims

# claim BYTES: a claim whose JSON text is that long, as it is sent.
claim() {
	local text pad
	text='{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"generateName":"claim-","annotations":{"pad":"@"}},"spec":{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu.example.com"}}]}}}'
	pad=$(printf '%*s' $(($1 - ${#text} + 1)) '' | tr ' ' x)
	printf '%s' "${text/@/$pad}"
}
claim 512 >"$tmp/claim-half"
claim 1024 >"$tmp/claim-one"

# start FOLDER: a server on it; sets $pid, $url and $ready_ms.
start() {
	local begun line
	begun=${EPOCHREALTIME/./}
	coproc { exec "$devplane" server --data-dir "$1" --secure-port 0 --token-auth-file "$tmp/tokens" 2>>"$tmp/server.err"; }
	pid=$!
	read -r line <&"${COPROC[0]}"
	ready_ms=$(((${EPOCHREALTIME/./} - begun) / 1000))
	url=${line##* }
}

end() {
	kill "$pid"
	wait "$pid" 2>/dev/null
}

# create COUNT BODY: rate of creating that many.
create() {
	rate -n "$1" -c 10 -m 32 "${auth[@]}" "${json[@]}" -d "$tmp/claim-$2" "$url$path"
}

# names COUNT: URLs of that many claims.
names() {
	curl -sk "${auth[@]}" -H 'user-agent: bench' "$url$path?limit=$1" | grep -oE '"name":"claim-[^"]*"' |
		sed -E "s#.*:\"([^\"]*)\"#$url$path/\1#"
}

# --- empty -------------------------------------------------------------------------------------

start "$tmp/data"
figure ready ms "$ready_ms"
figure resident-idle MiB "$(resident $pid)"

# --- 10,000 claims ----------------------------------------------------------------------------

figure creates-1KiB req/s "$(create 10000 one)"
told resident-10000 "$(resident $pid) MiB"

names 1 >"$tmp/one"
curl -sk "${auth[@]}" -H 'user-agent: bench' "$(cat "$tmp/one")" >"$tmp/www-object"
mkdir "$tmp/www"
mv "$tmp/www-object" "$tmp/www/object"
curl -sk "${auth[@]}" -H 'user-agent: bench' "$url$path?limit=5000" >"$tmp/www/list"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
	-keyout "$tmp/key.pem" -out "$tmp/cert.pem" 2>/dev/null
port=$((20000 + RANDOM % 10000))
nghttpd -n 1 -a 127.0.0.1 -d "$tmp/www" $port "$tmp/key.pem" "$tmp/cert.pem" >/dev/null 2>&1 &
wait_for curl -skf "https://127.0.0.1:$port/object"

load=(-n "$requests" -c 10 -m 32)
duel ours other "${load[@]}" "${auth[@]}" "$(cat "$tmp/one")" -- "${load[@]}" "https://127.0.0.1:$port/object"
figure gets req/s "$ours" nghttpd "$other"
load=(-n 500 -c 4 -m 1 -w 24 -W 24)
duel ours other "${load[@]}" "${auth[@]}" "$url$path?limit=5000" -- "${load[@]}" "https://127.0.0.1:$port/list"
figure lists-5000 req/s "$ours" nghttpd "$other"

names 10000 | sed 's#$#/status#' >"$tmp/status-urls"
patch_each "$tmp/status-urls" '{"status":{"allocation":{"devices":{"results":[{"request":"gpu","driver":"gpu.example.com","pool":"node","device":"gpu-@"}]}}}}'
for users in 1 0 1; do # reserve, give back, reserve: each changes the object
	body='{"status":{"reservedFor":null}}'
	[ $users = 0 ] || body='{"status":{"reservedFor":[{"resource":"pods","name":"web","uid":"8b9e7ee4-0000-4000-8000-000000000001"}]}}'
	printf '%s' "$body" >"$tmp/patch"
	# One connection: each of several would begin with the first, and change nothing that the others have.
	patches=$(rate -n 10000 -c 1 -m 100 "${auth[@]}" -H ':method: PATCH' -H 'content-type: application/merge-patch+json' \
		-d "$tmp/patch" -i "$tmp/status-urls")
done
figure status-patches req/s "$patches"

# --- 200 watchers -------------------------------------------------------------------------------

"$BUILD/bench/watch_load" "$url$path?watch=true&resourceVersion=$(curl -sk "${auth[@]}" "$url$path?limit=1" |
	sed -nE 's/.*"resourceVersion": "([0-9]+)",?$/\1/p' | head -n 1)" token 200 10000 >"$tmp/watch" 2>&1 &
watch=$!
wait_for grep -q ready "$tmp/watch"
create 10000 half >/dev/null
wait $watch
figure watch-events events/s "$(awk '/events/ { print $1 }' "$tmp/watch")"
figure watch-dropped watchers "$(awk '/dropped/ { print $(NF - 1) }' "$tmp/watch")"
told watch-bytes "$(awk '/events/ { print $3, $4 }' "$tmp/watch")"
end
