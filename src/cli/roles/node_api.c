/*
 * A hollow node has no fixed port by default: there are often several on a machine, and the Node's
 * status publishes the port.
 */
#include "cli/roles/node_api.h"

#include "cli/program/cli.h"
#include "net/net_limits.h"

enum { KUBELET_PORT = 10250 };

static int read_port(struct cli *cli, const char *text, bool hollow, int64_t *ret_port,
		     struct error *err)
{
	*ret_port = hollow ? 0 : KUBELET_PORT;
	if (text && (!str_to_i64(str_from(text), ret_port) || *ret_port < 0 || *ret_port > 65535))
		return cli_bad_usage(cli, err, "--port: \"%s\" is not a port", text);
	return 0;
}

static int read_address(struct cli *cli, const char *text, int64_t port, struct addr *ret_at,
			struct error *err)
{
	char with_port[NET_ADDRESS_MAX + 8];
	struct error why;

	(void)snprintf(with_port, sizeof(with_port), strchr(text, ':') ? "[%s]:%d" : "%s:%d", text,
		       (int)port);
	if (addr_parse(ret_at, str_from(with_port), 0, &why) < 0 || ret_at->kind != ADDR_INET)
		return cli_bad_usage(cli, err, "--address: \"%s\" is not an IP address", text);
	return 0;
}

int node_api_read(struct cli *cli, const struct node_api_options *o, bool hollow, bool several,
		  struct agent_api_opts *ret_opts, struct error *err)
{
	int64_t port = 0;
	int r;

	if (!o->cert_file != !o->key_file)
		return cli_bad_usage(cli, err,
				     "--tls-cert-file and --tls-private-key-file go together");
	if (several && o->port)
		return cli_bad_usage(cli, err,
				     "--port is of one node: it does not go with --nodes");
	r = read_port(cli, o->port, hollow, &port, err);
	if (r == 0)
		r = read_address(cli, o->address, port, &ret_opts->at, err);
	ret_opts->serve = !several;
	ret_opts->cert_file = o->cert_file;
	ret_opts->key_file = o->key_file;
	ret_opts->client_ca_file = o->client_ca_file;
	ret_opts->anonymous = o->anonymous;
	return r;
}
