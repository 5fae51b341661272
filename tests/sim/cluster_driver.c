/*
 * Starts drivers, as cli/drivers/sim.c does for the real one, without its control socket.
 */
#include "cluster_driver.h"

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "drivers/sim/vendor.h"

static struct vendor *vendor_of(const struct cluster_role *role)
{
	return role->state == CLUSTER_UP ? role->impl : NULL;
}

static void command(struct vendor *v, unsigned device, enum vendor_command what)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);
	struct json_writer out;
	char name[16];

	(void)snprintf(name, sizeof(name), "gpu-%u", device);
	json_writer_init(&out, &text, NULL);
	(void)vendor_do(v, what, str_from(name), what == VENDOR_FAIL ? "broken by the test" : NULL,
			&out, NULL);
}

static int start(struct cluster_role *role, struct error *err)
{
	const struct cluster_hardware *h = role->arg;
	struct vendor_opts o = { .loop = role->loops[0],
				 .log = role->log,
				 .kind = "gpu",
				 .node_name = h->node,
				 .kubeconfig = role->kubeconfig,
				 .root_dir = h->root,
				 .cdi_dir = h->cdi,
				 .devices = CLUSTER_DEVICES };
	struct vendor *v = NULL;
	int r = vendor_new(&o, &v, err);

	role->impl = v;
	for (unsigned i = 0; r == 0 && i < CLUSTER_DEVICES; i++) {
		if (h->broken[i])
			command(v, i, VENDOR_FAIL);
		if (h->silent[i])
			command(v, i, VENDOR_SILENCE);
	}
	return r < 0 ? r : vendor_start(v, err);
}

static void stop(struct cluster_role *role, void (*done)(void *arg), void *arg)
{
	vendor_stop(role->impl, done, arg);
}

static void die(struct cluster_role *role, bool stopping UNUSED, void (*done)(void *arg), void *arg)
{
	vendor_kill(role->impl, done, arg);
}

static void drop(struct cluster_role *role)
{
	vendor_free(role->impl);
}

const struct cluster_role_ops cluster_driver_ops = {
	.start = start, .stop = stop, .drop = drop, .die = die, .nloops = 1
};

void cluster_driver_break(struct cluster_role *role, unsigned device, bool broken)
{
	struct cluster_hardware *h = role->arg;

	h->broken[device] = broken;
	h->silent[device] = false;
	if (vendor_of(role))
		command(role->impl, device, broken ? VENDOR_FAIL : VENDOR_HEAL);
}

void cluster_driver_silence(struct cluster_role *role, unsigned device)
{
	struct cluster_hardware *h = role->arg;

	h->silent[device] = true;
	if (vendor_of(role))
		command(role->impl, device, VENDOR_SILENCE);
}

struct each {
	void (*fn)(void *arg, const char *uid, const char *device);
	void *arg;
};

static void on_claim(void *arg, const struct dp_claim *c)
{
	const struct each *e = arg;
	const struct dp_result *r;

	for (size_t i = 0; (r = dp_claim_result(c, i)); i++)
		e->fn(e->arg, dp_claim_uid(c), r->device);
}

void cluster_driver_each(const struct cluster_role *role,
			 void (*fn)(void *arg, const char *uid, const char *device), void *arg)
{
	struct each e = { fn, arg };

	if (vendor_of(role))
		vendor_each_claim(role->impl, on_claim, &e);
}
