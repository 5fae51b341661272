/*
 * admit_quota - enforces a namespace's quotas: upstream's ResourceQuota admission.
 *
 * A creation, or an update that changes the usage, proceeds after every ResourceQuota that covers
 * it has been charged (quotas.h). It is rejected if it would exceed one. Dry runs are checked,
 * but not charged.
 */
#ifndef SERVER_PLUGINS_QUOTA_H
#define SERVER_PLUGINS_QUOTA_H

#include <stdbool.h>

struct error;
struct json;
struct admission_request;

bool admit_quota_concerns(const struct admission_request *req);

/* -ERR_FORBIDDEN. Parks the write while the quotas are charged. */
int admit_quota(struct admission_request *req, const struct json *old, struct json *object,
		struct error *err);

#endif
