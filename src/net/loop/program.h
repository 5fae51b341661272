/*
 * program - runs a program to its end, and returns its output.
 *
 * The output goes into pipes that hold all of it, and are read when the program has ended. So
 * nothing has to be read meanwhile, and the kernel bounds the memory. A program that prints more
 * blocks, and is killed by the timeout. Grandchildren that keep a pipe open are not waited for.
 * Killing a program kills its whole process group.
 *
 * A process that may not start programs can have a program_host (program_host.h) in another process
 * start one for it. The output comes as if it were our child.
 * Threads: belongs to its loop.
 */
#ifndef NET_LOOP_PROGRAM_H
#define NET_LOOP_PROGRAM_H

#include "base/core/error.h"
#include "base/core/str.h"

struct loop;
struct program;

/* How it ended. Borrowed until on_end returns. */
struct program_end {
	int status, signum; /* signum is 0 after a normal exit */
	bool timed_out; /* it was killed by the timeout */
	struct str out, err; /* its output; `err` is empty if stderr is ours */
};

struct program_opts {
	const char *const *argv; /* argv[0] is looked up in PATH; NULL-terminated */
	const char *const *env; /* NULL: ours */
	int in_fd; /* its standard input, dup'ed; 0: /dev/null */
	bool with_us; /* shares our stderr and process group */
	bool yields; /* a low priority, and little cost for us when it starts */
	/* The socket of a program_host, which starts it instead; 0: none, it is our child. */
	int host_fd;
	struct str
		request; /* for the host, which makes the arguments from it: `argv` is not used */
	size_t output_max; /* bytes of each stream */
	int64_t timeout_ms; /* 0: no timeout */
	/*
	 * Called once, later, unless freed before. You may free it in here, else free it
	 * afterwards.
	 */
	void (*on_end)(void *arg, const struct program_end *end);
	void *arg;
};

int program_new(struct loop *l, const struct program_opts *opts, struct program **ret_program,
		struct error *err);

/* Kills it if it is still running. Does not wait: the loop reaps it. NULL allowed. */
void program_free(struct program *p);

/* The last non-empty line: earlier ones are mostly logs. */
struct str program_last_line(struct str text);

#endif
