/*
 * Modes are octal, as for chmod; groups are looked up by name first.
 */
#include "cli/roles/node_podres.h"

#include <errno.h>
#include <grp.h>

#include "cli/program/cli.h"

static int read_mode(struct cli *cli, const char *text, unsigned *ret_mode, struct error *err)
{
	char *end;
	unsigned long mode;

	errno = 0;
	mode = strtoul(text, &end, 8);
	if (errno || end == text || *end || text[0] == '-' || mode == 0 || mode > 0777)
		return cli_bad_usage(cli, err,
				     "--pod-resources-socket-mode: \"%s\" is not a mode such as "
				     "0660",
				     text);
	*ret_mode = (unsigned)mode;
	return 0;
}

static int read_group(struct cli *cli, const char *text, int64_t *ret_group, struct error *err)
{
	const struct group *g = text ? getgrnam(text) : NULL;

	*ret_group = -1;
	if (g)
		*ret_group = (int64_t)g->gr_gid;
	else if (text && (!str_to_i64(str_from(text), ret_group) || *ret_group < 0 ||
			  *ret_group >= UINT32_MAX))
		return cli_bad_usage(cli, err, "--pod-resources-socket-group: unknown group \"%s\"",
				     text);
	return 0;
}

int node_podres_read(struct cli *cli, const struct node_podres_options *o,
		     struct podres_server_opts *ret_opts, struct error *err)
{
	int r;

	ret_opts->path = o->socket;
	ret_opts->limits = (struct podres_limits){ .calls_per_s = (double)o->qps,
						   .burst = (unsigned)o->burst,
						   .client_streams = (unsigned)o->client_streams,
						   .streams = (unsigned)o->streams };
	r = read_mode(cli, o->mode, &ret_opts->mode, err);
	return r < 0 ? r : read_group(cli, o->group, &ret_opts->group, err);
}
