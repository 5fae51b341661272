/*
 * admit_defaults - small plugins of upstream that fill in omitted fields.
 */
#ifndef SERVER_PLUGINS_DEFAULTS_H
#define SERVER_PLUGINS_DEFAULTS_H

#include <stdbool.h>

#include "base/core/error.h"

struct json;
struct admission_request;

/* True for writes of the object itself, not of its subresources. */
bool admit_defaults_concerns(const struct admission_request *req);

/* DefaultTolerationSeconds: pods stay five minutes on nodes that are not ready or not reachable. */
int admit_toleration_seconds(struct admission_request *req, const struct json *old,
			     struct json *pod, struct error *err);

/* DefaultStorageClass and DefaultIngressClass: set the newest class that is marked as default. */
int admit_storage_class(struct admission_request *req, const struct json *old, struct json *claim,
			struct error *err);
int admit_ingress_class(struct admission_request *req, const struct json *old, struct json *ingress,
			struct error *err);

/* TaintNodesByCondition: taints a new node as not ready until a controller removes the taint. */
int admit_not_ready_taint(struct admission_request *req, const struct json *old, struct json *node,
			  struct error *err);

/*
 * StorageObjectInUseProtection: adds the finalizer that keeps volumes and claims while they are
 * used.
 */
int admit_volume_finalizer(struct admission_request *req, const struct json *old,
			   struct json *object, struct error *err);

/* RuntimeClass: sets a pod's overhead, node selector and tolerations; and checks the overhead. */
int admit_runtime_class(struct admission_request *req, const struct json *old, struct json *pod,
			struct error *err);
int admit_overhead(struct admission_request *req, const struct json *old, struct json *pod,
		   struct error *err);

#endif
