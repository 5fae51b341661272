/*
 * Claims from the API server's objects, into CDI files and checkpoints, and back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/system/file.h"
#include "drivers/prepare/cdi_file.h"
#include "drivers/prepare/claim.h"

#define OBJECT                                                                                   \
	"{\"metadata\":{\"uid\":\"u-1\"},\"status\":{\"allocation\":{\"devices\":{\"results\":[" \
	"{\"request\":\"a/big\",\"driver\":\"d\",\"pool\":\"p\",\"device\":\"x\","               \
	"\"shareID\":\"s\",\"adminAccess\":true},"                                               \
	"{\"request\":\"b\",\"driver\":\"other\",\"pool\":\"p\",\"device\":\"y\"},"              \
	"{\"request\":\"b\",\"driver\":\"d\",\"pool\":\"p\",\"device\":\"x\"}],\"config\":["     \
	"{\"source\":\"FromClaim\",\"requests\":[\"a\"],\"opaque\":{\"driver\":\"d\","           \
	"\"parameters\":{\"n\":1}}},"                                                            \
	"{\"source\":\"FromClass\",\"opaque\":{\"driver\":\"d\",\"parameters\":{\"n\":2}}},"     \
	"{\"source\":\"FromClaim\",\"requests\":[\"a/big\"],\"opaque\":{\"driver\":\"d\","       \
	"\"parameters\":{\"n\":3}}},"                                                            \
	"{\"source\":\"FromClaim\",\"requests\":[\"a/small\"],\"opaque\":{\"driver\":\"d\","     \
	"\"parameters\":{\"n\":4}}},"                                                            \
	"{\"source\":\"FromClaim\",\"opaque\":{\"driver\":\"d\",\"parameters\":{\"n\":6}}},"     \
	"{\"source\":\"FromClaim\",\"opaque\":{\"driver\":\"other\",\"parameters\":{\"n\":5}}}"  \
	"]}},\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"q\",\"uid\":\"u-2\"},{"          \
	"\"apiGroup\":\"example.com\",\"resource\":\"jobs\",\"name\":\"j\",\"uid\":\"u-3\"}]}}"

static int read_claim(struct dp_claim *c, const char *text, struct error *err)
{
	struct json *tree;
	struct arena a;
	int r;

	arena_init(&a, MIB);
	assert_int_equal(json_parse(&a, str_from(text), NULL, &tree, NULL), 0);
	r = claim_read(c, tree, STR("d"), err);
	arena_release(&a);
	return r;
}

static struct dp_claim *make(void)
{
	struct dp_claim *c = claim_new(STR("u-1"), STR("ns"), STR("name"));

	assert_int_equal(read_claim(c, OBJECT, NULL), 0);
	return c;
}

static void a_driver_sees_its_own_devices_with_what_was_written_for_them(void **state UNUSED)
{
	struct dp_claim *c = make();
	const struct dp_result *r = dp_claim_result(c, 0);

	assert_int_equal(dp_claim_count(c), 2);
	assert_string_equal(r->request, "a");
	assert_string_equal(r->subrequest, "big");
	assert_string_equal(r->share_id, "s");
	assert_int_equal(r->admin, 1);
	assert_int_equal(r->nconfigs, 4);
	assert_string_equal(r->configs[0]->parameters, "{\"n\":2}");
	assert_int_equal(r->configs[0]->source, DP_FROM_CLASS);
	assert_string_equal(r->configs[1]->parameters, "{\"n\":1}");
	assert_string_equal(r->configs[2]->parameters, "{\"n\":3}");
	assert_int_equal(r->configs[2]->source, DP_FROM_CLAIM);
	assert_string_equal(r->configs[3]->parameters, "{\"n\":6}");
	/* A config for all requests, "a", "a/big", and for all requests again. */
	assert_int_equal(r->configs[0]->named, 0);
	assert_int_equal(r->configs[1]->named, 1);
	assert_int_equal(r->configs[2]->named, 1);
	assert_int_equal(r->configs[3]->named, 0);
	r = dp_claim_result(c, 1);
	assert_null(r->subrequest);
	assert_null(r->share_id);
	assert_int_equal(r->nconfigs, 2);
	assert_null(dp_claim_result(c, 2));
	claim_free(c);
}

static void consumers_are_those_that_it_is_reserved_for(void **state UNUSED)
{
	struct dp_claim *c = make();
	const struct dp_consumer *q = dp_claim_consumer(c, 0), *j = dp_claim_consumer(c, 1);

	assert_int_equal(dp_claim_consumer_count(c), 2);
	assert_int_equal(q->size, sizeof(*q));
	assert_string_equal(q->api_group, "");
	assert_string_equal(q->resource, "pods");
	assert_string_equal(q->name, "q");
	assert_string_equal(q->uid, "u-2");
	assert_string_equal(j->api_group, "example.com");
	assert_null(dp_claim_consumer(c, 2));
	claim_free(c);
}

static void claims_that_are_not_allocated_or_replaced_are_refused(void **state UNUSED)
{
	struct dp_claim *c = make();
	struct error err;

	assert_int_equal(read_claim(c, "{\"metadata\":{\"uid\":\"u-1\"}}", &err), -ERR_NOT_FOUND);
	assert_string_equal(err.msg, "claim ns/name not allocated");
	assert_int_equal(
		read_claim(c, "{\"metadata\":{\"uid\":\"u-2\"},\"status\":{\"allocation\":{}}}",
			   &err),
		-ERR_CONFLICT);
	assert_string_equal(err.msg, "claim ns/name got replaced");
	assert_int_equal(dp_claim_count(c), 2);
	claim_free(c);
}

static void edits_become_a_file_and_names(void **state UNUSED)
{
	char dir[] = "/tmp/devplane-claim.XXXXXX", path[128];
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	const char *const env[] = { "A=1", NULL };
	struct dp_node node = { sizeof(node), 0, "/dev/x", NULL, NULL };
	struct dp_edits e = { .size = sizeof(e), .env = env, .nodes = &node, .nnodes = 1 };
	struct cdi_file f = { dir, "d", "claim", "u-1" };
	struct dp_claim *c = make();

	assert_non_null(mkdtemp(dir));
	assert_int_equal(dp_claim_edit(c, 0, &e), 0);
	assert_int_equal(dp_claim_edit(c, 1, &e), 0);
	assert_int_equal(dp_claim_add_cdi(c, 1, "vendor.com/gpu=all"), 0);
	assert_int_equal(claim_write_cdi(c, dir, "d", NULL), 0);
	assert_true(cdi_file_exists(&f));
	(void)snprintf(path, sizeof(path), "%s/k8s.d-claim-u-1.json", dir);
	assert_int_equal(file_read(path, &text, NULL), 0);
	assert_non_null(strstr(text.p, "\"name\": \"u-1-x\""));
	assert_non_null(strstr(text.p, "\"name\": \"u-1-x-1\""));
	assert_true(str_eqz(json_str(json_at(c->results[0].cdi, 0)), "k8s.d/claim=u-1-x"));
	assert_true(str_eqz(json_str(json_at(c->results[1].cdi, 0)), "vendor.com/gpu=all"));
	assert_true(str_eqz(json_str(json_at(c->results[1].cdi, 1)), "k8s.d/claim=u-1-x-1"));
	assert_int_equal(cdi_file_remove(&f, NULL), 0);
	assert_int_equal(cdi_file_remove(&f, NULL), 0);
	assert_int_equal(rmdir(dir), 0);
	claim_free(c);
}

static void edits_that_cannot_be_are_refused_with_a_word(void **state UNUSED)
{
	const char *const env[] = { "=1", NULL };
	struct dp_node node = { sizeof(node), 0, "dev/x", NULL, NULL };
	struct dp_node bad = { sizeof(bad), 0, "/dev/x", NULL, "rx" };
	struct dp_mount mount = { sizeof(mount), 0, "/x", "y" };
	struct dp_edits e[] = { { .size = sizeof(e[0]), .env = env },
				{ .size = sizeof(e[0]), .nodes = &node, .nnodes = 1 },
				{ .size = sizeof(e[0]), .nodes = &bad, .nnodes = 1 },
				{ .size = sizeof(e[0]), .mounts = &mount, .nmounts = 1 },
				{ .size = 4 } };
	static const char *const words[] = { "NAME=VALUE", "absolute", "of r, w, m", "absolute",
					     "size" };
	struct dp_claim *c = make();

	for (size_t i = 0; i < ARRAY_SIZE(e); i++) {
		assert_int_equal(dp_claim_edit(c, 0, &e[i]), -1);
		assert_non_null(strstr(c->failure, words[i]));
	}
	assert_int_equal(dp_claim_edit(c, 2, &e[0]), -1);
	assert_int_equal(dp_claim_add_cdi(c, 0, ""), -1);
	claim_free(c);
}

static void a_checkpoint_gives_the_claim_back(void **state UNUSED)
{
	struct dp_claim *c = make(), *back = NULL;
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	struct json *tree;
	struct arena a;

	arena_init(&a, MIB);
	c->state = CLAIM_PREPARED;
	c->own_file = true;
	assert_int_equal(dp_claim_add_cdi(c, 0, "v/c=n"), 0);
	assert_int_equal(json_print(&text, claim_tree(c, &a), NULL), 0);
	assert_int_equal(json_parse(&a, buf_str(&text), NULL, &tree, NULL), 0);
	assert_int_equal(claim_from_tree(tree, &back, NULL), 0);
	assert_string_equal(back->uid, "u-1");
	assert_string_equal(back->ns, "ns");
	assert_int_equal(back->state, CLAIM_PREPARED);
	assert_true(back->own_file);
	assert_int_equal(dp_claim_count(back), 2);
	assert_string_equal(dp_claim_result(back, 0)->subrequest, "big");
	assert_string_equal(dp_claim_result(back, 0)->share_id, "s");
	assert_true(str_eqz(json_str(json_at(back->results[0].cdi, 0)), "v/c=n"));
	assert_int_equal(json_parse(&a, STR("{\"uid\":\"../x\"}"), NULL, &tree, NULL), 0);
	claim_free(back);
	assert_int_equal(claim_from_tree(tree, &back, NULL), -ERR_INVALID);
	arena_release(&a);
	claim_free(c);
}

#define SHARED                                                                                    \
	"{\"metadata\":{\"uid\":\"u-1\"},\"status\":{\"allocation\":{\"devices\":{\"results\":["  \
	"{\"request\":\"a\",\"driver\":\"d\",\"pool\":\"p\",\"device\":\"x\",\"shareID\":\"s\","  \
	"\"consumedCapacity\":{\"memory\":\"4Gi\",\"example.com/cores\":\"2\"},"                  \
	"\"bindingConditions\":[\"Ready\",\"Wired\"],\"bindingFailureConditions\":[\"Failed\"]}," \
	"{\"request\":\"b\",\"driver\":\"d\",\"pool\":\"p\",\"device\":\"y\"}]}}}}"

static void assert_shared(const struct dp_claim *c)
{
	const struct dp_result *r = dp_claim_result(c, 0), *plain = dp_claim_result(c, 1);

	assert_int_equal(r->nconsumed, 2);
	assert_int_equal(r->consumed[0].size, sizeof(struct dp_capacity));
	assert_string_equal(r->consumed[0].name, "memory");
	assert_string_equal(r->consumed[0].quantity, "4Gi");
	assert_string_equal(r->consumed[1].name, "example.com/cores");
	assert_string_equal(r->consumed[1].quantity, "2");
	assert_string_equal(r->share_id, "s");
	assert_string_equal(r->binding_conditions[1], "Wired");
	assert_null(r->binding_conditions[2]);
	assert_string_equal(r->binding_failure_conditions[0], "Failed");
	assert_int_equal(plain->nconsumed, 0);
	assert_null(plain->consumed);
	assert_null(plain->binding_conditions);
	assert_null(plain->binding_failure_conditions);
}

static void a_share_is_known_with_its_amounts_also_after_a_restart(void **state UNUSED)
{
	struct dp_claim *c = claim_new(STR("u-1"), STR("ns"), STR("name")), *back;
	struct arena a;

	assert_int_equal(read_claim(c, SHARED, NULL), 0);
	assert_shared(c);
	arena_init(&a, MIB);
	assert_int_equal(claim_from_tree(claim_tree(c, &a), &back, NULL), 0);
	arena_release(&a);
	assert_shared(back);
	claim_free(c);
	claim_free(back);
}

static void edits_have_nodes_with_numbers_and_hooks(void **state UNUSED)
{
	static const char *const args[] = { "ldconfig", "-r", NULL };
	static const char *const env[] = { "A=b", NULL };
	struct dp_node nodes[] = {
		{ .size = sizeof(nodes[0]),
		  .path = "/dev/cap",
		  .type = "c",
		  .major = 237,
		  .minor = 12,
		  .has_numbers = 1,
		  .has_mode = 1,
		  .mode = 0444,
		  .has_owner = 1,
		  .uid = 1000,
		  .gid = 0 },
		{ .size = sizeof(nodes[0]), .path = "/dev/pipe", .type = "p" },
	};
	struct dp_hook hook = { .size = sizeof(hook),
				.name = "createContainer",
				.path = "/sbin/ldconfig",
				.args = args,
				.env = env,
				.timeout_s = 5 };
	struct dp_edits e = {
		.size = sizeof(e), .nodes = nodes, .nnodes = 2, .hooks = &hook, .nhooks = 1
	};
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);
	struct json *edits;
	struct arena a;

	arena_init(&a, MIB);
	edits = json_make_object(&a);
	assert_int_equal(cdi_file_edit(&a, edits, &e, NULL), 0);
	assert_int_equal(json_print(&text, edits, NULL), 0);
	assert_string_equal(text.p,
			    "{\"deviceNodes\":[{\"path\":\"/dev/"
			    "cap\",\"type\":\"c\",\"major\":237,\"minor\":12,"
			    "\"fileMode\":292,\"permissions\":\"rw\",\"uid\":1000,\"gid\":0},"
			    "{\"path\":\"/dev/pipe\",\"type\":\"p\",\"permissions\":\"rw\"}],"
			    "\"hooks\":[{\"hookName\":\"createContainer\",\"path\":\"/sbin/"
			    "ldconfig\",\"args\":["
			    "\"ldconfig\",\"-r\"],\"env\":[\"A=b\"],\"timeout\":5}]}");
	arena_release(&a);
}

static void nodes_and_hooks_that_no_runtime_takes_are_refused(void **state UNUSED)
{
	struct dp_node bad_nodes[] = {
		{ .path = "/dev/x", .type = "d" },
		{ .path = "/dev/x", .has_numbers = 1 },
		{ .path = "/dev/x", .has_numbers = 1, .type = "p" },
		{ .path = "/dev/x", .has_numbers = 1, .type = "c", .minor = -1 },
		{ .path = "/dev/x", .has_mode = 1, .mode = 010000 },
	};
	struct dp_hook bad_hooks[] = {
		{ .name = "sometimes", .path = "/bin/true" },
		{ .path = "/bin/true" },
		{ .name = "poststop", .path = "true" },
	};
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(bad_nodes); i++) {
		struct dp_edits e = { .size = sizeof(e), .nodes = &bad_nodes[i], .nnodes = 1 };

		bad_nodes[i].size = sizeof(bad_nodes[i]);
		assert_int_not_equal(cdi_file_edit(&a, json_make_object(&a), &e, NULL), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad_hooks); i++) {
		struct dp_edits e = { .size = sizeof(e), .hooks = &bad_hooks[i], .nhooks = 1 };

		assert_int_not_equal(cdi_file_edit(&a, json_make_object(&a), &e, NULL), 0);
		bad_hooks[i].size = sizeof(bad_hooks[i]);
		assert_int_not_equal(cdi_file_edit(&a, json_make_object(&a), &e, NULL), 0);
	}
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_driver_sees_its_own_devices_with_what_was_written_for_them),
		cmocka_unit_test(consumers_are_those_that_it_is_reserved_for),
		cmocka_unit_test(claims_that_are_not_allocated_or_replaced_are_refused),
		cmocka_unit_test(edits_become_a_file_and_names),
		cmocka_unit_test(edits_that_cannot_be_are_refused_with_a_word),
		cmocka_unit_test(a_checkpoint_gives_the_claim_back),
		cmocka_unit_test(a_share_is_known_with_its_amounts_also_after_a_restart),
		cmocka_unit_test(edits_have_nodes_with_numbers_and_hooks),
		cmocka_unit_test(nodes_and_hooks_that_no_runtime_takes_are_refused),
	};

	return cmocka_run_group_tests_name("drivers/claim", tests, NULL, NULL);
}
