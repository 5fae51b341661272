/*
 * Any text as the Location header of a target behind a proxy. Clients get the same text, or a
 * location that goes through the proxy. Rewriting the result again does not change it.
 */
#include "base/core/arena.h"
#include "server/connect/location.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct connect_place at = { .proxy = STR("/p/proxy"),
						 .asked = STR("api:6443"),
						 .backend = STR("10.1.0.9:80") };
	struct str in = str_of(data, size), out, again;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	for (size_t i = 0; i < in.n; i++)
		if (!in.p[i])
			in.n = i;
	out = connect_location(&a, in, &at);
	if (!str_eq(out, in))
		require(str_find(out, at.proxy) >= 0);
	again = connect_location(&a, out, &at);
	require(str_eq(again, out));
	arena_release(&a);
	return 0;
}
