/*
 * explain - answers `GET /ui/explain`: runs `devplane explain-fit` in a process of its own.
 *
 * The command reads the whole cluster and is busy for a while, so it does not run in the server of
 * the page. Its time, its output and the number of objects that it reads are limited, and other
 * processes go first. It ends with the pass of its session (web/session/passes.h), which limits the
 * number of such processes.
 *
 * It acts with the given credentials and no others. A token is passed in a file in memory, so that
 * neither the command line nor the environment has it.
 *
 * Threads: its loop's.
 */
#ifndef WEB_EXPLAIN_EXPLAIN_H
#define WEB_EXPLAIN_EXPLAIN_H

#include "web/explain/query.h"
#include "web/session/passes.h"

struct explain;
struct loop;

/* The message of a reply when the session has ended meanwhile. */
#define EXPLAIN_OVER "the session is over"

struct explain_opts {
	struct loop *loop;
	struct arena *arena; /* of the request; must outlive it */
	const struct explain_query *query;
	const struct ui_pass *pass; /* must outlive it */
	int host_fd; /* of the program_host that starts it; 0: it is our child */
	/*
	 * Called once, later, unless freed before: with the answer as JSON, or with the error that
	 * prevented it. ERR_UNAUTHORIZED: the pass has ended. The callback may free it.
	 */
	void (*on_end)(void *arg, struct str answer, const struct error *err);
	void *arg;
};

/* Only follows the pass at first, while the caller checks whether the user may have an answer. */
struct explain *explain_new(const struct explain_opts *opts);

/* Starts the process, which acts with these credentials. If it fails, on_end is not called. */
struct explain_credentials {
	const struct explain_server *server; /* a token; or NULL: .. */
	struct explain_access access; /* .. a kubeconfig's own */
};
int explain_start(struct explain *x, const struct explain_credentials *with, struct error *err);

/* Kills the process if it still runs. NULL allowed. */
void explain_free(struct explain *x);

/* For a program_host: the arguments for a request, without the name of the program. */
int explain_host_argv(struct str request, struct arena *a, const char *const **ret_argv,
		      struct error *err);

#endif
