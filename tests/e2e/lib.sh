# Sourced by the *_test.sh: results as TAP, and waiting without fixed sleeps.
#
#	. ./lib.sh
#	background server "$DEVPLANE" probe serve --port 0
#	wait_line "$TMP/server.log" 'listening on'
#	check "the server answers" curl -sf "http://$address/healthz"
#	done_testing

set -uo pipefail

lib_cases=0
lib_failed=0

ok() {
	lib_cases=$((lib_cases + 1))
	echo "ok $lib_cases - $1"
}

# not_ok NAME [DETAIL]: a failed case; the detail's lines follow as comments.
not_ok() {
	lib_cases=$((lib_cases + 1)) lib_failed=$((lib_failed + 1))
	echo "not ok $lib_cases - $1"
	[ -z "${2:-}" ] || printf '%s\n' "$2" | sed 's/^/#   /'
}

skip() {
	lib_cases=$((lib_cases + 1))
	echo "ok $lib_cases - $1 # SKIP $2"
}

# check NAME COMMAND ..: passes when the command succeeds.
check() {
	local name=$1 output status
	shift
	output=$("$@" 2>&1)
	status=$?
	[ $status -eq 0 ] && ok "$name" || not_ok "$name" "status $status of: $*"$'\n'"$output"
}

# same NAME WANT GOT
same() {
	[ "$2" = "$3" ] && ok "$1" || not_ok "$1" "want: $2"$'\n'"got:  $3"
}

# matches NAME REGEX TEXT: an extended regular expression, found anywhere in the text.
matches() {
	[[ $3 =~ $2 ]] && ok "$1" || not_ok "$1" "want a match of: $2"$'\n'"got: $3"
}

# capture COMMAND ..: runs it and sets $status, $out and $err.
capture() {
	"$@" >"$TMP/capture.out" 2>"$TMP/capture.err"
	status=$?
	out=$(cat "$TMP/capture.out")
	err=$(cat "$TMP/capture.err")
}

# until_true SECONDS COMMAND ..: repeats the command until it succeeds.
until_true() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.02
	done
}

# wait_line FILE REGEX [SECONDS]: until a line of the file matches; the test ends when none does.
wait_line() {
	until_true "${3:-20}" grep -qsE -- "$2" "$1" && return
	not_ok "$(basename "$1") should say \"$2\"" "$(tail -n 20 "$1" 2>/dev/null)"
	done_testing
}

lib_port_open() {
	(exec 3<>"/dev/tcp/$1/$2") 2>/dev/null
}

# wait_port HOST PORT [SECONDS]: until something listens there; the test ends when nothing does.
wait_port() {
	until_true "${3:-20}" lib_port_open "$1" "$2" && return
	not_ok "something should listen on $1:$2"
	done_testing
}

# free_port: a TCP port of this host that nobody listens on now, below those the kernel hands out.
free_port() {
	local port
	while :; do
		port=$((20000 + RANDOM % 12000))
		lib_port_open 127.0.0.1 $port || break
	done
	echo $port
}

# background NAME COMMAND ..: runs it with output in $TMP/NAME.log and its pid in $pid.
background() {
	local name=$1
	shift
	"$@" >"$TMP/$name.log" 2>&1 &
	pid=$!
}

# stop PID: asks it to end; sets $status to how it did.
stop() {
	kill -TERM "$1" 2>/dev/null
	wait "$1"
	status=$?
}

# Prints the plan and ends the test.
done_testing() {
	echo "1..$lib_cases"
	[ "$lib_failed" -eq 0 ]
	exit
}

trap 'kill $(jobs -p) 2>/dev/null' EXIT
