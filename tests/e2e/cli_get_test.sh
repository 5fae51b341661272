# get and describe: against a server of ours, beside every kubectl at hand, and what they say when things go wrong.
. ./lib.sh
. ./api_lib.sh

start_server lmdb "$TMP/data"
export KUBECONFIG=$kubeconfig
find_kubectls
new=${kubectls[-1]}
dp() { "$DEVPLANE" "$@"; }

put() { "$new" create -f - >"$TMP/put.log" 2>&1 || sed 's/^/# /' "$TMP/put.log"; }
put <<'END'
{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"node-role.kubernetes.io/worker": ""}},
 "spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
 "status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "110", "acme.com/gpu": "2"},
  "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110", "acme.com/gpu": "2"},
  "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
  "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status",
   "lastHeartbeatTime": "2024-01-01T00:00:00Z", "lastTransitionTime": "2024-01-01T00:00:00Z"}]}}
END
pod() {
	put <<END
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "$1", "labels": {"app": "$1", "tier": "x"}, "annotations": {"note": "hello"}},
 "spec": {"nodeName": "n1", "nodeSelector": {"disk": "ssd"}, "automountServiceAccountToken": false,
  "initContainers": [{"name": "prep", "image": "busybox", "command": ["sh", "-c", "true"]}],
  "containers": [{"name": "main", "image": "busybox", "command": ["sleep", "1000"],
   "ports": [{"containerPort": 80}, {"containerPort": 443}],
   "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    {"name": "C", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
   "resources": {"limits": {"cpu": 1, "memory": "64Mi", "acme.com/gpu": 1}, "requests": {"cpu": "500m", "memory": "64Mi"}},
   "livenessProbe": {"httpGet": {"path": "/x", "port": 80}}, "readinessProbe": {"exec": {"command": ["a", "b"]}},
   "volumeMounts": [{"name": "v", "mountPath": "/v"}, {"name": "c", "mountPath": "/c", "readOnly": true}]}],
  "volumes": [{"name": "v", "emptyDir": {}}, {"name": "c", "configMap": {"name": "cm"}}],
  "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}]}}
END
}
pod web
pod another-pod
"$new" proxy --port=0 >"$TMP/proxy.log" 2>&1 &
proxy_pid=$!
wait_line "$TMP/proxy.log" 'Starting to serve on'
proxy=http://$(sed -n 's/^Starting to serve on //p' "$TMP/proxy.log")
running() {
	curl -sf -X PATCH -H 'content-type: application/merge-patch+json' -o "$TMP/patch.log" \
		"$proxy/api/v1/namespaces/default/pods/$1/status" -d @- <<END
{"status": {"phase": "Running", "hostIP": "10.0.0.1", "podIP": "10.1.1.1", "podIPs": [{"ip": "10.1.1.1"}], "qosClass": "Burstable",
 "startTime": "2024-01-01T00:00:00Z", "conditions": [{"type": "Ready", "status": "True"}],
 "containerStatuses": [{"name": "main", "image": "busybox", "imageID": "x", "ready": true, "restartCount": 2, "containerID": "c://1",
  "state": {"running": {"startedAt": "2024-01-01T00:00:00Z"}},
  "lastState": {"terminated": {"exitCode": 3, "reason": "Error", "startedAt": "2024-01-01T00:00:00Z", "finishedAt": "2024-01-01T00:01:00Z"}},
  "allocatedResourcesStatus": [{"name": "acme.com/gpu", "resources": [{"resourceID": "gpu-0", "health": "$2", "message": "$3"}]}]}]}}
END
}
check "a status can be written" running web Unhealthy "too hot"
uid=$(dp get pod web -o 'jsonpath={.metadata.uid}')
matches "jsonpath shows one value" '^[0-9a-f-]{36}$' "$uid"
put <<END
{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "web.1", "namespace": "default"}, "type": "Warning", "reason": "DeviceUnhealthy",
 "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": "web", "namespace": "default", "uid": "$uid"},
 "message": "gpu-0 is Unhealthy: too hot", "source": {"component": "kubelet"}, "count": 3,
 "firstTimestamp": "2024-01-01T00:00:00Z", "lastTimestamp": "2024-01-01T01:00:00Z"}
END
put <<'END'
{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s1"}, "spec": {"driver": "sim.example.com",
 "nodeName": "n1", "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1}, "devices": [{"name": "gpu-0",
 "attributes": {"model": {"string": "X100"}, "cores": {"int": 8}}, "capacity": {"memory": {"value": "16Gi"}},
 "taints": [{"key": "broken", "effect": "NoSchedule"}]}, {"name": "gpu-1"}]}}
END
put <<'END'
{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "gpu"}, "spec": {"devices": {"requests": [
 {"name": "one", "exactly": {"deviceClassName": "gpus", "count": 2, "selectors": [{"cel": {"expression": "device.driver == 'd'"}}]}}]}}}
END
put <<'END'
{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "nic"}, "spec": {"devices": {"requests": [
 {"name": "a", "exactly": {"deviceClassName": "nics"}}, {"name": "b", "exactly": {"deviceClassName": "nics"}}]}}}
END
reported() {
	curl -sf -X PATCH -H 'content-type: application/merge-patch+json' -o "$TMP/patch.log" \
		"$proxy/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/nic/status" -d @- <<END
{"status": {"allocation": {"devices": {"results": [{"request": "a", "driver": "net.devplane.dev", "pool": "n1", "device": "eth1",
  "shareID": "0a1b2c3d-0000-4000-8000-000000000001"}, {"request": "b", "driver": "net.devplane.dev", "pool": "n1", "device": "eth2"}]}},
 "devices": [{"driver": "net.devplane.dev", "pool": "n1", "device": "eth1", "shareID": "0a1b2c3d-0000-4000-8000-000000000001",
  "conditions": [{"type": "Ready", "status": "True", "reason": "Attached", "message": "in the pod", "lastTransitionTime": "2024-01-01T00:00:00Z"},
   {"type": "Calibrated", "status": "Unknown", "reason": "Waiting", "message": "", "lastTransitionTime": "2024-01-01T00:00:00Z"}],
  "networkData": {"interfaceName": "net1", "hardwareAddress": "02:00:00:00:00:01", "ips": ["10.9.0.1/24", "fd00::1/64"]},
  "data": {"network": "blue", "word": "$(printf 'x%.0s' {1..300})", "list": [$(seq -s, 1 40)]}}]}}
END
}
check "a device's status can be written" reported

# Ages tick: two commands may fall into different seconds, so a difference is looked at again. A kubectl can take longer than
# a second on a busy machine, so it is compared with devplane before it and after it.
same_as() {
	local kubectl=$1
	shift
	# shellcheck disable=SC2329 # called by until_true
	once() {
		local before theirs
		before=$("$DEVPLANE" "$@" 2>&1)
		theirs=$("$kubectl" "$@" 2>&1)
		[ "$before" = "$theirs" ] || [ "$("$DEVPLANE" "$@" 2>&1)" = "$theirs" ]
	}
	until_true 10 once "$@" || { diff <("$DEVPLANE" "$@" 2>&1) <("$kubectl" "$@" 2>&1) && false; }
}
for kubectl in "${kubectls[@]}"; do
	v=1.$(minor "$kubectl")
	for args in "pods" "po -o wide" "pods -A" "Pod --show-labels" "pods web another-pod" "pod/web" "pods -L app,tier" "pods -l app=web" \
		"pods --no-headers" "nodes" "ns,nodes" "pod/web node/n1" "pods --field-selector spec.nodeName=n1" "pods -o name" \
		"pods -l app=none" "pods -n kube-system" "nodes,resourceclaims" "resourceclaims -o wide" "node n1 -o wide" "pods.v1. web" \
		"pod web --ignore-not-found" "pod gone --ignore-not-found" "pod web -o jsonpath={.status.phase}"; do
		# shellcheck disable=SC2086 # words
		check "kubectl $v and devplane agree on: get $args" same_as "$kubectl" get $args
	done
	# Templates, columns and sorting: words of a line are separated by "|".
	while IFS='|' read -ra args; do
		check "kubectl $v and devplane agree on: get ${args[*]}" same_as "$kubectl" get "${args[@]}"
	done <<'END'
pods|--sort-by|.metadata.name
pods|--sort-by|{.metadata.creationTimestamp}|-o|name
pods|--sort-by=spec.containers[0].resources.limits.memory|-o|jsonpath={.items[*].metadata.name}
pods|--sort-by=.metadata.labels.app|-o|custom-columns=NAME:.metadata.name,IMAGES:.spec.containers[*].image,LABELS:.metadata.labels,NONE:.x
pods,ns|-o|custom-columns=KIND:.kind,NAME:metadata.name|--no-headers
pod|web|-o|custom-columns=PORTS:{.spec.containers[0].ports}
pods|-l|app=none|-o|custom-columns=NAME:.metadata.name
pods|-o|jsonpath={range .items[*]}{.metadata.name}{"\t"}{.spec.containers[?(@.name=="main")].image}{"\n"}{end}
pods|-o|jsonpath={.items[*].spec.containers[*].ports[*].containerPort} {.kind} {.apiVersion}
pods|-o|jsonpath={.items[0:1].metadata.labels}{.items[-1:].spec}
pods|-o|jsonpath={.items[*]['metadata.name','status.phase']}
pod|web|-o|jsonpath={..containerPort}{.metadata.managedFields[0].operation}{.spec.missing}
pod|web|-o|jsonpath=no braces
END
	same "kubectl $v and devplane agree on: get -o json" \
		"$("$kubectl" get pods -o json | node -p 'JSON.parse(require("fs").readFileSync(0)).items.map(i => i.kind + i.metadata.uid).join()')" \
		"$(dp get pods -o json | node -p 'JSON.parse(require("fs").readFileSync(0)).items.map(i => i.kind + i.metadata.uid).join()')"
done

printf 'NAME  NODE\n.metadata.name   .spec.nodeName\n' >"$TMP/columns"
printf '{.items[*].metadata.name}\n' >"$TMP/template"
check "columns may be in a file" same_as "$new" get pods -o "custom-columns-file=$TMP/columns"
check "a template, too" same_as "$new" get pods -o "jsonpath-file=$TMP/template"
refused() { "$DEVPLANE" get pods "$@" 2>&1 | head -n 1; }
same "an index out of bounds is named" "devplane: jsonpath: array index out of bounds: index 7, length 2" "$(refused -o 'jsonpath={.items[7]}')"
same "a brace that is not closed is named" "devplane: --output: unclosed action" "$(refused -o 'jsonpath={.items')"
same "a range without its end is named" "devplane: --output: a {range} has no {end}" "$(refused -o 'jsonpath={range .items[*]}x')"
same "a column without a path is named" 'devplane: --output: "NAME" is not NAME:PATH' "$(refused -o custom-columns=NAME)"
same "a file that is missing is named" "devplane: --output: cannot read $TMP/gone: No such file or directory" \
	"$(refused -o "jsonpath-file=$TMP/gone")"
same "a field that no object has is named" "devplane: --sort-by: none of the objects has this field" "$(refused --sort-by .nope)"
same "devices can be sorted" $'gpu-1\ngpu-0' "$(dp get devices --sort-by .status.stateReason -o custom-columns=N:.metadata.name --no-headers)"
same "slices can be sorted" s1 "$(dp get resourceslices --sort-by .spec.driver --no-headers | cut -d ' ' -f 1)"

# describe: kubectl's words, and the devices that it leaves out.
without_devices() { sed '/^Devices:$/,/^[A-Z]/{/^Devices:$/d;/^  /d}' <<<"$1"; }
described_alike() {
	# shellcheck disable=SC2329 # called by until_true
	once() { [ "$(without_devices "$(dp describe pod web)")" = "$("$new" describe pod web)" ]; }
	until_true 10 once || { diff <(without_devices "$(dp describe pod web)") <("$new" describe pod web) && false; }
}
check "describe pod reads as kubectl's, but for the devices" described_alike
text=$(dp describe pod web)
matches "describe pod shows devices and their health" \
	$'Devices:\n  Container  Resource      Device  Health     Message\n  -+.*\n  main       acme.com/gpu  gpu-0   Unhealthy  too hot\n' "$text"
matches "describe pod shows events" 'Warning  DeviceUnhealthy  .* \(x3 over .*\)  kubelet  gpu-0 is Unhealthy: too hot' "$text"
same "output that is no terminal has no colours" "" "$(grep $'\033' <<<"$text")"
running web Healthy "fine"$'\033'"[31m" 2>"$TMP/curl.log"
running web Healthy "fi\\u001b[31mne"
same "control characters of values do not reach the terminal" "" "$(dp describe pod web | grep $'\033')"
matches "describe node shows resources, pods and pools of devices" \
	$'default +another-pod +500m \(12%\).*acme.com/gpu +2 +2.*DRA Resources:.*Driver: +sim.example.com\n +Pool: +n1\n.*Total Devices: +2\n.*gpu-0:\n.*Taints: +broken:NoSchedule\n' \
	"$(dp describe node n1)"
for name in gpu-0 n1/gpu-0 sim.example.com/n1/gpu-0; do
	matches "describe device $name shows the device" \
		$'^Name: +gpu-0\nDriver: +sim.example.com\nPool: +n1\nNode: +n1\nSlice: +s1\n.*Status: .*Taints: +broken:NoSchedule\nAttributes:\n.* Model: +X100\nCapacity:\n  Memory: +16Gi' \
		"$(dp describe device "$name")"
done
same "one device can be got by the name that -o name prints" device/sim.example.com/n1/gpu-1 \
	"$(dp get "$(dp get devices gpu-1 -o name)" -o name)"
same "a device that is missing is named" 'devplane: no slice has a device or a pool "gpu-7"; did you mean "gpu-0"?' "$(dp describe device gpu-7 2>&1)"
matches "describe resourceclaim shows what it asks for" $'one +gpus +2 +device.driver == \'d\'\nAllocation: +<none>' \
	"$(dp describe resourceclaim gpu)"
put <<'END'
{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "shared"}, "spec": {"devices": {"requests": [
 {"name": "part", "exactly": {"deviceClassName": "fpga", "capacity": {"requests": {"memory": "4Gi", "shares": "2"}}}},
 {"name": "any", "exactly": {"deviceClassName": "fpga"}}]}}}
END
check "a consumed capacity can be written" curl -sf -X PATCH -H 'content-type: application/merge-patch+json' -o "$TMP/patch.log" \
	"$proxy/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/shared/status" -d '{"status": {"allocation": {"devices": {"results": [
 {"request": "part", "driver": "other.example.com", "pool": "n1", "device": "fpga-1", "shareID": "0a1b2c3d-0000-4000-8000-000000000002",
  "consumedCapacity": {"memory": "4Gi"}}]}}}}'
matches "describe resourceclaim shows requested and consumed capacity" \
	$'Name  Device Class  Count  Capacity             Selectors\n.*part  fpga          1      memory=4Gi,shares=2  <none>\n  any   fpga          1      <none> .*Consumed Capacity:\n +Memory: +4Gi\n' \
	"$(dp describe resourceclaim shared)"
text=$(dp describe resourceclaim nic)
matches "describe resourceclaim shows what drivers report of each device" "Device Status:
  net.devplane.dev/n1/eth1:
    Share ID:          0a1b2c3d-0000-4000-8000-000000000001
    Interface:         net1
    Hardware Address:  02:00:00:00:00:01
    Addresses:         10.9.0.1/24
                       fd00::1/64
    Conditions:
      Type        Status   Reason    Age +Message
      ----        ------   ------    --- +-------
      Ready       True     Attached  [0-9a-z]+ +in the pod
      Calibrated  Unknown  Waiting   [0-9a-z]+ *
    Data:
      network: blue
      word: x{94}\.\.\.
      list:
      - 1
" "$text"
matches "what is long is cut, with a word on where the rest is" "      - 17
      \(cut; all of it is in: get resourceclaim nic -o yaml\)
  net.devplane.dev/n1/eth2:  <nothing reported>
Reserved For:" "$text"
matches "get -o wide shows devices and addresses of claims" 'nic +allocated +[0-9a-z]+ +1/2 ready +10.9.0.1/24,fd00::1/64' \
	"$(dp get resourceclaims -o wide)"
matches "describe resourceslice shows devices" $'Name: +gpu-0\n.*Cores: +8\n +Model: +X100\n.*Memory: +16Gi\n.*Key: +broken\n' \
	"$(dp describe resourceslice/s1)"
matches "get resourceslices shows what is free, and where that is known from" \
	$'Note: no status is published.*\nNAME +NODE +DRIVER +POOL +DEVICES +FREE +PARTIAL +ALLOCATED +UNAVAILABLE +UNHEALTHY +AGE\ns1 +n1 +sim.example.com +n1 +2 +1 +0 +0 +1 +0 ' \
	"$(dp get resourceslices 2>&1)"
same "the gate hides it" "NAME NODE DRIVER POOL AGE" \
	"$(dp get resourceslices --feature-gates DRAResourceAvailabilityVisibility=false 2>&1 | head -n 1 | xargs)"
matches "get resourcepools puts slices together" $'\nn1 +sim.example.com +n1 +1/1 +2 +1 +0 +0 +1 +0 +True +True' "$(dp get resourcepools 2>&1)"
matches "describe resourcepool takes DRIVER/NAME" $'^Name: +n1\nDriver: +sim.example.com\n' "$(dp describe pool/sim.example.com/n1)"
matches "describe pool is short for it" $'^Name: +n1\nDriver: +sim.example.com\n' "$(dp describe pool n1)"
same "claim is short for resourceclaim" "$(dp describe resourceclaim shared)" "$(dp describe claim shared)"
same "claims for resourceclaims" "$(dp get resourceclaims -o name)" "$(dp get claims -o name)"
same "also among other types" "$(dp get resourceclaim/gpu resourceslice/s1 -o name)" "$(dp get claim/gpu slice/s1 -o name)"
same "a claim that is missing is named by its type" "$(dp describe resourceclaim gone 2>&1)" "$(dp describe claim gone 2>&1)"
matches "describe takes the beginning of a name" '^Name: +another-pod' "$(dp describe pod anoth)"
matches "describe knows any kind" $'Kind: +Namespace\n.*\nSpec:\n  finalizers:\n  - kubernetes' "$(dp describe ns default)"

# Slices of a pool whose newest generation is another slice: not given out any more, however they are asked for.
old() {
	put <<END
{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "$1", "labels": {"a": "$1"}}, "spec": {"driver": "old.example.com",
 "allNodes": true, "pool": {"name": "old", "generation": $2, "resourceSliceCount": 1}, "devices": [{"name": "x"}, {"name": "z"}]}}
END
}
published() {
	curl -sf -X PATCH -H 'content-type: application/merge-patch+json' -o "$TMP/patch.log" "$proxy/apis/resource.k8s.io/v1/resourceslices/$1/status" \
		-d '{"status": {"observedGeneration": 1, "devices": [{"name": "x", "state": "Available"}],
			"summary": {"totalDevices": 2, "allocatedDevices": 0, "availableDevices": 1}}}'
}
old old-a 1
check "a slice's status can be written" published old-a
matches "how many devices there are the slice says" 'old-a +old.example.com +old +2 +1[+] +0[+] +0[+] +0[+] +0[+] ' "$(dp get resourceslice old-a)"
"$DEVPLANE" get resourceslices -l a -w >"$TMP/slices" 2>&1 &
slices=$!
wait_line "$TMP/slices" '^old-a '
old old-b 2
check "another slice's status can be written" published old-b
for args in "old-a" "-l a=old-a" "--field-selector metadata.name=old-a"; do
	# shellcheck disable=SC2086 # words
	matches "a slice of an older generation is neither free nor taken: get $args" 'old-a +old.example.com +old +2 +<none> +<none> +<none> +<none> +<none> ' \
		"$(dp get resourceslices $args)"
done
matches "nor is it in a description" 'the pool has a newer generation' "$(dp describe resourceslice old-a)"
wait_line "$TMP/slices" '^old-b .* 2 +1[+] +0[+] '
"$new" label resourceslice old-a touched=1 >"$TMP/label.log"
check "nor in a watch" wait_line "$TMP/slices" '^old-a .* 2 +<none> +<none> '
kill "$slices"
same "without the gate slices have no status: -o json" '' \
	"$(dp get resourceslices -o json --feature-gates DRAResourceAvailabilityVisibility=false | grep '"status"')"
same "without the gate slices have no status: -o jsonpath" '' \
	"$(dp get resourceslice old-b -o 'jsonpath={.status}' --feature-gates DRAResourceAvailabilityVisibility=false)"
matches "with it they do" availableDevices "$(dp get resourceslice old-b -o 'jsonpath={.status}')"
"$new" create clusterrole nodes --verb=get,list --resource=nodes >"$TMP/role.log" 2>&1
"$new" create clusterrolebinding nodes --clusterrole=nodes --user=nora >>"$TMP/role.log" 2>&1
matches "what may not be read of a node is said" $'\nDRA Resources: +<cannot be read: .*forbidden' "$(dp describe node n1 --as nora)"
"$new" create clusterrole one --verb=get --resource=resourceslices.resource.k8s.io >>"$TMP/role.log" 2>&1
"$new" create clusterrolebinding one --clusterrole=one --user=otto >>"$TMP/role.log" 2>&1
matches "who may not list slices is shown one" $'Note: slices cannot be listed.*\n.*\nold-b +old.example.com +old +2 +1[+] +0[+] ' \
	"$(dp get resourceslice old-b --as otto 2>&1)"
matches "in a description, too" 'Available Devices: +1' "$(dp describe resourceslice old-b --as otto 2>&1)"
"$new" delete resourceslices old-a old-b >"$TMP/delete.log"

# An object with the status of a slice names claims to those alone who may read them.
"$new" create -f ../../deploy/availability/definition.yaml >"$TMP/crd.log" 2>&1
# shellcheck disable=SC2329 # called by until_true
served() { "$new" get resourceslicestatuses >"$TMP/crd.log" 2>&1; }
check "the type is served" until_true 20 served
put <<END
{"apiVersion": "devplane.dev/v1alpha1", "kind": "ResourceSliceStatus", "metadata": {"name": "s1", "ownerReferences": [
 {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "name": "s1", "uid": "$(dp get resourceslice s1 -o 'jsonpath={.metadata.uid}')"}]},
 "spec": {"driver": "sim.example.com", "pool": {"name": "n1", "generation": 1}},
 "status": {"observedGeneration": 1, "summary": {"totalDevices": 2, "allocatedDevices": 1, "availableDevices": 1}, "devices": [
  {"name": "gpu-0", "state": "Allocated", "allocations": [{"claimNamespace": "secret", "claimName": "ghost", "claimUID": "u"}]},
  {"name": "gpu-1", "state": "Available"}]}}
END
"$new" create clusterrole statuses --verb=get,list --resource=resourceslicestatuses.devplane.dev >"$TMP/role.log" 2>&1
"$new" create clusterrole slices --verb=get,list --resource=resourceslices.resource.k8s.io >>"$TMP/role.log" 2>&1
for user in sue sam; do "$new" create clusterrolebinding "slices-$user" --clusterrole=slices --user=$user >>"$TMP/role.log" 2>&1; done
"$new" create clusterrolebinding statuses --clusterrole=statuses --user=sue >>"$TMP/role.log" 2>&1
matches "describe resourceslicestatus is the status of a slice" $'Kind: +ResourceSliceStatus\n.*Total Devices: +2\n.*Claim Name: +ghost\n' \
	"$(dp describe resourceslicestatus s1)"
text=$(dp describe resourceslicestatus s1 --as sue)
matches "without claims that may not be named" 'State: +Allocated \(1 claim\)' "$text"
same "anywhere" "" "$(grep -e ghost -e secret <<<"$text")"
same "and without the gate nothing of it" "" \
	"$(dp describe resourceslicestatus s1 --feature-gates DRAResourceAvailabilityVisibility=false | grep -e State -e ghost)"
matches "a status that may not be read is not one that is absent" \
	'Note: objects that have statuses cannot be read: .*forbidden.*; what is free is unknown: no status is published, and claims' \
	"$(dp get resourceslices --as sam 2>&1)"
"$new" delete crd resourceslicestatuses.devplane.dev >"$TMP/delete.log"

# A type of the server comes before the short names.
put <<'END'
{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "claims.insurance.example.com"},
 "spec": {"group": "insurance.example.com", "scope": "Namespaced", "names": {"plural": "claims", "singular": "claim", "kind": "Claim"},
  "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}
END
# shellcheck disable=SC2329 # called by until_true
served() { "$new" get claims.insurance.example.com >"$TMP/crd.log" 2>&1; }
check "a type claims is served" until_true 20 served
same "claims are then of that type" "" "$(dp get claims -o name 2>/dev/null)"
"$new" delete crd claims.insurance.example.com >"$TMP/delete.log"

# A watch: the same lines as kubectl's, in the same columns.
"$DEVPLANE" get pods -w >"$TMP/ours" 2>"$TMP/ours.err" &
ours=$!
"$new" get pods -w >"$TMP/theirs" 2>&1 &
theirs=$!
wait_line "$TMP/ours" '^web '
wait_line "$TMP/theirs" '^web '
pod a-pod-with-a-long-name
wait_line "$TMP/ours" '^a-pod-with-a-long-name '
wait_line "$TMP/theirs" '^a-pod-with-a-long-name '
kill "$ours" "$theirs"
same "a watch shows what kubectl's shows" "$(awk '{ $NF = ""; print }' "$TMP/theirs")" "$(awk '{ $NF = ""; print }' "$TMP/ours")"
matches "columns of a watch stay as wide as they were" $'\na-pod-with-a-long-name   0/1     Pending   0 ' "$(cat "$TMP/ours")"
"$DEVPLANE" get pods --watch-only -o name >"$TMP/only" &
only=$!
# It has begun once it sees a change; changes go on until then.
n=0
seen() { "$new" label --overwrite pod web "n=$((n++))" >"$TMP/label.log" && grep -q '^pod/web$' "$TMP/only"; }
check "--watch-only shows changes" until_true 10 seen
kill "$only"

# An error message says what to do.
fails() {
	local name=$1 code=$2 message=$3
	shift 3
	capture "$DEVPLANE" "$@"
	same "$name: exit code" "$code" "$status"
	matches "$name: message" "$message" "$err"
	same "$name: nothing on standard output" "" "$out"
}
fails "mistyped type" 1 '^devplane: the server doesn.t have a resource type "pdos"; did you mean "pods"\?$' get pdos
fails "no such object" 1 '^devplane: pods "gone" not found in namespace "default"; use -n NAME for another namespace, -A for all$' get pod gone
fails "no such object to describe" 1 '^devplane: pods "gone" not found in namespace "default"' describe pod gone
fails "no server" 1 '^devplane: cannot reach https://127.0.0.1:1: .*; is the server running\? Its address comes from --server$' \
	get pods --server https://127.0.0.1:1
fails "no kubeconfig" 1 'cannot read /nowhere' get pods --kubeconfig /nowhere
KUBECONFIG=/nowhere:/gone fails "KUBECONFIG names a missing file" 1 'names "/nowhere:/gone", where no file exists: correct it, or unset it' get pods
fails "no type" 2 'name a type of objects' get
fails "bad output" 2 '"frob" is not one of wide, json, yaml' get pods -o frob
fails "name and selector" 2 'exclude each other' get pod web -l a=b
fails "two ways of naming" 2 'write either TYPE NAME.. or TYPE/NAME..' get pods pod/web
capture "$DEVPLANE" get pods web gone
same "what is there is shown beside what is not: exit code" 1 "$status"
matches "what is there is shown beside what is not" '^NAME .*'$'\n''web ' "$out"

same "each missing object has one message" $'devplane: pods "gone" not found\ndevplane: pods "lost" not found' \
	"$(dp get pods gone web lost 2>&1 >"$TMP/shown" | sed 's/ in namespace.*//')"
same "a single object that cannot be deleted has one message" 'devplane: pod/gone: pods "gone" not found' "$(dp delete pod gone 2>&1)"
same "an address is named once" "1" "$(dp get pods --server https://127.0.0.1:1 2>&1 | grep -o 'cannot connect to' | wc -l)"

kill "$proxy_pid"
stop "$pid"
done_testing
