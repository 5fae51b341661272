# Sourced by what measures beside upstream's programs, after lib.sh: starts those of the folder $UPSTREAM_BIN on loopback, with
# certificates of their own. Nothing here builds or fetches them; etcd may also be the one that is installed.

# upstream NAME: path of the program; fails if it is not installed.
upstream() {
	[ -n "${UPSTREAM_BIN:-}" ] || return 1
	if [ -x "$UPSTREAM_BIN/$1" ]; then
		echo "$UPSTREAM_BIN/$1"
	elif [ "$1" = etcd ]; then
		command -v etcd
	else
		return 1
	fi
}

# upstream_has NAME ..
upstream_has() {
	local name
	for name in "$@"; do upstream "$name" >/dev/null || return; done
}

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# upstream_certificates FOLDER: keys are P-256 as ours.
upstream_certificates() {
	local ec=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
	mkdir -p "$1"
	openssl req -x509 "${ec[@]}" -days 2 -subj /CN=bench-ca -keyout "$1/ca.key" -out "$1/ca.crt"
	openssl req "${ec[@]}" -subj /CN=kube-apiserver -keyout "$1/server.key" -out "$1/server.csr"
	printf 'subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc\nextendedKeyUsage=serverAuth\n' >"$1/san"
	openssl x509 -req -days 2 -in "$1/server.csr" -CA "$1/ca.crt" -CAkey "$1/ca.key" -CAcreateserial \
		-extfile "$1/san" -out "$1/server.crt"
	openssl ecparam -name prime256v1 -genkey -noout -out "$1/sa.key"
	openssl ec -in "$1/sa.key" -pubout -out "$1/sa.pub"
	echo 'token,bench,1,"system:masters"' >"$1/tokens"
}

# upstream_ok URL: whether it says that it is ready.
upstream_ok() {
	[ "$(curl -sk -m 5 -H 'authorization: Bearer token' "$1")" = ok ]
}

# upstream_wait URL: a minute at most.
upstream_wait() {
	local end=$((SECONDS + 60))
	until upstream_ok "$1"; do
		if [ $SECONDS -ge $end ]; then
			echo "bench: $1 does not get ready" >&2
			tail -n 5 "$up_dir"/*.log >&2
			exit 1
		fi
		sleep 0.05
	done
}

# upstream_etcd: its client's address is $up_etcd_url.
upstream_etcd() {
	local peer
	up_etcd_url=http://127.0.0.1:$(free_port) peer=http://127.0.0.1:$(free_port)
	"$(upstream etcd)" --data-dir "$up_dir/etcd" --listen-client-urls "$up_etcd_url" --advertise-client-urls "$up_etcd_url" \
		--listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer" \
		--log-level warn >"$up_dir/etcd.log" 2>&1 &
	up_pids+=($!)
}

# upstream_serve FOLDER [ETCD-URLS]: etcd and kube-apiserver with data there, or kube-apiserver on an etcd that runs. Sets $up_url, $up_admin, a kubeconfig, $up_pids and, as
# kube-apiserver alone says when it is ready, $up_begun, in microseconds. fsync is on. Nodes stay as they are made: nobody runs on them.
upstream_serve() {
	local port
	up_dir=$1
	[ -e "$up_dir/ca.crt" ] || upstream_certificates "$up_dir" 2>"$up_dir.openssl"
	port=$(free_port)
	up_url=https://127.0.0.1:$port
	up_admin=$up_dir/admin.kubeconfig
	printf '{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"%s","certificate-authority":"%s"}}],"users":[{"name":"u","user":{"token":"token"}}],"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],"current-context":"x"}' \
		"$up_url" "$up_dir/ca.crt" >"$up_admin"
	up_pids=()
	up_begun=${EPOCHREALTIME/./}
	up_etcd_url=${2:-}
	[ -n "$up_etcd_url" ] || upstream_etcd
	"$(upstream kube-apiserver)" --etcd-servers "$up_etcd_url" --bind-address 127.0.0.1 --advertise-address 127.0.0.1 \
		--secure-port "$port" --tls-cert-file "$up_dir/server.crt" --tls-private-key-file "$up_dir/server.key" \
		--client-ca-file "$up_dir/ca.crt" --token-auth-file "$up_dir/tokens" --authorization-mode RBAC \
		--service-cluster-ip-range 10.96.0.0/16 --service-account-key-file "$up_dir/sa.pub" \
		--service-account-signing-key-file "$up_dir/sa.key" --service-account-issuer https://kubernetes.default.svc \
		--endpoint-reconciler-type none --disable-admission-plugins ServiceAccount,TaintNodesByCondition \
		>"$up_dir/kube-apiserver.log" 2>&1 &
	up_pids+=($!)
}

# upstream_schedule: kube-scheduler, which may ask as often as it likes; its pid is $up_scheduler, its address $up_scheduler_url.
upstream_schedule() {
	local port
	port=$(free_port)
	printf 'apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nleaderElection: {leaderElect: false}\nclientConnection: {kubeconfig: "%s", qps: 5000, burst: 10000}\n' \
		"$up_admin" >"$up_dir/scheduler.yaml"
	"$(upstream kube-scheduler)" --config "$up_dir/scheduler.yaml" --bind-address 127.0.0.1 --secure-port "$port" \
		>"$up_dir/kube-scheduler.log" 2>&1 &
	up_scheduler=$!
	up_pids+=("$up_scheduler")
	up_scheduler_url=https://127.0.0.1:$port
}

# upstream_control CONTROLLERS: kube-controller-manager, which may ask as often as it likes; its address is $up_control_url.
upstream_control() {
	local port
	port=$(free_port)
	"$(upstream kube-controller-manager)" --kubeconfig "$up_admin" --leader-elect=false --controllers "$1" \
		--kube-api-qps 5000 --kube-api-burst 10000 --bind-address 127.0.0.1 --secure-port "$port" \
		--service-account-private-key-file "$up_dir/sa.key" --root-ca-file "$up_dir/ca.crt" \
		>"$up_dir/kube-controller-manager.log" 2>&1 &
	up_pids+=($!)
	up_control_url=https://127.0.0.1:$port
}

# upstream_end: the last that was started goes first.
upstream_end() {
	local i
	for ((i = ${#up_pids[@]} - 1; i >= 0; i--)); do
		kill "${up_pids[i]}"
		wait "${up_pids[i]}" 2>/dev/null
	done
	rm -rf "$up_dir/etcd"
}
