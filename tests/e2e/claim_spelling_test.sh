# Network data in a claim's status under both of its spellings, and questions about who may write it, with Debian's
# kubectl and with a current one.
. ./lib.sh
. ./api_lib.sh

# k ARGS ..: kubectl as the administrator, with a discovery cache of this test's.
k() {
	HOME=$TMP/home "$kubectl" --kubeconfig "$kubeconfig" --cache-dir "$TMP/home/$label" "$@"
}

device='"driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0"'
path=/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/net/status

# document NETWORK: the claim, allocated, with this network data.
document() {
	cat <<-END
		{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "net", "namespace": "default"},
		"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "c"}}]}},
		"status": {"allocation": {"devices": {"results": [{"request": "gpu", $device}]}}, "devices": [{$device, "networkData": $1}]}}
	END
}

# network: the data as kubectl shows it, under each of the names.
network() {
	k get resourceclaim net -o 'jsonpath={range .status.devices[*].networkData}{.ips[*]} {.addresses[*]} {.hardwareAddress} {.hwAddress}{end}'
}

# shows CASE N: both names have the N-th address.
shows() {
	same "$label: $1" "10.0.0.$2/24 10.0.0.$2/24 00:00:00:00:00:0$2 00:00:00:00:00:0$2" "$(network)"
}

kep() { echo "{\"addresses\": [\"10.0.0.$1/24\"], \"hwAddress\": \"00:00:00:00:00:0$1\"}"; }
upstream() { echo "{\"ips\": [\"10.0.0.$1/24\"], \"hardwareAddress\": \"00:00:00:00:00:0$1\"}"; }

by_update() {
	local n=0 spell
	document "{}" | k create -f - >/dev/null 2>"$TMP/create.err"
	for spell in upstream kep; do
		n=$((n + 1))
		document "$($spell $n)" | k replace --raw "$path" -f - >/dev/null 2>"$TMP/replace.err"
		shows "an update by $spell's names" $n
	done
}

by_patch() {
	local n=2 spell type value
	if [ "$(minor "$kubectl")" -lt 24 ]; then
		skip "$label: patches of the status" "this kubectl has no --subresource"
		return
	fi
	for spell in upstream kep; do
		for type in merge strategic json; do
			n=$((n + 1))
			value="{\"status\": {\"devices\": [{$device, \"networkData\": $($spell $n)}]}}"
			[ $type != json ] || value="[{\"op\": \"replace\", \"path\": \"/status/devices/0/networkData\", \"value\": $($spell $n)}]"
			capture k patch resourceclaim net --subresource=status --type=$type -p "$value"
			shows "a $type patch by $spell's names" $n
		done
	done
	capture k patch resourceclaim net --subresource=status --type=json -p '[{"op": "remove", "path": "/status/devices/0/networkData/addresses"}]'
	same "$label: what is removed under one name is gone under both" "  00:00:00:00:00:08 00:00:00:00:00:08" "$(network)"
}

# can WANT WHO ARGS ..: what kubectl says to the question.
can() {
	local want=$1 who=$2
	shift 2
	capture k auth can-i "$@" --as "$who"
	same "$label: may $who $*" "$want" "$out"
}

who_may() {
	k create clusterrole kep --verb=update-device-status --resource=drivers.resource.k8s.io --resource-name=gpu.example.com >/dev/null 2>"$TMP/role.err"
	k create clusterrolebinding kep --clusterrole=kep --user=kim >/dev/null
	k create -f - >/dev/null <<-END
		apiVersion: rbac.authorization.k8s.io/v1
		kind: ClusterRole
		metadata: {name: near}
		rules: [{apiGroups: [resource.k8s.io], resources: [resourceclaims/driver], resourceNames: [gpu.example.com],
		  verbs: ["associated-node:update", "associated-node:patch"]}]
	END
	k create clusterrolebinding near --clusterrole=near --user=nel >/dev/null
	can yes kim update-device-status drivers.resource.k8s.io/gpu.example.com
	can no kim update-device-status drivers.resource.k8s.io/nic.example.com
	can no nel update-device-status drivers.resource.k8s.io/gpu.example.com
	can yes nel associated-node:update resourceclaims.resource.k8s.io/gpu.example.com --subresource=driver
	can no nel arbitrary-node:update resourceclaims.resource.k8s.io/gpu.example.com --subresource=driver
	capture k api-resources --verbs=list -o name
	same "$label: nobody tries to list drivers" 0 "$(grep -c '^drivers' <<<"$out")"
	capture k api-resources --api-group=resource.k8s.io --verbs=update-device-status -o name
	same "$label: api-resources shows them" drivers.resource.k8s.io "$out"
}

find_kubectls
for kubectl in "${kubectls[@]}"; do
	label="kubectl 1.$(minor "$kubectl")"
	start_server lmdb "$TMP/lmdb-$(minor "$kubectl")"
	server=$pid
	by_update
	by_patch
	who_may
	stop "$server"
	same "$label: the server ends in order" 0 "$status"
done
done_testing
