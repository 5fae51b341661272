/*
 * volumes - claims of volumes and volumes as the scheduler's volume plugins read them.
 *
 * Objects come from the informers' caches (struct services) and are parsed when a pod needs them:
 * few pods in a cycle do. Everything lives in the arena that is passed in.
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
	struct cached *object; /* borrowed from the cache: not beyond the turn */
	const struct json *tree;
	struct str ns, name, key, uid;
	struct str volume; /* spec.volumeName */
	struct str class; /* by annotation or field; empty: none */
	struct str mode; /* volumeMode */
	struct str attributes; /* volumeAttributesClassName */
	struct str selected_node; /* p NULL: the annotation is not there */
	struct quantity request;
	bool has_request;
	bool bound; /* fully: the volume's name and the controller's annotation */
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

/* NULL: there is no such object (or the kind is not served). */
struct volume_claim *volume_claim_find(const struct services *s, struct str key, struct arena *a);
struct volume *volume_find(const struct services *s, struct str name, struct arena *a);
/* The tree of a StorageClass. */
const struct json *volume_class_find(const struct services *s, struct str name, struct arena *a);

struct volume *volume_read(struct cached *o, struct arena *a);
/* By annotation or field; of claims and volumes. */
struct str volume_class_of(const struct json *tree);

/* The volume's required node affinity; of labels only, as upstream has it. */
bool volume_allows(const struct volume *v, const struct json *node_labels);

/* A claim for a generic ephemeral volume must be the pod's own. */
bool volume_claim_is_of(const struct volume_claim *c, const struct podinfo *pod);
struct verdict volume_claim_foreign(const struct volume_claim *c, const struct podinfo *pod,
				    enum verdict_code code, struct arena *a);

/* `persistentvolumeclaim "x" not found` and the like. */
struct verdict volume_not_found(const char *kind, struct str name, struct arena *a);

/* The event's claim is one that the pod names; ephemeral ones only when asked for. */
bool volume_event_concerns(const struct cluster_event *e, const struct podinfo *pod,
			   bool ephemeral);

extern const struct plugin_kind plugin_volume_restrictions;
extern const struct plugin_kind plugin_node_volume_limits;
extern const struct plugin_kind plugin_volume_binding;
extern const struct plugin_kind plugin_volume_zone;

#endif
