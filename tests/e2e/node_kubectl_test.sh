#!/usr/bin/env bash
# kubectl logs, exec, cp, attach and port-forward, through our server and node agent, in real containers.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh
# shellcheck source-path=SCRIPTDIR
. ./containerd_lib.sh

if ! containerd_possible; then
	skip "containers" "only root can run them"
	done_testing
fi

folder=$(mktemp -d /tmp/dp-kc-XXXXXX)
finish() {
	# shellcheck disable=SC2046
	kill $(jobs -p) 2>/dev/null
	"$DEVPLANE" down --data-dir "$folder/up" >/dev/null 2>&1
	stop_containerd "$folder/ctd"
	rm -rf "$folder"
}
trap finish EXIT

if ! start_containerd "$folder/ctd" 2>"$TMP/containerd.err"; then
	not_ok "containerd runs here" "$(cat "$TMP/containerd.err")"
	done_testing
fi
check "a cluster with containers" "$DEVPLANE" up --detach --data-dir "$folder/up" --secure-port 0 \
	--runtime cri --container-runtime-endpoint "$containerd_socket"
export KUBECONFIG=$folder/up/admin.kubeconfig
node=$(kubectl get nodes -o 'jsonpath={.items[0].metadata.name}')

# pod NAME RESTART CONTAINERS: containers as JSON
pod() {
	kubectl apply -f - >/dev/null <<-END
		{ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "$1" },
		  "spec": { "nodeName": "$node", "automountServiceAccountToken": false, "terminationGracePeriodSeconds": 0,
		            "restartPolicy": "$2", "containers": [$3] } }
	END
}

# container NAME SCRIPT [MORE]
container() {
	printf '{ "name": "%s", "image": "devplane.test/busybox:1", "imagePullPolicy": "IfNotPresent", "command": ["sh", "-c", "%s"]%s }' "$1" "$2" "${3:-}"
}

kubectl create serviceaccount default >/dev/null 2>&1
# shellcheck disable=SC2016
pod two Never "$(container say 'echo one; echo two; until [ -e /tmp/end ]; do sleep 0.1; done; echo end'), \
	$(container web 'mkdir /www; echo hello >/www/index.html; echo serving; exec httpd -f -p 8080 -h /www'), \
	$(container talk 'while read -r line; do echo heard $line; done' ', "stdin": true')"
pod again Always "$(container main 'echo run; exit 1')"
check "its pods run" kubectl wait --for=condition=Ready pod/two --timeout=60s

said() {
	[ "$(kubectl logs two --all-containers | wc -l)" -ge 3 ]
}
until_true 20 said
same "logs" $'one\ntwo' "$(kubectl logs two -c say)"
same "logs: the last line" two "$(kubectl logs two -c say --tail=1)"
matches "logs with times" $'^20[0-9T:.-]+[^ ]* one\n20' "$(kubectl logs two -c say --timestamps)"
same "logs of all containers" $'one\nserving\ntwo' "$(kubectl logs two --all-containers | sort)"

capture kubectl exec two -c say -- sh -c 'echo out; echo err >&2; exit 7'
same "exec tells the exit code" 7 "$status"
same "exec: output" out "$out"
matches "exec: errors" '^err' "$err"
head -c 300000 /dev/urandom >"$TMP/noise"
same "exec: input, there and back" "$(sha256sum <"$TMP/noise")" "$(kubectl exec -i two -c say -- cat <"$TMP/noise" | sha256sum)"
matches "exec with a terminal" '/dev/pts/0' "$(script -qec 'kubectl exec -it two -c say -- tty' /dev/null </dev/null)"
capture kubectl exec two -c none -- true
matches "exec in no container" 'none' "$status $err"

kubectl cp "$TMP/noise" two:/tmp/noise -c say >/dev/null 2>&1
kubectl cp two:/tmp/noise "$TMP/back" -c say >/dev/null 2>&1
check "cp, there and back" cmp "$TMP/noise" "$TMP/back"

mkfifo "$TMP/said"
exec 3<>"$TMP/said"
attach() {
	kubectl attach -i two -c talk <"$TMP/said"
}
background attach attach
echo you >&3
wait_line "$TMP/attach.log" '^heard you$'
ok "attach"

background forward kubectl port-forward two 0:8080
wait_line "$TMP/forward.log" 'Forwarding from 127'
port=$(sed -n 's/^Forwarding from 127.0.0.1:\([0-9]*\) .*/\1/p' "$TMP/forward.log")
same "port-forward" hello "$(curl -s "http://127.0.0.1:$port/")"
same "port-forward, another connection" hello "$(curl -s "http://127.0.0.1:$port/")"

background follow kubectl logs -f two -c say
wait_line "$TMP/follow.log" '^two$'
kubectl exec two -c say -- touch /tmp/end
wait_line "$TMP/follow.log" '^end$'
wait "$pid"
same "logs -f ends with the container" 0 $?

restarted() {
	[ "$(kubectl get pod again -o 'jsonpath={.status.containerStatuses[0].restartCount}')" -ge 1 ]
}
until_true 30 restarted
same "logs --previous" run "$(kubectl logs again --previous)"
same "a node's own page" ok "$(kubectl get --raw "/api/v1/nodes/$node/proxy/healthz")"
done_testing
