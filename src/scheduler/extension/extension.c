/*
 * A shared object is opened with all its symbols bound and private (RTLD_NOW, RTLD_LOCAL). It is
 * closed when nothing refers to it: instances are freed with their profiles, values with the cache,
 * handles with their types.
 */
#include "scheduler/extension/extension.h"

#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/report/log.h"
#include "scheduler/extension/extension_impl.h"
#include "scheduler/plugins/plugins.h"

static void tidy(struct loop_task *t)
{
	struct extension *e = CONTAINER_OF(t, struct extension, tidy);

	if (e->depth == 0)
		arena_clear(&e->call);
}

void extension_leave(struct extension *e)
{
	if (--e->depth == 0)
		arena_clear(&e->call);
}

struct arena *extension_scratch(struct extension *e)
{
	if (e->depth == 0)
		loop_defer(e->opts.loop, &e->tidy);
	return &e->call;
}

struct extension *extension_new(const struct extension_opts *opts)
{
	struct extension *e = XNEW(struct extension);

	e->opts = *opts;
	e->life = extension_life_new(e);
	vec_init(&e->modules, UINT32_MAX);
	vec_init(&e->kinds, UINT32_MAX);
	vec_init(&e->watches, UINT32_MAX);
	vec_init(&e->caches, UINT32_MAX);
	vec_init(&e->metrics, UINT32_MAX);
	vec_init(&e->wakes, UINT32_MAX);
	list_init(&e->instances);
	arena_init_in(&e->call, SIZE_MAX, e->call_block, sizeof(e->call_block));
	arena_init(&e->lasting, SIZE_MAX);
	loop_task_init(&e->tidy, tidy);
	loop_task_init(&e->wake, extension_wake_now);
	extension_host_init(&e->handles, e, NULL);
	return e;
}

static void module_free(struct extension_module *m)
{
	if (!m)
		return;
	if (m->library)
		dlclose(m->library);
	free(m->path);
	free(m);
}

DEFINE_CLEANUP(module_free, struct extension_module *);

void extension_free(struct extension *e)
{
	if (!e)
		return;
	extension_watches_end(e, 0);
	loop_task_cancel(&e->tidy);
	loop_task_cancel(&e->wake);
	e->life->extension = NULL;
	extension_life_unref(e->life);
	for (size_t i = 0; i < e->caches.n; i++)
		free(e->caches.v[i]);
	for (size_t i = 0; i < e->metrics.n; i++)
		free(e->metrics.v[i]);
	vec_release(&e->caches);
	vec_release(&e->metrics);
	vec_release(&e->watches);
	vec_release(&e->wakes);
	vec_release(&e->kinds);
	arena_release(&e->call);
	arena_release(&e->lasting);
	for (size_t i = e->modules.n; i > 0; i--)
		module_free(e->modules.v[i - 1]);
	vec_release(&e->modules);
	free(e);
}

/* --- loading --------------------------------------------------------------------- */

/* A label of DNS, or the same with capitals. */
static bool extension_is_name(const char *name)
{
	size_t n = name ? strnlen(name, 64) : 0;

	if (n == 0 || n == 64)
		return false;
	for (size_t i = 0; i < n; i++) {
		bool letter = (name[i] >= 'a' && name[i] <= 'z') ||
			      (name[i] >= 'A' && name[i] <= 'Z') ||
			      (name[i] >= '0' && name[i] <= '9');

		if (!letter && (name[i] != '-' || i == 0 || i == n - 1))
			return false;
	}
	return true;
}

static int extension_check_name(const struct extension *e, const char *name, struct error *err)
{
	if (!extension_is_name(name))
		return error_set(
			err, ERR_INVALID,
			"its name \"%.64s\" is invalid: letters, digits and dashes, 1 to 63",
			name ? name : "");
	if (plugins_find(str_from(name)))
		return error_set(err, ERR_INVALID,
				 "its name %s is that of a plugin of the scheduler's own", name);
	for (size_t i = 0; i < e->modules.n; i++)
		if (str_eqz(str_from(name), e->modules.v[i]->ops.name))
			return error_set(err, ERR_INVALID,
					 "its name %s is that of the plugin in %s", name,
					 e->modules.v[i]->path);
	return 0;
}

static int check_entry(const struct dp_scheduler_plugin *p, struct error *err)
{
	if (!p)
		return error_set(err, ERR_INVALID, "its dp_scheduler_plugin_entry() returned NULL");
	if (p->size < offsetof(struct dp_scheduler_plugin, name))
		return error_set(err, ERR_INVALID, "its struct dp_scheduler_plugin has no size");
	if (p->abi_major != DP_SCHEDULER_ABI_MAJOR)
		return error_set(
			err, ERR_INVALID,
			"it was built for ABI %u of scheduler plugins and this is %u: build it "
			"again with this version's devplane/scheduler.h",
			p->abi_major, DP_SCHEDULER_ABI_MAJOR);
	if (p->size < offsetof(struct dp_scheduler_plugin, close))
		return error_set(err, ERR_INVALID,
				 "its struct dp_scheduler_plugin has %u bytes, which is too few",
				 p->size);
	return 0;
}

/* If the plugin needs symbols of ours, or a missing library, dlerror() names them. */
static int open_library(struct extension_module *m, struct error *err)
{
	const struct dp_scheduler_plugin *(*entry)(void);
	const struct dp_scheduler_plugin *given;
	int r;

	if (access(m->path, R_OK) < 0)
		return error_set_errno(err, ERR_NOT_FOUND, errno, "the file cannot be read");
	m->library = dlopen(m->path, RTLD_NOW | RTLD_LOCAL);
	if (!m->library)
		return error_set(err, ERR_INVALID, "cannot load it as a shared object: %s",
				 dlerror());
	*(void **)&entry = dlsym(m->library, "dp_scheduler_plugin_entry");
	if (!entry)
		return error_set(err, ERR_INVALID,
				 "it is not a scheduler plugin: it does not export "
				 "dp_scheduler_plugin_entry()");
	given = entry();
	r = check_entry(given, err);
	if (r < 0)
		return r;
	memcpy(&m->ops, given, MIN((size_t)given->size, sizeof(m->ops)));
	return 0;
}

/* Without a folder dlopen would look elsewhere. */
static char *file_path(struct str path)
{
	struct buf b = BUF_INIT(4096);

	if (str_chr(path, '/') < 0)
		(void)buf_addz(&b, "./");
	(void)buf_add_str(&b, path);
	return buf_take(&b);
}

int extension_load(struct extension *e, struct str path, struct error *err)
{
	CLEANUP(module_free) struct extension_module *m = XNEW(struct extension_module);
	int r;

	m->extension = e;
	m->path = file_path(path);
	r = open_library(m, err);
	if (r == 0)
		r = extension_check_name(e, m->ops.name, err);
	if (r < 0)
		return error_wrap(err, r, "plugin %.*s", STR_ARG(path));
	extension_plugin_functions(m);
	if (e->opts.log)
		log_info(e->opts.log, "loaded a plugin", LOG_Z("plugin", m->ops.name),
			 LOG_STR("path", path));
	(void)vec_push(&e->kinds, &m->kind);
	(void)vec_push(&e->modules, TAKE(m));
	return 0;
}

const struct plugin_kind *const *extension_kinds(const struct extension *e, size_t *ret_n)
{
	*ret_n = e->kinds.n;
	return e->kinds.v;
}

int extension_run(struct extension *e, const struct services *services, struct informers *informers,
		  struct error *err)
{
	int r;

	e->services = services;
	e->informers = informers;
	r = extension_run_handles(e, err);
	if (r < 0)
		return r;
	extension_watches_begin(e);
	return 0;
}

bool extension_synced(const struct extension *e)
{
	for (size_t i = 0; i < e->watches.n; i++) {
		const struct informer *in = e->watches.v[i]->informer;

		if (in && !informer_synced(in) && informer_failure(in)->code != ERR_NOT_FOUND)
			return false;
	}
	return true;
}

void extension_set_snapshot(struct extension *e, const struct snapshot *s)
{
	e->snapshot = s;
}
