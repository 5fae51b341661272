/*
 * The text is a function of what drivers say and of the text before, so an agent that is started
 * again goes on with what its Node says.
 */
#include "node/node_health.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/map.h"
#include "base/print.h"
#include "base/timestamp.h"
#include "dra/device_health.h"
#include "node/health_impl.h"

struct making {
	struct arena *arena;
	struct map before; /* id -> its object */
	struct str now; /* as text */
	struct buf *out;
	size_t n;
	bool full;
};

static void read_before(struct making *m, struct str text)
{
	struct json *list;

	map_init(&m->before);
	if (text.n == 0 || text.n > DEVICE_HEALTH_ANNOTATION_MAX ||
	    json_parse(m->arena, text, NULL, &list, NULL) < 0)
		return;
	JSON_FOREACH (v, list)
		if (json_text_at(v, "id").n > 0)
			(void)map_put(&m->before, json_text_at(v, "id"), v);
}

static struct str since(const struct making *m, struct str id, const char *health)
{
	const struct json *v = map_get(&m->before, id);
	struct str text = json_text_at(v, "since");
	int64_t ns;

	if (!v || !str_eqz(json_text_at(v, "health"), health) ||
	    timestamp_parse(text, &ns, NULL) < 0)
		return m->now;
	return text;
}

static void add(struct making *m, const struct health_entry *e)
{
	const char *health = assign_health_name(e->health);
	struct str message = str_cut(str_of(e->message, e->message_n), NODE_HEALTH_MESSAGE_MAX);
	struct str id = str_from(arena_printf(m->arena, "%.*s/%.*s/%.*s", STR_ARG(e->driver->name),
					      STR_ARG(e->pool), STR_ARG(e->device)));
	size_t was = m->out->n;

	(void)buf_addz(m->out, m->n > 0 ? ",{\"id\":" : "[{\"id\":");
	(void)print_json(m->out, id);
	(void)buf_printf(m->out, ",\"health\":\"%s\",\"since\":", health);
	(void)print_json(m->out, since(m, id, health));
	if (message.n > 0) {
		(void)buf_addz(m->out, ",\"message\":");
		(void)print_json(m->out, message);
	}
	(void)buf_addz(m->out, "}");
	m->n++;
	m->full = m->out->n >= DEVICE_HEALTH_ANNOTATION_MAX || m->n > DEVICE_HEALTH_REPORTS_MAX;
	if (m->full)
		m->out->n = was;
}

static void add_all(struct making *m, const struct health *h, enum assign_health which)
{
	struct omap_cursor d, c;

	for (bool ok = omap_first(&h->drivers, &d); ok && !m->full; ok = omap_next(&d)) {
		const struct health_driver *driver = omap_value(&d);

		for (bool more = omap_first(&driver->devices, &c); more && !m->full;
		     more = omap_next(&c)) {
			const struct health_entry *e = omap_value(&c);

			if (e->health == which)
				add(m, e);
		}
	}
}

struct str node_health_annotation(struct arena *a, const struct health *h, struct str before,
				  int64_t wall_ns)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(2 * DEVICE_HEALTH_ANNOTATION_MAX);
	struct making m = { .arena = a, .out = &out };
	char now[TIMESTAMP_SIZE];

	if (!h || h->count == 0)
		return STR_NULL;
	m.now = timestamp_print(wall_ns, TIMESTAMP_SECONDS, now);
	read_before(&m, before);
	add_all(&m, h, ASSIGN_UNHEALTHY);
	add_all(&m, h, ASSIGN_UNKNOWN);
	map_release(&m.before);
	if (out.n == 0)
		return STR_NULL;
	(void)buf_addz(&out, "]");
	return arena_str(a, buf_str(&out));
}
