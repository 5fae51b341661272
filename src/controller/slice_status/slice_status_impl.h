/*
 * slice_status_impl - what is known of one slice whose status is published.
 */
#ifndef CONTROLLER_SLICE_STATUS_SLICE_STATUS_IMPL_H
#define CONTROLLER_SLICE_STATUS_SLICE_STATUS_IMPL_H

#include "base/core/list.h"
#include "client/api/client.h"

struct device_counts;
struct slice_status;
struct slice_status_driver;
struct slice_status_pool;

struct slice_state {
	struct slice_status *owner;
	struct str name;
	struct client_request request; /* the write under way */
	size_t bytes; /* of the status that is being written */
	/* Loop time in milliseconds: */
	int64_t next_write_at; /* no write before */
	int64_t retry_at; /* the same after a failure; 0: the last write did not fail */
	int64_t awaited_until; /* how long `awaited` counts */
	int64_t replaced_since; /* when its driver was first seen at work on a newer one; -1 */
	int64_t since; /* when it became out of date; -1: it is not */
	int64_t again_since; /* the same of what came during the write */
	/*
	 * The version that our copy must show before we look again: 0: none, UINT64_MAX: any
	 * other than now.
	 */
	uint64_t awaited;
	uint64_t seen; /* the version that our copy showed last */
	uint64_t tried; /* the version with which the last write was tried */
	uint64_t written; /* the version that our last write made; 0: unknown */
	uint64_t written_hash; /* of what it wrote */
	uint64_t uid_hash; /* of the slice that was looked at last */
	struct slice_status_pool *pool; /* that it is in; or NULL */
	struct device_counts *counts; /* device_metrics.h's */
	bool concerned; /* what it is computed from has changed since that was done */
	bool seen_meanwhile; /* our copy has shown another version since the write began */
	bool behind; /* the last write failed since the server had another version */
	bool missing; /* the last write found nothing to write to */
	bool failing; /* the last write failed, and that was said */
	bool recalled; /* what was stored when we began is in the book of health */

	/* The metrics': */
	struct slice_status_driver *driver; /* or NULL */
	struct list link; /* of the driver's states that are out of date, the longest first */
	char text[]; /* the name */
};

#endif
