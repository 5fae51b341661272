/*
 * The interface: forwards calls to the backend that the store was opened with.
 */
#include "store/store.h"

#include "store/backend.h"

void store_close(struct store *s, void (*closed)(void *arg), void *arg)
{
	s->ops->close(s, closed, arg);
}

void store_write(struct store *s, struct store_write *w)
{
	s->ops->write(s, w);
}

size_t store_pending(const struct store *s)
{
	return s->pending;
}

int store_health(struct store *s, struct error *err)
{
	return s->ops->health(s, err);
}

void store_range(struct store *s, const struct store_range *range, struct arena *arena,
		 void (*done)(void *arg, const struct store_range_result *result,
			      const struct error *err),
		 void *arg)
{
	s->ops->range(s, range, arena, done, arg);
}

void store_current(struct store *s,
		   void (*done)(void *arg, int64_t revision, const struct error *err), void *arg)
{
	s->ops->current(s, done, arg);
}

bool store_is_local(const struct store *s)
{
	return s->local;
}

void store_follow(struct store *s, int64_t revision, const struct store_feed *feed)
{
	s->ops->follow(s, revision, feed);
}

int store_history(struct store *s, struct str resource, int64_t revision, size_t max_bytes,
		  struct arena *arena, struct store_past *ret_past, struct error *err)
{
	return s->ops->history(s, resource, revision, max_bytes, arena, ret_past, err);
}

void store_compact(struct store *s, int64_t revision,
		   void (*done)(void *arg, const struct error *err), void *arg)
{
	s->ops->compact(s, revision, done, arg);
}

int64_t store_compacted(const struct store *s)
{
	return s->ops->compacted(s);
}

struct str store_cluster_id(const struct store *s)
{
	return s->ops->cluster_id(s);
}

void store_note_seal(struct store *s, struct str resource, atomic_uint *seal)
{
	if (s->ops->note_seal)
		s->ops->note_seal(s, resource, seal);
}
