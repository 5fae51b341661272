/*
 * The sets of libraries that expressions use.
 */
#include "cel/lib/libraries.h"

/* The language and what cel-go and Kubernetes have beside it; device selectors, too. */
#define KUBERNETES_LIBRARIES                                                                       \
	&cel_lib_standard, &cel_lib_optional, &cel_lib_strings, &cel_lib_strings_kubernetes,       \
		&cel_lib_lists, &cel_lib_sets, &cel_lib_comprehensions, &cel_lib_kubernetes_lists, \
		&cel_lib_regex, &cel_lib_quantity, &cel_lib_semver, &cel_lib_ip,                   \
		&cel_lib_ip_kubernetes, &cel_lib_cidr, &cel_lib_url, &cel_lib_format,              \
		&cel_lib_authz

const struct cel_library *const cel_libraries_all[] = {
	&cel_lib_standard,
	&cel_lib_optional,
	&cel_lib_strings,
	&cel_lib_strings_later,
	&cel_lib_lists,
	&cel_lib_sets,
	&cel_lib_math,
	&cel_lib_encoders,
	&cel_lib_bindings,
	&cel_lib_block,
	&cel_lib_comprehensions,
	&cel_lib_kubernetes_lists,
	&cel_lib_regex,
	&cel_lib_quantity,
	&cel_lib_semver,
	&cel_lib_ip,
	&cel_lib_ip_specification,
	&cel_lib_cidr,
	&cel_lib_url,
	&cel_lib_json_patch,
	&cel_lib_format,
	&cel_lib_authz,
	NULL,
};

const struct cel_library *const cel_libraries_kubernetes[] = {
	KUBERNETES_LIBRARIES,
	NULL,
};

const struct cel_library *const cel_libraries_mutation[] = {
	KUBERNETES_LIBRARIES,
	&cel_lib_json_patch,
	NULL,
};

const struct cel_library *const cel_libraries_device[] = {
	KUBERNETES_LIBRARIES,
	&cel_lib_bindings,
	NULL,
};
