# examples/go-driver: CI has no Go modules, so only its syntax and format are checked. docs/other-languages.md has a real run.
. ./lib.sh
driver=../../examples/go-driver

if command -v gofmt >/dev/null; then
	same "the Go driver is formatted Go" "" "$(gofmt -l "$driver" 2>&1)"
else
	skip "the Go driver is formatted Go" "no gofmt"
fi
done_testing
