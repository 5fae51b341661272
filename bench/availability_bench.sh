# Availability: the time from a claim's change until a watch shows its slice's status, the writes and CPU time for each change,
# and the time of a first run, on clusters of several shapes.
#
# A shape is NAME:SLICES:DEVICES:CLAIMS, devices of each slice. "ga" is the KEP's scale, in slices of one node's devices and
# in large ones; "small" and "large" have two claims on each device, so that their costs compare. CHANGES of claims, RATE a second.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/node_lib.sh"
. "$(dirname "$0")/availability_lib.sh"

shapes=${SHAPES:-ga-125x8:125:8:10000 ga-8x125:8:125:10000 small:125:8:2000 large:12500:8:200000}
changes=${CHANGES:-3000}
rate=${RATE:-100}

declare -A cost
for shape in $shapes; do
	IFS=: read -r name slices devices claims <<<"$shape"
	available "$name" "$slices" "$devices" "$claims" "$changes" "$rate"
	cost[$name]=$work
	told "$name" "$slices slices of $devices devices, $claims claims: status seen after p50=${seen[0]} p95=${seen[1]} p99=${seen[2]} max=${seen[3]} ms"
	told "$name-change" "$writes writes and $work ms of CPU for a change of a claim, $servers ms of the server"
	told "$name-controller" "$idle MiB, $after MiB after $changes changes; ${begun%.*} ms of CPU for the beginning"
	case $name in
	ga-125x8)
		figure ga-125x8-p99 ms "${seen[2]}"
		figure ga-125x8-converge ms "$converged"
		;;
	ga-8x125)
		figure ga-8x125-p99 ms "${seen[2]}"
		figure ga-8x125-converge ms "$converged"
		;;
	*) told "$name-converge" "$converged ms from nothing" ;;
	esac
done
if [ -n "${cost[small]:-}" ] && [ -n "${cost[large]:-}" ]; then
	figure change-cpu-large ms "${cost[large]}" small "${cost[small]}"
fi
