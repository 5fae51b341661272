/*
 * Reads a ResourceSlice of resource.k8s.io/v1 into one block (see struct pack). It relies on API
 * validation, and only checks facts that memory safety depends on, and values that cannot be
 * parsed.
 */
#include <assert.h>

#include "base/core/limits.h"
#include "base/time/timestamp.h"

#include "api/api_limits.h"
#include "dra/inventory/store.h"

struct reading {
	struct pack *pack;
	struct inventory_slice *slice;
	struct str driver;
	struct error *err;
};

/* --- node selection ----------------------------------------------------------------- */

static struct selector pack_requirements(struct pack *p, const struct selector *s)
{
	struct selector_term *terms = PACK_ARRAY(p, struct selector_term, s->n);

	for (size_t i = 0; i < s->n; i++) {
		const struct selector_term *from = &s->terms[i];
		struct str *values = PACK_ARRAY(p, struct str, from->nvalues);

		for (size_t k = 0; k < from->nvalues; k++)
			values[k] = pack_text(p, from->values[k]);
		terms[i] = (struct selector_term){ pack_text(p, from->key), from->op, values,
						   from->nvalues };
	}
	return (struct selector){ terms, s->n };
}

static int slice_read_selector(struct reading *r, const struct json *v,
			       struct inventory_nodes *nodes)
{
	struct buf text = BUF_INIT(OBJECT_MAX);
	struct node_selector_term *terms;
	struct node_selector *copy, s;
	int ret = node_selector_read(&r->pack->scratch, v, &s, r->err);

	if (ret < 0)
		return ret;
	copy = PACK_NEW(r->pack, struct node_selector);
	terms = PACK_ARRAY(r->pack, struct node_selector_term, s.n);
	for (size_t i = 0; i < s.n; i++) {
		terms[i].labels = pack_requirements(r->pack, &s.terms[i].labels);
		terms[i].fields = pack_requirements(r->pack, &s.terms[i].fields);
	}
	*copy = (struct node_selector){ terms, s.n };
	nodes->selector = copy;
	ret = json_print(&text, v, NULL);
	nodes->selector_text = pack_text(r->pack, buf_str(&text));
	buf_release(&text);
	return ret < 0 ? error_set(r->err, ERR_INVALID, "nodeSelector is too large") : 0;
}

/*
 * Reads the node selection of a spec or device. The first field that is set decides, in upstream's
 * order.
 */
static int read_nodes(struct reading *r, const struct json *v, struct inventory_nodes *nodes)
{
	const struct json *selector = json_getz(v, "nodeSelector");
	struct str name = json_text_at(v, "nodeName");

	if (name.n > 0) {
		nodes->kind = INVENTORY_NODES_NAME;
		nodes->name = pack_near(r->pack, name);
	} else if (json_true_at(v, "allNodes")) {
		nodes->kind = INVENTORY_NODES_ALL;
	} else if (json_is(selector, JSON_OBJECT)) {
		nodes->kind = INVENTORY_NODES_SELECTOR;
		return slice_read_selector(r, selector, nodes);
	} else if (json_true_at(v, "perDeviceNodeSelection")) {
		nodes->kind = INVENTORY_NODES_PER_DEVICE;
	}
	return 0;
}

static int read_device_nodes(struct reading *r, const struct json *v, struct inventory_device *d)
{
	struct inventory_nodes *nodes;

	if (r->slice->nodes.kind != INVENTORY_NODES_PER_DEVICE)
		return 0;
	nodes = PACK_NEW(r->pack, struct inventory_nodes);
	d->nodes = nodes;
	return read_nodes(r, v, nodes);
}

/* --- capacities --------------------------------------------------------------------- */

/* Returns 1 if read, 0 if absent, or an error. */
static int slice_read_quantity(struct reading *r, const struct json *parent, const char *key,
			       struct quantity *ret_q)
{
	const struct json *v = json_getz(parent, key);

	if (!v || json_is(v, JSON_NULL))
		return 0;
	if (!quantity_read(v, ret_q))
		return error_set(r->err, ERR_INVALID, "%s is not a quantity", key);
	return 1;
}

static int read_flagged(struct reading *r, const struct json *parent, const char *key,
			struct quantity *ret_q, bool *ret_flag)
{
	int ret = slice_read_quantity(r, parent, key, ret_q);

	*ret_flag = ret > 0;
	return MIN(ret, 0);
}

static int read_range(struct reading *r, const struct json *range, struct inventory_policy *policy)
{
	int ret;

	policy->has_range = json_is(range, JSON_OBJECT);
	ret = read_flagged(r, range, "min", &policy->min, &policy->has_min);
	if (ret == 0)
		ret = read_flagged(r, range, "max", &policy->max, &policy->has_max);
	if (ret == 0)
		ret = read_flagged(r, range, "step", &policy->step, &policy->has_step);
	return ret;
}

static int read_policy(struct reading *r, const struct json *v,
		       const struct inventory_policy **ret_policy)
{
	const struct json *values = json_getz(v, "validValues");
	struct inventory_policy *policy;
	struct quantity *list;
	int ret;

	if (!json_is(v, JSON_OBJECT))
		return 0;
	if (json_count(values) > CAPACITY_VALUES_MAX)
		return error_set(r->err, ERR_INVALID, "too many validValues");
	policy = PACK_NEW(r->pack, struct inventory_policy);
	list = PACK_ARRAY(r->pack, struct quantity, json_count(values));
	policy->values = list;
	JSON_FOREACH (value, values)
		if (!quantity_read(value, &list[policy->nvalues++]))
			return error_set(r->err, ERR_INVALID, "validValues: not a quantity");
	ret = read_flagged(r, v, "default", &policy->standard, &policy->has_standard);
	*ret_policy = policy;
	return ret < 0 ? ret : read_range(r, json_getz(v, "validRange"), policy);
}

/*
 * Returns the member of spec.devices[].capacity for an item. A name that exists both with and
 * without the driver's domain became two items, the one with the domain first.
 */
static const struct json *capacity_of(const struct reading *r, const struct json *capacities,
				      const struct cel_device_name *name, bool second)
{
	const struct json *found = NULL;

	JSON_FOREACH (v, capacities) {
		struct cel_device_name n = cel_device_name(json_key(v), r->driver);
		bool qualified = str_chr(json_key(v), '/') >= 0;

		if (!str_eq(n.domain, name->domain) || !str_eq(n.id, name->id))
			continue;
		found = v;
		if (qualified != second)
			break;
	}
	return found;
}

static int read_capacities(struct reading *r, const struct json *v, struct inventory_device *d)
{
	struct inventory_capacity *list;

	if (d->view.ncapacity == 0)
		return 0;
	list = PACK_ARRAY(r->pack, struct inventory_capacity, d->view.ncapacity);
	d->capacities = list;
	for (size_t i = 0; i < d->view.ncapacity; i++) {
		const struct cel_device_item *item = &d->view.capacity[i];
		bool second = i > 0 && item->name == item[-1].name;
		const struct json *c = capacity_of(r, json_getz(v, "capacity"), item->name, second);
		struct str key = json_key(c);
		int ret = read_policy(r, json_getz(c, "requestPolicy"), &list[i].policy);

		if (ret < 0)
			return error_wrap(r->err, ret, "capacity %.*s", STR_ARG(key));
		list[i].name = pack_text(r->pack, key);
		list[i].value = item->value.quantity;
	}
	return 0;
}

/* --- taints, counters --------------------------------------------------------------- */

bool inventory_tolerates(const struct json *toleration, const struct inventory_taint *t)
{
	struct str effect = json_text_at(toleration, "effect");
	struct str key = json_text_at(toleration, "key");
	struct str op = json_text_at(toleration, "operator");

	if (effect.n && !str_eq(effect, t->effect_text))
		return false;
	if (key.n && !str_eq(key, t->key))
		return false;
	if (op.n == 0 || str_eqz(op, "Equal"))
		return str_eq(json_text_at(toleration, "value"), t->value);
	return str_eqz(op, "Exists");
}

void inventory_taint_read(struct pack *p, const struct json *v, struct inventory_taint *ret_taint)
{
	struct str effect = json_text_at(v, "effect");

	*ret_taint = (struct inventory_taint){
		.key = pack_text(p, json_text_at(v, "key")),
		.value = pack_text(p, json_text_at(v, "value")),
		.effect_text = pack_text(p, effect),
	};
	if (timestamp_parse(json_text_at(v, "timeAdded"), &ret_taint->added, NULL) < 0)
		ret_taint->added = INT64_MAX;
	if (str_eqz(effect, "NoSchedule"))
		ret_taint->effect = INVENTORY_EFFECT_NO_SCHEDULE;
	else if (str_eqz(effect, "NoExecute"))
		ret_taint->effect = INVENTORY_EFFECT_NO_EXECUTE;
}

static int count_small(struct reading *r, const struct json *array, const char *what, uint8_t *ret)
{
	if (json_count(array) > UINT8_MAX)
		return error_set(r->err, ERR_INVALID, "too many %s", what);
	*ret = (uint8_t)json_count(array);
	return 0;
}

static int read_taints(struct reading *r, const struct json *v, struct inventory_device *d)
{
	const struct json *array = json_getz(v, "taints");
	struct inventory_taint *taints;
	int ret = count_small(r, array, "taints", &d->ntaints);
	size_t n = 0;

	if (ret < 0 || d->ntaints == 0)
		return ret;
	taints = PACK_ARRAY(r->pack, struct inventory_taint, d->ntaints);
	JSON_FOREACH (taint, array)
		inventory_taint_read(r->pack, taint, &taints[n++]);
	d->taints = taints;
	return 0;
}

static int read_consumption(struct reading *r, const struct json *entry, struct inventory_device *d)
{
	struct str set = pack_text(r->pack, json_text_at(entry, "counterSet"));

	JSON_FOREACH (c, json_getz(entry, "counters")) {
		struct inventory_consumption *to = &d->counters[d->ncounters++];

		to->set = set;
		to->counter = pack_text(r->pack, json_key(c));
		to->index = UINT32_MAX;
		if (slice_read_quantity(r, c, "value", &to->amount) <= 0)
			return error_set(r->err, ERR_INVALID, "counter %.*s has no value",
					 STR_ARG(to->counter));
	}
	if (json_count(json_getz(entry, "compatibilityGroups")) > 0)
		d->has_groups = true;
	return 0;
}

static int read_consumptions(struct reading *r, const struct json *v, struct inventory_device *d)
{
	const struct json *array = json_getz(v, "consumesCounters");
	size_t n = 0;

	JSON_FOREACH (entry, array)
		n += json_count(json_getz(entry, "counters"));
	if (n > UINT8_MAX)
		return error_set(r->err, ERR_INVALID, "too many counters");
	d->counters = n ? PACK_ARRAY(r->pack, struct inventory_consumption, n) : NULL;
	JSON_FOREACH (entry, array) {
		int ret = read_consumption(r, entry, d);

		if (ret < 0)
			return ret;
	}
	return 0;
}

/* --- devices ------------------------------------------------------------------------ */

static int read_conditions(struct reading *r, const struct json *v, struct inventory_device *d)
{
	const struct json *binding = json_getz(v, "bindingConditions");
	const struct json *failure = json_getz(v, "bindingFailureConditions");
	int ret = count_small(r, binding, "bindingConditions", &d->nbinding);

	if (ret == 0)
		ret = count_small(r, failure, "bindingFailureConditions", &d->nbinding_failure);
	if (ret < 0)
		return ret;
	d->binding = pack_texts(r->pack, binding);
	d->binding_failure = pack_texts(r->pack, failure);
	d->binds_to_node = json_true_at(v, "bindsToNode");
	return 0;
}

static int slice_read_device(struct reading *r, const struct json *v, struct inventory_device *d)
{
	static int (*const parts[])(struct reading *, const struct json *,
				    struct inventory_device *) = {
		read_capacities, read_taints, read_consumptions, read_conditions, read_device_nodes,
	};
	int ret;

	if (d->name.n == 0)
		return error_set(r->err, ERR_INVALID, "a device has no name");
	d->slice = r->slice;
	ret = cel_device_read_in(v, r->driver, &r->pack->memory, &d->view, r->err);
	for (size_t i = 0; ret == 0 && i < ARRAY_SIZE(parts); i++)
		ret = parts[i](r, v, d);
	if (ret < 0)
		return error_wrap(r->err, ret, "device %.*s", STR_ARG(d->name));
	r->slice->binding |= d->nbinding > 0;
	return 0;
}

static int read_devices(struct reading *r, const struct json *array)
{
	struct inventory_slice *s = r->slice;
	size_t named = 0;

	if (json_count(array) > SLICE_DEVICES_MAX)
		return error_set(r->err, ERR_INVALID, "more than %d devices", SLICE_DEVICES_MAX);
	s->devices = PACK_ARRAY(r->pack, struct inventory_device, json_count(array));
	JSON_FOREACH (v, array)
		s->devices[named++].name = pack_near(r->pack, json_text_at(v, "name"));
	JSON_FOREACH (v, array) {
		int ret = slice_read_device(r, v, &s->devices[s->ndevices]);

		if (ret < 0)
			return ret;
		s->ndevices++;
	}
	return 0;
}

static int read_shared(struct reading *r, const struct json *array)
{
	struct inventory_shared *list;
	size_t n = 0;

	JSON_FOREACH (set, array)
		n += json_count(json_getz(set, "counters"));
	list = PACK_ARRAY(r->pack, struct inventory_shared, n);
	r->slice->counters = list;
	JSON_FOREACH (set, array) {
		JSON_FOREACH (c, json_getz(set, "counters")) {
			struct inventory_shared *to = &list[r->slice->ncounters++];

			to->set = pack_text(r->pack, json_text_at(set, "name"));
			to->name = pack_text(r->pack, json_key(c));
			if (slice_read_quantity(r, c, "value", &to->value) <= 0)
				return error_set(r->err, ERR_INVALID, "counter %.*s has no value",
						 STR_ARG(to->name));
		}
	}
	return 0;
}

/* --- the slice ---------------------------------------------------------------------- */

static void mark_features(const struct inventory_features *f, struct inventory_slice *s,
			  const struct json *spec)
{
	if (!f->partitionable && (json_getz(spec, "perDeviceNodeSelection") ||
				  json_count(json_getz(spec, "sharedCounters"))))
		s->ignored = true;
	for (size_t i = 0; i < s->ndevices && !f->compatibility_groups; i++)
		if (s->devices[i].has_groups)
			s->ignored = s->uncounted = true;
}

static int read_slice(struct reading *r, const struct inventory_features *f, const struct json *v)
{
	const struct json *meta = json_getz(v, "metadata"), *spec = json_getz(v, "spec");
	const struct json *pool = json_getz(spec, "pool");
	struct inventory_slice *s = PACK_NEW(r->pack, struct inventory_slice);
	int ret;

	r->slice = s;
	r->driver = pack_text(r->pack, json_text_at(spec, "driver"));
	s->name = pack_text(r->pack, json_text_at(meta, "name"));
	s->uid = pack_text(r->pack, json_text_at(meta, "uid"));
	s->at = SIZE_MAX;
	s->meta_generation = json_i64_at(meta, "generation", 0);
	s->generation = json_i64_at(pool, "generation", 0);
	s->expected = json_i64_at(pool, "resourceSliceCount", 0);
	s->partition_attribute = pack_text(r->pack, json_text_at(spec, "partitionTypeAttribute"));
	s->skip_node_operations = json_true_at(spec, "skipNodeOperations");
	list_init(&s->link);
	list_init(&s->local);
	ret = read_nodes(r, spec, &s->nodes);
	if (ret == 0)
		ret = read_devices(r, json_getz(spec, "devices"));
	if (ret == 0)
		ret = read_shared(r, json_getz(spec, "sharedCounters"));
	if (ret == 0)
		mark_features(f, s, spec);
	return ret;
}

static size_t print_size(const struct json *v)
{
	struct buf text = BUF_INIT(OBJECT_MAX);
	size_t n = json_print(&text, v, NULL) < 0 ? OBJECT_MAX : text.n;

	buf_release(&text);
	return n;
}

/* Size reserved for metadata: the largest annotations, and room for the usual other fields. */
enum { METADATA_BYTES = ANNOTATIONS_MAX + 16 * KIB };

/* Returns the size that metadata may grow to, without managedFields, which grow with the status. */
static size_t metadata_size(const struct json *meta)
{
	size_t n = 0;

	JSON_FOREACH (v, meta)
		if (!str_eqz(json_key(v), "managedFields"))
			n += json_key(v).n + sizeof("\"\":,") - 1 + print_size(v);
	return MAX(n, (size_t)METADATA_BYTES);
}

static int read_twice(struct reading *r, const struct inventory_features *f, const struct json *v)
{
	int ret = read_slice(r, f, v);

	if (ret < 0)
		return ret;
	pack_allocate(r->pack);
	ret = read_slice(r, f, v);
	assert(ret == 0);
	return ret;
}

int inventory_slice_read(const struct inventory_features *features, const struct json *v,
			 struct inventory_slice **ret_slice, struct str *ret_driver,
			 struct str *ret_pool, struct error *err)
{
	const struct json *spec = json_getz(v, "spec");
	struct str pool = json_text_at(json_getz(spec, "pool"), "name");
	struct pack pack;
	struct reading r = { .pack = &pack, .err = err };
	int ret;

	if (json_text_at(json_getz(v, "metadata"), "name").n == 0 || pool.n == 0 ||
	    !inventory_driver_valid(json_text_at(spec, "driver")))
		return error_set(err, ERR_INVALID, "a ResourceSlice needs name, driver and pool");
	pack_init(&pack);
	ret = read_twice(&r, features, v);
	if (ret == 0) {
		r.slice->block = pack.split + pack.back;
		r.slice->bytes = MIN(print_size(spec) + metadata_size(json_getz(v, "metadata")),
				     OBJECT_MAX);
		*ret_slice = r.slice;
		*ret_driver = r.driver;
		*ret_pool = pool;
	}
	pack_release(&pack);
	return ret;
}
