/*
 * apply_server - server-side apply of one object, with the change from client-side apply.
 *
 * Objects that were applied on the client's side before are handed over to the manager
 * (client_side.h) when it turns up that they were, and applied again: the first finds out, the
 * second removes what the manifest says no more. Where nothing is to be handed over, which is
 * always but once, there is one request. What that removes of the object is said, as a warning; a
 * dry run says what it would.
 */
#ifndef CLI_APPLY_SERVER_H
#define CLI_APPLY_SERVER_H

#include "cli/connect/kube.h"

#define APPLY_TRIES_MAX 5 /* of a write that others come before */

struct apply_server {
	struct kube *kube;
	struct kube_target target; /* with fieldManager and dryRun in its query */
	const struct json *tree; /* the manifest */
	struct str manager;
	bool force, dry_run;

	const char *conflict; /* set when fields of others are in the way: all that was said */
	bool handed; /* set when fields were handed over; in a dry run: would be */
};

int apply_server(struct apply_server *s, struct json **ret_object, struct error *err);

#endif
