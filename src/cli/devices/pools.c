/*
 * Slices are sorted, so a pool is a run of them.
 */
#include "cli/devices/pools.h"

static struct str pool_name(const struct device_view_slice *s)
{
	return json_text_at(json_getz(s->spec, "pool"), "name");
}

static bool pools_is_same(const struct device_view_slice *a, const struct device_view_slice *b)
{
	return str_eq(json_text_at(a->spec, "driver"), json_text_at(b->spec, "driver")) &&
	       str_eq(pool_name(a), pool_name(b));
}

static void pools_add_slice(struct device_pool *p, const struct device_view_slice *s)
{
	const struct json *pool = json_getz(s->spec, "pool");
	const struct json *status = json_getz(s->status, "poolStatus");
	struct str node = device_view_node(s->spec);
	struct device_counts counts = device_view_count(s);

	if (s->older)
		return;
	if (p->observed++ == 0) {
		p->generation = json_i64_at(pool, "generation", 0);
		p->expected = json_i64_at(pool, "resourceSliceCount", 0);
		p->node = node;
	} else if (!str_eq(p->node, node)) {
		p->node = STR("<some>");
	}
	if (status && !p->status) {
		p->status = status;
		p->source = s->source;
	}
	device_counts_sum(&p->counts, &counts);
}

size_t device_pools_make(struct arena *a, const struct device_view *v,
			 struct device_pool **ret_pools)
{
	struct device_pool *pools = ARENA_ARRAY(a, struct device_pool, v->n + 1);
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++) {
		const struct device_view_slice *s = &v->slices[i];

		if (i == 0 || !pools_is_same(s, s - 1))
			pools[n++] = (struct device_pool){ .driver = json_text_at(s->spec,
										  "driver"),
							   .name = pool_name(s),
							   .slices = s };
		pools[n - 1].n++;
		pools_add_slice(&pools[n - 1], s);
	}
	*ret_pools = pools;
	return n;
}

bool device_pools_is_called(const struct device_pool *p, struct str word)
{
	struct str rest = word, driver;

	if (str_eq(word, p->name))
		return true;
	(void)str_split(&rest, '/', &driver);
	return rest.p && str_eq(driver, p->driver) && str_eq(rest, p->name);
}

struct str device_pools_condition(const struct device_pool *p, const char *type)
{
	struct str status = json_text_at(
		json_find(json_getz(p->status, "conditions"), "type", str_from(type)), "status");

	return status.n > 0 ? status : STR("<unknown>");
}
