/*
 * Builds poolStatus of KEP-5677: the faults of a pool and its conditions. Everything is written in
 * a fixed order, so that an unchanged status stays the same byte by byte.
 *
 * While slices are missing, a device without a slice may be in one of the missing ones, so it is
 * not reported.
 */
#include "base/time/timestamp.h"
#include "dra/availability/availability_impl.h"
#include "dra/dra_limits.h"

/* The first messages, and the number of all messages. */
struct messages {
	struct arena *arena;
	struct str v[AVAILABILITY_ERRORS_MAX];
	size_t n;
};

/* Adds a message. Messages beyond the limit are counted, but not printed. */
#define SAY(m, ...)                                                                             \
	((m)->n++ < AVAILABILITY_ERRORS_MAX                                                     \
		 ? (void)((m)->v[(m)->n - 1] = str_from(arena_printf((m)->arena, __VA_ARGS__))) \
		 : (void)0)

/* --- the first few, in order ---------------------------------------------------------- */

/* The subject of a message: slice and generation, or claim and device. Sorted by the two texts. */
struct subject {
	struct str first, second;
	int64_t generation;
};

struct subjects {
	struct subject v[AVAILABILITY_ERRORS_MAX]; /* the smallest, sorted */
	size_t n, room; /* room: capacity */
	size_t all; /* how many were added */
};

static struct subjects subjects_for(const struct messages *m)
{
	return (struct subjects){ .room = AVAILABILITY_ERRORS_MAX -
					  MIN(m->n, (size_t)AVAILABILITY_ERRORS_MAX) };
}

static bool before(const struct subject *a, const struct subject *b)
{
	int c = str_cmp(a->first, b->first);

	return c < 0 || (c == 0 && str_cmp(a->second, b->second) < 0);
}

static void subjects_add(struct subjects *s, struct subject subject)
{
	size_t at = s->n;

	s->all++;
	if (s->n < s->room)
		s->n++;
	else if (s->room > 0 && before(&subject, &s->v[s->n - 1]))
		at--;
	else
		return;
	for (; at > 0 && before(&subject, &s->v[at - 1]); at--)
		s->v[at] = s->v[at - 1];
	s->v[at] = subject;
}

/* --- faults --------------------------------------------------------------------------- */

/*
 * Returns the previous device of the same name, or NULL if it is the first. `seen` maps a name to
 * its last device.
 */
static const struct inventory_device *same_before(const struct inventory_pool *pool,
						  struct inventory_device *d, struct map *seen)
{
	const struct inventory_device *first = inventory_pool_device(pool, d->name), *last;

	if (first == d)
		return NULL;
	last = map_put(seen, d->name, d);
	return last ? last : first;
}

static void say_duplicates(const struct inventory_pool *pool, struct messages *m)
{
	struct map seen;

	if (!pool->duplicates)
		return;
	map_init(&seen);
	for (size_t i = 0; i < pool->nslices; i++) {
		struct inventory_slice *s = pool->slices[i];

		for (size_t k = 0; k < s->ndevices; k++) {
			const struct inventory_device *other = same_before(pool, &s->devices[k],
									   &seen);

			if (other)
				SAY(m, "device %.*s appears in both %.*s and %.*s",
				    STR_ARG(other->name), STR_ARG(other->slice->name),
				    STR_ARG(s->name));
		}
	}
	map_release(&seen);
}

static void say_count(const struct inventory_pool *pool, struct messages *m)
{
	if (pool->incomplete)
		SAY(m, "pool has %u ResourceSlices of generation %lld, %lld are expected",
		    pool->observed, (long long)pool->generation, (long long)pool->expected);
	for (size_t i = 1; i < pool->nslices; i++)
		if (pool->slices[i]->expected != pool->expected)
			SAY(m, "ResourceSlice %.*s expects %lld ResourceSlices, %.*s %lld",
			    STR_ARG(pool->slices[i]->name), (long long)pool->slices[i]->expected,
			    STR_ARG(pool->slices[0]->name), (long long)pool->expected);
}

static void say_older(const struct inventory_pool *pool, struct messages *m)
{
	struct subjects older = subjects_for(m);

	if (pool->nolder == 0)
		return;
	LIST_FOREACH (it, &pool->all) {
		const struct inventory_slice *s = LIST_ENTRY(it, struct inventory_slice, link);

		if (!s->current)
			subjects_add(&older, (struct subject){ .first = s->name,
							       .generation = s->generation });
	}
	for (size_t i = 0; i < older.n; i++)
		SAY(m, "ResourceSlice %.*s has generation %lld, the pool has %lld",
		    STR_ARG(older.v[i].first), (long long)older.v[i].generation,
		    (long long)pool->generation);
	m->n += older.all - older.n;
}

/* Adds each claim once, however many results name the device. */
static void add_claims(struct subjects *unknown, const struct inventory_use *use)
{
	const struct inventory_claim *last = NULL;

	LIST_FOREACH (it, &use->holders) {
		const struct inventory_claim *c =
			LIST_ENTRY(it, struct inventory_holder, link)->claim;

		if (c != last)
			subjects_add(unknown,
				     (struct subject){ .first = c->key, .second = use->name });
		last = c;
	}
}

static void say_unknown(const struct inventory_pool *pool, struct messages *m)
{
	struct subjects unknown = subjects_for(m);

	if ((int64_t)pool->observed < pool->expected)
		return;
	LIST_FOREACH (it, &pool->lost)
		add_claims(&unknown, LIST_ENTRY(it, struct inventory_use, lost_link));
	for (size_t i = 0; i < unknown.n; i++)
		SAY(m, "ResourceClaim %.*s references non-existent device '%.*s' in pool '%.*s'",
		    STR_ARG(unknown.v[i].first), STR_ARG(unknown.v[i].second), STR_ARG(pool->name));
	m->n += unknown.all - unknown.n;
}

/* Reports a fault of counters, which the KEP does not list. Faults of names are reported above. */
static void say_counters(const struct inventory_pool *pool, struct messages *m)
{
	if (pool->invalid && !pool->duplicates)
		SAY(m, "%.*s", STR_ARG(pool->invalid_reason));
}

/* --- poolStatus ----------------------------------------------------------------------- */

static void pool_condition(struct arena *a, struct json *array, const struct json *old,
			   const char *type, bool holds, struct str reason, struct str message,
			   int64_t now_ns)
{
	const struct json *before = json_find(json_getz(old, "conditions"), "type", str_from(type));
	struct str status = holds ? STR("True") : STR("False");
	struct str since = STR_NULL;
	struct json *v = json_make_object(a);
	char text[TIMESTAMP_SIZE];

	if (str_eq(json_text_at(before, "status"), status))
		since = arena_str(a, json_text_at(before, "lastTransitionTime"));
	if (since.n == 0)
		since = arena_str(a, timestamp_print(now_ns, TIMESTAMP_SECONDS, text));
	json_put_str(a, v, "type", str_from(type));
	json_put_str(a, v, "status", status);
	json_put_str(a, v, "lastTransitionTime", since);
	json_put_str(a, v, "reason", reason);
	if (message.n > 0)
		json_put_str(a, v, "message", message);
	json_append(array, v);
}

static void add_errors(struct json *status, const struct messages *m, struct arena *a)
{
	struct json *array;

	if (m->n == 0)
		return;
	array = json_need_array(a, status, "validationErrors");
	for (size_t i = 0; i < m->n && i < AVAILABILITY_ERRORS_MAX; i++)
		json_append(array, json_make_str(a, m->v[i]));
	if (m->n > AVAILABILITY_ERRORS_MAX)
		json_append(
			array,
			json_make_str(a, str_from(arena_printf(a, "and %zu more",
							       m->n - AVAILABILITY_ERRORS_MAX))));
}

static void add_conditions(struct json *status, const struct inventory_pool *pool,
			   const struct messages *m, const struct json *old, int64_t now_ns,
			   struct arena *a)
{
	struct json *array = json_need_array(a, status, "conditions");
	struct str missing = STR("");

	if (pool->incomplete)
		missing = str_from(arena_printf(a, "observed %u of %lld ResourceSlices",
						pool->observed, (long long)pool->expected));
	pool_condition(a, array, old, "Complete", !pool->incomplete,
		       pool->incomplete ? STR("SliceCountMismatch") : STR("SliceCountMatch"),
		       missing, now_ns);
	pool_condition(a, array, old, "Valid", m->n == 0,
		       m->n == 0 ? STR("ValidationPassed") : STR("ValidationFailed"),
		       m->n == 0 ? STR("") : m->v[0], now_ns);
}

struct json *availability_pool_status(const struct inventory_pool *pool, const struct json *old,
				      int64_t now_ns, struct arena *a)
{
	struct json *status = json_make_object(a);
	struct messages m = { .arena = a };

	say_duplicates(pool, &m);
	say_counters(pool, &m);
	say_count(pool, &m);
	say_older(pool, &m);
	say_unknown(pool, &m);
	add_conditions(status, pool, &m, old, now_ns, a);
	add_errors(status, &m, a);
	json_put_i64(a, status, "observedSliceCount", pool->observed);
	json_put_i64(a, status, "expectedSliceCount", MIN(pool->expected, (int64_t)INT32_MAX));
	return status;
}
