/*
 * The cache as a file:
 *
 *	{"drivers":[{"name":"gpu.example.com","devices":[{"pool":"node-1","device":"gpu-0",
 *	"health":"Healthy","message":"..","updated":1700000000,"timeoutMs":30000}]}]}
 *
 * A device that has not been reported since it was loaded also has
 * "expires":"2023-11-14T22:13:50.000000000Z". If that time has passed, its health is Unknown.
 * Reading is all or nothing: we did not write a file that contains a fault, whatever its check sum
 * says.
 */
#include <inttypes.h>

#include "base/core/clock.h"
#include "base/json/json.h"
#include "base/json/writer.h"
#include "base/time/timestamp.h"
#include "node/health/health_impl.h"
#include "node/health/health_message.h"
#include "node/node_limits.h"

/* --- writing --------------------------------------------------------------------------------- */

/* Times beyond the range of a time stamp (the year 2262) are clamped. */
static int64_t wall_of(int64_t expires_ms, int64_t wall_ns, int64_t now_ms)
{
	int64_t left_ms = MAX(expires_ms - now_ms, INT64_C(0));

	if (left_ms > (INT64_MAX - wall_ns) / CLOCK_MS)
		return INT64_MAX;
	return wall_ns + left_ms * CLOCK_MS;
}

static void write_device(struct json_writer *w, const struct health_entry *e, int64_t wall_ns,
			 int64_t now_ms)
{
	char text[TIMESTAMP_SIZE];

	json_writer_begin_object(w);
	json_writer_keyz(w, "pool");
	json_writer_str(w, e->pool);
	json_writer_keyz(w, "device");
	json_writer_str(w, e->device);
	json_writer_keyz(w, "health");
	json_writer_strz(w, assign_health_name(e->health));
	if (e->message_n > 0) {
		json_writer_keyz(w, "message");
		json_writer_str(w, str_of(e->message, e->message_n));
	}
	json_writer_keyz(w, "updated");
	json_writer_i64(w, e->updated_s);
	json_writer_keyz(w, "timeoutMs");
	json_writer_i64(w, e->timeout_ms);
	if (e->unconfirmed) {
		json_writer_keyz(w, "expires");
		json_writer_str(w, timestamp_print(wall_of(e->expires_ms, wall_ns, now_ms),
						   TIMESTAMP_NANO, text));
	}
	json_writer_end_object(w);
}

static void write_driver(struct json_writer *w, const struct health_driver *d, int64_t wall_ns,
			 int64_t now_ms)
{
	struct omap_cursor c;

	json_writer_begin_object(w);
	json_writer_keyz(w, "name");
	json_writer_str(w, d->name);
	json_writer_keyz(w, "devices");
	json_writer_begin_array(w);
	for (bool ok = omap_first(&d->devices, &c); ok; ok = omap_next(&c))
		write_device(w, omap_value(&c), wall_ns, now_ms);
	json_writer_end_array(w);
	json_writer_end_object(w);
}

int health_encode(const struct health *h, int64_t wall_ns, int64_t now_ms, struct buf *out)
{
	struct json_writer w;
	struct omap_cursor c;

	json_writer_init(&w, out, NULL);
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "drivers");
	json_writer_begin_array(&w);
	for (bool ok = omap_first(&h->drivers, &c); ok; ok = omap_next(&c))
		write_driver(&w, omap_value(&c), wall_ns, now_ms);
	json_writer_end_array(&w);
	json_writer_end_object(&w);
	return json_writer_finish(&w);
}

/* --- reading --------------------------------------------------------------------------------- */

static bool read_health(struct str s, enum assign_health *ret_health)
{
	for (int i = ASSIGN_HEALTHY; i <= ASSIGN_UNKNOWN; i++) {
		if (!str_eqz(s, assign_health_name((enum assign_health)i)))
			continue;
		*ret_health = (enum assign_health)i;
		return true;
	}
	return false;
}

/*
 * Milliseconds left, at most the time-out; 0 if the time has passed; -1 if the text is not a time.
 */
static int64_t read_left(const struct json *v, int64_t timeout_ms, int64_t wall_ns)
{
	struct str text = json_text_at(v, "expires");
	int64_t at_ns, left_ns;

	if (!text.p)
		return timeout_ms;
	if (timestamp_parse(text, &at_ns, NULL) < 0)
		return -1;
	if (at_ns <= wall_ns)
		return 0;
	/* The difference of two times around 1970 may overflow. */
	if (wall_ns < 0 && at_ns > INT64_MAX + wall_ns)
		return timeout_ms;
	left_ns = at_ns - wall_ns;
	return MIN(left_ns / CLOCK_MS + (left_ns % CLOCK_MS > 0), timeout_ms);
}

/* State of reading one file. */
struct reading {
	struct health *health;
	struct arena *arena;
	int64_t wall_ns, now_ms;
};

static int health_state_read_device(struct reading *r, struct health_driver *d,
				    const struct json *v)
{
	struct str pool = json_text_at(v, "pool"), device = json_text_at(v, "device");
	int64_t timeout_ms = json_i64_at(v, "timeoutMs", 0);
	int64_t left_ms = read_left(v, timeout_ms, r->wall_ns);
	struct str message = health_message_clean(json_text_at(v, "message"), r->arena);
	struct health *h = r->health;
	enum assign_health health;
	struct health_entry *e;
	size_t count = h->count;

	if (timeout_ms <= 0 || left_ms < 0 || !read_health(json_text_at(v, "health"), &health))
		return -ERR_INVALID;
	e = health_entry_of(h, d, pool, device);
	if (!e || h->count == count)
		return -ERR_INVALID;
	e->updated_s = json_i64_at(v, "updated", 0);
	e->timeout_ms = timeout_ms;
	if (left_ms == 0 || (health == ASSIGN_UNKNOWN && message.n == 0))
		return 0;
	(void)health_entry_set(h, e, health, message, health_after(r->now_ms, left_ms));
	health_set_unconfirmed(h, e, true);
	return 0;
}

static int read_driver(struct reading *r, const struct json *v)
{
	struct str name = json_text_at(v, "name");
	struct health_driver *d;

	if (!health_name_ok(name) || !json_is(json_getz(v, "devices"), JSON_ARRAY) ||
	    omap_get(&r->health->drivers, name))
		return -ERR_INVALID;
	d = health_driver_of(r->health, name);
	JSON_FOREACH (it, json_getz(v, "devices")) {
		if (health_state_read_device(r, d, it) < 0)
			return -ERR_INVALID;
	}
	return 0;
}

static int read_drivers(struct reading *r, const struct json *root)
{
	const struct json *drivers = json_getz(root, "drivers");

	if (!json_is(drivers, JSON_ARRAY))
		return -ERR_INVALID;
	JSON_FOREACH (it, drivers) {
		if (read_driver(r, it) < 0)
			return -ERR_INVALID;
	}
	return 0;
}

int health_decode(struct health *h, struct str body, int64_t wall_ns, int64_t now_ms,
		  struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct reading r = { .health = h, .arena = &a, .wall_ns = wall_ns, .now_ms = now_ms };
	struct json *root;
	struct error why;

	arena_init(&a, HEALTH_STATE_WORK_MAX);
	if (json_parse(&a, body, NULL, &root, &why) < 0)
		return error_set(err, ERR_INVALID, "health state: %s", why.msg);
	if (read_drivers(&r, root) < 0) {
		health_clear(h);
		return error_set(err, ERR_INVALID, "health state: not as it is written");
	}
	return 0;
}
