/*
 * Each interface in a pod has a watch and a socket in its namespace. An event is only a reason to
 * look: the whole state is read at the end of the turn. So a burst of events is one read and one
 * status update, and events cannot be applied in the wrong order.
 *
 * The descriptor and the sockets keep the namespace alive, so the interface can be moved back in
 * order, even if the runtime has removed the namespace without notice.
 */
#include <fcntl.h>
#include <unistd.h>

#include "drivers/nic/driver_impl.h"
#include "drivers/rtnl/netns.h"
#include "drivers/rtnl/watch.h"

enum {
	/*
	 * A pod controls its interface: it can cause events as fast as it likes, and make each read
	 * slower by adding addresses. So a number of reads are free, then there is one per period.
	 * A slow read is not repeated before twenty times its duration has passed.
	 */
	LOOKS_AT_ONCE = 32,
	LOOK_PERIOD_MS = 250,
	LOOK_LONG_MS = 5,
	LOOK_SHARE = 20,
};

static void follow_on_look(struct loop_task *t)
{
	nic_view_look(CONTAINER_OF(t, struct nic_view, look));
}

static void follow_on_later(struct loop_timer *t)
{
	nic_view_look(CONTAINER_OF(t, struct nic_view, later));
}

static void save_name(struct nic_view *v)
{
	struct error err;

	if (nic_book_save(v->driver->book, &err) < 0)
		log_warn(v->driver->opts.log, "interface was renamed", LOG_ERR(&err));
}

static void on_keep(struct loop_timer *t)
{
	save_name(CONTAINER_OF(t, struct nic_view, keep));
}

void nic_view_new(struct nic_driver *d, struct nic_use *u)
{
	struct nic_view *v = XNEW(struct nic_view);

	v->driver = d;
	v->use = u;
	v->ns_fd = -1;
	loop_task_init(&v->look, follow_on_look);
	loop_timer_init(&v->later, d->opts.loop, follow_on_later);
	loop_timer_init(&v->keep, d->opts.loop, on_keep);
	u->arg = v;
}

void nic_view_free(struct nic_use *u)
{
	struct nic_view *v = nic_view_of(u);

	if (!v)
		return;
	nic_view_close(v);
	client_cancel(&v->get);
	free(v);
	u->arg = NULL;
}

static bool is_about(const struct nic_use *u, const struct rtnl_event *e)
{
	switch (e->type) {
	case RTNL_LINK_SET:
	case RTNL_LINK_GONE:
		return e->link.index == u->index || strcmp(e->link.name, u->interface) == 0;
	case RTNL_ADDRESS_SET:
	case RTNL_ADDRESS_GONE:
		return e->address.index == u->index;
	case RTNL_LOST:
		break;
	}
	return true;
}

static void pay(struct nic_view *v, int64_t took_ms)
{
	int64_t now = loop_now(v->driver->opts.loop);

	v->paid_ms = MAX(v->paid_ms, now) + LOOK_PERIOD_MS;
	if (took_ms >= LOOK_LONG_MS)
		v->paid_ms = now + (int64_t)(LOOKS_AT_ONCE - 1) * LOOK_PERIOD_MS +
			     MAX((int64_t)LOOK_PERIOD_MS, took_ms * LOOK_SHARE);
}

static void on_event(void *arg, const struct rtnl_event *e)
{
	struct nic_view *v = arg;
	int64_t wait;

	if (!is_about(v->use, e) || loop_timer_running(&v->later))
		return;
	/* Reads are charged up to v->paid_ms, which may be LOOKS_AT_ONCE periods ahead of time. */
	wait = v->paid_ms - loop_now(v->driver->opts.loop) -
	       (int64_t)(LOOKS_AT_ONCE - 1) * LOOK_PERIOD_MS;
	if (wait > 0)
		loop_timer_start(&v->later, wait);
	else
		loop_defer(v->driver->opts.loop, &v->look);
}

int nic_view_open(struct nic_view *v, int ns_fd, struct error *err)
{
	struct loop *l = v->driver->opts.loop;
	int r;

	nic_view_close(v);
	v->ns_fd = ns_fd;
	v->health = DP_HEALTHY;
	v->ended = v->abandoned = false;
	v->missing = 0;
	r = rtnl_watch_new(l, ns_fd, on_event, v, &v->watch, err);
	if (r == 0)
		r = rtnl_open(ns_fd, &v->pod, err);
	if (r == 0)
		r = nic_attach_look(v->pod, v->use, &v->seen, err);
	if (r < 0)
		nic_view_close(v);
	return r;
}

void nic_view_close(struct nic_view *v)
{
	loop_task_cancel(&v->look);
	loop_timer_stop(&v->later);
	if (loop_timer_running(&v->keep))
		save_name(v);
	loop_timer_stop(&v->keep);
	rtnl_watch_free(TAKE(v->watch));
	rtnl_close(TAKE(v->pod));
	if (v->ns_fd >= 0)
		(void)close(v->ns_fd);
	v->ns_fd = -1;
	v->seen = (struct nic_seen){ 0 };
}

/*
 * Saves the interface's current name, so that the driver finds it after a restart. A name that is
 * not UTF-8 cannot be saved; the index identifies it, too.
 */
static void keep_name(struct nic_view *v)
{
	struct nic_use *u = v->use;

	if (!v->seen.there || strcmp(v->seen.link.name, u->interface) == 0 ||
	    !rtnl_name_is_text(v->seen.link.name))
		return;
	memcpy(u->interface, v->seen.link.name, sizeof(u->interface));
	if (!loop_timer_running(&v->keep))
		loop_timer_start(&v->keep, LOOK_PERIOD_MS);
}

/* Reads the state, and charges for it. */
static int follow_look(struct nic_view *v, struct error *err)
{
	int64_t before = clock_thread_work();
	int r = nic_attach_look(v->pod, v->use, &v->seen, err);

	pay(v, (clock_thread_work() - before) / CLOCK_MS);
	return r;
}

void nic_view_look(struct nic_view *v)
{
	const struct nic_use *u = v->use;
	struct error err;

	if (!v->pod)
		return;
	if (follow_look(v, &err) < 0) {
		/* Logged once, because the pod decides how often there are events. */
		if (!v->blind)
			log_warn(v->driver->opts.log, "cannot read the interface",
				 LOG_Z("device", u->nic.device), LOG_Z("interface", u->interface),
				 LOG_ERR(&err));
		v->blind = true;
		return;
	}
	v->blind = false;
	nic_status_tell(v);
	keep_name(v);
}

/*
 * Returns 0 and a descriptor of the namespace at the path; -ERR_NOT_FOUND if that is a different
 * one or missing.
 */
static int open_path(const struct nic_use *u, int *ret_fd)
{
	uint64_t id = 0;
	int fd, r;

	r = u->netns ? netns_open(u->netns, &fd, NULL) : -ERR_NOT_FOUND;
	if (r == -ERR_INVALID)
		return -ERR_NOT_FOUND;
	if (r < 0)
		return r;
	r = netns_id(fd, &id, NULL);
	if (r == 0 && id == u->netns_id) {
		*ret_fd = fd;
		return 0;
	}
	(void)close(fd);
	return r < 0 ? r : -ERR_NOT_FOUND;
}

int nic_view_namespace(const struct nic_use *u)
{
	const struct nic_view *v = nic_view_of(u);
	int fd;

	if (v->abandoned)
		return -1;
	if (v->ns_fd >= 0)
		return fcntl(v->ns_fd, F_DUPFD_CLOEXEC, 0);
	return open_path(u, &fd) < 0 ? -1 : fd;
}

bool nic_view_is_led_to(const struct nic_use *u)
{
	int fd, r = open_path(u, &fd);

	if (r == 0)
		(void)close(fd);
	return r != -ERR_NOT_FOUND;
}
