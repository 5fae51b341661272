/*
 * Folders below TMPDIR. The map is small, because sanitizers keep a shadow of all of it.
 */
#include "store/lmdb/lmdb_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/system/folder_fixture.h"

enum { MAP_MIB = 256, JOURNAL_MIB = 1 };

struct lmdb_world *lmdb_world_new(void)
{
	struct lmdb_world *w = XNEW(struct lmdb_world);
	const char *tmp = getenv("TMPDIR");

	(void)snprintf(w->root, sizeof(w->root), "%s/lmdb-XXXXXX",
		       tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	assert_non_null(mkdtemp(w->root));
	(void)snprintf(w->dir, sizeof(w->dir), "%s/store", w->root);
	w->opts = (struct store_lmdb_opts){ .dir = w->dir, .map_size = MAP_MIB * MIB };
	return w;
}

void lmdb_world_free(struct lmdb_world *w)
{
	(void)folder_fixture_try_remove(w->root);
	free(w);
}

const char *lmdb_world_path(struct lmdb_world *w, const char *name, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%s/%s", w->dir, name);
	return buf;
}

static void *make_threaded(void)
{
	return lmdb_world_new();
}

static void *make_inline(void)
{
	struct lmdb_world *w = lmdb_world_new();

	w->opts.inline_commit = true;
	return w;
}

static void *make_journal(void)
{
	struct lmdb_world *w = lmdb_world_new();

	w->opts.journal = true;
	w->opts.journal_segment_bytes = JOURNAL_MIB * MIB;
	return w;
}

static void *make_journal_inline(void)
{
	struct lmdb_world *w = make_journal();

	w->opts.inline_commit = true;
	return w;
}

static void destroy(void *place)
{
	lmdb_world_free(place);
}

static int open_place(void *place, struct loop *l, struct store **ret_store, struct error *err)
{
	struct lmdb_world *w = place;

	return store_lmdb_open(l, &w->opts, ret_store, err);
}

const struct store_contract_backend lmdb_world_threaded = {
	.name = "store/lmdb",
	.past = true,
	.make = make_threaded,
	.destroy = destroy,
	.open = open_place,
};

const struct store_contract_backend lmdb_world_inline = {
	.name = "store/lmdb_inline",
	.past = true,
	.make = make_inline,
	.destroy = destroy,
	.open = open_place,
};

const struct store_contract_backend lmdb_world_journal = {
	.name = "store/lmdb_journal",
	.past = true,
	.make = make_journal,
	.destroy = destroy,
	.open = open_place,
};

const struct store_contract_backend lmdb_world_journal_inline = {
	.name = "store/lmdb_journal_inline",
	.past = true,
	.make = make_journal_inline,
	.destroy = destroy,
	.open = open_place,
};
