/*
 * drivers_limits - limits of drivers; see base/core/limits.h.
 */
#ifndef DRIVERS_DRIVERS_LIMITS_H
#define DRIVERS_DRIVERS_LIMITS_H

#include "base/core/limits.h"

/* Drivers: devices (as many as node agents accept), a health message, claims in the checkpoint. */
#define DRIVER_DEVICES_MAX    16384
#define DRIVER_MESSAGE_MAX    (64UL * KIB)
#define DRIVER_CLAIMS_MAX     16384
#define DRIVER_CHECKPOINT_MAX (64UL * MIB)
/* A driver's own samples in one scrape, the name and labels of one, and open connections. */
#define DRIVER_SAMPLES_MAX    16384
#define DRIVER_SAMPLE_MAX     (16UL * KIB)
#define DRIVER_HTTP_CONNS_MAX 64
/* Memory of one claim: its 32 results, their configs, and the edits for containers. */
#define DRIVER_CLAIM_MAX (8UL * MIB)
/* Taints of a device in a ResourceSlice, and their memory. */
#define DEVICE_TAINTS_MAX 16
#define DRIVER_TAINTS_MAX (64UL * KIB)

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

/* The NVIDIA driver: rules for Xids, of all files together; memory for their texts, or a tree. */
#define XID_RULES_MAX        1024
#define XID_RULES_FILE_MAX   (256UL * KIB)
#define XID_RULES_MEMORY_MAX (8UL * MIB)
#define XID_MAX              65535
#define XID_TEXT_MAX         100 /* bytes of a rule's text, and of its action */
/* Its GPUs, counting those that have gone, and the file with their health. */
#define GPU_BOOK_GPUS_MAX 256
#define GPU_BOOK_FILE_MAX (1UL * MIB)
/* The file with the details of its GPUs. */
#define GPU_KNOWN_FILE_MAX (4UL * MIB)
/* Devices with a memory limit in one config: a claim has 32 devices at most. */
#define GPU_CONFIG_LIMITS_MAX 32
/* Files of the driver that a container gets. */
#define GPU_FILES_MAX 64
/* Output of nvidia-smi and of a command to MPS; the log of an MPS daemon, which is then cut. */
#define GPU_TOOL_OUTPUT_MAX (16UL * KIB)
#define GPU_MPS_LOG_MAX     (1UL * MIB)

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
 * The NVIDIA driver: claims that share a GPU by number; devices of claims in its book, and the file
 * of it; memory of one call; memory for all GPUs and devices of a node.
 */
#define GPU_SHARES_MAX    1024
#define GPU_USES_MAX      4096
#define GPU_USES_FILE_MAX (4UL * MIB)
#define GPU_SCRATCH_MAX   (1UL * MIB)
#define GPU_SNAPSHOT_MAX  (64UL * MIB)

#endif
