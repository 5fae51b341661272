/*
 * Statuses are parsed once, when they arrive; everything after that uses structs.
 */
#include "cli/live/model.h"

#include "base/core/map.h"
#include "base/core/mem.h"
#include "cli/devices/view.h"

/* --- a slice --------------------------------------------------------------------------------- */

/* The claims that hold the device, each once, as far as the status lists them. */
static void read_holders(struct top_slice *s, struct top_device *d, const struct json *status)
{
	const struct json *list = json_getz(status, "allocations");
	struct top_holder *last = NULL, h;

	d->holders = ARENA_ARRAY(&s->arena, struct top_holder, json_count(list));
	JSON_FOREACH (it, list) {
		h = (struct top_holder){ .ns = json_text_at(it, "claimNamespace"),
					 .claim = json_text_at(it, "claimName") };
		if (last && str_eq(last->ns, h.ns) && str_eq(last->claim, h.claim))
			continue;
		last = &d->holders[d->nholders++];
		*last = (struct top_holder){ .ns = arena_str(&s->arena, h.ns),
					     .claim = arena_str(&s->arena, h.claim) };
	}
}

static enum top_truth truth_of(const struct json *condition)
{
	struct str status = json_text_at(condition, "status");

	if (str_eqz(status, "True"))
		return TOP_YES;
	return str_eqz(status, "False") ? TOP_NO : TOP_UNTOLD;
}

static void read_pool(struct top_slice *s, const struct json *status)
{
	const struct json *pool = json_getz(status, "poolStatus");

	s->has_pool = pool != NULL;
	JSON_FOREACH (it, json_getz(pool, "conditions")) {
		enum top_truth holds = truth_of(it);

		if (str_eqz(json_text_at(it, "type"), "Complete"))
			s->complete = holds;
		if (str_eqz(json_text_at(it, "type"), "Valid"))
			s->valid = holds;
		if (holds == TOP_NO && !s->pool_message.n)
			s->pool_message = arena_str(&s->arena, json_text_at(it, "message"));
	}
}

static void model_read_device(struct top_slice *s, struct top_device *d, const struct json *spec,
			      const struct json *device, const struct top_facts *facts)
{
	d->name = arena_str(&s->arena, json_text_at(device, "name"));
	d->fact = device_fact_read(NULL);
	d->taint = facts->taint ? facts->taint(facts->arg, spec, device, &s->arena)
				: top_taint(device, &s->arena);
	if (facts->holders)
		d->nholders = facts->holders(facts->arg, spec, d->name, &s->arena, &d->holders);
}

static void read_pods(struct top_slice *s, struct top_device *d, const struct top_facts *facts)
{
	for (size_t i = 0; i < d->nholders && facts->pods; i++)
		d->holders[i].pods = facts->pods(facts->arg, d->holders[i].ns, d->holders[i].claim,
						 &s->arena);
}

/* The status lists the devices in the slice's order, but may omit some. */
static void read_states(struct top_slice *s, const struct json *status,
			const struct top_facts *facts)
{
	size_t at = 0;

	JSON_FOREACH (it, json_getz(status, "devices")) {
		struct str name = json_text_at(it, "name");
		struct device_fact fact = device_fact_read(it);
		size_t k = at;

		while (k < s->n && !str_eq(s->devices[k].name, name))
			k++;
		if (k == s->n)
			continue;
		at = k + 1;
		if (facts->holders)
			fact.omitted = 0;
		else
			read_holders(s, &s->devices[k], it);
		if (facts->computed)
			device_fact_computed(&fact);
		fact.unsure = !facts->health_known && fact.health.n == 0;
		s->devices[k].fact = device_fact_copy(&s->arena, &fact);
	}
}

struct top_slice *top_slice_new(struct str name, const struct json *spec, const struct json *status,
				const struct top_facts *facts)
{
	const struct json *devices = facts->elsewhere ? NULL : json_getz(spec, "devices");
	struct top_slice *s = XNEW(struct top_slice);

	arena_init(&s->arena, SIZE_MAX);
	s->name = arena_str(&s->arena, name);
	s->driver = arena_str(&s->arena, json_text_at(spec, "driver"));
	s->pool = arena_str(&s->arena, json_text_at(json_getz(spec, "pool"), "name"));
	s->node = arena_str(&s->arena, device_view_node(spec));
	s->stale = facts->stale;
	s->elsewhere = facts->elsewhere;
	s->devices = ARENA_ARRAY(&s->arena, struct top_device, json_count(devices));
	memset(s->devices, 0, json_count(devices) * sizeof(*s->devices));
	JSON_FOREACH (it, devices)
		model_read_device(s, &s->devices[s->n++], spec, it, facts);
	read_states(s, status, facts);
	for (size_t i = 0; i < s->n; i++)
		read_pods(s, &s->devices[i], facts);
	read_pool(s, status);
	return s;
}

void top_slice_free(struct top_slice *s)
{
	if (!s)
		return;
	arena_release(&s->arena);
	free(s);
}

struct str top_taint(const struct json *device, struct arena *a)
{
	JSON_FOREACH (it, json_getz(device, "taints")) {
		struct str effect = json_text_at(it, "effect");

		if (str_eqz(effect, "NoSchedule") || str_eqz(effect, "NoExecute"))
			return device_view_taint(a, json_text_at(it, "key"),
						 json_text_at(it, "value"), effect);
	}
	return STR_NULL;
}

/* --- all of them ----------------------------------------------------------------------------- */

void top_model_init(struct top_model *m)
{
	omap_init(&m->slices);
}

void top_model_release(struct top_model *m)
{
	struct omap_cursor c;

	for (bool more = omap_first(&m->slices, &c); more; more = omap_next(&c))
		top_slice_free(omap_value(&c));
	omap_release(&m->slices);
}

struct top_slice *top_model_put(struct top_model *m, struct str name, struct top_slice *s)
{
	/* The map's key is the new slice's text, because the old one's is freed with it. */
	struct top_slice *old = omap_remove(&m->slices, name);

	if (s)
		(void)omap_put(&m->slices, s->name, s);
	return old;
}

/* --- differences ----------------------------------------------------------------------------- */

struct telling {
	struct arena arena;
	struct map before; /* "driver/pool/device" -> struct seen; pools without device */
	void (*tell)(void *arg, const struct top_change *c);
	void *arg;
};

struct seen {
	const struct top_slice *slice;
	const struct top_device *device; /* NULL: the pool */
	bool met;
};

static struct str model_key_of(struct telling *t, const struct top_slice *s,
			       const struct top_device *d)
{
	return str_from(arena_printf(&t->arena, "%.*s/%.*s/%.*s", STR_ARG(s->driver),
				     STR_ARG(s->pool), STR_ARG(d ? d->name : STR_NULL)));
}

static void model_remember(struct telling *t, const struct top_slice *s, const struct top_device *d)
{
	struct seen *seen = ARENA_NEW(&t->arena, struct seen);

	*seen = (struct seen){ .slice = s, .device = d };
	(void)map_put(&t->before, model_key_of(t, s, d), seen);
}

static struct top_change change_of(enum top_change_kind kind, const struct top_slice *s,
				   const struct top_device *d)
{
	struct top_change c = { .kind = kind, .driver = s->driver, .pool = s->pool };

	if (!d)
		return c;
	c.device = d->name;
	c.reason = d->fact.reason;
	c.holders = d->holders;
	c.nholders = d->nholders;
	c.omitted = d->fact.omitted;
	return c;
}

static struct str state_text(const struct top_device *d)
{
	return str_from(device_fact_state_name(d->fact.state));
}

static bool same_holders(const struct top_device *a, const struct top_device *b)
{
	if (a->nholders != b->nholders)
		return false;
	for (size_t i = 0; i < a->nholders; i++)
		if (!str_eq(a->holders[i].ns, b->holders[i].ns) ||
		    !str_eq(a->holders[i].claim, b->holders[i].claim))
			return false;
	return true;
}

static bool same_state(const struct top_device *a, const struct top_device *b)
{
	return a->fact.state == b->fact.state && str_eq(a->fact.reason, b->fact.reason) &&
	       same_holders(a, b);
}

static void tell_state(struct telling *t, const struct top_device *old, const struct top_slice *s,
		       const struct top_device *d)
{
	struct top_change c = change_of(old ? TOP_STATE : TOP_ADDED, s, d);

	if (old && same_state(old, d))
		return;
	c.from = old ? state_text(old) : STR_NULL;
	c.to = state_text(d);
	if (old && !d->nholders) { /* the previous holders */
		c.holders = old->holders;
		c.nholders = old->nholders;
		c.omitted = old->fact.omitted;
	}
	t->tell(t->arg, &c);
}

static bool is_ill(const struct top_device *d)
{
	return d && d->fact.health.n > 0 && !str_eqz(d->fact.health, "Healthy");
}

/* A pod that ends no longer reports a healthy device: that is not worth a line. */
static void tell_health(struct telling *t, const struct top_device *old, const struct top_slice *s,
			const struct top_device *d)
{
	struct top_change c = change_of(TOP_HEALTH, s, d);

	if ((!is_ill(old) && !is_ill(d)) || (old && str_eq(old->fact.health, d->fact.health) &&
					     str_eq(old->fact.message, d->fact.message)))
		return;
	c.from = old ? device_fact_health_name(&old->fact) : STR_NULL;
	c.to = device_fact_health_name(&d->fact);
	c.reason = d->fact.message;
	t->tell(t->arg, &c);
}

static bool says_taint(const struct top_device *d)
{
	return str_starts(d->fact.reason, STR("Tainted"));
}

static void tell_taint(struct telling *t, const struct top_device *old, const struct top_slice *s,
		       const struct top_device *d)
{
	struct top_change c = change_of(TOP_TAINT, s, d);
	struct str before = old ? old->taint : STR_NULL;
	bool said = says_taint(d) || (old && says_taint(old));

	if (str_eq(before, d->taint) || (said && !(old && same_state(old, d))))
		return;
	c.from = before.n ? STR("tainted") : STR("not tainted");
	c.to = d->taint.n ? STR("tainted") : STR("not tainted");
	c.reason = d->taint.n ? d->taint : before;
	t->tell(t->arg, &c);
}

static struct str pool_text(const struct top_slice *s)
{
	if (s->complete == TOP_NO)
		return STR("incomplete");
	if (s->valid == TOP_NO)
		return STR("invalid");
	return s->complete == TOP_YES ? STR("complete") : STR("unknown");
}

static void compare_pool(struct telling *t, const struct top_slice *old, const struct top_slice *s)
{
	struct top_change c = change_of(TOP_POOL, s, NULL);

	c.from = old ? pool_text(old) : STR_NULL;
	c.to = pool_text(s);
	c.reason = s->pool_message;
	/* A new pool without faults is not reported: its devices are. */
	if (old ? !str_eq(c.from, c.to) : s->complete == TOP_NO || s->valid == TOP_NO)
		t->tell(t->arg, &c);
}

static void compare_slice(struct telling *t, const struct top_slice *s)
{
	struct seen *seen;

	for (size_t i = 0; i < s->n; i++) {
		const struct top_device *d = &s->devices[i], *old = NULL;

		seen = map_get(&t->before, model_key_of(t, s, d));
		if (seen) {
			seen->met = true;
			old = seen->device;
		}
		tell_state(t, old, s, d);
		tell_health(t, old, s, d);
		tell_taint(t, old, s, d);
	}
	if (!s->has_pool)
		return;
	seen = map_get(&t->before, model_key_of(t, s, NULL));
	compare_pool(t, seen ? seen->slice : NULL, s);
}

static void tell_gone(struct telling *t, const struct top_slice *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct seen *seen = map_get(&t->before, model_key_of(t, s, &s->devices[i]));
		struct top_change c = change_of(TOP_REMOVED, s, &s->devices[i]);

		if (seen->met || seen->device != &s->devices[i])
			continue;
		c.from = state_text(&s->devices[i]);
		t->tell(t->arg, &c);
	}
}

void top_changes(struct top_slice *const *old, size_t nold, struct top_slice *const *now,
		 size_t nnow, void (*tell)(void *arg, const struct top_change *c), void *arg)
{
	struct telling t = { .tell = tell, .arg = arg };

	arena_init(&t.arena, SIZE_MAX);
	map_init(&t.before);
	for (size_t i = 0; i < nold; i++) {
		for (size_t k = 0; k < old[i]->n; k++)
			model_remember(&t, old[i], &old[i]->devices[k]);
		if (old[i]->has_pool)
			model_remember(&t, old[i], NULL);
	}
	for (size_t i = 0; i < nnow; i++)
		compare_slice(&t, now[i]);
	for (size_t i = 0; i < nold; i++)
		tell_gone(&t, old[i]);
	map_release(&t.before);
	arena_release(&t.arena);
}
