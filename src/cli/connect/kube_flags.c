/* Flags win over the kubeconfig. */
#include "cli/connect/kube_flags.h"

#include "base/system/file.h"
#include "client/kubeconfig/kubeconfig.h"
#include "net/net_limits.h"

static void act_as(const struct kube_options *o, struct kubeconfig *k)
{
	if (o->as)
		k->as = str_from(o->as);
	if (o->as_uid)
		k->as_uid = str_from(o->as_uid);
	if (o->as_groups.n == 0)
		return;
	k->as_groups = ARENA_ARRAY(&k->arena, struct str, o->as_groups.n);
	k->nas_groups = o->as_groups.n;
	for (size_t i = 0; i < o->as_groups.n; i++)
		k->as_groups[i] = str_from(o->as_groups.v[i]);
}

/* "KEY=VALUE"; a key may occur several times. */
static int act_with_extra(const struct kube_options *o, struct kubeconfig *k, struct error *err)
{
	const struct flag_list *list = &o->as_extra;

	if (list->n == 0)
		return 0;
	k->as_extra = ARENA_ARRAY(&k->arena, struct kubeconfig_extra, list->n);
	k->nas_extra = 0;
	for (size_t i = 0; i < list->n; i++) {
		struct str value = str_from(list->v[i]), key;

		if (!strchr(list->v[i], '=') || !str_split(&value, '=', &key) || !key.n)
			return error_set(err, ERR_INVALID,
					 "--as-user-extra \"%s\" must be of the form KEY=VALUE",
					 list->v[i]);
		k->as_extra[k->nas_extra++] = (struct kubeconfig_extra){ key, value };
	}
	return 0;
}

static int read_pem(struct kubeconfig *k, const char *flag, const char *path, struct str *ret_pem,
		    struct error *err)
{
	CLEANUP(buf_release) struct buf pem = BUF_INIT(PEM_FILE_MAX);
	int r = file_read(path, &pem, err);

	if (r < 0)
		return error_wrap(err, r, "--%s", flag);
	*ret_pem = arena_str(&k->arena, buf_str(&pem));
	return 0;
}

static int trust(const struct kube_options *o, struct kubeconfig *k, struct error *err)
{
	int r;

	if (o->server || o->tls_server_name)
		k->tls_server_name = str_from(o->tls_server_name ? o->tls_server_name : "");
	if (o->insecure) {
		k->insecure = true;
		k->ca = STR_NULL;
		k->ca_file = NULL;
	}
	if (!o->ca_file)
		return 0;
	r = read_pem(k, "certificate-authority", o->ca_file, &k->ca, err);
	if (r < 0)
		return r;
	k->insecure = false;
	k->ca_file = o->ca_file;
	return 0;
}

static int show_certificate(const struct kube_options *o, struct kubeconfig *k, struct error *err)
{
	int r = 0;

	if (o->cert_file) {
		r = read_pem(k, "client-certificate", o->cert_file, &k->cert, err);
		k->cert_file = o->cert_file;
	}
	if (r == 0 && o->key_file) {
		r = read_pem(k, "client-key", o->key_file, &k->key, err);
		k->key_file = o->key_file;
	}
	if (r == 0 && !k->cert.n != !k->key.n)
		r = error_set(err, ERR_INVALID,
			      "--client-certificate and --client-key need each other");
	return r;
}

/* Credentials given by flags replace an exec plugin. */
static int identify(const struct kube_options *o, struct kubeconfig *k, struct error *err)
{
	if (o->token && (o->username || o->password))
		return error_set(err, ERR_INVALID, "--token and --username exclude each other");
	if (o->token) {
		k->token = str_from(o->token);
		k->token_file = NULL;
		k->username = k->password = STR_NULL;
	}
	if (o->username) {
		k->username = str_from(o->username);
		k->token = STR_NULL;
		k->token_file = NULL;
	}
	if (o->password && !k->username.n)
		return error_set(err, ERR_INVALID, "--password needs --username");
	if (o->password)
		k->password = str_from(o->password);
	if (o->token || o->username || o->cert_file)
		k->exec = NULL;
	return show_certificate(o, k, err);
}

static int kube_flags_check(const struct kube_options *o, const struct kubeconfig *k,
			    struct error *err)
{
	if (o->insecure && o->ca_file)
		return error_set(err, ERR_INVALID,
				 "--certificate-authority and --insecure-skip-tls-verify exclude "
				 "each other");
	if ((o->as_uid || o->as_groups.n > 0 || o->as_extra.n > 0) && !k->as.n)
		return error_set(err, ERR_INVALID,
				 "--as-uid, --as-group and --as-user-extra need --as USER");
	return 0;
}

int kube_flags_load(const struct kube_options *o, struct kubeconfig *ret_config, struct error *err)
{
	struct kubeconfig_opts k = { .path = o->kubeconfig,
				     .context = o->context,
				     .cluster = o->cluster,
				     .user = o->user,
				     .server = o->server };
	int r = kubeconfig_load(ret_config, &k, err);

	if (r < 0)
		return r;
	if (o->ns)
		ret_config->ns = str_from(o->ns);
	act_as(o, ret_config);
	r = act_with_extra(o, ret_config, err);
	if (r == 0)
		r = identify(o, ret_config, err);
	if (r == 0)
		r = trust(o, ret_config, err);
	return r < 0 ? r : kube_flags_check(o, ret_config, err);
}
