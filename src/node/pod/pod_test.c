/*
 * Reading a pod from its tree.
 */
#include "node/pod/pod.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char text[] =
	"{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"u\"},\"spec\":{"
	"\"initContainers\":[{\"name\":\"i\"},{\"name\":\"s\",\"restartPolicy\":\"Always\"}],"
	"\"containers\":[{\"name\":\"m\",\"resources\":{\"limits\":{\"vendor.com/gpu\":\"2\"}}}],"
	"\"ephemeralContainers\":[{\"name\":\"e\"}],"
	"\"resourceClaims\":[{\"name\":\"a\",\"resourceClaimName\":\"direct\"},"
	"{\"name\":\"b\",\"resourceClaimTemplateName\":\"t\"},"
	"{\"name\":\"c\",\"resourceClaimTemplateName\":\"t\"},"
	"{\"name\":\"d\",\"resourceClaimTemplateName\":\"t\"}]},"
	"\"status\":{\"phase\":\"Failed\",\"resourceClaimStatuses\":["
	"{\"name\":\"b\",\"resourceClaimName\":\"made\"},{\"name\":\"c\"}]}}";

static struct pod *parse(const char *s)
{
	struct pod *p = NULL;

	assert_int_equal(pod_parse(str_from(s), &p, NULL), 0);
	return p;
}

static void containers_come_in_the_order_in_which_they_start(void **state)
{
	static const char *const names[] = { "i", "s", "m", "e" };
	static const enum pod_container_kind kinds[] = { POD_INIT, POD_SIDECAR, POD_MAIN,
							 POD_EPHEMERAL };
	CLEANUP(pod_unref) struct pod *p = parse(text);
	struct pod_containers c = pod_containers(p);
	enum pod_container_kind kind;
	size_t n = 0;

	while (pod_containers_next(&c)) {
		assert_true(str_eqz(c.name, names[n]));
		assert_int_equal(c.kind, kinds[n++]);
	}
	assert_int_equal(n, 4);
	assert_non_null(pod_container(p, STR("s"), &kind));
	assert_int_equal(kind, POD_SIDECAR);
	assert_null(pod_container(p, STR("x"), NULL));
	assert_int_equal(
		pod_container_limit(pod_container(p, STR("m"), NULL), STR("vendor.com/gpu")), 2);
}

static void a_claim_is_found_by_name_or_in_the_status(void **state)
{
	CLEANUP(pod_unref) struct pod *p = parse(text);
	bool none;

	assert_true(str_eqz(pod_claim_name(p, STR("a"), &none), "direct"));
	assert_true(str_eqz(pod_claim_name(p, STR("b"), &none), "made"));
	assert_false(none);
	assert_int_equal(pod_claim_name(p, STR("c"), &none).n, 0);
	assert_true(none);
	assert_int_equal(pod_claim_name(p, STR("d"), &none).n, 0);
	assert_false(none);
}

static void the_grace_is_the_deletions(void **state)
{
	CLEANUP(pod_unref) struct pod *a = parse("{\"metadata\":{\"name\":\"p\",\"uid\":\"u\"}}");
	CLEANUP(pod_unref)
	struct pod *b = parse("{\"metadata\":{\"name\":\"p\",\"uid\":\"u\",\"deletionTimestamp\":"
			      "\"2026-01-01T00:00:00Z\",\"deletionGracePeriodSeconds\":3},"
			      "\"spec\":{\"terminationGracePeriodSeconds\":60}}");
	struct pod *none = NULL;

	assert_int_equal(a->grace_s, 30);
	assert_false(a->deleting);
	assert_true(b->deleting);
	assert_int_equal(b->grace_s, 3);
	assert_int_equal(pod_parse(STR("{\"metadata\":{}}"), &none, NULL), -ERR_PROTOCOL);
	assert_int_equal(pod_parse(STR("{"), &none, NULL), -ERR_BAD_REQUEST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(containers_come_in_the_order_in_which_they_start),
		cmocka_unit_test(a_claim_is_found_by_name_or_in_the_status),
		cmocka_unit_test(the_grace_is_the_deletions),
	};

	return cmocka_run_group_tests_name("node/pod", tests, NULL, NULL);
}
