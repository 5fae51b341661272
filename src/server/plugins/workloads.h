/*
 * admit_workloads - a warning for objects on which no running controller acts.
 *
 * A Deployment or Job that nobody works on stays as it is, without an event. So its creation is
 * answered with a warning that names what to run. A controller is known to run if the Lease
 * kube-system/devplane-controllers says so (controller/run/announce.h) or, for all controllers
 * of upstream, if the Lease of kube-controller-manager was renewed lately.
 */
#ifndef SERVER_PLUGINS_WORKLOADS_H
#define SERVER_PLUGINS_WORKLOADS_H

#include <stdbool.h>

#include "base/core/error.h"

struct json;
struct admission_request;

bool admit_workloads_concerns(const struct admission_request *req);
int admit_workloads(struct admission_request *req, const struct json *old, struct json *object,
		    struct error *err);

#endif
