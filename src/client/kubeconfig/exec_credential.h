/*
 * exec_credential - gets credentials from a program: the exec plugins of kubeconfigs.
 *
 * The program gets our environment, the variables of the kubeconfig, and KUBERNETES_EXEC_INFO. The
 * latter is an ExecCredential that says whether the program may prompt the user and, if the
 * kubeconfig wants that, describes the cluster. The program prints an ExecCredential with a token,
 * a certificate and its key, or both. No shell is involved. An interactive program inherits our
 * standard input and error and may take as long as it likes. Any other program gets neither. If it
 * exceeds the timeout, it is killed together with its children.
 *
 * Errors name the program, its exit code and the end of its output. Threads: belongs to its loop.
 */
#ifndef CLIENT_KUBECONFIG_EXEC_CREDENTIAL_H
#define CLIENT_KUBECONFIG_EXEC_CREDENTIAL_H

#include "base/core/arena.h"
#include "base/core/error.h"

struct exec_credential;
struct kubeconfig;
struct loop;

/* The credentials. Empty: not provided. */
struct exec_answer {
	struct str token;
	struct str cert, key; /* PEM; both or none */
	int64_t expires; /* ns since 1970; INT64_MAX: not stated */
};

struct exec_credential_opts {
	/* Has an `exec` plugin; borrowed until exec_credential_new() returns. */
	const struct kubeconfig *config;
	bool may_ask; /* the program may use our standard input, if that is a terminal */
	int64_t timeout_ms; /* for a program that is not interactive; 0: 1 minute */
	/*
	 * Called once, later, unless freed before. You may free it here or afterwards. The answer
	 * is borrowed until return; it is NULL if `err` is not.
	 */
	void (*on_done)(void *arg, const struct exec_answer *answer, const struct error *err);
	void *arg;
};

/*
 * Returns -ERR_NOT_FOUND if the program does not exist; the message includes the kubeconfig's
 * hint.
 */
int exec_credential_new(struct loop *l, const struct exec_credential_opts *opts,
			struct exec_credential **ret_exec, struct error *err);

/* Kills the program if it still runs, and does not wait for it. NULL allowed. */
void exec_credential_free(struct exec_credential *x);

/* Parses a program's output, which must have the API version of the request. Text is in `a`. */
int exec_answer_read(struct arena *a, struct str text, const char *api_version,
		     struct exec_answer *ret_answer, struct error *err);

#endif
