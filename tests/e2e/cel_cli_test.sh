# cel: one expression, many, and which devices of a cluster a selector selects.
. ./lib.sh
. ./api_lib.sh

cel() { "$DEVPLANE" cel "$@"; }

# --- one expression

same "a number" 3 "$(cel '1 + 2')"
same "text is printed as it is" $'a\nb' "$(cel '"a\nb"')"
same "the rest as JSON" '{"a":[1,2.5,null]}' "$(cel '{"a": [1, 2.5, null]}')"
same "as a tree" $'type: list\nvalue:\n- 1\n- 2' "$(cel '[1, 2]' -o yaml)"
same "Kubernetes' types" true "$(cel 'quantity("1Gi").isGreaterThan(quantity("900Mi"))')"
same "time zones are this machine's" 14 "$(cel 'timestamp("2024-07-01T12:00:00Z").getHours("Europe/Berlin")')"

cat >"$TMP/vars.yaml" <<'END'
spec:
  replicas: 5
  names: [a, b]
END
same "variables from YAML" true "$(cel 'spec.replicas > 3 && "b" in spec.names' --input "$TMP/vars.yaml")"
same "variables from standard input" 6 "$(echo '{"x": 5}' | cel 'x + 1' --input -)"
matches "what it costs" $'^true\ncost [0-9]+, estimated [0-9]+ to [0-9]+$' "$(cel '"abc".contains("b")' --cost)"

capture cel '1 +'
same "a wrong expression fails" 1 $status
matches "and is told with its place" "ERROR: <input>:1:4: Syntax error: .*"$'\n | 1 \\+\n | \.\.\.\\^' "$err"
same "and nothing is printed" "" "$out"
long=$(printf '"%0300d" + ' 1 2 3)1
capture cel "$long"
matches "however long it is" "found no matching overload.*$(printf '%0300d' 3)" "$err"
capture cel 'x.y' --input - <<<'{"x": {}}'
same "what fails while it runs is told in one line" "1 devplane: no such key: y" "$status $err"
capture cel
same "no expression is bad usage" 2 $status
matches "and what to do is said" 'give an expression' "$err"
capture cel 1 --input "$TMP/absent"
matches "a file that is not there" "absent.*[Nn]o such file" "$err"
capture cel 1 --input - <<<'[1]'
matches "variables that are no object" 'is not an object' "$err"
capture cel 1 --batch
same "an expression beside a batch is bad usage" 2 $status
capture cel 1 --driver x
same "a flag for devices alone is bad usage" 2 $status
capture cel 'math.greatest(1, 2)' --env kubernetes
same "Kubernetes has not every function" 1 $status

# --- many

same "each line has an answer, whatever it says" '{"type":"int","value":42}
{"error":"division by zero"}
{"type":"google.protobuf.Duration","value":"90s"}
error
error
{"type":"bytes","value":"AGI="}
{"type":"uint","value":18446744073709551615}
error' "$(cel --batch <<'END' | sed -E 's/^\{"error":"(ERROR|the line|[^d]).*/error/'
{"expr": "x + 1", "vars": {"x": 41}}
{"expr": "1 / 0"}
{"expr": "duration('1m30s')"}
nonsense
{"vars": {}}
{"expr": "b'\\x00b'"}
{"expr": "18446744073709551615u"}
{"expr": "1 +"}
END
)"
matches "without types what can be evaluated is" '^\{"type":"bool","value":true,"issues":"ERROR: .*undeclared' \
	"$(cel --batch <<<'{"expr": "nobody || true"}')"

# A program may converse: the answer comes before the next question.
coproc cel --batch
echo '{"expr": "1"}' >&"${COPROC[1]}"
read -r -t 20 first <&"${COPROC[0]}"
echo '{"expr": "2"}' >&"${COPROC[1]}"
read -r -t 20 second <&"${COPROC[0]}"
same "answers do not wait for the end" '{"type":"int","value":1} {"type":"int","value":2}' "$first $second"
exec {COPROC[1]}>&-

# --- devices

start_server lmdb "$TMP/data"
export KUBECONFIG=$kubeconfig
find_kubectls
kubectl=${kubectls[-1]}
"$kubectl" create -f - >"$TMP/put.log" 2>&1 <<'END' || sed 's/^/# /' "$TMP/put.log"
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {zone: a}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1-new}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 2, resourceSliceCount: 1}
  devices:
  - {name: gpu-0, attributes: {model: {string: h200}, index: {int: 0}}, capacity: {memory: {value: 141Gi}}}
  - {name: gpu-1, attributes: {model: {string: l4}, index: {int: 1}}, capacity: {memory: {value: 24Gi}}}
  - {name: gpu-2, attributes: {index: {int: 2}}, capacity: {memory: {value: 24Gi}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1-old}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gone, attributes: {model: {string: h200}}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n2}
spec:
  driver: gpu.example.com
  nodeName: n2
  pool: {name: n2, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0, attributes: {model: {string: h200}}, capacity: {memory: {value: 141Gi}}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: fabric}
spec:
  driver: net.example.com
  nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}
  pool: {name: fabric, generation: 1, resourceSliceCount: 1}
  devices: [{name: port-0, attributes: {model: {string: h200}}}]
END

h200='device.attributes["gpu.example.com"].model == "h200"'
capture cel --devices "$h200"
same "the devices that a selector selects" \
	$'NODE   DRIVER            POOL   DEVICE\nn1     gpu.example.com   n1     gpu-0\nn2     gpu.example.com   n2     gpu-0' "$out"
same "and those that it cannot judge" $'warning: net.example.com/fabric/port-0: no such key: model
warning: gpu.example.com/n1/gpu-2: no such key: model
2 of 5 devices; 2 could not be judged' "$err"
same "status" 0 $status
same "names of devices" $'gpu.example.com/n1/gpu-1\ngpu.example.com/n1/gpu-2' \
	"$(cel --devices 'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) < 0' -o name 2>"$TMP/name.err")"
matches "with what they have" 'gpu-1 +index=1,model=l4 +memory=24Gi' "$(cel --devices true -o wide 2>&1)"
same "of one driver" net.example.com/fabric/port-0 "$(cel --devices true --driver net.example.com -o name 2>"$TMP/name.err")"
same "what a node can use" $'gpu.example.com/n1/gpu-0\ngpu.example.com/n1/gpu-1\ngpu.example.com/n1/gpu-2\nnet.example.com/fabric/port-0' \
	"$(cel --devices true --node n1 -o name 2>"$TMP/name.err" | sort)"
matches "as a tree" '"device": "gpu-0".*"error": "no such key: model".*"devices": 5' \
	"$(cel --devices "$h200" -o json | tr -d '\n')"
capture cel --devices 'devise.driver == "x"' --server https://127.0.0.1:1
matches "a wrong selector is refused before the cluster is asked" "ERROR: <input>:1:1: undeclared reference to 'devise'" "$err"
capture cel --devices 1
matches "and so is one that does not select" 'must evaluate to bool' "$err"
capture cel --devices true --node nobody
matches "a node that is not there" 'nobody.*not found' "$err"

# --- the API server

class() {
	"$kubectl" apply -f - 2>&1 <<END
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: $1}
spec: {selectors: [{cel: {expression: '$2'}}]}
END
}
matches "a class with a wrong selector is refused with its place" \
	"spec.selectors\[0\].cel.expression: Invalid value: \"device.model == 1\": compilation failed: ERROR: <input>:1:7: undefined field 'model'" \
	"$(class wrong 'device.model == 1')"
matches "one that costs too much, too" 'Forbidden: too complex, exceeds cost limit' \
	"$(class dear 'device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, device.attributes.all(e, true)))))')"
matches "a right one is not" created "$(class right 'device.driver == "gpu.example.com"')"
done_testing
