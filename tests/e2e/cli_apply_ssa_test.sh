# apply --server-side and diff: two managers of one object, conflicts, force, giving up, and the change from client-side apply.
. ./lib.sh
. ./api_lib.sh

start_server lmdb "$TMP/data"
export KUBECONFIG=$kubeconfig
find_kubectls
kubectl=${kubectls[-1]}
dp() { "$DEVPLANE" "$@"; }
value() { dp get "$1" "$2" -o "jsonpath=$3"; }
values() { "$kubectl" get "$1" "$2" -o "jsonpath=$3"; }
# box NAME DATA: a ConfigMap in $TMP/NAME.yaml.
box() {
	printf 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  creationTimestamp: null\ndata: %s\n' "$1" "$2" >"$TMP/$1.yaml"
}
# managers TYPE NAME: "MANAGER:OPERATION" of each entry.
managers() {
	dp get "$1" "$2" -o json --show-managed-fields | python3 -c '
import json, sys
print(*sorted(e["manager"] + ":" + e["operation"] for e in json.load(sys.stdin)["metadata"]["managedFields"]))'
}

# --- one manager ----------------------------------------------------------------------------------

box one '{a: "1", b: "1"}'
capture dp apply --server-side -f "$TMP/one.yaml" --dry-run
same "a dry run says so" "configmap/one serverside-applied (server dry run)" "$out$err"
capture dp get configmap one
same "... and makes nothing" 1 "$status"
capture dp diff --server-side -f "$TMP/one.yaml"
same "what is not there would come: status 1" 1 "$status"
matches "... with all its lines" $'@@ -0,0 \\+1,[0-9]+ @@\n\\+apiVersion: v1\n\\+data:\n\\+  a: "1"' "$out"
capture dp apply --server-side -f "$TMP/one.yaml"
same "what is not there is created" "configmap/one serverside-applied" "$out$err"
same "its fields are devplane's" devplane:Apply "$(managers configmap one)"
same "it has no annotation of client-side apply" "" "$(value configmap one '{.metadata.annotations}')"
capture dp diff --server-side -f "$TMP/one.yaml"
same "then nothing would change" 0 "$status$out$err"
box one '{a: "2"}'
capture dp diff --server-side -f "$TMP/one.yaml"
matches "lines that go and lines that come" $'\n-  a: "1"\n-  b: "1"\n\\+  a: "2"' "$out"
matches "... below the object's name" $'^--- live/v1.ConfigMap.default.one\n\\+\\+\\+ merged/v1.ConfigMap.default.one\n' "$out"
same "diff changes nothing" '{"a":"1","b":"1"}' "$(value configmap one '{.data}')"
capture dp apply --server-side -f "$TMP/one.yaml"
same "what a manager drops is removed" '{"a":"2"}' "$(value configmap one '{.data}')"
same "objects can be printed" '{"a":"2"}' "$(dp apply --server-side -f "$TMP/one.yaml" -o json | python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)["data"], separators=(",", ":")))')"

same "... without the record of managers" null "$(dp apply --server-side -f "$TMP/one.yaml" -o json | python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)["metadata"].get("managedFields")))')"
matches "... or with it" 'manager: devplane' "$(dp apply --server-side -f "$TMP/one.yaml" -o yaml --show-managed-fields)"

# --- two of them ------------------------------------------------------------------------------------

box one '{a: "3", c: "3"}'
capture dp apply --server-side -f "$TMP/one.yaml" --field-manager other
same "a conflict is a failure" 1 "$status$out"
matches "... names field and manager" 'one.yaml: configmap/one: Apply failed with 1 conflict: conflict with "devplane": .data.a' "$err"
matches "... and says what to do" '--force-conflicts' "$err"
same "... and changes nothing" '{"a":"2"}' "$(value configmap one '{.data}')"
capture dp diff --server-side -f "$TMP/one.yaml" --field-manager other
same "a diff with conflicts is a failure: status 2" 2 "$status$out"
matches "... that names them" 'conflict with "devplane": .data.a' "$err"
capture dp apply --server-side -f "$TMP/one.yaml" --field-manager other --force-conflicts
same "force takes it over" "configmap/one serverside-applied" "$out$err"
same "... with its value" '{"a":"3","c":"3"}' "$(value configmap one '{.data}')"
same "... and its field: the other has nothing left" other:Apply "$(managers configmap one)"
box one '{a: "3"}'
dp apply --server-side -f "$TMP/one.yaml" >"$TMP/out"
same "the same value is shared" "devplane:Apply other:Apply" "$(managers configmap one)"
box one '{c: "3"}'
dp apply --server-side -f "$TMP/one.yaml" --field-manager other >"$TMP/out"
same "what one gives up stays while another has it" '{"a":"3","c":"3"}' "$(value configmap one '{.data}')"
capture "$kubectl" apply --server-side -f - <<<'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "4", "c": "4"}}'
matches "kubectl meets our managers" 'conflict.* with "devplane"' "$err"
matches "... all of them" 'with "other"' "$err"

# More conflicts than an error has room for.
many=$(for ((i = 0; i < 60; i++)); do printf 'a-long-name-of-a-field-%s: "%s", ' $i MARK; done)
box many "{${many//MARK/1}}"
dp apply --server-side -f "$TMP/many.yaml" >"$TMP/out"
box many "{${many//MARK/2}}"
capture dp apply --server-side -f "$TMP/many.yaml" --field-manager other
matches "many conflicts are told to the last" 'failed with 60 conflicts.*- .data.a-long-name-of-a-field-9' "${err//$'\n'/ }"

# Names of fields are anybody's text.
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
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
END
check "a definition" dp apply --server-side -f "$TMP/crd.yaml"
widget() { printf '{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"\\u001b[31mred\\u0007": %s}}' "$1" >"$TMP/w.json"; }
widget 1
check "an object of it" until_true 20 dp apply --server-side -f "$TMP/w.json"
widget 2
for verb in apply diff; do
	capture dp $verb --server-side -f "$TMP/w.json" --field-manager other
	matches "$verb: no control character of others reaches the terminal" 'conflict with "devplane": .spec.\^\[\[31mred $' "${err%%$'\n'*}"
done

# --- status -------------------------------------------------------------------------------------------

cat >"$TMP/claim.yaml" <<END
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: claim}
spec: {devices: {requests: [{name: a, exactly: {deviceClassName: net}}, {name: b, exactly: {deviceClassName: net}}]}}
END
cat >"$TMP/allocation.yaml" <<END
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: claim}
status:
  allocation:
    devices: {results: [{request: a, driver: a.example.com, pool: p, device: d}, {request: b, driver: b.example.com, pool: p, device: d}]}
END
# device DRIVER STATUS: what a driver applies.
device() {
	cat <<END
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: claim}
status:
  devices:
  - {driver: $1, pool: p, device: d, conditions: [{type: Ready, status: "$2", reason: Told, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}
END
}
for side in "" --server-side; do
	capture dp apply $side --subresource status -f "$TMP/allocation.yaml"
	matches "the status of what is not there${side:+, $side}" 'claim: it does not exist: apply it without --subresource first' "$err"
done
check "a claim" dp apply --server-side -f "$TMP/claim.yaml"
check "its status, by one" dp apply --server-side --subresource status -f "$TMP/allocation.yaml" --field-manager scheduler
for driver in a b; do
	device $driver.example.com True | dp apply --server-side --subresource status -f - --field-manager driver-$driver >"$TMP/out"
done
same "two drivers have an entry each" 'a.example.com b.example.com' "$(values resourceclaim claim '{.status.devices[*].driver}')"
capture dp diff --server-side --subresource status -f - --field-manager driver-a < <(device a.example.com False)
matches "a change of status can be shown" $'\n-      status: "True"\n\\+      status: "False"\n' "$out"
device a.example.com False | dp apply --server-side --subresource status -f - --field-manager driver-a >"$TMP/out"
same "one changes its own" 'False True' "$(values resourceclaim claim '{.status.devices[*].conditions[0].status}')"
capture dp apply --server-side --subresource status -f - --field-manager driver-b < <(device a.example.com True)
matches "not that of the other" 'conflict with "driver-a" with subresource "status": .status.devices\[.*driver="a.example.com"' "$err"
printf 'apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: claim}\n' |
	dp apply --server-side --subresource status -f - --field-manager driver-a >"$TMP/out"
same "one gives up, and the other stays" b.example.com "$(values resourceclaim claim '{.status.devices[*].driver}')"

# --- from client-side apply -----------------------------------------------------------------------------

for by in kubectl devplane; do
	tool=$kubectl
	[ $by = kubectl ] || tool=$DEVPLANE
	box $by '{a: "1", b: "1"}'
	"$tool" apply -f "$TMP/$by.yaml" >"$TMP/out"
	box $by '{a: "2"}'
	same "$by: it was applied on the client's side" $by-client-side-apply:Update "$(managers configmap $by)"
	capture dp apply --server-side -f "$TMP/$by.yaml" --dry-run
	same "$by: a dry run is not in its way" "configmap/$by serverside-applied (server dry run)" "$out"
	lost="Warning: configmap/$by was applied on the client's side: what the manifest does not have"
	same "$by: ... and says what else would go" "$lost would be removed, too: .data.b" "$err"
	capture dp diff --server-side -f "$TMP/$by.yaml"
	same "$by: so does diff" "$lost would be removed, too: .data.b" "$err"
	box $by '{a: "1"}'
	capture dp diff --server-side -f "$TMP/$by.yaml"
	same "$by: ... which is a change where no line differs, too: status 1" "1$lost would be removed, too: .data.b" "$status$out$err"
	box $by '{a: "1", b: "1"}'
	capture dp diff --server-side -f "$TMP/$by.yaml"
	same "$by: ... and so is the change of hands" "1Warning: configmap/$by was applied on the client's side: its fields would be handed over to \"devplane\"" "$status$out$err"
	box $by '{a: "2"}'
	same "$by: ... and hands nothing over" $by-client-side-apply:Update "$(managers configmap $by)"
	capture dp apply --server-side -f "$TMP/$by.yaml"
	same "$by: then it is handed over" "configmap/$by serverside-applied" "$out"
	same "$by: ... and what went is said" "$lost was removed: .data.b" "$err"
	same "$by: ... to its new manager alone" devplane:Apply "$(managers configmap $by)"
	same "$by: ... without what the manifest says no more" '{"a":"2"}' "$(value configmap $by '{.data}')"
	same "$by: ... nor the annotation" "" "$(value configmap $by '{.metadata.annotations}')"
done
box part '{a: "1", b: "1"}'
"$kubectl" apply -f "$TMP/part.yaml" >"$TMP/out"
capture dp apply --server-side --field-manager labeller -f - <<<'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "part", "labels": {"a": "b"}}}'
same "who applies a part first is told what goes" "Warning: configmap/part was applied on the client's side: what the manifest does not have was removed: .data" "$err"
box whole '{a: "1"}'
"$kubectl" apply -f "$TMP/whole.yaml" >"$TMP/out"
capture dp apply --server-side -f "$TMP/whole.yaml"
same "nothing is said where nothing goes" "configmap/whole serverside-applied" "$out$err"
box third '{a: "1"}'
"$kubectl" apply -f "$TMP/third.yaml" >"$TMP/out"
"$kubectl" patch configmap third --type merge -p '{"data": {"a": "2"}}' --field-manager someone >"$TMP/out"
capture dp apply --server-side -f "$TMP/third.yaml"
matches "what somebody else changed since is a conflict" 'conflict with "someone" using v1: .data.a' "$err"
same "... and nothing is handed over" "kubectl-client-side-apply:Update someone:Update" "$(managers configmap third)"

# --- without it -------------------------------------------------------------------------------------------

box plain '{a: "1"}'
capture dp diff -f "$TMP/plain.yaml"
same "diff without --server-side: it would be created" 1 "$status"
dp apply -f "$TMP/plain.yaml" >"$TMP/out"
capture dp diff -f "$TMP/plain.yaml"
same "... nothing would change" 0 "$status$out$err"
printf 'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {same: x, word: hidden}\n' | dp apply --server-side -f - >"$TMP/out"
capture dp diff --server-side -f - <<<'{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"same": "eA==", "word": "b3RoZXI="}}' --force-conflicts
matches "values of secrets are not shown" $'-  word: \'\\*\\*\\* \\(before\\)\'\n\\+  word: \'\\*\\*\\* \\(after\\)\'' "$out"
printf 'apiVersion: v1\nkind: Secret\nmetadata: {name: applied}\nstringData: {word: hidden}\n' | dp apply -f - >"$TMP/out"
capture dp diff --show-managed-fields -f - <<<'{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "applied"}, "stringData": {"word": "other"}}'
matches "... nor what was applied of them" $'-    kubectl.kubernetes.io/last-applied-configuration: \'\\*\\*\\* \\(before\\)\'\n\\+    kubectl.*: \'\\*\\*\\* \\(after\\)\'' "$out"
same "... by no word" "" "$(grep -E 'hidden|other' <<<"$out")"
capture bash -c '"$DEVPLANE" diff -f - >/dev/full' <<<'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}}'
same "a diff that cannot be written: status 2" 2 "$status"
matches "... and it says so" 'cannot write the output' "$err"

# Objects with many lines that differ, one after the other: memory is that of one.
many() { # COUNT VALUE
	python3 - "$@" <<END
import json, sys
print(json.dumps({"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "lines"},
	"data": {f"key-{i}": sys.argv[2] for i in range(1900)}}] * int(sys.argv[1])}))
END
}
# peak COUNT: KiB that a diff of so many takes.
peak() {
	many "$1" new >"$TMP/lines.json"
	python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$DEVPLANE" diff --server-side -f "$TMP/lines.json"
}
many 1 old | dp apply --server-side -f - >"$TMP/out"
one=$(peak 1) six=$(peak 6)
[ $((six - one)) -lt $((40 << 10)) ] && ok "six objects take little more memory than one" || not_ok "six objects take little more memory than one" "one: $one KiB, six: $six KiB"
capture dp apply --force-conflicts -f "$TMP/plain.yaml"
same "force without --server-side is bad usage" 2 "$status"
capture dp diff -f "$TMP/none.yaml"
same "diff of what is no file: status 2" 2 "$status"
matches "... which it names" 'none.yaml: ' "$err"
done_testing
