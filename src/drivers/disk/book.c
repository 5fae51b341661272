/*
 * The file is small and read as a whole. An invalid entry invalidates the file: only we write it,
 * so nothing in it can be trusted then.
 */
#include "drivers/disk/book.h"

#include "base/core/limits.h"
#include "base/json/json.h"
#include "base/json/writer.h"
#include "base/system/file.h"
#include "base/system/folder.h"
#include "base/time/timestamp.h"
#include "drivers/disk/status.h"
#include "drivers/drivers_limits.h"

enum { VERSION = 1 };

void disk_book_init(struct disk_book *b)
{
	vec_init(&b->entries, DISK_DEVICES_MAX);
}

void disk_book_release(struct disk_book *b)
{
	vec_release(&b->entries);
}

const struct disk_book_entry *disk_book_find(const struct disk_book *b, const char *device)
{
	for (size_t i = 0; i < b->entries.n; i++)
		if (strcmp(b->entries.v[i].capacity.device, device) == 0)
			return &b->entries.v[i];
	return NULL;
}

bool disk_book_note(struct disk_book *b, const struct disk_capacity *c, int64_t time)
{
	struct disk_book_entry *e = (struct disk_book_entry *)disk_book_find(b, c->device);

	if (!e)
		return vec_push(&b->entries,
				(struct disk_book_entry){ .capacity = *c, .time = time });
	if (c->read)
		e->capacity.read = c->read;
	if (c->write)
		e->capacity.write = c->write;
	e->time = time;
	return true;
}

/* --- text ------------------------------------------------------------------------------------ */

static int parse_entry(const struct json *v, struct disk_book *b, struct error *err)
{
	struct str name = json_text_at(v, "name");
	struct disk_capacity c = { .read = json_i64_at(v, "read", 0),
				   .write = json_i64_at(v, "write", 0) };
	int64_t time = 0;

	if (!disk_name_is_fit(name) || c.read < 0 || c.write < 0 ||
	    timestamp_parse(json_text_at(v, "time"), &time, NULL) < 0)
		return error_set(err, ERR_INVALID, "entry %zu is not valid", b->entries.n);
	str_put(c.device, name);
	if (!disk_book_note(b, &c, time))
		return error_set(err, ERR_INVALID, "it has more than %d devices", DISK_DEVICES_MAX);
	return 0;
}

static int parse_tree(const struct json *tree, struct disk_book *b, struct error *err)
{
	int r = 0;

	if (json_i64_at(tree, "version", 0) != VERSION)
		return error_set(err, ERR_INVALID, "its version is not %d", VERSION);
	JSON_FOREACH (it, json_getz(tree, "devices")) {
		r = parse_entry(it, b, err);
		if (r < 0)
			break;
	}
	return r;
}

int disk_book_parse(struct disk_book *b, struct str text, struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct disk_book made;
	struct json *tree;
	int r;

	arena_init(&a, 64 * DISK_BOOK_MAX);
	disk_book_init(&made);
	r = json_parse(&a, text, NULL, &tree, err);
	if (r < 0)
		r = -ERR_INVALID;
	if (r == 0)
		r = parse_tree(tree, &made, err);
	if (r < 0) {
		disk_book_release(&made);
		return r;
	}
	disk_book_release(b);
	*b = made;
	return 0;
}

void disk_book_print(const struct disk_book *b, struct buf *out)
{
	char time[TIMESTAMP_SIZE];
	struct json_writer w;

	json_writer_init(&w, out, NULL);
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "version");
	json_writer_i64(&w, VERSION);
	json_writer_keyz(&w, "devices");
	json_writer_begin_array(&w);
	for (size_t i = 0; i < b->entries.n; i++) {
		const struct disk_book_entry *e = &b->entries.v[i];

		json_writer_begin_object(&w);
		json_writer_keyz(&w, "name");
		json_writer_strz(&w, e->capacity.device);
		json_writer_keyz(&w, "read");
		json_writer_i64(&w, e->capacity.read);
		json_writer_keyz(&w, "write");
		json_writer_i64(&w, e->capacity.write);
		json_writer_keyz(&w, "time");
		json_writer_str(&w, timestamp_print(e->time, TIMESTAMP_SECONDS, time));
		json_writer_end_object(&w);
	}
	json_writer_end_array(&w);
	json_writer_end_object(&w);
	(void)json_writer_finish(&w);
	(void)buf_addc(out, '\n');
}

/* --- the file -------------------------------------------------------------------------------- */

static void folder_path(const char *root_dir, struct buf *path)
{
	(void)buf_printf(path, "%s/plugins/" DISK_GROUP, root_dir);
}

void disk_book_path(const char *root_dir, struct buf *path)
{
	folder_path(root_dir, path);
	(void)buf_addz(path, "/probes.json");
}

int disk_book_load(struct disk_book *b, const char *root_dir, struct error *err)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(4 * KIB);
	CLEANUP(buf_release) struct buf text = BUF_INIT(DISK_BOOK_MAX);
	int r;

	disk_book_path(root_dir, &path);
	r = file_read(path.p, &text, err);
	if (r == -ERR_NOT_FOUND) {
		b->entries.n = 0;
		return 0;
	}
	if (r == 0) {
		r = disk_book_parse(b, buf_str(&text), err);
		if (r < 0)
			(void)error_wrap(err, r, "%s", path.p);
	}
	return r;
}

int disk_book_save(const struct disk_book *b, const char *root_dir, struct error *err)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(4 * KIB);
	CLEANUP(buf_release) struct buf text = BUF_INIT(DISK_BOOK_MAX);
	int r;

	folder_path(root_dir, &path);
	r = folder_make(path.p, 0755, err);
	if (r < 0)
		return r;
	buf_clear(&path);
	disk_book_path(root_dir, &path);
	disk_book_print(b, &text);
	if (text.overflow)
		return error_set(err, ERR_TOO_LARGE, "too many devices for %s", path.p);
	return file_write_atomic(path.p, buf_str(&text), 0644, err);
}
