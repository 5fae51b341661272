/*
 * A killed process does nothing more in the world; what is left of its memory is taken apart by
 * its own verbs on a loop that reaches nobody.
 */
#include "cluster_role.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/report/log.h"

enum { AGAIN_MS = 1000, TERM_MS = 20 * 1000, TIMERS_MAX = 100000 };

static void set_state(struct cluster_role *role, enum cluster_state state)
{
	role->state = state;
	role->since_ms = sim_elapsed_ms(role->sim);
}

struct log *cluster_role_log(const struct cluster_role *role)
{
	return (struct log *)(uintptr_t)role->log;
}

static void on_stopped(void *arg)
{
	((struct cluster_role *)arg)->stopped = true;
}

static void free_loops(struct cluster_role *role)
{
	for (size_t i = 0; i < role->nloops; i++)
		loop_free(role->loops[i]);
	role->nloops = 0;
	role->impl = NULL;
	role->failed = role->stopped = false;
	set_state(role, CLUSTER_DOWN);
}

/* The impl is there, or half of it. */
static void bury(struct cluster_role *role, enum sim_crash how)
{
	bool stopping = role->state == CLUSTER_STOPPING;

	sim_loop_crash(role->loops[0], how);
	if (role->impl && role->ops->die) {
		role->ops->die(role, stopping, on_stopped, role);
		sim_loop_bury(role->loops[0]);
		for (unsigned i = 0; i < TIMERS_MAX && !role->stopped; i++)
			assert_true(sim_loop_bury_timer(role->loops[0]));
		assert_true(role->stopped);
	}
	if (role->impl)
		role->ops->drop(role);
	sim_loop_bury(role->loops[0]);
	free_loops(role);
}

void cluster_role_start(struct cluster_role *role)
{
	size_t n = role->ops->nloops ? role->ops->nloops : CLUSTER_LOOPS;
	struct error err;

	if (role->state != CLUSTER_DOWN)
		return;
	for (size_t i = 0; i < n; i++)
		role->loops[i] = sim_loop_new(role->sim, role->host);
	sim_skew(role->loops[0], role->skew_ns);
	role->nloops = n;
	role->starts++;
	role->start_ms = INT64_MAX;
	set_state(role, CLUSTER_UP);
	if (role->ops->start(role, &err) < 0) {
		log_warn(role->log, "cannot start", LOG_Z("role", role->host), LOG_ERR(&err));
		bury(role, SIM_CRASH_PROCESS);
		role->start_ms = sim_elapsed_ms(role->sim) + AGAIN_MS;
	}
}

void cluster_role_stop(struct cluster_role *role, int64_t pause_ms)
{
	if (role->state != CLUSTER_UP)
		return;
	set_state(role, CLUSTER_STOPPING);
	role->start_ms = sim_elapsed_ms(role->sim) + pause_ms;
	role->ops->stop(role, on_stopped, role);
}

void cluster_role_kill(struct cluster_role *role, enum sim_crash how, int64_t pause_ms)
{
	if (role->state == CLUSTER_DOWN)
		return;
	bury(role, how);
	role->kills++;
	role->start_ms = sim_elapsed_ms(role->sim) + pause_ms;
}

void cluster_role_watch(struct cluster_role *role)
{
	int64_t now = sim_elapsed_ms(role->sim);

	if (role->state == CLUSTER_UP && role->failed)
		cluster_role_stop(role, AGAIN_MS);
	if (role->state == CLUSTER_STOPPING && role->stopped) {
		role->ops->drop(role);
		/* Connections give their memory back in the next turn: a dead one has it now. */
		sim_loop_crash(role->loops[0], SIM_CRASH_PROCESS);
		sim_loop_bury(role->loops[0]);
		free_loops(role);
	} else if (role->state == CLUSTER_STOPPING && now - role->since_ms > TERM_MS) {
		cluster_role_kill(role, SIM_CRASH_PROCESS, AGAIN_MS);
	}
	if (role->state == CLUSTER_DOWN && role->start_ms <= now)
		cluster_role_start(role);
}

void cluster_role_release(struct cluster_role *role)
{
	if (role->state != CLUSTER_DOWN)
		bury(role, SIM_CRASH_PROCESS);
}
