#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/object/object.h"
#include "server/authz/node_pods.h"

static struct object *object_of(const char *node, const char *name, const char *secret,
				const char *annotations)
{
	const struct schema_kind *kind = schema_find_resource(STR(""), STR("v1"), STR("pods"));
	struct gates gates;
	struct object *o;
	struct error err;
	char text[512];

	gates_init(&gates);
	(void)snprintf(
		text, sizeof(text),
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
		"\"namespace\":\"n\",\"uid\":\"u\"%s},\"spec\":{%s%s%s\"volumes\":[{\"name\":"
		"\"v\",\"secret\":{\"secretName\":\"%s\"}}]}}",
		name, annotations, node ? "\"nodeName\":\"" : "", node ? node : "",
		node ? "\"," : "", secret);
	if (object_new(kind, str_from(text), 7, &gates, &o, &err) < 0)
		fail_msg("%s", err.msg);
	return o;
}

static bool refers(struct node_pods *p, const char *node, const char *secret)
{
	return node_pods_refer(p, str_from(node), POD_REFS_SECRET, STR("n"), str_from(secret));
}

static void pods_are_found_by_their_node_as_they_come_and_go(void **state)
{
	struct object *waiting = object_of(NULL, "p", "s", ""),
		      *bound = object_of("n1", "p", "s", "");
	struct object *changed = object_of("n1", "p", "t", ""),
		      *other = object_of("n2", "q", "s", "");
	struct node_pods *p = node_pods_new();

	(void)state;
	node_pods_change(p, waiting, NULL);
	assert_false(refers(p, "n1", "s"));
	node_pods_change(p, bound, waiting);
	assert_true(refers(p, "n1", "s"));
	assert_false(refers(p, "n2", "s"));
	assert_false(refers(p, "n1", "t"));
	assert_false(node_pods_refer(p, STR("n1"), POD_REFS_SECRET, STR("m"), STR("s")));
	assert_true(node_pods_has(p, STR("n1"), STR("n"), STR("p")));
	assert_false(node_pods_has(p, STR("n1"), STR("n"), STR("q")));
	node_pods_change(p, changed, bound);
	assert_false(refers(p, "n1", "s"));
	assert_true(refers(p, "n1", "t"));
	node_pods_change(p, other, NULL);
	assert_true(refers(p, "n2", "s"));
	node_pods_change(p, NULL, changed);
	assert_false(refers(p, "n1", "t"));
	node_pods_reset(p);
	assert_false(refers(p, "n2", "s"));
	node_pods_free(p);
	object_unref(waiting);
	object_unref(bound);
	object_unref(changed);
	object_unref(other);
}

static void a_mirror_pod_opens_nothing(void **state)
{
	struct object *o = object_of("n1", "p", "s",
				     ",\"annotations\":{\"kubernetes.io/config.mirror\":\"x\"}");
	struct node_pods *p = node_pods_new();

	(void)state;
	node_pods_change(p, o, NULL);
	assert_false(refers(p, "n1", "s"));
	assert_true(node_pods_has(p, STR("n1"), STR("n"), STR("p")));
	node_pods_free(p);
	object_unref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_are_found_by_their_node_as_they_come_and_go),
		cmocka_unit_test(a_mirror_pod_opens_nothing),
	};

	return cmocka_run_group_tests_name("server/node_pods", tests, NULL, NULL);
}
