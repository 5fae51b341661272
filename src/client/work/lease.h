/*
 * lease - who leads, as a coordination.k8s.io/v1 Lease says it.
 *
 * A record is what leader election reads from and writes into the spec of a
 * Lease; everything else in the object is left as it is. Pure.
 */
#ifndef CLIENT_WORK_LEASE_H
#define CLIENT_WORK_LEASE_H

#include "base/core/buf.h"

struct lease_record {
	char *holder; /* owned; "" or NULL: nobody */
	int64_t duration_s;
	int64_t transitions;
	int64_t acquire_ns, renew_ns; /* wall clock, whole microseconds; 0: not said */
};

void lease_record_release(struct lease_record *r);

/* *to becomes equal to *from; what it held is freed. */
void lease_record_copy(struct lease_record *to, const struct lease_record *from);
bool lease_record_equal(const struct lease_record *a, const struct lease_record *b);
bool lease_record_held_by(const struct lease_record *r, const char *identity);

/* From a Lease's text. -ERR_PROTOCOL when it is none. What cannot be read counts as not said. */
int lease_record_read(struct str lease, struct lease_record *ret_record, struct error *err);

/*
 * Appends the Lease `lease` with the record as its spec (preferredHolder and strategy are kept).
 * An empty `lease` stands for a new one of that namespace and name.
 */
int lease_record_write(const struct lease_record *r, struct str lease, const char *ns,
		       const char *name, struct buf *out, struct error *err);

#endif
