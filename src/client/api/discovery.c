/*
 * A refresh builds a new catalogue and replaces the current one at its end. Requests are sent one
 * after the other: two for the aggregated form, and one for each group version if a server has
 * only the older form.
 */
#include "client/api/discovery.h"

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "client/api/discovery_impl.h"
#include "client/client_limits.h"

static const char accept_aggregated[] =
	"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
	"application/json";

/* The current step of a refresh. */
enum step { STEP_IDLE, STEP_CORE, STEP_GROUPS, STEP_VERSIONS };

struct discovery {
	struct client *client;
	struct catalogue *now, *next; /* next: being built */
	struct client_request request;
	enum step step;
	size_t version; /* STEP_VERSIONS: index of the version being read */
	bool aggregated; /* every reply so far was aggregated */
	void (*done)(void *arg, const struct error *err);
	void *arg;
};

/* --- catalogues -------------------------------------------------------------------------- */

static struct catalogue *catalogue_new(void)
{
	struct catalogue *c = XNEW(struct catalogue);

	arena_init(&c->arena, REQUEST_WORK_MAX);
	vec_init(&c->resources, DISCOVERY_RESOURCES_MAX);
	vec_init(&c->versions, DISCOVERY_RESOURCES_MAX);
	map_init(&c->by_resource);
	map_init(&c->by_kind);
	map_init(&c->preferred);
	return c;
}

static void catalogue_free(struct catalogue *c)
{
	if (!c)
		return;
	map_release(&c->by_resource);
	map_release(&c->by_kind);
	map_release(&c->preferred);
	vec_release(&c->resources);
	vec_release(&c->versions);
	arena_release(&c->arena);
	free(c);
}

static struct str discovery_key_of(struct arena *a, struct str x, struct str y, struct str z)
{
	return str_from(arena_printf(a, "%.*s/%.*s/%.*s", STR_ARG(x), STR_ARG(y), STR_ARG(z)));
}

/* Done last: pointers into a vec are valid only if it does not grow any more. */
static void catalogue_index(struct catalogue *c)
{
	struct arena *a = &c->arena;

	for (size_t i = 0; i < c->resources.n; i++) {
		struct discovery_resource *d = &c->resources.v[i];
		const struct resource *r = &d->resource;
		struct str any = discovery_key_of(a, r->group, STR_NULL, r->resource);
		struct str kind = discovery_key_of(a, r->group, r->version, r->kind);

		(void)map_put(&c->by_resource,
			      discovery_key_of(a, r->group, r->version, r->resource), d);
		if (!map_get(&c->by_kind, kind))
			(void)map_put(&c->by_kind, kind, d);
		d->preferred = !map_get(&c->preferred, any);
		if (d->preferred)
			(void)map_put(&c->preferred, any, d);
	}
}

/* --- a refresh ------------------------------------------------------------------------------ */

static void discovery_finish(struct discovery *d, const struct error *err)
{
	void (*done)(void *arg, const struct error *err) = d->done;

	d->step = STEP_IDLE;
	if (err) {
		catalogue_free(TAKE(d->next));
	} else {
		catalogue_index(d->next);
		catalogue_free(d->now);
		d->now = TAKE(d->next);
	}
	d->done = NULL;
	done(d->arg, err);
}

static void discovery_ask(struct discovery *d, struct str path, struct str accept)
{
	d->request.path = path;
	d->request.accept = accept;
	client_send(d->client, &d->request);
}

static void ask_version(struct discovery *d)
{
	struct resource r;
	struct arena *a = &d->next->arena;

	if (d->version == d->next->versions.n) {
		discovery_finish(d, NULL);
		return;
	}
	r = d->next->versions.v[d->version];
	discovery_ask(d,
		      str_from(r.group.n ? arena_printf(a, "/apis/%.*s/%.*s", STR_ARG(r.group),
							STR_ARG(r.version))
					 : arena_printf(a, "/api/%.*s", STR_ARG(r.version))),
		      STR("application/json"));
}

static bool is_aggregated(const struct client_answer *a)
{
	return str_find(a->content_type, STR("as=APIGroupDiscoveryList")) >= 0;
}

/* A reply to /api or /apis. A server without the core group has no /api. */
static void on_groups(struct discovery *d, const struct client_answer *a, const struct error *err)
{
	struct json *tree;
	struct error why;

	if (err && err->code != ERR_NOT_FOUND) {
		discovery_finish(d, err);
		return;
	}
	if (!err) {
		d->aggregated &= is_aggregated(a);
		if (client_answer_tree(a, &d->next->arena, &tree, &why) < 0) {
			discovery_finish(d, &why);
			return;
		}
		discovery_add_groups(d->next, tree, is_aggregated(a));
	}
	if (d->step == STEP_CORE) {
		d->step = STEP_GROUPS;
		discovery_ask(d, STR("/apis"), str_from(accept_aggregated));
	} else if (d->aggregated) {
		discovery_finish(d, NULL);
	} else {
		/*
		 * All or nothing: a catalogue read half in each form would have no defined order.
		 */
		d->next->resources.n = 0;
		d->next->incomplete = false;
		d->step = STEP_VERSIONS;
		d->version = 0;
		ask_version(d);
	}
}

/* If a version cannot be read, usually because its aggregated server is down, the others remain. */
static void on_version(struct discovery *d, const struct client_answer *a, const struct error *err)
{
	struct json *tree;

	if (err || client_answer_tree(a, &d->next->arena, &tree, NULL) < 0)
		d->next->incomplete = true;
	else
		discovery_add_legacy(d->next, &d->next->versions.v[d->version], tree);
	d->version++;
	ask_version(d);
}

static void discovery_on_done(struct client_request *r, const struct client_answer *a,
			      const struct error *err)
{
	struct discovery *d = r->arg;

	if (d->step == STEP_VERSIONS)
		on_version(d, a, err);
	else
		on_groups(d, a, err);
}

void discovery_refresh(struct discovery *d, void (*done)(void *arg, const struct error *err),
		       void *arg)
{
	d->done = done;
	d->arg = arg;
	if (d->step != STEP_IDLE)
		return;
	d->next = catalogue_new();
	d->aggregated = true;
	d->step = STEP_CORE;
	discovery_ask(d, STR("/api"), str_from(accept_aggregated));
}

/* --- the rest --------------------------------------------------------------------------- */

struct discovery *discovery_open(struct client *c)
{
	struct discovery *d = XNEW(struct discovery);

	d->client = c;
	d->now = catalogue_new();
	d->request = (struct client_request){ .on_done = discovery_on_done, .arg = d };
	return d;
}

void discovery_close(struct discovery *d)
{
	if (!d)
		return;
	client_cancel(&d->request);
	catalogue_free(d->now);
	catalogue_free(d->next);
	free(d);
}

bool discovery_incomplete(const struct discovery *d)
{
	return d->now->incomplete;
}

const struct discovery_resource *discovery_resources(const struct discovery *d, size_t *ret_n)
{
	*ret_n = d->now->resources.n;
	return d->now->resources.v;
}

static const struct discovery_resource *api_discovery_find(const struct map *m, struct str x,
							   struct str y, struct str z)
{
	CLEANUP(arena_release) struct arena a;
	char room[512] UNZEROED;

	arena_init_in(&a, MIB, room, sizeof(room));
	return map_get(m, discovery_key_of(&a, x, y, z));
}

const struct discovery_resource *discovery_find(const struct discovery *d, struct str group,
						struct str version, struct str resource)
{
	const struct map *m = version.n ? &d->now->by_resource : &d->now->preferred;

	return api_discovery_find(m, group, version, resource);
}

const struct discovery_resource *discovery_find_kind(const struct discovery *d,
						     struct str api_version, struct str kind)
{
	ptrdiff_t slash = str_chr(api_version, '/');
	struct str group = slash < 0 ? STR_NULL : str_of(api_version.p, (size_t)slash);
	struct str version = slash < 0 ? api_version : str_skip(api_version, (size_t)slash + 1);

	return api_discovery_find(&d->now->by_kind, group, version, kind);
}
