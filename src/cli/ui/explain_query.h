/*
 * explain_query - what `GET /ui/explain` asks for, and the command that answers it.
 *
 * No I/O. Names go into a command line and into paths, so only characters of names of Kubernetes
 * are accepted, and nothing has to be unescaped.
 */
#ifndef CLI_UI_EXPLAIN_QUERY_H
#define CLI_UI_EXPLAIN_QUERY_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "base/core/str.h"

struct kubeconfig;

/* Borrowed from the query's text. */
struct explain_query {
	bool pod; /* a pod, or a claim */
	struct str ns, name;
	struct str node; /* look at this node only, in detail; or empty */
	uint64_t cluster; /* N of its path /clusters/N */
};

/*
 * Reads "namespace=NS&pod=NAME" or "namespace=NS&claim=NAME", in any order, with "&node=NAME" or
 * "&cluster=N". -ERR_BAD_REQUEST names the parameter that is wrong.
 */
int explain_query_read(struct str query, struct explain_query *ret_query, struct error *err);

/* The path of the pod or claim at the API server. */
struct str explain_query_path(const struct explain_query *q, struct arena *a);

/* The kubeconfig that a command needs. */
struct explain_access {
	const char *kubeconfig; /* a file; NULL: the usual one */
	struct str context; /* or empty */
};

/* The arguments of `devplane explain-fit`, NULL-terminated. */
const char *const *explain_query_argv(const struct explain_query *q,
				      const struct explain_access *to, struct arena *a);

/* A kubeconfig as JSON: the server of `k`, and a user with this bearer token only. */
struct str explain_query_kubeconfig(const struct kubeconfig *k, struct str token, struct arena *a);

#endif
