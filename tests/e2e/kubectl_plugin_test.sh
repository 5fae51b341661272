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
if [ "$(minor "$kubectl")" -ge 26 ]; then
	contains "kubectl asks for it" $'explain-fit\t' "$(k __complete devplane explain)"
else
	skip "kubectl asks for it" "this kubectl does not"
fi

# --- who ---------------------------------------------------------------------------------------------------
k create role reader --verb=get,list --resource=configmaps >"$TMP/role.log"
k create rolebinding jane --role=reader --user=jane >>"$TMP/role.log"
k create rolebinding team --role=reader --group=team >>"$TMP/role.log"
k create configmap here >>"$TMP/role.log"
same "as somebody who may" configmap/here "$(k devplane get configmaps -o name --as jane)"
contains "as somebody who may not" 'User "joe" cannot list resource "configmaps"' "$(k devplane get configmaps --as joe)"
same "as one of a group" configmap/here "$(k devplane get configmaps -o name --as joe --as-group other --as-group team)"
contains "a group needs a user" "--as USER names one" "$(k devplane get configmaps --as-group team)"
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
done_testing
