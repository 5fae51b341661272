/*
 * An endpoint ends with its stream, and nobody registers it again here. So a timer checks each
 * followed resource, and connects if it has no endpoint. A dial waits for the socket for a while,
 * so a plugin that restarts is found soon.
 */
#include "node/plugins/follow.h"

#include "base/core/mem.h"
#include "node/plugins/device_plugin.h"
#include "node/plugins/plugins_impl.h"

enum { FOLLOW_AGAIN_MS = 1000 };

struct plugin_follow {
	struct list link;
	struct plugins *p;
	char *resource, *socket;
	struct device_endpoint *connecting; /* or NULL */
	struct error failure; /* reported last; code 0: none since it was connected */
	struct loop_timer timer;
};

static void follow_connected(void *arg, const struct error *err)
{
	struct plugin_follow *f = arg;
	bool same = err && f->failure.code == err->code && strcmp(f->failure.msg, err->msg) == 0;

	f->connecting = NULL;
	f->failure = err ? *err : (struct error){ 0 };
	if (err && !same)
		plugins_problem(f->p, err, "device plugin %s at %s", f->resource, f->socket);
}

static void follow_look(struct plugin_follow *f)
{
	loop_timer_start(&f->timer, FOLLOW_AGAIN_MS);
	if (!f->connecting && !plugins_has_resource(f->p, str_from(f->resource)))
		f->connecting = device_plugins_connect(f->p->devices, str_from(f->resource),
						       f->socket, follow_connected, f);
}

static void follow_on_timer(struct loop_timer *t)
{
	follow_look(CONTAINER_OF(t, struct plugin_follow, timer));
}

void plugins_follow(struct plugins *p, struct str resource, const char *socket)
{
	struct plugin_follow *f = XNEW(struct plugin_follow);

	f->p = p;
	f->resource = str_dup(resource);
	f->socket = xstrdup(socket);
	loop_timer_init(&f->timer, p->loop, follow_on_timer);
	list_push_back(&p->follows, &f->link);
	follow_look(f);
}

void plugin_follows_free(struct plugins *p)
{
	LIST_FOREACH_SAFE (it, &p->follows) {
		struct plugin_follow *f = LIST_ENTRY(it, struct plugin_follow, link);

		loop_timer_stop(&f->timer);
		if (f->connecting)
			device_endpoint_cancel(f->connecting);
		list_remove(&f->link);
		free(f->resource);
		free(f->socket);
		free(f);
	}
}
