# How people change what is there with kubectl: apply, diff, replace, label, set, scale, explain; with Debian's and a current one.
. ./lib.sh
. ./api_lib.sh

# k ARGS ..: kubectl as the administrator, with a discovery cache of this test's.
k() {
	HOME=$TMP/home "$kubectl" --kubeconfig "$kubeconfig" --cache-dir "$TMP/home/$label" "$@"
}

deployment() { # IMAGE REPLICAS [LINE]: a container in front, which the LINE may replace
	cat <<-END
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: web, labels: {app: web, tier: front}}
		spec:
		  replicas: $2
		  selector: {matchLabels: {app: web}}
		  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2, maxUnavailable: 0}}
		  template:
		    metadata: {labels: {app: web}}
		    spec:
		      containers:
		      ${3:-- {name: log, image: "example.com/log:1"\}}
		      - name: main
		        image: $1
		        env: [{name: A, value: "1"}, {name: B, value: "2"}]
		        ports: [{containerPort: 80}, {containerPort: 81}]
		      volumes: [{name: data, emptyDir: {}}]
	END
}

# at PATH: of the deployment
at() {
	k get deployment web -o "jsonpath=$1"
}

apply_is_a_three_way_merge() {
	capture k apply -f - < <(deployment example.com/app:1 1)
	same "$label: apply creates" "deployment.apps/web created" "$out"
	matches "$label: ... and says that no controller runs here" "Warning: nothing acts on deployments" "$err"
	capture k apply -f - < <(deployment example.com/app:1 1)
	same "$label: apply of the same changes nothing" "deployment.apps/web unchanged" "$out$err"
	k patch deployment web -p '{"metadata":{"labels":{"by":"hand"}},"spec":{"template":{"spec":{"containers":[{"name":"side","image":"example.com/side:1"}]}}}}' >/dev/null
	same "$label: a container that others add comes first" "side log main" "$(at '{.spec.template.spec.containers[*].name}')"

	capture k apply -f - < <(deployment example.com/app:2 1 | sed -e 's/, tier: front//' -e 's/, {containerPort: 81}//' -e 's/{name: A, value: "1"}, //')
	same "$label: apply configures" "deployment.apps/web configured" "$out$err"
	same "$label: a field that changed is changed" example.com/app:2 "$(at '{.spec.template.spec.containers[?(@.name=="main")].image}')"
	same "$label: a label that left the manifest is gone" "web hand" "$(at '{.metadata.labels.app} {.metadata.labels.by}{.metadata.labels.tier}')"
	same "$label: a port that left the manifest is gone" 80 "$(at '{.spec.template.spec.containers[?(@.name=="main")].ports[*].containerPort}')"
	same "$label: a variable that left the manifest is gone" B "$(at '{.spec.template.spec.containers[?(@.name=="main")].env[*].name}')"
	same "$label: what others added stays" "side log main" "$(at '{.spec.template.spec.containers[*].name}')"
	same "$label: what was filled in stays" "File ClusterFirst" "$(at '{.spec.template.spec.containers[?(@.name=="main")].terminationMessagePolicy} {.spec.template.spec.dnsPolicy}')"

	capture k apply -f - < <(deployment example.com/app:2 1 '- {name: init, image: "example.com/init:1"}')
	same "$label: apply replaces an element" "deployment.apps/web configured" "$out$err"
	same "$label: the old element is gone, the new one in its place" "side init main" "$(at '{.spec.template.spec.containers[*].name}')"
	capture k apply -f - < <(deployment example.com/app:2 1 | sed -e 's/emptyDir: {}/hostPath: {path: \/srv}/' -e 's/strategy: .*/strategy: {type: Recreate}/')
	same "$label: apply changes members that exclude each other" "deployment.apps/web configured" "$out$err"
	same "$label: the old source of the volume is gone" "/srv" "$(at '{.spec.template.spec.volumes[0].hostPath.path}{.spec.template.spec.volumes[0].emptyDir}')"
	same "$label: the old strategy is gone" Recreate "$(at '{.spec.strategy.type}{.spec.strategy.rollingUpdate}')"
}

diff_tells_what_apply_would_do() {
	deployment example.com/app:2 1 >"$TMP/web.yaml"
	k apply -f "$TMP/web.yaml" >/dev/null
	capture k diff -f "$TMP/web.yaml"
	same "$label: diff of nothing" "0:" "$status:$out"
	deployment example.com/app:3 1 >"$TMP/web.yaml"
	capture k diff -f "$TMP/web.yaml"
	same "$label: diff of something" 1 "$status"
	matches "$label: diff shows what would change" '-.*image: example.com/app:2.*\+.*image: example.com/app:3' "${out//$'\n'/ }"
	same "$label: diff changes nothing" example.com/app:2 "$(at '{.spec.template.spec.containers[?(@.name=="main")].image}')"
	sed 's/replicas: 1/replicas: many/' "$TMP/web.yaml" >"$TMP/bad.yaml"
	capture k diff -f "$TMP/bad.yaml"
	[ "$status" -gt 1 ]
	same "$label: diff of what is refused fails" 0 $?
}

labels_and_annotations() {
	capture k label deployment web zone=back
	matches "$label: label" '^deployment.apps/web labeled' "$out$err"
	capture k label deployment web zone=edge
	matches "$label: label does not overwrite" "already has a value \(back\)" "$out$err"
	capture k label deployment web zone=edge --overwrite
	matches "$label: label --overwrite" '^deployment.apps/web labeled' "$out$err"
	same "$label: the label is overwritten" edge "$(at "{.metadata.labels.zone}")"
	capture k label deployment web zone-
	matches "$label: label key-" '^deployment.apps/web (un)?labeled' "$out$err"
	same "$label: the label is removed" "" "$(at "{.metadata.labels.zone}")"
	capture k annotate deployment web note=one
	capture k annotate deployment web note=two --overwrite
	same "$label: annotate --overwrite" two "$(at '{.metadata.annotations.note}')"
	capture k annotate deployment web note-
	same "$label: annotate key-" "" "$(at '{.metadata.annotations.note}')"
}

set_and_scale() {
	local generation
	generation=$(at '{.metadata.generation}')
	capture k set image deployment/web main=example.com/app:9
	matches "$label: set image" '^deployment.apps/web image updated' "$out$err"
	same "$label: the image is set, and no other" "example.com/log:1 example.com/app:9" "$(at '{.spec.template.spec.containers[?(@.name=="log")].image} {.spec.template.spec.containers[?(@.name=="main")].image}')"
	same "$label: that is one generation more" $((generation + 1)) "$(at '{.metadata.generation}')"
	capture k set env deployment/web -c main C=3 A-
	same "$label: set env" "B C" "$(at '{.spec.template.spec.containers[?(@.name=="main")].env[*].name}')"
	capture k scale deployment web --replicas=3
	matches "$label: scale" '^deployment.apps/web scaled' "$out$err"
	same "$label: the count is set" 3 "$(at '{.spec.replicas}')"
	capture k scale deployment web --current-replicas=2 --replicas=5
	matches "$label: scale with a wrong current count" 'Expected replicas to be 2, was 3' "$out$err"
	capture k scale deployment web --current-replicas=3 --replicas=0
	matches "$label: scale to nothing" '^deployment.apps/web scaled' "$out$err"
	same "$label: the count is nothing" 0 "$(at '{.spec.replicas}')"
	capture k scale deployment none --replicas=1
	matches "$label: scale of what is not there" '(NotFound.*|no objects passed to scale )deployments.apps "none" not found' "$out$err"
	capture k scale --replicas=-1 deployment web
	matches "$label: a count below zero" 'must be|required|invalid' "$out$err"
	[ "$(minor "$kubectl")" -ge 24 ] || return
	capture k get deployment web --subresource=scale
	matches "$label: get --subresource=scale" 'NAME +DESIRED +AVAILABLE +AGE.web +0 +0' "${out//$'\n'/.}"
	capture k patch deployment web --subresource=scale --type=merge -p '{"spec":{"replicas":2}}'
	matches "$label: patch --subresource=scale" 'web patched' "$out$err"
	same "$label: the count is patched" 2 "$(at '{.spec.replicas}')"
	capture k patch deployment web --subresource=status -p '{"status":{"conditions":[{"type":"Available","status":"True"}]}}'
	matches "$label: patch --subresource=status, strategic" '^deployment.apps/web patched' "$out$err"
	k patch deployment web --subresource=status -p '{"status":{"conditions":[{"type":"Progressing","status":"False"}]}}' >/dev/null
	same "$label: conditions are merged by type" "Progressing=False Available=True" "$(at '{range .status.conditions[*]}{.type}={.status} {end}' | sed 's/ $//')"
}

replace_and_edit() {
	k get deployment web -o yaml >"$TMP/live.yaml"
	sed 's/image: example.com\/app:9/image: example.com\/app:10/' "$TMP/live.yaml" >"$TMP/new.yaml"
	capture k replace -f "$TMP/new.yaml"
	same "$label: replace" "deployment.apps/web replaced" "$out$err"
	same "$label: the object is replaced" example.com/app:10 "$(at '{.spec.template.spec.containers[?(@.name=="main")].image}')"
	capture k replace -f "$TMP/new.yaml"
	matches "$label: replace of an older version" 'Conflict.*the object has been modified' "$out$err"
	capture k replace -f - < <(deployment example.com/app:1 1 | sed 's/name: web, labels/name: none, labels/')
	matches "$label: replace of what is not there" 'NotFound' "$out$err"
	local uid
	uid=$(at '{.metadata.uid}')
	capture k replace --force -f - < <(deployment example.com/app:1 1)
	matches "$label: replace --force" 'deployment.apps/web replaced' "$out$err"
	[ "$uid" != "$(at '{.metadata.uid}')" ]
	same "$label: replace --force makes another object" 0 $?
	capture env EDITOR='sed -i s/maxSurge:\ 2/maxSurge:\ 4/' HOME="$TMP/home" "$kubectl" --kubeconfig "$kubeconfig" edit deployment web
	matches "$label: edit" '^deployment.apps/web edited' "$out$err"
	same "$label: the edit is there" 4 "$(at '{.spec.strategy.rollingUpdate.maxSurge}')"
	capture env EDITOR=true HOME="$TMP/home" "$kubectl" --kubeconfig "$kubeconfig" edit deployment web
	matches "$label: edit without a change" 'no changes made|cancelled' "$out$err"
	capture k delete deployment web
	matches "$label: delete" 'deployment.apps "web" deleted' "$out"
}

explain_reads_well() {
	capture k explain resourceslices.spec.devices
	matches "$label: explain says what a field is" 'Text of at most|Name of|DNS label of the device, unique in its pool' "$(echo $out)"
	matches "$label: explain shows nested types" 'attributes.*capacity.*consumesCounters' "$(echo $out)"
	capture k explain crd.spec
	matches "$label: explain of CRDs" 'How the resource and its kind are called' "$(echo $out)"
	capture k explain role
	matches "$label: explain of roles" 'What is allowed in the namespace of the role' "$(echo $out)"
	capture k explain pod.status.containerStatuses.allocatedResourcesStatus
	matches "$label: explain of a device's health" 'Health of the devices' "$(echo $out)"
	capture k explain resourceslices.status.devices.stateReason
	matches "$label: explain of a device's reasons" 'PoolIncomplete, PoolInvalid, NoNode, NodeGone, NodeUnreachable, UnsupportedFeature, Tainted: KEY, CapacityExhausted, or CountersExhausted' "$(echo $out)"
	capture k explain resourceslices.status.devices.largestShare
	matches "$label: explain of the largest share" 'one new claim can get of a shared or partitionable device' "$(echo $out)"
	capture k explain resourceslices.status.summary.availableDevices
	matches "$label: explain of available devices" 'a claim without tolerations can get as a whole' "$(echo $out)"
	capture k explain resourceslices.spec.devices --recursive
	same "$label: explain --recursive" 0 "$status"
	matches "$label: explain --recursive goes down" 'requestPolicy' "$out"
}

find_kubectls
for kubectl in "${kubectls[@]}"; do
	label="kubectl 1.$(minor "$kubectl")"
	start_server lmdb "$TMP/data-$(minor "$kubectl")"
	server=$pid
	apply_is_a_three_way_merge
	diff_tells_what_apply_would_do
	labels_and_annotations
	set_and_scale
	replace_and_edit
	explain_reads_well
	stop "$server"
	same "$label: the server ends in order" 0 "$status"
done
done_testing
