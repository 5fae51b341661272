/*
 * podres_items_impl - shared by the collecting and printing files of podresources/items.h.
 */
#ifndef CLI_PODRESOURCES_ITEMS_IMPL_H
#define CLI_PODRESOURCES_ITEMS_IMPL_H

#include "base/core/limits.h"
#include "cli/podresources/items.h"

/* A limit that no message of 16 MiB can reach. */
#define PODRES_ITEMS_MAX (16UL * MIB)

/* Defines the order; 0 if both are the same item. */
int podres_item_cmp(const struct podres_item *a, const struct podres_item *b);

#endif
