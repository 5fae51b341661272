/*
 * node_limits - limits of the node agent; see base/core/limits.h.
 */
#ifndef NODE_NODE_LIMITS_H
#define NODE_NODE_LIMITS_H

#include "base/core/limits.h"

/*
 * Devices of one resource that a plugin may list: more than fit in upstream's 4 MiB, at a
 * microsecond each; and NUMA nodes of one device.
 */
#define RESOURCE_DEVICES_MAX 262144
#define DEVICE_NUMA_MAX      64
/* Memory for the tree of the assignments' checkpoint, while it is read. */
#define ASSIGN_STATE_WORK_MAX (256UL * MIB)

/* One message of a container runtime, like upstream. A list of 110 pods takes some 300 KiB. */
#define CRI_MESSAGE_MAX (16UL * MIB)
/* A termination message, and the part of a log used as one, like upstream. */
#define TERMINATION_MESSAGE_MAX   (4UL * KIB)
#define TERMINATION_LOG_MAX       (2UL * KIB)
#define TERMINATION_LOG_LINES_MAX 80
/* CDI: size of one file, number of files, devices of one file, edits of one kind per device. */
#define CDI_FILE_MAX    (4UL * MIB)
#define CDI_FILES_MAX   4096
#define CDI_DEVICES_MAX 65536
#define CDI_EDITS_MAX   4096

/*
 * Pods of one node that use one object; objects that one pod refers to; Services of one namespace.
 */
#define NODE_PODS_MAX   65536
#define POD_SOURCES_MAX 65536
#define SERVICES_MAX    65536
/* One variable of a container after expansion, which may double it; and all variables. */
#define ENV_VALUE_MAX (1UL * MIB)
#define ENV_MAX       (8UL * MIB)
/* Files of one API volume, and their bytes; /etc/hosts; the machine's list of mounts. */
#define VOLUME_FILES_MAX  65536
#define VOLUME_BYTES_MAX  (64UL * MIB)
#define HOSTS_FILE_MAX    (4UL * MIB)
#define MOUNTINFO_MAX     (64UL * MIB)
#define SUBPATH_DEPTH_MAX 256 /* folders of a subPath, with links resolved */
#define SUBPATH_LINKS_MAX 255 /* links followed, like upstream */
/* Probe output that is shown; and redirects that an HTTP probe follows, like upstream. */
#define PROBE_OUTPUT_MAX    (10UL * KIB)
#define PROBE_REDIRECTS_MAX 10

/* Static pods: bytes of one manifest, like upstream; files of their folder. */
#define MANIFEST_FILE_MAX  (10UL * MIB)
#define MANIFEST_FILES_MAX 1024

/* The node's resolv.conf. */
#define RESOLV_CONF_MAX (64UL * KIB)

/* A state file of the node agent; and the number of broken ones that are kept for inspection. */
#define STATE_FILE_MAX   (64UL * MIB)
#define STATE_BROKEN_MAX 10

/* Devices of one driver whose health is kept, like upstream; bytes of a pool's or device's name. */
#define HEALTH_DEVICES_MAX 16384
#define HEALTH_NAME_MAX    253
/* Memory for the tree of a health state file: several times its text. */
#define HEALTH_STATE_WORK_MAX (512UL * MIB)

/*
 * Plugins and drivers of a node. One list or report: upstream's limit is gRPC's 4 MiB, which
 * plugins that offer memory as devices exceed. Sockets, endpoints and instances: a node has a few
 * dozen. Depth of folders in plugins_registry: drivers use one level.
 */
#define PLUGIN_MESSAGE_MAX      (32UL * MIB)
#define PLUGIN_SOCKETS_MAX      1024
#define PLUGIN_ENDPOINTS_MAX    1024
#define PLUGIN_FOLDER_DEPTH_MAX 8

/*
 * PodResources. Clients that are remembered without an open call; open calls of one client besides
 * its watches (an unread reply is kept); and streams of one connection if watches are not limited.
 */
#define PODRES_CLIENTS_MAX 1024
#define PODRES_CALLS_MAX   256
#define PODRES_STREAMS_MAX 65536
/* Per book: recent events, their bytes, pods that are gone. Slower readers get the full state. */
#define PODRES_EVENTS_MAX  1024
#define PODRES_EVENT_BYTES (1UL * MIB)
#define PODRES_GONE_MAX    1024
/* Attach mode: devices of pods whose health has a series in the metrics. */
#define ATTACH_HEALTH_SERIES_MAX 2000
/* Queued for one stream: above it, producers wait. Less than HTTP_OUT_HIGH, for many watches. */
#define PODRES_OUT_MAX (8UL * KIB)

#endif
