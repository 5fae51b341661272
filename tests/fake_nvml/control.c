/*
 * control - commands that break and heal the fake GPUs: a table of names and functions.
 */
#include "control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/nvml/abi.h"
#include "drivers/nvml/nvml.h"
#include "state.h"

struct command {
	int argc; /* without the name */
	const char *const *argv;
	struct fake_state *s;
	struct fake_gpu *gpu; /* of commands whose first argument is one */
	const char *why;
};

static uint64_t number(const struct command *c, int at)
{
	return strtoull(c->argv[at], NULL, 0);
}

static bool refuse(struct command *c, const char *why)
{
	c->why = why;
	return false;
}

/* --- faults ---------------------------------------------------------------------------------- */

static bool known_call(const char *name)
{
	static const char *const names[] = {
#define CONTROL_NAME(symbol, parameters) #symbol,
		NVML_CALLS(CONTROL_NAME)
#undef CONTROL_NAME
			"all",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

static bool set_fault(struct command *c, const char *call, enum fake_kind kind, int64_t code,
		      int64_t count)
{
	if (!known_call(call))
		return refuse(c, "unknown call: give the full name of an NVML function, or all");
	for (size_t i = 0; i < FAKE_FAULTS; i++) {
		struct fake_fault *f = &c->s->faults[i];

		if (f->kind != FAKE_NO_FAULT)
			continue;
		*f = (struct fake_fault){ .kind = kind, .code = code, .count = count };
		(void)snprintf(f->call, sizeof(f->call), "%s", call);
		return true;
	}
	return refuse(c, "too many faults: heal first");
}

static bool do_fail(struct command *c)
{
	return set_fault(c, c->argv[0], FAKE_FAIL, (int64_t)number(c, 1),
			 c->argc > 2 ? (int64_t)number(c, 2) : -1);
}

static bool do_slow(struct command *c)
{
	return set_fault(c, c->argv[0], FAKE_SLOW, (int64_t)number(c, 1),
			 c->argc > 2 ? (int64_t)number(c, 2) : -1);
}

static bool do_hang(struct command *c)
{
	return set_fault(c, c->argv[0], FAKE_HANG, 0, -1);
}

static bool do_crash(struct command *c)
{
	return set_fault(c, c->argv[0], FAKE_CRASH_AFTER, 0, 1);
}

static bool do_crash_before(struct command *c)
{
	return set_fault(c, c->argv[0], FAKE_CRASH_BEFORE, 0, 1);
}

static bool do_mismatch(struct command *c)
{
	return set_fault(c, "nvmlInitWithFlags", FAKE_FAIL, NVML_CODE_LIBRARY_MISMATCH, -1);
}

static bool do_await_hang(struct command *c)
{
	while (c->s->hanging == 0)
		fake_wait(c->s, atomic_load(&c->s->changes), -1);
	return true;
}

static bool do_resume(struct command *c)
{
	for (size_t i = 0; i < FAKE_FAULTS; i++) {
		struct fake_fault *f = &c->s->faults[i];

		if (f->kind == FAKE_HANG && strcmp(f->call, c->argv[0]) == 0)
			*f = (struct fake_fault){ 0 };
	}
	return true;
}

static bool do_settled(struct command *c)
{
	for (size_t i = 0; i < FAKE_FAULTS; i++) {
		if (c->s->faults[i].kind != FAKE_NO_FAULT)
			return refuse(c, "a fault is left");
	}
	return true;
}

/* --- GPUs ------------------------------------------------------------------------------------ */

static bool do_gpus(struct command *c)
{
	uint64_t n = number(c, 0);

	if (n > FAKE_GPUS)
		return refuse(c, "too many GPUs");
	fake_reset(c->s, (uint32_t)n);
	return true;
}

static bool do_no_mig(struct command *c)
{
	c->gpu->no_mig = true;
	return true;
}

static bool do_mig_reset(struct command *c)
{
	c->gpu->mig_reset = true;
	return true;
}

static bool do_lost(struct command *c)
{
	c->gpu->lost = c->argc > 1 ? (uint32_t)number(c, 1) : NVML_CODE_GPU_IS_LOST;
	return true;
}

static bool do_remap(struct command *c)
{
	c->gpu->remap_pending = number(c, 1);
	c->gpu->remap_failed = number(c, 2);
	return true;
}

static bool do_clocks(struct command *c)
{
	c->gpu->clock_reasons = number(c, 1);
	return true;
}

static void send_event(struct command *c, uint64_t type, uint64_t data, uint32_t gi, uint32_t ci)
{
	fake_push_event(c->s, &(struct fake_event){ .gpu = (uint32_t)(c->gpu - c->s->gpus),
						    .type = type,
						    .data = data,
						    .gi = gi,
						    .ci = ci });
}

static bool do_recovery(struct command *c)
{
	c->gpu->recovery = (uint32_t)number(c, 1);
	send_event(c, NVML_EVENT_RECOVERY, 0, 0, 0);
	return true;
}

static bool do_event(struct command *c)
{
	send_event(c, number(c, 1), c->argc > 2 ? number(c, 2) : 0, 0, 0);
	return true;
}

static bool add_process(struct command *c, uint32_t gi, uint32_t ci, uint32_t pid)
{
	for (size_t i = 0; i < FAKE_PROCESSES; i++) {
		struct fake_process *p = &c->gpu->processes[i];

		if (p->pid && p->pid != pid)
			continue;
		*p = (struct fake_process){ .pid = pid, .gi = gi, .ci = ci };
		return true;
	}
	return refuse(c, "too many processes: use idle");
}

static bool do_xid(struct command *c)
{
	bool instance = c->argc >= 4, process = c->argc % 2;
	uint32_t gi = instance ? (uint32_t)number(c, 2) : FAKE_NONE;
	uint32_t ci = instance ? (uint32_t)number(c, 3) : FAKE_NONE;

	if (process && !add_process(c, gi, ci, (uint32_t)number(c, c->argc - 1)))
		return false;
	send_event(c, NVML_EVENT_XID, number(c, 1), gi, ci);
	return true;
}

static bool do_busy(struct command *c)
{
	if (c->argc == 2)
		return add_process(c, FAKE_NONE, FAKE_NONE, (uint32_t)number(c, 1));
	if (c->argc == 3)
		return refuse(c, "usage: busy GPU [GI CI] PID");
	return add_process(c, (uint32_t)number(c, 1), (uint32_t)number(c, 2),
			   (uint32_t)number(c, 3));
}

static bool do_idle(struct command *c)
{
	memset(c->gpu->processes, 0, sizeof(c->gpu->processes));
	return true;
}

static bool do_heal(struct command *c)
{
	for (size_t i = 0; i < FAKE_FAULTS; i++) {
		if (c->argc == 0 || strcmp(c->s->faults[i].call, c->argv[0]) == 0)
			c->s->faults[i] = (struct fake_fault){ 0 };
	}
	for (uint32_t i = 0; c->argc == 0 && i < c->s->gpus_n; i++) {
		struct fake_gpu *g = &c->s->gpus[i];

		g->lost = g->recovery = 0;
		g->remap_pending = g->remap_failed = false;
		g->clock_reasons = 0;
	}
	return true;
}

/* --- show ------------------------------------------------------------------------------------ */

static void show_instance(const struct fake_gi *gi)
{
	const char *comma = "";

	(void)printf("{\"gi\":%u,\"profile\":%u,\"start\":%u,\"size\":%u,\"compute\":[", gi->id,
		     gi->profile, gi->start, gi->size);
	for (size_t i = 0; i < FAKE_CIS; i++) {
		if (!gi->cis[i].used)
			continue;
		(void)printf("%s%zu", comma, i);
		comma = ",";
	}
	(void)printf("]}");
}

static bool do_show(struct command *c)
{
	(void)printf("{\"gpus\":[");
	for (uint32_t i = 0; i < c->s->gpus_n; i++) {
		const struct fake_gpu *g = &c->s->gpus[i];
		const char *comma = "";

		(void)printf("%s{\"uuid\":\"%s\",\"minor\":%u,\"mig\":%s,\"lost\":%u,"
			     "\"recovery\":%u,\"computeMode\":%u,\"instances\":[",
			     i ? "," : "", g->uuid, g->minor, g->mig ? "true" : "false", g->lost,
			     g->recovery, g->compute_mode);
		for (size_t k = 0; k < FAKE_SLICES; k++) {
			if (!g->gis[k].used)
				continue;
			(void)printf("%s", comma);
			show_instance(&g->gis[k]);
			comma = ",";
		}
		(void)printf("]}");
	}
	(void)printf("],\"hanging\":%u,\"events\":%llu}\n", c->s->hanging,
		     (unsigned long long)c->s->events_end);
	return true;
}

/* --- table ----------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int least, most; /* arguments */
	bool gpu; /* the first argument is one */
	bool (*fn)(struct command *c);
} commands[] = {
	{ "gpus", 1, 1, false, do_gpus },
	{ "no-mig", 1, 1, true, do_no_mig },
	{ "mig-reset", 1, 1, true, do_mig_reset },
	{ "fail", 2, 3, false, do_fail },
	{ "slow", 2, 3, false, do_slow },
	{ "hang", 1, 1, false, do_hang },
	{ "await-hang", 0, 0, false, do_await_hang },
	{ "resume", 1, 1, false, do_resume },
	{ "settled", 0, 0, false, do_settled },
	{ "crash", 1, 1, false, do_crash },
	{ "crash-before", 1, 1, false, do_crash_before },
	{ "mismatch", 0, 0, false, do_mismatch },
	{ "lost", 1, 2, true, do_lost },
	{ "recovery", 2, 2, true, do_recovery },
	{ "remap", 3, 3, true, do_remap },
	{ "clocks", 2, 2, true, do_clocks },
	{ "xid", 2, 5, true, do_xid },
	{ "event", 2, 3, true, do_event },
	{ "busy", 2, 4, true, do_busy },
	{ "idle", 1, 1, true, do_idle },
	{ "heal", 0, 1, false, do_heal },
	{ "show", 0, 0, false, do_show },
};

static bool run_command(struct command *c, const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(commands[i].name, name) != 0)
			continue;
		if (c->argc < commands[i].least || c->argc > commands[i].most)
			return refuse(c, "wrong number of arguments: see control.h");
		if (commands[i].gpu) {
			if (number(c, 0) >= c->s->gpus_n)
				return refuse(c, "no such GPU");
			c->gpu = &c->s->gpus[number(c, 0)];
		}
		return commands[i].fn(c);
	}
	return refuse(c, "unknown command: see control.h");
}

int fake_control(int argc, const char *const *argv, const char **why)
{
	struct command c = { .argc = argc - 1, .argv = argv + 1 };
	bool done;

	if (argc < 1) {
		*why = "no command: see control.h";
		return -1;
	}
	if (!fake_open()) {
		*why = "cannot open the file that FAKE_NVML_STATE names";
		return -1;
	}
	c.s = fake_lock();
	done = run_command(&c, argv[0]);
	fake_changed(c.s);
	fake_unlock();
	*why = c.why;
	return done ? 0 : -1;
}
