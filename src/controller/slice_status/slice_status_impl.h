/*
 * slice_status_impl - the state of one slice whose status is published.
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
	struct client_request request; /* the current write */
	size_t bytes; /* size of the status being written */
	/* Loop time in milliseconds: */
	int64_t next_write_at; /* no write before this time */
	int64_t retry_at; /* the same after a failure; 0: the last write succeeded */
	int64_t awaited_until; /* how long `awaited` is valid */
	int64_t replaced_since; /* when a newer generation was first seen; -1: not */
	int64_t since; /* when it became out of date; -1: up to date */
	int64_t again_since; /* the same for changes during the write */
	/*
	 * The version that our copy must show before the next check. 0: none; UINT64_MAX: any
	 * version other than the current one.
	 */
	uint64_t awaited;
	uint64_t seen; /* the last version in our copy */
	uint64_t tried; /* the version that the last write was based on */
	uint64_t written; /* the version that our last write created; 0: unknown */
	uint64_t written_hash; /* of the status it wrote */
	uint64_t uid_hash; /* of the slice that was checked last */
	struct slice_status_pool *pool; /* its pool; or NULL */
	struct device_counts *counts; /* device_metrics.h's */
	bool concerned; /* the inputs have changed since the status was computed */
	bool seen_meanwhile; /* our copy has shown another version since the write began */
	bool behind; /* the last write failed because the server had another version */
	bool missing; /* the last write failed because the object does not exist */
	bool failing; /* the last write failed, and that was logged */
	bool recalled; /* the health stored when we started is in the health book */

	/* For the metrics: */
	struct slice_status_driver *driver; /* or NULL */
	/* In the driver's list of states that are out of date, the oldest first. */
	struct list link;
	char text[]; /* the name */
};

#endif
