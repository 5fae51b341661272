/*
 * lease - the leader's record in a coordination.k8s.io/v1 Lease.
 *
 * Leader election reads and writes a record in the spec of a Lease; everything else in the object
 * is preserved. Pure.
 */
#ifndef CLIENT_WORK_LEASE_H
#define CLIENT_WORK_LEASE_H

#include "base/core/buf.h"

struct lease_record {
	char *holder; /* owned; "" or NULL: nobody */
	int64_t duration_s;
	int64_t transitions;
	int64_t acquire_ns, renew_ns; /* wall clock, whole microseconds; 0: not set */
};

void lease_record_release(struct lease_record *r);

/* Makes *to equal to *from; frees the old content of *to. */
void lease_record_copy(struct lease_record *to, const struct lease_record *from);
bool lease_record_equal(const struct lease_record *a, const struct lease_record *b);
bool lease_record_held_by(const struct lease_record *r, const char *identity);

/*
 * Reads a Lease's text. Returns -ERR_PROTOCOL if it is not a JSON object. An unreadable member
 * counts as not set.
 */
int lease_record_read(struct str lease, struct lease_record *ret_record, struct error *err);

/*
 * Appends the Lease `lease` with the record in its spec (preferredHolder and strategy are kept).
 * If `lease` is empty, appends a new Lease of that namespace and name.
 */
int lease_record_write(const struct lease_record *r, struct str lease, const char *ns,
		       const char *name, struct buf *out, struct error *err);

#endif
