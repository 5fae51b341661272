/*
 * kubeconfig_impl - private to kubeconfig*.c: the files as trees, and reading an entry.
 */
#ifndef CLIENT_KUBECONFIG_KUBECONFIG_IMPL_H
#define CLIENT_KUBECONFIG_KUBECONFIG_IMPL_H

#include "base/json/json.h"
#include "client/kubeconfig/kubeconfig.h"

/* One file that was read. */
struct kubeconfig_file {
	const char *name; /* for messages */
	const char *dir; /* the base of relative paths */
	struct json *tree;
};

/* An entry of a list, and the file it was read from. */
struct kubeconfig_entry {
	const struct kubeconfig_file *file;
	const char *what; /* "cluster" */
	struct str name;
	const struct json *fields; /* NULL: no such entry */
};

/* A string member, in the config's arena; empty if absent. Returns -ERR_INVALID if not a string. */
int kubeconfig_text(struct kubeconfig *k, const struct kubeconfig_entry *e, const char *member,
		    struct str *ret_text, struct error *err);

/* The same for a boolean; false if absent. */
int kubeconfig_bool(const struct kubeconfig_entry *e, const char *member, bool *ret_value,
		    struct error *err);

/* Report an error with its place: `text` about the entry, or an error from a lower layer. */
int kubeconfig_bad(const struct kubeconfig_entry *e, enum error_code code, struct error *err,
		   const char *text);
int kubeconfig_wrap(const struct kubeconfig_entry *e, int r, struct error *err);

/* Read a cluster's and a user's entry. */
int kubeconfig_read_cluster(struct kubeconfig *k, const struct kubeconfig_entry *e,
			    struct error *err);
int kubeconfig_read_user(struct kubeconfig *k, const struct kubeconfig_entry *e, struct error *err);

/*
 * The first reads the exec plugin of user `e` into k->exec. The second reads the settings of
 * cluster `e` for such plugins into k->exec->cluster_config ("" if none).
 */
int kubeconfig_read_exec(struct kubeconfig *k, const struct kubeconfig_entry *e, struct error *err);
int kubeconfig_read_exec_cluster(struct kubeconfig *k, const struct kubeconfig_entry *e,
				 struct error *err);

/* Reads a small file (certificate, key, token) into the arena. */
int kubeconfig_read_file(struct kubeconfig *k, const char *path, struct str *ret_text,
			 struct error *err);

#endif
