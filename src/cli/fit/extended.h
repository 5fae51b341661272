/*
 * fit_extended - extended resources that are devices: "example.com/gpu: 1" in a pod, and a class
 * that says that this is what its devices are.
 */
#ifndef CLI_FIT_EXTENDED_H
#define CLI_FIT_EXTENDED_H

#include "base/json/json.h"

struct inventory;

/* Whether some container asks for a resource that might be devices. */
bool fit_extended_asked(const struct json *pod);

/*
 * The claim that a scheduler would make for what classes offer of it, in `a`; NULL: they offer
 * nothing. Each resource that it stands for is appended to `notes`.
 */
struct json *fit_extended_claim(const struct inventory *inv, const struct json *pod,
				struct json *notes, struct arena *a);

#endif
