/*
 * The configuration starts with one key for everything.
 */
#include "store/sealed/sealed_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/file.h"
#include "store/lmdb/lmdb_world.h"

static void on_report(void *arg, const char *what, const struct error *err)
{
	struct sealed_world *w = arg;

	w->reported = what;
	w->why = err ? *err : (struct error){ 0 };
	loop_stop(w->loop);
}

void sealed_world_configure(struct sealed_world *w, const char *text)
{
	assert_int_equal(file_write_atomic(w->file, str_from(text), 0600, NULL), 0);
}

struct sealed_world *sealed_world_new(const struct store_contract_backend *inner)
{
	struct sealed_world *w;
	void *place = inner->make();
	int fd;

	if (!place)
		return NULL;
	w = XNEW(struct sealed_world);
	w->place = place;
	w->inner = inner;
	(void)snprintf(w->file, sizeof(w->file), "/tmp/sealed-XXXXXX");
	fd = mkstemp(w->file);
	assert_true(fd >= 0);
	(void)close(fd);
	w->opts = (struct store_sealed_opts){
		.file = w->file, .reload = true, .report = on_report, .arg = w, .look_ms = 10
	};
	sealed_world_configure(w,
			       SEALED_WORLD_HEAD SEALED_WORLD_RULE(
				       "'*.*'", SEALED_WORLD_KEY("aesgcm", "k1", SEALED_WORLD_A)));
	return w;
}

void sealed_world_free(struct sealed_world *w)
{
	w->inner->destroy(w->place);
	(void)unlink(w->file);
	free(w);
}

int sealed_world_open(void *place, struct loop *l, struct store **ret_store, struct error *err)
{
	struct sealed_world *w = place;
	struct sealed_store *sealed;
	struct store *inner;
	int r;

	w->loop = l;
	r = store_sealed_new(l, &w->opts, &sealed, err);

	if (r < 0)
		return r;
	r = w->inner->open(w->place, l, &inner, err);
	if (r < 0)
		store_sealed_free(sealed);
	else
		*ret_store = store_sealed_around(sealed, inner);
	return r;
}

void sealed_world_bare(struct store_contract *c, struct store_contract *ret_bare)
{
	struct sealed_world *w = sealed_world_of(c);

	*ret_bare = (struct store_contract){ .backend = w->inner,
					     .place = w->place,
					     .loop = c->loop };
	arena_init(&ret_bare->arena, SIZE_MAX);
	vec_init(&ret_bare->events, 1 << 20);
	store_contract_open(ret_bare);
}

static void *make_threaded(void)
{
	return sealed_world_new(&lmdb_world_threaded);
}

static void *make_inline(void)
{
	return sealed_world_new(&lmdb_world_inline);
}

static void *make_journal(void)
{
	return sealed_world_new(&lmdb_world_journal);
}

static void world_destroy(void *place)
{
	sealed_world_free(place);
}

const struct store_contract_backend sealed_world_threaded = {
	.name = "store/sealed",
	.past = true,
	.more = SEALED_WORLD_MORE,
	.make = make_threaded,
	.destroy = world_destroy,
	.open = sealed_world_open,
};

const struct store_contract_backend sealed_world_inline = {
	.name = "store/sealed_inline",
	.past = true,
	.more = SEALED_WORLD_MORE,
	.make = make_inline,
	.destroy = world_destroy,
	.open = sealed_world_open,
};

const struct store_contract_backend sealed_world_journal = {
	.name = "store/sealed_journal",
	.past = true,
	.more = SEALED_WORLD_MORE,
	.make = make_journal,
	.destroy = world_destroy,
	.open = sealed_world_open,
};
