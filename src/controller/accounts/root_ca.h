/*
 * root_ca - a ConfigMap "kube-root-ca.crt" in every active namespace, with the CA certificate that
 * pods verify the API server with.
 */
#ifndef CONTROLLER_ACCOUNTS_ROOT_CA_H
#define CONTROLLER_ACCOUNTS_ROOT_CA_H

#include "base/core/str.h"

struct context;
struct per_namespace;

/* `ca` is PEM and must outlive the result. */
struct per_namespace *root_ca_new(const struct context *ctx, const struct str *ca);

#endif
