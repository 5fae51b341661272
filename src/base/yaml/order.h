/*
 * yaml_order - the order in which upstream writes the keys of a map.
 *
 * Private to the YAML files.
 */
#ifndef BASE_YAML_ORDER_H
#define BASE_YAML_ORDER_H

#include "base/json/json.h"

/*
 * Sorts members by name as go-yaml v2 does: letters behind everything else,
 * runs of digits by their number, so that disk2 comes before disk10. The result
 * depends on the names alone, not on the order they come in.
 */
void yaml_order(const struct json **members, size_t n);

#endif
