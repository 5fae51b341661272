# Authorization decisions with 1,000 roles and bindings, beside a walk over all of them.
. "$(dirname "$0")/lib.sh"

best_index=0 best_walk=0
for ((round = 0; round < rounds; round++)); do
	read -r _ index _ walk <<<"$("$BUILD/bench/authz_bench")" || exit 1
	((index > best_index)) && best_index=$index
	((walk > best_walk)) && best_walk=$walk
done
figure decisions decisions/s "$best_index" walk "$best_walk"
