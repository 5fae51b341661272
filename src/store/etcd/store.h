/*
 * store_etcd - the store on an etcd v3 cluster.
 *
 * Keys are `<prefix>/<resource>/<namespace> <name>` (etcd/key.h says why there is a space). A write
 * is one transaction that compares the key's mod revision. Many are in flight at once, so writes of
 * different keys may be committed in another order than they were submitted. etcd/write.h describes
 * what happens if etcd's answer is lost. If etcd finds a value or key too large, the write fails
 * with -ERR_TOO_LARGE; names that cannot be keys fail with -ERR_INVALID.
 *
 * The feed is one watch of the whole keyspace. So it shows every revision, and the question "has
 * the feed reached revision N" needs no progress notifications (etcd 3.4 sends those too early).
 * Keys outside our prefix only advance the revision. A conflict is reported only after the feed has
 * delivered the conflicting change.
 *
 * Any endpoint can serve. If one fails, another is used, and the feed continues where it was.
 * Several processes may use one etcd: each sees the others' writes in its feed. One of them
 * compacts etcd to `history_ms` (etcd/compact.h).
 */
#ifndef STORE_ETCD_STORE_H
#define STORE_ETCD_STORE_H

#include "store/store.h"

struct store_etcd_opts {
	const char *const *endpoints; /* "http://127.0.0.1:2379", "https://..", "unix:.." */
	size_t nendpoints;
	/* For https; NULL: the system's CAs, no certificate. */
	const char *ca_file, *cert_file, *key_file;
	const char *prefix; /* NULL: "/registry" */
	int64_t history_ms; /* 0: 5 minutes; negative: never compact */
	struct metrics *metrics; /* or NULL */
};

/*
 * Connects in the background: calls wait for a connection, up to 5 s each. store_cluster_id() is
 * empty until the first call was answered. store_history() returns no changes. -ERR_INVALID: a
 * malformed endpoint, prefix or certificate.
 */
int store_etcd_open(struct loop *l, const struct store_etcd_opts *opts, struct store **ret_store,
		    struct error *err);

#endif
