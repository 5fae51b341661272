/*
 * etcd_key - the names of objects as etcd's keys, and back.
 *
 *	/registry/core/pods/default web-0        namespaced
 *	/registry/core/nodes/ node-1             not: the namespace is empty
 *
 * etcd orders keys by their bytes, and ours must come in the order of namespace
 * and then name. With '/' between the two they would not: '-' and '.' sort
 * before '/', so all of namespace "a-b" would come before namespace "a". The
 * space sorts before everything that a namespace (a DNS label) may hold, and
 * since none holds a space, the first one ends it, whatever is in the name.
 */
#ifndef STORE_ETCD_KEY_H
#define STORE_ETCD_KEY_H

#include "base/core/buf.h"
#include "store/store.h"

/* Largest prefix that a store may have, and largest key. */
enum { ETCD_PREFIX_MAX = 256, ETCD_KEY_MAX = 2048 };

/*
 * Appends the key. -ERR_INVALID when the pieces are not as store.h says, when a
 * namespace holds a space or what sorts before it, or when all is too long.
 */
int etcd_key_make(struct str prefix, const struct store_key *key, struct buf *out,
		  struct error *err);

/* The pieces, borrowed from `text`; false when it is no object below the prefix. */
bool etcd_key_parse(struct str prefix, struct str text, struct store_key *ret_key);

/*
 * Appends the first key of a range to `from` and the first one behind it to
 * `end`. Errors are those of etcd_key_make().
 */
int etcd_key_range(struct str prefix, const struct store_range *range, struct buf *from,
		   struct buf *end, struct error *err);

#endif
