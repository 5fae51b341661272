/*
 * admit_account - a pod runs as a service account: upstream's ServiceAccount admission.
 *
 * A new pod that names no account gets the namespace's "default"; it gets the account's
 * imagePullSecrets when it has none, and, unless the pod or else the account says
 * automountServiceAccountToken: false, a projected volume with a token, the cluster's CA
 * and the namespace, mounted in every container that has nothing at that path. With the
 * account's annotation kubernetes.io/enforce-mountable-secrets only the secrets that the
 * account lists may be referred to, by ephemeral containers of later writes too. Mirror pods
 * are left as they are and may refer to neither accounts nor secrets.
 *
 * Two differences from upstream. A server may run without a controller, which makes
 * the accounts: a pod that names no account, in a namespace that has no "default", is
 * taken without one, and may have ephemeral containers. And an ephemeral container's
 * secret that is not allowed is 403, where upstream says 500 by oversight.
 */
#ifndef SERVER_PLUGINS_ACCOUNT_H
#define SERVER_PLUGINS_ACCOUNT_H

#include <stdbool.h>

struct error;
struct json;
struct admission_request;

/* Creations, and writes of ephemeral containers: no other write of a pod is looked at. */
bool admit_account_concerns(const struct admission_request *req);

/* Changes the pod, which may have been changed by an earlier try. -ERR_FORBIDDEN. */
int admit_account(struct admission_request *req, const struct json *old, struct json *pod,
		  struct error *err);

#endif
