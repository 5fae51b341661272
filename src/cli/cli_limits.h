/*
 * cli_limits - limits of commands; see base/core/limits.h.
 */
#ifndef CLI_CLI_LIMITS_H
#define CLI_CLI_LIMITS_H

#include "base/core/limits.h"

/* Input of `devplane codec`: a list of everything in a cluster of ours. */
#define CODEC_MAX (512UL * MIB)

/* A file of the time zone database; the largest has some 4 KiB. */
#define ZONE_FILE_MAX (64UL * KIB)
#define ZONE_NAME_MAX 128
#define ZONES_MAX     1024 /* kept in memory; the database has some 600 */

/* `get -o custom-columns`, and the files that hold columns or a template. */
#define CUSTOM_COLUMNS_MAX  64
#define OUTPUT_TEMPLATE_MAX (64UL * KIB)

/* A file with a KubeSchedulerConfiguration. */
#define SCHEDULER_CONFIG_MAX (4UL * MIB)

#endif
