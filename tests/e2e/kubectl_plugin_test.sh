# devplane as a plugin of kubectl, who it acts as, and the flags by which kubectl's users say where to.
. ./lib.sh
. ./api_lib.sh

start_server lmdb "$TMP/data"
find_kubectls
kubectl=${kubectls[-1]}
contains() {
	[[ $3 == *"$2"* ]] && ok "$1" || not_ok "$1" "want in it: $2"$'\n'"got: $3"
}
mkdir "$TMP/bin"
ln -s "$DEVPLANE" "$TMP/bin/kubectl-devplane"
ln -s "$DEVPLANE" "$TMP/bin/kubectl_complete-devplane"
export PATH=$TMP/bin:$PATH KUBECONFIG=$kubeconfig
k() { "$kubectl" "$@" 2>&1; }

contains "kubectl finds the plugin" "$TMP/bin/kubectl-devplane" "$(k plugin list)"
same "it is the same program" "$("$DEVPLANE" version)" "$(k devplane version)"
same "it reads with kubectl's configuration" "$("$DEVPLANE" get namespaces -o name)" "$(k devplane get namespaces -o name)"
matches "its help speaks of kubectl" '^kubectl devplane get - ' "$(k devplane get --help)"
contains "and so do its examples" "  kubectl devplane explain-fit gpu" "$(k devplane explain-fit --help)"
contains "and its mistakes" "kubectl devplane: unknown command \"gte\"; did you mean \"get\"?" "$(k devplane gte)"

# Completion: of the words behind "kubectl devplane".
matches "commands are completed" $'^describe\t' "$("$TMP/bin/kubectl_complete-devplane" desc)"
same "values of flags, too" $'json\nyaml\nwide\n:4' "$("$TMP/bin/kubectl_complete-devplane" top devices -o "")"
same "values that are only usual, too" $'wide\njson\nyaml\nname\njsonpath=\njsonpath-file=\ncustom-columns=\ncustom-columns-file=\n:4' "$("$TMP/bin/kubectl_complete-devplane" get pods -o "")"
same "types are completed" $'resourceslices\n:4' "$("$TMP/bin/kubectl_complete-devplane" describe resourcesl)"
k create configmap alpha >"$TMP/create.log"
k create configmap beta >>"$TMP/create.log"
k create -f - >>"$TMP/create.log" <<'END'
{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s1"}, "spec": {"driver": "sim.example.com",
 "nodeName": "n1", "pool": {"name": "pool-1", "generation": 1, "resourceSliceCount": 1}, "devices": [{"name": "gpu-0"}, {"name": "gpu-1"}]}}
END
names() { "$TMP/bin/kubectl_complete-devplane" "$@" | sed '$d' | tr '\n' ' '; }
same "names of objects are completed" "alpha " "$(names get configmaps al)"
same "with their type, too" "configmap/alpha configmap/beta " "$(names describe configmap/alpha configmap/ | sed 's,configmap/kube-root-ca.crt ,,')"
same "in their namespace" "" "$(names get configmaps -n kube-public al)"
same "namespaces are completed" "kube-node-lease kube-public kube-system " "$(names get pods -n kube-)"
same "drivers are completed" "--driver=sim.example.com " "$(names get devices --driver=s)"
same "pools are completed" "pool-1 " "$(names describe resourcepool "")"
same "devices are completed" "sim.example.com/pool-1/gpu-0 sim.example.com/pool-1/gpu-1 " "$(names describe device "")"
mkdir "$TMP/state"
echo '{"format": 1, "pid": 1, "version": "x", "server": "x", "kubeconfig": "x", "roles": [{"name": "server", "state": "running"},
 {"name": "scheduler", "state": "running"}]}' >"$TMP/state/up.json"
same "roles are completed" "scheduler server " "$(names logs --data-dir "$TMP/state" s | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/^ //')"
same "a server out of reach completes nothing" "" "$(names get pods --kubeconfig "$TMP/gone" "" 2>&1)"
bash_complete() {
	PATH=$(dirname "$DEVPLANE"):$PATH bash --norc -c 'set -u
		source <(devplane completion bash)
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
		_devplane
		printf "%s " "${COMPREPLY[@]+"${COMPREPLY[@]}"}"' bash "$@"
}
same "bash asks for names" "alpha " "$(bash_complete devplane get configmaps al)"
same "bash asks for names behind a type" "configmap/alpha " "$(bash_complete devplane get configmap/al)"
same "bash asks for values of flags" "kube-public " "$(bash_complete devplane get pods --namespace = kube-pu)"
if [ "$(minor "$kubectl")" -ge 26 ]; then
	contains "kubectl asks for names" $'alpha\n' "$(k __complete devplane get configmaps al)"
	contains "kubectl asks for it" $'explain-fit\t' "$(k __complete devplane explain)"
else
	skip "kubectl asks for it" "this kubectl does not"
fi

# --- who ---------------------------------------------------------------------------------------------------
k create role reader --verb=get,list --resource=configmaps >"$TMP/role.log"
k create rolebinding jane --role=reader --user=jane >>"$TMP/role.log"
k create rolebinding team --role=reader --group=team >>"$TMP/role.log"
k create configmap here >>"$TMP/role.log"
k delete configmap alpha beta >>"$TMP/role.log"
same "as somebody who may" configmap/here "$(k devplane get configmaps -o name --as jane)"
contains "as somebody who may not" 'User "joe" cannot list resource "configmaps"' "$(k devplane get configmaps --as joe)"
same "as one of a group" configmap/here "$(k devplane get configmaps -o name --as joe --as-group other --as-group team)"
contains "with more about them" 'User "joe"' "$(k devplane get secrets --as joe --as-user-extra scopes=view --as-user-extra=scopes=edit)"
contains "which has a form" "must be of the form KEY=VALUE" "$(k devplane get secrets --as joe --as-user-extra scopes)"
contains "a group needs a user" "need --as USER" "$(k devplane get configmaps --as-group team)"
sed 's/^\( *\)\(client-certificate-data:.*\)/\1\2\n\1as: joe\n\1as-groups: [team]/' "$kubeconfig" >"$TMP/as.kubeconfig"
contains "the kubeconfig may say it" "as: joe" "$(cat "$TMP/as.kubeconfig")"
same "and then it is so" configmap/here "$(k devplane get configmaps -o name --kubeconfig "$TMP/as.kubeconfig")"
contains "a flag wins over it" 'User "jim"' "$(k devplane get secrets --kubeconfig "$TMP/as.kubeconfig" --as jim)"

# --- where -------------------------------------------------------------------------------------------------
k create serviceaccount robot >>"$TMP/role.log"
token=$(echo '{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}' |
	k create --raw /api/v1/namespaces/default/serviceaccounts/robot/token -f - | sed -nE 's/.*"token": ?"([^"]+)".*/\1/p')
contains "a token, a server and trust in anybody are enough" 'system:serviceaccount:default:robot' \
	"$(KUBECONFIG='' HOME=$TMP k devplane get secrets --server "$url" --token "$token" --insecure-skip-tls-verify)"
k config view --raw -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}' | base64 -d >"$TMP/ca.crt"
contains "and so is the authority's certificate" 'system:serviceaccount:default:robot' \
	"$(KUBECONFIG='' HOME=$TMP k devplane get secrets --server "$url" --token "$token" --certificate-authority "$TMP/ca.crt")"
contains "without trust there is no connection" "cannot reach" \
	"$(KUBECONFIG='' HOME=$TMP k devplane get secrets --server "$url" --token "$token")"
contains "entries are named by flags" 'there is no user "nobody"' "$(k devplane get secrets --user nobody)"
contains "clusters, too" 'there is no cluster "nowhere"' "$(k devplane get secrets --cluster nowhere)"
contains "a context needs a kubeconfig" 'there is no context "x", as there is no kubeconfig' \
	"$(KUBECONFIG='' HOME=$TMP k devplane get secrets --server "$url" --context x)"
contains "a plain number is of seconds" configmap/here "$(k devplane get configmaps -o name --request-timeout 5)"
contains "and zero is no limit" configmap/here "$(k devplane get configmaps -o name --request-timeout=0)"
contains "another name is not in the certificate" "cannot reach" "$(k devplane get configmaps --tls-server-name other.example)"
same "the server's own is" configmap/here "$(k devplane get configmaps -o name --tls-server-name kubernetes.default)"
for part in certificate key; do
	k config view --raw -o "jsonpath={.users[0].user.client-$part-data}" | base64 -d >"$TMP/client.$part"
done
same "a certificate is enough" configmap/here "$(KUBECONFIG='' HOME=$TMP k devplane get configmaps -o name --server "$url" \
	--certificate-authority "$TMP/ca.crt" --client-certificate "$TMP/client.certificate" --client-key "$TMP/client.key")"
contains "with its key" "need each other" "$(KUBECONFIG='' HOME=$TMP k devplane get configmaps --server "$url" \
	--certificate-authority "$TMP/ca.crt" --client-certificate "$TMP/client.certificate")"
contains "a flag that we do not have is named" 'unknown flag --cache-dir' "$(k devplane get configmaps --cache-dir=/x)"

# --- exec plugins ------------------------------------------------------------------------------------------
# exec_kubeconfig MODE: a user whose credentials ./plugin prints.
exec_kubeconfig() {
	cat >"$TMP/exec.kubeconfig" <<-EOF
		apiVersion: v1
		kind: Config
		current-context: main
		contexts:
		- {name: main, context: {cluster: c, user: robot}}
		clusters:
		- {name: c, cluster: {server: "$url", certificate-authority: ca.crt}}
		users:
		- name: robot
		  user:
		    exec:
		      apiVersion: client.authentication.k8s.io/v1
		      command: ./plugin
		      args: [print]
		      env: [{name: RUNS, value: "$TMP/runs"}]
		      interactiveMode: $1
		      provideClusterInfo: true
	EOF
}
# exec_plugin LINE ..: writes the plugin's script, which saves its input in $TMP/runs.info.
exec_plugin() {
	printf '%s\n' '#!/bin/bash' 'echo "$1" >>"$RUNS"; printf "%s" "$KUBERNETES_EXEC_INFO" >"$RUNS.info"' "$@" >"$TMP/plugin"
	chmod +x "$TMP/plugin"
}
credential() { echo "echo '{\"kind\": \"ExecCredential\", \"apiVersion\": \"client.authentication.k8s.io/v1\", \"status\": {$1}}'"; }
as_exec() { KUBECONFIG=$TMP/exec.kubeconfig "$@" 2>&1 </dev/null; }
exec_kubeconfig Never
if [ "$(minor "$kubectl")" -ge 22 ]; then
	exec_plugin "$(credential "\"token\": \"$token\"")"
	contains "kubectl is who a plugin says" 'system:serviceaccount:default:robot' "$(as_exec "$kubectl" get secrets)"
	kubectl_info=$(cat "$TMP/runs.info")
	rm "$TMP/runs"
	contains "and so are we" 'system:serviceaccount:default:robot' "$(as_exec "$DEVPLANE" get secrets)"
	same "it is told the same" "$kubectl_info" "$(cat "$TMP/runs.info")"
	same "and asked once" print "$(cat "$TMP/runs")"
else
	skip "kubectl is who a plugin says" "this kubectl does not know version v1"
fi
one_line() { awk '{ printf "%s\\n", $0 }' "$1"; }
exec_plugin "$(credential "\"clientCertificateData\": \"$(one_line "$TMP/client.certificate")\", \"clientKeyData\": \"$(one_line "$TMP/client.key")\"")"
same "a plugin may hand out a certificate" configmap/here "$(as_exec "$DEVPLANE" get configmaps -o name)"
exec_plugin 'echo "log in first" >&2; exit 7'
contains "one that fails is heard" "plugin failed with exit code 7: log in first" "$(as_exec "$DEVPLANE" get configmaps)"
rm "$TMP/runs"
contains "a flag makes it needless" 'system:serviceaccount:default:robot' "$(as_exec "$DEVPLANE" get secrets --token "$token")"
[ ! -e "$TMP/runs" ] && ok "and then it does not run" || not_ok "and then it does not run" "$(cat "$TMP/runs")"
exec_kubeconfig Always
contains "one that must ask needs a terminal" "standard input is not a terminal" "$(as_exec "$DEVPLANE" get configmaps)"
done_testing
