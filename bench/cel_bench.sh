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
figure selector-two-clauses evaluations/s "${best[two-clauses]}"
figure selector-two-clauses-heap per-million "${heap[two-clauses]}"
figure selector-model evaluations/s "${best[model]}"
figure selector-model-heap per-million "${heap[model]}"
for name in version missing bound; do
	told "selector-$name" "${best[$name]} evaluations/s, ${heap[$name]} allocations per million"
done
