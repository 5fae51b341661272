/*
 * claim_status - writes a driver's device status into ResourceClaims (the driver's side of
 * KEP-4817).
 *
 * The caller sets the entries that a claim should have, as often as it likes. They are written in
 * the background, with one request per claim at a time. Only the latest entry per device is sent.
 *
 * A write is a merge patch of the whole list. It carries the resourceVersion of the claim that it
 * was made from, so it fails if somebody else wrote in between; the claim is then read again. The
 * content of the last reply is kept, so an update costs one request.
 *
 * Other failures are retried for ever with back-off, because the permission may be granted later.
 * If the caller sets a different entry meanwhile, that is sent within a second. Entries are dropped
 * when the claim is gone, was replaced by another one of the same name, or lost the device. An
 * entry is skipped as already written, or dropped, only on the basis of a recent reply.
 *
 * Each claim gets 20 updates at once, then ten per second.
 *
 * Memory: at most DRIVER_STATUS_MAX. Claims with nothing to write are evicted first. If that is not
 * enough, new entries are rejected and an error is logged. Replacing an entry by one that is no
 * longer, or clearing a known claim, always succeeds.
 *
 * Threads: the loop's.
 */
#ifndef DRIVERS_SDK_CLAIM_STATUS_H
#define DRIVERS_SDK_CLAIM_STATUS_H

#include "client/api/client.h"
#include "drivers/prepare/driver_log.h"
#include "drivers/sdk/status_entry.h"

struct claim_status;
struct metrics;

struct claim_status_opts {
	struct client *client; /* this and all other options must outlive the claim_status */
	const char *driver;
	const struct driver_log *log;
	struct metrics *metrics; /* or NULL */
};

struct claim_status_id {
	struct str ns, name, uid;
};

struct claim_status *claim_status_new(const struct claim_status_opts *opts);
/* NULL allowed. Entries that are not written yet are lost. */
void claim_status_free(struct claim_status *s);

/* Replaces the entry of the same device. Takes ownership of the entry. */
void claim_status_set(struct claim_status *s, struct claim_status_id id, struct status_entry *e);

/*
 * Reports that somebody has just read the claim, with its content as JSON. The first update may
 * then need only one request, and older knowledge is discarded. Does nothing before the first
 * claim_status_set() or claim_status_expect().
 */
void claim_status_seen(struct claim_status *s, struct claim_status_id id, struct str object);

/* Entries will be set, and the first one is to be written fast. */
void claim_status_expect(struct claim_status *s);

/* Removes all of the driver's entries from the claim. */
void claim_status_clear(struct claim_status *s, struct claim_status_id id);

/*
 * Gives pending writes `grace_ms` and one attempt. Calls `done` once, later, never from within this
 * call. Free it after that.
 */
void claim_status_end(struct claim_status *s, int64_t grace_ms, void (*done)(void *arg), void *arg);

/* The number of claims with pending writes. */
size_t claim_status_waiting(const struct claim_status *s);

#endif
