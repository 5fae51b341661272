/*
 * The feed's part in a write: it decides when writes that etcd has answered may end and, if an
 * answer was lost, the outcome of the write. The evidence is the stamp; etcd/write.h has the
 * argument.
 */
#include <inttypes.h>

#include "store/etcd/stamp.h"
#include "store/etcd/write_impl.h"

/* --- verdicts ------------------------------------------------------------------------------ */

static void fail_unknown(struct etcd_write *rec)
{
	struct error why = rec->err;

	(void)error_set(&rec->err, ERR_TIMEOUT, "unknown whether etcd has written it%s%s",
			why.code ? ": " : "", why.code ? why.msg : "");
}

static void fail_conflict(struct etcd_write *rec)
{
	(void)error_set(&rec->err, ERR_CONFLICT, "the key is no longer at revision %" PRId64,
			rec->expected);
}

static void write_feed_succeed(struct etcd_write *rec, int64_t revision)
{
	rec->w->revision = revision;
	rec->err.code = ERR_OK;
}

void etcd_write_judge(struct etcd_write *rec, bool complete)
{
	switch (rec->verdict) {
	case VERDICT_SUCCEEDED:
		write_feed_succeed(rec, rec->reached);
		return;
	case VERDICT_CONFLICTED:
		fail_conflict(rec);
		return;
	case VERDICT_CHANGED:
		if (rec->seen)
			write_feed_succeed(rec, rec->seen);
		else if ((rec->overtaken || complete) && rec->epoch == rec->all->epoch)
			fail_conflict(rec);
		else
			fail_unknown(rec);
		return;
	case VERDICT_ASKED:
		if (rec->seen)
			write_feed_succeed(rec, rec->seen);
		else
			fail_unknown(rec);
		return;
	}
}

/* --- called by the feed -------------------------------------------------------------------- */

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

/* Notes a change of the key. Returns whether this write made it. */
static bool note_change(struct etcd_write *rec, int64_t revision, uint64_t stamp)
{
	if (stamp != rec->stamp) {
		rec->overtaken |= rec->expected && revision > rec->floor;
		return false;
	}
	rec->seen = rec->w->revision = revision;
	return true;
}

/* A deletion's stamp was put right before it, in the same revision. */
static uint64_t stamp_of(struct etcd_writes *ws, struct str key, int64_t revision,
			 struct str *value)
{
	uint64_t stamp;

	if (!value)
		return ws->deletion_revision == revision ? ws->deletion_stamp : 0;
	stamp = etcd_stamp_split(*value, value);
	if (str_eq(key, buf_str(&ws->deletion_key))) {
		ws->deletion_revision = revision;
		ws->deletion_stamp = stamp;
	}
	return stamp;
}

/* Notes a change in all our writes of the key. Returns the one that made it, or NULL. */
static struct etcd_write *note_all(struct etcd_writes *ws, struct str key, int64_t revision,
				   uint64_t stamp)
{
	struct etcd_write *maker = NULL;

	for (struct etcd_write *rec = map_get(&ws->keys, key); rec; rec = rec->older)
		if (note_change(rec, revision, stamp))
			maker = rec;
	return maker;
}

struct store_write *etcd_writes_match(struct etcd_writes *ws, struct str key, int64_t revision,
				      struct str *value)
{
	struct etcd_write *maker = note_all(ws, key, revision, stamp_of(ws, key, revision, value));

	return maker ? maker->w : NULL;
}

/* Whether etcd's answer says which change the write has made. The deletion of no key makes none. */
static bool is_proven(const struct etcd_write *rec)
{
	return rec->verdict == VERDICT_SUCCEEDED && (rec->w->value || rec->expected);
}

bool etcd_writes_next(struct etcd_writes *ws, struct list **at, int64_t revision,
		      struct store_event *ret_event)
{
	for (*at = *at ? *at : ws->landed.next; *at != &ws->landed; *at = (*at)->next) {
		struct etcd_write *rec = LIST_ENTRY(*at, struct etcd_write, link);

		if (rec->reached > revision + 1)
			return false;
		if (rec->reached != revision + 1 || !is_proven(rec))
			continue;
		(void)note_all(ws, str_of(rec->key, rec->nkey), rec->reached, rec->stamp);
		*ret_event = (struct store_event){ rec->w->key, rec->reached, .write = rec->w };
		if (rec->w->value)
			ret_event->value = bytes_ref(rec->w->value);
		return true;
	}
	return false;
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
