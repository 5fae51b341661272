/*
 * volumes - PersistentVolumeClaims and PersistentVolumes for the scheduler's volume plugins.
 *
 * Objects come from the informers' caches (struct services). They are parsed when a pod needs them,
 * which is rare. Everything lives in the arena that is passed in.
 */
#ifndef SCHEDULER_VOLUMES_VOLUMES_H
#define SCHEDULER_VOLUMES_VOLUMES_H

#include "api/selector/node_selector.h"
#include "base/json/quantity.h"
#include "client/informer/cached.h"
#include "scheduler/cache/podinfo.h"
#include "scheduler/framework/plugin.h"

/* A PersistentVolumeClaim. */
struct volume_claim {
	struct cached *object; /* borrowed from the cache until the end of the loop's turn */
	const struct json *tree;
	struct str ns, name, key, uid;
	struct str volume; /* spec.volumeName */
	struct str class; /* from annotation or field, or empty */
	struct str mode; /* volumeMode */
	struct str attributes; /* volumeAttributesClassName */
	struct str selected_node; /* p NULL: no such annotation */
	struct quantity request;
	bool has_request;
	bool bound; /* completely: it has volumeName and the controller's annotation */
	bool lost, deleting;
	const struct json *access_modes, *selector;
};

/* A PersistentVolume. */
struct volume {
	struct cached *object;
	const struct json *tree, *labels;
	struct str name, class, mode, phase, attributes;
	struct str claim_ns, claim_name, claim_uid; /* claimRef; p of the name NULL: none */
	struct quantity capacity;
	bool deleting;
	bool restricted; /* has required node affinity */
	struct node_selector nodes;
	const struct json *access_modes;
};

/* Return NULL if there is no such object, or the kind is not served. */
struct volume_claim *volume_claim_find(const struct services *s, struct str key, struct arena *a);
struct volume *volume_find(const struct services *s, struct str name, struct arena *a);
/* Returns a StorageClass as JSON, or NULL. */
const struct json *volume_class_find(const struct services *s, struct str name, struct arena *a);

struct volume *volume_read(struct cached *o, struct arena *a);

/* Whether the volume's required node affinity matches. Only labels count, as upstream. */
bool volume_allows(const struct volume *v, const struct json *node_labels);

/* Whether the claim of a generic ephemeral volume belongs to the pod. */
bool volume_claim_is_of(const struct volume_claim *c, const struct podinfo *pod);
struct verdict volume_claim_foreign(const struct volume_claim *c, const struct podinfo *pod,
				    enum verdict_code code, struct arena *a);

/* Returns a verdict like `persistentvolumeclaim "x" not found`. */
struct verdict volume_not_found(const char *kind, struct str name, struct arena *a);

/*
 * Whether the pod uses the event's claim. Claims of ephemeral volumes only count with `ephemeral`.
 */
bool volume_event_concerns(const struct cluster_event *e, const struct podinfo *pod,
			   bool ephemeral);

extern const struct plugin_kind plugin_volume_restrictions;
extern const struct plugin_kind plugin_node_volume_limits;
extern const struct plugin_kind plugin_volume_binding;
extern const struct plugin_kind plugin_volume_zone;

#endif
