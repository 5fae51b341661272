/*
 * admit_priority - upstream's plugin Priority: a pod's class becomes its number.
 */
#ifndef SERVER_PLUGINS_PRIORITY_H
#define SERVER_PLUGINS_PRIORITY_H

#include <stdbool.h>

#include "base/core/error.h"

struct json;
struct admission_request;

bool admit_priority_concerns(const struct admission_request *req);

/* Pods: priority and preemptionPolicy from their class, or from the default one. */
int admit_priority(struct admission_request *req, const struct json *old, struct json *pod,
		   struct error *err);

/* Priority classes: one default. */
int admit_priority_class(struct admission_request *req, const struct json *old, struct json *class,
			 struct error *err);

#endif
