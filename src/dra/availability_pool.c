/*
 * What is wrong with a pool, in KEP-5677's words, and the conditions that follow. Everything that
 * is told is told in a fixed order, so that a status that did not change stays as it is.
 *
 * While slices are missing, a device that no slice has may be in one of those: it is
 * not told of.
 */
#include "base/limits.h"
#include "base/timestamp.h"
#include "base/vec.h"
#include "dra/availability_impl.h"

typedef VEC(struct str) messages;

#define SAY(m, a, ...) ((void)vec_push((m), str_from(arena_printf((a), __VA_ARGS__))))

static int by_text(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void say_duplicates(const struct inventory_pool *pool, struct arena *a, messages *m)
{
	struct map seen;

	if (!pool->duplicates)
		return;
	map_init(&seen);
	for (size_t i = 0; i < pool->nslices; i++) {
		struct inventory_slice *s = pool->slices[i];

		for (size_t k = 0; k < s->ndevices; k++) {
			const struct inventory_device *other = map_put(&seen, s->devices[k].name,
								       &s->devices[k]);

			if (other)
				SAY(m, a, "device %.*s appears in both %.*s and %.*s",
				    STR_ARG(other->name), STR_ARG(other->slice->name),
				    STR_ARG(s->name));
		}
	}
	map_release(&seen);
}

static void say_count(const struct inventory_pool *pool, struct arena *a, messages *m)
{
	if (pool->incomplete)
		SAY(m, a, "pool has %u ResourceSlices of generation %lld, %lld are expected",
		    pool->observed, (long long)pool->generation, (long long)pool->expected);
	for (size_t i = 1; i < pool->nslices; i++)
		if (pool->slices[i]->expected != pool->expected)
			SAY(m, a, "ResourceSlice %.*s expects %lld ResourceSlices, %.*s %lld",
			    STR_ARG(pool->slices[i]->name), (long long)pool->slices[i]->expected,
			    STR_ARG(pool->slices[0]->name), (long long)pool->expected);
}

static void say_older(const struct inventory_pool *pool, struct arena *a, messages *m)
{
	size_t first = m->n;

	if (pool->nolder == 0)
		return;
	LIST_FOREACH (it, &pool->all) {
		const struct inventory_slice *s = LIST_ENTRY(it, struct inventory_slice, link);

		if (!s->current)
			SAY(m, a, "ResourceSlice %.*s has generation %lld, the pool has %lld",
			    STR_ARG(s->name), (long long)s->generation,
			    (long long)pool->generation);
	}
	qsort(m->v + first, m->n - first, sizeof(*m->v), by_text);
}

static void say_unknown(const struct inventory_pool *pool, struct arena *a, messages *m)
{
	size_t first = m->n, at = 0;
	struct str name;
	void *value;

	if ((int64_t)pool->observed < pool->expected)
		return;
	while (map_next(&pool->uses, &at, &name, &value)) {
		const struct inventory_use *use = value;
		const struct inventory_claim *last = NULL;

		if (inventory_pool_device(pool, name))
			continue;
		LIST_FOREACH (it, &use->holders) {
			const struct inventory_claim *c =
				LIST_ENTRY(it, struct inventory_holder, link)->claim;

			if (c != last)
				SAY(m, a,
				    "ResourceClaim %.*s references non-existent device '%.*s' in "
				    "pool '%.*s'",
				    STR_ARG(c->key), STR_ARG(name), STR_ARG(pool->name));
			last = c;
		}
	}
	if (m->n > first)
		qsort(m->v + first, m->n - first, sizeof(*m->v), by_text);
}

/* A fault of counters, which the KEP does not name; of names, it was told of above. */
static void say_counters(const struct inventory_pool *pool, struct arena *a, messages *m)
{
	if (pool->invalid && !pool->duplicates)
		SAY(m, a, "%.*s", STR_ARG(pool->invalid_reason));
}

static void condition(struct arena *a, struct json *array, const struct json *old, const char *type,
		      bool holds, struct str reason, struct str message, int64_t now_ns)
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

static void add_errors(struct json *status, const messages *m, struct arena *a)
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
			   const messages *m, const struct json *old, int64_t now_ns,
			   struct arena *a)
{
	struct json *array = json_need_array(a, status, "conditions");
	struct str missing = STR("");

	if (pool->incomplete)
		missing = str_from(arena_printf(a, "observed %u of %lld ResourceSlices",
						pool->observed, (long long)pool->expected));
	condition(a, array, old, "Complete", !pool->incomplete,
		  pool->incomplete ? STR("SliceCountMismatch") : STR("SliceCountMatch"), missing,
		  now_ns);
	condition(a, array, old, "Valid", m->n == 0,
		  m->n == 0 ? STR("ValidationPassed") : STR("ValidationFailed"),
		  m->n == 0 ? STR("") : m->v[0], now_ns);
}

struct json *availability_pool_status(const struct inventory_pool *pool, const struct json *old,
				      int64_t now_ns, struct arena *a)
{
	struct json *status = json_make_object(a);
	messages m;

	vec_init(&m, SIZE_MAX);
	say_duplicates(pool, a, &m);
	say_counters(pool, a, &m);
	say_count(pool, a, &m);
	say_older(pool, a, &m);
	say_unknown(pool, a, &m);
	add_conditions(status, pool, &m, old, now_ns, a);
	add_errors(status, &m, a);
	json_put_i64(a, status, "observedSliceCount", pool->observed);
	json_put_i64(a, status, "expectedSliceCount", MIN(pool->expected, (int64_t)INT32_MAX));
	vec_release(&m);
	return status;
}
