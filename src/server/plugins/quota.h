/*
 * admit_quota - what a namespace's quotas allow: upstream's ResourceQuota admission.
 *
 * A creation, or an update that changes what is used, goes on when every ResourceQuota that covers
 * it has been charged (quotas.h), and is refused when it would exceed one. Dry runs are judged and
 * not charged.
 */
#ifndef SERVER_PLUGINS_QUOTA_H
#define SERVER_PLUGINS_QUOTA_H

#include <stdbool.h>

struct error;
struct json;
struct admission_request;

bool admit_quota_concerns(const struct admission_request *req);

/* -ERR_FORBIDDEN; parks the write while it is charged. */
int admit_quota(struct admission_request *req, const struct json *old, struct json *object,
		struct error *err);

#endif
