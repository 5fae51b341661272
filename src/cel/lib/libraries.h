/*
 * libraries - all function libraries, and the sets of them for each use.
 */
#ifndef CEL_LIB_LIBRARIES_H
#define CEL_LIB_LIBRARIES_H

#include "cel/core/library.h"

/* The language itself: operators, conversions, size, text, time; macros has, all, .. */
extern const struct cel_library cel_lib_standard;
/* cel-go's extensions. */
extern const struct cel_library cel_lib_optional; /* optional.of, orValue, ?., [?], optMap, .. */
extern const struct cel_library cel_lib_strings; /* charAt .. upperAscii, strings.quote */
/*
 * Add one of the next two to it. Here format() and indexOf(part, from) are as specified, with
 * reverse() ..
 */
extern const struct cel_library cel_lib_strings_later;
/* .. and here as in earlier versions of cel-go, with thousands separators, for Kubernetes. */
extern const struct cel_library cel_lib_strings_kubernetes;
extern const struct cel_library cel_lib_lists; /* slice, flatten, sort, distinct, range, .. */
extern const struct cel_library cel_lib_sets; /* sets.contains, .. */
extern const struct cel_library cel_lib_math; /* math.greatest .. math.bitShiftLeft */
extern const struct cel_library cel_lib_encoders; /* base64.encode, base64.decode */
extern const struct cel_library cel_lib_bindings; /* cel.bind */
extern const struct cel_library cel_lib_block; /* cel.block, for generated expressions */
extern const struct cel_library cel_lib_comprehensions; /* all(i, v, ..), transformList, .. */
/* Kubernetes' libraries. */
extern const struct cel_library cel_lib_kubernetes_lists; /* isSorted, sum, min, indexOf, .. */
extern const struct cel_library cel_lib_regex; /* find, findAll */
extern const struct cel_library cel_lib_quantity;
extern const struct cel_library cel_lib_semver;
extern const struct cel_library cel_lib_ip; /* add one of the next two */
extern const struct cel_library cel_lib_ip_kubernetes; /* rejects ::ffff:c0a8:1 */
extern const struct cel_library cel_lib_ip_specification; /* reads it as 192.168.0.1 */
extern const struct cel_library cel_lib_cidr;
extern const struct cel_library cel_lib_url;
extern const struct cel_library cel_lib_json_patch; /* jsonpatch.escapeKey */
extern const struct cel_library cel_lib_format;
extern const struct cel_library cel_lib_authz; /* authorizer.group('').resource('pods').. */

/* Every library, for the command line. */
extern const struct cel_library *const cel_libraries_all[];
/* The libraries of Kubernetes 1.37 for new expressions; use with the first three flags of env.h. */
extern const struct cel_library *const cel_libraries_kubernetes[];
/* The same with jsonpatch.escapeKey, for mutations. */
extern const struct cel_library *const cel_libraries_mutation[];
/* The same with cel.bind, for device selectors. */
extern const struct cel_library *const cel_libraries_device[];

#endif
