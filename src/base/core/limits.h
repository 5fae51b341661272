/*
 * limits - units of size, and the limits on input that base enforces or that layers share which do
 * not see each other.
 *
 * The limits of every other layer are in src/LAYER/LAYER_limits.h. A file includes the header of
 * each limit that it uses; scripts/limits checks that. A comment says what a limit bounds, and why
 * it has its value. Code uses them directly, or as defaults of an options struct; it never writes
 * such a number.
 */
#ifndef BASE_CORE_LIMITS_H
#define BASE_CORE_LIMITS_H

#define KIB (1024UL)
#define MIB (1024UL * KIB)

/* JSON and YAML documents. The depth is that of upstream's decoder; the caller limits the size. */
#define JSON_DEPTH_MAX       10000
#define JSON_DUPLICATES_MAX  100 /* repeated keys that are listed; the rest are counted */
#define YAML_DEPTH_MAX       100
#define YAML_ALIAS_NODES_MAX 100000 /* nodes made by expanding aliases: "billion laughs" */

/*
 * Regular expressions in schemas. Counts and depth are limited like in Go's regexp package. The
 * size of the program is the cost of matching a character, and each count multiplies it.
 */
#define REGEX_PATTERN_MAX (64UL * KIB)
#define REGEX_REPEAT_MAX  1000
#define REGEX_DEPTH_MAX   1000
#define REGEX_PROGRAM_MAX 100000
#define REGEX_RANGES_MAX  500000 /* of all classes of a pattern together */
#define REGEX_DFA_MAX     8192 /* entries of a table of states */

/* Input of `devplane codec`: a list of everything in a cluster of ours. */
#define CODEC_MAX (512UL * MIB)

/* The body of a request, as upstream bounds it; beyond it 413. */
#define HTTP_BODY_MAX (3UL * MIB)

/* Faults that one validation keeps; the rest are only counted. */
#define FIELD_ERRORS_MAX 1000

/* A device in a ResourceSlice, as upstream bounds it: attributes and capacities; their values. */
#define DEVICE_ATTRIBUTES_MAX       32
#define DEVICE_ATTRIBUTE_VALUES_MAX 48

/* A file of the time zone database; the largest has some 4 KiB. */
#define ZONE_FILE_MAX (64UL * KIB)
#define ZONE_NAME_MAX 128
#define ZONES_MAX     1024 /* kept in memory; the database has some 600 */

/* One file of sysfs or procfs about the machine. */
#define MACHINE_FILE_MAX (256UL * KIB)

/*
 * Devices of one resource that a plugin may list: more than fit in upstream's 4 MiB, at a
 * microsecond each; and NUMA nodes of one device.
 */
#define RESOURCE_DEVICES_MAX 262144
#define DEVICE_NUMA_MAX      64
/* Memory for the tree of the assignments' checkpoint, while it is read. */
#define ASSIGN_STATE_WORK_MAX (256UL * MIB)

/* A file with a KubeSchedulerConfiguration. */
#define SCHEDULER_CONFIG_MAX (4UL * MIB)

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

/* Drivers: devices (as many as node agents accept), a health message, claims in the checkpoint. */
#define DRIVER_DEVICES_MAX    16384
#define DRIVER_MESSAGE_MAX    (64UL * KIB)
#define DRIVER_CLAIMS_MAX     16384
#define DRIVER_CHECKPOINT_MAX (64UL * MIB)
/* Memory of one claim: its 32 results, their configs, and the edits for containers. */
#define DRIVER_CLAIM_MAX (8UL * MIB)
/* Taints of a device in a ResourceSlice. */
#define DEVICE_TAINTS_MAX 16

/* The net driver: limits of a claim's parameters; and links examined on the node. */
#define NIC_ADDRESSES_MAX 16 /* as many as a claim's status can hold */
#define NIC_ROUTES_MAX    64
#define NIC_MTU_MIN       68 /* IPv4's minimum; for IPv6 the kernel requires 1280 */
#define NIC_MTU_MAX       65535
#define NIC_LINKS_MAX     65536
/*
 * Devices of claims prepared at a time, and the memory of one; its size in the file, and that of a
 * plugin's result in it. All of them fit in DRIVER_CHECKPOINT_MAX.
 */
#define NIC_USES_MAX     1024
#define NIC_USE_MAX      (4UL * MIB)
#define NIC_USE_FILE_MAX (40UL * KIB)
#define NIC_RESULT_MAX   (16UL * KIB)
#define NIC_RESULT_DEPTH 64
#define NIC_ALTNAMES_MAX 32 /* alternative names of an interface that are recorded */

/*
 * The disk driver: devices of a node, pairs of pods and devices that are tracked, and pods listed
 * per device; /proc/diskstats, a control group's file, groups in one folder; the file of probes.
 */
#define DISK_DEVICES_MAX     256
#define DISK_PODS_MAX        16384
#define DISK_STATUS_PODS_MAX 64
#define DISK_STATS_MAX       (4UL * MIB)
#define DISK_GROUP_FILE_MAX  (1UL * MIB)
#define DISK_GROUPS_MAX      65536
#define DISK_BOOK_MAX        (256UL * KIB)
#define DISK_LIMIT_MIN       (1UL * MIB) /* bytes per second that every pod may use */
#define DISK_LIMIT_USE       (64UL * KIB) /* a pod at this rate or above uses the disk */

/*
 * A device's entry in a claim's status, like upstream. DRIVER_STATUS_MAX is the memory of a driver
 * for the status of all claims: entries to write, and the last known state.
 */
#define DEVICE_STATUS_CONDITIONS_MAX 8
#define DEVICE_STATUS_ADDRESSES_MAX  16
#define DEVICE_STATUS_INTERFACE_MAX  256
#define DEVICE_STATUS_HARDWARE_MAX   128
#define DRIVER_STATUS_MAX            (64UL * MIB)

/*
 * CNI: a plugin's standard input (a configuration with the results of earlier plugins), a plugin's
 * output, and requests of plugins that wait for the net driver at once.
 */
#define CNI_INPUT_MAX  (4UL * MIB)
#define CNI_OUTPUT_MAX (1UL * MIB)
#define CNI_WORK_MAX   (64UL * MIB) /* memory for the trees of both */
#define NIC_ASKS_MAX   1024

/* Links, addresses or routes of one network namespace. A node has a few thousand at most. */
#define RTNL_LIST_MAX 262144

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
/* Queued for one stream: above it, producers wait. Less than HTTP_OUT_HIGH, for many watches. */
#define PODRES_OUT_MAX (8UL * KIB)

/* One log line. */
#define LOG_LINE_MAX (16UL * KIB)

/* Label sets of one metric: limits the memory for runaway label values. */
#define METRICS_SERIES_MAX      10000
#define METRICS_LABEL_VALUE_MAX 256 /* bytes; longer ones are cut */
#define METRICS_TEXT_MAX        (64UL * MIB) /* one reply of /metrics */

#endif
