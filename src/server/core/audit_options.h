/*
 * audit_options - the options of the audit log (server/audit/audit.h).
 */
#ifndef SERVER_CORE_AUDIT_OPTIONS_H
#define SERVER_CORE_AUDIT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct log;
struct loop;
struct metrics;

struct audit_rotation {
	int64_t max_bytes; /* of the file that is written to; 0: it is never rotated */
	int64_t max_backups; /* older files that are kept; 0: all */
	int64_t max_age_days; /* 0: for ever */
	bool compress;
};

/* Zero means: none, or no limit. */
struct audit_opts {
	const char *path; /* appended to, mode 0600; "-" is standard output; NULL: no file */
	bool strict; /* reject requests whose event cannot be written to the file */
	bool batch; /* a thread of its own writes the file; else the requests' loops do */
	int64_t log_buffer; /* lines that may wait for that thread */
	int64_t log_event_max; /* longer events lose their objects; bytes */
	struct audit_rotation rotation;
	const char *policy_file; /* NULL: every request, level Metadata */
	const char *webhook_config; /* a kubeconfig; NULL: no webhook */
	bool webhook_single; /* each event is sent at once, alone */
	int64_t webhook_batch, webhook_buffer; /* events in a POST, and in all */
	int64_t webhook_wait_ms, webhook_backoff_ms;
	double webhook_qps, webhook_burst; /* POSTs per second, and at once */
	int64_t webhook_event_max, webhook_batch_bytes; /* as log_event_max; and of one POST */
	/* Set by the server. */
	struct loop *loop; /* the first; looks at the policy's file. NULL: it is read only once */
	size_t nlanes;
	struct metrics *metrics;
	const struct log *log;
};

#endif
