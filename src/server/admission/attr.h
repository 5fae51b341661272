/*
 * admission_attr - a write as policies and webhooks see it.
 *
 * Builds the parts that differ from the stored object: a Binding, Eviction or Scale is shown as
 * itself, objects in the version that a policy matched, and a Namespace as if it were in itself.
 * Trees are made in the write's arena and shared.
 */
#ifndef SERVER_ADMISSION_ATTR_H
#define SERVER_ADMISSION_ATTR_H

#include "server/admission/match.h"

struct error;
struct admission_request;

/* `old` and `object` are as admission functions get them. */
int admission_attr(struct admission_request *req, const struct json *old, const struct json *object,
		   struct admission_attr *ret_attr, struct error *err);

/*
 * `tree`, which is attr->object or attr->old, in the version `kind` that matched. NULL if `tree`
 * is NULL.
 */
const struct json *admission_seen(struct admission_request *req, const struct admission_attr *attr,
				  const struct json *tree, const struct schema_kind *kind);

/*
 * The AdmissionRequest of admission.k8s.io/v1 for the version that matched, without uid and
 * objects.
 */
struct json *admission_request_tree(struct admission_request *req,
				    const struct admission_attr *attr,
				    const struct schema_kind *kind);

/*
 * Rejects the write as upstream's policies do. The Status has the wording of Forbidden (`pods "x"
 * is forbidden: MESSAGE`), the message as its only cause, and the reason and HTTP code of `code`.
 * Returns the value that the admission function must return.
 */
int admission_deny(struct admission_request *req, const struct admission_attr *attr,
		   enum error_code code, const char *message, struct error *err);

/*
 * Rejects the write as upstream's mutating policies do. The Status has HTTP code 403 and that
 * reason. Its message is the first of the texts, and all are its causes.
 */
int admission_deny_all(struct admission_request *req, const struct admission_attr *attr,
		       struct str reason, const struct json *texts, struct error *err);

#endif
