# HTTP, JSON and gRPC, each beside a program that does the same.
. "$(dirname "$0")/lib.sh"
here=$(dirname "$0")

# --- a server of ours, and nghttpd with one thread on a file of the same size -----------------

"$devplane" probe serve --listen 127.0.0.1:0 --listen-tls 127.0.0.1:0 --listen "unix:$tmp/ours.sock" \
	>"$tmp/serve.log" 2>&1 &
server=$!
wait_for grep -q 'listening on https' "$tmp/serve.log"
clear=$(sed -n 's#^listening on \(http://.*\)#\1#p' "$tmp/serve.log")
secure=$(sed -n 's#^listening on \(https://.*\)#\1#p' "$tmp/serve.log")

mkdir "$tmp/www"
head -c 600 /dev/zero >"$tmp/www/file"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
	-keyout "$tmp/key.pem" -out "$tmp/cert.pem" 2>/dev/null
port=$((20000 + RANDOM % 10000))
nghttpd -n 1 --no-tls -a 127.0.0.1 -d "$tmp/www" $port >/dev/null 2>&1 &
nghttpd -n 1 -a 127.0.0.1 -d "$tmp/www" $((port + 1)) "$tmp/key.pem" "$tmp/cert.pem" >/dev/null 2>&1 &
wait_for curl -sf --http2-prior-knowledge "http://127.0.0.1:$port/file"
wait_for curl -skf "https://127.0.0.1:$((port + 1))/file"

load=(-n "$requests" -c 10 -m 32)
duel ours other "${load[@]}" "$clear/bytes?n=600" -- "${load[@]}" "http://127.0.0.1:$port/file"
figure http2-clear req/s "$ours" nghttpd "$other"
duel ours other "${load[@]}" "$secure/bytes?n=600" -- "${load[@]}" "https://127.0.0.1:$((port + 1))/file"
figure http2-tls req/s "$ours" nghttpd "$other"

# --- JSON, beside jansson ------------------------------------------------------------------------

if [ -x "$BUILD/bench/json_bench" ]; then
	"$BUILD/bench/json_bench" >"$tmp/json" || exit 1
	for name in json-parse-small json-print-small json-parse-large json-print-large; do
		read -r _ ours other <<<"$(grep "^$name " "$tmp/json")"
		figure $name MB/s "$ours" jansson "$other"
	done
fi

# --- gRPC over a unix socket, beside @grpc/grpc-js ------------------------------------------------

node "$here/grpc_server.mjs" "$tmp/js.sock" >"$tmp/js.log" 2>&1 &
wait_for grep -q listening "$tmp/js.log"
# An EchoRequest{payload: 16 bytes} behind its five bytes of frame.
printf '\0\0\0\0\022\012\020sixteen bytes!!!' >"$tmp/echo"
grpc=(-c 4 -m 16 -d "$tmp/echo" -H 'content-type: application/grpc' -H 'te: trailers')
path=/devplane.probe.v1.Probe/Echo
duel ours other -n "$requests" "${grpc[@]}" -B "unix:$tmp/ours.sock" "http://localhost$path" -- \
	-n $((requests / 5)) "${grpc[@]}" -B "unix:$tmp/js.sock" "http://localhost$path"
figure grpc-unary calls/s "$ours" grpc-js "$other"

# --- memory of an idle connection -----------------------------------------------------------------

ulimit -n "$(ulimit -H -n)"
for name in idle-connection-clear idle-connection-tls; do
	"$devplane" probe serve --listen 127.0.0.1:0 --listen-tls 127.0.0.1:0 >"$tmp/idle.log" 2>&1 &
	idle=$!
	wait_for grep -q 'listening on https' "$tmp/idle.log"
	scheme=http
	[ $name = idle-connection-tls ] && scheme=https
	url=$(sed -n "s#^listening on \($scheme://.*\)#\1#p" "$tmp/idle.log")
	bytes=$(NODE_NO_WARNINGS=1 node "$here/idle.mjs" $idle "$url" 500)
	figure $name KiB "$(quotient "$bytes" 1024 %.1f)"
	kill $idle
	wait $idle 2>/dev/null
done
told resident-after-load "$(resident $server) MiB"
