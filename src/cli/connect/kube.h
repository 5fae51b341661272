/*
 * kube - a synchronous API client for commands: one request after the other.
 *
 * A command has nothing else to do while it waits, so these functions run the loop until the reply
 * arrives. Errors say what was requested and what to do next. A long-running command can abort the
 * wait from a callback of the loop: kube_interrupt(). Warnings of the server are printed on
 * stderr, each text once. All memory is the run's (cli->arena).
 */
#ifndef CLI_CONNECT_KUBE_H
#define CLI_CONNECT_KUBE_H

#include "cli/connect/kube_flags.h"
#include "client/api/client.h"
#include "client/kubeconfig/kubeconfig.h"

struct discovery;
struct discovery_resource;
struct json;

/* A warning of the server that was printed. */
struct kube_told {
	struct kube_told *next;
	struct str text;
};

struct kube {
	struct cli *cli;
	struct kubeconfig config;
	struct str server_from; /* where the server's address came from */
	struct loop *loop;
	struct client *client;
	struct discovery *discovery; /* NULL until kube_resource() needs it */
	struct arena *arena; /* for replies: the run's */
	struct str refusal; /* the body of the last error reply; empty: none */
	struct kube_told *told; /* in the run's memory, whatever `arena` is */
	size_t objects_max; /* a list with more objects fails with -ERR_TOO_LARGE; 0: no limit */
	bool interrupted;
};

/* Call kube_close() whatever it returned. */
int kube_open(struct kube *k, struct cli *cli, const struct kube_options *o, struct error *err);
void kube_close(struct kube *k);

/*
 * Gets credentials from an exec plugin of the kubeconfig, if there is one. The plugin may prompt
 * the user, so call this before taking over the terminal.
 */
int kube_login(struct kube *k, struct error *err);

/* The pending request, and all later ones, fail with -ERR_CANCELED. */
void kube_interrupt(struct kube *k);

/* The objects to read. Empty members are not used. */
struct kube_query {
	const struct resource *resource;
	struct str ns, name, label_selector, field_selector;
	struct str accept; /* empty: application/json */
	bool whole; /* the rows of a Table get their whole objects */
};

/* Reads one object, or a whole list with all its pages. */
int kube_read(struct kube *k, const struct kube_query *q, struct json **ret_tree,
	      struct error *err);

/* The object to write. `name` may be partly empty; `query` is such as "dryRun=All". */
struct kube_target {
	const struct resource *resource;
	struct resource_name name;
	struct str query;
};

/* Reads the current object: all of it, whatever the target's subresource. */
int kube_read_target(struct kube *k, const struct kube_target *t, struct json **ret_object,
		     struct error *err);

/* *ret_object is the object after the write. For a deletion the reply may be a Status. */
int kube_create(struct kube *k, const struct kube_target *t, const struct json *object,
		struct json **ret_object, struct error *err);
int kube_patch(struct kube *k, const struct kube_target *t, enum client_patch_type type,
	       const struct json *patch, struct json **ret_object, struct error *err);
int kube_delete(struct kube *k, const struct kube_target *t, const struct client_delete_opts *opts,
		struct json **ret_answer, struct error *err);

/* Runs the loop for a while, before a retry. */
void kube_pause(struct kube *k, int64_t ms);

/*
 * Whether the user is allowed to do that, by SelfSubjectAccessReview. An empty namespace means all
 * namespaces. Keeps no memory.
 */
int kube_may(struct kube *k, const char *verb, const struct resource *r, struct str ns,
	     bool *ret_may, struct error *err);

/*
 * Finds the resource that a user calls `word`: "pods", "pod", "po", "Pod", each optionally
 * followed by ".GROUP" or ".VERSION.GROUP". The message of -ERR_NOT_FOUND suggests similar names.
 */
int kube_resource(struct kube *k, struct str word, const struct discovery_resource **ret_resource,
		  struct error *err);

/*
 * Finds the resource of a manifest's apiVersion and kind; borrowed until the next call of these.
 * For an unknown kind, discovery is refreshed once, because a manifest may define the kinds of the
 * next.
 */
int kube_kind(struct kube *k, struct str api_version, struct str kind,
	      const struct discovery_resource **ret_resource, struct error *err);

/*
 * The namespace of an object whose manifest has the namespace `said`: that, or the context's if it
 * is empty. Empty for cluster-scoped resources. Returns -ERR_BAD_REQUEST if --namespace differs.
 */
int kube_namespace(const struct kube *k, const struct kube_options *o, const struct resource *r,
		   struct str said, struct str *ret_ns, struct error *err);

#endif
