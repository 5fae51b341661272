/*
 * A list: there are only a few. Passes that have ended are dropped when the next one is issued, so
 * that ending one needs no message to the list's loop.
 */
#include "web/session/passes.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "web/web_limits.h"

struct ui_passes {
	struct list all;
};

struct ui_passes *ui_passes_new(void)
{
	struct ui_passes *all = XNEW(struct ui_passes);

	list_init(&all->all);
	return all;
}

static void pass_unref(struct ui_pass *p)
{
	if (atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) > 1)
		return;
	ui_session_unref(p->session);
	free(p);
}

static void passes_drop(struct ui_pass *p)
{
	list_remove(&p->link);
	atomic_store(&p->over, true);
	pass_unref(p);
}

void ui_passes_free(struct ui_passes *all)
{
	if (!all)
		return;
	LIST_FOREACH_SAFE (it, &all->all)
		passes_drop(LIST_ENTRY(it, struct ui_pass, link));
	free(all);
}

static int passes_check(struct ui_passes *all, const struct ui_session *e, int64_t mono_ns,
			struct error *err)
{
	size_t n = 0;
	bool own = false;

	LIST_FOREACH_SAFE (it, &all->all) {
		struct ui_pass *p = LIST_ENTRY(it, struct ui_pass, link);

		if (!ui_pass_is_valid(p, mono_ns)) {
			passes_drop(p);
			continue;
		}
		n++;
		own = own || p->session == e;
	}
	if (own || n >= UI_PASSES_MAX)
		return error_set(err, ERR_TOO_MANY_REQUESTS,
				 "another explanation is under way; try again in a second");
	return 0;
}

int ui_passes_issue(struct ui_passes *all, struct ui_session *e, int64_t life_ns, struct ui_now now,
		    char ret_secret[static UI_SECRET_SIZE], struct ui_pass **ret_pass,
		    struct error *err)
{
	int64_t session_ns = ui_session_ends(e, now) - now.wall_ns;
	struct ui_pass *p;
	int r = passes_check(all, e, now.mono_ns, err);

	if (r < 0)
		return r;
	p = XNEW(struct ui_pass);
	atomic_init(&p->refs, 2);
	p->session = ui_session_ref(e);
	p->ends_ns = now.mono_ns + MIN(life_ns, session_ns);
	ui_secret_make(ret_secret, p->hash);
	list_push_back(&all->all, &p->link);
	*ret_pass = p;
	return 0;
}

/* Compares all of them, for constant time. */
struct ui_session *ui_passes_find(struct ui_passes *all, struct str secret, int64_t mono_ns)
{
	uint8_t hash[PKI_SHA256_SIZE];
	const struct ui_pass *found = NULL;

	if (!ui_secret_hash(secret, hash))
		return NULL;
	LIST_FOREACH (it, &all->all) {
		const struct ui_pass *p = LIST_ENTRY(it, struct ui_pass, link);

		if (pki_equal(p->hash, hash, sizeof(p->hash)))
			found = p;
	}
	return found && ui_pass_is_valid(found, mono_ns) ? found->session : NULL;
}

bool ui_pass_is_valid(const struct ui_pass *p, int64_t mono_ns)
{
	return !atomic_load(&p->over) && !atomic_load(&p->session->over) && mono_ns < p->ends_ns;
}

void ui_pass_end(struct ui_pass *p)
{
	if (!p)
		return;
	atomic_store(&p->over, true);
	pass_unref(p);
}
