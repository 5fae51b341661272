/*
 * env_impl - shared by the files of env: a table of variables, and expansion.
 */
#ifndef NODE_SOURCES_ENV_IMPL_H
#define NODE_SOURCES_ENV_IMPL_H

#include "base/core/map.h"
#include "node/sources/env.h"

/* One variable, in the arena. */
struct env_var {
	struct env_var *next;
	struct runtime_pair pair;
};

/* Variables by name, in the order of first occurrence. */
struct env_table {
	struct map by_name;
	struct env_var *first, **last;
	struct arena *arena;
	size_t n, bytes;
};

/* Sets a variable; the text is borrowed while the arena lives. */
void env_table_set(struct env_table *t, struct str name, struct str value);

/* Variables of Services, in the order of the Services. Never fails. */
void env_services(const struct pod *pod, const struct sources *sources, struct env_table *out);

/* Looks a name up; false: the reference stays as written. */
typedef bool env_lookup(void *arg, struct str name, struct str *ret_value);

/* -ERR_TOO_LARGE above ENV_VALUE_MAX. The result may be `text` itself. */
int env_replace(struct str text, env_lookup *lookup, void *arg, struct arena *a,
		struct str *ret_text, struct error *err);

#endif
