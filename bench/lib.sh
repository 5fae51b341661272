# Sourced by bench/*_bench.sh: contests and how their figures are printed.
#
# A figure is one line: ours beside the yardstick or the goal. Rounds of both contestants alternate
# and the best round of each counts, so that what else the machine does touches both alike.
set -uo pipefail

rounds=${ROUNDS:-3}
requests=${REQUESTS:-100000}
devplane=$BUILD/devplane
tmp=$(mktemp -d "${TMPDIR:-/tmp}/devplane-bench.XXXXXX")
trap 'kill $(jobs -p) 2>/dev/null; wait 2>/dev/null; rm -rf "$tmp"' EXIT
failed=0

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

# figure NAME UNIT OURS OTHER-NAME OTHER GOAL: the ratio is ours to the other.
figure() {
	awk -v name="$1" -v unit="$2" -v ours="$3" -v other_name="$4" -v other="$5" -v goal="$6" 'BEGIN {
		ratio = other > 0 ? ours / other : 0
		printf "%-22s ours=%.0f %s %s=%.0f %s ratio=%.2f goal=%s\n", name, ours, unit, other_name, other, unit, ratio, goal
		exit ratio < goal
	}' || failed=$((failed + 1))
}

# at_most NAME UNIT OURS GOAL
at_most() {
	awk -v name="$1" -v unit="$2" -v ours="$3" -v goal="$4" 'BEGIN {
		printf "%-22s ours=%.1f %s goal<=%s %s\n", name, ours, unit, goal, unit
		exit ours > goal
	}' || failed=$((failed + 1))
}

# rate ARGS ..: requests per second of one h2load run; 0 when a request failed.
rate() {
	h2load "$@" 2>&1 | awk '/^finished in/ { rate = $4 } /^requests:/ && $10 != 0 { bad = 1 }
		/^requests:/ && $12 != 0 { bad = 1 } END { print bad ? 0 : rate + 0 }'
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
		best_ours=$(printf '%s\n' "$best_ours" "$(rate "${mine[@]}")" | sort -g | tail -1)
		best_other=$(printf '%s\n' "$best_other" "$(rate "$@")" | sort -g | tail -1)
	done
}

# at_least NAME UNIT OURS GOAL
at_least() {
	awk -v name="$1" -v unit="$2" -v ours="$3" -v goal="$4" 'BEGIN {
		printf "%-22s ours=%.0f %s goal>=%s %s\n", name, ours, unit, goal, unit
		exit ours < goal
	}' || failed=$((failed + 1))
}

# told NAME TEXT: a figure without a goal.
told() {
	printf '%-22s %s\n' "$1" "$2"
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

# done_measuring: the number of figures below their goal is the exit code.
done_measuring() {
	exit $failed
}
