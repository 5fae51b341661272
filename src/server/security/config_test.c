/*
 * The configuration of PodSecurity, and the file that has it.
 */
#include "server/security/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/json/json.h"
#include "base/system/file.h"
#include "base/system/folder_fixture.h"
#include "server/admission/config_file.h"

#define HEAD "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
#define OURS "apiVersion: pod-security.admission.config.k8s.io/v1\nkind: PodSecurityConfiguration\n"

static void put(const char *path, const char *text)
{
	assert_int_equal(file_write_atomic(path, str_from(text), 0600, NULL), 0);
}

static int load(const char *path, struct arena *a, struct security_config *c, struct error *err)
{
	struct json *section = NULL;
	int r = admission_config_section(path, "PodSecurity", a, &section, err);

	security_config_init(c);
	return r == 0 && section ? security_config_read(section, a, c, err) : r;
}

static void defaults_and_exemptions_are_read(void **state UNUSED)
{
	char dir[] = "/tmp/security-config-XXXXXX";
	struct security_config c;
	const char *path, *ours;
	struct error err;
	struct arena a;

	assert_non_null(mkdtemp(dir));
	arena_init(&a, 1 << 20);
	path = arena_printf(&a, "%s/admission.yaml", dir);
	ours = arena_printf(&a, "%s/ours.yaml", dir);
	put(path,
	    HEAD "- name: PodSecurity\n  configuration:\n"
		 "    apiVersion: pod-security.admission.config.k8s.io/v1beta1\n"
		 "    kind: PodSecurityConfiguration\n"
		 "    defaults: {enforce: baseline, enforce-version: v1.30, audit: restricted}\n"
		 "    exemptions: {usernames: [root], namespaces: [kube-system, drivers]}\n");
	assert_int_equal(load(path, &a, &c, &err), 0);
	assert_string_equal(security_standard_print(&c.defaults.of[SECURITY_ENFORCE], &a),
			    "baseline:v1.30");
	assert_string_equal(security_standard_print(&c.defaults.of[SECURITY_AUDIT], &a),
			    "restricted:latest");
	assert_string_equal(security_standard_print(&c.defaults.of[SECURITY_WARN], &a),
			    "privileged:latest");
	assert_true(security_is_exempt(&c.namespaces, STR("drivers")));
	assert_true(security_is_exempt(&c.users, STR("root")));
	assert_false(security_is_exempt(&c.users, STR("drivers")));
	assert_false(security_is_exempt(&c.runtime_classes, STR("")));

	/* In a file beside it. */
	put(path, HEAD "- name: PodSecurity\n  path: ours.yaml\n");
	put(ours, OURS "exemptions: {runtimeClasses: [kata]}\n");
	assert_int_equal(load(path, &a, &c, &err), 0);
	assert_true(security_is_exempt(&c.runtime_classes, STR("kata")));
	put(path, "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n");
	assert_int_equal(load(path, &a, &c, &err), 0);
	assert_true(security_policy_is_privileged(&c.defaults));
	arena_release(&a);
	folder_fixture_remove(dir);
}

static void faults_are_named(void **state UNUSED)
{
	static const struct {
		const char *text, *fault;
	} cases[] = {
		{ "kind: AdmissionConfiguration\napiVersion: v1\n",
		  "expected an AdmissionConfiguration of apiserver.config.k8s.io/v1" },
		{ HEAD "- name: ImagePolicyWebhook\n  path: e.yaml\n",
		  "plugins[0].name: Unsupported value: \"ImagePolicyWebhook\": supported values: "
		  "\"EventRateLimit\", \"PodSecurity\"" },
		{ "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugin: "
		  "[]\n",
		  "plugin: Forbidden: unknown field" },
		{ HEAD "- name: PodSecurity\n  file: x\n",
		  "plugins[0].file: Forbidden: unknown field" },
		{ "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: "
		  "{}\n",
		  "plugins: Invalid value: must be a list" },
		{ HEAD
		  "- name: PodSecurity\n  configuration:\n"
		  "    apiVersion: pod-security.admission.config.k8s.io/v1\n"
		  "    kind: PodSecurityConfiguration\n"
		  "    defaults: baseline\n    exemptions: {usernames: root, namespaces: [1]}\n",
		  "[defaults: Invalid value: must be an object, exemptions.usernames: Invalid "
		  "value: "
		  "must be a list, exemptions.namespaces[0]: Invalid value: must be a string, "
		  "exemptions.namespaces[0]: Invalid value: \"\": must not be empty]" },
		{ HEAD "- name: PodSecurity\n  configuration:\n"
		       "    apiVersion: pod-security.admission.config.k8s.io/v1\n"
		       "    kind: PodSecurityConfiguration\n    defaults: {enforce: 1}\n",
		  "defaults.enforce: Invalid value: must be a string" },
		{ HEAD "- name: PodSecurity\n  path: missing.yaml\n", "missing.yaml" },
		{ HEAD "- name: PodSecurity\n  configuration: {kind: Pod}\n",
		  "expected a PodSecurityConfiguration of "
		  "pod-security.admission.config.k8s.io/v1" },
		{ HEAD "- name: PodSecurity\n  configuration:\n"
		       "    apiVersion: pod-security.admission.config.k8s.io/v1\n"
		       "    kind: PodSecurityConfiguration\n"
		       "    defaults: {enforce: strict, warn-version: '1.2', enfroce: baseline}\n"
		       "    exemptions: {usernames: [a, '', a]}\n",
		  "[defaults.enfroce: Forbidden: unknown field, defaults.enforce: Invalid value: "
		  "\"strict\": must be one of privileged, baseline, restricted, "
		  "defaults.warn-version: Invalid value: \"1.2\": must be \"latest\" or \"v1.x\", "
		  "exemptions.usernames[1]: Invalid value: \"\": must not be empty, "
		  "exemptions.usernames[2]: Duplicate value: \"a\"]" },
		{ "a: [", "line" },
	};
	char dir[] = "/tmp/security-config-XXXXXX";
	struct security_config c;
	const char *path;
	struct error err;
	struct arena a;

	assert_non_null(mkdtemp(dir));
	arena_init(&a, 1 << 20);
	path = arena_printf(&a, "%s/admission.yaml", dir);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("# %s\n", cases[i].fault);
		put(path, cases[i].text);
		assert_true(load(path, &a, &c, &err) < 0);
		if (!strstr(err.msg, cases[i].fault))
			assert_string_equal(err.msg, cases[i].fault);
	}
	arena_release(&a);
	folder_fixture_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_and_exemptions_are_read),
		cmocka_unit_test(faults_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
