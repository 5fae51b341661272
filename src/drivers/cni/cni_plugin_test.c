#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "drivers/cni/cni_plugin.h"
#include "drivers/drivers_limits.h"

#define ID         "CNI_CONTAINERID=8f3b"
#define NETNS      "CNI_NETNS=/var/run/netns/blue"
#define IFNAME     "CNI_IFNAME=eth0"
#define ARGS       "CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAMESPACE=ns;K8S_POD_NAME=p;K8S_POD_UID=0c-1"
#define CONFIG     "{\"cniVersion\":\"1.0.0\",\"name\":\"pods\",\"type\":\"devplane-cni\"}"
#define CONFIG_1_1 "{\"cniVersion\":\"1.1.0\",\"name\":\"pods\"}"

/* An environment: "NAME=VALUE" each; NULL ends it. */
static const char *const add[] = { "CNI_COMMAND=ADD", ID, NETNS, IFNAME, NULL };

static const char *get(void *arg, const char *name)
{
	const char *const *env = arg;
	size_t n = strlen(name);

	for (size_t i = 0; env[i]; i++)
		if (strncmp(env[i], name, n) == 0 && env[i][n] == '=')
			return env[i] + n + 1;
	return NULL;
}

struct fixture {
	struct arena arena;
	struct cni_request q;
	struct buf out;
	int code;
	struct error err;
};

static int set_up(void **state)
{
	struct fixture *x = XNEW(struct fixture);

	arena_init(&x->arena, CNI_WORK_MAX);
	buf_init(&x->out, CNI_OUTPUT_MAX);
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *x = *state;

	arena_release(&x->arena);
	buf_release(&x->out);
	free(x);
	return 0;
}

static int read_request(struct fixture *x, const char *const *env, const char *input)
{
	x->code = 0;
	return cni_request_read(&x->arena, get, (void *)(uintptr_t)env, str_from(input), &x->q,
				&x->code, &x->err);
}

static void assert_text(struct str got, const char *wanted)
{
	CLEANUP(free) char *text = str_dup(got);

	assert_string_equal(text, wanted);
}

static void printed(struct fixture *x, const char *wanted)
{
	assert_text(buf_str(&x->out), wanted);
	buf_clear(&x->out);
}

/* --- requests ----------------------------------------------------------------------------- */

static void a_request_says_who_what_and_where(void **state)
{
	static const char *const env[] = {
		"CNI_COMMAND=ADD",
		ID,
		NETNS,
		IFNAME,
		"CNI_PATH=/opt/cni/bin:/usr/lib/cni",
		ARGS,
		NULL,
	};
	struct fixture *x = *state;

	assert_int_equal(
		read_request(x, env,
			     "{\"cniVersion\":\"0.3.1\",\"name\":\"pods\",\"driver\":\"a.b\","
			     "\"rootDir\":\"/r\",\"unknown\":[1]}"),
		0);
	assert_int_equal(x->q.command, CNI_ADD);
	assert_text(x->q.version, "0.3.1");
	assert_text(x->q.container_id, "8f3b");
	assert_text(x->q.netns, "/var/run/netns/blue");
	assert_text(x->q.ifname, "eth0");
	assert_text(x->q.path, "/opt/cni/bin:/usr/lib/cni");
	assert_text(x->q.pod_namespace, "ns");
	assert_text(x->q.pod_name, "p");
	assert_text(x->q.pod_uid, "0c-1");
	assert_text(x->q.network, "pods");
	assert_text(x->q.driver, "a.b");
	assert_text(x->q.root_dir, "/r");
	assert_null(x->q.prev_result);
}

static void missing_settings_have_defaults(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(read_request(x, add, CONFIG), 0);
	assert_text(x->q.driver, "net.devplane.dev");
	assert_text(x->q.root_dir, "/var/lib/kubelet");
	assert_int_equal(x->q.pod_uid.n + x->q.pod_name.n + x->q.path.n, 0);
}

static void commands_need_what_the_specification_says(void **state)
{
	static const struct {
		const char *const env[8];
		const char *config;
		int code;
	} v[] = {
		{ { "CNI_COMMAND=DEL", ID, IFNAME, NULL }, CONFIG, 0 }, /* the namespace is gone */
		{ { "CNI_COMMAND=CHECK", ID, NETNS, IFNAME, NULL }, CONFIG, 0 },
		{ { "CNI_COMMAND=STATUS", NULL }, CONFIG_1_1, 0 },
		{ { "CNI_COMMAND=GC", "CNI_PATH=/a", NULL },
		  "{\"cniVersion\":\"1.1.0\",\"name\":\"n\",\"cni.dev/valid-attachments\":[]}",
		  0 },
		{ { "CNI_COMMAND=VERSION", NULL }, "", 0 },
		{ { NULL }, CONFIG, CNI_INVALID_ENVIRONMENT },
		{ { "CNI_COMMAND=add", ID, NETNS, IFNAME, NULL }, CONFIG, CNI_INVALID_ENVIRONMENT },
		{ { "CNI_COMMAND=ADD", NETNS, IFNAME, NULL }, CONFIG, CNI_INVALID_ENVIRONMENT },
		{ { "CNI_COMMAND=ADD", ID, IFNAME, NULL }, CONFIG, CNI_INVALID_ENVIRONMENT },
		{ { "CNI_COMMAND=ADD", ID, NETNS, NULL }, CONFIG, CNI_INVALID_ENVIRONMENT },
		{ { "CNI_COMMAND=CHECK", ID, IFNAME, NULL }, CONFIG, CNI_INVALID_ENVIRONMENT },
		{ { "CNI_COMMAND=DEL", ID, NULL }, CONFIG, CNI_INVALID_ENVIRONMENT },
		{ { "CNI_COMMAND=DEL", "CNI_CONTAINERID=../x", IFNAME, NULL },
		  CONFIG,
		  CNI_INVALID_ENVIRONMENT },
		{ { "CNI_COMMAND=DEL", ID, "CNI_IFNAME=a/b", NULL },
		  CONFIG,
		  CNI_INVALID_ENVIRONMENT },
		{ { "CNI_COMMAND=DEL", ID, "CNI_IFNAME=a234567890123456", NULL },
		  CONFIG,
		  CNI_INVALID_ENVIRONMENT },
		{ { "CNI_COMMAND=DEL", ID, IFNAME, "CNI_NETNS=/\xff", NULL },
		  CONFIG,
		  CNI_INVALID_ENVIRONMENT },
		{ { "CNI_COMMAND=DEL", ID, IFNAME, "CNI_ARGS=a=b;c", NULL },
		  CONFIG,
		  CNI_INVALID_ENVIRONMENT },
		{ { "CNI_COMMAND=DEL", ID, IFNAME, "CNI_ARGS=K8S_POD_UID=..", NULL },
		  CONFIG,
		  CNI_INVALID_ENVIRONMENT },
		{ { "CNI_COMMAND=DEL", ID, IFNAME, "CNI_ARGS=K8S_POD_UID=a/b", NULL },
		  CONFIG,
		  CNI_INVALID_ENVIRONMENT },
		{ { "CNI_COMMAND=STATUS", NULL }, CONFIG, CNI_INCOMPATIBLE },
		{ { "CNI_COMMAND=GC", NULL }, CONFIG, CNI_INCOMPATIBLE },
		{ { "CNI_COMMAND=CHECK", ID, NETNS, IFNAME, NULL },
		  "{\"cniVersion\":\"0.3.1\",\"name\":\"pods\"}",
		  CNI_INCOMPATIBLE },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		int r = read_request(x, v[i].env, v[i].config);

		assert_int_equal(r, v[i].code ? -ERR_INVALID : 0);
		assert_int_equal(x->code, v[i].code);
	}
}

static void a_bad_configuration_has_its_code_and_the_field(void **state)
{
	static const struct {
		const char *input;
		int code;
		const char *message;
	} v[] = {
		{ "", CNI_DECODE, "the configuration cannot be read: " },
		{ "[]", CNI_DECODE, "the configuration must be an object" },
		{ "{\"name\":\"n\"}", CNI_INCOMPATIBLE, "cniVersion: \"\" is not supported" },
		{ "{\"cniVersion\":\"2.0.0\",\"name\":\"n\"}", CNI_INCOMPATIBLE,
		  "cniVersion: \"2.0.0\" is not supported" },
		{ "{\"cniVersion\":1,\"name\":\"n\"}", CNI_DECODE, "cniVersion: must be text" },
		{ "{\"cniVersion\":\"1.0.0\"}", CNI_INVALID_CONFIG, "name: " },
		{ "{\"cniVersion\":\"1.0.0\",\"name\":\"a/b\"}", CNI_INVALID_CONFIG, "name: " },
		{ "{\"cniVersion\":\"1.0.0\",\"name\":\"n\",\"driver\":\"../x\"}",
		  CNI_INVALID_CONFIG, "driver: " },
		{ "{\"cniVersion\":\"1.0.0\",\"name\":\"n\",\"driver\":7}", CNI_INVALID_CONFIG,
		  "driver: " },
		{ "{\"cniVersion\":\"1.0.0\",\"name\":\"n\",\"rootDir\":\"r\"}", CNI_INVALID_CONFIG,
		  "rootDir: " },
		{ "{\"cniVersion\":\"1.0.0\",\"name\":\"n\",\"rootDir\":\"/a\\u0000b\"}",
		  CNI_INVALID_CONFIG, "rootDir: " },
		{ "{\"cniVersion\":\"1.0.0\",\"name\":\"n\",\"prevResult\":[]}", CNI_INVALID_CONFIG,
		  "prevResult: must be an object" },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		assert_int_equal(read_request(x, add, v[i].input), -ERR_INVALID);
		assert_int_equal(x->code, v[i].code);
		assert_memory_equal(x->err.msg, v[i].message, strlen(v[i].message));
	}
}

static void gc_lists_what_is_still_valid(void **state)
{
	static const char *const gc[] = { "CNI_COMMAND=GC", NULL };
	struct fixture *x = *state;

	assert_int_equal(read_request(x, gc,
				      "{\"cniVersion\":\"1.1.0\",\"name\":\"n\","
				      "\"cni.dev/valid-attachments\":[{\"containerID\":\"c\","
				      "\"ifname\":\"eth0\"}]}"),
			 0);
	assert_int_equal(json_count(x->q.valid), 1);
	assert_text(x->q.network, "n");
	/* The name of early texts of the specification. */
	assert_int_equal(read_request(x, gc,
				      "{\"cniVersion\":\"1.1.0\",\"name\":\"n\","
				      "\"cni.dev/attachments\":[{\"containerID\":\"c\","
				      "\"ifname\":\"eth0\"}]}"),
			 0);
	assert_int_equal(json_count(x->q.valid), 1);
}

#define GC(list) "{\"cniVersion\":\"1.1.0\",\"name\":\"n\"" list "}"

static void gc_without_a_list_is_refused_and_an_empty_one_is_not(void **state)
{
	static const char *const gc[] = { "CNI_COMMAND=GC", NULL };
	static const char *const bad[] = {
		GC(""),
		GC(",\"cni.dev/valid-attachments\":{}"),
		GC(",\"cni.dev/valid-attachments\":\"\""),
		GC(",\"cni.dev/valid-attachments\":{},\"cni.dev/attachments\":[]"),
		GC(",\"cni.dev/valid-attachments\":[{}]"),
		GC(",\"cni.dev/valid-attachments\":[7]"),
		GC(",\"cni.dev/attachments\":false"),
	};
	static const char *const empty[] = {
		GC(",\"cni.dev/valid-attachments\":[]"),
		GC(",\"cni.dev/valid-attachments\":null"),
		GC(",\"cni.dev/attachments\":null"),
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(read_request(x, gc, bad[i]), -ERR_INVALID);
		assert_int_equal(x->code, CNI_INVALID_CONFIG);
		assert_memory_equal(x->err.msg, "cni.dev/valid-attachments: ", 27);
	}
	for (size_t i = 0; i < ARRAY_SIZE(empty); i++) {
		assert_int_equal(read_request(x, gc, empty[i]), 0);
		assert_true(json_is(x->q.valid, JSON_ARRAY));
		assert_int_equal(json_count(x->q.valid), 0);
	}
}

/* --- results ------------------------------------------------------------------------------ */

static void the_result_before_us_leaves_as_it_came(void **state)
{
	static const char result[] =
		"{ \"cniVersion\": \"1.0.0\", \"n\": 1.50e2,\n"
		"  \"big\": 123456789012345678901234567890, \"s\": \"\\u0041}\" }";
	static const char *const names[] = { "prevResult", "prev\\u0052esult" };
	struct fixture *x = *state;
	char input[512];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		(void)snprintf(
			input, sizeof(input),
			"{\"cniVersion\":\"1.0.0\",\"name\":\"n\",\"prevResult\":{},\"%s\":%s , "
			"\"a\":1}",
			names[i], result);
		assert_int_equal(read_request(x, add, input), 0);
		assert_int_equal(json_i64_at(x->q.prev_result, "absent", 7), 7);
		cni_print_result(&x->out, &x->q);
		assert_int_equal(x->out.p[x->out.n - 1], '\n');
		x->out.n--;
		printed(x, result);
	}
}

static void without_a_result_before_us_ours_is_empty(void **state)
{
	static const char *const del[] = { "CNI_COMMAND=DEL", ID, IFNAME, NULL };
	struct fixture *x = *state;

	assert_int_equal(read_request(x, add,
				      "{\"cniVersion\":\"0.4.0\",\"name\":\"n\","
				      "\"prevResult\":null}"),
			 0);
	cni_print_result(&x->out, &x->q);
	printed(x, "{\"cniVersion\":\"0.4.0\",\"interfaces\":[],\"ips\":[]}\n");
	assert_int_equal(read_request(x, del,
				      "{\"cniVersion\":\"0.4.0\",\"name\":\"n\","
				      "\"prevResult\":{\"a\":1}}"),
			 0);
	cni_print_result(&x->out, &x->q);
	printed(x, "");
}

static void versions_are_told_in_the_asker_s(void **state)
{
	static const char *const version[] = { "CNI_COMMAND=VERSION", NULL };
	static const char *const inputs[] = { "{\"cniVersion\":\"0.4.0\"}", "",
					      "{\"cniVersion\":\"9\"}", "garbage" };
	struct fixture *x = *state;
	char wanted[256];

	for (size_t i = 0; i < ARRAY_SIZE(inputs); i++) {
		assert_int_equal(read_request(x, version, inputs[i]), 0);
		(void)snprintf(wanted, sizeof(wanted),
			       "{\"cniVersion\":\"%s\",\"supportedVersions\":[\"0.3.0\",\"0.3.1\","
			       "\"0.4.0\",\"1.0.0\",\"1.1.0\"]}\n",
			       i == 0 ? "0.4.0" : "1.1.0");
		cni_print_versions(&x->out, x->q.version);
		printed(x, wanted);
	}
}

static void an_error_takes_any_words(void **state)
{
	struct fixture *x = *state;

	cni_print_error(&x->out, STR("0.4.0"), 11, "say \"\xff\"\n", NULL);
	printed(x, "{\"cniVersion\":\"0.4.0\",\"code\":11,\"msg\":\"say \\\"\\ufffd\\\"\\n\"}\n");
	cni_print_error(&x->out, STR_NULL, 7, "a", "b");
	printed(x, "{\"cniVersion\":\"1.1.0\",\"code\":7,\"msg\":\"a\",\"details\":\"b\"}\n");
}

/* --- what others print -------------------------------------------------------------------- */

static void an_error_of_others_is_in_their_words(void **state)
{
	static const struct {
		const char *output, *message;
		enum error_code code;
	} v[] = {
		{ "{\"cniVersion\":\"1.0.0\",\"code\":999,\"msg\":\"failed to create macvlan: "
		  "device or "
		  "resource busy\"}",
		  "failed to create macvlan: device or resource busy", ERR_INTERNAL },
		{ "{\"code\":7,\"msg\":\"bad\\nmode\",\"details\":\"it is x\"}\n",
		  "bad mode; it is x", ERR_INVALID },
		{ "{\"code\":11,\"msg\":\"\",\"details\":\"soon\"}", "soon", ERR_UNAVAILABLE },
		{ "{\"code\":11,\"msg\":\"\"}", "nothing said", ERR_UNAVAILABLE },
		{ "{\"code\":7}", "{\"code\":7}", ERR_INTERNAL },
		{ "segfault\n", "segfault", ERR_INTERNAL },
		{ "", "nothing said", ERR_INTERNAL },
		{ " \n", "nothing said", ERR_INTERNAL },
		{ "a\xff\033[1m", "a\xef\xbf\xbd [1m", ERR_INTERNAL },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		assert_int_equal(
			cni_error_read(&x->arena, str_from(v[i].output), "nothing said", &x->err),
			-(int)v[i].code);
		assert_string_equal(x->err.msg, v[i].message);
	}
}

static void a_result_of_others_names_the_interface_in_the_sandbox(void **state)
{
	static const struct {
		const char *result, *name;
	} v[] = {
		{ "{\"cniVersion\":\"1.0.0\",\"interfaces\":[{\"name\":\"cni0\"},{\"name\":"
		  "\"veth1\","
		  "\"sandbox\":\"\"},{\"name\":\"net1\",\"sandbox\":\"/n\"},{\"name\":\"net2\","
		  "\"sandbox\":\"/n\"}]}",
		  "net1" },
		{ "{\"cniVersion\":\"0.2.0\",\"ip4\":{\"ip\":\"192.0.2.1/24\"}}", "" },
		{ "{\"interfaces\":[{\"name\":\"a name/that is none\",\"sandbox\":\"/n\"}]}", "" },
		{ "{\"interfaces\":{\"a\":1}}", "" },
		{ "{}", "" },
	};
	struct fixture *x = *state;
	struct json *result;

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		assert_int_equal(
			cni_result_read(&x->arena, str_from(v[i].result), &result, &x->err), 0);
		assert_text(cni_result_interface(result), v[i].name);
	}
	assert_int_equal(cni_result_read(&x->arena, STR("no JSON"), &result, &x->err),
			 -ERR_PROTOCOL);
	assert_int_equal(cni_result_read(&x->arena, STR("[]"), &result, &x->err), -ERR_PROTOCOL);
	assert_string_equal(x->err.msg, "its result is not an object");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_request_says_who_what_and_where),
		TEST(missing_settings_have_defaults),
		TEST(commands_need_what_the_specification_says),
		TEST(a_bad_configuration_has_its_code_and_the_field),
		TEST(gc_lists_what_is_still_valid),
		TEST(gc_without_a_list_is_refused_and_an_empty_one_is_not),
		TEST(the_result_before_us_leaves_as_it_came),
		TEST(without_a_result_before_us_ours_is_empty),
		TEST(versions_are_told_in_the_asker_s),
		TEST(an_error_takes_any_words),
		TEST(an_error_of_others_is_in_their_words),
		TEST(a_result_of_others_names_the_interface_in_the_sandbox),
	};

	return cmocka_run_group_tests_name("drivers/cni_plugin", tests, NULL, NULL);
}
