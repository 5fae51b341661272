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
at_most "claim, 1k devices" us "${best[local-1000]}" 10
at_most "claim, 10k devices" us "${best[local-10000]}" 10
at_most "claim, 100k devices" us "${best[local-100000]}" 10
# Flat: what a hundred times the devices costs more is the processor's caches.
at_most "100k beside 1k" times \
	"$(awk -v a="${best[local-100000]}" -v b="${best[local-1000]}" 'BEGIN { print a / b }')" 2
# Whether a claim that was read once fits on a node; and where nothing is free.
at_most "node, 10k devices" us "${best[node-10000]}" 2
at_most "node, 100k devices" us "${best[node-100000]}" 3
at_most "full node, 100k devices" us "${best[full-100000]}" 3
at_most "claim, network 1k" us "${best[network-1000]}" 50
at_most "claim, network 10k" us "${best[network-10000]}" 250
at_most "1,000 devices" KiB "$(awk -v b="${best[bytes]}" 'BEGIN { print b / 1024 }')" 1000
exit "$failed"
