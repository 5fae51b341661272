/*
 * Groups devices into classes that are interchangeable for these claims. Devices of a class match
 * the same requests, have the same values of the attributes in constraints, and consume the same
 * amounts of the same counters. If they are shareable, they also have the same amounts left and
 * give the same amounts to each request. These facts are written into a byte string, the key;
 * devices with equal keys form a class. Names, slices and other facts that only show in results do
 * not count.
 *
 * Devices for which a request's selector fails form classes, too: the search fails at the first
 * such device that it tries.
 */
#include "dra/allocate/outlook.h"

#include "api/api_limits.h"
#include "cel/core/semver.h"

/* State of allocate_classes_init(). */
struct sorting {
	struct allocate_outlook *o;
	struct map classes; /* key -> its index + 1 */
	struct map values; /* key -> id */
	struct buf key;
	uint32_t nconstraints;
	uint32_t room; /* for classes */
};

/* --- keys --------------------------------------------------------------------------- */

static void key_u32(struct buf *key, uint32_t v)
{
	(void)buf_add(key, &v, sizeof(v));
}

static void key_nano(struct buf *key, struct quantity q)
{
	(void)buf_add(key, &q.nano, sizeof(q.nano));
}

static void key_str(struct buf *key, struct str s)
{
	key_u32(key, (uint32_t)s.n);
	(void)buf_add_str(key, s);
}

static void key_value(struct cel_eval *ev, struct buf *key, const struct cel_value *v)
{
	(void)buf_addc(key, (char)v->kind);
	switch ((enum cel_kind)v->kind) {
	case CEL_STRING:
		key_str(key, v->s);
		break;
	case CEL_INT:
		(void)buf_add(key, &v->i, sizeof(v->i));
		break;
	case CEL_BOOL:
		(void)buf_addc(key, (char)v->b);
		break;
	case CEL_SEMVER:
		(void)buf_add(key, &v->semver->major, 3 * sizeof(uint64_t));
		key_str(key, v->semver->pre);
		key_str(key, v->semver->build);
		break;
	case CEL_LIST:
		key_u32(key, (uint32_t)cel_list_size(v));
		for (size_t i = 0; i < cel_list_size(v); i++) {
			struct cel_value e = cel_list_at(ev, v, i);

			/* Elements are never lists, so the recursion ends here. */
			if (e.kind != CEL_LIST)
				key_value(ev, key, &e);
		}
		break;
	default:
		break;
	}
}

/* Returns the ID of a value, from 1 on. Equal values have the same ID. NULL has ID 0. */
static uint32_t value_id(struct sorting *s, const struct cel_value *v)
{
	struct arena *work = s->o->plan->work;
	uint32_t *id;
	size_t at = s->key.n;
	struct str key;

	if (!v)
		return 0;
	key_value(&s->o->plan->eval, &s->key, v);
	key = str_skip(buf_str(&s->key), at);
	id = map_get(&s->values, key);
	if (!id) {
		id = ARENA_NEW(work, uint32_t);
		*id = s->values.n + 1;
		(void)map_put(&s->values, arena_str(work, key), id);
	}
	s->key.n = at;
	return *id;
}

/* --- what a device is to a request -------------------------------------------------- */

static uint8_t match_of(const struct allocate_request *r, uint32_t ordinal)
{
	return r->match ? r->match[ordinal] : (uint8_t)ALLOCATE_UNKNOWN;
}

/* The search may try the device for the request, or it counts for mode All. */
static bool concerns(const struct allocate_request *r, const struct allocate_at *at)
{
	uint8_t m = match_of(r, at->ordinal);

	if (r->all)
		return m != ALLOCATE_NO;
	return !allocate_held(r, at->device) && (m == ALLOCATE_YES || m == ALLOCATE_UNKNOWN);
}

static void key_shares(struct sorting *s, const struct allocate_at *at)
{
	const struct allocate_plan *plan = s->o->plan;
	const struct inventory_device *d = at->device;

	(void)buf_addc(&s->key, (char)inventory_device_shared(d));
	for (size_t i = 0; i < d->view.ncapacity; i++) {
		key_nano(&s->key, inventory_remaining(d, &d->capacities[i]));
		for (uint32_t r = 0; r < plan->nrequests; r++) {
			struct quantity q = { 0 };

			if (concerns(&plan->requests[r], at))
				(void)allocate_consumption(plan, &plan->requests[r], d, i, &q,
							   NULL);
			key_nano(&s->key, q);
		}
	}
}

/* Builds the key of a device; false if no request matches it. */
static bool make_key(struct sorting *s, const struct allocate_at *at)
{
	const struct allocate_plan *plan = s->o->plan;
	const struct inventory_device *d = at->device;
	bool wanted = false;

	buf_clear(&s->key);
	(void)buf_addc(&s->key, (char)inventory_device_in_use(d));
	for (uint32_t i = 0; i < plan->nrequests; i++) {
		wanted |= concerns(&plan->requests[i], at);
		(void)buf_addc(&s->key, (char)match_of(&plan->requests[i], at->ordinal));
	}
	if (!wanted)
		return false;
	for (uint32_t i = 0; i < plan->nclaims; i++)
		for (uint32_t k = 0; k < plan->claims[i].nconstraints; k++) {
			const struct allocate_constraint *c = &plan->claims[i].constraints[k];

			key_u32(&s->key, value_id(s, allocate_attribute(d, c)));
		}
	key_u32(&s->key, d->ncounters ? at->pool : ALLOCATE_NONE);
	for (size_t i = 0; i < d->ncounters; i++) {
		key_u32(&s->key, d->counters[i].index);
		key_nano(&s->key, d->counters[i].amount);
	}
	if (allocate_shareable(plan, d) || inventory_device_shared(d))
		key_shares(s, at);
	else
		(void)buf_addc(&s->key, (char)0xff);
	return true;
}

/* --- classes ------------------------------------------------------------------------ */

static uint32_t add_class(struct sorting *s, const struct allocate_at *at)
{
	struct allocate_outlook *o = s->o;
	struct allocate_class *c;

	if (o->n == s->room) {
		uint32_t room = s->room ? s->room * 2 : 16;
		struct allocate_class *v = ARENA_ARRAY(o->plan->work, struct allocate_class, room);

		if (o->n)
			memcpy(v, o->classes, sizeof(*v) * o->n);
		o->classes = v;
		s->room = room;
	}
	c = &o->classes[o->n];
	*c = (struct allocate_class){ .device = at->device,
				      .pool = at->pool,
				      .shareable = allocate_shareable(o->plan, at->device),
				      .held = inventory_device_in_use(at->device),
				      .crowd = ALLOCATE_NONE };
	return o->n++;
}

static uint32_t class_of(struct sorting *s, const struct allocate_at *at)
{
	struct arena *work = s->o->plan->work;
	uint32_t *index = map_get(&s->classes, buf_str(&s->key));

	if (!index) {
		index = ARENA_NEW(work, uint32_t);
		*index = add_class(s, at);
		(void)map_put(&s->classes, arena_str(work, buf_str(&s->key)), index);
	}
	return *index;
}

static void sort_devices(struct sorting *s)
{
	struct allocate_outlook *o = s->o;
	struct allocate_plan *plan = o->plan;
	struct allocate_walk w = { 0, 0 };
	struct allocate_at at = { 0 };

	o->class_of = ARENA_ARRAY(plan->work, uint32_t, plan->ndevices);
	while (allocate_walk_next(plan, &w, &at)) {
		o->class_of[at.ordinal] = make_key(s, &at) ? class_of(s, &at) : ALLOCATE_NONE;
		if (o->class_of[at.ordinal] != ALLOCATE_NONE)
			o->classes[o->class_of[at.ordinal]].n++;
	}
	for (uint32_t i = 0; i < o->n; i++) {
		o->classes[i].members = ARENA_ARRAY(plan->work, uint32_t, o->classes[i].n);
		o->classes[i].n = 0;
	}
	for (uint32_t i = 0; i < plan->ndevices; i++) {
		struct allocate_class *c;

		if (o->class_of[i] == ALLOCATE_NONE)
			continue;
		c = &o->classes[o->class_of[i]];
		c->members[c->n++] = i;
		c->free = c->n;
	}
}

/* --- tables by class ---------------------------------------------------------------- */

static void fill_values(struct sorting *s)
{
	struct allocate_outlook *o = s->o;
	const struct allocate_plan *plan = o->plan;
	uint32_t n = 0;

	o->values = ARENA_ARRAY(plan->work, uint32_t, (size_t)s->nconstraints * o->n);
	for (uint32_t i = 0; i < plan->nclaims; i++)
		for (uint32_t k = 0; k < plan->claims[i].nconstraints; k++, n++)
			for (uint32_t c = 0; c < o->n; c++)
				o->values[(size_t)n * o->n + c] = value_id(
					s, allocate_attribute(o->classes[c].device,
							      &plan->claims[i].constraints[k]));
}

/* Whether devices of the class suit the request, apart from other choices. */
static bool class_fits(const struct allocate_outlook *o, const struct allocate_request *r,
		       uint32_t class)
{
	const struct allocate_class *c = &o->classes[class];
	struct allocate_at at;

	if (match_of(r, c->members[0]) != ALLOCATE_YES || (c->held && !r->admin))
		return false;
	at = (struct allocate_at){ c->device, c->pool, c->members[0] };
	if (!allocate_capacity_suffices(o->plan, r, &at))
		return false;
	for (uint32_t i = 0; i < o->plan->claims[r->claim].nconstraints; i++)
		if ((r->constraints >> i & 1) && !allocate_outlook_value(o, r->claim, i, class))
			return false;
	return true;
}

static void fill_fits(struct allocate_outlook *o)
{
	const struct allocate_plan *plan = o->plan;

	o->fits = ARENA_ARRAY(plan->work, uint8_t, (size_t)plan->nrequests * o->n);
	for (uint32_t r = 0; r < plan->nrequests; r++)
		for (uint32_t c = 0; c < o->n; c++)
			o->fits[(size_t)r * o->n + c] = class_fits(o, &plan->requests[r], c);
}

static void fill_candidates(struct allocate_outlook *o)
{
	const struct allocate_plan *plan = o->plan;

	o->candidates = ARENA_ARRAY(plan->work, uint32_t *, plan->nrequests);
	o->ncandidates = ARENA_ARRAY(plan->work, uint32_t, plan->nrequests);
	for (uint32_t r = 0; r < plan->nrequests; r++) {
		uint32_t *v, n = 0;

		if (plan->requests[r].all)
			continue;
		v = ARENA_ARRAY(plan->work, uint32_t, plan->ndevices);
		for (uint32_t i = 0; i < plan->ndevices; i++) {
			uint32_t c = o->class_of[i];
			bool unknown = c != ALLOCATE_NONE &&
				       match_of(&plan->requests[r], i) == ALLOCATE_UNKNOWN &&
				       (!o->classes[c].held || plan->requests[r].admin);

			if (c != ALLOCATE_NONE && (unknown || allocate_outlook_fits(o, r, c)))
				v[n++] = i;
		}
		o->candidates[r] = v;
		o->ncandidates[r] = n;
	}
}

/* Matches all requests with all devices, and sets whether the search may meet an error. */
static void match_all(struct allocate_outlook *o)
{
	struct allocate_plan *plan = o->plan;
	struct allocate_walk w = { 0, 0 };
	struct allocate_at at = { 0 };

	o->alike = o->sure = true;
	while (allocate_walk_next(plan, &w, &at))
		for (uint32_t i = 0; i < plan->nrequests; i++) {
			struct allocate_request *r = &plan->requests[i];

			if (!allocate_held(r, at.device) && allocate_match(plan, r, &at, NULL) < 0)
				o->sure = false;
		}
	for (uint32_t i = 0; i < plan->nrequests; i++)
		if (plan->requests[i].all && plan->requests[i].constraints)
			o->alike = o->sure = false;
}

void allocate_classes_init(struct allocate_outlook *o)
{
	struct allocate_plan *plan = o->plan;
	struct sorting s = { .o = o, .key = BUF_INIT(REQUEST_WORK_MAX) };

	map_init_seeded(&s.classes, 1);
	map_init_seeded(&s.values, 1);
	match_all(o);
	o->first_constraint = ARENA_ARRAY(plan->work, uint32_t, plan->nclaims);
	for (uint32_t i = 0; i < plan->nclaims; i++) {
		o->first_constraint[i] = s.nconstraints;
		s.nconstraints += plan->claims[i].nconstraints;
	}
	sort_devices(&s);
	fill_values(&s);
	o->nvalues = s.values.n;
	fill_fits(o);
	fill_candidates(o);
	map_release(&s.classes);
	map_release(&s.values);
	buf_release(&s.key);
}
