# How costs grow with the cluster: the API server with objects and with watchers, the scheduler with nodes, availability with
# slices of 8 devices that have two claims each.
#
# Objects go up to OBJECTS in steps of ten times; PODS are scheduled at each of NODES; SIZES are of watchers and of slices; EVENTS
# are sent to each watcher; CHANGES of claims, RATE a second.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/node_lib.sh"
. "$(dirname "$0")/schedule_lib.sh"
. "$(dirname "$0")/availability_lib.sh"

auth=(-H 'authorization: Bearer token')
path=/apis/resource.k8s.io/v1/namespaces/default/resourceclaims
printf '%s' '{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"generateName":"claim-"},"spec":{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu.example.com"}}]}}}' >"$tmp/claim"

# create COUNT: rate of creating so many claims.
create() {
	rate -n "$1" -c 10 -m 32 "${auth[@]}" -H 'content-type: application/json' -d "$tmp/claim" "$url$path"
}

end() {
	kill "$server"
	wait "$server" 2>/dev/null
}

# --- objects ----------------------------------------------------------------------------------------------------------------

# at_objects COUNT
at_objects() {
	local one
	serve objects
	point creates req/s objects "$1" "$(create "$1")"
	one=$(curl -sk "${auth[@]}" -H 'user-agent: bench' "$url$path?limit=1" | grep -oE '"name":"claim-[^"]*"' | head -n 1 | cut -d '"' -f 4)
	point gets req/s objects "$1" "$(rate -n $((requests / 2)) -c 10 -m 32 "${auth[@]}" "$url$path/$one")"
	point "lists of 500" req/s objects "$1" "$(rate -n 200 -c 4 -m 1 "${auth[@]}" "$url$path?limit=500")"
	point "server that wrote them" MiB objects "$1" "$(resident "$server")"
	end
	serve objects
	point "start to ready" ms objects "$1" "$(awk "BEGIN { print $ready_s * 1000 }")"
	point "server after a start" MiB objects "$1" "$(resident "$server")"
	end
	rm -rf "$tmp/objects"
}

most=${OBJECTS:-100000}
for count in $((most / 100)) $((most / 10)) "$most"; do
	at_objects "$count"
done

# --- watchers ---------------------------------------------------------------------------------------------------------------

# at_watchers COUNT: the writes themselves are among the work; it is shared by those who watch.
at_watchers() {
	local writes=${EVENTS:-5000} revision before watch
	serve watchers
	revision=$(curl -sk "${auth[@]}" "$url$path?limit=1" | grep -oE '"resourceVersion": ?"[0-9]+"' | head -n 1 | tr -dc 0-9)
	"$BUILD/bench/watch_load" "$url$path?watch=true&resourceVersion=$revision" token "$1" "$writes" >"$tmp/watch" 2>&1 &
	watch=$!
	wait_for grep -q ready "$tmp/watch"
	before=$(cpu_us "$server")
	create "$writes" >/dev/null
	wait $watch || cat "$tmp/watch" >&2
	point "events delivered" events/s watchers "$1" "$(awk '/dropped/ { print $1 }' "$tmp/watch")"
	point "work for an event" us watchers "$1" \
		"$(awk "BEGIN { print ($(cpu_us "$server") - $before) / ($1 * $writes) }")"
	end
	rm -rf "$tmp/watchers"
}

for count in ${SIZES:-1 10 100 1000}; do
	at_watchers "$count"
done

# --- nodes ------------------------------------------------------------------------------------------------------------------

for count in ${NODES:-10 100 1000 5000}; do
	# No more than fit: a node takes 110.
	pods=${PODS:-3000}
	scheduled "$count" $((pods < count * 100 ? pods : count * 100))
	point "pods without claims" pods/s nodes "$count" "$plain"
	point "pods with a claim each" pods/s nodes "$count" "$claimed"
	point "a decision" us nodes "$count" "$decision"
	point scheduler MiB nodes "$count" "$idle"
done

# --- slices -----------------------------------------------------------------------------------------------------------------

for count in ${SIZES:-10 100 1000 10000}; do
	available "$count" "$count" 8 $((count * 16)) "${CHANGES:-1000}" "${RATE:-100}"
	point "work for a change" ms slices "$count" "$work"
	point "change to status, p99" ms slices "$count" "${seen[2]}"
	point "from nothing" ms slices "$count" "$converged"
	point controller MiB slices "$count" "$idle"
done
