/*
 * A memory has as many references as slices have joined, and goes with the last.
 */
#include "controller/slice_status_pools.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/json_cursor.h"
#include "base/limits.h"
#include "base/mem.h"

struct slice_status_memory {
	unsigned refs;
	struct str key;
	struct buf told; /* poolStatus as text; or empty */
	char text[]; /* the key */
};

void slice_status_pools_init(struct slice_status_pools *p)
{
	map_init(&p->all);
}

void slice_status_pools_release(struct slice_status_pools *p)
{
	map_release(&p->all);
}

static struct slice_status_memory *need(struct slice_status_pools *p, struct str key)
{
	struct slice_status_memory *m = map_get(&p->all, key);

	if (!m) {
		m = xcalloc(1, sizeof(*m) + key.n + 1);
		memcpy(m->text, key.p, key.n);
		m->key = str_of(m->text, key.n);
		buf_init(&m->told, OBJECT_MAX);
		(void)map_put(&p->all, m->key, m);
	}
	m->refs++;
	return m;
}

void slice_status_pools_leave(struct slice_status_pools *p, struct slice_status_memory **at)
{
	struct slice_status_memory *m = TAKE(*at);

	if (!m || --m->refs > 0)
		return;
	(void)map_remove(&p->all, m->key);
	buf_release(&m->told);
	free(m);
}

void slice_status_pools_join(struct slice_status_pools *p, struct slice_status_memory **at,
			     const struct cached *slice, struct arena *a)
{
	struct str driver = cached_field(slice, "spec.driver", a);
	struct str pool = cached_field(slice, "spec.pool.name", a);
	struct str key = str_from(arena_printf(a, "%.*s/%.*s", STR_ARG(driver), STR_ARG(pool)));

	if (*at && str_eq((*at)->key, key))
		return;
	slice_status_pools_leave(p, at);
	*at = need(p, key);
}

struct json *slice_status_pools_before(const struct slice_status_memory *m, struct str stored,
				       struct arena *a)
{
	struct json_cursor c = json_cursor_of(stored);
	struct str text = buf_str(&m->told);
	enum json_cursor_type type;
	struct json *v, *status;
	struct str raw;

	if (stored.n > 0 && json_cursor_find(&c, STR("poolStatus")) &&
	    json_cursor_value(&c, &raw, &type) && type == JSON_CURSOR_NESTED)
		text = raw;
	if (text.n == 0 || json_parse(a, arena_str(a, text), NULL, &v, NULL) < 0)
		return NULL;
	status = json_make_object(a);
	json_setz(status, "poolStatus", v);
	return status;
}

void slice_status_pools_note(struct slice_status_memory *m, const struct json *status)
{
	const struct json *v = json_getz(status, "poolStatus");

	if (!v)
		return;
	buf_clear(&m->told);
	if (json_print(&m->told, v, NULL) < 0)
		buf_clear(&m->told);
}
