/*
 * Plugins in shared objects: not yet.
 */
#include "scheduler/extension.h"

#include "base/mem.h"

struct extension {
	struct extension_opts opts;
};

struct extension *extension_new(const struct extension_opts *opts)
{
	struct extension *e = XNEW(struct extension);

	e->opts = *opts;
	return e;
}

void extension_free(struct extension *e)
{
	free(e);
}

int extension_load(struct extension *e, struct str path, struct error *err)
{
	return error_set(err, ERR_UNIMPLEMENTED, "%.*s: plugins cannot be loaded yet", STR_ARG(path));
}

const struct plugin_kind *const *extension_kinds(const struct extension *e, size_t *ret_n)
{
	*ret_n = 0;
	return NULL;
}

int extension_run(struct extension *e, const struct services *services, struct informers *informers,
		  struct error *err)
{
	return 0;
}

void extension_set_snapshot(struct extension *e, const struct snapshot *s)
{
}
