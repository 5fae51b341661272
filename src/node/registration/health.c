/*
 * The text depends only on the drivers' reports and the previous text, so a restarted agent
 * continues with its Node's text.
 */
#include "node/registration/health.h"

#include "base/core/buf.h"
#include "base/core/map.h"
#include "base/json/json.h"
#include "base/text/print.h"
#include "base/time/timestamp.h"
#include "dra/availability/device_health.h"
#include "dra/dra_limits.h"
#include "node/health/health.h"

struct making {
	struct arena *arena;
	struct map before; /* id -> its object */
	struct str now; /* the present time, as text */
	struct buf *out;
	struct health_device last; /* the last one in the open list of names; or without driver */
	size_t n;
	bool full;
};

/* The ends of a list of names with its object, and of the text. */
static const char names_end[] = "]}", text_end[] = "]";

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

/* Keeps the device whose text begins at `was` if it fits with `end` after it; else removes it. */
static void keep_or_drop(struct making *m, size_t was, const char *end)
{
	size_t n = m->out->n + strlen(end) + strlen(text_end);

	m->n++;
	m->full = n > DEVICE_HEALTH_ANNOTATION_MAX || m->n > DEVICE_HEALTH_REPORTS_MAX;
	if (m->full)
		m->out->n = was;
}

static void health_add(struct making *m, const struct health_device *e)
{
	const char *health = assign_health_name(e->health);
	struct str message = str_cut(e->message, NODE_HEALTH_MESSAGE_MAX);
	struct str id = str_from(arena_printf(m->arena, "%.*s/%.*s/%.*s", STR_ARG(e->driver),
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
	keep_or_drop(m, was, "");
}

static void close_names(struct making *m)
{
	if (m->last.driver.n > 0)
		(void)buf_addz(m->out, names_end);
	m->last = (struct health_device){ 0 };
}

/* Devices of one pool come one after another. */
static void health_add_name(struct making *m, const struct health_device *e)
{
	bool more = str_eq(m->last.driver, e->driver) && str_eq(m->last.pool, e->pool);
	size_t was;

	if (!more)
		close_names(m);
	was = m->out->n;
	if (more) {
		(void)buf_addz(m->out, ",");
	} else {
		(void)buf_addz(m->out, m->n > 0 ? ",{\"driver\":" : "[{\"driver\":");
		(void)print_json(m->out, e->driver);
		(void)buf_addz(m->out, ",\"pool\":");
		(void)print_json(m->out, e->pool);
		(void)buf_printf(m->out, ",\"health\":\"%s\",\"devices\":[",
				 assign_health_name(e->health));
	}
	(void)print_json(m->out, e->device);
	keep_or_drop(m, was, names_end);
	if (more || !m->full)
		m->last = *e;
}

static void health_add_all(struct making *m, const struct health *h, enum assign_health which,
			   void (*one)(struct making *m, const struct health_device *e))
{
	struct health_device e = { 0 };

	while (!m->full && health_next(h, &e))
		if (e.health == which)
			one(m, &e);
}

struct str node_health_annotation(struct arena *a, const struct health *h, struct str before,
				  int64_t wall_ns)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(2 * DEVICE_HEALTH_ANNOTATION_MAX);
	struct making m = { .arena = a, .out = &out };
	char now[TIMESTAMP_SIZE];

	if (!h || health_count(h) == 0)
		return STR_NULL;
	m.now = timestamp_print(wall_ns, TIMESTAMP_SECONDS, now);
	read_before(&m, before);
	health_add_all(&m, h, ASSIGN_UNHEALTHY, health_add);
	health_add_all(&m, h, ASSIGN_UNKNOWN, health_add);
	health_add_all(&m, h, ASSIGN_HEALTHY, health_add_name);
	close_names(&m);
	map_release(&m.before);
	if (out.n == 0)
		return STR_NULL;
	(void)buf_addz(&out, text_end);
	return arena_str(a, buf_str(&out));
}
