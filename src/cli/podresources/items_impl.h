/*
 * podres_items_impl - what gathering and printing of podresources/items.h share.
 */
#ifndef CLI_PODRESOURCES_ITEMS_IMPL_H
#define CLI_PODRESOURCES_ITEMS_IMPL_H

#include "base/core/limits.h"
#include "cli/podresources/items.h"

/* A message of 16 MiB names no more; a limit must be named. */
#define PODRES_ITEMS_MAX (16UL * MIB)

/* The order; 0 for two that are the same thing. */
int podres_item_cmp(const struct podres_item *a, const struct podres_item *b);

#endif
