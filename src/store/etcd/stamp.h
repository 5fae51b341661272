/*
 * etcd_stamp - the mark by which a write recognises its own change in etcd.
 *
 * Each write has a stamp: 64 bits that no other write of the cluster has. The transaction that
 * makes the change also stores the stamp. So the change names the write that made it, even if the
 * answer to the transaction was lost. Equal bytes would prove nothing: two servers may write the
 * same.
 *
 * A put stores its stamp after the value, as 32 characters of white space with two bits each.
 * Values are JSON, so every reader of the value ignores it, also an older server or `etcdctl get |
 * jq`. A deletion has no value; its transaction puts the stamp under a separate key,
 * `<prefix>.deleted`, in the same revision.
 */
#ifndef STORE_ETCD_STAMP_H
#define STORE_ETCD_STAMP_H

#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/str.h"

enum { ETCD_STAMP_SIZE = 32 };

/* Writes the characters of the stamp to `out`, which has room for ETCD_STAMP_SIZE. */
void etcd_stamp_print(uint64_t stamp, char *out);

/* Returns the stamp at the end of `stored` and sets *ret_value to the rest. 0: no stamp. */
uint64_t etcd_stamp_split(struct str stored, struct str *ret_value);

#endif
