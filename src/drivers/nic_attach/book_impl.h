/* nic_book_impl - the form of a use in the book's file. For book*.c and their tests. */
#ifndef DRIVERS_NIC_ATTACH_BOOK_IMPL_H
#define DRIVERS_NIC_ATTACH_BOOK_IMPL_H

#include "base/json/json.h"
#include "drivers/nic_attach/book.h"

/* An empty use, PREPARED, not part of a book. */
struct nic_use *nic_use_new(void);
void nic_use_free(struct nic_use *u); /* NULL allowed */

/* Text in the tree is borrowed from the use. */
struct json *nic_use_tree(const struct nic_use *u, struct arena *a);

/* Fills a new use. Strict: a missing or invalid member returns -ERR_INVALID with its name. */
int nic_use_from_tree(struct nic_use *u, const struct json *tree, struct error *err);

DEFINE_CLEANUP(nic_use_free, struct nic_use *);

#endif
