/*
 * Both spellings of network data (KEP-4817) in every kind of write, the gate of status.devices, and
 * which entries stay. Texts have ' where JSON has ".
 */
#include "api/write/write_fixture.h"

#define REQUEST             "{'name':'r','exactly':{'deviceClassName':'c'}}"
#define SPEC                "'spec':{'devices':{'requests':[" REQUEST "]}}"
#define RESULT(device)      "{'request':'r','driver':'d.io','pool':'p','device':'" device "'}"
#define RESULTS             RESULT("one") "," RESULT("two")
#define ALLOCATION          "'allocation':{'devices':{'results':[" RESULTS "]}}"
#define ENTRY(device, more) "{'driver':'d.io','pool':'p','device':'" device "'" more "}"
#define NETWORK             "{'interfaceName':'e','ips':['10.0.0.1/8'],'hardwareAddress':'aa'}"
#define WITH(network)       ENTRY("one", ",'networkData':" network)
#define CLAIM(status)       "{'metadata':{'name':'a'}," SPEC ",'status':{" status "}}"
#define DEVICES(list)       CLAIM(ALLOCATION ",'devices':[" list "]")
#define AT                  "/status/devices/0/networkData"
#define OP(op, path, more)  "{'op':'" op "','path':'" path "'" more "}"

static const char *json_of(struct fixture *f, const char *text)
{
	char *copy = arena_strdup(&f->arena, str_from(text));

	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	return copy;
}

/* A stored claim with these entries of status.devices; the path is its status. */
static const struct json *stored_claim(struct fixture *f, const char *claim)
{
	const struct json *old;
	struct json *out;

	fixture_init(f, "resource.k8s.io", "v1", "resourceclaims");
	old = fixture_stored(f, json_of(f, CLAIM("")));
	f->w.subresource = STR("status");
	assert_written(f, fixture_update(f, old, json_of(f, claim)));
	out = f->out;
	fixture_again(f);
	return out;
}

/* --- two names ----------------------------------------------------------------------- */

enum way { PUT, JSON, MERGE, STRATEGIC };

struct spelling {
	enum way way;
	const char *text; /* for a PUT: the network data */
	const char *want; /* the resulting network data, or a part of the error */
};

#define IPS(v)  "'ips':[" v "]"
#define KEPS(v) "'addresses':[" v "]"
#define OLD     "'10.0.0.1/8'"
#define NEW     "'10.0.0.2/8'"
#define THIRD   "'10.0.0.3/8'"
#define MAC     "'hardwareAddress':'aa'"
#define NAME    "'interfaceName':'e',"

static const struct spelling spellings[] = {
	/* If a body has one name, it says nothing about the other. */
	{ PUT, "{" IPS(NEW) "}", "{" IPS(NEW) "}" },
	{ PUT, "{" KEPS(NEW) ",'hwAddress':'bb'}", "{" IPS(NEW) ",'hardwareAddress':'bb'}" },
	{ PUT, "{" IPS(OLD) "," KEPS(NEW) "}", "{" IPS(NEW) "}" },
	{ PUT, "{" IPS(NEW) "," KEPS(OLD) "}", "{" IPS(NEW) "}" },
	{ PUT, "{" IPS(NEW) "," KEPS(NEW) "}", "{" IPS(NEW) "}" },
	{ PUT, "{" IPS(NEW) "," KEPS(THIRD) "}",
	  "status.devices[0].networkData.addresses: Invalid value: ['10.0.0.3/8']: differs from "
	  "ips, "
	  "and both differ from the stored value; send only one of them" },
	{ PUT, "{'hardwareAddress':'bb','hwAddress':'cc'}",
	  "networkData.hwAddress: Invalid value" },
	/* An empty value is a change, too; but a new value wins over it. */
	{ PUT, "{" IPS(OLD) "," KEPS("") "}", "{}" },
	{ PUT, "{" IPS(OLD) ",'addresses':null}", "{}" },
	{ PUT, "{" IPS("") "," KEPS(OLD) "}", "{}" },
	{ PUT, "{" IPS(NEW) ",'addresses':null}", "{" IPS(NEW) "}" },
	{ PUT, "{'ips':null," KEPS(NEW) "}", "{" IPS(NEW) "}" },
	{ PUT, "{'hardwareAddress':'aa','hwAddress':''}", "{}" },
	{ PUT, "{" KEPS("'x'") "}", "status.devices[0].networkData.ips[0]: Invalid value: 'x'" },

	{ JSON, "[" OP("replace", AT "/addresses/0", ",'value':" NEW) "]",
	  "{" NAME IPS(NEW) "," MAC "}" },
	{ JSON, "[" OP("replace", AT "/ips/0", ",'value':" NEW) "]",
	  "{" NAME IPS(NEW) "," MAC "}" },
	{ JSON, "[" OP("add", AT "/addresses/-", ",'value':" NEW) "]",
	  "{" NAME IPS(OLD "," NEW) "," MAC "}" },
	{ JSON,
	  "[" OP("add", AT "/addresses/-", ",'value':" NEW) "," OP("add", AT "/ips/-",
								   ",'value':" NEW) "]",
	  "{" NAME IPS(OLD "," NEW) "," MAC "}" },
	{ JSON, "[" OP("add", AT "/addresses/0", ",'value':" NEW) "]",
	  "{" NAME IPS(NEW "," OLD) "," MAC "}" },
	{ JSON,
	  "[" OP("replace", AT "/addresses/0", ",'value':" NEW) "," OP("replace", AT "/ips/0",
								       ",'value':" THIRD) "]",
	  "networkData.addresses: Invalid value" },
	{ JSON, "[" OP("remove", AT "/addresses", "") "]", "{" NAME MAC "}" },
	{ JSON, "[" OP("remove", AT "/ips", "") "]", "{" NAME MAC "}" },
	{ JSON, "[" OP("remove", AT "/ips", "") "," OP("remove", AT "/addresses", "") "]",
	  "{" NAME MAC "}" },
	{ JSON, "[" OP("remove", AT "/ips/0", "") "," OP("remove", AT "/addresses/0", "") "]",
	  "{" NAME MAC "}" },
	{ JSON,
	  "[" OP("remove", AT "/hwAddress", "") "," OP("add", AT "/hwAddress", ",'value':'bb'") "]",
	  "{" NAME IPS(OLD) ",'hardwareAddress':'bb'}" },
	{ JSON, "[" OP("move", AT "/ips", ",'from':'" AT "/addresses'") "]",
	  "{" NAME IPS(OLD) "," MAC "}" },
	{ JSON, "[" OP("copy", AT "/ips", ",'from':'" AT "/addresses'") "]",
	  "{" NAME IPS(OLD) "," MAC "}" },
	{ JSON,
	  "[" OP("test", AT "/addresses/0", ",'value':" OLD) "," OP("add", AT "/interfaceName",
								    ",'value':'f'") "]",
	  "{'interfaceName':'f'," IPS(OLD) "," MAC "}" },
	{ JSON, "[" OP("test", AT "/addresses/0", ",'value':" NEW) "]",
	  "the server rejected our request" },
	{ JSON,
	  "[" OP("test", AT, ",'value':" NETWORK) "," OP("replace", AT "/hwAddress",
							 ",'value':'bb'") "]",
	  "{" NAME IPS(OLD) ",'hardwareAddress':'bb'}" },
	{ JSON,
	  "[" OP("test", AT, ",'value':{'interfaceName':'e'," KEPS(OLD) ",'hwAddress':'aa'}") "]",
	  "{" NAME IPS(OLD) "," MAC "}" },
	{ JSON, "[" OP("replace", AT, ",'value':{" KEPS(NEW) "}") "]", "{" IPS(NEW) "}" },
	{ JSON, "[" OP("replace", AT, ",'value':{" IPS(OLD) "}") "]", "{" IPS(OLD) "}" },
	{ JSON,
	  "[" OP("replace", AT, ",'value':{'interfaceName':'f'}") "," OP("add", AT "/addresses",
									 ",'value':[" NEW "]") "]",
	  "{'interfaceName':'f'," IPS(NEW) "}" },
	{ JSON, "[" OP("add", "/status/devices", ",'value':[" WITH("{" KEPS(NEW) "}") "]") "]",
	  "{" IPS(NEW) "}" },
	{ JSON, "[" OP("replace", "/status/devices/0", ",'value':" WITH("{" KEPS(NEW) "}")) "]",
	  "{" IPS(NEW) "}" },
	{ JSON,
	  "[" OP("replace", "/status",
		 ",'value':{" ALLOCATION ",'devices':[" WITH("{" KEPS(NEW) "}") "]}") "]",
	  "{" IPS(NEW) "}" },
	{ JSON, "[" OP("add", AT "/addresses", ",'value':5") "]", "json: cannot unmarshal number" },
	{ JSON, "[" OP("add", AT "/addresses", ",'value':[5]") "]",
	  "json: cannot unmarshal number" },

	{ MERGE, "{'status':{'devices':[" WITH("{" KEPS(NEW) "}") "]}}", "{" IPS(NEW) "}" },
	{ MERGE, "{'status':{'devices':[" WITH("{" IPS(OLD) "," KEPS(NEW) "}") "]}}",
	  "{" IPS(NEW) "}" },
	/* Nulls in what a merge patch adds are dropped. */
	{ MERGE, "{'status':{'devices':[" WITH("{" IPS(OLD) ",'addresses':null}") "]}}",
	  "{" IPS(OLD) "}" },
	{ MERGE, "{'status':{'devices':[" WITH("{" IPS(NEW) "," KEPS(THIRD) "}") "]}}",
	  "networkData.addresses: Invalid value" },
	{ MERGE, "{'status':{'devices':[" WITH("{'hwAddress':5}") "]}}",
	  "cannot unmarshal number" },
	{ STRATEGIC, "{'status':{'devices':[" WITH("{" KEPS(NEW) "}") "]}}", "{" IPS(NEW) "}" },
	{ STRATEGIC, "{'status':{'devices':[" WITH("{" IPS(NEW) "," KEPS(OLD) "}") "]}}",
	  "{" IPS(NEW) "}" },
	{ STRATEGIC, "{'status':{'devices':[" WITH("{'hwAddress':'bb'}") "]}}",
	  "{'hardwareAddress':'bb'}" },
};

static int write_spelling(struct fixture *f, const struct json *old, const struct spelling *s)
{
	static const enum patch_type types[] = {
		[JSON] = PATCH_JSON, [MERGE] = PATCH_MERGE, [STRATEGIC] = PATCH_STRATEGIC
	};
	const char *body;

	if (s->way != PUT)
		return fixture_patch(f, old, types[s->way], json_of(f, s->text));
	body = arena_printf(&f->arena,
			    DEVICES("{'driver':'d.io','pool':'p','device':'one',"
				    "'networkData':%s}"),
			    s->text);
	return fixture_update(f, old, json_of(f, body));
}

static void either_name_does_in_every_kind_of_write(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
		const struct spelling *s = &spellings[i];
		struct fixture f;
		const struct json *old = stored_claim(&f, DEVICES(WITH(NETWORK)));
		const char *want = json_of(&f, s->want), *got;
		int r = write_spelling(&f, old, s);

		got = r < 0 ? arena_printf(&f.arena, "%s %s", f.err.msg, fixture_faults(&f))
			    : fixture_at(&f, f.out, AT);
		if ((s->want[0] == '{') != (r == 0) || !strstr(got, want))
			fail_msg("%zu: %s\nwanted %s\ngot %s", i, s->text, want, got);
		assert_null(f.w.warnings);
		fixture_release(&f);
	}
}

/* The value under the KEP's name must fit, even if it is kept for later. */
static void a_second_name_must_fit_too(void **state)
{
	static const char *const networks[] = { "{" IPS(OLD) ",'addresses':5}",
						"{" IPS(OLD) ",'addresses':[5]}",
						"{" IPS(OLD) ",'addresses':'x'}",
						"{" MAC ",'hwAddress':['bb']}",
						"{" MAC ",'hwAddress':{}}" };

	for (size_t i = 0; i < ARRAY_SIZE(networks); i++) {
		struct fixture f;
		struct json *body = NULL;
		const char *text;

		(void)stored_claim(&f, DEVICES(WITH(NETWORK)));
		text = arena_printf(&f.arena,
				    DEVICES("{'driver':'d.io','pool':'p','device':'one',"
					    "'networkData':%s}"),
				    networks[i]);
		assert_int_equal(
			write_decode(&f.w, str_from(json_of(&f, text)), DECODE_JSON, &body, &f.err),
			-ERR_BAD_REQUEST);
		fixture_release(&f);
	}
}

#define TWO_NETWORKS                                                  \
	ENTRY("two", ",'networkData':{" IPS(NEW) "," KEPS(THIRD) "}") \
	"," WITH("{" IPS(OLD) "," KEPS(NEW) "}")

static void each_device_has_its_own_names(void **state)
{
	struct fixture f;
	const char *body;
	const struct json *old = stored_claim(&f, DEVICES(WITH("{" IPS(OLD) "}") "," ENTRY(
							  "two", ",'networkData':{" IPS(NEW) "}")));

	body = json_of(&f, DEVICES(TWO_NETWORKS));
	assert_written(&f, fixture_update(&f, old, body));
	assert_at(&f, f.out, "/status/devices/0/networkData/ips/0", "10.0.0.3/8");
	assert_at(&f, f.out, "/status/devices/1/networkData/ips/0", "10.0.0.2/8");
	fixture_release(&f);
}

static void the_keps_names_are_no_unknown_fields(void **state)
{
	struct fixture f;
	struct json *body = NULL;
	const char *good, *bad;

	(void)stored_claim(&f, DEVICES(""));
	good = json_of(&f, DEVICES(WITH("{" KEPS(NEW) ",'hwAddress':'bb'}")));
	bad = json_of(&f, DEVICES(WITH("{'address':'x'}")));
	f.w.options.field_validation = WRITE_STRICT;
	assert_int_equal(write_decode(&f.w, str_from(good), DECODE_JSON, &body, &f.err), 0);
	assert_int_equal(write_decode(&f.w, str_from(bad), DECODE_JSON, &body, &f.err),
			 -ERR_BAD_REQUEST);
	assert_non_null(
		strstr(f.err.msg, "unknown field \"status.devices[0].networkData.address\""));
	f.w.options.field_validation = WRITE_WARN;
	assert_int_equal(write_decode(&f.w, str_from(bad), DECODE_JSON, &body, &f.err), 0);
	assert_non_null(f.w.warnings);
	fixture_again(&f);
	f.w.options.field_validation = WRITE_IGNORE;
	assert_int_equal(write_decode(&f.w, str_from(bad), DECODE_JSON, &body, &f.err), 0);
	assert_null(f.w.warnings);
	fixture_release(&f);
}

/* --- entries of status.devices ------------------------------------------------------------ */

static void entries_come_with_the_status_alone(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "resource.k8s.io", "v1", "resourceclaims");
	assert_written(&f, fixture_create(&f, json_of(&f, DEVICES(ENTRY("one", "")))));
	assert_at(&f, f.out, "/status/devices", "");
	assert_at(&f, f.out, "/status/allocation", "");
	fixture_release(&f);

	old = stored_claim(&f, DEVICES(ENTRY("one", ",'data':{'a':1}")));
	f.w.subresource = STR("");
	assert_written(&f, fixture_update(&f, old, json_of(&f, DEVICES(ENTRY("two", "")))));
	assert_at(&f, f.out, "/status/devices/0/device", "one");
	fixture_again(&f);
	assert_written(&f, fixture_patch(&f, old, PATCH_MERGE,
					 json_of(&f, "{'status':{'devices':null}}")));
	assert_at(&f, f.out, "/status/devices/0/data", "{\"a\":1}");
	fixture_release(&f);
}

static void assert_deallocates(const char *patch)
{
	struct fixture f;
	const struct json *old = stored_claim(&f, DEVICES(ENTRY("one", "") "," ENTRY("two", "")));

	assert_written(&f, fixture_patch(&f, old, PATCH_MERGE, json_of(&f, patch)));
	assert_at(&f, f.out, "/status/devices", "");
	assert_at(&f, f.out, "/status/allocation", "");
	fixture_release(&f);
}

static void deallocation_takes_entries_with_it(void **state)
{
	assert_deallocates("{'status':{'allocation':null}}");
	assert_deallocates("{'status':null}");
	/* They are removed even if the client sends them again. */
	assert_deallocates(
		"{'status':{'allocation':null,'devices':[" ENTRY("one", ",'data':{'b':2}") "]}}");
}

static void another_allocation_drops_what_it_lacks(void **state)
{
	struct fixture f;
	const struct json *old = stored_claim(&f, DEVICES(ENTRY("one", "") "," ENTRY("two", "")));

	assert_int_equal(
		fixture_patch(&f, old, PATCH_MERGE,
			      json_of(&f, "{'status':{'allocation':{'devices':{'results':[" RESULT(
						  "two") "]}}}}")),
		-ERR_INVALID);
	/* The only error is that the allocation may not change: the entry of one was dropped. */
	assert_non_null(strstr(fixture_faults(&f), "status.allocation: Invalid value"));
	assert_null(strstr(fixture_faults(&f), "must be an allocated device"));
	fixture_release(&f);
}

/* --- the gate -------------------------------------------------------------------------------- */

static void without_the_gate_nothing_is_written(void **state)
{
	struct fixture f;
	const struct json *old = stored_claim(&f, CLAIM(ALLOCATION));

	f.gates.on[GATE_DRAResourceClaimDeviceStatus] = false;
	assert_written(&f, fixture_update(&f, old, json_of(&f, DEVICES(ENTRY("one", "")))));
	assert_at(&f, f.out, "/status/devices", "");
	assert_true(f.w.unchanged);
	fixture_again(&f);
	/* An invalid entry is dropped as well. */
	assert_written(&f, fixture_update(&f, old, json_of(&f, DEVICES(ENTRY("none", "")))));
	assert_at(&f, f.out, "/status/devices", "");
	fixture_release(&f);
}

static void assert_stays_unseen(const char *body)
{
	struct fixture f;
	const struct json *old = stored_claim(&f, DEVICES(ENTRY("one", ",'data':{'a':1}")));

	f.gates.on[GATE_DRAResourceClaimDeviceStatus] = false;
	assert_written(&f, fixture_update(&f, old, json_of(&f, body)));
	assert_at(&f, f.out, "/status/devices/0/data", "{\"a\":1}");
	assert_true(write_served_form(&f.arena, f.out, f.w.kind, &f.gates));
	assert_at(&f, f.out, "/status/devices", "");
	fixture_release(&f);
}

static void without_the_gate_what_is_stored_stays_unseen(void **state)
{
	assert_stays_unseen(CLAIM(ALLOCATION ",'reservedFor':[{'resource':'pods','name':'p',"
					     "'uid':'u'}]"));
	assert_stays_unseen(DEVICES(ENTRY("one", ",'data':{'b':2}")));
	assert_stays_unseen(DEVICES(""));
}

static void without_the_gate_deallocation_still_takes_entries(void **state)
{
	struct fixture f;
	const struct json *old = stored_claim(&f, DEVICES(ENTRY("one", ",'data':{'a':1}")));

	f.gates.on[GATE_DRAResourceClaimDeviceStatus] = false;
	assert_written(&f, fixture_update(&f, old, json_of(&f, CLAIM(""))));
	assert_at(&f, f.out, "/status/devices", "");
	fixture_release(&f);
}

/* --- rules that depend on the caller ---------------------------------------------------- */

static void refuse(struct write *w, const struct json *old, const struct json *object)
{
	struct field_path path = field_path_name(NULL, "status");

	assert_int_equal(json_count(json_getz(json_getz(old, "status"), "devices")), 1);
	assert_int_equal(json_count(json_getz(json_getz(object, "status"), "devices")), 1);
	field_errors_forbidden(&w->errs, &path, "not you");
}

static void a_forbidden_write_lists_validation_errors_too(void **state)
{
	struct fixture f;
	const struct json *old = stored_claim(&f, DEVICES(ENTRY("one", "")));

	f.w.authorize = refuse;
	assert_int_equal(fixture_update(&f, old, json_of(&f, DEVICES(ENTRY("none", "")))),
			 -ERR_INVALID);
	assert_non_null(strstr(fixture_faults(&f), "status: Forbidden: not you"));
	assert_non_null(strstr(fixture_faults(&f), "must be an allocated device in the claim"));
	fixture_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(either_name_does_in_every_kind_of_write),
		cmocka_unit_test(a_second_name_must_fit_too),
		cmocka_unit_test(each_device_has_its_own_names),
		cmocka_unit_test(the_keps_names_are_no_unknown_fields),
		cmocka_unit_test(entries_come_with_the_status_alone),
		cmocka_unit_test(deallocation_takes_entries_with_it),
		cmocka_unit_test(another_allocation_drops_what_it_lacks),
		cmocka_unit_test(without_the_gate_nothing_is_written),
		cmocka_unit_test(without_the_gate_what_is_stored_stays_unseen),
		cmocka_unit_test(without_the_gate_deallocation_still_takes_entries),
		cmocka_unit_test(a_forbidden_write_lists_validation_errors_too),
	};

	return cmocka_run_group_tests_name("api/write_alias", tests, NULL, NULL);
}
