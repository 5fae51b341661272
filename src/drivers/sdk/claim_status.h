/*
 * claim_status - writes a driver's entries into the status of ResourceClaims.
 *
 * Whoever calls says what is to be there, as often as he likes; it is written in the background,
 * one request of a claim at a time, and of many words about a device the last one. A write is a
 * merge patch of the whole list that holds only for the version of the claim that it was made from;
 * what the last answer said is kept, so a change is one request. When somebody else was faster the
 * claim is read again. Other failures are tried again with a back-off, for ever: permission may
 * come; another word than the one that failed is tried within a second. When the claim is gone, is
 * another of the same name, or does not have the device any more, it is given up. That a word needs
 * no write, or cannot be one, is never concluded from an answer of long ago.
 *
 * Of one claim 20 changes are written at once, then ten in a second.
 *
 * Memory: DRIVER_STATUS_MAX. What is only remembered goes first; then words that need room are not
 * taken, and the log says so. One that replaces another as long, or clears what is known, needs
 * none.
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
	struct client *client; /* outlives it, as all of these do */
	const char *driver;
	const struct driver_log *log;
	struct metrics *metrics; /* or NULL */
};

struct claim_status_id {
	struct str ns, name, uid;
};

struct claim_status *claim_status_new(const struct claim_status_opts *opts);
/* NULL allowed. What is not written never will be. */
void claim_status_free(struct claim_status *s);

/* Takes the entry: it replaces the one of the same device. */
void claim_status_set(struct claim_status *s, struct claim_status_id id, struct status_entry *e);

/*
 * Somebody has just read the claim, and this is it: a first word about it may then be one request,
 * and what was known of it is not relied on. Costs nothing while no word was ever said.
 */
void claim_status_seen(struct claim_status *s, struct claim_status_id id, struct str object);

/* No entry of this driver is to be in the claim. */
void claim_status_clear(struct claim_status *s, struct claim_status_id id);

/*
 * What is under way or waits gets so long, and one try; `done` is called once, later, never from
 * within. Then free it.
 */
void claim_status_end(struct claim_status *s, int64_t grace_ms, void (*done)(void *arg), void *arg);

/* Claims about which something is not written yet. */
size_t claim_status_waiting(const struct claim_status *s);

#endif
