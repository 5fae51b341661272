/*
 * A watch is in one of three lists, so that a change costs time only for watches that have room:
 * idle watches move to the ready list in one step. A message is sent by reference; nothing is built
 * per watch.
 *
 * While a watch is read it is in no list, as after its end, so a watch that ends meanwhile is not
 * found again.
 */
#include "node/podresources/watch.h"

#include "grpc/grpc.h"

enum {
	TURN_MAX = 4096, /* messages, and reads that find none, of all watches per turn */
	WATCH_MAX = 64, /* messages of one watch before the next watch's turn */
	COUNT_MS = 1000, /* period of counting the backlog */
};

/* --- reading ------------------------------------------------------------------------- */

static void watch_finish(struct podres_watch *w, enum grpc_code code, struct str message)
{
	list_remove(&w->link);
	(void)grpc_call_finish(w->call, code, message); /* may free the watch */
}

/* The watch missed changes that cannot be sent to its client. */
static void watch_give_up(struct podres_watch *w)
{
	podres_metrics_failed(w->table->metrics, w->kind);
	watch_finish(
		w, GRPC_OUT_OF_RANGE,
		STR("the watch fell behind and changes were lost to it: open the watch again, then "
		    "call List"));
}

/*
 * Sends as many messages as there is room for, and puts the watch into its list. Returns their
 * number.
 */
static unsigned watch_read_one(struct podres_watches *t, struct podres_watch *w)
{
	struct bytes *b;
	unsigned n;
	int r;

	for (n = 0; n < WATCH_MAX; n++) {
		if (grpc_call_room(w->call) == 0) {
			list_push_back(&t->full, &w->link);
			return n;
		}
		b = podres_read(t->book, &w->cursor);
		if (!b && w->cursor.lost) {
			watch_give_up(w);
			return n;
		}
		if (!b) {
			list_push_back(&t->idle, &w->link);
			return n;
		}
		r = grpc_call_send_packed(w->call, b);
		bytes_unref(b);
		if (r < 0)
			return n; /* it is ending */
	}
	list_push_back(&t->ready, &w->link);
	return n;
}

static void watch_serve(struct podres_watches *t)
{
	uint64_t sent = 0, n;
	struct list *node;
	size_t work = 0;

	t->serving = true;
	if (t->changed)
		list_splice_back(&t->ready, &t->idle);
	t->changed = false;
	while (work < TURN_MAX && (node = list_pop_front(&t->ready))) {
		n = watch_read_one(t, LIST_ENTRY(node, struct podres_watch, link));
		sent += n;
		work += n + 1;
	}
	if (sent)
		podres_metrics_sent(t->metrics, sent);
	if (!list_empty(&t->ready))
		loop_defer(t->loop, &t->task);
	if (!list_empty(&t->full) && t->metrics->backlog && !loop_timer_running(&t->timer))
		loop_timer_start(&t->timer, COUNT_MS);
	t->serving = false;
}

static void watch_on_task(struct loop_task *task)
{
	watch_serve(CONTAINER_OF(task, struct podres_watches, task));
}

/* Serves at once, so that sockets are written before other work that the change has caused. */
static void watch_on_change(void *arg)
{
	struct podres_watches *t = arg;

	t->changed = true;
	if (t->serving || !list_empty(&t->ready))
		loop_defer(t->loop, &t->task);
	else
		watch_serve(t);
}

/* --- backlog ------------------------------------------------------------------------- */

static uint64_t backlog_of(const struct podres_watches *t, const struct list *watches)
{
	uint64_t n = 0;

	LIST_FOREACH (it, watches)
		n += podres_backlog(t->book, &LIST_ENTRY(it, struct podres_watch, link)->cursor);
	return n;
}

static void set_backlog(struct podres_watches *t, double n)
{
	podres_metrics_backlog(t->metrics, n - t->backlog);
	t->backlog = n;
}

static void watch_on_timer(struct loop_timer *timer)
{
	struct podres_watches *t = CONTAINER_OF(timer, struct podres_watches, timer);

	set_backlog(t, (double)(backlog_of(t, &t->full) + backlog_of(t, &t->ready)));
	if (!list_empty(&t->full) || !list_empty(&t->ready))
		loop_timer_start(timer, COUNT_MS);
}

/* --- all watches --------------------------------------------------------------------- */

void podres_watches_init(struct podres_watches *t, struct loop *l, struct podres *book,
			 const struct podres_metrics *metrics)
{
	*t = (struct podres_watches){ .loop = l, .book = book, .metrics = metrics };
	list_init(&t->idle);
	list_init(&t->ready);
	list_init(&t->full);
	loop_task_init(&t->task, watch_on_task);
	loop_timer_init(&t->timer, l, watch_on_timer);
	podres_listen(book, watch_on_change, t);
}

static void end_all(struct list *watches)
{
	while (!list_empty(watches))
		watch_finish(LIST_ENTRY(watches->next, struct podres_watch, link), GRPC_UNAVAILABLE,
			     STR("the agent is stopping"));
}

void podres_watches_close(struct podres_watches *t)
{
	podres_listen(t->book, NULL, NULL);
	loop_task_cancel(&t->task);
	loop_timer_stop(&t->timer);
	set_backlog(t, 0);
	end_all(&t->idle);
	end_all(&t->ready);
	end_all(&t->full);
	t->book = NULL;
}

/* --- one watch ----------------------------------------------------------------------- */

void podres_watch_begin(struct podres_watches *t, struct podres_watch *w, struct grpc_call *c,
			enum podres_call kind, const Podresources__WatchRequest *request)
{
	list_init(&w->link);
	w->table = t;
	w->call = c;
	w->kind = kind;
	podres_metrics_stream(t->metrics, kind, 1);
	podres_begin(t->book, &w->cursor,
		     kind == PODRES_CALL_WATCH ? PODRES_PODS : PODRES_ALLOCATABLE,
		     request->send_initial, request->after_revision);
	/* The headers show the client that it misses no change from now on. */
	(void)grpc_call_send_headers(c);
	list_push_back(&t->ready, &w->link);
	loop_defer(t->loop, &t->task);
}

void podres_watch_writable(struct podres_watch *w)
{
	struct podres_watches *t = w->table;

	if (!t || list_empty(&w->link))
		return;
	list_remove(&w->link);
	list_push_back(&t->ready, &w->link);
	loop_defer(t->loop, &t->task);
}

void podres_watch_end(struct podres_watch *w)
{
	if (!w->table)
		return;
	list_remove(&w->link);
	podres_metrics_stream(w->table->metrics, w->kind, -1);
}
