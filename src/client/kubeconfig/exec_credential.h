/*
 * exec_credential - ask a program who we are: the exec plugins of kubeconfigs.
 *
 * The program gets our environment, what the kubeconfig adds to it, and KUBERNETES_EXEC_INFO: an
 * ExecCredential that says whether it may ask the user and, where the kubeconfig wants that, which
 * cluster is meant. It prints an ExecCredential with a token, a certificate and its key, or both.
 * No shell is involved. One that may ask has our standard input and error and all the time it
 * wants; any other has neither, and is killed with all it has started when it takes too long.
 *
 * Errors name the program, its exit code and its last words.
 * Threads: belongs to its loop.
 */
#ifndef CLIENT_KUBECONFIG_EXEC_CREDENTIAL_H
#define CLIENT_KUBECONFIG_EXEC_CREDENTIAL_H

#include "base/core/arena.h"
#include "base/core/error.h"

struct exec_credential;
struct kubeconfig;
struct loop;

/* What it said. Empty: not that. */
struct exec_answer {
	struct str token;
	struct str cert, key; /* PEM; both or none */
	int64_t expires; /* ns since 1970; INT64_MAX: it does not say */
};

struct exec_credential_opts {
	const struct kubeconfig *config; /* with `exec`; until exec_credential_new() returns */
	bool may_ask; /* our standard input is free for it, should it be a terminal */
	int64_t timeout_ms; /* of one that does not ask; 0: 1 minute */
	/*
	 * Once, later, unless freed before; free it then, or here. The answer is borrowed until
	 * return, and NULL when `err` is not.
	 */
	void (*on_done)(void *arg, const struct exec_answer *answer, const struct error *err);
	void *arg;
};

/* -ERR_NOT_FOUND: there is no such program; the kubeconfig's hint is part of the message. */
int exec_credential_new(struct loop *l, const struct exec_credential_opts *opts,
			struct exec_credential **ret_exec, struct error *err);

/* Kills it when it still runs; does not wait. NULL allowed. */
void exec_credential_free(struct exec_credential *x);

/* Reads what a program printed, which must be of the version it was asked in. Text is in `a`. */
int exec_answer_read(struct arena *a, struct str text, const char *api_version,
		     struct exec_answer *ret_answer, struct error *err);

#endif
