/*
 * An observer watches pods and claims, and resumes when a watch breaks. Events must be in order and
 * without a gap: an object is added if it did not exist, and changed or deleted if it did. Versions
 * only grow, and every version in a reply to the user is among them. Only a 410 makes the observer
 * begin again with a list. With several servers, any of them serves the next watch.
 */
#include "cluster_crds.h"
#include "cluster_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "cluster_server.h"
#include "cluster_workloads.h"

enum {
	AGAIN_MS = 500,
	WATCHES = 3,
	LIST_MS = 60 * 1000, /* hosts may be far, and pods many */
};

struct expected {
	struct str name;
	int64_t rv;
};

struct watch {
	struct observer *o;
	const char *group, *resource;
	struct client_request request;
	struct loop_timer again;
	struct buf line; /* a part of one */
	struct omap objects; /* "namespace/name" -> struct copy */
	int64_t rv; /* seen up to here; 0: to be listed */
	int64_t from; /* of the last list: nothing before is demanded */
	VEC(struct expected) expected;
	VEC(int64_t) seen; /* versions of events, in order */
	bool listing;
	bool custom; /* it may not be served */
	bool absent; /* it is not: so it was answered last */
	uint64_t events, lists, opened;
};

struct copy {
	int64_t rv;
	char key[];
};

struct observer {
	struct cluster *w;
	struct watch watches[WATCHES];
	size_t n;
};

static int64_t rv_of(const struct json *object)
{
	int64_t rv = 0;

	(void)str_to_i64(json_str(json_pointer(object, STR("/metadata/resourceVersion"))), &rv);
	return rv;
}

static void key_of(const struct json *object, char *out, size_t size)
{
	(void)snprintf(out, size, "%.*s/%.*s",
		       STR_ARG(json_str(json_pointer(object, STR("/metadata/namespace")))),
		       STR_ARG(json_str(json_pointer(object, STR("/metadata/name")))));
}

static struct copy *copy_of(struct watch *x, const char *key)
{
	struct copy *c = omap_get(&x->objects, str_from(key));
	size_t n = strlen(key) + 1;

	if (c)
		return c;
	c = xcalloc(1, sizeof(*c) + n);
	memcpy(c->key, key, n);
	(void)omap_put(&x->objects, str_from(c->key), c);
	return c;
}

static void forget(struct watch *x, const char *key)
{
	free(omap_remove(&x->objects, str_from(key)));
}

static void forget_all(struct watch *x)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&x->objects, &c); ok; ok = omap_next(&c))
		free(omap_value(&c));
	omap_clear(&x->objects);
}

/* --- events ------------------------------------------------------------------------------- */

static void begin_anew(struct watch *x)
{
	x->rv = 0;
}

static bool shows_pods(const struct watch *x)
{
	return x->resource && strcmp(x->resource, "pods") == 0;
}

static void on_change(struct watch *x, struct str type, const struct json *object)
{
	struct cluster *w = x->o->w;
	int64_t rv = rv_of(object);
	char key[256];
	bool known;

	key_of(object, key, sizeof(key));
	known = omap_get(&x->objects, str_from(key)) != NULL;
	if (rv <= x->rv)
		cluster_fail(w, "watch of %s: %s at %lld after %lld", x->resource, key,
			     (long long)rv, (long long)x->rv);
	if (str_eqz(type, "ADDED") == known)
		cluster_fail(w, "watch of %s: %.*s of %s, which was %sknown (%lld)", x->resource,
			     STR_ARG(type), key, known ? "" : "not ", (long long)rv);
	x->rv = rv;
	x->events++;
	(void)vec_push(&x->seen, rv);
	if (str_eqz(type, "DELETED"))
		forget(x, key);
	else
		copy_of(x, key)->rv = rv;
	if (w->workloads && shows_pods(x))
		workloads_see(w, object, str_eqz(type, "DELETED"));
}

static void on_line(struct watch *x, struct str line)
{
	CLEANUP(arena_release) struct arena a;
	struct cluster *w = x->o->w;
	const struct json *object;
	struct json *tree;
	struct str type;

	arena_init(&a, SIZE_MAX);
	if (json_parse(&a, arena_str(&a, line), NULL, &tree, NULL) < 0)
		cluster_fail(w, "watch of %s: no JSON: %.*s", x->resource, STR_ARG(line));
	type = json_text_at(tree, "type");
	object = json_getz(tree, "object");
	if (str_eqz(type, "BOOKMARK")) {
		if (rv_of(object) < x->rv)
			cluster_fail(w, "watch of %s: bookmark %lld after %lld", x->resource,
				     (long long)rv_of(object), (long long)x->rv);
		x->rv = rv_of(object);
	} else if (str_eqz(type, "ERROR")) {
		begin_anew(x);
	} else {
		on_change(x, type, object);
	}
}

static void on_data(struct client_request *r, struct str piece)
{
	struct watch *x = CONTAINER_OF(r, struct watch, request);
	struct str rest;
	ptrdiff_t n;

	(void)buf_add_str(&x->line, piece);
	rest = buf_str(&x->line);
	while ((n = str_chr(rest, '\n')) >= 0) {
		on_line(x, str_of(rest.p, (size_t)n));
		rest = str_skip(rest, (size_t)n + 1);
	}
	buf_consume(&x->line, x->line.n - rest.n);
}

/* --- requests ----------------------------------------------------------------------------- */

static void send_again(struct watch *x);

static void on_again(struct loop_timer *t)
{
	send_again(CONTAINER_OF(t, struct watch, again));
}

static void on_list(struct watch *x, const struct client_answer *answer)
{
	CLEANUP(arena_release) struct arena a;
	struct cluster *w = x->o->w;
	bool workloads = w->workloads && shows_pods(x);
	struct json *tree;
	char key[256];

	arena_init(&a, SIZE_MAX);
	if (client_answer_tree(answer, &a, &tree, NULL) < 0)
		return;
	forget_all(x);
	if (workloads)
		workloads_forget(w);
	JSON_FOREACH (item, json_getz(tree, "items")) {
		key_of(item, key, sizeof(key));
		copy_of(x, key)->rv = rv_of(item);
		if (workloads)
			workloads_see(w, item, false);
	}
	x->absent = false;
	x->rv = x->from = rv_of(tree);
	x->lists++;
}

/*
 * The objects were deleted with their definition. In a calm world the watch showed that before it
 * ended.
 */
static void on_absent(struct watch *x)
{
	const struct crds *crds = x->o->w->crds;

	if (crds->phase == CRDS_DELETE && x->objects.n > 0)
		cluster_fail(x->o->w, "the watch of %s ended without the deletion of %zu objects",
			     x->resource, x->objects.n);
	forget_all(x);
	begin_anew(x);
	x->absent = true;
}

static void on_done(struct client_request *r, const struct client_answer *answer,
		    const struct error *err)
{
	struct watch *x = CONTAINER_OF(r, struct watch, request);

	buf_clear(&x->line);
	if (x->listing && !err)
		on_list(x, answer);
	if (err && err->code == ERR_EXPIRED)
		begin_anew(x);
	if (err && err->code == ERR_NOT_FOUND && x->custom)
		on_absent(x);
	loop_timer_start(&x->again, x->listing && !err ? 0 : AGAIN_MS);
}

static void send_again(struct watch *x)
{
	struct resource what = x->custom ? crds_resource("v1")
					 : resource_builtin(x->group, "v1", x->resource);
	struct cluster *w = x->o->w;
	unsigned server = w->nservers > 1 ? cluster_pick(w, (unsigned)w->nservers) : 0;
	char query[128] = "";

	x->listing = x->rv == 0;
	x->opened += !x->listing;
	if (!x->listing)
		(void)snprintf(query, sizeof(query),
			       "watch=true&allowWatchBookmarks=true&timeoutSeconds=%d&"
			       "resourceVersion=%lld",
			       x->custom ? 3600 : 60, (long long)x->rv);
	x->request = (struct client_request){ .query = str_from(query),
					      .on_data = x->listing ? NULL : on_data,
					      .on_done = on_done,
					      .timeout_ms = x->listing ? LIST_MS : 90000 };
	/* The end of its definition ends it, and nothing else. */
	if (!x->listing && x->custom)
		x->request.timeout_ms = -1;
	client_list(w->watch_clients[server], &x->request, &what, STR_NULL);
}

/* --- life --------------------------------------------------------------------------------- */

static void begin(struct observer *o, struct watch *x, const char *group, const char *resource)
{
	o->n++;
	x->o = o;
	x->group = group;
	x->resource = resource;
	buf_init(&x->line, 64 * MIB);
	omap_init(&x->objects);
	vec_init(&x->expected, SIZE_MAX / sizeof(struct expected));
	vec_init(&x->seen, SIZE_MAX / sizeof(int64_t));
	loop_timer_init(&x->again, o->w->watcher, on_again);
	loop_timer_start(&x->again, 0);
}

void observer_begin(struct cluster *w)
{
	struct observer *o = XNEW(struct observer);

	o->w = w;
	w->observer = o;
	begin(o, &o->watches[0], "", "pods");
	begin(o, &o->watches[1], "resource.k8s.io", "resourceclaims");
	o->watches[2].custom = true;
	if (w->parts & CLUSTER_CRDS)
		begin(o, &o->watches[2], CRDS_GROUP, CRDS_RESOURCE);
}

void observer_expect(struct cluster *w, struct str resource, struct str name, int64_t rv)
{
	struct observer *o = w->observer;

	for (size_t i = 0; o && i < o->n; i++)
		if (str_eqz(resource, o->watches[i].resource))
			(void)vec_push(&o->watches[i].expected,
				       ((struct expected){ str_from(str_dup(name)), rv }));
}

static bool has_seen(const struct watch *x, int64_t rv)
{
	size_t low = 0, high = x->seen.n;

	while (low < high) {
		size_t at = (low + high) / 2;

		if (x->seen.v[at] < rv)
			low = at + 1;
		else
			high = at;
	}
	return low < x->seen.n && x->seen.v[low] == rv;
}

void observer_check(struct cluster *w)
{
	for (size_t i = 0; i < w->observer->n; i++) {
		const struct watch *x = &w->observer->watches[i];

		for (size_t k = 0; k < x->expected.n; k++) {
			const struct expected *e = &x->expected.v[k];

			if (e->rv > x->from && e->rv <= x->rv && !has_seen(x, e->rv))
				cluster_fail(w, "watch of %s lacks %.*s at %lld", x->resource,
					     STR_ARG(e->name), (long long)e->rv);
		}
	}
}

struct compare {
	struct watch *x;
	size_t n;
	bool differs;
};

static void compare_one(void *arg, const struct json *tree)
{
	struct compare *c = arg;
	const struct copy *copy;
	char key[256];

	key_of(tree, key, sizeof(key));
	copy = omap_get(&c->x->objects, str_from(key));
	c->differs = c->differs || !copy || copy->rv != rv_of(tree);
	c->n++;
}

bool observer_caught_up(struct cluster *w, char *why, size_t size)
{
	for (size_t i = 0; i < w->observer->n; i++) {
		struct watch *x = &w->observer->watches[i];
		struct compare c = { .x = x };

		(void)snprintf(why, size, "%s as watched differ from those at the server",
			       x->resource);
		if (!cluster_choose_server(w) || (x->rv == 0 && !x->absent))
			return false;
		cluster_server_each(w->server, x->group, x->resource, &w->arena, compare_one, &c);
		arena_clear(&w->arena);
		if (c.differs || c.n != x->objects.n)
			return false;
	}
	return true;
}

bool observer_sees_no_definition(const struct cluster *w)
{
	const struct watch *x = &w->observer->watches[2];

	return x->absent && x->objects.n == 0;
}

void observer_release(struct cluster *w)
{
	for (size_t i = 0; w->observer && i < w->observer->n; i++) {
		struct watch *x = &w->observer->watches[i];

		client_cancel(&x->request);
		loop_timer_stop(&x->again);
		forget_all(x);
		omap_release(&x->objects);
		buf_release(&x->line);
		for (size_t k = 0; k < x->expected.n; k++)
			free((void *)(uintptr_t)x->expected.v[k].name.p);
		vec_release(&x->expected);
		vec_release(&x->seen);
	}
	free(TAKE(w->observer));
}
