/*
 * env_impl - what the files of env share: a table of variables, and expansion.
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

/* Variables by name, in the order in which the names came. */
struct env_table {
	struct map by_name;
	struct env_var *first, **last;
	struct arena *arena;
	size_t n, bytes;
};

void env_table_init(struct env_table *t, struct arena *a);
void env_table_release(struct env_table *t);

/* Sets it; the text is borrowed for as long as the arena lives. */
void env_table_set(struct env_table *t, struct str name, struct str value);
/* False: there is none. */
bool env_table_get(const struct env_table *t, struct str name, struct str *ret_value);

/* Variables of Services, in the order of the Services. Nothing fails. */
void env_services(const struct pod *pod, const struct sources *sources, struct env_table *out);

/* Looks a name up; false: it stays as it is written. */
typedef bool env_lookup(void *arg, struct str name, struct str *ret_value);

/* -ERR_TOO_LARGE beyond ENV_VALUE_MAX. The result may be `text` itself. */
int env_replace(struct str text, env_lookup *lookup, void *arg, struct arena *a,
		struct str *ret_text, struct error *err);

#endif
