/* Flags win over the kubeconfig. */
#include "cli/kube_flags.h"

#include "client/kubeconfig.h"

int kube_flags_load(const struct kube_options *o, struct kubeconfig *ret_config, struct error *err)
{
	struct kubeconfig_opts k = { .path = o->kubeconfig, .context = o->context };
	int r = kubeconfig_load(ret_config, &k, err);

	if (r < 0)
		return r;
	if (o->server)
		ret_config->server = str_from(o->server);
	if (o->ns)
		ret_config->ns = str_from(o->ns);
	return 0;
}
