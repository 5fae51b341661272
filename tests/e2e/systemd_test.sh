# The systemd units: nothing to complain about, few rights, and a real systemd runs them: in namespaces of its own, on
# an overlay of this machine's files that vanishes with the test. Where that may not be done, only the former is shown.
. ./lib.sh
top=$(cd ../.. && pwd)

if ! command -v systemd-analyze >/dev/null; then
	skip "the units are right" "systemd is not installed"
	done_testing
fi
mkdir "$TMP/units"
for unit in "$top"/dist/systemd/*.service; do
	sed "s#@BINDIR@#$(dirname "$DEVPLANE")#" "$unit" >"$TMP/units/$(basename "$unit")"
done
same "systemd-analyze finds nothing wrong" "" "$(systemd-analyze verify --man=no "$TMP"/units/*.service 2>&1)"
sed 's/^\[Service\]/&\nNonsense=1/' "$TMP/units/devplane.service" >"$TMP/devplane-bad.service"
matches "it would find something" 'Nonsense' "$(systemd-analyze verify --man=no "$TMP/devplane-bad.service" 2>&1)"

# exposure UNIT TENTHS: its exposure, from 0 to 10, is at most that.
exposure() {
	local got
	got=$(systemd-analyze security --offline=true --no-pager "$TMP/units/$1.service" 2>/dev/null |
		sed -n 's/.*Overall exposure level for .*: \([0-9]*\)\.\([0-9]\).*/\1\2/p')
	check "$1 is exposed by ${got:-?} tenths, at most $2" test "$((10#${got:-100}))" -le "$2"
}
exposure devplane-server 15
exposure devplane-controller 15
exposure devplane-scheduler 15
exposure devplane-node 50
exposure devplane 56

# --- a real systemd ---------------------------------------------------------------------------------------

cat >"$TMP/boot" <<'END'
# boot TMP TOP: becomes systemd as the first process of these namespaces.
set -eu
tmp=$1 top=$2 root=$1/root/merged
mkdir "$tmp/root"
mount -t tmpfs none "$tmp/root"
mkdir "$tmp/root/upper" "$tmp/root/work" "$root"
mount -t overlay none -o "lowerdir=/,upperdir=$tmp/root/upper,workdir=$tmp/root/work" "$root"
mount -t proc none "$root/proc"
mount -t sysfs none "$root/sys"
mount -t cgroup2 none "$root/sys/fs/cgroup"
for dir in run tmp dev; do mount -t tmpfs none "$root/$dir"; done
while read -r name major minor; do
	mknod -m 666 "$root/dev/$name" c "$major" "$minor"
done <<DEVICES
null 1 3
zero 1 5
full 1 7
random 1 8
urandom 1 9
tty 5 0
ptmx 5 2
DEVICES
: 2>/dev/null >"$root/dev/null"
mkdir -p "$root/result" "$root/etc/devplane"
mount --bind "$tmp/result" "$root/result"
MANIFEST=no "$top/scripts/install" "$root/usr" /usr
cp "$tmp/inside" "$root/inside"
# Nothing of this machine is started, only what the test asks for.
cat >"$root/etc/systemd/system/devplane-test.service" <<UNIT
[Unit]
DefaultDependencies=no
[Service]
ExecStart=/bin/bash /inside
StandardOutput=append:/result/out
StandardError=append:/result/err
UNIT
ip link set lo up 2>/dev/null || true
cd "$root"
mkdir old
pivot_root . old
umount -l /old
: >/result/booting
exec env -i container=namespaces PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	/lib/systemd/systemd --system --unit=devplane-test.service --log-target=null --show-status=no
END

cat >"$TMP/inside" <<'END'
# Runs below systemd: prints "NAME: what was seen".
mount --make-rshared /
exec </dev/null
kubectl="kubectl --kubeconfig /var/lib/devplane-server/admin.kubeconfig"
say() { echo "$1: $("${@:2}" 2>&1 | tr '\n' ' ' | sed 's/ *$//')"; }
pid_of() { systemctl show -P MainPID "$1"; }
status_of() { awk -v name="$2:" '$1 == name { print $2 }' "/proc/$(pid_of "$1")/status"; }
runs_anew() { local pid; pid=$(pid_of "$1"); [ "$pid" != 0 ] && [ "$pid" != "$2" ] && [ "$(systemctl is-active "$1")" = active ]; }
until_true() { local i; for ((i = 0; i < 600; i++)); do "$@" >/dev/null 2>&1 && return; sleep 0.05; done; "$@"; }

# explained DIR: what the page of that server says of a claim.
explained() {
	local config=$1/admin.kubeconfig jar=$(mktemp) url code
	url=$(sed -n 's/.*server: //p' "$config")
	kubectl --kubeconfig "$config" create -f - >/dev/null <<CLAIM
{ "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": { "name": "c" },
  "spec": { "devices": { "requests": [ { "name": "r", "exactly": { "deviceClassName": "none" } } ] } } }
CLAIM
	code=$(devplane page --kubeconfig "$config" 2>/dev/null | sed -n 's/.*#code=//p')
	curl -sk -c "$jar" -H "X-Devplane-UI: 1" -d "{\"code\":\"$code\"}" "$url/ui/login" >/dev/null
	curl -sk -b "$jar" -H "X-Devplane-UI: 1" "$url/ui/explain?namespace=default&claim=c" | sed -n 's/.*"\(answer\|message\)": *"\([^"]*\)".*/\2/p'
}
systemd-sysusers /usr/lib/sysusers.d/devplane.conf
say start systemctl start devplane-server
say namespaces $kubectl get namespaces -o name
say skipped systemctl start devplane-controller
say without-kubeconfig systemctl is-active devplane-controller
for role in controller scheduler node; do
	install -m 600 /var/lib/devplane-server/admin.kubeconfig "/etc/devplane/$role.kubeconfig"
done
echo 'DEVPLANE_ARGS="--runtime hollow --node-name n1"' >/etc/default/devplane-node
say others systemctl start devplane-controller devplane-scheduler devplane-node
until_true $kubectl wait --for=condition=Ready node/n1 --timeout=30s
say node $kubectl get node n1 -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
until_true $kubectl get serviceaccount default
cat >/tmp/pod.yaml <<POD
{ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" }, "spec": { "containers": [ { "name": "c", "image": "i" } ] } }
POD
$kubectl create -f /tmp/pod.yaml >/dev/null
until_true $kubectl wait --for=condition=Ready pod/p --timeout=30s
say pod $kubectl get pod p -o 'jsonpath={.spec.nodeName} {.status.phase}'
for role in server controller scheduler; do
	say "$role-user" stat -c %U "/proc/$(pid_of "devplane-$role")"
	say "$role-capabilities" status_of "devplane-$role" CapBnd
	say "$role-filter" status_of "devplane-$role" Seccomp
	say "$role-writes" nsenter -t "$(pid_of "devplane-$role")" -m sh -c 'for d in / /etc /usr /var /home /root; do touch $d/x 2>/dev/null && echo $d; done'
done
say node-user stat -c %U "/proc/$(pid_of devplane-node)"
say node-mounts readlink "/proc/$(pid_of devplane-node)/ns/mnt"
say own-mounts readlink /proc/self/ns/mnt
say folder stat -c '%U %a' /var/lib/devplane-server
say explained explained /var/lib/devplane-server
old=$(pid_of devplane-server)
kill -KILL "$old"
say restarted until_true runs_anew devplane-server "$old"
say after-restart $kubectl get pod p -o name
say stop systemctl stop devplane-node devplane-scheduler devplane-controller devplane-server
say results systemctl show -P Result devplane-node devplane-scheduler devplane-controller devplane-server

# All in one, at a port that needs a right. A kubelet, of which there is only the name here, is not disturbed.
printf '[Service]\nExecStart=/bin/sleep infinity\n' >/etc/systemd/system/kubelet.service
echo 'DEVPLANE_ARGS="--demo --secure-port 443"' >/etc/default/devplane
systemctl daemon-reload
systemctl start kubelet
for unit in devplane devplane-node; do
	systemctl start $unit
	say "$unit-beside-kubelet" systemctl show -P ActiveState -P Result $unit
done
say kubelet systemctl is-active kubelet
systemctl stop kubelet
kubectl="kubectl --kubeconfig /var/lib/devplane/admin.kubeconfig"
say up systemctl start devplane
say up-address sed -n 's/.*server: //p' /var/lib/devplane/admin.kubeconfig
# How many drivers have several slices: gpu and nic one for each node, fpga one more, mig two of one node.
devices() { $kubectl get resourceslices -o 'jsonpath={range .items[*]}{.spec.driver}{"\n"}{end}' | sort | uniq -d | wc -l; }
four_drivers() { [ "$(devices)" = 4 ]; }
say up-devices until_true four_drivers
say up-nodes $kubectl get nodes -o name
say up-explained explained /var/lib/devplane
old=$(pid_of devplane)
kill -KILL "$old"
say up-again until_true runs_anew devplane "$old"
say up-kept $kubectl get nodes -o name
say up-stop systemctl stop devplane
say up-result systemctl show -P Result -P ActiveState devplane
say up-left pgrep -x devplane
say up-log tail -n 1 /var/lib/devplane/log/server.log
echo "finished:"
END

if [ "$(id -u)" -ne 0 ] || ! command -v kubectl >/dev/null; then
	skip "systemd runs the units" "not root, or kubectl is missing"
	done_testing
fi
mkdir "$TMP/result"
BUILD=$(dirname "$DEVPLANE") unshare -m --propagation private -p -f -u -i -n -C --kill-child=KILL bash "$TMP/boot" "$TMP" "$top" \
	>"$TMP/boot.log" 2>&1 </dev/null &
machine=$!
trap 'kill -KILL $machine 2>/dev/null' EXIT
# Until it has finished, or is gone without having begun.
ended() {
	grep -qs '^finished:' "$TMP/result/out" || ! kill -0 $machine 2>/dev/null
}
until_true 120 ended
if [ ! -e "$TMP/result/out" ]; then
	skip "systemd runs the units" "it cannot be started here: $(tail -n 1 "$TMP/boot.log")"
	done_testing
fi
seen() {
	sed -n "s/^$1: *//p" "$TMP/result/out"
}
same "the server starts and is waited for" "" "$(seen start)"
matches "it serves" 'namespace/default .*namespace/kube-system' "$(seen namespaces)"
same "the controllers are not started without a kubeconfig" inactive "$(seen without-kubeconfig)"
same "with one all start" "" "$(seen others)"
same "the node is ready" True "$(seen node)"
same "a pod is scheduled and runs" "n1 Running" "$(seen pod)"
for role in server controller scheduler; do
	same "$role runs as a user of its own" devplane "$(seen "$role-user")"
	same "$role has no capabilities" 0000000000000000 "$(seen "$role-capabilities")"
	same "$role is held to some system calls" 2 "$(seen "$role-filter")"
	same "$role sees no file system that could be written, even by root" "" "$(seen "$role-writes")"
done
same "the data folder is the server's" "devplane 700" "$(seen folder)"
same "the server's page explains" "claim default/c fits on 0 of 1 node" "$(seen explained)"
same "the node agent is root" root "$(seen node-user)"
same "and mounts where others see it" "$(seen own-mounts)" "$(seen node-mounts)"
same "a server that dies is started again" "" "$(seen restarted)"
same "with its data" "pod/p" "$(seen after-restart)"
same "all stop" "" "$(seen stop)"
same "in order" "success success success success" "$(seen results | tr -s ' ')"

same "nothing starts beside a kubelet" "success inactive" "$(seen devplane-beside-kubelet)"
same "nor does the node agent" "success inactive" "$(seen devplane-node-beside-kubelet)"
same "and the kubelet goes on" active "$(seen kubelet)"
same "devplane.service starts and is waited for" "" "$(seen up)"
same "at a port that others may not use" https://127.0.0.1:443 "$(seen up-address)"
same "the drivers of its demo show their devices" "" "$(seen up-devices)"
same "of both nodes" "node/demo-0 node/demo-1" "$(seen up-nodes)"
same "the page explains" "claim default/c fits on 0 of 2 nodes" "$(seen up-explained)"
same "when it is killed it is started again" "" "$(seen up-again)"
same "with its data" "node/demo-0 node/demo-1" "$(seen up-kept)"
same "it stops" "" "$(seen up-stop)"
same "in order" "success inactive" "$(seen up-result)"
matches "and its server, too" '"msg":"stopping","signal":15' "$(seen up-log)"
same "nothing of it is left" "" "$(seen up-left)"

done_testing
