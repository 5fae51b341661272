/*
 * There is one call at a time. It waits for a connection without a limit: the instance's channel
 * does the retries. A problem is reported once, and again only after a report has come in between,
 * so a driver that fails for days causes one log line.
 */
#include "node/plugins/health_stream.h"

#include "base/core/mem.h"
#include "base/time/backoff.h"
#include "grpc/channel.h"
#include "node/plugins/plugins_impl.h"

enum { RETRY_MAX_MS = 5 * 1000 };

struct health_stream {
	struct plugins *p;
	struct str driver;
	struct grpc_channel *channel;
	const struct plugin_wire_health *services[PLUGIN_WIRE_HEALTH]; /* to try, in order */
	size_t nservices, at;
	struct grpc_call *call; /* NULL: no call runs */
	struct backoff backoff;
	struct loop_timer timer;
	bool troubled; /* a problem was reported */
	bool freed;
	struct loop_task release;
};

static void health_stream_release(struct loop_task *t)
{
	free(CONTAINER_OF(t, struct health_stream, release));
}

static void on_report(struct grpc_call *c, const void *message)
{
	struct health_stream *s = grpc_call_data(c);
	struct plugins *p = s->p;
	struct plugin_health *v;
	struct arena a;
	struct error err;
	size_t n;

	arena_init(&a, SIZE_MAX);
	if (s->services[s->at]->read(message, &a, &v, &n, &err) < 0) {
		plugins_problem(p, &err, "health of driver %.*s", STR_ARG(s->driver));
		s->troubled = true;
		if (!s->freed)
			grpc_call_cancel(c);
	} else {
		backoff_reset(&s->backoff);
		s->troubled = false;
		if (p->events.on_health)
			p->events.on_health(p->arg, s->driver, v, n);
	}
	arena_release(&a);
}

static void tell_trouble(struct health_stream *s, const struct grpc_status *st)
{
	struct error err;

	if (s->troubled)
		return;
	s->troubled = true;
	if (st->code == GRPC_OK)
		(void)error_set(&err, ERR_UNAVAILABLE, "EOF");
	else
		(void)plugin_wire_error(st, &err);
	(void)error_wrap(&err, -(int)err.code, "the health stream has ended and is opened again");
	plugins_problem(s->p, &err, "health of driver %.*s", STR_ARG(s->driver));
}

static void open_stream(struct health_stream *s);

static void next_service(struct health_stream *s)
{
	s->at++;
	if (s->at < s->nservices)
		open_stream(s);
	else if (s->p->events.on_no_health)
		s->p->events.on_no_health(s->p->arg, s->driver);
}

static void health_stream_on_end(struct grpc_call *c, const struct grpc_status *st)
{
	struct health_stream *s = grpc_call_data(c);

	s->call = NULL;
	if (s->freed)
		return;
	if (st->code == GRPC_UNIMPLEMENTED) {
		next_service(s);
		return;
	}
	loop_timer_start(&s->timer, backoff_next(&s->backoff, loop_prng(s->p->loop)));
	tell_trouble(s, st);
}

static void open_stream(struct health_stream *s)
{
	static const struct grpc_call_ops ops = { .on_message = on_report,
						  .on_end = health_stream_on_end };
	static const Drahealth__WatchRequest request = DRAHEALTH__WATCH_REQUEST__INIT;
	struct grpc_call_opts opts = { .wait_for_ready = true };

	s->call = grpc_channel_call(s->channel, &s->services[s->at]->watch, &opts, &ops, s);
	(void)grpc_call_send(s->call, &request.base);
	(void)grpc_call_half_close(s->call);
}

static void health_stream_on_timer(struct loop_timer *t)
{
	open_stream(CONTAINER_OF(t, struct health_stream, timer));
}

static void choose_services(struct health_stream *s, const bool advertised[PLUGIN_WIRE_HEALTH])
{
	bool any = false;

	for (size_t i = 0; i < PLUGIN_WIRE_HEALTH; i++)
		any |= advertised[i];
	for (size_t i = 0; i < PLUGIN_WIRE_HEALTH; i++)
		if (advertised[i] || !any)
			s->services[s->nservices++] = &plugin_wire_health[i];
}

struct health_stream *health_stream_new(struct plugins *p, struct str driver,
					struct grpc_channel *ch,
					const bool advertised[PLUGIN_WIRE_HEALTH])
{
	struct health_stream *s = XNEW(struct health_stream);

	s->p = p;
	s->driver = driver;
	s->channel = ch;
	s->backoff = (struct backoff){ .initial_ms = p->health_retry_ms,
				       .max_ms = MAX(p->health_retry_ms, RETRY_MAX_MS),
				       .factor = 2,
				       .jitter = 0.2 };
	loop_timer_init(&s->timer, p->loop, health_stream_on_timer);
	loop_task_init(&s->release, health_stream_release);
	choose_services(s, advertised);
	open_stream(s);
	return s;
}

void health_stream_free(struct health_stream *s)
{
	if (!s || s->freed)
		return;
	s->freed = true;
	loop_timer_stop(&s->timer);
	loop_defer(s->p->loop, &s->release);
	if (s->call)
		grpc_call_cancel(s->call);
}

const char *health_stream_service(const struct health_stream *s)
{
	return s->at < s->nservices ? s->services[s->at]->name : NULL;
}
