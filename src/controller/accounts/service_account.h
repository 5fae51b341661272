/*
 * service_account - a ServiceAccount "default" in every active namespace.
 */
#ifndef CONTROLLER_ACCOUNTS_SERVICE_ACCOUNT_H
#define CONTROLLER_ACCOUNTS_SERVICE_ACCOUNT_H

struct context;
struct per_namespace;

struct per_namespace *service_account_new(const struct context *ctx);

#endif
