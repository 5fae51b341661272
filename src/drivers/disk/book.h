/*
 * disk_book - the results of probes, in a file in the kubelet's folder.
 *
 *	ROOT/plugins/diskio.devplane.dev/probes.json
 *	{"version":1,"devices":[{"name":"sda","read":524288000,"write":209715200,"time":".."}]}
 *
 * The file is replaced atomically and synced to disk. A file that cannot be parsed is logged and
 * counts as empty; the next probe rewrites it.
 * Threads: one at a time; another process (`driver disk probe`) may write the file.
 */
#ifndef DRIVERS_DISK_BOOK_H
#define DRIVERS_DISK_BOOK_H

#include "base/core/buf.h"
#include "base/core/vec.h"
#include "drivers/disk/spec.h"

struct disk_book_entry {
	struct disk_capacity capacity;
	int64_t time; /* of the last probe; wall clock, ns */
};

struct disk_book {
	VEC(struct disk_book_entry) entries;
};

void disk_book_init(struct disk_book *b);
void disk_book_release(struct disk_book *b);

/* Returns NULL if it was never probed. */
const struct disk_book_entry *disk_book_find(const struct disk_book *b, const char *device);
/* Replaces the known rates by those measured (not 0). Returns false if the book is full. */
bool disk_book_note(struct disk_book *b, const struct disk_capacity *c, int64_t time);

/* On failure returns -ERR_INVALID with the reason, and leaves the book unchanged. */
int disk_book_parse(struct disk_book *b, struct str text, struct error *err);
void disk_book_print(const struct disk_book *b, struct buf *out);

/* Appends the path of the file. */
void disk_book_path(const char *root_dir, struct buf *path);
/* A missing file is an empty book. */
int disk_book_load(struct disk_book *b, const char *root_dir, struct error *err);
int disk_book_save(const struct disk_book *b, const char *root_dir, struct error *err);

#endif
