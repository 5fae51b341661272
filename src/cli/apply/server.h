/*
 * apply_server - server-side apply of one object, with the migration from client-side apply.
 *
 * If the object turns out to have been applied on the client's side before, its fields are handed
 * over to the manager (client_side.h) and it is applied again. The first apply detects this; the
 * second removes the fields that the manifest no longer has. If there is nothing to hand over,
 * which is always the case after the first time, one request is enough. A warning lists the fields
 * that were removed from the object, or in a dry run would be.
 */
#ifndef CLI_APPLY_SERVER_H
#define CLI_APPLY_SERVER_H

#include "cli/connect/kube.h"

#define APPLY_TRIES_MAX 5 /* attempts of a write that conflicts with others */

struct apply_server {
	struct kube *kube;
	struct kube_target target; /* with fieldManager and dryRun in its query */
	const struct json *tree; /* the manifest */
	struct str manager;
	bool force, dry_run;

	const char *conflict; /* set if other managers own the fields: the server's full message */
	bool handed; /* set if fields were handed over; in a dry run: would be */
};

int apply_server(struct apply_server *s, struct json **ret_object, struct error *err);

#endif
