/*
 * A user's exec plugin. As in kubectl, it is used only if there are no other credentials, but its
 * members are validated anyway. The result is ready for running the program: NUL-terminated texts,
 * and the environment in the kernel's format.
 */
#include "client/client_limits.h"
#include "client/kubeconfig/kubeconfig_impl.h"

#define GROUP "client.authentication.k8s.io"

/* Text for a program must not contain a NUL, where the kernel would end it. */
static int read_word(struct kubeconfig *k, const struct kubeconfig_entry *x, const char *member,
		     const char **ret_word, struct error *err)
{
	struct str text;
	int r = kubeconfig_text(k, x, member, &text, err);

	if (r < 0)
		return r;
	if (text.n && memchr(text.p, 0, text.n)) {
		(void)error_set(err, ERR_INVALID, "exec: %s must not contain a NUL", member);
		return kubeconfig_wrap(x, -ERR_INVALID, err);
	}
	*ret_word = text.n ? arena_strdup(&k->arena, text) : "";
	return 0;
}

static int read_command(struct kubeconfig *k, const struct kubeconfig_entry *x, struct error *err)
{
	const char *command;
	int r = read_word(k, x, "command", &command, err);

	if (r < 0)
		return r;
	if (!command[0])
		return kubeconfig_bad(x, ERR_INVALID, err, "exec: command must be specified");
	if (strchr(command, '/') && command[0] != '/')
		command = arena_printf(&k->arena, "%s/%s", x->file->dir, command);
	k->exec->command = command;
	return 0;
}

static int read_version(struct kubeconfig *k, const struct kubeconfig_entry *x, struct error *err)
{
	int r = read_word(k, x, "apiVersion", &k->exec->api_version, err);

	if (r < 0)
		return r;
	if (strcmp(k->exec->api_version, GROUP "/v1") == 0 ||
	    strcmp(k->exec->api_version, GROUP "/v1beta1") == 0)
		return 0;
	(void)error_set(err, ERR_INVALID,
			"exec: invalid apiVersion \"%s\": " GROUP "/v1 and " GROUP
			"/v1beta1 are understood",
			k->exec->api_version);
	return kubeconfig_wrap(x, -ERR_INVALID, err);
}

/* Only v1beta1 has a default. */
static int read_interactive(struct kubeconfig *k, const struct kubeconfig_entry *x,
			    struct error *err)
{
	static const char *const modes[] = {
		[KUBECONFIG_INTERACTIVE_NEVER] = "Never",
		[KUBECONFIG_INTERACTIVE_IF_AVAILABLE] = "IfAvailable",
		[KUBECONFIG_INTERACTIVE_ALWAYS] = "Always",
	};
	const char *mode;
	int r = read_word(k, x, "interactiveMode", &mode, err);

	if (r < 0)
		return r;
	if (!mode[0] && strcmp(k->exec->api_version, GROUP "/v1beta1") == 0)
		mode = "IfAvailable";
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (strcmp(mode, modes[i]) == 0) {
			k->exec->interactive = (enum kubeconfig_interactive)i;
			return 0;
		}
	return kubeconfig_bad(x, ERR_INVALID, err,
			      "exec: interactiveMode must be Never, IfAvailable or Always");
}

/* The elements of a list; NULL if it is absent. */
static int need_list(const struct kubeconfig_entry *x, const char *member,
		     const struct json **ret_list, struct error *err)
{
	const struct json *list = json_getz(x->fields, member);

	*ret_list = NULL;
	if (!list || list->type == JSON_NULL)
		return 0;
	if (list->type != JSON_ARRAY) {
		(void)error_set(err, ERR_INVALID, "exec: %s must be a list", member);
		return kubeconfig_wrap(x, -ERR_INVALID, err);
	}
	*ret_list = list;
	return 0;
}

static int exec_read_args(struct kubeconfig *k, const struct kubeconfig_entry *x, struct error *err)
{
	const struct json *list;
	int r = need_list(x, "args", &list, err);

	if (r < 0 || !list)
		return r;
	k->exec->args = ARENA_ARRAY(&k->arena, const char *, list->n);
	JSON_FOREACH (it, list) {
		struct str text = json_str(it);

		if (it->type != JSON_STRING || (text.n && memchr(text.p, 0, text.n)))
			return kubeconfig_bad(x, ERR_INVALID, err,
					      "exec: args must be texts: put them in quotes");
		k->exec->args[k->exec->nargs++] = arena_strdup(&k->arena, text);
	}
	return 0;
}

static int read_env(struct kubeconfig *k, const struct kubeconfig_entry *x, struct error *err)
{
	struct kubeconfig_entry variable = *x;
	const char *name, *value;
	const struct json *list;
	int r = need_list(x, "env", &list, err);

	if (r < 0 || !list)
		return r;
	k->exec->env = ARENA_ARRAY(&k->arena, const char *, list->n);
	JSON_FOREACH (it, list) {
		variable.fields = it;
		r = read_word(k, &variable, "name", &name, err);
		if (r == 0)
			r = read_word(k, &variable, "value", &value, err);
		if (r < 0)
			return r;
		if (!name[0] || strchr(name, '='))
			return kubeconfig_bad(x, ERR_INVALID, err,
					      "exec: env variable name must be specified");
		k->exec->env[k->exec->nenv++] = arena_printf(&k->arena, "%s=%s", name, value);
	}
	return 0;
}

int kubeconfig_read_exec(struct kubeconfig *k, const struct kubeconfig_entry *e, struct error *err)
{
	struct kubeconfig_entry x = *e;
	int r;

	x.fields = json_getz(e->fields, "exec");
	if (!x.fields || x.fields->type == JSON_NULL)
		return 0;
	if (x.fields->type != JSON_OBJECT)
		return kubeconfig_bad(e, ERR_INVALID, err, "exec must name a command");
	k->exec = ARENA_NEW(&k->arena, struct kubeconfig_exec);
	k->exec->cluster_config = "";
	r = read_command(k, &x, err);
	if (r == 0)
		r = read_version(k, &x, err);
	if (r == 0)
		r = read_interactive(k, &x, err);
	if (r == 0)
		r = exec_read_args(k, &x, err);
	if (r == 0)
		r = read_env(k, &x, err);
	if (r == 0)
		r = read_word(k, &x, "installHint", &k->exec->install_hint, err);
	if (r == 0)
		r = kubeconfig_bool(&x, "provideClusterInfo", &k->exec->cluster_info, err);
	if (k->token.n || k->username.n || k->cert.n)
		k->exec = NULL;
	return r;
}

/* An extension of the cluster, under a name reserved for this. */
int kubeconfig_read_exec_cluster(struct kubeconfig *k, const struct kubeconfig_entry *e,
				 struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(KUBECONFIG_FILE_MAX);
	const struct json *list = json_getz(e->fields, "extensions");
	const struct json *said;

	if (!json_is(list, JSON_ARRAY))
		return 0;
	said = json_getz(json_find(list, "name", STR(GROUP "/exec")), "extension");
	if (!said || said->type == JSON_NULL)
		return 0;
	if (json_print(&text, said, NULL) < 0)
		return kubeconfig_bad(e, ERR_TOO_LARGE, err,
				      "its configuration for credential plugins is too large");
	k->exec->cluster_config = arena_strdup(&k->arena, buf_str(&text));
	return 0;
}
