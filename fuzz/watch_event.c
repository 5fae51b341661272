/*
 * Any bytes as a watch's stream, cut at places that the first byte chooses, and as a list. The
 * lines do not depend on the cuts; what is taken for an object has a name, and its
 * fields lie within it.
 */
#include "base/core/map.h"
#include "client/informer/reflector_list.h"
#include "client/informer/watch_event.h"
#include "target.h"

static const struct cached_trim fuzz_inside[] = { CACHED_TRIM("a", NULL), { { 0 }, NULL } };
static const struct cached_trim fuzz_trim[] = { CACHED_TRIM("spec", fuzz_inside), { { 0 }, NULL } };

static void take_line(struct str line)
{
	struct cached_defaults d = {
		.kind = STR("Pod"), .api_version = STR("v1"), .slim = true, .trim = fuzz_trim
	};
	struct watch_event e;
	struct cached *o;
	struct str rv;
	bool end;

	if (watch_event_begin(line, &e, NULL) < 0)
		return;
	require(e.object.p >= line.p && e.object.p + e.object.n <= line.p + line.n);
	(void)watch_event_bookmark(e.object, &rv, &end, NULL);
	if (cached_new(e.object, &d, &o, NULL) < 0)
		return;
	require(cached_name(o).n && strlen(o->json.p) <= o->json.n);
	(void)cached_field(o, "spec.nodeName", NULL);
	(void)cached_label(o, STR("app"), NULL);
	cached_unref(o);
}

/* A sum over the lines, whose order is kept. */
static uint64_t cut(struct str stream, size_t piece_max)
{
	struct event_lines l;
	struct str line, piece;
	uint64_t sum = 0;

	event_lines_init(&l);
	while (stream.n) {
		piece = str_of(stream.p, MIN(stream.n, piece_max));
		stream = str_skip(stream, piece.n);
		while (event_lines_next(&l, &piece, &line, NULL) > 0) {
			sum = sum * 31 + hash_bytes(line, 1);
			take_line(line);
		}
	}
	event_lines_release(&l);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct cache_index by_owner = { .name = "owner", .fn = cache_index_owner_uid };
	struct cached_defaults d = { .slim = true, .trim = fuzz_trim };
	struct reflector_page page;
	struct cache c;

	if (size == 0)
		return 0;
	require(cut(str_of(data + 1, size - 1), 1 + data[0]) ==
		cut(str_of(data + 1, size - 1), size));
	cache_init(&c);
	cache_add_index(&c, &by_owner);
	if (reflector_list_parse(str_of(data + 1, size - 1), &d, &c, &page, NULL) == 0)
		require(page.rv.n && cache_count(&c) <= page.n);
	cache_release(&c);
	return 0;
}
