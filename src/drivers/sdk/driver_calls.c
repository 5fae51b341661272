/*
 * Calls of the vendor about devices. They come from any thread. So each one is checked there,
 * posted to the loop's thread as a message, and executed there.
 */
#include "drivers/sdk/driver.h"

#include "base/core/clock.h"
#include "base/core/mem.h"

enum post_kind { POST_DEVICES, POST_HEALTH, POST_TAINTS, POST_PAUSE, POST_STOP, POST_ENDED };

struct post {
	struct loop_msg msg;
	struct dp_driver *driver;
	enum post_kind kind;
	struct device_table *table;
	struct device_taints *taints;
	char *pool, *device, *message;
	uint32_t value; /* health, or paused */
};

static void set_table(struct dp_driver *d, struct device_table *t)
{
	struct device_table *old = d->table;

	d->table = t;
	if (d->reporter)
		reporter_set(d->reporter, t);
	if (d->publisher)
		publisher_set(d->publisher, t);
	device_table_free(old);
}

static struct device *find_device(struct dp_driver *d, const struct post *p, const char *what)
{
	struct str pool = str_from(p->pool ? p->pool : d->config.node_name);
	struct device *device = device_table_find(d->table, pool, str_from(p->device));

	if (!device)
		driver_log(&d->log, DP_LOG_WARN, "%s reported for unknown device %.*s/%s", what,
			   STR_ARG(pool), p->device);
	return device;
}

static void set_health(struct dp_driver *d, struct post *p)
{
	struct device *device = find_device(d, p, "health");
	bool tainted;

	if (!device)
		return;
	tainted = (device->health == DP_UNHEALTHY) != (p->value == DP_UNHEALTHY);
	device_set_health(device, p->value, TAKE(p->message),
			  clock_wall(loop_clock(d->loop)) / CLOCK_SEC);
	if (d->reporter)
		reporter_changed(d->reporter);
	if (d->publisher && tainted && (d->config.flags & DP_FLAG_TAINT_UNHEALTHY))
		publisher_changed(d->publisher);
}

static void set_taints(struct dp_driver *d, struct post *p)
{
	struct device *device = find_device(d, p, "taints");

	if (device && device_set_taints(device, TAKE(p->taints)) && d->publisher)
		publisher_changed(d->publisher);
}

static void post_free(struct post *p)
{
	device_table_free(p->table);
	device_taints_free(p->taints);
	free(p->pool);
	free(p->device);
	free(p->message);
	free(p);
}

static void on_post(struct loop_msg *m)
{
	struct post *p = CONTAINER_OF(m, struct post, msg);
	struct dp_driver *d = p->driver;

	switch (p->kind) {
	case POST_DEVICES:
		set_table(d, TAKE(p->table));
		break;
	case POST_HEALTH:
		set_health(d, p);
		break;
	case POST_TAINTS:
		set_taints(d, p);
		break;
	case POST_PAUSE:
		if (d->reporter)
			reporter_pause(d->reporter, p->value != 0);
		break;
	case POST_STOP:
		driver_end_own(d);
		break;
	case POST_ENDED:
		break;
	}
	post_free(p);
}

/* The last message of all: the receiver may free the driver. */
static void on_ended(struct loop_msg *m)
{
	struct post *p = CONTAINER_OF(m, struct post, msg);
	struct dp_driver *d = p->driver;

	post_free(p);
	d->on_ended(d->ended_arg);
}

static struct post *post_new(struct dp_driver *d, enum post_kind kind)
{
	struct post *p = XNEW(struct post);

	p->msg.fn = on_post;
	p->driver = d;
	p->kind = kind;
	return p;
}

int driver_say(const struct error *err, char *message, size_t size)
{
	if (message && size > 0)
		(void)snprintf(message, size, "%s", err->msg);
	return -1;
}

int dp_driver_set_inventory(struct dp_driver *d, const struct dp_inventory *inventory,
			    char *message, size_t message_size)
{
	struct device_defaults defaults = {
		.pool = str_from(d->config.node_name),
		.timeout_s = d->config.health_timeout_s,
		.now_s = clock_wall(loop_clock(d->loop)) / CLOCK_SEC,
		.plugin = d->config.mode == DP_MODE_PLUGIN,
	};
	struct device_table *t;
	struct error err;
	struct post *p;

	if (device_table_from(inventory, &defaults, &t, &err) < 0)
		return driver_say(&err, message, message_size);
	p = post_new(d, POST_DEVICES);
	p->table = t;
	loop_post(d->loop, &p->msg);
	return 0;
}

int dp_driver_set_devices(struct dp_driver *d, const struct dp_device *v, size_t n, char *message,
			  size_t message_size)
{
	struct dp_inventory in = { .size = sizeof(in), .devices = v, .ndevices = n };

	return dp_driver_set_inventory(d, &in, message, message_size);
}

int dp_driver_set_taints(struct dp_driver *d, const char *pool, const char *device,
			 const struct dp_taint *v, size_t n, char *message, size_t message_size)
{
	struct device_taints *taints;
	struct error err;
	struct post *p;

	if (!device) {
		(void)error_set(&err, ERR_INVALID, "the device has no name");
		return driver_say(&err, message, message_size);
	}
	if (device_taints_new(v, n, &taints, &err) < 0)
		return driver_say(&err, message, message_size);
	p = post_new(d, POST_TAINTS);
	p->pool = pool && *pool ? xstrdup(pool) : NULL;
	p->device = xstrdup(device);
	p->taints = taints;
	loop_post(d->loop, &p->msg);
	return 0;
}

int dp_driver_set_health(struct dp_driver *d, const char *pool, const char *device, uint32_t health,
			 const char *message)
{
	struct post *p;

	if (health > DP_UNREPORTED || !device)
		return -1;
	p = post_new(d, POST_HEALTH);
	p->pool = pool && *pool ? xstrdup(pool) : NULL;
	p->device = xstrdup(device);
	p->message = device_message_dup(message);
	p->value = health;
	loop_post(d->loop, &p->msg);
	return 0;
}

void dp_driver_pause_health(struct dp_driver *d, uint32_t paused)
{
	struct post *p = post_new(d, POST_PAUSE);

	p->value = paused;
	loop_post(d->loop, &p->msg);
}

void dp_driver_stop(struct dp_driver *d)
{
	loop_post(d->loop, &post_new(d, POST_STOP)->msg);
}

void driver_post_ended(struct dp_driver *d)
{
	struct post *p = post_new(d, POST_ENDED);

	p->msg.fn = on_ended;
	loop_post(d->loop, &p->msg);
}
