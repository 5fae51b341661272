# Sourced by tests that run containers, and by containerd_lib.mjs: a containerd of the test's own.
#
#	. ./containerd_lib.sh
#	start_containerd "$TMP/ctd" || exit 1
#	.. --container-runtime-endpoint "$containerd_socket" .. image devplane.test/busybox:1 ..
#	stop_containerd "$TMP/ctd"
#
# Debian's containerd and runc with root, state, socket, images and network below one folder, so that
# several live side by side and beside the machine's own. Where containers cannot run the start
# fails and says why on standard error: that is a failure, no reason to skip. Only somebody who is not
# root is to skip: containerd_possible tells.
#
# $CONTAINERD_DEPS=no installs nothing. Images also get the files in the folder $CONTAINERD_IMAGE_ADD.
#
# With $CONTAINERD_PLUGIN, a devplane binary, `devplane cni` follows the bridge in each pod's network, with the
# root folder $CONTAINERD_PLUGIN_ROOT: plugins are then found in DIR/cni-bin, where Debian's are linked to.

containerd_possible() {
	[ "$(id -u)" -eq 0 ]
}

# containerd_image DIR NAME ENTRYPOINT [USER]: an OCI archive made of busybox, printed is its path.
# ENTRYPOINT is a JSON array.
containerd_image() {
	local dir=$1/image name=$2 entrypoint=$3 user=${4:-} applet layer config manifest size
	local blobs=$dir/blobs/sha256
	rm -rf "$dir"
	mkdir -p "$dir/root"/{bin,etc,tmp,var,root,home} "$blobs"
	chmod 1777 "$dir/root/tmp"
	cp "$(command -v busybox)" "$dir/root/bin/busybox"
	for applet in $("$dir/root/bin/busybox" --list); do
		[ "$applet" = busybox ] || ln -s busybox "$dir/root/bin/$applet"
	done
	[ -z "${CONTAINERD_IMAGE_ADD:-}" ] || cp -a "$CONTAINERD_IMAGE_ADD/." "$dir/root/"
	printf 'root:x:0:0:root:/root:/bin/sh\ndaemon:x:1:1:daemon:/:/bin/false\n' >"$dir/root/etc/passwd"
	printf 'root:x:0:\ndaemon:x:1:\n' >"$dir/root/etc/group"
	tar -C "$dir/root" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$dir/layer.tar" .
	layer=$(sha256sum <"$dir/layer.tar" | cut -d' ' -f1)
	mv "$dir/layer.tar" "$blobs/$layer"
	printf '{"architecture":"%s","os":"linux","config":{"User":"%s","Env":["PATH=/bin"],"Entrypoint":%s},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
		"$(dpkg --print-architecture)" "$user" "$entrypoint" "$layer" >"$dir/config"
	config=$(sha256sum <"$dir/config" | cut -d' ' -f1)
	mv "$dir/config" "$blobs/$config"
	printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:%s","size":%d},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"sha256:%s","size":%d}]}' \
		"$config" "$(stat -c %s "$blobs/$config")" "$layer" "$(stat -c %s "$blobs/$layer")" >"$dir/manifest"
	manifest=$(sha256sum <"$dir/manifest" | cut -d' ' -f1)
	size=$(stat -c %s "$dir/manifest")
	mv "$dir/manifest" "$blobs/$manifest"
	printf '{"imageLayoutVersion":"1.0.0"}' >"$dir/oci-layout"
	printf '{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:%s","size":%d,"annotations":{"io.containerd.image.name":"%s","org.opencontainers.image.ref.name":"%s"}}]}' \
		"$manifest" "$size" "$name" "${name##*:}" >"$dir/index.json"
	tar -C "$dir" -cf "$1/image.tar" oci-layout index.json blobs
	rm -rf "$dir"
	echo "$1/image.tar"
}

# containerd_ctr DIR ARG ..: ctr in the namespace that CRI uses.
containerd_ctr() {
	local dir=$1
	shift
	ctr -a "$dir/containerd.sock" -n k8s.io "$@"
}

# import_busybox_image DIR [NAME [ENTRYPOINT [USER]]]
import_busybox_image() {
	local archive
	archive=$(containerd_image "$1" "${2:-devplane.test/busybox:1}" "${3:-[]}" "${4:-}") &&
		containerd_ctr "$1" images import --snapshotter "$(cat "$1/snapshotter")" "$archive" >>"$1/ctr.log" 2>&1 &&
		rm -f "$archive"
}

# A number from 0 to 255 and a name of an interface that belong to this folder.
containerd_net() {
	printf '%s' "$1" | sha256sum | cut -c1-2
}

containerd_config() {
	local dir=$1 bin=/usr/lib/cni
	mkdir -p "$dir"/{root,state,cni,runc}
	if [ -n "${CONTAINERD_PLUGIN:-}" ]; then
		bin=$dir/cni-bin
		mkdir -p "$bin"
		ln -sf /usr/lib/cni/* "$bin/"
		ln -sf "$CONTAINERD_PLUGIN" "$bin/devplane-cni"
	fi
	cat >"$dir/config.toml" <<-END
		version = 2
		root = "$dir/root"
		state = "$dir/state"
		disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper"]
		[grpc]
		  address = "$dir/containerd.sock"
		[ttrpc]
		  address = "$dir/containerd.sock.ttrpc"
		[plugins."io.containerd.internal.v1.opt"]
		  path = "$dir/opt"
		[plugins."io.containerd.grpc.v1.cri"]
		  sandbox_image = "devplane.test/pause:1"
		  restrict_oom_score_adj = true
		  netns_mounts_under_state_dir = true
		  stream_server_port = "0"
		  [plugins."io.containerd.grpc.v1.cri".cni]
		    bin_dir = "$bin"
		    conf_dir = "$dir/cni"
		  [plugins."io.containerd.grpc.v1.cri".containerd]
		    snapshotter = "$(cat "$dir/snapshotter")"
		    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
		      runtime_type = "io.containerd.runc.v2"
		      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
		        Root = "$dir/runc"
		        SystemdCgroup = false
	END
}

# A bridge without a way out: pods and the machine reach each other.
containerd_network() {
	local dir=$1 net next=
	net=$(containerd_net "$dir")
	[ -z "${CONTAINERD_PLUGIN:-}" ] ||
		next=", { \"type\": \"devplane-cni\", \"rootDir\": \"$CONTAINERD_PLUGIN_ROOT\" }"
	cat >"$dir/cni/10-test.conflist" <<-END
		{ "cniVersion": "0.4.0", "name": "devplane-test", "plugins": [
		  { "type": "bridge", "bridge": "dpt$net", "isGateway": true, "ipMasq": false,
		    "ipam": { "type": "host-local", "dataDir": "$dir/cni-data", "subnet": "10.$((0x$net)).77.0/24",
		              "routes": [ { "dst": "0.0.0.0/0" } ] } }$next ] }
	END
}

# Overlay where the kernel and the folder's file system can, else plain copies.
containerd_snapshotter() {
	local try=$1/try result=native
	mkdir -p "$try"/{l,u,w,m}
	mount -t overlay overlay -o "lowerdir=$try/l,upperdir=$try/u,workdir=$try/w" "$try/m" 2>/dev/null && result=overlayfs
	umount "$try/m" 2>/dev/null
	rm -rf "$try"
	echo $result
}

containerd_answers() {
	kill -0 "$(cat "$1/pid")" 2>/dev/null || return 2
	ctr -a "$1/containerd.sock" version >/dev/null 2>&1 &&
		ctr -a "$1/containerd.sock" plugins ls 2>/dev/null | grep -E 'io.containerd.grpc.v1 +cri .* ok' >/dev/null
}

# start_containerd DIR: sets $containerd_socket. With what it had before when DIR was stopped by containerd_halt.
start_containerd() {
	local dir tries
	mkdir -p "$1" && dir=$(cd "$1" && pwd)
	[ "${CONTAINERD_DEPS:-}" = no ] || "$(dirname "${BASH_SOURCE[0]}")/../../scripts/deps" containerd >&2 || return 1
	[ -f "$dir/snapshotter" ] || containerd_snapshotter "$dir" >"$dir/snapshotter"
	containerd_config "$dir"
	containerd_network "$dir"
	setsid containerd --config "$dir/config.toml" --log-level info >>"$dir/containerd.log" 2>&1 </dev/null &
	echo $! >"$dir/pid"
	disown $!
	for ((tries = 0; tries < 600; tries++)); do
		containerd_answers "$dir" && break
		[ $? -ne 2 ] || tries=600
		sleep 0.05
	done
	if [ $tries -ge 600 ] || { [ ! -f "$dir/images" ] && ! containerd_images "$dir"; }; then
		echo "containerd cannot run here; the end of what it said:" >&2
		tail -n 30 "$dir/containerd.log" "$dir/ctr.log" >&2
		return 1
	fi
	containerd_socket=unix://$dir/containerd.sock
}

containerd_images() {
	import_busybox_image "$1" devplane.test/pause:1 '["/bin/sleep","2147483647"]' &&
		import_busybox_image "$1" && touch "$1/images"
}

# containerd_halt DIR: ends the daemon; containers go on, as in reality.
containerd_halt() {
	local pid tries
	pid=$(cat "$1/pid" 2>/dev/null) || return 0
	kill -TERM "$pid" 2>/dev/null
	for ((tries = 0; tries < 400; tries++)); do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.05
	done
	kill -KILL "$pid" 2>/dev/null
	rm -f "$1/pid"
}

# The shims of this folder's containerd: each names its socket among its arguments.
containerd_shims() {
	local file
	for file in /proc/[0-9]*/cmdline; do
		{ tr '\0' ' ' <"$file"; } 2>/dev/null | grep -q "containerd-shim.* -address $1/containerd.sock" &&
			basename "$(dirname "$file")"
	done
}

# stop_containerd DIR: ends the daemon and all its containers, unmounts, removes its network and the folder.
stop_containerd() {
	local dir pid id net
	dir=$(cd "$1" 2>/dev/null && pwd) || return 0
	containerd_halt "$dir"
	for id in "$dir"/runc/k8s.io/*/; do
		runc --root "$dir/runc/k8s.io" delete --force "$(basename "$id")" 2>/dev/null
	done
	for pid in $(containerd_shims "$dir"); do
		kill -KILL "$pid" 2>/dev/null
	done
	grep -o " $dir/[^ ]*" /proc/self/mounts | sort -r | while read -r id; do
		umount -l "$id" 2>/dev/null
	done
	net=$(containerd_net "$dir")
	ip link delete "dpt$net" 2>/dev/null
	rm -rf "$dir"
}
