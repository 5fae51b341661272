/*
 * Foreign text goes through output_clean(), so that a line stays one line.
 */
#include "cli/live/watch_print.h"

#include "base/core/limits.h"
#include "base/json/writer.h"
#include "base/time/timestamp.h"
#include "cli/devices/claim_sight.h"
#include "cli/output/output.h"

static const char *word(struct str s, const char *none)
{
	return s.n ? s.p : none;
}

/* Removes the name of a claim that may not be named; reasons of devices have none. */
static struct str watch_print_reason_of(const struct top_change *c, const struct top_view *view,
					struct arena *a)
{
	return c->kind == TOP_POOL ? claim_sight_message(a, view->may, view->arg, c->reason)
				   : c->reason;
}

static bool tells_holders(const struct top_change *c)
{
	return c->kind != TOP_HEALTH && c->kind != TOP_TAINT && c->nholders + c->omitted > 0;
}

void watch_print_line(const struct top_change *c, const struct top_view *view, struct buf *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	struct arena scratch;
	char time[TIMESTAMP_SIZE];
	struct str now = timestamp_print(view->wall_ns, TIMESTAMP_SECONDS, time);

	(void)buf_printf(&text, "%.*s  %.*s/%.*s%s%.*s  %.*s -> %.*s", STR_ARG(now),
			 STR_ARG(c->driver), STR_ARG(c->pool), c->device.n ? "/" : "",
			 STR_ARG(c->device), c->from.n ? (int)c->from.n : 5, word(c->from, "(new)"),
			 c->to.n ? (int)c->to.n : 6, word(c->to, "(gone)"));
	if (tells_holders(c)) {
		(void)buf_addz(&text, "  ");
		top_print_holders(view, c->holders, c->nholders, c->omitted, &text);
	}
	arena_init(&scratch, MIB);
	if (c->reason.n)
		(void)buf_printf(&text, "  %.*s",
				 STR_ARG(watch_print_reason_of(c, view, &scratch)));
	arena_release(&scratch);
	output_clean(out, buf_str(&text));
	(void)buf_addc(out, '\n');
}

static void member(struct json_writer *w, const char *name, struct str value)
{
	if (!value.n)
		return;
	json_writer_keyz(w, name);
	json_writer_str(w, value);
}

static void holders(struct json_writer *w, const struct top_change *c, const struct top_view *view)
{
	int64_t hidden = 0;

	json_writer_keyz(w, "claims");
	json_writer_begin_array(w);
	for (size_t i = 0; i < c->nholders; i++) {
		if (view->may && !view->may(view->arg, c->holders[i].ns)) {
			hidden++;
			continue;
		}
		json_writer_begin_object(w);
		member(w, "namespace", c->holders[i].ns);
		member(w, "name", c->holders[i].claim);
		json_writer_end_object(w);
	}
	json_writer_end_array(w);
	if (hidden) {
		json_writer_keyz(w, "hiddenClaims");
		json_writer_i64(w, hidden);
	}
	if (c->omitted) {
		json_writer_keyz(w, "omittedAllocations");
		json_writer_i64(w, (int64_t)c->omitted);
	}
}

void watch_print_json(const struct top_change *c, const struct top_view *view, struct buf *out)
{
	static const char *const kinds[] = {
		[TOP_ADDED] = "added",   [TOP_REMOVED] = "removed", [TOP_STATE] = "state",
		[TOP_HEALTH] = "health", [TOP_TAINT] = "taint",     [TOP_POOL] = "pool"
	};
	char time[TIMESTAMP_SIZE];
	struct arena scratch;
	struct json_writer w;

	json_writer_init(&w, out, NULL);
	json_writer_begin_object(&w);
	member(&w, "time", timestamp_print(view->wall_ns, TIMESTAMP_MICRO, time));
	member(&w, "change", str_from(kinds[c->kind]));
	member(&w, "driver", c->driver);
	member(&w, "pool", c->pool);
	member(&w, "device", c->device);
	member(&w, "from", c->from);
	member(&w, "to", c->to);
	if (tells_holders(c))
		holders(&w, c, view);
	arena_init(&scratch, MIB);
	member(&w, "reason", watch_print_reason_of(c, view, &scratch));
	arena_release(&scratch);
	json_writer_end_object(&w);
	(void)json_writer_finish(&w);
	(void)buf_addc(out, '\n');
}
