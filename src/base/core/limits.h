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

/* A file with a KubeSchedulerConfiguration. */
#define SCHEDULER_CONFIG_MAX (4UL * MIB)

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

/* One log line. */
#define LOG_LINE_MAX (16UL * KIB)

/* Label sets of one metric: limits the memory for runaway label values. */
#define METRICS_SERIES_MAX      10000
#define METRICS_LABEL_VALUE_MAX 256 /* bytes; longer ones are cut */
#define METRICS_TEXT_MAX        (64UL * MIB) /* one reply of /metrics */

#endif
