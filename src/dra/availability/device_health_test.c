/*
 * Tests which reports about a device are believed, and their start times.
 */
#include "dra/inventory/inventory_fixture.h"

#include "base/core/limits.h"
#include "dra/availability/device_health.h"

#define DRIVER WORLD_DRIVER

struct world {
	struct inventory *inv;
	struct device_health_book *book;
	unsigned changes;
	char last[128]; /* the device that changed last */
};

static void on_changed(void *arg, struct str driver, struct str pool, struct str device)
{
	struct world *w = arg;

	w->changes++;
	snprintf(w->last, sizeof(w->last), "%.*s %.*s %.*s", STR_ARG(driver), STR_ARG(pool),
		 STR_ARG(device));
}

static void tell(struct world *w, const char *line)
{
	assert_int_equal(world_tell(w->inv, str_from(line)), 0);
}

/* Node n1 with two devices of p1, each held by a claim; a pool p2 on n2. */
static int set_up(void **state)
{
	static struct world w;

	w = (struct world){ .inv = inventory_new(inventory_everything) };
	w.book = device_health_book_new(on_changed, &w);
	tell(&w, "slice s1 p1 1/1 n1 a b");
	tell(&w, "slice s2 p2 1/1 n2 a b");
	tell(&w, "claim ns/c1 p1/a for=u1");
	tell(&w, "claim ns/c2 p1/b for=u2");
	*state = &w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	device_health_book_free(w->book);
	inventory_free(w->inv);
	return 0;
}

/* A pod of namespace ns whose claim "gpu" is `claim`, with text for its status. */
static void put_pod(struct world *w, const char *uid, const char *claim, const char *status,
		    int64_t now)
{
	struct buf text = BUF_INIT(MIB);
	struct arena a;

	arena_init(&a, MIB);
	(void)buf_printf(&text,
			 "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"pod-%s\",\"uid\":\"%s\"},"
			 "\"spec\":{\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimName\":"
			 "\"%s\"}]},\"status\":{%s}}",
			 uid, uid, claim, status);
	device_health_book_put_pod(w->book, world_parse(&a, &text), now);
	buf_release(&text);
	arena_release(&a);
}

/* A container's status with that health of a device of p1. */
static void put_health(struct world *w, const char *uid, const char *claim, const char *device,
		       const char *health, const char *message, int64_t now)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "\"containerStatuses\":[{\"name\":\"x\",\"allocatedResourcesStatus\":[{\"name\":"
		 "\"claim:gpu\",\"resources\":[{\"resourceID\":\"" DRIVER "/%s\",\"health\":\"%s\","
		 "\"message\":\"%s\"}]}]}]",
		 device, health, message);
	put_pod(w, uid, claim, text, now);
}

static struct device_health_report find(struct world *w, const char *pool, const char *device)
{
	const struct inventory_device *d = inventory_device(w->inv, STR(DRIVER), str_from(pool),
							    str_from(device));

	assert_non_null(d);
	return device_health(w->book, w->inv, d);
}

static void assert_health(struct device_health_report r, enum device_health health,
			  const char *message, int64_t since, const char *source)
{
	char text[64];

	assert_string_equal(device_health_name(r.health), device_health_name(health));
	snprintf(text, sizeof(text), "%.*s", STR_ARG(r.message));
	assert_string_equal(text, message);
	assert_int_equal(r.since, since);
	snprintf(text, sizeof(text), "%.*s", STR_ARG(r.source));
	assert_string_equal(text, source);
}

static void nothing_is_reported_at_first(void **state)
{
	assert_health(find(*state, "p1", "a"), DEVICE_NOT_REPORTED, "", 0, "");
}

static void a_pod_reports_the_devices_of_its_claims(void **state)
{
	struct world *w = *state;

	put_health(w, "u1", "c1", "p1/a", "Unhealthy", "Xid 79", 5);
	assert_health(find(w, "p1", "a"), DEVICE_UNHEALTHY, "Xid 79", 5, "pod ns/pod-u1");
	assert_health(find(w, "p1", "b"), DEVICE_NOT_REPORTED, "", 0, "");
	assert_int_equal(w->changes, 1);
	assert_string_equal(w->last, DRIVER " p1 a");
	put_health(w, "u1", "c1", "p1/a", "Healthy", "", 9);
	assert_health(find(w, "p1", "a"), DEVICE_HEALTHY, "", 9, "pod ns/pod-u1");
}

static void every_list_of_a_pods_status_is_read(void **state)
{
	static const char *const lists[] = {
		"\"containerStatuses\":[{%s}]",
		"\"initContainerStatuses\":[{},{%s}]",
		"\"ephemeralContainerStatuses\":[{%s}]",
		"%s",
	};
	static const char entry[] = "\"allocatedResourcesStatus\":[{\"name\":\"claim:gpu/large\","
				    "\"resources\":[{\"resourceID\":\"" DRIVER "/p1/a\","
				    "\"health\":\"Unhealthy\"}]}]";
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct buf text = BUF_INIT(KIB);
		struct str rest = str_from(lists[i]);
		ptrdiff_t at = str_find(rest, STR("%s"));

		(void)buf_printf(&text, "%.*s%s%s", (int)at, rest.p, entry, rest.p + at + 2);
		put_pod(w, "u1", "c1", text.p, 1);
		assert_int_equal(find(w, "p1", "a").health, DEVICE_UNHEALTHY);
		put_pod(w, "u1", "c1", "", 1);
		assert_int_equal(find(w, "p1", "a").health, DEVICE_NOT_REPORTED);
		buf_release(&text);
	}
}

static void claims_of_templates_and_of_extended_resources_are_found(void **state)
{
	struct world *w = *state;

	put_pod(w, "u1", "other",
		"\"resourceClaimStatuses\":[{\"name\":\"t\",\"resourceClaimName\":\"c1\"}],"
		"\"allocatedResourcesStatus\":[{\"name\":\"claim:t\",\"resources\":[{"
		"\"resourceID\":\"" DRIVER "/p1/a\",\"health\":\"Unknown\"}]}]",
		1);
	assert_int_equal(find(w, "p1", "a").health, DEVICE_UNKNOWN);
	put_pod(w, "u1", "other",
		"\"extendedResourceClaimStatus\":{\"resourceClaimName\":\"c1\"},"
		"\"allocatedResourcesStatus\":[{\"name\":\"claim:c1/r\",\"resources\":[{"
		"\"resourceID\":\"" DRIVER "/p1/a\",\"health\":\"Unhealthy\"}]}]",
		1);
	assert_int_equal(find(w, "p1", "a").health, DEVICE_UNHEALTHY);
}

static void an_equal_report_changes_nothing(void **state)
{
	struct world *w = *state;

	put_health(w, "u1", "c1", "p1/a", "Unhealthy", "hot", 5);
	put_health(w, "u1", "c1", "p1/a", "Unhealthy", "hot", 6);
	assert_int_equal(w->changes, 1);
	put_health(w, "u1", "c1", "p1/a", "Unhealthy", "hotter", 7);
	assert_int_equal(w->changes, 2);
	assert_health(find(w, "p1", "a"), DEVICE_UNHEALTHY, "hotter", 5, "pod ns/pod-u1");
}

static void of_containers_that_disagree_the_worst_counts_each_time(void **state)
{
	static const char both[] =
		"\"allocatedResourcesStatus\":[{\"name\":\"claim:gpu\",\"resources\":[{"
		"\"resourceID\":\"" DRIVER
		"/p1/a\",\"health\":\"Healthy\"},{\"resourceID\":\"" DRIVER
		"/p1/a\",\"health\":\"Unhealthy\"}]}]";
	struct world *w = *state;

	put_pod(w, "u1", "c1", both, 5);
	assert_int_equal(w->changes, 1);
	put_pod(w, "u1", "c1", both, 6);
	assert_int_equal(w->changes, 1);
	assert_health(find(w, "p1", "a"), DEVICE_UNHEALTHY, "", 5, "pod ns/pod-u1");
}

static void ended_and_deleted_pods_say_nothing(void **state)
{
	struct world *w = *state;

	put_health(w, "u1", "c1", "p1/a", "Unhealthy", "hot", 5);
	put_pod(w, "u1", "c1",
		"\"phase\":\"Failed\",\"allocatedResourcesStatus\":[{\"name\":\"claim:gpu\","
		"\"resources\":[{\"resourceID\":\"" DRIVER "/p1/a\",\"health\":\"Unhealthy\"}]}]",
		6);
	assert_int_equal(find(w, "p1", "a").health, DEVICE_NOT_REPORTED);
	put_health(w, "u1", "c1", "p1/a", "Unhealthy", "hot", 7);
	device_health_book_remove_pod(w->book, STR("u1"));
	assert_int_equal(find(w, "p1", "a").health, DEVICE_NOT_REPORTED);
	assert_int_equal(device_health_book_reports(w->book), 0);
	assert_int_equal(w->changes, 4);
}

static void a_pod_is_believed_only_about_devices_that_are_reserved_for_it(void **state)
{
	struct world *w = *state;

	put_health(w, "u1", "c1", "p1/b", "Unhealthy", "", 1);
	put_health(w, "u2", "c1", "p1/a", "Unhealthy", "", 1);
	put_health(w, "u3", "c3", "p2/a", "Unhealthy", "", 1);
	assert_int_equal(find(w, "p1", "a").health, DEVICE_NOT_REPORTED);
	assert_int_equal(find(w, "p1", "b").health, DEVICE_NOT_REPORTED);
	assert_int_equal(find(w, "p2", "a").health, DEVICE_NOT_REPORTED);
	tell(w, "claim ns/c3 p2/a for=u4 for=u3");
	assert_int_equal(find(w, "p2", "a").health, DEVICE_UNHEALTHY);
	tell(w, "claim ns/c3 p2/a for=u4");
	assert_int_equal(find(w, "p2", "a").health, DEVICE_NOT_REPORTED);
}

static int put_node(struct world *w, const char *node, const char *text, int64_t now)
{
	return device_health_book_put_node(w->book, str_from(node), str_from(text), now, NULL);
}

static void a_node_is_believed_only_about_its_own_devices(void **state)
{
	static const char both[] = "[{\"id\":\"" DRIVER "/p1/a\",\"health\":\"Unhealthy\","
				   "\"since\":\"1970-01-01T00:00:02Z\",\"message\":\"lost\"},"
				   "{\"id\":\"" DRIVER "/p2/a\",\"health\":\"Unhealthy\"}]";
	struct world *w = *state;

	assert_int_equal(put_node(w, "n1", both, 5000000000), 0);
	assert_health(find(w, "p1", "a"), DEVICE_UNHEALTHY, "lost", 2000000000, "node n1");
	assert_int_equal(find(w, "p2", "a").health, DEVICE_NOT_REPORTED);
	tell(w, "slice s1 p1 2/1 all a b generation=2");
	assert_int_equal(find(w, "p1", "a").health, DEVICE_NOT_REPORTED);
	tell(w, "slice s1 p1 3/1 each a(on=n1) b generation=3");
	assert_int_equal(find(w, "p1", "a").health, DEVICE_UNHEALTHY);
	device_health_book_remove_node(w->book, STR("n1"));
	assert_int_equal(find(w, "p1", "a").health, DEVICE_NOT_REPORTED);
}

#define HEALTHY(names)                                                       \
	"{\"driver\":\"" DRIVER "\",\"pool\":\"p1\",\"health\":\"Healthy\"," \
	"\"devices\":[" names "]}"
#define A_IS_LOST "{\"id\":\"" DRIVER "/p1/a\",\"health\":\"Unhealthy\",\"message\":\"lost\"}"

static void a_node_reports_its_healthy_devices_by_pool(void **state)
{
	struct world *w = *state;

	assert_int_equal(put_node(w, "n1", "[" A_IS_LOST "," HEALTHY("\"b\"") "]", 5), 0);
	assert_health(find(w, "p1", "a"), DEVICE_UNHEALTHY, "lost", 5, "node n1");
	assert_health(find(w, "p1", "b"), DEVICE_HEALTHY, "", 5, "node n1");
	assert_int_equal(w->changes, 2);
	assert_int_equal(put_node(w, "n1", "[" HEALTHY("\"a\",\"b\"") "]", 9), 0);
	assert_int_equal(w->changes, 3);
	assert_string_equal(w->last, DRIVER " p1 a");
	assert_health(find(w, "p1", "a"), DEVICE_HEALTHY, "", 9, "node n1");
	assert_health(find(w, "p1", "b"), DEVICE_HEALTHY, "", 5, "node n1");
	assert_int_equal(put_node(w, "n1", "[" HEALTHY("\"b\"") "]", 9), 0);
	assert_int_equal(find(w, "p1", "a").health, DEVICE_NOT_REPORTED);
	assert_int_equal(device_health_book_reports(w->book), 1);
}

static void reports_of_a_lost_node_are_unknown(void **state)
{
	struct world *w = *state;

	assert_int_equal(put_node(w, "n1", "[" A_IS_LOST "," HEALTHY("\"b\"") "]", 5), 0);
	inventory_put_lost_node(w->inv, STR("n1"), 8);
	assert_health(find(w, "p1", "a"), DEVICE_UNKNOWN, "the node is unreachable", 8, "node n1");
	assert_health(find(w, "p1", "b"), DEVICE_UNKNOWN, "the node is unreachable", 8, "node n1");
	device_health_book_remove_node(w->book, STR("n1"));
	assert_int_equal(find(w, "p1", "a").health, DEVICE_NOT_REPORTED);
	assert_int_equal(put_node(w, "n1", "[" A_IS_LOST "]", 5), 0);
	inventory_put_node(w->inv, STR("n1"), NULL);
	assert_health(find(w, "p1", "a"), DEVICE_UNHEALTHY, "lost", 5, "node n1");
}

static void a_device_that_a_node_names_twice_has_the_worse_health(void **state)
{
	struct world *w = *state;

	assert_int_equal(put_node(w, "n1", "[" HEALTHY("\"a\"") "," A_IS_LOST "]", 5), 0);
	assert_int_equal(find(w, "p1", "a").health, DEVICE_UNHEALTHY);
	assert_int_equal(w->changes, 1);
}

static void forms_that_are_not_known_are_ignored(void **state)
{
	static const char *const odd[] = {
		"[" HEALTHY("3,null,{},\"\",\"x/y\"") "]",
		"[{\"pool\":\"p1\",\"health\":\"Healthy\",\"devices\":[\"a\"]}]",
		"[{\"driver\":\"" DRIVER "\",\"health\":\"Healthy\",\"devices\":[\"a\"]}]",
		"[{\"driver\":\"" DRIVER "\",\"pool\":\"p1\",\"devices\":[\"a\"]}]",
		"[{\"driver\":\"" DRIVER
		"\",\"pool\":\"p1\",\"health\":\"Healthy\",\"devices\":\"a\"}]",
		"[{\"driver\":\"x/y\",\"pool\":\"p1\",\"health\":\"Healthy\",\"devices\":[\"a\"]}]",
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		assert_int_equal(put_node(w, "n1", odd[i], 1), 0);
		assert_int_equal(device_health_book_reports(w->book), 0);
	}
}

static void a_bad_annotation_says_nothing(void **state)
{
	static const char *const bad[] = { "{", "{}", "3", "\"x\"" };
	static const char good[] = "[{\"id\":\"" DRIVER "/p1/a\",\"health\":\"Unhealthy\"}]";
	struct world *w = *state;
	char *large = malloc(40 * KIB);

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(put_node(w, "n1", good, 1), 0);
		assert_int_equal(find(w, "p1", "a").health, DEVICE_UNHEALTHY);
		assert_int_equal(put_node(w, "n1", bad[i], 1), -ERR_INVALID);
		assert_int_equal(find(w, "p1", "a").health, DEVICE_NOT_REPORTED);
	}
	memset(large, ' ', 40 * KIB - 1);
	large[40 * KIB - 1] = '\0';
	assert_int_equal(put_node(w, "n1", large, 1), -ERR_TOO_LARGE);
	free(large);
	assert_int_equal(put_node(w, "n1", "[1,{},{\"id\":\"x\",\"health\":\"Unhealthy\"}]", 1), 0);
	assert_int_equal(device_health_book_reports(w->book), 0);
}

/* An entry of status.devices with that condition. */
#define DEVICE_IS(pool, device, type, status, message)                                   \
	"{\"driver\":\"" DRIVER "\",\"pool\":\"" pool "\",\"device\":\"" device          \
	"\",\"conditions\":[{\"type\":\"Other\",\"status\":\"False\"},{\"type\":\"" type \
	"\",\"status\":\"" status "\",\"message\":\"" message                            \
	"\",\"lastTransitionTime\":\"1970-01-01T00:00:02Z\"}]}"

static void put_claim(struct world *w, const char *name, const char *devices, int64_t now)
{
	struct buf text = BUF_INIT(64 * KIB);
	struct arena a;

	arena_init(&a, MIB);
	buf_addz(&text, devices);
	device_health_book_put_claim(w->book, STR("ns"), str_from(name), world_parse(&a, &text),
				     now);
	buf_release(&text);
	arena_release(&a);
}

static void a_claim_reports_the_devices_that_it_holds(void **state)
{
	static const char hot[] = "[" DEVICE_IS("p1", "a", "Ready", "False", "too hot") "]";
	struct world *w = *state;

	put_claim(w, "c1", hot, 5000000000);
	assert_health(find(w, "p1", "a"), DEVICE_UNHEALTHY, "too hot", 2000000000, "claim ns/c1");
	put_claim(w, "c1", hot, 6000000000);
	assert_int_equal(w->changes, 1);
	put_claim(w, "c1", "[" DEVICE_IS("p1", "a", "Ready", "Unknown", "") "]", 1);
	assert_int_equal(find(w, "p1", "a").health, DEVICE_UNKNOWN);
	put_claim(w, "c1", "[" DEVICE_IS("p1", "a", "Ready", "True", "") "]", 1);
	assert_health(find(w, "p1", "a"), DEVICE_HEALTHY, "", 1, "claim ns/c1");
	put_claim(w, "c1", "[" DEVICE_IS("p1", "a", "Cool", "True", "") ",{},3]", 1);
	assert_int_equal(find(w, "p1", "a").health, DEVICE_NOT_REPORTED);
	assert_int_equal(device_health_book_reports(w->book), 0);
	put_claim(w, "c1", hot, 1);
	device_health_book_put_claim(w->book, STR("ns"), STR("c1"), NULL, 1);
	assert_int_equal(find(w, "p1", "a").health, DEVICE_NOT_REPORTED);
	assert_int_equal(device_health_book_reports(w->book), 0);
}

static void a_claim_is_believed_only_about_devices_that_it_holds(void **state)
{
	static const char hot[] = "[" DEVICE_IS("p1", "a", "Ready", "False", "too hot") "]";
	struct world *w = *state;

	put_claim(w, "c2", hot, 1);
	put_claim(w, "c3", hot, 1);
	assert_int_equal(find(w, "p1", "a").health, DEVICE_NOT_REPORTED);
	tell(w, "claim ns/c3 p1/a(admin) for=u3");
	assert_int_equal(find(w, "p1", "a").health, DEVICE_NOT_REPORTED);
	put_claim(w, "c1", hot, 1);
	assert_int_equal(find(w, "p1", "a").health, DEVICE_UNHEALTHY);
	tell(w, "remove claim ns/c1");
	assert_int_equal(find(w, "p1", "a").health, DEVICE_NOT_REPORTED);
	tell(w, "claim ns/c1 p1/a");
	assert_int_equal(find(w, "p1", "a").health, DEVICE_UNHEALTHY);
}

static void claims_can_be_left_out(void **state)
{
	struct world *w = *state;
	const struct inventory_device *d = inventory_device(w->inv, STR(DRIVER), STR("p1"),
							    STR("a"));

	put_claim(w, "c1", "[" DEVICE_IS("p1", "a", "Ready", "False", "setting up") "]", 1);
	assert_int_equal(device_health_without_claims(w->book, w->inv, d).health,
			 DEVICE_NOT_REPORTED);
	put_health(w, "u1", "c1", "p1/a", "Healthy", "", 2);
	assert_health(device_health_without_claims(w->book, w->inv, d), DEVICE_HEALTHY, "", 2,
		      "pod ns/pod-u1");
	assert_int_equal(find(w, "p1", "a").health, DEVICE_UNHEALTHY);
	put_node(w, "n1", "[" A_IS_LOST "]", 3);
	assert_health(device_health_without_claims(w->book, w->inv, d), DEVICE_UNHEALTHY, "lost", 3,
		      "node n1");
}

/* Device p1/a is shared by claims c1 and c2, for pods u1 and u2. */
static void share(struct world *w)
{
	tell(w, "slice s1 p1 2/1 n1 a(multi,memory=10) generation=2");
	tell(w, "claim ns/c1 p1/a(share=1,memory=1) for=u1");
	tell(w, "claim ns/c2 p1/a(share=2,memory=1) for=u2");
}

static void the_worst_counts(void **state)
{
	struct world *w = *state;

	share(w);
	put_health(w, "u1", "c1", "p1/a", "Healthy", "", 1);
	put_health(w, "u2", "c2", "p1/a", "Unknown", "", 2);
	assert_int_equal(find(w, "p1", "a").health, DEVICE_UNKNOWN);
	put_health(w, "u1", "c1", "p1/a", "Unhealthy", "first", 3);
	put_health(w, "u2", "c2", "p1/a", "Unhealthy", "second", 4);
	assert_health(find(w, "p1", "a"), DEVICE_UNHEALTHY, "first", 3, "pod ns/pod-u1");
	put_health(w, "u1", "c1", "p1/a", "Healthy", "", 5);
	assert_health(find(w, "p1", "a"), DEVICE_UNHEALTHY, "second", 4, "pod ns/pod-u2");
}

#define SINCE(time) ",\"lastTransitionTime\":\"1970-01-01T00:00:0" time "Z\""
#define CLAIM_IS_HOT(since)                                                              \
	"[{\"driver\":\"" DRIVER "\",\"pool\":\"p1\",\"device\":\"a\",\"conditions\":[{" \
	"\"type\":\"Ready\",\"status\":\"False\"" since "}]}]"

/* Reports that p1/a is Unhealthy. Lower numbers count more. */
enum { SPEAKERS = 6 };

static void complain(struct world *w, size_t who)
{
	const int64_t now = 9000000000 + w->changes;

	if (who < 2)
		put_health(w, who ? "u2" : "u1", who ? "c2" : "c1", "p1/a", "Unhealthy", "", now);
	else if (who == 2)
		put_node(w, "n1", "[" A_IS_LOST "]", now);
	else if (who == 3)
		put_claim(w, "c3", CLAIM_IS_HOT(SINCE("8")), now);
	else
		put_claim(w, who == 4 ? "c1" : "c2", CLAIM_IS_HOT(SINCE("5")), now);
}

static void withdraw(struct world *w, size_t who)
{
	static const char *const claims[SPEAKERS] = { [3] = "c3", "c1", "c2" };

	if (who < 2)
		device_health_book_remove_pod(w->book, who ? STR("u2") : STR("u1"));
	else if (who == 2)
		device_health_book_remove_node(w->book, STR("n1"));
	else
		device_health_book_put_claim(w->book, STR("ns"), str_from(claims[who]), NULL, 1);
}

/*
 * All speakers report, in the order of `at`. Then the one that counts withdraws, until none is
 * left.
 */
static void assert_order(struct world *w, const size_t at[SPEAKERS])
{
	static const char *const sources[SPEAKERS] = { "pod ns/pod-u1", "pod ns/pod-u2",
						       "node n1",       "claim ns/c3",
						       "claim ns/c1",   "claim ns/c2" };

	for (size_t i = 0; i < SPEAKERS; i++)
		complain(w, at[i]);
	for (size_t i = 0; i < SPEAKERS; i++) {
		char source[64];

		snprintf(source, sizeof(source), "%.*s", STR_ARG(find(w, "p1", "a").source));
		assert_string_equal(source, sources[i]);
		withdraw(w, i);
	}
	assert_int_equal(device_health_book_reports(w->book), 0);
}

static void among_equals_the_order_of_arrival_does_not_matter(void **state)
{
	static const size_t forth[SPEAKERS] = { 0, 1, 2, 3, 4, 5 };
	static const size_t back[SPEAKERS] = { 5, 4, 3, 2, 1, 0 };
	static const size_t mixed[SPEAKERS] = { 3, 5, 0, 2, 1, 4 };

	share(*state);
	tell(*state, "claim ns/c3 p1/a(share=3,memory=1) for=u3");
	assert_order(*state, forth);
	assert_order(*state, back);
	assert_order(*state, mixed);
}

static void a_claim_without_a_time_comes_after_those_that_have_one(void **state)
{
	struct world *w = *state;

	share(w);
	put_claim(w, "c2", CLAIM_IS_HOT(SINCE("5")), 9000000000);
	put_claim(w, "c1", CLAIM_IS_HOT(""), 9000000001);
	assert_health(find(w, "p1", "a"), DEVICE_UNHEALTHY, "", 5000000000, "claim ns/c2");
	put_claim(w, "c1", CLAIM_IS_HOT(SINCE("6")), 9000000002);
	assert_health(find(w, "p1", "a"), DEVICE_UNHEALTHY, "", 6000000000, "claim ns/c1");
}

static void a_published_beginning_is_recalled(void **state)
{
	struct world *w = *state;
	const struct inventory_device *d = inventory_device(w->inv, STR(DRIVER), STR("p1"),
							    STR("a"));

	put_health(w, "u1", "c1", "p1/a", "Unhealthy", "hot", 50);
	device_health_book_recall(w->book, d, DEVICE_HEALTHY, 3);
	assert_int_equal(find(w, "p1", "a").since, 50);
	device_health_book_recall(w->book, d, DEVICE_UNHEALTHY, 7);
	assert_int_equal(find(w, "p1", "a").since, 7);
	put_health(w, "u1", "c1", "p1/a", "Unhealthy", "hot", 60);
	assert_int_equal(find(w, "p1", "a").since, 7);
}

static void a_speaker_is_bounded(void **state)
{
	struct world *w = *state;
	struct buf text = BUF_INIT(MIB);

	buf_addz(&text, "\"allocatedResourcesStatus\":[{\"name\":\"claim:gpu\",\"resources\":[");
	for (unsigned i = 0; i < 2000; i++)
		(void)buf_printf(&text, "%s{\"resourceID\":\"d/p/x%u\",\"health\":\"Unhealthy\"}",
				 i ? "," : "", i);
	buf_addz(&text, "]}]");
	put_pod(w, "u1", "c1", text.p, 1);
	assert_int_equal(device_health_book_reports(w->book), 1024);
	buf_release(&text);
}

/* Puts a node annotation with 1024 device names, from xFIRST on. */
static void put_names(struct world *w, unsigned first)
{
	struct buf text = BUF_INIT(MIB);

	buf_addz(&text, "[{\"driver\":\"d\",\"pool\":\"p\",\"health\":\"Healthy\",\"devices\":[");
	for (unsigned i = first; i < first + 1024; i++)
		(void)buf_printf(&text, "%s\"x%u\"", i > first ? "," : "", i);
	buf_addz(&text, "]}]");
	assert_int_equal(put_node(w, "n1", text.p, 1), 0);
	buf_release(&text);
}

static void earlier_reports_take_no_room_from_new_ones(void **state)
{
	struct world *w = *state;

	put_names(w, 0);
	assert_int_equal(device_health_book_reports(w->book), 1024);
	put_names(w, 500);
	assert_int_equal(device_health_book_reports(w->book), 1024);
}

static void ids_are_split_at_the_first_and_the_last_slash(void **state)
{
	static const char *const bad[] = { "", "a", "a/b", "/b/c", "a//c", "a/b/" };
	struct str driver, pool, device;

	(void)state;
	assert_true(device_health_split_id(STR("a/b/c/d"), &driver, &pool, &device));
	assert_true(str_eqz(driver, "a") && str_eqz(pool, "b/c") && str_eqz(device, "d"));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(device_health_split_id(str_from(bad[i]), &driver, &pool, &device));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(nothing_is_reported_at_first),
		TEST(a_pod_reports_the_devices_of_its_claims),
		TEST(every_list_of_a_pods_status_is_read),
		TEST(claims_of_templates_and_of_extended_resources_are_found),
		TEST(an_equal_report_changes_nothing),
		TEST(of_containers_that_disagree_the_worst_counts_each_time),
		TEST(ended_and_deleted_pods_say_nothing),
		TEST(a_pod_is_believed_only_about_devices_that_are_reserved_for_it),
		TEST(a_node_is_believed_only_about_its_own_devices),
		TEST(a_node_reports_its_healthy_devices_by_pool),
		TEST(reports_of_a_lost_node_are_unknown),
		TEST(a_device_that_a_node_names_twice_has_the_worse_health),
		TEST(forms_that_are_not_known_are_ignored),
		TEST(a_bad_annotation_says_nothing),
		TEST(a_claim_reports_the_devices_that_it_holds),
		TEST(a_claim_is_believed_only_about_devices_that_it_holds),
		TEST(claims_can_be_left_out),
		TEST(the_worst_counts),
		TEST(among_equals_the_order_of_arrival_does_not_matter),
		TEST(a_claim_without_a_time_comes_after_those_that_have_one),
		TEST(a_published_beginning_is_recalled),
		TEST(a_speaker_is_bounded),
		TEST(earlier_reports_take_no_room_from_new_ones),
		TEST(ids_are_split_at_the_first_and_the_last_slash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
