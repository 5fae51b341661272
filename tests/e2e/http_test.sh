# HTTP with programs that we did not write: curl, openssl, h2load, nghttp, and bytes by hand.
. ./lib.sh

sock=$TMP/probe.sock
background server "$DEVPLANE" probe serve --listen 127.0.0.1:0 --listen "unix:$sock" \
	--listen-tls 127.0.0.1:0 --ca-out "$TMP/ca.crt" --max-body 100000 --head-timeout 700ms \
	--io-threads 2 --drain-timeout 5s
server=$pid
wait_line "$TMP/server.log" 'listening on https://'
clear=$(sed -n 's#^listening on http://##p' "$TMP/server.log")
secure=$(sed -n 's#^listening on https://##p' "$TMP/server.log")
secure=localhost:${secure##*:}

# fetch ARGS ..: curl's body in $out, its status line and headers in $head.
fetch() {
	: >"$TMP/head"
	curl -sS --max-time 20 -D "$TMP/head" -o "$TMP/out" "$@" 2>"$TMP/curl.err"
	status=$?
	out=$(tr -d '\0' <"$TMP/out")
	head=$(tr -d '\r' <"$TMP/head")
}

# raw: standard input to the clear port as it is, the whole answer to standard output.
raw() {
	exec 3<>"/dev/tcp/${clear%:*}/${clear##*:}" || return 1
	cat >&3
	timeout 20 cat <&3 | tr -d '\r'
	exec 3>&-
}

# --- versions and transports ---------------------------------------------------------

for url in "http://$clear" "https://$secure"; do
	for version in 1.0 1.1 2; do
		flag=--http$version name=HTTP/$version
		[ $version = 2 ] && [ "$url" = "http://$clear" ] && flag=--http2-prior-knowledge
		# For HTTP/1.0 curl offers "http/1.0" by ALPN, which RFC 7301 requires the server to reject.
		alpn=--alpn
		[ $version = 1.0 ] && alpn=--no-alpn
		fetch "$flag" $alpn --cacert "$TMP/ca.crt" "$url/healthz"
		same "curl $flag ${url%%:*}: the body" ok "$out"
		want=$version
		matches "curl $flag ${url%%:*}: the version" "^HTTP/$want 200|^HTTP/1.1 200" "$head"
	done
done
fetch --http2 --cacert "$TMP/ca.crt" "https://$secure/request"
matches "ALPN agrees on HTTP/2" '"version":"HTTP/2".*"tls":true' "$out"
fetch --unix-socket "$sock" "http://localhost/request"
matches "a unix socket serves HTTP/1.1" '"version":"HTTP/1.1".*"tls":false' "$out"
fetch --unix-socket "$sock" --http2-prior-knowledge "http://localhost/healthz"
same "a unix socket serves HTTP/2" ok "$out"
matches "responses carry a date" 'date: [A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} 20[0-9]{2} [0-9:]{8} GMT' "${head,,}"$'\n'"$head"
same "the unix socket is for its owner only" 600 "$(stat -c %a "$sock")"
fetch "https://$secure/healthz"
same "a client that does not trust the CA refuses" 60 "$status"
fetch --tls-max 1.1 --cacert "$TMP/ca.crt" "https://$secure/healthz"
matches "TLS 1.1 is refused" '[1-9]' "$status"

# --- bodies ---------------------------------------------------------------------------

head -c 90000 /dev/urandom >"$TMP/body"
big=()
for i in 1 2 3 4 5 6 7 8; do
	big+=(-H "X-Big-$i: $(head -c 9000 /dev/zero | tr '\0' x)")
done
for flag in --http1.1 --http2-prior-knowledge; do
	curl -sS --max-time 20 $flag --data-binary @"$TMP/body" "http://$clear/echo" >"$TMP/echo"
	check "curl $flag: an echo is the same" cmp "$TMP/body" "$TMP/echo"
	curl -sS --max-time 20 $flag -T - "http://$clear/echo" <"$TMP/body" >"$TMP/echo"
	check "curl $flag: a streamed upload of unknown length" cmp "$TMP/body" "$TMP/echo"
	curl -sS --max-time 60 $flag -T - "http://$clear/pipe" < <(head -c 30000000 /dev/zero) >"$TMP/echo"
	same "curl $flag: 30 MB through /pipe" 30000000 "$(stat -c %s "$TMP/echo")"
	fetch $flag --data-binary @<(head -c 30000000 /dev/zero) "http://$clear/count"
	same "curl $flag: 30 MB counted" '{"bytes":30000000}' "$out"
	same "curl $flag: 50 MB down" 50000000 \
		"$(curl -sS --max-time 60 $flag "http://$clear/bytes?n=50000000" | wc -c)"
	fetch $flag --data-binary @<(head -c 100001 /dev/zero) "http://$clear/echo"
	matches "curl $flag: a body over the limit is 413" ' 413' "$head"
	fetch $flag -I "http://$clear/bytes?n=12345"
	matches "curl $flag: HEAD has the length and no body" '[Cc]ontent-[Ll]ength: 12345' "$head"
	fetch $flag -X DELETE "http://$clear/echo"
	matches "curl $flag: a wrong method is 405" ' 405' "$head"
	fetch $flag "http://$clear/nothing"
	matches "curl $flag: an unknown path is 404" ' 404' "$head"
done
# Over HTTP/2 curl does not send so much; there the unit tests show it.
fetch --http1.1 "${big[@]}" "http://$clear/"
matches "oversized fields are 431" '^HTTP/1.1 431' "$head"
fetch --http1.1 -H 'Expect: 100-continue' --data-binary @"$TMP/body" "http://$clear/echo"
matches "100-continue is granted" 'HTTP/1.1 100 Continue.*HTTP/1.1 200' "${head//$'\n'/ }"
fetch --http1.1 -H 'Expect: 100-continue' -H 'Content-Length: 9999999' --data-binary @"$TMP/body" "http://$clear/echo"
matches "a declared length over the limit is refused before the body is sent" '^HTTP/1.1 413' "$head"
same "gzip comes in pieces and is complete" 5000000 \
	"$(curl -sS --max-time 20 --compressed "http://$clear/bytes?n=5000000" | wc -c)"
fetch --compressed "http://$clear/bytes?n=5000000"
matches "gzip is announced" 'content-encoding: gzip' "${head,,}"
fetch --compressed "http://$clear/bytes?n=1000"
matches "small answers are not compressed" 'content-length: 1000' "${head,,}"

# --- bytes by hand ------------------------------------------------------------------------

got=$(printf 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n' | raw)
same "three pipelined requests get three answers" 3 "$(grep -c 'HTTP/1.1 200' <<<"$got")"
for bad in 'GET / HTTP/1.1\r\n\r\n' 'GET  / HTTP/1.1\r\nHost: a\r\n\r\n' 'NONSENSE\r\n\r\n' \
	'GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx' \
	'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n' \
	'GET / HTTP/1.1\r\nHost: a\r\nBad Name: 1\r\n\r\n' 'POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'; do
	got=$(printf "$bad" | raw)
	matches "malformed: ${bad:0:60}" '^HTTP/1.1 400' "$got"
done
got=$(printf 'GET / HTTP/1.1\r\nHost' | raw)
matches "a head that never ends is 408" '^HTTP/1.1 408' "$got"
got=$(printf 'GET / HTTP/3.0\r\nHost: a\r\n\r\n' | raw)
matches "an unknown version is refused" '^HTTP/1.1 (505|400)' "$got"
got=$(printf 'PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n' | raw | wc -c)
check "a wrong HTTP/2 preface ends the connection" test "$got" -lt 200

# --- load -------------------------------------------------------------------------------------

for url in "http://$clear/" "https://$secure/"; do
	got=$(h2load -n 20000 -c 20 -m 10 "$url" 2>&1)
	matches "h2load ${url%%:*}: 20,000 requests on 20 connections succeed" \
		'20000 succeeded, 0 failed, 0 errored' "$got"
done
got=$(h2load --h1 -n 20000 -c 20 "http://$clear/" 2>&1)
matches "h2load --h1: 20,000 requests on 20 connections succeed" \
	'20000 succeeded, 0 failed, 0 errored' "$got"
got=$(h2load -n 200 -c 4 -m 50 "http://$clear/bytes?n=1000000" 2>&1)
matches "h2load: 200 MB on 200 concurrent streams" '200 succeeded, 0 failed, 0 errored' "$got"
got=$(h2load -n 2000 -c 10 -m 20 -d "$TMP/body" "http://$clear/count" 2>&1)
matches "h2load: 180 MB of uploads" '2000 succeeded, 0 failed, 0 errored' "$got"
fetch "http://$clear/metrics"
matches "the figures count the requests" 'devplane_probe_requests_total [0-9]{5}' "$out"

# --- our own client ----------------------------------------------------------------------------

for p in http1 http2; do
	capture "$DEVPLANE" probe get --protocol $p "http://$clear/healthz"
	same "probe get $p in the clear" ok "$out"
	capture "$DEVPLANE" probe get --protocol $p --certificate-authority "$TMP/ca.crt" "https://$secure/healthz"
	same "probe get $p over TLS" ok "$out"
	capture "$DEVPLANE" probe get --protocol $p --unix-socket "$sock" http://localhost/healthz
	same "probe get $p over a unix socket" ok "$out"
	"$DEVPLANE" probe get --protocol $p --data "$TMP/body" "http://$clear/echo" >"$TMP/echo"
	check "probe get $p: an echo is the same" cmp "$TMP/body" "$TMP/echo"
done
capture "$DEVPLANE" probe get "https://$secure/healthz"
same "an untrusted certificate fails" 1 "$status"
matches "and says why" 'certificate' "$err"
capture "$DEVPLANE" probe get "http://127.0.0.1:$(free_port)/"
matches "nobody there is said with the address" 'cannot connect to 127.0.0.1:[0-9]+: Connection refused' "$err"
capture "$DEVPLANE" probe get "http://$clear/status?code=503"
matches "an error status fails" '503 Service Unavailable' "$err"
capture "$DEVPLANE" probe get --timeout 100ms "http://$clear/sleep?ms=5000"
matches "a time-out fails" 'time limit' "$err"

# --- running out of descriptors ---------------------------------------------------------------

fds=$(ls "/proc/$server/fd" | wc -l)
prlimit --pid "$server" --nofile=$((fds + 5)):$((fds + 5))
for i in $(seq 1 10); do
	exec {held[i]}<>"/dev/tcp/${clear%:*}/${clear##*:}"
done
prlimit --pid "$server" --nofile=1024:1024 2>/dev/null
for i in $(seq 1 10); do
	exec {held[i]}>&-
done
fetch "http://$clear/healthz"
same "after running out of descriptors it serves again" ok "$out"

# --- ending -------------------------------------------------------------------------------------

# requests ADDRESS: how many there have been, this one included.
requests() {
	curl -s "http://$1/metrics" | sed -n 's/^devplane_probe_requests_total //p'
}

# others ADDRESS COUNT: so many have come besides our own questions since $seen.
others() {
	seen=$((seen + 1))
	[ "$(requests "$1")" -ge $((seen + $2)) ]
}

seen=$(requests "$clear")
curl -sS --http2-prior-knowledge "http://$clear/sleep?ms=1500" >"$TMP/slow2" &
slow2=$!
curl -sS --http1.1 "http://$clear/sleep?ms=1500" >"$TMP/slow1" &
slow1=$!
until_true 5 others "$clear" 2
kill -TERM "$server"
until_true 5 sh -c "! curl -s --max-time 1 http://$clear/healthz >/dev/null 2>&1"
wait $slow1 $slow2
same "SIGTERM lets an HTTP/1.1 request end" ok "$(cat "$TMP/slow1")"
same "SIGTERM lets an HTTP/2 request end" ok "$(cat "$TMP/slow2")"
wait "$server"
same "and then it exits with 0" 0 $?
check "the unix socket is gone" test ! -e "$sock"

background impatient "$DEVPLANE" probe serve --listen 127.0.0.1:0
impatient=$pid
wait_line "$TMP/impatient.log" 'listening on'
address=$(sed -n 's#^listening on http://##p' "$TMP/impatient.log")
seen=$(requests "$address")
curl -s "http://$address/sleep?ms=30000" &
until_true 5 others "$address" 1
kill -TERM "$impatient"
wait_line "$TMP/impatient.log" '"stopping"'
kill -TERM "$impatient"
wait "$impatient"
same "a second SIGTERM does not wait for requests" 1 $?
done_testing
