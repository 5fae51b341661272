/*
 * pod_template - makes a Pod from an owner's spec.template, and compares templates.
 */
#ifndef CONTROLLER_PODS_POD_TEMPLATE_H
#define CONTROLLER_PODS_POD_TEMPLATE_H

#include "base/json/json.h"

struct owner;

/*
 * A pod with the labels, annotations, finalizers and spec of the template, the owner as its
 * controller (with blockOwnerDeletion) and generateName "OWNER-". The caller may change the tree.
 */
struct json *pod_template_make(struct arena *a, const struct json *template,
			       const struct owner *owner);

/*
 * The same for many pods of a template: its spec is the template's own, so it must not be changed
 * and lives no longer.
 */
struct json *pod_template_share(struct arena *a, const struct json *template,
				const struct owner *owner);

/* The ownerReference that makes the owner the controller of an object. */
struct json *pod_template_controller_ref(struct arena *a, const struct owner *owner);

/* Whether two templates are equal apart from the label pod-template-hash. */
bool pod_template_equal(const struct json *a, const struct json *b);

/*
 * A hash of the template for names and labels: 32 bits as upstream writes them, in letters that
 * make no words. Its value differs from upstream's, which hashes Go's representation; that does no
 * harm, because both find their objects by comparing templates.
 */
struct str pod_template_hash(struct arena *a, const struct json *template,
			     const int64_t *collision_count /* NULL: none */);

#endif
