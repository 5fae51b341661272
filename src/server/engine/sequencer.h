/*
 * sequencer - the sequencer's parts, for state*.c, resource*.c, lane.c and watch*.c.
 *
 * Everything here belongs to the state's loop, except where it says otherwise.
 */
#ifndef SERVER_ENGINE_SEQUENCER_H
#define SERVER_ENGINE_SEQUENCER_H

#include <stdatomic.h>

#include "base/core/arena.h"
#include "base/core/map.h"
#include "server/cache/blocks.h"
#include "server/cache/ring.h"
#include "server/engine/state.h"

struct crd;
struct lane_feed;
struct metrics_counter;
struct metrics_family;
struct metrics_gauge;
struct reclaim;
struct resource_index;

/* --- resources -------------------------------------------------------------------- */

/* One namespace's part of a resource. */
struct resource_space {
	size_t count; /* objects */
	struct resource_snapshot *all; /* its last complete list; NULL after a change */
	struct str key; /* "namespace/"; stored after the struct */
};

/* One lane's subscription to a resource's ring. */
struct resource_sub {
	struct lane_feed *feed; /* the lane's; its content belongs to the lane's loop */
	size_t watchers; /* 0: the lane gets no messages about the resource */
	uint64_t first; /* number of the oldest chunk that the lane has */
};

/* Expiry of the objects of a kind with SCHEMA_EVENTS (state_expire.c). */
struct expire_queue {
	struct resource *resource;
	struct list due; /* struct expire_entry, the next one first */
	struct map by_key;
	struct loop_timer timer;
	size_t deleting; /* writes under way */
};

struct resource {
	struct state *state;
	const struct schema_kind *kind; /* of the storage version */
	struct str name; /* storage name, a copy: a custom kind's text is freed with the kind */
	struct crd *custom; /* the definition of its kind, a reference; NULL: compiled in */
	uint32_t changes; /* how often the kind has changed */
	bool gone; /* its definition was deleted: writes fail */
	struct resource_blocks objects; /* committed */
	struct resource_index *index; /* committed, for lanes on other loops; or NULL */
	struct resource_blocks loading; /* the objects read so far by a load that is under way */
	struct omap spaces; /* "namespace/" -> struct resource_space */
	struct resource_snapshot *all; /* the same as in resource_space, over all namespaces */
	/* The complete list that lanes may read (looks.h); or NULL. */
	_Atomic(struct resource_snapshot *) shown;
	struct map tips; /* key -> its newest pending write */
	struct ring ring;
	uint64_t batch; /* first chunk of the current batch */
	struct list dirty; /* in state->dirty if the current batch changes it */
	struct resource_sub *subs; /* one for each lane */
	struct expire_queue *expire; /* or NULL */
	const struct state_observer **observers; /* its observers; an array to free */
	size_t nobservers;
	atomic_uint seal; /* the key that a write would be sealed with (store_note_seal()) */
	struct metrics_gauge *objects_gauge, *revision_gauge; /* or NULL */
	struct metrics_counter *events_counter;
};

struct resource *resource_new(struct state *st, const struct schema_kind *kind);
void resource_free(struct resource *r);

/* Changes the custom kind behind a storage name; and drops it (resource_custom.c). */
void resource_change(struct resource *r, const struct schema_kind *kind);
void resource_drop(struct resource *r);

/*
 * Starts the ring anew after the event that is being applied. Watches from earlier revisions
 * expire, and lists at earlier revisions read the store.
 */
void resource_forget_past(struct resource *r);

/* Drops its objects with their counts and cached lists; and only the counts and lists. */
void resource_clear(struct resource *r);
void resource_forget_lists(struct resource *r);

/* The object of a key, or NULL. */
struct object *resource_find(const struct resource *r, struct str key);

/*
 * Inserts an object, or replaces that of the same key. Takes over the reference; returns the
 * replaced object with its reference, or NULL.
 */
struct object *resource_put(struct resource *r, struct object *o);

/* Removes the key's object and returns it with its reference; or NULL. */
struct object *resource_remove(struct resource *r, struct str key);

/* Withdraws the list that resource_show() has published. */
void resource_unshow(struct resource *r);

/* Replaces the objects by those in `loading`. */
void resource_swap(struct resource *r);

/* "ns/name", or "name" for kinds without a namespace, in the arena. */
struct str resource_key(struct arena *a, struct str ns, struct str name);

/* Which objects a list or a watch shows. */
struct resource_filter {
	const struct schema_kind *kind; /* of the storage version */
	struct str ns; /* empty: all */
	struct selector labels, fields;
};

bool resource_filter_matches(const struct resource_filter *f, const struct object *o);

/* All committed objects that match; a new reference. */
struct resource_snapshot *resource_select(struct resource *r, const struct resource_filter *f);

/* Lists committed objects and reports them as of `revision`, at which they were the same. */
void resource_list_present(struct resource *r, const struct list_query *q, int64_t revision,
			   struct arena *a,
			   void (*done)(void *arg, const struct list_result *result,
					const struct error *err),
			   void *arg);

/* Cuts the query's page out of a snapshot of all matches. The caller sets the result's revision. */
void resource_list_cut(const struct resource_snapshot *s, const struct list_query *q,
		       struct arena *a, struct list_result *ret_list);

/* A list as of an older revision (resource_past.c). */
void resource_list_past(struct resource *r, const struct list_query *q, struct arena *a,
			void (*done)(void *arg, const struct list_result *result,
				     const struct error *err),
			void *arg);

/* --- the state -------------------------------------------------------------------- */

struct state {
	struct loop *loop;
	struct store *store;
	bool shared; /* other servers write to the store; known also when it is closed */
	const struct gates *gates; /* lanes read them too */
	struct state_opts opts;
	int64_t revision; /* of committed */
	/* Revision that early observers have seen: ahead of `revision` during a reload. */
	int64_t early;
	int64_t applying; /* revision of the event that is being applied, or was applied last */
	struct resource **resources; /* resources with early observers come first */
	size_t nresources;
	struct map by_name; /* storage name -> struct resource */
	/* Resources of compiled-in kinds, by schema_kind.place; or NULL. */
	struct resource **by_place;
	size_t nplaces;
	struct resource *namespaces; /* that most writes read; or NULL */
	struct resource *quotas; /* the same */
	struct reclaim *reclaim; /* for the indexes of resources; or NULL */
	struct lane **lanes;
	size_t nlanes;
	atomic_size_t nwatches; /* counted by the lanes */

	/* Jobs that have arrived and not yet run: reads here, the others in the lists below. */
	struct list jobs;
	struct list writing; /* jobs that write: they run after the reads */
	struct list large; /* large jobs: one per turn */
	struct list answering; /* finished large jobs whose done() is still to be called */
	struct loop_task run_jobs, run_writing, run_large, run_answering;

	/* Reads that wait for committed (state_sync.c). */
	struct list waiting; /* sorted by revision */
	/* For the store's revision: by the request under way, and by the next one. */
	struct list asking, asking_next;
	bool asked;
	struct loop_timer wait_timer;
	int64_t wait_until; /* ms: when wait_timer fires */

	/* Loading (state_load.c). */
	struct state_load *load; /* NULL if no load is under way */
	struct loop_timer reload;
	struct loop_timer tidy; /* trims the rings */
	bool loaded; /* a load has succeeded once */
	atomic_bool readable; /* lanes may read: loaded, not loading again, not stopping */
	struct error load_error;

	struct list dirty; /* resources that the current batch changed */
	size_t writes; /* under way */
	struct map guards; /* name -> struct state_write under way */
	size_t looking; /* lists with in_turns that are under way */
	struct metrics_gauge *revision_gauge; /* or NULL */
	struct metrics_counter *damaged_counter;
	/* Evaluations of watch selectors; any thread. */
	struct metrics_counter *evaluations_counter;
	struct metrics_family *objects_family, *events_family, *revision_family; /* or NULL */

	bool watches_stopped, stopping, closing;
	size_t lanes_left; /* lanes that have not stopped yet */
	void (*stopped)(void *arg);
	void *stopped_arg;
};

/* Sets whether lanes may read committed objects themselves. */
void state_let_lanes_read(struct state *st, bool readable);

/* Begins to read all objects; also after the feed was lost. */
void state_load_start(struct state *st);

/* Follows the store from state->revision on (state_feed.c). */
void state_feed_start(struct state *st);
/*
 * Sends watchers what the current batch has changed so far, because their watches are about to
 * end.
 */
void state_feed_flush(struct resource *r);
void state_feed_tidy(struct loop_timer *t); /* once a minute: trims rings that get no writes */

/* The committed revision advanced: resumes the reads that waited for it. */
void state_sync_reached(struct state *st);
/* Fails all waiting reads. */
void state_sync_fail(struct state *st, const struct error *err);
void state_sync_init(struct state *st);

/* A write's event was delivered: its key's tip is now committed. */
void state_write_committed(struct state_write *w, struct object *result);

/* Continues to stop if nothing is under way any longer. */
void state_stop_step(struct state *st);
/* Runs all jobs that have arrived, soon. */
void state_run_jobs(struct state *st);

/* Runs m->fn on the state's loop; immediately if `from`, the current loop, is the same. */
void state_tell(struct state *st, struct loop *from, struct loop_msg *m);

/* Adds the metrics of the state, and of one resource (state_metrics.c). No-op without metrics. */
void state_metrics_add(struct state *st);
void state_metrics_add_resource(struct resource *r);

/* --- observers (state_observe.c) --------------------------------------------------- */

/* Collects the state's observers of this resource. */
void state_observe_find(struct resource *r);
void state_observe_change(struct resource *r, struct object *now, struct object *before);
/* All objects were read: resets the observers and passes them every object. */
void state_observe_all(struct resource *r, const struct resource_blocks *objects);
/* Whether an observer must see it before the other resources are read. */
bool state_observed_early(const struct resource *r);

/* --- expiry (state_expire.c) ------------------------------------------------------ */

struct expire_queue *expire_new(struct resource *r);
void expire_free(struct expire_queue *q);
/* An object was written; an object was deleted. */
void expire_touch(struct resource *r, struct str key);
void expire_forget(struct resource *r, struct str key);
/* Loading is complete: the age of each object counts from its creation. */
void expire_loaded(struct resource *r);

#endif
