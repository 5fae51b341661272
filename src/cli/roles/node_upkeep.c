/*
 * The flags are kubelet's, except that --image-maximum-gc-age is only in its configuration file.
 */
#include "cli/roles/node_upkeep.h"

#include "base/core/clock.h"
#include "cli/program/cli.h"

static int upkeep_read_images(struct cli *cli, const struct node_upkeep_options *o,
			      struct image_policy *ret_policy, struct error *err)
{
	if (o->image_low >= o->image_high && o->image_high < 100)
		return cli_bad_usage(cli, err,
				     "--image-gc-low-threshold must be less than "
				     "--image-gc-high-threshold");
	*ret_policy = (struct image_policy){ .high_percent = (int)o->image_high,
					     .low_percent = (int)o->image_low,
					     .min_age_ms = o->image_min_age / CLOCK_MS,
					     .max_age_ms = o->image_max_age / CLOCK_MS };
	return 0;
}

static int upkeep_read_eviction(struct cli *cli, const struct node_upkeep_options *o,
				struct eviction_config *ret_config, struct error *err)
{
	struct eviction_flags f = { .hard = o->hard.v,
				    .soft = o->soft.v,
				    .grace = o->grace.v,
				    .reclaim = o->reclaim.v,
				    .nhard = o->hard.n,
				    .nsoft = o->soft.n,
				    .ngrace = o->grace.n,
				    .nreclaim = o->reclaim.n };
	struct error why;

	ret_config->transition_ms = o->transition / CLOCK_MS;
	ret_config->max_pod_grace_s = o->max_pod_grace;
	if (eviction_config_read(&f, ret_config, &why) < 0)
		return cli_bad_usage(cli, err, "flags --eviction-..: %s", why.msg);
	return 0;
}

int node_upkeep_read(struct cli *cli, const struct node_upkeep_options *o, struct agent_opts *opts,
		     struct error *err)
{
	int r;

	opts->manifest_path = o->manifest_path;
	opts->manifest_period_ms = o->manifest_period / CLOCK_MS;
	if (o->manifest_path && !o->manifest_path[0])
		return cli_bad_usage(cli, err, "--pod-manifest-path is empty");
	/* A hollow node has no logs of its own. */
	if (o->serve_system_logs)
		opts->api.log_dir = o->system_logs           ? o->system_logs
				    : opts->runtime_endpoint ? "/var/log"
							     : NULL;
	r = upkeep_read_images(cli, o, &opts->images, err);
	return r < 0 ? r : upkeep_read_eviction(cli, o, &opts->eviction, err);
}
