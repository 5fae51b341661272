#include "server/openapi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/limits.h"
#include "server/document.h"

#define PROTOBUF "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
#define POD      "io.k8s.api.core.v1.Pod"

struct world {
	struct gates gates;
	struct openapi *openapi;
	struct arena arena;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	gates_init(&w->gates);
	w->openapi = openapi_new(&w->gates);
	arena_init(&w->arena, 256UL * MIB);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	openapi_free(w->openapi);
	arena_release(&w->arena);
	free(w);
	return 0;
}

static const struct document *get(struct world *w, const char *path, const char *accept)
{
	const struct document *d = NULL;
	struct error err;

	if (openapi_get(w->openapi, str_from(path), str_from(accept), &d, &err) < 0)
		fail_msg("%s: %s", path, err.msg);
	return d;
}

static struct json *tree(struct world *w, const char *path)
{
	struct json *v = NULL;
	struct error err;

	if (json_parse(&w->arena, bytes_str(get(w, path, "application/json")->bytes), NULL, &v,
		       &err) < 0)
		fail_msg("%s: %s", path, err.msg);
	return v;
}

/* The schema of a type, in either version. */
static struct json *type_of(const struct json *document, const char *name)
{
	struct json *types = json_getz(document, "definitions");

	if (!types)
		types = json_getz(json_getz(document, "components"), "schemas");
	return json_getz(types, name);
}

static struct json *property(const struct json *document, const char *type, const char *field)
{
	return json_getz(json_getz(type_of(document, type), "properties"), field);
}

static void is_text(const struct json *object, const char *key, const char *want)
{
	struct str have = json_str(json_getz(object, key));

	if (!str_eqz(have, want))
		fail_msg("%s is \"%.*s\", not \"%s\"", key, STR_ARG(have), want);
}

static bool has_text(const struct json *list, const char *want)
{
	JSON_FOREACH(e, list)
		if (str_eqz(json_str(e), want))
			return true;
	return false;
}

static const struct json *named(const struct json *list, const char *name)
{
	JSON_FOREACH(e, list)
		if (str_eqz(json_str(json_getz(e, "name")), name))
			return e;
	return NULL;
}

/* Every reference of the document leads to a type in it. */
static size_t check_references(const struct json *document, const struct json *v, size_t prefix)
{
	size_t n = 0;

	JSON_FOREACH(child, v)
	{
		struct str ref = json_str(child);

		if (json_is_container(child))
			n += check_references(document, child, prefix);
		if (!ref.p || !str_eqz(json_key(child), "$ref"))
			continue;
		n++;
		if (!type_of(document, str_skip(ref, prefix).p ? str_dup(str_skip(ref, prefix)) :
								 ""))
			fail_msg("%.*s leads nowhere", STR_ARG(ref));
	}
	return n;
}
