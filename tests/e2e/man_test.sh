# Man pages: one for every command, with all of its flags, that no reader complains about.
. ./lib.sh

pages=$TMP/man1
SOURCE_DATE_EPOCH=86400 check "the pages are written" "$DEVPLANE" man --dir "$pages"

# Walks over the commands by their help, which is laid out by other code than the pages.
commands() {
	local name
	echo "$*"
	"$@" --help | awk '/^[A-Z].*:$/ { list = !/^(Usage|Flags|Exit status|Environment|Files|Examples):$/ }
		list && /^  [a-z]/ { print $1 }' | while read -r name; do
		commands "$@" "$name"
	done
}
commands "$DEVPLANE" | sed "s#^$DEVPLANE#devplane#" >"$TMP/commands"
check "there are many commands" test "$(wc -l <"$TMP/commands")" -gt 40
same "each has a page, and there are no others" "$(tr ' ' '-' <"$TMP/commands" | sed 's/$/.1/' | LC_ALL=C sort)" \
	"$(cd "$pages" && printf '%s\n' * | LC_ALL=C sort)"

# Text of a page without the backspaces that make it bold.
plain() {
	sed $'s/.\b//g'
}

# missing: what a page lacks of a command's help: flags and subcommands.
missing() {
	local words word page
	while read -r -a words; do
		page=$(IFS=- && echo "${words[*]}.1")
		mandoc -Tascii "$pages/$page" | plain >"$TMP/page"
		"$DEVPLANE" "${words[@]:1}" --help | grep -oE '^ +(-[a-z], )?--[a-z0-9-]+' | grep -oE -- '--.*' |
			while read -r word; do
				grep -qE "^ +(-[a-z], )?$word( |\\[|\$)" "$TMP/page" || echo "$page lacks $word"
			done
	done <"$TMP/commands"
}
same "each shows every flag" "" "$(missing)"
same "mandoc has nothing to complain about" "" "$(mandoc -Tlint -W warning "$pages"/*.1 2>&1)"
if command -v man >/dev/null && command -v groff >/dev/null; then
	same "nor has groff" "" "$(groff -man -ww -z -Tascii "$pages"/*.1 2>&1)"
	same "nor has man" "" "$(LC_ALL=C.UTF-8 man --warnings -l -Tutf8 -Z "$pages/devplane-cni.1" 2>&1 >/dev/null)"
	capture bash -c '"$DEVPLANE" man server | MANPAGER=cat man -l -'
	matches "a page can be read without being installed" 'DEVPLANE-SERVER\(1\).*--data-dir DIR' "$out"
else
	skip "man reads the pages" "man or groff is not installed"
fi

# Text to type in an example must be printed unchanged.
mandoc -Tascii "$pages/devplane-controller.1" | plain >"$TMP/page"
check "backslashes and quotes in examples survive" grep -qF -- \
	"--kubeconfig d/admin.kubeconfig --leader-elect=false \\" "$TMP/page"
check "so do stars and dashes" grep -qF -- "--controllers '*,-garbage-collector-controller'" "$TMP/page"
matches "the date is that of the sources" '1970-01-02' "$(cat "$pages/devplane.1")"
"$DEVPLANE" man driver sim | sed 1d >"$TMP/one"
same "one page is like that of all" "$(sed 1d "$pages/devplane-driver-sim.1")" "$(cat "$TMP/one")"

capture "$DEVPLANE" man srver
same "a mistyped command is pointed out" \
	$'2 devplane: unknown command "srver"; did you mean "server"?\nrun \'devplane man --help\' for help' "$status $err"
capture "$DEVPLANE" man --dir "$pages" server
same "--dir takes no command" 2 "$status"
capture "$DEVPLANE" man --dir /proc/nowhere
matches "a folder that cannot be written is a failure" '^1 devplane: .*/proc/nowhere' "$status $err"

done_testing
