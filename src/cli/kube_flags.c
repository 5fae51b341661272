/* Flags win over the kubeconfig. */
#include "cli/kube_flags.h"

#include "base/file.h"
#include "base/limits.h"
#include "client/kubeconfig.h"

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

static int trust(const struct kube_options *o, struct kubeconfig *k, struct error *err)
{
	CLEANUP(buf_release) struct buf pem = BUF_INIT(PEM_FILE_MAX);
	int r;

	if (o->insecure) {
		k->insecure = true;
		k->ca = STR_NULL;
		k->ca_file = NULL;
	}
	if (!o->ca_file)
		return 0;
	r = file_read(o->ca_file, &pem, err);
	if (r < 0)
		return error_wrap(err, r, "--certificate-authority");
	k->insecure = false;
	k->ca = arena_str(&k->arena, buf_str(&pem));
	k->ca_file = o->ca_file;
	return 0;
}

static int check(const struct kube_options *o, const struct kubeconfig *k, struct error *err)
{
	if (o->insecure && o->ca_file)
		return error_set(err, ERR_INVALID,
				 "--certificate-authority and --insecure-skip-tls-verify exclude "
				 "each other");
	if ((o->as_uid || o->as_groups.n > 0) && !k->as.n)
		return error_set(err, ERR_INVALID,
				 "--as-uid and --as-group say more of a user to act as: --as USER "
				 "names one");
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
	if (o->token) {
		ret_config->token = str_from(o->token);
		ret_config->token_file = NULL;
		ret_config->username = ret_config->password = STR_NULL;
	}
	act_as(o, ret_config);
	r = trust(o, ret_config, err);
	return r < 0 ? r : check(o, ret_config, err);
}
