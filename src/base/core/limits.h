/*
 * limits - units of size, the limits on input that base enforces, and those that several layers
 * enforce which do not see each other.
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

/* The body of a request, as upstream bounds it; beyond it 413. net and api use it. */
#define HTTP_BODY_MAX (3UL * MIB)

/* Faults that one validation keeps; the rest are only counted. */
#define FIELD_ERRORS_MAX 1000

/* Attributes and capacities of a device, and values, like upstream. cel and drivers use it. */
#define DEVICE_ATTRIBUTES_MAX       32
#define DEVICE_ATTRIBUTE_VALUES_MAX 48

/* One file of sysfs or procfs about the machine. node and drivers use it. */
#define MACHINE_FILE_MAX (256UL * KIB)

/* One log line. */
#define LOG_LINE_MAX (16UL * KIB)

/* Label sets of one metric: limits the memory for runaway label values. */
#define METRICS_SERIES_MAX      10000
#define METRICS_LABEL_VALUE_MAX 256 /* bytes; longer ones are cut */
#define METRICS_TEXT_MAX        (64UL * MIB) /* one reply of /metrics */

#endif
