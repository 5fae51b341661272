/*
 * Pods against the rules, with the text that a client gets.
 */
#include "api/security/pod_checks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/security/standard.h"
#include "base/json/json.h"

#define GOOD                                                                        \
	"\"allowPrivilegeEscalation\":false,\"capabilities\":{\"drop\":[\"ALL\"]}," \
	"\"runAsNonRoot\":true,\"seccompProfile\":{\"type\":\"RuntimeDefault\"}"
#define POD(spec, security)                                                             \
	"{\"spec\":{" spec "\"containers\":[{\"name\":\"a\",\"securityContext\":{" GOOD \
	"}},{\"name\":\"b\",\"securityContext\":{" GOOD security "}}]}}"
/* Without what only the restricted level asks for. */
#define PLAIN(spec, container) \
	"{\"spec\":{" spec "\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"" container "}]}}"
#define NOTES(notes)                                                              \
	"{\"metadata\":{\"annotations\":{" notes "}},\"spec\":{\"containers\":[{" \
	"\"name\":\"a\"}]}}"

static const struct example {
	enum security_level level;
	int minor;
	const char *pod;
	const char *details; /* NULL: it is fine */
} examples[] = {
	{ SECURITY_RESTRICTED, SECURITY_LATEST, POD("", ""), NULL },
	{ SECURITY_BASELINE, SECURITY_LATEST, PLAIN("", ""), NULL },
	{ SECURITY_PRIVILEGED, SECURITY_LATEST, PLAIN("\"hostPID\":true,", ""), NULL },
	{ SECURITY_BASELINE, 0, PLAIN("\"hostPID\":true,\"hostIPC\":true,", ""),
	  "host namespaces (hostPID=true, hostIPC=true)" },
	{ SECURITY_BASELINE, 0,
	  PLAIN("\"volumes\":[{\"name\":\"v\",\"hostPath\":{\"path\":\"/\"}}],", ""),
	  "hostPath volumes (volume \"v\")" },
	/* The restricted level has a rule of its own for that. */
	{ SECURITY_RESTRICTED, SECURITY_LATEST,
	  POD("\"volumes\":[{\"name\":\"v\",\"hostPath\":{\"path\":\"/\"}},{\"name\":\"w\","
	      "\"nfs\":{}},{\"name\":\"x\",\"emptyDir\":{}},{\"name\":\"y\",\"image\":{}}],",
	      ""),
	  "restricted volume types (volumes \"v\", \"w\" use restricted volume types \"hostPath\", "
	  "\"nfs\")" },
	{ SECURITY_BASELINE, 0,
	  PLAIN("", ",\"ports\":[{\"hostPort\":80},{\"hostPort\":443},{\"hostPort\":80}]"),
	  "hostPort (container \"b\" uses hostPorts 443, 80)" },
	{ SECURITY_BASELINE, 34,
	  PLAIN("", ",\"livenessProbe\":{\"httpGet\":{\"host\":\"h\"}},\"lifecycle\":{\"preStop\":{"
		    "\"tcpSocket\":{\"host\":\"g\"}}}"),
	  "probe or lifecycle host (container \"b\" uses probe or lifecycle hosts \"g\", \"h\")" },
	{ SECURITY_BASELINE, 33, PLAIN("", ",\"livenessProbe\":{\"httpGet\":{\"host\":\"h\"}}"),
	  NULL },
	{ SECURITY_BASELINE, 0, PLAIN("", ",\"securityContext\":{\"privileged\":true}"),
	  "privileged (container \"b\" must not set securityContext.privileged=true)" },
	{ SECURITY_BASELINE, 0,
	  PLAIN("", ",\"securityContext\":{\"capabilities\":{\"add\":[\"NET_RAW\",\"CHOWN\"]}}"),
	  "non-default capabilities (container \"b\" must not include \"NET_RAW\" in "
	  "securityContext.capabilities.add)" },
	{ SECURITY_RESTRICTED, SECURITY_LATEST,
	  POD("\"initContainers\":[{\"name\":\"i\",\"securityContext\":{" GOOD "}},{\"name\":\"j\","
	      "\"securityContext\":{\"allowPrivilegeEscalation\":false,\"capabilities\":{\"add\":["
	      "\"CHOWN\",\"NET_BIND_SERVICE\"]},\"runAsNonRoot\":true,\"seccompProfile\":{\"type\":"
	      "\"Localhost\"}}}],",
	      ""),
	  "unrestricted capabilities (container \"j\" must set "
	  "securityContext.capabilities.drop=[\"ALL\"]; container \"j\" must not include \"CHOWN\" "
	  "in securityContext.capabilities.add)" },
	{ SECURITY_BASELINE, 0, PLAIN("", ",\"securityContext\":{\"procMount\":\"Unmasked\"}"),
	  "procMount (container \"b\" must not set securityContext.procMount to \"Unmasked\")" },
	/* From 1.35 on, a user namespace protects. */
	{ SECURITY_BASELINE, 35,
	  PLAIN("\"hostUsers\":false,", ",\"securityContext\":{\"procMount\":\"Unmasked\"}"),
	  NULL },
	{ SECURITY_BASELINE, 34,
	  PLAIN("\"hostUsers\":false,", ",\"securityContext\":{\"procMount\":\"Unmasked\"}"),
	  "procMount (container \"b\" must not set securityContext.procMount to \"Unmasked\")" },
	{ SECURITY_RESTRICTED, 35, POD("\"hostUsers\":false,", ",\"procMount\":\"Unmasked\""),
	  "procMount (container \"b\" must not set securityContext.procMount to \"Unmasked\")" },
	{ SECURITY_RESTRICTED, 34, POD("", ",\"runAsUser\":0"),
	  "runAsUser=0 (container \"b\" must not set runAsUser=0)" },
	{ SECURITY_RESTRICTED, 22, POD("", ",\"runAsUser\":0"), NULL },
	{ SECURITY_RESTRICTED, 35, POD("\"hostUsers\":false,", ",\"runAsUser\":0"), NULL },
	{ SECURITY_RESTRICTED, 7, PLAIN("", ""),
	  "runAsNonRoot != true (pod or containers \"a\", \"b\" must set "
	  "securityContext.runAsNonRoot=true)" },
	{ SECURITY_RESTRICTED, 7, PLAIN("\"securityContext\":{\"runAsNonRoot\":true},", ""), NULL },
	{ SECURITY_RESTRICTED, 7,
	  PLAIN("\"securityContext\":{\"runAsNonRoot\":false},",
		",\"securityContext\":{\"runAsNonRoot\":false}"),
	  "runAsNonRoot != true (pod and container \"b\" must not set "
	  "securityContext.runAsNonRoot=false)" },
	{ SECURITY_RESTRICTED, 8, PLAIN("\"securityContext\":{\"runAsNonRoot\":true},", ""),
	  "allowPrivilegeEscalation != false (containers \"a\", \"b\" must set "
	  "securityContext.allowPrivilegeEscalation=false)" },
	/* Windows has none of these three, but users. */
	{ SECURITY_RESTRICTED, 25,
	  PLAIN("\"os\":{\"name\":\"windows\"},\"securityContext\":{\"runAsNonRoot\":true},", ""),
	  NULL },
	{ SECURITY_RESTRICTED, 19,
	  PLAIN("\"os\":{\"name\":\"windows\"},\"securityContext\":{"
		"\"runAsNonRoot\":true},",
		""),
	  "allowPrivilegeEscalation != false (containers \"a\", \"b\" must set "
	  "securityContext.allowPrivilegeEscalation=false), seccompProfile (pod or containers "
	  "\"a\", \"b\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or "
	  "\"Localhost\")" },
	{ SECURITY_BASELINE, 19,
	  PLAIN("\"securityContext\":{\"seccompProfile\":{\"type\":\"Unconfined\"}},", ""),
	  "seccompProfile (pod must not set securityContext.seccompProfile.type to "
	  "\"Unconfined\")" },
	{ SECURITY_BASELINE, 18,
	  PLAIN("\"securityContext\":{\"seccompProfile\":{\"type\":\"Unconfined\"}},", ""), NULL },
	{ SECURITY_BASELINE, 18,
	  NOTES("\"container.seccomp.security.alpha.kubernetes.io/a\":\"unconfined\","
		"\"container.seccomp.security.alpha.kubernetes.io/z\":\"unconfined\","
		"\"seccomp.security.alpha.kubernetes.io/pod\":\"docker/default\""),
	  "seccompProfile (forbidden annotation "
	  "container.seccomp.security.alpha.kubernetes.io/a=\"unconfined\")" },
	{ SECURITY_BASELINE, 0,
	  NOTES("\"container.apparmor.security.beta.kubernetes.io/a\":\"unconfined\","
		"\"container.apparmor.security.beta.kubernetes.io/b\":\"localhost/x\""),
	  "forbidden AppArmor profile (annotation must not set AppArmor profile type to "
	  "\"container.apparmor.security.beta.kubernetes.io/a=\"unconfined\"\")" },
	{ SECURITY_BASELINE, 30,
	  PLAIN("\"securityContext\":{\"appArmorProfile\":{\"type\":\"Unconfined\"}},",
		",\"securityContext\":{\"appArmorProfile\":{\"type\":\"Other\"}}"),
	  "forbidden AppArmor profiles (pod and container \"b\" must not set AppArmor profile type "
	  "to \"Other\", \"Unconfined\")" },
	{ SECURITY_BASELINE, 30,
	  PLAIN("\"securityContext\":{\"seLinuxOptions\":{\"type\":\"container_engine_t\","
		"\"user\":\"u\"}},",
		",\"securityContext\":{\"seLinuxOptions\":{\"role\":\"r\"}}"),
	  "seLinuxOptions (pod and container \"b\" set forbidden securityContext.seLinuxOptions: "
	  "type \"container_engine_t\"; user may not be set; role may not be set)" },
	{ SECURITY_BASELINE, 31,
	  PLAIN("\"securityContext\":{\"seLinuxOptions\":{\"type\":\"container_engine_t\"}},", ""),
	  NULL },
	{ SECURITY_BASELINE, 28,
	  PLAIN("\"securityContext\":{\"sysctls\":[{\"name\":\"net.ipv4.tcp_fin_timeout\"},{"
		"\"name\":\"kernel.shm_rmid_forced\"},{\"name\":\"a.b\"}]},",
		""),
	  "forbidden sysctls (net.ipv4.tcp_fin_timeout, a.b)" },
	{ SECURITY_BASELINE, 29,
	  PLAIN("\"securityContext\":{\"sysctls\":[{\"name\":\"net.ipv4.tcp_fin_timeout\"}]},", ""),
	  NULL },
	{ SECURITY_BASELINE, 99,
	  PLAIN("\"securityContext\":{\"windowsOptions\":{\"hostProcess\":true}},", ""),
	  "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)" },
	{ SECURITY_BASELINE, 0,
	  PLAIN("\"hostNetwork\":true,\"ephemeralContainers\":[{\"name\":\"e\","
		"\"securityContext\":{\"privileged\":true}}],",
		""),
	  "host namespaces (hostNetwork=true), privileged (container \"e\" must not set "
	  "securityContext.privileged=true)" },
};

static void pods_are_judged_by_level_and_version(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		const struct example *e = &examples[i];
		struct security_standard s = { e->level, e->minor };
		struct security_findings found = { .details = STR("") };
		struct json *pod = NULL;
		struct arena a;
		bool fine;

		arena_init(&a, 1 << 20);
		print_message("# %s %s\n", security_standard_print(&s, &a), e->pod);
		assert_int_equal(json_parse(&a, str_from(e->pod), NULL, &pod, NULL), 0);
		fine = security_check_pod(json_getz(pod, "metadata"), json_getz(pod, "spec"), &s,
					  &a, &found);
		assert_string_equal(arena_strdup(&a, found.details), e->details ? e->details : "");
		assert_int_equal(fine, !e->details);
		arena_release(&a);
	}
}

static void reasons_come_without_details(void **state UNUSED)
{
	static const char pod[] = PLAIN("\"hostPID\":true,",
					",\"securityContext\":{\"privileged\":true}");
	struct security_standard s = { SECURITY_BASELINE, SECURITY_LATEST };
	struct security_findings found;
	struct json *tree = NULL;
	struct arena a;

	arena_init(&a, 1 << 20);
	assert_int_equal(json_parse(&a, str_from(pod), NULL, &tree, NULL), 0);
	assert_false(security_check_pod(NULL, json_getz(tree, "spec"), &s, &a, &found));
	assert_string_equal(arena_strdup(&a, found.reasons), "host namespaces, privileged");
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_are_judged_by_level_and_version),
		cmocka_unit_test(reasons_come_without_details),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
