#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "node/manifests/mirror.h"

#define META(uid, more) \
	"{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"" uid "\"" more "}}"
#define MARK(hash) ",\"annotations\":{\"kubernetes.io/config.mirror\":\"" hash "\"}"
#define STATIC     META("s", "")
#define SAME       META("m", MARK("s"))
#define OTHER      META("m", MARK("older"))
#define DELETED    META("m", MARK("s") ",\"deletionTimestamp\":\"2026-01-02T00:00:00Z\"")

static const struct {
	const char *what, *wanted, *mirror;
	bool ending, unsynced, no_node;
	enum mirror_action action;
} cases[] = {
	{ "a static pod gets a mirror pod", STATIC, NULL, .action = MIRROR_CREATE },
	{ "not before the API's pods are known", STATIC, NULL, .unsynced = true,
	  .action = MIRROR_KEEP },
	{ "not without a Node", STATIC, NULL, .no_node = true, .action = MIRROR_KEEP },
	{ "one that fits stays", STATIC, SAME, .action = MIRROR_KEEP },
	{ "also without a Node", STATIC, SAME, .no_node = true, .action = MIRROR_KEEP },
	{ "one of an older version goes", STATIC, OTHER, .action = MIRROR_DELETE },
	{ "one that someone deletes goes at once", STATIC, DELETED, .action = MIRROR_DELETE },
	{ "one without a static pod goes", NULL, SAME, .action = MIRROR_DELETE },
	{ "but not before its pod has ended", NULL, SAME, .ending = true, .action = MIRROR_KEEP },
	{ "a new version waits for the old one's end", STATIC, OTHER, .ending = true,
	  .action = MIRROR_KEEP },
	{ "and gets no mirror pod meanwhile", STATIC, NULL, .ending = true, .action = MIRROR_KEEP },
	{ "nothing is nothing", NULL, NULL, .action = MIRROR_KEEP },
};

static struct pod *pod_of(const char *text)
{
	struct pod *pod = NULL;

	if (text)
		assert_int_equal(pod_parse(str_from(text), &pod, NULL), 0);
	return pod;
}

static void mirror_pods_are_decided_as_upstream(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pod *wanted = pod_of(cases[i].wanted), *mirror = pod_of(cases[i].mirror);
		struct mirror_view v = { .wanted = wanted,
					 .ending = cases[i].ending,
					 .mirror = mirror,
					 .synced = !cases[i].unsynced,
					 .node_exists = !cases[i].no_node };
		enum mirror_action action = mirror_decide(&v);

		if (action != cases[i].action)
			fail_msg("%s: %d instead of %d", cases[i].what, action, cases[i].action);
		pod_unref(wanted);
		pod_unref(mirror);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(mirror_pods_are_decided_as_upstream),
	};

	return cmocka_run_group_tests_name("node/mirror", tests, NULL, NULL);
}
