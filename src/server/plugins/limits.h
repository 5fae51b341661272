/*
 * admit_limits - what a namespace's limit ranges give and refuse: upstream's LimitRanger admission.
 *
 * A new pod gets the defaults of every LimitRange of its namespace, by name; new pods, resized ones
 * and volume claims must keep within all of them. What is being deleted is left alone.
 */
#ifndef SERVER_PLUGINS_LIMITS_H
#define SERVER_PLUGINS_LIMITS_H

#include <stdbool.h>

struct error;
struct json;
struct admission_request;

/* Pods that are made or resized; volume claims that are made or changed. */
bool admit_limits_concerns(const struct admission_request *req);

int admit_limits_fill(struct admission_request *req, const struct json *old, struct json *object,
		      struct error *err);

/* -ERR_FORBIDDEN. */
int admit_limits_check(struct admission_request *req, const struct json *old, struct json *object,
		       struct error *err);

#endif
