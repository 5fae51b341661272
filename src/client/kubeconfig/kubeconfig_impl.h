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
	const char *dir; /* what relative paths begin at */
	struct json *tree;
};

/* An entry of a list, and the file that it is from. */
struct kubeconfig_entry {
	const struct kubeconfig_file *file;
	const char *what; /* "cluster" */
	struct str name;
	const struct json *fields; /* NULL: there is no such entry */
};

/* The string member, in the config's arena; empty when absent. -ERR_INVALID: it is no string. */
int kubeconfig_text(struct kubeconfig *k, const struct kubeconfig_entry *e, const char *member,
		    struct str *ret_text, struct error *err);

/* The same for a truth value; false when absent. */
int kubeconfig_bool(const struct kubeconfig_entry *e, const char *member, bool *ret_value,
		    struct error *err);

/* Failures with their place: `text` about the entry, or one from below. */
int kubeconfig_bad(const struct kubeconfig_entry *e, enum error_code code, struct error *err,
		   const char *text);
int kubeconfig_wrap(const struct kubeconfig_entry *e, int r, struct error *err);

/* What a cluster and a user say. */
int kubeconfig_read_cluster(struct kubeconfig *k, const struct kubeconfig_entry *e,
			    struct error *err);
int kubeconfig_read_user(struct kubeconfig *k, const struct kubeconfig_entry *e, struct error *err);

/*
 * A user's exec plugin, into k->exec; `e` is the user. And what the cluster `e` says to such
 * plugins, which is part of that: "" when nothing.
 */
int kubeconfig_read_exec(struct kubeconfig *k, const struct kubeconfig_entry *e, struct error *err);
int kubeconfig_read_exec_cluster(struct kubeconfig *k, const struct kubeconfig_entry *e,
				 struct error *err);

/* Reads a small file (certificate, key, token) into the arena. */
int kubeconfig_read_file(struct kubeconfig *k, const char *path, struct str *ret_text,
			 struct error *err);

#endif
