/*
 * Replies of device plugins, merged as upstream does: if two resources set the same variable, path
 * or annotation, the first one wins. The pod's own environment and mounts take precedence over
 * plugins.
 */
#include "deviceplugin.pb-c.h"
#include "grpc/message.h"
#include "node/container/config_impl.h"

struct totals {
	size_t envs, mounts, devices, annotations, cdi;
};

static int unpack(const struct container_parts *parts, struct arena *a,
		  Deviceplugin__ContainerAllocateResponse ***ret, struct totals *n,
		  struct error *err)
{
	Deviceplugin__ContainerAllocateResponse **v = ARENA_ARRAY(
		a, Deviceplugin__ContainerAllocateResponse *, parts->nanswers + 1);

	*n = (struct totals){ parts->env.n, parts->nmounts, 0, 0, 0 };
	for (size_t i = 0; i < parts->nanswers; i++) {
		void *m = NULL;
		int r = grpc_message_unpack(&deviceplugin__container_allocate_response__descriptor,
					    parts->answers[i], a, &m, err);

		if (r < 0)
			return error_wrap(err, r, "the answer of a device plugin");
		v[i] = m;
		n->envs += v[i]->n_envs;
		n->mounts += v[i]->n_mounts;
		n->devices += v[i]->n_devices;
		n->annotations += v[i]->n_annotations;
		n->cdi += v[i]->n_cdi_devices;
	}
	*ret = v;
	return 0;
}

static bool has_key(const struct runtime_pairs *p, struct str key)
{
	for (size_t i = 0; i < p->n; i++) {
		if (str_eq(p->v[i].key, key))
			return true;
	}
	return false;
}

static void add_pair(struct runtime_pairs *to, const struct runtime_pairs *unless,
		     const Deviceplugin__Pair *m)
{
	struct str key = str_from(m->key);

	if (!has_key(to, key) && !(unless && has_key(unless, key)))
		to->v[to->n++] = (struct runtime_pair){ key, str_from(m->value) };
}

static bool has_mount(const struct runtime_mount *v, size_t n, struct str path)
{
	for (size_t i = 0; i < n; i++) {
		if (str_eq(v[i].container_path, path))
			return true;
	}
	return false;
}

static void add_mount(struct container_spec *io, const struct container_parts *parts,
		      const Deviceplugin__Mount *m)
{
	struct str path = str_from(m->container_path);

	if (has_mount(io->mounts, io->nmounts, path) ||
	    has_mount(parts->mounts, parts->nmounts, path))
		return;
	io->mounts[io->nmounts++] = (struct runtime_mount){ .container_path = path,
							    .host_path = str_from(m->host_path),
							    .readonly = m->read_only };
}

static void config_devices_add_device(struct container_spec *io, const Deviceplugin__DeviceSpec *m)
{
	struct str path = str_from(m->container_path);

	for (size_t i = 0; i < io->ndevices; i++) {
		if (str_eq(io->devices[i].container_path, path))
			return;
	}
	io->devices[io->ndevices++] = (struct runtime_device){ .container_path = path,
							       .host_path = str_from(m->host_path),
							       .permissions = str_from(
								       m->permissions) };
}

static void add_answer(const Deviceplugin__ContainerAllocateResponse *m,
		       const struct container_parts *parts, struct container_spec *io,
		       struct runtime_strs *cdi)
{
	for (size_t i = 0; i < m->n_envs; i++)
		add_pair(&io->env, &parts->env, m->envs[i]);
	for (size_t i = 0; i < m->n_mounts; i++)
		add_mount(io, parts, m->mounts[i]);
	for (size_t i = 0; i < m->n_devices; i++)
		config_devices_add_device(io, m->devices[i]);
	for (size_t i = 0; i < m->n_annotations; i++)
		add_pair(&io->annotations, NULL, m->annotations[i]);
	for (size_t i = 0; i < m->n_cdi_devices; i++)
		cdi->v[cdi->n++] = str_from(m->cdi_devices[i]->name);
}

int config_answers(const struct container_parts *parts, struct arena *a, struct container_spec *io,
		   struct runtime_strs *ret_cdi, struct error *err)
{
	Deviceplugin__ContainerAllocateResponse **answers = NULL;
	struct totals n;
	int r = unpack(parts, a, &answers, &n, err);

	if (r < 0)
		return r;
	io->env.v = ARENA_ARRAY(a, struct runtime_pair, n.envs + 1);
	io->mounts = ARENA_ARRAY(a, struct runtime_mount, n.mounts + 1);
	io->devices = ARENA_ARRAY(a, struct runtime_device, n.devices + 1);
	io->annotations.v = ARENA_ARRAY(a, struct runtime_pair, n.annotations + 1);
	*ret_cdi = (struct runtime_strs){ .v = ARENA_ARRAY(a, struct str, n.cdi + 1) };
	for (size_t i = 0; i < parts->nanswers; i++)
		add_answer(answers[i], parts, io, ret_cdi);
	for (size_t i = 0; i < parts->env.n; i++)
		io->env.v[io->env.n++] = parts->env.v[i];
	for (size_t i = 0; i < parts->nmounts; i++)
		io->mounts[io->nmounts++] = parts->mounts[i];
	return 0;
}
