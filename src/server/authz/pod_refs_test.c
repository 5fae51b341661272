#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/object/object.h"
#include "server/authz/node_pods.h"
#include "server/authz/pod_refs.h"

static struct json *parse(struct arena *a, const char *text)
{
	struct json *v;
	struct error err;

	if (json_parse(a, str_from(text), NULL, &v, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return v;
}

#define S NODE_PODS_SECRET
#define M NODE_PODS_CONFIG_MAP
#define V NODE_PODS_VOLUME_CLAIM
#define R NODE_PODS_RESOURCE_CLAIM
#define A NODE_PODS_ACCOUNT

/* A pod's spec and status, and whether it refers to x. */
static const struct {
	const char *pod;
	enum node_pods_what what;
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

/* --- the index ---------------------------------------------------------------------- */

static struct object *object_of(const char *node, const char *name, const char *secret,
				const char *annotations)
{
	const struct schema_kind *kind = schema_find_resource(STR(""), STR("v1"), STR("pods"));
	struct gates gates;
	struct object *o;
	struct error err;
	char text[512];

	gates_init(&gates);
	(void)snprintf(
		text, sizeof(text),
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
		"\"namespace\":\"n\",\"uid\":\"u\"%s},\"spec\":{%s%s%s\"volumes\":[{\"name\":"
		"\"v\",\"secret\":{\"secretName\":\"%s\"}}]}}",
		name, annotations, node ? "\"nodeName\":\"" : "", node ? node : "",
		node ? "\"," : "", secret);
	if (object_new(kind, str_from(text), 7, &gates, &o, &err) < 0)
		fail_msg("%s", err.msg);
	return o;
}

static bool refers(struct node_pods *p, const char *node, const char *secret)
{
	return node_pods_refer(p, str_from(node), NODE_PODS_SECRET, STR("n"), str_from(secret));
}

static void pods_are_found_by_their_node_as_they_come_and_go(void **state)
{
	struct object *waiting = object_of(NULL, "p", "s", ""),
		      *bound = object_of("n1", "p", "s", "");
	struct object *changed = object_of("n1", "p", "t", ""),
		      *other = object_of("n2", "q", "s", "");
	struct node_pods *p = node_pods_new();

	(void)state;
	node_pods_change(p, waiting, NULL);
	assert_false(refers(p, "n1", "s"));
	node_pods_change(p, bound, waiting);
	assert_true(refers(p, "n1", "s"));
	assert_false(refers(p, "n2", "s"));
	assert_false(refers(p, "n1", "t"));
	assert_false(node_pods_refer(p, STR("n1"), NODE_PODS_SECRET, STR("m"), STR("s")));
	assert_true(node_pods_has(p, STR("n1"), STR("n"), STR("p")));
	assert_false(node_pods_has(p, STR("n1"), STR("n"), STR("q")));
	node_pods_change(p, changed, bound);
	assert_false(refers(p, "n1", "s"));
	assert_true(refers(p, "n1", "t"));
	node_pods_change(p, other, NULL);
	assert_true(refers(p, "n2", "s"));
	node_pods_change(p, NULL, changed);
	assert_false(refers(p, "n1", "t"));
	node_pods_reset(p);
	assert_false(refers(p, "n2", "s"));
	node_pods_free(p);
	object_unref(waiting);
	object_unref(bound);
	object_unref(changed);
	object_unref(other);
}

static void a_mirror_pod_opens_nothing(void **state)
{
	struct object *o = object_of("n1", "p", "s",
				     ",\"annotations\":{\"kubernetes.io/config.mirror\":\"x\"}");
	struct node_pods *p = node_pods_new();

	(void)state;
	node_pods_change(p, o, NULL);
	assert_false(refers(p, "n1", "s"));
	assert_true(node_pods_has(p, STR("n1"), STR("n"), STR("p")));
	node_pods_free(p);
	object_unref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_refers_to_what_upstream_finds),
		cmocka_unit_test(the_claim_of_an_ephemeral_volume_is_named_after_pod_and_volume),
		cmocka_unit_test(pods_are_found_by_their_node_as_they_come_and_go),
		cmocka_unit_test(a_mirror_pod_opens_nothing),
	};

	return cmocka_run_group_tests_name("server/pod_refs", tests, NULL, NULL);
}
