/*
 * What the feed tells the writes: when those that etcd has answered may be told,
 * and, where an answer was lost, what became of the write. Evidence is the key's
 * first change behind the revision that the write expects: if it made what the
 * write wants, it is the write; if not, the write can never take effect.
 */
#include <inttypes.h>

#include "store/etcd_write_impl.h"

/* --- verdicts ------------------------------------------------------------------------------ */

static void fail_unknown(struct etcd_write *rec)
{
	struct error why = rec->err;

	(void)error_set(&rec->err, ERR_TIMEOUT, "it is not known whether etcd has written it%s%s",
			why.code ? ": " : "", why.code ? why.msg : "");
}

static void fail_conflict(struct etcd_write *rec)
{
	(void)error_set(&rec->err, ERR_CONFLICT, "the key is no longer at revision %" PRId64,
			rec->expected);
}

static void succeed(struct etcd_write *rec, int64_t revision)
{
	rec->w->revision = revision;
	rec->err.code = ERR_OK;
}

void etcd_write_judge(struct etcd_write *rec, bool complete)
{
	switch (rec->verdict) {
	case VERDICT_SUCCEEDED:
		succeed(rec, rec->reached);
		return;
	case VERDICT_CONFLICTED:
		fail_conflict(rec);
		return;
	case VERDICT_CHANGED:
		if (rec->seen && rec->seen_same)
			succeed(rec, rec->seen);
		else if (rec->seen || (complete && rec->epoch == rec->all->epoch))
			fail_conflict(rec);
		else
			fail_unknown(rec);
		return;
	case VERDICT_ASKED:
		if (rec->seen && rec->seen_same)
			succeed(rec, rec->seen);
		else
			fail_unknown(rec);
		return;
	}
}

/* --- what the feed tells ------------------------------------------------------------------- */

void etcd_writes_follow(struct etcd_writes *ws, int64_t revision)
{
	ws->following = true;
	ws->epoch++;
	ws->delivered = revision;
	loop_defer(etcd_client_loop(ws->client), &ws->task);
}

void etcd_writes_lost(struct etcd_writes *ws)
{
	ws->epoch++;
}

void etcd_writes_unfollow(struct etcd_writes *ws)
{
	struct list now, *node;

	ws->following = false;
	ws->epoch++;
	list_init(&now);
	list_splice_back(&now, &ws->landed);
	while ((node = list_pop_front(&now))) {
		struct etcd_write *rec = LIST_ENTRY(node, struct etcd_write, link);

		etcd_write_judge(rec, false);
		etcd_write_settle(rec);
	}
}

static bool is_same(const struct etcd_write *rec, const struct str *value)
{
	const struct bytes *want = rec->w->value;

	return want && value ? str_eq(bytes_str(want), *value) : !want && !value;
}

/* Whether the change is this write's, as far as can be told now. */
static bool note_change(struct etcd_write *rec, int64_t revision, const struct str *value)
{
	if (rec->is_landed && rec->verdict == VERDICT_SUCCEEDED)
		return rec->reached == revision;
	/* A creation comes behind the deletion of what was there before. */
	if (revision <= rec->floor || rec->seen || (!value && !rec->expected))
		return false;
	rec->seen = revision;
	rec->seen_same = is_same(rec, value);
	if (rec->seen_same)
		rec->w->revision = revision;
	return rec->seen_same;
}

struct store_write *etcd_writes_match(struct etcd_writes *ws, struct str key, int64_t revision,
				      const struct str *value)
{
	struct etcd_write *maker = NULL;

	for (struct etcd_write *rec = map_get(&ws->keys, key); rec; rec = rec->older)
		if (note_change(rec, revision, value))
			maker = rec;
	return maker ? maker->w : NULL;
}

void etcd_writes_delivered(struct etcd_writes *ws, int64_t revision)
{
	ws->delivered = revision;
	while (!list_empty(&ws->landed)) {
		struct etcd_write *rec = LIST_ENTRY(ws->landed.next, struct etcd_write, link);

		if (revision < rec->reached)
			return;
		etcd_write_judge(rec, true);
		etcd_write_settle(rec);
	}
}
