/*
 * resource_quota - keeps the status of ResourceQuotas: what is limited, and what is used.
 *
 * Upstream's resourcequota-controller. A new or changed quota is counted at once; deletions, and
 * pods that are over, give back soon; everything is counted anew every five minutes. Only kinds
 * that some quota names are watched, and each change costs what the one object uses
 * (quota_book.h).
 *
 * The server charges a quota before it makes the object. A count that does not see the object yet
 * would give back what it uses, so a sum that is less than what the status says is written when the
 * quota has been left alone for a second, or when it has waited for ten.
 */
#ifndef CONTROLLER_RESOURCE_QUOTA_H
#define CONTROLLER_RESOURCE_QUOTA_H

struct context;
struct resource_quotas;

struct resource_quotas *resource_quotas_new(const struct context *ctx);
void resource_quotas_free(struct resource_quotas *r); /* NULL allowed */

#endif
