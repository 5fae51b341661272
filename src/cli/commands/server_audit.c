/*
 * Flags become options. A policy without a backend is a mistake: nothing would be recorded.
 */
#include "cli/commands/server_audit.h"

#include "base/core/limits.h"
#include "cli/program/cli.h"
#include "server/server.h"

enum { DEFAULT_MEGABYTES = 100 }; /* upstream's */

/* Any flag of rotation switches it on. */
static struct audit_rotation rotation_of(const struct server_audit_options *o)
{
	bool any = o->max_size || o->max_backup || o->max_age || o->compress;
	int64_t megabytes = o->max_size ? o->max_size : DEFAULT_MEGABYTES;

	return (struct audit_rotation){ .max_bytes = any ? megabytes * (int64_t)MIB : 0,
					.max_backups = o->max_backup,
					.max_age_days = o->max_age,
					.compress = o->compress };
}

int server_audit_read(struct cli *cli, const struct server_audit_options *o,
		      struct audit_opts *ret_opts, struct error *err)
{
	bool single = strcmp(o->webhook_mode, "blocking") == 0;
	bool limited = !single && o->webhook_throttle;

	if (o->policy_file && !o->log_path && !o->webhook_config)
		return cli_bad_usage(cli, err,
				     "--audit-policy-file needs --audit-log-path or "
				     "--audit-webhook-config-file");
	*ret_opts = (struct audit_opts){
		.path = o->log_path,
		.strict = strcmp(o->log_mode, "blocking-strict") == 0,
		.batch = strcmp(o->log_mode, "batch") == 0,
		.log_buffer = o->log_buffer,
		.log_event_max = o->log_truncate ? o->log_event_max : 0,
		.rotation = rotation_of(o),
		.policy_file = o->policy_file,
		.webhook_config = o->webhook_config,
		.webhook_single = single,
		.webhook_batch = o->webhook_batch,
		.webhook_buffer = o->webhook_buffer,
		.webhook_wait_ms = o->webhook_wait / CLOCK_MS,
		.webhook_backoff_ms = o->webhook_backoff / CLOCK_MS,
		.webhook_qps = limited ? (double)o->webhook_qps : 0,
		.webhook_burst = limited ? (double)o->webhook_burst : 0,
		.webhook_event_max = o->webhook_truncate ? o->webhook_event_max : 0,
		.webhook_batch_bytes = o->webhook_truncate ? o->webhook_batch_max : 0,
	};
	return 0;
}
