/*
 * The value of a write is replaced by the sealed one while the inner store has it, so that events
 * still point to the caller's write. A write that cannot be sealed is never sent. Those that come
 * after it fail too; those that come after a write whose end is held back name its revision, since
 * the inner store no longer knows it.
 */
#include <stdlib.h>

#include "base/core/mem.h"
#include "store/sealed/sealed_impl.h"

struct sealed_unsent {
	struct list link;
	struct store_write *write;
	struct error err;
};

void sealed_write_end(struct sealed_store *s, struct store_write *w, const struct error *err)
{
	s->base.pending--;
	w->done = w->reply;
	w->reply = NULL;
	w->done(w, err);
}

/* The inner store's outcome. */
static void sealed_on_done(struct store_write *w, const struct error *err)
{
	struct sealed_store *s = w->owner;
	struct bytes *sealed;

	if (w->clear) {
		sealed = w->value;
		w->value = TAKE(w->clear);
		bytes_unref(sealed);
	}
	w->stage = SEALED_ENDED;
	w->result = err ? -(int)err->code : 0;
	if (!sealed_feed_hold(s, w, err))
		sealed_write_end(s, w, err);
}

static void sealed_fail(struct sealed_store *s, struct store_write *w, const struct error *err)
{
	struct sealed_unsent *u = XNEW(struct sealed_unsent);

	w->stage = SEALED_FAILED;
	w->result = -(int)err->code;
	u->write = w;
	u->err = *err;
	list_push_back(&s->unsent, &u->link);
	loop_defer(s->base.loop, &s->work);
}

void sealed_writes_flush(struct sealed_store *s)
{
	struct list *node;

	while ((node = list_pop_front(&s->unsent))) {
		struct sealed_unsent *u = LIST_ENTRY(node, struct sealed_unsent, link);

		sealed_write_end(s, u->write, &u->err);
		free(u);
	}
}

/* The write before has no outcome yet for its caller, but has one for the inner store. */
static int sealed_after(struct store_write *w, struct error *err)
{
	const struct store_write *before = w->after;

	if (!before || before->stage == SEALED_SENT)
		return 0;
	if (before->stage == SEALED_FAILED || before->result < 0)
		return error_set(err, ERR_CONFLICT, "the write before it failed");
	w->after = NULL;
	w->expected = before->value ? before->revision : 0;
	return 0;
}

static int sealed_seal(struct sealed_store *s, struct store_write *w, struct error *err)
{
	struct bytes *sealed;
	int r;

	w->seal = 0;
	if (!w->value)
		return 0;
	r = sealed_value_make(sealed_rule_of(s, w->key.resource), &w->key, bytes_str(w->value),
			      &sealed, &w->seal, err);
	if (r < 0)
		return sealed_blame(&w->key, r, err);
	if (sealed) {
		w->clear = w->value;
		w->value = sealed;
	}
	return 0;
}

void sealed_write(struct store *base, struct store_write *w)
{
	struct sealed_store *s = sealed_of(base);
	struct error err;

	s->base.pending++;
	w->owner = s;
	w->clear = NULL;
	w->reply = w->done;
	w->done = sealed_on_done;
	w->stage = SEALED_SENT;
	w->state = NULL;
	w->waiting = NULL;
	if (sealed_after(w, &err) < 0 || sealed_seal(s, w, &err) < 0)
		sealed_fail(s, w, &err);
	else
		store_write(s->inner, w);
}
