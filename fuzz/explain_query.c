/*
 * Any text as the query of an explanation, from a browser or from a server to its supervisor. What
 * is accepted cannot be taken for a flag or for several words, and means the same when printed.
 */
#include "base/core/limits.h"
#include "target.h"
#include "web/explain/explain.h"

static void require_name(struct str name)
{
	require(name.n > 0 && str_is_alnum(name.p[0]));
	for (size_t i = 0; i < name.n; i++)
		require(str_is_alnum(name.p[i]) || name.p[i] == '-' || name.p[i] == '.');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena a;
	struct explain_query q, again;
	const char *const *argv;
	struct error err;

	arena_init(&a, MIB);
	if (explain_query_read(str_of(data, size), &q, &err) < 0) {
		require(err.code == ERR_BAD_REQUEST);
		return 0;
	}
	require_name(q.ns);
	require_name(q.name);
	if (q.node.p)
		require_name(q.node);
	require(explain_query_read(explain_query_print(&q, &a), &again, NULL) == 0);
	require(again.pod == q.pod && str_eq(again.ns, q.ns) && str_eq(again.name, q.name) &&
		str_eq(again.node, q.node));
	require(explain_host_argv(str_of(data, size), &a, &argv, NULL) == 0);
	require(str_eqz(str_from(argv[0]), "explain-fit"));
	for (size_t i = 2; argv[i]; i++)
		require(str_starts(str_from(argv[i]), STR("--")));
	return 0;
}
