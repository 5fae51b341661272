/*
 * The scan looks for the schema's name as a key, then counts braces outside of strings until the
 * schema ends, looking for the property's name as a key within. Both words begin with their only
 * special character, a quote, so a failed match can only begin again at a quote.
 */
#include "node/status/pod_level.h"

#include "base/core/mem.h"
#include "base/time/backoff.h"
#include "client/api/client.h"
#include "net/loop/loop.h"

#define SCHEMA   "\"io.k8s.api.core.v1.PodStatus\":"
#define PROPERTY "\"allocatedResourcesStatus\":"

struct pod_level {
	struct client *client;
	void (*told)(void *arg, bool known);
	void *arg;
	struct pod_level_scan scan;
	struct client_request request;
	struct loop_timer timer;
	struct backoff backoff;
};

/* Returns true if the word is complete with this byte. */
static bool match(struct pod_level_scan *s, const char *word, char c)
{
	if (c != word[s->matched])
		s->matched = 0;
	if (c == word[s->matched])
		s->matched++;
	if (word[s->matched])
		return false;
	s->matched = 0;
	return true;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static void scan_schema(struct pod_level_scan *s, char c)
{
	if (match(s, PROPERTY, c))
		s->found = true;
	if (s->escaped)
		s->escaped = false;
	else if (s->quoted)
		s->quoted = c != '"', s->escaped = c == '\\';
	else if (c == '"')
		s->quoted = true;
	else if (c == '{')
		s->depth++;
	else if (c == '}' && --s->depth == 1)
		s->depth = 0;
}

void pod_level_scan(struct pod_level_scan *s, struct str piece)
{
	for (size_t i = 0; i < piece.n && !s->found; i++) {
		if (is_space(piece.p[i]) && !s->quoted)
			continue;
		if (s->depth > 0)
			scan_schema(s, piece.p[i]);
		else if (match(s, SCHEMA, piece.p[i]))
			s->depth = 1;
	}
}

/* --- asking ----------------------------------------------------------------------- */

static void on_data(struct client_request *r, struct str piece)
{
	pod_level_scan(&CONTAINER_OF(r, struct pod_level, request)->scan, piece);
}

static void pod_level_on_done(struct client_request *r, const struct client_answer *answer,
			      const struct error *err)
{
	struct pod_level *p = CONTAINER_OF(r, struct pod_level, request);

	(void)answer;
	if (!err || err->code == ERR_NOT_FOUND || err->code == ERR_FORBIDDEN)
		p->told(p->arg, p->scan.found);
	else
		loop_timer_start(&p->timer,
				 backoff_next(&p->backoff, loop_prng(client_loop(p->client))));
}

static void pod_level_on_timer(struct loop_timer *t)
{
	struct pod_level *p = CONTAINER_OF(t, struct pod_level, timer);

	p->scan = (struct pod_level_scan){ 0 };
	p->request = (struct client_request){ .path = STR("/openapi/v3/api/v1"),
					      .on_data = on_data,
					      .on_done = pod_level_on_done };
	client_send(p->client, &p->request);
}

struct pod_level *pod_level_ask(struct client *c, void (*told)(void *arg, bool known), void *arg)
{
	struct pod_level *p = XNEW(struct pod_level);

	p->client = c;
	p->told = told;
	p->arg = arg;
	p->backoff = (struct backoff){
		.initial_ms = 1000, .max_ms = 60000, .factor = 2, .jitter = 0.2
	};
	loop_timer_init(&p->timer, client_loop(c), pod_level_on_timer);
	loop_timer_start(&p->timer, 0);
	return p;
}

void pod_level_free(struct pod_level *p)
{
	if (!p)
		return;
	client_cancel(&p->request);
	loop_timer_stop(&p->timer);
	free(p);
}
