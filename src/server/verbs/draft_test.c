/*
 * Writes of a connection whose loop is not the state's: drafted there, with the results that the
 * state's own loop has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/report/metrics.h"
#include "net/sim/sim.h"
#include "server/testing/state_fake.h"
#include "server/testing/verb_world.h"

#define MAPS  "/api/v1/namespaces/default/configmaps"
#define MERGE "application/merge-patch+json"

#define PODS     "/api/v1/namespaces/default/pods"
#define ACCOUNTS "/api/v1/namespaces/default/serviceaccounts"
#define RANGES   "/api/v1/namespaces/default/limitranges"
#define CLASSES  "/apis/scheduling.k8s.io/v1/priorityclasses"

enum { TOGETHER = 24 };

/* --- what became of the drafts ---------------------------------------------------- */

static long drafts(struct verb_world *w, const char *result)
{
	return verb_world_metric(
		w, arena_printf(&w->arena, "devplane_write_drafts_total{result=\"%s\"}", result));
}

static struct json *call(struct verb_world *w, unsigned lane, const char *method,
			 const char *target, const char *body, int status)
{
	verb_world_choose(w, lane);
	return verb_world_call(w, method, target, body, status);
}

static struct json *patch(struct verb_world *w, unsigned lane, const char *target, const char *body,
			  int status)
{
	verb_world_choose(w, lane);
	return verb_world_patch(w, target, MERGE, body, status);
}

/* --- cases ------------------------------------------------------------------------ */

static void every_verb_is_drafted(void **state)
{
	struct verb_world *w = *state;
	struct json *made, *got;

	made = call(w, 1, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"1\"}}",
		    201);
	assert_string_not_equal(verb_world_text(w, made, "/metadata/uid"), "");
	assert_int_equal(drafts(w, "used"), 1);
	(void)patch(w, 1, MAPS "/a", "{\"data\":{\"p\":\"2\"}}", 200);
	got = call(w, 1, "PUT", MAPS "/a", "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"3\"}}",
		   200);
	assert_string_equal(verb_world_text(w, got, "/data/k"), "3");
	assert_string_equal(verb_world_text(w, got, "/data/p"), "");
	assert_int_equal(drafts(w, "used"), 3);
	got = call(w, 1, "PUT", MAPS "/a", "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"3\"}}",
		   200);
	assert_int_equal(drafts(w, "used"), 4);
	assert_true(json_equal(got, call(w, 0, "GET", MAPS "/a", NULL, 200)));
	got = call(w, 1, "DELETE", MAPS "/a", NULL, 200);
	assert_string_equal(verb_world_text(w, got, "/details/uid"),
			    verb_world_text(w, made, "/metadata/uid"));
	assert_int_equal(drafts(w, "used"), 5);
	(void)call(w, 0, "GET", MAPS "/a", NULL, 404);
	assert_int_equal(drafts(w, "dropped") + drafts(w, "again"), 0);
}

static void the_states_own_loop_drafts_nothing(void **state)
{
	struct verb_world *w = *state;

	(void)call(w, 0, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}", 201);
	(void)patch(w, 0, MAPS "/a", "{\"data\":{\"p\":\"2\"}}", 200);
	assert_int_equal(drafts(w, "used") + drafts(w, "again") + drafts(w, "dropped"), 0);
}

/* Names and times aside, both loops say the same. */
static void refusals_are_those_of_the_state(void **state)
{
	static const struct {
		const char *method, *target, *body;
		int status;
	} rows[] = {
		{ "POST", MAPS, "{\"metadata\":{\"name\":\"taken\"}}", 409 },
		{ "POST", MAPS, "{\"metadata\":{\"name\":\"Not_A_Name\"}}", 422 },
		{ "POST", MAPS, "{\"metadata\":{}}", 422 },
		{ "POST", "/api/v1/namespaces/none/configmaps", "{\"metadata\":{\"name\":\"a\"}}",
		  404 },
		{ "PUT", MAPS "/none", "{\"metadata\":{\"name\":\"none\",\"uid\":\"u\"}}", 404 },
		{ "PUT", MAPS "/taken",
		  "{\"metadata\":{\"name\":\"taken\",\"resourceVersion\":\"1\"}}", 409 },
		{ "PUT", MAPS "/taken", "{\"metadata\":{\"name\":\"other\"}}", 400 },
		{ "DELETE", MAPS "/none", NULL, 404 },
		{ "DELETE", MAPS "/taken", "{\"preconditions\":{\"uid\":\"other\"}}", 409 },
	};
	struct verb_world *w = *state;

	(void)call(w, 0, "POST", MAPS, "{\"metadata\":{\"name\":\"taken\"}}", 201);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json *one = call(w, 0, rows[i].method, rows[i].target, rows[i].body,
					rows[i].status);
		struct json *other = call(w, 1, rows[i].method, rows[i].target, rows[i].body,
					  rows[i].status);

		assert_true(json_equal(one, other));
	}
	assert_int_equal(drafts(w, "used"), 0);
}

static void a_terminating_namespace_takes_nothing_new(void **state)
{
	struct verb_world *w = *state;

	(void)call(w, 0, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"going\"}}", 201);
	(void)call(w, 1, "POST", "/api/v1/namespaces/going/configmaps",
		   "{\"metadata\":{\"name\":\"a\"}}", 201);
	(void)call(w, 0, "DELETE", "/api/v1/namespaces/going", NULL, 200);
	(void)call(w, 1, "POST", "/api/v1/namespaces/going/configmaps",
		   "{\"metadata\":{\"name\":\"b\"}}", 403);
	(void)patch(w, 1, "/api/v1/namespaces/going/configmaps/a", "{\"data\":{\"k\":\"1\"}}", 200);
	assert_int_equal(drafts(w, "used"), 2);
}

/* Both lanes write one object at once: every write takes effect once. */
static void writers_of_one_object_lose_nothing(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask asks[TOGETHER];
	char bodies[TOGETHER][64];
	struct json *got;

	(void)call(w, 1, "POST", MAPS, "{\"metadata\":{\"name\":\"hot\"}}", 201);
	for (int i = 0; i < TOGETHER; i++) {
		(void)snprintf(bodies[i], sizeof(bodies[i]), "{\"data\":{\"k%d\":\"%d\"}}", i, i);
		asks[i] = (struct verb_ask){ .method = "PATCH",
					     .target = MAPS "/hot",
					     .content_type = MERGE,
					     .body = bodies[i] };
		verb_world_begin(w, &asks[i]);
	}
	for (int i = 0; i < TOGETHER; i++) {
		verb_world_finish(w, &asks[i]);
		assert_int_equal(asks[i].status, 200);
		verb_ask_release(&asks[i]);
	}
	got = verb_world_call(w, "GET", MAPS "/hot", NULL, 200);
	assert_int_equal(json_count(json_getz(got, "data")), TOGETHER);
	assert_true(drafts(w, "dropped") + drafts(w, "again") > 0);
}

static void generated_names_differ(void **state)
{
	struct verb_world *w = *state;
	struct json *one, *other;

	one = call(w, 1, "POST", MAPS, "{\"metadata\":{\"generateName\":\"g-\"}}", 201);
	other = call(w, 1, "POST", MAPS, "{\"metadata\":{\"generateName\":\"g-\"}}", 201);
	assert_string_not_equal(verb_world_text(w, one, "/metadata/name"),
				verb_world_text(w, other, "/metadata/name"));
	assert_string_not_equal(verb_world_text(w, one, "/metadata/uid"),
				verb_world_text(w, other, "/metadata/uid"));
	assert_int_equal(drafts(w, "used"), 2);
}

/* A webhook that cannot be reached, and may be ignored: the state asks it. */
static void webhooks_are_the_states(void **state)
{
	struct verb_world *w = *state;

	(void)call(
		w, 0, "POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
		"{\"metadata\":{\"name\":\"h\"},\"webhooks\":[{\"name\":\"h.example.com\","
		"\"clientConfig\":{\"url\":\"https://127.0.0.1:1/\"},\"sideEffects\":\"None\","
		"\"failurePolicy\":\"Ignore\",\"timeoutSeconds\":1,"
		"\"admissionReviewVersions\":[\"v1\"],\"rules\":[{\"apiGroups\":[\"\"],"
		"\"apiVersions\":[\"v1\"],\"operations\":[\"*\"],\"resources\":[\"secrets\"]}]}]}",
		201);
	(void)call(w, 1, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}", 201);
	assert_int_equal(drafts(w, "used"), 1);
	(void)call(w, 1, "POST", "/api/v1/namespaces/default/secrets",
		   "{\"metadata\":{\"name\":\"a\"}}", 201);
	assert_int_equal(drafts(w, "used"), 1);
	assert_int_equal(drafts(w, "dropped"), 1);
}

/* --- pods --------------------------------------------------------------------------- */

/* `spec` goes before the containers. */
static const char *pod(struct verb_world *w, const char *name, const char *spec)
{
	return arena_printf(&w->arena,
			    "{\"metadata\":{\"%s\":\"p\"},\"spec\":{%s\"containers\":["
			    "{\"name\":\"c\",\"image\":\"i\"}]}}",
			    name, spec);
}

static struct json *generated(struct verb_world *w, unsigned lane, const char *spec, int status)
{
	return call(w, lane, "POST", PODS, pod(w, "generateName", spec), status);
}

/* The state decides a pod, and lets lanes read the lists that it needs. */
static void decide_one(struct verb_world *w)
{
	(void)generated(w, 0, "", 201);
}

/* Without names, which differ. */
static const char *spec_of(struct verb_world *w, const struct json *made)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64UL * 1024);
	struct json *spec;

	assert_int_equal(json_copy(&w->arena, json_getz(made, "spec"), &spec, NULL), 0);
	JSON_FOREACH (volume, json_getz(spec, "volumes"))
		json_remove(volume, STR("name"));
	JSON_FOREACH (container, json_getz(spec, "containers"))
		JSON_FOREACH (mount, json_getz(container, "volumeMounts"))
			json_remove(mount, STR("name"));
	assert_int_equal(json_print(&text, spec, NULL), 0);
	return arena_strdup(&w->arena, buf_str(&text));
}

/* A pod that a lane drafts is as one that the state decides. */
static void assert_drafted_alike(struct verb_world *w, const char *spec)
{
	const char *decided = spec_of(w, generated(w, 0, spec, 201));
	long used = drafts(w, "used");

	assert_string_equal(spec_of(w, generated(w, 1, spec, 201)), decided);
	assert_int_equal(drafts(w, "used"), used + 1);
}

static void assert_refused_alike(struct verb_world *w, const char *spec)
{
	struct json *one = call(w, 0, "POST", PODS, pod(w, "name", spec), 403);
	struct json *other = call(w, 1, "POST", PODS, pod(w, "name", spec), 403);

	assert_true(json_equal(one, other));
}

static void make_account(struct verb_world *w, const char *name)
{
	(void)call(w, 0, "POST", ACCOUNTS,
		   arena_printf(&w->arena,
				"{\"metadata\":{\"name\":\"%s\"},"
				"\"imagePullSecrets\":[{\"name\":\"s\"}]}",
				name),
		   201);
}

static void make_class(struct verb_world *w, const char *name, int value, bool is_default)
{
	(void)call(w, 0, "POST", CLASSES,
		   arena_printf(&w->arena,
				"{\"metadata\":{\"name\":\"%s\"},\"value\":%d,"
				"\"globalDefault\":%s}",
				name, value, is_default ? "true" : "false"),
		   201);
}

static void make_range(struct verb_world *w, const char *ns, const char *cpu)
{
	(void)call(w, 0, "POST", arena_printf(&w->arena, "/api/v1/namespaces/%s/limitranges", ns),
		   arena_printf(&w->arena,
				"{\"metadata\":{\"name\":\"r\"},\"spec\":{\"limits\":[{"
				"\"type\":\"Container\",\"default\":{\"cpu\":\"%s\"},"
				"\"max\":{\"cpu\":\"2\"}}]}}",
				cpu),
		   201);
}

static void pods_are_drafted(void **state)
{
	struct verb_world *w = *state;

	decide_one(w);
	assert_drafted_alike(w, "");
	make_account(w, "default");
	make_account(w, "other");
	make_class(w, "high", 7, false);
	(void)call(w, 0, "POST", "/apis/node.k8s.io/v1/runtimeclasses",
		   "{\"metadata\":{\"name\":\"rc\"},\"handler\":\"h\",\"overhead\":{\"podFixed\":"
		   "{\"cpu\":\"1\"}}}",
		   201);
	assert_drafted_alike(w, "");
	assert_drafted_alike(w, "\"serviceAccountName\":\"other\",");
	assert_drafted_alike(w, "\"priorityClassName\":\"high\",");
	assert_drafted_alike(w, "\"runtimeClassName\":\"rc\",");
	assert_int_equal(drafts(w, "dropped") + drafts(w, "again"), 0);
}

static void updates_of_pods_are_drafted(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	make_class(w, "high", 7, true);
	(void)call(w, 0, "POST", PODS, pod(w, "name", ""), 201);
	got = patch(w, 1, PODS "/p", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", 200);
	assert_int_equal(drafts(w, "used"), 1);
	assert_string_equal(verb_world_text(w, got, "/spec/priorityClassName"), "high");
}

static void pods_with_limit_ranges_are_drafted(void **state)
{
	struct verb_world *w = *state;
	struct json *made;

	decide_one(w);
	(void)call(w, 0, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"default-2\"}}",
		   201);
	make_range(w, "default-2", "2");
	assert_drafted_alike(w, "");
	make_range(w, "default", "1");
	assert_drafted_alike(w, "");
	made = generated(w, 1, "", 201);
	assert_string_equal(verb_world_text(w, made, "/spec/containers/0/resources/limits/cpu"),
			    "1");
	assert_refused_alike(w, "\"initContainers\":[{\"name\":\"i\",\"image\":\"i\",\"resources\":"
				"{\"limits\":{\"cpu\":\"3\"}}}],");
}

static void refusals_of_pods_are_those_of_the_state(void **state)
{
	struct verb_world *w = *state;
	long used;

	decide_one(w);
	make_class(w, "high", 7, false);
	decide_one(w);
	used = drafts(w, "used");
	assert_refused_alike(w, "\"serviceAccountName\":\"none\",");
	assert_refused_alike(w, "\"priorityClassName\":\"none\",");
	assert_refused_alike(w, "\"priorityClassName\":\"high\",\"priority\":8,");
	assert_refused_alike(w, "\"runtimeClassName\":\"none\",");
	make_account(w, "gone");
	(void)generated(w, 1, "\"serviceAccountName\":\"gone\",", 201);
	assert_int_equal(drafts(w, "used"), used + 1);
	(void)call(w, 0, "DELETE", ACCOUNTS "/gone", NULL, 200);
	assert_refused_alike(w, "\"serviceAccountName\":\"gone\",");
	assert_int_equal(drafts(w, "used"), used + 1);
}

static int64_t priority_of(const struct json *made)
{
	return json_i64_at(json_getz(made, "spec"), "priority", -1);
}

static void the_default_class_counts(void **state)
{
	struct verb_world *w = *state;

	decide_one(w);
	make_class(w, "low", 3, true);
	assert_drafted_alike(w, "");
	assert_int_equal(priority_of(generated(w, 1, "", 201)), 3);
	(void)call(w, 0, "DELETE", CLASSES "/low", NULL, 200);
	assert_int_equal(priority_of(generated(w, 1, "", 201)), 0);
	assert_drafted_alike(w, "");
}

/* One lane changes an object, over and over, while the other one creates pods. */
struct race {
	const char *target;
	const char *bodies[2]; /* merge patches, in turn */
	const char *spec; /* of the pods */
	const char *pointer; /* where the pod shows which of the two it was made with */
	const char *shown[2];
};

static int64_t revision_of(struct verb_world *w, const struct json *o)
{
	return strtoll(verb_world_text(w, o, "/metadata/resourceVersion"), NULL, 10);
}

static struct json *finish(struct verb_world *w, struct verb_ask *ask, int status)
{
	struct json *tree;

	verb_world_finish(w, ask);
	assert_int_equal(ask->status, status);
	assert_int_equal(
		json_parse(&w->arena, arena_str(&w->arena, buf_str(&ask->got)), NULL, &tree, NULL),
		0);
	verb_ask_release(ask);
	return tree;
}

/* The index in `bodies` of the last change before that revision. */
static int last_before(const int64_t *changed, int64_t revision)
{
	int64_t last = 0;
	int with = 1;

	for (int i = 0; i < TOGETHER; i++) {
		if (changed[i] < revision && changed[i] > last) {
			last = changed[i];
			with = i % 2;
		}
	}
	return with;
}

static void begin_race(struct verb_world *w, const struct race *r, struct verb_ask *asks)
{
	decide_one(w);
	(void)patch(w, 0, r->target, r->bodies[1], 200);
	verb_world_choose(w, 0);
	for (int i = 0; i < TOGETHER; i++) {
		asks[2 * i] = (struct verb_ask){ .method = "PATCH",
						 .target = r->target,
						 .content_type = MERGE,
						 .body = r->bodies[i % 2] };
		asks[2 * i + 1] = (struct verb_ask){ .method = "POST",
						     .target = PODS,
						     .body = pod(w, "generateName", r->spec) };
		verb_world_begin(w, &asks[2 * i]);
		verb_world_begin(w, &asks[2 * i + 1]);
		sim_run_for(w->sim, i % 4);
	}
}

/* Each pod was made with the object as it was at the pod's revision. */
static void run_race(struct verb_world *w, const struct race *r)
{
	struct verb_ask asks[2 * TOGETHER];
	int64_t changed[TOGETHER];
	struct json *made[TOGETHER];

	begin_race(w, r, asks);
	for (int i = 0; i < TOGETHER; i++) {
		changed[i] = revision_of(w, finish(w, &asks[2 * i], 200));
		made[i] = finish(w, &asks[2 * i + 1], 201);
	}
	for (int i = 0; i < TOGETHER; i++) {
		int with = last_before(changed, revision_of(w, made[i]));

		assert_string_equal(verb_world_text(w, made[i], r->pointer), r->shown[with]);
	}
	assert_true(drafts(w, "dropped") > 0);
}

static void an_account_that_changes_meanwhile_counts(void **state)
{
	struct verb_world *w = *state;

	make_account(w, "default");
	run_race(w, &(struct race){ ACCOUNTS "/default",
				    { "{\"imagePullSecrets\":[{\"name\":\"a\"}]}",
				      "{\"imagePullSecrets\":[{\"name\":\"b\"}]}" },
				    "",
				    "/spec/imagePullSecrets/0/name",
				    { "a", "b" } });
}

static void a_class_that_changes_meanwhile_counts(void **state)
{
	static const struct race race = {
		CLASSES "/c", { "{\"globalDefault\":true}", "{\"globalDefault\":false}" },
		"",           "/spec/priorityClassName",
		{ "c", "" },
	};
	struct verb_world *w = *state;

	make_class(w, "c", 3, false);
	run_race(w, &race);
}

#define LIMIT(cpu)                                                     \
	"{\"spec\":{\"limits\":[{\"type\":\"Container\",\"default\":{" \
	"\"cpu\":\"" cpu "\"}}]}}"

static void a_range_that_changes_meanwhile_counts(void **state)
{
	static const struct race race = {
		RANGES "/r",  { LIMIT("1"), LIMIT("2") },
		"",           "/spec/containers/0/resources/limits/cpu",
		{ "1", "2" },
	};
	struct verb_world *w = *state;

	make_range(w, "default", "1");
	run_race(w, &race);
}

/* The account is deleted and made again: a pod is made with an account, or is refused. */
static void an_account_that_goes_meanwhile_counts(void **state)
{
	struct verb_world *w = *state;
	const char *with = "\"serviceAccountName\":\"a\"";
	const char *without = "error looking up service account default/a: serviceaccount "
			      "\\\"a\\\" not found";
	const char *body = pod(w, "generateName", "\"serviceAccountName\":\"a\",");

	decide_one(w);
	for (int i = 0; i < TOGETHER; i++) {
		struct verb_ask pods = { .method = "POST", .target = PODS, .body = body };
		struct verb_ask goes = { .method = "DELETE", .target = ACCOUNTS "/a" };

		make_account(w, "a");
		verb_world_choose(w, i % 2);
		verb_world_begin(w, i % 2 ? &pods : &goes);
		sim_run_for(w->sim, i % 3);
		verb_world_begin(w, i % 2 ? &goes : &pods);
		verb_world_finish(w, &pods);
		(void)finish(w, &goes, 200);
		assert_true(pods.status == 201 || pods.status == 403);
		assert_non_null(strstr(pods.got.p, pods.status == 201 ? with : without));
		verb_ask_release(&pods);
	}
	assert_true(drafts(w, "used") > 0);
	assert_true(drafts(w, "dropped") > 0);
}

/* Nobody can know yet whether the deletion is written, so the pod is not refused. */
static void a_class_with_a_pending_deletion_is_there(void **state)
{
	struct verb_world *w = *state;

	for (unsigned lane = 0; lane < 2; lane++) {
		struct verb_ask goes = { .method = "DELETE", .target = CLASSES "/c" };
		struct verb_ask made = { .method = "POST", .target = PODS };

		made.body = pod(w, "generateName", "\"priorityClassName\":\"c\",");
		make_class(w, "c", 7, false);
		verb_world_choose(w, lane);
		w->asked++;
		fake_store_hold(w->server.store, true);
		verb_world_begin(w, &goes);
		sim_run_for(w->sim, 100);
		verb_world_begin(w, &made);
		sim_run_for(w->sim, 100);
		assert_false(goes.over || made.over);
		fake_store_hold(w->server.store, false);
		(void)finish(w, &goes, 200);
		assert_int_equal(priority_of(finish(w, &made, 201)), 7);
		assert_refused_alike(w, "\"priorityClassName\":\"c\",");
	}
}

/* --- default classes ------------------------------------------------------------------ */

static void objects_with_default_classes_are_drafted(void **state)
{
	static const struct {
		const char *classes, *class, *objects, *body, *pointer;
	} rows[] = {
		{ "/apis/storage.k8s.io/v1/storageclasses",
		  "{\"metadata\":{\"name\":\"%s\",\"annotations\":"
		  "{\"storageclass.kubernetes.io/is-default-class\":\"true\"}},"
		  "\"provisioner\":\"x.example.com\"}",
		  "/api/v1/namespaces/default/persistentvolumeclaims",
		  "{\"metadata\":{\"generateName\":\"o\"},\"spec\":{\"accessModes\":["
		  "\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}",
		  "/spec/storageClassName" },
		{ "/apis/networking.k8s.io/v1/ingressclasses",
		  "{\"metadata\":{\"name\":\"%s\",\"annotations\":"
		  "{\"ingressclass.kubernetes.io/is-default-class\":\"true\"}},"
		  "\"spec\":{\"controller\":\"x.example.com/y\"}}",
		  "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
		  "{\"metadata\":{\"generateName\":\"o\"},\"spec\":{\"defaultBackend\":"
		  "{\"service\":{\"name\":\"s\",\"port\":{\"number\":1}}}}}",
		  "/spec/ingressClassName" },
	};
	struct verb_world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json *made;
		long used = drafts(w, "used");

		(void)call(w, 0, "POST", rows[i].objects, rows[i].body, 201);
		(void)call(w, 1, "POST", rows[i].objects, rows[i].body, 201);
		assert_int_equal(drafts(w, "used"), used + 1);
		(void)call(w, 0, "POST", rows[i].classes,
			   arena_printf(&w->arena, rows[i].class, "c"), 201);
		for (long j = 0; j < 2; j++) { /* the state's turn first: the list has changed */
			made = call(w, 1, "POST", rows[i].objects, rows[i].body, 201);
			assert_string_equal(verb_world_text(w, made, rows[i].pointer), "c");
			assert_int_equal(drafts(w, "used"), used + 1 + j);
		}
	}
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, verb_world_set_up, verb_world_tear_down)
	const struct CMUnitTest tests[] = {
		CASE(every_verb_is_drafted),
		CASE(the_states_own_loop_drafts_nothing),
		CASE(refusals_are_those_of_the_state),
		CASE(a_terminating_namespace_takes_nothing_new),
		CASE(writers_of_one_object_lose_nothing),
		CASE(generated_names_differ),
		CASE(webhooks_are_the_states),
		CASE(pods_are_drafted),
		CASE(updates_of_pods_are_drafted),
		CASE(pods_with_limit_ranges_are_drafted),
		CASE(refusals_of_pods_are_those_of_the_state),
		CASE(the_default_class_counts),
		CASE(an_account_that_changes_meanwhile_counts),
		CASE(a_class_that_changes_meanwhile_counts),
		CASE(a_range_that_changes_meanwhile_counts),
		CASE(an_account_that_goes_meanwhile_counts),
		CASE(a_class_with_a_pending_deletion_is_there),
		CASE(objects_with_default_classes_are_drafted),
		/* HTTP/1.1, and a store that others write to. */
		cmocka_unit_test_setup_teardown(every_verb_is_drafted, verb_world_set_up_http1,
						verb_world_tear_down),
		cmocka_unit_test_setup_teardown(writers_of_one_object_lose_nothing,
						verb_world_set_up_http1, verb_world_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
