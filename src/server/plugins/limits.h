/*
 * admit_limits - applies a namespace's limit ranges: upstream's LimitRanger admission.
 *
 * A new pod gets the defaults of every LimitRange in its namespace, in name order. New pods,
 * resized pods and volume claims must stay within all of them. Objects that are being deleted are
 * not checked.
 */
#ifndef SERVER_PLUGINS_LIMITS_H
#define SERVER_PLUGINS_LIMITS_H

#include <stdbool.h>

struct error;
struct json;
struct admission_request;

/* True for pods that are created or resized: they get defaults. */
bool admit_limits_fills(const struct admission_request *req);
int admit_limits_fill(struct admission_request *req, const struct json *old, struct json *object,
		      struct error *err);

/*
 * True for these and for volume claims that are created or updated, if there are limit ranges. On
 * the state's loop.
 */
bool admit_limits_concerns(const struct admission_request *req);
/* -ERR_FORBIDDEN. */
int admit_limits_check(struct admission_request *req, const struct json *old, struct json *object,
		       struct error *err);

#endif
