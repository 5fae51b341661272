/*
 * Devices are read after pools and counter sets, which they refer to. Pools that the vendor does
 * not list are those of the node.
 */
#include "drivers/prepare/device_table.h"

#include "api/schema/names.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "drivers/drivers_limits.h"
#include "drivers/prepare/abi.h"
#include "drivers/prepare/device_check.h"
#include "drivers/prepare/device_spec.h"

enum { PLUGIN_ID_MAX = 253 };

static struct str device_table_text_of(const char *z)
{
	return str_from(z ? z : "");
}

char *device_message_dup(const char *text)
{
	struct str s = device_table_text_of(text);

	if (s.n > DRIVER_MESSAGE_MAX) {
		s.n = DRIVER_MESSAGE_MAX;
		while (s.n > 0 && ((unsigned char)s.p[s.n] & 0xc0) == 0x80)
			s.n--;
	}
	return s.n > 0 && str_is_utf8(s) ? str_dup(s) : NULL;
}

/* --- one device --------------------------------------------------------------------------- */

static int check_device(const struct device *d, const struct dp_device *in, bool plugin,
			struct error *err)
{
	const char *fault = NULL;

	if (plugin && (d->name.n == 0 || d->name.n > PLUGIN_ID_MAX || !str_is_utf8(d->name)))
		fault = "its name must be UTF-8 of 1 to 253 bytes";
	else if (!plugin)
		fault = names_dns_label(d->name);
	if (!fault && in->health > DP_UNREPORTED)
		fault = "its health is invalid";
	if (!fault && in->nattributes + (uint64_t)in->ncapacity > DEVICE_ATTRIBUTES_MAX)
		fault = "it has more than 32 attributes and capacities";
	return fault ? error_set(err, ERR_INVALID, "%s", fault) : 0;
}

static bool selects_nodes(const struct device *d)
{
	return json_getz(d->spec, "nodeName") || json_getz(d->spec, "nodeSelector") ||
	       json_getz(d->spec, "allNodes");
}

/* Whether rules between several fields apply to the device. */
static bool has_rules(const struct device *d)
{
	static const char *const members[] = { "consumesCounters", "allowMultipleAllocations",
					       "bindsToNode", "bindingConditions",
					       "bindingFailureConditions" };

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (json_getz(d->spec, members[i]))
			return true;
	JSON_FOREACH (it, json_getz(d->spec, "capacity"))
		if (json_getz(it, "requestPolicy"))
			return true;
	return selects_nodes(d);
}

/* A slice of this device alone must be valid. */
static int check_rules(struct device_table *t, const struct device *d, struct error *err)
{
	struct json *slice, *device;

	if (!has_rules(d))
		return 0;
	slice = json_make_object(&t->arena);
	json_put_bool(&t->arena, slice, selects_nodes(d) ? "perDeviceNodeSelection" : "allNodes",
		      true);
	(void)json_copy(&t->arena, d->spec, &device, NULL);
	json_append(json_need_array(&t->arena, slice, "devices"), device);
	return device_check_slice(d->pool, slice, err);
}

/* The allocator ignores a whole pool in which a device refers to an unknown counter. */
static int check_counters(const struct device *d, struct error *err)
{
	JSON_FOREACH (use, json_getz(d->spec, "consumesCounters")) {
		struct str name = json_text_at(use, "counterSet");
		const struct json *set = NULL;

		for (size_t i = 0; !set && i < d->in->nsets; i++)
			if (str_eq(json_text_at(d->in->sets[i], "name"), name))
				set = d->in->sets[i];
		if (!set)
			return error_set(err, ERR_INVALID,
					 "pool \"%s\" has no counter set \"%.*s\"", d->in->name.p,
					 STR_ARG(name));
		JSON_FOREACH (it, json_getz(use, "counters"))
			if (!json_get(json_getz(set, "counters"), json_key(it)))
				return error_set(err, ERR_INVALID,
						 "counter set \"%.*s\" has no counter \"%.*s\"",
						 STR_ARG(name), STR_ARG(json_key(it)));
	}
	return 0;
}

static void note_in_pool(struct device *d)
{
	d->in->per_device = d->in->per_device || selects_nodes(d);
	d->in->common = d->in->common || d->in->per_device;
	d->in->costly = d->in->costly || json_getz(d->spec, "taints") ||
			json_getz(d->spec, "consumesCounters");
}

static struct device_pool *need_pool(struct device_table *t, struct str name,
				     const struct device_defaults *defaults);

static int device_table_fill(struct device_table *t, struct device *d, const struct dp_device *in,
			     const struct device_defaults *defaults, struct error *err)
{
	struct arena *a = &t->arena;
	int r;

	d->name = arena_str(a, device_table_text_of(in->name));
	d->in = need_pool(t, in->pool && *in->pool ? str_from(in->pool) : defaults->pool, defaults);
	d->pool = d->in->name;
	d->key = str_from(arena_printf(a, "%s/%s", d->pool.p, d->name.p));
	d->health = in->health;
	d->updated_s = defaults->now_s;
	d->timeout_s = in->health_timeout_s ? in->health_timeout_s : defaults->timeout_s;
	d->numa = in->has_numa ? in->numa : -1;
	d->spec = json_make_object(a);
	json_put_str(a, d->spec, "name", d->name);
	r = check_device(d, in, defaults->plugin, err);
	if (r == 0)
		r = device_spec_fill(a, d->spec, in, err);
	if (r == 0 && !defaults->plugin)
		r = check_rules(t, d, err);
	if (r == 0)
		r = check_counters(d, err);
	if (r < 0)
		return error_wrap(err, r, "device \"%s\"", d->name.p);
	if (map_put(&t->by_key, d->key, d))
		return error_set(err, ERR_INVALID, "device \"%s\" is there twice in pool \"%s\"",
				 d->name.p, d->pool.p);
	note_in_pool(d);
	d->message = device_message_dup(in->message);
	return 0;
}

/* Where one device of a pool selects its nodes, the others get those of the pool. */
static void select_nodes(struct device_table *t, struct device *d)
{
	struct json *copy;

	if (!d->in->per_device || selects_nodes(d))
		return;
	JSON_FOREACH (it, d->in->nodes) {
		(void)json_copy(&t->arena, it, &copy, NULL);
		json_set(d->spec, json_key(it), copy);
	}
}

/* --- pools and counter sets --------------------------------------------------------------- */

static struct device_pool *add_pool(struct device_table *t, struct str name)
{
	struct device_pool *p = &t->pools[t->npools++];

	p->name = arena_str(&t->arena, name);
	p->nodes = json_make_object(&t->arena);
	map_put(&t->by_pool, p->name, p);
	return p;
}

static struct device_pool *need_pool(struct device_table *t, struct str name,
				     const struct device_defaults *defaults)
{
	struct device_pool *p = map_get(&t->by_pool, name);

	if (p)
		return p;
	p = add_pool(t, name);
	json_put_str(&t->arena, p->nodes, "nodeName", arena_str(&t->arena, defaults->pool));
	return p;
}

static int read_pool(struct device_table *t, const struct dp_pool *in,
		     const struct device_defaults *defaults, struct error *err)
{
	struct str name = device_table_text_of(in->name);
	struct device_pool *p;
	int r;

	if (map_get(&t->by_pool, name))
		return error_set(err, ERR_INVALID, "it is there twice");
	if (str_eq(name, defaults->pool))
		return error_set(err, ERR_INVALID,
				 "it is the node's own; choose another name for other nodes");
	p = add_pool(t, name);
	p->common = true;
	p->prepare_only = in->prepare_only != 0;
	r = device_spec_nodes(&t->arena, p->nodes, NULL, in->node_selector, in->all_nodes, err);
	if (r == 0 && json_count(p->nodes) == 0)
		r = error_set(err, ERR_INVALID, "give all_nodes or node_selector");
	return r < 0 ? r : device_check_slice(name, p->nodes, err);
}

static int read_pools(struct device_table *t, const struct dp_inventory *in,
		      const struct device_defaults *defaults, struct error *err)
{
	struct dp_pool p;
	int r = 0;

	for (size_t i = 0; r == 0 && i < in->npools; i++) {
		if (!ABI_READ(&p, in->pools, i))
			return error_set(err, ERR_INVALID, "struct dp_pool has no size");
		r = read_pool(t, &p, defaults, err);
		if (r < 0)
			return error_wrap(err, r, "pool \"%s\"", device_table_text_of(p.name).p);
	}
	return r;
}

static int read_set(struct device_table *t, struct device_pool *p, const struct dp_counter_set *in,
		    struct error *err)
{
	struct json *slice = json_make_object(&t->arena), *set = json_make_object(&t->arena);
	struct json *counters, *copy;
	struct str name = device_table_text_of(in->name);
	int r = device_spec_counters(&t->arena, in->counters, in->ncounters, &counters, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < p->nsets; i++)
		if (str_eq(json_text_at(p->sets[i], "name"), name))
			return error_set(err, ERR_INVALID, "it is there twice");
	json_put_str(&t->arena, set, "name", arena_str(&t->arena, name));
	json_setz(set, "counters", counters);
	(void)json_copy(&t->arena, set, &copy, NULL);
	json_put_bool(&t->arena, slice, "allNodes", true);
	json_append(json_need_array(&t->arena, slice, "sharedCounters"), copy);
	p->sets[p->nsets++] = set;
	return device_check_slice(p->name, slice, err);
}

static int read_sets(struct device_table *t, const struct dp_inventory *in,
		     const struct device_defaults *defaults, struct error *err)
{
	struct dp_counter_set set;
	struct device_pool *p;
	int r;

	for (size_t i = 0; i < in->nsets; i++) {
		if (!ABI_READ(&set, in->sets, i))
			return error_set(err, ERR_INVALID, "struct dp_counter_set has no size");
		p = need_pool(t, set.pool && *set.pool ? str_from(set.pool) : defaults->pool,
			      defaults);
		if (!p->sets)
			p->sets = ARENA_ARRAY(&t->arena, struct json *, in->nsets);
		r = read_set(t, p, &set, err);
		if (r < 0)
			return error_wrap(err, r, "counter set \"%s\"",
					  device_table_text_of(set.name).p);
	}
	return 0;
}

/* --- the table ---------------------------------------------------------------------------- */

static int read_devices(struct device_table *t, const struct dp_inventory *in,
			const struct device_defaults *defaults, struct error *err)
{
	struct dp_device device;
	int r;

	for (size_t i = 0; i < in->ndevices; i++) {
		if (!ABI_READ_GROWN(&device, in->devices, i, consumes))
			return error_set(err, ERR_INVALID, "struct dp_device has no size");
		t->n++;
		r = device_table_fill(t, &t->v[i], &device, defaults, err);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < t->n; i++)
		select_nodes(t, &t->v[i]);
	return 0;
}

static int check_numbers(const struct dp_inventory *in, struct error *err)
{
	if (in->ndevices > DRIVER_DEVICES_MAX)
		return error_set(err, ERR_TOO_LARGE, "%zu devices are more than %d",
				 (size_t)in->ndevices, DRIVER_DEVICES_MAX);
	if (in->nsets > DRIVER_DEVICES_MAX || in->npools > DRIVER_DEVICES_MAX)
		return error_set(err, ERR_TOO_LARGE, "there are more than %d counter sets or pools",
				 DRIVER_DEVICES_MAX);
	return 0;
}

int device_table_from(const struct dp_inventory *inventory, const struct device_defaults *defaults,
		      struct device_table **ret_table, struct error *err)
{
	CLEANUP(device_table_free) struct device_table *t = XNEW(struct device_table);
	struct dp_inventory in;
	int r;

	arena_init(&t->arena, SIZE_MAX);
	map_init(&t->by_key);
	map_init(&t->by_pool);
	if (!inventory || !ABI_READ(&in, inventory, 0))
		return error_set(err, ERR_INVALID, "struct dp_inventory has no size");
	r = check_numbers(&in, err);
	if (r < 0)
		return r;
	t->v = xcalloc(in.ndevices ? in.ndevices : 1, sizeof(*t->v));
	t->pools = xcalloc(in.ndevices + in.nsets + in.npools + 1, sizeof(*t->pools));
	map_reserve(&t->by_key, in.ndevices);
	r = read_pools(t, &in, defaults, err);
	if (r == 0)
		r = read_sets(t, &in, defaults, err);
	if (r == 0)
		r = read_devices(t, &in, defaults, err);
	if (r < 0)
		return r;
	*ret_table = TAKE(t);
	return 0;
}

int device_table_new(const struct dp_device *v, size_t n, const struct device_defaults *defaults,
		     struct device_table **ret_table, struct error *err)
{
	struct dp_inventory in = { .size = sizeof(in), .devices = v, .ndevices = n };

	return device_table_from(&in, defaults, ret_table, err);
}

void device_table_free(struct device_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++) {
		free(t->v[i].message);
		device_taints_free(t->v[i].taints);
	}
	free(t->v);
	free(t->pools);
	map_release(&t->by_key);
	map_release(&t->by_pool);
	arena_release(&t->arena);
	free(t);
}

struct device *device_table_find(const struct device_table *t, struct str pool, struct str name)
{
	CLEANUP(buf_release) struct buf key = BUF_INIT(KIB);

	if (!t)
		return NULL;
	(void)buf_printf(&key, "%.*s/%.*s", STR_ARG(pool), STR_ARG(name));
	return map_get(&t->by_key, buf_str(&key));
}

void device_set_health(struct device *d, uint32_t health, char *message, int64_t now_s)
{
	free(d->message);
	d->message = message;
	d->health = health;
	d->updated_s = now_s;
}

struct device_pool *device_table_pool(const struct device_table *t, struct str name)
{
	return t ? map_get(&t->by_pool, name) : NULL;
}

/* --- taints ------------------------------------------------------------------------------- */

int device_taints_new(const struct dp_taint *v, size_t n, struct device_taints **ret_taints,
		      struct error *err)
{
	struct device_taints *t = XNEW(struct device_taints);
	int r;

	arena_init(&t->arena, DRIVER_TAINTS_MAX);
	r = device_spec_taints(&t->arena, v, n, &t->list, err);
	if (r < 0) {
		device_taints_free(t);
		return r;
	}
	*ret_taints = t;
	return 0;
}

void device_taints_free(struct device_taints *t)
{
	if (!t)
		return;
	arena_release(&t->arena);
	free(t);
}

const struct json *device_taints_of(const struct device *d)
{
	const struct json *list = d->taints ? d->taints->list : json_getz(d->spec, "taints");

	return json_count(list) > 0 ? list : NULL;
}

bool device_set_taints(struct device *d, struct device_taints *taints)
{
	const struct json *now = device_taints_of(d);
	bool same = now ? json_equal(now, taints->list) : json_count(taints->list) == 0;

	/* Stays set: slices are not divided anew when the last taint goes. */
	d->in->costly = d->in->costly || json_count(taints->list) > 0;
	device_taints_free(d->taints);
	d->taints = taints;
	return !same;
}
