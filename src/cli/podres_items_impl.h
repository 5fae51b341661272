/*
 * podres_items_impl - what gathering and printing of podres_items.h share.
 */
#ifndef CLI_PODRES_ITEMS_IMPL_H
#define CLI_PODRES_ITEMS_IMPL_H

#include "base/core/limits.h"
#include "cli/podres_items.h"

/* A message of 16 MiB names no more; a limit must be named. */
#define PODRES_ITEMS_MAX (16UL * MIB)

/* The order; 0 for two that are the same thing. */
int podres_item_cmp(const struct podres_item *a, const struct podres_item *b);

#endif
