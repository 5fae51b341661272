/*
 * state_impl - the sequencer's parts, for state*.c, resource*.c, lane.c and watch*.c.
 *
 * Everything here belongs to the state's loop, except where it says otherwise.
 */
#ifndef SERVER_ENGINE_STATE_IMPL_H
#define SERVER_ENGINE_STATE_IMPL_H

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

/* --- resources -------------------------------------------------------------------- */

/* One namespace's part of a resource. */
struct resource_space {
	size_t count; /* objects */
	struct resource_snapshot *all; /* its last complete list, while nothing has changed */
	struct str key; /* "namespace/": behind the struct */
};

/* What one lane has of a resource's ring. */
struct resource_sub {
	struct lane_feed *feed; /* the lane's: what is in it belongs to the lane's loop */
	size_t watchers; /* 0: it is told nothing */
	uint64_t first; /* number of the oldest chunk that it has */
};

/* When objects of a kind with SCHEMA_EVENTS go (state_expire.c). */
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
	struct str name; /* storage name; its own, as a custom kind's text goes with the kind */
	struct crd *custom; /* whose kind it is, a reference; NULL: compiled in */
	uint32_t changes; /* how often the kind was changed */
	bool gone; /* its definition is: nothing more is written */
	struct resource_blocks objects; /* committed */
	struct resource_blocks loading; /* the same while all is read again */
	struct omap spaces; /* "namespace/" -> struct resource_space */
	struct resource_snapshot *all; /* as of a space, over all namespaces */
	struct map tips; /* key -> the newest of its pending writes */
	struct ring ring;
	uint64_t batch; /* first chunk of the batch at hand */
	struct list dirty; /* in state->dirty while a batch changes it */
	struct resource_sub *subs; /* one for each lane */
	struct expire_queue *expire; /* or NULL */
	const struct state_observer **observers; /* who follows it; an array to free */
	size_t nobservers;
	struct metrics_gauge *objects_gauge, *revision_gauge; /* or NULL */
	struct metrics_counter *events_counter;
};

struct resource *resource_new(struct state *st, const struct schema_kind *kind);
void resource_free(struct resource *r);

/* Another custom kind of the same storage name; and none any more (resource_custom.c). */
void resource_change(struct resource *r, const struct schema_kind *kind);
void resource_drop(struct resource *r);

/*
 * Begins its ring after the event that is being applied: watches from before expire, lists from
 * before ask the store.
 */
void resource_forget_past(struct resource *r);

/* Forgets its objects; and what was counted and listed of them. */
void resource_clear(struct resource *r);
void resource_forget_lists(struct resource *r);

/* The object of a key, or NULL. */
struct object *resource_find(const struct resource *r, struct str key);

/* Puts an object in the place of its key's, takes the reference over; returns the one before. */
struct object *resource_put(struct resource *r, struct object *o);

/* Takes the key's object out and returns it, with its reference; or NULL. */
struct object *resource_remove(struct resource *r, struct str key);

/* What was read into `loading` becomes the content. */
void resource_swap(struct resource *r);

/* "ns/name", or "name" without a namespace, in the arena. */
struct str resource_key(struct arena *a, struct str ns, struct str name);

/* A matcher: what a list or a watch shows of a resource. */
struct resource_filter {
	const struct schema_kind *kind; /* of the storage version */
	struct str ns; /* empty: all */
	struct selector labels, fields;
};

bool resource_filter_matches(const struct resource_filter *f, const struct object *o);

/* Everything of committed that matches; a new reference. */
struct resource_snapshot *resource_select(struct resource *r, const struct resource_filter *f);

/* A list of committed, which is what there was at that revision, too. */
void resource_list_present(struct resource *r, const struct list_query *q, int64_t revision,
			   struct arena *a,
			   void (*done)(void *arg, const struct list_result *result,
					const struct error *err),
			   void *arg);

/* The query's page of a snapshot that has all that matches; but for the revision. */
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
	const struct gates *gates; /* lanes read it, too */
	struct state_opts opts;
	int64_t revision; /* of committed */
	int64_t early; /* of what early observers know: ahead while reading again */
	int64_t applying; /* of the event that is being applied, or was last */
	struct resource **resources; /* those that observers must see early come first */
	size_t nresources;
	struct map by_name; /* storage name -> struct resource */
	struct resource **by_place; /* those of compiled kinds, by schema_kind.place; or NULL */
	size_t nplaces;
	struct resource *namespaces; /* that most writes ask for; or NULL */
	struct resource *quotas; /* the same */
	struct lane **lanes;
	size_t nlanes;
	atomic_size_t nwatches; /* counted by the lanes */

	/* Jobs that came and did not run yet. */
	struct list jobs;
	struct list writing; /* of them those that write: they run last */
	struct list large; /* those that write much */
	struct list answering; /* large ones that are finished: their done() is to come */
	struct loop_task run_jobs, run_writing, run_large, run_answering;

	/* Reads that wait for committed (state_sync.c). */
	struct list waiting; /* by revision */
	struct list asking, asking_next; /* for the store's revision: under way, and after that */
	bool asked;
	struct loop_timer wait_timer;
	int64_t wait_until; /* ms: when it comes */

	/* Loading (state_load.c). */
	struct state_load *load; /* NULL when none is under way */
	struct loop_timer reload;
	struct loop_timer tidy; /* of the rings */
	bool loaded; /* once */
	struct error load_error;

	struct list dirty; /* resources that the batch at hand changed */
	size_t writes; /* under way */
	struct map guards; /* name -> struct state_write under way */
	size_t looking; /* lists that go on in later turns */
	struct metrics_gauge *revision_gauge; /* or NULL */
	struct metrics_counter *damaged_counter;
	struct metrics_counter *evaluations_counter; /* of selectors of watches; any thread */
	struct metrics_family *objects_family, *events_family, *revision_family; /* or NULL */

	bool watches_stopped, stopping, closing;
	size_t lanes_left; /* that have not stopped yet */
	void (*stopped)(void *arg);
	void *stopped_arg;
};

/* Begins to read everything; also after the feed was lost. */
void state_load_start(struct state *st);

/* Follows the store from state->revision on (state_feed.c). */
void state_feed_start(struct state *st);
/* Watchers hear now what this batch has changed of the resource: their watches are about to end. */
void state_feed_flush(struct resource *r);
void state_feed_tidy(struct loop_timer *t); /* once a minute: trims rings that are not written */

/* The committed revision moved on: who waited for it goes on. */
void state_sync_reached(struct state *st);
/* All who wait fail. */
void state_sync_fail(struct state *st, const struct error *err);
void state_sync_init(struct state *st);

/* A write's event was delivered: its key's tip is now committed. */
void state_write_committed(struct state_write *w, struct object *result);

/* Goes on with stopping when nothing is in the way. */
void state_stop_step(struct state *st);
/* Runs all jobs that came, soon. */
void state_run_jobs(struct state *st);

/* On the state's loop: runs m->fn there; at once when that is the present loop. */
void state_tell(struct state *st, struct loop *from, struct loop_msg *m);

/* Series of the state, and of one resource (state_metrics.c); none where there are no metrics. */
void state_metrics_add(struct state *st);
void state_metrics_add_resource(struct resource *r);

/* --- observers (state_observe.c) --------------------------------------------------- */

/* Those of the state's observers that are about this resource. */
void state_observe_find(struct resource *r);
void state_observe_change(struct resource *r, struct object *now, struct object *before);
/* All was read: they begin anew. */
void state_observe_all(struct resource *r, const struct resource_blocks *objects);
/* Whether anybody must see it before the other resources are read. */
bool state_observed_early(const struct resource *r);

/* --- expiry (state_expire.c) ------------------------------------------------------ */

struct expire_queue *expire_new(struct resource *r);
void expire_free(struct expire_queue *q);
/* An object was written, or is gone. */
void expire_touch(struct resource *r, struct str key);
void expire_forget(struct resource *r, struct str key);
/* All is loaded: the age of each object counts from its creation. */
void expire_loaded(struct resource *r);

#endif
