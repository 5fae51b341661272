# `make install` installs headers, sources and .pc files for authors of plugins and drivers. They work wherever the tree is
# moved to.
. ./lib.sh
top=$(cd ../.. && pwd)

if ! command -v pkg-config >/dev/null || ! command -v cc >/dev/null || [ ! -f "$(dirname "$DEVPLANE")/src/drivers/libdevplane-driver.a" ]; then
	skip "what was installed is built against" "no pkg-config or compiler, or the build is not whole"
	done_testing
fi
check "it is installed" env "BUILD=$(dirname "$DEVPLANE")" "$top/scripts/install" "$TMP/made" /usr/local
mv "$TMP/made" "$TMP/moved"
export PKG_CONFIG_PATH=$TMP/moved/lib/pkgconfig
same "no .pc file names an absolute path" "" "$(grep -lE '[=LI ]/' "$PKG_CONFIG_PATH"/*.pc)"
version=$("$DEVPLANE" --version | cut -d ' ' -f 2)
for name in devplane-driver devplane-scheduler; do
	same "$name has the program's version" "$version" "$(pkg-config --modversion $name)"
done
check "plugins are where the .pc file says" test -f "$(pkg-config --variable=plugindir devplane-scheduler)/disk_io.so"

# compile LANGUAGE FIRST SECOND COMPILER: a program that includes both headers.
compile() {
	printf '#include <devplane/%s.h>\n#include <devplane/%s.h>\nint main(void) { return DP_LOG_WARN - DP_LOG_WARNING; }\n' "$2" "$3" |
		# shellcheck disable=SC2046 # words
		"$4" -x "$1" -Wall -Wextra -Werror $(pkg-config --cflags devplane-scheduler devplane-driver) - -o "$TMP/both" && "$TMP/both"
}
check "C includes both headers" compile c scheduler driver cc
check "C includes them in the other order" compile c driver scheduler cc
if command -v c++ >/dev/null; then
	check "C++ includes both headers" compile c++ scheduler driver c++
else
	skip "C++ includes both headers" "no c++"
fi

plugins=$TMP/moved/share/doc/devplane/plugins
for name in disk_io node_fake_resource; do
	check "the plugin $name is built from its installed sources" bash -c \
		'cc -shared -fPIC -Wall -Wextra -Werror $(pkg-config --cflags devplane-scheduler) "$1"/*.c -o "$2"' - "$plugins/$name" "$TMP/$name.so"
	check "... and is a plugin" grep -q dp_scheduler_plugin_entry "$TMP/$name.so"
done
check "the example driver is built from its installed source" bash -c \
	'cc "$1" $(pkg-config --cflags --libs --static devplane-driver) -o "$2"' - "$TMP/moved/share/doc/devplane/examples/driver/main.c" "$TMP/driver"

done_testing
