/*
 * Lines of events. The items that a pod held before are kept in an arena of their own, which is
 * freed when the pod is deleted.
 */
#include <stdlib.h>

#include "base/core/mem.h"
#include "cli/output/output.h"
#include "cli/podresources/items.h"
#include "cli/podresources/print.h"

/* The last known items of a pod, or of the node. */
struct known {
	struct arena arena;
	struct str uid;
	struct podres_items items;
};

const char podres_print_pod_head[] = "ACTION\tREVISION\tPOD\tRESOURCES";
const char podres_print_allocatable_head[] = "ACTION\tREVISION\tALLOCATABLE";

static struct known *known_new(void)
{
	struct known *k = xcalloc(1, sizeof(*k));

	arena_init(&k->arena, PODRES_TEXT_MAX);
	return k;
}

static void known_free(struct known *k)
{
	if (!k)
		return;
	arena_release(&k->arena);
	free(k);
}

static void print_event_forget(struct podres_print_state *s)
{
	size_t at = 0;
	struct str uid;
	void *k;

	while (map_next(&s->pods, &at, &uid, &k))
		known_free(k);
	map_clear(&s->pods);
}

void podres_print_init(struct podres_print_state *s, const struct podres_print_style *style,
		       bool initial)
{
	*s = (struct podres_print_state){ .style = *style, .initial = initial };
	map_init(&s->pods);
}

void podres_print_release(struct podres_print_state *s)
{
	print_event_forget(s);
	map_release(&s->pods);
	known_free(s->node);
}

static void add_action(struct podres_print_state *s, struct buf *out, Podresources__Action action,
		       int64_t revision)
{
	static const struct {
		const char *word, *colour;
	} rows[] = { [PODRESOURCES__ACTION__ADDED] = { "ADDED", "\033[32m" },
		     [PODRESOURCES__ACTION__DELETED] = { "DELETED", "\033[31m" },
		     [PODRESOURCES__ACTION__UPDATED] = { "UPDATED", "\033[33m" } };
	unsigned i = (unsigned)action;

	if (i >= ARRAY_SIZE(rows))
		(void)buf_printf(out, "ACTION-%u", i);
	else
		(void)buf_printf(out, "%s%s%s", s->style.colour ? rows[i].colour : "", rows[i].word,
				 s->style.colour ? "\033[0m" : "");
	(void)buf_addc(out, '\t');
	/* A server that has only the KEP's fields sends no revisions. */
	if (revision != 0)
		(void)buf_add_i64(out, revision);
	else
		(void)buf_addc(out, '-');
	(void)buf_addc(out, '\t');
}

/* DELETED without a uid: drop everything, the full state follows. */
static bool podres_print_is_reset(const Podresources__PodEvent *e)
{
	return e->action == PODRESOURCES__ACTION__DELETED && !*e->uid && e->n_pod_resources == 0;
}

static void print_event_add_name(struct buf *out, const Podresources__PodEvent *e)
{
	for (size_t i = 0; i < MIN(e->n_pod_resources, (size_t)1); i++) {
		output_clean(out, str_from(e->pod_resources[i]->namespace_));
		(void)buf_addc(out, '/');
		output_clean(out, str_from(e->pod_resources[i]->name));
	}
	if (e->n_pod_resources == 0)
		output_clean(out, str_from(e->uid));
	(void)buf_addc(out, '\t');
}

static struct known *known_of(struct podres_print_state *s, const Podresources__PodEvent *e)
{
	struct known *k = known_new();

	k->uid = arena_str(&k->arena, str_from(e->uid));
	if (e->n_pod_resources > 0 && e->action != PODRESOURCES__ACTION__DELETED)
		k->items = podres_items_of_pod(&k->arena, e->pod_resources[0], s->style.wide);
	return k;
}

bool podres_print_pod_event(struct podres_print_state *s, struct buf *out,
			    const Podresources__PodEvent *e)
{
	static const struct podres_items none = { 0 };
	struct podres_items_style style = { .colour = s->style.colour, .messages = s->style.wide };
	const struct podres_items *before = NULL;
	struct known *now, *old;

	if (e->initial_end) {
		s->initial = false;
		return false;
	}
	add_action(s, out, e->action, e->revision);
	if (podres_print_is_reset(e)) {
		(void)buf_addz(out, "<all>\tforget what came before: the full state follows");
		print_event_forget(s);
		s->initial = true;
		return true;
	}
	now = known_of(s, e);
	print_event_add_name(out, e);
	old = map_remove(&s->pods, now->uid);
	if (old)
		before = &old->items;
	else if (e->action == PODRESOURCES__ACTION__ADDED && !s->initial)
		before = &none;
	podres_items_print(out, before, &now->items, &style);
	known_free(old);
	if (e->action == PODRESOURCES__ACTION__DELETED)
		known_free(now);
	else
		(void)map_put(&s->pods, now->uid, now);
	return true;
}

bool podres_print_allocatable_event(struct podres_print_state *s, struct buf *out,
				    const Podresources__AllocatableEvent *e)
{
	struct podres_items_style style = { .colour = s->style.colour,
					    .counts = !s->style.wide,
					    .messages = s->style.wide };
	struct known *now;
	bool nothing = e->n_devices == 0 && e->n_cpu_ids == 0 && e->n_memory == 0 &&
		       e->n_claim_resources == 0;

	if (e->initial_end && nothing) {
		s->initial = false;
		return false;
	}
	add_action(s, out, e->action, e->revision);
	now = known_new();
	now->items = podres_items_of_change(&now->arena, e);
	podres_items_print(out, s->node ? &s->node->items : NULL, &now->items, &style);
	known_free(s->node);
	s->node = now;
	return true;
}
