/*
 * demo_shell - runs shell commands in the folder of a cluster. There `devplane` is this very
 * program and uses the folder's cluster.
 *
 * All functions block until the command has ended or the shell is interrupted. SIGINT and SIGTERM
 * interrupt it once; demo_shell_calm() rearms that.
 */
#ifndef CLI_DEMO_SHELL_H
#define CLI_DEMO_SHELL_H

#include "base/core/buf.h"
#include "base/core/error.h"

struct demo_shell;

/* DEMO_COMMAND_MS: a command that takes longer is killed. */
enum { DEMO_COMMAND_MS = 120 * 1000, DEMO_OUTPUT_MAX = 512 * 1024 };

/* `dir` is the cluster's folder; it is borrowed. */
int demo_shell_new(const char *dir, struct demo_shell **ret_shell, struct error *err);
void demo_shell_free(struct demo_shell *s); /* ends background commands; NULL allowed */

/*
 * Appends the command's output on both streams to `out`; *ret_status is its exit code. Returns
 * -ERR_CANCELED if interrupted, -ERR_TIMEOUT if killed.
 */
int demo_shell_run(struct demo_shell *s, const char *command, struct buf *out, int *ret_status,
		   struct error *err);

/* Starts a command that runs until demo_shell_end(); one at a time. */
int demo_shell_start(struct demo_shell *s, const char *command, struct error *err);
void demo_shell_end(struct demo_shell *s);

/* Waits. Returns -ERR_CANCELED if interrupted. */
int demo_shell_pause(struct demo_shell *s, int64_t ms, struct error *err);

/* Clears an interrupt, so that the clean-up can run. */
void demo_shell_calm(struct demo_shell *s);

#endif
