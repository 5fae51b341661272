# Sourced by the api_*_test.sh, after lib.sh: an API server on either backend, and kubectls.

# start_etcd: Debian's etcd on loopback with a folder of its own; sets $etcd_url and $etcd_pid.
start_etcd() {
	local client peer
	client=$(free_port) peer=$(free_port)
	etcd_url=http://127.0.0.1:$client
	# On arm64 etcd starts only if this variable names the architecture.
	ETCD_UNSUPPORTED_ARCH=$(dpkg --print-architecture) etcd --name test --data-dir "$TMP/etcd" \
		--listen-client-urls "$etcd_url" --advertise-client-urls "$etcd_url" \
		--listen-peer-urls "http://127.0.0.1:$peer" >"$TMP/etcd.log" 2>&1 &
	etcd_pid=$!
	wait_port 127.0.0.1 "$client"
}

# start_server BACKEND FOLDER [FLAG ..]: a server that taints no new nodes, as no controller may run; sets $pid, $url and $kubeconfig; ends the test when it does not come up.
start_server() {
	local backend=$1 folder=$2 flags=()
	shift 2
	[ "$backend" = lmdb ] || flags=(--etcd-servers "$etcd_url")
	background "server-$(basename "$folder")" "$DEVPLANE" server --data-dir "$folder" --secure-port "${PORT:-0}" \
		--disable-admission-plugins TaintNodesByCondition "${flags[@]}" "$@"
	wait_line "$TMP/server-$(basename "$folder").log" 'is ready at'
	url=$(sed -n 's/^devplane server is ready at //p' "$TMP/server-$(basename "$folder").log")
	kubeconfig=$folder/admin.kubeconfig
}

# find_kubectls: the one of this Debian and a current one, each once; paths in the array $kubectls.
# The latter comes from a newer suite of the mirror, which may be out of reach.
find_kubectls() {
	local new
	kubectls=()
	[ -z "$(command -v kubectl)" ] || kubectls+=("$(command -v kubectl)")
	if new=$(../../scripts/kubectl "$(dirname "$DEVPLANE")/kubectl" 2>"$TMP/kubectl.err"); then
		[[ " ${kubectls[*]} " == *" $new "* ]] || kubectls+=("$new")
	else
		skip "a current kubectl" "it cannot be fetched: $(tr '\n' ' ' <"$TMP/kubectl.err")"
	fi
}

# minor KUBECTL: 20 of 1.20
minor() {
	"$1" version --client -o json | sed -nE 's/.*"minor": "([0-9]+).*/\1/p' | head -n 1
}
