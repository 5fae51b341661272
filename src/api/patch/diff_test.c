/*
 * The patch of an apply, by example, and by laws that hold for any three trees. Applied to the live
 * object, the patch gives everything wanted, removes fields that are no longer wanted, keeps fields
 * that others set, and leaves nothing to do.
 */
#include "api/patch/diff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/api_limits.h"
#include "api/patch/patch.h"
#include "api/patch/strategic.h"
#include "api/schema/schema.h"
#include "base/core/limits.h"
#include "base/core/random.h"

static struct json *parsed(struct arena *a, const char *text)
{
	struct json *tree = NULL;
	struct error err;

	if (text && json_parse(a, str_from(text), NULL, &tree, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return tree;
}

static const struct schema_type *pod_type(void)
{
	return schema_find_kind(STR("v1"), STR("Pod"))->type;
}

static const char *printed(struct arena *a, const struct json *tree)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);

	assert_int_equal(json_print(&text, tree, NULL), 0);
	return arena_strdup(a, buf_str(&text));
}

struct diff_case {
	const char *about;
	bool custom; /* not a built-in kind */
	const char *last, *wanted, *live, *patch;
};

static const struct diff_case cases[] = {
	{ .about = "nothing to do",
	  .last = "{\"spec\":{\"nodeName\":\"a\"}}",
	  .wanted = "{\"spec\":{\"nodeName\":\"a\"}}",
	  .live = "{\"spec\":{\"nodeName\":\"a\",\"priority\":0},\"status\":{\"phase\":\"Running\"}"
		  "}",
	  .patch = "{}" },
	{ .about = "a label changes, one goes, that of others stays",
	  .last = "{\"metadata\":{\"labels\":{\"a\":\"1\",\"b\":\"2\"}}}",
	  .wanted = "{\"metadata\":{\"labels\":{\"a\":\"3\"}}}",
	  .live = "{\"metadata\":{\"labels\":{\"a\":\"1\",\"b\":\"2\",\"c\":\"x\"}}}",
	  .patch = "{\"metadata\":{\"labels\":{\"a\":\"3\",\"b\":null}}}" },
	{ .about = "what is gone already is not removed",
	  .last = "{\"metadata\":{\"labels\":{\"b\":\"2\"}}}",
	  .wanted = "{\"metadata\":{\"labels\":{}}}",
	  .live = "{\"metadata\":{\"labels\":{\"c\":\"x\"}}}",
	  .patch = "{}" },
	{ .about = "null removes what the object has",
	  .wanted = "{\"metadata\":{\"labels\":{\"a\":null,\"b\":null}}}",
	  .live = "{\"metadata\":{\"labels\":{\"a\":\"1\"}}}",
	  .patch = "{\"metadata\":{\"labels\":{\"a\":null}}}" },
	{ .about = "elements with a key are compared one by one",
	  .last = "{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"x:1\"},"
		  "{\"name\":\"b\",\"image\":\"y\"}]}}",
	  .wanted = "{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"x:2\"}]}}",
	  .live = "{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"x:1\",\"stdin\":true},"
		  "{\"name\":\"b\",\"image\":\"y\"},{\"name\":\"sidecar\",\"image\":\"z\"}]}}",
	  .patch = "{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"a\"}],"
		   "\"containers\":[{\"image\":\"x:2\",\"name\":\"a\"},"
		   "{\"$patch\":\"delete\",\"name\":\"b\"}]}}" },
	{ .about = "another order is a change",
	  .wanted = "{\"spec\":{\"containers\":[{\"name\":\"b\"},{\"name\":\"a\"}]}}",
	  .live = "{\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}",
	  .patch = "{\"spec\":{\"$setElementOrder/"
		   "containers\":[{\"name\":\"b\"},{\"name\":\"a\"}]}}" },
	{ .about = "the kind of a volume is replaced",
	  .wanted = "{\"spec\":{\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":\"c\"}}]}}",
	  .live = "{\"spec\":{\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}]}}",
	  .patch = "{\"spec\":{\"$setElementOrder/volumes\":[{\"name\":\"v\"}],"
		   "\"volumes\":[{\"configMap\":{\"name\":\"c\"},"
		   "\"$retainKeys\":[\"name\",\"configMap\"],\"name\":\"v\"}]}}" },
	{ .about = "scalars that merge come and go one by one",
	  .last = "{\"metadata\":{\"finalizers\":[\"x/a\",\"x/b\"]}}",
	  .wanted = "{\"metadata\":{\"finalizers\":[\"x/a\",\"x/c\"]}}",
	  .live = "{\"metadata\":{\"finalizers\":[\"x/a\",\"x/b\",\"x/other\"]}}",
	  .patch = "{\"metadata\":{\"$setElementOrder/finalizers\":[\"x/a\",\"x/c\"],"
		   "\"finalizers\":[\"x/c\"],\"$deleteFromPrimitiveList/finalizers\":[\"x/b\"]}}" },
	{ .about = "one key twice: the list is replaced",
	  .wanted = "{\"spec\":{\"containers\":[{\"name\":\"a\",\"ports\":["
		    "{\"containerPort\":53,\"protocol\":\"TCP\"},"
		    "{\"containerPort\":53,\"protocol\":\"UDP\"}]}]}}",
	  .live = "{\"spec\":{\"containers\":[{\"name\":\"a\",\"ports\":["
		  "{\"containerPort\":53,\"protocol\":\"TCP\"}]}]}}",
	  .patch = "{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"a\"}],"
		   "\"containers\":[{\"ports\":[{\"$patch\":\"replace\"},"
		   "{\"containerPort\":53,\"protocol\":\"TCP\"},"
		   "{\"containerPort\":53,\"protocol\":\"UDP\"}],\"name\":\"a\"}]}}" },
	{ .about = "a custom kind's lists are replaced",
	  .custom = true,
	  .last = "{\"spec\":{\"items\":[{\"name\":\"a\"}],\"old\":1}}",
	  .wanted = "{\"spec\":{\"items\":[{\"name\":\"b\"}]}}",
	  .live = "{\"spec\":{\"items\":[{\"name\":\"a\"},{\"name\":\"c\"}],\"old\":1,\"more\":2}}",
	  .patch = "{\"spec\":{\"items\":[{\"name\":\"b\"}],\"old\":null}}" },
};

static void patches_are_as_small_as_they_can_be(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct diff_case *c = &cases[i];
		CLEANUP(arena_release) struct arena a;
		struct patch_sides s;
		struct json *patch = NULL;
		struct error err;

		arena_init(&a, REQUEST_WORK_MAX);
		s = (struct patch_sides){ parsed(&a, c->last), parsed(&a, c->wanted),
					  parsed(&a, c->live) };
		assert_int_equal(patch_diff(&a, c->custom ? NULL : pod_type(), &s, &patch, &err),
				 0);
		if (!json_equal(patch, parsed(&a, c->patch)))
			fail_msg("%s: want %s, got %s", c->about, c->patch, printed(&a, patch));
	}
}

/* --- any trees ------------------------------------------------------------------------------ */

/* A source of names: those of the manifest and those of others never coincide. */
struct author {
	const char *letters;
};

static const struct author manifest = { "abcd" }, others = { "wxyz" };

static const char *pick(struct prng *p, const char *letters, struct arena *a)
{
	return arena_printf(a, "%c", letters[prng_below(p, 4)]);
}

static void put_labels(struct prng *p, struct arena *a, struct json *object, const struct author *w)
{
	struct json *labels = json_need_object(a, json_need_object(a, object, "metadata"),
					       "labels");

	for (uint64_t n = prng_below(p, 4); n > 0; n--)
		json_put_str(a, labels, pick(p, w->letters, a), str_from(pick(p, "1234", a)));
}

static void put_finalizers(struct prng *p, struct arena *a, struct json *object,
			   const struct author *w)
{
	struct json *list = json_need_array(a, json_need_object(a, object, "metadata"),
					    "finalizers");

	for (uint64_t n = prng_below(p, 4); n > 0; n--) {
		struct str word = str_from(pick(p, w->letters, a));

		if (!json_has_text(list, word))
			json_append(list, json_make_str(a, word));
	}
}

static void put_containers(struct prng *p, struct arena *a, struct json *object,
			   const struct author *w)
{
	struct json *list = json_need_array(a, json_need_object(a, object, "spec"), "containers");

	for (uint64_t n = prng_below(p, 4); n > 0; n--) {
		struct str name = str_from(pick(p, w->letters, a));
		struct json *c = json_find(list, "name", name), *variable;

		if (!c) {
			c = json_make_object(a);
			json_put_str(a, c, "name", name);
			json_append(list, c);
		}
		json_put_str(a, c, "image", str_from(pick(p, "1234", a)));
		variable = json_make_object(a);
		json_put_str(a, variable, "name", str_from(pick(p, w->letters, a)));
		json_put_str(a, variable, "value", str_from(pick(p, "1234", a)));
		if (!json_find(json_need_array(a, c, "env"), "name",
			       json_text_at(variable, "name")))
			json_append(json_need_array(a, c, "env"), variable);
	}
}

static struct json *some_object(struct prng *p, struct arena *a, const struct author *w)
{
	struct json *object = json_make_object(a);

	put_labels(p, a, object, w);
	put_finalizers(p, a, object, w);
	put_containers(p, a, object, w);
	return object;
}

static struct json *brought(struct arena *a, const struct json *last, const struct json *wanted,
			    const struct json *live)
{
	struct patch_sides s = { last, wanted, live };
	struct json *patch = NULL, *result = NULL;
	struct error err;

	assert_int_equal(patch_diff(a, pod_type(), &s, &patch, &err), 0);
	assert_int_equal(json_copy(a, live, &result, &err), 0);
	if (patch_strategic(a, &result, pod_type(), patch, &err) < 0)
		fail_msg("%s does not fit %s: %s", printed(a, patch), printed(a, live), err.msg);
	return result;
}

static size_t left_to_do(struct arena *a, const struct json *last, const struct json *wanted,
			 const struct json *live)
{
	struct patch_sides s = { last, wanted, live };
	struct json *patch = NULL;
	struct error err;

	assert_int_equal(patch_diff(a, pod_type(), &s, &patch, &err), 0);
	return json_count(patch);
}

static void any_apply_gives_what_is_wanted_and_keeps_what_others_set(void **state UNUSED)
{
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		CLEANUP(arena_release) struct arena a;
		struct prng p;
		struct json *last, *wanted, *foreign, *live, *after, *bare;

		arena_init(&a, REQUEST_WORK_MAX);
		prng_init(&p, seed);
		last = some_object(&p, &a, &manifest);
		wanted = some_object(&p, &a, &manifest);
		foreign = some_object(&p, &a, &others);
		live = brought(&a, NULL, foreign, brought(&a, NULL, last, parsed(&a, "{}")));
		after = brought(&a, last, wanted, live);
		if (left_to_do(&a, last, wanted, after) || left_to_do(&a, wanted, wanted, after))
			fail_msg("seed %d: %s became %s, not %s", (int)seed, printed(&a, live),
				 printed(&a, after), printed(&a, wanted));
		if (left_to_do(&a, NULL, foreign, after))
			fail_msg("seed %d: others' %s is not in %s", (int)seed,
				 printed(&a, foreign), printed(&a, after));
		/* Without our fields, only those that others set are left. */
		bare = brought(&a, wanted,
			       parsed(&a, "{\"metadata\":{\"labels\":{},\"finalizers\":[]},"
					  "\"spec\":{\"containers\":[]}}"),
			       after);
		if (left_to_do(&a, NULL, foreign, bare) || left_to_do(&a, bare, foreign, bare))
			fail_msg("seed %d: %s is more than %s", (int)seed, printed(&a, bare),
				 printed(&a, foreign));
	}
}

static void an_apply_of_a_custom_kind_keeps_what_others_set(void **state UNUSED)
{
	CLEANUP(arena_release) struct arena a;
	struct json *patch = NULL, *live;
	struct patch_sides s;
	struct error err;

	arena_init(&a, REQUEST_WORK_MAX);
	live = parsed(&a, "{\"spec\":{\"a\":1,\"b\":{\"c\":2,\"d\":3},\"l\":[1,2]},\"status\":{}}");
	s = (struct patch_sides){ parsed(&a, "{\"spec\":{\"b\":{\"c\":2},\"l\":[1,2]}}"),
				  parsed(&a, "{\"spec\":{\"b\":{\"e\":5},\"l\":[2]}}"), live };
	assert_int_equal(patch_diff(&a, NULL, &s, &patch, &err), 0);
	assert_int_equal(patch_merge(&a, &live, patch, &err), 0);
	assert_string_equal(printed(&a, live),
			    "{\"spec\":{\"a\":1,\"b\":{\"d\":3,\"e\":5},\"l\":[2]},\"status\":{}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patches_are_as_small_as_they_can_be),
		cmocka_unit_test(any_apply_gives_what_is_wanted_and_keeps_what_others_set),
		cmocka_unit_test(an_apply_of_a_custom_kind_keeps_what_others_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
