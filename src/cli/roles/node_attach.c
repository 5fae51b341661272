/*
 * A resource's name has no "=", so the first one ends it.
 */
#include "cli/roles/node_attach.h"

#include "base/core/clock.h"
#include "cli/program/cli.h"

static int read_plugin(struct cli *cli, const char *text, struct arena *a,
		       struct beside_plugin *ret_plugin, struct error *err)
{
	struct str rest = str_from(text), resource;

	if (!str_split(&rest, '=', &resource) || str_chr(resource, '/') < 1 || rest.n == 0 ||
	    rest.p[0] != '/')
		return cli_bad_usage(
			cli, err,
			"--follow-device-plugin: \"%s\" is not RESOURCE=SOCKET such as "
			"vendor.com/gpu=/var/lib/kubelet/device-plugins/gpu.sock",
			text);
	ret_plugin->resource = resource;
	ret_plugin->socket = arena_strdup(a, rest);
	return 0;
}

static bool is_repeated(const struct beside_plugin *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (str_eq(v[i].resource, v[n].resource))
			return true;
	}
	return false;
}

int node_attach_read(struct cli *cli, const struct node_attach_options *o, bool attach,
		     struct arena *a, struct beside_opts *ret_opts, struct error *err)
{
	struct beside_plugin *v = ARENA_ARRAY(a, struct beside_plugin, o->plugins.n);

	if (!attach && (o->plugins.n > 0 || o->pod_condition || o->node_annotation))
		return cli_bad_usage(cli, err,
				     "--follow-device-plugin, --attach-pod-condition and "
				     "--attach-node-annotation need --attach");
	for (size_t i = 0; i < o->plugins.n; i++) {
		int r = read_plugin(cli, o->plugins.v[i], a, &v[i], err);

		if (r < 0)
			return r;
		if (is_repeated(v, i))
			return cli_bad_usage(cli, err,
					     "--follow-device-plugin: %.*s is named twice",
					     STR_ARG(v[i].resource));
	}
	ret_opts->plugins = v;
	ret_opts->nplugins = o->plugins.n;
	ret_opts->pod_condition = o->pod_condition;
	ret_opts->node_annotation = o->node_annotation;
	ret_opts->grace_ms = o->grace / CLOCK_MS;
	return 0;
}
