/*
 * sealed_impl - the store's parts, for the files of this folder.
 */
#ifndef STORE_SEALED_SEALED_IMPL_H
#define STORE_SEALED_SEALED_IMPL_H

#include <sys/stat.h>

#include "base/core/arena.h"
#include "base/report/metrics.h"
#include "net/loop/loop.h"
#include "store/backend.h"
#include "store/sealed/config.h"
#include "store/sealed/kms.h"
#include "store/sealed/store.h"
#include "store/sealed/value.h"

/* What became of a write (store_write.stage). */
enum {
	SEALED_SENT, /* it is the inner store's */
	SEALED_ENDED, /* the inner store is done with it; done() is still to be called */
	SEALED_FAILED, /* it was never sent; done() is still to be called */
};

struct sealed_plugin {
	struct list link;
	struct sealed_kms *kms;
};

struct sealed_store {
	struct store base;
	struct store *inner;
	struct store_sealed_opts opts;
	char *file;
	struct sealed_config config;

	/* Reading the file again (reload.c). */
	struct loop_timer look;
	struct stat seen;
	struct sealed_config next; /* waits for its plugins; n 0: none */
	int64_t next_due; /* ms: when it is reported that it waits */
	struct list plugins; /* struct sealed_plugin: of both configurations */
	struct metrics_family *reloads, *healthy; /* or NULL */
	struct list notes; /* struct sealed_note */

	/* Writes that were not sent (write.c). */
	struct list unsent; /* struct sealed_unsent */

	/* Ranges that wait for a plugin (read.c). */
	struct list parked;

	/* The feed (feed.c). */
	struct store_feed feed;
	bool following; /* false: what the inner store delivers is dropped */
	struct list held; /* batches and ends of writes, in order */
	size_t held_bytes;
	struct error held_why; /* why the first one waits; code ERR_OK: nothing is held */
	int64_t held_since; /* ms */
	struct loop_timer retry;
	struct metrics_counter *damaged; /* or NULL */

	struct loop_task work; /* does everything that must not happen inside a call */
	bool closing;
	void (*closed)(void *arg);
	void *closed_arg;
};

/* A place where somebody reads the seal of a resource. */
struct sealed_note {
	struct list link;
	struct str resource; /* a copy */
	atomic_uint *seal;
};

static inline struct sealed_store *sealed_of(struct store *s)
{
	return CONTAINER_OF(s, struct sealed_store, base);
}

static inline const struct sealed_rule *sealed_rule_of(const struct sealed_store *s,
						       struct str resource)
{
	return sealed_config_rule(&s->config, resource);
}

/* Adds the object's name to a failure, and returns it. */
int sealed_blame(const struct store_key *key, int r, struct error *err);

/* Something has changed: tries again what waits. */
void sealed_kick(struct sealed_store *s);

/* Updates the seals that others read. */
void sealed_notes_update(struct sealed_store *s);

/* --- reload.c ------------------------------------------------------------------------- */

/* Makes the plugins that a configuration names, or finds those that are there. */
int sealed_plugins_attach(struct sealed_store *s, struct sealed_config *c, struct error *err);
void sealed_plugins_drop(struct sealed_store *s, bool all);
/* Updates the metric of each plugin's health. */
void sealed_plugins_measure(struct sealed_store *s);
/* Whether all plugins have answered or failed once. */
bool sealed_plugins_settled(const struct sealed_store *s);
void sealed_reload_init(struct sealed_store *s);
int sealed_reload_start(struct sealed_store *s, struct error *err);
/* Takes the next configuration, if its plugins are ready. */
void sealed_reload_step(struct sealed_store *s);
void sealed_reload_stop(struct sealed_store *s);

/* --- write.c -------------------------------------------------------------------------- */

void sealed_write(struct store *base, struct store_write *w);
/* Gives the writer its outcome. */
void sealed_write_end(struct sealed_store *s, struct store_write *w, const struct error *err);
/* Ends the writes that were not sent. */
void sealed_writes_flush(struct sealed_store *s);

/* --- read.c --------------------------------------------------------------------------- */

void sealed_range(struct store *base, const struct store_range *range, struct arena *arena,
		  void (*done)(void *arg, const struct store_range_result *result,
			       const struct error *err),
		  void *arg);
int sealed_history(struct store *base, struct str resource, int64_t revision, size_t max_bytes,
		   struct arena *arena, struct store_past *ret_past, struct error *err);
/* Tries the parked ranges again. */
void sealed_ranges_resume(struct sealed_store *s);

/* --- feed.c --------------------------------------------------------------------------- */

void sealed_feed_init(struct sealed_store *s);
void sealed_follow(struct store *base, int64_t revision, const struct store_feed *feed);
/* Tries to deliver what is held. */
void sealed_feed_resume(struct sealed_store *s);
/* Holds the end of a write back until all before it was delivered. Returns false if it need not. */
bool sealed_feed_hold(struct sealed_store *s, struct store_write *w, const struct error *err);
/* Drops held changes, and ends held writes. */
void sealed_feed_drop(struct sealed_store *s);

#endif
