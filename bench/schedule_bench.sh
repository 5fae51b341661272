# The scheduler: pods per second without claims and with one claim each, counted by watch, on clusters of several sizes.
#
# PODS of each kind (at least 3,000 for a figure that counts) on NODES nodes with 8 devices each; server and scheduler share
# the machine with the program that makes the pods.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/node_lib.sh"
. "$(dirname "$0")/schedule_lib.sh"

pods=${PODS:-3000}
sizes=${NODES:-100 500 5000}

declare -A plain_at claimed_at idle_at
for nodes in $sizes; do
	scheduled "$nodes" "$pods"
	plain_at[$nodes]=$plain claimed_at[$nodes]=$claimed idle_at[$nodes]=$idle
	told "scheduler-$nodes" "$idle MiB idle with $devices devices on each node, $after MiB after that"
	told "decide-$nodes" "$decision us for a decision, of it snapshot $snapshot us"
	case $nodes in
	100)
		figure pods-plain-100 pods/s "$plain"
		figure pods-claim-100 pods/s "$claimed"
		;;
	5000)
		figure pods-plain-5000 pods/s "$plain" at-100 "${plain_at[100]:-}"
		figure pods-claim-5000 pods/s "$claimed" at-100 "${claimed_at[100]:-}"
		;;
	*) told "pods-$nodes" "$plain pods/s without claims, $claimed pods/s with one each ($many pods)" ;;
	esac
done
if [ -n "${idle_at[100]:-}" ] && [ -n "${idle_at[5000]:-}" ]; then
	told per-1000-nodes "$(awk "BEGIN { printf \"%.1f\", (${idle_at[5000]} - ${idle_at[100]}) / 4.9 }") MiB of the scheduler"
fi
