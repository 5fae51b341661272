/*
 * deployment_sets - the ReplicaSets of a Deployment: which one is new, their revisions and
 * annotations.
 *
 * The rules are upstream's. Trees are changed in place. Pure. ReplicaSets are made by anybody, so
 * annotations may hold anything: what is not a number counts as absent.
 */
#ifndef CONTROLLER_DEPLOYMENT_SETS_H
#define CONTROLLER_DEPLOYMENT_SETS_H

#include "controller/deployment/sizes.h"

#define DEPLOYMENT_REVISION         "deployment.kubernetes.io/revision"
#define DEPLOYMENT_REVISION_HISTORY "deployment.kubernetes.io/revision-history"
#define DEPLOYMENT_DESIRED          "deployment.kubernetes.io/desired-replicas"
#define DEPLOYMENT_MAX              "deployment.kubernetes.io/max-replicas"
#define DEPLOYMENT_ROLLBACK_TO      "deprecated.deployment.rollback.rollback-to"
#define DEPLOYMENT_HASH_LABEL       "pod-template-hash"

enum { DEPLOYMENT_HISTORY_MAX = 2000 /* bytes of the revision history */ };

struct deployment_write;

/* One ReplicaSet. The caller sets `tree` and `runs`; deployment_set_read() the rest. */
struct deployment_set {
	struct json *tree;
	bool runs; /* it has pods that are not finished; only needed for Recreate */

	struct str name;
	struct deployment_size size; /* size.replicas is what it should be; see `replicas` */
	int64_t replicas; /* of spec.replicas in the tree */
	int64_t created_ns;
	int64_t revision; /* 0: none; -1: not a number */
	bool deleting;
	struct deployment_write *write; /* the plan's, or NULL */
};

void deployment_set_read(struct deployment_set *s);

/* A number in its status, within 0 and INT32_MAX. */
int64_t deployment_set_status(const struct deployment_set *s, const char *key);

/* Older first; of the same age by name. As qsort() calls it, for struct deployment_set pointers. */
int deployment_set_by_age(const void *a, const void *b);
/* By revision, then by age. */
int deployment_set_by_revision(const void *a, const void *b);
/* Larger first; of the same size the newer, or the older. */
int deployment_set_by_size_newer(const void *a, const void *b);
int deployment_set_by_size_older(const void *a, const void *b);

/* The oldest whose template is the Deployment's; NULL if no template is equal. */
struct deployment_set *deployment_set_find_new(const struct json *template,
					       struct deployment_set **sets, size_t n);

/* An annotation of any object; p NULL if it is absent. */
struct str deployment_annotation(const struct json *object, const char *name);

/* Sets an annotation; whether it had another value. Text is borrowed. */
bool deployment_annotate(struct arena *a, struct json *object, const char *name, struct str value);

/* The value of an annotation that is a number of replicas; -1 if it is absent or not valid. */
int64_t deployment_replicas_annotation(const struct json *set, const char *name);

/* Sets desired-replicas and max-replicas; whether one changed. */
bool deployment_set_annotate_sizes(struct arena *a, struct json *set,
				   const struct deployment_limits *l);

/*
 * Copies annotations of the Deployment to its new ReplicaSet, and raises its revision to at least
 * `revision`, remembering the one before. Returns whether something changed.
 */
bool deployment_set_annotate(struct arena *a, struct json *set, const struct json *deployment,
			     int64_t revision);

/*
 * Replaces those annotations of the Deployment that are copied to ReplicaSets by those of the
 * ReplicaSet, for a rollback.
 */
void deployment_take_annotations(struct arena *a, struct json *deployment, const struct json *set);

/* A ReplicaSet for the Deployment's template; without replicas and annotations. */
struct owner;
struct json *deployment_set_make(struct arena *a, const struct json *deployment,
				 const struct owner *owner, const int64_t *collisions);

#endif
