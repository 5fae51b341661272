/*
 * endpoint - where a role tells how it is: /healthz, /livez, /readyz, /metrics, pages of its own.
 *
 * Plain HTTP, meant for loopback or a trusted network. A check is named; what
 * failed is said in the answer, which is 500 then. ?verbose lists all of them,
 * /healthz/NAME asks for one.
 * Threads: its loop's; checks are called there.
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
	bool ready_only; /* asked by /readyz only: waiting is no illness */
	int (*run)(void *arg, struct error *err);
};

/* A page of JSON that the role writes; a table ends with a row that has no path. */
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

/* Where it listens. */
const struct addr *endpoint_address(const struct endpoint *e);

/* Ends it; `done` is called once, later, or at once when there is none (NULL). Then free it. */
void endpoint_stop(struct endpoint *e, void (*done)(void *arg), void *arg);
void endpoint_free(struct endpoint *e); /* NULL allowed */

#endif
