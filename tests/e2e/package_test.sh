# The Debian packages: same bytes from the same build; installed, upgraded, removed and purged by the real dpkg, nothing
# is left. Where overlays can be mounted /etc, /usr and /var are covered by some, and dpkg's work vanishes with the test;
# elsewhere it works on the machine itself, when there is no devplane on it.
. ./lib.sh
top=$(cd ../.. && pwd)

can_overlay() {
	unshare -m --propagation private bash -c 'mount -t tmpfs none "$0" && mkdir "$0/u" "$0/w" &&
		mount -t overlay none -o "lowerdir=/etc,upperdir=$0/u,workdir=$0/w" /etc' "$TMP" 2>/dev/null
}
untouched() {
	[ ! -e /var/lib/devplane ] && [ ! -e /var/lib/devplane-server ] && [ ! -e /etc/devplane ] &&
		! getent passwd devplane >/dev/null && ! dpkg-query -W devplane >/dev/null 2>&1
}
if [ -z "${PACKAGE_ON:-}" ] && [ "$(id -u)" -eq 0 ] && untouched; then
	export PACKAGE_ON=machine
	if can_overlay; then
		PACKAGE_ON=overlay exec unshare -m --propagation private bash package_test.sh
	fi
fi
if ! command -v dpkg-shlibdeps >/dev/null || [ ! -f "$(dirname "$DEVPLANE")/src/drivers/libdevplane-driver.a" ]; then
	skip "packages are built" "dpkg-dev is missing, or the build is not whole"
	done_testing
fi

# --- building ---------------------------------------------------------------------------------------------

export SOURCE_DATE_EPOCH=1700000000 DEB_LEVEL=0
BUILD=$(dirname "$DEVPLANE")
export BUILD
"$top/scripts/deb" "$TMP/again" >"$TMP/again.log" 2>&1 &
again=$!
check "packages are built" "$top/scripts/deb" "$TMP/debs"
wait $again
main=$(echo "$TMP"/debs/devplane_*.deb) dev=$(echo "$TMP"/debs/devplane-dev_*.deb)
check "the same build gives the same bytes" cmp "$main" "$TMP/again/$(basename "$main")"
check "of the package for developers, too" cmp "$dev" "$TMP/again/$(basename "$dev")"
version=$("$DEVPLANE" --version | cut -d ' ' -f 2)
same "the version is the program's" "$version" "$(dpkg-deb -f "$main" Version)"
matches "libraries are depended on" 'libc6 .*libssl3' "$(dpkg-deb -f "$main" Depends)"
dpkg-deb -c "$main" >"$TMP/contents"
for path in ./usr/bin/devplane ./usr/share/man/man1/devplane-server.1.gz ./lib/systemd/system/devplane-node.service \
	./usr/share/bash-completion/completions/devplane ./usr/lib/devplane/scheduler/disk_io.so ./etc/default/devplane; do
	check "it has $path" grep -qE " $path\$" "$TMP/contents"
done
same "all of it is root's and nobody else may write it" "" "$(awk '!/ root\/root / || (!/^l/ && $1 ~ /^.(....w|.......w)/)' "$TMP/contents")"
dpkg-deb -R "$main" "$TMP/tree"
same "settings are marked as such" "$(cd "$TMP/tree" && find etc -type f -printf '/%p\n' | sort)" "$(sort "$TMP/tree/DEBIAN/conffiles")"
check "checksums are right" bash -c 'cd "$1" && md5sum --quiet -c DEBIAN/md5sums' - "$TMP/tree"
for script in postinst prerm postrm; do
	capture "$TMP/tree/DEBIAN/$script" nonsense
	same "$script refuses what it does not know" 1 "$status"
done
capture "$top/scripts/install" "$TMP/prefix" /usr/local
cp -a "$TMP/prefix" "$TMP/prefix2" && : >"$TMP/prefix/share/man/man1/mine.1"
check "make uninstall takes back what make install put" "$top/scripts/uninstall" "$TMP/prefix2"
same "and leaves nothing" "$TMP/prefix2" "$(find "$TMP/prefix2")"
check "make uninstall after a second install, with a file of others" \
	bash -c '"$1/scripts/install" "$2" /usr/local && "$1/scripts/uninstall" "$2"' - "$top" "$TMP/prefix"
same "leaves that file" "$TMP/prefix/share/man/man1/mine.1" "$(find "$TMP/prefix" -not -type d)"

# --- installing -------------------------------------------------------------------------------------------

if [ -z "${PACKAGE_ON:-}" ]; then
	skip "packages are installed and removed" "not root, or a devplane is on this machine"
	done_testing
fi
if [ "$PACKAGE_ON" = overlay ]; then
	mkdir "$TMP/overlay" && mount -t tmpfs none "$TMP/overlay"
	for dir in etc usr var; do
		layers=$TMP/overlay/$dir
		mkdir -p "$layers/lower" "$layers/upper" "$layers/work"
		mount --bind "/$dir" "$layers/lower"
		mount -t overlay none -o "lowerdir=$layers/lower,upperdir=$layers/upper,workdir=$layers/work" "/$dir"
	done
fi
# added: what the upper layers have and the machine has not, and what they hide of it. Copies that the tools keep of
# what they changed, logs and caches do not count.
added() {
	local dir path
	for dir in etc usr var; do
		(cd "$TMP/overlay/$dir/upper" && find . -mindepth 1 -printf '%y %P\n') | while read -r type path; do
			if [ "$type" = c ]; then
				echo "hidden: /$dir/$path"
			elif [ ! -e "$TMP/overlay/$dir/lower/$path" ] && [ ! -h "$TMP/overlay/$dir/lower/$path" ]; then
				echo "/$dir/$path"
			fi
		done
	done | grep -vE '^/var/(log|cache)/|^/var/lib/dpkg/(lock|triggers/)|-(old)?$'
}
# names: what there is. Others work on the machine, too: without layers of our own only what may be ours counts.
names() {
	if [ "$PACKAGE_ON" = overlay ]; then
		added
	else
		find /etc /usr /var -xdev -name '*devplane*' -not -path '/var/log/*' -not -path '/var/cache/*' | LC_ALL=C sort
	fi
	cat /etc/passwd /etc/group
}
dpkg_quietly() {
	DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 dpkg --force-unsafe-io --force-confdef --force-confold "$@" >"$TMP/dpkg.log" 2>&1 ||
		{ cat "$TMP/dpkg.log" && return 1; }
}
names >"$TMP/before"

sed -i 's/^Version: .*/Version: 0.0.1/' "$TMP/tree/DEBIAN/control"
echo 'DEVPLANE_ARGS="--old"' >"$TMP/tree/etc/default/devplane-node"
dpkg-deb --root-owner-group -Znone -b "$TMP/tree" "$TMP/old.deb" >/dev/null
check "an older version is installed" dpkg_quietly -i "$TMP/old.deb"
same "with a user for the units" "devplane" "$(getent passwd devplane | cut -d : -f 1)"
matches "who cannot log in" 'nologin$' "$(getent passwd devplane)"
check "the program runs" /usr/bin/devplane version
matches "what is installed can be seen" '/usr/bin/devplane' "$(names)"
systemctl --root=/ enable devplane-server >/dev/null 2>&1
check "a unit can be enabled" test -h /etc/systemd/system/multi-user.target.wants/devplane-server.service

install -d -o devplane -m 700 /var/lib/devplane-server && echo data >/var/lib/devplane-server/x
echo key >/etc/devplane/node.kubeconfig
echo 'DEVPLANE_ARGS="--v 2"' >/etc/default/devplane-server
check "an upgrade works" dpkg_quietly -i "$main"
same "it is the new one" "install ok installed $version" "$(dpkg-query -W -f '${Status} ${Version}' devplane)"
same "it keeps data" data "$(cat /var/lib/devplane-server/x)"
same "and settings that were changed" 'DEVPLANE_ARGS="--v 2"' "$(cat /etc/default/devplane-server)"
same "and takes the new ones that were not" "$(cat "$top/dist/default/devplane-node")" "$(cat /etc/default/devplane-node)"
check "what was enabled stays so" test -h /etc/systemd/system/multi-user.target.wants/devplane-server.service
check "the files are as they were packed" dpkg_quietly --verify devplane

check "it can be removed" dpkg_quietly -r devplane
matches "which says that data is kept" 'data in /var/lib/devplane-server is kept' "$(cat "$TMP/dpkg.log")"
check "the program is gone, data and settings are not" \
	test ! -e /usr/bin/devplane -a -e /var/lib/devplane-server/x -a -e /etc/default/devplane-server
check "no unit is enabled any more" test ! -h /etc/systemd/system/multi-user.target.wants/devplane-server.service

# A folder of this machine, on the same file system, mounted as the node agent mounts subPaths.
volume="/var/lib/devplane/nodes/n/pods/a b" data=/var/lib/data-of-others
mkdir -p "$volume" && : >/var/lib/devplane/up.lock
if [ "$PACKAGE_ON" = overlay ]; then
	mkdir $data && echo mine >$data/x && mount --bind $data "$volume"
fi
check "it can be purged" dpkg_quietly -P devplane
matches "which says what goes" 'removing /var/lib/devplane-server' "$(cat "$TMP/dpkg.log")"
if [ "$PACKAGE_ON" = overlay ]; then
	same "what is mounted below a folder is not removed" mine "$(cat $data/x)"
	matches "which is said" '/var/lib/devplane is kept: something is mounted at /var/lib/devplane/nodes/n/pods/a b;' "$(cat "$TMP/dpkg.log")"
	umount "$volume" && rm -r $data
	exec 9</var/lib/devplane/up.lock
	flock -n 9
	capture sh "$TMP/tree/DEBIAN/postrm" purge
	exec 9<&-
	matches "nor is a folder that a devplane up works on" "/var/lib/devplane is kept: a .devplane up. runs on it" "$out"
	check "... it is there" test -d "$volume"
	check "without them all of it goes" sh "$TMP/tree/DEBIAN/postrm" purge
fi
names >"$TMP/after"
same "nothing is left" "" "$(diff "$TMP/before" "$TMP/after")"

done_testing
