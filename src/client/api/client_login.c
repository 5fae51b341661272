/*
 * Credentials from an exec plugin. As in client-go, it runs when the first request is sent, when
 * its credentials have expired, and when the server answers 401; requests sent meanwhile wait.
 * Credentials that have already expired when they arrive are still used for the waiting requests,
 * or the plugin would run for ever. Only the first run may prompt the user, because our standard
 * input may be used for something else later.
 */
#include "client/api/client_impl.h"
#include "client/kubeconfig/exec_credential.h"

static const char **copy_texts(struct client *c, const char *const *from, size_t n)
{
	const char **to = ARENA_ARRAY(&c->arena, const char *, n);

	for (size_t i = 0; i < n; i++)
		to[i] = arena_strdup(&c->arena, str_from(from[i]));
	return to;
}

struct kubeconfig_exec *client_login_copy(struct client *c, const struct kubeconfig_exec *from)
{
	struct kubeconfig_exec *e;

	if (!from)
		return NULL;
	e = ARENA_NEW(&c->arena, struct kubeconfig_exec);
	*e = *from;
	e->command = arena_strdup(&c->arena, str_from(from->command));
	e->api_version = arena_strdup(&c->arena, str_from(from->api_version));
	e->install_hint = arena_strdup(&c->arena, str_from(from->install_hint));
	e->cluster_config = arena_strdup(&c->arena, str_from(from->cluster_config));
	e->args = copy_texts(c, from->args, from->nargs);
	e->env = copy_texts(c, from->env, from->nenv);
	return e;
}

/* Fails with ERR_IO whatever the plugin's error: a "not found" would read as a missing object. */
static void client_login_fail(struct client *c, const struct error *why)
{
	struct error err;

	(void)error_set(&err, ERR_IO, "getting credentials of user \"%.*s\": %s",
			STR_ARG(c->config.user), why->msg);
	client_link_fail_waiting(c, &err);
}

static void client_login_on_answer(void *arg, const struct exec_answer *answer,
				   const struct error *err)
{
	struct client *c = arg;
	struct error why;

	if (answer && client_link_become(c, answer, &why) < 0) {
		answer = NULL;
		err = &why;
	}
	if (answer) {
		c->login.expires = answer->expires;
		c->login.count++;
		c->login.fresh = true;
		c->login.refused = false;
		client_kick(c);
	} else {
		why = *err;
	}
	exec_credential_free(TAKE(c->login.run));
	if (!answer)
		client_login_fail(c, &why);
}

static bool is_valid(const struct client *c)
{
	if (c->login.count == 0 || c->login.refused)
		return false;
	return c->login.fresh || clock_wall(loop_clock(c->loop)) < c->login.expires;
}

bool client_login_ready(struct client *c)
{
	struct exec_credential_opts o = { .config = &c->config,
					  .may_ask = c->login.count == 0,
					  .on_done = client_login_on_answer,
					  .arg = c };
	struct error err;

	if (!c->config.exec)
		return true;
	if (c->login.run)
		return false;
	if (is_valid(c))
		return true;
	if (exec_credential_new(c->loop, &o, &c->login.run, &err) < 0)
		client_login_fail(c, &err);
	return false;
}

void client_login_spent(struct client *c)
{
	c->login.fresh = false;
}

void client_login_refused(struct client *c, unsigned login)
{
	if (c->config.exec && login == c->login.count)
		c->login.refused = true;
}

void client_login_stop(struct client *c)
{
	exec_credential_free(TAKE(c->login.run));
}
