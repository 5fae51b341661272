# Server-side apply as people use it with kubectl: Debian's and a current one.
. ./lib.sh
. ./api_lib.sh

# k ARGS ..: kubectl as the administrator, with a discovery cache of this test's.
k() {
	HOME=$TMP/home "$kubectl" --kubeconfig "$kubeconfig" --cache-dir "$TMP/home/$label" "$@"
}

# flat TEXT: its lines as one, spaces squeezed.
flat() {
	tr -s ' \n' ' ' <<<"$1"
}

deployment() { # IMAGE [REPLICAS]
	cat <<-END
		apiVersion: apps/v1
		kind: Deployment
		metadata: {name: web}
		spec:
		  ${2:+replicas: $2}
		  selector: {matchLabels: {app: web}}
		  template:
		    metadata: {labels: {app: web}}
		    spec: {containers: [{name: main, image: "$1"}]}
	END
}

# at PATH ..: of the deployment, a space between; by ours, which takes a tenth of the time.
at() {
	local path found=()
	for path in "$@"; do found+=("$("$DEVPLANE" get deployment web --kubeconfig "$kubeconfig" -o "jsonpath={$path}")"); done
	echo "${found[*]}"
}

# entries KIND NAME: who manages it, a word for each entry: manager, operation and subresource.
entries() {
	k get "$1" "$2" -o 'jsonpath={range .metadata.managedFields[*]}{.manager}:{.operation}:{.subresource} {end}' | sed 's/:\( \|$\)/\1/g; s/ $//'
}

# The older kubectl runs a short version of the test, because the server is the same.
apply_in_short() {
	capture k apply --server-side -f - < <(deployment example.com/app:1 1)
	same "$label: apply creates" "deployment.apps/web serverside-applied" "$out"
	capture k apply --server-side --field-manager=other -f - < <(deployment example.com/app:2 2)
	matches "$label: a conflict names manager and fields" 'Apply failed with 2 conflicts: conflicts with "kubectl": - \.spec\.replicas - \.spec\.template\.spec\.containers\[name="main"\]\.image' "$(flat "$err")"
	capture k apply --server-side --field-manager=other --force-conflicts -f - < <(deployment example.com/app:2 2)
	same "$label: --force-conflicts" "deployment.apps/web serverside-applied" "$out$err"
	same "$label: what was forced is there" "2 example.com/app:2" "$(at .spec.replicas '.spec.template.spec.containers[0].image')"
}

apply_and_conflicts() {
	capture k apply --server-side -f - < <(deployment example.com/app:1 1)
	same "$label: apply creates" "deployment.apps/web serverside-applied" "$out"
	version=$(at .metadata.resourceVersion)
	matches "$label: what it created has a version" '^[0-9]+$' "$version"
	capture k apply --server-side -f - < <(deployment example.com/app:1 1)
	same "$label: apply of the same says the same" "deployment.apps/web serverside-applied" "$out$err"
	same "$label: and writes nothing" "$version" "$(at .metadata.resourceVersion)"
	same "$label: one manager has all of it" kubectl:Apply "$(entries deployment web)"
	same "$label: the manifest is not kept in an annotation" "" "$(at .metadata.annotations)"
	capture k apply --server-side --dry-run=server -f - < <(deployment example.com/app:2 1)
	same "$label: a dry run" "deployment.apps/web serverside-applied (server dry run)" "$out$err"
	same "$label: a dry run writes nothing" "$version" "$(at .metadata.resourceVersion)"

	capture k apply --server-side --field-manager=other -f - < <(deployment example.com/app:2 2)
	same "$label: a conflict fails" 1 "$status"
	matches "$label: a conflict names manager and fields" '^error: Apply failed with 2 conflicts: conflicts with "kubectl": - \.spec\.replicas - \.spec\.template\.spec\.containers\[name="main"\]\.image Please review' "$(flat "$err")"
	same "$label: a conflict writes nothing" "$version" "$(at .metadata.resourceVersion)"
	capture k apply --server-side --field-manager=other -f - < <(deployment example.com/app:1 2)
	matches "$label: one conflict is told in one line" '^error: Apply failed with 1 conflict: conflict with "kubectl": \.spec\.replicas Please' "$(flat "$err")"
	capture k apply --server-side --field-manager=other --force-conflicts -f - < <(deployment example.com/app:2 2)
	same "$label: --force-conflicts" "deployment.apps/web serverside-applied" "$out$err"
	same "$label: what was forced is there" "2 example.com/app:2" "$(at .spec.replicas '.spec.template.spec.containers[0].image')"
	capture k apply --server-side -f - < <(deployment example.com/app:1 1)
	matches "$label: then the first has the conflicts" '2 conflicts: conflicts with "other":' "$err"

	capture k apply --server-side --field-manager=other -f - < <(deployment example.com/app:2)
	same "$label: a field that its only manager drops" "deployment.apps/web serverside-applied" "$out$err"
	same "$label: is removed, and its default comes" 1 "$(at .spec.replicas)"
	k apply --server-side --field-manager=other -f - < <(deployment example.com/app:2 2) >/dev/null
	k scale deployment web --replicas=4 >/dev/null
	capture k apply --server-side --field-manager=other -f - < <(deployment example.com/app:2 3)
	matches "$label: scale is a manager by its subresource" 'conflict with "kubectl" with subresource "scale" using apps/v1: \.spec\.replicas' "$err"
	capture k apply --server-side --field-manager=other -f - < <(deployment example.com/app:2)
	same "$label: the count of another manager stays" 4 "$(at .spec.replicas)"
}

diff_and_views() {
	deployment example.com/app:2 >"$TMP/web.yaml"
	capture k diff --server-side --field-manager=other -f "$TMP/web.yaml"
	same "$label: diff of nothing" "0:" "$status:$out"
	deployment example.com/app:3 >"$TMP/web.yaml"
	capture k diff --server-side --field-manager=other -f "$TMP/web.yaml"
	same "$label: diff of something" 1 "$status"
	matches "$label: diff shows what would change" '- +- image: example.com/app:2 .*\+ +- image: example.com/app:3' "$(flat "$out")"
	capture k diff --server-side --field-manager=third -f "$TMP/web.yaml"
	[ "$status" -gt 1 ]
	same "$label: diff of a conflict fails" 0 $?
	matches "$label: and tells it" 'Error from server \(Conflict\): Apply failed with 1 conflict: conflict with "other": \.spec\.template\.spec\.containers\[name="main"\]\.image' "$err"
	capture k diff --server-side --field-manager=third --force-conflicts -f "$TMP/web.yaml"
	same "$label: diff --force-conflicts" 1 "$status"
	matches "$label: diff --force-conflicts shows what would change" '\+ +- image: example.com/app:3' "$out"
	same "$label: no diff changed anything" example.com/app:2 "$(at '.spec.template.spec.containers[0].image')"
	matches "$label: managedFields are shown when asked for" 'k:\{"name":"main"\}.*f:image.*manager: other operation: Apply' "$(flat "$(shown)")"
	capture k apply --force-conflicts -f "$TMP/web.yaml"
	matches "$label: --force-conflicts is for server-side apply" 'only works with --server-side' "$err"
}

# shown: the deployment with its managedFields; kubectl hides them by default since 1.21.
shown() {
	if [ "$release" -ge 21 ]; then
		k get deployment web -o yaml --show-managed-fields
	else
		k get deployment web -o yaml
	fi
}

there_and_back() {
	capture k apply -f - < <(deployment example.com/app:1 1)
	same "$label: client-side apply creates" "deployment.apps/web created" "$out"
	same "$label: it is an update by its own manager" kubectl-client-side-apply:Update "$(entries deployment web)"
	capture k apply --server-side -f - < <(deployment example.com/app:2 1)
	same "$label: server-side apply takes over without conflicts" "deployment.apps/web serverside-applied" "$out$err"
	matches "$label: the last applied configuration follows" 'image: example.com/app:2' "$(k apply view-last-applied deployment web)"
	if [ "$release" -ge 26 ]; then
		same "$label: kubectl moves what client-side apply owned" "kubectl-last-applied:Apply kubectl:Apply" "$(entries deployment web)"
		capture k apply --server-side -f - < <(deployment example.com/app:2)
		same "$label: so dropping a field removes it" "serverside-applied 1" "${out##* } $(at .spec.replicas)"
	fi
	capture k apply -f - < <(deployment example.com/app:3 3)
	same "$label: back to client-side apply" "deployment.apps/web configured" "$out$err"
	same "$label: which changes what it says" "3 example.com/app:3" "$(at .spec.replicas '.spec.template.spec.containers[0].image')"
	capture k apply --server-side -f - < <(deployment example.com/app:4 3)
	same "$label: and to the server again" "deployment.apps/web serverside-applied" "$out$err"
	same "$label: which changes what it says, too" "3 example.com/app:4" "$(at .spec.replicas '.spec.template.spec.containers[0].image')"
}

definition() {
	cat <<-'END'
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: widgets.example.com}
		spec:
		  group: example.com
		  scope: Namespaced
		  names: {plural: widgets, singular: widget, kind: Widget}
		  versions:
		  - name: v1
		    served: true
		    storage: true
		    schema:
		      openAPIV3Schema:
		        type: object
		        properties:
		          spec:
		            type: object
		            properties:
		              color: {type: string}
		              parts:
		                type: array
		                x-kubernetes-list-type: map
		                x-kubernetes-list-map-keys: [name]
		                items: {type: object, required: [name], properties: {name: {type: string}, size: {type: integer}}}
		              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
		              steps: {type: array, items: {type: string}}
	END
}

widget() { # SPEC
	printf 'apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {%s}\n' "$1"
}

custom() {
	capture k apply --server-side -f - < <(definition)
	same "$label: a definition is applied" "customresourcedefinition.apiextensions.k8s.io/widgets.example.com serverside-applied" "$out$err"
	k wait --for=condition=Established crd/widgets.example.com --timeout=20s >/dev/null
	capture k apply --server-side -f - < <(widget 'color: red, parts: [{name: a, size: 1}], tags: [x], steps: [one]')
	same "$label: a custom resource is applied" "widget.example.com/w serverside-applied" "$out$err"
	capture k apply --server-side --field-manager=other -f - < <(widget 'parts: [{name: b, size: 2}], tags: [z]')
	same "$label: others add to its lists" "widget.example.com/w serverside-applied" "$out$err"
	same "$label: by key and by value" "a b x z" "$(k get widget w -o 'jsonpath={.spec.parts[*].name} {.spec.tags[*]}')"
	capture k apply --server-side --field-manager=other -f - < <(widget 'parts: [{name: a, size: 3}], steps: [two]')
	matches "$label: elements and whole lists conflict" '2 conflicts: conflicts with "kubectl": - \.spec\.steps - \.spec\.parts\[name="a"\]\.size' "$(flat "$err")"
	capture k apply --server-side -f - < <(widget 'tags: [x]')
	same "$label: what its manager drops goes, what is others' stays" "b x z" "$(k get widget w -o 'jsonpath={.spec.parts[*].name} {.spec.tags[*]}{.spec.color}{.spec.steps}')"
	capture k apply --server-side --validate=false -f - < <(widget 'colour: red')
	matches "$label: an unknown field is refused" 'failed to create typed patch object \(default/w; example.com/v1, Kind=Widget\): \.spec\.colour: field not declared in schema' "$err$out"
}

several() {
	local name
	for name in one two three; do
		printf -- '---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {a: "1"}\n' "$name"
	done >"$TMP/several.yaml"
	capture k apply --server-side -f "$TMP/several.yaml"
	same "$label: several objects of a file" "configmap/one serverside-applied configmap/two serverside-applied configmap/three serverside-applied" "$(echo $out$err)"
	sed -i 's/a: "1"/a: 1/' "$TMP/several.yaml"
	capture k apply --server-side --validate=false -f "$TMP/several.yaml"
	matches "$label: a value of another type is refused" 'failed to create typed patch object \(default/one; /v1, Kind=ConfigMap\): \.data\.a: expected string, got' "$err"
}

find_kubectls
start_server lmdb "$TMP/data"
server=$pid
for kubectl in "${kubectls[@]}"; do
	release=$(minor "$kubectl")
	label="kubectl 1.$release"
	if [ "$kubectl" = "${kubectls[-1]}" ]; then
		apply_and_conflicts
		diff_and_views
		custom
		several
	else
		apply_in_short
	fi
	"$DEVPLANE" delete deployment web --kubeconfig "$kubeconfig" >/dev/null
	there_and_back
	"$DEVPLANE" delete deployment web --kubeconfig "$kubeconfig" >/dev/null
done
stop "$server"
same "the server ends in order" 0 "$status"
done_testing
