# Sourced by bench/*_bench.sh: contests, and how their figures are kept.
#
# Rounds of both contestants alternate and the best round of each counts, so that what else the machine does touches
# both alike.
set -uo pipefail

rounds=${ROUNDS:-3}
requests=${REQUESTS:-100000}
devplane=$BUILD/devplane
tmp=$(mktemp -d "${TMPDIR:-/tmp}/devplane-bench.XXXXXX")
chmod 0711 "$tmp" # roles of `devplane up` have users of their own, who pass it
root= # a second folder, for those who need one
shm= # a folder in memory, for those who need one
supervisor= # a process that is no child
cleanup() {
	local running
	running=$(jobs -p)
	# shellcheck disable=SC2086 # lists
	{
		kill $running $supervisor
		kill -CONT $running # some may be stopped
		wait
	} 2>/dev/null
	rm -rf "$tmp" ${root:+"$root"} ${shm:+"$shm"}
}
trap cleanup EXIT
part=$(basename "$0" _bench.sh)

# wait_for COMMAND ..: until it succeeds.
wait_for() {
	local tries
	for ((tries = 0; tries < 500; tries++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.02
	done
	echo "bench: gave up waiting for: $*" >&2
	exit 1
}

# rate ARGS ..: requests per second of one h2load run; 0 when a request failed.
rate() {
	h2load "$@" 2>&1 | awk '/^finished in/ { rate = $4 } /^requests:/ && $10 != 0 { bad = 1 }
		/^requests:/ && $12 != 0 { bad = 1 } END { print bad ? 0 : rate + 0 }'
}

# patch_each URLS BODY: a merge patch for each URL of the file, not measured. @ in the body is the number of the URL, so
# that each claim gets a device of its own: the server gives none to two claims.
patch_each() {
	BODY=${2//\"/\\\"} awk '{
		text = ENVIRON["BODY"]
		gsub(/@/, NR, text)
		printf "%surl = \"%s\"\nrequest = PATCH\ninsecure\noutput = /dev/null\nwrite-out = \"%%{http_code}\\n\"\n", (NR == 1 ? "" : "next\n"), $0
		print "header = \"authorization: Bearer token\"\nheader = \"content-type: application/merge-patch+json\"\ndata-binary = \"" text "\""
	}' "$1" >"$tmp/each"
	[ "$(curl --parallel --parallel-max 50 -K "$tmp/each" 2>/dev/null | grep -c '^200$')" = "$(wc -l <"$1")" ] || {
		echo "bench: a patch was refused: ${2:0:500}" >&2
		exit 1
	}
}

# duel OURS-VAR OTHER-VAR OURS-ARGS -- OTHER-ARGS
duel() {
	local -n best_ours=$1 best_other=$2
	local mine=() round
	shift 2
	while [ "$1" != -- ]; do
		mine+=("$1")
		shift
	done
	shift
	best_ours=0 best_other=0
	for ((round = 0; round < rounds; round++)); do
		better "${!best_ours}" "$(rate "${mine[@]}")"
		better "${!best_other}" "$(rate "$@")"
	done
}

# record KIND WORD ..: a line of results for bench/report; what it means is said there.
record() {
	local IFS=$'\t'
	[ -z "${BENCH_RECORD:-}" ] || printf '%s\n' "$*" >>"$BENCH_RECORD"
}

# say NAME TEXT: progress; also what a part prints when it is run alone.
say() {
	printf '%-40s %s\n' "$part/$1" "$2" >&2
}

# figure NAME UNIT OURS [OTHER-NAME OTHER]: records a measurement, with a value to compare it with if there is one. Its goal
# is in bench/goals under this name.
figure() {
	record figure "$part" "$@"
	say "$1" "$3 $2${4:+; $4 ${5:-} $2}"
}

# told NAME TEXT: records a remark, which has no goal.
told() {
	record told "$part" "$1" "${2//$'\t'/ }"
	say "$1" "$2"
}

# point SERIES UNIT BY SIZE VALUE: one of the sizes at which a cost was measured.
point() {
	record point "$@"
	say "$1" "$5 $2 at $4 $3"
}

# better VAR VALUE, lesser VAR VALUE: keeps the highest, or the lowest, of what came so far.
better() {
	printf -v "$1" %s "$(printf '%s\n' ${!1:-} "$2" | sort -g | tail -n 1)"
}

lesser() {
	printf -v "$1" %s "$(printf '%s\n' ${!1:-} "$2" | sort -g | head -n 1)"
}

# quotient A B [FORMAT]
quotient() {
	awk -v a="$1" -v b="$2" -v format="${3:-%.3f}" 'BEGIN { printf format, b ? a / b : 0 }'
}

# resident PID: MiB.
resident() {
	awk '/^VmRSS/ { printf "%.1f", $2 / 1024 }' "/proc/$1/status"
}

# own PID: MiB without pages of files.
own() {
	awk '/^RssAnon/ { printf "%.1f", $2 / 1024 }' "/proc/$1/status"
}

# resident_kib PID
resident_kib() {
	awk '/^VmRSS/ { print $2 }' "/proc/$1/status"
}

# cpu_ms PID: of all its threads, so far.
cpu_ms() {
	awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) * 1000 / hz }' "/proc/$1/stat"
}

# together PID ..: MiB of these processes; what several of them have mapped of a file counts once.
together() {
	awk '/^[0-9a-f]+-[0-9a-f]+ / { path = $6 } /^Rss:/ { rss = $2 }
		/^Anonymous:/ { own += $2; mapped[FILENAME "\t" path] += rss - $2 }
		END {
			for (key in mapped) {
				path = substr(key, index(key, "\t") + 1)
				if (mapped[key] > most[path])
					most[path] = mapped[key]
			}
			for (path in most)
				own += most[path]
			printf "%.1f", own / 1024
		}' $(printf '/proc/%s/smaps ' "$@")
}

# cpu_us PID: as cpu_ms, but exact, of the threads that there are.
cpu_us() {
	cat /proc/"$1"/task/*/schedstat | awk '{ n += $1 } END { printf "%.0f", n / 1000 }'
}
