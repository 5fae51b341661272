/*
 * object_args - operands that name objects, in kubectl's syntax.
 *
 *   pods                    all of a type
 *   pods a b                some of it
 *   pods,nodes              of several types
 *   pod/a node/b            each with its type
 *
 * "claim", "claimtemplate" and "slice", also in the plural, are the resources of resource.k8s.io,
 * unless the server has a type of that name.
 */
#ifndef CLI_CONNECT_OBJECT_ARGS_H
#define CLI_CONNECT_OBJECT_ARGS_H

#include "cli/connect/kube.h"

struct object_arg {
	const struct discovery_resource *type;
	struct str name; /* empty: all of them */
};

struct object_args {
	struct object_arg *v; /* in the run's arena */
	size_t n;
	bool several_types;
};

/*
 * Malformed operands are bad usage. Returns -ERR_NOT_FOUND for a type that the server does not
 * serve.
 */
int object_args_parse(struct kube *k, const struct flag_list *operands,
		      struct object_args *ret_args, struct error *err);

/*
 * "pod", "resourceclaim.resource.k8s.io": the prefix in `-o name` and in tables of several types.
 */
struct str object_args_word(struct arena *a, const struct discovery_resource *type);

#endif
