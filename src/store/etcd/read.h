/*
 * etcd_read - reads ranges of keys, and the current revision.
 *
 * A range is read in pages of at most ETCD_PAGE_MAX keys, all at the revision of the first page, so
 * that etcd and this process hold at most one page beside the result. If a page does not arrive
 * within the time of a call, this and later ranges are read in smaller pages. Reads are
 * linearizable: the member asks its leader first.
 */
#ifndef STORE_ETCD_READ_H
#define STORE_ETCD_READ_H

#include "store/etcd/client.h"
#include "store/store.h"

struct etcd_reads {
	struct etcd_client *client;
	struct str prefix;
	size_t ranges; /* ranges in flight */
	size_t page; /* page size, in keys, that arrives in time */
	struct etcd_call call; /* requests the current revision */
	bool asking;
	/* Callers that wait for the request in flight, and callers that came too late for it. */
	struct list asked, late;
	struct loop_task *ended; /* deferred whenever a read has ended; or NULL */
};

/* `prefix` must outlive it. */
void etcd_reads_init(struct etcd_reads *rs, struct etcd_client *client, struct str prefix);

/* As store_range() and store_current(). */
void etcd_reads_range(struct etcd_reads *rs, const struct store_range *range, struct arena *arena,
		      void (*done)(void *arg, const struct store_range_result *result,
				   const struct error *err),
		      void *arg);
void etcd_reads_current(struct etcd_reads *rs,
			void (*done)(void *arg, int64_t revision, const struct error *err),
			void *arg);

/* Whether any read is in flight. */
bool etcd_reads_busy(const struct etcd_reads *rs);

#endif
