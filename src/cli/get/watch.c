/*
 * If the server ends a watch normally, because its time limit was reached, the watch is resumed.
 * Events are printed as they arrive, one by one.
 */
#include "api/api_limits.h"
#include "base/core/limits.h"
#include "cli/get/get.h"
#include "client/api/discovery.h"
#include "client/informer/watch_event.h"
#include "net/loop/loop.h"
#include "net/net_limits.h"

struct watcher {
	struct get *get;
	const struct object_arg *arg;
	struct client_request request;
	struct event_lines lines;
	struct arena arena; /* for one event */
	struct json *head; /* the table with columns; NULL: not received yet */
	char version[64];
	struct error err;
	int result;
};

static void watch_fail(struct watcher *w, const struct error *err)
{
	w->err = *err;
	w->result = -(int)err->code;
	client_cancel(&w->request);
	loop_stop(w->get->kube.loop);
}

/* The version of an object, or of a table's row. */
static void note_version(struct watcher *w, const struct json *object)
{
	const struct json *row = json_first(json_getz(object, "rows"));
	const struct json *of = row ? json_getz(row, "object") : object;
	struct str rv = json_text_at(json_getz(of, "metadata"), "resourceVersion");

	if (rv.n > 0 && rv.n < sizeof(w->version))
		(void)snprintf(w->version, sizeof(w->version), "%.*s", STR_ARG(rv));
}

static void watch_show(struct watcher *w, struct json *object, struct error *err)
{
	struct get *g = w->get;

	get_hide(g, w->arg->type, object);
	if (!get_is_table(g)) {
		if (g->format == GET_YAML && g->head_printed)
			(void)fputs("---\n", g->cli->out);
		g->head_printed = g->head_printed || g->format == GET_YAML;
		w->result = get_print_object(g, w->arg->type, object, err);
		(void)fflush(g->cli->out);
		return;
	}
	object = get_is_slices(w->arg->type) ? get_slice_event(g, &w->arena, object)
					     : object_table_of(&w->arena, object, g->style.wall_ns);
	if (!w->head) {
		/* The first table has the columns, and must outlive its event. */
		if (json_copy(&g->cli->arena, object, &w->head, NULL) < 0)
			return;
	}
	get_print_table(g, w->head, object);
}

static void on_event(struct watcher *w, struct str line)
{
	struct watch_event e;
	struct error err = { 0 };
	struct json *object = NULL;
	int r;

	arena_clear(&w->arena);
	r = watch_event_parse(line, &e, &err);
	if (r == 0)
		r = json_parse(&w->arena, e.object, NULL, &object, &err);
	if (r == 0 && e.type == WATCH_EVENT_ERROR) {
		client_error_of_status(e.object, 0, &err, NULL);
		r = -(int)err.code;
	}
	if (r < 0) {
		watch_fail(w, &err);
		return;
	}
	note_version(w, object);
	if (e.type == WATCH_EVENT_BOOKMARK || e.type == WATCH_EVENT_UNKNOWN)
		return;
	watch_show(w, object, &err);
	if (w->result < 0)
		watch_fail(w, &err);
}

static void on_data(struct client_request *r, struct str piece)
{
	struct watcher *w = r->arg;
	struct error err;
	struct str line;
	int got;

	while (w->result == 0) {
		got = event_lines_next(&w->lines, &piece, &line, &err);
		if (got < 0)
			watch_fail(w, &err);
		if (got <= 0)
			return;
		on_event(w, line);
	}
}

static void watch_on_done(struct client_request *r, const struct client_answer *answer UNUSED,
			  const struct error *err)
{
	struct watcher *w = r->arg;

	if (err) {
		w->err = *err;
		w->result = -(int)err->code;
	}
	loop_stop(w->get->kube.loop);
}

static void watch_begin(struct watcher *w)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(HTTP_TARGET_MAX);
	CLEANUP(buf_release) struct buf query = BUF_INIT(HTTP_TARGET_MAX);
	CLEANUP(buf_release) struct buf field = BUF_INIT(KIB);
	struct kube_query q = get_query(w->get, w->arg);

	if (q.name.n > 0) {
		(void)buf_printf(&field, "metadata.name=%.*s", STR_ARG(q.name));
		q.field_selector = buf_str(&field);
	}
	client_query_add(&query, "watch", STR("true"));
	client_query_add(&query, "allowWatchBookmarks", STR("true"));
	client_query_add(&query, "resourceVersion", str_from(w->version));
	if (q.label_selector.n > 0)
		client_query_add(&query, "labelSelector", q.label_selector);
	if (q.field_selector.n > 0)
		client_query_add(&query, "fieldSelector", q.field_selector);
	resource_path(&path, q.resource, (struct resource_name){ .ns = q.ns });
	event_lines_clear(&w->lines);
	w->request = (struct client_request){ .path = buf_str(&path),
					      .query = buf_str(&query),
					      .accept = q.accept,
					      .timeout_ms = -1,
					      .on_data = on_data,
					      .on_done = watch_on_done,
					      .arg = w };
	client_send(w->get->kube.client, &w->request);
}

int get_watch(struct get *g, const struct object_arg *arg, struct str version,
	      const struct json *head, struct error *err)
{
	struct watcher w = { .get = g, .arg = arg };

	if (head && json_getz(head, "columnDefinitions"))
		w.head = (struct json *)head;
	(void)snprintf(w.version, sizeof(w.version), "%.*s", STR_ARG(version));
	if (head && version.n == 0)
		note_version(&w, head);
	arena_init(&w.arena, REQUEST_WORK_MAX);
	event_lines_init(&w.lines);
	while (w.result == 0) {
		watch_begin(&w);
		loop_run(g->kube.loop);
	}
	(void)error_copy(err, &w.err);
	event_lines_release(&w.lines);
	arena_release(&w.arena);
	return w.result;
}
