# Allocation of devices: microseconds of the processor per claim by the size of the cluster, and
# memory of the inventory.
. "$(dirname "$0")/lib.sh"

declare -A best
for ((round = 0; round < rounds; round++)); do
	read -ra figures <<<"$("$BUILD/bench/dra_bench")" || exit 1
	for ((i = 0; i + 1 < ${#figures[@]}; i += 2)); do
		name=${figures[i]} value=${figures[i + 1]}
		best[$name]=$(printf '%s\n' "${best[$name]:-$value}" "$value" | sort -g | head -1)
	done
done
figure claim-1k-devices us "${best[local-1000]}"
figure claim-10k-devices us "${best[local-10000]}"
# Flat: what a hundred times the devices costs more is the processor's caches.
figure claim-100k-devices us "${best[local-100000]}" claim-1k "${best[local-1000]}"
# Whether a claim that was read once fits on a node; and where nothing is free.
figure node-10k-devices us "${best[node-10000]}"
figure node-100k-devices us "${best[node-100000]}"
figure full-node-100k-devices us "${best[full-100000]}"
figure claim-network-1k us "${best[network-1000]}"
figure claim-network-10k us "${best[network-10000]}"
figure memory-1000-devices KiB "$(quotient "${best[bytes]}" 1024)"
