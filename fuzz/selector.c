/*
 * Any text as a label and as a field selector. An accepted selector must match or not without
 * reading beyond its own memory, and its copy must give the same result.
 */
#include "api/selector/selector.h"
#include "base/core/limits.h"
#include "target.h"

/* Every key has the value that is its own name; those with an even length have none. */
static struct str get(const void *source, struct str key)
{
	return key.n % 2 ? key : STR_NULL;
}

static void check(struct arena *a, const struct selector *s)
{
	CLEANUP(arena_release) struct arena b;
	struct selector copy;

	arena_init(&b, 64 * MIB);
	copy = selector_copy(&b, s);
	require(copy.n == s->n);
	require(selector_matches(s, get, NULL) == selector_matches(&copy, get, NULL));
	for (size_t i = 0; i < s->n; i++)
		require(str_eq(s->terms[i].key, copy.terms[i].key) &&
			s->terms[i].nvalues == copy.terms[i].nvalues);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena a;
	struct selector s;
	struct error err;

	arena_init(&a, 64 * MIB);
	if (selector_parse_labels(&a, str_of(data, size), &s, &err) == 0)
		check(&a, &s);
	else
		require(err.code == ERR_BAD_REQUEST && err.msg[0]);
	if (selector_parse_fields(&a, str_of(data, size), &s, &err) == 0)
		check(&a, &s);
	else
		require(err.code == ERR_BAD_REQUEST && err.msg[0]);
	return 0;
}
