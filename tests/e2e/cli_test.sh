# The command line itself: help, mistakes, exit codes, completion, lost output.
. ./lib.sh

overview=$("$DEVPLANE")
same "devplane alone shows the same as --help" "$("$DEVPLANE" --help)" "$overview"
same "help shows it, too" "$overview" "$("$DEVPLANE" help)"
matches "the overview lists commands with what they do" \
	$'\n  version  +show the version of devplane\n' "$overview"
same "nothing in the overview is wider than 80 columns" "" \
	"$(awk 'length > 80' <<<"$overview")"
same "output that is no terminal has no colours" "" "$(grep $'\033' <<<"$overview")"

same "help COMMAND is COMMAND --help" "$("$DEVPLANE" version --help)" "$("$DEVPLANE" help version)"
same "help follows nested commands" "$("$DEVPLANE" completion bash -h)" \
	"$("$DEVPLANE" help completion bash)"
same "a command that only groups others shows its help" "$("$DEVPLANE" completion --help)" \
	"$("$DEVPLANE" completion)"
matches "help shows choices and the default" '-o, --output text\|json\|yaml +.*\(default text\)' \
	"$("$DEVPLANE" version --help)"

every_command_has_help() {
	local script path
	script=$("$DEVPLANE" completion bash)
	grep -oP "^\t'\Kdevplane[^']*(?='\)$)" <<<"$script" | while read -r path; do
		# shellcheck disable=SC2086 # the words of a command
		"$DEVPLANE" ${path#devplane} --help | grep '^Usage:$' >/dev/null || { echo "$path" && false; } || return
	done
}
check "every command has help" every_command_has_help

version=$("$DEVPLANE" version)
matches "version is one line" '^devplane [0-9]+\.[0-9]+\.[0-9]+ \([^()]*(gcc|clang) [0-9.]+, linux/[a-z0-9]+\)$' \
	"$version"
same "--version says the same" "$version" "$("$DEVPLANE" --version)"
number=$(awk '{ print $2 }' <<<"$version")
same "version -o json is JSON" "$number" \
	"$("$DEVPLANE" version -o json | node -p 'JSON.parse(require("fs").readFileSync(0)).version')"
same "version -o yaml is YAML" "version: $number" "$("$DEVPLANE" version --output=yaml | grep '^version:')"

usage_error() {
	local name=$1 message=$2
	shift 2
	capture "$DEVPLANE" "$@"
	same "$name: exit code" 2 "$status"
	same "$name: message" "$message" "$(head -n 1 <<<"$err")"
	same "$name: nothing on standard output" "" "$out"
}
usage_error "unknown command" 'devplane: unknown command "vesrion"; did you mean "version"?' vesrion
matches "a mistake is followed by a hint" "run 'devplane --help'" "$err"
usage_error "strange command" 'devplane: unknown command "frobnicate"' frobnicate
usage_error "unknown command of help" \
	'devplane: unknown command "compeltion"; did you mean "completion"?' help compeltion
usage_error "unknown subcommand" 'devplane: unknown command "bahs"; did you mean "bash"?' \
	completion bahs
usage_error "unknown flag" 'devplane: unknown flag --outptu; did you mean --output?' \
	version --outptu=json
matches "the hint names the command" "run 'devplane version --help'" "$err"
usage_error "bad choice" \
	'devplane: flag --output: "jsno" is not one of text|json|yaml; did you mean json?' version -o jsno
usage_error "missing value" 'devplane: flag --output needs a value' version -o
usage_error "codec without a format" 'devplane: flag --from is required' codec --to json
usage_error "codec of a strange format" \
	'devplane: flag --to: "xml" is not one of json|yaml|protobuf' codec --from json --to xml
same "codec translates" "apiVersion: v1
kind: Namespace
metadata:
  name: a
spec: {}
status: {}" "$(echo '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}' | "$DEVPLANE" codec --from json --to yaml)"
usage_error "driver net without its node" 'devplane: flag --node-name is required' driver net
usage_error "driver net that is to create what it cannot" \
	'devplane: --create mcvlan:2:eth1: cannot create "mcvlan", did you mean macvlan?' \
	driver net --node-name n1 --create mcvlan:2:eth1
usage_error "driver net that is to create the same twice" \
	'devplane: --create: two entries give devices of the same name, such as veth-0: combine them into one' \
	driver net --node-name n1 --create veth:2 --create veth:1
usage_error "unexpected argument" 'devplane: unexpected argument "extra"' version extra
usage_error "command after a flag" 'devplane: unexpected argument "version"' --version=false version

unprivileged=()
[ "$EUID" -ne 0 ] || unprivileged=(setpriv --inh-caps=-all --bounding-set=-net_admin,-sys_admin)
capture "${unprivileged[@]}" "$DEVPLANE" driver net --node-name n1 --metrics-bind-address 0
same "driver net needs root" \
	'devplane: needs root (CAP_NET_ADMIN, CAP_SYS_ADMIN); this process lacks CAP_NET_ADMIN and CAP_SYS_ADMIN' "$err"
capture "$DEVPLANE" driver net list --root-dir "$TMP"
same "driver net list names who does not run" \
	"devplane: no \`devplane driver net\` runs as net.devplane.dev with --root-dir $TMP; start one, or name another with --root-dir and --name" "$err"

# script(1) runs a command on a pseudo-terminal.
have_terminals() { script -qec true /dev/null >/dev/null 2>&1 </dev/null; }
on_terminal() { TERM=xterm script -qec "$1" /dev/null </dev/null; }
if have_terminals; then
	matches "a terminal gets colours" $'\033\\[1mUsage:' "$(on_terminal '"$DEVPLANE" --help')"
	same "NO_COLOR is honoured" "" \
		"$(NO_COLOR=1 on_terminal '"$DEVPLANE" --help' | grep $'\033')"
	same "a dumb terminal gets none" "" \
		"$(on_terminal 'TERM=dumb "$DEVPLANE" --help' | grep $'\033')"
	same "help fits a narrow terminal" "" \
		"$(NO_COLOR=1 on_terminal 'stty cols 50; "$DEVPLANE" --help' | tr -d '\r' | awk 'length > 50')"
else
	skip "colours" "there are no pseudo-terminals"
fi

capture bash -c '"$DEVPLANE" help >/dev/full'
same "a full disk is a failure" 1 "$status"
same "a full disk is named" "devplane: cannot write the output: No space left on device" "$err"
capture bash -c '"$DEVPLANE" help >&-'
same "a closed standard output is a failure" 1 "$status"
matches "a closed standard output is named" "^devplane: cannot write the output" "$err"
mkfifo "$TMP/pipe"
# A reader that opens the pipe and goes away before anything is written.
capture bash -c 'exec 3<>"$TMP/pipe" 4>"$TMP/pipe" 3>&-; "$DEVPLANE" help >&4'
same "a reader that went away is as if SIGPIPE had ended it" 141 "$status"
same "... without a word" "" "$err"
# More than one buffer of it, so that the end is not where it fails.
capture bash -c 'exec 3<>"$TMP/pipe" 4>"$TMP/pipe" 3>&-; "$DEVPLANE" completion bash >&4'
same "... whenever it goes away" "141" "$status$err"

# Completion, as bash does it: with the words in COMP_WORDS and the answer in COMPREPLY.
"$DEVPLANE" completion bash >"$TMP/completion.bash"
complete_bash() {
	bash --norc -c '
		set -u
		source "$TMP/completion.bash"
		complete -p devplane >/dev/null || exit
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
		_devplane
		printf "%s\n" "${COMPREPLY[@]+"${COMPREPLY[@]}"}" | sort | tr "\n" " "' bash "$@"
}
same "completion of a command" "version " "$(complete_bash devplane ver)"
same "completion of a subcommand" "bash fish zsh " "$(complete_bash devplane completion "")"
same "completion of a beginning" "fish " "$(complete_bash devplane completion f)"
same "completion of help's words" "version " "$(complete_bash devplane help vers)"
same "completion of flags" "--help --output " "$(complete_bash devplane version --)"
same "completion of the program's own flags" "--version " "$(complete_bash devplane --v)"
same "completion of a flag's value" "json " "$(complete_bash devplane version --output j)"
same "completion of a letter's value" "json text yaml " "$(complete_bash devplane version -o "")"
same "completion of an attached value" "json " "$(complete_bash devplane version --output = j)"
same "completion behind the equals sign" "json text yaml " "$(complete_bash devplane version --output =)"
same "nothing completes a stranger" " " "$(complete_bash devplane frob)"

if command -v fish >/dev/null; then
	"$DEVPLANE" completion fish >"$TMP/completion.fish"
	complete_fish() {
		HOME=$TMP fish --no-config -c "source $TMP/completion.fish; complete -C '$1'" |
			cut -f 1 | sort | tr '\n' ' '
	}
	same "fish completes a command" "version " "$(complete_fish 'devplane vers')"
	same "fish completes a subcommand" "bash fish zsh " "$(complete_fish 'devplane completion ')"
	same "fish completes a flag's value" "json " "$(complete_fish 'devplane version --output j')"
else
	skip "fish completion" "fish is not installed"
fi

if command -v zsh >/dev/null && have_terminals; then
	"$DEVPLANE" completion zsh >"$TMP/_devplane"
	# An interactive zsh on a pseudo-terminal: types $1 and a tab, waits for $2 to appear.
	cat >"$TMP/type.zsh" <<-'END'
		zmodload zsh/zpty
		zpty shell TERM=dumb zsh -f -i
		zpty -w shell "fpath=($TMP \$fpath); autoload -Uz compinit; compinit -u -D; print REA''DY"
		zpty -r -m shell seen "*READY*"
		zpty -n -w shell "$1"$'\t'
		zpty -r -m shell seen "*$2*"
	END
	check "zsh completes a command" timeout 20 zsh -f "$TMP/type.zsh" "devplane versi" "version "
	check "zsh completes a subcommand" timeout 20 zsh -f "$TMP/type.zsh" "devplane completion f" "fish "
	check "zsh completes a flag's value" timeout 20 zsh -f "$TMP/type.zsh" \
		"devplane version --output js" "json "
else
	skip "zsh completion" "zsh is not installed, or there are no pseudo-terminals"
fi

done_testing
