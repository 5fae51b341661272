#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/check/pod_refs.h"

static struct json *parse(struct arena *a, const char *text)
{
	struct json *v;
	struct error err;

	if (json_parse(a, str_from(text), NULL, &v, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return v;
}

#define S POD_REFS_SECRET
#define M POD_REFS_CONFIG_MAP
#define V POD_REFS_VOLUME_CLAIM
#define R POD_REFS_RESOURCE_CLAIM
#define A POD_REFS_ACCOUNT

/* A pod's spec and status, and whether it refers to x. */
static const struct {
	const char *pod;
	enum pod_refs_what what;
	bool refers;
} cases[] = {
	{ "'spec':{'imagePullSecrets':[{'name':'y'},{'name':'x'}]}", S, true },
	{ "'spec':{'imagePullSecrets':[{'name':'y'}]}", S, false },
	{ "'spec':{'volumes':[{'secret':{'secretName':'x'}}]}", S, true },
	{ "'spec':{'volumes':[{'name':'x','secret':{'secretName':'y'}}]}", S, false },
	{ "'spec':{'volumes':[{'azureFile':{'secretName':'x'}}]}", S, true },
	{ "'spec':{'volumes':[{'csi':{'driver':'d','nodePublishSecretRef':{'name':'x'}}}]}", S,
	  true },
	{ "'spec':{'volumes':[{'cephfs':{'secretRef':{'name':'x'}}}]}", S, true },
	{ "'spec':{'volumes':[{'projected':{'sources':[{'secret':{'name':'x'}}]}}]}", S, true },
	{ "'spec':{'volumes':[{'projected':{'sources':[{'configMap':{'name':'x'}}]}}]}", S, false },
	{ "'spec':{'containers':[{'envFrom':[{'secretRef':{'name':'x'}}]}]}", S, true },
	{ "'spec':{'initContainers':[{'envFrom':[{'secretRef':{'name':'x'}}]}]}", S, true },
	{ "'spec':{'ephemeralContainers':[{'envFrom':[{'secretRef':{'name':'x'}}]}]}", S, true },
	{ "'spec':{'containers':[{'env':[{'valueFrom':{'secretKeyRef':{'name':'x','key':'k'}}}]}]}",
	  S, true },
	{ "'spec':{'containers':[{'env':[{'name':'x','value':'x'}]}]}", S, false },
	{ "'spec':{'containers':[{'envFrom':[{'configMapRef':{'name':'x'}}]}]}", S, false },
	{ "'spec':{'containers':[{'envFrom':[{'configMapRef':{'name':'x'}}]}]}", M, true },
	{ "'spec':{'containers':[{'env':[{'valueFrom':{'configMapKeyRef':{'name':'x'}}}]}]}", M,
	  true },
	{ "'spec':{'volumes':[{'configMap':{'name':'x'}}]}", M, true },
	{ "'spec':{'volumes':[{'projected':{'sources':[{'configMap':{'name':'x'}}]}}]}", M, true },
	{ "'spec':{'volumes':[{'secret':{'secretName':'x'}}]}", M, false },
	{ "'spec':{'volumes':[{'persistentVolumeClaim':{'claimName':'x'}}]}", V, true },
	{ "'spec':{'volumes':[{'persistentVolumeClaim':{'claimName':'y'}}]}", V, false },
	{ "'metadata':{'name':'x'},'spec':{'volumes':[{'name':'x','ephemeral':{}}]}", V, false },
	{ "'spec':{'resourceClaims':[{'name':'a','resourceClaimName':'x'}]}", R, true },
	{ "'spec':{'resourceClaims':[{'name':'x','resourceClaimName':'y'}]}", R, false },
	{ "'spec':{'resourceClaims':[{'name':'a','resourceClaimTemplateName':'x'}]}", R, false },
	{ "'spec':{'resourceClaims':[{'name':'a','resourceClaimTemplateName':'t'}]},'status':{"
	  "'resourceClaimStatuses':[{'name':'a','resourceClaimName':'x'}]}",
	  R, true },
	{ "'spec':{'resourceClaims':[{'name':'a','resourceClaimTemplateName':'t'}]},'status':{"
	  "'resourceClaimStatuses':[{'name':'b','resourceClaimName':'x'}]}",
	  R, false },
	/* A status alone is not enough: a node writes it. */
	{ "'spec':{},'status':{'resourceClaimStatuses':[{'name':'a','resourceClaimName':'x'}]}", R,
	  false },
	{ "'spec':{},'status':{'extendedResourceClaimStatus':{'resourceClaimName':'x'}}", R, true },
	{ "'spec':{'serviceAccountName':'x'}", A, true },
	{ "'spec':{'serviceAccountName':'xx'}", A, false },
};

/* The text with JSON's quotes. */
static struct json *pod_of(struct arena *a, const char *text)
{
	char *json = arena_printf(a, "{%s}", text);

	for (char *p = json; *p; p++)
		if (*p == '\'')
			*p = '"';
	return parse(a, json);
}

static void a_pod_refers_to_what_upstream_finds(void **state)
{
	struct arena a;

	(void)state;
	arena_init(&a, SIZE_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (pod_refs_has(pod_of(&a, cases[i].pod), cases[i].what, STR("x")) !=
		    cases[i].refers)
			fail_msg("%s: expected %d", cases[i].pod, cases[i].refers);
	}
	arena_release(&a);
}

static void the_claim_of_an_ephemeral_volume_is_named_after_pod_and_volume(void **state)
{
	struct json *pod;
	struct arena a;

	(void)state;
	arena_init(&a, SIZE_MAX);
	pod = pod_of(&a,
		     "'metadata':{'name':'p'},'spec':{'volumes':[{'name':'v','ephemeral':{}}]}");
	assert_true(pod_refs_has(pod, V, STR("p-v")));
	assert_false(pod_refs_has(pod, V, STR("v")));
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_refers_to_what_upstream_finds),
		cmocka_unit_test(the_claim_of_an_ephemeral_volume_is_named_after_pod_and_volume),
	};

	return cmocka_run_group_tests_name("api/pod_refs", tests, NULL, NULL);
}
