/*
 * Admission objects that cannot be read: what they forbid is unknown, so all writes are rejected.
 * The objects come from the store, as those of another server, or of a previous start, do.
 */
#include "server/webhooks/webhooks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/sim/sim.h"
#include "server/testing/state_fake.h"
#include "server/testing/verb_world.h"

#define GROUP "admissionregistration.k8s.io"
#define PATH  "/apis/" GROUP "/v1/"
#define MAPS  "/api/v1/namespaces/default/configmaps"
#define MAP   "{\"metadata\":{\"generateName\":\"x\"}}"

#define OBJECT(kind, member, value)                                            \
	"{\"apiVersion\":\"" GROUP "/v1\",\"kind\":\"" kind "\",\"metadata\":" \
	"{\"name\":\"broken\",\"uid\":\"1\"},\"" member "\":" value "}"

struct kind {
	const char *kind, *resource;
	const char *damaged; /* its header is readable, but "\q" is not valid JSON */
	const char *mended; /* valid, without any webhook or rule */
};

#define KIND(kind, resource, member)                                                        \
	{                                                                                   \
		kind, resource, OBJECT(kind, member, "\"\\q\""), OBJECT(kind, member, "{}") \
	}

static const struct kind kinds[] = {
	KIND("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "webhooks"),
	KIND("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "webhooks"),
	KIND("ValidatingAdmissionPolicy", "validatingadmissionpolicies", "spec"),
	KIND("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", "spec"),
};

struct reached {
	struct verb_world *w;
	int64_t revision;
};

static bool is_reached(void *arg)
{
	const struct reached *r = arg;

	return state_revision(r->w->server.state) >= r->revision;
}

/* Another server writes the object `broken`. "" deletes it. */
static void put(struct verb_world *w, const char *resource, const char *text)
{
	struct reached r = { .w = w };

	r.revision = fake_data_put(w->data,
				   str_from(arena_printf(&w->arena, GROUP "/%s", resource)),
				   STR(""), STR("broken"), str_from(text));
	assert_true(sim_run_until(w->sim, is_reached, &r, 60 * 1000));
}

static void refuses(struct verb_world *w, const struct kind *k, const char *method,
		    const char *target, const char *body)
{
	struct json *got = verb_world_call(w, method, target, body, 403);
	const char *why = arena_printf(&w->arena,
				       "not yet ready to handle request: %s \"broken\" cannot be "
				       "read",
				       k->kind);

	assert_non_null(strstr(verb_world_text(w, got, "/message"), why));
}

/* For one kind: damaged, mended, damaged again, deleted. */
static void check_kind(struct verb_world *w, const struct kind *k)
{
	put(w, k->resource, k->damaged);
	refuses(w, k, "POST", MAPS, MAP);
	refuses(w, k, "DELETE", MAPS "/there", NULL);
	refuses(w, k, "POST", "/api/v1/namespaces/default/pods/p/exec?command=ls", NULL);
	(void)verb_world_call(w, "GET", MAPS "/there", NULL, 200);
	put(w, k->resource, k->mended);
	(void)verb_world_call(w, "POST", MAPS, MAP, 201);
	/* The previous version stays in effect ... */
	put(w, k->resource, k->damaged);
	(void)verb_world_call(w, "POST", MAPS, MAP, 201);
	/* ... until everything is read again, as at a start. */
	fake_store_lose(w->server.store);
	put(w, k->resource, k->damaged);
	refuses(w, k, "POST", MAPS, MAP);
	put(w, k->resource, "");
	(void)verb_world_call(w, "POST", MAPS, MAP, 201);
}

static void an_unreadable_configuration_rejects_all_writes(void **state)
{
	struct verb_world *w = *state;

	(void)verb_world_call(w, "POST", MAPS, "{\"metadata\":{\"name\":\"there\"}}", 201);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		check_kind(w, &kinds[i]);
}

static void configurations_themselves_pass_what_cannot_be_read(void **state)
{
	struct verb_world *w = *state;

	put(w, kinds[0].resource, kinds[0].damaged);
	put(w, kinds[1].resource, kinds[1].damaged);
	(void)verb_world_call(w, "POST", PATH "mutatingwebhookconfigurations",
			      "{\"metadata\":{\"name\":\"other\"}}", 201);
	(void)verb_world_call(w, "DELETE", PATH "mutatingwebhookconfigurations/other", NULL, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_unreadable_configuration_rejects_all_writes,
						verb_world_set_up_http1, verb_world_tear_down),
		cmocka_unit_test_setup_teardown(configurations_themselves_pass_what_cannot_be_read,
						verb_world_set_up_http1, verb_world_tear_down),
	};

	return cmocka_run_group_tests_name("server/webhooks", tests, NULL, NULL);
}
