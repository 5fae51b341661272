/*
 * admission_attr - the write at hand as policies and webhooks see it.
 *
 * What differs from what is stored is made up here: a binding, an eviction or a Scale is seen as
 * itself, objects in the version that a policy asked for, a namespace as being in itself. Trees are
 * made in the write's arena and shared.
 */
#ifndef SERVER_ADMISSION_ATTR_H
#define SERVER_ADMISSION_ATTR_H

#include "server/admission/match.h"

struct error;
struct admission_request;

/* `old` and `object` as admission functions get them. */
int admission_attr(struct admission_request *req, const struct json *old, const struct json *object,
		   struct admission_attr *ret_attr, struct error *err);

/* attr->object or attr->old in the version that matched; NULL for none. */
const struct json *admission_seen(struct admission_request *req, const struct admission_attr *attr,
				  const struct json *tree, const struct schema_kind *kind);

/* The options of the request: a CreateOptions, UpdateOptions or DeleteOptions; null of CONNECT. */
struct json *admission_options(struct admission_request *req, enum admission_op op);

/* AdmissionRequest of admission.k8s.io/v1 for the version that matched, without uid and objects. */
struct json *admission_request_tree(struct admission_request *req,
				    const struct admission_attr *attr,
				    const struct schema_kind *kind);

/*
 * Refuses the write as upstream's policies do: a Status that is worded as Forbidden (`pods "x" is
 * forbidden: MESSAGE`), with the message as its one cause, and the reason of `code`. Returns what
 * the admission function is to return.
 */
int admission_deny(struct admission_request *req, const struct admission_attr *attr,
		   enum error_code code, const char *message, struct error *err);

#endif
