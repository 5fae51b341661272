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

# slice NODE DEVICES, and the node
slice() {
	cat <<END
{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "$1"}}
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
	slice shared '{"name": "nic", "allowMultipleAllocations": true}'
	# One pool of two nodes; a third slice of it is missing.
	for i in 1 2; do
		slice "w$i" '{"name": "gpu-'$i'"}' | sed 's/"name": "w.", "generation": 1, "resourceSliceCount": 1/"name": "wide", "generation": 1, "resourceSliceCount": 3/'
	done
	claim default train
	claim default other
	claim secret hidden
	claim secret ghost
	for i in $(seq 10 42); do
		claim default "share-$i"
	done
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
# allocate NAMESPACE CLAIM POOL DEVICE [MORE]
allocate() {
	status "$1" "$2" "{\"allocation\": {\"devices\": {\"results\": [
		{\"request\": \"gpu\", \"driver\": \"gpu.example.com\", \"pool\": \"$3\", \"device\": \"$4\"${5:-}}]}},
		\"reservedFor\": [{\"resource\": \"pods\", \"name\": \"train-0\", \"uid\": \"u1\"}]}"
}

# --- printed -------------------------------------------------------------------------------------------
allocate secret hidden n2 gpu-0
out=$(top)
matches "totals come first" '^41 devices in 12 pools: 38 free, 1 allocated, 2 unavailable; 0 unhealthy' "$out"
contains "and where the data are from" "from slices and claims of https://" "$out"
matches "a line for each pool" 'gpu.example.com +n2 +n2 +2 +1 +0 +1 +0 +0 +secret/hidden' "$out"
same "json has all of it" '["secret","hidden","train-0"]' "$(top -o json | node -e '
	const o = JSON.parse(require("fs").readFileSync(0))
	const { namespace, claim, pods } = o.pools.find((p) => p.pool == "n2").deviceList[0].holders[0]
	console.log(JSON.stringify([namespace, claim, pods]))')"
matches "wide shows devices" 'gpu-0 +Allocated +NotReported +secret/hidden \[train-0\]' "$(top --pool n2 -o wide)"
same "one node alone" 4 "$(top --node n3 | wc -l)"
matches "of whose pool it is known that it is incomplete" 'wide \(incomplete\) +w2 +1 +0 +0 +0 +1 ' "$(top --node w2)"
capture "$DEVPLANE" top devices --feature-gates DRAResourceAvailabilityVisibility=false
same "the gate hides it" "1 devplane: the gate DRAResourceAvailabilityVisibility is off: availability of devices is hidden" "$status $err"
capture "$DEVPLANE" watch devices --feature-gates DRAResourceAvailabilityVisibility=false
same "from watch, too" 1 "$status"

# A user who may not read the claims of one namespace, or of all.
"$kubectl" create clusterrole devices --verb=get,list,watch --resource=resourceslices.resource.k8s.io >"$TMP/role.log" 2>&1
"$kubectl" create clusterrolebinding devices --clusterrole=devices --user=jane >>"$TMP/role.log" 2>&1
out=$(top --as jane)
contains "without the right to list claims it is said what is shown" "as published in the status of slices: you may not list claims" "$out"
curl -sf -X PATCH -H 'content-type: application/merge-patch+json' -o "$TMP/patch.log" \
	"$proxy/apis/resource.k8s.io/v1/resourceslices/n3-gpu/status" -d '{"status": {"observedGeneration": 1, "devices": [
	{"name": "gpu-0", "state": "Available"}, {"name": "gpu-1", "state": "Allocated", "allocations": [
	{"claimNamespace": "secret", "claimName": "hidden", "claimUID": "u"}]}]}}' || not_ok "the status of a slice should be written"
out=$(top --as jane)
matches "then it is what somebody published" 'n3 \(\?\) +n3 +2 +1 +0 +1 +0 +0 +1 claim' "$out"
matches "and what nobody did is not known" 'n4 \(\?\) +n4 +2 +\? +\? +\? +\? +\?' "$out"
same "which json does not say, either" '{"healthUnknown":2}' "$(top --as jane -o json | node -e '
	const o = JSON.parse(require("fs").readFileSync(0)).pools.find((p) => p.pool == "n4")
	const { complete, valid, healthUnknown, deviceList } = o
	console.log(JSON.stringify({ complete, valid, healthUnknown, health: deviceList[0].health }))')"
"$kubectl" create clusterrole lists --verb=list,watch --resource=resourceclaims.resource.k8s.io,devicetaintrules.resource.k8s.io >>"$TMP/role.log" 2>&1
"$kubectl" create clusterrolebinding lists --clusterrole=lists --user=jane >>"$TMP/role.log" 2>&1
out=$(top --as jane)
matches "claims that may not be read are counted" 'n2 +n2 +2 +1 +0 +1 +0 +\? +1 claim' "$out"
background watch-jane "$DEVPLANE" watch devices --as jane
jane_pid=$pid
wait_line "$TMP/watch-jane.log" '^# changes of devices'
allocate secret ghost n8 gone
wait_line "$TMP/watch-jane.log" 'gpu.example.com/n8  complete -> invalid  a ResourceClaim references non-existent device'
same "and not named by what is wrong with a pool" 0 "$(grep -c ghost "$TMP/watch-jane.log")"
"$kubectl" delete resourceclaim -n secret ghost >"$TMP/delete.log" 2>&1 || sed 's/^/# /' "$TMP/delete.log"
wait_line "$TMP/watch-jane.log" 'gpu.example.com/n8  invalid -> complete'
kill -TERM "$jane_pid"
wait "$jane_pid"
same "SIGTERM ends watch in order" 0 $?

# --- changes ---------------------------------------------------------------------------------------------
background watch "$DEVPLANE" watch devices
watch_pid=$pid
wait_line "$TMP/watch.log" '^# changes of devices'
for i in $(seq 10 42); do
	allocate default "share-$i" shared nic ", \"shareID\": \"a671734a-e8e5-11e4-8fde-42010af092$i\""
done
wait_line "$TMP/watch.log" 'shared/nic  .* default/share-41, default/share-42$'
ok "watch tells the 33rd share"
allocate default train n1 gpu-1
wait_line "$TMP/watch.log" 'gpu.example.com/n1/gpu-1  Available -> Allocated  default/train$'
ok "watch tells an allocation"
status default train '{"devices": [{"driver": "gpu.example.com", "pool": "n1", "device": "gpu-1",
	"conditions": [{"type": "Ready", "status": "False", "reason": "Hot", "message": "too hot", "lastTransitionTime": "2024-01-01T00:00:00Z"}]}]}'
wait_line "$TMP/watch.log" 'n1/gpu-1  NotReported -> Unhealthy  too hot$'
ok "watch tells a device that is not ready"
matches "and top who says so" '"healthSource": ?"claim default/train"' "$(top --pool n1 -o json)"
matches "as do devices" 'gpu-1 +gpu.example.com +n1 +n1 +Allocated .*Unhealthy' "$("$DEVPLANE" get devices 2>&1)"
"$kubectl" patch resourceslice n9-gpu --type json -p '[{"op": "add", "path": "/spec/devices/0/taints", "value": [{"key": "example.com/x", "effect": "NoSchedule"}]}]' >"$TMP/patch.log" 2>&1
wait_line "$TMP/watch.log" 'n9/gpu-0  Available -> Unavailable  Tainted: example.com/x$'
ok "watch tells a taint"
"$kubectl" patch resourceslice n9-gpu --type json -p '[{"op": "replace", "path": "/spec/pool/resourceSliceCount", "value": 2}]' >"$TMP/patch.log" 2>&1
wait_line "$TMP/watch.log" 'gpu.example.com/n9  complete -> incomplete'
ok "watch tells a pool that is incomplete"
"$kubectl" delete resourceslice n9-gpu >"$TMP/delete.log" 2>&1
wait_line "$TMP/watch.log" 'n9/gpu-1  Unavailable -> \(gone\)'
ok "watch tells devices that are gone"

# --- some devices -------------------------------------------------------------------------------------------
chosen() { top -o json "$@" | node -e '
	const { pools } = JSON.parse(require("fs").readFileSync(0))
	console.log(pools.flatMap(({ pool, deviceList }) => deviceList.map(({ name }) => `${pool}/${name}`)).join())'; }
same "--unhealthy leaves devices that are" n1/gpu-1 "$(chosen --unhealthy)"
same "--filter those with a message" n1/gpu-1 "$(chosen --filter 'TOO hot')"
same "with a holder" n2/gpu-0 "$(chosen --filter secret/hidden)"
same "or a name" big/gpu-19 "$(chosen --filter big/gpu-19)"
same "both are joined" "" "$(chosen --unhealthy --filter big)"
matches "totals are of what is left" '^1 device in 1 pool: 0 free, 1 allocated; 1 unhealthy' "$(top --unhealthy)"

# --- statuses that are objects --------------------------------------------------------------------------------
(
	start_server lmdb "$TMP/other" --feature-gates DRAResourceAvailabilityVisibility=false
	export KUBECONFIG=$kubeconfig
	# put KIND NAME UID: the status of a slice, which it says is of that uid.
	put() {
		cat <<END
{"apiVersion": "devplane.dev/v1alpha1", "kind": "ResourceSliceStatus", "metadata": {"name": "$1-gpu", "ownerReferences": [
 {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "name": "$1-gpu", "uid": "$2"}]},
 "status": {"observedGeneration": $3, "devices": [{"name": "gpu-0", "state": "Allocated"}]}}
END
	}
	uid() { "$kubectl" get resourceslice "$1-gpu" -o jsonpath='{.metadata.uid}'; }
	{
		cat <<END
{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "resourceslicestatuses.devplane.dev"},
 "spec": {"group": "devplane.dev", "scope": "Cluster", "names": {"plural": "resourceslicestatuses", "singular": "resourceslicestatus",
  "kind": "ResourceSliceStatus", "listKind": "ResourceSliceStatusList"}, "versions": [{"name": "v1alpha1", "served": true, "storage": true,
  "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}
END
		for i in 1 2 3; do
			slice n$i '{"name": "gpu-0"}'
		done
	} | "$kubectl" create -f -
	"$kubectl" create clusterrole devices --verb=get,list,watch --resource=resourceslices.resource.k8s.io
	"$kubectl" create clusterrolebinding devices --clusterrole=devices --user=jane
	until_true 20 "$kubectl" get resourceslicestatuses
	"$DEVPLANE" top devices --as jane >"$TMP/neither.out" 2>&1
	{ put n1 "$(uid n1)" 1 && put n2 other 1 && put n3 "$(uid n3)" 7; } | "$kubectl" create -f -
	"$kubectl" create clusterrole statuses --verb=get,list,watch --resource=resourceslicestatuses.devplane.dev
	"$kubectl" create clusterrolebinding statuses --clusterrole=statuses --user=jane
	"$DEVPLANE" top devices --as jane >"$TMP/objects.out" 2>&1
	kill -TERM "$pid"
	wait "$pid"
) >"$TMP/other.log" 2>&1 || sed 's/^/# /' "$TMP/other.log"
out=$(<"$TMP/neither.out")
contains "who may not read these either is told so" "you may list neither claims of all namespaces nor ResourceSliceStatus objects" "$out"
matches "and sees devices" 'n1 \(\?\) +n1 +1 +\? ' "$out"
out=$(<"$TMP/objects.out")
matches "statuses that are objects are shown" 'n1 \(\?\) +n1 +1 +0 +0 +1 ' "$out"
matches "but not those of another slice of that name" 'n2 \(\?\) +n2 +1 +\? +\? ' "$out"
matches "and those of before are marked" 'n3 \(stale\) +n3 +1 +0 +0 +1 ' "$out"

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
sees "its last line has the keys" '1-8 of 11 .* q quit'
allocate default other big gpu-3
sees "an allocation shows up by itself" '^gpu.example.com +big +big +20 +19 +0 +1 +0 +0 +default/other'
sees "totals, too" '^39 devices in 11 pools: 33 free, 3 allocated, .*; 1 unhealthy'
keys Down Down Down Down Down Down Down Down
sees "the table follows the selected row" '2-9 of 11'
keys g
sees "and back" '1-8 of 11'
# On big, the first row: its devices, then the fourth of these.
keys Enter
sees "Enter opens a pool" '1-8 of 21 .* Esc back'
sees "with its devices" '^    gpu-3 +Allocated +NotReported +default/other'
keys j j j Enter
sees "Enter opens a device" '^Device: +gpu-3'
sees "with its holder" '^Holder: +default/other \[train-0\]'
keys Escape
sees "Esc goes back to the pool" '1-8 of 21'
keys Escape
sees "and to all pools" '1-8 of 11'
keys u
sees "u leaves unhealthy devices" '^1 device in 1 pool: .*; 1 unhealthy'
keys Enter Enter
sees "whose health is explained" '^Message: +too hot'
keys Escape
sees "Esc goes back from there" '1-2 of 2 .* Esc back'
keys Escape
sees "to pools with unhealthy devices" '1-1 of 1 .* u all'
keys u
sees "u shows all again" '1-8 of 11'
keys /
sees "a filter is typed" '^filter: _'
keys big Enter
sees "and leaves pools that match" '^20 devices in 1 pool'
keys / C-u Enter
sees "without it all are back" '1-8 of 11'
keys s
sees "pools are sorted by what is free" 'sorted by free'
keys s
sees "by what is allocated" 'sorted by allocated'
keys s d
sees "devices come below their pools" '^    gpu-3 +Allocated +NotReported +default/other \[train-0\]'
keys G
sees "the end is one key away" '43-50 of 50'
keys PPage
sees "pages, too" '35-42 of 50'
mux resize-window -t top -x 60 -y 20
sees "a new size is taken on" '35-50 of 50'
widest() { screen | awk '{ if (length($0) > n) n = length($0) } END { exit !(n <= 60) }'; }
check "lines end with the screen" widest
keys q
sees "q brings the shell back" '^shell>'
gone() { ! shows 'of 50'; }
check "and what was there before" until_true 10 gone
keys 'echo "it ended with $?"' Enter
sees "it ends well" '^it ended with 0'
keys Enter "'$DEVPLANE' top devices" Enter
sees "it can be begun again" '1-11 of 11'
kill -KILL "$(pgrep -P "$(mux display-message -p -t top '#{pane_pid}')")"
sees "killed, it leaves the terminal in order" '^shell>'
keys "stty -a | grep -o ' .icanon\| icanon'" Enter
sees "with its modes" '^ icanon'
keys "'$DEVPLANE' top devices" Enter
sees "once more" '1-11 of 11'
keys C-z
sees "Ctrl-Z brings the shell back" 'Stopped'
keys 'echo "modes: $(stty -a | grep -o "[ -]icanon")"' Enter
sees "with its modes, too" '^modes:  icanon'
keys fg Enter
sees "fg the table" '1-11 of 11'
keys d
sees "and its keys" '1-[0-9]+ of 50'
keys d
top_pid=$(pgrep -P "$(mux display-message -p -t top '#{pane_pid}')")
kill -STOP "$top_pid"
sees "a table that is stopped from outside" 'Stopped'
keys fg Enter
sees "comes back as well" '^gpu.example.com +big +big +20 +19'

# --- a server that is restarted ----------------------------------------------------------------------------
port=${url##*:}
kill -TERM "$server_pid"
until_true 20 bash -c "! kill -0 $server_pid 2>/dev/null"
wait_line "$TMP/watch.log" '^devplane: '
ok "watch tells that the server is gone"
PORT=$port start_server lmdb "$TMP/data"
server_pid=$pid
wait_line "$TMP/watch.log" '^devplane: the server answers again'
ok "and that it is back"
"$kubectl" delete resourceclaim other >"$TMP/delete.log" 2>&1 || sed 's/^/# /' "$TMP/delete.log"
sees "the table goes on over a restart of the server" '^gpu.example.com +big +big +20 +20'
wait_line "$TMP/watch.log" 'big/gpu-3  Allocated -> Available  default/other$'
ok "and so does watch"
keys C-c
sees "Ctrl-C ends it" '^shell>'
kill -INT "$watch_pid"
wait "$watch_pid"
same "SIGINT ends watch in order" 0 $?

# --- a server that does not answer --------------------------------------------------------------------------
kill -STOP "$server_pid"
keys Enter "'$DEVPLANE' top devices" Enter
until_true 20 pgrep -P "$(mux display-message -p -t top '#{pane_pid}')" >"$TMP/pgrep.log"
gone() { ! shows '^shell>'; }
until_true 20 gone
keys q
sees "q ends a table that waits for the server" '^shell>'
background stuck "$DEVPLANE" watch devices
until_true 20 bash -c "grep -q '^SigCgt:.*[4567cdef]...\$' /proc/$pid/status"
kill -TERM "$pid"
ended() { ! kill -0 "$pid" 2>/dev/null; }
check "SIGTERM ends a watch that waits for the server" until_true 20 ended
kill -CONT "$server_pid"
mux kill-server
done_testing
