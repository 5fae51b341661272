/*
 * The buffer holds at most one line. The next call empties it after the line was used, and frees
 * it if it is large.
 */
#include "client/informer/watch_event.h"

#include "base/json/cursor.h"
#include "client/client_limits.h"

enum { LINES_KEPT = 64 * 1024 }; /* capacity worth keeping between lines */

static const struct {
	struct str name;
	enum watch_event_type type;
} types[] = {
	{ { "ADDED", 5 }, WATCH_EVENT_ADDED },     { { "MODIFIED", 8 }, WATCH_EVENT_MODIFIED },
	{ { "DELETED", 7 }, WATCH_EVENT_DELETED }, { { "BOOKMARK", 8 }, WATCH_EVENT_BOOKMARK },
	{ { "ERROR", 5 }, WATCH_EVENT_ERROR },
};

static enum watch_event_type type_of(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (str_eq(types[i].name, name))
			return types[i].type;
	return WATCH_EVENT_UNKNOWN;
}

int watch_event_parse(struct str line, struct watch_event *ret_event, struct error *err)
{
	struct json_cursor s = json_cursor_of(line);
	struct str key, raw, type = STR_NULL;
	enum json_cursor_type what;
	struct watch_event e = { 0 };

	if (json_cursor_enter(&s, '{'))
		while (json_cursor_member(&s, &key, NULL) && json_cursor_value(&s, &raw, &what)) {
			if (str_eq(key, STR("type")) && what == JSON_CURSOR_STRING)
				type = raw;
			else if (str_eq(key, STR("object")) && what == JSON_CURSOR_NESTED)
				e.object = raw;
		}
	if (!s.p || !type.n || !e.object.n)
		return error_set(err, ERR_PROTOCOL, "the server sent no watch event: %.*s",
				 (int)MIN(line.n, (size_t)64), line.p ? line.p : "");
	e.type = type_of(type);
	*ret_event = e;
	return 0;
}

static bool is_change(enum watch_event_type type)
{
	return type == WATCH_EVENT_ADDED || type == WATCH_EVENT_MODIFIED ||
	       type == WATCH_EVENT_DELETED;
}

int watch_event_begin(struct str line, struct watch_event *ret_event, struct error *err)
{
	struct json_cursor s = json_cursor_of(line);
	enum json_cursor_type what;
	struct watch_event e;
	struct str key, type;

	if (json_cursor_enter(&s, '{') && json_cursor_member(&s, &key, NULL) &&
	    str_eq(key, STR("type")) && json_cursor_value(&s, &type, &what) &&
	    what == JSON_CURSOR_STRING && json_cursor_member(&s, &key, NULL) &&
	    str_eq(key, STR("object")) && *s.p == '{') {
		e.type = type_of(type);
		e.object = str_of(s.p, (size_t)(s.end - s.p));
		if (is_change(e.type)) {
			*ret_event = e;
			return 0;
		}
	}
	return watch_event_parse(line, ret_event, err);
}

static void read_annotations(struct json_cursor *s, bool *ret_initial_end)
{
	enum json_cursor_type type;
	struct str raw;

	if (json_cursor_find(s, STR("k8s.io/initial-events-end")) &&
	    json_cursor_value(s, &raw, &type))
		*ret_initial_end = type == JSON_CURSOR_STRING && str_eq(raw, STR("true"));
}

int watch_event_bookmark(struct str object, struct str *ret_rv, bool *ret_initial_end,
			 struct error *err)
{
	struct json_cursor s = json_cursor_of(object), annotations;
	struct str key, raw;
	enum json_cursor_type type;

	*ret_rv = STR_NULL;
	*ret_initial_end = false;
	if (json_cursor_find(&s, STR("metadata")) && json_cursor_enter(&s, '{'))
		while (json_cursor_member(&s, &key, NULL)) {
			annotations = s;
			if (!json_cursor_value(&s, &raw, &type))
				break;
			if (str_eq(key, STR("resourceVersion")) && type == JSON_CURSOR_STRING)
				*ret_rv = raw;
			else if (str_eq(key, STR("annotations")))
				read_annotations(&annotations, ret_initial_end);
		}
	if (!ret_rv->n)
		return error_set(err, ERR_PROTOCOL,
				 "the server sent a bookmark without a resourceVersion");
	return 0;
}

void event_lines_init(struct event_lines *l)
{
	buf_init(&l->rest, CLIENT_EVENT_MAX);
}

void event_lines_release(struct event_lines *l)
{
	buf_release(&l->rest);
}

void event_lines_clear(struct event_lines *l)
{
	if (l->rest.cap > LINES_KEPT)
		buf_release(&l->rest);
	buf_clear(&l->rest);
}

/*
 * Returns true with a line in *ret_line; the buffer then ends with its newline until the next
 * call.
 */
static bool take_line(struct event_lines *l, struct str *piece, size_t n, struct str *ret_line)
{
	if (l->rest.n)
		*ret_line = str_of(l->rest.p, l->rest.n - 1);
	else
		*ret_line = str_of(piece->p, n);
	*piece = str_skip(*piece, n + 1);
	return ret_line->n > 0;
}

int event_lines_next(struct event_lines *l, struct str *piece, struct str *ret_line,
		     struct error *err)
{
	ptrdiff_t at;

	do {
		if (l->rest.n && l->rest.p[l->rest.n - 1] == '\n')
			event_lines_clear(l);
		if (!piece->n)
			return 0;
		at = str_chr(*piece, '\n');
		if (at >= 0 && l->rest.n == 0)
			continue;
		if (buf_add(&l->rest, piece->p, at < 0 ? piece->n : (size_t)at + 1) < 0)
			return error_set(err, ERR_TOO_LARGE,
					 "an event of a watch is larger than %zu bytes",
					 (size_t)CLIENT_EVENT_MAX);
		if (at < 0) {
			*piece = STR_NULL;
			return 0;
		}
	} while (!take_line(l, piece, (size_t)at, ret_line));
	return 1;
}
