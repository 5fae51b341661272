# More threads: one server of ours with 1, 2, 4 and 8 I/O threads, as far as this machine has CPUs; CORES_THREADS="1 3" is
# another choice. Where UPSTREAM_BIN has kube-apiserver and etcd, the same load goes to them, and they use as many CPUs as they like.
#
# Writes are measured twice: with data on the disk of TMPDIR, and in memory (/dev/shm), where the disk is no limit. The load needs
# CPUs of its own. For each number of threads bench/run prints the rate, the gain over the first number, and the CPUs that the
# server and the load used. The gain from one thread to 8 is judged on machines with 16 CPUs or more only.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/node_lib.sh"
. "$(dirname "$0")/upstream_lib.sh"
. "$(dirname "$0")/contest_lib.sh"
. "$(dirname "$0")/claims_lib.sh"

judged_cpus=16
counts=()
for n in ${CORES_THREADS:-1 2 4 8}; do
	if [ -n "${CORES_THREADS:-}" ] || [ "$n" -le "$cpus" ]; then counts+=("$n"); fi
done
places=(disk)
memory_mib=4096 # that must be free there: seconds of creates
if [ -w /dev/shm ] && [ "$(df --output=avail -BM /dev/shm | tr -dc '0-9\n' | tail -n 1)" -ge $memory_mib ]; then
	shm=$(mktemp -d /dev/shm/devplane-bench.XXXXXX) && places+=(memory)
fi

# place PLACE NAME: a folder for data there.
place() {
	if [ "$1" = memory ]; then
		mkdir -p "$shm/$2"
		echo "$shm/$2"
	else
		echo "$tmp/$2"
	fi
}

# loads KEY PLACE: measures the server at $url. Results are kept as KEY-FIGURE.
loads() {
	local suffix=
	[ "$2" = disk ] || suffix=-in-memory
	prepare
	patches
	keep "$1-status-patches$suffix" req/s
	if [ "$2" = disk ]; then
		gets
		keep "$1-gets" req/s
		watch
		keep "$1-watch-events" events/s
	fi
	creates
	keep "$1-creates$suffix" req/s
}

# ours THREADS PLACE
ours() {
	local name=ours-$1-$2
	rm -rf "${tmp:?}/$name"
	[ "$2" = disk ] || ln -s "$(place memory "$name")" "$tmp/$name"
	server_flags=(--io-threads "$1")
	share=1
	serve "$name"
	server_pids=$server
	loads "ours-$1" "$2"
	kill "$server"
	wait "$server" 2>/dev/null
	rm -rf "$(place "$2" "$name")" "${tmp:?}/$name"
}

# theirs PLACE: as cluster_bench.sh has it.
theirs() {
	share=${UPSTREAM_SHARE:-20}
	upstream_serve "$(place "$1" upstream)"
	upstream_wait "$up_url/readyz"
	url=$up_url server_pids="${up_pids[*]}"
	loads upstream "$1"
	upstream_end
}

for ((round = 0; round < rounds; round++)); do
	for place in "${places[@]}"; do
		for n in "${counts[@]}"; do ours "$n" "$place"; done
		if upstream_has etcd kube-apiserver; then theirs "$place"; fi
	done
done

# --- tables ---------------------------------------------------------------------------------------------------------------

# rows NAME UNIT BY TEXT: what each number of threads gave, and the CPUs that it took.
rows() {
	local n one=${best[ours-${counts[0]}-$1]:-}
	[ -n "$one" ] || return 0
	for n in "${counts[@]}"; do point "$4" "$2" "$3" "$n" "${best[ours-$n-$1]}"; done
	for n in "${counts[@]}"; do point "$4: gain" x "$3" "$n" "$(quotient "${best[ours-$n-$1]}" "$one")"; done
	for n in "${counts[@]}"; do point "$4: server" CPUs "$3" "$n" "${best[ours-$n-$1-server-cpus]}"; done
	for n in "${counts[@]}"; do point "$4: load" CPUs "$3" "$n" "${best[ours-$n-$1-load-cpus]}"; done
}

# judged NAME UNIT: 8 threads beside one, where the machine is large enough for both and the load.
judged() {
	[ "$cpus" -ge $judged_cpus ] || return 0
	[ -z "${best[ours-1-$1]:-}" ] || [ -z "${best[ours-8-$1]:-}" ] ||
		figure "$1" "$2" "${best[ours-8-$1]}" one-thread "${best[ours-1-$1]}"
}

# beside_theirs NAME UNIT: each number of threads beside upstream, as NAME-threads-8.
beside_theirs() {
	local n
	[ -n "${best[upstream-$1]:-}" ] || return 0
	for n in "${counts[@]}"; do figure "$1-threads-$n" "$2" "${best[ours-$n-$1]}" upstream "${best[upstream-$1]}"; done
}

rows creates req/s "I/O threads" creates
rows status-patches req/s "I/O threads" "status patches"
rows gets req/s "I/O threads" gets
rows watch-events events/s "I/O threads" "watch events"
rows creates-in-memory req/s "I/O threads, data in memory" creates
rows status-patches-in-memory req/s "I/O threads, data in memory" "status patches"
for name in creates status-patches gets watch-events creates-in-memory status-patches-in-memory; do
	unit=req/s
	[ $name != watch-events ] || unit=events/s
	judged $name $unit
	beside_theirs $name $unit
done
[ "$cpus" -ge $judged_cpus ] || told threads "this machine has $cpus CPUs: the gain from 1 to 8 threads is judged on $judged_cpus or more"
told data "on disk: $(stat -f -c %T "$tmp"); in memory: $([ -n "$shm" ] && stat -f -c %T "$shm" || echo "not measured, /dev/shm has not $memory_mib MiB")"
told_load
