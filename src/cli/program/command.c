/*
 * Walks over the command table. This file knows no particular command, so tests use their own
 * tables.
 */
#include "cli/program/command.h"

#include "base/text/nearest.h"

enum { PATH_MAX_BYTES = 256 /* the words of our longest command, with room */ };

const struct command *command_find(const struct command *c, struct str name)
{
	for (const struct command *const *sub = c->subcommands; sub && *sub; sub++)
		if (str_eqz(name, (*sub)->name))
			return *sub;
	return NULL;
}

struct str command_nearest(const struct command *c, struct str name)
{
	struct nearest near;

	nearest_init(&near, name);
	for (const struct command *const *sub = c->subcommands; sub && *sub; sub++)
		if (!(*sub)->hidden)
			nearest_offer(&near, str_from((*sub)->name));
	return nearest_get(&near);
}

const char *command_usage(const struct command *c)
{
	if (c->usage)
		return c->usage;
	return c->subcommands ? "COMMAND" : "[FLAGS]";
}

struct walk {
	void (*visit)(void *ctx, const struct command *c, const char *path);
	void *ctx;
	struct buf path;
};

/* The recursion is as deep as our own table. */
static void walk_below(struct walk *w, const struct command *c)
{
	size_t n = w->path.n;

	w->visit(w->ctx, c, w->path.p);
	for (const struct command *const *sub = c->subcommands; sub && *sub; sub++) {
		if ((*sub)->hidden)
			continue;
		(void)buf_printf(&w->path, " %s", (*sub)->name);
		walk_below(w, *sub);
		w->path.n = n;
		w->path.p[n] = '\0';
	}
}

void command_walk(const struct command *root,
		  void (*visit)(void *ctx, const struct command *c, const char *path), void *ctx)
{
	struct walk w = { .visit = visit, .ctx = ctx, .path = BUF_INIT(PATH_MAX_BYTES) };

	(void)buf_addz(&w.path, root->name);
	walk_below(&w, root);
	buf_release(&w.path);
}
