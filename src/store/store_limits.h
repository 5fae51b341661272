/*
 * store_limits - limits of the stores; see base/core/limits.h.
 */
#ifndef STORE_STORE_LIMITS_H
#define STORE_STORE_LIMITS_H

#include "base/core/limits.h"

/* The store in a folder. */
#define STORE_RESOURCES_MAX 65536 /* names that ever had an object; they are kept for ever */
#define STORE_BATCH_MAX     1024 /* writes per commit, whose pages LMDB never frees ... */
#define STORE_BATCH_BYTES   (4UL * MIB) /* ... and their bytes; the last write may exceed it */
#define STORE_PRUNE_MAX     1024 /* old changes deleted by one commit: a few ms */
#define STORE_APPLY_MAX     16384 /* changes of the journal per commit ... */
#define STORE_APPLY_BYTES   (32UL * MIB) /* ... and their values; the last batch may exceed it */
#define STORE_BACKLOG_MAX   200000 /* changes that are in the journal only, and in memory ... */
#define STORE_BACKLOG_BYTES (64UL * MIB) /* ... and their values; the last batch may exceed it */

/* etcd: bytes of one response, keys per page of a range, writes in flight. */
#define ETCD_RESPONSE_MAX (64UL * MIB)
#define ETCD_PAGE_MAX     500
#define ETCD_WRITES_MAX   512

/* Sealed values: the configuration, names of keys, data keys of plugins, events that wait. */
#define SEALED_CONFIG_MAX (1UL * MIB)
#define SEALED_NAME_MAX   253
#define SEALED_DEKS_MAX   4096
#define SEALED_DEK_MAX    (64UL * KIB)
#define SEALED_HELD_MAX   (64UL * MIB)

#endif
