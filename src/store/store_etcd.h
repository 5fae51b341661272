/*
 * store_etcd - the store on an etcd v3 cluster.
 *
 * Keys are `<prefix>/<resource>/<namespace>/<name>`. A write is one transaction
 * that compares the key's mod revision. The feed is one watch of the whole
 * keyspace, so that every revision shows up in it and "has the feed reached
 * revision N" needs no progress notifications (etcd 3.4 sends those too early);
 * keys that are not below our prefix only move the revision on.
 *
 * Any of the endpoints serves; when one fails the next is tried, and the feed
 * goes on where it was. Several processes may use one etcd: each sees the
 * others' writes in its feed. etcd is compacted to what is older than
 * `history_ms`; of several processes one does it.
 */
#ifndef STORE_STORE_ETCD_H
#define STORE_STORE_ETCD_H

#include "store/store.h"

struct store_etcd_opts {
	const char *const *endpoints; /* "http://127.0.0.1:2379", "https://..", "unix:.." */
	size_t nendpoints;
	const char *ca_file, *cert_file, *key_file; /* for https; NULL: none */
	const char *prefix; /* NULL: "/registry" */
	int64_t history_ms; /* 0: 5 minutes; negative: never compact */
	struct metrics *metrics; /* or NULL */
};

/* Connects in the background: calls wait for a connection, up to 5 s each. */
int store_etcd_open(struct loop *l, const struct store_etcd_opts *opts, struct store **ret_store,
		    struct error *err);

#endif
