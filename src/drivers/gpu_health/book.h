/*
 * gpu_health_book - the health of all GPUs of a node, and the file that keeps it.
 *
 * A restart of the driver forgets nothing. A reboot forgets everything, because it resets GPUs; the
 * first poll decides then. So the file has the ID of the boot. Members of the file that this
 * version does not know are ignored. A GPU that is missing from the machine stays in the book.
 */
#ifndef DRIVERS_GPU_HEALTH_BOOK_H
#define DRIVERS_GPU_HEALTH_BOOK_H

#include "drivers/gpu_health/health.h"

struct gpu_health_book;

struct gpu_health_book *gpu_health_book_new(void);
void gpu_health_book_free(struct gpu_health_book *b); /* NULL allowed */

/* The health of that GPU, made when missing. NULL: the book has too many. It never moves. */
struct gpu_health *gpu_health_book_get(struct gpu_health_book *b, struct str uuid);

/*
 * Reads the file into an empty book. A missing file, or one of another boot, gives an empty book
 * and 0. A damaged file returns -ERR_INVALID with an empty book: log the error, and poll.
 */
int gpu_health_book_load(struct gpu_health_book *b, const char *path, const char *boot,
			 struct error *err);

/* Replaces the file. */
int gpu_health_book_save(const struct gpu_health_book *b, const char *path, const char *boot,
			 struct error *err);

/* The same for text, as the file has it. */
int gpu_health_book_parse(struct gpu_health_book *b, struct str text, const char *boot,
			  struct error *err);
int gpu_health_book_print(const struct gpu_health_book *b, const char *boot, struct buf *out,
			  struct error *err);

DEFINE_CLEANUP(gpu_health_book_free, struct gpu_health_book *);

#endif
