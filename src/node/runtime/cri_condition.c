/*
 * Version identifies the runtime; Status shows whether it and its network are ready. No call
 * returns whether it supports CDI. containerd shows its configuration in a verbose status: versions
 * before 1.7 have no such setting, versions from 2.0 on support CDI unless configured otherwise.
 * CRI-O supports it from 1.28 on. The configuration is long, so it is requested once per version.
 */
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "node/node_limits.h"
#include "node/runtime/cri_image.h"
#include "node/runtime/cri_impl.h"
#include "node/runtime/cri_messages.h"

/* --- CDI ------------------------------------------------------------------------------------ */

/* "1.6.20~ds1", "v2.0.1": the first two numbers. */
static bool version_from(struct str version, uint64_t major, uint64_t minor)
{
	uint64_t have[2] = { 0, 0 };
	size_t i = 0, part = 0;

	if (i < version.n && version.p[i] == 'v')
		i++;
	for (; i < version.n && part < 2; i++) {
		if (version.p[i] == '.')
			part++;
		else if (version.p[i] >= '0' && version.p[i] <= '9' && have[part] < 100000)
			have[part] = have[part] * 10 + (uint64_t)(version.p[i] - '0');
		else
			break;
	}
	return have[0] > major || (have[0] == major && have[1] >= minor);
}

bool cri_does_cdi(struct str name, struct str version, struct str config)
{
	CLEANUP(arena_release) struct arena a;
	struct json *tree = NULL;
	bool enabled;

	arena_init(&a, CRI_MESSAGE_MAX);
	if (str_eqz(name, "cri-o"))
		return version_from(version, 1, 28);
	if (!str_eqz(name, "containerd"))
		return false;
	if (json_parse(&a, config, NULL, &tree, NULL) == 0 &&
	    json_bool(json_getz(tree, "enableCDI"), &enabled))
		return enabled;
	return version_from(version, 2, 0);
}

/* --- control groups ------------------------------------------------------------------------- */

const char *cri_cgroup_driver(struct str config)
{
	CLEANUP(arena_release) struct arena a;
	const struct json *containerd, *options;
	struct json *tree = NULL;
	bool systemd = false;

	arena_init(&a, CRI_MESSAGE_MAX);
	if (json_parse(&a, config, NULL, &tree, NULL) < 0)
		return NULL;
	containerd = json_getz(tree, "containerd");
	options = json_getz(json_get(json_getz(containerd, "runtimes"),
				     json_text_at(containerd, "defaultRuntimeName")),
			    "options");
	if (!json_is(options, JSON_OBJECT))
		return NULL;
	(void)json_bool(json_getz(options, "SystemdCgroup"), &systemd);
	return systemd ? "systemd" : "cgroupfs";
}

/*
 * Older versions of containerd do not say that the image of sandboxes is pinned; it is only in
 * their configuration.
 */
static void take_sandbox_image(struct runtime_cri *r, struct str config)
{
	CLEANUP(arena_release) struct arena a;
	struct str image, full;
	struct json *tree;

	arena_init(&a, CRI_MESSAGE_MAX);
	if (json_parse(&a, config, NULL, &tree, NULL) < 0)
		return;
	image = json_text_at(tree, "sandboxImage");
	if (image.n == 0 || cri_image_full(image, &a, &full, NULL) < 0)
		return;
	free(r->sandbox_image);
	r->sandbox_image = str_dup(full);
}

/* --- the two calls -------------------------------------------------------------------------- */

static const Cri__RuntimeCondition *runtime_cri_condition(const Cri__StatusResponse *m,
							  const char *type)
{
	for (size_t i = 0; m->status && i < m->status->n_conditions; i++) {
		if (strcmp(m->status->conditions[i]->type, type) == 0)
			return m->status->conditions[i];
	}
	return NULL;
}

/* Upstream's messages. */
static void why_not(struct buf *b, const char *what, const Cri__RuntimeCondition *c)
{
	if (c && c->status)
		return;
	if (b->n > 0)
		(void)buf_addz(b, "; ");
	if (c)
		(void)buf_printf(b, "%s not ready: %s=false reason:%s message:%s", what, c->type,
				 c->reason, c->message);
	else
		(void)buf_printf(b, "%s not ready: the runtime says nothing of it", what);
}

static void status_done(struct cri_op *op, const void *reply, const struct error *err)
{
	const Cri__StatusResponse *m = reply;
	CLEANUP(buf_release) struct buf why = BUF_INIT(KIB);
	const Cri__RuntimeCondition *runtime, *network;
	struct runtime_condition c = { 0 };

	if (err) {
		op->condition_done(op->arg, NULL, err);
		return;
	}
	runtime = runtime_cri_condition(m, "RuntimeReady");
	network = runtime_cri_condition(m, "NetworkReady");
	why_not(&why, "container runtime", runtime);
	why_not(&why, "container runtime network", network);
	if (m->n_info > 0) {
		op->r->cgroup_driver = cri_cgroup_driver(cri_pair(m->info, m->n_info, "config"));
		op->r->does_cdi = cri_does_cdi(str_from(op->r->name), str_from(op->r->version),
					       cri_pair(m->info, m->n_info, "config"));
		take_sandbox_image(op->r, cri_pair(m->info, m->n_info, "config"));
	}
	c.runtime_ready = runtime && runtime->status;
	c.network_ready = network && network->status;
	c.message = buf_str(&why);
	c.name = str_from(op->r->name);
	c.version = str_from(op->r->version);
	c.cgroup_driver = op->r->cgroup_driver;
	c.does_cdi = op->r->does_cdi;
	op->condition_done(op->arg, &c, NULL);
}

static void version_done(struct cri_op *op, const void *reply, const struct error *err)
{
	const Cri__VersionResponse *m = reply;
	struct runtime_cri *r = op->r;
	Cri__StatusRequest request = CRI__STATUS_REQUEST__INIT;
	struct cri_op next = *op;

	if (err) {
		op->condition_done(op->arg, NULL, err);
		return;
	}
	if (!r->version || strcmp(r->version, m->runtime_version) != 0 ||
	    strcmp(r->name, m->runtime_name) != 0) {
		free(r->name);
		free(r->version);
		r->name = xstrdup(m->runtime_name);
		r->version = xstrdup(m->runtime_version);
		r->does_cdi = cri_does_cdi(str_from(r->name), str_from(r->version), STR_NULL);
		r->cgroup_driver = NULL;
		request.verbose = true;
	}
	next.method = CRI_STATUS;
	next.fn = status_done;
	cri_call(&next, &request.base, CRI_TIMEOUT_MS);
}

void cri_condition(struct runtime *rt, runtime_condition_done *done, void *arg)
{
	struct cri_op op = { .r = CONTAINER_OF(rt, struct runtime_cri, runtime),
			     .method = CRI_VERSION,
			     .fn = version_done };
	Cri__VersionRequest m = CRI__VERSION_REQUEST__INIT;

	op.condition_done = done;
	op.arg = arg;
	/* Kubelet's own version of the interface, which runtimes ignore. */
	m.version = (char *)"0.1.0";
	cri_call(&op, &m.base, CRI_TIMEOUT_MS);
}
