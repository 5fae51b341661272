/*
 * controller_parts - the table of controllers: their names, whether they run by default, and how
 * each begins and ends.
 *
 * To add a controller, add its bit to enum controller_part (run/controller.h), a name to the table
 * of names and a row to the table of engines. An engine is what runs; several names may share one.
 */
#ifndef CONTROLLER_RUN_PARTS_H
#define CONTROLLER_RUN_PARTS_H

#include <stdbool.h>

struct context;
struct controller_opts;

struct controller_engine {
	unsigned parts; /* enum controller_part: it runs if one of these is wanted */
	/* NULL: there is nothing to run, for lack of an option. */
	void *(*begin)(const struct context *ctx, const struct controller_opts *opts);
	bool (*synced)(const void *engine); /* NULL: the informers say all */
	void (*end)(void *engine); /* not called with NULL */
};

enum { CONTROLLER_ENGINES_MAX = 32 };

/* In the order in which they begin; they end in reverse. The last row has no parts. */
extern const struct controller_engine controller_engines[];

#endif
