/*
 * Field ownership after creates and updates of real kinds. The sets are those that kube-apiserver
 * records for the same writes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/codec/decode.h"
#include "api/managed/managed.h"
#include "base/core/limits.h"

enum { SECOND_NS = 1000000000 };

struct fixture {
	struct arena arena;
	struct buf out;
	const struct schema_kind *kind;
	struct json *object; /* as last stored */
	int64_t now_s;
};

static void begin(struct fixture *x, const char *api_version, const char *kind)
{
	*x = (struct fixture){ .now_s = 1700000000 };
	arena_init(&x->arena, 64 * MIB);
	buf_init(&x->out, MIB);
	x->kind = schema_find_kind(str_from(api_version), str_from(kind));
	assert_non_null(x->kind);
}

static void end(struct fixture *x)
{
	buf_release(&x->out);
	arena_release(&x->arena);
}

static struct json *fit(struct fixture *x, const char *text)
{
	struct str copy = arena_str(&x->arena, str_from(text));
	struct error err;
	struct json *v;

	if (decode_parse(&x->arena, copy, DECODE_JSON, NULL, &v, &err) < 0 ||
	    decode_fit(&x->arena, v, x->kind->type, NULL, &err) < 0)
		fail_msg("%s", err.msg);
	return v;
}

/* A write by a manager a second later. */
static void write_as(struct fixture *x, const char *manager, const char *subresource,
		     struct json *object)
{
	struct managed_writer writer = {
		.manager = str_from(manager),
		.api_version = x->kind->api_version,
		.subresource = str_from(subresource),
		.now_ns = ++x->now_s * SECOND_NS,
	};

	managed_update(&x->arena, x->kind, object, x->object, &writer);
	x->object = object;
}

static void write_text(struct fixture *x, const char *manager, const char *text)
{
	write_as(x, manager, "", fit(x, text));
}

static struct json *managed(const struct fixture *x)
{
	return json_getz(json_getz(x->object, "metadata"), "managedFields");
}

static struct json *entry_of(const struct fixture *x, const char *manager)
{
	JSON_FOREACH (e, managed(x))
		if (str_eqz(json_text_at(e, "manager"), manager))
			return e;
	return NULL;
}

static void assert_owns(struct fixture *x, const char *manager, const char *set)
{
	buf_clear(&x->out);
	assert_non_null(entry_of(x, manager));
	assert_int_equal(json_print(&x->out, json_getz(entry_of(x, manager), "fieldsV1"), NULL), 0);
	assert_string_equal(x->out.p, set);
}

#define POD_HEAD "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\","

static void a_created_pod_is_owned_as_upstream_records_it(void **state)
{
	struct fixture x;

	begin(&x, "v1", "Pod");
	write_text(&x, "kubectl-run",
		   POD_HEAD
		   "\"namespace\":\"default\",\"uid\":\"u\",\"labels\":{\"run\":\"x\"}},"
		   "\"spec\":{\"restartPolicy\":\"Always\",\"containers\":[{\"name\":\"c\","
		   "\"image\":\"i\",\"ports\":[{\"containerPort\":443,\"protocol\":\"TCP\"},"
		   "{\"containerPort\":80}],\"env\":[{\"name\":\"A\",\"value\":\"1\"}]}],"
		   "\"securityContext\":{},\"tolerations\":[{\"key\":\"a\"}],"
		   "\"nodeSelector\":{\"b\":\"c\"}},\"status\":{\"phase\":\"Pending\"}}");
	assert_owns(&x, "kubectl-run",
		    "{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:run\":{}}},"
		    "\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"c\\\"}\":{\".\":{},"
		    "\"f:env\":{\".\":{},\"k:{\\\"name\\\":\\\"A\\\"}\":{\".\":{},\"f:name\":{},"
		    "\"f:value\":{}}},\"f:image\":{},\"f:name\":{},\"f:ports\":{\".\":{},"
		    "\"k:{\\\"containerPort\\\":80,\\\"protocol\\\":\\\"TCP\\\"}\":{\".\":{},"
		    "\"f:containerPort\":{}},"
		    "\"k:{\\\"containerPort\\\":443,\\\"protocol\\\":\\\"TCP\\\"}\":{\".\":{},"
		    "\"f:containerPort\":{},\"f:protocol\":{}}},\"f:resources\":{}}},"
		    "\"f:nodeSelector\":{},\"f:restartPolicy\":{},\"f:securityContext\":{},"
		    "\"f:tolerations\":{}}}");
	end(&x);
}

static void an_entry_tells_who_when_and_how(void **state)
{
	struct fixture x;

	begin(&x, "v1", "ConfigMap");
	write_text(&x, "me",
		   "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"},"
		   "\"data\":{\"a\":\"1\"}}");
	assert_int_equal(json_print(&x.out, managed(&x), NULL), 0);
	assert_string_equal(x.out.p,
			    "[{\"manager\":\"me\",\"operation\":\"Update\",\"apiVersion\":\"v1\","
			    "\"time\":\"2023-11-14T22:13:21Z\",\"fieldsType\":\"FieldsV1\","
			    "\"fieldsV1\":{\"f:data\":{\".\":{},\"f:a\":{}}}}]");
	end(&x);
}

#define MAP(rest) \
	"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"}," rest "}"

static void a_changed_value_changes_its_owner(void **state)
{
	struct fixture x;

	begin(&x, "v1", "ConfigMap");
	write_text(&x, "a", MAP("\"data\":{\"x\":\"1\",\"y\":\"2\"}"));
	write_text(&x, "b", MAP("\"data\":{\"x\":\"1\",\"y\":\"3\"}"));
	assert_owns(&x, "a", "{\"f:data\":{\".\":{},\"f:x\":{}}}");
	assert_owns(&x, "b", "{\"f:data\":{\"f:y\":{}}}");
	end(&x);
}

static void a_removed_field_has_no_manager(void **state)
{
	struct fixture x;

	begin(&x, "v1", "ConfigMap");
	write_text(&x, "a", MAP("\"data\":{\"x\":\"1\",\"y\":\"2\"}"));
	write_text(&x, "b", MAP("\"data\":{\"x\":\"1\"}"));
	assert_owns(&x, "a", "{\"f:data\":{\".\":{},\"f:x\":{}}}");
	assert_null(entry_of(&x, "b"));
	write_text(&x, "b", MAP("\"immutable\":true"));
	assert_null(entry_of(&x, "a"));
	assert_owns(&x, "b", "{\"f:immutable\":{}}");
	end(&x);
}

static void a_manager_that_writes_again_keeps_what_it_had(void **state)
{
	struct fixture x;

	begin(&x, "v1", "ConfigMap");
	write_text(&x, "a", MAP("\"data\":{\"x\":\"1\"}"));
	write_text(&x, "a", MAP("\"data\":{\"w\":\"0\",\"x\":\"1\",\"y\":\"2\"}"));
	assert_int_equal(json_count(managed(&x)), 1);
	assert_owns(&x, "a", "{\"f:data\":{\".\":{},\"f:w\":{},\"f:x\":{},\"f:y\":{}}}");
	end(&x);
}

static void a_write_that_changes_nothing_leaves_the_list_alone(void **state)
{
	struct json *before;
	struct fixture x;

	begin(&x, "v1", "ConfigMap");
	write_text(&x, "a", MAP("\"data\":{\"x\":\"1\"}"));
	before = managed(&x);
	write_text(&x, "b", MAP("\"data\":{\"x\":\"1\"}"));
	assert_true(json_equal(before, managed(&x)));
	end(&x);
}

#define CLAIM                                                                              \
	"{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceClaim\",\"metadata\":{" \
	"\"name\":\"c\",\"namespace\":\"default\"},\"spec\":{\"devices\":{\"requests\":[{" \
	"\"name\":\"r\",\"exactly\":{\"deviceClassName\":\"gpu\"}}]}}"

static void status_and_spec_have_different_owners(void **state)
{
	struct json *with_status;
	struct fixture x;

	begin(&x, "resource.k8s.io/v1", "ResourceClaim");
	write_text(&x, "user", CLAIM "}");
	assert_owns(&x, "user", "{\"f:spec\":{\"f:devices\":{\"f:requests\":{}}}}");
	with_status = fit(&x, CLAIM ",\"status\":{\"reservedFor\":[{\"resource\":\"pods\","
				    "\"name\":\"p\",\"uid\":\"u-1\"}]}}");
	write_as(&x, "scheduler", "status", with_status);
	assert_owns(&x, "scheduler",
		    "{\"f:status\":{\"f:reservedFor\":{\".\":{},"
		    "\"k:{\\\"uid\\\":\\\"u-1\\\"}\":{\".\":{},\"f:name\":{},"
		    "\"f:resource\":{},\"f:uid\":{}}}}}");
	assert_true(str_eqz(json_text_at(entry_of(&x, "scheduler"), "subresource"), "status"));
	assert_owns(&x, "user", "{\"f:spec\":{\"f:devices\":{\"f:requests\":{}}}}");
	end(&x);
}

static void sets_own_their_elements_and_owners_are_atomic(void **state)
{
	struct fixture x;

	begin(&x, "v1", "ConfigMap");
	write_text(&x, "a",
		   "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\","
		   "\"finalizers\":[\"b/x\",\"a/y\",\"b/x\"],\"ownerReferences\":[{"
		   "\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"u\"}]}}");
	assert_owns(&x, "a",
		    "{\"f:metadata\":{\"f:finalizers\":{\".\":{},\"v:\\\"a/y\\\"\":{},"
		    "\"v:\\\"b/x\\\"\":{}},\"f:ownerReferences\":{\".\":{},"
		    "\"k:{\\\"uid\\\":\\\"u\\\"}\":{}}}}");
	end(&x);
}

static void the_stored_list_is_kept_when_the_clients_is_no_good(void **state)
{
	struct fixture x;

	begin(&x, "v1", "ConfigMap");
	write_text(&x, "a", MAP("\"data\":{\"x\":\"1\"}"));
	write_text(&x, "b",
		   "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\","
		   "\"managedFields\":[{\"manager\":\"evil\",\"operation\":\"Steal\"}]},"
		   "\"data\":{\"x\":\"1\"}}");
	assert_int_equal(json_count(managed(&x)), 1);
	assert_owns(&x, "a", "{\"f:data\":{\".\":{},\"f:x\":{}}}");
	end(&x);
}

static void clients_may_edit_the_list(void **state)
{
	struct fixture x;

	begin(&x, "v1", "ConfigMap");
	write_text(&x, "a", MAP("\"data\":{\"x\":\"1\",\"y\":\"2\"}"));
	write_text(&x, "b",
		   "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\","
		   "\"managedFields\":[{\"manager\":\"z\",\"operation\":\"Apply\","
		   "\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\","
		   "\"fieldsV1\":{\"f:data\":{\"f:y\":{},\"f:x\":{}}}}]},"
		   "\"data\":{\"x\":\"1\",\"y\":\"3\"}}");
	assert_int_equal(json_count(managed(&x)), 2);
	assert_owns(&x, "z", "{\"f:data\":{\"f:x\":{}}}");
	assert_owns(&x, "b", "{\"f:data\":{\"f:y\":{}}}");
	end(&x);
}

static void a_reset_list_stays_away(void **state)
{
	static const char *const resets[] = { "[]", "[{}]" };

	for (size_t i = 0; i < ARRAY_SIZE(resets); i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);
		struct fixture x;

		begin(&x, "v1", "ConfigMap");
		write_text(&x, "a", MAP("\"data\":{\"x\":\"1\"}"));
		(void)buf_printf(&b,
				 "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
				 "\"name\":\"c\",\"managedFields\":%s},\"data\":{\"x\":\"2\"}}",
				 resets[i]);
		write_text(&x, "b", b.p);
		assert_null(managed(&x));
		write_text(&x, "b", MAP("\"data\":{\"x\":\"3\"}"));
		assert_null(managed(&x));
		end(&x);
	}
}

static void many_managers_are_folded_into_one(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);
	struct fixture x;
	char name[16];

	begin(&x, "v1", "ConfigMap");
	for (int i = 0; i < 14; i++) {
		buf_clear(&b);
		(void)buf_addz(&b, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
				   "\"name\":\"c\"},\"data\":{");
		for (int k = 0; k <= i; k++)
			(void)buf_printf(&b, "%s\"k%02d\":\"1\"", k ? "," : "", k);
		(void)buf_addz(&b, "}}");
		(void)snprintf(name, sizeof(name), "m%02d", i);
		write_text(&x, name, b.p);
	}
	assert_int_equal(json_count(managed(&x)), 10);
	assert_owns(&x, "ancient-changes",
		    "{\"f:data\":{\".\":{},\"f:k00\":{},\"f:k01\":{},\"f:k02\":{},\"f:k03\":{},"
		    "\"f:k04\":{}}}");
	assert_true(str_eqz(json_text_at(json_first(managed(&x)), "manager"), "ancient-changes"));
	assert_owns(&x, "m13", "{\"f:data\":{\"f:k13\":{}}}");
	end(&x);
}

static void large_maps_are_compared_in_time(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(16 * MIB);
	struct fixture x;

	begin(&x, "v1", "ConfigMap");
	for (int turn = 0; turn < 2; turn++) {
		buf_clear(&b);
		(void)buf_addz(&b, "{\"metadata\":{\"name\":\"c\"},\"data\":{");
		for (int i = 0; i < 50000; i++)
			(void)buf_printf(&b, "%s\"k%d\":\"%d\"", i ? "," : "", turn ? 50000 - i : i,
					 turn);
		(void)buf_addz(&b, "}}");
		write_text(&x, turn ? "b" : "a", b.p);
	}
	assert_int_equal(json_count(json_getz(json_getz(entry_of(&x, "b"), "fieldsV1"), "f:data")),
			 50000);
	assert_owns(&x, "a", "{\"f:data\":{}}");
	end(&x);
}

static void the_name_is_the_parameter_or_the_programs(void **state)
{
	char agent[200];

	memset(agent, 'x', sizeof(agent));
	assert_true(str_eqz(managed_name(STR("me"), STR("kubectl/v1.37")), "me"));
	assert_true(str_eqz(managed_name(STR_NULL, STR("kubectl/v1.37 (linux)")), "kubectl"));
	assert_true(str_eqz(managed_name(STR_NULL, STR("curl")), "curl"));
	assert_true(str_eqz(managed_name(STR_NULL, STR_NULL), "unknown"));
	assert_true(str_eqz(managed_name(STR_NULL, STR("/1.0")), "unknown"));
	assert_int_equal(managed_name(STR_NULL, str_of(agent, sizeof(agent))).n, 128);
	memcpy(agent + 127, "\xc3\xa4", 2);
	assert_int_equal(managed_name(STR_NULL, str_of(agent, sizeof(agent))).n, 127);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_created_pod_is_owned_as_upstream_records_it),
		cmocka_unit_test(an_entry_tells_who_when_and_how),
		cmocka_unit_test(a_changed_value_changes_its_owner),
		cmocka_unit_test(a_removed_field_has_no_manager),
		cmocka_unit_test(a_manager_that_writes_again_keeps_what_it_had),
		cmocka_unit_test(a_write_that_changes_nothing_leaves_the_list_alone),
		cmocka_unit_test(status_and_spec_have_different_owners),
		cmocka_unit_test(sets_own_their_elements_and_owners_are_atomic),
		cmocka_unit_test(the_stored_list_is_kept_when_the_clients_is_no_good),
		cmocka_unit_test(clients_may_edit_the_list),
		cmocka_unit_test(a_reset_list_stays_away),
		cmocka_unit_test(many_managers_are_folded_into_one),
		cmocka_unit_test(large_maps_are_compared_in_time),
		cmocka_unit_test(the_name_is_the_parameter_or_the_programs),
	};

	return cmocka_run_group_tests_name("api/managed", tests, NULL, NULL);
}
