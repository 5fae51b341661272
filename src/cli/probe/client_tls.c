/*
 * Files are read when the command starts. A missing file is a failure; a certificate without a
 * key, or a key without a certificate, is bad usage.
 */
#include "cli/probe/client_tls.h"

#include "base/core/limits.h"
#include "base/system/file.h"
#include "net/tls/tls.h"

static int read_if(const char *path, struct buf *content, struct error *err)
{
	return path ? file_read(path, content, err) : 0;
}

int client_tls_new(struct cli *cli, const struct client_tls_options *o, const char *const *alpn,
		   struct tls **ret_tls, struct error *err)
{
	CLEANUP(buf_release) struct buf ca = BUF_INIT(MIB);
	CLEANUP(buf_release) struct buf cert = BUF_INIT(MIB);
	CLEANUP(buf_release) struct buf key = BUF_INIT(MIB);
	struct tls_pair pair;
	struct tls_opts opts = { .insecure_skip_verify = o->insecure, .alpn = alpn };
	int r;

	if (!o->cert_file != !o->key_file)
		return cli_bad_usage(cli, err, "--client-certificate and --client-key go together");
	r = read_if(o->ca_file, &ca, err);
	if (r == 0)
		r = read_if(o->cert_file, &cert, err);
	if (r == 0)
		r = read_if(o->key_file, &key, err);
	if (r < 0)
		return r;
	pair = (struct tls_pair){ buf_str(&cert), buf_str(&key) };
	opts.pairs = &pair;
	opts.npairs = o->cert_file ? 1 : 0;
	opts.ca = buf_str(&ca);
	return tls_new(&opts, ret_tls, err);
}
