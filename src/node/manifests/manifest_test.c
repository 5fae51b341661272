#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "node/manifests/manifest.h"

#define HEAD      "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
#define CONTAINER "containers: [{name: c, image: busybox}]"
#define SPEC(x)   HEAD "spec: {" CONTAINER ", " x "}"

struct reading {
	struct gates gates;
	struct pod *pod;
	struct buf warnings;
	struct error err;
	int r;
};

static void read_at(struct reading *t, const char *text, const char *path, const char *node)
{
	struct manifest_input in = { .text = str_from(text),
				     .path = str_from(path),
				     .node_name = str_from(node),
				     .gates = &t->gates,
				     .now_ns = INT64_C(1767312000) * 1000000000 };

	*t = (struct reading){ .warnings = BUF_INIT(64 * KIB) };
	gates_init(&t->gates);
	t->r = pod_manifest_read(&in, &t->pod, &t->warnings, &t->err);
}

static void reading_end(struct reading *t)
{
	pod_unref(t->pod);
	buf_release(&t->warnings);
}

static struct str at(const struct reading *t, const char *pointer)
{
	return json_str(json_pointer(t->pod->tree, str_from(pointer)));
}

static void assert_text(struct str got, const char *want)
{
	if (!str_eqz(got, want))
		fail_msg("\"%.*s\" instead of \"%s\"", STR_ARG(got), want);
}

static void a_manifest_becomes_a_pod_of_the_node(void **state)
{
	const char *annotations = "/metadata/annotations/kubernetes.io~1config.";
	char path[128];
	struct reading t;

	(void)state;
	read_at(&t, HEAD "spec: {" CONTAINER "}", "/m/web.yaml", "n1");
	if (t.r < 0)
		fail_msg("%s", t.err.msg);
	assert_true(t.pod->is_static);
	assert_true(pod_is_critical(t.pod));
	assert_text(t.pod->name, "web-n1");
	assert_text(t.pod->ns, "default");
	assert_int_equal(t.pod->uid.n, 32);
	assert_text(at(&t, "/spec/nodeName"), "n1");
	assert_text(at(&t, "/spec/restartPolicy"), "Always");
	assert_text(at(&t, "/spec/tolerations/0/effect"), "NoExecute");
	assert_text(at(&t, "/spec/tolerations/0/operator"), "Exists");
	assert_text(at(&t, "/status/phase"), "Pending");
	assert_text(at(&t, "/status/qosClass"), "BestEffort");
	(void)snprintf(path, sizeof(path), "%ssource", annotations);
	assert_text(at(&t, path), "file");
	(void)snprintf(path, sizeof(path), "%shash", annotations);
	assert_true(str_eq(at(&t, path), t.pod->uid));
	(void)snprintf(path, sizeof(path), "%sseen", annotations);
	assert_text(at(&t, path), "2026-01-02T00:00:00Z");
	assert_null(json_getz(t.pod->metadata, "managedFields"));
	assert_null(json_getz(t.pod->metadata, "creationTimestamp"));
	assert_int_equal(t.warnings.n, 0);
	reading_end(&t);
}

/* Whether two readings have the same uid. */
static bool same(const char *a, const char *path_a, const char *node_a, const char *b,
		 const char *path_b, const char *node_b)
{
	struct reading x, y;
	bool equal;

	read_at(&x, a, path_a, node_a);
	read_at(&y, b, path_b, node_b);
	assert_int_equal(x.r, 0);
	assert_int_equal(y.r, 0);
	equal = str_eq(x.pod->uid, y.pod->uid);
	reading_end(&x);
	reading_end(&y);
	return equal;
}

static void the_uid_follows_the_content_the_file_and_the_node(void **state)
{
	const char *text = HEAD "spec: {" CONTAINER "}";
	const char *json = "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"spec\":{\"containers\":"
			   "[{\"image\":\"busybox\",\"name\":\"c\"}]},"
			   "\"metadata\":{\"uid\":\"mine\",\"name\":\"web\"}}";

	(void)state;
	assert_true(same(text, "/m/a", "n", text, "/m/a", "n"));
	assert_true(same(text, "/m/a", "n", json, "/m/a", "n"));
	assert_true(
		same(text, "/m/a", "n", "# a comment\n" HEAD "spec: {" CONTAINER "}", "/m/a", "n"));
	assert_false(same(text, "/m/a", "n", text, "/m/b", "n"));
	assert_false(same(text, "/m/a", "n", text, "/m/a", "o"));
	assert_false(same(text, "/m/a", "n", SPEC("hostNetwork: true"), "/m/a", "n"));
}

static const struct {
	const char *text;
	const char *words; /* of the error */
} bad[] = {
	{ "", "" },
	{ "\n\n# nothing\n", "" },
	{ "{", "" },
	{ "a: [", "" },
	{ "[]", "" },
	{ "7", "" },
	{ "apiVersion: v1\nkind: Pod\n", "name is needed" },
	{ "apiVersion: v1\nkind: Pod\nmetadata: 7\n", "" },
	{ "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: []\n", "" },
	{ "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: null\n", "spec.containers" },
	{ "apiVersion: v1\nkind: Node\nmetadata: {name: web}\n", "" },
	{ "apiVersion: v1\nkind: PodList\nitems: []\n", "" },
	{ "apiVersion: v2\nkind: Pod\nmetadata: {name: web}\nspec: {" CONTAINER "}", "" },
	{ HEAD "spec: {}", "spec.containers: Required value" },
	{ HEAD "spec: {containers: [{name: C_, image: x}]}", "spec.containers[0].name" },
	{ "apiVersion: v1\nkind: Pod\nmetadata: {name: 'Web!'}\nspec: {" CONTAINER "}",
	  "metadata.name" },
	{ "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: 'A B'}\nspec: {" CONTAINER
	  "}",
	  "metadata.namespace" },
	{ SPEC("serviceAccountName: x"), "static pods may not reference serviceaccounts" },
	{ SPEC("imagePullSecrets: [{name: x}]"), "static pods may not reference secrets" },
	{ SPEC("volumes: [{name: v, configMap: {name: x}}]"),
	  "static pods may not reference configmaps" },
	{ SPEC("volumes: [{name: v, secret: {secretName: x}}]"),
	  "static pods may not reference secrets" },
	{ SPEC("volumes: [{name: v, persistentVolumeClaim: {claimName: x}}]"),
	  "static pods may not reference persistentvolumeclaims" },
	{ SPEC("volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]"),
	  "static pods may not reference serviceaccounts (via projected volumes)" },
	{ SPEC("resourceClaims: [{name: r, resourceClaimName: x}]"),
	  "static pods may not reference resourceclaims" },
	{ HEAD "spec: {containers: [{name: c, image: i, envFrom: [{secretRef: {name: x}}]}]}",
	  "static pods may not reference secrets" },
	{ HEAD "spec: {" CONTAINER "}\n---\n" HEAD "spec: {" CONTAINER "}", "" },
};

static void anything_else_is_rejected(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct reading t;

		read_at(&t, bad[i].text, "/m/web.yaml", "n");
		if (t.r >= 0)
			fail_msg("accepted: %s", bad[i].text);
		if (!t.err.msg[0] || !strstr(t.err.msg, bad[i].words))
			fail_msg("%s: \"%s\" instead of \"%s\"", bad[i].text, t.err.msg,
				 bad[i].words);
		assert_null(t.pod);
		reading_end(&t);
	}
}

static void an_unknown_field_is_a_warning(void **state)
{
	struct reading t;

	(void)state;
	read_at(&t, SPEC("hostNetwrk: true"), "/m/web.yaml", "n");
	assert_int_equal(t.r, 0);
	assert_text(buf_str(&t.warnings), "unknown field \"spec.hostNetwrk\"");
	reading_end(&t);
}

static void the_mirror_shows_the_pod_and_belongs_to_the_node(void **state)
{
	struct json *mirror;
	struct reading t;
	struct arena a;

	(void)state;
	arena_init(&a, MIB);
	read_at(&t, HEAD "spec: {" CONTAINER "}", "/m/web.yaml", "n");
	mirror = pod_manifest_mirror(&a, t.pod, STR("n"), STR("uid-of-n"));
	assert_text(json_str(json_pointer(mirror, STR("/metadata/name"))), "web-n");
	assert_true(str_eq(json_str(json_pointer(mirror, STR("/metadata/annotations/"
							     "kubernetes.io~1config.mirror"))),
			   t.pod->uid));
	assert_text(json_str(json_pointer(mirror, STR("/metadata/ownerReferences/0/uid"))),
		    "uid-of-n");
	assert_null(json_pointer(mirror, STR("/metadata/uid")));
	assert_null(json_pointer(mirror, STR("/status")));
	assert_null(pod_manifest_mirror_hash(t.pod).p);
	reading_end(&t);
	arena_release(&a);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_manifest_becomes_a_pod_of_the_node),
		cmocka_unit_test(the_uid_follows_the_content_the_file_and_the_node),
		cmocka_unit_test(anything_else_is_rejected),
		cmocka_unit_test(an_unknown_field_is_a_warning),
		cmocka_unit_test(the_mirror_shows_the_pod_and_belongs_to_the_node),
	};

	return cmocka_run_group_tests_name("node/manifest", tests, NULL, NULL);
}
