/*
 * Items are sent in windows. A window of creations is twice as large as the one before; of other
 * verbs the first one has all. A creation has three ends: the server has the object, it rejected
 * the object, or it does not answer. In the last case the same object is sent again, until there is
 * an answer. If the answer is that the name exists, or a failure of the server (5xx), the batch
 * looks for the object by its name. Controllers may list pods but not get them, so it uses a list.
 */
#include "controller/pods/batch.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "base/json/json.h"
#include "controller/shared/context.h"

enum {
	AT_ONCE = 100,
	GENERATED_MAX = 58, /* as the server: labels hold 63 */
	GENERATED_LETTERS = 5,
	AGAIN_MIN_MS = 100,
	AGAIN_MAX_MS = 5000,
};

struct batch_request {
	struct list link;
	struct batch *batch;
	struct batch_item *item;
	struct client_request request;
	struct loop_timer again;
	unsigned attempts; /* that had no answer */
	struct error rejected; /* the failure that the lookup is to confirm */
	bool looking;
};

static void batch_go_on(struct batch *b);
static void request_send(struct batch_request *r);
static void look_up(struct batch_request *r);

/* --- events ---------------------------------------------------------------------------------- */

static void batch_event(const struct batch *b, enum recorder_type type, const char *reason,
			const char *fmt, struct str text)
{
	char message[KIB];
	int n;

	if (b->silent || !b->ctx->recorder)
		return;
	n = snprintf(message, sizeof(message), "%s: %.*s", fmt, STR_ARG(text));
	recorder_event(b->ctx->recorder, &b->about, type, reason,
		       str_cut(str_from(message), (size_t)MAX(n, 0)));
}

static void report_end(const struct batch *b, const struct batch_item *it, bool gone)
{
	bool create = it->verb == BATCH_CREATE;

	if (it->verb == BATCH_PATCH || gone)
		return;
	if (it->fate == BATCH_DONE)
		batch_event(b, RECORDER_NORMAL, create ? "SuccessfulCreate" : "SuccessfulDelete",
			    create ? "Created pod" : "Deleted pod", it->name);
	else
		batch_event(b, RECORDER_WARNING, create ? "FailedCreate" : "FailedDelete",
			    create ? "Error creating" : "Error deleting", str_from(it->error.msg));
}

/* --- ends ------------------------------------------------------------------------------------ */

static void request_free(struct batch_request *r)
{
	list_remove(&r->link);
	client_cancel(&r->request);
	loop_timer_stop(&r->again);
	free(r);
}

static void note_failure(struct batch *b, const struct batch_item *it)
{
	if (b->first.code == ERR_OK)
		b->first = it->error;
	b->stopped |= it->verb == BATCH_CREATE;
}

/* `gone`: it was not there any more. */
static void item_end(struct batch_request *r, enum batch_fate fate, const struct error *err,
		     const struct client_answer *answer, bool gone)
{
	struct batch *b = r->batch;
	struct batch_item *it = r->item;

	it->fate = fate;
	if (fate == BATCH_FAILED || fate == BATCH_DOUBTFUL) {
		(void)error_copy(&it->error, err);
		note_failure(b, it);
	}
	if (fate != BATCH_SKIPPED)
		report_end(b, it, gone || it->error.code == ERR_CONFLICT);
	request_free(r);
	b->under_way--;
	if (b->ended)
		b->ended(b, it, answer);
	batch_go_on(b);
}

static void skip_rest(struct batch *b)
{
	while (b->next) {
		struct batch_item *it = b->next;

		b->next = it->next;
		it->fate = BATCH_SKIPPED;
		if (b->ended)
			b->ended(b, it, NULL);
	}
}

static void batch_finish(struct batch *b)
{
	struct error first = b->first;

	skip_rest(b);
	b->started = false;
	b->done(b, first.code == ERR_OK ? NULL : &first);
}

/* --- answers --------------------------------------------------------------------------------- */

static void wait_and_repeat(struct batch_request *r)
{
	int64_t wait = (int64_t)AGAIN_MIN_MS << MIN(r->attempts, 10U);

	r->attempts++;
	loop_timer_start(&r->again, MIN(wait, (int64_t)AGAIN_MAX_MS));
}

/* Rejected, and not because of its name or a failure of the server. */
static void creation_rejected(struct batch_request *r, const struct client_answer *answer,
			      const struct error *err)
{
	struct batch *b = r->batch;

	if (err->code == ERR_FORBIDDEN &&
	    client_answer_has_cause(answer, STR("NamespaceTerminating"))) {
		b->terminating = b->stopped = true;
		item_end(r, BATCH_SKIPPED, NULL, answer, false);
		return;
	}
	item_end(r, BATCH_FAILED, err, answer, false);
}

static void on_created(struct batch_request *r, const struct client_answer *answer,
		       const struct error *err)
{
	int status = answer ? answer->status : 0;

	if (!err) {
		item_end(r, BATCH_DONE, NULL, answer, false);
	} else if (err->code == ERR_CANCELED) {
		item_end(r, BATCH_FAILED, err, NULL, false);
	} else if (status < 400) {
		wait_and_repeat(r);
	} else if (status >= 500 || err->code == ERR_ALREADY_EXISTS) {
		r->rejected = *err;
		look_up(r);
	} else {
		creation_rejected(r, answer, err);
	}
}

static struct str controller_uid(const struct json *object)
{
	JSON_FOREACH (it, json_getz(json_getz(object, "metadata"), "ownerReferences")) {
		if (json_true_at(it, "controller"))
			return json_text_at(it, "uid");
	}
	return STR_NULL;
}

static void on_looked_up(struct batch_request *r, const struct client_answer *answer,
			 const struct error *err)
{
	struct json *list, *found;
	bool ours;

	if (err && err->code == ERR_CANCELED) {
		item_end(r, BATCH_FAILED, err, NULL, false);
		return;
	}
	if (err || client_answer_tree(answer, r->batch->arena, &list, NULL) < 0) {
		wait_and_repeat(r);
		return;
	}
	found = json_first(json_getz(list, "items"));
	ours = found && str_eq(controller_uid(found), controller_uid(r->item->body));
	item_end(r, ours ? BATCH_DONE : BATCH_FAILED, &r->rejected, NULL, false);
}

static void on_deleted(struct batch_request *r, const struct client_answer *answer,
		       const struct error *err)
{
	if (!err || err->code == ERR_NOT_FOUND)
		item_end(r, BATCH_DONE, NULL, answer, err != NULL);
	else
		item_end(r, client_answer_doubtful(answer) ? BATCH_DOUBTFUL : BATCH_FAILED, err,
			 answer, false);
}

static void on_patched(struct batch_request *r, const struct client_answer *answer,
		       const struct error *err)
{
	if (!err)
		item_end(r, BATCH_DONE, NULL, answer, false);
	else
		item_end(r, client_answer_doubtful(answer) ? BATCH_DOUBTFUL : BATCH_FAILED, err,
			 answer, false);
}

static void batch_on_done(struct client_request *c, const struct client_answer *answer,
			  const struct error *err)
{
	struct batch_request *r = CONTAINER_OF(c, struct batch_request, request);

	c->query = STR_NULL;
	if (r->looking)
		on_looked_up(r, answer, err);
	else if (r->item->verb == BATCH_CREATE)
		on_created(r, answer, err);
	else if (r->item->verb == BATCH_DELETE)
		on_deleted(r, answer, err);
	else
		on_patched(r, answer, err);
}

/* --- requests -------------------------------------------------------------------------------- */

static void look_up(struct batch_request *r)
{
	struct batch *b = r->batch;
	struct buf query = BUF_INIT(KIB);

	r->looking = true;
	(void)buf_addz(&query, "fieldSelector=metadata.name%3D");
	resource_escape(&query, r->item->name);
	r->request.query = buf_str(&query);
	client_list(b->ctx->client, &r->request, b->resource, b->ns);
	buf_release(&query);
}

/* The server's letters: no vowels, no digits that look like letters. */
static void give_name(struct batch *b, struct batch_item *it)
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
	struct json *meta = json_getz(it->body, "metadata");
	struct str base = json_text_at(meta, "generateName");
	char suffix[GENERATED_LETTERS];

	it->name = json_text_at(meta, "name");
	if (it->name.n > 0 || base.n == 0)
		return;
	for (size_t i = 0; i < sizeof(suffix); i++)
		suffix[i] = letters[prng_below(loop_prng(b->ctx->loop), sizeof(letters) - 1)];
	base = str_cut(base, GENERATED_MAX);
	it->name = str_from(
		arena_printf(b->arena, "%.*s%.*s", STR_ARG(base), GENERATED_LETTERS, suffix));
	json_put_str(b->arena, meta, "name", it->name);
}

static void request_send(struct batch_request *r)
{
	const struct batch *b = r->batch;
	const struct batch_item *it = r->item;
	struct client *c = b->ctx->client;

	switch (it->verb) {
	case BATCH_CREATE:
		client_create(c, &r->request, b->resource, b->ns, it->body);
		break;
	case BATCH_DELETE:
		client_delete(c, &r->request, b->resource, b->ns, it->name,
			      &(struct client_delete_opts){ .uid = it->uid });
		break;
	case BATCH_PATCH:
		client_patch(c, &r->request, b->resource,
			     (struct resource_name){ .ns = b->ns, .name = it->name },
			     CLIENT_PATCH_STRATEGIC, it->body);
		break;
	}
}

static void on_again(struct loop_timer *t)
{
	struct batch_request *r = CONTAINER_OF(t, struct batch_request, again);

	if (r->looking)
		look_up(r);
	else
		request_send(r);
}

static void begin_next(struct batch *b)
{
	struct batch_request *r = XNEW(struct batch_request);

	r->batch = b;
	r->item = b->next;
	r->request.on_done = batch_on_done;
	loop_timer_init(&r->again, b->ctx->loop, on_again);
	list_push_back(&b->running, &r->link);
	b->next = b->next->next;
	b->left--;
	b->under_way++;
	if (r->item->verb == BATCH_CREATE)
		give_name(b, r->item);
	request_send(r);
}

/* --- windows --------------------------------------------------------------------------------- */

static void send_window(struct batch *b)
{
	size_t most = b->at_once ? b->at_once : AT_ONCE;

	while (!b->stopped && b->next && b->left > 0 && b->under_way < most)
		begin_next(b);
}

static void batch_go_on(struct batch *b)
{
	send_window(b);
	if (b->under_way > 0)
		return;
	if (b->stopped || !b->next) {
		batch_finish(b);
		return;
	}
	b->window *= 2;
	b->left = b->window;
	send_window(b);
}

static void on_later(struct loop_timer *t)
{
	batch_finish(CONTAINER_OF(t, struct batch, later));
}

void batch_start(struct batch *b)
{
	bool create = b->items && b->items->verb == BATCH_CREATE;

	list_init(&b->running);
	loop_timer_init(&b->later, b->ctx->loop, on_later);
	b->started = true;
	b->next = b->items;
	b->left = b->window = create ? 1 : SIZE_MAX;
	if (b->next)
		send_window(b);
	else
		loop_timer_start(&b->later, 0);
}

void batch_release(struct batch *b)
{
	if (!b->started)
		return;
	b->started = false;
	loop_timer_stop(&b->later);
	LIST_FOREACH_SAFE (l, &b->running)
		request_free(LIST_ENTRY(l, struct batch_request, link));
}
