# The program as it is shipped has the compiler's protections, each rule of scripts/hardening can fail, and SECURITY.md names
# tests that exist.
. ./lib.sh
top=$(cd ../.. && pwd)

# --- the program --------------------------------------------------------------------------------------------

if readelf -sW "$DEVPLANE" | grep -qE '__(asan|tsan)_init'; then
	skip "the program has all protections" "it has sanitizers instead"
else
	check "the program has all protections" "$top/scripts/hardening" "$DEVPLANE"
	strip -o "$TMP/stripped" "$DEVPLANE"
	check "the rules hold for the stripped program, too" "$top/scripts/hardening" "$TMP/stripped"
fi

# --- the rules ----------------------------------------------------------------------------------------------

# It has more functions than the C library's start files, which have no landing pads on arm64.
cat >"$TMP/small.c" <<'END'
#include <stdio.h>
#include <string.h>
int one(int a) { return a + 1; }
int two(int a) { return a + 2; }
int three(int a) { return a + 3; }
int four(int a) { return a + 4; }
int five(int a) { return a + 5; }
int six(int a) { return a + 6; }
int main(int argc, char **argv)
{
	char name[64];

	strcpy(name, argv[0]);
	return printf("%s %d\n", name, one(argc) + two(argc) + three(argc)) < 0;
}
END
compile=(-g -O2 -fPIE -pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -fstack-protector-strong -fstack-clash-protection
	-ftrivial-auto-var-init=zero -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
case $(uname -m) in
x86_64) pads=-fcf-protection ;;
*) pads=-mbranch-protection ;;
esac
compile+=("$pads=$([ "$pads" = -fcf-protection ] && echo full || echo standard)")

# without NAME MESSAGE FLAG ..: the small program, compiled with these flags behind the others, has this one finding.
without() {
	local name=$1 message=$2
	shift 2
	gcc "${compile[@]}" "$@" -o "$TMP/small" "$TMP/small.c" 2>"$TMP/small.log" || cat "$TMP/small.log"
	capture "$top/scripts/hardening" "$TMP/small"
	matches "hardening: $name" "^$TMP/small: [^"$'\n'"]*$message[^"$'\n'"]*\$" "$out"
	same "hardening: $name ends with 1" 1 "$status"
}

if ! gcc "${compile[@]}" -o "$TMP/small" "$TMP/small.c" 2>"$TMP/small.log"; then
	skip "each rule can fail" "there is no gcc with these flags"
else
	check "hardening: a program with all flags has no findings" "$top/scripts/hardening" "$TMP/small"
	without "a program at a fixed address is found" "not a position-independent executable" -no-pie -fno-PIE
	without "writable relocations are found" "no read-only relocations" -Wl,-z,norelro
	without "late binding is found" "bound late" -Wl,-z,lazy
	without "an executable stack is found" "the stack is executable" -Wl,-z,execstack
	without "a missing stack protector is found" "no stack protector" -fno-stack-protector
	without "unchecked functions are found" "no checked functions" -U_FORTIFY_SOURCE
	without "missing landing pads are found" "have a landing pad" "$pads=none"
	without "variables that are not zeroed are found" "without -ftrivial-auto-var-init=zero" -ftrivial-auto-var-init=uninitialized
	without "a stack that can be jumped over is found" "without -fstack-clash-protection" -fno-stack-clash-protection
fi

# --- SECURITY.md --------------------------------------------------------------------------------------------

# Names are in the last column of the last table.
mapfile -t names < <(sed -n '/^## Threats, defences, tests/,$p' "$top/SECURITY.md" | awk -F '|' '/^\|/ { print $(NF - 1) }' |
	grep -oE '`[^`]+`' | tr -d '`' | sort -u)
missing=
for name in "${names[@]}"; do
	case $name in
	src/*) [ -f "$top/${name}_test.c" ] || missing+=" $name" ;;
	fuzz/*) [ -f "$top/$name.c" ] && [ -d "$top/fuzz/corpus/${name#fuzz/}" ] || missing+=" $name" ;;
	*) compgen -G "${name}_test.*" >/dev/null || missing+=" $name" ;;
	esac
done
same "SECURITY.md names tests that exist" "" "$missing"
check "and enough of them" [ "${#names[@]}" -gt 40 ]
done_testing
