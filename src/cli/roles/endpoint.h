/*
 * endpoint - a role's HTTP endpoint: /healthz, /livez, /readyz, /metrics, and its own pages.
 *
 * Plain HTTP on loopback addresses. Elsewhere it is HTTPS, and everything but health needs a token
 * that the API server authorizes, unless the options say otherwise (endpoint_guard.h). Checks have
 * names. If one fails, the reply is 500 and says why. ?verbose lists all checks, /healthz/NAME runs
 * one. Threads: its loop's; checks are called there.
 */
#ifndef CLI_ROLES_ENDPOINT_H
#define CLI_ROLES_ENDPOINT_H

#include <stdio.h>

#include "net/loop/addr.h"

struct buf;
struct endpoint;
struct endpoint_guard_options;
struct kubeconfig;
struct log;
struct loop;
struct metrics;

/* A row; a table ends with a row that has no name. */
struct endpoint_check {
	const char *name;
	bool ready_only; /* run by /readyz only: waiting is not a failure */
	int (*run)(void *arg, struct error *err);
	/* Adds a few words to the line of a check that passed; or NULL. */
	void (*note)(void *arg, struct buf *out);
};

/* A JSON page that the role writes; a table ends with a row without a path. */
struct endpoint_page {
	const char *path; /* "/debug/cache" */
	void (*write)(void *arg, struct buf *out);
};

struct endpoint_opts {
	struct loop *loop;
	const char *address; /* "127.0.0.1:10257"; port 0 picks one */
	const struct endpoint_check *checks;
	const struct endpoint_page *pages; /* or NULL */
	void *arg; /* of checks and pages */
	struct metrics *metrics; /* or NULL */
	const struct kubeconfig *kubeconfig; /* for a guard; copied. NULL: always plain HTTP */
	const struct endpoint_guard_options *guard; /* NULL: the defaults */
	const struct log *log; /* or NULL */
};

int endpoint_new(const struct endpoint_opts *opts, struct endpoint **ret_endpoint,
		 struct error *err);

/* Prints the line that says where it is; nothing for NULL. */
void endpoint_announce(const struct endpoint *e, FILE *out);

/* The address it listens on. */
const struct addr *endpoint_address(const struct endpoint *e);

/* Stops it; `done` is called once, later, or at once if `e` is NULL. Then free it. */
void endpoint_stop(struct endpoint *e, void (*done)(void *arg), void *arg);
/* The loop must run one more turn to free all memory. NULL allowed. */
void endpoint_free(struct endpoint *e);

#endif
