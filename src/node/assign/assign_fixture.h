/*
 * assign_fixture - logs, pods and lists in short form, for the tests of src/node/assign.
 */
#ifndef NODE_ASSIGN_ASSIGN_FIXTURE_H
#define NODE_ASSIGN_ASSIGN_FIXTURE_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "node/assign/assign.h"
#include "node/host/machine.h"

#define GPU "vendor.com/gpu"

struct fixture {
	struct machine machine;
	struct assign *s;
	struct arena a;
	struct error err;
	struct assign_admission io;
};

static inline void fixture_init(struct fixture *f, struct assign_opts opts, int cpus, int numa)
{
	*f = (struct fixture){ 0 };
	machine_make(&f->machine, cpus, INT64_C(16) << 30, numa);
	opts.machine = &f->machine;
	arena_init(&f->a, SIZE_MAX);
	if (assign_new(&opts, &f->s, &f->err) < 0)
		fail_msg("%s", f->err.msg);
}

static inline void fixture_release_cleanup(struct fixture *f)
{
	assign_free(f->s);
	machine_release(&f->machine);
	arena_release(&f->a);
}

/*
 * Lists one device per letter, all with this health. Upper-case ones are on NUMA node 1, others on
 * 0.
 */
static inline void fixture_list(struct fixture *f, const char *resource, const char *letters,
				enum assign_health health)
{
	static const int64_t nodes[] = { 0, 1 };
	size_t n = strlen(letters);
	struct assign_device *v = ARENA_ARRAY(&f->a, struct assign_device, n);

	for (size_t i = 0; i < n; i++) {
		bool upper = letters[i] >= 'A' && letters[i] <= 'Z';

		v[i] = (struct assign_device){ .id = str_of(&letters[i], 1),
					       .health = health,
					       .numa = &nodes[upper],
					       .nnuma = 1,
					       .has_topology = true };
	}
	assign_set_resource(f->s, str_from(resource), v, n);
}

/* spec.containers is `main`, spec.initContainers is `init`, both JSON; the uid is also the name. */
static inline struct pod *fixture_pod(struct fixture *f, const char *uid, const char *init,
				      const char *containers)
{
	struct pod *p = NULL;
	char *text = arena_printf(
		&f->a,
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"%s\"}"
		",\"spec\":{\"initContainers\":[%s],\"containers\":[%s]}}",
		uid, uid, init, containers);

	if (pod_parse(str_from(text), &p, &f->err) < 0)
		fail_msg("%s: %s", f->err.msg, text);
	arena_hold(&f->a, (void (*)(void *))pod_unref, p);
	return p;
}

/* A container with limits, JSON without braces. */
static inline char *fixture_container(struct fixture *f, const char *name, const char *limits)
{
	return arena_printf(&f->a, "{\"name\":\"%s\",\"resources\":{\"limits\":{%s}}}", name,
			    limits);
}

/* A container with n GPUs. */
static inline char *fixture_gpus(struct fixture *f, const char *name, int n)
{
	return fixture_container(f, name, arena_printf(&f->a, "\"" GPU "\":\"%d\"", n));
}

static inline int fixture_admit(struct fixture *f, const struct pod *p)
{
	return assign_admit(f->s, p, &f->a, &f->io, &f->err);
}

/* Admits a pod with one container that has this many GPUs. */
static inline struct pod *fixture_run(struct fixture *f, const char *uid, int gpus)
{
	struct pod *p = fixture_pod(f, uid, "", fixture_gpus(f, "main", gpus));

	if (fixture_admit(f, p) < 0)
		fail_msg("%s", f->err.msg);
	return p;
}

/*
 * The pod's present or past devices: "container:ids " for GPUs, "claim=driver/pool/device " for
 * claims.
 */
static inline char *fixture_uses(struct fixture *f, const char *uid)
{
	const struct assign_use *v;
	size_t n = assign_uses(f->s, str_from(uid), &f->a, &v);
	struct str last = STR_NULL;
	char *text = arena_strdup(&f->a, STR(""));

	for (size_t i = 0; i < n; i++) {
		if (v[i].pod_claim.n > 0)
			text = arena_printf(&f->a, "%s%.*s=%.*s/%.*s/%.*s ", text,
					    STR_ARG(v[i].pod_claim), STR_ARG(v[i].device.driver),
					    STR_ARG(v[i].device.pool), STR_ARG(v[i].device.device));
		else if (last.p && str_eq(last, v[i].container))
			text = arena_printf(&f->a, "%s%.*s", text, STR_ARG(v[i].id));
		else
			text = arena_printf(&f->a, "%s%s%.*s:%.*s", text, last.p ? " " : "",
					    STR_ARG(v[i].container), STR_ARG(v[i].id));
		last = v[i].container;
	}
	return text;
}

static inline char *fixture_encode(struct fixture *f)
{
	struct buf b = BUF_INIT(64 * MIB);
	char *text;

	assert_int_equal(assign_encode(f->s, &b), 0);
	text = arena_strdup(&f->a, buf_str(&b));
	buf_release(&b);
	return text;
}

#endif
