# The controller as people see it through kubectl: namespaces go, garbage goes, accounts come.
. ./lib.sh
. ./api_lib.sh

k() {
	HOME=$TMP/home "$kubectl" --kubeconfig "$kubeconfig" --cache-dir "$TMP/home/$label" "$@"
}

# start_controller NAME [FLAG ..]: sets $pid and $health; ends the test when it does not come up.
start_controller() {
	local name=$1
	shift
	background "$name" "$DEVPLANE" controller --kubeconfig "$kubeconfig" --metrics-bind-address 127.0.0.1:0 \
		--namespace-deletion-delay 0s --log-format text "$@"
	wait_line "$TMP/$name.log" 'health and metrics at'
	health=$(sed -n 's/.*health and metrics at //p' "$TMP/$name.log")
}

is_ready() {
	curl -sf "$health/readyz" >/dev/null
}

gone() { # KIND NAME [FLAG ..]
	! k get "$@" >/dev/null 2>&1
}

there() {
	k get "$@" >/dev/null 2>&1
}

# map NAME [OWNER ..]: creates a ConfigMap that these ConfigMaps own.
map() {
	local name=$1 owner references=
	shift
	for owner; do
		references+="{apiVersion: v1, kind: ConfigMap, name: $owner, blockOwnerDeletion: true, uid: $(k get configmap "$owner" -o 'jsonpath={.metadata.uid}')},"
	done
	k create -f - <<-END >/dev/null
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: $name, ownerReferences: [${references%,}]}
	END
}

defaults() {
	check "$label: every namespace has a default service account" until_true 20 there serviceaccount default -n kube-system
	check "$label: and the CA" until_true 20 there configmap kube-root-ca.crt -n kube-public
	matches "$label: which is one" 'BEGIN CERTIFICATE' "$(k get configmap kube-root-ca.crt -o 'jsonpath={.data.ca\.crt}')"
	k delete serviceaccount default >/dev/null
	check "$label: a deleted account comes back" until_true 20 there serviceaccount default
	k patch configmap kube-root-ca.crt --type merge -p '{"data":{"ca.crt":"none"}}' >/dev/null
	ca_is_back() { k get configmap kube-root-ca.crt -o 'jsonpath={.data.ca\.crt}' | grep -q CERTIFICATE; }
	check "$label: a changed CA comes back" until_true 20 ca_is_back
}

namespaces() {
	k create namespace full >/dev/null
	k -n full create configmap a >/dev/null
	k -n full create secret generic s >/dev/null
	check "$label: a new namespace has a default service account" until_true 20 there serviceaccount default -n full
	capture timeout 60 "$kubectl" --kubeconfig "$kubeconfig" delete namespace full
	same "$label: a namespace is deleted with what is in it" 'namespace "full" deleted' "$out$err"

	k create namespace held >/dev/null
	k -n held create configmap a >/dev/null
	k -n held patch configmap a --type merge -p '{"metadata":{"finalizers":["example.com/hold"]}}' >/dev/null
	k delete namespace held --wait=false >/dev/null
	told() { k get namespace held -o 'jsonpath={.status.conditions[*].message}' | grep -q 'configmaps. has 1 resource instances'; }
	check "$label: what holds a namespace is told in its conditions" until_true 20 told
	matches "$label: with the finalizer" 'example.com/hold in 1 resource instances' "$(k get namespace held -o 'jsonpath={.status.conditions[*].message}')"
	same "$label: and it is still there" Terminating "$(k get namespace held -o 'jsonpath={.status.phase}')"
	k -n held patch configmap a --type merge -p '{"metadata":{"finalizers":null}}' >/dev/null
	check "$label: without the finalizer it goes" until_true 60 gone namespace held
}

garbage() {
	map owner && map child owner && map grandchild child
	k delete configmap owner --cascade=background >/dev/null
	check "$label: in the background dependents follow" until_true 20 gone configmap grandchild

	map owner && map child owner && map grandchild child
	capture k delete configmap owner --cascade=foreground --timeout=60s
	matches "$label: delete in the foreground" 'configmap "owner" deleted' "$out$err"
	check "$label: dependents went before their owner" gone configmap child
	check "$label: and theirs" gone configmap grandchild

	map owner && map child owner
	k delete configmap owner --cascade=orphan --timeout=60s >/dev/null
	check "$label: an orphan's owner goes" gone configmap owner
	check "$label: the orphan stays" there configmap child
	same "$label: without its owner" "" "$(k get configmap child -o 'jsonpath={.metadata.ownerReferences}')"
	k delete configmap child >/dev/null

	map one && map two && map child one two
	k delete configmap one >/dev/null
	names_one_owner() { [ "$(k get configmap child -o 'jsonpath={.metadata.ownerReferences[*].name}')" = two ]; }
	check "$label: one of two owners goes, and the reference to it" until_true 20 names_one_owner
	k delete configmap two >/dev/null
	check "$label: with the last owner it goes" until_true 20 gone configmap child
}

custom() {
	k create -f - <<-END >/dev/null
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: widgets.example.com}
		spec:
		  group: example.com
		  scope: Namespaced
		  names: {kind: Widget, plural: widgets, singular: widget}
		  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
	END
	until_true 20 there widgets
	k create -f - <<-END >/dev/null
		apiVersion: example.com/v1
		kind: Widget
		metadata: {name: w}
	END
	k create -f - <<-END >/dev/null
		apiVersion: v1
		kind: ConfigMap
		metadata: {name: child, ownerReferences: [{apiVersion: example.com/v1, kind: Widget, name: w, uid: $(k get widget w -o 'jsonpath={.metadata.uid}')}]}
	END
	k delete widget w >/dev/null
	check "$label: what a custom resource owns follows it" until_true 60 gone configmap child
}

restart() {
	map owner && map child owner && map grandchild child
	stop "$controller"
	same "$label: the controller ends in order" 0 "$status"
	same "$label: and gives the lease back" "" "$(k -n kube-system get lease devplane-controller -o 'jsonpath={.spec.holderIdentity}')"
	k delete configmap owner >/dev/null
	k create namespace late >/dev/null
	k delete namespace late --wait=false >/dev/null
	start_controller "again-$(minor "$kubectl")" && controller=$pid
	check "$label: what happened meanwhile is caught up with" until_true 60 gone configmap grandchild
	check "$label: namespaces too" until_true 60 gone namespace late
}

health_and_metrics() {
	same "$label: /healthz" ok "$(curl -s "$health/healthz")"
	same "$label: /livez" ok "$(curl -s "$health/livez")"
	matches "$label: /readyz?verbose" '\[\+\]leaderElection ok' "$(curl -s "$health/readyz?verbose")"
	matches "$label: metrics of the queues" 'workqueue_adds_total\{name="garbage_collector_attempt_to_delete"\} [1-9]' "$(curl -s "$health/metrics")"
	matches "$label: and of the election" 'leader_election_master_status\{name="devplane-controller"\} 1' "$(curl -s "$health/metrics")"
	same "$label: nothing else is served" 404 "$(curl -s -o /dev/null -w '%{http_code}' "$health/")"
}

find_kubectls
for kubectl in "${kubectls[@]}"; do
	label="kubectl 1.$(minor "$kubectl")"
	start_server lmdb "$TMP/server-$(minor "$kubectl")"
	server=$pid
	start_controller "controller-$(minor "$kubectl")"
	controller=$pid
	check "$label: the controller becomes ready" until_true 30 is_ready
	defaults
	namespaces
	garbage
	custom
	health_and_metrics
	restart
	stop "$controller"
	stop "$server"
done

capture "$DEVPLANE" controller --kubeconfig "$TMP/none"
same "a missing kubeconfig is a failure" 1 "$status"
matches "that names the file" "$TMP/none" "$err"
capture "$DEVPLANE" controller --kubeconfig "$TMP/none" --controllers nonsense
same "an unknown controller is bad usage" 2 "$status"
done_testing
