/*
 * Makes the loops' configuration from the objects. All changes of one turn make one
 * configuration, and each loop gets a reference to it.
 */
#include <stdlib.h>

#include "api/object/object.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "server/core/parts.h"
#include "server/flow/config.h"
#include "server/flow/defaults.h"
#include "server/flow/flow_impl.h"

enum {
	TIDY_MS = 1000,
	MAX_READING = 400,
	MAX_WRITING = 200,
};

/* --- sending -------------------------------------------------------------------------- */

static void install(struct flow_lane *lane)
{
	struct flow_config *config = atomic_exchange(&lane->coming, NULL);

	if (!config)
		return;
	flow_config_unref(lane->config);
	lane->config = config;
	/* There may be more seats now. */
	loop_defer_last(lane->loop, &lane->task);
}

static void on_delivery(struct loop_msg *m)
{
	struct flow_lane *lane = CONTAINER_OF(m, struct flow_lane, delivery);

	atomic_store(&lane->delivering, false);
	install(lane);
}

static void publish(struct flow *f, struct flow_config *c)
{
	for (struct flow_lane *lane = f->lanes; lane < f->lanes + f->nlanes; lane++) {
		flow_config_unref(atomic_exchange(&lane->coming, flow_config_ref(c)));
		if (lane == f->lanes)
			install(lane);
		else if (!atomic_exchange(&lane->delivering, true))
			loop_post(lane->loop, &lane->delivery);
	}
}

/* --- making --------------------------------------------------------------------------- */

static struct flow_seats *seats_of(struct flow *f, struct str name)
{
	struct flow_seats *s = map_get(&f->by_name, name);
	char *text;

	if (s || f->nseats == FLOW_LEVELS_MAX)
		return s ? s : f->seats[FLOW_LEVELS_MAX - 1];
	s = xcalloc(1, sizeof(*s) + name.n + 1);
	text = (char *)(s + 1);
	str_put(text, name);
	s->name = str_of(text, name.n);
	s->hall = &f->hall;
	s->index = f->nseats;
	f->seats[f->nseats++] = s;
	(void)map_put(&f->by_name, s->name, s);
	flow_metrics_level(f, s);
	return s;
}

static void furnish(struct flow *f, struct flow_config *c)
{
	for (size_t i = 0; i < c->nlevels; i++) {
		struct flow_level *l = &c->levels[i];

		l->seats = seats_of(f, l->name);
		atomic_store(&l->seats->nominal, l->nominal);
		atomic_store(&l->seats->borrowed, l->borrowed);
	}
	for (size_t i = 0; i < c->nschemas; i++)
		flow_metrics_schema(f, &c->schemas[i]);
}

static const struct json **trees_of(struct flow *f, enum flow_kind kind, struct arena *a,
				    size_t *ret_n)
{
	const struct map *m = &f->objects[kind];
	const struct json **v = ARENA_ARRAY(a, const struct json *, m->n + 1);
	struct json *tree;
	size_t at = 0, n = 0;
	void *object;
	struct str name;

	while (map_next(m, &at, &name, &object))
		if (object_tree(object, a, &tree, NULL) == 0)
			v[n++] = tree;
	*ret_n = n;
	return v;
}

static void on_rebuild(struct loop_task *t)
{
	struct flow *f = CONTAINER_OF(t, struct flow, rebuild);
	CLEANUP(arena_release) struct arena a;
	const struct json **schemas, **levels;
	struct flow_config *c;
	size_t ns, nl;

	arena_init(&a, 64 * MIB);
	schemas = trees_of(f, FLOW_SCHEMA, &a, &ns);
	levels = trees_of(f, FLOW_LEVEL, &a, &nl);
	c = flow_config_new(schemas, ns, levels, nl, f->max_reading + f->max_writing);
	furnish(f, c);
	publish(f, c);
	flow_config_unref(c);
	if (f->started && !loop_timer_running(&f->tidy))
		loop_timer_start(&f->tidy, TIDY_MS);
}

/* --- observers ------------------------------------------------------------------------ */

static void follow_forget(struct map *m, struct str name)
{
	struct object *o = map_remove(m, name);

	if (o)
		object_unref(o);
}

static void changed(struct flow *f, enum flow_kind kind, struct object *now, struct object *before)
{
	struct map *m = &f->objects[kind];

	if (before)
		follow_forget(m, object_name(before));
	if (now) {
		follow_forget(m, object_name(now));
		(void)map_put(m, object_name(now), object_ref(now));
	}
	loop_defer(f->lanes[0].loop, &f->rebuild);
}

static void schema_changed(void *arg, struct object *now, struct object *before)
{
	changed(arg, FLOW_SCHEMA, now, before);
}

static void level_changed(void *arg, struct object *now, struct object *before)
{
	changed(arg, FLOW_LEVEL, now, before);
}

static void forget_all(struct map *m)
{
	struct str name;
	void *object;

	for (size_t at = 0; map_next(m, &at, &name, &object);)
		object_unref(object);
	map_clear(m);
}

static void reset_schemas(void *arg)
{
	struct flow *f = arg;

	forget_all(&f->objects[FLOW_SCHEMA]);
}

static void reset_levels(void *arg)
{
	struct flow *f = arg;

	forget_all(&f->objects[FLOW_LEVEL]);
}

void flow_observe(struct flow *f, struct state_observer ret_v[static FLOW_OBSERVERS])
{
	const struct str group = STR("flowcontrol.apiserver.k8s.io");

	ret_v[0] = (struct state_observer){ .group = group,
					    .resource = STR("flowschemas"),
					    .changed = schema_changed,
					    .reset = reset_schemas,
					    .arg = f };
	ret_v[1] = (struct state_observer){ .group = group,
					    .resource = STR("prioritylevelconfigurations"),
					    .changed = level_changed,
					    .reset = reset_levels,
					    .arg = f };
}

/* --- lifecycle ------------------------------------------------------------------------ */

static void on_tidy(struct loop_timer *t)
{
	struct flow *f = CONTAINER_OF(t, struct flow, tidy);

	flow_defaults_ensure(f->server);
}

struct flow *flow_new(struct server *s)
{
	const struct server_opts *o = &s->opts;
	struct flow *f = XNEW(struct flow);

	f->server = s;
	f->fair = !o->no_fairness;
	f->max_reading = o->max_reading ? o->max_reading : MAX_READING;
	f->max_writing = o->max_writing ? o->max_writing : MAX_WRITING;
	f->nlanes = o->nloops;
	f->lanes = xcalloc(f->nlanes, sizeof(*f->lanes));
	atomic_store(&f->hall.total, f->max_reading + f->max_writing);
	map_init(&f->objects[FLOW_SCHEMA]);
	map_init(&f->objects[FLOW_LEVEL]);
	map_init(&f->by_name);
	loop_task_init(&f->rebuild, on_rebuild);
	loop_timer_init(&f->tidy, o->loops[0], on_tidy);
	for (size_t i = 0; i < f->nlanes; i++) {
		struct flow_lane *lane = &f->lanes[i];

		lane->flow = f;
		lane->loop = o->loops[i];
		for (size_t k = 0; k < FLOW_CLASSES; k++)
			lane->queues[k] = flow_queue_new();
		lane->wake.fn = flow_on_wake;
		lane->delivery.fn = on_delivery;
		loop_task_init(&lane->task, flow_on_turn);
	}
	return f;
}

void flow_start(struct flow *f)
{
	f->started = true;
	flow_defaults_ensure(f->server);
	loop_defer(f->lanes[0].loop, &f->rebuild);
}

void flow_stop(struct flow *f)
{
	f->started = false;
	loop_timer_stop(&f->tidy);
}

void flow_free(struct flow *f)
{
	if (!f)
		return;
	loop_task_cancel(&f->rebuild);
	for (size_t i = 0; i < f->nlanes; i++) {
		loop_task_cancel(&f->lanes[i].task);
		flow_config_unref(f->lanes[i].config);
		flow_config_unref(atomic_load(&f->lanes[i].coming));
		for (size_t k = 0; k < FLOW_CLASSES; k++)
			flow_queue_free(f->lanes[i].queues[k]);
	}
	for (size_t i = 0; i < f->nseats; i++)
		free(f->seats[i]);
	forget_all(&f->objects[FLOW_SCHEMA]);
	forget_all(&f->objects[FLOW_LEVEL]);
	map_release(&f->objects[FLOW_SCHEMA]);
	map_release(&f->objects[FLOW_LEVEL]);
	map_release(&f->by_name);
	free(f->lanes);
	free(f);
}
