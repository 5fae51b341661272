/*
 * store_etcd - the store on an etcd v3 cluster.
 *
 * Keys are `<prefix>/<resource>/<namespace> <name>` (etcd/key.h says why there is
 * a space). A write is one transaction that compares the key's mod revision; many
 * are under way at once, so writes of different keys may be committed in another
 * order than they were handed over in. etcd/write.h says what follows if etcd's
 * answer is lost. Values and keys that etcd finds too large are refused with
 * -ERR_TOO_LARGE, names that cannot be keys with -ERR_INVALID.
 *
 * The feed is one watch of the whole keyspace, so that every revision shows up in
 * it and "has the feed reached revision N" needs no progress notifications (etcd
 * 3.4 sends those too early); keys that are not below our prefix only move the
 * revision on. A conflict, too, is told only when the feed has shown what it
 * conflicts with.
 *
 * Any of the endpoints serves; when one fails another is used, and the feed
 * goes on where it was. Several processes may use one etcd: each sees the
 * others' writes in its feed. etcd is compacted to what is older than
 * `history_ms`; of several processes one does it (etcd/compact.h).
 */
#ifndef STORE_ETCD_STORE_H
#define STORE_ETCD_STORE_H

#include "store/store.h"

struct store_etcd_opts {
	const char *const *endpoints; /* "http://127.0.0.1:2379", "https://..", "unix:.." */
	size_t nendpoints;
	const char *ca_file, *cert_file, *key_file; /* for https; NULL: the system's CAs, none */
	const char *prefix; /* NULL: "/registry" */
	int64_t history_ms; /* 0: 5 minutes; negative: never compact */
	struct metrics *metrics; /* or NULL */
};

/*
 * Connects in the background: calls wait for a connection, up to 5 s each.
 * store_cluster_id() is empty until the first call was answered; store_history()
 * has no past. -ERR_INVALID: a malformed endpoint, prefix or certificate.
 */
int store_etcd_open(struct loop *l, const struct store_etcd_opts *opts, struct store **ret_store,
		    struct error *err);

#endif
