/*
 * The checkpoint: one JSON file, replaced as a whole. A node has few claims, so every change writes
 * all of them.
 */
#include "drivers/prepare/prepare_impl.h"

#include <errno.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "base/system/file.h"
#include "drivers/drivers_limits.h"

enum { FORMAT = 1 };

static void add_claim(struct prepare *p, const struct json *tree, bool same_boot)
{
	struct dp_claim *c, *old;
	struct error err;

	if (claim_from_tree(tree, &c, &err) < 0) {
		driver_log(p->opts.log, DP_LOG_WARN, "%s: %s: skipped", p->file, err.msg);
		return;
	}
	if (!same_boot)
		c->state = CLAIM_STARTED;
	old = map_get(&p->claims, str_from(c->uid));
	if (old && old->state == CLAIM_PREPARED) {
		claim_free(c);
	} else if (old) {
		/* Ops are waiting for it, and must see what another instance has done. */
		claim_adopt(old, c);
	} else {
		c->owner = p;
		(void)map_put(&p->claims, str_from(c->uid), c);
	}
}

static bool file_has(const struct json *list, const char *uid)
{
	JSON_FOREACH (it, list)
		if (str_eqz(json_text_at(it, "uid"), uid))
			return true;
	return false;
}

/* Claims that another instance has unprepared. If ops wait for one, the last op frees it. */
static void drop_gone(struct prepare *p, const struct json *list)
{
	VEC(struct dp_claim *) gone;
	struct dp_claim *c;
	struct str key;
	size_t at = 0;
	void *value;

	vec_init(&gone, SIZE_MAX);
	while (map_next(&p->claims, &at, &key, &value)) {
		c = value;
		if (file_has(list, c->uid))
			continue;
		c->state = CLAIM_NEW;
		if (list_empty(&c->ops))
			(void)vec_push(&gone, c);
	}
	for (size_t i = 0; i < gone.n; i++) {
		(void)map_remove(&p->claims, str_from(gone.v[i]->uid));
		claim_free(gone.v[i]);
	}
	vec_release(&gone);
}

static int file_parse(struct prepare *p, struct str text, struct error *err)
{
	struct arena a;
	struct json *tree;
	bool same_boot;
	int r;

	arena_init(&a, DRIVER_CHECKPOINT_MAX * 8);
	r = json_parse(&a, text, NULL, &tree, err);
	if (r == 0 && json_i64_at(tree, "version", 0) != FORMAT)
		r = error_set(err, ERR_INVALID, "it is not of version %d", FORMAT);
	if (r == 0) {
		same_boot = str_eqz(json_text_at(tree, "bootID"), p->boot);
		drop_gone(p, json_getz(tree, "claims"));
		JSON_FOREACH (it, json_getz(tree, "claims"))
			add_claim(p, it, same_boot);
	}
	arena_release(&a);
	return r;
}

int prepare_load(struct prepare *p, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(DRIVER_CHECKPOINT_MAX);
	CLEANUP(buf_release) struct buf aside = BUF_INIT(4 * KIB);
	struct error why;
	int r;

	r = file_read(p->file, &text, &why);
	if (r == -ERR_NOT_FOUND)
		return 0;
	if (r < 0)
		return error_set(err, why.code, "%s", why.msg);
	if (file_parse(p, buf_str(&text), &why) == 0)
		return 0;
	(void)buf_printf(&aside, "%s.bad", p->file);
	if (rename(p->file, aside.p) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot set %s aside", p->file);
	driver_log(p->opts.log, DP_LOG_ERROR, "cannot read %s (%s); moved it to %s", p->file,
		   why.msg, aside.p);
	return 0;
}

int prepare_save(struct prepare *p, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(DRIVER_CHECKPOINT_MAX);
	struct json *tree, *list;
	struct arena a;
	struct str key;
	size_t at = 0;
	void *value;
	int r;

	arena_init(&a, SIZE_MAX);
	tree = json_make_object(&a);
	json_put_i64(&a, tree, "version", FORMAT);
	json_put_str(&a, tree, "bootID", str_from(p->boot));
	list = json_need_array(&a, tree, "claims");
	while (map_next(&p->claims, &at, &key, &value)) {
		const struct dp_claim *c = value;

		if (c->state != CLAIM_NEW)
			json_append(list, claim_tree(c, &a));
	}
	r = json_print(&text, tree, NULL);
	arena_release(&a);
	if (r < 0)
		return error_set(err, ERR_TOO_LARGE, "too many claims are prepared");
	return file_write_atomic(p->file, buf_str(&text), 0600, err);
}
