/*
 * admit_priority - upstream's Priority plugin: sets a pod's priority from its class.
 */
#ifndef SERVER_PLUGINS_PRIORITY_H
#define SERVER_PLUGINS_PRIORITY_H

#include <stdbool.h>

#include "base/core/error.h"

struct json;
struct admission_request;

bool admit_priority_concerns(const struct admission_request *req);

/* Pods: sets priority and preemptionPolicy from their class, or from the default class. */
int admit_priority(struct admission_request *req, const struct json *old, struct json *pod,
		   struct error *err);

/* Priority classes: at most one may be the default. */
int admit_priority_class(struct admission_request *req, const struct json *old, struct json *class,
			 struct error *err);

#endif
