# explain-fit: claims and pods that kubectl made, against what the devices of three nodes allow.
. ./lib.sh
. ./api_lib.sh

start_server lmdb "$TMP/data"
export KUBECONFIG=$kubeconfig
find_kubectls
kubectl=${kubectls[-1]}
# put: notes an object; create_all makes all that were noted.
put() { cat >>"$TMP/objects.json"; }
create_all() {
	"$kubectl" create -f "$TMP/objects.json" >"$TMP/put.log" 2>&1 || sed 's/^/# /' "$TMP/put.log"
	rm "$TMP/objects.json"
}
fit() { "$DEVPLANE" explain-fit "$@" 2>&1; }
# contains NAME TEXT GOT
contains() {
	[[ $3 == *"$2"* ]] && ok "$1" || not_ok "$1" "want in it: $2"$'\n'"got: $3"
}

# make_node NAME [EXTRA-SPEC] [LABEL]
make_node() {
	put <<END
{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "$1", "labels": {"disk": "${3:-hdd}"}}, "spec": {${2:-}}}
END
}
# slice NODE DEVICES
slice() {
	put <<END
{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "$1-gpu"},
 "spec": {"driver": "gpu.example.com", "nodeName": "$1", "pool": {"name": "$1", "generation": 1, "resourceSliceCount": 1},
  "devices": [$2]}}
END
}
small='"attributes": {"model": {"string": "small"}}'
large='"attributes": {"model": {"string": "large"}}'
make_node n1
make_node n2
make_node n3 '"unschedulable": true' ssd
slice n1 "{\"name\": \"gpu-0\", $small}, {\"name\": \"gpu-1\", $large}"
slice n2 "{\"name\": \"gpu-0\", $small}, {\"name\": \"gpu-1\", $small, \"taints\": [{\"key\": \"example.com/hot\", \"effect\": \"NoExecute\"}]}"
slice n3 "{\"name\": \"gpu-0\", $large}"
put <<'END'
{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"},
 "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]}}
END
# claim NAME COUNT [MODEL]
claim() {
	local selectors=
	[ -z "${3:-}" ] || selectors=", \"selectors\": [{\"cel\": {\"expression\": \"device.attributes['gpu.example.com'].model == '$3'\"}}]"
	put <<END
{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "$1"},
 "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": $2 $selectors}}]}}}
END
}
# Old kubectls cannot write a status; through a proxy anybody can.
"$kubectl" proxy --port=0 >"$TMP/proxy.log" 2>&1 &
wait_line "$TMP/proxy.log" 'Starting to serve on'
proxy=http://$(sed -n 's/^Starting to serve on //p' "$TMP/proxy.log")
# status NAMESPACE CLAIM JSON: merges it into the claim's status.
status() {
	curl -sf -X PATCH -H 'content-type: application/merge-patch+json' -o "$TMP/patch.log" \
		"$proxy/apis/resource.k8s.io/v1/namespaces/$1/resourceclaims/$2/status" -d "{\"status\": $3}" ||
		not_ok "the status of claim $2 should be written"
}
# allocate CLAIM POOL DEVICE
allocate() {
	status default "$1" "{\"allocation\": {
		\"devices\": {\"results\": [{\"request\": \"gpu\", \"driver\": \"gpu.example.com\", \"pool\": \"$2\", \"device\": \"$3\"}]},
		\"nodeSelector\": {\"nodeSelectorTerms\": [{\"matchFields\": [{\"key\": \"metadata.name\", \"operator\": \"In\", \"values\": [\"$2\"]}]}]}},
		\"reservedFor\": [{\"resource\": \"pods\", \"name\": \"train-0\", \"uid\": \"u1\"}]}"
}
claim one 1
claim big 1 large
claim two 2
claim five 5
claim held 1
create_all

out=$(fit one)
same "a claim says where it fits" "claim default/one fits on 3 of 3 nodes: n1, n2, n3" "$(head -n 1 <<<"$out")"
out=$(fit claim/big)
same "only some nodes have what is asked for" "claim default/big fits on 2 of 3 nodes: n1, n3" "$(head -n 1 <<<"$out")"
contains "and the others' selectors are told" "selector of the request is false" "$out"
out=$(fit two)
same "the first line answers" "claim default/two fits on 1 of 3 nodes: n1" "$(head -n 1 <<<"$out")"
contains "the taint is printed with its device" "1 device Tainted: gpu-1 (example.com/hot:NoExecute)" "$out"
out=$(fit five)
same "no node is enough" "claim default/five fits on 0 of 3 nodes" "$(head -n 1 <<<"$out")"

allocate held n1 gpu-1
out=$(fit resourceclaim/held)
same "an allocated claim says what it has" \
	"claim default/held is allocated: gpu-1 of pool n1 (driver gpu.example.com), for pod train-0" "$(head -n 1 <<<"$out")"
out=$(fit two)
same "what others hold is not free" "claim default/two fits on 0 of 3 nodes" "$(head -n 1 <<<"$out")"
contains "and the holder is named" "in use: gpu-1 (claim default/held)" "$out"
out=$(fit two --node n1)
same "one node alone" "claim default/two does not fit on node n1" "$(head -n 1 <<<"$out")"
out=$(fit one --node n1)
contains "what it would get there" "claim one would get: gpu-0 of pool n1 (driver gpu.example.com)" "$out"
# Every group that does not fit has its reasons as data, with the names that docs/cli.md lists.
reasons() {
	fit "$@" -o json | node -e '
		const known = [...require("fs").readFileSync("../../docs/cli.md", "utf8").matchAll(/^\| `([A-Z]\w+)` \|/gm)].map((m) => m[1])
		const { groups } = JSON.parse(require("fs").readFileSync(0))
		const told = groups.filter((g) => !g.fits && !g.nodeReason).map((g) => g.requests.map((r) => {
			if (r.fault) return `${r.request}: ${r.fault}`
			for (const { reason, count, devices } of r.reasons)
				if (!known.includes(reason) || !(count > 0) || (devices && devices.length > count)) throw new Error(reason)
			return `${r.request} wants ${r.wants ?? "all"} of ${r.deviceClass}, ${r.fits}: ${r.reasons.map((x) => `${x.count} ${x.reason}`)}`
		}).join())
		console.log(told.join("; "))'
}
matches "json has the reasons as data" '^[a-z]+ wants [0-9]+ of [a-z.]+, [0-9]+: [0-9]+ [A-Z]' "$(reasons big)"
same "json has the nodes" '["n1","n2","n3"]' "$(fit one -o json | node -e '
	const o = JSON.parse(require("fs").readFileSync(0)); console.log(JSON.stringify(o.fits.sort()))')"
same "json has what it would get on one node" 'one gpu-0' "$(fit one --node n1 -o json | node -e '
	const [w] = JSON.parse(require("fs").readFileSync(0)).wouldGet; console.log(w.claim, w.allocation.devices.results[0].device)')"
matches "yaml, too" "^answer: 'claim default/one fits on 3 of 3 nodes" "$(fit one -o yaml | grep answer)"

# pod NAME CLAIMS [SPEC]
pod() {
	put <<END
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "$1"}, "spec": {"automountServiceAccountToken": false, ${3:-}
 "containers": [{"name": "c", "image": "busybox"}], "resourceClaims": [$2]}}
END
}
put <<'END'
{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "tmpl"},
 "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1,
  "selectors": [{"cel": {"expression": "device.attributes['gpu.example.com'].model == 'large'"}}]}}]}}}}
END
pod named '{"name": "g", "resourceClaimName": "one"}'
pod made '{"name": "g", "resourceClaimTemplateName": "tmpl"}'
pod ssd '{"name": "g", "resourceClaimName": "one"}' '"nodeSelector": {"disk": "ssd"},'
pod lost '{"name": "g", "resourceClaimName": "nothing"}'
pod both '{"name": "g", "resourceClaimName": "one"}, {"name": "h", "resourceClaimName": "held"}'
pod none ''
create_all
out=$(fit pod/named)
same "a pod's claims" "pod default/named waits: its claims fit on 2 of 3 nodes: n1, n2" "$(head -n 1 <<<"$out")"
contains "a node may be cordoned" "the node is unschedulable" "$out"
contains "though its devices would do" "(devices would be there)" "$out"
contains "what was not looked at is said" "Not considered: CPU" "$out"
curl -sf -X PATCH -H 'content-type: application/merge-patch+json' -o "$TMP/patch.log" "$proxy/api/v1/namespaces/default/pods/made/status" \
	-d '{"status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}]}}'
out=$(fit pod made)
contains "the scheduler's own words are there" "The scheduler says: 0/3 nodes are available" "$out"
same "a claim that is yet to be made from its template" "pod default/made waits: its claims fit on 0 of 3 nodes" "$(head -n 1 <<<"$out")"
out=$(fit pod/ssd)
contains "a node selector" "the node does not match the pod's node selector or affinity" "$out"
same "a claim that is missing" "pod default/lost waits: claim default/nothing does not exist" "$(fit pod/lost | head -n 1)"
out=$(fit pod/both)
same "an allocation ties a pod to its node" "pod default/both waits: its claims fit on 1 of 3 nodes: n1" "$(head -n 1 <<<"$out")"
contains "and the others are told why" "claim held is allocated for other nodes" "$out"
contains "no claims" "it has no claims" "$(fit pod/none)"

# Devices of a node that does not exist: the reason is the one that get devices prints.
slice gone "{\"name\": \"gpu-0\", $large}, {\"name\": \"gpu-1\", $small}"
put <<END
{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "each"},
 "spec": {"driver": "gpu.example.com", "perDeviceNodeSelection": true, "pool": {"name": "each", "generation": 1, "resourceSliceCount": 1},
  "devices": [{"name": "here", "nodeName": "n2", $large}, {"name": "lost", "nodeName": "gone", $large}]}}
END
create_all
same "get devices says that the node is gone" "2 NodeGone" "$("$DEVPLANE" get devices gone --no-headers | grep -o NodeGone | sort | uniq -c | xargs)"
out=$(fit five)
same "nodes that are gone do not count" "claim default/five fits on 0 of 3 nodes" "$(head -n 1 <<<"$out")"
contains "but are explained" $'node gone:\n  the node does not exist\n  request "gpu" wants 5 devices of class gpu, 0 fit\n    3 devices NodeGone: gpu-0, gpu-1, lost\n' "$out"
contains "a device of a slice that others reach names its node, too" "1 device NodeGone: lost" "$(fit five --node n2)"
out=$(fit big --node gone)
same "one that is gone can be asked for" "claim default/big does not fit on node gone" "$(head -n 1 <<<"$out")"
contains "with the same reason" "2 devices NodeGone: gpu-0, lost" "$out"
same "json has it" "the node does not exist" "$(fit big -o json | node -p 'JSON.parse(require("fs").readFileSync(0)).groups.find((g) => g.nodes[0] === "gone").nodeReason')"
"$kubectl" delete resourceslice gone-gpu each >"$TMP/put.log" 2>&1

# Devices of a node that is unreachable, likewise.
make_node away '"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}]'
slice away "{\"name\": \"gpu-0\", $large}"
create_all
same "get devices says that the node is unreachable" "1 NodeUnreachable" "$("$DEVPLANE" get devices away --no-headers | grep -o NodeUnreachable | sort | uniq -c | xargs)"
out=$(fit big)
contains "a claim does not fit there, though the device would do" $'node away:\n  the node is unreachable\n  request "gpu" wants 1 device of class gpu, 0 fit\n    1 device NodeUnreachable: gpu-0\n' "$out"
same "one that is unreachable can be asked for" "claim default/big does not fit on node away" "$(fit big --node away | head -n 1)"
contains "a pod that does not tolerate the taint gets both reasons" "the node is unreachable; the pod does not tolerate the node's taint node.kubernetes.io/unreachable:NoSchedule" "$(fit pod/named)"
"$kubectl" delete node/away resourceslice/away-gpu >"$TMP/put.log" 2>&1

# Mistakes.
contains "a claim that there is not" 'resourceclaims.resource.k8s.io "nope" not found in namespace "default"' "$(fit nope)"
contains "another type" "only claims and pods can be explained" "$(fit node/n1)"
contains "no such type" "doesn't have a resource type" "$(fit nonsense/x)"
contains "nothing at all" "too few arguments" "$(fit)"
contains "a node that there is not" 'nodes "nope" not found' "$(fit one --node nope)"

# The command says which objects the user may not read.
"$kubectl" create role viewer --verb=get,list --resource=pods,resourceclaims.resource.k8s.io >"$TMP/role.log" 2>&1
"$kubectl" create rolebinding viewer --role=viewer --user=jane >>"$TMP/role.log" 2>&1
"$kubectl" create clusterrole devices --verb=get,list --resource=resourceslices.resource.k8s.io,deviceclasses.resource.k8s.io >>"$TMP/role.log" 2>&1
"$kubectl" create clusterrolebinding devices --clusterrole=devices --user=jane >>"$TMP/role.log" 2>&1
out=$(fit one --as jane)
contains "without all claims" "Note: cannot read claims of other namespaces than default" "$out"
contains "and without nodes" "Note: cannot read nodes" "$out"
same "there still is an answer, as far as it is known" "claim default/one may fit on 3 of 3 nodes: n1, n2, n3" "$(head -n 1 <<<"$out")"
same "json says that, too" true "$(fit one --as jane -o json | node -p 'JSON.parse(require("fs").readFileSync(0)).uncertain')"

# A class that offers its devices as an extended resource; and one whose devices it does not select are not held against it.
put <<'END'
{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "small"}, "spec": {"extendedResourceName": "example.com/small",
 "selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com' && device.attributes['gpu.example.com'].model == 'small'"}}]}}
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "extended"}, "spec": {"automountServiceAccountToken": false,
 "containers": [{"name": "c", "image": "busybox", "resources": {"limits": {"example.com/small": "2"}}}]}}
END
create_all
out=$(fit pod/extended)
same "an extended resource of a class is a claim" "pod default/extended waits: its claims fit on 0 of 3 nodes" "$(head -n 1 <<<"$out")"
contains "its request says what is missing" 'wants 2 devices of class small, 1 fits' "$out"
contains "what it was taken for is said" "example.com/small is taken for devices of class small" "$out"
same "devices of other kinds are not in use for it" "" "$(grep 'in use' <<<"$out")"

# Devices that others hold are known from the status of slices, if they have one.
"$kubectl" create namespace secret >>"$TMP/role.log" 2>&1
# slice_status NODE DEVICE-STATUSES TOTAL
slice_status() {
	curl -sf -X PATCH -H 'content-type: application/merge-patch+json' -o "$TMP/patch.log" \
		"$proxy/apis/resource.k8s.io/v1/resourceslices/$1-gpu/status" \
		-d "{\"status\": {\"observedGeneration\": 1, \"summary\": {\"totalDevices\": $3}, \"devices\": [$2]}}" ||
		not_ok "the status of slice $1 should be written"
}
# taken DEVICE: by a claim that nobody may read
taken() {
	echo "{\"name\": \"$1\", \"state\": \"Allocated\", \"allocations\": [{\"claimNamespace\": \"secret\", \"claimName\": \"ghost\", \"claimUID\": \"u-$1\", \"request\": \"r\"}]}"
}
slice_status n1 "$(taken gpu-0), $(taken gpu-1)" 2
same "a slice without a status may hide something" "claim default/one may fit on 2 of 3 nodes: n2, n3" "$(fit one --as jane | head -n 1)"
slice_status n2 "$(taken gpu-0)" 2
slice_status n3 "$(taken gpu-0)" 1
out=$(fit one --as jane)
same "what statuses tell is not free" "claim default/one fits on 0 of 3 nodes" "$(head -n 1 <<<"$out")"
contains "nor is its holder named" "in use" "$out"
same "nowhere" "" "$(grep -e ghost -e secret <<<"$out")"
contains "who has it is counted" "gpu-0 (1 claim)" "$(fit one --as jane --node n3)"
contains "the note says how it is known" "their devices are known from the status of slices" "$out"
# One may get claims and not list them, anywhere.
"$kubectl" create role getter --verb=get --resource=resourceclaims.resource.k8s.io >>"$TMP/role.log" 2>&1
"$kubectl" create rolebinding getter --role=getter --user=gina >>"$TMP/role.log" 2>&1
"$kubectl" create clusterrolebinding gina --clusterrole=devices --user=gina >>"$TMP/role.log" 2>&1
out=$(fit one --as gina)
same "one claim can be explained without a list of claims" "claim default/one fits on 0 of 3 nodes" "$(head -n 1 <<<"$out")"
contains "and that is said" "Note: cannot read claims" "$out"
# A user who may list claims but not get them does not see their names.
"$kubectl" create clusterrole lister --verb=list --resource=resourceclaims.resource.k8s.io >>"$TMP/role.log" 2>&1
"$kubectl" create clusterrolebinding lister --clusterrole=lister --user=gina >>"$TMP/role.log" 2>&1
"$kubectl" delete rolebinding getter >>"$TMP/role.log" 2>&1
"$kubectl" create role one --verb=get --resource=resourceclaims.resource.k8s.io --resource-name=two >>"$TMP/role.log" 2>&1
"$kubectl" create rolebinding one --role=one --user=gina >>"$TMP/role.log" 2>&1
contains "who may not get claims is told how many there are" "in use: gpu-1 (1 claim)" "$(fit two --as gina --node n1)"
contains "a gate that others know is known" "claim default/one fits on" "$(fit one --feature-gates DRAResourceAvailabilityVisibility=false)"
contains "but not without slices" "forbidden" "$(fit one --as nobody)"
done_testing
