/*
 * The status of a slice, as KEP-5677 has it, from what the inventory keeps anyway: every device
 * knows its holders, every pool its counters and its faults. Nothing is searched for.
 *
 * Where the KEP leaves room: a device that may be shared is Allocated when none of its capacities
 * has anything left, and PartiallyAllocated before; one without capacities can always be
 * shared again. A device whose counters do not suffice is Unavailable, as is every consumer of
 * a pool with an overdrawn counter: the allocator gives none of them out. Available are those
 * in that state alone. Integers are written when they are zero, too, so that columns show them.
 *
 * A status is stored together with its slice, and who wrote which of its fields beside it: half
 * of what the slice leaves of an object is the most that it takes. Names and states of devices
 * and what is wrong with the pool are always told; sums, capacities and allocations, in this
 * order, as far as there is room.
 */
#include "dra/availability_impl.h"

#include "base/limits.h"
#include "base/timestamp.h"
#include "base/vec.h"

enum {
	FIXED_BYTES = 64 * KIB, /* of names, states, counts and faults */
	QUANTITY_BYTES = 40, /* of one with its quotes, at most */
	SUMS_MAX = 256, /* names of capacities; sums of more are of no use to anybody */
};

struct slice_status {
	const struct inventory_slice *slice;
	const struct inventory_pool *pool;
	struct arena *arena;
	size_t room; /* bytes that are left */
	bool tells_sums, tells_capacities;
	int64_t allocated, available, partial;
	struct availability_sums total, taken, left;
};

/* Whether there is room for so many bytes; they are then taken. */
static bool take(struct slice_status *s, size_t bytes)
{
	if (bytes > s->room)
		return false;
	s->room -= bytes;
	return true;
}

/* --- one device --------------------------------------------------------------------- */

enum state { AVAILABLE, PARTIALLY_ALLOCATED, ALLOCATED, UNAVAILABLE };

static const char *const state_names[] = {
	[AVAILABLE] = "Available",
	[PARTIALLY_ALLOCATED] = "PartiallyAllocated",
	[ALLOCATED] = "Allocated",
	[UNAVAILABLE] = "Unavailable",
};

static bool counters_suffice(const struct inventory_pool *pool, const struct inventory_device *d)
{
	if (d->ncounters > 0 && pool->overdrawn > 0)
		return false;
	for (size_t i = 0; i < d->ncounters; i++) {
		const struct inventory_consumption *c = &d->counters[i];

		if (c->index == UINT32_MAX ||
		    quantity_cmp(inventory_counter_remaining(&pool->counters[c->index]),
				 c->amount) < 0)
			return false;
	}
	return true;
}

/* What is left of a capacity for others; nothing when somebody has the whole device. */
static struct quantity left_of(const struct inventory_device *d, const struct inventory_capacity *c)
{
	if (inventory_device_in_use(d))
		return quantity_of(0, c->value->format);
	return availability_positive(inventory_remaining(d, c));
}

static bool used_up(const struct inventory_device *d)
{
	for (size_t i = 0; i < d->view.ncapacity; i++)
		if (left_of(d, &d->capacities[i]).nano > 0)
			return false;
	return d->view.ncapacity > 0;
}

static enum state device_state(const struct inventory_pool *pool, const struct inventory_device *d)
{
	if (!inventory_device_held(d))
		return counters_suffice(pool, d) ? AVAILABLE : UNAVAILABLE;
	if (inventory_device_in_use(d) || !d->view.allow_multiple || used_up(d))
		return ALLOCATED;
	return PARTIALLY_ALLOCATED;
}

static struct json *amounts(struct arena *a, const struct inventory_amount *v, size_t n)
{
	struct json *object = json_make_object(a);

	for (size_t i = 0; i < n; i++)
		json_add(object, v[i].name, availability_quantity(a, v[i].value));
	return object;
}

static struct json *allocation(struct arena *a, const struct inventory_device *d,
			       const struct inventory_holder *h)
{
	struct json *v = json_make_object(a);

	json_put_str(a, v, "claimNamespace", h->claim->namespace);
	json_put_str(a, v, "claimName", h->claim->name);
	json_put_str(a, v, "claimUID", h->claim->uid);
	if (h->request.n > 0)
		json_put_str(a, v, "request", h->request);
	if (d->view.allow_multiple && h->nconsumed > 0)
		json_setz(v, "capacity", amounts(a, h->consumed, h->nconsumed));
	return v;
}

/* About what an allocation takes as text. */
static size_t allocation_bytes(const struct inventory_holder *h)
{
	size_t n = 100 + h->claim->namespace.n + h->claim->name.n + h->claim->uid.n + h->request.n;

	for (size_t i = 0; i < h->nconsumed; i++)
		n += h->consumed[i].name.n + QUANTITY_BYTES;
	return n;
}

static void add_allocations(struct slice_status *s, const struct inventory_device *d,
			    struct json *device)
{
	struct json *array = json_make_array(s->arena);

	LIST_FOREACH (it, &d->use->holders) {
		const struct inventory_holder *h = LIST_ENTRY(it, struct inventory_holder, link);

		if (h->admin)
			continue;
		if (array->n == AVAILABILITY_ALLOCATIONS_MAX || !take(s, allocation_bytes(h)))
			break;
		json_append(array, allocation(s->arena, d, h));
	}
	if (array->n > 0)
		json_setz(device, "allocations", array);
}

static bool has_capacities(const struct inventory_device *d)
{
	return d->view.allow_multiple && d->view.ncapacity > 0;
}

static void add_capacities(struct slice_status *s, const struct inventory_device *d,
			   struct json *device)
{
	struct json *capacity, *available;

	if (!has_capacities(d) || !s->tells_capacities)
		return;
	capacity = json_need_object(s->arena, device, "capacity");
	available = json_need_object(s->arena, device, "availableCapacity");
	for (size_t i = 0; i < d->view.ncapacity; i++) {
		const struct inventory_capacity *c = &d->capacities[i];

		json_add(capacity, c->name, availability_quantity(s->arena, *c->value));
		json_add(available, c->name, availability_quantity(s->arena, left_of(d, c)));
	}
}

static struct json *device_status(struct slice_status *s, const struct inventory_device *d)
{
	struct json *v = json_make_object(s->arena);
	enum state state = device_state(s->pool, d);

	json_put_str(s->arena, v, "name", d->name);
	json_put_str(s->arena, v, "state", str_from(state_names[state]));
	if (state == UNAVAILABLE)
		json_put_str(s->arena, v, "stateReason", STR("InsufficientSharedCapacity"));
	if (inventory_device_held(d))
		add_allocations(s, d, v);
	add_capacities(s, d, v);
	s->allocated += inventory_device_held(d);
	s->available += state == AVAILABLE;
	s->partial += state == PARTIALLY_ALLOCATED;
	return v;
}

/* --- the whole slice ---------------------------------------------------------------- */

static void sum_device(struct slice_status *s, const struct inventory_device *d)
{
	for (size_t i = 0; i < d->view.ncapacity && s->total.n <= SUMS_MAX; i++) {
		const struct inventory_capacity *c = &d->capacities[i];
		struct quantity taken = inventory_device_in_use(d) ? *c->value
								   : inventory_consumed(d, c);

		availability_sum(&s->total, c->name, *c->value);
		availability_sum(&s->taken, c->name, taken);
		availability_sum(&s->left, c->name, left_of(d, c));
	}
}

static size_t names_bytes(const struct inventory_device *d)
{
	size_t bytes = 0;

	for (size_t i = 0; i < d->view.ncapacity; i++)
		bytes += d->capacities[i].name.n + QUANTITY_BYTES;
	return bytes;
}

/* Sums up capacities, and decides what of them is told. */
static void sum_up(struct slice_status *s)
{
	size_t of_devices = 0, of_sums = 0;

	for (size_t i = 0; i < s->slice->ndevices; i++) {
		const struct inventory_device *d = &s->slice->devices[i];

		if (!has_capacities(d))
			continue;
		sum_device(s, d);
		of_devices += 2 * names_bytes(d);
	}
	for (size_t i = 0; i < s->total.n; i++)
		of_sums += 3 * (s->total.v[i].name.n + QUANTITY_BYTES);
	s->tells_sums = s->total.n <= SUMS_MAX && take(s, of_sums);
	s->tells_capacities = take(s, of_devices);
}

static size_t room_beside(const struct inventory_slice *slice)
{
	size_t used = slice->bytes + FIXED_BYTES;

	return used < OBJECT_MAX ? MIN((OBJECT_MAX - used) / 2, AVAILABILITY_BYTES_MAX) : 0;
}

static void add_sums(struct slice_status *s, struct json *summary, const char *key,
		     struct availability_sums *sums)
{
	if (sums->n == 0 || !s->tells_sums)
		return;
	availability_sums_sort(sums);
	json_setz(summary, key, amounts(s->arena, sums->v, sums->n));
}

static struct json *summary(struct slice_status *s)
{
	struct json *v = json_make_object(s->arena);

	json_put_i64(s->arena, v, "totalDevices", s->slice->ndevices);
	json_put_i64(s->arena, v, "allocatedDevices", s->allocated);
	json_put_i64(s->arena, v, "availableDevices", s->available);
	json_put_i64(s->arena, v, "partiallyAllocatedDevices", s->partial);
	add_sums(s, v, "totalCapacity", &s->total);
	add_sums(s, v, "allocatedCapacity", &s->taken);
	add_sums(s, v, "availableCapacity", &s->left);
	return v;
}

struct json *availability_slice_status(struct inventory *inv, struct str slice,
				       const struct json *old, int64_t now_ns, struct arena *a)
{
	const struct inventory_slice *found = inventory_slice(inv, slice);
	struct slice_status s = {
		.slice = found,
		.arena = a,
	};
	struct json *status, *devices;

	if (!found || !found->current)
		return NULL;
	s.pool = found->pool;
	s.room = room_beside(found);
	s.total.arena = s.taken.arena = s.left.arena = a;
	sum_up(&s);
	status = json_make_object(a);
	devices = json_make_array(a);
	for (size_t i = 0; i < found->ndevices; i++)
		json_append(devices, device_status(&s, &found->devices[i]));
	if (devices->n > 0)
		json_setz(status, "devices", devices);
	json_setz(status, "summary", summary(&s));
	if (s.pool->slices[0] == found)
		json_setz(
			status, "poolStatus",
			availability_pool_status(s.pool, json_getz(old, "poolStatus"), now_ns, a));
	json_put_i64(a, status, "observedGeneration", found->meta_generation);
	return status;
}

size_t availability_pool_slices(struct inventory *inv, struct str driver, struct str pool,
				struct arena *a, struct str **ret_names)
{
	const struct inventory_pool *p = inventory_pool(inv, driver, pool);
	size_t n = 0;

	*ret_names = p ? ARENA_ARRAY(a, struct str, p->nslices + p->nolder) : NULL;
	if (!p)
		return 0;
	for (size_t i = 0; i < p->nslices; i++)
		(*ret_names)[n++] = arena_str(a, p->slices[i]->name);
	LIST_FOREACH (it, &p->all) {
		const struct inventory_slice *s = LIST_ENTRY(it, struct inventory_slice, link);

		if (!s->current)
			(*ret_names)[n++] = arena_str(a, s->name);
	}
	return n;
}

/* --- slices that a claim concerns ------------------------------------------------------ */

struct concerned {
	struct arena *arena;
	struct map seen; /* name -> struct inventory_slice */
	VEC(struct str) names;
	const struct inventory_pool *counted; /* the pool whose consumers were added last */
};

static void add_slice(struct concerned *c, struct inventory_slice *slice)
{
	if (!map_put(&c->seen, slice->name, slice))
		(void)vec_push(&c->names, arena_str(c->arena, slice->name));
}

static bool has_consumers(const struct inventory_slice *slice)
{
	for (size_t i = 0; i < slice->ndevices; i++)
		if (slice->devices[i].ncounters > 0)
			return true;
	return false;
}

static void add_consumers(struct concerned *c, const struct inventory_pool *pool)
{
	if (c->counted == pool)
		return;
	c->counted = pool;
	for (size_t i = 0; i < pool->nslices; i++)
		if (has_consumers(pool->slices[i]))
			add_slice(c, pool->slices[i]);
}

static void add_device(struct concerned *c, const struct inventory_pool *pool,
		       const struct inventory_device *d)
{
	add_slice(c, d->slice);
	if (d->ncounters > 0)
		add_consumers(c, pool);
}

static void add_every_device(struct concerned *c, const struct inventory_pool *pool,
			     struct str name)
{
	for (size_t i = 0; i < pool->nslices; i++)
		for (size_t k = 0; k < pool->slices[i]->ndevices; k++)
			if (str_eq(pool->slices[i]->devices[k].name, name))
				add_device(c, pool, &pool->slices[i]->devices[k]);
}

/* A device that does not exist is told of with the pool, whoever claims it. */
static void add_held(struct concerned *c, const struct inventory_holder *h)
{
	const struct inventory_pool *pool = h->use->pool;
	const struct inventory_device *d = inventory_pool_device(pool, h->use->name);

	if (!d && pool->nslices > 0)
		add_slice(c, pool->slices[0]);
	if (!d || h->admin)
		return;
	if (pool->duplicates)
		add_every_device(c, pool, h->use->name);
	else
		add_device(c, pool, d);
}

size_t availability_claim_slices(struct inventory *inv, struct str namespace, struct str name,
				 struct arena *a, struct str **ret_names)
{
	const struct inventory_claim *claim = inventory_claim(inv, namespace, name);
	struct concerned c = { .arena = a };
	size_t n;

	*ret_names = NULL;
	if (!claim)
		return 0;
	inventory_settle(inv);
	map_init(&c.seen);
	vec_init(&c.names, SIZE_MAX);
	for (size_t i = 0; i < claim->n; i++)
		add_held(&c, &claim->holders[i]);
	n = c.names.n;
	*ret_names = ARENA_ARRAY(a, struct str, n);
	for (size_t i = 0; i < n; i++)
		(*ret_names)[i] = c.names.v[i];
	vec_release(&c.names);
	map_release(&c.seen);
	return n;
}

bool availability_is_being_replaced(struct inventory *inv, struct str slice)
{
	const struct inventory_slice *found = inventory_slice(inv, slice);

	return found && !found->current && found->pool->incomplete;
}

bool availability_counts(const struct inventory_slice *slice)
{
	return slice->ncounters > 0 || has_consumers(slice);
}
