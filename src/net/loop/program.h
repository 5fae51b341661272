/*
 * program - runs a program to its end, and hands over what it printed.
 *
 * What it prints goes into pipes that hold all it may print and are read when it has ended: nothing
 * to follow meanwhile, and memory has its bound in the kernel. One that prints more blocks, and is
 * killed by the time-out. Grandchildren that keep a pipe open are not waited for; who is killed is
 * killed with them, as one process group.
 * Threads: belongs to its loop.
 */
#ifndef NET_LOOP_PROGRAM_H
#define NET_LOOP_PROGRAM_H

#include "base/core/error.h"
#include "base/core/str.h"

struct loop;
struct program;

/* How it ended; borrowed until return. */
struct program_end {
	int status, signum; /* signum is 0 after a normal exit */
	bool timed_out; /* it was killed for that */
	struct str out, err; /* what it printed; `err` is empty when that went to ours */
};

struct program_opts {
	const char *const *argv; /* argv[0] is looked up in PATH; NULL-terminated */
	const char *const *env; /* NULL: ours */
	int in_fd; /* its standard input, dup'ed; 0: /dev/null */
	bool with_us; /* its standard error is ours, and it is in our process group */
	size_t output_max; /* bytes of each stream */
	int64_t timeout_ms; /* 0: none */
	/* Once, later, unless freed before; free it then, or here. */
	void (*on_end)(void *arg, const struct program_end *end);
	void *arg;
};

int program_new(struct loop *l, const struct program_opts *opts, struct program **ret_program,
		struct error *err);

/* Kills it when it still runs; does not wait: the loop collects it. NULL allowed. */
void program_free(struct program *p);

/* The last line that is not empty: what came before are mostly logs. */
struct str program_last_line(struct str text);

#endif
