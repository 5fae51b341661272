/*
 * up_child - one child of `devplane up`: its process, its log, whether it is ready.
 *
 * What it says comes through a pipe into its log; two sentences are read on the way: where a server
 * is ready, and where a role tells its health, which is then asked until it is ready. A child that
 * ends is started again as supervisor.h decides.
 * Threads: its loop's.
 */
#ifndef CLI_UP_CHILD_H
#define CLI_UP_CHILD_H

#include "base/report/log.h"
#include "cli/up/log.h"
#include "cli/up/roles.h"
#include "cli/up/supervisor.h"
#include "client/api/client.h"
#include "net/loop/loop.h"

struct up_child;

struct up_child_ops {
	/* Its state, pid or address is another. */
	void (*on_change)(void *arg, struct up_child *c);
	/*
	 * Before each start: its files are made. A failure counts as one of the child's. `p` is the
	 * plan with memory that goes after this start.
	 */
	int (*prepare)(void *arg, struct up_child *c, const struct up_plan *p, struct error *err);
	/* It ended, and why; `verdict` is what follows. */
	void (*on_end)(void *arg, struct up_child *c, enum supervised_verdict verdict,
		       int64_t delay_ms);
};

struct up_child {
	struct loop *loop;
	struct up_plan *plan;
	const struct up_role *role;
	const struct up_child_ops *ops;
	void *arg;
	struct supervised supervised;
	struct up_log log;
	bool first; /* not all was ready yet, ever; the owner's to clear */
	char url[128]; /* of a server: where it is ready; else where its health is; or "" */
	char failure[512]; /* why it ended last; "" */

	/* Its own. */
	struct loop_child *process; /* NULL: it does not run */
	struct loop_fd *reader;
	struct loop_timer again, ask, hurry;
	struct buf line;
	int fd; /* our end of its output */
	char said[512]; /* the last that it said of a failure */
	struct client *client;
	struct client_request request;
};

int up_child_init(struct up_child *c, struct loop *l, struct up_plan *p, const struct up_role *r,
		  struct error *err);

/* Starts it; what goes wrong is told as if it had ended. */
void up_child_start(struct up_child *c);

/* SIGTERM, or SIGKILL. on_end follows, also when it does not run. */
void up_child_stop(struct up_child *c, bool now);

/*
 * Ends it in order, so that it is started again; `why` is told as its last failure. One that does
 * not end is killed.
 */
void up_child_restart(struct up_child *c, const char *why);

/* 0: it does not run. */
int up_child_pid(const struct up_child *c);

/* It must not run. */
void up_child_release(struct up_child *c);

#endif
