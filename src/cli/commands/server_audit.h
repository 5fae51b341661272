/*
 * server_audit - the flags of the audit log, by the names of kube-apiserver.
 */
#ifndef CLI_COMMANDS_SERVER_AUDIT_H
#define CLI_COMMANDS_SERVER_AUDIT_H

#include "base/core/clock.h"
#include "base/core/error.h"
#include "base/system/flags.h"

struct audit_opts;
struct cli;

struct server_audit_options {
	const char *policy_file, *log_path, *log_mode, *log_format, *webhook_config, *webhook_mode;
	int64_t max_size, max_backup, max_age, log_buffer;
	int64_t webhook_buffer, webhook_batch, webhook_qps, webhook_burst;
	int64_t webhook_wait, webhook_backoff; /* ns */
	int64_t log_event_max, webhook_event_max, webhook_batch_max; /* bytes */
	bool compress, webhook_throttle, log_truncate, webhook_truncate;
	const char *log_version, *webhook_version;
};

/* The rows for it; `m` is its name in the options struct. */
#define SERVER_AUDIT_FLAGS(type, m)                                         \
                                                                            \
	SERVER_AUDIT_FILE_FLAGS(type, m), SERVER_AUDIT_HOOK_FLAGS(type, m), \
		SERVER_AUDIT_CUT_FLAGS(type, m)

#define SERVER_AUDIT_FILE_FLAGS(type, m)                                                           \
	{ "audit-policy-file", 0, FLAG_STRING(type, m.policy_file), .arg = "FILE",                 \
	  .help = "which requests are recorded, and how much of them (audit.k8s.io/v1 Policy); "   \
		  "read again when it changes" },                                                  \
		{ "audit-log-path", 0, FLAG_STRING(type, m.log_path), .arg = "FILE",               \
		  .help = "file to append one line per event to; \"-\" is standard output" },      \
		{ "audit-log-mode",                                                                \
		  0,                                                                               \
		  FLAG_STRING(type, m.log_mode),                                                   \
		  .choices = "batch|blocking|blocking-strict",                                     \
		  .initial = "blocking",                                                           \
		  .help = "batch writes later, in a thread of its own; blocking-strict rejects "   \
			  "requests "                                                              \
			  "that cannot be logged" },                                               \
		{ "audit-log-format",                                                              \
		  0,                                                                               \
		  FLAG_STRING(type, m.log_format),                                                 \
		  .choices = "json",                                                               \
		  .initial = "json",                                                               \
		  .help = "format of the file" },                                                  \
		{ "audit-log-maxsize",                                                             \
		  0,                                                                               \
		  FLAG_INT(type, m.max_size),                                                      \
		  .arg = "MEGABYTES",                                                              \
		  .initial = "0",                                                                  \
		  .min = 0,                                                                        \
		  .max = 1 << 20,                                                                  \
		  .help = "size at which the file is rotated; 0: 100 if another flag of rotation " \
			  "is "                                                                    \
			  "set, else it is not rotated" },                                         \
		{ "audit-log-maxbackup",                                                           \
		  0,                                                                               \
		  FLAG_INT(type, m.max_backup),                                                    \
		  .arg = "COUNT",                                                                  \
		  .initial = "0",                                                                  \
		  .min = 0,                                                                        \
		  .max = 100000,                                                                   \
		  .help = "number of rotated files that are kept; 0: all" },                       \
		{ "audit-log-maxage",                                                              \
		  0,                                                                               \
		  FLAG_INT(type, m.max_age),                                                       \
		  .arg = "DAYS",                                                                   \
		  .initial = "0",                                                                  \
		  .min = 0,                                                                        \
		  .max = 36500,                                                                    \
		  .help = "how long rotated files are kept; 0: for ever" },                        \
		{ "audit-log-compress", 0, FLAG_BOOL(type, m.compress),                            \
		  .help = "compress rotated files with gzip" },                                    \
	{                                                                                          \
		"audit-log-batch-buffer-size", 0, FLAG_INT(type, m.log_buffer),                    \
			.arg = "COUNT", .initial = "10000", .min = 1, .max = 10000000,             \
			.help = "--audit-log-mode batch: events that may wait; more are lost"      \
	}

#define SERVER_AUDIT_HOOK_FLAGS(type, m)                                                         \
	{ "audit-webhook-config-file", 0, FLAG_STRING(type, m.webhook_config), .arg = "FILE",    \
	  .help = "kubeconfig of the server that events are sent to" },                          \
		{ "audit-webhook-mode",                                                          \
		  0,                                                                             \
		  FLAG_STRING(type, m.webhook_mode),                                             \
		  .choices = "batch|blocking",                                                   \
		  .initial = "batch",                                                            \
		  .help = "batch sends several events together; blocking sends each at once" },  \
		{ "audit-webhook-initial-backoff",                                               \
		  0,                                                                             \
		  FLAG_DURATION(type, m.webhook_backoff),                                        \
		  .arg = "TIME",                                                                 \
		  .initial = "10s",                                                              \
		  .min = CLOCK_MS,                                                               \
		  .max = 3600 * CLOCK_SEC,                                                       \
		  .help = "wait before events are sent again that could not be sent" },          \
		{ "audit-webhook-batch-buffer-size",                                             \
		  0,                                                                             \
		  FLAG_INT(type, m.webhook_buffer),                                              \
		  .arg = "COUNT",                                                                \
		  .initial = "10000",                                                            \
		  .min = 1,                                                                      \
		  .max = 10000000,                                                               \
		  .help = "events that may wait or be under way; more are lost" },               \
		{ "audit-webhook-batch-max-size",                                                \
		  0,                                                                             \
		  FLAG_INT(type, m.webhook_batch),                                               \
		  .arg = "COUNT",                                                                \
		  .initial = "400",                                                              \
		  .min = 1,                                                                      \
		  .max = 10000000,                                                               \
		  .help = "maximum number of events that are sent together" },                   \
		{ "audit-webhook-batch-max-wait",                                                \
		  0,                                                                             \
		  FLAG_DURATION(type, m.webhook_wait),                                           \
		  .arg = "TIME",                                                                 \
		  .initial = "30s",                                                              \
		  .min = CLOCK_MS,                                                               \
		  .max = 3600 * CLOCK_SEC,                                                       \
		  .help = "how long an event waits for others to be sent with" },                \
		{ "audit-webhook-batch-throttle-enable", 0, FLAG_BOOL(type, m.webhook_throttle), \
		  .initial = "true", .help = "limit how often events are sent, in mode batch" }, \
		{ "audit-webhook-batch-throttle-qps",                                            \
		  0,                                                                             \
		  FLAG_INT(type, m.webhook_qps),                                                 \
		  .arg = "COUNT",                                                                \
		  .initial = "10",                                                               \
		  .min = 1,                                                                      \
		  .max = 1000000,                                                                \
		  .help = "that limit: batches per second" },                                    \
	{                                                                                        \
		"audit-webhook-batch-throttle-burst", 0, FLAG_INT(type, m.webhook_burst),        \
			.arg = "COUNT", .initial = "15", .min = 1, .max = 1000000,               \
			.help = "batches that may be sent at once after a pause"                 \
	}

#define SERVER_AUDIT_CUT_FLAGS(type, m)                                                     \
	{ "audit-log-truncate-enabled", 0, FLAG_BOOL(type, m.log_truncate),                 \
	  .help = "leave the objects out of events that are too long" },                    \
		{ "audit-log-truncate-max-event-size",                                      \
		  0,                                                                        \
		  FLAG_INT(type, m.log_event_max),                                          \
		  .arg = "BYTES",                                                           \
		  .initial = "102400",                                                      \
		  .min = 1024,                                                              \
		  .max = 1 << 30,                                                           \
		  .help = "longest event with its objects" },                               \
		{ "audit-webhook-truncate-enabled", 0, FLAG_BOOL(type, m.webhook_truncate), \
		  .help = "leave the objects out of events that are too long" },            \
		{ "audit-webhook-truncate-max-event-size",                                  \
		  0,                                                                        \
		  FLAG_INT(type, m.webhook_event_max),                                      \
		  .arg = "BYTES",                                                           \
		  .initial = "102400",                                                      \
		  .min = 1024,                                                              \
		  .max = 1 << 30,                                                           \
		  .help = "longest event with its objects" },                               \
		{ "audit-webhook-truncate-max-batch-size",                                  \
		  0,                                                                        \
		  FLAG_INT(type, m.webhook_batch_max),                                      \
		  .arg = "BYTES",                                                           \
		  .initial = "10485760",                                                    \
		  .min = 1024,                                                              \
		  .max = 1 << 30,                                                           \
		  .help = "nothing is added to a longer batch" },                           \
		{ "audit-log-version",                                                      \
		  0,                                                                        \
		  FLAG_STRING(type, m.log_version),                                         \
		  .choices = "audit.k8s.io/v1",                                             \
		  .initial = "audit.k8s.io/v1",                                             \
		  .help = "version of the events in the file" },                            \
	{                                                                                   \
		"audit-webhook-version", 0, FLAG_STRING(type, m.webhook_version),           \
			.choices = "audit.k8s.io/v1", .initial = "audit.k8s.io/v1",         \
			.help = "version of the events that are sent"                       \
	}

/* Fails as bad usage if a flag lacks one that it needs. Borrows the texts. */
int server_audit_read(struct cli *cli, const struct server_audit_options *o,
		      struct audit_opts *ret_opts, struct error *err);

#endif
