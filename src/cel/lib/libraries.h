/*
 * libraries - the libraries of functions that there are, and the sets of them that expressions use.
 */
#ifndef CEL_LIB_LIBRARIES_H
#define CEL_LIB_LIBRARIES_H

#include "cel/core/library.h"

/* The language itself: operators, conversions, size, text, time; macros has, all, .. */
extern const struct cel_library cel_lib_standard;
/* cel-go's extensions. */
extern const struct cel_library cel_lib_optional; /* optional.of, orValue, ?., [?], optMap, .. */
extern const struct cel_library cel_lib_strings; /* charAt .. upperAscii, strings.quote */
/* Beside it one of these: format() and indexOf(part, from) as specified, reverse() .. */
extern const struct cel_library cel_lib_strings_later;
/* .. or as cel-go had them before, with separators of thousands: Kubernetes. */
extern const struct cel_library cel_lib_strings_kubernetes;
extern const struct cel_library cel_lib_lists; /* slice, flatten, sort, distinct, range, .. */
extern const struct cel_library cel_lib_sets; /* sets.contains, .. */
extern const struct cel_library cel_lib_math; /* math.greatest .. math.bitShiftLeft */
extern const struct cel_library cel_lib_encoders; /* base64.encode, base64.decode */
extern const struct cel_library cel_lib_bindings; /* cel.bind */
extern const struct cel_library cel_lib_block; /* cel.block: what programs write */
extern const struct cel_library cel_lib_comprehensions; /* all(i, v, ..), transformList, .. */
/* Kubernetes' libraries. */
extern const struct cel_library cel_lib_kubernetes_lists; /* isSorted, sum, min, indexOf, .. */
extern const struct cel_library cel_lib_regex; /* find, findAll */
extern const struct cel_library cel_lib_quantity;
extern const struct cel_library cel_lib_semver;
extern const struct cel_library cel_lib_ip; /* and one of the next two */
extern const struct cel_library cel_lib_ip_kubernetes; /* refuses ::ffff:c0a8:1 */
extern const struct cel_library cel_lib_ip_specification; /* takes it for 192.168.0.1 */
extern const struct cel_library cel_lib_cidr;
extern const struct cel_library cel_lib_url;
extern const struct cel_library cel_lib_format;
extern const struct cel_library cel_lib_authz; /* authorizer.group('').resource('pods').. */

/* Every library, for the command line. */
extern const struct cel_library *const cel_libraries_all[];
/* What Kubernetes 1.37 has for new expressions; goes with the first three flags. */
extern const struct cel_library *const cel_libraries_kubernetes[];
/* The same with cel.bind: device selectors. */
extern const struct cel_library *const cel_libraries_device[];

#endif
