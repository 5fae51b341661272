/*
 * demo_shell - runs lines of shell in the folder of a cluster, where `devplane` is this very
 * program and the cluster is the folder's.
 *
 * All functions wait, until the command has ended or the shell is interrupted: SIGINT and SIGTERM
 * do that, once each time that demo_shell_calm() was called.
 */
#ifndef CLI_DEMO_SHELL_H
#define CLI_DEMO_SHELL_H

#include "base/core/buf.h"
#include "base/core/error.h"

struct demo_shell;

/* A command that takes longer is killed. */
enum { DEMO_COMMAND_MS = 120 * 1000, DEMO_OUTPUT_MAX = 512 * 1024 };

/* `dir`: of the cluster; kept. */
int demo_shell_new(const char *dir, struct demo_shell **ret_shell, struct error *err);
void demo_shell_free(struct demo_shell *s); /* ends what runs in the background; NULL allowed */

/*
 * Appends what the command prints on both streams; *ret_status is its exit code. -ERR_CANCELED when
 * interrupted, -ERR_TIMEOUT when killed.
 */
int demo_shell_run(struct demo_shell *s, const char *command, struct buf *out, int *ret_status,
		   struct error *err);

/* Starts a command that runs until demo_shell_end(); one at a time. */
int demo_shell_start(struct demo_shell *s, const char *command, struct error *err);
void demo_shell_end(struct demo_shell *s);

/* Lets time pass. -ERR_CANCELED when interrupted. */
int demo_shell_pause(struct demo_shell *s, int64_t ms, struct error *err);

/* Forgets an interrupt, so that cleaning up can be done. */
void demo_shell_calm(struct demo_shell *s);

#endif
