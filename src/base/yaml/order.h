/*
 * yaml_order - upstream's order of the keys of a map.
 *
 * Private to the YAML files.
 */
#ifndef BASE_YAML_ORDER_H
#define BASE_YAML_ORDER_H

#include "base/json/json.h"

/*
 * Sorts members by name like go-yaml v2: letters after everything else, runs of digits by their
 * number, so that disk2 comes before disk10. The result depends only on the names, not on their
 * initial order.
 */
void yaml_order(const struct json **members, size_t n);

#endif
