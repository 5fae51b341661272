/*
 * The file:
 *
 *	{"version":1,"bootID":"..","gpus":[{"uuid":"GPU-..","migSwitchedOn":true}],
 *	 "uses":[{"claimUID":"..","device":"gpu-0-mig-1g18gb-19-6","gpu":"GPU-..","kind":"mig",
 *	          "profile":19,"slices":1,"start":6,"size":1,"done":true,"gi":9,"ci":0,..}]}
 *
 * A use that cannot be read makes the whole file damaged: it may name an instance that exists.
 */
#include "drivers/gpu_prepare/book.h"

#include <stdlib.h>

#include "base/json/json.h"
#include "base/json/writer.h"
#include "base/system/boot.h"
#include "base/system/file.h"
#include "base/system/folder.h"
#include "drivers/drivers_limits.h"

enum { VERSION = 1 };

static const char *const kind_names[] = {
	[GPU_FULL] = "gpu",
	[GPU_MIG] = "mig",
	[GPU_MIG_STATIC] = "static",
};

static const struct {
	enum gpu_mode mode;
	const char *key;
} mode_names[] = {
	{ GPU_MODE_MIG, "migSwitchedOn" },
	{ GPU_MODE_EXCLUSIVE, "exclusiveSwitchedOn" },
};

bool gpu_book_put(char *to, size_t size, struct str text)
{
	if (text.n >= size || (text.n && memchr(text.p, '\0', text.n)))
		return false;
	*str_put(to, text) = '\0';
	return true;
}

struct gpu_use *gpu_book_find(const struct gpu_book *b, struct str claim_uid, const char *device)
{
	for (size_t i = 0; i < b->uses.n; i++)
		if (str_eqz(claim_uid, b->uses.v[i].claim_uid) &&
		    strcmp(device, b->uses.v[i].device) == 0)
			return &b->uses.v[i];
	return NULL;
}

static size_t switched_index(const struct gpu_book *b, struct str gpu)
{
	size_t i = 0;

	while (i < b->switched.n && !str_eqz(gpu, b->switched.v[i].gpu))
		i++;
	return i;
}

bool gpu_book_switched(const struct gpu_book *b, struct str gpu, enum gpu_mode mode)
{
	size_t at = switched_index(b, gpu);

	return at < b->switched.n && b->switched.v[at].modes & (uint32_t)mode;
}

bool gpu_book_set_switched(struct gpu_book *b, struct str gpu, enum gpu_mode mode, bool on)
{
	size_t at = switched_index(b, gpu);
	struct gpu_switched s = { .modes = (uint32_t)mode };

	if (at == b->switched.n)
		return !on ||
		       (gpu_book_put(s.gpu, sizeof(s.gpu), gpu) && vec_push(&b->switched, s));
	if (on)
		b->switched.v[at].modes |= (uint32_t)mode;
	else
		b->switched.v[at].modes &= ~(uint32_t)mode;
	if (!b->switched.v[at].modes)
		vec_remove(&b->switched, at);
	return true;
}

/* --- reading --------------------------------------------------------------------------------- */

static int read_text(const struct json *v, const char *key, char *to, size_t size,
		     struct error *err)
{
	struct str text = json_text_at(v, key);

	if (!text.p || !gpu_book_put(to, size, text))
		return error_set(err, ERR_INVALID, "%s is missing or too long", key);
	return 0;
}

static int read_number(const struct json *v, const char *key, uint32_t *ret, struct error *err)
{
	int64_t n = json_i64_at(v, key, -1);

	if (n < 0 || n > UINT32_MAX)
		return error_set(err, ERR_INVALID, "%s is missing or not a number", key);
	*ret = (uint32_t)n;
	return 0;
}

static int read_kind(const struct json *v, enum gpu_kind *ret, struct error *err)
{
	struct str text = json_text_at(v, "kind");

	for (size_t i = 0; i < ARRAY_SIZE(kind_names); i++)
		if (str_eqz(text, kind_names[i])) {
			*ret = (enum gpu_kind)i;
			return 0;
		}
	return error_set(err, ERR_INVALID, "kind is missing or unknown");
}

static int read_mig(const struct json *v, struct gpu_use *u, struct error *err)
{
	const struct {
		const char *key;
		uint32_t *to;
	} numbers[] = {
		{ "profile", &u->profile },        { "slices", &u->slices },
		{ "start", &u->place.start },      { "size", &u->place.size },
		{ u->done ? "gi" : NULL, &u->gi }, { u->done ? "ci" : NULL, &u->ci },
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(numbers) && r == 0; i++)
		if (numbers[i].key)
			r = read_number(v, numbers[i].key, numbers[i].to, err);
	if (r == 0 && u->done)
		r = read_text(v, "uuid", u->uuid, sizeof(u->uuid), err);
	return r;
}

static int read_use(const struct json *v, struct gpu_use *u, struct error *err)
{
	const struct {
		const char *key;
		char *to;
		size_t size;
	} texts[] = {
		{ "claimUID", u->claim_uid, sizeof(u->claim_uid) },
		{ "claimNamespace", u->claim_ns, sizeof(u->claim_ns) },
		{ "claimName", u->claim_name, sizeof(u->claim_name) },
		{ "device", u->device, sizeof(u->device) },
		{ "gpu", u->gpu, sizeof(u->gpu) },
	};
	int r = read_kind(v, &u->kind, err);

	for (size_t i = 0; i < ARRAY_SIZE(texts) && r == 0; i++)
		r = read_text(v, texts[i].key, texts[i].to, texts[i].size, err);
	if (json_text_at(v, "claimPod").p && r == 0)
		r = read_text(v, "claimPod", u->claim_pod, sizeof(u->claim_pod), err);
	u->done = json_true_at(v, "done");
	u->shared = json_true_at(v, "shared");
	u->exclusive = json_true_at(v, "exclusive");
	u->abandoned = json_true_at(v, "abandoned");
	if (r == 0 && u->kind != GPU_FULL)
		r = read_mig(v, u, err);
	return r;
}

static int read_uses(struct gpu_book *b, const struct json *tree, struct error *err)
{
	if (!json_is(tree, JSON_ARRAY))
		return error_set(err, ERR_INVALID, "uses is missing");
	JSON_FOREACH (it, tree) {
		struct gpu_use u = { 0 };
		int r = read_use(it, &u, err);

		if (r < 0)
			return error_wrap(err, r, "uses[%zu]", b->uses.n);
		if (!vec_push(&b->uses, u))
			return error_set(err, ERR_INVALID, "more than %d uses", GPU_USES_MAX);
	}
	return 0;
}

static int read_switched(struct gpu_book *b, const struct json *v, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(mode_names); i++)
		if (json_true_at(v, mode_names[i].key) &&
		    !gpu_book_set_switched(b, json_text_at(v, "uuid"), mode_names[i].mode, true))
			return error_set(err, ERR_INVALID, "gpus has a wrong uuid");
	return 0;
}

/* The MIG mode of some GPUs survives a reboot, so `gpus` is read in any case. */
static int read_tree(struct gpu_book *b, const struct json *tree, struct error *err)
{
	int r = 0;

	if (json_i64_at(tree, "version", 0) != VERSION)
		return error_set(err, ERR_INVALID, "its version is not %d", VERSION);
	JSON_FOREACH (it, json_getz(tree, "gpus")) {
		r = read_switched(b, it, err);
		if (r < 0)
			return r;
	}
	if (!str_eqz(json_text_at(tree, "bootID"), b->boot_id))
		return 0;
	return read_uses(b, json_getz(tree, "uses"), err);
}

static int read_file(struct gpu_book *b, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(GPU_USES_FILE_MAX);
	CLEANUP(arena_release) struct arena a;
	struct json *tree = NULL;
	struct error why;
	int r;

	arena_init(&a, 16 * GPU_USES_FILE_MAX);
	r = file_read(b->path, &text, &why);
	if (r < 0)
		return r == -ERR_NOT_FOUND ? 0 : error_copy(err, &why);
	r = json_parse(&a, buf_str(&text), NULL, &tree, &why);
	if (r == 0)
		r = read_tree(b, tree, &why);
	if (r == 0)
		return 0;
	return error_set(err, ERR_INVALID,
			 "%s is damaged: %s; no GPU was changed. Restore the file; or drain the "
			 "node, remove the GPU instances (nvidia-smi mig -dci, then -dgi), and "
			 "delete the file",
			 b->path, why.msg);
}

int gpu_book_open(struct gpu_book *b, const char *path, const char *boot, struct error *err)
{
	int r;

	*b = (struct gpu_book){ .path = str_dup(str_from(path)),
				.boot_id = boot ? str_dup(str_from(boot)) : boot_id() };
	vec_init(&b->uses, GPU_USES_MAX);
	vec_init(&b->switched, GPU_USES_MAX);
	r = read_file(b, err);
	if (r < 0)
		gpu_book_release(b);
	return r;
}

void gpu_book_release(struct gpu_book *b)
{
	vec_release(&b->uses);
	vec_release(&b->switched);
	free(TAKE(b->path));
	free(TAKE(b->boot_id));
}

/* --- writing --------------------------------------------------------------------------------- */

static void write_text(struct json_writer *w, const char *key, const char *text)
{
	json_writer_keyz(w, key);
	json_writer_strz(w, text);
}

static void write_number(struct json_writer *w, const char *key, uint32_t n)
{
	json_writer_keyz(w, key);
	json_writer_u64(w, n);
}

static void write_bool(struct json_writer *w, const char *key, bool v)
{
	json_writer_keyz(w, key);
	json_writer_bool(w, v);
}

static void write_mig(struct json_writer *w, const struct gpu_use *u)
{
	write_number(w, "profile", u->profile);
	write_number(w, "slices", u->slices);
	write_number(w, "start", u->place.start);
	write_number(w, "size", u->place.size);
	if (!u->done)
		return;
	write_number(w, "gi", u->gi);
	write_number(w, "ci", u->ci);
	write_text(w, "uuid", u->uuid);
}

static void write_use(struct json_writer *w, const struct gpu_use *u)
{
	json_writer_begin_object(w);
	write_text(w, "claimUID", u->claim_uid);
	write_text(w, "claimNamespace", u->claim_ns);
	write_text(w, "claimName", u->claim_name);
	if (u->claim_pod[0])
		write_text(w, "claimPod", u->claim_pod);
	write_text(w, "device", u->device);
	write_text(w, "gpu", u->gpu);
	write_text(w, "kind", kind_names[u->kind]);
	write_bool(w, "done", u->done);
	if (u->abandoned)
		write_bool(w, "abandoned", true);
	if (u->exclusive)
		write_bool(w, "exclusive", true);
	if (u->kind == GPU_FULL)
		write_bool(w, "shared", u->shared);
	else
		write_mig(w, u);
	json_writer_end_object(w);
}

static void write_switched(struct json_writer *w, const struct gpu_switched *s)
{
	json_writer_begin_object(w);
	write_text(w, "uuid", s->gpu);
	for (size_t i = 0; i < ARRAY_SIZE(mode_names); i++)
		if (s->modes & (uint32_t)mode_names[i].mode)
			write_bool(w, mode_names[i].key, true);
	json_writer_end_object(w);
}

static int print_book(const struct gpu_book *b, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out, NULL);
	json_writer_begin_object(&w);
	write_number(&w, "version", VERSION);
	write_text(&w, "bootID", b->boot_id);
	json_writer_keyz(&w, "gpus");
	json_writer_begin_array(&w);
	for (size_t i = 0; i < b->switched.n; i++)
		write_switched(&w, &b->switched.v[i]);
	json_writer_end_array(&w);
	json_writer_keyz(&w, "uses");
	json_writer_begin_array(&w);
	for (size_t i = 0; i < b->uses.n; i++)
		write_use(&w, &b->uses.v[i]);
	json_writer_end_array(&w);
	json_writer_end_object(&w);
	(void)buf_addc(out, '\n');
	return json_writer_finish(&w);
}

static int make_folder(const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	char *folder;
	int r;

	if (!slash || slash == path)
		return 0;
	folder = str_dup(str_of(path, (size_t)(slash - path)));
	r = folder_make(folder, 0755, err);
	free(folder);
	return r;
}

int gpu_book_save(const struct gpu_book *b, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(GPU_USES_FILE_MAX);
	int r = make_folder(b->path, err);

	if (r < 0)
		return r;
	if (print_book(b, &text) < 0)
		return error_set(err, ERR_TOO_LARGE, "too many claims for %s", b->path);
	return file_write_atomic(b->path, buf_str(&text), 0600, err);
}
