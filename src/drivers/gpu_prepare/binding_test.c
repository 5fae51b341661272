/*
 * Random claims with failures and crashes, on the library that stands in for NVML and by the real
 * binding: random_test has its own binding, and can stop at steps between calls. Here calls fail,
 * and processes die before and after them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/random.h"
#include "drivers/gpu_inventory/gpu_fixture.h"
#include "drivers/gpu_prepare/prepare.h"
#include "drivers/nvml/nvml_fixture.h"

enum { GPUS = 2, CLAIMS = 5, WANTS = 2, SEQUENCES = 10000, STEPS = 3, DONE = 7, FAILED = 8 };
enum { MEDIA_PROFILE = 20 /* 1g.18gb+me: one on a GPU */, NVML_CODE_IO = 999 };

static const char *const calls[] = {
	"nvmlDeviceSetMigMode",
	"nvmlDeviceGetGpuInstances",
	"nvmlDeviceCreateGpuInstanceWithPlacement",
	"nvmlGpuInstanceGetInfo",
	"nvmlGpuInstanceCreateComputeInstance",
	"nvmlComputeInstanceGetInfo_v2",
	"nvmlDeviceGetHandleByUUID",
	"nvmlComputeInstanceDestroy",
	"nvmlGpuInstanceDestroy",
};

struct model_claim {
	char uid[16];
	struct gpu_want wants[WANTS];
	size_t n;
	bool prepared;
};

struct model {
	struct nvml_fixture *f;
	char dir[64], path[96];
	struct arena arena, scratch;
	struct gpu_source sources[GPUS];
	struct gpu_inventory inventory;
	struct gpu_prepare *prepare;
	struct buf notes;
	struct prng g;
	struct model_claim claims[CLAIMS];
	struct error err;
	uint64_t prepares, refused, undos, failures, crashes;
};

/* --- the driver ------------------------------------------------------------------------------ */

static void start(struct model *m)
{
	struct gpu_prepare_options o = { .path = m->path, .boot_id = "boot-1" };

	assert_int_equal(gpu_prepare_open(&o, &m->prepare, &m->err), 0);
	buf_clear(&m->notes);
	if (gpu_prepare_start(m->prepare, m->f->nvml, m->f->gpus, GPUS, &m->notes, &m->err) < 0)
		fail_msg("%s", m->err.msg);
}

static void restart(struct model *m)
{
	gpu_prepare_close(TAKE(m->prepare));
	start(m);
}

static int call(struct model *m, const struct model_claim *c, bool undo)
{
	struct gpu_claim id = { .uid = str_from(c->uid), .ns = STR("d"), .name = str_from(c->uid) };
	struct gpu_prepared ret[WANTS];

	arena_clear(&m->scratch);
	return undo ? gpu_claim_undo(m->prepare, m->f->nvml, id.uid, &m->err)
		    : gpu_claim_prepare(m->prepare, m->f->nvml, &id, c->wants, c->n, &m->scratch,
					ret, &m->err);
}

/* --- checks ---------------------------------------------------------------------------------- */

static bool is_of(const struct model_claim *c, const struct nvml_gpu *g,
		  const struct nvml_instance *i)
{
	for (size_t k = 0; c->prepared && k < c->n; k++) {
		const struct gpu_device *d = c->wants[k].device;

		if (d->kind == GPU_MIG && str_eq(d->source->gpu.uuid, g->uuid) &&
		    d->profile->id == i->profile && d->place.start == i->place.start)
			return true;
	}
	return false;
}

/* Returns how many instances the GPU has; each is of one prepared claim, and usable. */
static size_t check_gpu(struct model *m, const struct nvml_gpu *g)
{
	struct nvml_instance *v = NULL;
	enum nvml_mig mode;
	size_t n = 0;

	arena_clear(&m->scratch);
	assert_int_equal(nvml_instances(m->f->nvml, g, &m->scratch, &v, &n, &m->err), 0);
	assert_int_equal(nvml_get_mig(m->f->nvml, g, &mode, &m->err), 0);
	assert_int_equal(mode == NVML_MIG_ON, n > 0);
	for (size_t i = 0; i < n; i++) {
		size_t owners = 0;

		for (size_t c = 0; c < CLAIMS; c++)
			owners += is_of(&m->claims[c], g, &v[i]);
		assert_int_equal(owners, 1);
		assert_int_equal(v[i].ncompute, 1);
	}
	return n;
}

static void check_all(struct model *m)
{
	size_t uses = 0, partitions = 0, there = 0, booked = 0;
	struct gpu_holder h;

	for (size_t c = 0; c < CLAIMS; c++)
		for (size_t k = 0; m->claims[c].prepared && k < m->claims[c].n; k++) {
			uses++;
			partitions += m->claims[c].wants[k].device->kind == GPU_MIG;
		}
	for (size_t g = 0; g < GPUS; g++)
		there += check_gpu(m, &m->f->gpus[g]);
	while (gpu_prepare_holder(m->prepare, booked, &h)) {
		assert_true(h.done);
		booked++;
	}
	assert_int_equal(there, partitions);
	assert_int_equal(booked, uses);
}

/* --- the model ------------------------------------------------------------------------------- */

static bool clash(const struct gpu_device *a, const struct gpu_device *b)
{
	if (a->source != b->source)
		return false;
	return a->kind == GPU_FULL || b->kind == GPU_FULL ||
	       gpu_places_overlap(a->place, b->place) ||
	       (a->profile->id == MEDIA_PROFILE && b->profile->id == MEDIA_PROFILE);
}

static void draw(struct model *m, struct model_claim *c)
{
	c->n = 1 + prng_below(&m->g, WANTS);
	for (size_t k = 0; k < c->n; k++)
		c->wants[k] = (struct gpu_want){
			.device = &m->inventory.devices[prng_below(&m->g, m->inventory.n)]
		};
	if (c->n == WANTS && clash(c->wants[0].device, c->wants[1].device))
		c->n = 1;
}

static bool is_taken(const struct model *m, const struct model_claim *c)
{
	for (size_t o = 0; o < CLAIMS; o++)
		for (size_t j = 0; m->claims[o].prepared && j < m->claims[o].n; j++)
			for (size_t k = 0; k < c->n; k++)
				if (clash(c->wants[k].device, m->claims[o].wants[j].device))
					return true;
	return false;
}

static void act_here(struct model *m, struct model_claim *c, bool undo, bool fail)
{
	bool taken = !undo && is_taken(m, c);
	int r;

	if (fail)
		fake_do(m->f, "fail %s %d 1", calls[prng_below(&m->g, ARRAY_SIZE(calls))],
			NVML_CODE_IO);
	r = call(m, c, undo);
	if (fail)
		fake_do(m->f, "heal");
	m->failures += fail && r < 0;
	m->refused += taken;
	if (r < 0 && !fail && !taken)
		fail_msg("claim %s: %s", c->uid, m->err.msg);
	assert_true(r < 0 || !taken);
	c->prepared = r == 0 && !undo;
	if (r < 0 && call(m, c, true) < 0)
		fail_msg("claim %s is not undone: %s", c->uid, m->err.msg);
	/* A mode that could not be switched off is switched off by the next start. */
	if (fail)
		restart(m);
}

static void act_and_die(struct model *m, struct model_claim *c, bool undo)
{
	int status;
	pid_t pid;

	fake_do(m->f, "%s %s", prng_below(&m->g, 2) ? "crash" : "crash-before",
		calls[prng_below(&m->g, ARRAY_SIZE(calls))]);
	pid = fork();
	if (pid == 0)
		_exit(call(m, c, undo) < 0 ? FAILED : DONE);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	m->crashes += WEXITSTATUS(status) == 1;
	fake_do(m->f, "heal");
	restart(m);
	/* The kubelet goes on with what it had begun. */
	if (undo && call(m, c, true) < 0)
		fail_msg("claim %s is not undone: %s", c->uid, m->err.msg);
	c->prepared = !undo && WEXITSTATUS(status) == DONE;
}

static void run_sequence(struct model *m)
{
	for (int step = 0; step < STEPS; step++) {
		struct model_claim *c = &m->claims[prng_below(&m->g, CLAIMS)];
		uint64_t what = prng_below(&m->g, 100);
		bool undo = c->prepared;

		if (!undo)
			draw(m, c);
		m->undos += undo;
		m->prepares += !undo;
		if (what < 5)
			act_and_die(m, c, undo);
		else
			act_here(m, c, undo, what < 20);
		if (what >= 97)
			restart(m);
	}
}

static void random_claims_leak_nothing_on_the_library(void **state)
{
	struct model *m = *state;

	prng_init(&m->g, 31);
	for (size_t c = 0; c < CLAIMS; c++)
		(void)snprintf(m->claims[c].uid, sizeof(m->claims[c].uid), "c%zu", c);
	for (int i = 0; i < SEQUENCES; i++) {
		run_sequence(m);
		check_all(m);
	}
	print_message("# %" PRIu64 " prepares, %" PRIu64 " refused, %" PRIu64 " undone, %" PRIu64
		      " failures, %" PRIu64 " crashes\n",
		      m->prepares, m->refused, m->undos, m->failures, m->crashes);
	assert_true(m->crashes > 300 && m->failures > 300);
}

/* --- the test -------------------------------------------------------------------------------- */

static int setup(void **state)
{
	struct model *m = XNEW(struct model);

	arena_init(&m->arena, 8 * MIB);
	arena_init(&m->scratch, 8 * MIB);
	buf_init(&m->notes, MIB);
	(void)fixture_begin((void **)&m->f);
	/* Files of the machine are not needed, and take most of the time. */
	(void)unsetenv("FAKE_NVML_ROOT");
	fixture_open_session(m->f);
	(void)snprintf(m->dir, sizeof(m->dir), "%s/gpu-binding-XXXXXX",
		       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(m->dir));
	(void)snprintf(m->path, sizeof(m->path), "%s/book.json", m->dir);
	for (size_t i = 0; i < GPUS; i++) {
		struct nvml_profile *v = NULL;

		m->sources[i] = (struct gpu_source){ .gpu = m->f->gpus[i], .numa = -1 };
		assert_int_equal(nvml_profiles(m->f->nvml, &m->f->gpus[i], &m->arena, &v,
					       &m->sources[i].nprofiles, NULL),
				 0);
		m->sources[i].profiles = v;
	}
	gpu_inventory_make(&m->arena, m->sources, GPUS, &gpu_fixture_options, &m->inventory);
	start(m);
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct model *m = *state;

	gpu_prepare_close(m->prepare);
	folder_fixture_remove(m->dir);
	(void)fixture_end((void **)&m->f);
	buf_release(&m->notes);
	arena_release(&m->scratch);
	arena_release(&m->arena);
	free(m);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(random_claims_leak_nothing_on_the_library, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("drivers/gpu_prepare_binding", tests, NULL, NULL);
}
