# examples/rust-driver: its declarations are those of the header, and the driver runs on `devplane up`. Skipped without rustc,
# and in builds with a sanitizer.
. ./lib.sh
top=$(cd ../.. && pwd)
build=$(dirname "$DEVPLANE")
library=$build/src/drivers/libdevplane-driver.a
dp() { "$DEVPLANE" "$@"; }

why=
[ -f "$library" ] || why="the build is not whole"
grep -qE '__[at]san_init' "$library" 2>/dev/null && why="the library has a sanitizer"
for tool in rustc cc pkg-config; do
	command -v $tool >/dev/null || why="no $tool"
done
if [ -n "$why" ]; then
	skip "the Rust driver runs" "$why"
	done_testing
fi

# --- it is built from its installed sources ----------------------------------------------------------------------------
check "it is installed" env "BUILD=$build" "$top/scripts/install" "$TMP/local"
export PKG_CONFIG_PATH=$TMP/local/lib/pkgconfig
source=$TMP/local/share/doc/devplane/examples/rust-driver
check "rustc builds the driver" rustc --edition 2021 -C panic=abort -C link-args="$(pkg-config --libs --static devplane-driver)" \
	"$source/src/main.rs" -o "$TMP/cards-driver"
if command -v cargo >/dev/null; then
	check "cargo builds it without a network" cargo build --quiet --offline --manifest-path "$source/Cargo.toml" --target-dir "$TMP/target"
else
	skip "cargo builds it without a network" "no cargo"
fi
# shellcheck disable=SC2046 # words
check "a C program prints the header's layout" cc -I "$top/tests/abi" $(pkg-config --cflags devplane-driver) rust_driver_layout.c -o "$TMP/layout"
"$TMP/layout" | sort -u >"$TMP/layout.c"
"$TMP/cards-driver" --layout | sort -u >"$TMP/layout.rust"
same "offsets, sizes and constants are the same in Rust and C" "" "$(diff "$TMP/layout.c" "$TMP/layout.rust")"
same "the layout has all structs" 20 "$(grep -c '^dp_[a-z_]* ' "$TMP/layout.rust")"

# --- it runs ---------------------------------------------------------------------------------------------------------
dir=$TMP/up cards=$TMP/cards root=$TMP/up/nodes/demo-0
mkdir "$cards"
echo ok >"$cards/card-0"
check "a cluster" dp up --demo --demo-devices plain --data-dir "$dir" --secure-port 0 --detach
trap 'dp down --data-dir "$dir" >"$TMP/down.log" 2>&1; kill $(jobs -p) 2>/dev/null' EXIT
export KUBECONFIG=$dir/admin.kubeconfig

pod() { dp get pod worker -o json | tr -d ' \n'; }
has() { pod | grep -qF "$1"; }
start_driver() { background driver "$TMP/cards-driver" "$cards" demo-0 "$KUBECONFIG" "$root" "$dir/cdi"; }

start_driver
until_true 20 eval 'dp get resourceslices | grep -q "cards.example.com .* 1 "'
check "it publishes its card" eval 'dp get resourceslices | grep -q cards.example.com'
cat >"$TMP/pod.yaml" <<'END'
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: card}
spec: {selectors: [{cel: {expression: device.driver == "cards.example.com"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: my-card, namespace: default}
spec: {devices: {requests: [{name: card, exactly: {deviceClassName: card}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: worker, namespace: default}
spec:
  resourceClaims: [{name: card, resourceClaimName: my-card}]
  containers: [{name: main, image: busybox, resources: {claims: [{name: card}]}}]
END
check "a pod claims it" dp apply -f "$TMP/pod.yaml"
check "the pod runs" until_true 20 has '"phase":"Running"'
matches "its container gets the name of the card" "EXAMPLE_CARD=card-0" "$(cat "$dir"/cdi/k8s.cards.example.com-claim-*.json)"
echo "fan stopped" >"$cards/card-0"
check "a broken card shows in the pod" until_true 20 has '"health":"Unhealthy","message":"fanstopped"'
stop "$pid"
same "SIGTERM ends the driver in order" 0 "$status"
echo ok >"$cards/card-0"
start_driver
check "after a restart it reports the card again" until_true 20 has '"health":"Healthy"'
check "the pod is deleted" dp delete pod worker
check "the claim is unprepared" until_true 20 eval '! ls "$dir"/cdi/k8s.cards.example.com-claim-*.json 2>/dev/null'
stop "$pid"
done_testing
