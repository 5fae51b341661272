/*
 * etcd_key - converts the names of objects to etcd's keys, and back.
 *
 *	/registry/core/pods/default web-0        namespaced
 *	/registry/core/nodes/ node-1             not namespaced: the namespace is empty
 *
 * etcd sorts keys by their bytes, and we need them sorted by namespace and then name. A '/' between
 * the two would not do that: '-' and '.' sort before '/', so all of namespace "a-b" would come
 * before namespace "a". A space sorts before every character of a namespace (a DNS label). No
 * namespace contains a space, so the first space ends it, whatever the name contains.
 */
#ifndef STORE_ETCD_KEY_H
#define STORE_ETCD_KEY_H

#include "base/core/buf.h"
#include "store/store.h"

/* The maximum lengths of a store's prefix and of a key. */
enum { ETCD_PREFIX_MAX = 256, ETCD_KEY_MAX = 2048 };

/*
 * Appends the key. -ERR_INVALID if the pieces violate store.h, if the namespace contains a space or
 * a character that sorts before it, or if the key is too long.
 */
int etcd_key_make(struct str prefix, const struct store_key *key, struct buf *out,
		  struct error *err);

/*
 * Splits a key into pieces, borrowed from `text`. Returns false if it is not an object's key below
 * the prefix.
 */
bool etcd_key_parse(struct str prefix, struct str text, struct store_key *ret_key);

/*
 * Appends the first key of a range to `from`, and the first key after the range to `end`. Errors
 * are those of etcd_key_make().
 */
int etcd_key_range(struct str prefix, const struct store_range *range, struct buf *from,
		   struct buf *end, struct error *err);

#endif
