# Common uses of kubectl, with Debian's version and a current one, on both backends.
. ./lib.sh
. ./api_lib.sh

# k ARGS ..: kubectl as the administrator, with a discovery cache of this test's.
k() {
	HOME=$TMP/home "$kubectl" --kubeconfig "$kubeconfig" --cache-dir "$TMP/home/$label" "$@"
}

claim() { # NAME
	cat <<-END
		apiVersion: resource.k8s.io/v1
		kind: ResourceClaim
		metadata: {name: $1, labels: {app: demo}}
		spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}
	END
}

pod() { # NAME
	cat <<-END
		apiVersion: v1
		kind: Pod
		metadata: {name: $1}
		spec: {containers: [{name: main, image: "example.com/app:1"}]}
	END
}

read_and_write() {
	capture k get namespaces -o name
	same "$label: get -o name lists the namespaces" "namespace/default namespace/kube-node-lease namespace/kube-public namespace/kube-system" "$(echo $out)"
	capture k get ns
	matches "$label: get prints a table" 'NAME +STATUS +AGE' "$out"

	capture k create configmap box --from-literal=a=1
	same "$label: create configmap" "configmap/box created" "$out$err"
	capture k create configmap box --from-literal=a=1
	matches "$label: creating it again says that it exists" 'configmaps "box" already exists' "$err"
	capture k get configmap box -o 'jsonpath={.data.a}'
	same "$label: get -o jsonpath" 1 "$out"
	capture k get configmap box -o yaml
	matches "$label: get -o yaml" 'kind: ConfigMap' "$out"
	capture k get configmap box -o custom-columns=N:.metadata.name,A:.data.a --no-headers
	same "$label: get -o custom-columns" "box 1" "$(echo $out)"
	capture k patch configmap box --type merge -p '{"data":{"a":"2"}}'
	matches "$label: patch --type merge" '^configmap/box patched' "$out$err"
	capture k patch configmap box --type json -p '[{"op":"add","path":"/data/b","value":"3"}]'
	matches "$label: patch --type json" '^configmap/box patched' "$out$err"
	same "$label: both patches are there" "2 3" "$(k get configmap box -o 'jsonpath={.data.a} {.data.b}')"
	capture k label configmap box tier=back
	matches "$label: label" '^configmap/box labeled' "$out$err"
	same "$label: select by label" configmap/box "$(k get configmaps -l tier=back -o name)"
	same "$label: another label selects nothing" "" "$(k get configmaps -l tier=front -o name 2>&1 | grep -v 'No resources')"
	capture env EDITOR='sed -i s/tier:\ back/tier:\ edge/' HOME="$TMP/home" "$kubectl" --kubeconfig "$kubeconfig" edit configmap box
	matches "$label: edit" '^configmap/box edited' "$out$err"
	same "$label: the edit is there" configmap/box "$(k get configmaps -l tier=edge -o name)"
	capture k annotate configmap box note=hello
	matches "$label: annotate" '^configmap/box annotated' "$out$err"
	capture k delete configmap box --wait=true --timeout=20s
	same "$label: delete waits until it is gone" 'configmap "box" deleted' "$(sed 's/ from .* namespace//' <<<"$out$err")"
	capture k get configmap box
	matches "$label: get of what is gone" 'NotFound.*configmaps "box" not found' "$err"
}

claims() {
	capture k create -f - < <(claim one)
	same "$label: create -f of a claim" "resourceclaim.resource.k8s.io/one created" "$out$err"
	capture k get resourceclaims
	matches "$label: a claim's table" 'NAME +STATE +AGE.one +pending' "${out//$'\n'/.}"
	capture k create -f - < <(claim Bad_Name)
	matches "$label: a bad name is refused with its field" 'invalid: metadata\.name' "$err$out"
	capture k create -f - < <(claim two | sed 's/deviceClassName: gpu.example.com/count: 1/')
	matches "$label: a missing field is named" 'requests\[0\]\.exactly.*deviceClassName' "$err$out"
	capture k create -f - < <(claim two | sed 's/exactly: {/exactly: {colour: red, /')
	matches "$label: an unknown field is refused" 'unknown field .*colour|colour' "$err$out"
	capture k explain resourceclaim.spec
	matches "$label: explain knows the fields" 'devices' "$out$err"
	capture k api-resources --api-group=resource.k8s.io -o name
	matches "$label: api-resources lists the group" 'resourceclaims.resource.k8s.io' "$out"
	capture k delete resourceclaim one
	same "$label: delete a claim" 'resourceclaim.resource.k8s.io "one" deleted' "$(sed 's/ from .* namespace//' <<<"$out$err")"
}

pods_and_waiting() {
	capture k create -f - < <(pod web)
	same "$label: create a pod" "pod/web created" "$out$err"
	capture k get pod web
	matches "$label: a pod's table" 'NAME +READY +STATUS +RESTARTS +AGE.web +0/1 +Pending +0' "${out//$'\n'/.}"
	k get pods --watch-only -o name >"$TMP/watched" 2>&1 &
	watcher=$!
	if [ "$(minor "$kubectl")" -ge 24 ]; then
		capture k patch pod web --subresource status --type merge -p '{"status":{"phase":"Running"}}'
		matches "$label: patch --subresource status" '^pod/web patched' "$out$err"
		capture k wait pod web --for=jsonpath='{.status.phase}'=Running --timeout=20s
		matches "$label: wait --for=jsonpath" 'condition met' "$out$err"
	fi
	(sleep 0.3 && k delete pod web --now >/dev/null 2>&1) &
	capture k wait pod web --for=delete --timeout=20s
	same "$label: wait --for=delete" 0 "$status"
	kill "$watcher" 2>/dev/null
	wait "$watcher" 2>/dev/null
	capture k describe namespace default
	matches "$label: describe" 'Name: +default' "$out"
}

examples() {
	capture k create -f ../../examples/gpu.yaml
	same "$label: the example of the README" 3 "$(grep -c created <<<"$out")"
	capture k delete -f ../../examples/gpu.yaml
	same "$label: and its end" 3 "$(grep -c deleted <<<"$out")"
}

chunks() {
	local i
	for i in $(seq 1 23); do
		printf -- 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%02d}\n---\n' "$i"
	done | k create -f - >/dev/null 2>"$TMP/chunks.err"
	same "$label: --chunk-size lists all" 23 "$(k get configmaps --chunk-size=5 -o name | grep -c /c)"
	capture k delete configmaps --all
	same "$label: delete --all" 23 "$(grep -c 'configmap "c' <<<"$out")"
}

all_of() { # BACKEND
	local folder
	for kubectl in "${kubectls[@]}"; do
		label="$1, kubectl 1.$(minor "$kubectl")"
		folder=$TMP/$1-$(minor "$kubectl")
		[ "$1" = lmdb ] || rm -rf "$TMP/etcd"
		[ "$1" = lmdb ] || start_etcd
		start_server "$1" "$folder"
		server=$pid
		read_and_write
		claims
		pods_and_waiting
		examples
		chunks
		stop "$server"
		same "$label: the server ends in order" 0 "$status"
		[ "$1" = lmdb ] || { kill "$etcd_pid" && wait "$etcd_pid" 2>/dev/null; }
	done
}

find_kubectls
all_of lmdb
all_of etcd
done_testing
