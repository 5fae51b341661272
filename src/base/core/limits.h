/*
 * limits - every bound on input, in one place.
 *
 * A limit says what it bounds and why it has its value. Code takes these as
 * defaults of an options struct or directly; it never writes such a number.
 */
#ifndef BASE_CORE_LIMITS_H
#define BASE_CORE_LIMITS_H

#define KIB (1024UL)
#define MIB (1024UL * KIB)

/* JSON and YAML documents. Depth as upstream's decoder allows; size is the caller's. */
#define JSON_DEPTH_MAX       10000
#define JSON_DUPLICATES_MAX  100 /* repeated keys that are listed; more are counted */
#define YAML_DEPTH_MAX       100
#define YAML_ALIAS_NODES_MAX 100000 /* nodes made by expanding aliases: "billion laughs" */

/* API objects: values nested in each other as their types say; only recursive types could. */
#define OBJECT_DEPTH_MAX  500
#define DECODE_FAULTS_MAX 100 /* unknown and repeated fields that are told of one body */
#define DECODE_MET_MAX    10000 /* of them that are looked at, as many are the same */

/*
 * Entries of managedFields that a client may send, and up to which a new applier is taken; upstream
 * has no bound. Each costs every write of the object a comparison. What is stored is read, however
 * many.
 */
#define MANAGED_ENTRIES_MAX 200

/* Conflicts of one apply that are told: bytes of the answer. The rest is counted. */
#define CONFLICTS_TOLD_MAX (1UL * MIB)

/* Members and elements that one JSON patch may pass on its ways: some 10 ms, in which all wait. */
#define PATCH_WORK_MAX 5000000UL

/*
 * Requirements of a label or field selector that is sent as text, and the values of all of them:
 * every event may have to be compared with each. Upstream has no bound but the request's target.
 * Selectors in objects are not concerned.
 */
#define SELECTOR_TERMS_MAX  256
#define SELECTOR_VALUES_MAX 512

/*
 * Regular expressions of schemas. Counts and depth as Go's regexp package bounds them; the
 * program is what matching costs per character, and each count multiplies it.
 */
#define REGEX_PATTERN_MAX (64UL * KIB)
#define REGEX_REPEAT_MAX  1000
#define REGEX_DEPTH_MAX   1000
#define REGEX_PROGRAM_MAX 100000
#define REGEX_RANGES_MAX  500000 /* of all classes of a pattern together */
#define REGEX_DFA_MAX     8192 /* entries of a table of states */

/* Paths of printer columns: their steps, filters within filters, and values that are looked at. */
#define JSONPATH_STEPS_MAX 1000
#define JSONPATH_DEPTH_MAX 10
#define JSONPATH_WORK_MAX  100000

/* What `devplane codec` reads: a list of everything that a cluster of ours holds. */
#define CODEC_MAX (512UL * MIB)

/* Schemas of custom resources: nodes nested in each other, as deep as objects may be. */
#define CRD_SCHEMA_DEPTH_MAX 500

/* HTTP requests and responses. */
#define HTTP_HEADERS_MAX      (64UL * KIB) /* sum of names and values; beyond it 431 */
#define HTTP_HEADER_COUNT_MAX 128
#define HTTP_TARGET_MAX       (64UL * KIB) /* kubectl exec: the command is in the target */
#define HTTP_BODY_MAX         (3UL * MIB) /* upstream's limit on request bodies; beyond it 413 */
#define HTTP_BODY_RATE_MIN    (4UL * KIB) /* bytes of a request's body per second; beneath it 408 */
#define HTTP_WINDOW           (64UL * KIB) /* received and not yet consumed, per stream */
#define HTTP_CONN_WINDOW      (1UL * MIB) /* the same, over all streams of one connection */
#define HTTP_OUT_HIGH         (64UL * KIB) /* queued for one stream: above it, producers wait */
#define HTTP_STREAMS_MAX      250 /* concurrent streams of one HTTP/2 connection, as upstream */
#define WEBSOCKET_FRAME_MAX   (32UL * MIB) /* of a client, as upstream; nothing of it is kept */

#define PODRES_OUT_MAX (8UL * KIB) /* the same of PodResources, where watches are many */

/* Answers of the API server up to this size are not compressed: upstream's bound. */
#define GZIP_FROM (128UL * KIB)

/* What a webhook may answer: a patch of an object as large as any, in base64, and more. */
#define WEBHOOK_ANSWER_MAX (8UL * MIB)
#define WEBHOOK_REVIEW_MAX (16UL * MIB) /* what it is asked: an object twice, and who writes it */

/* HTTP/1.1: bytes around the messages. */
#define HTTP1_HELD_MAX       (1UL * MIB) /* later requests that wait; reading pauses long before */
#define HTTP1_FRAMING_MAX    (16UL * KIB) /* chunk lines of one body ... */
#define HTTP1_FRAMING_FACTOR 16 /* ... beyond so many times its size */
#define HTTP1_DRAIN_MAX      (64UL * KIB) /* unread rest of a request that is dropped */

/* HTTP/2 floods: how many of each a peer may send beyond useful work, per connection. */
#define HTTP2_RESETS_BURST      1000 /* streams cancelled by the peer ... */
#define HTTP2_RESETS_PER_S      33 /* ... refilled at this rate */
#define HTTP2_CONTROL_BURST     1000 /* SETTINGS, PING, PRIORITY, empty DATA ... */
#define HTTP2_CONTROL_PER_S     100
#define HTTP2_CONTINUATIONS_MAX 8 /* CONTINUATION frames of one header block */

/* What waits in the kernel before accept. */
#define NET_BACKLOG     1024
#define NET_ADDRESS_MAX 128 /* text form of an address; unix paths end at 107 bytes */

/* Ciphertext of one connection that its socket did not take yet; a batch makes 65 KiB. */
#define TLS_PENDING_MAX (256UL * KIB)

/* gRPC messages where a method does not say otherwise: the ecosystem's default. */
#define GRPC_MESSAGE_MAX (4UL * MIB)
/* Memory for one message unpacked, in multiples of its method's size limit. */
#define GRPC_UNPACK_FACTOR 8
/* What we send of a status's text, encoded; and of metadata: below HTTP_HEADERS_MAX together. */
#define GRPC_STATUS_TEXT_MAX    (4UL * KIB)
#define GRPC_METADATA_MAX       (32UL * KIB)
#define GRPC_METADATA_COUNT_MAX 100

/* The static token file, and certificates and keys read from files. */
#define TOKEN_FILE_MAX (16UL * MIB)
#define PEM_FILE_MAX   (1UL * MIB)
/* What a credential plugin may print, on each of its streams. */
#define EXEC_OUTPUT_MAX (1UL * MIB)

/* A service account's token; and tokens, verified a moment ago, that one lane remembers. */
#define JWT_MAX          (32UL * KIB)
#define AUTHN_TOKENS_MAX 1024

/*
 * The device page. Sessions and one-time codes, of all users and of one; logins that may fail
 * within a second before all wait for the next; the body of a login, which may be a token.
 */
#define UI_SESSIONS_MAX      1024
#define UI_USER_SESSIONS_MAX 64
#define UI_CODES_MAX         256
#define UI_USER_CODES_MAX    16
#define UI_FAILURES_MAX      10
#define UI_BODY_MAX          (JWT_MAX + 1UL * KIB)

/* Keys that tokens are verified with; audiences of one token. */
#define TOKEN_KEYS_MAX      64
#define TOKEN_AUDIENCES_MAX 256

/* One object as stored: what etcd takes by default (1.5 MiB), less room for key and framing. */
#define OBJECT_MAX (1500UL * KIB)

/* Memory that the handling of one request may take: the tree of a body is many times its text. */
#define REQUEST_WORK_MAX (256UL * MIB)

/* The store in a folder. */
#define STORE_RESOURCES_MAX 65536 /* names that ever had an object; each is kept for good */
#define STORE_BATCH_MAX     1024 /* writes of one commit, whose pages LMDB never gives back ... */
#define STORE_BATCH_BYTES   (4UL * MIB) /* ... and their bytes, the last one's excess not counted */
#define STORE_PRUNE_MAX     1024 /* changes of the past that one commit forgets: a few ms */

/* etcd: bytes of one response, keys asked for in one page of a range, writes on their way. */
#define ETCD_RESPONSE_MAX (64UL * MIB)
#define ETCD_PAGE_MAX     500
#define ETCD_WRITES_MAX   512

/* Elements compared by one strategic merge patch: lists are searched one by one. */
#define PATCH_COMPARISONS_MAX 10000000

/* Faults that one validation keeps; the rest are only counted. */
#define FIELD_ERRORS_MAX 1000
/* Objects within objects that defaults and validation descend into; a CRD's schema may nest. */
#define VALIDATE_DEPTH_MAX 500
/* Of a value that a fault shows; what is larger is left out. */
#define VALIDATE_SHOWN_MAX (16UL * KIB)

/* What is made of the schema for clients: one discovery or OpenAPI document. */
#define DISCOVERY_DOCUMENT_MAX (4UL * MIB)
#define OPENAPI_DOCUMENT_MAX   (64UL * MIB)

/* Objects of the API, as upstream bounds them. */
#define ANNOTATIONS_MAX             (256UL * KIB) /* keys and values of one object */
#define CONDITION_MESSAGE_MAX       (32UL * KIB)
#define CONDITIONS_MAX              100 /* that are looked at; kinds allow fewer */
#define FIELD_MANAGER_MAX           128
#define SUBRESOURCE_NAME_MAX        256
#define CEL_EXPRESSION_MAX          (10UL * KIB) /* of a device selector */
#define OPAQUE_PARAMETERS_MAX       (10UL * KIB) /* also of a device's status data */
#define SLICE_DEVICES_MAX           128
#define SLICE_COSTLY_DEVICES_MAX    64 /* with taints, counters or list attributes */
#define DEVICE_ATTRIBUTES_MAX       32 /* attributes and capacities of one device */
#define DEVICE_ATTRIBUTE_VALUES_MAX 48
#define CAPACITY_VALUES_MAX         10 /* that a request policy lists */
#define RESOURCE_HEALTH_MESSAGE_MAX 1024
/* Devices in the report of one pod or node; bytes of a node's annotation. */
#define DEVICE_HEALTH_REPORTS_MAX    1024
#define DEVICE_HEALTH_ANNOTATION_MAX (32UL * KIB)
#define SECRET_MAX                   (1UL * MIB) /* data of a Secret or ConfigMap */

/* Expressions in CEL. */
#define CEL_TEXT_MAX    100000 /* characters of one expression, as cel-go bounds it */
#define CEL_DEPTH_MAX   250 /* of nesting in the text, as cel-go bounds it; values are deeper */
#define CEL_HEIGHT_MAX  1000 /* of the tree, macros expanded: walkers recurse */
#define CEL_NODES_MAX   200000
#define CEL_ISSUES_MAX  100 /* faults of one expression that are told */
#define CEL_SCRATCH_MAX (64UL * MIB) /* that one evaluation may make */
#define CEL_PROGRAM_MAX (16UL * MIB) /* memory of one compiled expression */
/* Work of the checker on types, which can be exponentially large; one of them in a message. */
#define CEL_TYPE_STEPS_MAX 20000000
#define CEL_TYPE_DEPTH_MAX 1000 /* far deeper than the text in chains of macros */
#define CEL_TYPE_SHOWN_MAX 4096
/* Steps of one evaluation that costs do not count, or count too late: a fifth of a second. */
#define CEL_WORK_MAX        20000000UL
#define CEL_VALUE_DEPTH_MAX 1000 /* of what an evaluation builds: walkers recurse */
/* Steps that compiling all expressions of an object may take; see struct cel_budget. */
#define CEL_COMPILE_MAX      4000000UL
#define CEL_COMPILE_CRD_MAX  16000000UL /* of the rules and patterns of a definition */
#define SELECTOR_COMPILE_MAX 160000UL /* of one expression about devices: some 2 ms */
#define SELECTOR_TRIAL_MAX   16384 /* that are judged ahead of a write; the rest with it */
#define SELECTOR_TRIAL_STEPS 40000 /* of judging between which other requests are served */
/* Calls that the compiler makes: their work in all, the memory of one, and of what it works on. */
#define CEL_FOLD_WORK_MAX    1000000UL
#define CEL_FOLD_SCRATCH_MAX (64UL * KIB)
#define CEL_FOLD_TEXT_MAX    (4UL * KIB)
/* A file of the time zone database; the largest there is has some 4 KiB. */
#define ZONE_FILE_MAX (64UL * KIB)
#define ZONE_NAME_MAX 128
#define ZONES_MAX     1024 /* remembered; the database has some 600 */

/* Search of the device allocator: devices tried for the claims of one pod on one node. */
#define ALLOCATE_STEPS_MAX 1000000
/* The same on all nodes together, for one attempt to schedule the pod. */
#define ALLOCATE_ATTEMPT_STEPS_MAX 4000000
/* Selectors of claims whose programs are kept, beside those that an allocation needs at once. */
#define INVENTORY_PROGRAMS_MAX      2048
#define INVENTORY_PROGRAM_BYTES_MAX (64UL * MIB) /* of all but half of them */
/* Cost of evaluating selectors for one attempt to schedule a pod: some 0.3 s. */
#define ALLOCATE_ATTEMPT_COST_MAX 30000000

/*
 * Status of a slice: allocations of one device that are told, and bytes of those of all devices;
 * faults of a pool. Of the status of pools on request: entries of a list, bytes of a fault.
 */
#define AVAILABILITY_ALLOCATIONS_MAX 32
#define AVAILABILITY_BYTES_MAX       (512UL * KIB)
#define AVAILABILITY_ERRORS_MAX      32
#define POOL_STATUS_ITEMS_MAX        32
#define POOL_STATUS_ERROR_MAX        256
#define POOL_STATUS_LIMIT            100 /* pools of one answer, unless the request says */

/* One file of sysfs or procfs that says what the machine has. */
#define MACHINE_FILE_MAX (256UL * KIB)

/*
 * Devices of one resource that a plugin may list: more than upstream's 4 MiB hold, at a microsecond
 * each; and NUMA nodes of one of them.
 */
#define RESOURCE_DEVICES_MAX 262144
#define DEVICE_NUMA_MAX      64
/* The tree of the checkpoint of assignments, while it is read. */
#define ASSIGN_STATE_WORK_MAX (256UL * MIB)

/* What a client of an API server takes: one answer, one event of a watch, one kubeconfig. */
#define CLIENT_ANSWER_MAX    (1024UL * MIB) /* a list without pages of a large cluster */
#define CLIENT_EVENT_MAX     (64UL * MIB)
#define KUBECONFIG_FILE_MAX  (16UL * MIB)
#define SCHEDULER_CONFIG_MAX (4UL * MIB) /* KubeSchedulerConfiguration */
#define KUBECONFIG_PATHS_MAX 64 /* in $KUBECONFIG */
/* Connections of one client; and with those that carry one watch each (HTTP/1.1). */
#define CLIENT_LINKS_MAX       64
#define CLIENT_WATCH_LINKS_MAX 1024
/* Resources in all versions that a client learns of by discovery. */
#define DISCOVERY_RESOURCES_MAX 100000
/* Indexes of one cache, and values of one object in one of them. */
#define CACHE_INDEXES_MAX      16
#define CACHE_INDEX_VALUES_MAX 100000

/* One message of a container runtime: upstream's bound. A list of 110 pods takes some 300 KiB. */
#define CRI_MESSAGE_MAX (16UL * MIB)
/* A termination message, and what of a log stands in for one: upstream's bounds. */
#define TERMINATION_MESSAGE_MAX   (4UL * KIB)
#define TERMINATION_LOG_MAX       (2UL * KIB)
#define TERMINATION_LOG_LINES_MAX 80
/* CDI: one file, files of all folders, devices of one file, edits of one kind of one device. */
#define CDI_FILE_MAX    (4UL * MIB)
#define CDI_FILES_MAX   4096
#define CDI_DEVICES_MAX 65536
#define CDI_EDITS_MAX   4096

/* Drivers: devices (what node agents take of one), text about one's health, claims in the file. */
#define DRIVER_DEVICES_MAX    16384
#define DRIVER_MESSAGE_MAX    (64UL * KIB)
#define DRIVER_CLAIMS_MAX     16384
#define DRIVER_CHECKPOINT_MAX (64UL * MIB)
/* What one claim may hold: its 32 results, their configs, what containers get. */
#define DRIVER_CLAIM_MAX (8UL * MIB)
/* A device's own taints in a ResourceSlice. */
#define DEVICE_TAINTS_MAX 16

/* The net driver: what a claim may want of an interface; links here that are looked at. */
#define NIC_ADDRESSES_MAX 16 /* as many as a claim's status can show */
#define NIC_ROUTES_MAX    64
#define NIC_MTU_MIN       68 /* IPv4's; IPv6 wants 1280 and says so itself */
#define NIC_MTU_MAX       65535
#define NIC_LINKS_MAX     65536
/*
 * Devices of claims that are prepared here at a time, and the memory of one; what of one goes into
 * the file, and a plugin's result in it. All of them fit in DRIVER_CHECKPOINT_MAX.
 */
#define NIC_USES_MAX     1024
#define NIC_USE_MAX      (4UL * MIB)
#define NIC_USE_FILE_MAX (40UL * KIB)
#define NIC_RESULT_MAX   (16UL * KIB)
#define NIC_RESULT_DEPTH 64
#define NIC_ALTNAMES_MAX 32 /* other names of an interface that are remembered */

/*
 * The disk driver: devices of a node, pods on devices that are followed, and those of one device
 * that are told; /proc/diskstats, one group's file, groups in one folder; the file of probes.
 */
#define DISK_DEVICES_MAX     256
#define DISK_PODS_MAX        16384
#define DISK_STATUS_PODS_MAX 64
#define DISK_STATS_MAX       (4UL * MIB)
#define DISK_GROUP_FILE_MAX  (1UL * MIB)
#define DISK_GROUPS_MAX      65536
#define DISK_BOOK_MAX        (256UL * KIB)
#define DISK_LIMIT_MIN       (1UL * MIB) /* bytes per second that any pod may do */
#define DISK_LIMIT_USE       (64UL * KIB) /* from this rate on a pod uses a disk */

/*
 * A device's entry in a claim's status, as upstream bounds it; and of all claims' status what a
 * driver holds: what is to be written, and what was last seen.
 */
#define DEVICE_STATUS_CONDITIONS_MAX 8
#define DEVICE_STATUS_ADDRESSES_MAX  16
#define DEVICE_STATUS_INTERFACE_MAX  256
#define DEVICE_STATUS_HARDWARE_MAX   128
#define DRIVER_STATUS_MAX            (64UL * MIB)

/*
 * CNI: what a plugin is told on its standard input (a configuration with the results of all before
 * it), what one prints, and questions of plugins that wait for the net driver at once.
 */
#define CNI_INPUT_MAX  (4UL * MIB)
#define CNI_OUTPUT_MAX (1UL * MIB)
#define CNI_WORK_MAX   (64UL * MIB) /* the trees of both */
#define NIC_ASKS_MAX   1024

/* Links, addresses or routes of one network namespace. A node has some thousands at most. */
#define RTNL_LIST_MAX 262144

/* Roles that a user's bindings name and that are not there: so many are told of. */
#define RBAC_MISSING_MAX 256

/* Combinations of verb, group, resource and name that one role may grant piece by piece. */
#define RBAC_PIECES_MAX 5000
/* Texts compared to find out whether somebody has what they grant: a tenth of a second. */
#define RBAC_COMPARISONS_MAX 20000000UL

/* Pods of one node that use one object; objects that one pod names; Services of one namespace. */
#define NODE_PODS_MAX   65536
#define POD_SOURCES_MAX 65536
#define SERVICES_MAX    65536
/* One variable of a container with its references replaced, which may double it; and all. */
#define ENV_VALUE_MAX (1UL * MIB)
#define ENV_MAX       (8UL * MIB)
/* Files of one volume of the API, and their bytes; /etc/hosts, the machine's mounts. */
#define VOLUME_FILES_MAX  65536
#define VOLUME_BYTES_MAX  (64UL * MIB)
#define HOSTS_FILE_MAX    (4UL * MIB)
#define MOUNTINFO_MAX     (64UL * MIB)
#define SUBPATH_DEPTH_MAX 256 /* folders of a subPath, links resolved */
#define SUBPATH_LINKS_MAX 255 /* links followed, as upstream's evaluation does */
/* What is shown of a probe's output; and links that a probe by HTTP follows: upstream's. */
#define PROBE_OUTPUT_MAX    (10UL * KIB)
#define PROBE_REDIRECTS_MAX 10

/* The node's resolv.conf. */
#define RESOLV_CONF_MAX (64UL * KIB)

/* A state file of the node agent; and broken ones that are kept for people to look at. */
#define STATE_FILE_MAX   (64UL * MIB)
#define STATE_BROKEN_MAX 10

/* Devices of one driver whose health is kept, as upstream; bytes of a pool's or device's name. */
#define HEALTH_DEVICES_MAX 16384
#define HEALTH_NAME_MAX    253
/* Memory for the tree of a health state file: several times its text. */
#define HEALTH_STATE_WORK_MAX (512UL * MIB)

/*
 * Plugins and drivers of a node. One list or report: upstream stops at gRPC's 4 MiB, which plugins
 * that offer memory as devices pass. Sockets, endpoints and instances: a node has a few dozen.
 * Folders below plugins_registry: drivers use one level.
 */
#define PLUGIN_MESSAGE_MAX      (32UL * MIB)
#define PLUGIN_SOCKETS_MAX      1024
#define PLUGIN_ENDPOINTS_MAX    1024
#define PLUGIN_FOLDER_DEPTH_MAX 8

/*
 * PodResources. Clients that are remembered though they have no call open; calls of one that are
 * open besides its watches (an answer that is not read is kept); and streams of one connection
 * where watches are not limited.
 */
#define PODRES_CLIENTS_MAX 1024
#define PODRES_CALLS_MAX   256
#define PODRES_STREAMS_MAX 65536
/* Of one book: recent events, their bytes, pods that are gone. Beyond: readers are caught up. */
#define PODRES_EVENTS_MAX  1024
#define PODRES_EVENT_BYTES (1UL * MIB)
#define PODRES_GONE_MAX    1024

/* The scheduler: memory for the tree of one pod or node, several times its text. */
#define POD_WORK_MAX      (64UL * MIB)
#define NODE_WORK_MAX     (64UL * MIB)
#define POD_RESOURCES_MAX 512 /* names of resources that one pod requests; beyond: left alone */
/* Filters run by one search for victims; a node with many pods takes one for each of them. */
#define PREEMPTION_FILTERS_MAX 20000
/* Types of extended resources; and what one on one node writes for /debug/cache. */
#define EXTENDED_TYPES_MAX 256
#define EXTENDED_TEXT_MAX  (1UL * MIB)
#define PLUGIN_ARGS_MAX    (1UL * MIB) /* of a scheduler plugin, as text */

/* One log line; one line of the audit log, whose request line alone may be HTTP_TARGET_MAX. */
#define LOG_LINE_MAX   (16UL * KIB)
#define AUDIT_LINE_MAX (256UL * KIB)

/* Label sets of one metric: a runaway label value must not eat the memory. */
#define METRICS_SERIES_MAX      10000
#define METRICS_LABEL_VALUE_MAX 256 /* bytes; what is longer is cut */
#define METRICS_TEXT_MAX        (64UL * MIB) /* one answer of /metrics */

#endif
