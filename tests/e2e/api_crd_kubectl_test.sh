# Custom resources as people use them with kubectl, Debian's and a current one, on both backends.
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

definition() {
	cat <<-'END'
		apiVersion: apiextensions.k8s.io/v1
		kind: CustomResourceDefinition
		metadata: {name: widgets.example.com}
		spec:
		  group: example.com
		  scope: Namespaced
		  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd], categories: [all]}
		  versions:
		  - name: v1
		    served: true
		    storage: true
		    subresources:
		      status: {}
		      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
		    additionalPrinterColumns:
		    - {name: Color, type: string, jsonPath: .spec.color}
		    - {name: Size, type: integer, jsonPath: .spec.size, priority: 1}
		    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
		    selectableFields: [{jsonPath: .spec.color}]
		    schema:
		      openAPIV3Schema:
		        type: object
		        description: Something small.
		        required: [spec]
		        properties:
		          spec:
		            type: object
		            required: [color]
		            properties:
		              color: {type: string, enum: [red, green, blue], description: What it looks like.}
		              size: {type: integer, minimum: 1, maximum: 10, default: 3}
		              replicas: {type: integer, default: 1}
		              port: {x-kubernetes-int-or-string: true}
		              anything: {type: object, x-kubernetes-preserve-unknown-fields: true}
		              parts:
		                type: array
		                items: {type: object, properties: {name: {type: string}}}
		          status:
		            type: object
		            properties: {phase: {type: string}, replicas: {type: integer}}
	END
}

widget() { # NAME SPEC
	cat <<-END
		apiVersion: example.com/v1
		kind: Widget
		metadata: {name: $1}
		spec: {$2}
	END
}

defining() {
	capture k create -f - < <(definition)
	same "$label: create a definition" "customresourcedefinition.apiextensions.k8s.io/widgets.example.com created" "$out$err"
	capture k wait --for=condition=Established crd/widgets.example.com --timeout=20s
	matches "$label: wait for Established" 'condition met' "$out$err"
	capture k api-resources --api-group=example.com
	matches "$label: api-resources" 'widgets +wd +example.com/v1 +true +Widget' "$out"
	capture k explain widget.spec.color
	matches "$label: explain a field" 'What it looks like' "$out$err"
	capture k explain widget --recursive
	matches "$label: explain --recursive" 'spec.*color.*parts.*name.*status.*phase' "$(flat "$out")"
}

using() {
	capture k create -f - < <(widget red "color: red, port: http, anything: {x: {y: 1}}")
	same "$label: create" "widget.example.com/red created" "$out$err"
	capture k apply -f - < <(widget blue "color: blue, size: 5")
	same "$label: apply creates" "widget.example.com/blue created" "$out$err"
	capture k apply -f - < <(widget blue "color: blue, size: 6")
	same "$label: apply changes" "widget.example.com/blue configured" "$out$err"
	capture k apply -f - < <(widget blue "color: blue, size: 6")
	same "$label: apply changes nothing" "widget.example.com/blue unchanged" "$out$err"
	capture k create -f - < <(widget bad "color: pink")
	matches "$label: a value that is not allowed" 'spec.color: Unsupported value: "pink"' "$err"
	capture k create -f - < <(widget bad "color: red, sise: 3")
	matches "$label: an unknown field" 'unknown field .*sise' "$err"
	capture k get widgets
	matches "$label: get" 'NAME COLOR AGE blue blue [0-9]+s red red [0-9]+s' "$(flat "$out")"
	capture k get wd red -o wide
	matches "$label: get by the short name, -o wide" 'NAME COLOR SIZE AGE red red 3 ' "$(flat "$out")"
	capture k get all -o name
	matches "$label: get all has the category" 'widget.example.com/red' "$out"
	same "$label: field selector" widget.example.com/blue "$(k get wd --field-selector spec.color=blue -o name)"
	capture k scale widget/red --replicas=4
	matches "$label: scale" 'scaled' "$out$err"
	same "$label: it is scaled" 4 "$(k get wd red -o 'jsonpath={.spec.replicas}')"
	capture k patch wd red --type merge -p '{"spec":{"size":9}}'
	matches "$label: patch" 'patched' "$out$err"
	capture k label wd red tier=back
	matches "$label: label" 'labeled' "$out$err"
	if [ "$(minor "$kubectl")" -ge 24 ]; then
		capture k patch wd red --subresource status --type merge -p '{"status":{"phase":"Ready"}}'
		matches "$label: patch --subresource status" 'patched' "$out$err"
		capture k wait wd/red --for=jsonpath='{.status.phase}'=Ready --timeout=20s
		matches "$label: wait --for=jsonpath" 'condition met' "$out$err"
	fi
	capture k describe wd red
	matches "$label: describe" 'Color: +red' "$out"
	capture k delete wd red
	matches "$label: delete" 'widget.example.com "red" deleted' "$out$err"
}

ending() {
	capture k delete crd widgets.example.com --timeout=30s
	matches "$label: delete the definition" '"widgets.example.com" deleted' "$out$err"
	capture k get widgets
	matches "$label: the resource is gone" "the server (doesn't have a resource type|could not find the requested resource)" "$err"
	capture k create -f - < <(definition)
	same "$label: define it again" "customresourcedefinition.apiextensions.k8s.io/widgets.example.com created" "$out$err"
	same "$label: no object is left" "" "$(k get widgets -o name)"
	capture k delete crd widgets.example.com --timeout=30s
	same "$label: the end" 0 "$status"
}

find_kubectls
start_etcd
for backend in lmdb etcd; do
	start_server "$backend" "$TMP/$backend"
	for kubectl in "${kubectls[@]}"; do
		label="$backend, kubectl 1.$(minor "$kubectl")"
		defining
		using
		ending
	done
done
done_testing
