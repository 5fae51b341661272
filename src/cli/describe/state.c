/*
 * Texts on availability that are used in several places. A claim is named only to users who may
 * get claims of its namespace; others see the number of claims.
 */
#include "base/core/limits.h"
#include "base/core/vec.h"
#include "base/json/quantity.h"
#include "cli/describe/devices.h"
#include "cli/devices/claim_sight.h"
#include "cli/devices/groups.h"
#include "client/api/discovery.h"

/* --- claims ---------------------------------------------------------------------------------- */

static bool may_name(struct describe *d, struct str ns)
{
	return d->sight && claim_sight_may(d->sight, ns);
}

static bool may_name_to(void *describe, struct str ns)
{
	return may_name(describe, ns);
}

size_t describe_hidden_claims(struct describe *d, const struct json *device, size_t *ret_shown)
{
	struct str last = STR_NULL;
	size_t hidden = 0;

	*ret_shown = 0;
	JSON_FOREACH (it, json_getz(device, "allocations")) {
		struct str uid = json_text_at(it, "claimUID");

		if (may_name(d, json_text_at(it, "claimNamespace"))) {
			(*ret_shown)++;
			continue;
		}
		hidden += !str_eq(uid, last); /* allocations of one claim are adjacent */
		last = uid;
	}
	return hidden;
}

/* ", 3 more claims, 12 more allocations": hidden from the user, and omitted by the status. */
static void add_others(struct buf *text, size_t hidden, size_t omitted)
{
	const char *more = text->n > 0 ? " more" : "";

	if (hidden > 0)
		(void)buf_printf(text, "%s%zu%s claim%s", text->n > 0 ? ", " : "", hidden, more,
				 hidden == 1 ? "" : "s");
	more = text->n > 0 ? " more" : "";
	if (omitted > 0)
		(void)buf_printf(text, "%s%zu%s allocation%s", text->n > 0 ? ", " : "", omitted,
				 more, omitted == 1 ? "" : "s");
}

struct str describe_state(struct describe *d, const struct json *device)
{
	CLEANUP(buf_release) struct buf others = BUF_INIT(KIB);
	struct device_fact f = device_fact_read(device);
	size_t shown, hidden = describe_hidden_claims(d, device, &shown);

	if (f.state == DEVICE_FACT_UNKNOWN)
		return STR("<unknown>");
	if (shown == 0)
		add_others(&others, hidden, f.omitted);
	if (others.n == 0)
		return device_fact_state_text(&f);
	return str_from(arena_printf(d->arena, "%.*s (%.*s)", STR_ARG(device_fact_state_text(&f)),
				     STR_ARG(buf_str(&others))));
}

struct str describe_fact_health(struct describe *d, const struct json *device)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);
	struct device_fact f = device_fact_read(device);

	if (f.health.n == 0)
		return STR_NULL;
	(void)buf_add_str(&text, describe_health(d, f.health));
	if (f.message.n > 0)
		(void)buf_printf(&text, " (%.*s)", STR_ARG(describe_clean(d, f.message)));
	if (f.since.n > 0)
		(void)buf_printf(&text, " since %.*s", STR_ARG(describe_clean(d, f.since)));
	return arena_str(d->arena, buf_str(&text));
}

struct str describe_held_by(struct describe *d, const struct json *device)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);
	struct str last = STR_NULL;
	size_t shown, hidden = describe_hidden_claims(d, device, &shown);

	JSON_FOREACH (it, json_getz(device, "allocations")) {
		struct str ns = json_text_at(it, "claimNamespace");
		struct str uid = json_text_at(it, "claimUID");

		if (!may_name(d, ns) || str_eq(uid, last))
			continue;
		last = uid;
		(void)buf_printf(&text, "%s%.*s/%.*s", text.n > 0 ? ", " : "",
				 STR_ARG(describe_clean(d, ns)),
				 STR_ARG(describe_clean(d, json_text_at(it, "claimName"))));
	}
	add_others(&text, hidden, device_fact_read(device).omitted);
	return arena_str(d->arena, buf_str(&text));
}

struct str describe_holders(struct describe *d, const struct json *device)
{
	size_t shown;

	(void)describe_hidden_claims(d, device, &shown);
	return shown > 0 ? describe_held_by(d, device) : STR_NULL;
}

struct str describe_pool_message(struct describe *d, struct str message)
{
	return describe_clean(d, claim_sight_message(d->arena, may_name_to, d, message));
}

/* --- devices --------------------------------------------------------------------------------- */

static bool is_said(const struct json *selector, const char *name, struct str value)
{
	const struct json *want = json_getz(selector, name);

	return !want || str_eq(json_str(want), value);
}

/* A rule without a selector selects no device. */
static bool is_selected(const struct json *rule, const struct device_view_slice *s,
			const struct json *device)
{
	const struct json *selector = json_getz(json_getz(rule, "spec"), "deviceSelector");

	return json_is(selector, JSON_OBJECT) &&
	       is_said(selector, "driver", json_text_at(s->spec, "driver")) &&
	       is_said(selector, "pool", json_text_at(json_getz(s->spec, "pool"), "name")) &&
	       is_said(selector, "device", json_text_at(device, "name"));
}

static void add_taint(struct describe *d, struct buf *text, const struct json *taint)
{
	struct str one = device_view_taint(d->arena, json_text_at(taint, "key"),
					   json_text_at(taint, "value"),
					   json_text_at(taint, "effect"));

	(void)buf_printf(text, "%s%.*s", text->n > 0 ? ", " : "", STR_ARG(one));
}

struct str describe_device_taints(struct describe *d, const struct device_view_slice *s,
				  const struct json *device)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);

	JSON_FOREACH (it, json_getz(device, "taints"))
		add_taint(d, &text, it);
	JSON_FOREACH (it, describe_rules(d)) {
		struct str name = json_text_at(json_getz(it, "metadata"), "name");

		if (!is_selected(it, s, device))
			continue;
		add_taint(d, &text, json_getz(json_getz(it, "spec"), "taint"));
		(void)buf_printf(&text, " (rule %.*s)", STR_ARG(name));
	}
	return describe_clean(d, buf_str(&text));
}

/* --- summaries ------------------------------------------------------------------------------- */

struct sum {
	struct str name;
	struct quantity value;
};
typedef VEC(struct sum) sums;

static void add_amount(sums *s, struct str name, const struct json *amount)
{
	struct quantity q;

	if (!quantity_read(amount, &q))
		return;
	for (size_t i = 0; i < s->n; i++) {
		if (str_eq(s->v[i].name, name)) {
			s->v[i].value = quantity_add(s->v[i].value, q);
			return;
		}
	}
	(void)vec_push(s, (struct sum){ name, q });
}

static void describe_sums(struct describe *d, int level, const struct device_view_slice *v,
			  size_t n, const char *key)
{
	struct json *object = json_make_object(d->arena);
	sums s;

	vec_init(&s, SIZE_MAX / sizeof(struct sum));
	for (size_t i = 0; i < n; i++) {
		JSON_FOREACH (it, json_getz(json_getz(v[i].status, "summary"), key)) {
			if (!v[i].older)
				add_amount(&s, json_key(it), it);
		}
	}
	for (size_t i = 0; i < s.n; i++) {
		CLEANUP(buf_release) struct buf text = BUF_INIT(KIB);

		(void)quantity_print(s.v[i].value, &text);
		json_set(object, s.v[i].name,
			 json_make_str(d->arena, arena_str(d->arena, buf_str(&text))));
	}
	if (s.n > 0)
		describe_line(d, level, "%.*s:", STR_ARG(describe_label(d, str_from(key))));
	describe_named(d, level + 1, object);
	vec_release(&s);
}

static void group_line(struct describe *d, int level, const struct device_group *g)
{
	CLEANUP(buf_release) struct buf cells = BUF_INIT(KIB);

	for (size_t i = 0; i < DEVICE_COUNTS_COLUMNS; i++)
		(void)buf_printf(&cells, "\t%zu", device_counts_at(&g->counts, i));
	describe_line(d, level, "%.*s%.*s", STR_ARG(describe_clean(d, g->type)),
		      STR_ARG(buf_str(&cells)));
}

static void describe_groups(struct describe *d, int level, const struct device_view_slice *v,
			    size_t n, const struct json *classes)
{
	struct device_groups *groups;
	size_t count = device_groups_make(d->arena, v, n, classes, &groups);

	for (size_t i = 0; i < count; i++) {
		describe_line(d, level,
			      "By %.*s:", STR_ARG(describe_clean(d, groups[i].attribute)));
		describe_head_at(d, level + 1,
				 "Type\tDevices\tFree\tPartial\tAllocated\tUnavailable\tUnhealthy");
		for (size_t k = 0; k < groups[i].n; k++)
			group_line(d, level + 1, &groups[i].v[k]);
	}
}

static bool has_shared(const struct device_view_slice *s)
{
	JSON_FOREACH (it, json_getz(s->spec, "devices")) {
		if (json_true_at(it, "allowMultipleAllocations"))
			return true;
	}
	return false;
}

/* The KEP's words. States without devices are left out, except for the first two. */
static void describe_counts(struct describe *d, int level, const struct device_counts *c,
			    bool shared)
{
	size_t unknown = c->by_state[DEVICE_FACT_UNKNOWN];

	describe_line(d, level, "Total Devices:\t%zu", c->devices);
	if (c->devices > 0 && unknown == c->devices) {
		describe_line(d, level, "Allocated Devices:\t<unknown>");
		describe_line(d, level, "Available Devices:\t<unknown>");
		return;
	}
	describe_line(d, level, "Allocated Devices:\t%zu", c->by_state[DEVICE_ALLOCATED]);
	describe_line(d, level, "Available Devices:\t%zu", c->by_state[DEVICE_AVAILABLE]);
	if (shared || c->by_state[DEVICE_PARTIALLY_ALLOCATED] > 0)
		describe_line(d, level, "Partially Allocated Devices:\t%zu",
			      c->by_state[DEVICE_PARTIALLY_ALLOCATED]);
	if (c->by_state[DEVICE_UNAVAILABLE] > 0)
		describe_line(d, level, "Unavailable Devices:\t%zu",
			      c->by_state[DEVICE_UNAVAILABLE]);
	if (unknown > 0)
		describe_line(d, level, "Unknown Devices:\t%zu", unknown);
	if (c->unhealthy > 0)
		describe_line(d, level, "Unhealthy Devices:\t%zu", c->unhealthy);
}

void describe_summary(struct describe *d, int level, const struct device_view_slice *v, size_t n,
		      const struct json *classes)
{
	struct device_counts sum = { 0 }, counts;
	bool shared = false;

	for (size_t i = 0; i < n; i++) {
		if (v[i].older)
			continue;
		counts = device_view_count(&v[i]);
		device_counts_sum(&sum, &counts);
		shared |= has_shared(&v[i]);
	}
	describe_line(d, level, "Summary:");
	describe_counts(d, level + 1, &sum, shared);
	if (sum.devices > 0 && sum.by_state[DEVICE_FACT_UNKNOWN] == sum.devices)
		return;
	describe_sums(d, level + 1, v, n, "totalCapacity");
	describe_sums(d, level + 1, v, n, "allocatedCapacity");
	describe_sums(d, level + 1, v, n, "availableCapacity");
	describe_groups(d, level + 1, v, n, classes);
}

void describe_origins(struct describe *d, int level, const struct device_view_slice *v, size_t n,
		      struct str note)
{
	bool told = note.n == 0;

	for (size_t i = 0; i < n; i++) {
		const struct json *meta = json_getz(v[i].object, "metadata");
		bool published = v[i].source != DEVICE_VIEW_COMPUTED &&
				 v[i].source != DEVICE_VIEW_NONE;

		if (!told && !v[i].older && !published) {
			describe_line(d, level, "(%.*s)", STR_ARG(describe_clean(d, note)));
			told = true;
		}
		if (v[i].stale)
			describe_line(d, level,
				      "(stale: %.*s has generation %lld, its status is of %lld)",
				      STR_ARG(describe_clean(d, v[i].name)),
				      (long long)json_i64_at(meta, "generation", 0),
				      (long long)json_i64_at(v[i].status, "observedGeneration", 0));
	}
}

const struct json *describe_classes(struct describe *d, const struct device_view_slice *v, size_t n)
{
	struct resource classes;
	const struct json *list;
	struct error err;

	if (d->classes && *d->classes)
		return *d->classes;
	if (d->hidden || !d->kube || !device_groups_want_classes(v, n) ||
	    device_view_resource(d->kube, "deviceclasses", &classes, &err) < 0)
		return NULL;
	list = describe_list(d, &classes, STR_NULL, STR_NULL);
	if (d->classes)
		*d->classes = list ? list : json_make_array(d->arena);
	return list;
}

const struct json *describe_rules(struct describe *d)
{
	const struct json *list = NULL;
	struct error err;

	if (d->rules && *d->rules)
		return *d->rules;
	if (d->kube)
		(void)device_view_rules(d->kube, &list, &err);
	if (d->rules)
		*d->rules = list ? list : json_make_array(d->arena);
	return list;
}
