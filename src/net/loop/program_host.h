/*
 * program_host - starts programs for another process, which may not start any itself.
 *
 * The other process (program.h, host_fd) sends a request and the program's streams. It does not
 * send arguments: `argv` decides from the request alone what runs. The number of programs and their
 * time are limited here as well, because the other process is not trusted. A program ends with the
 * interest in it: when the other process closes its end, or is gone.
 * Threads: belongs to its loop.
 */
#ifndef NET_LOOP_PROGRAM_HOST_H
#define NET_LOOP_PROGRAM_HOST_H

#include <stdint.h>

#include "base/core/error.h"
#include "base/core/str.h"

struct arena;
struct loop;
struct program_host;

enum {
	PROGRAM_HOST_FDS = 4, /* of a request: stdin, stdout, stderr, the socket for the report */
	PROGRAM_REQUEST_MAX = 4096,
	PROGRAM_REASON_MAX = 512,
};

/* The host's message when a program has ended, or could not be started. */
struct program_report {
	int32_t status, signum;
	char reason[PROGRAM_REASON_MAX]; /* why it could not be started; empty: it ran */
};

struct program_host_opts {
	size_t max; /* programs at once */
	int64_t timeout_ms;
	/* The arguments for a request, in `a`; or an error. */
	int (*argv)(void *arg, struct str request, struct arena *a, const char *const **ret_argv,
		    struct error *err);
	void *arg;
};

struct program_host *program_host_new(struct loop *l, const struct program_host_opts *opts);

/*
 * A new socket for the other process; the caller closes it. The previous one is no longer read, and
 * its programs are killed.
 */
int program_host_open(struct program_host *h, int *ret_fd, struct error *err);

/* Kills all programs. NULL allowed. */
void program_host_free(struct program_host *h);

#endif
