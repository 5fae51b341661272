# Status of claims: how fast it is written, and how soon it says what the kernel does; and how long interfaces take.
#
# The driver, the server and the pods are in a network namespace that is left with the script, so nothing of this
# machine's network is touched. Pods are namespaces without a process; claims_load.c is their kubelet and runtime. What
# happens begins, for what is measured, when the kernel's notice of it can be read, and ends when a watch of the API
# server shows it: so it has been written durably. UPDATES of status in each round, EVENTS one by one, CYCLES of
# attaching and detaching together, INTERFACES at once.
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${CLAIMS_INSIDE:-}" ] && unshare -n true 2>/dev/null; then
	CLAIMS_INSIDE=1 exec unshare -n bash "$0"
fi
. "$here/lib.sh"
. "$here/node_lib.sh"

updates=${UPDATES:-20000}
events=${EVENTS:-1000}
cycles=${CYCLES:-400}
interfaces=${INTERFACES:-100}
claims=1000
auth=(-H 'authorization: Bearer token')
json=(-H 'content-type: application/json')
path=/apis/resource.k8s.io/v1/namespaces/default/resourceclaims
[ -z "${CLAIMS_INSIDE:-}" ] || ip link set lo up

# --- status, with little data and with as much as there may be --------------------------------------------------

# data BYTES: what a driver tells of a device, as JSON that is that long.
data() {
	local text i pad
	text='{"network":"blue","device":"veth-0","kind":"veth","mtu":1500,"pad":"@"}'
	if [ "$1" -gt 1000 ]; then
		text='{"network":"blue","device":"veth-0","kind":"veth","mtu":1500,"cniResult":{"cniVersion":"1.0.0","routes":['
		for ((i = 0; i < 150; i++)); do
			text+="{\"dst\":\"198.51.$i.0/24\",\"gw\":\"192.0.2.1\",\"priority\":$((100 + i))},"
		done
		text="${text%,}],\"pad\":\"@\"}}"
	fi
	pad=$(printf '%*s' $(($1 - ${#text} + 1)) '' | tr ' ' x)
	printf '%s' "${text/@/$pad}"
}

# entry DATA: a merge patch with a device's status.
entry() {
	printf '{"status":{"devices":[{"driver":"net.devplane.dev","pool":"n1","device":"veth-@","conditions":[{"type":"Ready","status":"True","reason":"Attached","message":"0 is in pod default/web","lastTransitionTime":"2026-01-01T00:00:00Z"}],"data":%s,"networkData":{"interfaceName":"net1","ips":["192.0.2.5/24","2001:db8::5/64"],"hardwareAddress":"02:00:00:00:00:05"}}]}}' "$1"
}

# memory NAME WHAT: the server's.
memory() {
	told "$1" "$(resident $server) MiB, without pages of files $(own $server) MiB, $2"
}

# written NAME VERB: the best of some rounds.
written() {
	local best=0 round before cpu=
	for ((round = 0; round < rounds; round++)); do
		before=$(cpu_ms $server)
		ask update "$2" "$updates" 64
		cpu=$(printf '%s\n' $cpu "$(awk "BEGIN { print ($(cpu_ms $server) - $before) * 1000 / $updates }")" | sort -g | head -1)
		best=$(printf '%s\n' "$best" "${answer[0]}" | sort -g | tail -1)
	done
	figure "$1" updates/s "$best"
	told "$1-each" "bodies of ${answer[3]} bytes, answers of ${answer[4]}; 64 at a time, p50=${answer[1]} p99=${answer[2]} ms; server $(printf %.0f "$cpu") us of CPU each"
}

serve one
load claims_load
printf '%s' '{"metadata":{"generateName":"claim-"},"spec":{"devices":{"requests":[{"name":"nic","exactly":{"deviceClassName":"net"}}]}}}' >"$tmp/claim"
rate -n $claims -c 10 -m 32 "${auth[@]}" "${json[@]}" -d "$tmp/claim" "$url$path" >/dev/null
curl -sk "${auth[@]}" -H 'user-agent: bench' "$url$path" | grep -oE '"name":"claim-[^"]*"' |
	sed -E "s#.*:\"([^\"]*)\"#$url$path/\1/status#" >"$tmp/urls"
patch_each "$tmp/urls" '{"status":{"allocation":{"devices":{"results":[{"request":"nic","driver":"net.devplane.dev","pool":"n1","device":"veth-@"}]},"nodeSelector":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]}},"reservedFor":[{"resource":"pods","name":"web","uid":"8b9e7ee4-0000-4000-8000-000000000001"}]}}'
small=$(entry "$(data 100)") large=$(entry "$(data 10240)")
patch_each "$tmp/urls" "$small"
memory status-memory "with $claims claims and little data"
patch_each "$tmp/urls" "$large"
memory status-memory-10KiB "with 10 KiB of data each"
written status-patches-10KiB patch
written status-puts-10KiB put
patch_each "$tmp/urls" "$small"
written status-patches patch
written status-puts put
memory status-memory-after "with that and what has been in five minutes, 64 MiB at most"
finish
[ -n "${CLAIMS_INSIDE:-}" ] || {
	told net-driver "skipped: only root can make network namespaces"
	exit
}

# --- interfaces of pods -----------------------------------------------------------------------------------------

# post PATH BODY [TYPE]: what the server answers.
post() {
	curl -skf "${auth[@]}" -H "content-type: ${3:-application/json}" --data-binary "$2" "$url$1"
}

# field NAME: the last value of this field in a JSON text.
field() {
	grep -oE "\"$1\": ?\"[^\"]*\"" | tail -n 1 | sed -E 's/.*: ?"(.*)"/\1/'
}

# account: a kubeconfig with the rights of examples/network and a token that is bound to the node.
account() {
	local uid rbac=/apis/rbac.authorization.k8s.io/v1
	uid=$(post /api/v1/nodes '{"metadata":{"name":"n1"}}' | field uid)
	csplit -sz -f "$tmp/rbac" "$here/../examples/network/rbac.yaml" '/^---$/' '{*}'
	post /api/v1/namespaces/kube-system/serviceaccounts @"$tmp/rbac00" application/yaml
	post $rbac/clusterroles @"$tmp/rbac01" application/yaml
	post $rbac/clusterrolebindings @"$tmp/rbac02" application/yaml
	kubeconfig "$(post /api/v1/namespaces/kube-system/serviceaccounts/net-driver/token \
		"{\"spec\":{\"boundObjectRef\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n1\",\"uid\":\"$uid\"}}}" |
		field token)" >"$tmp/driver.kubeconfig"
}

# links: a bridge, two parents and 20 cards of veth.
links() {
	local i
	ip link add br0 up type bridge
	for i in p0 p1; do
		ip link add $i up type veth peer name far-$i
		ip link set far-$i up
	done
	for ((i = 0; i < 20; i++)); do
		ip link add h$i up type veth peer name far-h$i
		ip link set far-h$i up
	done
}

driver() {
	"$devplane" driver net --kubeconfig "$tmp/driver.kubeconfig" --node-name n1 --root-dir "$root/1" --cdi-dir "$root/cdi" \
		--interface 'h*' --create "veth:$interfaces:br0" --create "macvlan:$interfaces:p0" --create macvlan:20:p1 \
		--cni-path /usr/lib/cni >"$tmp/agent.out" 2>>"$tmp/agent.err" &
	agent=$!
	wait_for grep -q metrics "$tmp/agent.out"
}

# group NAME DEVICE COUNT PARAMETERS: pods whose claims are prepared.
group() {
	ask claims "$@"
	told "prepare-$1" "p50 ${answer[0]} p99 ${answer[1]} max ${answer[2]} ms; in status p50 ${answer[3]} p99 ${answer[4]} ms"
}

# cycling NAME COUNT: interfaces that come and go.
cycling() {
	ask cycle "$1" "$2"
	told "attach-$1" "p50 ${answer[0]} p99 ${answer[1]} max ${answer[2]} ms; in status p50 ${answer[3]} p99 ${answer[4]} ms"
	told "detach-$1" "p50 ${answer[6]} p99 ${answer[7]} max ${answer[8]} ms; in status p50 ${answer[9]} p99 ${answer[10]} ms"
}

# event NAME AT: times in the answer from there on: the kernel's, then until status says so.
event() {
	told "${1%-p99}-p50" "${answer[$2 + 3]} ms max=${answer[$2 + 5]} ms; the kernel took p50 ${answer[$2]} ms before it told"
	figure "$1" ms "${answer[$2 + 4]}"
}

# cost COUNT: what the driver and the server have needed for each of so many events since.
cost() {
	awk "BEGIN { printf \"driver %.0f us, server %.0f us of CPU each\", ($(cpu_ms $agent) - $agent_ms) * 1000 / $1, ($(cpu_ms $server) - $server_ms) * 1000 / $1 }"
}

serve two
account >/dev/null
links
driver
load claims_load
settle
idle=$(own $agent)
figure driver-idle MiB "$(resident $agent)"
ask driver "$root/1"
group veth veth-br0- "$interfaces" '{"network":"blue","addresses":["198.18.0.2/24","fd00:18::2/64"]}'
ask attach veth
told attach-first "p50 ${answer[0]} p99 ${answer[1]} max ${answer[2]} ms for $interfaces interfaces one after the other"
settle
figure driver-interfaces MiB "$(resident $agent)"
told driver-memory "$idle MiB without pages of files, $(own $agent) MiB with $interfaces interfaces"

agent_ms=$(cpu_ms $agent) server_ms=$(cpu_ms $server)
ask carrier veth "$events"
told event-cost "$(cost "$events")"
event link-down-p99 0
event link-up-p99 6
ask address veth "$events"
event address-added-p99 0
event address-removed-p99 6
ask detach veth
ask patch veth "$events"
told status-seen "p50 ${answer[3]} p99 ${answer[4]} max ${answer[5]} ms until a write of our own is seen: the server's part of the above"

group macvlan macvlan-p0- "$interfaces" '{"addresses":["198.18.0.2/24","fd00:18::2/64"]}'
group host h 20 '{"addresses":["198.18.0.2/24","fd00:18::2/64"]}'
cycling veth "$cycles"
cycling macvlan "$cycles"
cycling host "$cycles"
mkdir "$tmp/bin"
ln -s "$devplane" "$tmp/bin/devplane-cni"
ask run veth "$cycles" "$tmp/bin"
told plugin-attach "p50 ${answer[0]} p99 ${answer[1]} max ${answer[2]} ms, the whole process; to detach p50 ${answer[6]} p99 ${answer[7]} ms"
ask pass elsewhere $((cycles / 2)) "$tmp/bin"
told plugin-pass "p50 ${answer[0]} p99 ${answer[1]} max ${answer[2]} ms for a pod without claims"
ask pass default $((cycles / 2)) "$tmp/bin"
told plugin-pass-near "p50 ${answer[0]} p99 ${answer[1]} max ${answer[2]} ms for one where others have claims"
if [ -x /usr/lib/cni/macvlan ]; then
	group cni macvlan-p1- 20 '{"cni":{"type":"macvlan","master":"p1"}}'
	cycling cni 200
fi
settle
told driver-after "$(resident $agent) MiB after all that"
finish
