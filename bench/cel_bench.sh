# Evaluations of device selectors, and what they take from the heap: nothing.
. "$(dirname "$0")/lib.sh"

declare -A best heap
for ((round = 0; round < rounds; round++)); do
	"$BUILD/bench/cel_bench" >"$tmp/cel" || exit 1
	while read -r name rate allocations _; do
		((rate > ${best[$name]:-0})) && best[$name]=$rate
		heap[$name]=$allocations
	done <"$tmp/cel"
done
at_least "selector, two clauses" "evaluations/s" "${best[two-clauses]}" 5000000
at_most "its allocations" "per million" "${heap[two-clauses]}" 0
at_least "selector of a model" "evaluations/s" "${best[model]}" 5000000
at_most "its allocations" "per million" "${heap[model]}" 0
for name in version missing bound; do
	told "selector, $name" "${best[$name]} evaluations/s, ${heap[$name]} allocations per million"
done
exit "$failed"
