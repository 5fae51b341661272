/*
 * admit_account - gives pods their service account: upstream's ServiceAccount admission.
 *
 * A new pod that names no account gets the namespace's "default". It gets the account's
 * imagePullSecrets if it has none. Unless the pod, or else the account, sets
 * automountServiceAccountToken: false, it gets a projected volume with a token, the cluster's CA
 * and the namespace. The volume is mounted in every container that mounts nothing else at that
 * path. If the account has the annotation kubernetes.io/enforce-mountable-secrets, the pod may
 * refer only to secrets that the account lists; so may ephemeral containers of later writes.
 * Mirror pods are not changed and may refer to neither accounts nor secrets.
 *
 * There are two differences from upstream. A server may run without a controller, which creates
 * the accounts: so a pod that names no account is accepted without one if its namespace has no
 * "default", and may have ephemeral containers. And an ephemeral container with a forbidden
 * secret gets 403, where upstream by oversight returns 500.
 */
#ifndef SERVER_PLUGINS_ACCOUNT_H
#define SERVER_PLUGINS_ACCOUNT_H

#include <stdbool.h>

struct error;
struct json;
struct admission_request;

/* Creations, and writes of ephemeral containers. No other write of a pod is checked. */
bool admit_account_concerns(const struct admission_request *req);

/* Changes the pod, which an earlier try may have changed already. -ERR_FORBIDDEN. */
int admit_account(struct admission_request *req, const struct json *old, struct json *pod,
		  struct error *err);

#endif
