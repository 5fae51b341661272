# top devices and watch devices: printed, and live on a terminal that tmux gives and reads back.
. ./lib.sh
. ./api_lib.sh

start_server lmdb "$TMP/data"
server_pid=$pid
export KUBECONFIG=$kubeconfig
find_kubectls
kubectl=${kubectls[-1]}
contains() {
	[[ $3 == *"$2"* ]] && ok "$1" || not_ok "$1" "want in it: $2"$'\n'"got: $3"
}
top() { "$DEVPLANE" top devices "$@" 2>&1; }

# slice NODE DEVICES
slice() {
	cat <<END
{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "$1-gpu"},
 "spec": {"driver": "gpu.example.com", "nodeName": "$1", "pool": {"name": "$1", "generation": 1, "resourceSliceCount": 1},
  "devices": [$2]}}
END
}
# claim NAMESPACE NAME
claim() {
	cat <<END
{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "$2", "namespace": "$1"},
 "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}}
END
}
{
	echo '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "secret"}}'
	for i in 1 2 3 4 5 6 7 8 9; do
		slice n$i '{"name": "gpu-0"}, {"name": "gpu-1"}'
	done
	slice big "$(for i in $(seq 0 19); do printf '%s{"name": "gpu-%s"}' "${comma:-}" "$i" && comma=,; done)"
	claim default train
	claim default other
	claim secret hidden
} >"$TMP/objects.json"
"$kubectl" create -f "$TMP/objects.json" >"$TMP/put.log" 2>&1 || sed 's/^/# /' "$TMP/put.log"
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
# allocate NAMESPACE CLAIM POOL DEVICE
allocate() {
	status "$1" "$2" "{\"allocation\": {\"devices\": {\"results\": [
		{\"request\": \"gpu\", \"driver\": \"gpu.example.com\", \"pool\": \"$3\", \"device\": \"$4\"}]}},
		\"reservedFor\": [{\"resource\": \"pods\", \"name\": \"train-0\", \"uid\": \"u1\"}]}"
}

# --- printed -------------------------------------------------------------------------------------------
allocate secret hidden n2 gpu-0
out=$(top)
matches "totals come first" '^38 devices in 10 pools: 37 free, 1 allocated, 0 unhealthy' "$out"
contains "and where the data are from" "from slices and claims of https://" "$out"
matches "a line for each pool" 'gpu.example.com +n2 +n2 +2 +1 +1 +0 +0 +0 +secret/hidden' "$out"
same "json has all of it" '["secret","hidden","train-0"]' "$(top -o json | node -e '
	const o = JSON.parse(require("fs").readFileSync(0))
	const { namespace, claim, pods } = o.pools.find((p) => p.pool == "n2").deviceList[0].holders[0]
	console.log(JSON.stringify([namespace, claim, pods]))')"
matches "wide shows devices" 'gpu-0 +Allocated +healthy +secret/hidden \[train-0\]' "$(top --pool n2 -o wide)"
same "one node alone" 4 "$(top --node n3 | wc -l)"
capture "$DEVPLANE" top devices --feature-gates DRAResourceAvailabilityVisibility=false
same "the gate hides it" "1 devplane: the gate DRAResourceAvailabilityVisibility is off: availability of devices is hidden" "$status $err"
capture "$DEVPLANE" watch devices --feature-gates DRAResourceAvailabilityVisibility=false
same "from watch, too" 1 "$status"

# Who may not read claims of a namespace, or all of them.
"$kubectl" create clusterrole devices --verb=get,list,watch --resource=resourceslices.resource.k8s.io >"$TMP/role.log" 2>&1
"$kubectl" create clusterrolebinding devices --clusterrole=devices --user=jane >>"$TMP/role.log" 2>&1
out=$(top --as jane)
contains "without the right to list claims it is said what is shown" "as published in the status of slices: you may not list claims" "$out"
curl -sf -X PATCH -H 'content-type: application/merge-patch+json' -o "$TMP/patch.log" \
	"$proxy/apis/resource.k8s.io/v1/resourceslices/n3-gpu/status" -d '{"status": {"observedGeneration": 1, "devices": [
	{"name": "gpu-0", "state": "Available"}, {"name": "gpu-1", "state": "Allocated", "allocations": [
	{"claimNamespace": "secret", "claimName": "hidden", "claimUID": "u"}]}]}}' || not_ok "the status of a slice should be written"
out=$(top --as jane)
matches "then it is what somebody published" 'n3 +n3 +2 +1 +1 +0 +0 +0 +1 claim' "$out"
matches "and what nobody did is not known" 'n4 +n4 +2 +\? +\? +\? +\? +0' "$out"
"$kubectl" create clusterrole lists --verb=list,watch --resource=resourceclaims.resource.k8s.io,devicetaintrules.resource.k8s.io >>"$TMP/role.log" 2>&1
"$kubectl" create clusterrolebinding lists --clusterrole=lists --user=jane >>"$TMP/role.log" 2>&1
out=$(top --as jane)
matches "claims that may not be read are counted" 'n2 +n2 +2 +1 +1 +0 +0 +0 +1 claim' "$out"

# --- changes ---------------------------------------------------------------------------------------------
background watch "$DEVPLANE" watch devices
watch_pid=$pid
wait_line "$TMP/watch.log" '^# changes of devices'
allocate default train n1 gpu-1
wait_line "$TMP/watch.log" 'gpu.example.com/n1/gpu-1  Available -> Allocated  default/train$'
ok "watch tells an allocation"
status default train '{"devices": [{"driver": "gpu.example.com", "pool": "n1", "device": "gpu-1",
	"conditions": [{"type": "Ready", "status": "False", "reason": "Hot", "message": "too hot", "lastTransitionTime": "2024-01-01T00:00:00Z"}]}]}'
wait_line "$TMP/watch.log" 'n1/gpu-1  healthy -> unhealthy  not ready: too hot$'
ok "watch tells a device that is not ready"
"$kubectl" patch resourceslice n9-gpu --type json -p '[{"op": "add", "path": "/spec/devices/0/taints", "value": [{"key": "example.com/x", "effect": "NoSchedule"}]}]' >"$TMP/patch.log" 2>&1
wait_line "$TMP/watch.log" 'n9/gpu-0  healthy -> unhealthy  example.com/x:NoSchedule$'
ok "watch tells a taint"
"$kubectl" patch resourceslice n9-gpu --type json -p '[{"op": "replace", "path": "/spec/pool/resourceSliceCount", "value": 2}]' >"$TMP/patch.log" 2>&1
wait_line "$TMP/watch.log" 'gpu.example.com/n9  complete -> incomplete'
ok "watch tells a pool that is incomplete"
"$kubectl" delete resourceslice n9-gpu >"$TMP/delete.log" 2>&1
wait_line "$TMP/watch.log" 'n9/gpu-1  Available -> \(gone\)'
ok "watch tells devices that are gone"
if command -v tmux >/dev/null; then :; else
	skip "the live table" "there is no tmux"
	done_testing
fi

# --- live ------------------------------------------------------------------------------------------------
mux() { tmux -S "$TMP/tmux" "$@"; }
screen() { mux capture-pane -p -t top; }
shows() { screen | grep -qE -- "$1"; }
# sees NAME REGEX: the screen comes to show it.
sees() {
	until_true 20 shows "$2" && ok "$1" || not_ok "$1" "want on the screen: $2"$'\n'"$(screen)"
}
keys() { mux send-keys -t top "$@"; }
# The shell beneath is to be seen again afterwards.
mux -f /dev/null new-session -d -s top -x 120 -y 12 "env -u TMUX PS1='shell> ' bash --norc --noprofile"
sees "a shell runs on the terminal" '^shell>'
keys "'$DEVPLANE' top devices" Enter
sees "the table fills the screen" '^gpu.example.com +big +big +20 +20 +0 '
sees "its last line has the keys" '1-8 of 9 .* q quit'
allocate default other big gpu-3
sees "an allocation shows up by itself" '^gpu.example.com +big +big +20 +19 +1 +0 +0 +0 +default/other'
sees "totals, too" '^36 devices in 9 pools: 33 free, 3 allocated, 1 unhealthy'
keys Down
sees "arrows scroll" '2-9 of 9'
keys k
sees "and back" '1-8 of 9'
keys s
sees "pools are sorted by what is free" 'sorted by free'
keys s
sees "by what is allocated" 'sorted by allocated'
keys s d
sees "devices come below their pools" '^    gpu-3 +Allocated +healthy +default/other \[train-0\]'
keys G
sees "the end is one key away" '38-45 of 45'
keys PPage
sees "pages, too" '30-37 of 45'
mux resize-window -t top -x 60 -y 20
sees "a new size is taken on" '30-45 of 45'
widest() { screen | awk '{ if (length($0) > n) n = length($0) } END { exit !(n <= 60) }'; }
check "lines end with the screen" widest
keys q
sees "q brings the shell back" '^shell>'
gone() { ! shows 'of 45'; }
check "and what was there before" until_true 10 gone
keys 'echo "it ended with $?"' Enter
sees "it ends well" '^it ended with 0'
keys Enter "'$DEVPLANE' top devices" Enter
sees "it can be begun again" '1-9 of 9'
kill -KILL "$(pgrep -P "$(mux display-message -p -t top '#{pane_pid}')")"
sees "killed, it leaves the terminal in order" '^shell>'
keys "stty -a | grep -o ' .icanon\| icanon'" Enter
sees "with its modes" '^ icanon'
keys "'$DEVPLANE' top devices" Enter
sees "once more" '1-9 of 9'

# --- a server that is restarted ----------------------------------------------------------------------------
port=${url##*:}
kill -TERM "$server_pid"
until_true 20 bash -c "! kill -0 $server_pid 2>/dev/null"
PORT=$port start_server lmdb "$TMP/data"
"$kubectl" delete resourceclaim other >"$TMP/delete.log" 2>&1 || sed 's/^/# /' "$TMP/delete.log"
sees "the table goes on over a restart of the server" '^gpu.example.com +big +big +20 +20 +0'
wait_line "$TMP/watch.log" 'big/gpu-3  Allocated -> Available  default/other$'
ok "and so does watch"
keys C-c
sees "Ctrl-C ends it" '^shell>'
kill -INT "$watch_pid"
wait "$watch_pid"
same "SIGINT ends watch in order" 0 $?
mux kill-server
done_testing
