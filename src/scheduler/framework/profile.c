/*
 * A profile is created in three steps, like upstream's framework: find the enabled kinds, create an
 * instance of each, then build the list of each extension point. Such a list has first the plugins
 * of multiPoint that the extension point also names (in its order), then the others of multiPoint,
 * then those that only the extension point names.
 */
#include "scheduler/framework/profile.h"

#include "base/core/mem.h"
#include "base/text/nearest.h"
#include "scheduler/config/config.h"
#include "scheduler/framework/profile_metrics.h"

struct maker {
	const struct config_profile *config;
	const struct plugin_kinds *kinds;
	struct profile *profile;
	struct error *err;
};

/* --- what a kind takes part in ------------------------------------------------------------- */

static const struct {
	const char *type; /* upstream's, in messages */
	size_t list; /* in struct profile; 0: no list */
} points[] = {
	[POINT_PRE_ENQUEUE] = { "PreEnqueuePlugin", offsetof(struct profile, pre_enqueue) },
	[POINT_QUEUE_SORT] = { "QueueSortPlugin", 0 },
	[POINT_PRE_FILTER] = { "PreFilterPlugin", offsetof(struct profile, pre_filter) },
	[POINT_FILTER] = { "FilterPlugin", offsetof(struct profile, filter) },
	[POINT_POST_FILTER] = { "PostFilterPlugin", offsetof(struct profile, post_filter) },
	[POINT_PRE_SCORE] = { "PreScorePlugin", offsetof(struct profile, pre_score) },
	[POINT_SCORE] = { "ScorePlugin", offsetof(struct profile, score) },
	[POINT_RESERVE] = { "ReservePlugin", offsetof(struct profile, reserve) },
	[POINT_PERMIT] = { "PermitPlugin", offsetof(struct profile, permit) },
	[POINT_PRE_BIND] = { "PreBindPlugin", offsetof(struct profile, pre_bind) },
	[POINT_BIND] = { "BindPlugin", offsetof(struct profile, bind) },
	[POINT_POST_BIND] = { "PostBindPlugin", offsetof(struct profile, post_bind) },
};

static bool takes_part(const struct plugin_kind *k, enum config_point point)
{
	const bool has[] = {
		[POINT_PRE_ENQUEUE] = k->pre_enqueue,
		[POINT_QUEUE_SORT] = k->less,
		[POINT_PRE_FILTER] = k->pre_filter,
		[POINT_FILTER] = k->filter,
		[POINT_POST_FILTER] = k->post_filter,
		[POINT_PRE_SCORE] = k->pre_score,
		[POINT_SCORE] = k->score,
		[POINT_RESERVE] = k->reserve || k->unreserve,
		[POINT_PERMIT] = k->permit,
		[POINT_PRE_BIND] = k->pre_bind,
		[POINT_BIND] = k->bind,
		[POINT_POST_BIND] = k->post_bind,
	};

	return has[point];
}

/* --- instances ----------------------------------------------------------------------------- */

static const struct plugin_kind *find_kind(const struct maker *m, struct str name)
{
	const struct plugin_kinds *k = m->kinds;

	for (size_t i = 0; i < k->nloaded; i++) {
		if (str_eqz(name, k->loaded[i]->name))
			return k->loaded[i];
	}
	for (size_t i = 0; k->built_in[i]; i++) {
		if (str_eqz(name, k->built_in[i]->name))
			return k->built_in[i];
	}
	return NULL;
}

static int unknown_kind(const struct maker *m, const char *what, struct str name)
{
	struct nearest near;
	struct str best;

	nearest_init(&near, name);
	for (size_t i = 0; m->kinds->built_in[i]; i++)
		nearest_offer(&near, str_from(m->kinds->built_in[i]->name));
	for (size_t i = 0; i < m->kinds->nloaded; i++)
		nearest_offer(&near, str_from(m->kinds->loaded[i]->name));
	best = nearest_get(&near);
	return error_set(m->err, ERR_INVALID,
			 "%s \"%.*s\" of profile \"%.*s\" does not exist%s%.*s%s", what,
			 STR_ARG(name), STR_ARG(m->config->name), best.n ? ", did you mean \"" : "",
			 STR_ARG(best), best.n ? "\"?" : "");
}

static struct plugin *find_instance(const struct profile *p, struct str name)
{
	for (size_t i = 0; i < p->n; i++) {
		if (str_eqz(name, p->plugins[i].name))
			return &p->plugins[i];
	}
	return NULL;
}

static int add_instance(struct maker *m, struct str name, const char *what)
{
	const struct plugin_kind *kind = find_kind(m, name);
	struct profile *p = m->profile;
	struct plugin *pl;

	if (!kind)
		return unknown_kind(m, what, name);
	if (find_instance(p, name))
		return 0;
	if (p->n == PLUGINS_MAX)
		return error_set(m->err, ERR_INVALID, "profile \"%.*s\" has more than %d plugins",
				 STR_ARG(p->name), PLUGINS_MAX);
	pl = &p->plugins[p->n];
	*pl = (struct plugin){ .kind = kind,
			       .name = kind->name,
			       .services = p->services,
			       .at = (unsigned)p->n,
			       .weight = 1 };
	p->n++;
	return 0;
}

/* All that are named, those of multiPoint first. */
static int add_instances(struct maker *m)
{
	const struct config_set *multi = &m->config->points[POINT_MULTI];
	int r = 0;

	for (size_t i = 0; r == 0 && i < multi->nenabled; i++)
		r = add_instance(m, multi->enabled[i].name, "plugin");
	for (unsigned point = 0; point < POINT_MULTI; point++) {
		const struct config_set *set = &m->config->points[point];

		for (size_t i = 0; r == 0 && i < set->nenabled; i++)
			r = add_instance(m, set->enabled[i].name, points[point].type);
	}
	return r;
}

static int init_instances(struct maker *m)
{
	struct profile *p = m->profile;

	for (size_t i = 0; i < p->n; i++) {
		struct plugin *pl = &p->plugins[i];
		int r = 0;

		if (pl->kind->init)
			r = pl->kind->init(pl, config_args(m->config, str_from(pl->name)), m->err);
		if (r < 0) {
			p->ninitialised = i;
			return error_wrap(m->err, r, "initializing plugin \"%s\"", pl->name);
		}
	}
	p->ninitialised = p->n;
	return 0;
}

static int check_args(const struct maker *m)
{
	for (size_t i = 0; i < m->config->nargs; i++) {
		if (!find_kind(m, m->config->args[i].name))
			return unknown_kind(m, "plugin in pluginConfig", m->config->args[i].name);
	}
	return 0;
}

/* --- lists of the points ------------------------------------------------------------------- */

static bool set_has(const struct config_plugin *v, size_t n, struct str name)
{
	for (size_t i = 0; i < n; i++) {
		if (str_eq(v[i].name, name))
			return true;
	}
	return false;
}

static int check_set(const struct maker *m, enum config_point point)
{
	const struct config_set *set = &m->config->points[point];

	for (size_t i = 0; i < set->nenabled; i++) {
		struct str name = set->enabled[i].name;

		if (point != POINT_MULTI && !takes_part(find_kind(m, name), point))
			return error_set(m->err, ERR_INVALID,
					 "plugin \"%.*s\" does not extend %s plugin", STR_ARG(name),
					 points[point].type);
		if (set_has(set->enabled, i, name))
			return error_set(m->err, ERR_INVALID,
					 "plugin \"%.*s\" already registered as \"%s\"",
					 STR_ARG(name),
					 point == POINT_MULTI ? "multiPoint" : points[point].type);
	}
	return 0;
}

static void list_add(struct maker *m, struct profile_point *list, struct str name)
{
	list->at[list->n++] = (uint8_t)find_instance(m->profile, name)->at;
}

static void fill_list(struct maker *m, enum config_point point, struct profile_point *list)
{
	const struct config_set *multi = &m->config->points[POINT_MULTI];
	const struct config_set *own = &m->config->points[point];
	bool expand = !set_has(own->disabled, own->ndisabled, STR("*"));

	for (size_t i = 0; expand && i < own->nenabled; i++) {
		struct str name = own->enabled[i].name;

		if (set_has(multi->enabled, multi->nenabled, name) &&
		    !set_has(own->disabled, own->ndisabled, name))
			list_add(m, list, name);
	}
	for (size_t i = 0; expand && i < multi->nenabled; i++) {
		struct str name = multi->enabled[i].name;

		if (takes_part(find_kind(m, name), point) &&
		    !set_has(own->disabled, own->ndisabled, name) &&
		    !set_has(own->enabled, own->nenabled, name))
			list_add(m, list, name);
	}
	for (size_t i = 0; i < own->nenabled; i++) {
		struct str name = own->enabled[i].name;

		if (!expand || !set_has(multi->enabled, multi->nenabled, name) ||
		    set_has(own->disabled, own->ndisabled, name))
			list_add(m, list, name);
	}
}

static int fill_lists(struct maker *m)
{
	struct profile_point sorts = { .n = 0 };
	struct profile *p = m->profile;
	int r = 0;

	for (unsigned point = 0; point < POINTS; point++) {
		r = check_set(m, point);
		if (r < 0)
			return r;
	}
	for (unsigned point = 0; point < POINT_MULTI; point++) {
		char *list = (char *)p + points[point].list;

		fill_list(m, point,
			  points[point].list ? (struct profile_point *)(void *)list : &sorts);
	}
	if (sorts.n != 1)
		return error_set(m->err, ERR_INVALID,
				 "only one queue sort plugin required for profile with scheduler "
				 "name \"%.*s\", but got %d",
				 STR_ARG(p->name), sorts.n);
	if (p->bind.n == 0)
		return error_set(m->err, ERR_INVALID,
				 "at least one bind plugin is needed for profile with scheduler "
				 "name \"%.*s\"",
				 STR_ARG(p->name));
	p->queue_sort = &p->plugins[sorts.at[0]];
	return 0;
}

/* Sets weights: the score extension point overrides multiPoint. The default is 1. */
static void set_weights(struct maker *m)
{
	const struct config_set *sets[] = { &m->config->points[POINT_SCORE],
					    &m->config->points[POINT_MULTI] };
	uint64_t seen = 0;

	for (size_t k = 0; k < ARRAY_SIZE(sets); k++) {
		for (size_t i = 0; i < sets[k]->nenabled; i++) {
			const struct config_plugin *said = &sets[k]->enabled[i];
			struct plugin *pl = find_instance(m->profile, said->name);

			if (!pl->kind->score || seen >> pl->at & 1)
				continue;
			seen |= UINT64_C(1) << pl->at;
			pl->weight = said->weight ? said->weight : 1;
		}
	}
}

int profile_new(const struct config_profile *config, const struct plugin_kinds *kinds,
		const struct services *services, struct profile **ret_profile, struct error *err)
{
	struct profile *p = XNEW(struct profile);
	struct maker m = { config, kinds, p, err };
	int r;

	p->name = str_of(str_dup(config->name), config->name.n);
	p->services = services;
	p->percentage_of_nodes = MAX(config->percentage_of_nodes, 0);
	p->plugins = xcalloc(PLUGINS_MAX, sizeof(*p->plugins));
	p->scratch = XNEW(struct profile_scratch);
	r = check_args(&m);
	if (r == 0)
		r = add_instances(&m);
	if (r == 0)
		r = fill_lists(&m);
	if (r == 0) {
		set_weights(&m);
		r = init_instances(&m);
	}
	if (r < 0) {
		profile_free(p);
		return r;
	}
	profile_metrics_init(p);
	*ret_profile = p;
	return 0;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	for (size_t i = p->ninitialised; i-- > 0;) {
		if (p->plugins[i].kind->release)
			p->plugins[i].kind->release(&p->plugins[i]);
	}
	profile_metrics_free(p);
	free(p->scratch->verdicts);
	free(p->scratch->scores);
	free(p->scratch);
	free(p->plugins);
	free((char *)(uintptr_t)p->name.p);
	free(p);
}
