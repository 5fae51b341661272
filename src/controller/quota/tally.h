/*
 * quota_tally - how far the controller may lower a quota's `used`.
 *
 * The server charges a quota before it writes the object. So `used` covers the objects that exist
 * and the charges of writes under way, which only their servers know. The controller never sees
 * those charges apart, but it has two upper bounds for the sum of both:
 *
 *  - `used` less what was freed: objects that it had counted and that are gone, over, or use less.
 *  - the count, plus all charges of the last QUOTA_SETTLED_MS. An older charge has become an object
 *    that is counted, or it never will (api/quota/quota.h).
 *
 * The smaller of the two is what `used` should be, and never less than the count. The first bound
 * releases deleted objects at once, the second one the charges of writes that failed.
 *
 * Both bounds hold for the quota as it was read. A write must name its resourceVersion, so that it
 * fails if a server has charged since. Each freed amount is applied at most once: if the outcome of
 * a write is unknown, its freed amounts are forgotten, and the second bound releases them later.
 * One controller at a time may do this. Pure: no I/O, no clock.
 */
#ifndef CONTROLLER_QUOTA_TALLY_H
#define CONTROLLER_QUOTA_TALLY_H

#include "api/quota/quota.h"

struct quota_tally;

struct quota_tally *quota_tally_new(void);
void quota_tally_free(struct quota_tally *t); /* NULL allowed */

/*
 * Call it each time the quota has changed, with its `used`. `before` is `used` one change earlier.
 * Pass NULL if changes may have been missed: then all of `used` counts as just charged.
 */
void quota_tally_see(struct quota_tally *t, const struct amount_list *before,
		     const struct amount_list *used, int64_t now_ms);

/* The usage of counted objects shrank by this amount. */
void quota_tally_add_freed(struct quota_tally *t, struct str name, struct quantity q);

/*
 * Computes the new `used`, for each name of `count`, in the arena. *ret_wait_ms: decide again
 * after this time if nothing else happens; -1: no need to.
 */
struct amount_list quota_tally_decide(struct quota_tally *t, const struct amount_list *used,
				      const struct amount_list *count, int64_t now_ms,
				      struct arena *a, int64_t *ret_wait_ms);

/*
 * The write of the last decision begins, and ends. `again`: it was certainly not written, so a
 * later write has to apply its freed amounts. At most one write at a time.
 */
void quota_tally_begin_write(struct quota_tally *t);
void quota_tally_end_write(struct quota_tally *t, bool again);

#endif
