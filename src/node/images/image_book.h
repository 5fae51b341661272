/*
 * image_book - remembers when images were used, and chooses those to remove. Pure.
 *
 * The rules are upstream's. Images of containers, also of ended ones, are in use. Images in use and
 * pinned ones are never chosen. If the disk is fuller than the high threshold, images are chosen
 * until it would be at the low one: the one that was not used for the longest time first, and of
 * those the one that was seen first. An image that was seen first less than `min_age_ms` ago is not
 * chosen: its container may be about to start. With `max_age_ms`, images that were not used for
 * that time are chosen anyway.
 */
#ifndef NODE_IMAGES_IMAGE_BOOK_H
#define NODE_IMAGES_IMAGE_BOOK_H

#include "base/core/arena.h"
#include "node/runtime/runtime.h"

struct image_book;

struct image_policy {
	int high_percent, low_percent; /* of the disk; high 100: never because of the disk */
	int64_t min_age_ms, max_age_ms; /* max 0: no limit */
};

struct image_book *image_book_new(void);
void image_book_free(struct image_book *b); /* NULL allowed */

/* The runtime's images and pods at `now_ms`, monotonic. */
void image_book_look(struct image_book *b, const struct runtime_image_info *images, size_t n,
		     const struct runtime_pods *pods, int64_t now_ms);

struct image_choice {
	struct str id; /* in the arena of image_book_choose() */
	int64_t size;
	bool aged; /* chosen for its age: it does not count as freed space */
};

/*
 * Returns the images to remove, in order, as of the last look: first the old ones, then candidates
 * for space. The caller stops with the latter when it has freed enough. `began_ms` is the agent's
 * start: before max_age_ms have passed since then, ages are not known.
 */
size_t image_book_choose(const struct image_book *b, const struct image_policy *p, int64_t began_ms,
			 int64_t now_ms, struct arena *a, struct image_choice **ret_v);

/*
 * The bytes to free; 0: the disk is not fuller than the high threshold. -1 if capacity is not
 * positive. *ret_percent is the usage.
 */
int64_t image_book_excess(const struct image_policy *p, int64_t capacity, int64_t available,
			  int *ret_percent);

#endif
