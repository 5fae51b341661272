# The scripts that guard the sources: each rule of lint must be able to fail, and counting must not
# lose a crash.
. ./lib.sh
top=$(cd ../.. && pwd)

# lint NAME MESSAGE FILE: the rules of lint.awk on the C text of standard input, as if it were FILE.
lint() {
	local name=$1 want=$2 file=$3 got
	mkdir -p "$TMP/tree/$(dirname "$file")"
	cat >"$TMP/tree/$file"
	got=$(cd "$TMP/tree" && awk -f "$top/scripts/lint.awk" "$top/scripts/layers" "$file")
	same "lint: $name" "${want:+$file:$want}" "$got"
}
repeat() {
	local i
	for ((i = 0; i < $1; i++)); do echo "$2"; done
}
head='/* What it is for. */'

lint "good code has no findings" "" src/net/good.c <<END
$head
#include "net/good.h"

#include <string.h>

#include "base/core/str.h"

/* Calls strcpy() in a comment, which is no call. */
static int good(void)
{
	return strlen("strcpy(a, b) in a string, // and no comment") > 0;
}
END
lint "a layer may not include a higher one" \
	'2: src/base may not include net/loop/conn.h; see scripts/layers' src/base/x.c <<END
$head
#include "net/loop/conn.h"
END
lint "leaves may not include each other" \
	'2: src/scheduler may not include node/pods.h; see scripts/layers' src/scheduler/x.c <<END
$head
#include "node/pods.h"
END
lint "the command table may include a leaf's commands" "" src/cli/commands/commands.c <<END
$head
#include "node/node_command.h"
END
lint "an unknown layer is pointed out" '2: src/stray is not in scripts/layers; add it' src/stray/x.c <<END
$head
#include "base/core/str.h"
END
lint "a library has one owner" \
	'2: uv.h may be included by src/net/loop/*_uv.c src/net/loop/*_uv.h src/net/loop/loop*.c only; see scripts/layers' \
	src/grpc/x.c <<END
$head
#include <uv.h>
END
lint "the owner may include its library" "" src/net/loop/conn_uv.c <<END
$head
#include <uv.h>
END
lint "a banned function is found" '4: banned function; see src/base/core/banned.h' src/base/x.c <<END
$head
static void f(char *p)
{
	strcpy(p, "x");
}
END
lint "a name that only contains a banned one is not" "" src/base/x.c <<END
$head
static void f(struct ops *p)
{
	my_strcpy(p->system(1));
}
END
lint "a function may have 70 lines" "" src/base/x.c < <(
	echo "$head" && echo "void f(void)" && echo "{" && repeat 70 "	g();" && echo "}")
lint "a function may not have 71" '75: function of 71 lines; split what exceeds 70' src/base/x.c < <(
	echo "$head" && echo "void f(void)" && echo "{" && repeat 71 "	g();" && echo "}")
lint "a test's list of tests may be long" "" src/base/x_test.c < <(
	echo "int main(void)" && echo "{" && repeat 90 "	assert_true(1);" && echo "}")
lint "a file may not have more than 800 lines" '801: 801 lines; split what exceeds 800' src/base/x.c < <(
	echo "$head" && repeat 800 "int a;")
lint "tabs count eight columns" '2: wider than 100 columns' src/base/x.c < <(
	echo "$head" && printf '\t%093d\n' 1)
lint "100 columns are not too wide" "" src/base/x.c < <(echo "$head" && printf '\t%092d\n' 1)
lint "a file must say what it is for" '1: must begin with a comment that says what it is for' \
	src/base/x.h <<<'int a;'
lint "a test must assert" '1: asserts nothing; a test must be able to fail' src/base/x_test.c <<<'int a;'
lint "a test must not sleep" '4: a test that sleeps; move the clock or wait for the event' \
	src/base/x_test.c <<END
static void f(void)
{
	assert_true(1);
	usleep(10);
}
END
lint "a library must not exit" '4: a library that exits; return an error' src/net/x.c <<END
$head
static void f(void)
{
	exit(1);
}
END
lint "no conditional code inside functions" '4: #if inside a function; give each case its own function' \
	src/net/x.c <<END
$head
static void f(void)
{
#ifdef X
}
END
lint "no typedef of structs" '2: typedef of a struct or pointer; name the struct' src/net/x.h <<END
$head
typedef struct x x_t;
END

# The graph of inner folders, on a layer that has two.
tree=$TMP/graph
mkdir -p "$tree/scripts" "$tree/src/net/low" "$tree/src/net/high"
cp "$top/scripts/graph" "$tree/scripts/"
touch "$tree/src/net/low/a.c" "$tree/src/net/low/a.h"
echo '#include "net/low/a.h"' >"$tree/src/net/high/b.c"
echo '#include "net/high/b.h"' >"$tree/src/net/low/a_test.c"
printf 'part net/low\npart net/high low\n' >"$tree/scripts/layers"
echo 'net: low < high' >"$tree/ARCHITECTURE.md"
graph() {
	same "graph: $1" "$2" "$("$tree/scripts/graph" ${3:-} 2>&1)"
}
graph "folders are printed from the bottom to the top" "net: low < high"
graph "what the rules allow has no findings, and tests are free" "" --check
echo >"$tree/ARCHITECTURE.md"
graph "the drawing must be true" "ARCHITECTURE.md:1: the drawing of folders lacks the line: net: low < high" --check
echo 'net: low < high' >"$tree/ARCHITECTURE.md"
printf 'part net/low\npart net/high\n' >"$tree/scripts/layers"
graph "an include must be allowed" \
	"src/net/high/b.c:1: src/net/high may not include net/low; see scripts/layers" --check
printf 'part net/low high\npart net/high low\n' >"$tree/scripts/layers"
graph "an allowance must be used" "scripts/layers:1: net/low does not use high; take it off the line" --check
echo '#include "net/high/b.h"' >"$tree/src/net/low/a.c"
graph "folders may not include each other" "src/net:1: its folders include each other in a cycle" --check
rm "$tree/src/net/low/a.c"
touch "$tree"/src/net/low/{1..46}.c
matches "graph: a folder may not have too many files" "src/net/low:1: 48 files" "$("$tree/scripts/graph" --check)"

# count NAME WANT: the last line of scripts/count on a meson log from standard input.
count() {
	local name=$1 want=$2
	cat >"$TMP/log.json"
	same "count: $name" "$want" "$("$top/scripts/count" unit="$TMP/log.json" | tail -n 1)"
}
count "single cases are counted" "2 passed, 1 failed" \
	<<<'{"name":"a","result":"FAIL","stdout":"1..3\nok 1 - x\nok 2 - y\nnot ok 3 - z\n"}'
count "a crash is a failure" "1 passed, 1 failed" <<<'{"name":"a","result":"ERROR","stdout":"ok 1 - x\n"}'
count "a time-out without output is a failure" "0 passed, 1 failed" <<<'{"name":"a","result":"TIMEOUT"}'
count "a program without TAP is one case" "1 passed, 0 failed" \
	<<<'{"name":"a","result":"OK","stdout":"12 inputs\n"}'
count "skipped cases are neither" "1 passed, 0 failed" \
	<<<'{"name":"a","result":"OK","stdout":"ok 1 - x\nok 2 - y # SKIP no fish\n"}'
count "cases skipped in cmocka's way are neither" "1 passed, 0 failed" \
	<<<'{"name":"a","result":"FAIL","returncode":0,"stdout":"ok 1 - x\nnot ok 2 # SKIP y\n"}'
count "a crash after a skipped case is a failure" "0 passed, 1 failed" \
	<<<'{"name":"a","result":"FAIL","returncode":-11,"stdout":"not ok 1 # SKIP y\n"}'
count "no results at all is a failure" "0 passed, 1 failed" <<<''

# The runner itself, on tests that misbehave.
mkdir "$TMP/suite"
cp run lib.sh "$TMP/suite/"
run_suite() {
	rm -f "$TMP"/suite/*_test.sh
	cat >"$TMP/suite/some_test.sh"
	capture "$TMP/suite/run" /bin/true
}
run_suite <<'END'
echo "ok 1 - fine"
END
same "run: passes what passes" "0 ok 1 - some: fine" "$status $(grep '^ok' <<<"$out")"
run_suite <<'END'
echo "ok 1 - fine"
echo "not ok 2 - bad"
END
same "run: fails what fails" "1 not ok 2 - some: bad" "$status $(grep '^not' <<<"$out")"
run_suite <<'END'
echo "ok 1 - fine"
kill -SEGV $$
END
same "run: a crash is a failure" "1 not ok 2 - some ended with status 139" "$status $(grep '^not' <<<"$out")"
run_suite </dev/null
same "run: silence is a failure" "1 not ok 1 - some printed no result" "$status $(grep '^not' <<<"$out")"
E2E_SECONDS=1 run_suite <<'END'
echo "ok 1 - fine"
read -r _ < <(sleep 100)
END
same "run: a hanging test is ended" "1 not ok 2 - some took longer than 1 s" "$status $(grep '^not' <<<"$out")"
export SUITE_LEFT=$TMP
run_suite <<'END'
sleep 1000 & echo $! >"$TMP/../left"
trap "" TERM
(trap "" TERM; echo $BASHPID >"$TMP/../stubborn"; while :; do sleep 1000; done) &
until [ -s "$TMP/../stubborn" ]; do sleep 0.01; done
cp "$TMP/../left" "$TMP/../stubborn" "$SUITE_LEFT"
echo "ok 1 - fine"
END
same "run: the case of a test that leaves processes passes" "0" "$status"
# A dead process that nobody has waited for yet does not count.
nothing_left() {
	local pid
	for pid in $(cat "$TMP/left" "$TMP/stubborn"); do
		! grep -qs '^State:.[^ZX]' "/proc/$pid/status" || return
	done
}
check "run: nothing is left running" until_true 5 nothing_left

# sim SEEDS: scripts/sim in a tree of its own, on a program that notes its seed in "ran". Seed 2 fails, 3 crashes, 5
# interrupts the first run.
mkdir -p "$TMP/sim/scripts" "$TMP/sim/build/tests/sim"
cp "$top/scripts/sim" "$TMP/sim/scripts"
cat >"$TMP/sim/build/tests/sim/sim_cluster_test" <<'END'
#!/bin/bash
echo "$SIM_SEED" >>ran
case $SIM_SEED in
2) echo "seed 2, step 1, 5 ms: a device is lost" && exit 1 ;;
3) kill -SEGV $$ ;;
5) [ -e interrupted ] || { touch interrupted && kill -INT $PPID && exec sleep 1000; } ;;
esac
END
chmod +x "$TMP/sim/build/tests/sim/sim_cluster_test"
sim() {
	rm -f "$TMP/sim/ran"
	capture env SIM_JOBS=1 "$@"
	ran=$(sort -n "$TMP/sim/ran" | xargs)
}
sim SIM_SEED=1 "$TMP/sim/scripts/sim" build 6 sim.tap
same "sim: failures and crashes stop no other seed, an interrupt stops all" "130 1 2 3 4 5" "$status $ran"
sim "$TMP/sim/scripts/sim" build 6 sim.tap
same "sim: the next run begins where the last one ended" "1 2 3 5 6" "$status $ran"
same "sim: failing seeds are listed with their first failure and a command" \
"seed 2: step 1, 5 ms: a device is lost
    again: SIM_SEED=2 SIM_LATE_SEED=2 build/tests/sim/sim_cluster_test

seed 3: ended by SIGSEGV
    again: SIM_SEED=3 SIM_LATE_SEED=3 build/tests/sim/sim_cluster_test

seeds from 1: 4 passed, 2 failed" "$(tail -n 7 <<<"$out")"
same "sim: each failing seed is a failed case" "not ok - seed 2: step 1, 5 ms: a device is lost
not ok - seed 3: ended by SIGSEGV
ok - 4 seeds from 1" "$(cat "$TMP/sim/sim.tap")"
echo >>"$TMP/sim/build/tests/sim/sim_cluster_test"
sim SIM_SEED=6 "$TMP/sim/scripts/sim" build 2
same "sim: another build runs all seeds again" "0 6 7" "$status $ran"

# monitoring NAME WANT EDIT [FILE]: the findings in our rules when sed has changed FILE so.
monitoring() {
	rm -rf "$TMP/rules" && cp -r "$top/monitoring" "$TMP/rules"
	sed -i "$3" "$TMP/rules/${4:-availability.rules.yaml}"
	capture "$top/scripts/monitoring" "$TMP/rules"
	matches "monitoring: $1" "$2" "$status ${out//"$TMP/rules/"/}"
}
if command -v promtool >/dev/null; then
	monitoring "our rules have no findings" '^0 $' ''
	monitoring "a rule that Prometheus does not take is found" '^1 availability.rules.yaml:1: .*not a valid duration' 's/for: 15m/for: 15x/'
	monitoring "an alert that does not come is found" '^1 availability.test.yaml:1: .*DevplaneSliceStatusBacklog' 's/> 1000$/> 2000/'
	monitoring "a dashboard that its script does not make is found" '^1 dashboard.json:1: run ' 's/Unhealthy/Ill/' dashboard.json
	monitoring "an alert without a test is found" '^1 availability.rules.yaml:[0-9]+: no test names Untested' 's/alert: DevplanePoolInvalid/alert: Untested/'
else
	skip "monitoring: alerts" "there is no promtool here"
fi

check "deps: nothing is said when nothing is missing" test -z "$("$top/scripts/deps" build 2>&1)"
capture "$top/scripts/deps" nonsense
same "deps: an unknown group is refused" '2 scripts/deps: there is no group "nonsense"' "$status $err"
same "deps: the packages of a group can be listed" "debian-archive-keyring gcc-aarch64-linux-gnu gcc-x86-64-linux-gnu" \
	"$("$top/scripts/deps" --list image | xargs)"

done_testing
