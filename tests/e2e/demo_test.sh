# demo: all stories on a cluster of its own; on one that runs: what is printed is what ran, a failure, Ctrl-C, and nothing left behind.
. ./lib.sh

export TMPDIR=$TMP HOME=$TMP XDG_STATE_HOME=$TMP/state
dp() { "$DEVPLANE" "$@"; }

# story NAME: what the demo said of it.
story() { sed -n "/^== $1:/,/^== [^$1]/p" "$TMP/demo.log"; }
# line REGEX: the number of the first such line of the watcher's.
line() { grep -nE -m 1 -- "$1" "$TMP/watch" | cut -d: -f1; }

dp demo >"$TMP/demo.log" 2>&1
same "the demo tells all stories" 0 $?
demo=$(cat "$TMP/demo.log")
matches "it says that the cluster is its own" "starts one in a folder of its own.*stops and removes it" "${demo//$'\n'/ }"
matches "the pod's status says what happened to its device" \
	"main +claim:gpu +gpu.sim.devplane.dev/demo-0/gpu-0 +Unhealthy +Xid 79: GPU has fallen off the bus" "$(story health)"
matches "... and so does an event" "Warning +DeviceUnhealthy .*Healthy -> Unhealthy: Xid 79" "$(story health)"
matches "the device is tainted" "gpu-0 +Allocated .*unhealthy:NoSchedule" "$(story health)"
matches "the replacement has another, healthy one" "main +claim:gpu +gpu.sim.devplane.dev/demo-0/gpu-1 +Healthy" "$(story health)"
matches "a Job gives up on a dying GPU" "has condition devplane.dev/DevicesHealthy matching FailJob rule" "$(story job)"
matches "... after one pod" "training +Failed +0/1" "$(story job)"
matches "a Deployment's new pod has another GPU" "main +claim:gpu +gpu.sim.devplane.dev/demo-0/gpu-[1-3] +Healthy" "$(story deployment)"
nodes=$(sed -nE 's/^gpu-driver-[^ ]+ +1\/1 +Running .* (demo-[01]) .*/\1/p' <<<"$(story driver)" | sort | tr '\n' ' ')
same "a driver is installed on every node" "demo-0 demo-1 " "$nodes"
matches "... gets a new version" "gpu-driver +2 +2 +2 +2 +2 .*devplane:2" "$(story driver)"
matches "... and the demo says that its nodes run no program" "hollow.*run no program.*No resources found" "$(story driver | tr '\n' ' ')"
matches "the pool shows what is free" "000-gpu.sim.devplane.dev-demo-0-[^ ]+ +demo-0 .* +4 +3 +0 +1 " "$(story pools)"
matches "a pod that is too large learns why it waits" "wants 16 devices of class gpu, 4 fit" "$(story pools)"
matches "the claim shows its address" "Addresses: +[0-9.]+/" "$(story network)"
matches "the pod is beside the idle disk" "database +1/1 +Running .* demo-1 " "$(story disks)"
sed -n '/^\$ cat demo.watch/,/^$/p' "$TMP/demo.log" >"$TMP/watch"
gpu=$(sed -nE 's,.*batch-1 .*\+(gpu[^ ]+)$,\1,p' "$TMP/watch")
same "the next pod has the same device" "$gpu" "$(sed -nE 's,.*batch-2 .*\+(gpu[^ ]+)$,\1,p' "$TMP/watch")"
released=$(line "batch-1 .*: -gpu") reused=$(line "batch-2 .*: \+gpu")
check "the watcher saw the release before the reuse" [ "${released:-9}" -lt "${reused:-0}" ]
check "... and the first story, too" [ "$(line "train .*: \+gpu")" -lt "$(line "train .*: -gpu")" ]
folder=$(sed -n 's/^\$ cd //p' "$TMP/demo.log")
check "its folder is gone" [ -n "$folder" -a ! -e "$folder" ]
same "... and so is the one that it made first" "" "$(ls -d "$TMP"/devplane-demo.* 2>/dev/null)"

# A cluster that runs already.
dir=$TMP/up
check "a cluster" dp up --demo --data-dir "$dir" --secure-port 0 --detach
trap 'dp down --data-dir "$dir" >"$TMP/down.log" 2>&1; kill $(jobs -p) 2>/dev/null' EXIT
export KUBECONFIG=$dir/admin.kubeconfig
objects() { dp get namespaces,pods,resourceclaims,resourceclaimtemplates,nodediskiostatuses -A -o name; }
devices() { dp driver sim list --root-dir "$dir/nodes/demo-0" --name gpu.sim.devplane.dev; }
before=$(objects; devices)

capture dp demo --data-dir "$dir" --story pools --keep
same "one story, and everything kept" 0 "$status"
matches "... as it says" "Everything is left as it is" "$out"
command=$(sed -n 's/^\$ \(devplane explain-fit .*\)/\1/p' <<<"$out")
shown=$(sed -n '/^\$ devplane explain-fit/,/^Not considered/p' <<<"$out" | tail -n +2)
mkdir "$TMP/bin"
ln -s "$DEVPLANE" "$TMP/bin/devplane"
same "what was printed can be typed, and says the same" "$shown" "$(cd "$dir" && PATH=$TMP/bin:$PATH sh -c "$command")"
check "a manifest that was shown can be applied" sh -c "cd '$dir' && '$DEVPLANE' apply -f demo/huge.yaml"

check "something in the demo's way" dp delete pod huge -n devplane-demo
sed '/^  terminationGrace/a\  restartPolicy: Never' "$dir/demo/huge.yaml" >"$TMP/other.yaml"
check "... is there" dp apply -f "$TMP/other.yaml"
capture dp demo --data-dir "$dir" --story pools --keep
same "a step that fails fails the demo" 1 "$status"
matches "... which says where" "story pools: \`devplane apply -f demo/huge.yaml\` failed" "$err"
matches "... and shows what was said" "pod/huge: Pod \"huge\" is invalid" "$out"

# Not by `background`: a sanitizer would look for leaks in every command of the demo.
"$DEVPLANE" demo --data-dir "$dir" >"$TMP/interrupted.log" 2>&1 &
pid=$!
wait_line "$TMP/interrupted.log" '^\$ devplane driver sim fail'
kill -INT "$pid"
wait "$pid"
same "Ctrl-C ends it" 1 $?
matches "... with a word" "interrupted" "$(cat "$TMP/interrupted.log")"
same "... and nothing is left: no object, no broken device" "$before" "$(objects; devices)"

capture dp demo --list
matches "the stories have names" "health +KEP-4680 " "$out"
capture dp demo --story helth
same "others are bad usage" 2 "$status"
matches "... with a hint" 'did you mean "health"' "$err"
done_testing
