/*
 * endpoint - a role's HTTP endpoint: /healthz, /livez, /readyz, /metrics, and its own pages.
 *
 * Plain HTTP, meant for loopback or a trusted network. Checks have names. If one fails, the reply
 * is 500 and says why. ?verbose lists all checks, /healthz/NAME runs one. Threads: its loop's;
 * checks are called there.
 */
#ifndef CLI_ROLES_ENDPOINT_H
#define CLI_ROLES_ENDPOINT_H

#include "net/loop/addr.h"

struct buf;
struct endpoint;
struct loop;
struct metrics;

/* A row; a table ends with a row that has no name. */
struct endpoint_check {
	const char *name;
	bool ready_only; /* run by /readyz only: waiting is not a failure */
	int (*run)(void *arg, struct error *err);
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
};

int endpoint_new(const struct endpoint_opts *opts, struct endpoint **ret_endpoint,
		 struct error *err);

/* The address it listens on. */
const struct addr *endpoint_address(const struct endpoint *e);

/* Stops it; `done` is called once, later, or at once if `e` is NULL. Then free it. */
void endpoint_stop(struct endpoint *e, void (*done)(void *arg), void *arg);
void endpoint_free(struct endpoint *e); /* NULL allowed */

#endif
