/*
 * nvml_probe - prints what the NVML binding reads on this machine, with the time of each call.
 *
 *   nvml_probe [--library PATH] [--events SECONDS] [--gpu INDEX]
 *              [--mig | --placements | --sets | --times ROUNDS | --clean]
 *
 * It changes nothing unless one of the last five is given. These need root, and a GPU (INDEX,
 * default 0) without processes and, except for --clean, with MIG off. They switch MIG on, and off
 * again at the end, also after a failure, SIGINT, SIGTERM or SIGHUP:
 *
 *   --mig         creates and destroys each profile once: GPU instance, compute instance, UUID
 *   --placements  does that in every place, and again: ids and UUIDs must be the same
 *   --sets        creates every set of GPU instances whose memory slices do not overlap, and checks
 *                 that NVML refuses all others (some minutes)
 *   --times       makes and removes an instance of each profile ROUNDS times, with MIG switched on
 *                 and off each time, and prints "times PROFILE MAKE REMOVE" in ms for each
 *   --clean       destroys all instances of the GPU, also foreign ones, and switches MIG off
 *
 * The exit code is 0 if everything was as expected and nothing was interrupted.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "drivers/nvml/nvml.h"

enum { PROBE_PLACES = 64, PROBE_EVENT_MS = 200 };

struct probe {
	const char *library;
	int64_t events_s;
	size_t gpu;
	bool mig, placements, sets, clean;
	int64_t rounds; /* of --times */
	struct nvml *nvml;
	struct arena arena;
	struct nvml_gpu *gpus;
	size_t ngpus;
	int failures;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int signum)
{
	(void)signum;
	interrupted = 1;
}

static int64_t now_us(void)
{
	return clock_monotonic(clock_system()) / 1000;
}

/* Prints a step with its time, and counts a failure. Returns r. */
static int report(struct probe *p, const char *what, int64_t since_us, int r,
		  const struct error *err)
{
	int64_t us = now_us() - since_us;

	(void)printf("  %-34s %4" PRId64 ".%03" PRId64 " ms", what, us / 1000, us % 1000);
	if (r < 0) {
		(void)printf("  %s: %s", error_reason(r), err->msg);
		p->failures++;
	}
	(void)printf("\n");
	return r;
}

static void expect(struct probe *p, bool true_here, const char *what)
{
	if (true_here)
		return;
	(void)printf("  NOT AS EXPECTED: %s\n", what);
	p->failures++;
}

/* --- reading --------------------------------------------------------------------------------- */

static int read_versions(struct probe *p)
{
	struct error err = { 0 };
	struct str driver = STR_NULL;
	int64_t t = now_us();
	int cuda = 0, r;

	r = nvml_open(p->library, &p->nvml, &err);
	if (report(p, "open", t, r, &err) < 0)
		return r;
	t = now_us();
	r = nvml_versions(p->nvml, &p->arena, &driver, &cuda, &err);
	if (report(p, "versions", t, r, &err) == 0)
		(void)printf("    driver %.*s, CUDA %d.%d\n", STR_ARG(driver), cuda / 1000,
			     cuda % 1000 / 10);
	return 0;
}

static const char *mig_text(enum nvml_mig m)
{
	return m == NVML_MIG_NONE ? "none" : m == NVML_MIG_ON ? "on" : "off";
}

static int read_gpus(struct probe *p)
{
	struct error err = { 0 };
	struct str skipped = STR_NULL;
	int64_t t = now_us();
	int r = nvml_gpus(p->nvml, &p->arena, &p->gpus, &p->ngpus, &skipped, &err);

	if (report(p, "gpus", t, r, &err) < 0)
		return r;
	if (skipped.n)
		(void)printf("    left out: %.*s\n", STR_ARG(skipped));
	for (size_t i = 0; i < p->ngpus; i++) {
		const struct nvml_gpu *g = &p->gpus[i];

		(void)printf("    %zu %.*s \"%.*s\" brand %.*s architecture %.*s compute %d.%d\n",
			     i, STR_ARG(g->uuid), STR_ARG(g->name), STR_ARG(g->brand),
			     STR_ARG(g->architecture), g->cc_major, g->cc_minor);
		(void)printf("      minor %u pci %.*s addressing %.*s memory %" PRIu64
			     " MiB MIG %s (pending %s)\n",
			     g->minor, STR_ARG(g->pci), STR_ARG(g->addressing), g->memory >> 20,
			     mig_text(g->mig), mig_text(g->mig_pending));
	}
	return 0;
}

static void print_profile(const struct nvml_profile *f)
{
	(void)printf("    %2u (%u) %-14.*s slices %u SM %3u CE %u dec %u enc %u jpg %u ofa %u "
		     "%6" PRIu64 " MiB at most %u at",
		     f->id, f->number, STR_ARG(f->name), f->slices, f->multiprocessors,
		     f->copy_engines, f->decoders, f->encoders, f->jpeg_engines, f->ofa_engines,
		     f->memory >> 20, f->instances);
	for (size_t i = 0; i < f->nplacements; i++)
		(void)printf(" %u:%u", f->placements[i].start, f->placements[i].size);
	(void)printf("\n");
}

static void read_mig(struct probe *p, const struct nvml_gpu *g)
{
	struct nvml_profile *profiles;
	struct nvml_instance *all;
	struct error err = { 0 };
	int64_t t = now_us();
	size_t n = 0;

	if (report(p, "profiles", t, nvml_profiles(p->nvml, g, &p->arena, &profiles, &n, &err),
		   &err) == 0) {
		for (size_t i = 0; i < n; i++)
			print_profile(&profiles[i]);
	}
	t = now_us();
	if (report(p, "instances", t, nvml_instances(p->nvml, g, &p->arena, &all, &n, &err), &err) <
	    0)
		return;
	for (size_t i = 0; i < n; i++)
		(void)printf("    gi %u profile %u at %u:%u with %zu compute instances\n",
			     all[i].id, all[i].profile, all[i].place.start, all[i].place.size,
			     all[i].ncompute);
}

static size_t read_processes(struct probe *p, const struct nvml_gpu *g)
{
	struct nvml_process *all = NULL;
	struct error err = { 0 };
	int64_t t = now_us();
	size_t n = 0;

	(void)report(p, "processes", t, nvml_processes(p->nvml, g, &p->arena, &all, &n, &err),
		     &err);
	for (size_t i = 0; i < n; i++)
		(void)printf("    pid %u gi %d ci %d memory %" PRIu64 " MiB\n", all[i].pid,
			     (int)all[i].gi, (int)all[i].ci, all[i].memory >> 20);
	return n;
}

static void read_state(struct probe *p, const struct nvml_gpu *g)
{
	struct nvml_condition c = { 0 };
	struct nvml_sample s = { 0 };
	struct error err = { 0 };
	int64_t t = now_us();

	if (report(p, "poll", t, nvml_poll(p->nvml, g, &c, &err), &err) == 0)
		(void)printf(
			"    known 0x%x recovery %u remap pending %d failed %d clocks 0x%" PRIx64
			"\n",
			c.known, c.recovery, c.remap_pending, c.remap_failed, c.clock_reasons);
	t = now_us();
	if (report(p, "sample", t, nvml_measure(p->nvml, g, &s, &err), &err) == 0)
		(void)printf("    known 0x%x use %u%% memory %u%% %" PRIu64 " of %" PRIu64
			     " MiB %u C %u mW ecc %" PRIu64 " %" PRIu64 " clocks 0x%" PRIx64 "\n",
			     s.known, s.utilization, s.memory_utilization, s.memory_used >> 20,
			     s.memory_total >> 20, s.temperature, s.power, s.ecc_corrected,
			     s.ecc_uncorrected, s.clock_reasons);
	(void)read_processes(p, g);
}

static void read_events(struct probe *p)
{
	int64_t until = now_us() + p->events_s * 1000000, t = now_us();
	struct nvml_events *set = NULL;
	struct error err = { 0 };
	int r = nvml_events_open(p->nvml, p->gpus, p->ngpus, &set, &err);

	if (report(p, "events", t, r, &err) < 0)
		return;
	while (r >= 0 && !interrupted && now_us() < until) {
		struct nvml_event e;

		r = nvml_events_wait(set, PROBE_EVENT_MS, &e, &err);
		for (size_t i = 0; r == 1 && i < p->ngpus; i++) {
			if (p->gpus[i].handle == e.gpu)
				(void)printf("    gpu %zu type 0x%" PRIx64 " data %" PRIu64
					     " gi %d ci %d\n",
					     i, e.type, e.data, (int)e.gi, (int)e.ci);
		}
	}
	if (r < 0)
		(void)report(p, "wait for events", now_us(), r, &err);
	nvml_events_close(set);
}

/* --- changing -------------------------------------------------------------------------------- */

/* Creates and destroys one instance, with its compute instance. */
static void try_instance(struct probe *p, const struct nvml_profile *f, struct nvml_placement at,
			 uint32_t *gi, struct str *uuid)
{
	const struct nvml_gpu *g = &p->gpus[p->gpu];
	struct error err = { 0 };
	uint32_t ci = 0, again;
	int64_t t = now_us();
	int r;

	(void)printf("  %.*s at %u:%u\n", STR_ARG(f->name), at.start, at.size);
	r = nvml_create_instance(p->nvml, g, f->id, at, gi, &err);
	if (report(p, "create GPU instance", t, r, &err) < 0)
		return;
	t = now_us();
	r = nvml_create_instance(p->nvml, g, f->id, at, &again, NULL);
	(void)report(p, "create it again (refused)", t, 0, NULL);
	expect(p, r == -ERR_TOO_LARGE, "creating the same instance again finds no room");
	t = now_us();
	r = nvml_create_compute(p->nvml, g, *gi, f->slices, &ci, &err);
	if (report(p, "create compute instance", t, r, &err) == 0) {
		t = now_us();
		r = nvml_mig_uuid(p->nvml, g, *gi, ci, &p->arena, uuid, &err);
		if (report(p, "UUID", t, r, &err) == 0)
			(void)printf("    gi %u ci %u %.*s\n", *gi, ci, STR_ARG(*uuid));
		r = nvml_destroy_instance(p->nvml, g, *gi, NULL);
		expect(p, r == -ERR_CONFLICT, "a GPU instance with a compute instance is in use");
		t = now_us();
		r = nvml_destroy_compute(p->nvml, g, *gi, ci, &err);
		(void)report(p, "destroy compute instance", t, r, &err);
	}
	r = nvml_set_mig(p->nvml, g, false, NULL);
	expect(p, r == -ERR_CONFLICT, "MIG stays on while a GPU instance exists");
	t = now_us();
	r = nvml_destroy_instance(p->nvml, g, *gi, &err);
	(void)report(p, "destroy GPU instance", t, r, &err);
}

static void try_profile(struct probe *p, const struct nvml_profile *f)
{
	size_t places = p->placements ? f->nplacements : MIN(f->nplacements, (size_t)1);

	for (size_t i = 0; i < places && !interrupted; i++) {
		struct str first = STR_NULL, second = STR_NULL;
		uint32_t a = 0, b = 0;

		try_instance(p, f, f->placements[i], &a, &first);
		if (!p->placements || interrupted)
			continue;
		try_instance(p, f, f->placements[i], &b, &second);
		expect(p, a == b, "the same place has the same GPU instance id again");
		expect(p, str_eq(first, second), "the same place has the same UUID again");
	}
}

struct place {
	const struct nvml_profile *profile;
	struct nvml_placement at;
};

struct sets {
	struct probe *p;
	struct place places[PROBE_PLACES];
	size_t nplaces;
	const struct place *taken[PROBE_PLACES];
	size_t ntaken;
	size_t found;
	int64_t next_line_us;
};

static bool set_has_room(const struct sets *s, const struct place *l)
{
	uint32_t same = 0;

	for (size_t i = 0; i < s->ntaken; i++) {
		const struct place *o = s->taken[i];

		if (l->at.start < o->at.start + o->at.size &&
		    o->at.start < l->at.start + l->at.size)
			return false;
		same += o->profile == l->profile;
	}
	return same < l->profile->instances;
}

static void set_mismatch(struct sets *s, const struct place *l, int r)
{
	(void)printf("  NOT AS EXPECTED: %.*s at %u %s on top of", STR_ARG(l->profile->name),
		     l->at.start, r < 0 ? error_reason(r) : "fits");
	for (size_t i = 0; i < s->ntaken; i++)
		(void)printf(" %.*s@%u", STR_ARG(s->taken[i]->profile->name),
			     s->taken[i]->at.start);
	(void)printf("\n");
	s->p->failures++;
}

/* Tries every place on top of the set; goes deeper with those behind `from`. */
static void walk_sets(struct sets *s, size_t from)
{
	const struct nvml_gpu *g = &s->p->gpus[s->p->gpu];

	s->found++;
	if (now_us() >= s->next_line_us) {
		(void)printf("  %zu sets so far\n", s->found);
		s->next_line_us = now_us() + 10000000;
	}
	for (size_t i = 0; i < s->nplaces && !interrupted; i++) {
		const struct place *l = &s->places[i];
		bool room = set_has_room(s, l);
		uint32_t gi;
		int r;

		/* A set is walked in one order only; refusals are tried everywhere. */
		if (room && i < from)
			continue;
		r = nvml_create_instance(s->p->nvml, g, l->profile->id, l->at, &gi, NULL);
		if (r != (room ? 0 : -ERR_TOO_LARGE))
			set_mismatch(s, l, r);
		if (r < 0)
			continue;
		s->taken[s->ntaken++] = l;
		if (room)
			walk_sets(s, i + 1);
		s->ntaken--;
		expect(s->p, nvml_destroy_instance(s->p->nvml, g, gi, NULL) == 0,
		       "an instance of a set can be destroyed");
	}
}

static void try_sets(struct probe *p, const struct nvml_profile *profiles, size_t n)
{
	struct sets s = { .p = p };
	int64_t t = now_us();

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < profiles[i].nplacements && s.nplaces < PROBE_PLACES; k++)
			s.places[s.nplaces++] = (struct place){ &profiles[i],
								profiles[i].placements[k] };
	}
	walk_sets(&s, 0);
	(void)report(p, "every set", t, 0, NULL);
	(void)printf("    %zu sets of %zu placements\n", s.found, s.nplaces);
}

/* The calls that a claim for one partition needs, and no others. */
static int make_once(struct probe *p, const struct nvml_profile *f, uint32_t *gi, uint32_t *ci,
		     struct error *err)
{
	const struct nvml_gpu *g = &p->gpus[p->gpu];
	struct str uuid;
	int r = nvml_set_mig(p->nvml, g, true, err);

	if (r == 0)
		r = nvml_create_instance(p->nvml, g, f->id, f->placements[0], gi, err);
	if (r == 0)
		r = nvml_create_compute(p->nvml, g, *gi, f->slices, ci, err);
	if (r == 0)
		r = nvml_mig_uuid(p->nvml, g, *gi, *ci, &p->arena, &uuid, err);
	return r;
}

static int remove_once(struct probe *p, uint32_t gi, uint32_t ci, struct error *err)
{
	const struct nvml_gpu *g = &p->gpus[p->gpu];
	int r = nvml_destroy_compute(p->nvml, g, gi, ci, err);

	if (r == 0)
		r = nvml_destroy_instance(p->nvml, g, gi, err);
	if (r == 0)
		r = nvml_set_mig(p->nvml, g, false, err);
	return r;
}

static void time_profile(struct probe *p, const struct nvml_profile *f)
{
	for (int64_t i = 0; i < p->rounds && f->nplacements && !interrupted; i++) {
		int64_t begun = now_us(), made, removed;
		uint32_t gi = 0, ci = 0;
		struct error err = { 0 };

		if (make_once(p, f, &gi, &ci, &err) < 0) {
			(void)report(p, "make", begun, -err.code, &err);
			return;
		}
		made = now_us();
		if (remove_once(p, gi, ci, &err) < 0) {
			(void)report(p, "remove", made, -err.code, &err);
			return;
		}
		removed = now_us();
		(void)printf("times %.*s %.3f %.3f\n", STR_ARG(f->name),
			     (double)(made - begun) / 1000, (double)(removed - made) / 1000);
	}
}

/* Without --clean there were no instances at the start, so all of them are ours. */
static void clean_up(struct probe *p, const struct nvml_gpu *g)
{
	struct nvml_instance *all = NULL;
	struct error err = { 0 };
	size_t n = 0;
	int64_t t = now_us();
	int r;

	(void)nvml_instances(p->nvml, g, &p->arena, &all, &n, NULL);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < all[i].ncompute; k++)
			(void)nvml_destroy_compute(p->nvml, g, all[i].id, all[i].compute[k], NULL);
		(void)nvml_destroy_instance(p->nvml, g, all[i].id, NULL);
	}
	r = nvml_set_mig(p->nvml, g, false, &err);
	(void)report(p, "MIG off", t, r, &err);
}

static bool may_change(struct probe *p, const struct nvml_gpu *g)
{
	bool off = g->mig == NVML_MIG_OFF && g->mig_pending == NVML_MIG_OFF;

	if ((off || p->clean) && read_processes(p, g) == 0)
		return true;
	(void)printf("GPU %zu is left alone: it needs MIG off and no processes\n", p->gpu);
	p->failures++;
	return false;
}

static void change(struct probe *p)
{
	const struct nvml_gpu *g = &p->gpus[p->gpu];
	struct nvml_profile *profiles = NULL;
	struct error err = { 0 };
	size_t n = 0;
	int64_t t;

	if (!may_change(p, g) || nvml_profiles(p->nvml, g, &p->arena, &profiles, &n, &err) < 0 ||
	    interrupted)
		return;
	for (size_t i = 0; i < n; i++)
		time_profile(p, &profiles[i]);
	t = now_us();
	if (!p->clean && report(p, "MIG on", t, nvml_set_mig(p->nvml, g, true, &err), &err) == 0) {
		for (size_t i = 0; (p->mig || p->placements) && i < n && !interrupted; i++)
			try_profile(p, &profiles[i]);
		if (p->sets)
			try_sets(p, profiles, n);
	}
	clean_up(p, g);
}

/* --- main ------------------------------------------------------------------------------------ */

static bool read_options(struct probe *p, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (strcmp(argv[i], "--mig") == 0)
			p->mig = true;
		else if (strcmp(argv[i], "--placements") == 0)
			p->placements = true;
		else if (strcmp(argv[i], "--sets") == 0)
			p->sets = true;
		else if (strcmp(argv[i], "--clean") == 0)
			p->clean = true;
		else if (strcmp(argv[i], "--library") == 0 && value)
			p->library = argv[++i];
		else if (strcmp(argv[i], "--events") == 0 && value)
			p->events_s = strtol(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--times") == 0 && value)
			p->rounds = strtol(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--gpu") == 0 && value)
			p->gpu = strtoul(argv[++i], NULL, 10);
		else
			return false;
	}
	return true;
}

static void probe_machine(struct probe *p)
{
	if (read_versions(p) < 0 || read_gpus(p) < 0)
		return;
	for (size_t i = 0; i < p->ngpus; i++) {
		(void)printf("GPU %zu\n", i);
		if (p->gpus[i].mig != NVML_MIG_NONE)
			read_mig(p, &p->gpus[i]);
		read_state(p, &p->gpus[i]);
	}
	if (p->events_s > 0)
		read_events(p);
	if (!p->mig && !p->placements && !p->sets && !p->clean && p->rounds <= 0)
		return;
	if (p->gpu < p->ngpus)
		change(p);
	else
		expect(p, false, "the GPU that --gpu names exists");
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_signal };
	struct probe p = { 0 };

	if (!read_options(&p, argc, argv)) {
		(void)fprintf(stderr,
			      "usage: nvml_probe [--library PATH] [--events SECONDS] [--gpu INDEX] "
			      "[--mig | --placements | --sets | --times ROUNDS | --clean]\n");
		return 2;
	}
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)sigaction(SIGINT, &act, NULL);
	(void)sigaction(SIGTERM, &act, NULL);
	(void)sigaction(SIGHUP, &act, NULL);
	(void)signal(SIGPIPE, SIG_IGN); /* a reader that ends must not keep us from cleaning up */
	arena_init(&p.arena, 1 << 20);
	probe_machine(&p);
	nvml_close(p.nvml);
	arena_release(&p.arena);
	(void)printf("%d failures\n", p.failures);
	return p.failures || interrupted ? 1 : 0;
}
