/*
 * Builds the status of a slice (KEP-5677) from facts that the inventory has anyway: every device
 * knows its holders, every pool its counters and faults. The state of each device comes from
 * device_state.h. Zeros are written, too, so that table columns show them.
 *
 * A status is stored in one object with its slice and with managedFields for its fields. So its
 * limit is half of the room that the slice leaves in an object. Device names and states and the
 * pool's faults are always written. Then follow, as far as there is room: the reasons of bad
 * health, sums, capacities, largest shares, allocations. Sums, capacities and shares are each
 * written completely or not at all. Allocations are added in rounds, one per device in each round,
 * so that no device uses up the room of the others.
 */
#include "dra/availability/availability_impl.h"

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/vec.h"
#include "base/time/timestamp.h"
#include "dra/availability/device_health.h"
#include "dra/availability/device_state.h"
#include "dra/dra_limits.h"

enum {
	FIXED_BYTES = 64 * KIB, /* for names, states, counts and faults */
	CAPACITIES_BYTES = sizeof("\"capacity\":{},\"availableCapacity\":{},") - 1,
	SHARE_BYTES = sizeof("\"largestShare\":{},") - 1,
	SUMS_MAX = 256, /* names of capacities; with more, no sums are written */
	/* A character may be escaped with six bytes in JSON. */
	HEALTH_TEXT_BYTES = 6,
	HEALTH_BYTES =
		sizeof("\"healthMessage\":\"\",\"healthSource\":\"\",\"healthSince\":\"\",") +
		TIMESTAMP_SIZE,
};

enum { TOTAL, TAKEN, LEFT, SUMS };

/* A device's state, and the optional parts of its status. NULL: left out. */
struct told {
	struct device_standing is;
	struct json *capacity, *available, *share, *allocations;
	const struct list *next; /* the next holder to list; NULL: all are listed */
	struct device_health_report health;
	bool explains_health; /* healthMessage, healthSource and healthSince are written */
};

struct slice_status {
	const struct inventory *inv;
	const struct device_health_book *health; /* or NULL */
	const struct inventory_slice *slice;
	enum device_reason reason; /* the reason that applies to all of its devices */
	struct arena *arena;
	size_t room; /* bytes that are left */
	struct told *told; /* by device */
	bool tells_sums, tells_capacities, tells_shares;
	int64_t allocated, available, partial, unhealthy;
	struct availability_sums total, taken, left;
	struct json *sums[SUMS]; /* the same as JSON */
};

/* Reserves so many bytes; false if there is not enough room. */
static bool availability_take(struct slice_status *s, size_t bytes)
{
	if (bytes > s->room)
		return false;
	s->room -= bytes;
	return true;
}

/* --- one device --------------------------------------------------------------------- */

/* Returns the rest of a capacity; zero if the whole device is held. */
static struct quantity left_of(const struct inventory_device *d, const struct inventory_capacity *c)
{
	if (inventory_device_in_use(d))
		return quantity_of(0, c->value->format);
	return availability_positive(inventory_remaining(d, c));
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

/*
 * Returns the JSON size of an object of texts or nested objects. A short text counts at least 2
 * bytes, since its key has an entry of about that size in managedFields.
 */
static size_t object_bytes(const struct json *object)
{
	size_t n = 0;

	JSON_FOREACH (v, object) {
		bool nested = json_is(v, JSON_OBJECT);

		n += json_key(v).n + sizeof("\"\":\"\",") - 1;
		n += nested ? object_bytes(v) : MAX(json_str(v).n, (size_t)2);
	}
	return n;
}

/* --- health --------------------------------------------------------------------------- */

static void read_health(struct slice_status *s)
{
	for (size_t i = 0; s->health && i < s->slice->ndevices; i++) {
		struct told *t = &s->told[i];

		t->health = device_health(s->health, s->inv, &s->slice->devices[i]);
		s->unhealthy += t->health.health == DEVICE_UNHEALTHY;
		if (t->health.health > DEVICE_HEALTHY)
			t->explains_health = availability_take(
				s, HEALTH_BYTES + t->health.source.n +
					   HEALTH_TEXT_BYTES * t->health.message.n);
	}
}

static void put_health(struct slice_status *s, struct json *v, const struct told *t)
{
	const struct device_health_report *h = &t->health;
	char text[TIMESTAMP_SIZE];

	if (h->health == DEVICE_NOT_REPORTED)
		return;
	json_put_str(s->arena, v, "health", str_from(device_health_name(h->health)));
	if (!t->explains_health)
		return;
	if (h->message.n > 0)
		json_put_str(s->arena, v, "healthMessage", h->message);
	json_put_str(s->arena, v, "healthSince",
		     arena_str(s->arena, timestamp_print(h->since, TIMESTAMP_SECONDS, text)));
	json_put_str(s->arena, v, "healthSource", h->source);
}

/* --- allocations, in rounds ----------------------------------------------------------- */

/* Returns the next holder without admin access, or NULL. */
static const struct list *holder_from(const struct inventory_device *d, const struct list *at)
{
	while (at != &d->use->holders && LIST_ENTRY(at, struct inventory_holder, link)->admin)
		at = at->next;
	return at == &d->use->holders ? NULL : at;
}

/* Lists one more holder. Returns false if all are listed, or if there is no room. */
static bool add_allocation(struct slice_status *s, const struct inventory_device *d, struct told *t)
{
	struct json *v;

	if (!t->next)
		return false;
	v = allocation(s->arena, d, LIST_ENTRY(t->next, struct inventory_holder, link));
	if (!availability_take(s, sizeof("{},") - 1 + object_bytes(v))) {
		t->next = NULL;
		return false;
	}
	if (!t->allocations)
		t->allocations = json_make_array(s->arena);
	json_append(t->allocations, v);
	t->next = holder_from(d, t->next->next);
	return true;
}

static void share_out(struct slice_status *s)
{
	const struct inventory_slice *slice = s->slice;
	bool more = true;

	for (size_t i = 0; i < slice->ndevices; i++) {
		const struct inventory_device *d = &slice->devices[i];

		if (inventory_device_held(d))
			s->told[i].next = holder_from(d, d->use->holders.next);
	}
	for (size_t round = 0; more && round < AVAILABILITY_ALLOCATIONS_MAX; round++) {
		more = false;
		for (size_t i = 0; i < slice->ndevices; i++)
			more |= add_allocation(s, &slice->devices[i], &s->told[i]);
	}
}

/* --- capacities ----------------------------------------------------------------------- */

static void print_capacities(struct slice_status *s, const struct inventory_device *d,
			     struct told *t)
{
	t->capacity = json_make_object(s->arena);
	t->available = json_make_object(s->arena);
	for (size_t i = 0; i < d->view.ncapacity; i++) {
		const struct inventory_capacity *c = &d->capacities[i];

		json_add(t->capacity, c->name, availability_quantity(s->arena, *c->value));
		json_add(t->available, c->name, availability_quantity(s->arena, left_of(d, c)));
	}
}

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

static struct json *print_sums(struct slice_status *s, struct availability_sums *sums)
{
	availability_sums_sort(sums);
	return amounts(s->arena, sums->v, sums->n);
}

/* Prints all three kinds of sums. They are left out if there is no room for all of them. */
static void take_sums(struct slice_status *s)
{
	size_t bytes = 0;

	if (s->total.n == 0 || s->total.n > SUMS_MAX)
		return;
	s->sums[TOTAL] = print_sums(s, &s->total);
	s->sums[TAKEN] = print_sums(s, &s->taken);
	s->sums[LEFT] = print_sums(s, &s->left);
	for (size_t i = 0; i < ARRAY_SIZE(s->sums); i++)
		bytes += object_bytes(s->sums[i]);
	s->tells_sums = availability_take(s, bytes);
}

/* Sums up capacities, and decides whether sums and capacities are written. */
static void sum_up(struct slice_status *s)
{
	size_t bytes = 0;

	for (size_t i = 0; i < s->slice->ndevices; i++) {
		const struct inventory_device *d = &s->slice->devices[i];
		struct told *t = &s->told[i];

		if (!d->view.allow_multiple || d->view.ncapacity == 0)
			continue;
		sum_device(s, d);
		print_capacities(s, d, t);
		bytes += CAPACITIES_BYTES + object_bytes(t->capacity) + object_bytes(t->available);
	}
	take_sums(s);
	s->tells_capacities = availability_take(s, bytes);
}

/* Decides the state of each device, and whether largest shares are written. */
static void judge_devices(struct slice_status *s)
{
	size_t bytes = 0;

	for (size_t i = 0; i < s->slice->ndevices; i++) {
		const struct inventory_device *d = &s->slice->devices[i];
		struct told *t = &s->told[i];

		t->is = device_standing(s->inv, d, s->reason);
		t->share = availability_largest_share(s->inv, d, &t->is, s->arena);
		if (t->share)
			bytes += SHARE_BYTES + object_bytes(t->share);
	}
	s->tells_shares = availability_take(s, bytes);
}

/* --- the whole slice ------------------------------------------------------------------ */

/* Returns the number of holders that are not listed. */
static int64_t omitted(const struct inventory_device *d, const struct told *t)
{
	int64_t all = d->use ? (int64_t)d->use->whole + d->use->shares : 0;

	return all - (int64_t)json_count(t->allocations);
}

static void put_allocations(struct slice_status *s, struct json *v,
			    const struct inventory_device *d, const struct told *t)
{
	if (t->allocations)
		json_setz(v, "allocations", t->allocations);
	if (omitted(d, t) > 0)
		json_put_i64(s->arena, v, "omittedAllocations", omitted(d, t));
}

static struct json *device_status(struct slice_status *s, const struct inventory_device *d,
				  const struct told *t)
{
	struct json *v = json_make_object(s->arena);

	json_put_str(s->arena, v, "name", d->name);
	json_put_str(s->arena, v, "state", str_from(device_state_name(t->is.state)));
	if (t->is.reason)
		json_put_str(s->arena, v, "stateReason", device_standing_text(&t->is, s->arena));
	put_health(s, v, t);
	put_allocations(s, v, d, t);
	if (t->capacity && s->tells_capacities) {
		json_setz(v, "capacity", t->capacity);
		json_setz(v, "availableCapacity", t->available);
	}
	if (t->share && s->tells_shares)
		json_setz(v, "largestShare", t->share);
	s->allocated += inventory_device_held(d);
	s->available += t->is.state == DEVICE_AVAILABLE;
	s->partial += t->is.state == DEVICE_PARTIALLY_ALLOCATED;
	return v;
}

static size_t room_beside(const struct inventory_slice *slice)
{
	size_t used = slice->bytes + FIXED_BYTES;

	return used < OBJECT_MAX ? MIN((OBJECT_MAX - used) / 2, AVAILABILITY_BYTES_MAX) : 0;
}

static struct json *summary(struct slice_status *s)
{
	struct json *v = json_make_object(s->arena);

	json_put_i64(s->arena, v, "totalDevices", s->slice->ndevices);
	json_put_i64(s->arena, v, "allocatedDevices", s->allocated);
	json_put_i64(s->arena, v, "availableDevices", s->available);
	json_put_i64(s->arena, v, "partiallyAllocatedDevices", s->partial);
	if (s->health)
		json_put_i64(s->arena, v, "unhealthyDevices", s->unhealthy);
	if (s->tells_sums) {
		json_setz(v, "totalCapacity", s->sums[TOTAL]);
		json_setz(v, "allocatedCapacity", s->sums[TAKEN]);
		json_setz(v, "availableCapacity", s->sums[LEFT]);
	}
	return v;
}

struct json *availability_slice_status(struct inventory *inv,
				       const struct device_health_book *health, struct str slice,
				       const struct json *old, int64_t now_ns, struct arena *a)
{
	const struct inventory_slice *found = inventory_slice(inv, slice);
	struct slice_status s = { .inv = inv, .health = health, .slice = found, .arena = a };
	struct json *status, *devices;

	if (!found || !found->current)
		return NULL;
	s.reason = device_slice_reason(inv, found);
	s.room = room_beside(found);
	s.total.arena = s.taken.arena = s.left.arena = a;
	s.told = ARENA_ARRAY(a, struct told, found->ndevices);
	read_health(&s);
	sum_up(&s);
	judge_devices(&s);
	share_out(&s);
	status = json_make_object(a);
	devices = json_make_array(a);
	for (size_t i = 0; i < found->ndevices; i++)
		json_append(devices, device_status(&s, &found->devices[i], &s.told[i]));
	if (devices->n > 0)
		json_setz(status, "devices", devices);
	json_setz(status, "summary", summary(&s));
	if (found->pool->slices[0] == found)
		json_setz(status, "poolStatus",
			  availability_pool_status(found->pool, json_getz(old, "poolStatus"),
						   now_ns, a));
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

void availability_recall_health(struct inventory *inv, struct device_health_book *health,
				struct str slice, const struct json *status)
{
	const struct inventory_slice *s = inventory_slice(inv, slice);

	JSON_FOREACH (v, json_getz(status, "devices")) {
		enum device_health is = device_health_of_name(json_text_at(v, "health"));
		const struct inventory_device *d = NULL;
		int64_t since;

		if (s && s->current && is > DEVICE_HEALTHY)
			d = inventory_pool_device(s->pool, json_text_at(v, "name"));
		if (d && timestamp_parse(json_text_at(v, "healthSince"), &since, NULL) == 0)
			device_health_book_recall(health, d, is, since);
	}
}

struct str availability_device_slice(struct inventory *inv, struct str driver, struct str pool,
				     struct str device)
{
	const struct inventory_device *d = inventory_device(inv, driver, pool, device);

	return d ? d->slice->name : STR_NULL;
}

bool availability_is_being_replaced(struct inventory *inv, struct str slice)
{
	const struct inventory_slice *found = inventory_slice(inv, slice);

	return found && !found->current && found->pool->incomplete;
}
