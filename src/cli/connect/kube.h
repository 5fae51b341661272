/*
 * kube - an API server as a command sees it: one question after the other.
 *
 * A command that ends has nothing else to do while it waits, so these run the loop until the
 * answer is there. Failures say what was asked and what to do next. A command that lives on can
 * give up waiting, from a callback of the loop: kube_interrupt(). What servers warn of is said on
 * the error stream, each text once.
 * All memory is the run's (cli->arena).
 */
#ifndef CLI_CONNECT_KUBE_H
#define CLI_CONNECT_KUBE_H

#include "cli/connect/kube_flags.h"
#include "client/api/client.h"
#include "client/kubeconfig/kubeconfig.h"

struct discovery;
struct discovery_resource;
struct json;

/* A warning of the server that was said. */
struct kube_told {
	struct kube_told *next;
	struct str text;
};

struct kube {
	struct cli *cli;
	struct kubeconfig config;
	struct str server_from; /* who said where the server is */
	struct loop *loop;
	struct client *client;
	struct discovery *discovery; /* NULL until kube_resource() asks */
	struct arena *arena; /* where answers live: the run's */
	struct str refusal; /* all that the server said when it last refused; empty: nothing */
	struct kube_told *told; /* in the memory of the run, whatever `arena` is */
	bool interrupted;
};

/* Close it whatever was returned. */
int kube_open(struct kube *k, struct cli *cli, const struct kube_options *o, struct error *err);
void kube_close(struct kube *k);

/*
 * Finds out who we are where a plugin of the kubeconfig says it: it may ask the user, so whoever
 * takes the terminal for itself calls this before.
 */
int kube_login(struct kube *k, struct error *err);

/* The question that is waited for, and all that come, fail with -ERR_CANCELED. */
void kube_interrupt(struct kube *k);

/* What to read. Empty parts are not said. */
struct kube_query {
	const struct resource *resource;
	struct str ns, name, label_selector, field_selector;
	struct str accept; /* empty: application/json */
};

/* One object, or a whole list, all its pages as one. */
int kube_read(struct kube *k, const struct kube_query *q, struct json **ret_tree,
	      struct error *err);

/* What to write, and how: a name for what has one, a query such as "dryRun=All". */
struct kube_target {
	const struct resource *resource;
	struct resource_name name;
	struct str query;
};

/* The object as it is, all of it whatever the target's subresource. */
int kube_read_target(struct kube *k, const struct kube_target *t, struct json **ret_object,
		     struct error *err);

/* The answer is the object as it is then; that of a deletion may be a Status. */
int kube_create(struct kube *k, const struct kube_target *t, const struct json *object,
		struct json **ret_object, struct error *err);
int kube_patch(struct kube *k, const struct kube_target *t, enum client_patch_type type,
	       const struct json *patch, struct json **ret_object, struct error *err);
int kube_delete(struct kube *k, const struct kube_target *t, const struct client_delete_opts *opts,
		struct json **ret_answer, struct error *err);

/* Lets time pass, for who asks again. */
void kube_pause(struct kube *k, int64_t ms);

/*
 * Whether the user may do that, by SelfSubjectAccessReview; an empty namespace means all of them.
 * Keeps no memory.
 */
int kube_may(struct kube *k, const char *verb, const struct resource *r, struct str ns,
	     bool *ret_may, struct error *err);

/*
 * The resource that people call `word`: "pods", "pod", "po", "Pod", and each of them with
 * ".GROUP" or ".VERSION.GROUP" behind. -ERR_NOT_FOUND says what may have been meant.
 */
int kube_resource(struct kube *k, struct str word, const struct discovery_resource **ret_resource,
		  struct error *err);

/*
 * The resource of a manifest's apiVersion and kind; borrowed until the next of these. What is
 * unknown is asked for once more: a manifest may define the kinds of the next.
 */
int kube_kind(struct kube *k, struct str api_version, struct str kind,
	      const struct discovery_resource **ret_resource, struct error *err);

/*
 * The namespace of an object whose manifest says `said`: that, or ours when it is empty; none for
 * what is in none. -ERR_BAD_REQUEST when --namespace says another: neither can be meant.
 */
int kube_namespace(const struct kube *k, const struct kube_options *o, const struct resource *r,
		   struct str said, struct str *ret_ns, struct error *err);

#endif
