/*
 * kubeconfig - which API server to use, which certificates to trust, and our credentials.
 *
 * Reads kubectl's files, YAML or JSON, by kubectl's rules: an explicit file; else the files of
 * $KUBECONFIG; else ~/.kube/config; else, in a pod, its service account. The files of $KUBECONFIG
 * are merged: the first that sets a value wins, and missing files are skipped. Relative paths in a
 * file are relative to its folder. Inline data wins over a file with the same meaning.
 *
 * Loading runs no program: it only describes an exec plugin, and the code that sends requests runs
 * it (exec_credential.h; struct client does).
 *
 * proxy-url and auth-provider are not supported and are rejected with an error. Errors name the
 * file and the entry, and say what to do.
 */
#ifndef CLIENT_KUBECONFIG_KUBECONFIG_H
#define CLIENT_KUBECONFIG_KUBECONFIG_H

#include "base/core/arena.h"
#include "base/core/error.h"

/* The environment that the rules above use. NULL: not set. */
struct kubeconfig_env {
	const char *kubeconfig; /* $KUBECONFIG: paths joined by ':' */
	const char *home; /* $HOME */
	const char *service_host, *service_port; /* $KUBERNETES_SERVICE_HOST, _PORT */
	const char *account_dir; /* NULL: /var/run/secrets/kubernetes.io/serviceaccount */
};

/* Zero means the default. */
struct kubeconfig_opts {
	const char *path; /* --kubeconfig: this file and no other */
	const char *context; /* --context: instead of current-context */
	const char *cluster, *user; /* --cluster, --user: entries instead of the context's */
	/*
	 * --server: replaces the cluster's URL. Without any configuration, it is the whole
	 * configuration. Borrowed for as long as the config lives.
	 */
	const char *server;
	const struct kubeconfig_env *env; /* NULL: the process' */
};

/* Whether a plugin may prompt the user through our standard input. */
enum kubeconfig_interactive {
	KUBECONFIG_INTERACTIVE_NEVER,
	KUBECONFIG_INTERACTIVE_IF_AVAILABLE, /* if it is a terminal */
	KUBECONFIG_INTERACTIVE_ALWAYS, /* required */
};

/*
 * An exec plugin: a program that prints a user's credentials. Texts are NUL-terminated, never
 * NULL.
 */
struct kubeconfig_exec {
	const char *command; /* an absolute path; without a '/' it is searched in $PATH */
	const char **args, **env; /* env: "NAME=VALUE" */
	size_t nargs, nenv;
	const char *api_version; /* client.authentication.k8s.io/v1 or v1beta1 */
	const char *install_hint; /* what to do if the program is missing; or "" */
	const char *cluster_config; /* JSON: the cluster's settings for plugins; or "" */
	enum kubeconfig_interactive interactive;
	bool cluster_info; /* pass the cluster's description to the plugin */
};

/* An extra field of the impersonated user. */
struct kubeconfig_extra {
	struct str key, value;
};

/*
 * How to reach one server, and as whom. All text lives in `arena`. Certificate and key files have
 * been read; their paths are kept so that renewed files are noticed.
 */
struct kubeconfig {
	struct arena arena;
	struct str source; /* its origin: file names, or "the pod's service account" */
	struct str context, cluster, user; /* names; empty in a pod */
	struct str ns; /* namespace of the context; "default" when it has none */

	struct str server; /* URL: scheme, host, port, perhaps a path */
	struct str tls_server_name; /* expected in the certificate; empty: the URL's host */
	struct str ca; /* PEM; empty: the system's */
	bool insecure; /* trust any certificate */

	struct str cert, key; /* PEM; empty: none */
	struct str token; /* bearer; empty: none */
	struct str username, password; /* basic; empty: none */
	const char *ca_file, *cert_file, *key_file, *token_file; /* absolute, or NULL */
	struct kubeconfig_exec *exec; /* NULL: none, or other credentials above take precedence */

	/* The user to impersonate, if the server allows it. The others require `as`. */
	struct str as, as_uid; /* empty: no impersonation */
	struct str *as_groups;
	struct kubeconfig_extra *as_extra;
	size_t nas_groups, nas_extra;
};

/*
 * Fills *ret_config; release it with kubeconfig_release(). Returns -ERR_NOT_FOUND if there is no
 * configuration at all or a file or name is missing, -ERR_INVALID for an invalid value, and
 * -ERR_UNIMPLEMENTED for unsupported settings.
 */
int kubeconfig_load(struct kubeconfig *ret_config, const struct kubeconfig_opts *opts,
		    struct error *err);

/* The same from one text. Errors call the file `name`; relative paths start at `dir`. */
int kubeconfig_parse(struct kubeconfig *ret_config, struct str text, const char *name,
		     const char *dir, const char *context, struct error *err);

/* A no-op on a zeroed struct and when repeated. */
void kubeconfig_release(struct kubeconfig *k);

static inline void kubeconfig_release_cleanup(struct kubeconfig *k)
{
	kubeconfig_release(k);
}

#endif
