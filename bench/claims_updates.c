/*
 * The body is made once, from the current object; one byte of it changes with each write.
 */
#include "claims_updates.h"

#include <stdlib.h>

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"

struct claim {
	char *name;
	struct buf body;
	char *digit; /* that changes */
};

struct updates;

struct slot {
	struct updates *updates;
	struct client_request request;
	int64_t begun_ns;
};

struct updates {
	struct claims_updates_opts opts;
	struct claims_updates_result result;
	struct resource resource;
	struct client_request list;
	struct claim *claims;
	struct slot *slots;
	size_t begun, ended;
	int64_t begun_ns;
};

static void write_next(struct slot *s);

/* --- what is there ---------------------------------------------------------------------- */

static void make_claim(struct updates *u, struct claim *c, struct json *object, struct arena *a)
{
	struct json *meta = json_getz(object, "metadata"), *body = object, *status;
	const char mark[] = "\"message\":\"";

	c->name = str_dup(json_text_at(meta, "name"));
	buf_init(&c->body, OBJECT_MAX);
	if (u->opts.put) {
		(void)json_remove(meta, STR("resourceVersion"));
	} else {
		status = json_make_object(a);
		json_setz(status, "devices", json_getz(json_getz(object, "status"), "devices"));
		body = json_make_object(a);
		json_setz(body, "status", status);
	}
	if (json_print(&c->body, body, NULL) < 0)
		load_die("a claim is too large");
	c->digit = strstr(c->body.p, mark);
	if (!c->digit)
		load_die("a claim has no condition");
	c->digit += strlen(mark);
}

static void on_listed(struct client_request *r, const struct client_answer *answer,
		      const struct error *failure)
{
	CLEANUP(arena_release) struct arena a;
	struct updates *u = r->arg;
	struct json *tree, *items;
	struct error err;
	size_t i = 0;

	arena_init(&a, SIZE_MAX);
	if (failure)
		load_die(failure->msg);
	if (client_answer_tree(answer, &a, &tree, &err) < 0)
		load_die(err.msg);
	items = json_getz(tree, "items");
	u->result.claims = json_count(items);
	if (u->result.claims < u->opts.flight)
		load_die("too few claims");
	u->claims = xcalloc(u->result.claims, sizeof(*u->claims));
	JSON_FOREACH (object, items)
		make_claim(u, &u->claims[i++], object, &a);
	u->begun_ns = load_now_ns();
	for (i = 0; i < u->opts.flight; i++)
		write_next(&u->slots[i]);
}

/* --- writes ----------------------------------------------------------------------------- */

static void finish(struct updates *u)
{
	u->result.s = load_since_ms(u->begun_ns) / 1000;
	u->opts.on_done(u->opts.arg, &u->result);
	for (size_t i = 0; i < u->result.claims; i++) {
		buf_release(&u->claims[i].body);
		free(u->claims[i].name);
	}
	free(u->claims);
	free(u->slots);
	free(u->result.ms.v);
	free(u);
}

static void on_written(struct client_request *r, const struct client_answer *answer,
		       const struct error *err)
{
	struct slot *s = r->arg;
	struct updates *u = s->updates;

	if (err)
		load_die(err->msg);
	load_times_add(&u->result.ms, load_since_ms(s->begun_ns));
	u->result.answered = answer->body.n;
	if (++u->ended == u->opts.count)
		finish(u);
	else if (u->begun < u->opts.count)
		write_next(s);
}

static void write_next(struct slot *s)
{
	struct updates *u = s->updates;
	struct claim *c = &u->claims[u->begun++ % u->result.claims];
	struct str name = str_from(c->name), ns = STR("default");

	*c->digit = *c->digit == '1' ? '2' : '1';
	u->result.sent = c->body.n;
	s->request = (struct client_request){ .body = buf_str(&c->body),
					      .on_done = on_written,
					      .arg = s };
	s->begun_ns = load_now_ns();
	if (u->opts.put)
		client_update_status(u->opts.client, &s->request, &u->resource, ns, name, NULL);
	else
		client_patch(u->opts.client, &s->request, &u->resource,
			     (struct resource_name){ ns, name, STR("status") }, CLIENT_PATCH_MERGE,
			     NULL);
}

void claims_updates_run(const struct claims_updates_opts *opts)
{
	struct updates *u = XNEW(struct updates);

	if (!opts->count || !opts->flight || opts->flight > opts->count)
		load_die("nothing to write");
	*u = (struct updates){ .opts = *opts,
			       .resource = resource_builtin("resource.k8s.io", "v1",
							    "resourceclaims"),
			       .list = { .on_done = on_listed, .arg = u } };
	u->slots = xcalloc(opts->flight, sizeof(*u->slots));
	for (size_t i = 0; i < opts->flight; i++)
		u->slots[i].updates = u;
	client_list(opts->client, &u->list, &u->resource, STR("default"));
}
