/*
 * admit_defaults - small plugins of upstream's that put in what a client left out, or warn.
 */
#ifndef SERVER_PLUGINS_DEFAULTS_H
#define SERVER_PLUGINS_DEFAULTS_H

#include <stdbool.h>

#include "base/core/error.h"

struct json;
struct admission_request;

/* Not for subresources. */
bool admit_defaults_concerns(const struct admission_request *req);

/* DefaultTolerationSeconds: pods stay five minutes on nodes that are not ready or not reachable. */
int admit_toleration_seconds(struct admission_request *req, const struct json *old,
			     struct json *pod, struct error *err);

/* DefaultStorageClass and DefaultIngressClass: the newest class that is marked as the default. */
int admit_storage_class(struct admission_request *req, const struct json *old, struct json *claim,
			struct error *err);
int admit_ingress_class(struct admission_request *req, const struct json *old, struct json *ingress,
			struct error *err);

/* PodSecurity: says on each write of a namespace that its labels are not enforced here. */
int admit_security_labels(struct admission_request *req, const struct json *old, struct json *ns,
			  struct error *err);

/* TaintNodesByCondition: a new node is not ready until a controller says so. */
int admit_not_ready_taint(struct admission_request *req, const struct json *old, struct json *node,
			  struct error *err);

/* StorageObjectInUseProtection: volumes and claims stay while a controller sees them used. */
int admit_volume_finalizer(struct admission_request *req, const struct json *old,
			   struct json *object, struct error *err);

/* RuntimeClass: a pod's overhead and where it may run. */
int admit_runtime_class(struct admission_request *req, const struct json *old, struct json *pod,
			struct error *err);
int admit_overhead(struct admission_request *req, const struct json *old, struct json *pod,
		   struct error *err);

#endif
