# --io-threads: how many threads serve connections, with the flag and by the machine's CPUs.
. ./lib.sh

# io_threads PID: the first loop runs on the main thread, the others have names.
io_threads() {
	local named
	named=$(cat /proc/"$1"/task/*/comm | grep -c '^io-')
	echo $((named + 1))
}

# start NAME COMMAND ..: an empty server, with this before its name; sets $pid.
start() {
	local name=$1
	shift
	background "$name" "$@" --data-dir "$TMP/$name" --secure-port 0
	wait_line "$TMP/$name.log" 'is ready at'
}

# counted CASE WANT NAME COMMAND ..
counted() {
	local label=$1 want=$2
	[ "$want" -lt 4 ] || want=$((want + 1)) # that orders all writes
	shift 2
	start "$@"
	same "$label" "$want" "$(io_threads "$pid")"
	stop "$pid"
	same "$label: it stops cleanly" 0 "$status"
}

cpus=$(nproc) usual=$(nproc)
[ "$cpus" -gt 2 ] || usual=1
[ "$cpus" -lt 8 ] || usual=8
one=$(taskset -pc $$ | sed -E 's/.*: *([0-9]+).*/\1/')

counted "one thread, by the flag" 1 flag-1 "$DEVPLANE" server --io-threads 1
counted "three threads, by the flag" 3 flag-3 "$DEVPLANE" server --io-threads 3
counted "the default is by all CPUs of this machine" "$usual" default "$DEVPLANE" server
counted "0 is the same" "$usual" zero "$DEVPLANE" server --io-threads 0
counted "the default on one CPU is one thread" 1 pinned taskset -c "$one" "$DEVPLANE" server
counted "the flag is not bounded by the CPUs" 5 forced taskset -c "$one" "$DEVPLANE" server --io-threads 5

# From four threads on the first loop has no connections. All requests are answered.
start spared "$DEVPLANE" server --io-threads 4 --v 2 --log-format text
url=$(sed -n 's/^devplane server is ready at //p' "$TMP/spared.log")
matches "the log has the number of threads" 'starting ioThreads=4' "$(cat "$TMP/spared.log")"
for ((i = 0; i < 8; i++)); do curl -sk --max-time 10 "$url/readyz"; done >"$TMP/ready"
same "every connection is served" okokokokokokokok "$(cat "$TMP/ready")"
stop "$pid"
same "it stops cleanly" 0 "$status"

background probe "$DEVPLANE" probe serve --listen 127.0.0.1:0
wait_line "$TMP/probe.log" 'listening on'
same "probe serve has the same default" "$usual" "$(io_threads "$pid")"
stop "$pid"

# refused CASE WANT COMMAND ..: bad usage.
refused() {
	local label=$1 want=$2
	shift 2
	capture "$DEVPLANE" "$@"
	same "$label is bad usage" 2 "$status"
	matches "$label: the error names the flag and the reason" "$want" "$err"
}
refused "more than 64 threads" '--io-threads: 65 is not between 0 and 64' server --io-threads 65
refused "a negative number" '--io-threads: -1 is not between 0 and 64' server --io-threads=-1
refused "no number" '--io-threads: "x" is not an integer' server --io-threads x
refused "0 for a role with one loop" '--io-threads: 0 is not between 1 and 64' controller --io-threads 0
done_testing
