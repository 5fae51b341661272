/*
 * disk_book - what probes found, kept in a file below the kubelet's folder.
 *
 *	ROOT/plugins/diskio.devplane.dev/probes.json
 *	{"version":1,"devices":[{"name":"sda","read":524288000,"write":209715200,"time":".."}]}
 *
 * The file is replaced at once and is on the disk when that returns. A file that cannot be
 * understood is told and then counts as empty: a probe makes it again.
 * Threads: one at a time; the file may be written by another process (`driver disk probe`).
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

/* NULL: it was never probed. */
const struct disk_book_entry *disk_book_find(const struct disk_book *b, const char *device);
/* What was measured (not 0) replaces what was known. False: the book is full. */
bool disk_book_note(struct disk_book *b, const struct disk_capacity *c, int64_t time);

/* -ERR_INVALID says what is wrong with the text; the book is then as it was. */
int disk_book_parse(struct disk_book *b, struct str text, struct error *err);
void disk_book_print(const struct disk_book *b, struct buf *out);

/* Appends the path of the file. */
void disk_book_path(const char *root_dir, struct buf *path);
/* No file: an empty book. */
int disk_book_load(struct disk_book *b, const char *root_dir, struct error *err);
int disk_book_save(const struct disk_book *b, const char *root_dir, struct error *err);

#endif
