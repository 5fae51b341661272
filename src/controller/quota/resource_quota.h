/*
 * resource_quota - keeps the status of ResourceQuotas up to date: the limits, and what is used.
 *
 * Upstream's resourcequota-controller. A new or changed quota is counted at once. Usage of deleted
 * objects and finished pods is released soon. Everything is recounted every five minutes. Only
 * kinds that some quota names are watched, and each change costs what the one object uses
 * (quota/book.h).
 *
 * The server charges a quota before it writes the object, so `used` may exceed the count. The
 * controller lowers it at once by what objects stop using, and lowers it by charges of failed
 * writes when they are old enough (quota/tally.h).
 */
#ifndef CONTROLLER_QUOTA_RESOURCE_QUOTA_H
#define CONTROLLER_QUOTA_RESOURCE_QUOTA_H

struct context;
struct resource_quotas;

struct resource_quotas *resource_quotas_new(const struct context *ctx);
void resource_quotas_free(struct resource_quotas *r); /* NULL allowed */

#endif
