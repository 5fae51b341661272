/*
 * A line with a schema, and an object behind it. A schema that a definition may have compiles;
 * an object that it makes of any body is left alone when it is read again, and one that
 * is valid stays so.
 */
#include "api/crd/crd.h"
#include "base/core/limits.h"
#include "target.h"
#include "writing.h"

/* The definition with this schema; NULL when no definition may have it. */
static struct crd *define(struct arena *a, struct str schema, const struct gates *gates,
			  struct prng *prng)
{
	struct str text = str_from(arena_printf(
		a,
		"{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
		"\"metadata\":{\"name\":\"fuzzes.example.com\"},\"spec\":{\"group\":\"example."
		"com\","
		"\"scope\":\"Namespaced\",\"names\":{\"plural\":\"fuzzes\",\"kind\":\"Fuzz\"},"
		"\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"subresources\":"
		"{\"scale\":{\"specReplicasPath\":\".spec.r\",\"statusReplicasPath\":"
		"\".status.r\"}},\"schema\":{\"openAPIV3Schema\":%.*s}}]}}",
		STR_ARG(schema)));
	struct crd *crd = NULL;
	struct json *body, *object;
	struct error err;
	struct write w;

	writing_begin(&w, a,
		      schema_find_resource(STR("apiextensions.k8s.io"), STR("v1"),
					   STR("customresourcedefinitions")),
		      gates, prng);
	if (write_decode(&w, text, DECODE_JSON, &body, &err) < 0 ||
	    write_create(&w, body, &object, &err) < 0)
		return NULL;
	require(crd_compile(object, gates, &crd, &err) == 0);
	return crd;
}

static void check_object(struct arena *a, const struct schema_kind *kind, struct str text,
			 const struct gates *gates, struct prng *prng)
{
	struct json *body, *object, *again;
	struct error err;
	struct write w;

	writing_begin(&w, a, kind, gates, prng);
	if (write_decode(&w, text, DECODE_JSON, &body, &err) < 0)
		return;
	if (write_create(&w, body, &object, &err) < 0)
		return;
	require(!crd_served_form(a, object, kind));
	json_put_str(a, json_getz(object, "metadata"), "resourceVersion", STR("7"));
	require(json_copy(a, object, &again, NULL) == 0);
	w.name = json_text_at(json_getz(object, "metadata"), "name");
	write_init(&w);
	require(write_update(&w, object, again, &body, &err) == 0);
	require(w.unchanged);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena a;
	struct str text = str_of(data, size), line;
	const struct schema_kind *const *kinds;
	struct gates gates;
	struct prng prng;
	struct crd *crd;
	size_t n;

	arena_init(&a, 256 * MIB);
	gates_init(&gates);
	prng_init(&prng, 1);
	if (!str_split(&text, '\n', &line))
		return 0;
	crd = define(&a, line, &gates, &prng);
	if (!crd)
		return 0;
	kinds = crd_kinds(crd, &n);
	require(n == 1 && kinds[0]->storage == kinds[0]);
	if (text.p)
		check_object(&a, kinds[0], text, &gates, &prng);
	crd_unref(crd);
	return 0;
}
