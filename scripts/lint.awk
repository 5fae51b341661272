# The rules that can be seen in the text of one file at a time. First argument: scripts/layers.

function finding(text) {
	printf "%s:%d: %s\n", FILENAME, FNR, text
	findings++
}

function glob_matches(glob, path) {
	gsub(/[.+]/, "\\\\&", glob)
	gsub(/\*/, ".*", glob)
	return path ~ ("^" glob "$")
}

# Columns, with tabs of eight.
function width(line,    n, i) {
	for (i = 1; i <= length(line); i++)
		n += substr(line, i, 1) == "\t" ? 8 - n % 8 : 1
	return n
}

# Code without comments and the content of strings; in_comment lasts over lines.
function code_of(line,    out, at) {
	while (line != "") {
		if (in_comment) {
			at = index(line, "*/")
			if (!at)
				return out
			line = substr(line, at + 2)
			in_comment = 0
		} else if (match(line, /"([^"\\]|\\.)*"|'([^'\\]|\\.)*'|\/\*|\/\//)) {
			out = out substr(line, 1, RSTART - 1)
			at = substr(line, RSTART, 2)
			line = substr(line, RSTART + RLENGTH)
			if (at == "/*")
				in_comment = 1
			else if (at == "//")
				return out
			else
				out = out "\"\""
		} else {
			return out line
		}
	}
	return out
}

function check_layer(path,    other) {
	other = path
	sub(/\/.*/, "", other)
	if (layer == "" || other == layer || other == "devplane" || other == path)
		return
	if (!(layer in uses))
		finding("src/" layer " is not in scripts/layers; add it")
	else if (FILENAME == "src/cli/commands/commands.c" && path ~ /_command\.h$/)
		return
	else if (index(uses[layer], " " other " ") == 0)
		finding("src/" layer " may not include " path "; see scripts/layers")
	else if (!is_test && ((layer, other) in faced) && !((layer, path) in facade))
		finding(path " is not a facade of src/" other " for src/" layer "; see scripts/layers")
}

# FILE_impl.h is for the files of its folder, and for tests.
function check_private(path,    folder) {
	folder = path
	sub(/\/[^\/]*$/, "/", folder)
	if (layer != "" && path ~ /_impl\.h$/ && !is_test && FILENAME !~ ("^src/" folder "[^/]*$"))
		finding(path " is private to src/" folder "; include another header of that folder")
}

function check_library(path,    prefix, i, n, globs) {
	for (prefix in owners) {
		if (index(path, prefix) != 1 || path == FILENAME)
			continue
		n = split(owners[prefix], globs, " ")
		for (i = 1; i <= n; i++)
			if (glob_matches(globs[i], FILENAME))
				return
		finding(path " may be included by " owners[prefix] " only; see scripts/layers")
	}
}

function end_file() {
	if (file == "")
		return
	if (lines > 800)
		printf "%s:%d: %d lines; split what exceeds 800\n", file, lines, lines
	if (file ~ /_test\.c$/ && !asserts)
		printf "%s:1: asserts nothing; a test must be able to fail\n", file
}

BEGIN {
	banned = "(^|[^a-zA-Z0-9_>.])(strcpy|strcat|strncpy|strncat|sprintf|vsprintf|strtok|gets|atoi|atol|" \
		"atoll|atof|gmtime|localtime|ctime|asctime|rand|srand|tmpnam|mktemp|alloca|system|popen)[ \t]*\\("
	sleeping = "(^|[^a-zA-Z0-9_>.])(sleep|usleep|nanosleep)[ \t]*\\("
	leaving = "(^|[^a-zA-Z0-9_>.])(exit|_exit|quick_exit)[ \t]*\\("
	libraries = "^src/(base|net|grpc|store|api|cel|dra|client)/"
}

# The table comes first.
FNR == NR {
	if ($1 == "layer") {
		uses[$2] = " "
		for (i = 3; i <= NF; i++)
			uses[$2] = uses[$2] $i " "
	} else if ($1 == "facade") {
		for (i = 3; i <= NF; i++) {
			split($i, parts, "/")
			facade[$2, $i] = faced[$2, parts[1]] = 1
		}
	} else if ($1 == "library") {
		owners[$2] = ""
		for (i = 3; i <= NF; i++)
			owners[$2] = owners[$2] (i > 3 ? " " : "") $i
	}
	next
}

FNR == 1 {
	end_file()
	file = FILENAME
	in_comment = in_function = asserts = 0
	layer = FILENAME ~ /^src\// ? FILENAME : ""
	sub(/^src\//, "", layer)
	sub(/\/.*/, "", layer)
	is_test = FILENAME ~ /_test\.[ch]$/
	if (FILENAME ~ /^src\// && !is_test && $0 !~ /^\/\*/)
		finding("must begin with a comment that says what it is for")
}

{
	lines = FNR
	if (width($0) > 100)
		finding("wider than 100 columns")
	code = code_of($0)
}

match(code, /^#[ \t]*include[ \t]*/) && match($0, /["<][^">]+[">]/) {
	path = substr($0, RSTART + 1, RLENGTH - 2)
	if (substr($0, RSTART, 1) == "\"") {
		check_layer(path)
		check_private(path)
	} else {
		check_library(path)
	}
	next
}

# A function's `struct error *err` may be NULL (base/core/error.h).
!in_function && code ~ /^[a-z]/ { signature = "" }
!in_function { signature = signature " " code }
in_function && code ~ /if \(!?err[ )]|(&&|\|\|) !?err[ )]|[ (]err \?/ { nullable = 0 }
in_function && nullable && code !~ /sizeof\(err->/ && code !~ /struct error \*err/ &&
	code ~ /(^|[^a-zA-Z0-9_>.])err->|(^|[ \t(])\*err([^a-zA-Z0-9_]|$)/ {
	finding("err may be NULL; use error_copy(), error_recode() or an error of your own")
}

# Our style has a function's braces alone in the first column.
/^\{$/ {
	in_function = 1
	start = FNR
	name = previous
	nullable = !is_test && FILENAME !~ /(fixture|world|fake)\.[ch]$/ && signature !~ /const struct error \*err[,)]/ &&
		signature ~ /struct error \*err[,)]/
	next
}
/^\}$/ && in_function {
	in_function = 0
	if (FNR - start - 1 > 70 && !(is_test && name ~ /^int main\(/))
		finding("function of " (FNR - start - 1) " lines; split what exceeds 70")
	next
}
/^[^ \t#{}\/]/ { previous = $0 }

in_function && code ~ /^#[ \t]*if/ { finding("#if inside a function; give each case its own function") }
code ~ /^typedef struct/ || code ~ /^typedef .*\*[a-z_]+;/ { finding("typedef of a struct or pointer; name the struct") }
FILENAME != "src/base/core/banned.h" && code ~ banned { finding("banned function; see src/base/core/banned.h") }
is_test && code ~ sleeping { finding("a test that sleeps; move the clock or wait for the event") }
FILENAME ~ libraries && !is_test && code ~ leaving { finding("a library that exits; return an error") }
code ~ /(^|[^a-z_])(assert_[a-z_]+|fail_msg|fail) *\(/ { asserts = 1 }

END { end_file() }
