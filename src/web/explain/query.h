/*
 * explain_query - what `GET /ui/explain` asks for, and the command that answers it.
 *
 * No I/O. Names go into a command line and into paths, so only characters of names of Kubernetes
 * are accepted, and nothing has to be unescaped.
 */
#ifndef WEB_EXPLAIN_QUERY_H
#define WEB_EXPLAIN_QUERY_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "base/core/str.h"

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

/* The same as a query, without the cluster. */
struct str explain_query_print(const struct explain_query *q, struct arena *a);

/* The kubeconfig that a command needs. */
struct explain_access {
	const char *kubeconfig; /* a file; NULL: the usual one */
	struct str context; /* or empty */
};

/* An API server, and a user with a bearer token. */
struct explain_server {
	struct str url, tls_server_name, ca, token; /* name and CA (PEM) may be empty */
	bool insecure; /* do not verify its certificate */
};

/* The arguments of `devplane explain-fit`, NULL-terminated. */
const char *const *explain_query_argv(const struct explain_query *q,
				      const struct explain_access *to, struct arena *a);

/* A kubeconfig as JSON, with the token and no other credentials. */
struct str explain_query_kubeconfig(const struct explain_server *to, struct arena *a);

#endif
