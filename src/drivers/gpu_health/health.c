/*
 * A table says what each finding means. Findings are of two sorts: polls see the cause of the one
 * sort themselves (recovery action, row remapping, slowdown), while the other sort is news from
 * events (Xids, lost, silent), which later polls can only outlive.
 *
 * A fatal Xid is outlived only if the driver reports recovery actions. An older driver cannot say
 * that the GPU works again, so the finding stays until the machine restarts.
 */
#include "drivers/gpu_health/health.h"

#include <stdio.h>

#include "base/core/clock.h"
#include "base/text/print.h"
#include "base/time/timestamp.h"
#include "devplane/driver.h"

enum {
	RECOVERY_NONE = 0,
	RECOVERY_IMEX = 5, /* about other machines' memory: this GPU works */
	SLOW_REASONS = 0x8 | 0x20 | 0x40 | 0x80,
};

#define DOMAIN "gpu.nvidia.com/"

struct finding_meaning {
	const char *name;
	const char *key;
	bool broken; /* the GPU is Unhealthy */
	bool gone; /* pods may be evicted, by option */
};

static const struct finding_meaning meanings[GPU_FINDINGS] = {
	[GPU_LOST] = { "lost", DOMAIN "gpu-lost", true, true },
	[GPU_REMAP_FAILURE] = { "remapFailure", DOMAIN "row-remap-failure", true, true },
	[GPU_FATAL] = { "fatal", DOMAIN "xid", true, false },
	[GPU_RECOVERY] = { "recovery", DOMAIN "recovery", true, false },
	[GPU_SILENT] = { "silent", DOMAIN "unmonitored", false, false },
	[GPU_CONTAINED] = { "contained", DOMAIN "degraded", false, false },
	[GPU_REMAP_PENDING] = { "remapPending", DOMAIN "degraded", false, false },
	[GPU_SLOWDOWN] = { "slowdown", DOMAIN "degraded", false, false },
};

static const struct {
	const char *value, *text;
} recovery_actions[] = {
	[1] = { "gpu-reset", "reset the GPU" },
	[2] = { "node-reboot", "restart the machine" },
	[3] = { "drain-p2p", "end the programs on it and its peers" },
	[4] = { "drain-and-reset", "end the programs on it, then reset the GPU" },
	[6] = { "bus-reset", "reset the GPU's PCI bus" },
	[7] = { "system-reboot", "restart the whole system" },
};

const char *gpu_finding_name(enum gpu_finding f)
{
	return (size_t)f < GPU_FINDINGS ? meanings[f].name : NULL;
}

void gpu_health_init(struct gpu_health *h)
{
	*h = (struct gpu_health){ .polled = false };
}

/* --- findings ------------------------------------------------------------------------------- */

/* A cause that repeats keeps its time, so that messages do not change with each poll. */
static bool finding_set(struct gpu_health *h, enum gpu_finding f, uint32_t number, int64_t at_ns,
			const char *detail)
{
	struct gpu_finding_state *s = &h->findings[f];

	s->good = 0;
	if (s->active && s->number == number)
		return false;
	*s = (struct gpu_finding_state){ .active = true, .number = number, .at_ns = at_ns };
	(void)snprintf(s->detail, sizeof(s->detail), "%s", detail);
	return true;
}

/* A poll without the cause, or with a reason to keep the finding. */
static bool finding_outlive(struct gpu_health *h, enum gpu_finding f, bool good)
{
	struct gpu_finding_state *s = &h->findings[f];

	if (!s->active)
		return false;
	s->good = good ? s->good + 1 : 0;
	if (s->good < GPU_GOOD_POLLS)
		return false;
	*s = (struct gpu_finding_state){ .active = false };
	return true;
}

static void findings_keep(struct gpu_health *h)
{
	for (size_t i = 0; i < GPU_FINDINGS; i++)
		h->findings[i].good = 0;
}

/* --- inputs --------------------------------------------------------------------------------- */

bool gpu_health_note_xid(struct gpu_health *h, const struct gpu_xid *x, const struct xid_rule *r)
{
	char detail[GPU_DETAIL_SIZE];

	(void)snprintf(detail, sizeof(detail), "%s; %s", r->text, r->action);
	switch (r->class) {
	case XID_CONTAINED:
		return finding_set(h, GPU_CONTAINED, x->xid, x->at_ns, detail);
	case XID_FATAL:
		return finding_set(h, GPU_FATAL, x->xid, x->at_ns, detail);
	case XID_LOST:
		return finding_set(h, GPU_LOST, x->xid, x->at_ns, detail);
	case XID_IGNORED:
	case XID_APPLICATION:
	case XID_ASK:
		break;
	}
	return false;
}

bool gpu_health_note_lost(struct gpu_health *h, int64_t now_ns)
{
	findings_keep(h);
	if (h->findings[GPU_LOST].active)
		return false;
	return finding_set(h, GPU_LOST, 0, now_ns,
			   "NVML does not find the GPU any more; restart the machine");
}

bool gpu_health_note_silent(struct gpu_health *h, int64_t deadline_ms, int64_t now_ns)
{
	char detail[GPU_DETAIL_SIZE];

	findings_keep(h);
	if (h->findings[GPU_SILENT].active)
		return false;
	(void)snprintf(detail, sizeof(detail),
		       "NVML did not answer within %lld ms; see the kernel's log",
		       (long long)deadline_ms);
	return finding_set(h, GPU_SILENT, 0, now_ns, detail);
}

static bool poll_remap(struct gpu_health *h, const struct gpu_poll *p, int64_t now_ns)
{
	bool changed = false;

	if (!p->remap_known)
		return false;
	if (p->remap_failure)
		changed |= finding_set(h, GPU_REMAP_FAILURE, 0, now_ns,
				       "a memory row cannot be replaced; replace the GPU");
	else
		changed |= finding_outlive(h, GPU_REMAP_FAILURE, true);
	if (p->remap_pending)
		changed |= finding_set(h, GPU_REMAP_PENDING, 0, now_ns,
				       "a memory row will be replaced by the next reset; reset the "
				       "GPU when it is idle");
	else
		changed |= finding_outlive(h, GPU_REMAP_PENDING, true);
	return changed;
}

static void slowdown_print(uint64_t reasons, char out[static GPU_DETAIL_SIZE])
{
	bool heat = reasons & (0x20 | 0x40), power = reasons & 0x80;

	(void)snprintf(out, GPU_DETAIL_SIZE, "the GPU has lowered its clocks%s%s%s; %s",
		       heat ? " because of heat" : "", heat && power ? " and" : "",
		       power ? " because of its power supply" : "",
		       heat && !power ? "check the cooling" : "check power and cooling");
}

static bool poll_slowdown(struct gpu_health *h, const struct gpu_poll *p, int64_t slow_ns,
			  int64_t now_ns)
{
	char detail[GPU_DETAIL_SIZE];

	if (!(p->slowdown & SLOW_REASONS)) {
		h->slow_since_ns = 0;
		return finding_outlive(h, GPU_SLOWDOWN, true);
	}
	if (h->slow_since_ns == 0)
		h->slow_since_ns = now_ns;
	if (h->findings[GPU_SLOWDOWN].active)
		return finding_outlive(h, GPU_SLOWDOWN, false);
	if (now_ns - h->slow_since_ns < slow_ns)
		return false;
	slowdown_print(p->slowdown, detail);
	return finding_set(h, GPU_SLOWDOWN, 0, h->slow_since_ns, detail);
}

static bool poll_recovery(struct gpu_health *h, int32_t action, int64_t now_ns)
{
	char detail[GPU_DETAIL_SIZE];
	size_t i = (size_t)action;

	if (i < ARRAY_SIZE(recovery_actions) && recovery_actions[i].text)
		(void)snprintf(detail, sizeof(detail), "%s", recovery_actions[i].text);
	else
		(void)snprintf(detail, sizeof(detail), "recovery action %d; see NVIDIA's manual",
			       (int)action);
	return finding_set(h, GPU_RECOVERY, (uint32_t)action, now_ns, detail);
}

bool gpu_health_note_poll(struct gpu_health *h, const struct gpu_poll *p,
			  const struct gpu_health_opts *o, int64_t now_ns)
{
	bool none = p->recovery == RECOVERY_NONE || p->recovery == RECOVERY_IMEX;
	bool wanted = !none && p->recovery > 0;
	bool changed = !h->polled, sound;

	h->polled = true;
	if (wanted)
		changed |= poll_recovery(h, p->recovery, now_ns);
	else
		changed |= finding_outlive(h, GPU_RECOVERY, true);
	changed |= poll_remap(h, p, now_ns);
	changed |= poll_slowdown(h, p, o->slow_ns > 0 ? o->slow_ns : 60 * CLOCK_SEC, now_ns);
	sound = !wanted && !h->findings[GPU_REMAP_FAILURE].active;
	changed |= finding_outlive(h, GPU_SILENT, true);
	changed |= finding_outlive(h, GPU_CONTAINED, sound);
	changed |= finding_outlive(h, GPU_LOST, sound);
	changed |= finding_outlive(h, GPU_FATAL, sound && none);
	return changed;
}

/* --- the result ----------------------------------------------------------------------------- */

static void view_print_finding(const struct gpu_finding_state *s, enum gpu_finding f,
			       struct buf *out)
{
	char time[TIMESTAMP_SIZE];

	(void)timestamp_print(s->at_ns, TIMESTAMP_SECONDS, time);
	if (out->n > 0)
		(void)buf_addz(out, ". ");
	if (f == GPU_RECOVERY)
		(void)buf_printf(out, "The driver asks since %s: %s", time, s->detail);
	else if (s->number > 0)
		(void)buf_printf(out, "Xid %u at %s: %s", s->number, time, s->detail);
	else
		(void)buf_printf(out, "Since %s: %s", time, s->detail);
}

static void view_taint_value(const struct gpu_finding_state *s, enum gpu_finding f,
			     char out[static GPU_TAINT_VALUE_SIZE])
{
	const char *word = NULL;

	if (f == GPU_RECOVERY && s->number < ARRAY_SIZE(recovery_actions))
		word = recovery_actions[s->number].value;
	if (f == GPU_REMAP_PENDING)
		word = "row-remap-pending";
	if (f == GPU_SLOWDOWN)
		word = "slowdown";
	if (word)
		(void)snprintf(out, GPU_TAINT_VALUE_SIZE, "%s", word);
	else if (f == GPU_CONTAINED)
		(void)snprintf(out, GPU_TAINT_VALUE_SIZE, "xid-%u", s->number);
	else if (f == GPU_FATAL || f == GPU_RECOVERY)
		(void)snprintf(out, GPU_TAINT_VALUE_SIZE, "%u", s->number);
	else
		out[0] = '\0';
}

/* A key occurs once: the most serious finding gives its value. */
static void view_add_taint(struct gpu_health_view *v, const struct gpu_finding_state *s,
			   enum gpu_finding f, bool evict)
{
	const struct finding_meaning *m = &meanings[f];
	struct gpu_taint *t = &v->taints[v->ntaints];

	for (size_t i = 0; i < v->ntaints; i++)
		if (strcmp(v->taints[i].key, m->key) == 0)
			return;
	t->key = m->key;
	t->effect = "None";
	if (m->broken || f == GPU_SILENT)
		t->effect = m->gone && evict ? "NoExecute" : "NoSchedule";
	view_taint_value(s, f, t->value);
	v->ntaints++;
}

void gpu_health_view(const struct gpu_health *h, const struct gpu_health_opts *o,
		     struct gpu_health_view *ret_view)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(GPU_MESSAGE_SIZE - 1);
	struct gpu_health_view v = { .health = h->polled ? DP_HEALTHY : DP_UNKNOWN };

	if (h->findings[GPU_SILENT].active)
		v.health = DP_UNKNOWN;
	for (size_t i = 0; i < GPU_FINDINGS; i++) {
		const struct gpu_finding_state *s = &h->findings[i];

		if (!s->active)
			continue;
		if (meanings[i].broken)
			v.health = DP_UNHEALTHY;
		view_print_finding(s, (enum gpu_finding)i, &text);
		view_add_taint(&v, s, (enum gpu_finding)i, o->evict);
	}
	if (text.n == 0 && !h->polled)
		(void)buf_addz(&text, "The GPU has not been checked yet");
	str_put(v.message, buf_str(&text));
	*ret_view = v;
}

void gpu_xid_print(const struct gpu_xid *x, const struct xid_rule *r, struct buf *out)
{
	char time[TIMESTAMP_SIZE];

	(void)timestamp_print(x->at_ns, TIMESTAMP_SECONDS, time);
	(void)buf_printf(out, "Xid %u at %s", x->xid, time);
	if (x->pid > 0)
		(void)buf_printf(out, " in process %u", x->pid);
	if (x->name.n > 0) {
		(void)buf_addz(out, x->pid > 0 ? " (" : " in a process (");
		(void)print_quoted(out, str_cut(x->name, 64));
		(void)buf_addc(out, ')');
	}
	(void)buf_printf(out, ": %s; %s", r->text, r->action);
}
