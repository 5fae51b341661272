#include "server/plugins/account.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/testing/verb_world.h"

#define STRATEGIC "application/strategic-merge-patch+json"
#define ACCOUNTS  "/api/v1/namespaces/default/serviceaccounts"
#define PODS      "/api/v1/namespaces/default/pods"
#define PATH      "/var/run/secrets/kubernetes.io/serviceaccount"
#define C         "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]"
#define MIRROR    "\"annotations\":{\"kubernetes.io/config.mirror\":\"x\"}"
#define LIMITED   "\"annotations\":{\"kubernetes.io/enforce-mountable-secrets\":\"true\"}"

static const char mounted[] = "[{\"name\":\"VOLUME\",\"readOnly\":true,\"mountPath\":\"" PATH
			      "\"}]";
static const char projected[] =
	"{\"sources\":[{\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":\"token\"}},"
	"{\"configMap\":{\"name\":\"kube-root-ca.crt\",\"items\":[{\"key\":\"ca.crt\","
	"\"path\":\"ca.crt\"}]}},{\"downwardAPI\":{\"items\":[{\"path\":\"namespace\",\"fieldRef\":"
	"{\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.namespace\"}}]}}],\"defaultMode\":420}";

/* Creates the account `name`; `more` goes into metadata, `rest` beside it. */
static void account(struct verb_world *w, const char *name, const char *more, const char *rest)
{
	const char *body = arena_printf(&w->arena, "{\"metadata\":{\"name\":\"%s\"%s%s}%s%s}", name,
					*more ? "," : "", more, *rest ? "," : "", rest);

	(void)verb_world_call(w, "POST", ACCOUNTS, body, 201);
}

static const char *pod(struct verb_world *w, const char *name, const char *more, const char *spec)
{
	return arena_printf(&w->arena, "{\"metadata\":{\"name\":\"%s\"%s%s},\"spec\":{%s}}", name,
			    *more ? "," : "", more, spec);
}

static struct json *create(struct verb_world *w, const char *name, const char *spec)
{
	return verb_world_call(w, "POST", PODS, pod(w, name, "", spec), 201);
}

static void refused(struct verb_world *w, const char *more, const char *spec, const char *why)
{
	struct json *got = verb_world_call(w, "POST", PODS, pod(w, "p", more, spec), 403);

	assert_string_equal(verb_world_text(w, got, "/reason"), "Forbidden");
	assert_string_equal(verb_world_text(w, got, "/message"),
			    arena_printf(&w->arena, "pods \"p\" is forbidden: %s", why));
}

static const struct json *at(const struct json *tree, const char *pointer)
{
	return json_pointer(tree, str_from(pointer));
}

static void assert_is(struct verb_world *w, const struct json *tree, const char *text)
{
	struct json *want;

	assert_int_equal(json_parse(&w->arena, str_from(text), NULL, &want, NULL), 0);
	assert_true(json_equal(tree, want));
}

/* The mount of a container; its volume has a random name. */
static void assert_mounted(struct verb_world *w, struct json *made, const char *pointer,
			   const char *volume)
{
	struct json *mounts = json_pointer(made, str_from(pointer));
	struct json *name = json_getz(json_first(mounts), "name");

	assert_string_equal(verb_world_text(w, json_first(mounts), "/name"), volume);
	json_assign(name, json_make_str(&w->arena, STR("VOLUME")));
	assert_is(w, mounts, mounted);
}

/* --- the default ------------------------------------------------------------------ */

static void a_pod_without_an_account_is_taken_where_there_is_none(void **state)
{
	struct verb_world *w = *state;
	struct json *made = create(w, "p", C);

	assert_null(at(made, "/spec/serviceAccountName"));
	assert_null(at(made, "/spec/serviceAccount"));
	assert_null(at(made, "/spec/volumes"));
	assert_null(at(made, "/spec/imagePullSecrets"));
}

static void a_pod_gets_the_default_account_and_its_token(void **state)
{
	struct verb_world *w = *state;
	struct json *made;
	const char *volume;

	account(w, "default", "", "\"imagePullSecrets\":[{\"name\":\"a\"},{\"name\":\"b\"}]");
	made = create(w, "p", C ",\"initContainers\":[{\"name\":\"i\",\"image\":\"i\"}]");
	assert_string_equal(verb_world_text(w, made, "/spec/serviceAccountName"), "default");
	assert_string_equal(verb_world_text(w, made, "/spec/serviceAccount"), "default");
	assert_is(w, at(made, "/spec/imagePullSecrets"), "[{\"name\":\"a\"},{\"name\":\"b\"}]");
	volume = verb_world_text(w, made, "/spec/volumes/0/name");
	assert_int_equal(strlen(volume), strlen("kube-api-access-") + 5);
	assert_memory_equal(volume, "kube-api-access-", strlen("kube-api-access-"));
	assert_int_equal(json_count(at(made, "/spec/volumes")), 1);
	assert_int_equal(json_count(at(made, "/spec/volumes/0")), 2);
	assert_is(w, at(made, "/spec/volumes/0/projected"), projected);
	assert_mounted(w, made, "/spec/containers/0/volumeMounts", volume);
	assert_mounted(w, made, "/spec/initContainers/0/volumeMounts", volume);
}

static void fields_that_admission_sets_have_no_manager(void **state)
{
	struct verb_world *w = *state;
	struct json *made, *fields;

	account(w, "default", "", "\"imagePullSecrets\":[{\"name\":\"a\"}]");
	made = create(w, "p", C);
	fields = json_pointer(made, STR("/metadata/managedFields/0/fieldsV1/f:spec"));
	assert_non_null(json_getz(fields, "f:containers"));
	assert_null(json_getz(fields, "f:serviceAccountName"));
	assert_null(json_getz(fields, "f:serviceAccount"));
	assert_null(json_getz(fields, "f:volumes"));
	assert_null(json_getz(fields, "f:imagePullSecrets"));
	assert_null(json_pointer(fields, STR("/f:containers/k:{\"name\":\"c\"}/f:volumeMounts")));
}

static void a_dry_run_shows_the_account(void **state)
{
	struct verb_world *w = *state;
	struct json *made;

	account(w, "default", "", "");
	made = verb_world_call(w, "POST", PODS "?dryRun=All", pod(w, "p", "", C), 201);
	assert_string_equal(verb_world_text(w, made, "/spec/serviceAccountName"), "default");
	assert_int_equal(json_count(at(made, "/spec/volumes")), 1);
	(void)verb_world_call(w, "GET", PODS "/p", NULL, 404);
}

/* Both use one connection and arrive together, before the store has answered. */
static void a_pod_finds_an_account_that_is_being_written(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask asks[] = {
		{ .method = "POST",
		  .target = ACCOUNTS,
		  .body = "{\"metadata\":{\"name\":\"default\"}}" },
		{ .method = "POST", .target = PODS, .body = pod(w, "p", "", C) },
	};
	struct json *got;

	verb_world_begin(w, &asks[0]);
	w->asked++; /* the client whose turn it was */
	verb_world_begin(w, &asks[1]);
	verb_world_finish(w, &asks[0]);
	verb_world_finish(w, &asks[1]);
	assert_int_equal(asks[0].status, 201);
	assert_int_equal(asks[1].status, 201);
	verb_ask_release(&asks[0]);
	verb_ask_release(&asks[1]);
	got = verb_world_call(w, "GET", PODS "/p", NULL, 200);
	assert_string_equal(verb_world_text(w, got, "/spec/serviceAccountName"), "default");
}

/* --- named accounts --------------------------------------------------------------- */

static void an_account_that_is_not_there_is_refused(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	refused(w, "", C ",\"serviceAccountName\":\"x\"",
		"error looking up service account default/x: serviceaccount \"x\" not found");
	refused(w, "", C ",\"serviceAccount\":\"default\"",
		"error looking up service account default/default: serviceaccount \"default\" not "
		"found");
	got = verb_world_call(w, "POST", PODS,
			      "{\"metadata\":{\"generateName\":\"p-\"},\"spec\":{" C
			      ",\"serviceAccountName\":\"x\"}}",
			      403);
	assert_string_equal(verb_world_text(w, got, "/message"),
			    "pods \"p-\" is forbidden: error looking up service account default/x: "
			    "serviceaccount \"x\" not found");
	assert_string_equal(verb_world_text(w, got, "/details/name"), "p-");
	assert_string_equal(verb_world_text(w, got, "/details/kind"), "pods");
}

static void a_named_account_is_used(void **state)
{
	struct verb_world *w = *state;
	struct json *made;

	account(w, "default", "", "\"imagePullSecrets\":[{\"name\":\"a\"}]");
	account(w, "x", "", "\"imagePullSecrets\":[{\"name\":\"b\"}]");
	made = create(w, "p", C ",\"serviceAccountName\":\"x\"");
	assert_string_equal(verb_world_text(w, made, "/spec/serviceAccount"), "x");
	assert_is(w, at(made, "/spec/imagePullSecrets"), "[{\"name\":\"b\"}]");
	made = create(w, "q", C ",\"imagePullSecrets\":[{\"name\":\"own\"}]");
	assert_is(w, at(made, "/spec/imagePullSecrets"), "[{\"name\":\"own\"}]");
}

static void the_pod_decides_on_the_token_before_the_account(void **state)
{
	struct verb_world *w = *state;
	struct json *made;

	account(w, "default", "", "");
	account(w, "x", "", "\"automountServiceAccountToken\":false");
	made = create(w, "a", C ",\"automountServiceAccountToken\":false");
	assert_null(at(made, "/spec/volumes"));
	assert_string_equal(verb_world_text(w, made, "/spec/serviceAccountName"), "default");
	made = create(w, "b", C ",\"serviceAccountName\":\"x\"");
	assert_null(at(made, "/spec/volumes"));
	made = create(w, "c",
		      C ",\"serviceAccountName\":\"x\",\"automountServiceAccountToken\":true");
	assert_int_equal(json_count(at(made, "/spec/volumes")), 1);
}

static void an_existing_mount_at_the_path_stays(void **state)
{
	struct verb_world *w = *state;
	struct json *made;

	account(w, "default", "", "");
	made = create(w, "a",
		      "\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}],\"containers\":["
		      "{\"name\":\"c\",\"image\":\"i\",\"volumeMounts\":[{\"name\":\"v\","
		      "\"mountPath\":\"" PATH "\"}]}]");
	assert_int_equal(json_count(at(made, "/spec/volumes")), 1);
	assert_int_equal(json_count(at(made, "/spec/containers/0/volumeMounts")), 1);
	made = create(w, "b",
		      "\"volumes\":[{\"name\":\"kube-api-access-own\",\"emptyDir\":{}}]," C);
	assert_int_equal(json_count(at(made, "/spec/volumes")), 1);
	assert_mounted(w, made, "/spec/containers/0/volumeMounts", "kube-api-access-own");
}

/* --- mirror pods, secrets --------------------------------------------------------- */

static void mirror_pods_have_no_account(void **state)
{
	struct verb_world *w = *state;
	struct json *made;

	account(w, "default", "", "\"imagePullSecrets\":[{\"name\":\"a\"}]");
	made = verb_world_call(w, "POST", PODS, pod(w, "m", MIRROR, C ",\"nodeName\":\"n\""), 201);
	assert_null(at(made, "/spec/serviceAccountName"));
	assert_null(at(made, "/spec/volumes"));
	assert_null(at(made, "/spec/imagePullSecrets"));
	refused(w, MIRROR, C ",\"nodeName\":\"n\",\"serviceAccountName\":\"default\"",
		"a mirror pod may not reference service accounts");
	refused(w, MIRROR,
		C ",\"nodeName\":\"n\",\"volumes\":[{\"name\":\"v\",\"secret\":"
		  "{\"secretName\":\"s\"}}]",
		"a mirror pod may not reference secrets");
	refused(w, MIRROR,
		C ",\"nodeName\":\"n\",\"volumes\":[{\"name\":\"v\",\"projected\":{\"sources\":"
		  "[{\"serviceAccountToken\":{\"path\":\"t\"}}]}}]",
		"a mirror pod may not use ServiceAccountToken volume projections");
}

#define LIMIT(what, noun) \
	what " is not allowed because service account default does not reference that " noun

static void a_limited_account_allows_only_its_secrets(void **state)
{
	struct verb_world *w = *state;

	account(w, "default", LIMITED,
		"\"secrets\":[{\"name\":\"s\"}],\"imagePullSecrets\":[{\"name\":\"a\"}]");
	(void)create(w, "fine",
		     "\"volumes\":[{\"name\":\"v\",\"secret\":{\"secretName\":\"s\"}}],"
		     "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"envFrom\":[{\"secretRef\":"
		     "{\"name\":\"s\"}}],\"env\":[{\"name\":\"E\",\"valueFrom\":{\"secretKeyRef\":"
		     "{\"name\":\"s\",\"key\":\"k\"}}}]}]");
	refused(w, "", C ",\"volumes\":[{\"name\":\"v\",\"secret\":{\"secretName\":\"t\"}}]",
		LIMIT("volume with secret.secretName=\"t\"", "secret"));
	refused(w, "",
		"\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"env\":[{\"name\":\"E\","
		"\"valueFrom\":{\"secretKeyRef\":{\"name\":\"t\",\"key\":\"k\"}}}]}]",
		LIMIT("container c with envVar E referencing secret.secretName=\"t\"", "secret"));
	refused(w, "",
		C
		",\"initContainers\":[{\"name\":\"d\",\"image\":\"i\",\"envFrom\":[{\"secretRef\":"
		"{\"name\":\"t\"}}]}]",
		LIMIT("init container d with envFrom referencing secret.secretName=\"t\"",
		      "secret"));
	refused(w, "", C ",\"imagePullSecrets\":[{\"name\":\"a\"},{\"name\":\"b\"}]",
		LIMIT("imagePullSecrets[1].name=\"b\"", "imagePullSecret"));
}

static struct json *add_ephemeral(struct verb_world *w, const char *target, const char *secret,
				  int status)
{
	return verb_world_patch(
		w, target, STRATEGIC,
		arena_printf(&w->arena,
			     "{\"spec\":{\"ephemeralContainers\":[{\"name\":\"e\",\"image\":\"i\","
			     "\"envFrom\":[{\"secretRef\":{\"name\":\"%s\"}}]}]}}",
			     secret),
		status);
}

static void ephemeral_containers_are_limited_too(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	(void)create(w, "without", C);
	(void)add_ephemeral(w, PODS "/without/ephemeralcontainers", "t", 200);
	account(w, "default", LIMITED, "\"secrets\":[{\"name\":\"s\"}]");
	(void)create(w, "p", C);
	got = add_ephemeral(w, PODS "/p/ephemeralcontainers", "t", 403);
	assert_string_equal(
		verb_world_text(w, got, "/message"),
		"pods \"p\" is forbidden: " LIMIT("ephemeral container e with envFrom referencing "
						  "secret.secretName=\"t\"",
						  "secret"));
	(void)add_ephemeral(w, PODS "/p/ephemeralcontainers", "s", 200);
	(void)create(w, "q", C);
	(void)verb_world_call(w, "DELETE", ACCOUNTS "/default", NULL, 200);
	got = add_ephemeral(w, PODS "/q/ephemeralcontainers", "s", 403);
	assert_string_equal(verb_world_text(w, got, "/message"),
			    "pods \"q\" is forbidden: error looking up service account "
			    "default/default: serviceaccount \"default\" not found");
}

/* A pod outlives its account: only ephemeral containers are checked. */
static void other_writes_of_a_pod_do_not_need_the_account(void **state)
{
	struct verb_world *w = *state;

	account(w, "default", "", "");
	(void)create(w, "p", C);
	(void)verb_world_call(w, "DELETE", ACCOUNTS "/default", NULL, 200);
	(void)verb_world_patch(w, PODS "/p/status", STRATEGIC,
			       "{\"status\":{\"phase\":\"Running\"}}", 200);
	(void)verb_world_patch(w, PODS "/p", STRATEGIC, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}",
			       200);
	(void)verb_world_call(w, "DELETE", PODS "/p?gracePeriodSeconds=0", NULL, 200);
}

#define ON_BOTH(test)                                                                   \
	cmocka_unit_test_setup_teardown(test, verb_world_set_up, verb_world_tear_down), \
		cmocka_unit_test_setup_teardown(test, verb_world_set_up_http1,          \
						verb_world_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_BOTH(a_pod_without_an_account_is_taken_where_there_is_none),
		ON_BOTH(a_pod_gets_the_default_account_and_its_token),
		ON_BOTH(fields_that_admission_sets_have_no_manager),
		ON_BOTH(a_dry_run_shows_the_account),
		cmocka_unit_test_setup_teardown(a_pod_finds_an_account_that_is_being_written,
						verb_world_set_up, verb_world_tear_down),
		ON_BOTH(an_account_that_is_not_there_is_refused),
		ON_BOTH(a_named_account_is_used),
		ON_BOTH(the_pod_decides_on_the_token_before_the_account),
		ON_BOTH(an_existing_mount_at_the_path_stays),
		ON_BOTH(mirror_pods_have_no_account),
		ON_BOTH(a_limited_account_allows_only_its_secrets),
		ON_BOTH(ephemeral_containers_are_limited_too),
		ON_BOTH(other_writes_of_a_pod_do_not_need_the_account),
	};

	return cmocka_run_group_tests_name("server/admit_account", tests, NULL, NULL);
}
