# Data in etcd: creates and status patches on one member and on three, all on this machine; beside kube-apiserver on the same
# etcd where UPSTREAM_BIN has one.
#
# etcd is that of UPSTREAM_BIN, or else the one that is installed. Contestants take turns, and each begins with an empty etcd. The
# store alone, without a server, is measured by etcd_bench.c.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/node_lib.sh"
. "$(dirname "$0")/upstream_lib.sh"
. "$(dirname "$0")/contest_lib.sh"
. "$(dirname "$0")/claims_lib.sh"

program=$(upstream etcd || command -v etcd) || {
	told skipped "etcd is missing: install Debian's etcd-server, or set UPSTREAM_BIN to a folder that has it"
	exit 0
}
[ "$(uname -m)" != aarch64 ] || export ETCD_UNSUPPORTED_ARCH=arm64 # without it etcd refuses to run there

etcd_healthy() {
	curl -sf -m 5 "$1/health" | grep -q true
}

# etcd_start MEMBERS: an empty cluster; sets $etcd_urls and $etcd_pids.
etcd_start() {
	local i clients=() peers=() all=
	for ((i = 0; i < $1; i++)); do
		clients+=("http://127.0.0.1:$(free_port)") peers+=("http://127.0.0.1:$(free_port)")
		all+=${all:+,}m$i=${peers[i]}
	done
	etcd_pids=
	for ((i = 0; i < $1; i++)); do
		"$program" --name m$i --data-dir "$tmp/etcd-$i" --listen-client-urls "${clients[i]}" --advertise-client-urls "${clients[i]}" \
			--listen-peer-urls "${peers[i]}" --initial-advertise-peer-urls "${peers[i]}" --initial-cluster "$all" \
			--log-level warn >"$tmp/etcd-$i.log" 2>&1 &
		etcd_pids+="$! "
	done
	for ((i = 0; i < $1; i++)); do wait_for etcd_healthy "${clients[i]}"; done
	etcd_urls=$(IFS=, && echo "${clients[*]}")
}

etcd_end() {
	kill $etcd_pids
	wait $etcd_pids 2>/dev/null
	etcd_pids=
	rm -rf "$tmp"/etcd-[0-9]
}

# contestant WHO: its server on that etcd; sets $url and $server_pids.
contestant() {
	if [ "$1" = ours ]; then
		rm -rf "$tmp/ours"
		server_flags=(--etcd-servers "$etcd_urls")
		serve ours
		server_pids=$server
	else
		upstream_serve "$tmp/upstream" "$etcd_urls"
		upstream_wait "$up_url/readyz"
		url=$up_url server_pids="${up_pids[*]}"
	fi
}

# loads WHO SUFFIX
loads() {
	prepare
	patches
	keep "$1-status-patches$2" req/s
	creates
	keep "$1-creates$2" req/s
}

for ((round = 0; round < rounds; round++)); do
	for members in 1 3; do
		suffix=-$members-members
		[ $members != 1 ] || suffix=-1-member
		for who in "${both[@]}"; do
			etcd_start $members
			contestant "$who"
			loads "$who" "$suffix"
			end "$who"
			etcd_end
		done
	done
done
beside creates-1-member req/s
beside status-patches-1-member req/s
beside creates-3-members req/s
beside status-patches-3-members req/s
told etcd "$("$program" --version | head -n 1)"
told_load
