# A server's data: checked and copied while it runs, found whole after kill -9, restored, compacted.
. ./lib.sh

data=$TMP/data
field() {
	node -p "JSON.parse(require('fs').readFileSync(0)).$1"
}
serve() {
	background "$1" "$DEVPLANE" server --data-dir "$2" --secure-port 0
	server=$pid
	wait_line "$TMP/$1.log" 'is ready at'
}

serve first "$data"
capture "$DEVPLANE" store check --data-dir "$data" -o json
same "a running server's store can be checked" 0 "$status"
same "and has no faults" 0 "$(field faultCount <<<"$out")"
check "it has objects" test "$(field objects <<<"$out")" -gt 0
id=$(field clusterID <<<"$out")
objects=$(field objects <<<"$out")

check "a running server's store can be copied" "$DEVPLANE" store backup "$TMP/copy" -d "$data"
same "a copy is for its owner only" 600 "$(stat -c %a "$TMP/copy")"
capture "$DEVPLANE" store backup "$TMP/copy" -d "$data"
same "a copy is not overwritten" "1 devplane: $TMP/copy exists already" "$status $err"
check "unless asked to" "$DEVPLANE" store backup "$TMP/copy" -d "$data" --force

capture "$DEVPLANE" store compact -d "$data"
same "a running server's store is not compacted" \
	"1 devplane: $data/store is in use by process $server" "$status $err"
capture timeout 20 "$DEVPLANE" server --data-dir "$data" --secure-port 0
check "a second server is refused" test "$status" -ne 0
matches "and told by whom" "in use by process $server" "$err$out"

kill -KILL "$server"
wait "$server" 2>/dev/null
capture "$DEVPLANE" store check -d "$data"
same "the store is whole after kill -9" 0 "$status"
matches "and says how much is in it" "objects +$objects of" "$out"
serve second "$data"
same "a server starts from it as it was" "$id" \
	"$("$DEVPLANE" store check -d "$data" -o json | field clusterID)"
stop "$server"

capture "$DEVPLANE" store restore "$TMP/copy" -d "$data"
same "a store is not overwritten by a copy" 1 "$status"
check "a copy becomes a store" "$DEVPLANE" store restore "$TMP/copy" -d "$TMP/other"
capture "$DEVPLANE" store check -d "$TMP/other" -o json
same "with the same objects" "$id $objects" \
	"$(field clusterID <<<"$out") $(field objects <<<"$out")"
serve third "$TMP/other"
stop "$server"
same "a server runs on it" 0 "$status"

check "a stopped server's store can be compacted" "$DEVPLANE" store compact -d "$data"
same "it has no past then" 0 "$("$DEVPLANE" store check -d "$data" -o json | field changes)"
check "and is whole" "$DEVPLANE" store check -d "$data"

head -c 5000 "$TMP/copy" >"$TMP/torn"
capture "$DEVPLANE" store restore "$TMP/torn" -d "$TMP/torn-data"
same "a torn copy is refused" 1 "$status"
capture "$DEVPLANE" store check -d "$TMP/nothing"
same "no store is a failure" 1 "$status"
done_testing
