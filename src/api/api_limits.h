/*
 * api_limits - limits of API objects, and of work on them; see base/core/limits.h.
 */
#ifndef API_API_LIMITS_H
#define API_API_LIMITS_H

#include "base/core/limits.h"

/* Nesting depth of values in API objects; only recursive types can reach it. */
#define OBJECT_DEPTH_MAX  500
#define DECODE_FAULTS_MAX 100 /* unknown and repeated fields reported for one body */
#define DECODE_MET_MAX    10000 /* such fields that are examined, as many are the same */

/*
 * Entries of managedFields that a client may send, or that may exist when a new applier is added.
 * Upstream has no limit. Each entry costs every write of the object a comparison. Stored objects
 * are read with any number.
 */
#define MANAGED_ENTRIES_MAX 200

/* Conflicts of one apply in the reply, in bytes. The rest are only counted. */
#define CONFLICTS_TOLD_MAX (1UL * MIB)

/* Members and elements visited by one JSON patch: some 10 ms, in which other requests wait. */
#define PATCH_WORK_MAX 5000000UL

/*
 * Requirements of a label or field selector in a request, and the values of all of them: each event
 * may have to be compared with each. Upstream's only limit is the length of the request's target.
 * Selectors in objects are not affected.
 */
#define SELECTOR_TERMS_MAX  256
#define SELECTOR_VALUES_MAX 512

/* Paths of printer columns: steps, nested filters, and values examined. */
#define JSONPATH_STEPS_MAX 1000
#define JSONPATH_DEPTH_MAX 10
#define JSONPATH_WORK_MAX  100000

/* Values that a template of `get -o jsonpath=` examines: those of the largest list, many times. */
#define JSONPATH_TEMPLATE_WORK_MAX 20000000UL

/* Nesting depth of schemas of custom resources, like that of objects. */
#define CRD_SCHEMA_DEPTH_MAX 500

/* One stored object: etcd's default limit (1.5 MiB), less room for key and framing. */
#define OBJECT_MAX (1500UL * KIB)

/* Memory for handling one request: the tree of a body is many times its text. */
#define REQUEST_WORK_MAX (256UL * MIB)

/* Elements compared by one strategic merge patch: lists are searched linearly. */
#define PATCH_COMPARISONS_MAX 10000000

/* Nesting depth for defaults and validation; a CRD's schema may nest. */
#define VALIDATE_DEPTH_MAX 500
/* Size of a value shown in a fault; the rest is omitted. */
#define VALIDATE_SHOWN_MAX (16UL * KIB)

/* Objects of the API, as upstream bounds them. */
#define ANNOTATIONS_MAX             (256UL * KIB) /* keys and values of one object */
#define CONDITION_MESSAGE_MAX       (32UL * KIB)
#define CONDITIONS_MAX              100 /* that are examined; kinds allow fewer */
#define FIELD_MANAGER_MAX           128
#define SUBRESOURCE_NAME_MAX        256
#define CEL_EXPRESSION_MAX          (10UL * KIB) /* of a device selector */
#define OPAQUE_PARAMETERS_MAX       (10UL * KIB) /* also of a device's status data */
#define SLICE_DEVICES_MAX           128
#define SLICE_COSTLY_DEVICES_MAX    64 /* with taints, counters or list attributes */
#define SLICE_COUNTERS_MAX          8 /* counter sets in a slice */
#define CAPACITY_VALUES_MAX         10 /* that a request policy lists */
#define RESOURCE_HEALTH_MESSAGE_MAX 1024
#define SECRET_MAX                  (1UL * MIB) /* data of a Secret or ConfigMap */

/*
 * Device selectors: steps for compiling one, some 2 ms; selectors checked before a write, the rest
 * in it; steps of checking before other requests get a turn.
 */
#define SELECTOR_COMPILE_MAX 160000UL
#define SELECTOR_TRIAL_MAX   16384
#define SELECTOR_TRIAL_STEPS 40000

#endif
