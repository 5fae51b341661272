# The machinery of bench/: goals, the table, the page's blocks and the plots. Nothing is measured here.
. ./lib.sh
bench=$(cd ../../bench && pwd)
docs=$(cd ../../docs && pwd)

# report ARG ..: with the goals of this test.
report() {
	BENCH_GOALS=$TMP/goals "$bench/report" "$@"
}

# --- goals ----------------------------------------------------------------------------------------

check "each goal is measured by its part" "$bench/report" check
for file in "$bench"/*_bench.sh "$bench"/*_lib.sh "$bench/lib.sh" "$bench/run"; do
	bash -n "$file" || not_ok "$(basename "$file") is no bash"
done
ok "all parts can be read"

# refused NAME WANT ROW: a table of goals with this row is refused with this sentence.
refused() {
	printf '%s\n' "# goals" "$3" >"$TMP/goals"
	capture report check
	same "$1: the status tells" 1 "$status"
	matches "$1" "$2" "$out$err"
}
refused "a goal without a part is refused" 'goals:2: a goal is PART/FIGURE' 'gets >= 1 req/s why'
refused "a goal that compares otherwise is refused" 'goals:2: a goal is PART/FIGURE' 'api/gets == 1 req/s why'
refused "a goal without a reason is refused" 'goals:2: a goal is PART/FIGURE' 'api/gets >= 1 req/s'
refused "a goal that is no number is refused" 'goals:2: many is no number' 'api/gets >= many req/s why'
refused "a goal twice is refused" 'goals:3: api/gets has this goal twice' $'api/gets >= 1 req/s why\napi/gets >= 2 req/s why'
refused "a goal of a part that is not there is named" 'api2/gets: there is no api2_bench.sh' 'api2/gets >= 1 req/s why'
refused "a goal that nothing measures is named" 'api/gets-2: api_bench.sh measures nothing of that name' 'api/gets-2 >= 1 req/s why'
refused "a word in a script is no measurement" 'api/read: api_bench.sh measures nothing of that name' 'api/read >= 1 req/s why'

# --- what parts record ------------------------------------------------------------------------------

# A part of the test's own, with the functions of all parts.
cat >"$TMP/sample_bench.sh" <<END
BUILD=$TMP
. "$bench/lib.sh"
better most 3
better most 10
better most 9
lesser least 10
lesser least 9
figure rate req/s "\$most" other 4
figure small ms "\$least"
figure low req/s 5 upstream 0.5
figure free MiB 1234567
told words "some text"
point cost us things 10 2
point cost us things 1000 3
point other us things 10 50
point cost x people 10 7
END
BENCH_RECORD=$TMP/record bash "$TMP/sample_bench.sh" 2>"$TMP/progress"
matches "progress is told as it is made" 'sample/rate +10 req/s; other 4 req/s' "$(cat "$TMP/progress")"
printf 'part\tsample\t7\t0\n' >>"$TMP/record"
cat >"$TMP/goals" <<'END'
sample/rate   >=  8     req/s      because
sample/rate   >=  3     xother     because
sample/small  <=  8     ms         because
sample/low    >=  10    xupstream  because
sample/low    >=  10    xone-thread  because
sample/never  >=  1     req/s      because
elsewhere/x   >=  1     req/s      of a part that did not run
END
report collect "$TMP/record" date=2026-01-01 "machine=1 core" quick=0 "upstream=kube-apiserver 1.2.3" >"$TMP/results.json"
check "results are JSON" python3 -m json.tool "$TMP/results.json"

same "the table has every goal of the parts that ran" "1 core, 2026-01-01

TOLD          RESULT
sample/free   1,234,567 MiB
sample/words  some text

THINGS     10  1,000
cost, us   2   3
other, us  50

PEOPLE   10
cost, x  7

FIGURE        GOAL              RESULT         VERDICT
sample/rate   >= 8 req/s        10 req/s       met
sample/rate   >= 3 x other      2.5 x other    missed
sample/small  <= 8 ms           9 ms           missed
sample/low    >= 10 x upstream  10 x upstream  met
sample/never  >= 1 req/s        -              not measured

beside upstream (kube-apiserver 1.2.3)

FIGURE  OURS     UPSTREAM   RATIO  GOAL
low     5 req/s  0.5 req/s  10     >= 10

goals: 2 met, 2 missed, 1 not measured" "$(report table "$TMP/results.json")"

sed '/upstream/d' "$TMP/record" >"$TMP/alone"
printf 'part\tlame\t1\t3\n' >>"$TMP/alone"
report collect "$TMP/alone" date=2026-01-01 >"$TMP/alone.json"
capture report table "$TMP/alone.json"
same "without upstream its goals are not asked for, and a broken part is named" \
	"goals: 1 met, 2 missed, 1 not measured; parts that broke: lame" "$(tail -n 1 <<<"$out")"

# --- plots ------------------------------------------------------------------------------------------

same "a plot for each thing and unit" things-work.svg "$("$bench/plot.py" "$TMP/results.json" "$TMP/plots")"
svg=$(cat "$TMP/plots/things-work.svg")
check "it is well-formed" python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' "$TMP/plots/things-work.svg"
matches "it has its series as text" '>cost</text>' "$svg"
matches "it says its values" '<desc>cost: 2 at 10, 3 at 1000; other: 50 at 10</desc>' "$svg"
matches "it has colours for the dark" 'prefers-color-scheme: dark' "$svg"

# --- the page ---------------------------------------------------------------------------------------

# The page is what its results say: nobody typed a number.
mkdir -p "$TMP/top/bench" "$TMP/top/docs/performance"
cp "$bench/report" "$bench/plot.py" "$bench/goals" "$TMP/top/bench"
cp "$docs/performance.md" "$TMP/top/docs"
cp "$docs/performance/results.json" "$TMP/top/docs/performance"
check "the page can be made" "$TMP/top/bench/report" docs
check "its plots are made from its results" diff -r "$docs/performance" "$TMP/top/docs/performance"
check "so are its tables: bench/report docs makes them anew" diff "$docs/performance.md" "$TMP/top/docs/performance.md"
for picture in $(grep -oE 'performance/[a-z-]+\.svg' "$docs/performance.md"); do
	[ -f "$docs/$picture" ] || not_ok "$picture is missing"
done

printf 'figure\tapi\tready\tms\t3\npart\tapi\t9\t0\n' >"$TMP/one"
report collect "$TMP/one" date=2026-02-02 "version=devplane x" >"$TMP/one.json"
check "a part can be measured again by itself" "$TMP/top/bench/report" docs "$TMP/one.json"
page=$(cat "$TMP/top/docs/performance.md")
matches "the page says of which run it is" '; part api by itself: devplane x, 2026-02-02\. Goals' "$page"
matches "its figures are the new ones" 'api/ready \| <= 50 ms \| 3 ms \| met' "$page"
matches "those of the others stay" 'net/http2-clear \| >= 1 x nghttpd \| [0-9]' "$page"

printf 'point\tcreates\treq/s\tI/O threads\t1\t5\npart\tcores\t9\t0\n' >"$TMP/two"
report collect "$TMP/two" date=2026-02-03 "version=devplane x" "machine=16 cores" "upstream=etcd 9.9.9" >"$TMP/two.json"
check "a part with growth of its own can be measured by itself" "$TMP/top/bench/report" docs "$TMP/two.json"
page=$(cat "$TMP/top/docs/performance.md")
matches "another machine and other programs are named" '; part cores by itself: devplane x, 2026-02-03, on 16 cores, beside etcd 9\.9\.9\.' "$page"
matches "the page has its table" '\| I/O threads \| 1 \|' "$page"
matches "tables of other parts stay" '\| objects \| 1,000 \|' "$page"

# --- bench/run --------------------------------------------------------------------------------------

mkdir "$TMP/bin"
ln -s "$DEVPLANE" "$TMP/bin/devplane"
capture "$bench/run" "$TMP/bin" nonsense
same "a part that is not there is an error" 2 "$status"
matches "which names those that are" 'no part nonsense; there are: addon api apply authz ' "$err"
capture "$bench/run" "$TMP"
matches "a folder without a build is an error that says what to do" 'has no devplane: make bench builds one' "$err"
capture env UPSTREAM_BIN="$TMP/none" "$bench/run" "$TMP/bin" authz
matches "so is a folder of upstream's that is not there" 'UPSTREAM_BIN is no folder' "$err"

# Everything but etcd.
mkdir "$TMP/tools"
ln -s /usr/bin/* "$TMP/tools"
rm -f "$TMP/tools/etcd"
capture env -u UPSTREAM_BIN PATH="$TMP/tools" BUILD="$TMP/bin" bash "$bench/etcd_bench.sh"
same "the part etcd is skipped where etcd is missing" 0 "$status"
matches "and says what to install" "etcd is missing: install Debian's etcd-server" "$err"
done_testing
