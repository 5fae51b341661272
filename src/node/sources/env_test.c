/*
 * The environment of containers, built as kubelet does.
 */
#include "node/sources/env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "node/sources/sources.h"

struct world {
	struct sources *sources;
	struct arena arena;
	struct pod *pod;
	struct env_context context;
	struct runtime_pairs env;
	struct error err;
};

static void put(struct world *w, const char *resource, const char *text)
{
	assert_int_equal(sources_put(w->sources, resource, str_from(text), NULL), 0);
}

static int set_up(void **state)
{
	static const struct str ips[] = { { "fd00::7", 7 }, { "10.1.2.3", 8 } };
	struct world *w = calloc(1, sizeof(*w));
	struct sources_opts opts = { 0 };

	w->sources = sources_new(&opts);
	arena_init(&w->arena, REQUEST_WORK_MAX);
	w->context = (struct env_context){ .sources = w->sources,
					   .node_name = STR("n1"),
					   .host_ip = STR("192.168.0.1"),
					   .pod_ip = ips[0],
					   .pod_ips = ips,
					   .npod_ips = 2,
					   .node_cpu_milli = 3500,
					   .node_memory = 1 << 30 };
	put(w, "configmaps",
	    "{\"metadata\":{\"name\":\"cm\",\"namespace\":\"ns\"},"
	    "\"data\":{\"color\":\"red\",\"odd.key\":\"1\"},\"binaryData\":{\"b\":\"AAE=\"}}");
	put(w, "secrets",
	    "{\"metadata\":{\"name\":\"s\",\"namespace\":\"ns\"},\"data\":{\"pass\":\"c2VjcmV0\"}"
	    "}");
	put(w, "services",
	    "{\"metadata\":{\"name\":\"kubernetes\",\"namespace\":\"default\"},\"spec\":{"
	    "\"clusterIP\":\"10.0.0.1\",\"ports\":[{\"name\":\"https\",\"port\":443,"
	    "\"protocol\":\"TCP\"}]}}");
	put(w, "services",
	    "{\"metadata\":{\"name\":\"my-db\",\"namespace\":\"ns\"},\"spec\":{"
	    "\"clusterIP\":\"fd00::1\",\"ports\":[{\"port\":53,\"protocol\":\"UDP\"}]}}");
	put(w, "services",
	    "{\"metadata\":{\"name\":\"headless\",\"namespace\":\"ns\"},\"spec\":{"
	    "\"clusterIP\":\"None\",\"ports\":[{\"port\":1}]}}");
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	pod_unref(w->pod);
	arena_release(&w->arena);
	sources_free(w->sources);
	free(w);
	return 0;
}

/* Builds the environment of the pod's one container, given as text. */
static int make(struct world *w, const char *container, const char *more)
{
	static const char meta[] =
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\","
		"\"labels\":{\"b\":\"2\",\"a\":\"x\\\"y\"},"
		"\"annotations\":{\"Example.com/Note\":\"hi\"}},\"spec\":{";
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB * 4);

	(void)buf_printf(&text,
			 "%s%s\"serviceAccountName\":\"sa\",\"containers\":[{\"name\":\"c\",%s}]}}",
			 meta, more, container);
	pod_unref(w->pod);
	w->pod = NULL;
	assert_int_equal(pod_parse(buf_str(&text), &w->pod, &w->err), 0);
	return env_make(w->pod, pod_container(w->pod, STR("c"), NULL), &w->context, &w->arena,
			&w->env, &w->err);
}

static const char *value(struct world *w, const char *name)
{
	for (size_t i = 0; i < w->env.n; i++) {
		if (str_eqz(w->env.v[i].key, name))
			return arena_strdup(&w->arena, w->env.v[i].value);
	}
	return NULL;
}

#define NO_LINKS "\"enableServiceLinks\":false,"

static void variables_refer_to_those_before_them(void **state)
{
	struct world *w = *state;

	assert_int_equal(make(w,
			      "\"env\":[{\"name\":\"A\",\"value\":\"1\"},"
			      "{\"name\":\"B\",\"value\":\"$(A)$(C)$$(A)$(\"},"
			      "{\"name\":\"C\",\"value\":\"$(MY_DB_SERVICE_HOST) $x $\"},"
			      "{\"name\":\"D\"}]",
			      ""),
			 0);
	assert_string_equal(value(w, "B"), "1$(C)$(A)$(");
	assert_string_equal(value(w, "C"), "fd00::1 $x $");
	assert_string_equal(value(w, "D"), "");
}

static void the_order_is_the_specs_and_services_come_last(void **state)
{
	struct world *w = *state;

	assert_int_equal(make(w,
			      "\"envFrom\":[{\"configMapRef\":{\"name\":\"cm\"}}],"
			      "\"env\":[{\"name\":\"Z\",\"value\":\"z\"},"
			      "{\"name\":\"color\",\"value\":\"blue\"},"
			      "{\"name\":\"KUBERNETES_PORT\",\"value\":\"mine\"}]",
			      NO_LINKS),
			 0);
	assert_true(str_eqz(w->env.v[0].key, "color"));
	assert_true(str_eqz(w->env.v[0].value, "blue"));
	assert_true(str_eqz(w->env.v[1].key, "odd.key"));
	assert_true(str_eqz(w->env.v[2].key, "Z"));
	assert_true(str_eqz(w->env.v[3].key, "KUBERNETES_PORT"));
	assert_true(str_eqz(w->env.v[4].key, "KUBERNETES_PORT_443_TCP"));
	assert_string_equal(value(w, "KUBERNETES_PORT"), "mine");
}

static void services_have_dockers_variables(void **state)
{
	struct world *w = *state;

	assert_int_equal(make(w, "\"env\":[]", ""), 0);
	assert_string_equal(value(w, "KUBERNETES_SERVICE_HOST"), "10.0.0.1");
	assert_string_equal(value(w, "KUBERNETES_SERVICE_PORT"), "443");
	assert_string_equal(value(w, "KUBERNETES_SERVICE_PORT_HTTPS"), "443");
	assert_string_equal(value(w, "KUBERNETES_PORT"), "tcp://10.0.0.1:443");
	assert_string_equal(value(w, "KUBERNETES_PORT_443_TCP_ADDR"), "10.0.0.1");
	assert_string_equal(value(w, "MY_DB_PORT_53_UDP"), "udp://[fd00::1]:53");
	assert_string_equal(value(w, "MY_DB_PORT_53_UDP_PROTO"), "udp");
	assert_null(value(w, "HEADLESS_SERVICE_HOST"));
	assert_int_equal(w->env.n, 8 + 7);
	assert_int_equal(make(w, "\"env\":[]", NO_LINKS), 0);
	assert_null(value(w, "MY_DB_SERVICE_HOST"));
	assert_non_null(value(w, "KUBERNETES_SERVICE_HOST"));
}

static void config_maps_and_secrets_are_read(void **state)
{
	struct world *w = *state;

	assert_int_equal(
		make(w,
		     "\"envFrom\":[{\"prefix\":\"P_\",\"secretRef\":{\"name\":\"s\"}},"
		     "{\"configMapRef\":{\"name\":\"none\",\"optional\":true}}],"
		     "\"env\":[{\"name\":\"C\",\"valueFrom\":{\"configMapKeyRef\":{"
		     "\"name\":\"cm\",\"key\":\"color\"}}},"
		     "{\"name\":\"S\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\",\"key\":"
		     "\"pass\"}}},"
		     "{\"name\":\"O\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\",\"key\":"
		     "\"no\",\"optional\":true}}}]",
		     NO_LINKS),
		0);
	assert_string_equal(value(w, "P_pass"), "secret");
	assert_string_equal(value(w, "C"), "red");
	assert_string_equal(value(w, "S"), "secret");
	assert_null(value(w, "O"));
}

static void missing_sources_are_named(void **state)
{
	static const struct {
		const char *container, *message;
		int code;
	} cases[] = {
		{ "\"envFrom\":[{\"configMapRef\":{\"name\":\"none\"}}]",
		  "configmap \"none\" not found", -ERR_NOT_FOUND },
		{ "\"env\":[{\"name\":\"x\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"none\","
		  "\"key\":\"k\"}}}]",
		  "secret \"none\" not found", -ERR_NOT_FOUND },
		{ "\"env\":[{\"name\":\"x\",\"valueFrom\":{\"configMapKeyRef\":{\"name\":\"cm\","
		  "\"key\":\"b\"}}}]",
		  "couldn't find key b in ConfigMap ns/cm", -ERR_NOT_FOUND },
		{ "\"env\":[{\"name\":\"x\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\","
		  "\"key\":\"k\"}}}]",
		  "couldn't find key k in Secret ns/s", -ERR_NOT_FOUND },
		{ "\"env\":[{\"name\":\"x\",\"valueFrom\":{\"fileKeyRef\":{\"path\":\"a\"}}}]",
		  "valueFrom.fileKeyRef is not supported by this node", -ERR_UNIMPLEMENTED },
		{ "\"env\":[{\"name\":\"x\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":"
		  "\"spec.hostname\"}}}]",
		  "field label not supported: spec.hostname", -ERR_INVALID },
		{ "\"env\":[{\"name\":\"x\",\"valueFrom\":{\"resourceFieldRef\":{\"resource\":"
		  "\"limits.gpu\"}}}]",
		  "unsupported container resource : limits.gpu", -ERR_INVALID },
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(make(w, cases[i].container, NO_LINKS), cases[i].code);
		assert_string_equal(w->err.msg, cases[i].message);
	}
}

static const char *field(struct world *w, const char *path)
{
	struct str v = STR_NULL;

	if (env_field(w->pod, str_from(path), &w->context, &w->arena, &v, &w->err) < 0)
		return w->err.msg;
	return arena_strdup(&w->arena, v);
}

static void fields_are_what_the_pod_says(void **state)
{
	struct world *w = *state;

	assert_int_equal(make(w, "\"env\":[]", NO_LINKS), 0);
	assert_string_equal(field(w, "metadata.name"), "p");
	assert_string_equal(field(w, "metadata.uid"), "u");
	assert_string_equal(field(w, "spec.nodeName"), "n1");
	assert_string_equal(field(w, "spec.serviceAccountName"), "sa");
	assert_string_equal(field(w, "status.hostIP"), "192.168.0.1");
	/* The node's family comes first. */
	assert_string_equal(field(w, "status.podIP"), "10.1.2.3");
	assert_string_equal(field(w, "status.podIPs"), "10.1.2.3,fd00::7");
	assert_string_equal(field(w, "metadata.labels"), "a=\"x\\\"y\"\nb=\"2\"");
	assert_string_equal(field(w, "metadata.labels['a']"), "x\"y");
	assert_string_equal(field(w, "metadata.labels['no']"), "");
	assert_string_equal(field(w, "metadata.annotations['Example.com/Note']"), "hi");
	assert_string_equal(field(w, "spec.x['a']"),
			    "field label does not support subscript: spec.x['a']");
	assert_non_null(strstr(field(w, "metadata.labels['']"),
			       "invalid key subscript in metadata.labels['']: "));
	assert_string_equal(field(w, "metadata.labels['"),
			    "field label not supported: metadata.labels['");
}

static const char *resource(struct world *w, const char *ref)
{
	struct json *tree = NULL;
	struct str v;

	assert_int_equal(json_parse(&w->arena, str_from(ref), NULL, &tree, NULL), 0);
	if (env_resource(w->pod, pod_container(w->pod, STR("c"), NULL), tree, &w->context,
			 &w->arena, &v, &w->err) < 0)
		return w->err.msg;
	return arena_strdup(&w->arena, v);
}

static void resources_are_rounded_up_and_default_to_the_nodes(void **state)
{
	struct world *w = *state;

	assert_int_equal(make(w,
			      "\"resources\":{\"limits\":{\"cpu\":\"1200m\",\"hugepages-2Mi\":"
			      "\"4Mi\"},\"requests\":{\"memory\":\"100000k\"}}",
			      NO_LINKS),
			 0);
	assert_string_equal(resource(w, "{\"resource\":\"limits.cpu\"}"), "2");
	assert_string_equal(resource(w, "{\"resource\":\"limits.cpu\",\"divisor\":\"0\"}"), "2");
	assert_string_equal(resource(w, "{\"resource\":\"limits.cpu\",\"divisor\":\"1m\"}"),
			    "1200");
	assert_string_equal(resource(w, "{\"resource\":\"requests.cpu\"}"), "0");
	assert_string_equal(resource(w, "{\"resource\":\"limits.memory\",\"divisor\":\"1Mi\"}"),
			    "1024");
	assert_string_equal(resource(w, "{\"resource\":\"requests.memory\",\"divisor\":\"1Mi\"}"),
			    "96");
	assert_string_equal(resource(w, "{\"resource\":\"limits.hugepages-2Mi\"}"), "4194304");
	assert_string_equal(resource(w, "{\"resource\":\"limits.cpu\",\"containerName\":\"no\"}"),
			    "container no not found");
	assert_int_equal(
		make(w, "\"env\":[]", NO_LINKS "\"resources\":{\"limits\":{\"cpu\":\"500m\"}},"),
		0);
	assert_string_equal(resource(w, "{\"resource\":\"limits.cpu\",\"divisor\":\"1m\"}"), "500");
}

static void an_environment_that_doubles_is_refused(void **state)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	struct world *w = *state;

	(void)buf_addz(&text, "\"env\":[{\"name\":\"V0\",\"value\":\"0123456789abcdef\"}");
	for (int i = 1; i < 60; i++)
		(void)buf_printf(&text, ",{\"name\":\"V%d\",\"value\":\"$(V%d)$(V%d)\"}", i, i - 1,
				 i - 1);
	(void)buf_addc(&text, ']');
	assert_int_equal(make(w, text.p, NO_LINKS), -ERR_TOO_LARGE);
}

static void subpaths_need_every_variable(void **state)
{
	struct runtime_pair v[] = { { STR("A"), STR("x") }, { STR("E"), STR("") } };
	struct runtime_pairs env = { .v = v, .n = 2 };
	struct world *w = *state;
	struct str out;

	assert_int_equal(env_expand_all(STR("$(A)/$$(A)"), &env, &w->arena, &out, NULL), 0);
	assert_true(str_eqz(out, "x/$(A)"));
	assert_int_equal(env_expand_all(STR("$(E)$(B)"), &env, &w->arena, &out, &w->err),
			 -ERR_INVALID);
	assert_string_equal(w->err.msg, "missing value for E, B");
	assert_true(str_eqz(env_expand(STR("$(A) $(B)"), &env, &w->arena), "x $(B)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(variables_refer_to_those_before_them, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_order_is_the_specs_and_services_come_last,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(services_have_dockers_variables, set_up, tear_down),
		cmocka_unit_test_setup_teardown(config_maps_and_secrets_are_read, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(missing_sources_are_named, set_up, tear_down),
		cmocka_unit_test_setup_teardown(fields_are_what_the_pod_says, set_up, tear_down),
		cmocka_unit_test_setup_teardown(resources_are_rounded_up_and_default_to_the_nodes,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_environment_that_doubles_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(subpaths_need_every_variable, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("node/env", tests, NULL, NULL);
}
