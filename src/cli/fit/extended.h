/*
 * fit_extended - extended resources that are backed by devices: a pod requests "example.com/gpu:
 * 1", and a DeviceClass offers its devices under that name.
 */
#ifndef CLI_FIT_EXTENDED_H
#define CLI_FIT_EXTENDED_H

#include "base/json/json.h"

struct inventory;

/* Whether some container requests a resource that devices might provide. */
bool fit_extended_asked(const struct json *pod);

/*
 * The claim that the scheduler would create for the requested resources that classes offer, in
 * `a`. NULL: they offer none. A note on each such resource is appended to `notes`.
 */
struct json *fit_extended_claim(const struct inventory *inv, const struct json *pod,
				struct json *notes, struct arena *a);

#endif
