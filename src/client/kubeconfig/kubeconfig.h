/*
 * kubeconfig - which API server, whom to trust, and who we are.
 *
 * Reads kubectl's files, YAML or JSON, with kubectl's rules: an explicit file;
 * else the files of $KUBECONFIG, merged, where the first that says something is
 * right and missing ones are passed over; else ~/.kube/config; else, in a pod,
 * its service account. Relative paths in a file are relative to its folder, and
 * data wins over a file of the same meaning.
 *
 * Nothing is run: a user with an exec plugin is described here, and whoever
 * makes requests runs the plugin (exec_credential.h; struct client does).
 *
 * What we cannot do is refused with a sentence: proxy-url and auth-provider.
 * Errors name the file and the entry, and say what to do.
 */
#ifndef CLIENT_KUBECONFIG_KUBECONFIG_H
#define CLIENT_KUBECONFIG_KUBECONFIG_H

#include "base/core/arena.h"
#include "base/core/error.h"

/* What the rules above look at besides files. NULL: not set. */
struct kubeconfig_env {
	const char *kubeconfig; /* $KUBECONFIG: paths joined by ':' */
	const char *home; /* $HOME */
	const char *service_host, *service_port; /* $KUBERNETES_SERVICE_HOST, _PORT */
	const char *account_dir; /* NULL: /var/run/secrets/kubernetes.io/serviceaccount */
};

/* From the process' environment; borrowed from it. */
struct kubeconfig_env kubeconfig_env_get(void);

/* Zero means the default. */
struct kubeconfig_opts {
	const char *path; /* --kubeconfig: this file and no other */
	const char *context; /* --context: instead of current-context */
	const char *cluster, *user; /* --cluster, --user: entries instead of the context's */
	/*
	 * --server: instead of the cluster's, and where there is no configuration at all the
	 * whole of it. Borrowed for as long as the config lives.
	 */
	const char *server;
	const struct kubeconfig_env *env; /* NULL: the process' */
};

/* Whether a plugin may talk to the user through our standard input. */
enum kubeconfig_interactive {
	KUBECONFIG_INTERACTIVE_NEVER,
	KUBECONFIG_INTERACTIVE_IF_AVAILABLE, /* when it is a terminal */
	KUBECONFIG_INTERACTIVE_ALWAYS, /* cannot do without */
};

/* A program that tells who we are: a user's `exec`. Texts are terminated and never NULL. */
struct kubeconfig_exec {
	const char *command; /* a path, absolute; without a '/' it is looked for in $PATH */
	const char **args, **env; /* env: "NAME=VALUE" */
	size_t nargs, nenv;
	const char *api_version; /* client.authentication.k8s.io/v1 or v1beta1 */
	const char *install_hint; /* what to do when there is no such program; or "" */
	const char *cluster_config; /* JSON: what the cluster says to plugins; or "" */
	enum kubeconfig_interactive interactive;
	bool cluster_info; /* it is told which cluster is meant */
};

/* One more thing that is said of whom we act as. */
struct kubeconfig_extra {
	struct str key, value;
};

/*
 * One way to one server. All text lives in `arena`. Files for certificates and
 * keys have been read; their paths stay here so that renewed ones are found.
 */
struct kubeconfig {
	struct arena arena;
	struct str source; /* where it comes from: file names, or "the pod's service account" */
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
	struct kubeconfig_exec *exec; /* NULL: none, or one of the above says who we are */

	/* Whom we act as, when the server lets us; what follows `as` needs it. */
	struct str as, as_uid; /* empty: ourselves */
	struct str *as_groups;
	struct kubeconfig_extra *as_extra;
	size_t nas_groups, nas_extra;
};

/*
 * Fills *ret_config, which is released by kubeconfig_release(). -ERR_NOT_FOUND
 * when there is no configuration at all or a file or name is missing,
 * -ERR_INVALID when it says something that cannot be, -ERR_UNIMPLEMENTED for
 * what we refuse.
 */
int kubeconfig_load(struct kubeconfig *ret_config, const struct kubeconfig_opts *opts,
		    struct error *err);

/* The same from one text; `name` stands for the file in errors, `dir` is what paths begin at. */
int kubeconfig_parse(struct kubeconfig *ret_config, struct str text, const char *name,
		     const char *dir, const char *context, struct error *err);

/* Harmless on zeroes, and twice. */
void kubeconfig_release(struct kubeconfig *k);

static inline void kubeconfig_release_cleanup(struct kubeconfig *k)
{
	kubeconfig_release(k);
}

#endif
