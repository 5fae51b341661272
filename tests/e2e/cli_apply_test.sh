# apply and delete: against a server of ours, by turns with kubectl on the same objects, and what they say when things go wrong.
. ./lib.sh
. ./api_lib.sh

start_server lmdb "$TMP/data"
export KUBECONFIG=$kubeconfig
find_kubectls
kubectl=${kubectls[-1]}
dp() { "$DEVPLANE" "$@"; }
value() { dp get "$1" "$2" -n "${4:-team}" -o "jsonpath=$3"; }

# manifest IMAGE [LABEL]: a namespace and a pod in it.
manifest() {
	cat <<END
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
# what follows is in it
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: team
  creationTimestamp: null
  annotations: {note: "a < b & ü"}
  labels: {app: web${2:+, $2}}
spec:
  automountServiceAccountToken: false
  containers:
  - {name: main, image: "$1", env: [{name: A, value: "1"}]}
status: {}
END
}

manifest busybox:1 'old: "1"' >"$TMP/web.yaml"
capture dp apply -f "$TMP/web.yaml" --dry-run
same "a dry run is of one object after the other" "namespace/team created (server dry run)" "$out"
matches "... so the pod has no namespace yet" "web.yaml, document 2: pod/web: namespaces \"team\" not found" "$err"
same "what failed is told by the exit code" 1 "$status"

sed 1,/---/d "$TMP/web.yaml" | sed 's/: team/: default/' >"$TMP/web-alone.yaml"
capture dp apply -f "$TMP/web-alone.yaml" --dry-run=client
same "a dry run of the client asks for no more than what is there" "pod/web created (dry run)" "$out$err"
capture dp apply -f "$TMP/web-alone.yaml" --dry-run=server
same "one of the server says so" "pod/web created (server dry run)" "$out$err"
capture dp apply --server-side --dry-run=client -f "$TMP/web-alone.yaml"
same "the client's and --server-side are bad usage" 2 "$status"
capture dp get pod web -n default
same "nothing was made" 1 "$status"

capture dp apply -f "$TMP/web.yaml" --dry-run=none
same "apply creates, in the order of the file" $'namespace/team created\npod/web created' "$out"
same "... without a word of warning" "" "$err"
sed 's/busybox:1/busybox:0/' "$TMP/web.yaml" >"$TMP/other.yaml"
capture dp apply -f "$TMP/other.yaml" --dry-run=client
same "a dry run of the client sees what differs" $'namespace/team unchanged (dry run)\npod/web configured (dry run)' "$out$err"
same "... and changes nothing" busybox:1 "$(value pod web '{.spec.containers[0].image}')"
capture dp apply -f "$TMP/web.yaml"
same "a second time nothing changes" $'namespace/team unchanged\npod/web unchanged' "$out"

annotation=$(value pod web '{.metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration}')
"$kubectl" delete pod web -n team --now >"$TMP/kubectl.out" 2>&1
"$kubectl" apply -f "$TMP/web.yaml" >"$TMP/kubectl.out" 2>&1
same "kubectl writes the same annotation" "$(value pod web '{.metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration}')" "$annotation"
capture dp apply -f "$TMP/web.yaml"
same "what kubectl applied is as wanted" $'namespace/team unchanged\npod/web unchanged' "$out"

check "others set a label" "$kubectl" label pod web -n team foreign=yes
manifest busybox:2 >"$TMP/web.yaml"
capture dp apply -f "$TMP/web.yaml"
same "what differs is configured" $'namespace/team unchanged\npod/web configured' "$out"
same "the image is the new one" busybox:2 "$(value pod web '{.spec.containers[0].image}')"
same "a label that is wanted no more is gone, that of others is not" '{"app":"web","foreign":"yes"}' "$(value pod web '{.metadata.labels}')"
capture "$kubectl" apply -f "$TMP/web.yaml"
# kubectl patches creationTimestamp: null each time; we take it for nothing.
matches "kubectl goes on where we left off" "pod/web (unchanged|configured)" "$out"
manifest busybox:3 >"$TMP/web.yaml"
check "kubectl changes it" "$kubectl" apply -f "$TMP/web.yaml"
capture dp apply -f "$TMP/web.yaml"
same "and we go on where kubectl did" $'namespace/team unchanged\npod/web unchanged' "$out"

"$kubectl" create configmap bare -n team --from-literal=a=1 --from-literal=b=2 >"$TMP/kubectl.out"
capture dp apply -n team -f - <<<'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bare"}, "data": {"a": "3"}}'
same "what was created otherwise can be applied" "configmap/bare configured" "$out"
matches "... with a warning" "configmap/bare was not made by apply" "$err"
same "... and keeps what it has" '{"a":"3","b":"2"}' "$(value configmap bare '{.data}')"

mkdir "$TMP/dir"
cat >"$TMP/dir/1.yaml" <<END
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: "1"}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: two}, data: {a: "1"}}
END
echo '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "three"}}' >"$TMP/dir/2.json"
echo 'no manifest' >"$TMP/dir/README"
capture dp apply -f "$TMP/dir" -o name
same "folders and lists are taken apart" $'configmap/one\nconfigmap/two\nconfigmap/three' "$out"
same "objects can be printed" "three" "$(dp apply -f "$TMP/dir/2.json" -o json | python3 -c 'import json, sys; print(json.load(sys.stdin)["metadata"]["name"])')"

# Each warning of the server is printed once.
for name in old older; do
	printf -- '---\n{apiVersion: resource.k8s.io/v1beta1, kind: ResourceClaim, metadata: {name: %s}, spec: {devices: {requests: [{name: a, deviceClassName: net}]}}}\n' $name
done >"$TMP/old.yaml"
capture dp apply -f "$TMP/old.yaml"
same "an old version is warned of, once" 1 "$(grep -c '^Warning: resource.k8s.io/v1beta1 ResourceClaim is deprecated' <<<"$err")"
for verb in "apply --server-side --force-conflicts" diff delete; do
	capture dp $verb -f "$TMP/old.yaml"
	matches "$verb: a warning" 'Warning: resource.k8s.io/v1beta1 ResourceClaim is deprecated' "$err"
done
capture dp get resourceclaims.v1beta1.resource.k8s.io
matches "get: a warning" 'Warning: resource.k8s.io/v1beta1 ResourceClaim is deprecated' "$err"
capture dp apply -f - <<<'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "typo"}, "dta": {"a": "1"}}'
same "an unknown field is warned of" 'configmap/typo createdWarning: unknown field "dta"' "$out$err"

# Errors name file, document and object, and the others go on.
cat >"$TMP/bad.yaml" <<END
apiVersion: v1
kind: ConfigMap
metadata: {name: Bad_Name}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: good}
---
kind: ConfigMap
metadata: {name: versionless}
---
a: [
END
capture dp apply -f "$TMP/bad.yaml" -f "$TMP/none.yaml"
same "what can be applied is applied" "configmap/good created" "$out"
same "the exit code says that something failed" 1 "$status"
matches "an object that is refused" "bad.yaml, document 1: configmap/Bad_Name: .*Invalid value" "$err"
matches "a kind that nobody knows" "document 2: widget/w: no matches for kind \"Widget\" in version \"example.com/v1\"" "$err"
matches "an object without a version" "document 4: configmap/versionless: apiVersion is not set" "$err"
matches "no YAML" "document 5: " "$err"
matches "no file" "none.yaml: " "$err"
matches "how many" "5 of 6 objects could not be applied" "$err"
capture dp apply -n other -f "$TMP/web.yaml"
matches "a namespace that is not the object's" 'pod/web: its namespace is "team", but --namespace is "other"' "$err"

# A kind that the same file defines, a built-in one with a list that merges, and a status.
cat >"$TMP/crd.yaml" <<END
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
END
echo '{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"list": [1, 2], "a": 1}}' >"$TMP/w.json"
check "a definition" dp apply -f "$TMP/crd.yaml"
check "its objects" until_true 20 dp apply -f "$TMP/w.json"
"$kubectl" patch widget w --type merge -p '{"spec": {"foreign": 1}}' >"$TMP/kubectl.out"
sed -i 's/, "a": 1//; s/\[1, 2\]/[3]/' "$TMP/w.json"
same "custom objects are merged" "widget.example.com/w configured" "$(dp apply -f "$TMP/w.json")"
same "... and keep what others set" '{"foreign":1,"list":[3]}' "$(value widget w '{.spec}' default)"
echo '{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "status": {"ready": true}}' >"$TMP/status.json"
same "a status is applied apart" "widget.example.com/w configured" "$(dp apply -f "$TMP/status.json" --subresource status)"
same "... and is there" true "$(value widget w '{.status.ready}' default)"
same "... once" "widget.example.com/w unchanged" "$(dp apply -f "$TMP/status.json" --subresource status)"
same "... and changes nothing else" '{"foreign":1,"list":[3]}' "$(value widget w '{.spec}' default)"

# delete
capture dp delete configmap one two
same "delete says what it did" $'configmap "one" deleted\nconfigmap "two" deleted' "$out"
capture dp delete configmap/one configmap/three
same "delete goes on" 'configmap "three" deleted' "$out"
matches "... and says what failed" 'configmap/one: configmaps "one" not found' "$err"
same "... by its exit code, too" 1 "$status"
capture dp delete -f "$TMP/dir" --ignore-not-found
same "what is not there may be no failure" "0" "$status$out$err"
echo '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "team"}}' >"$TMP/alone.json"
capture dp delete -n other -f "$TMP/alone.json" --wait=false --ignore-not-found
matches "delete by manifest is not of two namespaces" 'pod/web: its namespace is "team", but --namespace is "other"' "$err"
check "... and the pod is there" "$kubectl" -n team get pod web
capture dp delete -f "$TMP/w.json"
same "delete by manifest" 'widget.example.com "w" deleted' "$out"

dp apply -f - >"$TMP/held.out" <<<'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "finalizers": ["example.com/hold"]}}'
capture dp delete configmap held --timeout 100ms
matches "what is held is waited for" "configmap/held still exists; its metadata.finalizers" "$err"
capture dp delete configmap held --wait=false
same "... or not" "$status$out" '0configmap "held" deleted'
background delete "$DEVPLANE" delete configmap held
wait_line "$TMP/delete.log" 'deleted'
"$kubectl" patch configmap held --type merge -p '{"metadata": {"finalizers": null}}' >"$TMP/kubectl.out"
wait "$pid"
same "delete ends when it is gone" 0 $?
capture dp delete pod web -n team --now
same "a pod is deleted" '0pod "web" deleted' "$status$out"
capture dp delete pods
matches "delete wants names" 'name the objects to delete' "$err"
capture dp delete
matches "delete wants something" 'TYPE NAME' "$err"
capture dp delete pod x -f "$TMP/w.json"
same "names and files at once are bad usage" 2 "$status"
done_testing
