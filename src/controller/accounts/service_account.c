/*
 * It is created again when it is deleted, and never changed.
 */
#include "controller/accounts/service_account.h"

#include "base/json/json.h"
#include "controller/shared/context.h"
#include "controller/shared/per_namespace.h"

static struct json *want(void *arg UNUSED, struct arena *a, struct str ns, struct json *now)
{
	struct json *account, *meta;

	if (now)
		return NULL;
	account = json_make_object(a);
	meta = json_make_object(a);
	json_put_str(a, account, "apiVersion", STR("v1"));
	json_put_str(a, account, "kind", STR("ServiceAccount"));
	json_setz(account, "metadata", meta);
	json_put_str(a, meta, "name", STR("default"));
	json_put_str(a, meta, "namespace", ns);
	return account;
}

struct per_namespace *service_account_new(const struct context *ctx)
{
	struct per_namespace_opts o = {
		.queue = "serviceaccount",
		.resource = resource_builtin("", "v1", "serviceaccounts"),
		.name = "default",
		.want = want,
	};

	return per_namespace_new(ctx, &o);
}
