/*
 * The file is written as a whole and read as a whole. A member of the wrong type makes it damaged:
 * only we write it, so nothing else in it can be trusted then. Names that we do not know are from
 * another version of the driver, and are skipped.
 */
#include "drivers/gpu_health/book.h"

#include "base/core/arena.h"
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "base/json/json.h"
#include "base/json/writer.h"
#include "base/system/file.h"
#include "base/time/timestamp.h"
#include "drivers/drivers_limits.h"

enum { BOOK_VERSION = 1, BOOK_UUID_SIZE = 96 };

struct book_gpu {
	char uuid[BOOK_UUID_SIZE];
	struct gpu_health health;
};

struct gpu_health_book {
	VEC(struct book_gpu *) gpus;
};

struct gpu_health_book *gpu_health_book_new(void)
{
	struct gpu_health_book *b = XNEW(struct gpu_health_book);

	vec_init(&b->gpus, GPU_BOOK_GPUS_MAX);
	return b;
}

static void book_clear(struct gpu_health_book *b)
{
	for (size_t i = 0; i < b->gpus.n; i++)
		free(b->gpus.v[i]);
	b->gpus.n = 0;
}

void gpu_health_book_free(struct gpu_health_book *b)
{
	if (!b)
		return;
	book_clear(b);
	vec_release(&b->gpus);
	free(b);
}

struct gpu_health *gpu_health_book_get(struct gpu_health_book *b, struct str uuid)
{
	struct book_gpu *g;

	for (size_t i = 0; i < b->gpus.n; i++)
		if (str_eqz(uuid, b->gpus.v[i]->uuid))
			return &b->gpus.v[i]->health;
	if (uuid.n == 0 || uuid.n >= BOOK_UUID_SIZE || memchr(uuid.p, 0, uuid.n) ||
	    !str_is_utf8(uuid) || !vec_reserve(&b->gpus, 1))
		return NULL;
	g = XNEW(struct book_gpu);
	*str_put(g->uuid, uuid) = '\0';
	gpu_health_init(&g->health);
	(void)vec_push(&b->gpus, g);
	return &g->health;
}

/* --- reading -------------------------------------------------------------------------------- */

static int book_damaged(struct error *err, const char *what)
{
	return error_set(err, ERR_INVALID, "the file is damaged: %s", what);
}

/* GPU_FINDINGS: not known. */
static size_t book_finding(struct str name)
{
	size_t i = 0;

	while (i < GPU_FINDINGS && !str_eqz(name, gpu_finding_name((enum gpu_finding)i)))
		i++;
	return i;
}

static int book_parse_finding(struct gpu_health *h, const struct json *v, struct error *err)
{
	struct str detail = json_text_at(v, "detail"), name = json_text_at(v, "finding");
	int64_t number = json_i64_at(v, "number", 0), at_ns = 0;
	struct gpu_finding_state *s;

	if (name.n == 0 || number < 0 || number > UINT32_MAX ||
	    timestamp_parse(json_text_at(v, "at"), &at_ns, NULL) < 0)
		return book_damaged(err, "a finding is not valid");
	if (book_finding(name) == GPU_FINDINGS)
		return 0;
	s = &h->findings[book_finding(name)];
	*s = (struct gpu_finding_state){ .active = true,
					 .number = (uint32_t)number,
					 .at_ns = at_ns };
	if (detail.n > 0 && memchr(detail.p, 0, detail.n))
		return book_damaged(err, "a finding has a detail with a NUL");
	*str_put(s->detail, str_cut(detail, GPU_DETAIL_SIZE - 1)) = '\0';
	return 0;
}

static int book_parse_gpu(struct gpu_health_book *b, const struct json *v, struct error *err)
{
	struct gpu_health *h = gpu_health_book_get(b, json_key(v));
	const struct json *findings = json_getz(v, "findings");

	if (!h)
		return book_damaged(err, "a GPU's UUID is not valid, or there are too many");
	if (!json_is(findings, JSON_ARRAY))
		return book_damaged(err, "a GPU has no list of findings");
	JSON_FOREACH (it, findings) {
		int r = book_parse_finding(h, it, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int book_parse_tree(struct gpu_health_book *b, const struct json *tree, const char *boot,
			   struct error *err)
{
	const struct json *gpus = json_getz(tree, "gpus");

	if (!json_is(tree, JSON_OBJECT) || !json_is(gpus, JSON_OBJECT) ||
	    !json_is(json_getz(tree, "bootID"), JSON_STRING))
		return book_damaged(err, "it has no bootID or no gpus");
	if (*boot == '\0' || !str_eqz(json_text_at(tree, "bootID"), boot))
		return 0;
	JSON_FOREACH (it, gpus) {
		int r = book_parse_gpu(b, it, err);

		if (r < 0)
			return r;
	}
	return 0;
}

int gpu_health_book_parse(struct gpu_health_book *b, struct str text, const char *boot,
			  struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct json *tree;
	int r;

	arena_init(&a, 16 * GPU_BOOK_FILE_MAX);
	r = json_parse(&a, text, &(struct json_options){ .depth_max = 16 }, &tree, err);
	if (r < 0) {
		(void)error_recode(err, ERR_INVALID);
		return error_wrap(err, -ERR_INVALID, "the file is damaged");
	}
	r = book_parse_tree(b, tree, boot, err);
	if (r < 0)
		book_clear(b);
	return r;
}

int gpu_health_book_load(struct gpu_health_book *b, const char *path, const char *boot,
			 struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(GPU_BOOK_FILE_MAX);
	int r = file_read(path, &text, err);

	if (r == -ERR_NOT_FOUND)
		return 0;
	if (r == 0)
		r = gpu_health_book_parse(b, buf_str(&text), boot, err);
	return r < 0 ? error_wrap(err, r, "%s: the health of GPUs starts anew", path) : 0;
}

/* --- writing -------------------------------------------------------------------------------- */

static void book_print_gpu(struct json_writer *w, const struct book_gpu *g)
{
	char time[TIMESTAMP_SIZE];

	json_writer_keyz(w, g->uuid);
	json_writer_begin_object(w);
	json_writer_keyz(w, "findings");
	json_writer_begin_array(w);
	for (size_t i = 0; i < GPU_FINDINGS; i++) {
		const struct gpu_finding_state *s = &g->health.findings[i];

		if (!s->active)
			continue;
		json_writer_begin_object(w);
		json_writer_keyz(w, "finding");
		json_writer_strz(w, gpu_finding_name((enum gpu_finding)i));
		json_writer_keyz(w, "number");
		json_writer_u64(w, s->number);
		json_writer_keyz(w, "at");
		json_writer_str(w, timestamp_print(s->at_ns, TIMESTAMP_NANO, time));
		json_writer_keyz(w, "detail");
		json_writer_strz(w, s->detail);
		json_writer_end_object(w);
	}
	json_writer_end_array(w);
	json_writer_end_object(w);
}

int gpu_health_book_print(const struct gpu_health_book *b, const char *boot, struct buf *out,
			  struct error *err)
{
	struct json_writer w;

	json_writer_init(&w, out, &(struct json_style){ .indent = 2 });
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "version");
	json_writer_i64(&w, BOOK_VERSION);
	json_writer_keyz(&w, "bootID");
	json_writer_strz(&w, boot);
	json_writer_keyz(&w, "gpus");
	json_writer_begin_object(&w);
	for (size_t i = 0; i < b->gpus.n; i++)
		book_print_gpu(&w, b->gpus.v[i]);
	json_writer_end_object(&w);
	json_writer_end_object(&w);
	if (json_writer_finish(&w) < 0 || buf_addc(out, '\n') < 0)
		return error_set(err, ERR_TOO_LARGE, "the health of GPUs is larger than %lu bytes",
				 GPU_BOOK_FILE_MAX);
	return 0;
}

int gpu_health_book_save(const struct gpu_health_book *b, const char *path, const char *boot,
			 struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(GPU_BOOK_FILE_MAX);
	int r = gpu_health_book_print(b, boot, &text, err);

	if (r == 0)
		r = file_write_atomic(path, buf_str(&text), 0600, err);
	return r < 0 ? error_wrap(err, r, "cannot save the health of GPUs") : 0;
}
